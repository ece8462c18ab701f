//! Splits attention by head, so that a mapper sees operators that can run side by side.
//!
//! Frameworks compute all heads at once: a batched product of queries and keys, a scale, a mask, a softmax, a batched product with the values.
//! No element of one head depends on another one, so each head can be a chain of its own, between splits of what they read and a
//! concatenation of what they return (Vaswani et al., "Attention is all you need", section 3.2.2).
//!
//! The rewriting is one of the file's nodes: a node of the chain gives way to that of the first head, so that the others keep their indices,
//! and what is new follows behind the last one.
//! What it leaves alone: products of tensors with less than three axes, chains of which something else is read, and operators of the whole
//! attention at once.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::OpClass;

use crate::ir::OpKind;

use super::link::{Links, Slot, TOP};
use super::lower::{Followed, Heads};
use super::propagate::{Operator, Propagated};
use super::value::resolve_axis;
use super::wire::{AttributeProto, GraphProto, NodeProto};

/// Operators between the two products; more is no attention.
const LONGEST: usize = 16;
/// The first operator set whose splits say how many results they have.
const SAYS_RESULTS: i64 = 18;
/// The first operator set whose softmax is along one axis, whatever the axes behind it.
const ALONG_ONE_AXIS: i64 = 13;
/// ONNX's number of the attribute type.
const INT: i32 = 2;

/// A node that the rewriting changes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edit {
    /// Its index among the nodes of the graph; that of the first new node is their number.
    pub(super) node: usize,
    pub(super) proto: NodeProto,
}

/// The two products and what is between them.
struct Attention {
    /// Indices of its operators, the first product first.
    chain: Vec<usize>,
    /// The axis of heads.
    axis: usize,
    /// Heads.
    extent: u64,
}

/// What has to change for the heads of every attention to be nodes of their own.
pub(super) fn expose(graph: &GraphProto, followed: &Followed<'_>, heads: Heads) -> Vec<Edit> {
    let most = match heads {
        Heads::Together => return Vec::new(),
        Heads::Apart { most } => most.get(),
    };
    let (links, known) = (&followed.links, &followed.propagated);
    let others = Others::of(links);
    let attentions = attentions(links, known, &others);
    let mut edits = Edits {
        links,
        known,
        others,
        taken: BTreeSet::new(),
        nodes: graph.node.iter().map(|node| node.name.clone()).collect(),
        splits: BTreeMap::new(),
        changed: Vec::new(),
        appended: Vec::new(),
    };
    for attention in attentions {
        let groups = (1..=most.min(attention.extent))
            .rev()
            .find(|groups| attention.extent.is_multiple_of(*groups))
            .unwrap_or(1);
        if groups > 1 {
            edits.rewrite(&attention, groups);
        }
    }
    let first = graph.node.len();
    let appended = edits.appended.into_iter().enumerate();
    let appended = appended.map(|(place, proto)| Edit {
        node: first + place,
        proto,
    });
    edits.changed.into_iter().chain(appended).collect()
}

/// Puts the edits into the graph.
pub(super) fn apply(graph: &mut GraphProto, edits: &[Edit]) {
    for edit in edits {
        match graph.node.get_mut(edit.node) {
            Some(node) => *node = edit.proto.clone(),
            None => graph.node.push(edit.proto.clone()),
        }
    }
}

/// All attentions of the top-level graph, no operator in two of them.
fn attentions(links: &Links<'_>, known: &Propagated, others: &Others) -> Vec<Attention> {
    let mut writers: BTreeMap<Slot, usize> = BTreeMap::new();
    let mut readers = vec![0_usize; known.values.len()];
    for (index, operator) in known.operators.iter().enumerate() {
        writers.extend(operator.outputs.iter().map(|&slot| (slot, index)));
        for &slot in operator.inputs.iter().flatten() {
            readers[slot] += 1;
        }
    }
    for &slot in &links.outputs {
        readers[known.aliases[slot]] += 1;
    }
    let search = Search {
        links,
        known,
        writers,
        readers,
    };
    let mut used = BTreeSet::new();
    let mut found = Vec::new();
    for last in 0..known.operators.len() {
        if let Some(attention) = search.ending_at(last)
            && attention.chain.iter().all(|index| !used.contains(index))
            && others.are_harmless(&attention, links, known)
        {
            used.extend(attention.chain.iter().copied());
            found.push(attention);
        }
    }
    found
}

