//! What is wrong between a specification, its sources and a device: each with its place and a remedy.

use std::fmt;
use std::path::PathBuf;

/// Everything that keeps kernels of a user from running.
#[derive(Debug, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct KernelProblems(pub Vec<KernelProblem>);

fn lines(problems: &[KernelProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Something that keeps a kernel from running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelProblem {
    /// The first kernel of the graph that has it.
    pub kernel: String,
    /// How many others have the same.
    pub others: usize,
    /// The file with its code.
    pub file: String,
    /// The function.
    pub function: String,
    /// What it is.
    pub fault: Fault,
}

/// What is wrong with a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The source does not compile.
    Build {
        /// The macros.
        options: String,
        /// The device.
        device: String,
        /// What the compiler says, with file and line.
        log: String,
    },
    /// The source includes files from a folder whose name compilers cannot be given.
    Includes {
        /// The folder of the source.
        folder: PathBuf,
    },
    /// The source has no such kernel.
    NoFunction {
        /// Those that it has.
        known: Vec<String>,
    },
    /// More or fewer arguments than the function has.
    ArgumentCount {
        /// In the specification.
        specified: usize,
        /// In the source.
        declared: usize,
    },
    /// An argument is something else in the source.
    Argument {
        /// Its position.
        position: usize,
        /// In the specification.
        specified: String,
        /// In the source.
        declared: String,
    },
    /// OpenCL refuses an argument.
    Refused {
        /// Its position.
        position: usize,
        /// In the specification.
        specified: String,
        /// The code's name.
        reason: String,
    },
    /// The type cannot be passed by value.
    NoValue {
        /// Its position.
        position: usize,
        /// The type.
        element: String,
    },
    /// Work groups that the device cannot run.
    WorkGroup {
        /// As specified.
        local: Vec<usize>,
        /// What the device allows.
        allowed: String,
        /// The device.
        device: String,
    },
    /// More local memory than the device has.
    LocalMemory {
        /// Bytes of the kernel and its arguments.
        needed: u64,
        /// Bytes of the device.
        available: u64,
        /// The device.
        device: String,
    },
}

impl fmt::Display for KernelProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kernel,
            others,
            file,
            function,
            ..
        } = self;
        write!(f, "kernel {kernel} (`{function}` of {file}")?;
        if *others > 0 {
            write!(f, ", and {others} more")?;
        }
        write!(f, "): {}", self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build {
                options,
                device,
                log,
            } => write!(
                f,
                "the source does not build for {device} with `{options}`:\n{}",
                log.trim_end()
            ),
            Self::Includes { folder } => write!(
                f,
                "the source includes files, and compilers cannot be given its folder, since the path has blanks, quotes, backslashes or no Unicode: {}",
                folder.display()
            ),
            Self::NoFunction { known } if known.is_empty() => {
                write!(f, "the source has no kernel at all")
            }
            Self::NoFunction { known } => {
                write!(
                    f,
                    "the source has no such kernel; it has {}",
                    known.join(", ")
                )
            }
            Self::ArgumentCount {
                specified,
                declared,
            } => write!(
                f,
                "{specified} arguments are specified, and the function has {declared}"
            ),
            Self::Argument {
                position,
                specified,
                declared,
            } => write!(
                f,
                "argument {position} is specified as {specified}, and the source declares {declared}"
            ),
            Self::Refused {
                position,
                specified,
                reason,
            } => write!(
                f,
                "argument {position}, specified as {specified}, is refused: {reason}"
            ),
            Self::NoValue { position, element } => {
                write!(
                    f,
                    "argument {position}: a {element} cannot be passed by value"
                )
            }
            Self::WorkGroup {
                local,
                allowed,
                device,
            } => write!(f, "work groups of {local:?}, but {device} allows {allowed}"),
            Self::LocalMemory {
                needed,
                available,
                device,
            } => write!(
                f,
                "{needed} bytes of local memory, but {device} has {available}"
            ),
        }
    }
}

impl Fault {
    /// What to do about it.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Build { .. } => {
                "correct the source, or the macros in the specification (`defines`, `macros_values`)"
            }
            Self::Includes { .. } => {
                "move the sources to a folder whose path has letters, digits and dashes alone"
            }
            Self::NoFunction { .. } => {
                "correct the function's name in the specification, or name the right source"
            }
            Self::ArgumentCount { .. } => {
                "describe each argument of the function once, by its position"
            }
            Self::Argument { .. } | Self::Refused { .. } => {
                "correct the type or the kind of the argument in the specification"
            }
            Self::NoValue { .. } => "pass it as a float, or in a buffer of one element",
            Self::WorkGroup { .. } => {
                "specify smaller work groups, or leave them out so that the driver chooses"
            }
            Self::LocalMemory { .. } => {
                "specify smaller work groups or less local memory, or run the kernel on another device"
            }
        }
    }
}
