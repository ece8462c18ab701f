//! One block: the ladder from exact methods to good schedules with a bound.

use std::collections::BTreeMap;
use std::fmt;

use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::StoppedBy;

use super::bounds::lower_bound;
use super::frontier::{self, Coverage, Reached};
use super::local_search::improve;
use super::{Budget, Effort, Objective, Problem, Proof, Solution, heft, schedule, single};

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

/// Maps one block for each way in which the tensors in `leaving` can be held at the end, or for each that was found where the search is not complete.
///
/// Ordered by holders, then by used processors; empty if there is no mapping.
pub fn solve_block(
    problem: &Problem,
    leaving: &[usize],
    coverage: Coverage,
    effort: Effort,
    budget: Budget<'_>,
) -> Vec<BlockExit> {
    let searched = frontier::solve(problem, leaving, coverage, effort.states(), budget);
    let mut found = Found::default();
    if let Some(frontier) = searched {
        let complete = match frontier.reached {
            Reached::Schedules => None,
            Reached::Makespan => Some(stop_reason(budget)),
            Reached::Objective => Some(StoppedBy::Complete),
        };
        let proven = complete.is_some();
        for exit in frontier.exits {
            found.offer(
                Key {
                    holders: exit.holders,
                    used: exit.used,
                },
                Candidate {
                    objective: exit.objective,
                    solution: exit.solution,
                    method: Method::Frontier,
                    proof: proven.then_some(Proof::Optimal),
                },
            );
        }
        if let Some(stopped_by) = complete {
            return found.into_exits(Proof::Optimal, stopped_by);
        }
    }
    for variant in variants(problem, leaving, coverage) {
        found.offer_all(problem, leaving, &variant, effort, budget);
    }
    let bound = lower_bound(problem);
    let stopped_by = stop_reason(budget);
    let proof = match stopped_by {
        StoppedBy::Time | StoppedBy::Interrupt => Proof::Interrupted { bound },
        StoppedBy::Complete | StoppedBy::Gap | StoppedBy::Work => Proof::WithinGap { bound },
    };
    found.into_exits(proof, stopped_by)
}

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

/// The problem with more demands, each of which some answer must meet: an exit at each place, and all processors in use.
fn variants(problem: &Problem, leaving: &[usize], coverage: Coverage) -> Vec<Problem> {
    let exit = leaving
        .first()
        .and_then(|&tensor| problem.tensors[tensor].producer)
        .filter(|&exit| {
            leaving
                .iter()
                .all(|&tensor| problem.tensors[tensor].producer == Some(exit))
        });
    let mut placed = Vec::new();
    match exit {
        Some(exit) => {
            let mut places = problem.homes.clone();
            places.sort_unstable();
            places.dedup();
            for place in places {
                let mut variant = problem.clone();
                let homes = &problem.homes;
                for (time, &home) in variant.operators[exit].times.iter_mut().zip(homes) {
                    if home != place {
                        *time = None;
                    }
                }
                placed.push(variant);
            }
        }
        None => placed.push(problem.clone()),
    }
    if coverage == Coverage::Every {
        let all = problem.eligible();
        for index in 0..placed.len() {
            let mut variant = placed[index].clone();
            if variant.must_use != all {
                variant.must_use = all;
                placed.push(variant);
            }
        }
    }
    placed
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
    proof: Option<Proof>,
}

/// The best candidate of each kind.
#[derive(Default)]
struct Found {
    best: BTreeMap<Key, Candidate>,
}

impl Found {
    fn offer(&mut self, key: Key, candidate: Candidate) {
        let is_better = self.best.get(&key).is_none_or(|old| {
            (candidate.objective, &candidate.solution.processors)
                < (old.objective, &old.solution.processors)
        });
        if is_better {
            self.best.insert(key, candidate);
        }
    }

    /// Offers what list scheduling, single processors and local search find.
    fn offer_all(
        &mut self,
        problem: &Problem,
        leaving: &[usize],
        variant: &Problem,
        effort: Effort,
        budget: Budget<'_>,
    ) {
        let mut starts: Vec<(Method, Solution)> = heft(variant)
            .map(|solution| (Method::ListSchedule, solution))
            .into_iter()
            .collect();
        starts.extend((0..variant.homes.len()).filter_map(|processor| {
            single(variant, processor).map(|solution| (Method::SingleProcessor, solution))
        }));
        let best = starts
            .iter()
            .min_by_key(|(_, solution)| schedule(variant, solution).objective)
            .map(|(_, solution)| solution.clone());
        if let Some(best) = best {
            let improved = improve(variant, &best, effort, budget);
            starts.push((Method::LocalSearch, improved));
        }
        for (method, solution) in starts {
            let key = Key {
                holders: holders(problem, &solution, leaving),
                used: solution.processors.iter().fold(0, |set, p| set | 1 << p),
            };
            self.offer(
                key,
                Candidate {
                    objective: schedule(problem, &solution).objective,
                    solution,
                    method,
                    proof: None,
                },
            );
        }
    }

    /// What no candidate with the same holders and at least the same processors beats.
    fn into_exits(self, proof: Proof, stopped_by: StoppedBy) -> Vec<BlockExit> {
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
                proof: settle(
                    candidate.proof.unwrap_or(proof),
                    candidate.objective.makespan,
                ),
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

/// A bound that meets the value is a proof.
fn settle(proof: Proof, value: Nanoseconds) -> Proof {
    if proof.bound(value) == value {
        Proof::Optimal
    } else {
        proof
    }
}
