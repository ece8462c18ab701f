//! Several queues of a device: every parent is waited for, work begins while more is enqueued, and nothing is lost.

use paracompile_runtime::execute::{Sharing, Span, Work};

use crate::graphs::graph;
use crate::plans::{Lanes, plan};
use crate::results::{holds, run};

const THREE: &[Lanes] = &[Lanes {
    name: "a",
    memory: "dram",
    queues: 3,
}];
const APART: &[Lanes] = &[
    Lanes {
        name: "a",
        memory: "dram",
        queues: 2,
    },
    Lanes {
        name: "b",
        memory: "own",
        queues: 1,
    },
];

/// Spans of the tasks of every frame, by kernel.
fn spans(lanes: &[Lanes], queue_of: &dyn Fn(usize) -> usize, frames: usize) -> Vec<Vec<Span>> {
    let program = diamond();
    let plan = plan(&program, lanes, queue_of);
    let (order, timeline, _) = run(&program, &plan, Sharing::Memory, frames);
    let by_task = |spans: &[Span]| {
        let mut found = vec![Span { start: 0, end: 0 }; plan.tasks.len()];
        for (node, span) in order.nodes.iter().zip(spans) {
            if let Work::Task(task) = node.work {
                found[task as usize] = *span;
            }
        }
        found
    };
    timeline
        .frames
        .iter()
        .map(|frame| by_task(&frame.spans))
        .collect()
}

/// Two parents of one kernel: a slow one and a quick one.
fn diamond() -> paracompile_runtime::users::KernelProgram {
    graph(
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
    )
}

#[test]
fn every_parent_is_waited_for_whatever_its_queue() {
    // The last parent in the order of the graph ends first, so waiting for it alone would show.
    for (lanes, queues) in [
        (THREE, [0, 1, 2, 0]),
        (THREE, [1, 0, 2, 2]),
        (APART, [0, 1, 2, 1]),
    ] {
        for frame in spans(lanes, &|kernel| queues[kernel], 10) {
            let [slow, quick, join, last] = frame[..] else {
                panic!("four kernels");
            };
            assert!(
                join.start >= slow.end && join.start >= quick.end,
                "{queues:?}"
            );
            assert!(last.start >= join.end, "{queues:?}");
        }
    }
    for lanes in [THREE, APART] {
        holds(&diamond(), lanes, 1);
        holds(&diamond(), lanes, 2);
    }
}

#[test]
fn a_buffer_that_is_read_inside_and_outside_reaches_both() {
    // `a` is read by `b` on its own device and by `c` on the other one.
    let program = graph(
        &[("a", "slow"), ("b", "twice"), ("c", "twice"), ("d", "add")],
        &[
            ("a.b", "b.a"),
            ("a.b", "c.a"),
            ("b.b", "d.a"),
            ("c.b", "d.b"),
        ],
    );
    holds(&program, APART, 1);
    holds(&program, APART, 2);
    let plan = plan(&program, APART, &|kernel| [0, 1, 2, 0][kernel]);
    assert_eq!(
        plan.transfers.len(),
        2,
        "the buffer goes there, and a result comes back"
    );
}

#[test]
fn queues_are_not_taken_again_before_they_have_ended() {
    let frames = spans(THREE, &|kernel| [0, 1, 2, 0][kernel], 20);
    for pair in frames.windows(2) {
        let end = pair[0].iter().map(|span| span.end).max().unwrap();
        let start = pair[1].iter().map(|span| span.start).min().unwrap();
        assert!(
            start >= end,
            "a frame began on queues that were still in use"
        );
    }
}

#[test]
fn execution_begins_before_everything_is_enqueued() {
    const KERNELS: usize = 1500;
    let names: Vec<String> = (0..KERNELS).map(|index| format!("k{index}")).collect();
    let launches: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "twice")).collect();
    let program = graph(&launches, &[]);
    let plan = plan(&program, THREE, &|kernel| kernel % 3);
    let (_, timeline, _) = run(&program, &plan, Sharing::Platform, 5);
    let begins_early = timeline.frames.iter().any(|frame| {
        let first = frame.spans.iter().map(|span| span.start).min().unwrap();
        first < frame.admitted + frame.enqueueing
    });
    assert!(
        begins_early,
        "no frame started before its last kernel was enqueued"
    );
}
