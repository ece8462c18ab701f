//! Errors of the library as people see them.

use std::path::Path;

use paracompile_plan::{FileKind, ReadError, counted};
use paracompile_runtime::bind::BindError;
use paracompile_runtime::execute::RunError;
use paracompile_runtime::input::InputError;
use paracompile_runtime::model::ModelError;
use paracompile_runtime::opencl::OpenclError;

use crate::failure::{Failure, Kind};

/// A failure of OpenCL.
pub(crate) fn opencl(error: &OpenclError) -> Failure {
    let failure = Failure::from_error(Kind::Device, error);
    match error {
        OpenclError::NoLibrary | OpenclError::NoDevice => failure.with_help(
            "install a driver; PoCL runs on any CPU: apt-get install ocl-icd-libopencl1 pocl-opencl-icd",
        ),
        OpenclError::Build { .. }
        | OpenclError::OutOfMemory { .. }
        | OpenclError::Call { .. }
        | _ => failure,
    }
}

/// Processors of plans without a device, which `--map` gives them.
pub(crate) fn bind(error: &BindError) -> Failure {
    bound_by("--map", "the plan", error)
}

/// Processors of `whose` without a device, which this option gives them.
pub(crate) fn bound_by(option: &str, whose: &str, error: &BindError) -> Failure {
    match error {
        BindError::Opencl(error) => opencl(error),
        BindError::Tune(error) => Failure::from_error(Kind::File, error),
        BindError::Maps {
            processors,
            devices,
            example,
            ..
        } => {
            let example = example.iter().map(|map| format!("{option} {map}"));
            Failure::new(Kind::Device, error.said(option)).with_help(format!(
                "processors of {whose}: {}\ndevices of this machine:\n  {}\nfor example {}",
                processors.join(", "),
                devices.join("\n  "),
                example.collect::<Vec<_>>().join(" "),
            ))
        }
        BindError::Device { devices, .. } => Failure::new(Kind::Device, error).with_help(format!(
            "devices of this machine:\n  {}",
            devices.join("\n  ")
        )),
        _ => Failure::from_error(Kind::Device, error),
    }
}

/// A model that cannot be read, or is not the plan's.
pub(crate) fn model(error: &ModelError, plan: &Path, model: &Path) -> Failure {
    match error {
        ModelError::Import(error) => Failure::from_error(Kind::Model, error).at(model),
        ModelError::Other { .. } => Failure::new(Kind::Plan, error)
            .at(plan)
            .with_help("give --model the file that the plan was made from"),
        ModelError::Wrong(_) | _ => Failure::from_error(Kind::Plan, error).at(plan),
    }
}

/// Inputs that do not fit.
pub(crate) fn input(error: &InputError) -> Failure {
    let inputs = error.inputs.join("\n  ");
    Failure::new(Kind::Input, error).with_help(format!("the model's inputs:\n  {inputs}"))
}

/// A plan file that cannot be read; a front, a model or a directory are common mistakes.
pub(crate) fn plan(error: &ReadError, path: &Path) -> Failure {
    match FileKind::of(path).filter(|kind| *kind != FileKind::Plan) {
        Some(kind) => Failure::new(Kind::Plan, format!("this is {kind}, not a plan"))
            .at(path)
            .with_help(kind.remedy()),
        None => Failure::from_error(Kind::Plan, error).at(path),
    }
}

/// A directory that paracompile did not write.
pub(crate) fn directory(error: &ReadError, path: &Path) -> Failure {
    match FileKind::of(path).filter(|kind| *kind != FileKind::Run) {
        Some(kind) => Failure::new(
            Kind::Plan,
            format!("this is {kind}, not a directory that paracompile wrote"),
        )
        .at(path)
        .with_help(kind.remedy()),
        None => Failure::from_error(Kind::Plan, error).at(path),
    }
}

/// A run that did not start, or did not end.
pub(crate) fn run(error: &RunError, plan: &Path) -> Failure {
    match error {
        RunError::Opencl(error) => opencl(error),
        RunError::Unsupported(operators) => {
            let lines: Vec<String> = operators.iter().map(ToString::to_string).collect();
            let message = format!("{} cannot be executed", counted(operators.len(), "operator"));
            Failure::new(Kind::Model, message).with_help(lines.join("\n"))
        }
        RunError::OtherModel { .. } => Failure::from_error(Kind::Plan, error).at(plan),
        RunError::Interrupted { .. } => Failure::from_error(Kind::Interrupted, error),
        RunError::Input { .. } => Failure::from_error(Kind::Input, error),
        RunError::TornMemory { .. } => Failure::from_error(Kind::Device, error).with_help(
            "bind them to devices of one platform, or map the network with a profile that gives each a memory of its own",
        ),
        RunError::Unbound(_) | RunError::Failed { .. } | RunError::Stuck { .. } | _ => {
            Failure::from_error(Kind::Device, error)
        }
    }
}
