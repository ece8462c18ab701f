//! Constants of the file: where their elements lie, and the elements themselves where they are few.

use std::path::{Component, Path};

use bytes::Bytes;

use crate::ir::{DataType, Shape, WeightRef};

use super::decode::varint;
use super::value::{Data, Value, data_type, elements, extents, is_real};
use super::wire::TensorProto;
use super::{Fault, half, limits};

/// A constant and where it lies.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    pub(super) value: Value,
    pub(super) weight: WeightRef,
}

/// Reads the header of `tensor`, a constant of the file whose bytes are `file`.
///
/// The message says what is wrong; the caller knows where.
pub(super) fn constant(file: &Bytes, tensor: &TensorProto) -> Result<Constant, String> {
    let dtype = data_type(i64::from(tensor.data_type)).map_err(|fault| fault.to_string())?;
    if tensor.dims.len() > limits::RANK {
        let rank = tensor.dims.len();
        return Err(Fault::TooManyAxes { rank }.to_string());
    }
    let shape = extents("an extent", &tensor.dims)
        .map(Shape)
        .map_err(|fault| fault.to_string())?;
    let too_large = |fault: Fault| format!("shape {shape}: {fault}");
    let count = elements(&shape).map_err(too_large)?;
    let needed = shape
        .bytes(dtype)
        .ok_or(Fault::Overflow { what: "its size" })
        .map_err(too_large)?
        .count();
    let (weight, piece) = locate(file, tensor, dtype, &shape, count, needed)?;
    let data = piece
        .filter(|_| Data::is_small(dtype, count))
        .and_then(|piece| read(dtype, piece, count));
    Ok(Constant {
        value: Value {
            dtype,
            shape,
            data,
            constant: true,
        },
        weight,
    })
}

/// Bytes of elements and their encoding.
#[derive(Clone, Copy)]
enum Piece<'a> {
    /// Little-endian, without gaps.
    Raw(&'a Bytes),
    /// Protobuf variable-length integers.
    Varints(&'a Bytes),
    Nothing,
}

fn locate<'a>(
    file: &Bytes,
    tensor: &'a TensorProto,
    dtype: DataType,
    shape: &Shape,
    count: u64,
    needed: u64,
) -> Result<(WeightRef, Option<Piece<'a>>), String> {
    const EXTERNAL: i32 = 1;
    if tensor.data_location == EXTERNAL {
        return Ok((external(tensor, needed)?, None));
    }
    if dtype == DataType::String {
        let found = tensor.string_data.len() as u64;
        if found != count {
            return Err(format!(
                "shape {shape} needs {count} strings, but {found} follow"
            ));
        }
        // Strings have no single place; what uses them is opaque to us.
        return Ok((WeightRef::Generated, None));
    }
    let piece = match &tensor.raw_data {
        Some(raw) if !raw.is_empty() => Piece::Raw(raw),
        Some(_) | None => typed_piece(tensor, dtype)?,
    };
    let (found, fits) = match piece {
        Piece::Raw(bytes) => (bytes.len() as u64, bytes.len() as u64 == needed),
        Piece::Varints(bytes) => {
            let found = bytes.len() as u64;
            // Elements of less than a byte come packed, a byte an integer.
            let entries = count.min(needed);
            (
                found,
                (entries..=entries.saturating_mul(10)).contains(&found),
            )
        }
        Piece::Nothing => (0, count == 0),
    };
    if !fits {
        return Err(format!(
            "{dtype} {shape} needs {needed} bytes, but {found} follow"
        ));
    }
    let weight = match piece {
        Piece::Raw(bytes) => WeightRef::Inline {
            offset: offset_in(file, bytes),
            length: found,
        },
        Piece::Varints(bytes) => WeightRef::Varints {
            offset: offset_in(file, bytes),
            length: found,
        },
        Piece::Nothing => WeightRef::Inline {
            offset: 0,
            length: 0,
        },
    };
    Ok((weight, Some(piece)))
}

fn typed_piece(tensor: &TensorProto, dtype: DataType) -> Result<Piece<'_>, String> {
    let (pieces, is_raw) = match dtype {
        DataType::Float | DataType::Complex64 => (&tensor.float_data, true),
        DataType::Double | DataType::Complex128 => (&tensor.double_data, true),
        DataType::Int64 => (&tensor.int64_data, false),
        DataType::Uint64 | DataType::Uint32 => (&tensor.uint64_data, false),
        DataType::Int32
        | DataType::Int16
        | DataType::Int8
        | DataType::Int4
        | DataType::Int2
        | DataType::Uint16
        | DataType::Uint8
        | DataType::Uint4
        | DataType::Uint2
        | DataType::Bool
        | DataType::Float16
        | DataType::BFloat16
        | DataType::Float8
        | DataType::Float6
        | DataType::Float4 => (&tensor.int32_data, false),
        DataType::String => unreachable!("strings were handled before"),
    };
    match pieces.as_slice() {
        [] => Ok(Piece::Nothing),
        [piece] if is_raw => Ok(Piece::Raw(piece)),
        [piece] => Ok(Piece::Varints(piece)),
        several => Err(format!(
            "its elements come in {} pieces; store them as raw data",
            several.len()
        )),
    }
}

