//! NumPy's `.npy` files, read and written.
//!
//! The format is a magic number, a version, the length of a header, and the header: a Python dictionary of three entries whose keys and
//! forms NumPy fixes ("NEP 1").
//! It is read here by that fixed form instead of a general reader of Python's literals, which recurses over what a file says.

use paracompile_frontend::ir::{DataType, Shape};

use super::tensor::{HostTensor, size};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Much more than any header needs: 32 axes of 20 digits.
const LONGEST_HEADER: usize = 4096;

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    dtype: DataType,
    is_big_endian: bool,
    is_fortran: bool,
    shape: Shape,
}

/// Reads a file; the message says what is wrong with it.
pub(super) fn read(file: &[u8]) -> Result<HostTensor, String> {
    let rest = file.strip_prefix(MAGIC).ok_or("it is no .npy file")?;
    let short = "it ends inside its header";
    let (length, rest) = match rest {
        [1, _, low, high, rest @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => {
            let length = u32::from_le_bytes([*a, *b, *c, *d]);
            (usize::try_from(length).map_err(|_| short)?, rest)
        }
        [version, ..] if !(1..=3).contains(version) => {
            return Err(format!("version {version} of .npy is unknown"));
        }
        _ => return Err(short.to_owned()),
    };
    if length > LONGEST_HEADER {
        return Err(format!("its header has {length} bytes"));
    }
    let (header, elements) = rest.split_at_checked(length).ok_or(short)?;
    let header = std::str::from_utf8(header).map_err(|_| "its header is no text")?;
    let header = parse(header)?;
    let needed = size(header.dtype, &header.shape)
        .ok_or_else(|| format!("{} {} is too large", header.dtype, header.shape))?;
    if elements.len() != needed {
        return Err(format!(
            "{} {} needs {needed} bytes, but {} follow",
            header.dtype,
            header.shape,
            elements.len()
        ));
    }
    let mut bytes = elements.to_vec();
    let width = element_bytes(header.dtype);
    if header.is_big_endian {
        bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
    if header.is_fortran {
        bytes = row_major(&bytes, &header.shape, width);
    }
    Ok(HostTensor {
        dtype: header.dtype,
        shape: header.shape,
        bytes,
    })
}

/// A file of version 1 with the tensor; `None` if NumPy has no such type.
pub(super) fn write(tensor: &HostTensor) -> Option<Vec<u8>> {
    let (_, descr) = TYPES.iter().find(|(dtype, _)| *dtype == tensor.dtype)?;
    let order = if descr.ends_with('1') { '|' } else { '<' };
    let extents: Vec<String> = tensor.shape.0.iter().map(ToString::to_string).collect();
    let comma = if extents.len() == 1 { "," } else { "" };
    let mut header = format!(
        "{{'descr': '{order}{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        extents.join(", ")
    );
    // Elements start at a multiple of 64 bytes.
    let prefix = MAGIC.len() + 4;
    let padded = (prefix + header.len() + 1).next_multiple_of(64);
    let blanks = padded - prefix - header.len() - 1;
    header.extend(std::iter::repeat_n(' ', blanks));
    header.push('\n');
    let length = u16::try_from(header.len()).ok()?;
    let mut file = MAGIC.to_vec();
    file.extend([1, 0]);
    file.extend(length.to_le_bytes());
    file.extend(header.bytes());
    file.extend(&tensor.bytes);
    Some(file)
}

/// Types that both know, with NumPy's letters; the width is the digit.
const TYPES: [(DataType, &str); 12] = [
    (DataType::Float, "f4"),
    (DataType::Double, "f8"),
    (DataType::Float16, "f2"),
    (DataType::Int64, "i8"),
    (DataType::Int32, "i4"),
    (DataType::Int16, "i2"),
    (DataType::Int8, "i1"),
    (DataType::Uint64, "u8"),
    (DataType::Uint32, "u4"),
    (DataType::Uint16, "u2"),
    (DataType::Uint8, "u1"),
    (DataType::Bool, "b1"),
];

fn element_bytes(dtype: DataType) -> usize {
    usize::try_from(dtype.bits() / 8).expect("an element has a few bytes")
}

fn parse(text: &str) -> Result<Header, String> {
    let unusual = || format!("its header is not as NumPy writes it: `{}`", text.trim());
    let inner = text
        .trim()
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    let mut rest = inner.ok_or_else(unusual)?.trim();
    let (mut descr, mut is_fortran, mut shape) = (None, None, None);
    while !rest.is_empty() {
        let (key, value) = rest.split_once(':').ok_or_else(unusual)?;
        let value = value.trim_start();
        let end = if value.starts_with('(') {
            value.find(')').map(|end| end + 1)
        } else {
            Some(value.find(',').unwrap_or(value.len()))
        };
        let (value, behind) = value.split_at(end.ok_or_else(unusual)?);
        match unquoted(key).ok_or_else(unusual)? {
            "descr" => descr = Some(value.trim()),
            "fortran_order" => is_fortran = Some(value.trim()),
            "shape" => shape = Some(value),
            _ => return Err(unusual()),
        }
        let behind = behind.trim_start();
        rest = match behind.strip_prefix(',') {
            Some(behind) => behind.trim_start(),
            None if behind.is_empty() => behind,
            None => return Err(unusual()),
        };
    }
    let descr = descr.ok_or_else(unusual)?;
    let unknown = || format!("element type {descr} is not supported");
    let letters = unquoted(descr).ok_or_else(unknown)?;
    let (order, letters) = letters.split_at_checked(1).ok_or_else(unknown)?;
    let known = TYPES.iter().find(|(_, known)| *known == letters);
    let (dtype, _) = *known.ok_or_else(unknown)?;
    let is_big_endian = match order {
        "<" | "|" | "=" => false,
        ">" => true,
        _ => return Err(unknown()),
    };
    let is_fortran = match is_fortran {
        Some("True") => true,
        Some("False") => false,
        Some(_) | None => return Err(unusual()),
    };
    let shape = shape
        .and_then(|shape| shape.strip_prefix('(')?.strip_suffix(')'))
        .ok_or_else(unusual)?;
    let extents = shape
        .split(',')
        .map(str::trim)
        .filter(|extent| !extent.is_empty());
    let extents: Result<Vec<u64>, _> = extents.map(str::parse).collect();
    let extents = extents.map_err(|_| unusual())?;
    if extents.len() > paracompile_frontend::import::onnx::limits::RANK {
        return Err(format!("it has {} axes", extents.len()));
    }
    Ok(Header {
        dtype,
        is_big_endian,
        is_fortran,
        shape: Shape(extents),
    })
}

fn unquoted(text: &str) -> Option<&str> {
    let text = text.trim();
    let quoted = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    quoted('\'').or_else(|| quoted('"'))
}

/// Elements whose first axis changes fastest, put into an order in which the last one does.
fn row_major(bytes: &[u8], shape: &Shape, width: usize) -> Vec<u8> {
    let extents: Vec<usize> = shape
        .0
        .iter()
        .map(|&extent| usize::try_from(extent).expect("a tensor in memory is that small"))
        .collect();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = vec![0; extents.len()];
    for _ in 0..bytes.len() / width {
        let mut place = 0;
        for (&at, &extent) in index.iter().zip(&extents).rev() {
            place = place * extent + at;
        }
        out.extend(&bytes[place * width..(place + 1) * width]);
        for (at, &extent) in index.iter_mut().zip(&extents).rev() {
            *at += 1;
            if *at < extent {
                break;
            }
            *at = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(header: &str, elements: &[u8]) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend([1, 0]);
        file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        file.extend(header.bytes());
        file.extend(elements);
        file
    }

    // As numpy 2.4 writes `np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3))`.
    #[test]
    fn order_of_bytes_and_of_axes_is_that_of_the_host() {
        let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }";
        let read = read(&file(header, &[0, 0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 5])).unwrap();
        assert_eq!(
            (read.dtype, read.shape),
            (DataType::Int16, Shape(vec![2, 3]))
        );
        assert_eq!(read.bytes, [0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
    }

    #[test]
    fn what_is_written_is_as_numpy_writes_it() {
        let tensor = HostTensor {
            dtype: DataType::Uint8,
            shape: Shape(vec![3]),
            bytes: vec![1, 2, 3],
        };
        let written = write(&tensor).unwrap();
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
        assert_eq!(written.len(), 128 + 3);
        assert_eq!(&written[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(&written[10..10 + header.len()], header.as_bytes());
        assert_eq!(&written[127..], b"\n\x01\x02\x03");
    }

    #[test]
    fn files_that_are_not_what_they_say_are_refused() {
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        assert!(read(&file(good, &[0; 8])).is_ok());
        let cases: [(&str, &[u8], &str); 8] = [
            (good, &[0; 7], "float [2] needs 8 bytes, but 7 follow"),
            (good, &[0; 9], "float [2] needs 8 bytes, but 9 follow"),
            (
                "{'descr': '<c8', 'fortran_order': False, 'shape': (), }",
                &[0; 8],
                "element type '<c8' is not supported",
            ),
            (
                "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }",
                &[0; 4],
                "not as NumPy writes it",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
                &[],
                "not as NumPy writes it",
            ),
            (
                "{'descr': '<f4', 'shape': (1,), }",
                &[0; 4],
                "not as NumPy writes it",
            ),
            ("((((", &[], "not as NumPy writes it"),
            (
                "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 4), }",
                &[],
                "too large",
            ),
        ];
        for (header, elements, message) in cases {
            let error = read(&file(header, elements)).unwrap_err();
            assert!(error.contains(message), "{header}: {error}");
        }
        assert!(
            read(b"\x93NUMPY\x09\x00")
                .unwrap_err()
                .contains("version 9")
        );
        assert!(read(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").is_err());
        assert!(read(b"PK").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&file(&String::from_utf8_lossy(&bytes), &[]));
            let _ = read(&bytes);
        }

        #[test]
        fn what_is_written_is_read_back(extents in proptest::collection::vec(0_u64..4, 0..5), which in 0..TYPES.len()) {
            let (dtype, _) = TYPES[which];
            let shape = Shape(extents);
            let bytes = (0..size(dtype, &shape).unwrap()).map(|index| u8::try_from(index % 251).unwrap()).collect();
            let tensor = HostTensor { dtype, shape, bytes };
            prop_assert_eq!(read(&write(&tensor).unwrap()), Ok(tensor));
        }
    }
}
