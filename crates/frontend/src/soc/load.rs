//! Profiles from files, text and names.

use std::path::Path;

use super::Soc;
use super::builtin::{builtin_names, builtin_text};
use super::document::{parse, read_text, sha256_hex};
use super::error::SocError;
use super::near::near_matches;
use super::verify::verify;

/// The largest profile that is read: a hundred times what a chip needs.
pub(super) const MOST_BYTES: u64 = 4 << 20;

impl Soc {
    /// The built-in profile of this name, or else the profile file at this path.
    pub fn find(name_or_path: &str) -> Result<Self, SocError> {
        if let Some(soc) = Self::builtin(name_or_path) {
            return Ok(soc);
        }
        let path = Path::new(name_or_path);
        // What looks like a path gets the system's answer; a bare word is more likely a misspelt name.
        if path.exists() || path.components().count() > 1 || path.extension().is_some() {
            return Self::load(path);
        }
        Err(SocError::UnknownProfile {
            name: name_or_path.to_owned(),
            near: near_matches(name_or_path, builtin_names()),
            known: builtin_names().map(str::to_owned).collect(),
        })
    }

    /// The profile file at this path.
    pub fn load(path: &Path) -> Result<Self, SocError> {
        let text = read_text(path, MOST_BYTES)?;
        Self::from_json(&text, &path.display().to_string())
    }

    /// The profile that `text` says; `origin` is its name in messages.
    pub fn from_json(text: &str, origin: &str) -> Result<Self, SocError> {
        let mut profile = parse(text, MOST_BYTES, origin)?;
        // The parser bounds the depth, so the recursion of sorting is bounded too.
        profile.sort_all_objects();
        let digest = sha256_hex(profile.to_string().as_bytes());
        verify(&profile, digest).map_err(|problems| SocError::Invalid {
            origin: origin.to_owned(),
            problems,
        })
    }

    /// The built-in profile of this name.
    ///
    /// # Panics
    /// If a built-in profile does not hold the verifier's invariants; a test loads them all.
    pub fn builtin(name: &str) -> Option<Self> {
        let text = builtin_text(name)?;
        Some(Self::from_json(text, name).expect("built-in profiles are verified by a test"))
    }

    /// The JSON text of the built-in profile of this name: a start for a profile of one's own.
    pub fn builtin_text(name: &str) -> Option<&'static str> {
        builtin_text(name)
    }

    /// Names of the built-in profiles, sorted.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> + Clone {
        builtin_names()
    }
}

#[cfg(test)]
mod tests {
    use paracompile_plan::plan::{Layout, Source};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::soc::file::tests::example;

    #[test]
    fn the_digest_ignores_white_space_and_key_order_alone() {
        let soc = Soc::from_json(example(), "example").unwrap();
        let mut profile: Value = serde_json::from_str(example()).unwrap();
        let reversed: serde_json::Map<_, _> = profile
            .as_object()
            .unwrap()
            .clone()
            .into_iter()
            .rev()
            .collect();
        let again = Soc::from_json(&Value::Object(reversed).to_string(), "reversed").unwrap();
        assert_eq!(soc.digest, again.digest);
        profile["board"]["base_w"] = json!(2.5);
        let other = Soc::from_json(&profile.to_string(), "other").unwrap();
        assert_ne!(soc.digest, other.digest);
    }

    #[test]
    fn a_profile_is_synthetic_until_one_number_has_a_source() {
        let mut profile: Value = serde_json::from_str(example()).unwrap();
        assert!(
            !Soc::from_json(&profile.to_string(), "example")
                .unwrap()
                .synthetic
        );
        profile["processors"][1]["operating_points"][0]["hertz"] = json!(8e8);
        assert!(
            !Soc::from_json(&profile.to_string(), "model")
                .unwrap()
                .synthetic
        );
        profile["processors"][1]["operating_points"][0]["models"][0]["source"] = json!("assumed");
        assert!(
            Soc::from_json(&profile.to_string(), "assumed")
                .unwrap()
                .synthetic
        );
    }

    #[test]
    fn a_model_has_the_source_of_its_worst_coefficient() {
        let mut profile: Value = serde_json::from_str(example()).unwrap();
        let model = &mut profile["processors"][1]["operating_points"][0]["models"][0];
        model["source"] = json!("measured");
        model["coefficients"][0] = json!({ "value": 1e-4, "source": "borrowed" });
        let soc = Soc::from_json(&profile.to_string(), "example").unwrap();
        let gpu = &soc.processors[soc.processor("gpu").unwrap()];
        let model = &gpu.operating_points[0].models[&paracompile_plan::OpClass::Conv][0];
        assert_eq!(model.source, Source::Borrowed);
    }

    #[test]
    fn locations_are_homes_in_profile_order_then_io() {
        let soc = Soc::from_json(example(), "example").unwrap();
        let layouts: Vec<Layout> = soc.locations.iter().map(|(_, at)| at.layout).collect();
        assert_eq!(layouts, [Layout::Nhwc, Layout::Nchw, Layout::Any]);
        assert_eq!(soc.io_location.index(), 2);
        assert_eq!(soc.locations[soc.io_location].memory, soc.io);
        let any = example().replace("\"nhwc\"", "\"any\"");
        let soc = Soc::from_json(&any, "any").unwrap();
        assert_eq!(soc.locations.len(), 2);
        assert_eq!(
            soc.io_location,
            soc.processors[soc.processor("cpu").unwrap()].home
        );
    }

