//! Everything that is done once: contexts, queues, memory, weights, and launches with their arguments for every copy.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use opencl3::command_queue::CommandQueue;
use opencl3::device::Device;
use paracompile_frontend::import::onnx::{Program, ValueId};
use paracompile_frontend::ir::TensorId;
use paracompile_plan::plan::{Buffer, BufferKind, Plan};

use crate::host_memory;
use crate::launch::{Launch, Place, Places, launches, users_launches};
use crate::lower::{Lowered, Phase, Scratch, Spec, Unsupported, Wire, joins_blocks, lower_task};
use crate::opencl::{Context, DeviceKind, Doing, Memory, OpenclError, QueueOrder, write};
use crate::users::{KernelProgram, KernelTask, Placed, ResolvedTask, Resolver, judge};

use super::RunError;
use super::clock::{Clock, offset};
use super::delay::{self, Delays};
use super::memory::{Bound, Home, Join, Layout, Sharing, Store, is_compute};
use super::moves::Mover;
use super::order::{Node, Order, Work, order};
use super::planned::{Lookup, Planned, Source};
use super::watch::Watcher;

/// How a plan is prepared.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Frames under way at most: a power of two, and more than stages for full throughput.
    pub depth: usize,
    /// Random delays before tasks, to try out orders that do not happen by themselves.
    pub delays: Option<Delays>,
    /// Whose devices share a context.
    pub sharing: Sharing,
    /// When tasks that wait for the host are enqueued.
    pub enqueueing: Enqueueing,
    /// A frame, and a task that fails in it, to try out what becomes of the run.
    pub fault: Option<(usize, u32)>,
}

/// When tasks that wait for another context or for a move are enqueued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enqueueing {
    /// Ahead on CPUs, whose driver is quick about it, and when they are ready on GPUs.
    #[default]
    ByDevice,
    /// Ahead, behind an event that the host ends.
    Ahead,
    /// When what they wait for has ended.
    WhenReady,
}

impl Enqueueing {
    fn is_ahead(self, kind: DeviceKind) -> bool {
        match (self, kind) {
            (Self::Ahead, _) | (Self::ByDevice, DeviceKind::Cpu) => true,
            (Self::WhenReady, _) | (Self::ByDevice, DeviceKind::Gpu | DeviceKind::Accelerator) => {
                false
            }
        }
    }
}

impl Options {
    /// Enough frames under way to keep every stage of `plan` busy.
    pub fn for_plan(plan: &Plan) -> Self {
        Self {
            depth: (plan.stages.len() + 2).next_power_of_two(),
            delays: None,
            sharing: Sharing::default(),
            enqueueing: Enqueueing::default(),
            fault: None,
        }
    }
}

/// A plan with everything that a frame enqueues.
#[derive(Debug)]
pub struct Prepared {
    pub(super) order: Order,
    pub(super) layout: Layout,
    pub(super) options: Options,
    /// By node.
    pub(super) nodes: Vec<Enqueued>,
    /// By queue of the plan; compute queues alone.
    pub(super) queues: Vec<Option<CommandQueue>>,
    /// Who learns of the ends of its events, by queue of the plan; the driver calls back where there is nobody.
    pub(super) watchers: Vec<Option<Watcher>>,
    /// A queue in order of each context, for the host's own reads and writes.
    pub(super) host_queues: Vec<CommandQueue>,
    /// Device time to host time, by queue of the plan.
    pub(super) offsets: Vec<i64>,
    pub(super) stores: Vec<Vec<Store>>,
    pub(super) movers: BTreeMap<u32, Mover>,
    pub(super) clock: Clock,
    /// Delay launches by queue, of several lengths.
    pub(super) delays: BTreeMap<u32, Vec<Launch>>,
    /// Contexts, other than that of a task itself, of tasks that wait for it, by node.
    pub(super) foreign: Vec<Vec<usize>>,
    /// Whether tasks are enqueued before all that they wait for has ended, by context.
    pub(super) is_ahead: Vec<bool>,
    /// Whether the node is the first of a frame on its queue, by node.
    pub(super) is_first: Vec<bool>,
    /// Whether the host waits for the node, by node: a stage ends with it.
    pub(super) is_last: Vec<bool>,
    /// What people call the nodes.
    pub(super) labels: Vec<String>,
    /// Inputs of the network.
    pub inputs: Vec<Port>,
    /// Outputs of the network.
    pub outputs: Vec<Port>,
    /// Bytes that were allocated, by context; the last entry is the host's.
    pub allocated: Vec<u64>,
    /// Kernel launches a frame.
    pub launches: usize,
}

