//! A layered layout after Sugiyama, Tagawa and Toda (1981): vertices in layers along their edges, those of a stage in a band of layers of their own, few crossings by barycentres.
//!
//! Edges through several layers get a bend in each; edges that leave one vertex share their bends, so that a tensor with many readers is one line that branches.
//! The layout crates at hand place vertices alone or know no bands, and edges that skip layers would run through boxes.

use std::collections::BTreeMap;

use super::super::canvas::{Point, to_f64};
use super::coordinates::horizontal;

/// The most vertices and bends that are laid out.
const LIMIT: usize = 40_000;
const SWEEPS: usize = 16;

/// A graph to lay out; every edge leads to a vertex with a larger index.
pub(super) struct Layered {
    /// Width of each vertex, in pixels.
    pub(super) widths: Vec<f64>,
    /// Band of each vertex; edges never lead to a smaller one.
    pub(super) bands: Vec<usize>,
    pub(super) edges: Vec<(usize, usize)>,
    /// Height of every vertex, and room between layers and between bands.
    pub(super) height: f64,
    pub(super) gap: f64,
    pub(super) band_gap: f64,
}

/// Where everything is.
pub(super) struct Layout {
    /// Centres of vertices.
    pub(super) centres: Vec<Point>,
    /// Corners of each edge, from the lower side of its source to the upper side of its target.
    pub(super) routes: Vec<Vec<Point>>,
    /// Top and bottom of each band that has a vertex.
    pub(super) bands: BTreeMap<usize, (f64, f64)>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// More than anybody can look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("graph: {0} boxes and bends are too many to draw, the limit is {LIMIT}")]
pub struct TooLarge(usize);

/// Vertices and bends in layers, with edges between neighbouring layers alone.
pub(super) struct Chained {
    /// Layer of each vertex, bends behind the real ones.
    layer: Vec<usize>,
    pub(super) widths: Vec<f64>,
    /// Neighbours in the layer above and below.
    pub(super) above: Vec<Vec<usize>>,
    pub(super) below: Vec<Vec<usize>>,
    /// Members of each layer from left to right.
    pub(super) layers: Vec<Vec<usize>>,
    /// How many of the vertices are real.
    pub(super) real: usize,
}

const BEND: f64 = 6.0;

impl Layered {
    pub(super) fn lay_out(&self) -> Result<Layout, TooLarge> {
        let layer = self.assign_layers();
        let (mut chained, routes) = self.chain(&layer)?;
        chained.order();
        let (xs, width) = horizontal(&chained);
        // Vertical places: layers below each other, with more room between bands.
        let count = chained.layers.len();
        let mut band_of_layer = vec![0; count];
        for (node, &at) in layer.iter().enumerate() {
            band_of_layer[at] = self.bands[node].max(band_of_layer[at]);
        }
        let mut tops = Vec::with_capacity(count);
        let mut bands: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        let mut y = 0.0;
        for (index, &band) in band_of_layer.iter().enumerate() {
            if index == 0 || band_of_layer[index - 1] != band {
                y += self.band_gap;
            }
            tops.push(y);
            let extent = bands.entry(band).or_insert((y, y));
            extent.1 = y + self.height;
            y += self.height + self.gap;
        }
        let half = self.height / 2.0;
        let centres: Vec<Point> = (0..layer.len())
            .map(|node| (xs[node], tops[layer[node]] + half))
            .collect();
        let routes = self
            .edges
            .iter()
            .zip(routes)
            .map(|(&(from, to), bends)| {
                let mut route = vec![(centres[from].0, centres[from].1 + half)];
                for bend in bends {
                    let top = tops[chained.layer[bend]];
                    route.push((xs[bend], top));
                    route.push((xs[bend], top + self.height));
                }
                route.push((centres[to].0, centres[to].1 - half));
                route
            })
            .collect();
        Ok(Layout {
            centres,
            routes,
            bands,
            width,
            height: (y - self.gap).max(self.height),
        })
    }

