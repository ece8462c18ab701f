//! The profile that a calibration writes: a base profile with fitted times and powers in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use paracompile_plan::OpClass;
use paracompile_plan::plan::Source;

use super::error::{CalibrateError, Notice};
use super::fit::ProcessorFit;
use super::recipe::{ClassFit, round};
use crate::cost::{choose, evaluate};
use crate::ir::{DataType, Work};
use crate::soc::file::{
    Combine, ModelEntry, Number, OperatingPointEntry, SocFile, WinogradKernels,
};
use crate::soc::reading::is_safe;
use crate::soc::{Defect, Feature, Soc, Winograd, read_text, syntax};

/// The largest profile that is read.
const MOST_BYTES: u64 = 4 << 20;

/// A correct profile that says what measurements cannot.
#[derive(Clone, Debug)]
pub struct BaseProfile {
    pub(super) file: SocFile,
    soc: Soc,
}

impl BaseProfile {
    /// The built-in profile of this name, or the one in this file.
    pub fn find(name_or_path: &str) -> Result<Self, CalibrateError> {
        if let Some(text) = Soc::builtin_text(name_or_path) {
            return Self::from_json(text, name_or_path);
        }
        // The verifier's answer to a name that is neither comes first.
        Soc::find(name_or_path)?;
        let text = read_text(Path::new(name_or_path), MOST_BYTES)?;
        Self::from_json(&text, name_or_path)
    }

    /// The profile that `text` says; `origin` is its name in messages.
    pub fn from_json(text: &str, origin: &str) -> Result<Self, CalibrateError> {
        let soc = Soc::from_json(text, origin)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // The verifier accepts no more than the types do; where the two should differ, the file is at fault for being odd.
        let file = serde_json::from_str(text).map_err(|wrong| syntax(&wrong, origin))?;
        Ok(Self { file, soc })
    }

    /// The base under another name, which the written profile gets.
    pub fn named(mut self, name: &str) -> Result<Self, CalibrateError> {
        if !is_safe(name) {
            return Err(CalibrateError::BadName(Defect::UnsafeName(name.to_owned())));
        }
        name.clone_into(&mut self.file.name);
        Ok(self)
    }

    /// The file's contents.
    pub fn file(&self) -> &SocFile {
        &self.file
    }

    /// Classes that a processor has a model for at its first operating point.
    pub(super) fn classes(&self, processor: &str) -> BTreeSet<OpClass> {
        let found = self.soc.processor(processor);
        found.map_or_else(BTreeSet::new, |id| {
            let point = &self.soc.processors[id].operating_points[0];
            point.models.keys().copied().collect()
        })
    }

    /// What the base says that a processor runs by Winograd's algorithm; `None` where it leaves that to the measurements.
    pub(super) fn winograd(&self, processor: &str) -> Option<Winograd> {
        let processor = self
            .file
            .processors
            .iter()
            .find(|entry| entry.name == processor)?;
        let models = &processor.operating_points.first()?.models;
        let is_measured = |entry: &&ModelEntry| {
            entry.class == OpClass::Conv && matches!(entry.dtype.as_str(), "float" | "any")
        };
        let model = models.iter().find(is_measured)?;
        Some(match model.winograd? {
            WinogradKernels::None => Winograd::None,
            WinogradKernels::Square => Winograd::Square,
            WinogradKernels::Strips => Winograd::Strips,
        })
    }

    /// What the base's model says that an operator takes; `None` without a model.
    pub(super) fn seconds(&self, processor: &str, class: OpClass, work: &Work) -> Option<f64> {
        let id = self.soc.processor(processor)?;
        let models = &self.soc.processors[id].operating_points[0].models;
        let (model, _) = choose(models.get(&class)?, DataType::Float)?;
        let terms = model.features.iter().zip(&model.coefficients);
        let terms = terms.filter_map(|(name, rate)| {
            let feature = Feature::ALL
                .into_iter()
                .find(|feature| feature.name() == name)?;
            Some(rate * evaluate(feature, work, model.winograd))
        });
        Some(if model.max {
            terms.fold(0.0, f64::max)
        } else {
            terms.sum()
        })
    }

    /// Power of the board around the processors.
    pub(super) fn idle(&self) -> f64 {
        self.soc.base.value()
    }

