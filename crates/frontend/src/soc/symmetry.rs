//! Which processors are interchangeable, and which sets of them stand for all others.
//!
//! Processors of one orbit can swap places in any plan without changing a figure of it, so sets that differ only in *which* members of an orbit they take are equivalent.
//! Of equivalent sets the one with the first members is canonical; a search that looks at canonical sets alone loses nothing.
//! What makes two processors interchangeable is the business of whoever builds the orbits.

use super::{ProcessorId, ProcessorSet};

/// Sets of interchangeable processors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symmetry {
    /// Disjoint, each of at least two processors, ascending.
    orbits: Vec<ProcessorSet>,
}

impl Symmetry {
    /// No two processors are interchangeable.
    pub const NONE: Self = Self { orbits: Vec::new() };

    /// The orbits of the first `count` processors, where `is_alike` says whether two of them, the first before the second, are interchangeable.
    ///
    /// Swaps that change nothing can be chained, so `is_alike` must be transitive.
    pub fn new(count: usize, is_alike: impl Fn(ProcessorId, ProcessorId) -> bool) -> Self {
        let mut orbits: Vec<ProcessorSet> = Vec::new();
        for processor in ProcessorSet::first(count).iter() {
            let own = orbits
                .iter_mut()
                .find(|orbit| orbit.iter().next().is_some_and(|p| is_alike(p, processor)));
            match own {
                Some(orbit) => *orbit = orbit.union(ProcessorSet::only(processor)),
                None => orbits.push(ProcessorSet::only(processor)),
            }
        }
        orbits.retain(|orbit| orbit.len() > 1);
        Self { orbits }
    }

    /// Sets of interchangeable processors, each of at least two.
    pub fn orbits(&self) -> &[ProcessorSet] {
        &self.orbits
    }

    /// Whether `set`, a subset of `of`, takes the first members of each orbit that `of` offers.
    pub fn is_canonical(&self, set: ProcessorSet, of: ProcessorSet) -> bool {
        self.orbits.iter().all(|&orbit| {
            orbit.intersection(set) == orbit.intersection(of).lowest(count(orbit, set))
        })
    }

    /// The canonical subsets of `of` without the empty one, ascending by bits: one for each way to choose how many members of each orbit.
    pub fn subsets(&self, of: ProcessorSet) -> impl Iterator<Item = ProcessorSet> {
        of.subsets().filter(move |&set| self.is_canonical(set, of))
    }

    /// The set that is equivalent to `set` and has the first members of each orbit.
    #[must_use]
    pub fn representative(&self, set: ProcessorSet) -> ProcessorSet {
        self.orbits.iter().fold(set, |set, &orbit| {
            set.without(orbit).union(orbit.lowest(count(orbit, set)))
        })
    }

    /// For each processor of the chip, which processor of `set` has its part, where it is in the representative of `set`; the others keep theirs.
    pub fn renaming(&self, set: ProcessorSet) -> Renaming {
        let mut names: Vec<ProcessorId> =
            ProcessorSet::first(ProcessorSet::CAPACITY).iter().collect();
        for &orbit in &self.orbits {
            let own = orbit.intersection(set);
            for (from, to) in orbit.lowest(own.len()).iter().zip(own.iter()) {
                names[from.index()] = to;
            }
        }
        Renaming { names }
    }
}

fn count(orbit: ProcessorSet, set: ProcessorSet) -> usize {
    orbit.intersection(set).len()
}

/// How the processors of a representative are called in an equivalent set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renaming {
    names: Vec<ProcessorId>,
}

impl Renaming {
    /// The processor that has the part of this one.
    pub fn of(&self, processor: ProcessorId) -> ProcessorId {
        self.names[processor.index()]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arena::Id;

    fn set(bits: u16) -> ProcessorSet {
        ProcessorSet::from_bits(bits)
    }

    /// 0 and 4 stand alone; 1, 3 and 5 are interchangeable, and so are 2 and 6.
    fn symmetry() -> Symmetry {
        let kinds = [0, 1, 2, 1, 3, 1, 2];
        Symmetry::new(7, |a, b| kinds[a.index()] == kinds[b.index()])
    }

    #[test]
    fn orbits_have_two_members_or_more() {
        assert_eq!(symmetry().orbits(), [set(0b0010_1010), set(0b0100_0100)]);
        assert_eq!(Symmetry::new(5, |_, _| false), Symmetry::NONE);
    }

    #[test]
    fn the_first_members_represent_the_others() {
        let symmetry = symmetry();
        assert_eq!(symmetry.representative(set(0b0110_1001)), set(0b0000_1111));
        let renaming = symmetry.renaming(set(0b0110_1001));
        let renamed: Vec<usize> = (0..4)
            .map(|p| renaming.of(Id::from_index(p)).index())
            .collect();
        assert_eq!(renamed, [0, 3, 6, 5]);
        // Three of three and none of two are taken: there is one way.
        assert!(symmetry.is_canonical(set(0b0010_1010), set(0b0010_1010)));
        // What is left of an orbit counts, not what it once had.
        assert!(symmetry.is_canonical(set(0b0000_1000), set(0b0010_1001)));
        assert!(!symmetry.is_canonical(set(0b0010_0000), set(0b0010_1001)));
    }

    proptest! {
        #[test]
        fn canonical_subsets_represent_all_subsets_once(of in 1u16..128) {
            let symmetry = symmetry();
            let mut represented: Vec<ProcessorSet> =
                set(of).subsets().map(|subset| symmetry.representative(subset)).collect();
            represented.sort_unstable();
            represented.dedup();
            let mut canonical: Vec<ProcessorSet> =
                symmetry.subsets(set(of)).map(|subset| symmetry.representative(subset)).collect();
            canonical.sort_unstable();
            prop_assert_eq!(canonical, represented);
        }

        #[test]
        fn a_representative_is_renamed_to_the_set(bits in 0u16..128) {
            let symmetry = symmetry();
            let renaming = symmetry.renaming(set(bits));
            let renamed = symmetry.representative(set(bits)).iter().map(|p| renaming.of(p)).collect();
            prop_assert_eq!(set(bits), renamed);
        }
    }
}
