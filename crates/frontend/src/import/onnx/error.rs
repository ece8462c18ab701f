//! Why a file cannot be imported.
//!
//! Every variant is the fault of the file, of the `--dim` bindings, or of a limit; faults of ours are panics.
//! What can be found in one run is reported in one run: [`ImportError::Invalid`] holds all problems of a model.

use std::fmt;
use std::path::PathBuf;

use crate::ir::{DataType, Shape, VerifyError};

use super::decode::DecodeError;
use super::foreign::Format;
use super::limits;
use super::link::shown;

/// Why there is no graph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The path or the permissions are wrong.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A pipe or device: it cannot be mapped.
    #[error("{}: is not a regular file; write it to one first", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// The bytes are no protobuf message, or end too early.
    #[error("byte {offset}: {what}; the file is truncated or not an ONNX model")]
    Malformed {
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The bytes are a protobuf message, but not this one.
    #[error("not an ONNX model: {0}")]
    Decode(DecodeError),
    /// A file of another format.
    #[error("this is {}, not an ONNX model; {}", .0.name, .0.remedy)]
    Foreign(Format),
    /// The message has no graph.
    #[error("not an ONNX model: it has no graph")]
    NoGraph,
    /// A limit of [`super::limits`].
    #[error("the file holds more than {limit} {what}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much is taken.
        limit: u64,
    },
    /// Millions of messages of a few bytes, each of which takes hundreds in memory.
    #[error(
        "the file consists of so many tiny protobuf messages that they would take more than {most} bytes of memory; no exporter writes that"
    )]
    Inflated {
        /// The most that is taken for a file of this size.
        most: u64,
    },
    /// A binding names a symbol that the model lacks: the command's fault.
    #[error(
        "the model has no symbolic dimension {}; {}",
        list(names),
        known_symbols(known)
    )]
    UnknownSymbols {
        /// The names bound.
        names: Vec<String>,
        /// The symbols of the model, in the order of the file.
        known: Vec<String>,
    },
    /// A binding to zero: the command's fault.
    #[error("dimension {} bound to 0; a network without elements has nothing to map", list(.0))]
    ZeroSymbols(Vec<String>),
    /// Dimensions of inputs that only a binding can fix.
    #[error(
        "{} without a value: {}; bind with {}",
        if .0.len() == 1 { "a symbolic dimension" } else { "symbolic dimensions" },
        .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        .0.iter().map(|symbol| format!("--dim '{}=N'", symbol.name)).collect::<Vec<_>>().join(" ")
    )]
    UnboundSymbols(Vec<UnboundSymbol>),
    /// Everything else that is wrong with the model, in file order.
    #[error("{}", problems(.0))]
    Invalid(Vec<Problem>),
}

/// A dimension without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnboundSymbol {
    /// Its name; `INPUT[AXIS]` for one that the file does not name.
    pub name: String,
    /// The first input that has it.
    pub input: String,
    /// The axis there.
    pub axis: usize,
}

