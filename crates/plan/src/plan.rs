//! The plan file, schema 1: the whole execution order of a network on a chip.
//!
//! `docs/plan-format.md` is the prose; the JSON Schema in `docs/schema/plan.schema.json` is generated from these types.
//! All numbers behind `_ns` and `_nj` are integers (rule M1).
//! An `id` is the index of its entry in its list, written out so that a person can follow references; the checker holds them equal.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Milliwatts, Nanojoules, Nanoseconds, OpClass, Slowdown};

/// The schema number that this crate reads and writes.
pub const SCHEMA: u32 = 1;

/// Name of the operating point of processors that were measured as they are: there is no other one that it could be told from.
pub const AS_IT_IS: &str = "measured";

/// A mapping of a network to the processors of a chip, with predictions and a proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Always [`SCHEMA`].
    pub schema: u32,
    /// The network.
    pub model: ModelRef,
    /// The chip.
    pub soc: SocRef,
    /// The processors in use, in profile order: the set `A` of rule M2.
    pub processors: Vec<PlanProcessor>,
    /// Slowdowns that can matter to the processors in use (rule M4), in profile order.
    pub contention: Vec<PlanContention>,
    /// The shape of the mapping.
    pub strategy: Strategy,
    /// What this plan is best at.
    pub labels: Vec<Label>,
    /// Whether frames overlap inside a stage; schema 1 knows one value.
    pub frame_overlap: FrameOverlap,
    /// The period at which frames are admitted (rule M6): the interval, or longer where a limit on power asks for it.
    pub admission_interval_ns: Nanoseconds,
    /// What the user demanded of every plan; this one meets it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Constraint>,
    /// Predicted figures.
    pub predicted: Predicted,
    /// How far the sum of stage times can be from the best possible one.
    pub proof: Proof,
    /// The stages in pipeline order.
    pub stages: Vec<PlanStage>,
    /// How much of a kernel graph a task is; absent where every kernel is a task because nobody asked for anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granularity: Option<TaskGranularity>,
    /// One entry a fused operator, ordered by stage, then start, then queue.
    pub tasks: Vec<Task>,
    /// One entry a tensor and memory that holds it.
    pub buffers: Vec<Buffer>,
    /// One entry a tensor and destination location (rule M3).
    pub transfers: Vec<Transfer>,
    /// Command queues.
    pub queues: Vec<Queue>,
    /// Commands that run once, before the first frame: weights.
    pub setup: Vec<Command>,
    /// Commands that run for every frame.
    pub frame: Vec<Command>,
}

/// Something that a user demanded, as resolved for the network and the chip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Constraint {
    /// Operators that run on one processor.
    Pin {
        /// As the user put it.
        asked: String,
        /// The processor.
        processor: String,
        /// The operators, each by its first output.
        operators: Vec<String>,
    },
    /// Operators that do not run on a processor.
    Forbid {
        /// As the user put it.
        asked: String,
        /// The processor.
        processor: String,
        /// The operators, each by its first output.
        operators: Vec<String>,
    },
    /// A limit on a figure.
    Require {
        /// As the user put it.
        asked: String,
        /// The figure.
        figure: Figure,
        /// The memory that a limit on memory is about; absent where it is about all of them together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<String>,
        /// Nanoseconds, nanojoules, nanowatts or bytes.
        at_most: u64,
    },
}

impl Plan {
    /// How many compute queues a processor has.
    pub fn compute_queues(&self, processor: &str) -> usize {
        let is_one =
            |queue: &&Queue| queue.kind == QueueKind::Compute && queue.processor == processor;
        self.queues.iter().filter(is_one).count()
    }

    /// The time from frame to frame: the interval, or a longer one at which frames are admitted.
    pub fn pace(&self) -> Nanoseconds {
        self.predicted.interval_ns.max(self.admission_interval_ns)
    }

    /// Whether frames are admitted more rarely than the stages could take them.
    pub fn waits(&self) -> bool {
        self.admission_interval_ns > self.predicted.interval_ns
    }
}

