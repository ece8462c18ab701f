//! The verifier of profiles: the only way from JSON to a [`Soc`].
//!
//! Invariants, beside the ranges of numbers:
//!
//! - memories, processors, operating points of a processor and links are unique; there are at most 16 processors;
//! - names fit into file names, and no processor is called `io`;
//! - every reference names something of the profile;
//! - a tensor can go from every location to every other one, network inputs and outputs included;
//! - contention factors are those of members of their set.

use std::collections::BTreeMap;

use paracompile_plan::Bytes;
use paracompile_plan::plan::Source;
use serde_json::Value;

use super::error::{Defect, Problem};
use super::location::settle;
use super::reading::{At, Reading, join};
use super::verify_contention::contention;
use super::verify_link::{links, require_links};
use super::verify_processor::{Draft, memory_field, processor, seconds_field, unique, watts_field};
use super::{Location, Memory, Processor, ProcessorSet, Soc};
use crate::arena::{Arena, Id};

/// Largest number of memories: lists that are compared with each other have to be short.
pub(super) const MOST_MEMORIES: usize = 64;
/// 2^53: every whole number up to here is exact in JSON.
const BYTES: (f64, f64) = (0.0, 9_007_199_254_740_992.0);

/// Ids by name.
pub(super) type Names<'a, T> = BTreeMap<&'a str, Id<T>>;

/// Checks a parsed profile; `digest` is carried along.
pub(super) fn verify(profile: &Value, digest: String) -> Result<Soc, Vec<Problem>> {
    let mut reading = Reading::default();
    let at = At::root(profile);
    if reading.object(&at).is_none() || !is_schema_1(&mut reading, &at) {
        return Err(reading.problems);
    }
    let soc = read(&mut reading, &at, digest);
    match soc {
        Some(soc) if reading.problems.is_empty() => Ok(soc),
        _ => Err(reading.problems),
    }
}

/// Whether the fields mean what this module thinks; a profile without the number is read on, so that all problems are found.
fn is_schema_1(reading: &mut Reading, at: &At<'_>) -> bool {
    let Some(field) = reading.field(at, "schema") else {
        return true;
    };
    let right = field.value.as_u64() == Some(1);
    if !right {
        let found = super::near::shown(&field.value.to_string());
        reading.report(&field, Defect::Schema(found));
    }
    right
}

fn read(reading: &mut Reading, at: &At<'_>, digest: String) -> Option<Soc> {
    let name = reading.name_field(at, "name");
    let (memories, memory_names) = memories(reading, at);
    let io = memory_field(reading, at, "io", &memory_names);
    let (drafts, processor_names) = processors(reading, at, &memory_names);
    let links = links(reading, at, &memory_names);
    let contention = contention(reading, at, &processor_names);
    let enqueue = reading
        .field(at, "host")
        .and_then(|host| seconds_field(reading, &host, "enqueue_s", Source::Assumed));
    let base = reading
        .field(at, "board")
        .and_then(|board| watts_field(reading, &board, "base_w", Source::Assumed));

    let (io, drafts, links, memories) = (io?, drafts?, links?, memories?);
    let homes = drafts.iter().map(|draft| Location {
        memory: draft.memory,
        layout: draft.layout,
    });
    let (locations, homes, io_location) = settle(homes, io);
    let processors = drafts
        .into_iter()
        .zip(homes)
        .map(|(draft, home)| draft.at_home(home))
        .collect();
    require_links(reading, &memories, &processors, &locations, &links);
    Some(Soc {
        name: name?.to_owned(),
        digest,
        io,
        memories,
        processors,
        links,
        contention: contention?,
        enqueue: enqueue?.0,
        base: base?.0,
        synthetic: !reading.grounded,
        locations,
        io_location,
    })
}

fn memories<'a>(
    reading: &mut Reading,
    at: &At<'a>,
) -> (Option<Arena<Memory>>, Names<'a, Memory>) {
    let mut names = BTreeMap::new();
    let Some(list) = reading.some_of(at, "memories", MOST_MEMORIES, "memory") else {
        return (None, names);
    };
    let mut first = BTreeMap::new();
    let mut memories = Vec::new();
    for (index, entry) in list.iter().enumerate() {
        let name = reading.name_field(entry, "name");
        let limit = memory_limit(reading, entry);
        if let Some(name) = name
            && unique(reading, &mut first, "memory", name, entry)
        {
            names.insert(name, Id::from_index(index));
        }
        memories.push(name.zip(limit).map(|(name, limit)| Memory {
            name: name.to_owned(),
            limit,
        }));
    }
    (memories.into_iter().collect::<Option<Vec<_>>>().map(Arena::from_iter), names)
}

/// The size, or the inner `None` for null: no limit.
fn memory_limit(reading: &mut Reading, at: &At<'_>) -> Option<Option<Bytes>> {
    let field = reading.field(at, "bytes")?;
    if field.value.is_null() {
        return Some(None);
    }
    reading.count(&field, BYTES).map(|count| Some(Bytes::new(count)))
}

fn processors<'a>(
    reading: &mut Reading,
    at: &At<'a>,
    memories: &Names<'_, Memory>,
) -> (Option<Vec<Draft>>, Names<'a, Processor>) {
    let mut names = BTreeMap::new();
    let Some(list) = reading.some_of(at, "processors", ProcessorSet::CAPACITY, "processor") else {
        return (None, names);
    };
    let mut first = BTreeMap::new();
    let mut drafts = Vec::new();
    for (index, entry) in list.iter().enumerate() {
        let name = reading.name_field(entry, "name");
        if name == Some("io") {
            reading.report_at(join(&entry.path, "name"), Defect::ReservedName);
        }
        if let Some(name) = name
            && unique(reading, &mut first, "processor", name, entry)
        {
            names.insert(name, Id::from_index(index));
        }
        drafts.push(processor(reading, entry, name, memories));
    }
    (drafts.into_iter().collect(), names)
}
