//! Reading JSON values with their places, forgiving what PySchedCL forgives: numbers as strings, and lists left out.
//!
//! Of repeated keys the last one counts, as in Python's `json`.

use serde_json::{Map, Value};

use super::error::{Defect, KernelsError, Problems, shown};
use super::graph::Device;
use super::limits;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct At<'a> {
    pub(super) value: &'a Value,
    /// The file or kernel.
    pub(super) whose: String,
    /// The path in it, such as `inputBuffers[1].size`.
    pub(super) path: String,
}

/// The JSON value of a text.
pub(super) fn parse(text: &str) -> Result<Value, (usize, usize, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str(text).map_err(|wrong| {
        let told = wrong.to_string();
        let message = told
            .rsplit_once(" at line ")
            .map_or(told.as_str(), |(message, _)| message);
        (wrong.line(), wrong.column(), message.to_owned())
    })
}

/// The same, for the specification itself.
pub(super) fn parse_file(text: &str) -> Result<Value, KernelsError> {
    parse(text).map_err(|(line, column, message)| KernelsError::Syntax {
        line,
        column,
        message,
    })
}

impl<'a> At<'a> {
    pub(super) fn new(value: &'a Value, whose: impl Into<String>) -> Self {
        Self {
            value,
            whose: whose.into(),
            path: String::new(),
        }
    }

    pub(super) fn place(&self) -> String {
        match (self.whose.is_empty(), self.path.is_empty()) {
            (true, _) => self.path.clone(),
            (false, true) => self.whose.clone(),
            (false, false) => format!("{}, {}", self.whose, self.path),
        }
    }

    fn join(&self, key: &str) -> String {
        let key = shown(key);
        if self.path.is_empty() {
            key
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// The field, unless it is absent or null.
    pub(super) fn optional(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Self {
            value,
            whose: self.whose.clone(),
            path: self.join(key),
        })
    }

    pub(super) fn field(&self, key: &str, problems: &mut Problems) -> Option<Self> {
        self.object(problems)?;
        let found = self.optional(key);
        if found.is_none() {
            let missing = Self {
                path: self.join(key),
                ..self.clone()
            };
            problems.push(missing.place(), Defect::Missing);
        }
        found
    }

    pub(super) fn object(&self, problems: &mut Problems) -> Option<&'a Map<String, Value>> {
        let object = self.value.as_object();
        if object.is_none() {
            self.wrong(problems, "an object");
        }
        object
    }

    /// The entries of an object, in the order of their keys.
    pub(super) fn entries(&self, most: usize, problems: &mut Problems) -> Vec<(&'a str, Self)> {
        let Some(object) = self.object(problems) else {
            return Vec::new();
        };
        self.limit(object.len(), most, problems);
        let mut entries: Vec<_> = object
            .iter()
            .take(most)
            .map(|(key, value)| {
                let path = self.join(key);
                (
                    key.as_str(),
                    Self {
                        value,
                        whose: self.whose.clone(),
                        path,
                    },
                )
            })
            .collect();
        entries.sort_by_key(|&(key, _)| key);
        entries
    }

    /// The elements of a list.
    pub(super) fn elements(&self, most: usize, problems: &mut Problems) -> Vec<Self> {
        let Some(list) = self.value.as_array() else {
            self.wrong(problems, "a list");
            return Vec::new();
        };
        self.limit(list.len(), most, problems);
        let elements = list.iter().take(most).enumerate();
        elements
            .map(|(index, value)| Self {
                value,
                whose: self.whose.clone(),
                path: format!("{}[{index}]", self.path),
            })
            .collect()
    }

    /// The elements of a list that may be left out.
    pub(super) fn list(&self, key: &str, most: usize, problems: &mut Problems) -> Vec<Self> {
        match self.optional(key) {
            Some(list) => list.elements(most, problems),
            None => Vec::new(),
        }
    }

