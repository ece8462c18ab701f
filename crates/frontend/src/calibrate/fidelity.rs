//! How well networks are predicted that the models have not seen: leave one network out, fit the others, compare.
//!
//! Sums over a network hide errors that cancel, so groups and operators are judged beside them.
//! A class of which too few operators are left is predicted by rules of thumb; its operators count as uncovered, and errors are told with and without them.
//! Where single operators were timed, nearest neighbours predict the same from the same beside the fitted rates.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::OpClass;
use serde::Serialize;

use super::error::{CalibrateError, Notice};
use super::fit::{ProcessorFit, check_processors, fit_processor};
use super::measurement::{Measurements, Noise, Operator};
use super::neighbours::Neighbours;
use super::power::shown_part;
use super::profile::BaseProfile;
use super::regression::root_mean_square;
use crate::soc::Winograd;

/// Predictions of left-out networks beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FidelityReport {
    /// Always 1.
    pub schema: u32,
    /// Always `fidelity`.
    pub kind: &'static str,
    /// One for each processor, network, group and operator.
    pub points: Vec<FidelityPoint>,
    /// One for each processor.
    #[serde(skip)]
    pub processors: Vec<Fidelity>,
    /// What could not be predicted.
    #[serde(skip)]
    pub notices: Vec<Notice>,
}

/// A prediction and its measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FidelityPoint {
    /// The processor.
    pub processor: String,
    /// The network, which the prediction did not see.
    pub network: String,
    /// How much of it.
    pub level: Level,
    /// What is predicted.
    pub quantity: Quantity,
    /// What is predicted of.
    pub name: String,
    /// Class of an operator.
    pub class: Option<OpClass>,
    /// Whether enough operators of all of its classes were left to fit.
    pub covered: bool,
    /// In seconds or joules.
    pub measured: f64,
    /// In seconds or joules.
    pub predicted: f64,
    /// In seconds or joules, from nearest neighbours instead of fitted rates; absent where they are not applicable, or none is alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<f64>,
}

/// How much of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// All of it, or all of it that is covered.
    Network,
    /// A group of operators.
    Group,
    /// One operator.
    Operator,
}

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Seconds.
    Time,
    /// Joules of the whole board.
    Energy,
}

/// Whether nearest neighbours can predict what runs on a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Applicability {
    /// Single operators were timed, and are neighbours.
    Applicable,
    /// Groups alone were timed, so that no operator has a time to go by.
    NotApplicable,
}

/// Errors of a processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fidelity {
    /// The processor.
    pub processor: String,
    /// In the order operators, groups, networks, energies of networks; levels that were not measured are absent.
    pub levels: Vec<LevelErrors>,
    /// One for each network.
    pub networks: Vec<NetworkErrors>,
    /// Whether nearest neighbours were judged beside.
    pub neighbours: Applicability,
}

/// Errors of a network's time, as fractions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkErrors {
    /// The network.
    pub name: String,
    /// Relative error over what is covered; `None` where nothing is.
    pub covered: Option<f64>,
    /// Relative error over everything.
    pub all: f64,
    /// Share of its measured time that is not covered.
    pub uncovered: f64,
    /// The same errors of nearest neighbours; `None` where they are not applicable.
    pub neighbours: Option<NeighbourErrors>,
}

/// Errors of predictions from nearest neighbours, as fractions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NeighbourErrors {
    /// Over everything; `None` where nothing is like some operator.
    pub all: Option<f64>,
    /// Over what is covered; `None` where nothing is.
    pub covered: Option<f64>,
}

/// Root mean squares of relative errors, as fractions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelErrors {
    /// How much of a network.
    pub level: Level,
    /// What is predicted.
    pub quantity: Quantity,
    /// How many there are.
    pub count: usize,
    /// Over everything.
    pub all: f64,
    /// Over what is covered; `None` where nothing is.
    pub covered: Option<f64>,
    /// Share of the measured quantity that is not covered.
    pub uncovered: f64,
    /// How much repetitions differ; `None` where nothing was repeated.
    pub noise: Option<f64>,
    /// The same errors of nearest neighbours; `None` where they are not applicable.
    pub neighbours: Option<NeighbourErrors>,
}

