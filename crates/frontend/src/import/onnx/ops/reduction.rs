//! Reductions over axes.

use paracompile_plan::OpClass;

use crate::ir::{DataType, Shape, Work};

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Data, elements, resolve_axis};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("ArgMax", arg),
    ("ArgMin", arg),
    ("CumProd", cumulate),
    ("CumSum", cumulate),
    ("ReduceL1", |site| reduce(site, |_| None)),
    ("ReduceL2", |site| reduce(site, |_| None)),
    ("ReduceLogSum", |site| reduce(site, |_| None)),
    ("ReduceLogSumExp", |site| reduce(site, |_| None)),
    ("ReduceMax", |site| {
        reduce(site, |values| values.iter().copied().max())
    }),
    ("ReduceMean", |site| reduce(site, |_| None)),
    ("ReduceMin", |site| {
        reduce(site, |values| values.iter().copied().min())
    }),
    ("ReduceProd", |site| {
        reduce(site, |values| {
            values
                .iter()
                .try_fold(1i64, |all, &value| all.checked_mul(value))
        })
    }),
    ("ReduceSum", |site| {
        reduce(site, |values| {
            values
                .iter()
                .try_fold(0i64, |all, &value| all.checked_add(value))
        })
    }),
    ("ReduceSumSquare", |site| reduce(site, |_| None)),
];

/// `of_all` reduces all elements of an integer constant to one.
fn reduce(site: &Site<'_>, of_all: fn(&[i64]) -> Option<i64>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let rank = input.shape.0.len();
    let axes = site.integers_or_attribute("axes", 1)?.unwrap_or_default();
    if axes.is_empty() && site.attributes.is_set("noop_with_empty_axes")? {
        return Ok(Effect::view(
            Produced::like(input).with_data(input.data.clone()),
        ));
    }
    let mut is_reduced = vec![axes.is_empty(); rank];
    for &axis in axes {
        is_reduced[resolve_axis(axis, rank)?] = true;
    }
    let shape = collapsed(
        &input.shape,
        &is_reduced,
        site.attributes.int_or("keepdims", 1)? != 0,
    );
    let is_total = is_reduced.iter().all(|&is_reduced| is_reduced);
    let output = Produced::new(input.dtype, shape).evaluated(|| match input.data.as_ref()? {
        Data::Integers(values) if is_total => Some(Data::Integers(vec![of_all(values)?])),
        Data::Integers(_) | Data::Reals(_) => None,
    });
    let work = Work {
        other_flops: elements(&input.shape)?,
        ..Work::default()
    };
    Ok(Effect::compute(OpClass::Reduce, output)
        .with_work(work)
        .with_parameters_from(1))
}

fn collapsed(shape: &Shape, is_reduced: &[bool], keeps: bool) -> Vec<u64> {
    shape
        .0
        .iter()
        .zip(is_reduced)
        .filter_map(|(&extent, &is_reduced)| match (is_reduced, keeps) {
            (false, _) => Some(extent),
            (true, true) => Some(1),
            (true, false) => None,
        })
        .collect()
}

fn arg(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let rank = input.shape.0.len();
    let mut is_reduced = vec![false; rank];
    is_reduced[resolve_axis(site.attributes.int_or("axis", 0)?, rank)?] = true;
    let shape = collapsed(
        &input.shape,
        &is_reduced,
        site.attributes.int_or("keepdims", 1)? != 0,
    );
    let work = Work {
        other_flops: elements(&input.shape)?,
        ..Work::default()
    };
    Ok(Effect::compute(OpClass::Reduce, Produced::new(DataType::Int64, shape)).with_work(work))
}

fn cumulate(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "x")?;
    Effect::compute(OpClass::Reduce, Produced::like(input))
        .with_parameters_from(1)
        .with_flops_per_element(1)
}
