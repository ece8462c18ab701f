//! Measured costs on top of a profile: which operator and processor each of them is for.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::plan::Source;
use paracompile_plan::{Joules, OpClass, Seconds};

use super::costs_file::{CostEntry, CostsFile};
use super::error::{CostError, OverrideDefect, OverrideProblem};
use super::kernel_costs::KernelCosts;
use crate::ir::{OpId, VerifiedGraph};
use crate::soc::{Processor, ProcessorId, Soc, near_matches, sha256_hex, shown};

/// Measured costs that replace what a profile says; the default replaces nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostOverrides {
    file: Option<CostsFile>,
    /// Costs of kernels by function.
    kernels: KernelCosts,
    /// Processors that the chip has but that are not chosen.
    left_out: BTreeSet<String>,
}

/// A measured cost, found to belong to an operator and a processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overriding {
    /// Its entry; absent for a kernel's.
    index: Option<usize>,
    pub(super) time: Seconds,
    pub(super) energy: Option<Joules>,
    pub(super) source: Source,
}

impl Overriding {
    /// What to say if neither its entry nor the profile knows an energy; `None` for a kernel's, which has no entry.
    pub(super) fn no_energy(
        &self,
        processor: &Processor,
        class: OpClass,
    ) -> Option<OverrideProblem> {
        Some(OverrideProblem {
            index: self.index?,
            defect: OverrideDefect::NoEnergy {
                processor: processor.name.clone(),
                class,
            },
        })
    }
}

impl CostOverrides {
    /// What this file says.
    pub fn of(file: CostsFile) -> Self {
        Self {
            file: Some(file),
            ..Self::default()
        }
    }

    /// What this table of kernels says.
    pub fn of_kernels(kernels: KernelCosts) -> Self {
        Self {
            kernels,
            ..Self::default()
        }
    }

    /// The file, if there is one.
    pub fn file(&self) -> Option<&CostsFile> {
        self.file.as_ref()
    }

    /// The same costs for a chip of which only the processors of `chosen` remain: those of the others are passed over instead of refused.
    /// The digest stays, as that of a restricted chip does.
    #[must_use]
    pub fn restricted(mut self, whole: &Soc, chosen: &Soc) -> Self {
        let dropped = whole
            .processors
            .iter()
            .map(|(_, processor)| &processor.name)
            .filter(|name| chosen.processor(name).is_none());
        self.left_out.extend(dropped.cloned());
        self
    }

    /// The digest of a profile with these costs on top.
    pub(super) fn digest(&self, profile: &str) -> String {
        let entries = self.file.as_ref().map_or(&[][..], |file| &file.entries);
        let mut lines: Vec<String> = entries
            .iter()
            .map(|entry| {
                serde_json::to_string(entry)
                    .expect("costs are strings and finite numbers under string keys")
            })
            .collect();
        lines.extend(self.kernels.lines());
        if lines.is_empty() {
            return profile.to_owned();
        }
        lines.sort_unstable();
        sha256_hex(format!("{profile}\n{}\n", lines.join("\n")).as_bytes())
    }

