//! Random cases for property tests: small enough for enumeration, and full of ties and zeros, where solvers go wrong.
//!
//! Networks are series-parallel (chains, fan-in blocks, nested blocks, residual bypasses) or irregular, with several inputs and outputs, views and concatenations in place.
//! Chips have shared and separate memories, layouts, links, contention and unsupported operators.
//! Powers are whole watts and times whole nanoseconds, so that no rounding of decimals stands between two implementations.

use std::collections::BTreeMap;

use paracompile_plan::OpClass;
use paracompile_plan::plan::Layout;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::case::{
    Case, Contention, Expectation, Free, Limits, Link, Memory, Network, Operator, Origin,
    Processor, Soc, Status, Tensor,
};

/// Which classes operators have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classes {
    /// One that nothing fuses, so that operators and tasks are the same.
    Unfusable,
    /// Anchors, epilogues and others (rule M12); the oracle then needs the groups.
    Mixed,
}

/// How large cases are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The most operators that are not free.
    pub operators: usize,
    /// The most processors, at most three.
    pub processors: usize,
}

/// Cases without memory limits; every operator runs somewhere.
pub fn cases(sizes: Sizes, classes: Classes) -> impl Strategy<Value = Case> {
    (1..=sizes.processors)
        .prop_flat_map(move |processors| {
            (
                networks(sizes.operators, processors, classes),
                socs(processors),
            )
        })
        .prop_map(|(graph, soc)| Case {
            why: "random".to_owned(),
            source: Origin::BruteForce,
            graph,
            soc,
            limits: Limits::default(),
            expect: Expectation {
                status: Status::Optimal,
                error: Vec::new(),
                latency_ns: None,
                interval_ns: None,
                energy_active_nj: None,
                front: None,
                plans: Vec::new(),
                streams: Vec::new(),
            },
        })
}

/// Networks of at most `operators` operators with times on `processors` processors named as in [`socs`].
pub fn networks(
    operators: usize,
    processors: usize,
    classes: Classes,
) -> impl Strategy<Value = Network> {
    structures(operators)
        .prop_flat_map(move |structure| {
            let details = vec(detail(processors, classes), structure.len());
            (Just(structure), details)
        })
        .prop_map(|(structure, details)| network(&structure, &details))
}

/// Chips of `processors` processors, `p0`, `p1`, …, with every link.
pub fn socs(processors: usize) -> impl Strategy<Value = Soc> {
    let layout = prop_oneof![
        3 => Just(Layout::Any),
        1 => Just(Layout::Nchw),
        1 => Just(Layout::Nhwc),
    ];
    let memories = processors + 1;
    let processor = (0..memories, layout, 0..3u64, any::<bool>());
    let link = (0..3u64, 0..3u64, 0..2u64, 0..3u64);
    let factor = prop_oneof![Just(1000), Just(1250), Just(1500), Just(2100)];
    let contention = (
        proptest::bits::u8::masked((1 << processors) - 1),
        vec(factor, processors),
    );
    (
        vec(processor, processors),
        vec(link, memories * memories),
        vec(contention, 0..3),
        0..memories,
        0..3u64,
    )
        .prop_map(move |(processors, links, contention, io, base)| {
            soc(&processors, &links, &contention, io, base)
        })
}

/// Operands of each operator, in topological order.
type Structure = Vec<Vec<Operand>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Operand {
    Input(usize),
    Operator(usize),
}

fn structures(operators: usize) -> impl Strategy<Value = Structure> {
    prop_oneof![
        blocks(operators).prop_map(|block| series_parallel(&block)),
        irregular(operators),
    ]
    .prop_filter("within the size", move |structure| {
        (1..=operators).contains(&structure.len())
    })
}

/// A series-parallel network.
#[derive(Clone, Debug)]
enum Block {
    Operator,
    Series(Vec<Block>),
    /// A fork, branches, a join; a branch without operators is a bypass.
    Parallel(Vec<Block>),
}

fn blocks(operators: usize) -> impl Strategy<Value = Block> {
    let size = u32::try_from(operators).expect("cases are tiny");
    Just(Block::Operator).prop_recursive(3, size, 3, |inner| {
        let branch = prop_oneof![
            4 => inner.clone(),
            1 => Just(Block::Series(Vec::new())),
        ];
        prop_oneof![
            vec(inner, 1..4).prop_map(Block::Series),
            vec(branch, 2..4).prop_map(Block::Parallel),
        ]
    })
}

fn series_parallel(block: &Block) -> Structure {
    let mut structure = Vec::new();
    let end = grow(block, Operand::Input(0), &mut structure);
    if structure.is_empty() {
        structure.push(vec![end]);
    }
    structure
}

