//! Puts a task into its queue.

use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;
use opencl3::types::cl_event;

use crate::opencl::{Doing, OpenclError};

use super::fired::Events;
use super::prepare::{Enqueued, Prepared};

impl Prepared {
    /// Puts the launches of a task of frame `frame` into its queue, behind a delay if one is given, after the events of `wait`.
    ///
    /// # Panics
    /// If the node is a move.
    pub(super) fn enqueue(
        &self,
        node: usize,
        frame: usize,
        delay: Option<usize>,
        wait: &[cl_event],
    ) -> Result<Events, OpenclError> {
        let Enqueued::Task {
            queue, variants, ..
        } = &self.nodes[node]
        else {
            unreachable!("moves are not enqueued");
        };
        let delay = delay.and_then(|pick| self.delays.get(queue)?.get(pick));
        let queue = self.queues[*queue as usize].as_ref();
        let queue = queue.expect("tasks are on compute queues");
        let launches = delay.into_iter().chain(&variants[frame % variants.len()]);
        let mut events: Option<Events> = None;
        for launch in launches {
            events = Some(match events {
                None => Events::of(launch.enqueue(queue, wait)?),
                Some(Events { first, .. }) => Events {
                    first,
                    last: Some(launch.enqueue(queue, &[])?),
                },
            });
        }
        match events {
            Some(events) => Ok(events),
            None => Ok(Events::of(marker(queue, wait)?)),
        }
    }
}

/// Stands for a task that has nothing to do.
fn marker(queue: &CommandQueue, wait: &[cl_event]) -> Result<Event, OpenclError> {
    // SAFETY: the events of the list live.
    #[expect(unsafe_code, reason = "enqueueing is unsafe by signature")]
    let marker = unsafe { queue.enqueue_marker_with_wait_list(wait) };
    marker.doing(|| "enqueueing a marker".to_owned())
}
