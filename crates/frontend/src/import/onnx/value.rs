//! What is known of a tensor while shapes are inferred: type, extents and, for small constants, the elements.

use crate::ir::{DataType, Shape};

use super::{Fault, half, limits};

/// A tensor during import.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) dtype: DataType,
    pub(super) shape: Shape,
    /// The elements in row-major order, where they are known and few.
    pub(super) data: Option<Data>,
    /// Whether no input of the network can change it.
    pub(super) constant: bool,
}

/// The elements of a small constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    /// Of an integer or Boolean type.
    Integers(Vec<i64>),
    /// Of a floating-point type.
    Reals(Vec<f64>),
}

impl Data {
    /// Whether so many elements of this type are propagated.
    pub(super) const fn is_small(dtype: DataType, elements: u64) -> bool {
        match dtype {
            DataType::Int64
            | DataType::Int32
            | DataType::Int16
            | DataType::Int8
            | DataType::Uint64
            | DataType::Uint32
            | DataType::Uint16
            | DataType::Uint8
            | DataType::Bool => elements <= limits::INTEGERS,
            DataType::Float | DataType::Double | DataType::Float16 | DataType::BFloat16 => {
                elements <= limits::REALS
            }
            DataType::Float8
            | DataType::Float6
            | DataType::Float4
            | DataType::Int4
            | DataType::Int2
            | DataType::Uint4
            | DataType::Uint2
            | DataType::Complex64
            | DataType::Complex128
            | DataType::String => false,
        }
    }

    /// No elements of this type; `None` for types that are not propagated.
    pub(super) fn empty(dtype: DataType) -> Option<Self> {
        let is_real = is_real(dtype);
        let is_propagated = Self::is_small(dtype, 0);
        is_propagated.then(|| {
            if is_real {
                Self::Reals(Vec::new())
            } else {
                Self::Integers(Vec::new())
            }
        })
    }

    pub(super) const fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Reals(values) => values.len(),
        }
    }

    /// The elements rounded as a tensor of type `dtype` holds them.
    pub(super) fn rounded_to(self, dtype: DataType) -> Self {
        match self {
            Self::Integers(values) => Self::Integers(values),
            Self::Reals(values) => {
                let rounded = values.into_iter().map(|value| half::rounded(value, dtype));
                Self::Reals(rounded.collect())
            }
        }
    }

    /// The first element of an integer tensor.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Self::Integers(values) => values.first().copied(),
            Self::Reals(_) => None,
        }
    }

    /// The first element of a floating-point tensor.
    pub(super) fn real(&self) -> Option<f64> {
        match self {
            Self::Integers(_) => None,
            Self::Reals(values) => values.first().copied(),
        }
    }

    /// The elements at `indices`, in that order; `None` if one is out of range.
    pub(super) fn pick(&self, indices: impl Iterator<Item = usize>) -> Option<Self> {
        match self {
            Self::Integers(values) => indices
                .map(|index| values.get(index).copied())
                .collect::<Option<_>>()
                .map(Self::Integers),
            Self::Reals(values) => indices
                .map(|index| values.get(index).copied())
                .collect::<Option<_>>()
                .map(Self::Reals),
        }
    }
}

/// Whether elements of this type are propagated as floating-point numbers.
pub(super) const fn is_real(dtype: DataType) -> bool {
    matches!(
        dtype,
        DataType::Float | DataType::Double | DataType::Float16 | DataType::BFloat16
    )
}

/// The element type with ONNX's number `code`.
pub(super) const fn data_type(code: i64) -> Result<DataType, Fault> {
    Ok(match code {
        1 => DataType::Float,
        2 => DataType::Uint8,
        3 => DataType::Int8,
        4 => DataType::Uint16,
        5 => DataType::Int16,
        6 => DataType::Int32,
        7 => DataType::Int64,
        8 => DataType::String,
        9 => DataType::Bool,
        10 => DataType::Float16,
        11 => DataType::Double,
        12 => DataType::Uint32,
        13 => DataType::Uint64,
        14 => DataType::Complex64,
        15 => DataType::Complex128,
        16 => DataType::BFloat16,
        17..=20 | 24 => DataType::Float8,
        21 => DataType::Uint4,
        22 => DataType::Int4,
        23 => DataType::Float4,
        27 | 28 => DataType::Float6,
        25 => DataType::Uint2,
        26 => DataType::Int2,
        _ => return Err(Fault::UnknownType { code }),
    })
}

/// The number of elements.
pub(super) fn elements(shape: &Shape) -> Result<u64, Fault> {
    shape.elements().ok_or(Fault::Overflow {
        what: "the number of elements",
    })
}

/// The product of `factors`.
pub(super) fn product(
    what: &'static str,
    factors: impl IntoIterator<Item = u64>,
) -> Result<u64, Fault> {
    factors
        .into_iter()
        .try_fold(1u64, u64::checked_mul)
        .ok_or(Fault::Overflow { what })
}