/// Appends a block behind `entry` and returns what leaves it.
fn grow(block: &Block, entry: Operand, structure: &mut Structure) -> Operand {
    match block {
        Block::Operator => {
            structure.push(vec![entry]);
            Operand::Operator(structure.len() - 1)
        }
        Block::Series(parts) => parts
            .iter()
            .fold(entry, |entry, part| grow(part, entry, structure)),
        Block::Parallel(branches) => {
            structure.push(vec![entry]);
            let fork = Operand::Operator(structure.len() - 1);
            let mut ends: Vec<_> = branches
                .iter()
                .map(|branch| grow(branch, fork, structure))
                .collect();
            ends.sort_unstable();
            ends.dedup();
            structure.push(ends);
            Operand::Operator(structure.len() - 1)
        }
    }
}

/// Each operator reads one to three of anything before it.
fn irregular(operators: usize) -> impl Strategy<Value = Structure> {
    (
        1..3usize,
        vec(vec(any::<prop::sample::Index>(), 1..4), 1..=operators),
    )
        .prop_map(|(inputs, picks)| {
            let mut known: Vec<_> = (0..inputs).map(Operand::Input).collect();
            let mut structure = Vec::new();
            for picks in &picks {
                let mut operands: Vec<_> = picks.iter().map(|pick| *pick.get(&known)).collect();
                operands.sort_unstable();
                operands.dedup();
                known.push(Operand::Operator(structure.len()));
                structure.push(operands);
            }
            structure
        })
}

/// How the operands of an operator reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrapping {
    Plain,
    /// The first one through a view.
    View,
    /// All of them as one concatenation in place.
    ConcatInPlace,
}

/// Everything about an operator but its operands.
#[derive(Clone, Debug)]
struct Detail {
    class: OpClass,
    times: Vec<Option<u64>>,
    energies: Vec<u64>,
    bytes: u64,
    weights: u64,
    workspace: u64,
    /// Whether its tensor leaves the network even where it is read.
    is_output: bool,
    wrapping: Wrapping,
}

fn detail(processors: usize, classes: Classes) -> impl Strategy<Value = Detail> {
    let class = match classes {
        Classes::Unfusable => Just(OpClass::Other).boxed(),
        Classes::Mixed => prop::sample::select(vec![
            OpClass::Conv,
            OpClass::Activation,
            OpClass::BatchNorm,
            OpClass::Elementwise,
            OpClass::Other,
        ])
        .boxed(),
    };
    let time = prop_oneof![2 => Just(0), 8 => 1..7u64];
    let times = vec(prop::option::weighted(0.85, time), processors).prop_map(|mut times| {
        // An operator that runs nowhere is another test's subject.
        if times.iter().all(Option::is_none) {
            times[0] = Some(3);
        }
        times
    });
    let wrapping = prop_oneof![
        8 => Just(Wrapping::Plain),
        1 => Just(Wrapping::View),
        1 => Just(Wrapping::ConcatInPlace),
    ];
    (
        (class, times, vec(0..4u64, processors), 1..5u64),
        (0..4u64, 0..3u64, prop::bool::weighted(0.15), wrapping),
    )
        .prop_map(|((class, times, energies, bytes), rest)| {
            let (weights, workspace, is_output, wrapping) = rest;
            Detail {
                class,
                times,
                energies,
                bytes,
                weights,
                workspace,
                is_output,
                wrapping,
            }
        })
}

fn processor_name(index: usize) -> String {
    format!("p{index}")
}

fn network(structure: &Structure, details: &[Detail]) -> Network {
    let mut network = Network::default();
    let mut bytes = BTreeMap::new();
    let read: Vec<Operand> = structure.iter().flatten().copied().collect();
    for operand in &read {
        if let Operand::Input(index) = operand {
            let name = tensor_name(*operand);
            let size = 1 + *index as u64;
            if bytes.insert(name.clone(), size).is_none() {
                network.inputs.push(Tensor { name, bytes: size });
            }
        }
    }
    for (index, (operands, detail)) in structure.iter().zip(details).enumerate() {
        let mut reads: Vec<_> = operands.iter().copied().map(tensor_name).collect();
        let wrap = |reads: &[String], free: Free, network: &mut Network| {
            let name = format!("free{index}");
            let size = reads.iter().map(|read| bytes[read]).sum();
            network.operators.push(Operator {
                name: format!("free_op{index}"),
                class: OpClass::Other,
                reads: reads.to_vec(),
                writes: vec![Tensor {
                    name: name.clone(),
                    bytes: size,
                }],
                weights: 0,
                workspace: 0,
                time_ns: BTreeMap::new(),
                energy_nj: BTreeMap::new(),
                free: Some(free),
            });
            name
        };
        match detail.wrapping {
            Wrapping::Plain => {}
            Wrapping::View => reads[0] = wrap(&reads[..1], Free::View, &mut network),
            Wrapping::ConcatInPlace => {
                reads = vec![wrap(&reads, Free::ConcatInPlace, &mut network)];
            }
        }
        let name = tensor_name(Operand::Operator(index));
        bytes.insert(name.clone(), detail.bytes);
        if detail.is_output || !read.contains(&Operand::Operator(index)) {
            network.outputs.push(name.clone());
        }
        network.operators.push(operator(index, name, reads, detail));
    }
    network
}

