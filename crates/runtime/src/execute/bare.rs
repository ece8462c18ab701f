//! The least that enqueueing can cost: the same launches on the same queues in a bare loop, without waits between queues.

use crate::opencl::Doing;

use super::RunError;
use super::prepare::{Enqueued, Prepared};

impl Prepared {
    /// Enqueues the launches of so many frames without waits, and returns how long the host took for each in nanoseconds.
    ///
    /// What they compute is wrong wherever an order between queues matters; the times are what this is for.
    pub fn enqueue_bare(&self, frames: usize) -> Result<Vec<i64>, RunError> {
        let mut times = Vec::new();
        for frame in 0..frames {
            let start = self.clock.now();
            for node in &self.nodes {
                let Enqueued::Task {
                    queue, variants, ..
                } = node
                else {
                    continue;
                };
                let queue = self.queues[*queue as usize].as_ref();
                let queue = queue.expect("tasks are on compute queues");
                for launch in &variants[frame % variants.len()] {
                    launch.enqueue(queue, &[])?;
                }
            }
            for queue in self.queues.iter().flatten() {
                queue.flush().doing(|| "submitting a frame".to_owned())?;
            }
            times.push(self.clock.now() - start);
            for queue in self.queues.iter().flatten() {
                queue.finish().doing(|| "waiting for a frame".to_owned())?;
            }
        }
        Ok(times)
    }
}
