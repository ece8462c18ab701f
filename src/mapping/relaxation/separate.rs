//! Which rows a point of the relaxation violates most.

use std::collections::BTreeSet;

use crate::mapping::intervals::{intersect, members};
use crate::milp::ONE;

use super::cuts::{Cut, inside};
use super::guards::guard;
use super::statement::Statement;

/// Moments at which windows of energetic rows open or close, a processor at most.
const MOMENTS: usize = 48;

/// A point of the relaxation, in units of `1 / ONE`.
pub(super) struct Point<'a> {
    statement: &'a Statement<'a>,
    values: &'a [i64],
    starts: Vec<i64>,
    ends: Vec<i64>,
}

impl<'a> Point<'a> {
    pub(super) fn new(statement: &'a Statement<'a>, values: &'a [i64]) -> Self {
        let value = |terms: Vec<(usize, i64)>| -> i64 {
            terms
                .iter()
                .map(|&(column, coefficient)| coefficient * values[column])
                .sum()
        };
        let count = statement.x.len();
        Self {
            statement,
            values,
            starts: (0..count).map(|i| value(statement.start_of(i, 1))).collect(),
            ends: (0..count).map(|i| value(statement.end_of(i, 1))).collect(),
        }
    }

    fn x(&self, i: usize, p: usize) -> i64 {
        self.statement.x[i][p].map_or(0, |x| self.values[x])
    }
}

/// Rows that the point violates, the most violated of each family first, at most `most` of a family; those of `known` are left out.
pub(super) fn separate(
    point: &Point<'_>,
    floor: i64,
    known: &BTreeSet<Cut>,
    most: usize,
) -> Vec<Cut> {
    let horizon = point.statement.windows.horizon;
    // Less than this share of the horizon is not worth a row.
    let tolerance = (horizon / 100_000).max(1) * ONE / 4;
    let mut chosen = Vec::new();
    for mut family in [
        windows(point),
        loads(point, floor, tolerance),
        energies(point),
    ] {
        family.retain(|(violation, cut)| *violation > tolerance && !known.contains(cut));
        family.sort_by_key(|&(violation, cut)| (std::cmp::Reverse(violation), cut));
        family.truncate(most);
        chosen.extend(family.into_iter().map(|(_, cut)| cut));
    }
    chosen
}

/// Starts and ends outside their windows.
fn windows(point: &Point<'_>) -> Vec<(i64, Cut)> {
    let statement = point.statement;
    let windows = statement.windows;
    let stretch = point.values[statement.stretch];
    let makespan = point.values[statement.makespan];
    let mut cuts = Vec::new();
    for operator in 0..statement.x.len() {
        let mut rest = 0;
        for (processor, _) in windows.possible(operator) {
            let (Some(x), Some(start)) = (
                statement.x[operator][processor],
                statement.start[operator][processor],
            ) else {
                continue;
            };
            rest += windows.tail[operator][processor] * point.values[x];
            let width = windows.latest(operator, processor) - windows.head[operator][processor];
            let violation = point.values[start] - width * point.values[x] - stretch;
            cuts.push((
                violation,
                Cut::StartInWindow {
                    operator,
                    processor,
                },
            ));
        }
        cuts.push((
            point.ends[operator] + rest - makespan,
            Cut::EndAfterTail { operator },
        ));
    }
    cuts
}

