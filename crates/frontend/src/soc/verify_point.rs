//! The operating points of a profile: clocks, powers and time models.
//!
//! A point is given in full, or by factors on another one; either way later steps see it in full.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::plan::Source;
use paracompile_plan::{OpClass, Watts};

use super::error::Defect;
use super::reading::{At, Reading, join};
use super::verify_processor::{MOST_CLASSES, SECONDS, WATTS, class, unique, unknown_class};
use super::{ClassModel, Feature, OperatingPoint, Winograd};

const MOST_OPERATING_POINTS: usize = 64;
/// Time models of an operating point: those of all classes in several element types.
const MOST_MODELS: usize = 512;
/// From what logic holds its state with to what destroys it.
const VOLTS: (f64, f64) = (0.1, 10.0);
/// Factors of times and powers between operating points, whose clocks differ by less.
const POINT_FACTOR: (f64, f64) = (1e-3, 1e3);
/// Values of features.
const QUANTITY: (f64, f64) = (0.0, 1e300);

/// The operating points of a processor; `fuses` are the classes that each of them needs a model of.
pub(super) fn operating_points(
    reading: &mut Reading,
    at: &At<'_>,
    fuses: &[OpClass],
) -> Option<Vec<OperatingPoint>> {
    let list = reading.some_of(
        at,
        "operating_points",
        MOST_OPERATING_POINTS,
        "operating point",
    )?;
    let mut first = BTreeMap::new();
    let mut points = Vec::new();
    for entry in &list {
        let name = reading.name_field(entry, "name");
        if let Some(name) = name {
            unique(reading, &mut first, "operating point", name, entry);
        }
        let point = if entry.optional("like").is_some() {
            None
        } else {
            full_point(reading, entry, name, fuses)
        };
        points.push(point);
    }
    // What is given in full is known now, so those that refer to it may stand before it.
    let full = points.clone();
    for (entry, point) in list.iter().zip(&mut points) {
        if let Some(field) = entry.optional("like") {
            *point = similar_point(reading, entry, &field, &list, &full);
        }
    }
    points.into_iter().collect()
}

/// Clock, voltage and static power, which every operating point states.
struct Clock {
    hertz: f64,
    volts: Option<f64>,
    static_power: Watts,
}

fn clock(reading: &mut Reading, at: &At<'_>) -> Option<Clock> {
    let hertz = reading.number_field(at, "hertz", Source::Assumed, (1.0, 1e12));
    let volts = match at.optional("volts") {
        None => Some(None),
        Some(field) => reading
            .number(&field, Source::Assumed, VOLTS)
            .map(|volts| Some(volts.value)),
    };
    let static_power = reading.number_field(at, "static_w", Source::Assumed, WATTS);
    Some(Clock {
        hertz: hertz?.value,
        volts: volts?,
        static_power: Watts::new(static_power?.value)?,
    })
}

fn full_point(
    reading: &mut Reading,
    at: &At<'_>,
    name: Option<&str>,
    fuses: &[OpClass],
) -> Option<OperatingPoint> {
    for key in ["time_factor", "power_factor"] {
        if let Some(field) = at.optional(key) {
            reading.report(&field, Defect::FactorWithoutLike);
        }
    }
    let clock = clock(reading, at);
    let (dynamic_power, power_sources) = dynamic_power(reading, at).unzip();
    let models = models(reading, at);
    if let (Some(powers), Some(models)) = (&dynamic_power, &models) {
        for class in models.keys() {
            if !powers.contains_key(class) {
                let path = join(&join(&at.path, "dynamic_w"), class.name());
                reading.report_at(path, Defect::Missing);
            }
        }
    }
    if let Some(models) = &models {
        for class in fuses {
            if !models.contains_key(class) {
                let defect = Defect::FusedWithoutModel(class.name().to_owned());
                reading.report_at(join(&at.path, "models"), defect);
            }
        }
    }
    let known = |map: BTreeMap<OpClass, Option<Watts>>| {
        map.into_iter()
            .map(|(class, power)| Some((class, power?)))
            .collect::<Option<_>>()
    };
    let clock = clock?;
    Some(OperatingPoint {
        name: name?.to_owned(),
        hertz: clock.hertz,
        volts: clock.volts,
        static_power: clock.static_power,
        dynamic_power: known(dynamic_power?)?,
        power_sources: power_sources?,
        models: models?
            .into_iter()
            .map(|(class, model)| Some((class, model?)))
            .collect::<Option<_>>()?,
    })
}

