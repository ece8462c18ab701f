//! One block: the ladder from exact methods to good schedules with a bound.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU32;

use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::StoppedBy;

use super::bounds::lower_bound;
use super::coarse::{self, CoarseBranch, contract};
use super::fine;
use super::frontier::{self, Coverage, Frontier, Reached};
use super::local_search::improve;
use super::{Budget, Effort, Objective, Problem, Proof, Solution, heft, schedule, single};
use crate::milp::{Limits, Remaining, Watch};

/// What the unit of mapping is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Granularity {
    /// A branch of a fan-in block is one task.
    Coarse,
    /// Operators.
    Fine,
    /// The better of both, never worse than a list schedule or a single processor.
    #[default]
    Auto,
}

/// How a schedule and its bound were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Frontier search over down-sets.
    Frontier,
    /// Earliest finish first by upward ranks.
    ListSchedule,
    /// Everything on one processor.
    SingleProcessor,
    /// Annealing by insertion.
    LocalSearch,
    /// Branches as tasks.
    Coarse,
    /// The MILP over operators.
    Fine,
}

impl Method {
    /// All methods, as their bits in [`Methods`] are ordered.
    pub const ALL: [Self; 6] = [
        Self::Frontier,
        Self::ListSchedule,
        Self::SingleProcessor,
        Self::LocalSearch,
        Self::Coarse,
        Self::Fine,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Frontier => "frontier",
            Self::ListSchedule => "heft",
            Self::SingleProcessor => "single",
            Self::LocalSearch => "local-search",
            Self::Coarse => "coarse",
            Self::Fine => "fine",
        }
    }
}

/// The methods behind the blocks of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Methods(u8);

impl Methods {
    /// With `method` too.
    #[must_use]
    pub const fn with(self, method: Method) -> Self {
        Self(self.0 | 1 << method as u8)
    }

    /// Both together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Methods {
    /// `frontier+heft`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for method in Method::ALL {
            if self.0 & (1 << method as u8) != 0 {
                write!(f, "{separator}{}", method.name())?;
                separator = "+";
            }
        }
        Ok(())
    }
}

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
    /// Counted work.
    pub effort: Effort,
    /// When to stop.
    pub budget: Budget<'a>,
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
    let bounds = bounds(request, &variants(request.problem, request.leaving));
    found.into_exits(&bounds, stop_reason(request.budget))
}

