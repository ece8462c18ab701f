//! Conversions of the element type.

use paracompile_plan::OpClass;

use crate::ir::DataType;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Data, Value, data_type, resolve_axis};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Cast", cast),
    ("CastLike", cast_like),
    ("DequantizeLinear", dequantize),
    ("DynamicQuantizeLinear", dynamic_quantize),
    ("QuantizeLinear", quantize),
];

fn cast(site: &Site<'_>) -> Result<Effect, Fault> {
    let to = site
        .attributes
        .int("to")?
        .ok_or(Fault::MissingAttribute { attribute: "to" })?;
    Ok(convert(site.operand(0, "input")?, data_type(to)?))
}

fn cast_like(site: &Site<'_>) -> Result<Effect, Fault> {
    let to = site.operand(1, "target_type")?.dtype;
    Ok(convert(site.operand(0, "input")?, to))
}

fn convert(input: &Value, to: DataType) -> Effect {
    let output = Produced::new(to, input.shape.0.clone());
    if to == input.dtype {
        return Effect::view(output.with_data(input.data.clone()));
    }
    let output = output.evaluated(|| input.data.as_ref().and_then(|data| converted(data, to)));
    // The operand that CastLike takes the type of is not read.
    Effect::compute(OpClass::Cast, output).with_parameters_from(1)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "the operator rounds and saturates like this"
)]
fn converted(data: &Data, to: DataType) -> Option<Data> {
    match (data, to) {
        (Data::Integers(values), DataType::Bool) => Some(Data::Integers(
            values.iter().map(|&value| i64::from(value != 0)).collect(),
        )),
        (Data::Reals(values), DataType::Bool) => Some(Data::Integers(
            values
                .iter()
                .map(|&value| i64::from(value != 0.0))
                .collect(),
        )),
        (Data::Integers(values), DataType::Float | DataType::Double) => Some(Data::Reals(
            values.iter().map(|&value| value as f64).collect(),
        )),
        (Data::Reals(values), DataType::Float | DataType::Double) => {
            Some(Data::Reals(values.clone()))
        }
        (Data::Integers(values), DataType::Int64) => Some(Data::Integers(values.clone())),
        (Data::Integers(values), DataType::Int32) => {
            let fits = values.iter().all(|&value| i32::try_from(value).is_ok());
            fits.then(|| Data::Integers(values.clone()))
        }
        (Data::Reals(values), DataType::Int64 | DataType::Int32) => Some(Data::Integers(
            values.iter().map(|&value| value as i64).collect(),
        )),
        // Narrow types are no shape arithmetic.
        (Data::Integers(_) | Data::Reals(_), _narrow) => None,
    }
}

/// The result has the type of the zero point, or the one that the attribute says.
pub(super) fn quantize(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "x")?;
    scaled(site, input, site.operand(1, "y_scale")?)?;
    let dtype = match (site.optional(2), site.attributes.int("output_dtype")?) {
        (Some(zero_point), _) => zero_point.dtype,
        (None, Some(code)) if code != 0 => data_type(code)?,
        (None, _) => DataType::Uint8,
    };
    Effect::compute(OpClass::Cast, Produced::new(dtype, input.shape.0.clone()))
        .with_parameters_from(1)
        .with_flops_per_element(2)
}

/// The result has the type of the scale, or the one that the attribute says.
pub(super) fn dequantize(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "x")?;
    let scale = site.operand(1, "x_scale")?;
    scaled(site, input, scale)?;
    let dtype = match site.attributes.int("output_dtype")? {
        Some(code) if code != 0 => data_type(code)?,
        Some(_) | None => scale.dtype,
    };
    Effect::compute(OpClass::Cast, Produced::new(dtype, input.shape.0.clone()))
        .with_parameters_from(1)
        .with_flops_per_element(2)
}

/// There is one scale for the whole tensor, one for each index along an axis, or one for each block along it, and as many zero points.
fn scaled(site: &Site<'_>, input: &Value, scale: &Value) -> Result<(), Fault> {
    let mismatch = |right: &Value, why| Fault::Mismatch {
        left: input.shape.clone(),
        right: right.shape.clone(),
        why,
    };
    if let Some(zero_point) = site.optional(2)
        && zero_point.shape.elements() != scale.shape.elements()
    {
        return Err(Fault::Mismatch {
            left: scale.shape.clone(),
            right: zero_point.shape.clone(),
            why: "there are as many zero points as scales",
        });
    }
    if scale.shape.elements() == Some(1) {
        return Ok(());
    }
    let axis = resolve_axis(site.attributes.int_or("axis", 1)?, input.shape.0.len())?;
    let block = site.attributes.int_or("block_size", 0)?;
    let Some(block) = u64::try_from(block).ok().filter(|&block| block > 0) else {
        let fits = scale.shape.0 == [input.shape.0[axis]];
        return if fits {
            Ok(())
        } else {
            Err(mismatch(
                scale,
                "there is one scale, or one for each index along the axis",
            ))
        };
    };
    let fits = scale.shape.0.len() == input.shape.0.len()
        && scale.shape.0.iter().zip(&input.shape.0).enumerate().all(
            |(other, (&scales, &extent))| {
                scales == extent || (other == axis && scales == extent.div_ceil(block))
            },
        );
    if fits {
        Ok(())
    } else {
        Err(mismatch(
            scale,
            "there is one scale for each block along the axis",
        ))
    }
}

fn dynamic_quantize(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "x")?;
    let outputs = vec![
        Produced::new(DataType::Uint8, input.shape.0.clone()),
        Produced::new(DataType::Float, Vec::new()),
        Produced::new(DataType::Uint8, Vec::new()),
    ];
    Effect::compute_all(OpClass::Cast, outputs).with_flops_per_element(4)
}
