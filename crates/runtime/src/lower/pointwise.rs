//! Operators that compute every element from the elements at the same place, with numpy's broadcasting.
//!
//! Single-precision ones have the texts of [`super::expression`], which fusion uses too; those of other types stand here.

use paracompile_frontend::import::onnx::Attribute;
use paracompile_frontend::ir::DataType;

use super::element::{arithmetic, arithmetic_of, bits_of, is_signed, is_single};
use super::expression::{binary, is_aligned_by_attribute, literal, unary};
use super::map::{Layout, Map, Mapped};
use super::{Argument, Lowered, Operand, Phase, Site, Spec, Target, Unsupported};

/// Operators of one operand.
pub(super) fn lower_unary(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let operand = &site.operand(0)?.spec;
    let text = if is_single(operand) {
        unary(site)
    } else {
        of_another_type(site, operand.dtype)
    };
    let text = text.ok_or_else(|| {
        site.unsupported(format!(
            "no kernel computes it of {} with these parameters",
            operand.dtype
        ))
    })?;
    lower_map(site, target, &[0], &text)
}

fn of_another_type(site: &Site<'_>, dtype: DataType) -> Option<String> {
    let is_double = dtype == DataType::Double;
    let text = match site.call.op_type.as_str() {
        "Abs" if is_signed(dtype) => "(x < 0 ? -x : x)",
        "Abs" if !is_double => "x",
        "Neg" => "(-x)",
        "Sign" if is_signed(dtype) => "((x > 0) - (x < 0))",
        "Sign" if !is_double => "(x > 0)",
        "Relu" => "(x < 0 ? 0 : x)",
        "BitwiseNot" => "(~x)",
        _ if is_double => return unary(site),
        _ => return None,
    };
    arithmetic(dtype)?;
    Some(text.to_owned())
}

/// `Not`, `IsNaN` and `IsInf`.
pub(super) fn lower_predicate(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let text = match site.call.op_type.as_str() {
        "Not" => "(!x)",
        "IsNaN" => "(isnan(x) != 0)",
        _ => {
            let positive = site.int("detect_positive", 1) != 0;
            let negative = site.int("detect_negative", 1) != 0;
            match (positive, negative) {
                (true, true) => "(isinf(x) != 0)",
                (true, false) => "(isinf(x) && x > 0)",
                (false, true) => "(isinf(x) && x < 0)",
                (false, false) => "(x != x && x == x)",
            }
        }
    };
    lower_map(site, target, &[0], text)
}

/// Operators of two operands.
pub(super) fn lower_binary(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let (left, right) = (site.operand(0)?.spec.dtype, site.operand(1)?.spec.dtype);
    let is_single = (left, right) == (DataType::Float, DataType::Float);
    let text = match site.call.op_type.as_str() {
        "Equal" => Some("(x == y)"),
        "Greater" => Some("(x > y)"),
        "GreaterOrEqual" => Some("(x >= y)"),
        "Less" => Some("(x < y)"),
        "LessOrEqual" => Some("(x <= y)"),
        "And" => Some("(x && y)"),
        "Or" => Some("(x || y)"),
        "Xor" => Some("(!x != !y)"),
        _ if is_single && !is_aligned_by_attribute(site) => {
            binary(site).or_else(|| of_two(site, left, right))
        }
        _ => of_two(site, left, right),
    };
    let text = text
        .ok_or_else(|| site.unsupported(format!("no kernel computes it of {left} and {right}")))?;
    lower_map(site, target, &[0, 1], text)
}

