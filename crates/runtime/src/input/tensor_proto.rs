//! ONNX's `.pb` files: one `TensorProto`, as in the test data of the standard.

use bytes::Bytes;
use paracompile_frontend::ir::{DataType, Shape};
use prost::Message;

use super::tensor::{HostTensor, size};

/// The fields of a tensor that a file of its own uses.
#[derive(Clone, PartialEq, Message)]
struct TensorProto {
    #[prost(int64, repeated, tag = "1")]
    dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    data_type: i32,
    #[prost(float, repeated, tag = "4")]
    float_data: Vec<f32>,
    #[prost(int32, repeated, tag = "5")]
    int32_data: Vec<i32>,
    #[prost(int64, repeated, tag = "7")]
    int64_data: Vec<i64>,
    #[prost(bytes = "bytes", optional, tag = "9")]
    raw_data: Option<Bytes>,
    #[prost(double, repeated, tag = "10")]
    double_data: Vec<f64>,
    #[prost(uint64, repeated, tag = "11")]
    uint64_data: Vec<u64>,
    #[prost(int32, tag = "14")]
    data_location: i32,
}

/// Reads a file; the message says what is wrong with it.
pub(super) fn read(file: &[u8]) -> Result<HostTensor, String> {
    let tensor = TensorProto::decode(Bytes::copy_from_slice(file))
        .map_err(|error| format!("it is no tensor of ONNX: {error}"))?;
    if tensor.data_location != 0 {
        return Err("its elements lie in another file".to_owned());
    }
    let code = tensor.data_type;
    let dtype = data_type(code).ok_or_else(|| format!("element type {code} is not supported"))?;
    let extents: Result<Vec<u64>, _> = tensor.dims.iter().map(|&dim| u64::try_from(dim)).collect();
    let shape = Shape(extents.map_err(|_| "an extent is negative")?);
    let needed = size(dtype, &shape).ok_or_else(|| format!("{dtype} {shape} is too large"))?;
    let bytes = match &tensor.raw_data {
        Some(raw) if !raw.is_empty() => raw.to_vec(),
        Some(_) | None => typed(&tensor, dtype)?,
    };
    if bytes.len() != needed {
        let found = bytes.len();
        return Err(format!(
            "{dtype} {shape} needs {needed} bytes, but {found} follow"
        ));
    }
    Ok(HostTensor {
        dtype,
        shape,
        bytes,
    })
}

/// The types whose elements are whole bytes.
fn data_type(code: i32) -> Option<DataType> {
    Some(match code {
        1 => DataType::Float,
        2 => DataType::Uint8,
        3 => DataType::Int8,
        4 => DataType::Uint16,
        5 => DataType::Int16,
        6 => DataType::Int32,
        7 => DataType::Int64,
        9 => DataType::Bool,
        10 => DataType::Float16,
        11 => DataType::Double,
        12 => DataType::Uint32,
        13 => DataType::Uint64,
        16 => DataType::BFloat16,
        _ => return None,
    })
}

/// Elements that have fields of their own.
fn typed(tensor: &TensorProto, dtype: DataType) -> Result<Vec<u8>, String> {
    let width = usize::try_from(dtype.bits() / 8).expect("an element has a few bytes");
    let bytes = match dtype {
        DataType::Float => tensor
            .float_data
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect(),
        DataType::Double => tensor
            .double_data
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect(),
        DataType::Int64 => tensor
            .int64_data
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect(),
        DataType::Uint64 | DataType::Uint32 => {
            let values = tensor.uint64_data.iter();
            values
                .flat_map(|value| value.to_le_bytes().into_iter().take(width))
                .collect()
        }
        DataType::Int32
        | DataType::Int16
        | DataType::Int8
        | DataType::Uint16
        | DataType::Uint8
        | DataType::Bool
        | DataType::Float16
        | DataType::BFloat16 => {
            let values = tensor.int32_data.iter();
            values
                .flat_map(|value| value.to_le_bytes().into_iter().take(width))
                .collect()
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
        | DataType::String => return Err(format!("element type {dtype} is not supported")),
    };
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    // As onnx 1.22 writes `helper.make_tensor("x", TensorProto.INT32, [2], [1, -2])`.
    #[test]
    fn typed_elements_are_read() {
        let file = b"\x08\x02\x10\x06\x2a\x0b\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x42\x01x";
        let read = read(file).unwrap();
        assert_eq!((read.dtype, read.shape), (DataType::Int32, Shape(vec![2])));
        assert_eq!(read.bytes, [1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn raw_elements_are_read() {
        let read = read(b"\x08\x01\x10\x01\x4a\x04\0\0\x80\x3f").unwrap();
        assert_eq!(read.bytes, 1.0_f32.to_le_bytes());
    }

    #[test]
    fn files_that_are_not_what_they_say_are_refused() {
        let cases: [(&[u8], &str); 5] = [
            (
                b"\x08\x02\x10\x01\x4a\x04\0\0\x80\x3f",
                "float [2] needs 8 bytes, but 4 follow",
            ),
            (b"\x08\x01\x10\x08", "element type 8 is not supported"),
            (b"\xff", "no tensor of ONNX"),
            (
                b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01",
                "negative",
            ),
            (b"\x08\x01\x10\x01\x70\x01", "another file"),
        ];
        for (file, message) in cases {
            let error = read(file).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
