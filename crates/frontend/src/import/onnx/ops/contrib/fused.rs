//! Products with what runs behind them, and activations with what runs before them.

use paracompile_plan::OpClass;

use super::super::super::Fault;
use super::super::super::infer::{Effect, Produced, Rule, Site};
use super::super::super::value::{Value, broadcast, elements};
use super::super::product;
use super::like::{VERSION, channels_first, channels_last, like, like_of};

pub(in super::super) const RULES: &[(&str, Rule)] = &[
    ("BiasAdd", |site| added(site, OpClass::Elementwise, 1)),
    ("BiasGelu", |site| added(site, OpClass::Activation, 9)),
    ("BiasSoftmax", |site| added(site, OpClass::Softmax, 6)),
    ("BiasSplitGelu", split_gelu),
    ("FastGelu", |site| added(site, OpClass::Activation, 9)),
    ("FusedConv", conv),
    ("FusedGemm", |site| {
        activated(site, like(site, "Gemm", VERSION, &[0, 1, 2])?)
    }),
    ("FusedMatMul", matmul),
    ("FusedMatMulActivation", |site| {
        activated(site, matmul(site)?)
    }),
    ("GatherND", |site| like(site, "GatherND", VERSION, &[0, 1])),
    ("Gelu", |site| added(site, OpClass::Activation, 8)),
    ("GemmFastGelu", |site| {
        let effect = like(site, "MatMul", VERSION, &[0, 1])?;
        with_operations(effect, 9)
    }),
    ("NhwcFusedConv", nhwc_conv),
    ("NhwcMaxPool", nhwc_pool),
    ("QuickGelu", |site| added(site, OpClass::Activation, 8)),
    ("TransposeMatMul", matmul),
];

fn with_operations(mut effect: Effect, by_element: u64) -> Result<Effect, Fault> {
    let more = elements(&effect.outputs[0].shape)?.saturating_mul(by_element);
    effect.work.other_flops = effect.work.other_flops.saturating_add(more);
    Ok(effect)
}

/// With the activation that an attribute names.
fn activated(site: &Site<'_>, effect: Effect) -> Result<Effect, Fault> {
    let by_element = match site.attributes.string("activation")? {
        None | Some("") => 0,
        Some("Relu" | "Clip" | "LeakyRelu" | "HardSigmoid" | "HardSwish") => 1,
        Some(_) => 8,
    };
    with_operations(effect, by_element)
}

/// An element-wise function of the first operand with others broadcast to it.
fn added(site: &Site<'_>, class: OpClass, flops: u64) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    for other in site.inputs.iter().skip(1).flatten() {
        if broadcast(&input.shape, &other.shape)? != input.shape {
            return Err(Fault::Mismatch {
                left: input.shape.clone(),
                right: other.shape.clone(),
                why: "what is added has to be broadcast to the input",
            });
        }
    }
    Effect::compute(class, Produced::like(input)).with_flops_per_element(flops)
}

/// The second half of the channels gates the first one.
fn split_gelu(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand_of_rank(0, "X", 1..=usize::MAX, "channels are needed")?;
    let mut shape = input.shape.0.clone();
    let last = shape.len() - 1;
    shape[last] /= 2;
    Effect::compute(OpClass::Activation, Produced::new(input.dtype, shape))
        .with_flops_per_element(11)
}

/// A convolution, another tensor added, and an activation.
fn conv(site: &Site<'_>) -> Result<Effect, Fault> {
    let effect = like(site, "Conv", VERSION, &[0, 1, 2])?;
    summed(site, effect)
}

fn summed(site: &Site<'_>, effect: Effect) -> Result<Effect, Fault> {
    let Some(addend) = site.optional(3) else {
        return activated(site, effect);
    };
    if addend.shape != effect.outputs[0].shape {
        return Err(Fault::Mismatch {
            left: effect.outputs[0].shape.clone(),
            right: addend.shape.clone(),
            why: "what is added has the shape of the result",
        });
    }
    activated(site, with_operations(effect, 1)?)
}

fn nhwc_conv(site: &Site<'_>) -> Result<Effect, Fault> {
    let image = channels_first(site.operand(0, "X")?);
    let operands = vec![Some(&image), site.optional(1), site.optional(2)];
    let mut effect = like_of(site, "Conv", VERSION, operands)?;
    effect.outputs = effect.outputs.into_iter().map(channels_last).collect();
    summed(site, effect)
}

fn nhwc_pool(site: &Site<'_>) -> Result<Effect, Fault> {
    let image = channels_first(site.operand(0, "x")?);
    let mut effect = like_of(site, "MaxPool", VERSION, vec![Some(&image)])?;
    effect.outputs = effect.outputs.into_iter().map(channels_last).collect();
    Ok(effect)
}

/// A matrix product of transposed factors; rotating batches is not known here.
fn matmul(site: &Site<'_>) -> Result<Effect, Fault> {
    for attribute in ["transBatchA", "transBatchB"] {
        if site.attributes.is_set(attribute)? {
            return Err(Fault::Value {
                what: attribute,
                found: "1".to_owned(),
                expected: "transposed batches are not supported",
            });
        }
    }
    let left = transposed(site.operand(0, "A")?, site.attributes.is_set("transA")?);
    let right = transposed(site.operand(1, "B")?, site.attributes.is_set("transB")?);
    product::multiply(&left, &right, left.dtype)
}

fn transposed(matrix: &Value, is_transposed: bool) -> Value {
    let mut value = Value {
        data: None,
        ..matrix.clone()
    };
    let rank = value.shape.0.len();
    if is_transposed && rank > 1 {
        value.shape.0.swap(rank - 1, rank - 2);
    }
    value
}
