//! PySchedCL's expanded form: a JSON list of kernels, each with its numbers, the origins of its buffers, and what it depends on.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::description::description;
use super::error::Problems;
use super::json::At;
use super::limits;
use super::specification::{Description, Launch, Specification, SpecifiedEdge};
use super::symbolic::{preferences, read_symbols};

/// Reads the list.
pub(super) fn read(value: &Value, problems: &mut Problems) -> Specification {
    let mut specification = Specification::default();
    let mut known = Known::default();
    let root = At::new(value, "");
    for element in root.elements(limits::KERNELS, problems) {
        let entry = At {
            path: format!("kernels{}", element.path),
            ..element
        };
        let id = entry
            .field("id", problems)
            .and_then(|field| field.id(problems));
        let Some(id) = id else { continue };
        let at = At::new(entry.value, format!("kernel {id}"));
        let found = description(&at, problems);
        let device = found.as_ref().and_then(|found| found.device);
        let index = found.map(|found| known.shared(&mut specification.descriptions, found));
        let mut launch = Launch {
            name: id,
            description: index,
            symbols: BTreeMap::new(),
            device,
            component: None,
            after: Vec::new(),
            initial: BTreeMap::new(),
        };
        if let Some(symbols) = at.optional("symbolicVariables") {
            read_symbols(&symbols, &mut launch, problems);
        }
        preferences(&at, &mut launch, problems);
        for before in at.list("depends", limits::KERNELS, problems) {
            launch.after.extend(before.id(problems));
        }
        for key in ["inputBuffers", "ioBuffers"] {
            for buffer in at.list(key, limits::ARGUMENTS, problems) {
                let edge = edge(&buffer, &launch.name, problems);
                specification.edges.extend(edge);
            }
        }
        specification.launches.push(launch);
    }
    specification
}

/// What has been described so far.
#[derive(Default)]
struct Known {
    by_contents: BTreeMap<String, usize>,
    names: BTreeSet<String>,
}

impl Known {
    /// The index of an equal description, which may be new.
    fn shared(&mut self, descriptions: &mut Vec<Description>, mut found: Description) -> usize {
        let next = descriptions.len();
        let index = *self.by_contents.entry(found.contents()).or_insert(next);
        if index == next {
            if self.names.contains(&found.name) {
                // Longer than any name so far is free; the count makes the first try succeed almost always.
                found.name = format!("{}_{next}", found.function);
                while self.names.contains(&found.name) {
                    found.name.push('_');
                }
            }
            self.names.insert(found.name.clone());
            descriptions.push(found);
        }
        index
    }
}

fn edge(buffer: &At<'_>, reader: &str, problems: &mut Problems) -> Option<SpecifiedEdge> {
    let from = buffer.optional("from")?;
    let kernel = from
        .field("kernel", problems)
        .and_then(|field| field.id(problems));
    let most = limits::ARGUMENTS as u64;
    let position = from
        .field("pos", problems)
        .and_then(|field| field.count(most, problems));
    let own = buffer
        .optional("pos")
        .and_then(|field| field.count(most, &mut Problems::default()));
    Some(SpecifiedEdge {
        place: buffer.place(),
        from: (kernel?, position?.to_string()),
        to: (reader.to_owned(), own?.to_string()),
    })
}
