//! Labels of the pipeline search: what a partial pipeline costs, and which partial pipelines are worth keeping.
//!
//! A label is a point (latency, bottleneck, dynamic energy, use of each limited memory); for a fixed final processor set every figure of a plan is monotone in it (rule M11), so a dominated label can be dropped.
//! The first three are under different sets: latency under each stage's own, the others under the final one (rules M4 and M6).

use paracompile_plan::{Bytes, Nanojoules, Nanoseconds};

/// The cost of the stages so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// `Σ T_s(S)`.
    pub latency: Nanoseconds,
    /// `max T_s(A)`.
    pub bottleneck: Nanoseconds,
    /// `E_dyn` under `A`.
    pub energy: Nanojoules,
    /// Use of each limited memory that can bind, in the order of the search.
    pub memory: Vec<Bytes>,
}

impl Cost {
    /// Whether it is nowhere worse.
    pub fn covers(&self, other: &Self) -> bool {
        self.latency <= other.latency
            && self.bottleneck <= other.bottleneck
            && self.energy <= other.energy
            && self
                .memory
                .iter()
                .zip(&other.memory)
                .all(|(own, others)| own <= others)
    }
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
            memory: Vec::new(),
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
