//! What a file declares about its tensors: needed for operators that we do not understand, and compared with what we infer.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::ir::{DataType, Shape};

use super::captures::bodies;
use super::infer::Produced;
use super::lower::Contradiction;
use super::wire::{GraphProto, NodeProto, ValueInfoProto};
use super::{limits, symbols};

/// Declared types and shapes of the top-level graph.
pub(super) struct Declarations<'m> {
    graph: &'m GraphProto,
    bound: &'m BTreeMap<String, u64>,
    by_name: HashMap<&'m str, &'m ValueInfoProto>,
}

impl<'m> Declarations<'m> {
    pub(super) fn of(graph: &'m GraphProto, bound: &'m BTreeMap<String, u64>) -> Self {
        let values = graph.value_info.iter().chain(&graph.output);
        Self {
            graph,
            bound,
            by_name: values.map(|value| (value.name.as_str(), value)).collect(),
        }
    }

    /// The results of `node` as declared, or as all branches of a condition declare them; else the names without a shape.
    ///
    /// `used` has a name for each result that is used.
    pub(super) fn results<'a>(
        &self,
        node: &NodeProto,
        used: &[Option<&'a str>],
    ) -> Result<Vec<Produced>, Vec<&'a str>> {
        let mut results = Vec::with_capacity(used.len());
        let mut unknown = Vec::new();
        for (position, name) in used.iter().enumerate() {
            let Some(name) = name else {
                // A placeholder that nothing reads.
                results.push(Produced::new(DataType::Float, Vec::new()));
                continue;
            };
            match self
                .value(name)
                .or_else(|| self.of_branches(node, position))
            {
                Some(result) => results.push(result),
                None => unknown.push(*name),
            }
        }
        if unknown.is_empty() {
            Ok(results)
        } else {
            Err(unknown)
        }
    }

    /// A tensor as declared, if every extent is fixed or bound.
    pub(super) fn value(&self, name: &str) -> Option<Produced> {
        let (dtype, shape) = symbols::declared(self.by_name.get(name)?, self.bound)?;
        Some(Produced::new(dtype, shape.0))
    }

    fn of_branches(&self, node: &NodeProto, position: usize) -> Option<Produced> {
        if node.op_type != "If" {
            return None;
        }
        let mut branches = bodies(node).map(|branch| {
            let output = branch.output.get(position)?;
            symbols::declared(output, self.bound)
        });
        let (dtype, shape) = branches.next()??;
        let agree = branches.all(|branch| branch.as_ref() == Some(&(dtype, shape.clone())));
        agree.then(|| Produced::new(dtype, shape.0))
    }

    /// Declarations that say something else than was inferred, in file order, each tensor once.
    pub(super) fn contradictions<'v>(
        &self,
        inferred: impl Fn(&str) -> Option<(DataType, &'v Shape)>,
    ) -> Vec<Contradiction> {
        let mut seen = BTreeSet::new();
        let mut contradictions = Vec::new();
        for value in self.graph.value_info.iter().chain(&self.graph.output) {
            let Some((dtype, shape)) = inferred(&value.name) else {
                continue;
            };
            if symbols::contradicts(value, dtype, shape) && seen.insert(value.name.as_str()) {
                contradictions.push(Contradiction {
                    tensor: value.name.clone(),
                    declared: symbols::spelled(value),
                    inferred: format!("{dtype} {shape}"),
                });
            }
            if contradictions.len() == limits::REPORTED {
                break;
            }
        }
        contradictions
    }
}
