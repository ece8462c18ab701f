//! Measures and decodes the bytes of a model.
//!
//! Protobuf amplifies: a message of two bytes becomes a struct of hundreds, so the file is measured first, by walking its field headers
//! with a stack on the heap. The walk skips payloads without touching them, and says where a truncated file ends.
//! Then prost decodes; its recursion limit stays, so no file can overflow the stack.

use bytes::Bytes;
use prost::Message;

use super::wire::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, SparseTensorProto,
    StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto,
    ValueInfoProto,
};
use super::{ImportError, foreign, limits};

/// What the protobuf decoder objects to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(prost::DecodeError);

impl From<prost::DecodeError> for DecodeError {
    fn from(error: prost::DecodeError) -> Self {
        Self(error)
    }
}

/// Decodes a model whose size is within the limits.
pub(super) fn decode(bytes: &Bytes) -> Result<ModelProto, ImportError> {
    if bytes.is_empty() {
        return Err(ImportError::Empty);
    }
    decode_model(bytes).map_err(|error| match foreign::format(bytes) {
        Some(format) if is_no_model(&error) => ImportError::Foreign(format),
        _ => error,
    })
}

/// Whether the file may be of another format altogether.
fn is_no_model(error: &ImportError) -> bool {
    matches!(
        error,
        ImportError::Malformed { .. } | ImportError::Decode(_) | ImportError::NoGraph
    )
}

fn decode_model(bytes: &Bytes) -> Result<ModelProto, ImportError> {
    measure(bytes)?;
    let model = ModelProto::decode(bytes.clone())
        .map_err(|error| ImportError::Decode(DecodeError(error)))?;
    if model.graph.is_none() {
        return Err(ImportError::NoGraph);
    }
    Ok(model)
}

/// Messages of `onnx.proto` that contain messages, and one for all that do not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    SparseTensor,
    Value,
    Type,
    TensorType,
    Shape,
    Function,
    Leaf,
}

impl Kind {
    /// What the field `number` of this message is; `None` if it is no message that we decode.
    const fn child(self, number: u64) -> Option<Self> {
        match (self, number) {
            (Self::Model, 7) | (Self::Attribute, 6 | 11) => Some(Self::Graph),
            (Self::Model, 25) => Some(Self::Function),
            (Self::Model, 8) | (Self::Function, 9) | (Self::Tensor, 13) | (Self::Shape, 1) => {
                Some(Self::Leaf)
            }
            (Self::Graph, 1) | (Self::Function, 7) => Some(Self::Node),
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) | (Self::SparseTensor, 1 | 2) => {
                Some(Self::Tensor)
            }
            (Self::Graph, 11..=13) | (Self::Function, 12) => Some(Self::Value),
            (Self::Graph, 15) | (Self::Attribute, 22) => Some(Self::SparseTensor),
            (Self::Node, 5) | (Self::Function, 11) => Some(Self::Attribute),
            (Self::Value, 2) => Some(Self::Type),
            (Self::Type, 1) => Some(Self::TensorType),
            (Self::TensorType, 2) => Some(Self::Shape),
            (
                Self::Model
                | Self::Graph
                | Self::Node
                | Self::Attribute
                | Self::Tensor
                | Self::SparseTensor
                | Self::Value
                | Self::Type
                | Self::TensorType
                | Self::Shape
                | Self::Function
                | Self::Leaf,
                _,
            ) => None,
        }
    }

    /// Whether the field `number` is a list of numbers that decodes to eight bytes an element.
    const fn is_number_list(self, number: u64) -> bool {
        matches!(
            (self, number),
            (Self::Attribute, 7 | 8) | (Self::Tensor, 1) | (Self::SparseTensor, 3)
        )
    }

    /// Bytes of the struct that a message decodes to.
    const fn size(self) -> u64 {
        let size = match self {
            Self::Model => size_of::<ModelProto>(),
            Self::Graph => size_of::<GraphProto>(),
            Self::Node => size_of::<NodeProto>(),
            Self::Attribute => size_of::<AttributeProto>(),
            Self::Tensor => size_of::<TensorProto>(),
            Self::SparseTensor => size_of::<SparseTensorProto>(),
            Self::Value => size_of::<ValueInfoProto>(),
            Self::Type => size_of::<TypeProto>(),
            Self::TensorType => size_of::<TensorTypeProto>(),
            Self::Shape => size_of::<TensorShapeProto>(),
            Self::Function => size_of::<FunctionProto>(),
            Self::Leaf => size_of::<StringStringEntryProto>(),
        };
        size as u64
    }
}

/// Bytes of a list's element that says where text or a payload is.
const REFERENCE: u64 = size_of::<Bytes>() as u64;

