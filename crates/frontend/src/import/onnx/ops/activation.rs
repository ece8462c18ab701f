//! Unary element-wise functions.
//!
//! By convention a comparison or product costs one operation an element and a transcendental function eight.

use paracompile_plan::OpClass;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Data, broadcast, larger, smaller};
use crate::ir::DataType;

const SIMPLE: u64 = 1;
const TRANSCENDENTAL: u64 = 8;

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Abs", |site| evaluated(site, i64::checked_abs, f64::abs)),
    ("Acos", transcendental),
    ("Acosh", transcendental),
    ("Asin", transcendental),
    ("Asinh", transcendental),
    ("Atan", transcendental),
    ("Atanh", transcendental),
    ("BitwiseNot", |site| evaluated(site, |_| None, |_| f64::NAN)),
    ("Ceil", |site| evaluated(site, Some, f64::ceil)),
    ("Celu", transcendental),
    ("Clip", clip),
    ("Cos", transcendental),
    ("Cosh", transcendental),
    ("Elu", transcendental),
    ("Erf", transcendental),
    ("Exp", transcendental),
    ("Floor", |site| evaluated(site, Some, f64::floor)),
    ("Gelu", transcendental),
    ("HardSigmoid", simple),
    ("HardSwish", simple),
    ("IsInf", test),
    ("IsNaN", test),
    ("LeakyRelu", simple),
    ("Log", transcendental),
    ("Mish", transcendental),
    ("Neg", |site| {
        evaluated(site, i64::checked_neg, |value| -value)
    }),
    ("Not", |site| {
        evaluated(site, |value| Some(i64::from(value == 0)), |_| f64::NAN)
    }),
    ("PRelu", prelu),
    ("Reciprocal", |site| evaluated(site, |_| None, f64::recip)),
    ("Relu", |site| {
        evaluated(site, |value| Some(value.max(0)), |value| larger(value, 0.0))
    }),
    ("Round", |site| evaluated(site, Some, f64::round_ties_even)),
    ("Selu", transcendental),
    ("Shrink", simple),
    ("Sigmoid", transcendental),
    ("Sign", |site| {
        evaluated(site, |value| Some(value.signum()), sign)
    }),
    ("Sin", transcendental),
    ("Sinh", transcendental),
    ("Softplus", transcendental),
    ("Softsign", simple),
    ("Sqrt", |site| evaluated(site, |_| None, f64::sqrt)),
    ("Swish", transcendental),
    ("Tan", transcendental),
    ("Tanh", transcendental),
    ("ThresholdedRelu", simple),
];

fn unary(site: &Site<'_>, flops: u64) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    Effect::compute(OpClass::Activation, Produced::like(input)).with_flops_per_element(flops)
}

fn simple(site: &Site<'_>) -> Result<Effect, Fault> {
    unary(site, SIMPLE)
}

fn transcendental(site: &Site<'_>) -> Result<Effect, Fault> {
    unary(site, TRANSCENDENTAL)
}

/// A function that shape arithmetic uses, so that its value is propagated; `None` where integers have no such function.
fn evaluated(
    site: &Site<'_>,
    of_integer: fn(i64) -> Option<i64>,
    of_real: fn(f64) -> f64,
) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    let output = Produced::like(input).evaluated(|| match input.data.as_ref()? {
        Data::Integers(values) => {
            let results = values.iter().map(|&value| of_integer(value));
            results.collect::<Option<_>>().map(Data::Integers)
        }
        Data::Reals(values) => Some(Data::Reals(
            values.iter().map(|&value| of_real(value)).collect(),
        )),
    });
    Effect::compute(OpClass::Activation, output).with_flops_per_element(SIMPLE)
}

fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

fn test(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    let output = Produced::new(DataType::Bool, input.shape.clone());
    Effect::compute(OpClass::Activation, output).with_flops_per_element(SIMPLE)
}

/// Bounds are operands, which may be left out, and were attributes before version 11.
fn clip(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "input")?;
    if site.opset < 11 {
        return clip_by_attributes(site);
    }
    let output = Produced::like(input).evaluated(|| {
        let bound = |position| match site.optional(position) {
            None => Some(None),
            Some(bound) => bound.data.as_ref().map(Some),
        };
        let (low, high) = (bound(1)?, bound(2)?);
        match (input.data.as_ref()?, low, high) {
            (
                Data::Integers(values),
                None | Some(Data::Integers(_)),
                None | Some(Data::Integers(_)),
            ) => {
                let (low, high) = (low.and_then(Data::integer), high.and_then(Data::integer));
                let (low, high) = (low.unwrap_or(i64::MIN), high.unwrap_or(i64::MAX));
                Some(Data::Integers(
                    values
                        .iter()
                        .map(|&value| value.max(low).min(high))
                        .collect(),
                ))
            }
            (Data::Reals(values), None | Some(Data::Reals(_)), None | Some(Data::Reals(_))) => {
                let (low, high) = (low.and_then(Data::real), high.and_then(Data::real));
                let (low, high) = (
                    low.unwrap_or(f64::NEG_INFINITY),
                    high.unwrap_or(f64::INFINITY),
                );
                Some(Data::Reals(
                    values
                        .iter()
                        .map(|&value| smaller(larger(value, low), high))
                        .collect(),
                ))
            }
            (Data::Integers(_) | Data::Reals(_), _, _) => None,
        }
    });
    Effect::compute(OpClass::Activation, output)
        .with_parameters_from(1)
        .with_flops_per_element(SIMPLE)
}

fn clip_by_attributes(site: &Site<'_>) -> Result<Effect, Fault> {
    let low = site.attributes.float("min")?.unwrap_or(f32::MIN);
    let high = site.attributes.float("max")?.unwrap_or(f32::MAX);
    let input = site.operand(0, "input")?;
    let output = Produced::like(input).evaluated(|| match input.data.as_ref()? {
        Data::Reals(values) => {
            let clipped = values
                .iter()
                .map(|&value| smaller(larger(value, f64::from(low)), f64::from(high)));
            Some(Data::Reals(clipped.collect()))
        }
        Data::Integers(_) => None,
    });
    Effect::compute(OpClass::Activation, output).with_flops_per_element(SIMPLE)
}

fn prelu(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    let slope = site.operand(1, "slope")?;
    // Before version 7, a slope of one axis has an element a channel.
    let is_by_channel =
        site.opset < 7 && slope.shape.0.len() == 1 && input.shape.0.get(1) == slope.shape.0.first();
    if is_by_channel || broadcast(&input.shape, &slope.shape)? == input.shape {
        simple(site)
    } else {
        Err(Fault::Mismatch {
            left: input.shape.clone(),
            right: slope.shape.clone(),
            why: "the slope has to be broadcast to the input",
        })
    }
}
