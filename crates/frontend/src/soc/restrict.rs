//! A chip with some of its processors: what `--processors a,b` asks for.

use std::collections::BTreeMap;

use super::error::SocError;
use super::location::settle;
use super::near::near_matches;
use super::{Contention, Location, ProcessorId, ProcessorSet, Soc};
use crate::arena::Id;

impl Soc {
    /// The processor of this name.
    pub fn processor(&self, name: &str) -> Option<ProcessorId> {
        self.processors
            .iter()
            .find(|(_, processor)| processor.name == name)
            .map(|(id, _)| id)
    }

    /// The same chip with these processors alone, in profile order whatever the order of `names`.
    ///
    /// Memories and links stay, `io` included, even where their processor goes; contention sets with a processor that goes can never apply and go too.
    /// The digest stays, since it names the profile: a plan for some processors is a plan for the whole chip.
    pub fn restricted<N: AsRef<str>>(&self, names: &[N]) -> Result<Self, SocError> {
        let known = || {
            self.processors
                .iter()
                .map(|(_, processor)| processor.name.as_str())
        };
        if names.is_empty() {
            return Err(SocError::NoProcessorChosen {
                soc: self.name.clone(),
                known: known().map(str::to_owned).collect(),
            });
        }
        let mut kept = ProcessorSet::EMPTY;
        let mut unknown = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            if let Some(processor) = self.processor(name) {
                kept = kept.union(ProcessorSet::only(processor));
                continue;
            }
            let mut near = near_matches(name, known());
            if near.is_empty() {
                near = known().map(str::to_owned).collect();
            }
            unknown.push((name.to_owned(), near));
        }
        if !unknown.is_empty() {
            return Err(SocError::UnknownProcessors {
                soc: self.name.clone(),
                unknown,
            });
        }
        Ok(self.with(kept))
    }

    fn with(&self, kept: ProcessorSet) -> Self {
        let new_ids: BTreeMap<ProcessorId, ProcessorId> = kept
            .iter()
            .enumerate()
            .map(|(index, old)| (old, Id::from_index(index)))
            .collect();
        let homes = kept.iter().map(|old| Location {
            memory: self.processors[old].memory,
            layout: self.processors[old].layout,
        });
        let (locations, homes, io_location) = settle(homes, self.io);
        let processors = kept
            .iter()
            .zip(homes)
            .map(|(old, home)| {
                let mut processor = self.processors[old].clone();
                processor.home = home;
                processor
            })
            .collect();
        let contention = self
            .contention
            .iter()
            .filter(|entry| entry.set.is_subset(kept))
            .map(|entry| Contention {
                set: entry.set.iter().map(|old| new_ids[&old]).collect(),
                factor: entry
                    .factor
                    .iter()
                    .map(|(old, factor)| (new_ids[old], *factor))
                    .collect(),
            })
            .collect();
        Self {
            processors,
            contention,
            locations,
            io_location,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(soc: &Soc) -> Vec<&str> {
        soc.processors
            .iter()
            .map(|(_, processor)| processor.name.as_str())
            .collect()
    }

    #[test]
    fn the_chosen_processors_stay_in_profile_order() {
        let soc = Soc::builtin("vim3").unwrap();
        let some = soc.restricted(&["gpu", "little", "gpu"]).unwrap();
        assert_eq!(names(&some), ["little", "gpu"]);
        assert_eq!(some.digest, soc.digest);
        for (_, processor) in some.processors.iter() {
            assert_eq!(some.locations[processor.home].memory, processor.memory);
        }
    }

    #[test]
    fn io_stays_where_its_processor_goes() {
        let soc = Soc::builtin("vim3").unwrap();
        let some = soc.restricted(&["gpu"]).unwrap();
        assert_eq!(some.memories.len(), 3);
        assert_eq!(some.memories[some.io].name, "big");
        assert_eq!(some.locations[some.io_location].memory, some.io);
    }

    #[test]
    fn sets_with_an_absent_processor_go() {
        let soc = Soc::builtin("vim3").unwrap();
        let some = soc.restricted(&["little", "gpu"]).unwrap();
        assert_eq!(some.contention.len(), 1);
        assert_eq!(some.contention[0].set, ProcessorSet::first(2));
        let members: Vec<usize> = some.contention[0]
            .factor
            .keys()
            .map(|id| id.index())
            .collect();
        assert_eq!(members, [0, 1]);
    }

    #[test]
    fn all_unknown_names_are_told_with_near_matches() {
        let soc = Soc::builtin("vim3").unwrap();
        let error = soc
            .restricted(&["bgi", "gpu", "npu0"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("`bgi`; did you mean `big`"), "{error}");
        assert!(error.contains("`npu0`"), "{error}");
        let none: [&str; 0] = [];
        let error = soc.restricted(&none).unwrap_err().to_string();
        assert!(error.ends_with("it has big, little, gpu"), "{error}");
    }
}
