//! The model that a plan was made from, read as the plan says: with its dimensions and its rewritings.

use std::path::{Path, PathBuf};

use paracompile_frontend::facts::model_facts;
use paracompile_frontend::import::kernels::KernelOptions;
use paracompile_frontend::import::onnx::{
    Convolutions, Heads, ImportError, ImportOptions, Program, digest_of, load,
};
use paracompile_frontend::ir::VerifiedGraph;
use paracompile_plan::plan::ModelKind;
use paracompile_plan::{Plan, Violation, check_structure};

use crate::users::{KernelProgram, LoadError};

/// Why a plan and a model do not go together: the user's fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The model cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The kernel graph cannot be read, or has no sources.
    #[error(transparent)]
    Kernels(#[from] LoadError),
    /// The plan was made from another one.
    #[error(
        "this plan is for another model\n  the plan's: `{}`, digest {}\n  the one given: `{}`, digest {}",
        .plan.0, .plan.1, .given.0, .given.1
    )]
    Other {
        /// Name and digest of the plan's model.
        plan: (String, String),
        /// Name and digest of the one given.
        given: (String, String),
    },
    /// The plan is not one that can run.
    #[error("the plan is wrong:{}", lines(.0))]
    Wrong(Vec<Violation>),
}

fn lines(violations: &[Violation]) -> String {
    use std::fmt::Write;
    violations
        .iter()
        .fold(String::new(), |mut text, violation| {
            let _ = write!(text, "\n  {violation}");
            text
        })
}

/// What a plan is for.
#[derive(Debug)]
pub enum Model {
    /// A network.
    Network(Box<Program>),
    /// OpenCL kernels.
    Kernels(Box<KernelProgram>),
}

/// Reads the model of a plan, and proves that the plan is a correct order of its commands; sources of kernels are looked for in `folders` too.
pub fn load_model(plan: &Plan, path: &Path, folders: &[PathBuf]) -> Result<Model, ModelError> {
    match plan.model.kind {
        ModelKind::Onnx => Ok(Model::Network(Box::new(load_for(plan, path)?))),
        ModelKind::Kernels => {
            let options = KernelOptions {
                folders: folders.to_vec(),
                symbols: plan.model.dims.clone(),
            };
            let program = KernelProgram::load(path, &options)?;
            is_same(
                plan,
                program.graph.name.clone(),
                program.graph.digest.clone(),
            )?;
            check_graph(plan, &program.graph)?;
            Ok(Model::Kernels(Box::new(program)))
        }
    }
}

/// Reads the network of a plan, and proves that the plan is a correct order of its commands.
pub fn load_for(plan: &Plan, path: &Path) -> Result<Program, ModelError> {
    let mut options = options(plan);
    // Another model is told first: what the plan binds or lacks for it would only mislead.
    let (name, digest) = digest_of(path)?;
    is_same(plan, name, digest)?;
    let mut program = load(path, &options)?;
    if !has_rewrites(&program, plan) {
        options.convolutions = Convolutions::AsWritten;
        program = load(path, &options)?;
    }
    check(plan, &program)?;
    Ok(program)
}

/// Refuses a plan of another model.
fn is_same(plan: &Plan, name: String, digest: String) -> Result<(), ModelError> {
    if digest == plan.model.graph_digest {
        return Ok(());
    }
    Err(ModelError::Other {
        plan: (plan.model.name.clone(), plan.model.graph_digest.clone()),
        given: (name, digest),
    })
}

/// Refuses a plan that is no valid execution order of the model.
pub fn check(plan: &Plan, program: &Program) -> Result<(), ModelError> {
    check_graph(plan, &program.imported.graph)
}

fn check_graph(plan: &Plan, graph: &VerifiedGraph) -> Result<(), ModelError> {
    let mut facts = model_facts(graph);
    // The file may have been renamed: the digest says whose plan it is.
    facts.name.clone_from(&plan.model.name);
    let violations = check_structure(plan, &facts);
    if violations.is_empty() {
        Ok(())
    } else {
        Err(ModelError::Wrong(violations))
    }
}

/// How the model was read for the plan, as far as the plan says it.
fn options(plan: &Plan) -> ImportOptions {
    let heads = plan.model.rewrites.iter().find_map(|rewrite| {
        let most = match rewrite.strip_prefix("expose-heads")? {
            "" => std::num::NonZeroU64::MAX,
            most => most.strip_prefix('=')?.parse().ok()?,
        };
        Some(Heads::Apart { most })
    });
    ImportOptions {
        dims: plan.model.dims.clone(),
        convolutions: Convolutions::Fold,
        heads: heads.unwrap_or_default(),
    }
}

/// Whether reading the model has rewritten it as the plan says; fusion is a matter of plans.
fn has_rewrites(program: &Program, plan: &Plan) -> bool {
    let of_plan = plan
        .model
        .rewrites
        .iter()
        .filter(|rewrite| *rewrite != "fusion");
    of_plan.eq(program.imported.graph.rewrites.iter())
}
