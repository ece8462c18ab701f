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

/// Steps of the delays: from nothing much to about a millisecond.
const STEPS: [i32; 6] = [1, 1_000, 10_000, 50_000, 100_000, 400_000];

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
