//! Conversions of the element type.

use paracompile_plan::OpClass;

use crate::ir::DataType;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Data, Value, data_type};

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

fn quantize(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "x")?;
    site.operand(1, "y_scale")?;
    let dtype = match (site.optional(2), site.attributes.int("output_dtype")?) {
        (Some(zero_point), _) => zero_point.dtype,
        (None, Some(code)) if code != 0 => data_type(code)?,
        (None, _) => DataType::Uint8,
    };
    Effect::compute(OpClass::Cast, Produced::new(dtype, input.shape.0.clone()))
        .with_flops_per_element(2)
}

fn dequantize(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "x")?;
    let dtype = site.operand(1, "x_scale")?.dtype;
    Effect::compute(OpClass::Cast, Produced::new(dtype, input.shape.0.clone()))
        .with_flops_per_element(2)
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
