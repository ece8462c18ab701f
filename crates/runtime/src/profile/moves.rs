//! What it takes to move a tensor between memories that have no context in common.
//!
//! The way is that of a run, and its code: the end of the launch that wrote the tensor calls back and wakes a thread of the host, which
//! copies and then completes an event that the reading launch waits for.
//! Clocks of two platforms cannot be compared, so tensors are sent to and fro, a large one there and a small one back.
//! A device that shares no memory with the host has something else to launch meanwhile, as it has in a run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opencl3::command_queue::CommandQueue;
use serde::Serialize;

use super::chain::finish;
use super::machine::{HOST, Machine, Station};
use super::probe::{flush, probe};
use super::sampling::{MOVES, Stopped, sample};
use super::statistics::{line, real};
use crate::execute::{Clock, Completion, Ended, Move, Mover, Signal, Store, notify};
use crate::launch::Launch;
use crate::opencl::{Context, OpenclError, QueueOrder};

/// Sizes of the tensors that are moved, ascending.
const SIZES: [usize; 6] = [4, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 8 << 20];
const LARGEST: usize = SIZES[SIZES.len() - 1];
/// Launches that wait for the host at a time, on either side.
const MOST_PAIRS: usize = 16;
/// How long a move of any size may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// A link cannot be faster in a profile.
const FASTEST: f64 = 1e15;

/// A measured link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredLink {
    /// Name of the source memory.
    pub from: String,
    /// Name of the target memory.
    pub to: String,
    /// Seconds before the first byte.
    pub latency_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Bytes and seconds that these were fitted to.
    pub points: Vec<(usize, f64)>,
}

/// Measures the links between all memories, that of the host included if frames arrive there; `slot` is the time for one size.
pub(super) fn links(
    machine: &Machine,
    slot: Duration,
    interrupted: &AtomicBool,
) -> Result<Vec<MeasuredLink>, Stopped> {
    let mut ends = Vec::new();
    for (memory, name) in machine.memories.iter().enumerate() {
        let station = machine.inhabitants(memory).next();
        let station = station.expect("a memory has a processor");
        // As in a run, memory that moves to another context lies where that one's driver finds it.
        let others = (0..machine.memories.len()).filter(|&other| other != memory);
        let others = others.filter_map(|other| machine.inhabitants(other).next());
        let other = others.map(|other| &*other.context).next();
        ends.push(End::on_device(name, station, other)?);
    }
    if machine.io.is_none() {
        ends.push(End {
            name: HOST,
            store: Store::Host(Arc::new(Mutex::new(vec![0; LARGEST]))),
            device: None,
        });
    }
    let mover = Mover::start(&machine.contexts, Clock::start())?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for end in &ends {
            if let Some((station, launch)) = &end.device
                && !station.context.is_zero_copy()
            {
                let queue = station
                    .context
                    .queue(station.context.first_device(), QueueOrder::InOrder)?;
                let is_over = &is_over;
                scope.spawn(move || keep_busy(&queue, launch, is_over));
            }
        }
        let measure = || {
            let mut links = Vec::new();
            for (index, second) in ends.iter().enumerate() {
                for first in &ends[..index] {
                    let pair = Pair {
                        ends: [first, second],
                        mover: &mover,
                    };
                    links.extend(pair.measure(slot, interrupted)?);
                }
            }
            Ok(links)
        };
        let links = measure();
        is_over.store(true, Ordering::Relaxed);
        links
    })
}

