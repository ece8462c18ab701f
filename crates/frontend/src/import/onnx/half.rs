//! Half-precision numbers, for constants that decide shapes: reading their bits, and rounding to what they can hold.

use crate::ir::DataType;

/// The parts of a short floating-point format.
struct Format {
    mantissa: i32,
    /// The exponent of the smallest normal number.
    least: i32,
    /// The largest finite number.
    most: f64,
}

const FLOAT16: Format = Format {
    mantissa: 10,
    least: -14,
    most: 65504.0,
};

const BFLOAT16: Format = Format {
    mantissa: 7,
    least: -126,
    most: 3.389_531_389_251_535_5e38,
};

/// The number with these bits.
pub(super) fn read(bits: u16, dtype: DataType) -> f64 {
    if dtype == DataType::BFloat16 {
        // The upper half of a single-precision number.
        return f64::from(f32::from_bits(u32::from(bits) << 16));
    }
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let mantissa = f64::from(bits & 0x3ff);
    sign * match exponent {
        0 => mantissa * 2f64.powi(-24),
        0x1f if mantissa == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1024.0 + mantissa) * 2f64.powi(exponent - 25),
    }
}

/// `value` as a tensor of type `dtype` holds it: the nearest number, of two equally near ones the even one.
#[expect(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
pub(super) fn rounded(value: f64, dtype: DataType) -> f64 {
    let format = if dtype == DataType::Float16 {
        FLOAT16
    } else if dtype == DataType::BFloat16 {
        BFLOAT16
    } else if dtype == DataType::Float {
        return f64::from(value as f32);
    } else {
        return value;
    };
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // The exponent of a finite number is in its bits; subnormal doubles are far below every format here.
    let exponent = i32::try_from(value.abs().to_bits() >> 52).expect("11 bits") - 1023;
    let step = 2f64.powi(exponent.max(format.least) - format.mantissa);
    let nearest = (value / step).round_ties_even() * step;
    if nearest.abs() > format.most {
        f64::INFINITY.copysign(value)
    } else {
        nearest
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "rounding is exact")]
mod tests {
    use super::*;

    #[test]
    fn bits_are_numbers() {
        let float16 = |bits| read(bits, DataType::Float16);
        assert_eq!(float16(0x3c00), 1.0);
        assert_eq!(float16(0xc000), -2.0);
        assert_eq!(float16(0x7bff), 65504.0);
        assert_eq!(float16(0x0001), 2f64.powi(-24));
        assert_eq!(float16(0x7c00), f64::INFINITY);
        assert!(float16(0x7e00).is_nan());
        assert_eq!(read(0x3fc0, DataType::BFloat16), 1.5);
    }

    #[test]
    fn rounding_keeps_what_can_be_read_and_ties_go_to_even() {
        for dtype in [DataType::Float16, DataType::BFloat16] {
            for bits in 0..=u16::MAX {
                let value = read(bits, dtype);
                if !value.is_nan() {
                    assert_eq!(rounded(value, dtype), value, "{bits:#x}");
                }
            }
        }
        // Between 2048 and 4096 every other integer is a number.
        assert_eq!(rounded(2049.0, DataType::Float16), 2048.0);
        assert_eq!(rounded(2051.0, DataType::Float16), 2052.0);
        assert_eq!(rounded(65519.0, DataType::Float16), 65504.0);
        assert_eq!(rounded(65520.0, DataType::Float16), f64::INFINITY);
        assert_eq!(rounded(0.1, DataType::Float), f64::from(0.1f32));
    }
}
