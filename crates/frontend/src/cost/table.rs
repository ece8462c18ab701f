//! The cost table: the border between decimals and integers (rule M1).
//!
//! An operator's time is a measured entry, else the class model of its processor; a class without a model is not supported there.
//! Everything that rounds does so once, in an order that is written down here, so that a checker that starts from the same decimals comes to the same integers.

use paracompile_plan::facts::OperatorCost;
use paracompile_plan::{
    Bytes, Joules, Milliwatts, Nanojoules, Nanoseconds, OpClass, Seconds, Slowdown, Watts,
};

use super::costs_file::{CostOverrides, Overriding};
use super::error::{CostError, TooLong, Unsupported};
use super::features;
use crate::arena::{Arena, IdMap};
use crate::ir::{Op, OpId, TensorRole, VerifiedGraph};
use crate::soc::{
    ClassModel, Feature, Link, Location, LocationId, OperatingPoint, Processor, ProcessorId,
    ProcessorSet, Soc,
};

/// The longest time of an operator or a move: an hour.
///
/// A number beyond is a mistake of a unit, and an hour for each operator of any network still fits 64 bits of nanoseconds.
pub const MOST_SECONDS: f64 = 3600.0;

/// Costs of one network on one chip, each processor at one operating point.
#[derive(Clone, Debug)]
pub struct CostTable {
    /// The chip.
    pub soc: Soc,
    /// Index of each processor's operating point.
    pub operating_points: Vec<usize>,
    /// SHA-256 over the profile and the measured costs that override it; the profile's own digest where there are none.
    pub digest: String,
    /// Cost of each operator on each processor, in decimals; `None` where it is not supported, and for free operators.
    pub operators: IdMap<Op, Vec<Option<OperatorCost>>>,
    classes: IdMap<Op, Option<OpClass>>,
    /// For each pair of locations, row by row: the link between them, or `None` where nothing moves.
    links: Vec<Option<LinkCost>>,
}

/// Cost of a fused operator without slowdown, rounded once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupCost {
    /// Duration.
    pub time: Nanoseconds,
    /// Dynamic energy.
    pub energy: Nanojoules,
    /// Scratch space: the largest of the members.
    pub workspace: Bytes,
}

/// Cost of moving one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Duration.
    pub time: Nanoseconds,
    /// Energy.
    pub energy: Nanojoules,
}

/// A link as a pair of locations uses it.
#[derive(Clone, Copy, Debug)]
struct LinkCost {
    latency: Seconds,
    seconds_per_byte: Seconds,
    /// Zero where the layouts fit.
    convert_seconds_per_byte: Seconds,
    power: Watts,
}

impl CostTable {
    /// Costs of `graph` on `soc`, where `overrides` replace what the profile says.
    /// `operating_points` holds an index for each processor; `None` is the first of each.
    pub fn new(
        graph: &VerifiedGraph,
        soc: &Soc,
        overrides: &CostOverrides,
        operating_points: Option<&[usize]>,
    ) -> Result<Self, CostError> {
        let chosen = chosen_points(soc, operating_points)?;
        let overriding = overrides.resolve(graph, soc)?;
        let points: Vec<Point<'_>> = soc
            .processors
            .iter()
            .zip(&chosen)
            .map(|((_, processor), &index)| Point::new(&processor.operating_points[index]))
            .collect();
        let mut too_long = Vec::new();
        let mut operators = IdMap::filled(&graph.ops, vec![None; points.len()]);
        let mut without_energy = Vec::new();
        for (id, op) in graph.ops.iter() {
            let Some(class) = op.class() else { continue };
            for ((processor_id, processor), point) in soc.processors.iter().zip(&points) {
                let measured = overriding.get(&(id, processor_id));
                let Some(timed) = time(op, class, point, measured) else {
                    continue;
                };
                let Some(seconds) = Seconds::new(timed.seconds).filter(is_plausible) else {
                    too_long.push(TooLong {
                        operator: op.name.clone(),
                        op_type: op.op_type.clone(),
                        processor: processor.name.clone(),
                        seconds: timed.seconds,
                    });
                    continue;
                };
                let dynamic_power = point.operating_point.dynamic_power.get(&class);
                let estimate = || Some(dynamic_power?.over(seconds));
                let Some(energy) = timed.energy.or_else(estimate) else {
                    let Some(entry) = measured else {
                        return Err(CostError::NoPower {
                            processor: processor.name.clone(),
                            class,
                        });
                    };
                    without_energy.push(entry.no_energy(processor, class));
                    continue;
                };
                operators[id][processor_id.index()] = Some(OperatorCost {
                    time: seconds,
                    energy,
                    workspace: features::workspace(&op.work),
                    source: timed.source,
                });
            }
        }
        if !without_energy.is_empty() {
            return Err(CostError::Overrides(without_energy));
        }
        if !too_long.is_empty() {
            return Err(CostError::TooLong(too_long));
        }
        let digest = overrides.digest(&soc.digest);
        Self::from_operator_costs(graph, soc, chosen, digest, operators)
    }