/// An input or output of the network.
#[derive(Clone, Debug)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Type and extents.
    pub spec: Spec,
    /// The buffer that holds it.
    pub(super) buffer: u32,
}

/// What a node enqueues.
#[derive(Debug)]
pub(super) enum Enqueued {
    /// Launches on a queue, by frame modulo their number.
    Task {
        queue: u32,
        context: usize,
        variants: Vec<Vec<Launch>>,
    },
    /// A move between contexts.
    Move {
        mover: u32,
        from: u32,
        to: u32,
        bytes: usize,
    },
}

/// Prepares `plan` on bound devices; `constants` has the bytes of every constant that operators read.
pub fn prepare(
    plan: &Plan,
    program: &Program,
    bound: &[Bound],
    constants: &BTreeMap<ValueId, Vec<u8>>,
    options: Options,
) -> Result<Prepared, RunError> {
    let lookup = Lookup::new(program);
    let planned = resolve(plan, &lookup)?;
    let lowered = lower_all(plan, &planned, bound)?;
    let joins = joins(&planned);
    let layout = Layout::new(plan, bound, options.depth, options.sharing, &joins, &[])?;
    let tasks = planned.iter().zip(lowered).map(|(planned, lowered)| Ready {
        label: task_label(planned),
        operands: planned.operands.clone(),
        results: planned.results.clone(),
        launched: Launched::Lowered(lowered),
    });
    let tasks: Vec<Ready> = tasks.collect();
    let graph = &program.imported.graph;
    let ports = Ports {
        inputs: ports(plan, &lookup, &graph.inputs, BufferKind::Input)?,
        outputs: ports(plan, &lookup, &graph.outputs, BufferKind::Output)?,
    };
    let mut builder = Builder::new(plan, bound, layout, Clock::start(), options.enqueueing)?;
    builder.allocate()?;
    builder.write_weights(&lookup, constants)?;
    let prepared = builder.build(&tasks, constants, ports, options)?;
    prepared.launch_each_once()?;
    Ok(prepared)
}

/// Prepares a plan of a kernel graph on bound devices.
pub fn prepare_kernels(
    plan: &Plan,
    program: &KernelProgram,
    bound: &[Bound],
    options: Options,
) -> Result<Prepared, RunError> {
    let resolver = Resolver::new(program);
    let layout = judged(plan, program, bound, options, &resolver)?;
    let tasks = plan.tasks.iter().map(|task| {
        let is_same = |one, other| layout.is_same(one, other);
        let ResolvedTask {
            task,
            operands,
            results,
            label,
        } = resolver.task(plan, task, &is_same)?;
        Ok(Ready {
            label,
            operands,
            results,
            launched: Launched::Kernels(task),
        })
    });
    let tasks = tasks.collect::<Result<Vec<Ready>, RunError>>()?;
    let ports = Ports {
        inputs: kernel_buffers(plan, program, &program.graph.inputs, BufferKind::Input)?,
        outputs: kernel_buffers(plan, program, &program.graph.outputs, BufferKind::Output)?,
    };
    let mut builder = Builder::new(plan, bound, layout, Clock::start(), options.enqueueing)?;
    builder.allocate()?;
    // Nothing is launched on what is not there yet: a user's kernel may follow indices.
    builder.build(&tasks, &BTreeMap::new(), ports, options)
}

/// Builds the sources of the kernels that a plan runs, each for its device, and tells all that keeps them from running.
pub fn try_kernels(
    plan: &Plan,
    program: &KernelProgram,
    bound: &[Bound],
    options: Options,
) -> Result<(), RunError> {
    judged(plan, program, bound, options, &Resolver::new(program)).map(drop)
}

/// Where everything lies, once all kernels are found to run there.
fn judged(
    plan: &Plan,
    program: &KernelProgram,
    bound: &[Bound],
    options: Options,
    resolver: &Resolver<'_>,
) -> Result<Layout, RunError> {
    let updates = resolver.updates(plan)?;
    let layout = Layout::new(plan, bound, options.depth, options.sharing, &[], &updates)?;
    let mut placed = Vec::new();
    for task in &plan.tasks {
        let processor = &plan.queues[task.queue as usize].processor;
        let bound = bound.iter().find(|bound| bound.processor == *processor);
        let bound = bound.ok_or_else(|| RunError::Unbound(processor.clone()))?;
        for kernel in resolver.kernels(task)? {
            placed.push(Placed {
                kernel,
                context: &layout.contexts[layout.context_of[processor]],
                device: bound.id,
            });
        }
    }
    judge(program, &placed)?;
    Ok(layout)
}

