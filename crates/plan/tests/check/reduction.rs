//! The order and the waits of random plans against the transitive reduction of the unrolled graph, by brute force.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::plan::{Action, Command, Plan, QueueKind, Wait};
use paracompile_plan::{Violation, check_structure};
use proptest::prelude::*;

use crate::emitter::number;
use crate::random::{Choices, Random, random};

/// A dependency: the second waits for the first, so many frames back.
type Edge = (Action, Action, usize);

/// Rules 1 to 4 of "Waits", where a transfer is its `send` until the waits are written.
fn dependencies(plan: &Plan) -> BTreeSet<Edge> {
    let mut edges = BTreeSet::new();
    let stages = plan.stages.len();
    let mut writer = BTreeMap::new();
    for task in &plan.tasks {
        for &buffer in &task.writes {
            writer.insert(buffer, (task.stage, Action::Launch(task.id)));
        }
    }
    for transfer in &plan.transfers {
        writer.insert(
            transfer.to_buffer,
            (transfer.stage, Action::Send(transfer.id)),
        );
    }
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    let mut read = |buffer: u32, stage: u32, reader: Action, edges: &mut BTreeSet<Edge>| {
        let entry = last.entry(buffer).or_insert(stage);
        *entry = stage.max(*entry);
        if let Some(&(from, writer)) = writer.get(&buffer)
            && from == stage
        {
            edges.insert((writer, reader, 0));
        }
    };
    for task in &plan.tasks {
        let launch = Action::Launch(task.id);
        for &buffer in &task.reads {
            read(buffer, task.stage, launch, &mut edges);
        }
        edges.insert((Action::Begin(task.stage), launch, 0));
        edges.insert((launch, Action::End(task.stage), 0));
    }
    for transfer in &plan.transfers {
        let send = Action::Send(transfer.id);
        read(transfer.from_buffer, transfer.stage, send, &mut edges);
        edges.insert((Action::Begin(transfer.stage), send, 0));
        edges.insert((send, Action::End(transfer.stage), 0));
    }
    for stage in 0..number(stages) {
        edges.insert((Action::End(stage), Action::Begin(stage), 1));
        if stage > 0 {
            edges.insert((Action::End(stage - 1), Action::Begin(stage), 0));
        }
    }
    for buffer in plan.buffers.iter().filter(|buffer| buffer.copies > 1) {
        let first = writer.get(&buffer.id).map_or(0, |&(stage, _)| stage);
        let end = Action::End(first + buffer.copies - 1);
        edges.insert((end, Action::Begin(first), buffer.copies as usize));
    }
    edges
}

/// Order on the compute queues, within a frame and from one to the next.
fn queue_order(plan: &Plan) -> BTreeSet<Edge> {
    let mut edges = BTreeSet::new();
    for queue in plan
        .queues
        .iter()
        .filter(|queue| queue.kind == QueueKind::Compute)
    {
        let tasks: Vec<Action> = (plan.tasks.iter())
            .filter(|task| task.queue == queue.id)
            .map(|task| Action::Launch(task.id))
            .collect();
        edges.extend(tasks.windows(2).map(|pair| (pair[0], pair[1], 0)));
        edges.insert((tasks[tasks.len() - 1], tasks[0], 1));
    }
    edges
}

/// Edges without another path between their ends, by searching the unrolled graph.
fn reduction(edges: &BTreeSet<Edge>, given: &BTreeSet<Edge>) -> Vec<Edge> {
    let mut next: BTreeMap<Action, Vec<(Action, usize)>> = BTreeMap::new();
    for &(from, to, back) in edges.union(given) {
        next.entry(from).or_default().push((to, back));
    }
    let detour = |edge: &Edge| {
        let &(from, to, back) = edge;
        let mut seen = BTreeSet::new();
        let mut open: Vec<(Action, usize)> = (next[&from].iter().copied())
            .filter(|&hop| hop != (to, back))
            .collect();
        while let Some(node) = open.pop() {
            if node.1 > back || !seen.insert(node) {
                continue;
            }
            if node == (to, back) {
                return true;
            }
            for &(after, more) in next.get(&node.0).into_iter().flatten() {
                open.push((after, node.1 + more));
            }
        }
        false
    };
    (edges.difference(given).copied())
        .filter(|edge| !detour(edge))
        .collect()
}

