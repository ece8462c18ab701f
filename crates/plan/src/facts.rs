//! What the checker knows about a model and a chip, independent of every plan.
//!
//! Whoever makes or executes a plan derives these from the same files that the plan names; the checker takes nothing from the plan on trust.

use std::collections::BTreeMap;

use crate::op_class::OpClass;
use crate::plan::{Layout, ModelKind, OperatorRef, Source};
use crate::{Bytes, Joules, Milliwatts, Nanoseconds, Seconds, Slowdown, Watts};

/// A network: what must run, and what reads what.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFacts {
    /// File name without directory and extension.
    pub name: String,
    /// Where the graph came from.
    pub kind: ModelKind,
    /// SHA-256 over the decoded model without weight payloads.
    pub graph_digest: String,
    /// Symbolic dimensions that were bound.
    pub dims: BTreeMap<String, u64>,
    /// What was done to the graph on reading it, by name, in order.
    pub rewrites: Vec<String>,
    /// Indices in `tensors` of what a frame provides, in file order.
    pub inputs: Vec<usize>,
    /// Indices in `tensors` of what a frame must leave, in file order.
    pub outputs: Vec<usize>,
    /// Operators in topological order; free ones (views) are not listed, see [`TensorFacts::made_of`].
    pub operators: Vec<OperatorFacts>,
    /// Tensors, views and weights included.
    pub tensors: Vec<TensorFacts>,
}

/// One operator of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorFacts {
    /// Where it stands in the file.
    pub at: OperatorRef,
    /// What it costs like.
    pub class: OpClass,
    /// Tensors that it reads, weights and views included, each once, in operand order.
    pub reads: Vec<usize>,
    /// Tensors that it writes.
    pub writes: Vec<usize>,
    /// What it launches; of kernel graphs alone.
    pub launch: Option<LaunchFacts>,
}

/// The launch of an OpenCL kernel, as the specification has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchFacts {
    /// File with the code.
    pub file: String,
    /// Function in it.
    pub function: String,
    /// Macros that it is built with.
    pub defines: BTreeMap<String, String>,
    /// Work items along each of one to three dimensions.
    pub global: Vec<u64>,
    /// Work items of a group; absent leaves them to the device.
    pub local: Option<Vec<u64>>,
    /// Arguments by position.
    pub arguments: Vec<ArgumentFacts>,
}

/// An argument of a launch; tensors are indices in [`ModelFacts::tensors`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentFacts {
    /// A tensor that is read.
    In(usize),
    /// A tensor that is written.
    Out(usize),
    /// A buffer that is changed in place.
    InOut {
        /// What it holds before.
        read: usize,
        /// What it holds afterwards.
        written: usize,
    },
    /// A value.
    Scalar {
        /// Its type in OpenCL C.
        dtype: String,
        /// The value as a decimal number.
        value: String,
    },
    /// Memory of a work group.
    Local(Bytes),
}

/// One tensor of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorFacts {
    /// Name in the file.
    pub name: String,
    /// Element type, as in [`crate::plan::Buffer::dtype`].
    pub dtype: String,
    /// Extents.
    pub shape: Vec<u64>,
    /// Size.
    pub bytes: Bytes,
    /// Whether it is a constant.
    pub weight: bool,
    /// Empty for a tensor with storage of its own.
    /// Otherwise the tensors that this one is a free view of: one for a reshape, several for a concatenation in place.
    /// Follow it until it is empty.
    pub made_of: Vec<usize>,
}

/// A chip, and what each operator of one model costs on it.
#[derive(Clone, Debug, PartialEq)]
pub struct CostFacts {
    /// The profile's name.
    pub soc_name: String,
    /// SHA-256 over the profile and the measured costs that override it.
    pub soc_digest: String,
    /// Index in `memories` where inputs start and outputs end.
    pub io: usize,
    /// Memories in profile order.
    pub memories: Vec<MemoryFacts>,
    /// Processors in profile order.
    pub processors: Vec<ProcessorFacts>,
    /// `operators[i][p]`: cost of operator `i` of the model facts on processor `p`; `None` where it is not supported.
    pub operators: Vec<Vec<Option<OperatorCost>>>,
    /// Links in profile order; at most one for each (from, to).
    pub links: Vec<LinkFacts>,
    /// Contention in profile order.
    pub contention: Vec<ContentionFacts>,
    /// Host time to enqueue a command.
    pub enqueue: Nanoseconds,
    /// Power of the board besides the processors.
    pub base: Milliwatts,
}

/// A memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFacts {
    /// Name.
    pub name: String,
    /// Size, if limited.
    pub limit: Option<Bytes>,
}

/// A processor at its operating point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessorFacts {
    /// Name.
    pub name: String,
    /// Index in [`CostFacts::memories`].
    pub memory: usize,
    /// Layout that it computes in.
    pub layout: Layout,
    /// Operating point of the cost table.
    pub operating_point: String,
    /// Static power while used.
    pub static_power: Milliwatts,
    /// What a task costs beyond its kernels and the host's enqueueing.
    pub dispatch: Nanoseconds,
    /// `sharing[q − 1]`: slowdown of tasks with `q` compute queues; its length is the largest `q`.
    pub sharing: Vec<Slowdown>,
    /// Classes whose operators cost nothing here when they are fused behind an anchor (rule M12).
    pub fuses: Vec<OpClass>,
}

/// Cost of one operator on one processor, in decimals (rule M1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatorCost {
    /// Duration without slowdown.
    pub time: Seconds,
    /// Dynamic energy without slowdown.
    pub energy: Joules,
    /// Scratch space.
    pub workspace: Bytes,
    /// Where the duration comes from.
    pub source: Source,
}

/// A link between memories, or between layouts in one memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkFacts {
    /// Index in [`CostFacts::memories`].
    pub from: usize,
    /// Index in [`CostFacts::memories`].
    pub to: usize,
    /// Time before the first byte.
    pub latency: Seconds,
    /// Time a byte: the reciprocal of the bandwidth.
    pub seconds_per_byte: Seconds,
    /// Extra time a byte where the layouts do not fit.
    pub convert_seconds_per_byte: Seconds,
    /// Power while it moves.
    pub power: Watts,
}

/// A set of processors that slow each other when all are in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentionFacts {
    /// Indices in [`CostFacts::processors`], ascending.
    pub set: Vec<usize>,
    /// Factor of each member that is slowed, by index in [`CostFacts::processors`].
    pub factor: BTreeMap<usize, Slowdown>,
}
