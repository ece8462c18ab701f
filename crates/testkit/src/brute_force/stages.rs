//! One stage: all placements, and for each all orders (rules M2 to M5, M7, M9).

use std::collections::{BTreeMap, BTreeSet};

use super::{Instance, Place, Way};

/// Where one live tensor lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    /// The place of its producer: moves start there.
    pub origin: Place,
    /// All places that hold it, that one included.
    pub places: BTreeSet<Place>,
}

/// Where each live tensor lies at a cut: the entry of a stage, and its exit.
pub type State = BTreeMap<usize, Held>;

/// The operators of a stage and those of the stages before it, as bit masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// What has run when the stage starts.
    pub before: u32,
    /// What the stage runs.
    pub operators: u32,
}

/// Who runs what in which order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choice {
    /// Processor of each operator of the stage.
    pub placement: BTreeMap<usize, usize>,
    /// Which queue of its processor each operator is on; none is left out.
    pub queues: BTreeMap<usize, usize>,
    /// Its operators; the order on each queue is the order here.
    pub sequence: Vec<usize>,
}

/// A move of one tensor to one place, from the start of the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// What moves.
    pub tensor: usize,
    /// From where.
    pub from: Place,
    /// To where.
    pub to: Place,
    /// When it starts.
    pub start: u64,
    /// When it ends.
    pub end: u64,
}

/// A choice in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// From the start of the stage to its end.
    pub time: u64,
    /// Dynamic energy of operators and moves.
    pub energy: u64,
    /// Start and end of each operator.
    pub spans: BTreeMap<usize, (u64, u64)>,
    /// Moves.
    pub transfers: Vec<Transfer>,
}

/// The mapping that rule M9 chooses for one (operators, `S`, entry, exit).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageMapping {
    /// Who runs what in which order.
    pub choice: Choice,
    /// `T_s(S)`.
    pub time: u64,
    /// `E_dyn(S)`.
    pub energy: u64,
    /// Where live tensors lie behind it.
    pub exit: State,
}

/// The inputs of the network, where each frame provides them.
pub fn network_entry(instance: &Instance) -> State {
    instance
        .tensors
        .iter()
        .enumerate()
        .filter(|(_, tensor)| tensor.producer.is_none() && !tensor.readers.is_empty())
        .map(|(index, _)| (index, Held::only(instance.io)))
        .collect()
}

/// The least `T_s(S)`, then `E_dyn(S)`, over all mappings of `part` to all of `set`, whatever the exit.
pub fn best_stage(instance: &Instance, part: Part, set: u16, entry: &State) -> Option<(u64, u64)> {
    stage_mappings(instance, part, set, entry)
        .into_iter()
        .map(|mapping| (mapping.time, mapping.energy))
        .min()
}

/// For each exit, the mapping of `part` to all of `set` that rule M9 chooses:
/// least `T_s(S)`, then `E_dyn(S)`, then processors by operator index, then order.
/// Ordered by exit.
pub fn stage_mappings(
    instance: &Instance,
    part: Part,
    set: u16,
    entry: &State,
) -> Vec<StageMapping> {
    let mut best: BTreeMap<State, StageMapping> = BTreeMap::new();
    for (placement, queues) in placements(instance, part, set) {
        let Some(stage) = Stage::new(instance, &placement, &queues, set, entry) else {
            continue;
        };
        let exit = stage.exit(part);
        let energy = stage.energy();
        let known = best
            .get(&exit)
            .map(|mapping| (mapping.time, mapping.energy));
        if let Some((time, sequence)) = Orders::best(&stage, part, known, energy) {
            let mapping = StageMapping {
                choice: Choice {
                    placement,
                    queues,
                    sequence,
                },
                time,
                energy,
                exit: exit.clone(),
            };
            best.insert(exit, mapping);
        }
    }
    best.into_values().collect()
}

/// Processor of each operator, and its queue there.
type Placed = (BTreeMap<usize, usize>, BTreeMap<usize, usize>);

/// Every placement of `part` that uses all of `set`, in lexicographic order of processors, with every way to share out the queues of each.
fn placements(instance: &Instance, part: Part, set: u16) -> impl Iterator<Item = Placed> {
    placements_on_processors(instance, part, set).flat_map(|placement| {
        let queues = queues(instance, &placement);
        queues
            .into_iter()
            .map(move |queues| (placement.clone(), queues))
    })
}

