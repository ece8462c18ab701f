//! States: creation, bounds, and dominance.

use super::layout::Layout;
use super::tables::{NEVER, Tables, is_moved, mark, source_of};
use super::twins::moved;

/// States of one layer, their numbers in common vectors.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub(super) nodes: Vec<Node>,
    /// For each node: when each processor is free, then when each live tensor can be at each place.
    times: Vec<u64>,
    /// For each node: source and other holders of each tracked tensor.
    marks: Vec<u64>,
}

/// What a state has besides its times and marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) done: u32,
    pub(super) used: u16,
    /// The step that led here, and the steps before it.
    pub(super) trace: u32,
    pub(super) operator: u8,
    pub(super) makespan: u64,
    pub(super) energy: u64,
    /// Four bits for each operator, the first in the highest, so that they compare like vectors.
    pub(super) placement: u128,
    /// Least makespan of any end.
    pub(super) bound: u64,
    /// Sum of the times, an order in which dominating states come first.
    pub(super) sum: u64,
    times_at: usize,
    marks_at: usize,
}

/// How the numbers of a state follow from those of the state before.
#[derive(Debug)]
pub(super) struct Step<'a> {
    operator: usize,
    behind: &'a Layout,
    /// Tensor, index among the tracked tensors before, and index behind, if it is tracked there.
    reads: Vec<(usize, usize, Option<usize>)>,
    /// For each tracked tensor behind: its index before; `None` if the operator writes it.
    sources: Vec<Option<usize>>,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        tables: &Tables<'_>,
        operator: usize,
        before: &Layout,
        behind: &'a Layout,
    ) -> Self {
        let index = |layout: &Layout, tensor: usize| {
            layout.tracked.iter().position(|&other| other == tensor)
        };
        Self {
            operator,
            behind,
            reads: tables.problem.operators[operator]
                .reads
                .iter()
                .map(|&tensor| {
                    let from = index(before, tensor).expect("inputs of a ready operator are live");
                    (tensor, from, index(behind, tensor))
                })
                .collect(),
            sources: behind
                .tracked
                .iter()
                .map(|&tensor| index(before, tensor))
                .collect(),
        }
    }
}

impl Pool {
    /// The state before anything has happened.
    pub(super) fn root(tables: &Tables<'_>, layout: &Layout) -> Self {
        let mut pool = Self::default();
        pool.times.resize(tables.processors, 0);
        for &tensor in &layout.live {
            let source = tables.problem.tensors[tensor].held[0];
            for &place in &tables.places {
                pool.times.push(
                    tables
                        .link(tensor, source, place)
                        .map_or(0, |(time, _)| time),
                );
            }
        }
        for &tensor in &layout.tracked {
            let held = &tables.problem.tensors[tensor].held;
            let others = held[1..].iter().fold(0, |set, other| set | 1 << other);
            pool.marks.push(mark(held[0], others));
        }
        pool.nodes.push(Node {
            done: 0,
            used: 0,
            trace: u32::MAX,
            operator: 0,
            makespan: 0,
            energy: 0,
            placement: 0,
            bound: 0,
            sum: 0,
            times_at: 0,
            marks_at: 0,
        });
        pool
    }

