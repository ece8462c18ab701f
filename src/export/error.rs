//! Why a plan cannot be exported.

use std::fmt;

/// A model or a plan that a format cannot be made from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// The bytes are not those of the model that was imported.
    #[error("the model file is malformed; it may have changed while it was read")]
    Malformed,
    /// The plan names what the model or the plan itself does not have.
    #[error("the plan names {what} {index}, of which there are {count}")]
    NoSuch {
        /// What.
        what: &'static str,
        /// Its number.
        index: u32,
        /// How many there are.
        count: usize,
    },
    /// One node of the file holds operators of several stages.
    #[error("node {node} cannot be in one stage file: its operators are in stages {stages}")]
    TornNode {
        /// The node.
        node: String,
        /// Its stages, counted from one.
        stages: String,
    },
    /// A stage reads what a later one writes.
    #[error(
        "stage {reader} reads `{tensor}`, which stage {writer} writes: the stages are not in order"
    )]
    Backwards {
        /// The tensor.
        tensor: String,
        /// Counted from one.
        writer: usize,
        /// Counted from one.
        reader: usize,
    },
    /// The nodes read each other in a circle.
    #[error("the nodes of the model have no order")]
    Cycle,
    /// A tensor between stages has no element type that a file could declare.
    #[error("`{0}` goes from stage to stage, but its exact element type is not known")]
    UnknownType(String),
    /// External data inside of an attribute.
    #[error("node {0} holds a constant in another file, which a stage file cannot take over")]
    ExternalAttribute(String),
    /// External data that is not described as it has to be.
    #[error("the data of `{tensor}` in another file: {what}")]
    External {
        /// The tensor.
        tensor: String,
        /// What is wrong.
        what: &'static str,
    },
}

/// Why ARM-CO-UP cannot run a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// No program of the framework builds this network.
    #[error("ARM-CO-UP has no program for this network; it has some for {}", Listed(.known))]
    Network {
        /// Those that it has.
        known: Vec<&'static str>,
    },
    /// More stages than a program takes.
    #[error("the plan has {0} stages; ARM-CO-UP runs at most three")]
    Stages(usize),
    /// Operator parallelism.
    #[error(
        "stage {stage} runs on several processors ({processors}); ARM-CO-UP runs a stage on one"
    )]
    Parallel {
        /// Counted from one.
        stage: usize,
        /// Joined by `+`.
        processors: String,
    },
    /// A processor without a letter.
    #[error(
        "stage {stage} runs on `{processor}`; ARM-CO-UP has letters for `big`, `little` and `gpu` alone"
    )]
    Letter {
        /// Counted from one.
        stage: usize,
        /// The processor.
        processor: String,
    },
    /// A cut that the program does not offer.
    #[error(
        "the cut behind stage {stage} lies inside layer {layer} ({name}); ARM-CO-UP cuts between layers alone"
    )]
    InsideLayer {
        /// Counted from one.
        stage: usize,
        /// As the program counts.
        layer: usize,
        /// As the program calls it.
        name: String,
    },
    /// The plan does not say where an operator runs.
    #[error("the plan does not say where `{0}` runs")]
    Missing(String),
}

struct Listed<'a>(&'a [&'static str]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            [only] => f.write_str(only),
            [some @ .., last] => write!(f, "{} and {last}", some.join(", ")),
        }
    }
}
