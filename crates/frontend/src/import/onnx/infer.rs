//! The interface between the importer and the rules of single operators.
//!
//! A rule sees one node with the values of its operands ([`Site`]) and says what the node produces and costs ([`Effect`]).
//! Rules are pure functions in [`super::ops`]; `docs/add-an-operator.md` is the recipe for one more.

use paracompile_plan::{Bytes, OpClass};

use crate::ir::{DataType, OpKind, Shape, Work};

use super::attributes::Attributes;
use super::value::{Data, Value, elements, product};
use super::wire::TensorProto;
use super::{Fault, limits, payload};

/// What an operator type means.
pub(super) type Rule = fn(&Site<'_>) -> Result<Effect, Fault>;

/// A node whose operands are known.
#[derive(Debug)]
pub(super) struct Site<'a> {
    /// Version of the operator set of the node's domain.
    pub(super) opset: i64,
    pub(super) attributes: Attributes<'a>,
    pub(super) inputs: Vec<Option<&'a Value>>,
    /// Results listed, those with an empty name included.
    pub(super) outputs: usize,
    /// The whole file, for constants in attributes.
    pub(super) file: &'a bytes::Bytes,
}

/// What a node produces and costs.
#[derive(Debug)]
pub(super) struct Effect {
    pub(super) kind: OpKind,
    /// Whether the first result is the first operand itself, so that the node can be dropped.
    pub(super) passes: Option<Pass>,
    /// One a result that the node may list, in order.
    pub(super) outputs: Vec<Produced>,
    /// Arithmetic; the importer adds the traffic where it is left zero.
    pub(super) work: Work,
    /// Constant operands from this position on are parameters and no weights.
    pub(super) parameters_from: usize,
    /// The same for these positions before it: scales and zero points between operands.
    pub(super) parameters: Vec<usize>,
    /// The type that it computes in, where that is not the first floating-point type of its operands and results, or else that of the first.
    pub(super) arithmetic: Option<DataType>,
    /// Whether the result differs from run to run, so that it cannot be folded.
    pub(super) is_random: bool,
}

/// Nodes that do nothing at inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Identity,
    Dropout,
}

/// One result.
#[derive(Clone, Debug)]
pub(super) struct Produced {
    pub(super) dtype: DataType,
    pub(super) shape: Shape,
    pub(super) data: Option<Data>,
    /// Where a constant result lies, if in the file.
    pub(super) constant: Option<payload::Constant>,
    /// Axes whose extent depends on the values of operands, and is at most the one in `shape`.
    pub(super) bounded: Vec<usize>,
}

impl<'a> Site<'a> {
    pub(super) fn optional(&self, position: usize) -> Option<&'a Value> {
        self.inputs.get(position).copied().flatten()
    }

    pub(super) fn operand(
        &self,
        position: usize,
        operand: &'static str,
    ) -> Result<&'a Value, Fault> {
        self.optional(position)
            .ok_or(Fault::MissingOperand { position, operand })
    }

    /// An operand with at least `rank` axes.
    pub(super) fn operand_of_rank(
        &self,
        position: usize,
        operand: &'static str,
        ranks: std::ops::RangeInclusive<usize>,
        expected: &'static str,
    ) -> Result<&'a Value, Fault> {
        let value = self.operand(position, operand)?;
        if ranks.contains(&value.shape.0.len()) {
            Ok(value)
        } else {
            Err(Fault::Rank {
                operand,
                expected,
                found: value.shape.clone(),
            })
        }
    }

    /// The integers of an optional operand; an error if it is there but not constant.
    pub(super) fn integers(
        &self,
        position: usize,
        operand: &'static str,
    ) -> Result<Option<&'a [i64]>, Fault> {
        match self.optional(position) {
            None => Ok(None),
            Some(value) => match &value.data {
                Some(Data::Integers(values)) => Ok(Some(values)),
                Some(Data::Reals(_)) => Err(Fault::Type {
                    operand,
                    found: value.dtype,
                    expected: "integers are needed",
                }),
                None => Err(Fault::NotConstant { operand }),
            },
        }
    }

    /// The same for floating-point numbers.
    pub(super) fn reals(
        &self,
        position: usize,
        operand: &'static str,
    ) -> Result<Option<&'a [f64]>, Fault> {
        match self.optional(position) {
            None => Ok(None),
            Some(value) => match &value.data {
                Some(Data::Reals(values)) => Ok(Some(values)),
                Some(Data::Integers(_)) => Err(Fault::Type {
                    operand,
                    found: value.dtype,
                    expected: "floating-point numbers are needed",
                }),
                None => Err(Fault::NotConstant { operand }),
            },
        }
    }

    /// Integers that are an attribute before version `since` and an operand of the same name from then on.
    pub(super) fn integers_by_version(
        &self,
        name: &'static str,
        position: usize,
        since: i64,
    ) -> Result<Option<&'a [i64]>, Fault> {
        if self.opset < since {
            self.attributes.ints(name)
        } else {
            self.integers(position, name)
        }
    }

    /// The same where they cannot be left out.
    pub(super) fn required_by_version(
        &self,
        name: &'static str,
        position: usize,
        since: i64,
    ) -> Result<&'a [i64], Fault> {
        self.integers_by_version(name, position, since)?
            .ok_or(if self.opset < since {
                Fault::MissingAttribute { attribute: name }
            } else {
                Fault::MissingOperand {
                    position,
                    operand: name,
                }
            })
    }

    /// The integers of an operand that cannot be left out.
    pub(super) fn required_integers(
        &self,
        position: usize,
        operand: &'static str,
    ) -> Result<&'a [i64], Fault> {
        self.integers(position, operand)?
            .ok_or(Fault::MissingOperand { position, operand })
    }

    /// A constant in an attribute.
    pub(super) fn constant(
        &self,
        attribute: &'static str,
        tensor: &TensorProto,
    ) -> Result<payload::Constant, Fault> {
        payload::constant(self.file, tensor).map_err(|found| Fault::Value {
            what: attribute,
            found,
            expected: "its header and payload have to agree",
        })
    }
}