/// A point whose times and powers are those of another one times a factor each.
///
/// It is written out here, so that later steps know one kind of point alone.
fn similar_point(
    reading: &mut Reading,
    at: &At<'_>,
    like: &At<'_>,
    list: &[At<'_>],
    full: &[Option<OperatingPoint>],
) -> Option<OperatingPoint> {
    for key in ["dynamic_w", "models"] {
        if let Some(field) = at.optional(key) {
            reading.report(&field, Defect::BesideLike);
        }
    }
    let clock = clock(reading, at);
    let time_factor = reading.number_field(at, "time_factor", Source::Assumed, POINT_FACTOR);
    let power_factor = reading.number_field(at, "power_factor", Source::Assumed, POINT_FACTOR);
    let wanted = reading.text(like)?;
    let is_wanted = |entry: &At<'_>| {
        entry
            .optional("name")
            .is_some_and(|name| name.value == wanted)
    };
    let Some(position) = list.iter().position(is_wanted) else {
        let names = list
            .iter()
            .filter(|entry| entry.optional("like").is_none())
            .filter_map(|entry| entry.value.get("name")?.as_str());
        reading.unknown(like, "operating point", wanted, names);
        return None;
    };
    if list[position].optional("like").is_some() {
        reading.report(like, Defect::LikeChain(wanted.to_owned()));
        return None;
    }
    // What is wrong with the other point was reported there.
    let original = full[position].clone()?;
    let (clock, time_factor, power_factor) = (clock?, time_factor?, power_factor?);
    let mut models = original.models;
    for model in models.values_mut().flatten() {
        for coefficient in &mut model.coefficients {
            *coefficient *= time_factor.value;
        }
        model.source = model.source.max(time_factor.source);
    }
    let dynamic_power = original
        .dynamic_power
        .into_iter()
        .map(|(class, power)| Some((class, Watts::new(power.value() * power_factor.value)?)))
        .collect::<Option<_>>()?;
    Some(OperatingPoint {
        name: at.value.get("name")?.as_str()?.to_owned(),
        hertz: clock.hertz,
        volts: clock.volts,
        static_power: clock.static_power,
        dynamic_power,
        power_sources: original
            .power_sources
            .into_iter()
            .map(|source| source.max(power_factor.source))
            .collect(),
        models,
    })
}

/// Powers of classes, `None` where what is wrong was reported, and where they come from.
type Powers = (BTreeMap<OpClass, Option<Watts>>, BTreeSet<Source>);

/// The classes that have an entry.
fn dynamic_power(reading: &mut Reading, at: &At<'_>) -> Option<Powers> {
    let field = reading.field(at, "dynamic_w")?;
    reading.object(&field)?;
    let mut powers = BTreeMap::new();
    let mut sources = BTreeSet::new();
    for (key, entry) in reading.entries(&field, MOST_CLASSES) {
        let number = reading.number(&entry, Source::Assumed, WATTS);
        sources.extend(number.as_ref().map(|number| number.source));
        let power = number.and_then(|number| Watts::new(number.value));
        match key.parse::<OpClass>() {
            Ok(class) => {
                powers.insert(class, power);
            }
            Err(_) => unknown_class(reading, &entry, key),
        }
    }
    Some((powers, sources))
}

/// Models by class; the inner `None` is one that was reported.
type Models = BTreeMap<OpClass, Option<Vec<ClassModel>>>;

/// The classes that have a model.
fn models(reading: &mut Reading, at: &At<'_>) -> Option<Models> {
    // Without any, the processor runs what was measured on it, and nothing else.
    let list = reading.list(at, "models", MOST_MODELS)?;
    let mut first: BTreeMap<Option<&str>, BTreeMap<&str, String>> = BTreeMap::new();
    let mut models = Models::new();
    for entry in &list {
        let class = reading
            .field(entry, "class")
            .and_then(|field| class(reading, &field));
        let model = model(reading, entry);
        if let Some(class) = class {
            // Models of one class are told apart by their types.
            let dtype = entry.value.get("dtype").and_then(|dtype| dtype.as_str());
            let first = first.entry(dtype).or_default();
            unique(reading, first, "model of class", class.name(), entry);
            let of_class = models.entry(class).or_insert_with(|| Some(Vec::new()));
            *of_class = of_class.take().zip(model).map(|(mut all, model)| {
                all.push(model);
                all
            });
        }
    }
    Some(models)
}

