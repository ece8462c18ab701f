//! Resolves names: which node writes which tensor, and which nodes read it, those in branches and bodies included.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::captures::captures;
use super::payload::{Constant, constant};
use super::value::Data;
use super::wire::{GraphProto, NodeProto};
use super::{NodePath, Problem, limits};

/// Index of a tensor of the file.
pub(super) type Slot = usize;

/// The tensors and nodes of the top-level graph with names resolved.
#[derive(Debug)]
pub(super) struct Links<'m> {
    /// Names of tensors, by slot.
    pub(super) names: Vec<&'m str>,
    /// Where each tensor comes from, by slot.
    pub(super) origins: Vec<Origin>,
    /// Operands of each node, then what its bodies capture.
    pub(super) reads: Vec<Vec<Option<Slot>>>,
    /// How many of a node's reads are operands.
    pub(super) operands: Vec<usize>,
    /// Results of each node; `None` where one has no name.
    pub(super) writes: Vec<Vec<Option<Slot>>>,
    /// Network outputs, each once.
    pub(super) outputs: Vec<Slot>,
    slots: HashMap<&'m str, Slot>,
}

/// Where a tensor comes from.
#[derive(Debug)]
pub(super) enum Origin {
    /// Index in the graph's list of inputs.
    Input(usize),
    Constant(Box<Constant>),
    Node(usize),
    /// Something is wrong with it, which was reported.
    Broken,
}

impl<'m> Links<'m> {
    pub(super) fn of(file: &Bytes, graph: &'m GraphProto, problems: &mut Vec<Problem>) -> Self {
        let mut links = Self {
            names: Vec::new(),
            origins: Vec::new(),
            reads: Vec::with_capacity(graph.node.len()),
            operands: Vec::with_capacity(graph.node.len()),
            writes: Vec::with_capacity(graph.node.len()),
            outputs: Vec::new(),
            slots: HashMap::new(),
        };
        links.declare_constants(file, graph, problems);
        let mut listed = HashSet::new();
        for (index, input) in graph.input.iter().enumerate() {
            let is_first = listed.insert(input.name.as_str());
            // Before IR version 4, constants had to be listed as inputs too.
            if input.name.is_empty() {
                problems.push(Problem::Input {
                    input: String::new(),
                    what: "it has no name".to_owned(),
                });
            } else if let Entry::Vacant(entry) = links.slots.entry(&input.name) {
                entry.insert(links.names.len());
                links.names.push(&input.name);
                links.origins.push(Origin::Input(index));
            } else if !is_first {
                problems.push(Problem::Input {
                    input: input.name.clone(),
                    what: "it is listed twice".to_owned(),
                });
            }
        }
        for (index, node) in graph.node.iter().enumerate() {
            links.declare_results(index, node, problems);
        }
        for (index, node) in graph.node.iter().enumerate() {
            links.resolve_operands(index, node, problems);
        }
        links.resolve_outputs(graph, problems);
        links
    }

    /// The slot of a tensor.
    pub(super) fn slot(&self, name: &str) -> Option<Slot> {
        self.slots.get(name).copied()
    }

    /// For each node, the nodes that write what it reads, as often as it reads it.
    pub(super) fn predecessors(&self) -> Vec<Vec<usize>> {
        let writer = |slot: &Slot| match self.origins[*slot] {
            Origin::Node(node) => Some(node),
            Origin::Input(_) | Origin::Constant(_) | Origin::Broken => None,
        };
        self.reads
            .iter()
            .map(|reads| reads.iter().flatten().filter_map(writer).collect())
            .collect()
    }

