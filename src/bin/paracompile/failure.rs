//! What goes wrong, as a person sees it: a code, a message that says where, and the next thing to do.

use std::fmt;
use std::process::ExitCode;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

/// A failed command, with its exit code (rule 20 of `STYLE.md`).
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    details: Vec<String>,
    help: Option<String>,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The question was fine, and the answer is no.
    No,
    /// Command line.
    Usage,
    /// The model file.
    Model,
    /// The profile or the cost file.
    Profile,
    /// A plan file.
    Plan,
    /// Reading or writing.
    File,
    /// Our own.
    Bug,
    /// The user stopped it before anything was complete.
    Interrupted,
}

impl Kind {
    const fn code(self) -> &'static str {
        match self {
            Self::No => "paracompile::no",
            Self::Usage => "paracompile::usage",
            Self::Model => "paracompile::model",
            Self::Profile => "paracompile::profile",
            Self::Plan => "paracompile::plan",
            Self::File => "paracompile::file",
            Self::Bug => "paracompile::bug",
            Self::Interrupted => "paracompile::interrupted",
        }
    }

    const fn exit(self) -> u8 {
        match self {
            Self::No => 1,
            Self::Usage | Self::Model | Self::Profile | Self::Plan | Self::File => 2,
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
            details: Vec::new(),
            help: None,
        }
    }

    /// A failure with the message of an error and of everything that caused it.
    pub(crate) fn from_error(kind: Kind, error: &dyn std::error::Error) -> Self {
        let mut failure = Self::new(kind, error);
        let mut cause = error.source();
        while let Some(inner) = cause {
            failure.message = format!("{}: {inner}", failure.message);
            cause = inner.source();
        }
        failure
    }

    /// Adds one line of detail for each item.
    pub(crate) fn with_details(
        mut self,
        details: impl IntoIterator<Item = impl fmt::Display>,
    ) -> Self {
        self.details
            .extend(details.into_iter().map(|detail| detail.to_string()));
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

    /// The picture, in colour if `colour`, at most `width` columns wide.
    pub(crate) fn picture(&self, colour: bool, width: usize) -> String {
        let theme = if colour {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(theme).with_width(width);
        if handler.render_report(&mut text, self).is_err() {
            text = self.to_string();
        }
        text
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for detail in &self.details {
            write!(f, "\n  - {detail}")?;
        }
        Ok(())
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
