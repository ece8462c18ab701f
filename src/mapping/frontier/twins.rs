//! Processors of a block that are alike: of schedules that differ only in which of them do what, one is searched.
//!
//! In a state, alike processors stand in a fixed order: those in use first, and those that are free later before those that are free sooner.
//! So states that are equal up to a swap are equal, one of two states can dominate another under any swap, and an operator need not be tried on two processors that stand alike.
//! Answers are renamed at the end, once for every set of used processors that is the same up to swaps.
//! The lanes of a device (rule M10) are alike and no more than that: whether the device is in use is all that is asked of them, so one name stands for all.
//! Where makespan and energy are equal, which of several placements is the first by operator can be lost: what comes first depends on names that a state does not keep.

use paracompile_frontend::arena::Id;
use paracompile_frontend::soc::Symmetry;

use super::super::Problem;
use super::exits::Finish;
use super::state::LARGEST_PLACEMENT;

/// Groups of processors that are alike.
#[derive(Clone, Debug, Default)]
pub(super) struct Twins {
    /// Each of at least two, ascending.
    groups: Vec<Vec<usize>>,
    /// For each group: whether it is the lanes of one device.
    is_device: Vec<bool>,
    /// For each processor its group.
    group_of: Vec<Option<usize>>,
}

impl Twins {
    /// Alike are processors at one place on which every operator takes as long and as much, and which are required both or neither.
    pub(super) fn new(problem: &Problem) -> Self {
        let is_lane = |p: usize| {
            let lanes =
                (0..problem.homes.len()).filter(|&q| problem.device(q) == problem.device(p));
            lanes.count() > 1
        };
        let is_alike = |a: usize, b: usize| {
            if is_lane(a) || is_lane(b) {
                return problem.device(a) == problem.device(b);
            }
            problem.homes[a] == problem.homes[b]
                && (problem.must_use >> a & 1) == (problem.must_use >> b & 1)
                && problem.operators.iter().all(|operator| {
                    operator.times[a] == operator.times[b]
                        && (operator.times[a].is_none()
                            || operator.energies[a] == operator.energies[b])
                })
        };
        let symmetry = Symmetry::new(problem.homes.len(), |a, b| is_alike(a.index(), b.index()));
        let groups: Vec<Vec<usize>> = symmetry
            .orbits()
            .iter()
            .map(|orbit| orbit.iter().map(Id::index).collect())
            .collect();
        let group_of = (0..problem.homes.len())
            .map(|processor| groups.iter().position(|group| group.contains(&processor)))
            .collect();
        Self {
            is_device: groups.iter().map(|group| is_lane(group[0])).collect(),
            groups,
            group_of,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The processors that are alike with this one, ascending, and its place among them.
    pub(super) fn of(&self, processor: usize) -> Option<(&[usize], usize)> {
        let group = &self.groups[self.group_of[processor]?];
        let place = group.iter().position(|&other| other == processor)?;
        Some((group, place))
    }

    /// The set that is the same up to swaps and has the first of each group.
    pub(super) fn representative(&self, used: u16) -> u16 {
        let groups = self.groups.iter().zip(&self.is_device);
        groups.fold(used, |set, (group, &is_device)| {
            let count = (used & mask(group)).count_ones() as usize;
            let count = if is_device { count.min(1) } else { count };
            set & !mask(group) | mask(&group[..count])
        })
    }

    /// All sets that are the same up to swaps.
    pub(super) fn equivalent(&self, used: u16) -> Vec<u16> {
        let mut sets = vec![used];
        let groups = self.groups.iter().zip(&self.is_device);
        for (group, _) in groups.filter(|(_, is_device)| !**is_device) {
            let all = mask(group);
            let count = (used & all).count_ones();
            sets = sets
                .iter()
                .flat_map(|&set| {
                    (0..=all)
                        .filter(move |part| part & !all == 0 && part.count_ones() == count)
                        .map(move |part| set & !all | part)
                })
                .collect();
        }
        sets
    }

    /// The same schedule on `used`, which is the same set up to swaps, with the least placement.
    pub(super) fn renamed(&self, finish: &Finish, used: u16) -> Finish {
        let mut names: [Option<u128>; 16] = [None; 16];
        let lanes = self.groups.iter().zip(&self.is_device);
        let lanes = lanes.filter(|(_, is_device)| **is_device);
        let mut free = lanes.fold(used, |set, (group, _)| set | mask(group));
        let mut placement = 0;
        for operator in 0..finish.sequence.len() {
            let shift = 4 * (LARGEST_PLACEMENT - 1 - operator);
            let old =
                usize::try_from(finish.placement >> shift & 15).expect("four bits fit any word");
            let name = *names[old].get_or_insert_with(|| {
                let group = self.group_of[old].map_or(1 << old, |group| mask(&self.groups[group]));
                let new = (free & group).trailing_zeros();
                free &= !(1 << new);
                u128::from(new)
            });
            placement |= name << shift;
        }
        Finish {
            placement,
            used,
            ..finish.clone()
        }
    }
}

fn mask(group: &[usize]) -> u16 {
    group.iter().fold(0, |set, processor| set | 1 << processor)
}

/// A placement in which operators on processor `from[k]` are on `to[k]` instead; `done` has the lowest bit of each operator that is placed.
pub(super) fn moved(
    placement: u128,
    done: u128,
    changes: impl Iterator<Item = (usize, usize)>,
) -> u128 {
    let mut result = placement;
    for (from, to) in changes {
        let differs = placement ^ (LOWEST * from as u128);
        let differs = (differs | differs >> 1 | differs >> 2 | differs >> 3) & LOWEST;
        result ^= (done & !differs) * (from ^ to) as u128;
    }
    result
}

/// The lowest bit of each operator.
const LOWEST: u128 = u128::MAX / 15;

#[cfg(test)]
mod tests {
    use super::super::super::oracle::{Shape, random_problem};
    use super::super::super::{Objective, Problem};
    use super::*;

    fn problem(processors: usize) -> Problem {
        let shape = Shape {
            operators: 3,
            processors,
            joined: false,
        };
        random_problem(1, shape).with_twins(&[1, 3])
    }

    #[test]
    fn alike_are_those_with_the_same_place_times_energies_and_demands() {
        let alike = problem(4);
        let groups = |problem: &Problem| Twins::new(problem).groups;
        assert_eq!(groups(&alike), [[1, 3]]);
        let different = |change: fn(&mut Problem)| {
            let mut problem = alike.clone();
            change(&mut problem);
            assert!(groups(&problem).is_empty());
        };
        different(|problem| problem.homes[3] = (problem.homes[1] + 1) % problem.locations);
        different(|problem| problem.must_use = 1 << 3);
        different(|problem| {
            let times = &mut problem.operators[1].times;
            times[3] = times[1].map_or(Some(paracompile_plan::Nanoseconds::ZERO), |_| None);
        });
        different(|problem| {
            let operator = &mut problem.operators[2];
            operator.times[1] = Some(paracompile_plan::Nanoseconds::ZERO);
            operator.times[3] = operator.times[1];
            operator.energies[3] = operator.energies[1] + paracompile_plan::Nanojoules::new(1);
        });
    }

    #[test]
    fn sets_have_representatives_and_equals() {
        let twins = Twins::new(&problem(4));
        assert_eq!(twins.representative(0b1001), 0b0011);
        assert_eq!(twins.equivalent(0b0011), [0b0011, 0b1001]);
        assert_eq!(twins.equivalent(0b1110), [0b1110]);
    }

    #[test]
    fn a_schedule_is_renamed_to_a_set_in_the_order_of_its_operators() {
        let twins = Twins::new(&problem(4));
        let place = |processors: &[u128]| {
            let nibbles = processors.iter().enumerate();
            nibbles.fold(0, |placement, (operator, processor)| {
                placement | processor << (4 * (LARGEST_PLACEMENT - 1 - operator))
            })
        };
        let finish = |placement, used| Finish {
            objective: Objective {
                makespan: paracompile_plan::Nanoseconds::ZERO,
                energy: paracompile_plan::Nanojoules::ZERO,
            },
            placement,
            used,
            sequence: vec![0; 4],
        };
        let both = finish(place(&[3, 0, 1, 3]), 0b1011);
        assert_eq!(twins.renamed(&both, 0b1011).placement, place(&[1, 0, 3, 1]));
        let one = finish(place(&[0, 1, 1, 0]), 0b0011);
        let renamed = twins.renamed(&one, 0b1001);
        assert_eq!(
            (renamed.placement, renamed.used),
            (place(&[0, 3, 3, 0]), 0b1001)
        );
    }

    #[test]
    fn placements_move_all_at_once_and_leave_what_is_not_placed() {
        let at = |operator: usize, processor: u128| {
            processor << (4 * (LARGEST_PLACEMENT - 1 - operator))
        };
        let placement = at(0, 0) | at(1, 1) | at(4, 2) | at(5, 0);
        let done = at(0, 1) | at(1, 1) | at(4, 1) | at(5, 1);
        let rotated = moved(placement, done, [(0, 1), (1, 2), (2, 0)].into_iter());
        assert_eq!(rotated, at(0, 1) | at(1, 2) | at(4, 0) | at(5, 1));
    }
}