/// Puts the commands of each stage into order and writes the waits.
fn complete(plan: &mut Plan) {
    let edges = dependencies(plan);
    let given = queue_order(plan);
    let mut before: BTreeMap<Action, BTreeSet<Action>> = BTreeMap::new();
    for &(from, to, back) in edges.union(&given) {
        if back == 0 {
            before.entry(to).or_default().insert(end_of(from));
        }
    }
    for transfer in &plan.transfers {
        let send = Action::Send(transfer.id);
        before.insert(Action::Receive(transfer.id), BTreeSet::from([send]));
    }
    // Stages follow each other, so "the first that may come" never leaves a stage early.
    let mut rest: Vec<Command> = std::mem::take(&mut plan.frame);
    let mut listed = BTreeSet::new();
    while !rest.is_empty() {
        let next = (rest.iter())
            .position(|command| {
                (before.get(&command.action)).is_none_or(|needed| needed.is_subset(&listed))
            })
            .unwrap();
        let mut command = rest.remove(next);
        command.id = number(plan.frame.len());
        listed.insert(command.action);
        plan.frame.push(command);
    }
    let id: BTreeMap<Action, u32> = (plan.frame.iter())
        .map(|command| (command.action, command.id))
        .collect();
    for (from, to, back) in reduction(&edges, &given) {
        plan.frame[id[&to] as usize].wait.push(Wait {
            command: id[&end_of(from)],
            frames_back: number(back),
        });
    }
    for command in &mut plan.frame {
        command
            .wait
            .sort_by_key(|wait| (wait.frames_back, wait.command));
    }
}

/// Who waits for a transfer names its `receive`.
fn end_of(action: Action) -> Action {
    match action {
        Action::Send(id) => Action::Receive(id),
        Action::Receive(_)
        | Action::Launch(_)
        | Action::Begin(_)
        | Action::End(_)
        | Action::Write(_) => action,
    }
}

fn complete_random(choices: &[u8], operators: usize, processors: usize) -> Random {
    let mut random = random(&mut Choices(choices), operators, processors);
    complete(&mut random.plan);
    random
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_brute_force_reduction_is_what_the_checker_demands(
        choices in proptest::collection::vec(any::<u8>(), 0..160),
        processors in 1usize..5,
    ) {
        let Random { model, plan } = complete_random(&choices, 12, processors);
        prop_assert_eq!(check_structure(&plan, &model), vec![]);
    }

    #[test]
    fn a_wait_less_or_more_is_a_violation(
        choices in proptest::collection::vec(any::<u8>(), 0..160),
        at in any::<prop::sample::Index>(),
        wait in any::<prop::sample::Index>(),
        frames_back in 0u32..3,
    ) {
        let Random { model, mut plan } = complete_random(&choices, 12, 3);
        let command = at.index(plan.frame.len());
        let mut more = plan.clone();
        let added = Wait { command: number(wait.index(plan.frame.len())), frames_back };
        let waits = &mut more.frame[command].wait;
        if !waits.contains(&added) {
            waits.push(added);
            waits.sort_by_key(|wait| (wait.frames_back, wait.command));
            let surplus = |violation: &Violation| matches!(violation, Violation::SurplusWait { .. });
            prop_assert!(check_structure(&more, &model).iter().any(surplus));
        }
        if plan.frame[command].wait.pop().is_some() {
            let missing = |violation: &Violation| matches!(violation, Violation::MissingWait { .. });
            prop_assert!(check_structure(&plan, &model).iter().any(missing));
        }
    }
}
