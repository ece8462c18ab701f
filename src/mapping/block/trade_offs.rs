//! One block with energy as an objective: for each way to leave it, mappings from the fastest to the one of least energy.
//!
//! Exact by the frontier search where its counted work lasts.
//! Elsewhere the fastest mappings are traded for slower ones of less energy by local search under rising ceilings on the makespan: real trade-offs, and no claim that there are no better ones.

use paracompile_plan::{Nanojoules, Nanoseconds};

use super::super::bounds::lower_bound;
use super::super::frontier::energy_front;
use super::super::local_search::trade;
use super::super::staircase::thinned;
use super::super::{Objective, Proof, Solution, schedule};
use super::{BlockExit, BlockRequest, Granularity, Method, holders, solve_block};

/// The (time, energy) trade-offs of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TradeOffs {
    /// By holders, used processors, then makespan; within one of these, energies descend.
    pub(crate) exits: Vec<TradeOff>,
    /// Whether no mapping is missing that is better in time or energy than those here, but for [`TradeOff::slack`].
    pub(crate) is_exact: bool,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TradeOff {
    /// The mapping; its proof is about makespans under a ceiling of its energy.
    pub(crate) exit: BlockExit,
    /// How much less energy a mapping takes that is no faster and was left out.
    pub(crate) slack: Nanojoules,
}

/// How many trade-offs of one set of used processors and one exit are handed on; more are thinned.
const MOST_EXITS: usize = 6;

/// What the front gets of the block's counted work, as a divisor: most blocks are small, and the others need the work elsewhere.
const SHARE: u64 = 4;

/// Trading looks at every operator on every processor for each ceiling, so large blocks are traded from few starts: about this many operators in all.
const TRADED: usize = 600;

/// More operators make a front that is not finished.
const LARGEST_FRONT: usize = 14;

/// Maps one block as [`solve_block`] does, and trades time for energy.
pub(crate) fn trade_offs(request: &BlockRequest<'_>) -> TradeOffs {
    let fastest = solve_block(request);
    let problem = request.problem;
    if problem.homes.len() < 2 || request.granularity == Granularity::Coarse {
        let exits: Vec<TradeOff> = fastest.into_iter().map(TradeOff::of).collect();
        return TradeOffs {
            // One processor has one mapping.
            is_exact: problem.homes.len() < 2,
            exits,
        };
    }
    let traded = traded(request, &fastest);
    let is_small = problem.operators.len() <= LARGEST_FRONT;
    let is_wanted = is_small && !is_good_enough(request, &fastest, &traded);
    let exact = if is_wanted && !request.budget.should_stop() {
        let starts: Vec<Solution> = fastest
            .iter()
            .map(|exit| exit.solution.clone())
            .chain(traded.iter().cloned())
            .collect();
        energy_front(
            problem,
            request.leaving,
            request.coverage,
            &starts,
            request.states() / SHARE,
            request.budget,
        )
    } else {
        None
    };
    let is_exact = exact.is_some();
    let exits = match exact {
        Some(exits) => exits
            .into_iter()
            .map(|exit| BlockExit {
                holders: exit.holders,
                used: exit.used,
                objective: exit.objective,
                solution: exit.solution,
                proof: Proof::Optimal,
                method: Method::Frontier,
                stopped_by: paracompile_plan::plan::StoppedBy::Complete,
            })
            .collect(),
        None => undominated(request, fastest, traded),
    };
    TradeOffs {
        exits: thin(exits),
        is_exact,
    }
}

impl TradeOff {
    /// One for which nothing was left out.
    pub(crate) const fn of(exit: BlockExit) -> Self {
        Self {
            exit,
            slack: Nanojoules::ZERO,
        }
    }
}

/// Slower mappings of less energy, from the fastest of each set of used processors.
fn traded(request: &BlockRequest<'_>, fastest: &[BlockExit]) -> Vec<Solution> {
    let most = (TRADED / request.problem.operators.len().max(1)).max(1);
    let mut starts: Vec<&BlockExit> = fastest.iter().collect();
    starts.sort_by_key(|exit| (exit.objective, exit.used));
    starts
        .into_iter()
        .take(most)
        .flat_map(|exit| trade(request.problem, &exit.solution, request.budget))
        .collect()
}

