//! How much a walk charges for load, and when.
//!
//! Where load is scarce a high charge finds the right processors, and only when it has fallen does the order find its place; where the longest path is what counts, a high charge leads astray.
//! Nothing seen before the first walk tells which it is, so several charges are tried on short walks.

/// `weight · remaining^decay` is what priced time costs against time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Charge {
    pub(super) weight: f64,
    pub(super) decay: Decay,
}

/// How a charge falls with the share of the walk that remains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Decay {
    /// Like its root: most of it lasts nearly to the end.
    Root,
    /// In proportion.
    Linear,
    /// Like its square: the second half is nearly free.
    Square,
}

impl Charge {
    /// Tried on every problem, those that suit most problems first.
    pub(super) const PORTFOLIO: [Self; 6] = [
        Self::new(8.0, Decay::Linear),
        Self::new(3.0, Decay::Linear),
        Self::new(20.0, Decay::Square),
        Self::new(1.0, Decay::Linear),
        Self::new(8.0, Decay::Square),
        Self::new(0.3, Decay::Root),
    ];

    const fn new(weight: f64, decay: Decay) -> Self {
        Self { weight, decay }
    }

    /// What is charged while `remaining`, a share, of the walk is left.
    pub(super) fn at(self, remaining: f64) -> f64 {
        let share = match self.decay {
            Decay::Root => remaining.sqrt(),
            Decay::Linear => remaining,
            Decay::Square => remaining * remaining,
        };
        self.weight * share
    }
}
