//! Which candidates become files, under which names and labels.
//!
//! Files under `plans/` are the front; the best plans of a strategy or of the hybrids that the front lacks lie in `baselines/`.

use paracompile_frontend::soc::{ProcessorSet, Soc};
use paracompile_plan::Nanojoules;
use paracompile_plan::plan::{Label, Strategy};

use crate::pareto::{self, Epsilon, Score};

/// A complete mapping as the filter sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its objectives.
    pub score: Score,
    /// The processors of its stages.
    pub stages: Vec<ProcessorSet>,
}

/// The candidates that become files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// The front by score, then the plans in `baselines/`.
    pub entries: Vec<Entry>,
    /// How many candidates there were.
    pub candidates: u64,
    /// How many of them another one dominates.
    pub dominated: u64,
    /// The width of energy boxes.
    pub epsilon: Epsilon,
}

/// A candidate that becomes a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Index among the candidates.
    pub candidate: usize,
    /// Path relative to `front.json`.
    pub file: String,
    /// The shape of the mapping.
    pub strategy: Strategy,
    /// What it is best at.
    pub labels: Vec<Label>,
    /// Whether it is one of the front.
    pub on_front: bool,
    /// Whether it is the fastest of its strategy.
    pub best_of_strategy: bool,
    /// Whether it has the least interval of its strategy.
    pub most_frames_of_strategy: bool,
}

/// All shapes, in the order of files.
const STRATEGIES: [Strategy; 4] = [
    Strategy::Single,
    Strategy::ParaOnly,
    Strategy::PipeOnly,
    Strategy::Hybrid,
];

/// The order of objectives in which ties are broken: the first is the one that is asked for.
type Order = fn(Score) -> [u128; 3];

const BY_LATENCY: Order = |score| {
    [
        score.latency.count(),
        score.interval.count(),
        score.energy.count(),
    ]
    .map(u128::from)
};
const BY_INTERVAL: Order = |score| {
    [
        score.interval.count(),
        score.latency.count(),
        score.energy.count(),
    ]
    .map(u128::from)
};
const BY_ENERGY: Order = |score| {
    [
        score.energy.count(),
        score.latency.count(),
        score.interval.count(),
    ]
    .map(u128::from)
};
const BY_PRODUCT: Order = |score| {
    let [latency, interval, energy] = BY_LATENCY(score);
    [latency * interval, latency, energy]
};

