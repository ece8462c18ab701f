//! Frames of a kernel graph, driven by a policy and by callbacks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use opencl3::command_queue::CommandQueue;
use opencl3::device::Device as ClDevice;
use opencl3::event::Event;
use opencl3::types::{cl_device_id, cl_event};
use paracompile_frontend::components::Components;
use paracompile_frontend::import::kernels::{Device, KernelId};
use paracompile_frontend::ir::{OpId, TensorId};

use super::cost::Costs;
use super::error::ScheduleError;
use super::outcome::{Executed, Scheduled, What};
use super::policy::{Choice, Policy, Situation, Unit};
use super::workspace::Workspace;
use crate::execute::{Bound, Clock, Countdown, Ended, Sharing, Watcher, notify, offset};
use crate::opencl::{Context, DeviceKind, Doing, OpenclError, QueueOrder, code_name};
use crate::users::{KernelProgram, Placed, judge};

/// A device and how many queues it gets.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Its name and the device.
    pub bound: Bound,
    /// Command queues.
    pub queues: usize,
}

impl Resource {
    /// A GPU or a CPU by its name, or else by what it is.
    pub fn kind(&self) -> Device {
        let name = self.bound.processor.as_str();
        match (name, self.bound.device.kind) {
            ("gpu", _) | (_, DeviceKind::Gpu | DeviceKind::Accelerator) if name != "cpu" => {
                Device::Gpu
            }
            (_, DeviceKind::Cpu | DeviceKind::Gpu | DeviceKind::Accelerator) => Device::Cpu,
        }
    }

    /// What policies see of it.
    fn unit(&self) -> Unit {
        Unit {
            name: self.bound.processor.clone(),
            kind: self.kind(),
        }
    }
}

/// Everything that frames need.
#[derive(Debug)]
pub(super) struct Engine<'p> {
    program: &'p KernelProgram,
    pub(super) devices: Vec<Unit>,
    /// Queues of each device.
    queues: Vec<Vec<CommandQueue>>,
    /// How many of them components are put on.
    open_queues: Vec<usize>,
    watchers: Vec<Option<Watcher>>,
    /// Device time to host time.
    offsets: Vec<i64>,
    context_of: Vec<usize>,
    contexts: usize,
    workspace: Workspace,
    clock: Clock,
    patience: Duration,
}

/// What a policy needs to know beside the situation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'k> {
    pub(super) components: &'k Components,
    pub(super) costs: &'k Costs,
    /// Of components.
    pub(super) ranks: &'k [i64],
}

impl<'p> Engine<'p> {
    /// Builds all kernels for all devices.
    pub(super) fn new(
        program: &'p KernelProgram,
        resources: &[Resource],
        sharing: Sharing,
        patience: Duration,
    ) -> Result<Self, ScheduleError> {
        let mut platforms: Vec<((usize, usize), Vec<cl_device_id>)> = Vec::new();
        let mut context_of = Vec::new();
        for (index, resource) in resources.iter().enumerate() {
            let own = match sharing {
                Sharing::Platform => 0,
                Sharing::Memory => index,
            };
            let platform = (resource.bound.device.platform_index, own);
            let known = platforms.iter().position(|(known, _)| *known == platform);
            let context = known.unwrap_or_else(|| {
                platforms.push((platform, Vec::new()));
                platforms.len() - 1
            });
            let devices = &mut platforms[context].1;
            if !devices.contains(&resource.bound.id) {
                devices.push(resource.bound.id);
            }
            context_of.push(context);
        }
        let contexts = platforms
            .iter()
            .enumerate()
            .map(|(index, (_, devices))| Ok(Arc::new(Context::numbered(index, devices)?)))
            .collect::<Result<Vec<_>, OpenclError>>()?;
        let kernels = || program.linked.graph.kernels.iter().map(|(id, _)| id);
        let placed = resources
            .iter()
            .zip(&context_of)
            .flat_map(|(resource, &context)| {
                let context = &contexts[context];
                kernels().map(move |kernel| Placed {
                    kernel,
                    context,
                    device: resource.bound.id,
                })
            });
        judge(program, &placed.collect::<Vec<_>>())?;
        let workspace = Workspace::new(program, &contexts)?;
        let clock = Clock::start();
        let (mut queues, mut offsets, mut watchers) = (Vec::new(), Vec::new(), Vec::new());
        for (resource, &context) in resources.iter().zip(&context_of) {
            let device = ClDevice::new(resource.bound.id);
            let own = (0..resource.queues.max(1))
                .map(|_| contexts[context].queue(device, QueueOrder::InOrder))
                .collect::<Result<Vec<_>, _>>()?;
            offsets.push(offset(&own[0], clock)?);
            queues.push(own);
            watchers.push(Watcher::for_device(resource.bound.device.kind));
        }
        Ok(Self {
            program,
            devices: resources.iter().map(Resource::unit).collect(),
            open_queues: queues.iter().map(Vec::len).collect(),
            queues,
            watchers,
            offsets,
            context_of,
            contexts: contexts.len(),
            workspace,
            clock,
            patience,
        })
    }

