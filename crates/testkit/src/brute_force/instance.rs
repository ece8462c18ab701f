//! The numbers of a case as the oracle sees them: operators without views, tensors with storage, processors, ways between places.

use std::collections::BTreeMap;

use paracompile_plan::plan::Layout;

use crate::case::{CaseError, Free, Network, Soc};

/// A memory and an order of elements in it: what the model calls a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Index of the memory.
    pub memory: usize,
    /// Order of the elements.
    pub layout: Layout,
}

impl Place {
    /// Whether a tensor here can be read there without a move.
    pub fn fits(self, other: Self) -> bool {
        self.memory == other.memory
            && (self.layout == other.layout
                || self.layout == Layout::Any
                || other.layout == Layout::Any)
    }
}

/// What it takes to bring a tensor from one place to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It can be read as it is.
    Fits,
    /// A move, in nanoseconds and nanojoules.
    Move {
        /// Duration.
        time: u64,
        /// Energy.
        energy: u64,
    },
    /// The chip has no link for it.
    Missing,
}

/// An operator that is not free, or a group that is fused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Name of the anchor.
    pub name: String,
    /// Duration and energy on each processor, `None` where one of the members is not supported (M12).
    pub costs: Vec<Option<(u64, u64)>>,
    /// Tensors that it reads, each once.
    pub reads: Vec<usize>,
    /// Tensors that it writes and that something else needs.
    pub writes: Vec<usize>,
    /// Bytes of weights.
    pub weights: u64,
    /// Bytes of scratch space.
    pub workspace: u64,
}

/// A tensor with storage of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Name.
    pub name: String,
    /// Size.
    pub bytes: u64,
    /// Who writes it; `None` for what the frame provides.
    pub producer: Option<usize>,
    /// Who reads it, ascending.
    pub readers: Vec<usize>,
    /// Whether it, or a view of it, is an output of the network.
    pub is_output: bool,
}

/// A processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Name.
    pub name: String,
    /// Where its operators read and write.
    pub home: Place,
    /// Power while used.
    pub static_mw: u64,
    /// How much longer everything takes with one, two, … queues, in thousandths.
    pub sharing: Vec<u64>,
}

/// A case in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Operators in topological order.
    pub operators: Vec<Operator>,
    /// Tensors.
    pub tensors: Vec<Tensor>,
    /// Processors in profile order.
    pub processors: Vec<Processor>,
    /// Limits of the memories in profile order.
    pub memories: Vec<Option<u64>>,
    /// Where inputs start and outputs end.
    pub io: Place,
    /// Power of the board besides the processors.
    pub base_mw: u64,
    /// Latency, time a byte, conversion a byte, power; by (from, to).
    links: BTreeMap<(usize, usize), [u64; 4]>,
    /// Sets as bit masks, and factors in thousandths by processor.
    contention: Vec<(u16, BTreeMap<usize, u32>)>,
}

impl Instance {
    /// Every operator that is not free alone, in the case's order.
    pub fn new(network: &Network, soc: &Soc) -> Result<Self, CaseError> {
        let groups: Vec<_> = (0..network.operators.len())
            .filter(|&index| network.operators[index].free.is_none())
            .map(|index| vec![index])
            .collect();
        Self::grouped(network, soc, &groups)
    }

