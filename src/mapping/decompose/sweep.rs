//! The min-plus product over the blocks of a stage: labels carry what the rest of the stage can see of its past.

use std::cmp::Ordering;
use std::sync::Arc;

use paracompile_frontend::soc::{ProcessorId, ProcessorSet};
use paracompile_plan::plan::StoppedBy;
use paracompile_plan::{Nanojoules, Nanoseconds};

use super::super::Objective;
use super::super::block::Methods;
use super::super::staircase::thinned;
use super::blocks::{Block, Exit};
use super::stage_graph::Entry;

/// The best way from the start of a stage to a cut, for one exit and one set of used processors.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) exit: Arc<Entry>,
    pub(super) used: ProcessorSet,
    pub(super) objective: Objective,
    pub(super) bound: Nanoseconds,
    /// How much less energy a mapping takes that was left out for this one.
    pub(super) slack: Nanojoules,
    /// Whether the blocks so far have all their trade-offs of time and energy.
    pub(super) has_all_trade_offs: bool,
    /// Under each superset of the stage's set.
    pub(super) retimed: Vec<Objective>,
    pub(super) methods: Methods,
    pub(super) stopped_by: StoppedBy,
    pub(super) path: Path,
}

/// Index of a step in [`Steps`], or the start of the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path(u32);

impl Path {
    pub(super) const START: Self = Self(u32::MAX);
}

/// Back-pointers of one sweep, so that every value has its mapping.
#[derive(Debug, Default)]
pub(super) struct Steps {
    steps: Vec<(Path, Arc<Block>, usize)>,
}

impl Steps {
    fn push(&mut self, before: Path, block: &Arc<Block>, exit: usize) -> Path {
        self.steps.push((before, Arc::clone(block), exit));
        Path(u32::try_from(self.steps.len() - 1).expect("labels are pruned at every gate"))
    }

    /// The blocks of a path with the exit taken from each, in order.
    pub(super) fn blocks(&self, path: Path) -> Vec<(&Block, &Exit)> {
        let mut blocks = Vec::new();
        let mut at = path;
        while let Some((before, block, exit)) = self.steps.get(at.0 as usize) {
            blocks.push((&**block, &block.exits[*exit]));
            at = *before;
        }
        blocks.reverse();
        blocks
    }

    fn placement(&self, path: Path) -> impl Iterator<Item = ProcessorId> {
        self.blocks(path)
            .into_iter()
            .flat_map(|(_, exit)| exit.placement.iter().copied())
    }

    /// By time, energy, and then processors by operator (rule M9).
    fn compare(&self, a: &Label, b: &Label) -> Ordering {
        a.objective
            .cmp(&b.objective)
            .then_with(|| self.placement(a.path).cmp(self.placement(b.path)))
    }
}

impl Label {
    /// Before the first block.
    pub(super) fn start(entry: &Arc<Entry>, supersets: usize) -> Self {
        let nothing = Objective {
            makespan: Nanoseconds::ZERO,
            energy: Nanojoules::ZERO,
        };
        Self {
            exit: Arc::clone(entry),
            used: ProcessorSet::EMPTY,
            objective: nothing,
            bound: Nanoseconds::ZERO,
            slack: Nanojoules::ZERO,
            has_all_trade_offs: true,
            retimed: vec![nothing; supersets],
            methods: Methods::default(),
            stopped_by: StoppedBy::Complete,
            path: Path::START,
        }
    }

    /// This, and then `block` to its exit `index`, where tensors are held as `exit` says.
    pub(super) fn extended(
        &self,
        steps: &mut Steps,
        block: &Arc<Block>,
        index: usize,
        exit: Arc<Entry>,
    ) -> Self {
        let way = &block.exits[index];
        Self {
            exit,
            used: self.used.union(way.used),
            objective: sum(self.objective, way.objective),
            bound: self.bound + way.bound,
            slack: self.slack + way.slack,
            has_all_trade_offs: self.has_all_trade_offs && block.has_all_trade_offs,
            retimed: self
                .retimed
                .iter()
                .zip(&way.retimed)
                .map(|(&before, &block)| sum(before, block))
                .collect(),
            methods: self.methods.with(way.method),
            stopped_by: self.stopped_by.max(way.stopped_by),
            path: steps.push(self.path, block, index),
        }
    }
}

pub(super) fn sum(a: Objective, b: Objective) -> Objective {
    Objective {
        makespan: a.makespan + b.makespan,
        energy: a.energy + b.energy,
    }
}

