//! Entries and exits of loads between two events, and the guard for a processor that runs none of them.

use crate::mapping::intervals::{intersect, members};

use super::ground::{APART, Ground};
use super::windows::Windows;

/// `g`, `h` and `d` of a load between two events on one processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    /// `B`: what lies between and can run on the processor.
    pub(super) between: Vec<usize>,
    /// `g[a]`: shortest way from the first event, an operator on `a`, to one of them; a single number where the event is the start of the stage.
    pub(super) entries: Vec<i64>,
    /// `h[b]`: shortest way from one of them to the second event.
    pub(super) exits: Vec<i64>,
    /// `d = max(0, max over (a, b) of g[a] + h[b] - dist(u@a, w@b))`.
    pub(super) lowered: i64,
}

/// The guard of `from`, `to` and `processor`; `None` where nothing lies between.
///
/// A processor that runs nothing needs neither entry nor exit: without `d` the row would ask for more than the distance and be wrong.
/// No schedule is shorter than `floor`, the distance from start to end.
pub(super) fn guard(
    ground: &Ground<'_>,
    windows: &Windows,
    floor: i64,
    from: Option<usize>,
    to: Option<usize>,
    processor: usize,
) -> Option<Guard> {
    let count = windows.time.len();
    let mut between = vec![0; count.div_ceil(64)];
    match (from, to) {
        (Some(u), Some(w)) => intersect(&ground.behind[u], &ground.before[w], &mut between),
        (Some(u), None) => between.clone_from(&ground.behind[u]),
        (None, Some(w)) => between.clone_from(&ground.before[w]),
        (None, None) => (0..count).for_each(|i| between[i >> 6] |= 1 << (i & 63)),
    }
    let between: Vec<usize> = members(&between)
        .filter(|&i| windows.time[i][processor].is_some())
        .collect();
    if between.is_empty() {
        return None;
    }
    let processors = ground.processors;
    let runs = |i: usize, p: usize| windows.time[i][p].is_some();
    let least = |way: &dyn Fn(usize) -> i64| between.iter().map(|&i| way(i)).min().unwrap_or(0);
    let entries: Vec<i64> = match from {
        None => vec![least(&|i| windows.head[i][processor])],
        Some(u) => (0..processors)
            .map(|a| {
                if runs(u, a) {
                    least(&|i| ground.distance(u, a, i, processor))
                } else {
                    0
                }
            })
            .collect(),
    };
    let exits: Vec<i64> = match to {
        None => vec![least(&|i| windows.tail[i][processor])],
        Some(w) => (0..processors)
            .map(|b| {
                if runs(w, b) {
                    least(&|i| ground.distance(i, processor, w, b))
                } else {
                    0
                }
            })
            .collect(),
    };
    let places = |event: Option<usize>| -> Vec<usize> {
        match event {
            None => vec![0],
            Some(v) => (0..processors).filter(|&p| runs(v, p)).collect(),
        }
    };
    let mut lowered = 0;
    for a in places(from) {
        for b in places(to) {
            let distance = match (from, to) {
                (None, None) => floor,
                (Some(u), None) => windows.tail[u][a],
                (None, Some(w)) => windows.head[w][b],
                (Some(u), Some(w)) => ground.distance(u, a, w, b),
            };
            debug_assert!(distance > APART, "events of a load are ordered");
            lowered = lowered.max(entries[a] + exits[b] - distance);
        }
    }
    Some(Guard {
        between,
        entries,
        exits,
        lowered,
    })
}
