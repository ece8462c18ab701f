//! The calibration as a whole: every processor's times and powers, and the profile that they make with a base.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::OpClass;
use paracompile_plan::plan::Source;
use serde::Serialize;

use super::error::{CalibrateError, Notice};
use super::group::{GroupFit, family, fit_groups};
use super::measurement::Measurements;
use super::operator::{ENOUGH, distinct, fit_operators};
use super::power::{PowerFit, fit_power};
use super::profile::{BaseProfile, written};
use super::recipe::{ClassFit, borrow};
use crate::soc::file::SocFile;
use crate::soc::near_matches;

/// From this root mean square of relative errors on, a model does not explain what it was fitted to.
const POOR: f64 = 0.3;

/// A profile from measurements, and how it came about.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The profile.
    pub profile: SocFile,
    /// One for each measured processor, in the base's order.
    pub processors: Vec<ProcessorSummary>,
    /// What is missing or odd, and what was done instead.
    pub notices: Vec<Notice>,
}

/// What was fitted for a processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessorSummary {
    /// Its name.
    pub processor: String,
    /// Whether single operators were timed, or groups alone.
    pub basis: &'static str,
    /// Kernels that it seems to run by Winograd's algorithm.
    pub winograd: &'static str,
    /// Groups that times were fitted to; zero where single operators were timed.
    pub groups: usize,
    /// Root mean square of relative errors of these groups.
    pub group_error: Option<f64>,
    /// Network and number of groups that counted less than half.
    pub group_outliers: Vec<(String, u32)>,
    /// Watts whenever it is busy, above the idle board.
    pub power_w: Option<f64>,
    /// Watts for each 10⁹ multiplications and additions a second.
    pub power_w_per_gigaflops: Option<f64>,
    /// Root mean square of relative errors of the board's power over groups.
    pub power_error: Option<f64>,
    /// One for each class of the profile.
    pub classes: Vec<ClassSummary>,
}

/// What was fitted for a class on a processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassSummary {
    /// The class.
    pub class: OpClass,
    /// Different operators that were measured.
    pub operators: usize,
    /// Rows that these are averages of; zero where groups were timed.
    pub rows: usize,
    /// Lines of operators that counted less than half.
    pub outliers: Vec<u64>,
    /// Root mean square of relative errors on the measured operators.
    pub error: Option<f64>,
    /// Source of the model.
    pub source: Source,
    /// How it came about.
    pub note: String,
}

/// Fits a profile; `origin` says where the measurements come from, and becomes part of every note.
pub fn calibrate(
    measured: &Measurements,
    base: &BaseProfile,
    origin: Option<&str>,
) -> Result<Calibration, CalibrateError> {
    check_processors(measured, base)?;
    let mut notices = measured.notices.clone();
    let names = measured.processors();
    let mut processors = Vec::new();
    let mut fits = BTreeMap::new();
    for entry in &base.file.processors {
        if !names.contains(&entry.name) {
            notices.push(Notice::new(
                entry.name.clone(),
                "nothing was measured",
                "everything is the base profile's",
            ));
            continue;
        }
        let wanted = base.classes(&entry.name);
        let Some(fit) = fit_processor(measured, &entry.name, base, &wanted) else {
            notices.push(Notice::new(
                entry.name.clone(),
                "neither an operator nor a complete group was timed",
                "everything is the base profile's",
            ));
            continue;
        };
        report(&entry.name, &fit, base, &mut notices);
        report_poor(&entry.name, &fit, &mut notices);
        if fit.power.is_none() {
            notices.push(without_power(measured, &entry.name, base));
        }
        processors.push(summary(&entry.name, &fit));
        fits.insert(entry.name.clone(), fit);
    }
    let profile = written(base, &fits, measured.idle, origin, &mut notices);
    Ok(Calibration {
        profile,
        processors,
        notices,
    })
}

/// Everything that was fitted for a processor.
#[derive(Clone, Debug)]
pub(super) struct ProcessorFit {
    /// A model for each class of the base profile and each measured one, where there is ground for it.
    pub(super) models: BTreeMap<OpClass, ClassFit>,
    pub(super) groups: Option<GroupFit>,
    pub(super) power: Option<PowerFit>,
    /// Classes that were measured.
    pub(super) covered: BTreeSet<OpClass>,
}

