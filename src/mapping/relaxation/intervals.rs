//! Interval load cuts: what one processor runs between two operators fits between the end of the one and the start of the other.
//!
//! `S[w] − E[u] ≥ Σ_{i in B} t[i][p] x[i][p] + Σ_a g[a] x[u][a] + Σ_b h[b] x[w][b] − d`, where B lies between `u` and `w` and can run on `p`;
//! `g[a]` is the least way from `u` on `a` to one of B on `p`, `h[b]` the least from one of B on `p` to `w` on `b`.
//! A processor that runs none of B leaves only the distance from `u` to `w`, so `d = max(0, max over a, b of g[a] + h[b] − dist(a, b))`; without it the row is wrong.
//! Either end can be that of the whole: the start of everything, or C.

use super::super::intervals::{intersect, members};
use super::program::{MAKESPAN, Program};
use super::rows::{Row, signed};
use super::ways::{Frame, Ways};

/// An operator, or an end of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    Whole,
    Operator(usize),
}

/// Which cut: between which events, on which processor.
pub(super) type Key = (Event, Event, usize);

/// A cut and by how much the point misses it.
pub(super) struct Found {
    pub(super) violation: f64,
    pub(super) key: Key,
}

/// A point of the program, in nanoseconds.
pub(super) struct Point<'a> {
    pub(super) values: &'a [f64],
}

/// The ways of one cut.
struct Interval {
    /// `(processor of u, g)`; one entry without meaning of the processor for the whole.
    after: Vec<(usize, u64)>,
    /// `(processor of w, h)`.
    before: Vec<(usize, u64)>,
    guard: u64,
}

/// All cuts that the point misses by more than `least`, worst first, at most `most` and few of each event.
pub(super) fn separate(
    frame: &Frame<'_>,
    ways: &Ways,
    program: &Program,
    point: &Point<'_>,
    floor: u64,
    least: f64,
    most: usize,
) -> Vec<Key> {
    const OF_EACH_EVENT: usize = 6;
    let events = events(frame, ways);
    let mut found: Vec<Found> = Vec::new();
    let mut between = Vec::new();
    for &u in &events {
        for &w in &events {
            if !is_pair(frame, u, w) {
                continue;
            }
            fill_between(frame, u, w, &mut between);
            for p in 0..frame.processors() {
                let own: Vec<usize> = members(&between)
                    .filter(|&i| ways.is_possible(i, p))
                    .collect();
                if own.len() < 2 {
                    continue;
                }
                let load: f64 = own
                    .iter()
                    .map(|&i| point.share(program, i, p) * float(ways.time(i, p)))
                    .sum();
                let interval = interval(frame, ways, u, w, p, &own, floor);
                let right = load
                    + point.weighted(program, u, &interval.after)
                    + point.weighted(program, w, &interval.before)
                    - float(interval.guard);
                let room = point.start(program, ways, w) - point.end(program, ways, u);
                if right - room > least {
                    found.push(Found {
                        violation: right - room,
                        key: (u, w, p),
                    });
                }
            }
        }
    }
    found.sort_by(|a, b| {
        b.violation
            .total_cmp(&a.violation)
            .then_with(|| a.key.cmp(&b.key))
    });
    let mut uses = vec![0_usize; 2 * (frame.operators() + 1)];
    let slot = |event: Event| match event {
        Event::Whole => 0,
        Event::Operator(v) => v + 1,
    };
    let mut keys = Vec::new();
    for cut in found {
        let (u, w, _) = cut.key;
        let (from, to) = (slot(u), frame.operators() + 1 + slot(w));
        if uses[from] < OF_EACH_EVENT && uses[to] < OF_EACH_EVENT {
            uses[from] += 1;
            uses[to] += 1;
            keys.push(cut.key);
            if keys.len() == most {
                break;
            }
        }
    }
    keys
}

/// The row of a cut; `None` where too little can run on its processor below this trial.
pub(super) fn row(
    frame: &Frame<'_>,
    ways: &Ways,
    program: &Program,
    (u, w, p): Key,
    floor: u64,
) -> Option<Row> {
    let mut between = Vec::new();
    fill_between(frame, u, w, &mut between);
    let own: Vec<usize> = members(&between)
        .filter(|&i| ways.is_possible(i, p))
        .collect();
    if own.is_empty() {
        return None;
    }
    let interval = interval(frame, ways, u, w, p, &own, floor);
    let mut row = Row::time();
    row.right = -signed(interval.guard);
    match w {
        Event::Whole => {
            row.add(MAKESPAN, 1);
            row.right += interval.before.first().map_or(0, |&(_, h)| signed(h));
        }
        Event::Operator(w) => {
            program.add_start(&mut row, ways, w, 1);
            for &(b, h) in &interval.before {
                row.add(program.share(w, b), -signed(h));
            }
        }
    }
    match u {
        Event::Whole => row.right += interval.after.first().map_or(0, |&(_, g)| signed(g)),
        Event::Operator(u) => {
            program.add_end(&mut row, ways, u, -1);
            for &(a, g) in &interval.after {
                row.add(program.share(u, a), -signed(g));
            }
        }
    }
    for i in own {
        row.add(program.share(i, p), -signed(ways.time(i, p)));
    }
    Some(row.collected())
}

