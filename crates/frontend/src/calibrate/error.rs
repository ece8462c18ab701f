//! Why there is no profile, and what was left out or put in for what is missing.

use std::fmt;

use serde::Serialize;

use crate::soc::error::{Lines, counted};
use crate::soc::{Defect, DocumentError, SocError, shown, suggestion};

/// Why there is no calibration: always the files' fault or the user's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// A file cannot be read, is too large, or is no text.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The base profile is wrong.
    #[error(transparent)]
    Base(#[from] SocError),
    /// The file is not a table of comma-separated values.
    #[error("{origin}:{line}: {message}")]
    Syntax {
        /// File.
        origin: String,
        /// Line, from one.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// The file has no header, or nothing below it.
    #[error("{origin}: there is no row below the header; write one for each measured {what}")]
    Empty {
        /// File.
        origin: String,
        /// What a row is.
        what: &'static str,
    },
    /// The table is too long.
    #[error("{origin}: the table has more than {limit} rows; average repetitions before")]
    TooLong {
        /// File.
        origin: String,
        /// The largest number of rows.
        limit: usize,
    },
    /// Columns that nothing can stand for.
    #[error("{origin}: {}; the header has {}", absent(.missing), listed(.found))]
    MissingColumns {
        /// File.
        origin: String,
        /// Each with the names that would do.
        missing: Vec<Vec<&'static str>>,
        /// What is there.
        found: Vec<String>,
    },
    /// One quantity in two columns.
    #[error("{origin}: the columns {} say the same; remove all but one", listed(.columns))]
    TwoColumns {
        /// File.
        origin: String,
        /// The columns.
        columns: Vec<String>,
    },
    /// Values of one quantity that differ by a factor of a unit.
    #[error("{}: values differ by a factor of a unit; write all of a column in the unit of its name{}", .0[0].origin, Lines(.0))]
    MixedUnits(Vec<MixedUnits>),
    /// Values outside what boards show, which a profile cannot hold either.
    #[error("{origin}: {} that no board shows{}", counted(*.count, "value"), Lines(.values))]
    Implausible {
        /// File.
        origin: String,
        /// How many there are.
        count: usize,
        /// The first of them, each with its line, column and remedy.
        values: Vec<String>,
    },
    /// Nothing is left to fit.
    #[error("{origin}: no row can be used{}", Lines(.notices))]
    NothingUsable {
        /// File.
        origin: String,
        /// Why the rows were left out.
        notices: Vec<Notice>,
    },
    /// A processor that the base profile lacks.
    #[error("{} not in the base profile, which has {}; say which is which, as in --rename {}={}", measured(.unknown), listed(.known), .unknown[0].0, .known.first().map_or("NAME", String::as_str))]
    UnknownProcessors {
        /// Each with names that are spelt alike.
        unknown: Vec<(String, Vec<String>)>,
        /// Processors of the base profile.
        known: Vec<String>,
    },
    /// The name of the written profile is none.
    #[error("--name: {0}")]
    BadName(Defect),
    /// A processor is renamed that was not measured.
    #[error("--rename {name}=…: the measurements are of {}", listed(.known))]
    RenamedNothing {
        /// The name.
        name: String,
        /// Processors of the measurements.
        known: Vec<String>,
    },
    /// Two measured processors get one name.
    #[error("--rename: `{first}` and `{second}` both become `{name}`")]
    RenamedTogether {
        /// A measured processor.
        first: String,
        /// Another one.
        second: String,
        /// Their common name.
        name: String,
    },
    /// Too few networks to leave one out.
    #[error("`{processor}`: {} measured, but without `{}` nothing is left that was timed; leaving one out needs two with times of operators or of complete groups", counted(*.networks, "network"), shown(.network))]
    TooFewNetworks {
        /// The processor.
        processor: String,
        /// How many there are.
        networks: usize,
        /// The one that was left out.
        network: String,
    },
    /// Too many networks to leave out one after the other.
    #[error("`{processor}`: {} measured; leaving each one out is limited to {limit}", counted(*.networks, "network"))]
    TooManyNetworks {
        /// The processor.
        processor: String,
        /// How many there are.
        networks: usize,
        /// The largest number.
        limit: usize,
    },
}

/// Two rows of one quantity that cannot be in one unit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {first}: {small:.3e} {unit}, line {second}: {large:.3e} {unit} ({what})")]
pub struct MixedUnits {
    /// File.
    pub(super) origin: String,
    /// Line of the smaller value.
    pub(super) first: u64,
    /// The smaller value.
    pub(super) small: f64,
    /// Line of the larger value.
    pub(super) second: u64,
    /// The larger value.
    pub(super) large: f64,
    /// Unit of both.
    pub(super) unit: &'static str,
    /// What both measure.
    pub(super) what: String,
}

/// Something that is missing or odd, and what was done instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Notice {
    /// File and line, or processor and class.
    pub at: String,
    /// What is missing or odd.
    pub what: String,
    /// What was done instead.
    pub instead: String,
}

impl Notice {
    pub(super) fn new(
        at: impl Into<String>,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) -> Self {
        Self {
            at: at.into(),
            what: what.into(),
            instead: instead.into(),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.at, self.what, self.instead)
    }
}

fn absent(missing: &[Vec<&'static str>]) -> String {
    let columns: Vec<String> = missing
        .iter()
        .map(|names| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(" or ")
        })
        .collect();
    let noun = if columns.len() == 1 {
        "column"
    } else {
        "columns"
    };
    format!(
        "the {noun} {} {} missing",
        columns.join(", "),
        if columns.len() == 1 { "is" } else { "are" }
    )
}

fn listed(names: &[String]) -> String {
    let names: Vec<String> = names
        .iter()
        .take(24)
        .map(|name| format!("`{}`", shown(name)))
        .collect();
    names.join(", ")
}

fn measured(unknown: &[(String, Vec<String>)]) -> String {
    let names: Vec<String> = unknown
        .iter()
        .map(|(name, near)| format!("`{}`{}", shown(name), suggestion(near)))
        .collect();
    format!(
        "measured {} {} {}",
        if names.len() == 1 {
            "processor"
        } else {
            "processors"
        },
        names.join(", "),
        if names.len() == 1 { "is" } else { "are" }
    )
}
