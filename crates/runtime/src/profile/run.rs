//! The whole measurement, one step after the other, within a budget of time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use opencl3::device::Device;
use paracompile_frontend::calibrate::CalibrateError;
use paracompile_frontend::cost::CostsFile;
use paracompile_frontend::soc::file::SocFile;
use paracompile_plan::OpClass;
use serde::Serialize;

use super::chain::Chain;
use super::contention::{MeasuredContention, Mix, contention, sharing};
use super::document::{Facts, document};
use super::kernels::{Distinct, ProfiledKernels, chain, distinct, workspace};
use super::machine::{Machine, Station};
use super::moves::{MeasuredLink, links};
use super::notices;
use super::power::{DeviceMeter, MeasuredPower, busy_repetitions};
use super::probe::{enqueue_seconds, hop_seconds, launch_seconds, probe};
use super::sampling::{MOVES, OPERATORS, Stopped, sample};
use super::statistics::{Estimate, real};
use super::stock::Stock;
use super::tasks::{ProfiledModel, Wiring, Workload, workloads};
use crate::bind::{BoundProcessor, DeviceMap};
use crate::execute::{Bound, RunError};
use crate::lower::{Lowered, Target, Task, Unsupported, lower_task};
use crate::meter::EnergyMeter;
use crate::opencl::{OpenclError, QueueOrder};
use crate::schedule::Workspace;

/// What to measure.
#[derive(Debug)]
pub struct ProfileRequest {
    /// Name of the profile.
    pub name: String,
    /// Models whose operators are measured.
    pub models: Vec<ProfiledModel>,
    /// Kernel graphs whose kernels are measured.
    pub graphs: Vec<ProfiledKernels>,
    /// Processors of the profile, in its order.
    pub processors: Vec<ProfiledProcessor>,
    /// Time for everything; what must be measured is, even where it takes longer.
    pub budget: Duration,
    /// Command queues that are tried on each processor.
    pub queues: usize,
}

/// A processor to be measured.
#[derive(Clone, Debug)]
pub struct ProfiledProcessor {
    /// Its name and its device.
    pub bound: Bound,
    /// The device as `--map` and `--device` name it.
    pub spelled: String,
}

impl ProfiledProcessor {
    /// A processor that was bound as `map` says.
    pub fn new(bound: &BoundProcessor, map: &DeviceMap) -> Self {
        let units = map
            .units
            .map_or_else(String::new, |units| format!("/{units}"));
        Self {
            bound: Bound {
                processor: bound.name.clone(),
                device: bound.device.clone(),
                id: bound.id,
                units: bound.units,
            },
            spelled: format!("{}{units}", map.device),
        }
    }
}

/// How far a measurement is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is measured now.
    pub what: String,
    /// How many of them have been.
    pub done: usize,
    /// How many there are.
    pub of: usize,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// The profile.
    pub profile: SocFile,
    /// For each model, by name, the measured costs of its operators.
    pub costs: Vec<(String, CostsFile)>,
    /// All figures.
    pub report: ProfileReport,
}

/// The figures of a measurement.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProfileReport {
    /// Whether it was ended before everything was measured.
    pub interrupted: bool,
    /// Seconds that it took.
    pub seconds: f64,
    /// What is missing or odd, and what was done instead.
    pub notices: Vec<String>,
    /// What stands on weak ground in the profile's time models, which count for models that were not measured.
    pub model_notices: Vec<String>,
    /// By processor.
    pub processors: Vec<ProcessorFigures>,
    /// Distinct tasks on each processor.
    pub tasks: Vec<MeasuredTask>,
    /// Distinct kernels of kernel graphs on each processor.
    pub kernels: Vec<MeasuredKernel>,
    /// Between memories.
    pub links: Vec<MeasuredLink>,
    /// Names of two processors of one memory, and the seconds from the end of a launch of one to the end of an empty launch of the other.
    pub hops: Vec<(String, String, f64)>,
    /// Sets of processors.
    pub contention: Vec<MeasuredContention>,
}