    /// Sets the contents of all inputs, for all frames.
    pub(super) fn set_inputs(&mut self, inputs: &[Vec<u8>]) {
        for (&tensor, contents) in self.program.graph.inputs.iter().zip(inputs) {
            self.workspace.set(tensor, contents);
        }
    }

    /// Puts components on the first queues of each device alone, so many of them and at least one.
    pub(super) fn open_queues(&mut self, counts: &[usize]) {
        let counts = counts.iter().zip(&self.queues);
        self.open_queues = counts
            .map(|(&count, queues)| count.clamp(1, queues.len()))
            .collect();
    }

    /// What the last frame left.
    pub(super) fn outputs(&self) -> Vec<Vec<u8>> {
        let outputs = self.program.graph.outputs.iter();
        outputs.map(|&tensor| self.workspace.get(tensor)).collect()
    }

    /// Runs one frame; nothing where the user ended it.
    pub(super) fn frame(
        &self,
        policy: &mut dyn Policy,
        known: Known<'_>,
        interrupted: &AtomicBool,
    ) -> Result<Option<Scheduled>, ScheduleError> {
        let (sender, receiver) = channel();
        let mut frame = Frame::new(self, known, sender);
        let outcome = frame.run(policy, &receiver, interrupted);
        match outcome {
            Ok(true) => Ok(Some(frame.times()?)),
            Ok(false) => {
                std::mem::forget(frame);
                Ok(None)
            }
            Err(error) => {
                // Drivers do not expect events to be released that have not ended; PoCL 3.1 aborts.
                std::mem::forget(frame);
                Err(error)
            }
        }
    }
}

/// A component has ended on a device.
struct Over {
    component: usize,
    device: usize,
    how: Ended,
}

/// A command that was enqueued.
struct Issued {
    kernel: KernelId,
    what: What,
    device: usize,
    queue: usize,
    first: Event,
    last: Option<Event>,
}

impl Issued {
    fn end(&self) -> cl_event {
        self.last.as_ref().unwrap_or(&self.first).get()
    }
}

struct Frame<'f, 'p> {
    engine: &'f Engine<'p>,
    known: Known<'f>,
    sender: Sender<Over>,
    /// Parents of each component that have not ended.
    open: Vec<usize>,
    frontier: BTreeSet<usize>,
    running: Vec<Option<usize>>,
    begun: Vec<i64>,
    /// Commands, in the order in which they were enqueued.
    issued: Vec<Issued>,
    /// Contexts that have a tensor, with the command that brought it.
    present: BTreeMap<(TensorId, usize), usize>,
    /// The command of each kernel that was launched.
    launched: Vec<Option<usize>>,
    origin: i64,
    host_ns: i64,
    total_ns: i64,
}

impl<'f, 'p> Frame<'f, 'p> {
    fn new(engine: &'f Engine<'p>, known: Known<'f>, sender: Sender<Over>) -> Self {
        let all = &known.components.all;
        let open: Vec<usize> = all.iter().map(|one| one.parents.len()).collect();
        Self {
            engine,
            known,
            sender,
            frontier: (0..open.len()).filter(|&one| open[one] == 0).collect(),
            open,
            running: vec![None; engine.devices.len()],
            begun: vec![0; engine.devices.len()],
            issued: Vec::new(),
            present: BTreeMap::new(),
            launched: vec![None; engine.program.graph.ops.len()],
            origin: engine.clock.now(),
            host_ns: 0,
            total_ns: 0,
        }
    }

    /// Whether everything ran; not where the user ended it.
    fn run(
        &mut self,
        policy: &mut dyn Policy,
        ends: &Receiver<Over>,
        interrupted: &AtomicBool,
    ) -> Result<bool, ScheduleError> {
        const MOMENT: Duration = Duration::from_millis(50);
        let mut left = self.known.components.all.len();
        let mut progress = Instant::now();
        while left > 0 {
            let is_over = interrupted.load(Ordering::Relaxed);
            if is_over && self.running.iter().all(Option::is_none) {
                return Ok(false);
            }
            if !is_over {
                self.choose(policy)?;
            }
            let over = match ends.recv_timeout(MOMENT) {
                Ok(over) => over,
                Err(RecvTimeoutError::Timeout) if progress.elapsed() < self.engine.patience => {
                    continue;
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(ScheduleError::Stuck(self.engine.patience.as_secs()));
                }
            };
            progress = Instant::now();
            self.end(&over)?;
            left -= 1;
        }
        self.total_ns = self.engine.clock.now() - self.origin;
        Ok(true)
    }

