//! A scheduling instance: R|prec, comm|Cmax with one tensor an edge.

use paracompile_frontend::cost::Move;
use paracompile_plan::{Nanojoules, Nanoseconds};

use super::Decimals;
use crate::mapping::{Operator, Problem, Tensor};

/// More operators are no problem that somebody wants solved, and take memory before anything is known.
const MOST_OPERATORS: usize = 20_000;

/// Sets of processors are bits of a word in the solvers.
const MOST_PROCESSORS: usize = 16;

/// Delays of all edges together: 24 bytes each.
const MOST_DELAYS: usize = 20_000_000;

/// Operators, their durations, and delays between them; consistent and free of cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// Duration of each operator on each processor, in units of the last digit; `None` where it is not supported.
    pub durations: Vec<Vec<Option<u64>>>,
    /// Dependencies.
    pub edges: Vec<Edge>,
    /// Digits behind the point of the file's own numbers.
    pub decimals: Decimals,
    /// All operators so that none comes before one that it depends on; of those that may come next the least.
    pub(super) order: Vec<usize>,
}

/// A dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Who writes.
    pub from: usize,
    /// Who reads.
    pub to: usize,
    /// Time from the end of `from` on `p` until `to` can start on `q`.
    pub delays: Delays,
}

/// Times of a move between any two processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delays {
    /// The same between any two different ones, none on one.
    Uniform(u64),
    /// For each pair.
    Each(Vec<Vec<u64>>),
}

impl Delays {
    /// From `p` to `q`.
    pub fn between(&self, p: usize, q: usize) -> u64 {
        match self {
            Self::Uniform(delay) => {
                if p == q {
                    0
                } else {
                    *delay
                }
            }
            Self::Each(delays) => delays[p][q],
        }
    }
}

/// Why numbers of a file are no instance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceFault {
    /// Nothing to schedule.
    #[error("no operators")]
    Empty,
    /// Beyond what the solvers count in.
    #[error("{count} {what}; at most {most} are supported")]
    TooMany {
        /// How many there are.
        count: usize,
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
    /// Rows of different lengths.
    #[error("operator {operator}: {found} durations for {expected} processors")]
    Durations {
        /// Whose row.
        operator: usize,
        /// Its length.
        found: usize,
        /// The length of the first row.
        expected: usize,
    },
    /// No processor runs it.
    #[error("operators that no processor supports: {}", list(operators))]
    Unsupported {
        /// All of them.
        operators: Vec<usize>,
    },
    /// An edge of an operator that does not exist.
    #[error("edge {edge}: operator {operator} of {operators}, counted from 0")]
    Edge {
        /// Index of the edge.
        edge: usize,
        /// The operator that it names.
        operator: usize,
        /// How many there are.
        operators: usize,
    },
    /// A table of delays of another size.
    #[error("edge {edge}: delays are not a table of {processors} by {processors}")]
    Delays {
        /// Index of the edge.
        edge: usize,
        /// How many processors there are.
        processors: usize,
    },
    /// A move on the spot that takes time.
    #[error("edge {edge}: a delay of {delay} from processor {processor} to itself")]
    Standstill {
        /// Index of the edge.
        edge: usize,
        /// The processor.
        processor: usize,
        /// Its delay.
        delay: u64,
    },
    /// Operators that wait for each other.
    #[error("operators wait for each other: {}", list(operators))]
    Cycle {
        /// Those on one cycle, in its order.
        operators: Vec<usize>,
    },
}

/// A list that stays readable.
fn list(operators: &[usize]) -> String {
    const SHOWN: usize = 20;
    let mut words: Vec<String> = operators.iter().take(SHOWN).map(usize::to_string).collect();
    if operators.len() > SHOWN {
        words.push(format!("and {} more", operators.len() - SHOWN));
    }
    words.join(", ")
}

