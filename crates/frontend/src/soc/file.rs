//! The profile file, schema 1, as Rust types: what the JSON Schema is generated from and what writers of profiles fill.
//!
//! Reading goes through `verify` instead of these types' deserialisers, because that reports every problem with its place, and serde stops at the first.
//! A test holds the two readings together.

use std::collections::BTreeMap;

use paracompile_plan::OpClass;
use paracompile_plan::plan::{Layout, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A system-on-chip profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SocFile {
    /// Always 1.
    pub schema: u32,
    /// Name of the chip or board; also part of directory names.
    pub name: String,
    /// One sentence about it, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Name of the memory where network inputs start and outputs must end.
    pub io: String,
    /// Memories.
    pub memories: Vec<MemoryEntry>,
    /// Processors, at most 16; their order breaks ties.
    pub processors: Vec<ProcessorEntry>,
    /// Links between memories, and between layouts in one.
    pub links: Vec<LinkEntry>,
    /// Sets of processors that slow each other.
    pub contention: Vec<ContentionEntry>,
    /// The host that enqueues commands.
    pub host: HostEntry,
    /// The board around the processors.
    pub board: BoardEntry,
}

/// A memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryEntry {
    /// Name.
    pub name: String,
    /// Size in bytes; null if it limits nothing.
    pub bytes: Option<Number>,
}

/// A processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorEntry {
    /// Name: letters, digits, `-`, `_` and `.`; not `io`.
    pub name: String,
    /// What kind of processor it is.
    pub kind: Kind,
    /// The device that stands for it where plans are run, as `pararun run --map` names devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Name of the memory that it computes in.
    pub memory: String,
    /// Order of elements that it computes in.
    pub layout: Layout,
    /// The largest number of compute queues.
    pub compute_queues_max: Number,
    /// Slowdown of every task with 1, 2, … compute queues; the first is 1.
    pub sharing: Vec<Number>,
    /// Seconds that a task costs there beyond its kernels and the host's enqueueing, such as a call over a bus; nothing if absent. `simulate --host` and `--granularity auto` use it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatch_s: Option<Number>,
    /// Classes that cost nothing behind an anchor.
    pub fuses: Vec<OpClass>,
    /// Operating points; the first is the default.
    pub operating_points: Vec<OperatingPointEntry>,
}

/// A kind of processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// General-purpose cores.
    Cpu,
    /// Graphics processor.
    Gpu,
    /// Neural accelerator.
    Npu,
    /// Signal processor.
    Dsp,
}

/// A frequency and voltage, and what it brings: in full by `dynamic_w` and `models`, or as that of another point by `like` and two factors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperatingPointEntry {
    /// Name.
    pub name: String,
    /// Clock in hertz.
    pub hertz: Number,
    /// Supply voltage, for people and for choosing points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volts: Option<Number>,
    /// Watts while the processor is used, busy or not.
    pub static_w: Number,
    /// Name of a point of the same processor that is given in full; times and powers are its, times the factors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// Factor on the times of `like`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_factor: Option<Number>,
    /// Factor on the dynamic powers of `like`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_factor: Option<Number>,
    /// Extra watts while an operator of the class runs; absent beside `like`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dynamic_w: BTreeMap<OpClass, Number>,
    /// Time models, at most one for each class and element type; a class without one is not supported. Absent beside `like`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelEntry>,
}

/// Time of an operator of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEntry {
    /// The class.
    pub class: OpClass,
    /// The element type that the coefficients were found for, or `any`; an operator takes the model of the type that it computes in, else the nearest one, as `docs/cost-model.md` says.
    pub dtype: String,
    /// Names of features.
    pub features: Vec<String>,
    /// Seconds a unit of each feature.
    pub coefficients: Vec<Number>,
    /// How the terms combine.
    pub combine: Combine,
    /// Kernels that Winograd's algorithm runs; `square` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winograd: Option<WinogradKernels>,
    /// Least and largest value of each feature among the measured operators; an operator more than four times beyond counts as `estimated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Vec<[f64; 2]>>,
    /// Source of the plain numbers of this entry; `assumed` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Where the plain numbers of this entry come from, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How the terms of a model combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// They add up.
    Sum,
    /// The largest counts.
    Max,
}

