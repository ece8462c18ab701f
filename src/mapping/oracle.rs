//! Problems for tests and a brute force that judges the solvers.
//!
//! The brute force is written from the rules of `docs/model.md`, has timing code of its own, and calls nothing of this module but the problem's types.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_frontend::cost::Move;
use paracompile_plan::{Nanojoules, Nanoseconds};

use super::{Objective, Operator, Problem, Tensor};

/// Holders of each leaving tensor, its source first.
pub(super) type Holders = Vec<Vec<usize>>;

/// The least objective of each (holders of the leaving tensors, set of used processors).
pub(super) fn brute_force(
    problem: &Problem,
    leaving: &[usize],
) -> BTreeMap<(Holders, u16), Objective> {
    judged(problem, leaving).best
}

/// The (makespan, energy) points of each that no other point of it covers.
pub(super) fn brute_force_fronts(
    problem: &Problem,
    leaving: &[usize],
) -> BTreeMap<(Holders, u16), BTreeSet<(u64, u64)>> {
    judged(problem, leaving).fronts
}

fn judged<'a>(problem: &'a Problem, leaving: &'a [usize]) -> BruteForce<'a> {
    let mut search = BruteForce {
        problem,
        leaving,
        placed: vec![None; problem.operators.len()],
        free_at: vec![0; problem.homes.len()],
        best: BTreeMap::new(),
        fronts: BTreeMap::new(),
    };
    search.extend();
    search
}

/// The least objective with every required processor in use.
pub(super) fn brute_force_best(problem: &Problem) -> Option<Objective> {
    brute_force(problem, &[])
        .into_iter()
        .filter(|((_, used), _)| problem.must_use & !used == 0)
        .map(|(_, objective)| objective)
        .min()
}

struct BruteForce<'a> {
    problem: &'a Problem,
    leaving: &'a [usize],
    /// Processor and end of each placed operator.
    placed: Vec<Option<(usize, u64)>>,
    free_at: Vec<u64>,
    best: BTreeMap<(Holders, u16), Objective>,
    fronts: BTreeMap<(Holders, u16), BTreeSet<(u64, u64)>>,
}

impl BruteForce<'_> {
    fn extend(&mut self) {
        let problem = self.problem;
        let mut complete = true;
        for operator in 0..problem.operators.len() {
            if self.placed[operator].is_some() {
                continue;
            }
            complete = false;
            let inputs = &problem.operators[operator].reads;
            let is_ready = inputs.iter().all(|&t| {
                problem.tensors[t]
                    .producer
                    .is_none_or(|p| self.placed[p].is_some())
            });
            if !is_ready {
                continue;
            }
            for processor in 0..problem.homes.len() {
                let Some(duration) = problem.operators[operator].times[processor] else {
                    continue;
                };
                let at = problem.homes[processor];
                let arrived = inputs
                    .iter()
                    .map(|&t| self.arrival(t, at))
                    .max()
                    .unwrap_or(0);
                let before = self.free_at[processor];
                let end = before.max(arrived) + duration.count();
                self.free_at[processor] = end;
                self.placed[operator] = Some((processor, end));
                self.extend();
                self.placed[operator] = None;
                self.free_at[processor] = before;
            }
        }
        if complete {
            self.judge();
        }
    }

    /// Where a tensor is first, and when.
    fn source(&self, tensor: usize) -> (usize, u64) {
        match self.problem.tensors[tensor].producer {
            Some(producer) => {
                let (processor, end) = self.placed[producer].unwrap();
                (self.problem.homes[processor], end)
            }
            None => (self.problem.tensors[tensor].held[0], 0),
        }
    }

    fn is_there(&self, tensor: usize, at: usize) -> bool {
        let t = &self.problem.tensors[tensor];
        // Copies serve readers at exactly their location, as copies made in this stage do.
        t.moves[self.source(tensor).0][at].is_none() || t.held.contains(&at)
    }

    fn arrival(&self, tensor: usize, at: usize) -> u64 {
        let (from, ready) = self.source(tensor);
        if self.is_there(tensor, at) {
            ready
        } else {
            ready
                + self.problem.tensors[tensor].moves[from][at]
                    .unwrap()
                    .time
                    .count()
        }
    }

    fn judge(&mut self) {
        let problem = self.problem;
        let mut makespan = 0;
        let mut energy = 0;
        let mut used = 0_u16;
        let mut moved = vec![Vec::new(); problem.tensors.len()];
        for (operator, placed) in self.placed.iter().enumerate() {
            let (processor, end) = placed.unwrap();
            makespan = makespan.max(end);
            used |= 1 << processor;
            energy += problem.operators[operator].energies[processor].count();
            for &tensor in &problem.operators[operator].reads {
                let at = problem.homes[processor];
                if !self.is_there(tensor, at) && !moved[tensor].contains(&at) {
                    moved[tensor].push(at);
                }
            }
        }
        for (index, tensor) in problem.tensors.iter().enumerate() {
            if tensor.to_io && tensor.producer.is_some() {
                makespan = makespan.max(self.arrival(index, problem.io));
                if !self.is_there(index, problem.io) && !moved[index].contains(&problem.io) {
                    moved[index].push(problem.io);
                }
            }
            for &at in &moved[index] {
                energy += tensor.moves[self.source(index).0][at]
                    .unwrap()
                    .energy
                    .count();
            }
        }
        let holders: Holders = self
            .leaving
            .iter()
            .map(|&tensor| {
                let (source, _) = self.source(tensor);
                let mut others = moved[tensor].clone();
                others.extend(&problem.tensors[tensor].held);
                others.retain(|&location| location != source);
                others.sort_unstable();
                others.dedup();
                others.insert(0, source);
                others
            })
            .collect();
        let objective = Objective {
            makespan: Nanoseconds::new(makespan),
            energy: Nanojoules::new(energy),
        };
        let front = self.fronts.entry((holders.clone(), used)).or_default();
        if !front.iter().any(|&(t, e)| t <= makespan && e <= energy) {
            front.retain(|&(t, e)| t < makespan || e < energy);
            front.insert((makespan, energy));
        }
        let best = self.best.entry((holders, used)).or_insert(objective);
        *best = objective.min(*best);
    }
}

