//! What is wrong with a specification: all of it in one go, each with its place and, where there is one, a remedy.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::expression::{EvaluationError, SyntaxError};
use super::limits;

/// Why there is no kernel graph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelsError {
    /// The file cannot be read.
    #[error("{}: cannot read the file", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A folder, a pipe or a device.
    #[error("{}: is no regular file", .path.display())]
    NotAFile {
        /// Its path.
        path: PathBuf,
    },
    /// The file is too large.
    #[error("the file is larger than {limit} bytes")]
    TooLarge {
        /// The largest size.
        limit: u64,
    },
    /// The file is not text.
    #[error("the file is not UTF-8 text; the first wrong byte is at offset {offset}")]
    NotText {
        /// Offset of the first wrong byte.
        offset: usize,
    },
    /// The file is not JSON although it starts like it.
    #[error("{line}:{column}: {message}")]
    Syntax {
        /// Line, from one.
        line: usize,
        /// Column, from one.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// The graph is wrong.
    #[error("{}", Listed(.0))]
    Invalid(Vec<Problem>),
}

/// A mistake and where it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {defect}")]
pub struct Problem {
    /// The kernel and the path in its description, or the line.
    pub place: String,
    /// What is wrong there.
    pub defect: Defect,
}

/// What can be wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Defect {
    #[error("is missing")]
    Missing,
    #[error("is {found}; write {expected}")]
    Type {
        expected: &'static str,
        found: &'static str,
    },
    #[error("is `{found}`; write {expected}")]
    Word {
        expected: &'static str,
        found: String,
    },
    #[error("is {found}; at most {most} are read")]
    TooMany { found: usize, most: usize },
    #[error("is schema {0}; this version reads schema 1")]
    Schema(String),
    #[error("`{0}` is no type of OpenCL C that arguments can have")]
    ElementType(String),
    #[error("`{0}` is no name of a file in a folder")]
    FileName(String),
    #[error("`{name}` is in none of {}", .folders.join(", "))]
    NoSuchFile { name: String, folders: Vec<String> },
    #[error("cannot read {path}: {message}")]
    Unreadable { path: String, message: String },
    #[error("{file}:{line}:{column}: {message}")]
    Json {
        file: String,
        line: usize,
        column: usize,
        message: String,
    },
    #[error("`{0}` is no name in C")]
    Identifier(String),
    #[error(
        "`{0}` is no id: ids are up to 128 letters, digits and signs without spaces and arrows, the first no sign"
    )]
    Id(String),
    #[error("`{0}` is the id of another kernel too")]
    DuplicateId(String),
    #[error("`{0}` is the name of another one too")]
    DuplicateName(String),
    #[error("position {position} is taken by {other} too")]
    Clash { position: usize, other: String },
    #[error("nothing has position {position}, and something has {last}")]
    Hole { position: usize, last: usize },
    #[error("`{text}`: {error}")]
    Syntax { text: String, error: SyntaxError },
    #[error("`{text}`: {error}")]
    Evaluation {
        text: String,
        error: EvaluationError,
    },
    #[error("`{text}` is {value}; it has to be from {least} to {most}")]
    Range {
        text: String,
        value: String,
        least: String,
        most: String,
    },
    #[error("{elements} elements of {element_bytes} bytes are more than {limit} bytes")]
    Size {
        elements: u64,
        element_bytes: u64,
        limit: u64,
    },
    #[error("has {found} extents; the kernel has {expected}")]
    Dimensions { expected: usize, found: usize },
    #[error("{global} work items do not divide into groups of {local}")]
    Groups { global: u64, local: u64 },
    #[error("the kernel writes no buffer, so nothing can depend on it")]
    WritesNothing,
    #[error("there is no kernel `{0}`")]
    UnknownKernel(String),
    #[error("kernel `{kernel}` has no argument {argument}")]
    UnknownArgument { kernel: String, argument: String },
    #[error("argument {argument} of kernel `{kernel}` is {found}; {expected}")]
    Role {
        kernel: String,
        argument: String,
        found: &'static str,
        expected: &'static str,
    },
    #[error("{from} has {from_size} and {to} has {to_size}")]
    Edge {
        from: String,
        from_size: String,
        to: String,
        to_size: String,
    },
    #[error("{argument} gets its contents from both {one} and {other}")]
    TwoWriters {
        argument: String,
        one: String,
        other: String,
    },
    #[error("kernels wait for each other in a circle: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    #[error("there is no kernel")]
    Empty,
    #[error("`{0}` is a value for a symbol that no expression needs")]
    UnusedSymbol(String),
    #[error("`{line}` is no {expected}")]
    Line {
        line: String,
        expected: &'static str,
    },
    #[error("cannot be written in this format: {0}")]
    Unwritable(String),
    #[error("there are {0} problems more")]
    More(usize),
}

