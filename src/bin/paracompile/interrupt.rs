//! Ctrl-C: the first one asks the search to stop and keep what is complete, the second one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Failure, Kind};
use crate::terminal;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens for interrupts from now on.
pub(crate) fn listen() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        terminal::note("\ninterrupted: writing what is complete; once more to stop at once");
    })
    .map_err(|error| Failure::from_error(Kind::Bug, &error))
}

/// Whether the user asked to stop.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