/// A small generator, so that a problem is a function of one number.
#[derive(Clone, Debug)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// A number below `sides`.
    pub(super) fn below(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// An index below `sides`.
    pub(super) fn index(&mut self, sides: usize) -> usize {
        usize::try_from(self.below(sides as u64)).unwrap()
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.below(sides) == 0
    }
}

/// What random problems look like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) operators: usize,
    pub(super) processors: usize,
    /// Whether the last operator reads, directly or not, what all others write.
    pub(super) joined: bool,
}

/// Locations, which of them fit, and costs of moves.
struct Places {
    locations: Vec<(u64, u64)>,
}

impl Places {
    fn random(dice: &mut Dice, count: usize) -> Self {
        Self {
            locations: (0..count).map(|_| (dice.below(3), dice.below(3))).collect(),
        }
    }

    fn fit(&self, a: usize, b: usize) -> bool {
        let ((memory, layout), (other, order)) = (self.locations[a], self.locations[b]);
        a == b || (memory == other && (layout == order || layout == 0 || order == 0))
    }

    fn moves(&self, dice: &mut Dice) -> Vec<Vec<Option<Move>>> {
        let count = self.locations.len();
        (0..count)
            .map(|a| {
                (0..count)
                    .map(|b| {
                        (!self.fit(a, b)).then(|| Move {
                            time: Nanoseconds::new(dice.below(8)),
                            energy: Nanojoules::new(dice.below(6)),
                        })
                    })
                    .collect()
            })
            .collect()
    }
}

impl Problem {
    /// The same problem with so many lanes of each processor; a processor that is required is as its first lane.
    pub(super) fn with_lanes(mut self, counts: &[usize]) -> Self {
        let lanes: Vec<usize> = (0..self.homes.len())
            .flat_map(|p| std::iter::repeat_n(p, counts[p]))
            .collect();
        let first = |p: usize| lanes.iter().position(|&other| other == p).unwrap();
        self.devices = lanes.iter().map(|&p| first(p)).collect();
        let required = (0..self.homes.len()).filter(|p| self.must_use >> p & 1 == 1);
        self.must_use = required.fold(0, |mask, p| mask | 1 << first(p));
        self.homes = lanes.iter().map(|&p| self.homes[p]).collect();
        for operator in &mut self.operators {
            operator.times = lanes.iter().map(|&p| operator.times[p]).collect();
            operator.energies = lanes.iter().map(|&p| operator.energies[p]).collect();
        }
        self
    }

