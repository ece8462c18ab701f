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
        /// Maps that would do, as options.
        example: String,
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

fn lines(problems: &[BindProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// One thing that is wrong with the maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindProblem {
    /// No map says where it runs, and that does not follow.
    Unmapped {
        /// The processor.
        processor: String,
    },
    /// The plan does not use it.
    UnknownProcessor {
        /// The processor of a map.
        processor: String,
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

impl fmt::Display for BindProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unmapped { processor } => {
                write!(f, "processor `{processor}` is mapped to no device")
            }
            Self::UnknownProcessor { processor } => {
                write!(f, "--map {processor}=…: the plan uses no such processor")
            }
            Self::MappedTwice { processor } => {
                write!(f, "--map {processor}=…: mapped twice")
            }
            Self::NoSuchDevice { map } => write!(f, "--map {map}: there is no such device"),
            Self::Ambiguous { map, devices } => {
                let devices: Vec<String> = devices.iter().map(ToString::to_string).collect();
                let devices = devices.join(" and ");
                write!(f, "--map {map}: devices {devices} match")
            }
            Self::TooManyUnits { device, asked, has } => write!(
                f,
                "device {device} has {has} compute units, but the maps ask for {asked}"
            ),
            Self::CannotSplit { device } => write!(
                f,
                "device {device} cannot be split into parts of given numbers of compute units"
            ),
            Self::WholeAndPart { device } => write!(
                f,
                "device {device} is mapped as a whole and in parts, which would share compute units"
            ),
        }
    }
}
