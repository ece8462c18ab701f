//! What a solve found and what it proved.

/// Why the solver stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The incumbent is optimal up to half a granule of the objective.
    Optimal,
    /// The counted work is used up.
    NodeLimit,
    /// Whoever watches said stop, or the time given is over.
    Stopped,
    /// No point satisfies the rows, up to the solver's tolerance.
    Infeasible,
}

/// A point that satisfies the rows up to the solver's tolerance.
#[derive(Clone, Debug, PartialEq)]
pub struct Incumbent {
    /// Value of each variable.
    pub values: Vec<f64>,
    /// Value of the objective.
    pub objective: f64,
}

/// The result of a solve.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub status: Status,
    /// The best point, if any.
    pub incumbent: Option<Incumbent>,
    /// No point is better than this, in solver units; the solver's tolerances are already subtracted.
    /// Negative infinity where nothing was proven, positive infinity where the program is infeasible.
    pub bound: f64,
}
