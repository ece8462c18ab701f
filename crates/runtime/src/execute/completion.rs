//! The end of something that events of one context cannot express: a move through the host, or a wait across contexts.

use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use opencl3::event::{
    CL_COMPLETE, Event, create_user_event, set_event_callback, set_user_event_status,
};
use opencl3::types::{cl_event, cl_int};

use crate::opencl::{Context, OpenclError};

/// Whether something ended well; a negative code of OpenCL if not.
pub(crate) type Ended = Result<(), cl_int>;

pub(super) type Callback = Box<dyn FnOnce(Ended) + Send>;

/// Calls `then` when `event` has ended, from a thread of the driver: it must not block.
pub(crate) fn when_ended(
    event: cl_event,
    then: impl FnOnce(Ended) + Send + 'static,
) -> Result<(), OpenclError> {
    let boxed: Box<Callback> = Box::new(Box::new(then));
    let data = Box::into_raw(boxed);
    if let Err(code) = set_event_callback(event, CL_COMPLETE, called, data.cast()) {
        // SAFETY: the callback was refused, so nobody else has the pointer.
        #[expect(unsafe_code, reason = "the box goes through a raw pointer")]
        drop(unsafe { Box::from_raw(data) });
        return Err(OpenclError::of_code(code, "registering a callback"));
    }
    Ok(())
}

extern "C" fn called(_event: cl_event, status: cl_int, data: *mut c_void) {
    // SAFETY: the pointer is the box of `when_ended`, and OpenCL calls back once.
    #[expect(unsafe_code, reason = "the box goes through a raw pointer")]
    let then = unsafe { Box::from_raw(data.cast::<Callback>()) };
    then(if status < 0 { Err(status) } else { Ok(()) });
}

/// An event that the host ends, for waits of another context.
#[derive(Debug)]
pub(crate) struct Signal {
    event: Event,
}

impl Signal {
    /// Not ended yet.
    pub(crate) fn new(context: &Context) -> Result<Self, OpenclError> {
        let event = create_user_event(context.inner().get())
            .map_err(|code| OpenclError::of_code(code, "creating an event"))?;
        Ok(Self {
            event: Event::new(event),
        })
    }

    /// The handle for wait lists.
    pub(crate) fn handle(&self) -> cl_event {
        self.event.get()
    }

    /// Ends it; whoever waits for a failed one fails too.
    pub(crate) fn end(&self, ended: Ended) {
        let status = match ended {
            Ok(()) => CL_COMPLETE,
            Err(code) => code.min(-1),
        };
        // A second end is refused, and changes nothing.
        let _refused = set_user_event_status(self.event.get(), status);
    }
}

/// The end of work of the host.
#[derive(Default)]
pub(crate) struct Completion {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ended: Option<Ended>,
    /// When it ran, by the host's clock.
    span: Option<(i64, i64)>,
    callbacks: Vec<Callback>,
}

impl std::fmt::Debug for Completion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Completion")
            .field("ended", &self.ended())
            .finish_non_exhaustive()
    }
}

impl Completion {
    /// How it ended, if it has.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.state.lock().expect("no holder panics").ended
    }

    /// When it ran.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        self.state.lock().expect("no holder panics").span
    }

    /// Calls `then` when it has ended; at once if it has.
    pub(crate) fn when_ended(&self, then: impl FnOnce(Ended) + Send + 'static) {
        let mut state = self.state.lock().expect("no holder panics");
        match state.ended {
            Some(ended) => {
                drop(state);
                then(ended);
            }
            None => state.callbacks.push(Box::new(then)),
        }
    }

    /// Ends it.
    pub(crate) fn end(&self, ended: Ended, span: (i64, i64)) {
        let mut state = self.state.lock().expect("no holder panics");
        state.ended = Some(ended);
        state.span = Some(span);
        let callbacks = std::mem::take(&mut state.callbacks);
        drop(state);
        for then in callbacks {
            then(ended);
        }
    }
}

/// Counts down to `then`, which learns of the first failure.
pub(crate) struct Countdown {
    state: Mutex<(usize, Ended, Option<Callback>)>,
}

impl Countdown {
    /// Calls `then` after `count` ends.
    pub(crate) fn new(count: usize, then: impl FnOnce(Ended) + Send + 'static) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new((count, Ok(()), Some(Box::new(then)))),
        })
    }

    /// One of them ended.
    pub(crate) fn tick(&self, ended: Ended) {
        let mut state = self.state.lock().expect("no holder panics");
        state.0 = state.0.saturating_sub(1);
        if state.1.is_ok() {
            state.1 = ended;
        }
        if state.0 == 0
            && let Some(then) = state.2.take()
        {
            let ended = state.1;
            drop(state);
            then(ended);
        }
    }
}
