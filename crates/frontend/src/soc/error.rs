//! What can be wrong with a profile: always the file's fault or the user's, and always everything at once.

use std::fmt;

use super::document::DocumentError;
use super::near::{shown, suggestion};

/// Why there is no chip.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocError {
    /// There is no JSON.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The profile says something that cannot be.
    #[error("{origin}: {} in the profile{}", counted(.problems.len(), "problem"), Lines(.problems))]
    Invalid {
        /// File or name.
        origin: String,
        /// All of them, in the order of the file's parts.
        problems: Vec<Problem>,
    },
    /// Names that no profile can have, found before there is one.
    #[error("{}{}", format_args!("{} that cannot be", counted(.problems.len(), "name")), Lines(.problems))]
    Names {
        /// All of them: the profile's, then processors in their order.
        problems: Vec<Problem>,
    },
    /// There is neither a built-in profile nor a file of this name.
    #[error("`{}` is neither a built-in profile nor a file{}; built in: {}", shown(.name), suggestion(.near), .known.join(", "))]
    UnknownProfile {
        /// What was asked for.
        name: String,
        /// Built-in names that are spelt alike.
        near: Vec<String>,
        /// All built-in names.
        known: Vec<String>,
    },
    /// A choice of processors names some that the chip lacks.
    #[error("no processor of `{soc}` is called {}", asked(.unknown))]
    UnknownProcessors {
        /// The chip.
        soc: String,
        /// Each unknown name with names that are spelt alike.
        unknown: Vec<(String, Vec<String>)>,
    },
    /// A choice of processors is empty.
    #[error("`{soc}`: no processor is chosen; it has {}", .known.join(", "))]
    NoProcessorChosen {
        /// The chip.
        soc: String,
        /// Its processors.
        known: Vec<String>,
    },
}

/// Something wrong in a profile.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {defect}", if .at.is_empty() { "the file" } else { .at.as_str() })]
pub struct Problem {
    /// Path of the JSON value, as in `processors[1].operating_points[0].static_w`.
    pub at: String,
    /// What is wrong with it.
    pub defect: Defect,
}

/// What is wrong with a value of a profile, and what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Defect {
    /// A required field is absent.
    #[error("is missing")]
    Missing,
    /// The value has another JSON type.
    #[error("is {found}; write {expected}")]
    WrongType {
        /// What belongs here.
        expected: &'static str,
        /// What stands here.
        found: &'static str,
    },
    /// A number lies outside its range; this includes negative and infinite ones.
    #[error("is {value}; write a number from {least} to {most}")]
    OutOfRange {
        /// The number.
        value: f64,
        /// The least that is allowed.
        least: f64,
        /// The most that is allowed.
        most: f64,
    },
    /// A count has a fraction.
    #[error("is {0}; write a whole number")]
    NotWhole(f64),
    /// A word that the schema or the rest of the profile does not know.
    #[error("`{}` is not a known {what}{}{}", shown(.word), suggestion(.near), known_words(.near, .known))]
    Unknown {
        /// What the word should be.
        what: &'static str,
        /// The word.
        word: String,
        /// Words that are spelt alike.
        near: Vec<String>,
        /// All words that would do.
        known: Vec<String>,
    },
    /// The same thing twice.
    #[error("{what} `{}` appears twice, first at {first}; remove or rename one", shown(.name))]
    Duplicate {
        /// What it is.
        what: &'static str,
        /// Its name.
        name: String,
        /// Path of its first appearance.
        first: String,
    },
    /// A name that is taken.
    #[error("the name `io` is taken by network inputs and outputs; choose another one")]
    ReservedName,
    /// A name that does not fit into file names.
    #[error("`{}` does not fit into file names; write 1 to 32 letters, digits, `-`, `_` or `.`, the first a letter or digit", shown(.0))]
    UnsafeName(String),
    /// A list that needs an entry.
    #[error("is empty; list at least one {0}")]
    Empty(&'static str),
    /// Too long a list.
    #[error("has {found} entries; at most {most} are allowed")]
    TooMany {
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// Two lists that do not go together.
    #[error("has {found} entries; write {expected}, one for each {what}")]
    Length {
        /// How many there are.
        found: usize,
        /// How many there must be.
        expected: usize,
        /// What they are one for.
        what: &'static str,
    },
    /// One compute queue is not slower than one.
    #[error("is {0}; the slowdown with one compute queue is 1 by definition")]
    FirstSharing(f64),
    /// A contention factor for a processor outside the set.
    #[error("`{}` is not in the set; add it there or remove the factor", shown(.0))]
    NotMember(String),
    /// A class is used where the processor has no model of it.
    #[error(
        "there is no model for class `{0}` at this operating point; add one, or leave the class out of `fuses`"
    )]
    FusedWithoutModel(String),
    /// A class of which nothing is known but what was measured.
    #[error(
        "`{0}` cannot be free behind another operator, since nothing is known of what such operators do; leave it out"
    )]
    NeverFused(String),
    /// Factors that refer to no other operating point.
    #[error("needs `like` beside it, the name of the operating point that it multiplies")]
    FactorWithoutLike,
    /// Times or powers of an operating point that takes them from another one.
    #[error(
        "stands beside `like`, which takes them from another operating point; remove one of both"
    )]
    BesideLike,
    /// An operating point refers to one that is not given in full.
    #[error(
        "`{}` is given by `like` itself; name the operating point that has `models`", shown(.0)
    )]
    LikeChain(String),
    /// A tensor may have to go where no link leads.
    #[error("no link from memory `{from}` to memory `{to}`, which {why}; add one")]
    NoLink {
        /// Source memory.
        from: String,
        /// Target memory.
        to: String,
        /// Who needs it.
        why: String,
    },
    /// Another schema number.
    #[error("is {0}; this version reads schema 1")]
    Schema(String),
}

/// `1 problem` or `2 problems`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// One problem a line, indented under the title.
pub(crate) struct Lines<'a, T>(pub(crate) &'a [T]);

impl<T: fmt::Display> fmt::Display for Lines<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

/// All known words where no suggestion stands for them.
fn known_words(near: &[String], known: &[String]) -> String {
    if !near.is_empty() {
        String::new()
    } else if known.is_empty() {
        ", and there is none".to_owned()
    } else {
        format!(
            "; known: {}",
            known
                .iter()
                .map(|word| shown(word))
                .collect::<Vec<_>>()
                .join(", ")
        )
    }
}

fn asked(unknown: &[(String, Vec<String>)]) -> String {
    unknown
        .iter()
        .map(|(name, near)| format!("`{}`{}", shown(name), suggestion(near)))
        .collect::<Vec<_>>()
        .join(", ")
}
