//! Everything about a problem that does not depend on the state, in flat tables.

use paracompile_plan::Nanoseconds;

use super::super::bounds::load_prices;
use super::super::{Problem, Tensor};
use super::exits::{Coverage, Signature};
use super::twins::Twins;

/// More than any time; small enough that sums of a few stay numbers.
pub(super) const NEVER: u64 = u64::MAX;

/// Tables of one problem.
pub(super) struct Tables<'a> {
    pub(super) problem: &'a Problem,
    pub(super) operators: usize,
    pub(super) processors: usize,
    pub(super) locations: usize,
    /// Distinct homes, ascending.
    pub(super) places: Vec<usize>,
    /// Index in `places` of each processor's home.
    pub(super) place_of: Vec<usize>,
    /// Processors at each place.
    pub(super) at_place: Vec<Vec<usize>>,
    /// Duration of operator `v` on processor `p` at `v · P + p`; [`NEVER`] where it is not supported.
    pub(super) times: Vec<u64>,
    pub(super) energies: Vec<u64>,
    /// Operators that must be done before each.
    pub(super) predecessors: Vec<u32>,
    pub(super) readers: Vec<u32>,
    /// Move of tensor `t` from location `a` to `b` at `(t · L + a) · L + b`; `None` where nothing moves.
    links: Vec<Option<(u64, u64)>>,
    pub(super) leaving: Vec<usize>,
    /// The operator that all others lead to and that writes all that leaves, if there is one.
    pub(super) exit: Option<usize>,
    /// How many ways there are to end: one for each place of the exit, or one.
    pub(super) classes: usize,
    /// Shortest time from the start of `v` on `p` to the end in class `c`, at `(v · P + p) · C + c`.
    pub(super) tails: Vec<u64>,
    /// Integer load prices of processors; their sum is `price_sum`.
    pub(super) prices: Vec<u64>,
    pub(super) price_sum: u64,
    /// Least price of each operator's work; zero for the exit, which counts by itself.
    pub(super) work: Vec<u64>,
    /// Shortest duration and way home of the exit in each class.
    pub(super) exit_tails: Vec<u64>,
    pub(super) least_energies: Vec<u64>,
    /// Sets of processors for which an answer is wanted, ascending.
    pub(super) wanted: Vec<u16>,
    /// Those of them that are searched: of sets that are the same up to swaps of processors that are alike, one.
    pub(super) masks: Vec<u16>,
    pub(super) twins: Twins,
    /// Processors that are the first lane of their device.
    pub(super) first_lanes: u16,
}

impl<'a> Tables<'a> {
    pub(super) fn new(problem: &'a Problem, leaving: &[usize], coverage: Coverage) -> Self {
        let mut places = problem.homes.clone();
        places.sort_unstable();
        places.dedup();
        let place_of: Vec<usize> = problem
            .homes
            .iter()
            .map(|home| {
                places
                    .binary_search(home)
                    .expect("every home is among the places")
            })
            .collect();
        let at_place = (0..places.len())
            .map(|place| {
                (0..problem.homes.len())
                    .filter(|&processor| place_of[processor] == place)
                    .collect()
            })
            .collect();
        let eligible = problem.eligible_devices();
        let twins = Twins::new(problem);
        let wanted: Vec<u16> = match coverage {
            Coverage::Required => vec![problem.must_use],
            Coverage::Every => (0..=eligible)
                .filter(|mask| mask & !eligible == 0 && problem.must_use & !mask == 0)
                .collect(),
        };
        let mut tables = Self {
            problem,
            operators: problem.operators.len(),
            processors: problem.homes.len(),
            locations: problem.locations,
            places,
            place_of,
            at_place,
            times: Vec::new(),
            energies: Vec::new(),
            predecessors: Vec::new(),
            readers: problem
                .tensors
                .iter()
                .map(|tensor| {
                    tensor
                        .readers
                        .iter()
                        .fold(0, |set, &reader| set | 1 << reader)
                })
                .collect(),
            links: Vec::new(),
            leaving: leaving.to_vec(),
            exit: None,
            classes: 1,
            tails: Vec::new(),
            prices: load_prices(problem),
            price_sum: 0,
            work: Vec::new(),
            exit_tails: Vec::new(),
            least_energies: Vec::new(),
            masks: wanted
                .iter()
                .copied()
                .filter(|&mask| twins.representative(mask) == mask)
                .collect(),
            wanted,
            twins,
            first_lanes: (0..problem.homes.len())
                .filter(|&processor| problem.device(processor) == processor)
                .fold(0, |set, processor| set | 1 << processor),
        };
        tables.price_sum = tables.prices.iter().sum::<u64>().max(1);
        tables.fill_operators();
        tables.fill_links();
        tables.exit = tables.sole_exit();
        if tables.exit.is_some() {
            tables.classes = tables.places.len();
        }
        tables.fill_tails();
        tables.fill_work();
        tables
    }

    fn fill_operators(&mut self) {
        for operator in &self.problem.operators {
            let mut least = NEVER;
            for (time, energy) in operator.times.iter().zip(&operator.energies) {
                self.times.push(time.map_or(NEVER, Nanoseconds::count));
                self.energies.push(energy.count());
                if time.is_some() {
                    least = least.min(energy.count());
                }
            }
            self.least_energies.push(least);
            self.predecessors.push(
                operator
                    .reads
                    .iter()
                    .filter_map(|&tensor| self.problem.tensors[tensor].producer)
                    .fold(0, |set, producer| set | 1 << producer),
            );
        }
    }

