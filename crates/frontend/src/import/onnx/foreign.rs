//! What a file is that is no ONNX model: most often somebody has the right model in another format, or half of a download.
//!
//! Asked only when decoding has failed, so no model is ever taken for something else.

/// A file format, and what its owner can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Its name with an article.
    pub name: &'static str,
    /// The way from there to a model that can be read.
    pub remedy: &'static str,
}

const PYTORCH: Format = Format {
    name: "a PyTorch file",
    remedy: "load it in Python and export the model with torch.onnx.export",
};

/// Formats by what their files start with, and the offset of that.
const MAGIC: &[(usize, &[u8], Format)] = &[
    (
        0,
        b"version https://git-lfs",
        Format {
            name: "a Git LFS pointer",
            remedy: "fetch the file itself with git lfs pull",
        },
    ),
    (
        4,
        b"TFL3",
        Format {
            name: "a TensorFlow Lite model",
            remedy: "convert it with tf2onnx (python -m tf2onnx.convert --tflite FILE)",
        },
    ),
    (
        4,
        b"ORTM",
        Format {
            name: "an ONNX Runtime file (.ort)",
            remedy: "give the ONNX file that it was made from",
        },
    ),
    (
        0,
        b"\x89HDF\r\n\x1a\n",
        Format {
            name: "an HDF5 file, such as Keras writes",
            remedy: FROM_KERAS,
        },
    ),
    (
        0,
        b"GGUF",
        Format {
            name: "a GGUF file",
            remedy: "it holds weights and no network; export the model that it was made from as ONNX",
        },
    ),
    (
        0,
        b"\x93NUMPY",
        Format {
            name: "a NumPy array",
            remedy: "give the model, not its data",
        },
    ),
    (0, b"\x1f\x8b", COMPRESSED),
    (0, b"\xfd7zXZ\0", COMPRESSED),
    (0, b"\x28\xb5\x2f\xfd", COMPRESSED),
    (0, b"BZh", COMPRESSED),
    (0, b"7z\xbc\xaf\x27\x1c", COMPRESSED),
    (
        257,
        b"ustar",
        Format {
            name: "a tar archive",
            remedy: "unpack it and give the model inside",
        },
    ),
    // Pickles of protocols 2 to 5, which older versions of PyTorch wrote without an archive.
    (0, b"\x80\x02", PYTORCH),
    (0, b"\x80\x03", PYTORCH),
    (0, b"\x80\x04", PYTORCH),
    (0, b"\x80\x05", PYTORCH),
];

const FROM_KERAS: &str =
    "load it in Keras and export it as ONNX (model.export(FILE, format=\"onnx\"))";

const KERAS: Format = Format {
    name: "a Keras file",
    remedy: FROM_KERAS,
};

const COMPRESSED: Format = Format {
    name: "a compressed file",
    remedy: "decompress it first",
};

/// How much of a file is looked at.
const LOOKED_AT: usize = 512;

/// The format of `bytes`, which are no ONNX model; `None` if it is not a well-known one.
pub(super) fn format(bytes: &[u8]) -> Option<Format> {
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let starts = |&&(offset, magic, _): &&(usize, &[u8], Format)| {
        head.get(offset..)
            .is_some_and(|rest| rest.starts_with(magic))
    };
    if let Some((_, _, format)) = MAGIC.iter().find(starts) {
        return Some(*format);
    }
    if head.starts_with(b"PK\x03\x04") {
        return Some(archive(head));
    }
    if is_safetensors(bytes) {
        return Some(Format {
            name: "a safetensors file",
            remedy: "it holds weights and no network; export the model that it belongs to as ONNX",
        });
    }
    text(head)
}

/// `PyTorch` and Keras put several files into a zip archive; the name of the first one tells which.
fn archive(head: &[u8]) -> Format {
    const KINDS: [(&[&[u8]], Format); 2] = [
        (
            &[b"data.pkl", b"/version", b".data/", b"/byteorder"],
            PYTORCH,
        ),
        (&[b"metadata.json", b"config.json"], KERAS),
    ];
    let holds = |word: &&[u8]| head.windows(word.len()).any(|part| part == *word);
    let known = KINDS
        .iter()
        .find(|(words, _)| words.iter().any(holds))
        .map(|(_, format)| *format);
    known.unwrap_or(Format {
        name: "a zip archive",
        remedy: "unpack it and give the model inside",
    })
}

/// The length of a JSON header, then that header.
fn is_safetensors(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return false;
    };
    rest.first() == Some(&b'{') && u64::from_le_bytes(*length) <= rest.len() as u64
}

fn text(head: &[u8]) -> Option<Format> {
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_markup = |tag: &str| {
        text.get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag))
    };
    if is_markup("<!doctype html") || is_markup("<html") {
        return Some(Format {
            name: "a web page",
            remedy: "the download went wrong: the address leads to a page about the model",
        });
    }
    if is_markup("<?xml") {
        return Some(Format {
            name: "an XML file, such as OpenVINO writes",
            remedy: "give the ONNX file that it was made from",
        });
    }
    let is_text_format =
        text.starts_with("ir_version:") || (text.starts_with('<') && text.contains("ir_version"));
    if is_text_format {
        return Some(Format {
            name: "an ONNX model in text form",
            remedy: "make a binary file of it with onnx.parser.parse_model or google.protobuf.text_format, and onnx.save",
        });
    }
    text.starts_with('{').then_some(Format {
        name: "a JSON file",
        remedy: "give the model as an ONNX file",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(bytes: &[u8]) -> &'static str {
        format(bytes).map_or("", |format| format.name)
    }

    #[test]
    fn usual_mistakes_are_told_apart() {
        let mut tar = vec![b'a'; 257];
        tar.extend(b"ustar\0");
        let zip = |entry: &[u8]| [b"PK\x03\x04".as_slice(), &[0; 26], entry].concat();
        let cases: [(&[u8], &str); 14] = [
            (&zip(b"resnet/data.pkl"), "a PyTorch file"),
            (
                b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.",
                "a PyTorch file",
            ),
            (&zip(b"metadata.json"), "a Keras file"),
            (&zip(b"model.onnx"), "a zip archive"),
            (b"\x1f\x8b\x08\0\0\0\0\0", "a compressed file"),
            (&tar, "a tar archive"),
            (b"\x1c\0\0\0TFL3\x14\0", "a TensorFlow Lite model"),
            (b"\x02\0\0\0\0\0\0\0{}", "a safetensors file"),
            (b" {\"nodes\": []}", "a JSON file"),
            (b"\n<!DOCTYPE HTML><html>", "a web page"),
            (
                b"version https://git-lfs.github.com/spec/v1\n",
                "a Git LFS pointer",
            ),
            (
                b"<\n  ir_version: 8\n>\nagraph (float[N] x) => ",
                "an ONNX model in text form",
            ),
            (b"ir_version: 8\ngraph {", "an ONNX model in text form"),
            (b"\x89HDF\r\n\x1a\n\0", "an HDF5 file, such as Keras writes"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(named(bytes), expected);
        }
    }

    #[test]
    fn what_is_nothing_in_particular_is_called_nothing() {
        for bytes in [&b""[..], b"P", b"# a note\n", b"\x08\x07\x12", &[0; 64]] {
            assert_eq!(format(bytes), None);
        }
    }
}
