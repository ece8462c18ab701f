//! Which numbers of compute queues a stage is tried with (rule M10).
//!
//! Two arguments leave numbers out and lose nothing.
//!
//! - **Width.** Take a mapping with `q` lanes on a processor on which no more than `w < q` operators can run at once.
//!   Intervals of which at most `w` overlap can be coloured with at most `w` colours, so the same schedule fits on some `c <= w` lanes.
//!   Where `sharing[c] <= sharing[q]` for all of these `c`, no operator takes longer there, so `q` lanes are never better than one of the smaller numbers.
//!   `w` is the number of chains of any cover, between two gates, of the operators that the processor supports: operators of one chain never run at once.
//! - **Bound.** A choice whose bound is above what another choice reaches, for every way to leave the stage, is not searched ([`super::StageMapper`]).

use paracompile_frontend::soc::{ProcessorId, ProcessorSet};
use paracompile_plan::Slowdown;

use super::super::{Problem, QueueCounts};
use super::cut_points::CutPoint;

/// The most choices of queue counts that a stage is tried with; where there are more, the largest counts are left out first.
const MOST_CHOICES: usize = 64;

/// How many compute queues processors may have, one entry for each processor of a chip.
#[derive(Clone, Debug, Default)]
pub struct QueuesAllowed {
    /// Their names.
    pub names: Vec<String>,
    /// The numbers that may be chosen, ascending, at least one.
    pub counts: Vec<Vec<usize>>,
    /// `sharing[q − 1]`: how much longer everything takes with `q` queues.
    pub sharing: Vec<Vec<Slowdown>>,
}

/// Numbers of compute queues by processor.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes {
    /// Ascending, of each processor; empty where every processor has one.
    counts: Vec<Vec<usize>>,
    /// Names of processors.
    names: Vec<String>,
    /// `sharing[q − 1]` of each processor.
    sharing: Vec<Vec<Slowdown>>,
    /// Of each segment between gates: its end, and how many operators can run at once on each processor at most.
    widths: Vec<(usize, Vec<usize>)>,
    /// Position of each cut point.
    positions: Vec<usize>,
}

impl Lanes {
    pub(super) fn new(whole: &Problem, cuts: &[CutPoint], allowed: QueuesAllowed) -> Self {
        let QueuesAllowed {
            names,
            counts,
            sharing,
        } = allowed;
        if counts.iter().all(|counts| counts == &[1]) {
            return Self::default();
        }
        let gates: Vec<usize> = cuts
            .iter()
            .filter(|cut| cut.separates)
            .map(|cut| cut.position)
            .collect();
        let widths = gates.windows(2).map(|pair| {
            let widths = (0..whole.homes.len()).map(|p| match counts[p].len() {
                1 => usize::MAX,
                _ => chains(whole, pair[0], pair[1], p),
            });
            (pair[1], widths.collect())
        });
        Self {
            widths: widths.collect(),
            positions: cuts.iter().map(|cut| cut.position).collect(),
            names,
            counts,
            sharing,
        }
    }

    /// Whether every processor has one queue.
    pub(super) const fn are_single(&self) -> bool {
        self.counts.is_empty()
    }

    /// How much longer everything takes on a processor.
    pub(super) fn sharing(&self, processor: ProcessorId, queues: QueueCounts) -> Slowdown {
        let factors = self.sharing.get(processor.index());
        let factor = factors.and_then(|factors| factors.get(queues.of(processor) - 1));
        factor.copied().unwrap_or(Slowdown::NONE)
    }

    /// The most lanes that a set of processors can have together.
    pub(super) fn most(&self, set: ProcessorSet) -> usize {
        let most = |p: ProcessorId| self.counts.get(p.index()).and_then(|counts| counts.last());
        set.iter().map(|p| most(p).copied().unwrap_or(1)).sum()
    }

