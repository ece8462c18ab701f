//! Small random networks, chips and mappings for tests: views, shared weights, fused chains, several outputs, layouts, zero durations.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_frontend::arena::{Arena, Id, IdMap};
use paracompile_frontend::cost::{CostTable, cost_facts};
use paracompile_frontend::ir::{
    DataType, Graph, Op, OpId, OpKind, Shape, Tensor, TensorId, TensorRole, VerifiedGraph,
    WeightRef, Work, verify,
};
use paracompile_frontend::soc::{
    Contention, Link, Location, Memory, MemoryId, OperatingPoint, Processor, ProcessorId,
    ProcessorSet, Soc,
};
use paracompile_plan::facts::{CostFacts, ModelFacts, OperatorCost, OperatorFacts, TensorFacts};
use paracompile_plan::plan::{Label, Layout, ModelKind, OperatorRef, Source, StoppedBy};
use paracompile_plan::{Bytes, Joules, Nanoseconds, OpClass, Plan, Seconds, Slowdown, Watts};

use super::plan::{Claim, Emission, plan};
use crate::estimate::{Estimate, evaluate};
use crate::mapping::{PipelineMapping, StageMapping, StageProof};
use crate::partition::{FusedGraph, FusedOp, FusedOpId, FusedTensor, FusedTensorId};

/// A network on a chip, mapped.
pub(crate) struct Scenario {
    pub(crate) graph: VerifiedGraph,
    pub(crate) fused: FusedGraph,
    pub(crate) table: CostTable,
    pub(crate) mapping: PipelineMapping,
    pub(crate) model: ModelFacts,
    pub(crate) costs: CostFacts,
}

impl Scenario {
    pub(crate) fn random(seed: u64) -> Self {
        let mut dice = Dice(seed | 1);
        let operators = 2 + dice.below(9);
        Self::with_operators(operators, &mut dice)
    }

    pub(crate) fn with_operators(operators: usize, dice: &mut Dice) -> Self {
        let graph = random_graph(operators, dice);
        let fused = random_fusion(dice, &graph);
        let soc = random_soc(dice);
        let table = random_costs(dice, &graph, &fused, &soc);
        let mapping = random_mapping(dice, &fused, &table);
        Self {
            model: model_facts(&graph),
            costs: cost_facts(&graph, &table),
            graph,
            fused,
            table,
            mapping,
        }
    }

    pub(crate) fn estimate(&self) -> Estimate {
        evaluate(&self.fused, &self.graph, &self.table, &self.mapping)
    }

    pub(crate) fn plan(&self, estimate: &Estimate) -> Plan {
        let claim = Claim {
            method: "chosen at random".to_owned(),
            scope: "nothing".to_owned(),
            stopped_by: StoppedBy::Complete,
        };
        plan(&Emission {
            graph: &self.graph,
            fused: &self.fused,
            table: &self.table,
            mapping: &self.mapping,
            estimate,
            labels: &[Label::MinEnergy, Label::MinLatency],
            claim: &claim,
        })
    }
}

/// An operator of a network by hand.
pub(crate) struct HandOp<'a> {
    /// Nanoseconds, and nanojoules, on each processor.
    pub(crate) times: &'a [u32],
    /// Tensors that it reads: the network's input is 0, others count on in the order of `writes`.
    pub(crate) reads: &'a [usize],
    /// Elements of each tensor that it writes.
    pub(crate) writes: &'a [u64],
}

