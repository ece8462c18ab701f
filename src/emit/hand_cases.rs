//! Cases whose figures were worked out by hand, each the smallest one for its rule.

use std::collections::BTreeMap;

use paracompile_frontend::soc::{Contention, ProcessorSet, Soc};
use paracompile_plan::plan::{Action, BufferKind, TaskKernel, Wait};
use paracompile_plan::{Nanojoules, Nanoseconds, Slowdown, Watts, check};

use super::fixtures::{HandOp, Scenario, hand};
use crate::estimate::Estimate;
use crate::simulate::{self, Change, Links, SimulateError, SimulateOptions, simulate};

fn op<'a>(times: &'a [u32], reads: &'a [usize], writes: &'a [u64]) -> HandOp<'a> {
    HandOp {
        times,
        reads,
        writes,
    }
}

/// The figures, after the checker has agreed with them.
fn judged(scenario: &Scenario) -> Estimate {
    let estimate = scenario.estimate();
    let plan = scenario.plan(&estimate);
    assert_eq!(check(&plan, &scenario.model, &scenario.costs), vec![]);
    estimate
}

fn latency(scenario: &Scenario) -> u64 {
    judged(scenario).latency.count()
}

fn unchanged(_: &mut Soc) {}

fn slowed(factor: u32) -> impl FnOnce(&mut Soc) {
    move |soc| {
        let factor = Slowdown::from_thousandths(factor).unwrap();
        soc.contention = vec![Contention {
            set: ProcessorSet::first(2),
            factor: soc.processors.ids().map(|id| (id, factor)).collect(),
        }];
    }
}

#[test]
fn a_residual_bypass_waits_for_its_own_move() {
    // x, a and add take (1, 10), (1, 10) and (10, 1); x -> a takes 5 to move, x -> add 20, a -> add 5, the result 1.
    let ops = [
        op(&[1, 10], &[0], &[5, 20]),
        op(&[1, 10], &[1], &[5]),
        op(&[10, 1], &[3, 2], &[1]),
    ];
    let placed = |placement: &[usize]| latency(&hand(&ops, &[4], &[placement], unchanged));
    // 1 + 1 + 10.
    assert_eq!(placed(&[0, 0, 0]), 12);
    // The bypass arrives at 1 + 20, long after a's result; then 1 to add and 1 to bring the sum back.
    assert_eq!(placed(&[0, 0, 1]), 23);
}

#[test]
fn two_readers_in_one_memory_share_a_move() {
    // x on p0, both readers on p1: 3 + 4 (one move) + 5 + 5, then 2 results of 1 each beside each other.
    let ops = [
        op(&[3, 3], &[0], &[4]),
        op(&[5, 5], &[1], &[1]),
        op(&[5, 5], &[1], &[1]),
    ];
    let scenario = hand(&ops, &[2, 3], &[&[0, 1, 1]], unchanged);
    let estimate = judged(&scenario);
    assert_eq!(estimate.latency, Nanoseconds::new(3 + 4 + 5 + 5 + 1));
    // Three moves in all: the shared one and two results.
    assert_eq!(estimate.energy_dynamic, Nanojoules::new(13 + 4 + 2));
    assert_eq!(scenario.plan(&estimate).transfers.len(), 3);
}

#[test]
fn inputs_come_from_io_and_outputs_return_there() {
    let ops = [op(&[7, 7], &[0], &[3])];
    assert_eq!(latency(&hand(&ops, &[1], &[&[0]], unchanged)), 7);
    assert_eq!(latency(&hand(&ops, &[1], &[&[1]], unchanged)), 10 + 7 + 3);
}

#[test]
fn an_output_in_the_middle_does_not_delay_the_rest() {
    // a (2) on p1 is an output of 50 elements and is read by b (3) on p1.
    let ops = [op(&[2, 2], &[0], &[50]), op(&[3, 3], &[1], &[1])];
    let scenario = hand(&ops, &[1, 2], &[&[1, 1]], unchanged);
    // Input 10, a until 12, its move until 62; b is done at 15 and back at 16.
    assert_eq!(latency(&scenario), 62);
}

