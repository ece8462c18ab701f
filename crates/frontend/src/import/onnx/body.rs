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

    /// What it takes to enter it: its nodes and what they and it declare, those of inner bodies counted too, and the bytes of their names.
    pub(super) fn size(&self) -> Size {
        let mut size = Size {
            entries: (self.parameters.len() + self.results.len()) as u64,
            text: 0,
        };
        size.add_values(self.values);
        size.add_values(self.outputs);
        size.add_constants(self.constants);
        let mut open = vec![self.nodes];
        while let Some(nodes) = open.pop() {
            for node in nodes {
                size.add_node(node);
                for body in bodies(node) {
                    size.add_values(&body.input);
                    size.add_values(&body.output);
                    size.add_values(&body.value_info);
                    size.add_constants(&body.initializer);
                    open.push(&body.node);
                }
            }
        }
        size
    }
}

/// What it takes to enter a body.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    /// Nodes, operands, results, attributes, constants and declared values.
    pub(super) entries: u64,
    /// Bytes of their names.
    pub(super) text: u64,
}

impl Size {
    fn add(&mut self, text: &str) {
        self.entries += 1;
        self.text += text.len() as u64;
    }

    fn add_node(&mut self, node: &NodeProto) {
        self.add(&node.name);
        self.text += (node.op_type.len() + node.domain.len()) as u64;
        for name in node.input.iter().chain(&node.output) {
            self.add(name);
        }
        self.entries += node.attribute.len() as u64;
    }

    fn add_values(&mut self, values: &[ValueInfoProto]) {
        for value in values {
            self.add(&value.name);
        }
    }

    fn add_constants(&mut self, constants: &[TensorProto]) {
        for constant in constants {
            self.add(&constant.name);
            for entry in &constant.external_data {
                self.text += (entry.key.len() + entry.value.len()) as u64;
            }
        }
    }
}