    fn declare_constants(
        &mut self,
        file: &Bytes,
        graph: &'m GraphProto,
        problems: &mut Vec<Problem>,
    ) {
        let mut budget = limits::PROPAGATED;
        for tensor in &graph.initializer {
            let place = || format!("constant `{}`", tensor.name);
            let origin = match constant(file, tensor) {
                Ok(mut constant) => {
                    let known = constant.value.data.as_ref().map_or(0, Data::len) as u64;
                    match budget.checked_sub(known) {
                        Some(rest) => budget = rest,
                        None => constant.value.data = None,
                    }
                    Origin::Constant(Box::new(constant))
                }
                Err(what) => {
                    problems.push(Problem::Constant {
                        place: place(),
                        what,
                    });
                    Origin::Broken
                }
            };
            self.declare_constant(&tensor.name, origin, problems);
        }
        for sparse in &graph.sparse_initializer {
            let name = sparse
                .values
                .as_ref()
                .map_or("", |values| values.name.as_str());
            problems.push(Problem::Constant {
                place: format!("constant `{name}`"),
                what: "sparse constants are not supported; store it densely".to_owned(),
            });
            self.declare_constant(name, Origin::Broken, problems);
        }
    }

    fn declare_constant(&mut self, name: &'m str, origin: Origin, problems: &mut Vec<Problem>) {
        if let Entry::Vacant(entry) = self.slots.entry(name) {
            entry.insert(self.names.len());
            self.names.push(name);
            self.origins.push(origin);
        } else {
            problems.push(Problem::Constant {
                place: format!("constant `{name}`"),
                what: "it is stored twice".to_owned(),
            });
        }
    }

    fn declare_results(&mut self, index: usize, node: &'m NodeProto, problems: &mut Vec<Problem>) {
        let mut writes = Vec::with_capacity(node.output.len());
        for name in &node.output {
            if name.is_empty() {
                writes.push(None);
                continue;
            }
            match self.slots.entry(name) {
                Entry::Vacant(entry) => {
                    let slot = self.names.len();
                    entry.insert(slot);
                    self.names.push(name);
                    self.origins.push(Origin::Node(index));
                    writes.push(Some(slot));
                }
                Entry::Occupied(_) => {
                    problems.push(Problem::WrittenTwice {
                        tensor: name.clone(),
                        at: path(index, node),
                    });
                    writes.push(None);
                }
            }
        }
        self.writes.push(writes);
    }

    fn resolve_operands(&mut self, index: usize, node: &'m NodeProto, problems: &mut Vec<Problem>) {
        let operands = node.input.iter().map(String::as_str);
        let captured = captures(node);
        let mut reads = Vec::with_capacity(node.input.len() + captured.len());
        for name in operands.chain(captured) {
            if name.is_empty() {
                reads.push(None);
                continue;
            }
            let slot = self.slot(name).unwrap_or_else(|| {
                problems.push(Problem::Undefined {
                    tensor: name.to_owned(),
                    at: path(index, node),
                });
                // Declared as broken, so that it is reported once.
                self.slots.insert(name, self.names.len());
                self.names.push(name);
                self.origins.push(Origin::Broken);
                self.names.len() - 1
            });
            reads.push(Some(slot));
        }
        self.reads.push(reads);
        self.operands.push(node.input.len());
    }

    fn resolve_outputs(&mut self, graph: &'m GraphProto, problems: &mut Vec<Problem>) {
        let mut is_listed = vec![false; self.names.len()];
        for output in &graph.output {
            match self.slot(&output.name) {
                Some(slot) if is_listed[slot] => {}
                Some(slot) => {
                    is_listed[slot] = true;
                    self.outputs.push(slot);
                }
                None => problems.push(Problem::UndefinedOutput {
                    tensor: output.name.clone(),
                }),
            }
        }
    }
}

/// Where a node stands.
pub(super) fn path(index: usize, node: &NodeProto) -> NodePath {
    NodePath {
        node: index,
        name: node.name.clone(),
        op_type: spelled(node),
    }
}

/// The operator type with its domain, where that is not the default one.
pub(super) fn spelled(node: &NodeProto) -> String {
    match node.domain.as_str() {
        "" | "ai.onnx" => node.op_type.clone(),
        domain => format!("{domain}.{}", node.op_type),
    }
}