    /// Which operator and processor each cost is for; all that belong nowhere at once.
    pub(super) fn resolve(
        &self,
        graph: &VerifiedGraph,
        soc: &Soc,
    ) -> Result<BTreeMap<(OpId, ProcessorId), Overriding>, CostError> {
        let mut resolved: BTreeMap<(OpId, ProcessorId), Overriding> = BTreeMap::new();
        for (id, processor, time) in self.kernels.resolve(graph, soc)? {
            let overriding = Overriding {
                index: None,
                time,
                energy: None,
                source: Source::Measured,
            };
            resolved.insert((id, processor), overriding);
        }
        let Some(file) = &self.file else {
            return Ok(resolved);
        };
        if file.graph_digest != graph.digest {
            return Err(CostError::OtherGraph {
                expected: graph.digest.clone(),
                found: shown(&file.graph_digest),
            });
        }
        if file.dims != graph.dims {
            return Err(CostError::OtherDims {
                expected: graph.dims.clone(),
                found: file.dims.clone(),
            });
        }
        let mut at_node: BTreeMap<(u32, &[u32]), Vec<OpId>> = BTreeMap::new();
        for (id, op) in graph.ops.iter() {
            let place = (op.at.node, op.at.inside.as_slice());
            at_node.entry(place).or_default().push(id);
        }
        let mut problems = Vec::new();
        for (index, entry) in file.entries.iter().enumerate() {
            let here = at_node.get(&(entry.node, entry.inside.as_slice()));
            let operator = operator(entry, here.map_or(&[], Vec::as_slice), graph);
            let processor = soc.processor(&entry.processor);
            let is_left_out = processor.is_none() && self.left_out.contains(&entry.processor);
            let mut report = |defect| problems.push(OverrideProblem { index, defect });
            if processor.is_none() && !is_left_out {
                let known = soc.processors.iter().map(|(_, known)| known.name.as_str());
                report(OverrideDefect::UnknownProcessor {
                    processor: entry.processor.clone(),
                    near: near_matches(&entry.processor, known),
                });
            }
            let overriding = Seconds::new(entry.time_s).map(|time| Overriding {
                index: Some(index),
                time,
                energy: entry.energy_j.and_then(Joules::new),
                source: entry.source,
            });
            match (operator, processor, overriding) {
                (Err(defect), _, _) => report(defect),
                (Ok(operator), Some(processor), Some(overriding)) => {
                    let earlier = resolved.get(&(operator, processor));
                    match earlier.and_then(|earlier| earlier.index) {
                        Some(first) => report(OverrideDefect::Duplicate { first }),
                        None => {
                            resolved.insert((operator, processor), overriding);
                        }
                    }
                }
                (Ok(_), _, _) => {}
            }
        }
        if problems.is_empty() {
            Ok(resolved)
        } else {
            Err(CostError::Overrides(problems))
        }
    }
}

