//! Kernels with their arguments set: what a frame enqueues.
//!
//! OpenCL copies scalars and keeps handles when an argument is set, so that a launch is one call a frame.
//! Our kernels get a buffer with the index of its first element, a user's get the buffer alone.

use std::borrow::Cow;
use std::ptr;
use std::sync::Arc;

use opencl3::command_queue::CommandQueue;
use opencl3::error_codes::ClError;
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use opencl3::types::cl_event;

use crate::lower::{Argument, Lowered, Phase, Step};
use crate::opencl::{Context, Doing, Memory, OpenclError};
use crate::users::{Call, CallArgument, Command, KernelTask, Slot};

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

/// A kernel with its arguments, or a copy within a context.
#[derive(Debug)]
pub struct Launch {
    what: What,
    name: Cow<'static, str>,
    /// The memory that the arguments name lives as long as the kernel.
    memory: Vec<Arc<Memory>>,
}

#[derive(Debug)]
enum What {
    Kernel {
        kernel: Kernel,
        global: Vec<usize>,
        local: Option<Vec<usize>>,
    },
    /// From the first memory to the second one.
    Copy { bytes: usize },
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

/// The launches and copies of a user's kernels, in order.
pub(crate) fn users_launches(
    context: &Context,
    task: &KernelTask,
    places: &Places,
) -> Result<Vec<Launch>, OpenclError> {
    let commands = task.commands.iter();
    let launches = commands.filter_map(|command| match command {
        Command::Call(call) => Some(Launch::of_call(context, call, places)),
        Command::Copy { bytes: 0, .. } => None,
        &Command::Copy { from, to, bytes } => Some(Ok(Launch {
            what: What::Copy { bytes },
            name: "a copy".into(),
            memory: [from, to]
                .map(|slot| Arc::clone(places.slot(slot)))
                .to_vec(),
        })),
    });
    launches.collect()
}

impl Places {
    fn slot(&self, slot: Slot) -> &Arc<Memory> {
        let place = match slot {
            Slot::Operand(position) => self.operands[position].as_ref(),
            Slot::Result(position) => self.results[position].as_ref(),
            Slot::Scratch(index) => return &self.scratch[index],
        };
        let place = place.expect("kernels name buffers that are there");
        debug_assert_eq!(place.first, 0, "kernels of users get whole buffers");
        &place.memory
    }
}

impl Launch {
    /// Takes the kernel of a step and sets its arguments.
    pub fn new(context: &Context, step: &Step, places: &Places) -> Result<Self, OpenclError> {
        let kernel = context.kernel(step.source, &step.options, step.kernel)?;
        let mut setter = Setter::new(&kernel, step.kernel);
        for argument in &step.arguments {
            setter.set(argument, places)?;
        }
        let memory = setter.memory;
        Ok(Self {
            what: What::Kernel {
                kernel,
                global: step.global.clone(),
                local: step.local.clone(),
            },
            name: step.kernel.into(),
            memory,
        })
    }

    /// Takes a user's kernel, which was found to fit, and sets its arguments.
    fn of_call(context: &Context, call: &Call, places: &Places) -> Result<Self, OpenclError> {
        let kernel = context.users_kernel(&call.source, &call.options, &call.function)?;
        let kernel = kernel.ok_or_else(|| OpenclError::Call {
            doing: format!("taking kernel `{}` of {}", call.function, call.source.name),
            name: "the source has no such kernel".to_owned(),
        })?;
        let mut setter = Setter::new(&kernel, &call.function);
        for argument in &call.arguments {
            match argument {
                CallArgument::Buffer(slot) => setter.set_memory(places.slot(*slot))?,
                CallArgument::Value(bytes) => setter.set_bytes(bytes)?,
                CallArgument::Local(bytes) => setter.set_local(*bytes)?,
            }
        }
        let memory = setter.memory;
        Ok(Self {
            what: What::Kernel {
                kernel,
                global: call.global.clone(),
                local: call.local.clone(),
            },
            name: call.function.clone().into(),
            memory,
        })
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Puts it into a queue of its context, after the events of `wait`, which belong to the same context.
    pub fn enqueue(&self, queue: &CommandQueue, wait: &[cl_event]) -> Result<Event, OpenclError> {
        match &self.what {
            What::Kernel {
                kernel,
                global,
                local,
            } => {
                let dimensions = u32::try_from(global.len()).unwrap_or(u32::MAX);
                let local = local.as_ref().map_or(ptr::null(), Vec::as_ptr);
                // SAFETY: sizes have as many entries as there are dimensions, all arguments are set, and their memory lives with the kernel.
                #[expect(unsafe_code, reason = "enqueueing is unsafe by signature")]
                let event = unsafe {
                    queue.enqueue_nd_range_kernel(
                        kernel.get(),
                        dimensions,
                        ptr::null(),
                        global.as_ptr(),
                        local,
                        wait,
                    )
                };
                event.doing(|| format!("launching `{}` over {global:?}", self.name))
            }
            What::Copy { bytes } => {
                let count = u32::try_from(wait.len()).unwrap_or(u32::MAX);
                let events = if wait.is_empty() {
                    ptr::null()
                } else {
                    wait.as_ptr()
                };
                // SAFETY: both buffers live with the launch, and OpenCL refuses ranges that they do not have.
                #[expect(unsafe_code, reason = "enqueueing is unsafe by signature")]
                let event = unsafe {
                    opencl3::command_queue::enqueue_copy_buffer(
                        queue.get(),
                        self.memory[0].handle(),
                        self.memory[1].handle(),
                        0,
                        0,
                        *bytes,
                        count,
                        events,
                    )
                };
                let event = event
                    .map_err(|code| OpenclError::of_code(code, format!("copying {bytes} bytes")))?;
                Ok(Event::new(event))
            }
        }
    }
}

struct Setter<'k> {
    kernel: &'k Kernel,
    name: &'k str,
    next: u32,
    memory: Vec<Arc<Memory>>,
}

impl<'k> Setter<'k> {
    const fn new(kernel: &'k Kernel, name: &'k str) -> Self {
        Self {
            kernel,
            name,
            next: 0,
            memory: Vec::new(),
        }
    }

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
            Argument::Local(bytes) => self.set_local(bytes),
        }
    }

    fn set_local(&mut self, bytes: usize) -> Result<(), OpenclError> {
        // SAFETY: no memory is handed over.
        #[expect(unsafe_code, reason = "setting an argument is unsafe by signature")]
        let set = unsafe { self.kernel.set_arg_local_buffer(self.next, bytes) };
        self.done(set)
    }

    fn set_bytes(&mut self, bytes: &[u8]) -> Result<(), OpenclError> {
        // SAFETY: OpenCL copies the value, and refuses one whose size is not the parameter's.
        #[expect(unsafe_code, reason = "setting an argument is unsafe by signature")]
        let set = unsafe {
            opencl3::kernel::set_kernel_arg(
                self.kernel.get(),
                self.next,
                bytes.len(),
                bytes.as_ptr().cast(),
            )
        };
        self.done(set.map_err(ClError))
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
