//! The plain big-M formulation: the reference that the strengthened one is compared with.

use crate::milp::Linear;

use super::statement::{
    Statement, assign_each_operator_once, end_after_everything, use_required_processors,
    wait_for_entries, wait_for_inputs,
};

/// Adds all families of the plain formulation.
pub(super) fn state(statement: &mut Statement<'_>) {
    assign_each_operator_once(statement);
    use_required_processors(statement);
    wait_for_inputs(statement);
    wait_for_entries(statement);
    end_after_everything(statement);
    detect_transfers(statement);
    separate_parallel_operators(statement);
    statement.minimise_makespan();
}

/// An edge joins two locations if both its ends say so: `z[e][a, b] >= X[i][a] + X[j][b] - 1`.
fn detect_transfers(statement: &mut Statement<'_>) {
    for (index, edge) in statement.precedence.edges.iter().enumerate() {
        for (&(a, b), &variable) in &statement.z[index] {
            let both = statement
                .at_location(edge.from, a)
                .plus_scaled(1.0, &statement.at_location(edge.to, b))
                .plus_constant(-1.0);
            statement.model.require_at_least(
                format_args!("transfer[{index},{a},{b}]"),
                variable.into(),
                &both,
            );
        }
    }
}

/// Two operators on one processor do not overlap, for each pair without a given order and each processor:
/// `s[j] >= E[i] - M (3 - x[i][p] - x[j][p] - o[i, j])` and `s[i] >= E[j] - M (2 - x[i][p] - x[j][p] + o[i, j])`.
///
/// M is the horizon, the length of a schedule without any parallelism: no end is later, no start earlier than zero.
fn separate_parallel_operators(statement: &mut Statement<'_>) {
    let big_m = statement.scale.to_units(statement.windows.horizon);
    for (i, j) in statement.precedence.open_pairs() {
        let shared: Vec<_> = statement.x[i]
            .iter()
            .zip(&statement.x[j])
            .filter_map(|(on_i, on_j)| on_i.zip(*on_j))
            .collect();
        if shared.is_empty() {
            continue;
        }
        let first = statement.model.binary();
        statement.o.insert((i, j), first);
        for (on_i, on_j) in shared {
            let apart = Linear::new()
                .plus_constant(2.0)
                .plus(-1.0, on_i)
                .plus(-1.0, on_j);
            let i_first = apart.clone().plus_constant(1.0).plus(-1.0, first);
            let j_first = apart.plus(1.0, first);
            let after_i = statement.end(i).plus_scaled(-big_m, &i_first);
            let after_j = statement.end(j).plus_scaled(-big_m, &j_first);
            statement.model.require_at_least(
                format_args!("order[{i},{j}]"),
                statement.s[j].into(),
                &after_i,
            );
            statement.model.require_at_least(
                format_args!("order[{j},{i}]"),
                statement.s[i].into(),
                &after_j,
            );
        }
    }
}
