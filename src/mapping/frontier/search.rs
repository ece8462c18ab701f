//! The passes over layers of states.

use super::super::{Budget, Problem, Solution, schedule};
use super::exits::{Coverage, Exit, Finish, Frontier, Incumbents, Reached, Signature};
use super::layers::Layers;
use super::layout::Layout;
use super::state::{LARGEST_PLACEMENT, Pool, covering_bound};
use super::tables::{NEVER, Tables, mark, source_of};

/// The largest number of operators: sets are words.
pub const LARGEST: usize = LARGEST_PLACEMENT;

/// How many states of each set of used processors the two narrow passes keep in a layer.
const WIDTHS: [usize; 2] = [4, 16];

/// Solves a problem for each way in which the tensors in `leaving` can be held at the end.
///
/// At most `states` states are created; [`Frontier::reached`] says how far that went.
/// `None` if the problem is too large; no exits if there is no mapping.
pub fn solve(
    problem: &Problem,
    leaving: &[usize],
    coverage: Coverage,
    states: u64,
    budget: Budget<'_>,
) -> Option<Frontier> {
    solve_from(problem, leaving, coverage, &[], states, budget)
}

/// The same with schedules that are known: states that cannot become better than these are not followed.
///
/// # Panics
/// If one of `starts` is no mapping of the problem.
pub fn solve_from(
    problem: &Problem,
    leaving: &[usize],
    coverage: Coverage,
    starts: &[Solution],
    states: u64,
    budget: Budget<'_>,
) -> Option<Frontier> {
    if problem.operators.len() > LARGEST || problem.locations > 32 || problem.homes.len() > 16 {
        return None;
    }
    let tables = Tables::new(problem, leaving, coverage);
    let mut incumbents = Incumbents::new(tables.masks.clone());
    for start in starts {
        let (signature, finish) = known(problem, leaving, start);
        let used = tables.twins.representative(finish.used);
        incumbents.offer(&signature, &tables.twins.renamed(&finish, used));
    }
    let mut search = Search {
        layers: Layers::new(&tables, states, budget),
    };
    let mut reached = Reached::Schedules;
    for width in WIDTHS {
        search.run(Pass::Narrow { width }, &mut incumbents);
    }
    if search.run(Pass::Makespan, &mut incumbents) {
        reached = Reached::Makespan;
        if search.run(Pass::Energy, &mut incumbents) {
            reached = Reached::Objective;
        }
    }
    let finishes = incumbents.into_finishes();
    let finishes = if tables.twins.is_empty() {
        finishes
    } else {
        let mut all = Incumbents::new(tables.wanted.clone());
        for (signature, finish) in finishes {
            for used in tables.twins.equivalent(finish.used) {
                all.offer(&signature, &tables.twins.renamed(&finish, used));
            }
        }
        all.into_finishes()
    };
    let exits = finishes
        .into_iter()
        .map(|(signature, finish)| exit(problem, &signature, &finish))
        .collect();
    Some(Frontier { exits, reached })
}

/// A schedule as the search would have found it.
pub(super) fn known(
    problem: &Problem,
    leaving: &[usize],
    solution: &Solution,
) -> (Signature, Finish) {
    let signature = super::super::block::holders(problem, solution, leaving)
        .iter()
        .map(|holders| {
            mark(
                holders[0],
                holders[1..].iter().fold(0, |set, l| set | 1 << l),
            )
        })
        .collect();
    let placement =
        solution
            .processors
            .iter()
            .enumerate()
            .fold(0, |placement, (operator, &processor)| {
                placement | (processor as u128) << (4 * (LARGEST_PLACEMENT - 1 - operator))
            });
    let finish = Finish {
        objective: schedule(problem, solution).objective,
        placement,
        used: solution.processors.iter().fold(0, |set, p| set | 1 << p),
        sequence: solution
            .sequence
            .iter()
            .map(|&operator| u8::try_from(operator).expect("a block has few operators"))
            .collect(),
    };
    (signature, finish)
}

