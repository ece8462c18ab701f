//! How many command queues each processor has (rule M10): a device with several is that many lanes.

use paracompile_frontend::soc::{ProcessorId, ProcessorSet};

/// A number of compute queues for each processor of a chip, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueCounts([u8; ProcessorSet::CAPACITY]);

impl QueueCounts {
    /// The most lanes that a stage may have over all of its processors: sets of lanes are words of 16 bits.
    pub const MOST_LANES: usize = 16;

    /// One queue on each processor.
    pub const ONE: Self = Self([1; ProcessorSet::CAPACITY]);

    /// How many queues a processor has.
    pub fn of(self, processor: ProcessorId) -> usize {
        usize::from(self.0[processor.index()])
    }

    /// The same with `count` queues on one processor.
    ///
    /// # Panics
    /// If `count` is zero or more than [`QueueCounts::MOST_LANES`]: who counts queues keeps to these.
    #[must_use]
    pub fn with(mut self, processor: ProcessorId, count: usize) -> Self {
        assert!((1..=Self::MOST_LANES).contains(&count), "{count} queues");
        self.0[processor.index()] = u8::try_from(count).expect("16 fits a byte");
        self
    }

    /// The larger number of both for each processor.
    #[must_use]
    pub fn max(mut self, other: Self) -> Self {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own = other.max(*own);
        }
        self
    }

    /// How many lanes a set of processors has together.
    pub fn lanes(self, set: ProcessorSet) -> usize {
        set.iter().map(|processor| self.of(processor)).sum()
    }
}
