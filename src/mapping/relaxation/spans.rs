//! Loads between two events: which operators count, how long it takes to them and from them, and the guard for a processor that runs none of them.

use crate::mapping::intervals::{intersect, members};

use super::ground::{APART, Ground};
use super::windows::Windows;

/// Two events, a processor, and how far the operators must be from either event to count; without an operator the event is the start or the end of the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    /// `u`: the first event is its end.
    pub(super) from: Option<usize>,
    /// `w`: the second event is its start.
    pub(super) to: Option<usize>,
    /// `p`.
    pub(super) processor: usize,
    /// `α`: operators closer to the first event do not count.
    pub(super) entry: i64,
    /// `β`: operators closer to the second event do not count.
    pub(super) exit: i64,
}

/// `B`, `g`, `h` and `d` of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    /// `B`: what counts.
    pub(super) between: Vec<usize>,
    /// `g[a]`: shortest way from the first event, an operator on `a`, to one of them; a single number where the event is the start of the stage.
    pub(super) entries: Vec<i64>,
    /// `h[b]`: shortest way from one of them to the second event.
    pub(super) exits: Vec<i64>,
    /// `d = max(0, max over (a, b) of g[a] + h[b] - dist(u@a, w@b))`.
    pub(super) lowered: i64,
}

impl Span {
    /// Everything between two events.
    pub(super) fn whole(from: Option<usize>, to: Option<usize>, processor: usize) -> Self {
        Self {
            from,
            to,
            processor,
            entry: 0,
            exit: 0,
        }
    }

    /// What counts, and the guard; `None` where nothing does.
    ///
    /// A processor that runs nothing needs neither entry nor exit: without `d` the row would ask for more than the distance and be wrong.
    pub(super) fn guard(self, ground: &Ground<'_>, windows: &Windows, floor: i64) -> Option<Guard> {
        let ways = Ways::new(ground, windows, floor, self);
        let between: Vec<usize> = ways
            .between(ground, windows)
            .into_iter()
            .filter(|&i| ways.entry_key(i) >= self.entry && ways.exit_key(i) >= self.exit)
            .collect();
        if between.is_empty() {
            return None;
        }
        let least = |places: &[usize], way: &dyn Fn(usize, usize) -> i64| -> Vec<i64> {
            (0..=places.last().copied().unwrap_or(0))
                .map(|place| {
                    let ways = between.iter().map(|&i| way(i, place));
                    if places.contains(&place) {
                        ways.min().unwrap_or(0)
                    } else {
                        0
                    }
                })
                .collect()
        };
        let mut entries = least(&ways.sources, &|i, a| ways.entry(i, a));
        let mut exits = least(&ways.targets, &|i, b| ways.exit(i, b));
        entries.resize(ground.processors.max(1), 0);
        exits.resize(ground.processors.max(1), 0);
        let lowered = ways.lowered(&entries, &exits);
        Some(Guard {
            between,
            entries,
            exits,
            lowered,
        })
    }
}

/// Distances between the events of a span and what may lie between them.
pub(super) struct Ways<'a> {
    ground: &'a Ground<'a>,
    windows: &'a Windows,
    /// No schedule is shorter: the distance from start to end.
    floor: i64,
    span: Span,
    /// Processors of the first event, or one place for the start of the stage.
    pub(super) sources: Vec<usize>,
    /// Processors of the second event, or one place for the end.
    pub(super) targets: Vec<usize>,
}

impl<'a> Ways<'a> {
    pub(super) fn new(
        ground: &'a Ground<'a>,
        windows: &'a Windows,
        floor: i64,
        span: Span,
    ) -> Self {
        let places = |event: Option<usize>| match event {
            None => vec![0],
            Some(v) => windows.possible(v).map(|(p, _)| p).collect(),
        };
        Self {
            ground,
            windows,
            floor,
            span,
            sources: places(span.from),
            targets: places(span.to),
        }
    }

    /// From the first event at `a` to the start of `i` on the processor.
    pub(super) fn entry(&self, i: usize, a: usize) -> i64 {
        let p = self.span.processor;
        match self.span.from {
            None => self.windows.head[i][p],
            Some(u) => self.ground.distance(u, a, i, p),
        }
    }

    /// From the end of `i` on the processor to the second event at `b`.
    pub(super) fn exit(&self, i: usize, b: usize) -> i64 {
        let p = self.span.processor;
        match self.span.to {
            None => self.windows.tail[i][p],
            Some(w) => self.ground.distance(i, p, w, b),
        }
    }

    /// The shortest entry.
    pub(super) fn entry_key(&self, i: usize) -> i64 {
        let ways = self.sources.iter().map(|&a| self.entry(i, a));
        ways.min().unwrap_or(0)
    }

    /// The shortest exit.
    pub(super) fn exit_key(&self, i: usize) -> i64 {
        let ways = self.targets.iter().map(|&b| self.exit(i, b));
        ways.min().unwrap_or(0)
    }

    /// `d` of entries and exits.
    pub(super) fn lowered(&self, entries: &[i64], exits: &[i64]) -> i64 {
        let mut lowered = 0;
        for &a in &self.sources {
            for &b in &self.targets {
                let distance = match (self.span.from, self.span.to) {
                    (None, None) => self.floor,
                    (Some(u), None) => self.windows.tail[u][a],
                    (None, Some(w)) => self.windows.head[w][b],
                    (Some(u), Some(w)) => self.ground.distance(u, a, w, b),
                };
                debug_assert!(distance > APART, "events of a span are ordered");
                lowered = lowered.max(entries[a] + exits[b] - distance);
            }
        }
        lowered
    }

    /// Operators between the events that can run on the processor.
    pub(super) fn between(&self, ground: &Ground<'_>, windows: &Windows) -> Vec<usize> {
        let count = windows.time.len();
        let mut between = vec![0; count.div_ceil(64)];
        match (self.span.from, self.span.to) {
            (Some(u), Some(w)) => intersect(&ground.behind[u], &ground.before[w], &mut between),
            (Some(u), None) => between.clone_from(&ground.behind[u]),
            (None, Some(w)) => between.clone_from(&ground.before[w]),
            (None, None) => (0..count).for_each(|i| between[i >> 6] |= 1 << (i & 63)),
        }
        let p = self.span.processor;
        members(&between)
            .filter(|&i| windows.time[i][p].is_some())
            .collect()
    }
}