impl Point<'_> {
    fn share(&self, program: &Program, operator: usize, processor: usize) -> f64 {
        self.values[program.share(operator, processor)]
    }

    fn start(&self, program: &Program, ways: &Ways, event: Event) -> f64 {
        match event {
            Event::Whole => self.values[MAKESPAN],
            Event::Operator(w) => ways
                .possible(w)
                .map(|p| self.values[program.start(w, p)])
                .sum(),
        }
    }

    fn end(&self, program: &Program, ways: &Ways, event: Event) -> f64 {
        match event {
            Event::Whole => 0.0,
            Event::Operator(u) => ways
                .possible(u)
                .map(|p| {
                    self.values[program.start(u, p)]
                        + float(ways.time(u, p)) * self.share(program, u, p)
                })
                .sum(),
        }
    }

    fn weighted(&self, program: &Program, event: Event, ways: &[(usize, u64)]) -> f64 {
        match event {
            Event::Whole => ways.first().map_or(0.0, |&(_, way)| float(way)),
            Event::Operator(v) => ways
                .iter()
                .map(|&(p, way)| float(way) * self.share(program, v, p))
                .sum(),
        }
    }
}

fn events(frame: &Frame<'_>, ways: &Ways) -> Vec<Event> {
    let operators = if ways.has_distances() {
        frame.operators()
    } else {
        0
    };
    std::iter::once(Event::Whole)
        .chain((0..operators).map(Event::Operator))
        .collect()
}

fn is_pair(frame: &Frame<'_>, u: Event, w: Event) -> bool {
    match (u, w) {
        (Event::Whole, _) | (_, Event::Whole) => true,
        (Event::Operator(u), Event::Operator(w)) => frame.before[w][u >> 6] >> (u & 63) & 1 == 1,
    }
}

fn fill_between(frame: &Frame<'_>, u: Event, w: Event, between: &mut Vec<u64>) {
    between.clear();
    match (u, w) {
        (Event::Whole, Event::Whole) => {
            between.resize(frame.operators().div_ceil(64), 0);
            for i in 0..frame.operators() {
                between[i >> 6] |= 1 << (i & 63);
            }
        }
        (Event::Whole, Event::Operator(w)) => between.extend_from_slice(&frame.before[w]),
        (Event::Operator(u), Event::Whole) => between.extend_from_slice(&frame.behind[u]),
        (Event::Operator(u), Event::Operator(w)) => {
            between.resize(frame.before[w].len(), 0);
            intersect(&frame.behind[u], &frame.before[w], between);
        }
    }
}

fn interval(
    frame: &Frame<'_>,
    ways: &Ways,
    u: Event,
    w: Event,
    p: usize,
    own: &[usize],
    floor: u64,
) -> Interval {
    let least = |way: &dyn Fn(usize) -> u64| {
        let way = own.iter().map(|&i| way(i)).min().unwrap_or(0);
        // A way beyond the trial is none; a smaller one is as valid.
        way.min(ways.trial)
    };
    let after: Vec<(usize, u64)> = match u {
        Event::Whole => vec![(0, least(&|i| ways.head(i, p)))],
        Event::Operator(u) => ways
            .possible(u)
            .map(|a| (a, least(&|i| ways.distance((u, a), (i, p)))))
            .collect(),
    };
    let before: Vec<(usize, u64)> = match w {
        Event::Whole => vec![(0, least(&|i| ways.tail(i, p)))],
        Event::Operator(w) => ways
            .possible(w)
            .map(|b| (b, least(&|i| ways.distance((i, p), (w, b)))))
            .collect(),
    };
    let mut guard = 0;
    for &(a, g) in &after {
        for &(b, h) in &before {
            let alone = match (u, w) {
                (Event::Whole, Event::Whole) => floor,
                (Event::Whole, Event::Operator(w)) => ways.head(w, b),
                (Event::Operator(u), Event::Whole) => ways.tail(u, a),
                (Event::Operator(u), Event::Operator(w)) => ways.distance((u, a), (w, b)),
            };
            guard = guard.max((g + h).saturating_sub(alone));
        }
    }
    if (u, w) == (Event::Whole, Event::Whole) && frame.problem.must_use & (1 << p) != 0 {
        guard = 0;
    }
    Interval {
        after,
        before,
        guard,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "cuts are chosen by floats and stated in integers"
)]
pub(super) fn float(time: u64) -> f64 {
    time as f64
}

/// Every cut that there is.
#[cfg(test)]
pub(super) fn all(frame: &Frame<'_>, ways: &Ways, program: &Program, floor: u64) -> Vec<Row> {
    let events = events(frame, ways);
    let pairs = events
        .iter()
        .flat_map(|&u| events.iter().map(move |&w| (u, w)));
    pairs
        .filter(|&(u, w)| is_pair(frame, u, w))
        .flat_map(|(u, w)| (0..frame.processors()).map(move |p| (u, w, p)))
        .filter_map(|key| row(frame, ways, program, key, floor))
        .collect()
}
