//! Kernel graphs on the command line: reading one with its sources and its inputs.

use std::path::Path;

use paracompile_frontend::import::kernels::KernelOptions;
use paracompile_runtime::users::{KernelProgram, kernel_inputs};

use crate::args::SourceArgs;
use crate::failure::{Failure, Kind};
use crate::problems;

/// Reads a kernel graph and its sources, with symbols bound.
pub(crate) fn load(
    path: &Path,
    sources: &SourceArgs,
    dims: &[(String, u64)],
) -> Result<KernelProgram, Failure> {
    let options = KernelOptions {
        folders: sources.kernel_dir.clone(),
        symbols: dims.iter().cloned().collect(),
    };
    KernelProgram::load(path, &options).map_err(|error| problems::kernels(&error, path))
}

/// The contents of all inputs, as given or by the specification or the seed.
pub(crate) fn inputs(
    program: &KernelProgram,
    given: &[String],
    seed: u64,
) -> Result<Vec<Vec<u8>>, Failure> {
    let inputs = kernel_inputs(program, given, seed).map_err(|error| problems::input(&error))?;
    Ok(inputs.into_iter().map(|tensor| tensor.bytes).collect())
}

/// Refuses more components on the CPU than there are.
pub(crate) fn judge_heads(asked: usize, components: usize, path: &Path) -> Result<(), Failure> {
    if asked <= components {
        return Ok(());
    }
    let message = format!("--cpu-heads {asked}: the kernel graph has {components} components");
    Err(Failure::new(Kind::Model, message).at(path))
}