/// A network by hand on processors `p0`, `p1`, …, each with a memory of its own, inputs and outputs in that of `p0`.
/// The input has ten elements; a move takes a nanosecond and a nanojoule an element.
/// Each stage is a placement of the operators that follow, in order.
pub(crate) fn hand(
    ops: &[HandOp<'_>],
    outputs: &[usize],
    stages: &[&[usize]],
    change: impl FnOnce(&mut Soc),
) -> Scenario {
    let mut builder = GraphBuilder {
        ops: Arena::new(),
        tensors: Arena::new(),
    };
    let mut values = vec![builder.tensor(TensorRole::Input, 10)];
    for op in ops {
        let reads: Vec<TensorId> = op.reads.iter().map(|&read| values[read]).collect();
        let kind = OpKind::Compute(OpClass::Conv);
        values.extend(builder.op(kind, &reads, op.writes));
    }
    let graph = finish(
        builder,
        vec![values[0]],
        outputs.iter().map(|&output| values[output]).collect(),
    );
    let groups: Vec<Vec<OpId>> = graph.ops.ids().map(|op| vec![op]).collect();
    let fused = build_fused(&graph, &groups, &graph.outputs.iter().copied().collect());
    let count = ops[0].times.len();
    let names: Vec<String> = (0..count).map(|index| format!("p{index}")).collect();
    let homes: Vec<(usize, Layout)> = (0..count).map(|memory| (memory, Layout::Any)).collect();
    let mut soc = soc(&names, &homes, count, 0, &mut Dice(1));
    soc.contention.clear();
    soc.base = Watts::ZERO;
    for link in &mut soc.links {
        link.latency = Seconds::ZERO;
        link.bytes_per_second = 4e9;
        link.power = Watts::new(1.0).unwrap();
    }
    for id in soc.processors.ids() {
        soc.processors[id].operating_points[0].static_power = Watts::ZERO;
    }
    change(&mut soc);
    let mut costs = IdMap::filled(&graph.ops, Vec::new());
    for (id, op) in graph.ops.ids().zip(ops) {
        costs[id] = op
            .times
            .iter()
            .map(|&time| {
                Some(OperatorCost {
                    time: Seconds::new(f64::from(time) * 1e-9).unwrap(),
                    energy: Joules::new(f64::from(time) * 1e-9).unwrap(),
                    workspace: Bytes::ZERO,
                    source: Source::Measured,
                })
            })
            .collect();
    }
    let digest = soc.digest.clone();
    let table = CostTable::from_operator_costs(&graph, &soc, vec![0; count], digest, costs)
        .expect("every operator runs everywhere");
    let mut next = 0;
    let stages = stages
        .iter()
        .map(|placement| {
            let ops = next..next + placement.len();
            next = ops.end;
            let placement: Vec<ProcessorId> =
                placement.iter().copied().map(Id::from_index).collect();
            StageMapping {
                processors: placement.iter().copied().collect(),
                placement,
                sequence: ops.clone().map(Id::from_index).collect(),
                ops,
                proof: unproven(),
            }
        })
        .collect();
    Scenario {
        model: model_facts(&graph),
        costs: cost_facts(&graph, &table),
        graph,
        fused,
        table,
        mapping: PipelineMapping { stages },
    }
}

/// Processors `big`, `little` and `gpu`, the first two in one memory.
pub(crate) fn three_processors() -> Soc {
    let homes = [(0, Layout::Nchw), (0, Layout::Nchw), (1, Layout::Any)];
    let names = ["big", "little", "gpu"];
    soc(&names.map(str::to_owned), &homes, 2, 0, &mut Dice(7))
}

/// A linear congruential generator: the tests need variety, not quality.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).expect("below a usize")
    }

    fn decimal(&mut self, bound: usize) -> f64 {
        f64::from(u32::try_from(self.below(bound)).expect("bounds of tests are small"))
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

struct GraphBuilder {
    ops: Arena<Op>,
    tensors: Arena<Tensor>,
}

impl GraphBuilder {
    fn tensor(&mut self, role: TensorRole, elements: u64) -> TensorId {
        let name = format!("t{}", self.tensors.len());
        let shape = Shape(vec![elements]);
        self.tensors.push(Tensor {
            name,
            dtype: DataType::Float,
            bytes: shape.bytes(DataType::Float).unwrap(),
            shape,
            role,
        })
    }

    fn op(&mut self, kind: OpKind, inputs: &[TensorId], elements: &[u64]) -> Vec<TensorId> {
        let id = OpId::from_index(self.ops.len());
        let outputs: Vec<TensorId> = elements
            .iter()
            .map(|&count| self.tensor(TensorRole::Computed(id), count))
            .collect();
        self.ops.push(Op {
            at: OperatorRef {
                node: u32::try_from(id.index()).unwrap(),
                inside: Vec::new(),
                output: self.tensors[outputs[0]].name.clone(),
            },
            name: format!("op{}", id.index()),
            op_type: "Op".to_owned(),
            kind,
            inputs: inputs.iter().copied().map(Some).collect(),
            outputs: outputs.clone(),
            work: Work::default(),
        });
        outputs
    }

    fn elements(&self, tensor: TensorId) -> u64 {
        self.tensors[tensor].shape.0[0]
    }
}

const CLASSES: [OpClass; 4] = [
    OpClass::Conv,
    OpClass::Activation,
    OpClass::Elementwise,
    OpClass::MaxPool,
];

fn random_graph(operators: usize, dice: &mut Dice) -> VerifiedGraph {
    let mut builder = GraphBuilder {
        ops: Arena::new(),
        tensors: Arena::new(),
    };
    let inputs: Vec<TensorId> = (0..=dice.below(2))
        .map(|_| builder.tensor(TensorRole::Input, 1 + dice.below(30) as u64))
        .collect();
    let mut values = inputs.clone();
    let mut weights: Vec<TensorId> = Vec::new();
    for _ in 0..operators {
        let mut operands: Vec<TensorId> = Vec::new();
        for _ in 0..=dice.below(3) {
            // Rather late values, so that graphs are deep.
            let from = if dice.chance(60) {
                values.len().saturating_sub(3)
            } else {
                0
            };
            let mut operand = values[from + dice.below(values.len() - from)];
            match dice.below(100) {
                0..15 => {
                    let count = builder.elements(operand);
                    operand = builder.op(OpKind::View, &[operand], &[count])[0];
                }
                15..28 => {
                    let other = dice.pick(&values);
                    let count = builder.elements(operand) + builder.elements(other);
                    operand = builder.op(OpKind::ConcatInPlace, &[operand, other], &[count])[0];
                }
                _ => {}
            }
            operands.push(operand);
        }
        if dice.chance(50) {
            let weight = if weights.is_empty() || dice.chance(60) {
                let role = TensorRole::Weight(WeightRef::Generated);
                weights.push(builder.tensor(role, 1 + dice.below(50) as u64));
                weights[weights.len() - 1]
            } else {
                dice.pick(&weights)
            };
            operands.push(if dice.chance(20) {
                let count = builder.elements(weight);
                builder.op(OpKind::View, &[weight], &[count])[0]
            } else {
                weight
            });
        }
        let outputs: Vec<u64> = (0..=usize::from(dice.chance(20)))
            .map(|_| 1 + dice.below(30) as u64)
            .collect();
        let kind = OpKind::Compute(dice.pick(&CLASSES));
        values.extend(builder.op(kind, &operands, &outputs));
    }
    let read: BTreeSet<TensorId> = builder
        .ops
        .iter()
        .flat_map(|(_, op)| op.inputs.iter().flatten().copied())
        .collect();
    let mut outputs: Vec<TensorId> = values
        .iter()
        .copied()
        .filter(|value| !read.contains(value) && !inputs.contains(value))
        .collect();
    if outputs.is_empty() || dice.chance(20) {
        let extra = dice.pick(&values);
        if !outputs.contains(&extra) {
            outputs.push(extra);
        }
    }
    if dice.chance(20) {
        let viewed = outputs[0];
        let count = builder.elements(viewed);
        outputs[0] = builder.op(OpKind::View, &[viewed], &[count])[0];
    }
    finish(builder, inputs, outputs)
}

fn finish(builder: GraphBuilder, inputs: Vec<TensorId>, outputs: Vec<TensorId>) -> VerifiedGraph {
    let graph = Graph {
        name: "network".to_owned(),
        kind: ModelKind::Onnx,
        digest: "0".repeat(64),
        dims: BTreeMap::new(),
        ops: builder.ops,
        tensors: builder.tensors,
        inputs,
        outputs,
    };
    verify(graph).expect("graphs of tests hold the invariants")
}

/// The tensors with storage of their own that a tensor is made of, in order.
fn storage(graph: &VerifiedGraph, tensor: TensorId) -> Vec<TensorId> {
    match made_of(graph, tensor) {
        parts if parts.is_empty() => vec![tensor],
        parts => parts
            .into_iter()
            .flat_map(|part| storage(graph, part))
            .collect(),
    }
}

fn made_of(graph: &VerifiedGraph, tensor: TensorId) -> Vec<TensorId> {
    match graph.tensors[tensor].role {
        TensorRole::Input | TensorRole::Weight(_) => Vec::new(),
        TensorRole::Computed(op) => match graph.ops[op].kind {
            OpKind::View | OpKind::ConcatInPlace => {
                graph.ops[op].inputs.iter().flatten().copied().collect()
            }
            OpKind::Compute(_) => Vec::new(),
        },
    }
}

fn is_weight(graph: &VerifiedGraph, tensor: TensorId) -> bool {
    matches!(graph.tensors[tensor].role, TensorRole::Weight(_))
}

fn random_fusion(dice: &mut Dice, graph: &VerifiedGraph) -> FusedGraph {
    let results: BTreeSet<TensorId> = graph
        .outputs
        .iter()
        .flat_map(|&output| storage(graph, output))
        .collect();
    let readers = |tensor: TensorId| -> Vec<OpId> {
        graph
            .ops
            .iter()
            .filter(|(_, op)| op.inputs.contains(&Some(tensor)))
            .map(|(id, _)| id)
            .collect()
    };
    let mut groups: Vec<Vec<OpId>> = Vec::new();
    for (id, op) in graph.ops.iter() {
        if op.class().is_none() {
            continue;
        }
        let host = groups.iter().position(|group| {
            graph.ops[group[group.len() - 1]]
                .outputs
                .iter()
                .all(|&output| !results.contains(&output) && readers(output) == [id])
        });
        match host {
            Some(host) if dice.chance(60) => {
                // The group moves to the place of its last member.
                let mut group = groups.remove(host);
                group.push(id);
                groups.push(group);
            }
            Some(_) | None => groups.push(vec![id]),
        }
    }
    build_fused(graph, &groups, &results)
}

fn build_fused(
    graph: &VerifiedGraph,
    groups: &[Vec<OpId>],
    results: &BTreeSet<TensorId>,
) -> FusedGraph {
    let mut tensors: Arena<FusedTensor> = Arena::new();
    let mut known: BTreeMap<TensorId, FusedTensorId> = BTreeMap::new();
    let mut add = |tensor: TensorId, producer: Option<FusedOpId>| {
        let id = tensors.push(FusedTensor {
            tensor,
            name: graph.tensors[tensor].name.clone(),
            bytes: graph.tensors[tensor].bytes,
            producer,
            readers: Vec::new(),
            is_output: results.contains(&tensor),
        });
        known.insert(tensor, id);
        id
    };
    for &input in &graph.inputs {
        add(input, None);
    }
    let mut writes: Vec<Vec<FusedTensorId>> = Vec::new();
    for (index, members) in groups.iter().enumerate() {
        // The outputs of all but the last member are read by the next member alone.
        let last = members[members.len() - 1];
        let group_writes = graph.ops[last]
            .outputs
            .iter()
            .map(|&output| add(output, Some(Id::from_index(index))))
            .collect();
        writes.push(group_writes);
    }
    let mut ops = Arena::new();
    for (members, writes) in groups.iter().zip(writes) {
        let read: BTreeSet<TensorId> = members
            .iter()
            .flat_map(|&member| graph.ops[member].inputs.iter().flatten())
            .flat_map(|&operand| storage(graph, operand))
            .collect();
        let reads: Vec<FusedTensorId> = read
            .iter()
            .filter_map(|tensor| known.get(tensor).copied())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let id = FusedOpId::from_index(ops.len());
        for &tensor in &reads {
            tensors[tensor].readers.push(id);
        }
        ops.push(FusedOp {
            name: graph.ops[members[0]].name.clone(),
            members: members.clone(),
            class: graph.ops[members[0]].class().unwrap(),
            reads,
            writes,
            weight_bytes: read
                .iter()
                .filter(|&&tensor| is_weight(graph, tensor))
                .map(|&tensor| graph.tensors[tensor].bytes)
                .sum(),
        });
    }
    FusedGraph { ops, tensors }
}

fn random_soc(dice: &mut Dice) -> Soc {
    let count = 1 + dice.below(4);
    let memories = 1 + dice.below(3);
    let names: Vec<String> = (0..count).map(|index| format!("p{index}")).collect();
    let homes: Vec<(usize, Layout)> = (0..count)
        .map(|_| {
            let layout = dice.pick(&[Layout::Nchw, Layout::Nchw, Layout::Nhwc, Layout::Any]);
            (dice.below(memories), layout)
        })
        .collect();
    let io = dice.below(memories);
    soc(&names, &homes, memories, io, dice)
}

fn soc(
    names: &[String],
    homes: &[(usize, Layout)],
    memories: usize,
    io: usize,
    dice: &mut Dice,
) -> Soc {
    let memory_id = MemoryId::from_index;
    let mut locations: Arena<Location> = Arena::new();
    let mut locate = |memory: usize, layout| {
        let location = Location {
            memory: memory_id(memory),
            layout,
        };
        let known = locations.iter().find(|(_, known)| **known == location);
        match known.map(|(id, _)| id) {
            Some(id) => id,
            None => locations.push(location),
        }
    };
    let processors: Arena<Processor> = names
        .iter()
        .zip(homes)
        .map(|(name, &(memory, layout))| Processor {
            name: name.clone(),
            kind: "cpu".to_owned(),
            memory: memory_id(memory),
            layout,
            home: locate(memory, layout),
            sharing: vec![Slowdown::NONE],
            fuses: CLASSES.into_iter().filter(|_| dice.chance(50)).collect(),
            operating_points: vec![OperatingPoint {
                name: "only".to_owned(),
                hertz: 1e9,
                static_power: Watts::new(dice.decimal(5000) / 1e3).unwrap(),
                dynamic_power: BTreeMap::new(),
                models: BTreeMap::new(),
            }],
        })
        .collect();
    let io_location = locate(io, Layout::Any);
    let mut contention = Vec::new();
    for set in ProcessorSet::first(names.len()).subsets() {
        if set.len() > 1 && dice.chance(50) {
            let factor = set
                .iter()
                .filter_map(|processor| {
                    let thousandths = u32::try_from(1000 + dice.below(900)).unwrap();
                    Some((processor, Slowdown::from_thousandths(thousandths)?))
                })
                .collect();
            contention.push(Contention { set, factor });
        }
    }
    let links = (0..memories * memories)
        .map(|pair| Link {
            from: memory_id(pair / memories),
            to: memory_id(pair % memories),
            latency: Seconds::new(dice.decimal(8) * 0.7e-9).unwrap(),
            bytes_per_second: 2e9 + dice.decimal(20) * 1e9,
            convert_seconds_per_byte: Seconds::new(dice.decimal(3) * 0.03e-9).unwrap(),
            power: Watts::new(0.9).unwrap(),
            source: Source::Measured,
        })
        .collect();
    Soc {
        name: "chip".to_owned(),
        digest: "1".repeat(64),
        io: memory_id(io),
        memories: (0..memories)
            .map(|index| Memory {
                name: format!("m{index}"),
                limit: None,
            })
            .collect(),
        processors,
        links,
        contention,
        enqueue: Seconds::new(2e-9).unwrap(),
        base: Watts::new(1.234).unwrap(),
        synthetic: false,
        locations,
        io_location,
    }
}

fn random_costs(
    dice: &mut Dice,
    graph: &VerifiedGraph,
    fused: &FusedGraph,
    soc: &Soc,
) -> CostTable {
    let sources = [Source::Measured, Source::Fitted, Source::Assumed];
    let mut operators = IdMap::filled(&graph.ops, Vec::new());
    for (_, op) in fused.ops.iter() {
        let sure = dice.below(soc.processors.len());
        let supported: Vec<bool> = (0..soc.processors.len())
            .map(|processor| processor == sure || dice.chance(80))
            .collect();
        for &member in &op.members {
            operators[member] = supported
                .iter()
                .map(|supported| {
                    let workspace = if dice.chance(30) { dice.below(40) } else { 0 };
                    supported.then(|| OperatorCost {
                        time: Seconds::new(dice.decimal(60) * 0.25e-9).unwrap(),
                        energy: Joules::new(dice.decimal(60) * 0.3e-9).unwrap(),
                        workspace: Bytes::new(workspace as u64),
                        source: dice.pick(&sources),
                    })
                })
                .collect();
        }
    }
    CostTable::from_operator_costs(
        graph,
        soc,
        vec![0; soc.processors.len()],
        soc.digest.clone(),
        operators,
    )
    .expect("every operator runs somewhere")
}

fn random_mapping(dice: &mut Dice, fused: &FusedGraph, table: &CostTable) -> PipelineMapping {
    for _ in 0..30 {
        if let Some(mapping) = try_mapping(dice, fused, table, 3) {
            return mapping;
        }
    }
    try_mapping(dice, fused, table, 1).expect("all processors together run everything")
}

fn try_mapping(
    dice: &mut Dice,
    fused: &FusedGraph,
    table: &CostTable,
    most_stages: usize,
) -> Option<PipelineMapping> {
    let all: Vec<ProcessorId> = table.soc.processors.ids().collect();
    let count = 1 + dice.below(most_stages.min(all.len()).min(fused.ops.len()));
    let mut cuts = BTreeSet::from([0, fused.ops.len()]);
    while cuts.len() < count + 1 {
        cuts.insert(dice.below(fused.ops.len()));
    }
    let cuts: Vec<usize> = cuts.into_iter().collect();
    let stage_of_processor: Vec<usize> = all.iter().map(|_| dice.below(count)).collect();
    let mut stages = Vec::new();
    for (stage, range) in cuts.windows(2).enumerate() {
        let ops = range[0]..range[1];
        let mut placement = Vec::new();
        for op in ops.clone() {
            let members = &fused.ops[Id::from_index(op)].members;
            let able: Vec<ProcessorId> = all
                .iter()
                .copied()
                .filter(|processor| stage_of_processor[processor.index()] == stage)
                .filter(|&processor| table.group(members, processor).is_some())
                .collect();
            if able.is_empty() {
                return None;
            }
            placement.push(dice.pick(&able));
        }
        stages.push(StageMapping {
            processors: placement.iter().copied().collect(),
            placement,
            sequence: random_sequence(dice, fused, ops.clone()),
            ops,
            proof: unproven(),
        });
    }
    Some(PipelineMapping { stages })
}

fn unproven() -> StageProof {
    StageProof {
        bound: Nanoseconds::ZERO,
        method: "chosen by the test".to_owned(),
        scope: "nothing".to_owned(),
        stopped_by: StoppedBy::Work,
    }
}

fn random_sequence(
    dice: &mut Dice,
    fused: &FusedGraph,
    ops: std::ops::Range<usize>,
) -> Vec<FusedOpId> {
    let mut open: Vec<FusedOpId> = ops.map(Id::from_index).collect();
    let mut sequence = Vec::new();
    while !open.is_empty() {
        let ready: Vec<usize> = (0..open.len())
            .filter(|&place| {
                let reads = &fused.ops[open[place]].reads;
                reads.iter().all(|&tensor| {
                    let producer = fused.tensors[tensor].producer;
                    producer.is_none_or(|producer| !open.contains(&producer))
                })
            })
            .collect();
        sequence.push(open.remove(dice.pick(&ready)));
    }
    sequence
}

fn model_facts(graph: &VerifiedGraph) -> ModelFacts {
    let indices = |tensors: &[TensorId]| tensors.iter().map(|tensor| tensor.index()).collect();
    ModelFacts {
        name: graph.name.clone(),
        kind: graph.kind,
        graph_digest: graph.digest.clone(),
        dims: graph.dims.clone(),
        inputs: indices(&graph.inputs),
        outputs: indices(&graph.outputs),
        operators: graph
            .ops
            .iter()
            .filter_map(|(_, op)| {
                let mut reads: Vec<usize> = Vec::new();
                for operand in op.inputs.iter().flatten() {
                    if !reads.contains(&operand.index()) {
                        reads.push(operand.index());
                    }
                }
                Some(OperatorFacts {
                    at: op.at.clone(),
                    class: op.class()?,
                    reads,
                    writes: indices(&op.outputs),
                })
            })
            .collect(),
        tensors: graph
            .tensors
            .iter()
            .map(|(id, tensor)| TensorFacts {
                name: tensor.name.clone(),
                dtype: tensor.dtype.name().to_owned(),
                shape: tensor.shape.0.clone(),
                bytes: tensor.bytes,
                weight: is_weight(graph, id),
                made_of: indices(&made_of(graph, id)),
            })
            .collect(),
    }
}