impl Produced {
    pub(super) fn new(dtype: DataType, shape: impl Into<Shape>) -> Self {
        Self {
            dtype,
            shape: shape.into(),
            data: None,
            constant: None,
            bounded: Vec::new(),
        }
    }

    /// The same with the extent of `axis` as a mere bound.
    pub(super) fn bounded_along(mut self, axis: usize) -> Self {
        self.bounded.push(axis);
        self
    }

    /// A result with the type and shape of `value`.
    pub(super) fn like(value: &Value) -> Self {
        Self::new(value.dtype, value.shape.clone())
    }

    /// Keeps `data` if it is complete and small.
    pub(super) fn with_data(mut self, data: Option<Data>) -> Self {
        let count = self.shape.elements();
        let data = data.filter(|data| {
            count == Some(data.len() as u64) && Data::is_small(self.dtype, data.len() as u64)
        });
        // Exact in double precision, then rounded, is what a shorter type gives: a floor behind it must see the same number.
        self.data = data.map(|data| data.rounded_to(self.dtype));
        self
    }

    /// Evaluates the elements if they are few.
    ///
    /// `elements` is called only for a result of at least one element, so every extent that it sees is small.
    pub(super) fn evaluated(self, elements: impl FnOnce() -> Option<Data>) -> Self {
        let data = match self.shape.elements() {
            Some(0) => Data::empty(self.dtype),
            Some(count)
                if self.shape.0.len() <= limits::RANK && Data::is_small(self.dtype, count) =>
            {
                elements()
            }
            Some(_) | None => None,
        };
        self.with_data(data)
    }
}

impl Effect {
    /// Real work with one result.
    pub(super) fn compute(class: OpClass, output: Produced) -> Self {
        Self::compute_all(class, vec![output])
    }

    /// Real work with several results.
    pub(super) fn compute_all(class: OpClass, outputs: Vec<Produced>) -> Self {
        Self {
            kind: OpKind::Compute(class),
            passes: None,
            outputs,
            work: Work::default(),
            parameters_from: usize::MAX,
            parameters: Vec::new(),
            arithmetic: None,
            is_random: false,
        }
    }

    /// A free view of the first operand; all others are parameters.
    pub(super) fn view(output: Produced) -> Self {
        Self {
            kind: OpKind::View,
            passes: None,
            outputs: vec![output],
            work: Work::default(),
            parameters_from: 1,
            parameters: Vec::new(),
            arithmetic: None,
            is_random: false,
        }
    }

    pub(super) fn with_work(mut self, work: Work) -> Self {
        self.work = work;
        self
    }

    pub(super) fn with_parameters_from(mut self, position: usize) -> Self {
        self.parameters_from = position;
        self
    }

    pub(super) fn with_parameters(mut self, positions: impl IntoIterator<Item = usize>) -> Self {
        self.parameters.extend(positions);
        self
    }

    pub(super) fn computing_in(mut self, dtype: DataType) -> Self {
        self.arithmetic = Some(dtype);
        self
    }

    /// Charges `factor` floating-point operations an element of the first result.
    pub(super) fn with_flops_per_element(mut self, factor: u64) -> Result<Self, Fault> {
        let count = elements(&self.outputs[0].shape)?;
        self.work.other_flops = product("the number of operations", [count, factor])?;
        Ok(self)
    }

    /// Reads no more of its first operand than it writes: slices and gathers.
    pub(super) fn reading_what_it_writes(mut self, first: &Value) -> Self {
        let written: u64 = self
            .outputs
            .iter()
            .filter_map(|output| output.shape.bytes(output.dtype))
            .fold(0, |sum, bytes| sum.saturating_add(bytes.count()));
        let whole = first.shape.bytes(first.dtype).map_or(written, Bytes::count);
        let read = Bytes::new(whole.min(written));
        if first.constant {
            self.work.weight_bytes = read;
        } else {
            self.work.input_bytes = read;
        }
        self
    }
}

impl From<Vec<u64>> for Shape {
    fn from(extents: Vec<u64>) -> Self {
        Self(extents)
    }
}