impl Instance {
    /// Checks that everything fits together.
    pub fn new(
        name: String,
        durations: Vec<Vec<Option<u64>>>,
        edges: Vec<Edge>,
        decimals: Decimals,
    ) -> Result<Self, InstanceFault> {
        let processors = durations.first().ok_or(InstanceFault::Empty)?.len();
        at_most("operators", durations.len(), MOST_OPERATORS)?;
        at_most("processors", processors, MOST_PROCESSORS)?;
        at_most(
            "delays",
            edges.len().saturating_mul(processors * processors),
            MOST_DELAYS,
        )?;
        if let Some((operator, row)) = durations
            .iter()
            .enumerate()
            .find(|(_, row)| row.len() != processors)
        {
            return Err(InstanceFault::Durations {
                operator,
                found: row.len(),
                expected: processors,
            });
        }
        let unsupported: Vec<usize> = (0..durations.len())
            .filter(|&operator| durations[operator].iter().all(Option::is_none))
            .collect();
        if !unsupported.is_empty() {
            return Err(InstanceFault::Unsupported {
                operators: unsupported,
            });
        }
        for (index, edge) in edges.iter().enumerate() {
            check_edge(index, edge, durations.len(), processors)?;
        }
        let order = order(durations.len(), &edges)?;
        Ok(Self {
            name,
            durations,
            edges,
            decimals,
            order,
        })
    }

    /// How many processors there are.
    pub fn processors(&self) -> usize {
        self.durations.first().map_or(0, Vec::len)
    }

    /// The same as the problem of a stage: a memory a processor, a tensor an edge, free ends and no energies.
    ///
    /// The problem's operators stand in topological order, which files do not promise: its operator `i` is [`Instance::operator`] of `i`.
    pub fn problem(&self) -> Problem {
        let processors = self.processors();
        let mut place = vec![0; self.order.len()];
        for (index, &operator) in self.order.iter().enumerate() {
            place[operator] = index;
        }
        let mut operators: Vec<Operator> = self
            .order
            .iter()
            .map(|&operator| Operator {
                times: self.durations[operator]
                    .iter()
                    .map(|time| time.map(Nanoseconds::new))
                    .collect(),
                energies: vec![Nanojoules::ZERO; processors],
                reads: Vec::new(),
                writes: Vec::new(),
            })
            .collect();
        let tensors = self
            .edges
            .iter()
            .enumerate()
            .map(|(index, edge)| {
                let (from, to) = (place[edge.from], place[edge.to]);
                operators[from].writes.push(index);
                operators[to].reads.push(index);
                Tensor {
                    producer: Some(from),
                    readers: vec![to],
                    moves: moves(&edge.delays, processors),
                    ..Tensor::default()
                }
            })
            .collect();
        Problem {
            homes: (0..processors).collect(),
            locations: processors,
            io: 0,
            operators,
            tensors,
            must_use: 0,
            devices: Vec::new(),
        }
    }

    /// The instance's operator behind operator `index` of its problem.
    pub fn operator(&self, index: usize) -> usize {
        self.order[index]
    }
}

fn moves(delays: &Delays, processors: usize) -> Vec<Vec<Option<Move>>> {
    let cost = |from: usize, to: usize| {
        let time = delays.between(from, to);
        (time > 0).then(|| Move {
            time: Nanoseconds::new(time),
            energy: Nanojoules::ZERO,
        })
    };
    (0..processors)
        .map(|from| (0..processors).map(|to| cost(from, to)).collect())
        .collect()
}

fn at_most(what: &'static str, count: usize, most: usize) -> Result<(), InstanceFault> {
    if count > most {
        Err(InstanceFault::TooMany { count, what, most })
    } else {
        Ok(())
    }
}

fn check_edge(
    index: usize,
    edge: &Edge,
    operators: usize,
    processors: usize,
) -> Result<(), InstanceFault> {
    for operator in [edge.from, edge.to] {
        if operator >= operators {
            return Err(InstanceFault::Edge {
                edge: index,
                operator,
                operators,
            });
        }
    }
    let Delays::Each(rows) = &edge.delays else {
        return Ok(());
    };
    if rows.len() != processors || rows.iter().any(|row| row.len() != processors) {
        return Err(InstanceFault::Delays {
            edge: index,
            processors,
        });
    }
    match (0..processors).find(|&processor| rows[processor][processor] > 0) {
        Some(processor) => Err(InstanceFault::Standstill {
            edge: index,
            processor,
            delay: rows[processor][processor],
        }),
        None => Ok(()),
    }
}

