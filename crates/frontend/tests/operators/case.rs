//! One node whose operands are inputs or constants, and what it is expected to be.

use bytes::Bytes;
use paracompile_frontend::import::onnx::{ImportOptions, Imported, import_bytes};
use paracompile_frontend::ir::{OpKind, Work};
use paracompile_testkit::onnx::{Attribute, Graph, Message, dtype, fixed, node};

/// One node whose operands are network inputs or constants.
pub(crate) struct Case<'a> {
    opset: i64,
    /// Domain and version of the node, if not the default ones.
    domain: Option<(&'a str, i64)>,
    op_type: &'a str,
    inputs: Vec<&'a str>,
    activations: Vec<Message>,
    constants: Vec<Message>,
    outputs: usize,
    attributes: Vec<(&'a str, Attribute<'a>)>,
}

pub(crate) fn op<'a>(op_type: &'a str, inputs: &[&'a str]) -> Case<'a> {
    Case {
        opset: 17,
        domain: None,
        op_type,
        inputs: inputs.to_vec(),
        activations: Vec::new(),
        constants: Vec::new(),
        outputs: 1,
        attributes: Vec::new(),
    }
}

impl<'a> Case<'a> {
    pub(crate) fn input(mut self, name: &str, dims: &[i64]) -> Self {
        self.activations.push(fixed(name, dtype::FLOAT, dims));
        self
    }

    pub(crate) fn typed(mut self, name: &str, dtype: i32, dims: &[i64]) -> Self {
        self.activations.push(fixed(name, dtype, dims));
        self
    }

    pub(crate) fn constant(mut self, constant: Message) -> Self {
        self.constants.push(constant);
        self
    }

    pub(crate) fn attribute(mut self, name: &'a str, attribute: Attribute<'a>) -> Self {
        self.attributes.push((name, attribute));
        self
    }

    pub(crate) fn opset(mut self, opset: i64) -> Self {
        self.opset = opset;
        self
    }

    pub(crate) fn domain(mut self, domain: &'a str, version: i64) -> Self {
        self.domain = Some((domain, version));
        self
    }

    pub(crate) fn outputs(mut self, outputs: usize) -> Self {
        self.outputs = outputs;
        self
    }

    pub(crate) fn import(&self) -> Result<Imported, String> {
        let names: Vec<String> = (0..self.outputs).map(|index| format!("y{index}")).collect();
        let outputs: Vec<&str> = names.iter().map(String::as_str).collect();
        // A second operator, so that a view alone is a network too.
        let mut inputs = self.activations.clone();
        inputs.push(fixed("other", dtype::FLOAT, &[1]));
        let outputs_and_rest = outputs.iter().copied().chain(["rest"]);
        let mut tested = node(self.op_type, &self.inputs, &outputs, &self.attributes);
        let mut imported = Vec::new();
        if let Some((domain, version)) = self.domain {
            tested = tested.text(7, domain);
            let set = Message::new().text(1, domain).int(2, version);
            imported = Message::new().message(8, &set).into_bytes();
        }
        let graph = Graph {
            nodes: vec![tested, node("Relu", &["other"], &["rest"], &[])],
            constants: self.constants.clone(),
            inputs,
            outputs: outputs_and_rest
                .map(|name| Message::new().text(1, name))
                .collect(),
            declared: Vec::new(),
        };
        let mut bytes = graph.model(self.opset);
        bytes.extend(imported);
        let bytes = Bytes::from(bytes);
        import_bytes("case", &bytes, &ImportOptions::default()).map_err(|error| error.to_string())
    }

    /// Class and results, such as `conv float [1, 2]`.
    pub(crate) fn is(&self, expected: &str) -> Work {
        let imported = self
            .import()
            .unwrap_or_else(|error| panic!("{}: {error}", self.op_type));
        let graph = &imported.graph;
        let op = &graph.ops.as_slice()[0];
        let class = match op.kind {
            OpKind::View => "view",
            OpKind::ConcatInPlace => "concat in place",
            OpKind::Compute(class) => class.name(),
        };
        let results: Vec<String> = graph.outputs[..self.outputs]
            .iter()
            .map(|&id| format!("{} {}", graph.tensors[id].dtype, graph.tensors[id].shape))
            .collect();
        assert_eq!(
            format!("{class} {}", results.join(", ")),
            expected,
            "{}",
            self.op_type
        );
        op.work
    }

    /// What the importer warns of, one a line.
    pub(crate) fn warns(&self, expected: &str) {
        let imported = self
            .import()
            .unwrap_or_else(|error| panic!("{}: {error}", self.op_type));
        let warnings = imported.warnings.iter().map(ToString::to_string);
        assert_eq!(warnings.collect::<Vec<_>>().join("\n"), expected);
    }

    pub(crate) fn fails(&self, expected: &str) {
        let error = self.import().map(|_| ()).unwrap_err();
        assert_eq!(error, expected);
    }
}
