//! The second objective: among schedules no longer than a ceiling, the least dynamic energy (rules M9 and M11).

use std::collections::BTreeMap;

use crate::mapping::Problem;
use crate::milp::{Linear, MilpError, Scale};

use super::precedence::entry_origin;
use super::statement::Statement;

/// Units of energies; one solution's energy is at most the sum of the largest of each operator and move.
pub(super) fn energy_scale(problem: &Problem) -> Result<Scale, MilpError> {
    let moves = |tensor: &crate::mapping::Tensor| -> Vec<u64> {
        tensor
            .moves
            .iter()
            .flatten()
            .flatten()
            .map(|cost| cost.energy.count())
            .collect()
    };
    let work: Vec<Vec<u64>> = problem
        .operators
        .iter()
        .map(|operator| {
            operator
                .times
                .iter()
                .zip(&operator.energies)
                .filter(|(time, _)| time.is_some())
                .map(|(_, energy)| energy.count())
                .collect()
        })
        .collect();
    let most_work = work.iter().filter_map(|row| row.iter().max().copied());
    // A tensor is moved at most once to each location.
    let most_moves = problem.tensors.iter().map(|tensor| {
        let most = moves(tensor).into_iter().max().unwrap_or(0);
        most.saturating_mul(u64::try_from(problem.locations).unwrap_or(u64::MAX))
    });
    let most = most_work.chain(most_moves).fold(0, u64::saturating_add);
    let quantities = work
        .iter()
        .flatten()
        .copied()
        .chain(problem.tensors.iter().flat_map(moves));
    Scale::new(
        quantities,
        most,
        problem.operators.len() + problem.tensors.len(),
    )
}

/// Minimises `sum of e[i][p] · x[i][p] + sum of e[k][a][b] · y[k, a, b]`.
///
/// A tensor is moved once for each destination, however many read it there: `y[k, a, b] >= z[e][a, b]` for each edge `e` that carries it,
/// `y[k, a, io] >= X[i][a]` where it leaves, and `y[k, held, b] >= X[j][b]` where it enters.
pub(super) fn minimise_energy(statement: &mut Statement<'_>, scale: &Scale) {
    let problem = statement.problem;
    for (index, edge) in statement.precedence.edges.iter().enumerate() {
        let pairs: Vec<_> = statement.z[index].iter().map(|(&k, &v)| (k, v)).collect();
        for &tensor in &edge.tensors {
            for &((a, b), together) in &pairs {
                require_move(statement, (tensor, a, b), &together.into());
            }
        }
    }
    for (tensor, facts) in problem.tensors.iter().enumerate() {
        match facts.producer {
            Some(producer) if facts.to_io => {
                for a in statement.locations(producer) {
                    let there = statement.at_location(producer, a);
                    require_move(statement, (tensor, a, problem.io), &there);
                }
            }
            Some(_) => {}
            None => {
                for &reader in &facts.readers {
                    for b in statement.locations(reader) {
                        if let Some(from) = entry_origin(problem, tensor, b) {
                            let there = statement.at_location(reader, b);
                            require_move(statement, (tensor, from, b), &there);
                        }
                    }
                }
            }
        }
    }
    let mut energy = Linear::new();
    for (operator, facts) in problem.operators.iter().enumerate() {
        let work = statement.weighted(operator, |processor| {
            scale.to_units(facts.energies[processor].count())
        });
        energy = energy.plus_scaled(1.0, &work);
    }
    for (&key, &variable) in &statement.y {
        energy = energy.plus(scale.to_units(move_energy(problem, key)), variable);
    }
    statement.model.minimise(energy);
}

/// `y[k, a, b] >= needed`, where such a move costs energy.
fn require_move(statement: &mut Statement<'_>, key: (usize, usize, usize), needed: &Linear) {
    if move_energy(statement.problem, key) == 0 {
        return;
    }
    let moves: &mut BTreeMap<_, _> = &mut statement.y;
    let variable = *moves
        .entry(key)
        .or_insert_with(|| statement.model.continuous(0.0, 1.0));
    let (tensor, a, b) = key;
    statement.model.require_at_least(
        format_args!("move[{tensor},{a},{b}]"),
        variable.into(),
        needed,
    );
}

fn move_energy(problem: &Problem, (tensor, a, b): (usize, usize, usize)) -> u64 {
    problem.tensors[tensor].moves[a][b].map_or(0, |cost| cost.energy.count())
}
