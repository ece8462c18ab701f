//! Transfers: the moves of rule M3 in time.

use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::{Convert, Transfer};

use super::buffers::{Buffers, rank};
use super::plan::{Context, id};
use crate::estimate::{MoveIndex, MoveTiming};

/// Moves in the order of the plan's transfers.
pub(super) struct TransferOrder {
    /// Move and times of each transfer.
    pub(super) timings: Vec<(MoveIndex, MoveTiming)>,
    /// Transfer of each move.
    of_move: Vec<usize>,
}

impl TransferOrder {
    /// By stage, start, tensor and target.
    pub(super) fn new(context: &Context<'_>) -> Self {
        let placement = &context.placement;
        let fused = context.emission.fused;
        let mut timings: Vec<(MoveIndex, MoveTiming)> = placement
            .moves
            .iter()
            .enumerate()
            .map(|(index, planned)| {
                let target = &placement.storages[planned.target];
                let stage = &context.emission.estimate.stages[planned.stage];
                let timing = stage
                    .moves
                    .iter()
                    .find(|timing| (timing.tensor, timing.to) == (target.tensor, target.location));
                let timing = timing.expect("the figures are those of this mapping");
                (index, *timing)
            })
            .collect();
        timings.sort_by_cached_key(|(index, timing)| -> (usize, Nanoseconds, _, usize) {
            (
                placement.moves[*index].stage,
                timing.start,
                fused.tensors[timing.tensor].tensor,
                rank(context, timing.to),
            )
        });
        let mut of_move = vec![usize::MAX; timings.len()];
        for (transfer, (index, _)) in timings.iter().enumerate() {
            of_move[*index] = transfer;
        }
        Self { timings, of_move }
    }

    /// The transfer of a move.
    pub(super) fn transfer_of(&self, index: MoveIndex) -> usize {
        self.of_move[index]
    }
}

/// The plan's transfers.
pub(super) fn list(
    context: &Context<'_>,
    order: &TransferOrder,
    buffers: &Buffers,
) -> Vec<Transfer> {
    let soc = context.soc();
    order
        .timings
        .iter()
        .enumerate()
        .map(|(transfer, (index, timing))| {
            let planned = &context.placement.moves[*index];
            let (from, to) = (
                soc.locations[timing.from].layout,
                soc.locations[timing.to].layout,
            );
            Transfer {
                id: id(transfer),
                stage: id(planned.stage),
                from_buffer: buffers.of_storage(planned.source),
                to_buffer: buffers.of_storage(planned.target),
                bytes: context.emission.fused.tensors[timing.tensor].bytes,
                convert: (!from.fits(to)).then_some(Convert {
                    from_layout: from,
                    to_layout: to,
                }),
                start_ns: timing.start,
                duration_ns: timing.duration,
                energy_nj: timing.energy,
            }
        })
        .collect()
}
