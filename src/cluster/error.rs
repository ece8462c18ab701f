//! Why a kernel graph cannot be clustered as it is asked: the user's or the chip's fault.

use paracompile_frontend::import::kernels::Device;

/// Why there is no clustering.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// The file's: components that wait for each other cannot go to a device as a whole.
    #[error("the components of `{graph}` wait for each other in a circle")]
    Circle {
        /// The kernel graph.
        graph: String,
    },
    /// The file's: one component, two kinds of devices.
    #[error(
        "component {component}: kernel `{first}` prefers the {preferred}, and `{other}` the {instead}"
    )]
    Divided {
        /// Index of the component.
        component: usize,
        /// Its first kernel with a preference.
        first: String,
        /// What that prefers.
        preferred: Device,
        /// A kernel that prefers something else.
        other: String,
        /// What it prefers.
        instead: Device,
    },
    /// The chip's: no processor of this name or kind.
    #[error(
        "`{soc}` has no processor that is named `{kind}` or is one, and {components} of the components are to run on it"
    )]
    NoDevice {
        /// The chip.
        soc: String,
        /// What is missing.
        kind: Device,
        /// How many components are meant for it.
        components: usize,
    },
    /// The user's: more components on the CPU than there are.
    #[error("{asked} components are to run on the CPU, and the kernel graph has {components}")]
    TooManyOnCpu {
        /// How many are asked for.
        asked: usize,
        /// How many there are.
        components: usize,
    },
    /// The cost table's: kernels without a time where they are to run.
    #[error("{} without a time on `{processor}`: {}", counted(kernels.len(), "kernel"), shown(kernels))]
    Unmeasured {
        /// The processor.
        processor: String,
        /// Names of the kernels.
        kernels: Vec<String>,
    },
    /// The user's: more queues on a device than kernels.
    #[error("{queues} queues of `{processor}` for {}: each carries one at least", counted(*kernels, "kernel"))]
    TooManyQueues {
        /// The processor.
        processor: String,
        /// Queues.
        queues: usize,
        /// Kernels that run there.
        kernels: usize,
    },
    /// The user's, or the file's: a number of queues that the device cannot have.
    #[error("`{processor}` has 1 to {most} queues, and not {queues}")]
    NoSuchQueues {
        /// The processor.
        processor: String,
        /// What was asked for.
        queues: usize,
        /// The most that its profile knows.
        most: usize,
    },
    /// The user's: more to predict than is worth the time.
    #[error(
        "{configurations} configurations of {kernels} kernels are more than are predicted at once"
    )]
    TooManyConfigurations {
        /// How many would be tried.
        configurations: usize,
        /// Kernels of the graph.
        kernels: usize,
    },
}

impl ClusterError {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Circle { .. } => {
                "put kernels that depend on each other both ways into one component".to_owned()
            }
            Self::Divided { .. } => {
                "give the kernels of a component one device, or say --cpu-heads".to_owned()
            }
            Self::NoDevice { kind, .. } => {
                let heads = match kind {
                    Device::Cpu => "run everything on the GPU with --cpu-heads 0",
                    Device::Gpu => {
                        "run everything on the CPU: --cpu-heads with the number of components"
                    }
                };
                format!(
                    "{heads}, or choose a chip with a processor that is named \"{kind}\" or has that kind"
                )
            }
            Self::TooManyOnCpu { components, .. } => {
                format!("--cpu-heads takes 0 to {components}, or auto")
            }
            Self::Unmeasured { .. } => {
                "add them to the table of --costs, or keep their components off it with --cpu-heads"
                    .to_owned()
            }
            Self::TooManyQueues {
                processor, kernels, ..
            } => format!("--queues {processor}={kernels} is the most"),
            Self::NoSuchQueues {
                processor, most, ..
            } => format!(
                "--queues {processor}=1..{most} tries them all; a device without a component has no queue anyway"
            ),
            Self::TooManyConfigurations { .. } => {
                "fix the number of components on the CPU with --cpu-heads, or queues with --queues"
                    .to_owned()
            }
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// The first few names.
fn shown(names: &[String]) -> String {
    const MOST: usize = 5;
    let listed: Vec<String> = names
        .iter()
        .take(MOST)
        .map(|name| format!("`{name}`"))
        .collect();
    let rest = if names.len() > MOST { ", …" } else { "" };
    listed.join(", ") + rest
}
