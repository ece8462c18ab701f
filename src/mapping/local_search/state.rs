//! A complete schedule that is changed in place: ends, tails and orders are repaired only where something changed.
//!
//! Operators whose times may have changed are bits in the topological order, so that each is timed again at most once and what keeps its time stops the repair.
//! Nothing is allocated by a change.

use super::super::Solution;
use super::insertions::Insertion;
use super::terrain::{Arc, NEVER, Terrain, index};

/// What a schedule says of one operator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Node {
    /// Earliest end.
    pub(super) end: u64,
    /// Longest path from its start to the end of the schedule.
    pub(super) tail: u64,
    /// Index in the order.
    pub(super) place: u32,
    /// Neighbours in the sequence of its processor; the number of operators stands for none.
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) processor: u32,
}

/// Processors, order and times.
pub(super) struct State<'a> {
    pub(super) terrain: &'a Terrain,
    /// One more than there are operators: the last stands for none, and takes no time.
    pub(super) nodes: Vec<Node>,
    /// Topological for arcs of the graph and of the sequences.
    pub(super) order: Vec<u32>,
    /// Operators of each processor, by place.
    pub(super) sequences: Vec<Vec<u32>>,
    pub(super) makespan: u64,
    /// Places where ends, and where tails, may have changed.
    rising: Vec<u64>,
    falling: Vec<u64>,
    /// Ends and tails before a change that may be taken back.
    old_ends: Vec<(u32, u64)>,
    old_tails: Vec<(u32, u64)>,
    stamps: Vec<u64>,
    stamp: u64,
    moved: Vec<u32>,
}

impl<'a> State<'a> {
    pub(super) fn new(terrain: &'a Terrain, solution: &Solution) -> Self {
        let count = terrain.operators;
        let mut state = Self {
            terrain,
            nodes: vec![Node::default(); count + 1],
            order: vec![0; count],
            sequences: vec![Vec::with_capacity(count); terrain.processors],
            makespan: 0,
            rising: vec![0; count.div_ceil(64)],
            falling: vec![0; count.div_ceil(64)],
            old_ends: Vec::with_capacity(count),
            old_tails: Vec::with_capacity(count),
            stamps: vec![0; count + 1],
            stamp: 0,
            moved: Vec::with_capacity(count),
        };
        let none = state.none();
        for (place, &operator) in solution.sequence.iter().enumerate() {
            let processor = solution.processors[operator];
            let operator = index(operator);
            let sequence = &mut state.sequences[processor];
            let before = sequence.last().copied().unwrap_or(none);
            sequence.push(operator);
            state.order[place] = operator;
            state.nodes[operator as usize] = Node {
                end: 0,
                tail: 0,
                place: index(place),
                before,
                after: none,
                processor: index(processor),
            };
            state.nodes[before as usize].after = operator;
            mark(&mut state.rising, index(place));
            mark(&mut state.falling, index(place));
        }
        state.nodes[none as usize].place = u32::MAX;
        state.raise(u64::MAX, 0);
        state.lower();
        state
    }

    /// The number that stands for no operator.
    fn none(&self) -> u32 {
        index(self.terrain.operators)
    }

    pub(super) fn processor(&self, operator: usize) -> usize {
        self.nodes[operator].processor as usize
    }

    pub(super) fn processors(&self) -> impl Iterator<Item = usize> {
        let nodes = &self.nodes[..self.terrain.operators];
        nodes.iter().map(|node| node.processor as usize)
    }

    pub(super) fn solution(&self) -> Solution {
        Solution {
            processors: self.processors().collect(),
            sequence: self
                .order
                .iter()
                .map(|&operator| operator as usize)
                .collect(),
        }
    }

    /// Overwrites a solution of the same problem.
    pub(super) fn copy_to(&self, solution: &mut Solution) {
        for (to, from) in solution.processors.iter_mut().zip(self.processors()) {
            *to = from;
        }
        for (to, &from) in solution.sequence.iter_mut().zip(&self.order) {
            *to = from as usize;
        }
    }

