//! What graphs compute, compared with plain loops, on one and two processors, with one memory and two, and several queues.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paracompile_frontend::import::kernels::{Access, Argument, Origin};
use paracompile_plan::Plan;
use paracompile_runtime::execute::{
    Delays, Mode, Options, Order, Request, Sharing, Timeline, prepare_kernels,
};
use paracompile_runtime::users::{KernelProgram, kernel_inputs};

use crate::devices::parts;
use crate::graphs::{example, graph};
use crate::plans::{Lanes, plan};

/// Processors of the tests: one with a queue, one with several, two in one memory, two in two.
pub(crate) const MACHINES: [&[Lanes]; 4] = [
    &[Lanes {
        name: "a",
        memory: "dram",
        queues: 1,
    }],
    &[Lanes {
        name: "a",
        memory: "dram",
        queues: 3,
    }],
    &[
        Lanes {
            name: "a",
            memory: "dram",
            queues: 2,
        },
        Lanes {
            name: "b",
            memory: "dram",
            queues: 1,
        },
    ],
    &[
        Lanes {
            name: "a",
            memory: "dram",
            queues: 2,
        },
        Lanes {
            name: "b",
            memory: "own",
            queues: 2,
        },
    ],
];

/// Runs `frames` frames and returns when everything ran, and the outputs of every frame.
pub(crate) fn run(
    program: &KernelProgram,
    plan: &Plan,
    sharing: Sharing,
    frames: usize,
) -> (Order, Timeline, Vec<Vec<Vec<u8>>>) {
    let parts = parts(plan);
    let options = Options {
        delays: Some(Delays::Random(7)),
        sharing,
        ..Options::for_plan(plan)
    };
    let prepared = prepare_kernels(plan, program, &parts.bound, options).unwrap();
    let inputs = kernel_inputs(program, &[], 3).unwrap();
    let inputs: Vec<Vec<u8>> = inputs.into_iter().map(|tensor| tensor.bytes).collect();
    prepared.set_inputs(&inputs).unwrap();
    let interrupted = AtomicBool::new(false);
    let request = Request {
        mode: Mode::Stream,
        frames,
        patience: Duration::from_secs(60),
        interrupted: &interrupted,
    };
    let mut outputs = Vec::new();
    let mut sink = |_: usize, all: Vec<Vec<u8>>| outputs.push(all);
    let timeline = prepared.run(request, None, Some(&mut sink)).unwrap();
    let order = prepared.order().clone();
    drop(prepared);
    (order, timeline, outputs)
}

pub(crate) fn floats(bytes: &[u8]) -> Vec<f32> {
    let (chunks, _) = bytes.as_chunks::<4>();
    chunks
        .iter()
        .map(|&chunk| f32::from_le_bytes(chunk))
        .collect()
}

/// What a kernel of the examples and tests writes, by its buffers in order of position; absent where it writes nothing there.
fn reference(function: &str, buffers: &[Vec<f32>], size: usize, edge: usize) -> Vec<f32> {
    let pairs = |f: &dyn Fn(f32, f32) -> f32| -> Vec<f32> {
        buffers[0]
            .iter()
            .zip(&buffers[1])
            .map(|(&a, &b)| f(a, b))
            .collect()
    };
    let each = |f: &dyn Fn(f32) -> f32| -> Vec<f32> { buffers[0].iter().map(|&a| f(a)).collect() };
    match function {
        "add" | "vadd" => pairs(&|a, b| a + b),
        "twice" => each(&|a| 2.0 * a),
        "shift" => each(&|a| a + 1.5),
        "mirror" => {
            let mirrored = buffers[1].iter().rev();
            let pairs = buffers[0].iter().zip(mirrored);
            pairs.map(|(a, b)| a + b).collect()
        }
        "slow" => each(&|a| a + 1.0),
        "vsin" => each(&f32::sin),
        "scale" => each(&|a| 0.5 * a),
        "empty" => buffers[0].clone(),
        "group_sums" => {
            let group = buffers[0].len() / size;
            buffers[0]
                .chunks(group)
                .map(|group| group.iter().sum())
                .collect()
        }
        "add_group" => {
            let group = buffers[0].len() / buffers[1].len();
            let added = buffers[0].iter().enumerate();
            added.map(|(at, x)| x + buffers[1][at / group]).collect()
        }
        "FFC_sans_bias" => {
            let (a, b) = (&buffers[0], &buffers[1]);
            let element = |at: usize| {
                let (row, column) = (at / edge, at % edge);
                let terms = (0..edge)
                    .map(|k| f64::from(a[row * edge + k]) * f64::from(b[k * edge + column]));
                terms.sum::<f64>() as f32
            };
            (0..edge * edge).map(element).collect()
        }
        "coalesced_transpose" => {
            let element = |at: usize| buffers[0][(at % edge) * edge + at / edge];
            (0..edge * edge).map(element).collect()
        }
        "softmax" => buffers[0]
            .chunks(edge)
            .flat_map(|row| {
                let most = row.iter().copied().fold(f32::MIN, f32::max);
                let all: Vec<f64> = row.iter().map(|x| f64::from(x - most).exp()).collect();
                let sum: f64 = all.iter().sum();
                all.into_iter().map(move |x| (x / sum) as f32)
            })
            .collect(),
        other => panic!("no reference for {other}"),
    }
}