    /// As early as edges and bands allow; what reads nothing stands right before its first reader.
    fn assign_layers(&self) -> Vec<usize> {
        let count = self.widths.len();
        let mut incoming = vec![Vec::new(); count];
        let mut first_reader = vec![usize::MAX; count];
        for &(from, to) in &self.edges {
            incoming[to].push(from);
        }
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&node| (self.bands[node], node));
        let mut layer = vec![0; count];
        let (mut base, mut last, mut band) = (0, 0, 0);
        for (place, &node) in order.iter().enumerate() {
            if place > 0 && self.bands[node] != band {
                base = last + 1;
            }
            band = self.bands[node];
            let earliest = incoming[node].iter().map(|&from| layer[from] + 1);
            layer[node] = earliest.fold(base, usize::max);
            last = last.max(layer[node]);
        }
        for &(from, to) in &self.edges {
            first_reader[from] = first_reader[from].min(layer[to]);
        }
        let mut bottom_of_band: BTreeMap<usize, usize> = BTreeMap::new();
        for (node, &at) in layer.iter().enumerate() {
            let bottom = bottom_of_band.entry(self.bands[node]).or_default();
            *bottom = at.max(*bottom);
        }
        for node in 0..count {
            if incoming[node].is_empty() && first_reader[node] != usize::MAX {
                let bottom = bottom_of_band[&self.bands[node]];
                layer[node] = layer[node].max((first_reader[node] - 1).min(bottom));
            }
        }
        layer
    }

    /// Bends for edges through several layers; of each edge, its bends.
    fn chain(&self, layer: &[usize]) -> Result<(Chained, Vec<Vec<usize>>), TooLarge> {
        let real = self.widths.len();
        let mut chained = Chained {
            layer: layer.to_vec(),
            widths: self.widths.clone(),
            above: vec![Vec::new(); real],
            below: vec![Vec::new(); real],
            layers: Vec::new(),
            real,
        };
        let mut bends: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut routes = Vec::with_capacity(self.edges.len());
        for &(from, to) in &self.edges {
            let mut route = Vec::new();
            let mut before = from;
            for at in layer[from] + 1..layer[to] {
                let bend = *bends.entry((from, at)).or_insert_with(|| {
                    chained.layer.push(at);
                    chained.widths.push(BEND);
                    chained.above.push(Vec::new());
                    chained.below.push(Vec::new());
                    chained.layer.len() - 1
                });
                if chained.layer.len() > LIMIT {
                    return Err(TooLarge(chained.layer.len()));
                }
                chained.join(before, bend);
                route.push(bend);
                before = bend;
            }
            chained.join(before, to);
            routes.push(route);
        }
        let count = chained.layer.iter().max().map_or(0, |&last| last + 1);
        if real > LIMIT {
            return Err(TooLarge(real));
        }
        chained.layers = vec![Vec::new(); count];
        for (node, &at) in chained.layer.iter().enumerate() {
            chained.layers[at].push(node);
        }
        Ok((chained, routes))
    }
}

impl Chained {
    fn join(&mut self, from: usize, to: usize) {
        if !self.below[from].contains(&to) {
            self.below[from].push(to);
            self.above[to].push(from);
        }
    }

    /// Puts members of layers in an order with few crossings: each near the mean place of its neighbours, sweeping down and up.
    fn order(&mut self) {
        let mut places = vec![0.0; self.widths.len()];
        let mut best = self.layers.clone();
        self.note_places(&mut places);
        let mut fewest = self.crossings(&places);
        for sweep in 0..SWEEPS {
            let count = self.layers.len();
            for step in 0..count {
                let (index, neighbours) = if sweep.is_multiple_of(2) {
                    (step, &self.above)
                } else {
                    (count - 1 - step, &self.below)
                };
                let layer = &mut self.layers[index];
                let mut keyed: Vec<(f64, usize)> = layer
                    .iter()
                    .map(|&node| (mean(&neighbours[node], &places, places[node]), node))
                    .collect();
                // Ties keep their order.
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                *layer = keyed.into_iter().map(|(_, node)| node).collect();
                for (place, &node) in layer.iter().enumerate() {
                    places[node] = to_f64(place);
                }
            }
            let now = self.crossings(&places);
            if now < fewest {
                fewest = now;
                best.clone_from(&self.layers);
            }
            if fewest == 0 {
                break;
            }
        }
        self.layers = best;
    }

