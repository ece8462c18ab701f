//! Loads: a processor works on one operator at a time, so what it runs between two events fits between them.
//!
//! These rows are implied by the orders for whole assignments, but they are what bounds the makespan while assignments are fractional.
//! The trap in them: "load + shortest head + shortest tail" does not hold for a processor that stays empty, so each row is guarded.

use crate::milp::Linear;

use super::precedence::edge_delay;
use super::statement::Statement;

/// Above this many operators the rows between pairs, one for each pair and processor, cost more than they bring.
const PAIRS_UP_TO: usize = 64;

/// Adds the load families.
pub(super) fn state(statement: &mut Statement<'_>) {
    note_used_processors(statement);
    fit_load_in_stage(statement);
    if statement.x.len() <= PAIRS_UP_TO {
        fit_loads_between(statement);
    }
}

/// A processor that runs an operator is used: `u[p] >= x[i][p]`; one that must be used is.
fn note_used_processors(statement: &mut Statement<'_>) {
    for processor in 0..statement.problem.homes.len() {
        let running: Vec<_> = statement
            .x
            .iter()
            .filter_map(|row| row[processor])
            .collect();
        if running.is_empty() {
            continue;
        }
        let is_required = statement.problem.must_use >> processor & 1 == 1;
        let used = statement
            .model
            .continuous(if is_required { 1.0 } else { 0.0 }, 1.0);
        statement.u[processor] = Some(used);
        for (index, &variable) in running.iter().enumerate() {
            statement.model.require_at_least(
                format_args!("used[{processor},{index}]"),
                used.into(),
                &variable.into(),
            );
        }
    }
}

/// The load of a used processor fits between its shortest head and tail:
/// `C >= sum over i of t[i][p] · x[i][p] + (min over i of H[i][p] + min over i of T[i][p]) · u[p]`.
fn fit_load_in_stage(statement: &mut Statement<'_>) {
    for processor in 0..statement.problem.homes.len() {
        let Some(used) = statement.u[processor] else {
            continue;
        };
        let on_processor = on_processor(statement, 0..statement.x.len(), processor);
        let head = shortest(&on_processor, |i| statement.windows.head[i][processor]);
        let tail = shortest(&on_processor, |i| statement.windows.tail[i][processor]);
        let load = load(statement, &on_processor, processor)
            .plus(statement.scale.to_units(head.saturating_add(tail)), used);
        statement.model.require_at_least(
            format_args!("load[{processor}]"),
            statement.makespan.into(),
            &load,
        );
    }
}

/// An end of an interval: an operator, or the stage itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Stage,
    Operator(usize),
}

/// The operators between `u` and `w` fit between the end of `u` and the start of `w` on each processor:
/// `s[w] - E[u] >= sum over i between of t[i][p] · x[i][p] + sum over a of g[a] · x[u][a] + sum over b of h[b] · x[w][b] - d`.
///
/// `g[a]` is the shortest way from `u` on `a` to one of them on `p`, `h[b]` the shortest from one of them on `p` to `w` on `b`.
/// If `p` runs none of them only the distance from `u` to `w` is left, so `d = max(0, max over (a, b) of g[a] + h[b] - dist(a, b))`.
/// Either end can be that of the stage.
fn fit_loads_between(statement: &mut Statement<'_>) {
    let count = statement.x.len();
    let events: Vec<Event> = std::iter::once(Event::Stage)
        .chain((0..count).map(Event::Operator))
        .collect();
    let to_sinks: Vec<Distances> = events
        .iter()
        .map(|&sink| distances_to(statement, sink))
        .collect();
    for &source in &events {
        let from_source = distances_from(statement, source);
        for (&sink, to_sink) in events.iter().zip(&to_sinks) {
            let between: Vec<usize> = (0..count)
                .filter(|&i| lies_between(statement, source, i, sink))
                .collect();
            let is_chain = between
                .windows(2)
                .all(|pair| statement.precedence.precedes[pair[0]][pair[1]]);
            // A chain is bounded by its path already, and the whole stage has its own row.
            if is_chain || (source, sink) == (Event::Stage, Event::Stage) {
                continue;
            }
            for processor in 0..statement.problem.homes.len() {
                fit_load_between(
                    statement,
                    (source, &from_source),
                    (sink, to_sink),
                    &between,
                    processor,
                );
            }
        }
    }
}

fn lies_between(statement: &Statement<'_>, source: Event, i: usize, sink: Event) -> bool {
    let is_after = match source {
        Event::Stage => true,
        Event::Operator(u) => statement.precedence.precedes[u][i],
    };
    let is_before = match sink {
        Event::Stage => true,
        Event::Operator(w) => statement.precedence.precedes[i][w],
    };
    is_after && is_before
}

/// Shortest times between an event on one processor and an operator on another; `None` where no path leads.
///
/// Indexed by the event's processor (one entry for the stage), the operator and its processor.
type Distances = Vec<Vec<Vec<Option<u64>>>>;

/// From the end of the source to the start of each operator behind it.
fn distances_from(statement: &Statement<'_>, source: Event) -> Distances {
    match source {
        Event::Stage => vec![lift(&statement.windows.head)],
        Event::Operator(u) => (0..statement.problem.homes.len())
            .map(|at| distances_from_operator(statement, u, at))
            .collect(),
    }
}

