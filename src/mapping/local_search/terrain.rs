//! A problem as flat tables, so that timing an operator again is a few loads and comparisons.
//!
//! All tensors that one operator hands to another are one arc: they are complete together, so the slowest move counts.

use std::collections::BTreeMap;

use paracompile_plan::Nanoseconds;

use super::super::Problem;
use super::super::bounds::{PRICE_UNIT, Paths, load_prices};

/// Times where an operator is not supported.
pub(super) const NEVER: u64 = u64::MAX;
/// Longer times are taken for this, so that paths of all operators and moves need no check for overflow.
const fn longest(operators: usize) -> u64 {
    (1 << 63) / (2 * (operators as u64 + 1))
}

/// One end of an arc as seen from the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    /// The other operator.
    pub(super) other: u32,
    /// Where the costs of the arc start in [`Terrain::costs`].
    costs: u32,
}

/// An operator on a processor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct At {
    /// Duration; [`NEVER`] where it is not supported.
    pub(super) time: u64,
    /// When what enters has arrived.
    pub(super) release: u64,
    /// How long outputs take home.
    pub(super) way_home: u64,
    /// Least time from its end to the end of all that depends on it.
    pub(super) least_tail: u64,
}

/// Everything about a problem that does not depend on the schedule.
pub(super) struct Terrain {
    pub(super) operators: usize,
    pub(super) processors: usize,
    /// Tables are indexed by `row << shift | processor`.
    shift: u32,
    table: Vec<At>,
    /// Load prices, times duration.
    priced: Vec<f64>,
    incoming: Arcs,
    outgoing: Arcs,
    costs: Vec<u64>,
    /// Operators that nothing precedes, or that read what enters: one of them is the first.
    pub(super) first: Vec<u32>,
    /// Operators behind which nothing follows, or whose outputs go home: one of them is the last.
    pub(super) last: Vec<u32>,
    pub(super) must_use: u16,
}

/// Arcs by operator.
struct Arcs {
    starts: Vec<usize>,
    arcs: Vec<Arc>,
}

impl Arcs {
    fn of(&self, operator: usize) -> &[Arc] {
        &self.arcs[self.starts[operator]..self.starts[operator + 1]]
    }

    /// Groups `(operator, arc)` by operator.
    fn new(operators: usize, mut pairs: Vec<(usize, Arc)>) -> Self {
        pairs.sort_by_key(|(operator, arc)| (*operator, arc.other));
        let starts = (0..=operators)
            .map(|operator| pairs.partition_point(|(other, _)| *other < operator))
            .collect();
        Self {
            starts,
            arcs: pairs.into_iter().map(|(_, arc)| arc).collect(),
        }
    }
}

impl Terrain {
    pub(super) fn new(problem: &Problem) -> Self {
        let (operators, processors) = (problem.operators.len(), problem.homes.len());
        let shift = processors.next_power_of_two().trailing_zeros();
        let mut terrain = Self {
            operators,
            processors,
            shift,
            table: vec![At::default(); operators << shift],
            priced: vec![0.0; operators << shift],
            incoming: Arcs::new(0, Vec::new()),
            outgoing: Arcs::new(0, Vec::new()),
            costs: Vec::new(),
            first: Vec::new(),
            last: Vec::new(),
            must_use: problem.must_use,
        };
        terrain.fill_operators(problem);
        terrain.fill_arcs(problem);
        let enters = |tensor: &usize| problem.tensors[*tensor].producer.is_none();
        let goes_home = |tensor: &usize| problem.tensors[*tensor].to_io;
        for (v, operator) in problem.operators.iter().enumerate() {
            if terrain.incoming(v).is_empty() || operator.reads.iter().any(enters) {
                terrain.first.push(index(v));
            }
            if terrain.outgoing(v).is_empty() || operator.writes.iter().any(goes_home) {
                terrain.last.push(index(v));
            }
        }
        terrain
    }