    /// A table of costs that are known already: entry `p` of an operator is its cost on processor `p`.
    ///
    /// `operators` has no entries for free operators, whatever it holds for them is dropped.
    pub fn from_operator_costs(
        graph: &VerifiedGraph,
        soc: &Soc,
        operating_points: Vec<usize>,
        digest: String,
        mut operators: IdMap<Op, Vec<Option<OperatorCost>>>,
    ) -> Result<Self, CostError> {
        let operating_points = chosen_points(soc, Some(&operating_points))?;
        let mut unsupported = Vec::new();
        for (id, op) in graph.ops.iter() {
            operators[id].resize(soc.processors.len(), None);
            let Some(class) = op.class() else {
                operators[id].fill(None);
                continue;
            };
            if operators[id].iter().all(Option::is_none) {
                unsupported.push(Unsupported {
                    operator: op.name.clone(),
                    op_type: op.op_type.clone(),
                    class,
                    processors: names(&soc.processors),
                });
            }
        }
        if !unsupported.is_empty() {
            return Err(CostError::Unsupported(unsupported));
        }
        let table = Self {
            classes: IdMap::from_fn(&graph.ops, |id| graph.ops[id].class()),
            links: links(soc)?,
            soc: soc.clone(),
            operating_points,
            digest,
            operators,
        };
        table.check_moves(graph)?;
        Ok(table)
    }

    /// Cost of `members` as one task: the first is the anchor, epilogues that the processor fuses are free (rule M12).
    /// `None` where the processor does not support one of them, fused or not; free operators among them cost nothing.
    ///
    /// Times, and energies, are added in the order of `members` from zero, in double precision, and the sum is rounded half up once.
    pub fn group(&self, members: &[OpId], processor: ProcessorId) -> Option<GroupCost> {
        let fuses = &self.soc.processors[processor].fuses;
        let mut time = Seconds::ZERO;
        let mut energy = Joules::ZERO;
        let mut workspace = Bytes::ZERO;
        for (position, &member) in members.iter().enumerate() {
            let Some(class) = self.classes[member] else {
                continue;
            };
            let cost = self.operators[member][processor.index()]?;
            if position > 0 && fuses.contains(&class) {
                continue;
            }
            time = time + cost.time;
            energy = energy + cost.energy;
            workspace = workspace.max(cost.workspace);
        }
        Some(GroupCost {
            time: time.to_nanoseconds(),
            energy: energy.to_nanojoules(),
            workspace,
        })
    }

    /// Cost of moving `bytes` between locations; `None` where the locations fit and nothing moves (rule M3).
    ///
    /// In double precision, from left to right: `latency + bytes · seconds_per_byte`, and `+ bytes · convert_seconds_per_byte` where the layouts do not fit, with `seconds_per_byte = 1 / bytes_per_s` computed once.
    /// The energy is the link's power times that decimal time; both are rounded half up once.
    pub fn transfer(&self, bytes: Bytes, from: LocationId, to: LocationId) -> Option<Move> {
        let link = self.links[from.index() * self.soc.locations.len() + to.index()]?;
        let time = link.seconds(bytes)?;
        Some(Move {
            time: time.to_nanoseconds(),
            energy: link.power.over(time).to_nanojoules(),
        })
    }

