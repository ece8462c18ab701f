//! How often something is measured: until its median is known well enough, or the time for it is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::statistics::Estimate;
use crate::opencl::OpenclError;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Seconds that a sample takes about: short against what disturbs a machine, long against the resolution of clocks.
    pub(super) sample_seconds: f64,
    /// Samples that are taken whatever they say.
    pub(super) least: usize,
    /// Samples that are enough whatever they say.
    pub(super) most: usize,
    /// The relative error of the median that is good enough.
    pub(super) narrow: f64,
}

/// Operators.
pub(super) const OPERATORS: Effort = Effort {
    sample_seconds: 3e-3,
    least: 9,
    most: 60,
    narrow: 0.01,
};

/// Moves, waits and whole mixes of operators.
pub(super) const MOVES: Effort = Effort {
    sample_seconds: 3e-3,
    least: 7,
    most: 40,
    narrow: 0.03,
};

/// Samples that an outlier can be told from.
const FEWEST: usize = 3;
/// Repetitions that a sample holds at most; queues of some drivers hold a thousand commands.
const MOST_REPETITIONS: f64 = 200.0;

/// Why a measurement has no result.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The user's wish.
    Interrupted,
    /// A failure.
    Failed(OpenclError),
}

impl Stopped {
    /// The same, with kernels that do not build after an interrupt as its consequence: compilers of drivers clean up and give up.
    pub(super) fn by(self, interrupted: &AtomicBool) -> Self {
        match self {
            Self::Failed(OpenclError::Build { .. }) if interrupted.load(Ordering::Relaxed) => {
                Self::Interrupted
            }
            Self::Interrupted | Self::Failed(_) => self,
        }
    }
}

impl From<OpenclError> for Stopped {
    fn from(error: OpenclError) -> Self {
        Self::Failed(error)
    }
}

/// Samples `seconds`, which measures so many repetitions and returns the mean of one, for at most `slot`.
///
/// The first calls warm caches up, compile what is compiled late, and tell how many repetitions make a sample; they do not count.
/// Even where no time is left, [`FEWEST`] samples are taken.
pub(super) fn sample(
    effort: Effort,
    slot: Duration,
    interrupted: &AtomicBool,
    mut seconds: impl FnMut(usize) -> Result<f64, OpenclError>,
) -> Result<Estimate, Stopped> {
    let mut about = seconds(1)?;
    if about < effort.sample_seconds {
        about = about.min(seconds(2)?);
    }
    let started = Instant::now();
    let repetitions = repetitions(effort, about);
    let mut samples = Vec::new();
    loop {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Stopped::Interrupted);
        }
        samples.push(seconds(repetitions)?);
        let estimate = Estimate::of(&samples).unwrap_or(Estimate {
            median: 0.0,
            low: 0.0,
            high: 0.0,
            samples: 0,
            outliers: samples.len(),
        });
        let is_known = samples.len() >= effort.least && estimate.relative_error() <= effort.narrow;
        let is_over = samples.len() >= FEWEST && started.elapsed() >= slot;
        if is_known || samples.len() >= effort.most || is_over {
            return Ok(estimate);
        }
    }
}

/// How many repetitions of something that takes `about` so many seconds make a sample.
fn repetitions(effort: Effort, about: f64) -> usize {
    let count = (effort.sample_seconds / about.max(1e-9)).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a small range"
    )]
    let count = count.clamp(1.0, MOST_REPETITIONS) as usize;
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::statistics::real;

    const PATIENT: Duration = Duration::from_secs(3600);

    fn calls(slot: Duration, mut answer: impl FnMut(usize) -> f64) -> (Estimate, Vec<usize>) {
        let mut asked = Vec::new();
        let running = AtomicBool::new(false);
        let estimate = sample(OPERATORS, slot, &running, |repetitions| {
            asked.push(repetitions);
            Ok(answer(asked.len()))
        });
        (estimate.unwrap(), asked)
    }

    #[test]
    fn what_never_differs_is_sampled_the_least_number_of_times() {
        let (estimate, asked) = calls(PATIENT, |_| 2e-3);
        assert_eq!(asked.len(), 2 + OPERATORS.least);
        assert_eq!(asked[2..], [2; 9]);
        assert!((estimate.median - 2e-3).abs() < 1e-12);
    }

    #[test]
    fn what_differs_is_sampled_until_the_most() {
        let (_, asked) = calls(PATIENT, real);
        assert_eq!(asked.len(), 1 + OPERATORS.most);
    }

    #[test]
    fn without_time_there_are_three_samples() {
        let (estimate, asked) = calls(Duration::ZERO, |_| 1e-2);
        assert_eq!(asked, [1; 4]);
        assert_eq!(estimate.samples, 3);
    }

    #[test]
    fn an_interrupt_ends_it() {
        let stopped = AtomicBool::new(true);
        let result = sample(OPERATORS, PATIENT, &stopped, |_| Ok(1.0));
        assert!(matches!(result, Err(Stopped::Interrupted)));
    }

    #[test]
    fn nothing_fits_any_number_of_times_but_not_all_of_them() {
        assert_eq!(repetitions(OPERATORS, 0.0), 200);
        assert_eq!(repetitions(OPERATORS, 1.0), 1);
    }
}
