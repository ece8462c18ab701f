//! A whole problem as a series of blocks between its gates, without stages or pipelines.
//!
//! A gate is comparable with every other operator and nothing passes it, so blocks between gates do not overlap in time; where the gate's tensor lies is the state between them.
//! The shortest way through the (entry, exit) matrices of the blocks is the optimum where all of it is solved.
//! Matrices start as lower bounds, and only what lies on a shortest way is solved, until all of one is: most entries never are.
//! What the exact search leaves open is handed to whoever asks, and keeps its bound.

use std::collections::BTreeSet;

use paracompile_plan::Nanoseconds;

use super::super::exact::solve_exactly;
use super::super::{
    Budget, Effort, Method, Methods, Problem, Proof, RaisedBy, Solution, heft, improve,
    lower_bound, schedule, single,
};
use super::cut_points::cut_points;

/// A mapping of a whole problem with a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The mapping.
    pub solution: Solution,
    /// No mapping takes less.
    pub bound: Nanoseconds,
    /// No mapping takes less, by integer arithmetic alone.
    pub certified: Nanoseconds,
    /// How its blocks were solved.
    pub methods: Methods,
    /// What gave the bounds of the blocks that the bound is the sum of.
    pub evidence: BTreeSet<Evidence>,
    /// How many blocks there are.
    pub blocks: usize,
}

/// What improves value or bound of a block, with one place of entry and exit, that is open.
#[derive(Clone, Copy)]
pub struct Rung<'a> {
    /// Told which turn of the block it is; the first comes behind the exact search.
    pub improve: &'a dyn Fn(&Problem, Settled, u32) -> Settled,
    /// Turns of a block.
    pub turns: u32,
}

impl std::fmt::Debug for Rung<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rung")
            .field("turns", &self.turns)
            .finish_non_exhaustive()
    }
}
/// How far a block with one place of entry and exit is solved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The best mapping.
    pub solution: Solution,
    /// What found it.
    pub found_by: Method,
    /// No mapping takes less.
    pub bound: Nanoseconds,
    /// No mapping takes less, by integer arithmetic alone.
    pub certified: Nanoseconds,
    /// What gave the bound.
    pub bound_by: Evidence,
}

/// What gave a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// All ways to run a block of one operator.
    Single,
    /// Paths, loads, and what lies between pairs of operators.
    Intervals,
    /// The exact search, or as far as it came.
    Exact,
    /// The relaxation.
    Relaxation(RaisedBy),
}

impl Evidence {
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Intervals => "intervals",
            Self::Exact => "exact",
            Self::Relaxation(by) => by.name(),
        }
    }
}

/// Solves `problem` block by block.
///
/// `None` where processors must be used, which is a condition on all blocks together, or where there is no mapping.
pub fn series(
    problem: &Problem,
    effort: Effort,
    rung: Rung<'_>,
    budget: Budget<'_>,
) -> Option<Series> {
    if problem.must_use != 0 {
        return None;
    }
    let mut blocks = blocks(problem);
    loop {
        let (bound, way) = shortest(&blocks, |cell| cell.bound)?;
        let open = way
            .iter()
            .enumerate()
            .map(|(block, &(entry, exit))| (block, entry, exit))
            .filter(|&(block, entry, exit)| {
                let cell = blocks[block].cell(entry, exit);
                let is_new = cell.turns == 0;
                is_new || cell.is_open() && cell.turns < rung.turns && !budget.should_stop()
            })
            .min_by_key(|&(block, entry, exit)| blocks[block].cell(entry, exit).turns);
        let Some((block, entry, exit)) = open else {
            // What was not asked for has no value; the shortest way by bounds has one everywhere.
            let (_, of_values) =
                shortest(&blocks, |cell| cell.known.as_ref().map(|known| known.0))?;
            let (certified, _) = shortest(&blocks, |cell| cell.certified)?;
            let (solution, methods) = joined(&blocks, &of_values);
            let cells = blocks.iter().zip(&way);
            let cells = cells.map(|(block, &(entry, exit))| block.cell(entry, exit));
            return Some(Series {
                solution,
                bound: Nanoseconds::new(bound),
                certified: Nanoseconds::new(certified),
                methods,
                evidence: cells.map(|cell| cell.bound_by).collect(),
                blocks: blocks.len(),
            });
        };
        blocks[block].solve(entry, exit, effort, rung, budget);
    }
}

/// The operators between two gates.
struct Block {
    begin: usize,
    /// The problem with what enters at each place where it can be.
    entries: Vec<Problem>,
    /// Places where the last operator can run; `None` where that does not matter.
    exits: Vec<Option<usize>>,
    /// By entry, then by exit.
    cells: Vec<Cell>,
}

/// One way into a block and one way out.
struct Cell {
    /// No mapping takes less; `None` if there is none.
    bound: Option<u64>,
    /// The same by integer arithmetic alone.
    certified: Option<u64>,
    bound_by: Evidence,
    known: Option<(u64, Solution, Method)>,
    /// How often it was worked on.
    turns: u32,
}

