//! Energetic cuts: in a window of a processor, what must run there at least fits into it.
//!
//! For `s < e`: `Σ_i x[i][p] · max(0, min(t, e − s, H + t − s, e − (C − T − t))) ≤ e − s`, for every schedule below the trial C.

use super::program::{Program, SLACK};
use super::rows::{Row, signed};
use super::ways::{Frame, Ways};

/// A processor and a window.
pub(super) type Key = (usize, u64, u64);

/// Windows tried on each processor are at most this many squared.
const MOST_ENDS: usize = 60;

/// The worst windows that the point misses by more than `least`, at most `most` a processor.
pub(super) fn separate(
    frame: &Frame<'_>,
    ways: &Ways,
    program: &Program,
    values: &[f64],
    least: f64,
    most: usize,
) -> Vec<Key> {
    let mut keys = Vec::new();
    for p in 0..frame.processors() {
        let own: Vec<usize> = (0..frame.operators())
            .filter(|&i| ways.is_possible(i, p) && values[program.share(i, p)] > 1e-6)
            .collect();
        let starts = thinned(own.iter().map(|&i| ways.head(i, p)).collect());
        let ends = thinned(own.iter().map(|&i| ways.trial - ways.tail(i, p)).collect());
        let mut found: Vec<(f64, Key)> = Vec::new();
        for &start in &starts {
            for &end in ends.iter().filter(|&&end| end > start) {
                let energy: f64 = own
                    .iter()
                    .map(|&i| {
                        values[program.share(i, p)]
                            * super::intervals::float(energy(ways, i, p, start, end))
                    })
                    .sum();
                let violation = energy - super::intervals::float(end - start);
                if violation > least {
                    found.push((violation, (p, start, end)));
                }
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        keys.extend(found.into_iter().take(most).map(|(_, key)| key));
    }
    keys
}

/// The row of a window; `None` where nothing has to run in it.
pub(super) fn row(frame: &Frame<'_>, ways: &Ways, program: &Program, key: Key) -> Option<Row> {
    let (p, start, end) = key;
    let mut row = Row::time();
    row.right = -signed(end - start);
    for i in (0..frame.operators()).filter(|&i| ways.is_possible(i, p)) {
        row.add(program.share(i, p), -signed(energy(ways, i, p, start, end)));
    }
    if row.terms.is_empty() {
        return None;
    }
    // So that the program keeps a point whatever the trial; schedules below it need no slack.
    row.add(SLACK, signed(frame.operators() as u64));
    Some(row)
}

/// What of operator `i` runs between two times at least, if it runs on `p`.
fn energy(ways: &Ways, i: usize, p: usize, start: u64, end: u64) -> u64 {
    let time = ways.time(i, p);
    let early = (ways.head(i, p) + time).saturating_sub(start);
    let late = end.saturating_sub(ways.latest(i, p));
    time.min(end - start).min(early).min(late)
}

/// Some of the times, evenly over their order.
fn thinned(mut times: Vec<u64>) -> Vec<u64> {
    times.sort_unstable();
    times.dedup();
    if times.len() > MOST_ENDS {
        let count = times.len();
        times = (0..MOST_ENDS)
            .map(|at| times[at * (count - 1) / (MOST_ENDS - 1)])
            .collect();
    }
    times
}

/// Every cut of a window that begins with a head and ends with a tail.
#[cfg(test)]
pub(super) fn all(frame: &Frame<'_>, ways: &Ways, program: &Program) -> Vec<Row> {
    let mut rows = Vec::new();
    for p in 0..frame.processors() {
        let own: Vec<usize> = (0..frame.operators())
            .filter(|&i| ways.is_possible(i, p))
            .collect();
        for &first in &own {
            for &last in &own {
                let (start, end) = (ways.head(first, p), ways.trial - ways.tail(last, p));
                if start < end {
                    rows.extend(row(frame, ways, program, (p, start, end)));
                }
            }
        }
    }
    rows
}
