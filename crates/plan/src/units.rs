//! Quantities, one newtype each.
//!
//! Profiles hold decimals ([`Seconds`], [`Joules`], [`Watts`]).
//! `CostTable` rounds once, half up, and everything behind it is integer arithmetic (rule M1 of `docs/model.md`), so equality is `==` and the checker can be exact.
//! Sums saturate instead of wrapping: an absurd profile gives an absurd number, never a wrong small one.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use schemars::JsonSchema;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};

macro_rules! integer_unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// The neutral element of the sum.
            pub const ZERO: Self = Self(0);
            /// The largest value, also what a saturated sum is.
            pub const MAX: Self = Self(u64::MAX);

            /// A quantity of `count` units.
            pub const fn new(count: u64) -> Self {
                Self(count)
            }

            /// The number of units.
            pub const fn count(self) -> u64 {
                self.0
            }

            /// The difference, or zero where `other` is larger.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// The quantity `factor` times.
            #[must_use]
            pub const fn times(self, factor: u64) -> Self {
                Self(self.0.saturating_mul(factor))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sub for $name {
            type Output = Self;
            /// Saturates at zero: differences of schedules are never negative, so a negative one is a bug that tests see as a wrong value.
            fn sub(self, other: Self) -> Self {
                self.saturating_sub(other)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, Add::add)
            }
        }
    };
}

integer_unit!(
    /// A duration or an instant, in integer nanoseconds.
    Nanoseconds
);
integer_unit!(
    /// An energy, in integer nanojoules.
    Nanojoules
);
integer_unit!(
    /// A size in memory.
    Bytes
);
integer_unit!(
    /// A power, in integer milliwatts.
    Milliwatts
);

impl Nanoseconds {
    /// The duration in seconds, for people and for `*_s` fields.
    #[expect(
        clippy::cast_precision_loss,
        reason = "printed figures need no 64 bits"
    )]
    pub fn to_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `round(t · factor)`, half up: the duration on a processor that others slow down (rule M4).
    #[must_use]
    pub fn slowed(self, factor: Slowdown) -> Self {
        Self(scale(self.0, u128::from(factor.0), 1000))
    }

    /// `round(t · κ · sharing)`, rounded once (rules M1, M4 and M10).
    #[must_use]
    pub fn slowed_twice(self, contention: Slowdown, sharing: Slowdown) -> Self {
        Self(scale(
            self.0,
            u128::from(contention.0) * u128::from(sharing.0),
            1_000_000,
        ))
    }
}

impl Nanojoules {
    /// The energy in joules, for people and for `*_j` fields.
    #[expect(
        clippy::cast_precision_loss,
        reason = "printed figures need no 64 bits"
    )]
    pub fn to_joules(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `round(e · κ)`, half up (rule M11).
    #[must_use]
    pub fn slowed(self, factor: Slowdown) -> Self {
        Self(scale(self.0, u128::from(factor.0), 1000))
    }
}

impl Milliwatts {
    /// The energy of this power over `duration`, rounded half up once.
    pub fn over(self, duration: Nanoseconds) -> Nanojoules {
        Nanojoules(scale(duration.0, u128::from(self.0), 1000))
    }
}

/// `round(value · numerator / denominator)`, half up, saturating.
fn scale(value: u64, numerator: u128, denominator: u128) -> u64 {
    let product = u128::from(value).saturating_mul(numerator);
    u64::try_from(product.saturating_add(denominator / 2) / denominator).unwrap_or(u64::MAX)
}

/// A factor of at least one by which processors in use together slow each other, in thousandths (rule M4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Slowdown(#[schemars(range(min = 1000))] u32);

impl<'de> Deserialize<'de> for Slowdown {
    /// Refuses factors below one, like the constructor.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let thousandths = u32::deserialize(deserializer)?;
        Self::from_thousandths(thousandths).ok_or_else(|| {
            let found = Unexpected::Unsigned(u64::from(thousandths));
            D::Error::invalid_value(found, &"a factor of at least 1000 thousandths")
        })
    }
}

impl Slowdown {
    /// No slowdown.
    pub const NONE: Self = Self(1000);

    /// A factor in thousandths; `None` below one.
    pub const fn from_thousandths(thousandths: u32) -> Option<Self> {
        if thousandths < 1000 {
            None
        } else {
            Some(Self(thousandths))
        }
    }

    /// The factor in thousandths.
    pub const fn thousandths(self) -> u32 {
        self.0
    }
}

macro_rules! decimal_unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(f64);

        impl $name {
            /// Zero.
            pub const ZERO: Self = Self(0.0);

            /// A quantity; `None` unless it is finite and not negative.
            pub fn new(value: f64) -> Option<Self> {
                (value.is_finite() && value >= 0.0).then_some(Self(value))
            }

            /// The number.
            pub const fn value(self) -> f64 {
                self.0
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, Add::add)
            }
        }
    };
}

decimal_unit!(
    /// A duration as profiles give it.
    Seconds
);
decimal_unit!(
    /// An energy as profiles give it.
    Joules
);
decimal_unit!(
    /// A power as profiles give it.
    Watts
);

