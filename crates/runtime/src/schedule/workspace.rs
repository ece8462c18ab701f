//! Memory for every buffer in every context, and launches of every kernel there.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use opencl3::command_queue::{CommandQueue, enqueue_read_buffer, enqueue_write_buffer};
use opencl3::event::Event;
use opencl3::types::{CL_NON_BLOCKING, cl_event};
use paracompile_frontend::import::kernels::KernelId;
use paracompile_frontend::ir::{TensorId, TensorRole};

use crate::execute::RunError;
use crate::launch::{Launch, Place, Places, users_launches};
use crate::opencl::{Context, Memory, OpenclError};
use crate::users::{KernelProgram, alone};

/// Memory and launches.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// By context, then by tensor.
    memory: Vec<Vec<Arc<Memory>>>,
    /// What the host has of each tensor.
    host: Vec<HostSide>,
    /// By kernel, then by context.
    launches: Vec<Vec<Vec<Launch>>>,
    /// The kernel that writes each tensor.
    pub(super) writer: Vec<Option<usize>>,
    /// The kernels that read each tensor.
    pub(super) readers: Vec<Vec<usize>>,
}

/// The host's bytes of a tensor.
#[derive(Debug)]
enum HostSide {
    /// Memory of this context, which the host shares.
    Shared(usize),
    /// The host's own; commands reach it by its address, which stays.
    Own(Vec<u8>),
}

impl Workspace {
    /// For all kernels of a graph in all contexts.
    pub(crate) fn new(
        program: &KernelProgram,
        contexts: &[Arc<Context>],
    ) -> Result<Self, RunError> {
        let graph = &program.graph;
        let mut writer = vec![None; graph.tensors.len()];
        let mut readers = vec![Vec::new(); graph.tensors.len()];
        for (id, op) in graph.ops.iter() {
            for &tensor in op.inputs.iter().flatten() {
                readers[tensor.index()].push(id.index());
            }
            for &tensor in &op.outputs {
                writer[tensor.index()] = Some(id.index());
            }
        }
        let is_shared = |context: &&Arc<Context>| context.is_zero_copy();
        let shared = contexts
            .iter()
            .find(is_shared)
            .map(|context| context.index());
        let size =
            |id: TensorId| usize::try_from(graph.tensors[id].bytes.count()).unwrap_or(usize::MAX);
        let tensors: Vec<TensorId> = graph.tensors.iter().map(|(id, _)| id).collect();
        let mut memory = Vec::new();
        for context in contexts {
            let all = tensors.iter().map(|&id| context.allocate(size(id)));
            memory.push(all.collect::<Result<Vec<_>, _>>()?);
        }
        let host = tensors.iter().map(|&id| match shared {
            Some(context) => HostSide::Shared(context),
            // What stays on a device takes no memory of the host.
            None if is_seen(program, id, &readers) || contexts.len() > 1 => {
                HostSide::Own(vec![0; size(id)])
            }
            None => HostSide::Own(Vec::new()),
        });
        let host = host.collect();
        let mut launches = Vec::new();
        for (id, _) in program.linked.graph.kernels.iter() {
            let everywhere = contexts
                .iter()
                .zip(&memory)
                .map(|(context, memory)| make(program, id, context, memory));
            let everywhere = everywhere.collect::<Result<Vec<_>, _>>()?;
            launches.push(everywhere);
        }
        Ok(Self {
            memory,
            host,
            launches,
            writer,
            readers,
        })
    }

    /// The launches of a kernel in a context once more, for a queue of their own.
    pub(crate) fn new_launches(
        &self,
        program: &KernelProgram,
        kernel: KernelId,
        context: &Context,
    ) -> Result<Vec<Launch>, OpenclError> {
        make(program, kernel, context, &self.memory[context.index()])
    }

    /// The launches of a kernel in a context.
    pub(crate) fn launches(&self, kernel: KernelId, context: usize) -> &[Launch] {
        &self.launches[kernel.index()][context]
    }

    /// Whether a device of a context sees the host's bytes of a tensor as its own memory.
    pub(crate) fn is_shared(&self, tensor: TensorId, context: usize) -> bool {
        matches!(self.host[tensor.index()], HostSide::Shared(own) if own == context)
    }

