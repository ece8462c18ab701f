//! Peak use of memories (rule M8), and the copies of buffers that cross stages (rule M6).
//!
//! What the rules leave open is read as follows.
//! A buffer is a tensor in one place.
//! It lives from the start of the operator or move that writes it to the end of the last operator or move that reads it; one that the network puts out lives to the end of its stage.
//! What the frame provides is there when the first stage that reads it starts.
//! A buffer that is touched in several stages crosses them, with one copy more than the distance of its first and last stage, and at least two.

use std::collections::BTreeMap;

use super::stages::{Choice, State, Timed};
use super::streams::Crossing;
use super::{Instance, Place};

/// One stage of a plan, timed under the plan's processors.
#[derive(Clone, Debug)]
pub(super) struct TimedStage<'a> {
    pub(super) choice: &'a Choice,
    pub(super) entry: &'a State,
    pub(super) timed: &'a Timed,
}

/// When a buffer is in use, in one stage.
#[derive(Clone, Copy, Debug)]
struct Use {
    from: u64,
    to: u64,
}

/// A tensor in one place.
#[derive(Clone, Debug, Default)]
struct Buffer {
    /// By stage.
    uses: BTreeMap<usize, Use>,
}

/// Buffers that cross stages, with the stage that first and last touches them.
pub(super) struct Buffers {
    by_place: BTreeMap<(usize, Place), Buffer>,
}

impl Buffers {
    pub(super) fn of(instance: &Instance, stages: &[TimedStage]) -> Self {
        let mut buffers = Self {
            by_place: BTreeMap::new(),
        };
        for (index, stage) in stages.iter().enumerate() {
            buffers.add(instance, index, stage);
        }
        buffers
    }

    fn touch(&mut self, tensor: usize, place: Place, stage: usize, span: Use) {
        let buffer = self.by_place.entry((tensor, place)).or_default();
        let known = buffer.uses.entry(stage).or_insert(span);
        known.from = known.from.min(span.from);
        known.to = known.to.max(span.to);
    }

    fn add(&mut self, instance: &Instance, index: usize, stage: &TimedStage) {
        for (&operator, &processor) in &stage.choice.placement {
            let (from, to) = stage.timed.spans[&operator];
            let home = instance.processors[processor].home;
            for &tensor in &instance.operators[operator].writes {
                self.touch(tensor, home, index, Use { from, to });
                if instance.tensors[tensor].is_output && home.fits(instance.io) {
                    let end = Use {
                        from,
                        to: stage.timed.time,
                    };
                    self.touch(tensor, home, index, end);
                }
            }
        }
        for transfer in &stage.timed.transfers {
            let span = Use {
                from: transfer.start,
                to: transfer.end,
            };
            // A source that entered is there from the start of the stage.
            let source_from = if stage.entry.contains_key(&transfer.tensor) {
                0
            } else {
                span.from
            };
            let source = Use {
                from: source_from,
                to: span.to,
            };
            self.touch(transfer.tensor, transfer.from, index, source);
            self.touch(transfer.tensor, transfer.to, index, span);
            if transfer.to == instance.io && instance.tensors[transfer.tensor].is_output {
                let end = Use {
                    from: span.from,
                    to: stage.timed.time,
                };
                self.touch(transfer.tensor, transfer.to, index, end);
            }
        }
        for (&operator, &processor) in &stage.choice.placement {
            let (from, to) = stage.timed.spans[&operator];
            let home = instance.processors[processor].home;
            for &tensor in &instance.operators[operator].reads {
                let (place, from) = source(stage, instance, tensor, home, from);
                self.touch(tensor, place, index, Use { from, to });
            }
        }
    }

    /// Buffers that a stage writes and a later one reads.
    pub(super) fn crossings(&self, instance: &Instance) -> Vec<Crossing> {
        self.by_place
            .iter()
            .filter(|((tensor, place), _)| {
                // What the frame provides is written by no stage where it is provided.
                instance.tensors[*tensor].producer.is_some() || *place != instance.io
            })
            .filter_map(|(_, buffer)| buffer.crossing())
            .collect()
    }

    /// Peak of each memory, in profile order.
    pub(super) fn peaks(&self, instance: &Instance, stages: &[TimedStage]) -> Vec<u64> {
        (0..instance.memories.len())
            .map(|memory| {
                fixed(instance, stages, memory)
                    + self.crossing_bytes(instance, memory)
                    + (0..stages.len())
                        .map(|stage| self.local_peak(instance, memory, stage))
                        .sum::<u64>()
            })
            .collect()
    }

    fn crossing_bytes(&self, instance: &Instance, memory: usize) -> u64 {
        self.by_place
            .iter()
            .filter(|((_, place), _)| place.memory == memory)
            .filter_map(|((tensor, _), buffer)| {
                let crossing = buffer.crossing()?;
                Some(instance.tensors[*tensor].bytes * crossing.copies)
            })
            .sum()
    }

    fn local_peak(&self, instance: &Instance, memory: usize, stage: usize) -> u64 {
        let local: Vec<(u64, Use)> = self
            .by_place
            .iter()
            .filter(|((_, place), buffer)| place.memory == memory && buffer.crossing().is_none())
            .filter_map(|((tensor, _), buffer)| {
                Some((instance.tensors[*tensor].bytes, *buffer.uses.get(&stage)?))
            })
            .collect();
        local
            .iter()
            .map(|(_, at)| {
                local
                    .iter()
                    .filter(|(_, other)| other.from <= at.from && is_live(*other, at.from))
                    .map(|(bytes, _)| bytes)
                    .sum()
            })
            .max()
            .unwrap_or(0)
    }
}

/// Which buffer a reader at `home` reads, and since when it is there.
fn source(
    stage: &TimedStage,
    instance: &Instance,
    tensor: usize,
    home: Place,
    from: u64,
) -> (Place, u64) {
    if let Some(held) = stage.entry.get(&tensor) {
        if held.origin.fits(home) {
            return (held.origin, 0);
        }
        if held.places.contains(&home) {
            return (home, 0);
        }
        if let Some(&place) = held.places.iter().find(|place| place.fits(home)) {
            return (place, 0);
        }
        return (home, from);
    }
    let producer = instance.tensors[tensor]
        .producer
        .expect("what does not enter is written in the stage");
    let origin = instance.processors[stage.choice.placement[&producer]].home;
    if origin.fits(home) {
        (origin, from)
    } else {
        (home, from)
    }
}

/// Whether a buffer is in use right after `instant`; one of no duration is in use at its instant.
fn is_live(span: Use, instant: u64) -> bool {
    instant < span.to || span.from == span.to && span.from == instant
}

impl Buffer {
    fn crossing(&self) -> Option<Crossing> {
        let written = *self.uses.keys().next()?;
        let last_read = *self.uses.keys().next_back()?;
        (written < last_read).then(|| Crossing {
            written,
            last_read,
            copies: (last_read - written) as u64 + 1,
        })
    }
}

/// Weights, and the largest workspace of each processor.
fn fixed(instance: &Instance, stages: &[TimedStage], memory: usize) -> u64 {
    let mut weights = 0;
    let mut workspaces = BTreeMap::new();
    for stage in stages {
        for (&operator, &processor) in &stage.choice.placement {
            if instance.processors[processor].home.memory == memory {
                weights += instance.operators[operator].weights;
                let largest = workspaces.entry(processor).or_insert(0);
                *largest = instance.operators[operator].workspace.max(*largest);
            }
        }
    }
    weights + workspaces.values().sum::<u64>()
}
