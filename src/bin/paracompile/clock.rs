//! When a run has to stop: its time limit, which holds for the whole command, and the user's interrupt.
//!
//! A part of the time is kept back for what comes behind the search, and a part of the search's own for putting solved blocks together, because blocks that nobody puts together are worth nothing.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use paracompile::plan::StoppedBy;

use crate::interrupt;

/// Plans, pictures and the page take about so long.
const TAIL: Duration = Duration::from_millis(100);

/// And so much longer for each operator.
const TAIL_OF_OPERATOR: Duration = Duration::from_micros(400);

/// And at least so many times what reading the model took, which tells how busy the machine is.
const TAIL_OF_READING: u32 = 3;

/// How long solved blocks may be put together after an interrupt.
const GRACE: Duration = Duration::from_secs(1);

/// The moments at which parts of a run have to end.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Of blocks, then of the search.
    deadlines: Option<(Instant, Instant)>,
    /// When an interrupt was noticed.
    interrupted: OnceLock<Instant>,
}

impl Clock {
    /// A clock for a command that was started some time ago and now starts to search.
    pub(crate) fn new(started: Instant, limit: Option<f64>, operators: usize) -> Self {
        let operators = u32::try_from(operators).unwrap_or(u32::MAX);
        let deadlines = limit.map(|seconds| {
            let limit = Duration::from_secs_f64(seconds);
            let tail = TAIL + TAIL_OF_OPERATOR.saturating_mul(operators);
            let passed = started.elapsed();
            let tail = tail.max(passed.saturating_mul(TAIL_OF_READING));
            let search = limit.saturating_sub(tail.min(limit.mul_f64(0.5)));
            let blocks = passed + search.saturating_sub(passed).mul_f64(0.7);
            (started + blocks, started + search)
        });
        Self {
            deadlines,
            interrupted: OnceLock::new(),
        }
    }

    /// Whether blocks have to stop.
    pub(crate) fn stop_blocks(&self) -> Option<StoppedBy> {
        if interrupt::asked() {
            self.interrupted.get_or_init(Instant::now);
            return Some(StoppedBy::Interrupt);
        }
        self.deadlines
            .is_some_and(|(blocks, _)| Instant::now() >= blocks)
            .then_some(StoppedBy::Time)
    }

    /// How much time the search has left; `None` without a limit.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadlines
            .map(|(_, search)| search.saturating_duration_since(Instant::now()))
    }

    /// Whether everything has to stop.
    pub(crate) fn stop(&self) -> Option<StoppedBy> {
        if interrupt::asked() {
            let since = self.interrupted.get_or_init(Instant::now);
            if since.elapsed() >= GRACE {
                return Some(StoppedBy::Interrupt);
            }
        }
        self.deadlines
            .is_some_and(|(_, search)| Instant::now() >= search)
            .then_some(StoppedBy::Time)
    }
}
