//! From approximate multipliers to an exact bound.
//!
//! For any multipliers `y` (not negative on inequalities) and any point within its bounds that satisfies all rows,
//! `cost · v ≥ Σ y_r right_r + Σ_j min over the bounds of variable j of (c_j − Σ_r y_r a_rj) v_j`.
//! Multipliers are rounded to multiples of 2^-32 and everything else is integer arithmetic, so the inequality holds exactly, whoever made the multipliers.

use super::rows::{Column, Kind, Row};

/// One in multipliers.
const ONE: i128 = 1 << 32;

/// No point costs less than this, as far as `multipliers` prove; `unit` is what the solver took for one unit of time.
///
/// `None` where numbers do not fit, which proves nothing.
pub(super) fn certified(
    columns: &[Column],
    rows: &[Row],
    multipliers: &[f64],
    unit: f64,
) -> Option<u64> {
    let mut reduced: Vec<i128> = columns
        .iter()
        .map(|column| i128::from(column.cost) * ONE)
        .collect();
    let mut sum: i128 = 0;
    for (row, &multiplier) in rows.iter().zip(multipliers) {
        let own = match row.kind {
            Kind::Time => multiplier,
            Kind::Share => multiplier * unit,
        };
        let mut own = rounded(own)?;
        if !row.is_equality {
            own = own.max(0);
        }
        if own == 0 {
            continue;
        }
        sum = sum.checked_add(own.checked_mul(i128::from(row.right))?)?;
        for &(variable, coefficient) in &row.terms {
            let share = own.checked_mul(i128::from(coefficient))?;
            reduced[variable] = reduced[variable].checked_sub(share)?;
        }
    }
    for (column, &reduced) in columns.iter().zip(&reduced) {
        let end = if reduced >= 0 {
            column.least
        } else {
            column.most
        };
        sum = sum.checked_add(reduced.checked_mul(i128::from(end))?)?;
    }
    // Upwards: costs of whole points are whole.
    let bound = sum.div_euclid(ONE) + i128::from(sum.rem_euclid(ONE) > 0);
    Some(u64::try_from(bound).unwrap_or(0))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "any rounding gives valid multipliers; the size is checked"
)]
fn rounded(multiplier: f64) -> Option<i128> {
    let scaled = multiplier * ONE as f64;
    // False for NaN.
    (scaled.abs() < 1e24).then(|| scaled.round() as i128)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// min 3a + 5b with a + b ≥ 4, a − b = 1, both within 0..=10: the optimum is 3 · 2.5 + 5 · 1.5 = 15, of whole points 3·3+5·... none, so any bound is at most 15.
    fn program() -> (Vec<Column>, Vec<Row>) {
        let column = |cost| Column {
            kind: Kind::Time,
            cost,
            least: 0,
            most: 10,
            is_whole: false,
        };
        let mut first = Row::time();
        first.right = 4;
        first.terms = vec![(0, 1), (1, 1)];
        let mut second = Row::time();
        second.right = 1;
        second.is_equality = true;
        second.terms = vec![(0, 1), (1, -1)];
        (vec![column(3), column(5)], vec![first, second])
    }

    #[test]
    fn optimal_multipliers_prove_the_optimum() {
        let (columns, rows) = program();
        assert_eq!(certified(&columns, &rows, &[4.0, -1.0], 7.0), Some(15));
    }

    proptest! {
        #[test]
        fn no_multipliers_prove_more_than_the_optimum(a in -1e3..1e3_f64, b in -1e3..1e3_f64) {
            let (columns, rows) = program();
            prop_assert!(certified(&columns, &rows, &[a, b], 1.0).unwrap() <= 15);
        }
    }

    #[test]
    fn what_is_no_number_proves_nothing() {
        let (columns, rows) = program();
        assert_eq!(certified(&columns, &rows, &[f64::NAN, 0.0], 1.0), None);
        assert_eq!(certified(&columns, &rows, &[f64::INFINITY, 0.0], 1.0), None);
    }
}
