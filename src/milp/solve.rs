//! Solving a model: `good_lp` states it, HiGHS solves it, and what comes back is read with suspicion.
//!
//! `good_lp` hides the dual bound and fills partial starts with zeros, so the solve goes through the `highs` model underneath.
//! One thread and a fixed seed make the result a function of the model; concurrency is for the caller, across solves.
//! The safe binding offers no callbacks, so a watched solve runs in slices of growing node limits, each started from the best point so far.

use std::time::Duration;

use good_lp::{Expression, ProblemVariables, SolverModel, variable};
use highs::{HighsModelStatus, HighsSolutionStatus, SolvedModel};

use super::model::{Domain, Relation};
use super::scale::TOLERANCE;
use super::{Incumbent, Limits, MilpError, Model, Outcome, Remaining, Scale, Status, Watch};

/// Rows, columns and coefficients that a program may have each; a solve beyond is out of the question long before memory is.
pub const LARGEST: usize = 4_000_000;

/// Nodes of the first slice of a watched solve.
const FIRST_SLICE: u32 = 64;

/// Growth of slices.
const GROWTH: u32 = 4;

/// Any number; that it is fixed makes runs repeatable.
const SEED: i32 = 20_260_904;

/// Whether the solver set a binary to one (its integers are integral up to a tolerance).
pub fn is_one(value: f64) -> bool {
    value > 0.5
}

/// Minimises a model whose objective counts in the units of `scale`.
///
/// The search ends as soon as the bound is within half a granule of the incumbent: values between two granules do not exist.
/// `start` is a feasible point with a value for every variable; the solver ignores one that is not feasible.
pub fn solve(
    model: &Model,
    scale: &Scale,
    start: Option<&[f64]>,
    limits: &Limits<'_>,
) -> Result<Outcome, MilpError> {
    check_size(model)?;
    let last_slice = limits.nodes.get();
    let mut slice = match limits.watch {
        Watch::Unwatched => last_slice,
        Watch::Asked(_) => last_slice.min(FIRST_SLICE),
    };
    let mut best = Outcome {
        status: Status::Stopped,
        incumbent: None,
        bound: f64::NEG_INFINITY,
    };
    loop {
        let remaining = match limits.watch {
            Watch::Unwatched => Remaining::Unlimited,
            Watch::Asked(ask) => ask(),
        };
        let time_limit = match remaining {
            Remaining::Unlimited => None,
            Remaining::Time(duration) if duration > Duration::ZERO => Some(duration),
            Remaining::Time(_) | Remaining::Nothing => {
                best.status = Status::Stopped;
                return Ok(best);
            }
        };
        let warm = best.incumbent.as_ref().map(|found| found.values.as_slice());
        let outcome = run(model, scale, warm.or(start), slice, time_limit)?;
        let is_contradictory = contradicts_itself(&outcome, scale);
        best = better_of(best, outcome);
        if is_contradictory && start.is_some() {
            // Where presolve leaves nothing to solve, HiGHS 1.16 returns the start in place of the optimum that it found.
            best = better_of(best, run(model, scale, None, slice, time_limit)?);
        }
        match best.status {
            Status::NodeLimit if slice < last_slice => {
                slice = slice.saturating_mul(GROWTH).min(last_slice);
            }
            Status::NodeLimit | Status::Optimal | Status::Stopped | Status::Infeasible => {
                return Ok(best);
            }
        }
    }
}

/// Whether an outcome is called optimal while its bound says that better points may exist.
fn contradicts_itself(outcome: &Outcome, scale: &Scale) -> bool {
    // Half a granule is the gap at which the search may end, so anything near a whole one is too much.
    let tolerated = 0.75 * scale.granule_units() + scale.slack();
    outcome.status == Status::Optimal
        && outcome
            .incumbent
            .as_ref()
            .is_none_or(|found| found.objective - outcome.bound > tolerated)
}

/// The later status with the better point and the better bound.
fn better_of(earlier: Outcome, later: Outcome) -> Outcome {
    let incumbent = match (earlier.incumbent, later.incumbent) {
        (Some(old), Some(new)) if old.objective < new.objective => Some(old),
        (old, new) => new.or(old),
    };
    Outcome {
        status: later.status,
        incumbent,
        bound: earlier.bound.max(later.bound),
    }
}

fn check_size(model: &Model) -> Result<(), MilpError> {
    let coefficients = model
        .rows()
        .iter()
        .map(|row| row.expression.terms().len())
        .sum();
    let counts = [
        ("rows", model.num_rows()),
        ("columns", model.num_variables()),
        ("coefficients", coefficients),
    ];
    match counts.into_iter().find(|&(_, count)| count > LARGEST) {
        Some((what, count)) => Err(MilpError::TooLarge {
            what,
            count,
            limit: LARGEST,
        }),
        None => Ok(()),
    }
}

