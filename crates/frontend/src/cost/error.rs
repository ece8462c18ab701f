//! Why there is no cost table: the profile's fault, or that of the measured costs or of the user's choice.

use std::collections::BTreeMap;

use paracompile_plan::{Bytes, OpClass};

use crate::soc::error::{Lines, counted};
use crate::soc::{DocumentError, Problem, shown, suggestion};

/// Why there is no cost table.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CostError {
    /// Operators without any processor: the profile's fault, or the user's choice of processors.
    #[error("{} on none of the processors {}{}", counted_run(.0.len()), considered(.0), Lines(.0))]
    Unsupported(Vec<Unsupported>),
    /// Kernels whose time nobody knows: they are not estimated.
    #[error(
        "{} without a cost on any of the processors {}; give --costs a table of measured times{}",
        counted(.0.len(), "kernel"), considered(.0), Lines(.0)
    )]
    Unmeasured(Vec<Unsupported>),
    /// A table of kernels beside a network.
    #[error(
        "the costs are of OpenCL kernels, and the model is a network; write its own with paracompile costs"
    )]
    KernelsOfNetwork,
    /// A processor without power for kernels.
    #[error(
        "`{processor}` has no dynamic power for class `{class}`, which kernels are; add it to the profile's dynamic_w"
    )]
    NoKernelPower {
        /// The processor.
        processor: String,
        /// The class.
        class: OpClass,
    },
    /// Operators that take absurdly long: the profile's fault, or the model's.
    #[error("{} longer than {} s{}", counted_take(.0.len()), super::MOST_SECONDS, Lines(.0))]
    TooLong(Vec<TooLong>),
    /// Moving the largest tensor takes absurdly long.
    #[error(
        "moving {bytes} from `{from}` to `{to}` takes {seconds} s, more than {} s; correct the link of the profile",
        super::MOST_SECONDS
    )]
    MoveTooLong {
        /// Memory.
        from: String,
        /// Memory.
        to: String,
        /// Size of the tensor.
        bytes: Bytes,
        /// Time of the move.
        seconds: f64,
    },
    /// Two locations without a link: only for a chip that was not loaded from a profile.
    #[error("no link leads from memory `{from}` to memory `{to}`")]
    NoLink {
        /// Memory.
        from: String,
        /// Memory.
        to: String,
    },
    /// A class with a model but without power: only for a chip that was not loaded from a profile.
    #[error("`{processor}` has a time model but no dynamic power for class `{class}`")]
    NoPower {
        /// The processor.
        processor: String,
        /// The class.
        class: OpClass,
    },
    /// The wrong number of operating points, or one that a processor lacks.
    #[error("operating points {chosen:?} do not fit a chip whose processors have {available:?}")]
    OperatingPoints {
        /// The index chosen for each processor.
        chosen: Vec<usize>,
        /// How many each processor has.
        available: Vec<usize>,
    },
    /// The measured costs are those of another network.
    #[error(
        "the measured costs are for the graph {found}, but the model has the digest {expected}; measure again"
    )]
    OtherGraph {
        /// Digest of the model.
        expected: String,
        /// Digest in the file.
        found: String,
    },
    /// The measured costs are those of other dimensions.
    #[error("the measured costs {}, but the model is read with {}", found_dims(.found), bindings(.expected))]
    OtherDims {
        /// What the model's dimensions are bound to.
        expected: BTreeMap<String, u64>,
        /// What they were bound to when costs were measured; empty if the file does not say.
        found: BTreeMap<String, u64>,
    },
    /// Measured costs that belong nowhere.
    #[error("{} in the measured costs{}", counted(.0.len(), "problem"), Lines(.0))]
    Overrides(Vec<OverrideProblem>),
}

/// An operator that no processor of the chip runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} ({}, class {class})", shown(.operator), shown(.op_type))]
pub struct Unsupported {
    /// Operator name.
    pub operator: String,
    /// Its type.
    pub op_type: String,
    /// Its class.
    pub class: OpClass,
    /// Names of the processors that were considered: all of the chip as it is restricted.
    pub processors: Vec<String>,
}

