//! The min-plus product over the blocks of a stage: labels carry what the rest of the stage can see of its past.

use std::cmp::Ordering;
use std::sync::Arc;

use paracompile_frontend::soc::{ProcessorId, ProcessorSet};
use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::StoppedBy;

use super::super::Objective;
use super::super::block::Methods;
use super::blocks::{Block, Exit};
use super::stage_graph::Entry;

/// The best way from the start of a stage to a cut, for one exit and one set of used processors.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) exit: Arc<Entry>,
    pub(super) used: ProcessorSet,
    pub(super) objective: Objective,
    pub(super) bound: Nanoseconds,
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
            energy: paracompile_plan::Nanojoules::ZERO,
        };
        Self {
            exit: Arc::clone(entry),
            used: ProcessorSet::EMPTY,
            objective: nothing,
            bound: Nanoseconds::ZERO,
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

fn sum(a: Objective, b: Objective) -> Objective {
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
