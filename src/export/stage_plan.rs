//! Which nodes, constants and ports make up each stage.
//!
//! A stage holds the nodes whose home it is, and its own copy of everything that belongs to readers.
//! What it reads and does not hold comes in through a port: from the network, or from an earlier stage.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::ExportError;
use super::homes::Home;
use super::protobuf::fields;
use super::written::{Node, Written, text};

/// One stage of a model.
#[derive(Debug, Default)]
pub(super) struct Stage<'m> {
    /// In order of computation.
    pub(super) nodes: Vec<StageNode>,
    /// Stored constants, by index in the file.
    pub(super) constants: BTreeSet<usize>,
    /// Network inputs in file order, then ports in the order in which they are computed.
    pub(super) inputs: Vec<Input<'m>>,
    /// Network outputs in file order, then ports in the order in which they are computed.
    pub(super) outputs: Vec<Output<'m>>,
}

/// A node of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StageNode {
    /// As it is in the file.
    Original(usize),
    /// A `Shape` of a tensor that the stage does not have otherwise: its result is known.
    KnownShape { node: usize, extents: Vec<u64> },
}

/// A tensor that a stage takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Input<'m> {
    pub(super) tensor: &'m str,
    /// The stage that writes it; none for a network input.
    pub(super) from: Option<usize>,
}

/// A tensor that a stage gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Output<'m> {
    pub(super) tensor: &'m str,
    pub(super) of_network: bool,
    /// The later stages that read it, ascending.
    pub(super) to: Vec<usize>,
}

/// What a stage reads from outside and which of its nodes are copies.
#[derive(Debug, Default)]
struct Contents<'m> {
    nodes: BTreeMap<usize, StageNode>,
    constants: BTreeSet<usize>,
    network: HashSet<&'m str>,
    ports: HashSet<&'m str>,
}

/// Distributes the nodes of a file over `count` stages; `shape` knows the extents of tensors.
pub(super) fn stages<'m>(
    written: &Written<'m>,
    order: &[usize],
    homes: &[Home],
    count: usize,
    shape: &dyn Fn(&str) -> Option<Vec<u64>>,
) -> Result<Vec<Stage<'m>>, ExportError> {
    let splitter = Splitter {
        written,
        homes,
        is_needed: needed(written, order),
        last: count.saturating_sub(1),
        shape,
    };
    let contents: Vec<Contents<'m>> = (0..count)
        .map(|stage| splitter.contents(stage))
        .collect::<Result<_, _>>()?;
    let mut position = vec![0; written.nodes.len()];
    for (place, &index) in order.iter().enumerate() {
        position[index] = place;
    }
    let mut stages: Vec<Stage<'m>> = Vec::with_capacity(count);
    for (number, content) in contents.iter().enumerate() {
        let mut nodes: Vec<_> = content.nodes.iter().collect();
        nodes.sort_by_key(|(index, _)| position[**index]);
        stages.push(Stage {
            nodes: nodes.into_iter().map(|(_, node)| node.clone()).collect(),
            constants: content.constants.clone(),
            inputs: splitter.inputs(content, &position),
            outputs: splitter.outputs(number, &contents, order),
        });
    }
    Ok(stages)
}

/// Whether a network output depends on a node.
fn needed(written: &Written<'_>, order: &[usize]) -> Vec<bool> {
    let mut is_needed = vec![false; written.nodes.len()];
    let writer = |name: &str| written.writers.get(name).copied();
    for output in &written.outputs {
        if let Some(index) = writer(output.name) {
            is_needed[index] = true;
        }
    }
    for &index in order.iter().rev() {
        if is_needed[index] {
            for index in written.nodes[index].reads().filter_map(writer) {
                is_needed[index] = true;
            }
        }
    }
    is_needed
}

struct Splitter<'a, 'm> {
    written: &'a Written<'m>,
    homes: &'a [Home],
    is_needed: Vec<bool>,
    last: usize,
    shape: &'a dyn Fn(&str) -> Option<Vec<u64>>,
}

