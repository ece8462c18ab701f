//! Profiles as text that people read and change: what fits on a line is on one.

use std::fmt::Write;

use serde_json::{Value, json};

use super::file::SocFile;

const WIDTH: usize = 160;

/// The profile as text, with a line break at the end: the same profile gives the same bytes.
///
/// # Panics
/// Never: a profile holds only strings, finite numbers, lists and objects with string keys.
pub fn profile_text(file: &SocFile) -> String {
    let mut value = serde_json::to_value(file)
        .expect("a profile holds strings, finite numbers, lists and objects with string keys");
    spell_out(&mut value);
    let mut text = String::new();
    write_value(&value, 0, 0, &mut text);
    text.push('\n');
    text
}

/// A point that is given in full says so even where it has no time model, as on a chip for kernels whose costs are measured.
fn spell_out(profile: &mut Value) {
    let processors = profile["processors"].as_array_mut();
    for processor in processors.into_iter().flatten() {
        let points = processor["operating_points"].as_array_mut();
        for point in points
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            if !point.contains_key("like") {
                for (key, empty) in [("dynamic_w", json!({})), ("models", json!([]))] {
                    point.entry(key).or_insert(empty);
                }
            }
        }
    }
}

/// Writes a value that starts at `column` and whose lines are indented by `indent`; the depth is that of the types.
fn write_value(value: &Value, indent: usize, column: usize, text: &mut String) {
    let line = one_line(value);
    if column + line.len() <= WIDTH {
        text.push_str(&line);
        return;
    }
    let inner = indent + 2;
    let pad = " ".repeat(inner);
    match value {
        Value::Object(map) => {
            text.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                let key = Value::from(key.as_str());
                let start = format!("{}\n{pad}{key}: ", if index > 0 { "," } else { "" });
                text.push_str(&start);
                write_value(value, inner, start.len(), text);
            }
            let _ = write!(text, "\n{}}}", " ".repeat(indent));
        }
        Value::Array(list) => {
            text.push('[');
            for (index, value) in list.iter().enumerate() {
                let _ = write!(text, "{}\n{pad}", if index > 0 { "," } else { "" });
                write_value(value, inner, inner, text);
            }
            let _ = write!(text, "\n{}]", " ".repeat(indent));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text.push_str(&line),
    }
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let fields: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), one_line(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(list) => {
            let elements: Vec<String> = list.iter().map(one_line).collect();
            format!("[{}]", elements.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soc::Soc;

    #[test]
    fn the_text_of_a_profile_is_the_profile() {
        let text = Soc::builtin_text("vim3").unwrap();
        let file: SocFile = serde_json::from_str(text).unwrap();
        let written = profile_text(&file);
        assert_eq!(serde_json::from_str::<SocFile>(&written).unwrap(), file);
        assert!(written.lines().count() > 100);
        let longest = written.lines().map(str::len).max().unwrap();
        // A note is never broken.
        assert!(longest < 500, "{longest}");
    }
}
