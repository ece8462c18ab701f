//! Fronts of (time, energy), and fewer points that stand for them.

/// A point: less time costs more energy.
pub(crate) type Point = (u64, u64);

/// For points whose times ascend and whose energies descend: which to keep so that at most `most` (at least two) remain.
///
/// The first, which is the fastest, and the last, which takes least energy, are kept.
/// Each other point that is left out takes at most some energy less than the kept one before it, and that energy is the least that suffices.
pub(crate) fn thinned(points: &[Point], most: usize) -> Vec<bool> {
    if points.len() <= most {
        return vec![true; points.len()];
    }
    // The least slack that leaves few enough, by bisection: it is at most the whole range.
    let (mut low, mut high) = (0, points[0].1 - points[points.len() - 1].1);
    while low < high {
        let middle = low + (high - low) / 2;
        if count(points, middle) <= most {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    kept(points, low)
}

fn kept(points: &[Point], slack: u64) -> Vec<bool> {
    let mut stands_for = u64::MAX;
    let last = points.len() - 1;
    points
        .iter()
        .enumerate()
        .map(|(index, &(_, energy))| {
            let is_kept = index == 0 || index == last || energy < stands_for;
            if is_kept {
                stands_for = energy.saturating_sub(slack);
            }
            is_kept
        })
        .collect()
}

fn count(points: &[Point], slack: u64) -> usize {
    kept(points, slack).into_iter().filter(|kept| *kept).count()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn few_points_stay_as_they_are() {
        assert_eq!(thinned(&[(1, 9), (2, 3)], 2), [true, true]);
    }

    #[test]
    fn of_three_points_the_ends_remain() {
        assert_eq!(thinned(&[(1, 9), (2, 8), (3, 3)], 2), [true, false, true]);
    }

    proptest! {
        #[test]
        fn ends_are_kept_and_few_enough_remain(points in prop::collection::btree_map(0..1000_u64, 0..1000_u64, 1..40), most in 2..10_usize) {
            let mut energies: Vec<u64> = points.values().copied().collect();
            energies.sort_unstable();
            energies.dedup();
            energies.reverse();
            let by_time: BTreeMap<u64, u64> = points.into_keys().zip(energies).collect();
            let stairs: Vec<Point> = by_time.into_iter().collect();
            let kept = thinned(&stairs, most);
            prop_assert!(kept[0] && kept[stairs.len() - 1]);
            prop_assert!(kept.iter().filter(|kept| **kept).count() <= most.max(2));
        }
    }
}
