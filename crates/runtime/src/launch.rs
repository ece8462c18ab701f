//! Kernels with their arguments set: what a frame enqueues.
//!
//! OpenCL copies scalars and keeps handles when an argument is set, so that a launch is one call a frame.

use std::sync::Arc;

use opencl3::command_queue::CommandQueue;
use opencl3::error_codes::ClError;
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use opencl3::types::cl_event;

use crate::lower::{Argument, Lowered, Phase, Step};
use crate::opencl::{Context, Doing, Memory, OpenclError};

/// A tensor, or a place for one, in memory.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where it lies.
    pub memory: Arc<Memory>,
    /// Index of its first element, in elements of its type.
    pub first: u64,
}

/// What the arguments of lowered operators stand for.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Operands by position.
    pub operands: Vec<Option<Place>>,
    /// Results by position.
    pub results: Vec<Option<Place>>,
    /// Scratch space by index, of at least the sizes asked for.
    pub scratch: Vec<Arc<Memory>>,
    /// Tables by index, filled.
    pub tables: Vec<Arc<Memory>>,
}

/// A kernel with its arguments.
#[derive(Debug)]
pub struct Launch {
    kernel: Kernel,
    name: &'static str,
    global: Vec<usize>,
    local: Option<Vec<usize>>,
    /// The memory that the arguments name lives as long as the kernel.
    _memory: Vec<Arc<Memory>>,
}

// SAFETY: a kernel's arguments are set once, before it is shared; enqueueing it is safe from every thread.
#[expect(unsafe_code, reason = "handles are raw pointers in type alone")]
unsafe impl Send for Launch {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "handles are raw pointers in type alone")]
unsafe impl Sync for Launch {}

/// The launches of lowered operators of one phase, in order.
pub fn launches(
    context: &Context,
    lowered: &Lowered,
    places: &Places,
    phase: Phase,
) -> Result<Vec<Launch>, OpenclError> {
    let steps = lowered.steps.iter().filter(|step| step.phase == phase);
    steps
        .map(|step| Launch::new(context, step, places))
        .collect()
}

impl Launch {
    /// Takes the kernel of a step and sets its arguments.
    pub fn new(context: &Context, step: &Step, places: &Places) -> Result<Self, OpenclError> {
        let kernel = context.kernel(step.source, &step.options, step.kernel)?;
        let mut setter = Setter {
            kernel: &kernel,
            name: step.kernel,
            next: 0,
            memory: Vec::new(),
        };
        for argument in &step.arguments {
            setter.set(argument, places)?;
        }
        let memory = setter.memory;
        Ok(Self {
            kernel,
            name: step.kernel,
            global: step.global.clone(),
            local: step.local.clone(),
            _memory: memory,
        })
    }

    /// The kernel's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Puts it into a queue of its context, after the events of `wait`, which belong to the same context.
    pub fn enqueue(&self, queue: &CommandQueue, wait: &[cl_event]) -> Result<Event, OpenclError> {
        let dimensions = u32::try_from(self.global.len()).unwrap_or(u32::MAX);
        let local = self.local.as_ref().map_or(std::ptr::null(), Vec::as_ptr);
        // SAFETY: sizes have as many entries as there are dimensions, all arguments are set, and their memory lives with the kernel.
        #[expect(unsafe_code, reason = "enqueueing is unsafe by signature")]
        let event = unsafe {
            queue.enqueue_nd_range_kernel(
                self.kernel.get(),
                dimensions,
                std::ptr::null(),
                self.global.as_ptr(),
                local,
                wait,
            )
        };
        event.doing(|| format!("launching `{}` over {:?}", self.name, self.global))
    }
}

struct Setter<'k> {
    kernel: &'k Kernel,
    name: &'static str,
    next: u32,
    memory: Vec<Arc<Memory>>,
}

impl Setter<'_> {
    fn set(&mut self, argument: &Argument, places: &Places) -> Result<(), OpenclError> {
        match *argument {
            Argument::Operand(position) => {
                let place = places.operands[position].as_ref();
                let place = place.expect("lowering names operands that are there");
                self.set_place(&place.memory, place.first)
            }
            Argument::Result(position) => {
                let place = places.results[position].as_ref();
                let place = place.expect("lowering names results that are read");
                self.set_place(&place.memory, place.first)
            }
            Argument::Scratch(index) => self.set_place(&places.scratch[index], 0),
            Argument::Table(index) => self.set_memory(&places.tables[index]),
            Argument::Int(value) => self.set_value(&value),
            Argument::Long(value) => self.set_value(&value),
            Argument::Float(value) => self.set_value(&value),
            Argument::Double(value) => self.set_value(&value),
            Argument::Local(bytes) => {
                // SAFETY: no memory is handed over.
                #[expect(unsafe_code, reason = "setting an argument is unsafe by signature")]
                let set = unsafe { self.kernel.set_arg_local_buffer(self.next, bytes) };
                self.done(set)
            }
        }
    }

    fn set_place(&mut self, memory: &Arc<Memory>, first: u64) -> Result<(), OpenclError> {
        self.set_memory(memory)?;
        self.set_value(&first)
    }

    fn set_memory(&mut self, memory: &Arc<Memory>) -> Result<(), OpenclError> {
        self.memory.push(Arc::clone(memory));
        self.set_value(&memory.handle())
    }

    fn set_value<T>(&mut self, value: &T) -> Result<(), OpenclError> {
        // SAFETY: OpenCL copies the value, and refuses one whose size is not the parameter's.
        #[expect(unsafe_code, reason = "setting an argument is unsafe by signature")]
        let set = unsafe { self.kernel.set_arg(self.next, value) };
        self.done(set)
    }

    fn done(&mut self, set: Result<(), ClError>) -> Result<(), OpenclError> {
        let (name, index) = (self.name, self.next);
        self.next += 1;
        set.doing(|| format!("setting argument {index} of `{name}`"))
    }
}
