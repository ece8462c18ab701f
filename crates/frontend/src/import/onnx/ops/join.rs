//! Concatenation, splitting, and what repeats or surrounds a tensor.

use paracompile_plan::OpClass;

use crate::ir::Shape;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{
    Data, Value, broadcast, broadcast_indices, extent, extents, grid_indices, product,
    resolve_axis, strides,
};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("CenterCropPad", center_crop_pad),
    ("Concat", concat),
    ("Expand", expand),
    ("Pad", pad),
    ("Split", split),
    ("Tile", tile),
];

fn concat(site: &Site<'_>) -> Result<Effect, Fault> {
    let first = site.operand(0, "inputs")?;
    let rank = first.shape.0.len();
    let axis = match site.attributes.int("axis")? {
        Some(axis) => axis,
        // Version 1 had a default.
        None if site.opset < 4 => 1,
        None => return Err(Fault::MissingAttribute { attribute: "axis" }),
    };
    let axis = resolve_axis(axis, rank)?;
    let parts = (0..site.inputs.len())
        .map(|position| site.operand(position, "inputs"))
        .collect::<Result<Vec<_>, _>>()?;
    let mut shape = first.shape.0.clone();
    shape[axis] = 0;
    for part in &parts {
        let fits = part.shape.0.len() == rank
            && (0..rank).all(|other| other == axis || part.shape.0[other] == shape[other]);
        if !fits {
            return Err(Fault::Mismatch {
                left: first.shape.clone(),
                right: part.shape.clone(),
                why: "concatenated tensors differ in the axis of concatenation only",
            });
        }
        shape[axis] = shape[axis]
            .checked_add(part.shape.0[axis])
            .ok_or(Fault::Overflow {
                what: "the concatenated extent",
            })?;
    }
    let output = Produced::new(first.dtype, shape).evaluated(|| interleave(&parts, axis));
    if parts.len() == 1 {
        return Ok(Effect::view(output));
    }
    Ok(Effect::compute(OpClass::Concat, output))
}

/// The elements of a small concatenation.
fn interleave(parts: &[&Value], axis: usize) -> Option<Data> {
    let rows: u64 = parts[0].shape.0[..axis].iter().product();
    let mut integers = Vec::new();
    let mut reals = Vec::new();
    for row in 0..usize::try_from(rows).ok()? {
        for part in parts {
            let run: u64 = part.shape.0[axis..].iter().product();
            let run = usize::try_from(run).ok()?;
            let range = row * run..(row + 1) * run;
            match part.data.as_ref()? {
                Data::Integers(values) => integers.extend_from_slice(values.get(range)?),
                Data::Reals(values) => reals.extend_from_slice(values.get(range)?),
            }
        }
    }
    match (integers.is_empty(), reals.is_empty()) {
        (false, true) => Some(Data::Integers(integers)),
        (true, false) => Some(Data::Reals(reals)),
        (true, true) | (false, false) => None,
    }
}

fn split(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "input")?;
    let axis = resolve_axis(site.attributes.int_or("axis", 0)?, input.shape.0.len())?;
    let whole = input.shape.0[axis];
    let parts = match site.integers_by_version("split", 1, 13)? {
        Some(parts) => extents("split", parts)?,
        None => equal_parts(site, whole, axis)?,
    };
    let total = parts
        .iter()
        .try_fold(0u64, |sum, &part| sum.checked_add(part));
    if total != Some(whole) || parts.len() < site.outputs {
        return Err(Fault::Value {
            what: "split",
            found: format!("{parts:?}"),
            expected: "it needs one part a result, and their sum has to be the extent of the axis",
        });
    }
    let steps = strides(&input.shape.0);
    let mut start = 0;
    let mut outputs = Vec::with_capacity(site.outputs);
    for &part in parts.iter().take(site.outputs) {
        let mut shape = input.shape.0.clone();
        shape[axis] = part;
        let output = Produced::new(input.dtype, shape.clone()).evaluated(|| {
            let mut ranges: Vec<Vec<u64>> =
                shape.iter().map(|&extent| (0..extent).collect()).collect();
            ranges[axis] = (start..start + part).collect();
            input
                .data
                .as_ref()?
                .pick(grid_indices(&ranges, &steps).into_iter())
        });
        outputs.push(output);
        start += part;
    }
    Ok(Effect::compute_all(OpClass::Split, outputs).with_parameters_from(1))
}

