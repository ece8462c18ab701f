//! Cut points: where a pipeline may be cut.
//!
//! Behind every gate there is one (of very many gates, behind an even share), because what is before and behind a gate does not overlap in time (see `blocks`).
//! Where gates are far apart, few **inner cuts** are added: positions inside a block where little is live.
//! Operators on the two sides of an inner cut do overlap in time, so a stage that ends there needs a search of its own, with one location for each live tensor as its state; that is why there are few, and why positions with many live tensors are none.

use std::collections::BTreeSet;

use paracompile_plan::Bytes;

use super::blocks::gates;
use super::{FusedGraph, FusedTensorId};

/// A position in the order of fused operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// How many fused operators stand before it.
    pub position: usize,
    /// Whether it stands behind a gate (or is the start or the end): what is before and what is after do not overlap in time, and what crosses was written by one operator (or, at the start, by the frame).
    /// A gate may write several tensors.
    pub gate: bool,
    /// Tensors written before and read after, ascending.
    /// Network inputs count as written before everything; network outputs that nothing reads any more do not cross.
    pub live: Vec<FusedTensorId>,
}

/// Where cuts go besides gates, and how many gates are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutRule {
    /// Gates that are cut points; where there are more, they are thinned evenly, because the pipeline search grows with the square of the cuts.
    pub gates: usize,
    /// Inner cuts in the whole network.
    pub most: usize,
    /// A block gets one for each so many operators, so smaller blocks stay whole.
    pub block: usize,
    /// No two cuts are closer than so many operators, and none is so close to a gate.
    pub apart: usize,
    /// A position with more live tensors is no inner cut.
    pub live: usize,
}

impl Default for CutRule {
    /// 256 gates are more than deep residual networks have.
    /// 12 cuts give the pipeline search at most 13 parts of blocks beside the gates; 24 operators are about twice what the frontier search solves exactly; 4 live tensors on a chip of three locations are at most 81 states.
    fn default() -> Self {
        Self {
            gates: 256,
            most: 12,
            block: 24,
            apart: 8,
            live: 4,
        }
    }
}

/// All gates, and few inner cuts where gates are far apart; the first is the start, the last is the end.
///
/// A graph without operators has one cut, which is both.
pub fn cut_points(graph: &FusedGraph) -> Vec<Cut> {
    cut_points_by(graph, CutRule::default())
}

/// The same, with other constants.
pub fn cut_points_by(graph: &FusedGraph, rule: CutRule) -> Vec<Cut> {
    let mut positions: BTreeSet<usize> = gates(graph)
        .iter()
        .enumerate()
        .filter(|&(_, &is_gate)| is_gate)
        .map(|(position, _)| position + 1)
        .collect();
    if positions.len() > rule.gates {
        let count = positions.len();
        let is_kept = |index: usize| index * rule.gates / count != (index + 1) * rule.gates / count;
        let kept = positions.iter().enumerate();
        positions = kept
            .filter(|&(index, _)| is_kept(index))
            .map(|(_, &position)| position)
            .collect();
    }
    positions.extend([0, graph.ops.len()]);
    let inner = inner_positions(graph, &positions, rule);
    let mut cuts: Vec<(usize, bool)> = positions.into_iter().map(|at| (at, true)).collect();
    cuts.extend(inner.into_iter().map(|at| (at, false)));
    cuts.sort_unstable();
    with_live_tensors(graph, &cuts)
}

/// Every block gets its share of cuts by its size, each in a window around the place that would balance the parts; there, the one with the fewest live bytes.
///
/// Parts are balanced by operators: what an operator costs is not known before a chip is chosen.
fn inner_positions(graph: &FusedGraph, gates: &BTreeSet<usize>, rule: CutRule) -> Vec<usize> {
    let load = Load::along(graph);
    let bounds: Vec<usize> = gates.iter().copied().collect();
    let blocks: Vec<(usize, usize)> = bounds.windows(2).map(|ends| (ends[0], ends[1])).collect();
    let wanted: Vec<usize> = blocks
        .iter()
        .map(|(first, end)| (end - first) / rule.block.max(1))
        .map(|parts| parts.min(rule.most))
        .collect();
    let total: usize = wanted.iter().sum();
    let mut inner = Vec::new();
    for (&(first, end), &wanted) in blocks.iter().zip(&wanted) {
        let granted = if total > rule.most {
            wanted * rule.most / total
        } else {
            wanted
        };
        let mut earliest = first + rule.apart;
        for index in 1..=granted {
            // Window `index` is the middle part of 2 (granted + 1) half parts.
            let place = |halves: usize| first + (end - first) * halves / (2 * (granted + 1));
            let (from, centre, to) = (
                place(2 * index - 1).max(earliest),
                place(2 * index),
                place(2 * index + 1).min(end.saturating_sub(rule.apart)),
            );
            let best = (from..=to)
                .filter(|&position| load.tensors[position] <= rule.live)
                .min_by_key(|&position| {
                    let (bytes, tensors) = (load.bytes[position], load.tensors[position]);
                    (bytes, tensors, position.abs_diff(centre), position)
                });
            if let Some(position) = best {
                inner.push(position);
                earliest = position + rule.apart;
            }
        }
    }
    inner
}

