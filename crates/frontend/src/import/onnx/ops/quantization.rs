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
    let attribute = "to";
    let missing = Fault::MissingAttribute { attribute };
    let to = if site.opset < 6 {
        // The first version spells the type out.
        let name = site.attributes.string(attribute)?.ok_or(missing)?;
        named_type(name).ok_or_else(|| Fault::Value {
            what: attribute,
            found: format!("`{name}`"),
            expected: "it is the name of an element type",
        })?
    } else {
        data_type(site.attributes.int(attribute)?.ok_or(missing)?)?
    };
    Ok(convert(site.operand(0, "input")?, to))
}

fn named_type(name: &str) -> Option<DataType> {
    let name = name.to_ascii_lowercase();
    // Types with numbers up to 15 are those of the first versions.
    (1..=15)
        .filter_map(|code| data_type(code).ok())
        .find(|dtype| dtype.name() == name)
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
        (
            Data::Integers(values),
            DataType::Float | DataType::Double | DataType::Float16 | DataType::BFloat16,
        ) => Some(Data::Reals(
            values.iter().map(|&value| value as f64).collect(),
        )),
        (
            Data::Reals(values),
            DataType::Float | DataType::Double | DataType::Float16 | DataType::BFloat16,
        ) => Some(Data::Reals(values.clone())),
        (Data::Integers(values), to) => within(values.clone(), to),
        (Data::Reals(values), to) => {
            // What is out of range has no meaning by definition.
            within(values.iter().map(|&value| value as i64).collect(), to)
        }
    }
}

/// The values as an integer type that holds them all.
fn within(values: Vec<i64>, to: DataType) -> Option<Data> {
    let range = match to {
        DataType::Int64 => i64::MIN..=i64::MAX,
        DataType::Int32 => i64::from(i32::MIN)..=i64::from(i32::MAX),
        DataType::Int16 => i64::from(i16::MIN)..=i64::from(i16::MAX),
        DataType::Int8 => i64::from(i8::MIN)..=i64::from(i8::MAX),
        DataType::Uint64 => 0..=i64::MAX,
        DataType::Uint32 => 0..=i64::from(u32::MAX),
        DataType::Uint16 => 0..=i64::from(u16::MAX),
        DataType::Uint8 => 0..=i64::from(u8::MAX),
        // Types of less than a byte are no shape arithmetic, and the others are no integers.
        DataType::Int4
        | DataType::Int2
        | DataType::Uint4
        | DataType::Uint2
        | DataType::Float
        | DataType::Double
        | DataType::Float16
        | DataType::BFloat16
        | DataType::Float8
        | DataType::Float6
        | DataType::Float4
        | DataType::Bool
        | DataType::Complex64
        | DataType::Complex128
        | DataType::String => return None,
    };
    let fits = values.iter().all(|value| range.contains(value));
    fits.then_some(Data::Integers(values))
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
