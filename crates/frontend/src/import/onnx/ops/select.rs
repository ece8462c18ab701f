//! Slices, gathers along one axis, and other choices of elements.

use paracompile_plan::OpClass;

use crate::ir::DataType;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Data, extent, grid_indices, resolve_axis, strides};
use super::scatter::from_start;

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Gather", gather),
    ("OneHot", one_hot),
    ("Slice", slice),
    ("TopK", top_k),
];

fn slice(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let rank = input.shape.0.len();
    let starts = site.required_by_version("starts", 1, 10)?;
    let ends = site.required_by_version("ends", 2, 10)?;
    let axes = match site.integers_by_version("axes", 3, 10)? {
        Some(axes) => axes
            .iter()
            .map(|&axis| resolve_axis(axis, rank))
            .collect::<Result<_, _>>()?,
        None => (0..starts.len()).collect::<Vec<_>>(),
    };
    let steps = site.integers(4, "steps")?;
    let is_complete = starts.len() == ends.len()
        && starts.len() == axes.len()
        && steps.is_none_or(|steps| steps.len() == axes.len())
        && axes.iter().all(|&axis| axis < rank);
    if !is_complete {
        return Err(Fault::Value {
            what: "the slice",
            found: format!("{starts:?} to {ends:?} of {}", input.shape),
            expected: "it needs as many starts, ends and steps as axes",
        });
    }
    let mut bounds: Vec<Bounds> = input
        .shape
        .0
        .iter()
        .map(|&extent| Bounds::whole(extent))
        .collect();
    for (position, &axis) in axes.iter().enumerate() {
        let step = steps.map_or(1, |steps| steps[position]);
        bounds[axis] = Bounds::of(input.shape.0[axis], starts[position], ends[position], step)?;
    }
    let shape: Vec<u64> = bounds.iter().map(|bounds| bounds.count).collect();
    let is_whole = bounds
        .iter()
        .zip(&input.shape.0)
        .all(|(bounds, &extent)| bounds.count == extent && bounds.step > 0);
    let output = Produced::new(input.dtype, shape).evaluated(|| {
        let axes: Option<Vec<Vec<u64>>> = bounds.iter().map(Bounds::indices).collect();
        let indices = grid_indices(&axes?, &strides(&input.shape.0));
        input.data.as_ref()?.pick(indices.into_iter())
    });
    if is_whole {
        return Ok(Effect::view(output));
    }
    Ok(Effect::compute(OpClass::Slice, output)
        .reading_what_it_writes(input)
        .with_parameters_from(1))
}

/// The indices of a slice along one axis.
struct Bounds {
    start: i128,
    step: i128,
    count: u64,
}

impl Bounds {
    const fn whole(extent: u64) -> Self {
        Self {
            start: 0,
            step: 1,
            count: extent,
        }
    }

    /// Python's rule: bounds count from the end if negative, and are clamped.
    fn of(extent: u64, start: i64, end: i64, step: i64) -> Result<Self, Fault> {
        if step == 0 {
            return Err(Fault::Value {
                what: "a step of the slice",
                found: "0".to_owned(),
                expected: "it has to move",
            });
        }
        let extent = i128::from(extent);
        let (lowest, highest) = if step > 0 {
            (0, extent)
        } else {
            (-1, extent - 1)
        };
        let clamp = |bound: i64, lowest: i128| {
            let bound = i128::from(bound);
            let from_start = if bound < 0 { bound + extent } else { bound };
            from_start.clamp(lowest, highest.max(lowest))
        };
        // A start before the first element is the first element, also of a backward slice.
        let start = clamp(
            start,
            if step > 0 {
                0
            } else {
                lowest.max(0).min(highest.max(-1))
            },
        );
        let end = clamp(end, lowest);
        let step = i128::from(step);
        let distance = if step > 0 { end - start } else { start - end };
        let size = step.abs();
        let count = if distance <= 0 {
            0
        } else {
            (distance + size - 1) / size
        };
        Ok(Self {
            start,
            step,
            count: u64::try_from(count).expect("a slice is not longer than its axis"),
        })
    }

