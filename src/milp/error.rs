//! Why a program could not be solved at all; limits and infeasibility are outcomes, not errors.

/// What went wrong in the solver or on the way to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MilpError {
    /// The program has more rows, columns or coefficients than we hand to the solver: the input is too large for this method.
    #[error("program: {count} {what} are more than the {limit} that the solver is given")]
    TooLarge {
        /// Rows, columns or coefficients.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// A quantity is too large to be a floating-point number without rounding: the profile or the cost table is absurd.
    #[error("program: the quantity {quantity} is too large to be scaled exactly")]
    Quantity {
        /// The quantity, in its own unit.
        quantity: u64,
    },
    /// The solver refused an option, the start or the program: a bug of ours or a changed solver.
    #[error("solver: refused {what}")]
    Refused {
        /// What it refused.
        what: String,
    },
    /// The solver gave up without an answer: numerical trouble or memory.
    #[error("solver: stopped with status {status}")]
    Failed {
        /// The solver's own word.
        status: String,
    },
}