    fn note_places(&self, places: &mut [f64]) {
        for layer in &self.layers {
            for (place, &node) in layer.iter().enumerate() {
                places[node] = to_f64(place);
            }
        }
    }

    /// How many pairs of edges between neighbouring layers cross, counted by inversions.
    fn crossings(&self, places: &[f64]) -> usize {
        let mut sum = 0;
        for layer in &self.layers {
            let mut targets: Vec<f64> = Vec::new();
            for &node in layer {
                let mut below: Vec<f64> = self.below[node].iter().map(|&to| places[to]).collect();
                below.sort_by(f64::total_cmp);
                for to in below {
                    let at = targets.partition_point(|&other| other <= to);
                    sum += targets.len() - at;
                    targets.insert(at, to);
                }
            }
        }
        sum
    }
}

fn mean(neighbours: &[usize], places: &[f64], own: f64) -> f64 {
    if neighbours.is_empty() {
        return own;
    }
    let sum: f64 = neighbours.iter().map(|&node| places[node]).sum();
    sum / to_f64(neighbours.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layered(bands: Vec<usize>, edges: Vec<(usize, usize)>) -> Layered {
        Layered {
            widths: vec![100.0; bands.len()],
            bands,
            edges,
            height: 30.0,
            gap: 20.0,
            band_gap: 40.0,
        }
    }

    #[test]
    fn two_branches_do_not_cross_and_a_bypass_goes_around() {
        // 0 → 1 → 3 → 5, 0 → 2 → 4 → 5, 0 → 5.
        let edges = vec![(0, 1), (0, 2), (0, 5), (1, 3), (2, 4), (3, 5), (4, 5)];
        let layout = layered(vec![0; 6], edges).lay_out().unwrap();
        let x = |node: usize| layout.centres[node].0;
        assert_eq!(x(1) < x(2), x(3) < x(4));
        // Two bends, each with two corners, between the ends.
        let bypass = &layout.routes[2];
        assert_eq!(bypass.len(), 6);
        for corner in &bypass[1..5] {
            for node in 1..5 {
                let inside = (corner.0 - x(node)).abs() < 50.0
                    && (corner.1 - layout.centres[node].1).abs() < 15.0;
                assert!(!inside, "the bypass runs through {node}");
            }
        }
    }

    #[test]
    fn a_crowd_is_refused_by_its_size() {
        // Every vertex reads all before it.
        let count = 400;
        let edges = (0..count)
            .flat_map(|from| (from + 1..count).map(move |to| (from, to)))
            .collect();
        let error = layered(vec![0; count], edges).lay_out().err().unwrap();
        assert!(error.to_string().contains("too many to draw"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn boxes_never_overlap_and_bands_never_mix(
            bands in prop::collection::vec(0usize..3, 1..60),
            pairs in prop::collection::vec((0usize..60, 0usize..60), 0..120),
        ) {
            let mut bands = bands;
            bands.sort_unstable();
            let edges: Vec<_> = pairs
                .into_iter()
                .filter(|&(from, to)| from < to && to < bands.len())
                .collect();
            let graph = layered(bands, edges);
            let layout = graph.lay_out().unwrap();
            for one in 0..layout.centres.len() {
                let ((x, y), band) = (layout.centres[one], graph.bands[one]);
                let (top, bottom) = layout.bands[&band];
                prop_assert!(top <= y - 15.0 && y + 15.0 <= bottom);
                prop_assert!(x >= 50.0 - 1e-6 && x + 50.0 <= layout.width + 1e-6);
                for other in 0..one {
                    let (ox, oy) = layout.centres[other];
                    let apart = (x - ox).abs() >= 100.0 - 1e-6 || (y - oy).abs() >= 30.0;
                    prop_assert!(apart, "{one} {other}");
                }
            }
            for (&(from, to), route) in graph.edges.iter().zip(&layout.routes) {
                prop_assert!(layout.centres[from].1 < layout.centres[to].1);
                prop_assert!(route.windows(2).all(|pair| pair[0].1 < pair[1].1 + 1e-9));
            }
        }
    }
}
