//! Time models where single operators were timed: one regression for each class.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use paracompile_plan::OpClass;
use paracompile_plan::plan::Source;

use super::measurement::Operator;
use super::recipe::{ClassFit, PLAIN_CONVOLUTION, anchored, borrow, error_of, features, rounded};
use super::regression::{Regression, fit, real};
use crate::cost::evaluate;
use crate::ir::Work;
use crate::soc::{Feature, Winograd};

/// A class counts as measured from this many distinct operators on.
pub(super) const ENOUGH: usize = 3;
/// Distinct operators that a coefficient needs.
const OPERATORS_A_COEFFICIENT: usize = 2;
/// Convolutions of each algorithm that it takes to keep algorithms apart.
const ENOUGH_OF_ALGORITHM: usize = 6;
/// Operators whose largest is less than this many times the smallest tell one number and no rate.
const TELLING_RANGE: f64 = 4.0;

/// Models of the classes of which single operators were timed; `winograd` is what the processor is known to do, if it is known.
pub(super) fn fit_operators<'a>(
    operators: impl Iterator<Item = &'a Operator>,
    winograd: Option<Winograd>,
) -> BTreeMap<OpClass, ClassFit> {
    let mut by_class: BTreeMap<OpClass, Vec<Sample<'a>>> = BTreeMap::new();
    for operator in operators {
        if let Some(seconds) = operator.seconds {
            let sample = Sample { operator, seconds };
            by_class.entry(operator.class).or_default().push(sample);
        }
    }
    let mut models = BTreeMap::new();
    // Classes that others lean on come first.
    let first = [OpClass::Conv, OpClass::Activation, OpClass::Concat];
    let order = first.into_iter().chain(
        OpClass::ALL
            .into_iter()
            .filter(|class| !first.contains(class)),
    );
    for class in order {
        if let Some(samples) = by_class.get(&class) {
            let model = if class == OpClass::Conv {
                convolution(samples, winograd)
            } else {
                class_model(class, samples, &models)
            };
            models.insert(class, model);
        }
    }
    models
}

/// How many different operators there are.
pub(super) fn distinct<'a>(works: impl Iterator<Item = &'a Work>) -> usize {
    let key = |work: &Work| {
        (
            [
                work.macs,
                work.rows,
                work.columns,
                work.depth,
                work.groups,
                work.window,
            ],
            [work.kernel, work.stride, work.dilation],
            [work.input_bytes, work.weight_bytes, work.output_bytes],
        )
    };
    works.map(key).collect::<BTreeSet<_>>().len()
}

/// A timed operator.
#[derive(Clone, Copy)]
struct Sample<'a> {
    operator: &'a Operator,
    seconds: f64,
}

/// The model with the algorithms that are known, else with those that explain the times best.
fn convolution(samples: &[Sample<'_>], known: Option<Winograd>) -> ClassFit {
    let best = Winograd::ALL
        .into_iter()
        .filter(|winograd| known.is_none_or(|known| known == *winograd))
        .filter_map(|winograd| {
            let is_tiled = |sample: &&Sample<'_>| {
                evaluate(Feature::WinogradMacs, &sample.operator.work, winograd) > 0.0
            };
            let tiled = samples.iter().filter(is_tiled).count();
            let separable = match winograd {
                Winograd::None => samples.len() >= ENOUGH_OF_ALGORITHM,
                Winograd::Square | Winograd::Strips => {
                    tiled >= ENOUGH_OF_ALGORITHM && samples.len() - tiled >= ENOUGH_OF_ALGORITHM
                }
            };
            let list = features(OpClass::Conv);
            let enough = distinct(samples.iter().map(|sample| &sample.operator.work))
                >= OPERATORS_A_COEFFICIENT * list.len();
            (separable && enough).then(|| regress(samples, list, &[], winograd))
        })
        .min_by(|a, b| a.1.loss.total_cmp(&b.1.loss));
    if let Some((model, _)) = best {
        return model;
    }
    let list = affordable(samples, PLAIN_CONVOLUTION);
    let (mut model, _) = regress(samples, list, &[], Winograd::None);
    model.note.push_str("; too few to keep algorithms apart");
    model
}

