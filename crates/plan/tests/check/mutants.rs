//! Every leaf of every plan, changed in every applicable way, must be noticed by [`check`] or refused by the parser.
//!
//! A mutant that parses to the same plan (a null that is left out) is no mutant.

use std::collections::BTreeSet;

use paracompile_plan::check;
use paracompile_plan::plan::Plan;
use serde_json::{Value, json};

use crate::facts::{PLANS, of_plan};
use crate::hand::path;

/// Fields whose mutants may pass, each with the reason.
const EXCEPTIONS: [(&str, &str); 4] = [
    ("method", "words for people; only emptiness can be judged"),
    ("scope", "words for people; only emptiness can be judged"),
    (
        "stopped_by",
        "why a search stopped is history; a plan may say worse than its stages",
    ),
    (
        "labels",
        "what a plan is best at depends on the other plans of the front",
    ),
];

fn pointer(path: &[String]) -> String {
    path.iter().flat_map(|part| ["/", part]).collect()
}

/// The exception that covers a path.
fn exception(path: &[String]) -> Option<&'static str> {
    (EXCEPTIONS.iter())
        .map(|(field, _)| *field)
        .find(|field| path.iter().any(|part| part == field))
}

/// All paths of a value, parents before children, without recursion.
fn paths(root: &Value) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), root)];
    while let Some((path, value)) = open.pop() {
        let mut push = |key: String, child| {
            let mut path: Vec<String> = path.clone();
            path.push(key);
            open.push((path, child));
        };
        match value {
            Value::Object(fields) => fields
                .iter()
                .for_each(|(key, child)| push(key.clone(), child)),
            Value::Array(items) => {
                (items.iter().enumerate())
                    .for_each(|(index, child)| push(index.to_string(), child));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        found.push(path);
    }
    found
}

/// Other values that a leaf could have.
fn replacements(value: &Value, strings: &[String]) -> Vec<Value> {
    match value {
        Value::Number(number) => {
            let mut others = Vec::new();
            if let Some(count) = number.as_u64() {
                others.extend([count + 1, count * 2, 0].map(Value::from));
                others.extend(count.checked_sub(1).map(Value::from));
            } else if let Some(share) = number.as_f64() {
                others.extend(
                    [share + 1.0, share - 1.0, share * 2.0, 0.0, share + 1e-4].map(Value::from),
                );
            }
            others.push(Value::Null);
            others
        }
        Value::String(text) => {
            let mut others = vec![json!(""), json!(format!("{text}x"))];
            others.extend(strings.iter().map(|other| json!(other)));
            others
        }
        Value::Null => vec![
            json!(0),
            json!(1),
            json!("x"),
            json!({"from_layout": "nchw", "to_layout": "nhwc"}),
        ],
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Array(items) => {
            let mut others = vec![json!([])];
            for index in 0..items.len() {
                let mut doubled = items.clone();
                doubled.insert(index, items[index].clone());
                others.push(Value::Array(doubled));
                if index > 0 {
                    let mut swapped = items.clone();
                    swapped.swap(index - 1, index);
                    others.push(Value::Array(swapped));
                }
            }
            others
        }
        Value::Object(_) => vec![json!({}), Value::Null],
    }
}

/// The value without what `path` leads to.
fn without(root: &Value, path: &[String]) -> Value {
    let mut mutant = root.clone();
    let (last, parent) = path.split_last().unwrap();
    match mutant.pointer_mut(&pointer(parent)).unwrap() {
        Value::Object(fields) => {
            fields.remove(last);
        }
        Value::Array(items) => {
            items.remove(last.parse().unwrap());
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            panic!("{path:?} leads through a leaf")
        }
    }
    mutant
}

/// How many mutants there were, and the path and value of each that passed.
fn survivors(name: &str) -> (usize, Vec<(Vec<String>, String)>) {
    let (model, costs) = of_plan(name);
    let text = std::fs::read_to_string(path(name)).unwrap();
    let mut root: Value = serde_json::from_str(&text).unwrap();
    // Not part of the schema.
    root.as_object_mut().unwrap().remove("why");
    let original: Plan = serde_json::from_value(root.clone()).unwrap();
    let mut strings: Vec<String> = (paths(&root).iter())
        .filter_map(|path| root.pointer(&pointer(path))?.as_str().map(str::to_owned))
        .collect();
    strings.sort();
    strings.dedup();
    let mut tried = 0;
    let mut survivors = Vec::new();
    for path in paths(&root) {
        let place = pointer(&path);
        let value = root.pointer(&place).unwrap();
        let mut mutants: Vec<Value> = (replacements(value, &strings).into_iter())
            .map(|other| {
                let mut mutant = root.clone();
                *mutant.pointer_mut(&place).unwrap() = other;
                mutant
            })
            .collect();
        if !path.is_empty() {
            mutants.push(without(&root, &path));
        }
        for mutant in mutants {
            let shown = format!("{name}: {place} as {:?}", mutant.pointer(&place));
            let Ok(plan) = serde_json::from_value::<Plan>(mutant) else {
                continue;
            };
            if plan == original {
                continue;
            }
            tried += 1;
            if check(&plan, &model, &costs).is_empty() {
                survivors.push((path.clone(), shown));
            }
        }
    }
    (tried, survivors)
}

#[test]
fn no_changed_field_of_a_plan_goes_unnoticed() {
    let mut used = BTreeSet::new();
    for name in PLANS {
        let (tried, survivors) = survivors(name);
        assert!(tried > 500, "{name} gave only {tried} mutants");
        for (path, shown) in survivors {
            match exception(&path) {
                Some(field) => {
                    used.insert(field);
                }
                None => panic!("unnoticed: {shown}"),
            }
        }
    }
    let listed: BTreeSet<&str> = EXCEPTIONS.iter().map(|(field, _)| *field).collect();
    assert_eq!(used, listed, "an exception that nothing needs");
}