    /// Ends and tails of all operators.
    #[cfg(test)]
    pub(super) fn times(&self) -> Vec<(u64, u64)> {
        self.nodes
            .iter()
            .map(|node| (node.end, node.tail))
            .collect()
    }

    /// Whether `operator` is at this place already.
    pub(super) fn is_at(&self, operator: usize, insertion: Insertion) -> bool {
        self.nodes[operator].processor == insertion.processor
            && self.position(index(operator)) == insertion.position as usize
    }

    /// Whether a longest path runs through `operator`.
    pub(super) fn is_critical(&self, operator: usize) -> bool {
        let node = &self.nodes[operator];
        let work = self.terrain.at(operator, node.processor).time;
        node.end + node.tail >= self.makespan + work
    }

    /// Whether `operator` can run on `processor` while every required processor stays in use.
    pub(super) fn may_move(&self, operator: usize, processor: usize) -> bool {
        let from = self.processor(operator);
        self.terrain.time(operator, processor) != NEVER
            && (from == processor
                || self.terrain.must_use & (1 << from) == 0
                || self.sequences[from].len() > 1)
    }

    /// Whether every required processor has an operator.
    pub(super) fn is_complete(&self) -> bool {
        let required = self.terrain.must_use;
        required == 0
            || (self.sequences.iter().enumerate()).all(|(processor, sequence)| {
                required & (1 << processor) == 0 || !sequence.is_empty()
            })
    }

    /// When all that `operator` reads has arrived at `processor`.
    pub(super) fn ready(&self, operator: usize, processor: u32) -> u64 {
        let mut ready = self.terrain.at(operator, processor).release;
        for &arc in self.terrain.incoming(operator) {
            let from = &self.nodes[arc.other as usize];
            let way = self.terrain.cost(arc, from.processor, processor);
            ready = ready.max(from.end + way);
        }
        ready
    }

    /// Longest path behind the end of `operator` on `processor`, but for the sequence.
    pub(super) fn rest(&self, operator: usize, processor: u32) -> u64 {
        let mut rest = self.terrain.at(operator, processor).way_home;
        for &arc in self.terrain.outgoing(operator) {
            let to = &self.nodes[arc.other as usize];
            let way = self.terrain.cost(arc, processor, to.processor);
            rest = rest.max(to.tail + way);
        }
        rest
    }

    /// Ends from what is marked on, and the makespan; `false` as soon as the makespan is known to be above `limit`.
    ///
    /// Tails are those of before up to the place `settled`, and right from there on.
    fn raise(&mut self, limit: u64, settled: u32) -> bool {
        let terrain = self.terrain;
        for word in 0..self.rising.len() {
            while self.rising[word] != 0 {
                let bit = self.rising[word].trailing_zeros();
                self.rising[word] &= self.rising[word] - 1;
                let place = word << 6 | bit as usize;
                let operator = self.order[place] as usize;
                let node = self.nodes[operator];
                let at = *terrain.at(operator, node.processor);
                let start = self
                    .ready(operator, node.processor)
                    .max(self.nodes[node.before as usize].end);
                let end = start + at.time;
                if end == node.end {
                    continue;
                }
                let through = if place >= settled as usize {
                    start + node.tail
                } else {
                    end + at.least_tail
                };
                if limit != u64::MAX && through > limit {
                    return false;
                }
                self.old_ends.push((index(operator), node.end));
                self.nodes[operator].end = end;
                if node.after != index(terrain.operators) {
                    mark(&mut self.rising, self.nodes[node.after as usize].place);
                }
                for arc in terrain.outgoing(operator) {
                    mark(&mut self.rising, self.nodes[arc.other as usize].place);
                }
            }
        }
        let mut makespan = 0;
        for &operator in &terrain.last {
            let node = &self.nodes[operator as usize];
            let way = terrain.at(operator as usize, node.processor).way_home;
            makespan = makespan.max(node.end + way);
        }
        self.makespan = makespan;
        makespan <= limit
    }

