//! A complete schedule that is changed in place: ends, tails and orders are repaired only where something changed.
//!
//! Operators whose times may have changed are bits in the topological order, so that each is timed again at most once and what keeps its time stops the repair.
//! Nothing is allocated by a change.

use super::super::Solution;
use super::terrain::{NEVER, Terrain};

/// A place for an operator that is taken out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Insertion {
    pub(super) processor: usize,
    /// How many operators of the processor stand before it.
    pub(super) position: usize,
    /// Makespan with it there.
    pub(super) makespan: u64,
}

/// Processors, order and times.
pub(super) struct State<'a> {
    pub(super) terrain: &'a Terrain,
    /// Processor of each operator; [`Terrain::nowhere`] for one that is taken out.
    pub(super) processors: Vec<usize>,
    /// Topological for arcs of the graph and of the sequences.
    pub(super) order: Vec<usize>,
    /// Index of each operator in `order`.
    places: Vec<usize>,
    /// Operators of each processor, by place.
    pub(super) sequences: Vec<Vec<usize>>,
    /// Neighbours in the sequence; the number of operators stands for none.
    before: Vec<usize>,
    after: Vec<usize>,
    /// Earliest end of each operator, and zero for none.
    ends: Vec<u64>,
    /// Longest path from the start of each operator to the end of the schedule, and zero for none.
    tails: Vec<u64>,
    pub(super) makespan: u64,
    /// Places where ends, and where tails, may have changed.
    rising: Vec<u64>,
    falling: Vec<u64>,
    /// Ends and tails before a change that may be taken back.
    old_ends: Vec<(usize, u64)>,
    old_tails: Vec<(usize, u64)>,
    stamps: Vec<u32>,
    stamp: u32,
    moved: Vec<usize>,
}

impl<'a> State<'a> {
    pub(super) fn new(terrain: &'a Terrain, solution: &Solution) -> Self {
        let count = terrain.operators;
        let mut state = Self {
            terrain,
            processors: solution.processors.clone(),
            order: solution.sequence.clone(),
            places: vec![0; count],
            sequences: vec![Vec::with_capacity(count); terrain.processors],
            before: vec![count; count],
            after: vec![count; count],
            ends: vec![0; count + 1],
            tails: vec![0; count + 1],
            makespan: 0,
            rising: vec![0; count.div_ceil(64)],
            falling: vec![0; count.div_ceil(64)],
            old_ends: Vec::with_capacity(count),
            old_tails: Vec::with_capacity(count),
            stamps: vec![0; count],
            stamp: 0,
            moved: Vec::with_capacity(count),
        };
        for (place, &operator) in solution.sequence.iter().enumerate() {
            state.places[operator] = place;
            let sequence = &mut state.sequences[solution.processors[operator]];
            if let Some(&last) = sequence.last() {
                state.before[operator] = last;
                state.after[last] = operator;
            }
            sequence.push(operator);
            mark(&mut state.rising, place);
            mark(&mut state.falling, place);
        }
        state.settle();
        state
    }

    pub(super) fn solution(&self) -> Solution {
        Solution {
            processors: self.processors.clone(),
            sequence: self.order.clone(),
        }
    }

    /// Ends and tails of all operators.
    #[cfg(test)]
    pub(super) fn times(&self) -> (Vec<u64>, Vec<u64>) {
        (self.ends.clone(), self.tails.clone())
    }

    /// Whether a longest path runs through `operator`.
    pub(super) fn is_critical(&self, operator: usize) -> bool {
        let work = self.terrain.time(operator, self.processors[operator]);
        let start = self.ends[operator].saturating_sub(work);
        start.saturating_add(self.tails[operator]) >= self.makespan
    }

    /// Whether `operator` can run on `processor` while every required processor stays in use.
    pub(super) fn may_move(&self, operator: usize, processor: usize) -> bool {
        let from = self.processors[operator];
        self.terrain.time(operator, processor) != NEVER
            && (from == processor
                || self.terrain.must_use & (1 << from) == 0
                || self.sequences[from].len() > 1)
    }