/// The figures of a processor.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessorFigures {
    /// Its name.
    pub name: String,
    /// The name of its device.
    pub device: String,
    /// Its compute units.
    pub compute_units: usize,
    /// Its memory.
    pub memory: String,
    /// Seconds that the host takes to enqueue a launch in a bare loop.
    pub enqueue_s: f64,
    /// Seconds that an empty launch takes behind another one.
    pub launch_s: f64,
    /// Slowdown with 1, 2, … queues.
    pub sharing: Vec<f64>,
    /// Its power, where there is a meter.
    pub power: Option<MeasuredPower>,
}

/// A distinct task on a processor.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredTask {
    /// The first operator that it is of, by name.
    pub name: String,
    /// The model of that operator.
    pub model: String,
    /// Operator types, the anchor first.
    pub operators: Vec<String>,
    /// Class of the anchor.
    pub class: OpClass,
    /// How often it is a task of the models; zero where it is always fused with what is before it.
    pub occurrences: usize,
    /// The processor.
    pub processor: String,
    /// Seconds.
    pub seconds: Estimate,
    /// Index among the distinct tasks.
    #[serde(skip)]
    pub(super) workload: usize,
    /// Index of the processor.
    #[serde(skip)]
    pub(super) station: usize,
}

/// A distinct kernel on a processor.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredKernel {
    /// The first kernel that it is of, by name.
    pub name: String,
    /// Its kernel graph.
    pub graph: String,
    /// The function.
    pub function: String,
    /// How often the graph launches it.
    pub occurrences: usize,
    /// The processor.
    pub processor: String,
    /// Seconds.
    pub seconds: Estimate,
    /// Index among the distinct kernels.
    #[serde(skip)]
    pub(super) distinct: usize,
    /// Index of the processor.
    #[serde(skip)]
    pub(super) station: usize,
}

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The user's fault: nothing to measure on.
    #[error("there is no processor to measure; name one by --device")]
    NoProcessor,
    /// The models' fault: nothing to measure.
    #[error("no operator of the models was measured on every processor{}", lines(.0))]
    NothingMeasured(Vec<String>),
    /// The user ended it before there was anything to write.
    #[error("interrupted before every processor had a measured operator")]
    Interrupted,
    /// The kernels' fault, or the device's.
    #[error(transparent)]
    Kernels(RunError),
    /// OpenCL's or the device's fault.
    #[error(transparent)]
    Opencl(#[from] OpenclError),
    /// Measurements that make no profile.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// The profile cannot be written.
    #[error(transparent)]
    Write(#[from] paracompile_plan::WriteError),
    /// The folder for the costs cannot be made.
    #[error("{path}: {reason}")]
    Folder {
        /// The folder.
        path: String,
        /// Why.
        reason: String,
    },
}

fn lines(reasons: &[String]) -> String {
    const TOLD: usize = 20;
    let mut told: Vec<String> = reasons.iter().take(TOLD).cloned().collect();
    if reasons.len() > TOLD {
        told.push(format!("and {} more", reasons.len() - TOLD));
    }
    told.iter().flat_map(|reason| ["\n  ", reason]).collect()
}

impl From<Stopped> for ProfileError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Interrupted => Self::Interrupted,
            Stopped::Failed(error) => Self::Opencl(error),
        }
    }
}

/// Measures everything; what an interrupt leaves incomplete is said in the report, and in the profile's notes.
pub fn profile(
    request: &ProfileRequest,
    progress: &mut dyn FnMut(&Progress),
    interrupted: &AtomicBool,
) -> Result<Profiled, ProfileError> {
    profile_with(request, &lower_task, progress, interrupted)
}

