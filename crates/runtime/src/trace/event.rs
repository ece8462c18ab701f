//! What a trace holds, whatever its format.

/// Events and where they happened.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Queues, in the order in which they are shown.
    pub lanes: Vec<Lane>,
    /// In any order.
    pub events: Vec<TraceEvent>,
}

/// A queue of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The processor with its device: lanes of one device are shown together.
    pub device: String,
    /// The queue.
    pub queue: String,
    /// What its times are.
    pub kind: LaneKind,
}

/// Where times come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneKind {
    /// From events of OpenCL.
    Measured,
    /// From the plan.
    Predicted,
}

/// A command that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Index of its lane.
    pub lane: usize,
    /// The task.
    pub name: String,
    /// The frame.
    pub frame: u64,
    /// The stage.
    pub stage: u32,
    /// When it began, from the start of the run.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

impl Lane {
    /// The device, and whether its times are predicted.
    pub(super) fn title(&self) -> String {
        match self.kind {
            LaneKind::Measured => self.device.clone(),
            LaneKind::Predicted => format!("{} (predicted)", self.device),
        }
    }
}