/// Arithmetic that [`binary`] leaves out; integers never trap.
fn of_two(site: &Site<'_>, left: DataType, right: DataType) -> Option<&'static str> {
    let is_real = left.is_real();
    Some(match site.call.op_type.as_str() {
        "Add" => "(x + y)",
        "Sub" => "(x - y)",
        "Mul" => "(x * y)",
        "Div" if is_real => "(x / y)",
        "Div" if is_signed(left) => "(y == 0 ? 0 : (y == -1 ? -x : x / y))",
        "Div" => "(y == 0 ? 0 : x / y)",
        "Mod" if is_real && site.int("fmod", 0) != 0 => "fmod(x, y)",
        "Mod" if is_real => "(x - floor(x / y) * y)",
        "Mod" if !is_signed(left) => "(y == 0 ? 0 : x % y)",
        "Mod" if site.int("fmod", 0) != 0 => "(y == 0 || y == -1 ? 0 : x % y)",
        "Mod" => "(y == 0 || y == -1 ? 0 : (x % y + y) % y)",
        "Pow" if left == DataType::Float && right == DataType::Float => "pow(x, y)",
        "Pow" if left == DataType::Float => "pow(x, (float)y)",
        "Pow" => "pow((double)x, (double)y)",
        "PRelu" => "(x < 0 ? x * y : x)",
        "BitwiseAnd" => "(x & y)",
        "BitwiseOr" => "(x | y)",
        "BitwiseXor" => "(x ^ y)",
        "BitShift" => {
            if site.text("direction", "LEFT") == "RIGHT" {
                "(y < 8 * sizeof(x) ? x >> y : 0)"
            } else {
                "(y < 8 * sizeof(x) ? x << y : 0)"
            }
        }
        "SwiGLU" => "(x / (1.0f + exp(-x)) * y)",
        _ => return None,
    })
}

/// `Sum`, `Max`, `Min` and `Mean` of any number of operands, up to three a launch.
pub(super) fn lower_variadic(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let result = site.result()?;
    let is_real = result.dtype.is_real();
    let join = |left: &str, right: &str| match site.call.op_type.as_str() {
        "Max" if is_real => format!("LARGER({left}, {right})"),
        "Min" if is_real => format!("SMALLER({left}, {right})"),
        "Max" => format!("max({left}, {right})"),
        "Min" => format!("min({left}, {right})"),
        _ => format!("({left} + {right})"),
    };
    let element = arithmetic_of(site, result)?;
    let count = site.operands.len();
    let finish = |text: String| {
        if site.call.op_type == "Mean" {
            format!("({text} / ({element}){count})")
        } else {
            text
        }
    };
    let mut lowered = Lowered::default();
    let whole = Layout::row_major(&result.shape);
    let mut sums: Option<Mapped> = None;
    let mut next = 0;
    let mut scratch = Vec::new();
    while next < count || sums.is_none() {
        let mut operands: Vec<Mapped> = sums.take().into_iter().collect();
        while operands.len() < 3 && next < count {
            operands.push(mapped(site, next, result)?);
            next += 1;
        }
        let text = match operands.len() {
            0 => return Err(site.unsupported("it has no operand")),
            1 => "x".to_owned(),
            2 => join("x", "y"),
            _ => join(&join("x", "y"), "z"),
        };
        let is_last = next == count;
        let argument = if is_last {
            Argument::Result(0)
        } else {
            // What the launch before wrote is read while the next sum is written.
            if scratch.len() < 2 {
                scratch.push(lowered.add_scratch(result.bytes()));
            } else {
                scratch.swap(0, 1);
            }
            scratch[scratch.len() - 1].clone()
        };
        let to = Mapped {
            argument,
            element,
            layout: whole.clone(),
        };
        sums = Some(to.clone());
        let map = Map {
            extents: &result.shape,
            result: to,
            operands,
            expression: &if is_last { finish(text) } else { text },
        };
        push(site, &map, &mut lowered, target)?;
    }
    Ok(lowered)
}

/// `Clip` with limits that are known or not.
pub(super) fn lower_clip(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let operand = &site.operand(0)?.spec;
    if is_single(operand)
        && let Some(text) = unary(site)
    {
        return lower_map(site, target, &[0], &text);
    }
    match (site.optional(1), site.optional(2)) {
        (Some(_), Some(_)) => lower_map(
            site,
            target,
            &[0, 1, 2],
            "((x < y ? y : x) > z ? z : (x < y ? y : x))",
        ),
        (Some(_), None) => lower_map(site, target, &[0, 1], "(x < y ? y : x)"),
        (None, Some(_)) => lower_map(site, target, &[0, 2], "(x > y ? y : x)"),
        (None, None) => lower_map(site, target, &[0], "x"),
    }
}

/// `Where`, of whatever type.
pub(super) fn lower_where(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let result = site.result()?;
    let element = bits_of(site, result)?;
    let mut operands = Vec::new();
    for position in 0..3 {
        let element = if position == 0 { "uchar" } else { element };
        operands.push(mapped_as(site, position, result, element)?);
    }
    let map = Map {
        extents: &result.shape,
        result: whole_result(result, element),
        operands,
        expression: "(x ? y : z)",
    };
    let mut lowered = Lowered::default();
    push(site, &map, &mut lowered, target)?;
    Ok(lowered)
}

/// `Cast` and `CastLike`.
pub(super) fn lower_cast(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let (from, to) = (site.operand(0)?.spec.dtype, site.result()?.dtype);
    if from == to {
        return lower_copy(site, target);
    }
    // Out of range, the definition leaves the result open: the nearest number does not trap.
    let text = match arithmetic(to) {
        _ if to == DataType::Bool => "(x != 0)".to_owned(),
        Some(element) if from.is_real() && !to.is_real() => format!("convert_{element}_sat_rtz(x)"),
        Some(_) => "x".to_owned(),
        None => return Err(site.unsupported(format!("no kernel converts to {to}"))),
    };
    lower_map(site, target, &[0], &text)
}

/// Whatever keeps the elements in their order: a view that has to be written elsewhere.
pub(super) fn lower_copy(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let result = site.result()?;
    let element = bits_of(site, result)?;
    let count = site.operand(0)?.spec.elements();
    if count != result.elements() {
        return Err(site.unsupported("its result has another size than its operand"));
    }
    let flat = Layout::row_major(&[count]);
    let map = Map {
        extents: &[count],
        result: Mapped {
            argument: Argument::Result(0),
            element,
            layout: flat.clone(),
        },
        operands: vec![Mapped {
            argument: Argument::Operand(0),
            element,
            layout: flat,
        }],
        expression: "x",
    };
    let mut lowered = Lowered::default();
    push(site, &map, &mut lowered, target)?;
    Ok(lowered)
}

/// `BiasGelu` and `FastGelu` with a bias.
pub(super) fn lower_biased(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let text = if site.call.op_type == "BiasGelu" {
        "(0.5f * (x + y) * (1.0f + erf((x + y) * 0.70710678118f)))"
    } else {
        "((x + y) / (1.0f + exp(-1.5957691216f * ((x + y) + 0.044715f * (x + y) * (x + y) * (x + y)))))"
    };
    lower_map(site, target, &[0, 1], text)
}

/// Batch normalisation with known statistics: one scale and one shift a channel.
pub(super) fn lower_batch_normalization(
    site: &Site<'_>,
    target: &Target,
) -> Result<Lowered, Unsupported> {
    const TRAINING: i64 = 14;
    if site.call.opset >= TRAINING && site.int("training_mode", 0) != 0 {
        return Err(site.unsupported("it learns"));
    }
    let result = site.result()?;
    if !is_single(result) || result.shape.len() < 2 {
        return Err(site.unsupported("no kernel computes it of this type or rank"));
    }
    let channels = result.shape[1];
    let mut lowered = Lowered::default();
    let bytes = channels * size_of::<f32>();
    let is_constant = |position: usize| site.optional(position).is_some_and(|own| own.is_constant);
    let phase = if (1..=4).all(is_constant) {
        Phase::Setup
    } else {
        Phase::Frame
    };
    let scales = lowered.add_scratch_of(bytes, phase);
    let shifts = lowered.add_scratch_of(bytes, phase);
    let vector = |argument: Argument| Mapped {
        argument,
        element: "float",
        layout: Layout::row_major(&[channels]),
    };
    for position in 1..=4 {
        if site.operand(position)?.spec.elements() != channels {
            return Err(site.unsupported("its statistics are not one a channel"));
        }
    }
    let epsilon = literal(site.float("epsilon", 1e-5));
    let scale = Map {
        extents: &[channels],
        result: vector(scales.clone()),
        operands: vec![vector(Argument::Operand(1)), vector(Argument::Operand(4))],
        expression: &format!("(x / sqrt(y + {epsilon}))"),
    };
    push(site, &scale, &mut lowered, target)?;
    let shift = Map {
        extents: &[channels],
        result: vector(shifts.clone()),
        operands: vec![
            vector(Argument::Operand(2)),
            vector(Argument::Operand(3)),
            vector(scales.clone()),
        ],
        expression: "(x - y * z)",
    };
    push(site, &shift, &mut lowered, target)?;
    for step in &mut lowered.steps {
        step.phase = phase;
    }
    let mut a_channel = vec![0; result.shape.len()];
    a_channel[1] = 1;
    let spread = |argument: Argument| Mapped {
        argument,
        element: "float",
        layout: Layout {
            first: 0,
            strides: a_channel.clone(),
        },
    };
    let apply = Map {
        extents: &result.shape,
        result: whole_result(result, "float"),
        operands: vec![mapped(site, 0, result)?, spread(scales), spread(shifts)],
        expression: "(x * y + z)",
    };
    push(site, &apply, &mut lowered, target)?;
    Ok(lowered)
}

/// A map of the operands at `positions`, broadcast to the result.
fn lower_map(
    site: &Site<'_>,
    target: &Target,
    positions: &[usize],
    expression: &str,
) -> Result<Lowered, Unsupported> {
    let result = site.result()?;
    let operands = positions
        .iter()
        .map(|&position| mapped(site, position, result))
        .collect::<Result<_, _>>()?;
    let map = Map {
        extents: &result.shape,
        result: whole_result(result, arithmetic_of(site, result)?),
        operands,
        expression,
    };
    let mut lowered = Lowered::default();
    push(site, &map, &mut lowered, target)?;
    Ok(lowered)
}

fn whole_result(result: &Spec, element: &'static str) -> Mapped {
    Mapped {
        argument: Argument::Result(0),
        element,
        layout: Layout::row_major(&result.shape),
    }
}

/// An operand that is broadcast to `result`.
fn mapped(site: &Site<'_>, position: usize, result: &Spec) -> Result<Mapped, Unsupported> {
    let element = arithmetic_of(site, &site.operand(position)?.spec)?;
    mapped_as(site, position, result, element)
}

fn mapped_as(
    site: &Site<'_>,
    position: usize,
    result: &Spec,
    element: &'static str,
) -> Result<Mapped, Unsupported> {
    let operand = site.operand(position)?;
    let shape = aligned(site, position, operand, result);
    let layout = Layout::broadcast(&shape, &result.shape).ok_or_else(|| {
        site.unsupported(format!(
            "operand {position} with shape {:?} is not broadcast to {:?}",
            operand.spec.shape, result.shape
        ))
    })?;
    Ok(Mapped {
        argument: Argument::Operand(position),
        element,
        layout,
    })
}

/// The shape of an operand with as many ones behind it as bring it to its place.
fn aligned(site: &Site<'_>, position: usize, operand: &Operand<'_>, result: &Spec) -> Vec<usize> {
    let mut shape = operand.spec.shape.clone();
    if position == 1 && is_aligned_by_attribute(site) {
        let rank = result.shape.len();
        if let Some(Attribute::Int(axis)) = site.call.attributes.get("axis")
            && let Some(axis) = super::axis::resolve(*axis, rank)
        {
            let behind = rank.saturating_sub(axis + shape.len());
            shape.resize(shape.len() + behind, 1);
        }
    }
    // One slope a channel, before operands were broadcast by numpy's rule.
    if position == 1
        && site.call.op_type == "PRelu"
        && site.call.opset < 9
        && shape.len() == 1
        && result.shape.len() > 1
    {
        shape.resize(result.shape.len() - 1, 1);
    }
    shape
}

/// Adds a map, or says that it is too tangled.
pub(super) fn push(
    site: &Site<'_>,
    map: &Map<'_>,
    lowered: &mut Lowered,
    target: &Target,
) -> Result<(), Unsupported> {
    if map.lower(lowered, target) {
        Ok(())
    } else {
        Err(site.unsupported("its tensors have too many axes"))
    }
}
