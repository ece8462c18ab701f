//! What the makespan becomes wherever an operator goes, without moving it (after Mastrolilli and Gambardella, 2000).
//!
//! Every path that avoids it lies on one side of its place in the order or crosses it by an arc, and what its two ends say of the ways to and from them stays as it is.
//! So nothing has to be timed again before a place is chosen.

use super::state::State;
use super::terrain::{NEVER, index};

/// A place for an operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Insertion {
    pub(super) processor: u32,
    /// How many other operators of the processor stand before it.
    pub(super) position: u32,
    /// The makespan with it there is at most this.
    pub(super) makespan: u64,
}

impl State<'_> {
    /// The least makespan that is possible wherever `operator` goes: that of all paths that avoid it.
    ///
    /// They cross its place in the order, or lie on one side of it; the smaller side is searched.
    fn makespan_without(&self, operator: usize) -> u64 {
        let before = self.nodes[operator].place as usize;
        if before < self.terrain.operators / 2 {
            self.longest_from_before(operator)
        } else {
            self.longest_to_behind(operator)
        }
    }

    /// The longest path that avoids `operator` among those with an end before it in the order, and those wholly behind it.
    fn longest_from_before(&self, operator: usize) -> u64 {
        let terrain = self.terrain;
        let node = self.nodes[operator];
        let place = node.place;
        let mut longest = 0;
        for &other in &terrain.first {
            let after = &self.nodes[other as usize];
            if after.place > place {
                let release = terrain.at(other as usize, after.processor).release;
                longest = longest.max(release + after.tail);
            }
        }
        for &other in self.order[..place as usize].iter().rev() {
            let from = self.nodes[other as usize];
            let mut rest = terrain.at(other as usize, from.processor).way_home;
            let next = if from.after == index(operator) {
                node.after
            } else {
                from.after
            };
            let next = &self.nodes[next as usize];
            if next.place > place {
                rest = rest.max(next.tail);
            }
            for &arc in terrain.outgoing(other as usize) {
                let to = &self.nodes[arc.other as usize];
                if to.place > place {
                    rest = rest.max(to.tail + terrain.cost(arc, from.processor, to.processor));
                }
            }
            longest = longest.max(from.end + rest);
            if longest >= self.makespan {
                break;
            }
        }
        longest
    }

    /// The same from the other side.
    fn longest_to_behind(&self, operator: usize) -> u64 {
        let terrain = self.terrain;
        let node = self.nodes[operator];
        let place = node.place;
        let mut longest = 0;
        for &other in &terrain.last {
            let before = &self.nodes[other as usize];
            if before.place < place {
                let way = terrain.at(other as usize, before.processor).way_home;
                longest = longest.max(before.end + way);
            }
        }
        for &other in &self.order[place as usize + 1..] {
            let to = self.nodes[other as usize];
            let mut start = terrain.at(other as usize, to.processor).release;
            let previous = if to.before == index(operator) {
                node.before
            } else {
                to.before
            };
            let previous = &self.nodes[previous as usize];
            if previous.place < place {
                start = start.max(previous.end);
            }
            for &arc in terrain.incoming(other as usize) {
                let from = &self.nodes[arc.other as usize];
                if from.place < place {
                    start = start.max(from.end + terrain.cost(arc, from.processor, to.processor));
                }
            }
            longest = longest.max(start + to.tail);
            if longest >= self.makespan {
                break;
            }
        }
        longest
    }

    /// Places for `operator` that close no cycle, with what the makespan is at most there (after Mastrolilli and Gambardella, 2000).
    pub(super) fn insertions(&self, operator: usize, found: &mut Vec<Insertion>) {
        found.clear();
        let terrain = self.terrain;
        let node = self.nodes[operator];
        let least = if self.is_critical(operator) {
            self.makespan_without(operator)
        } else {
            self.makespan
        };
        let incoming = terrain.incoming(operator).iter();
        let complete = incoming
            .map(|arc| self.nodes[arc.other as usize].end)
            .max()
            .unwrap_or(0);
        let outgoing = terrain.outgoing(operator).iter();
        let waiting = outgoing
            .map(|arc| self.nodes[arc.other as usize].tail)
            .max()
            .unwrap_or(0);
        let must_stay = terrain.must_use & (1 << node.processor) != 0
            && self.sequences[node.processor as usize].len() == 1;
        for processor in 0..index(terrain.processors) {
            let work = terrain.at(operator, processor).time;
            if work == NEVER || (must_stay && processor != node.processor) {
                continue;
            }
            let ready = self.ready(operator, processor);
            let rest = self.rest(operator, processor);
            let mut offer = |position: usize, end: u64, tail: u64| {
                found.push(Insertion {
                    processor,
                    position: index(position),
                    makespan: least.max(ready.max(end) + work + rest.max(tail)),
                });
            };
            let sequence = &self.sequences[processor as usize];
            if processor == node.processor {
                let here = self.position(index(operator));
                offer(
                    here,
                    self.nodes[node.before as usize].end,
                    self.nodes[node.after as usize].tail,
                );
                // To the left while nothing that must be before it is passed; those passed wait for it and no longer for each other as before.
                let mut tail = self.nodes[node.after as usize].tail;
                for position in (0..here).rev() {
                    let passed = sequence[position] as usize;
                    let other = &self.nodes[passed];
                    if other.end <= complete {
                        break;
                    }
                    tail =
                        self.rest(passed, processor).max(tail) + terrain.at(passed, processor).time;
                    offer(position, self.nodes[other.before as usize].end, tail);
                }
                let mut end = self.nodes[node.before as usize].end;
                for (position, &passed) in sequence.iter().enumerate().skip(here + 1) {
                    let passed = passed as usize;
                    let other = &self.nodes[passed];
                    if other.tail <= waiting {
                        break;
                    }
                    end =
                        self.ready(passed, processor).max(end) + terrain.at(passed, processor).time;
                    offer(position, end, self.nodes[other.after as usize].tail);
                }
            } else {
                let left =
                    sequence.partition_point(|&other| self.nodes[other as usize].end <= complete);
                let right =
                    sequence.partition_point(|&other| self.nodes[other as usize].tail > waiting);
                let (left, right) = (left.min(right), left.max(right));
                let mut end = match left {
                    0 => 0,
                    _ => self.nodes[sequence[left - 1] as usize].end,
                };
                for position in left..=right {
                    let (next_end, tail) = match sequence.get(position) {
                        Some(&next) => {
                            let next = &self.nodes[next as usize];
                            (next.end, next.tail)
                        }
                        None => (0, 0),
                    };
                    offer(position, end, tail);
                    end = next_end;
                }
            }
        }
    }
}
