//! The contention of a profile (rule M4).

use std::collections::BTreeMap;

use super::error::Defect;
use super::reading::{At, Reading};
use super::verify::Names;
use super::verify_processor::{slowdown, unique};
use super::{Contention, Processor, ProcessorId, ProcessorSet};

const MOST_CONTENTION: usize = 4096;

/// All sets with their factors, each set once.
pub(super) fn contention(
    reading: &mut Reading,
    at: &At<'_>,
    processors: &Names<'_, Processor>,
) -> Option<Vec<Contention>> {
    let list = reading.list(at, "contention", MOST_CONTENTION)?;
    let entries: Vec<_> = list
        .iter()
        .map(|entry| contention_entry(reading, entry, processors))
        .collect();
    let entries: Vec<Contention> = entries.into_iter().collect::<Option<_>>()?;
    let mut first: BTreeMap<ProcessorSet, &str> = BTreeMap::new();
    for (entry, place) in entries.iter().zip(&list) {
        if let Some(earlier) = first.get(&entry.set) {
            let defect = Defect::Duplicate {
                what: "contention set",
                name: entry.set.to_string(),
                first: (*earlier).to_owned(),
            };
            reading.report(place, defect);
        } else {
            first.insert(entry.set, &place.path);
        }
    }
    Some(entries)
}

fn contention_entry(
    reading: &mut Reading,
    at: &At<'_>,
    processors: &Names<'_, Processor>,
) -> Option<Contention> {
    let list = reading.some_of(at, "set", ProcessorSet::CAPACITY, "processor");
    let mut first = BTreeMap::new();
    let mut members: Option<Vec<ProcessorId>> = list.as_ref().map(|_| Vec::new());
    for entry in list.iter().flatten() {
        let member = reading.text(entry).and_then(|name| {
            unique(reading, &mut first, "processor", name, entry);
            known_processor(reading, entry, name, processors)
        });
        members = members.zip(member).map(|(mut members, member)| {
            members.push(member);
            members
        });
    }
    let set: Option<ProcessorSet> = members.map(|members| members.into_iter().collect());
    let stated = reading.source_of(at);
    let field = reading.field(at, "factor")?;
    let mut factor = BTreeMap::new();
    let mut complete = reading.object(&field).is_some();
    for (name, entry) in reading.entries(&field, ProcessorSet::CAPACITY) {
        let value = slowdown(reading, &entry, stated);
        let member = known_processor(reading, &entry, name, processors);
        if let (Some(set), Some(member)) = (set, member)
            && !set.contains(member)
        {
            reading.report(&entry, Defect::NotMember(name.to_owned()));
        }
        match member.zip(value) {
            Some((member, value)) => {
                factor.insert(member, value);
            }
            None => complete = false,
        }
    }
    (complete && set.is_some_and(|set| !set.is_empty())).then_some(Contention { set: set?, factor })
}

fn known_processor(
    reading: &mut Reading,
    at: &At<'_>,
    name: &str,
    processors: &Names<'_, Processor>,
) -> Option<ProcessorId> {
    let found = processors.get(name).copied();
    if found.is_none() {
        reading.unknown(at, "processor", name, processors.keys().copied());
    }
    found
}
