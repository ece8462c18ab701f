//! What goes wrong, as a person sees it: a code, a message that says where, and the next thing to do.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

use crate::terminal;

/// A failed command, with its exit code (rule 20 of `STYLE.md`).
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    help: Option<String>,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The model file, or its weights.
    Model,
    /// A plan file.
    Plan,
    /// Devices, and which of them is meant.
    Device,
    /// The inputs.
    Input,
    /// Reading or writing.
    File,
    /// Our own.
    Bug,
    /// The user stopped it.
    Interrupted,
}

impl Kind {
    const fn code(self) -> &'static str {
        match self {
            Self::Model => "pararun::model",
            Self::Plan => "pararun::plan",
            Self::Device => "pararun::device",
            Self::Input => "pararun::input",
            Self::File => "pararun::file",
            Self::Bug => "pararun::bug",
            Self::Interrupted => "pararun::interrupted",
        }
    }

    const fn exit(self) -> u8 {
        match self {
            Self::Model | Self::Plan | Self::Device | Self::Input | Self::File => 2,
            Self::Bug => 3,
            Self::Interrupted => 130,
        }
    }
}

impl Failure {
    /// A failure with a message.
    pub(crate) fn new(kind: Kind, message: impl fmt::Display) -> Self {
        Self {
            kind,
            message: message.to_string(),
            help: None,
        }
    }

    /// A failure with the message of an error and of everything that caused it.
    pub(crate) fn from_error(kind: Kind, error: &dyn std::error::Error) -> Self {
        let mut failure = Self::new(kind, error);
        let mut cause = error.source();
        while let Some(inner) = cause {
            let text = inner.to_string();
            // Some messages quote their cause, with or without its place.
            let quoted = text.split(" at line ").next().unwrap_or_default();
            if !failure.message.contains(quoted) {
                failure.message = format!("{}: {text}", failure.message);
            }
            cause = inner.source();
        }
        failure
    }

    /// Says in which file it is, unless the message does.
    pub(crate) fn at(mut self, path: &Path) -> Self {
        let place = path.display().to_string();
        if !self.message.contains(&place) {
            self.message = format!("{place}: {}", self.message);
        }
        self
    }

    /// Adds what to do next.
    pub(crate) fn with_help(mut self, help: impl fmt::Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// The exit code.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.exit())
    }

    /// The picture, in colour if `colour`; lines are broken by the terminal alone, so that names can be copied.
    pub(crate) fn picture(&self, colour: bool) -> String {
        let theme = if colour {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let printable = Self {
            kind: self.kind,
            message: terminal::printable(&self.message).into_owned(),
            help: self
                .help
                .as_ref()
                .map(|help| terminal::printable(help).into_owned()),
        };
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(theme).with_wrap_lines(false);
        if handler.render_report(&mut text, &printable).is_err() {
            text = printable.message;
        }
        text
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Diagnostic for Failure {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.kind.code()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display + 'a>)
    }
}
