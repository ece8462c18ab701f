//! How long the searches inside a stage take on the instances of `solver_tests/instances`, and how far they come.
//!
//! Work is counted in states and nodes, so value and bound are functions of the instance; only the time depends on the machine.
//! The table that is printed first is what a change of the formulation should be judged by.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use divan::{Bencher, black_box};
use paracompile::cost::Move;
use paracompile::mapping::fine::{self, FineOutcome};
use paracompile::mapping::frontier::{self, Coverage, Reached};
use paracompile::mapping::{
    Budget, Effort, Operator, Problem, Solution, Tensor, heft, lower_bound, schedule,
};
use paracompile::milp::Limits;
use paracompile_plan::{Nanojoules, Nanoseconds};
use paracompile_testkit::instances::{SchedulingInstance, read_instance};

/// Blocks, attention layers and random layers, on two to four processors.
const SMALL: [&str; 7] = [
    "incA_p3", "incC_p3", "inc6_p2", "inc6_p3", "inc6_p4", "tf1_p3", "tf2_p3",
];

/// Branch-and-bound nodes of a fine solve.
const NODES: NonZeroU32 = NonZeroU32::new(200).expect("it is not zero");

#[expect(clippy::print_stdout, reason = "a benchmark reports to people")]
fn main() {
    if std::env::args().any(|argument| argument == "--bench") {
        println!(
            "{:<10} {:>8} {:>8} {:>10} {:>8} {:>8} {:>8}   fine: {NODES} nodes",
            "instance", "bound", "HEFT", "frontier", "fine", "bound", "best"
        );
        for name in SMALL {
            println!("{}", row(name));
        }
    }
    divan::main();
}

fn row(name: &str) -> String {
    let instance = instance(name);
    let problem = problem(&instance);
    let start = heft(&problem).expect("every operator runs on every processor");
    let fine = fine(&problem, &start);
    let frontier = frontier(&problem);
    let least = frontier
        .exits
        .iter()
        .map(|exit| exit.objective.makespan.count())
        .min();
    format!(
        "{name:<10} {:>8} {:>8} {:>9}{} {:>8} {:>8} {:>8}",
        lower_bound(&problem).count(),
        schedule(&problem, &start).objective.makespan.count(),
        least.map_or_else(|| "none".to_owned(), |value| value.to_string()),
        match frontier.reached {
            Reached::Schedules => "?",
            Reached::Makespan | Reached::Objective => "!",
        },
        fine.objective.makespan.count(),
        fine.bound.count(),
        instance
            .known
            .map_or_else(String::new, |known| known.best.to_string()),
    )
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("solver_tests/instances")
}

fn instance(name: &str) -> SchedulingInstance {
    read_instance(&folder(), name).expect("the instances of the repository are readable")
}

/// The instance as the problem of a stage: a location for each processor, a tensor for each edge.
fn problem(instance: &SchedulingInstance) -> Problem {
    let processors = instance.durations[0].len();
    let mut operators: Vec<Operator> = instance
        .durations
        .iter()
        .map(|row| Operator {
            times: row.iter().map(|time| time.map(Nanoseconds::new)).collect(),
            energies: vec![Nanojoules::new(1); processors],
            ..Operator::default()
        })
        .collect();
    let mut tensors = Vec::new();
    for (tensor, edge) in instance.edges.iter().enumerate() {
        operators[edge.from].writes.push(tensor);
        operators[edge.to].reads.push(tensor);
        let move_of = |&delay: &u64| {
            (delay > 0).then(|| Move {
                time: Nanoseconds::new(delay),
                energy: Nanojoules::new(1),
            })
        };
        tensors.push(Tensor {
            producer: Some(edge.from),
            readers: vec![edge.to],
            moves: edge
                .delays
                .iter()
                .map(|row| row.iter().map(move_of).collect())
                .collect(),
            ..Tensor::default()
        });
    }
    Problem {
        homes: (0..processors).collect(),
        locations: processors,
        operators,
        tensors,
        ..Problem::default()
    }
}

fn fine(problem: &Problem, start: &Solution) -> FineOutcome {
    fine::solve(problem, start, &Limits::counted(NODES))
        .expect("the start is a schedule, so the program is feasible")
}

fn frontier(problem: &Problem) -> frontier::Frontier {
    frontier::solve(
        problem,
        &[],
        Coverage::Required,
        Effort::Normal.states(),
        Budget::UNLIMITED,
    )
    .expect("the instances are small enough")
}

#[divan::bench(args = SMALL)]
fn list_schedule(bencher: Bencher<'_, '_>, name: &str) {
    let problem = problem(&instance(name));
    bencher.bench_local(|| heft(black_box(&problem)));
}

#[divan::bench(args = SMALL, sample_count = 10)]
fn frontier_search(bencher: Bencher<'_, '_>, name: &str) {
    let problem = problem(&instance(name));
    bencher.bench_local(|| frontier(black_box(&problem)));
}

/// At a fixed number of nodes.
#[divan::bench(args = SMALL, sample_count = 3, sample_size = 1)]
fn fine_program(bencher: Bencher<'_, '_>, name: &str) {
    let problem = problem(&instance(name));
    let start = heft(&problem).expect("every operator runs on every processor");
    bencher.bench_local(|| fine(black_box(&problem), &start));
}
