//! Locations: where a tensor can be (rule M3).

use paracompile_plan::plan::Layout;

use super::MemoryId;
use crate::arena::Id;

/// Index in [`super::Soc::locations`].
pub type LocationId = Id<Location>;

/// A memory and an order of elements in it.
///
/// A chip's locations are the distinct homes of its processors in profile order, then that of network inputs and outputs (the `io` memory with [`Layout::Any`]) unless it is one of them already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The memory.
    pub memory: MemoryId,
    /// The layout.
    pub layout: Layout,
}

impl Location {
    /// Whether a tensor here can be read there as it is: no move, only a wait.
    pub fn fits(self, other: Self) -> bool {
        self.memory == other.memory && self.layout.fits(other.layout)
    }
}
