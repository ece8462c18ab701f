//! Time models where only groups of operators were timed, as on a GPU whose host sees when a queue is empty and not when a kernel ends.
//!
//! Groups are few, so operators share coefficients: a constant a kernel, two for matrix products, two for Winograd's algorithm, one rate for weights of fully connected layers and one for the bytes of everything else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use paracompile_plan::OpClass;
use paracompile_plan::plan::Source;

use super::measurement::{GroupKey, Measurements, Operator};
use super::operator::ENOUGH;
use super::recipe::{ClassFit, rounded};
use super::regression::{MARGIN, Regression, fit, misfit, root_mean_square};
use crate::cost::evaluate;
use crate::ir::Work;
use crate::soc::{Feature, Winograd};

/// Groups that a coefficient needs.
const GROUPS_A_COEFFICIENT: usize = 2;

/// Operators that share coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// Products with dense or grouped kernels, and what else multiplies matrices.
    Product,
    /// Fully connected layers, which wait for their weights.
    FullyConnected,
    /// Everything that reads, does little and writes.
    Streaming,
}

/// The family of a class.
pub(super) const fn family(class: OpClass) -> Family {
    match class {
        OpClass::Conv | OpClass::ConvTranspose | OpClass::Matmul | OpClass::Recurrent => {
            Family::Product
        }
        OpClass::Gemm => Family::FullyConnected,
        OpClass::DepthwiseConv
        | OpClass::MaxPool
        | OpClass::AveragePool
        | OpClass::GlobalPool
        | OpClass::Activation
        | OpClass::BatchNorm
        | OpClass::LayerNorm
        | OpClass::LocalResponseNorm
        | OpClass::Softmax
        | OpClass::Elementwise
        | OpClass::Reduce
        | OpClass::Concat
        | OpClass::Split
        | OpClass::Transpose
        | OpClass::Pad
        | OpClass::Slice
        | OpClass::Gather
        | OpClass::Resize
        | OpClass::Cast
        | OpClass::Other
        | OpClass::Opaque => Family::Streaming,
    }
}

/// What the groups of a processor tell.
#[derive(Clone, Debug)]
pub(super) struct GroupFit {
    pub(super) models: BTreeMap<OpClass, ClassFit>,
    /// Groups that it was found on.
    pub(super) groups: usize,
    /// Groups that counted less than half.
    pub(super) outliers: Vec<GroupKey>,
    /// Root mean square of relative errors of groups.
    pub(super) error: f64,
}

/// Models from groups; `None` where no group is complete. `known` is what the processor runs by Winograd's algorithm, if it is known.
pub(super) fn fit_groups(
    measured: &Measurements,
    processor: &str,
    known: Option<Winograd>,
) -> Option<GroupFit> {
    let mut members: BTreeMap<GroupKey, Vec<&Operator>> = BTreeMap::new();
    for operator in measured.operators_of(processor) {
        if let Some(group) = operator.group {
            let key = (processor.to_owned(), operator.network.clone(), group);
            members.entry(key).or_default().push(operator);
        }
    }
    let groups: Vec<Timed<'_>> = members
        .into_iter()
        .filter_map(|(key, operators)| {
            let group = measured
                .groups
                .get(&key)
                .filter(|group| group.is_complete)?;
            Some((key, operators, group.seconds))
        })
        .collect();
    if groups.is_empty() {
        return None;
    }
    let (winograd, columns, regression) = Winograd::ALL
        .into_iter()
        .filter(|winograd| known.is_none_or(|known| known == *winograd))
        .map(|winograd| {
            let columns = affordable(&groups, winograd);
            let regression = regress(&groups, &columns, winograd);
            (winograd, columns, regression)
        })
        .min_by(|a, b| a.2.loss.total_cmp(&b.2.loss))?;
    let (columns, regression) = no_worse_than_simpler(&groups, columns, regression, winograd);
    let works: Vec<&Operator> = groups
        .iter()
        .flat_map(|(_, operators, _)| operators)
        .copied()
        .collect();
    let mut models = models(&columns, &regression, winograd, &works, groups.len());
    let errors = groups.iter().map(|(_, operators, seconds)| {
        let predicted: f64 = operators
            .iter()
            .map(|one| models[&one.class].seconds(&one.work))
            .sum();
        predicted / seconds - 1.0
    });
    let error = root_mean_square(errors);
    for model in models.values_mut() {
        let _ = write!(
            model.note,
            "; root mean square of relative errors of groups {:.0}%",
            error * 100.0
        );
    }
    Some(GroupFit {
        models,
        groups: groups.len(),
        outliers: groups
            .iter()
            .zip(&regression.weights)
            .filter(|(_, weight)| **weight < 0.5)
            .map(|((key, _, _), _)| key.clone())
            .collect(),
        error,
    })
}