pub(super) fn exit(problem: &Problem, signature: &Signature, finish: &Finish) -> Exit {
    let solution = Solution {
        processors: (0..problem.operators.len())
            .map(|operator| {
                let shift = 4 * (LARGEST_PLACEMENT - 1 - operator);
                usize::try_from(finish.placement >> shift & 15).expect("four bits fit any word")
            })
            .collect(),
        sequence: finish.sequence.iter().map(|&v| usize::from(v)).collect(),
    };
    let objective = schedule(problem, &solution).objective;
    debug_assert!(
        objective <= finish.objective,
        "a schedule is never later than its states say"
    );
    Exit {
        holders: signature.iter().map(|&mark| holders(mark)).collect(),
        used: finish.used,
        objective,
        solution,
    }
}

fn holders(mark: u64) -> Vec<usize> {
    let source = source_of(mark);
    let mut holders = vec![source];
    holders.extend((0..32).filter(|&other| other != source && mark & (1 << other) != 0));
    holders
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Few states in each layer: upper bounds.
    Narrow { width: usize },
    /// All states that can be better in time.
    Makespan,
    /// All states that can be as good in time and better in energy.
    Energy,
}

/// What a state must stay below to be of use, for each class and wanted set.
struct Ceilings {
    masks: Vec<u16>,
    /// At `class · masks + mask`: the first makespan that is of no use, and the largest energy that is.
    limits: Vec<(u64, u64)>,
    /// The largest of the first, of each class.
    widest: Vec<u64>,
}

struct Search<'a> {
    layers: Layers<'a>,
}

impl Search<'_> {
    /// Runs one pass; `false` if the work or the budget did not last.
    fn run(&mut self, pass: Pass, incumbents: &mut Incumbents) -> bool {
        let ceilings = self.ceilings(pass, incumbents);
        let width = match pass {
            Pass::Narrow { width } => Some(width),
            Pass::Makespan | Pass::Energy => None,
        };
        let tables = self.layers.tables;
        let mut layer = self.layers.root();
        for _ in 0..tables.operators {
            let is_of_use = |pool: &Pool, index: usize, layout: &Layout, bounds: &[u64]| {
                is_of_use(tables, pool, index, layout, bounds, &ceilings)
            };
            let next = self
                .layers
                .next(&layer, width, pass == Pass::Energy, is_of_use);
            let Some(next) = next else {
                return false;
            };
            layer = next;
        }
        for (signature, finish) in self.layers.finishes(&layer) {
            incumbents.offer(&signature, &tables.twins.renamed(&finish, finish.used));
        }
        true
    }

    fn ceilings(&self, pass: Pass, incumbents: &Incumbents) -> Ceilings {
        let masks = incumbents.masks.clone();
        let mut limits = Vec::new();
        for class in 0..self.layers.tables.classes {
            let signature = if self.layers.tables.exit.is_some() {
                self.layers.tables.signature_of_class(class)
            } else {
                Vec::new()
            };
            let row = incumbents.by_signature.get(&signature);
            for index in 0..masks.len() {
                limits.push(limit(pass, row.and_then(|row| row[index].as_ref())));
            }
        }
        if pass == Pass::Energy
            && self.layers.tables.exit.is_none()
            && !self.layers.tables.leaving.is_empty()
        {
            // Any of the signatures can be the one, so the latest of them counts.
            for (index, limit) in limits.iter_mut().enumerate() {
                let latest = incumbents
                    .by_signature
                    .values()
                    .filter_map(|row| row[index].as_ref())
                    .map(|finish| finish.objective.makespan.count())
                    .max();
                *limit = (latest.map_or(0, |latest| latest.saturating_add(1)), NEVER);
            }
        }
        let widest = limits
            .chunks(masks.len().max(1))
            .map(|row| row.iter().map(|limit| limit.0).max().unwrap_or(0))
            .collect();
        Ceilings {
            masks,
            limits,
            widest,
        }
    }
}

