//! Layers of states in growing widths.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::rc::Rc;

use paracompile_plan::Nanoseconds;

use super::super::{Budget, Outcome, Problem, Proof, Solution, schedule};
use super::evaluate::Desk;
use super::layout::Layout;
use super::network::{NEVER, Network};
use super::symmetry::{Order, Symmetry, packed};

/// The largest number of operators: sets are words.
pub const LARGEST: usize = 64;

/// How many states a layer may keep in the first pass, and by how much more in the next.
const NARROWEST: usize = 64;
const WIDENING: usize = 8;

/// Sets of done operators that are remembered with their meaning, of tens of kilobytes each at most; a layer of more sets ends the search.
const MOST_LAYOUTS: usize = 40_000;

/// Making one takes about as long as so many states.
const STATES_OF_LAYOUT: u64 = 16;

/// The least makespan, from a schedule that is known, with at most about `states` states.
///
/// The schedule must use the required processors; the answer is no worse in makespan and takes no account of energy.
/// `None` if the problem is too large: more than [`LARGEST`] operators.
pub fn solve_exactly(
    problem: &Problem,
    start: &Solution,
    states: u64,
    budget: Budget<'_>,
) -> Option<Outcome<Solution>> {
    let value = schedule(problem, start).objective.makespan;
    let below = search_below(problem, value, states, budget)?;
    let proof = if below.is_complete {
        Proof::Optimal
    } else if budget.should_stop() {
        Proof::Interrupted { bound: below.bound }
    } else {
        Proof::WithinGap { bound: below.bound }
    };
    Some(Outcome {
        value: below.solution.unwrap_or_else(|| start.clone()),
        proof,
    })
}

/// What a search below a cutoff ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Below {
    /// The best schedule below the cutoff that was found.
    pub solution: Option<Solution>,
    /// No schedule takes less; the value of the solution, or the cutoff without one, if the search is complete.
    pub bound: Nanoseconds,
    /// Whether nothing was left out.
    pub is_complete: bool,
    /// States that were made.
    pub states: u64,
}

/// Looks for the least makespan below `cutoff`, with at most about `states` states.
///
/// Times are words; where the cutoff is too large for them, all times are counted in larger units and rounded down, so that bounds hold, and a schedule is proven as far as the rounding goes.
/// `None` if there are too many operators or processors.
pub fn search_below(
    problem: &Problem,
    cutoff: Nanoseconds,
    states: u64,
    budget: Budget<'_>,
) -> Option<Below> {
    let longest = u64::from(NEVER / 2);
    let shift = (0..64).find(|&shift| cutoff.count().div_ceil(1 << shift) < longest)?;
    if shift == 0 {
        return search_words(problem, cutoff, states, budget);
    }
    let unit = 1_u64 << shift;
    let least = Nanoseconds::new(cutoff.count().div_ceil(unit));
    let coarse = coarser(problem, unit, least);
    let found = search_words(&coarse, least, states, budget)?;
    let bound = Nanoseconds::new(found.bound.count().saturating_mul(unit)).min(cutoff);
    let value = |solution: &Solution| schedule(problem, solution).objective.makespan;
    let solution = found.solution.filter(|found| value(found) < cutoff);
    let reached = solution.as_ref().map_or(cutoff, value);
    Some(Below {
        bound,
        is_complete: bound >= reached,
        solution,
        states: found.states,
    })
}

/// The problem in units, rounded down; what takes the cutoff or longer is in no schedule below it.
fn coarser(problem: &Problem, unit: u64, cutoff: Nanoseconds) -> Problem {
    let in_units = |time: Nanoseconds| Nanoseconds::new(time.count() / unit).min(cutoff);
    let mut coarse = problem.clone();
    for time in coarse
        .operators
        .iter_mut()
        .flat_map(|operator| operator.times.iter_mut().flatten())
    {
        *time = in_units(*time);
    }
    for cost in coarse
        .tensors
        .iter_mut()
        .flat_map(|tensor| tensor.moves.iter_mut().flatten().flatten())
    {
        cost.time = in_units(cost.time);
    }
    coarse
}