impl Constraint {
    /// The option of the command line that says so.
    pub fn option(&self) -> String {
        match self {
            Self::Pin { asked, .. } => format!("--pin {asked}"),
            Self::Forbid { asked, .. } => format!("--forbid {asked}"),
            Self::Require { asked, .. } => format!("--require {asked}"),
        }
    }
}

/// A figure of a plan that can be limited.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// `latency_ns`.
    Latency,
    /// `admission_interval_ns`.
    Interval,
    /// `energy_active_nj`.
    EnergyActive,
    /// `energy_board_nj`.
    EnergyBoard,
    /// `energy_active_nj` over `admission_interval_ns`, in nanowatts.
    PowerActive,
    /// `energy_board_nj` over `admission_interval_ns`, in nanowatts.
    PowerBoard,
    /// The peak of a memory, or the sum of all peaks.
    Memory,
}

impl Figure {
    /// The name for people and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Interval => "interval",
            Self::EnergyActive => "energy",
            Self::EnergyBoard => "board-energy",
            Self::PowerActive => "power",
            Self::PowerBoard => "board-power",
            Self::Memory => "memory",
        }
    }

    /// A value in the figure's smallest unit for people.
    pub fn shown(self, value: u64) -> String {
        match self {
            Self::Latency | Self::Interval => Nanoseconds::new(value).to_string(),
            Self::EnergyActive | Self::EnergyBoard => Nanojoules::new(value).to_string(),
            // A nanowatt is to the watt what a nanojoule is to the joule.
            Self::PowerActive | Self::PowerBoard => {
                let text = Nanojoules::new(value).to_string();
                text.replace('J', "W")
            }
            Self::Memory => Bytes::new(value).to_string(),
        }
    }
}

/// Which network a plan is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelRef {
    /// File name without directory and extension.
    pub name: String,
    /// Where the graph came from.
    pub kind: ModelKind,
    /// SHA-256, in hexadecimal, over the decoded model without weight payloads.
    pub graph_digest: String,
    /// Symbolic dimensions that were bound.
    pub dims: BTreeMap<String, u64>,
    /// Named, deterministic rewrites of the graph, such as `fusion`.
    pub rewrites: Vec<String>,
    /// Names of the network's inputs that a frame provides.
    pub inputs: Vec<String>,
    /// Names of the network's outputs.
    pub outputs: Vec<String>,
}

/// The kind of source graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// An ONNX file.
    Onnx,
    /// An OpenCL kernel graph.
    Kernels,
}

/// Which chip a plan is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SocRef {
    /// The profile's name.
    pub name: String,
    /// SHA-256, in hexadecimal, over the profile and the measured costs that override it.
    pub digest: String,
    /// Host time to enqueue a command, used by `simulate --host` alone (rule M10).
    pub enqueue_ns: Nanoseconds,
    /// Power of the board besides the processors (rule M11).
    pub base_mw: Milliwatts,
    /// The memory where network inputs start and outputs must end (rule M7).
    pub io: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde asks for"
)]
fn is_no_time(time: &Nanoseconds) -> bool {
    *time == Nanoseconds::ZERO
}

/// A processor in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanProcessor {
    /// The profile's name of it.
    pub name: String,
    /// The memory that it computes in.
    pub memory: String,
    /// The layout that it computes in.
    pub layout: Layout,
    /// The operating point for the whole plan.
    pub operating_point: String,
    /// Static power while the processor is used (rule M11).
    pub static_mw: Milliwatts,
    /// What a task costs there beyond its kernels and the host's enqueueing, used by `simulate --host` alone; absent where that is nothing.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub dispatch_ns: Nanoseconds,
    /// By how much tasks slow down with as many compute queues as this plan gives the processor (rule M10).
    pub sharing: Slowdown,
}

/// Slowdown of processors that are in use together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanContention {
    /// Processor names; all of them are used by this plan.
    pub set: Vec<String>,
    /// The factor of each processor that is slowed.
    pub factor: BTreeMap<String, Slowdown>,
}

/// The shape of a mapping (see `docs/plan-format.md`).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// One stage, one processor.
    Single,
    /// One stage, several processors.
    ParaOnly,
    /// Several stages, one processor each.
    PipeOnly,
    /// Several stages, some with several processors.
    Hybrid,
}