/// All parts are as large as the first, but for a smaller last one.
fn equal_parts(site: &Site<'_>, whole: u64, axis: usize) -> Result<Vec<u64>, Fault> {
    let count = match site.attributes.int("num_outputs")? {
        None => site.outputs,
        Some(count) => usize::try_from(count).unwrap_or(usize::MAX),
    };
    if count != site.outputs || count == 0 {
        return Err(Fault::Value {
            what: "num_outputs",
            found: count.to_string(),
            expected: "it has to be the number of results listed",
        });
    }
    let count = count as u64;
    // A smaller last part came with version 18.
    if site.opset < 18 && !whole.is_multiple_of(count) {
        return Err(Fault::Value {
            what: "the number of results",
            found: format!("{count} for an extent of {whole} along axis {axis}"),
            expected: "it has to divide it, where no `split` is given",
        });
    }
    let part = whole.div_ceil(count);
    Ok((0..count)
        .map(|index| whole.saturating_sub(index.saturating_mul(part)).min(part))
        .collect())
}

fn expand(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "input")?;
    let wanted = site.integers(1, "shape")?.ok_or(Fault::MissingOperand {
        position: 1,
        operand: "shape",
    })?;
    let shape = broadcast(&input.shape, &Shape(extents("the new shape", wanted)?))?;
    Ok(repeated(input, &shape, |shape| {
        broadcast_indices(&input.shape, shape)
    }))
}

fn tile(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "input")?;
    let repeats = site.integers(1, "repeats")?.ok_or(Fault::MissingOperand {
        position: 1,
        operand: "repeats",
    })?;
    if repeats.len() != input.shape.0.len() {
        return Err(Fault::Value {
            what: "repeats",
            found: format!("{repeats:?} for {}", input.shape),
            expected: "it needs one number an axis",
        });
    }
    let repeats = extents("repeats", repeats)?;
    let shape = input
        .shape
        .0
        .iter()
        .zip(repeats)
        .map(|(&extent, repeats)| product("the tiled extent", [extent, repeats]))
        .collect::<Result<_, _>>()?;
    Ok(repeated(input, &Shape(shape), |shape| {
        let axes: Vec<Vec<u64>> = shape
            .0
            .iter()
            .zip(&input.shape.0)
            .map(|(&extent, &period)| (0..extent).map(|step| step % period).collect())
            .collect();
        grid_indices(&axes, &strides(&input.shape.0))
    }))
}

fn repeated(input: &Value, shape: &Shape, indices: impl FnOnce(&Shape) -> Vec<usize>) -> Effect {
    let output = Produced::new(input.dtype, shape.0.clone())
        .evaluated(|| input.data.as_ref()?.pick(indices(shape).into_iter()));
    if *shape == input.shape {
        return Effect::view(output);
    }
    Effect::compute(OpClass::Pad, output).with_parameters_from(1)
}

fn pad(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let rank = input.shape.0.len();
    let name = if site.opset < 2 { "paddings" } else { "pads" };
    let pads = site.required_by_version(name, 1, 11)?;
    let axes: Vec<usize> = match site.integers(3, "axes")? {
        None => (0..rank).collect(),
        Some(axes) => axes
            .iter()
            .map(|&axis| resolve_axis(axis, rank))
            .collect::<Result<_, _>>()?,
    };
    if pads.len() != 2 * axes.len() {
        return Err(Fault::Value {
            what: "pads",
            found: format!("{pads:?} for {}", input.shape),
            expected: "it needs a begin and an end for each axis",
        });
    }
    let mut shape = input.shape.0.clone();
    for (position, &axis) in axes.iter().enumerate() {
        let grown = i64::try_from(shape[axis])
            .ok()
            .and_then(|extent| extent.checked_add(pads[position]))
            .and_then(|extent| extent.checked_add(pads[position + axes.len()]))
            .ok_or(Fault::Overflow {
                what: "the padded extent",
            })?;
        shape[axis] = extent("the padded extent", grown)?;
    }
    let output = Produced::new(input.dtype, shape.clone()).evaluated(|| {
        let before: Vec<i64> = (0..rank)
            .map(|axis| {
                let position = axes.iter().rposition(|&padded| padded == axis);
                position.map_or(0, |position| pads[position])
            })
            .collect();
        surrounded(site, input, &shape, &before)
    });
    if pads.iter().all(|&pad| pad == 0) {
        return Ok(Effect::view(output.with_data(input.data.clone())));
    }
    Ok(Effect::compute(OpClass::Pad, output).with_parameters_from(1))
}