    /// Appends the state behind `step` on `processor` from state `index` of `from`, and writes the least makespan of each class to `bounds`.
    pub(super) fn append(
        &mut self,
        tables: &Tables<'_>,
        from: &Self,
        index: usize,
        step: &Step<'_>,
        processor: usize,
        bounds: &mut [u64],
    ) {
        let node = &from.nodes[index];
        let places = tables.places.len();
        let before = &from.times[node.times_at..];
        let marks_before = &from.marks[node.marks_at..];
        let place = tables.place_of[processor];
        let home = tables.problem.homes[processor];
        let (operator, behind) = (step.operator, step.behind);

        let mut start = before[processor];
        let mut energy = node
            .energy
            .saturating_add(tables.energies[operator * tables.processors + processor]);
        for &(tensor, slot, _) in &step.reads {
            start = start.max(before[tables.processors + slot * places + place]);
            let known = marks_before[slot];
            if !is_moved(known, home)
                && let Some((_, cost)) = tables.link(tensor, source_of(known), home)
            {
                energy = energy.saturating_add(cost);
            }
        }
        let end = start.saturating_add(tables.times[operator * tables.processors + processor]);
        let mut makespan = node.makespan.max(end);

        let times_at = self.times.len();
        self.times.extend(
            before[..tables.processors]
                .iter()
                .map(|&free| free.max(start)),
        );
        self.times[times_at + processor] = end;
        let shift = 4 * (LARGEST_PLACEMENT - 1 - operator);
        let placement = self.put_in_order(
            tables,
            times_at,
            node.used,
            processor,
            (node.placement | (processor as u128) << shift, behind.placed),
        );
        let marks_at = self.marks.len();
        for (slot, source) in step.sources.iter().enumerate() {
            let tensor = behind.tracked[slot];
            let is_live = slot < behind.live.len();
            if let Some(source) = *source {
                self.marks.push(marks_before[source]);
                if is_live {
                    let at = tables.processors + source * places;
                    self.times.extend_from_slice(&before[at..at + places]);
                }
            } else {
                self.marks.push(mark(home, 0));
                if is_live {
                    self.times.extend(tables.places.iter().map(|&to| {
                        let way = tables.link(tensor, home, to).map_or(0, |(time, _)| time);
                        end.saturating_add(way)
                    }));
                }
            }
        }
        for &(tensor, slot, behind) in &step.reads {
            let is_new = !is_moved(marks_before[slot], home)
                && tables
                    .link(tensor, source_of(marks_before[slot]), home)
                    .is_some();
            if let (Some(behind), true) = (behind, is_new) {
                self.marks[marks_at + behind] |= 1 << home;
            }
        }
        for &tensor in &tables.problem.operators[operator].writes {
            if !tables.problem.tensors[tensor].to_io {
                continue;
            }
            if let Some((time, cost)) = tables.link(tensor, home, tables.problem.io) {
                makespan = makespan.max(end.saturating_add(time));
                energy = energy.saturating_add(cost);
                if let Some(slot) = behind.tracked.iter().position(|&other| other == tensor) {
                    self.marks[marks_at + slot] |= 1 << tables.problem.io;
                }
            }
        }
        self.wait_for_processors(tables, times_at);
        lower_bounds(tables, behind, makespan, &self.times[times_at..], bounds);
        let bound = bounds.iter().copied().min().unwrap_or(NEVER);
        let makespan = makespan.max(if behind.remaining == 0 { 0 } else { bound });
        self.nodes.push(Node {
            done: node.done | 1 << operator,
            used: node.used | 1 << processor,
            trace: node.trace,
            operator: u8::try_from(operator).expect("a block has few operators"),
            makespan,
            energy,
            placement,
            bound,
            sum: self.times[times_at..]
                .iter()
                .fold(makespan, |sum, &time| sum.saturating_add(time)),
            times_at,
            marks_at,
        });
    }

    /// Moves a processor that has just got an operator to its place among those that are alike, and hands back the placement under the new names.
    ///
    /// Those in use come first, and those that are free later before those that are free sooner; the others are in this order already, and it can only move forward.
    fn put_in_order(
        &mut self,
        tables: &Tables<'_>,
        times_at: usize,
        used_before: u16,
        processor: usize,
        (placement, placed): (u128, u128),
    ) -> u128 {
        let Some((group, place)) = tables.twins.of(processor) else {
            return placement;
        };
        let end = self.times[times_at + processor];
        let is_before =
            |&other: &usize| used_before & (1 << other) != 0 && self.times[times_at + other] >= end;
        let target = group[..place]
            .iter()
            .take_while(|other| is_before(other))
            .count();
        if target == place {
            return placement;
        }
        for at in (target..place).rev() {
            self.times[times_at + group[at + 1]] = self.times[times_at + group[at]];
        }
        self.times[times_at + group[target]] = end;
        let behind = (target..place).map(|at| (group[at], group[at + 1]));
        moved(
            placement,
            placed,
            behind.chain([(processor, group[target])]),
        )
    }

    /// Whether a processor stands as another one before it that is alike, so that it need not be tried.
    pub(super) fn stands_alike(&self, tables: &Tables<'_>, index: usize, processor: usize) -> bool {
        let Some((group, place @ 1..)) = tables.twins.of(processor) else {
            return false;
        };
        let node = &self.nodes[index];
        let other = group[place - 1];
        (node.used >> other & 1) == (node.used >> processor & 1)
            && self.times[node.times_at + other] == self.times[node.times_at + processor]
    }

    /// A tensor that arrives before any processor there is free arrives early enough.
    fn wait_for_processors(&mut self, tables: &Tables<'_>, times_at: usize) {
        let (free, arrivals) = self.times[times_at..].split_at_mut(tables.processors);
        for (place, processors) in tables.at_place.iter().enumerate() {
            let first = processors.iter().map(|&p| free[p]).min().unwrap_or(0);
            let mut at = place;
            while at < arrivals.len() {
                arrivals[at] = arrivals[at].max(first);
                at += tables.places.len();
            }
        }
    }

    /// Removes the last state.
    pub(super) fn pop(&mut self) {
        if let Some(node) = self.nodes.pop() {
            self.times.truncate(node.times_at);
            self.marks.truncate(node.marks_at);
        }
    }

    /// Copies a state of `from`, with a new trace.
    pub(super) fn copy(
        &mut self,
        tables: &Tables<'_>,
        from: &Self,
        index: usize,
        layout: &Layout,
        trace: u32,
    ) {
        let node = from.nodes[index];
        let numbers = tables.processors + layout.live.len() * tables.places.len();
        let times_at = self.times.len();
        let marks_at = self.marks.len();
        self.times
            .extend_from_slice(&from.times[node.times_at..node.times_at + numbers]);
        self.marks
            .extend_from_slice(&from.marks[node.marks_at..node.marks_at + layout.tracked.len()]);
        self.nodes.push(Node {
            trace,
            times_at,
            marks_at,
            ..node
        });
    }