/// Fits one processor, with models of the `wanted` classes too as far as there is ground for them; `None` where nothing was timed there.
pub(super) fn fit_processor(
    measured: &Measurements,
    processor: &str,
    base: &BaseProfile,
    wanted: &BTreeSet<OpClass>,
) -> Option<ProcessorFit> {
    let by_operators = measured.times_operators(processor);
    let known = base.winograd(processor);
    let (mut models, groups) = if by_operators {
        (fit_operators(measured.operators_of(processor), known), None)
    } else {
        let groups = fit_groups(measured, processor, known)?;
        (groups.models.clone(), Some(groups))
    };
    let covered = covered(measured, processor, by_operators);
    let measured_classes = models.clone();
    for &class in wanted {
        if !models.contains_key(&class)
            && let Some(borrowed) = borrow(class, &measured_classes)
        {
            models.insert(class, borrowed);
        }
    }
    let power = fit_power(
        measured,
        processor,
        &models,
        measured.idle.unwrap_or(base.idle()),
    );
    Some(ProcessorFit {
        models,
        groups,
        power,
        covered,
    })
}

/// Classes of which an operator was timed; where groups were, those of whose kind there were enough, because one operator of a group cannot be told from its neighbours.
fn covered(measured: &Measurements, processor: &str, by_operators: bool) -> BTreeSet<OpClass> {
    let is_like = |a: OpClass, b: OpClass| {
        if by_operators {
            a == b
        } else {
            family(a) == family(b)
        }
    };
    OpClass::ALL
        .into_iter()
        .filter(|&class| {
            let like = measured
                .operators_of(processor)
                .filter(|one| is_like(one.class, class))
                .filter(|one| !by_operators || one.seconds.is_some());
            distinct(like.map(|one| &one.work)) >= if by_operators { 1 } else { ENOUGH }
        })
        .collect()
}

pub(super) fn check_processors(
    measured: &Measurements,
    base: &BaseProfile,
) -> Result<(), CalibrateError> {
    let known: Vec<String> = base
        .file
        .processors
        .iter()
        .map(|entry| entry.name.clone())
        .collect();
    let unknown: Vec<(String, Vec<String>)> = measured
        .processors()
        .into_iter()
        .filter(|name| !known.contains(name))
        .map(|name| {
            let near = near_matches(&name, known.iter().map(String::as_str));
            (name, near)
        })
        .collect();
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(CalibrateError::UnknownProcessors { unknown, known })
    }
}

fn report(processor: &str, fit: &ProcessorFit, base: &BaseProfile, notices: &mut Vec<Notice>) {
    let mut missing: BTreeMap<&str, Vec<OpClass>> = BTreeMap::new();
    for (class, model) in &fit.models {
        if model.operators == 0 {
            missing.entry(&model.note).or_default().push(*class);
        } else if model.operators < ENOUGH || !fit.covered.contains(class) {
            notices.push(Notice::new(
                format!("{processor}, {class}"),
                if model.operators < ENOUGH {
                    format!(
                        "{} different operators, fewer than {ENOUGH}",
                        model.operators
                    )
                } else {
                    "timed within groups, in too few of them to be told from its neighbours"
                        .to_owned()
                },
                "fitted with fewer coefficients and marked estimated",
            ));
        } else if fit.groups.is_none() && model.source == Source::Estimated {
            let (_, how) = model
                .note
                .split_once("; all are about one size")
                .unwrap_or_default();
            notices.push(Notice::new(
                format!("{processor}, {class}"),
                format!("all {} operators are about one size", model.operators),
                format!("{}; marked estimated", how.trim_start_matches([',', ' '])),
            ));
        }
    }
    for (note, classes) in missing {
        let classes: Vec<&str> = classes.into_iter().map(OpClass::name).collect();
        let (what, instead) = note.split_once("; ").unwrap_or((note, "marked estimated"));
        notices.push(Notice::new(
            format!("{processor}, {}", classes.join(", ")),
            what,
            format!("{instead}; marked estimated"),
        ));
    }
    for class in base.classes(processor) {
        if !fit.models.contains_key(&class) {
            notices.push(Notice::new(
                format!("{processor}, {class}"),
                "neither measured nor anything that it could follow from",
                "the base profile's model",
            ));
        }
    }
}

