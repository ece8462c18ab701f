//! From a case to the types that the compiler takes: a verified graph, a chip, and a cost table of measured entries.
//!
//! The oracle does not read these; it reads the case.
//! So a fault here shows as a disagreement, not as agreement on a wrong problem.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_frontend::arena::{Arena, Id, IdMap};
use paracompile_frontend::cost::CostTable;
use paracompile_frontend::ir::{
    self, DataType, Graph, Op, OpKind, Shape, TensorId, TensorRole, VerifiedGraph, WeightRef, Work,
};
use paracompile_frontend::soc::{self, Location, LocationId, MemoryId, ProcessorId};
use paracompile_plan::facts::OperatorCost;
use paracompile_plan::plan::{Layout, ModelKind, OperatorRef, Source};
use paracompile_plan::{Bytes, Joules, Seconds, Slowdown, Watts};

use super::{Case, CaseError, Free, Network, Operator, Soc};

/// Digest of everything that is built here: a case has no file of its own that another program could digest.
pub(super) const DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What the compiler takes.
#[derive(Clone, Debug)]
pub struct Built {
    /// The network.
    pub graph: VerifiedGraph,
    /// Costs on the chip with the processors that the limits offer.
    pub costs: CostTable,
}

impl Case {
    /// Builds what the compiler takes.
    pub fn build(&self) -> Result<Built, CaseError> {
        let graph = graph(&self.graph)?;
        let whole = chip(&self.soc)?;
        for operator in &self.graph.operators {
            for name in operator.time_ns.keys().chain(operator.energy_nj.keys()) {
                processor(&whole.processors, name, &operator.name)?;
            }
        }
        let offered = match &self.limits.processors {
            None => whole,
            Some(names) => whole.restricted(names)?,
        };
        let operators = IdMap::from_fn(&graph.ops, |id| {
            operator_costs(&self.graph.operators[id.index()], &offered)
        });
        let points = vec![0; offered.processors.len()];
        let digest = DIGEST.to_owned();
        let costs = CostTable::from_operator_costs(&graph, &offered, &points, digest, operators)?;
        Ok(Built { graph, costs })
    }
}

fn graph(network: &Network) -> Result<VerifiedGraph, CaseError> {
    let mut graph = Graph {
        name: "case".to_owned(),
        kind: ModelKind::Onnx,
        kernels: Vec::new(),
        digest: DIGEST.to_owned(),
        dims: BTreeMap::new(),
        rewrites: Vec::new(),
        ops: Arena::new(),
        tensors: Arena::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
    };
    let mut by_name = BTreeMap::new();
    for input in &network.inputs {
        let id = push_tensor(&mut graph, &input.name, input.bytes, TensorRole::Input);
        graph.inputs.push(id);
        by_name.insert(input.name.as_str(), id);
    }
    for (index, operator) in network.operators.iter().enumerate() {
        let reads = operator
            .reads
            .iter()
            .map(|name| lookup(&by_name, name, &operator.name))
            .collect::<Result<Vec<_>, _>>()?;
        push_operator(&mut graph, index, operator, &reads, &mut by_name);
    }
    for name in &network.outputs {
        let id = lookup(&by_name, name, "outputs")?;
        graph.outputs.push(id);
    }
    ir::verify(graph).map_err(CaseError::Graph)
}

