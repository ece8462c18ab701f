//! Element-wise operators of several operands, with numpy's broadcasting; small constants are evaluated, since they decide shapes.

use paracompile_plan::OpClass;

use crate::ir::{DataType, Shape};

use super::super::Fault;
use super::super::infer::{Effect, Pass, Produced, Rule, Site};
use super::super::value::{Data, Value, broadcast, broadcast_indices, larger, smaller};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Add", |site| {
        let effect = arithmetic(site, i64::checked_add, |a, b| a + b)?;
        Ok(unless_neutral(effect, site, 0))
    }),
    ("And", |site| logic(site, |a, b| a != 0 && b != 0)),
    ("BitShift", bit_shift),
    ("BitwiseAnd", |site| {
        arithmetic(site, |a, b| Some(a & b), |_, _| f64::NAN)
    }),
    ("BitwiseOr", |site| {
        arithmetic(site, |a, b| Some(a | b), |_, _| f64::NAN)
    }),
    ("BitwiseXor", |site| {
        arithmetic(site, |a, b| Some(a ^ b), |_, _| f64::NAN)
    }),
    ("Div", |site| {
        let effect = arithmetic(site, i64::checked_div, |a, b| a / b)?;
        Ok(unless_neutral(effect, site, 1))
    }),
    ("Equal", |site| comparison(site, |a, b| a == b, equal)),
    ("Greater", |site| {
        comparison(site, |a, b| a > b, |a, b| a > b)
    }),
    ("GreaterOrEqual", |site| {
        comparison(site, |a, b| a >= b, |a, b| a >= b)
    }),
    ("Less", |site| comparison(site, |a, b| a < b, |a, b| a < b)),
    ("LessOrEqual", |site| {
        comparison(site, |a, b| a <= b, |a, b| a <= b)
    }),
    ("Max", |site| {
        arithmetic(site, |a, b| Some(a.max(b)), larger)
    }),
    ("Mean", unevaluated),
    ("Min", |site| {
        arithmetic(site, |a, b| Some(a.min(b)), smaller)
    }),
    ("Mod", modulo),
    ("Mul", |site| {
        let effect = arithmetic(site, i64::checked_mul, |a, b| a * b)?;
        Ok(unless_neutral(effect, site, 1))
    }),
    ("Or", |site| logic(site, |a, b| a != 0 || b != 0)),
    ("Pow", |site| arithmetic(site, power, f64::powf)),
    ("Sub", |site| {
        let effect = arithmetic(site, i64::checked_sub, |a, b| a - b)?;
        Ok(unless_neutral(effect, site, 0))
    }),
    ("SwiGLU", |site| {
        let (gate, value) = (site.operand(0, "A")?, site.operand(1, "B")?);
        if gate.shape != value.shape {
            return Err(Fault::Mismatch {
                left: gate.shape.clone(),
                right: value.shape.clone(),
                why: "gate and value need the same shape",
            });
        }
        // A swish of eight operations, then a product.
        Effect::compute(OpClass::Elementwise, Produced::like(gate)).with_flops_per_element(9)
    }),
    ("Sum", |site| {
        arithmetic(site, i64::checked_add, |a, b| a + b)
    }),
    ("Where", select),
    ("Xor", |site| logic(site, |a, b| (a != 0) != (b != 0))),
];

#[expect(clippy::float_cmp, reason = "the operator is exact equality")]
fn equal(a: f64, b: f64) -> bool {
    a == b
}

fn power(base: i64, exponent: i64) -> Option<i64> {
    base.checked_pow(u32::try_from(exponent).ok()?)
}

/// The operands and the shape that they are broadcast to.
fn operands<'a>(site: &Site<'a>) -> Result<(Vec<&'a Value>, Shape), Fault> {
    let values = (0..site.inputs.len().max(1))
        .map(|position| site.operand(position, "operand"))
        .collect::<Result<Vec<_>, _>>()?;
    let first = values[0].shape.clone();
    // Before version 7, the first operand alone decided, and an attribute said where the second one goes.
    if site.opset < 7 && site.attributes.is_set("broadcast")? {
        return Ok((values, first));
    }
    let shape = values[1..]
        .iter()
        .try_fold(first, |shape, value| broadcast(&shape, &value.shape))?;
    Ok((values, shape))
}

fn effect(output: Produced, operands: usize) -> Result<Effect, Fault> {
    let flops = (operands as u64).saturating_sub(1).max(1);
    Effect::compute(OpClass::Elementwise, output).with_flops_per_element(flops)
}

fn unevaluated(site: &Site<'_>) -> Result<Effect, Fault> {
    let (values, shape) = operands(site)?;
    effect(Produced::new(values[0].dtype, shape.0), values.len())
}

/// Folds all operands from the left; `None` where the result does not exist.
fn arithmetic(
    site: &Site<'_>,
    of_integers: fn(i64, i64) -> Option<i64>,
    of_reals: fn(f64, f64) -> f64,
) -> Result<Effect, Fault> {
    let (values, shape) = operands(site)?;
    let output = Produced::new(values[0].dtype, shape.0.clone()).evaluated(|| {
        let (first, rest) = values.split_first()?;
        let mut result = spread(first, &shape)?;
        for value in rest {
            result = match (result, spread(value, &shape)?) {
                (Data::Integers(left), Data::Integers(right)) => {
                    let pairs = left.into_iter().zip(right);
                    Data::Integers(
                        pairs
                            .map(|(a, b)| of_integers(a, b))
                            .collect::<Option<_>>()?,
                    )
                }
                (Data::Reals(left), Data::Reals(right)) => {
                    let pairs = left.into_iter().zip(right);
                    Data::Reals(pairs.map(|(a, b)| of_reals(a, b)).collect())
                }
                (Data::Integers(_), Data::Reals(_)) | (Data::Reals(_), Data::Integers(_)) => {
                    return None;
                }
            };
        }
        Some(result)
    });
    effect(output, values.len())
}

