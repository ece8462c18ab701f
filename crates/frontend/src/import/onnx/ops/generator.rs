//! Constants and other tensors from nothing. A constant is never materialised, so an absurd shape costs no memory.

use paracompile_plan::OpClass;

use crate::ir::DataType;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Data, data_type, extents};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Bernoulli", random_like),
    ("Constant", constant),
    ("ConstantOfShape", constant_of_shape),
    ("EyeLike", eye_like),
    ("Multinomial", multinomial),
    ("RandomNormal", random),
    ("RandomNormalLike", random_like),
    ("RandomUniform", random),
    ("RandomUniformLike", random_like),
    ("Range", range),
];

fn constant(site: &Site<'_>) -> Result<Effect, Fault> {
    let attributes = site.attributes;
    let output = if let Some(tensor) = attributes.tensor("value")? {
        let constant = site.constant("value", tensor)?;
        let mut output = Produced::like(&constant.value);
        output.data.clone_from(&constant.value.data);
        output.constant = Some(constant);
        output
    } else if let Some(value) = attributes.int("value_int")? {
        integers(&[value], Vec::new())
    } else if let Some(values) = attributes.ints("value_ints")? {
        integers(values, vec![values.len() as u64])
    } else if let Some(value) = attributes.float("value_float")? {
        reals(&[value], Vec::new())
    } else if let Some(values) = attributes.floats("value_floats")? {
        reals(values, vec![values.len() as u64])
    } else if attributes.contains("value_string") {
        Produced::new(DataType::String, Vec::new())
    } else if let Some(texts) = attributes.strings("value_strings")? {
        Produced::new(DataType::String, vec![texts as u64])
    } else if let Some((code, dims)) = attributes.sparse_tensor("sparse_value")? {
        Produced::new(data_type(code)?, extents("an extent", dims)?)
    } else {
        return Err(Fault::MissingAttribute { attribute: "value" });
    };
    Ok(Effect::compute(OpClass::Other, output))
}

fn integers(values: &[i64], shape: Vec<u64>) -> Produced {
    Produced::new(DataType::Int64, shape).evaluated(|| Some(Data::Integers(values.to_vec())))
}

fn reals(values: &[f32], shape: Vec<u64>) -> Produced {
    Produced::new(DataType::Float, shape)
        .evaluated(|| Some(Data::Reals(values.iter().copied().map(f64::from).collect())))
}

fn constant_of_shape(site: &Site<'_>) -> Result<Effect, Fault> {
    let shape = site.integers(0, "input")?.ok_or(Fault::MissingOperand {
        position: 0,
        operand: "input",
    })?;
    let shape = extents("the shape", shape)?;
    let (dtype, element) = match site.attributes.tensor("value")? {
        None => (DataType::Float, Some(Data::Reals(vec![0.0]))),
        Some(tensor) => {
            let value = site.constant("value", tensor)?.value;
            (value.dtype, value.data)
        }
    };
    let output = Produced::new(dtype, shape.clone()).evaluated(|| {
        let count = shape.iter().product::<u64>();
        let count = usize::try_from(count).expect("evaluated results are small");
        element?.pick(std::iter::repeat_n(0, count))
    });
    Ok(Effect::compute(OpClass::Other, output))
}

fn range(site: &Site<'_>) -> Result<Effect, Fault> {
    let operand = site.operand(0, "start")?;
    let (count, data) = match operand.data {
        Some(Data::Reals(_)) => real_range(site)?,
        Some(Data::Integers(_)) | None => integer_range(site)?,
    };
    let output = Produced::new(operand.dtype, vec![count]).with_data(data);
    Ok(Effect::compute(OpClass::Other, output).with_parameters_from(0))
}

fn scalar<T: Copy>(
    values: Option<&[T]>,
    position: usize,
    operand: &'static str,
) -> Result<T, Fault> {
    values
        .and_then(|values| values.first().copied())
        .ok_or(Fault::MissingOperand { position, operand })
}

fn integer_range(site: &Site<'_>) -> Result<(u64, Option<Data>), Fault> {
    let start = scalar(site.integers(0, "start")?, 0, "start")?;
    let limit = scalar(site.integers(1, "limit")?, 1, "limit")?;
    let delta = scalar(site.integers(2, "delta")?, 2, "delta")?;
    if delta == 0 {
        return Err(zero_delta());
    }
    let distance = i128::from(limit) - i128::from(start);
    let step = i128::from(delta);
    let whole = distance / step + i128::from(distance % step != 0 && (distance < 0) == (step < 0));
    let count = u64::try_from(whole.max(0)).map_err(|_| Fault::Overflow { what: "the range" })?;
    let data = Data::is_small(DataType::Int64, count).then(|| {
        // Every value lies between start and limit, so wrapping intermediate products are harmless.
        let values = (0..).zip(0..count);
        let values =
            values.map(|(index, _): (i64, u64)| start.wrapping_add(delta.wrapping_mul(index)));
        Data::Integers(values.collect())
    });
    Ok((count, data))
}

fn real_range(site: &Site<'_>) -> Result<(u64, Option<Data>), Fault> {
    let start = scalar(site.reals(0, "start")?, 0, "start")?;
    let limit = scalar(site.reals(1, "limit")?, 1, "limit")?;
    let delta = scalar(site.reals(2, "delta")?, 2, "delta")?;
    if delta == 0.0 {
        return Err(zero_delta());
    }
    let count = ((limit - start) / delta).ceil().max(0.0);
    if !count.is_finite() || count > 1e15 {
        return Err(Fault::Overflow { what: "the range" });
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be an integer from 0 to 1e15"
    )]
    let count = count as u64;
    let data = Data::is_small(DataType::Float, count).then(|| {
        // Each element is rounded as the type of the result holds it, when it is kept.
        let indices = std::iter::successors(Some(0.0), |index| Some(index + 1.0));
        let values = (0..count).zip(indices);
        Data::Reals(
            values
                .map(|(_, index): (u64, f64)| start + index * delta)
                .collect(),
        )
    });
    Ok((count, data))
}

fn zero_delta() -> Fault {
    Fault::Value {
        what: "delta",
        found: "0".to_owned(),
        expected: "a range needs a step",
    }
}

fn eye_like(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "input")?;
    let dtype = dtype_or(site, input.dtype)?;
    Ok(Effect::compute(
        OpClass::Other,
        Produced::new(dtype, input.shape.0.clone()),
    ))
}

fn dtype_or(site: &Site<'_>, default: DataType) -> Result<DataType, Fault> {
    site.attributes.int("dtype")?.map_or(Ok(default), data_type)
}

fn random_effect(output: Produced) -> Result<Effect, Fault> {
    let mut effect = Effect::compute(OpClass::Other, output).with_flops_per_element(8)?;
    effect.is_random = true;
    Ok(effect)
}

fn random(site: &Site<'_>) -> Result<Effect, Fault> {
    let shape = site
        .attributes
        .ints("shape")?
        .ok_or(Fault::MissingAttribute { attribute: "shape" })?;
    let dtype = dtype_or(site, DataType::Float)?;
    random_effect(Produced::new(dtype, extents("shape", shape)?))
}

fn random_like(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "input")?;
    let dtype = dtype_or(site, input.dtype)?;
    random_effect(Produced::new(dtype, input.shape.0.clone()))
}

fn multinomial(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand_of_rank(0, "input", 2..=2, "a batch of class weights is needed")?;
    let samples = extents("sample_size", &[site.attributes.int_or("sample_size", 1)?])?[0];
    let dtype = dtype_or(site, DataType::Int32)?;
    random_effect(Produced::new(dtype, vec![input.shape.0[0], samples]))
}