/// A group with its operators and seconds.
type Timed<'a> = (GroupKey, Vec<&'a Operator>, f64);

/// The first columns that these operators have anything in, as many as there are groups for.
fn affordable(groups: &[Timed<'_>], winograd: Winograd) -> Vec<Column> {
    let is_present = |column: &Column| {
        let mut operators = groups.iter().flat_map(|(_, operators, _)| operators);
        operators.any(|one| column.of(one, winograd) > 0.0)
    };
    let most = (groups.len() / GROUPS_A_COEFFICIENT).max(1);
    COLUMNS.into_iter().filter(is_present).take(most).collect()
}

fn rows(groups: &[Timed<'_>], columns: &[Column], winograd: Winograd) -> Vec<Vec<f64>> {
    groups
        .iter()
        .map(|(_, operators, _)| {
            columns
                .iter()
                .map(|column| operators.iter().map(|one| column.of(one, winograd)).sum())
                .collect()
        })
        .collect()
}

fn regress(groups: &[Timed<'_>], columns: &[Column], winograd: Winograd) -> Regression {
    let times: Vec<f64> = groups.iter().map(|(_, _, seconds)| *seconds).collect();
    fit(&rows(groups, columns, winograd), &times)
}

/// The regression, or one over a constant a kernel with or without the most important rate where that explains the groups better.
fn no_worse_than_simpler(
    groups: &[Timed<'_>],
    columns: Vec<Column>,
    regression: Regression,
    winograd: Winograd,
) -> (Vec<Column>, Regression) {
    let fitted = |columns: Vec<Column>| {
        let regression = regress(groups, &columns, winograd);
        (columns, regression)
    };
    let of = |(columns, regression): &(Vec<Column>, Regression)| {
        let rows = rows(groups, columns, winograd);
        misfit(rows.iter().zip(groups).map(|(row, (_, _, seconds))| {
            let terms = row.iter().zip(&regression.coefficients);
            (terms.map(|(value, rate)| value * rate).sum(), *seconds)
        }))
    };
    let rate = columns
        .iter()
        .copied()
        .find(|column| *column != Column::Kernel);
    let given = (columns, regression);
    let mut simpler = fitted(vec![Column::Kernel]);
    if let Some(rate) = rate.filter(|_| groups.len() >= ENOUGH) {
        let line = fitted(vec![rate, Column::Kernel]);
        if of(&line) + MARGIN < of(&simpler) {
            simpler = line;
        }
    }
    if of(&simpler) + MARGIN < of(&given) {
        simpler
    } else {
        given
    }
}

/// A coefficient that operators share, the most important one first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Kernel,
    Product(Feature),
    /// Bytes of everything that streams.
    Stream,
    /// Weights of fully connected layers.
    FullyConnected,
}

const COLUMNS: [Column; 7] = [
    Column::Product(Feature::GemmMacs),
    Column::Kernel,
    Column::Stream,
    Column::FullyConnected,
    Column::Product(Feature::WinogradMacs),
    Column::Product(Feature::GemmWeightBytes),
    Column::Product(Feature::WinogradWeightBytes),
];

impl Column {
    fn of(self, operator: &Operator, winograd: Winograd) -> f64 {
        let value = |feature| evaluate(feature, &operator.work, winograd);
        match (self, family(operator.class)) {
            (Self::Kernel, _) => 1.0,
            (Self::Product(feature), Family::Product) => value(feature),
            // Its arithmetic is that of other products; what a vector shows is the weights.
            (Self::Product(Feature::GemmMacs), Family::FullyConnected) => value(Feature::Macs),
            (Self::Stream, Family::Streaming) => {
                value(Feature::InputBytes) + value(Feature::OutputBytes)
            }
            (Self::FullyConnected, Family::FullyConnected) => value(Feature::WeightBytes),
            (Self::Product(_) | Self::Stream | Self::FullyConnected, _) => 0.0,
        }
    }
}

fn models(
    columns: &[Column],
    regression: &Regression,
    winograd: Winograd,
    operators: &[&Operator],
    groups: usize,
) -> BTreeMap<OpClass, ClassFit> {
    let rate = |column: Column| {
        columns
            .iter()
            .zip(&regression.coefficients)
            .find(|(known, _)| **known == column)
            .map_or(0.0, |(_, coefficient)| *coefficient)
    };
    let launch = (Feature::Launch, rate(Column::Kernel));
    let product = |feature| (feature, rate(Column::Product(feature)));
    let classes: BTreeSet<OpClass> = operators.iter().map(|operator| operator.class).collect();
    let of_family = |wanted| {
        operators
            .iter()
            .filter(|one| family(one.class) == wanted)
            .count()
    };
    classes
        .into_iter()
        .map(|class| {
            let own = family(class);
            let terms = match own {
                Family::Product if class == OpClass::Conv => vec![
                    launch,
                    product(Feature::GemmMacs),
                    product(Feature::GemmWeightBytes),
                    product(Feature::WinogradMacs),
                    product(Feature::WinogradWeightBytes),
                ],
                Family::Product => vec![
                    launch,
                    (Feature::Macs, rate(Column::Product(Feature::GemmMacs))),
                    (Feature::WeightBytes, rate(Column::Product(Feature::GemmWeightBytes))),
                ],
                Family::FullyConnected => vec![
                    launch,
                    (Feature::Macs, rate(Column::Product(Feature::GemmMacs))),
                    (Feature::WeightBytes, rate(Column::FullyConnected)),
                ],
                Family::Streaming => vec![
                    launch,
                    (Feature::InputBytes, rate(Column::Stream)),
                    (Feature::OutputBytes, rate(Column::Stream)),
                ],
            };
            let terms = rounded(terms);
            let own_works: Vec<&Work> =
                operators.iter().filter(|one| one.class == class).map(|one| &one.work).collect();
            let seen = terms
                .iter()
                .map(|&(feature, _)| {
                    let values = own_works.iter().map(|work| evaluate(feature, work, winograd));
                    [
                        values.clone().fold(f64::INFINITY, f64::min),
                        values.fold(0.0, f64::max),
                    ]
                })
                .collect();
            let is_enough = of_family(own) >= ENOUGH && groups >= ENOUGH;
            let takes_time = terms.iter().any(|(_, rate)| *rate > 0.0);
            let model = ClassFit {
                terms,
                winograd,
                seen,
                source: if is_enough && takes_time { Source::Fitted } else { Source::Estimated },
                note: format!(
                    "non-negative least squares over the times of {groups} groups of operators, with coefficients that classes share{}{}",
                    if is_enough { "" } else { "; too few operators or groups like this one to trust" },
                    if takes_time { "" } else { "; no time was left for this class" }
                ),
                operators: own_works.len(),
                rows: 0,
                outliers: Vec::new(),
                error: None,
                follows: None,
            };
            (class, model)
        })
        .collect()
}