    /// The given groups as operators, in the given order, which must be topological.
    ///
    /// A group lists indices of the case's operators, its anchor first (rule M12); free operators are in no group.
    pub fn grouped(network: &Network, soc: &Soc, groups: &[Vec<usize>]) -> Result<Self, CaseError> {
        let memory = |name: &str, at: &str| {
            position(soc.memories.iter().map(|memory| &memory.name), name)
                .ok_or_else(|| unknown(at, name, "a memory"))
        };
        let processor = |name: &str| {
            position(soc.processors.iter().map(|processor| &processor.name), name)
                .ok_or_else(|| unknown("contention", name, "a processor"))
        };
        let mut processors = Vec::new();
        for entry in &soc.processors {
            processors.push(Processor {
                name: entry.name.clone(),
                home: Place {
                    memory: memory(&entry.memory, &entry.name)?,
                    layout: entry.layout,
                },
                static_mw: entry.static_mw,
                sharing: entry
                    .sharing
                    .iter()
                    .map(|&factor| u64::from(factor))
                    .collect(),
            });
        }
        let mut links = BTreeMap::new();
        for link in &soc.links {
            let ends = (memory(&link.from, "links")?, memory(&link.to, "links")?);
            links.insert(
                ends,
                [
                    link.latency_ns,
                    link.ns_per_byte,
                    link.convert_ns_per_byte,
                    link.power_mw,
                ],
            );
        }
        let mut contention = Vec::new();
        for entry in &soc.contention {
            let mut set = 0;
            for name in &entry.set {
                set |= 1 << processor(name)?;
            }
            let mut factors = BTreeMap::new();
            for (name, &factor) in &entry.factor {
                factors.insert(processor(name)?, factor);
            }
            contention.push((set, factors));
        }
        let (operators, tensors) = storage(network, soc, groups)?;
        Ok(Self {
            operators,
            tensors,
            processors,
            memories: soc.memories.iter().map(|memory| memory.bytes).collect(),
            io: Place {
                memory: memory(&soc.io, "io")?,
                layout: Layout::Any,
            },
            base_mw: soc.base_mw,
            links,
            contention,
        })
    }

    /// What it takes to bring `bytes` from one place to another (M3, M11).
    pub fn way(&self, bytes: u64, from: Place, to: Place) -> Way {
        if from.fits(to) {
            return Way::Fits;
        }
        let Some([latency, a_byte, conversion, power]) = self.links.get(&(from.memory, to.memory))
        else {
            return Way::Missing;
        };
        let layouts_fit =
            from.layout == to.layout || from.layout == Layout::Any || to.layout == Layout::Any;
        let conversion = if layouts_fit { 0 } else { *conversion };
        let time = latency + bytes * (a_byte + conversion);
        Way::Move {
            time,
            energy: half_up(time * power, 1000),
        }
    }

    /// `κ(p, X)` in thousandths (M4).
    pub fn slowdown(&self, processor: usize, used: u16) -> u64 {
        self.contention
            .iter()
            .filter(|(set, _)| set & !used == 0 && set & (1 << processor) != 0)
            .filter_map(|(_, factors)| factors.get(&processor))
            .map(|&factor| u64::from(factor))
            .fold(1000, u64::max)
    }

    /// Duration of an operator while `used` are in use on a processor with so many queues (M10), `None` where it is not supported.
    pub fn duration(
        &self,
        operator: usize,
        processor: usize,
        queues: usize,
        used: u16,
    ) -> Option<u64> {
        let factor =
            self.slowdown(processor, used) * self.processors[processor].sharing[queues - 1];
        self.operators[operator].costs[processor].map(|(time, _)| half_up(time * factor, 1_000_000))
    }

    /// Energy of an operator while `used` are in use, `None` where it is not supported.
    pub fn energy(&self, operator: usize, processor: usize, used: u16) -> Option<u64> {
        self.operators[operator].costs[processor]
            .map(|(_, energy)| half_up(energy * self.slowdown(processor, used), 1000))
    }

    /// All operators, as a bit mask.
    pub fn all_operators(&self) -> u32 {
        (1 << self.operators.len()) - 1
    }

    /// All processors, as a bit mask.
    pub fn all_processors(&self) -> u16 {
        (1 << self.processors.len()) - 1
    }

    /// Operators that must run before `operator` can, as a bit mask.
    pub fn predecessors(&self, operator: usize) -> u32 {
        self.operators[operator]
            .reads
            .iter()
            .filter_map(|&tensor| self.tensors[tensor].producer)
            .fold(0, |mask, producer| mask | 1 << producer)
    }
}

/// `round(numerator / denominator)`, half up (M1).
pub(super) fn half_up(numerator: u64, denominator: u64) -> u64 {
    (numerator + denominator / 2) / denominator
}

