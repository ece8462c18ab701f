//! Policies: what they compute, in which order, on which queues, and what of them is refused.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paracompile_frontend::import::kernels::{Device, KernelId};
use paracompile_runtime::execute::{Bound, Sharing};
use paracompile_runtime::schedule::{
    Choice, Clustering, Components, Eager, Executed, Grouping, Heft, Policy, Report, Resource,
    ScheduleError, ScheduleRequest, Situation, What, schedule,
};
use paracompile_runtime::users::{KernelProgram, kernel_inputs};

use crate::devices::parts;
use crate::graphs::{example, graph};
use crate::plans::{Lanes, plan};
use crate::results::{expected, floats};

const MACHINE: &[Lanes] = &[
    Lanes {
        name: "gpu",
        memory: "dram",
        queues: 3,
    },
    Lanes {
        name: "cpu",
        memory: "own",
        queues: 2,
    },
];

fn resources(program: &KernelProgram, lanes: &[Lanes]) -> Vec<Resource> {
    let parts = parts(&plan(program, lanes, &|_| 0));
    let bound = parts.bound.into_iter().zip(lanes);
    bound
        .map(|(bound, lanes): (Bound, &Lanes)| Resource {
            bound,
            queues: lanes.queues,
        })
        .collect()
}

fn run(
    program: &KernelProgram,
    policy: &mut dyn Policy,
    sharing: Sharing,
) -> Result<Report, ScheduleError> {
    let inputs = kernel_inputs(program, &[], 3).unwrap();
    let inputs: Vec<Vec<u8>> = inputs.into_iter().map(|tensor| tensor.bytes).collect();
    let interrupted = AtomicBool::new(false);
    let request = ScheduleRequest {
        frames: 4,
        rehearsals: 1,
        sharing,
        granularity: None,
        patience: Duration::from_secs(60),
        interrupted: &interrupted,
    };
    schedule(
        program,
        &resources(program, MACHINE),
        policy,
        &inputs,
        request,
    )
}

fn clustering(program: &KernelProgram, on_cpu: Option<usize>) -> Clustering {
    let grouping = match on_cpu {
        Some(_) => Grouping::Joined,
        None => Grouping::Specified,
    };
    let components = Components::new(&program.linked.graph, grouping).unwrap();
    let preferred = components
        .all
        .iter()
        .map(|component| program.kernel(component.kernels[0]).device);
    Clustering {
        grouping,
        on_cpu,
        preferred: preferred.collect(),
    }
}

fn launches(commands: &[Executed]) -> Vec<&Executed> {
    let mut found: Vec<&Executed> = commands
        .iter()
        .filter(|one| one.what == What::Launch)
        .collect();
    found.sort_by_key(|one| one.index);
    found
}

/// Every kernel ran once, after all that it waits for, and what it computed is right.
fn holds(program: &KernelProgram, report: &Report) {
    for frame in &report.frames {
        let launches = launches(&frame.commands);
        assert_eq!(launches.len(), program.graph.ops.len());
        for (id, kernel) in program.linked.graph.kernels.iter() {
            for parent in kernel.parents() {
                let (own, before) = (launches[id.index()], launches[parent.index()]);
                assert!(
                    own.start_ns >= before.end_ns,
                    "{} before {}",
                    own.kernel,
                    before.kernel
                );
            }
        }
        assert!(frame.device_span_ns <= frame.total_ns);
    }
    for (found, expected) in report.outputs.iter().zip(expected(program)) {
        let found = floats(found);
        let pairs = found.iter().zip(&expected);
        let most = pairs
            .map(|(one, other)| (one - other).abs() / (1.0 + other.abs()))
            .fold(0.0, f32::max);
        assert!(
            most < 1e-3 && found.len() == expected.len(),
            "off by {most}"
        );
    }
}

#[test]
fn every_policy_computes_what_plain_loops_do() {
    for name in ["vadd_vsin.json", "irregular.json", "attention_h2_b64.graph"] {
        let program = example(name);
        for sharing in [Sharing::Platform, Sharing::Memory] {
            holds(&program, &run(&program, &mut Eager, sharing).unwrap());
            holds(&program, &run(&program, &mut Heft, sharing).unwrap());
            let mut clustering = clustering(&program, None);
            holds(&program, &run(&program, &mut clustering, sharing).unwrap());
        }
    }
}

