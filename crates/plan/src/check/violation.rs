//! What can be wrong with a plan; each message says where first.

use std::fmt;

use crate::Bytes;
use crate::plan::{Action, Layout, OperatorRef, Wait};

/// A place in a plan file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The top level.
    Plan,
    /// `model`.
    Model,
    /// `soc`.
    Soc,
    /// An entry of `processors`.
    Processor(usize),
    /// An entry of `contention`.
    Contention(usize),
    /// An entry of `stages`.
    Stage(usize),
    /// An entry of `tasks`.
    Task(usize),
    /// An entry of `buffers`.
    Buffer(usize),
    /// An entry of `transfers`.
    Transfer(usize),
    /// An entry of `queues`.
    Queue(usize),
    /// An entry of `setup`.
    Setup(usize),
    /// An entry of `frame`.
    Frame(usize),
    /// `predicted`.
    Predicted,
    /// An entry of `predicted.memory`.
    Memory(usize),
    /// An entry of `constraints`.
    Constraint(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan => f.write_str("plan"),
            Self::Model => f.write_str("model"),
            Self::Soc => f.write_str("soc"),
            Self::Processor(index) => write!(f, "processors[{index}]"),
            Self::Contention(index) => write!(f, "contention[{index}]"),
            Self::Stage(index) => write!(f, "stages[{index}]"),
            Self::Task(index) => write!(f, "tasks[{index}]"),
            Self::Buffer(index) => write!(f, "buffers[{index}]"),
            Self::Transfer(index) => write!(f, "transfers[{index}]"),
            Self::Queue(index) => write!(f, "queues[{index}]"),
            Self::Setup(index) => write!(f, "setup[{index}]"),
            Self::Frame(index) => write!(f, "frame[{index}]"),
            Self::Predicted => f.write_str("predicted"),
            Self::Memory(index) => write!(f, "predicted.memory[{index}]"),
            Self::Constraint(index) => write!(f, "constraints[{index}]"),
        }
    }
}

/// A list of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    /// `processors`.
    Processors,
    /// `stages`.
    Stages,
    /// `tasks`.
    Tasks,
    /// `transfers`.
    Transfers,
    /// `queues`.
    Queues,
    /// `setup`.
    Setup,
    /// `frame`.
    Frame,
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Processors => "processors",
            Self::Stages => "stages",
            Self::Tasks => "tasks",
            Self::Transfers => "transfers",
            Self::Queues => "queues",
            Self::Setup => "setup",
            Self::Frame => "frame",
        })
    }
}

/// Why operators cannot be one task (rule M12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FusionFault {
    /// The operator reads nothing of the one before it in the task.
    Unconnected,
    /// Another task reads what the task keeps to itself.
    ReadElsewhere,
    /// What the task keeps to itself is a network output.
    NetworkOutput,
    /// The operator reads what a later one of the task writes.
    TooEarly,
}

impl fmt::Display for FusionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unconnected => "it reads nothing of the operator before it",
            Self::ReadElsewhere => {
                "an operator outside the task reads a tensor between its members"
            }
            Self::NetworkOutput => "a tensor between its members is a network output",
            Self::TooEarly => "it reads what a later operator of the task writes",
        })
    }
}

