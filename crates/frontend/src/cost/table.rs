//! The cost table: the border between decimals and integers (rule M1).
//!
//! An operator's time is a measured entry, else the class model of its processor; a class without a model is not supported there.
//! Everything that rounds does so once, in an order that is written down here, so that a checker that starts from the same decimals comes to the same integers.

use std::collections::BTreeMap;

use paracompile_plan::facts::OperatorCost;
use paracompile_plan::plan::{ModelKind, Source};
use paracompile_plan::{
    Bytes, Joules, Milliwatts, Nanojoules, Nanoseconds, OpClass, Seconds, Slowdown,
};

use super::arithmetic;
use super::error::{CostError, TooLong, Unsupported};
use super::features;
use super::overrides::{CostOverrides, Overriding};
use super::transfer::{LinkCost, links};
use crate::arena::{Arena, IdMap};
use crate::ir::{Control, Op, OpId, VerifiedGraph, Work};
use crate::soc::{ClassModel, Feature, OperatingPoint, Processor, ProcessorId, ProcessorSet, Soc};

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
    pub(super) links: Vec<Option<LinkCost>>,
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
                // What a kernel computes is not known, so nothing but a measurement says how long it takes.
                let timed = match (graph.kind, measured) {
                    (ModelKind::Kernels, None) => None,
                    (ModelKind::Kernels, Some(_)) | (ModelKind::Onnx, _) => {
                        time(op, class, point, measured)
                    }
                };
                let Some(timed) = timed else {
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
                    match entry.no_energy(processor, class) {
                        Some(problem) => without_energy.push(problem),
                        None => {
                            return Err(CostError::NoKernelPower {
                                processor: processor.name.clone(),
                                class,
                            });
                        }
                    }
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
        Self::from_operator_costs(graph, soc, &chosen, digest, operators)
    }

    /// A table of costs that are known already: entry `p` of an operator is its cost on processor `p`.
    ///
    /// `operators` has no entries for free operators, whatever it holds for them is dropped.
    pub fn from_operator_costs(
        graph: &VerifiedGraph,
        soc: &Soc,
        operating_points: &[usize],
        digest: String,
        mut operators: IdMap<Op, Vec<Option<OperatorCost>>>,
    ) -> Result<Self, CostError> {
        let operating_points = chosen_points(soc, Some(operating_points))?;
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
            return Err(match graph.kind {
                ModelKind::Onnx => CostError::Unsupported(unsupported),
                ModelKind::Kernels => CostError::Unmeasured(unsupported),
            });
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
    /// `None` where the processor does not support one of them, fused or not; free operators among them cost nothing and anchor nothing.
    ///
    /// Times, and energies, are added in the order of `members` from zero, in double precision, and the sum is rounded half up once.
    pub fn group(&self, members: &[OpId], processor: ProcessorId) -> Option<GroupCost> {
        let fuses = &self.soc.processors[processor].fuses;
        let mut time = Seconds::ZERO;
        let mut energy = Joules::ZERO;
        let mut workspace = Bytes::ZERO;
        let costed = members
            .iter()
            .filter_map(|&member| Some((member, self.classes[member]?)));
        for (position, (member, class)) in costed.enumerate() {
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
}

/// An operating point with the features of its models looked up, by class and in the order of the models.
struct Point<'a> {
    operating_point: &'a OperatingPoint,
    features: BTreeMap<OpClass, Vec<(&'a str, Vec<Feature>)>>,
}

impl<'a> Point<'a> {
    fn new(operating_point: &'a OperatingPoint) -> Self {
        let known = |model: &'a ClassModel| {
            let features = model.features.iter().map(|name| {
                Feature::from_name(name).expect("the profile's verifier knows every feature")
            });
            (model.dtype.as_str(), features.collect())
        };
        let models = operating_point.models.iter();
        let features = models.map(|(&class, models)| (class, models.iter().map(known).collect()));
        Self {
            operating_point,
            features: features.collect(),
        }
    }

    /// The features of a model of this point; its type is its name in its class.
    fn features(&self, class: OpClass, dtype: &str) -> Option<&[Feature]> {
        let mut models = self.features.get(&class)?.iter();
        let (_, features) = models.find(|(name, _)| *name == dtype)?;
        Some(features)
    }
}

/// A time before it is checked, and an energy if it is measured.
struct Timed {
    seconds: f64,
    energy: Option<Joules>,
    source: Source,
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
    let alone = modelled(class, &op.work, point)?;
    match &op.control {
        // A processor that takes no operators of this class does not run their bodies either.
        Some(control) => dearest(control, point),
        None => Some(alone),
    }
}

/// What the class model for the operator's type says, or one near it.
fn modelled(class: OpClass, work: &Work, point: &Point<'_>) -> Option<Timed> {
    let models = point.operating_point.models.get(&class)?;
    let (model, fits) = arithmetic::choose(models, work.arithmetic)?;
    let features = point.features(class, &model.dtype)?;
    let source = if !fits || features::is_far(model, features, work) {
        model.source.max(Source::Estimated)
    } else {
        model.source
    };
    Some(Timed {
        seconds: features::seconds(model, features, work),
        energy: None,
        source,
    })
}

/// The most time and the most energy of the alternatives, each the sum over what runs; nothing, where one of them cannot run.
///
/// Which alternative runs is a guess, so the source is an estimate at best.
/// Nesting is as deep as the importer allows.
fn dearest(control: &Control, point: &Point<'_>) -> Option<Timed> {
    let mut seconds = 0.0_f64;
    let mut joules = Some(0.0_f64);
    let mut source = Source::Estimated;
    for steps in &control.alternatives {
        let mut alone = (0.0, Some(0.0));
        for step in steps {
            let once = match &step.control {
                Some(inner) => dearest(inner, point)?,
                None => modelled(step.class, &step.work, point)?,
            };
            #[expect(clippy::cast_precision_loss, reason = "times are decimals here")]
            let times = step.times as f64;
            let power = point.operating_point.dynamic_power.get(&step.class);
            let spent = match once.energy {
                Some(energy) => Some(energy.value()),
                None => power.map(|power| power.value() * once.seconds),
            };
            alone.0 += times * once.seconds;
            alone.1 = alone.1.zip(spent).map(|(sum, spent)| sum + times * spent);
            source = source.max(once.source);
        }
        seconds = seconds.max(alone.0);
        joules = joules.zip(alone.1).map(|(most, alone)| most.max(alone));
    }
    Some(Timed {
        seconds,
        energy: joules.and_then(Joules::new),
        source,
    })
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that `filter` asks for"
)]
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

