//! The cost table: the border between decimals and integers (rule M1).

use paracompile_plan::facts::OperatorCost;
use paracompile_plan::{Bytes, Milliwatts, Nanojoules, Nanoseconds, Slowdown};

use crate::arena::IdMap;
use crate::ir::{Op, OpId};
use crate::soc::{LocationId, ProcessorId, ProcessorSet, Soc};

/// Costs of one network on one chip, each processor at one operating point.
#[derive(Clone, Debug)]
pub struct CostTable {
    /// The chip.
    pub soc: Soc,
    /// Index of each processor's operating point.
    pub operating_points: Vec<usize>,
    /// SHA-256 over the profile and the measured costs that override it.
    pub digest: String,
    /// Cost of each operator on each processor, in decimals; `None` where it is not supported, and for free operators.
    pub operators: IdMap<Op, Vec<Option<OperatorCost>>>,
}

/// Cost of a fused operator without slowdown, rounded once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupCost {
    /// Duration.
    pub time: Nanoseconds,
    /// Dynamic energy.
    pub energy: Nanojoules,
    /// Scratch space: the largest of the members.
    pub workspace: Bytes,
}

/// Cost of moving one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Duration.
    pub time: Nanoseconds,
    /// Energy.
    pub energy: Nanojoules,
}

/// An operator that no processor of the chip runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// Operator name.
    pub operator: String,
    /// Its type.
    pub op_type: String,
}

/// Why there is no cost table.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CostError {
    /// Operators without any processor: the profile's fault, or the user's choice of processors.
    #[error("{} operators run on no processor; the first is {} ({})", .0.len(), .0[0].operator, .0[0].op_type)]
    Unsupported(Vec<Unsupported>),
}

impl CostTable {
    /// Cost of `members` as one task: the first is the anchor, epilogues that the processor fuses are free (rule M12).
    /// `None` where the processor does not support one of them.
    pub fn group(&self, _members: &[OpId], _processor: ProcessorId) -> Option<GroupCost> {
        None
    }

    /// Cost of moving `bytes` between locations; `None` where the locations fit and nothing moves (rule M3).
    pub fn transfer(&self, _bytes: Bytes, _from: LocationId, _to: LocationId) -> Option<Move> {
        None
    }

    /// `κ(p, X)` (rule M4).
    pub fn slowdown(&self, _processor: ProcessorId, _used: ProcessorSet) -> Slowdown {
        Slowdown::NONE
    }

    /// Static power of a processor at its operating point.
    pub fn static_power(&self, _processor: ProcessorId) -> Milliwatts {
        Milliwatts::ZERO
    }

    /// Power of the board besides the processors.
    pub fn base_power(&self) -> Milliwatts {
        self.soc.base.to_milliwatts()
    }
}