/// Which nodes read a tensor in the file, also those that are no operators.
struct Others(BTreeMap<Slot, Vec<usize>>);

impl Others {
    fn of(links: &Links<'_>) -> Self {
        let mut readers: BTreeMap<Slot, Vec<usize>> = BTreeMap::new();
        for (index, node) in links.nodes.iter().enumerate() {
            for &slot in node.reads.iter().flatten() {
                readers.entry(slot).or_default().push(index);
            }
        }
        Self(readers)
    }

    /// Whether nothing but the chain needs what is between its operators: other names of it, and nodes that nothing needs.
    fn are_harmless(&self, attention: &Attention, links: &Links<'_>, known: &Propagated) -> bool {
        let operators = attention.chain.iter().map(|&index| &known.operators[index]);
        let nodes: BTreeSet<usize> = operators.clone().map(|operator| operator.node).collect();
        let mut inner = operators.rev().skip(1).map(|operator| operator.outputs[0]);
        inner.all(|slot| {
            let mut readers = self.0.get(&slot).into_iter().flatten();
            readers.all(|&reader| nodes.contains(&reader) || is_idle(links, known, reader, slot))
        })
    }

    /// Nodes that read a tensor, name it otherwise or are not needed, and must not read it any more.
    fn idle<'a>(
        &'a self,
        links: &'a Links<'_>,
        known: &'a Propagated,
        slot: Slot,
    ) -> impl Iterator<Item = usize> + 'a {
        let readers = self.0.get(&slot).into_iter().flatten().copied();
        readers.filter(move |&reader| is_idle(links, known, reader, slot))
    }
}

/// Whether a top-level node that reads `slot` as an operand gives it another name, or gives nothing that is needed.
fn is_idle(links: &Links<'_>, known: &Propagated, reader: usize, slot: Slot) -> bool {
    let node = &links.nodes[reader];
    let captures = &node.reads[node.operands..];
    let mut writes = node.writes.iter().flatten();
    node.scope == TOP
        && !captures.contains(&Some(slot))
        && writes.all(|&write| known.aliases[write] != write || known.values[write].is_none())
}

struct Search<'a, 'm> {
    links: &'a Links<'m>,
    known: &'a Propagated,
    writers: BTreeMap<Slot, usize>,
    readers: Vec<usize>,
}

impl Search<'_, '_> {
    /// The attention whose second product is this operator.
    fn ending_at(&self, last: usize) -> Option<Attention> {
        let operator = self.product(last)?;
        let &[Some(weights), Some(values)] = operator.inputs.as_slice() else {
            return None;
        };
        let axis = self.shape(weights).len().checked_sub(3)?;
        let extent = self.shape(weights)[axis];
        let is_batched = |slot: Slot| {
            let shape = self.shape(slot);
            shape.len() == axis + 3 && shape[axis] == extent
        };
        if extent < 2 || !is_batched(values) {
            return None;
        }
        let mut chain = vec![last];
        let mut current = weights;
        let mut has_softmax = false;
        while chain.len() < LONGEST {
            let &writer = self.writers.get(&current)?;
            let before = &self.known.operators[writer];
            let is_private = self.readers[current] == 1 && before.outputs.len() == 1;
            if !is_private || !self.is_at_top(before) {
                return None;
            }
            chain.push(writer);
            if self.product(writer).is_some() {
                let mut operands = before.inputs.iter().flatten();
                if !has_softmax || !operands.all(|&slot| is_batched(slot)) {
                    return None;
                }
                chain.reverse();
                return Some(Attention {
                    chain,
                    axis,
                    extent,
                });
            }
            has_softmax |= before.kind == OpKind::Compute(OpClass::Softmax);
            current = self.through(before, current, axis)?;
        }
        None
    }

