//! Random networks on random stages, processors and queues.
//!
//! A choice is taken from a list of bytes, and is 0 when the list is used up, so that proptest can shrink.
//! Durations can be zero, processors can share locations, and several can be in a stage, with up to two compute queues each.

use std::collections::BTreeSet;

use paracompile_plan::OpClass;
use paracompile_plan::facts::ModelFacts;
use paracompile_plan::plan::{Layout, Plan};

use crate::emitter::{Emitter, Location};
use crate::facts::Network;

pub(crate) struct Choices<'a>(pub(crate) &'a [u8]);

impl Choices<'_> {
    /// A number below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(first) % count
    }
}

/// A plan with all commands and no waits, and its network.
pub(crate) struct Random {
    pub(crate) model: ModelFacts,
    pub(crate) plan: Plan,
}

const LOCATIONS: [(&str, Layout); 4] = [
    ("ddr", Layout::Nchw),
    ("ddr", Layout::Any),
    ("gmem", Layout::Nhwc),
    ("gmem", Layout::Any),
];
/// Where an operator runs, and what it touches.
pub(crate) struct Placed {
    pub(crate) stage: usize,
    pub(crate) processor: usize,
    pub(crate) lane: usize,
    pub(crate) reads: Vec<usize>,
    pub(crate) writes: usize,
    pub(crate) weight: Option<usize>,
}

pub(crate) fn random(choices: &mut Choices<'_>, operators: usize, processors: usize) -> Random {
    let mut network = Network::new("random");
    let count = 1 + choices.below(operators);
    let mut tensors = vec![network.input("x", 16)];
    if choices.below(2) == 1 {
        tensors.push(network.input("x2", 8));
    }
    let inputs = tensors.len();
    // Stages by processor, each at least one.
    let homes: Vec<Location> = (0..processors)
        .map(|_| LOCATIONS[choices.below(4)])
        .collect();
    let mut stage_of = vec![0; processors];
    for processor in 1..processors {
        stage_of[processor] = stage_of[processor - 1] + choices.below(2);
    }
    let mut placed: Vec<Placed> = Vec::new();
    let mut stage = 0;
    let mut outputs = BTreeSet::new();
    for node in 0..count {
        if choices.below(3) == 2 {
            stage = (stage + 1).min(stage_of[processors - 1]);
        }
        let own: Vec<usize> = (0..processors).filter(|&p| stage_of[p] == stage).collect();
        let reads: BTreeSet<usize> = (0..=choices.below(3))
            .map(|_| tensors.len() - 1 - choices.below(tensors.len()))
            .map(|position| tensors[position])
            .collect();
        let weight = (choices.below(4) == 3).then(|| network.weight(&format!("w{node}"), 4));
        let written = network.tensor(&format!("t{node}"), 4 * (1 + node as u64));
        let mut operands: Vec<usize> = reads.iter().copied().collect();
        operands.extend(weight);
        network.operator(
            u32::try_from(node).unwrap(),
            OpClass::Conv,
            &operands,
            written,
        );
        tensors.push(written);
        if node + 1 == count || choices.below(6) == 5 {
            network.output(written);
            outputs.insert(written);
        }
        placed.push(Placed {
            stage,
            processor: own[choices.below(own.len())],
            lane: choices.below(2),
            reads: reads.into_iter().collect(),
            writes: written,
            weight,
        });
    }
    let inputs: BTreeSet<usize> = tensors[..inputs].iter().copied().collect();
    compact(&mut placed);
    let used: BTreeSet<usize> = placed.iter().map(|op| op.processor).collect();
    let homes = used.iter().map(|&processor| homes[processor]).collect();
    for op in &mut placed {
        op.processor = used.range(..op.processor).count();
    }
    let durations: Vec<u64> = placed.iter().map(|_| choices.below(3) as u64).collect();
    let emitter = Emitter {
        model: network.finish(),
        placed,
        homes,
        inputs,
        outputs,
        durations,
    };
    let plan = emitter.emit(choices);
    Random {
        model: emitter.model,
        plan,
    }
}

/// Drops stages and lanes that nothing uses.
fn compact(placed: &mut [Placed]) {
    let stages: BTreeSet<usize> = placed.iter().map(|op| op.stage).collect();
    let lanes: BTreeSet<(usize, usize)> = placed.iter().map(|op| (op.processor, op.lane)).collect();
    for op in placed {
        op.stage = stages.range(..op.stage).count();
        op.lane = lanes
            .range((op.processor, 0)..(op.processor, op.lane))
            .count();
    }
}
