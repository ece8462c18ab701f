//! Writes small ONNX models byte by byte, for tests of the importer.
//!
//! On purpose it shares nothing with the importer's decoder: field numbers come from `onnx.proto` once more, so a wrong tag shows.
//! It writes whatever it is told, also what no tool would.

/// Element types, by ONNX's number.
pub mod dtype {
    /// 32-bit floating point.
    pub const FLOAT: i32 = 1;
    /// 8-bit unsigned integer.
    pub const UINT8: i32 = 2;
    /// 8-bit signed integer.
    pub const INT8: i32 = 3;
    /// 64-bit signed integer.
    pub const INT64: i32 = 7;
    /// Text.
    pub const STRING: i32 = 8;
    /// Truth value.
    pub const BOOL: i32 = 9;
    /// 64-bit floating point.
    pub const DOUBLE: i32 = 11;
}

/// A protobuf message under construction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(Vec<u8>);

impl Message {
    /// An empty message.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Appends an integer field; negative numbers take ten bytes.
    #[must_use]
    pub fn int(mut self, field: u32, value: i64) -> Self {
        varint(u64::from(field) << 3, &mut self.0);
        varint(value.cast_unsigned(), &mut self.0);
        self
    }

    /// Appends a single-precision field.
    #[must_use]
    pub fn float(mut self, field: u32, value: f32) -> Self {
        varint(u64::from(field) << 3 | 5, &mut self.0);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Appends bytes.
    #[must_use]
    pub fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        varint(u64::from(field) << 3 | 2, &mut self.0);
        varint(bytes.len() as u64, &mut self.0);
        self.0.extend(bytes);
        self
    }

    /// Appends text.
    #[must_use]
    pub fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// Appends a message.
    #[must_use]
    pub fn message(self, field: u32, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// Appends messages.
    #[must_use]
    pub fn messages<'a>(self, field: u32, messages: impl IntoIterator<Item = &'a Self>) -> Self {
        messages
            .into_iter()
            .fold(self, |outer, message| outer.message(field, message))
    }

    /// The bytes so far.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

fn varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).expect("seven bits fit") | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).expect("less than 128"));
}

/// An extent of a declared value.
#[derive(Clone, Copy, Debug)]
pub enum Dim<'a> {
    /// A number, sensible or not.
    Value(i64),
    /// A name.
    Symbol(&'a str),
    /// Neither.
    Unknown,
}

