//! Names that many plans share, each once.

use std::collections::BTreeMap;

use paracompile_plan::Plan;
use paracompile_plan::facts::{CostFacts, ModelFacts};
use paracompile_plan::plan::{OperatorRef, Source, Task};

use super::page::{Memory, Operators};
use super::request::Known;

/// All names together take about so many characters at most, so that the names of the largest networks do not crowd out their plans.
const NAMES: usize = 1_000_000;
/// However many names there are, each keeps between so many characters.
const LENGTHS: (usize, usize) = (32, 160);

/// Values in the order of their first appearance, with their places.
#[derive(Debug)]
pub(super) struct Places<T> {
    pub(super) values: Vec<T>,
    places: BTreeMap<T, usize>,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            places: BTreeMap::new(),
        }
    }
}

impl<T: Clone + Ord> Places<T> {
    pub(super) fn place(&mut self, value: &T) -> usize {
        if let Some(&place) = self.places.get(value) {
            return place;
        }
        self.places.insert(value.clone(), self.values.len());
        self.values.push(value.clone());
        self.values.len() - 1
    }
}

/// What plans refer to.
#[derive(Debug)]
pub(super) struct Dictionary<'a> {
    known: Option<Known<'a>>,
    /// Place of each operator in the model facts.
    facts: BTreeMap<&'a OperatorRef, usize>,
    operators: Places<&'a OperatorRef>,
    groups: Places<Vec<usize>>,
    tensors: Places<&'a str>,
    processors: Places<&'a str>,
    /// Processors at operating points.
    points: Places<(&'a str, &'a str)>,
    memories: Places<&'a str>,
}

impl<'a> Dictionary<'a> {
    /// Processors and memories in the order of the profile; without it, those of plans that use many come first, which keeps that order mostly.
    pub(super) fn new(known: Option<Known<'a>>, plans: &[&'a Plan]) -> Self {
        let mut dictionary = Self {
            known,
            facts: known
                .map(|known| places_in(known.model))
                .unwrap_or_default(),
            operators: Places::default(),
            groups: Places::default(),
            tensors: Places::default(),
            processors: Places::default(),
            points: Places::default(),
            memories: Places::default(),
        };
        if let Some(known) = known {
            dictionary.keep_profile_order(known, plans);
        }
        let mut by_size: Vec<&Plan> = plans.to_vec();
        by_size.sort_by_key(|plan| std::cmp::Reverse(plan.processors.len()));
        for plan in by_size {
            for processor in &plan.processors {
                dictionary.processor(&processor.name);
            }
            for memory in &plan.predicted.memory {
                dictionary.memory(&memory.memory);
            }
        }
        dictionary
    }

    /// Takes processors and memories as the profile lists them, without those that no plan uses.
    fn keep_profile_order(&mut self, known: Known<'a>, plans: &[&Plan]) {
        for processor in &known.costs.processors {
            let is_used = |plan: &&Plan| {
                let mut used = plan.processors.iter();
                used.any(|used| used.name == processor.name)
            };
            if plans.iter().any(is_used) {
                self.processor(&processor.name);
            }
        }
        for memory in &known.costs.memories {
            let is_used = |plan: &&Plan| {
                let mut used = plan.predicted.memory.iter();
                used.any(|used| used.memory == memory.name)
            };
            if plans.iter().any(is_used) {
                self.memory(&memory.name);
            }
        }
    }

    pub(super) fn processor(&mut self, name: &'a str) -> usize {
        self.processors.place(&name)
    }

    /// The column of [`Operators::sources`] for a processor at an operating point.
    pub(super) fn point(&mut self, processor: &'a str, point: &'a str) -> usize {
        self.points.place(&(processor, point))
    }

    pub(super) fn memory(&mut self, name: &'a str) -> usize {
        self.memories.place(&name)
    }

    pub(super) fn tensor(&mut self, name: &'a str) -> usize {
        self.tensors.place(&name)
    }

    pub(super) fn operator(&mut self, operator: &'a OperatorRef) -> usize {
        self.operators.place(&operator)
    }

    /// The operators of a task.
    pub(super) fn group(&mut self, task: &'a Task) -> usize {
        let members: Vec<usize> = task
            .operators
            .iter()
            .map(|operator| self.operators.place(&operator))
            .collect();
        self.groups.place(&members)
    }

    pub(super) fn processor_names(&self) -> Vec<&'a str> {
        self.processors.values.clone()
    }

    pub(super) fn memories_of_page(&self) -> Vec<Memory<'a>> {
        let limit = |name: &str| {
            let memories = self.known.iter().flat_map(|known| &known.costs.memories);
            memories
                .filter(|memory| memory.name == name)
                .find_map(|memory| memory.limit)
                .map(paracompile_plan::Bytes::count)
        };
        self.memories
            .values
            .iter()
            .map(|&name| Memory {
                name,
                limit: limit(name),
            })
            .collect()
    }

    pub(super) fn tensors_of_page(&self) -> Vec<String> {
        let names = &self.tensors.values;
        names.iter().map(|name| shown(name, names.len())).collect()
    }

    pub(super) fn operators_of_page(&self) -> Operators<'a> {
        let operators = &self.operators.values;
        let mut classes = Places::default();
        let class = match self.known {
            None => Vec::new(),
            Some(known) => operators
                .iter()
                .map(|operator| {
                    let class = self.facts.get(operator).map_or("unknown", |&place| {
                        known.model.operators[place].class.name()
                    });
                    classes.place(&class)
                })
                .collect(),
        };
        Operators {
            names: operators
                .iter()
                .map(|operator| shown(&operator.output, operators.len()))
                .collect(),
            nodes: operators.iter().map(|operator| operator.node).collect(),
            classes: classes.values,
            class,
            groups: self.groups.values.clone(),
            sources: self
                .known
                .map(|known| self.sources(known))
                .unwrap_or_default(),
        }
    }

    fn sources(&self, known: Known<'_>) -> Vec<Vec<u8>> {
        let columns: Vec<Option<(&CostFacts, usize)>> = self
            .points
            .values
            .iter()
            .map(|&(name, point)| {
                let mut tables = std::iter::once(known.costs).chain(known.elsewhere);
                tables.find_map(|costs| {
                    let mut processors = costs.processors.iter();
                    let place = processors
                        .position(|facts| facts.name == name && facts.operating_point == point)?;
                    Some((costs, place))
                })
            })
            .collect();
        self.groups
            .values
            .iter()
            .map(|group| {
                let sources = columns.iter().map(|column| {
                    column.map_or(0, |(costs, place)| {
                        self.sources_on(known.model, costs, group, place)
                    })
                });
                sources.collect()
            })
            .collect()
    }

    /// The sources of what `group` costs on a processor, without members that cost nothing there behind an anchor (rule M12).
    fn sources_on(
        &self,
        model: &ModelFacts,
        costs: &CostFacts,
        group: &[usize],
        processor: usize,
    ) -> u8 {
        let CostFacts {
            operators,
            processors,
            ..
        } = costs;
        let fuses = &processors[processor].fuses;
        let members = group.iter().enumerate().filter_map(|(index, &operator)| {
            let place = *self.facts.get(self.operators.values[operator])?;
            let is_free = index > 0 && fuses.contains(&model.operators[place].class);
            let cost = operators.get(place)?.get(processor)?.as_ref()?;
            (!is_free).then_some(bit(cost.source))
        });
        members.fold(0, |all, one| all | one)
    }
}