#[test]
fn heads_go_to_the_cpu_as_asked_and_take_its_queues_in_turn() {
    let program = example("attention_h2_b64.graph");
    let report = run(
        &program,
        &mut clustering(&program, Some(1)),
        Sharing::Memory,
    )
    .unwrap();
    holds(&program, &report);
    assert_eq!(report.components, 2);
    let count = |device: &str, queue: usize| {
        let launches = launches(&report.frames[0].commands);
        launches
            .iter()
            .filter(|one| one.device == device && one.queue == queue)
            .count()
    };
    assert_eq!([0, 1].map(|queue| count("cpu", queue)), [5, 4]);
    assert_eq!([0, 1, 2].map(|queue| count("gpu", queue)), [3, 3, 3]);
}

#[test]
fn what_stays_inside_a_component_is_never_copied() {
    let program = example("irregular.json");
    let report = run(&program, &mut clustering(&program, None), Sharing::Memory).unwrap();
    // The host shares the memory of the first device. On the other one `d` reads b.x and `e` c.c, and `f` writes what `g` reads;
    // d.out and e.x stay.
    for frame in &report.frames {
        let copies: Vec<(&str, What)> = frame
            .commands
            .iter()
            .filter(|one| one.what != What::Launch)
            .map(|one| (one.kernel.as_str(), one.what))
            .collect();
        assert_eq!(
            copies,
            [("d", What::Write), ("e", What::Write), ("f", What::Read)]
        );
    }
}

#[test]
fn components_have_fronts_and_ends() {
    let program = example("irregular.json");
    let components = Components::new(&program.linked.graph, Grouping::Specified).unwrap();
    let names = |ids: &std::collections::BTreeSet<KernelId>| -> String {
        let mut names: Vec<&str> = ids
            .iter()
            .map(|&id| program.kernel(id).name.as_str())
            .collect();
        names.sort_unstable();
        names.concat()
    };
    let sets: Vec<(String, String)> = components
        .all
        .iter()
        .map(|component| (names(&component.front), names(&component.end)))
        .collect();
    // The first component reads nothing of another one: its sources stand for the front.
    let of = |front: &str, end: &str| (front.to_owned(), end.to_owned());
    assert_eq!(sets, [of("a", "bc"), of("de", "f"), of("g", "")]);
}

#[test]
fn every_parent_is_waited_for_across_the_queues_of_a_component() {
    let program = graph(
        &[
            ("slow", "slow"),
            ("quick", "twice"),
            ("join", "add"),
            ("last", "shift"),
        ],
        &[
            ("slow.b", "join.a"),
            ("quick.b", "join.b"),
            ("join.c", "last.x"),
        ],
    );
    let report = run(
        &program,
        &mut clustering(&program, Some(0)),
        Sharing::Platform,
    )
    .unwrap();
    assert_eq!(report.components, 1);
    holds(&program, &report);
    let frame = launches(&report.frames[0].commands);
    assert_ne!(frame[0].queue, frame[2].queue);
}

#[test]
fn a_device_is_chosen_again_only_when_its_component_has_ended() {
    let program = example("attention_h2_b64.graph");
    let report = run(&program, &mut Eager, Sharing::Platform).unwrap();
    for frame in &report.frames {
        for device in ["gpu", "cpu"] {
            let mut spans: Vec<(i64, i64)> = frame
                .commands
                .iter()
                .filter(|one| one.device == device)
                .map(|one| (one.start_ns, one.end_ns))
                .collect();
            spans.sort_unstable();
            assert!(
                spans.windows(2).all(|pair| pair[1].0 >= pair[0].1),
                "{device}: {spans:?}"
            );
        }
    }
}

