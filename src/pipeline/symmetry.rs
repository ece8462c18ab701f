//! Which processors of a chip are interchangeable in the plans of a network: swapping two of them leaves everything that a search can see as it is.
//!
//! Nothing is taken from names or kinds: two cores of one type differ as soon as a measured cost, a demand or a factor of contention tells one from the other.

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::soc::{ProcessorId, ProcessorSet, Symmetry};

use crate::partition::{FusedGraph, FusedOpId};

/// What two processors are compared by.
#[derive(Clone, Copy)]
pub struct Sameness<'a> {
    /// The network.
    pub fused: &'a FusedGraph,
    /// Its costs at all operating points that plans may choose.
    pub tables: &'a [&'a CostTable],
    /// Whether a task may run on a processor under the demands of the run.
    pub allows: &'a dyn Fn(FusedOpId, ProcessorId) -> bool,
    /// How many compute queues each processor may have; a processor beyond the list has one.
    pub queues: &'a [Vec<usize>],
    /// Whether a processor stays at its operating point while others may leave theirs.
    pub is_fixed: &'a dyn Fn(ProcessorId) -> bool,
}

impl std::fmt::Debug for Sameness<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sameness").finish_non_exhaustive()
    }
}

/// The orbits of the processors: two of one orbit can swap places in any plan, and no figure of it changes.
pub fn symmetry(sameness: Sameness<'_>) -> Symmetry {
    let count = sameness
        .tables
        .iter()
        .map(|table| table.soc.processors.len())
        .min();
    Symmetry::new(count.unwrap_or(0), |a, b| {
        (sameness.is_fixed)(a) == (sameness.is_fixed)(b)
            && sameness.may_have_as_many_queues(a, b)
            && sameness.is_eligible_alike(a, b)
            && sameness.tables.iter().all(|table| {
                are_built_alike(table, a, b)
                    && cost_alike(sameness.fused, table, a, b)
                    && slow_alike(table, a, b)
            })
    })
}

impl Sameness<'_> {
    fn may_have_as_many_queues(&self, a: ProcessorId, b: ProcessorId) -> bool {
        self.queues.get(a.index()) == self.queues.get(b.index())
    }

    /// Whether the demands leave both the same tasks.
    fn is_eligible_alike(&self, a: ProcessorId, b: ProcessorId) -> bool {
        let mut ops = self.fused.ops.iter();
        ops.all(|(op, _)| (self.allows)(op, a) == (self.allows)(op, b))
    }
}

/// Whether both compute in the same place, with the same queues and operating points, and draw the same power while they wait.
///
/// Links and limits of memory belong to the place.
fn are_built_alike(table: &CostTable, a: ProcessorId, b: ProcessorId) -> bool {
    let [first, second] = [a, b].map(|processor| &table.soc.processors[processor]);
    first.home == second.home
        && first.memory == second.memory
        && first.sharing == second.sharing
        && first.fuses == second.fuses
        && first.operating_points.len() == second.operating_points.len()
        && table.operating_points[a.index()] == table.operating_points[b.index()]
        && table.static_power(a) == table.static_power(b)
}

/// Whether every task takes the same time, energy and scratch space on both, or runs on neither.
fn cost_alike(fused: &FusedGraph, table: &CostTable, a: ProcessorId, b: ProcessorId) -> bool {
    let mut ops = fused.ops.iter();
    ops.all(|(_, op)| table.group(&op.members, a) == table.group(&op.members, b))
}