#[test]
fn a_para_only_interval_is_its_makespan_and_the_bound_its_load() {
    let ops = [op(&[6, 6], &[0], &[1]), op(&[5, 5], &[1], &[1])];
    let estimate = judged(&hand(&ops, &[2], &[&[0, 1]], unchanged));
    // 6, move 1, 5, move 1.
    assert_eq!(estimate.interval, Nanoseconds::new(13));
    assert_eq!(estimate.interval_bound, Nanoseconds::new(6));
}

#[test]
fn contention_counts_in_the_interval_and_not_in_the_latency_of_a_lone_frame() {
    let ops = [op(&[10, 10], &[0], &[1]), op(&[10, 10], &[1], &[1])];
    let estimate = judged(&hand(&ops, &[2], &[&[0], &[1]], slowed(1500)));
    // Alone: 10, then move 1, 10, move 1. Together each task takes 15.
    assert_eq!(estimate.latency, Nanoseconds::new(22));
    assert_eq!(estimate.interval, Nanoseconds::new(17));
    assert_eq!(estimate.paced_latency, Nanoseconds::new(15 + 17));
    // Energies of tasks are slowed too: 15 + 15 and the two moves.
    assert_eq!(estimate.energy_dynamic, Nanojoules::new(32));
}

#[test]
fn a_used_processor_pays_static_power_for_the_whole_interval() {
    let ops = [op(&[10, 10], &[0], &[1]), op(&[1000, 1000], &[1], &[1])];
    let powers = |soc: &mut Soc| {
        let ids: Vec<_> = soc.processors.ids().collect();
        for (id, watts) in ids.into_iter().zip([2.0, 3.0]) {
            soc.processors[id].operating_points[0].static_power = Watts::new(watts).unwrap();
        }
        soc.base = Watts::new(4.0).unwrap();
    };
    let estimate = judged(&hand(&ops, &[2], &[&[0], &[1]], powers));
    // The second stage takes 1 + 1000 + 1; p0 idles most of that time and pays 2 W all the same.
    assert_eq!(estimate.interval, Nanoseconds::new(1002));
    let dynamic = 10 + 1000 + 2;
    assert_eq!(
        estimate.energy_active,
        Nanojoules::new(dynamic + 1002 * (2 + 3))
    );
    assert_eq!(
        estimate.energy_board,
        Nanojoules::new(dynamic + 1002 * (2 + 3 + 4))
    );
}

#[test]
fn a_tensor_that_skips_a_stage_has_three_copies_and_holds_the_first_back() {
    // a feeds b and c; b is in the second stage, c in the third, in the memory of the first.
    let ops = [
        op(&[4, 4, 4], &[0], &[8]),
        op(&[4, 4, 4], &[1], &[1]),
        op(&[4, 4, 4], &[1, 2], &[1]),
    ];
    let scenario = hand(&ops, &[3], &[&[0], &[1], &[2]], unchanged);
    let estimate = judged(&scenario);
    let plan = scenario.plan(&estimate);
    // The home of a's result is read last by the third stage, which moves it.
    let home = &plan.buffers[plan.tasks[0].writes[0] as usize];
    assert_eq!((home.kind, home.copies), (BufferKind::Activation, 3));
    let command_of = |action| {
        let found = plan.frame.iter().find(|command| command.action == action);
        found.unwrap()
    };
    let end = command_of(Action::End(2)).id;
    assert!(command_of(Action::Begin(0)).wait.contains(&Wait {
        command: end,
        frames_back: 3
    }));
}

#[test]
fn what_lives_at_different_times_shares_memory() {
    // A chain on p0: 10 elements in, then 6, 5 and 1 out; the frame's ends live throughout.
    let ops = [
        op(&[2], &[0], &[6]),
        op(&[2], &[1], &[5]),
        op(&[2], &[2], &[3]),
        op(&[2], &[3], &[1]),
    ];
    let estimate = judged(&hand(&ops, &[4], &[&[0, 0, 0, 0]], unchanged));
    // In (40 bytes) and out (4) always; of 24, 20 and 12 at most the first two meet.
    assert_eq!(estimate.memory[0].peak.count(), 40 + 4 + 24 + 20);
}

