//! What somebody who executes a model needs beside its graph: attributes, all operands, and where every constant comes from.
//!
//! The operator graph says what runs and what it costs; a [`Program`] says for the same operators, by the same ids, what they compute.
//! Its values are the tensors of the file, parameters included, which the graph leaves out.
//! Constants that the file computes from others come as [`Call`]s that are to run once, before the first frame, and weights that folding
//! changed as a [`Weight`] that says how.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use paracompile_plan::plan::OperatorRef;

use crate::ir::{DataType, Shape, TensorId, WeightRef};

use super::assemble::{Assembled, declared_inputs, reference};
use super::attributes::{Attributes, Form};
use super::batch_norm::{ScaledFilter, ShiftedBias};
use super::link::{Links, Origin, Slot};
use super::lower::{finish_with, follow, stem};
use super::operator_sets::{DEFAULT, domain};
use super::propagate::Propagated;
use super::value::Data;
use super::wire::{AttributeProto, TensorProto};
use super::{ImportError, ImportOptions, Imported, decode, file, payload};

/// A model that can be executed.
#[derive(Debug)]
pub struct Program {
    /// The operator graph and what was done to get it.
    pub imported: Imported,
    /// Tensors of the file, and those that folding made.
    pub values: Vec<ProgramValue>,
    /// The value of every tensor of the graph, by the index of its id.
    pub tensors: Vec<ValueId>,
    /// The values of the inputs that the file declares, in its order, those of known extents too whose elements nothing
    /// reads.
    pub inputs: Vec<ValueId>,
    /// The values of the outputs that the file declares, in its order, constant ones too.
    pub outputs: Vec<ValueId>,
    /// What every operator of the graph computes, by the index of its id.
    pub calls: Vec<Call>,
    /// What computes the constants that the operators read, in order.
    pub constants: Vec<Call>,
    /// Weights that are not what the file holds, by value.
    pub rewritten: BTreeMap<ValueId, Weight>,
    /// Bytes of the model file.
    pub file: Bytes,
    /// The folder of the model, where external data lies.
    pub folder: PathBuf,
}

/// Index in [`Program::values`].
pub type ValueId = usize;

/// A tensor of the file.
#[derive(Clone, Debug)]
pub struct ProgramValue {
    /// Its unique name.
    pub name: String,
    /// Element type.
    pub dtype: DataType,
    /// Extents.
    pub shape: Shape,
    /// Whether no network input can change it.
    pub is_constant: bool,
    /// The elements where they are constant and few.
    pub elements: Option<Elements>,
    /// Where the elements lie, if they lie anywhere.
    pub stored: Option<WeightRef>,
}

/// Elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// Of an integer or Boolean type.
    Integers(Vec<i64>),
    /// Of a floating-point type.
    Reals(Vec<f64>),
}

/// An operator with what it computes from.
#[derive(Clone, Debug)]
pub struct Call {
    /// Where it stands in the file.
    pub at: OperatorRef,
    /// What people call it.
    pub name: String,
    /// The type, without its domain.
    pub op_type: String,
    /// The domain; empty for ONNX's own.
    pub domain: String,
    /// The version of that domain's operator set.
    pub opset: i64,
    /// By name.
    pub attributes: BTreeMap<String, Attribute>,
    /// All operands of the node, parameters included; `None` where one is left out.
    pub operands: Vec<Option<ValueId>>,
    /// All results of the node; `None` where nothing reads one.
    pub results: Vec<Option<ValueId>>,
    /// What a padding before it adds to its own, before each spatial axis and then behind each; nothing where none was folded.
    pub padding: Vec<u64>,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// An integer.
    Int(i64),
    /// A number.
    Float(f32),
    /// A text.
    Text(String),
    /// Integers.
    Ints(Vec<i64>),
    /// Numbers.
    Floats(Vec<f32>),
    /// Texts.
    Texts(Vec<String>),
    /// A constant.
    Tensor(StoredTensor),
    /// A graph or something else that no operator here reads.
    Other,
}