/// A number and what it counts, for people: `1 frame`, `2 frames`.
pub fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

impl Seconds {
    /// Rounds half up to nanoseconds, saturating.
    pub fn to_nanoseconds(self) -> Nanoseconds {
        Nanoseconds(round_half_up(self.0 * 1e9))
    }
}

impl Joules {
    /// Rounds half up to nanojoules, saturating.
    pub fn to_nanojoules(self) -> Nanojoules {
        Nanojoules(round_half_up(self.0 * 1e9))
    }
}

impl Watts {
    /// Rounds half up to milliwatts, saturating.
    pub fn to_milliwatts(self) -> Milliwatts {
        Milliwatts(round_half_up(self.0 * 1e3))
    }

    /// The energy of this power over `duration`.
    pub fn over(self, duration: Seconds) -> Joules {
        Joules(self.0 * duration.0)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the constructors refuse negative numbers, and the cast saturates"
)]
fn round_half_up(value: f64) -> u64 {
    (value + 0.5).floor() as u64
}

impl fmt::Display for Nanoseconds {
    /// Three significant digits with a fitting unit: `12.3 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.to_seconds(), "s")
    }
}

impl fmt::Display for Nanojoules {
    /// Three significant digits with a fitting unit: `45.6 mJ`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.to_joules(), "J")
    }
}

impl fmt::Display for Bytes {
    /// Binary units: `1.5 MiB`.
    #[expect(
        clippy::cast_precision_loss,
        reason = "printed figures need no 64 bits"
    )]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if value < 1024.0 {
                let digits = usize::from(unit != "B");
                return write!(f, "{value:.digits$} {unit}");
            }
            value /= 1024.0;
        }
        write!(f, "{value:.1} TiB")
    }
}

fn write_scaled(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    if value == 0.0 {
        return write!(f, "0 {unit}");
    }
    let (scaled, prefix) = [(1.0, ""), (1e3, "m"), (1e6, "µ")]
        .iter()
        .map(|(factor, prefix)| (value * factor, *prefix))
        .find(|(scaled, _)| *scaled >= 0.9995)
        .unwrap_or((value * 1e9, "n"));
    let digits = if scaled >= 99.95 {
        0
    } else if scaled >= 9.995 {
        1
    } else {
        2
    };
    write!(f, "{scaled:.digits$} {prefix}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_half_up() {
        let factor = Slowdown::from_thousandths(1500).unwrap();
        assert_eq!(Nanoseconds::new(1).slowed(factor), Nanoseconds::new(2));
        assert_eq!(Nanoseconds::new(3).slowed(factor), Nanoseconds::new(5));
        assert_eq!(
            Seconds::new(1.5e-9).unwrap().to_nanoseconds(),
            Nanoseconds::new(2)
        );
        assert_eq!(
            Seconds::new(1.4e-9).unwrap().to_nanoseconds(),
            Nanoseconds::new(1)
        );
    }

    #[test]
    fn two_factors_are_rounded_once() {
        let factor = Slowdown::from_thousandths(1100).unwrap();
        // 5 · 1.21 = 6.05; rounding in between would give 5.5 -> 6 -> 6.6 -> 7.
        assert_eq!(
            Nanoseconds::new(5).slowed_twice(factor, factor),
            Nanoseconds::new(6)
        );
    }

    #[test]
    fn milliwatts_over_nanoseconds_are_picojoules_rounded_to_nanojoules() {
        let energy = Milliwatts::new(2250).over(Nanoseconds::new(1_000_000));
        assert_eq!(energy, Nanojoules::new(2_250_000));
        assert_eq!(
            Milliwatts::new(1).over(Nanoseconds::new(499)),
            Nanojoules::ZERO
        );
        assert_eq!(
            Milliwatts::new(1).over(Nanoseconds::new(500)),
            Nanojoules::new(1)
        );
    }

    #[test]
    fn decimals_refuse_what_is_not_a_quantity() {
        assert!(Seconds::new(-1.0).is_none());
        assert!(Watts::new(f64::NAN).is_none());
        assert!(Joules::new(f64::INFINITY).is_none());
        assert!(Slowdown::from_thousandths(999).is_none());
        let error = serde_json::from_str::<Slowdown>("999").unwrap_err();
        assert!(error.to_string().contains("at least 1000"), "{error}");
    }

    #[test]
    fn sums_saturate() {
        assert_eq!(Bytes::MAX + Bytes::new(1), Bytes::MAX);
        assert_eq!(Nanoseconds::MAX.slowed(Slowdown::NONE), Nanoseconds::MAX);
    }

    #[test]
    fn people_read_three_digits() {
        assert_eq!(Nanoseconds::new(12_345_678).to_string(), "12.3 ms");
        assert_eq!(Nanoseconds::new(999_600).to_string(), "1.00 ms");
        assert_eq!(Nanoseconds::new(7).to_string(), "7.00 ns");
        assert_eq!(Nanojoules::ZERO.to_string(), "0 J");
        assert_eq!(Bytes::new(1536).to_string(), "1.5 KiB");
    }
}