    fn limit(&self, found: usize, most: usize, problems: &mut Problems) {
        if found > most {
            problems.push(self.place(), Defect::TooMany { found, most });
        }
    }

    pub(super) fn text(&self, problems: &mut Problems) -> Option<&'a str> {
        let text = self.value.as_str();
        match text {
            None => self.wrong(problems, "a string"),
            Some(text) if text.len() > limits::TEXT => {
                problems.push(
                    self.place(),
                    Defect::TooMany {
                        found: text.len(),
                        most: limits::TEXT,
                    },
                );
                return None;
            }
            Some(_) => {}
        }
        text
    }

    pub(super) fn text_field(&self, key: &str, problems: &mut Problems) -> Option<&'a str> {
        self.field(key, problems)?.text(problems)
    }

    /// An expression: a string, or a number as its text.
    pub(super) fn expression(&self, problems: &mut Problems) -> Option<String> {
        if let Value::Number(number) = self.value {
            return Some(number.to_string());
        }
        if self.value.is_string() {
            return self.text(problems).map(|text| text.trim().to_owned());
        }
        self.wrong(problems, "a number or an expression");
        None
    }

    /// A whole number, or one as a string.
    pub(super) fn count(&self, most: u64, problems: &mut Problems) -> Option<u64> {
        let found = match self.value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                self.wrong(problems, "a whole number");
                return None;
            }
        };
        if found.is_none_or(|found| found > most) {
            let text = self.value.as_str().map(shown);
            let text = text.unwrap_or_else(|| shown(&self.value.to_string()));
            let defect = Defect::Range {
                value: text.clone(),
                text,
                least: "0".to_owned(),
                most: most.to_string(),
            };
            problems.push(self.place(), defect);
            return None;
        }
        found
    }

    /// An id: a string, or a number as its text.
    pub(super) fn id(&self, problems: &mut Problems) -> Option<String> {
        let id = match self.value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.clone(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                self.wrong(problems, "an id");
                return None;
            }
        };
        if !is_id(&id) {
            problems.push(self.place(), Defect::Id(shown(&id)));
            return None;
        }
        Some(id)
    }

    /// A device: its name, or PySchedCL's tenths of work for the GPU, of which those in between prefer none.
    pub(super) fn device(&self, problems: &mut Problems) -> Option<Device> {
        let is_word = self
            .value
            .as_str()
            .is_some_and(|text| text.trim().parse::<u64>().is_err());
        if is_word {
            let word = self.text(problems)?;
            return match word.to_ascii_lowercase().as_str() {
                "cpu" => Some(Device::Cpu),
                "gpu" => Some(Device::Gpu),
                _ => {
                    let expected = "cpu or gpu";
                    problems.push(
                        self.place(),
                        Defect::Word {
                            expected,
                            found: shown(word),
                        },
                    );
                    None
                }
            };
        }
        match self.count(10, problems)? {
            0 => Some(Device::Cpu),
            10 => Some(Device::Gpu),
            _ => None,
        }
    }

    pub(super) fn wrong(&self, problems: &mut Problems, expected: &'static str) {
        let found = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a truth value",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        problems.push(self.place(), Defect::Type { expected, found });
    }
}

/// Whether a text can be the id of a kernel: it stands between spaces and arrows in the symbolic form, and at the start of a file.
pub(super) fn is_id(text: &str) -> bool {
    let first = text.chars().next();
    text.len() <= 128
        && first.is_some_and(|c| c.is_alphanumeric() || c == '_')
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || c.is_ascii_punctuation())
        && !text.contains("->")
}

/// Whether a text is an identifier of C.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes.next();
    text.len() <= 256
        && first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a text names a file in a folder, and cannot lead out of it.
pub(super) fn is_file_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && text != "."
        && text != ".."
        && text
            .chars()
            .all(|c| !matches!(c, '/' | '\\' | ':') && !c.is_control())
}