    #[test]
    fn unknown_names_come_with_near_matches_and_paths_with_the_system_s_answer() {
        let error = Soc::find("vim4").unwrap_err().to_string();
        assert!(error.contains("did you mean `vim3`?"), "{error}");
        let error = Soc::find("zzzzzzzz").unwrap_err().to_string();
        assert!(
            error.ends_with("built in: bst-a1000, rk3588, vim3"),
            "{error}"
        );
        let error = Soc::find("no/such.json").unwrap_err().to_string();
        assert_eq!(error, "no/such.json: cannot read the file");
        assert!(Soc::find(&std::env::temp_dir().display().to_string()).is_err());
    }

    #[test]
    fn files_load_as_text_does() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), example()).unwrap();
        let soc = Soc::find(&file.path().display().to_string()).unwrap();
        assert_eq!(
            soc.digest,
            Soc::from_json(example(), "example").unwrap().digest
        );
    }

    #[test]
    fn hostile_text_is_an_error() {
        for text in [
            "",
            "null",
            "[]",
            "{",
            "\u{0}",
            "{\"schema\":1e999}",
            &"[".repeat(9999),
        ] {
            assert!(Soc::from_json(text, "hostile").is_err(), "{text:.20}");
        }
        let large = " ".repeat(5 << 20);
        let error = Soc::from_json(&large, "large").unwrap_err().to_string();
        assert_eq!(error, "large: the file is larger than 4194304 bytes");
    }

    /// JSON pointers of every value below `value`.
    fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
        found.push(at.to_owned());
        match value {
            Value::Array(list) => {
                for (index, element) in list.iter().enumerate() {
                    pointers(element, &format!("{at}/{index}"), found);
                }
            }
            Value::Object(map) => {
                for (key, field) in map {
                    pointers(field, &format!("{at}/{key}"), found);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            prop_oneof![
                Just(0.0),
                Just(-0.0),
                Just(1.0),
                Just(5e-324),
                Just(f64::MAX)
            ]
            .prop_map(Value::from),
            "[a-z_]{0,8}|big|gpu|conv|launch|io".prop_map(Value::from),
            Just(json!([])),
            Just(json!({})),
            Just(json!([[], {}, 1])),
            any::<f64>().prop_map(|value| json!({ "value": value, "source": "measured" })),
        ]
    }

    #[derive(Clone, Debug)]
    enum Mutation {
        Replace(Value),
        Remove,
        CopyFrom(prop::sample::Index),
    }

    fn any_mutation() -> impl Strategy<Value = Mutation> {
        prop_oneof![
            any_value().prop_map(Mutation::Replace),
            Just(Mutation::Remove),
            any::<prop::sample::Index>().prop_map(Mutation::CopyFrom),
        ]
    }

    fn mutate(profile: &mut Value, place: prop::sample::Index, mutation: &Mutation) {
        let mut all = Vec::new();
        pointers(profile, "", &mut all);
        let pointer = place.get(&all);
        match mutation {
            Mutation::Replace(value) => *profile.pointer_mut(pointer).unwrap() = value.clone(),
            Mutation::CopyFrom(other) => {
                let source: &String = other.get(&all);
                let copy = profile.pointer(source).unwrap().clone();
                *profile.pointer_mut(pointer).unwrap() = copy;
            }
            Mutation::Remove => {
                let Some((parent, key)) = pointer.rsplit_once('/') else {
                    return;
                };
                match profile.pointer_mut(parent) {
                    Some(Value::Object(map)) => {
                        map.shift_remove(key);
                    }
                    Some(Value::Array(list)) => {
                        list.remove(key.parse().unwrap());
                    }
                    other => panic!("{other:?} has no part"),
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_mutated_profile_loads_or_says_why_not(
            mutations in prop::collection::vec((any::<prop::sample::Index>(), any_mutation()), 1..4),
        ) {
            let mut profile: Value = serde_json::from_str(builtin_text("vim3").unwrap()).unwrap();
            for (place, mutation) in &mutations {
                mutate(&mut profile, *place, mutation);
            }
            match Soc::from_json(&profile.to_string(), "mutated") {
                Ok(soc) => {
                    prop_assert!(!soc.processors.is_empty());
                    for (_, from) in soc.locations.iter() {
                        for (_, to) in soc.locations.iter() {
                            let linked = soc
                                .links
                                .iter()
                                .any(|link| link.from == from.memory && link.to == to.memory);
                            prop_assert!(from.fits(*to) || linked);
                        }
                    }
                }
                Err(SocError::Invalid { problems, .. }) => prop_assert!(!problems.is_empty()),
                Err(other) => prop_assert!(false, "{other}"),
            }
        }

        #[test]
        fn a_cut_profile_is_an_error(end in 0..1000usize) {
            let text = builtin_text("vim3").unwrap();
            prop_assert!(Soc::from_json(text.get(..end).unwrap_or(""), "cut").is_err());
        }
    }
}
