//! The Pareto filter over latency, interval and active energy.
//!
//! Fronts have tens of points, but the search offers tens of thousands of candidates, so the exact filter sorts once and keeps a staircase of the other two objectives.
//! Energy may be coarsened: within a box of relative width epsilon one point stands for others, and the best of each single objective stays exactly.

use std::collections::BTreeMap;

use paracompile_plan::{Nanojoules, Nanoseconds};

/// What a plan is judged by; least of each is best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score {
    /// Of one frame in an empty pipeline.
    pub latency: Nanoseconds,
    /// Initiation interval.
    pub interval: Nanoseconds,
    /// Active energy a frame.
    pub energy: Nanojoules,
}

impl Score {
    /// Whether it is nowhere worse than `other` and somewhere better.
    pub fn dominates(self, other: Self) -> bool {
        self != other
            && self.latency <= other.latency
            && self.interval <= other.interval
            && self.energy <= other.energy
    }
}

/// The relative width of energy boxes, in millionths; zero is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epsilon(u32);

impl Epsilon {
    /// Every point of the front.
    pub const EXACT: Self = Self(0);

    /// A width in millionths.
    pub const fn from_millionths(millionths: u32) -> Self {
        Self(millionths)
    }

    /// The width as a number, for `front.json`.
    pub fn to_share(self) -> f64 {
        f64::from(self.0) / 1e6
    }

    /// Whether `energy` lies in the box that starts at `start`.
    fn holds(self, start: Nanojoules, energy: Nanojoules) -> bool {
        let limit = u128::from(start.count()) * (1_000_000 + u128::from(self.0));
        u128::from(energy.count()) * 1_000_000 <= limit
    }
}

/// Indices of the candidates on the front, ascending by score.
///
/// No kept candidate is dominated by any candidate; of equal ones the first is kept.
/// For each candidate there is a kept one that is no worse in latency and interval, and in energy by at most a factor of 1 + epsilon.
/// Costs O(n log n).
pub fn front(candidates: &[Score], epsilon: Epsilon) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..candidates.len()).collect();
    sorted.sort_by_key(|&index| candidates[index]);
    let mut stairs = Staircase::default();
    let mut kept: Vec<usize> = sorted
        .into_iter()
        .filter(|&index| {
            let score = candidates[index];
            stairs.admit(score.interval, score.energy)
        })
        .collect();
    if epsilon != Epsilon::EXACT {
        kept = coarsen(candidates, &kept, epsilon);
    }
    kept
}

/// Keeps one point for each that no other stands for, and the best of each single objective.
fn coarsen(candidates: &[Score], exact: &[usize], epsilon: Epsilon) -> Vec<usize> {
    let mut energies: Vec<Nanojoules> = exact
        .iter()
        .map(|&index| candidates[index].energy)
        .collect();
    energies.sort_unstable();
    // Boxes start at energies that occur, so that they depend on the set alone and need no logarithm.
    let mut starts: Vec<Nanojoules> = Vec::new();
    for energy in energies {
        if starts
            .last()
            .is_none_or(|&start| !epsilon.holds(start, energy))
        {
            starts.push(energy);
        }
    }
    let box_of = |energy| starts.partition_point(|&start| start <= energy) as u64;
    let best = [
        exact.iter().min_by_key(|&&index| {
            let score = candidates[index];
            (score.latency, score.interval, score.energy)
        }),
        exact.iter().min_by_key(|&&index| {
            let score = candidates[index];
            (score.interval, score.latency, score.energy)
        }),
        exact.iter().min_by_key(|&&index| {
            let score = candidates[index];
            (score.energy, score.latency, score.interval)
        }),
    ];
    let mut stairs = Staircase::default();
    // Ascending by latency, interval and energy, so within a box the cheaper of two equally fast points comes first.
    exact
        .iter()
        .filter(|&index| {
            let score = candidates[*index];
            let admitted = stairs.admit(score.interval, Nanojoules::new(box_of(score.energy)));
            admitted || best.contains(&Some(index))
        })
        .copied()
        .collect()
}

/// Points that no earlier one dominates in (interval, energy), energy falling with interval.
#[derive(Default)]
struct Staircase {
    steps: BTreeMap<Nanoseconds, Nanojoules>,
}