/// Labels that no other with the same exit and at least the same processors beats, by exit.
///
/// The bound of a dropped label lives on in the one that beats it, because its true value may be the better one.
pub(super) fn undominated(steps: &Steps, mut labels: Vec<Label>) -> Vec<Label> {
    labels.sort_by(|a, b| a.exit.cmp(&b.exit).then_with(|| steps.compare(a, b)));
    let mut kept: Vec<Label> = Vec::new();
    for label in labels {
        let better = kept
            .iter_mut()
            .rev()
            .take_while(|other| other.exit == label.exit)
            .find(|other| label.used.is_subset(other.used));
        match better {
            Some(better) => better.bound = better.bound.min(label.bound),
            None => kept.push(label),
        }
    }
    kept
}

/// A label that may come to be: one of the labels before and one of the ways through the next block.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) exit: Arc<Entry>,
    pub(super) used: ProcessorSet,
    pub(super) objective: Objective,
    pub(super) label: usize,
    pub(super) block: Arc<Block>,
    pub(super) way: usize,
}

/// How many trade-offs of one exit and one set of used processors go on from a cut; more are thinned.
const MOST_LABELS: usize = 12;

/// Trade-offs of time and energy that none with the same exit and at least the same processors covers, by exit, used processors, then time; thinned where there are many.
///
/// The bound of what is left out lives on in a label that takes no more energy, so that for every mapping a label is kept that takes no more energy and has no higher bound.
pub(super) fn trade_offs(
    steps: &mut Steps,
    before: &[Label],
    mut candidates: Vec<Candidate>,
) -> Vec<Label> {
    candidates.sort_by(|a, b| {
        (&a.exit, a.objective, b.used.len(), a.used, a.label, a.way).cmp(&(
            &b.exit,
            b.objective,
            a.used.len(),
            b.used,
            b.label,
            b.way,
        ))
    });
    let bound = |candidate: &Candidate| {
        before[candidate.label].bound + candidate.block.exits[candidate.way].bound
    };
    let mut kept: Vec<(Candidate, Nanoseconds)> = Vec::new();
    for candidate in candidates {
        let better = kept
            .iter_mut()
            .rev()
            .take_while(|(other, _)| other.exit == candidate.exit)
            .find(|(other, _)| {
                candidate.used.is_subset(other.used)
                    && other.objective.energy <= candidate.objective.energy
            });
        let own = bound(&candidate);
        match better {
            Some((_, bound)) => *bound = own.min(*bound),
            None => kept.push((candidate, own)),
        }
    }
    kept.sort_by(|(a, _), (b, _)| {
        (&a.exit, a.used, a.objective).cmp(&(&b.exit, b.used, b.objective))
    });
    let mut labels = Vec::new();
    for group in kept.chunk_by(|(a, _), (b, _)| a.exit == b.exit && a.used == b.used) {
        let points: Vec<(u64, u64)> = group
            .iter()
            .map(|(candidate, _)| {
                let Objective { makespan, energy } = candidate.objective;
                (makespan.count(), energy.count())
            })
            .collect();
        let first = labels.len();
        let mut lowest: Option<Nanoseconds> = None;
        for ((candidate, bound), is_kept) in group.iter().zip(thinned(&points, MOST_LABELS)) {
            let before = &before[candidate.label];
            if is_kept {
                let exit = Arc::clone(&candidate.exit);
                let mut label = before.extended(steps, &candidate.block, candidate.way, exit);
                label.bound = lowest.take().map_or(*bound, |lowest| lowest.min(*bound));
                labels.push(label);
            } else {
                lowest = Some(lowest.map_or(*bound, |lowest| lowest.min(*bound)));
                let way = &candidate.block.exits[candidate.way];
                let slack = before.slack + way.slack;
                if let Some(stands_for) = labels[first..].last_mut() {
                    let less = stands_for
                        .objective
                        .energy
                        .saturating_sub(candidate.objective.energy);
                    stands_for.slack = stands_for.slack.max(slack + less);
                }
            }
        }
    }
    labels
}

/// For labels of one cut: what no mapping with the exit of label `index`, its processors and at most its energy takes less than.
///
/// Where trade-offs may be missing, a mapping of less energy may be faster than every label of less energy says, but not than every label.
pub(super) fn bound_under_energy(labels: &[Label], index: usize) -> Nanoseconds {
    let own = &labels[index];
    let alike = || {
        labels
            .iter()
            .filter(|other| other.exit == own.exit && own.used.is_subset(other.used))
    };
    let has_all = alike().all(|other| other.has_all_trade_offs);
    alike()
        .filter(|other| !has_all || other.objective.energy <= own.objective.energy)
        .map(|other| other.bound)
        .min()
        .unwrap_or(own.bound)
}
