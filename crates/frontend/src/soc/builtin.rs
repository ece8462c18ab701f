//! Profiles that are embedded in the binary; `profiles/README.md` tells where their numbers come from.

/// Sorted by name.
const PROFILES: [(&str, &str); 3] = [
    (
        "bst-a1000",
        include_str!("../../../../profiles/bst-a1000.json"),
    ),
    ("rk3588", include_str!("../../../../profiles/rk3588.json")),
    ("vim3", include_str!("../../../../profiles/vim3.json")),
];

/// Names, sorted.
pub(super) fn builtin_names() -> impl Iterator<Item = &'static str> + Clone {
    PROFILES.iter().map(|(name, _)| *name)
}

/// The JSON text of a profile.
pub(super) fn builtin_text(name: &str) -> Option<&'static str> {
    PROFILES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soc::Soc;

    #[test]
    fn every_built_in_profile_loads_under_its_own_name() {
        for (name, text) in PROFILES {
            let soc = Soc::from_json(text, name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(soc.name, name);
            // Nothing of it was ever published, which is announced wherever it is used.
            assert_eq!(soc.synthetic, name == "bst-a1000");
        }
        assert!(builtin_names().is_sorted());
    }
}
