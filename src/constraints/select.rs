//! Which operators of a network a text names.
//!
//! A name that exists wins over the pattern that it could be read as, because exporters put brackets and stars into names.

use std::cmp::Reverse;

use paracompile_frontend::ir::{Op, OpId, VerifiedGraph};

use super::Pattern;

/// Why a text names no operator that runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unselected {
    /// Nothing has this name.
    #[error("no operator is called `{query}`")]
    Unknown {
        /// What was asked for.
        query: String,
        /// Operators whose names are close or contain it.
        near: Vec<String>,
    },
    /// A pattern that matches nothing.
    #[error("no operator matches `{query}`")]
    NoMatch {
        /// What was asked for.
        query: String,
        /// Operators whose names are close to a part of it.
        near: Vec<String>,
    },
    /// A pattern that matches nothing because of upper and lower case.
    #[error("no operator matches `{query}`")]
    OtherCase {
        /// What was asked for.
        query: String,
        /// How many it would match.
        count: usize,
        /// The first of them.
        first: String,
    },
    /// What has this name is a view.
    #[error(
        "`{query}` ({op_type}) is free: its output is another view of its input, so it runs nowhere"
    )]
    Free {
        /// What was asked for.
        query: String,
        /// Its type.
        op_type: String,
    },
    /// A pattern that matches views alone.
    #[error(
        "`{query}` matches free operators alone ({count}): views of their inputs, which run nowhere"
    )]
    AllFree {
        /// What was asked for.
        query: String,
        /// How many.
        count: usize,
    },
}

/// The operators that run and that `query` names, ascending: by a node's name, the name of one of its outputs, `#` and its index in the file, or a pattern over the names.
pub fn select(graph: &VerifiedGraph, query: &str) -> Result<Vec<OpId>, Unselected> {
    let named = named(graph, query);
    if !named.is_empty() {
        return running(graph, &named).ok_or_else(|| Unselected::Free {
            query: query.to_owned(),
            op_type: graph.ops[named[0]].op_type.clone(),
        });
    }
    let pattern = Pattern::new(query);
    if pattern.literal().is_some_and(|literal| literal == query) {
        return Err(Unselected::Unknown {
            query: query.to_owned(),
            near: near(graph, query),
        });
    }
    let matched = matching(graph, |name| pattern.matches(name));
    if matched.is_empty() {
        return Err(unmatched(graph, query));
    }
    running(graph, &matched).ok_or_else(|| Unselected::AllFree {
        query: query.to_owned(),
        count: matched.len(),
    })
}

/// The first operator of exactly this name, free or not.
pub fn find(graph: &VerifiedGraph, query: &str) -> Option<OpId> {
    named(graph, query).first().copied()
}

/// Those of `ops` that are tasks; `None` if none is.
fn running(graph: &VerifiedGraph, ops: &[OpId]) -> Option<Vec<OpId>> {
    let running: Vec<OpId> = ops
        .iter()
        .copied()
        .filter(|&op| graph.ops[op].class().is_some())
        .collect();
    (!running.is_empty()).then_some(running)
}

fn named(graph: &VerifiedGraph, query: &str) -> Vec<OpId> {
    let exact = matching(graph, |name| name == query);
    if !exact.is_empty() {
        return exact;
    }
    let index: Option<u32> = query.strip_prefix('#').and_then(|index| index.parse().ok());
    let of_node = |wanted: fn(&Op) -> bool| -> Vec<OpId> {
        graph
            .ops
            .iter()
            .filter(|(_, op)| index == Some(op.at.node) && wanted(op))
            .map(|(id, _)| id)
            .collect()
    };
    let outside = of_node(|op| op.at.inside.is_empty());
    if outside.is_empty() {
        // A call of a function is the operators inside.
        of_node(|_| true)
    } else {
        outside
    }
}

