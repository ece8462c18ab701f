//! Single operators to measure.

use std::collections::BTreeMap;

use paracompile_frontend::import::onnx::{Attribute, Call};
use paracompile_frontend::ir::DataType;
use paracompile_plan::plan::OperatorRef;

use crate::lower::{Lowered, Operand, Site, Spec, Target, Unsupported, lower};
use crate::opencl::OpenclError;
use crate::solo::{Prepared, Solo};

/// An operator with its operands' and its result's shapes.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    pub(crate) op_type: &'static str,
    pub(crate) attributes: Vec<(&'static str, Attribute)>,
    /// Extents, and whether the operand is constant.
    pub(crate) operands: Vec<(Vec<usize>, bool)>,
    pub(crate) result: Vec<usize>,
}

impl Operator {
    /// A product of matrices.
    pub(crate) fn product(rows: usize, columns: usize, depth: usize, is_constant: bool) -> Self {
        Self {
            op_type: "MatMul",
            attributes: Vec::new(),
            operands: vec![
                (vec![rows, depth], false),
                (vec![depth, columns], is_constant),
            ],
            result: vec![rows, columns],
        }
    }

    /// Its launches on a device.
    pub(crate) fn lower(&self, target: &Target) -> Result<Lowered, Unsupported> {
        let attributes = self.attributes.iter();
        let call = Call {
            at: OperatorRef {
                node: 0,
                inside: Vec::new(),
                output: String::new(),
            },
            name: self.op_type.to_owned(),
            op_type: self.op_type.to_owned(),
            domain: String::new(),
            opset: 17,
            attributes: attributes
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect::<BTreeMap<_, _>>(),
            operands: Vec::new(),
            results: Vec::new(),
            padding: Vec::new(),
        };
        let operands = self.operands.iter().map(|(shape, is_constant)| {
            Some(Operand {
                spec: spec(shape),
                is_constant: *is_constant,
                elements: None,
            })
        });
        let site = Site {
            call: &call,
            operands: operands.collect(),
            results: vec![Some(spec(&self.result))],
        };
        lower(&site, target)
    }

    /// Lowered for a target, with small numbers as operands.
    pub(crate) fn prepare(&self, solo: &Solo, lowered: &Lowered) -> Result<Prepared, OpenclError> {
        let bytes: Vec<Vec<u8>> = self
            .operands
            .iter()
            .map(|(shape, _)| numbers(shape.iter().product()))
            .collect();
        let operands: Vec<Option<&[u8]>> = bytes.iter().map(|bytes| Some(&bytes[..])).collect();
        solo.prepare(lowered, &operands, &[Some(spec(&self.result).bytes())])
    }
}

fn spec(shape: &[usize]) -> Spec {
    Spec {
        dtype: DataType::Float,
        shape: shape.to_vec(),
    }
}

/// Numbers between -1 and 1, none of them denormal.
fn numbers(count: usize) -> Vec<u8> {
    const STEPS: i16 = 97;
    let values = (0..STEPS).cycle().take(count);
    values
        .flat_map(|step| (f32::from(step) / 48.0 - 1.0).to_le_bytes())
        .collect()
}
