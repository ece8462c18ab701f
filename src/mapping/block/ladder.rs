//! One block: the ladder from exact methods to good schedules with a bound.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::StoppedBy;

use super::super::coarse::CoarseBranch;
use super::super::frontier::{self, Coverage, Reached};
use super::super::{Budget, Effort, Objective, Problem, Proof, Solution, enough};
use super::found::{Bounds, Found};
use super::variant::{Variant, using_all, variants};
use super::{Granularity, Method};

/// The best schedule that was found among those that leave tensors at the same locations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockExit {
    /// Locations that hold each leaving tensor at the end: the producer's first, the others ascending.
    pub holders: Vec<Vec<usize>>,
    /// Processors that run something.
    pub used: u16,
    /// What the solution reaches.
    pub objective: Objective,
    /// The solution.
    pub solution: Solution,
    /// The claim about the makespan, for these holders and at least these processors.
    pub proof: Proof,
    /// How it was found.
    pub method: Method,
    /// Why the search stopped.
    pub stopped_by: StoppedBy,
}

/// One block, and how hard to try.
#[derive(Clone, Copy, Debug)]
pub struct BlockRequest<'a> {
    /// The block.
    pub problem: &'a Problem,
    /// Tensors whose holders at the end matter.
    pub leaving: &'a [usize],
    /// For which sets of used processors an answer is wanted.
    pub coverage: Coverage,
    /// Branches of the fan-in blocks in it.
    pub branches: &'a [CoarseBranch],
    /// What the unit of mapping is.
    pub granularity: Granularity,
    /// Where no proof is reached, a mapping whose gap is at most this, in millionths, is not improved.
    pub gap_millionths: u32,
    /// Counted work.
    pub effort: Effort,
    /// How many blocks share the counted work, at least one: parts of the network that overlap and differ in where they are cut.
    pub shared_by: u64,
    /// When to stop.
    pub budget: Budget<'a>,
}

impl BlockRequest<'_> {
    /// States of a frontier search.
    pub(super) fn states(&self) -> u64 {
        self.effort.states() / self.shared_by.max(1)
    }

    /// Moves of a local search.
    pub(super) fn moves(&self) -> u64 {
        self.effort.moves(self.problem.operators.len()) / self.shared_by.max(1)
    }

    /// Whether the user does not ask for more.
    pub(super) fn is_good_enough(&self, value: Nanoseconds, bound: Nanoseconds) -> bool {
        bound >= enough(value, self.gap_millionths)
    }
}

/// Maps one block for each way in which the leaving tensors can be held at the end, or for each that was found where the search is not complete.
///
/// Ordered by holders, then by used processors; empty if there is no mapping, or none of the granularity.
pub fn solve_block(request: &BlockRequest<'_>) -> Vec<BlockExit> {
    match request.granularity {
        Granularity::Coarse => solve_coarse(request),
        Granularity::Fine | Granularity::Auto => solve_fine(request),
    }
}

/// Branches as tasks, exactly, and nested branches on what is left free.
///
/// The proof is about fine mappings, because that is what the plan claims; how good it is among coarse ones shows in its method alone.
fn solve_coarse(request: &BlockRequest<'_>) -> Vec<BlockExit> {
    let mut found = Found::default();
    found.offer_coarse(request);
    let bounds = bounds(&variants(request.problem, request.leaving));
    found.into_exits(&Bounds::ByPlace(bounds), stop_reason(request.budget))
}

fn solve_fine(request: &BlockRequest<'_>) -> Vec<BlockExit> {
    let BlockRequest {
        problem,
        leaving,
        coverage,
        budget,
        ..
    } = *request;
    if request.gap_millionths > 0
        && let Some(exits) = listed(request)
    {
        return exits;
    }
    let mut found = Found::default();
    let mut reached = Reached::Schedules;
    if let Some(frontier) = frontier::solve(problem, leaving, coverage, request.states(), budget) {
        reached = frontier.reached;
        found.offer_exits(frontier, Method::Frontier);
    }
    match reached {
        Reached::Objective => return found.into_exits(&Bounds::Reached, StoppedBy::Complete),
        Reached::Makespan => return found.into_exits(&Bounds::Reached, stop_reason(budget)),
        Reached::Schedules => {}
    }
    let variants = variants(problem, leaving);
    // The places of the exit share the work.
    let each = BlockRequest {
        shared_by: request
            .shared_by
            .saturating_mul(variants.len().max(1) as u64),
        ..*request
    };
    let mut is_improved = false;
    for variant in &variants {
        is_improved |= found.offer_schedules(&each, &variant.problem, variant.bound);
        // A search that used every processor anyway need not be told to.
        if coverage == Coverage::Every && !found.covers(variant.place, problem.eligible_devices()) {
            let everywhere = using_all(&variant.problem);
            is_improved |= found.offer_schedules(&each, &everywhere, variant.bound);
        }
    }
    let mut bounds = bounds(&variants);
    let is_open = |found: &Found, bounds: &BTreeMap<_, _>| {
        request.gap_millionths == 0 || !found.is_good_enough(request, &variants, bounds)
    };
    if is_improved && is_open(&found, &bounds) {
        // Without branches the tasks are the operators.
        if !request.branches.is_empty() {
            found.offer_coarse(request);
        }
        for variant in &variants {
            let bound = found.offer_exact(&each, variant);
            if let (Some(bound), Some(known)) = (bound, bounds.get_mut(&variant.place)) {
                *known = bound.max(*known);
            }
        }
        if let Some(limits) = nodes(request).filter(|_| is_open(&found, &bounds)) {
            for variant in &variants {
                let bound = found.offer_program(request, variant, limits);
                if let (Some(bound), Some(known)) = (bound, bounds.get_mut(&variant.place)) {
                    *known = bound.max(*known);
                }
            }
        }
    }
    let stopped_by = if is_improved && is_open(&found, &bounds) {
        stop_reason(budget)
    } else {
        budget.stopped_by().unwrap_or(StoppedBy::Gap)
    };
    found.into_exits(&Bounds::ByPlace(bounds), stopped_by)
}