#[test]
fn a_component_begins_before_all_of_it_is_enqueued() {
    const KERNELS: usize = 800;
    let names: Vec<String> = (0..KERNELS).map(|index| format!("k{index}")).collect();
    let launches: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "shift")).collect();
    let ends: Vec<(String, String)> = names
        .windows(2)
        .map(|pair| (format!("{}.x", pair[0]), format!("{}.x", pair[1])))
        .collect();
    let edges: Vec<(&str, &str)> = ends
        .iter()
        .map(|(from, to)| (from.as_str(), to.as_str()))
        .collect();
    let program = graph(&launches, &edges);
    let report = run(
        &program,
        &mut clustering(&program, Some(0)),
        Sharing::Platform,
    )
    .unwrap();
    let begins_early = report.frames.iter().any(|frame| {
        let first = frame.commands.iter().map(|one| one.start_ns).min().unwrap();
        first < frame.host_ns
    });
    assert!(
        begins_early,
        "nothing ran before the last kernel was enqueued"
    );
}

/// Chooses what it was told to.
struct Stubborn(Option<Choice>);

impl Policy for Stubborn {
    fn select(&mut self, _: &Situation<'_>) -> Option<Choice> {
        self.0
    }
}

#[test]
fn choices_that_cannot_begin_are_refused() {
    let program = graph(&[("a", "twice"), ("b", "twice")], &[("a.b", "b.a")]);
    let refused = |choice| run(&program, &mut Stubborn(choice), Sharing::Platform).unwrap_err();
    assert!(matches!(refused(None), ScheduleError::Idle { frontier: 1 }));
    for (component, device) in [(1, 0), (7, 0), (0, 9)] {
        let error = refused(Some(Choice { component, device }));
        assert!(matches!(error, ScheduleError::Choice { .. }), "{error}");
    }
}

#[test]
fn components_that_wait_for_each_other_are_refused() {
    let program = graph(
        &[("a", "twice"), ("b", "twice"), ("c", "twice")],
        &[("a.b", "b.a"), ("b.b", "c.a")],
    );
    let mut linked = program.linked.graph.clone();
    let ids: Vec<KernelId> = linked.kernels.iter().map(|(id, _)| id).collect();
    for (&id, component) in ids.iter().zip([0, 1, 0]) {
        linked.kernels[id].component = Some(component);
        linked.kernels[id].device = Some(Device::Cpu);
    }
    assert_eq!(Components::new(&linked, Grouping::Specified), None);
    assert!(Components::new(&linked, Grouping::Joined).is_some());
}

#[test]
fn components_that_nobody_stated_are_cut_where_they_would_wait_for_each_other() {
    // `a` goes by way of the CPU to `d` and straight to it; `e` belongs to `d`.
    let program = graph(
        &[
            ("a", "twice"),
            ("b", "twice"),
            ("c", "twice"),
            ("d", "add"),
            ("e", "twice"),
        ],
        &[
            ("a.b", "b.a"),
            ("b.b", "c.a"),
            ("c.b", "d.a"),
            ("a.b", "d.b"),
            ("d.c", "e.a"),
        ],
    );
    let mut linked = program.linked.graph.clone();
    let ids: Vec<KernelId> = linked.kernels.iter().map(|(id, _)| id).collect();
    let devices = [
        Device::Gpu,
        Device::Cpu,
        Device::Cpu,
        Device::Gpu,
        Device::Gpu,
    ];
    for (&id, device) in ids.iter().zip(devices) {
        linked.kernels[id].device = Some(device);
    }
    let components = Components::new(&linked, Grouping::Specified).unwrap();
    assert_eq!(components.of, [0, 1, 1, 2, 2]);
    // Without the second way nothing has to be cut.
    let apart = graph(
        &[("a", "twice"), ("b", "twice"), ("c", "add")],
        &[("a.b", "c.a"), ("b.b", "c.b")],
    );
    let mut linked = apart.linked.graph.clone();
    let ids: Vec<KernelId> = linked.kernels.iter().map(|(id, _)| id).collect();
    for (&id, device) in ids.iter().zip([Device::Gpu, Device::Cpu, Device::Gpu]) {
        linked.kernels[id].device = Some(device);
    }
    let components = Components::new(&linked, Grouping::Specified).unwrap();
    assert_eq!(components.of, [0, 1, 0]);
}
