//! The profile and the files of costs that measurements make.
//!
//! What was measured goes into the files of costs as it is, by operator; the profile's time models are fitted to the same times by the
//! calibration that takes anybody's measurements, so that it predicts models that were not measured too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use paracompile_frontend::calibrate::{BaseProfile, Measurements, TimedOperator, calibrate};
use paracompile_frontend::cost::{CostEntry, CostsFile, write_costs};
use paracompile_frontend::ir::OpId;
use paracompile_frontend::soc::file::{
    BoardEntry, Combine, ContentionEntry, HostEntry, Kind, LinkEntry, MemoryEntry, ModelEntry,
    Number, OperatingPointEntry, ProcessorEntry, SocFile,
};
use paracompile_frontend::soc::profile_text;
use paracompile_plan::OpClass;
use paracompile_plan::plan::{AS_IT_IS, Layout, Source};

use super::kernels::Distinct;
use super::machine::{Machine, Station};
use super::run::{ProcessorFigures, ProfileError, ProfileReport, ProfileRequest, Profiled};
use super::tasks::{Workload, in_place};
use crate::opencl::DeviceKind;

/// What a class has in the base of the calibration; where it stays, nothing is known.
const PLACEHOLDER: &str = "not measured";

/// Classes that may stand behind the first operator of a group.
const EPILOGUES: [OpClass; 3] = [
    OpClass::Activation,
    OpClass::BatchNorm,
    OpClass::Elementwise,
];

/// What measurements are of.
pub(super) struct Facts<'f> {
    pub(super) request: &'f ProfileRequest,
    pub(super) machine: &'f Machine,
    pub(super) workloads: &'f [Workload],
    pub(super) distinct: &'f [Distinct],
}

/// The files that were written.
#[derive(Clone, Debug)]
pub struct ProfileFiles {
    /// The profile.
    pub profile: PathBuf,
    /// Files of costs.
    pub costs: Vec<PathBuf>,
}