    /// Begins components as long as the policy names any.
    fn choose(&mut self, policy: &mut dyn Policy) -> Result<(), ScheduleError> {
        loop {
            let started = self.engine.clock.now();
            let frontier: Vec<usize> = self.frontier.iter().copied().collect();
            let is_free = |device: &usize| self.running[*device].is_none();
            let free: Vec<usize> = (0..self.running.len()).filter(is_free).collect();
            if frontier.is_empty() || free.is_empty() {
                return Ok(());
            }
            let choice = policy.select(&Situation {
                frontier: &frontier,
                free: &free,
                devices: &self.engine.devices,
                components: self.known.components,
                costs: self.known.costs,
                ranks: self.known.ranks,
                now: started - self.origin,
                begun: &self.begun,
                running: &self.running,
            });
            let Some(Choice { component, device }) = choice else {
                self.host_ns += self.engine.clock.now() - started;
                let is_idle = self.running.iter().all(Option::is_none);
                let frontier = frontier.len();
                return if is_idle {
                    Err(ScheduleError::Idle { frontier })
                } else {
                    Ok(())
                };
            };
            let why = match (frontier.contains(&component), free.contains(&device)) {
                (false, _) => Some("that is not ready"),
                (true, false) => Some("that is not free"),
                (true, true) => None,
            };
            if let Some(why) = why {
                return Err(ScheduleError::Choice {
                    component,
                    device,
                    why,
                });
            }
            self.frontier.remove(&component);
            self.running[device] = Some(component);
            self.begun[device] = started - self.origin;
            self.dispatch(component, device)?;
            self.host_ns += self.engine.clock.now() - started;
        }
    }

    /// Puts the kernels of a component round-robin on the queues of a device, and asks to be told of its end.
    fn dispatch(&mut self, component: usize, device: usize) -> Result<(), ScheduleError> {
        let queues = &self.engine.queues[device][..self.engine.open_queues[device]];
        let kernels = &self.known.components.all[component].kernels;
        let mut last: BTreeMap<usize, usize> = BTreeMap::new();
        for (place, &kernel) in kernels.iter().enumerate() {
            let queue = place % queues.len();
            self.enqueue(component, kernel, device, queue)?;
            // The device begins with the first while the others are enqueued.
            if last.insert(queue, self.issued.len() - 1).is_none() {
                flush(&queues[queue])?;
            }
        }
        for &queue in last.keys() {
            flush(&queues[queue])?;
        }
        let sender = self.sender.clone();
        let countdown = Countdown::new(last.len(), move |how| {
            // Nobody listens any more where the frame was given up.
            let _gone = sender.send(Over {
                component,
                device,
                how,
            });
        });
        for &command in last.values() {
            let countdown = Arc::clone(&countdown);
            let watcher = self.engine.watchers[device].as_ref();
            notify(watcher, self.issued[command].end(), move |how| {
                countdown.tick(how);
            })?;
        }
        Ok(())
    }

