//! Operators whose result is as long as their data says: its extent is a bound.

use paracompile_plan::OpClass;

use crate::ir::{DataType, Work};

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Data, elements, product, resolve_axis, strides};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Compress", compress),
    ("NonMaxSuppression", non_max_suppression),
    ("NonZero", non_zero),
    ("Unique", unique),
];

/// One column an element that is not zero: all of them at most, counted where they are constant.
fn non_zero(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    let rank = input.shape.0.len() as u64;
    let Some(data) = &input.data else {
        let most = elements(&input.shape)?;
        let output = Produced::new(DataType::Int64, vec![rank, most]).bounded_along(1);
        return Ok(Effect::compute(OpClass::Other, output));
    };
    let is_hit: Vec<bool> = match data {
        Data::Integers(values) => values.iter().map(|&value| value != 0).collect(),
        Data::Reals(values) => values.iter().map(|&value| value != 0.0).collect(),
    };
    let hits: Vec<i64> = (0..)
        .zip(is_hit)
        .filter_map(|(index, is_hit)| is_hit.then_some(index))
        .collect();
    let shape = vec![rank, hits.len() as u64];
    let output = Produced::new(DataType::Int64, shape).evaluated(|| {
        let steps = strides(&input.shape.0);
        let mut coordinates = Vec::new();
        for (&step, &extent) in steps.iter().zip(&input.shape.0) {
            let (step, extent) = (i64::try_from(step).ok()?, i64::try_from(extent).ok()?);
            coordinates.extend(hits.iter().map(|hit| hit / step % extent));
        }
        Some(Data::Integers(coordinates))
    });
    Ok(Effect::compute(OpClass::Other, output))
}

/// The slices, or elements, at which a condition holds.
fn compress(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "input")?;
    let condition = site.operand_of_rank(1, "condition", 1..=1, "a list of truths is needed")?;
    let (mut shape, axis) = match site.attributes.int("axis")? {
        None => (vec![elements(&input.shape)?], 0),
        Some(axis) => {
            let axis = resolve_axis(axis, input.shape.0.len())?;
            (input.shape.0.clone(), axis)
        }
    };
    // What lies behind the condition is dropped.
    let most = condition.shape.0[0].min(shape[axis]);
    let kept = condition.data.as_ref().and_then(|data| match data {
        Data::Integers(truths) => {
            let seen = truths.iter().zip(0..most);
            Some(seen.filter(|&(&truth, _)| truth != 0).count() as u64)
        }
        Data::Reals(_) => None,
    });
    shape[axis] = kept.unwrap_or(most);
    let output = Produced::new(input.dtype, shape);
    let output = match kept {
        Some(_) => output,
        None => output.bounded_along(axis),
    };
    Ok(Effect::compute(OpClass::Gather, output).reading_what_it_writes(input))
}

/// At most every element, or every slice along an axis, is distinct.
fn unique(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    let (shape, axis) = match site.attributes.int("axis")? {
        None => (vec![elements(&input.shape)?], 0),
        Some(axis) => {
            let axis = resolve_axis(axis, input.shape.0.len())?;
            (input.shape.0.clone(), axis)
        }
    };
    let most = shape[axis];
    let counted = || Produced::new(DataType::Int64, vec![most]);
    let outputs = vec![
        Produced::new(input.dtype, shape).bounded_along(axis),
        counted().bounded_along(0),
        counted(),
        counted().bounded_along(0),
    ];
    // A sort: as many comparisons an element as the number of elements has bits.
    let count = elements(&input.shape)?;
    let comparisons = u64::from(most.max(2).ilog2()) + 1;
    let work = Work {
        other_flops: product("the number of comparisons", [count, comparisons])?,
        ..Work::default()
    };
    Ok(Effect::compute_all(OpClass::Reduce, outputs).with_work(work))
}

/// One row a box that is kept: no more than there are, nor than are asked for, in each class of each image.
fn non_max_suppression(site: &Site<'_>) -> Result<Effect, Fault> {
    let boxes = site.operand_of_rank(0, "boxes", 3..=3, "images, boxes and corners are needed")?;
    let scores =
        site.operand_of_rank(1, "scores", 3..=3, "images, classes and boxes are needed")?;
    let (images, found) = (boxes.shape.0[0], boxes.shape.0[1]);
    if scores.shape.0[0] != images || scores.shape.0[2] != found {
        return Err(Fault::Mismatch {
            left: boxes.shape.clone(),
            right: scores.shape.clone(),
            why: "there has to be a score a class for each box of each image",
        });
    }
    // Without a number, none is kept.
    let asked = match site.optional(2) {
        None => 0,
        Some(most) => match most.data.as_ref().and_then(Data::integer) {
            Some(most) => u64::try_from(most).unwrap_or(0),
            None => found,
        },
    };
    let lists = product("the number of lists", [images, scores.shape.0[1]])?;
    let kept = product("the number of boxes", [lists, asked.min(found)])?;
    let output = Produced::new(DataType::Int64, vec![kept, 3]);
    let output = if kept == 0 {
        output
    } else {
        output.bounded_along(0)
    };
    // Every box that is kept is compared with all others of its list: about ten operations for an intersection over union.
    let work = Work {
        other_flops: product("the number of comparisons", [kept, found, 10])?,
        ..Work::default()
    };
    Ok(Effect::compute(OpClass::Other, output)
        .with_work(work)
        .with_parameters_from(2))
}