/// Refuses what would take too much time or memory: a message of two bytes decodes to hundreds.
fn measure(bytes: &[u8]) -> Result<(), ImportError> {
    let most = limits::DECODED + limits::DECODED_PER_BYTE.saturating_mul(bytes.len() as u64);
    let mut memory = 0u64;
    let mut nodes = 0u64;
    let mut messages = 0u64;
    let mut fields = 0u64;
    let mut position = 0;
    let mut open = vec![(Kind::Model, bytes.len())];
    while let Some(&(kind, end)) = open.last() {
        if position == end {
            open.pop();
            continue;
        }
        let field = Field::read(bytes, position, end)?;
        fields += 1;
        position = field.end;
        if kind.is_number_list(field.number) {
            fields += field.length as u64;
            memory += 8 * field.length as u64;
        } else if field.is_delimited {
            memory += REFERENCE;
        }
        if let Some(child) = kind.child(field.number).filter(|_| field.is_delimited) {
            messages += 1;
            memory += child.size();
            nodes += u64::from(child == Kind::Node);
            position = field.end - field.length;
            open.push((child, field.end));
        }
        within(nodes, limits::NODES, "nodes")?;
        within(messages, limits::MESSAGES, "protobuf messages")?;
        within(fields, limits::FIELDS, "protobuf fields")?;
        if memory > most {
            return Err(ImportError::Inflated { most });
        }
    }
    Ok(())
}

fn within(count: u64, limit: u64, what: &'static str) -> Result<(), ImportError> {
    if count > limit {
        Err(ImportError::TooLarge { what, limit })
    } else {
        Ok(())
    }
}

/// The header of a field.
struct Field {
    number: u64,
    is_delimited: bool,
    /// Bytes of the payload.
    length: usize,
    end: usize,
}

impl Field {
    fn read(bytes: &[u8], start: usize, limit: usize) -> Result<Self, ImportError> {
        let malformed = |what| ImportError::Malformed {
            offset: start as u64,
            what,
        };
        let too_short = || malformed("a field ends behind its message");
        let (key, after_key) = varint(bytes, start, limit).ok_or_else(too_short)?;
        let number = key >> 3;
        if number == 0 {
            return Err(malformed("field number 0 does not exist"));
        }
        let (length, payload) = match key & 7 {
            0 => {
                let (_, end) = varint(bytes, after_key, limit).ok_or_else(too_short)?;
                (end - after_key, after_key)
            }
            1 => (8, after_key),
            2 => {
                let (length, payload) = varint(bytes, after_key, limit).ok_or_else(too_short)?;
                (usize::try_from(length).map_err(|_| too_short())?, payload)
            }
            5 => (4, after_key),
            _ => return Err(malformed("a field has a wire type that ONNX does not use")),
        };
        let end = payload
            .checked_add(length)
            .filter(|&end| end <= limit)
            .ok_or_else(too_short)?;
        Ok(Self {
            number,
            is_delimited: key & 7 == 2,
            length,
            end,
        })
    }
}

/// The variable-length integer at `start` and the position behind it; `None` if it does not end before `limit`.
pub(super) fn varint(bytes: &[u8], start: usize, limit: usize) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (count, &byte) in bytes.get(start..limit)?.iter().take(10).enumerate() {
        // The tenth byte holds one bit; protobuf decoders drop what is above it.
        value |= u64::from(byte & 0x7f) << (7 * count);
        if byte & 0x80 == 0 {
            return Some((value, start + count + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncation_is_located() {
        let model = ModelProto {
            graph: Some(GraphProto {
                name: "g".repeat(100),
                ..GraphProto::default()
            }),
            ..ModelProto::default()
        };
        let bytes = model.encode_to_vec();
        let cut = Bytes::copy_from_slice(&bytes[..50]);
        let error = decode(&cut).unwrap_err();
        assert_eq!(
            error.to_string(),
            "byte 0: a field ends behind its message; the file is truncated or not an ONNX model"
        );
    }

    #[test]
    fn groups_and_text_are_refused() {
        for bytes in [
            &b"\x0b\x0c"[..],
            b"# not a model\n",
            b"\x89PNG\r\n\x1a\n",
            &[0u8; 64],
        ] {
            let error = decode(&Bytes::copy_from_slice(bytes)).unwrap_err();
            assert!(matches!(error, ImportError::Malformed { .. }), "{error}");
        }
    }

    #[test]
    fn empty_messages_cannot_blow_up_memory() {
        // Two bytes a node in the file, some two hundred in memory.
        let body = [0x0a, 0x00].repeat(1_000_001);
        let mut bytes = vec![0x3a];
        prost::encoding::encode_varint(body.len() as u64, &mut bytes);
        bytes.extend(body);
        let error = decode(&Bytes::from(bytes)).unwrap_err();
        assert!(matches!(error, ImportError::Inflated { .. }), "{error}");
    }

    #[test]
    fn a_model_without_a_graph_is_none() {
        let bytes = ModelProto {
            ir_version: Some(8),
            ..ModelProto::default()
        }
        .encode_to_vec();
        assert!(matches!(
            decode(&Bytes::from(bytes)),
            Err(ImportError::NoGraph)
        ));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_stack_overflow() {
        let mut graph = GraphProto::default();
        for _ in 0..60 {
            graph = GraphProto {
                node: vec![NodeProto {
                    op_type: "If".to_owned(),
                    attribute: vec![AttributeProto {
                        g: Some(Box::new(graph)),
                        ..AttributeProto::default()
                    }],
                    ..NodeProto::default()
                }],
                ..GraphProto::default()
            };
        }
        let model = ModelProto {
            graph: Some(graph),
            ..ModelProto::default()
        };
        let error = decode(&Bytes::from(model.encode_to_vec())).unwrap_err();
        assert!(matches!(error, ImportError::Decode(_)), "{error}");
    }
}
