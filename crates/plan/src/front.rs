//! `front.json`, schema 1: the Pareto front of a compile run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Nanoseconds;
use crate::plan::{Label, StoppedBy, Strategy};

/// Everything that a compile run found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Front {
    /// Always [`crate::plan::SCHEMA`].
    pub schema: u32,
    /// Model name.
    pub model: String,
    /// Profile name.
    pub soc: String,
    /// The effort level: `quick`, `normal` or `thorough`.
    pub effort: String,
    /// Why the search stopped: the worst of its parts.
    pub stopped_by: StoppedBy,
    /// Complete mappings that the last filter saw.
    pub candidates: u64,
    /// How many of them another one dominates.
    pub dominated: u64,
    /// What those mappings are, for pictures; absent in files that do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud: Option<Cloud>,
    /// What the front is over.
    pub objectives: Vec<Objective>,
    /// Whether energy was searched for or fell out of the mappings chosen by time.
    pub energy: EnergyAxis,
    /// By what share of its energy a plan that was not found, no worse otherwise, may be better, because trade-offs were thinned on the way; 0 where nothing was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub energy_slack: f64,
    /// The operating points that were tried; absent where each processor has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operating_points: Option<PointsSearched>,
    /// The numbers of compute queues that stages were searched with, by processor; without those that have one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<String, Vec<u32>>,
    /// How much of a kernel graph a task is, and what else was tried; absent where nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granularity: Option<FrontGranularity>,
    /// What the user demanded of every plan, as options of the command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// Relative width of the energy boxes within which one plan stands for others; 0 is exact.
    pub epsilon: f64,
    /// The front, by latency.
    pub plans: Vec<FrontPlan>,
    /// The fastest plan of each strategy, dominated or not.
    pub best_by_strategy: BTreeMap<String, BestOfStrategy>,
    /// The plan of each strategy with the least interval, dominated or not.
    #[serde(default)]
    pub most_frames_by_strategy: BTreeMap<String, BestOfStrategy>,
    /// Baselines, judged by the same rules.
    pub baselines: Vec<Baseline>,
    /// File of the recommended plan.
    pub recommended: String,
    /// Why that one: cut, processors, what limits it.
    pub why: String,
}

/// The granularity of the tasks of a kernel graph, and what it was chosen from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrontGranularity {
    /// What was asked for: a level, or `auto`.
    pub asked: String,
    /// The level or rule that was chosen.
    pub rule: String,
    /// Its tasks.
    pub tasks: u64,
    /// How many groups of kernels no processor runs all of; those kernels are tasks of their own.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub left_apart: u64,
    /// All that were tried, from fine to coarse within the levels and behind them.
    pub candidates: Vec<GranularityTried>,
}

/// A granularity that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GranularityTried {
    /// All rules that lead to its tasks.
    pub rules: Vec<String>,
    /// Its tasks.
    pub tasks: u64,
    /// Simulated latency of its recommended plan with the host's time; absent where there is no mapping, or none was found in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<Nanoseconds>,
    /// Simulated interval of that plan with the host's time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<Nanoseconds>,
}

/// The mappings that the last filter saw, the front's included, thinned to a bounded number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cloud {
    /// Relative width of the boxes, in each objective, of which one mapping each is listed; 0 lists all that differ.
    pub width: f64,
    /// By latency, then interval, energy and strategy.
    pub mappings: Vec<CloudMapping>,
}

/// A mapping without a plan file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CloudMapping {
    /// Latency of one frame alone.
    pub latency_s: f64,
    /// Initiation interval.
    pub interval_s: f64,
    /// Energy a frame of the processors in use.
    pub energy_active_j: f64,
    /// Its shape.
    pub strategy: Strategy,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde asks for"
)]
fn is_nothing(count: &u64) -> bool {
    *count == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde asks for"
)]
fn is_zero(share: &f64) -> bool {
    *share <= 0.0
}

/// Operating points that a search tried, by processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PointsSearched {
    /// In stages on one processor: all that no other point beats.
    pub alone: BTreeMap<String, Vec<String>>,
    /// In stages on several: those of its hull of time and energy, all combinations.
    pub together: BTreeMap<String, Vec<String>>,
}

/// An axis of the front.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// `latency_s`.
    Latency,
    /// `interval_s`.
    Interval,
    /// `energy_active_j`.
    EnergyActive,
}

/// How the energy axis came about (rule M9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EnergyAxis {
    /// Stage mappings are chosen by time; energy is what they happen to take.
    ByProduct,
    /// Stage mappings are the exact (time, energy) front.
    Objective,
}

/// Figures of one plan, printed from its integers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Latency of one frame alone.
    pub latency_s: f64,
    /// Latency of the 50th frame of an unpaced stream.
    pub saturated_latency_s: f64,
    /// Latency in a stream paced at the interval.
    pub paced_latency_s: f64,
    /// The interval at which frames are admitted: the initiation interval, or longer where a limit on power asks for it.
    pub interval_s: f64,
    /// Its reciprocal.
    pub throughput_fps: f64,
    /// Energy a frame of the processors in use.
    pub energy_active_j: f64,
    /// The same and the board's base power.
    pub energy_board_j: f64,
    /// Peak use of each memory, in bytes.
    pub peak_memory: BTreeMap<String, u64>,
    /// `1 − bound / value` of the plan's proof.
    pub gap: f64,
    /// Stages in order.
    pub stages: Vec<FrontStage>,
}

/// One stage of a plan in the front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrontStage {
    /// Processor names.
    pub processors: Vec<String>,
    /// Their operating points, in the same order; absent where each is at the first of its profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operating_points: Vec<String>,
    /// How many compute queues they have, in the same order; absent where each has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<u32>,
    /// How many operators of the model its tasks run.
    pub operators: u64,
    /// Stage time under the plan's processors.
    pub time_s: f64,
}

impl FrontStage {
    /// Its processors for people, with their operating points where these are listed and their queues where there are several: `big@1200MHz+gpu×3`.
    pub fn place(&self) -> String {
        let processors = self.processors.iter().enumerate();
        let point = |index| self.operating_points.get(index).map(String::as_str);
        let queues = |index| self.queues.get(index).copied().unwrap_or(1);
        place(processors.map(|(index, name)| (name.as_str(), point(index), queues(index))))
    }
}

/// Processors for people, each with its operating point if that is to be told, and with the number of its compute queues if there are several.
pub fn place<'a>(processors: impl Iterator<Item = (&'a str, Option<&'a str>, u32)>) -> String {
    let names: Vec<String> = processors
        .map(|(name, point, queues)| {
            let point = point.map(|point| format!("@{point}")).unwrap_or_default();
            let queues = if queues > 1 {
                format!("×{queues}")
            } else {
                String::new()
            };
            format!("{name}{point}{queues}")
        })
        .collect();
    names.join("+")
}

/// A plan of the front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrontPlan {
    /// Path relative to `front.json`.
    pub file: String,
    /// Its shape.
    pub strategy: Strategy,
    /// What it is best at.
    pub labels: Vec<Label>,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The best plan of a strategy: least latency or least interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BestOfStrategy {
    /// Path relative to `front.json`.
    pub plan: Option<String>,
    /// Whether it is missing from the front.
    pub dominated: bool,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A baseline plan (rule M13).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// `single:<processor>`, `heft`, ….
    pub name: String,
    /// Path relative to `front.json`.
    pub file: String,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}
