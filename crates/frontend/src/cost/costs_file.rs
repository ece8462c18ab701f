//! `costs.json`: costs of single operators, written out to be looked at and read back to replace what the profile says.
//!
//! People put their own measurements here, so every mistake is reported with its place, and a file for another network is refused.

use std::collections::BTreeMap;
use std::path::Path;

use paracompile_plan::plan::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::CostsFileError;
use super::kernel_costs::KernelCosts;
use super::overrides::CostOverrides;
use super::table::{CostTable, MOST_SECONDS};
use crate::ir::VerifiedGraph;
use crate::soc::reading::{At, Reading};
use crate::soc::{parse, read_text};

/// The largest file that is read: half a million entries.
const MOST_BYTES: u64 = 64 << 20;
const MOST_ENTRIES: usize = 4_000_000;
const MOST_DEPTH: usize = 64;
/// More symbolic dimensions than any network has.
const MOST_DIMS: usize = 10_000;
/// Whole numbers that JSON keeps exactly.
const EXTENTS: (f64, f64) = (0.0, 9_007_199_254_740_992.0);
/// Ten kilowatts for an hour.
const JOULES: (f64, f64) = (0.0, 3.6e7);

/// The file, schema 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostsFile {
    /// Always 1.
    pub schema: u32,
    /// SHA-256 of the network that the costs are for.
    pub graph_digest: String,
    /// What its symbolic dimensions were bound to, which the digest does not hold; absent for a network without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dims: BTreeMap<String, u64>,
    /// Costs, at most one for each operator and processor.
    pub entries: Vec<CostEntry>,
}

/// Cost of one operator on one processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostEntry {
    /// Index of the node in the file's top-level graph.
    pub node: u32,
    /// Path of node indices into functions or branches, absent for a top-level node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inside: Vec<u32>,
    /// Name of the operator's first output: for people, and needed where a node became several operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Name of the processor.
    pub processor: String,
    /// Duration in seconds, without slowdown by other processors.
    pub time_s: f64,
    /// Dynamic energy in joules; null for the duration times the profile's power.
    pub energy_j: Option<f64>,
    /// Where the duration comes from.
    pub source: Source,
}

/// Reads a file of measured costs; that its entries belong to a network and a chip is checked by [`CostTable::new`].
pub fn read_overrides(path: &Path) -> Result<CostOverrides, CostsFileError> {
    let text = read_text(path, MOST_BYTES)?;
    CostOverrides::from_json(&text, &path.display().to_string())
}

/// The costs of a table, by operator, then processor; read back, they give the same table.
pub fn costs_of(table: &CostTable, graph: &VerifiedGraph) -> CostsFile {
    let mut entries = Vec::new();
    for (id, op) in graph.ops.iter() {
        let costs = table.soc.processors.iter().zip(&table.operators[id]);
        for ((_, processor), cost) in costs {
            let Some(cost) = cost else { continue };
            entries.push(CostEntry {
                node: op.at.node,
                inside: op.at.inside.clone(),
                output: Some(op.at.output.clone()),
                processor: processor.name.clone(),
                time_s: cost.time.value(),
                energy_j: Some(cost.energy.value()),
                source: cost.source,
            });
        }
    }
    CostsFile {
        schema: 1,
        graph_digest: graph.digest.clone(),
        dims: graph.dims.clone(),
        entries,
    }
}

/// Writes a file of costs: completely or not at all.
pub fn write_costs(costs: &CostsFile, path: &Path) -> Result<(), CostsFileError> {
    Ok(paracompile_plan::write_json(path, costs)?)
}

/// The JSON Schema of `costs.json`, with a line break at the end: `docs/schema/costs.schema.json`.
///
/// # Panics
/// Never: a schema holds only strings, numbers, lists and objects with string keys.
pub fn costs_json_schema() -> String {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(CostsFile))
        .expect("a schema holds only strings, numbers, lists and objects with string keys");
    text.push('\n');
    text
}

impl CostOverrides {
    /// The costs that `text` says; `origin` is its name in messages.
    pub fn from_json(text: &str, origin: &str) -> Result<Self, CostsFileError> {
        let value = parse(text, MOST_BYTES, origin)?;
        let mut reading = Reading::default();
        let at = At::root(&value);
        if KernelCosts::is_one(&value) {
            let kernels = KernelCosts::read(&mut reading, &at);
            return if reading.problems.is_empty() {
                Ok(Self::of_kernels(kernels))
            } else {
                Err(CostsFileError::Invalid {
                    origin: origin.to_owned(),
                    problems: reading.problems,
                })
            };
        }
        let file = if reading.object(&at).is_some() && reading.is_schema_1(&at) {
            costs_file(&mut reading, &at)
        } else {
            None
        };
        match file {
            Some(file) if reading.problems.is_empty() => Ok(Self::of(file)),
            _ => Err(CostsFileError::Invalid {
                origin: origin.to_owned(),
                problems: reading.problems,
            }),
        }
    }
}

fn costs_file(reading: &mut Reading, at: &At<'_>) -> Option<CostsFile> {
    let digest = reading
        .field(at, "graph_digest")
        .and_then(|field| reading.text(&field));
    let dims = dims(reading, at);
    let list = reading.list(at, "entries", MOST_ENTRIES)?;
    let entries: Vec<_> = list
        .iter()
        .map(|entry| cost_entry(reading, entry))
        .collect();
    Some(CostsFile {
        schema: 1,
        graph_digest: digest?.to_owned(),
        dims: dims?,
        entries: entries.into_iter().collect::<Option<_>>()?,
    })
}

