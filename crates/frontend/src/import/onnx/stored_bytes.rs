//! The elements of stored constants as bytes: little-endian, without gaps, as devices take them.
//!
//! Import looks at headers alone; this is for whoever executes a model. Every length is checked before memory is taken for it.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use prost::Message;

use crate::ir::{DataType, Shape, WeightRef};

use super::decode::{DecodeError, varint};
use super::program::{Program, StoredTensor, ValueId};
use super::wire::TensorProto;
use super::{ImportError, file, payload};

/// Why elements cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// A file of external data cannot be opened.
    #[error("`{}` needs {needed} bytes of external data", .tensor)]
    External {
        /// Whose elements.
        tensor: String,
        /// How many bytes they have.
        needed: u64,
        /// What the system said.
        source: ImportError,
    },
    /// A file ends before the elements do.
    #[error("{}: `{tensor}` needs {needed} bytes from byte {offset} on, but the file has {found}", path.display())]
    TooShort {
        /// Whose elements.
        tensor: String,
        /// The file.
        path: PathBuf,
        /// The first byte.
        offset: u64,
        /// How many bytes they have.
        needed: u64,
        /// How many bytes the file has.
        found: u64,
    },
    /// The elements are encoded in another way than their type says.
    #[error("`{tensor}`: {what}")]
    Encoding {
        /// Whose elements.
        tensor: String,
        /// What is wrong.
        what: String,
    },
    /// The bytes are no tensor.
    #[error("not an ONNX tensor: {0}")]
    Decode(DecodeError),
}

/// A tensor with its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorFile {
    /// Its name, which may be empty.
    pub name: String,
    /// Element type.
    pub dtype: DataType,
    /// Extents.
    pub shape: Shape,
    /// The elements: little-endian, without gaps.
    pub bytes: Vec<u8>,
}

/// Reads a file that holds a single tensor (`.pb`); `folder` is where its external data lies.
pub fn read_tensor(file: &Bytes, folder: &Path) -> Result<TensorFile, PayloadError> {
    let tensor = TensorProto::decode(file.clone())
        .map_err(|error| PayloadError::Decode(DecodeError::from(error)))?;
    let constant = payload::constant(file, &tensor).map_err(|what| PayloadError::Encoding {
        tensor: tensor.name.clone(),
        what,
    })?;
    let source = Source { file, folder };
    let (dtype, shape) = (constant.value.dtype, constant.value.shape);
    let bytes = source.read(&tensor.name, dtype, &shape, &constant.weight)?;
    let bytes = bytes.ok_or_else(|| PayloadError::Encoding {
        tensor: tensor.name.clone(),
        what: format!("{dtype} has no bytes of its own"),
    })?;
    Ok(TensorFile {
        name: tensor.name,
        dtype,
        shape,
        bytes,
    })
}

impl Program {
    /// The elements of a value as the file holds them; `None` if it does not hold them.
    pub fn stored_bytes(&self, value: ValueId) -> Result<Option<Vec<u8>>, PayloadError> {
        let value = &self.values[value];
        match &value.stored {
            Some(stored) => self
                .source()
                .read(&value.name, value.dtype, &value.shape, stored),
            None => Ok(None),
        }
    }

    /// The elements of an attribute, `of` whatever; `None` if the file does not hold them.
    pub fn attribute_bytes(
        &self,
        of: &str,
        tensor: &StoredTensor,
    ) -> Result<Option<Vec<u8>>, PayloadError> {
        self.source()
            .read(of, tensor.dtype, &tensor.shape, &tensor.stored)
    }

    fn source(&self) -> Source<'_> {
        Source {
            file: &self.file,
            folder: &self.folder,
        }
    }
}

/// Where elements lie.
struct Source<'s> {
    file: &'s Bytes,
    folder: &'s Path,
}