    /// `κ(p, X)` (rule M4): the largest factor of `processor` over the listed sets that hold it and lie within `used`.
    pub fn slowdown(&self, processor: ProcessorId, used: ProcessorSet) -> Slowdown {
        self.soc
            .contention
            .iter()
            .filter(|entry| entry.set.contains(processor) && entry.set.is_subset(used))
            .filter_map(|entry| entry.factor.get(&processor))
            .copied()
            .fold(Slowdown::NONE, Slowdown::max)
    }

    /// The operating point of a processor.
    pub fn operating_point(&self, processor: ProcessorId) -> &OperatingPoint {
        let chosen = self.operating_points[processor.index()];
        &self.soc.processors[processor].operating_points[chosen]
    }

    /// Static power of a processor at its operating point.
    pub fn static_power(&self, processor: ProcessorId) -> Milliwatts {
        self.operating_point(processor).static_power.to_milliwatts()
    }

    /// Power of the board besides the processors.
    pub fn base_power(&self) -> Milliwatts {
        self.soc.base.to_milliwatts()
    }

    /// Longer tensors take longer on every link, so the largest one stands for all.
    fn check_moves(&self, graph: &VerifiedGraph) -> Result<(), CostError> {
        let largest = graph
            .tensors
            .iter()
            .filter(|(_, tensor)| !matches!(tensor.role, TensorRole::Weight(_)))
            .map(|(_, tensor)| tensor.bytes)
            .max()
            .unwrap_or_default();
        let locations = &self.soc.locations;
        let pairs = locations
            .iter()
            .flat_map(|(_, from)| locations.iter().map(move |(_, to)| (from, to)));
        for ((from, to), link) in pairs.zip(&self.links) {
            let Some(link) = link else { continue };
            let seconds = link.decimal_seconds(largest);
            if seconds > MOST_SECONDS {
                return Err(CostError::MoveTooLong {
                    from: self.soc.memories[from.memory].name.clone(),
                    to: self.soc.memories[to.memory].name.clone(),
                    bytes: largest,
                    seconds,
                });
            }
        }
        Ok(())
    }
}

impl LinkCost {
    fn new(link: &Link, from: Location, to: Location) -> Self {
        let fits = from.layout.fits(to.layout);
        Self {
            latency: link.latency,
            seconds_per_byte: seconds_per_byte(link),
            convert_seconds_per_byte: if fits {
                Seconds::ZERO
            } else {
                link.convert_seconds_per_byte
            },
            power: link.power,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "no memory holds 2^53 bytes")]
    fn decimal_seconds(&self, bytes: Bytes) -> f64 {
        let bytes = bytes.count() as f64;
        self.latency.value()
            + bytes * self.seconds_per_byte.value()
            + bytes * self.convert_seconds_per_byte.value()
    }

    fn seconds(&self, bytes: Bytes) -> Option<Seconds> {
        Seconds::new(self.decimal_seconds(bytes))
    }
}

/// The reciprocal of the bandwidth, computed in this one way; an hour for a chip made by hand with a bandwidth that has none.
pub(super) fn seconds_per_byte(link: &Link) -> Seconds {
    Seconds::new(1.0 / link.bytes_per_second)
        .or_else(|| Seconds::new(MOST_SECONDS))
        .unwrap_or_default()
}

/// An operating point with the features of its models looked up.
struct Point<'a> {
    operating_point: &'a OperatingPoint,
    models: Vec<(OpClass, &'a ClassModel, Vec<Feature>)>,
}

impl<'a> Point<'a> {
    fn new(operating_point: &'a OperatingPoint) -> Self {
        let models = operating_point
            .models
            .iter()
            .map(|(&class, model)| {
                let features = model
                    .features
                    .iter()
                    .map(|name| {
                        Feature::from_name(name)
                            .expect("the profile's verifier knows every feature")
                    })
                    .collect();
                (class, model, features)
            })
            .collect();
        Self {
            operating_point,
            models,
        }
    }
}

/// A time before it is checked, and an energy if it is measured.
struct Timed {
    seconds: f64,
    energy: Option<Joules>,
    source: paracompile_plan::plan::Source,
}

