//! Instance files: what scheduling people exchange, read as it is.
//!
//! Four forms, told apart by their keys:
//! `{n, m, t, edges, comm}` with a table of delays an edge, `-1` or `null` where a processor does not support an operator;
//! `{tasks, edges}` with one delay an edge, `[from, to, delay]`;
//! `{computation_cost, edges}` as in the textbook examples, with operators counted from one;
//! and collections, `{instances: [...]}` or an object of named instances.
//! Everything else in them is ignored.

use serde_json::{Map, Number, Value};

use super::instance::{Delays, Edge, Instance, InstanceFault};
use super::number::Decimals;

/// Why a file holds no instance.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// None of the forms.
    #[error(
        "{place}: no instance: expected {{tasks, edges}}, {{t, edges, comm}}, {{computation_cost, edges}} or {{instances}}"
    )]
    Form {
        /// Where it should be.
        place: String,
    },
    /// A value that is not what its place asks for.
    #[error("{place}: expected {expected}")]
    Value {
        /// Where it is, as in `edges[3]`.
        place: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// Several instances, and none was chosen.
    #[error("{} instances and none chosen", names.len())]
    Unchosen {
        /// Their names.
        names: Vec<String>,
    },
    /// The chosen one is not there.
    #[error("no instance `{name}`")]
    Unknown {
        /// The chosen name.
        name: String,
        /// Those that there are.
        names: Vec<String>,
    },
    /// Two with the chosen name.
    #[error("two instances with the name `{name}`")]
    Ambiguous {
        /// The name.
        name: String,
    },
    /// Its numbers do not fit together.
    #[error("{name}: {fault}")]
    Instance {
        /// Its name.
        name: String,
        /// What does not fit.
        fault: InstanceFault,
    },
}

/// The instance in `text`; of several the one that is `chosen`. `name` is that of one that has none, such as the file's.
pub fn read(text: &str, name: &str, chosen: Option<&str>) -> Result<Instance, DocumentError> {
    let value: Value = serde_json::from_str(text)?;
    let Value::Object(root) = &value else {
        return Err(form("the file"));
    };
    let found = if is_instance(root) {
        let own = named(root).unwrap_or(name);
        if chosen.is_some_and(|chosen| chosen != own) {
            return Err(DocumentError::Unknown {
                name: chosen.unwrap_or_default().to_owned(),
                names: vec![own.to_owned()],
            });
        }
        (own.to_owned(), root)
    } else {
        choose(&members(root)?, chosen)?
    };
    let (name, fields) = found;
    one(name, fields)
}

type Member<'a> = (String, &'a Map<String, Value>);

/// The instances of a collection, by name.
fn members(root: &Map<String, Value>) -> Result<Vec<Member<'_>>, DocumentError> {
    let list = match root.get("instances") {
        Some(Value::Array(list)) => list
            .iter()
            .enumerate()
            .map(|(index, value)| (format!("instances[{index}]"), None, value))
            .collect(),
        Some(Value::Object(by_name)) => entries(by_name),
        Some(_) => {
            return Err(DocumentError::Value {
                place: "instances".to_owned(),
                expected: "a list or an object of instances",
            });
        }
        None => {
            let list = entries(root);
            if list.is_empty() || list.iter().any(|(_, _, value)| !is_instance_value(value)) {
                return Err(form("the file"));
            }
            list
        }
    };
    list.into_iter()
        .map(|(place, key, value)| match value {
            Value::Object(fields) if is_instance(fields) => {
                let name = named(fields).or(key).unwrap_or(&place).to_owned();
                Ok((name, fields))
            }
            Value::Object(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(DocumentError::Form { place }),
        })
        .collect()
}

type Entry<'a> = (String, Option<&'a str>, &'a Value);

fn entries(by_name: &Map<String, Value>) -> Vec<Entry<'_>> {
    by_name
        .iter()
        .map(|(key, value)| (key.clone(), Some(key.as_str()), value))
        .collect()
}

fn choose<'a>(members: &[Member<'a>], chosen: Option<&str>) -> Result<Member<'a>, DocumentError> {
    let names = || members.iter().map(|(name, _)| name.clone()).collect();
    let Some(chosen) = chosen else {
        return match members {
            [only] => Ok(only.clone()),
            _ => Err(DocumentError::Unchosen { names: names() }),
        };
    };
    let mut found = members.iter().filter(|(name, _)| name == chosen);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one.clone()),
        (Some(_), Some(_)) => Err(DocumentError::Ambiguous {
            name: chosen.to_owned(),
        }),
        (None, _) => Err(DocumentError::Unknown {
            name: chosen.to_owned(),
            names: names(),
        }),
    }
}

