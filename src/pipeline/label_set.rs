//! Labels of the pipeline search: what a partial pipeline costs, and which partial pipelines are worth keeping.
//!
//! A label is a point (latency, bottleneck, dynamic energy, use of each limited memory); for a fixed final processor set every figure of a plan is monotone in it (rule M11), so a dominated label can be dropped.
//! The first three are under different sets: latency under each stage's own, the others under the final one (rules M4 and M6).

use paracompile_plan::{Bytes, Milliwatts, Nanojoules, Nanoseconds};

/// The cost of the stages so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// `Σ T_s(S)`.
    pub latency: Nanoseconds,
    /// `max T_s(A)`.
    pub bottleneck: Nanoseconds,
    /// `E_dyn` under `A`.
    pub energy: Nanojoules,
    /// `Σ P_static` of the processors at their operating points: the same for all plans of a set where each has one point.
    pub power: Milliwatts,
    /// Use of each limited memory that can bind, in the order of the search.
    pub memory: Vec<Bytes>,
}

impl Cost {
    /// Whether it is nowhere worse.
    pub fn covers(&self, other: &Self) -> bool {
        self.latency <= other.latency
            && self.bottleneck <= other.bottleneck
            && self.energy <= other.energy
            && self.power <= other.power
            && fits_within(&self.memory, &other.memory)
    }

    /// Whether it is nowhere worse but in energy, and there by at most a share of `millionths`, for every interval from the other's bottleneck to `longest`.
    fn nearly_covers(&self, other: &Self, millionths: u32, longest: Nanoseconds) -> bool {
        let is_near = |interval: Nanoseconds| {
            is_within(
                self.energy + self.power.over(interval),
                other.energy + other.power.over(interval),
                millionths,
            )
        };
        self.latency <= other.latency
            && self.bottleneck <= other.bottleneck
            && fits_within(&self.memory, &other.memory)
            && is_near(other.bottleneck)
            && is_near(longest.max(other.bottleneck))
    }

    /// Energy of a frame if the bottleneck so far sets the interval.
    fn active(&self) -> Nanojoules {
        self.energy + self.power.over(self.bottleneck)
    }
}

fn fits_within(memory: &[Bytes], other: &[Bytes]) -> bool {
    memory.iter().zip(other).all(|(own, others)| own <= others)
}

/// Whether `energy` is at most `other` and a share of it.
fn is_within(energy: Nanojoules, other: Nanojoules, millionths: u32) -> bool {
    let limit = u128::from(other.count()) * (1_000_000 + u128::from(millionths));
    u128::from(energy.count()) * 1_000_000 <= limit
}

/// Shares of energy, in millionths, that thinning tries one after another; with the last there may be more labels than were asked for.
const SHARES: [u32; 7] = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];

/// Which costs to keep so that about `most` remain, and the share of energy by which one that is kept may exceed one that is not and that it is no worse than otherwise, in millionths.
///
/// What is best in one figure alone is kept.
/// The share holds for plans whose interval is at most `longest`.
pub(super) fn thinned(costs: &[&Cost], most: usize, longest: Nanoseconds) -> (Vec<bool>, u32) {
    if costs.len() <= most {
        return (vec![true; costs.len()], 0);
    }
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|&index| {
        let cost = costs[index];
        (cost.latency, cost.bottleneck, cost.active(), index)
    });
    let best = |key: &dyn Fn(&Cost) -> (u64, u64)| {
        order.iter().copied().min_by_key(|&index| key(costs[index]))
    };
    let ends = [
        best(&|cost| (cost.latency.count(), cost.active().count())),
        best(&|cost| (cost.bottleneck.count(), cost.active().count())),
        best(&|cost| (cost.active().count(), cost.latency.count())),
        best(&|cost| (cost.energy.count(), cost.latency.count())),
    ];
    let mut kept = vec![true; costs.len()];
    for share in SHARES {
        let mut stand: Vec<usize> = ends.iter().flatten().copied().collect();
        kept.fill(false);
        for &index in &stand {
            kept[index] = true;
        }
        for &index in &order {
            let is_covered = stand.iter().any(|&other| {
                other != index && costs[other].nearly_covers(costs[index], share, longest)
            });
            if !is_covered && !kept[index] {
                kept[index] = true;
                stand.push(index);
            }
        }
        stand.sort_unstable();
        stand.dedup();
        if stand.len() <= most || share == SHARES[SHARES.len() - 1] {
            return (kept, share);
        }
    }
    (kept, 0)
}