    /// Times everything that is marked; what was before is forgotten.
    pub(super) fn settle(&mut self) {
        self.raise(u64::MAX);
        self.lower();
        self.old_ends.clear();
        self.old_tails.clear();
    }

    /// Ends from what is marked on, and the makespan; `false` as soon as the makespan is known to be above `limit`.
    pub(super) fn raise(&mut self, limit: u64) -> bool {
        let terrain = self.terrain;
        for word in 0..self.rising.len() {
            while self.rising[word] != 0 {
                let bit = self.rising[word].trailing_zeros();
                self.rising[word] &= self.rising[word] - 1;
                let operator = self.order[word << 6 | bit as usize];
                let processor = self.processors[operator];
                let mut start =
                    self.ends[self.before[operator]].max(terrain.release(operator, processor));
                for &arc in terrain.incoming(operator) {
                    let way = terrain.cost(arc, self.processors[arc.other], processor);
                    start = start.max(self.ends[arc.other].saturating_add(way));
                }
                let end = start.saturating_add(terrain.time(operator, processor));
                let old = self.ends[operator];
                if end == old {
                    continue;
                }
                self.old_ends.push((operator, old));
                self.ends[operator] = end;
                if end > limit
                    || end.saturating_add(terrain.least_tail(operator, processor)) > limit
                {
                    return false;
                }
                let after = self.after[operator];
                if after < terrain.operators {
                    mark(&mut self.rising, self.places[after]);
                }
                for arc in terrain.outgoing(operator) {
                    mark(&mut self.rising, self.places[arc.other]);
                }
            }
        }
        let mut makespan = 0;
        for &operator in &terrain.last {
            let way = terrain.way_home(operator, self.processors[operator]);
            makespan = self.ends[operator].saturating_add(way).max(makespan);
        }
        self.makespan = makespan;
        makespan <= limit
    }

    /// Tails from what is marked back.
    pub(super) fn lower(&mut self) {
        let terrain = self.terrain;
        for word in (0..self.falling.len()).rev() {
            while self.falling[word] != 0 {
                let bit = self.falling[word].ilog2();
                self.falling[word] &= !(1 << bit);
                let operator = self.order[word << 6 | bit as usize];
                let processor = self.processors[operator];
                let mut rest =
                    self.tails[self.after[operator]].max(terrain.way_home(operator, processor));
                for &arc in terrain.outgoing(operator) {
                    let way = terrain.cost(arc, processor, self.processors[arc.other]);
                    rest = rest.max(self.tails[arc.other].saturating_add(way));
                }
                let tail = rest.saturating_add(terrain.time(operator, processor));
                let old = self.tails[operator];
                if tail == old {
                    continue;
                }
                self.old_tails.push((operator, old));
                self.tails[operator] = tail;
                let before = self.before[operator];
                if before < terrain.operators {
                    mark(&mut self.falling, self.places[before]);
                }
                for arc in terrain.incoming(operator) {
                    mark(&mut self.falling, self.places[arc.other]);
                }
            }
        }
    }

    /// Takes `operator` out, and times the rest; hands back where it was.
    ///
    /// It keeps its arcs and takes no time, nor do its moves: without it in the graph an insertion could close a cycle.
    pub(super) fn take_out(&mut self, operator: usize) -> (usize, usize) {
        self.old_ends.clear();
        self.old_tails.clear();
        let processor = self.processors[operator];
        let position = self.unlink(operator);
        self.processors[operator] = self.terrain.nowhere();
        self.raise(u64::MAX);
        self.lower();
        (processor, position)
    }

    /// Puts the operator that was just taken out back where it was.
    pub(super) fn put_back(&mut self, operator: usize, processor: usize, position: usize) {
        self.link(operator, processor, position);
        self.rising.fill(0);
        self.falling.fill(0);
        self.restore();
    }