fn limit(pass: Pass, known: Option<&Finish>) -> (u64, u64) {
    let Some(known) = known else {
        return (NEVER, NEVER);
    };
    let makespan = known.objective.makespan.count();
    match pass {
        Pass::Narrow { .. } | Pass::Makespan => (makespan, NEVER),
        Pass::Energy => (makespan.saturating_add(1), known.objective.energy.count()),
    }
}

/// Whether a state can lead to something that is wanted and better than what is known.
fn is_of_use(
    tables: &Tables<'_>,
    pool: &Pool,
    index: usize,
    layout: &Layout,
    bounds: &[u64],
    ceilings: &Ceilings,
) -> bool {
    let least_energy = pool.nodes[index].energy.saturating_add(layout.least_energy);
    let masks = ceilings.masks.len();
    (0..tables.classes).any(|class| {
        bounds[class] < ceilings.widest[class]
            && ceilings
                .masks
                .iter()
                .enumerate()
                .any(|(mask_index, &mask)| {
                    let (makespan, energy) = ceilings.limits[class * masks + mask_index];
                    bounds[class] < makespan
                        && least_energy <= energy
                        && covering_bound(tables, layout, pool, index, mask, class) < makespan
                })
    })
}

#[cfg(test)]
mod tests {
    use paracompile_plan::Nanoseconds;
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::super::Objective;
    use super::super::super::oracle::{
        Holders, Shape, arabnejad, brute_force, instance, random_problem, topcuoglu,
    };
    use super::*;

    fn least(problem: &Problem) -> Objective {
        let frontier = solve(
            problem,
            &[],
            Coverage::Required,
            u64::MAX,
            Budget::UNLIMITED,
        )
        .unwrap();
        assert_eq!(frontier.reached, Reached::Objective);
        frontier.exits[0].objective
    }

    #[test]
    fn published_examples_have_the_known_optima() {
        assert_eq!(least(&topcuoglu()).makespan, Nanoseconds::new(73));
        assert_eq!(least(&arabnejad()).makespan, Nanoseconds::new(113));
    }

    #[test]
    fn inception_blocks_have_the_known_optima() {
        for name in ["incA_p3", "incC_p3"] {
            let (problem, known) = instance(name);
            assert_eq!(least(&problem).makespan, Nanoseconds::new(known));
        }
    }

    #[test]
    fn too_little_work_is_said_and_schedules_remain() {
        let frontier = solve(&topcuoglu(), &[], Coverage::Required, 10, Budget::UNLIMITED).unwrap();
        assert_eq!(frontier.reached, Reached::Schedules);
        assert!(frontier.exits[0].objective.makespan >= Nanoseconds::new(73));
    }

    /// For each holders and each wanted set, the least objective of those that use it.
    fn by_wanted_set(
        found: &BTreeMap<(Holders, u16), Objective>,
        masks: u16,
        required: u16,
    ) -> BTreeMap<(Holders, u16), Objective> {
        let mut least = BTreeMap::new();
        for ((holders, used), &objective) in found {
            for mask in (0..masks).filter(|mask| (mask | required) & !used == 0) {
                let entry = least.entry((holders.clone(), mask)).or_insert(objective);
                *entry = objective.min(*entry);
            }
        }
        least
    }