impl Problem {
    /// What to do about it, where that is not what the message says anyway.
    pub fn remedy(&self) -> Option<String> {
        let text = match &self.defect {
            Defect::NoSuchFile { .. } => {
                "kernel descriptions are looked for beside the file, in info/ and ../info/, and where --kernel-dir says"
            }
            Defect::FileName(_) => {
                "write the name alone, and say with --kernel-dir in which folder to look"
            }
            Defect::ElementType(_) => {
                "scalars are char, short, int, long, their unsigned forms (uint, …), half, float and double; vectors have a 2, 3, 4, 8 or 16 behind"
            }
            Defect::Evaluation {
                error: EvaluationError::Symbol(name),
                ..
            } => {
                return Some(format!(
                    "give it a value in the file, or say --dim {name}=N"
                ));
            }
            Defect::Syntax { .. } => {
                "expressions are whole numbers, symbols, + - * / %, parentheses and partition_round(elements, percent)"
            }
            Defect::Evaluation { .. } => {
                "correct the expression, or its symbols, in the file or with --dim NAME=VALUE"
            }
            Defect::Empty | Defect::Line { .. } => {
                "docs/kernel-graphs.md has the formats, with examples"
            }
            Defect::Clash { .. } | Defect::Hole { .. } => {
                "arguments are counted from 0 in the order of the kernel's parameters, each once"
            }
            Defect::Groups { .. } => {
                "choose a local work size that divides the global one, or leave it out"
            }
            Defect::WritesNothing => {
                "list the buffer that it changes among outputBuffers or ioBuffers"
            }
            Defect::UnknownKernel(_) => "edges and dependencies name kernels by their ids",
            Defect::Role { .. } => "edges lead from a buffer that is written to one that is read",
            Defect::Edge { .. } => {
                "both ends of an edge are one buffer, so their types and sizes have to be the same"
            }
            Defect::TwoWriters { .. } => "give each its own buffer, and combine them in a kernel",
            Defect::Cycle(_) => "take one of these edges out",
            Defect::DuplicateId(_) => "give every kernel an id of its own",
            Defect::Size { .. } => "sizes are numbers of elements, not of bytes",
            Defect::Missing
            | Defect::Type { .. }
            | Defect::Word { .. }
            | Defect::TooMany { .. }
            | Defect::Schema(_)
            | Defect::Unreadable { .. }
            | Defect::Json { .. }
            | Defect::Identifier(_)
            | Defect::Id(_)
            | Defect::DuplicateName(_)
            | Defect::Range { .. }
            | Defect::Dimensions { .. }
            | Defect::UnknownArgument { .. }
            | Defect::UnusedSymbol(_)
            | Defect::Unwritable(_)
            | Defect::More(_) => return None,
        };
        Some(text.to_owned())
    }
}

/// Problems while reading: a bounded number is kept, the others are counted.
#[derive(Debug, Default)]
pub(super) struct Problems {
    list: Vec<Problem>,
    more: usize,
}

impl Problems {
    pub(super) fn push(&mut self, place: impl Into<String>, defect: Defect) {
        if self.list.len() < limits::PROBLEMS {
            let place = place.into();
            self.list.push(Problem { place, defect });
        } else {
            self.more += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn into_result<T>(self, value: T) -> Result<T, KernelsError> {
        if self.is_empty() {
            Ok(value)
        } else {
            Err(self.into_error())
        }
    }

    pub(super) fn into_error(mut self) -> KernelsError {
        if self.more > 0 {
            let place = "the file".to_owned();
            let defect = Defect::More(self.more);
            self.list.push(Problem { place, defect });
        }
        KernelsError::Invalid(self.list)
    }
}

/// A text of a file as messages show it: control characters escaped, long ones cut.
pub(super) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(64) {
        if matches!(c, '"' | '\'' | '\\') {
            shown.push(c);
        } else {
            shown.extend(c.escape_debug());
        }
    }
    if text.chars().nth(64).is_some() {
        shown.push('…');
    }
    shown
}

struct Listed<'a>(&'a [Problem]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}
