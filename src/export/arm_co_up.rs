//! A pipeline as a command line of ARM-CO-UP, which runs some networks on the big and little CPU clusters and the GPU of a board.
//!
//! Its programs build their networks themselves and know nothing of ONNX: a plan can be said to them only if the network is one of theirs,
//! if each stage is on one processor, and if each cut lies where a program can cut. The network is recognised by its convolutions.

use std::collections::BTreeMap;

use paracompile_plan::plan::{OperatorRef, Plan};

use crate::arena::IdMap;
use crate::ir::{Op, OpId, TensorRole, VerifiedGraph};

use super::No;
use super::arm_co_up_networks::{Anchor, Network, SQUEEZENET_1_0, networks};

/// A plan as a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmCoUp {
    /// The command.
    pub command: String,
    /// What to know before it is run, a sentence each.
    pub notes: Vec<String>,
}

/// Stages that a program runs.
const STAGES: usize = 3;

/// An error unless a program builds this network, whatever the plan.
pub fn is_known_to_arm_co_up(graph: &VerifiedGraph) -> Result<(), No> {
    recognise(graph).map(drop)
}

/// The command line that runs `plan`.
pub fn arm_co_up(plan: &Plan, graph: &VerifiedGraph) -> Result<ArmCoUp, No> {
    let recognised = recognise(graph)?;
    let network = &recognised.network;
    if plan.stages.len() > STAGES {
        return Err(No::Stages(plan.stages.len()));
    }
    let mut letters = letters(plan)?;
    let points = points(plan, graph, &recognised)?;
    // The programs look at three letters whatever the number of stages.
    for letter in ['B', 'L', 'G'] {
        if letters.len() < STAGES && !letters.contains(&letter) {
            letters.push(letter);
        }
    }
    let order: Vec<String> = letters.iter().map(char::to_string).collect();
    // Behind the last layer nothing is cut.
    let total = network.layers.len();
    let point = |index: usize| points.get(index).copied().unwrap_or(total);
    let mut notes = vec![network.note.to_owned()];
    let threads = if plan.soc.name == "vim3" {
        "--threads=4 --threads2=2 --total_cores=6 "
    } else {
        notes.push(
            "give --threads and --threads2, the cores of the big and of the little cluster, and --total_cores: one thread each is the default".to_owned(),
        );
        ""
    };
    Ok(ArmCoUp {
        command: format!(
            "./{} {threads}--order={} --partition_point={} --partition_point2={}",
            network.program,
            order.join("-"),
            point(0),
            point(1),
        ),
        notes,
    })
}

/// The letter of each stage's processor.
fn letters(plan: &Plan) -> Result<Vec<char>, No> {
    let mut letters = Vec::new();
    for (index, stage) in plan.stages.iter().enumerate() {
        let [processor] = stage.processors.as_slice() else {
            return Err(No::Parallel {
                stage: index + 1,
                processors: stage.processors.join("+"),
            });
        };
        letters.push(match processor.as_str() {
            "big" => 'B',
            "little" => 'L',
            "gpu" => 'G',
            _ => {
                return Err(No::Letter {
                    stage: index + 1,
                    processor: processor.clone(),
                });
            }
        });
    }
    Ok(letters)
}

/// The layer behind which each stage but the last one ends.
fn points(plan: &Plan, graph: &VerifiedGraph, recognised: &Recognised) -> Result<Vec<usize>, No> {
    let mut stage_of: BTreeMap<&OperatorRef, usize> = BTreeMap::new();
    for task in &plan.tasks {
        let stage = usize::try_from(task.stage).unwrap_or(usize::MAX);
        for operator in &task.operators {
            stage_of.insert(operator, stage);
        }
    }
    let count = plan.stages.len();
    let layers = recognised.network.layers.len();
    // Of each stage its first and last layer.
    let mut spans = vec![(layers, 0); count];
    for (id, op) in graph.ops.iter().filter(|(_, op)| op.class().is_some()) {
        let span = stage_of.get(&op.at).and_then(|&stage| spans.get_mut(stage));
        let span = span.ok_or_else(|| No::Missing(op.name.clone()))?;
        let layer = recognised.layers[id];
        *span = (span.0.min(layer), span.1.max(layer));
    }
    let mut points = Vec::new();
    for stage in 1..count {
        let before = spans[..stage].iter().map(|span| span.1).max();
        let behind = spans[stage..].iter().map(|span| span.0).min();
        let (before, behind) = (before.unwrap_or(0), behind.unwrap_or(0));
        if behind <= before {
            return Err(No::InsideLayer {
                stage,
                layer: before + 1,
                name: recognised.network.layers[before].name.clone(),
            });
        }
        points.push(before + 1);
    }
    Ok(points)
}

/// A network that a program builds, and the layer of each operator, counted from zero.
struct Recognised {
    network: Network,
    layers: IdMap<Op, usize>,
}

fn recognise(graph: &VerifiedGraph) -> Result<Recognised, No> {
    let anchors: Vec<OpId> = graph
        .ops
        .iter()
        .filter(|(_, op)| found(graph, op).is_some())
        .map(|(id, _)| id)
        .collect();
    let mut known = Vec::new();
    for network in networks() {
        known.push(network.name);
        let Some(sizes) = fitting(graph, &anchors, &network) else {
            continue;
        };
        if let Some(layers) = layers(graph, &anchors, &sizes) {
            return Ok(Recognised { network, layers });
        }
    }
    Err(No::Network { known })
}

