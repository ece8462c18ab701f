//! What the branches and bodies of a node read from outside of it: operands that its list of inputs does not show.

use std::collections::BTreeSet;

use super::wire::{AttributeProto, GraphProto, NodeProto};

/// The graphs in the attributes of `node`.
pub(super) fn bodies(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    fn of(attribute: &AttributeProto) -> impl Iterator<Item = &GraphProto> {
        attribute.g.as_deref().into_iter().chain(&attribute.graphs)
    }
    node.attribute.iter().flat_map(of)
}

/// Names that the bodies of `node` read and do not define, each once, in alphabetical order.
pub(super) fn captures(node: &NodeProto) -> Vec<&str> {
    let mut captured = BTreeSet::new();
    let mut scopes: Vec<Scope<'_>> = Vec::new();
    let mut open: Vec<(&GraphProto, Option<usize>)> =
        bodies(node).map(|body| (body, None)).collect();
    while let Some((graph, parent)) = open.pop() {
        scopes.push(Scope {
            defined: defined(graph),
            parent,
        });
        let scope = scopes.len() - 1;
        let read = graph.node.iter().flat_map(|inner| &inner.input);
        let returned = graph.output.iter().map(|value| &value.name);
        for name in read.chain(returned).filter(|name| !name.is_empty()) {
            if !is_defined(&scopes, scope, name) {
                captured.insert(name.as_str());
            }
        }
        let inner = graph.node.iter().flat_map(bodies);
        open.extend(inner.map(|body| (body, Some(scope))));
    }
    captured.into_iter().collect()
}

struct Scope<'a> {
    defined: BTreeSet<&'a str>,
    parent: Option<usize>,
}

fn defined(graph: &GraphProto) -> BTreeSet<&str> {
    let inputs = graph.input.iter().map(|value| value.name.as_str());
    let constants = graph.initializer.iter().map(|tensor| tensor.name.as_str());
    let results = graph
        .node
        .iter()
        .flat_map(|node| &node.output)
        .map(String::as_str);
    inputs.chain(constants).chain(results).collect()
}

fn is_defined(scopes: &[Scope<'_>], scope: usize, name: &str) -> bool {
    let mut current = Some(scope);
    while let Some(index) = current {
        if scopes[index].defined.contains(name) {
            return true;
        }
        current = scopes[index].parent;
    }
    false
}