/// Operators of which the name or that of an output is wanted, ascending.
fn matching(graph: &VerifiedGraph, wanted: impl Fn(&str) -> bool) -> Vec<OpId> {
    let outputs = |op: &Op| {
        op.outputs
            .iter()
            .any(|&output| wanted(&graph.tensors[output].name))
    };
    graph
        .ops
        .iter()
        .filter(|(_, op)| wanted(&op.name) || outputs(op))
        .map(|(id, _)| id)
        .collect()
}

/// Up to five names that contain the query, or share its longest beginning.
pub fn near(graph: &VerifiedGraph, query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    let common = |name: &str| {
        name.to_lowercase()
            .chars()
            .zip(query.chars())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let mut ranked: Vec<(bool, usize, &str)> = graph
        .ops
        .iter()
        .map(|(_, op)| op.name.as_str())
        .map(|name| (name.to_lowercase().contains(&query), common(name), name))
        .filter(|(contains, common, _)| *contains || *common > 2)
        .collect();
    ranked.sort_by_key(|&(contains, common, _)| Reverse((contains, common)));
    ranked
        .into_iter()
        .take(5)
        .map(|(_, _, name)| name.to_owned())
        .collect()
}

/// Why a pattern matches nothing: it would in another case, or names are near its longest part without wildcards.
fn unmatched(graph: &VerifiedGraph, query: &str) -> Unselected {
    let pattern = Pattern::in_any_case(query);
    let in_any_case = matching(graph, |name| pattern.matches(&name.to_lowercase()));
    if let Some(&first) = in_any_case.first() {
        return Unselected::OtherCase {
            query: query.to_owned(),
            count: in_any_case.len(),
            first: graph.ops[first].name.clone(),
        };
    }
    let longest = query
        .split(['*', '?', '[', ']'])
        .max_by_key(|part| part.len())
        .unwrap_or_default();
    Unselected::NoMatch {
        query: query.to_owned(),
        near: if longest.is_empty() {
            Vec::new()
        } else {
            near(graph, longest)
        },
    }
}

#[cfg(test)]
mod tests {
    use paracompile_plan::OpClass;
    use paracompile_testkit::sketch::Sketch;

    use super::*;

    /// A chain of convolutions with these names, and a view at its end.
    fn chain(names: &[&str]) -> VerifiedGraph {
        let mut sketch = Sketch::new();
        let mut at = sketch.input("in");
        for name in names {
            at = sketch.op(name, OpClass::Conv, &[at]);
        }
        let view = sketch.view("view", at);
        sketch.finish(&[view])
    }

    fn selected(graph: &VerifiedGraph, query: &str) -> Vec<usize> {
        let ops = select(graph, query).unwrap();
        ops.into_iter().map(OpId::index).collect()
    }

    #[test]
    fn a_name_that_exists_wins_over_the_pattern_that_it_is() {
        let graph = chain(&["a*", "ab", "x[0]", "x0", r"C:\net\*", "a=b", "#1"]);
        assert_eq!(selected(&graph, "a*"), [0]);
        assert_eq!(selected(&graph, r"a\*"), [0]);
        assert_eq!(selected(&graph, "a?"), [0, 1]);
        assert_eq!(selected(&graph, "x[0]"), [2]);
        assert_eq!(selected(&graph, "x[0-9]"), [3]);
        assert_eq!(selected(&graph, r"C:\net\*"), [4]);
        assert_eq!(selected(&graph, "a=b"), [5]);
        assert_eq!(selected(&graph, "#1"), [6]);
        assert_eq!(selected(&graph, "#3"), [3]);
        assert_eq!(selected(&graph, "*").len(), 7);
    }

    #[test]
    fn what_runs_nowhere_is_said_to() {
        let graph = chain(&["a"]);
        let told = |query: &str| select(&graph, query).unwrap_err();
        assert!(matches!(told("view"), Unselected::Free { .. }));
        assert!(matches!(told("v*"), Unselected::AllFree { count: 1, .. }));
        assert!(matches!(told("V*"), Unselected::OtherCase { .. }));
        assert!(matches!(told("b"), Unselected::Unknown { .. }));
        assert!(matches!(told("b*"), Unselected::NoMatch { .. }));
    }
}