/// One way in which a plan breaks the rules.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A field is not what follows from the rest of the plan and the facts.
    #[error("{at}: {field} is {stated}, but {derived} follows")]
    Differs {
        /// Where.
        at: Place,
        /// Which field.
        field: &'static str,
        /// What the plan says.
        stated: String,
        /// What follows.
        derived: String,
    },
    /// An operator where the user does not want it.
    #[error("{at}: {operator} runs on {processor}")]
    Misplaced {
        /// The demand.
        at: Place,
        /// The operator's first output.
        operator: String,
        /// Where it runs.
        processor: String,
    },
    /// A figure beyond the user's limit.
    #[error("{at}: {figure} is more than {at_most}")]
    Exceeded {
        /// The demand.
        at: Place,
        /// The figure.
        figure: &'static str,
        /// Nanoseconds, nanojoules, nanowatts or bytes.
        at_most: u64,
    },
    /// A list is longer than any plan of this model needs.
    #[error("{list}: has {count} entries, more than {limit}")]
    TooMany {
        /// Which list.
        list: List,
        /// Its length.
        count: usize,
        /// The most that can be.
        limit: usize,
    },
    /// A name or id that nothing has.
    #[error("{at}: {field} names {value}, which does not exist or does not fit here")]
    UnknownReference {
        /// Where.
        at: Place,
        /// Which field.
        field: &'static str,
        /// The name or id.
        value: String,
    },
    /// A name that two entries have.
    #[error("{at}: the name {name} is taken")]
    RepeatedName {
        /// The later entry.
        at: Place,
        /// The name.
        name: String,
    },
    /// A list is not in the order of `docs/plan-format.md`.
    #[error("{at}: stands out of order in {list}")]
    Unordered {
        /// The first entry that is out of order.
        at: Place,
        /// The list.
        list: List,
    },
    /// A text for people, or the list of stages, is empty.
    #[error("{at}: {field} is empty")]
    Empty {
        /// Where.
        at: Place,
        /// Which field.
        field: &'static str,
    },
    /// A label that does not fit the plan, stands twice or out of order.
    #[error("plan: label {label} stands twice, out of order or on a plan that it does not fit")]
    WrongLabel {
        /// The label.
        label: &'static str,
    },
    /// An operator that no task runs.
    #[error("tasks: no task runs node {} ({})", .operator.node, .operator.output)]
    MissingOperator {
        /// The operator.
        operator: OperatorRef,
    },
    /// An operator that runs twice.
    #[error("{at}: node {} ({}) runs already", .operator.node, .operator.output)]
    RepeatedOperator {
        /// The later task.
        at: Place,
        /// The operator.
        operator: OperatorRef,
    },
    /// A reference to an operator that the model does not have.
    #[error("{at}: the model has no node {} with output {}", .operator.node, .operator.output)]
    UnknownOperator {
        /// The task.
        at: Place,
        /// The reference.
        operator: OperatorRef,
    },
    /// A task without an operator.
    #[error("{at}: runs no operator")]
    EmptyTask {
        /// The task.
        at: Place,
    },
    /// Operators that cannot be one task.
    #[error("{at}: cannot fuse node {} ({}): {fault}", .operator.node, .operator.output)]
    IllegalFusion {
        /// The task.
        at: Place,
        /// The member.
        operator: OperatorRef,
        /// Why.
        fault: FusionFault,
    },
    /// A processor of two stages.
    #[error("{at}: processor {processor} belongs to an earlier stage or stands twice")]
    SharedProcessor {
        /// The later stage.
        at: Place,
        /// The processor.
        processor: String,
    },
    /// A processor in no stage.
    #[error("{at}: processor {processor} is in no stage")]
    UnusedProcessor {
        /// Its entry.
        at: Place,
        /// The processor.
        processor: String,
    },
    /// A processor of a stage, or one of its compute queues, without a task.
    #[error("{at}: {processor} runs no task")]
    IdleProcessor {
        /// The stage or queue.
        at: Place,
        /// The processor.
        processor: String,
    },
    /// A task on a processor of another stage.
    #[error("{at}: processor {processor} does not belong to its stage")]
    ForeignProcessor {
        /// The task.
        at: Place,
        /// The processor.
        processor: String,
    },
    /// A task reads what a later stage writes.
    #[error("{at}: reads {tensor}, which a later stage writes")]
    BackwardFlow {
        /// The reading task.
        at: Place,
        /// The tensor.
        tensor: String,
    },
    /// A tensor that nothing writes: the fault of the facts.
    #[error("model: nothing writes {tensor}, which is read")]
    UnwrittenTensor {
        /// The tensor.
        tensor: String,
    },
    /// A buffer that must exist.
    #[error("buffers: a buffer of {tensor} in {memory} ({layout:?}) is missing")]
    MissingBuffer {
        /// The tensor, empty for workspace.
        tensor: String,
        /// The memory.
        memory: String,
        /// The layout.
        layout: Layout,
    },
    /// A buffer that nothing needs.
    #[error("{at}: nothing needs a buffer of {tensor} in {memory}")]
    SurplusBuffer {
        /// The buffer.
        at: Place,
        /// The tensor.
        tensor: String,
        /// The memory.
        memory: String,
    },
    /// A move that must be made.
    #[error("transfers: a transfer of {tensor} to {memory} ({layout:?}) is missing")]
    MissingTransfer {
        /// The tensor.
        tensor: String,
        /// Target memory.
        memory: String,
        /// Target layout.
        layout: Layout,
    },
    /// A move that is made already or that nobody needs.
    #[error("{at}: nothing needs this transfer, or another one makes it")]
    SurplusTransfer {
        /// The transfer.
        at: Place,
    },
    /// The order on the queues contradicts the flow of data.
    #[error("stages[{stage}]: {waiting} of its tasks and transfers wait for each other")]
    Cycle {
        /// The stage.
        stage: usize,
        /// How many nodes are on a cycle or behind one.
        waiting: usize,
    },
    /// A command that must be in the list.
    #[error("{list}: {action:?} is missing")]
    MissingCommand {
        /// Which list.
        list: List,
        /// The command.
        action: Action,
    },
    /// A command that does not belong into the list, or stands there twice.
    #[error("{at}: {action:?} does not belong here or stands twice")]
    SurplusCommand {
        /// The command.
        at: Place,
        /// What it does.
        action: Action,
    },
    /// A wait that the rules demand.
    #[error("{at}: must wait for command {} of {} frames back", .wait.command, .wait.frames_back)]
    MissingWait {
        /// The command.
        at: Place,
        /// The wait.
        wait: Wait,
    },
    /// A wait that other waits imply or that no rule demands.
    #[error("{at}: need not wait for command {} of {} frames back", .wait.command, .wait.frames_back)]
    SurplusWait {
        /// The command.
        at: Place,
        /// The wait.
        wait: Wait,
    },
    /// Waits out of order or repeated.
    #[error("{at}: waits stand out of order or twice")]
    UnorderedWaits {
        /// The command.
        at: Place,
    },
    /// Commands that wait for each other.
    #[error("frame: {waiting} commands can never start")]
    Deadlock {
        /// How many commands are on a cycle or behind one.
        waiting: usize,
    },
    /// A command that the markers of its stage do not enclose.
    #[error("{at}: is not between begin and end of its stage")]
    OutsideStage {
        /// The command.
        at: Place,
    },
    /// A copy that a later frame may overwrite while it is read.
    #[error("{at}: stage {writer} may overwrite a copy that stage {reader} still reads")]
    Overwritten {
        /// The buffer.
        at: Place,
        /// The stage that writes.
        writer: usize,
        /// The stage that reads last.
        reader: usize,
    },
    /// A task on a processor that lacks an operator of it.
    #[error("{at}: {processor} does not support node {} ({})", .operator.node, .operator.output)]
    UnsupportedOperator {
        /// The task.
        at: Place,
        /// The processor.
        processor: String,
        /// The operator.
        operator: OperatorRef,
    },
    /// A move where the profile has no link.
    #[error("{at}: the profile has no link from {from} to {to}")]
    NoLink {
        /// The transfer.
        at: Place,
        /// Source memory.
        from: String,
        /// Target memory.
        to: String,
    },
    /// More compute queues than the profile allows.
    #[error("{at}: has {queues} compute queues, but the profile allows {limit}")]
    TooManyQueues {
        /// The processor.
        at: Place,
        /// Its compute queues.
        queues: usize,
        /// The most that the profile allows.
        limit: usize,
    },
    /// A memory that is too small (rule M8).
    #[error("predicted.memory: {memory} needs {need}, but has {limit}", need = .need.count(), limit = .limit.count())]
    MemoryExceeded {
        /// The memory.
        memory: String,
        /// What the plan needs.
        need: Bytes,
        /// What there is.
        limit: Bytes,
    },
    /// A bound above its value.
    #[error("{at}: proof.bound_ns {bound} is above proof.value_ns {value}")]
    BoundAboveValue {
        /// The stage or the plan.
        at: Place,
        /// The bound.
        bound: u64,
        /// The value.
        value: u64,
    },
}

/// Adds [`Violation::Differs`] unless both are equal.
pub(super) fn compare<T: PartialEq + fmt::Debug>(
    found: &mut Vec<Violation>,
    at: &Place,
    field: &'static str,
    stated: &T,
    derived: &T,
) {
    if stated != derived {
        found.push(Violation::Differs {
            at: at.clone(),
            field,
            stated: format!("{stated:?}"),
            derived: format!("{derived:?}"),
        });
    }
}