fn search_words(
    problem: &Problem,
    cutoff: Nanoseconds,
    states: u64,
    budget: Budget<'_>,
) -> Option<Below> {
    let network = Network::new(problem)?;
    let mut cutoff = u32::try_from(cutoff.count())
        .ok()
        .filter(|&c| c < NEVER / 2)?;
    let mut exact = Below {
        solution: None,
        bound: Nanoseconds::ZERO,
        is_complete: false,
        states: 0,
    };
    if cutoff == 0 {
        exact.is_complete = true;
        return Some(exact);
    }
    let mut directions = [
        Direction::new(&network, false),
        Direction::new(&network.reversed(), true),
    ]
    .map(Some);
    let mut chosen: Option<usize> = None;
    let mut width = NARROWEST;
    loop {
        let mut best = None;
        for (index, direction) in directions.iter_mut().enumerate() {
            let Some(direction) = direction
                .as_mut()
                .filter(|_| chosen.is_none_or(|it| it == index))
            else {
                continue;
            };
            let pass = direction.pass(cutoff, width, states - exact.states.min(states), budget);
            exact.states += pass.made;
            exact.bound = exact
                .bound
                .max(Nanoseconds::new(u64::from(pass.bound.min(cutoff))));
            let is_complete = pass.truncated == 0 && !pass.is_stopped;
            if let Some(found) = pass.found {
                let value = schedule(problem, &found).objective.makespan;
                cutoff = u32::try_from(value.count()).unwrap_or(cutoff).min(cutoff);
                exact.solution = Some(found);
            } else if is_complete {
                exact.bound = Nanoseconds::new(u64::from(cutoff));
                exact.is_complete = true;
                return Some(exact);
            }
            if exact.bound.count() >= u64::from(cutoff) {
                exact.is_complete = true;
                return Some(exact);
            }
            if pass.is_stopped {
                return Some(exact);
            }
            if best.is_none_or(|(least, _)| pass.estimate < least) {
                best = Some((pass.estimate, index));
            }
        }
        if chosen.is_none() && width > NARROWEST {
            chosen = best.map(|(_, index)| index);
        }
        width = width.saturating_mul(WIDENING);
    }
}

/// The search in one direction of time.
struct Direction {
    network: Network,
    symmetry: Symmetry,
    is_reversed: bool,
    layouts: HashMap<u64, Rc<Layout>>,
    /// How many were made, those that were forgotten included.
    made_layouts: u64,
    desk: Desk,
}

/// One pass over all layers.
struct Pass {
    found: Option<Solution>,
    /// No schedule takes less.
    bound: u32,
    /// States left out.
    truncated: u64,
    /// Logarithm of how many states the widest layer might have if none were left out.
    estimate: f64,
    made: u64,
    is_stopped: bool,
}

/// States with the same done operators.
struct Group {
    layout: Rc<Layout>,
    stride: usize,
    values: Vec<u32>,
    nodes: Vec<Node>,
}

/// A step in the list of all steps.
#[derive(Clone, Copy, Debug)]
struct Step {
    before: u32,
    operator: u8,
    processor: u8,
    /// Which lane of its device it is behind the step.
    moved_to: u8,
    order: Order,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// Where its step is in the trace; of a candidate, where that of the state before is.
    trace: u32,
    operator: u8,
    processor: u8,
    moved_to: u8,
    used: u16,
    /// Which identical branch is which of the state before.
    order: Order,
    /// When everything so far is over.
    makespan: u32,
    /// No schedule behind this state, or behind one that it dominates, takes less.
    bound: u32,
    /// What the best schedule behind it might take.
    guess: u32,
    sum: u64,
}

impl Group {
    fn values(&self, index: usize) -> &[u32] {
        &self.values[index * self.stride..(index + 1) * self.stride]
    }
}

impl Direction {
    fn new(network: &Network, is_reversed: bool) -> Self {
        Self {
            desk: Desk::new(network),
            symmetry: Symmetry::new(network),
            network: network.clone(),
            is_reversed,
            layouts: HashMap::new(),
            made_layouts: 0,
        }
    }

