//! Who waits for whom: edges between operators, their transitive closure, and what waiting costs.

use crate::mapping::Problem;

/// All tensors from one operator to another: they arrive together when the slowest has.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) tensors: Vec<usize>,
}

/// The precedence relation of a problem.
#[derive(Clone, Debug)]
pub(crate) struct Precedence {
    pub(crate) edges: Vec<Edge>,
    /// Edges into each operator, as indices.
    pub(crate) incoming: Vec<Vec<usize>>,
    /// Edges out of each operator.
    pub(crate) outgoing: Vec<Vec<usize>>,
    /// `precedes[i][j]`: a path leads from `i` to `j`.
    pub(crate) precedes: Vec<Vec<bool>>,
}

impl Precedence {
    pub(crate) fn of(problem: &Problem) -> Self {
        let count = problem.operators.len();
        let mut edges: Vec<Edge> = Vec::new();
        let mut incoming = vec![Vec::new(); count];
        let mut outgoing = vec![Vec::new(); count];
        let mut precedes = vec![vec![false; count]; count];
        for (to, operator) in problem.operators.iter().enumerate() {
            for &tensor in &operator.reads {
                let Some(from) = problem.tensors[tensor].producer else {
                    continue;
                };
                let known = incoming[to]
                    .iter()
                    .copied()
                    .find(|&edge: &usize| edges[edge].from == from);
                if let Some(edge) = known {
                    edges[edge].tensors.push(tensor);
                    continue;
                }
                incoming[to].push(edges.len());
                outgoing[from].push(edges.len());
                edges.push(Edge {
                    from,
                    to,
                    tensors: vec![tensor],
                });
                // Operators are in topological order, so the ancestors of `from` are complete.
                for ancestors in &mut precedes {
                    ancestors[to] |= ancestors[from];
                }
                precedes[from][to] = true;
            }
        }
        Self {
            edges,
            incoming,
            outgoing,
            precedes,
        }
    }

    /// Whether the order of two operators is given.
    pub(crate) fn comparable(&self, i: usize, j: usize) -> bool {
        self.precedes[i][j] || self.precedes[j][i]
    }

    /// Pairs of operators whose order is open, the smaller index first.
    pub(crate) fn open_pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let count = self.incoming.len();
        (0..count).flat_map(move |i| {
            (i + 1..count)
                .filter(move |&j| !self.comparable(i, j))
                .map(move |j| (i, j))
        })
    }
}

/// Delay on an edge from a producer at location `a` to a reader at location `b`.
pub(crate) fn edge_delay(problem: &Problem, edge: &Edge, a: usize, b: usize) -> u64 {
    edge.tensors
        .iter()
        .map(|&tensor| move_time(problem, tensor, a, b))
        .max()
        .unwrap_or(0)
}

/// Duration of a move of a tensor, zero where nothing moves.
pub(crate) fn move_time(problem: &Problem, tensor: usize, a: usize, b: usize) -> u64 {
    problem.tensors[tensor].moves[a][b].map_or(0, |cost| cost.time.count())
}

/// Where a tensor that enters must be moved from to be read at `home`; `None` where a copy is there or the first holder fits.
pub(crate) fn entry_origin(problem: &Problem, tensor: usize, home: usize) -> Option<usize> {
    let entering = &problem.tensors[tensor];
    if entering.is_held_for(home) {
        None
    } else {
        entering.held.first().copied()
    }
}

/// When the tensors that enter and that `operator` reads have arrived at `home`.
pub(crate) fn entry_arrival(problem: &Problem, operator: usize, home: usize) -> u64 {
    problem.operators[operator]
        .reads
        .iter()
        .filter(|&&tensor| problem.tensors[tensor].producer.is_none())
        .filter_map(|&tensor| {
            entry_origin(problem, tensor, home).map(|from| move_time(problem, tensor, from, home))
        })
        .max()
        .unwrap_or(0)
}

/// How long the outputs of `operator` take to `io` after its end, where it runs at `home`.
pub(crate) fn exit_delay(problem: &Problem, operator: usize, home: usize) -> u64 {
    problem.operators[operator]
        .writes
        .iter()
        .filter(|&&tensor| problem.tensors[tensor].to_io)
        .map(|&tensor| move_time(problem, tensor, home, problem.io))
        .max()
        .unwrap_or(0)
}