/// `axis`, counted from the end if negative, in a tensor of `rank` axes.
pub(super) fn resolve_axis(axis: i64, rank: usize) -> Result<usize, Fault> {
    let out_of_range = Fault::Axis { axis, rank };
    let signed_rank = i64::try_from(rank).expect("ranks are bounded by the file's size");
    let resolved = if axis < 0 {
        axis.checked_add(signed_rank)
    } else {
        Some(axis)
    };
    resolved
        .and_then(|resolved| usize::try_from(resolved).ok())
        .filter(|&resolved| resolved < rank)
        .ok_or(out_of_range)
}

/// Extents from signed numbers of the file.
pub(super) fn extents(what: &'static str, values: &[i64]) -> Result<Vec<u64>, Fault> {
    values.iter().map(|&value| extent(what, value)).collect()
}

/// An extent from a signed number of the file.
pub(super) fn extent(what: &'static str, value: i64) -> Result<u64, Fault> {
    u64::try_from(value).map_err(|_| Fault::Value {
        what,
        found: value.to_string(),
        expected: "extents cannot be negative",
    })
}

/// The shape of an element-wise result by numpy's rule.
pub(super) fn broadcast(left: &Shape, right: &Shape) -> Result<Shape, Fault> {
    let rank = left.0.len().max(right.0.len());
    let aligned = |shape: &Shape, axis: usize| {
        let missing = rank - shape.0.len();
        if axis < missing {
            1
        } else {
            shape.0[axis - missing]
        }
    };
    (0..rank)
        .map(|axis| match (aligned(left, axis), aligned(right, axis)) {
            (1, extent) | (extent, 1) => Ok(extent),
            (a, b) if a == b => Ok(a),
            _ => Err(Fault::Mismatch {
                left: left.clone(),
                right: right.clone(),
                why: "they cannot be broadcast to each other",
            }),
        })
        .collect::<Result<_, _>>()
        .map(Shape)
}

/// For each element of a tensor of shape `to`, in row-major order, the row-major index in a tensor of shape `from` that is broadcast to it.
///
/// `to` has few elements; `from` broadcasts to it.
pub(super) fn broadcast_indices(from: &Shape, to: &Shape) -> Vec<usize> {
    let missing = to.0.len() - from.0.len();
    let mut stride = 1u64;
    let mut strides = vec![0u64; to.0.len()];
    for axis in (0..from.0.len()).rev() {
        if from.0[axis] != 1 {
            strides[axis + missing] = stride;
        }
        stride = stride.saturating_mul(from.0[axis]);
    }
    strided_indices(&to.0, &strides)
}

/// The dot products of every index of a small tensor with extents `extents`, in row-major order, with `strides`.
pub(super) fn strided_indices(extents: &[u64], strides: &[u64]) -> Vec<usize> {
    let axes: Vec<Vec<u64>> = extents
        .iter()
        .map(|&extent| (0..extent).collect())
        .collect();
    grid_indices(&axes, strides)
}

/// The same for every combination of the indices that `axes` lists for each axis.
pub(super) fn grid_indices(axes: &[Vec<u64>], strides: &[u64]) -> Vec<usize> {
    let mut indices = vec![0u64];
    for (steps, &stride) in axes.iter().zip(strides) {
        indices = indices
            .iter()
            .flat_map(|&base| steps.iter().map(move |step| base + step * stride))
            .collect();
    }
    indices
        .into_iter()
        .map(|index| usize::try_from(index).expect("propagated tensors are small"))
        .collect()
}

/// Row-major strides.
pub(super) fn strides(extents: &[u64]) -> Vec<u64> {
    let mut stride = 1u64;
    let mut strides = vec![0; extents.len()];
    for (axis, &extent) in extents.iter().enumerate().rev() {
        strides[axis] = stride;
        stride = stride.saturating_mul(extent);
    }
    strides
}

/// The larger of two numbers; what is not a number stays, which `f64::max` would drop.
pub(super) fn larger(left: f64, right: f64) -> f64 {
    if left >= right || left.is_nan() {
        left
    } else {
        right
    }
}

/// The smaller of two numbers; what is not a number stays.
pub(super) fn smaller(left: f64, right: f64) -> f64 {
    if left <= right || left.is_nan() {
        left
    } else {
        right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_aligns_at_the_end() {
        let shape = |extents: &[u64]| Shape(extents.to_vec());
        assert_eq!(
            broadcast(&shape(&[8, 1, 6, 1]), &shape(&[7, 1, 5])),
            Ok(shape(&[8, 7, 6, 5]))
        );
        assert_eq!(broadcast(&shape(&[0]), &shape(&[1])), Ok(shape(&[0])));
        assert!(broadcast(&shape(&[2, 3]), &shape(&[2])).is_err());
        assert_eq!(
            broadcast_indices(&shape(&[2, 1]), &shape(&[2, 3])),
            [0, 0, 0, 1, 1, 1]
        );
        assert_eq!(
            broadcast_indices(&shape(&[3]), &shape(&[2, 3])),
            [0, 1, 2, 0, 1, 2]
        );
    }

    #[test]
    fn negative_axes_count_from_the_end() {
        assert_eq!(resolve_axis(-1, 4), Ok(3));
        assert!(resolve_axis(4, 4).is_err());
        assert!(resolve_axis(-5, 4).is_err());
        assert!(resolve_axis(i64::MIN, 4).is_err());
    }
}
