//! Inputs where the user gives none.

use std::collections::BTreeSet;

use paracompile_frontend::import::onnx::{Attribute, Program, ValueId};
use paracompile_frontend::ir::DataType;

use super::gather::{InputProblem, Wanted};
use super::tensor::{HostTensor, size};
use crate::host_memory::room;
use crate::weights::Stream;

/// Numbers for an input, from a seed and its name: real ones in `[−1, 1)`, truth values, and whole ones from 0 on.
///
/// Whole numbers are below every extent that they index by `Gather`, and 0 or 1 where nothing is known of them: a mask more often than a
/// measure.
/// There are none of strings, complex and sub-byte types.
pub fn random_input(program: &Program, id: ValueId, seed: u64) -> Result<HostTensor, InputProblem> {
    random_tensor(Wanted::of(program, id), seed, |width| {
        bound(program, id, width)
    })
}

/// The same for any input; `bound` is one more than the largest whole number for a type of so many bytes.
pub(crate) fn random_tensor(
    wanted: Wanted<'_>,
    seed: u64,
    bound: impl Fn(usize) -> u64,
) -> Result<HostTensor, InputProblem> {
    let none = || InputProblem::NoRandom {
        name: wanted.name.to_owned(),
        dtype: wanted.dtype,
    };
    let bytes = size(wanted.dtype, wanted.shape).ok_or_else(none)?;
    let width = usize::try_from(wanted.dtype.bits() / 8).map_err(|_| none())?;
    let count = (bytes / width) as u64;
    let stream = Stream::new(seed, wanted.name);
    let real = |index| 2.0 * stream.unit(index) - 1.0;
    let mut out = room(wanted.name, bytes)?;
    match wanted.dtype {
        DataType::Float => {
            for index in 0..count {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a multiple of 2^-23 below one is exact in single precision"
                )]
                out.extend((real(index) as f32).to_le_bytes());
            }
        }
        DataType::Double => (0..count).for_each(|index| out.extend(real(index).to_le_bytes())),
        DataType::Int64
        | DataType::Int32
        | DataType::Int16
        | DataType::Int8
        | DataType::Uint64
        | DataType::Uint32
        | DataType::Uint16
        | DataType::Uint8 => {
            let bound = bound(width);
            for index in 0..count {
                let value = (stream.bits(index) >> 11) % bound;
                out.extend(&value.to_le_bytes()[..width]);
            }
        }
        DataType::Bool => {
            out.extend((0..count).map(|index| u8::from(stream.bits(index) >> 63 == 1)));
        }
        DataType::Float16
        | DataType::BFloat16
        | DataType::Float8
        | DataType::Float6
        | DataType::Float4
        | DataType::Int4
        | DataType::Int2
        | DataType::Uint4
        | DataType::Uint2
        | DataType::Complex64
        | DataType::Complex128
        | DataType::String => return Err(none()),
    }
    Ok(HostTensor {
        dtype: wanted.dtype,
        shape: wanted.shape.clone(),
        bytes: out,
    })
}

/// One more than the largest number that an input of whole numbers may hold.
fn bound(program: &Program, id: ValueId, width: usize) -> u64 {
    /// Half of what a byte holds, so that signed types hold it too.
    const OF_BYTES: u64 = 128;
    let bound = indexed(program, id).unwrap_or(2);
    let most = if width == 1 { OF_BYTES } else { 1 << 15 };
    bound.clamp(1, most)
}

/// The smallest extent that a value indexes; `None` if it indexes nothing.
fn indexed(program: &Program, id: ValueId) -> Option<u64> {
    let mut same = BTreeSet::from([id]);
    let mut smallest = None;
    for call in &program.calls {
        let reads = |position: usize| {
            let operand = call.operands.get(position).copied().flatten();
            operand.is_some_and(|operand| same.contains(&operand))
        };
        match call.op_type.as_str() {
            "Cast" | "Reshape" | "Squeeze" | "Unsqueeze" | "Flatten" | "Identity" if reads(0) => {
                same.extend(call.results.iter().flatten());
            }
            "Gather" if reads(1) => {
                let extents = call.operands[0].map(|data| program.values[data].shape.0.as_slice());
                let extents = extents.unwrap_or_default();
                let axis = match call.attributes.get("axis") {
                    Some(&Attribute::Int(axis)) => axis,
                    _ => 0,
                };
                let axis = match usize::try_from(axis) {
                    Ok(axis) => Some(axis),
                    Err(_) => usize::try_from(axis.unsigned_abs())
                        .ok()
                        .and_then(|back| extents.len().checked_sub(back)),
                };
                let extent = axis.and_then(|axis| extents.get(axis));
                smallest = smallest.into_iter().chain(extent.copied()).min();
            }
            _ => {}
        }
    }
    smallest
}
