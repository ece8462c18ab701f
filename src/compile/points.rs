//! Operating points as part of the choice: which combinations the search sees, and the costs at those that plans end up with.
//!
//! A stage on one processor is tried at every point that no other beats, for it costs little.
//! A stage on several is tried at every combination of the points on each processor's hull of time and energy, few enough for [`MOST_COMBINATIONS`].

use std::collections::BTreeMap;
use std::sync::Arc;

use paracompile_frontend::cost::{CostTable, PointTables};
use paracompile_frontend::soc::{ProcessorId, ProcessorSet};
use paracompile_plan::Milliwatts;
use paracompile_plan::front::PointsSearched;

use super::Options;
use super::arrow::{Inputs, allowed, mapper_options};
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
    fn combinations(
        &self,
        base: &[usize],
        all: ProcessorSet,
    ) -> BTreeMap<Vec<usize>, Vec<ProcessorSet>> {
        let mut serves: BTreeMap<Vec<usize>, Vec<ProcessorSet>> = BTreeMap::new();
        for set in all.subsets() {
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
            for combination in combinations {
                if combination != base {
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
    eligibility: &Eligibility,
    options: &Options<'a>,
) -> Vec<AtPoints<'a>> {
    let base = &inputs.table.operating_points;
    let combinations = choice.combinations(base, allowed(inputs));
    let several = combinations
        .values()
        .filter(|sets| sets.iter().any(|set| set.len() > 1))
        .count() as u64;
    combinations
        .into_iter()
        .map(|(points, serves)| {
            let table = tables.at(&points);
            let graph = StageGraph::new(inputs.segments, &table, allowed(inputs))
                .only(|op, processor| eligibility.allows(op, processor));
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
