//! A problem as the search sees it: durations, delays of edges, heads and tails; it can be read backwards.

use paracompile_plan::Nanoseconds;

use super::super::Problem;
use super::prices::{Prices, priced};

/// Later than anything; the sum of three fits a word.
pub(super) const NEVER: u32 = 1 << 30;

/// Times below this are words; larger problems are for other methods.
const LARGEST_TIME: u64 = 1 << 29;

/// One operator reads what another writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Where its delays start in [`Network::delays`].
    delays: usize,
}

/// Tables of one problem, in one direction of time.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub(super) operators: usize,
    pub(super) processors: usize,
    /// Duration of `v` on `p` at `v · P + p`; [`NEVER`] where it is not supported.
    pub(super) times: Vec<u32>,
    /// When what enters has arrived for `v` on `p`.
    pub(super) heads: Vec<u32>,
    /// How long outputs of `v` on `p` take home.
    ways_home: Vec<u32>,
    /// Least time from the end of `v` on `p` to the end of everything.
    pub(super) rests: Vec<u32>,
    pub(super) edges: Vec<Edge>,
    delays: Vec<u32>,
    pub(super) incoming: Vec<Vec<usize>>,
    pub(super) outgoing: Vec<Vec<usize>>,
    /// All operators that must be done before `v`, as a bit mask.
    pub(super) before: Vec<u64>,
    pub(super) behind: Vec<u64>,
    /// `losses[(v · P + p) · P + q]`: how much later than from `q` what `v` writes can arrive from `p`, over all destinations; negative if it is always earlier.
    pub(super) losses: Vec<i64>,
    /// Prices for the whole and for its thirds.
    pub(super) prices: Vec<Prices>,
    pub(super) must_use: u16,
    /// For each processor the first lane of its device.
    pub(super) device_of: Vec<usize>,
}

impl Network {
    /// `None` if the problem is too large for words.
    pub(super) fn new(problem: &Problem) -> Option<Self> {
        let (operators, processors) = (problem.operators.len(), problem.homes.len());
        if operators > 64 || processors > 16 {
            return None;
        }
        let mut network = Self {
            operators,
            processors,
            times: vec![NEVER; operators * processors],
            heads: vec![0; operators * processors],
            ways_home: vec![0; operators * processors],
            rests: Vec::new(),
            edges: Vec::new(),
            delays: Vec::new(),
            incoming: vec![Vec::new(); operators],
            outgoing: vec![Vec::new(); operators],
            before: Vec::new(),
            behind: Vec::new(),
            losses: Vec::new(),
            prices: Vec::new(),
            must_use: problem.must_use,
            device_of: (0..processors).map(|p| problem.device(p)).collect(),
        };
        for v in 0..operators {
            for p in 0..processors {
                network.fill_operator(problem, v, p)?;
            }
        }
        network.fill_edges(problem)?;
        network.fill_derived();
        Some(network)
    }

    fn fill_operator(&mut self, problem: &Problem, v: usize, p: usize) -> Option<()> {
        let (operator, home) = (&problem.operators[v], problem.homes[p]);
        let at = v * self.processors + p;
        if let Some(time) = operator.times[p] {
            self.times[at] = word(time)?;
        }
        for &tensor in &operator.reads {
            let tensor = &problem.tensors[tensor];
            if tensor.producer.is_none()
                && !tensor.is_held_for(home)
                && let Some(cost) = tensor.moves[tensor.held[0]][home]
            {
                self.heads[at] = word(cost.time)?.max(self.heads[at]);
            }
        }
        for &tensor in &operator.writes {
            let tensor = &problem.tensors[tensor];
            if tensor.to_io
                && let Some(cost) = tensor.moves[home][problem.io]
            {
                self.ways_home[at] = word(cost.time)?.max(self.ways_home[at]);
            }
        }
        Some(())
    }

    fn fill_edges(&mut self, problem: &Problem) -> Option<()> {
        for (from, to, tensor) in problem.dependencies() {
            if self
                .edges
                .last()
                .is_none_or(|edge| (edge.from, edge.to) != (from, to))
            {
                self.edges.push(Edge {
                    from,
                    to,
                    delays: self.delays.len(),
                });
                self.delays
                    .resize(self.delays.len() + self.processors * self.processors, 0);
            }
            let at = self.delays.len() - self.processors * self.processors;
            for (p, &a) in problem.homes.iter().enumerate() {
                for (q, &b) in problem.homes.iter().enumerate() {
                    if let Some(cost) = problem.tensors[tensor].moves[a][b] {
                        let slot = &mut self.delays[at + p * self.processors + q];
                        *slot = word(cost.time)?.max(*slot);
                    }
                }
            }
        }
        Some(())
    }

    /// The same problem with time running backwards.
    pub(super) fn reversed(&self) -> Self {
        let (n, m) = (self.operators, self.processors);
        let rows =
            |table: &[u32]| -> Vec<u32> { table.chunks(m).rev().flatten().copied().collect() };
        let mut reversed = Self {
            times: rows(&self.times),
            heads: rows(&self.ways_home),
            ways_home: rows(&self.heads),
            edges: Vec::new(),
            delays: Vec::new(),
            incoming: vec![Vec::new(); n],
            outgoing: vec![Vec::new(); n],
            ..self.clone()
        };
        for edge in &self.edges {
            let at = reversed.delays.len();
            reversed.edges.push(Edge {
                from: n - 1 - edge.to,
                to: n - 1 - edge.from,
                delays: at,
            });
            for p in 0..m {
                for q in 0..m {
                    reversed.delays.push(self.delays[edge.delays + q * m + p]);
                }
            }
        }
        reversed.fill_derived();
        reversed
    }