    fn fill_links(&mut self) {
        for tensor in &self.problem.tensors {
            for from in 0..self.locations {
                for to in 0..self.locations {
                    self.links.push(link(tensor, from, to));
                }
            }
        }
    }

    /// Time and energy of the move of a tensor that is to be read at `to`; `None` where nothing moves.
    pub(super) fn link(&self, tensor: usize, from: usize, to: usize) -> Option<(u64, u64)> {
        self.links[(tensor * self.locations + from) * self.locations + to]
    }

    /// The processors on which `operator` can run.
    pub(super) fn supported(&self, operator: usize) -> impl Iterator<Item = usize> {
        (0..self.processors).filter(move |p| self.times[operator * self.processors + p] != NEVER)
    }

    pub(super) fn tail(&self, operator: usize, processor: usize, class: usize) -> u64 {
        self.tails[(operator * self.processors + processor) * self.classes + class]
    }

    /// The only operator without a reader, if it writes all that leaves.
    fn sole_exit(&self) -> Option<usize> {
        if self.leaving.is_empty() {
            return None;
        }
        let has_reader = |operator: usize| {
            self.problem.operators[operator]
                .writes
                .iter()
                .any(|&tensor| self.readers[tensor] != 0)
        };
        let mut ends = (0..self.operators).filter(|&operator| !has_reader(operator));
        let exit = ends.next()?;
        let is_sole = ends.next().is_none();
        let writes_all = self
            .leaving
            .iter()
            .all(|&tensor| self.problem.tensors[tensor].producer == Some(exit));
        (is_sole && writes_all).then_some(exit)
    }

    /// How a schedule ends whose exit runs at `place`.
    pub(super) fn signature_of_class(&self, place: usize) -> Signature {
        let from = self.places[place];
        self.leaving
            .iter()
            .map(|&tensor| {
                let home = self.problem.tensors[tensor].to_io
                    && self.link(tensor, from, self.problem.io).is_some();
                mark(from, if home { 1 << self.problem.io } else { 0 })
            })
            .collect()
    }

    /// Time from the end of `operator` on `processor` until its outputs are home.
    pub(super) fn way_home(&self, operator: usize, processor: usize) -> u64 {
        self.problem.operators[operator]
            .writes
            .iter()
            .filter(|&&tensor| self.problem.tensors[tensor].to_io)
            .filter_map(|&tensor| self.link(tensor, self.problem.homes[processor], self.problem.io))
            .map(|(time, _)| time)
            .max()
            .unwrap_or(0)
    }

    fn fill_tails(&mut self) {
        self.tails = vec![NEVER; self.operators * self.processors * self.classes];
        for operator in (0..self.operators).rev() {
            for processor in 0..self.processors {
                let duration = self.times[operator * self.processors + processor];
                if duration == NEVER {
                    continue;
                }
                for class in 0..self.classes {
                    if self.exit == Some(operator) && self.place_of[processor] != class {
                        continue;
                    }
                    let rest = self.rest(operator, processor, class);
                    let at = (operator * self.processors + processor) * self.classes + class;
                    self.tails[at] = duration.saturating_add(rest);
                }
            }
        }
        self.exit_tails = vec![0; self.classes];
        if let Some(exit) = self.exit {
            for class in 0..self.classes {
                self.exit_tails[class] = self
                    .supported(exit)
                    .map(|processor| self.tail(exit, processor, class))
                    .min()
                    .unwrap_or(NEVER);
            }
        }
    }

    /// Longest way from the end of `operator` on `processor`.
    fn rest(&self, operator: usize, processor: usize, class: usize) -> u64 {
        let from = self.problem.homes[processor];
        let mut rest = self.way_home(operator, processor);
        for &tensor in &self.problem.operators[operator].writes {
            for &reader in &self.problem.tensors[tensor].readers {
                let next = (0..self.processors)
                    .map(|other| {
                        let arrival = self
                            .link(tensor, from, self.problem.homes[other])
                            .map_or(0, |(time, _)| time);
                        self.tail(reader, other, class).saturating_add(arrival)
                    })
                    .min()
                    .unwrap_or(NEVER);
                rest = rest.max(next);
            }
        }
        rest
    }

    fn fill_work(&mut self) {
        self.work = (0..self.operators)
            .map(|operator| {
                if self.exit == Some(operator) {
                    return 0;
                }
                self.supported(operator)
                    .map(|processor| {
                        self.times[operator * self.processors + processor]
                            .saturating_mul(self.prices[processor])
                    })
                    .min()
                    .unwrap_or(0)
            })
            .collect();
    }
}

/// A source and the set of other holders in one word.
pub(super) fn mark(source: usize, others: u32) -> u64 {
    (source as u64) << 32 | u64::from(others)
}

/// The source of a mark.
pub(super) fn source_of(mark: u64) -> usize {
    usize::try_from(mark >> 32).expect("a location fits any word")
}

/// Whether `location` is among the other holders of a mark.
pub(super) fn is_moved(mark: u64, location: usize) -> bool {
    mark & (1 << location) != 0
}

fn link(tensor: &Tensor, from: usize, to: usize) -> Option<(u64, u64)> {
    if tensor.producer.is_none() && tensor.is_held_for(to) {
        return None;
    }
    tensor.moves[from][to].map(|cost| (cost.time.count(), cost.energy.count()))
}
