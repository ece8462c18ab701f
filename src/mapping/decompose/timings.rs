//! Times of a given stage mapping, whoever chose it.

use paracompile_frontend::soc::ProcessorSet;

use super::super::{Schedule, Solution, StageMapping, Timing, schedule};
use super::blocks::Retimed;
use super::stage_graph::{Entry, Part};
use super::stage_mapper::StageMapper;

impl StageMapper<'_> {
    /// Start and end of each operator of `stage`, which starts at `cut` with tensors held as `entry` says, under the slowdown of `used`.
    ///
    /// # Panics
    /// If the stage places an operator on a processor that is not its own: mappers build them so.
    pub fn timings(
        &self,
        cut: usize,
        entry: &Entry,
        stage: &StageMapping,
        used: ProcessorSet,
    ) -> Vec<Timing> {
        self.timed(cut, entry, stage, used).timings
    }

    /// Time and dynamic energy of `stage` in the same way.
    ///
    /// # Panics
    /// As [`StageMapper::timings`].
    pub fn retimed(
        &self,
        cut: usize,
        entry: &Entry,
        stage: &StageMapping,
        used: ProcessorSet,
    ) -> Retimed {
        let objective = self.timed(cut, entry, stage, used).objective;
        Retimed {
            used,
            time: objective.makespan,
            energy: objective.energy,
        }
    }

    fn timed(
        &self,
        cut: usize,
        entry: &Entry,
        stage: &StageMapping,
        used: ProcessorSet,
    ) -> Schedule {
        let (mut part, solution) = self.part_of(cut, entry, stage);
        let graph = self.graph();
        graph.slow(&mut part, graph.cuts[cut].position, used);
        schedule(&part.problem, &solution)
    }

    /// The problem of `stage` under its own set, and the stage in the problem's terms.
    pub(super) fn part_of(
        &self,
        cut: usize,
        entry: &Entry,
        stage: &StageMapping,
    ) -> (Part, Solution) {
        let graph = self.graph();
        let start = graph.cuts[cut].position;
        let queues = stage.queue_counts();
        let part = graph.part(start, stage.ops.end, entry, stage.processors, queues);
        let processors = stage
            .placement
            .iter()
            .zip(&stage.queues)
            .map(|(processor, &queue)| {
                let first = part.processors.iter().position(|other| other == processor);
                first.expect("operators run on the processors of their stage") + usize::from(queue)
            })
            .collect();
        let sequence = stage.sequence.iter().map(|op| op.index() - start).collect();
        let solution = Solution {
            processors,
            sequence,
        };
        (part, solution)
    }
}
