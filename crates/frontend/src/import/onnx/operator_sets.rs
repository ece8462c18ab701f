//! Which version of each operator set a model means, and which operators these versions have.
//!
//! An operator set is a domain and a version. A node means the newest definition of its operator that its domain's version has, so an
//! operator may come too late, or be gone. The table of definitions is `operators.txt`, made from the standard's own.
//! Domains and operators that the table does not know are nobody's business here: they are opaque.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::lower::Warning;
use super::problems::Problems;
use super::wire::{ModelProto, NodeProto, OperatorSetIdProto};
use super::{Fault, Problem};

/// The standard's name of the default domain, which files write as nothing at all.
pub(super) const DEFAULT: &str = "ai.onnx";

/// File formats between these are known (`ir_version`).
const FORMATS: std::ops::RangeInclusive<i64> = 3..=14;

/// The oldest default operator set whose operators are held against the standard's tests.
const OLDEST: i64 = 7;

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("operators.txt")));

/// When operators got new definitions.
struct Table {
    /// The newest version of each domain.
    newest: BTreeMap<&'static str, i64>,
    /// By domain and name, oldest first; never empty.
    changes: BTreeMap<(&'static str, &'static str), Vec<Change>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    version: i64,
    /// Whether the operator ends here.
    removes: bool,
}

impl Table {
    /// Reads the committed table.
    fn read(text: &'static str) -> Self {
        let mut table = Self {
            newest: BTreeMap::new(),
            changes: BTreeMap::new(),
        };
        let number = |word: &str| word.parse().expect("the table has numbers behind names");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ');
            let mut word = || words.next().expect("a line of the table has three words");
            match word() {
                "!" => {
                    let domain = word();
                    table.newest.insert(domain, number(word()));
                }
                domain => {
                    let name = word();
                    let changes = words.map(|version| match version.strip_suffix('-') {
                        Some(version) => Change {
                            version: number(version),
                            removes: true,
                        },
                        None => Change {
                            version: number(version),
                            removes: false,
                        },
                    });
                    table.changes.insert((domain, name), changes.collect());
                }
            }
        }
        table
    }
}

/// The operator sets that a model or function imports.
#[derive(Clone, Debug)]
pub(super) struct OperatorSets<'m> {
    versions: BTreeMap<&'m str, i64>,
}

impl<'m> OperatorSets<'m> {
    /// Those of a model; one that uses the default domain has to say which version it means.
    pub(super) fn of(model: &'m ModelProto, problems: &mut Problems) -> Self {
        let mut sets = Self::imported(&model.opset_import);
        if !sets.versions.contains_key(DEFAULT) {
            let mut nodes = model.graph.iter().flat_map(|graph| &graph.node);
            // The field came with IR version 3.
            let version = if model.ir_version.unwrap_or(0) < 3 {
                1
            } else {
                if nodes.any(|node| domain(&node.domain) == DEFAULT) {
                    problems.push(Problem::NoOpset);
                }
                newest(DEFAULT)
            };
            sets.versions.insert(DEFAULT, version);
        }
        sets
    }

    /// Those of a list; of two versions of a domain the first one counts.
    pub(super) fn imported(list: &'m [OperatorSetIdProto]) -> Self {
        let mut versions = BTreeMap::new();
        for set in list {
            versions.entry(domain(&set.domain)).or_insert(set.version);
        }
        Self { versions }
    }

    /// These, and those of `around` for domains that they do not name.
    pub(super) fn within(mut self, around: &Self) -> Self {
        for (&domain, &version) in &around.versions {
            self.versions.entry(domain).or_insert(version);
        }
        self
    }

    /// The version that nodes of `name` mean; the newest known where the list forgets the domain.
    pub(super) fn version(&self, name: &str) -> i64 {
        let name = domain(name);
        self.versions
            .get(name)
            .copied()
            .unwrap_or_else(|| newest(name))
    }

    /// Refuses an operator of the standard that its version does not have.
    pub(super) fn check(&self, node: &NodeProto) -> Result<(), Fault> {
        let name = domain(&node.domain);
        let imported = self.version(name);
        let Some(changes) = TABLE.changes.get(&(name, node.op_type.as_str())) else {
            return Ok(());
        };
        match changes.iter().rfind(|change| change.version <= imported) {
            Some(change) if change.removes => Err(Fault::RemovedOperator {
                domain: name.to_owned(),
                imported,
                removed: change.version,
            }),
            Some(_) => Ok(()),
            None => Err(Fault::NewerOperator {
                domain: name.to_owned(),
                imported,
                since: changes[0].version,
            }),
        }
    }

