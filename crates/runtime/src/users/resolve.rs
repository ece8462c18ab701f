//! The tasks of a plan as launches of a user's kernels.
//!
//! A plan names operators, and the graph says what they launch: where a task is several kernels, what stays between them is scratch space.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use paracompile_frontend::import::kernels::{Argument, KernelId, Number, Scalar};
use paracompile_frontend::ir::{DataType, KernelOperand, OpId, TensorId};
use paracompile_plan::plan::{OperatorRef, Plan, Task as PlanTask};

use super::program::KernelProgram;
use super::task::{Call, CallArgument, Command, KernelTask, Slot};
use crate::execute::{RunError, Source, buffers};
use crate::lower::Scratch;

/// A buffer that a task changes in place: its contents before and afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Update {
    /// Index of the task.
    pub(crate) task: usize,
    /// The buffer that holds what was.
    pub(crate) read: u32,
    /// The buffer that holds what is.
    pub(crate) written: u32,
}

/// A task with its buffers.
#[derive(Debug)]
pub(crate) struct ResolvedTask {
    /// What it launches.
    pub(crate) task: KernelTask,
    /// What its operands are, by position.
    pub(crate) operands: Vec<Source>,
    /// The buffers of its results, by position.
    pub(crate) results: Vec<u32>,
    /// The names of its kernels.
    pub(crate) label: String,
}

/// Looks up what plans name in a kernel graph.
#[derive(Debug)]
pub(crate) struct Resolver<'p> {
    program: &'p KernelProgram,
    ops: HashMap<&'p OperatorRef, OpId>,
}

impl<'p> Resolver<'p> {
    /// Of a program.
    pub(crate) fn new(program: &'p KernelProgram) -> Self {
        let ops = program.graph.ops.iter();
        Self {
            program,
            ops: ops.map(|(id, op)| (&op.at, id)).collect(),
        }
    }

    /// The kernels of a task, in order.
    pub(crate) fn kernels(&self, task: &PlanTask) -> Result<Vec<KernelId>, RunError> {
        let kernel = |at: &OperatorRef| {
            let op = self.ops.get(at).ok_or_else(|| RunError::OtherModel {
                what: format!("kernel {} (`{}`)", at.node, at.output),
            })?;
            Ok(KernelId::from_index(op.index()))
        };
        task.operators.iter().map(kernel).collect()
    }

    /// How many arguments of some kernels read a tensor.
    fn reads(&self, kernels: &[KernelId], tensor: TensorId) -> usize {
        let operands = |kernel: &KernelId| &self.program.graph.kernels[kernel.index()].arguments;
        let operands = kernels.iter().flat_map(operands);
        operands
            .filter(|operand| {
                matches!(**operand,
                KernelOperand::In(read) | KernelOperand::InOut { read, .. } if read == tensor)
            })
            .count()
    }

    /// What tasks change in place, where both buffers are the plan's and no other argument of the kernel and no later kernel of the task
    /// needs what was there.
    pub(crate) fn updates(&self, plan: &Plan) -> Result<Vec<Update>, RunError> {
        let mut updates = Vec::new();
        for (index, task) in plan.tasks.iter().enumerate() {
            let buffers = buffers(plan, task);
            let buffer = |tensor: TensorId| {
                let name = self.program.graph.tensors[tensor].name.as_str();
                buffers.get(name).copied()
            };
            let kernels = self.kernels(task)?;
            for (place, kernel) in kernels.iter().enumerate() {
                let from_here = &kernels[place..];
                for operand in &self.program.graph.kernels[kernel.index()].arguments {
                    if let &KernelOperand::InOut { read, written } = operand
                        && self.reads(from_here, read) == 1
                        && let (Some(read), Some(written)) = (buffer(read), buffer(written))
                    {
                        updates.push(Update {
                            task: index,
                            read,
                            written,
                        });
                    }
                }
            }
        }
        Ok(updates)
    }

    /// What a task launches; `is_same` says which buffers are one memory.
    pub(crate) fn task(
        &self,
        plan: &Plan,
        task: &PlanTask,
        is_same: &dyn Fn(u32, u32) -> bool,
    ) -> Result<ResolvedTask, RunError> {
        let mut wiring = Wiring {
            program: self.program,
            buffers: buffers(plan, task),
            inside: HashMap::new(),
            operands: Vec::new(),
            results: Vec::new(),
            task: KernelTask::default(),
        };
        let kernels = self.kernels(task)?;
        for &kernel in &kernels {
            wiring.kernel(kernel, is_same)?;
        }
        let names = kernels.iter().map(|kernel| {
            self.program.graph.ops[OpId::from_index(kernel.index())]
                .name
                .as_str()
        });
        Ok(ResolvedTask {
            label: names.collect::<Vec<_>>().join(" + "),
            task: wiring.task,
            operands: wiring.operands,
            results: wiring.results,
        })
    }
}

