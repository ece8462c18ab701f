//! Rows and variables in integers: what the program is, whatever solver looks at it.

/// What a row's numbers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nanoseconds: variables of time have coefficients of a few ones, shares have times.
    Time,
    /// Shares.
    Share,
}

/// `Σ coefficient · variable ≥ right`, or `=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) kind: Kind,
    pub(super) terms: Vec<(usize, i64)>,
    pub(super) right: i64,
    pub(super) is_equality: bool,
}

impl Row {
    /// A row of times, `≥ 0` as long as nothing else is said.
    pub(super) const fn time() -> Self {
        Self {
            kind: Kind::Time,
            terms: Vec::new(),
            right: 0,
            is_equality: false,
        }
    }

    /// An equation of shares.
    pub(super) const fn shares(right: i64) -> Self {
        Self {
            kind: Kind::Share,
            terms: Vec::new(),
            right,
            is_equality: true,
        }
    }

    pub(super) fn add(&mut self, variable: usize, coefficient: i64) {
        if coefficient != 0 {
            self.terms.push((variable, coefficient));
        }
    }

    /// With one term a variable: a share can stand in a row as a duration and as a way.
    pub(super) fn collected(mut self) -> Self {
        self.terms.sort_unstable_by_key(|&(variable, _)| variable);
        let mut terms: Vec<(usize, i64)> = Vec::with_capacity(self.terms.len());
        for (variable, coefficient) in self.terms {
            match terms.last_mut() {
                Some((last, sum)) if *last == variable => *sum += coefficient,
                Some(_) | None => terms.push((variable, coefficient)),
            }
        }
        self.terms = terms;
        self
    }

    /// By how much a point violates an inequality; not positive where it does not.
    #[cfg(test)]
    pub(super) fn violation(&self, values: &[i64]) -> i64 {
        let left: i64 = self
            .terms
            .iter()
            .map(|&(variable, coefficient)| coefficient * values[variable])
            .sum();
        if self.is_equality {
            (self.right - left).abs()
        } else {
            self.right - left
        }
    }
}

/// A variable between two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) kind: Kind,
    pub(super) cost: i64,
    pub(super) least: i64,
    pub(super) most: i64,
    /// Whether the integer program asks for whole numbers.
    pub(super) is_whole: bool,
}

/// A time as a coefficient; problems whose times do not fit are refused before.
pub(super) fn signed(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}