    /// Where the dynamic powers of a processor come from, at its first operating point.
    pub(super) fn power_sources(&self, processor: &str) -> BTreeSet<Source> {
        let found = self.soc.processor(processor);
        found.map_or_else(BTreeSet::new, |id| {
            let powers = &self.soc.processors[id].operating_points[0].power_sources;
            powers.iter().copied().collect()
        })
    }

    /// Static power of a processor at its first operating point.
    pub(super) fn static_power(&self, processor: &str) -> f64 {
        let found = self.soc.processor(processor);
        found.map_or(0.0, |id| {
            self.soc.processors[id].operating_points[0]
                .static_power
                .value()
        })
    }
}

/// The base with what was fitted in place of what it says.
pub(super) fn written(
    base: &BaseProfile,
    fits: &BTreeMap<String, ProcessorFit>,
    idle: Option<f64>,
    origin: Option<&str>,
    notices: &mut Vec<Notice>,
) -> SocFile {
    let mut file = base.file.clone();
    let with_origin = |note: &str| match origin {
        Some(origin) => format!("{note}; {origin}"),
        None => note.to_owned(),
    };
    for processor in &mut file.processors {
        let Some(fit) = fits.get(&processor.name) else {
            continue;
        };
        let static_power = base.static_power(&processor.name);
        let others = processor.operating_points.iter().skip(1);
        let full: Vec<String> = others
            .filter(|point| point.like.is_none())
            .map(|point| point.name.clone())
            .collect();
        if !full.is_empty() {
            notices.push(Notice::new(
                format!("{}, {}", processor.name, full.join(", ")),
                "measurements are taken for the first operating point",
                "these keep the base profile's models; give them by `like` to let them follow",
            ));
        }
        // The file's first point refers to no other one where it is the one that others are like.
        if let Some(first) = processor.operating_points.first_mut() {
            spell_out(first, base, &processor.name);
            set_models(first, fit, &with_origin);
            set_powers(first, fit, static_power, &with_origin);
        }
    }
    if let Some(idle) = idle {
        file.board.base_w = Number::Sourced {
            value: round(idle),
            source: Source::Measured,
            note: Some(with_origin("median board power while nothing runs")),
        };
    }
    file
}

/// Writes out a first point that is given by `like`, since it no longer is like another one.
fn spell_out(point: &mut OperatingPointEntry, base: &BaseProfile, processor: &str) {
    if point.like.take().is_none() {
        return;
    }
    point.time_factor = None;
    point.power_factor = None;
    let Some(id) = base.soc.processor(processor) else {
        return;
    };
    let full = &base.soc.processors[id].operating_points[0];
    for (class, power) in &full.dynamic_power {
        point.dynamic_w.insert(*class, Number::Plain(power.value()));
    }
    let models = full.models.iter();
    let models = models.flat_map(|(class, models)| models.iter().map(move |model| (class, model)));
    for (class, model) in models {
        point.models.push(ModelEntry {
            class: *class,
            dtype: model.dtype.clone(),
            features: model.features.clone(),
            coefficients: model
                .coefficients
                .iter()
                .map(|rate| Number::Plain(*rate))
                .collect(),
            combine: if model.max {
                Combine::Max
            } else {
                Combine::Sum
            },
            winograd: Some(kernels(model.winograd)),
            seen: (!model.seen.is_empty()).then(|| model.seen.clone()),
            source: Some(model.source),
            note: None,
        });
    }
}

/// The choice as profiles state it.
fn kernels(winograd: Winograd) -> WinogradKernels {
    match winograd {
        Winograd::None => WinogradKernels::None,
        Winograd::Square => WinogradKernels::Square,
        Winograd::Strips => WinogradKernels::Strips,
    }
}

fn set_models(
    point: &mut OperatingPointEntry,
    fit: &ProcessorFit,
    with_origin: &impl Fn(&str) -> String,
) {
    let key = |entry: &ModelEntry| (entry.class, entry.dtype.clone());
    let mut entries: BTreeMap<(OpClass, String), ModelEntry> = point
        .models
        .drain(..)
        // Measurements are of single precision, and say nothing about other types.
        .filter(|entry| {
            !fit.models.contains_key(&entry.class)
                || !matches!(entry.dtype.as_str(), "float" | "any")
        })
        .map(|entry| (key(&entry), entry))
        .collect();
    for (class, model) in &fit.models {
        let entry = entry(*class, model, with_origin);
        entries.insert(key(&entry), entry);
    }
    point.models = entries.into_values().collect();
}

