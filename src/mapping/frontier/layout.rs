//! What states with the same set of done operators have in common.

use super::state::LARGEST_PLACEMENT;
use super::tables::{NEVER, Tables};

/// The meaning of the numbers of a state, and bounds that depend on the set alone.
#[derive(Debug)]
pub(super) struct Layout {
    /// Tensors that exist and are still to be read.
    pub(super) live: Vec<usize>,
    /// `live`, then tensors that exist and leave although nobody reads them here any more.
    pub(super) tracked: Vec<usize>,
    /// Whether each tracked tensor leaves, so that its holders are part of the answer.
    pub(super) leaves: Vec<bool>,
    /// Operators whose inputs all exist.
    pub(super) ready: Vec<usize>,
    /// Operators that are to be done and have an input that exists, or need none, with their inputs as indices of `live`.
    pub(super) pending: Vec<(usize, Vec<usize>)>,
    /// Price of the work to be done, without the exit.
    pub(super) work: u64,
    pub(super) least_energy: u64,
    pub(super) remaining: u32,
    /// The lowest bit of each done operator in a placement.
    pub(super) placed: u128,
    /// Least tail of an operator to be done on processor `p` in class `c`, at `p · C + c`.
    pub(super) least_tails: Vec<u64>,
}

impl Layout {
    pub(super) fn new(tables: &Tables<'_>, done: u32) -> Self {
        let is_done = |operator: usize| done & (1 << operator) != 0;
        let exists = |tensor: usize| tables.problem.tensors[tensor].producer.is_none_or(is_done);
        let live: Vec<usize> = (0..tables.problem.tensors.len())
            .filter(|&tensor| exists(tensor) && tables.readers[tensor] & !done != 0)
            .collect();
        let mut tracked = live.clone();
        let leaves_here = |tensor: &usize| tables.exit.is_none() && tables.leaving.contains(tensor);
        tracked.extend(
            (0..tables.problem.tensors.len())
                .filter(|tensor| leaves_here(tensor) && exists(*tensor) && !live.contains(tensor)),
        );
        let to_do: Vec<usize> = (0..tables.operators).filter(|&v| !is_done(v)).collect();
        let pending = to_do
            .iter()
            .map(|&operator| {
                let slots: Vec<usize> = tables.problem.operators[operator]
                    .reads
                    .iter()
                    .filter_map(|tensor| live.iter().position(|other| other == tensor))
                    .collect();
                (operator, slots)
            })
            .filter(|(operator, slots)| {
                !slots.is_empty() || tables.problem.operators[*operator].reads.is_empty()
            })
            .collect();
        let mut least_tails = vec![NEVER; tables.processors * tables.classes];
        for &operator in &to_do {
            for processor in 0..tables.processors {
                for class in 0..tables.classes {
                    let least = &mut least_tails[processor * tables.classes + class];
                    *least = tables.tail(operator, processor, class).min(*least);
                }
            }
        }
        Self {
            leaves: tracked.iter().map(leaves_here).collect(),
            live,
            tracked,
            ready: to_do
                .iter()
                .copied()
                .filter(|&operator| tables.predecessors[operator] & !done == 0)
                .collect(),
            pending,
            work: sum(&to_do, &tables.work),
            least_energy: sum(&to_do, &tables.least_energies),
            placed: (0..tables.operators)
                .filter(|&operator| is_done(operator))
                .fold(0, |set, operator| {
                    set | 1 << (4 * (LARGEST_PLACEMENT - 1 - operator))
                }),
            remaining: u32::try_from(to_do.len()).expect("a block has few operators"),
            least_tails,
        }
    }
}

fn sum(operators: &[usize], of: &[u64]) -> u64 {
    operators
        .iter()
        .fold(0, |sum: u64, &operator| sum.saturating_add(of[operator]))
}