/// A task with everything that it needs to be launched.
struct Ready {
    label: String,
    /// What its operands are, by position.
    operands: Vec<Source>,
    /// The buffers of its results, by position.
    results: Vec<u32>,
    launched: Launched,
}

/// What a task launches.
enum Launched {
    /// Our own kernels.
    Lowered(Lowered),
    /// A user's.
    Kernels(KernelTask),
}

impl Launched {
    fn scratch(&self) -> &[Scratch] {
        match self {
            Self::Lowered(lowered) => &lowered.scratch,
            Self::Kernels(task) => &task.scratch,
        }
    }

    fn tables(&self) -> &[Vec<u8>] {
        match self {
            Self::Lowered(lowered) => &lowered.tables,
            Self::Kernels(_) => &[],
        }
    }

    fn launches(
        &self,
        context: &Context,
        places: &Places,
        phase: Phase,
    ) -> Result<Vec<Launch>, OpenclError> {
        match (self, phase) {
            (Self::Lowered(lowered), _) => launches(context, lowered, places, phase),
            (Self::Kernels(task), Phase::Frame) => users_launches(context, task, places),
            (Self::Kernels(_), Phase::Setup) => Ok(Vec::new()),
        }
    }
}

/// Where frames come in and go out.
struct Ports {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

fn resolve<'p>(plan: &Plan, lookup: &Lookup<'p>) -> Result<Vec<Planned<'p>>, RunError> {
    plan.tasks
        .iter()
        .map(|task| lookup.task(plan, task))
        .collect()
}

