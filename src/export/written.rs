//! The model as it lies in its file: nodes, constants and ports of the top-level graph by name, each a slice of the file.
//!
//! The importer has decoded and verified the same bytes before, so its limits on size and depth hold here too.
//! A file may hold its graph in several pieces, which protobuf joins; so are they here.

use std::collections::{BTreeSet, HashMap};

use super::ExportError;
use super::bodies::Bodies;
use super::protobuf::{Field, fields};

/// Field numbers of `onnx.proto`.
pub(super) mod number {
    pub(in super::super) const MODEL_IR_VERSION: u64 = 1;
    pub(in super::super) const MODEL_GRAPH: u64 = 7;
    pub(in super::super) const MODEL_TRAINING: u64 = 20;
    pub(in super::super) const MODEL_FUNCTION: u64 = 25;
    pub(in super::super) const MODEL_CONFIGURATION: u64 = 26;
    pub(in super::super) const GRAPH_NODE: u64 = 1;
    pub(in super::super) const GRAPH_INITIALIZER: u64 = 5;
    pub(in super::super) const GRAPH_INPUT: u64 = 11;
    pub(in super::super) const GRAPH_OUTPUT: u64 = 12;
    pub(in super::super) const GRAPH_VALUE_INFO: u64 = 13;
    pub(in super::super) const GRAPH_QUANTIZATION: u64 = 14;
    pub(in super::super) const GRAPH_SPARSE: u64 = 15;
    pub(in super::super) const NODE_METADATA: u64 = 9;
    pub(in super::super) const NODE_CONFIGURATION: u64 = 10;
    pub(in super::super) const TENSOR_EXTERNAL: u64 = 13;
    pub(in super::super) const TENSOR_LOCATION: u64 = 14;
}

/// An operator set's domain, an operator or function of it, and its overload.
pub(super) type Callee<'m> = (&'m str, &'m str, &'m str);

/// A node of the top-level graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Node<'m> {
    /// Without its key.
    pub(super) message: &'m [u8],
    pub(super) name: &'m str,
    pub(super) op_type: &'m str,
    pub(super) domain: &'m str,
    /// Operands; empty where one is left out.
    pub(super) inputs: Vec<&'m str>,
    pub(super) outputs: Vec<&'m str>,
    /// What its branches and bodies read from outside of it.
    pub(super) captured: Vec<&'m str>,
    /// What it and the nodes in its branches and bodies call.
    pub(super) calls: Vec<Callee<'m>>,
    /// Constants in its attributes whose elements lie in another file.
    pub(super) external: Vec<&'m [u8]>,
}

impl<'m> Node<'m> {
    /// Everything that it reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = &'m str> + '_ {
        let named = self.inputs.iter().chain(&self.captured).copied();
        named.filter(|name| !name.is_empty())
    }

    /// Everything that it writes.
    pub(super) fn writes(&self) -> impl Iterator<Item = &'m str> + '_ {
        self.outputs.iter().copied().filter(|name| !name.is_empty())
    }

    /// Whether it is this operator of the default domain.
    pub(super) fn is(&self, op_type: &str) -> bool {
        self.op_type == op_type && matches!(self.domain, "" | "ai.onnx")
    }

    /// Index, name and type for people.
    pub(super) fn spelled(&self, index: usize) -> String {
        if self.name.is_empty() {
            format!("#{index} ({})", self.op_type)
        } else {
            format!("#{index} `{}` ({})", self.name, self.op_type)
        }
    }
}

/// A declared value or a constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'m> {
    pub(super) name: &'m str,
    /// Without its key.
    pub(super) message: &'m [u8],
}

/// A function local to the model.
#[derive(Clone, Debug)]
pub(super) struct Function<'m> {
    pub(super) callee: Callee<'m>,
    pub(super) calls: Vec<Callee<'m>>,
    /// Constants in it whose elements lie in another file.
    pub(super) external: Vec<&'m [u8]>,
}

/// A model file.
#[derive(Clone, Debug, Default)]
pub(super) struct Written<'m> {
    /// Fields of the model in order.
    pub(super) fields: Vec<Field<'m>>,
    pub(super) nodes: Vec<Node<'m>>,
    pub(super) constants: Vec<Named<'m>>,
    pub(super) inputs: Vec<Named<'m>>,
    pub(super) outputs: Vec<Named<'m>>,
    pub(super) values: Vec<Named<'m>>,
    pub(super) quantizations: Vec<Named<'m>>,
    /// Fields of the graph that are none of the above.
    pub(super) others: Vec<Field<'m>>,
    pub(super) functions: Vec<Function<'m>>,
    /// Which node writes a tensor.
    pub(super) writers: HashMap<&'m str, usize>,
    constants_by_name: HashMap<&'m str, usize>,
}

