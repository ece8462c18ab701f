//! Sets of processors, as bit masks.

use std::fmt;

use super::ProcessorId;
use crate::arena::Id;

/// A set of processors of one chip; a profile has at most [`ProcessorSet::CAPACITY`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessorSet(u16);

impl ProcessorSet {
    /// The largest number of processors of a profile.
    pub const CAPACITY: usize = 16;
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// The set of one.
    pub fn only(processor: ProcessorId) -> Self {
        Self(1 << processor.index())
    }

    /// The first `count` processors.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most 16 bits are set, as many as a profile has processors"
    )]
    pub const fn first(count: usize) -> Self {
        Self(((1u32 << count) - 1) as u16)
    }

    /// The set whose bit `i` is processor `i`.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Bit `i` is processor `i`.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// How many processors it has.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether it has none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has this processor.
    pub fn contains(self, processor: ProcessorId) -> bool {
        self.0 & (1 << processor.index()) != 0
    }

    /// Whether every one of `self` is in `other`.
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether none of `self` is in `other`.
    pub const fn is_disjoint(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }

    /// Both together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Its first `count` processors; all of them if it has fewer.
    #[must_use]
    pub fn lowest(self, count: usize) -> Self {
        self.iter().take(count).collect()
    }

    /// `self` without `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Its processors, ascending.
    pub fn iter(self) -> impl Iterator<Item = ProcessorId> {
        (0..Self::CAPACITY)
            .filter(move |&index| self.0 & (1 << index) != 0)
            .map(Id::from_index)
    }

    /// Its subsets without the empty one, ascending by bits.
    pub fn subsets(self) -> impl Iterator<Item = Self> {
        (1..=self.0)
            .filter(move |bits| bits & !self.0 == 0)
            .map(Self)
    }
}

impl FromIterator<ProcessorId> for ProcessorSet {
    fn from_iter<I: IntoIterator<Item = ProcessorId>>(items: I) -> Self {
        items.into_iter().fold(Self::EMPTY, |set, processor| {
            set.union(Self::only(processor))
        })
    }
}

impl fmt::Display for ProcessorSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#b}", self.0)
    }
}