/// Loads that do not fit between two events.
fn loads(point: &Point<'_>, floor: i64, tolerance: i64) -> Vec<(i64, Cut)> {
    let statement = point.statement;
    let ground = statement.ground;
    let (count, processors) = (statement.x.len(), ground.processors);
    let priced: Vec<i64> = (0..count * processors)
        .map(|at| {
            let (i, p) = (at / processors, at % processors);
            point.x(i, p) * statement.windows.time[i][p].unwrap_or(0)
        })
        .collect();
    let mut cuts = Vec::new();
    let mut between = vec![0_u64; count.div_ceil(64)];
    let mut offer = |from: Option<usize>, to: Option<usize>, between: &[u64]| {
        let room = to.map_or(point.values[statement.makespan], |w| point.starts[w])
            - from.map_or(0, |u| point.ends[u]);
        let mut load = [0_i64; 16];
        let mut first = [None; 16];
        let mut last = [None; 16];
        let mut number = 0;
        for i in members(between) {
            number += 1;
            for p in 0..processors {
                if statement.x[i][p].is_some() {
                    load[p] += priced[i * processors + p];
                    first[p].get_or_insert(i);
                    last[p] = Some(i);
                }
            }
        }
        if number == 0 {
            return;
        }
        for p in 0..processors {
            let (Some(first), Some(last)) = (first[p], last[p]) else {
                continue;
            };
            let entry = match from {
                Some(u) => (0..processors)
                    .map(|a| match point.x(u, a) {
                        0 => 0,
                        x => x * ground.distance(u, a, first, p),
                    })
                    .sum(),
                None => statement.windows.head[first][p] * ONE,
            };
            let exit: i64 = match to {
                Some(w) => (0..processors)
                    .map(|b| match point.x(w, b) {
                        0 => 0,
                        x => x * ground.distance(last, p, w, b),
                    })
                    .sum(),
                None => statement.windows.tail[last][p] * ONE,
            };
            if load[p] + entry + exit - room <= tolerance {
                continue;
            }
            let Some(guard) = guard(ground, statement.windows, floor, from, to, p) else {
                continue;
            };
            let entry: i64 = match from {
                Some(u) => (0..processors)
                    .map(|a| guard.entries[a] * point.x(u, a))
                    .sum(),
                None => guard.entries[0] * ONE,
            };
            let exit: i64 = match to {
                Some(w) => (0..processors)
                    .map(|b| guard.exits[b] * point.x(w, b))
                    .sum(),
                None => guard.exits[0] * ONE,
            };
            let violation = load[p] + entry + exit - guard.lowered * ONE - room;
            cuts.push((
                violation,
                Cut::LoadBetween {
                    from,
                    to,
                    processor: p,
                },
            ));
        }
    };
    let all: Vec<u64> = (0..count).fold(vec![0; count.div_ceil(64)], |mut all, i| {
        all[i >> 6] |= 1 << (i & 63);
        all
    });
    offer(None, None, &all);
    for v in 0..count {
        offer(None, Some(v), &ground.before[v]);
        offer(Some(v), None, &ground.behind[v]);
        if ground.has_distances() {
            for u in members(&ground.before[v]) {
                intersect(&ground.behind[u], &ground.before[v], &mut between);
                offer(Some(u), Some(v), &between);
            }
        }
    }
    cuts
}

/// Windows in which a processor has more to do than fits.
fn energies(point: &Point<'_>) -> Vec<(i64, Cut)> {
    let statement = point.statement;
    let windows = statement.windows;
    let stretch = point.values[statement.stretch];
    let mut cuts = Vec::new();
    for processor in 0..statement.ground.processors {
        let running: Vec<(usize, i64)> = (0..statement.x.len())
            .map(|i| (i, point.x(i, processor)))
            .filter(|&(_, x)| x > 0)
            .collect();
        let opens = thin(running.iter().map(|&(i, _)| windows.head[i][processor]).collect());
        let closes = thin(
            running
                .iter()
                .map(|&(i, _)| windows.horizon - windows.tail[i][processor])
                .collect(),
        );
        for &opens in &opens {
            for &closes in closes.iter().filter(|&&closes| closes > opens) {
                let work: i64 = running
                    .iter()
                    .map(|&(i, x)| x * inside(statement, i, processor, opens, closes))
                    .sum();
                cuts.push((
                    work - (closes - opens) * ONE - stretch,
                    Cut::Energy {
                        processor,
                        opens,
                        closes,
                    },
                ));
            }
        }
    }
    cuts
}

/// Few of many moments, evenly.
fn thin(mut moments: Vec<i64>) -> Vec<i64> {
    moments.sort_unstable();
    moments.dedup();
    let step = moments.len().div_ceil(MOMENTS).max(1);
    moments.into_iter().step_by(step).collect()
}
