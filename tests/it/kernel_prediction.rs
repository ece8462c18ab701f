//! The predicted time of clusterings, against hand cases and against a simulator that steps through time one nanosecond after another.

use std::collections::{BTreeMap, BTreeSet};

use paracompile::arena::Id;
use paracompile::cluster::{Command, Engine, Host, Prediction, Starts, predict, timetable};
use paracompile_plan::Nanoseconds;
use proptest::prelude::*;

fn ns(count: u64) -> Nanoseconds {
    Nanoseconds::new(count)
}

fn command(kernel: usize, place: (usize, usize), engine: Engine, duration: u64) -> Command {
    Command {
        kernel: Id::from_index(kernel),
        device: Id::from_index(place.0),
        queue: place.1,
        engine,
        duration: ns(duration),
        after: Vec::new(),
    }
}

/// Two kernels of 100 with a write of 10 each, round robin on so many queues.
fn two_kernels(queues: usize) -> Vec<Command> {
    (0..2)
        .flat_map(|kernel| {
            let place = (0, kernel % queues);
            let write = command(kernel, place, Engine::Write, 10);
            [write, command(kernel, place, Engine::Compute, 100)]
        })
        .collect()
}

fn host(enqueue: u64, starts: Starts) -> Host {
    Host {
        enqueue: ns(enqueue),
        starts,
    }
}

fn figures(prediction: &Prediction) -> (u64, u64, u64) {
    let Prediction {
        total,
        device_span,
        host,
        ..
    } = prediction;
    (total.count(), device_span.count(), host.count())
}

#[test]
fn a_second_queue_copies_while_a_kernel_runs() {
    let free = host(0, Starts::First);
    // One queue: 0..10 written, ..110 run, ..120 written, ..220 run.
    assert_eq!(figures(&predict(&two_kernels(1), free)), (220, 220, 0));
    // Two: the second write is from 10 to 20, and its kernel runs from 110.
    assert_eq!(figures(&predict(&two_kernels(2), free)), (210, 210, 0));
}

#[test]
fn devices_begin_with_the_first_kernel_or_when_all_are_enqueued() {
    // Kernels are enqueued at 50 and 100: written 50..60 and 100..110, run ..160 and ..260.
    let first = predict(&two_kernels(2), host(50, Starts::First));
    assert_eq!(figures(&first), (260, 210, 100));
    let enqueued = predict(&two_kernels(2), host(50, Starts::Enqueued));
    assert_eq!(figures(&enqueued), (310, 210, 100));
    // Where the host is slower than the device, the device waits: 1000..1110 and 2000..2110.
    let slow = predict(&two_kernels(2), host(1000, Starts::First));
    assert_eq!(figures(&slow), (2110, 1110, 2000));
}

#[test]
fn reads_do_not_hold_up_writes_and_nothing_takes_no_time() {
    let mut commands = two_kernels(2);
    let mut read = command(0, (0, 0), Engine::Read, 500);
    read.after = vec![1];
    commands.insert(2, read);
    // The read is from 110 to 610, and the second kernel ends at 210 all the same.
    let times = timetable(&commands, host(0, Starts::First));
    assert_eq!(times[2], (ns(110), ns(610)));
    assert_eq!(times[4], (ns(110), ns(210)));
    assert_eq!(figures(&predict(&[], host(7, Starts::First))), (0, 0, 0));
}

/// Starts whatever may start, at every nanosecond.
fn stepped(commands: &[Command], host: Host) -> Vec<(Nanoseconds, Nanoseconds)> {
    let mut order: Vec<usize> = commands.iter().map(|one| one.kernel.index()).collect();
    order.dedup();
    let enqueued = |one: &Command| {
        let before = order
            .iter()
            .position(|&kernel| kernel == one.kernel.index());
        let count = match host.starts {
            Starts::First => before.expect("it is one of them") + 1,
            Starts::Enqueued => order.len(),
        };
        host.enqueue.count() * count as u64
    };
    let mut times: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    let mut now = 0;
    while times.len() < commands.len() {
        // Commands of no time end at once and let others start, so this is repeated until nothing starts.
        loop {
            let has_ended = |at: &usize| {
                times
                    .get(at)
                    .is_some_and(|&(_, end): &(u64, u64)| end <= now)
            };
            let may_start = |at: usize| {
                let one = &commands[at];
                let precedes = |other: &usize| {
                    let other = &commands[*other];
                    other.device == one.device
                        && (other.queue == one.queue || other.engine == one.engine)
                };
                enqueued(one) <= now
                    && !times.contains_key(&at)
                    && (0..at).filter(precedes).all(|other| has_ended(&other))
                    && one.after.iter().all(&has_ended)
            };
            let next = (0..commands.len()).find(|&at| may_start(at));
            let Some(at) = next else { break };
            times.insert(at, (now, now + commands[at].duration.count()));
        }
        now += 1;
    }
    times
        .into_values()
        .map(|(start, end)| (ns(start), ns(end)))
        .collect()
}

prop_compose! {
    /// Up to eight kernels on two devices with up to three queues, waiting for any before them.
    fn frames()(
        kernels in prop::collection::vec(
            (0_usize..2, 0_usize..3, prop::collection::vec(0_u64..6, 0..3), 0_u64..9, prop::option::of(0_u64..6), any::<[u8; 4]>()),
            1..8,
        )
    ) -> Vec<Command> {
        let mut commands: Vec<Command> = Vec::new();
        for (kernel, (device, queue, writes, time, read, waits)) in kernels.into_iter().enumerate() {
            let place = (device, queue);
            let writes = writes.into_iter().map(|time| command(kernel, place, Engine::Write, time));
            let own = writes
                .chain([command(kernel, place, Engine::Compute, time)])
                .chain(read.map(|time| command(kernel, place, Engine::Read, time)));
            for (mut one, wait) in own.zip(waits.into_iter().cycle()) {
                let after: BTreeSet<usize> = (0..commands.len())
                    .filter(|at| at % 5 == usize::from(wait) % 7)
                    .collect();
                one.after = after.into_iter().collect();
                commands.push(one);
            }
        }
        commands
    }
}

fn starts() -> impl Strategy<Value = Starts> {
    prop_oneof![Just(Starts::First), Just(Starts::Enqueued)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn predictions_are_what_stepping_through_time_finds(
        commands in frames(), enqueue in 0_u64..12, starts in starts(),
    ) {
        let host = host(enqueue, starts);
        prop_assert_eq!(timetable(&commands, host), stepped(&commands, host));
    }

    #[test]
    fn a_slower_host_is_never_faster(
        commands in frames(), enqueue in 0_u64..12, more in 1_u64..12, starts in starts(),
    ) {
        let total = |enqueue| predict(&commands, host(enqueue, starts)).total;
        prop_assert!(total(enqueue + more) >= total(enqueue));
        let first = predict(&commands, host(enqueue, Starts::First)).total;
        prop_assert!(first <= predict(&commands, host(enqueue, Starts::Enqueued)).total);
    }

    #[test]
    fn one_queue_without_copies_takes_the_sum(times in prop::collection::vec(0_u64..1000, 1..20)) {
        let commands: Vec<Command> = times
            .iter()
            .enumerate()
            .map(|(kernel, &time)| command(kernel, (0, 0), Engine::Compute, time))
            .collect();
        let total = predict(&commands, host(0, Starts::First)).total;
        prop_assert_eq!(total, ns(times.iter().sum()));
    }
}
