//! Which version of each operator set a model or function means.

use std::collections::BTreeMap;

use super::wire::OperatorSetIdProto;

/// Versions by domain.
#[derive(Clone, Debug, Default)]
pub(super) struct Opsets(BTreeMap<String, i64>);

impl Opsets {
    pub(super) fn of(imports: &[OperatorSetIdProto]) -> Self {
        let mut versions = BTreeMap::new();
        for import in imports {
            // The first counts, where a file says it twice.
            versions
                .entry(normal(&import.domain).to_owned())
                .or_insert(import.version);
        }
        Self(versions)
    }

    /// The version of a domain; `None` if it is not imported.
    pub(super) fn version(&self, domain: &str) -> Option<i64> {
        self.0.get(normal(domain)).copied()
    }

    /// These, and those of `others` for domains that they do not name.
    pub(super) fn or(mut self, others: &Self) -> Self {
        for (domain, version) in &others.0 {
            self.0.entry(domain.clone()).or_insert(*version);
        }
        self
    }

    /// With a version for the default domain where none is named.
    pub(super) fn or_default(mut self, version: i64) -> Self {
        self.0.entry(String::new()).or_insert(version);
        self
    }
}

/// The default domain has two names.
pub(super) fn normal(domain: &str) -> &str {
    match domain {
        "ai.onnx" => "",
        other => other,
    }
}