impl Cell {
    /// Whether value and bound are apart.
    fn is_open(&self) -> bool {
        matches!((&self.known, self.bound), (Some((value, ..)), Some(bound)) if bound < *value)
    }
}

impl Block {
    fn cell(&self, entry: usize, exit: usize) -> &Cell {
        &self.cells[entry * self.exits.len() + exit]
    }

    /// The problem of a cell.
    fn variant(&self, entry: usize, exit: usize) -> Problem {
        let mut variant = self.entries[entry].clone();
        if let (Some(place), Some(last)) = (self.exits[exit], variant.operators.last_mut()) {
            for (time, &home) in last.times.iter_mut().zip(&variant.homes) {
                if home != place {
                    *time = None;
                }
            }
        }
        variant
    }

    fn solve(
        &mut self,
        entry: usize,
        exit: usize,
        effort: Effort,
        rung: Rung<'_>,
        budget: Budget<'_>,
    ) {
        let variant = self.variant(entry, exit);
        let at = entry * self.exits.len() + exit;
        let cell = &mut self.cells[at];
        let turn = cell.turns;
        cell.turns += 1;
        let value_of = |solution: &Solution| schedule(&variant, solution).objective.makespan;
        let bound = Nanoseconds::new(cell.bound.unwrap_or(0));
        let known = match cell.known.take() {
            Some((_, solution, found_by)) => Some(Settled {
                solution,
                found_by,
                bound,
                certified: Nanoseconds::new(cell.certified.unwrap_or(0)),
                bound_by: cell.bound_by,
            }),
            None => first_settled(&variant, bound, cell.bound_by, effort, budget),
        };
        let Some(mut known) = known else {
            cell.bound = None;
            cell.certified = None;
            return;
        };
        if known.bound < value_of(&known.solution) {
            known = (rung.improve)(&variant, known, turn);
        }
        cell.bound = Some(known.bound.count());
        cell.certified = Some(known.certified.count());
        cell.bound_by = known.bound_by;
        let value = value_of(&known.solution).count();
        cell.known = Some((value, known.solution, known.found_by));
    }
}

impl Settled {
    /// A bound that rests on integer arithmetic alone.
    fn raise(&mut self, bound: Nanoseconds, by: Evidence) {
        self.certified = self.certified.max(bound);
        if bound > self.bound {
            self.bound = bound;
            self.bound_by = by;
        }
    }
}

/// What the exact search makes of a block; `None` if there is no mapping.
fn first_settled(
    variant: &Problem,
    bound: Nanoseconds,
    bound_by: Evidence,
    effort: Effort,
    budget: Budget<'_>,
) -> Option<Settled> {
    let start = heft(variant)?;
    let count = variant.operators.len();
    let (start, found_by) = if count <= LARGEST_AT_ONCE {
        (start, Method::ListSchedule)
    } else {
        let improved = improve(variant, &start, MOVES, budget);
        (improved, Method::LocalSearch)
    };
    let value_of = |solution: &Solution| schedule(variant, solution).objective.makespan;
    let value = value_of(&start);
    let bound = bound.min(value);
    let mut known = Settled {
        solution: start,
        found_by,
        bound,
        certified: bound,
        bound_by,
    };
    let exact = solve_exactly(variant, &known.solution, effort.exact_states(), budget);
    if let Some(exact) = exact {
        known.raise(exact.proof.bound(value_of(&exact.value)), Evidence::Exact);
        if exact.proof == Proof::Optimal || value_of(&exact.value) < value {
            known.found_by = Method::Exact;
        }
        known.solution = exact.value;
    }
    Some(known)
}

/// Up to this size the exact search finds good schedules faster than a local one.
const LARGEST_AT_ONCE: usize = 14;

/// Moves of the local search for a cutoff.
const MOVES: u64 = 20_000;

fn blocks(problem: &Problem) -> Vec<Block> {
    let mut places: Vec<usize> = problem.homes.clone();
    places.sort_unstable();
    places.dedup();
    let ends = ends(problem);
    let mut begin = 0;
    let mut before = vec![None];
    let mut blocks = Vec::new();
    for &end in &ends {
        let exits: Vec<Option<usize>> = if end == problem.operators.len() {
            vec![None]
        } else {
            places.iter().copied().map(Some).collect()
        };
        let mut block = Block {
            begin,
            entries: before
                .iter()
                .map(|&place| part(problem, begin, end, place))
                .collect(),
            exits: exits.clone(),
            cells: Vec::new(),
        };
        for entry in 0..block.entries.len() {
            for exit in 0..exits.len() {
                let variant = block.variant(entry, exit);
                block.cells.push(first_cell(&variant));
            }
        }
        blocks.push(block);
        begin = end;
        before = exits;
    }
    blocks
}