/// An operator that takes absurdly long.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{} ({}) on `{processor}`: {seconds:e} s", shown(.operator), shown(.op_type))]
pub struct TooLong {
    /// Operator name.
    pub operator: String,
    /// Its type.
    pub op_type: String,
    /// The processor.
    pub processor: String,
    /// What its model gives.
    pub seconds: f64,
}

/// A measured cost that does not belong to this network or chip.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("entries[{index}]: {defect}")]
pub struct OverrideProblem {
    /// Index of the entry.
    pub index: usize,
    /// What is wrong with it.
    pub defect: OverrideDefect,
}

/// What is wrong with a measured cost.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideDefect {
    /// The network has no such operator, or it is folded away.
    #[error("the network has no operator at node {node}{}", within(.inside))]
    UnknownNode {
        /// Top-level node.
        node: u32,
        /// Path into it.
        inside: Vec<u32>,
    },
    /// The operator is a view.
    #[error("`{}` is a free view and runs nowhere; remove the entry", shown(.operator))]
    Free {
        /// The operator.
        operator: String,
    },
    /// The node writes something else.
    #[error("node {node} does not write `{}` but {}", shown(.found), quoted(.written))]
    OtherOutput {
        /// Top-level node.
        node: u32,
        /// Output in the file.
        found: String,
        /// Outputs of the operators there.
        written: Vec<String>,
    },
    /// Several operators come from the node.
    #[error("node {node} became several operators; add `output`, one of {}", quoted(.written))]
    Ambiguous {
        /// Top-level node.
        node: u32,
        /// Outputs of the operators there.
        written: Vec<String>,
    },
    /// The chip has no such processor.
    #[error("the chip has no processor `{}`{}", shown(.processor), suggestion(.near))]
    UnknownProcessor {
        /// Name in the file.
        processor: String,
        /// Names that are spelt alike.
        near: Vec<String>,
    },
    /// Two costs for the same operator and processor.
    #[error("the same operator and processor as entries[{first}]; remove one")]
    Duplicate {
        /// Index of the earlier entry.
        first: usize,
    },
    /// Neither the file nor the profile says what energy it takes.
    #[error(
        "`energy_j` is null, and `{processor}` has no dynamic power for class `{class}`; write the energy"
    )]
    NoEnergy {
        /// The processor.
        processor: String,
        /// The operator's class.
        class: OpClass,
    },
}

/// Why a file of measured costs cannot be read or written: the file's fault, or the system's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CostsFileError {
    /// There is no JSON.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The file says something that cannot be.
    #[error("{origin}: {} in the measured costs{}", counted(.problems.len(), "problem"), Lines(.problems))]
    Invalid {
        /// File.
        origin: String,
        /// All of them.
        problems: Vec<Problem>,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] paracompile_plan::WriteError),
}

fn found_dims(dims: &BTreeMap<String, u64>) -> String {
    if dims.is_empty() {
        "do not say for which dimensions they are".to_owned()
    } else {
        format!("are for {}", bindings(dims))
    }
}

fn bindings(dims: &BTreeMap<String, u64>) -> String {
    if dims.is_empty() {
        return "no dimensions bound".to_owned();
    }
    let bindings = dims
        .iter()
        .map(|(name, extent)| format!("{}={extent}", shown(name)));
    bindings.collect::<Vec<_>>().join(", ")
}

fn counted_run(count: usize) -> String {
    let verb = if count == 1 { "runs" } else { "run" };
    format!("{} {verb}", counted(count, "operator"))
}

fn counted_take(count: usize) -> String {
    let verb = if count == 1 { "takes" } else { "take" };
    format!("{} {verb}", counted(count, "operator"))
}

fn considered(unsupported: &[Unsupported]) -> String {
    unsupported
        .first()
        .map(|first| first.processors.join(", "))
        .unwrap_or_default()
}

fn within(inside: &[u32]) -> String {
    inside.iter().fold(String::new(), |text, step| {
        text + " inside " + &step.to_string()
    })
}

fn quoted(names: &[String]) -> String {
    names
        .iter()
        .map(|name| format!("`{}`", shown(name)))
        .collect::<Vec<_>>()
        .join(", ")
}
