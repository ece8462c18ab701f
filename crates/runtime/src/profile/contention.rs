//! How much processors slow each other, and queues of one processor.
//!
//! Every processor runs a mix of the operators that it spends most time on, again and again, alone and while others run theirs.
//! The factor is the ratio of the lower quartiles of the times of a mix, and of several rounds the median: what else the machine does can only make runs longer, and longer
//! by more where fewer cores are left, so that the quiet half of the runs tells more of the processors themselves.
//! What is less than one is noise.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;
use serde::Serialize;

use super::chain::{Chain, finish};
use super::probe::flush;
use super::sampling::{MOVES, Stopped, sample};
use super::statistics::{lower_quartile, median, real};
use crate::opencl::OpenclError;

/// Runs of a mix beside others that are enough.
const ENOUGH: usize = 6;
/// How often everything is measured again, so that a machine that changes meanwhile changes for all.
const ROUNDS: u32 = 3;
/// A queue more must make a processor faster by this factor to be worth having.
const WORTHWHILE: f64 = 1.05;

/// Processors that were measured together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredContention {
    /// Their names.
    pub set: Vec<String>,
    /// The factor of each, at least one.
    pub factors: Vec<f64>,
}

/// Operators of a processor that stand for all of them.
#[derive(Debug)]
pub(super) struct Mix<'s> {
    pub(super) name: &'s str,
    pub(super) queue: &'s CommandQueue,
    pub(super) chains: Vec<Chain>,
}

impl Mix<'_> {
    /// Enqueues every operator once; the event is the last one's.
    fn enqueue(&mut self, queue: &CommandQueue) -> Result<Option<Event>, OpenclError> {
        let mut last = None;
        for chain in &mut self.chains {
            if let Some(event) = chain.enqueue(queue)? {
                last = Some(event);
            }
        }
        Ok(last)
    }

    /// Seconds of `runs` of the mix, one behind the other.
    fn seconds(&mut self, runs: usize) -> Result<f64, OpenclError> {
        let started = Instant::now();
        for _ in 0..runs {
            self.enqueue(self.queue)?;
        }
        finish(self.queue)?;
        Ok(started.elapsed().as_secs_f64() / real(runs))
    }
}

/// The factors of every set of at least two of the mixes; `slot` is the time for a set.
pub(super) fn contention(
    mixes: &mut [Mix<'_>],
    slot: Duration,
    interrupted: &AtomicBool,
) -> Result<Vec<MeasuredContention>, Stopped> {
    let sets: Vec<usize> = (1..1 << mixes.len()).collect();
    // By set, then member: the ratio of each round.
    let mut ratios: Vec<Vec<Vec<f64>>> = sets
        .iter()
        .map(|&set| members(set, mixes.len()).map(|_| Vec::new()).collect())
        .collect();
    for _ in 0..ROUNDS {
        let mut alone = vec![0.0; mixes.len()];
        for (&set, ratios) in sets.iter().zip(&mut ratios) {
            let chosen = mixes.iter_mut().enumerate();
            let chosen = chosen.filter(|(index, _)| is_member(set, *index));
            let chosen = chosen.map(|(_, mix)| mix).collect();
            let times = together(chosen, slot / ROUNDS, interrupted)?;
            for ((member, seconds), ratios) in members(set, alone.len()).zip(times).zip(ratios) {
                // The sets of one come before all others that a processor is in.
                if set.is_power_of_two() {
                    alone[member] = seconds;
                }
                if alone[member] > 0.0 {
                    ratios.push(seconds / alone[member]);
                }
            }
        }
    }
    let several = sets
        .iter()
        .zip(&ratios)
        .filter(|(set, _)| !set.is_power_of_two());
    let found = several.map(|(&set, ratios)| MeasuredContention {
        set: members(set, mixes.len())
            .map(|member| mixes[member].name.to_owned())
            .collect(),
        factors: ratios
            .iter()
            .map(|ratios| median(ratios).unwrap_or(1.0).max(1.0))
            .collect(),
    });
    Ok(found.collect())
}

fn is_member(set: usize, index: usize) -> bool {
    set >> index & 1 == 1
}

/// The members of a set among `count` processors, ascending.
fn members(set: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).filter(move |&index| is_member(set, index))
}

/// Seconds of each mix while all of them run, by one thread of the host each, until every one of them ran often enough or `slot` is over.
fn together(
    mixes: Vec<&mut Mix<'_>>,
    slot: Duration,
    interrupted: &AtomicBool,
) -> Result<Vec<f64>, Stopped> {
    let start = Barrier::new(mixes.len());
    let busy = AtomicUsize::new(mixes.len());
    let running = &|mix: &mut Mix<'_>| -> Result<f64, OpenclError> {
        // The failure of one must not keep the others waiting.
        let warm = mix.seconds(1);
        start.wait();
        let begun = Instant::now();
        let mut samples = Vec::new();
        let mut is_enough = false;
        let mut failed = warm.err();
        while failed.is_none() {
            match mix.seconds(1) {
                Ok(seconds) => samples.push(seconds),
                Err(error) => failed = Some(error),
            }
            let is_over = begun.elapsed() >= slot || interrupted.load(Ordering::Relaxed);
            if !is_enough && (samples.len() >= ENOUGH || is_over) {
                is_enough = true;
                busy.fetch_sub(1, Ordering::AcqRel);
            }
            // The others are not alone before everybody has enough.
            if is_enough && busy.load(Ordering::Acquire) == 0 {
                break;
            }
        }
        if !is_enough {
            busy.fetch_sub(1, Ordering::AcqRel);
        }
        failed.map_or_else(|| Ok(lower_quartile(&samples).unwrap_or(0.0)), Err)
    };
    let results: Vec<Result<f64, OpenclError>> = thread::scope(|scope| {
        let threads = mixes
            .into_iter()
            .map(|mix| scope.spawn(move || running(mix)));
        let threads: Vec<_> = threads.collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .map(|result| result.expect("measuring does not panic"))
            .collect()
    });
    if interrupted.load(Ordering::Relaxed) {
        return Err(Stopped::Interrupted);
    }
    let seconds: Result<Vec<f64>, OpenclError> = results.into_iter().collect();
    Ok(seconds?)
}

/// By how much every task slows down with one, two, … queues of a processor, as many as are worth having.
pub(super) fn sharing(
    mixes: &mut [Mix<'_>],
    queues: &[CommandQueue],
    slot: Duration,
    interrupted: &AtomicBool,
) -> Result<Vec<f64>, Stopped> {
    let mut factors = vec![1.0];
    let mut alone = None;
    for count in 1..=queues.len().min(mixes.len()) {
        let estimate = sample(MOVES, slot, interrupted, |runs| {
            let started = Instant::now();
            for _ in 0..runs {
                for (mix, queue) in mixes[..count].iter_mut().zip(queues) {
                    mix.enqueue(queue)?;
                    flush(queue)?;
                }
            }
            for queue in &queues[..count] {
                finish(queue)?;
            }
            Ok(started.elapsed().as_secs_f64() / real(runs))
        })?;
        let alone = *alone.get_or_insert(estimate.median);
        if count == 1 || alone <= 0.0 {
            continue;
        }
        let factor = (estimate.median / alone).max(1.0);
        let before = real(count - 1) / factors[count - 2];
        if real(count) / factor < WORTHWHILE * before {
            break;
        }
        factors.push(factor);
    }
    Ok(factors)
}
