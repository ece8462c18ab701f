//! Which family lowers an operator.

use super::anchor::anchor;
use super::epilogue::Epilogue;
use super::{
    Lowered, Site, Target, Unsupported, gather, generate, movement, normalization, pointwise,
    pooling, reduction, resize, softmax,
};

/// Lowers one operator for a device.
pub fn lower(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    // Whatever computes nothing needs no kernel.
    let mut results = site.results.iter().flatten().peekable();
    if results.peek().is_some() && results.all(|result| result.elements() == 0) {
        return Ok(Lowered::default());
    }
    if let Some(anchor) = anchor(site) {
        return (anchor.lower)(site, &Epilogue::default(), target);
    }
    let family = match site.call.domain.as_str() {
        "" => of_standard(&site.call.op_type),
        "com.microsoft" => of_contrib(site),
        _ => None,
    };
    match family {
        Some(family) => family(site, target),
        None => Err(site.unsupported("no kernel computes it")),
    }
}

type Family = fn(&Site<'_>, &Target) -> Result<Lowered, Unsupported>;

fn of_standard(op_type: &str) -> Option<Family> {
    Some(match op_type {
        "Abs" | "Acos" | "Acosh" | "Asin" | "Asinh" | "Atan" | "Atanh" | "BitwiseNot" | "Ceil"
        | "Celu" | "Cos" | "Cosh" | "Elu" | "Erf" | "Exp" | "Floor" | "Gelu" | "HardSigmoid"
        | "HardSwish" | "LeakyRelu" | "Log" | "Mish" | "Neg" | "Reciprocal" | "Relu" | "Round"
        | "Selu" | "Shrink" | "Sigmoid" | "Sign" | "Sin" | "Sinh" | "Softplus" | "Softsign"
        | "Sqrt" | "Swish" | "Tan" | "Tanh" | "ThresholdedRelu" => pointwise::lower_unary,
        "Add" | "And" | "BitShift" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" | "Div"
        | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "Mod" | "Mul"
        | "Or" | "PRelu" | "Pow" | "Sub" | "SwiGLU" | "Xor" => pointwise::lower_binary,
        "Max" | "Mean" | "Min" | "Sum" => pointwise::lower_variadic,
        "IsInf" | "IsNaN" | "Not" => pointwise::lower_predicate,
        "Clip" => pointwise::lower_clip,
        "Where" => pointwise::lower_where,
        "Cast" | "CastLike" => pointwise::lower_cast,
        "BatchNormalization" => pointwise::lower_batch_normalization,
        "Flatten" | "Identity" | "Reshape" | "Squeeze" | "Unsqueeze" => pointwise::lower_copy,
        "Dropout" => movement::lower_dropout,
        "Transpose" => movement::lower_transpose,
        "Expand" => movement::lower_expand,
        "Slice" => movement::lower_slice,
        "Tile" => movement::lower_tile,
        "DepthToSpace" | "SpaceToDepth" => movement::lower_depth,
        "Concat" => movement::lower_concat,
        "Split" => movement::lower_split,
        "ConstantOfShape" => generate::lower_constant_of_shape,
        "EyeLike" => generate::lower_diagonal,
        "Pad" => generate::lower_pad,
        "Trilu" => generate::lower_triangle,
        "Gather" => gather::lower_gather,
        "GatherElements" => gather::lower_gather_elements,
        "GatherND" => gather::lower_gather_tuples,
        "OneHot" => gather::lower_one_hot,
        "Scatter" | "ScatterElements" => gather::lower_scatter_elements,
        "ScatterND" => gather::lower_scatter_tuples,
        "AveragePool" | "LpPool" | "MaxPool" => pooling::lower_pool,
        "GlobalAveragePool" | "GlobalMaxPool" | "ReduceL1" | "ReduceL2" | "ReduceLogSum"
        | "ReduceLogSumExp" | "ReduceMax" | "ReduceMean" | "ReduceMin" | "ReduceProd"
        | "ReduceSum" | "ReduceSumSquare" => reduction::lower_reduction,
        "ArgMax" | "ArgMin" => reduction::lower_extreme,
        "CumSum" => reduction::lower_running_sum,
        "Hardmax" | "LogSoftmax" | "Softmax" => softmax::lower_softmax,
        "LayerNormalization" | "RMSNormalization" | "SimplifiedLayerNormalization" => {
            normalization::lower_layers
        }
        "GroupNormalization" | "InstanceNormalization" => normalization::lower_groups,
        "LRN" => normalization::lower_across_channels,
        "LpNormalization" => normalization::lower_unit,
        "Resize" | "Upsample" => resize::lower_resize,
        _ => return None,
    })
}

/// Operators that exporters for ONNX Runtime write.
fn of_contrib(site: &Site<'_>) -> Option<Family> {
    Some(match site.call.op_type.as_str() {
        "FastGelu" if site.operands.len() > 1 => pointwise::lower_biased,
        "BiasGelu" => pointwise::lower_biased,
        "FastGelu" | "Gelu" | "QuickGelu" => pointwise::lower_unary,
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => normalization::lower_skip,
        _ => return None,
    })
}
