//! Operators on quantised tensors, whose scales and zero points stand between the operands.

use super::super::super::Fault;
use super::super::super::infer::{Effect, Rule, Site};
use super::super::super::value::elements;
use super::super::{convolution, product, quantization};
use super::like::{VERSION, channels_first, channels_last, like, like_of, quantized};
use crate::ir::DataType;

pub(in super::super) const RULES: &[(&str, Rule)] = &[
    ("DequantizeLinear", quantization::dequantize),
    ("MatMulInteger16", product::matmul_integer),
    ("QGemm", gemm),
    ("QLinearAdd", |site| between(site, "Add", &[0, 3])),
    ("QLinearAveragePool", |site| pool(site, "AveragePool")),
    ("QLinearConcat", concat),
    ("QLinearConv", conv),
    ("QLinearGlobalAveragePool", |site| {
        pool(site, "GlobalAveragePool")
    }),
    ("QLinearLeakyRelu", |site| between(site, "LeakyRelu", &[0])),
    ("QLinearMul", |site| between(site, "Mul", &[0, 3])),
    ("QLinearReduceMean", |site| {
        between(site, "ReduceMean", &[0])
    }),
    ("QLinearSigmoid", |site| between(site, "Sigmoid", &[0])),
    ("QLinearSoftmax", softmax),
    ("QLinearWhere", select),
    ("QuantizeLinear", quantization::quantize),
];

fn between(site: &Site<'_>, op_type: &str, positions: &[usize]) -> Result<Effect, Fault> {
    Ok(quantized(
        site,
        like(site, op_type, VERSION, positions)?,
        positions,
    ))
}

/// The axis means what it does in the version that an attribute says.
fn softmax(site: &Site<'_>) -> Result<Effect, Fault> {
    let opset = site.attributes.int_or("opset", VERSION)?;
    Ok(quantized(site, like(site, "Softmax", opset, &[0])?, &[0]))
}

fn select(site: &Site<'_>) -> Result<Effect, Fault> {
    // The condition is no number.
    let positions = [0, 1, 4];
    Ok(quantized(
        site,
        like(site, "Where", VERSION, &positions)?,
        &positions,
    ))
}

/// Scale and zero point of the result come first, then a tensor with its own scale and zero point each.
fn concat(site: &Site<'_>) -> Result<Effect, Fault> {
    let positions: Vec<usize> = (2..site.inputs.len()).step_by(3).collect();
    Ok(quantized(
        site,
        like(site, "Concat", VERSION, &positions)?,
        &positions,
    ))
}

fn pool(site: &Site<'_>, op_type: &str) -> Result<Effect, Fault> {
    if !site.attributes.is_set("channels_last")? {
        return between(site, op_type, &[0]);
    }
    let image = channels_first(site.operand(0, "X")?);
    let mut effect = like_of(site, op_type, VERSION, vec![Some(&image)])?;
    effect.outputs = effect.outputs.into_iter().map(channels_last).collect();
    Ok(quantized(site, effect, &[0]))
}

fn conv(site: &Site<'_>) -> Result<Effect, Fault> {
    if !site.attributes.is_set("channels_last")? {
        return convolution::qlinear_conv(site);
    }
    let image = channels_first(site.operand(0, "x")?);
    let mut operands = site.inputs.clone();
    operands[0] = Some(&image);
    let mut effect = convolution::qlinear_conv(&Site {
        opset: VERSION,
        attributes: site.attributes,
        inputs: operands,
        outputs: site.outputs,
        file: site.file,
    })?;
    effect.outputs = effect.outputs.into_iter().map(channels_last).collect();
    Ok(effect)
}

/// Without a scale of the result, that is in floating point.
fn gemm(site: &Site<'_>) -> Result<Effect, Fault> {
    let positions = [0, 3, 6];
    let left = site.operand(0, "A")?.dtype;
    let mut effect = like(site, "Gemm", VERSION, &positions)?;
    effect.outputs[0].dtype = site
        .optional(8)
        .map_or(DataType::Float, |zero_point| zero_point.dtype);
    Ok(quantized(site, effect, &positions).computing_in(left))
}

/// Two quantised tensors, and a result in floating point.
pub(super) fn to_float(site: &Site<'_>) -> Result<Effect, Fault> {
    let left = site.operand(0, "A")?;
    let scale = site.operand(2, "a_scale")?;
    let mut effect = product::multiply(left, site.operand(1, "B")?, scale.dtype)?;
    if site.optional(6).is_some() {
        effect.work.other_flops = elements(&effect.outputs[0].shape)?;
    }
    Ok(effect.with_parameters(2..6).computing_in(left.dtype))
}

/// The first factor is quantised on the way, by what it holds.
pub(super) fn quantizing(site: &Site<'_>) -> Result<Effect, Fault> {
    let left = site.operand(0, "A")?;
    let right = site.operand(1, "B")?;
    let mut effect = product::multiply(left, right, left.dtype)?;
    let quantised = elements(&left.shape)?.saturating_mul(4);
    let biased = match site.optional(4) {
        Some(_) => elements(&effect.outputs[0].shape)?,
        None => 0,
    };
    effect.work.other_flops = quantised.saturating_add(biased);
    Ok(effect.with_parameters(2..4).computing_in(right.dtype))
}