impl Staircase {
    /// Adds a point unless an earlier one is at least as good in both.
    fn admit(&mut self, interval: Nanoseconds, energy: Nanojoules) -> bool {
        let before = self.steps.range(..=interval).next_back();
        if before.is_some_and(|(_, &lowest)| lowest <= energy) {
            return false;
        }
        while let Some((&worse, _)) = self
            .steps
            .range(interval..)
            .next()
            .filter(|&(_, &other)| other >= energy)
        {
            self.steps.remove(&worse);
        }
        self.steps.insert(interval, energy);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn score((latency, interval, energy): (u64, u64, u64)) -> Score {
        Score {
            latency: Nanoseconds::new(latency),
            interval: Nanoseconds::new(interval),
            energy: Nanojoules::new(energy),
        }
    }

    fn scores() -> impl Strategy<Value = Vec<Score>> {
        // Small ranges, so that ties and dominance are frequent.
        prop::collection::vec((0..12u64, 0..12u64, 100..140u64).prop_map(score), 0..60)
    }

    fn kept(candidates: &[Score], epsilon: Epsilon) -> Vec<Score> {
        front(candidates, epsilon)
            .into_iter()
            .map(|index| candidates[index])
            .collect()
    }

    #[test]
    fn of_equal_candidates_the_first_is_kept() {
        let candidates = [(2, 2, 2), (1, 1, 1), (1, 1, 1)].map(score);
        assert_eq!(front(&candidates, Epsilon::EXACT), vec![1]);
    }

    #[test]
    fn a_box_of_energies_keeps_the_faster_point_and_the_extremes() {
        // One percent: 1000 and 1005 share a box, so the second faster point stands for the third, which is neither best.
        let candidates = [
            (1, 9, 1005),
            (2, 5, 1005),
            (3, 5, 1004),
            (9, 1, 1003),
            (9, 9, 1000),
        ];
        let candidates = candidates.map(score);
        assert_eq!(front(&candidates, Epsilon::EXACT), vec![0, 1, 2, 3, 4]);
        let percent = Epsilon::from_millionths(10_000);
        assert_eq!(front(&candidates, percent), vec![0, 1, 3, 4]);
    }

    proptest! {
        #[test]
        fn the_exact_front_is_what_no_candidate_dominates(candidates in scores()) {
            let mut expected: Vec<Score> = candidates
                .iter()
                .copied()
                .filter(|&one| !candidates.iter().any(|other| other.dominates(one)))
                .collect();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(kept(&candidates, Epsilon::EXACT), expected);
        }

        #[test]
        fn the_front_does_not_depend_on_the_order_of_candidates(
            (candidates, shuffled) in scores().prop_flat_map(|scores| {
                (Just(scores.clone()), Just(scores).prop_shuffle())
            }),
            millionths in prop::sample::select(vec![0u32, 10_000, 100_000]),
        ) {
            let epsilon = Epsilon::from_millionths(millionths);
            prop_assert_eq!(kept(&candidates, epsilon), kept(&shuffled, epsilon));
        }

        #[test]
        fn a_coarse_front_is_part_of_the_exact_one_and_near_all_of_it(candidates in scores()) {
            let epsilon = Epsilon::from_millionths(50_000);
            let exact = kept(&candidates, Epsilon::EXACT);
            let coarse = kept(&candidates, epsilon);
            prop_assert!(coarse.iter().all(|one| exact.contains(one)));
            for one in &exact {
                let near = coarse.iter().any(|other| {
                    other.latency <= one.latency
                        && other.interval <= one.interval
                        && other.energy.count() * 100 <= one.energy.count() * 105
                });
                prop_assert!(near, "nothing stands for {:?}", one);
            }
        }

        #[test]
        fn the_best_of_each_objective_stays(candidates in scores(), millionths in 0..200_000u32) {
            let coarse = kept(&candidates, Epsilon::from_millionths(millionths));
            let least = |objective: fn(&Score) -> u64| {
                (candidates.iter().map(objective).min(), coarse.iter().map(objective).min())
            };
            for (of_all, of_kept) in [
                least(|score| score.latency.count()),
                least(|score| score.interval.count()),
                least(|score| score.energy.count()),
            ] {
                prop_assert_eq!(of_all, of_kept);
            }
        }
    }
}
