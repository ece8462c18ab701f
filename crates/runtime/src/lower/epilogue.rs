//! What happens to an element of a product or convolution before it is written: pointwise operators without a pass over memory of their own.
//!
//! An [`Epilogue`] becomes statements in the macro `EPILOGUE` and further arguments of the kernel; `kernels/tile.cl` says how kernels read it.

use std::borrow::Cow;

use super::{Argument, Operand, Spec};

/// Pointwise operators, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Epilogue {
    operations: Vec<Operation>,
}

#[derive(Clone, Debug)]
enum Operation {
    /// An expression of `x`.
    Unary(String),
    /// An expression of `x` and `y`.
    Binary {
        text: Cow<'static, str>,
        /// Whether the element is `y`, and the other operand `x`.
        is_second: bool,
        other: Other,
    },
}

/// The other operand of a pointwise operator.
#[derive(Clone, Debug)]
pub(super) enum Other {
    /// A number.
    Literal(f32),
    /// A tensor, read as `along` says.
    Tensor {
        /// Where it comes from.
        argument: Argument,
        /// How it is broadcast.
        along: Along,
    },
}

/// How a tensor is broadcast to a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// It has the result's shape.
    Same,
    /// It has one element.
    One,
    /// It has one element for each position of that axis of the result.
    Axis(usize),
}

impl Along {
    /// How `operand` is broadcast to `result`; `None` if in another way, or if it makes the result larger.
    pub(super) fn of(operand: &Spec, result: &Spec) -> Option<Self> {
        if operand.elements() == 1 {
            return (operand.shape.len() <= result.shape.len()).then_some(Self::One);
        }
        if operand.shape == result.shape {
            return Some(Self::Same);
        }
        let missing = result.shape.len().checked_sub(operand.shape.len())?;
        let mut wide = operand
            .shape
            .iter()
            .enumerate()
            .filter(|&(_, &extent)| extent != 1);
        let (axis, &extent) = wide.next()?;
        let axis = missing + axis;
        (wide.next().is_none() && extent == result.shape[axis]).then_some(Self::Axis(axis))
    }
}

/// Along which side of a matrix of results a broadcast tensor lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// One element a row.
    Row,
    /// One element a column.
    Column,
}

impl Side {
    /// The other side if `is_swapped`.
    pub(super) fn swapped(self, is_swapped: bool) -> Self {
        match (self, is_swapped) {
            (Self::Row, false) | (Self::Column, true) => Self::Row,
            (Self::Column, false) | (Self::Row, true) => Self::Column,
        }
    }
}

/// The most tensors that kernels take for epilogues.
const MOST_TENSORS: usize = 4;

impl Epilogue {
    /// Adds an expression of `x`.
    pub(super) fn push_unary(&mut self, text: String) {
        self.operations.push(Operation::Unary(text));
    }

    /// Adds an expression of `x` and `y`, of which the element is the second if `is_second`.
    pub(super) fn push_binary(
        &mut self,
        text: impl Into<Cow<'static, str>>,
        is_second: bool,
        other: Other,
    ) {
        self.operations.push(Operation::Binary {
            text: text.into(),
            is_second,
            other,
        });
    }

    /// The same, with those of `later` behind.
    pub(super) fn followed_by(mut self, later: &Self) -> Self {
        self.operations.extend(later.operations.iter().cloned());
        self
    }

    /// Whether kernels take one more tensor, if `kept` of them are the anchor's own.
    pub(super) fn has_room(&self, kept: usize) -> bool {
        self.tensors().count() + kept < MOST_TENSORS
    }

    fn tensors(&self) -> impl Iterator<Item = &Argument> {
        self.operations
            .iter()
            .filter_map(|operation| match operation {
                Operation::Binary {
                    other: Other::Tensor { argument, .. },
                    ..
                } => Some(argument),
                Operation::Binary { .. } | Operation::Unary(_) => None,
            })
    }

    /// The arguments behind a kernel's own.
    pub(super) fn arguments(&self) -> Vec<Argument> {
        self.tensors().cloned().collect()
    }

    /// Build options; `side` says along which side of the matrix an axis of the result lies.
    pub(super) fn options(&self, side: impl Fn(usize) -> Side) -> String {
        if self.operations.is_empty() {
            return String::new();
        }
        let mut text = String::new();
        let mut tensors = 0;
        for operation in &self.operations {
            match operation {
                Operation::Unary(expression) => text.extend(["x=", expression, ";"]),
                Operation::Binary {
                    text: expression,
                    is_second,
                    other,
                } => {
                    let read = match other {
                        Other::Literal(value) => format!("as_float(0x{:08x}u)", value.to_bits()),
                        Other::Tensor { along, .. } => {
                            let how = match along {
                                Along::Same => "SAME",
                                Along::One => "ONE",
                                Along::Axis(axis) => match side(*axis) {
                                    Side::Row => "ROW",
                                    Side::Column => "COLUMN",
                                },
                            };
                            tensors += 1;
                            format!("{how}(e{})", tensors - 1)
                        }
                    };
                    if *is_second {
                        text.extend(["y=x;x=", &read]);
                    } else {
                        text.extend(["y=", &read]);
                    }
                    text.extend([";x=", expression, ";"]);
                }
            }
        }
        // Options are split at spaces, and none of these expressions needs any.
        text.retain(|character| character != ' ');
        format!(" -DEXTRAS={tensors} -DEPILOGUE={text}")
    }
}

/// The only element of a constant, as a literal.
pub(super) fn literal(operand: &Operand<'_>) -> Option<f32> {
    use paracompile_frontend::import::onnx::Elements;
    match operand.elements {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the elements are single-precision numbers"
        )]
        Some(Elements::Reals(values)) if operand.spec.elements() == 1 => {
            values.first().map(|&value| value as f32)
        }
        Some(Elements::Reals(_) | Elements::Integers(_)) | None => None,
    }
}
