//! What is wrong with a binding, all of it in one message.

use std::fmt;

use crate::opencl::OpenclError;
use crate::tune::TuneError;

/// Why processors cannot be bound to devices.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// No device can be asked.
    #[error(transparent)]
    Opencl(#[from] OpenclError),
    /// What was kept of a device cannot be read.
    #[error(transparent)]
    Tune(TuneError),
    /// The user's maps do not fit the plan and the machine.
    #[error("{}", lines(.problems))]
    Maps {
        /// All that is wrong with them.
        problems: Vec<BindProblem>,
        /// The processors of the plan.
        processors: Vec<String>,
        /// The devices, a line each.
        devices: Vec<String>,
        /// What maps would do.
        example: Vec<String>,
    },
    /// No device or several are meant.
    #[error("--device {wanted}: {}", meant(.found))]
    Device {
        /// What was asked for.
        wanted: String,
        /// Indices of the devices that match.
        found: Vec<usize>,
        /// The devices, a line each.
        devices: Vec<String>,
    },
}

impl From<TuneError> for BindError {
    fn from(error: TuneError) -> Self {
        match error {
            TuneError::Opencl(error) => Self::Opencl(error),
            error @ (TuneError::Unsupported(_)
            | TuneError::NoFolder
            | TuneError::File { .. }
            | TuneError::Content { .. }) => Self::Tune(error),
        }
    }
}

impl BindError {
    /// The message for maps that were given by an option of this name.
    pub fn said(&self, option: &str) -> String {
        match self {
            Self::Maps { problems, .. } => {
                let lines: Vec<String> = problems.iter().map(|one| one.said(option)).collect();
                lines.join("\n")
            }
            Self::Opencl(_) | Self::Tune(_) | Self::Device { .. } => self.to_string(),
        }
    }
}

fn lines(problems: &[BindProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn meant(found: &[usize]) -> String {
    if found.is_empty() {
        return "there is no such device".to_owned();
    }
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    format!("devices {} match", found.join(" and "))
}

/// One thing that is wrong with the maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindProblem {
    /// No map says where it runs, and that does not follow.
    Unmapped {
        /// The processor.
        processor: String,
        /// Names in maps that are spelt alike.
        near: Vec<String>,
    },
    /// Two maps.
    MappedTwice {
        /// The processor.
        processor: String,
    },
    /// Nothing matches.
    NoSuchDevice {
        /// The map.
        map: String,
    },
    /// Several match.
    Ambiguous {
        /// The map.
        map: String,
        /// Indices of the devices.
        devices: Vec<usize>,
    },
    /// The parts are larger than the whole.
    TooManyUnits {
        /// The device's index.
        device: usize,
        /// Compute units asked for.
        asked: usize,
        /// Compute units that it has.
        has: usize,
    },
    /// The driver cannot do it.
    CannotSplit {
        /// The device's index.
        device: usize,
    },
    /// One map takes the whole of it, another a part.
    WholeAndPart {
        /// The device's index.
        device: usize,
    },
}

impl BindProblem {
    /// The problem with maps that were given by an option of this name.
    pub fn said(&self, option: &str) -> String {
        match self {
            Self::Unmapped { processor, near } => {
                let told = format!("processor `{processor}` is mapped to no device");
                match near.first() {
                    Some(near) => format!("{told}; is it `{near}` of {option} {near}=…?"),
                    None => told,
                }
            }
            Self::MappedTwice { processor } => format!("{option} {processor}=…: mapped twice"),
            Self::NoSuchDevice { map } => format!("{option} {map}: {}", meant(&[])),
            Self::Ambiguous { map, devices } => format!("{option} {map}: {}", meant(devices)),
            Self::TooManyUnits { device, asked, has } => {
                format!("device {device} has {has} compute units, but the maps ask for {asked}")
            }
            Self::CannotSplit { device } => format!(
                "device {device} cannot be split into parts of given numbers of compute units"
            ),
            Self::WholeAndPart { device } => format!(
                "device {device} is mapped as a whole and in parts, which would share compute units"
            ),
        }
    }
}

impl fmt::Display for BindProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said("--map"))
    }
}