/// A constant and where it lies.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTensor {
    /// Element type.
    pub dtype: DataType,
    /// Extents.
    pub shape: Shape,
    /// Where its elements lie.
    pub stored: WeightRef,
}

/// How a weight follows from what the file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Weight {
    /// A filter times `scale / sqrt(variance + epsilon)` of its output channel.
    ScaledFilter {
        /// The filter of the file.
        filter: ValueId,
        /// Groups, where output channels count on along the second axis (transposed convolutions); `None` where they lie on the first.
        transposed_groups: Option<u64>,
        /// One a channel.
        scale: ValueId,
        /// One a channel.
        variance: ValueId,
        /// Added to variances.
        epsilon: f32,
    },
    /// `(bias − mean) · scale / sqrt(variance + epsilon) + shift`.
    ShiftedBias {
        /// The bias of the file, or zero.
        bias: Option<ValueId>,
        /// One a channel.
        scale: ValueId,
        /// One a channel.
        shift: ValueId,
        /// One a channel.
        mean: ValueId,
        /// One a channel.
        variance: ValueId,
        /// Added to variances.
        epsilon: f32,
    },
}

/// Reads the model at `path` to execute it; weights stay in their files.
pub fn load(path: &Path, options: &ImportOptions) -> Result<Program, ImportError> {
    let bytes = file::map(path)?;
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    load_bytes(&stem(path), &bytes, &folder, options)
}

/// The same from memory, under the given name; `folder` is where external data lies.
pub fn load_bytes(
    name: &str,
    bytes: &Bytes,
    folder: &Path,
    options: &ImportOptions,
) -> Result<Program, ImportError> {
    let model = decode::decode(bytes)?;
    let followed = follow(bytes, &model, options)?;
    if !followed.problems.is_empty() {
        return Err(ImportError::Invalid(followed.problems.report(|_| true)));
    }
    let (imported, parts) = finish_with(name, bytes, &model, followed, options, |known| {
        Parts::of(bytes, known)
    })?;
    Ok(Program {
        imported,
        values: parts.values,
        tensors: parts.tensors,
        inputs: parts.inputs,
        outputs: parts.outputs,
        calls: parts.calls,
        constants: parts.constants,
        rewritten: parts.rewritten,
        file: bytes.clone(),
        folder: folder.to_owned(),
    })
}

/// What is known when a graph is assembled.
pub(super) struct Known<'k> {
    pub(super) links: &'k Links<'k>,
    pub(super) propagated: &'k Propagated,
    pub(super) assembled: &'k Assembled,
}

struct Parts {
    values: Vec<ProgramValue>,
    tensors: Vec<ValueId>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
    calls: Vec<Call>,
    constants: Vec<Call>,
    rewritten: BTreeMap<ValueId, Weight>,
}

impl Parts {
    fn of(file: &Bytes, known: &Known<'_>) -> Self {
        let &Known {
            propagated,
            assembled,
            ..
        } = known;
        let reader = Reader { file, known };
        let calls: Vec<Call> = assembled
            .placed
            .iter()
            .map(|placed| {
                let mut call = reader.call(placed.node);
                for (position, operand) in placed.inputs.iter().enumerate() {
                    if position >= call.operands.len() {
                        call.operands.resize(position + 1, None);
                    }
                    if operand.is_some() {
                        call.operands[position] = *operand;
                    }
                }
                reader.take_over_results(&mut call, placed.node, &placed.outputs);
                let padding = propagated.padded.get(&placed.node);
                call.padding = padding.cloned().unwrap_or_default();
                call
            })
            .collect();
        let rewritten = propagated
            .rescaled
            .iter()
            .map(|(&slot, filter)| (slot, scaled(filter)))
            .chain(
                propagated
                    .shifted
                    .iter()
                    .map(|(&slot, bias)| (slot, shifted(bias))),
            )
            .collect();
        let outputs = known.links.outputs.iter();
        let outputs: Vec<Slot> = outputs.map(|&slot| propagated.aliases[slot]).collect();
        let constants = reader.constants(&calls, &outputs, &rewritten);
        Self {
            values: (0..propagated.values.len())
                .map(|slot| reader.value(slot))
                .collect(),
            tensors: assembled.slots.clone(),
            inputs: declared_inputs(known.links)
                .filter(|&slot| propagated.values[slot].is_some())
                .collect(),
            outputs,
            calls,
            constants,
            rewritten,
        }
    }
}

