//! The identity of a model: SHA-256 over what the importer decodes, without the payloads of weights.
//!
//! Covered, in file order, each text and list preceded by its length: the IR version; the imported operator sets; of the graph, its
//! inputs, outputs and declared values (name, element type, extents or symbols), its constants (name, type, extents, and either the
//! external location, offset and length or the number of payload bytes inside), and its nodes (domain, type, name, operands, results,
//! attributes by value, with their tensors and graphs treated alike); and the model's functions.
//! The elements of `int64` tensors with at most [`limits::INTEGERS`] elements are covered too: ONNX keeps shapes, axes and bounds in
//! them, and never trained parameters.
//!
//! Not covered: the file's name and place, the elements of all other tensors, documentation strings and metadata.
//! So retraining a network keeps its digest, and any change of its structure changes it.

use paracompile_plan::hexadecimal;
use sha2::{Digest, Sha256};

use super::limits;
use super::wire::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, SparseTensorProto,
    TensorProto, ValueInfoProto,
};

/// The digest in lower-case hexadecimal.
pub(super) fn digest(model: &ModelProto) -> String {
    let mut writer = Writer(Sha256::new());
    writer.model(model);
    hexadecimal(&writer.0.finalize())
}

struct Writer(Sha256);

impl Writer {
    fn number(&mut self, value: i64) {
        self.0.update(value.to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        self.0.update((length as u64).to_le_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        self.length(text.len());
        self.0.update(text);
    }

    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        self.length(items.len());
        for each in items {
            item(self, each);
        }
    }

    fn optional<T>(&mut self, value: Option<&T>, write: impl FnOnce(&mut Self, &T)) {
        self.length(usize::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn model(&mut self, model: &ModelProto) {
        self.optional(model.ir_version.as_ref(), |writer, &version| {
            writer.number(version);
        });
        self.list(&model.opset_import, Self::opset);
        self.optional(model.graph.as_ref(), Self::graph);
        self.list(&model.functions, |writer, function| {
            for text in [&function.domain, &function.name, &function.overload] {
                writer.text(text.as_bytes());
            }
            writer.list(&function.input, |writer, name| writer.text(name.as_bytes()));
            writer.list(&function.output, |writer, name| {
                writer.text(name.as_bytes());
            });
            writer.list(&function.attribute, |writer, name| {
                writer.text(name.as_bytes());
            });
            writer.list(&function.attribute_proto, Self::attribute);
            writer.list(&function.opset_import, Self::opset);
            writer.list(&function.value_info, Self::value);
            writer.list(&function.node, Self::node);
        });
    }

    fn opset(&mut self, opset: &OperatorSetIdProto) {
        self.text(opset.domain.as_bytes());
        self.number(opset.version);
    }

    /// Nested graphs recurse; the decoder's limit bounds the depth.
    fn graph(&mut self, graph: &GraphProto) {
        for values in [&graph.input, &graph.output, &graph.value_info] {
            self.list(values, Self::value);
        }
        self.list(&graph.initializer, Self::tensor);
        self.list(&graph.sparse_initializer, Self::sparse_tensor);
        self.list(&graph.node, Self::node);
    }

    fn value(&mut self, value: &ValueInfoProto) {
        self.text(value.name.as_bytes());
        let tensor = value
            .r#type
            .as_ref()
            .and_then(|declared| declared.tensor_type.as_ref());
        self.optional(tensor, |writer, tensor| {
            writer.number(i64::from(tensor.elem_type));
            writer.optional(tensor.shape.as_ref(), |writer, shape| {
                writer.list(&shape.dim, |writer, dimension| {
                    writer.optional(dimension.dim_value.as_ref(), |writer, &extent| {
                        writer.number(extent);
                    });
                    writer.optional(dimension.dim_param.as_ref(), |writer, name| {
                        writer.text(name.as_bytes());
                    });
                });
            });
        });
    }

    fn node(&mut self, node: &NodeProto) {
        for text in [&node.domain, &node.op_type, &node.overload, &node.name] {
            self.text(text.as_bytes());
        }
        self.list(&node.input, |writer, name| writer.text(name.as_bytes()));
        self.list(&node.output, |writer, name| writer.text(name.as_bytes()));
        self.list(&node.attribute, Self::attribute);
    }

    fn attribute(&mut self, attribute: &AttributeProto) {
        self.text(attribute.name.as_bytes());
        self.number(i64::from(attribute.r#type));
        self.text(attribute.ref_attr_name.as_bytes());
        self.optional(attribute.f.as_ref(), |writer, value| {
            writer.0.update(value.to_le_bytes());
        });
        self.optional(attribute.i.as_ref(), |writer, &value| writer.number(value));
        self.optional(attribute.s.as_ref(), |writer, text| writer.text(text));
        self.optional(attribute.t.as_deref(), Self::tensor);
        self.optional(attribute.g.as_deref(), Self::graph);
        self.optional(attribute.sparse_tensor.as_deref(), Self::sparse_tensor);
        self.list(&attribute.floats, |writer, value| {
            writer.0.update(value.to_le_bytes());
        });
        self.list(&attribute.ints, |writer, &value| writer.number(value));
        self.list(&attribute.strings, |writer, text| writer.text(text));
        self.list(&attribute.tensors, Self::tensor);
        self.list(&attribute.graphs, Self::graph);
    }

    fn sparse_tensor(&mut self, tensor: &SparseTensorProto) {
        self.list(&tensor.dims, |writer, &extent| writer.number(extent));
        self.optional(tensor.values.as_ref(), Self::tensor);
        self.optional(tensor.indices.as_ref(), Self::tensor);
    }

    fn tensor(&mut self, tensor: &TensorProto) {
        const INT64: i32 = 7;
        self.text(tensor.name.as_bytes());
        self.number(i64::from(tensor.data_type));
        self.list(&tensor.dims, |writer, &extent| writer.number(extent));
        self.number(i64::from(tensor.data_location));
        self.list(&tensor.external_data, |writer, entry| {
            writer.text(entry.key.as_bytes());
            writer.text(entry.value.as_bytes());
        });
        let typed = [
            &tensor.float_data,
            &tensor.int32_data,
            &tensor.string_data,
            &tensor.int64_data,
            &tensor.double_data,
            &tensor.uint64_data,
        ];
        let pieces = typed.into_iter().flatten().chain(&tensor.raw_data);
        let is_read = tensor.data_type == INT64
            && tensor
                .dims
                .iter()
                .try_fold(1u64, |count, &extent| {
                    count.checked_mul(u64::try_from(extent).ok()?)
                })
                .is_some_and(|count| count <= limits::INTEGERS);
        for piece in pieces {
            // A payload of another size than the shape says is refused later and must not be read whole here.
            if is_read && piece.len() as u64 <= limits::INTEGERS * 10 {
                self.text(piece);
            } else {
                self.length(piece.len());
            }
        }
    }
}
