//! Compares what a specification says of kernels with what the device's compiler found in their sources.

use std::collections::BTreeMap;
use std::path::Path;

use opencl3::device::Device;
use opencl3::kernel::Kernel as ClKernel;
use opencl3::types::cl_device_id;
use paracompile_frontend::import::kernels::{Argument, Element, Kernel, KernelId};
use paracompile_frontend::ir::DataType;

use super::problem::{Fault, KernelProblem, KernelProblems};
use super::program::KernelProgram;
use super::resolve::options;
use crate::execute::RunError;
use crate::opencl::{Context, Doing, OpenclError, code_name};

/// `CL_KERNEL_ARG_ADDRESS_*`.
const GLOBAL: u32 = 0x119B;
const LOCAL: u32 = 0x119C;
const CONSTANT: u32 = 0x119D;
const PRIVATE: u32 = 0x119E;

/// A kernel and the device that runs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'c> {
    /// The kernel.
    pub(crate) kernel: KernelId,
    /// Where it is built.
    pub(crate) context: &'c Context,
    /// The device, one of the context's.
    pub(crate) device: cl_device_id,
}

/// Builds every source, and tells all that keeps kernels from running.
pub(crate) fn judge(program: &KernelProgram, placed: &[Placed<'_>]) -> Result<(), RunError> {
    // Kernels that differ in names and edges alone have the same faults.
    let mut seen: BTreeMap<String, Option<usize>> = BTreeMap::new();
    let mut problems: Vec<KernelProblem> = Vec::new();
    for one in placed {
        let kernel = program.kernel(one.kernel);
        let key = format!(
            "{} {} {:?} {:?} {:?} {:?} {} {:?}",
            kernel.source.written,
            kernel.function,
            kernel.defines,
            kernel.global,
            kernel.local,
            kernel.arguments.iter().map(shown).collect::<Vec<_>>(),
            one.context.index(),
            one.device
        );
        if let Some(before) = seen.get(&key) {
            if let Some(problem) = before.and_then(|index| problems.get_mut(index)) {
                problem.others += 1;
            }
            continue;
        }
        let faults = faults(program, *one)?;
        seen.insert(key, (!faults.is_empty()).then_some(problems.len()));
        for fault in faults {
            // A source that does not build, or lacks a function, says so once.
            let known = problems.iter_mut().find(|known| {
                known.file == kernel.source.written
                    && known.fault == fault
                    && (matches!(fault, Fault::Build { .. } | Fault::Includes { .. })
                        || known.function == kernel.function)
            });
            if let Some(known) = known {
                known.others += 1;
                continue;
            }
            problems.push(KernelProblem {
                kernel: kernel.name.clone(),
                others: 0,
                file: kernel.source.written.clone(),
                function: kernel.function.clone(),
                fault,
            });
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(RunError::Kernels(KernelProblems(problems)))
    }
}

/// What is wrong with a kernel on its device.
fn faults(program: &KernelProgram, placed: Placed<'_>) -> Result<Vec<Fault>, OpenclError> {
    let kernel = program.kernel(placed.kernel);
    let source = program.source(placed.kernel);
    if let Some(folder) = source.includes_from.as_deref()
        && !can_be_named(folder)
    {
        let folder = folder.to_owned();
        return Ok(vec![Fault::Includes { folder }]);
    }
    let options = options(program, placed.kernel);
    let built = placed
        .context
        .users_kernel(source, &options, &kernel.function);
    let built = match built {
        Ok(Some(built)) => built,
        Ok(None) => {
            let known = placed.context.users_functions(source, &options)?;
            return Ok(vec![Fault::NoFunction { known }]);
        }
        Err(OpenclError::Build {
            options,
            device,
            log,
            ..
        }) => {
            return Ok(vec![Fault::Build {
                options,
                device,
                log,
            }]);
        }
        Err(error) => return Err(error),
    };
    let declared = built
        .num_args()
        .doing(|| format!("asking `{}` for its arguments", kernel.function))?;
    let declared = declared as usize;
    if declared != kernel.arguments.len() {
        return Ok(vec![Fault::ArgumentCount {
            specified: kernel.arguments.len(),
            declared,
        }]);
    }
    let mut faults = Vec::new();
    for (position, argument) in kernel.arguments.iter().enumerate() {
        faults.extend(argument_fault(&built, position, argument));
    }
    if faults.is_empty() {
        faults.extend(group_fault(kernel, &built, placed.device)?);
    }
    Ok(faults)
}

/// Whether every compiler finds a folder by its name: they split options at blanks, and differ in what quotes them.
fn can_be_named(folder: &Path) -> bool {
    let breaks = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '\\');
    folder.to_str().is_some_and(|name| !name.contains(breaks))
}

/// An argument as people read it.
fn shown(argument: &Argument) -> String {
    match argument {
        Argument::Buffer(buffer) => format!("a buffer of {}", buffer.element),
        Argument::Scalar(scalar) => format!("a value of type {}", scalar.element),
        Argument::Local { bytes } => format!("local memory of {} bytes", bytes.count()),
    }
}

/// Where an argument is not what the source declares.
fn argument_fault(built: &ClKernel, position: usize, argument: &Argument) -> Option<Fault> {
    if let Argument::Scalar(scalar) = argument
        && scalar.element.dtype == DataType::Float16
    {
        let element = scalar.element.to_string();
        return Some(Fault::NoValue { position, element });
    }
    let at = u32::try_from(position).unwrap_or(u32::MAX);
    let refused = || try_set(built, at, argument);
    let fault = |declared: String| Fault::Argument {
        position,
        specified: shown(argument),
        declared,
    };
    // Drivers need not keep what the source declares.
    let (Ok(space), Ok(name)) = (
        built.get_arg_address_qualifier(at),
        built.get_arg_type_name(at),
    ) else {
        return refused();
    };
    let name = name.trim_end_matches('\0').trim().to_owned();
    let pointed = name.trim_end_matches('*').trim();
    let (is_right, element) = match argument {
        Argument::Buffer(buffer) => (space == GLOBAL || space == CONSTANT, Some(buffer.element)),
        Argument::Scalar(scalar) => (space == PRIVATE, Some(scalar.element)),
        Argument::Local { .. } => (space == LOCAL, None),
    };
    if !is_right {
        return Some(fault(declared(space, &name)));
    }
    // Types that the source makes itself are not known here.
    let plain = pointed.trim_start_matches("const ").trim();
    match (element, Element::parse(plain)) {
        (Some(specified), Some(found)) if specified != found => Some(fault(declared(space, &name))),
        _ => refused(),
    }
}

/// A declaration as people read it.
fn declared(space: u32, name: &str) -> String {
    match space {
        GLOBAL => format!("`__global {name}`"),
        LOCAL => format!("`__local {name}`"),
        CONSTANT => format!("`__constant {name}`"),
        _ => format!("`{name}`"),
    }
}

/// Lets OpenCL judge values and local memory, whose sizes it knows.
fn try_set(built: &ClKernel, position: u32, argument: &Argument) -> Option<Fault> {
    let refused = |code: i32| Fault::Refused {
        position: position as usize,
        specified: shown(argument),
        reason: code_name(code),
    };
    match argument {
        Argument::Buffer(_) => None,
        Argument::Scalar(scalar) => {
            let bytes = super::resolve::value(scalar);
            // SAFETY: OpenCL copies the value, and refuses one whose size is not the parameter's.
            #[expect(unsafe_code, reason = "setting an argument is unsafe by signature")]
            let set = unsafe {
                opencl3::kernel::set_kernel_arg(
                    built.get(),
                    position,
                    bytes.len(),
                    bytes.as_ptr().cast(),
                )
            };
            set.err().map(refused)
        }
        Argument::Local { bytes } => {
            let bytes = usize::try_from(bytes.count()).unwrap_or(usize::MAX);
            // SAFETY: no memory is handed over.
            #[expect(unsafe_code, reason = "setting an argument is unsafe by signature")]
            let set = unsafe { built.set_arg_local_buffer(position, bytes) };
            set.err().map(|error| refused(error.0))
        }
    }
}

/// Work groups and local memory that the device does not have.
fn group_fault(
    kernel: &Kernel,
    built: &ClKernel,
    id: cl_device_id,
) -> Result<Option<Fault>, OpenclError> {
    let device = Device::new(id);
    let doing = || format!("asking a device about `{}`", kernel.function);
    let name = device.name().doing(doing)?;
    let available = device.local_mem_size().doing(doing)?;
    // The kernel's own arrays count too; drivers may count the arguments that were just set.
    let arguments: u64 = kernel
        .arguments
        .iter()
        .map(|argument| match argument {
            Argument::Local { bytes } => bytes.count(),
            Argument::Buffer(_) | Argument::Scalar(_) => 0,
        })
        .fold(0, u64::saturating_add);
    let counted = built.get_local_mem_size(id).doing(doing)?;
    let needed = arguments.max(counted);
    if needed > available {
        return Ok(Some(Fault::LocalMemory {
            needed,
            available,
            device: name,
        }));
    }
    let fixed = built.get_compile_work_group_size(id).unwrap_or_default();
    let fixed: Option<Vec<usize>> = fixed.iter().all(|&extent| extent > 0).then_some(fixed);
    let fixed = fixed.filter(|fixed| !fixed.is_empty());
    let Some(local) = &kernel.local else {
        return Ok(None);
    };
    let local: Vec<usize> = local
        .iter()
        .map(|&extent| usize::try_from(extent).unwrap_or(usize::MAX))
        .collect();
    let wrong = |allowed: String| {
        Ok(Some(Fault::WorkGroup {
            local: local.clone(),
            allowed,
            device: name.clone(),
        }))
    };
    if let Some(fixed) = fixed {
        let padded = local.iter().copied().chain([1, 1]).take(fixed.len());
        if !padded.eq(fixed.iter().copied()) {
            return wrong(format!("{fixed:?} alone, as the source demands"));
        }
    }
    let most = built.get_work_group_size(id).doing(doing)?;
    let items = local.iter().copied().fold(1, usize::saturating_mul);
    if items > most {
        return wrong(format!("{most} work items of this kernel in a group"));
    }
    let extents = device.max_work_item_sizes().doing(doing)?;
    if local.iter().zip(&extents).any(|(own, most)| own > most) {
        return wrong(format!("{extents:?} along the dimensions"));
    }
    Ok(None)
}
