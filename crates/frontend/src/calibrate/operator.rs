//! Time models where single operators were timed: one regression for each class.
//!
//! Few operators afford few coefficients, and the most important one is a rate; but short operators take what it takes to start them.
//! So every model is held against a constant alone and against a constant with that rate, and never kept where one of them explains the times better.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::OpClass;
use paracompile_plan::plan::Source;

use super::measurement::Operator;
use super::recipe::{ClassFit, PLAIN_CONVOLUTION, anchored, borrow, error_of, features, rounded};
use super::regression::{MARGIN, Regression, fit, misfit};
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
    let model = no_worse_than_simpler(model, PLAIN_CONVOLUTION, samples);
    if are_of_one_size(samples, PLAIN_CONVOLUTION[0]) {
        without_a_rate(model)
    } else {
        model
    }
}

fn class_model(
    class: OpClass,
    samples: &[Sample<'_>],
    models: &BTreeMap<OpClass, ClassFit>,
) -> ClassFit {
    let list = features(class);
    let winograd = Winograd::default();
    let is_one_size = are_of_one_size(samples, list[0]);
    if is_one_size && let Some(borrowed) = borrow(class, models) {
        return of_one_size(samples, &borrowed);
    }
    let fixed = anchored(class, models);
    let (mut model, _) = regress(samples, affordable(samples, list), &fixed, winograd);
    if !fixed.is_empty() {
        model.note.push_str(
            "; arithmetic and input as in convolutions, because single vectors do not show them",
        );
        model.follows = Some(OpClass::Conv);
    }
    if is_one_size {
        // A constant would fit as well and predict nothing of other sizes; what grows is the careful choice.
        without_a_rate(model)
    } else {
        no_worse_than_simpler(model, list, samples)
    }
}

/// Whether the most important quantity of a class is about the same for all, so that they tell one number and no rate.
fn are_of_one_size(samples: &[Sample<'_>], size: Feature) -> bool {
    let of = |sample: &Sample<'_>| evaluate(size, &sample.operator.work, Winograd::default());
    let least = samples.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = samples.iter().map(of).fold(0.0, f64::max);
    most < TELLING_RANGE * least
}

/// What a model is marked by whose operators are of one size, where no other class says how time grows.
fn without_a_rate(mut model: ClassFit) -> ClassFit {
    model.source = Source::Estimated;
    model
        .note
        .push_str("; all are about one size, which tells little of how time grows");
    model
}

/// Up to this misfit, a constant beside the rates of a similar class is kept whatever else would fit.
const TOLERABLE_MISFIT: f64 = 0.5;

/// The model of operators of one size, which fix one number: a constant beside the rates of `borrowed`, a factor of all of it, or a constant alone.
fn of_one_size(samples: &[Sample<'_>], borrowed: &ClassFit) -> ClassFit {
    let winograd = Winograd::default();
    let donor = borrowed
        .note
        .trim_start_matches("class not measured; ")
        .to_owned();
    let follows = borrowed.follows;
    let rates: Vec<(Feature, f64)> = borrowed
        .terms
        .iter()
        .copied()
        .filter(|(feature, _)| *feature != Feature::Launch)
        .collect();
    let noted = |mut model: ClassFit, how: String, follows| {
        model.note.push_str(&how);
        model.source = Source::Estimated;
        model.follows = follows;
        model
    };
    let (beside_rates, _) = regress(samples, &[Feature::Launch], &rates, winograd);
    let (scaled, factor) = scale(samples, borrowed);
    let (constant, _) = regress(samples, &[Feature::Launch], &[], winograd);
    let has_constant = beside_rates.rate(&[Feature::Launch]) > 0.0;
    let of = |model: &ClassFit| misfit_of(model, samples);
    let best_other = of(&scaled).min(of(&constant));
    // How time grows is known of the other class, so it gives way only where it is far off.
    let most = (best_other + MARGIN).max(TOLERABLE_MISFIT);
    if has_constant && of(&beside_rates) <= most {
        let how = format!(
            "; all are about one size, so only a constant is fitted and the rates are {donor}"
        );
        noted(beside_rates, how, follows)
    } else if of(&scaled) <= of(&constant) + MARGIN {
        // Where both pass through what was measured, the one that grows is the careful choice.
        let how = format!(
            "; all are about one size and the rates of another class do not fit beside a constant, so one factor is fitted: {factor:.2e} times the whole model {donor}"
        );
        noted(scaled, how, follows)
    } else {
        let how = "; all are about one size and the rates of another class do not fit, so a constant alone is fitted";
        noted(constant, how.to_owned(), None)
    }
}

/// The model times what makes it fit best, and this factor.
fn scale(samples: &[Sample<'_>], model: &ClassFit) -> (ClassFit, f64) {
    let rows: Vec<Vec<f64>> = samples
        .iter()
        .map(|sample| vec![model.seconds(&sample.operator.work)])
        .collect();
    let times: Vec<f64> = samples.iter().map(|sample| sample.seconds).collect();
    let regression = fit(&rows, &times);
    let factor = regression.coefficients[0];
    let terms = model
        .terms
        .iter()
        .map(|&(feature, rate)| (feature, factor * rate));
    let outliers = lines_of_outliers(samples, &regression);
    let scaled = explained(samples, terms.collect(), outliers, model.winograd);
    (scaled, factor)
}

/// The model, or a constant with or without the most important rate of `list` where that explains the times better.
fn no_worse_than_simpler(model: ClassFit, list: &[Feature], samples: &[Sample<'_>]) -> ClassFit {
    let of = |model: &ClassFit| misfit_of(model, samples);
    let (mut simpler, _) = regress(samples, &[Feature::Launch], &[], model.winograd);
    // A line through two points explains nothing.
    if model.operators >= ENOUGH {
        let features = [list[0], Feature::Launch];
        let (line, _) = regress(samples, &features, &[], model.winograd);
        if of(&line) + MARGIN < of(&simpler) {
            simpler = line;
        }
    }
    if of(&simpler) + MARGIN >= of(&model) {
        return model;
    }
    let has_constant = simpler.rate(&[Feature::Launch]) > 0.0;
    simpler
        .note
        .push_str(match (has_constant, simpler.terms.len()) {
            (true, 1) => "; a constant alone, which explains them better than rates do",
            (true, _) => "; a constant and one rate, which explain them better than rates alone",
            (false, _) => "; one rate alone, which explains them better than that of another class",
        });
    simpler
}

fn misfit_of(model: &ClassFit, samples: &[Sample<'_>]) -> f64 {
    misfit(
        samples
            .iter()
            .map(|sample| (model.seconds(&sample.operator.work), sample.seconds)),
    )
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
    let rest = |sample: &Sample<'_>| {
        let known: f64 = fixed
            .iter()
            .map(|&(feature, rate)| rate * evaluate(feature, &sample.operator.work, winograd))
            .sum();
        sample.seconds - known
    };
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
    let terms = fitted.chain(fixed.iter().copied()).collect();
    let outliers = lines_of_outliers(open.iter().copied(), &regression);
    (explained(samples, terms, outliers, winograd), regression)
}

/// Lines of operators that counted less than half; `samples` are the rows of the regression.
fn lines_of_outliers<'s, 'a: 's>(
    samples: impl IntoIterator<Item = &'s Sample<'a>>,
    regression: &Regression,
) -> Vec<u64> {
    samples
        .into_iter()
        .zip(&regression.weights)
        .filter(|(_, weight)| **weight < 0.5)
        .map(|(sample, _)| sample.operator.line)
        .collect()
}

/// A model of these terms, with what it says of the operators that it was found on.
fn explained(
    samples: &[Sample<'_>],
    terms: Vec<(Feature, f64)>,
    outliers: Vec<u64>,
    winograd: Winograd,
) -> ClassFit {
    let terms = rounded(terms);
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
        outliers,
        error: None,
        follows: None,
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
    model
}