/// Every way to share out the queues of each processor, up to their names: an operator joins a queue in use or opens the next.
fn queues(instance: &Instance, placement: &BTreeMap<usize, usize>) -> Vec<BTreeMap<usize, usize>> {
    let mut all = vec![BTreeMap::new()];
    for (&operator, &processor) in placement {
        all = all
            .iter()
            .flat_map(|queues: &BTreeMap<usize, usize>| {
                let most = instance.processors[processor].sharing.len();
                let open = count(placement, queues, processor);
                (0..most.min(open + 1)).map(|queue| {
                    let mut next = queues.clone();
                    next.insert(operator, queue);
                    next
                })
            })
            .collect();
    }
    all
}

/// How many queues of a processor are in use.
fn count(
    placement: &BTreeMap<usize, usize>,
    queues: &BTreeMap<usize, usize>,
    processor: usize,
) -> usize {
    let own = queues
        .iter()
        .filter(|(operator, _)| placement[operator] == processor);
    own.map(|(_, queue)| queue + 1).max().unwrap_or(0)
}

/// Every placement of `part` that uses all of `set`, in lexicographic order of processors.
fn placements_on_processors(
    instance: &Instance,
    part: Part,
    set: u16,
) -> impl Iterator<Item = BTreeMap<usize, usize>> {
    let members: Vec<usize> = (0..instance.operators.len())
        .filter(|&operator| part.operators & (1 << operator) != 0)
        .collect();
    let processors: Vec<usize> = (0..instance.processors.len())
        .filter(|&processor| set & (1 << processor) != 0)
        .collect();
    // Counting in base |S|, most significant digit first, visits placements in this order.
    let is_possible = !processors.is_empty() && members.len() >= processors.len();
    let mut next = is_possible.then(|| vec![0; members.len()]);
    let base = processors.len();
    std::iter::from_fn(move || {
        let digits = next.take()?;
        let mut behind = digits.clone();
        next = count_up(&mut behind, base).then_some(behind);
        Some(digits)
    })
    .filter(move |digits| (0..base).all(|digit| digits.contains(&digit)))
    .map(move |digits| {
        let placed = members.iter().zip(digits);
        placed
            .map(|(&operator, digit)| (operator, processors[digit]))
            .collect()
    })
}

/// For each exit, the mappings of `part` to all of `set` that no other one beats in `T_s(S)` and `E_dyn(S)`: rule M9 with energy as an objective.
/// Of equal ones the first; ordered by exit, then time.
pub fn trade_offs(instance: &Instance, part: Part, set: u16, entry: &State) -> Vec<StageMapping> {
    let mut all: Vec<StageMapping> = Vec::new();
    for (placement, queues) in placements(instance, part, set) {
        let Some(stage) = Stage::new(instance, &placement, &queues, set, entry) else {
            continue;
        };
        let (exit, energy) = (stage.exit(part), stage.energy());
        // The energy is the same for every order, so that the fastest order is the best.
        if let Some((time, sequence)) = Orders::best(&stage, part, None, energy) {
            all.push(StageMapping {
                choice: Choice {
                    placement,
                    queues,
                    sequence,
                },
                time,
                energy,
                exit,
            });
        }
    }
    let mut kept: Vec<StageMapping> = Vec::new();
    all.sort_by(|a, b| (&a.exit, a.time, a.energy).cmp(&(&b.exit, b.time, b.energy)));
    for mapping in all {
        let is_beaten = kept
            .iter()
            .any(|other| other.exit == mapping.exit && other.energy <= mapping.energy);
        if !is_beaten {
            kept.push(mapping);
        }
    }
    kept
}