    /// The operand that an operator between the products hands on, if it treats all heads alike.
    fn through(&self, operator: &Operator, result: Slot, axis: usize) -> Option<Slot> {
        let shape = self.shape(result);
        let op_type = self.links.nodes[operator.node].proto.op_type.as_str();
        let is_pointwise = match op_type {
            "Add" | "Sub" | "Mul" | "Div" | "Where" | "Cast" | "Tanh" | "Clip" | "Relu" => true,
            "Softmax" => self.is_along_last_axis(operator, shape.len()),
            _ => false,
        };
        let handed_on = operator.inputs.iter().flatten().copied().find(|&slot| {
            let is_computed = self.writers.get(&slot).is_some_and(|&writer| {
                self.readers[slot] == 1 && self.is_at_top(&self.known.operators[writer])
            });
            is_computed && self.shape(slot) == shape
        })?;
        let fit = operator.inputs.iter().flatten().all(|&slot| {
            let other = self.shape(slot);
            // An axis that is not there is broadcast.
            let place = (axis + other.len()).checked_sub(shape.len());
            place.is_none_or(|place| other[place] == 1 || other[place] == shape[axis])
        });
        (is_pointwise && fit).then_some(handed_on)
    }

    fn is_along_last_axis(&self, operator: &Operator, rank: usize) -> bool {
        let has_one = self.links.opset(operator.node) >= ALONG_ONE_AXIS;
        let default = if has_one { -1 } else { 1 };
        let attributes = self.links.attributes(operator.node);
        let axis = attributes.int_or("axis", default);
        axis.and_then(|axis| resolve_axis(axis, rank)) == Ok(rank - 1)
    }

    fn product(&self, index: usize) -> Option<&Operator> {
        let operator = &self.known.operators[index];
        let node = &self.links.nodes[operator.node];
        let is_product = operator.kind == OpKind::Compute(OpClass::Matmul)
            && node.proto.op_type == "MatMul"
            && self.is_at_top(operator);
        is_product.then_some(operator)
    }

    fn is_at_top(&self, operator: &Operator) -> bool {
        let node = &self.links.nodes[operator.node];
        node.scope == TOP && matches!(node.proto.domain.as_str(), "" | "ai.onnx")
    }

    fn shape(&self, slot: Slot) -> &[u64] {
        shape(self.known, slot)
    }
}

fn shape(known: &Propagated, slot: Slot) -> &[u64] {
    let value = known.values[slot].as_ref();
    &value.expect("operands were inferred before").shape.0
}

struct Edits<'a, 'm> {
    links: &'a Links<'m>,
    known: &'a Propagated,
    others: Others,
    /// New names of tensors.
    taken: BTreeSet<String>,
    /// Names of nodes, old and new.
    nodes: BTreeSet<String>,
    /// The parts of tensors that were split along an axis: layers may share a mask.
    splits: BTreeMap<(Slot, usize, u64), Vec<String>>,
    changed: Vec<Edit>,
    appended: Vec<NodeProto>,
}

impl Edits<'_, '_> {
    fn rewrite(&mut self, attention: &Attention, groups: u64) {
        let known = self.known;
        let operators = attention.chain.iter().map(|&index| &known.operators[index]);
        let operators: Vec<&Operator> = operators.collect();
        let rank = attention.axis + 3;
        // What each head reads or writes instead of a tensor of all heads.
        let mut parts: BTreeMap<Slot, Vec<String>> = BTreeMap::new();
        for operator in &operators {
            parts.insert(operator.outputs[0], self.names(operator.outputs[0], groups));
        }
        for operator in &operators {
            let node = &self.links.nodes[operator.node];
            for &slot in node.reads[..node.operands].iter().flatten() {
                let slot = known.aliases[slot];
                let extents = shape(known, slot);
                let axis = (attention.axis + extents.len()).checked_sub(rank);
                let axis = axis.filter(|&axis| extents[axis] == attention.extent);
                if let Some(axis) = axis.filter(|_| !parts.contains_key(&slot)) {
                    parts.insert(slot, self.split(operator.node, slot, axis, groups));
                }
            }
        }
        for operator in &operators {
            for head in 0..groups {
                let proto = self.of_head(operator, &parts, head);
                if head == 0 {
                    self.changed.push(Edit {
                        node: operator.node,
                        proto,
                    });
                } else {
                    self.appended.push(proto);
                }
            }
        }
        self.detach(&operators, &parts);
        let last = operators[operators.len() - 1];
        let result = last.outputs[0];
        let name = self.node_name(&self.links.nodes[last.node].proto.name, "heads");
        self.appended.push(NodeProto {
            input: parts[&result].clone(),
            output: vec![self.links.names[result].clone().into_owned()],
            name,
            op_type: "Concat".to_owned(),
            attribute: vec![integer("axis", attention.axis)],
            ..NodeProto::default()
        });
    }

