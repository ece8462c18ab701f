//! Horizontal places of a layered graph: each vertex under the mean of its neighbours as far as those of its layer leave room.
//!
//! For one layer this is a least-squares problem with an order: isotonic regression, solved exactly by pooling neighbours that would overlap.
//! Layers are solved in turn, down and up, until straight lines have had their chance.

use super::layers::Chained;

const SWEEPS: usize = 24;
/// Room between neighbours of a layer.
const SPACE: f64 = 16.0;
/// How much everything wants to be in the middle, so that a long chain does not drift to a side.
const MIDDLE: f64 = 0.04;
/// How much more a bend wants to be straight than a vertex wants to be centred.
const STRAIGHT: f64 = 6.0;

/// The centre of each vertex and bend, and the width of all.
pub(super) fn horizontal(graph: &Chained) -> (Vec<f64>, f64) {
    let mut xs = vec![0.0; graph.widths.len()];
    for layer in &graph.layers {
        let offsets = offsets(graph, layer);
        let middle = offsets.last().map_or(0.0, |last| last / 2.0);
        for (&node, offset) in layer.iter().zip(offsets) {
            xs[node] = offset - middle;
        }
    }
    let count = graph.layers.len();
    for sweep in 0..SWEEPS {
        for step in 0..count {
            let index = if sweep.is_multiple_of(2) {
                step
            } else {
                count - 1 - step
            };
            settle(graph, &graph.layers[index], sweep, &mut xs);
        }
    }
    let left = |node: usize| xs[node] - graph.widths[node] / 2.0;
    let right = |node: usize| xs[node] + graph.widths[node] / 2.0;
    let nodes = || 0..xs.len();
    let least = nodes().map(left).fold(f64::INFINITY, f64::min);
    let most = nodes().map(right).fold(f64::NEG_INFINITY, f64::max);
    if least > most {
        return (xs, 0.0);
    }
    (xs.iter().map(|x| x - least).collect(), most - least)
}

/// The least distances of the members of a layer from its first.
fn offsets(graph: &Chained, layer: &[usize]) -> Vec<f64> {
    let mut offset = 0.0;
    layer
        .iter()
        .enumerate()
        .map(|(place, &node)| {
            if place > 0 {
                let before = layer[place - 1];
                offset += f64::midpoint(graph.widths[before], graph.widths[node]) + SPACE;
            }
            offset
        })
        .collect()
}

fn settle(graph: &Chained, layer: &[usize], sweep: usize, xs: &mut [f64]) {
    let offsets = offsets(graph, layer);
    let is_bend = |node: usize| node >= graph.real;
    // What each wants, less its offset, and how much it wants it.
    let wishes: Vec<(f64, f64)> = layer
        .iter()
        .zip(&offsets)
        .map(|(&node, offset)| {
            let (near, far) = if sweep.is_multiple_of(2) {
                (&graph.above[node], &graph.below[node])
            } else {
                (&graph.below[node], &graph.above[node])
            };
            // In the last sweeps both sides count.
            let both = sweep + 4 >= SWEEPS;
            let (mut sum, mut weight) = (0.0, 0.0);
            for &other in near.iter().chain(far.iter().filter(|_| both)) {
                let pull = if is_bend(node) && is_bend(other) {
                    STRAIGHT
                } else {
                    1.0
                };
                sum += pull * xs[other];
                weight += pull;
            }
            if weight > 0.0 {
                weight += MIDDLE;
                (sum / weight - offset, weight)
            } else {
                // Whoever has no neighbours on this side stays, and gives way.
                (xs[node] - offset, MIDDLE)
            }
        })
        .collect();
    for ((&node, offset), place) in layer.iter().zip(&offsets).zip(isotonic(&wishes)) {
        xs[node] = place + offset;
    }
}

/// The ascending values with the least weighted squares of distances from the wishes: pools of neighbours that want to pass each other share their mean.
fn isotonic(wishes: &[(f64, f64)]) -> Vec<f64> {
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for &(wish, weight) in wishes {
        let mut pool = (wish, weight, 1);
        while let Some(&(mean, before, count)) = pools.last() {
            if mean < pool.0 {
                break;
            }
            pools.pop();
            let weight = before + pool.1;
            pool = (
                (mean * before + pool.0 * pool.1) / weight,
                weight,
                count + pool.2,
            );
        }
        pools.push(pool);
    }
    pools
        .into_iter()
        .flat_map(|(mean, _, count)| std::iter::repeat_n(mean, count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_in_order_are_granted_and_others_meet_in_the_middle() {
        let granted = isotonic(&[(1.0, 1.0), (2.0, 1.0), (5.0, 1.0)]);
        assert_eq!(granted, [1.0, 2.0, 5.0]);
        let met = isotonic(&[(4.0, 1.0), (1.0, 2.0), (9.0, 1.0)]);
        assert_eq!(met, [2.0, 2.0, 9.0]);
    }
}
