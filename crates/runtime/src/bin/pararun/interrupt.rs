//! Ctrl-C: the first one asks a run to end after the frames that are under way, the second one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Failure, Kind};
use crate::terminal;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the user has interrupted the program.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Listens for interrupts from now on, and returns the flag that one sets.
pub(crate) fn listen() -> Result<&'static AtomicBool, Failure> {
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        terminal::note("\ninterrupted: ending; once more to stop at once");
    })
    .map_err(|error| Failure::from_error(Kind::Bug, &error))?;
    Ok(&ASKED)
}