/// The measured entry if there is one, else what the class model says, else nothing.
fn time(
    op: &Op,
    class: OpClass,
    point: &Point<'_>,
    measured: Option<&Overriding>,
) -> Option<Timed> {
    if let Some(entry) = measured {
        return Some(Timed {
            seconds: entry.time.value(),
            energy: entry.energy,
            source: entry.source,
        });
    }
    let (_, model, features) = point.models.iter().find(|(known, _, _)| *known == class)?;
    Some(Timed {
        seconds: features::seconds(model, features, &op.work),
        energy: None,
        source: model.source,
    })
}

fn is_plausible(time: &Seconds) -> bool {
    time.value() <= MOST_SECONDS
}

fn chosen_points(soc: &Soc, chosen: Option<&[usize]>) -> Result<Vec<usize>, CostError> {
    let available: Vec<usize> = soc
        .processors
        .iter()
        .map(|(_, processor)| processor.operating_points.len())
        .collect();
    let chosen = chosen.map_or_else(|| vec![0; available.len()], <[usize]>::to_vec);
    let fit = chosen.len() == available.len()
        && chosen
            .iter()
            .zip(&available)
            .all(|(index, count)| index < count);
    if fit {
        Ok(chosen)
    } else {
        Err(CostError::OperatingPoints { chosen, available })
    }
}

fn links(soc: &Soc) -> Result<Vec<Option<LinkCost>>, CostError> {
    let mut links = Vec::with_capacity(soc.locations.len() * soc.locations.len());
    for (_, &from) in soc.locations.iter() {
        for (_, &to) in soc.locations.iter() {
            if from.fits(to) {
                links.push(None);
                continue;
            }
            let link = soc
                .links
                .iter()
                .find(|link| link.from == from.memory && link.to == to.memory)
                .ok_or_else(|| CostError::NoLink {
                    from: soc.memories[from.memory].name.clone(),
                    to: soc.memories[to.memory].name.clone(),
                })?;
            links.push(Some(LinkCost::new(link, from, to)));
        }
    }
    Ok(links)
}

