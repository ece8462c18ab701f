//! Reading a JSON value while keeping its path and every problem met on the way.
//!
//! A part that cannot be read gives `None` and one problem; whoever needs the part stops there quietly, so that one mistake is reported once.

use paracompile_plan::plan::Source;
use serde_json::{Map, Value};

use super::near::near_matches;
use super::{Defect, Problem};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct At<'a> {
    pub(crate) value: &'a Value,
    pub(crate) path: String,
}

impl<'a> At<'a> {
    pub(crate) fn root(value: &'a Value) -> Self {
        Self {
            value,
            path: String::new(),
        }
    }

    /// The field, or `None` if it is absent or this is no object.
    pub(crate) fn optional(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key)?;
        Some(Self {
            value,
            path: join(&self.path, key),
        })
    }
}

/// A number and where it comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sourced {
    pub(crate) value: f64,
    pub(crate) source: Source,
}

/// What has been seen so far.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) problems: Vec<Problem>,
    /// Whether a number comes from somewhere.
    pub(crate) grounded: bool,
}

impl Reading {
    pub(crate) fn report(&mut self, at: &At<'_>, defect: Defect) {
        self.report_at(at.path.clone(), defect);
    }

    pub(crate) fn report_at(&mut self, at: String, defect: Defect) {
        self.problems.push(Problem { at, defect });
    }

    /// Whether the fields mean what the caller thinks; a file without the number is read on, so that all its problems are found.
    pub(crate) fn is_schema_1(&mut self, at: &At<'_>) -> bool {
        let Some(field) = self.field(at, "schema") else {
            return true;
        };
        let right = field.value.as_u64() == Some(1);
        if !right {
            let found = super::near::shown(&field.value.to_string());
            self.report(&field, Defect::Schema(found));
        }
        right
    }