/// Leaves out one network after the other.
pub fn judge(
    measured: &Measurements,
    base: &BaseProfile,
) -> Result<FidelityReport, CalibrateError> {
    check_processors(measured, base)?;
    let names = measured.processors();
    let mut points = Vec::new();
    let mut processors = Vec::new();
    let mut notices = Vec::new();
    for entry in &base.file().processors {
        let name = &entry.name;
        if !names.contains(name) {
            continue;
        }
        let networks: BTreeSet<&str> = measured
            .operators_of(name)
            .map(|operator| operator.network.as_str())
            .collect();
        if networks.len() > MOST_NETWORKS {
            return Err(CalibrateError::TooManyNetworks {
                processor: name.clone(),
                networks: networks.len(),
                limit: MOST_NETWORKS,
            });
        }
        let first = points.len();
        let mut applicability = Applicability::Applicable;
        let mut wanted = base.classes(name);
        wanted.extend(measured.operators_of(name).map(|operator| operator.class));
        for &network in &networks {
            let rest = measured.without(network);
            let fit = fit_processor(&rest, name, base, &wanted).ok_or_else(|| {
                CalibrateError::TooFewNetworks {
                    processor: name.clone(),
                    networks: networks.len(),
                    network: network.to_owned(),
                }
            })?;
            let idle = measured.idle.unwrap_or(base.idle());
            // What has no model keeps the base profile's, as in a profile that is written.
            let by_rates = |operator: &Operator| {
                let seconds = match fit.models.get(&operator.class) {
                    Some(model) => Some(model.seconds(&operator.work)),
                    None => base.seconds(name, operator.class, &operator.work),
                };
                seconds.filter(|seconds| *seconds > 0.0)
            };
            let (mut own, lost) = network_points(measured, [name, network], &fit, idle, &by_rates);
            if rest.times_operators(name) {
                let winograd = fit.models.get(&OpClass::Conv);
                let winograd = winograd.map_or(Winograd::None, |model| model.winograd);
                let near = Neighbours::new(rest.operators_of(name), winograd);
                // What is like nothing makes every sum that it is in unknown.
                let by_neighbours = |operator: &Operator| {
                    by_rates(operator)?;
                    let seconds = near.seconds(operator.class, &operator.work);
                    Some(seconds.unwrap_or(f64::NAN))
                };
                let (theirs, _) =
                    network_points(measured, [name, network], &fit, idle, &by_neighbours);
                for (point, other) in own.iter_mut().zip(theirs) {
                    point.neighbours = Some(other.predicted).filter(|value| value.is_finite());
                }
            } else {
                applicability = Applicability::NotApplicable;
            }
            points.extend(own);
            notices.extend(lost.into_iter().map(|class| {
                Notice::new(
                    format!("{name}, {network}, {class}"),
                    "no other network measured it, and the base profile has no model of it",
                    "its operators and their groups are not predicted",
                )
            }));
        }
        let noise = measured.noise.get(name).copied().unwrap_or_default();
        processors.push(errors(name, &points[first..], noise, applicability));
    }
    Ok(FidelityReport {
        schema: 1,
        kind: "fidelity",
        points,
        processors,
        notices,
    })
}

/// Every network means a fit of all others.
const MOST_NETWORKS: usize = 100;

/// Share of a network below which what is covered of it says nothing about networks.
const LEAST_COVERED: f64 = 0.25;

/// A measured and a predicted amount.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    measured: f64,
    predicted: f64,
}

impl Pair {
    fn add(&mut self, other: Self) {
        self.measured += other.measured;
        self.predicted += other.predicted;
    }
}

/// Operators of a group, with their sums.
#[derive(Default)]
struct Members<'a> {
    operators: Vec<&'a Operator>,
    time: Pair,
    joules_above_idle: f64,
    is_covered: bool,
}

