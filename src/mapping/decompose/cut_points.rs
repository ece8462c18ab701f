//! Where a problem can be cut, what is live there, and which cuts are gates.

use super::super::Problem;

/// A place between two operators of the order.
#[derive(Clone, Debug)]
pub(super) struct CutPoint {
    pub(super) position: usize,
    /// Written before and read behind, ascending.
    pub(super) live: Vec<usize>,
    /// Whether the blocks on both sides can be solved apart.
    pub(super) separates: bool,
}

/// Live tensors of each cut, and whether it separates.
///
/// A cut separates if one operator stands before it to which everything earlier leads and from which everything later comes, and only its tensors cross.
/// An output of the network among them does not count as separating: its move home runs on while later operators work.
pub(super) fn cut_points(whole: &Problem, positions: &[usize]) -> Vec<CutPoint> {
    let count = whole.operators.len();
    let last_source = (0..count)
        .rev()
        .find(|&v| whole.operators[v].reads.is_empty());
    let first_sink = (0..count).find(|&v| {
        whole.operators[v]
            .writes
            .iter()
            .all(|&tensor| whole.tensors[tensor].readers.is_empty())
    });
    let mut cuts: Vec<CutPoint> = positions
        .iter()
        .map(|&position| CutPoint {
            position,
            live: Vec::new(),
            separates: position == 0
                || position == count
                || (last_source.is_none_or(|source| source < position)
                    && first_sink.is_none_or(|sink| sink + 1 >= position)),
        })
        .collect();
    for (index, tensor) in whole.tensors.iter().enumerate() {
        let written = tensor.producer.map_or(0, |producer| producer + 1);
        let last = if tensor.to_io && tensor.producer.is_some() {
            Some(count)
        } else {
            tensor.readers.last().map(|&reader| reader + 1)
        };
        let first = positions.partition_point(|&position| position < written);
        for cut in &mut cuts[first..] {
            if last.is_none_or(|last| last <= cut.position) {
                break;
            }
            if tensor.readers.iter().any(|&reader| reader >= cut.position) {
                cut.live.push(index);
            }
            let is_crossed_late = written < cut.position || tensor.to_io;
            if is_crossed_late && cut.position > 0 && cut.position < count {
                cut.separates = false;
            }
        }
    }
    cuts
}