/// Passes the first operand on where the second one is the constant that changes nothing, as in a multiplication by one.
fn unless_neutral(mut effect: Effect, site: &Site<'_>, neutral: i32) -> Effect {
    let is_neutral = site.optional(1).is_some_and(|value| match &value.data {
        Some(Data::Integers(found)) => found.iter().all(|&found| found == i64::from(neutral)),
        Some(Data::Reals(found)) => found.iter().all(|&found| equal(found, f64::from(neutral))),
        None => false,
    });
    let keeps = |first: &Value| {
        effect
            .outputs
            .iter()
            .all(|output| output.shape == first.shape && output.dtype == first.dtype)
    };
    if is_neutral && site.optional(0).is_some_and(keeps) {
        effect.passes = Some(Pass::Identity);
    }
    effect
}

fn modulo(site: &Site<'_>) -> Result<Effect, Fault> {
    if site.attributes.is_set("fmod")? {
        return arithmetic(site, i64::checked_rem, |a, b| a % b);
    }
    // The sign follows the divisor, as in Python.
    let floored = |a: i64, b: i64| {
        let remainder = a.checked_rem(b)?;
        Some(if remainder != 0 && (remainder < 0) != (b < 0) {
            remainder + b
        } else {
            remainder
        })
    };
    // Of integers only before version 28.
    arithmetic(site, floored, |a, b| a - (a / b).floor() * b)
}

fn bit_shift(site: &Site<'_>) -> Result<Effect, Fault> {
    // A left shift drops bits at the width of the type, which nothing that decides a shape relies on.
    match site.attributes.string("direction")? {
        // By a negative number, or by as many bits as there are, all that stays is the sign.
        Some("RIGHT") => {
            let shifted = |a: i64, b: i64| {
                let bits = u32::try_from(b).map_or(63, |bits| bits.min(63));
                Some(a >> bits)
            };
            arithmetic(site, shifted, |_, _| f64::NAN)
        }
        _ => unevaluated(site),
    }
}

fn logic(site: &Site<'_>, of: fn(i64, i64) -> bool) -> Result<Effect, Fault> {
    comparison(site, of, |_, _| false)
}

fn comparison(
    site: &Site<'_>,
    of_integers: fn(i64, i64) -> bool,
    of_reals: fn(f64, f64) -> bool,
) -> Result<Effect, Fault> {
    let left = site.operand(0, "A")?;
    let right = site.operand(1, "B")?;
    let (_, shape) = operands(site)?;
    let output = Produced::new(DataType::Bool, shape.0.clone()).evaluated(|| {
        let truths: Vec<bool> = match (spread(left, &shape)?, spread(right, &shape)?) {
            (Data::Integers(left), Data::Integers(right)) => left
                .into_iter()
                .zip(right)
                .map(|(a, b)| of_integers(a, b))
                .collect(),
            (Data::Reals(left), Data::Reals(right)) => left
                .into_iter()
                .zip(right)
                .map(|(a, b)| of_reals(a, b))
                .collect(),
            (Data::Integers(_), Data::Reals(_)) | (Data::Reals(_), Data::Integers(_)) => {
                return None;
            }
        };
        Some(Data::Integers(truths.into_iter().map(i64::from).collect()))
    });
    effect(output, 2)
}

fn select(site: &Site<'_>) -> Result<Effect, Fault> {
    let condition = site.operand(0, "condition")?;
    let yes = site.operand(1, "X")?;
    let no = site.operand(2, "Y")?;
    let shape = broadcast(&broadcast(&condition.shape, &yes.shape)?, &no.shape)?;
    let output = Produced::new(yes.dtype, shape.0.clone()).evaluated(|| {
        let Data::Integers(condition) = spread(condition, &shape)? else {
            return None;
        };
        match (spread(yes, &shape)?, spread(no, &shape)?) {
            (Data::Integers(yes), Data::Integers(no)) => {
                Some(Data::Integers(choose(&condition, yes, no)))
            }
            (Data::Reals(yes), Data::Reals(no)) => Some(Data::Reals(choose(&condition, yes, no))),
            (Data::Integers(_), Data::Reals(_)) | (Data::Reals(_), Data::Integers(_)) => None,
        }
    });
    effect(output, 2)
}

fn choose<T>(condition: &[i64], yes: Vec<T>, no: Vec<T>) -> Vec<T> {
    let pairs = yes.into_iter().zip(no);
    condition
        .iter()
        .zip(pairs)
        .map(|(&condition, (yes, no))| if condition == 0 { no } else { yes })
        .collect()
}

/// The elements of `value` broadcast to the small `shape`.
fn spread(value: &Value, shape: &Shape) -> Option<Data> {
    let data = value.data.as_ref()?;
    // Legacy broadcasting may align elsewhere than at the end; nothing that decides a shape uses it.
    if broadcast(&value.shape, shape).as_ref() != Ok(shape) {
        return None;
    }
    data.pick(broadcast_indices(&value.shape, shape).into_iter())
}
