//! Elements and slices at computed places: the general gathers, and the scatters that are their inverses.
//!
//! Small constants are evaluated, because exporters write into shapes with them.

use paracompile_plan::OpClass;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Data, Value, product, resolve_axis, strided_indices, strides};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("GatherElements", gather_elements),
    ("GatherND", gather_nd),
    ("Scatter", scatter_elements),
    ("ScatterElements", scatter_elements),
    ("ScatterND", scatter_nd),
];

/// An index, counted from the end if negative; `None` if it is out of range.
pub(super) fn from_start(index: i64, extent: u64) -> Option<u64> {
    let index = if index < 0 {
        index.checked_add_unsigned(extent)?
    } else {
        index
    };
    u64::try_from(index).ok().filter(|&index| index < extent)
}

fn gather_elements(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let indices = site.operand(1, "indices")?;
    let axis = along(site, input, indices)?;
    let output = Produced::new(input.dtype, indices.shape.0.clone()).evaluated(|| {
        let places = element_places(input, indices, axis)?;
        input.data.as_ref()?.pick(places.into_iter())
    });
    Ok(Effect::compute(OpClass::Gather, output).reading_what_it_writes(input))
}

fn along(site: &Site<'_>, input: &Value, indices: &Value) -> Result<usize, Fault> {
    let rank = input.shape.0.len();
    if indices.shape.0.len() != rank {
        return Err(mismatch(
            input,
            indices,
            "data and indices need the same rank",
        ));
    }
    resolve_axis(site.attributes.int_or("axis", 0)?, rank)
}

/// For each element of small constant `indices` the place in `input`: its own coordinates, but for the index along `axis`.
fn element_places(input: &Value, indices: &Value, axis: usize) -> Option<Vec<usize>> {
    let Data::Integers(chosen) = indices.data.as_ref()? else {
        return None;
    };
    let within = |axis: usize| indices.shape.0[axis] <= input.shape.0[axis];
    if !(0..input.shape.0.len()).all(|other| other == axis || within(other)) {
        return None;
    }
    let mut steps = strides(&input.shape.0);
    let step = steps[axis];
    steps[axis] = 0;
    let places = strided_indices(&indices.shape.0, &steps);
    places
        .into_iter()
        .zip(chosen)
        .map(|(place, &index)| {
            let offset = from_start(index, input.shape.0[axis])?.checked_mul(step)?;
            place.checked_add(usize::try_from(offset).ok()?)
        })
        .collect()
}

fn gather_nd(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let indices =
        site.operand_of_rank(1, "indices", 1..=usize::MAX, "its last axis is an index")?;
    let batch = site.attributes.int_or("batch_dims", 0)?;
    let (tuple, outer) = indices
        .shape
        .0
        .split_last()
        .expect("its rank is at least 1");
    let rest = usize::try_from(batch)
        .ok()
        .zip(usize::try_from(*tuple).ok())
        .and_then(|(batch, tuple)| batch.checked_add(tuple))
        .and_then(|skipped| input.shape.0.get(skipped..))
        .ok_or_else(|| {
            mismatch(
                input,
                indices,
                "an index has at most as many parts as the data has axes",
            )
        })?;
    let output = Produced::new(input.dtype, [outer, rest].concat()).evaluated(|| {
        if batch != 0 {
            return None;
        }
        let data = input.data.as_ref()?;
        let run = usize::try_from(rest.iter().product::<u64>()).ok()?;
        let starts = slice_places(input, indices)?;
        data.pick(starts.into_iter().flat_map(|start| start..start + run))
    });
    Ok(Effect::compute(OpClass::Gather, output).reading_what_it_writes(input))
}

/// Where the slices of `input` begin that the last axis of small constant `indices` names.
fn slice_places(input: &Value, indices: &Value) -> Option<Vec<usize>> {
    let Data::Integers(chosen) = indices.data.as_ref()? else {
        return None;
    };
    let tuple = usize::try_from(*indices.shape.0.last()?).ok()?;
    if tuple == 0 || tuple > input.shape.0.len() {
        return None;
    }
    let steps = strides(&input.shape.0);
    chosen
        .chunks_exact(tuple)
        .map(|index| {
            let parts = index.iter().zip(&input.shape.0).zip(&steps);
            let place = parts
                .map(|((&index, &extent), &step)| from_start(index, extent)?.checked_mul(step))
                .try_fold(0u64, |sum, part| sum.checked_add(part?))?;
            usize::try_from(place).ok()
        })
        .collect()
}

fn mismatch(left: &Value, right: &Value, why: &'static str) -> Fault {
    Fault::Mismatch {
        left: left.shape.clone(),
        right: right.shape.clone(),
        why,
    }
}

fn scatter_elements(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let indices = site.operand(1, "indices")?;
    let updates = site.operand(2, "updates")?;
    let axis = along(site, input, indices)?;
    scatter(site, input, updates, || {
        element_places(input, indices, axis)
    })
}

fn scatter_nd(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let indices =
        site.operand_of_rank(1, "indices", 1..=usize::MAX, "its last axis is an index")?;
    let updates = site.operand(2, "updates")?;
    scatter(site, input, updates, || {
        let tuple = usize::try_from(*indices.shape.0.last()?).ok()?;
        let rest = input.shape.0.get(tuple..)?;
        let run = product("the slice", rest.iter().copied()).ok()?;
        let run = usize::try_from(run).ok()?;
        let starts = slice_places(input, indices)?;
        // The updates are few, and no more is written.
        if starts.len().checked_mul(run)? != updates.data.as_ref()?.len() {
            return None;
        }
        Some(
            starts
                .into_iter()
                .flat_map(|start| start..start + run)
                .collect(),
        )
    })
}

/// The first operand with the updates written to `places`, in order.
fn scatter(
    site: &Site<'_>,
    input: &Value,
    updates: &Value,
    places: impl FnOnce() -> Option<Vec<usize>>,
) -> Result<Effect, Fault> {
    let replaces = matches!(
        site.attributes.string("reduction")?,
        None | Some("" | "none")
    );
    let output = Produced::like(input).evaluated(|| {
        if !replaces {
            return None;
        }
        match (input.data.clone()?, updates.data.as_ref()?) {
            (Data::Integers(values), Data::Integers(updates)) => {
                written(values, updates, &places()?).map(Data::Integers)
            }
            (Data::Reals(values), Data::Reals(updates)) => {
                written(values, updates, &places()?).map(Data::Reals)
            }
            (Data::Integers(_), Data::Reals(_)) | (Data::Reals(_), Data::Integers(_)) => None,
        }
    });
    Ok(Effect::compute(OpClass::Gather, output))
}

fn written<T: Copy>(mut values: Vec<T>, updates: &[T], places: &[usize]) -> Option<Vec<T>> {
    if updates.len() != places.len() {
        return None;
    }
    for (&place, &update) in places.iter().zip(updates) {
        *values.get_mut(place)? = update;
    }
    Some(values)
}