/// A topological order, or a cycle.
fn order(operators: usize, edges: &[Edge]) -> Result<Vec<usize>, InstanceFault> {
    let mut successors = vec![Vec::new(); operators];
    let mut waiting = vec![0_usize; operators];
    for edge in edges {
        successors[edge.from].push(edge.to);
        waiting[edge.to] += 1;
    }
    let mut ready: std::collections::BTreeSet<usize> = (0..operators)
        .filter(|&operator| waiting[operator] == 0)
        .collect();
    let mut order = Vec::with_capacity(operators);
    while let Some(operator) = ready.pop_first() {
        order.push(operator);
        for &next in &successors[operator] {
            waiting[next] -= 1;
            if waiting[next] == 0 {
                ready.insert(next);
            }
        }
    }
    if order.len() == operators {
        return Ok(order);
    }
    Err(InstanceFault::Cycle {
        operators: cycle(edges, &waiting),
    })
}

/// One cycle among the operators that still wait: going back from any of them never leaves them.
fn cycle(edges: &[Edge], waiting: &[usize]) -> Vec<usize> {
    let mut before = vec![None; waiting.len()];
    for edge in edges {
        if waiting[edge.from] > 0 && waiting[edge.to] > 0 {
            before[edge.to] = Some(edge.from);
        }
    }
    let mut seen = vec![None; waiting.len()];
    let mut path = Vec::new();
    let mut at = (0..waiting.len()).find(|&operator| waiting[operator] > 0);
    while let Some(operator) = at {
        if let Some(first) = seen[operator] {
            let mut found: Vec<usize> = path.split_off(first);
            found.reverse();
            return found;
        }
        seen[operator] = Some(path.len());
        path.push(operator);
        at = before[operator];
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize) -> Edge {
        Edge {
            from,
            to,
            delays: Delays::Uniform(3),
        }
    }

    fn instance(operators: usize, edges: Vec<Edge>) -> Result<Instance, InstanceFault> {
        let durations = vec![vec![Some(1), Some(2)]; operators];
        Instance::new("x".to_owned(), durations, edges, Decimals::default())
    }

    #[test]
    fn operators_may_stand_in_any_order() {
        let instance = instance(3, vec![edge(2, 0), edge(0, 1)]).unwrap();
        let problem = instance.problem();
        assert_eq!(instance.order, [2, 0, 1]);
        assert_eq!(problem.tensors[0].producer, Some(0));
        assert_eq!(problem.tensors[0].readers, [1]);
        assert_eq!(problem.tensors[1].readers, [2]);
    }

    #[test]
    fn a_cycle_is_named_in_its_order() {
        let fault = instance(
            5,
            vec![edge(0, 1), edge(1, 3), edge(3, 4), edge(4, 1), edge(4, 2)],
        );
        let Err(InstanceFault::Cycle { mut operators }) = fault else {
            panic!("{fault:?}");
        };
        let least = operators.iter().position(|&v| v == 1).unwrap();
        operators.rotate_left(least);
        assert_eq!(operators, [1, 3, 4]);
        assert!(matches!(
            instance(1, vec![edge(0, 0)]),
            Err(InstanceFault::Cycle { operators }) if operators == [0]
        ));
    }

    #[test]
    fn what_does_not_fit_together_is_named() {
        assert_eq!(
            instance(2, vec![edge(0, 2)]),
            Err(InstanceFault::Edge {
                edge: 0,
                operator: 2,
                operators: 2
            })
        );
        let standing = Edge {
            delays: Delays::Each(vec![vec![0, 1], vec![1, 4]]),
            ..edge(0, 1)
        };
        assert!(matches!(
            instance(2, vec![standing]),
            Err(InstanceFault::Standstill { delay: 4, .. })
        ));
        let none = Instance::new(
            "x".to_owned(),
            vec![vec![Some(1)], vec![None]],
            Vec::new(),
            Decimals::default(),
        );
        assert!(matches!(none, Err(InstanceFault::Unsupported { operators }) if operators == [1]));
    }
}