/// What schedules that are made at once reach, where all of them are within the gap that is asked for.
fn listed(request: &BlockRequest<'_>) -> Option<Vec<BlockExit>> {
    let mut found = Found::default();
    let variants = variants(request.problem, request.leaving);
    for variant in &variants {
        found.offer_listed(request, &variant.problem);
        if request.coverage == Coverage::Every {
            found.offer_listed(request, &using_all(&variant.problem));
        }
    }
    let bounds = bounds(&variants);
    if !found.is_good_enough(request, &variants, &bounds) {
        return None;
    }
    let stopped_by = request.budget.stopped_by().unwrap_or(StoppedBy::Gap);
    Some(found.into_exits(&Bounds::ByPlace(bounds), stopped_by))
}

/// Branch-and-bound nodes for the integer program of a block that the frontier search did not finish; `None` where it is not worth its time.
fn nodes(request: &BlockRequest<'_>) -> Option<NonZeroU32> {
    let nodes = match (request.granularity, request.effort) {
        (Granularity::Coarse, _) | (Granularity::Auto, Effort::Quick | Effort::Normal) => 0,
        (Granularity::Fine, Effort::Quick) => 1,
        (Granularity::Fine, Effort::Normal) => 50,
        (Granularity::Fine | Granularity::Auto, Effort::Thorough) => 500,
    };
    let is_small = request.problem.operators.len() <= LARGEST_PROGRAM;
    NonZeroU32::new(if is_small { nodes } else { 0 })
}

/// More operators make an integer program that does not end.
const LARGEST_PROGRAM: usize = 60;

/// Why a search that is not complete stopped.
fn stop_reason(budget: Budget<'_>) -> StoppedBy {
    budget.stopped_by().unwrap_or(StoppedBy::Work)
}