fn tensor_name(operand: Operand) -> String {
    match operand {
        Operand::Input(index) => format!("in{index}"),
        Operand::Operator(index) => format!("t{index}"),
    }
}

fn operator(index: usize, tensor: String, reads: Vec<String>, detail: &Detail) -> Operator {
    let by_name = |values: &mut dyn Iterator<Item = (usize, u64)>| {
        values
            .map(|(processor, value)| (processor_name(processor), value))
            .collect()
    };
    let supported = |processor: &usize| detail.times[*processor].is_some();
    Operator {
        name: format!("op{index}"),
        class: detail.class,
        reads,
        writes: vec![Tensor {
            name: tensor,
            bytes: detail.bytes,
        }],
        weights: detail.weights,
        workspace: detail.workspace,
        time_ns: by_name(
            &mut detail
                .times
                .iter()
                .enumerate()
                .filter_map(|(processor, time)| Some((processor, (*time)?))),
        ),
        energy_nj: by_name(
            &mut detail
                .energies
                .iter()
                .copied()
                .enumerate()
                .filter(|(processor, _)| supported(processor)),
        ),
        free: None,
    }
}

fn soc(
    processors: &[(usize, Layout, u64, bool)],
    links: &[(u64, u64, u64, u64)],
    contention: &[(u8, Vec<u32>)],
    io: usize,
    base_w: u64,
) -> Soc {
    let memory = |index: usize| format!("m{index}");
    let memories = processors.len() + 1;
    Soc {
        io: memory(io),
        memories: (0..memories)
            .map(|index| Memory {
                name: memory(index),
                bytes: None,
            })
            .collect(),
        processors: processors
            .iter()
            .enumerate()
            .map(|(index, &(home, layout, static_w, fuses))| Processor {
                name: processor_name(index),
                memory: memory(home),
                layout,
                static_mw: 1000 * static_w,
                fuses: if fuses {
                    vec![OpClass::Activation, OpClass::BatchNorm]
                } else {
                    Vec::new()
                },
                sharing: vec![1000],
            })
            .collect(),
        links: links
            .iter()
            .enumerate()
            .map(|(index, &(latency, a_byte, convert, power_w))| Link {
                from: memory(index / memories),
                to: memory(index % memories),
                latency_ns: latency,
                ns_per_byte: a_byte,
                convert_ns_per_byte: convert,
                power_mw: 1000 * power_w,
            })
            .collect(),
        contention: contention
            .iter()
            .filter(|(set, _)| set.count_ones() >= 2)
            .map(|(set, factors)| {
                let members = (0..processors.len()).filter(|index| set & (1 << index) != 0);
                Contention {
                    set: members.clone().map(processor_name).collect(),
                    factor: members
                        .map(|index| (processor_name(index), factors[index]))
                        .collect(),
                }
            })
            .collect(),
        base_mw: 1000 * base_w,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::test_runner::TestRunner;

    use super::*;

    const SIZES: Sizes = Sizes {
        operators: 7,
        processors: 3,
    };

    proptest! {
        #[test]
        fn random_cases_build(case in cases(SIZES, Classes::Mixed)) {
            let built = case.build();
            prop_assert!(built.is_ok(), "{:?}", built.err());
        }

        #[test]
        fn cases_read_back_as_they_were_written(case in cases(SIZES, Classes::Mixed)) {
            prop_assert_eq!(serde_json::from_str::<Case>(&case.to_json()).unwrap(), case);
        }
    }

    #[test]
    fn random_cases_have_all_that_they_promise() {
        let seen = Cell::new([false; 8]);
        let mut runner = TestRunner::deterministic();
        runner
            .run(&cases(SIZES, Classes::Unfusable), |case| {
                let free = |free| {
                    case.graph
                        .operators
                        .iter()
                        .any(|operator| operator.free == Some(free))
                };
                let now = [
                    case.graph.inputs.len() > 1,
                    case.graph.outputs.len() > 1,
                    free(Free::View),
                    free(Free::ConcatInPlace),
                    case.graph.operators.iter().any(|operator| {
                        operator.free.is_none()
                            && operator.time_ns.len() < case.soc.processors.len()
                    }),
                    !case.soc.contention.is_empty(),
                    case.soc.processors.len() == 3,
                    case.graph.operators.len() >= 7,
                ];
                let mut all = seen.get();
                for (all, now) in all.iter_mut().zip(now) {
                    *all |= now;
                }
                seen.set(all);
                Ok(())
            })
            .unwrap();
        assert_eq!(seen.get(), [true; 8]);
    }
}