fn position<'a>(mut names: impl Iterator<Item = &'a String>, name: &str) -> Option<usize> {
    names.position(|other| other == name)
}

fn unknown(at: &str, name: &str, what: &'static str) -> CaseError {
    CaseError::Unknown {
        at: at.to_owned(),
        name: name.to_owned(),
        what,
    }
}

/// Operators and tensors, with views resolved to what they are made of.
fn storage(
    network: &Network,
    soc: &Soc,
    groups: &[Vec<usize>],
) -> Result<(Vec<Operator>, Vec<Tensor>), CaseError> {
    let mut group_of = BTreeMap::new();
    for (group, members) in groups.iter().enumerate() {
        for &member in members {
            group_of.insert(member, group);
        }
    }
    let mut tensors: Vec<Tensor> = Vec::new();
    let mut made_of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut push = |name: &str, bytes: u64, producer: Option<usize>| {
        tensors.push(Tensor {
            name: name.to_owned(),
            bytes,
            producer,
            readers: Vec::new(),
            is_output: false,
        });
        tensors.len() - 1
    };
    for input in &network.inputs {
        let tensor = push(&input.name, input.bytes, None);
        made_of.insert(&input.name, vec![tensor]);
    }
    let mut reads_of = vec![Vec::new(); network.operators.len()];
    for (index, operator) in network.operators.iter().enumerate() {
        let mut reads = Vec::new();
        for name in &operator.reads {
            let parts = made_of
                .get(name.as_str())
                .ok_or_else(|| unknown(&operator.name, name, "a tensor written before"))?;
            reads.extend(parts.iter().copied());
        }
        for written in &operator.writes {
            let parts = match operator.free {
                Some(Free::View) => made_of[operator.reads[0].as_str()].clone(),
                Some(Free::ConcatInPlace) => reads.clone(),
                None => vec![push(
                    &written.name,
                    written.bytes,
                    group_of.get(&index).copied(),
                )],
            };
            made_of.insert(&written.name, parts);
        }
        reads_of[index] = reads;
    }
    for name in &network.outputs {
        let parts = made_of
            .get(name.as_str())
            .ok_or_else(|| unknown("outputs", name, "a tensor written before"))?;
        for &part in parts {
            tensors[part].is_output = true;
        }
    }
    let mut operators = Vec::new();
    for (group, members) in groups.iter().enumerate() {
        let mut reads: Vec<usize> = members
            .iter()
            .flat_map(|&member| reads_of[member].iter().copied())
            .filter(|&tensor| tensors[tensor].producer != Some(group))
            .collect();
        reads.sort_unstable();
        reads.dedup();
        for &tensor in &reads {
            tensors[tensor].readers.push(group);
        }
        operators.push(Operator {
            name: network.operators[members[0]].name.clone(),
            costs: soc
                .processors
                .iter()
                .map(|processor| group_cost(network, members, processor))
                .collect(),
            reads,
            writes: Vec::new(),
            weights: members
                .iter()
                .map(|&member| network.operators[member].weights)
                .sum(),
            workspace: members
                .iter()
                .map(|&member| network.operators[member].workspace)
                .max()
                .unwrap_or(0),
        });
    }
    for (index, tensor) in tensors.iter().enumerate() {
        if let Some(producer) = tensor.producer
            && (tensor.is_output || !tensor.readers.is_empty())
        {
            operators[producer].writes.push(index);
        }
    }
    Ok((operators, tensors))
}

/// The anchor and those epilogues that the processor does not fuse (M12).
fn group_cost(
    network: &Network,
    members: &[usize],
    processor: &crate::case::Processor,
) -> Option<(u64, u64)> {
    let mut total = (0, 0);
    for (place, &member) in members.iter().enumerate() {
        let operator = &network.operators[member];
        let time = operator.time_ns.get(&processor.name)?;
        if place > 0 && processor.fuses.contains(&operator.class) {
            continue;
        }
        let energy = operator.energy_nj.get(&processor.name).unwrap_or(&0);
        total = (total.0 + time, total.1 + energy);
    }
    Some(total)
}