/// A label and where it came from.
#[derive(Clone, Debug)]
pub(super) struct Label<T> {
    pub(super) cost: Cost,
    pub(super) origin: T,
}

/// Labels none of which covers another; of equal ones the first that came.
///
/// Sets have tens to a few hundred labels, so insertion is linear.
/// Labels are kept by latency, so that only a prefix can cover a newcomer and only the rest can be covered by it.
#[derive(Clone, Debug)]
pub(super) struct LabelSet<T> {
    labels: Vec<Label<T>>,
}

impl<T> Default for LabelSet<T> {
    fn default() -> Self {
        Self { labels: Vec::new() }
    }
}

impl<T> LabelSet<T> {
    /// Whether a label of this cost would be kept.
    pub(super) fn admits(&self, cost: &Cost) -> bool {
        !self
            .labels
            .iter()
            .take_while(|label| label.cost.latency <= cost.latency)
            .any(|label| label.cost.covers(cost))
    }

    /// Keeps the label unless one of the set covers it, and drops what it covers.
    pub(super) fn insert(&mut self, cost: Cost, origin: T) -> bool {
        if !self.admits(&cost) {
            return false;
        }
        let position = self
            .labels
            .partition_point(|label| label.cost.latency < cost.latency);
        let mut index = position;
        self.labels.retain({
            let mut seen = 0;
            let cost = &cost;
            move |label| {
                seen += 1;
                seen <= position || !cost.covers(&label.cost)
            }
        });
        index = index.min(self.labels.len());
        self.labels.insert(index, Label { cost, origin });
        true
    }

    /// Drops labels that others stand for until about `most` remain; says by which share of energy, in millionths (see [`thinned`]).
    pub(super) fn thin(&mut self, most: usize, longest: Nanoseconds) -> u32 {
        let costs: Vec<&Cost> = self.labels.iter().map(|label| &label.cost).collect();
        let (kept, share) = thinned(&costs, most, longest);
        let mut kept = kept.into_iter();
        self.labels.retain(|_| kept.next().unwrap_or(true));
        share
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Label<T>> {
        self.labels.iter()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cost((latency, bottleneck, energy): (u64, u64, u64)) -> Cost {
        Cost {
            latency: Nanoseconds::new(latency),
            bottleneck: Nanoseconds::new(bottleneck),
            energy: Nanojoules::new(energy),
            power: Milliwatts::ZERO,
            memory: Vec::new(),
        }
    }

    #[test]
    fn thinning_keeps_the_best_of_each_figure_and_little_more_energy() {
        let costs: Vec<Cost> = (0..100)
            .map(|step| cost((1000 + step, 1000 + step, 100_000 - 10 * step)))
            .collect();
        let all: Vec<&Cost> = costs.iter().collect();
        let (kept, share) = thinned(&all, 8, Nanoseconds::new(5000));
        assert!(kept[0] && kept[99]);
        assert!(kept.iter().filter(|kept| **kept).count() <= 8);
        for (index, one) in costs.iter().enumerate() {
            let stands = |other: &Cost| {
                other.latency <= one.latency && is_within(other.energy, one.energy, share)
            };
            let is_near = costs
                .iter()
                .zip(&kept)
                .any(|(other, kept)| *kept && stands(other));
            assert!(is_near, "nothing stands for {index}");
        }
    }

    proptest! {
        #[test]
        fn keeps_exactly_the_points_that_no_other_covers(
            points in prop::collection::vec((0u64..6, 0u64..6, 0u64..6), 0..40)
        ) {
            let mut set = LabelSet::default();
            for (index, &point) in points.iter().enumerate() {
                set.insert(cost(point), index);
            }
            let kept: Vec<usize> = {
                let mut kept: Vec<usize> = set.iter().map(|label| label.origin).collect();
                kept.sort_unstable();
                kept
            };
            let expected: Vec<usize> = (0..points.len())
                .filter(|&i| {
                    !(0..points.len()).any(|j| {
                        cost(points[j]).covers(&cost(points[i])) && (points[j] != points[i] || j < i)
                    })
                })
                .collect();
            prop_assert_eq!(kept, expected);
        }
    }
}
