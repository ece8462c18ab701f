//! Products and convolutions as their definitions say, element by element in double precision.

/// A tensor of numbers that single precision holds.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

impl Tensor {
    pub(crate) fn random(shape: &[usize], seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let count = shape.iter().product();
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            f64::from((state >> 48) as u16) / 32_768.0 - 1.0
        };
        let values = (0..count).map(|_| next()).collect();
        Self {
            shape: shape.to_vec(),
            values,
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let values = self.values.iter();
        values
            .flat_map(|&value| (value as f32).to_le_bytes())
            .collect()
    }

    pub(crate) fn of_bytes(shape: &[usize], bytes: &[u8]) -> Self {
        let values = bytes
            .chunks_exact(4)
            .map(|bytes| f64::from(f32::from_le_bytes(bytes.try_into().unwrap())));
        Self {
            shape: shape.to_vec(),
            values: values.collect(),
        }
    }

    pub(crate) fn map(&self, change: impl Fn(f64) -> f64) -> Self {
        Self {
            shape: self.shape.clone(),
            values: self.values.iter().map(|&value| change(value)).collect(),
        }
    }

    pub(crate) fn assert_close(&self, expected: &Self, what: &str) {
        assert_eq!(self.values.len(), expected.values.len(), "{what}");
        for (index, (found, expected)) in self.values.iter().zip(&expected.values).enumerate() {
            let tolerance = 1e-4 + 1e-4 * expected.abs();
            assert!(
                (found - expected).abs() <= tolerance,
                "{what}: element {index} of {:?} is {found}, not {expected}",
                self.shape
            );
        }
    }
}

/// Indices of a tensor's elements, in order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &extent in shape {
        all = all
            .into_iter()
            .flat_map(|index: Vec<usize>| {
                (0..extent).map(move |last| [index.as_slice(), &[last]].concat())
            })
            .collect();
    }
    all
}

/// Position of an element, where the index may be longer than the shape, and axes of extent 1 are broadcast.
fn at(shape: &[usize], index: &[usize]) -> usize {
    let index = &index[index.len() - shape.len()..];
    shape.iter().zip(index).fold(0, |at, (&extent, &index)| {
        at * extent + if extent == 1 { 0 } else { index }
    })
}

pub(crate) fn broadcast(
    left: &Tensor,
    right: &Tensor,
    operator: impl Fn(f64, f64) -> f64,
) -> Tensor {
    let values = indices(&left.shape).into_iter().zip(&left.values);
    Tensor {
        shape: left.shape.clone(),
        values: values
            .map(|(index, &value)| operator(value, right.values[at(&right.shape, &index)]))
            .collect(),
    }
}

pub(crate) fn transpose(matrix: &Tensor) -> Tensor {
    let shape = vec![matrix.shape[1], matrix.shape[0]];
    let values = indices(&shape)
        .into_iter()
        .map(|index| matrix.values[index[1] * matrix.shape[1] + index[0]]);
    Tensor {
        values: values.collect(),
        shape,
    }
}

pub(crate) fn matmul(left: &Tensor, right: &Tensor) -> Tensor {
    let mut left_shape = left.shape.clone();
    let mut right_shape = right.shape.clone();
    if left.shape.len() == 1 {
        left_shape.insert(0, 1);
    }
    if right.shape.len() == 1 {
        right_shape.push(1);
    }
    let rank = left_shape.len().max(right_shape.len());
    let padded = |shape: &[usize]| [vec![1; rank - shape.len()].as_slice(), shape].concat();
    let (left_full, right_full) = (padded(&left_shape), padded(&right_shape));
    let mut shape: Vec<usize> = (0..rank - 2)
        .map(|axis| {
            if left_full[axis] == 1 {
                right_full[axis]
            } else {
                left_full[axis]
            }
        })
        .collect();
    shape.extend([left_full[rank - 2], right_full[rank - 1]]);
    let depth = left_full[rank - 1];
    let values = indices(&shape).into_iter().map(|index| {
        (0..depth)
            .map(|k| {
                let mut left_index = index.clone();
                left_index[rank - 1] = k;
                let mut right_index = index.clone();
                right_index[rank - 2] = k;
                left.values[at(&left_full, &left_index)]
                    * right.values[at(&right_full, &right_index)]
            })
            .sum()
    });
    let values = values.collect();
    if right.shape.len() == 1 {
        shape.pop();
    }
    if left.shape.len() == 1 {
        let rows = shape.len() - usize::from(right.shape.len() > 1) - 1;
        shape.remove(rows);
    }
    Tensor { shape, values }
}

