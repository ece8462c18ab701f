//! What the page holds, as the script reads it.
//!
//! Times are integers in nanoseconds, energies in nanojoules, sizes in bytes.
//! What repeats from plan to plan (names, groups of operators) stands once and is referred to by its index; lists of tasks are columns, because a name a value would be most of the file.

use serde::Serialize;

/// Everything but the details of plans, which stand in a list of their own.
#[derive(Debug, Serialize)]
pub(super) struct Page<'a> {
    pub(super) model: ModelHead<'a>,
    pub(super) soc: SocHead<'a>,
    /// `quick`, `normal` or `thorough`.
    pub(super) effort: &'a str,
    /// Of paracompile.
    pub(super) version: &'static str,
    /// What is proven, in a sentence.
    pub(super) proof: String,
    /// Sentences about the search.
    pub(super) search: Vec<String>,
    /// Sentences that warn.
    pub(super) notes: &'a [String],
    /// Index of the recommended plan.
    pub(super) recommended: usize,
    /// Why that one.
    pub(super) why: &'a str,
    /// In the order of the profile.
    pub(super) processors: Vec<&'a str>,
    pub(super) memories: Vec<Memory<'a>>,
    pub(super) operators: Operators<'a>,
    /// Tensors that are moved.
    pub(super) tensors: Vec<String>,
    /// The front, then mappings that are the best of their shape, then baselines.
    pub(super) plans: Vec<PlanHead<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct ModelHead<'a> {
    pub(super) name: &'a str,
    pub(super) digest: &'a str,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct SocHead<'a> {
    pub(super) name: &'a str,
    pub(super) base_mw: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Memory<'a> {
    pub(super) name: &'a str,
    /// Its size, where it is known and limited.
    pub(super) limit: Option<u64>,
}

/// What plans say about operators, once for all plans.
#[derive(Debug, Serialize)]
pub(super) struct Operators<'a> {
    /// Names of first outputs, shortened where they are very long.
    pub(super) names: Vec<String>,
    /// Nodes in the model file.
    pub(super) nodes: Vec<u32>,
    /// Names of the classes that occur; empty where they are not known.
    pub(super) classes: Vec<&'a str>,
    /// The class of each operator; empty where they are not known.
    pub(super) class: Vec<usize>,
    /// Operators that run as one task, anchor first.
    pub(super) groups: Vec<Vec<usize>>,
    /// For each group, and each processor at an operating point, the sources of its time as a sum of powers of two, in the order of `provenance`; empty where they are not known.
    pub(super) sources: Vec<Vec<u8>>,
}

/// Figures of a plan.
#[derive(Debug, Serialize)]
pub(super) struct PlanHead<'a> {
    /// What the address of the page names: a place on the front, or the name of a baseline.
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) file: &'a str,
    pub(super) strategy: &'static str,
    pub(super) labels: Vec<&'static str>,
    pub(super) latency: u64,
    pub(super) saturated: u64,
    pub(super) paced: u64,
    pub(super) interval: u64,
    /// The interval if frames overlapped inside stages.
    pub(super) bound: u64,
    pub(super) active: u64,
    pub(super) board: u64,
    pub(super) proof: Proof<'a>,
    pub(super) memory: Vec<MemoryUse>,
    /// Shares: measured, fitted, estimated, borrowed, assumed.
    pub(super) provenance: [f64; 5],
    pub(super) processors: Vec<Processor<'a>>,
    pub(super) stages: Vec<Stage<'a>>,
    pub(super) tasks: usize,
    pub(super) moves: usize,
    /// Sentences.
    pub(super) why: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Front,
    /// The fastest of its shape, or that with most frames, and not on the front.
    Best,
    Baseline,
}

#[derive(Debug, Serialize)]
pub(super) struct Proof<'a> {
    pub(super) value: u64,
    pub(super) bound: u64,
    pub(super) method: &'a str,
    pub(super) scope: &'a str,
    pub(super) stopped: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct MemoryUse {
    /// Index in `memories`.
    pub(super) memory: usize,
    pub(super) weights: u64,
    pub(super) peak: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Processor<'a> {
    /// Index in `processors`.
    pub(super) id: usize,
    pub(super) point: &'a str,
    /// The column of [`Operators::sources`].
    pub(super) sources: usize,
    pub(super) static_mw: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Stage<'a> {
    /// Indices in `processors`.
    pub(super) processors: Vec<usize>,
    pub(super) alone: u64,
    pub(super) time: u64,
    pub(super) proof: Proof<'a>,
    /// The operator that it begins with, in `operators`; none for a stage without tasks.
    pub(super) first: Option<usize>,
    /// How long its tasks keep each of `processors`, summed.
    pub(super) busy: Vec<u64>,
    /// How long at least one of its moves is under way.
    pub(super) moving: u64,
    pub(super) tasks: usize,
    pub(super) operators: usize,
}

/// A plan in time.
#[derive(Debug, Serialize)]
pub(super) struct Detail {
    /// For each queue with tasks: its processor.
    pub(super) queues: Vec<usize>,
    pub(super) tasks: Tasks,
    pub(super) moves: Moves,
    /// Steps of the critical path in time: a task `t` as `t`, a move `m` as `-1 - m`.
    pub(super) critical: Vec<i64>,
    /// What each step waited for, a place in the list of the script.
    pub(super) waited: Vec<usize>,
}

/// Columns, one entry a task.
#[derive(Debug, Default, Serialize)]
pub(super) struct Tasks {
    pub(super) stage: Vec<u32>,
    pub(super) group: Vec<usize>,
    /// Index in `queues`.
    pub(super) queue: Vec<usize>,
    /// Start after the end of the task before on its queue in its stage, or after the start of the stage.
    pub(super) gap: Vec<i64>,
    pub(super) time: Vec<u64>,
    pub(super) energy: Vec<u64>,
    /// What it waits for: the task `t` places before it as `t`, a move `m` as `-1 - m`.
    pub(super) waits: Vec<Vec<i64>>,
}

/// Columns, one entry a move.
#[derive(Debug, Default, Serialize)]
pub(super) struct Moves {
    pub(super) stage: Vec<u32>,
    /// Index in `tensors`.
    pub(super) tensor: Vec<usize>,
    /// Indices in `memories`.
    pub(super) from: Vec<usize>,
    pub(super) to: Vec<usize>,
    pub(super) bytes: Vec<u64>,
    pub(super) start: Vec<u64>,
    pub(super) time: Vec<u64>,
    pub(super) energy: Vec<u64>,
    /// Whether the order of elements changes on the way.
    pub(super) converts: Vec<u8>,
    /// The task of the same stage that writes the tensor, or -1.
    pub(super) writer: Vec<i64>,
}