/// A kernel by itself: each of its buffers is an operand, whose tensors come in the same order; what it changes in place is copied first.
pub(crate) fn alone(program: &KernelProgram, id: KernelId) -> (KernelTask, Vec<TensorId>) {
    let kernel = program.kernel(id);
    let mut tensors = Vec::new();
    let mut task = KernelTask::default();
    let mut arguments = Vec::new();
    let mut slot = |tensor: TensorId| {
        tensors.push(tensor);
        Slot::Operand(tensors.len() - 1)
    };
    let operands = &program.graph.kernels[id.index()].arguments;
    for (operand, argument) in operands.iter().zip(&kernel.arguments) {
        arguments.push(match *operand {
            KernelOperand::In(tensor) | KernelOperand::Out(tensor) => {
                CallArgument::Buffer(slot(tensor))
            }
            KernelOperand::InOut { read, written } => {
                let (from, to) = (slot(read), slot(written));
                let bytes = bytes(program, written);
                task.commands.push(Command::Copy { from, to, bytes });
                CallArgument::Buffer(to)
            }
            KernelOperand::Scalar { .. } | KernelOperand::Local(_) => plain(argument),
        });
    }
    task.commands
        .push(Command::Call(call(program, id, arguments)));
    (task, tensors)
}

fn call(program: &KernelProgram, id: KernelId, arguments: Vec<CallArgument>) -> Call {
    let kernel = program.kernel(id);
    let extents = |extents: &[u64]| -> Vec<usize> {
        let extents = extents.iter();
        extents
            .map(|&extent| usize::try_from(extent).unwrap_or(usize::MAX))
            .collect()
    };
    Call {
        source: Arc::clone(program.source(id)),
        options: options(program, id),
        function: kernel.function.clone(),
        arguments,
        global: extents(&kernel.global),
        local: kernel.local.as_deref().map(extents),
    }
}