fn class_model(
    class: OpClass,
    samples: &[Sample<'_>],
    models: &BTreeMap<OpClass, ClassFit>,
) -> ClassFit {
    let list = features(class);
    let winograd = Winograd::default();
    let of = |sample: &Sample<'_>| evaluate(list[0], &sample.operator.work, winograd);
    let least = samples.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = samples.iter().map(of).fold(0.0, f64::max);
    if most < TELLING_RANGE * least
        && let Some(borrowed) = borrow(class, models)
    {
        let donor = borrowed.note.trim_start_matches("class not measured; ");
        // How time grows is that of another class.
        let rates: Vec<(Feature, f64)> = borrowed
            .terms
            .iter()
            .copied()
            .filter(|(feature, _)| *feature != Feature::Launch)
            .collect();
        let factor = factor(samples, &rates, winograd);
        let mut model = if factor >= 1.0 {
            let (mut model, _) = regress(samples, &[Feature::Launch], &rates, winograd);
            let _ = write!(
                model.note,
                "; all are about one size, so only a constant is fitted and the rates are {donor}"
            );
            model
        } else {
            // No constant is small enough to predict them as they were measured.
            let scaled: Vec<(Feature, f64)> = rates
                .iter()
                .map(|&(feature, rate)| (feature, factor * rate))
                .collect();
            let (mut model, _) = regress(samples, &[], &scaled, winograd);
            let _ = write!(
                model.note,
                "; all are about one size, so there is no constant, and the rates are {factor:.2} times those {donor}"
            );
            model
        };
        model.source = Source::Estimated;
        return model;
    }
    let fixed = anchored(class, models);
    let (mut model, _) = regress(samples, affordable(samples, list), &fixed, winograd);
    if !fixed.is_empty() {
        model.note.push_str(
            "; arithmetic and input as in convolutions, because single vectors do not show them",
        );
    }
    model
}

/// Seconds that these terms make of an operator.
fn total(terms: &[(Feature, f64)], sample: &Sample<'_>, winograd: Winograd) -> f64 {
    terms
        .iter()
        .map(|&(feature, rate)| rate * evaluate(feature, &sample.operator.work, winograd))
        .sum()
}

/// By how much terms have to be multiplied to make operators take as long as they did, in the geometric mean; infinite where they make nothing.
fn factor(samples: &[Sample<'_>], terms: &[(Feature, f64)], winograd: Winograd) -> f64 {
    let logs = samples
        .iter()
        .map(|sample| (sample.seconds / total(terms, sample, winograd)).ln());
    (logs.sum::<f64>() / real(samples.len().max(1))).exp()
}

/// The first features, as many as there are operators for.
fn affordable<'a>(samples: &[Sample<'_>], list: &'a [Feature]) -> &'a [Feature] {
    let distinct = distinct(samples.iter().map(|sample| &sample.operator.work));
    &list[..(distinct / OPERATORS_A_COEFFICIENT).clamp(1, list.len())]
}

/// Fits `list` to what `fixed` terms leave of the times.
fn regress(
    samples: &[Sample<'_>],
    list: &[Feature],
    fixed: &[(Feature, f64)],
    winograd: Winograd,
) -> (ClassFit, Regression) {
    let rest = |sample: &Sample<'_>| sample.seconds - total(fixed, sample, winograd);
    // What the fixed terms explain altogether says nothing about the others.
    let open: Vec<&Sample<'_>> = samples
        .iter()
        .filter(|sample| rest(sample) > 0.01 * sample.seconds)
        .collect();
    let rows: Vec<Vec<f64>> = open
        .iter()
        .map(|sample| {
            list.iter()
                .map(|&feature| evaluate(feature, &sample.operator.work, winograd))
                .collect()
        })
        .collect();
    let times: Vec<f64> = open.iter().map(|sample| rest(sample)).collect();
    let regression = fit(&rows, &times);
    let fitted = list
        .iter()
        .copied()
        .zip(regression.coefficients.iter().copied());
    let terms = rounded(fitted.chain(fixed.iter().copied()).collect());
    let seen = terms
        .iter()
        .map(|&(feature, _)| {
            let values = samples
                .iter()
                .map(|sample| evaluate(feature, &sample.operator.work, winograd));
            [
                values.clone().fold(f64::INFINITY, f64::min),
                values.fold(0.0, f64::max),
            ]
        })
        .collect();
    let operators = distinct(samples.iter().map(|sample| &sample.operator.work));
    let source = if operators >= ENOUGH {
        Source::Fitted
    } else {
        Source::Estimated
    };
    let mut model = ClassFit {
        terms,
        winograd,
        seen,
        source,
        note: String::new(),
        operators,
        rows: samples
            .iter()
            .map(|sample| sample.operator.repetitions)
            .sum(),
        outliers: open
            .iter()
            .zip(&regression.weights)
            .filter(|(_, weight)| **weight < 0.5)
            .map(|(sample, _)| sample.operator.line)
            .collect(),
        error: None,
    };
    let measured = samples
        .iter()
        .map(|sample| (&sample.operator.work, sample.seconds));
    let error = error_of(|work| model.seconds(work), measured);
    model.error = Some(error);
    let few = if operators < ENOUGH {
        ", too few to trust"
    } else {
        ""
    };
    model.note = format!(
        "non-negative least squares over {} timed operators, {operators} of them different{few}; root mean square of relative errors {:.0}%",
        samples.len(),
        error * 100.0
    );
    (model, regression)
}