    /// Writes what a kernel reads and is not there yet, launches it, and reads what others need on the host.
    fn enqueue(
        &mut self,
        component: usize,
        kernel: KernelId,
        device: usize,
        queue: usize,
    ) -> Result<(), ScheduleError> {
        let engine = self.engine;
        let graph = &engine.program.graph;
        let op = &graph.ops[OpId::from_index(kernel.index())];
        let context = engine.context_of[device];
        let own = &engine.queues[device][queue];
        let mut waits: BTreeSet<usize> = BTreeSet::new();
        for &tensor in op.inputs.iter().flatten() {
            let writer = engine.workspace.writer[tensor.index()];
            let is_inside = |writer: usize| self.known.components.of[writer] == component;
            if let Some(writer) = writer.filter(|&writer| is_inside(writer)) {
                waits.extend(self.launched[writer]);
                continue;
            }
            if graph.tensors[tensor].bytes.count() == 0
                || engine.workspace.is_shared(tensor, context)
            {
                continue;
            }
            // What another component left or wrote is there, since that has ended or its queue says so.
            if let Some(&command) = self.present.get(&(tensor, context)) {
                waits.insert(command);
            } else {
                let event = engine.workspace.write(own, tensor, context)?;
                self.present.insert((tensor, context), self.issued.len());
                self.issue(kernel, What::Write, (device, queue), event, None);
            }
        }
        let elsewhere = |command: &&usize| {
            let issued = &self.issued[**command];
            (issued.device, issued.queue) != (device, queue)
        };
        let waits: Vec<cl_event> = waits
            .iter()
            .filter(elsewhere)
            .map(|&command| self.issued[command].end())
            .collect();
        let (mut first, mut last): (Option<Event>, Option<Event>) = (None, None);
        for launch in engine.workspace.launches(kernel, context) {
            if first.is_none() {
                first = Some(launch.enqueue(own, &waits)?);
            } else {
                last = Some(launch.enqueue(own, &[])?);
            }
        }
        let first = first.expect("a kernel is a launch");
        self.launched[kernel.index()] = Some(self.issued.len());
        self.issue(kernel, What::Launch, (device, queue), first, last);
        for &tensor in &op.outputs {
            let command = self.launched[kernel.index()].unwrap_or_default();
            self.present.insert((tensor, context), command);
            if self.is_read_back(component, tensor, context) {
                let event = engine.workspace.read(own, tensor, context, &[])?;
                self.issue(kernel, What::Read, (device, queue), event, None);
            }
        }
        Ok(())
    }

    /// Whether the host needs what a kernel wrote: it is an output, or a component that may be in another context reads it.
    fn is_read_back(&self, component: usize, tensor: TensorId, context: usize) -> bool {
        let engine = self.engine;
        if engine.workspace.is_shared(tensor, context)
            || engine.program.graph.tensors[tensor].bytes.count() == 0
        {
            return false;
        }
        let readers = &engine.workspace.readers[tensor.index()];
        let is_outside = |&reader: &usize| self.known.components.of[reader] != component;
        readers.is_empty() || (engine.contexts > 1 && readers.iter().any(is_outside))
    }

    fn issue(
        &mut self,
        kernel: KernelId,
        what: What,
        (device, queue): (usize, usize),
        first: Event,
        last: Option<Event>,
    ) {
        self.issued.push(Issued {
            kernel,
            what,
            device,
            queue,
            first,
            last,
        });
    }

    /// A component has ended: its children may be ready, and its device is free.
    fn end(&mut self, over: &Over) -> Result<(), ScheduleError> {
        let component = &self.known.components.all[over.component];
        if let Err(code) = over.how {
            let first = component.kernels.first();
            let name = first.map(|&kernel| self.engine.program.kernel(kernel).name.clone());
            return Err(ScheduleError::Failed {
                kernel: name.unwrap_or_default(),
                device: self.engine.devices[over.device].name.clone(),
                reason: code_name(code),
            });
        }
        self.running[over.device] = None;
        for &child in &component.children {
            self.open[child] -= 1;
            if self.open[child] == 0 {
                self.frontier.insert(child);
            }
        }
        Ok(())
    }

    /// When everything ran.
    fn times(&self) -> Result<Scheduled, OpenclError> {
        let doing = || "asking for the times of a command".to_owned();
        let mut commands = Vec::new();
        for issued in &self.issued {
            let last = issued.last.as_ref().unwrap_or(&issued.first);
            let start = issued.first.profiling_command_start().doing(doing)?;
            let end = last.profiling_command_end().doing(doing)?;
            let since = |device: u64| {
                let host = i64::try_from(device).unwrap_or(i64::MAX);
                host.saturating_add(self.engine.offsets[issued.device]) - self.origin
            };
            let kernel = self.engine.program.kernel(issued.kernel);
            commands.push(Executed {
                kernel: kernel.name.clone(),
                function: kernel.function.clone(),
                index: issued.kernel.index(),
                component: self.known.components.of[issued.kernel.index()],
                what: issued.what,
                device: self.engine.devices[issued.device].name.clone(),
                unit: issued.device,
                queue: issued.queue,
                start_ns: since(start),
                end_ns: since(end),
            });
        }
        let first = commands.iter().map(|one| one.start_ns).min().unwrap_or(0);
        let last = commands.iter().map(|one| one.end_ns).max().unwrap_or(0);
        Ok(Scheduled {
            total_ns: self.total_ns,
            device_span_ns: last - first,
            host_ns: self.host_ns,
            commands,
        })
    }
}

fn flush(queue: &CommandQueue) -> Result<(), OpenclError> {
    queue.flush().doing(|| "submitting a component".to_owned())
}
