//! One time for all devices: the host's, in nanoseconds from the start of the run.
//!
//! Devices stamp events with clocks of their own. An empty command between two readings of the host's clock says how far they are apart, as
//! exactly as the shortest of several tries.

use std::time::Instant;

use opencl3::command_queue::CommandQueue;

use crate::opencl::{Doing, OpenclError};

/// The host's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    base: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn start() -> Self {
        Self {
            base: Instant::now(),
        }
    }

    /// Nanoseconds since its start.
    pub(crate) fn now(self) -> i64 {
        i64::try_from(self.base.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }
}

/// How far a device's clock is behind the host's: host = device + offset.
pub(crate) fn offset(queue: &CommandQueue, clock: Clock) -> Result<i64, OpenclError> {
    const TRIES: usize = 12;
    let mut best: Option<(i64, i64)> = None;
    for _ in 0..TRIES {
        let before = clock.now();
        // SAFETY: an empty list of events.
        #[expect(unsafe_code, reason = "enqueueing is unsafe by signature")]
        let marker = unsafe { queue.enqueue_marker_with_wait_list(&[]) }
            .doing(|| "enqueueing a marker".to_owned())?;
        marker.wait().doing(|| "waiting for a marker".to_owned())?;
        let after = clock.now();
        let end = marker
            .profiling_command_end()
            .doing(|| "asking for the time of a marker".to_owned())?;
        let window = after - before;
        let offset = i64::midpoint(before, after) - i64::try_from(end).unwrap_or(i64::MAX);
        if best.is_none_or(|(narrowest, _)| window < narrowest) {
            best = Some((window, offset));
        }
    }
    Ok(best.map_or(0, |(_, offset)| offset))
}