impl Strategy {
    /// The strategy of stages that use `processors_by_stage` processors each.
    pub fn of(processors_by_stage: &[usize]) -> Self {
        match processors_by_stage {
            [] | [0 | 1] => Self::Single,
            [_] => Self::ParaOnly,
            stages if stages.iter().all(|&count| count == 1) => Self::PipeOnly,
            _ => Self::Hybrid,
        }
    }

    /// The name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::ParaOnly => "para-only",
            Self::PipeOnly => "pipe-only",
            Self::Hybrid => "hybrid",
        }
    }
}

/// What a plan is best at.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Label {
    /// Least latency on the front.
    MinLatency,
    /// Least interval on the front.
    MaxThroughput,
    /// Least active energy on the front.
    MinEnergy,
    /// Least latency among hybrids.
    HybridLatency,
    /// Least interval among hybrids.
    HybridThroughput,
    /// Least latency × interval on the front.
    Balanced,
}

impl Label {
    /// The name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MinLatency => "min-latency",
            Self::MaxThroughput => "max-throughput",
            Self::MinEnergy => "min-energy",
            Self::HybridLatency => "hybrid-latency",
            Self::HybridThroughput => "hybrid-throughput",
            Self::Balanced => "balanced",
        }
    }
}

/// Whether frames overlap inside a stage (rule M5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrameOverlap {
    /// A stage takes a frame when it has finished the one before.
    None,
}

/// Predicted figures; each follows from the rest of the plan by the rules named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Predicted {
    /// One frame through an empty pipeline, `Σ T_s(S)` (M6).
    pub latency_ns: Nanoseconds,
    /// From start to end of the 50th frame of an unpaced stream (M6).
    pub saturated_latency_ns: Nanoseconds,
    /// The same with a frame admitted every interval (M6).
    pub paced_latency_ns: Nanoseconds,
    /// Initiation interval, `max T_s(A)` (M6).
    pub interval_ns: Nanoseconds,
    /// Load of the busiest processor, which overlapping frames could reach (M5).
    pub interval_bound_ns: Nanoseconds,
    /// Energy a frame of the processors in use (M11).
    pub energy_active_nj: Nanojoules,
    /// The same and the board's base power (M11).
    pub energy_board_nj: Nanojoules,
    /// Use of each memory that holds a buffer, in profile order (M8).
    pub memory: Vec<MemoryUse>,
    /// Where the predicted time comes from.
    pub provenance: Provenance,
}

/// Use of one memory (M8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryUse {
    /// The memory's name.
    pub memory: String,
    /// Bytes of weights.
    pub weights: Bytes,
    /// Everything at its worst: weights, workspaces, local peaks, crossing buffers with their copies.
    pub peak: Bytes,
}

/// Shares of the predicted compute time by the source of the number, each in `[0, 1]`, rounded to four decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Measured on the chip.
    pub measured: f64,
    /// From a model fitted to measurements on the chip.
    pub fitted: f64,
    /// Derived from other known figures.
    pub estimated: f64,
    /// Taken from a related chip.
    pub borrowed: f64,
    /// Assumed.
    pub assumed: f64,
}

/// Where a number of a profile comes from, best first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Measured on the chip.
    Measured,
    /// From a model fitted to measurements on the chip.
    Fitted,
    /// Derived from other known figures.
    Estimated,
    /// Taken from a related chip.
    Borrowed,
    /// Assumed.
    Assumed,
}

/// A value, a bound for the same problem, and what the claim covers (M9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// The value reached: `T_s(S)` of a stage, their sum for a plan.
    pub value_ns: Nanoseconds,
    /// No mapping of the scope is below.
    pub bound_ns: Nanoseconds,
    /// How value and bound were found.
    pub method: String,
    /// Over which choices the claim holds.
    pub scope: String,
    /// Why the search stopped.
    pub stopped_by: StoppedBy,
}

/// Why a search stopped.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// Nothing was left to search.
    Complete,
    /// The gap that the user allows was reached.
    Gap,
    /// The counted work of the effort level was done.
    Work,
    /// The time limit cut the search: the result depends on the machine.
    Time,
    /// The user interrupted it.
    Interrupt,
}