/// Bounds for any set of used processors: an answer also stands for the smaller sets for which none was found.
fn bounds(variants: &[Variant]) -> BTreeMap<Option<usize>, Nanoseconds> {
    variants
        .iter()
        .map(|variant| (variant.place, variant.bound))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::oracle::{Shape, brute_force, instance, random_problem};
    use super::super::super::schedule;
    use super::super::holders;
    use super::*;

    fn request<'a>(problem: &'a Problem, leaving: &'a [usize]) -> BlockRequest<'a> {
        BlockRequest {
            problem,
            leaving,
            coverage: Coverage::Every,
            branches: &[],
            granularity: Granularity::Auto,
            gap_millionths: 0,
            effort: Effort::Quick,
            shared_by: 1,
            budget: Budget::UNLIMITED,
        }
    }

    /// With so little work that hundreds of problems take no time.
    fn brief<'a>(problem: &'a Problem, leaving: &'a [usize]) -> BlockRequest<'a> {
        BlockRequest {
            shared_by: 100,
            ..request(problem, leaving)
        }
    }

    /// What the ladder does where the frontier search is not complete, with and without the integer program.
    fn ladder_without_frontier(request: &BlockRequest<'_>) -> Vec<BlockExit> {
        let mut found = Found::default();
        let variants = variants(request.problem, request.leaving);
        for variant in &variants {
            found.offer_schedules(request, &variant.problem, variant.bound);
            found.offer_schedules(request, &using_all(&variant.problem), variant.bound);
        }
        found.offer_coarse(request);
        let bounds = bounds(&variants);
        found.into_exits(&Bounds::ByPlace(bounds), StoppedBy::Work)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn schedules_and_bounds_of_the_ladder_enclose_the_optimum(seed: u64, operators in 1..6_usize, processors in 1..4_usize, joined: bool) {
            let problem = random_problem(seed, Shape { operators, processors, joined });
            let leaving = if joined { problem.operators[operators - 1].writes.clone() } else { Vec::new() };
            let exact = brute_force(&problem, &leaving);
            for exit in ladder_without_frontier(&brief(&problem, &leaving)) {
                prop_assert_eq!(&holders(&problem, &exit.solution, &leaving), &exit.holders);
                prop_assert_eq!(schedule(&problem, &exit.solution).objective, exit.objective);
                let optimum = exact[&(exit.holders.clone(), exit.used)];
                prop_assert!(exit.objective >= optimum);
                let least = exact
                    .iter()
                    .filter(|((holders, _), _)| *holders == exit.holders)
                    .map(|(_, objective)| objective.makespan)
                    .min()
                    .unwrap();
                let bound = exit.proof.bound(exit.objective.makespan);
                prop_assert!(bound <= least, "{:?} > {:?}", bound, least);
            }
        }

        #[test]
        fn every_place_of_the_exit_is_reached_without_the_frontier(seed: u64, processors in 1..4_usize) {
            let problem = random_problem(seed, Shape { operators: 4, processors, joined: true });
            let leaving = problem.operators[3].writes.clone();
            let exact = brute_force(&problem, &leaving);
            let found = ladder_without_frontier(&brief(&problem, &leaving));
            for (holders, _) in exact.keys() {
                prop_assert!(found.iter().any(|exit| exit.holders == *holders));
            }
        }
    }

    #[test]
    fn a_large_block_has_a_schedule_and_a_bound_near_it() {
        let (problem, known) = instance("nas50_p3");
        let exits = solve_block(&request(&problem, &[]));
        let best = exits.iter().min_by_key(|exit| exit.objective).unwrap();
        let (value, bound) = (
            best.objective.makespan.count(),
            best.proof.bound(best.objective.makespan).count(),
        );
        assert!(bound <= known && known <= value);
        assert!((value - bound) * 100 <= value * 20, "{bound} .. {value}");
        assert_eq!(best.stopped_by, StoppedBy::Work);
    }

    #[test]
    fn an_interrupt_leaves_schedules_and_says_so() {
        let (problem, known) = instance("tf1_p3");
        let stop = || Some(StoppedBy::Interrupt);
        let exits = solve_block(&BlockRequest {
            budget: Budget::until(&stop),
            ..request(&problem, &[])
        });
        let best = exits.iter().min_by_key(|exit| exit.objective).unwrap();
        assert!(best.objective.makespan.count() >= known);
        assert_eq!(best.stopped_by, StoppedBy::Interrupt);
        assert!(matches!(
            best.proof,
            Proof::Interrupted { .. } | Proof::Optimal
        ));
    }

    #[test]
    fn coarse_keeps_branches_together_and_auto_is_no_worse() {
        let (problem, _) = instance("incA_p3");
        // Branches 1, 2-3, 4-5-6 and 7-8 between 0 and 9.
        let branches: Vec<CoarseBranch> = [vec![1], vec![2, 3], vec![4, 5, 6], vec![7, 8]]
            .into_iter()
            .map(|ops| CoarseBranch {
                ops,
                nested: Vec::new(),
            })
            .collect();
        let at = |granularity| {
            let exits = solve_block(&BlockRequest {
                branches: &branches,
                granularity,
                ..request(&problem, &[])
            });
            exits.into_iter().min_by_key(|exit| exit.objective).unwrap()
        };
        let coarse = at(Granularity::Coarse);
        for branch in &branches {
            let first = coarse.solution.processors[branch.ops[0]];
            assert!(
                branch
                    .ops
                    .iter()
                    .all(|&v| coarse.solution.processors[v] == first)
            );
        }
        assert_eq!(coarse.method, Method::Coarse);
        assert!(at(Granularity::Auto).objective <= coarse.objective);
    }

    #[test]
    fn the_integer_program_raises_the_bound_of_what_was_not_finished() {
        let (problem, known) = instance("incC_p3");
        let request = BlockRequest {
            granularity: Granularity::Fine,
            ..request(&problem, &[])
        };
        let mut found = Found::default();
        let variants = variants(&problem, &[]);
        found.offer_schedules(&request, &variants[0].problem, variants[0].bound);
        let bound = found.offer_program(&request, &variants[0], NonZeroU32::new(2000).unwrap());
        let exits = found.into_exits(&Bounds::ByPlace(bounds(&variants)), StoppedBy::Work);
        let value = exits
            .iter()
            .map(|exit| exit.objective.makespan.count())
            .min();
        assert!(bound.unwrap().count() <= known);
        assert!(bound.unwrap() >= variants[0].bound);
        assert!(value.unwrap() >= known);
    }

    #[test]
    fn what_is_good_enough_is_not_improved() {
        let (problem, _) = instance("nas50_p3");
        let patient = BlockRequest {
            gap_millionths: 999_999,
            ..request(&problem, &[])
        };
        let exits = solve_block(&patient);
        assert!(!exits.is_empty());
        for exit in exits {
            assert_ne!(exit.method, Method::LocalSearch);
            assert_eq!(exit.stopped_by, StoppedBy::Gap);
        }
    }
}