fn scaled(filter: &ScaledFilter) -> Weight {
    Weight::ScaledFilter {
        filter: filter.filter,
        transposed_groups: filter.transposed_groups(),
        scale: filter.scale,
        variance: filter.variance,
        epsilon: filter.epsilon.value(),
    }
}

fn shifted(bias: &ShiftedBias) -> Weight {
    Weight::ShiftedBias {
        bias: bias.bias,
        scale: bias.scale,
        shift: bias.shift,
        mean: bias.mean,
        variance: bias.variance,
        epsilon: bias.epsilon.value(),
    }
}

struct Reader<'k> {
    file: &'k Bytes,
    known: &'k Known<'k>,
}

impl Reader<'_> {
    fn value(&self, slot: Slot) -> ProgramValue {
        let Known {
            links, propagated, ..
        } = self.known;
        let name = match slot.checked_sub(links.names.len()) {
            Some(made) => propagated.made[made].clone(),
            None => links.names[slot].clone().into_owned(),
        };
        let known = propagated.values[slot].as_ref();
        ProgramValue {
            name,
            dtype: known.map_or_else(DataType::default, |value| value.dtype),
            shape: known.map_or_else(|| Shape(Vec::new()), |value| value.shape.clone()),
            is_constant: known.is_some_and(|value| value.constant),
            elements: known.and_then(|value| value.data.as_ref()).map(elements),
            stored: propagated.weights[slot]
                .clone()
                .filter(|weight| !matches!(weight, WeightRef::Generated)),
        }
    }

    fn call(&self, node: usize) -> Call {
        let Known {
            links, propagated, ..
        } = self.known;
        let linked = &links.nodes[node];
        let alias = |slot: &Option<Slot>| slot.map(|slot| propagated.aliases[slot]);
        let path = links.path(node);
        Call {
            at: reference(links, node),
            name: path.to_string(),
            op_type: linked.proto.op_type.clone(),
            domain: match domain(&linked.proto.domain) {
                DEFAULT => String::new(),
                other => other.to_owned(),
            },
            opset: links.opset(node),
            attributes: self.attributes(links.attributes(node)),
            operands: linked.reads[..linked.operands].iter().map(alias).collect(),
            results: linked.writes.clone(),
            padding: Vec::new(),
        }
    }

    /// Folding behind an operator makes it write what was written there.
    fn take_over_results(&self, call: &mut Call, node: usize, outputs: &[Slot]) {
        let own = &self.known.links.nodes[node].writes;
        if let [output] = outputs
            && !own.contains(&Some(*output))
        {
            call.results = vec![Some(*output)];
            return;
        }
        for result in &mut call.results {
            *result = result.filter(|slot| outputs.contains(slot));
        }
    }

    fn attributes(&self, attributes: Attributes<'_>) -> BTreeMap<String, Attribute> {
        let resolved = attributes.resolved();
        resolved
            .map(|(name, proto)| (name.to_owned(), Attribute::of(self.file, proto)))
            .collect()
    }

    /// The nodes that compute constants, operands before their readers.
    fn constants(
        &self,
        calls: &[Call],
        outputs: &[Slot],
        rewritten: &BTreeMap<ValueId, Weight>,
    ) -> Vec<Call> {
        let Known {
            links, propagated, ..
        } = self.known;
        let read = calls.iter().flat_map(|call| &call.operands).flatten();
        let mut open: Vec<Slot> = read.chain(outputs).copied().collect();
        for weight in rewritten.values() {
            open.extend(weight.operands());
        }
        let mut nodes = BTreeMap::new();
        while let Some(slot) = open.pop() {
            let Some(Origin::Node(node)) = links.origins.get(slot) else {
                continue;
            };
            let value = propagated.values[slot].as_ref();
            let is_computed = value.is_some_and(|value| value.constant && value.data.is_none())
                && matches!(propagated.weights[slot], Some(WeightRef::Generated));
            if is_computed && !nodes.contains_key(node) {
                let call = self.call(*node);
                open.extend(call.operands.iter().flatten());
                nodes.insert(*node, call);
            }
        }
        self.ordered(nodes)
    }

    /// Nodes in the order in which they can run: those that nothing open is written by come first.
    fn ordered(&self, mut nodes: BTreeMap<usize, Call>) -> Vec<Call> {
        let Known { links, .. } = self.known;
        let mut ordered = Vec::new();
        let mut stack: Vec<usize> = nodes.keys().rev().copied().collect();
        while let Some(&node) = stack.last() {
            let Some(call) = nodes.get(&node) else {
                stack.pop();
                continue;
            };
            let writers = call.operands.iter().flatten();
            let writers = writers.filter_map(|&slot| match links.origins.get(slot) {
                Some(Origin::Node(writer)) => Some(*writer),
                _ => None,
            });
            let open: Vec<usize> = writers
                .filter(|writer| *writer != node && nodes.contains_key(writer))
                .collect();
            if open.is_empty() {
                stack.pop();
                ordered.extend(nodes.remove(&node));
            } else {
                stack.extend(open);
            }
        }
        ordered
    }
}

