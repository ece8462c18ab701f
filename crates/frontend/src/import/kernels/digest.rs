//! The identity of a kernel graph: SHA-256 over what is computed.
//!
//! Covered, kernel by kernel in topological order, each text and list preceded by its length: name, file of the source as written, function,
//! macros, work sizes, arguments with types, sizes, values and origins, and what it waits for without data.
//!
//! Not covered: the file's name, its format and layout, the text of sources, preferences for devices, components and queues, PySchedCL's
//! `break`, and initial contents of buffers, which are the user's to replace.

use paracompile_plan::hexadecimal;
use sha2::{Digest, Sha256};

use super::element::Element;
use super::graph::{Argument, Kernel, Number, Origin};
use crate::arena::Arena;

/// The digest in lower-case hexadecimal.
pub(super) fn digest(kernels: &Arena<Kernel>) -> String {
    let mut writer = Writer(Sha256::new());
    writer.text("paracompile kernel graph 1");
    writer.length(kernels.len());
    for (_, kernel) in kernels.iter() {
        writer.kernel(kernel);
    }
    hexadecimal(&writer.0.finalize())
}

struct Writer(Sha256);

impl Writer {
    fn number(&mut self, value: u64) {
        self.0.update(value.to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        self.number(length as u64);
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.update(text);
    }

    fn kernel(&mut self, kernel: &Kernel) {
        self.text(&kernel.name);
        self.text(&kernel.source.written);
        self.text(&kernel.function);
        self.length(kernel.defines.len());
        for (name, value) in &kernel.defines {
            self.text(name);
            self.text(value);
        }
        self.extents(&kernel.global);
        self.extents(kernel.local.as_deref().unwrap_or_default());
        self.length(kernel.arguments.len());
        for argument in &kernel.arguments {
            self.argument(argument);
        }
        self.length(kernel.after.len());
        for before in &kernel.after {
            self.length(before.index());
        }
    }

    fn extents(&mut self, extents: &[u64]) {
        self.length(extents.len());
        for &extent in extents {
            self.number(extent);
        }
    }

    fn element(&mut self, element: Element) {
        self.text(element.dtype.name());
        self.number(element.lanes.into());
    }

    fn argument(&mut self, argument: &Argument) {
        match argument {
            Argument::Buffer(buffer) => {
                self.text(buffer.access.name());
                self.element(buffer.element);
                self.number(buffer.elements);
                match buffer.access.origin() {
                    None => self.number(0),
                    Some(Origin::Host(_)) => self.number(1),
                    Some(Origin::Kernel { kernel, position }) => {
                        self.number(2);
                        self.length(kernel.index());
                        self.length(*position);
                    }
                }
            }
            Argument::Scalar(scalar) => {
                self.text("scalar");
                self.element(scalar.element);
                match scalar.value {
                    Number::Whole(value) => self.0.update(value.to_le_bytes()),
                    Number::Real(value) => self.0.update(value.to_bits().to_le_bytes()),
                }
            }
            Argument::Local { bytes } => {
                self.text("local");
                self.number(bytes.count());
            }
        }
    }
}
