//! The chip as later steps see it; `load` makes it from a profile file and checks every number.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::plan::{Layout, Source};
use paracompile_plan::{Bytes, OpClass, Seconds, Slowdown, Watts};

use super::{Location, LocationId, Winograd};
use crate::arena::{Arena, Id};

/// Index of a processor in its chip.
pub type ProcessorId = Id<Processor>;
/// Index of a memory in its chip.
pub type MemoryId = Id<Memory>;

/// A checked system-on-chip profile.
#[derive(Clone, Debug)]
pub struct Soc {
    /// Profile name.
    pub name: String,
    /// SHA-256 of the profile, in hexadecimal, independent of white space and key order.
    pub digest: String,
    /// Where network inputs start and outputs end.
    pub io: MemoryId,
    /// Memories in profile order.
    pub memories: Arena<Memory>,
    /// Processors in profile order, at most [`super::ProcessorSet::CAPACITY`].
    pub processors: Arena<Processor>,
    /// Links in profile order, at most one for each (from, to); every pair of memories that a tensor may have to cross has one.
    pub links: Vec<Link>,
    /// Contention in profile order.
    pub contention: Vec<Contention>,
    /// Host time to enqueue a command.
    pub enqueue: Seconds,
    /// Power of the board besides the processors.
    pub base: Watts,
    /// Whether every number is assumed.
    pub synthetic: bool,
    /// Where tensors can be, see [`Location`].
    pub locations: Arena<Location>,
    /// Location of network inputs and outputs.
    pub io_location: LocationId,
}

/// A memory.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Name.
    pub name: String,
    /// Size, if limited.
    pub limit: Option<Bytes>,
}

/// A processor.
#[derive(Clone, Debug)]
pub struct Processor {
    /// Name; `io` is taken.
    pub name: String,
    /// `cpu`, `gpu`, `npu` or `dsp`.
    pub kind: String,
    /// Memory that it computes in.
    pub memory: MemoryId,
    /// Layout that it computes in.
    pub layout: Layout,
    /// Where its operators read and write.
    pub home: LocationId,
    /// `sharing[q − 1]`: slowdown of tasks with `q` compute queues; the first is one.
    pub sharing: Vec<Slowdown>,
    /// What a task costs beyond its kernels and the host's enqueueing.
    pub dispatch: Seconds,
    /// Classes that cost nothing behind an anchor.
    pub fuses: Vec<OpClass>,
    /// Operating points in profile order; at least one.
    pub operating_points: Vec<OperatingPoint>,
}

/// A frequency and voltage.
#[derive(Clone, Debug)]
pub struct OperatingPoint {
    /// Name.
    pub name: String,
    /// Clock.
    pub hertz: f64,
    /// Supply voltage, if the profile states it.
    pub volts: Option<f64>,
    /// Power while the processor is used, busy or not.
    pub static_power: Watts,
    /// Extra power while an operator of the class runs.
    pub dynamic_power: BTreeMap<OpClass, Watts>,
    /// Where these extra powers come from.
    pub power_sources: BTreeSet<Source>,
    /// Time models, at least one for each class that is supported and at most one for each of its element types, in profile order.
    pub models: BTreeMap<OpClass, Vec<ClassModel>>,
}

/// Time of an operator from its features.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassModel {
    /// The element type that it was found for, or `any`.
    pub dtype: String,
    /// Names of features of [`crate::ir::Work`], see `cost::features`.
    pub features: Vec<String>,
    /// Seconds a unit of each feature.
    pub coefficients: Vec<f64>,
    /// Whether the largest term counts, or their sum.
    pub max: bool,
    /// Kernels that the processor runs by Winograd's algorithm.
    pub winograd: Winograd,
    /// Range of each feature's values that the coefficients were found on; empty where the profile does not say.
    pub seen: Vec<[f64; 2]>,
    /// Where the coefficients come from.
    pub source: Source,
}

/// A way between two memories, or between two layouts in one.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Source memory.
    pub from: MemoryId,
    /// Target memory.
    pub to: MemoryId,
    /// Time before the first byte.
    pub latency: Seconds,
    /// Bandwidth.
    pub bytes_per_second: f64,
    /// Extra time a byte where layouts do not fit.
    pub convert_seconds_per_byte: Seconds,
    /// Power while it moves.
    pub power: Watts,
    /// Where the figures come from.
    pub source: Source,
}

/// Processors that slow each other when all are in use.
#[derive(Clone, Debug)]
pub struct Contention {
    /// The set.
    pub set: super::ProcessorSet,
    /// Factors of members.
    pub factor: BTreeMap<ProcessorId, Slowdown>,
}
