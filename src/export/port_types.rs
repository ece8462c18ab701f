//! Types and extents of what goes from stage to stage, as declarations of a model.
//!
//! What follows from the inputs goes before what the file declares, which may lack extents or contradict them.

use std::collections::HashMap;

use crate::ir::{DataType, Tensor, VerifiedGraph};

use super::ExportError;
use super::protobuf::Pieces;
use super::written::Written;

/// Types and extents of tensors of the file, by name.
pub(super) struct Types<'a, 'm> {
    imported: HashMap<&'a str, &'a Tensor>,
    /// Tensors that folded nodes made from others of the same type, with what was imported.
    same: HashMap<&'m str, &'m str>,
    /// Declarations in the file.
    declared: HashMap<&'m str, &'m [u8]>,
    /// Whether extents are those of every frame.
    is_exact: bool,
}

impl<'a, 'm> Types<'a, 'm> {
    pub(super) fn of(
        written: &Written<'m>,
        order: &[usize],
        graph: &'a VerifiedGraph,
        is_exact: bool,
    ) -> Self {
        let imported: HashMap<&str, &Tensor> = graph
            .tensors
            .iter()
            .map(|(_, tensor)| (tensor.name.as_str(), tensor))
            .collect();
        let mut same = HashMap::new();
        for &index in order {
            let node = &written.nodes[index];
            let keeps_type = ["Identity", "Dropout", "BatchNormalization"]
                .iter()
                .any(|op_type| node.is(op_type));
            if let (true, [input, ..], [output, ..]) = (keeps_type, &*node.inputs, &*node.outputs) {
                let source = same.get(input).copied().unwrap_or(*input);
                same.insert(*output, source);
            }
        }
        let declared = written.values.iter().chain(&written.outputs);
        Self {
            imported,
            same,
            declared: declared.map(|value| (value.name, value.message)).collect(),
            is_exact,
        }
    }

    /// The imported tensor of this name, or the one of the same type that folded nodes made it from.
    pub(super) fn tensor(&self, name: &str) -> Option<&'a Tensor> {
        let source = || self.imported.get(self.same.get(name)?);
        self.imported.get(name).or_else(source).copied()
    }

    /// A declaration of a tensor between stages.
    pub(super) fn port(&self, name: &'m str) -> Result<Pieces<'m>, ExportError> {
        let found = self.tensor(name).and_then(|tensor| {
            element_type(tensor.dtype).map(|element_type| (element_type, &tensor.shape))
        });
        let Some((element_type, extents)) = found else {
            let declared = self.declared.get(name).copied();
            return declared
                .map(Pieces::kept)
                .ok_or_else(|| ExportError::UnknownType(name.to_owned()));
        };
        let mut shape = Pieces::default();
        for &extent in &extents.0 {
            let mut dimension = Pieces::default();
            // What depends on values has another extent in every frame.
            if self.is_exact {
                dimension.integer(1, extent);
            }
            shape.message(1, dimension);
        }
        let mut tensor = Pieces::default();
        tensor.integer(1, element_type);
        tensor.message(2, shape);
        let mut kind = Pieces::default();
        kind.message(1, tensor);
        let mut value = Pieces::default();
        value.text(1, name);
        value.message(2, kind);
        Ok(value)
    }
}

/// ONNX's number of an element type; `None` where ours stands for several of ONNX's.
const fn element_type(dtype: DataType) -> Option<u64> {
    Some(match dtype {
        DataType::Float => 1,
        DataType::Uint8 => 2,
        DataType::Int8 => 3,
        DataType::Uint16 => 4,
        DataType::Int16 => 5,
        DataType::Int32 => 6,
        DataType::Int64 => 7,
        DataType::String => 8,
        DataType::Bool => 9,
        DataType::Float16 => 10,
        DataType::Double => 11,
        DataType::Uint32 => 12,
        DataType::Uint64 => 13,
        DataType::Complex64 => 14,
        DataType::Complex128 => 15,
        DataType::BFloat16 => 16,
        DataType::Uint4 => 21,
        DataType::Int4 => 22,
        DataType::Float4 => 23,
        DataType::Uint2 => 25,
        DataType::Int2 => 26,
        DataType::Float8 | DataType::Float6 => return None,
    })
}