/// A declared value (`ValueInfoProto`).
pub fn value(name: &str, dtype: i32, dims: &[Dim<'_>]) -> Message {
    let dims: Vec<Message> = dims
        .iter()
        .map(|dim| match dim {
            Dim::Value(value) => Message::new().int(1, *value),
            Dim::Symbol(name) => Message::new().text(2, name),
            Dim::Unknown => Message::new(),
        })
        .collect();
    let shape = Message::new().messages(1, &dims);
    let tensor = Message::new().int(1, i64::from(dtype)).message(2, &shape);
    Message::new()
        .text(1, name)
        .message(2, &Message::new().message(1, &tensor))
}

/// The same with fixed extents.
pub fn fixed(name: &str, dtype: i32, dims: &[i64]) -> Message {
    let dims: Vec<_> = dims.iter().map(|&extent| Dim::Value(extent)).collect();
    value(name, dtype, &dims)
}

/// A constant with raw data (`TensorProto`).
pub fn tensor(name: &str, dtype: i32, dims: &[i64], raw: &[u8]) -> Message {
    let header = dims
        .iter()
        .fold(Message::new(), |header, &extent| header.int(1, extent));
    header.int(2, i64::from(dtype)).text(8, name).bytes(9, raw)
}

/// A one-dimensional constant of 64-bit integers.
///
/// # Panics
/// If it is too large for a test.
pub fn integers(name: &str, values: &[i64]) -> Message {
    let raw: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let extent = i64::try_from(values.len()).expect("test constants are small");
    tensor(name, dtype::INT64, &[extent], &raw)
}

/// A one-dimensional constant of single-precision numbers.
///
/// # Panics
/// If it is too large for a test.
pub fn floats(name: &str, values: &[f32]) -> Message {
    let raw: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let extent = i64::try_from(values.len()).expect("test constants are small");
    tensor(name, dtype::FLOAT, &[extent], &raw)
}

/// A constant of zeros with the shape `dims`.
///
/// # Panics
/// If it is too large for a test.
pub fn zeros(name: &str, dims: &[i64]) -> Message {
    let count: i64 = dims.iter().product();
    let bytes = usize::try_from(count * 4).expect("test constants are small");
    tensor(name, dtype::FLOAT, dims, &vec![0; bytes])
}

/// An attribute (`AttributeProto`).
#[derive(Clone, Debug)]
pub enum Attribute<'a> {
    /// One integer.
    Int(i64),
    /// Several integers.
    Ints(&'a [i64]),
    /// One number.
    Float(f32),
    /// Several numbers.
    Floats(&'a [f32]),
    /// Text.
    Text(&'a str),
    /// A constant.
    Tensor(Message),
    /// A branch or body.
    Graph(Message),
    /// The attribute of this name of the call, in a function's node.
    Reference(&'a str),
}

impl Attribute<'_> {
    fn encode(&self, name: &str) -> Message {
        let message = Message::new().text(1, name);
        match self {
            Self::Int(value) => message.int(3, *value).int(20, 2),
            Self::Ints(values) => values
                .iter()
                .fold(message, |message, &value| message.int(8, value))
                .int(20, 7),
            Self::Float(value) => message.float(2, *value).int(20, 1),
            Self::Floats(values) => values
                .iter()
                .fold(message, |message, &value| message.float(7, value))
                .int(20, 6),
            Self::Text(text) => message.text(4, text).int(20, 3),
            Self::Tensor(tensor) => message.message(5, tensor).int(20, 4),
            Self::Graph(graph) => message.message(6, graph).int(20, 5),
            Self::Reference(name) => message.text(21, name).int(20, 2),
        }
    }
}

/// A node without a name (`NodeProto`).
pub fn node(
    op_type: &str,
    inputs: &[&str],
    outputs: &[&str],
    attributes: &[(&str, Attribute<'_>)],
) -> Message {
    let message = inputs
        .iter()
        .fold(Message::new(), |message, input| message.text(1, input));
    let message = outputs
        .iter()
        .fold(message, |message, output| message.text(2, output));
    let message = message.text(4, op_type);
    attributes
        .iter()
        .fold(message, |message, (name, attribute)| {
            message.message(5, &attribute.encode(name))
        })
}

/// A function (`FunctionProto`) of the domain `local`; `attributes` have no defaults.
pub fn function(
    name: &str,
    inputs: &[&str],
    outputs: &[&str],
    attributes: &[&str],
    nodes: &[Message],
    opset: i64,
) -> Message {
    let texts = |message: Message, field, texts: &[&str]| {
        texts
            .iter()
            .fold(message, |message, text| message.text(field, text))
    };
    let message = Message::new().text(1, name);
    let message = texts(message, 4, inputs);
    let message = texts(message, 5, outputs);
    texts(message, 6, attributes)
        .messages(7, nodes)
        .message(9, &Message::new().text(1, "").int(2, opset))
        .text(10, "local")
}

/// The same node in another operator set.
pub fn in_domain(domain: &str, node: Message) -> Message {
    node.text(7, domain)
}

/// A graph (`GraphProto`) in parts.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Nodes.
    pub nodes: Vec<Message>,
    /// Constants.
    pub constants: Vec<Message>,
    /// Inputs.
    pub inputs: Vec<Message>,
    /// Outputs.
    pub outputs: Vec<Message>,
    /// Declared values between.
    pub declared: Vec<Message>,
}

impl Graph {
    /// The message.
    pub fn encode(&self) -> Message {
        Message::new()
            .messages(1, &self.nodes)
            .text(2, "graph")
            .messages(5, &self.constants)
            .messages(11, &self.inputs)
            .messages(12, &self.outputs)
            .messages(13, &self.declared)
    }

    /// A model with functions of its own (`FunctionProto`), whose domain is `local`.
    pub fn model_with(&self, opset: i64, functions: &[Message]) -> Vec<u8> {
        let model = Message(self.model(opset));
        model
            .message(8, &Message::new().text(1, "local").int(2, 1))
            .messages(25, functions)
            .into_bytes()
    }

    /// A model (`ModelProto`) of this graph with a version of the default operator set.
    pub fn model(&self, opset: i64) -> Vec<u8> {
        Message::new()
            .int(1, 8)
            .message(7, &self.encode())
            .message(8, &Message::new().text(1, "").int(2, opset))
            .into_bytes()
    }
}
