//! Use of each memory (rule M8): weights, workspaces, the peaks of buffers local to a stage, and buffers that cross, with their copies.

use std::collections::BTreeSet;

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::ir::OpId;
use paracompile_frontend::soc::ProcessorId;
use paracompile_plan::{Bytes, Nanoseconds};

use super::figures::MemoryFigures;
use super::latency::TaskTimes;
use super::placement::{Placement, Storage, Writer};
use crate::partition::FusedGraph;

/// When a local buffer is alive, half-open, and how large it is.
struct Life {
    from: Nanoseconds,
    to: Nanoseconds,
    bytes: Bytes,
}

/// Figures of every memory that holds something, in profile order, from times under the plan's set.
pub(crate) fn figures(
    fused: &FusedGraph,
    table: &CostTable,
    placement: &Placement,
    times: &TaskTimes,
) -> Vec<MemoryFigures> {
    let soc = &table.soc;
    let mut holds = vec![false; soc.memories.len()];
    let mut weights = weight_bytes(fused, table, placement, &mut holds);
    let mut peaks = weights.clone();
    let workspaces = largest_workspaces(fused, table, placement);
    for (id, processor) in soc.processors.iter() {
        let workspace = workspaces[id.index()];
        if workspace > Bytes::ZERO {
            holds[processor.memory.index()] = true;
            peaks[processor.memory.index()] += workspace;
        }
    }
    let last_reads = last_reads(fused, placement, times);
    let mut lives: Vec<Vec<Life>> = Vec::new();
    lives.resize_with(placement.stages * soc.memories.len(), Vec::new);
    for (storage, &last_read) in placement.storages.iter().zip(&last_reads) {
        let memory = soc.locations[storage.location].memory.index();
        let bytes = fused.tensors[storage.tensor].bytes;
        holds[memory] = true;
        if storage.copies() > 1 {
            peaks[memory] += bytes.times(storage.copies() as u64);
        } else if let Some((from, to)) = life(placement, times, storage, last_read) {
            lives[storage.first * soc.memories.len() + memory].push(Life { from, to, bytes });
        } else {
            peaks[memory] += bytes;
        }
    }
    for (index, lives) in lives.iter().enumerate() {
        peaks[index % soc.memories.len()] += peak(lives);
    }
    soc.memories
        .ids()
        .filter(|memory| holds[memory.index()])
        .map(|memory| MemoryFigures {
            memory,
            weights: std::mem::take(&mut weights[memory.index()]),
            peak: peaks[memory.index()],
        })
        .collect()
}

/// Scratch space of a task: the largest need of its members, fused or not.
pub(crate) fn workspace(table: &CostTable, members: &[OpId], processor: ProcessorId) -> Bytes {
    members
        .iter()
        .filter_map(|&member| table.operators[member][processor.index()])
        .map(|cost| cost.workspace)
        .max()
        .unwrap_or_default()
}

/// The largest workspace that a task needs on each processor.
fn largest_workspaces(fused: &FusedGraph, table: &CostTable, placement: &Placement) -> Vec<Bytes> {
    let mut largest = vec![Bytes::ZERO; table.soc.processors.len()];
    for (id, op) in fused.ops.iter() {
        let processor = placement.processor_of[id.index()];
        let largest = &mut largest[processor.index()];
        *largest = (*largest).max(workspace(table, &op.members, processor));
    }
    largest
}

/// Bytes of weights in each memory: each weight once for each location of a processor that reads it.
fn weight_bytes(
    fused: &FusedGraph,
    table: &CostTable,
    placement: &Placement,
    holds: &mut [bool],
) -> Vec<Bytes> {
    let mut total = vec![Bytes::ZERO; table.soc.memories.len()];
    let mut seen = BTreeSet::new();
    for (id, op) in fused.ops.iter() {
        let home = table.soc.processors[placement.processor_of[id.index()]].home;
        let memory = table.soc.locations[home].memory.index();
        for weight in &op.weights {
            if seen.insert((home, weight.tensor)) {
                holds[memory] = true;
                total[memory] += weight.bytes;
            }
        }
    }
    total
}

/// When the last reader inside the stage of each storage ends; zero where there is none.
fn last_reads(fused: &FusedGraph, placement: &Placement, times: &TaskTimes) -> Vec<Nanoseconds> {
    let mut last = vec![Nanoseconds::ZERO; placement.storages.len()];
    for op in fused.ops.ids() {
        for &storage in placement.reads_of(op) {
            last[storage] = last[storage].max(times.end[op.index()]);
        }
    }
    for (index, planned) in placement.moves.iter().enumerate() {
        last[planned.source] = last[planned.source].max(times.move_end(placement, index));
    }
    last
}

/// From the start of what writes a local buffer to the end of its last reader, or of its writer if nobody reads it.
/// `None` for what the frame brings or takes away: it lives throughout the stage, however short that is.
fn life(
    placement: &Placement,
    times: &TaskTimes,
    storage: &Storage,
    last_read: Nanoseconds,
) -> Option<(Nanoseconds, Nanoseconds)> {
    if storage.is_result {
        return None;
    }
    match storage.writer {
        Writer::Frame => None,
        Writer::Op(op) => Some((
            times.start[op.index()],
            last_read.max(times.end[op.index()]),
        )),
        Writer::Move(index) => Some((
            times.move_start(placement, index),
            last_read.max(times.move_end(placement, index)),
        )),
    }
}

/// The most bytes alive at one time.
fn peak(lives: &[Life]) -> Bytes {
    let mut edges: Vec<(Nanoseconds, bool, Bytes)> = lives
        .iter()
        .filter(|life| life.from < life.to)
        .flat_map(|life| [(life.from, true, life.bytes), (life.to, false, life.bytes)])
        .collect();
    // Ends come before starts of the same instant: lives are half-open.
    edges.sort_unstable();
    let mut alive: u128 = 0;
    let mut most: u128 = 0;
    for (_, starts, bytes) in edges {
        if starts {
            alive += u128::from(bytes.count());
            most = most.max(alive);
        } else {
            alive -= u128::from(bytes.count());
        }
    }
    Bytes::new(u64::try_from(most).unwrap_or(u64::MAX))
}