    /// Lets nodes that nothing needs read the first head's part of what is no more.
    fn detach(&mut self, operators: &[&Operator], parts: &BTreeMap<Slot, Vec<String>>) {
        let (links, known) = (self.links, self.known);
        for operator in &operators[..operators.len() - 1] {
            let slot = operator.outputs[0];
            for reader in self.others.idle(links, known, slot).collect::<Vec<_>>() {
                let node = &links.nodes[reader];
                let edited = self.changed.iter().position(|edit| edit.node == reader);
                let edited = edited.unwrap_or_else(|| {
                    self.changed.push(Edit {
                        node: reader,
                        proto: node.proto.clone(),
                    });
                    self.changed.len() - 1
                });
                let operands = self.changed[edited].proto.input.iter_mut().zip(&node.reads);
                for (name, _) in operands.filter(|(_, read)| **read == Some(slot)) {
                    name.clone_from(&parts[&slot][0]);
                }
            }
        }
    }

    /// The node of one head.
    fn of_head(
        &mut self,
        operator: &Operator,
        parts: &BTreeMap<Slot, Vec<String>>,
        head: u64,
    ) -> NodeProto {
        let node = &self.links.nodes[operator.node];
        let head = usize::try_from(head).expect("heads are nodes, and their number is limited");
        let mut proto = node.proto.clone();
        for (name, slot) in proto.input.iter_mut().zip(&node.reads) {
            let part = slot.and_then(|slot| parts.get(&self.known.aliases[slot]));
            if let Some(part) = part {
                name.clone_from(&part[head]);
            }
        }
        proto.output = vec![parts[&operator.outputs[0]][head].clone()];
        proto.name = self.node_name(&node.proto.name, &format!("head{head}"));
        proto
    }

    /// The parts of a tensor, by a node that is new the first time.
    fn split(&mut self, reader: usize, slot: Slot, axis: usize, groups: u64) -> Vec<String> {
        if let Some(parts) = self.splits.get(&(slot, axis, groups)) {
            return parts.clone();
        }
        let parts = self.names(slot, groups);
        let mut attribute = vec![integer("axis", axis)];
        if self.links.opset(reader) >= SAYS_RESULTS {
            attribute.push(integer("num_outputs", parts.len()));
        }
        let whole = self.links.names[slot].clone().into_owned();
        let split = NodeProto {
            name: self.node_name(&whole, "heads"),
            input: vec![whole],
            output: parts.clone(),
            op_type: "Split".to_owned(),
            attribute,
            ..NodeProto::default()
        };
        self.appended.push(split);
        self.splits.insert((slot, axis, groups), parts.clone());
        parts
    }

    /// A name that no other node has, and none for what comes from a node without a name.
    fn node_name(&mut self, name: &str, part: &str) -> String {
        let mut name = named(name, part);
        while !name.is_empty() && !self.nodes.insert(name.clone()) {
            name.push('\'');
        }
        name
    }

    /// Names of the parts of a tensor that no other tensor has.
    fn names(&mut self, slot: Slot, groups: u64) -> Vec<String> {
        let whole = self.links.names[slot].clone();
        (0..groups)
            .map(|head| {
                let mut name = named(&whole, &format!("head{head}"));
                while self.links.is_taken(&name) || !self.taken.insert(name.clone()) {
                    name.push('\'');
                }
                name
            })
            .collect()
    }
}

/// A name that comes from another one; nothing comes from no name.
fn named(name: &str, part: &str) -> String {
    if name.is_empty() {
        String::new()
    } else {
        format!("{name}:{part}")
    }
}

fn integer(name: &str, value: usize) -> AttributeProto {
    AttributeProto {
        name: name.to_owned(),
        i: i64::try_from(value).ok(),
        r#type: INT,
        ..AttributeProto::default()
    }
}