    fn layout(&mut self, done: u64) -> Rc<Layout> {
        if let Some(layout) = self.layouts.get(&done) {
            return Rc::clone(layout);
        }
        if self.layouts.len() >= MOST_LAYOUTS {
            self.layouts.clear();
        }
        self.made_layouts += 1;
        let layout = Rc::new(Layout::new(&self.network, done));
        self.layouts.insert(done, Rc::clone(&layout));
        layout
    }

    fn pass(&mut self, cutoff: u32, width: usize, states: u64, budget: Budget<'_>) -> Pass {
        let mut pass = Pass {
            found: None,
            bound: NEVER,
            truncated: 0,
            estimate: 0.0,
            made: 0,
            is_stopped: false,
        };
        let mut trace: Vec<Step> = Vec::new();
        let Some(root) = self.root(cutoff) else {
            pass.bound = cutoff;
            return pass;
        };
        let mut layer = vec![root];
        let (mut entered, mut scale) = (1, 0.0);
        for _ in 0..self.network.operators {
            let mut next: BTreeMap<u64, Group> = BTreeMap::new();
            for group in &layer {
                if pass.is_stopped || pass.made > states || budget.should_stop() {
                    pass.is_stopped = true;
                    pass.bound = 0;
                    return pass;
                }
                let layouts = self.made_layouts;
                pass.made += self.expand(group, cutoff, &mut next);
                pass.made += STATES_OF_LAYOUT * (self.made_layouts - layouts);
                pass.is_stopped = next.len() > MOST_LAYOUTS;
            }
            layer = next.into_values().collect();
            for group in &mut layer {
                group.keep_undominated();
            }
            let total: usize = layer.iter().map(|group| group.nodes.len()).sum();
            if total == 0 {
                break;
            }
            scale += logarithm(total) - logarithm(entered);
            pass.estimate = pass.estimate.max(scale);
            entered = total.min(width);
            if total > width {
                narrow(&mut layer, width, &mut pass);
            }
            for group in &mut layer {
                for node in &mut group.nodes {
                    let at = u32::try_from(trace.len()).expect("states are counted");
                    trace.push(Step {
                        before: node.trace,
                        operator: node.operator,
                        processor: node.processor,
                        moved_to: node.moved_to,
                        order: node.order,
                    });
                    node.trace = at;
                }
            }
        }
        let last = layer
            .iter()
            .flat_map(|group| &group.nodes)
            .min_by_key(|node| node.makespan);
        if let Some(node) = last {
            pass.bound = pass.bound.min(node.bound);
            pass.found = Some(self.solution(&trace, node.trace));
        }
        pass.bound = pass.bound.min(cutoff);
        pass
    }

    fn solution(&self, trace: &[Step], last: u32) -> Solution {
        let mut steps = Vec::with_capacity(self.network.operators);
        let mut at = last;
        while let Some(step) = trace.get(at as usize) {
            steps.push(*step);
            at = step.before;
        }
        steps.reverse();
        let named = steps
            .iter()
            .map(|step| (usize::from(step.operator), step.order));
        let mut sequence = self.symmetry.unravel(named);
        if self.is_reversed {
            for operator in &mut sequence {
                *operator = self.network.operators - 1 - *operator;
            }
        }
        let mut solution = Solution {
            processors: vec![0; self.network.operators],
            sequence,
        };
        let mut lanes: Vec<usize> = (0..self.network.processors).collect();
        for (&operator, step) in solution.sequence.iter().zip(&steps) {
            let (processor, to) = (usize::from(step.processor), usize::from(step.moved_to));
            solution.processors[operator] = lanes[processor];
            // The lanes of a device follow each other.
            lanes[to..=processor].rotate_right(1);
        }
        if self.is_reversed {
            solution.sequence.reverse();
        }
        solution
    }

    fn root(&mut self, cutoff: u32) -> Option<Group> {
        if self.network.must_use.count_ones() as usize > self.network.operators {
            return None;
        }
        let layout = self.layout(0);
        self.desk.free.fill(0);
        self.desk.settle(&self.network, &layout, cutoff)?;
        let stride = layout.stride(self.network.processors);
        Some(Group {
            values: self.desk.free.clone(),
            layout,
            stride,
            nodes: vec![Node {
                trace: u32::MAX,
                operator: 0,
                processor: 0,
                moved_to: 0,
                used: 0,
                order: self.symmetry.identity(),
                makespan: 0,
                bound: 0,
                guess: 0,
                sum: 0,
            }],
        })
    }