/// Whether the user asks for no more than a gap, and no mapping here can be farther than that from the least time at any energy.
fn is_good_enough(request: &BlockRequest<'_>, fastest: &[BlockExit], traded: &[Solution]) -> bool {
    if request.gap_millionths == 0 {
        return false;
    }
    let least = fastest
        .iter()
        .map(|exit| exit.proof.bound(exit.objective.makespan))
        .min();
    let values = fastest.iter().map(|exit| exit.objective.makespan);
    let traded = traded
        .iter()
        .map(|solution| schedule(request.problem, solution).objective.makespan);
    least.is_some_and(|least| {
        values
            .chain(traded)
            .all(|value| request.is_good_enough(value, least))
    })
}

/// All that is known, without what another with the same holders and at least the same processors covers.
fn undominated(
    request: &BlockRequest<'_>,
    fastest: Vec<BlockExit>,
    traded: Vec<Solution>,
) -> Vec<BlockExit> {
    let problem = request.problem;
    let of_all = lower_bound(problem);
    let known: Vec<(Vec<Vec<usize>>, Nanoseconds)> = fastest
        .iter()
        .map(|exit| {
            let bound = exit.proof.bound(exit.objective.makespan);
            (exit.holders.clone(), bound)
        })
        .collect();
    let stopped_by = fastest.first().map(|exit| exit.stopped_by);
    let more = traded.into_iter().map(|solution| {
        let held = holders(problem, &solution, request.leaving);
        let objective = schedule(problem, &solution).objective;
        // What holds for every mapping that leaves the tensors there holds for those of less energy.
        let bound = known
            .iter()
            .filter(|(other, _)| *other == held)
            .map(|&(_, bound)| bound)
            .min()
            .unwrap_or(of_all)
            .min(objective.makespan);
        BlockExit {
            used: problem.devices_of(&solution.processors),
            holders: held,
            objective,
            proof: Proof::WithinGap { bound },
            solution,
            method: Method::LocalSearch,
            stopped_by: stopped_by.unwrap_or(paracompile_plan::plan::StoppedBy::Work),
        }
    });
    let must_use = problem.must_use;
    // Where several tensors leave, almost every mapping leaves them at other places; following all would multiply the stages behind.
    let places: std::collections::BTreeSet<Vec<Vec<usize>>> =
        known.iter().map(|(held, _)| held.clone()).collect();
    let mut all: Vec<BlockExit> = more
        .filter(|exit| must_use & !exit.used == 0 && places.contains(&exit.holders))
        .collect();
    let mut candidates = fastest;
    candidates.append(&mut all);
    candidates.sort_by(|a, b| {
        (&a.holders, a.objective, b.used.count_ones(), a.used).cmp(&(
            &b.holders,
            b.objective,
            a.used.count_ones(),
            b.used,
        ))
    });
    let mut kept: Vec<BlockExit> = Vec::new();
    for candidate in candidates {
        let is_covered = kept.iter().any(|other| {
            other.holders == candidate.holders
                && candidate.used & !other.used == 0
                && covers(other.objective, candidate.objective)
        });
        if !is_covered {
            kept.push(candidate);
        }
    }
    kept.sort_by(|a, b| (&a.holders, a.used, a.objective).cmp(&(&b.holders, b.used, b.objective)));
    kept
}

fn covers(a: Objective, b: Objective) -> bool {
    a.makespan <= b.makespan && a.energy <= b.energy
}

/// Few of each kind; the bound of one that is left out lives on in the next that takes no more energy.
fn thin(exits: Vec<BlockExit>) -> Vec<TradeOff> {
    let mut kept: Vec<TradeOff> = Vec::new();
    let mut rest = exits.into_iter().peekable();
    while let Some(first) = rest.next() {
        let mut group = vec![first];
        while let Some(next) =
            rest.next_if(|next| next.used == group[0].used && next.holders == group[0].holders)
        {
            group.push(next);
        }
        let points: Vec<(u64, u64)> = group
            .iter()
            .map(|exit| {
                (
                    exit.objective.makespan.count(),
                    exit.objective.energy.count(),
                )
            })
            .collect();
        let mut lowest: Option<Nanoseconds> = None;
        for (exit, is_kept) in group.into_iter().zip(thinned(&points, MOST_EXITS)) {
            let bound = exit.proof.bound(exit.objective.makespan);
            if is_kept {
                let mut exit = exit;
                if let Some(lower) = lowest.take().filter(|lower| *lower < bound) {
                    exit.proof = Proof::WithinGap { bound: lower };
                }
                kept.push(TradeOff::of(exit));
            } else {
                lowest = Some(lowest.map_or(bound, |lowest| lowest.min(bound)));
                if let Some(before) = kept.last_mut() {
                    let less = before
                        .exit
                        .objective
                        .energy
                        .saturating_sub(exit.objective.energy);
                    before.slack = before.slack.max(less);
                }
            }
        }
    }
    kept
}
