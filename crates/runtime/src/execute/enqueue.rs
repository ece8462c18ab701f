//! Puts a task into its queue.

use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;
use opencl3::types::cl_event;

use crate::opencl::{Doing, OpenclError};

use super::completion::Signal;
use super::fired::Events;
use super::order::Work;
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
            queue,
            context,
            variants,
        } = &self.nodes[node]
        else {
            unreachable!("moves are not enqueued");
        };
        let fault = self.fault(frame, node, *context)?;
        let with_fault: Vec<cl_event>;
        let wait = match &fault {
            None => wait,
            Some(fault) => {
                with_fault = wait.iter().copied().chain([fault.handle()]).collect();
                &with_fault
            }
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
        let events = match events {
            Some(events) => events,
            None => Events::of(marker(queue, wait)?),
        };
        if let Some(fault) = fault {
            const OUT_OF_RESOURCES: i32 = -5;
            fault.end(Err(OUT_OF_RESOURCES));
        }
        Ok(events)
    }
}

impl Prepared {
    /// What makes a task fail as its device would, if it is to: an event that will fail.
    fn fault(
        &self,
        frame: usize,
        node: usize,
        context: usize,
    ) -> Result<Option<Signal>, OpenclError> {
        let is_due = self.options.fault.is_some_and(|(due, task)| {
            due == frame && self.order.nodes[node].work == Work::Task(task)
        });
        if !is_due {
            return Ok(None);
        }
        Ok(Some(Signal::new(&self.layout.contexts[context])?))
    }
}

/// Stands for a task that has nothing to do.
fn marker(queue: &CommandQueue, wait: &[cl_event]) -> Result<Event, OpenclError> {
    // SAFETY: the events of the list live.
    #[expect(unsafe_code, reason = "enqueueing is unsafe by signature")]
    let marker = unsafe { queue.enqueue_marker_with_wait_list(wait) };
    marker.doing(|| "enqueueing a marker".to_owned())
}
