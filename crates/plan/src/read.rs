//! Reads plan and front files.
//!
//! A file may come from anywhere: its size is bounded, the parser bounds its depth, and the schema number is judged before anything else, so that a newer file is refused by its number and not by its first new field.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::front::Front;
use crate::measured::Measured;
use crate::plan::{Plan, SCHEMA};
use crate::scheduled::{Schedule, ScheduleFault};

/// Plans of the largest networks have a few megabytes.
pub(crate) const LARGEST: u64 = 256 << 20;

/// Why a file is not a plan or a front; always the fault of the file or of its path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("{}: cannot read", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is larger than any plan.
    #[error("{}: larger than {limit} bytes", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// The file is not JSON, or a field is missing or of the wrong kind.
    #[error("{}:{}:{}: {}", .path.display(), .error.line(), .error.column(), without_place(.error))]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What and where; the message says all of it, long values cut.
        error: serde_json::Error,
    },
    /// The file has another schema number.
    #[error("{}: schema {found} is not supported, only schema {SCHEMA}", .path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its number.
        found: u64,
    },
    /// The file contradicts itself.
    #[error("{}: {}", .path.display(), listed(.faults))]
    Schedule {
        /// The file.
        path: PathBuf,
        /// In what, in its order.
        faults: Vec<ScheduleFault>,
    },
}

/// The first faults, and how many more there are.
fn listed(faults: &[ScheduleFault]) -> String {
    const SHOWN: usize = 8;
    let mut texts: Vec<String> = faults.iter().take(SHOWN).map(ToString::to_string).collect();
    if faults.len() > SHOWN {
        texts.push(format!("and {} more", faults.len() - SHOWN));
    }
    texts.join("; ")
}

/// What a parser says, without the place, which stands first already.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    shortened(text.strip_suffix(&place).unwrap_or(&text))
}

/// A message whose quoted values are short enough to be read.
fn shortened(message: &str) -> String {
    const LONGEST: usize = 80;
    let mut short = String::new();
    // Every second part stands in quotes.
    for (index, part) in message.split('`').enumerate() {
        if index > 0 {
            short.push('`');
        }
        match part.char_indices().nth(LONGEST) {
            Some((end, _)) if index % 2 == 1 => short.extend([&part[..end], "…"]),
            Some(_) | None => short.push_str(part),
        }
    }
    short
}

/// Reads a plan file; unknown fields are ignored.
pub fn read_plan(path: &Path) -> Result<Plan, ReadError> {
    read(path)
}

/// Reads the bytes of a plan file; `path` is its name in messages.
pub fn parse_plan(path: &Path, bytes: &[u8]) -> Result<Plan, ReadError> {
    parse(path, bytes)
}

/// Reads a `front.json`; unknown fields are ignored.
pub fn read_front(path: &Path) -> Result<Front, ReadError> {
    read(path)
}

/// Reads what a runtime measured of a plan; unknown fields are ignored.
pub fn read_measured(path: &Path) -> Result<Measured, ReadError> {
    read(path)
}

/// Reads what a runtime measured of a kernel graph by a policy; unknown fields are ignored.
pub fn read_schedule(path: &Path) -> Result<Schedule, ReadError> {
    let schedule: Schedule = read(path)?;
    let faults = schedule.faults();
    if faults.is_empty() {
        Ok(schedule)
    } else {
        let path = path.to_owned();
        Err(ReadError::Schedule { path, faults })
    }
}

#[derive(Deserialize)]
struct Head {
    schema: u64,
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    let io = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io)?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > LARGEST {
        return Err(ReadError::TooLarge {
            path: path.to_owned(),
            limit: LARGEST,
        });
    }
    parse(path, &bytes)
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, ReadError> {
    let syntax = |error| ReadError::Syntax {
        path: path.to_owned(),
        error,
    };
    let head: Head = serde_json::from_slice(bytes).map_err(syntax)?;
    if head.schema != u64::from(SCHEMA) {
        return Err(ReadError::Schema {
            path: path.to_owned(),
            found: head.schema,
        });
    }
    serde_json::from_slice(bytes).map_err(syntax)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_in_messages() {
        let long = "ü".repeat(100_000);
        let text = format!(r#"{{"schema": {SCHEMA}, "strategy": "{long}"}}"#);
        let message = message(text.as_bytes());
        assert!(message.len() < 2000, "{message}");
        assert_eq!(shortened("`a`, expected `b`"), "`a`, expected `b`");
        assert_eq!(shortened(&format!("`{long}`!")).chars().count(), 84);
    }

    fn message(text: &[u8]) -> String {
        parse::<Plan>(Path::new("plan.json"), text)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn broken_json_is_reported_with_file_line_and_column() {
        let message = message(b"{\n  \"schema\": 1,\n  oops\n}");
        assert!(message.starts_with("plan.json:3:3: "), "{message}");
    }

    #[test]
    fn another_schema_is_refused_by_its_number_before_its_fields() {
        assert_eq!(
            message(b"{ \"schema\": 2, \"model\": [] }"),
            "plan.json: schema 2 is not supported, only schema 1"
        );
    }

    #[test]
    fn a_missing_field_is_named() {
        let message = message(b"{ \"schema\": 1 }");
        assert!(message.contains("missing field `model`"), "{message}");
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_stack_overflow() {
        let mut text = b"{ \"schema\": 1, \"unknown\": ".to_vec();
        text.extend(vec![b'['; 1_000_000]);
        let message = message(&text);
        assert!(message.starts_with("plan.json:1:1000026: "), "{message}");
        let mut text = b"{ \"schema\": 1, \"contention\": ".to_vec();
        text.extend(vec![b'['; 1_000_000]);
        parse::<Plan>(Path::new("plan.json"), &text).unwrap_err();
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_plan(Path::new("no/such/plan.json")).unwrap_err();
        assert_eq!(error.to_string(), "no/such/plan.json: cannot read");
    }
}