fn push_operator<'case>(
    graph: &mut Graph,
    index: usize,
    operator: &'case Operator,
    reads: &[TensorId],
    by_name: &mut BTreeMap<&'case str, TensorId>,
) {
    let id = Id::from_index(index);
    let mut inputs: Vec<_> = reads.iter().copied().map(Some).collect();
    if operator.weights > 0 {
        inputs.push(Some(push_tensor(
            graph,
            &format!("{}.weight", operator.name),
            operator.weights,
            TensorRole::Weight(WeightRef::Generated),
        )));
    }
    let outputs: Vec<_> = operator
        .writes
        .iter()
        .map(|tensor| {
            let id = push_tensor(graph, &tensor.name, tensor.bytes, TensorRole::Computed(id));
            by_name.insert(&tensor.name, id);
            id
        })
        .collect();
    let sum = |ids: &[TensorId]| ids.iter().map(|&id| graph.tensors[id].bytes).sum();
    let work = if operator.free.is_some() {
        Work::default()
    } else {
        Work {
            other_flops: 1,
            input_bytes: sum(reads),
            weight_bytes: Bytes::new(operator.weights),
            output_bytes: sum(&outputs),
            ..Work::default()
        }
    };
    let (kind, op_type) = match operator.free {
        Some(Free::View) => (OpKind::View, "View"),
        Some(Free::ConcatInPlace) => (OpKind::ConcatInPlace, "Concat"),
        None => (OpKind::Compute(operator.class), operator.class.name()),
    };
    let output = operator
        .writes
        .first()
        .map_or_else(String::new, |tensor| tensor.name.clone());
    graph.ops.push(Op {
        at: OperatorRef {
            node: u32::try_from(index).expect("cases are tiny"),
            inside: Vec::new(),
            output,
        },
        name: operator.name.clone(),
        op_type: op_type.to_owned(),
        kind,
        inputs,
        outputs,
        work,
        control: None,
    });
}

fn push_tensor(graph: &mut Graph, name: &str, bytes: u64, role: TensorRole) -> TensorId {
    graph.tensors.push(ir::Tensor {
        name: name.to_owned(),
        dtype: DataType::Uint8,
        shape: Shape(vec![bytes]),
        bytes: Bytes::new(bytes),
        role,
    })
}

fn lookup(by_name: &BTreeMap<&str, TensorId>, name: &str, at: &str) -> Result<TensorId, CaseError> {
    by_name
        .get(name)
        .copied()
        .ok_or_else(|| unknown(at, name, "a tensor written before"))
}

fn unknown(at: &str, name: &str, what: &'static str) -> CaseError {
    CaseError::Unknown {
        at: at.to_owned(),
        name: name.to_owned(),
        what,
    }
}

fn memory(memories: &Arena<soc::Memory>, name: &str, at: &str) -> Result<MemoryId, CaseError> {
    memories
        .iter()
        .find(|(_, memory)| memory.name == name)
        .map(|(id, _)| id)
        .ok_or_else(|| unknown(at, name, "a memory"))
}

fn processor(
    processors: &Arena<soc::Processor>,
    name: &str,
    at: &str,
) -> Result<ProcessorId, CaseError> {
    processors
        .iter()
        .find(|(_, processor)| processor.name == name)
        .map(|(id, _)| id)
        .ok_or_else(|| unknown(at, name, "a processor"))
}

fn chip(case: &Soc) -> Result<soc::Soc, CaseError> {
    let memories: Arena<_> = case
        .memories
        .iter()
        .map(|memory| soc::Memory {
            name: memory.name.clone(),
            limit: memory.bytes.map(Bytes::new),
        })
        .collect();
    let mut locations = Arena::new();
    let mut processors = Arena::new();
    for processor in &case.processors {
        let memory = memory(&memories, &processor.memory, &processor.name)?;
        let home = intern(
            &mut locations,
            Location {
                memory,
                layout: processor.layout,
            },
        );
        processors.push(soc::Processor {
            name: processor.name.clone(),
            kind: "cpu".to_owned(),
            memory,
            layout: processor.layout,
            home,
            sharing: factors(&processor.name, &processor.sharing)?,
            dispatch: Seconds::ZERO,
            fuses: processor.fuses.clone(),
            operating_points: vec![soc::OperatingPoint {
                name: "only".to_owned(),
                hertz: 1e9,
                volts: None,
                static_power: watts(processor.static_mw),
                dynamic_power: BTreeMap::new(),
                power_sources: BTreeSet::new(),
                models: BTreeMap::new(),
            }],
        });
    }
    let io = memory(&memories, &case.io, "io")?;
    let io_location = intern(
        &mut locations,
        Location {
            memory: io,
            layout: Layout::Any,
        },
    );
    Ok(soc::Soc {
        name: "case".to_owned(),
        digest: DIGEST.to_owned(),
        io,
        links: links(case, &memories)?,
        contention: contention(case, &processors)?,
        memories,
        processors,
        enqueue: Seconds::ZERO,
        base: watts(case.base_mw),
        synthetic: true,
        locations,
        io_location,
    })
}

