//! Launches without a frame around them: every kernel once, one at a time, before the first frame; and a bare loop, the least that enqueueing can cost.

use crate::opencl::Doing;

use super::RunError;
use super::prepare::{Enqueued, Prepared};

impl Prepared {
    /// Launches every kernel once and waits for each: drivers compile and load kernels when they are first launched.
    ///
    /// One at a time, since `PoCL` 5.0 crashes when two devices load the same kernel at the same time.
    /// What the kernels compute from is not there yet, and what they write is written again.
    pub(super) fn launch_each_once(&self) -> Result<(), RunError> {
        for node in &self.nodes {
            let Enqueued::Task {
                queue, variants, ..
            } = node
            else {
                continue;
            };
            let Some(queue) = &self.queues[*queue as usize] else {
                continue;
            };
            for launch in variants.first().into_iter().flatten() {
                launch.enqueue(queue, &[])?;
                queue
                    .finish()
                    .doing(|| format!("launching `{}`", launch.name()))?;
            }
        }
        Ok(())
    }

    /// Runs the first frame command by command, each to its end, once inputs are set: what [`Prepared::launch_each_once`] is for, with the
    /// data that a user's kernels may rely on.
    pub(crate) fn rehearse(&self) -> Result<(), RunError> {
        for node in &self.nodes {
            match node {
                Enqueued::Task {
                    queue, variants, ..
                } => {
                    let Some(queue) = &self.queues[*queue as usize] else {
                        continue;
                    };
                    for launch in variants.first().into_iter().flatten() {
                        launch.enqueue(queue, &[])?;
                        queue
                            .finish()
                            .doing(|| format!("launching `{}`", launch.name()))?;
                    }
                }
                Enqueued::Move {
                    from, to, bytes, ..
                } => {
                    let mut contents = vec![0; *bytes];
                    self.fetch(*from, 0, &mut contents)?;
                    self.put(*to, 0, &contents)?;
                }
            }
        }
        Ok(())
    }

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
                let Some(queue) = &self.queues[*queue as usize] else {
                    continue;
                };
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