/// Chooses files, names and labels.
///
/// Ties go to the next objective in the order latency, interval, energy, then to fewer processors, then to narrower stages, then to the earlier name; the order of candidates matters only where all of these are equal.
pub fn arrange(soc: &Soc, candidates: &[Candidate], epsilon: Epsilon) -> Arrangement {
    let names: Vec<String> = candidates
        .iter()
        .map(|candidate| name(soc, candidate))
        .collect();
    let tie = |index: usize| (breadth(&candidates[index]), names[index].as_str(), index);
    let mut sorted: Vec<usize> = (0..candidates.len()).collect();
    sorted.sort_by_key(|&index| (candidates[index].score, tie(index)));
    let scores: Vec<Score> = sorted
        .iter()
        .map(|&index| candidates[index].score)
        .collect();
    let undominated = pareto::front(&scores, Epsilon::EXACT);
    let kept = pareto::front(&scores, epsilon);
    let front: Vec<usize> = kept.into_iter().map(|place| sorted[place]).collect();
    let best = |among: &[usize], order: Order| {
        among
            .iter()
            .copied()
            .min_by_key(|&index| (order(candidates[index].score), tie(index)))
    };
    let of_strategy = |strategy: Strategy| -> Vec<usize> {
        let fits = |&index: &usize| shape(&candidates[index]) == strategy;
        (0..candidates.len()).filter(fits).collect()
    };
    let hybrids = of_strategy(Strategy::Hybrid);
    // A plan of the front wins over an equal one that is not, or there would be two files of one plan.
    let prefer_front = |index: usize| {
        let twin = |&&other: &&usize| {
            candidates[other].score == candidates[index].score
                && shape(&candidates[other]) == shape(&candidates[index])
        };
        front.iter().find(twin).copied().unwrap_or(index)
    };
    let hybrid = |order: Order| best(&hybrids, order).map(prefer_front);
    // Where no power is known, nothing is best at energy.
    let knows_energy = front
        .iter()
        .any(|&index| candidates[index].score.energy != Nanojoules::ZERO);
    let labelled: Vec<(Label, Option<usize>)> = vec![
        (Label::MinLatency, best(&front, BY_LATENCY)),
        (Label::MaxThroughput, best(&front, BY_INTERVAL)),
        (
            Label::MinEnergy,
            best(&front, BY_ENERGY).filter(|_| knows_energy),
        ),
        (Label::HybridLatency, hybrid(BY_LATENCY)),
        (Label::HybridThroughput, hybrid(BY_INTERVAL)),
        (Label::Balanced, best(&front, BY_PRODUCT)),
    ];
    let best_of_each = |order: Order| -> Vec<usize> {
        STRATEGIES
            .into_iter()
            .filter_map(|strategy| best(&of_strategy(strategy), order).map(prefer_front))
            .collect()
    };
    let fastest = best_of_each(BY_LATENCY);
    let most_frames = best_of_each(BY_INTERVAL);
    let entry = |index: usize, file: String, on_front: bool| Entry {
        candidate: index,
        file,
        strategy: shape(&candidates[index]),
        labels: labelled
            .iter()
            .filter(|(_, best)| *best == Some(index))
            .map(|&(label, _)| label)
            .collect(),
        on_front,
        best_of_strategy: fastest.contains(&index),
        most_frames_of_strategy: most_frames.contains(&index),
    };
    let digits = front.len().to_string().len().max(2);
    let mut entries: Vec<Entry> = front
        .iter()
        .enumerate()
        .map(|(place, &index)| {
            let file = format!("plans/{:0digits$}-{}.json", place + 1, names[index]);
            entry(index, file, true)
        })
        .collect();
    let apart: Vec<usize> = fastest.iter().chain(&most_frames).copied().collect();
    let mut written = front;
    for index in apart {
        if written.contains(&index) {
            continue;
        }
        written.push(index);
        let role = if fastest.contains(&index) {
            "fastest"
        } else {
            "max-throughput"
        };
        let file = format!("baselines/{role}-{}.json", names[index]);
        entries.push(entry(index, file, false));
    }
    Arrangement {
        entries,
        candidates: candidates.len() as u64,
        dominated: dominated(&scores, &undominated),
        epsilon,
    }
}

/// How many candidates another one dominates; equals of the front are not.
fn dominated(sorted: &[Score], undominated: &[usize]) -> u64 {
    let mut count = sorted.len() as u64;
    for &place in undominated {
        let equals = sorted[place..]
            .iter()
            .take_while(|&&score| score == sorted[place]);
        count -= equals.count() as u64;
    }
    count
}

fn shape(candidate: &Candidate) -> Strategy {
    let counts: Vec<usize> = candidate.stages.iter().map(|stage| stage.len()).collect();
    Strategy::of(&counts)
}

/// How many processors there are, and how many the stage with most of them has.
fn breadth(candidate: &Candidate) -> (usize, usize) {
    let counts = || candidate.stages.iter().map(|stage| stage.len());
    (counts().sum(), counts().max().unwrap_or(0))
}

/// The strategy and the processors: those of a stage joined by `+`, stages by `_`.
fn name(soc: &Soc, candidate: &Candidate) -> String {
    let stages: Vec<String> = candidate
        .stages
        .iter()
        .map(|stage| {
            let names: Vec<String> = stage
                .iter()
                .map(|processor| file_name_part(&soc.processors[processor].name))
                .collect();
            names.join("+")
        })
        .collect();
    format!("{}-{}", shape(candidate).name(), stages.join("_"))
}

/// The file of a baseline in `baselines/`.
pub fn baseline_file(name: &str) -> String {
    format!("baselines/{}.json", file_name_part(name))
}

