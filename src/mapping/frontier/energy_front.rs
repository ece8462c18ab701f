//! The exact Pareto set of (makespan, energy) for each way in which a block can leave its tensors.
//!
//! The same states and the same dominance as the pass for the energy under the least makespan; but a state is of use as long as no known point of the front covers what it can still lead to.
//! Known schedules cover from the start, so that good ones make the search short.

use std::collections::BTreeMap;

use super::super::{Budget, Objective, Problem, Solution};
use super::exits::{Coverage, Exit, Finish, Signature};
use super::layers::Layers;
use super::layout::Layout;
use super::search::{LARGEST, exit, known};
use super::state::{Pool, covering_bound};
use super::tables::Tables;

/// Every point of the front of (makespan, energy) for each way in which the tensors in `leaving` can be held at the end and each wanted set of processors; of equal points the first that is found.
///
/// By holders, then used processors, then makespan.
/// `None` if the problem is too large or `states` states are not enough.
///
/// # Panics
/// If one of `starts` is no mapping of the problem.
pub fn energy_front(
    problem: &Problem,
    leaving: &[usize],
    coverage: Coverage,
    starts: &[Solution],
    states: u64,
    budget: Budget<'_>,
) -> Option<Vec<Exit>> {
    if problem.operators.len() > LARGEST || problem.locations > 32 || problem.homes.len() > 16 {
        return None;
    }
    let tables = Tables::new(problem, leaving, coverage);
    let mut fronts = Fronts::default();
    for start in starts {
        let (signature, finish) = known(problem, leaving, start);
        if problem.must_use & !finish.used == 0 {
            let used = tables.twins.representative(finish.used);
            fronts.offer(&signature, tables.twins.renamed(&finish, used));
        }
    }
    let ceilings = Ceilings::new(&tables, &fronts);
    let mut layers = Layers::new(&tables, states, budget);
    let mut layer = layers.root();
    for _ in 0..tables.operators {
        layer = layers.next(&layer, None, true, |pool, index, layout, bounds| {
            is_of_use(&tables, pool, index, layout, bounds, &ceilings)
        })?;
    }
    for (signature, finish) in layers.finishes(&layer) {
        fronts.offer(&signature, finish);
    }
    let mut all = Fronts::default();
    for (signature, front) in &fronts.by_signature {
        for finish in front {
            for used in tables.twins.equivalent(finish.used) {
                all.offer(signature, tables.twins.renamed(finish, used));
            }
        }
    }
    let mut exits: Vec<Exit> = all
        .by_signature
        .iter()
        .flat_map(|(signature, front)| front.iter().map(|finish| exit(problem, signature, finish)))
        .collect();
    exits.sort_by(|a, b| (&a.holders, a.used, a.objective).cmp(&(&b.holders, b.used, b.objective)));
    Some(exits)
}

/// Finished schedules, none of which another with at least its processors covers.
#[derive(Default)]
struct Fronts {
    by_signature: BTreeMap<Signature, Vec<Finish>>,
}

impl Fronts {
    fn offer(&mut self, signature: &Signature, finish: Finish) {
        if !self.by_signature.contains_key(signature) {
            self.by_signature.insert(signature.clone(), Vec::new());
        }
        let Some(front) = self.by_signature.get_mut(signature) else {
            return;
        };
        if front.iter().any(|other| covers(other, &finish)) {
            return;
        }
        front.retain(|other| !covers(&finish, other));
        front.push(finish);
    }
}

fn covers(a: &Finish, b: &Finish) -> bool {
    a.objective.makespan <= b.objective.makespan
        && a.objective.energy <= b.objective.energy
        && b.used & !a.used == 0
}

/// The points that states of one class are compared with, by wanted set of processors, each a staircase of makespans and energies.
struct Ceilings {
    /// At `class · masks + mask`; makespans ascend, energies descend.
    stairs: Vec<Vec<(u64, u64)>>,
}

impl Ceilings {
    fn new(tables: &Tables<'_>, fronts: &Fronts) -> Self {
        let mut stairs = Vec::new();
        for class in 0..tables.classes {
            // Without one exit that writes all that leaves, a state may end with any signature: then nothing is known to cover it.
            let front = match (tables.exit, tables.leaving.is_empty()) {
                (Some(_), _) => fronts.by_signature.get(&tables.signature_of_class(class)),
                (None, true) => fronts.by_signature.get(&Vec::new()),
                (None, false) => None,
            };
            for &mask in &tables.masks {
                let mut points: Vec<(u64, u64)> = front
                    .into_iter()
                    .flatten()
                    .filter(|finish| mask & !finish.used == 0)
                    .map(|finish| {
                        let Objective { makespan, energy } = finish.objective;
                        (makespan.count(), energy.count())
                    })
                    .collect();
                points.sort_unstable();
                let mut least = u64::MAX;
                points.retain(|&(_, energy)| {
                    let is_step = energy < least;
                    least = least.min(energy);
                    is_step
                });
                stairs.push(points);
            }
        }
        Self { stairs }
    }