/// In the order of [`paracompile_plan::plan::Provenance`].
const fn bit(source: Source) -> u8 {
    match source {
        Source::Measured => 1,
        Source::Fitted => 2,
        Source::Estimated => 4,
        Source::Borrowed => 8,
        Source::Assumed => 16,
    }
}

fn places_in(model: &ModelFacts) -> BTreeMap<&OperatorRef, usize> {
    let operators = model.operators.iter().enumerate();
    operators
        .map(|(place, operator)| (&operator.at, place))
        .collect()
}

/// The name as the page shows it, where it has `count` of them.
pub(super) fn shown(name: &str, count: usize) -> String {
    shortened(name, (NAMES / count.max(1)).clamp(LENGTHS.0, LENGTHS.1))
}

/// The name, or its two ends where it has more than `most` characters.
pub(super) fn shortened(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    let head: String = name.chars().take(most / 3).collect();
    let tail = most.saturating_sub(most / 3 + 1);
    let tail: String = name.chars().skip(length - tail).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn long_names_keep_both_ends_and_short_ones_everything() {
        let long = format!("start{}end", "ü".repeat(10_000));
        let short = shown(&long, 10);
        assert_eq!(short.chars().count(), LENGTHS.1);
        assert!(short.starts_with("start") && short.ends_with("end"));
        assert_eq!(shown(&long, 1_000_000).chars().count(), LENGTHS.0);
        assert_eq!(shown("conv1", 1_000_000), "conv1");
    }

    #[test]
    fn sources_are_those_at_the_point_of_the_plan() {
        let mut run = samples::run();
        for entry in &mut run.plans {
            for processor in &mut entry.1.processors {
                if processor.name == "p1" {
                    processor.operating_point = "slow".to_owned();
                }
            }
        }
        let mut slow = run.costs.clone();
        for processor in &mut slow.processors {
            processor.operating_point = "slow".to_owned();
        }
        for cost in slow.operators.iter_mut().flatten().flatten() {
            cost.source = Source::Assumed;
        }
        let plans: Vec<&Plan> = run.plans.iter().map(|(_, plan)| plan).collect();
        let sources = |elsewhere| {
            let known = Known {
                model: &run.model,
                costs: &run.costs,
                elsewhere,
            };
            let mut dictionary = Dictionary::new(Some(known), &plans);
            for plan in &plans {
                for task in &plan.tasks {
                    dictionary.group(task);
                }
                for processor in &plan.processors {
                    dictionary.point(&processor.name, &processor.operating_point);
                }
            }
            dictionary.operators_of_page().sources[0].clone()
        };
        let mut found = sources(std::slice::from_ref(&slow));
        found.sort_unstable();
        assert_eq!(found, [bit(Source::Measured), bit(Source::Assumed)]);
        let mut unknown = sources(&[]);
        unknown.sort_unstable();
        assert_eq!(unknown, [0, bit(Source::Measured)]);
    }

    #[test]
    fn processors_keep_the_order_of_the_profile_without_it() {
        let few = samples::plan(&[&[1, 1, 1]]);
        let more = samples::plan(&[&[1, 1], &[0]]);
        let dictionary = Dictionary::new(None, &[&few, &more]);
        assert_eq!(dictionary.processor_names(), ["p0", "p1"]);
    }
}