/// Lowers every task for its device; all that cannot be is reported at once.
fn lower_all(
    plan: &Plan,
    planned: &[Planned<'_>],
    bound: &[Bound],
) -> Result<Vec<Lowered>, RunError> {
    let mut lowered = Vec::new();
    let mut unsupported: Vec<Unsupported> = Vec::new();
    for (task, planned) in plan.tasks.iter().zip(planned) {
        let processor = &plan.queues[task.queue as usize].processor;
        let bound = bound.iter().find(|bound| bound.processor == *processor);
        let bound = bound.ok_or_else(|| RunError::Unbound(processor.clone()))?;
        match lower_task(&planned.task, &bound.target()) {
            Ok(found) => lowered.push(found),
            Err(error) => unsupported.push(error),
        }
    }
    if unsupported.is_empty() {
        Ok(lowered)
    } else {
        Err(RunError::Unsupported(unsupported))
    }
}

/// Concatenations whose operands would lie in the result one after another.
fn joins(planned: &[Planned<'_>]) -> Vec<Join> {
    let join = |(task, planned): (usize, &Planned<'_>)| {
        let ([site], [result]) = (planned.task.sites.as_slice(), planned.results.as_slice()) else {
            return None;
        };
        let extents = &site.results.first()?.as_ref()?.shape;
        if !joins_blocks(site.call, extents) {
            return None;
        }
        let operands = planned.task.operands[0].iter().map(|wire| match wire {
            Some(Wire::Outside(position)) => match planned.operands[*position] {
                Source::Buffer(buffer) => Some(buffer),
                Source::Constant(_) => None,
            },
            Some(Wire::Inside { .. }) | None => None,
        });
        Some(Join {
            task,
            result: *result,
            operands: operands.collect::<Option<_>>()?,
        })
    };
    planned.iter().enumerate().filter_map(join).collect()
}

/// Size of an element of a buffer.
fn element_bytes(buffer: &Buffer) -> u64 {
    let elements: u64 = buffer.shape.iter().product();
    buffer
        .bytes
        .count()
        .checked_div(elements)
        .unwrap_or(1)
        .max(1)
}

fn task_label(planned: &Planned<'_>) -> String {
    let names = planned
        .task
        .sites
        .iter()
        .map(|site| site.call.name.as_str());
    names.collect::<Vec<_>>().join(" + ")
}

/// Whether tasks are enqueued before all that they wait for has ended, by context.
fn is_ahead(layout: &Layout, bound: &[Bound], enqueueing: Enqueueing) -> Vec<bool> {
    let mut is_ahead = vec![true; layout.contexts.len()];
    for bound in bound {
        if let Some(&context) = layout.context_of.get(&bound.processor) {
            is_ahead[context] &= enqueueing.is_ahead(bound.device.kind);
        }
    }
    is_ahead
}

struct Builder<'b> {
    plan: &'b Plan,
    layout: Layout,
    is_ahead: Vec<bool>,
    queues: Vec<Option<CommandQueue>>,
    watchers: Vec<Option<Watcher>>,
    host_queues: Vec<CommandQueue>,
    offsets: Vec<i64>,
    clock: Clock,
    stores: Vec<Vec<Store>>,
    allocated: Vec<u64>,
    /// Scratch that tasks of a queue share, by slot, since they run one after another.
    pools: HashMap<(u32, usize), Arc<Memory>>,
    /// Constants that the plan does not count, by context.
    extra: HashMap<(ValueId, usize), Arc<Memory>>,
}

impl<'b> Builder<'b> {
    fn new(
        plan: &'b Plan,
        bound: &[Bound],
        layout: Layout,
        clock: Clock,
        enqueueing: Enqueueing,
    ) -> Result<Self, RunError> {
        let mut queues = Vec::new();
        let mut watchers = Vec::new();
        let mut offsets = Vec::new();
        // Parts of a device have its clock, so what runs on them is ordered exactly.
        let mut known: HashMap<usize, i64> = HashMap::new();
        for (index, queue) in plan.queues.iter().enumerate() {
            let is_compute = is_compute(plan, u32::try_from(index).unwrap_or(u32::MAX));
            let bound = bound
                .iter()
                .find(|bound| bound.processor == queue.processor);
            let (Some(bound), true) = (bound, is_compute) else {
                queues.push(None);
                watchers.push(None);
                offsets.push(0);
                continue;
            };
            let context = &layout.contexts[layout.context_of[&bound.processor]];
            let queue = context.queue(Device::new(bound.id), QueueOrder::InOrder)?;
            let device = bound.device.index;
            let of_device = match known.get(&device) {
                Some(&known) => known,
                None => offset(&queue, clock)?,
            };
            known.insert(device, of_device);
            offsets.push(of_device);
            queues.push(Some(queue));
            watchers.push(Watcher::for_device(bound.device.kind));
        }
        let host_queues = layout
            .contexts
            .iter()
            .map(|context| context.queue(context.first_device(), QueueOrder::InOrder))
            .collect::<Result<Vec<_>, _>>()?;
        let contexts = layout.contexts.len();
        Ok(Self {
            plan,
            is_ahead: is_ahead(&layout, bound, enqueueing),
            layout,
            queues,
            watchers,
            host_queues,
            offsets,
            clock,
            stores: Vec::new(),
            allocated: vec![0; contexts + 1],
            pools: HashMap::new(),
            extra: HashMap::new(),
        })
    }

    fn context_of_queue(&self, queue: u32) -> usize {
        let processor = &self.plan.queues[queue as usize].processor;
        self.layout.context_of[processor]
    }

    /// Memory for all buffers but workspaces, which are as large as a model of the chip says and not as our kernels need.
    fn allocate(&mut self) -> Result<(), RunError> {
        let mut is_used = vec![false; self.plan.buffers.len()];
        for (index, buffer) in self.plan.buffers.iter().enumerate() {
            if buffer.kind != BufferKind::Workspace {
                is_used[self.layout.places[index].0] = true;
            }
        }
        self.check_sizes(&is_used)?;
        let partners = self.layout.partners(self.plan);
        for (piece, is_used) in is_used.into_iter().enumerate() {
            let copies = if is_used {
                self.layout.copies[piece]
            } else {
                0
            };
            let mut stores = Vec::new();
            for _ in 0..copies {
                stores.push(self.layout.allocate(piece, partners[piece])?);
                let at = match self.layout.piece_homes[piece] {
                    Home::Context(context) => context,
                    Home::Host => self.allocated.len() - 1,
                };
                self.allocated[at] += self.layout.bytes[piece] as u64;
            }
            self.stores.push(stores);
        }
        Ok(())
    }

    /// Refuses buffers that take more than the host, or a device with memory of its own, has.
    fn check_sizes(&self, is_used: &[bool]) -> Result<(), RunError> {
        let mut names: Vec<(&str, u64)> = vec![("", 0); is_used.len()];
        for (buffer, &(piece, _)) in self.plan.buffers.iter().zip(&self.layout.places) {
            if buffer.bytes.count() >= names[piece].1 {
                names[piece] = (&buffer.tensor, buffer.bytes.count());
            }
        }
        let mut on_host = Vec::new();
        let mut on_devices = vec![Vec::new(); self.layout.contexts.len()];
        for (piece, (name, _)) in names.into_iter().enumerate() {
            if !is_used[piece] {
                continue;
            }
            let copies = self.layout.copies[piece];
            let bytes = self.layout.bytes[piece].saturating_mul(copies);
            let part = (format!("{copies} × {name}"), bytes as u64);
            match self.layout.piece_homes[piece] {
                Home::Context(context) if !self.layout.contexts[context].is_zero_copy() => {
                    on_devices[context].push(part);
                }
                Home::Context(_) | Home::Host => on_host.push(part),
            }
        }
        host_memory::check(on_host)?;
        for (context, parts) in self.layout.contexts.iter().zip(on_devices) {
            let device = context.first_device().global_mem_size();
            host_memory::fits(parts, device.unwrap_or(u64::MAX))?;
        }
        Ok(())
    }

    fn new_memory(&mut self, context: usize, bytes: usize) -> Result<Arc<Memory>, OpenclError> {
        self.allocated[context] += bytes as u64;
        self.layout.contexts[context].allocate(bytes)
    }

    fn write_weights(
        &mut self,
        lookup: &Lookup<'_>,
        constants: &BTreeMap<ValueId, Vec<u8>>,
    ) -> Result<(), RunError> {
        for (index, buffer) in self.plan.buffers.iter().enumerate() {
            if buffer.kind != BufferKind::Weight {
                continue;
            }
            let value = lookup.weight(&buffer.tensor)?;
            let bytes = constants.get(&value).ok_or_else(|| RunError::OtherModel {
                what: format!("the elements of weight `{}`", buffer.tensor),
            })?;
            for store in &self.stores[self.layout.places[index].0] {
                match store {
                    Store::Device(memory) => {
                        write(&self.host_queues[memory.context()], memory, 0, bytes)?;
                    }
                    Store::Host(_) => {}
                }
            }
        }
        Ok(())
    }

    /// A buffer's place for a frame.
    fn place(&self, buffer: u32, frame: usize) -> Option<Place> {
        let (piece, offset) = self.layout.places[buffer as usize];
        let stores = &self.stores[piece];
        match &stores[frame % stores.len()] {
            Store::Device(memory) => Some(Place {
                memory: Arc::clone(memory),
                first: offset as u64 / element_bytes(&self.plan.buffers[buffer as usize]),
            }),
            Store::Host(_) => None,
        }
    }

    fn constant(
        &mut self,
        value: ValueId,
        context: usize,
        constants: &BTreeMap<ValueId, Vec<u8>>,
    ) -> Result<Option<Place>, RunError> {
        if let Some(memory) = self.extra.get(&(value, context)) {
            return Ok(Some(Place {
                memory: Arc::clone(memory),
                first: 0,
            }));
        }
        let Some(bytes) = constants.get(&value) else {
            return Ok(None);
        };
        let memory = self.filled(context, bytes)?;
        self.extra.insert((value, context), Arc::clone(&memory));
        Ok(Some(Place { memory, first: 0 }))
    }

    fn filled(&mut self, context: usize, bytes: &[u8]) -> Result<Arc<Memory>, OpenclError> {
        let memory = self.new_memory(context, bytes.len())?;
        if !bytes.is_empty() {
            write(&self.host_queues[context], &memory, 0, bytes)?;
        }
        Ok(memory)
    }

    /// The launches of a task, by frame modulo their number; its setup runs at once.
    fn task(
        &mut self,
        index: usize,
        ready: &Ready,
        constants: &BTreeMap<ValueId, Vec<u8>>,
    ) -> Result<Vec<Vec<Launch>>, RunError> {
        let queue = self.plan.tasks[index].queue;
        let context = self.context_of_queue(queue);
        let mut places = Places {
            scratch: self.scratch(queue, context, ready.launched.scratch())?,
            ..Places::default()
        };
        for table in ready.launched.tables() {
            places.tables.push(self.filled(context, table)?);
        }
        let buffers = ready.operands.iter().filter_map(|source| match source {
            Source::Buffer(buffer) => Some(*buffer),
            Source::Constant(_) => None,
        });
        let touched: Vec<u32> = buffers.chain(ready.results.iter().copied()).collect();
        let copies = touched.iter().map(|&buffer| self.layout.copies_of(buffer));
        // All are powers of two, so the largest is their least common multiple.
        let period = copies.max().unwrap_or(1);
        let mut variants = Vec::new();
        for frame in 0..period {
            places.operands.clear();
            for source in &ready.operands {
                let place = match *source {
                    Source::Buffer(buffer) => self.place(buffer, frame),
                    Source::Constant(value) => self.constant(value, context, constants)?,
                };
                places.operands.push(place);
            }
            places.results = ready
                .results
                .iter()
                .map(|&buffer| self.place(buffer, frame))
                .collect();
            let device = &self.layout.contexts[context];
            if frame == 0 {
                self.set_up(queue, device, &ready.launched, &places)?;
            }
            variants.push(ready.launched.launches(device, &places, Phase::Frame)?);
        }
        Ok(variants)
    }

    fn set_up(
        &self,
        queue: u32,
        context: &Context,
        launched: &Launched,
        places: &Places,
    ) -> Result<(), RunError> {
        let queue = self.queues[queue as usize].as_ref();
        let queue = queue.expect("tasks are on compute queues");
        let setup = launched.launches(context, places, Phase::Setup)?;
        for launch in &setup {
            launch.enqueue(queue, &[])?;
        }
        if !setup.is_empty() {
            queue.finish().doing(|| "preparing weights".to_owned())?;
        }
        Ok(())
    }

    fn scratch(
        &mut self,
        queue: u32,
        context: usize,
        wanted: &[Scratch],
    ) -> Result<Vec<Arc<Memory>>, RunError> {
        let mut scratch = Vec::new();
        for (slot, &Scratch { bytes, lives_on }) in wanted.iter().enumerate() {
            let pooled = self.pools.get(&(queue, slot));
            let pooled = pooled.filter(|memory| !lives_on && memory.bytes() >= bytes);
            if let Some(memory) = pooled {
                scratch.push(Arc::clone(memory));
                continue;
            }
            let memory = self.new_memory(context, bytes)?;
            if !lives_on {
                self.pools.insert((queue, slot), Arc::clone(&memory));
            }
            scratch.push(memory);
        }
        Ok(scratch)
    }

    /// By node, the contexts of tasks that are enqueued ahead, wait for it, and cannot see its event.
    fn foreign(&self, order: &Order) -> Vec<Vec<usize>> {
        let own = |node: &Node| match node.work {
            Work::Task(_) => Some(self.context_of_queue(node.queue)),
            Work::Transfer(_) => None,
        };
        let mut foreign: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); order.nodes.len()];
        for waiting in &order.nodes {
            // A move waits on the host, whatever the context.
            let Some(context) = own(waiting) else {
                continue;
            };
            for after in &waiting.after {
                if self.is_ahead[context] && own(&order.nodes[after.node]) != Some(context) {
                    foreign[after.node].insert(context);
                }
            }
        }
        let lists = foreign.into_iter();
        lists
            .map(|contexts| contexts.into_iter().collect())
            .collect()
    }

    /// Launches and moves of all nodes of a frame.
    fn build(
        mut self,
        tasks: &[Ready],
        constants: &BTreeMap<ValueId, Vec<u8>>,
        ports: Ports,
        options: Options,
    ) -> Result<Prepared, RunError> {
        let plan = self.plan;
        let order = order(plan, |transfer| self.layout.is_nothing(plan, transfer));
        let mut nodes = Vec::new();
        let mut labels = Vec::new();
        for node in &order.nodes {
            match node.work {
                Work::Task(task) => {
                    let at = task as usize;
                    let variants = if self.layout.in_place.contains(&at) {
                        vec![Vec::new()]
                    } else {
                        self.task(at, &tasks[at], constants)?
                    };
                    labels.push(tasks[at].label.clone());
                    nodes.push(Enqueued::Task {
                        queue: node.queue,
                        context: self.context_of_queue(node.queue),
                        variants,
                    });
                }
                Work::Transfer(transfer) => {
                    let transfer = &plan.transfers[transfer as usize];
                    let target = &plan.buffers[transfer.to_buffer as usize];
                    labels.push(format!("move of `{}` to {}", target.tensor, target.memory));
                    nodes.push(Enqueued::Move {
                        mover: node.queue,
                        from: transfer.from_buffer,
                        to: transfer.to_buffer,
                        bytes: usize::try_from(transfer.bytes.count()).unwrap_or(usize::MAX),
                    });
                }
            }
        }
        self.finish(order, nodes, labels, options, ports)
    }

    fn finish(
        mut self,
        order: Order,
        nodes: Vec<Enqueued>,
        labels: Vec<String>,
        options: Options,
        ports: Ports,
    ) -> Result<Prepared, RunError> {
        let mut movers = BTreeMap::new();
        for node in &nodes {
            if let Enqueued::Move { mover, .. } = node
                && !movers.contains_key(mover)
            {
                let started = Mover::start(&self.layout.contexts, self.clock)?;
                movers.insert(*mover, started);
            }
        }
        let mut delays = BTreeMap::new();
        if options.delays.is_some() {
            for queue in 0..self.plan.queues.len() {
                let queue = u32::try_from(queue).expect("plans have few queues");
                if is_compute(self.plan, queue) {
                    let context = self.context_of_queue(queue);
                    let sink = self.new_memory(context, delay::SINK_BYTES)?;
                    let launches = delay::launches(&self.layout.contexts[context], &sink)?;
                    delays.insert(queue, launches);
                }
            }
        }
        let foreign = self.foreign(&order);
        let mut is_last = vec![false; order.nodes.len()];
        for after in order.stages.iter().flat_map(|stage| &stage.end) {
            is_last[after.node] = true;
        }
        let launches = nodes.iter().map(|node| match node {
            Enqueued::Task { variants, .. } => variants.first().map_or(0, Vec::len),
            Enqueued::Move { .. } => 0,
        });
        let launches = launches.sum();
        let mut begun = BTreeSet::new();
        let is_first = order.nodes.iter().map(|node| begun.insert(node.queue));
        Ok(Prepared {
            is_first: is_first.collect(),
            foreign,
            is_ahead: self.is_ahead,
            is_last,
            inputs: ports.inputs,
            outputs: ports.outputs,
            order,
            layout: self.layout,
            options,
            nodes,
            queues: self.queues,
            watchers: self.watchers,
            host_queues: self.host_queues,
            offsets: self.offsets,
            stores: self.stores,
            movers,
            clock: self.clock,
            delays,
            labels,
            allocated: self.allocated,
            launches,
        })
    }
}