/// Times a choice while `used` are in use: the stage's own set, or the plan's (M4).
///
/// `None` where a processor does not support its operator or the chip lacks a link.
pub fn time(instance: &Instance, choice: &Choice, used: u16, entry: &State) -> Option<Timed> {
    let stage = Stage::new(instance, &choice.placement, &choice.queues, used, entry)?;
    let mut spans = Spans::new(instance);
    let mut time = 0;
    for &operator in &choice.sequence {
        time = time.max(stage.run(operator, &mut spans));
    }
    let transfers = stage
        .moves
        .iter()
        .map(|(&(tensor, to), leg)| {
            let start = spans.completed(tensor);
            Transfer {
                tensor,
                from: leg.from,
                to,
                start,
                end: start + leg.time,
            }
        })
        .collect();
    Some(Timed {
        time,
        energy: stage.energy(),
        spans: choice
            .sequence
            .iter()
            .map(|&operator| (operator, spans.of_operators[operator]))
            .collect(),
        transfers,
    })
}

impl Held {
    fn only(place: Place) -> Self {
        Self {
            origin: place,
            places: BTreeSet::from([place]),
        }
    }
}

/// Adds one to a number in base `base`; false after the last one.
fn count_up(digits: &mut [usize], base: usize) -> bool {
    for digit in digits.iter_mut().rev() {
        *digit += 1;
        if *digit < base {
            return true;
        }
        *digit = 0;
    }
    false
}

/// How one tensor gets to one place.
#[derive(Clone, Copy, Debug)]
struct Leg {
    from: Place,
    time: u64,
    energy: u64,
}

/// A placement, and the moves that it needs: they are independent of the order.
struct Stage<'a> {
    instance: &'a Instance,
    placement: &'a BTreeMap<usize, usize>,
    queues: &'a BTreeMap<usize, usize>,
    used: u16,
    /// Where tensors lie: those that enter at the start, those that are written here at their producer.
    state: State,
    /// By tensor and target.
    moves: BTreeMap<(usize, Place), Leg>,
}

impl<'a> Stage<'a> {
    /// `None` where a processor does not support its operator or the chip lacks a link.
    fn new(
        instance: &'a Instance,
        placement: &'a BTreeMap<usize, usize>,
        queues: &'a BTreeMap<usize, usize>,
        used: u16,
        entry: &State,
    ) -> Option<Self> {
        let mut stage = Self {
            instance,
            placement,
            queues,
            used,
            state: entry.clone(),
            moves: BTreeMap::new(),
        };
        for (&operator, &processor) in placement {
            stage.duration(operator, processor)?;
            for &tensor in &instance.operators[operator].writes {
                let held = Held::only(instance.processors[processor].home);
                stage.state.insert(tensor, held);
            }
        }
        for (&operator, &processor) in placement {
            for &tensor in &instance.operators[operator].reads {
                stage.bring(tensor, instance.processors[processor].home)?;
            }
            for &tensor in &instance.operators[operator].writes {
                if instance.tensors[tensor].is_output {
                    stage.bring(tensor, instance.io)?;
                }
            }
        }
        Some(stage)
    }

    fn duration(&self, operator: usize, processor: usize) -> Option<u64> {
        let queues = count(self.placement, self.queues, processor);
        self.instance
            .duration(operator, processor, queues, self.used)
    }

    /// Plans the move of a tensor to a place (M3): none where its origin fits, or where an earlier stage has brought it to that very place.
    fn bring(&mut self, tensor: usize, to: Place) -> Option<()> {
        let held = &self.state[&tensor];
        if held.places.contains(&to) {
            return Some(());
        }
        let bytes = self.instance.tensors[tensor].bytes;
        match self.instance.way(bytes, held.origin, to) {
            Way::Fits => Some(()),
            Way::Move { time, energy } => {
                let from = held.origin;
                self.moves.insert((tensor, to), Leg { from, time, energy });
                Some(())
            }
            Way::Missing => None,
        }
    }

    /// Where tensors that are still to be read lie behind the stage.
    fn exit(&self, part: Part) -> State {
        let mut exit = self.state.clone();
        for &(tensor, to) in self.moves.keys() {
            if let Some(held) = exit.get_mut(&tensor) {
                held.places.insert(to);
            }
        }
        let ran = part.before | part.operators;
        exit.retain(|&tensor, _| {
            self.instance.tensors[tensor]
                .readers
                .iter()
                .any(|&reader| ran & (1 << reader) == 0)
        });
        exit
    }