/// One slice.
fn run(
    model: &Model,
    scale: &Scale,
    start: Option<&[f64]>,
    nodes: u32,
    time_limit: Option<Duration>,
) -> Result<Outcome, MilpError> {
    let mut solver = build(model)?;
    let gap = scale.granule_units() / 2.0;
    set(&mut solver, "output_flag", false)?;
    set(&mut solver, "threads", 1)?;
    set(&mut solver, "parallel", "off")?;
    set(&mut solver, "random_seed", SEED)?;
    set(&mut solver, "mip_rel_gap", 0.0)?;
    set(&mut solver, "mip_abs_gap", gap)?;
    set(&mut solver, "mip_feasibility_tolerance", TOLERANCE)?;
    set(&mut solver, "primal_feasibility_tolerance", TOLERANCE)?;
    set(
        &mut solver,
        "mip_max_nodes",
        i32::try_from(nodes).unwrap_or(i32::MAX),
    )?;
    if let Some(duration) = time_limit {
        set(&mut solver, "time_limit", duration.as_secs_f64())?;
    }
    if let Some(values) = start {
        solver
            .try_set_solution(Some(values), None, None, None)
            .map_err(|status| MilpError::Refused {
                what: format!("the start ({status:?})"),
            })?;
    }
    let answer = solver.try_solve().map_err(|status| MilpError::Failed {
        status: format!("{status:?}"),
    })?;
    read(model, scale, gap, &answer)
}

/// States the model in `good_lp` and hands it to HiGHS.
fn build(model: &Model) -> Result<highs::Model, MilpError> {
    let mut variables = ProblemVariables::new();
    let columns: Vec<good_lp::Variable> = model
        .columns()
        .iter()
        .map(|column| {
            let definition = variable().min(column.lower).max(column.upper);
            variables.add(match column.domain {
                Domain::Continuous => definition,
                Domain::Integer => definition.integer(),
            })
        })
        .collect();
    let express = |linear: &super::Linear| {
        let mut expression = Expression::with_capacity(linear.terms().len());
        for &(variable, coefficient) in linear.terms() {
            expression.add_mul(coefficient, columns[variable.index()]);
        }
        expression
    };
    let mut problem = variables
        .minimise(express(model.objective()))
        .using(good_lp::solvers::highs::highs);
    for row in model.rows() {
        let right = -row.expression.constant();
        let left = express(&row.expression);
        problem.add_constraint(match row.relation {
            Relation::AtLeastZero => left.geq(right),
            Relation::Zero => left.eq(right),
        });
    }
    problem
        .try_into_inner()
        .map_err(|error| MilpError::Refused {
            what: format!("the program ({error})"),
        })
}

