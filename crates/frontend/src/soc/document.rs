//! JSON documents from files: bounded in size, and with the place of what is wrong.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use paracompile_plan::hexadecimal;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::near::shown;

/// Why there is no JSON value: the file's fault, or the system's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The file cannot be read.
    #[error("{}: cannot read the file", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The text is too long.
    #[error("{origin}: the file is larger than {limit} bytes")]
    TooLarge {
        /// File or name.
        origin: String,
        /// The largest size.
        limit: u64,
    },
    /// The text is not UTF-8.
    #[error("{origin}: the file is not UTF-8 text; the first wrong byte is at offset {offset}")]
    NotText {
        /// File or name.
        origin: String,
        /// Offset of the first wrong byte.
        offset: usize,
    },
    /// The text is not JSON; numbers that overflow and nesting that is too deep are found here too.
    #[error("{origin}:{line}:{column}: {message}")]
    Syntax {
        /// File or name.
        origin: String,
        /// Line, from one.
        line: usize,
        /// Column, from one.
        column: usize,
        /// What is wrong.
        message: String,
    },
}

/// The text of a file of at most `limit` bytes.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String, DocumentError> {
    let failed = |source| DocumentError::Read {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    // One byte more shows that there is more, without reading it all.
    File::open(path)
        .map_err(failed)?
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let origin = || path.display().to_string();
    // Before the text is looked at, because the cut may lie within a character.
    check_size(bytes.len(), limit, &origin())?;
    String::from_utf8(bytes).map_err(|wrong| DocumentError::NotText {
        origin: origin(),
        offset: wrong.utf8_error().valid_up_to(),
    })
}

/// The value that `text` of at most `limit` bytes says; `origin` is its name in messages.
pub(crate) fn parse(text: &str, limit: u64, origin: &str) -> Result<Value, DocumentError> {
    check_size(text.len(), limit, origin)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match serde_json::from_str(text) {
        Ok(Unambiguous(value)) => Ok(value),
        Err(wrong) => Err(syntax(&wrong, origin)),
    }
}

/// The parser's complaint, with the place in front as compilers tell it.
pub(crate) fn syntax(wrong: &serde_json::Error, origin: &str) -> DocumentError {
    let told = wrong.to_string();
    let message = told
        .rsplit_once(" at line ")
        .map_or(told.as_str(), |(message, _)| message);
    DocumentError::Syntax {
        origin: origin.to_owned(),
        line: wrong.line(),
        column: wrong.column(),
        message: message.to_owned(),
    }
}

/// A value in which no object has a key twice: readers differ in which of both counts, so neither may.
struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UnambiguousVisitor).map(Self)
    }
}

struct UnambiguousVisitor;

impl<'de> Visitor<'de> for UnambiguousVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unambiguous(value)) = seq.next_element()? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!(
                    "the key `{}` appears twice in one object; remove one",
                    shown(&key)
                )));
            }
            let Unambiguous(value) = map.next_value()?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn check_size(length: usize, limit: u64, origin: &str) -> Result<(), DocumentError> {
    if u64::try_from(length).is_ok_and(|length| length <= limit) {
        Ok(())
    } else {
        Err(DocumentError::TooLarge {
            origin: origin.to_owned(),
            limit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_standard_s() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            sha256_hex(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn syntax_errors_tell_line_and_column() {
        let error = parse("{\n  \"a\": ]\n}", 100, "x.json").unwrap_err();
        assert_eq!(error.to_string(), "x.json:2:8: expected value");
    }

    #[test]
    fn a_key_that_appears_twice_is_refused_at_its_place() {
        let error = parse("{\"a\": [{\n  \"b\": 1, \"b\": 1}]}", 100, "x.json").unwrap_err();
        assert_eq!(
            error.to_string(),
            "x.json:2:13: the key `b` appears twice in one object; remove one"
        );
        let text = r#"{"a": {"b": [1, -2, 2.5, "x", true, null]}, "b": {}}"#;
        let value = parse(text, 100, "x.json").unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn numbers_that_overflow_are_refused_at_their_place() {
        let error = parse("[1e999]", 100, "x.json").unwrap_err();
        assert!(error.to_string().starts_with("x.json:1:"), "{error}");
        assert!(error.to_string().contains("out of range"), "{error}");
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let error = parse(&"[".repeat(100_000), 1 << 20, "deep").unwrap_err();
        assert!(error.to_string().contains("recursion limit"), "{error}");
    }

    #[test]
    fn files_are_read_no_further_than_the_limit() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "é".repeat(10)).unwrap();
        let error = read_text(file.path(), 9).unwrap_err();
        assert!(matches!(error, DocumentError::TooLarge { limit: 9, .. }));
        std::fs::write(file.path(), b"ab\xff").unwrap();
        let error = read_text(file.path(), 9).unwrap_err();
        assert!(matches!(error, DocumentError::NotText { offset: 2, .. }));
        let error = read_text(Path::new("/nonexistent/x.json"), 9).unwrap_err();
        assert!(matches!(error, DocumentError::Read { .. }));
    }
}
