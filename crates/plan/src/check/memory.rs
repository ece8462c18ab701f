//! Use of each memory (rule M8).

use super::dataflow::{Dataflow, Node, Stored};
use super::placement::Placement;
use super::timing::{Schedule, Span};
use super::violation::{Place, Violation, compare};
use crate::facts::MemoryFacts;
use crate::plan::BufferKind;
use crate::{Bytes, Nanoseconds};

/// Compares use with what follows, and with the limits.
pub(super) fn judge(
    placement: &Placement<'_>,
    flow: &Dataflow,
    used: &Schedule,
    memories: &[MemoryFacts],
    found: &mut Vec<Violation>,
) {
    let stated = &placement.plan.predicted.memory;
    let mut entries = 0;
    for memory in memories {
        let buffers: Vec<&Stored> = (flow.buffers.iter())
            .filter(|buffer| placement.locations.memory(buffer.location) == memory.name)
            .collect();
        if buffers.is_empty() {
            continue;
        }
        let weights = total(&buffers, BufferKind::Weight);
        let need = weights + total(&buffers, BufferKind::Workspace) + frames(&buffers, used);
        let at = Place::Memory(entries);
        if let Some(stated) = stated.get(entries) {
            compare(found, &at, "memory", &stated.memory, &memory.name);
            compare(
                found,
                &at,
                "weights",
                &stated.weights.count(),
                &weights.count(),
            );
            compare(found, &at, "peak", &stated.peak.count(), &need.count());
        }
        entries += 1;
        if let Some(limit) = memory.limit.filter(|&limit| need > limit) {
            found.push(Violation::MemoryExceeded {
                memory: memory.name.clone(),
                need,
                limit,
            });
        }
    }
    compare(
        found,
        &Place::Predicted,
        "the number of memories",
        &stated.len(),
        &entries,
    );
}

fn total(buffers: &[&Stored], kind: BufferKind) -> Bytes {
    (buffers.iter())
        .filter(|buffer| buffer.kind == kind)
        .map(|buffer| buffer.bytes)
        .sum()
}

/// Buffers between stages with all their copies, and every stage's peak of local ones.
fn frames(buffers: &[&Stored], used: &Schedule) -> Bytes {
    let mut sum = Bytes::ZERO;
    let mut changes: Vec<Vec<Change>> = vec![Vec::new(); used.stages.len()];
    for buffer in buffers.iter().filter(|buffer| buffer.is_of_frame()) {
        match lifetime(buffer, used) {
            Lifetime::Crossing => sum += buffer.bytes.times(buffer.copies() as u64),
            Lifetime::Stage => sum += buffer.bytes,
            Lifetime::Span(span) => {
                if span.start < span.end {
                    changes[buffer.first].push(Change::new(span.start, true, buffer.bytes));
                    changes[buffer.first].push(Change::new(span.end, false, buffer.bytes));
                }
            }
        }
    }
    sum + changes.into_iter().map(peak).sum()
}

enum Lifetime {
    Crossing,
    Stage,
    Span(Span),
}

fn lifetime(buffer: &Stored, used: &Schedule) -> Lifetime {
    if buffer.last > buffer.first {
        return Lifetime::Crossing;
    }
    let span = |node: Node| match node {
        Node::Task(task) => used.tasks[task],
        Node::Move(index) => used.moves[index],
    };
    match (buffer.kind, buffer.writer) {
        (BufferKind::Activation, Some(writer)) => {
            let start = span(writer).start;
            let readers = buffer.readers.iter().map(|&reader| span(reader).end);
            let end = readers.fold(span(writer).end, Nanoseconds::max);
            Lifetime::Span(Span { start, end })
        }
        (
            BufferKind::Activation
            | BufferKind::Input
            | BufferKind::Output
            | BufferKind::Weight
            | BufferKind::Workspace,
            _,
        ) => Lifetime::Stage,
    }
}

/// Ends sort before starts at the same instant, since lifetimes are half-open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    at: Nanoseconds,
    starts: bool,
    bytes: Bytes,
}

impl Change {
    fn new(at: Nanoseconds, starts: bool, bytes: Bytes) -> Self {
        Self { at, starts, bytes }
    }
}

fn peak(mut changes: Vec<Change>) -> Bytes {
    changes.sort_unstable();
    let mut live = Bytes::ZERO;
    let mut peak = Bytes::ZERO;
    for change in changes {
        if change.starts {
            live += change.bytes;
        } else {
            live = live - change.bytes;
        }
        peak = live.max(peak);
    }
    peak
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_meet_at_an_instant_do_not_add_up() {
        let change =
            |at, starts, bytes| Change::new(Nanoseconds::new(at), starts, Bytes::new(bytes));
        let apart = vec![
            change(0, true, 8),
            change(5, false, 8),
            change(5, true, 6),
            change(9, false, 6),
        ];
        assert_eq!(peak(apart), Bytes::new(8));
        let together = vec![
            change(0, true, 8),
            change(6, false, 8),
            change(5, true, 6),
            change(9, false, 6),
        ];
        assert_eq!(peak(together), Bytes::new(14));
    }
}