    /// A field that must be there.
    pub(crate) fn field<'a>(&mut self, at: &At<'a>, key: &str) -> Option<At<'a>> {
        self.object(at)?;
        let found = at.optional(key);
        if found.is_none() {
            self.report_at(join(&at.path, key), Defect::Missing);
        }
        found
    }

    pub(crate) fn object<'a>(&mut self, at: &At<'a>) -> Option<&'a Map<String, Value>> {
        let object = at.value.as_object();
        if object.is_none() {
            self.wrong_type(at, "an object");
        }
        object
    }

    /// The entries of an object, in the order of the file.
    pub(crate) fn entries<'a>(&mut self, at: &At<'a>, most: usize) -> Vec<(&'a str, At<'a>)> {
        let Some(object) = self.object(at) else {
            return Vec::new();
        };
        self.limit(at, object.len(), most);
        object
            .iter()
            .take(most)
            .map(|(key, value)| {
                let path = join(&at.path, key);
                (key.as_str(), At { value, path })
            })
            .collect()
    }

    /// The elements of a list field; too long a list is reported and cut, because later steps compare elements with each other.
    pub(crate) fn list<'a>(&mut self, at: &At<'a>, key: &str, most: usize) -> Option<Vec<At<'a>>> {
        let field = self.field(at, key)?;
        self.elements(&field, most)
    }

    /// The same, for a list that is an element itself.
    pub(crate) fn elements<'a>(&mut self, at: &At<'a>, most: usize) -> Option<Vec<At<'a>>> {
        let Some(list) = at.value.as_array() else {
            self.wrong_type(at, "a list");
            return None;
        };
        self.limit(at, list.len(), most);
        Some(
            list.iter()
                .take(most)
                .enumerate()
                .map(|(index, value)| At {
                    value,
                    path: format!("{}[{index}]", at.path),
                })
                .collect(),
        )
    }

    /// The same, for a list that needs an element.
    pub(crate) fn some_of<'a>(
        &mut self,
        at: &At<'a>,
        key: &str,
        most: usize,
        what: &'static str,
    ) -> Option<Vec<At<'a>>> {
        let list = self.list(at, key, most)?;
        if list.is_empty() {
            self.report_at(join(&at.path, key), Defect::Empty(what));
        }
        Some(list)
    }

    pub(crate) fn text<'a>(&mut self, at: &At<'a>) -> Option<&'a str> {
        let text = at.value.as_str();
        if text.is_none() {
            self.wrong_type(at, "a string");
        }
        text
    }

    /// A name that may become part of a file name.
    pub(crate) fn name_field<'a>(&mut self, at: &At<'a>, key: &str) -> Option<&'a str> {
        let field = self.field(at, key)?;
        let name = self.text(&field)?;
        if !is_safe(name) {
            self.report(&field, Defect::UnsafeName(name.to_owned()));
            return None;
        }
        Some(name)
    }

    /// A word of a closed vocabulary.
    pub(crate) fn word<T: Copy>(
        &mut self,
        at: &At<'_>,
        what: &'static str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let word = self.text(at)?;
        let found = words.iter().find(|(known, _)| *known == word);
        if found.is_none() {
            self.unknown(at, what, word, words.iter().map(|(known, _)| *known));
        }
        found.map(|&(_, meaning)| meaning)
    }

    pub(crate) fn word_field<T: Copy>(
        &mut self,
        at: &At<'_>,
        key: &str,
        what: &'static str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let field = self.field(at, key)?;
        self.word(&field, what, words)
    }

    pub(crate) fn unknown<'k>(
        &mut self,
        at: &At<'_>,
        what: &'static str,
        word: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) {
        let defect = Defect::Unknown {
            what,
            word: word.to_owned(),
            near: near_matches(word, known.clone()),
            known: known.map(str::to_owned).collect(),
        };
        self.report(at, defect);
    }

    /// The source that an entry states for its plain numbers.
    pub(crate) fn source_of(&mut self, at: &At<'_>) -> Source {
        self.note(at);
        at.optional("source")
            .and_then(|source| self.source(&source))
            .unwrap_or(Source::Assumed)
    }

    /// A note says nothing to us, but other readers of the file take it as text.
    fn note(&mut self, at: &At<'_>) {
        if let Some(note) = at.optional("note").filter(|note| !note.value.is_null()) {
            self.text(&note);
        }
    }

    pub(crate) fn number_field(
        &mut self,
        at: &At<'_>,
        key: &str,
        inherited: Source,
        range: (f64, f64),
    ) -> Option<Sourced> {
        let field = self.field(at, key)?;
        self.number(&field, inherited, range)
    }

    /// A number, plain or with its source, from `range.0` to `range.1`.
    pub(crate) fn number(
        &mut self,
        at: &At<'_>,
        inherited: Source,
        (least, most): (f64, f64),
    ) -> Option<Sourced> {
        let (number, source) = if at.value.is_object() {
            let number = self.field(at, "value");
            let source = self.field(at, "source");
            self.note(at);
            (number?, self.source(&source?)?)
        } else {
            (at.clone(), inherited)
        };
        let Some(value) = number.value.as_f64() else {
            self.wrong_type(&number, "a number");
            return None;
        };
        if !(least..=most).contains(&value) {
            self.report(&number, Defect::OutOfRange { value, least, most });
            return None;
        }
        self.grounded |= source != Source::Assumed;
        Some(Sourced { value, source })
    }

    /// A number that has no source of its own.
    pub(crate) fn plain_number(&mut self, at: &At<'_>, range: (f64, f64)) -> Option<f64> {
        if at.value.is_object() {
            self.wrong_type(at, "a number");
            return None;
        }
        Some(self.number(at, Source::Assumed, range)?.value)
    }

    /// A whole number.
    pub(crate) fn count(&mut self, at: &At<'_>, range: (f64, f64)) -> Option<u64> {
        let number = self.number(at, Source::Assumed, range)?.value;
        if number.fract() > 0.0 {
            self.report(at, Defect::NotWhole(number));
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "every range of a count lies within 0 to 2^53, and the fraction is zero"
        )]
        Some(number as u64)
    }

    pub(crate) fn source(&mut self, at: &At<'_>) -> Option<Source> {
        self.word(
            at,
            "source",
            &[
                ("measured", Source::Measured),
                ("fitted", Source::Fitted),
                ("estimated", Source::Estimated),
                ("borrowed", Source::Borrowed),
                ("assumed", Source::Assumed),
            ],
        )
    }

    fn limit(&mut self, at: &At<'_>, found: usize, most: usize) {
        if found > most {
            self.report(at, Defect::TooMany { found, most });
        }
    }

    fn wrong_type(&mut self, at: &At<'_>, expected: &'static str) {
        let found = match at.value {
            Value::Null => "null",
            Value::Bool(_) => "a truth value",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.report(at, Defect::WrongType { expected, found });
    }
}

/// The path of a field; keys come from the file, so they are shown harmlessly.
pub(crate) fn join(path: &str, key: &str) -> String {
    let key = super::near::shown(key);
    if path.is_empty() {
        key
    } else {
        format!("{path}.{key}")
    }
}

/// Whether a name can be part of a file name on every system.
pub(crate) fn is_safe(name: &str) -> bool {
    name.len() <= 32
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_that_lead_out_of_a_folder_are_unsafe() {
        for name in ["", "..", "a/b", "a b", "-x", "é", &"x".repeat(33)] {
            assert!(!is_safe(name), "{name}");
        }
        assert!(is_safe("A73-big_0.1"));
    }

    #[test]
    fn a_number_takes_the_source_beside_it_or_that_of_its_entry() {
        let mut reading = Reading::default();
        let plain = json!(2.5);
        let number = reading.number(&At::root(&plain), Source::Borrowed, (0.0, 9.0));
        assert_eq!(number.unwrap().source, Source::Borrowed);
        let sourced = json!({"value": 3, "source": "measured"});
        let number = reading.number(&At::root(&sourced), Source::Borrowed, (0.0, 9.0));
        assert_eq!(number.unwrap().source, Source::Measured);
        assert!(reading.problems.is_empty());
    }

    #[test]
    fn a_sourced_number_without_value_and_source_is_two_problems() {
        let mut reading = Reading::default();
        let empty = json!({});
        assert!(
            reading
                .number(&At::root(&empty), Source::Assumed, (0.0, 1.0))
                .is_none()
        );
        let places: Vec<&str> = reading.problems.iter().map(|p| p.at.as_str()).collect();
        assert_eq!(places, ["value", "source"]);
    }
}