fn is_instance(fields: &Map<String, Value>) -> bool {
    durations_key(fields).is_some() && fields.contains_key("edges")
}

fn is_instance_value(value: &Value) -> bool {
    matches!(value, Value::Object(fields) if is_instance(fields))
}

fn durations_key(fields: &Map<String, Value>) -> Option<&'static str> {
    ["tasks", "t", "computation_cost"]
        .into_iter()
        .find(|&key| fields.contains_key(key))
}

fn named(fields: &Map<String, Value>) -> Option<&str> {
    fields.get("name").and_then(Value::as_str)
}

fn form(place: &str) -> DocumentError {
    DocumentError::Form {
        place: place.to_owned(),
    }
}

fn wrong(place: String, expected: &'static str) -> DocumentError {
    DocumentError::Value { place, expected }
}

/// An edge before its numbers are counted.
struct RawEdge<'a> {
    from: usize,
    to: usize,
    delays: RawDelays<'a>,
}

enum RawDelays<'a> {
    Uniform(&'a Number),
    Each(Vec<Vec<&'a Number>>),
}

fn one(name: String, fields: &Map<String, Value>) -> Result<Instance, DocumentError> {
    let key = durations_key(fields).ok_or_else(|| form(&name))?;
    let durations = table(&fields[key], key)?;
    let edges = raw_edges(fields, key == "computation_cost")?;
    for (count, rows) in [
        ("n", durations.len()),
        ("m", durations.first().map_or(0, Vec::len)),
    ] {
        let stated = fields.get(count).and_then(Value::as_u64);
        if stated.is_some_and(|stated| usize::try_from(stated) != Ok(rows)) {
            return Err(wrong(
                count.to_owned(),
                "the number of rows and columns of the durations",
            ));
        }
    }
    let mut decimals = Decimals::default();
    let numbers = durations.iter().flatten().flatten().copied();
    for number in numbers.chain(edges.iter().flat_map(|edge| edge.delays.numbers())) {
        decimals = decimals.with(number).ok_or_else(|| {
            wrong(
                format!("{number}"),
                "a number of at most nine decimals that is not negative",
            )
        })?;
    }
    let integer = |number: &Number| {
        decimals.to_integer(number).ok_or_else(|| {
            wrong(
                format!("{number}"),
                "a number from 0 to 2^48 in units of the last decimal",
            )
        })
    };
    let durations = durations
        .iter()
        .map(|row| {
            row.iter()
                .map(|cell| cell.map(&integer).transpose())
                .collect()
        })
        .collect::<Result<Vec<Vec<_>>, _>>()?;
    let edges = edges
        .iter()
        .map(|edge| {
            Ok(Edge {
                from: edge.from,
                to: edge.to,
                delays: match &edge.delays {
                    RawDelays::Uniform(delay) => Delays::Uniform(integer(delay)?),
                    RawDelays::Each(rows) => Delays::Each(
                        rows.iter()
                            .map(|row| row.iter().map(|cell| integer(cell)).collect())
                            .collect::<Result<_, _>>()?,
                    ),
                },
            })
        })
        .collect::<Result<Vec<Edge>, DocumentError>>()?;
    Instance::new(name.clone(), durations, edges, decimals)
        .map_err(|fault| DocumentError::Instance { name, fault })
}

impl<'a> RawDelays<'a> {
    fn numbers(&self) -> Vec<&'a Number> {
        match self {
            Self::Uniform(delay) => vec![delay],
            Self::Each(rows) => rows.iter().flatten().copied().collect(),
        }
    }
}

/// Durations; `None` where there is `null` or `-1`.
fn table<'a>(value: &'a Value, place: &str) -> Result<Vec<Vec<Option<&'a Number>>>, DocumentError> {
    let rows = list(value, place)?;
    rows.iter()
        .enumerate()
        .map(|(index, row)| {
            list(row, &format!("{place}[{index}]"))?
                .iter()
                .enumerate()
                .map(|(column, cell)| match cell {
                    Value::Null => Ok(None),
                    Value::Number(number) if number.as_i64() == Some(-1) => Ok(None),
                    Value::Number(number) => Ok(Some(number)),
                    Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                        Err(wrong(
                            format!("{place}[{index}][{column}]"),
                            "a number, or null where it is not supported",
                        ))
                    }
                })
                .collect()
        })
        .collect()
}

fn list<'a>(value: &'a Value, place: &str) -> Result<&'a Vec<Value>, DocumentError> {
    value
        .as_array()
        .ok_or_else(|| wrong(place.to_owned(), "a list"))
}