#[expect(
    clippy::too_many_lines,
    reason = "operators, groups and the whole are summed on one way through"
)]
fn network_points(
    measured: &Measurements,
    [processor, network]: [&str; 2],
    fit: &ProcessorFit,
    idle: f64,
    seconds_of: &dyn Fn(&Operator) -> Option<f64>,
) -> (Vec<FidelityPoint>, BTreeSet<OpClass>) {
    let by_operators = measured.times_operators(processor);
    let point = |level, quantity, name: String, class, covered, pair: Pair| FidelityPoint {
        processor: processor.to_owned(),
        network: network.to_owned(),
        level,
        quantity,
        name,
        class,
        covered,
        measured: pair.measured,
        predicted: pair.predicted,
        neighbours: None,
    };
    let mut operators = Vec::new();
    let mut members: BTreeMap<u32, Members<'_>> = BTreeMap::new();
    let (mut lost, mut lost_groups) = (BTreeSet::new(), BTreeSet::new());
    let (mut all, mut covered) = (Pair::default(), Pair::default());
    let mut add = |pair: Pair, is_covered: bool| {
        all.add(pair);
        if is_covered {
            covered.add(pair);
        }
    };
    for operator in measured
        .operators_of(processor)
        .filter(|one| one.network == network)
    {
        let Some(predicted) = seconds_of(operator) else {
            lost.insert(operator.class);
            lost_groups.extend(operator.group);
            continue;
        };
        let is_covered = fit.covered.contains(&operator.class);
        if let Some(seconds) = operator.seconds {
            let pair = Pair {
                measured: seconds,
                predicted,
            };
            add(pair, is_covered);
            operators.push(point(
                Level::Operator,
                Quantity::Time,
                operator.name.clone(),
                Some(operator.class),
                is_covered,
                pair,
            ));
        }
        // Where some operators were timed, those that were not are unknown and not zero.
        if let Some(group) = operator.group
            && (operator.seconds.is_some() || !by_operators)
        {
            let group = members.entry(group).or_insert_with(|| Members {
                is_covered: true,
                ..Members::default()
            });
            let watts = fit
                .power
                .as_ref()
                .and_then(|power| power.by_class.get(&operator.class));
            group.operators.push(operator);
            group.time.add(Pair {
                measured: operator.seconds.unwrap_or(0.0),
                predicted,
            });
            group.joules_above_idle += predicted * watts.copied().unwrap_or(0.0);
            group.is_covered &= is_covered;
        }
    }
    let mut groups = Vec::new();
    let (mut energy, mut covered_energy) = (Pair::default(), Pair::default());
    let mut has_energy = false;
    members.retain(|group, _| !lost_groups.contains(group));
    for (group, mut sums) in members {
        let key = (processor.to_owned(), network.to_owned(), group);
        let timed = measured.groups.get(&key).filter(|timed| timed.is_complete);
        if !by_operators {
            let Some(timed) = timed else { continue };
            sums.time.measured = timed.seconds;
            add(sums.time, sums.is_covered);
        }
        let name = format!("group {group}");
        groups.push(point(
            Level::Group,
            Quantity::Time,
            name.clone(),
            None,
            sums.is_covered,
            sums.time,
        ));
        if let (Some(timed), Some(_)) = (timed, &fit.power)
            && let Some(watts) = timed.watts
        {
            // As the meter would show it.
            let predicted = sums.time.predicted;
            let pair = Pair {
                measured: watts * timed.seconds,
                predicted: idle * predicted + shown_part(predicted) * sums.joules_above_idle,
            };
            has_energy = true;
            energy.add(pair);
            if sums.is_covered {
                covered_energy.add(pair);
            }
            groups.push(point(
                Level::Group,
                Quantity::Energy,
                name,
                None,
                sums.is_covered,
                pair,
            ));
        }
    }
    let mut points = Vec::new();
    let mut whole = |quantity, all: Pair, covered: Pair| {
        let is_covered = covered.measured >= all.measured * (1.0 - 1e-12);
        points.push(point(
            Level::Network,
            quantity,
            network.to_owned(),
            None,
            is_covered,
            all,
        ));
        if !is_covered && covered.measured >= LEAST_COVERED * all.measured {
            let name = format!("{network}, covered classes");
            points.push(point(Level::Network, quantity, name, None, true, covered));
        }
    };
    if all.measured > 0.0 {
        whole(Quantity::Time, all, covered);
    }
    if has_energy {
        whole(Quantity::Energy, energy, covered_energy);
    }
    points.extend(groups);
    points.extend(operators);
    (points, lost)
}

