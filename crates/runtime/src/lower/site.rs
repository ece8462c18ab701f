//! An operator in its place: what it computes, from what, on which kind of device.

use paracompile_frontend::import::onnx::{Attribute, Call, Elements, ProgramValue};
use paracompile_frontend::ir::{DataType, Shape};

use super::Tuning;

/// Element type and extents of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Element type.
    pub dtype: DataType,
    /// Extents, outermost first.
    pub shape: Vec<usize>,
}

impl Spec {
    /// Of a value of a model.
    pub fn of(value: &ProgramValue) -> Self {
        Self::new(value.dtype, &value.shape)
    }

    /// Of a type and extents.
    pub fn new(dtype: DataType, shape: &Shape) -> Self {
        let extents = shape.0.iter();
        Self {
            dtype,
            shape: extents
                .map(|&extent| usize::try_from(extent).unwrap_or(usize::MAX))
                .collect(),
        }
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Size of an element in bytes.
    pub fn element_bytes(&self) -> usize {
        usize::try_from(self.dtype.bits().div_ceil(8)).unwrap_or(1)
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        let bits = usize::try_from(self.dtype.bits()).unwrap_or(usize::MAX);
        (self.elements() * bits).div_ceil(8)
    }
}

/// What an operator reads.
#[derive(Clone, Debug)]
pub struct Operand<'a> {
    /// Its type and extents.
    pub spec: Spec,
    /// Whether it is the same for every frame, so that what depends on it alone can be done once.
    pub is_constant: bool,
    /// Its elements where they are constant and few.
    pub elements: Option<&'a Elements>,
}

impl<'a> Operand<'a> {
    /// A value of a model.
    pub fn of(value: &'a ProgramValue) -> Self {
        Self {
            spec: Spec::of(value),
            is_constant: value.is_constant,
            elements: value.elements.as_ref(),
        }
    }
}

/// An operator with what is known of its operands and results.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// What it computes.
    pub call: &'a Call,
    /// As many as the call has; `None` where one is left out.
    pub operands: Vec<Option<Operand<'a>>>,
    /// As many as the call has; `None` where nothing reads one.
    pub results: Vec<Option<Spec>>,
}

/// The kind of device, as far as kernels differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetKind {
    /// Few compute units with wide vectors: a work item is a vectorised loop.
    Cpu,
    /// Many narrow lanes: neighbouring work items touch neighbouring elements.
    Gpu,
}

/// What lowering knows of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its kind.
    pub kind: TargetKind,
    /// Cores of a CPU, multiprocessors of a GPU.
    pub compute_units: usize,
    /// Single-precision numbers in a native vector.
    pub vector_width: usize,
    /// Most work items of a group.
    pub max_work_group: usize,
    /// Bytes of local memory.
    pub local_bytes: usize,
    /// The tiles of products.
    pub tuning: Tuning,
}

/// An operator that cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {what}")]
pub struct Unsupported {
    /// What people call the operator.
    pub name: String,
    /// What of it is not supported.
    pub what: String,
}

impl Site<'_> {
    /// An error about this operator.
    pub fn unsupported(&self, what: impl Into<String>) -> Unsupported {
        Unsupported {
            name: self.call.name.clone(),
            what: what.into(),
        }
    }

    /// An operand that cannot be left out.
    pub fn operand(&self, position: usize) -> Result<&Operand<'_>, Unsupported> {
        self.optional(position)
            .ok_or_else(|| self.unsupported(format!("operand {position} is missing")))
    }

    /// An operand that may be left out.
    pub fn optional(&self, position: usize) -> Option<&Operand<'_>> {
        self.operands.get(position)?.as_ref()
    }

    /// The first result.
    pub fn result(&self) -> Result<&Spec, Unsupported> {
        let first = self.results.first().and_then(Option::as_ref);
        first.ok_or_else(|| self.unsupported("nothing reads its result"))
    }

    /// An integer attribute, or its default.
    pub fn int(&self, name: &str, default: i64) -> i64 {
        match self.call.attributes.get(name) {
            Some(Attribute::Int(value)) => *value,
            _ => default,
        }
    }

    /// A number attribute, or its default.
    pub fn float(&self, name: &str, default: f32) -> f32 {
        match self.call.attributes.get(name) {
            Some(Attribute::Float(value)) => *value,
            _ => default,
        }
    }

    /// A text attribute, or its default.
    pub fn text<'s>(&'s self, name: &str, default: &'s str) -> &'s str {
        match self.call.attributes.get(name) {
            Some(Attribute::Text(value)) => value,
            _ => default,
        }
    }

    /// A list attribute.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.call.attributes.get(name) {
            Some(Attribute::Ints(values)) => Some(values),
            _ => None,
        }
    }

    /// The integers of a constant operand; `None` if it is left out.
    pub fn integers(&self, position: usize) -> Result<Option<&[i64]>, Unsupported> {
        match self.optional(position) {
            None => Ok(None),
            Some(operand) => match operand.elements {
                Some(Elements::Integers(values)) => Ok(Some(values)),
                Some(Elements::Reals(_)) | None => {
                    Err(self.unsupported(format!("operand {position} has to be constant")))
                }
            },
        }
    }

    /// The numbers of a constant operand; `None` if it is left out.
    pub fn reals(&self, position: usize) -> Result<Option<&[f64]>, Unsupported> {
        match self.optional(position) {
            None => Ok(None),
            Some(operand) => match operand.elements {
                Some(Elements::Reals(values)) => Ok(Some(values)),
                Some(Elements::Integers(_)) | None => {
                    Err(self.unsupported(format!("operand {position} has to be constant")))
                }
            },
        }
    }

    /// Integers that are an attribute before version `since` of the operator set, and a constant operand from then on.
    pub fn integers_by_version(
        &self,
        name: &str,
        position: usize,
        since: i64,
    ) -> Result<Option<&[i64]>, Unsupported> {
        if self.call.opset < since {
            Ok(self.ints(name))
        } else {
            self.integers(position)
        }
    }
}