    /// Source and other holders of each tracked tensor.
    pub(super) fn marks(&self, index: usize, layout: &Layout) -> &[u64] {
        let at = self.nodes[index].marks_at;
        &self.marks[at..at + layout.tracked.len()]
    }

    /// Whether whatever follows state `b` can follow state `a` and is no worse there; both have the same set of done operators.
    pub(super) fn dominates(
        &self,
        tables: &Tables<'_>,
        layout: &Layout,
        a: usize,
        b: usize,
        with_energy: bool,
    ) -> bool {
        let (first, second) = (&self.nodes[a], &self.nodes[b]);
        // How many lanes of a device are in use is asked by nobody.
        let is_missing = second.used & !first.used & tables.first_lanes != 0;
        if is_missing || first.makespan > second.makespan {
            return false;
        }
        if with_energy && first.energy > second.energy {
            return false;
        }
        let numbers = tables.processors + layout.live.len() * tables.places.len();
        let times = &self.times[first.times_at..first.times_at + numbers];
        let others = &self.times[second.times_at..second.times_at + numbers];
        if times.iter().zip(others).any(|(time, other)| time > other) {
            return false;
        }
        let marks = self.marks(a, layout);
        let other_marks = self.marks(b, layout);
        let leave_alike = layout
            .leaves
            .iter()
            .zip(marks.iter().zip(other_marks))
            .all(|(leaves, (mark, other))| !leaves || mark == other);
        if !leave_alike {
            return false;
        }
        if !with_energy {
            return true;
        }
        // Reading where the other state reads, this one may have to pay for moves that the other has paid for.
        let mut energy = first.energy;
        for ((&tensor, &mark), &other) in layout.live.iter().zip(marks).zip(other_marks) {
            if mark == other {
                continue;
            }
            for &place in &tables.places {
                let own = price(tables, tensor, mark, place);
                energy =
                    energy.saturating_add(own.saturating_sub(price(tables, tensor, other, place)));
            }
        }
        energy < second.energy || (energy == second.energy && first.placement <= second.placement)
    }
}

/// Bits of a placement hold this many operators.
pub(super) const LARGEST_PLACEMENT: usize = 32;

/// Energy to be paid when a tensor is read at `place` next.
fn price(tables: &Tables<'_>, tensor: usize, mark: u64, place: usize) -> u64 {
    if is_moved(mark, place) {
        return 0;
    }
    tables
        .link(tensor, source_of(mark), place)
        .map_or(0, |(_, energy)| energy)
}

/// Least makespan of any completion, for each class: the longest path from what is there, and the priced work on all processors.
fn lower_bounds(
    tables: &Tables<'_>,
    layout: &Layout,
    makespan: u64,
    times: &[u64],
    bounds: &mut [u64],
) {
    bounds.fill(makespan);
    if layout.remaining == 0 {
        return;
    }
    let places = tables.places.len();
    let mut least = [NEVER; 16];
    for (operator, slots) in &layout.pending {
        let least = &mut least[..tables.classes];
        least.fill(NEVER);
        for processor in tables.supported(*operator) {
            let place = tables.place_of[processor];
            let start = slots.iter().fold(times[processor], |start, slot| {
                start.max(times[tables.processors + slot * places + place])
            });
            for (class, least) in least.iter_mut().enumerate() {
                let end = start.saturating_add(tables.tail(*operator, processor, class));
                *least = end.min(*least);
            }
        }
        for (bound, &least) in bounds.iter_mut().zip(least.iter()) {
            *bound = least.max(*bound);
        }
    }
    let priced = times[..tables.processors]
        .iter()
        .zip(&tables.prices)
        .fold(layout.work, |sum, (&time, &price)| {
            sum.saturating_add(time.saturating_mul(price))
        });
    let load = priced.div_ceil(tables.price_sum);
    for (bound, &tail) in bounds.iter_mut().zip(&tables.exit_tails) {
        *bound = load.saturating_add(tail).max(*bound);
    }
}

/// Least end of anything on each unused processor of `mask`, in `class`.
pub(super) fn covering_bound(
    tables: &Tables<'_>,
    layout: &Layout,
    pool: &Pool,
    index: usize,
    mask: u16,
    class: usize,
) -> u64 {
    let node = &pool.nodes[index];
    let missing = mask & !node.used;
    if missing == 0 {
        return 0;
    }
    if missing.count_ones() > layout.remaining {
        return NEVER;
    }
    (0..tables.processors)
        .filter(|processor| missing & (1 << processor) != 0)
        .map(|processor| {
            let free = pool.times[node.times_at + processor];
            free.saturating_add(layout.least_tails[processor * tables.classes + class])
        })
        .max()
        .unwrap_or(0)
}
