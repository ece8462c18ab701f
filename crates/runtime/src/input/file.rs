//! Tensor files by their names.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use paracompile_frontend::import::onnx;
use paracompile_frontend::ir::DataType;

use super::npy;
use super::tensor::HostTensor;

/// A tensor file that cannot be read: the user's fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorFileError {
    /// It cannot be read at all.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what its name says.
    #[error("{}: {what}", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Its name says nothing.
    #[error("{}: expected a file named .npy or .pb", .path.display())]
    Name {
        /// The file.
        path: PathBuf,
    },
}

/// Reads a `.npy` file, or a tensor of ONNX in a `.pb` file.
///
/// More than `most_bytes` is no content that anybody asked for, and is not read.
pub fn read_tensor(path: &Path, most_bytes: u64) -> Result<HostTensor, TensorFileError> {
    /// Headers and the encoding of integers.
    const SLACK: u64 = 1 << 16;
    let extension = path.extension().and_then(|extension| extension.to_str());
    let is_npy = match extension {
        Some("npy") => true,
        Some("pb") => false,
        Some(_) | None => {
            return Err(TensorFileError::Name {
                path: path.to_owned(),
            });
        }
    };
    let io = |source| TensorFileError::Io {
        path: path.to_owned(),
        source,
    };
    let content = |what| TensorFileError::Content {
        path: path.to_owned(),
        what,
    };
    let most = most_bytes.saturating_mul(3).saturating_add(SLACK);
    let mut bytes = Vec::new();
    // Asked before opening: a pipe that nobody writes to would block there for ever.
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(content("it is not a regular file".to_owned()));
    }
    let file = File::open(path).map_err(io)?;
    file.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() as u64 > most {
        return Err(content(format!(
            "it is much larger than the {most_bytes} bytes that are expected"
        )));
    }
    let mut tensor = if is_npy {
        npy::read(&bytes).map_err(content)?
    } else {
        let folder = path.parent().unwrap_or(Path::new(""));
        let tensor = onnx::read_tensor(&Bytes::from(bytes), folder);
        let tensor = tensor.map_err(|error| content(error.to_string()))?;
        HostTensor {
            dtype: tensor.dtype,
            shape: tensor.shape,
            bytes: tensor.bytes,
        }
    };
    // NumPy takes any byte but zero as true; kernels compute with zero and one.
    if tensor.dtype == DataType::Bool {
        for byte in &mut tensor.bytes {
            *byte = u8::from(*byte != 0);
        }
    }
    Ok(tensor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_byte_but_zero_is_true() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let mut header = b"{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }\n".to_vec();
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        file.append(&mut header);
        file.extend([0, 1, 2, 255]);
        std::fs::write(&path, file).unwrap();
        assert_eq!(read_tensor(&path, 4).unwrap().bytes, [0, 1, 1, 1]);
    }
}