impl<'m> Splitter<'_, 'm> {
    fn stage_of(&self, node: usize) -> Option<usize> {
        match self.homes[node] {
            Home::Stage { stage, .. } => Some(stage),
            Home::Torn(_) | Home::Readers => None,
        }
    }

    fn contents(&self, stage: usize) -> Result<Contents<'m>, ExportError> {
        let mut content = Contents::default();
        let own: Vec<usize> = (0..self.written.nodes.len())
            .filter(|&node| self.is_needed[node] && self.stage_of(node) == Some(stage))
            .collect();
        let at_hand: HashSet<&str> = own
            .iter()
            .flat_map(|&node| {
                let node = &self.written.nodes[node];
                node.reads().chain(node.writes())
            })
            .collect();
        for &node in &own {
            content.nodes.insert(node, StageNode::Original(node));
        }
        let mut open: Vec<&'m str> = own
            .iter()
            .flat_map(|&node| self.written.nodes[node].reads())
            .collect();
        if stage == self.last {
            // What no stage computes is given by the last one, which can have everything.
            open.extend(self.unowned_outputs());
        }
        while let Some(name) = open.pop() {
            if let Some(constant) = self.written.constant(name) {
                content.constants.insert(constant);
                continue;
            }
            let Some(&writer) = self.written.writers.get(name) else {
                content.network.insert(name);
                continue;
            };
            match self.stage_of(writer) {
                Some(home) if home == stage => {}
                Some(home) if home > stage => {
                    return Err(ExportError::Backwards {
                        tensor: name.to_owned(),
                        writer: home + 1,
                        reader: stage + 1,
                    });
                }
                Some(_) => {
                    content.ports.insert(name);
                }
                None if content.nodes.contains_key(&writer) => {}
                None => {
                    let copy = self.copy(writer, &at_hand)?;
                    if let StageNode::Original(_) = copy {
                        open.extend(self.written.nodes[writer].reads());
                    }
                    content.nodes.insert(writer, copy);
                }
            }
        }
        Ok(content)
    }

    /// Network outputs that are constants, network inputs, or computed from these alone.
    fn unowned_outputs(&self) -> impl Iterator<Item = &'m str> + '_ {
        self.written
            .outputs
            .iter()
            .map(|output| output.name)
            .filter(|name| match self.written.writers.get(name) {
                Some(&writer) => self.stage_of(writer).is_none(),
                None => true,
            })
    }

    fn copy(&self, index: usize, at_hand: &HashSet<&str>) -> Result<StageNode, ExportError> {
        let node = &self.written.nodes[index];
        let operand = node.inputs.first().copied().unwrap_or_default();
        let is_constant = self.written.constant(operand).is_some();
        let is_elsewhere = !is_constant && !at_hand.contains(operand);
        let known = (node.is("Shape") && is_elsewhere).then(|| (self.shape)(operand));
        Ok(match known.flatten() {
            Some(extents) => StageNode::KnownShape {
                node: index,
                extents: part(node, &extents)?,
            },
            None => StageNode::Original(index),
        })
    }

    fn inputs(&self, content: &Contents<'m>, position: &[usize]) -> Vec<Input<'m>> {
        let network = self.written.inputs.iter().map(|input| input.name);
        let mut inputs: Vec<Input<'m>> = network
            .filter(|name| content.network.contains(name))
            .map(|tensor| Input { tensor, from: None })
            .collect();
        let mut ports: Vec<(usize, &'m str, usize)> = content
            .ports
            .iter()
            .filter_map(|&name| {
                let writer = *self.written.writers.get(name)?;
                Some((position[writer], name, self.stage_of(writer)?))
            })
            .collect();
        ports.sort_unstable();
        inputs.extend(ports.into_iter().map(|(_, tensor, from)| Input {
            tensor,
            from: Some(from),
        }));
        inputs
    }

    fn outputs(&self, stage: usize, contents: &[Contents<'m>], order: &[usize]) -> Vec<Output<'m>> {
        let readers = |name: &str| -> Vec<usize> {
            let readers = contents.iter().enumerate();
            readers
                .filter(|(_, content)| content.ports.contains(name))
                .map(|(reader, _)| reader)
                .collect()
        };
        let mut listed = HashSet::new();
        let mut outputs = Vec::new();
        for output in &self.written.outputs {
            let home = self.written.writers.get(output.name);
            let home = home.and_then(|&writer| self.stage_of(writer));
            if home.unwrap_or(self.last) == stage && listed.insert(output.name) {
                outputs.push(Output {
                    tensor: output.name,
                    of_network: true,
                    to: home.map_or_else(Vec::new, |_| readers(output.name)),
                });
            }
        }
        for &index in order {
            if self.stage_of(index) != Some(stage) {
                continue;
            }
            for tensor in self.written.nodes[index].writes() {
                let to = readers(tensor);
                if !to.is_empty() && listed.insert(tensor) {
                    outputs.push(Output {
                        tensor,
                        of_network: false,
                        to,
                    });
                }
            }
        }
        outputs
    }
}

/// The extents that a `Shape` asks for.
fn part(node: &Node<'_>, extents: &[u64]) -> Result<Vec<u64>, ExportError> {
    let rank = i64::try_from(extents.len()).unwrap_or(i64::MAX);
    let clamped = |value: i64| {
        let value = if value < 0 {
            value.saturating_add(rank)
        } else {
            value
        };
        usize::try_from(value.clamp(0, rank)).unwrap_or_default()
    };
    let (mut start, mut end) = (0, extents.len());
    for field in fields(node.message) {
        let field = field?;
        let (5, Some(attribute)) = (field.number, field.delimited()) else {
            continue;
        };
        let mut value = 0;
        for field in fields(attribute) {
            let field = field?;
            if field.number == 3 {
                value = field.integer().unwrap_or_default().cast_signed();
            }
        }
        match text(attribute, 1)? {
            "start" => start = clamped(value),
            "end" => end = clamped(value),
            _ => {}
        }
    }
    Ok(extents.get(start..end).unwrap_or_default().to_vec())
}