/// Where `part`, a slice of `file`, starts in it.
fn offset_in(file: &Bytes, part: &Bytes) -> u64 {
    // Nothing lies nowhere: an empty slice need not point into the file.
    if part.is_empty() {
        return 0;
    }
    part.as_ptr()
        .addr()
        .checked_sub(file.as_ptr().addr())
        .filter(|offset| offset + part.len() <= file.len())
        .expect("decoding slices the file's bytes and copies none") as u64
}

fn external(tensor: &TensorProto, needed: u64) -> Result<WeightRef, String> {
    let entry = |key: &str| {
        tensor
            .external_data
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| entry.value.as_str())
    };
    let number = |key: &str| {
        entry(key)
            .map(|text| {
                text.parse::<u64>()
                    .map_err(|_| format!("external {key} `{text}` is not a number"))
            })
            .transpose()
    };
    let location = entry("location").ok_or("external data without a location")?;
    if !stays_inside(location) {
        return Err(format!(
            "external data `{location}` is outside of the model's folder"
        ));
    }
    let offset = number("offset")?.unwrap_or(0);
    let length = number("length")?;
    if let Some(length) = length.filter(|&length| length != needed) {
        return Err(format!(
            "needs {needed} bytes, but its external data has {length}"
        ));
    }
    if offset.checked_add(needed).is_none() {
        return Err(format!("external offset {offset} is too large"));
    }
    Ok(WeightRef::External {
        location: location.to_owned(),
        offset,
        length,
    })
}

/// Whether a path of the file names something below the model's folder, on any system.
fn stays_inside(location: &str) -> bool {
    let is_plain = !location.is_empty() && !location.contains(['\\', ':', '\0']);
    is_plain
        && Path::new(location)
            .components()
            .all(|component| matches!(component, Component::Normal(_) | Component::CurDir))
}

/// The elements; `None` if they do not fit the types that are propagated.
fn read(dtype: DataType, piece: Piece<'_>, count: u64) -> Option<Data> {
    let is_real = is_real(dtype);
    match piece {
        Piece::Nothing if is_real => Some(Data::Reals(Vec::new())),
        Piece::Nothing => Some(Data::Integers(Vec::new())),
        Piece::Raw(bytes) if is_real => Some(Data::Reals(reals(dtype, bytes))),
        Piece::Raw(bytes) => integers(dtype, bytes).map(Data::Integers),
        // Half-precision numbers come as their bits; longer ones have fields of their own.
        Piece::Varints(bytes) if is_real => halves(dtype, bytes, count).map(Data::Reals),
        Piece::Varints(bytes) => varints(dtype, bytes, count).map(Data::Integers),
    }
}

fn reals(dtype: DataType, bytes: &[u8]) -> Vec<f64> {
    if dtype == DataType::Double {
        let (chunks, _) = bytes.as_chunks::<8>();
        chunks
            .iter()
            .map(|&chunk| f64::from_le_bytes(chunk))
            .collect()
    } else if matches!(dtype, DataType::Float16 | DataType::BFloat16) {
        let (chunks, _) = bytes.as_chunks::<2>();
        chunks
            .iter()
            .map(|&chunk| half::read(u16::from_le_bytes(chunk), dtype))
            .collect()
    } else {
        let (chunks, _) = bytes.as_chunks::<4>();
        chunks
            .iter()
            .map(|&chunk| f64::from(f32::from_le_bytes(chunk)))
            .collect()
    }
}

fn halves(dtype: DataType, bytes: &[u8], count: u64) -> Option<Vec<f64>> {
    let bits = varints(dtype, bytes, count)?;
    bits.into_iter()
        .map(|bits| u16::try_from(bits).ok())
        .map(|bits| Some(half::read(bits?, dtype)))
        .collect()
}

fn integers(dtype: DataType, bytes: &[u8]) -> Option<Vec<i64>> {
    let width = usize::try_from(dtype.bits() / 8).ok()?;
    let is_signed = matches!(
        dtype,
        DataType::Int64 | DataType::Int32 | DataType::Int16 | DataType::Int8
    );
    bytes
        .chunks_exact(width)
        .map(|chunk| {
            let negative = is_signed && chunk.last().is_some_and(|&byte| byte & 0x80 != 0);
            let mut wide = if negative { [0xff; 8] } else { [0; 8] };
            wide[..width].copy_from_slice(chunk);
            let value = i64::from_le_bytes(wide);
            // An unsigned value above the signed range has no place in shape arithmetic.
            (is_signed || value >= 0).then_some(value)
        })
        .collect()
}