impl<'m> Written<'m> {
    /// Reads the places of everything in `file`.
    pub(super) fn read(file: &'m [u8]) -> Result<Self, ExportError> {
        let mut written = Self::default();
        for field in fields(file) {
            let field = field?;
            written.fields.push(field);
            match (field.number, field.delimited()) {
                (number::MODEL_GRAPH, Some(graph)) => written.read_graph(graph)?,
                (number::MODEL_FUNCTION, Some(function)) => {
                    written.functions.push(read_function(function)?);
                }
                _ => {}
            }
        }
        for (index, node) in written.nodes.iter().enumerate() {
            for name in node.writes() {
                written.writers.insert(name, index);
            }
        }
        for (index, constant) in written.constants.iter().enumerate() {
            written.constants_by_name.insert(constant.name, index);
        }
        Ok(written)
    }

    /// The index of a stored constant.
    pub(super) fn constant(&self, name: &str) -> Option<usize> {
        self.constants_by_name.get(name).copied()
    }

    fn read_graph(&mut self, graph: &'m [u8]) -> Result<(), ExportError> {
        for field in fields(graph) {
            let field = field?;
            let Some(message) = field.delimited() else {
                self.others.push(field);
                continue;
            };
            match field.number {
                number::GRAPH_NODE => self.nodes.push(read_node(message)?),
                number::GRAPH_INITIALIZER => self.constants.push(named(message, 8)?),
                number::GRAPH_INPUT => self.inputs.push(named(message, 1)?),
                number::GRAPH_OUTPUT => self.outputs.push(named(message, 1)?),
                number::GRAPH_VALUE_INFO => self.values.push(named(message, 1)?),
                number::GRAPH_QUANTIZATION => self.quantizations.push(named(message, 1)?),
                // The importer refuses models with sparse constants.
                number::GRAPH_SPARSE => {}
                _ => self.others.push(field),
            }
        }
        Ok(())
    }

    /// The nodes in an order in which each follows those that write what it reads, in file order where there is a choice.
    pub(super) fn order(&self) -> Result<Vec<usize>, ExportError> {
        let mut readers = vec![Vec::new(); self.nodes.len()];
        let mut open = vec![0usize; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for &writer in node.reads().filter_map(|name| self.writers.get(name)) {
                readers[writer].push(index);
                open[index] += 1;
            }
        }
        let mut ready: BTreeSet<usize> = (0..self.nodes.len())
            .filter(|&index| open[index] == 0)
            .collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(index) = ready.pop_first() {
            order.push(index);
            for &reader in &readers[index] {
                open[reader] -= 1;
                if open[reader] == 0 {
                    ready.insert(reader);
                }
            }
        }
        if order.len() == self.nodes.len() {
            Ok(order)
        } else {
            Err(ExportError::Cycle)
        }
    }
}

/// The text of the last field `number` of a message: of a field that may come once, the last one counts.
fn named(message: &[u8], number: u64) -> Result<Named<'_>, ExportError> {
    Ok(Named {
        name: text(message, number)?,
        message,
    })
}

/// See [`named`]; empty if there is none.
pub(super) fn text(message: &[u8], number: u64) -> Result<&str, ExportError> {
    let mut found = "";
    for field in fields(message) {
        let field = field?;
        if field.number == number {
            found = field.text()?;
        }
    }
    Ok(found)
}

fn read_function(message: &[u8]) -> Result<Function<'_>, ExportError> {
    let mut function = Function {
        callee: (text(message, 10)?, text(message, 1)?, text(message, 13)?),
        calls: Vec::new(),
        external: Vec::new(),
    };
    for field in fields(message) {
        let field = field?;
        if let (7, Some(node)) = (field.number, field.delimited()) {
            let node = read_node(node)?;
            function.calls.extend(node.calls);
            function.external.extend(node.external);
        }
    }
    Ok(function)
}

fn read_node(message: &[u8]) -> Result<Node<'_>, ExportError> {
    let mut node = read_flat(message)?;
    let bodies = Bodies::of(message)?;
    node.captured = bodies.captured();
    node.calls = bodies.calls;
    node.external = bodies.external;
    Ok(node)
}

