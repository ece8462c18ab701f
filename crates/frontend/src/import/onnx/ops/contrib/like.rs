//! Operators that are like one of the default domain, with other operands between or another order of axes.

use paracompile_plan::OpClass;

use super::super::super::Fault;
use super::super::super::infer::{Effect, Produced, Site};
use super::super::super::value::Value;
use super::super::registry::rule;
use crate::ir::OpKind;

/// A version of the default operator set that all rules know.
pub(super) const VERSION: i64 = 13;

/// What the operator `op_type` of the default domain does with the operands at `positions`.
///
/// Elements of quantised tensors stand for other numbers, so none are evaluated.
pub(super) fn like(
    site: &Site<'_>,
    op_type: &str,
    opset: i64,
    positions: &[usize],
) -> Result<Effect, Fault> {
    let operands: Vec<_> = positions
        .iter()
        .map(|&position| site.optional(position))
        .collect();
    like_of(site, op_type, opset, operands)
}

/// The same with operands of another shape.
pub(super) fn like_of(
    site: &Site<'_>,
    op_type: &str,
    opset: i64,
    operands: Vec<Option<&Value>>,
) -> Result<Effect, Fault> {
    let rule = rule("", op_type).expect("contributed operators are like known ones");
    let mut effect = rule(&Site {
        opset,
        attributes: site.attributes,
        inputs: operands,
        outputs: site.outputs,
        file: site.file,
    })?;
    effect.passes = None;
    effect.parameters_from = usize::MAX;
    for output in &mut effect.outputs {
        output.data = None;
        output.constant = None;
    }
    Ok(effect)
}

/// The same operator on quantised tensors: `positions` are its operands, and all others are scales and zero points.
pub(super) fn quantized(site: &Site<'_>, effect: Effect, positions: &[usize]) -> Effect {
    // The first one may be a condition.
    let operands = positions.iter().rev();
    let last = operands
        .copied()
        .find_map(|position| site.optional(position));
    let dtype = last.map_or_else(Default::default, |value| value.dtype);
    let mut effect = effect.computing_in(dtype);
    if effect.kind == OpKind::View {
        // Its first operand is a scale, and the result has another one than what it is a view of.
        effect.kind = OpKind::Compute(OpClass::Cast);
    }
    let others = (0..site.inputs.len()).filter(|position| !positions.contains(position));
    effect.with_parameters(others)
}

/// An image with channels last as one with channels first.
pub(super) fn channels_first(image: &Value) -> Value {
    let mut first = Value {
        data: None,
        ..image.clone()
    };
    let rank = first.shape.0.len();
    if rank > 2 {
        first.shape.0[1..].rotate_right(1);
    }
    first
}

/// The way back.
pub(super) fn channels_last(mut image: Produced) -> Produced {
    if image.shape.0.len() > 2 {
        image.shape.0[1..].rotate_left(1);
    }
    image
}