    #[expect(clippy::cast_precision_loss, reason = "prices guide a search")]
    fn fill_operators(&mut self, problem: &Problem) {
        let prices = load_prices(problem);
        let paths = Paths::new(problem);
        let longest = longest(self.operators);
        let capped = |time: Nanoseconds| time.count().min(longest);
        for (v, operator) in problem.operators.iter().enumerate() {
            for (p, &home) in problem.homes.iter().enumerate() {
                let entering = operator
                    .reads
                    .iter()
                    .map(|&tensor| &problem.tensors[tensor])
                    .filter(|tensor| tensor.producer.is_none() && !tensor.is_held_for(home))
                    .filter_map(|tensor| tensor.moves[tensor.held[0]][home]);
                let leaving = operator
                    .writes
                    .iter()
                    .map(|&tensor| &problem.tensors[tensor])
                    .filter(|tensor| tensor.to_io)
                    .filter_map(|tensor| tensor.moves[home][problem.io]);
                let row = v << self.shift | p;
                let at = &mut self.table[row];
                at.time = operator.times[p].map_or(NEVER, capped);
                at.release = entering.map(|cost| capped(cost.time)).max().unwrap_or(0);
                at.way_home = leaving.map(|cost| capped(cost.time)).max().unwrap_or(0);
                if let Some(time) = operator.times[p] {
                    at.least_tail = paths.tail_of(v, p).min(longest);
                    let price = prices[p] as f64 / PRICE_UNIT as f64;
                    self.priced[row] = price * time.count() as f64;
                }
            }
        }
    }

    fn fill_arcs(&mut self, problem: &Problem) {
        let longest = longest(self.operators);
        let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
        let mut known: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
        for tensors in problem
            .dependencies()
            .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        {
            let (from, to, _) = tensors[0];
            let mut matrix = vec![0; 1 << (2 * self.shift)];
            for &(_, _, tensor) in tensors {
                for (p, &a) in problem.homes.iter().enumerate() {
                    for (q, &b) in problem.homes.iter().enumerate() {
                        let cost = problem.tensors[tensor].moves[a][b];
                        let slot = &mut matrix[p << self.shift | q];
                        *slot = cost
                            .map_or(0, |cost| cost.time.count().min(longest))
                            .max(*slot);
                    }
                }
            }
            // Tensors of one size share their costs, so that they stay in the cache.
            let costs = *known.entry(matrix).or_insert_with_key(|matrix| {
                let start = index(self.costs.len());
                self.costs.extend(matrix);
                start
            });
            outgoing.push((
                from,
                Arc {
                    other: index(to),
                    costs,
                },
            ));
            incoming.push((
                to,
                Arc {
                    other: index(from),
                    costs,
                },
            ));
        }
        self.incoming = Arcs::new(self.operators, incoming);
        self.outgoing = Arcs::new(self.operators, outgoing);
    }

    pub(super) fn at(&self, operator: usize, processor: u32) -> &At {
        &self.table[operator << self.shift | processor as usize]
    }

    /// Duration; [`NEVER`] where it is not supported.
    pub(super) fn time(&self, operator: usize, processor: usize) -> u64 {
        self.table[operator << self.shift | processor].time
    }

    pub(super) fn priced(&self, operator: usize, processor: usize) -> f64 {
        self.priced[operator << self.shift | processor]
    }

    pub(super) fn incoming(&self, operator: usize) -> &[Arc] {
        self.incoming.of(operator)
    }

    pub(super) fn outgoing(&self, operator: usize) -> &[Arc] {
        self.outgoing.of(operator)
    }

    /// How long what the arc carries takes between two processors.
    pub(super) fn cost(&self, arc: Arc, from: u32, to: u32) -> u64 {
        self.costs[arc.costs as usize + ((from as usize) << self.shift | to as usize)]
    }
}

/// Indices of operators, places and processors are kept small.
pub(super) fn index(large: usize) -> u32 {
    u32::try_from(large).expect("problems have fewer than four billion operators and costs")
}