impl Source<'_> {
    fn read(
        &self,
        tensor: &str,
        dtype: DataType,
        shape: &Shape,
        stored: &WeightRef,
    ) -> Result<Option<Vec<u8>>, PayloadError> {
        let encoding = |what: &str| PayloadError::Encoding {
            tensor: tensor.to_owned(),
            what: what.to_owned(),
        };
        let needed = shape
            .bytes(dtype)
            .ok_or_else(|| encoding("its size overflows"))?
            .count();
        match stored {
            WeightRef::Inline { offset, length } => {
                let bytes = part(self.file, *offset, *length)
                    .filter(|bytes| bytes.len() as u64 == needed)
                    .ok_or_else(|| encoding("its elements do not fill its shape"))?;
                Ok(Some(bytes.to_vec()))
            }
            WeightRef::Varints { offset, length } => {
                let bytes = part(self.file, *offset, *length)
                    .ok_or_else(|| encoding("its elements do not fill its shape"))?;
                let width = usize::try_from(dtype.bits().div_ceil(8)).unwrap_or(usize::MAX);
                decoded(bytes, width, needed)
                    .map(Some)
                    .ok_or_else(|| encoding("its elements do not fill its shape"))
            }
            WeightRef::External {
                location, offset, ..
            } => self.external(tensor, location, *offset, needed).map(Some),
            WeightRef::Generated => Ok(None),
        }
    }

    fn external(
        &self,
        tensor: &str,
        location: &str,
        offset: u64,
        needed: u64,
    ) -> Result<Vec<u8>, PayloadError> {
        if needed == 0 {
            return Ok(Vec::new());
        }
        let path = self.folder.join(location);
        let map = file::map(&path).map_err(|source| PayloadError::External {
            tensor: tensor.to_owned(),
            needed,
            source,
        })?;
        let bytes = part(&map, offset, needed).ok_or_else(|| PayloadError::TooShort {
            tensor: tensor.to_owned(),
            path,
            offset,
            needed,
            found: map.len() as u64,
        })?;
        Ok(bytes.to_vec())
    }
}

fn part(file: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    file.get(start..end)
}

/// Variable-length integers as elements of `width` bytes, `needed` bytes in all.
fn decoded(bytes: &[u8], width: usize, needed: u64) -> Option<Vec<u8>> {
    const LONGEST: usize = 8;
    if width > LONGEST {
        return None;
    }
    let mut elements = Vec::new();
    let mut position = 0;
    while position < bytes.len() {
        let (value, next) = varint(bytes, position, bytes.len())?;
        elements.extend_from_slice(&value.to_le_bytes()[..width]);
        position = next;
    }
    (elements.len() as u64 == needed).then_some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::onnx::wire::StringStringEntryProto;

    fn read(tensor: &TensorProto, folder: &Path) -> Result<TensorFile, PayloadError> {
        read_tensor(&Bytes::from(tensor.encode_to_vec()), folder)
    }

    fn external(folder: &Path, offset: u64, dims: Vec<i64>) -> Result<TensorFile, PayloadError> {
        let entry = |key: &str, value: String| StringStringEntryProto {
            key: key.to_owned(),
            value,
        };
        let tensor = TensorProto {
            name: "w".to_owned(),
            dims,
            data_type: 1,
            data_location: 1,
            external_data: vec![
                entry("location", "w.bin".to_owned()),
                entry("offset", offset.to_string()),
            ],
            ..TensorProto::default()
        };
        read(&tensor, folder)
    }

    #[test]
    fn packed_integers_become_elements_of_their_type() {
        let tensor = TensorProto {
            dims: vec![2],
            data_type: 6,
            int32_data: vec![Bytes::from_static(
                b"\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            )],
            ..TensorProto::default()
        };
        let read = read(&tensor, Path::new("")).unwrap();
        assert_eq!(read.bytes, b"\x03\0\0\0\xff\xff\xff\xff");
    }

    #[test]
    fn external_data_that_is_missing_or_short_names_file_and_length() {
        let folder = std::env::temp_dir().join(format!("stored-bytes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let missing = external(&folder, 0, vec![4]).unwrap_err();
        assert_eq!(missing.to_string(), "`w` needs 16 bytes of external data");
        std::fs::write(folder.join("w.bin"), [7u8; 20]).unwrap();
        assert_eq!(external(&folder, 4, vec![4]).unwrap().bytes, [7u8; 16]);
        let short = external(&folder, 8, vec![4]).unwrap_err().to_string();
        assert!(
            short.contains("w.bin: `w` needs 16 bytes from byte 8 on"),
            "{short}"
        );
        assert!(short.contains("the file has 20"), "{short}");
        // Nothing is allocated for what cannot be there.
        assert!(external(&folder, 0, vec![1 << 40]).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn bytes_that_are_no_tensor_are_refused() {
        let refused = read_tensor(&Bytes::from_static(b"\x0b\x0c"), Path::new(""));
        assert!(matches!(refused, Err(PayloadError::Decode(_))));
    }
}
