//! Buffers: which stages touch them, how many copies they have (rule M6), and what they add up to in each memory (rule M8).
//!
//! A buffer is a tensor in one place: where it is written, or where a move brings it.
//! Its first stage is the one that writes it, and the first of all for what the frame provides; its last stage is the last one that reads it, and the last of all where the network puts it out.
//! One that stays inside a stage lives from the start of its writer to the end of its last reader, half-open; inputs and outputs live throughout it.

use std::collections::BTreeMap;

use super::stages::{Choice, State, Timed};
use super::streams::Crossing;
use super::{Instance, Place};

/// One stage of a plan, timed under the plan's processors.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedStage<'a> {
    pub(super) choice: &'a Choice,
    pub(super) entry: &'a State,
    pub(super) timed: &'a Timed,
}

/// A tensor in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Buffer {
    bytes: u64,
    memory: usize,
    first: usize,
    last: usize,
    /// When it is in use; counts where it stays inside one stage.
    from: u64,
    to: u64,
}

/// All buffers of a plan but weights and workspaces.
pub(super) struct Buffers {
    by_place: BTreeMap<(usize, Place), Buffer>,
}

impl Buffers {
    pub(super) fn of(instance: &Instance, stages: &[TimedStage]) -> Self {
        let mut buffers = Self {
            by_place: BTreeMap::new(),
        };
        for (tensor, facts) in instance.tensors.iter().enumerate() {
            if facts.producer.is_none() && (facts.is_output || !facts.readers.is_empty()) {
                buffers.write(instance, tensor, instance.io, 0, (0, u64::MAX));
            }
        }
        for (index, stage) in stages.iter().enumerate() {
            buffers.add_written(instance, index, stage);
            buffers.add_read(instance, index, stage);
        }
        buffers.keep_outputs(instance, stages);
        buffers
    }

    fn write(
        &mut self,
        instance: &Instance,
        tensor: usize,
        place: Place,
        stage: usize,
        (from, to): (u64, u64),
    ) {
        let buffer = Buffer {
            bytes: instance.tensors[tensor].bytes,
            memory: place.memory,
            first: stage,
            last: stage,
            from,
            to,
        };
        self.by_place.insert((tensor, place), buffer);
    }

    fn add_written(&mut self, instance: &Instance, index: usize, stage: &TimedStage) {
        for (&operator, &processor) in &stage.choice.placement {
            let home = instance.processors[processor].home;
            for &tensor in &instance.operators[operator].writes {
                self.write(instance, tensor, home, index, stage.timed.spans[&operator]);
            }
        }
        for transfer in &stage.timed.transfers {
            let span = (transfer.start, transfer.end);
            self.write(instance, transfer.tensor, transfer.to, index, span);
        }
    }

    fn add_read(&mut self, instance: &Instance, index: usize, stage: &TimedStage) {
        for transfer in &stage.timed.transfers {
            self.read(transfer.tensor, transfer.from, index, transfer.end);
        }
        for (&operator, &processor) in &stage.choice.placement {
            let here = instance.processors[processor].home;
            let (_, end) = stage.timed.spans[&operator];
            for &tensor in &instance.operators[operator].reads {
                let home = match stage.entry.get(&tensor) {
                    Some(held) => held.origin,
                    None => written_at(instance, stage, tensor),
                };
                let place = if home.fits(here) { home } else { here };
                self.read(tensor, place, index, end);
            }
        }
    }

    fn read(&mut self, tensor: usize, place: Place, stage: usize, end: u64) {
        let buffer = self
            .by_place
            .get_mut(&(tensor, place))
            .expect("what is read is written before");
        buffer.last = stage;
        buffer.to = buffer.to.max(end);
    }

    /// What the network puts out stays until the last stage has ended.
    fn keep_outputs(&mut self, instance: &Instance, stages: &[TimedStage]) {
        for stage in stages {
            for (&operator, &processor) in &stage.choice.placement {
                let home = instance.processors[processor].home;
                let place = if home.fits(instance.io) {
                    home
                } else {
                    instance.io
                };
                for &tensor in &instance.operators[operator].writes {
                    if instance.tensors[tensor].is_output {
                        let buffer = self
                            .by_place
                            .get_mut(&(tensor, place))
                            .expect("outputs are brought home");
                        buffer.last = stages.len() - 1;
                        (buffer.from, buffer.to) = (0, u64::MAX);
                    }
                }
            }
        }
    }

    /// Buffers with several copies.
    pub(super) fn crossings(&self) -> Vec<Crossing> {
        self.by_place
            .values()
            .filter(|buffer| buffer.crosses())
            .map(|buffer| Crossing {
                written: buffer.first,
                last_read: buffer.last,
                copies: buffer.copies(),
            })
            .collect()
    }

    /// Peak of each memory, in profile order.
    pub(super) fn peaks(&self, instance: &Instance, stages: &[TimedStage]) -> Vec<u64> {
        (0..instance.memories.len())
            .map(|memory| {
                let here = || {
                    self.by_place
                        .values()
                        .filter(move |buffer| buffer.memory == memory)
                };
                let crossing: u64 = here()
                    .filter(|buffer| buffer.crosses())
                    .map(|buffer| buffer.bytes * buffer.copies())
                    .sum();
                let local: u64 = (0..stages.len())
                    .map(|stage| {
                        local_peak(
                            here().filter(|buffer| !buffer.crosses() && buffer.first == stage),
                        )
                    })
                    .sum();
                fixed(instance, stages, memory) + crossing + local
            })
            .collect()
    }
}

impl Buffer {
    const fn crosses(self) -> bool {
        self.first < self.last
    }

    const fn copies(self) -> u64 {
        (self.last - self.first) as u64 + 1
    }
}

/// Where the stage itself writes a tensor.
fn written_at(instance: &Instance, stage: &TimedStage, tensor: usize) -> Place {
    let producer = instance.tensors[tensor]
        .producer
        .expect("what does not enter is written in the stage");
    instance.processors[stage.choice.placement[&producer]].home
}

/// The most bytes in use at one instant; use begins at the start of one of them.
fn local_peak<'a>(buffers: impl Iterator<Item = &'a Buffer>) -> u64 {
    let buffers: Vec<_> = buffers.collect();
    buffers
        .iter()
        .map(|instant| {
            buffers
                .iter()
                .filter(|buffer| buffer.from <= instant.from && instant.from < buffer.to)
                .map(|buffer| buffer.bytes)
                .sum()
        })
        .max()
        .unwrap_or(0)
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