pub(super) fn set<V: highs::HighsOptionValue>(
    solver: &mut highs::Model,
    option: &str,
    value: V,
) -> Result<(), MilpError> {
    solver
        .try_set_option(option, value)
        .map_err(|_| MilpError::Refused {
            what: format!("the option {option}"),
        })
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enum is the binding's and not exhaustive; whatever else it says is no answer"
)]
/// Reads point and bound; the bound is lowered by what tolerances may have added to it.
fn read(
    model: &Model,
    scale: &Scale,
    gap: f64,
    solved: &SolvedModel,
) -> Result<Outcome, MilpError> {
    let solver_status = solved.status();
    let status = match solver_status {
        HighsModelStatus::Optimal | HighsModelStatus::ModelEmpty => Status::Optimal,
        HighsModelStatus::Infeasible => Status::Infeasible,
        HighsModelStatus::ReachedSolutionLimit | HighsModelStatus::ReachedIterationLimit => {
            Status::NodeLimit
        }
        HighsModelStatus::ReachedTimeLimit | HighsModelStatus::ReachedInterrupt => Status::Stopped,
        other => {
            return Err(MilpError::Failed {
                status: format!("{other:?}"),
            });
        }
    };
    let constant = model.objective().constant();
    let feasible = solver_status == HighsModelStatus::ModelEmpty
        || solved.primal_solution_status() == HighsSolutionStatus::Feasible;
    let incumbent = feasible.then(|| {
        let values = solved.get_solution().columns().to_vec();
        let objective = model.objective().evaluate(&values);
        Incumbent { values, objective }
    });
    let is_mixed = model
        .columns()
        .iter()
        .any(|column| column.domain == Domain::Integer);
    let dual = match (status, &incumbent) {
        (Status::Infeasible, _) => f64::INFINITY,
        // A linear program has no branching bound; its optimum is one.
        (Status::Optimal, Some(found)) if !is_mixed => found.objective,
        _ if is_mixed => {
            let reported = solved
                .double_info_value(c"mip_dual_bound")
                .map_err(|status| MilpError::Failed {
                    status: format!("{status:?} for the dual bound"),
                })?
                + constant;
            // Where only nodes within the gap were cut off, HiGHS reports the incumbent's value as the bound.
            match &incumbent {
                Some(found) => reported.min(found.objective - gap),
                None => reported,
            }
        }
        (Status::Optimal | Status::NodeLimit | Status::Stopped, _) => f64::NEG_INFINITY,
    };
    Ok(Outcome {
        status,
        incumbent,
        bound: dual - scale.slack(),
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::milp::{Linear, Variable};

    const MANY: Limits<'static> = Limits::counted(NonZeroU32::MAX);

    /// Knapsack as a minimisation: leave out as little value as possible.
    fn knapsack(values: &[f64], weights: &[f64], capacity: f64) -> (Model, Vec<Variable>) {
        let mut model = Model::new();
        let out: Vec<Variable> = values.iter().map(|_| model.binary()).collect();
        let total: f64 = weights.iter().sum();
        let weight_out = out
            .iter()
            .zip(weights)
            .fold(Linear::new(), |sum, (&item, &weight)| {
                sum.plus(weight, item)
            });
        model.require_at_least(
            format_args!("capacity"),
            weight_out,
            &Linear::new().plus_constant(total - capacity),
        );
        model.minimise(
            out.iter()
                .zip(values)
                .fold(Linear::new(), |sum, (&item, &value)| sum.plus(value, item)),
        );
        (model, out)
    }

    fn best_by_hand(values: &[f64], weights: &[f64], capacity: f64) -> f64 {
        let total: f64 = values.iter().sum();
        (0..1_u32 << values.len())
            .filter_map(|subset| {
                let chosen = |items: &[f64]| -> f64 {
                    (0..items.len())
                        .filter(|item| subset >> item & 1 == 1)
                        .map(|item| items[item])
                        .sum()
                };
                (chosen(weights) <= capacity).then(|| total - chosen(values))
            })
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn a_knapsack_is_solved_and_its_bound_lifts_to_the_optimum() {
        let values = [11.0, 7.0, 5.0, 13.0, 17.0, 3.0, 19.0];
        let weights = [6.0, 4.0, 3.0, 8.0, 9.0, 2.0, 10.0];
        let (model, items) = knapsack(&values, &weights, 20.0);
        let scale = Scale::new([1], 100, items.len()).unwrap();
        let outcome = solve(&model, &scale, None, &MANY).unwrap();
        assert_eq!(outcome.status, Status::Optimal);
        let found = outcome.incumbent.unwrap();
        let expected = best_by_hand(&values, &weights, 20.0);
        assert!((found.objective - expected).abs() < 1e-6);
        assert!(outcome.bound < expected);
        assert_eq!(
            scale.to_units(scale.lower_bound(outcome.bound)).to_bits(),
            expected.to_bits()
        );
        assert!(model.violations(&found.values, 1e-6).is_empty());
    }

    #[test]
    fn an_optimum_found_in_presolve_replaces_a_worse_start() {
        let mut model = Model::new();
        let (cheap, dear) = (model.binary(), model.binary());
        model.require_equal(
            format_args!("one"),
            Linear::from(cheap).plus(1.0, dear),
            &Linear::new().plus_constant(1.0),
        );
        model.minimise(dear.into());
        let scale = Scale::new([1], 1, 1).unwrap();
        let outcome = solve(&model, &scale, Some(&[0.0, 1.0]), &MANY).unwrap();
        let found = outcome.incumbent.unwrap();
        assert!(found.objective.abs() < 1e-6);
        assert!(is_one(found.values[cheap.index()]));
    }

    #[test]
    fn contradicting_rows_are_infeasible() {
        let mut model = Model::new();
        let a = model.binary();
        model.require_at_least(
            format_args!("two"),
            a.into(),
            &Linear::new().plus_constant(2.0),
        );
        let scale = Scale::new([1], 1, 1).unwrap();
        let outcome = solve(&model, &scale, None, &MANY).unwrap();
        assert_eq!(outcome.status, Status::Infeasible);
        assert!(outcome.incumbent.is_none());
    }

    #[test]
    fn a_program_without_variables_has_its_constant() {
        let mut model = Model::new();
        model.minimise(Linear::new().plus_constant(7.0));
        let scale = Scale::new([1], 7, 1).unwrap();
        let outcome = solve(&model, &scale, None, &MANY).unwrap();
        assert_eq!(outcome.status, Status::Optimal);
        assert_eq!(scale.lower_bound(outcome.bound), 7);
    }

    #[test]
    fn whoever_watches_is_obeyed_before_the_first_node() {
        let (model, _) = knapsack(&[2.0, 3.0], &[1.0, 1.0], 1.0);
        let scale = Scale::new([1], 5, 2).unwrap();
        let asked = AtomicU32::new(0);
        let refuse = || {
            asked.fetch_add(1, Ordering::Relaxed);
            Remaining::Nothing
        };
        let limits = Limits {
            nodes: NonZeroU32::MAX,
            watch: Watch::Asked(&refuse),
        };
        let outcome = solve(&model, &scale, None, &limits).unwrap();
        assert_eq!(outcome.status, Status::Stopped);
        assert!(outcome.incumbent.is_none());
        assert_eq!(scale.lower_bound(outcome.bound), 0);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_start_is_kept_where_no_work_is_left() {
        let values = [4.0, 9.0, 6.0, 5.0];
        let (model, items) = knapsack(&values, &[3.0, 5.0, 4.0, 2.0], 7.0);
        let scale = Scale::new([1], 24, items.len()).unwrap();
        let everything_out = vec![1.0; items.len()];
        let limits = Limits::counted(NonZeroU32::MIN);
        let outcome = solve(&model, &scale, Some(&everything_out), &limits).unwrap();
        assert!(outcome.incumbent.is_some());
    }
}