/// Writes the profile to `path`, and the costs of every model into the folder `costs`, each file completely or not at all.
pub fn save(profiled: &Profiled, path: &Path, costs: &Path) -> Result<ProfileFiles, ProfileError> {
    std::fs::create_dir_all(costs).map_err(|error| ProfileError::Folder {
        path: costs.display().to_string(),
        reason: error.to_string(),
    })?;
    let mut files = ProfileFiles {
        profile: path.to_owned(),
        costs: Vec::new(),
    };
    for (name, file) in &profiled.costs {
        let path = costs.join(format!("{name}.json"));
        write_costs(file, &path).map_err(|error| ProfileError::Folder {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        files.costs.push(path);
    }
    paracompile_plan::write_text(path, &profile_text(&profiled.profile))?;
    Ok(files)
}

/// Everything that is written, from everything that was measured.
pub(super) fn document(
    facts: &Facts<'_>,
    mut report: ProfileReport,
) -> Result<Profiled, ProfileError> {
    let mut profile = base(facts, &report);
    // Kernels of a user follow no time model: their costs alone say what they take.
    if !facts.request.models.is_empty() {
        let origin = format!("pararun profile on {}", devices(facts.machine));
        let base = BaseProfile::from_json(&profile_text(&profile), "measurements")
            .map_err(ProfileError::Calibrate)?;
        let measured = Measurements::of_operators(rows(facts, &report));
        let calibration = calibrate(&measured, &base, Some(&origin))?;
        profile = calibration.profile;
        report.model_notices = calibration
            .notices
            .iter()
            .map(ToString::to_string)
            // Powers are set here, by what meters say.
            .filter(|notice| !notice.contains("power"))
            .collect();
    }
    profile.processors.iter_mut().for_each(keep_known);
    Ok(Profiled {
        costs: costs(facts, &report)
            .into_iter()
            .chain(kernel_costs(facts, &report))
            .collect(),
        profile,
        report,
    })
}

/// The devices for people, each once.
fn devices(machine: &Machine) -> String {
    let names = machine.stations.iter().map(|station| {
        format!(
            "{} ({} units)",
            station.bound.device.name, station.bound.units
        )
    });
    let names: BTreeSet<String> = names.collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// The rows that time models are fitted to.
fn rows(facts: &Facts<'_>, report: &ProfileReport) -> Vec<TimedOperator> {
    let tasks = report.tasks.iter();
    tasks
        .map(|task| {
            let (model, members) = &facts.workloads[task.workload].uses[0];
            let graph = &facts.request.models[*model].program.imported.graph;
            TimedOperator {
                network: task.model.clone(),
                processor: task.processor.clone(),
                name: task.name.clone(),
                class: task.class,
                work: graph.ops[members[0]].work,
                seconds: task.seconds.median,
                repetitions: task.seconds.samples,
            }
        })
        .collect()
}

/// The costs of every model.
fn costs(facts: &Facts<'_>, report: &ProfileReport) -> Vec<(String, CostsFile)> {
    let mut entries: Vec<Vec<CostEntry>> = vec![Vec::new(); facts.request.models.len()];
    let models = facts.request.models.iter();
    let in_place: Vec<BTreeSet<OpId>> = models.map(|model| in_place(&model.program)).collect();
    for task in &report.tasks {
        for (model, members) in &facts.workloads[task.workload].uses {
            let graph = &facts.request.models[*model].program.imported.graph;
            let op = &graph.ops[members[0]];
            entries[*model].push(CostEntry {
                node: op.at.node,
                inside: op.at.inside.clone(),
                output: Some(op.at.output.clone()),
                processor: task.processor.clone(),
                // What is in place from the start is no more than a command that does nothing.
                time_s: if in_place[*model].contains(&members[0]) {
                    report.processors[task.station]
                        .launch_s
                        .min(task.seconds.median)
                } else {
                    task.seconds.median
                },
                energy_j: None,
                source: Source::Measured,
            });
        }
    }
    let order: BTreeMap<&str, usize> = facts
        .machine
        .stations
        .iter()
        .enumerate()
        .map(|(index, station)| (station.bound.processor.as_str(), index))
        .collect();
    let models = facts.request.models.iter().zip(entries);
    models
        .map(|(model, mut entries)| {
            entries.sort_by_key(|entry| {
                (
                    entry.node,
                    entry.inside.clone(),
                    entry.output.clone(),
                    order[entry.processor.as_str()],
                )
            });
            let file = CostsFile {
                schema: 1,
                graph_digest: model.program.imported.graph.digest.clone(),
                dims: model.program.imported.graph.dims.clone(),
                entries,
            };
            (model.name.clone(), file)
        })
        .collect()
}

/// The costs of every kernel graph.
fn kernel_costs(facts: &Facts<'_>, report: &ProfileReport) -> Vec<(String, CostsFile)> {
    let graphs = facts.request.graphs.iter().enumerate();
    graphs
        .map(|(index, graph)| {
            let ops = &graph.program.graph.ops;
            let mut entries = Vec::new();
            for measured in &report.kernels {
                let distinct = &facts.distinct[measured.distinct];
                if distinct.graph != index {
                    continue;
                }
                for kernel in &distinct.kernels {
                    let at = &ops[OpId::from_index(kernel.index())].at;
                    entries.push((
                        at.node,
                        measured.station,
                        CostEntry {
                            node: at.node,
                            inside: at.inside.clone(),
                            output: Some(at.output.clone()),
                            processor: measured.processor.clone(),
                            time_s: measured.seconds.median,
                            energy_j: None,
                            source: Source::Measured,
                        },
                    ));
                }
            }
            entries.sort_by_key(|&(node, station, _)| (node, station));
            let file = CostsFile {
                schema: 1,
                graph_digest: graph.program.graph.digest.clone(),
                dims: graph.program.graph.dims.clone(),
                entries: entries.into_iter().map(|(_, _, entry)| entry).collect(),
            };
            (graph.name.clone(), file)
        })
        .collect()
}

fn measured(value: f64, note: impl Into<String>) -> Number {
    Number::Sourced {
        value: round(value),
        source: Source::Measured,
        note: Some(note.into()),
    }
}

fn assumed(value: f64, note: impl Into<String>) -> Number {
    Number::Sourced {
        value,
        source: Source::Assumed,
        note: Some(note.into()),
    }
}

/// Four significant digits.
fn round(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The profile without time models.
fn base(facts: &Facts<'_>, report: &ProfileReport) -> SocFile {
    let machine = facts.machine;
    let models: Vec<&str> = facts
        .request
        .models
        .iter()
        .map(|model| model.name.as_str())
        .chain(facts.request.graphs.iter().map(|graph| graph.name.as_str()))
        .collect();
    let names = machine.memories.iter().map(String::as_str);
    let io = machine.io_name();
    let host = (machine.io.is_none()).then_some(io);
    let slowest = report.processors.iter();
    let slowest = slowest.map(|one| one.enqueue_s).fold(0.0, f64::max);
    let enqueues = report.processors.iter();
    let enqueues = enqueues.map(|one| format!("{} {:.1} us", one.name, 1e6 * one.enqueue_s));
    let enqueues: Vec<String> = enqueues.collect();
    SocFile {
        schema: 1,
        name: facts.request.name.clone(),
        description: Some(format!(
            "measured by pararun profile on {}, with {}",
            devices(machine),
            models.join(", ")
        )),
        io: io.to_owned(),
        memories: names
            .chain(host)
            .map(|name| MemoryEntry {
                name: name.to_owned(),
                bytes: None,
            })
            .collect(),
        processors: machine
            .stations
            .iter()
            .zip(&report.processors)
            .map(|(station, figures)| processor(facts, station, figures))
            .collect(),
        links: report.links.iter().map(link).collect(),
        contention: report
            .contention
            .iter()
            .map(|together| ContentionEntry {
                set: together.set.clone(),
                factor: together
                    .set
                    .iter()
                    .zip(&together.factors)
                    .map(|(name, &factor)| (name.clone(), Number::Plain(round(factor))))
                    .collect(),
                source: Some(Source::Measured),
                note: Some(
                    "the operators that take most time, beside those of the others".to_owned(),
                ),
            })
            .collect(),
        host: HostEntry {
            enqueue_s: measured(
                slowest,
                format!(
                    "a bare loop that enqueues launches: {}",
                    enqueues.join(", ")
                ),
            ),
        },
        board: BoardEntry {
            base_w: base_power(machine, report),
        },
    }
}

/// A processor without time models.
fn processor(facts: &Facts<'_>, station: &Station, figures: &ProcessorFigures) -> ProcessorEntry {
    let machine = facts.machine;
    let spelled = facts
        .request
        .processors
        .iter()
        .find(|one| one.bound.processor == station.bound.processor);
    ProcessorEntry {
        name: station.bound.processor.clone(),
        kind: kind(station.bound.device.kind),
        device: spelled.map(|one| one.spelled.clone()),
        memory: machine.memories[station.memory].clone(),
        layout: Layout::Nchw,
        compute_queues_max: Number::Plain(super::statistics::real(figures.sharing.len())),
        sharing: figures
            .sharing
            .iter()
            .map(|&factor| {
                measured(
                    factor,
                    "the operators that take most time, on so many queues",
                )
            })
            .collect(),
        // What a group takes beyond its first operator is in the time of that one.
        dispatch_s: None,
        fuses: EPILOGUES.to_vec(),
        operating_points: vec![point(
            station,
            figures.power.as_ref(),
            !facts.request.graphs.is_empty(),
        )],
    }
}

/// What the host draws at rest, if a meter sees it.
fn base_power(machine: &Machine, report: &ProfileReport) -> Number {
    let hosts = machine.stations.iter().zip(&report.processors);
    let mut hosts = hosts.filter(|(station, _)| station.bound.device.kind == DeviceKind::Cpu);
    match hosts.find_map(|(_, figures)| figures.power.as_ref()) {
        Some(power) => measured(power.idle_w, "all sockets of the host at rest"),
        None => assumed(0.0, "no meter"),
    }
}

const fn kind(kind: DeviceKind) -> Kind {
    match kind {
        DeviceKind::Cpu => Kind::Cpu,
        DeviceKind::Gpu => Kind::Gpu,
        DeviceKind::Accelerator => Kind::Npu,
    }
}

fn link(link: &super::MeasuredLink) -> LinkEntry {
    let points: Vec<String> = link
        .points
        .iter()
        .map(|(bytes, seconds)| format!("{bytes} B {:.1} us", 1e6 * seconds))
        .collect();
    LinkEntry {
        from: link.from.clone(),
        to: link.to.clone(),
        latency_s: Number::Plain(round(link.latency_s)),
        bytes_per_s: Number::Plain(round(link.bytes_per_s)),
        convert_s_per_byte: Number::Plain(0.0),
        power_w: assumed(0.0, "no meter for moves"),
        source: Some(Source::Measured),
        note: Some(format!(
            "from the end of a launch to the start of the one that reads: {}",
            points.join(", ")
        )),
    }
}

/// An operating point with a placeholder for every class that kernels may compute.
fn point(
    station: &Station,
    power: Option<&super::MeasuredPower>,
    kernels: bool,
) -> OperatingPointEntry {
    let classes = OpClass::ALL
        .into_iter()
        .filter(|class| !matches!(class, OpClass::Recurrent | OpClass::Other | OpClass::Opaque));
    let powered = classes.clone().chain(kernels.then_some(OpClass::Opaque));
    let megahertz = station.bound.device.device.max_clock_frequency();
    let megahertz = f64::from(megahertz.unwrap_or(0).max(1));
    let largest = power.iter().flat_map(|power| power.dynamic_w.values());
    let largest = largest.copied().fold(0.0, f64::max);
    let dynamic = |class: OpClass| match power.map(|power| power.dynamic_w.get(&class)) {
        Some(Some(&watts)) => measured(watts, "above rest, while its longest operator runs"),
        Some(None) => Number::Sourced {
            value: round(largest),
            source: Source::Estimated,
            note: Some("the largest of the measured classes".to_owned()),
        },
        None => assumed(0.0, "no meter"),
    };
    // What the host draws at rest belongs to the board.
    let own = power.filter(|_| station.bound.device.kind != DeviceKind::Cpu);
    OperatingPointEntry {
        name: AS_IT_IS.to_owned(),
        hertz: Number::Plain(megahertz * 1e6),
        volts: None,
        static_w: match (own, power) {
            (Some(power), _) => measured(power.idle_w, "at rest"),
            (None, Some(_)) => assumed(0.0, "counted in board.base_w"),
            (None, None) => assumed(0.0, "no meter"),
        },
        like: None,
        time_factor: None,
        power_factor: None,
        dynamic_w: powered.map(|class| (class, dynamic(class))).collect(),
        models: classes
            .map(|class| ModelEntry {
                class,
                dtype: "float".to_owned(),
                features: vec!["launch".to_owned()],
                coefficients: vec![Number::Plain(0.0)],
                combine: Combine::Sum,
                winograd: None,
                seen: None,
                source: None,
                note: Some(PLACEHOLDER.to_owned()),
            })
            .collect(),
    }
}

/// Takes the placeholders out: a class of which nothing is known is not supported.
fn keep_known(processor: &mut ProcessorEntry) {
    for point in &mut processor.operating_points {
        point
            .models
            .retain(|model| model.note.as_deref() != Some(PLACEHOLDER));
        let known: BTreeSet<OpClass> = point.models.iter().map(|model| model.class).collect();
        // Kernels of a user have no time model.
        point
            .dynamic_w
            .retain(|class, _| known.contains(class) || *class == OpClass::Opaque);
        processor.fuses.retain(|class| known.contains(class));
    }
}
