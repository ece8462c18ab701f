//! The problem inside a stage: R|prec, comm|Cmax with one move a tensor and destination, in integers.
//!
//! Indices are local and dense, so that solvers can use plain vectors and bit masks.
//! Slowdowns of the stage's processor set are already applied.

use std::ops::Range;

use paracompile_frontend::cost::Move;
use paracompile_plan::{Nanojoules, Nanoseconds};

/// Operators to place on processors so that the last one, and the last move of an output to `io`, ends as early as possible.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// Location of each processor; its length is the number of processors, at most 16.
    pub homes: Vec<usize>,
    /// How many locations there are; processors' homes, those of entry tensors, and `io` are below it.
    pub locations: usize,
    /// Location where tensors with [`Tensor::to_io`] must end.
    pub io: usize,
    /// Operators in topological order.
    pub operators: Vec<Operator>,
    /// Tensors, in any order.
    pub tensors: Vec<Tensor>,
    /// Processors that must run at least one operator, as a bit mask (rule M2); of a device with several lanes the first.
    pub must_use: u16,
    /// For each processor the first lane of its device (rule M10), which is the processor itself where a device has one lane; empty if all have.
    ///
    /// The lanes of a device follow each other, stand at one home and take the same times and energies.
    pub devices: Vec<usize>,
}

/// One operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operator {
    /// Duration on each processor; `None` where it is not supported.
    pub times: Vec<Option<Nanoseconds>>,
    /// Dynamic energy on each processor, as meaningful as the duration.
    pub energies: Vec<Nanojoules>,
    /// Tensors that it reads, each once.
    pub reads: Vec<usize>,
    /// Tensors that it writes, each once.
    pub writes: Vec<usize>,
}

/// One tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensor {
    /// The operator that writes it; `None` for a tensor that enters.
    pub producer: Option<usize>,
    /// For a tensor that enters: the locations that hold it when the stage starts, the producer's first; moves start from the first.
    /// See [`Tensor::is_held_for`] for whom they serve.
    pub held: Vec<usize>,
    /// Operators that read it, each once, ascending.
    pub readers: Vec<usize>,
    /// Whether it must end in `io`: then a move there from the producer's location counts to the makespan, unless it is there already or fits.
    /// Where it enters, an earlier stage has done that.
    pub to_io: bool,
    /// `moves[a][b]`: cost of a move from location `a` to `b`; `None` where they fit and nothing moves.
    pub moves: Vec<Vec<Option<Move>>>,
}

/// What a solution is judged by, in this order; least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Objective {
    /// From the start of the stage to its end (rule M5).
    pub makespan: Nanoseconds,
    /// Dynamic energy of operators and moves (rule M11).
    pub energy: Nanojoules,
}

impl Problem {
    /// Every `(producer, reader, tensor)`, ascending: tensors between the same two operators stand together.
    pub(super) fn dependencies(&self) -> Vec<(usize, usize, usize)> {
        let mut dependencies: Vec<(usize, usize, usize)> = self
            .tensors
            .iter()
            .enumerate()
            .filter_map(|(index, tensor)| tensor.producer.map(|producer| (index, producer)))
            .flat_map(|(index, producer)| {
                let readers = self.tensors[index].readers.iter();
                readers.map(move |&reader| (producer, reader, index))
            })
            .collect();
        dependencies.sort_unstable();
        dependencies
    }

    /// The operators of a range of positions as a problem of their own, and which tensor each of its tensors is here.
    ///
    /// `held` says where a tensor is that is written before the range or enters.
    pub(super) fn part(
        &self,
        range: Range<usize>,
        held: impl Fn(usize) -> Vec<usize>,
    ) -> (Self, Vec<usize>) {
        let mut tensors: Vec<usize> = self.operators[range.clone()]
            .iter()
            .flat_map(|operator| operator.reads.iter().chain(&operator.writes).copied())
            .collect();
        tensors.sort_unstable();
        tensors.dedup();
        let local = |tensor: &usize| {
            tensors
                .binary_search(tensor)
                .expect("the part holds every tensor that its operators touch")
        };
        let operators = self.operators[range.clone()]
            .iter()
            .map(|operator| Operator {
                reads: operator.reads.iter().map(local).collect(),
                writes: operator.writes.iter().map(local).collect(),
                ..operator.clone()
            })
            .collect();
        let part = Self {
            homes: self.homes.clone(),
            locations: self.locations,
            io: self.io,
            operators,
            tensors: tensors
                .iter()
                .map(|&index| self.tensors[index].within(&range, || held(index)))
                .collect(),
            must_use: 0,
            devices: self.devices.clone(),
        };
        (part, tensors)
    }

    /// Processors that run at least one of the operators, as a bit mask.
    pub fn eligible(&self) -> u16 {
        (0..self.homes.len())
            .filter(|&processor| {
                self.operators
                    .iter()
                    .any(|operator| operator.times[processor].is_some())
            })
            .fold(0, |set, processor| set | 1 << processor)
    }

    /// The first lane of the device that a processor is a lane of.
    pub fn device(&self, processor: usize) -> usize {
        self.devices.get(processor).copied().unwrap_or(processor)
    }

    /// Whether a device has several lanes.
    pub fn has_lanes(&self) -> bool {
        (0..self.homes.len()).any(|processor| self.device(processor) != processor)
    }

    /// Devices that run at least one of the operators, each as the bit of its first lane.
    pub fn eligible_devices(&self) -> u16 {
        (0..self.homes.len())
            .filter(|&processor| self.device(processor) == processor)
            .fold(0, |set, processor| set | 1 << processor)
            & self.eligible()
    }

    /// The devices that placed operators are on, each as the bit of its first lane.
    pub(super) fn devices_of(&self, processors: &[usize]) -> u16 {
        let devices = processors.iter().map(|&processor| self.device(processor));
        devices.fold(0, |set, device| set | 1 << device)
    }
}

impl Tensor {
    /// As the operators of a range see it; `held` says where it is if none of them writes it.
    fn within(&self, range: &Range<usize>, held: impl FnOnce() -> Vec<usize>) -> Self {
        let producer = self.producer.filter(|producer| range.contains(producer));
        Self {
            producer: producer.map(|producer| producer - range.start),
            held: match producer {
                Some(_) => Vec::new(),
                None => held(),
            },
            readers: self
                .readers
                .iter()
                .filter(|reader| range.contains(reader))
                .map(|reader| reader - range.start)
                .collect(),
            to_io: self.to_io,
            moves: self.moves.clone(),
        }
    }

    /// Whether a reader at `home` can read a tensor that enters without a move: it is where it was written and that fits, or it was moved to exactly there.
    pub fn is_held_for(&self, home: usize) -> bool {
        self.held
            .first()
            .is_some_and(|&source| self.moves[source][home].is_none())
            || self.held.contains(&home)
    }
}