#[test]
fn a_memory_without_room_for_all_at_its_worst_is_exceeded() {
    let ops = [op(&[2], &[0], &[6])];
    let within = |limit: u64| {
        let scenario = hand(&ops, &[1], &[&[0]], |soc| {
            for memory in soc.memories.ids().collect::<Vec<_>>() {
                soc.memories[memory].limit = Some(paracompile_plan::Bytes::new(limit));
            }
        });
        let estimate = scenario.estimate();
        let plan = scenario.plan(&estimate);
        let fits = estimate.exceeded(&scenario.table.soc).count() == 0;
        let found = check(&plan, &scenario.model, &scenario.costs);
        assert_eq!(fits, found.is_empty(), "the checker sees the same");
        fits
    };
    // 40 bytes in and 24 out.
    assert!(within(64));
    assert!(!within(63));
}

#[test]
fn serial_links_carry_one_tensor_at_a_time() {
    // Two tensors of 20 leave p0 at the same time.
    let ops = [op(&[1, 1], &[0], &[20, 20]), op(&[1, 1], &[1, 2], &[1])];
    let scenario = hand(&ops, &[3], &[&[0, 1]], unchanged);
    let plan = scenario.plan(&judged(&scenario));
    let default = simulate(&plan, &SimulateOptions::default()).unwrap();
    let serial = SimulateOptions {
        links: Links::Serial,
        ..Default::default()
    };
    let serial = simulate(&plan, &serial).unwrap();
    assert_eq!(default.latency, Nanoseconds::new(1 + 20 + 1 + 1));
    assert_eq!(serial.latency, Nanoseconds::new(1 + 40 + 1 + 1));
    let change = Change::between(&default, &serial);
    assert!((change.latency - 20.0 / 23.0).abs() < 1e-12 && change.exceeds(0.02));
}

#[test]
fn a_task_is_slowed_only_while_the_other_processor_computes() {
    // p0 computes 30; p1 gets its input at 10 and computes 4. Both slow each other by a half.
    let ops = [op(&[30, 30], &[0], &[1]), op(&[4, 4], &[0], &[1])];
    let scenario = hand(&ops, &[1, 2], &[&[0, 1]], slowed(1500));
    let plan = scenario.plan(&judged(&scenario));
    let default = simulate(&plan, &SimulateOptions::default()).unwrap();
    assert_eq!(default.latency, Nanoseconds::new(45));
    let dynamic = SimulateOptions {
        contention: simulate::Contention::Dynamic,
        ..Default::default()
    };
    let dynamic = simulate(&plan, &dynamic).unwrap();
    // p1 needs 6 from 10 on; p0 does 10, then 4 of its work in those 6, then 16: 10 + 6 + 16.
    assert_eq!(dynamic.latency, Nanoseconds::new(32));
    assert_eq!(dynamic.interval, Nanoseconds::new(32));
    // Energies follow durations: 32 instead of 45, 6 as before, and two moves of 10 and 1.
    assert_eq!(dynamic.energy_active, Nanojoules::new(32 + 6 + 10 + 1));
}

#[test]
fn the_host_enqueues_one_command_after_the_other_when_the_stage_begins() {
    let ops = [op(&[7, 7], &[0], &[1]), op(&[1, 1], &[1], &[1])];
    let scenario = hand(&ops, &[2], &[&[0, 0]], |soc| {
        soc.enqueue = paracompile_plan::Seconds::new(5e-9).unwrap();
    });
    let plan = scenario.plan(&judged(&scenario));
    let host = SimulateOptions {
        host: simulate::Host::Enqueues,
        ..Default::default()
    };
    let host = simulate(&plan, &host).unwrap();
    // The first task is enqueued at 5 and ends at 12, after the second was enqueued at 10.
    assert_eq!(host.latency, Nanoseconds::new(5 + 7 + 1));
    assert_eq!(host.interval, Nanoseconds::new(13));
}