fn names(processors: &Arena<Processor>) -> Vec<String> {
    processors
        .iter()
        .map(|(_, processor)| processor.name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::cost::small_graph::{
        ADD, CONV, FLATTEN, RELU, example, ids, processor, small_graph, table,
    };
    use crate::ir::DataType;

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
        let apart = self::table(&fusing_none);
        let apart = apart.group(&ids(&[CONV, RELU]), cpu).unwrap();
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
        // The activation is the anchor here, so it is not free.
        assert_eq!(
            table.group(&ids(&[FLATTEN, RELU]), cpu),
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
        assert_eq!(of(&[big, little]), 1000);
        assert_eq!(of(&[big, gpu]), 1150);
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
    fn an_operator_takes_the_model_of_the_type_that_it_computes_in() {
        let model = |dtype: &str, launch: f64| {
            json!({
                "class": "elementwise", "dtype": dtype, "features": ["launch"],
                "coefficients": [launch], "combine": "sum", "source": "measured"
            })
        };
        let soc = example(|profile| {
            let point = &mut profile["processors"][0]["operating_points"][1];
            point["dynamic_w"]["elementwise"] = json!(1.0);
            let models = point["models"].as_array_mut().unwrap();
            models.extend([
                model("float", 4.0),
                model("float16", 2.0),
                model("int8", 1.0),
            ]);
        });
        let cpu = processor(&soc, "cpu");
        let point = Point::new(&soc.processors[cpu].operating_points[1]);
        let takes = |arithmetic| {
            let work = Work {
                arithmetic,
                ..Work::default()
            };
            let timed = modelled(OpClass::Elementwise, &work, &point).unwrap();
            (format!("{}", timed.seconds), timed.source)
        };
        let expected = |seconds: &str, source| (seconds.to_owned(), source);
        assert_eq!(takes(DataType::Float), expected("4", Source::Measured));
        assert_eq!(takes(DataType::Float16), expected("2", Source::Measured));
        assert_eq!(takes(DataType::Uint8), expected("1", Source::Measured));
        assert_eq!(takes(DataType::Int64), expected("4", Source::Measured));
        assert_eq!(takes(DataType::BFloat16), expected("2", Source::Estimated));
        assert_eq!(takes(DataType::Int4), expected("1", Source::Estimated));
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
    }

    proptest! {
        #[test]
        fn any_profile_that_loads_gives_plausible_costs_or_an_error(
            coefficient in 0.0..3600.0,
            exponent in -12..1i32,
            bandwidth in 1.0..1e15,
            power in 0.0..1e4,
        ) {
            let coefficient = coefficient * 10f64.powi(exponent);
            let soc = example(|profile| {
                let point = &mut profile["processors"][0]["operating_points"][0];
                point["models"][0]["coefficients"][1] = json!(coefficient);
                point["dynamic_w"]["conv"] = json!(power);
                profile["links"][0]["bytes_per_s"] = json!(bandwidth);
            });
            match CostTable::new(&small_graph(), &soc, &CostOverrides::default(), None) {
                Ok(table) => {
                    let conv = table.group(&ids(&[CONV]), processor(&soc, "cpu")).unwrap();
                    prop_assert!(conv.time <= Nanoseconds::new(3_600_000_000_000));
                    prop_assert!(conv.energy < Nanojoules::MAX);
                }
                Err(CostError::TooLong(all)) => prop_assert!(all[0].seconds > MOST_SECONDS),
                Err(CostError::MoveTooLong { seconds, .. }) => prop_assert!(seconds > MOST_SECONDS),
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }
}