/// A pipeline stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStage {
    /// Index in the plan's stages.
    pub id: u32,
    /// Its processors, in profile order: the set `S` of rule M2.
    pub processors: Vec<String>,
    /// Stage time under its own set, `T_s(S)` (M5).
    pub time_alone_ns: Nanoseconds,
    /// Stage time under the plan's set, `T_s(A)` (M5).
    pub time_ns: Nanoseconds,
    /// The claim about `T_s(S)`.
    pub proof: Proof,
}

/// A fused operator on a compute queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Index in the plan's tasks.
    pub id: u32,
    /// Its stage.
    pub stage: u32,
    /// Its compute queue.
    pub queue: u32,
    /// The operators that it runs, in topological order.
    pub operators: Vec<OperatorRef>,
    /// The class of the first of them, its anchor (M12).
    pub class: OpClass,
    /// Buffers that it reads, weights included, each once, ascending.
    pub reads: Vec<u32>,
    /// Buffers that it writes, workspace included, each once, ascending.
    pub writes: Vec<u32>,
    /// Duration without any slowdown, rounded once (M1).
    pub work_ns: Nanoseconds,
    /// Start, from the start of the stage, under the plan's set.
    pub start_ns: Nanoseconds,
    /// Duration under the plan's set (M4, M10).
    pub duration_ns: Nanoseconds,
    /// Dynamic energy under the plan's set (M11).
    pub energy_nj: Nanojoules,
    /// What it launches; of kernel graphs alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<TaskKernel>,
    /// What it launches behind that, one after another; of tasks of several kernels alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels_behind: Vec<TaskKernel>,
    /// Why its kernels are one task; of tasks of several kernels alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fused: Option<FusedKernels>,
}

impl Task {
    /// All kernels that it launches, in order.
    pub fn kernels(&self) -> impl Iterator<Item = &TaskKernel> {
        self.kernel.iter().chain(&self.kernels_behind)
    }
}

/// Why kernels are one task: what they take against what dispatching a task costs, and what is ready beside them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FusedKernels {
    /// The processor of the chip where they would end first.
    pub processor: String,
    /// What they take there.
    pub time_ns: Nanoseconds,
    /// What dispatching a task costs there: the host's time to enqueue a command, and `dispatch_ns` of the processor.
    pub dispatch_ns: Nanoseconds,
    /// Tasks with as many tasks on the longest path to them, itself included.
    pub beside: u32,
}

/// How much of a kernel graph a task is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskGranularity {
    /// What was asked for: a level, or `auto`.
    pub asked: String,
    /// The level, or the rule that found the tasks: `branch x8 /2` fused branches that take less than eight dispatches while more than two of them were ready together.
    pub rule: String,
}

/// The launch of an OpenCL kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskKernel {
    /// File with the code, as the specification names it.
    pub file: String,
    /// Function in it.
    pub function: String,
    /// Macros that it is built with.
    pub defines: BTreeMap<String, String>,
    /// Work items along each of one to three dimensions.
    pub global: Vec<u64>,
    /// Work items of a group; absent leaves them to the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<Vec<u64>>,
    /// Arguments by position.
    pub arguments: Vec<KernelArgument>,
    /// The task component that it belongs to; in plans of clusterings alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<KernelComponent>,
}

/// The task component of a kernel (`PySchedCL`, Ghose et al., section III): kernels that go to one processor together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelComponent {
    /// Its number; components are numbered in the order of their first kernels.
    pub id: u32,
    /// Whether the kernel reads something that another component writes; in a component that reads nothing of others, whether it waits for none of its own.
    pub front: bool,
    /// Whether it writes something that another component reads.
    pub end: bool,
}

/// An argument of a kernel; buffers are named by id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KernelArgument {
    /// A buffer that is read.
    In(u32),
    /// A buffer that is written.
    Out(u32),
    /// A buffer that is changed in place.
    #[serde(rename = "inout")]
    InOut {
        /// The buffer that holds the contents before.
        read: u32,
        /// The buffer that holds the contents afterwards: whoever executes the plan copies first, or gives both the same memory.
        write: u32,
    },
    /// A value.
    Scalar {
        /// Its type in OpenCL C.
        #[serde(rename = "type")]
        dtype: String,
        /// The value as a decimal number.
        value: String,
    },
    /// Memory of a work group, in bytes.
    Local(Bytes),
}