#[test]
fn the_host_launches_each_kernel_of_a_task_and_dispatching_takes_time_on_the_processor() {
    let ops = [op(&[7, 7], &[0], &[1]), op(&[1, 1], &[1], &[1])];
    let scenario = hand(&ops, &[2], &[&[0, 0]], |soc| {
        soc.enqueue = paracompile_plan::Seconds::new(5e-9).unwrap();
        let ids: Vec<_> = soc.processors.ids().collect();
        for id in ids {
            soc.processors[id].dispatch = paracompile_plan::Seconds::new(3e-9).unwrap();
        }
    });
    let mut plan = scenario.plan(&judged(&scenario));
    let launch = TaskKernel {
        file: "k.cl".to_owned(),
        function: "k".to_owned(),
        defines: BTreeMap::new(),
        global: vec![1],
        local: None,
        arguments: Vec::new(),
        component: None,
    };
    plan.tasks[0].kernels_behind = vec![launch; 2];
    let latency = |host| {
        let options = SimulateOptions {
            host,
            ..Default::default()
        };
        simulate(&plan, &options).unwrap().latency
    };
    assert_eq!(latency(simulate::Host::Ignored), Nanoseconds::new(7 + 1));
    // Three launches at 5 each, then 3 and 7, meanwhile the fourth, then 3 and 1.
    assert_eq!(
        latency(simulate::Host::Enqueues),
        Nanoseconds::new(15 + 3 + 7 + 3 + 1)
    );
}

#[test]
fn commands_that_wait_for_each_other_are_named() {
    let ops = [op(&[1, 1], &[0], &[1]), op(&[1, 1], &[1], &[1])];
    let scenario = hand(&ops, &[2], &[&[0, 1]], unchanged);
    let mut plan = scenario.plan(&scenario.estimate());
    let launch = |task| Action::Launch(task);
    let find = |action| {
        let found = plan.frame.iter().find(|command| command.action == action);
        found.unwrap().id
    };
    let (first, second) = (find(launch(0)), find(launch(1)));
    plan.frame[first as usize].wait.push(Wait {
        command: second,
        frames_back: 0,
    });
    let error = simulate(&plan, &SimulateOptions::default()).unwrap_err();
    let SimulateError::Deadlock(cycle) = &error else {
        panic!("{error}");
    };
    let actions: Vec<Action> = cycle.iter().map(|at| at.action).collect();
    assert_eq!(
        actions,
        [Action::Launch(0), Action::Launch(1), Action::Send(0)]
    );
    assert_eq!(
        error.to_string(),
        "frame: 3 commands wait for each other: command 1 (launch 0) of frame 0 waits for command 4 (launch 1) of frame 0 \
         waits for command 2 (send 0) of frame 0 waits for the first"
    );
}

#[test]
fn a_plan_that_refers_to_nothing_is_refused_with_the_place() {
    let ops = [op(&[1, 1], &[0], &[1]), op(&[1, 1], &[1], &[1])];
    let scenario = hand(&ops, &[2], &[&[0, 1]], unchanged);
    let plan = scenario.plan(&scenario.estimate());
    let refused = |change: &dyn Fn(&mut paracompile_plan::Plan)| {
        let mut plan = plan.clone();
        change(&mut plan);
        let error = simulate(&plan, &SimulateOptions::default()).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        refused(&|plan| plan.frame[1].action = Action::Launch(9)),
        "frame[1]: there is no task 9"
    );
    assert_eq!(
        refused(&|plan| plan.frame[1].action = Action::Launch(1)),
        "frame[4]: task 1 occurs twice"
    );
    assert_eq!(
        refused(&|plan| plan.queues[0].processor = "npu".to_owned()),
        "queues[0].processor: there is no processor npu"
    );
    assert_eq!(
        refused(&|plan| plan.stages.clear()),
        "stages: there are none"
    );
}
