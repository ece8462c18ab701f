//! What a runtime measured of a plan: the predictions of the plan file, taken on the devices.
//!
//! All figures are medians over frames unless they say otherwise, in nanoseconds, by the rules of `docs/model.md` (M5, M6).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Nanojoules, Nanoseconds, Plan};

/// A plan's execution, measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Always [`crate::plan::SCHEMA`].
    pub schema: u32,
    /// Tells this file from others.
    pub kind: MeasuredKind,
    /// The network's name.
    pub model: String,
    /// Its digest, as in the plan.
    pub graph_digest: String,
    /// SHA-256 of the plan file, in hexadecimal.
    pub plan_digest: String,
    /// The device of every processor of the plan.
    pub devices: BTreeMap<String, String>,
    /// Frames of the stream.
    pub frames: u32,
    /// How often a frame of the stream was admitted; null if each came as soon as the first stage took it.
    #[serde(default)]
    pub admission_interval_ns: Option<Nanoseconds>,
    /// Whether the user ended the stream early.
    pub interrupted: bool,
    /// One frame through an empty pipeline.
    pub latency_ns: Nanoseconds,
    /// The same, exceeded by one frame in twenty.
    pub latency_p95_ns: Nanoseconds,
    /// From start to end of the 50th frame of an unpaced stream; absent if the stream was paced or shorter.
    pub saturated_latency_ns: Option<Nanoseconds>,
    /// Mean time from frame to frame of the stream, without the frames that filled the pipeline; null of one frame.
    pub interval_ns: Option<Nanoseconds>,
    /// From the first start to the last end on any device, of one frame through an empty pipeline.
    pub device_span_ns: Nanoseconds,
    /// Host time to enqueue a frame.
    pub enqueue_ns: Nanoseconds,
    /// What a frame enqueues: kernel launches and moves.
    pub commands: u32,
    /// Energy a frame of devices with a meter; absent where there is none.
    pub energy_nj: Option<Nanojoules>,
    /// Bytes that were allocated on devices and for them.
    pub allocated_bytes: u64,
    /// By stage.
    pub stages: Vec<MeasuredStage>,
    /// By task of the plan, in the stream.
    pub tasks: Vec<MeasuredPart>,
    /// By transfer of the plan, in the stream; what needed no command took no time.
    pub transfers: Vec<MeasuredPart>,
}

/// The one kind of such a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeasuredKind {
    /// The execution of a plan.
    Measured,
}

/// A stage, measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredStage {
    /// With an otherwise empty pipeline: `T_s(S)`.
    pub time_alone_ns: Nanoseconds,
    /// In the stream: `T_s(A)`.
    pub time_ns: Nanoseconds,
}

/// A task or transfer, measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredPart {
    /// From the start of its stage.
    pub start_ns: Nanoseconds,
    /// How long it took.
    pub duration_ns: Nanoseconds,
}

impl Measured {
    /// `plan` with what was measured in the place of what was predicted, for pictures: no checker would accept it.
    ///
    /// Nobody measures at which operating points processors ran, and not everywhere what they drew: that is empty and zero.
    #[must_use]
    pub fn in_place_of_predictions(&self, plan: &Plan) -> Plan {
        let mut shown = plan.clone();
        for (stage, measured) in shown.stages.iter_mut().zip(&self.stages) {
            stage.time_alone_ns = measured.time_alone_ns;
            stage.time_ns = measured.time_ns;
        }
        for (task, measured) in shown.tasks.iter_mut().zip(&self.tasks) {
            task.start_ns = measured.start_ns;
            task.duration_ns = measured.duration_ns;
        }
        for (transfer, measured) in shown.transfers.iter_mut().zip(&self.transfers) {
            transfer.start_ns = measured.start_ns;
            transfer.duration_ns = measured.duration_ns;
        }
        shown.predicted.latency_ns = self.latency_ns;
        let interval = self.interval_ns.unwrap_or(self.latency_ns);
        shown.predicted.interval_ns = interval;
        shown.predicted.energy_active_nj = self.energy_nj.unwrap_or(Nanojoules::ZERO);
        for processor in &mut shown.processors {
            processor.operating_point.clear();
        }
        if let Some(saturated) = self.saturated_latency_ns {
            shown.predicted.saturated_latency_ns = saturated;
        }
        shown.admission_interval_ns = interval;
        shown
    }
}