    fn compare(problem: &Problem, leaving: &[usize], coverage: Coverage) {
        let frontier = solve(problem, leaving, coverage, u64::MAX, Budget::UNLIMITED).unwrap();
        assert_eq!(frontier.reached, Reached::Objective);
        let mut found = BTreeMap::new();
        for exit in &frontier.exits {
            let used = exit
                .solution
                .processors
                .iter()
                .fold(0, |set, p| set | 1 << p);
            assert_eq!(exit.used, used);
            found.insert((exit.holders.clone(), used), exit.objective);
        }
        let masks = match coverage {
            Coverage::Required => 1,
            Coverage::Every => 1 << problem.homes.len(),
        };
        let expected = by_wanted_set(&brute_force(problem, leaving), masks, problem.must_use);
        assert_eq!(by_wanted_set(&found, masks, problem.must_use), expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn optimum_is_that_of_brute_force(seed: u64, operators in 0..6_usize, processors in 1..4_usize, mask in 0..8_u16) {
            let mut problem = random_problem(seed, Shape { operators, processors, joined: false });
            problem.must_use = mask & ((1 << processors) - 1);
            compare(&problem, &[], Coverage::Required);
        }

        #[test]
        fn processors_that_are_alike_have_the_optimum_of_brute_force(seed: u64, operators in 1..6_usize, processors in 2..4_usize, twins in 0..3_usize, mask in 0..8_u16, joined: bool) {
            let mut problem = random_problem(seed, Shape { operators, processors, joined });
            problem.must_use = mask & ((1 << processors) - 1);
            let problem = problem.with_twins([&[0, 1, 2][..], &[0, 2], &[1, 2]][twins]);
            compare(&problem, &[], Coverage::Required);
            let problem = Problem { must_use: 0, ..problem };
            let leaving = problem.operators[operators - 1].writes.clone();
            compare(&problem, &leaving, Coverage::Every);
        }

        #[test]
        fn every_exit_place_and_set_has_the_optimum_of_brute_force(seed: u64, operators in 1..6_usize, processors in 1..4_usize) {
            let problem = random_problem(seed, Shape { operators, processors, joined: true });
            let leaving = problem.operators[operators - 1].writes.clone();
            compare(&problem, &leaving, Coverage::Every);
        }

        #[test]
        fn every_way_to_hold_several_tensors_has_the_optimum_of_brute_force(seed: u64, operators in 1..5_usize, processors in 1..4_usize, every: u64) {
            let problem = random_problem(seed, Shape { operators, processors, joined: false });
            let leaving: Vec<usize> = (0..problem.tensors.len()).filter(|t| every >> t & 1 == 1).collect();
            compare(&problem, &leaving, Coverage::Every);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn every_exit_place_and_set_of_devices_with_lanes_has_the_optimum_of_brute_force(seed: u64, operators in 1..6_usize, counts in prop::collection::vec(1..4_usize, 2)) {
            let problem = random_problem(seed, Shape { operators, processors: 2, joined: true });
            let leaving = problem.operators[operators - 1].writes.clone();
            let problem = problem.with_lanes(&counts);
            let frontier = solve(&problem, &leaving, Coverage::Every, u64::MAX, Budget::UNLIMITED).unwrap();
            prop_assert_eq!(frontier.reached, Reached::Objective);
            let mut found = BTreeMap::new();
            for exit in &frontier.exits {
                prop_assert_eq!(exit.used, problem.devices_of(&exit.solution.processors));
                let known = found.entry((exit.holders.clone(), exit.used)).or_insert(exit.objective);
                *known = exit.objective.min(*known);
            }
            let mut expected = BTreeMap::new();
            for ((holders, used), objective) in brute_force(&problem, &leaving) {
                let lanes: Vec<usize> = (0..problem.homes.len()).filter(|p| used >> p & 1 == 1).collect();
                let known = expected.entry((holders, problem.devices_of(&lanes))).or_insert(objective);
                *known = objective.min(*known);
            }
            let masks = 1 << problem.homes.len();
            let wanted = |values| by_wanted_set(values, masks, problem.must_use);
            let (found, expected) = (wanted(&found), wanted(&expected));
            // Of lanes only the first is asked for.
            let devices = problem.eligible_devices();
            for (key, objective) in expected.iter().filter(|((_, mask), _)| mask & !devices == 0) {
                prop_assert_eq!(found.get(key), Some(objective));
            }
        }
    }

    #[test]
    fn six_operators_have_the_optimum_of_brute_force() {
        for seed in 0..12 {
            let problem = random_problem(
                seed,
                Shape {
                    operators: 6,
                    processors: 3,
                    joined: true,
                },
            );
            let leaving = problem.operators[5].writes.clone();
            compare(&problem, &leaving, Coverage::Every);
        }
    }
}