    /// The same problem with all of `twins` alike: as the first of them that there is.
    pub(super) fn with_twins(mut self, twins: &[usize]) -> Self {
        let twins: Vec<usize> = twins
            .iter()
            .copied()
            .filter(|&p| p < self.homes.len())
            .collect();
        let Some(&first) = twins.first() else {
            return self;
        };
        for &twin in &twins {
            self.homes[twin] = self.homes[first];
            for operator in &mut self.operators {
                operator.times[twin] = operator.times[first];
                operator.energies[twin] = operator.energies[first];
            }
            let is_required = self.must_use >> first & 1;
            self.must_use = self.must_use & !(1 << twin) | is_required << twin;
        }
        // Whatever ran on one of them alone may run nowhere now.
        for operator in &mut self.operators {
            if operator.times.iter().all(Option::is_none) {
                operator.times.fill(Some(Nanoseconds::new(5)));
            }
        }
        self
    }
}

/// A random problem with unsupported operators, entering tensors, outputs, zero durations and ties.
pub(super) fn random_problem(seed: u64, shape: Shape) -> Problem {
    let mut dice = Dice(seed);
    let locations = shape.processors + 2;
    let places = Places::random(&mut dice, locations);
    let mut problem = Problem {
        homes: (0..shape.processors)
            .map(|_| dice.index(locations))
            .collect(),
        locations,
        io: dice.index(locations),
        operators: Vec::new(),
        tensors: Vec::new(),
        must_use: 0,
        devices: Vec::new(),
    };
    for _ in 0..=dice.below(2) {
        let mut held = vec![dice.index(locations)];
        let other = dice.index(locations);
        if dice.one_in(2) && other != held[0] {
            held.push(other);
        }
        problem.tensors.push(Tensor {
            held,
            to_io: dice.one_in(4),
            moves: places.moves(&mut dice),
            ..Tensor::default()
        });
    }
    for index in 0..shape.operators {
        let mut operator = random_operator(&mut dice, shape.processors);
        for tensor in 0..problem.tensors.len() {
            let unread = problem.tensors[tensor].readers.is_empty();
            let last = shape.joined && index + 1 == shape.operators;
            if dice.one_in(4) || (unread && (last || dice.one_in(3))) {
                operator.reads.push(tensor);
                problem.tensors[tensor].readers.push(index);
            }
        }
        for _ in 0..=u64::from(dice.one_in(4)) {
            operator.writes.push(problem.tensors.len());
            problem.tensors.push(Tensor {
                producer: Some(index),
                to_io: dice.one_in(5),
                moves: places.moves(&mut dice),
                ..Tensor::default()
            });
        }
        problem.operators.push(operator);
    }
    problem
}

fn random_operator(dice: &mut Dice, processors: usize) -> Operator {
    let certain = dice.index(processors);
    Operator {
        times: (0..processors)
            .map(|p| (p == certain || !dice.one_in(5)).then(|| Nanoseconds::new(dice.below(12))))
            .collect(),
        energies: (0..processors)
            .map(|_| Nanojoules::new(dice.below(9)))
            .collect(),
        ..Operator::default()
    }
}

/// A problem given as edges: one tensor an edge, entries start anywhere at no cost, every processor at a location of its own.
pub(super) fn from_edges(
    times: &[Vec<u64>],
    edges: &[(usize, usize)],
    move_time: impl Fn(usize, usize, usize) -> u64,
) -> Problem {
    let processors = times[0].len();
    let mut problem = Problem {
        homes: (0..processors).collect(),
        locations: processors,
        io: 0,
        operators: times
            .iter()
            .map(|row| Operator {
                times: row
                    .iter()
                    .map(|&time| Some(Nanoseconds::new(time)))
                    .collect(),
                // Watts of 3, 1 and 2 in turn, so that energy and time disagree.
                energies: row
                    .iter()
                    .zip([3, 1, 2, 4].into_iter().cycle())
                    .map(|(&time, watts)| Nanojoules::new(time * watts))
                    .collect(),
                ..Operator::default()
            })
            .collect(),
        tensors: Vec::new(),
        must_use: 0,
        devices: Vec::new(),
    };
    for (edge, &(from, to)) in edges.iter().enumerate() {
        problem.operators[from].writes.push(edge);
        problem.operators[to].reads.push(edge);
        let moves = (0..processors)
            .map(|a| {
                (0..processors)
                    .map(|b| {
                        let time = move_time(edge, a, b);
                        (a != b).then(|| Move {
                            time: Nanoseconds::new(time),
                            energy: Nanojoules::new(time),
                        })
                    })
                    .collect()
            })
            .collect();
        problem.tensors.push(Tensor {
            producer: Some(from),
            readers: vec![to],
            moves,
            ..Tensor::default()
        });
    }
    problem
}

