//! Lanes of the time chart: one a stage, one a compute queue, and rows for moves by the memories between which they go.

use std::collections::BTreeMap;

use paracompile_plan::Plan;
use paracompile_plan::plan::{Queue, QueueKind, Transfer};

use super::canvas::Lettering;
use super::palette::{INK, SOFT};
use super::points::point_of;
use super::stream::Stream;

/// Where the first lane begins.
pub(super) const TOP: f64 = 78.0;
/// Heights of lanes and rows.
pub(super) const LANE: f64 = 34.0;
pub(super) const STAGE_LANE: f64 = 20.0;
pub(super) const MOVE_ROW: f64 = 9.0;
const GAP: f64 = 10.0;
/// Moves that overlap get rows of their own, up to so many; the others share the last.
const MOVE_ROWS: u8 = 4;
/// Names of lanes.
pub(super) const NAMES: Lettering = Lettering::plain(12.0, INK);

/// Names of operating points.
pub(super) const POINTS: Lettering = Lettering::plain(10.0, SOFT);

/// Where everything is drawn.
pub(super) struct Lanes {
    pub(super) left: f64,
    pub(super) bottom: f64,
    /// Names and their heights.
    pub(super) names: Vec<(String, f64)>,
    /// Operating points and their heights, below the names of their processors.
    pub(super) points: Vec<(String, f64)>,
    pub(super) stage_tops: Vec<f64>,
    /// Top of the lane of each compute queue, by queue.
    pub(super) queue_tops: BTreeMap<u32, f64>,
    /// Top of the row of each transfer, by index in the plan.
    pub(super) move_tops: BTreeMap<usize, f64>,
}

impl Lanes {
    pub(super) fn of(plan: &Plan, stream: &Stream) -> Self {
        let mut names = Vec::new();
        let mut points = Vec::new();
        let mut y = TOP;
        let mut stage_tops = Vec::new();
        for (index, _) in plan.stages.iter().enumerate() {
            names.push((format!("stage {}", index + 1), y + STAGE_LANE / 2.0));
            stage_tops.push(y);
            y += STAGE_LANE + 3.0;
        }
        y += GAP;
        let mut queue_tops = BTreeMap::new();
        let compute = |kind: QueueKind| match kind {
            QueueKind::Compute => true,
            QueueKind::Transfer => false,
        };
        for queue in plan.queues.iter().filter(|queue| compute(queue.kind)) {
            let of_processor =
                |other: &&Queue| compute(other.kind) && other.processor == queue.processor;
            let name = if plan.queues.iter().filter(of_processor).count() > 1 {
                format!("{} #{}", queue.processor, queue.id)
            } else {
                queue.processor.clone()
            };
            let middle = y + LANE / 2.0;
            if let Some(point) = point_of(plan, &queue.processor) {
                names.push((name, middle - 7.0));
                points.push((point.to_owned(), middle + 8.0));
            } else {
                names.push((name, middle));
            }
            queue_tops.insert(queue.id, y);
            y += LANE + GAP;
        }
        let mut move_tops = BTreeMap::new();
        for (name, transfers) in moves_by_way(plan) {
            let (rows, count) = rows(stream, &transfers);
            for ((index, _), row) in transfers.iter().zip(rows) {
                move_tops.insert(*index, y + f64::from(row) * MOVE_ROW);
            }
            let height = f64::from(count) * MOVE_ROW;
            names.push((name, y + height / 2.0));
            y += height.max(15.0) + GAP;
        }
        let widest = names
            .iter()
            .map(|(name, _)| NAMES.width(name))
            .chain(points.iter().map(|(point, _)| POINTS.width(point)))
            .fold(60.0, f64::max);
        Self {
            left: widest.min(220.0) + 26.0,
            bottom: y,
            names,
            points,
            stage_tops,
            queue_tops,
            move_tops,
        }
    }
}

/// Transfers with their indices, by the memories that they go between.
fn moves_by_way(plan: &Plan) -> BTreeMap<String, Vec<(usize, &Transfer)>> {
    let mut ways: BTreeMap<String, Vec<(usize, &Transfer)>> = BTreeMap::new();
    for (index, transfer) in plan.transfers.iter().enumerate() {
        let buffer = |id: u32| plan.buffers.get(id as usize);
        if let (Some(from), Some(to)) = (buffer(transfer.from_buffer), buffer(transfer.to_buffer)) {
            let way = format!("{} → {}", from.memory, to.memory);
            ways.entry(way).or_default().push((index, transfer));
        }
    }
    ways
}

/// A row for each move such that moves of one frame do not overlap in it, and how many rows that takes, at least one.
fn rows(stream: &Stream, transfers: &[(usize, &Transfer)]) -> (Vec<u8>, u8) {
    let mut by_start: Vec<(f64, f64, usize)> = transfers
        .iter()
        .enumerate()
        .map(|(slot, (_, transfer))| {
            let stage = stream.starts.get(transfer.stage as usize);
            let start = stage.copied().unwrap_or(0.0) + transfer.start_ns.to_seconds();
            (start, start + transfer.duration_ns.to_seconds(), slot)
        })
        .collect();
    by_start.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
    let mut busy_until = [0.0f64; MOVE_ROWS as usize];
    let mut rows = vec![0; transfers.len()];
    let mut used = 1;
    for (start, end, slot) in by_start {
        let free = (0..MOVE_ROWS).find(|&row| busy_until[usize::from(row)] <= start);
        let row = free.unwrap_or(MOVE_ROWS - 1);
        let until = &mut busy_until[usize::from(row)];
        *until = until.max(end);
        rows[slot] = row;
        used = used.max(row + 1);
    }
    (rows, used)
}

#[cfg(test)]
mod tests {
    use paracompile_plan::Nanoseconds;

    use super::*;
    use crate::plot::samples;

    #[test]
    fn moves_of_a_way_that_overlap_lie_in_different_rows() {
        let mut plan = samples::plan(60, &[&["big"]]);
        for (index, transfer) in (0..).zip(&mut plan.transfers) {
            transfer.from_buffer = 0;
            transfer.to_buffer = 1;
            transfer.start_ns = Nanoseconds::new(10 * index);
            transfer.duration_ns = Nanoseconds::new(15);
        }
        let lanes = Lanes::of(&plan, &Stream::of(&plan));
        let rows: Vec<f64> = lanes.move_tops.values().copied().collect();
        assert_eq!(rows.len(), 12);
        // Each overlaps the next and no other.
        assert!(
            rows.windows(2)
                .all(|pair| (pair[0] - pair[1]).abs() >= MOVE_ROW)
        );
        assert!(rows.chunks(2).all(|pair| (pair[0] - rows[0]).abs() < 1e-9));
    }

    #[test]
    fn queues_of_one_processor_are_told_apart() {
        let mut plan = samples::plan(8, &[&["gpu", "npu"]]);
        let names = |plan: &Plan| -> Vec<String> {
            let lanes = Lanes::of(plan, &Stream::of(plan));
            lanes.names.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(&plan)[1..3], ["gpu", "npu"]);
        plan.queues[1].processor = "gpu".to_owned();
        assert_eq!(names(&plan)[1..3], ["gpu #0", "gpu #1"]);
    }
}
