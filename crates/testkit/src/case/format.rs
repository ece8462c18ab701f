//! The JSON of a case; `solver_tests/README.md` is the prose.
//!
//! All quantities are integers in the units of rule M1, so that a case leaves nothing to rounding.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use paracompile_plan::OpClass;
use paracompile_plan::plan::Layout;
use serde::{Deserialize, Serialize};

use super::CaseError;

/// A tiny network on a tiny chip, limits, and what must come out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The arithmetic behind the expectation, for whoever reads a failure.
    pub why: String,
    /// Who says so.
    pub source: Origin,
    /// The network.
    pub graph: Network,
    /// The chip.
    pub soc: Soc,
    /// What the compiler is asked for.
    #[serde(default, skip_serializing_if = "Limits::is_default")]
    pub limits: Limits,
    /// What must come out.
    pub expect: Expectation,
}

/// Where an expected value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Arithmetic that a person can follow in `why`.
    Hand,
    /// Enumeration.
    BruteForce,
    /// A published figure, cited in `why`.
    Paper,
}

/// A network; operators in topological order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// What a frame provides.
    pub inputs: Vec<Tensor>,
    /// Operators, every one after those that it reads from.
    pub operators: Vec<Operator>,
    /// Names of what a frame must leave.
    pub outputs: Vec<String>,
}

/// A tensor where it appears first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tensor {
    /// Unique name.
    pub name: String,
    /// Size.
    pub bytes: u64,
}

/// An operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    /// Unique name.
    pub name: String,
    /// What it costs like; [`OpClass::Other`], which nothing fuses, where absent.
    #[serde(default = "other", skip_serializing_if = "is_other")]
    pub class: OpClass,
    /// Names of the activations that it reads.
    #[serde(default)]
    pub reads: Vec<String>,
    /// What it writes.
    pub writes: Vec<Tensor>,
    /// Bytes of its weights.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub weights: u64,
    /// Bytes of scratch space on every processor.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub workspace: u64,
    /// Duration on each processor that supports it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub time_ns: BTreeMap<String, u64>,
    /// Dynamic energy; zero on processors that are not listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub energy_nj: BTreeMap<String, u64>,
    /// Set where it is free: no task, no processor, no move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<Free>,
}

/// Why an operator is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Free {
    /// Another name or shape of its first operand.
    View,
    /// Its operands are written straight into their places.
    ConcatInPlace,
}

/// A chip.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Soc {
    /// The memory where inputs start and outputs end.
    pub io: String,
    /// Memories.
    pub memories: Vec<Memory>,
    /// Processors.
    pub processors: Vec<Processor>,
    /// Links; at most one for each (from, to).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Slowdowns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contention: Vec<Contention>,
    /// Power of the board besides the processors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub base_mw: u64,
}

/// A memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Name.
    pub name: String,
    /// Size, if limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Name.
    pub name: String,
    /// Its memory.
    pub memory: String,
    /// Its layout; `any` where absent.
    #[serde(default = "any", skip_serializing_if = "is_any")]
    pub layout: Layout,
    /// Power while it is used, busy or not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub static_mw: u64,
    /// Classes that cost nothing behind an anchor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fuses: Vec<OpClass>,
    /// How much longer everything takes with one, two, … compute queues, in thousandths; one queue where absent.
    #[serde(default = "one_queue", skip_serializing_if = "is_one_queue")]
    pub sharing: Vec<u32>,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Source memory.
    pub from: String,
    /// Target memory.
    pub to: String,
    /// Time before the first byte.
    #[serde(default)]
    pub latency_ns: u64,
    /// Time a byte.
    #[serde(default)]
    pub ns_per_byte: u64,
    /// Extra time a byte where layouts do not fit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub convert_ns_per_byte: u64,
    /// Power while it moves.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub power_mw: u64,
}

/// Processors that slow each other when all are in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// Processor names.
    pub set: Vec<String>,
    /// Factor, in thousandths, of each member that is slowed.
    pub factor: BTreeMap<String, u32>,
}

/// What the compiler is asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The most stages of a pipeline; as many as there are processors where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_stages: Option<usize>,
    /// The processors offered; all where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<Vec<String>>,
    /// How stages are mapped; `auto` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapping: Option<Mapping>,
    /// Where the oracle may cut; the compiler chooses for itself.
    pub cuts: Cuts,
}

