//! What the checker knows of a case, from the case itself: neither the graph nor the cost table that the compiler takes has a part in it.

use std::collections::BTreeMap;

use paracompile_plan::facts::{
    ContentionFacts, CostFacts, LinkFacts, MemoryFacts, ModelFacts, OperatorCost, OperatorFacts,
    ProcessorFacts, TensorFacts,
};
use paracompile_plan::plan::{ModelKind, OperatorRef, Source};
use paracompile_plan::{Bytes, Milliwatts, Nanoseconds, Slowdown};

use super::build::{DIGEST, joules, seconds, watts};
use super::{Case, CaseError, Free, Network, Operator, Soc};

impl Case {
    /// What the checker knows of the network.
    pub fn model_facts(&self) -> Result<ModelFacts, CaseError> {
        let mut model = ModelFacts {
            name: "case".to_owned(),
            kind: ModelKind::Onnx,
            graph_digest: DIGEST.to_owned(),
            dims: BTreeMap::new(),
            rewrites: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            operators: Vec::new(),
            tensors: Vec::new(),
        };
        for input in &self.graph.inputs {
            let tensor = push(&mut model, &input.name, input.bytes, false, Vec::new());
            model.inputs.push(tensor);
        }
        for (node, operator) in self.graph.operators.iter().enumerate() {
            push_operator(&mut model, node, operator)?;
        }
        for name in &self.graph.outputs {
            let tensor = index(&model, name, "outputs")?;
            model.outputs.push(tensor);
        }
        Ok(model)
    }

    /// What the checker knows of the chip.
    pub fn cost_facts(&self) -> Result<CostFacts, CaseError> {
        let soc = &self.soc;
        let memory = |name: &str| {
            position(
                soc.memories.iter().map(|memory| &memory.name),
                name,
                "a memory",
            )
        };
        let processor = |name: &str| {
            position(
                soc.processors.iter().map(|processor| &processor.name),
                name,
                "a processor",
            )
        };
        Ok(CostFacts {
            soc_name: "case".to_owned(),
            soc_digest: DIGEST.to_owned(),
            io: memory(&soc.io)?,
            memories: soc
                .memories
                .iter()
                .map(|memory| MemoryFacts {
                    name: memory.name.clone(),
                    limit: memory.bytes.map(Bytes::new),
                })
                .collect(),
            processors: soc
                .processors
                .iter()
                .map(|processor| {
                    Ok(ProcessorFacts {
                        name: processor.name.clone(),
                        memory: memory(&processor.memory)?,
                        layout: processor.layout,
                        operating_point: "only".to_owned(),
                        static_power: Milliwatts::new(processor.static_mw),
                        dispatch: Nanoseconds::ZERO,
                        sharing: super::build::factors(&processor.name, &processor.sharing)?,
                        fuses: processor.fuses.clone(),
                    })
                })
                .collect::<Result<_, CaseError>>()?,
            operators: costs(&self.graph, soc),
            links: soc
                .links
                .iter()
                .map(|link| {
                    Ok(LinkFacts {
                        from: memory(&link.from)?,
                        to: memory(&link.to)?,
                        latency: seconds(link.latency_ns),
                        seconds_per_byte: seconds(link.ns_per_byte),
                        convert_seconds_per_byte: seconds(link.convert_ns_per_byte),
                        power: watts(link.power_mw),
                    })
                })
                .collect::<Result<_, CaseError>>()?,
            contention: soc
                .contention
                .iter()
                .map(|entry| {
                    let mut set = entry
                        .set
                        .iter()
                        .map(|name| processor(name))
                        .collect::<Result<Vec<_>, _>>()?;
                    set.sort_unstable();
                    let factor = entry
                        .factor
                        .iter()
                        .map(|(name, &thousandths)| {
                            let slowdown =
                                Slowdown::from_thousandths(thousandths).ok_or_else(|| {
                                    CaseError::Factor {
                                        processor: name.clone(),
                                        thousandths,
                                    }
                                })?;
                            Ok((processor(name)?, slowdown))
                        })
                        .collect::<Result<_, CaseError>>()?;
                    Ok(ContentionFacts { set, factor })
                })
                .collect::<Result<_, CaseError>>()?,
            enqueue: Nanoseconds::ZERO,
            base: Milliwatts::new(soc.base_mw),
        })
    }
}

fn push(
    model: &mut ModelFacts,
    name: &str,
    bytes: u64,
    weight: bool,
    made_of: Vec<usize>,
) -> usize {
    model.tensors.push(TensorFacts {
        name: name.to_owned(),
        dtype: "uint8".to_owned(),
        shape: vec![bytes],
        bytes: Bytes::new(bytes),
        weight,
        made_of,
    });
    model.tensors.len() - 1
}

fn push_operator(
    model: &mut ModelFacts,
    node: usize,
    operator: &Operator,
) -> Result<(), CaseError> {
    let mut reads = operator
        .reads
        .iter()
        .map(|name| index(model, name, &operator.name))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(free) = operator.free {
        let made_of = match free {
            Free::View => reads.into_iter().take(1).collect(),
            Free::ConcatInPlace => reads,
        };
        for tensor in &operator.writes {
            push(model, &tensor.name, tensor.bytes, false, made_of.clone());
        }
        return Ok(());
    }
    if operator.weights > 0 {
        let name = format!("{}.weight", operator.name);
        reads.push(push(model, &name, operator.weights, true, Vec::new()));
    }
    let writes = operator
        .writes
        .iter()
        .map(|tensor| push(model, &tensor.name, tensor.bytes, false, Vec::new()))
        .collect();
    let output = operator
        .writes
        .first()
        .map_or_else(String::new, |tensor| tensor.name.clone());
    model.operators.push(OperatorFacts {
        at: OperatorRef {
            node: u32::try_from(node).expect("cases are tiny"),
            inside: Vec::new(),
            output,
        },
        class: operator.class,
        reads,
        writes,
        launch: None,
    });
    Ok(())
}

fn costs(network: &Network, soc: &Soc) -> Vec<Vec<Option<OperatorCost>>> {
    network
        .operators
        .iter()
        .filter(|operator| operator.free.is_none())
        .map(|operator| {
            soc.processors
                .iter()
                .map(|processor| {
                    let time = *operator.time_ns.get(&processor.name)?;
                    let energy = operator.energy_nj.get(&processor.name).copied();
                    Some(OperatorCost {
                        time: seconds(time),
                        energy: joules(energy.unwrap_or(0)),
                        workspace: Bytes::new(operator.workspace),
                        source: Source::Measured,
                    })
                })
                .collect()
        })
        .collect()
}

fn index(model: &ModelFacts, name: &str, at: &str) -> Result<usize, CaseError> {
    model
        .tensors
        .iter()
        .position(|tensor| tensor.name == name)
        .ok_or_else(|| CaseError::Unknown {
            at: at.to_owned(),
            name: name.to_owned(),
            what: "a tensor written before",
        })
}

fn position<'a>(
    mut names: impl Iterator<Item = &'a String>,
    name: &str,
    what: &'static str,
) -> Result<usize, CaseError> {
    names
        .position(|other| other == name)
        .ok_or_else(|| CaseError::Unknown {
            at: "soc".to_owned(),
            name: name.to_owned(),
            what,
        })
}
