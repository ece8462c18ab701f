//! The strengthened formulation: windows, linked transfers and orders only where they are open.

use crate::milp::Linear;

use super::loads;
use super::statement::{
    Statement, assign_each_operator_once, use_required_processors, wait_for_inputs,
};

/// Adds all families of the strengthened formulation; the objective is still open.
pub(super) fn state(statement: &mut Statement<'_>) {
    assign_each_operator_once(statement);
    use_required_processors(statement);
    wait_for_inputs(statement);
    start_in_window(statement);
    end_after_tail(statement);
    link_transfers(statement);
    choose_an_order(statement);
    separate_ordered_operators(statement);
    loads::state(statement);
}

/// An operator starts within the window of its processor: `sum over p of H[i][p] · x[i][p] <= s[i] <= sum over p of L[i][p] · x[i][p]`.
fn start_in_window(statement: &mut Statement<'_>) {
    for operator in 0..statement.x.len() {
        let start = Linear::from(statement.s[operator]);
        let earliest = statement.weighted(operator, |processor| {
            statement
                .scale
                .to_units(statement.windows.head[operator][processor])
        });
        let latest = statement.weighted(operator, |processor| {
            statement
                .scale
                .to_units(statement.windows.latest_start(operator, processor))
        });
        statement.model.require_at_least(
            format_args!("head[{operator}]"),
            start.clone(),
            &earliest,
        );
        statement
            .model
            .require_at_least(format_args!("latest[{operator}]"), latest, &start);
    }
}

/// Behind an operator the stage lasts at least its tail: `C >= s[i] + sum over p of (t[i][p] + T[i][p]) · x[i][p]`.
fn end_after_tail(statement: &mut Statement<'_>) {
    for operator in 0..statement.x.len() {
        let end = statement
            .weighted(operator, |processor| {
                statement.time_units(operator, processor)
                    + statement
                        .scale
                        .to_units(statement.windows.tail[operator][processor])
            })
            .plus(1.0, statement.s[operator]);
        statement.model.require_at_least(
            format_args!("tail[{operator}]"),
            statement.makespan.into(),
            &end,
        );
    }
}

/// An edge joins exactly the locations of its ends: `sum over b of z[e][a, b] = X[i][a]` and `sum over a of z[e][a, b] = X[j][b]`.
///
/// With whole assignments this has one solution, their product, so `z` need not be integer.
fn link_transfers(statement: &mut Statement<'_>) {
    for (index, edge) in statement.precedence.edges.iter().enumerate() {
        if statement.z[index].is_empty() {
            continue;
        }
        for a in statement.locations(edge.from) {
            let leaving = statement.z[index]
                .range((a, 0)..=(a, usize::MAX))
                .fold(Linear::new(), |sum, (_, &variable)| sum.plus(1.0, variable));
            let there = statement.at_location(edge.from, a);
            statement
                .model
                .require_equal(format_args!("leave[{index},{a}]"), leaving, &there);
        }
        for b in statement.locations(edge.to) {
            let arriving = statement.z[index]
                .iter()
                .filter(|((_, target), _)| *target == b)
                .fold(Linear::new(), |sum, (_, &variable)| sum.plus(1.0, variable));
            let there = statement.at_location(edge.to, b);
            statement
                .model
                .require_equal(format_args!("arrive[{index},{b}]"), arriving, &there);
        }
    }
}

/// Two operators on one processor have an order, one that the windows allow:
/// `[i can precede j on p] o[i, j] + [j can precede i on p] o[j, i] >= x[i][p] + x[j][p] - 1`, and `o[i, j] + o[j, i] <= 1`.
///
/// Where the windows allow neither, the row forbids to share `p`.
fn choose_an_order(statement: &mut Statement<'_>) {
    for (i, j) in statement.precedence.open_pairs() {
        for (processor, (on_i, on_j)) in statement.x[i].iter().zip(&statement.x[j]).enumerate() {
            let Some((on_i, on_j)) = on_i.zip(*on_j) else {
                continue;
            };
            let mut order = Linear::new();
            for (first, second) in [(i, j), (j, i)] {
                if statement.windows.can_precede(first, second, processor) {
                    let variable = *statement
                        .o
                        .entry((first, second))
                        .or_insert_with(|| statement.model.binary());
                    order = order.plus(1.0, variable);
                }
            }
            let both = Linear::new()
                .plus(1.0, on_i)
                .plus(1.0, on_j)
                .plus_constant(-1.0);
            statement.model.require_at_least(
                format_args!("meet[{i},{j},{processor}]"),
                order,
                &both,
            );
        }
        if let (Some(&forth), Some(&back)) = (statement.o.get(&(i, j)), statement.o.get(&(j, i))) {
            statement.model.require_at_least(
                format_args!("one_way[{i},{j}]"),
                Linear::new().plus_constant(1.0),
                &Linear::from(forth).plus(1.0, back),
            );
        }
    }
}

/// An ordered operator waits: `s[j] >= E[i] - M[i, j] (1 - o[i, j])`.
///
/// `M[i, j] = max over p of (L[i][p] + t[i][p]) - min over q of H[j][q]`: the latest end of `i` minus the earliest start of `j`.
fn separate_ordered_operators(statement: &mut Statement<'_>) {
    for (&(i, j), &order) in &statement.o {
        let latest_end = statement.windows.latest_end(i);
        let earliest_start = statement.windows.earliest_start(j);
        let big_m = statement
            .scale
            .to_units(latest_end.saturating_sub(earliest_start));
        let after = statement.end(i).plus_constant(-big_m).plus(big_m, order);
        statement.model.require_at_least(
            format_args!("order[{i},{j}]"),
            statement.s[j].into(),
            &after,
        );
    }
}
