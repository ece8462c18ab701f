//! Weights that folding changed, computed in double precision.

use paracompile_frontend::import::onnx::Weight;
use paracompile_frontend::ir::DataType;

use crate::lower::Spec;

/// The elements of a rewritten weight of the given type and extents; `of` gives the bytes of what it is computed from.
///
/// `None` if something of it is missing or no single- or double-precision number.
pub(super) fn rewritten<'b>(
    weight: &Weight,
    spec: &Spec,
    of: impl Fn(usize) -> Option<(&'b [u8], DataType)>,
) -> Option<Vec<u8>> {
    let numbers = |value: usize| {
        let (bytes, dtype) = of(value)?;
        numbers(bytes, dtype)
    };
    let computed: Vec<f64> = match *weight {
        Weight::ScaledFilter {
            filter,
            transposed_groups,
            scale,
            variance,
            epsilon,
        } => {
            let (filter, scale, variance) = (numbers(filter)?, numbers(scale)?, numbers(variance)?);
            let channel = channels(&spec.shape, transposed_groups)?;
            let scaled = filter.iter().enumerate().map(|(index, element)| {
                let channel = channel(index);
                let deviation = (variance.get(channel)? + f64::from(epsilon)).sqrt();
                Some(element * scale.get(channel)? / deviation)
            });
            scaled.collect::<Option<_>>()?
        }
        Weight::ShiftedBias {
            bias,
            scale,
            shift,
            mean,
            variance,
            epsilon,
        } => {
            let bias = match bias {
                Some(bias) => Some(numbers(bias)?),
                None => None,
            };
            let (scale, shift) = (numbers(scale)?, numbers(shift)?);
            let (mean, variance) = (numbers(mean)?, numbers(variance)?);
            let shifted = (0..shift.len()).map(|channel| {
                let bias = match &bias {
                    Some(bias) => *bias.get(channel)?,
                    None => 0.0,
                };
                let deviation = (variance.get(channel)? + f64::from(epsilon)).sqrt();
                let centred = bias - mean.get(channel)?;
                Some(centred * scale.get(channel)? / deviation + shift[channel])
            });
            shifted.collect::<Option<_>>()?
        }
    };
    bytes(&computed, spec.dtype)
}

/// Which output channel an element of a filter belongs to.
fn channels(shape: &[usize], transposed_groups: Option<u64>) -> Option<impl Fn(usize) -> usize> {
    let (&first, rest) = shape.split_first()?;
    let behind: usize = rest.iter().product::<usize>().max(1);
    let (second, groups) = match transposed_groups {
        Some(groups) => (*rest.first()?, Some(usize::try_from(groups).ok()?.max(1))),
        None => (1, None),
    };
    Some(move |index: usize| match groups {
        None => index / behind,
        Some(groups) => {
            let group = index / behind / (first / groups).max(1);
            let plane = (behind / second.max(1)).max(1);
            group * second + index / plane % second.max(1)
        }
    })
}

fn numbers(bytes: &[u8], dtype: DataType) -> Option<Vec<f64>> {
    if dtype == DataType::Float {
        let (chunks, _) = bytes.as_chunks::<4>();
        let numbers = chunks
            .iter()
            .map(|&chunk| f64::from(f32::from_le_bytes(chunk)));
        Some(numbers.collect())
    } else if dtype == DataType::Double {
        let (chunks, _) = bytes.as_chunks::<8>();
        Some(
            chunks
                .iter()
                .map(|&chunk| f64::from_le_bytes(chunk))
                .collect(),
        )
    } else {
        None
    }
}

/// Numbers as elements of a type; `None` for types of half precision and less.
pub(super) fn bytes(numbers: &[f64], dtype: DataType) -> Option<Vec<u8>> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounding to the type is the purpose"
    )]
    if dtype == DataType::Float {
        let numbers = numbers.iter();
        Some(
            numbers
                .flat_map(|&number| (number as f32).to_le_bytes())
                .collect(),
        )
    } else if dtype == DataType::Double {
        Some(
            numbers
                .iter()
                .flat_map(|number| number.to_le_bytes())
                .collect(),
        )
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_of_transposed_filters_count_on_through_groups() {
        // Four input channels in two groups, three output channels a group, two elements each.
        let channel = channels(&[4, 3, 2], Some(2)).unwrap();
        let found: Vec<usize> = (0..24).step_by(2).map(channel).collect();
        assert_eq!(found, [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5]);
        let channel = channels(&[2, 3], None).unwrap();
        assert_eq!((0..6).map(channel).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn a_filter_is_scaled_and_a_bias_is_shifted() {
        let values: [&[f32]; 6] = [
            &[1.0, 2.0, 3.0, 4.0],
            &[2.0, 4.0],
            &[3.0, 8.0],
            &[0.5, 0.5],
            &[1.0, 1.0],
            &[5.0, 7.0],
        ];
        let stored: Vec<Vec<u8>> = values
            .iter()
            .map(|values| {
                values
                    .iter()
                    .flat_map(|value| value.to_le_bytes())
                    .collect()
            })
            .collect();
        let of = |value: usize| Some((stored[value].as_slice(), DataType::Float));
        let spec = |shape: &[usize]| Spec {
            dtype: DataType::Float,
            shape: shape.to_vec(),
        };
        let filter = Weight::ScaledFilter {
            filter: 0,
            transposed_groups: None,
            scale: 1,
            variance: 2,
            epsilon: 1.0,
        };
        let scaled = rewritten(&filter, &spec(&[2, 2]), of).unwrap();
        assert_eq!(numbers(&scaled, DataType::Float).unwrap()[..2], [1.0, 2.0]);
        let bias = Weight::ShiftedBias {
            bias: None,
            scale: 1,
            shift: 5,
            mean: 3,
            variance: 2,
            epsilon: 1.0,
        };
        let shifted = rewritten(&bias, &spec(&[2]), of).unwrap();
        assert_eq!(shifted[..4], 4.5f32.to_le_bytes());
    }
}