/// A window; one entry a spatial axis.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    pub(crate) stride: Vec<usize>,
    pub(crate) begin: Vec<usize>,
    pub(crate) end: Vec<usize>,
    pub(crate) dilation: Vec<usize>,
    pub(crate) groups: usize,
}

pub(crate) fn conv(image: &Tensor, filter: &Tensor, geometry: &Geometry) -> Tensor {
    let axes = image.shape.len() - 2;
    let mut shape = vec![image.shape[0], filter.shape[0]];
    for axis in 0..axes {
        let reach = (filter.shape[2 + axis] - 1) * geometry.dilation[axis] + 1;
        let padded = image.shape[2 + axis] + geometry.begin[axis] + geometry.end[axis];
        shape.push((padded - reach) / geometry.stride[axis] + 1);
    }
    let features = filter.shape[0] / geometry.groups;
    let channels = filter.shape[1];
    let taps = indices(&filter.shape[2..]);
    let values = indices(&shape).into_iter().map(|index| {
        let mut sum = 0.0;
        for tap in &taps {
            let place: Option<Vec<usize>> = (0..axes)
                .map(|axis| {
                    let at = index[2 + axis] * geometry.stride[axis]
                        + tap[axis] * geometry.dilation[axis];
                    at.checked_sub(geometry.begin[axis])
                        .filter(|&at| at < image.shape[2 + axis])
                })
                .collect();
            let Some(place) = place else { continue };
            for channel in 0..channels {
                let from = index[1] / features * channels + channel;
                let seen = [&[index[0], from], place.as_slice()].concat();
                let weight = [&[index[1], channel], tap.as_slice()].concat();
                sum += image.values[at(&image.shape, &seen)]
                    * filter.values[at(&filter.shape, &weight)];
            }
        }
        sum
    });
    let values = values.collect();
    Tensor { shape, values }
}

/// Scatters every element of the image to where its window writes.
pub(crate) fn conv_transpose(
    image: &Tensor,
    filter: &Tensor,
    geometry: &Geometry,
    extra: &[usize],
) -> Tensor {
    let axes = image.shape.len() - 2;
    let features = filter.shape[1];
    let channels = filter.shape[0] / geometry.groups;
    let mut shape = vec![image.shape[0], features * geometry.groups];
    for (axis, extra) in extra.iter().enumerate() {
        let reach = (filter.shape[2 + axis] - 1) * geometry.dilation[axis] + 1;
        let full = (image.shape[2 + axis] - 1) * geometry.stride[axis] + reach + extra;
        shape.push(full - geometry.begin[axis] - geometry.end[axis]);
    }
    let mut values = vec![0.0; shape.iter().product()];
    let taps = indices(&filter.shape[2..]);
    for (index, &value) in indices(&image.shape).iter().zip(&image.values) {
        for tap in &taps {
            let place: Option<Vec<usize>> = (0..axes)
                .map(|axis| {
                    let at = index[2 + axis] * geometry.stride[axis]
                        + tap[axis] * geometry.dilation[axis];
                    at.checked_sub(geometry.begin[axis])
                        .filter(|&at| at < shape[2 + axis])
                })
                .collect();
            let Some(place) = place else { continue };
            for feature in 0..features {
                let to = index[1] / channels * features + feature;
                let written = [&[index[0], to], place.as_slice()].concat();
                let weight = [&[index[1], feature], tap.as_slice()].concat();
                values[at(&shape, &written)] += value * filter.values[at(&filter.shape, &weight)];
            }
        }
    }
    Tensor { shape, values }
}