impl Weight {
    /// What it is computed from.
    pub fn operands(&self) -> Vec<ValueId> {
        match *self {
            Self::ScaledFilter {
                filter,
                scale,
                variance,
                ..
            } => vec![filter, scale, variance],
            Self::ShiftedBias {
                bias,
                scale,
                shift,
                mean,
                variance,
                ..
            } => bias
                .into_iter()
                .chain([scale, shift, mean, variance])
                .collect(),
        }
    }
}

impl Program {
    /// The value of a tensor of the graph.
    pub fn value_of(&self, tensor: TensorId) -> &ProgramValue {
        &self.values[self.tensors[tensor.index()]]
    }
}

fn elements(data: &Data) -> Elements {
    match data {
        Data::Integers(values) => Elements::Integers(values.clone()),
        Data::Reals(values) => Elements::Reals(values.clone()),
    }
}

impl Attribute {
    fn of(file: &Bytes, proto: &AttributeProto) -> Self {
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        match Form::of(proto) {
            Form::Float => Self::Float(proto.f.unwrap_or(0.0)),
            Form::Int => Self::Int(proto.i.unwrap_or(0)),
            Form::Text => Self::Text(proto.s.as_ref().map(text).unwrap_or_default()),
            Form::Ints => Self::Ints(proto.ints.clone()),
            Form::Floats => Self::Floats(proto.floats.clone()),
            Form::Texts => Self::Texts(proto.strings.iter().map(text).collect()),
            Form::Tensor => proto
                .t
                .as_ref()
                .and_then(|tensor| StoredTensor::of(file, tensor))
                .map_or(Self::Other, Self::Tensor),
            Form::Other => Self::Other,
        }
    }
}

impl StoredTensor {
    /// Reads the header of a tensor of `file`; `None` if its payload does not fit it.
    fn of(file: &Bytes, tensor: &TensorProto) -> Option<Self> {
        let constant = payload::constant(file, tensor).ok()?;
        Some(Self {
            dtype: constant.value.dtype,
            shape: constant.value.shape,
            stored: constant.weight,
        })
    }
}
