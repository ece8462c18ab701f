//! Standard output and standard error: the one place that prints.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Mutex;

use crate::failure::{Failure, Kind};

/// Writes results; a reader that went away is success.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let text = printable(text);
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// The text without control characters, which names in a model file could use to rewrite the screen.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    // Marks that change the direction of text can make a name look like another one.
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hostile = |c: char| (c.is_control() && c != '\n' && c != '\t') || turns(c);
    if text.contains(hostile) {
        Cow::Owned(text.replace(hostile, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Writes a message for people; where standard error is gone there is nobody to tell.
pub(crate) fn note(text: &str) {
    let mut out = io::stderr().lock();
    let _ = writeln!(out, "{text}");
}

/// Whether messages may be coloured.
pub(crate) fn wants_colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Columns for messages: `COLUMNS` where it is set, else 100.
pub(crate) fn width() -> usize {
    std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok())
        .filter(|columns| (20..=400).contains(columns))
        .unwrap_or(100)
}

/// One line of progress that overwrites itself; silent unless standard error is a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    shown: Option<Mutex<usize>>,
}

impl Progress {
    /// Progress on a terminal, unless `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            shown: (!quiet && io::stderr().is_terminal()).then(|| Mutex::new(0)),
        }
    }

    /// Replaces the line.
    pub(crate) fn show(&self, text: &str) {
        let Some(shown) = &self.shown else { return };
        let Ok(mut last) = shown.lock() else { return };
        let text: String = text.chars().take(width() - 1).collect();
        let length = text.chars().count();
        let blank = " ".repeat(last.saturating_sub(length));
        let mut out = io::stderr().lock();
        let _ = write!(out, "\r{text}{blank}");
        let _ = out.flush();
        *last = length;
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        self.show("");
        if self.shown.is_some() {
            let mut out = io::stderr().lock();
            let _ = write!(out, "\r");
            let _ = out.flush();
        }
    }
}

/// Prints the result of a command.
pub(crate) fn printed(text: &str) -> Result<ExitCode, Failure> {
    print(text)
        .map(|()| ExitCode::SUCCESS)
        .map_err(|error| Failure::from_error(Kind::File, &error))
}
