//! The distinct kernels of kernel graphs, measured where their data is.
//!
//! Before anything is measured every context runs all kernels of a graph once, in order, so that a kernel that follows indices finds real ones.
//! Two kernels are the same if their code, sizes and values are; which buffers they get does not count.

use std::collections::BTreeMap;

use paracompile_frontend::import::kernels::{Argument, Kernel, KernelId};

use super::chain::{Chain, finish};
use super::machine::Machine;
use crate::execute::RunError;
use crate::opencl::OpenclError;
use crate::schedule::Workspace;
use crate::users::{KernelProgram, Placed, judge};

/// A kernel graph with its name and its inputs.
#[derive(Debug)]
pub struct ProfiledKernels {
    /// Its name: that of its file of costs.
    pub name: String,
    /// What it launches.
    pub program: KernelProgram,
    /// The bytes of its inputs, in order.
    pub inputs: Vec<Vec<u8>>,
}

/// Kernels that are measured as one.
#[derive(Clone, Debug)]
pub(super) struct Distinct {
    /// Index of the graph.
    pub(super) graph: usize,
    /// All of them; the first is measured.
    pub(super) kernels: Vec<KernelId>,
}

/// The distinct kernels of graphs, in the order of their first occurrence.
pub(super) fn distinct(graphs: &[ProfiledKernels]) -> Vec<Distinct> {
    let mut found: Vec<Distinct> = Vec::new();
    for (graph, profiled) in graphs.iter().enumerate() {
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for (id, kernel) in profiled.program.linked.graph.kernels.iter() {
            let index = *known.entry(key(kernel)).or_insert_with(|| {
                found.push(Distinct {
                    graph,
                    kernels: Vec::new(),
                });
                found.len() - 1
            });
            found[index].kernels.push(id);
        }
    }
    found
}

fn key(kernel: &Kernel) -> String {
    let arguments = kernel.arguments.iter().map(|argument| match argument {
        Argument::Buffer(buffer) => format!(
            "{} {} {}",
            buffer.access.name(),
            buffer.element,
            buffer.elements
        ),
        Argument::Scalar(scalar) => format!("{} {}", scalar.element, scalar.value),
        Argument::Local { bytes } => format!("local {}", bytes.count()),
    });
    let arguments: Vec<String> = arguments.collect();
    format!(
        "{} {} {:?} {:?} {:?} {arguments:?}",
        kernel.source.written, kernel.function, kernel.defines, kernel.global, kernel.local
    )
}

/// The memory of a graph in every context, with everything computed once.
pub(super) fn workspace(graph: &ProfiledKernels, machine: &Machine) -> Result<Workspace, RunError> {
    let program = &graph.program;
    let kernels = || program.linked.graph.kernels.iter().map(|(id, _)| id);
    let placed = machine.stations.iter().flat_map(|station| {
        kernels().map(|kernel| Placed {
            kernel,
            context: &station.context,
            device: station.bound.id,
        })
    });
    judge(program, &placed.collect::<Vec<_>>())?;
    let mut workspace = Workspace::new(program, &machine.contexts)?;
    for (&tensor, contents) in program.graph.inputs.iter().zip(&graph.inputs) {
        workspace.set(tensor, contents);
    }
    for context in 0..machine.contexts.len() {
        let station = machine.inhabitants(context).next();
        let station = station.expect("a memory has a processor");
        for &tensor in &program.graph.inputs {
            if !workspace.is_shared(tensor, context) {
                workspace.write(&station.queue, tensor, context)?;
            }
        }
        for kernel in kernels() {
            for launch in workspace.launches(kernel, context) {
                launch.enqueue(&station.queue, &[])?;
                // One at a time, since `PoCL` 5.0 crashes when two devices load the same kernel at the same time.
                finish(&station.queue)?;
            }
        }
    }
    // The other devices of a context compile too when they first launch.
    for station in &machine.stations {
        for kernel in kernels() {
            for launch in workspace.launches(kernel, station.memory) {
                launch.enqueue(&station.queue, &[])?;
                finish(&station.queue)?;
            }
        }
    }
    Ok(workspace)
}

/// A kernel that is ready to be launched again and again on the devices of a context.
pub(super) fn chain(
    graph: &ProfiledKernels,
    workspace: &Workspace,
    machine: &Machine,
    kernel: KernelId,
    context: usize,
) -> Result<Chain, OpenclError> {
    let launches = workspace.new_launches(&graph.program, kernel, &machine.contexts[context])?;
    Ok(Chain::of(vec![launches]))
}