/// Lowers a task for a device.
pub(super) type Lowering<'l> = &'l dyn Fn(&Task<'_>, &Target) -> Result<Lowered, Unsupported>;

/// The same with another way to lower tasks.
pub(super) fn profile_with(
    request: &ProfileRequest,
    lowering: Lowering<'_>,
    progress: &mut dyn FnMut(&Progress),
    interrupted: &AtomicBool,
) -> Result<Profiled, ProfileError> {
    let bound: Vec<Bound> = request
        .processors
        .iter()
        .map(|processor| processor.bound.clone())
        .collect();
    if bound.is_empty() {
        return Err(ProfileError::NoProcessor);
    }
    let machine = Machine::new(&bound)?;
    let workloads = workloads(&request.models);
    let distinct = distinct(&request.graphs);
    let spaces = request
        .graphs
        .iter()
        .map(|graph| workspace(graph, &machine));
    let spaces = spaces
        .collect::<Result<Vec<_>, _>>()
        .map_err(ProfileError::Kernels)?;
    let mut run = Run {
        request,
        machine: &machine,
        workloads: &workloads,
        distinct: &distinct,
        spaces: &spaces,
        lowering,
        interrupted,
        progress,
        started: Instant::now(),
        stocks: Vec::new(),
        done: 0,
        report: ProfileReport::default(),
    };
    run.report.notices.extend(notices::other_load());
    run.between_operators()
        .and_then(|()| run.stocks().map_err(Stopped::from))
        .map_err(|stopped| stopped.by(interrupted))?;
    let outcome = run.operators().and_then(|()| run.kernels()).and_then(|()| {
        // Nothing more is to be said of a processor without an operator.
        if run.has_all() {
            run.powers().and_then(|()| run.together())
        } else {
            Ok(())
        }
    });
    match outcome.map_err(|stopped| stopped.by(interrupted)) {
        Ok(()) => {}
        Err(Stopped::Interrupted) => {
            run.report.interrupted = true;
            let notice = notices::interrupted(&run.missing(), run.all());
            run.report.notices.push(notice);
        }
        Err(Stopped::Failed(error)) => return Err(error.into()),
    }
    let has_all = run.has_all();
    let mut report = run.report;
    report.notices.extend(notices::waits(&report));
    report
        .notices
        .extend(notices::contention(&report.contention));
    report.seconds = run.started.elapsed().as_secs_f64();
    if !has_all {
        return Err(if report.interrupted {
            ProfileError::Interrupted
        } else {
            ProfileError::NothingMeasured(report.notices)
        });
    }
    document(
        &Facts {
            request,
            machine: &machine,
            workloads: &workloads,
            distinct: &distinct,
        },
        report,
    )
}

struct Run<'r> {
    request: &'r ProfileRequest,
    machine: &'r Machine,
    workloads: &'r [Workload],
    distinct: &'r [Distinct],
    /// By kernel graph.
    spaces: &'r [Workspace],
    lowering: Lowering<'r>,
    interrupted: &'r AtomicBool,
    progress: &'r mut dyn FnMut(&Progress),
    started: Instant,
    /// By memory.
    stocks: Vec<Stock>,
    /// Tasks on processors that were come to, in the order of [`Run::operators`].
    done: usize,
    report: ProfileReport,
}

/// Shares of the budget that are over when operators, and when processors together, have been measured.
const OPERATORS_UNTIL: f64 = 0.75;
/// Tasks of a mix at most, and the share of the time that is enough.
const MIX: (usize, f64) = (10, 0.9);

impl<'r> Run<'r> {
    /// What is left of the budget until a share of it is over, for each of `open` measurements.
    fn slot(&self, until: f64, open: usize) -> Duration {
        let end = self.request.budget.mul_f64(until);
        let left = end.saturating_sub(self.started.elapsed());
        left.div_f64(real(open.max(1)))
    }

    /// Whether every processor has a measured operator.
    fn has_all(&self) -> bool {
        let (tasks, kernels) = (&self.report.tasks, &self.report.kernels);
        let has = |station| {
            tasks.iter().any(|task| task.station == station)
                || kernels.iter().any(|kernel| kernel.station == station)
        };
        (0..self.machine.stations.len()).all(has)
    }

    fn tell(&mut self, what: impl Into<String>, done: usize, of: usize) {
        let what = what.into();
        (self.progress)(&Progress { what, done, of });
    }

