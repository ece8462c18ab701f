//! Who learns that an event has ended: a callback of the driver, or a thread that waits.
//!
//! `PoCL` calls back at once. Drivers of GPUs need not: NVIDIA's calls back up to 20 ms late unless some thread waits for the event.
//! So a queue of a GPU gets a thread that waits for its events one after another, in the order in which they were enqueued; that is the
//! order in which they end, and nothing that an event depends on is registered behind it.

use std::sync::mpsc::{Receiver, Sender, channel};

use opencl3::event::{release_event, retain_event, wait_for_events};
use opencl3::types::{cl_event, cl_int};

use crate::opencl::{DeviceKind, OpenclError};

use super::completion::{Callback, Ended, when_ended};

/// A thread that waits for the events of a queue.
#[derive(Debug)]
pub(crate) struct Watcher {
    sender: Sender<Watched>,
}

/// An event that is kept until it has ended.
struct Watched {
    event: cl_event,
    then: Callback,
}

// SAFETY: events are handles that every thread may wait for and release.
#[expect(unsafe_code, reason = "handles are raw pointers in type alone")]
unsafe impl Send for Watched {}

/// Calls `then` when `event`, of a queue with this watcher or none, has ended.
pub(crate) fn notify(
    watcher: Option<&Watcher>,
    event: cl_event,
    then: impl FnOnce(Ended) + Send + 'static,
) -> Result<(), OpenclError> {
    match watcher {
        Some(watcher) => watcher.when_ended(event, then),
        None => when_ended(event, then),
    }
}

impl Watcher {
    /// The thread for a queue of a device, if its driver calls back late.
    pub(crate) fn for_device(kind: DeviceKind) -> Option<Self> {
        match kind {
            DeviceKind::Cpu => None,
            DeviceKind::Gpu | DeviceKind::Accelerator => Some(Self::start()),
        }
    }

    /// Starts the thread.
    fn start() -> Self {
        let (sender, receiver) = channel();
        // Nobody joins it: it ends when its senders are gone, and an event of a device that hangs must not keep the program from ending.
        std::thread::spawn(move || serve(&receiver));
        Self { sender }
    }

    /// Calls `then` when `event` has ended.
    fn when_ended(
        &self,
        event: cl_event,
        then: impl FnOnce(Ended) + Send + 'static,
    ) -> Result<(), OpenclError> {
        // SAFETY: the caller holds the event.
        #[expect(unsafe_code, reason = "counting references is unsafe by signature")]
        let retained = unsafe { retain_event(event) };
        retained.map_err(|code| OpenclError::of_code(code, "keeping an event"))?;
        let watched = Watched {
            event,
            then: Box::new(then),
        };
        // The thread takes events until the last sender is gone.
        let _gone = self.sender.send(watched);
        Ok(())
    }
}

fn serve(events: &Receiver<Watched>) {
    for watched in events {
        let Watched { event, then } = watched;
        let ended: Result<(), cl_int> = wait_for_events(&[event]);
        // SAFETY: retained when it was registered.
        #[expect(unsafe_code, reason = "counting references is unsafe by signature")]
        let _released = unsafe { release_event(event) };
        then(ended);
    }
}
