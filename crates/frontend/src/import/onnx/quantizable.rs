//! Which operators run on quantised tensors, and what becomes of their operands' scale there.
//!
//! The list is what runtimes agree on: the selectors of onnxruntime (`core/optimizer/qdq_transformer/selectors_actions`), of which
//! `docs/quantised-models.md` names the lists.
//! An operator that is not here keeps its floating-point operands, with the conversions around it.

use paracompile_plan::OpClass;

use crate::ir::OpKind;

use super::link::Links;
use super::operator_sets::{DEFAULT, domain};
use super::propagate::Operator;

/// How an operator runs on quantised operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Elements move and stay what they are, so the result has the scale of the operand.
    Moves,
    /// A product, whose sums can leave in floating point or quantised.
    Multiplies,
    /// Anything else with a result of a scale of its own.
    Computes,
    /// Its result is no floating-point number.
    Decides,
}

/// The role of an operator; `None` if it runs on floating-point operands only.
pub(super) fn role(links: &Links<'_>, operator: &Operator) -> Option<Role> {
    let node = links.nodes[operator.node].proto;
    if domain(&node.domain) != DEFAULT || operator.control.is_some() {
        return None;
    }
    match node.op_type.as_str() {
        "DepthToSpace" | "Expand" | "Flatten" | "Gather" | "GatherElements" | "GatherND"
        | "GlobalMaxPool" | "Identity" | "MaxPool" | "Pad" | "Reshape" | "Resize" | "Slice"
        | "SpaceToDepth" | "Split" | "Squeeze" | "Tile" | "Transpose" | "Unsqueeze"
        | "Upsample" => Some(Role::Moves),
        "Conv" | "ConvTranspose" | "Gemm" | "MatMul" => Some(Role::Multiplies),
        "Abs"
        | "Add"
        | "AveragePool"
        | "BatchNormalization"
        | "Ceil"
        | "Clip"
        | "Concat"
        | "Cos"
        | "Div"
        | "Elu"
        | "Erf"
        | "Exp"
        | "Floor"
        | "Gelu"
        | "GlobalAveragePool"
        | "GridSample"
        | "GroupNormalization"
        | "HardSigmoid"
        | "HardSwish"
        | "InstanceNormalization"
        | "LayerNormalization"
        | "LeakyRelu"
        | "Log"
        | "LogSoftmax"
        | "LpNormalization"
        | "LRN"
        | "Max"
        | "Mean"
        | "Min"
        | "Mish"
        | "Mul"
        | "Neg"
        | "Pow"
        | "PRelu"
        | "ReduceL2"
        | "ReduceMax"
        | "ReduceMean"
        | "ReduceMin"
        | "ReduceProd"
        | "ReduceSum"
        | "Relu"
        | "RMSNormalization"
        | "Round"
        | "ScatterElements"
        | "ScatterND"
        | "Sigmoid"
        | "Sign"
        | "Sin"
        | "Softmax"
        | "Softplus"
        | "Sqrt"
        | "Sub"
        | "Sum"
        | "Swish"
        | "Tanh"
        | "Where" => Some(Role::Computes),
        "ArgMax" | "ArgMin" | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" => {
            Some(Role::Decides)
        }
        _ => None,
    }
}

/// Whether a constant operand at this position may stay in floating point: biases, and scales and shifts of normalisations.
pub(super) fn takes_real(role: Role, kind: OpKind, position: usize) -> bool {
    match role {
        Role::Multiplies => position >= 2,
        Role::Computes => {
            let is_normalization = kind == OpKind::Compute(OpClass::LayerNorm)
                || kind == OpKind::Compute(OpClass::BatchNorm);
            is_normalization && position >= 1
        }
        Role::Moves | Role::Decides => false,
    }
}

/// Whether an operator cuts values off and does nothing else, as storing a quantised number does too.
pub(super) fn clamps(links: &Links<'_>, operator: &Operator) -> bool {
    let node = links.nodes[operator.node].proto;
    domain(&node.domain) == DEFAULT
        && matches!(node.op_type.as_str(), "Relu" | "Clip")
        && matches!(operator.inputs.as_slice(), [Some(_)])
}

/// Whether a node converts between quantised and floating-point numbers.
pub(super) fn converts(links: &Links<'_>, node: usize, op_type: &str) -> bool {
    let node = links.nodes[node].proto;
    node.op_type == op_type && matches!(domain(&node.domain), DEFAULT | "com.microsoft")
}

/// Whether a node of constants leaves their values alone, so that what was quantised before it is so behind it.
pub(super) fn keeps_values(links: &Links<'_>, node: usize) -> bool {
    let node = links.nodes[node].proto;
    domain(&node.domain) == DEFAULT
        && matches!(
            node.op_type.as_str(),
            "Cast"
                | "CastLike"
                | "Expand"
                | "Flatten"
                | "Identity"
                | "Reshape"
                | "Slice"
                | "Squeeze"
                | "Transpose"
                | "Unsqueeze"
        )
}
