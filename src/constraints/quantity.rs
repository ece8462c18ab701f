//! Numbers with units, as people write them, turned into integers without ever being a float.

/// A decimal, `digits × 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: u128,
    exponent: i32,
}

/// A whole number below or equal to a quantity, and whether it is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Floor {
    pub(super) whole: u64,
    pub(super) is_exact: bool,
}

/// How many of the smallest unit one of a unit is: `numerator / denominator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    pub(super) numerator: u128,
    pub(super) denominator: u128,
}

impl Scale {
    pub(super) const fn times(numerator: u128) -> Self {
        Self {
            numerator,
            denominator: 1,
        }
    }
}

/// More digits than any quantity needs; it keeps products within 128 bits.
const MOST_DIGITS: usize = 18;

/// The number at the start of a text, and what stands behind it without blanks; `None` if there is no number or it has too many digits.
pub(super) fn split_number(text: &str) -> Option<(Decimal, &str)> {
    let text = text.trim();
    let end = number_end(text);
    let (number, unit) = text.split_at(end);
    let (mantissa, power) = match number.find(['e', 'E']) {
        Some(at) => (&number[..at], number[at + 1..].parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() && !mantissa.contains('0') {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    if digits.len() > MOST_DIGITS || power.abs() > 30 {
        return None;
    }
    let places = i32::try_from(fraction.len()).ok()?;
    Some((
        Decimal {
            digits: if digits.is_empty() {
                0
            } else {
                digits.parse().ok()?
            },
            exponent: power - places,
        },
        unit.trim_start(),
    ))
}

/// Where digits, one point and one exponent end; the `E` of a unit is none.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if end > 0 && matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

impl Decimal {
    pub(super) const fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// This many of a unit, in the smallest unit; `None` beyond 64 bits.
    pub(super) fn of(self, unit: Scale) -> Option<Floor> {
        let (up, down) = self.powers()?;
        let numerator = self.digits.checked_mul(unit.numerator)?.checked_mul(up)?;
        quotient(numerator, unit.denominator.checked_mul(down)?)
    }

    /// `unit / self`: how many of the smallest unit lie between two of so many events a unit; `None` for none, and beyond 64 bits.
    pub(super) fn period(self, unit: Scale) -> Option<Floor> {
        if self.is_zero() {
            return None;
        }
        let (up, down) = self.powers()?;
        let numerator = unit.numerator.checked_mul(down)?;
        let denominator = unit.denominator.checked_mul(self.digits)?.checked_mul(up)?;
        quotient(numerator, denominator)
    }

    /// Factors above and below the line for the power of ten.
    fn powers(self) -> Option<(u128, u128)> {
        let power = 10_u128.checked_pow(self.exponent.unsigned_abs())?;
        Some(if self.exponent < 0 {
            (1, power)
        } else {
            (power, 1)
        })
    }
}

fn quotient(numerator: u128, denominator: u128) -> Option<Floor> {
    Some(Floor {
        whole: u64::try_from(numerator / denominator).ok()?,
        is_exact: numerator.is_multiple_of(denominator),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanoseconds(text: &str, scale: u128) -> Option<(u64, bool)> {
        let (number, _) = split_number(text)?;
        number
            .of(Scale::times(scale))
            .map(|floor| (floor.whole, floor.is_exact))
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(nanoseconds("38.2ms", 1_000_000), Some((38_200_000, true)));
        assert_eq!(nanoseconds("0.1us", 1000), Some((100, true)));
        assert_eq!(nanoseconds("1.5ns", 1), Some((1, false)));
        assert_eq!(nanoseconds("1e-3", 1_000_000_000), Some((1_000_000, true)));
        assert_eq!(nanoseconds("2.50E1", 1), Some((25, true)));
        assert_eq!(nanoseconds("0", 1), Some((0, true)));
        assert_eq!(nanoseconds("0.0", 1), Some((0, true)));
        assert_eq!(nanoseconds(".5", 10), Some((5, true)));
    }

    #[test]
    fn units_stand_behind_numbers() {
        assert_eq!(split_number("20 fps").unwrap().1, "fps");
        assert_eq!(split_number("20/s").unwrap().1, "/s");
        // No exponent without digits.
        assert_eq!(split_number("3e").unwrap().1, "e");
        for none in ["", "ms", "-3ms", "inf", "nan", ".", "1234567890123456789"] {
            assert_eq!(split_number(none), None, "{none}");
        }
    }

    #[test]
    fn periods_are_rounded_down() {
        let second = Scale::times(1_000_000_000);
        let period = |text: &str| split_number(text).unwrap().0.period(second);
        assert_eq!(period("20").unwrap().whole, 50_000_000);
        let third = period("3").unwrap();
        assert_eq!((third.whole, third.is_exact), (333_333_333, false));
        assert_eq!(period("0.5").unwrap().whole, 2_000_000_000);
        assert_eq!(period("0"), None);
    }
}