#[derive(serde::Deserialize)]
struct Instance {
    /// Negative where an operator is not supported.
    t: Vec<Vec<i64>>,
    edges: Vec<(usize, usize)>,
    comm: Vec<Vec<Vec<u64>>>,
}

/// The instances of `solver_tests/instances` that have a file of their own.
pub(super) const INSTANCES: [&str; 22] = [
    "incA_p3",
    "incC_p3",
    "inc6_p2",
    "inc6_p3",
    "inc6_p4",
    "tf1_p3",
    "tf2_p3",
    "tf4_p3",
    "tf8_p3",
    "tf16_p2",
    "tf16_p3",
    "tf16_p4",
    "petr1_p3",
    "petr3_p3",
    "nas50_p3",
    "nas100_p3",
    "lay50_p3",
    "lay100_p3",
    "incv3_p3",
    "incv4_p2",
    "incv4_p3",
    "incv4_p4",
];

/// An instance of `solver_tests/instances`, and its best known value.
pub(super) fn instance(name: &str) -> (Problem, u64) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/solver_tests/instances");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    let instance: Instance = serde_json::from_str(&text).unwrap();
    let known = std::fs::read_to_string(format!("{folder}/best_known.json")).unwrap();
    let known: serde_json::Value = serde_json::from_str(&known).unwrap();
    let best = known[name]["best_known"].as_u64().unwrap();
    let times: Vec<Vec<u64>> = instance
        .t
        .iter()
        .map(|row| row.iter().map(|&time| time.max(0).unsigned_abs()).collect())
        .collect();
    let mut problem = from_edges(&times, &instance.edges, |edge, a, b| {
        instance.comm[edge][a][b]
    });
    for (operator, row) in problem.operators.iter_mut().zip(&instance.t) {
        for (slot, &time) in operator.times.iter_mut().zip(row) {
            if time < 0 {
                *slot = None;
            }
        }
    }
    (problem, best)
}

/// The example of Topcuoglu, Hariri and Wu (2002): HEFT reaches 80, the optimum is 73.
pub(super) fn topcuoglu() -> Problem {
    let times = [
        [14, 16, 9],
        [13, 19, 18],
        [11, 13, 19],
        [13, 8, 17],
        [12, 13, 10],
        [13, 16, 9],
        [7, 15, 11],
        [5, 11, 14],
        [18, 12, 20],
        [21, 7, 16],
    ];
    let edges = [
        (1, 2, 18),
        (1, 3, 12),
        (1, 4, 9),
        (1, 5, 11),
        (1, 6, 14),
        (2, 8, 19),
        (2, 9, 16),
        (3, 7, 23),
        (4, 8, 27),
        (4, 9, 23),
        (5, 9, 13),
        (6, 8, 15),
        (7, 10, 17),
        (8, 10, 11),
        (9, 10, 13),
    ];
    textbook(&times, &edges)
}

/// The example of Arabnejad and Barbosa (2014): HEFT reaches 133, the optimum is 113.
pub(super) fn arabnejad() -> Problem {
    let times = [
        [22, 21, 36],
        [22, 18, 18],
        [32, 27, 43],
        [7, 10, 4],
        [29, 27, 35],
        [26, 17, 24],
        [14, 25, 30],
        [29, 23, 36],
        [15, 21, 8],
        [13, 16, 33],
    ];
    let edges = [
        (1, 2, 17),
        (1, 3, 31),
        (1, 4, 29),
        (1, 5, 13),
        (1, 6, 7),
        (2, 8, 3),
        (2, 9, 30),
        (3, 7, 16),
        (4, 8, 11),
        (4, 9, 7),
        (5, 9, 57),
        (6, 8, 5),
        (7, 10, 9),
        (8, 10, 42),
        (9, 10, 7),
    ];
    textbook(&times, &edges)
}