impl fmt::Display for UnboundSymbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` (axis {} of input `{}`)",
            self.name, self.axis, self.input
        )
    }
}

/// Where a node stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePath {
    /// Index in the top-level graph.
    pub node: usize,
    /// From there on into functions and branches, as plans spell it.
    pub inside: Vec<usize>,
    /// The node's name, often empty.
    pub name: String,
    /// Its operator type.
    pub op_type: String,
    /// The function or branch that it stands in, below the top-level graph.
    pub body: Option<String>,
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        write!(f, "node {}", self.node)?;
        for step in self.inside.iter().take(SHOWN) {
            write!(f, ".{step}")?;
        }
        if self.inside.len() > SHOWN {
            f.write_str(".…")?;
        }
        if !self.name.is_empty() {
            write!(f, " `{}`", self.name)?;
        }
        write!(f, " ({})", self.op_type)?;
        match &self.body {
            Some(body) => write!(f, " in {body}"),
            None => Ok(()),
        }
    }
}

/// What a node reads at one position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The tensor's name; empty for one that is left out.
    pub tensor: String,
    /// Its type and shape, and its elements where they are known and few.
    pub found: String,
}

/// One thing that is wrong with a model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// IR version 3 and later must say which operator set they mean.
    #[error("the model imports no version of the default operator set")]
    NoOpset,
    /// An operator whose operands or attributes do not fit.
    #[error("{at}: {fault}")]
    Node {
        /// Which.
        at: NodePath,
        /// What it reads, as far as that is known.
        operands: Vec<Operand>,
        /// What is wrong with it.
        fault: Fault,
    },
    /// A constant of a node or graph that cannot be what it claims.
    #[error("{place}: {what}")]
    Constant {
        /// Which.
        place: String,
        /// What is wrong with it.
        what: String,
    },
    /// Two writers of one tensor.
    #[error("tensor `{tensor}`: written more than once, last by {at}")]
    WrittenTwice {
        /// Its name.
        tensor: String,
        /// The later writer.
        at: NodePath,
    },
    /// A name that nothing defines.
    #[error("{at}: reads `{tensor}`, which nothing writes")]
    Undefined {
        /// The tensor's name.
        tensor: String,
        /// The reader.
        at: NodePath,
    },
    /// A network output that nothing writes.
    #[error("output `{tensor}`: nothing writes it")]
    UndefinedOutput {
        /// Its name.
        tensor: String,
    },
    /// A result of a function or branch that nothing in it defines.
    #[error("{body}: nothing writes its result `{tensor}`")]
    UndefinedResult {
        /// The tensor's name.
        tensor: String,
        /// The function or branch.
        body: String,
    },
    /// Functions and branches inside each other, deeper than anything that an exporter writes.
    #[error(
        "{at}: functions and branches are nested deeper than {}, or a function calls itself",
        limits::DEPTH
    )]
    TooDeep {
        /// The node that would go deeper.
        at: NodePath,
    },
    /// A kind of value that the importer does not hold.
    #[error("{place}: {what}")]
    Unsupported {
        /// What has it.
        place: String,
        /// What it is, and what would do.
        what: String,
    },
    /// A loop whose number of iterations is not known.
    #[error("{at}: how often it runs is not known; say it with --dim '{hint}=N'")]
    UnknownTrips {
        /// The loop.
        at: NodePath,
        /// What to bind.
        hint: String,
    },
    /// Nodes that wait for each other.
    #[error("{} form a cycle", list_nodes(.0))]
    Cycle(Vec<NodePath>),
    /// An input that is not a dense tensor with a type and rank.
    #[error("input `{input}`: {what}")]
    Input {
        /// Its name.
        input: String,
        /// What is wrong with it.
        what: String,
    },
    /// A result whose shape neither the operator nor the file tells.
    #[error("{at}: the shape of its result `{tensor}` is {}", remedy(declared.as_deref(), hints))]
    UnknownShape {
        /// The tensor's name.
        tensor: String,
        /// The writer.
        at: NodePath,
        /// What the file says of it, if anything.
        declared: Option<String>,
        /// What to bind; empty if not even the number of axes is known.
        hints: Vec<String>,
    },
    /// The network returns nothing that is computed from an input: constants and other views of inputs need no mapping.
    #[error(
        "there is nothing to map: every output is a constant, an input, or another view of an input"
    )]
    NothingToMap,
    /// The assembled graph is too large for arithmetic.
    #[error("{0}")]
    Graph(VerifyError),
    /// More problems than are listed.
    #[error("and {0} more")]
    More(usize),
}

impl Problem {
    /// What to do about it, where that is more than to mend the file at the place named.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::NoOpset => {
                Some("the exporter has to write `opset_import`; onnx.checker says the same")
            }
            Self::Node { fault, .. } => fault.remedy(),
            Self::Unsupported { .. } => Some(
                "take the part of the network between dense tensors (onnx.utils.extract_model)",
            ),
            Self::Cycle(_) | Self::WrittenTwice { .. } | Self::Undefined { .. } => {
                Some("the file is damaged or was edited; onnx.checker says the same")
            }
            Self::NothingToMap => Some("paracompile inspect shows what there is"),
            Self::Constant { .. }
            | Self::UndefinedOutput { .. }
            | Self::UndefinedResult { .. }
            | Self::Input { .. }
            | Self::UnknownShape { .. }
            | Self::UnknownTrips { .. }
            | Self::TooDeep { .. }
            | Self::Graph(_)
            | Self::More(_) => None,
        }
    }

    /// Whether the file may be valid: something has to be said besides, or is not supported.
    pub(super) fn is_limit(&self) -> bool {
        self.blame() == Blame::Limit
    }

    /// Whether the file is not valid, whatever its dimensions are bound to.
    pub(super) fn is_certain(&self) -> bool {
        self.blame() == Blame::File
    }

    fn blame(&self) -> Blame {
        match self {
            Self::NoOpset
            | Self::TooDeep { .. }
            | Self::Constant { .. }
            | Self::WrittenTwice { .. }
            | Self::Undefined { .. }
            | Self::UndefinedOutput { .. }
            | Self::UndefinedResult { .. }
            | Self::Cycle(_)
            | Self::Input { .. } => Blame::File,
            Self::UnknownShape { .. }
            | Self::UnknownTrips { .. }
            | Self::Unsupported { .. }
            | Self::NothingToMap
            | Self::More(_)
            | Self::Node {
                fault: Fault::NotConstant { .. } | Fault::NoTensor { .. },
                ..
            } => Blame::Limit,
            Self::Node { .. } | Self::Graph(_) => Blame::Bindings,
        }
    }
}

/// Whose fault a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    /// The file's.
    File,
    /// The file's, or that of what its dimensions are bound to.
    Bindings,
    /// Nobody's: something has to be said besides, or is not supported.
    Limit,
}

/// What is wrong with one operator.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A required operand is left out.
    #[error("operand {position} (`{operand}`) is missing")]
    MissingOperand {
        /// Zero for the first.
        position: usize,
        /// The name in the operator's definition.
        operand: &'static str,
    },
    /// A required attribute is left out.
    #[error("attribute `{attribute}` is missing")]
    MissingAttribute {
        /// Its name.
        attribute: &'static str,
    },
    /// An attribute of the wrong type.
    #[error("attribute `{attribute}` is not {expected}")]
    AttributeType {
        /// Its name.
        attribute: &'static str,
        /// What is needed.
        expected: &'static str,
    },
    /// An operator that came after the version that the model imports.
    #[error(
        "does not exist in version {imported} of {domain}, which the model imports; version {since} has it"
    )]
    NewerOperator {
        /// The operator set's domain.
        domain: String,
        /// Its version by the model.
        imported: i64,
        /// The first version with the operator.
        since: i64,
    },
    /// An operator that the version that the model imports has no more.
    #[error(
        "does not exist in version {imported} of {domain}, which the model imports; version {removed} removed it"
    )]
    RemovedOperator {
        /// The operator set's domain.
        domain: String,
        /// Its version by the model.
        imported: i64,
        /// The first version without the operator.
        removed: i64,
    },
    /// An operator on something else than tensors.
    #[error(
        "works on {what}, which are not supported; export the model with tensors of fixed number"
    )]
    NoTensor {
        /// What it reads or writes.
        what: &'static str,
    },
    /// An operand that decides a shape is computed from an input.
    #[error("operand `{operand}` must be a constant, since its values decide the result's shape")]
    NotConstant {
        /// The name in the operator's definition.
        operand: &'static str,
    },
    /// An operand of the wrong rank.
    #[error("operand `{operand}` has shape {found}, but {expected}")]
    Rank {
        /// The name in the operator's definition.
        operand: &'static str,
        /// What is needed.
        expected: &'static str,
        /// What there is.
        found: Shape,
    },
    /// Operands that do not fit each other.
    #[error("shapes {left} and {right} do not fit: {why}")]
    Mismatch {
        /// One shape.
        left: Shape,
        /// The other.
        right: Shape,
        /// The rule broken.
        why: &'static str,
    },
    /// An axis that the tensor does not have.
    #[error("axis {axis} is out of range for rank {rank}")]
    Axis {
        /// As in the file.
        axis: i64,
        /// The tensor's rank.
        rank: usize,
    },
    /// A value that the operator's definition forbids.
    #[error("{what} is {found}, but {expected}")]
    Value {
        /// What has the value.
        what: &'static str,
        /// The value.
        found: String,
        /// What is needed.
        expected: &'static str,
    },
    /// A hint that cannot be: the operands allow less.
    #[error("axis {axis} is said to have extent {hint}, but it has at most {most}")]
    Hint {
        /// The axis.
        axis: usize,
        /// What was said.
        hint: u64,
        /// What the operands allow.
        most: u64,
    },
    /// A body, or a function, that does not return what its node returns.
    #[error(
        "nothing writes its result {position}: its body returns fewer, or a parameter that is left out"
    )]
    NoResult {
        /// Zero for the first.
        position: usize,
    },
    /// A result larger than 64 bits can count.
    #[error("{what} overflows 64 bits")]
    Overflow {
        /// The quantity.
        what: &'static str,
    },
    /// A result with too many axes.
    #[error("its result has {rank} axes, more than {}", limits::RANK)]
    TooManyAxes {
        /// How many.
        rank: usize,
    },
    /// An element type that does not exist.
    #[error("element type {code} is unknown")]
    UnknownType {
        /// The number in the file.
        code: i64,
    },
    /// An element type that the operator does not take.
    #[error("operand `{operand}` has type {found}, but {expected}")]
    Type {
        /// The name in the operator's definition.
        operand: &'static str,
        /// The type.
        found: DataType,
        /// What is needed.
        expected: &'static str,
    },
    /// More results listed than the operator has.
    #[error("lists {found} results, but the operator has {most}")]
    TooManyResults {
        /// In the file.
        found: usize,
        /// By definition.
        most: usize,
    },
}

impl Fault {
    /// The same, without the rest of a value that is longer than a report shows: a file can list a million numbers.
    pub(super) fn shortened(mut self) -> Self {
        if let Self::Value { found, .. } = &mut self {
            *found = shown(found);
        }
        self
    }

    /// What to do about it, where that is more than to mend the node.
    fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::NotConstant { .. } => Some(
                "simplify the model first (onnxsim), declare the result's shape under `value_info`, or say every axis of the result: --dim 'NAME[0]=N' and so on",
            ),
            Self::Mismatch { .. } | Self::Rank { .. } | Self::Axis { .. } => Some(
                "operands have the types and shapes above; where dimensions are bound with --dim, other values may fit",
            ),
            Self::MissingOperand { .. }
            | Self::MissingAttribute { .. }
            | Self::AttributeType { .. }
            | Self::TooManyResults { .. } => {
                Some("the operator's definition for the imported operator set says what it needs")
            }
            Self::NewerOperator { .. } | Self::RemovedOperator { .. } => Some(
                "export with the operator set that has it, or convert the model (onnx.version_converter)",
            ),
            Self::UnknownType { .. } => Some("the file uses a type that came after ONNX 1.23"),
            Self::Value { .. }
            | Self::Overflow { .. }
            | Self::NoResult { .. }
            | Self::TooManyAxes { .. }
            | Self::Type { .. }
            | Self::NoTensor { .. }
            | Self::Hint { .. } => None,
        }
    }
}

fn remedy(declared: Option<&str>, hints: &[String]) -> String {
    let flags: Vec<_> = hints
        .iter()
        .map(|hint| format!("--dim '{hint}=N'"))
        .collect();
    let flags = flags.join(" ");
    match declared {
        Some(declared) => format!("declared as {declared} alone; say the rest with {flags}"),
        None => format!(
            "unknown; declare it under `value_info` (onnx.shape_inference, or the exporter's own), or say every axis of it: {flags} and so on"
        ),
    }
}

fn list(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

fn known_symbols(known: &[String]) -> String {
    if known.is_empty() {
        "all its dimensions are fixed".to_owned()
    } else {
        format!("it has {}", list(known))
    }
}

fn list_nodes(nodes: &[NodePath]) -> String {
    const SHOWN: usize = 8;
    let mut names: Vec<_> = nodes.iter().take(SHOWN).map(ToString::to_string).collect();
    if nodes.len() > SHOWN {
        names.push(format!("{} more nodes", nodes.len() - SHOWN));
    }
    names.join(", ")
}

fn problems(problems: &[Problem]) -> String {
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}
