//! A problem as flat tables, so that timing an operator again is a few loads and comparisons.
//!
//! All tensors that one operator hands to another are one arc: they are complete together, so the slowest move counts.
//! One more processor than there are stands for nowhere: an operator there takes no time and neither do its moves, which is what taking it out of a schedule means.

use paracompile_plan::Nanoseconds;

use super::super::Problem;
use super::super::bounds::{PRICE_UNIT, Paths, load_prices};

/// Times where an operator is not supported.
pub(super) const NEVER: u64 = u64::MAX;

/// One end of an arc as seen from the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    /// The other operator.
    pub(super) other: usize,
    /// Where the costs of the arc start in [`Terrain::costs`].
    costs: usize,
}

/// Everything about a problem that does not depend on the schedule.
pub(super) struct Terrain {
    pub(super) operators: usize,
    pub(super) processors: usize,
    /// Tables are indexed by `row << shift | processor`.
    shift: u32,
    times: Vec<u64>,
    /// When what enters has arrived.
    releases: Vec<u64>,
    /// How long outputs take home.
    ways_home: Vec<u64>,
    /// Least time from the end of an operator to the end of all that depends on it.
    least_tails: Vec<u64>,
    /// Load prices, times duration.
    priced: Vec<f64>,
    incoming: Arcs,
    outgoing: Arcs,
    costs: Vec<u64>,
    /// Operators behind which nothing follows, or whose outputs go home: one of them is the last.
    pub(super) last: Vec<usize>,
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
        let shift = (processors + 1).next_power_of_two().trailing_zeros();
        let mut terrain = Self {
            operators,
            processors,
            shift,
            times: vec![0; operators << shift],
            releases: vec![0; operators << shift],
            ways_home: vec![0; operators << shift],
            least_tails: vec![0; operators << shift],
            priced: vec![0.0; operators << shift],
            incoming: Arcs::new(0, Vec::new()),
            outgoing: Arcs::new(0, Vec::new()),
            costs: Vec::new(),
            last: Vec::new(),
            must_use: problem.must_use,
        };
        terrain.fill_operators(problem);
        terrain.fill_arcs(problem);
        terrain.last = (0..operators)
            .filter(|&v| {
                let writes = &problem.operators[v].writes;
                terrain.outgoing(v).is_empty() || writes.iter().any(|&t| problem.tensors[t].to_io)
            })
            .collect();
        terrain
    }

    #[expect(clippy::cast_precision_loss, reason = "prices guide a search")]
    fn fill_operators(&mut self, problem: &Problem) {
        let prices = load_prices(problem);
        let paths = Paths::new(problem);
        for (v, operator) in problem.operators.iter().enumerate() {
            for (p, &home) in problem.homes.iter().enumerate() {
                let at = self.at(v, p);
                self.times[at] = operator.times[p].map_or(NEVER, Nanoseconds::count);
                self.releases[at] = operator
                    .reads
                    .iter()
                    .map(|&tensor| &problem.tensors[tensor])
                    .filter(|tensor| tensor.producer.is_none() && !tensor.is_held_for(home))
                    .filter_map(|tensor| tensor.moves[tensor.held[0]][home])
                    .map(|cost| cost.time.count())
                    .max()
                    .unwrap_or(0);
                self.ways_home[at] = operator
                    .writes
                    .iter()
                    .map(|&tensor| &problem.tensors[tensor])
                    .filter(|tensor| tensor.to_io)
                    .filter_map(|tensor| tensor.moves[home][problem.io])
                    .map(|cost| cost.time.count())
                    .max()
                    .unwrap_or(0);
                if let Some(time) = operator.times[p] {
                    self.least_tails[at] = paths.tail_of(v, p);
                    let price = prices[p] as f64 / PRICE_UNIT as f64;
                    self.priced[at] = price * time.count() as f64;
                }
            }
        }
    }

    fn fill_arcs(&mut self, problem: &Problem) {
        let mut pairs: Vec<(usize, usize, usize)> = problem
            .tensors
            .iter()
            .enumerate()
            .filter_map(|(index, tensor)| tensor.producer.map(|producer| (index, producer)))
            .flat_map(|(index, producer)| {
                let readers = problem.tensors[index].readers.iter();
                readers.map(move |&reader| (producer, reader, index))
            })
            .collect();
        pairs.sort_unstable();
        let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
        let mut previous = None;
        for (from, to, tensor) in pairs {
            if previous != Some((from, to)) {
                previous = Some((from, to));
                let costs = self.costs.len();
                self.costs.resize(costs + (1 << (2 * self.shift)), 0);
                outgoing.push((from, Arc { other: to, costs }));
                incoming.push((to, Arc { other: from, costs }));
            }
            let costs = self.costs.len() - (1 << (2 * self.shift));
            for (p, &a) in problem.homes.iter().enumerate() {
                for (q, &b) in problem.homes.iter().enumerate() {
                    let cost = problem.tensors[tensor].moves[a][b];
                    let slot = &mut self.costs[costs + (p << self.shift | q)];
                    *slot = cost.map_or(0, |cost| cost.time.count()).max(*slot);
                }
            }
        }
        self.incoming = Arcs::new(self.operators, incoming);
        self.outgoing = Arcs::new(self.operators, outgoing);
    }

    /// The processor that stands for being taken out.
    pub(super) const fn nowhere(&self) -> usize {
        self.processors
    }

    const fn at(&self, operator: usize, processor: usize) -> usize {
        operator << self.shift | processor
    }

    /// Duration; [`NEVER`] where it is not supported.
    pub(super) fn time(&self, operator: usize, processor: usize) -> u64 {
        self.times[self.at(operator, processor)]
    }

    pub(super) fn release(&self, operator: usize, processor: usize) -> u64 {
        self.releases[self.at(operator, processor)]
    }

    pub(super) fn way_home(&self, operator: usize, processor: usize) -> u64 {
        self.ways_home[self.at(operator, processor)]
    }

    pub(super) fn least_tail(&self, operator: usize, processor: usize) -> u64 {
        self.least_tails[self.at(operator, processor)]
    }

    pub(super) fn priced(&self, operator: usize, processor: usize) -> f64 {
        self.priced[self.at(operator, processor)]
    }

    pub(super) fn incoming(&self, operator: usize) -> &[Arc] {
        self.incoming.of(operator)
    }

    pub(super) fn outgoing(&self, operator: usize) -> &[Arc] {
        self.outgoing.of(operator)
    }

    /// How long what the arc carries takes between two processors.
    pub(super) fn cost(&self, arc: Arc, from: usize, to: usize) -> u64 {
        self.costs[arc.costs + (from << self.shift | to)]
    }
}