fn bytes(program: &KernelProgram, tensor: TensorId) -> usize {
    let bytes = program.graph.tensors[tensor].bytes.count();
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

struct Wiring<'p, 'q> {
    program: &'p KernelProgram,
    buffers: HashMap<&'q str, u32>,
    /// What kernels of the task have written, by tensor.
    inside: HashMap<TensorId, Slot>,
    operands: Vec<Source>,
    results: Vec<u32>,
    task: KernelTask,
}

impl Wiring<'_, '_> {
    fn kernel(&mut self, id: KernelId, is_same: &dyn Fn(u32, u32) -> bool) -> Result<(), RunError> {
        let program = self.program;
        let kernel = program.kernel(id);
        let mut arguments = Vec::new();
        let operands = &program.graph.kernels[id.index()].arguments;
        for (operand, argument) in operands.iter().zip(&kernel.arguments) {
            arguments.push(match *operand {
                KernelOperand::In(tensor) => CallArgument::Buffer(self.read(tensor)?),
                KernelOperand::Out(tensor) => CallArgument::Buffer(self.write(tensor)),
                KernelOperand::InOut { read, written } => {
                    CallArgument::Buffer(self.update(read, written, is_same)?)
                }
                KernelOperand::Scalar { .. } | KernelOperand::Local(_) => plain(argument),
            });
        }
        self.task
            .commands
            .push(Command::Call(call(program, id, arguments)));
        Ok(())
    }

    fn buffer(&self, tensor: TensorId) -> Option<u32> {
        let name = self.program.graph.tensors[tensor].name.as_str();
        self.buffers.get(name).copied()
    }

    fn read(&mut self, tensor: TensorId) -> Result<Slot, RunError> {
        if let Some(&slot) = self.inside.get(&tensor) {
            return Ok(slot);
        }
        let buffer = self.buffer(tensor).ok_or_else(|| RunError::OtherModel {
            what: format!("tensor `{}`", self.program.graph.tensors[tensor].name),
        })?;
        let source = Source::Buffer(buffer);
        let known = self.operands.iter().position(|&other| other == source);
        Ok(Slot::Operand(known.unwrap_or_else(|| {
            self.operands.push(source);
            self.operands.len() - 1
        })))
    }

    fn write(&mut self, tensor: TensorId) -> Slot {
        let slot = if let Some(buffer) = self.buffer(tensor) {
            self.results.push(buffer);
            Slot::Result(self.results.len() - 1)
        } else {
            self.task.scratch.push(Scratch {
                bytes: bytes(self.program, tensor),
                lives_on: false,
            });
            Slot::Scratch(self.task.scratch.len() - 1)
        };
        self.inside.insert(tensor, slot);
        slot
    }

    /// A buffer that is changed: it is copied first, unless it lies where it will be changed.
    fn update(
        &mut self,
        read: TensorId,
        written: TensorId,
        is_same: &dyn Fn(u32, u32) -> bool,
    ) -> Result<Slot, RunError> {
        let is_there = matches!(
            (self.buffer(read), self.buffer(written)),
            (Some(read), Some(written)) if is_same(read, written)
        );
        if is_there {
            return Ok(self.write(written));
        }
        let from = self.read(read)?;
        let to = self.write(written);
        let bytes = bytes(self.program, written);
        self.task.commands.push(Command::Copy { from, to, bytes });
        Ok(to)
    }
}

/// An argument that is no buffer.
fn plain(argument: &Argument) -> CallArgument {
    match argument {
        Argument::Scalar(scalar) => CallArgument::Value(value(scalar)),
        Argument::Local { bytes } => {
            CallArgument::Local(usize::try_from(bytes.count()).unwrap_or(usize::MAX))
        }
        Argument::Buffer(_) => unreachable!("buffers are operands of tensors"),
    }
}

/// A value as the device reads it: all components of a vector are the same.
pub(super) fn value(scalar: &Scalar) -> Vec<u8> {
    let width = usize::try_from(scalar.element.dtype.bits() / 8).unwrap_or(0);
    #[expect(
        clippy::cast_precision_loss,
        reason = "a whole number of a floating-point type is rounded like any other literal"
    )]
    let real = match scalar.value {
        Number::Whole(value) => value as f64,
        Number::Real(value) => value,
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the importer has checked that it fits the type"
    )]
    let one = match (scalar.element.dtype, scalar.value) {
        (DataType::Float, _) => (real as f32).to_le_bytes().to_vec(),
        (DataType::Double, _) => real.to_le_bytes().to_vec(),
        (_, Number::Whole(value)) => value.to_le_bytes()[..width].to_vec(),
        (_, Number::Real(value)) => (value as i128).to_le_bytes()[..width].to_vec(),
    };
    let components = usize::try_from(scalar.element.components()).unwrap_or(1);
    one.repeat(components)
}

/// Build options for a kernel: the folder that its source includes files from, and its macros.
pub(super) fn options(program: &KernelProgram, id: KernelId) -> String {
    let mut options = String::from("-cl-kernel-arg-info");
    if let Some(folder) = &program.source(id).includes_from {
        let _ = write!(options, " -I{}", folder.display());
    }
    for (name, value) in &program.kernel(id).defines {
        // Writing to a string cannot fail.
        let _ = write!(options, " -D{name}={value}");
    }
    options
}

#[cfg(test)]
mod tests {
    use paracompile_frontend::import::kernels::Element;

    use super::*;

    fn bytes(element: &str, value: Number) -> Vec<u8> {
        let element = Element::parse(element).unwrap();
        super::value(&Scalar { element, value })
    }

    #[test]
    fn values_are_little_endian_and_of_their_type() {
        assert_eq!(bytes("int", Number::Whole(-2)), (-2_i32).to_le_bytes());
        assert_eq!(bytes("uchar", Number::Whole(200)), [200]);
        assert_eq!(
            bytes("ulong", Number::Whole(u64::MAX.into())),
            u64::MAX.to_le_bytes()
        );
        assert_eq!(bytes("float", Number::Real(0.1)), 0.1_f32.to_le_bytes());
        assert_eq!(bytes("float", Number::Whole(3)), 3_f32.to_le_bytes());
        assert_eq!(bytes("double", Number::Real(0.1)), 0.1_f64.to_le_bytes());
        assert_eq!(bytes("short3", Number::Whole(7)), [7, 0, 7, 0, 7, 0, 7, 0]);
    }
}
