//! Reductions over axes.

use paracompile_plan::OpClass;

use crate::ir::{DataType, Shape, Work};

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{
    Data, Value, broadcast_indices, elements, larger, resolve_axis, smaller,
};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("ArgMax", arg),
    ("ArgMin", arg),
    ("CumProd", cumulate),
    ("CumSum", cumulate),
    ("ReduceL1", |site| reduce(site, &MAPPED)),
    ("ReduceL2", |site| reduce(site, &MAPPED)),
    ("ReduceLogSum", |site| reduce(site, &MAPPED)),
    ("ReduceLogSumExp", |site| reduce(site, &UNEVALUATED)),
    ("ReduceMax", |site| {
        let of_integers = |values: &[i64]| values.iter().copied().max();
        let of_reals = |values: &[f64]| values.iter().copied().reduce(larger);
        reduce(site, &Reduction::new(of_integers, of_reals))
    }),
    ("ReduceMean", |site| {
        #[expect(clippy::cast_precision_loss, reason = "constants are small")]
        let mean = |values: &[f64]| Some(values.iter().sum::<f64>() / values.len() as f64);
        reduce(site, &Reduction::new(|_| None, mean))
    }),
    ("ReduceMin", |site| {
        let of_integers = |values: &[i64]| values.iter().copied().min();
        let of_reals = |values: &[f64]| values.iter().copied().reduce(smaller);
        reduce(site, &Reduction::new(of_integers, of_reals))
    }),
    ("ReduceProd", |site| {
        let of_integers = |values: &[i64]| values.iter().copied().try_fold(1, i64::checked_mul);
        let of_reals = |values: &[f64]| Some(values.iter().product());
        reduce(site, &Reduction::new(of_integers, of_reals))
    }),
    ("ReduceSum", |site| {
        let of_integers = |values: &[i64]| values.iter().copied().try_fold(0, i64::checked_add);
        let of_reals = |values: &[f64]| Some(values.iter().sum());
        let reduction = Reduction::new(of_integers, of_reals);
        reduce(
            site,
            &Reduction {
                since: 13,
                ..reduction
            },
        )
    }),
    ("ReduceSumSquare", |site| reduce(site, &MAPPED)),
];

/// A reduction of small constants, where shape arithmetic uses it, and when its axes became an operand.
struct Reduction {
    of_integers: fn(&[i64]) -> Option<i64>,
    of_reals: fn(&[f64]) -> Option<f64>,
    since: i64,
    /// Whether an element alone is reduced to itself.
    keeps_single: bool,
}

/// Norms, squares and logarithms, which change an element alone too.
const MAPPED: Reduction = Reduction {
    keeps_single: false,
    ..UNEVALUATED
};

const UNEVALUATED: Reduction = Reduction::new(|_| None, |_| None);

impl Reduction {
    const fn new(
        of_integers: fn(&[i64]) -> Option<i64>,
        of_reals: fn(&[f64]) -> Option<f64>,
    ) -> Self {
        Self {
            of_integers,
            of_reals,
            since: 18,
            keeps_single: true,
        }
    }

    /// Reduces a small constant to the shape `kept`, in which the axes reduced have extent 1.
    fn evaluate(&self, input: &Value, kept: &Shape) -> Option<Data> {
        // Only where the elements are known is the operand small.
        let data = input.data.as_ref()?;
        let groups = usize::try_from(kept.elements()?).ok()?;
        let group_of = broadcast_indices(kept, &input.shape);
        match data {
            Data::Integers(values) => grouped(values, &group_of, groups)
                .iter()
                .map(|values| (self.of_integers)(values))
                .collect::<Option<_>>()
                .map(Data::Integers),
            Data::Reals(values) => grouped(values, &group_of, groups)
                .iter()
                .map(|values| (self.of_reals)(values))
                .collect::<Option<_>>()
                .map(Data::Reals),
        }
    }
}

fn grouped<T: Copy>(values: &[T], group_of: &[usize], groups: usize) -> Vec<Vec<T>> {
    let mut grouped = vec![Vec::new(); groups];
    for (&value, &group) in values.iter().zip(group_of) {
        grouped[group].push(value);
    }
    grouped
}

fn reduce(site: &Site<'_>, reduction: &Reduction) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let rank = input.shape.0.len();
    let axes = site
        .integers_by_version("axes", 1, reduction.since)?
        .unwrap_or_default();
    // Without axes each element is reduced alone, which keeps it where the operator maps no elements.
    let is_alone = axes.is_empty() && site.attributes.is_set("noop_with_empty_axes")?;
    if is_alone && reduction.keeps_single {
        return Ok(Effect::view(
            Produced::like(input).with_data(input.data.clone()),
        ));
    }
    let mut is_reduced = vec![axes.is_empty() && !is_alone; rank];
    for &axis in axes {
        is_reduced[resolve_axis(axis, rank)?] = true;
    }
    let shape = collapsed(
        &input.shape,
        &is_reduced,
        site.attributes.int_or("keepdims", 1)? != 0,
    );
    let output = Produced::new(input.dtype, shape).evaluated(|| {
        let kept = Shape(collapsed(&input.shape, &is_reduced, true));
        reduction.evaluate(input, &kept)
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