    /// All states that follow from a group and are of use; how many were tried.
    fn expand(&mut self, group: &Group, cutoff: u32, next: &mut BTreeMap<u64, Group>) -> u64 {
        let m = self.network.processors;
        let before = &group.layout;
        let mut made = 0;
        let gaps: Vec<Gap> = (0..group.nodes.len())
            .map(|index| self.gap(before, group.values(index)))
            .collect();
        for (&operator, &slot) in before.ready.iter().zip(&before.slots) {
            let done = before.done | 1 << operator;
            let order = self.symmetry.order(done);
            let done = self.symmetry.reordered(&order, done);
            let behind = self.layout(done);
            let ties = self.symmetry.ties(&behind);
            let twin = self.symmetry.twin(before, operator);
            let target = next.entry(done).or_insert_with(|| Group {
                stride: behind.stride(m),
                layout: Rc::clone(&behind),
                values: Vec::new(),
                nodes: Vec::new(),
            });
            let sources: Vec<Source> = behind
                .pending
                .iter()
                .map(|&v| {
                    let named = self.symmetry.before(&order, v);
                    let incoming = &self.network.incoming[named];
                    Source {
                        operator: v,
                        slot: before.pending.iter().position(|&other| other == named),
                        edge: incoming
                            .iter()
                            .copied()
                            .find(|&edge| self.network.edges[edge].from == operator),
                    }
                })
                .collect();
            for (index, node) in group.nodes.iter().enumerate() {
                let values = group.values(index);
                let row = |slot: usize| &values[m * (1 + slot)..m * (2 + slot)];
                let is_like = |&(own, others): &(usize, usize)| row(own) == row(others);
                if twin.as_ref().is_some_and(|pairs| pairs.iter().all(is_like)) {
                    continue;
                }
                for processor in 0..m {
                    let Some(start) = self.start(values, slot, operator, processor) else {
                        continue;
                    };
                    let end = start + self.network.times[operator * m + processor];
                    if end + self.network.rests[operator * m + processor] >= cutoff {
                        continue;
                    }
                    made += 1;
                    if gaps[index].is_left(operator, start) || self.stands_alike(values, processor)
                    {
                        continue;
                    }
                    self.step(values, &sources, processor, start, end);
                    let moved_to = self.put_in_order(processor, &behind.pending);
                    let used = node.used | 1 << self.network.device_of[processor];
                    let missing = (self.network.must_use & !used).count_ones() as usize;
                    if missing > behind.remaining.len() {
                        continue;
                    }
                    let Some(promise) = self.desk.settle(&self.network, &behind, cutoff) else {
                        continue;
                    };
                    let mut order = order.clone();
                    for tie in &ties {
                        tie.sort(&mut self.desk.starts, m, &mut order);
                    }
                    let over = self.network.over(operator, processor, end);
                    let makespan = over.max(node.makespan);
                    target.push(
                        &self.desk,
                        m,
                        Node {
                            trace: node.trace,
                            operator: u8::try_from(operator).expect("sets are words"),
                            processor: u8::try_from(processor).expect("sets are words"),
                            moved_to: u8::try_from(moved_to).expect("sets are words"),
                            used: used & self.network.must_use,
                            order: packed(&order),
                            makespan,
                            bound: promise.bound.max(node.bound),
                            guess: promise.guess.max(makespan),
                            sum: 0,
                        },
                    );
                }
            }
            if target.nodes.is_empty() {
                next.remove(&done);
            }
        }
        made
    }

    /// Earliest start of a ready operator; `None` if it cannot be in time.
    fn start(
        &self,
        values: &[u32],
        slot: Option<usize>,
        operator: usize,
        processor: usize,
    ) -> Option<u32> {
        let m = self.network.processors;
        let start = match slot {
            Some(slot) => values[m * (1 + slot) + processor],
            None => values[processor].max(self.network.heads[operator * m + processor]),
        };
        (start < NEVER && self.network.times[operator * m + processor] < NEVER).then_some(start)
    }

