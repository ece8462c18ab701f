//! Orders of two operators on one processor, decided only where a point of the integer program lets them overlap.

use std::collections::BTreeSet;

use crate::milp::{ONE, Sense, Unit};

use super::separate::Point;
use super::statement::Statement;

/// Two operators, the smaller one first, neither of which must be done before the other.
pub(super) type Pair = (usize, usize);

/// The pairs that run on one processor at the same time, the longest overlap first, at most `most`; those of `known` are left out.
pub(super) fn overlaps(
    statement: &Statement<'_>,
    point: &Point<'_>,
    known: &BTreeSet<Pair>,
    most: usize,
) -> Vec<Pair> {
    let count = statement.x.len();
    let ground = statement.ground;
    let tolerance = (statement.windows.horizon / 100_000).max(1) * ONE / 4;
    let runs_on = |i: usize| (0..ground.processors).find(|&p| 2 * point.x(i, p) > ONE);
    let mut found = Vec::new();
    for i in 0..count {
        for j in i + 1..count {
            let is_ordered = ground.before[j][i >> 6] >> (i & 63) & 1 == 1;
            if is_ordered || runs_on(i) != runs_on(j) || known.contains(&(i, j)) {
                continue;
            }
            let overlap = point.end(i).min(point.end(j)) - point.start(i).max(point.start(j));
            if overlap > tolerance {
                found.push((overlap, (i, j)));
            }
        }
    }
    found.sort_by_key(|&(overlap, pair)| (std::cmp::Reverse(overlap), pair));
    found.truncate(most);
    found.into_iter().map(|(_, pair)| pair).collect()
}

/// Adds the order of a pair; the column of the choice, one where `i` comes first.
///
/// `S_j - E_i + M (2 - x[i][p] - x[j][p]) + N (1 - y) >= 0`, and the same the other way round, for every processor of both.
pub(super) fn decide(statement: &mut Statement<'_>, (i, j): Pair) -> usize {
    let y = statement.share_column();
    for p in 0..statement.ground.processors {
        follow(statement, (i, j), p, (y, true));
        follow(statement, (j, i), p, (y, false));
    }
    y
}

/// `second` starts behind the end of `first` if both run on `p` and `y` is as said.
fn follow(
    statement: &mut Statement<'_>,
    (first, second): Pair,
    p: usize,
    (y, is_one): (usize, bool),
) {
    let (Some(x), Some(other)) = (statement.x[first][p], statement.x[second][p]) else {
        return;
    };
    let windows = statement.windows;
    let last_end = |p: usize| windows.horizon - windows.tail[first][p];
    let ends = windows.possible(first).map(|(q, _)| last_end(q)).max();
    let starts = windows
        .possible(second)
        .map(|(q, _)| windows.head[second][q])
        .min();
    let apart = (ends.unwrap_or(0) - starts.unwrap_or(0)).max(0);
    let here = (last_end(p) - windows.head[second][p]).max(0);
    let mut terms = statement.start_of(second, 1);
    terms.extend(statement.end_of(first, -1));
    terms.extend([(x, -apart), (other, -apart)]);
    let mut right = -2 * apart;
    if is_one {
        terms.push((y, -here));
        right -= here;
    } else {
        terms.push((y, here));
    }
    statement.require(summed(terms), Sense::AtLeast, right, Unit::Time);
}

/// Each column once.
fn summed(mut terms: Vec<(usize, i64)>) -> Vec<(usize, i64)> {
    terms.sort_unstable_by_key(|&(column, _)| column);
    let mut once: Vec<(usize, i64)> = Vec::new();
    for (column, coefficient) in terms {
        match once.last_mut() {
            Some((last, sum)) if *last == column => *sum += coefficient,
            _ => once.push((column, coefficient)),
        }
    }
    once
}
