//! One network's costs at every operating point of every processor, and which points are worth a look.
//!
//! An operator's cost on a processor depends on that processor's point alone, so a table for any combination is put together from columns.

use super::{CostError, CostOverrides, CostTable};
use crate::arena::Id;
use crate::ir::VerifiedGraph;
use crate::soc::{ProcessorId, Soc};

/// Costs at every operating point.
#[derive(Clone, Debug)]
pub struct PointTables {
    /// `tables[k]`: every processor at point `k`, or at its last where it has fewer.
    tables: Vec<CostTable>,
}

impl PointTables {
    /// Costs of `graph` on `soc` by the models of its profile.
    ///
    /// Measured costs are for one operating point and say nothing of the others, so none are taken.
    pub fn new(graph: &VerifiedGraph, soc: &Soc) -> Result<Self, CostError> {
        let counts: Vec<usize> = soc
            .processors
            .iter()
            .map(|(_, processor)| processor.operating_points.len())
            .collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        let tables: Result<Vec<CostTable>, CostError> = (0..most)
            .map(|point| {
                let chosen: Vec<usize> = counts.iter().map(|count| point.min(count - 1)).collect();
                CostTable::new(graph, soc, &CostOverrides::default(), Some(&chosen))
            })
            .collect();
        Ok(Self { tables: tables? })
    }

    /// Tables in which every processor is at each of its points at least once: all at the same, or at their last where they have fewer.
    pub fn tables(&self) -> &[CostTable] {
        &self.tables
    }

    /// The costs with each processor at the point given for it.
    ///
    /// # Panics
    /// If a processor has no such point.
    pub fn at(&self, points: &[usize]) -> CostTable {
        let mut table = self.tables[0].clone();
        table.operating_points = points.to_vec();
        let ids: Vec<_> = table.operators.iter().map(|(id, _)| id).collect();
        for id in ids {
            for (processor, &point) in points.iter().enumerate() {
                table.operators[id][processor] = self.tables[point].operators[id][processor];
            }
        }
        table
    }

    /// The points of a processor that no other one beats: none is at least as fast and as cheap for every operator and draws no more while it waits.
    pub fn useful(&self, processor: ProcessorId) -> Vec<usize> {
        let count = self.count(processor);
        (0..count)
            .filter(|&point| {
                !(0..count).any(|other| {
                    other != point
                        && self.covers(processor, other, point)
                        && (other < point || !self.covers(processor, point, other))
                })
            })
            .collect()
    }

    /// Of the useful points at most `most`, the first always: those on the lower hull of time and energy over all operators, spread evenly where there are more.
    pub fn hull(&self, processor: ProcessorId, most: usize) -> Vec<usize> {
        let mut points: Vec<(f64, f64, usize)> = self
            .useful(processor)
            .into_iter()
            .map(|point| {
                let (time, energy) = self.sums(processor, point);
                (time, energy, point)
            })
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut hull: Vec<(f64, f64, usize)> = Vec::new();
        for point in points {
            if hull.last().is_some_and(|last| last.1 <= point.1) {
                continue;
            }
            while let [.., a, b] = hull[..] {
                // Above the line from the one before to the new one.
                let is_above = (b.1 - a.1) * (point.0 - a.0) >= (point.1 - a.1) * (b.0 - a.0);
                if !is_above {
                    break;
                }
                hull.pop();
            }
            hull.push(point);
        }
        let on_hull: Vec<usize> = hull.into_iter().map(|(_, _, point)| point).collect();
        let last = on_hull.len().saturating_sub(1);
        let places = most.max(1);
        let mut chosen: Vec<usize> = if on_hull.len() <= places {
            on_hull
        } else if places == 1 {
            vec![on_hull[0]]
        } else {
            (0..places)
                .map(|place| on_hull[place * last / (places - 1)])
                .collect()
        };
        chosen.dedup();
        chosen
    }

    fn count(&self, processor: ProcessorId) -> usize {
        self.tables[0].soc.processors[processor]
            .operating_points
            .len()
    }

    fn covers(&self, processor: ProcessorId, a: usize, b: usize) -> bool {
        let (first, second) = (&self.tables[a], &self.tables[b]);
        let column = processor.index();
        first.static_power(processor) <= second.static_power(processor)
            && first.operators.iter().all(|(id, costs)| {
                match (costs[column], second.operators[id][column]) {
                    (Some(own), Some(other)) => {
                        own.time.value() <= other.time.value()
                            && own.energy.value() <= other.energy.value()
                            && own.workspace <= other.workspace
                    }
                    (None, Some(_)) => false,
                    (_, None) => true,
                }
            })
    }

    /// Seconds, and joules with what is drawn meanwhile.
    fn sums(&self, processor: ProcessorId, point: usize) -> (f64, f64) {
        let table = &self.tables[point];
        let (mut time, mut energy) = (0.0, 0.0);
        for (_, costs) in table.operators.iter() {
            if let Some(cost) = costs[processor.index()] {
                time += cost.time.value();
                energy += cost.energy.value();
            }
        }
        let power = table.operating_point(processor).static_power.value();
        (time, energy + power * time)
    }
}

impl CostTable {
    /// The name of each processor's operating point.
    pub fn point_names(&self) -> Vec<&str> {
        (0..self.operating_points.len())
            .map(|index| self.operating_point(Id::from_index(index)).name.as_str())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::small_graph::small_graph;

    fn tables() -> (Soc, PointTables) {
        let soc = Soc::builtin("vim3").unwrap();
        let tables = PointTables::new(&small_graph(), &soc).unwrap();
        (soc, tables)
    }

    #[test]
    fn a_table_for_any_points_is_the_one_of_these_points() {
        let (soc, tables) = tables();
        let points = [7, 2, 1];
        let direct = CostTable::new(
            &small_graph(),
            &soc,
            &CostOverrides::default(),
            Some(&points),
        )
        .unwrap();
        let composed = tables.at(&points);
        assert_eq!(composed.operating_points, direct.operating_points);
        assert_eq!(composed.digest, direct.digest);
        for (id, costs) in direct.operators.iter() {
            assert_eq!(&composed.operators[id], costs);
        }
        assert_eq!(composed.point_names(), ["1512MHz", "1608MHz", "666MHz"]);
    }

    #[test]
    fn a_point_that_is_slower_and_no_cheaper_is_no_choice() {
        let (soc, tables) = tables();
        let gpu = soc.processor("gpu").unwrap();
        // At a fixed voltage a slower GPU takes no less energy; what is left are rounded factors.
        assert!(!tables.useful(gpu).contains(&2), "500MHz");
        let big = soc.processor("big").unwrap();
        let useful = tables.useful(big);
        assert_eq!(useful[0], 0);
        assert!(useful.contains(&9));
    }

    #[test]
    fn the_hull_starts_with_the_fastest_point_and_saves_energy_step_by_step() {
        let (soc, tables) = tables();
        for name in ["big", "little", "gpu"] {
            let processor = soc.processor(name).unwrap();
            let hull = tables.hull(processor, 4);
            assert_eq!(hull[0], 0);
            assert!(hull.len() <= 4);
            let energies: Vec<f64> = hull
                .iter()
                .map(|&point| tables.sums(processor, point).1)
                .collect();
            assert!(energies.windows(2).all(|pair| pair[1] < pair[0]), "{name}");
        }
    }
}
