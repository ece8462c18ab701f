//! What the host writes into the buffers of a kernel graph: files, values of the specification, or random numbers.

use std::path::Path;

use paracompile_frontend::import::kernels::{Access, Argument, Initial, Origin};
use paracompile_frontend::ir::{DataType, KernelOperand, TensorId};

use super::program::KernelProgram;
use crate::input::{
    Extents, HostTensor, InputError, InputProblem, Wanted, gather_for, random_tensor, read,
};

/// Contents for every input of a kernel graph, in its order.
///
/// `given` are the options as typed: `FILE`, in the order of the inputs, or `NAME=FILE`.
/// What is not given is as the specification says, and random by `seed` where that says nothing.
pub fn kernel_inputs(
    program: &KernelProgram,
    given: &[String],
    seed: u64,
) -> Result<Vec<HostTensor>, InputError> {
    let wanted: Vec<Wanted<'_>> = program
        .graph
        .inputs
        .iter()
        .map(|&id| wanted(program, id))
        .collect();
    gather_for((&wanted, &[]), given, Extents::Free, &|index| {
        let wanted = wanted[index];
        match initial(program, program.graph.inputs[index]) {
            Some(Initial::Fill(value)) => filled(wanted, *value),
            Some(Initial::File(file)) => {
                read(wanted, &program.folder.join(Path::new(file)), Extents::Free)
            }
            None => {
                // Whole numbers are 0 or 1: nothing is known of what they index.
                random_tensor(wanted, seed, |_| 2)
            }
        }
    })
}

/// The outputs of a kernel graph as tensors, from their bytes.
pub fn kernel_ports(program: &KernelProgram, outputs: &[Vec<u8>]) -> Vec<(String, HostTensor)> {
    let tensors = program.graph.outputs.iter().zip(outputs);
    tensors
        .map(|(&id, bytes)| {
            let tensor = &program.graph.tensors[id];
            let host = HostTensor {
                dtype: tensor.dtype,
                shape: tensor.shape.clone(),
                bytes: bytes.clone(),
            };
            (tensor.name.clone(), host)
        })
        .collect()
}

fn wanted(program: &KernelProgram, id: TensorId) -> Wanted<'_> {
    let tensor = &program.graph.tensors[id];
    Wanted {
        name: &tensor.name,
        dtype: tensor.dtype,
        shape: &tensor.shape,
    }
}

/// What the specification says of an input.
fn initial(program: &KernelProgram, input: TensorId) -> Option<&Initial> {
    let kernels = program.linked.graph.kernels.iter();
    let calls = kernels.zip(&program.graph.kernels);
    calls
        .flat_map(|((_, kernel), call)| kernel.arguments.iter().zip(&call.arguments))
        .find_map(|(argument, operand)| {
            let reads = match *operand {
                KernelOperand::In(tensor) | KernelOperand::InOut { read: tensor, .. } => {
                    tensor == input
                }
                KernelOperand::Out(_) | KernelOperand::Scalar { .. } | KernelOperand::Local(_) => {
                    false
                }
            };
            match argument {
                Argument::Buffer(buffer) if reads => Some(match &buffer.access {
                    Access::In(Origin::Host(initial)) | Access::InOut(Origin::Host(initial)) => {
                        initial.as_ref()
                    }
                    Access::In(Origin::Kernel { .. })
                    | Access::InOut(Origin::Kernel { .. })
                    | Access::Out => None,
                }),
                Argument::Buffer(_) | Argument::Scalar(_) | Argument::Local { .. } => None,
            }
        })
        .flatten()
}

/// One value everywhere.
fn filled(wanted: Wanted<'_>, value: f64) -> Result<HostTensor, InputProblem> {
    let bits = wanted.dtype.bits();
    let width = usize::try_from(bits / 8).unwrap_or(0);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "numbers that the type cannot hold are cut at its limits"
    )]
    let one = match wanted.dtype {
        DataType::Float => (value as f32).to_le_bytes().to_vec(),
        DataType::Double => value.to_le_bytes().to_vec(),
        DataType::Int64
        | DataType::Int32
        | DataType::Int16
        | DataType::Int8
        | DataType::Uint64
        | DataType::Uint32
        | DataType::Uint16
        | DataType::Uint8 => (value as i128).to_le_bytes()[..width].to_vec(),
        DataType::Bool
        | DataType::Float16
        | DataType::BFloat16
        | DataType::Float8
        | DataType::Float6
        | DataType::Float4
        | DataType::Int4
        | DataType::Int2
        | DataType::Uint4
        | DataType::Uint2
        | DataType::Complex64
        | DataType::Complex128
        | DataType::String => return Err(no_numbers(wanted)),
    };
    let elements: u64 = wanted.shape.0.iter().product();
    Ok(HostTensor {
        dtype: wanted.dtype,
        shape: wanted.shape.clone(),
        bytes: one.repeat(usize::try_from(elements).unwrap_or(0)),
    })
}

fn no_numbers(wanted: Wanted<'_>) -> InputProblem {
    InputProblem::NoRandom {
        name: wanted.name.to_owned(),
        dtype: wanted.dtype,
    }
}
