//! From integers to solver units and back, the safe way round (rule M1 of `docs/model.md`).
//!
//! HiGHS compares with absolute tolerances, so quantities are brought below [`RANGE`] units.
//! A unit is the granule (greatest common divisor) times a power of two: every quantity stays exact in binary, so scaling adds no error of its own.

use super::MilpError;

/// The largest quantity of a program in solver units; with [`TOLERANCE`] this keeps products of both below a thousandth of a unit.
const RANGE: u64 = 1 << 20;

/// The largest count of granules that a floating-point number holds exactly.
const EXACT: u64 = 1 << 53;

/// Feasibility and integrality tolerance asked of the solver, in units.
pub(super) const TOLERANCE: f64 = 1e-9;

/// Solver units of one kind of quantity (times, or energies) in one program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    granule: u64,
    /// Granules in a unit, a power of two.
    per_unit: f64,
    /// What a bound of the solver may be too high by, in units.
    slack: f64,
}

impl Scale {
    /// A scale for quantities of at most `horizon`.
    ///
    /// `depth` is the number of rows that can add up their violations in one value: in a schedule, the operators one after another.
    /// A binary may be off by the tolerance in each, which shifts its row by that share of a big-M, itself at most the horizon.
    pub fn new(
        quantities: impl IntoIterator<Item = u64>,
        horizon: u64,
        depth: usize,
    ) -> Result<Self, MilpError> {
        let granule = quantities
            .into_iter()
            .fold(0, greatest_common_divisor)
            .max(1);
        let granules = horizon / granule;
        if granules >= EXACT {
            return Err(MilpError::Quantity { quantity: horizon });
        }
        let mut per_unit = 1;
        while granules / per_unit > RANGE {
            per_unit *= 2;
        }
        let per_unit = to_float(per_unit);
        let horizon_units = to_float(granules) / per_unit + 1.0;
        let depth = to_float(u64::try_from(depth).unwrap_or(EXACT).min(EXACT)) + 1.0;
        Ok(Self {
            granule,
            per_unit,
            slack: TOLERANCE * depth * (horizon_units + 1.0),
        })
    }

    /// The quantity in units, exactly where it is a multiple of the granule below 2^53 granules.
    pub fn to_units(&self, quantity: u64) -> f64 {
        debug_assert_eq!(
            quantity % self.granule,
            0,
            "quantities of a program are sums of those that gave its granule"
        );
        to_float(quantity / self.granule) / self.per_unit
    }

    /// One granule in units: two different objective values are at least this far apart.
    pub fn granule_units(&self) -> f64 {
        1.0 / self.per_unit
    }

    /// What a bound of the solver may be too high by, in units.
    pub fn slack(&self) -> f64 {
        self.slack
    }

    /// The least multiple of the granule that is not below `bound`: where the bound holds, every value is such a multiple, so it holds too.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to what is exact before the cast"
    )]
    pub fn lower_bound(&self, bound: f64) -> u64 {
        // A NaN or a negative bound proves nothing.
        let granules = (bound * self.per_unit).ceil();
        if granules > 0.0 {
            (granules.min(to_float(EXACT)) as u64).saturating_mul(self.granule)
        } else {
            0
        }
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[expect(clippy::cast_precision_loss, reason = "callers keep counts below 2^53")]
fn to_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_quantities_are_counted_in_granules() {
        let scale = Scale::new([12_000, 18_000], 60_000, 4).unwrap();
        assert!((scale.to_units(18_000) - 3.0).abs() < 1e-12);
        assert!((scale.granule_units() - 1.0).abs() < 1e-12);
        assert_eq!(scale.lower_bound(2.999_999), 18_000);
        assert_eq!(scale.lower_bound(3.000_001), 24_000);
    }

    #[test]
    fn large_quantities_stay_exact_and_in_range() {
        let horizon = 987_654_321_987;
        let scale = Scale::new([7, 1_000_000_007], horizon, 10).unwrap();
        assert!(scale.to_units(horizon) <= 1_048_577.0);
        for quantity in [1, 7, 1_000_000_007, horizon] {
            assert_eq!(scale.lower_bound(scale.to_units(quantity)), quantity);
        }
    }

    #[test]
    fn the_slack_hides_no_granule_at_ten_milliseconds_in_nanoseconds() {
        let scale = Scale::new([1], 10_000_000, 20).unwrap();
        assert!(scale.slack() < scale.granule_units() / 2.0);
    }

    #[test]
    fn absurd_quantities_are_an_error() {
        assert_eq!(
            Scale::new([1], u64::MAX, 1),
            Err(MilpError::Quantity { quantity: u64::MAX })
        );
        assert!(Scale::new([], 0, 0).is_ok());
    }

    #[test]
    fn what_proves_nothing_is_zero() {
        let scale = Scale::new([1], 10, 1).unwrap();
        for nothing in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0] {
            assert_eq!(scale.lower_bound(nothing), 0);
        }
    }
}