    fn fill_derived(&mut self) {
        for (index, edge) in self.edges.iter().enumerate() {
            self.outgoing[edge.from].push(index);
            self.incoming[edge.to].push(index);
        }
        self.before = vec![0; self.operators];
        self.behind = vec![0; self.operators];
        for v in 0..self.operators {
            for &edge in &self.incoming[v] {
                let from = self.edges[edge].from;
                self.before[v] |= self.before[from] | 1 << from;
            }
        }
        for v in (0..self.operators).rev() {
            for &edge in &self.outgoing[v] {
                let to = self.edges[edge].to;
                self.behind[v] |= self.behind[to] | 1 << to;
            }
        }
        self.fill_losses();
        self.fill_rests();
    }

    fn fill_losses(&mut self) {
        let m = self.processors;
        self.losses = vec![0; self.operators * m * m];
        for v in 0..self.operators {
            for p in 0..m {
                for q in 0..m {
                    let home = |p: usize| i64::from(self.ways_home[v * m + p]);
                    let mut loss = home(p) - home(q);
                    for &edge in &self.outgoing[v] {
                        let delay = |from: usize, to: usize| {
                            i64::from(self.delays(self.edges[edge])[from * m + to])
                        };
                        for to in 0..m {
                            loss = loss.max(delay(p, to) - delay(q, to));
                        }
                    }
                    self.losses[(v * m + p) * m + q] = loss;
                }
            }
        }
    }

    /// Longest ways to the end, raised by the priced load of what lies behind and between.
    fn fill_rests(&mut self) {
        let m = self.processors;
        let all = mask_of(self.operators);
        let third = |part: usize| {
            let (start, end) = (self.operators * part / 3, self.operators * (part + 1) / 3);
            mask_of(end) & !mask_of(start)
        };
        self.prices = [all, third(0), third(1), third(2)]
            .into_iter()
            .map(|set| Prices::of(self, set))
            .collect();
        let load = |set: u64| {
            self.prices
                .iter()
                .map(|prices| priced(self, prices, set).div_ceil(prices.sum))
                .max()
                .unwrap_or(0)
        };
        let mut rests = vec![0_u32; self.operators * m];
        for v in (0..self.operators).rev() {
            let mut by_load = load(self.behind[v]);
            for w in members(self.behind[v]) {
                let last = (0..m)
                    .map(|q| u64::from(self.times[w * m + q]) + u64::from(rests[w * m + q]))
                    .min()
                    .unwrap_or(0);
                by_load = by_load.max(last + load(self.behind[v] & self.before[w]));
            }
            let by_load = u32::try_from(by_load).map_or(NEVER, |load| load.min(NEVER));
            for p in 0..m {
                let mut rest = self.ways_home[v * m + p].max(by_load);
                for (index, &first) in self.outgoing[v].iter().enumerate() {
                    for &second in &self.outgoing[v][index + 1..] {
                        rest =
                            rest.max(self.fork(&rests, p, self.edges[first], self.edges[second]));
                    }
                }
                for &edge in &self.outgoing[v] {
                    let edge = self.edges[edge];
                    let delays = &self.delays(edge)[p * m..(p + 1) * m];
                    let next = (0..m)
                        .map(|q| {
                            let at = edge.to * m + q;
                            delays[q]
                                .saturating_add(self.times[at])
                                .saturating_add(rests[at])
                        })
                        .min()
                        .unwrap_or(0);
                    rest = rest.max(next);
                }
                rests[v * m + p] = rest.min(NEVER);
            }
        }
        self.rests = rests;
    }

    /// Least time from the end of an operator on `p` to the end of all behind two of its readers: on one processor they wait for each other, on two one of them waits for a move.
    fn fork(&self, rests: &[u32], p: usize, first: Edge, second: Edge) -> u32 {
        let m = self.processors;
        let start = |edge: Edge, q: usize| self.delays(edge)[p * m + q];
        let from = |edge: Edge, q: usize, start: u32| {
            let at = edge.to * m + q;
            let end = start.saturating_add(self.times[at]);
            (end, end.saturating_add(rests[at]))
        };
        // The least of two processors that differ, and of one for both.
        let mut least = u32::MAX;
        for q in 0..m {
            let (end, over) = from(first, q, start(first, q));
            let (other_end, other_over) = from(second, q, start(second, q));
            let behind = from(second, q, start(second, q).max(end)).1;
            let other_behind = from(first, q, start(first, q).max(other_end)).1;
            least = least
                .min(over.max(behind))
                .min(other_over.max(other_behind));
            for other in (0..m).filter(|&other| other != q) {
                least = least.min(over.max(from(second, other, start(second, other)).1));
            }
        }
        least.min(NEVER)
    }

    /// `delays[p · P + q]` of an edge.
    pub(super) fn delays(&self, edge: Edge) -> &[u32] {
        &self.delays[edge.delays..edge.delays + self.processors * self.processors]
    }

    /// How long outputs of `v` take home from each processor.
    pub(super) fn ways_home(&self, v: usize) -> &[u32] {
        &self.ways_home[v * self.processors..(v + 1) * self.processors]
    }

    /// When everything of `v` on `p` is over, if it ends at `end`.
    pub(super) fn over(&self, v: usize, p: usize, end: u32) -> u32 {
        end + self.ways_home[v * self.processors + p]
    }
}

/// The first `count` operators.
pub(super) fn mask_of(count: usize) -> u64 {
    if count >= 64 {
        u64::MAX
    } else {
        (1 << count) - 1
    }
}

/// Elements of a bit mask, ascending.
pub(super) fn members(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let least = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(least)
    })
}

fn word(time: Nanoseconds) -> Option<u32> {
    let time = time.count();
    (time < LARGEST_TIME).then(|| u32::try_from(time).ok())?
}