fn model(reading: &mut Reading, at: &At<'_>) -> Option<ClassModel> {
    let dtype = reading.word_field(
        at,
        "dtype",
        "element type",
        &DTYPES.map(|name| (name, name)),
    );
    let features = features(reading, at);
    let stated = reading.source_of(at);
    let list = reading.some_of(at, "coefficients", MOST_CLASSES, "coefficient");
    let numbers: Option<Vec<_>> = list.as_ref().and_then(|list| {
        let numbers: Vec<_> = list
            .iter()
            .map(|entry| reading.number(entry, stated, SECONDS))
            .collect();
        numbers.into_iter().collect()
    });
    let max = reading.word_field(
        at,
        "combine",
        "combination",
        &[("sum", false), ("max", true)],
    );
    if let (Some(features), Some(list)) = (&features, &list)
        && !list.is_empty()
        && list.len() != features.len()
    {
        reading.report_at(
            join(&at.path, "coefficients"),
            Defect::Length {
                found: list.len(),
                expected: features.len(),
                what: "feature",
            },
        );
    }
    let winograd = match at.optional("winograd") {
        None => Some(Winograd::default()),
        Some(field) => reading.word(
            &field,
            "choice of kernels",
            &Winograd::ALL.map(|choice| (choice.name(), choice)),
        ),
    };
    let seen = match at.optional("seen") {
        None => Some(Vec::new()),
        Some(_) => seen(reading, at, list.as_ref().map_or(0, Vec::len)),
    };
    let numbers = numbers?;
    Some(ClassModel {
        dtype: dtype?.to_owned(),
        features: features?.into_iter().collect::<Option<_>>()?,
        coefficients: numbers.iter().map(|number| number.value).collect(),
        max: max?,
        winograd: winograd?,
        seen: seen?,
        // A model is as good as its worst coefficient.
        source: numbers
            .iter()
            .map(|number| number.source)
            .max()
            .unwrap_or(Source::Assumed),
    })
}

/// The least and the largest value of each feature that the coefficients were found on.
fn seen(reading: &mut Reading, at: &At<'_>, expected: usize) -> Option<Vec<[f64; 2]>> {
    let list = reading.some_of(at, "seen", MOST_CLASSES, "range")?;
    let ranges: Vec<_> = list.iter().map(|entry| range(reading, entry)).collect();
    if expected > 0 && list.len() != expected {
        let defect = Defect::Length {
            found: list.len(),
            expected,
            what: "feature",
        };
        reading.report_at(join(&at.path, "seen"), defect);
    }
    ranges.into_iter().collect()
}

fn range(reading: &mut Reading, at: &At<'_>) -> Option<[f64; 2]> {
    let ends = reading.elements(at, 2)?;
    let [least, most] = ends.as_slice() else {
        let defect = Defect::Length {
            found: ends.len(),
            expected: 2,
            what: "end of the range",
        };
        reading.report(at, defect);
        return None;
    };
    let least = reading.plain_number(least, QUANTITY)?;
    let most = reading.plain_number(most, (least, QUANTITY.1))?;
    Some([least, most])
}

fn features(reading: &mut Reading, at: &At<'_>) -> Option<Vec<Option<String>>> {
    let list = reading.some_of(at, "features", MOST_CLASSES, "feature")?;
    let known = Feature::ALL.map(|feature| (feature.name(), feature));
    let mut first = BTreeMap::new();
    let mut features = Vec::new();
    for entry in &list {
        let feature = reading.word(entry, "feature", &known);
        if let Some(feature) = feature {
            unique(reading, &mut first, "feature", feature.name(), entry);
        }
        features.push(feature.map(|feature| feature.name().to_owned()));
    }
    Some(features)
}

/// ONNX's element types in lower case, and `any`.
const DTYPES: [&str; 23] = [
    "float",
    "double",
    "float16",
    "bfloat16",
    "float8",
    "float4",
    "int64",
    "int32",
    "int16",
    "int8",
    "int4",
    "int2",
    "uint64",
    "uint32",
    "uint16",
    "uint8",
    "uint4",
    "uint2",
    "bool",
    "complex64",
    "complex128",
    "string",
    "any",
];

#[cfg(test)]
mod tests {
    use paracompile_plan::plan::Source;
    use serde_json::{Value, json};

    use crate::soc::file::tests::example;
    use crate::soc::{Soc, SocError};