    /// Launches, waits and moves.
    fn between_operators(&mut self) -> Result<(), Stopped> {
        let slot = self.request.budget.mul_f64(0.005);
        let machine = self.machine;
        self.tell("launches", 0, 1);
        let mut probes = Vec::new();
        for station in &machine.stations {
            let probe = probe(&station.context)?;
            let enqueue = sample(MOVES, slot, self.interrupted, |_| {
                enqueue_seconds(station, &probe)
            })?;
            let launch = sample(MOVES, slot, self.interrupted, |count| {
                launch_seconds(&station.queue, &probe, count)
            })?;
            self.report.processors.push(ProcessorFigures {
                name: station.bound.processor.clone(),
                device: station.bound.device.name.clone(),
                compute_units: station.bound.units,
                memory: machine.memories[station.memory].clone(),
                enqueue_s: enqueue.median,
                launch_s: launch.median,
                sharing: vec![1.0],
                power: None,
            });
            probes.push(probe);
        }
        self.tell("waits", 0, 1);
        for (second, two) in machine.stations.iter().enumerate() {
            for (first, one) in machine.stations[..second].iter().enumerate() {
                if one.memory != two.memory {
                    continue;
                }
                let queues = [&one.queue, &two.queue];
                let pair = [&probes[first], &probes[second]];
                let hop = sample(MOVES, slot, self.interrupted, |count| {
                    hop_seconds(queues, pair, count)
                })?;
                self.report.hops.push((
                    one.bound.processor.clone(),
                    two.bound.processor.clone(),
                    hop.median,
                ));
            }
        }
        self.tell("moves", 0, 1);
        self.report.links = links(machine, slot, self.interrupted)?;
        Ok(())
    }

    /// Memory to read and write, as large as all that passes through the caches in a frame of the largest model.
    fn stocks(&mut self) -> Result<(), OpenclError> {
        const RANGE: (u64, u64) = (16 << 20, 192 << 20);
        let models = self.request.models.iter().map(|model| {
            let tensors = model.program.imported.graph.tensors.iter();
            tensors.map(|(_, tensor)| tensor.bytes.count()).sum::<u64>()
        });
        let wanted = models.max().unwrap_or(0).clamp(RANGE.0, RANGE.1);
        for memory in 0..self.machine.memories.len() {
            let stations = self.machine.inhabitants(memory);
            let least = stations.map(|station| station.bound.device.largest_allocation / 4);
            let least = least.min().unwrap_or(u64::MAX);
            let bytes = usize::try_from(wanted.min(least)).unwrap_or(usize::MAX);
            let station = self.machine.inhabitants(memory).next();
            let station = station.expect("a memory has a processor");
            let stock = Stock::new(&station.context, &station.queue, bytes)?;
            self.stocks.push(stock);
        }
        Ok(())
    }

    /// Every distinct task on every processor.
    fn operators(&mut self) -> Result<(), Stopped> {
        let (workloads, machine) = (self.workloads, self.machine);
        let all = self.all();
        for (index, workload) in workloads.iter().enumerate() {
            for station in 0..machine.stations.len() {
                let slot = self.slot(OPERATORS_UNTIL, all - self.done);
                let (model, members) = &workload.uses[0];
                let model = &self.request.models[*model];
                let name = self.name(workload).to_owned();
                let at = &machine.stations[station].bound.processor;
                self.tell(format!("{name} on {at}"), self.done, all);
                if let Some(seconds) = self.task(workload, station, slot)? {
                    let calls = members.iter();
                    let calls = calls.map(|member| &model.program.calls[member.index()]);
                    self.report.tasks.push(MeasuredTask {
                        name,
                        model: model.name.clone(),
                        operators: calls.map(|call| call.op_type.clone()).collect(),
                        class: workload.class,
                        occurrences: workload.tasks,
                        processor: at.clone(),
                        seconds,
                        workload: index,
                        station,
                    });
                }
                self.done += 1;
            }
        }
        self.tell("operators", all, all);
        Ok(())
    }

    /// Every distinct kernel on every processor.
    fn kernels(&mut self) -> Result<(), Stopped> {
        let (distinct, machine) = (self.distinct, self.machine);
        let all = distinct.len() * machine.stations.len();
        let mut done = 0;
        for (index, one) in distinct.iter().enumerate() {
            let graph = &self.request.graphs[one.graph];
            let kernel = graph.program.kernel(one.kernels[0]);
            for (number, station) in machine.stations.iter().enumerate() {
                if self.interrupted.load(Ordering::Relaxed) {
                    return Err(Stopped::Interrupted);
                }
                let slot = self.slot(OPERATORS_UNTIL, all - done);
                let at = &station.bound.processor;
                self.tell(format!("{} on {at}", kernel.name), done, all);
                let mut chain = self.kernel_chain(index, number)?;
                let seconds = sample(OPERATORS, slot, self.interrupted, |count| {
                    chain.seconds(&station.queue, count)
                })?;
                self.report.kernels.push(MeasuredKernel {
                    name: kernel.name.clone(),
                    graph: graph.name.clone(),
                    function: kernel.function.clone(),
                    occurrences: one.kernels.len(),
                    processor: at.clone(),
                    seconds,
                    distinct: index,
                    station: number,
                });
                done += 1;
            }
        }
        Ok(())
    }

