//! A model with values in the place of some of its inputs, for whoever tests operators.
//!
//! The standard's tests feed as inputs what networks have as constants: shapes, axes, pads. Import needs their values.
//! Protobuf merges a field that comes twice, so a supplement is a second piece of the graph behind the file.

use bytes::Bytes;
use prost::Message;

use super::wire::{
    DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use super::{ImportError, decode};

/// An input or output that the file declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Whether it is a dense tensor.
    pub is_tensor: bool,
}

/// What goes into a model and comes out of it, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Inputs; those that are constants too are left out.
    pub inputs: Vec<Port>,
    /// Outputs.
    pub outputs: Vec<Port>,
}

/// What a file declares.
pub fn ports(model: &Bytes) -> Result<Ports, ImportError> {
    let model = decode::decode(model)?;
    let graph = model.graph.ok_or(ImportError::NoGraph)?;
    let port = |value: &ValueInfoProto| Port {
        name: value.name.clone(),
        is_tensor: value
            .r#type
            .as_ref()
            .is_some_and(|declared| declared.tensor_type.is_some()),
    };
    let is_constant = |value: &&ValueInfoProto| {
        let mut constants = graph.initializer.iter();
        constants.any(|constant| constant.name == value.name)
    };
    let inputs = graph.input.iter().filter(|value| !is_constant(value));
    Ok(Ports {
        inputs: inputs.map(port).collect(),
        outputs: graph.output.iter().map(port).collect(),
    })
}

/// The model with the tensors of files (`.pb`) as constants of the given names, and with one more operator, input and output.
///
/// That operator is called [`PROBE`] as its input and output are: a model all of whose results are constants or views is a network with it.
pub fn with_constants(model: &Bytes, constants: &[(&str, &Bytes)]) -> Result<Bytes, ImportError> {
    let decoded = decode::decode(model)?;
    let mut graph = GraphProto::default();
    for &(name, file) in constants {
        let mut tensor = TensorProto::decode(file.clone())
            .map_err(|error| ImportError::Decode(decode::DecodeError::from(error)))?;
        name.clone_into(&mut tensor.name);
        graph.initializer.push(tensor);
    }
    let probed = format!("{PROBE} result");
    graph.input.push(scalar(PROBE));
    graph.output.push(scalar(&probed));
    graph.node.push(NodeProto {
        input: vec![PROBE.to_owned()],
        output: vec![probed],
        name: PROBE.to_owned(),
        op_type: "Abs".to_owned(),
        ..NodeProto::default()
    });
    let mut piece = ModelProto {
        graph: Some(graph),
        ..ModelProto::default()
    };
    let is_default = |set: &OperatorSetIdProto| matches!(set.domain.as_str(), "" | "ai.onnx");
    if !decoded.opset_import.iter().any(is_default) && decoded.ir_version.unwrap_or(0) >= 3 {
        piece.opset_import.push(OperatorSetIdProto {
            domain: String::new(),
            version: 18,
        });
    }
    let mut bytes = model.to_vec();
    bytes.extend(piece.encode_to_vec());
    Ok(Bytes::from(bytes))
}

/// The name of what [`with_constants`] adds.
pub const PROBE: &str = "pararun probe";

fn scalar(name: &str) -> ValueInfoProto {
    const FLOAT: i32 = 1;
    let one = DimensionProto {
        dim_value: Some(1),
        dim_param: None,
    };
    ValueInfoProto {
        name: name.to_owned(),
        r#type: Some(TypeProto {
            tensor_type: Some(TensorTypeProto {
                elem_type: FLOAT,
                shape: Some(TensorShapeProto { dim: vec![one] }),
            }),
        }),
    }
}
