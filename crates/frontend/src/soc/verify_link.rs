//! The links of a profile, and whether they are enough (rule M3).

use std::collections::BTreeMap;

use super::error::Defect;
use super::reading::{At, Reading};
use super::verify::{MOST_MEMORIES, Names};
use super::verify_processor::{memory_field, seconds_field, watts_field};
use super::{Link, Location, Memory, MemoryId, Processor};
use crate::arena::Arena;

const MOST_LINKS: usize = MOST_MEMORIES * MOST_MEMORIES;
/// At least a byte a second, so that the reciprocal is a finite time.
const BANDWIDTH: (f64, f64) = (1.0, 1e15);

/// All links, each (from, to) once.
pub(super) fn links(
    reading: &mut Reading,
    at: &At<'_>,
    memories: &Names<'_, Memory>,
) -> Option<Vec<Link>> {
    let list = reading.list(at, "links", MOST_LINKS)?;
    let mut first: BTreeMap<(MemoryId, MemoryId), String> = BTreeMap::new();
    let mut links = Vec::new();
    for entry in &list {
        let link = link(reading, entry, memories);
        if let Some(link) = link {
            let ends = (link.from, link.to);
            if let Some(earlier) = first.get(&ends) {
                let defect = Defect::Duplicate {
                    what: "link",
                    name: link_name(entry),
                    first: earlier.clone(),
                };
                reading.report(entry, defect);
            } else {
                first.insert(ends, entry.path.clone());
            }
        }
        links.push(link);
    }
    links.into_iter().collect()
}

fn link(reading: &mut Reading, at: &At<'_>, memories: &Names<'_, Memory>) -> Option<Link> {
    let from = memory_field(reading, at, "from", memories);
    let to = memory_field(reading, at, "to", memories);
    let stated = reading.source_of(at);
    let latency = seconds_field(reading, at, "latency_s", stated);
    let bandwidth = reading.number_field(at, "bytes_per_s", stated, BANDWIDTH);
    let convert = seconds_field(reading, at, "convert_s_per_byte", stated);
    let power = watts_field(reading, at, "power_w", stated);
    let (latency, bandwidth, convert) = (latency?, bandwidth?, convert?);
    Some(Link {
        from: from?,
        to: to?,
        latency: latency.0,
        bytes_per_second: bandwidth.value,
        convert_seconds_per_byte: convert.0,
        power: power?.0,
        // Of the duration, as for operators: power does not count.
        source: latency.1.max(bandwidth.source).max(convert.1),
    })
}

fn link_name(at: &At<'_>) -> String {
    let end = |key| at.optional(key).and_then(|field| field.value.as_str());
    format!(
        "{} to {}",
        end("from").unwrap_or_default(),
        end("to").unwrap_or_default()
    )
}

/// Every pair of locations that a tensor does not fit as it is needs a link.
pub(super) fn require_links(
    reading: &mut Reading,
    memories: &Arena<Memory>,
    processors: &Arena<Processor>,
    locations: &Arena<Location>,
    links: &[Link],
) {
    let mut missing: BTreeMap<(MemoryId, MemoryId), String> = BTreeMap::new();
    for (from_id, from) in locations.iter() {
        for (to_id, to) in locations.iter() {
            let linked = || {
                links
                    .iter()
                    .any(|link| link.from == from.memory && link.to == to.memory)
            };
            if from.fits(*to) || linked() {
                continue;
            }
            let inhabitants = |id, verb: &str| {
                processors
                    .iter()
                    .find(|(_, processor)| processor.home == id)
                    .map_or_else(
                        || "network inputs and outputs".to_owned(),
                        |(_, processor)| format!("`{}` {verb}", processor.name),
                    )
            };
            missing.entry((from.memory, to.memory)).or_insert_with(|| {
                if from.memory == to.memory {
                    format!(
                        "tensors change layout on between {} and {}",
                        inhabitants(from_id, "writes"),
                        inhabitants(to_id, "reads")
                    )
                } else {
                    format!(
                        "tensors take between {} and {}",
                        inhabitants(from_id, "writes"),
                        inhabitants(to_id, "reads")
                    )
                }
            });
        }
    }
    for ((from, to), why) in missing {
        let defect = Defect::NoLink {
            from: memories[from].name.clone(),
            to: memories[to].name.clone(),
            why,
        };
        reading.report_at("links".to_owned(), defect);
    }
}