    /// Tails from what is marked back.
    fn lower(&mut self) {
        let terrain = self.terrain;
        for word in (0..self.falling.len()).rev() {
            while self.falling[word] != 0 {
                let bit = self.falling[word].ilog2();
                self.falling[word] &= !(1 << bit);
                let operator = self.order[word << 6 | bit as usize] as usize;
                let node = self.nodes[operator];
                let tail = self
                    .rest(operator, node.processor)
                    .max(self.nodes[node.after as usize].tail)
                    + terrain.at(operator, node.processor).time;
                if tail == node.tail {
                    continue;
                }
                self.old_tails.push((index(operator), node.tail));
                self.nodes[operator].tail = tail;
                if node.before != index(terrain.operators) {
                    mark(&mut self.falling, self.nodes[node.before as usize].place);
                }
                for arc in terrain.incoming(operator) {
                    mark(&mut self.falling, self.nodes[arc.other as usize].place);
                }
            }
        }
    }

    /// Moves operators to other processors at their places of the order, unless the makespan gets above `limit` or a required processor empty; then nothing changes.
    ///
    /// Hands back in `changes` where they were.
    pub(super) fn shift_all(&mut self, changes: &mut [(u32, u32)], limit: u64) -> bool {
        self.old_ends.clear();
        self.old_tails.clear();
        let mut settled = 0;
        for (operator, processor) in &mut *changes {
            settled = settled.max(self.nodes[*operator as usize].place + 1);
            *processor = self.shift(*operator, *processor);
        }
        let makespan = self.makespan;
        if self.is_complete() && self.raise(limit, settled) {
            self.lower();
            return true;
        }
        for (operator, processor) in changes.iter_mut().rev() {
            *processor = self.shift(*operator, *processor);
        }
        self.rising.fill(0);
        self.falling.fill(0);
        while let Some((operator, end)) = self.old_ends.pop() {
            self.nodes[operator as usize].end = end;
        }
        self.makespan = makespan;
        false
    }

    /// Moves `operator` to another processor at the same place of the order; hands back where it was.
    fn shift(&mut self, operator: u32, processor: u32) -> u32 {
        let from = self.nodes[operator as usize].processor;
        let place = self.nodes[operator as usize].place;
        let position = self.position(operator);
        self.mark_around(operator);
        self.unlink(operator, position);
        let position = self.sequences[processor as usize]
            .partition_point(|&other| self.nodes[other as usize].place < place);
        self.link(operator, processor, position);
        self.mark_around(operator);
        from
    }

    /// Puts `operator` elsewhere; `false`, and nothing done, if operators without duration make that a cycle.
    pub(super) fn insert(&mut self, operator: usize, to: Insertion) -> bool {
        let (processor, position) = (to.processor, to.position as usize);
        self.old_ends.clear();
        self.old_tails.clear();
        let operator = index(operator);
        let old = self.nodes[operator as usize];
        let old_position = self.position(operator);
        self.unlink(operator, old_position);
        self.link(operator, processor, position);
        if !self.reorder(operator) {
            self.unlink(operator, position);
            self.link(operator, old.processor, old_position);
            return false;
        }
        self.mark_around(operator);
        if old.after != self.none() {
            mark(&mut self.rising, self.nodes[old.after as usize].place);
        }
        if old.before != self.none() {
            mark(&mut self.falling, self.nodes[old.before as usize].place);
        }
        self.raise(u64::MAX, 0);
        self.lower();
        true
    }

