//! Locations: where a tensor can be (rule M3).

use paracompile_plan::plan::Layout;

use super::MemoryId;
use crate::arena::{Arena, Id};

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

/// The locations of a chip in the order above, where each of `homes` is among them, and where network inputs and outputs are.
pub(super) fn settle(
    homes: impl IntoIterator<Item = Location>,
    io: MemoryId,
) -> (Arena<Location>, Vec<LocationId>, LocationId) {
    let mut distinct: Vec<Location> = Vec::new();
    let mut settled = |wanted: Location| {
        let index = distinct
            .iter()
            .position(|known| *known == wanted)
            .unwrap_or_else(|| {
                distinct.push(wanted);
                distinct.len() - 1
            });
        Id::from_index(index)
    };
    let homes = homes.into_iter().map(&mut settled).collect();
    let io = settled(Location {
        memory: io,
        layout: Layout::Any,
    });
    (distinct.into_iter().collect(), homes, io)
}