/// Bound dimensions; none if the field is absent.
fn dims(reading: &mut Reading, at: &At<'_>) -> Option<BTreeMap<String, u64>> {
    let Some(field) = at.optional("dims") else {
        return Some(BTreeMap::new());
    };
    let entries = reading.entries(&field, MOST_DIMS);
    let dims: Vec<_> = entries
        .iter()
        .map(|(name, extent)| Some(((*name).to_owned(), reading.count(extent, EXTENTS)?)))
        .collect();
    dims.into_iter().collect()
}

fn cost_entry(reading: &mut Reading, at: &At<'_>) -> Option<CostEntry> {
    let node = reading
        .field(at, "node")
        .and_then(|field| node_index(reading, &field));
    let inside: Option<Vec<u32>> = if at.optional("inside").is_some() {
        reading.list(at, "inside", MOST_DEPTH).and_then(|list| {
            let steps: Vec<_> = list.iter().map(|step| node_index(reading, step)).collect();
            steps.into_iter().collect()
        })
    } else {
        Some(Vec::new())
    };
    let output = match at.optional("output") {
        Some(field) if !field.value.is_null() => Some(reading.text(&field)?.to_owned()),
        _ => None,
    };
    let processor = reading
        .field(at, "processor")
        .and_then(|field| reading.text(&field));
    let time = reading.number_field(at, "time_s", Source::Assumed, (0.0, MOST_SECONDS));
    let energy = reading.field(at, "energy_j").and_then(|field| {
        if field.value.is_null() {
            return Some(None);
        }
        let energy = reading.number(&field, Source::Assumed, JOULES)?;
        Some(Some(energy.value))
    });
    let source = reading
        .field(at, "source")
        .and_then(|field| reading.source(&field));
    Some(CostEntry {
        node: node?,
        inside: inside?,
        output,
        processor: processor?.to_owned(),
        time_s: time?.value,
        energy_j: energy?,
        source: source?,
    })
}

fn node_index(reading: &mut Reading, at: &At<'_>) -> Option<u32> {
    let count = reading.count(at, (0.0, f64::from(u32::MAX)))?;
    u32::try_from(count).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_committed_schema_is_the_one_of_the_types() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/costs.schema.json");
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, costs_json_schema()).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == costs_json_schema(),
            "docs/schema/costs.schema.json is stale: run the tests with UPDATE_SCHEMAS=1"
        );
    }

    const COSTS: &str = r#"{"schema": 1, "graph_digest": "d", "entries": [
        {"node": 0, "processor": "cpu", "time_s": 0.5, "energy_j": null, "source": "measured"}
    ]}"#;

    fn problems(text: &str) -> Vec<String> {
        let error = CostOverrides::from_json(text, "costs.json").unwrap_err();
        let CostsFileError::Invalid { problems, .. } = error else {
            panic!("{error}");
        };
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_read_is_what_the_types_say() {
        let bound = COSTS.replacen("\"d\"", r#""d", "dims": {"batch": 2}"#, 1);
        for text in [COSTS, &bound] {
            let read = CostOverrides::from_json(text, "costs.json").unwrap();
            assert_eq!(*read.file().unwrap(), serde_json::from_str(text).unwrap());
        }
    }

    #[test]
    fn all_problems_come_at_once_with_their_places() {
        let text = r#"{"schema": 1, "dims": {"batch": 0.5}, "entries": [
            {"node": -1, "processor": "cpu", "time_s": -0.5, "energy_j": null, "source": "guess"},
            {"node": 0.5, "inside": 3, "processor": 7, "time_s": "NaN", "energy_j": -1, "source": "measured"},
            {}
        ]}"#;
        let found = problems(text);
        for place in [
            "graph_digest: is missing",
            "dims.batch: is 0.5; write a whole number",
            "entries[0].node: is -1",
            "entries[0].time_s: is -0.5",
            "entries[0].source: `guess`",
            "entries[1].node: is 0.5; write a whole number",
            "entries[1].inside: is a number; write a list",
            "entries[1].processor: is a number; write a string",
            "entries[1].time_s: is a string; write a number",
            "entries[1].energy_j: is -1",
            "entries[2].node: is missing",
            "entries[2].energy_j: is missing",
        ] {
            assert!(
                found.iter().any(|problem| problem.starts_with(place)),
                "{place} not in {found:#?}"
            );
        }
    }

    #[test]
    fn another_schema_is_refused_by_its_number() {
        let found = problems(&COSTS.replacen('1', "2", 1));
        assert_eq!(found, ["schema: is 2; this version reads schema 1"]);
    }

    #[test]
    fn files_are_written_completely_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("costs.json");
        let costs: CostsFile = serde_json::from_str(COSTS).unwrap();
        write_costs(&costs, &path).unwrap();
        assert_eq!(*read_overrides(&path).unwrap().file().unwrap(), costs);
        let impossible = path.join("costs.json");
        let error = write_costs(&costs, &impossible).unwrap_err();
        assert!(
            error.to_string().contains("costs.json/costs.json"),
            "{error}"
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
