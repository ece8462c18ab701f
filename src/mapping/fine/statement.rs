//! The program of one problem: its variables, and the constraint families that both formulations share.
//!
//! Symbols are those of `docs/formulation.md`: `x`, `s`, `z`, `o`, `makespan` (C).

use std::collections::BTreeMap;

use crate::mapping::Problem;
use crate::milp::{Linear, MilpError, Model, Scale, Variable};

use super::precedence::{Edge, Precedence, edge_delay, entry_arrival, exit_delay};
use super::windows::Windows;

/// A model with the meaning of its variables.
#[derive(Debug)]
pub(super) struct Statement<'a> {
    pub(super) problem: &'a Problem,
    pub(super) precedence: &'a Precedence,
    pub(super) windows: &'a Windows,
    /// Units of times.
    pub(super) scale: Scale,
    pub(super) model: Model,
    /// `x[i][p]`: operator `i` runs on processor `p`.
    pub(super) x: Vec<Vec<Option<Variable>>>,
    /// `s[i]`: start of operator `i`.
    pub(super) s: Vec<Variable>,
    /// `z[e][(a, b)]`: along edge `e` the producer is at location `a` and the reader at `b`; only where something can move and the windows leave room for it; no variable means zero.
    pub(super) z: Vec<BTreeMap<(usize, usize), Variable>>,
    /// `o[(i, j)]`: operator `i` ends before `j` starts.
    pub(super) o: BTreeMap<(usize, usize), Variable>,
    /// `u[p]`: processor `p` runs at least one operator.
    pub(super) u: Vec<Option<Variable>>,
    /// `y[(k, a, b)]`: tensor `k` is moved from location `a` to `b`.
    pub(super) y: BTreeMap<(usize, usize, usize), Variable>,
    /// C.
    pub(super) makespan: Variable,
}

impl<'a> Statement<'a> {
    /// The variables `x`, `s`, `z` and C, and no rows.
    pub(super) fn new(
        problem: &'a Problem,
        precedence: &'a Precedence,
        windows: &'a Windows,
    ) -> Result<Self, MilpError> {
        let count = problem.operators.len();
        let quantities = durations(problem, windows)
            .into_iter()
            .chain([windows.horizon]);
        let scale = Scale::new(quantities, windows.horizon, count + 1)?;
        let horizon = scale.to_units(windows.horizon);
        let mut model = Model::new();
        let x = windows
            .time
            .iter()
            .map(|times| {
                times
                    .iter()
                    .map(|time| time.map(|_| model.binary()))
                    .collect()
            })
            .collect();
        let s = (0..count).map(|_| model.continuous(0.0, horizon)).collect();
        let makespan = model.continuous(0.0, horizon);
        let mut statement = Self {
            problem,
            precedence,
            windows,
            scale,
            model,
            x,
            s,
            z: vec![BTreeMap::new(); precedence.edges.len()],
            o: BTreeMap::new(),
            u: vec![None; problem.homes.len()],
            y: BTreeMap::new(),
            makespan,
        };
        statement.add_transfer_variables();
        Ok(statement)
    }

    fn add_transfer_variables(&mut self) {
        for (index, edge) in self.precedence.edges.iter().enumerate() {
            let sources = self.locations(edge.from);
            let targets = self.locations(edge.to);
            let moves_at = |a: usize, b: usize| {
                edge.tensors
                    .iter()
                    .any(|&tensor| self.problem.tensors[tensor].moves[a][b].is_some())
            };
            let moves = sources
                .iter()
                .any(|&a| targets.iter().any(|&b| moves_at(a, b)));
            if !moves {
                continue;
            }
            for &a in &sources {
                for &b in &targets {
                    if self.can_join(edge, a, b) {
                        self.z[index].insert((a, b), self.model.continuous(0.0, 1.0));
                    }
                }
            }
        }
    }

    /// Whether the windows leave room for an edge from location `a` to `b`.
    fn can_join(&self, edge: &Edge, a: usize, b: usize) -> bool {
        let delay = edge_delay(self.problem, edge, a, b);
        let homes = &self.problem.homes;
        self.windows.possible(edge.from).any(|(source, _)| {
            homes[source] == a
                && self.windows.possible(edge.to).any(|(target, _)| {
                    homes[target] == b
                        && self
                            .windows
                            .can_join((edge.from, source), delay, (edge.to, target))
                })
        })
    }

    /// Locations at which an operator can run, ascending.
    pub(super) fn locations(&self, operator: usize) -> Vec<usize> {
        let mut homes: Vec<usize> = self
            .windows
            .possible(operator)
            .map(|(processor, _)| self.problem.homes[processor])
            .collect();
        homes.sort_unstable();
        homes.dedup();
        homes
    }

    /// `X[i][a] = sum over processors p at location a of x[i][p]`.
    pub(super) fn at_location(&self, operator: usize, location: usize) -> Linear {
        self.weighted(operator, |processor| {
            if self.problem.homes[processor] == location {
                1.0
            } else {
                0.0
            }
        })
    }

