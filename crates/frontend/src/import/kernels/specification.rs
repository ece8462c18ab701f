//! A specification as it is written: expressions are still text, kernels are described once and launched often.
//!
//! The three formats are read into this and written from it, so a conversion loses no symbol that both sides can say.

use std::collections::BTreeMap;

use super::element::Element;
use super::graph::{Device, Initial};

/// Everything that a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Specification {
    /// File name without directory and extension.
    pub name: String,
    /// Symbols of the whole graph.
    pub symbols: BTreeMap<String, String>,
    /// Kernels, each described once.
    pub descriptions: Vec<Description>,
    /// Launches of kernels, in file order.
    pub launches: Vec<Launch>,
    /// Edges, in file order.
    pub edges: Vec<SpecifiedEdge>,
    /// Queues by kind of device.
    pub queues: BTreeMap<Device, u32>,
}

/// A kernel with its sizes as expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Where it is written, for messages: a file, or a kernel of one.
    pub place: String,
    /// A name for the description, unique in the specification once it is read.
    pub name: String,
    /// File with the code.
    pub source: String,
    /// Function in it.
    pub function: String,
    /// Macros.
    pub defines: BTreeMap<String, String>,
    /// Work items along each dimension.
    pub global: Vec<String>,
    /// Work items of a group.
    pub local: Option<Vec<String>>,
    /// Arguments, by position.
    pub arguments: Vec<DescribedArgument>,
    /// PySchedCL's preference, which a launch can override.
    pub device: Option<Device>,
}

/// An argument with its size or value as an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribedArgument {
    /// Where it stands in the description, for messages.
    pub place: String,
    /// Its name; its position as text where the file gives none.
    pub name: String,
    /// What it is.
    pub what: Described,
}

/// Kinds of arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Described {
    /// A buffer.
    Buffer {
        /// Whether it is read, written or both.
        direction: Direction,
        /// Type of an element.
        element: Element,
        /// Number of elements.
        size: String,
        /// PySchedCL's `break`.
        shared_out: bool,
    },
    /// A value.
    Scalar {
        /// Its type.
        element: Element,
        /// An expression; of a floating-point type a decimal number too.
        value: String,
    },
    /// Memory of a work group.
    Local {
        /// Type of an element.
        element: Element,
        /// Number of elements.
        size: String,
    },
}

/// Whether a buffer is read, written or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Read.
    In,
    /// Written.
    Out,
    /// Read and written in place.
    InOut,
}

/// One launch of a described kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Its id.
    pub name: String,
    /// Index of its description; absent where the description has problems of its own.
    pub description: Option<usize>,
    /// Values of symbols for this launch.
    pub symbols: BTreeMap<String, String>,
    /// Preferred device.
    pub device: Option<Device>,
    /// Task component.
    pub component: Option<u32>,
    /// Launches that it waits for, with data or without.
    pub after: Vec<String>,
    /// Contents of buffers that the host writes, by argument name.
    pub initial: BTreeMap<String, Initial>,
}

/// An edge by names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpecifiedEdge {
    /// Where it is written, for messages.
    pub place: String,
    /// Launch and argument that write.
    pub from: (String, String),
    /// Launch and argument that read.
    pub to: (String, String),
}

impl Description {
    /// The position of the argument that is called so.
    pub(super) fn position(&self, argument: &str) -> Option<usize> {
        let mut arguments = self.arguments.iter();
        arguments
            .position(|known| known.name == argument)
            .or_else(|| {
                let position: usize = argument.parse().ok()?;
                (position < self.arguments.len()).then_some(position)
            })
    }

    /// A text that is the same for descriptions that say the same, wherever they are written.
    pub(super) fn contents(&self) -> String {
        let arguments: Vec<_> = self
            .arguments
            .iter()
            .map(|argument| (&argument.name, &argument.what))
            .collect();
        let code = (&self.source, &self.function, &self.defines);
        format!("{code:?}{:?}{:?}{arguments:?}", self.global, self.local)
    }
}
