use proptest::prelude::*;

use super::super::oracle::{
    Dice, Shape, arabnejad, brute_force_best, instance, random_problem, topcuoglu,
};
use super::super::{Budget, Effort, Problem, Solution, heft, schedule};
use super::improve;
use super::state::State;
use super::terrain::{Terrain, index};

fn makespan(problem: &Problem, solution: &Solution) -> u64 {
    schedule(problem, solution).objective.makespan.count()
}

fn improved(problem: &Problem, effort: Effort) -> Solution {
    let start = heft(problem).unwrap();
    let moves = effort.moves(problem.operators.len());
    improve(problem, &start, moves, Budget::UNLIMITED)
}

#[test]
fn published_optima_are_reached_from_heft() {
    for (problem, optimum) in [(topcuoglu(), 73), (arabnejad(), 113)] {
        let solution = improved(&problem, Effort::Quick);
        assert_eq!(makespan(&problem, &solution), optimum);
    }
}

#[test]
fn large_blocks_come_near_the_best_known() {
    for (name, percent) in [
        ("inc6_p3", 102),
        ("tf8_p3", 103),
        ("nas50_p3", 102),
        ("lay50_p3", 103),
    ] {
        let (problem, known) = instance(name);
        let solution = improved(&problem, Effort::Quick);
        let reached = makespan(&problem, &solution);
        assert!(reached >= known);
        assert!(
            reached * 100 <= known * percent,
            "{name}: {reached}, known {known}"
        );
        assert_eq!(solution, improved(&problem, Effort::Quick));
    }
}

/// Puts operators somewhere else, and moves others at their place; every schedule is judged.
fn wander(problem: &Problem, seed: u64) -> Result<(), TestCaseError> {
    let Some(start) = heft(problem) else {
        return Ok(());
    };
    let terrain = Terrain::new(problem);
    let mut state = State::new(&terrain, &start);
    let mut dice = Dice(seed);
    let mut places = Vec::new();
    for _ in 0..30 {
        let operator = dice.index(terrain.operators);
        let before = state.makespan;
        if dice.below(3) == 0 {
            let to = dice.index(terrain.processors);
            if !state.may_move(operator, to) || state.processor(operator) == to {
                continue;
            }
            let limit = before + dice.below(4);
            let known = makespan(problem, &changed(&state, operator, to));
            let is_done = state.shift_all(&mut [(index(operator), index(to))], limit);
            prop_assert_eq!(is_done, known <= limit);
            prop_assert_eq!(state.makespan, if is_done { known } else { before });
        } else {
            state.insertions(operator, &mut places);
            let here = places.iter().find(|place| state.is_at(operator, **place));
            prop_assert_eq!(here.map(|place| place.makespan), Some(before));
            let place = places[dice.index(places.len())];
            if state.insert(operator, place) {
                prop_assert!(state.makespan <= place.makespan);
            }
        }
        prop_assert_eq!(state.makespan, makespan(problem, &state.solution()));
        prop_assert_eq!(
            &state.times(),
            &State::new(&terrain, &state.solution()).times()
        );
        let used = state.processors().fold(0_u16, |set, p| set | 1 << p);
        prop_assert_eq!(problem.must_use & !used, 0);
    }
    Ok(())
}

fn changed(state: &State<'_>, operator: usize, processor: usize) -> Solution {
    let mut solution = state.solution();
    solution.processors[operator] = processor;
    solution
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_schedule_of_a_walk_has_the_times_of_a_fresh_one(seed: u64, operators in 1..9_usize, processors in 1..4_usize, mask in 0..8_u16) {
        let mut problem = random_problem(seed, Shape { operators, processors, joined: false });
        problem.must_use = mask & ((1 << processors) - 1);
        wander(&problem, seed)?;
    }

    #[test]
    fn walks_over_more_than_a_word_of_operators_stay_exact(seed: u64) {
        let problem = random_problem(seed, Shape { operators: 150, processors: 3, joined: false });
        wander(&problem, seed)?;
    }

    #[test]
    fn local_search_is_between_its_start_and_the_optimum(seed: u64, operators in 1..6_usize, processors in 1..4_usize, mask in 0..8_u16) {
        let mut problem = random_problem(seed, Shape { operators, processors, joined: false });
        problem.must_use = mask & ((1 << processors) - 1);
        if let Some(start) = heft(&problem) {
            let solution = improve(&problem, &start, 300, Budget::UNLIMITED);
            let objective = schedule(&problem, &solution).objective;
            prop_assert!(objective <= schedule(&problem, &start).objective);
            prop_assert!(objective >= brute_force_best(&problem).unwrap());
            let used = solution.processors.iter().fold(0_u16, |set, p| set | 1 << p);
            prop_assert_eq!(problem.must_use & !used, 0);
        }
    }
}
