//! Decimal numbers of a file as integers, and back.
//!
//! Solvers count in integers; a file with decimals is multiplied by the power of ten that makes all of them whole, so that nothing is rounded.

use serde_json::Number;

/// More digits behind the point are refused: durations times this power of ten must stay far below 2^53.
const MOST_DIGITS: u32 = 9;

/// The largest quantity in a file's own unit times its power of ten; sums over thousands of operators stay below 2^63.
const LARGEST: u64 = 1 << 48;

/// How many digits behind the point the numbers of an instance have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimals(u32);

impl Decimals {
    /// Enough digits for `number` too; `None` if it has too many.
    pub(super) fn with(self, number: &Number) -> Option<Self> {
        let digits = Digits::of(number)?;
        let needed = u32::try_from(digits.behind.max(0)).ok()?;
        (needed <= MOST_DIGITS).then(|| self.max(Self(needed)))
    }

    /// The number in units of the last digit; `None` if it is negative, too large, or has more digits.
    pub(super) fn to_integer(self, number: &Number) -> Option<u64> {
        let digits = Digits::of(number)?;
        let shift = i64::from(self.0) - digits.behind;
        let power = 10_u64.checked_pow(u32::try_from(shift).ok()?);
        let value = if digits.mantissa == 0 {
            0
        } else {
            digits.mantissa.checked_mul(power?)?
        };
        (value <= LARGEST).then_some(value)
    }

    /// A quantity in the unit of the file, exactly.
    ///
    /// # Panics
    /// Never: digits with a point are a number.
    pub fn number(self, quantity: u64) -> Number {
        if self.0 == 0 {
            return Number::from(quantity);
        }
        let text = self.text(quantity);
        serde_json::from_str(&text).expect("digits with a point are a number")
    }

    /// The same as text, without zeros at the end.
    pub fn text(self, quantity: u64) -> String {
        let power = 10_u64.pow(self.0);
        let (whole, rest) = (quantity / power, quantity % power);
        if rest == 0 {
            return whole.to_string();
        }
        let rest = format!("{rest:0width$}", width = self.0 as usize);
        format!("{whole}.{}", rest.trim_end_matches('0'))
    }
}

/// `mantissa · 10^-behind`.
struct Digits {
    mantissa: u64,
    behind: i64,
}

impl Digits {
    /// `None` for negative numbers and those of too many digits.
    fn of(number: &Number) -> Option<Self> {
        if let Some(mantissa) = number.as_u64() {
            return Some(Self {
                mantissa,
                behind: 0,
            });
        }
        let text = number.to_string();
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i64>().ok()?),
            None => (text.as_str(), 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let fraction = fraction.trim_end_matches('0');
        let mantissa: u64 = format!("{whole}{fraction}").parse().ok()?;
        let behind = i64::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        Some(Self { mantissa, behind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn decimals_become_integers_and_come_back() {
        let decimals = ["12.5", "3", "0.125", "1e2", "2.50"]
            .iter()
            .fold(Decimals::default(), |decimals, text| {
                decimals.with(&number(text)).unwrap()
            });
        assert_eq!(decimals, Decimals(3));
        for (text, integer, shown) in [
            ("12.5", 12_500, "12.5"),
            ("3", 3000, "3"),
            ("0.125", 125, "0.125"),
            ("1e2", 100_000, "100"),
        ] {
            assert_eq!(decimals.to_integer(&number(text)), Some(integer));
            assert_eq!(decimals.text(integer), shown);
        }
    }

    #[test]
    fn what_cannot_be_counted_exactly_is_refused() {
        let decimals = Decimals::default();
        assert_eq!(decimals.with(&number("0.12345678912")), None);
        for text in [
            "-1",
            "-0.5",
            "1e300",
            "300000000000000",
            "18446744073709551615",
        ] {
            assert_eq!(decimals.to_integer(&number(text)), None, "{text}");
        }
        assert_eq!(decimals.to_integer(&number("0")), Some(0));
    }
}