impl Limits {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How a stage is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mapping {
    /// Branches.
    Coarse,
    /// Operators.
    Fine,
    /// Whichever serves.
    Auto,
}

/// Where a pipeline may be cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cuts {
    /// Behind every gate.
    #[default]
    Gates,
    /// At these positions in the order of the operators that are not free.
    Positions(Vec<usize>),
    /// Anywhere: a stage is any difference of two down-sets.
    EveryDownSet,
}

/// Whether there is an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// There is, and it is proven.
    Optimal,
    /// There is none; `error` says what the message must contain.
    Error,
}

/// What must come out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Whether there is an answer.
    pub status: Status,
    /// Texts that the error must contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub error: Vec<String>,
    /// Least latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<u64>,
    /// Least interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// Least active energy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_active_nj: Option<u64>,
    /// The front: (latency, interval, active energy) of each point, ascending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front: Option<Vec<[u64; 3]>>,
    /// Points of the front that are looked at closely, found by the processors of their stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<Figures>,
    /// What rule M6 says of streams through stages of given times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamExpectation>,
}

/// Figures of one plan of the front; what is absent is not compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Figures {
    /// Processor names, stage by stage, in profile order.
    pub processors: Vec<Vec<String>>,
    /// `Σ T_s(S)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<u64>,
    /// `max T_s(A)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// Load of the busiest processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_bound_ns: Option<u64>,
    /// Of the 50th frame of an unpaced stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturated_latency_ns: Option<u64>,
    /// The same, paced at the interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paced_latency_ns: Option<u64>,
    /// Energies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// `T_s(S)` of each stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_alone_ns: Option<Vec<u64>>,
    /// `T_s(A)` of each stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<Vec<u64>>,
    /// How many transfers the plan has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<usize>,
    /// Copies of each buffer that crosses stages, ascending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crossing_copies: Option<Vec<u64>>,
    /// Processor of each operator that is named here.
    pub placement: BTreeMap<String, String>,
    /// Peak use of each memory that is named here.
    pub peak_bytes: BTreeMap<String, u64>,
}

/// Energies of one frame (rule M11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Energy {
    /// Of operators and moves, under `A`.
    pub dynamic_nj: u64,
    /// With static power of the used processors.
    pub active_nj: u64,
    /// With the board.
    pub board_nj: u64,
}

/// A stream of 50 frames through stages of given times, each buffer crossing one boundary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamExpectation {
    /// `T_s(A)` of each stage.
    pub stages: Vec<u64>,
    /// Copies of the buffer between two stages.
    pub copies: u64,
    /// Time between the last two frames.
    pub period_ns: u64,
    /// Latency of the 50th frame.
    pub saturated_latency_ns: u64,
    /// Latency of the 50th frame when one is admitted every `max T_s(A)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paced_latency_ns: Option<u64>,
}

impl Case {
    /// Reads a case; an error says which file.
    pub fn read(path: &Path) -> Result<Self, CaseError> {
        let text = std::fs::read_to_string(path).map_err(|source| CaseError::Read {
            path: path.to_owned(),
            source,
        })?;
        serde_json::from_str(&text).map_err(|source| CaseError::Json {
            path: path.to_owned(),
            source,
        })
    }

    /// The text of a case file: what a random case that found a fault is committed as.
    ///
    /// # Panics
    /// Never: a case has neither maps with other keys than strings nor numbers that JSON lacks.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("cases are made of strings and integers")
    }
}

/// Every case file below a folder, in order of path.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, CaseError> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let unreadable = |source| CaseError::Read {
            path: folder.clone(),
            source,
        };
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn other() -> OpClass {
    OpClass::Other
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes references to predicates"
)]
fn is_other(class: &OpClass) -> bool {
    *class == OpClass::Other
}

fn any() -> Layout {
    Layout::Any
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes references to predicates"
)]
fn is_any(layout: &Layout) -> bool {
    *layout == Layout::Any
}

fn one_queue() -> Vec<u32> {
    vec![1000]
}

fn is_one_queue(sharing: &[u32]) -> bool {
    sharing == [1000]
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes references to predicates"
)]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
