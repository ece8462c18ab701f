//! What a list of profiles says about each: its description, and how many of its numbers come from where.
//!
//! Counts walk the JSON instead of the checked chip, because a chip keeps only the sources that decide something.

use std::collections::BTreeMap;
use std::path::Path;

use paracompile_plan::plan::Source;
use serde::Deserialize;
use serde_json::Value;

use super::load::MOST_BYTES;
use super::{Soc, SocError, document};

/// A profile in short.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The checked chip.
    pub soc: Soc,
    /// What the profile says about itself.
    pub description: Option<String>,
    /// How many numbers come from each source; plain ones count as their entry says, or as assumed.
    pub numbers: BTreeMap<Source, usize>,
}

impl Overview {
    /// The overview of the profile file at this path.
    pub fn load(path: &Path) -> Result<Self, SocError> {
        let text = document::read_text(path, MOST_BYTES)?;
        Self::from_json(&text, &path.display().to_string())
    }

    /// The overview of the profile that `text` says; `origin` is its name in messages.
    pub fn from_json(text: &str, origin: &str) -> Result<Self, SocError> {
        let soc = Soc::from_json(text, origin)?;
        let profile = document::parse(text, MOST_BYTES, origin)?;
        let description = profile.get("description").and_then(Value::as_str);
        let mut numbers = BTreeMap::new();
        if let Some(fields) = profile.as_object() {
            let fields = fields.iter().filter(|(key, _)| *key != "schema");
            for (_, value) in fields {
                count(value, Source::Assumed, &mut numbers);
            }
        }
        Ok(Self {
            soc,
            description: description.map(str::to_owned),
            numbers,
        })
    }

    /// Percentages of the numbers by source, the largest first, ties in the order of [`Source`]; those below one half are left out.
    pub fn shares(&self) -> Vec<(Source, usize)> {
        let total = self.numbers.values().sum::<usize>().max(1);
        let mut shares: Vec<_> = self
            .numbers
            .iter()
            .map(|(&source, &count)| (source, (count * 200 / total).div_ceil(2)))
            .filter(|&(_, percent)| percent > 0)
            .collect();
        shares.sort_by_key(|&(source, percent)| (std::cmp::Reverse(percent), source));
        shares
    }
}

/// Counts the numbers in `value`, whose plain ones come from `inherited`; the parser bounds the depth.
fn count(value: &Value, inherited: Source, numbers: &mut BTreeMap<Source, usize>) {
    match value {
        Value::Number(_) => *numbers.entry(inherited).or_default() += 1,
        Value::Array(elements) => {
            for element in elements {
                count(element, inherited, numbers);
            }
        }
        Value::Object(fields) => {
            let stated = fields
                .get("source")
                .and_then(|word| Source::deserialize(word).ok());
            for field in fields.values() {
                count(field, stated.unwrap_or(inherited), numbers);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soc::file::tests::example;

    #[test]
    fn numbers_count_by_the_source_of_their_entry() {
        let overview = Overview::from_json(example(), "example").unwrap();
        // The clock of the GPU, and the two coefficients of its model.
        assert_eq!(overview.numbers[&Source::Measured], 1);
        assert_eq!(overview.numbers[&Source::Estimated], 2);
        assert!(overview.numbers[&Source::Assumed] > 30);
        assert_eq!(overview.shares()[0].0, Source::Assumed);
        assert_eq!(overview.description, None);
    }

    #[test]
    fn a_chip_is_synthetic_exactly_if_all_its_numbers_are_assumed() {
        for name in Soc::builtin_names() {
            let text = Soc::builtin_text(name).unwrap();
            let overview = Overview::from_json(text, name).unwrap();
            let all_assumed = overview.shares() == [(Source::Assumed, 100)];
            assert_eq!(overview.soc.synthetic, all_assumed, "{name}");
            assert!(overview.description.is_some(), "{name}");
        }
    }
}