/// Where an operator stands in the model file.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct OperatorRef {
    /// Index of the node in the file's top-level graph.
    pub node: u32,
    /// Path of node indices into functions or branches, empty for a top-level node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inside: Vec<u32>,
    /// The name of its first output tensor; node names are not unique in real files.
    pub output: String,
}

/// A tensor in a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Buffer {
    /// Index in the plan's buffers.
    pub id: u32,
    /// Tensor name (of the tensor itself, not of a view); empty for workspace.
    pub tensor: String,
    /// What it holds.
    pub kind: BufferKind,
    /// The memory where it lies.
    pub memory: String,
    /// Size of one copy.
    pub bytes: Bytes,
    /// Element type, in ONNX's spelling in lower case (`float`, `float16`, `int64`, …).
    pub dtype: String,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// Order of the elements.
    pub layout: Layout,
    /// Frame `f` uses copy `f mod copies` (M6).
    pub copies: u32,
    /// The first task that touches it, by id; absent where none does.
    pub first_task: Option<u32>,
    /// The last task that touches it, by id; absent where none does.
    pub last_task: Option<u32>,
}

/// What a buffer holds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BufferKind {
    /// A network input where the frame provides it.
    Input,
    /// A network output where the frame leaves it.
    Output,
    /// Anything else that a frame computes or moves.
    Activation,
    /// A constant.
    Weight,
    /// Scratch space of a processor.
    Workspace,
}

/// Order of a tensor's elements.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Channels before space.
    Nchw,
    /// Space before channels.
    Nhwc,
    /// Fits all: a processor that reads and writes either.
    Any,
}

impl Layout {
    /// Whether a reader of `other` takes a tensor in this layout as it is.
    pub fn fits(self, other: Self) -> bool {
        self == other || self == Self::Any || other == Self::Any
    }
}

/// A move of a tensor between locations (M3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transfer {
    /// Index in the plan's transfers.
    pub id: u32,
    /// The stage that makes it.
    pub stage: u32,
    /// Source buffer.
    pub from_buffer: u32,
    /// Target buffer.
    pub to_buffer: u32,
    /// Size moved.
    pub bytes: Bytes,
    /// Change of layout, if any.
    pub convert: Option<Convert>,
    /// Start, from the start of the stage, under the plan's set.
    pub start_ns: Nanoseconds,
    /// Duration.
    pub duration_ns: Nanoseconds,
    /// Energy (M11).
    pub energy_nj: Nanojoules,
}

/// A change of layout on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Convert {
    /// Layout of the source.
    pub from_layout: Layout,
    /// Layout of the target.
    pub to_layout: Layout,
}

/// A command queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// Index in the plan's queues.
    pub id: u32,
    /// The processor's name, or `io` for the side of the host.
    pub processor: String,
    /// What it carries.
    pub kind: QueueKind,
}

/// What a queue carries.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum QueueKind {
    /// Tasks, in order.
    Compute,
    /// Sends and receives, ordered by waits alone.
    Transfer,
}

/// One command of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Command {
    /// Index in its list (`setup` and `frame` count apart).
    pub id: u32,
    /// Its queue; markers have none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue: Option<u32>,
    /// What it does.
    #[serde(rename = "do")]
    pub action: Action,
    /// What must end before it starts, beyond what queue order and other waits imply.
    pub wait: Vec<Wait>,
}

/// What a command does; the number is the id of the task, transfer, stage or buffer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Runs a task.
    Launch(u32),
    /// The source side of a transfer; starts and ends with its `receive`. Waits stand here.
    Send(u32),
    /// The target side of a transfer.
    Receive(u32),
    /// A marker: the stage takes the frame.
    Begin(u32),
    /// A marker: the stage is done with the frame.
    End(u32),
    /// Writes a weight buffer from the model file; in `setup` alone.
    Write(u32),
}

/// A dependency on an earlier command.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Wait {
    /// A command of the same list.
    pub command: u32,
    /// Of which frame: 0 is the same one, 1 the one before; nothing is waited for before the first frame.
    pub frames_back: u32,
}