/// A name as a part of a file name: what might be taken for a path or an option becomes `-`.
fn file_name_part(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c.is_alphanumeric() || matches!(c, '-' | '.') {
                c
            } else {
                '-'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::fixtures;

    fn candidate(latency: u64, interval: u64, energy: u64, stages: &[u16]) -> Candidate {
        Candidate {
            score: Score {
                latency: paracompile_plan::Nanoseconds::new(latency),
                interval: paracompile_plan::Nanoseconds::new(interval),
                energy: Nanojoules::new(energy),
            },
            stages: stages
                .iter()
                .map(|&bits| ProcessorSet::from_bits(bits))
                .collect(),
        }
    }

    fn summary(arrangement: &Arrangement) -> Vec<(usize, &str, Vec<&str>)> {
        arrangement
            .entries
            .iter()
            .map(|entry| {
                let labels = entry.labels.iter().map(|label| label.name()).collect();
                (entry.candidate, entry.file.as_str(), labels)
            })
            .collect()
    }

    #[test]
    fn files_are_named_by_place_strategy_and_processors() {
        let soc = fixtures::three_processors();
        let candidates = [
            candidate(10, 10, 5, &[0b001]),
            candidate(8, 8, 9, &[0b101]),
            candidate(12, 4, 12, &[0b011, 0b100]),
        ];
        assert_eq!(
            summary(&arrange(&soc, &candidates, Epsilon::EXACT)),
            vec![
                (1, "plans/01-para-only-big+gpu.json", vec!["min-latency"]),
                (0, "plans/02-single-big.json", vec!["min-energy"]),
                (
                    2,
                    "plans/03-hybrid-big+little_gpu.json",
                    vec![
                        "max-throughput",
                        "hybrid-latency",
                        "hybrid-throughput",
                        "balanced"
                    ]
                ),
            ]
        );
    }

    #[test]
    fn dominated_bests_of_strategies_and_hybrids_lie_apart() {
        let soc = fixtures::three_processors();
        let candidates = [
            candidate(5, 5, 5, &[0b001]),
            candidate(9, 9, 9, &[0b001, 0b010]),
            candidate(8, 8, 9, &[0b011, 0b100]),
            candidate(9, 7, 9, &[0b101, 0b010]),
        ];
        let arrangement = arrange(&soc, &candidates, Epsilon::EXACT);
        assert_eq!((arrangement.candidates, arrangement.dominated), (4, 3));
        assert_eq!(
            summary(&arrangement),
            vec![
                (
                    0,
                    "plans/01-single-big.json",
                    vec!["min-latency", "max-throughput", "min-energy", "balanced"]
                ),
                (1, "baselines/fastest-pipe-only-big_little.json", vec![]),
                (
                    2,
                    "baselines/fastest-hybrid-big+little_gpu.json",
                    vec!["hybrid-latency"]
                ),
                (
                    3,
                    "baselines/max-throughput-hybrid-big+gpu_little.json",
                    vec!["hybrid-throughput"]
                ),
            ]
        );
    }

    #[test]
    fn of_equal_scores_the_one_with_fewer_processors_is_kept() {
        let soc = fixtures::three_processors();
        let candidates = [
            candidate(5, 5, 5, &[0b011]),
            candidate(5, 5, 5, &[0b100]),
            candidate(5, 5, 5, &[0b010]),
        ];
        let arrangement = arrange(&soc, &candidates, Epsilon::EXACT);
        assert_eq!(arrangement.entries[0].file, "plans/01-single-gpu.json");
        assert_eq!(arrangement.dominated, 0);
    }

    #[test]
    fn of_equal_scores_and_processors_the_one_with_narrower_stages_is_kept() {
        let soc = fixtures::three_processors();
        let candidates = [
            candidate(5, 5, 5, &[0b011, 0b100]),
            candidate(5, 5, 5, &[0b001, 0b010, 0b100]),
        ];
        let arrangement = arrange(&soc, &candidates, Epsilon::EXACT);
        let file = &arrangement.entries[0].file;
        assert_eq!(file, "plans/01-pipe-only-big_little_gpu.json");
    }

    #[test]
    fn names_cannot_leave_their_folder() {
        assert_eq!(
            baseline_file("single:../a b"),
            "baselines/single-..-a-b.json"
        );
    }
}
