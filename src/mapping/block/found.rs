//! The best candidates of a block, one for each way in which it can leave its tensors and processors.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::StoppedBy;

use super::super::coarse::{self, contract};
use super::super::exact::solve_exactly;
use super::super::fine;
use super::super::frontier::{self, Coverage, Frontier};
use super::super::local_search::improve;
use super::super::{Objective, Problem, Proof, Solution, heft, schedule, single};
use super::variant::Variant;
use super::{BlockExit, BlockRequest, Method, holders};
use crate::milp::{Limits, Watch};

/// What is known to be below every mapping.
pub(super) enum Bounds {
    /// The makespan of each answer itself.
    Reached,
    /// For each place of the exit.
    ByPlace(BTreeMap<Option<usize>, Nanoseconds>),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
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
pub(super) struct Found {
    best: BTreeMap<Key, Candidate>,
}

impl Found {
    fn offer(&mut self, problem: &Problem, leaving: &[usize], solution: Solution, method: Method) {
        let key = Key {
            holders: holders(problem, &solution, leaving),
            used: problem.devices_of(&solution.processors),
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

    pub(super) fn offer_exits(&mut self, frontier: Frontier, method: Method) {
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

    /// Whether a candidate with the exit at `place` uses all of `set`.
    pub(super) fn covers(&self, place: Option<usize>, set: u16) -> bool {
        self.best.iter().any(|(key, candidate)| {
            candidate.method == Method::LocalSearch
                && key.used == set
                && (place.is_none() || source(key) == place)
        })
    }

    /// Offers what list scheduling, single processors and local search find; says whether local search was needed.
    pub(super) fn offer_schedules(
        &mut self,
        request: &BlockRequest<'_>,
        variant: &Problem,
        bound: Nanoseconds,
    ) -> bool {
        let mut starts = listed(variant);
        let best = starts
            .iter()
            .map(|(_, solution)| (schedule(variant, solution).objective, solution))
            .min_by_key(|(objective, _)| *objective);
        let improved = best
            .filter(|(objective, _)| !request.is_good_enough(objective.makespan, bound))
            .map(|(_, solution)| improve(variant, solution, request.moves(), request.budget));
        let is_improved = improved.is_some();
        starts.extend(improved.map(|solution| (Method::LocalSearch, solution)));
        for (method, solution) in starts {
            self.offer(request.problem, request.leaving, solution, method);
        }
        is_improved
    }

    /// Offers what list scheduling and single processors find.
    pub(super) fn offer_listed(&mut self, request: &BlockRequest<'_>, variant: &Problem) {
        for (method, solution) in listed(variant) {
            self.offer(request.problem, request.leaving, solution, method);
        }
    }

    /// Whether the best mapping of each variant, and the best that uses every processor, is as good as is asked for.
    pub(super) fn is_good_enough(
        &self,
        request: &BlockRequest<'_>,
        variants: &[Variant],
        bounds: &BTreeMap<Option<usize>, Nanoseconds>,
    ) -> bool {
        let everything = request.problem.eligible_devices();
        variants.iter().all(|variant| {
            let bound = bounds.get(&variant.place).copied().unwrap_or_default();
            let is_reached = |used: u16| {
                let own = self.best.iter().filter(|(key, _)| {
                    let is_there = variant.place.is_none() || source(key) == variant.place;
                    is_there && used & !key.used == 0
                });
                let best = own.map(|(_, candidate)| candidate.objective.makespan).min();
                best.is_some_and(|best| request.is_good_enough(best, bound))
            };
            is_reached(0) && (request.coverage != Coverage::Every || is_reached(everything))
        })
    }

    /// Offers the best mappings with every branch on one processor, and those with nested branches beside them.
    pub(super) fn offer_coarse(&mut self, request: &BlockRequest<'_>) {
        let BlockRequest {
            problem,
            leaving,
            coverage,
            branches,
            budget,
            ..
        } = *request;
        let groups: Vec<Vec<usize>> = branches.iter().map(|branch| branch.ops.clone()).collect();
        let Ok(tasks) = contract(problem, &groups) else {
            // A branch that no processor runs alone: there is no coarse mapping.
            return;
        };
        if let Some(coarse) =
            frontier::solve(&tasks.problem, leaving, coverage, request.states(), budget)
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
            let improved = improve(&tasks.problem, &start, request.moves(), budget);
            self.offer(problem, leaving, tasks.expand(&improved), Method::Coarse);
        }
        if branches.iter().any(|branch| !branch.nested.is_empty()) {
            let watch = || budget.remaining();
            let limits = Limits {
                nodes: NODES_OF_COARSE,
                watch: Watch::Asked(&watch),
            };
            if let Ok(outcome) = coarse::solve(problem, branches, &limits) {
                self.offer(problem, leaving, outcome.solution, Method::Coarse);
            }
        }
    }

    /// Offers what the exact search finds below the best known start, and hands back its bound.
    pub(super) fn offer_exact(
        &mut self,
        request: &BlockRequest<'_>,
        variant: &Variant,
    ) -> Option<Nanoseconds> {
        let start = self.best_at(variant)?;
        let states = request.effort.exact_states_of_block() / request.shared_by.max(1);
        let outcome = solve_exactly(&variant.problem, &start, states, request.budget)?;
        let value = schedule(&variant.problem, &outcome.value)
            .objective
            .makespan;
        let bound = outcome.proof.bound(value);
        self.offer(
            request.problem,
            request.leaving,
            outcome.value,
            Method::Exact,
        );
        Some(bound)
    }

    /// The best candidate with the exit where the variant has it.
    fn best_at(&self, variant: &Variant) -> Option<Solution> {
        self.best
            .iter()
            .filter(|(key, _)| variant.place.is_none() || source(key) == variant.place)
            .map(|(_, candidate)| candidate)
            .min_by_key(|candidate| candidate.objective)
            .map(|candidate| candidate.solution.clone())
    }

    /// Offers what the integer program finds from the best known start, and hands back its bound.
    ///
    /// A program that cannot be stated or solved changes nothing: what is known stays valid.
    pub(super) fn offer_program(
        &mut self,
        request: &BlockRequest<'_>,
        variant: &Variant,
        nodes: NonZeroU32,
    ) -> Option<Nanoseconds> {
        let start = self.best_at(variant)?;
        let watch = || request.budget.remaining();
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
    pub(super) fn into_exits(mut self, bounds: &Bounds, stopped_by: StoppedBy) -> Vec<BlockExit> {
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

/// What list scheduling and single processors find.
fn listed(variant: &Problem) -> Vec<(Method, Solution)> {
    let list = heft(variant).map(|solution| (Method::ListSchedule, solution));
    let devices = (0..variant.homes.len()).filter(|&lane| variant.device(lane) == lane);
    let alone = devices.filter_map(|processor| {
        single(variant, processor).map(|solution| (Method::SingleProcessor, solution))
    });
    list.into_iter().chain(alone).collect()
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