    /// Puts the operator that was just taken out elsewhere; `false`, and nothing done, if operators without duration make that a cycle.
    pub(super) fn put(&mut self, operator: usize, processor: usize, position: usize) -> bool {
        self.link(operator, processor, position);
        if !self.reorder(operator) {
            // Sequences are by place again only once this is undone, so the position is not looked up.
            self.unlink_at(operator, position);
            self.processors[operator] = self.terrain.nowhere();
            self.rising.fill(0);
            self.falling.fill(0);
            return false;
        }
        // Marks made by linking are by places before the order changed.
        self.rising.fill(0);
        self.falling.fill(0);
        self.mark_around(operator);
        self.settle();
        true
    }

    /// Moves `operator` to another processor at the same place of the order; times are those of before until [`State::raise`].
    pub(super) fn shift(&mut self, operator: usize, processor: usize) {
        self.unlink(operator);
        let place = self.places[operator];
        let position =
            self.sequences[processor].partition_point(|&other| self.places[other] < place);
        self.link(operator, processor, position);
    }

    /// Forgets how to take changes back; those from here on can be.
    pub(super) fn begin(&mut self) {
        self.old_ends.clear();
        self.old_tails.clear();
    }

    /// Ends, tails and makespan as they were at [`State::begin`].
    pub(super) fn restore(&mut self) {
        self.rising.fill(0);
        self.falling.fill(0);
        while let Some((operator, end)) = self.old_ends.pop() {
            self.ends[operator] = end;
        }
        while let Some((operator, tail)) = self.old_tails.pop() {
            self.tails[operator] = tail;
        }
    }

    /// Every place where `operator`, which is taken out, closes no cycle, with the makespan there (Mastrolilli and Gambardella, 2000).
    pub(super) fn insertions(&self, operator: usize, from: usize, found: &mut Vec<Insertion>) {
        found.clear();
        let terrain = self.terrain;
        let must_stay = terrain.must_use & (1 << from) != 0 && self.sequences[from].is_empty();
        for processor in 0..terrain.processors {
            let work = terrain.time(operator, processor);
            if work == NEVER || (must_stay && processor != from) {
                continue;
            }
            let sequence = &self.sequences[processor];
            let mut ready = terrain.release(operator, processor);
            for &arc in terrain.incoming(operator) {
                let way = terrain.cost(arc, self.processors[arc.other], processor);
                ready = ready.max(self.ends[arc.other].saturating_add(way));
            }
            let mut rest = terrain.way_home(operator, processor);
            for &arc in terrain.outgoing(operator) {
                let way = terrain.cost(arc, processor, self.processors[arc.other]);
                rest = rest.max(self.tails[arc.other].saturating_add(way));
            }
            let (end, tail) = (self.ends[operator], self.tails[operator]);
            let left = sequence.partition_point(|&other| self.ends[other] <= end);
            let right = sequence.partition_point(|&other| self.tails[other] > tail);
            let none = terrain.operators;
            for position in left.min(right)..=left.max(right) {
                let last = match position {
                    0 => none,
                    _ => sequence[position - 1],
                };
                let next = sequence.get(position).copied().unwrap_or(none);
                let through = ready
                    .max(self.ends[last])
                    .saturating_add(work)
                    .saturating_add(rest.max(self.tails[next]));
                found.push(Insertion {
                    processor,
                    position,
                    makespan: through.max(self.makespan),
                });
            }
        }
    }

    fn mark_around(&mut self, operator: usize) {
        let (rising, falling) = (&mut self.rising, &mut self.falling);
        let place = self.places[operator];
        mark(rising, place);
        mark(falling, place);
        for arc in self.terrain.outgoing(operator) {
            mark(rising, self.places[arc.other]);
        }
        for arc in self.terrain.incoming(operator) {
            mark(falling, self.places[arc.other]);
        }
        if let Some(&place) = self.places.get(self.after[operator]) {
            mark(rising, place);
        }
        if let Some(&place) = self.places.get(self.before[operator]) {
            mark(falling, place);
        }
    }