fn varints(dtype: DataType, bytes: &[u8], count: u64) -> Option<Vec<i64>> {
    let is_unsigned = matches!(dtype, DataType::Uint64);
    let mut values = Vec::new();
    let mut position = 0;
    while position < bytes.len() {
        let (value, next) = varint(bytes, position, bytes.len())?;
        let signed = value.cast_signed();
        if is_unsigned && signed < 0 {
            return None;
        }
        values.push(signed);
        position = next;
    }
    (values.len() as u64 == count).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::onnx::wire::StringStringEntryProto;

    fn raw(dims: &[i64], data_type: i32, bytes: &'static [u8]) -> (Bytes, TensorProto) {
        let file = Bytes::from_static(bytes);
        let tensor = TensorProto {
            dims: dims.to_vec(),
            data_type,
            raw_data: Some(file.slice(2..)),
            ..TensorProto::default()
        };
        (file, tensor)
    }

    #[test]
    fn raw_data_is_referenced_and_small_integers_are_read() {
        let (file, tensor) = raw(&[2], 6, b"xx\x01\0\0\0\xfe\xff\xff\xff");
        let constant = constant(&file, &tensor).unwrap();
        assert_eq!(
            constant.weight,
            WeightRef::Inline {
                offset: 2,
                length: 8
            }
        );
        assert_eq!(constant.value.data, Some(Data::Integers(vec![1, -2])));
    }

    #[test]
    fn packed_integers_are_read_but_stay_encoded() {
        let file = Bytes::from_static(b"\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
        let tensor = TensorProto {
            dims: vec![2],
            data_type: 7,
            int64_data: vec![file.clone()],
            ..TensorProto::default()
        };
        let constant = constant(&file, &tensor).unwrap();
        assert_eq!(
            constant.weight,
            WeightRef::Varints {
                offset: 0,
                length: 11
            }
        );
        assert_eq!(constant.value.data, Some(Data::Integers(vec![3, -1])));
    }

    #[test]
    fn integers_of_less_than_a_byte_are_packed_a_byte_an_entry() {
        // Five 4-bit numbers in three entries, one of which takes two bytes.
        let file = Bytes::from_static(b"\x21\xc3\x01\x05");
        let tensor = |dims: Vec<i64>| TensorProto {
            dims,
            data_type: 22,
            int32_data: vec![file.clone()],
            ..TensorProto::default()
        };
        let weight = constant(&file, &tensor(vec![5])).unwrap().weight;
        assert_eq!(
            weight,
            WeightRef::Varints {
                offset: 0,
                length: 4
            }
        );
        assert!(constant(&file, &tensor(vec![9])).is_err());
    }

    #[test]
    fn empty_constants_need_no_payload() {
        let empty = |float_data: Vec<Bytes>| TensorProto {
            dims: vec![0, 3],
            data_type: 1,
            float_data,
            ..TensorProto::default()
        };
        for tensor in [empty(Vec::new()), empty(vec![Bytes::new()])] {
            let constant = constant(&Bytes::from_static(b"file"), &tensor).unwrap();
            assert_eq!(constant.value.data, Some(Data::Reals(Vec::new())));
            assert_eq!(
                constant.weight,
                WeightRef::Inline {
                    offset: 0,
                    length: 0
                }
            );
        }
    }

    #[test]
    fn a_payload_that_does_not_fit_its_shape_is_refused() {
        let (file, tensor) = raw(&[1 << 62], 1, b"xx\x01\0\0\0");
        assert!(constant(&file, &tensor).unwrap_err().contains("overflows"));
        let (file, tensor) = raw(&[1 << 40], 1, b"xx\x01\0\0\0");
        assert_eq!(
            constant(&file, &tensor).unwrap_err(),
            "float [1099511627776] needs 4398046511104 bytes, but 4 follow"
        );
        let (file, tensor) = raw(&[-1], 1, b"xx\x01\0\0\0");
        assert!(constant(&file, &tensor).unwrap_err().contains("negative"));
    }

    #[test]
    fn external_data_may_be_missing_but_not_outside() {
        let tensor = |location: &str| TensorProto {
            dims: vec![4],
            data_type: 1,
            data_location: 1,
            external_data: vec![
                StringStringEntryProto {
                    key: "location".to_owned(),
                    value: location.to_owned(),
                },
                StringStringEntryProto {
                    key: "offset".to_owned(),
                    value: "4096".to_owned(),
                },
            ],
            ..TensorProto::default()
        };
        let file = Bytes::new();
        assert_eq!(
            constant(&file, &tensor("weights/a.bin")).unwrap().weight,
            WeightRef::External {
                location: "weights/a.bin".to_owned(),
                offset: 4096,
                length: None
            }
        );
        for outside in ["../a.bin", "/etc/passwd", "a/../../b", "C:\\a", "..\\a", ""] {
            assert!(constant(&file, &tensor(outside)).is_err(), "{outside}");
        }
    }
}