/// The elements of a small constant that is padded with a constant, or cut where `before` is negative.
fn surrounded(site: &Site<'_>, input: &Value, shape: &[u64], before: &[i64]) -> Option<Data> {
    let is_constant = matches!(site.attributes.string("mode"), Ok(None | Some("constant")));
    if !is_constant || site.opset < 11 || axes_repeat(site) {
        return None;
    }
    let data = input.data.as_ref()?;
    let fill = match site.optional(2) {
        Some(fill) => fill.data.clone()?,
        None => match data {
            Data::Integers(_) => Data::Integers(vec![0]),
            Data::Reals(_) => Data::Reals(vec![0.0]),
        },
    };
    let steps = strides(&input.shape.0);
    // For each axis the offset of each position in the operand, or none in the padding.
    let offsets = |axis: usize| -> Vec<Option<u64>> {
        let positions = (0..)
            .zip(0..shape[axis])
            .map(|(position, _): (i64, u64)| position);
        positions
            .map(|position| {
                let index = u64::try_from(position.checked_sub(before[axis])?).ok()?;
                (index < input.shape.0[axis]).then(|| index * steps[axis])
            })
            .collect()
    };
    let mut sources: Vec<Option<u64>> = vec![Some(0)];
    for axis in 0..shape.len() {
        let offsets = offsets(axis);
        sources = sources
            .iter()
            .flat_map(|&base| offsets.iter().map(move |&offset| Some(base? + offset?)))
            .collect();
    }
    match (data, fill) {
        (Data::Integers(values), Data::Integers(fill)) => {
            Some(Data::Integers(picked(values, *fill.first()?, &sources)?))
        }
        (Data::Reals(values), Data::Reals(fill)) => {
            Some(Data::Reals(picked(values, *fill.first()?, &sources)?))
        }
        (Data::Integers(_), Data::Reals(_)) | (Data::Reals(_), Data::Integers(_)) => None,
    }
}

/// Whether an axis is padded twice, which adds up in the shape and nowhere else.
fn axes_repeat(site: &Site<'_>) -> bool {
    let axes = site.integers(3, "axes").ok().flatten().unwrap_or_default();
    (1..axes.len()).any(|later| axes[..later].contains(&axes[later]))
}

fn picked<T: Copy>(values: &[T], fill: T, sources: &[Option<u64>]) -> Option<Vec<T>> {
    let element = |source: &Option<u64>| match source {
        None => Some(fill),
        Some(source) => values.get(usize::try_from(*source).ok()?).copied(),
    };
    sources.iter().map(element).collect()
}

/// Cuts or pads each axis evenly at both ends.
fn center_crop_pad(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "input_data")?;
    let rank = input.shape.0.len();
    let wanted = extents("shape", site.required_integers(1, "shape")?)?;
    let axes: Vec<usize> = match site.attributes.ints("axes")? {
        None => (0..rank).collect(),
        Some(axes) => axes
            .iter()
            .map(|&axis| resolve_axis(axis, rank))
            .collect::<Result<_, _>>()?,
    };
    if axes.len() != wanted.len() {
        return Err(Fault::Value {
            what: "shape",
            found: format!("{wanted:?} for {}", input.shape),
            expected: "it needs one number an axis",
        });
    }
    let mut shape = input.shape.0.clone();
    for (&axis, &extent) in axes.iter().zip(&wanted) {
        shape[axis] = extent;
    }
    Ok(repeated(input, &Shape(shape), |_| Vec::new()).reading_what_it_writes(input))
}
