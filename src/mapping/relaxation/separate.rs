//! Which rows a point of the relaxation violates most.

use std::collections::BTreeSet;

use crate::mapping::intervals::{intersect, members};
use crate::milp::ONE;

use super::cuts::{Cut, inside};
use super::spans::{Span, Ways};
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
            starts: (0..count)
                .map(|i| value(statement.start_of(i, 1)))
                .collect(),
            ends: (0..count).map(|i| value(statement.end_of(i, 1))).collect(),
        }
    }

    pub(super) fn start(&self, i: usize) -> i64 {
        self.starts[i]
    }

    pub(super) fn end(&self, i: usize) -> i64 {
        self.ends[i]
    }

    pub(super) fn x(&self, i: usize, p: usize) -> i64 {
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
    let ground = point.statement.ground;
    let count = point.statement.x.len();
    let mut search = SpanSearch::new(point, floor, tolerance);
    let mut between = vec![0_u64; count.div_ceil(64)];
    let mut all = between.clone();
    (0..count).for_each(|i| all[i >> 6] |= 1 << (i & 63));
    search.offer(None, None, &all);
    for v in 0..count {
        search.offer(None, Some(v), &ground.before[v]);
        search.offer(Some(v), None, &ground.behind[v]);
        if ground.has_distances() {
            for u in members(&ground.before[v]) {
                intersect(&ground.behind[u], &ground.before[v], &mut between);
                search.offer(Some(u), Some(v), &between);
            }
        }
    }
    search.cuts
}

/// The search for spans that are too full.
struct SpanSearch<'a> {
    point: &'a Point<'a>,
    floor: i64,
    tolerance: i64,
    /// `t[i][p] x[i][p]` at `i · P + p`.
    work: Vec<i64>,
    cuts: Vec<(i64, Cut)>,
}

impl<'a> SpanSearch<'a> {
    fn new(point: &'a Point<'a>, floor: i64, tolerance: i64) -> Self {
        let windows = point.statement.windows;
        let processors = point.statement.ground.processors;
        let count = point.statement.x.len();
        let work = (0..count * processors)
            .map(|at| {
                let (i, p) = (at / processors, at % processors);
                point.x(i, p) * windows.time[i][p].unwrap_or(0)
            })
            .collect();
        Self {
            point,
            floor,
            tolerance,
            work,
            cuts: Vec::new(),
        }
    }

    /// The fullest span between two events on each processor.
    fn offer(&mut self, from: Option<usize>, to: Option<usize>, between: &[u64]) {
        let processors = self.point.statement.ground.processors;
        let makespan = self.point.values[self.point.statement.makespan];
        let room =
            to.map_or(makespan, |w| self.point.starts[w]) - from.map_or(0, |u| self.point.ends[u]);
        for processor in 0..processors {
            let running: Vec<usize> = members(between)
                .filter(|&i| self.work[i * processors + processor] > 0)
                .collect();
            if !running.is_empty() {
                self.offer_on(Span::whole(from, to, processor), room, &running);
            }
        }
    }

    /// Leaves out what is close to either event, as long as that makes the span fuller.
    fn offer_on(&mut self, span: Span, room: i64, running: &[usize]) {
        let statement = self.point.statement;
        let ways = Ways::new(statement.ground, statement.windows, self.floor, span);
        let processors = statement.ground.processors;
        let share = |event: Option<usize>, place: usize| match event {
            None => ONE,
            Some(v) => self.point.x(v, place),
        };
        let sources: Vec<i64> = ways.sources.iter().map(|&a| share(span.from, a)).collect();
        let targets: Vec<i64> = ways.targets.iter().map(|&b| share(span.to, b)).collect();
        let mut best = (self.tolerance, None);
        for by_exit in [false, true] {
            let key = |i: usize| {
                if by_exit {
                    ways.exit_key(i)
                } else {
                    ways.entry_key(i)
                }
            };
            let mut order: Vec<(i64, usize)> = running.iter().map(|&i| (key(i), i)).collect();
            order.sort_unstable_by(|a, b| b.cmp(a));
            let mut entries = vec![i64::MAX; processors];
            let mut exits = vec![i64::MAX; processors];
            let mut load = 0;
            for (place, &(threshold, i)) in order.iter().enumerate() {
                load += self.work[i * processors + span.processor];
                for &a in &ways.sources {
                    entries[a] = entries[a].min(ways.entry(i, a));
                }
                for &b in &ways.targets {
                    exits[b] = exits[b].min(ways.exit(i, b));
                }
                if order.get(place + 1).is_some_and(|next| next.0 == threshold) {
                    continue;
                }
                let entry: i64 = ways
                    .sources
                    .iter()
                    .zip(&sources)
                    .map(|(&a, x)| entries[a] * x)
                    .sum();
                let exit: i64 = ways
                    .targets
                    .iter()
                    .zip(&targets)
                    .map(|(&b, x)| exits[b] * x)
                    .sum();
                if load + entry + exit - room <= best.0 {
                    continue;
                }
                let lowered = ways.lowered(&entries, &exits) * ONE;
                let violation = load + entry + exit - lowered - room;
                if violation > best.0 {
                    let (entry, exit) = if by_exit {
                        (0, threshold)
                    } else {
                        (threshold, 0)
                    };
                    best = (
                        violation,
                        Some(Span {
                            entry,
                            exit,
                            ..span
                        }),
                    );
                }
            }
        }
        if let (violation, Some(span)) = best {
            self.cuts.push((violation, Cut::LoadBetween(span)));
        }
    }
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
        let opens = thin(
            running
                .iter()
                .map(|&(i, _)| windows.head[i][processor])
                .collect(),
        );
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
