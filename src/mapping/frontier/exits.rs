//! What the search is asked for, and its answers.

use std::collections::BTreeMap;

use super::super::{Objective, Solution};

/// For which sets of used processors an answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coverage {
    /// One: at least the required processors.
    Required,
    /// For every set of processors, the best that uses at least these: a stage of several blocks must use each processor somewhere.
    Every,
}

/// The answers of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frontier {
    /// By holders, then by used processors; none is beaten by one with the same holders that uses the same processors and more.
    pub exits: Vec<Exit>,
    /// What is proven of them.
    pub reached: Reached,
}

/// How far a search came before its counted work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reached {
    /// The answers are good schedules and no more.
    Schedules,
    /// No makespan is below, energies may be.
    Makespan,
    /// Makespan, energy under it, and the least processors under both.
    Objective,
}

/// A best schedule among those that leave the tensors at the same locations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Locations that hold each leaving tensor at the end: the producer's first, the others ascending.
    pub holders: Vec<Vec<usize>>,
    /// Processors that run something.
    pub used: u16,
    /// What the solution reaches.
    pub objective: Objective,
    /// The solution.
    pub solution: Solution,
}

/// Locations that hold each leaving tensor: the source in the upper half, the set of others in the lower.
pub(super) type Signature = Vec<u64>;

/// A complete schedule that a search ended with.
#[derive(Clone, Debug)]
pub(super) struct Finish {
    pub(super) objective: Objective,
    pub(super) placement: u128,
    pub(super) used: u16,
    pub(super) sequence: Vec<u8>,
}

impl Finish {
    fn rank(&self) -> (Objective, u128) {
        (self.objective, self.placement)
    }
}

/// The best known schedule for each signature and each wanted set of processors.
#[derive(Clone, Debug)]
pub(super) struct Incumbents {
    pub(super) masks: Vec<u16>,
    pub(super) by_signature: BTreeMap<Signature, Vec<Option<Finish>>>,
}

impl Incumbents {
    pub(super) fn new(masks: Vec<u16>) -> Self {
        Self {
            masks,
            by_signature: BTreeMap::new(),
        }
    }

    /// Keeps a schedule wherever it is the best.
    pub(super) fn offer(&mut self, signature: &Signature, finish: &Finish) {
        if !self.by_signature.contains_key(signature) {
            self.by_signature
                .insert(signature.clone(), vec![None; self.masks.len()]);
        }
        let Some(row) = self.by_signature.get_mut(signature) else {
            return;
        };
        for (slot, &mask) in row.iter_mut().zip(&self.masks) {
            let covers = mask & !finish.used == 0;
            let better = slot.as_ref().is_none_or(|old| finish.rank() < old.rank());
            if covers && better {
                *slot = Some(finish.clone());
            }
        }
    }

    /// Each schedule once, without those that one with more processors beats.
    pub(super) fn into_finishes(self) -> Vec<(Signature, Finish)> {
        let mut finishes = Vec::new();
        for (signature, row) in self.by_signature {
            let mut kept: Vec<Finish> = Vec::new();
            // Wanted sets ascend, so larger ones come later; a schedule that serves several is kept once.
            for finish in row.into_iter().flatten() {
                let is_known = kept
                    .iter()
                    .any(|other| other.used == finish.used && other.rank() == finish.rank());
                if !is_known {
                    kept.push(finish);
                }
            }
            kept.sort_by_key(|finish| (finish.used, finish.rank()));
            finishes.extend(kept.into_iter().map(|finish| (signature.clone(), finish)));
        }
        finishes
    }
}
