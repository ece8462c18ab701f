//! Every leaf of every plan, changed in every applicable way, must be noticed by [`check`] or refused by the parser.
//!
//! A mutant that parses to the same plan (a null that is left out) is no mutant.

use std::collections::BTreeSet;

use paracompile_plan::plan::Plan;
use paracompile_plan::{check, check_structure};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::facts::{PLANS, of_plan};
use crate::hand::path;

/// Fields whose mutants may pass, each with the reason.
type Exceptions = [(&'static str, &'static str)];

/// What nobody can judge from one plan.
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

/// What cannot be judged without the profile and the costs.
const WITHOUT_COSTS: [(&str, &str); 11] = [
    ("soc", "the profile says it"),
    ("operating_point", "the profile says it"),
    ("static_mw", "the profile says it"),
    ("sharing", "the profile says it"),
    ("contention", "the profile says it, but for names"),
    (
        "predicted",
        "figures follow from costs, but for the interval and the latency of the proof",
    ),
    ("work_ns", "a figure"),
    ("start_ns", "a figure; only the order is structure"),
    ("duration_ns", "a figure"),
    ("energy_nj", "a figure"),
    ("time_ns", "a figure"),
];

fn pointer(path: &[String]) -> String {
    path.iter().flat_map(|part| ["/", part]).collect()
}

/// The exception that covers a path.
fn exception(exceptions: &Exceptions, path: &[String]) -> Option<&'static str> {
    (exceptions.iter())
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

/// A plan file as JSON, without what is not part of the schema.
fn document(name: &str) -> Value {
    let text = std::fs::read_to_string(path(name)).unwrap();
    let mut root: Value = serde_json::from_str(&text).unwrap();
    root.as_object_mut().unwrap().remove("why");
    root
}

/// All texts in a value, sorted.
fn texts(root: &Value) -> Vec<String> {
    let found: BTreeSet<String> = (paths(root).iter())
        .filter_map(|path| root.pointer(&pointer(path))?.as_str().map(str::to_owned))
        .collect();
    found.into_iter().collect()
}

/// How many mutants there were, and the path and value of each that passed.
fn survivors(name: &str, judge: impl Fn(&Plan) -> bool) -> (usize, Vec<(Vec<String>, String)>) {
    let root = document(name);
    let original: Plan = serde_json::from_value(root.clone()).unwrap();
    let strings = texts(&root);
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
            if judge(&plan) {
                survivors.push((path.clone(), shown));
            }
        }
    }
    (tried, survivors)
}

/// Every mutant that `passes` is covered by an exception, and every exception covers one.
fn compare(exceptions: &Exceptions, passes: impl Fn(&str, &Plan) -> bool) {
    let mut used = BTreeSet::new();
    let mut unnoticed = Vec::new();
    for name in PLANS {
        let (tried, survivors) = survivors(name, |plan| passes(name, plan));
        assert!(tried > 500, "{name} gave only {tried} mutants");
        for (path, shown) in survivors {
            match exception(exceptions, &path) {
                Some(field) => {
                    used.insert(field);
                }
                None => unnoticed.push(shown),
            }
        }
    }
    assert_eq!(unnoticed, Vec::<String>::new());
    let listed: BTreeSet<&str> = exceptions.iter().map(|(field, _)| *field).collect();
    assert_eq!(used, listed, "an exception that nothing needs");
}

#[test]
fn no_changed_field_of_a_plan_goes_unnoticed() {
    compare(&EXCEPTIONS, |name, plan| {
        let (model, costs) = of_plan(name);
        check(plan, &model, &costs).is_empty()
    });
}

#[test]
fn without_costs_only_figures_and_the_chip_go_unnoticed() {
    let exceptions = [EXCEPTIONS.as_slice(), WITHOUT_COSTS.as_slice()].concat();
    compare(&exceptions, |name, plan| {
        check_structure(plan, &of_plan(name).0).is_empty()
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// The checker's own claim: bad plans are answered with violations, never with a panic.
    #[test]
    fn several_changes_at_once_are_judged_without_a_panic(
        name in prop::sample::select(PLANS.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 2..7),
    ) {
        let (model, costs) = of_plan(name);
        let mut root = document(name);
        let texts = texts(&root);
        for (place, other) in changes {
            let paths = paths(&root);
            let path = &paths[place.index(paths.len())];
            let value = root.pointer_mut(&pointer(path)).unwrap();
            let others = replacements(value, &texts);
            let replacement = others[other.index(others.len())].clone();
            let mut mutant = root.clone();
            *mutant.pointer_mut(&pointer(path)).unwrap() = replacement;
            // Keep to what parses, so that the changes add up.
            if serde_json::from_value::<Plan>(mutant.clone()).is_ok() {
                root = mutant;
            }
        }
        let plan: Plan = serde_json::from_value(root).unwrap();
        prop_assert!(check(&plan, &model, &costs).is_sorted());
        prop_assert!(check_structure(&plan, &model).is_sorted());
    }
}
