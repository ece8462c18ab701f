//! Axes: from quantities to pixels, with round numbers at the ticks.

/// Wider ranges than this ratio are drawn on a logarithmic scale.
const LINEAR_UP_TO: f64 = 8.0;

/// How positions grow with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Linear,
    Logarithmic,
}

/// A range of values and the pixels that it is drawn on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    scale: Scale,
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis that holds all `values`, from pixel `from` to pixel `to`; what is not positive or not finite is left out.
    ///
    /// `margins` before and behind are shares of the range, about.
    pub(super) fn around(
        values: impl Iterator<Item = f64>,
        (from, to): (f64, f64),
        margins: (f64, f64),
    ) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (0.5, 1.5);
        }
        let scale = if high / low > LINEAR_UP_TO {
            Scale::Logarithmic
        } else {
            Scale::Linear
        };
        match scale {
            Scale::Linear => {
                // A single value gets a fifth of itself on both sides.
                let (before, behind) = if high > low * 1.0001 {
                    ((high - low) * margins.0, (high - low) * margins.1)
                } else {
                    (high * 0.2, high * 0.2)
                };
                (low, high) = ((low - before).max(0.0), high + behind);
            }
            Scale::Logarithmic => {
                let ratio = high / low;
                (low, high) = (low / ratio.powf(margins.0), high * ratio.powf(margins.1));
            }
        }
        Self {
            low,
            high,
            scale,
            from,
            to,
        }
    }

    /// A logarithmic axis that holds all `values`, from pixel `from` to pixel `to`, with a tenth of room at both ends; what is not positive or not finite is left out.
    pub(super) fn logarithmic(values: impl Iterator<Item = f64>, (from, to): (f64, f64)) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (0.5, 1.5);
        }
        let room = (high / low).powf(0.1).max(1.2);
        Self {
            low: low / room,
            high: high * room,
            scale: Scale::Logarithmic,
            from,
            to,
        }
    }

    /// The smallest and the largest value.
    pub(super) const fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// An axis from zero to `high`.
    pub(super) fn from_zero(high: f64, from: f64, to: f64) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        Self {
            low: 0.0,
            high,
            scale: Scale::Linear,
            from,
            to,
        }
    }

    /// The pixel of `value`.
    pub(super) fn pixel(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + share * (self.to - self.from)
    }

    /// Whether `value` lies on the axis.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Whether it is logarithmic.
    pub(super) fn is_logarithmic(&self) -> bool {
        self.scale == Scale::Logarithmic
    }

    /// Round values, about `wanted` of them, ascending.
    pub(super) fn ticks(&self, wanted: u32) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = round_step((self.high - self.low) / f64::from(wanted.max(1)));
                let first = (self.low / step).ceil();
                let ticks = (0..=4 * wanted).map(|index| (first + f64::from(index)) * step);
                ticks.take_while(|&tick| tick <= self.high).collect()
            }
            Scale::Logarithmic => {
                let decades = self.low.log10().floor();
                let all = |steps: &[f64]| -> Vec<f64> {
                    (0..40)
                        .map(|decade| 10f64.powf(decades + f64::from(decade)))
                        .flat_map(|power| steps.iter().map(move |step| step * power))
                        .filter(|&tick| self.holds(tick))
                        .collect()
                };
                let finest = all(&[1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
                let fine = all(&[1.0, 2.0, 5.0]);
                if finest.len() <= wanted as usize + 2 {
                    finest
                } else if fine.len() <= wanted as usize * 2 {
                    fine
                } else {
                    all(&[1.0])
                }
            }
        }
    }
}

/// The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&step| step >= least * 0.999_999)
        .unwrap_or(10.0 * power)
}

/// `value` without needless zeros, four digits at most.
pub(super) fn round_number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = [1000.0, 100.0, 10.0, 1.0, 0.1, 0.01]
        .iter()
        .position(|&limit| value.abs() >= limit)
        .unwrap_or(6);
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The unit that suits durations up to `seconds`, and how many of it a second is.
pub(super) fn time_unit(seconds: f64) -> (&'static str, f64) {
    if seconds >= 2.0 {
        ("s", 1.0)
    } else if seconds >= 5e-4 {
        ("ms", 1e3)
    } else {
        ("µs", 1e6)
    }
}

/// The unit that suits energies up to `joules`, and how many of it a joule is.
pub(super) fn energy_unit(joules: f64) -> (&'static str, f64) {
    if joules >= 0.5 {
        ("J", 1.0)
    } else if joules >= 5e-4 {
        ("mJ", 1e3)
    } else {
        ("µJ", 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_on_the_axis() {
        let axis = Axis::around([31.0, 97.0].into_iter(), (0.0, 100.0), (0.09, 0.09));
        assert!(!axis.is_logarithmic());
        assert_eq!(axis.ticks(5), [40.0, 60.0, 80.0, 100.0]);
        let axis = Axis::around([3.0, 900.0].into_iter(), (0.0, 100.0), (0.07, 0.07));
        assert!(axis.is_logarithmic());
        assert_eq!(
            axis.ticks(6),
            [5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
        );
    }

    #[test]
    fn one_value_and_none_have_an_axis_too() {
        let axis = Axis::around(std::iter::once(40.0), (0.0, 100.0), (0.1, 0.3));
        assert!((axis.pixel(40.0) - 50.0).abs() < 1e-9);
        let axis = Axis::around(
            [f64::NAN, 0.0, f64::INFINITY].into_iter(),
            (0.0, 100.0),
            (0.1, 0.1),
        );
        assert!(axis.holds(1.0));
        assert!(Axis::from_zero(0.0, 0.0, 10.0).pixel(1.0).is_finite());
    }

    #[test]
    fn numbers_have_no_needless_zeros() {
        let texts: Vec<_> = [0.0, 0.25, 2.5, 40.0, 1000.0, 12.50]
            .map(round_number)
            .to_vec();
        assert_eq!(texts, ["0", "0.25", "2.5", "40", "1000", "12.5"]);
    }
}
