//! Errors of the library as people see them.

use std::path::Path;

use paracompile_plan::{FileKind, ReadError, counted};
use paracompile_runtime::bind::BindError;
use paracompile_runtime::execute::RunError;
use paracompile_runtime::input::InputError;
use paracompile_runtime::interpret::InterpretError;
use paracompile_runtime::model::ModelError;
use paracompile_runtime::opencl::OpenclError;
use paracompile_runtime::schedule::ScheduleError;
use paracompile_runtime::users::{KernelProblems, LoadError};

use crate::failure::{Failure, Kind};
use crate::interrupt;

/// A failure of OpenCL.
pub(crate) fn opencl(error: &OpenclError) -> Failure {
    let failure = Failure::from_error(Kind::Device, error);
    let driver = "install a driver; PoCL runs on any CPU: apt-get install ocl-icd-libopencl1 pocl-opencl-icd";
    match error {
        // Compilers of drivers clean up and give up when the program is interrupted.
        OpenclError::Build { .. } if interrupt::asked() => {
            Failure::new(Kind::Interrupted, "interrupted while kernels were built")
        }
        OpenclError::NoLibrary => failure.with_help(driver),
        OpenclError::NoDevice => failure.with_help(format!(
            "{driver}\na driver that is installed may lack a folder that it can write to: PoCL's is POCL_CACHE_DIR, \
             or pocl/ in XDG_CACHE_HOME or ~/.cache"
        )),
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
        ModelError::Kernels(error) => kernels(error, model),
        ModelError::Other { .. } => Failure::new(Kind::Plan, error)
            .at(plan)
            .with_help("give --model the file that the plan was made from"),
        ModelError::Wrong(_) | _ => Failure::from_error(Kind::Plan, error).at(plan),
    }
}

/// A kernel graph that cannot be read, or has no sources.
pub(crate) fn kernels(error: &LoadError, path: &Path) -> Failure {
    let failure = Failure::from_error(Kind::Model, error).at(path);
    match error {
        LoadError::Missing(_) => failure.with_help(
            "put the sources beside the kernel graph or into src/ or kernels/ there, or name their folder by --kernel-dir",
        ),
        LoadError::Import(_) | LoadError::Verify(_) | LoadError::Read { .. } | _ => failure,
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

/// Constants that cannot be computed.
pub(crate) fn constants(error: &InterpretError) -> Failure {
    match error {
        InterpretError::Opencl(error) => opencl(error),
        InterpretError::TooLarge(_) => Failure::from_error(Kind::Device, error),
        InterpretError::Unsupported(_)
        | InterpretError::Payload(_)
        | InterpretError::Weights(_)
        | InterpretError::Missing { .. }
        | InterpretError::Size { .. }
        | _ => Failure::from_error(Kind::Model, error),
    }
}

/// A kernel graph that a policy could not run.
pub(crate) fn schedule(error: &ScheduleError, graph: &Path) -> Failure {
    match error {
        ScheduleError::Run(error) => run(error, graph),
        ScheduleError::Cycle => Failure::from_error(Kind::Model, error).at(graph).with_help(
            "correct the components, or use --policy eager or heft, where each kernel is one by itself",
        ),
        ScheduleError::Interrupted => Failure::from_error(Kind::Interrupted, error),
        ScheduleError::Idle { .. } | ScheduleError::Choice { .. } => {
            Failure::from_error(Kind::Bug, error)
        }
        ScheduleError::Failed { .. } | ScheduleError::Stuck(_) | _ => {
            Failure::from_error(Kind::Device, error)
        }
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
        RunError::Kernels(KernelProblems(problems)) => {
            let mut remedies: Vec<&str> = Vec::new();
            for problem in problems {
                if !remedies.contains(&problem.fault.remedy()) {
                    remedies.push(problem.fault.remedy());
                }
            }
            Failure::from_error(Kind::Model, error).with_help(remedies.join("\n"))
        }
        RunError::OtherModel { .. } => Failure::from_error(Kind::Plan, error).at(plan),
        RunError::Interrupted { .. } => Failure::from_error(Kind::Interrupted, error),
        RunError::Input { .. } => Failure::from_error(Kind::Input, error),
        RunError::TornMemory { .. } => Failure::from_error(Kind::Device, error).with_help(
            "bind them to devices of one platform, or map the network with a profile that gives each a memory of its own",
        ),
        RunError::TooLarge(_) | RunError::Unbound(_) | RunError::Failed { .. } | RunError::Stuck { .. } | _ => {
            Failure::from_error(Kind::Device, error)
        }
    }
}