/// Kernels that a processor runs by Winograd's algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WinogradKernels {
    /// None.
    None,
    /// 3×3.
    Square,
    /// 3×3, 1×3, 3×1, 1×7 and 7×1.
    Strips,
}

/// A directed link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkEntry {
    /// Name of the source memory.
    pub from: String,
    /// Name of the target memory; the source itself for a change of layout.
    pub to: String,
    /// Seconds before the first byte.
    pub latency_s: Number,
    /// Bandwidth in bytes a second, at least 1.
    pub bytes_per_s: Number,
    /// Extra seconds a byte where the layouts do not fit.
    pub convert_s_per_byte: Number,
    /// Watts while it moves.
    pub power_w: Number,
    /// Source of the plain numbers of this entry; `assumed` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Where the plain numbers of this entry come from, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Processors that slow each other while all are in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContentionEntry {
    /// Names of the processors.
    pub set: Vec<String>,
    /// Factor of at least 1 for each member that is slowed.
    pub factor: BTreeMap<String, Number>,
    /// Source of the plain numbers of this entry; `assumed` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Where the plain numbers of this entry come from, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The host that enqueues commands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostEntry {
    /// Seconds to enqueue a command.
    pub enqueue_s: Number,
}

/// The board around the processors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoardEntry {
    /// Watts of everything besides the processors.
    pub base_w: Number,
}

/// A number, plain or with its source; a plain one has the source of its entry, or is `assumed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Number {
    /// The number alone.
    Plain(f64),
    /// The number and where it comes from.
    Sourced {
        /// The number.
        value: f64,
        /// Where it comes from.
        source: Source,
        /// More about it, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
}

/// The JSON Schema of profiles, with a line break at the end: `docs/schema/soc.schema.json`.
///
/// # Panics
/// Never: a schema holds only strings, numbers, lists and objects with string keys.
pub fn json_schema() -> String {
    let schema = schemars::schema_for!(SocFile);
    let mut text = serde_json::to_string_pretty(&schema)
        .expect("a schema holds only strings, numbers, lists and objects with string keys");
    text.push('\n');
    text
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::soc::{Feature, Soc};

    #[test]
    fn the_committed_schema_is_the_one_of_the_types() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/soc.schema.json");
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, json_schema()).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == json_schema(),
            "docs/schema/soc.schema.json is stale: run the tests with UPDATE_SCHEMAS=1"
        );
    }

    /// The example of the document: people copy it.
    pub(in crate::soc) fn example() -> &'static str {
        let document = include_str!("../../../../docs/soc-profile.md");
        document
            .split("```")
            .find_map(|part| part.strip_prefix("json\n"))
            .unwrap()
    }

    #[test]
    fn the_documented_example_loads_and_is_what_the_types_say() {
        let soc = Soc::from_json(example(), "docs/soc-profile.md").unwrap();
        let file: SocFile = serde_json::from_str(example()).unwrap();
        assert_eq!(soc.name, file.name);
        assert_eq!(soc.processors.len(), file.processors.len());
        assert_eq!(soc.links.len(), file.links.len());
        let written = serde_json::to_string(&file).unwrap();
        let again = Soc::from_json(&written, "written").unwrap();
        assert_eq!(
            format!("{:?}", again.processors),
            format!("{:?}", soc.processors)
        );
        assert_eq!(format!("{:?}", again.links), format!("{:?}", soc.links));
    }

    #[test]
    fn the_document_names_every_class_and_feature() {
        let document = include_str!("../../../../docs/soc-profile.md");
        let classes = OpClass::ALL.map(OpClass::name);
        let features = Feature::ALL.map(Feature::name);
        for name in classes.iter().chain(&features) {
            assert!(document.contains(&format!("`{name}`")), "{name}");
        }
    }
}