    /// The least number of queues of each processor: one, unless the user says another.
    pub(super) fn least(&self) -> QueueCounts {
        let counts = self.counts.iter().enumerate();
        counts.fold(QueueCounts::ONE, |least, (processor, counts)| {
            least.with(ProcessorId::from_index(processor), counts[0])
        })
    }

    /// The counts of each processor of a set that stages from a cut point on are tried with, in every combination.
    pub(super) fn tried(&self, set: ProcessorSet, cut: usize) -> Vec<(ProcessorId, Vec<usize>)> {
        if self.are_single() {
            return Vec::new();
        }
        let position = self.positions[cut];
        let mut tried: Vec<(ProcessorId, Vec<usize>)> = set
            .iter()
            .map(|processor| {
                let behind = self.widths.iter().filter(|(end, _)| *end > position);
                let width = behind.map(|(_, widths)| widths[processor.index()]).max();
                (processor, self.useful(processor, width.unwrap_or(1).max(1)))
            })
            .collect();
        loop {
            let choices = tried.iter().fold(1_usize, |product, (_, counts)| {
                product.saturating_mul(counts.len())
            });
            let lanes: usize = tried
                .iter()
                .map(|(_, counts)| counts.last().copied().unwrap_or(1))
                .sum();
            let widest = tried
                .iter_mut()
                .filter(|(_, counts)| counts.len() > 1)
                .max_by_key(|(_, counts)| counts.last().copied());
            let Some((_, counts)) = widest else {
                return tried;
            };
            if choices <= MOST_CHOICES && lanes <= QueueCounts::MOST_LANES {
                return tried;
            }
            counts.pop();
        }
    }

    /// The same for people, behind a claim; empty where there is nothing to say.
    pub(super) fn described(&self, set: ProcessorSet, cut: usize) -> String {
        let tried = self.tried(set, cut).into_iter();
        let words = tried.filter_map(|(processor, counts)| {
            let name = &self.names[processor.index()];
            let (first, last) = (*counts.first()?, *counts.last()?);
            match (first, last) {
                (1, 1) => None,
                _ if first == last => Some(format!("{first} queues on {name}")),
                _ => Some(format!("{first} to {last} queues on {name}")),
            }
        });
        let words: Vec<String> = words.collect();
        if words.is_empty() {
            return String::new();
        }
        format!(", with {}", words.join(" and "))
    }

    /// Every combination of what is tried, ascending by lanes.
    pub(super) fn choices(&self, set: ProcessorSet, cut: usize) -> Vec<QueueCounts> {
        let mut choices = vec![QueueCounts::ONE];
        for (processor, counts) in self.tried(set, cut) {
            choices = choices
                .iter()
                .flat_map(|choice| counts.iter().map(|&count| choice.with(processor, count)))
                .collect();
        }
        choices.retain(|choice| choice.lanes(set) <= QueueCounts::MOST_LANES);
        choices.sort_by_key(|choice| (choice.lanes(set), *choice));
        choices
    }

    /// The counts of a processor that can pay where at most `width` operators run at once.
    fn useful(&self, processor: ProcessorId, width: usize) -> Vec<usize> {
        let (counts, sharing) = (
            &self.counts[processor.index()],
            &self.sharing[processor.index()],
        );
        let narrow = || counts.iter().filter(|&&count| count <= width);
        let is_beaten = |count: usize| {
            // All smaller numbers must be there to stand for it.
            narrow().count() == width.min(counts.len())
                && counts[0] == 1
                && narrow().all(|&other| sharing[other - 1] <= sharing[count - 1])
        };
        let useful = counts
            .iter()
            .filter(|&&count| count <= width || !is_beaten(count));
        useful.copied().collect()
    }
}