    fn mark_around(&mut self, operator: u32) {
        let node = self.nodes[operator as usize];
        mark(&mut self.rising, node.place);
        mark(&mut self.falling, node.place);
        for &Arc { other, .. } in self.terrain.outgoing(operator as usize) {
            mark(&mut self.rising, self.nodes[other as usize].place);
        }
        for &Arc { other, .. } in self.terrain.incoming(operator as usize) {
            mark(&mut self.falling, self.nodes[other as usize].place);
        }
        if node.after != self.none() {
            mark(&mut self.rising, self.nodes[node.after as usize].place);
        }
        if node.before != self.none() {
            mark(&mut self.falling, self.nodes[node.before as usize].place);
        }
    }

    /// How many operators stand before `operator` on its processor.
    pub(super) fn position(&self, operator: u32) -> usize {
        let node = &self.nodes[operator as usize];
        self.sequences[node.processor as usize]
            .partition_point(|&other| self.nodes[other as usize].place < node.place)
    }

    /// Takes an operator out of its sequence.
    fn unlink(&mut self, operator: u32, position: usize) {
        let Node {
            before,
            after,
            processor,
            ..
        } = self.nodes[operator as usize];
        let removed = self.sequences[processor as usize].remove(position);
        debug_assert_eq!(removed, operator, "sequences are by place");
        // None has neighbours that nobody looks at.
        self.nodes[before as usize].after = after;
        self.nodes[after as usize].before = before;
    }

    fn link(&mut self, operator: u32, processor: u32, position: usize) {
        let none = self.none();
        let sequence = &mut self.sequences[processor as usize];
        let before = match position {
            0 => none,
            _ => sequence[position - 1],
        };
        let after = sequence.get(position).copied().unwrap_or(none);
        sequence.insert(position, operator);
        self.nodes[before as usize].after = operator;
        self.nodes[after as usize].before = operator;
        let own = &mut self.nodes[operator as usize];
        (own.before, own.after, own.processor) = (before, after, processor);
    }

    /// Makes the order topological again after `operator` was linked: only between its first successor and its last predecessor (after Pearce and Kelly, 2007).
    /// `false`, and nothing done, if there is a cycle.
    fn reorder(&mut self, operator: u32) -> bool {
        let terrain = self.terrain;
        let none = self.none();
        let Node {
            place,
            before,
            after,
            ..
        } = self.nodes[operator as usize];
        let place = place as usize;
        let incoming = terrain.incoming(operator as usize);
        let outgoing = terrain.outgoing(operator as usize);
        // Half-open: behind the last predecessor, and at the first successor.
        let mut low = if before == none {
            0
        } else {
            self.nodes[before as usize].place + 1
        };
        for arc in incoming {
            low = low.max(self.nodes[arc.other as usize].place + 1);
        }
        let mut high = if after == none {
            none
        } else {
            self.nodes[after as usize].place
        };
        for arc in outgoing {
            high = high.min(self.nodes[arc.other as usize].place);
        }
        let (low, high) = (low as usize, high as usize);
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
        self.stamps[operator as usize] = stamp;
        for position in start..end {
            let other = self.order[position];
            if other == operator {
                continue;
            }
            let is_behind = self.stamps[self.nodes[other as usize].before as usize] == stamp
                || (terrain.incoming(other as usize).iter())
                    .any(|arc| self.stamps[arc.other as usize] == stamp);
            if is_behind {
                self.stamps[other as usize] = stamp;
            }
        }
        let is_cycle = self.stamps[before as usize] == stamp
            || (incoming.iter()).any(|arc| self.stamps[arc.other as usize] == stamp);
        if is_cycle {
            return false;
        }
        self.moved.clear();
        let mut to = start;
        for position in start..end {
            let other = self.order[position];
            if other == operator {
                continue;
            }
            if self.stamps[other as usize] == stamp {
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
            self.nodes[self.order[place] as usize].place = index(place);
        }
    }
}

fn mark(bits: &mut [u64], place: u32) {
    bits[(place >> 6) as usize] |= 1 << (place & 63);
}