fn names(processors: &Arena<Processor>) -> Vec<String> {
    processors
        .iter()
        .map(|(_, processor)| processor.name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use paracompile_plan::plan::Source;
    use serde_json::{Value, json};

    use super::super::small_graph::{DIGEST, small_graph};
    use super::*;
    use crate::cost::{OverrideDefect, costs_of};
    use crate::ir::OpKind;

    const CONV: usize = 0;
    const RELU: usize = 1;
    const FLATTEN: usize = 2;
    const ADD: usize = 3;

    /// The documented example: `cpu` runs all classes and fuses activations, `gpu` runs convolutions.
    fn example(edit: impl FnOnce(&mut Value)) -> Soc {
        let document = include_str!("../../../../docs/soc-profile.md");
        let text = document
            .split("```")
            .find_map(|part| part.strip_prefix("json\n"))
            .unwrap();
        let mut profile = serde_json::from_str(text).unwrap();
        edit(&mut profile);
        Soc::from_json(&profile.to_string(), "example").unwrap()
    }

    fn table(soc: &Soc) -> CostTable {
        CostTable::new(&small_graph(), soc, &CostOverrides::default(), None).unwrap()
    }

    fn overrides(entries: Value) -> CostOverrides {
        let file = json!({ "schema": 1, "graph_digest": DIGEST, "entries": entries });
        CostOverrides::from_json(&file.to_string(), "costs.json").unwrap()
    }

    fn ids(members: &[usize]) -> Vec<OpId> {
        members.iter().copied().map(OpId::from_index).collect()
    }

    fn processor(soc: &Soc, name: &str) -> ProcessorId {
        soc.processor(name).unwrap()
    }

    #[test]
    fn operators_cost_what_their_class_models_say() {
        let soc = example(|_| ());
        let table = table(&soc);
        let cpu = processor(&soc, "cpu");
        // 50 µs + 294912 · 40 ps + 18432 · 200 ps = 50 + 11.79648 + 3.6864 µs; times 3 W.
        let conv = table.group(&ids(&[CONV]), cpu).unwrap();
        assert_eq!(conv.time, Nanoseconds::new(65_483));
        assert_eq!(conv.energy, Nanojoules::new(196_449));
        // The larger of two equal terms: 8192 · 300 ps = 2.4576 µs; times 2 W.
        let add = table.group(&ids(&[ADD]), cpu).unwrap();
        assert_eq!(add.time, Nanoseconds::new(2458));
        assert_eq!(add.energy, Nanojoules::new(4915));
        assert_eq!(add.workspace, Bytes::ZERO);
    }

    #[test]
    fn a_group_is_summed_in_decimals_and_rounded_once() {
        // 65.48288 + 2.4576 = 67.94048 µs, where rounding apart gives 65483 + 2458 = 67941.
        let soc = example(|_| ());
        let table = table(&soc);
        let both = table
            .group(&ids(&[CONV, ADD]), processor(&soc, "cpu"))
            .unwrap();
        assert_eq!(both.time, Nanoseconds::new(67_940));
    }

    #[test]
    fn epilogues_that_a_processor_fuses_are_free_behind_an_anchor_alone() {
        let soc = example(|_| ());
        let table = table(&soc);
        let cpu = processor(&soc, "cpu");
        let conv = table.group(&ids(&[CONV]), cpu).unwrap();
        assert_eq!(table.group(&ids(&[CONV, RELU]), cpu), Some(conv));
        let relu = table.group(&ids(&[RELU]), cpu).unwrap();
        assert_eq!(relu.time, Nanoseconds::new(13_277));
        let fusing_none = example(|profile| profile["processors"][0]["fuses"] = json!([]));
        let table = self::table(&fusing_none);
        let apart = table.group(&ids(&[CONV, RELU]), cpu).unwrap();
        assert_eq!(apart.time, Nanoseconds::new(78_760));
    }

    #[test]
    fn free_operators_have_no_cost_and_add_none() {
        let soc = example(|_| ());
        let table = table(&soc);
        let flatten = OpId::from_index(FLATTEN);
        assert!(table.operators[flatten].iter().all(Option::is_none));
        let cpu = processor(&soc, "cpu");
        assert_eq!(
            table.group(&ids(&[RELU, FLATTEN]), cpu),
            table.group(&ids(&[RELU]), cpu)
        );
    }

    #[test]
    fn a_group_needs_a_processor_that_supports_all_of_it() {
        let soc = example(|_| ());
        let table = table(&soc);
        let gpu = processor(&soc, "gpu");
        assert!(table.group(&ids(&[CONV]), gpu).is_some());
        assert!(table.group(&ids(&[CONV, RELU]), gpu).is_none());
        assert!(table.group(&ids(&[RELU]), gpu).is_none());
    }

    #[test]
    fn moves_take_latency_bandwidth_and_conversion() {
        let soc = example(|_| ());
        let table = table(&soc);
        let home = |name| soc.processors[processor(&soc, name)].home;
        let (cpu, gpu) = (home("cpu"), home("gpu"));
        // 500 µs + 8192 · (1 ns + 0.5 ns); times half a watt.
        let there = table.transfer(Bytes::new(8192), cpu, gpu).unwrap();
        assert_eq!(there.time, Nanoseconds::new(512_288));
        assert_eq!(there.energy, Nanojoules::new(256_144));
        // Network inputs have no layout of their own, so nothing is converted, and the CPU takes them where they are.
        let input = table
            .transfer(Bytes::new(8192), soc.io_location, gpu)
            .unwrap();
        assert_eq!(input.time, Nanoseconds::new(508_192));
        assert_eq!(table.transfer(Bytes::new(8192), soc.io_location, cpu), None);
        assert_eq!(table.transfer(Bytes::new(8192), gpu, gpu), None);
    }

    #[test]
    fn layouts_in_one_memory_are_converted_by_its_own_link() {
        let soc = example(|profile| {
            profile["processors"][1]["memory"] = json!("dram");
            profile["links"] = json!([{
                "from": "dram", "to": "dram", "latency_s": 0, "bytes_per_s": 1e9,
                "convert_s_per_byte": 1e-9, "power_w": 0
            }]);
        });
        let table = table(&soc);
        let home = |name| soc.processors[processor(&soc, name)].home;
        let converted = table
            .transfer(Bytes::new(1000), home("cpu"), home("gpu"))
            .unwrap();
        assert_eq!(converted.time, Nanoseconds::new(2000));
        assert_eq!(
            table.transfer(Bytes::new(1000), soc.io_location, home("gpu")),
            None
        );
    }

    #[test]
    fn the_largest_factor_of_the_sets_in_use_counts() {
        let soc = Soc::builtin("vim3").unwrap();
        let table = table(&soc);
        let [big, little, gpu] = ["big", "little", "gpu"].map(|name| processor(&soc, name));
        let of = |used: &[ProcessorId]| {
            table
                .slowdown(big, used.iter().copied().collect())
                .thousandths()
        };
        assert_eq!(of(&[big]), 1000);
        assert_eq!(of(&[big, little]), 1150);
        assert_eq!(of(&[big, little, gpu]), 1330);
        // A processor that is not in use is not slowed.
        assert_eq!(of(&[little, gpu]), 1000);
    }

    #[test]
    fn operating_points_choose_models_and_powers() {
        let soc = example(|profile| {
            let slow = &mut profile["processors"][0]["operating_points"][1];
            slow["dynamic_w"]["elementwise"] = json!(1.0);
            slow["models"].as_array_mut().unwrap().push(json!({
                "class": "elementwise", "dtype": "any", "features": ["launch"],
                "coefficients": [1.0], "combine": "sum"
            }));
        });
        let graph = small_graph();
        let slow = CostTable::new(&graph, &soc, &CostOverrides::default(), Some(&[1, 0])).unwrap();
        let cpu = processor(&soc, "cpu");
        let add = slow.group(&ids(&[ADD]), cpu).unwrap();
        assert_eq!(add.time, Nanoseconds::new(1_000_000_000));
        assert_eq!(slow.static_power(cpu), Milliwatts::new(100));
        for wrong in [&[2, 0][..], &[0], &[0, 0, 0]] {
            let error = CostTable::new(&graph, &soc, &CostOverrides::default(), Some(wrong));
            assert!(
                matches!(error, Err(CostError::OperatingPoints { .. })),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn all_operators_without_a_processor_are_told_at_once() {
        let soc = example(|_| ()).restricted(&["gpu"]).unwrap();
        let error = CostTable::new(&small_graph(), &soc, &CostOverrides::default(), None)
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "2 operators run on none of the processors gpu\n  relu (relu, class activation)\n  add (add, class elementwise)"
        );
    }

    #[test]
    fn absurd_times_are_refused_with_operator_and_processor() {
        let soc = example(|profile| {
            profile["processors"][1]["operating_points"][0]["models"][0]["coefficients"] =
                json!([3600, 3600]);
        });
        let error = CostTable::new(&small_graph(), &soc, &CostOverrides::default(), None)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("1 operator takes longer than 3600 s\n  conv (conv) on `gpu`"),
            "{error}"
        );
        let soc = example(|profile| profile["links"][0]["bytes_per_s"] = json!(1));
        let error = CostTable::new(&small_graph(), &soc, &CostOverrides::default(), None)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("moving 8.0 KiB from `dram` to `vram` takes 8192"),
            "{error}"
        );
    }

    #[test]
    fn measured_costs_replace_models_and_add_support() {
        let soc = example(|_| ());
        let measured = overrides(json!([
            { "node": 0, "processor": "cpu", "time_s": 1e-3, "energy_j": null, "source": "measured" },
            { "node": 1, "output": "z", "processor": "gpu", "time_s": 2e-3, "energy_j": 0.5, "source": "borrowed" }
        ]));
        let table = CostTable::new(&small_graph(), &soc, &measured, None).unwrap();
        let conv = table.operators[OpId::from_index(CONV)][0].unwrap();
        assert_eq!(conv.source, Source::Measured);
        assert_eq!(conv.energy.to_nanojoules(), Nanojoules::new(3_000_000));
        let relu = table.group(&ids(&[RELU]), processor(&soc, "gpu")).unwrap();
        assert_eq!(relu.time, Nanoseconds::new(2_000_000));
        assert_eq!(relu.energy, Nanojoules::new(500_000_000));
    }

    #[test]
    fn measured_costs_that_belong_nowhere_are_all_told() {
        let entry = |node: u32, processor: &str| json!({ "node": node, "processor": processor, "time_s": 0, "energy_j": 0, "source": "measured" });
        let mut other_output = entry(0, "cpu");
        other_output["output"] = json!("elsewhere");
        let measured = overrides(json!([
            entry(0, "cpu"),
            entry(9, "cpu"),
            entry(1, "cpuu"),
            entry(2, "cpu"),
            entry(0, "cpu"),
            other_output,
        ]));
        let error = CostTable::new(&small_graph(), &example(|_| ()), &measured, None).unwrap_err();
        let CostError::Overrides(problems) = error else {
            panic!("{error}");
        };
        let indices: Vec<usize> = problems.iter().map(|problem| problem.index).collect();
        assert_eq!(indices, [1, 2, 3, 4, 5]);
        let defects: Vec<&OverrideDefect> =
            problems.iter().map(|problem| &problem.defect).collect();
        assert!(
            matches!(
                defects[..],
                [
                    OverrideDefect::UnknownNode { node: 9, .. },
                    OverrideDefect::UnknownProcessor { .. },
                    OverrideDefect::Free { .. },
                    OverrideDefect::Duplicate { first: 0 },
                    OverrideDefect::OtherOutput { .. },
                ]
            ),
            "{problems:#?}"
        );
        assert!(problems[1].to_string().ends_with("did you mean `cpu`?"));
    }

    #[test]
    fn energy_that_nobody_knows_is_asked_for() {
        let measured = overrides(json!([
            { "node": 1, "processor": "gpu", "time_s": 1e-3, "energy_j": null, "source": "measured" }
        ]));
        let error = CostTable::new(&small_graph(), &example(|_| ()), &measured, None)
            .unwrap_err()
            .to_string();
        assert!(error.contains("entries[0]: `energy_j` is null, and `gpu` has no dynamic power for class `activation`"), "{error}");
    }

    #[test]
    fn costs_of_another_network_are_refused() {
        let file = json!({ "schema": 1, "graph_digest": "other", "entries": [] });
        let measured = CostOverrides::from_json(&file.to_string(), "costs.json").unwrap();
        let error = CostTable::new(&small_graph(), &example(|_| ()), &measured, None).unwrap_err();
        assert!(matches!(error, CostError::OtherGraph { .. }), "{error}");
    }

    #[test]
    fn written_costs_give_the_same_table_back() {
        let soc = Soc::builtin("vim3").unwrap();
        let graph = small_graph();
        let table = table(&soc);
        let text = serde_json::to_string(&costs_of(&table, &graph)).unwrap();
        let read = CostOverrides::from_json(&text, "costs.json").unwrap();
        let again = CostTable::new(&graph, &soc, &read, None).unwrap();
        for (id, costs) in table.operators.iter() {
            assert_eq!(*costs, again.operators[id]);
        }
        assert_eq!(table.digest, soc.digest);
        assert_ne!(again.digest, table.digest);
    }

    #[test]
    fn measured_costs_of_processors_that_are_not_chosen_are_passed_over() {
        let whole = example(|_| ());
        let chosen = whole.restricted(&["cpu"]).unwrap();
        let measured = overrides(json!([
            { "node": 0, "processor": "gpu", "time_s": 1e-3, "energy_j": 0, "source": "measured" }
        ]));
        let graph = small_graph();
        assert!(CostTable::new(&graph, &chosen, &measured, None).is_err());
        let full = CostTable::new(&graph, &whole, &measured, None).unwrap();
        let measured = measured.restricted(&whole, &chosen);
        let table = CostTable::new(&graph, &chosen, &measured, None).unwrap();
        assert_eq!(table.digest, full.digest);
    }

    #[test]
    fn the_built_in_board_has_a_cost_for_every_class() {
        let soc = Soc::builtin("vim3").unwrap();
        for name in ["big", "little", "gpu"] {
            let point = &soc.processors[processor(&soc, name)].operating_points[0];
            for class in OpClass::ALL {
                let left_out =
                    name == "gpu" && matches!(class, OpClass::Recurrent | OpClass::Opaque);
                assert_eq!(
                    point.models.contains_key(&class),
                    !left_out,
                    "{name} {class}"
                );
            }
        }
        assert!(
            small_graph()
                .ops
                .iter()
                .any(|(_, op)| op.kind == OpKind::View)
        );
    }
}
