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
            let inner_text = cause_text(inner);
            // Some messages quote their cause, with or without its place.
            let quoted = inner_text.split(" at line ").next().unwrap_or_default();
            if !failure.message.contains(quoted) {
                failure.message = format!("{}: {inner_text}", failure.message);
            }
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

    /// Says in which file it is, unless the message does.
    pub(crate) fn at(mut self, path: &Path) -> Self {
        let place = path.display().to_string();
        if !self.message.contains(&place) {
            self.message = format!("{place}: {}", self.message);
        }
        self
    }

    /// Says what it is about.
    pub(crate) fn about(mut self, subject: &str) -> Self {
        self.message = format!("{subject}: {}", self.message);
        self
    }

    /// Several failures as one, with the exit code of the worst; `None` of none.
    pub(crate) fn all(mut failures: Vec<Self>) -> Option<Self> {
        if failures.len() < 2 {
            return failures.pop();
        }
        let worst = failures.iter().map(|failure| failure.kind);
        let kind = worst.max_by_key(|kind| kind.exit())?;
        let details = failures.iter().flat_map(|failure| {
            std::iter::once(failure.message.clone())
                .chain(failure.details.iter().map(|detail| format!("  {detail}")))
                .chain(failure.help.iter().map(|help| format!("  help: {help}")))
        });
        Some(Self::new(kind, format!("{} problems", failures.len())).with_details(details))
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
        // Wrapped here, since a path or a name broken in its middle cannot be copied.
        let wrapped = Self {
            kind: self.kind,
            message: wrap(
                &terminal::printable(&self.to_string()),
                width.saturating_sub(4),
            ),
            details: Vec::new(),
            help: self
                .help
                .as_ref()
                .map(|help| wrap(&terminal::printable(help), width.saturating_sub(8))),
        };
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(theme).with_wrap_lines(false);
        if handler.render_report(&mut text, &wrapped).is_err() {
            text = self.to_string();
        }
        text
    }
}

/// The message of a cause; of a failed temporary file, what failed, without a name that nobody chose.
fn cause_text(cause: &(dyn std::error::Error + 'static)) -> String {
    let text = cause.to_string();
    match text.split_once(" at path \"") {
        Some((what, _)) if cause.is::<std::io::Error>() => what.to_owned(),
        _ => text,
    }
}

/// Breaks lines at blanks alone; what follows a break is two columns further in than its line.
fn wrap(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if !out.is_empty() {
            out.push('\n');
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let hanging = if indent == 0 { 0 } else { indent + 2 };
        out.push_str(&line[..indent]);
        let mut column = indent;
        for (index, word) in line.split_whitespace().enumerate() {
            let length = word.chars().count();
            if index > 0 && column + 1 + length > width {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', hanging));
                column = hanging;
            } else if index > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += length;
        }
    }
    out
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for detail in &self.details {
            write!(f, "\n  {detail}")?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_never_broken() {
        let text = "a/rather-long/path/of/a-model.onnx: cannot be read\n  links: one that is too long for the line";
        let wrapped = wrap(text, 24);
        assert_eq!(
            wrapped,
            "a/rather-long/path/of/a-model.onnx:\ncannot be read\n  links: one that is too\n    long for the line"
        );
    }

    #[test]
    fn a_cause_that_the_message_quotes_is_said_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("plan.json:1:2: {source}")]
        struct Quoting {
            source: std::io::Error,
        }
        let error = Quoting {
            source: std::io::Error::other("no"),
        };
        let failure = Failure::from_error(Kind::Plan, &error);
        assert_eq!(failure.to_string(), "plan.json:1:2: no");
    }

    #[test]
    fn control_characters_of_a_file_do_not_reach_the_terminal() {
        let picture = Failure::new(Kind::Model, "node `\u{1b}[2J`").picture(false, 80);
        assert!(!picture.contains('\u{1b}'), "{picture}");
    }
}