    /// From which start on something else should come first, for any operator but one and for that one.
    ///
    /// If nothing starts before `start`, every processor is idle from when it is free until then.
    /// A ready operator that fits there on some processor, so well that it is never worse off than anywhere later, is moved there: that delays nothing, and it starts earlier.
    fn gap(&self, layout: &Layout, values: &[u32]) -> Gap {
        let mut gap = Gap {
            operator: usize::MAX,
            first: NEVER,
            next: NEVER,
        };
        if self.network.must_use != 0 {
            return gap;
        }
        let m = self.network.processors;
        for (&operator, &slot) in layout.ready.iter().zip(&layout.slots) {
            let least = (0..m)
                .filter_map(|p| self.fits_from(values, slot, operator, p))
                .min()
                .unwrap_or(NEVER);
            if least < gap.first {
                gap.next = gap.first;
                (gap.first, gap.operator) = (least, operator);
            } else {
                gap.next = gap.next.min(least);
            }
        }
        gap
    }

    /// The first start of anything else before which `operator` should run on `processor`.
    fn fits_from(
        &self,
        values: &[u32],
        slot: Option<usize>,
        operator: usize,
        processor: usize,
    ) -> Option<u32> {
        let m = self.network.processors;
        let early = self.start(values, slot, operator, processor)?;
        let end = early + self.network.times[operator * m + processor];
        let mut from = end.max(early + 1);
        for q in 0..m {
            let Some(late) = self
                .start(values, slot, operator, q)
                .filter(|_| q != processor)
            else {
                continue;
            };
            let time = i64::from(self.network.times[operator * m + q]);
            let loss = self.network.losses[(operator * m + processor) * m + q];
            let arrival = i64::from(end) + loss;
            if arrival > i64::from(late) + time {
                from = from.max(u32::try_from(arrival - time).unwrap_or(NEVER));
            }
        }
        Some(from)
    }

    /// Whether a lane stands as the one before it of the same device, so that it need not be tried.
    ///
    /// Their earliest starts differ only where they are free at different times, because all else is the device's.
    fn stands_alike(&self, values: &[u32], processor: usize) -> bool {
        let device = self.network.device_of[processor];
        device != processor && values[processor] == values[processor - 1]
    }

    /// Moves the lane that has just got an operator before those of its device that are free sooner, on the desk; says where it is then.
    ///
    /// The others are in this order already, and it can only move forward.
    fn put_in_order(&mut self, processor: usize, pending: &[usize]) -> usize {
        let (m, first) = (self.network.processors, self.network.device_of[processor]);
        let end = self.desk.free[processor];
        let sooner = |&lane: &usize| self.desk.free[lane] < end;
        let to = (first..processor).find(sooner).unwrap_or(processor);
        if to < processor {
            self.desk.free[to..=processor].rotate_right(1);
            for &operator in pending {
                self.desk.starts[operator * m + to..=operator * m + processor].rotate_right(1);
            }
        }
        to
    }

    /// Puts the state behind a step on the desk.
    fn step(&mut self, values: &[u32], sources: &[Source], processor: usize, start: u32, end: u32) {
        let m = self.network.processors;
        for (p, free) in self.desk.free.iter_mut().enumerate() {
            *free = values[p].max(start);
        }
        self.desk.free[processor] = end.max(values[processor]);
        for source in sources {
            let at = source.operator * m;
            let row = &mut self.desk.starts[at..at + m];
            match source.slot {
                Some(slot) => row.copy_from_slice(&values[m * (1 + slot)..m * (2 + slot)]),
                None => row.copy_from_slice(&self.network.heads[at..at + m]),
            }
            if let Some(edge) = source.edge {
                let delays = self.network.delays(self.network.edges[edge]);
                for (start, &delay) in row.iter_mut().zip(&delays[processor * m..]) {
                    *start = (end + delay).max(*start);
                }
            }
        }
    }
}

/// From which start on an operator leaves a gap before it that another one should fill.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// Who should fill the first gap.
    operator: usize,
    first: u32,
    /// The first gap for anyone else.
    next: u32,
}

impl Gap {
    fn is_left(&self, operator: usize, start: u32) -> bool {
        start
            >= if operator == self.operator {
                self.next
            } else {
                self.first
            }
    }
}

