//! Times and energies of a table in one unit, with digits enough for the smallest.
//!
//! A fast chip takes microseconds where a slow one takes seconds; a fixed unit and fixed decimals would make different figures look alike.

/// How the figures of a column are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    unit: &'static str,
    units_in_one: f64,
    decimals: usize,
}

/// Decimals that no figure exceeds.
const MOST_DECIMALS: i32 = 3;

impl Scale {
    /// For seconds: at least one decimal.
    pub(crate) fn of_times(seconds: impl Iterator<Item = f64>) -> Self {
        Self::new(seconds, ["s", "ms", "µs"], 1)
    }

    /// For joules.
    pub(crate) fn of_energies(joules: impl Iterator<Item = f64>) -> Self {
        Self::new(joules, ["J", "mJ", "µJ"], 0)
    }

    /// The largest figure chooses the unit: seconds from ten of them on, microseconds below one millisecond.
    /// The smallest one has three significant digits, or as many as three decimals give it.
    fn new(figures: impl Iterator<Item = f64>, units: [&'static str; 3], least: i32) -> Self {
        let positive = figures.filter(|figure| *figure > 0.0 && figure.is_finite());
        let (smallest, largest) = positive.fold((f64::INFINITY, 0.0_f64), |(low, high), figure| {
            (low.min(figure), high.max(figure))
        });
        let (unit, units_in_one) = if largest >= 10.0 {
            (units[0], 1.0)
        } else if largest >= 1e-3 || largest == 0.0 {
            (units[1], 1e3)
        } else {
            (units[2], 1e6)
        };
        // Of zeroes alone the smallest is infinite, so that they get no decimals but the least.
        let shown = smallest * units_in_one;
        let needed = [100.0, 10.0, 1.0]
            .into_iter()
            .zip(0..)
            .find(|&(bound, _)| shown >= bound)
            .map_or(MOST_DECIMALS, |(_, decimals)| decimals);
        Self {
            unit,
            units_in_one,
            decimals: usize::try_from(needed.max(least)).unwrap_or(0),
        }
    }

    /// A figure with its unit.
    pub(crate) fn text(self, figure: f64) -> String {
        let shown = figure * self.units_in_one;
        format!("{shown:.0$} {1}", self.decimals, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(seconds: &[f64]) -> Vec<String> {
        let scale = Scale::of_times(seconds.iter().copied());
        seconds.iter().map(|&time| scale.text(time)).collect()
    }

    #[test]
    fn a_column_has_the_unit_of_its_largest_figure() {
        assert_eq!(times(&[0.4765, 1.9502]), ["476.5 ms", "1950.2 ms"]);
        assert_eq!(times(&[0.4768, 19.502]), ["0.477 s", "19.502 s"]);
        assert_eq!(times(&[0.00002, 0.0009]), ["20.0 µs", "900.0 µs"]);
        let energies = Scale::of_energies([1.039, 3.366].into_iter());
        assert_eq!(energies.text(1.039), "1039 mJ");
    }

    #[test]
    fn small_figures_that_differ_look_different() {
        assert_eq!(times(&[0.003_21, 0.003_24]), ["3.21 ms", "3.24 ms"]);
        let energies = Scale::of_energies([0.001_1, 0.001_4].into_iter());
        assert_eq!(energies.text(0.001_4), "1.40 mJ");
    }

    #[test]
    fn nothing_and_no_number_do_not_decide() {
        assert_eq!(times(&[0.0, 0.0321]), ["0.0 ms", "32.1 ms"]);
        assert_eq!(times(&[0.0]), ["0.0 ms"]);
        assert_eq!(times(&[f64::INFINITY, 0.5]), ["inf ms", "500.0 ms"]);
    }
}