    /// What is older or newer than what is known, each once.
    pub(super) fn warnings(&self, model: &ModelProto) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let format = model.ir_version.unwrap_or(0);
        if !FORMATS.contains(&format) {
            warnings.push(Warning::OtherFormat {
                version: format,
                oldest: *FORMATS.start(),
                newest: *FORMATS.end(),
            });
        }
        for (&name, &version) in &self.versions {
            let Some(&newest) = TABLE.newest.get(name) else {
                continue;
            };
            let oldest = if name == DEFAULT { OLDEST } else { 1 };
            let mut nodes = model.graph.iter().flat_map(|graph| &graph.node);
            let is_used = nodes.any(|node| domain(&node.domain) == name);
            if is_used && !(oldest..=newest).contains(&version) {
                warnings.push(Warning::OtherOperatorSet {
                    domain: name.to_owned(),
                    version,
                    oldest,
                    newest,
                });
            }
        }
        warnings
    }
}

/// The domain under its standard name.
pub(super) fn domain(name: &str) -> &str {
    if name.is_empty() { DEFAULT } else { name }
}

/// All operators of the standard, by domain and name.
#[cfg(test)]
pub(super) fn operators() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.changes.keys().copied()
}

fn newest(domain: &str) -> i64 {
    TABLE.newest.get(domain).copied().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(domain: &str, version: i64) -> OperatorSetIdProto {
        OperatorSetIdProto {
            domain: domain.to_owned(),
            version,
        }
    }

    fn check(list: &[OperatorSetIdProto], domain: &str, op_type: &str) -> Result<(), Fault> {
        let node = NodeProto {
            domain: domain.to_owned(),
            op_type: op_type.to_owned(),
            ..NodeProto::default()
        };
        OperatorSets::imported(list).check(&node)
    }

    #[test]
    fn the_table_is_in_order_and_complete_for_what_everybody_uses() {
        assert!(TABLE.changes.len() > 220, "{}", TABLE.changes.len());
        for (operator, changes) in &TABLE.changes {
            assert!(!changes.is_empty(), "{operator:?}");
            assert!(
                changes.is_sorted_by_key(|change| change.version),
                "{operator:?}"
            );
            let newest = TABLE.newest[operator.0];
            assert!(
                changes.iter().all(|change| change.version <= newest),
                "{operator:?}"
            );
        }
        let versions = |name| {
            let changes = &TABLE.changes[&(DEFAULT, name)];
            changes
                .iter()
                .map(|change| change.version)
                .collect::<Vec<_>>()
        };
        assert_eq!(versions("Softmax"), [1, 11, 13]);
        assert_eq!(versions("Pad"), [1, 2, 11, 13, 18, 19, 21, 23, 24, 25]);
    }

    #[test]
    fn operators_come_and_go_with_versions() {
        assert_eq!(check(&[set("", 20)], "", "Gelu"), Ok(()));
        assert_eq!(check(&[set("ai.onnx", 20)], "", "Gelu"), Ok(()));
        assert_eq!(
            check(&[set("", 19)], "ai.onnx", "Gelu"),
            Err(Fault::NewerOperator {
                domain: DEFAULT.to_owned(),
                imported: 19,
                since: 20
            })
        );
        assert_eq!(check(&[set("", 9)], "", "Upsample"), Ok(()));
        assert_eq!(
            check(&[set("", 13)], "", "Upsample"),
            Err(Fault::RemovedOperator {
                domain: DEFAULT.to_owned(),
                imported: 13,
                removed: 10
            })
        );
        // Marked as deprecated from its first definition on, and yet it has one.
        assert_eq!(check(&[set("", 18)], "", "GroupNormalization"), Ok(()));
    }

    #[test]
    fn each_domain_has_a_version_of_its_own() {
        let list = [set("", 13), set("ai.onnx.ml", 3)];
        assert_eq!(check(&list, "ai.onnx.ml", "TreeEnsembleClassifier"), Ok(()));
        assert!(check(&list, "ai.onnx.ml", "TreeEnsemble").is_err());
        assert_eq!(check(&list, "com.example", "Gelu"), Ok(()));
        assert_eq!(check(&list, "", "NotInTheStandard"), Ok(()));
    }
}