/// The buffers of the network's inputs or outputs.
fn ports(
    plan: &Plan,
    lookup: &Lookup<'_>,
    tensors: &[TensorId],
    kind: BufferKind,
) -> Result<Vec<Port>, RunError> {
    let program = lookup.program();
    let graph = &program.imported.graph;
    let port = |&tensor: &TensorId| {
        let value = program.tensors[tensor.index()];
        let owner = lookup.owner(value).unwrap_or(tensor);
        let stored = &graph.tensors[owner].name;
        Ok(Port {
            name: graph.tensors[tensor].name.clone(),
            spec: Spec::of(&program.values[value]),
            buffer: port_buffer(plan, stored, kind)?,
        })
    };
    tensors.iter().map(port).collect()
}

/// The same of a kernel graph.
fn kernel_buffers(
    plan: &Plan,
    program: &KernelProgram,
    tensors: &[TensorId],
    kind: BufferKind,
) -> Result<Vec<Port>, RunError> {
    let port = |&tensor: &TensorId| {
        let tensor = &program.graph.tensors[tensor];
        Ok(Port {
            name: tensor.name.clone(),
            spec: Spec::new(tensor.dtype, &tensor.shape),
            buffer: port_buffer(plan, &tensor.name, kind)?,
        })
    };
    tensors.iter().map(port).collect()
}

/// The buffer where the host writes or reads a tensor.
fn port_buffer(plan: &Plan, stored: &str, kind: BufferKind) -> Result<u32, RunError> {
    let named = || plan.buffers.iter().filter(|buffer| buffer.tensor == stored);
    // An output that is an input is there already.
    let buffer = named()
        .find(|buffer| buffer.kind == kind)
        .or_else(|| named().find(|buffer| buffer.kind == BufferKind::Input));
    let buffer = buffer.ok_or_else(|| RunError::OtherModel {
        what: format!("the buffer of `{stored}`"),
    })?;
    Ok(buffer.id)
}
