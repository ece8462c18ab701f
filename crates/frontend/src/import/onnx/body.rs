//! The nodes that a graph, a branch or a function call stands for, in one form.

use std::collections::HashMap;

use super::captures::bodies;
use super::wire::{
    FunctionProto, GraphProto, NodeProto, SparseTensorProto, TensorProto, ValueInfoProto,
};

/// Nodes with what they define and return.
#[derive(Debug)]
pub(super) struct Body<'m> {
    pub(super) nodes: &'m [NodeProto],
    pub(super) constants: &'m [TensorProto],
    pub(super) sparse: &'m [SparseTensorProto],
    /// Names of its parameters, in order.
    pub(super) parameters: Vec<&'m str>,
    /// Names of what it returns, in order.
    pub(super) results: Vec<&'m str>,
    values: &'m [ValueInfoProto],
    outputs: &'m [ValueInfoProto],
}

impl<'m> Body<'m> {
    pub(super) fn of_graph(graph: &'m GraphProto) -> Self {
        let names =
            |values: &'m [ValueInfoProto]| values.iter().map(|value| value.name.as_str()).collect();
        Self {
            nodes: &graph.node,
            constants: &graph.initializer,
            sparse: &graph.sparse_initializer,
            parameters: names(&graph.input),
            results: names(&graph.output),
            values: &graph.value_info,
            outputs: &graph.output,
        }
    }

    pub(super) fn of_function(function: &'m FunctionProto) -> Self {
        Self {
            nodes: &function.node,
            constants: &[],
            sparse: &[],
            parameters: function.input.iter().map(String::as_str).collect(),
            results: function.output.iter().map(String::as_str).collect(),
            values: &function.value_info,
            outputs: &[],
        }
    }

    /// Declared types of what its nodes write, by name.
    pub(super) fn declared(&self) -> HashMap<&'m str, &'m ValueInfoProto> {
        let values = self.values.iter().chain(self.outputs);
        values.map(|value| (value.name.as_str(), value)).collect()
    }

    /// Its nodes, those of inner bodies counted too: what it takes to look at all of them.
    pub(super) fn size(&self) -> u64 {
        let mut size = 0_u64;
        let mut open = vec![self.nodes];
        while let Some(nodes) = open.pop() {
            size += nodes.len() as u64;
            open.extend(
                nodes
                    .iter()
                    .flat_map(bodies)
                    .map(|body| body.node.as_slice()),
            );
        }
        size
    }
}
