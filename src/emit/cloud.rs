//! All mappings that compete for the front, as a bounded list for pictures.
//!
//! A search meets thousands, and a picture has a few hundred thousand pixels: of mappings that lie in one box of relative width, one is listed, and the width grows until the list is short enough.

use std::collections::BTreeSet;

use paracompile_plan::front::{Cloud, CloudMapping};
use paracompile_plan::plan::Strategy;
use paracompile_plan::{Nanojoules, Nanoseconds};

use super::labels::Candidate;

/// The most mappings that a front file lists.
const LISTED: usize = 400;

/// The first width that is tried after that of zero.
const FIRST_WIDTH: f64 = 0.002;

type Point = (Nanoseconds, Nanoseconds, Nanojoules, Strategy);

/// Lists `candidates`; which of a box is listed depends on their figures alone, not on their order.
pub(super) fn cloud(candidates: &[Candidate]) -> Cloud {
    let points: BTreeSet<Point> = candidates.iter().map(point).collect();
    let mut width = 0.0;
    let mut kept: Vec<Point> = points.iter().copied().collect();
    while kept.len() > LISTED {
        width = if width > 0.0 {
            width * 2.0
        } else {
            FIRST_WIDTH
        };
        let mut boxes = BTreeSet::new();
        kept = points
            .iter()
            .copied()
            .filter(|point| boxes.insert(box_of(point, width)))
            .collect();
    }
    Cloud {
        width,
        mappings: kept.into_iter().map(listed).collect(),
    }
}

fn point(candidate: &Candidate) -> Point {
    let sizes: Vec<usize> = candidate.stages.iter().map(|set| set.len()).collect();
    let score = candidate.score;
    (
        score.latency,
        score.interval,
        score.energy,
        Strategy::of(&sizes),
    )
}

fn listed((latency, interval, energy, strategy): Point) -> CloudMapping {
    CloudMapping {
        latency_s: latency.to_seconds(),
        interval_s: interval.to_seconds(),
        energy_active_j: energy.to_joules(),
        strategy,
    }
}

/// Number of the box in each objective; values below one count as one.
fn box_of(point: &Point, width: f64) -> ([i64; 3], Strategy) {
    let (latency, interval, energy, strategy) = *point;
    let number = |count: u64| number_of(count, width);
    (
        [
            number(latency.count()),
            number(interval.count()),
            number(energy.count()),
        ],
        strategy,
    )
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the logarithm of 64 bits over a width of thousandths is a small number"
)]
fn number_of(count: u64, width: f64) -> i64 {
    ((count.max(1) as f64).ln() / width.ln_1p()).floor() as i64
}

#[cfg(test)]
mod tests {
    use paracompile_frontend::soc::ProcessorSet;

    use super::*;
    use crate::pareto::Score;

    fn candidate(latency: u64, interval: u64, energy: u64) -> Candidate {
        Candidate {
            score: Score {
                latency: Nanoseconds::new(latency),
                interval: Nanoseconds::new(interval),
                energy: Nanojoules::new(energy),
            },
            stages: vec![ProcessorSet::first(1); 2],
        }
    }

    #[test]
    fn few_mappings_are_all_listed_once() {
        let all = [
            candidate(30, 20, 7),
            candidate(10, 10, 9),
            candidate(30, 20, 7),
        ];
        let cloud = cloud(&all);
        assert!(cloud.width.abs() < f64::EPSILON);
        let latencies: Vec<f64> = cloud.mappings.iter().map(|m| m.latency_s).collect();
        assert_eq!(latencies, [10e-9, 30e-9]);
        assert_eq!(cloud.mappings[0].strategy, Strategy::PipeOnly);
    }

    #[test]
    fn many_mappings_are_thinned_to_a_bound_that_no_order_changes() {
        let mut all: Vec<Candidate> = (0..20_000u64)
            .map(|index| candidate(1_000_000 + index * 7919 % 900_001, 1_000_000 + index, 500))
            .collect();
        let thinned = cloud(&all);
        assert!(thinned.width > 0.0 && thinned.mappings.len() <= LISTED);
        assert!(
            thinned.mappings.len() > LISTED / 8,
            "{}",
            thinned.mappings.len()
        );
        all.reverse();
        assert_eq!(cloud(&all), thinned);
        assert_eq!(cloud(&[]).mappings, []);
    }
}