fn textbook(times: &[[u64; 3]], edges: &[(usize, usize, u64)]) -> Problem {
    let times: Vec<Vec<u64>> = times.iter().map(|row| row.to_vec()).collect();
    let pairs: Vec<(usize, usize)> = edges.iter().map(|&(a, b, _)| (a - 1, b - 1)).collect();
    from_edges(&times, &pairs, |edge, _, _| edges[edge].2)
}

/// Blocks of parallel operators between gates, as a network: its inputs are at `io`, and its last tensors must end there.
pub(super) fn random_series(seed: u64, blocks: usize, processors: usize) -> Problem {
    let mut dice = Dice(seed);
    let locations = processors + 1;
    let places = Places::random(&mut dice, locations);
    let mut problem = Problem {
        homes: (0..processors).map(|_| dice.index(locations)).collect(),
        locations,
        io: dice.index(locations),
        ..Problem::default()
    };
    let mut open = vec![push_tensor(&mut problem, &mut dice, &places, None)];
    for block in 0..blocks {
        let gate = push_operator(&mut problem, &mut dice, &open);
        open = (0..=dice.index(2))
            .map(|_| push_tensor(&mut problem, &mut dice, &places, Some(gate)))
            .collect();
        let crossing = open.clone();
        for _ in 0..dice.index(3) {
            let from = crossing[dice.index(crossing.len())];
            let inner = push_operator(&mut problem, &mut dice, &[from]);
            open.push(push_tensor(&mut problem, &mut dice, &places, Some(inner)));
        }
        if block + 1 == blocks {
            let last = push_operator(&mut problem, &mut dice, &open);
            let output = push_tensor(&mut problem, &mut dice, &places, Some(last));
            problem.tensors[output].to_io = true;
        } else if dice.one_in(8) {
            problem.tensors[crossing[0]].to_io = true;
        }
    }
    problem
}

/// Branches between two operators that are all alike, but for one time in some of them where `is_spoiled`.
pub(super) fn random_branches(
    seed: u64,
    branches: usize,
    length: usize,
    processors: usize,
    is_spoiled: bool,
) -> Problem {
    let mut dice = Dice(seed);
    let count = 2 + branches * length;
    let mut row = || -> Vec<u64> { (0..processors).map(|_| 1 + dice.below(9)).collect() };
    let (first, last) = (row(), row());
    let alike: Vec<Vec<u64>> = (0..length).map(|_| row()).collect();
    let mut times = vec![first];
    times.extend((0..branches).flat_map(|_| alike.clone()));
    times.push(last);
    if is_spoiled {
        times[1 + dice.index(branches * length)][dice.index(processors)] += 1;
    }
    // Edges of a branch: its operators in a row or side by side, and a way round.
    let is_row = length < 2 || !dice.one_in(3);
    let has_way_round = length > 1 && dice.one_in(2);
    let mut edges = Vec::new();
    let mut kinds = Vec::new();
    for branch in 0..branches {
        let at = |place: usize| 1 + branch * length + place;
        let mut push = |from, to, kind| {
            edges.push((from, to));
            kinds.push(kind);
        };
        for place in 0..length {
            let is_first = place == 0 || !is_row;
            push(if is_first { 0 } else { at(place - 1) }, at(place), place);
            if place + 1 == length || !is_row || place == 0 && has_way_round {
                push(at(place), count - 1, length + place);
            }
        }
    }
    let delays: Vec<u64> = (0..2 * length * processors * processors)
        .map(|_| dice.below(6))
        .collect();
    from_edges(&times, &edges, |edge, a, b| {
        delays[(kinds[edge] * processors + a) * processors + b]
    })
}

fn push_operator(problem: &mut Problem, dice: &mut Dice, reads: &[usize]) -> usize {
    let index = problem.operators.len();
    let mut operator = random_operator(dice, problem.homes.len());
    operator.reads = reads.to_vec();
    operator.reads.sort_unstable();
    for &tensor in reads {
        problem.tensors[tensor].readers.push(index);
    }
    problem.operators.push(operator);
    index
}

fn push_tensor(
    problem: &mut Problem,
    dice: &mut Dice,
    places: &Places,
    producer: Option<usize>,
) -> usize {
    let index = problem.tensors.len();
    let held = if producer.is_none() {
        vec![problem.io]
    } else {
        Vec::new()
    };
    if let Some(producer) = producer {
        problem.operators[producer].writes.push(index);
    }
    problem.tensors.push(Tensor {
        producer,
        held,
        moves: places.moves(dice),
        ..Tensor::default()
    });
    index
}
