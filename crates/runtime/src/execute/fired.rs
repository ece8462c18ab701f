//! A node of a frame under way, and what tells of its end.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use opencl3::event::{Event, retain_event};
use opencl3::types::cl_event;

use crate::opencl::{Doing, OpenclError};

use super::completion::{Callback, Completion, Ended, Signal};
use super::watch::{Watcher, notify};

/// The events of a task.
#[derive(Debug)]
pub(super) struct Events {
    /// Of its first command.
    pub(super) first: Event,
    /// Of its last, where that is another.
    pub(super) last: Option<Event>,
}

impl Events {
    /// Those of a task that is one command.
    pub(super) fn of(first: Event) -> Self {
        Self { first, last: None }
    }

    /// Those of a task that ends with an event of another.
    pub(super) fn same_as(event: cl_event) -> Result<Self, OpenclError> {
        // SAFETY: the other task holds its event.
        #[expect(unsafe_code, reason = "counting references is unsafe by signature")]
        let retained = unsafe { retain_event(event) };
        retained.map_err(|code| OpenclError::of_code(code, "keeping an event"))?;
        Ok(Self::of(Event::new(event)))
    }

    /// The event that the task ends with.
    pub(super) fn last(&self) -> &Event {
        self.last.as_ref().unwrap_or(&self.first)
    }
}

/// A task that was handed on: its events, as soon as it is enqueued.
#[derive(Default)]
pub(super) struct Launched {
    state: Mutex<State>,
    host_ns: AtomicI64,
}

enum State {
    /// Not enqueued yet, and who wants to know of its end.
    Waiting(Vec<Callback>),
    Enqueued(Events),
    /// It could not be enqueued, for a reason that is told once; without one, since something that it waits for failed.
    Refused(Option<OpenclError>),
}

impl Default for State {
    fn default() -> Self {
        Self::Waiting(Vec::new())
    }
}

/// What those who wait for it are told then.
pub(super) const WAITED_FOR_A_FAILURE: i32 = -14;

impl Launched {
    /// It was enqueued, or could not be; `watcher` is that of its queue.
    pub(super) fn enqueued(
        &self,
        events: Result<Events, OpenclError>,
        watcher: Option<&Watcher>,
    ) -> Result<(), OpenclError> {
        let (next, last) = match events {
            Ok(events) => {
                let last = events.last().get();
                (State::Enqueued(events), Some(last))
            }
            Err(error) => (State::Refused(Some(error)), None),
        };
        self.settle(next, last, watcher)
    }

    /// It will never be enqueued, since something that it waits for failed.
    pub(super) fn cancelled(&self) -> Result<(), OpenclError> {
        self.settle(State::Refused(None), None, None)
    }

    fn settle(
        &self,
        next: State,
        last: Option<cl_event>,
        watcher: Option<&Watcher>,
    ) -> Result<(), OpenclError> {
        let before = {
            let mut state = self.state.lock().expect("no holder panics");
            std::mem::replace(&mut *state, next)
        };
        let State::Waiting(callbacks) = before else {
            return Ok(());
        };
        for then in callbacks {
            match last {
                Some(event) => notify(watcher, event, then)?,
                None => then(Err(WAITED_FOR_A_FAILURE)),
            }
        }
        Ok(())
    }

    /// Whether other tasks of its context can wait for its event: its handle, or a failure.
    pub(super) fn handle(&self) -> Option<Result<cl_event, i32>> {
        match &*self.state.lock().expect("no holder panics") {
            State::Waiting(_) => None,
            State::Enqueued(events) => Some(Ok(events.last().get())),
            State::Refused(_) => Some(Err(WAITED_FOR_A_FAILURE)),
        }
    }

    /// Calls `then` when it has ended.
    pub(super) fn when_ended(
        &self,
        watcher: Option<&Watcher>,
        then: impl FnOnce(Ended) + Send + 'static,
    ) -> Result<(), OpenclError> {
        let mut state = self.state.lock().expect("no holder panics");
        match &mut *state {
            State::Waiting(callbacks) => callbacks.push(Box::new(then)),
            State::Enqueued(events) => {
                let event = events.last().get();
                drop(state);
                return notify(watcher, event, then);
            }
            State::Refused(_) => {
                drop(state);
                then(Err(WAITED_FOR_A_FAILURE));
            }
        }
        Ok(())
    }

    /// A thread spent so many nanoseconds on enqueueing it.
    pub(super) fn took(&self, nanoseconds: i64) {
        self.host_ns.store(nanoseconds, Ordering::Relaxed);
    }

    /// How it ended, if it has.
    fn ended(&self) -> Result<Option<Ended>, OpenclError> {
        match &mut *self.state.lock().expect("no holder panics") {
            State::Waiting(_) => Ok(None),
            State::Enqueued(events) => {
                let status = events.last().command_execution_status();
                let status = status.doing(|| "asking how a task does".to_owned())?.0;
                Ok(match status {
                    0 => Some(Ok(())),
                    code if code < 0 => Some(Err(code)),
                    _ => None,
                })
            }
            State::Refused(error) => error
                .take()
                .map_or(Ok(Some(Err(WAITED_FOR_A_FAILURE))), Err),
        }
    }

    /// When it started and ended, by the clock of its device; it has.
    pub(super) fn times(&self) -> Result<(u64, u64), OpenclError> {
        let doing = || "asking for the times of a task".to_owned();
        match &*self.state.lock().expect("no holder panics") {
            State::Enqueued(events) => Ok((
                events.first.profiling_command_start().doing(doing)?,
                events.last().profiling_command_end().doing(doing)?,
            )),
            State::Waiting(_) | State::Refused(_) => Ok((0, 0)),
        }
    }
}

/// A node of a frame under way.
pub(super) struct Fired {
    /// Its queue.
    pub(super) queue: u32,
    /// What runs.
    pub(super) what: Running,
    /// Events of other contexts that stand for its end.
    pub(super) signals: Vec<(usize, Arc<Signal>)>,
}

/// What a node does.
pub(super) enum Running {
    /// A task in a context.
    Task(usize, Arc<Launched>),
    /// A move through the host.
    Move(Arc<Completion>),
}

impl Fired {
    /// Nanoseconds that a thread other than that of the frames spent on enqueueing it.
    pub(super) fn host_ns(&self) -> i64 {
        match &self.what {
            Running::Task(_, launched) => launched.host_ns.load(Ordering::Relaxed),
            Running::Move(_) => 0,
        }
    }

    /// The event that stands for its end in a context where tasks are enqueued ahead.
    pub(super) fn handle(&self, context: usize) -> Option<cl_event> {
        let signal = self.signals.iter().find(|(other, _)| *other == context);
        match (signal, &self.what) {
            (Some((_, signal)), _) => Some(signal.handle()),
            (None, Running::Task(_, launched)) => launched.handle().and_then(Result::ok),
            (None, Running::Move(_)) => None,
        }
    }

    /// How it ended, if it has.
    pub(super) fn ended(&self) -> Result<Option<Ended>, OpenclError> {
        match &self.what {
            Running::Task(_, launched) => launched.ended(),
            Running::Move(completion) => Ok(completion.ended()),
        }
    }

    /// Calls `then` when it has ended; `watcher` is that of its queue.
    pub(super) fn when_ended(
        &self,
        watcher: Option<&Watcher>,
        then: impl FnOnce(Ended) + Send + 'static,
    ) -> Result<(), OpenclError> {
        match &self.what {
            Running::Task(_, launched) => launched.when_ended(watcher, then),
            Running::Move(completion) => {
                completion.when_ended(then);
                Ok(())
            }
        }
    }
}