    /// Dynamic energy (M11); it is the same for every order.
    fn energy(&self) -> u64 {
        let operators: u64 = self
            .placement
            .iter()
            .map(|(&operator, &processor)| {
                self.instance
                    .energy(operator, processor, self.used)
                    .expect("placements are supported, as the constructor has found")
            })
            .sum();
        operators + self.moves.values().map(|leg| leg.energy).sum::<u64>()
    }

    /// Runs an operator as early as its queue and its operands allow.
    /// Returns when it has ended and its outputs are home.
    fn run(&self, operator: usize, spans: &mut Spans) -> u64 {
        let (processor, queue) = (self.placement[&operator], self.queues[&operator]);
        let home = self.instance.processors[processor].home;
        let arrival = |&tensor: &usize| {
            let delay = self.moves.get(&(tensor, home)).map_or(0, |leg| leg.time);
            spans.completed(tensor) + delay
        };
        let start = self.instance.operators[operator]
            .reads
            .iter()
            .map(arrival)
            .fold(
                spans.free_at.get(&(processor, queue)).copied().unwrap_or(0),
                u64::max,
            );
        let duration = self
            .duration(operator, processor)
            .expect("placements are supported, as the constructor has found");
        let end = start + duration;
        spans.free_at.insert((processor, queue), end);
        spans.of_operators[operator] = (start, end);
        let outputs_home = self.instance.operators[operator]
            .writes
            .iter()
            .filter(|&&tensor| self.instance.tensors[tensor].is_output)
            .map(|&tensor| {
                let leg = self.moves.get(&(tensor, self.instance.io));
                end + leg.map_or(0, |leg| leg.time)
            });
        for &tensor in &self.instance.operators[operator].writes {
            spans.completed[tensor] = end;
        }
        outputs_home.fold(end, u64::max)
    }
}

/// Times while an order grows.
#[derive(Clone)]
struct Spans {
    of_operators: Vec<(u64, u64)>,
    /// By processor and queue.
    free_at: BTreeMap<(usize, usize), u64>,
    /// When each tensor is complete at its origin; zero for those that enter.
    completed: Vec<u64>,
}

impl Spans {
    fn new(instance: &Instance) -> Self {
        Self {
            of_operators: vec![(0, 0); instance.operators.len()],
            free_at: BTreeMap::new(),
            completed: vec![0; instance.tensors.len()],
        }
    }

    fn completed(&self, tensor: usize) -> u64 {
        self.completed[tensor]
    }
}

/// The orders of one placement, in lexicographic order; those that cannot be better are left early.
struct Orders<'a> {
    stage: &'a Stage<'a>,
    part: Part,
    /// The largest time that still counts; `None` where none does.
    limit: Option<u64>,
    found: Option<(u64, Vec<usize>)>,
}

impl<'a> Orders<'a> {
    /// The least time and the first order that reaches it, if it beats `known` in (time, energy).
    fn best(
        stage: &'a Stage<'a>,
        part: Part,
        known: Option<(u64, u64)>,
        energy: u64,
    ) -> Option<(u64, Vec<usize>)> {
        let limit = match known {
            None => Some(u64::MAX),
            Some((time, known_energy)) if energy < known_energy => Some(time),
            Some((time, _)) => time.checked_sub(1),
        };
        let mut orders = Self {
            stage,
            part,
            limit,
            found: None,
        };
        orders.extend(&mut Vec::new(), &Spans::new(stage.instance), 0);
        orders.found
    }

    fn extend(&mut self, sequence: &mut Vec<usize>, spans: &Spans, time: u64) {
        if self.limit.is_none_or(|limit| time > limit) {
            return;
        }
        let placed = sequence
            .iter()
            .fold(0, |mask: u32, operator| mask | 1 << operator);
        if placed == self.part.operators {
            self.limit = time.checked_sub(1);
            self.found = Some((time, sequence.clone()));
            return;
        }
        for operator in 0..self.stage.instance.operators.len() {
            let is_open = self.part.operators & !placed & (1 << operator) != 0;
            let waits_for =
                self.stage.instance.predecessors(operator) & self.part.operators & !placed;
            if is_open && waits_for == 0 {
                let mut next = spans.clone();
                let end = self.stage.run(operator, &mut next);
                sequence.push(operator);
                self.extend(sequence, &next, time.max(end));
                sequence.pop();
            }
        }
    }
}