fn solve_fine(request: &BlockRequest<'_>) -> Vec<BlockExit> {
    let BlockRequest {
        problem,
        leaving,
        coverage,
        effort,
        budget,
        ..
    } = *request;
    let mut found = Found::default();
    let mut reached = Reached::Schedules;
    if let Some(frontier) = frontier::solve(problem, leaving, coverage, effort.states(), budget) {
        reached = frontier.reached;
        found.offer_exits(frontier, Method::Frontier);
    }
    match reached {
        Reached::Objective => return found.into_exits(&Bounds::Reached, StoppedBy::Complete),
        Reached::Makespan => return found.into_exits(&Bounds::Reached, stop_reason(budget)),
        Reached::Schedules => {}
    }
    let variants = variants(problem, leaving);
    for variant in &variants {
        found.offer_schedules(request, &variant.problem);
        if coverage == Coverage::Every {
            found.offer_schedules(request, &using_all(&variant.problem));
        }
    }
    found.offer_coarse(request);
    let mut bounds = bounds(request, &variants);
    if let (Some(limits), Bounds::ByPlace(by_place)) = (nodes(request), &mut bounds) {
        for variant in &variants {
            let bound = found.offer_program(request, variant, limits);
            if let (Some(bound), Some(known)) = (bound, by_place.get_mut(&variant.place)) {
                *known = bound.max(*known);
            }
        }
    }
    found.into_exits(&bounds, stop_reason(budget))
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

/// Locations that hold each leaving tensor once `solution` has run.
pub fn holders(problem: &Problem, solution: &Solution, leaving: &[usize]) -> Vec<Vec<usize>> {
    leaving
        .iter()
        .map(|&index| {
            let tensor = &problem.tensors[index];
            let mut holders = match tensor.producer {
                Some(producer) => vec![problem.homes[solution.processors[producer]]],
                None => tensor.held.clone(),
            };
            let source = holders[0];
            let mut targets: Vec<usize> = tensor
                .readers
                .iter()
                .map(|&reader| problem.homes[solution.processors[reader]])
                .collect();
            if tensor.to_io && tensor.producer.is_some() {
                targets.push(problem.io);
            }
            targets.retain(|&to| {
                let is_there = tensor.producer.is_none() && tensor.is_held_for(to);
                !is_there && tensor.moves[source][to].is_some()
            });
            holders.extend(targets);
            holders[1..].sort_unstable();
            holders.dedup();
            holders
        })
        .collect()
}

/// The problem with the exit at one place.
struct Variant {
    /// The place; `None` where no single operator writes all that leaves.
    place: Option<usize>,
    problem: Problem,
}

fn variants(problem: &Problem, leaving: &[usize]) -> Vec<Variant> {
    let exit = leaving
        .first()
        .and_then(|&tensor| problem.tensors[tensor].producer)
        .filter(|&exit| {
            leaving
                .iter()
                .all(|&tensor| problem.tensors[tensor].producer == Some(exit))
        });
    let Some(exit) = exit else {
        return vec![Variant {
            place: None,
            problem: problem.clone(),
        }];
    };
    let places: BTreeSet<usize> = problem.homes.iter().copied().collect();
    places
        .into_iter()
        .map(|place| {
            let mut variant = problem.clone();
            let times = &mut variant.operators[exit].times;
            for (time, &home) in times.iter_mut().zip(&problem.homes) {
                if home != place {
                    *time = None;
                }
            }
            Variant {
                place: Some(place),
                problem: variant,
            }
        })
        .collect()
}

fn using_all(problem: &Problem) -> Problem {
    Problem {
        must_use: problem.eligible(),
        ..problem.clone()
    }
}

/// What is known to be below every mapping.
enum Bounds {
    /// The makespan of each answer itself.
    Reached,
    /// For each place of the exit.
    ByPlace(BTreeMap<Option<usize>, Nanoseconds>),
}

/// Bounds for any set of used processors: an answer also stands for the smaller sets for which none was found.
fn bounds(request: &BlockRequest<'_>, variants: &[Variant]) -> Bounds {
    let must_use = request.problem.must_use;
    Bounds::ByPlace(
        variants
            .iter()
            .map(|variant| {
                debug_assert_eq!(variant.problem.must_use, must_use);
                (variant.place, lower_bound(&variant.problem))
            })
            .collect(),
    )
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    holders: Vec<Vec<usize>>,
    used: u16,
}

struct Candidate {
    objective: Objective,
    solution: Solution,
    method: Method,
}

/// The best candidate of each kind.
#[derive(Default)]
struct Found {
    best: BTreeMap<Key, Candidate>,
}

impl Found {
    fn offer(&mut self, problem: &Problem, leaving: &[usize], solution: Solution, method: Method) {
        let key = Key {
            holders: holders(problem, &solution, leaving),
            used: solution.processors.iter().fold(0, |set, p| set | 1 << p),
        };
        let candidate = Candidate {
            objective: schedule(problem, &solution).objective,
            solution,
            method,
        };
        let is_better = self.best.get(&key).is_none_or(|old| {
            (candidate.objective, &candidate.solution.processors)
                < (old.objective, &old.solution.processors)
        });
        if is_better && problem.must_use & !key.used == 0 {
            self.best.insert(key, candidate);
        }
    }

    fn offer_exits(&mut self, frontier: Frontier, method: Method) {
        for exit in frontier.exits {
            self.best.insert(
                Key {
                    holders: exit.holders,
                    used: exit.used,
                },
                Candidate {
                    objective: exit.objective,
                    solution: exit.solution,
                    method,
                },
            );
        }
    }

    /// Offers what list scheduling, single processors and local search find.
    fn offer_schedules(&mut self, request: &BlockRequest<'_>, variant: &Problem) {
        let mut starts: Vec<(Method, Solution)> = heft(variant)
            .map(|solution| (Method::ListSchedule, solution))
            .into_iter()
            .collect();
        starts.extend((0..variant.homes.len()).filter_map(|processor| {
            single(variant, processor).map(|solution| (Method::SingleProcessor, solution))
        }));
        let best = starts
            .iter()
            .map(|(_, solution)| solution)
            .min_by_key(|solution| schedule(variant, solution).objective);
        if let Some(best) = best {
            let improved = improve(variant, best, request.effort, request.budget);
            starts.push((Method::LocalSearch, improved));
        }
        for (method, solution) in starts {
            self.offer(request.problem, request.leaving, solution, method);
        }
    }

    /// Offers the best mappings with every branch on one processor, and those with nested branches beside them.
    fn offer_coarse(&mut self, request: &BlockRequest<'_>) {
        let BlockRequest {
            problem,
            leaving,
            coverage,
            branches,
            effort,
            budget,
            ..
        } = *request;
        let groups: Vec<Vec<usize>> = branches.iter().map(|branch| branch.ops.clone()).collect();
        let Ok(tasks) = contract(problem, &groups) else {
            // A branch that no processor runs alone: there is no coarse mapping.
            return;
        };
        if let Some(coarse) =
            frontier::solve(&tasks.problem, leaving, coverage, effort.states(), budget)
        {
            for exit in coarse.exits {
                self.offer(
                    problem,
                    leaving,
                    tasks.expand(&exit.solution),
                    Method::Coarse,
                );
            }
        } else if let Some(start) = heft(&tasks.problem) {
            let improved = improve(&tasks.problem, &start, effort, budget);
            self.offer(problem, leaving, tasks.expand(&improved), Method::Coarse);
        }
        if branches.iter().any(|branch| !branch.nested.is_empty()) {
            let watch = || remaining(budget);
            let limits = Limits {
                nodes: NODES_OF_COARSE,
                watch: Watch::Asked(&watch),
            };
            if let Ok(outcome) = coarse::solve(problem, branches, &limits) {
                self.offer(problem, leaving, outcome.solution, Method::Coarse);
            }
        }
    }

    /// Offers what the integer program finds from the best known start, and hands back its bound.
    ///
    /// A program that cannot be stated or solved changes nothing: what is known stays valid.
    fn offer_program(
        &mut self,
        request: &BlockRequest<'_>,
        variant: &Variant,
        nodes: NonZeroU32,
    ) -> Option<Nanoseconds> {
        let start = self
            .best
            .iter()
            .filter(|(key, _)| variant.place.is_none() || source(key) == variant.place)
            .map(|(_, candidate)| candidate)
            .min_by_key(|candidate| candidate.objective)?
            .solution
            .clone();
        let watch = || remaining(request.budget);
        let limits = Limits {
            nodes,
            watch: Watch::Asked(&watch),
        };
        let outcome = fine::solve(&variant.problem, &start, &limits).ok()?;
        self.offer(
            request.problem,
            request.leaving,
            outcome.solution,
            Method::Fine,
        );
        Some(outcome.bound)
    }

    /// One answer for each set of used processors.
    ///
    /// Where several tensors leave and the search is not complete, almost every schedule leaves them at other places; following them all would multiply the stages behind.
    fn keep_best_of_each_set(&mut self) {
        let mut best: BTreeMap<u16, (Objective, Key)> = BTreeMap::new();
        for (key, candidate) in &self.best {
            let entry = best
                .entry(key.used)
                .or_insert_with(|| (candidate.objective, key.clone()));
            if candidate.objective < entry.0 {
                *entry = (candidate.objective, key.clone());
            }
        }
        self.best
            .retain(|key, _| best.get(&key.used).is_some_and(|(_, kept)| kept == key));
    }

    /// What no candidate with the same holders and at least the same processors beats.
    fn into_exits(mut self, bounds: &Bounds, stopped_by: StoppedBy) -> Vec<BlockExit> {
        if let Bounds::ByPlace(by_place) = bounds
            && by_place.contains_key(&None)
        {
            self.keep_best_of_each_set();
        }
        let beaten: Vec<bool> = self
            .best
            .iter()
            .map(|(key, candidate)| {
                self.best.iter().any(|(other_key, other)| {
                    other_key.holders == key.holders
                        && other_key.used != key.used
                        && key.used & !other_key.used == 0
                        && (other.objective, &other.solution.processors)
                            < (candidate.objective, &candidate.solution.processors)
                })
            })
            .collect();
        self.best
            .into_iter()
            .zip(beaten)
            .filter(|(_, beaten)| !beaten)
            .map(|((key, candidate), _)| BlockExit {
                proof: proof(bounds, &key, candidate.objective.makespan, stopped_by),
                holders: key.holders,
                used: key.used,
                objective: candidate.objective,
                solution: candidate.solution,
                method: candidate.method,
                stopped_by,
            })
            .collect()
    }
}

/// Nodes of each program of nested branches: they are small.
const NODES_OF_COARSE: NonZeroU32 = NonZeroU32::new(200).expect("200 is not zero");

fn remaining(budget: Budget<'_>) -> Remaining {
    if budget.should_stop() {
        Remaining::Nothing
    } else {
        Remaining::Unlimited
    }
}

/// Where the first leaving tensor was written.
fn source(key: &Key) -> Option<usize> {
    key.holders.first().map(|holders| holders[0])
}

/// A bound that meets the value is a proof.
fn proof(bounds: &Bounds, key: &Key, value: Nanoseconds, stopped_by: StoppedBy) -> Proof {
    let bound = match bounds {
        Bounds::Reached => value,
        Bounds::ByPlace(by_place) => by_place
            .get(&source(key))
            .or_else(|| by_place.get(&None))
            .copied()
            .unwrap_or(Nanoseconds::ZERO),
    };
    if bound >= value {
        return Proof::Optimal;
    }
    match stopped_by {
        StoppedBy::Time | StoppedBy::Interrupt => Proof::Interrupted { bound },
        StoppedBy::Complete | StoppedBy::Gap | StoppedBy::Work => Proof::WithinGap { bound },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::oracle::{Shape, brute_force, instance, random_problem};
    use super::*;

    fn request<'a>(problem: &'a Problem, leaving: &'a [usize]) -> BlockRequest<'a> {
        BlockRequest {
            problem,
            leaving,
            coverage: Coverage::Every,
            branches: &[],
            granularity: Granularity::Auto,
            effort: Effort::Quick,
            budget: Budget::UNLIMITED,
        }
    }

    /// What the ladder does where the frontier search is not complete, with and without the integer program.
    fn ladder_without_frontier(request: &BlockRequest<'_>) -> Vec<BlockExit> {
        let mut found = Found::default();
        let variants = variants(request.problem, request.leaving);
        for variant in &variants {
            found.offer_schedules(request, &variant.problem);
            found.offer_schedules(request, &using_all(&variant.problem));
        }
        found.offer_coarse(request);
        let bounds = bounds(request, &variants);
        found.into_exits(&bounds, StoppedBy::Work)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn schedules_and_bounds_of_the_ladder_enclose_the_optimum(seed: u64, operators in 1..6_usize, processors in 1..4_usize, joined: bool) {
            let problem = random_problem(seed, Shape { operators, processors, joined });
            let leaving = if joined { problem.operators[operators - 1].writes.clone() } else { Vec::new() };
            let exact = brute_force(&problem, &leaving);
            for exit in ladder_without_frontier(&request(&problem, &leaving)) {
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
            let found = ladder_without_frontier(&request(&problem, &leaving));
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
        found.offer_schedules(&request, &variants[0].problem);
        let bound = found.offer_program(&request, &variants[0], NonZeroU32::new(2000).unwrap());
        let value = found
            .best
            .values()
            .map(|c| c.objective.makespan.count())
            .min();
        assert!(bound.unwrap().count() <= known);
        assert!(bound.unwrap() >= lower_bound(&problem));
        assert!(value.unwrap() >= known);
    }
}
