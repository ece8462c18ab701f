//! The passes over layers of states.

use std::collections::HashMap;
use std::rc::Rc;

use paracompile_plan::{Nanojoules, Nanoseconds};

use super::super::{Budget, Objective, Problem, Solution, schedule};
use super::exits::{Coverage, Exit, Finish, Frontier, Incumbents, Reached, Signature};
use super::layout::Layout;
use super::state::{LARGEST_PLACEMENT, Pool, Step, covering_bound};
use super::tables::{NEVER, Tables, mark, source_of};

/// The largest number of operators: sets are words.
pub const LARGEST: usize = LARGEST_PLACEMENT;

/// Comparisons of two states that take about as long as making one.
const COMPARISONS: u64 = 16;

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
        incumbents.offer(&signature, &finish);
    }
    let mut search = Search {
        layouts: HashMap::new(),
        trace: Vec::new(),
        states_left: states,
        budget,
        tables: &tables,
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
    let exits = incumbents
        .into_finishes()
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
    tables: &'a Tables<'a>,
    layouts: HashMap<u32, Rc<Layout>>,
    /// For each kept state: the one before, operator and processor.
    trace: Vec<(u32, u8)>,
    states_left: u64,
    budget: Budget<'a>,
}

impl Search<'_> {
    /// Runs one pass; `false` if the work or the budget did not last.
    fn run(&mut self, pass: Pass, incumbents: &mut Incumbents) -> bool {
        self.trace.clear();
        let ceilings = self.ceilings(pass, incumbents);
        let root = self.layout(0);
        let mut layer = Pool::root(self.tables, &root);
        for _ in 0..self.tables.operators {
            let Some(candidates) = self.expand(&layer, &ceilings, pass) else {
                return false;
            };
            let Some(kept) = self.keep(&candidates, pass) else {
                return false;
            };
            layer = kept;
        }
        for index in 0..layer.nodes.len() {
            self.finish(&layer, index, incumbents);
        }
        true
    }

    fn layout(&mut self, done: u32) -> Rc<Layout> {
        let tables = self.tables;
        Rc::clone(
            self.layouts
                .entry(done)
                .or_insert_with(|| Rc::new(Layout::new(tables, done))),
        )
    }

    fn ceilings(&self, pass: Pass, incumbents: &Incumbents) -> Ceilings {
        let masks = incumbents.masks.clone();
        let mut limits = Vec::new();
        for class in 0..self.tables.classes {
            let signature = if self.tables.exit.is_some() {
                self.tables.signature_of_class(class)
            } else {
                Vec::new()
            };
            let row = incumbents.by_signature.get(&signature);
            for index in 0..masks.len() {
                limits.push(limit(pass, row.and_then(|row| row[index].as_ref())));
            }
        }
        if pass == Pass::Energy && self.tables.exit.is_none() && !self.tables.leaving.is_empty() {
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

    /// All states that follow from a layer and are of use.
    fn expand(&mut self, layer: &Pool, ceilings: &Ceilings, pass: Pass) -> Option<Pool> {
        let tables = self.tables;
        let mut candidates = Pool::default();
        let mut bounds = vec![0; tables.classes];
        let mut at = 0;
        while at < layer.nodes.len() {
            let done = layer.nodes[at].done;
            let group = layer.nodes[at..]
                .iter()
                .take_while(|node| node.done == done)
                .count();
            let before = self.layout(done);
            for &operator in &before.ready {
                let behind = self.layout(done | 1 << operator);
                let step = Step::new(tables, operator, &before, &behind);
                for index in at..at + group {
                    for processor in tables.supported(operator) {
                        candidates.append(tables, layer, index, &step, processor, &mut bounds);
                        let last = candidates.nodes.len() - 1;
                        if !is_of_use(tables, &candidates, last, &behind, &bounds, ceilings) {
                            candidates.pop();
                        }
                    }
                }
                let created = (group * tables.processors) as u64;
                if !matches!(pass, Pass::Narrow { .. }) {
                    if self.states_left < created {
                        return None;
                    }
                    self.states_left -= created;
                }
            }
            if self.budget.should_stop() {
                return None;
            }
            at += group;
        }
        Some(candidates)
    }

    /// The states of a layer that no other dominates; `None` if the work did not last.
    fn keep(&mut self, candidates: &Pool, pass: Pass) -> Option<Pool> {
        let tables = self.tables;
        let mut order: Vec<usize> = (0..candidates.nodes.len()).collect();
        order.sort_unstable_by_key(|&index| {
            let node = &candidates.nodes[index];
            let unused = u16::MAX - node.used;
            (
                node.done,
                node.sum,
                node.energy,
                unused.count_ones(),
                node.placement,
                index,
            )
        });
        let mut kept: Vec<usize> = Vec::new();
        let mut at = 0;
        let mut comparisons = 0;
        let most = self.states_left.saturating_mul(COMPARISONS);
        while at < order.len() {
            let done = candidates.nodes[order[at]].done;
            let layout = self.layout(done);
            let first = kept.len();
            while at < order.len() && candidates.nodes[order[at]].done == done {
                let index = order[at];
                at += 1;
                // At the end the exit's place counts, and the incumbents choose.
                let is_dominated = layout.remaining > 0
                    && kept[first..].iter().any(|&other| {
                        candidates.dominates(tables, &layout, other, index, pass == Pass::Energy)
                    });
                comparisons += (kept.len() - first) as u64;
                if !is_dominated {
                    kept.push(index);
                }
                if comparisons > most && !matches!(pass, Pass::Narrow { .. }) {
                    return None;
                }
            }
        }
        if !matches!(pass, Pass::Narrow { .. }) {
            self.states_left -= comparisons / COMPARISONS;
        }
        let is_last = kept.first().is_some_and(|&index| {
            candidates.nodes[index].done.count_ones() as usize == tables.operators
        });
        if let (Pass::Narrow { width }, false) = (pass, is_last) {
            kept = narrow(candidates, kept, width);
        }
        let mut layer = Pool::default();
        for index in kept {
            let node = &candidates.nodes[index];
            let layout = self.layout(node.done);
            let trace = u32::try_from(self.trace.len()).expect("states are counted");
            self.trace.push((node.trace, node.operator));
            layer.copy(tables, candidates, index, &layout, trace);
        }
        Some(layer)
    }

    fn finish(&mut self, layer: &Pool, index: usize, incumbents: &mut Incumbents) {
        let tables = self.tables;
        let node = &layer.nodes[index];
        let layout = self.layout(node.done);
        let signature = match tables.exit {
            Some(exit) => {
                let shift = 4 * (LARGEST_PLACEMENT - 1 - exit);
                let processor =
                    usize::try_from(node.placement >> shift & 15).expect("four bits fit any word");
                tables.signature_of_class(tables.place_of[processor])
            }
            None => tables
                .leaving
                .iter()
                .map(|tensor| {
                    let slot = layout.tracked.iter().position(|other| other == tensor);
                    slot.map_or(mark(0, 0), |slot| layer.marks(index, &layout)[slot])
                })
                .collect(),
        };
        let mut sequence = Vec::with_capacity(tables.operators);
        let mut trace = node.trace;
        while let Some(&(before, operator)) = self.trace.get(trace as usize) {
            sequence.push(operator);
            trace = before;
        }
        sequence.reverse();
        let finish = Finish {
            objective: Objective {
                makespan: Nanoseconds::new(node.makespan),
                energy: Nanojoules::new(node.energy),
            },
            placement: node.placement,
            used: node.used,
            sequence,
        };
        incumbents.offer(&signature, &finish);
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

/// The most promising states of each set of used processors, in the order of `kept`.
fn narrow(candidates: &Pool, kept: Vec<usize>, width: usize) -> Vec<usize> {
    let mut ranked: Vec<(u16, u64, u64, usize)> = kept
        .iter()
        .enumerate()
        .map(|(position, &index)| {
            let node = &candidates.nodes[index];
            (node.used, node.bound, node.sum, position)
        })
        .collect();
    ranked.sort_unstable();
    let mut chosen = vec![false; kept.len()];
    let mut count = 0;
    for (at, &(used, _, _, position)) in ranked.iter().enumerate() {
        count = if at > 0 && ranked[at - 1].0 == used {
            count + 1
        } else {
            1
        };
        chosen[position] = count <= width;
    }
    kept.into_iter()
        .zip(chosen)
        .filter_map(|(index, chosen)| chosen.then_some(index))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

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