fn errors(
    processor: &str,
    points: &[FidelityPoint],
    noise: Noise,
    neighbours: Applicability,
) -> Fidelity {
    let levels = [
        (Level::Operator, Quantity::Time, noise.operator),
        (Level::Group, Quantity::Time, noise.group),
        (Level::Network, Quantity::Time, noise.network),
        (Level::Network, Quantity::Energy, noise.energy),
    ];
    let levels = levels
        .into_iter()
        .filter_map(|(level, quantity, noise)| {
            level_errors(points, level, quantity, noise, neighbours)
        })
        .collect();
    let is_whole =
        |point: &&FidelityPoint| point.level == Level::Network && point.quantity == Quantity::Time;
    let mut networks = Vec::new();
    for whole in points
        .iter()
        .filter(is_whole)
        .filter(|point| point.name == point.network)
    {
        let covered = points
            .iter()
            .filter(is_whole)
            .find(|point| point.network == whole.network && point.covered);
        networks.push(NetworkErrors {
            name: whole.network.clone(),
            covered: covered.map(error_of),
            all: error_of(whole),
            uncovered: 1.0 - covered.map_or(0.0, |point| point.measured / whole.measured),
            neighbours: match neighbours {
                Applicability::Applicable => Some(NeighbourErrors {
                    all: neighbour_error(whole),
                    covered: covered.and_then(neighbour_error),
                }),
                Applicability::NotApplicable => None,
            },
        });
    }
    Fidelity {
        processor: processor.to_owned(),
        levels,
        networks,
        neighbours,
    }
}

fn level_errors(
    points: &[FidelityPoint],
    level: Level,
    quantity: Quantity,
    noise: Option<f64>,
    neighbours: Applicability,
) -> Option<LevelErrors> {
    let here = points
        .iter()
        .filter(|point| point.level == level && point.quantity == quantity);
    // Of a network that is covered in part, one point is everything and one what is covered.
    let everything: Vec<&FidelityPoint> = here
        .clone()
        .filter(|point| level != Level::Network || point.name == point.network)
        .collect();
    let covered: Vec<&FidelityPoint> = here.filter(|point| point.covered).collect();
    if everything.is_empty() {
        return None;
    }
    let sum = |points: &[&FidelityPoint]| points.iter().map(|point| point.measured).sum::<f64>();
    Some(LevelErrors {
        level,
        quantity,
        count: everything.len(),
        all: root_mean_square(everything.iter().map(|point| error_of(point))),
        covered: (!covered.is_empty())
            .then(|| root_mean_square(covered.iter().map(|point| error_of(point)))),
        uncovered: (1.0 - sum(&covered) / sum(&everything)).max(0.0),
        noise,
        neighbours: neighbour_errors(neighbours, &everything, &covered),
    })
}

/// Root mean squares of the relative errors of nearest neighbours.
fn neighbour_errors(
    applicability: Applicability,
    everything: &[&FidelityPoint],
    covered: &[&FidelityPoint],
) -> Option<NeighbourErrors> {
    let errors = |points: &[&FidelityPoint]| {
        let errors: Option<Vec<f64>> = points.iter().map(|point| neighbour_error(point)).collect();
        errors
            .filter(|errors| !errors.is_empty())
            .map(root_mean_square)
    };
    match applicability {
        Applicability::Applicable => Some(NeighbourErrors {
            all: errors(everything),
            covered: errors(covered),
        }),
        Applicability::NotApplicable => None,
    }
}

fn neighbour_error(point: &FidelityPoint) -> Option<f64> {
    Some(point.neighbours? / point.measured - 1.0)
}

fn error_of(point: &FidelityPoint) -> f64 {
    point.predicted / point.measured - 1.0
}