fn raw_edges(
    fields: &Map<String, Value>,
    counts_from_one: bool,
) -> Result<Vec<RawEdge<'_>>, DocumentError> {
    let edges = list(&fields["edges"], "edges")?;
    let tables = fields
        .get("comm")
        .map(|value| list(value, "comm"))
        .transpose()?;
    if tables.is_some_and(|tables| tables.len() != edges.len()) {
        return Err(wrong("comm".to_owned(), "one table of delays an edge"));
    }
    edges
        .iter()
        .enumerate()
        .map(|(index, value)| {
            let place = format!("edges[{index}]");
            let shape = "[from, to, delay], or [from, to] with a table in comm";
            let (ends, delay) = match value {
                Value::Array(items) => (items.first().zip(items.get(1)), items.get(2)),
                Value::Object(edge) => (edge.get("src").zip(edge.get("dst")), edge.get("comm")),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (None, None),
            };
            let end = |value: &Value| {
                let counted = value.as_u64().and_then(|end| usize::try_from(end).ok())?;
                counted.checked_sub(usize::from(counts_from_one))
            };
            let ends = ends.and_then(|(from, to)| end(from).zip(end(to)));
            let (from, to) = ends.ok_or_else(|| wrong(place.clone(), shape))?;
            let delays = match (tables, delay) {
                (Some(tables), None) => {
                    RawDelays::Each(delays(&tables[index], &format!("comm[{index}]"))?)
                }
                (None, Some(Value::Number(delay))) => RawDelays::Uniform(delay),
                (Some(_) | None, _) => return Err(wrong(place, shape)),
            };
            Ok(RawEdge { from, to, delays })
        })
        .collect()
}

fn delays<'a>(value: &'a Value, place: &str) -> Result<Vec<Vec<&'a Number>>, DocumentError> {
    table(value, place)?
        .into_iter()
        .map(|row| {
            row.into_iter()
                .map(|cell| {
                    cell.ok_or_else(|| wrong(place.to_owned(), "delays that are not negative"))
                })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn file(name: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("solver_tests/instances");
        std::fs::read_to_string(folder.join(name)).unwrap()
    }

    #[test]
    fn all_forms_are_read() {
        let mapping = read(&file("inc6_p3.json"), "file", None).unwrap();
        assert_eq!(
            (
                mapping.name.as_str(),
                mapping.durations.len(),
                mapping.processors()
            ),
            ("inc6_p3", 17, 3)
        );
        let several = file("unrelated_comm.json");
        let Err(DocumentError::Unchosen { names }) = read(&several, "file", None) else {
            panic!("there are several");
        };
        assert_eq!(names.len(), 48);
        let one = read(&several, "file", Some(&names[7])).unwrap();
        assert_eq!(one.name, names[7]);
        let textbook = read(&file("heft_examples.json"), "file", Some("topcuoglu2002")).unwrap();
        assert_eq!((textbook.edges[0].from, textbook.edges[0].to), (0, 1));
        let bare = read(r#"{"tasks": [[1.5, null]], "edges": []}"#, "mine", None).unwrap();
        assert_eq!(
            (bare.name.as_str(), bare.durations[0][0]),
            ("mine", Some(15))
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, message) in [
            ("[]", "the file: no instance"),
            ("{", "not JSON"),
            (r#"{"tasks": 3, "edges": []}"#, "tasks: expected a list"),
            (
                r#"{"tasks": [[true]], "edges": []}"#,
                "tasks[0][0]: expected a number",
            ),
            (
                r#"{"tasks": [[1]], "edges": [[0, 1]]}"#,
                "edges[0]: expected [from, to, delay]",
            ),
            (
                r#"{"tasks": [[1]], "edges": [[0, 1, 2]]}"#,
                "edge 0: operator 1 of 1",
            ),
            (r#"{"tasks": [[-3]], "edges": []}"#, "-3: expected a number"),
            (
                r#"{"t": [[1]], "edges": [[0, 0]], "comm": []}"#,
                "comm: expected one table",
            ),
            (
                r#"{"n": 4, "t": [[1]], "edges": [], "comm": []}"#,
                "n: expected",
            ),
            (r#"{"tasks": [], "edges": []}"#, "no operators"),
            (r#"{"instances": 1}"#, "instances: expected"),
            (r#"{"instances": [1]}"#, "instances[0]: no instance"),
            (
                r#"{"computation_cost": [[1]], "edges": [{"src": 0, "dst": 1, "comm": 1}]}"#,
                "edges[0]: expected",
            ),
        ] {
            let error = read(text, "file", None).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
