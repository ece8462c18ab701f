//! From a kernel graph to an operator graph: a kernel is an operator, and what a buffer holds is a tensor.
//!
//! A buffer that is changed in place becomes two tensors, before and after, so that each has one writer.
//! A written buffer that no edge leaves is an output: the host reads it back.
//! Waiting without data becomes a tensor of no elements: it moves nothing, and takes the time of an empty move where it crosses devices.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::plan::{ModelKind, OperatorRef};
use paracompile_plan::{Bytes, OpClass};

use super::element::Element;
use super::graph::{Access, Argument, Buffer, Kernel, KernelId, Origin};
use super::link::Linked;
use crate::arena::{Arena, Id};
use crate::ir::{
    DataType, Graph, KernelCall, KernelOperand, Op, OpKind, Shape, Tensor, TensorId, TensorRole,
    VerifiedGraph, VerifyError, Work, verify,
};

/// The operator graph of a kernel graph; its operators are the kernels in the same order.
///
/// It fails where all buffers together are more bytes than 64 bits count.
pub fn lower(linked: &Linked) -> Result<VerifiedGraph, Vec<VerifyError>> {
    let kernels = &linked.graph.kernels;
    let mut lowering = Lowering {
        tensors: Arena::default(),
        inputs: Vec::new(),
        written: BTreeMap::new(),
        done: BTreeMap::new(),
        awaited: kernels
            .iter()
            .flat_map(|(_, kernel)| kernel.after.iter().copied())
            .collect(),
    };
    let mut ops = Arena::default();
    let mut calls = Vec::with_capacity(kernels.len());
    for (id, kernel) in kernels.iter() {
        let (op, call) = lowering.kernel(id, kernel);
        ops.push(op);
        calls.push(call);
    }
    let read: BTreeSet<(KernelId, usize)> = linked.graph.edges().map(|edge| edge.from).collect();
    let outputs = lowering.written.iter();
    let outputs = outputs.filter(|(end, _)| !read.contains(end));
    let outputs: Vec<TensorId> = outputs.map(|(_, &tensor)| tensor).collect();
    verify(Graph {
        name: linked.graph.name.clone(),
        kind: ModelKind::Kernels,
        digest: linked.graph.digest.clone(),
        dims: linked.dims.clone(),
        rewrites: Vec::new(),
        ops,
        tensors: lowering.tensors,
        inputs: lowering.inputs,
        outputs,
        kernels: calls,
    })
}

struct Lowering {
    tensors: Arena<Tensor>,
    inputs: Vec<TensorId>,
    /// The tensor of each argument that is written.
    written: BTreeMap<(KernelId, usize), TensorId>,
    /// The tensor that says that a kernel has ended.
    done: BTreeMap<KernelId, TensorId>,
    /// Kernels that others wait for without data.
    awaited: BTreeSet<KernelId>,
}

impl Lowering {
    fn kernel(&mut self, id: KernelId, kernel: &Kernel) -> (Op, KernelCall) {
        let op = Id::from_index(id.index());
        let stem = format!("{}.{}", kernel.name, kernel.function);
        let (mut inputs, mut outputs, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
        for (position, argument) in kernel.arguments.iter().enumerate() {
            arguments.push(match argument {
                Argument::Buffer(buffer) => {
                    let name = format!("{stem}[{position}]");
                    let read = self.read(buffer, &name);
                    inputs.extend(read);
                    let written = buffer.access.writes().then(|| {
                        let tensor = self.tensor(name, buffer, TensorRole::Computed(op));
                        self.written.insert((id, position), tensor);
                        outputs.push(tensor);
                        tensor
                    });
                    operand(read, written)
                }
                Argument::Scalar(scalar) => KernelOperand::Scalar {
                    dtype: scalar.element.to_string(),
                    value: scalar.value.to_string(),
                },
                Argument::Local { bytes } => KernelOperand::Local(*bytes),
            });
        }
        let size = |tensors: &[TensorId]| -> Bytes {
            let mut seen = BTreeSet::new();
            let once = tensors.iter().filter(|&&tensor| seen.insert(tensor));
            once.map(|&tensor| self.tensors[tensor].bytes).sum()
        };
        let work = Work {
            input_bytes: size(&inputs),
            output_bytes: size(&outputs),
            ..Work::default()
        };
        for before in &kernel.after {
            inputs.push(self.done[before]);
        }
        if self.awaited.contains(&id) {
            let tensor = Tensor {
                name: format!("{stem}:done"),
                dtype: DataType::Uint8,
                shape: Shape(vec![0]),
                bytes: Bytes::ZERO,
                role: TensorRole::Computed(op),
            };
            let tensor = self.tensors.push(tensor);
            self.done.insert(id, tensor);
            outputs.push(tensor);
        }
        let node = u32::try_from(id.index()).expect("limits keep graphs smaller");
        let first = self.tensors[outputs[0]].name.clone();
        let op = Op {
            at: OperatorRef {
                node,
                inside: Vec::new(),
                output: first,
            },
            name: stem,
            op_type: kernel.function.clone(),
            kind: OpKind::Compute(OpClass::Opaque),
            inputs: inputs.into_iter().map(Some).collect(),
            outputs,
            work,
            control: None,
        };
        let call = KernelCall {
            file: kernel.source.written.clone(),
            function: kernel.function.clone(),
            defines: kernel.defines.clone(),
            global: kernel.global.clone(),
            local: kernel.local.clone(),
            arguments,
        };
        (op, call)
    }

    /// The tensor that an argument reads; one that the host writes is an input of its own.
    fn read(&mut self, buffer: &Buffer, name: &str) -> Option<TensorId> {
        match buffer.access.origin()? {
            Origin::Kernel { kernel, position } => Some(self.written[&(*kernel, *position)]),
            Origin::Host(_) => {
                let name = match buffer.access {
                    // What it holds afterwards has the plain name.
                    Access::InOut(_) => format!("{name}:in"),
                    Access::In(_) | Access::Out => name.to_owned(),
                };
                let tensor = self.tensor(name, buffer, TensorRole::Input);
                self.inputs.push(tensor);
                Some(tensor)
            }
        }
    }

    fn tensor(&mut self, name: String, buffer: &Buffer, role: TensorRole) -> TensorId {
        let (dtype, shape) = stored(buffer.element, buffer.elements);
        self.tensors.push(Tensor {
            name,
            dtype,
            shape,
            bytes: buffer.bytes,
            role,
        })
    }
}

fn operand(read: Option<TensorId>, written: Option<TensorId>) -> KernelOperand {
    match (read, written) {
        (Some(read), Some(written)) => KernelOperand::InOut { read, written },
        (Some(read), None) => KernelOperand::In(read),
        (None, Some(written)) => KernelOperand::Out(written),
        (None, None) => unreachable!("an access reads or writes"),
    }
}

/// Vectors become an innermost extent, with the place that a vector of three leaves free.
fn stored(element: Element, elements: u64) -> (DataType, Shape) {
    let shape = match element.components() {
        1 => vec![elements],
        lanes => vec![elements, lanes],
    };
    (element.dtype, Shape(shape))
}