    /// `sum over p of weight(p) · x[i][p]`.
    pub(super) fn weighted(&self, operator: usize, weight: impl Fn(usize) -> f64) -> Linear {
        self.x[operator]
            .iter()
            .enumerate()
            .fold(Linear::new(), |sum, (processor, variable)| match variable {
                Some(variable) => sum.plus(weight(processor), *variable),
                None => sum,
            })
    }

    /// `sum over p of t[i][p] · x[i][p]`, in units.
    pub(super) fn duration(&self, operator: usize) -> Linear {
        self.weighted(operator, |processor| self.time_units(operator, processor))
    }

    /// `E[i] = s[i] + sum over p of t[i][p] · x[i][p]`.
    pub(super) fn end(&self, operator: usize) -> Linear {
        self.duration(operator).plus(1.0, self.s[operator])
    }

    pub(super) fn time_units(&self, operator: usize, processor: usize) -> f64 {
        self.windows.time[operator][processor].map_or(0.0, |time| self.scale.to_units(time))
    }

    /// Minimises C.
    pub(super) fn minimise_makespan(&mut self) {
        self.model.minimise(self.makespan.into());
    }
}

/// All durations that a start time can be a sum of.
fn durations(problem: &Problem, windows: &Windows) -> Vec<u64> {
    let mut durations: Vec<u64> = windows.time.iter().flatten().flatten().copied().collect();
    let moves = problem
        .tensors
        .iter()
        .flat_map(|tensor| tensor.moves.iter().flatten().flatten())
        .map(|cost| cost.time.count());
    durations.extend(moves);
    durations
}

/// Each operator runs on exactly one processor: `sum over p of x[i][p] = 1`.
pub(super) fn assign_each_operator_once(statement: &mut Statement<'_>) {
    for operator in 0..statement.x.len() {
        let sum = statement.weighted(operator, |_| 1.0);
        statement.model.require_equal(
            format_args!("assign[{operator}]"),
            sum,
            &Linear::new().plus_constant(1.0),
        );
    }
}

/// Each processor that must be used runs at least one operator: `sum over i of x[i][p] >= 1` (rule M2).
pub(super) fn use_required_processors(statement: &mut Statement<'_>) {
    for processor in 0..statement.problem.homes.len() {
        if statement.problem.must_use >> processor & 1 == 0 {
            continue;
        }
        let sum = statement
            .x
            .iter()
            .filter_map(|row| row[processor])
            .fold(Linear::new(), |sum, variable| sum.plus(1.0, variable));
        statement.model.require_at_least(
            format_args!("use[{processor}]"),
            sum,
            &Linear::new().plus_constant(1.0),
        );
    }
}

/// A reader starts when its producers have ended and their tensors have arrived:
/// `s[j] >= E[i] + sum over (a, b) of c[e][a][b] · z[e][a, b]` for each edge `e = (i, j)` (rule M3).
pub(super) fn wait_for_inputs(statement: &mut Statement<'_>) {
    for (index, edge) in statement.precedence.edges.iter().enumerate() {
        let arrival = statement.z[index].iter().fold(
            statement.end(edge.from),
            |sum, (&(a, b), &variable)| {
                let delay = edge_delay(statement.problem, edge, a, b);
                sum.plus(statement.scale.to_units(delay), variable)
            },
        );
        statement.model.require_at_least(
            format_args!("wait[{},{}]", edge.from, edge.to),
            statement.s[edge.to].into(),
            &arrival,
        );
    }
}

/// What enters must have arrived: `s[j] >= sum over q of c[held, q] · x[j][q]`.
pub(super) fn wait_for_entries(statement: &mut Statement<'_>) {
    for operator in 0..statement.x.len() {
        let arrival = statement.weighted(operator, |processor| {
            let home = statement.problem.homes[processor];
            let arrival = entry_arrival(statement.problem, operator, home);
            statement.scale.to_units(arrival)
        });
        statement.model.require_at_least(
            format_args!("enter[{operator}]"),
            statement.s[operator].into(),
            &arrival,
        );
    }
}

/// The stage lasts until every operator has ended and its outputs are in `io`:
/// `C >= s[i] + sum over p of (t[i][p] + c[p, io]) · x[i][p]` (rule M5).
pub(super) fn end_after_everything(statement: &mut Statement<'_>) {
    for operator in 0..statement.x.len() {
        let end = statement
            .weighted(operator, |processor| {
                let home = statement.problem.homes[processor];
                let exit = exit_delay(statement.problem, operator, home);
                statement.time_units(operator, processor) + statement.scale.to_units(exit)
            })
            .plus(1.0, statement.s[operator]);
        statement.model.require_at_least(
            format_args!("end[{operator}]"),
            statement.makespan.into(),
            &end,
        );
    }
}