fn distances_from_operator(
    statement: &Statement<'_>,
    u: usize,
    at: usize,
) -> Vec<Vec<Option<u64>>> {
    let homes = &statement.problem.homes;
    let mut distance: Vec<Vec<Option<u64>>> = vec![vec![None; homes.len()]; statement.x.len()];
    for j in u + 1..statement.x.len() {
        for q in 0..homes.len() {
            distance[j][q] = statement.precedence.incoming[j]
                .iter()
                .filter_map(|&edge| {
                    let edge = &statement.precedence.edges[edge];
                    if edge.from == u {
                        return Some(edge_delay(statement.problem, edge, homes[at], homes[q]));
                    }
                    statement
                        .windows
                        .possible(edge.from)
                        .filter_map(|(p, time)| {
                            let delay = edge_delay(statement.problem, edge, homes[p], homes[q]);
                            distance[edge.from][p]
                                .map(|before| before.saturating_add(time).saturating_add(delay))
                        })
                        .min()
                })
                .max();
        }
    }
    distance
}

/// From the end of each operator to the start of the sink behind it.
fn distances_to(statement: &Statement<'_>, sink: Event) -> Distances {
    match sink {
        Event::Stage => vec![lift(&statement.windows.tail)],
        Event::Operator(w) => (0..statement.problem.homes.len())
            .map(|at| distances_to_operator(statement, w, at))
            .collect(),
    }
}

fn distances_to_operator(statement: &Statement<'_>, w: usize, at: usize) -> Vec<Vec<Option<u64>>> {
    let homes = &statement.problem.homes;
    let mut distance: Vec<Vec<Option<u64>>> = vec![vec![None; homes.len()]; statement.x.len()];
    for i in (0..w).rev() {
        for p in 0..homes.len() {
            distance[i][p] = statement.precedence.outgoing[i]
                .iter()
                .filter_map(|&edge| {
                    let edge = &statement.precedence.edges[edge];
                    if edge.to == w {
                        return Some(edge_delay(statement.problem, edge, homes[p], homes[at]));
                    }
                    statement
                        .windows
                        .possible(edge.to)
                        .filter_map(|(q, time)| {
                            let delay = edge_delay(statement.problem, edge, homes[p], homes[q]);
                            distance[edge.to][q]
                                .map(|behind| behind.saturating_add(time).saturating_add(delay))
                        })
                        .min()
                })
                .max();
        }
    }
    distance
}

fn lift(times: &[Vec<u64>]) -> Vec<Vec<Option<u64>>> {
    times
        .iter()
        .map(|row| row.iter().copied().map(Some).collect())
        .collect()
}

fn fit_load_between(
    statement: &mut Statement<'_>,
    (source, from_source): (Event, &Distances),
    (sink, to_sink): (Event, &Distances),
    between: &[usize],
    processor: usize,
) {
    let on_processor = on_processor(statement, between.iter().copied(), processor);
    if on_processor.len() < 2 {
        return;
    }
    let nearest = |distances: &Distances, at: usize| {
        on_processor
            .iter()
            .filter_map(|&i| distances[at][i][processor])
            .min()
            .unwrap_or(0)
            .min(statement.windows.horizon)
    };
    let places_of = |event: Event| match event {
        Event::Stage => vec![0],
        Event::Operator(operator) => statement
            .windows
            .possible(operator)
            .map(|(processor, _)| processor)
            .collect(),
    };
    let mut guard = 0;
    for a in places_of(source) {
        for b in places_of(sink) {
            let way = nearest(from_source, a).saturating_add(nearest(to_sink, b));
            let distance = match (source, sink) {
                (_, Event::Operator(w)) => from_source[a][w][b].unwrap_or(0),
                (Event::Operator(u), Event::Stage) => to_sink[b][u][a].unwrap_or(0),
                (Event::Stage, Event::Stage) => 0,
            };
            guard = guard.max(way.saturating_sub(distance));
        }
    }
    let units = |time: u64| statement.scale.to_units(time);
    let (after, name_from) = match source {
        Event::Stage => (
            Linear::new().plus_constant(units(nearest(from_source, 0))),
            "stage".to_owned(),
        ),
        Event::Operator(u) => (
            statement.end(u).plus_scaled(
                1.0,
                &statement.weighted(u, |a| units(nearest(from_source, a))),
            ),
            u.to_string(),
        ),
    };
    let (before, name_to) = match sink {
        Event::Stage => (
            Linear::from(statement.makespan).plus_constant(-units(nearest(to_sink, 0))),
            "stage".to_owned(),
        ),
        Event::Operator(w) => (
            Linear::from(statement.s[w])
                .plus_scaled(-1.0, &statement.weighted(w, |b| units(nearest(to_sink, b)))),
            w.to_string(),
        ),
    };
    let right = after
        .plus_scaled(1.0, &load(statement, &on_processor, processor))
        .plus_constant(-units(guard));
    statement.model.require_at_least(
        format_args!("between[{name_from},{name_to},{processor}]"),
        before,
        &right,
    );
}

/// Those of the operators that can run on a processor.
fn on_processor(
    statement: &Statement<'_>,
    operators: impl Iterator<Item = usize>,
    processor: usize,
) -> Vec<usize> {
    operators
        .filter(|&operator| statement.windows.time[operator][processor].is_some())
        .collect()
}

fn shortest(operators: &[usize], time: impl Fn(usize) -> u64) -> u64 {
    operators.iter().map(|&i| time(i)).min().unwrap_or(0)
}

/// `sum over i of t[i][p] · x[i][p]`.
fn load(statement: &Statement<'_>, operators: &[usize], processor: usize) -> Linear {
    operators
        .iter()
        .fold(Linear::new(), |sum, &i| match statement.x[i][processor] {
            Some(variable) => sum.plus(statement.time_units(i, processor), variable),
            None => sum,
        })
}