fn entry(class: OpClass, model: &ClassFit, with_origin: &impl Fn(&str) -> String) -> ModelEntry {
    ModelEntry {
        class,
        dtype: "float".to_owned(),
        features: model
            .terms
            .iter()
            .map(|(feature, _)| feature.name().to_owned())
            .collect(),
        coefficients: model
            .terms
            .iter()
            .map(|(_, rate)| Number::Plain(*rate))
            .collect(),
        combine: Combine::Sum,
        // The choice is stated where it matters, so that a later calibration keeps it.
        winograd: (class == OpClass::Conv).then(|| kernels(model.winograd)),
        seen: (!model.seen.is_empty())
            .then(|| model.seen.iter().map(|range| range.map(round)).collect()),
        source: Some(model.source),
        note: Some(with_origin(&model.note)),
    }
}

fn set_powers(
    point: &mut OperatingPointEntry,
    fit: &ProcessorFit,
    static_power: f64,
    with_origin: &impl Fn(&str) -> String,
) {
    let classes: BTreeSet<OpClass> = point.models.iter().map(|entry| entry.class).collect();
    if let Some(power) = &fit.power {
        let measured: BTreeSet<OpClass> = fit
            .models
            .iter()
            .filter(|(_, model)| model.operators > 0)
            .map(|(class, _)| *class)
            .collect();
        for class in classes {
            let above_idle = power
                .by_class
                .get(&class)
                .copied()
                .unwrap_or(power.constant);
            let is_measured = measured.contains(&class);
            let number = Number::Sourced {
                    value: round((above_idle - static_power).max(0.0)),
                    source: if is_measured { Source::Fitted } else { Source::Estimated },
                    note: (class == OpClass::Conv).then(|| {
                        with_origin(&format!(
                            "board power above idle, {} W and {} W for each 10^9 operations a second of the class, less the static power",
                            power.constant, power.per_gigaflops
                        ))
                    }),
                };
            point.dynamic_w.insert(class, number);
        }
    } else {
        // A class that is new needs a power; the largest known one is the careful choice.
        let largest = point
            .dynamic_w
            .values()
            .map(|number| match number {
                Number::Plain(value) | Number::Sourced { value, .. } => *value,
            })
            .fold(0.0, f64::max);
        for class in classes {
            point
                .dynamic_w
                .entry(class)
                .or_insert_with(|| Number::Sourced {
                    value: largest,
                    source: Source::Assumed,
                    note: Some("no power was measured; the largest of the base profile".to_owned()),
                });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_verifier_and_the_types_refuse_the_same_bases() {
        let sound: Value = serde_json::from_str(Soc::builtin_text("vim3").unwrap()).unwrap();
        let point = "/processors/0/operating_points/0";
        for (pointer, key, value, said) in [
            (
                "/board/base_w".to_owned(),
                "note",
                json!(2024),
                "board.base_w.note: is a number; write a string",
            ),
            (
                "/links/0".to_owned(),
                "note",
                json!([]),
                "links[0].note: is a list",
            ),
            (
                format!("{point}/models/0"),
                "note",
                json!({}),
                "models[0].note: is an object",
            ),
            (
                format!("{point}/hertz"),
                "note",
                json!(true),
                "hertz.note: is a truth value",
            ),
            (
                format!("{point}/models/0"),
                "seen",
                json!([[{"value": 1, "source": "measured"}, 2]]),
                "seen[0][0]: is an object; write a number",
            ),
        ] {
            let mut changed = sound.clone();
            changed.pointer_mut(&pointer).unwrap()[key] = value;
            let text = changed.to_string();
            let error = BaseProfile::from_json(&text, "base")
                .unwrap_err()
                .to_string();
            assert!(error.contains(said), "{error}");
            assert!(Soc::from_json(&text, "base").is_err());
            changed.pointer_mut(&pointer).unwrap()[key] = Value::Null;
            if key == "note" {
                assert!(
                    BaseProfile::from_json(&changed.to_string(), "base").is_ok(),
                    "{pointer}"
                );
            }
        }
    }

    #[test]
    fn a_base_that_says_something_twice_is_refused() {
        let text = Soc::builtin_text("vim3").unwrap();
        let twice = text.replacen("\"schema\": 1,", "\"schema\": 1,\n\"name\": \"x\",", 1);
        let error = BaseProfile::from_json(&twice, "base")
            .unwrap_err()
            .to_string();
        assert!(error.contains("the key `name` appears twice"), "{error}");
    }
}
