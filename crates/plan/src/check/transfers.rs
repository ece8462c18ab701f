//! Compares the plan's transfers with the moves that follow, and puts those into the plan's order (rule M3).

use std::collections::BTreeMap;

use super::dataflow::{Dataflow, Move, Node};
use super::placement::Placement;
use super::violation::{List, Place, Violation, compare};
use crate::plan::Convert;

/// Adds every difference; afterwards `flow.moves[i]` is the plan's transfer `i`.
/// False if the two cannot be matched one to one.
pub(super) fn judge(
    placement: &Placement<'_>,
    flow: &mut Dataflow,
    found: &mut Vec<Violation>,
) -> bool {
    let plan = placement.plan;
    let by_target: BTreeMap<usize, usize> = (flow.moves.iter().enumerate())
        .map(|(position, entry)| (entry.to, position))
        .collect();
    let mut place = vec![None; flow.moves.len()];
    let before = found.len();
    for (index, transfer) in plan.transfers.iter().enumerate() {
        let matching = (by_target.get(&(transfer.to_buffer as usize)).copied())
            .filter(|&position| place[position].is_none());
        match matching {
            Some(position) => place[position] = Some(index),
            None => found.push(Violation::SurplusTransfer {
                at: Place::Transfer(index),
            }),
        }
    }
    for (entry, place) in flow.moves.iter().zip(&place) {
        if place.is_none() {
            found.push(Violation::MissingTransfer {
                tensor: placement.network.name(entry.tensor).to_owned(),
                memory: placement.locations.memory(entry.location).to_owned(),
                layout: placement.locations.layout(entry.location),
            });
        }
    }
    if found.len() > before {
        return false;
    }
    let places: Vec<usize> = place.into_iter().flatten().collect();
    reorder(flow, &places);
    for (index, entry) in flow.moves.iter().enumerate() {
        fields(placement, index, entry, found);
    }
    let keys: Vec<_> = (flow.moves.iter().zip(&plan.transfers))
        .map(|(entry, transfer)| (entry.stage, transfer.start_ns, entry.tensor, entry.location))
        .collect();
    if let Some(index) = (1..keys.len()).find(|&index| keys[index - 1] > keys[index]) {
        found.push(Violation::Unordered {
            at: Place::Transfer(index),
            list: List::Transfers,
        });
    }
    true
}

fn fields(placement: &Placement<'_>, index: usize, entry: &Move, found: &mut Vec<Violation>) {
    let transfer = &placement.plan.transfers[index];
    let at = Place::Transfer(index);
    let locations = &placement.locations;
    let home = placement.home(entry.tensor);
    let (from_layout, to_layout) = (locations.layout(home), locations.layout(entry.location));
    let convert = (!from_layout.fits(to_layout)).then_some(Convert {
        from_layout,
        to_layout,
    });
    let bytes = placement.network.facts.tensors[entry.tensor].bytes;
    compare(
        found,
        &at,
        "stage",
        &(transfer.stage as usize),
        &entry.stage,
    );
    compare(
        found,
        &at,
        "from_buffer",
        &(transfer.from_buffer as usize),
        &entry.from,
    );
    compare(found, &at, "bytes", &transfer.bytes, &bytes);
    compare(found, &at, "convert", &transfer.convert, &convert);
}

/// Moves `flow.moves[i]` to `places[i]` and renames it everywhere.
fn reorder(flow: &mut Dataflow, places: &[usize]) {
    let mut numbered: Vec<(usize, Move)> =
        places.iter().copied().zip(flow.moves.drain(..)).collect();
    numbered.sort_by_key(|(place, _)| *place);
    flow.moves = numbered.into_iter().map(|(_, entry)| entry).collect();
    for buffer in &mut flow.buffers {
        for node in buffer.writer.iter_mut().chain(&mut buffer.readers) {
            if let Node::Move(index) = node {
                *index = places[*index];
            }
        }
    }
}