/// What is known of a cell without search: all of it, if there is one operator.
fn first_cell(variant: &Problem) -> Cell {
    let is_possible = variant
        .operators
        .iter()
        .all(|operator| operator.times.iter().any(Option::is_some));
    if !is_possible {
        return Cell {
            bound: None,
            certified: None,
            bound_by: Evidence::Single,
            known: None,
            turns: u32::MAX,
        };
    }
    if variant.operators.len() > 1 {
        let bound = Some(lower_bound(variant).count());
        return Cell {
            bound,
            certified: bound,
            bound_by: Evidence::Intervals,
            known: None,
            turns: 0,
        };
    }
    let best = (0..variant.homes.len())
        .filter_map(|processor| single(variant, processor))
        .map(|solution| {
            (
                schedule(variant, &solution).objective.makespan.count(),
                solution,
            )
        })
        .min_by_key(|(value, _)| *value);
    let value = best.as_ref().map(|(value, _)| *value);
    Cell {
        bound: value,
        certified: value,
        bound_by: Evidence::Single,
        known: best.map(|(value, solution)| (value, solution, Method::SingleProcessor)),
        turns: u32::MAX,
    }
}

/// The least sum of `length` over all blocks, and entry and exit of each; `None` if there is no way.
fn shortest(
    blocks: &[Block],
    length: impl Fn(&Cell) -> Option<u64>,
) -> Option<(u64, Vec<(usize, usize)>)> {
    let mut least: Vec<Option<u64>> = vec![Some(0)];
    let mut from: Vec<Vec<usize>> = Vec::new();
    for block in blocks {
        let ways: Vec<Option<(u64, usize)>> = (0..block.exits.len())
            .map(|exit| {
                (0..least.len())
                    .filter_map(|entry| {
                        Some((least[entry]? + length(block.cell(entry, exit))?, entry))
                    })
                    .min()
            })
            .collect();
        least = ways.iter().map(|way| way.map(|(sum, _)| sum)).collect();
        from.push(
            ways.iter()
                .map(|way| way.map_or(0, |(_, entry)| entry))
                .collect(),
        );
    }
    let (sum, mut exit) = least
        .iter()
        .enumerate()
        .filter_map(|(exit, sum)| Some(((*sum)?, exit)))
        .min()?;
    let mut way = Vec::new();
    for entries in from.iter().rev() {
        way.push((entries[exit], exit));
        exit = entries[exit];
    }
    way.reverse();
    Some((sum, way))
}

/// The mappings of the cells on a way, one after the other, and how they were found.
fn joined(blocks: &[Block], way: &[(usize, usize)]) -> (Solution, Methods) {
    let mut solution = Solution {
        processors: Vec::new(),
        sequence: Vec::new(),
    };
    let mut methods = Methods::default();
    for (block, &(entry, exit)) in blocks.iter().zip(way) {
        let Some((_, part, method)) = &block.cell(entry, exit).known else {
            continue;
        };
        solution.processors.extend(&part.processors);
        solution
            .sequence
            .extend(part.sequence.iter().map(|offset| block.begin + offset));
        methods = methods.with(*method);
    }
    (solution, methods)
}

/// How many blocks [`series`] finds between the gates of a problem.
pub fn block_count(problem: &Problem) -> usize {
    ends(problem).len()
}

/// Positions behind gates, and the end.
fn ends(problem: &Problem) -> Vec<usize> {
    let positions: Vec<usize> = (0..=problem.operators.len()).collect();
    cut_points(problem, &positions)
        .into_iter()
        .filter(|cut| cut.separates && cut.position > 0)
        .map(|cut| cut.position)
        .collect()
}

/// The operators from `begin` to `end`, with what comes from before them held at `place`.
fn part(problem: &Problem, begin: usize, end: usize, place: Option<usize>) -> Problem {
    let held = |index: usize| {
        let tensor = &problem.tensors[index];
        match tensor.producer {
            Some(_) => place.into_iter().collect(),
            None => tensor.held.clone(),
        }
    };
    problem.part(begin..end, held).0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::oracle::{brute_force_best, instance, random_series};
    use super::super::super::schedule;
    use super::*;

    const AS_IT_IS: Rung<'_> = Rung {
        improve: &|_, known, _| known,
        turns: 2,
    };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn blocks_in_series_have_the_optimum_of_the_whole(seed: u64, blocks in 1..4_usize, processors in 1..4_usize) {
            let whole = random_series(seed, blocks, processors);
            let optimum = brute_force_best(&whole);
            let found = series(&whole, Effort::Normal, AS_IT_IS, Budget::UNLIMITED);
            prop_assert_eq!(found.is_some(), optimum.is_some());
            if let (Some(found), Some(optimum)) = (found, optimum) {
                let makespan = schedule(&whole, &found.solution).objective.makespan;
                prop_assert_eq!(makespan, optimum.makespan);
                prop_assert_eq!(found.bound, optimum.makespan);
                prop_assert_eq!(found.certified, optimum.makespan);
            }
        }
    }

    #[test]
    fn inception_is_solved_block_by_block() {
        let (problem, known) = instance("incv3_p3");
        let found = series(&problem, Effort::Quick, AS_IT_IS, Budget::UNLIMITED).unwrap();
        assert!(found.blocks >= 20, "{} blocks", found.blocks);
        assert_eq!(found.bound.count(), known);
        assert_eq!(
            schedule(&problem, &found.solution)
                .objective
                .makespan
                .count(),
            known
        );
    }
}
