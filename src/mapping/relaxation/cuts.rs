//! The rows that are added when a point violates them.

use crate::milp::{ExactRow, Sense, Unit};

use super::spans::{Guard, Span};
use super::statement::Statement;

/// A row by its meaning, so that it can be written down for another horizon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cut {
    /// `C >= Σ_p (S[i][p] + (t[i][p] + T[i][p]) x[i][p])`.
    EndAfterTail { operator: usize },
    /// `S[i][p] <= L[i][p] x[i][p]`.
    StartInWindow { operator: usize, processor: usize },
    /// Operators between two events that run on a processor fit between them.
    LoadBetween(Span),
    /// What must run on a processor from `opens` to `closes` fits.
    Energy {
        processor: usize,
        opens: i64,
        closes: i64,
    },
}

impl Cut {
    /// The row under a horizon, where no schedule is shorter than `floor`; `None` where it says nothing there.
    pub(super) fn row(self, statement: &Statement<'_>, floor: i64) -> Option<ExactRow> {
        match self {
            Self::EndAfterTail { operator } => Some(end_after_tail(statement, operator)),
            Self::StartInWindow {
                operator,
                processor,
            } => start_in_window(statement, operator, processor),
            Self::LoadBetween(span) => {
                let guard = span.guard(statement.ground, statement.windows, floor)?;
                Some(load_between(statement, span, &guard))
            }
            Self::Energy {
                processor,
                opens,
                closes,
            } => Some(energy(statement, processor, opens, closes)),
        }
    }
}

fn at_least(mut terms: Vec<(usize, i64)>, right: i64) -> ExactRow {
    terms.retain(|&(_, coefficient)| coefficient != 0);
    ExactRow {
        terms,
        sense: Sense::AtLeast,
        right,
        unit: Unit::Time,
    }
}

fn end_after_tail(statement: &Statement<'_>, i: usize) -> ExactRow {
    let windows = statement.windows;
    let mut terms = statement.weighted(i, -1, |p| {
        windows.head[i][p] + windows.time[i][p].unwrap_or(0) + windows.tail[i][p]
    });
    terms.push((statement.makespan, 1));
    at_least(terms, 0)
}

fn start_in_window(statement: &Statement<'_>, i: usize, p: usize) -> Option<ExactRow> {
    let (x, start) = (statement.x[i][p]?, statement.start[i][p]?);
    let width = statement.windows.latest(i, p) - statement.windows.head[i][p];
    Some(at_least(
        vec![(x, width), (start, -1), (statement.stretch, 1)],
        0,
    ))
}

/// `S_w - E_u >= Σ_{i in B} t[i][p] x[i][p] + Σ_a g[a] x[u][a] + Σ_b h[b] x[w][b] - d`.
fn load_between(statement: &Statement<'_>, span: Span, guard: &Guard) -> ExactRow {
    let windows = statement.windows;
    let p = span.processor;
    let mut right = -guard.lowered;
    let mut terms = if let Some(w) = span.to {
        statement.weighted(w, 1, |b| windows.head[w][b] - guard.exits[b])
    } else {
        right += guard.exits[0];
        vec![(statement.makespan, 1)]
    };
    match span.from {
        Some(u) => terms.extend(statement.weighted(u, -1, |a| {
            windows.head[u][a] + windows.time[u][a].unwrap_or(0) + guard.entries[a]
        })),
        None => right += guard.entries[0],
    }
    for &i in &guard.between {
        if let (Some(x), Some(time)) = (statement.x[i][p], windows.time[i][p]) {
            terms.push((x, -time));
        }
    }
    at_least(terms, right)
}

/// `Σ_i x[i][p] max(0, min(t, e - s, H + t - s, e - L)) <= e - s`.
fn energy(statement: &Statement<'_>, p: usize, opens: i64, closes: i64) -> ExactRow {
    let mut terms = Vec::new();
    for i in 0..statement.x.len() {
        if let Some(x) = statement.x[i][p] {
            terms.push((x, -inside(statement, i, p, opens, closes)));
        }
    }
    terms.push((statement.stretch, 1));
    at_least(terms, opens - closes)
}

/// What `i` on `p` must do between two moments in every schedule that fits the horizon.
pub(super) fn inside(
    statement: &Statement<'_>,
    i: usize,
    p: usize,
    opens: i64,
    closes: i64,
) -> i64 {
    let windows = statement.windows;
    let time = windows.time[i][p].unwrap_or(0);
    let early = windows.head[i][p] + time - opens;
    let late = closes - windows.latest(i, p);
    time.min(closes - opens).min(early).min(late).max(0)
}