/// Whether slowdowns stay as they are when the two swap places in the set in use, their own and those of all others.
fn slow_alike(table: &CostTable, a: ProcessorId, b: ProcessorId) -> bool {
    let swapped = |processor: ProcessorId| match processor {
        _ if processor == a => b,
        _ if processor == b => a,
        _ => processor,
    };
    let all = ProcessorSet::first(table.soc.processors.len());
    all.subsets().all(|used| {
        let swapped_set: ProcessorSet = used.iter().map(swapped).collect();
        used.iter().all(|processor| {
            table.slowdown(processor, used) == table.slowdown(swapped(processor), swapped_set)
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use paracompile_frontend::cost::CostOverrides;
    use paracompile_frontend::ir::VerifiedGraph;
    use paracompile_frontend::soc::Soc;
    use paracompile_plan::{OpClass, Slowdown, Watts};
    use paracompile_testkit::sketch::Sketch;

    use super::*;
    use crate::partition::fuse;

    /// A convolution and an addition.
    fn graph() -> VerifiedGraph {
        let mut sketch = Sketch::new();
        let input = sketch.input("in");
        let weight = sketch.weight("w");
        let conv = sketch.op("conv", OpClass::Conv, &[input, weight]);
        let relu = sketch.op("relu", OpClass::Activation, &[conv]);
        let add = sketch.op("add", OpClass::Elementwise, &[relu, input]);
        sketch.finish(&[add])
    }

    fn orbits_of(soc: &Soc, points: &[usize]) -> Vec<Vec<String>> {
        orbits_under(soc, points, &|_, _| true, &|_| false)
    }

    fn orbits_under(
        soc: &Soc,
        points: &[usize],
        allows: &dyn Fn(FusedOpId, ProcessorId) -> bool,
        is_fixed: &dyn Fn(ProcessorId) -> bool,
    ) -> Vec<Vec<String>> {
        let graph = graph();
        let table = CostTable::new(&graph, soc, &CostOverrides::default(), Some(points)).unwrap();
        names(
            &table,
            &symmetry(Sameness {
                fused: &fuse(&graph),
                tables: &[&table],
                allows,
                queues: &[],
                is_fixed,
            }),
        )
    }

    fn names(table: &CostTable, symmetry: &Symmetry) -> Vec<Vec<String>> {
        let processors = &table.soc.processors;
        let orbits = symmetry.orbits().iter();
        orbits
            .map(|orbit| orbit.iter().map(|p| processors[p].name.clone()).collect())
            .collect()
    }

    fn rk3588() -> Soc {
        Soc::builtin("rk3588").unwrap()
    }

    /// The orbits of the chip after a change of its last NPU core.
    fn changed(change: impl FnOnce(&mut Soc, ProcessorId)) -> Vec<Vec<String>> {
        let mut soc = rk3588();
        let npu2 = soc.processor("npu2").unwrap();
        change(&mut soc, npu2);
        orbits_of(&soc, &[0; 6])
    }

    fn pair() -> Vec<Vec<String>> {
        vec![vec!["npu0".to_owned(), "npu1".to_owned()]]
    }

    #[test]
    fn three_equal_cores_are_interchangeable() {
        assert_eq!(orbits_of(&rk3588(), &[0; 6]), [["npu0", "npu1", "npu2"]]);
        let vim3 = Soc::builtin("vim3").unwrap();
        assert!(orbits_of(&vim3, &[0; 3]).is_empty());
    }

    #[test]
    fn another_place_tells_them_apart() {
        let orbits = changed(|soc, npu2| {
            let gpu = soc.processor("gpu").unwrap();
            soc.processors[npu2].home = soc.processors[gpu].home;
        });
        assert_eq!(orbits, pair());
        let orbits = changed(|soc, npu2| {
            let gpu = soc.processor("gpu").unwrap();
            soc.processors[npu2].memory = soc.processors[gpu].memory;
        });
        assert_eq!(orbits, pair());
    }

    #[test]
    fn another_time_or_none_tells_them_apart() {
        let orbits = changed(|soc, npu2| {
            let models = &mut soc.processors[npu2].operating_points[0].models;
            models.get_mut(&OpClass::Conv).unwrap()[0].coefficients[0] += 1e-6;
        });
        assert_eq!(orbits, pair());
        let orbits = changed(|soc, npu2| {
            let models = &mut soc.processors[npu2].operating_points[0].models;
            models.remove(&OpClass::Elementwise);
        });
        assert_eq!(orbits, pair());
    }

    #[test]
    fn a_class_that_the_network_lacks_tells_nothing() {
        let orbits = changed(|soc, npu2| {
            let models = &mut soc.processors[npu2].operating_points[0].models;
            models.remove(&OpClass::MaxPool);
        });
        assert_eq!(orbits, [["npu0", "npu1", "npu2"]]);
    }

    #[test]
    fn another_power_tells_them_apart() {
        let watts = |value| Watts::new(value).unwrap();
        let orbits = changed(|soc, npu2| {
            let powers = &mut soc.processors[npu2].operating_points[0].dynamic_power;
            powers.insert(OpClass::Conv, watts(3.25));
        });
        assert_eq!(orbits, pair());
        let orbits = changed(|soc, npu2| {
            soc.processors[npu2].operating_points[0].static_power = watts(0.25);
        });
        assert_eq!(orbits, pair());
    }

    #[test]
    fn another_use_of_queues_or_epilogues_tells_them_apart() {
        let orbits = changed(|soc, npu2| {
            let half_more = Slowdown::from_thousandths(1500).unwrap();
            soc.processors[npu2].sharing.push(half_more);
        });
        assert_eq!(orbits, pair());
        let orbits = changed(|soc, npu2| soc.processors[npu2].fuses.clear());
        assert_eq!(orbits, pair());
    }

    #[test]
    fn contention_must_be_symmetric_for_themselves_and_for_others() {
        let slower = Slowdown::from_thousandths(1700).unwrap();
        // Only two of the three slow each other so much.
        let orbits = changed(|soc, _| {
            let names = ["npu0", "npu1"].map(|name| soc.processor(name).unwrap());
            soc.contention.push(paracompile_frontend::soc::Contention {
                set: names.into_iter().collect(),
                factor: names.into_iter().map(|p| (p, slower)).collect(),
            });
        });
        assert_eq!(orbits, pair());
        // One of them slows another processor.
        let orbits = changed(|soc, npu2| {
            let big = soc.processor("big").unwrap();
            soc.contention.push(paracompile_frontend::soc::Contention {
                set: [big, npu2].into_iter().collect(),
                factor: BTreeMap::from([(big, slower)]),
            });
        });
        assert_eq!(orbits, pair());
        // All of them do.
        let orbits = changed(|soc, _| {
            let big = soc.processor("big").unwrap();
            for name in ["npu0", "npu1", "npu2"] {
                let npu = soc.processor(name).unwrap();
                soc.contention.push(paracompile_frontend::soc::Contention {
                    set: [big, npu].into_iter().collect(),
                    factor: BTreeMap::from([(big, slower)]),
                });
            }
        });
        assert_eq!(orbits, [["npu0", "npu1", "npu2"]]);
    }

    #[test]
    fn demands_that_name_one_tell_it_apart() {
        let soc = rk3588();
        let npu2 = soc.processor("npu2").unwrap();
        let not_the_last = |op: FusedOpId, processor| processor != npu2 || op.index() > 0;
        assert_eq!(
            orbits_under(&soc, &[0; 6], &not_the_last, &|_| false),
            pair()
        );
        let is_fixed = |processor| processor == npu2;
        assert_eq!(orbits_under(&soc, &[0; 6], &|_, _| true, &is_fixed), pair());
    }

    #[test]
    fn operating_points_tell_them_apart_where_they_are_and_where_they_may_go() {
        let mut soc = rk3588();
        let npus = ["npu0", "npu1", "npu2"].map(|name| soc.processor(name).unwrap());
        let half = soc.processors[npus[0]].operating_points[0].clone();
        // A second point of the same costs: it is another point all the same.
        for npu in npus {
            soc.processors[npu].operating_points.push(half.clone());
        }
        assert_eq!(orbits_of(&soc, &[0; 6]), [["npu0", "npu1", "npu2"]]);
        assert_eq!(orbits_of(&soc, &[0, 0, 0, 0, 0, 1]), pair());
        soc.processors[npus[2]].operating_points.pop();
        assert_eq!(orbits_of(&soc, &[0; 6]), pair());
        // Equal at the first point, different at the second.
        let mut other = half;
        other.static_power = Watts::new(0.01).unwrap();
        soc.processors[npus[2]].operating_points.push(other);
        let graph = graph();
        let tables: Vec<CostTable> = [[0; 6], [0, 0, 0, 1, 1, 1]]
            .iter()
            .map(|points| {
                CostTable::new(&graph, &soc, &CostOverrides::default(), Some(points)).unwrap()
            })
            .collect();
        let fused = fuse(&graph);
        let of = |tables: &[&CostTable]| {
            names(
                tables[0],
                &symmetry(Sameness {
                    fused: &fused,
                    tables,
                    allows: &|_, _| true,
                    queues: &[],
                    is_fixed: &|_| false,
                }),
            )
        };
        assert_eq!(of(&[&tables[0]]), [["npu0", "npu1", "npu2"]]);
        assert_eq!(of(&[&tables[0], &tables[1]]), pair());
    }
}
