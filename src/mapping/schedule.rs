//! From processors and an order to start times: every operator as early as possible, in the given order on its processor.

use paracompile_plan::Nanoseconds;

use super::{Objective, Problem};

/// Processors and order; start times follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// Processor of each operator.
    pub processors: Vec<usize>,
    /// All operators; the order on each processor is the order here, and it is topological.
    pub sequence: Vec<usize>,
}

/// Start and end of one operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// When it starts, from the start of the stage.
    pub start: Nanoseconds,
    /// When it ends.
    pub end: Nanoseconds,
}

/// A solution with its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Times of each operator.
    pub timings: Vec<Timing>,
    /// What it reaches.
    pub objective: Objective,
}

/// Times a solution (rules M2, M3 and M5).
///
/// # Panics
/// If the solution places an operator on a processor that does not support it, or its sequence is not a topological permutation: solvers build them so.
pub fn schedule(problem: &Problem, solution: &Solution) -> Schedule {
    let mut available = vec![Nanoseconds::ZERO; problem.homes.len()];
    let mut timings = vec![Timing::default(); problem.operators.len()];
    let mut objective = Objective {
        makespan: Nanoseconds::ZERO,
        energy: paracompile_plan::Nanojoules::ZERO,
    };
    // For each tensor, when it is complete at each location it was asked for.
    let mut arrivals: Vec<Vec<Option<Nanoseconds>>> =
        vec![vec![None; problem.locations]; problem.tensors.len()];
    for (index, tensor) in problem.tensors.iter().enumerate() {
        if tensor.producer.is_none() {
            for &location in &tensor.held {
                arrivals[index][location] = Some(Nanoseconds::ZERO);
            }
        }
    }
    let mut arrival =
        |objective: &mut Objective, tensor: usize, ready: Nanoseconds, from: usize, to: usize| {
            if let Some(time) = arrivals[tensor][to] {
                return time;
            }
            let time = match problem.tensors[tensor].moves[from][to] {
                Some(cost) => {
                    objective.energy += cost.energy;
                    ready + cost.time
                }
                None => ready,
            };
            arrivals[tensor][to] = Some(time);
            time
        };
    for &operator in &solution.sequence {
        let processor = solution.processors[operator];
        let home = problem.homes[processor];
        let mut start = available[processor];
        for &tensor in &problem.operators[operator].reads {
            let (ready, from) = origin(problem, solution, &timings, tensor);
            let entering = &problem.tensors[tensor];
            let held_nearby = entering.producer.is_none() && entering.is_held_for(home);
            let time = if held_nearby {
                Nanoseconds::ZERO
            } else {
                arrival(&mut objective, tensor, ready, from, home)
            };
            start = start.max(time);
        }
        let duration = problem.operators[operator].times[processor]
            .expect("solvers place operators where they are supported");
        objective.energy += problem.operators[operator].energies[processor];
        let end = start + duration;
        timings[operator] = Timing { start, end };
        available[processor] = end;
        objective.makespan = objective.makespan.max(end);
    }
    for (index, tensor) in problem.tensors.iter().enumerate() {
        if tensor.to_io && tensor.producer.is_some() {
            let (ready, from) = origin(problem, solution, &timings, index);
            let end = arrival(&mut objective, index, ready, from, problem.io);
            objective.makespan = objective.makespan.max(end);
        }
    }
    Schedule { timings, objective }
}

/// When a tensor is complete, and where.
fn origin(
    problem: &Problem,
    solution: &Solution,
    timings: &[Timing],
    tensor: usize,
) -> (Nanoseconds, usize) {
    match problem.tensors[tensor].producer {
        Some(producer) => (
            timings[producer].end,
            problem.homes[solution.processors[producer]],
        ),
        None => (Nanoseconds::ZERO, problem.tensors[tensor].held[0]),
    }
}
