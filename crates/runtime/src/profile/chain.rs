//! One task, launched again and again: what it takes in a frame.
//!
//! A frame's launches are enqueued without waiting into a queue in order, so a task takes from the end of the one before it to its own
//! end: launch, gaps between its kernels and events included, and what the host does only where the device waits for it.
//! That is what a chain of the same task shows, by the device's clock and without the start and the end of the chain.
//! Weights and packed weights come from another place each time, and results go to another one, see [`super::stock`].

use std::sync::Arc;

use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;

use super::machine::Station;
use super::statistics::real;
use super::stock::Stock;
use super::tasks::WiredTask;
use crate::launch::{Launch, Place, Places, launches};
use crate::lower::{Lowered, Phase, Spec};
use crate::opencl::{Doing, Memory, OpenclError, write};

/// Places that a chain takes in turn at least and at most.
const PLACES: (usize, usize) = (2, 200);

/// A task that is ready to be launched.
#[derive(Debug)]
pub(super) struct Chain {
    /// The launches of a frame, once for each place.
    sets: Vec<Vec<Launch>>,
    next: usize,
}

impl Chain {
    /// Takes memory, sets all arguments, and does what is done once.
    pub(super) fn new(
        station: &Station,
        stock: &mut Stock,
        wired: &WiredTask<'_>,
        lowered: &Lowered,
    ) -> Result<Self, OpenclError> {
        let context = &station.context;
        let constants = wired.operands.iter().filter(|operand| operand.is_constant);
        let weights: usize = constants.map(|operand| operand.spec.bytes()).sum();
        let packed = lowered.scratch.iter().filter(|scratch| scratch.lives_on);
        let packed: usize = packed.map(|scratch| scratch.bytes).sum();
        let written: usize = wired.results.iter().map(Spec::bytes).sum();
        let count = |stock: usize, bytes: usize| (stock / bytes.max(1)).clamp(PLACES.0, PLACES.1);
        let weight_places = count(stock.bytes(), weights.max(packed));
        let result_places = count(stock.result_bytes(), written);
        let mut shared: Vec<Option<Arc<Memory>>> = Vec::new();
        for scratch in &lowered.scratch {
            let memory = (!scratch.lives_on).then(|| context.allocate(scratch.bytes));
            shared.push(memory.transpose()?);
        }
        let mut tables = Vec::new();
        for table in &lowered.tables {
            tables.push(filled(station, table)?);
        }
        // What the task before wrote is in the caches if it fits there, so what is read lies in two places alone.
        let mut read = Vec::new();
        for _ in 0..PLACES.0 {
            read.push(operands(station, stock, wired, false)?);
        }
        let mut weights: Vec<Weights> = Vec::new();
        let mut sets = Vec::new();
        for index in 0..weight_places.max(result_places) {
            let is_new = weights.len() < weight_places;
            if is_new {
                weights.push(Weights {
                    operands: operands(station, stock, wired, true)?,
                    packed: lowered
                        .scratch
                        .iter()
                        .map(|scratch| scratch.lives_on.then(|| context.allocate(scratch.bytes)))
                        .map(Option::transpose)
                        .collect::<Result<_, _>>()?,
                });
            }
            let weights = &weights[index % weight_places];
            let both = weights.operands.iter().zip(&read[index % PLACES.0]);
            let mut places = Places {
                operands: both
                    .map(|(weight, read)| weight.clone().or(read.clone()))
                    .collect(),
                results: Vec::new(),
                scratch: weights
                    .packed
                    .iter()
                    .zip(&shared)
                    .filter_map(|(packed, shared)| packed.clone().or(shared.clone()))
                    .collect(),
                tables: tables.clone(),
            };
            for result in &wired.results {
                places.results.push(Some(stock.result(station, result)?));
            }
            if is_new {
                for launch in launches(context, lowered, &places, Phase::Setup)? {
                    drop(launch.enqueue(&station.queue, &[])?);
                }
            }
            sets.push(launches(context, lowered, &places, Phase::Frame)?);
        }
        finish(&station.queue)?;
        Ok(Self { sets, next: 0 })
    }

    /// Of launches that are ready, once for each place.
    pub(super) fn of(sets: Vec<Vec<Launch>>) -> Self {
        Self { sets, next: 0 }
    }

    /// Enqueues the task once; the event is that of its last kernel.
    pub(super) fn enqueue(&mut self, queue: &CommandQueue) -> Result<Option<Event>, OpenclError> {
        let set = &self.sets[self.next];
        self.next = (self.next + 1) % self.sets.len();
        let mut last = None;
        for launch in set {
            last = Some(launch.enqueue(queue, &[])?);
        }
        Ok(last)
    }

    /// Seconds that the task takes behind itself, as the mean over `repetitions` of it, at least one.
    pub(super) fn seconds(
        &mut self,
        queue: &CommandQueue,
        repetitions: usize,
    ) -> Result<f64, OpenclError> {
        let first = self.enqueue(queue)?;
        let mut last = None;
        for _ in 0..repetitions {
            last = self.enqueue(queue)?;
        }
        finish(queue)?;
        match (first, last) {
            (Some(first), Some(last)) => {
                Ok(nanoseconds_between(&first, &last)? / 1e9 / real(repetitions))
            }
            _ => Ok(0.0),
        }
    }
}

/// Nanoseconds from the end of one command to the end of a later one of the same device.
pub(super) fn nanoseconds_between(first: &Event, last: &Event) -> Result<f64, OpenclError> {
    let end = |event: &Event| {
        event
            .profiling_command_end()
            .doing(|| "asking when a launch ended".to_owned())
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "differences are below 2^53 nanoseconds"
    )]
    let between = end(last)?.saturating_sub(end(first)?) as f64;
    Ok(between)
}

/// Waits until a queue is empty.
pub(super) fn finish(queue: &CommandQueue) -> Result<(), OpenclError> {
    queue
        .finish()
        .doing(|| "waiting for measured launches".to_owned())
}

/// Memory with the given contents.
fn filled(station: &Station, bytes: &[u8]) -> Result<Arc<Memory>, OpenclError> {
    let memory = station.context.allocate(bytes.len())?;
    if !bytes.is_empty() {
        write(&station.queue, &memory, 0, bytes)?;
    }
    Ok(memory)
}

/// Weights of a task, and the same packed.
#[derive(Debug)]
struct Weights {
    /// By position; `None` for what a frame brings.
    operands: Vec<Option<Place>>,
    /// By scratch space; `None` for what does not live on.
    packed: Vec<Option<Arc<Memory>>>,
}

/// Places of the operands that are weights, or of those that are not.
fn operands(
    station: &Station,
    stock: &mut Stock,
    wired: &WiredTask<'_>,
    are_constant: bool,
) -> Result<Vec<Option<Place>>, OpenclError> {
    wired
        .operands
        .iter()
        .map(|operand| {
            (operand.is_constant == are_constant)
                .then(|| stock.operand(&station.context, &station.queue, operand))
                .transpose()
        })
        .collect()
}