/// What a graph computes, by kernel and position, one kernel after another.
pub(crate) fn expected(program: &KernelProgram) -> Vec<Vec<f32>> {
    let inputs = kernel_inputs(program, &[], 3).unwrap();
    let mut inputs = inputs.iter().map(|tensor| floats(&tensor.bytes));
    let mut written: BTreeMap<(usize, usize), Vec<f32>> = BTreeMap::new();
    for (id, kernel) in program.linked.graph.kernels.iter() {
        let (mut read, mut targets) = (Vec::new(), Vec::new());
        for (position, argument) in kernel.arguments.iter().enumerate() {
            let Argument::Buffer(buffer) = argument else {
                continue;
            };
            if let Some(origin) = buffer.access.origin() {
                read.push(match origin {
                    Origin::Host(_) => inputs.next().unwrap(),
                    Origin::Kernel { kernel, position } => {
                        written[&(kernel.index(), *position)].clone()
                    }
                });
            }
            if !matches!(buffer.access, Access::In(_)) {
                targets.push((position, buffer.elements as usize));
            }
        }
        let [(position, size)] = targets[..] else {
            panic!("every kernel here writes one buffer");
        };
        let edge = size.isqrt();
        let result = reference(&kernel.function, &read, size, edge);
        written.insert((id.index(), position), result);
    }
    let read: Vec<(usize, usize)> = program
        .linked
        .graph
        .edges()
        .map(|edge| (edge.from.0.index(), edge.from.1))
        .collect();
    written
        .into_iter()
        .filter(|(end, _)| !read.contains(end))
        .map(|(_, values)| values)
        .collect()
}

/// Runs a graph on a machine, with kernels spread over its queues by `spread`, and compares every frame.
pub(crate) fn holds(program: &KernelProgram, lanes: &[Lanes], spread: usize) {
    let queues: usize = lanes.iter().map(|lanes| lanes.queues).sum();
    let plan = plan(program, lanes, &|kernel| {
        (kernel * spread + kernel / 3) % queues
    });
    let has_two = lanes.iter().any(|lanes| lanes.memory != "dram");
    let sharings = if has_two {
        vec![Sharing::Platform, Sharing::Memory]
    } else {
        vec![Sharing::Platform]
    };
    let expected = expected(program);
    for sharing in sharings {
        let (_, _, frames) = run(program, &plan, sharing, 5);
        for (frame, outputs) in frames.iter().enumerate() {
            assert_eq!(outputs.len(), expected.len());
            for (found, expected) in outputs.iter().zip(&expected) {
                let found = floats(found);
                let most = found
                    .iter()
                    .zip(expected)
                    .map(|(one, other)| (one - other).abs() / (1.0 + other.abs()))
                    .fold(0.0, f32::max);
                assert!(
                    most < 1e-3 && found.len() == expected.len(),
                    "{sharing:?}, {lanes:?}, frame {frame}: off by {most}"
                );
            }
        }
    }
}

#[test]
fn examples_compute_what_plain_loops_do() {
    for name in ["vadd_vsin.json", "irregular.json"] {
        let program = example(name);
        for lanes in MACHINES {
            holds(&program, lanes, 1);
            holds(&program, lanes, 2);
        }
    }
}

#[test]
fn heads_of_attention_compute_what_plain_loops_do() {
    let program = example("attention_h2_b64.graph");
    for lanes in MACHINES {
        holds(&program, lanes, 1);
    }
}

#[test]
fn what_is_changed_in_place_keeps_what_others_read() {
    // `one` is changed by `b` and `c`, and read by `d` as it was.
    let kept = graph(
        &[
            ("a", "twice"),
            ("b", "shift"),
            ("c", "shift"),
            ("d", "slow"),
            ("e", "add"),
            ("f", "add"),
        ],
        &[
            ("a.b", "b.x"),
            ("a.b", "c.x"),
            ("a.b", "d.a"),
            ("b.x", "e.a"),
            ("c.x", "e.b"),
            ("e.c", "f.a"),
            ("d.b", "f.b"),
        ],
    );
    // A chain of changes is one memory.
    let chain = graph(
        &[
            ("a", "twice"),
            ("b", "shift"),
            ("c", "shift"),
            ("d", "shift"),
            ("e", "twice"),
        ],
        &[
            ("a.b", "b.x"),
            ("b.x", "c.x"),
            ("c.x", "d.x"),
            ("d.x", "e.a"),
        ],
    );
    // An input is the same in every frame, whoever changes it.
    let input = graph(&[("a", "shift"), ("b", "shift")], &[("a.x", "b.x")]);
    // One kernel changes what it reads by another argument.
    let both = graph(
        &[("a", "twice"), ("b", "mirror")],
        &[("a.b", "b.x"), ("a.b", "b.y")],
    );
    for program in [&kept, &chain, &input, &both] {
        for lanes in MACHINES {
            for spread in 1..4 {
                holds(program, lanes, spread);
            }
        }
    }
}