    /// Whether a known point takes no longer than `makespan` and no more than `energy`.
    fn covers(&self, at: usize, makespan: u64, energy: u64) -> bool {
        let stairs = &self.stairs[at];
        let behind = stairs.partition_point(|&(time, _)| time <= makespan);
        // The last step that is no slower is the cheapest of them.
        behind > 0 && stairs[behind - 1].1 <= energy
    }
}

/// Whether a state can lead to a point that is wanted and not covered.
///
/// What it leads to uses at least its own processors, so that sets without one of these need not be asked.
fn is_of_use(
    tables: &Tables<'_>,
    pool: &Pool,
    index: usize,
    layout: &Layout,
    bounds: &[u64],
    ceilings: &Ceilings,
) -> bool {
    let node = &pool.nodes[index];
    let energy = node.energy.saturating_add(layout.least_energy);
    let masks = tables.masks.len();
    (0..tables.classes).any(|class| {
        bounds[class] < u64::MAX
            && tables.masks.iter().enumerate().any(|(position, &mask)| {
                if tables.masks.len() > 1 && node.used & !mask != 0 {
                    return false;
                }
                let covering = covering_bound(tables, layout, pool, index, mask, class);
                let makespan = bounds[class].max(covering);
                makespan < u64::MAX && !ceilings.covers(class * masks + position, makespan, energy)
            })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::super::oracle::{
        Holders, Shape, brute_force_fronts, instance, random_problem,
    };
    use super::super::super::{heft, schedule};
    use super::*;

    type Points = BTreeSet<(Holders, u16, u64, u64)>;

    /// All points, without those that one with the same holders and at least the same processors covers.
    fn expected(problem: &Problem, leaving: &[usize]) -> Points {
        let all: Points = brute_force_fronts(problem, leaving)
            .into_iter()
            .flat_map(|((holders, used), front)| {
                front
                    .into_iter()
                    .map(move |(time, energy)| (holders.clone(), used, time, energy))
            })
            .collect();
        all.iter()
            .filter(|a| {
                !all.iter()
                    .any(|b| b != *a && b.0 == a.0 && a.1 & !b.1 == 0 && b.2 <= a.2 && b.3 <= a.3)
            })
            .cloned()
            .collect()
    }

    fn found(problem: &Problem, leaving: &[usize], starts: &[Solution]) -> Points {
        let exits = energy_front(
            problem,
            leaving,
            Coverage::Every,
            starts,
            u64::MAX,
            Budget::UNLIMITED,
        );
        exits
            .unwrap()
            .into_iter()
            .map(|exit| {
                assert_eq!(schedule(problem, &exit.solution).objective, exit.objective);
                let Objective { makespan, energy } = exit.objective;
                (exit.holders, exit.used, makespan.count(), energy.count())
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn has_every_point_of_the_front_of_all_schedules(seed: u64, operators in 1..6_usize, processors in 1..4_usize, joined: bool) {
            let problem = random_problem(seed, Shape { operators, processors, joined });
            let leaving = if joined { problem.operators[operators - 1].writes.clone() } else { Vec::new() };
            let starts: Vec<Solution> = if seed & 1 == 0 { heft(&problem).into_iter().collect() } else { Vec::new() };
            prop_assert_eq!(found(&problem, &leaving, &starts), expected(&problem, &leaving));
        }

        #[test]
        fn has_every_point_where_processors_are_alike(seed: u64, operators in 1..6_usize, processors in 2..4_usize, twins in 0..3_usize, joined: bool) {
            let problem = random_problem(seed, Shape { operators, processors, joined });
            let problem = problem.with_twins([&[0, 1, 2][..], &[0, 2], &[1, 2]][twins]);
            let leaving = if joined { problem.operators[operators - 1].writes.clone() } else { Vec::new() };
            let starts: Vec<Solution> = if seed & 1 == 0 { heft(&problem).into_iter().collect() } else { Vec::new() };
            prop_assert_eq!(found(&problem, &leaving, &starts), expected(&problem, &leaving));
        }

        #[test]
        fn has_every_point_where_several_tensors_leave(seed: u64, processors in 1..3_usize) {
            let problem = random_problem(seed, Shape { operators: 4, processors, joined: false });
            let leaving: Vec<usize> = (0..problem.tensors.len())
                .filter(|&tensor| problem.tensors[tensor].producer.is_some())
                .collect();
            prop_assert_eq!(found(&problem, &leaving, &[]), expected(&problem, &leaving));
        }
    }

    #[test]
    fn a_search_without_work_left_claims_nothing() {
        let (problem, _) = instance("nas50_p3");
        let front = energy_front(
            &problem,
            &[],
            Coverage::Required,
            &[],
            1000,
            Budget::UNLIMITED,
        );
        assert_eq!(front, None);
    }
}