/// The operator that an entry is for, among those `here` at its node.
fn operator(
    entry: &CostEntry,
    here: &[OpId],
    graph: &VerifiedGraph,
) -> Result<OpId, OverrideDefect> {
    let written = || {
        here.iter()
            .map(|&id| graph.ops[id].at.output.clone())
            .collect()
    };
    let found = match (&entry.output, here) {
        (_, []) => {
            return Err(OverrideDefect::UnknownNode {
                node: entry.node,
                inside: entry.inside.clone(),
            });
        }
        (None, [only]) => *only,
        (None, _) => {
            return Err(OverrideDefect::Ambiguous {
                node: entry.node,
                written: written(),
            });
        }
        (Some(output), _) => here
            .iter()
            .copied()
            .find(|&id| graph.ops[id].at.output == *output)
            .ok_or_else(|| OverrideDefect::OtherOutput {
                node: entry.node,
                found: output.clone(),
                written: written(),
            })?,
    };
    let op = &graph.ops[found];
    if op.class().is_none() {
        return Err(OverrideDefect::Free {
            operator: op.name.clone(),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use paracompile_plan::{Nanojoules, Nanoseconds};
    use serde_json::{Value, json};

    use super::*;
    use crate::cost::small_graph::{
        CONV, DIGEST, RELU, example, ids, processor, small_graph, table,
    };
    use crate::cost::{CostTable, costs_of};

    fn overrides(entries: &Value) -> CostOverrides {
        let file = json!({ "schema": 1, "graph_digest": DIGEST, "entries": entries });
        CostOverrides::from_json(&file.to_string(), "costs.json").unwrap()
    }

    #[test]
    fn measured_costs_replace_models_and_add_support() {
        let soc = example(|_| ());
        let measured = overrides(&json!([
            { "node": 0, "processor": "cpu", "time_s": 1e-3, "energy_j": null, "source": "measured" },
            { "node": 1, "output": "z", "processor": "gpu", "time_s": 2e-3, "energy_j": 0.5, "source": "borrowed" }
        ]));
        let table = CostTable::new(&small_graph(), &soc, &measured, None).unwrap();
        let conv = table.operators[OpId::from_index(CONV)][0].unwrap();
        assert_eq!(conv.source, Source::Measured);
        assert_eq!(conv.energy.to_nanojoules(), Nanojoules::new(3_000_000));
        let relu = table.group(&ids(&[RELU]), processor(&soc, "gpu")).unwrap();
        assert_eq!(relu.time, Nanoseconds::new(2_000_000));
        assert_eq!(relu.energy, Nanojoules::new(500_000_000));
    }

    #[test]
    fn measured_costs_that_belong_nowhere_are_all_told() {
        let entry = |node: u32, processor: &str| json!({ "node": node, "processor": processor, "time_s": 0, "energy_j": 0, "source": "measured" });
        let mut other_output = entry(0, "cpu");
        other_output["output"] = json!("elsewhere");
        let measured = overrides(&json!([
            entry(0, "cpu"),
            entry(9, "cpu"),
            entry(1, "cpuu"),
            entry(2, "cpu"),
            entry(0, "cpu"),
            other_output,
        ]));
        let error = CostTable::new(&small_graph(), &example(|_| ()), &measured, None).unwrap_err();
        let CostError::Overrides(problems) = error else {
            panic!("{error}");
        };
        let indices: Vec<usize> = problems.iter().map(|problem| problem.index).collect();
        assert_eq!(indices, [1, 2, 3, 4, 5]);
        let defects: Vec<&OverrideDefect> =
            problems.iter().map(|problem| &problem.defect).collect();
        assert!(
            matches!(
                defects[..],
                [
                    OverrideDefect::UnknownNode { node: 9, .. },
                    OverrideDefect::UnknownProcessor { .. },
                    OverrideDefect::Free { .. },
                    OverrideDefect::Duplicate { first: 0 },
                    OverrideDefect::OtherOutput { .. },
                ]
            ),
            "{problems:#?}"
        );
        assert!(problems[1].to_string().ends_with("did you mean `cpu`?"));
    }

    #[test]
    fn energy_that_nobody_knows_is_asked_for() {
        let measured = overrides(&json!([
            { "node": 1, "processor": "gpu", "time_s": 1e-3, "energy_j": null, "source": "measured" }
        ]));
        let error = CostTable::new(&small_graph(), &example(|_| ()), &measured, None)
            .unwrap_err()
            .to_string();
        assert!(error.contains("entries[0]: `energy_j` is null, and `gpu` has no dynamic power for class `activation`"), "{error}");
    }

    #[test]
    fn costs_of_another_network_are_refused() {
        let file = json!({ "schema": 1, "graph_digest": "other", "entries": [] });
        let measured = CostOverrides::from_json(&file.to_string(), "costs.json").unwrap();
        let error = CostTable::new(&small_graph(), &example(|_| ()), &measured, None).unwrap_err();
        assert!(matches!(error, CostError::OtherGraph { .. }), "{error}");
    }

    #[test]
    fn costs_of_other_dimensions_are_refused() {
        let mut graph = (*small_graph()).clone();
        graph.dims = [("batch".to_owned(), 64), ("seq".to_owned(), 512)].into();
        let graph = crate::ir::verify(graph).unwrap();
        let refusal = |dims: &Value| {
            let mut file = json!({ "schema": 1, "graph_digest": graph.digest, "entries": [] });
            file["dims"] = dims.clone();
            let measured = CostOverrides::from_json(&file.to_string(), "costs.json").unwrap();
            CostTable::new(&graph, &example(|_| ()), &measured, None).map(drop)
        };
        assert_eq!(refusal(&json!({ "batch": 64, "seq": 512 })), Ok(()));
        let error = refusal(&json!({ "batch": 2, "seq": 16 })).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the measured costs are for batch=2, seq=16, but the model is read with batch=64, seq=512"
        );
        let error = refusal(&json!({})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the measured costs do not say for which dimensions they are, but the model is read with batch=64, seq=512"
        );
    }

    #[test]
    fn written_costs_give_the_same_table_back() {
        let soc = Soc::builtin("vim3").unwrap();
        let graph = small_graph();
        let table = table(&soc);
        let text = serde_json::to_string(&costs_of(&table, &graph)).unwrap();
        let read = CostOverrides::from_json(&text, "costs.json").unwrap();
        let again = CostTable::new(&graph, &soc, &read, None).unwrap();
        for (id, costs) in table.operators.iter() {
            assert_eq!(*costs, again.operators[id]);
        }
        assert_eq!(table.digest, soc.digest);
        assert_ne!(again.digest, table.digest);
    }

    #[test]
    fn measured_costs_of_processors_that_are_not_chosen_are_passed_over() {
        let whole = example(|_| ());
        let chosen = whole.restricted(&["cpu"]).unwrap();
        let measured = overrides(&json!([
            { "node": 0, "processor": "gpu", "time_s": 1e-3, "energy_j": 0, "source": "measured" }
        ]));
        let graph = small_graph();
        assert!(CostTable::new(&graph, &chosen, &measured, None).is_err());
        let full = CostTable::new(&graph, &whole, &measured, None).unwrap();
        let measured = measured.restricted(&whole, &chosen);
        let table = CostTable::new(&graph, &chosen, &measured, None).unwrap();
        assert_eq!(table.digest, full.digest);
    }
}