/// How many chains cover the operators of a range that a processor supports, found greedily: at least the width of their order.
fn chains(whole: &Problem, start: usize, end: usize, processor: usize) -> usize {
    let words = (end - start).div_ceil(64);
    let mut before = vec![vec![0_u64; words]; end - start];
    let mut last: Vec<usize> = Vec::new();
    for operator in start..end {
        let mut own = vec![0_u64; words];
        for &tensor in &whole.operators[operator].reads {
            let producer = whole.tensors[tensor].producer;
            if let Some(producer) = producer.filter(|&producer| producer >= start) {
                let at = producer - start;
                own[at / 64] |= 1 << (at % 64);
                for (word, more) in own.iter_mut().zip(&before[at]) {
                    *word |= more;
                }
            }
        }
        if whole.operators[operator].times[processor].is_some() {
            let leads_here = |chain: &&mut usize| own[**chain / 64] >> (**chain % 64) & 1 == 1;
            match last.iter_mut().filter(leads_here).max() {
                Some(chain) => *chain = operator - start,
                None => last.push(operator - start),
            }
        }
        before[operator - start] = own;
    }
    last.len()
}

#[cfg(test)]
mod tests {
    use super::super::super::oracle::from_edges;
    use super::super::cut_points::cut_points;
    use super::*;

    /// A fork, two branches of two operators, a join, and a chain of two behind it; all processors take as long.
    fn lanes(processors: usize, counts: &[usize], sharing: &[u32]) -> Lanes {
        let times = vec![vec![1; processors]; 8];
        let edges = [
            (0, 1),
            (0, 3),
            (1, 2),
            (3, 4),
            (2, 5),
            (4, 5),
            (5, 6),
            (6, 7),
        ];
        let whole = from_edges(&times, &edges, |_, _, _| 0);
        let positions: Vec<usize> = (0..=8).collect();
        let factor = |&thousandths| Slowdown::from_thousandths(thousandths).unwrap();
        let allowed = QueuesAllowed {
            names: (0..processors).map(|p| format!("p{p}")).collect(),
            counts: vec![counts.to_vec(); processors],
            sharing: vec![sharing.iter().map(factor).collect(); processors],
        };
        Lanes::new(&whole, &cut_points(&whole, &positions), allowed)
    }

    fn numbers(lanes: &Lanes, processors: usize, cut: usize) -> Vec<Vec<usize>> {
        let tried = lanes.tried(ProcessorSet::first(processors), cut);
        tried.into_iter().map(|(_, counts)| counts).collect()
    }

    #[test]
    fn no_more_queues_are_tried_than_operators_run_at_once() {
        let lanes = lanes(1, &[1, 2, 3, 4], &[1000, 1100, 1200, 1300]);
        assert_eq!(numbers(&lanes, 1, 0), [[1, 2]]);
        // Behind the join nothing is independent.
        assert_eq!(numbers(&lanes, 1, 6), [[1]]);
        assert_eq!(
            lanes.described(ProcessorSet::first(1), 0),
            ", with 1 to 2 queues on p0"
        );
        assert_eq!(lanes.described(ProcessorSet::first(1), 6), "");
    }

    #[test]
    fn a_larger_number_that_is_faster_is_tried_whatever_runs_at_once() {
        let lanes = lanes(1, &[1, 2, 3, 4], &[1000, 1500, 1400, 1600]);
        assert_eq!(numbers(&lanes, 1, 0), [[1, 2, 3]]);
    }

    #[test]
    fn a_number_that_the_user_gives_stays() {
        let lanes = lanes(1, &[4], &[1000, 1100, 1200, 1300]);
        assert_eq!(numbers(&lanes, 1, 6), [[4]]);
        assert_eq!(lanes.least().of(ProcessorId::from_index(0)), 4);
    }

    #[test]
    fn of_too_many_combinations_the_largest_numbers_are_left_out() {
        let lanes = lanes(8, &[1, 2], &[1000, 1100]);
        let choices = lanes.choices(ProcessorSet::first(8), 0);
        assert_eq!(choices.len(), MOST_CHOICES);
        assert_eq!(choices[0], QueueCounts::ONE);
        assert!(choices.is_sorted_by_key(|choice| choice.lanes(ProcessorSet::first(8))));
    }
}