/// A node without what its attributes hold.
pub(super) fn read_flat(message: &[u8]) -> Result<Node<'_>, ExportError> {
    let mut node = Node {
        message,
        ..Node::default()
    };
    for field in fields(message) {
        let field = field?;
        match field.number {
            1 => node.inputs.push(field.text()?),
            2 => node.outputs.push(field.text()?),
            3 => node.name = field.text()?,
            4 => node.op_type = field.text()?,
            7 => node.domain = field.text()?,
            _ => {}
        }
    }
    Ok(node)
}

/// Whether the elements of a constant lie in another file.
pub(super) fn is_external(tensor: &[u8]) -> Result<bool, ExportError> {
    let mut found = false;
    for field in fields(tensor) {
        let field = field?;
        if field.number == number::TENSOR_LOCATION {
            found = field.integer() == Some(1);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use paracompile_testkit::onnx::{Attribute, Graph, Message, dtype, fixed, integers, node};

    use super::*;

    /// A branch that reads `outer` and `twice` from outside, with a branch inside that reads `deep`, and shadows nothing.
    fn branching() -> Graph {
        let deepest = Graph {
            nodes: vec![node("Add", &["deep", "made"], &["end"], &[])],
            outputs: vec![fixed("end", dtype::FLOAT, &[1])],
            ..Graph::default()
        };
        let inner = node(
            "Loop",
            &["", "own"],
            &["made2"],
            &[("body", Attribute::Graph(deepest.encode()))],
        );
        let branch = Graph {
            nodes: vec![
                node("Mul", &["outer", "stored"], &["made"], &[]),
                inner,
                node("Local", &["made2"], &["given"], &[]).text(7, "own.domain"),
            ],
            constants: vec![integers("stored", &[1])],
            inputs: vec![fixed("own", dtype::BOOL, &[])],
            outputs: vec![
                fixed("given", dtype::FLOAT, &[1]),
                fixed("twice", dtype::FLOAT, &[1]),
            ],
            ..Graph::default()
        };
        let body = ("then_branch", Attribute::Graph(branch.encode()));
        Graph {
            nodes: vec![
                node("If", &["flag", ""], &["z"], &[body]),
                node("Neg", &["x"], &["outer"], &[]),
            ],
            inputs: ["flag", "x", "deep", "twice"]
                .map(|name| fixed(name, dtype::FLOAT, &[1]))
                .to_vec(),
            outputs: vec![fixed("z", dtype::FLOAT, &[1])],
            ..Graph::default()
        }
    }

    #[test]
    fn nodes_read_what_their_bodies_capture() {
        let file = branching().model(17);
        let written = Written::read(&file).unwrap();
        let reads: Vec<&str> = written.nodes[0].reads().collect();
        assert_eq!(reads, ["flag", "deep", "outer", "twice"]);
        let local = ("own.domain", "Local", "");
        assert!(written.nodes[0].calls.contains(&local));
        // The branch needs what the second node of the file writes.
        assert_eq!(written.order().unwrap(), [1, 0]);
    }

    #[test]
    fn a_circle_has_no_order() {
        let graph = Graph {
            nodes: vec![
                node("Neg", &["a"], &["b"], &[]),
                node("Neg", &["b"], &["a"], &[]),
            ],
            ..Graph::default()
        };
        let file = graph.model(17);
        assert_eq!(
            Written::read(&file).unwrap().order(),
            Err(ExportError::Cycle)
        );
    }

    #[test]
    fn a_graph_in_pieces_is_one_graph() {
        let piece = |from, to| Message::new().message(1, &node("Neg", &[from], &[to], &[]));
        let file = Message::new()
            .message(7, &piece("x", "y"))
            .int(1, 8)
            .message(7, &piece("y", "z"))
            .into_bytes();
        let written = Written::read(&file).unwrap();
        assert_eq!(written.nodes.len(), 2);
        assert_eq!(written.order().unwrap(), [0, 1]);
    }

    #[test]
    fn damaged_files_are_errors_or_other_models_and_never_a_panic() {
        let file = branching().model(17);
        for end in 0..file.len() {
            let _ = Written::read(&file[..end]).map(|written| written.order());
        }
        for place in 0..file.len() {
            for bit in 0..8 {
                let mut damaged = file.clone();
                damaged[place] ^= 1 << bit;
                let _ = Written::read(&damaged).map(|written| written.order());
            }
        }
    }
}
