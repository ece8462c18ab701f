//! A thread for each context of a GPU that enqueues a task as soon as what it waits for on the host has ended, and not before.
//!
//! A driver that gets a task behind an event that the host will end holds back everything that follows on the queue, and submits all of it
//! in one go, at some 20 microseconds a launch, when the event ends.
//! NVIDIA's lets nobody read or write meanwhile: moves that take 70 microseconds by themselves took up to half a millisecond.
//! Waits for tasks of the same context are events as ever.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::Scope;

use opencl3::types::cl_event;

use crate::opencl::OpenclError;

use super::completion::Ended;
use super::fired::{Events, Launched};
use super::prepare::Prepared;

/// A task to be enqueued.
pub(super) struct Step {
    /// The plan's queue.
    pub(super) queue: u32,
    /// Which node of the frame it is.
    pub(super) node: usize,
    /// The frame.
    pub(super) frame: usize,
    /// The delay before it.
    pub(super) delay: Option<usize>,
    /// Tasks of the same context that it waits for.
    pub(super) after: Vec<Arc<Launched>>,
    /// Set when all else that it waits for has ended.
    pub(super) is_ready: Arc<OnceLock<Ended>>,
    /// Gets its events.
    pub(super) launched: Arc<Launched>,
}

enum Message {
    Step(Step),
    /// Something has become ready.
    Look,
    /// No more frames.
    End,
}

/// Takes tasks; the thread ends with it.
pub(super) struct Dispatcher(Sender<Message>);

/// Tells the thread to look again.
pub(super) struct Waker(Sender<Message>);

impl Dispatcher {
    /// Starts the thread.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        prepared: &'scope Prepared,
    ) -> Self {
        let (sender, receiver) = channel();
        scope.spawn(move || serve(&receiver, prepared));
        Self(sender)
    }

    /// Hands a task on.
    pub(super) fn send(&self, step: Step) {
        // The thread lives as long as this end of the channel.
        let _gone = self.0.send(Message::Step(step));
    }

    /// For those whose end makes tasks ready.
    pub(super) fn waker(&self) -> Waker {
        Waker(self.0.clone())
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        // Callbacks that never come may hold other ends of the channel for ever.
        let _gone = self.0.send(Message::End);
    }
}

impl Waker {
    /// Something has become ready.
    pub(super) fn wake(&self) {
        // The thread is gone only when the run is given up.
        let _gone = self.0.send(Message::Look);
    }
}

fn serve(messages: &Receiver<Message>, prepared: &Prepared) {
    let mut waiting: BTreeMap<u32, VecDeque<Step>> = BTreeMap::new();
    let mut last: BTreeMap<u32, Arc<Launched>> = BTreeMap::new();
    while let Ok(message) = messages.recv() {
        match message {
            Message::Step(step) => waiting.entry(step.queue).or_default().push_back(step),
            Message::Look => {}
            Message::End => return,
        }
        let mut is_stuck = false;
        while !is_stuck {
            is_stuck = true;
            for (&queue, steps) in &mut waiting {
                let mut count = 0;
                while steps.front().is_some_and(is_ready)
                    && let Some(step) = steps.pop_front()
                {
                    is_stuck = false;
                    // One that fails to be watched is seen by whoever waits for the frame, like a queue that submits nothing.
                    let _unwatched = enqueue(prepared, &step, last.get(&queue));
                    last.insert(queue, step.launched);
                    count += 1;
                    // The device begins with the first while the others are enqueued.
                    if count == 1 {
                        let _unsent = prepared.flush(queue);
                    }
                }
                if count > 1 {
                    let _unsent = prepared.flush(queue);
                }
            }
        }
    }
}

/// Whether all that it waits for is enqueued or, where it is elsewhere, has ended.
fn is_ready(step: &Step) -> bool {
    step.is_ready.get().is_some() && step.after.iter().all(|task| task.handle().is_some())
}

/// Enqueues a task behind `before` on its queue.
fn enqueue(
    prepared: &Prepared,
    step: &Step,
    before: Option<&Arc<Launched>>,
) -> Result<(), OpenclError> {
    let after = step.after.iter().filter_map(|task| task.handle());
    let after: Result<Vec<cl_event>, i32> = after.collect();
    let after = match (step.is_ready.get().copied().unwrap_or(Ok(())), after) {
        (Err(_), _) | (Ok(()), Err(_)) => return step.launched.cancelled(),
        (Ok(()), Ok(after)) => after,
    };
    let watcher = prepared.watchers[step.queue as usize].as_ref();
    // What launches nothing ends with what is before it.
    if prepared.is_nothing(step.node)
        && step.delay.is_none()
        && after.is_empty()
        && let Some(Ok(event)) = before.and_then(|before| before.handle())
    {
        return step.launched.enqueued(Events::same_as(event), watcher);
    }
    let started = prepared.clock.now();
    let events = prepared.enqueue(step.node, step.frame, step.delay, &after);
    step.launched.took(prepared.clock.now() - started);
    step.launched.enqueued(events, watcher)
}
