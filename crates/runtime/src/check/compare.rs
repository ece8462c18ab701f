//! Whether a result is what was expected.

use paracompile_frontend::ir::DataType;

/// How far numbers may be apart: `absolute + relative · |expected|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Of the expected number.
    pub relative: f64,
    /// Whatever the expected number.
    pub absolute: f64,
}

impl Default for Tolerance {
    /// That of the standard's tests.
    fn default() -> Self {
        Self {
            relative: 1e-3,
            absolute: 1e-7,
        }
    }
}

/// The first and worst difference between elements of a type as people read it; `None` if there is none.
pub fn difference(
    found: &[u8],
    expected: &[u8],
    dtype: DataType,
    tolerance: Tolerance,
) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!(
            "{} bytes instead of {}",
            found.len(),
            expected.len()
        ));
    }
    let width = usize::try_from(dtype.bits().div_ceil(8))
        .unwrap_or(1)
        .max(1);
    let mut differing = 0usize;
    let mut worst: Option<(usize, f64, f64, f64)> = None;
    let pairs = found.chunks_exact(width).zip(expected.chunks_exact(width));
    for (index, (found, expected)) in pairs.enumerate() {
        if found == expected {
            continue;
        }
        let Some((found, expected)) = number(found, dtype).zip(number(expected, dtype)) else {
            differing += 1;
            continue;
        };
        let excess = excess(found, expected, tolerance);
        if excess > 0.0 {
            differing += 1;
            if worst.is_none_or(|(_, _, _, most)| excess > most) {
                worst = Some((index, found, expected, excess));
            }
        }
    }
    if differing == 0 {
        return None;
    }
    let count = expected.len() / width;
    Some(match worst {
        Some((index, found, expected, _)) => format!(
            "{differing} of {count} elements differ, most at {index}: {found} instead of {expected}"
        ),
        None => format!("{differing} of {count} elements differ"),
    })
}

/// How far beyond the tolerance a number is; nothing if it is within.
fn excess(found: f64, expected: f64, tolerance: Tolerance) -> f64 {
    if found.is_nan() && expected.is_nan() {
        return 0.0;
    }
    if found.is_nan() || expected.is_nan() || found.is_infinite() || expected.is_infinite() {
        // Equal infinities have equal bits.
        return f64::INFINITY;
    }
    let allowed = tolerance.absolute + tolerance.relative * expected.abs();
    ((found - expected).abs() - allowed).max(0.0)
}

/// An element that is compared with a tolerance, or Boolean; others are compared bit by bit.
fn number(bytes: &[u8], dtype: DataType) -> Option<f64> {
    if dtype == DataType::Float {
        Some(f64::from(f32::from_le_bytes(bytes.try_into().ok()?)))
    } else if dtype == DataType::Double {
        Some(f64::from_le_bytes(bytes.try_into().ok()?))
    } else if dtype == DataType::Bool {
        Some(f64::from(u8::from(bytes != [0])))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    }

    fn differ(found: &[f32], expected: &[f32]) -> bool {
        let (found, expected) = (floats(found), floats(expected));
        difference(&found, &expected, DataType::Float, Tolerance::default()).is_some()
    }

    #[test]
    fn numbers_agree_within_the_tolerance_and_no_further() {
        assert!(!differ(&[1.0009, -0.0], &[1.0, 0.0]));
        assert!(differ(&[1.0011], &[1.0]));
        assert!(differ(&[2e-7], &[0.0]));
    }

    #[test]
    fn what_is_no_number_agrees_with_itself_alone() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        assert!(!differ(&[-nan, inf], &[nan, inf]));
        assert!(differ(&[nan], &[1.0]));
        assert!(differ(&[inf], &[-inf]));
        assert!(differ(&[f32::MAX], &[inf]));
    }

    #[test]
    fn integers_have_no_tolerance() {
        let (found, expected) = (1001i64.to_le_bytes(), 1000i64.to_le_bytes());
        let difference = difference(&found, &expected, DataType::Int64, Tolerance::default());
        assert_eq!(difference.unwrap(), "1 of 1 elements differ");
    }
}
