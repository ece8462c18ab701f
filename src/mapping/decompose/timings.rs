//! Times of a stage while more processors are in use than its own.

use paracompile_frontend::soc::ProcessorSet;

use super::super::{Solution, StageMapping, Timing, schedule};
use super::stage_graph::Entry;
use super::stage_mapper::StageMapper;

impl StageMapper<'_> {
    /// Start and end of each operator of `stage`, which starts at `cut` with tensors held as `entry` says, under the slowdown of `used`.
    ///
    /// # Panics
    /// If the stage places an operator on a processor that is not its own: the mapper builds them so.
    pub fn timings(
        &self,
        cut: usize,
        entry: &Entry,
        stage: &StageMapping,
        used: ProcessorSet,
    ) -> Vec<Timing> {
        let graph = self.graph();
        let start = graph.cuts[cut].position;
        let mut part = graph.part(start, stage.ops.end, entry, stage.processors);
        graph.slow(&mut part, start, used);
        let processors = stage
            .placement
            .iter()
            .map(|processor| {
                part.processors
                    .iter()
                    .position(|other| other == processor)
                    .expect("operators run on the processors of their stage")
            })
            .collect();
        let sequence = stage.sequence.iter().map(|op| op.index() - start).collect();
        schedule(
            &part.problem,
            &Solution {
                processors,
                sequence,
            },
        )
        .timings
    }
}