/// A convolution or matrix product of a graph.
#[derive(Clone, Copy, Debug)]
struct Found {
    kernel: u64,
    channels: u64,
    is_depthwise: bool,
    is_classifier: bool,
}

impl Found {
    fn is(self, anchor: Anchor) -> bool {
        match anchor {
            Anchor::Convolution(kernels, channels) => {
                self.kernel > 0
                    && !self.is_depthwise
                    && kernels.contains(&self.kernel)
                    && self.channels == channels
            }
            Anchor::Depthwise(kernel, channels) => {
                self.is_depthwise && self.kernel == kernel && self.channels == channels
            }
            Anchor::Classifier => self.is_classifier,
        }
    }
}

/// What an operator is as an anchor; `None` if it is none. A kernel of zero is a matrix product.
fn found(graph: &VerifiedGraph, op: &Op) -> Option<Found> {
    let weights = graph.tensors[(*op.inputs.get(1)?)?].shape.0.as_slice();
    let output = graph.tensors[*op.outputs.first()?].shape.0.as_slice();
    match (op.op_type.as_str(), weights) {
        ("Conv", &[channels, inputs, height, width]) => Some(Found {
            kernel: if height == width { height } else { u64::MAX },
            channels,
            is_depthwise: inputs == 1 && channels > 1,
            is_classifier: height == 1 && width == 1,
        }),
        ("Conv" | "Gemm" | "MatMul", _) => Some(Found {
            kernel: 0,
            channels: output.last().copied().unwrap_or(0),
            is_depthwise: false,
            is_classifier: op.op_type != "Conv",
        }),
        _ => None,
    }
}

/// How many anchors each layer has, if the graph's are those of the network: layers follow each other in every topological order.
fn fitting(graph: &VerifiedGraph, anchors: &[OpId], network: &Network) -> Option<Vec<usize>> {
    let mut rest = anchors;
    let mut sizes = Vec::new();
    for (index, layer) in network.layers.iter().enumerate() {
        let (own, behind) = rest.split_at_checked(layer.anchors.len())?;
        rest = behind;
        sizes.push(own.len());
        let mut wanted = layer.anchors.clone();
        for &id in own {
            let found = found(graph, &graph.ops[id])?;
            let is_other = index == 0 && network.name == "SqueezeNet" && found.is(SQUEEZENET_1_0);
            let place = wanted.iter().position(|&anchor| found.is(anchor));
            let place = if is_other { Some(0) } else { place };
            wanted.swap_remove(place?);
        }
    }
    rest.is_empty().then_some(sizes)
}

/// The layer of each operator: the first one whose end it leads to. `None` if some layer has no end that everything passes through.
fn layers(graph: &VerifiedGraph, anchors: &[OpId], sizes: &[usize]) -> Option<IdMap<Op, usize>> {
    let above = anchors_above(graph, anchors);
    let below = anchors_below(graph, anchors);
    let all: u128 = prefix(anchors.len());
    let mut layers = IdMap::filled(&graph.ops, sizes.len() - 1);
    let mut is_taken = IdMap::filled(&graph.ops, false);
    let mut before = 0;
    for (layer, size) in sizes.iter().enumerate().take(sizes.len() - 1) {
        before += size;
        let behind = all & !prefix(before);
        let mut from_last = graph.ops.iter().rev();
        let end = from_last.find(|(id, op)| {
            let passes = above[*id] == prefix(before) && below[*id] & behind == behind;
            // Behind the last anchor everything would do: there a layer ends with its pool.
            passes && (behind != 0 || op.op_type.contains("Pool") || op.op_type == "ReduceMean")
        });
        let (end, _) = end?;
        let mut open = vec![end];
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut is_taken[id], true) {
                continue;
            }
            layers[id] = layer;
            open.extend(writers(graph, &graph.ops[id]));
        }
    }
    Some(layers)
}

/// The first `count` bits.
const fn prefix(count: usize) -> u128 {
    if count >= 128 {
        u128::MAX
    } else {
        (1 << count) - 1
    }
}

fn writers<'g>(graph: &'g VerifiedGraph, op: &'g Op) -> impl Iterator<Item = OpId> + 'g {
    op.inputs
        .iter()
        .flatten()
        .filter_map(|&tensor| match graph.tensors[tensor].role {
            TensorRole::Computed(writer) => Some(writer),
            TensorRole::Input | TensorRole::Weight(_) => None,
        })
}

/// Of each operator the anchors that it depends on, itself included; at most 128 anchors.
fn anchors_above(graph: &VerifiedGraph, anchors: &[OpId]) -> IdMap<Op, u128> {
    let mut above = IdMap::filled(&graph.ops, 0u128);
    for (index, &id) in anchors.iter().enumerate() {
        above[id] = 1 << index;
    }
    for (id, op) in graph.ops.iter() {
        for writer in writers(graph, op) {
            above[id] |= above[writer];
        }
    }
    above
}

/// Of each operator the anchors that depend on it, itself included.
fn anchors_below(graph: &VerifiedGraph, anchors: &[OpId]) -> IdMap<Op, u128> {
    let mut below = IdMap::filled(&graph.ops, 0u128);
    for (index, &id) in anchors.iter().enumerate() {
        below[id] = 1 << index;
    }
    let ids: Vec<OpId> = graph.ops.iter().map(|(id, _)| id).collect();
    for id in ids.into_iter().rev() {
        for writer in writers(graph, &graph.ops[id]) {
            below[writer] |= below[id];
        }
    }
    below
}