    /// Takes an operator out of its sequence; hands back its position there.
    fn unlink(&mut self, operator: usize) -> usize {
        let place = self.places[operator];
        let sequence = &self.sequences[self.processors[operator]];
        let position = sequence.partition_point(|&other| self.places[other] < place);
        self.unlink_at(operator, position);
        position
    }

    fn unlink_at(&mut self, operator: usize, position: usize) {
        self.mark_around(operator);
        let removed = self.sequences[self.processors[operator]].remove(position);
        debug_assert_eq!(removed, operator, "sequences are by place");
        let none = self.terrain.operators;
        let (before, after) = (self.before[operator], self.after[operator]);
        if before != none {
            self.after[before] = after;
        }
        if after != none {
            self.before[after] = before;
        }
        (self.before[operator], self.after[operator]) = (none, none);
    }

    fn link(&mut self, operator: usize, processor: usize, position: usize) {
        let none = self.terrain.operators;
        let sequence = &mut self.sequences[processor];
        let before = match position {
            0 => none,
            _ => sequence[position - 1],
        };
        let after = sequence.get(position).copied().unwrap_or(none);
        sequence.insert(position, operator);
        (self.before[operator], self.after[operator]) = (before, after);
        if before != none {
            self.after[before] = operator;
        }
        if after != none {
            self.before[after] = operator;
        }
        self.processors[operator] = processor;
        self.mark_around(operator);
    }

    /// Makes the order topological again after `operator` was linked: only between its first successor and its last predecessor (after Pearce and Kelly, 2007).
    /// `false`, and nothing done, if there is a cycle.
    fn reorder(&mut self, operator: usize) -> bool {
        let place = self.places[operator];
        let (before, after) = (self.before[operator], self.after[operator]);
        let incoming = self.terrain.incoming(operator);
        let outgoing = self.terrain.outgoing(operator);
        // Half-open: behind the last predecessor, and at the first successor.
        let low = incoming
            .iter()
            .map(|arc| self.places[arc.other] + 1)
            .chain(self.places.get(before).map(|place| place + 1))
            .max()
            .unwrap_or(0);
        let high = outgoing
            .iter()
            .map(|arc| self.places[arc.other])
            .chain(self.places.get(after).copied())
            .min()
            .unwrap_or(self.terrain.operators);
        if low <= high {
            if place < low {
                self.order[place..low].rotate_left(1);
                self.renumber(place, low);
            } else if place > high {
                self.order[high..=place].rotate_right(1);
                self.renumber(high, place + 1);
            }
            return true;
        }
        let (start, end) = (high.min(place), low.max(place + 1));
        self.stamp += 1;
        let stamp = self.stamp;
        self.stamps[operator] = stamp;
        for index in start..end {
            let other = self.order[index];
            let is_behind = self.stamps.get(self.before[other]) == Some(&stamp)
                || self
                    .terrain
                    .incoming(other)
                    .iter()
                    .any(|arc| self.stamps[arc.other] == stamp);
            if other != operator && is_behind {
                self.stamps[other] = stamp;
            }
        }
        let is_cycle = self.stamps.get(before) == Some(&stamp)
            || incoming.iter().any(|arc| self.stamps[arc.other] == stamp);
        if is_cycle {
            return false;
        }
        self.moved.clear();
        let mut to = start;
        for index in start..end {
            let other = self.order[index];
            if other == operator {
                continue;
            }
            if self.stamps[other] == stamp {
                self.moved.push(other);
            } else {
                self.order[to] = other;
                to += 1;
            }
        }
        self.order[to] = operator;
        self.order[to + 1..end].copy_from_slice(&self.moved);
        self.renumber(start, end);
        true
    }

    fn renumber(&mut self, start: usize, end: usize) {
        for place in start..end {
            self.places[self.order[place]] = place;
        }
    }
}

fn mark(bits: &mut [u64], place: usize) {
    bits[place >> 6] |= 1 << (place & 63);
}