/// Names every class that is fitted badly, with those that follow from it.
fn report_poor(processor: &str, fit: &ProcessorFit, notices: &mut Vec<Notice>) {
    if let Some(groups) = fit.groups.as_ref().filter(|groups| groups.error > POOR) {
        notices.push(Notice::new(
            processor,
            format!(
                "an error of {:.0}% on the groups that it was fitted to",
                groups.error * 100.0
            ),
            "kept as the best of the models tried; all its classes are as uncertain",
        ));
    }
    let is_poor = |class: OpClass| fit.models[&class].error.filter(|error| *error > POOR);
    // The poor class that a class leans on, through however many others.
    let leans_on = |class: OpClass| {
        let mut follows = fit.models[&class].follows;
        for _ in 0..fit.models.len() {
            let donor = follows.filter(|donor| fit.models.contains_key(donor))?;
            if is_poor(donor).is_some() {
                return Some(donor);
            }
            follows = fit.models[&donor].follows;
        }
        None
    };
    for &class in fit.models.keys() {
        let Some(error) = is_poor(class) else {
            continue;
        };
        let followers: Vec<&str> = fit
            .models
            .keys()
            .filter(|&&other| other != class && leans_on(other) == Some(class))
            .map(|other| other.name())
            .collect();
        notices.push(Notice::new(
            format!("{processor}, {class}"),
            format!(
                "an error of {:.0}% on the operators that it was fitted to",
                error * 100.0
            ),
            if followers.is_empty() {
                "kept as the best of the models tried".to_owned()
            } else {
                format!(
                    "kept as the best of the models tried; what follows from it is as uncertain: {}",
                    followers.join(", ")
                )
            },
        ));
    }
}

/// The word that profiles have for a source.
const fn word(source: Source) -> &'static str {
    match source {
        Source::Measured => "measured",
        Source::Fitted => "fitted",
        Source::Estimated => "estimated",
        Source::Borrowed => "borrowed",
        Source::Assumed => "assumed",
    }
}

/// Why a processor's powers are not fitted.
fn without_power(measured: &Measurements, processor: &str, base: &BaseProfile) -> Notice {
    let has_power = measured
        .groups
        .iter()
        .any(|((of, _, _), group)| of == processor && group.watts.is_some());
    let sources = base.power_sources(processor);
    let sources: Vec<&str> = sources.into_iter().map(word).collect();
    Notice::new(
        processor,
        if has_power {
            "too few groups with a power above idle"
        } else {
            "no power was measured"
        },
        format!("powers remain those of the base, {}", sources.join(" and ")),
    )
}

fn summary(processor: &str, fit: &ProcessorFit) -> ProcessorSummary {
    let winograd = fit
        .models
        .get(&OpClass::Conv)
        .map_or("none", |model| model.winograd.name());
    ProcessorSummary {
        processor: processor.to_owned(),
        basis: if fit.groups.is_some() {
            "groups"
        } else {
            "operators"
        },
        winograd,
        groups: fit.groups.as_ref().map_or(0, |groups| groups.groups),
        group_error: fit.groups.as_ref().map(|groups| groups.error),
        group_outliers: fit
            .groups
            .iter()
            .flat_map(|groups| &groups.outliers)
            .map(|(_, network, group)| (network.clone(), *group))
            .collect(),
        power_w: fit.power.as_ref().map(|power| power.constant),
        power_w_per_gigaflops: fit.power.as_ref().map(|power| power.per_gigaflops),
        power_error: fit.power.as_ref().map(|power| power.error),
        classes: fit
            .models
            .iter()
            .map(|(class, model)| ClassSummary {
                class: *class,
                operators: model.operators,
                rows: model.rows,
                outliers: model.outliers.clone(),
                error: model.error,
                source: model.source,
                note: model.note.clone(),
            })
            .collect(),
    }
}