    fn indices(&self) -> Option<Vec<u64>> {
        (0..self.count)
            .map(|index| u64::try_from(self.start + i128::from(index) * self.step).ok())
            .collect()
    }
}

fn gather(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let indices = site.operand(1, "indices")?;
    let axis = resolve_axis(site.attributes.int_or("axis", 0)?, input.shape.0.len())?;
    let (before, rest) = input.shape.0.split_at(axis);
    let shape: Vec<u64> = [before, &indices.shape.0, &rest[1..]].concat();
    let output = Produced::new(input.dtype, shape).evaluated(|| {
        let Data::Integers(chosen) = indices.data.as_ref()? else {
            return None;
        };
        let extent = input.shape.0[axis];
        let chosen = chosen
            .iter()
            .map(|&index| from_start(index, extent))
            .collect::<Option<_>>()?;
        let mut chosen_by_axis: Vec<Vec<u64>> = input
            .shape
            .0
            .iter()
            .map(|&extent| (0..extent).collect())
            .collect();
        chosen_by_axis[axis] = chosen;
        let picked = grid_indices(&chosen_by_axis, &strides(&input.shape.0));
        input.data.as_ref()?.pick(picked.into_iter())
    });
    Ok(Effect::compute(OpClass::Gather, output).reading_what_it_writes(input))
}

fn one_hot(site: &Site<'_>) -> Result<Effect, Fault> {
    let indices = site.operand(0, "indices")?;
    let values = site.operand(2, "values")?;
    let depth = match site.optional(1).and_then(|depth| depth.data.as_ref()) {
        Some(Data::Integers(depth)) => depth.first().copied(),
        // The definition allows any numeric type; Keras writes floats.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a saturated depth is refused below"
        )]
        Some(Data::Reals(depth)) => depth.first().map(|&depth| depth as i64),
        None => None,
    };
    let depth = depth.ok_or(Fault::NotConstant { operand: "depth" })?;
    let rank = indices.shape.0.len() + 1;
    let axis = resolve_axis(site.attributes.int_or("axis", -1)?, rank)?;
    let mut shape = indices.shape.0.clone();
    shape.insert(axis, extent("depth", depth)?);
    let output = Produced::new(values.dtype, shape);
    Ok(Effect::compute(OpClass::Other, output).with_parameters_from(1))
}

fn top_k(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    let axis = resolve_axis(site.attributes.int_or("axis", -1)?, input.shape.0.len())?;
    let whole = input.shape.0[axis];
    let (k, is_bound) = if site.opset < 10 {
        let k = site.attributes.int("k")?;
        (k.ok_or(Fault::MissingAttribute { attribute: "k" })?, false)
    } else {
        match &site.operand(1, "K")?.data {
            Some(data) => {
                let k = data.integer().ok_or(Fault::MissingOperand {
                    position: 1,
                    operand: "K",
                })?;
                (k, false)
            }
            // Computed from an input: no more than all.
            None => (i64::try_from(whole).unwrap_or(i64::MAX), true),
        }
    };
    let k = extent("k", k)?;
    if k > whole {
        return Err(Fault::Value {
            what: "k",
            found: k.to_string(),
            expected: "it cannot exceed the extent of the axis",
        });
    }
    let mut shape = input.shape.0.clone();
    shape[axis] = k;
    let mut outputs = vec![
        Produced::new(input.dtype, shape.clone()),
        Produced::new(DataType::Int64, shape),
    ];
    if is_bound {
        for output in &mut outputs {
            output.bounded.push(axis);
        }
    }
    Effect::compute_all(OpClass::Reduce, outputs)
        .with_parameters_from(1)
        .with_flops_per_element(1)
}