/// What is live at each position.
struct Load {
    bytes: Vec<Bytes>,
    tensors: Vec<usize>,
}

impl Load {
    fn along(graph: &FusedGraph) -> Self {
        let mut starts = vec![(Bytes::ZERO, 0usize); graph.ops.len() + 2];
        let mut ends = starts.clone();
        for (_, tensor) in graph.tensors.iter() {
            if let Some(last) = tensor.readers.last() {
                let first = tensor.producer.map_or(0, |op| op.index() + 1);
                starts[first].0 += tensor.bytes;
                starts[first].1 += 1;
                ends[last.index() + 1].0 += tensor.bytes;
                ends[last.index() + 1].1 += 1;
            }
        }
        let (mut bytes, mut tensors) = (Bytes::ZERO, 0);
        let (bytes, tensors) = starts
            .iter()
            .zip(&ends)
            .map(|(start, end)| {
                bytes = bytes + start.0 - end.0;
                tensors = tensors + start.1 - end.1;
                (bytes, tensors)
            })
            .unzip();
        Self { bytes, tensors }
    }
}

fn with_live_tensors(graph: &FusedGraph, cuts: &[(usize, bool)]) -> Vec<Cut> {
    let written_at = |tensor: FusedTensorId| {
        let producer = graph.tensors[tensor].producer;
        producer.map_or(0, |op| op.index() + 1)
    };
    let last_read = |tensor: FusedTensorId| {
        let last = graph.tensors[tensor].readers.last();
        last.map_or(0, |op| op.index() + 1)
    };
    // Tensors are numbered by their writers, so they come alive in the order of their numbers.
    let mut coming = graph.tensors.ids().peekable();
    let mut live: Vec<FusedTensorId> = Vec::new();
    cuts.iter()
        .map(|&(position, gate)| {
            while let Some(tensor) = coming.next_if(|&tensor| written_at(tensor) <= position) {
                live.push(tensor);
            }
            live.retain(|&tensor| last_read(tensor) > position);
            Cut {
                position,
                gate,
                live: live.clone(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use paracompile_plan::OpClass::{Concat, Elementwise, Matmul, MaxPool};

    use super::*;
    use crate::partition::fuse;
    use paracompile_testkit::sketch::Sketch;

    /// Positions of gate cuts and of inner cuts.
    fn cuts(graph: &FusedGraph) -> (Vec<usize>, Vec<usize>) {
        let cuts = cut_points(graph);
        let at = |gate: bool| {
            let cuts = cuts.iter().filter(|cut| cut.gate == gate);
            cuts.map(|cut| cut.position).collect()
        };
        (at(true), at(false))
    }

    #[test]
    fn very_many_gates_are_thinned_evenly() {
        let mut sketch = Sketch::new();
        let mut end = sketch.input("frame");
        for index in 0..1000 {
            end = sketch.op(&format!("op{index}"), MaxPool, &[end]);
        }
        let cuts = cut_points(&fuse(&sketch.finish(&[end])));
        assert!((250..=258).contains(&cuts.len()), "{}", cuts.len());
        let widest = cuts
            .windows(2)
            .map(|ends| ends[1].position - ends[0].position)
            .max();
        assert!(widest.unwrap() <= 5);
        assert!(cuts.iter().all(|cut| cut.gate));
    }

    #[test]
    fn an_operator_with_a_bypass_is_comparable_and_no_gate() {
        let mut sketch = Sketch::new();
        let frame = sketch.input("frame");
        let x = sketch.op("x", MaxPool, &[frame]);
        let a = sketch.op("a", MaxPool, &[x]);
        let sum = sketch.op("sum", Elementwise, &[x, a]);
        let graph = fuse(&sketch.finish(&[sum]));
        assert_eq!(cuts(&graph), (vec![0, 1, 3], vec![]));
        let live: Vec<_> = cut_points(&graph)
            .iter()
            .map(|cut| cut.live.len())
            .collect();
        assert_eq!(live, [1, 1, 0]);
    }

    #[test]
    fn an_output_in_the_middle_runs_past_what_follows() {
        let mut sketch = Sketch::new();
        let frame = sketch.input("frame");
        let a = sketch.op("a", MaxPool, &[frame]);
        let b = sketch.op("b", MaxPool, &[a]);
        let c = sketch.op("c", MaxPool, &[b]);
        let d = sketch.op("d", MaxPool, &[c]);
        let graph = fuse(&sketch.finish(&[b, d]));
        // b itself is a gate: its move to io starts when it ends.
        assert_eq!(cuts(&graph), (vec![0, 1, 2, 4], vec![]));
    }

    #[test]
    fn two_inputs_on_different_branches_have_a_gate_where_they_meet() {
        let mut sketch = Sketch::new();
        let (x, y) = (sketch.input("x"), sketch.input("y"));
        let a = sketch.op("a", MaxPool, &[x]);
        let b = sketch.op("b", MaxPool, &[y]);
        let join = sketch.op("join", Concat, &[a, b]);
        let end = sketch.op("end", MaxPool, &[join]);
        let graph = fuse(&sketch.finish(&[end]));
        assert_eq!(cuts(&graph), (vec![0, 3, 4], vec![]));
    }

    #[test]
    fn a_gate_may_write_several_tensors() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let split = sketch.push(
            "split",
            paracompile_frontend::ir::OpKind::Compute(paracompile_plan::OpClass::Split),
            &[x],
            &[32, 32],
        );
        let a = sketch.op("a", MaxPool, &[split[0]]);
        let b = sketch.op("b", MaxPool, &[split[1]]);
        let join = sketch.op("join", Concat, &[a, b]);
        let cuts = cut_points(&fuse(&sketch.finish(&[join])));
        assert_eq!((cuts[1].position, cuts[1].live.len()), (1, 2));
    }

    #[test]
    fn a_concatenation_in_place_is_no_gate() {
        let mut sketch = Sketch::new();
        let input = sketch.input("x");
        let a = sketch.op("a", MaxPool, &[input]);
        let b = sketch.op("b", MaxPool, &[input]);
        let both = sketch.concat_in_place("both", &[a, b]);
        let c = sketch.op("c", MaxPool, &[both]);
        let d = sketch.op("d", MaxPool, &[both]);
        let join = sketch.op("join", Concat, &[c, d]);
        let graph = fuse(&sketch.finish(&[join]));
        assert_eq!(cuts(&graph), (vec![0, 5], vec![]));
    }

    #[test]
    fn a_network_of_views_has_one_cut() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let view = sketch.view("view", x);
        let graph = fuse(&sketch.finish(&[view]));
        let cuts = cut_points(&graph);
        assert_eq!(cuts.len(), 1);
        assert_eq!(
            (cuts[0].position, cuts[0].gate, cuts[0].live.len()),
            (0, true, 0)
        );
    }

    /// Layers that read a memory beside the chain, as in a transformer decoder: no gate but the first operator and the last layer's.
    fn decoder(layers: usize) -> FusedGraph {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let memory = sketch.op("memory", MaxPool, &[x]);
        let mut query = memory;
        for layer in 0..layers {
            let key = sketch.sized(&format!("key{layer}"), MaxPool, &[memory], 1024);
            let value = sketch.sized(&format!("value{layer}"), MaxPool, &[memory], 1024);
            let score = sketch.sized(&format!("score{layer}"), Matmul, &[query, key], 1024);
            query = sketch.op(&format!("attend{layer}"), Matmul, &[score, value]);
        }
        fuse(&sketch.finish(&[query]))
    }

    #[test]
    fn inner_cuts_stand_where_little_is_live() {
        let graph = decoder(24);
        let (gates, inner) = cuts(&graph);
        assert_eq!(gates, [0, 1, 97]);
        assert_eq!(inner.len(), 4);
        for cut in cut_points(&graph).iter().filter(|cut| !cut.gate) {
            let mut names: Vec<_> = cut
                .live
                .iter()
                .map(|&id| graph.tensors[id].name.clone())
                .collect();
            assert!(names.remove(1).starts_with("attend"), "{names:?}");
            assert_eq!(names, ["memory"]);
        }
    }

    #[test]
    fn inner_cuts_are_few_in_a_large_block_and_none_in_a_small_one() {
        assert!(cuts(&decoder(5)).1.is_empty());
        assert_eq!(cuts(&decoder(1000)).1.len(), 12);
    }

    #[test]
    fn a_rule_without_cuts_leaves_gates() {
        let rule = CutRule {
            most: 0,
            ..CutRule::default()
        };
        assert!(cut_points_by(&decoder(24), rule).iter().all(|cut| cut.gate));
    }
}