/// Launches on a queue of its own at the pace of a network of short operators: in a run the host's thread for moves shares the driver with
/// the one that enqueues.
fn keep_busy(queue: &CommandQueue, launch: &Launch, is_over: &AtomicBool) {
    const EVERY: Duration = Duration::from_micros(50);
    const AHEAD: usize = 64;
    let mut count = 0_usize;
    let mut next = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        count += 1;
        // A driver that fails here fails where it is measured.
        let is_sent = launch.enqueue(queue, &[]).is_ok() && flush(queue).is_ok();
        if !is_sent || (count.is_multiple_of(AHEAD) && finish(queue).is_err()) {
            return;
        }
        next = (next + EVERY).max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// A memory with what it takes to write and read there.
struct End<'m> {
    name: &'m str,
    store: Store,
    /// Absent for the host's own memory, which nothing is launched in.
    device: Option<(&'m Station, Launch)>,
}

impl<'m> End<'m> {
    fn on_device(
        name: &'m str,
        station: &'m Station,
        other: Option<&Context>,
    ) -> Result<Self, OpenclError> {
        Ok(Self {
            name,
            store: Store::Device(station.context.allocate_beside(other, LARGEST)?),
            device: Some((station, probe(&station.context)?)),
        })
    }
}

struct Pair<'e, 'm> {
    ends: [&'e End<'m>; 2],
    mover: &'e Mover,
}

impl Pair<'_, '_> {
    /// Both directions.
    fn measure(
        &self,
        slot: Duration,
        interrupted: &AtomicBool,
    ) -> Result<[MeasuredLink; 2], Stopped> {
        let seconds = |bytes: [usize; 2]| {
            sample(MOVES, slot, interrupted, |pairs| {
                self.round_trip(bytes, pairs.min(MOST_PAIRS))
            })
        };
        let smallest = seconds([SIZES[0]; 2])?.median;
        let mut points = [(); 2].map(|()| vec![(SIZES[0], smallest / 2.0)]);
        for (side, points) in points.iter_mut().enumerate() {
            for &size in &SIZES[1..] {
                let mut bytes = [SIZES[0]; 2];
                bytes[side] = size;
                // The way back takes as long as it does with two small tensors, and both ways the same there.
                let there = seconds(bytes)?.median - smallest / 2.0;
                points.push((size, there.max(smallest / 2.0)));
            }
        }
        let [there, back] = points;
        Ok([self.link(0, there), self.link(1, back)])
    }

    fn link(&self, side: usize, points: Vec<(usize, f64)>) -> MeasuredLink {
        let positive = points.iter().filter(|(_, seconds)| *seconds > 0.0);
        let fitted: Vec<(f64, f64)> = positive
            .map(|&(size, seconds)| (real(size), seconds))
            .collect();
        let (latency_s, rate) = line(&fitted);
        MeasuredLink {
            from: self.ends[side].name.to_owned(),
            to: self.ends[1 - side].name.to_owned(),
            latency_s,
            bytes_per_s: (1.0 / rate.max(1.0 / FASTEST)).max(1.0),
            points,
        }
    }

    /// Seconds of a move of `bytes[0]` there and one of `bytes[1]` back, each with the launch behind it, as the mean of `pairs`.
    fn round_trip(&self, bytes: [usize; 2], pairs: usize) -> Result<f64, OpenclError> {
        let hops = 2 * pairs;
        let signals = Signals::new(self.ends, hops)?;
        let (sender, ended) = channel::<Ended>();
        let moves = self.mover.sender.clone().expect("the mover runs");
        let first: Arc<Completion> = Arc::default();
        let mut before = Arc::clone(&first);
        for hop in 0..hops {
            let (from, to) = (self.ends[hop % 2], self.ends[1 - hop % 2]);
            let completion: Arc<Completion> = Arc::default();
            let step = Move {
                from: from.store.clone(),
                from_offset: 0,
                to: to.store.clone(),
                to_offset: 0,
                bytes: bytes[hop % 2],
                ready: Ok(()),
                completion: Arc::clone(&completion),
                signals: signals
                    .0
                    .get(hop + 1)
                    .cloned()
                    .flatten()
                    .into_iter()
                    .collect(),
            };
            let moves = moves.clone();
            let send = move |ready| {
                // The thread lives longer than this measurement.
                let _gone = moves.send(Move { ready, ..step });
            };
            match (&from.device, &signals.0[hop]) {
                (Some((station, launch)), Some(signal)) => {
                    let event = launch.enqueue(&station.queue, &[signal.handle()])?;
                    notify(station.watcher.as_ref(), event.get(), send)?;
                }
                _ => before.when_ended(send),
            }
            before = completion;
        }
        before.when_ended(move |how| {
            let _gone = sender.send(how);
        });
        for (station, _) in self.ends.iter().filter_map(|end| end.device.as_ref()) {
            flush(&station.queue)?;
        }
        let started = Instant::now();
        if let Some(signal) = &signals.0[0] {
            signal.end(Ok(()));
        }
        first.end(Ok(()), (0, 0));
        match ended.recv_timeout(PATIENCE) {
            Ok(Ok(())) => Ok(started.elapsed().as_secs_f64() / real(pairs)),
            Ok(Err(code)) => Err(OpenclError::of_code(code, "moving measured tensors")),
            Err(_) => Err(OpenclError::Call {
                doing: "moving measured tensors".to_owned(),
                name: format!("nothing ended within {} s", PATIENCE.as_secs()),
            }),
        }
    }
}

/// What the launch of each hop waits for; all of it ends at last, so that no queue waits for ever.
struct Signals(Vec<Option<Arc<Signal>>>);

impl Signals {
    fn new(ends: [&End<'_>; 2], hops: usize) -> Result<Self, OpenclError> {
        let mut signals = Self(Vec::new());
        for hop in 0..hops {
            let device = ends[hop % 2].device.as_ref();
            let signal = device.map(|(station, _)| Signal::new(&station.context));
            signals.0.push(signal.transpose()?.map(Arc::new));
        }
        Ok(signals)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        const GIVEN_UP: i32 = -9998;
        for signal in self.0.iter().flatten() {
            signal.end(Err(GIVEN_UP));
        }
    }
}
