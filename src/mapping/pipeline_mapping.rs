//! A complete mapping: what the search hands to the estimator and to the emitter.
//!
//! It says who runs what in which order, and nothing about time: times are derived again, twice, behind it.

use std::collections::BTreeMap;
use std::ops::Range;

use paracompile_frontend::soc::{ProcessorId, ProcessorSet, Renaming};
use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::StoppedBy;

use super::QueueCounts;
use crate::partition::FusedOpId;

/// A mapping of a whole network; baselines are of this type too (rule M13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineMapping {
    /// Stages in order; together they cover every fused operator once.
    pub stages: Vec<StageMapping>,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageMapping {
    /// Its fused operators, as positions in the order of the fused graph.
    pub ops: Range<usize>,
    /// Its processors `S`; each runs at least one operator.
    pub processors: ProcessorSet,
    /// The processor of each operator of `ops`.
    pub placement: Vec<ProcessorId>,
    /// Which of its processor's compute queues each operator of `ops` is on (rule M10), from zero; none is left out.
    pub queues: Vec<u8>,
    /// The operators of `ops`, in an order that is topological; the order on each queue is the order here.
    pub sequence: Vec<FusedOpId>,
    /// The claim about `T_s(S)`.
    pub proof: StageProof,
}

/// The claim about a stage's time under its own set (rule M9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageProof {
    /// No mapping of the scope takes less.
    pub bound: Nanoseconds,
    /// The same for each choice of queue counts that was searched; empty where there is no choice.
    pub by_queues: Vec<(QueueCounts, Nanoseconds)>,
    /// How value and bound were found.
    pub method: String,
    /// Over which choices the claim holds.
    pub scope: String,
    /// Why the search stopped.
    pub stopped_by: StoppedBy,
}

impl StageMapping {
    /// The same stage on equivalent processors.
    #[must_use]
    pub fn renamed(mut self, renaming: &Renaming) -> Self {
        self.processors = self.processors.iter().map(|p| renaming.of(p)).collect();
        for processor in &mut self.placement {
            *processor = renaming.of(*processor);
        }
        self
    }

    /// How many compute queues each processor has.
    pub fn queue_counts(&self) -> QueueCounts {
        let queues = self.placement.iter().zip(&self.queues);
        queues.fold(QueueCounts::ONE, |counts, (&processor, &queue)| {
            let count = usize::from(queue) + 1;
            counts.with(processor, count.max(counts.of(processor)))
        })
    }

    /// The same stage with the queues of each processor numbered as they come into use, without those that nothing is on.
    #[must_use]
    pub fn numbered(mut self) -> Self {
        let mut names: BTreeMap<(ProcessorId, u8), u8> = BTreeMap::new();
        let mut counts: BTreeMap<ProcessorId, u8> = BTreeMap::new();
        for op in &self.sequence {
            let offset = op.index() - self.ops.start;
            let processor = self.placement[offset];
            let name = names.entry((processor, self.queues[offset]));
            self.queues[offset] = *name.or_insert_with(|| {
                let count = counts.entry(processor).or_default();
                *count += 1;
                *count - 1
            });
        }
        self
    }

    /// The same stage with as many queues on each processor as `counts` says: operators move to queues that nothing is on, which makes none of them later.
    ///
    /// `None` where a processor runs fewer operators than it has queues.
    #[must_use]
    pub fn spread(mut self, counts: QueueCounts) -> Option<Self> {
        for processor in self.processors.iter() {
            let own = |stage: &Self| -> Vec<usize> {
                let offsets = stage.sequence.iter().map(|op| op.index() - stage.ops.start);
                offsets
                    .filter(|&offset| stage.placement[offset] == processor)
                    .collect()
            };
            let mut used = self.queue_counts().of(processor);
            while used < counts.of(processor) {
                let operators = own(&self);
                let is_shared = |&&offset: &&usize| {
                    let others = operators
                        .iter()
                        .filter(|&&other| self.queues[other] == self.queues[offset]);
                    others.count() > 1
                };
                let last = operators.iter().rev().find(is_shared).copied()?;
                self.queues[last] = u8::try_from(used).ok()?;
                used += 1;
            }
        }
        Some(self.numbered())
    }
}

impl PipelineMapping {
    /// The processors in use, `A`.
    pub fn used(&self) -> ProcessorSet {
        self.stages.iter().fold(ProcessorSet::EMPTY, |set, stage| {
            set.union(stage.processors)
        })
    }

    /// How many compute queues each processor has: every processor is in one stage.
    pub fn queue_counts(&self) -> QueueCounts {
        let counts = self.stages.iter().map(StageMapping::queue_counts);
        counts.fold(QueueCounts::ONE, QueueCounts::max)
    }
}

#[cfg(test)]
mod tests {
    use paracompile_frontend::arena::Id;

    use super::*;

    fn stage(queues: &[u8], sequence: &[usize]) -> StageMapping {
        StageMapping {
            ops: 0..queues.len(),
            processors: ProcessorSet::first(1),
            placement: vec![Id::from_index(0); queues.len()],
            queues: queues.to_vec(),
            sequence: sequence.iter().map(|&op| Id::from_index(op)).collect(),
            proof: StageProof {
                bound: Nanoseconds::ZERO,
                by_queues: Vec::new(),
                method: String::new(),
                scope: String::new(),
                stopped_by: StoppedBy::Complete,
            },
        }
    }

    #[test]
    fn queues_are_numbered_as_they_come_into_use() {
        let numbered = stage(&[3, 1, 3], &[1, 0, 2]).numbered();
        assert_eq!(numbered.queues, [1, 0, 1]);
        let only = ProcessorId::from_index(0);
        assert_eq!(numbered.queue_counts().of(only), 2);
    }

    #[test]
    fn operators_move_to_queues_that_nothing_is_on_while_there_are_enough() {
        let only = ProcessorId::from_index(0);
        let counts = |count| QueueCounts::ONE.with(only, count);
        let spread = stage(&[0, 0, 1], &[0, 1, 2]).spread(counts(3)).unwrap();
        assert_eq!(spread.queues, [0, 1, 2]);
        assert_eq!(stage(&[0, 0, 1], &[0, 1, 2]).spread(counts(4)), None);
    }
}