    fn kernel_chain(&self, distinct: usize, station: usize) -> Result<Chain, OpenclError> {
        let one = &self.distinct[distinct];
        chain(
            &self.request.graphs[one.graph],
            &self.spaces[one.graph],
            self.machine,
            one.kernels[0],
            self.machine.stations[station].memory,
        )
    }

    /// How many tasks there are on all processors.
    fn all(&self) -> usize {
        self.workloads.len() * self.machine.stations.len()
    }

    /// What people call a task: the first operator that it is of.
    fn name(&self, workload: &Workload) -> &'r str {
        let (model, members) = &workload.uses[0];
        let model = &self.request.models[*model];
        &model.program.calls[members[0].index()].name
    }

    /// The tasks on processors that were not come to.
    fn missing(&self) -> Vec<String> {
        let stations = &self.machine.stations;
        let all = self.workloads.iter().flat_map(|workload| {
            let name = self.name(workload);
            stations
                .iter()
                .map(move |station| format!("{name} on {}", station.bound.processor))
        });
        all.skip(self.done).collect()
    }

    /// One task on one processor; `None` where it does not run, which is noted.
    fn task(
        &mut self,
        workload: &Workload,
        station: usize,
        slot: Duration,
    ) -> Result<Option<Estimate>, Stopped> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Stopped::Interrupted);
        }
        let station = &self.machine.stations[station];
        match self.chain(workload, station) {
            Ok(mut chain) => {
                let estimate = sample(OPERATORS, slot, self.interrupted, |count| {
                    chain.seconds(&station.queue, count)
                })?;
                Ok(Some(estimate))
            }
            Err(Refused::Unsupported(unsupported)) => {
                let at = &station.bound.processor;
                let notice = format!("{at}: not measured, {unsupported}");
                self.report.notices.push(notice);
                Ok(None)
            }
            Err(Refused::Failed(error @ OpenclError::OutOfMemory { .. })) => {
                let at = &station.bound.processor;
                let (model, members) = &workload.uses[0];
                let name = &self.request.models[*model].program.calls[members[0].index()].name;
                let notice = format!("{at}: not measured, {name}: {error}");
                self.report.notices.push(notice);
                Ok(None)
            }
            Err(Refused::Failed(error)) => Err(Stopped::Failed(error)),
        }
    }

    fn chain(&mut self, workload: &Workload, station: &Station) -> Result<Chain, Refused> {
        let (model, members) = &workload.uses[0];
        let wired = Wiring::new(&self.request.models[*model].program).task(members);
        let lowered = (self.lowering)(&wired.task, &station.target)?;
        let stock = &mut self.stocks[station.memory];
        Ok(Chain::new(station, stock, &wired, &lowered)?)
    }

    /// What every metered processor draws, by class, while the others rest.
    fn powers(&mut self) -> Result<(), Stopped> {
        let machine = self.machine;
        let meter = EnergyMeter::find();
        if meter.is_empty() {
            self.report.notices.extend(meter.missing.iter().cloned());
            return Ok(());
        }
        for (index, station) in machine.stations.iter().enumerate() {
            let Some(device) = DeviceMeter::find(&meter, &station.bound.device)? else {
                continue;
            };
            self.tell("power", index, machine.stations.len());
            // The longest task of each class keeps the device busy best.
            let mut longest: BTreeMap<OpClass, (f64, usize)> = BTreeMap::new();
            for task in &self.report.tasks {
                if task.station == index {
                    let found = longest.entry(task.class).or_insert((0.0, task.workload));
                    if task.seconds.median > found.0 {
                        *found = (task.seconds.median, task.workload);
                    }
                }
            }
            let Some(idle_w) = device.idle()? else {
                continue;
            };
            let mut dynamic_w = BTreeMap::new();
            for (class, (seconds, workload)) in longest {
                if self.interrupted.load(Ordering::Relaxed) {
                    return Err(Stopped::Interrupted);
                }
                let Ok(mut chain) = self.chain(&self.workloads[workload], station) else {
                    continue;
                };
                let count = busy_repetitions(seconds);
                let busy = device.busy(|| chain.seconds(&station.queue, count).map(|_| ()))?;
                if let Some(watts) = busy {
                    dynamic_w.insert(class, (watts - idle_w).max(0.0));
                }
            }
            let power = MeasuredPower { idle_w, dynamic_w };
            self.report.processors[index].power = Some(power);
        }
        Ok(())
    }

    /// Processors beside each other, and queues of one beside each other.
    fn together(&mut self) -> Result<(), Stopped> {
        let machine = self.machine;
        let count = machine.stations.len();
        let sets = (1_usize << count) - 1;
        let open = count * self.request.queues + sets;
        for (index, station) in machine.stations.iter().enumerate() {
            self.tell("queues", index, count);
            let slot = self.slot(1.0, open);
            let mut mixes = Vec::new();
            let mut queues = Vec::new();
            for _ in 0..self.request.queues {
                mixes.push(self.mix(index)?);
                queues.push(
                    station
                        .context
                        .queue(Device::new(station.bound.id), QueueOrder::InOrder)?,
                );
            }
            if queues.len() > 1 {
                self.report.processors[index].sharing =
                    sharing(&mut mixes, &queues, slot, self.interrupted)?;
            }
        }
        if count > 1 {
            self.tell("processors together", 0, 1);
            let mut mixes = Vec::new();
            for index in 0..count {
                mixes.push(self.mix(index)?);
            }
            let slot = self.slot(1.0, sets);
            self.report.contention = contention(&mut mixes, slot, self.interrupted)?;
        }
        Ok(())
    }

    /// The tasks that a processor spends most time on, in the order of the network.
    fn mix(&mut self, index: usize) -> Result<Mix<'r>, Stopped> {
        let station = &self.machine.stations[index];
        let measured = self
            .report
            .tasks
            .iter()
            .filter(|task| task.station == index);
        let tasks = measured.filter(|task| task.occurrences > 0).map(|task| {
            let seconds = task.seconds.median * real(task.occurrences);
            (seconds, Share::Task(task.workload))
        });
        let kernels = self.report.kernels.iter();
        let kernels = kernels
            .filter(|kernel| kernel.station == index)
            .map(|kernel| {
                let seconds = kernel.seconds.median * real(kernel.occurrences);
                (seconds, Share::Kernel(kernel.distinct))
            });
        let mut shares: Vec<(f64, Share)> = tasks.chain(kernels).collect();
        shares.sort_by(|one, other| other.0.total_cmp(&one.0));
        let all: f64 = shares.iter().map(|(seconds, _)| seconds).sum();
        let mut chosen = Vec::new();
        let mut sum = 0.0;
        for (seconds, share) in shares {
            if chosen.len() >= MIX.0 || sum >= MIX.1 * all {
                break;
            }
            sum += seconds;
            chosen.push(share);
        }
        chosen.sort_unstable();
        let mut chains = Vec::new();
        for share in chosen {
            let chain = match share {
                Share::Task(workload) => self.chain(&self.workloads[workload], station),
                Share::Kernel(distinct) => Ok(self.kernel_chain(distinct, index)?),
            };
            match chain {
                Ok(chain) => chains.push(chain),
                // What fits once may not fit once a queue.
                Err(Refused::Unsupported(_) | Refused::Failed(OpenclError::OutOfMemory { .. })) => {
                }
                Err(Refused::Failed(error)) => return Err(Stopped::Failed(error)),
            }
        }
        Ok(Mix {
            name: &station.bound.processor,
            queue: &station.queue,
            chains,
        })
    }
}

/// What a processor spends time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Share {
    /// A distinct task, by index.
    Task(usize),
    /// A distinct kernel, by index.
    Kernel(usize),
}

/// Why a task is not measured.
enum Refused {
    Unsupported(Unsupported),
    Failed(OpenclError),
}

impl From<Unsupported> for Refused {
    fn from(unsupported: Unsupported) -> Self {
        Self::Unsupported(unsupported)
    }
}

impl From<OpenclError> for Refused {
    fn from(error: OpenclError) -> Self {
        Self::Failed(error)
    }
}