/// Slowdowns by thousandths.
pub(super) fn factors(processor: &str, sharing: &[u32]) -> Result<Vec<Slowdown>, CaseError> {
    let factor = |&thousandths: &u32| {
        Slowdown::from_thousandths(thousandths).ok_or_else(|| CaseError::Factor {
            processor: processor.to_owned(),
            thousandths,
        })
    };
    sharing.iter().map(factor).collect()
}

fn intern(locations: &mut Arena<Location>, wanted: Location) -> LocationId {
    let known = locations
        .iter()
        .find(|(_, location)| **location == wanted)
        .map(|(id, _)| id);
    known.unwrap_or_else(|| locations.push(wanted))
}

fn links(case: &Soc, memories: &Arena<soc::Memory>) -> Result<Vec<soc::Link>, CaseError> {
    case.links
        .iter()
        .map(|link| {
            Ok(soc::Link {
                from: memory(memories, &link.from, "links")?,
                to: memory(memories, &link.to, "links")?,
                latency: seconds(link.latency_ns),
                bytes_per_second: bandwidth(link.ns_per_byte),
                convert_seconds_per_byte: seconds(link.convert_ns_per_byte),
                power: watts(link.power_mw),
                source: Source::Measured,
            })
        })
        .collect()
}

fn contention(
    case: &Soc,
    processors: &Arena<soc::Processor>,
) -> Result<Vec<soc::Contention>, CaseError> {
    case.contention
        .iter()
        .map(|entry| {
            let set = entry
                .set
                .iter()
                .map(|name| processor(processors, name, "contention"))
                .collect::<Result<_, _>>()?;
            let factor = entry
                .factor
                .iter()
                .map(|(name, &thousandths)| {
                    let slowdown = Slowdown::from_thousandths(thousandths).ok_or_else(|| {
                        CaseError::Factor {
                            processor: name.clone(),
                            thousandths,
                        }
                    })?;
                    Ok((processor(processors, name, "contention")?, slowdown))
                })
                .collect::<Result<_, CaseError>>()?;
            Ok(soc::Contention { set, factor })
        })
        .collect()
}

fn operator_costs(operator: &Operator, chip: &soc::Soc) -> Vec<Option<OperatorCost>> {
    let cost = |processor: &soc::Processor| {
        let time = operator.time_ns.get(&processor.name)?;
        let energy = operator.energy_nj.get(&processor.name).unwrap_or(&0);
        Some(OperatorCost {
            time: seconds(*time),
            energy: joules(*energy),
            workspace: Bytes::new(operator.workspace),
            source: Source::Measured,
        })
    };
    chip.processors
        .iter()
        .map(|(_, processor)| cost(processor))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "cases use small numbers")]
fn decimal(count: u64, unit: f64) -> f64 {
    count as f64 / unit
}

pub(super) fn seconds(nanoseconds: u64) -> Seconds {
    Seconds::new(decimal(nanoseconds, 1e9))
        .expect("an integer over a positive number is a quantity")
}

pub(super) fn joules(nanojoules: u64) -> Joules {
    Joules::new(decimal(nanojoules, 1e9)).expect("an integer over a positive number is a quantity")
}

pub(super) fn watts(milliwatts: u64) -> Watts {
    Watts::new(decimal(milliwatts, 1e3)).expect("an integer over a positive number is a quantity")
}

/// A link that takes no time a byte has a bandwidth beyond every tensor: profiles want a finite one.
fn bandwidth(ns_per_byte: u64) -> f64 {
    if ns_per_byte == 0 {
        1e30
    } else {
        1e9 / decimal(ns_per_byte, 1.0)
    }
}
