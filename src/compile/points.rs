//! Operating points as part of the choice: which combinations the search sees, and the costs at those that plans end up with.
//!
//! A stage on one processor is tried at every point that no other beats, for it costs little.
//! A stage on several is tried at every combination of the points on each processor's hull of time and energy, few enough for [`MOST_COMBINATIONS`].

use std::collections::BTreeMap;
use std::sync::Arc;

use paracompile_frontend::cost::{CostTable, PointTables};
use paracompile_frontend::soc::{ProcessorId, ProcessorSet, Symmetry};
use paracompile_plan::Milliwatts;
use paracompile_plan::front::PointsSearched;

use super::Options;
use super::arrow::{Inputs, allowed, mapper_options};
use super::field::queues_allowed;
use crate::constraints::Eligibility;
use crate::mapping::decompose::{MapperOptions, StageGraph, StageMapper};
use crate::pipeline::{AtPoints, Candidate};

/// More combinations of points for stages on all processors take more time than they are worth.
const MOST_COMBINATIONS: usize = 32;

/// The points that stages are tried at.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    alone: Vec<Vec<usize>>,
    together: Vec<Vec<usize>>,
}

impl Choice {
    /// For each processor: all points that no other beats, and those of its hull; where the user fixed one, that one.
    pub(super) fn new(inputs: &Inputs<'_>, tables: &PointTables, fixed: &[bool]) -> Self {
        let processors: Vec<ProcessorId> = inputs.table.soc.processors.ids().collect();
        let is_fixed = |index: usize| fixed.get(index).copied().unwrap_or(false);
        let own = |index: usize| vec![inputs.table.operating_points[index]];
        let each = |points: &dyn Fn(ProcessorId) -> Vec<usize>| -> Vec<Vec<usize>> {
            processors
                .iter()
                .enumerate()
                .map(|(index, &processor)| {
                    if is_fixed(index) {
                        own(index)
                    } else {
                        points(processor)
                    }
                })
                .collect()
        };
        let alone = each(&|processor| tables.useful(processor));
        let mut most = MOST_COMBINATIONS;
        loop {
            let together = each(&|processor| tables.hull(processor, most));
            let count = together
                .iter()
                .fold(1_usize, |count, points| count.saturating_mul(points.len()));
            if count <= MOST_COMBINATIONS || most == 1 {
                return Self { alone, together };
            }
            most -= 1;
        }
    }

    /// The combinations for each set of processors, without that of the table itself.
    ///
    /// Of sets and combinations that swaps of interchangeable processors make of each other there is one: the set with the first of them, the combination in which their points ascend.
    fn combinations(
        &self,
        base: &[usize],
        all: ProcessorSet,
        symmetry: &Symmetry,
    ) -> BTreeMap<Vec<usize>, Vec<ProcessorSet>> {
        let mut serves: BTreeMap<Vec<usize>, Vec<ProcessorSet>> = BTreeMap::new();
        for set in symmetry.subsets(all) {
            let points = if set.len() == 1 {
                &self.alone
            } else {
                &self.together
            };
            let mut combinations = vec![base.to_vec()];
            for processor in set.iter() {
                let index = processor.index();
                combinations = combinations
                    .iter()
                    .flat_map(|combination| {
                        points[index].iter().map(move |&point| {
                            let mut next = combination.clone();
                            next[index] = point;
                            next
                        })
                    })
                    .collect();
            }
            let is_sorted = |combination: &[usize]| {
                symmetry.orbits().iter().all(|&orbit| {
                    let own = orbit.intersection(set);
                    own.iter()
                        .map(|processor| combination[processor.index()])
                        .is_sorted()
                })
            };
            for combination in combinations {
                if combination != base && is_sorted(&combination) {
                    serves.entry(combination).or_default().push(set);
                }
            }
        }
        serves
    }

    /// What `front.json` says of it.
    pub(super) fn searched(&self, table: &CostTable) -> PointsSearched {
        let names = |points: &[Vec<usize>]| {
            table
                .soc
                .processors
                .iter()
                .zip(points)
                .map(|((_, processor), points)| {
                    let names = points
                        .iter()
                        .map(|&point| processor.operating_points[point].name.clone());
                    (processor.name.clone(), names.collect())
                })
                .collect()
        };
        PointsSearched {
            alone: names(&self.alone),
            together: names(&self.together),
        }
    }
}

/// A mapper for each combination that some stage is tried at.
pub(super) fn mappers<'a>(
    inputs: &Inputs<'_>,
    tables: &PointTables,
    choice: &Choice,
    (eligibility, symmetry): (&Eligibility, &Symmetry),
    options: &Options<'a>,
) -> Vec<AtPoints<'a>> {
    let base = &inputs.table.operating_points;
    let combinations = choice.combinations(base, allowed(inputs), symmetry);
    let several = combinations
        .values()
        .filter(|sets| sets.iter().any(|set| set.len() > 1))
        .count() as u64;
    combinations
        .into_iter()
        .map(|(points, serves)| {
            let table = tables.at(&points);
            // It answers for the sets that it serves; under which sets in use is the whole search's symmetry.
            let graph = StageGraph::new(inputs.segments, &table, allowed(inputs))
                .only(|op, processor| eligibility.allows(op, processor))
                .with_queues(queues_allowed(inputs))
                .up_to(symmetry.clone());
            let options = MapperOptions {
                shared_by: (several / SHARED).max(1),
                ..mapper_options(options)
            };
            AtPoints {
                mapper: StageMapper::new(graph, options),
                powers: powers(&table),
                points,
                serves,
            }
        })
        .collect()
}

/// Of the counted work, all combinations together get this many times what the table's own points get.
const SHARED: u64 = 4;

/// What each processor draws while it waits.
pub(super) fn powers(table: &CostTable) -> Vec<Milliwatts> {
    let processors = table.soc.processors.ids();
    processors
        .map(|processor| table.static_power(processor))
        .collect()
}

/// Costs at the points of each candidate, once for each combination.
pub(super) fn tables_of(
    candidates: &[Candidate],
    tables: Option<&PointTables>,
) -> BTreeMap<Vec<usize>, Arc<CostTable>> {
    let mut costs = BTreeMap::new();
    for candidate in candidates {
        if let (Some(tables), false) = (tables, candidate.points.is_empty()) {
            costs
                .entry(candidate.points.clone())
                .or_insert_with(|| Arc::new(tables.at(&candidate.points)));
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interchangeable_processors_share_combinations_of_points() {
        let points = vec![vec![0], vec![0, 1], vec![0, 1]];
        let choice = Choice {
            alone: points.clone(),
            together: points,
        };
        let all = ProcessorSet::first(3);
        let set = ProcessorSet::from_bits;
        let combinations = choice.combinations(&[0; 3], all, &Symmetry::NONE);
        assert_eq!(combinations.len(), 3);
        let symmetry = Symmetry::new(3, |a, b| a.index() > 0 && b.index() > 0);
        let combinations = choice.combinations(&[0; 3], all, &symmetry);
        let expected = BTreeMap::from([
            (vec![0, 0, 1], vec![set(0b110), set(0b111)]),
            (vec![0, 1, 0], vec![set(0b010), set(0b011)]),
            (vec![0, 1, 1], vec![set(0b110), set(0b111)]),
        ]);
        assert_eq!(combinations, expected);
    }
}
