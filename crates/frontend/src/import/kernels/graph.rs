//! A kernel graph with everything evaluated: what a runtime launches, in an order in which it can be launched.
//!
//! The idea is that of PySchedCL: kernels, the buffers among their arguments, and edges from a written buffer to a read one.
//! Sizes are integers here; the expressions that they came from stay in the specification.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use paracompile_plan::Bytes;

use super::element::Element;
use crate::arena::{Arena, Id};

/// Index of a kernel in its graph.
pub type KernelId = Id<Kernel>;

/// A graph of OpenCL kernels; only the importer makes one, so what it refuses cannot be found here.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelGraph {
    /// File name without directory and extension.
    pub name: String,
    /// SHA-256, in hexadecimal, over what is computed: kernels, sizes, values and edges.
    /// Preferences for devices, components and queues, the text of the sources and the layout of the file do not change it.
    pub digest: String,
    /// Kernels in topological order, those that are free to swap in file order.
    pub kernels: Arena<Kernel>,
    /// How many command queues a device is asked to have, by kind of device; compilers may choose others.
    pub queues: BTreeMap<Device, u32>,
}

/// One launch of an OpenCL kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Unique name: the id that the file gives it.
    pub name: String,
    /// Where its code is.
    pub source: SourceFile,
    /// The function in the source.
    pub function: String,
    /// Macros that the source is built with.
    pub defines: BTreeMap<String, String>,
    /// Work items along each of one to three dimensions.
    pub global: Vec<u64>,
    /// Work items of a group along each dimension; absent leaves it to the device.
    pub local: Option<Vec<u64>>,
    /// Arguments, by position.
    pub arguments: Vec<Argument>,
    /// Kernels that have to end before it starts although it reads nothing of them, ascending.
    pub after: Vec<KernelId>,
    /// The kind of device that the file prefers for it.
    pub device: Option<Device>,
    /// The task component that the file puts it in.
    pub component: Option<u32>,
}

/// The file with the code of a kernel, which only a run needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// As the specification names it.
    pub written: String,
    /// Where it lies, if it was found.
    pub found: Option<PathBuf>,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Device {
    /// A CPU.
    Cpu,
    /// A GPU.
    Gpu,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A buffer.
    Buffer(Buffer),
    /// A value.
    Scalar(Scalar),
    /// Memory of a work group.
    Local {
        /// Its size.
        bytes: Bytes,
    },
}

/// A buffer as one kernel sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Whether it is read or written, and what is read.
    pub access: Access,
    /// Type of an element.
    pub element: Element,
    /// Number of elements.
    pub elements: u64,
    /// Size.
    pub bytes: Bytes,
    /// PySchedCL's `break`: whether a kernel that is split over devices needs its share alone. Kernels run whole here; the word is kept for conversions.
    pub shared_out: bool,
}

/// What a kernel does with a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// It reads.
    In(Origin),
    /// It writes every element that counts.
    Out,
    /// It reads and writes in place.
    InOut(Origin),
}

/// Where the contents of a buffer come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// The host: an isolated write.
    Host(Option<Initial>),
    /// An argument of an earlier kernel.
    Kernel {
        /// The kernel that writes it.
        kernel: KernelId,
        /// Which of its arguments.
        position: usize,
    },
}

/// What the host writes where the user of a run says nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial {
    /// The same value everywhere.
    Fill(f64),
    /// The contents of a `.npy` file, named relative to the specification.
    File(String),
}

/// A value and its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalar {
    /// Type.
    pub element: Element,
    /// Value; it fits the type.
    pub value: Number,
}

/// A number of a specification.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of a whole type.
    Whole(i128),
    /// Of a floating-point type.
    Real(f64),
}

impl Access {
    /// What is read, if anything is.
    pub const fn origin(&self) -> Option<&Origin> {
        match self {
            Self::In(origin) | Self::InOut(origin) => Some(origin),
            Self::Out => None,
        }
    }

    /// Whether something is written.
    pub const fn writes(&self) -> bool {
        match self {
            Self::In(_) => false,
            Self::Out | Self::InOut(_) => true,
        }
    }

    /// The name in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::In(_) => "in",
            Self::Out => "out",
            Self::InOut(_) => "inout",
        }
    }
}

impl Kernel {
    /// Its buffers, each with its position.
    pub fn buffers(&self) -> impl Iterator<Item = (usize, &Buffer)> {
        self.arguments
            .iter()
            .enumerate()
            .filter_map(|(position, argument)| match argument {
                Argument::Buffer(buffer) => Some((position, buffer)),
                Argument::Scalar(_) | Argument::Local { .. } => None,
            })
    }

    /// The kernels that have to end before it starts, ascending, each once.
    pub fn parents(&self) -> Vec<KernelId> {
        let read = self
            .buffers()
            .filter_map(|(_, buffer)| match buffer.access.origin()? {
                Origin::Kernel { kernel, .. } => Some(*kernel),
                Origin::Host(_) => None,
            });
        let mut parents: Vec<KernelId> = read.chain(self.after.iter().copied()).collect();
        parents.sort_unstable();
        parents.dedup();
        parents
    }
}

/// An edge: a written buffer that another kernel reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The reader and the position of its argument.
    pub to: (KernelId, usize),
    /// The writer and the position of its argument.
    pub from: (KernelId, usize),
}

impl KernelGraph {
    /// All edges, by reader and its position.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.kernels.iter().flat_map(|(id, kernel)| {
            kernel
                .buffers()
                .filter_map(move |(at, buffer)| match buffer.access.origin()? {
                    &Origin::Kernel { kernel, position } => Some(Edge {
                        to: (id, at),
                        from: (kernel, position),
                    }),
                    Origin::Host(_) => None,
                })
        })
    }
}

impl Device {
    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => write!(f, "{value}"),
            // Rust writes the shortest decimal that reads back as the same number.
            Self::Real(value) => write!(f, "{value}"),
        }
    }
}