    /// The example with a third point of its CPU, after `edit`.
    fn with_point(edit: impl FnOnce(&mut Value)) -> Result<Soc, Vec<String>> {
        let mut profile: Value = serde_json::from_str(example()).unwrap();
        let mut point = json!({
            "name": "middle", "hertz": 1.5e9, "volts": 0.9, "static_w": 0.15, "like": "fast",
            "time_factor": { "value": 1.5, "source": "estimated" }, "power_factor": 0.5
        });
        edit(&mut point);
        let points = &mut profile["processors"][0]["operating_points"];
        points.as_array_mut().unwrap().push(point);
        Soc::from_json(&profile.to_string(), "example").map_err(|error| {
            let SocError::Invalid { problems, .. } = error else {
                panic!("{error}");
            };
            problems.iter().map(ToString::to_string).collect()
        })
    }

    fn only_problem(edit: impl FnOnce(&mut Value)) -> String {
        let problems = with_point(edit).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:#?}");
        problems[0].clone()
    }

    #[test]
    fn a_point_like_another_has_its_models_and_powers_times_the_factors() {
        let soc = with_point(|_| ()).unwrap();
        let points = &soc.processors[soc.processor("cpu").unwrap()].operating_points;
        let (fast, middle) = (&points[0], &points[2]);
        assert_eq!((middle.volts, fast.volts), (Some(0.9), None));
        assert!((middle.static_power.value() - 0.15).abs() < 1e-12);
        assert_eq!(middle.models.len(), fast.models.len());
        for (class, model) in &fast.models {
            let (model, scaled) = (&model[0], &middle.models[class][0]);
            assert_eq!(scaled.features, model.features);
            for (slow, quick) in scaled.coefficients.iter().zip(&model.coefficients) {
                assert!((slow - 1.5 * quick).abs() < 1e-18);
            }
            assert_eq!(scaled.source, model.source.max(Source::Estimated));
            let powers = [fast, middle].map(|point| point.dynamic_power[class].value());
            assert!((powers[1] - 0.5 * powers[0]).abs() < 1e-12);
        }
    }

    #[test]
    fn a_point_is_like_one_that_is_there_and_given_in_full() {
        let found = only_problem(|point| point["like"] = json!("fats"));
        assert_eq!(
            found,
            "processors[0].operating_points[2].like: `fats` is not a known operating point; did you mean `fast`?"
        );
        let found = only_problem(|point| point["like"] = json!("middle"));
        assert_eq!(
            found,
            "processors[0].operating_points[2].like: `middle` is given by `like` itself; name the operating point that has `models`"
        );
    }

    #[test]
    fn a_point_is_given_in_one_way() {
        let found = only_problem(|point| point["models"] = json!([]));
        assert!(
            found.contains("[2].models: stands beside `like`"),
            "{found}"
        );
        let problems = with_point(|point| {
            let point = point.as_object_mut().unwrap();
            point.remove("like");
        })
        .unwrap_err();
        assert!(
            problems[0].contains("time_factor: needs `like` beside it"),
            "{problems:#?}"
        );
        assert!(
            problems
                .iter()
                .any(|problem| problem.ends_with("[2].models: is missing"))
        );
    }

    #[test]
    fn factors_and_voltages_have_ranges() {
        for (key, value) in [
            ("time_factor", json!(0)),
            ("time_factor", json!(1e4)),
            ("power_factor", json!(-1)),
            ("volts", json!(900)),
        ] {
            let found = only_problem(|point| point[key] = value);
            assert!(found.contains(&format!("[2].{key}: is ")), "{found}");
        }
        let found = only_problem(|point| {
            point.as_object_mut().unwrap().remove("power_factor");
        });
        assert!(found.ends_with("[2].power_factor: is missing"), "{found}");
    }

    #[test]
    fn ranges_of_measured_operators_go_with_their_features() {
        let problems_of = |seen: Value| {
            let mut profile: Value = serde_json::from_str(example()).unwrap();
            let model = &mut profile["processors"][0]["operating_points"][0]["models"][0];
            model["seen"] = seen;
            match Soc::from_json(&profile.to_string(), "example") {
                Ok(_) => String::new(),
                Err(error) => error.to_string(),
            }
        };
        assert_eq!(problems_of(json!([[1, 1], [10, 1e9], [4, 4]])), "");
        assert!(problems_of(json!([[1, 1]])).contains("seen: has 1 entries; write 3"));
        assert!(problems_of(json!([[1, 1], [10, 9], [4, 4]])).contains("seen[1][1]: is 9"));
        assert!(problems_of(json!([[1], [1, 1], [1, 1]])).contains("seen[0]: has 1 entries"));
        let sourced = json!({"value": 1, "source": "measured"});
        assert!(
            problems_of(json!([[sourced, 1], [1, 1], [1, 1]]))
                .contains("seen[0][0]: is an object; write a number")
        );
    }
}