/// Where the earliest starts of a pending operator come from.
struct Source {
    operator: usize,
    /// Its place in the state before.
    slot: Option<usize>,
    /// The edge from the operator of the step.
    edge: Option<usize>,
}

impl Group {
    fn push(&mut self, desk: &Desk, processors: usize, mut node: Node) {
        let at = self.values.len();
        self.values.extend_from_slice(&desk.free);
        for &v in &self.layout.pending {
            self.values
                .extend_from_slice(&desk.starts[v * processors..(v + 1) * processors]);
        }
        node.sum = self.values[at..]
            .iter()
            .map(|&value| u64::from(value))
            .sum();
        self.nodes.push(node);
    }

    /// Removes states that another one dominates.
    fn keep_undominated(&mut self) {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_unstable_by_key(|&index| {
            let node = &self.nodes[index];
            (node.sum, node.bound, node.guess, index)
        });
        let mut values: Vec<u32> = Vec::new();
        let mut nodes: Vec<Node> = Vec::new();
        if self.layout.remaining.is_empty() {
            // Of complete schedules all that counts is the makespan.
            order.sort_unstable_by_key(|&index| (self.nodes[index].makespan, index));
        }
        for index in order {
            let node = self.nodes[index];
            let candidate = self.values(index);
            let dominating =
                values
                    .chunks_exact(self.stride)
                    .zip(&mut nodes)
                    .find(|(other, known)| {
                        node.used & !known.used == 0 && is_no_later(other, candidate)
                    });
            if let Some((_, known)) = dominating {
                known.bound = known.bound.min(node.bound);
            } else {
                values.extend_from_slice(candidate);
                nodes.push(node);
            }
        }
        self.values = values;
        self.nodes = nodes;
    }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn logarithm(count: usize) -> f64 {
    (count as f64).ln()
}

/// Whether all of `first` is at most `second`.
fn is_no_later(first: &[u32], second: &[u32]) -> bool {
    let (chunks, rest) = first.as_chunks::<4>();
    let (others, other_rest) = second.as_chunks::<4>();
    for (a, b) in chunks.iter().zip(others) {
        let mut later = 0_u32;
        for lane in 0..4 {
            later |= b[lane].wrapping_sub(a[lane]);
        }
        // Numbers are below the sign bit, so a difference has it exactly where it is negative.
        if later >> 31 != 0 {
            return false;
        }
    }
    rest.iter().zip(other_rest).all(|(a, b)| a <= b)
}

/// Keeps the most promising states of a layer.
fn narrow(layer: &mut [Group], width: usize, pass: &mut Pass) {
    let mut ranked: Vec<(u32, u64, usize, usize)> = layer
        .iter()
        .enumerate()
        .flat_map(|(group, it)| {
            it.nodes
                .iter()
                .enumerate()
                .map(move |(index, node)| (node.guess, node.sum, group, index))
        })
        .collect();
    ranked.sort_unstable();
    let mut keep: Vec<Vec<bool>> = layer
        .iter()
        .map(|group| vec![false; group.nodes.len()])
        .collect();
    for &(_, _, group, index) in &ranked[..width] {
        keep[group][index] = true;
    }
    pass.truncated += (ranked.len() - width) as u64;
    for (group, keep) in layer.iter_mut().zip(keep) {
        let mut values = Vec::new();
        let mut nodes = Vec::new();
        for (index, keep) in keep.into_iter().enumerate() {
            if keep {
                values.extend_from_slice(group.values(index));
                nodes.push(group.nodes[index]);
            } else {
                pass.bound = pass.bound.min(group.nodes[index].bound);
            }
        }
        group.values = values;
        group.nodes = nodes;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::frontier::{self, Coverage, Reached};
    use super::super::super::oracle::{
        Shape, arabnejad, brute_force_best, from_edges, instance, random_branches, random_problem,
        topcuoglu,
    };
    use super::super::super::{heft, improve, lower_bound};
    use super::*;

    const ANYTHING: Nanoseconds = Nanoseconds::new(1 << 28);

    fn below(problem: &Problem, cutoff: Nanoseconds) -> Below {
        search_below(problem, cutoff, u64::MAX, Budget::UNLIMITED).unwrap()
    }

    fn least(problem: &Problem) -> Nanoseconds {
        let found = below(problem, ANYTHING);
        assert!(found.is_complete);
        let value = schedule(problem, &found.solution.unwrap())
            .objective
            .makespan;
        assert_eq!(value, found.bound);
        value
    }

    #[test]
    fn published_examples_have_the_known_optima() {
        assert_eq!(least(&topcuoglu()), Nanoseconds::new(73));
        assert_eq!(least(&arabnejad()), Nanoseconds::new(113));
    }

    #[test]
    fn blocks_and_layers_have_the_known_optima() {
        for name in [
            "incA_p3", "incC_p3", "inc6_p2", "inc6_p3", "inc6_p4", "tf1_p3", "tf2_p3",
        ] {
            let (problem, known) = instance(name);
            let start = heft(&problem).unwrap();
            let start = improve(&problem, &start, 20_000, Budget::UNLIMITED);
            let found = solve_exactly(&problem, &start, 1_000_000, Budget::UNLIMITED).unwrap();
            assert_eq!(found.proof, Proof::Optimal, "{name}");
            let value = schedule(&problem, &found.value).objective.makespan;
            assert_eq!(value, Nanoseconds::new(known), "{name}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        #[test]
        fn optimum_is_that_of_brute_force(seed: u64, operators in 0..6_usize, processors in 1..4_usize, mask in 0..8_u16, joined: bool) {
            let mut problem = random_problem(seed, Shape { operators, processors, joined });
            problem.must_use = mask & ((1 << processors) - 1);
            let found = below(&problem, ANYTHING);
            prop_assert!(found.is_complete);
            let Some(optimum) = brute_force_best(&problem) else {
                prop_assert_eq!(found.solution, None);
                return Ok(());
            };
            let solution = found.solution.unwrap();
            prop_assert_eq!(schedule(&problem, &solution).objective.makespan, optimum.makespan);
            prop_assert_eq!(found.bound, optimum.makespan);
            prop_assert_eq!(below(&problem, optimum.makespan).solution, None);
            let next = Nanoseconds::new(optimum.makespan.count() + 1);
            prop_assert_eq!(below(&problem, next).bound, optimum.makespan);
            for states in [3, 30] {
                let brief = search_below(&problem, ANYTHING, states, Budget::UNLIMITED).unwrap();
                prop_assert!(brief.bound <= optimum.makespan);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn optimum_on_lanes_is_that_of_brute_force(seed: u64, operators in 1..6_usize, counts in prop::collection::vec(1..4_usize, 2), mask in 0..4_u16, joined: bool) {
            let mut problem = random_problem(seed, Shape { operators, processors: 2, joined });
            problem.must_use = mask;
            let problem = problem.with_lanes(&counts);
            let found = below(&problem, ANYTHING);
            prop_assert!(found.is_complete);
            let Some(optimum) = brute_force_best(&problem) else {
                prop_assert_eq!(found.solution, None);
                return Ok(());
            };
            let solution = found.solution.unwrap();
            prop_assert_eq!(schedule(&problem, &solution).objective.makespan, optimum.makespan);
            prop_assert_eq!(found.bound, optimum.makespan);
            prop_assert!(lower_bound(&problem) <= optimum.makespan);
        }
    }

    /// The least makespan as the other exact search has it.
    fn by_frontier(problem: &Problem) -> Nanoseconds {
        let found = frontier::solve(
            problem,
            &[],
            Coverage::Required,
            u64::MAX,
            Budget::UNLIMITED,
        );
        let found = found.unwrap();
        assert_ne!(found.reached, Reached::Schedules);
        let values = found.exits.iter().map(|exit| exit.objective.makespan);
        values.min().unwrap()
    }

    /// Times that fit no word: some that are whole units, and some that are not.
    #[test]
    fn long_times_are_proven_up_to_the_rounding() {
        for seed in 0..200 {
            let shape = Shape {
                operators: 5,
                processors: 2,
                joined: seed % 2 == 0,
            };
            let problem = random_problem(seed, shape);
            let optimum = brute_force_best(&problem).unwrap().makespan.count();
            for (factor, is_whole) in [(1_u64 << 40, true), (1_000_000_000_007, false)] {
                let mut long = problem.clone();
                let grow = |time: &mut Nanoseconds| *time = Nanoseconds::new(time.count() * factor);
                for operator in &mut long.operators {
                    operator.times.iter_mut().flatten().for_each(grow);
                }
                for tensor in &mut long.tensors {
                    let moves = tensor.moves.iter_mut().flatten().flatten();
                    moves.for_each(|cost| grow(&mut cost.time));
                }
                let anything = Nanoseconds::new(1 << 50);
                let found = search_below(&long, anything, u64::MAX, Budget::UNLIMITED).unwrap();
                let value = schedule(&long, &found.solution.unwrap()).objective.makespan;
                let optimum = Nanoseconds::new(optimum * factor);
                assert!(found.bound <= optimum && optimum <= value, "{seed}");
                assert!(value.count() - found.bound.count() <= 100 << 21, "{seed}");
                assert!(!is_whole || found.is_complete, "{seed}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn identical_branches_have_the_optimum_of_brute_force(seed: u64, shape in 0..4_usize, processors in 1..4_usize, mask in 0..8_u16, is_spoiled: bool) {
            let (branches, length) = [(2, 1), (3, 1), (4, 1), (2, 2)][shape];
            let mut problem = random_branches(seed, branches, length, processors, is_spoiled);
            problem.must_use = mask & ((1 << processors) - 1);
            let optimum = brute_force_best(&problem).map(|best| best.makespan);
            let found = below(&problem, ANYTHING);
            prop_assert!(found.is_complete);
            let value = found.solution.map(|it| schedule(&problem, &it).objective.makespan);
            prop_assert_eq!(value, optimum);
        }
    }

    /// Up to eleven operators, where orders of branches differ from state to state.
    #[test]
    fn identical_branches_have_the_optimum_of_the_frontier_search() {
        for number in 0..120_usize {
            let (branches, length) = [(2, 3), (3, 2), (4, 2), (3, 3)][number % 4];
            let (seed, processors) = (number as u64, 2 + number % 2);
            let problem = random_branches(seed, branches, length, processors, number % 5 == 0);
            assert_eq!(least(&problem), by_frontier(&problem), "{seed}");
        }
    }

    #[test]
    fn nine_operators_have_the_optimum_of_the_frontier_search() {
        for seed in 0..150 {
            let shape = Shape {
                operators: 7 + usize::try_from(seed % 3).unwrap(),
                processors: 2 + usize::try_from(seed % 2).unwrap(),
                joined: seed % 5 == 0,
            };
            let problem = random_problem(seed, shape);
            assert_eq!(least(&problem), by_frontier(&problem), "{seed}");
        }
    }

    /// Some known values were never proven, and shorter schedules exist.
    #[test]
    fn small_published_problems_are_solved_at_or_below_their_known_values() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/solver_tests/instances");
        let instances =
            paracompile_testkit::instances::read_unrelated(std::path::Path::new(folder)).unwrap();
        for instance in instances {
            if instance.durations.len() > 20
                || instance.durations.iter().flatten().any(Option::is_none)
            {
                continue;
            }
            let times: Vec<Vec<u64>> = instance
                .durations
                .iter()
                .map(|row| row.iter().map(|time| time.unwrap()).collect())
                .collect();
            let edges: Vec<(usize, usize)> = instance
                .edges
                .iter()
                .map(|edge| (edge.from, edge.to))
                .collect();
            let problem = from_edges(&times, &edges, |edge, p, q| {
                instance.edges[edge].delays[p][q]
            });
            let value = least(&problem);
            assert!(
                value.count() <= instance.known.unwrap().best,
                "{}",
                instance.name
            );
            if times.len() <= 16 {
                assert_eq!(value, by_frontier(&problem), "{}", instance.name);
            }
        }
    }

    #[test]
    fn six_operators_have_the_optimum_of_brute_force() {
        for seed in 0..60 {
            let joined = seed % 2 == 0;
            let shape = Shape {
                operators: 6,
                processors: 3,
                joined,
            };
            let problem = random_problem(seed, shape);
            let optimum = brute_force_best(&problem).unwrap();
            assert_eq!(least(&problem), optimum.makespan);
        }
    }
}
