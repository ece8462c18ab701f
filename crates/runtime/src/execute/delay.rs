//! Delays on devices, to try out orders of commands that do not happen by themselves.

use std::sync::Arc;

use crate::launch::{Launch, Places};
use crate::lower::{Argument, Phase, Source, Step};
use crate::opencl::{Context, Memory, OpenclError};

const SOURCE: Source = Source {
    name: "delay.cl",
    text: include_str!("../kernels/delay.cl"),
};

/// Bytes that a delay writes.
pub(super) const SINK_BYTES: usize = 4;

/// Steps of the delays: from nothing much to some milliseconds.
const STEPS: [i32; 7] = [1, 1_000, 10_000, 50_000, 100_000, 400_000, 1_600_000];

/// Delays before tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delays {
    /// Of random lengths up to about a millisecond, or none, by a seed.
    Random(u64),
    /// The longest before every task, so that tasks that may overlap do.
    Longest,
}

impl Delays {
    /// Which of the delays comes next; none where there is no such one.
    pub(super) fn pick(self, random: u64) -> usize {
        match self {
            Self::Random(_) => {
                usize::try_from(random % 7).map_or(0, |pick| pick + usize::from(pick == 6))
            }
            Self::Longest => STEPS.len() - 1,
        }
    }

    /// Where random numbers begin.
    pub(super) const fn seed(self) -> u64 {
        match self {
            Self::Random(seed) => seed,
            Self::Longest => 0,
        }
    }
}

/// Delays of several lengths.
pub(super) fn launches(context: &Context, sink: &Arc<Memory>) -> Result<Vec<Launch>, OpenclError> {
    let places = Places {
        scratch: vec![Arc::clone(sink)],
        ..Places::default()
    };
    STEPS
        .iter()
        .map(|&steps| {
            let step = Step {
                phase: Phase::Frame,
                source: SOURCE,
                kernel: "delay",
                options: String::new(),
                arguments: vec![Argument::Int(steps), Argument::Scratch(0)],
                global: vec![1],
                local: Some(vec![1]),
            };
            Launch::new(context, &step, &places)
        })
        .collect()
}