    /// Where the host's bytes of a tensor lie, and how many they are.
    fn host(&self, tensor: TensorId) -> (*mut c_void, usize) {
        match &self.host[tensor.index()] {
            HostSide::Shared(context) => {
                let memory = &self.memory[*context][tensor.index()];
                let pointer = memory.shared().expect("the context shares its memory");
                (pointer.cast(), memory.bytes())
            }
            HostSide::Own(bytes) => (bytes.as_ptr().cast_mut().cast(), bytes.len()),
        }
    }

    /// Sends the host's bytes of a tensor to a device.
    pub(crate) fn write(
        &self,
        queue: &CommandQueue,
        tensor: TensorId,
        context: usize,
    ) -> Result<Event, OpenclError> {
        let (pointer, bytes) = self.host(tensor);
        let memory = &self.memory[context][tensor.index()];
        // SAFETY: the bytes live as long as the workspace, and nobody changes them before the command has ended.
        #[expect(unsafe_code, reason = "writing is unsafe by signature")]
        let event = unsafe {
            enqueue_write_buffer(
                queue.get(),
                memory.handle(),
                CL_NON_BLOCKING,
                0,
                bytes,
                pointer,
                0,
                ptr::null(),
            )
        };
        let event =
            event.map_err(|code| OpenclError::of_code(code, format!("writing {bytes} bytes")))?;
        Ok(Event::new(event))
    }

    /// Fetches a tensor from a device.
    pub(crate) fn read(
        &self,
        queue: &CommandQueue,
        tensor: TensorId,
        context: usize,
        after: &[cl_event],
    ) -> Result<Event, OpenclError> {
        let (pointer, bytes) = self.host(tensor);
        let memory = &self.memory[context][tensor.index()];
        let count = u32::try_from(after.len()).unwrap_or(u32::MAX);
        let events = if after.is_empty() {
            ptr::null()
        } else {
            after.as_ptr()
        };
        // SAFETY: the bytes live as long as the workspace, and nobody reads them before the command has ended.
        #[expect(unsafe_code, reason = "reading is unsafe by signature")]
        let event = unsafe {
            enqueue_read_buffer(
                queue.get(),
                memory.handle(),
                CL_NON_BLOCKING,
                0,
                bytes,
                pointer,
                count,
                events,
            )
        };
        let event =
            event.map_err(|code| OpenclError::of_code(code, format!("reading {bytes} bytes")))?;
        Ok(Event::new(event))
    }

    /// Puts contents into the host's bytes of a tensor, while nothing runs.
    pub(crate) fn set(&mut self, tensor: TensorId, contents: &[u8]) {
        let (pointer, bytes) = self.host(tensor);
        assert_eq!(bytes, contents.len(), "inputs were compared with the graph");
        // SAFETY: so many bytes lie there, and no command is under way.
        #[expect(unsafe_code, reason = "devices share these bytes")]
        unsafe {
            ptr::copy_nonoverlapping(contents.as_ptr(), pointer.cast(), bytes);
        }
    }

    /// The host's bytes of a tensor, while nothing runs.
    pub(crate) fn get(&self, tensor: TensorId) -> Vec<u8> {
        let (pointer, bytes) = self.host(tensor);
        let mut contents = vec![0; bytes];
        // SAFETY: so many bytes lie there, and no command is under way.
        #[expect(unsafe_code, reason = "devices share these bytes")]
        unsafe {
            ptr::copy_nonoverlapping(pointer.cast::<u8>(), contents.as_mut_ptr(), bytes);
        }
        contents
    }
}

/// The launches of a kernel on memory by tensor.
fn make(
    program: &KernelProgram,
    kernel: KernelId,
    context: &Context,
    memory: &[Arc<Memory>],
) -> Result<Vec<Launch>, OpenclError> {
    let (task, tensors) = alone(program, kernel);
    let place = |tensor: &TensorId| {
        Some(Place {
            memory: Arc::clone(&memory[tensor.index()]),
            first: 0,
        })
    };
    let places = Places {
        operands: tensors.iter().map(place).collect(),
        ..Places::default()
    };
    users_launches(context, &task, &places)
}

/// Whether the host writes or reads a tensor whatever runs where.
fn is_seen(program: &KernelProgram, id: TensorId, readers: &[Vec<usize>]) -> bool {
    match program.graph.tensors[id].role {
        TensorRole::Input | TensorRole::Weight(_) => true,
        TensorRole::Computed(_) => readers[id.index()].is_empty(),
    }
}
