//! Folds batch normalisation into the weights of the convolution before it, as every deployment does.
//!
//! At inference a batch normalisation is a constant scale and shift a channel, so the convolution with scaled weights and a
//! shifted bias is the same function: a rewriting of constants, no matter which processor runs it.
//! (Whether a processor runs *other* operators for free behind a convolution is a matter of its profile, see `fuses`.)
//! The convolution then writes what the normalisation wrote.
//!
//! What folding computes are new values, and two readers share a weight only if it is the same value for both:
//! a scaled filter stands in the place of the filter, which nobody may read in another way, or nothing is folded;
//! a shifted bias stands in the place of the bias, or of the normalisation's shift where the convolution had none,
//! and is a constant of its own where somebody reads that in another way.
//!
//! What it deliberately leaves alone: a normalisation *before* a convolution (padding makes that inexact), behind anything that somebody
//! else reads too, with parameters that are computed or not one a channel, in training mode, or behind convolutions that share a filter
//! and do not scale it alike.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use paracompile_plan::{Bytes as Size, OpClass};

use crate::ir::{DataType, OpKind, WeightRef};

use super::link::{Links, Slot};
use super::propagate::{Operator, Propagated};
use super::value::Value;

/// Position of a convolution's filter.
const FILTER: usize = 1;
/// Position of a convolution's bias.
const BIAS: usize = 2;
/// The first operator set whose normalisations do not train unless told.
const INFERS_BY_DEFAULT: i64 = 7;
/// What is added to variances where a node does not say it.
const EPSILON: f32 = 1e-5;

/// A normalisation and the convolution that it can be folded into.
#[derive(Debug)]
struct Pair {
    normalization: usize,
    convolution: usize,
    filter: ScaledFilter,
    bias: ShiftedBias,
}

/// Everything that a filter depends on after folding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScaledFilter {
    pub(super) filter: Slot,
    layout: Layout,
    pub(super) scale: Slot,
    pub(super) variance: Slot,
    pub(super) epsilon: Epsilon,
}

/// Which elements of a filter belong to an output channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Those with its index on the first axis.
    First,
    /// Those with its index on the second axis, counted on from group to group.
    Second { groups: u64 },
}

/// Everything that a bias depends on after folding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShiftedBias {
    pub(super) bias: Option<Slot>,
    pub(super) scale: Slot,
    pub(super) shift: Slot,
    pub(super) mean: Slot,
    pub(super) variance: Slot,
    pub(super) epsilon: Epsilon,
    /// That of the convolution; the normalisation's parameters may be more exact.
    pub(super) dtype: DataType,
}

/// The bits of a single-precision number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Epsilon(u32);

impl Epsilon {
    pub(super) const fn value(self) -> f32 {
        f32::from_bits(self.0)
    }
}

impl ScaledFilter {
    /// The groups of a transposed convolution, whose output channels lie on the second axis.
    pub(super) const fn transposed_groups(&self) -> Option<u64> {
        match self.layout {
            Layout::First => None,
            Layout::Second { groups } => Some(groups),
        }
    }
}

/// Those who want a constant changed.
#[derive(Debug)]
struct Users<T> {
    first: T,
    count: usize,
    /// Whether all want the same.
    are_alike: bool,
}

impl<T: PartialEq> Users<T> {
    fn add(users: &mut BTreeMap<Slot, Self>, constant: Slot, wish: T) {
        match users.entry(constant) {
            Entry::Vacant(entry) => {
                entry.insert(Self {
                    first: wish,
                    count: 1,
                    are_alike: true,
                });
            }
            Entry::Occupied(mut entry) => {
                let known = entry.get_mut();
                known.count += 1;
                known.are_alike &= known.first == wish;
            }
        }
    }
}

/// What a batch normalisation reads.
struct Normalization {
    image: Slot,
    scale: Slot,
    shift: Slot,
    mean: Slot,
    variance: Slot,
    epsilon: Epsilon,
}

/// Folds what can be folded.
pub(super) fn fold(links: &Links<'_>, known: &mut Propagated) {
    let pairs = pairs(links, known);
    let mut is_folded = vec![false; known.operators.len()];
    for pair in &pairs {
        is_folded[pair.normalization] = true;
    }
    let biases = biases(links, known, &pairs, &is_folded);
    for (pair, bias) in pairs.iter().zip(biases) {
        let result = std::mem::take(&mut known.operators[pair.normalization].outputs);
        let size = bytes(known, bias);
        absorb(&mut known.operators[pair.convolution], result, bias, size);
        known.rescaled.insert(pair.filter.filter, pair.filter);
        known.shifted.insert(bias, pair.bias);
    }
    let nodes = known.take_out(is_folded).into_iter();
    known.folded.batch_norms = nodes.map(|node| links.path(node)).collect();
}

/// What can be folded, in order.
fn pairs(links: &Links<'_>, known: &Propagated) -> Vec<Pair> {
    let readers = readers(links, known, |_| true);
    let mut writers: BTreeMap<Slot, usize> = BTreeMap::new();
    for (index, operator) in known.operators.iter().enumerate() {
        writers.extend(operator.outputs.iter().map(|&slot| (slot, index)));
    }
    let mut pairs: Vec<Pair> = Vec::new();
    let mut by_filter: BTreeMap<Slot, Users<ScaledFilter>> = BTreeMap::new();
    for index in 0..known.operators.len() {
        let found = normalization(links, known, index)
            .filter(|found| readers[found.image] == 1)
            .and_then(|found| {
                let convolution = *writers.get(&found.image)?;
                let (filter, bias) = recipes(links, known, convolution, &found)?;
                Some(Pair {
                    normalization: index,
                    convolution,
                    filter,
                    bias,
                })
            });
        if let Some(pair) = found {
            Users::add(&mut by_filter, pair.filter.filter, pair.filter);
            pairs.push(pair);
        }
    }
    // A filter that several convolutions share stays one only if it is scaled in the same way for all of them.
    pairs.retain(|pair| {
        let users = &by_filter[&pair.filter.filter];
        users.count == readers[pair.filter.filter] && users.are_alike
    });
    pairs
}

/// How often operators that `counts` and network outputs read a tensor, by slot.
fn readers(links: &Links<'_>, known: &Propagated, counts: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut readers = vec![0_usize; known.values.len()];
    for (index, operator) in known.operators.iter().enumerate() {
        if counts(index) {
            for &slot in operator.inputs.iter().flatten() {
                readers[slot] += 1;
            }
        }
    }
    for &slot in &links.outputs {
        readers[known.aliases[slot]] += 1;
    }
    readers
}

/// What a batch normalisation reads that is one at inference, with a constant for each parameter and channel.
fn normalization(links: &Links<'_>, known: &Propagated, index: usize) -> Option<Normalization> {
    let operator = &known.operators[index];
    let is_normalization = operator.kind == OpKind::Compute(OpClass::BatchNorm);
    if !is_normalization || operator.outputs.len() != 1 || !infers(links, operator.node) {
        return None;
    }
    let &[
        Some(image),
        Some(scale),
        Some(shift),
        Some(mean),
        Some(variance),
    ] = operator.inputs.as_slice()
    else {
        return None;
    };
    let channels = *known.values[image].as_ref()?.shape.0.get(1)?;
    let epsilon = links.attributes(operator.node).float("epsilon").ok()?;
    [scale, shift, mean, variance]
        .iter()
        .all(|&slot| is_constant(known, slot, channels))
        .then_some(Normalization {
            image,
            scale,
            shift,
            mean,
            variance,
            epsilon: Epsilon(epsilon.unwrap_or(EPSILON).to_bits()),
        })
}

/// Whether a batch normalisation takes its statistics from its parameters, one a channel.
fn infers(links: &Links<'_>, node: usize) -> bool {
    let attributes = links.attributes(node);
    let opset = links.opset(node);
    // Statistics as further results are what tells training between the attributes `is_test` and `training_mode`.
    let results = links.nodes[node].writes.iter().flatten().count();
    let trains = attributes.is_set("training_mode").unwrap_or(true)
        || (opset < INFERS_BY_DEFAULT && !attributes.is_set("is_test").unwrap_or(false));
    let is_by_channel = attributes
        .int_or("spatial", 1)
        .is_ok_and(|spatial| spatial != 0);
    results == 1 && !trains && is_by_channel
}

fn is_constant(known: &Propagated, slot: Slot, channels: u64) -> bool {
    let is_by_channel = |value: &Value| value.shape.0 == [channels];
    known.weights[slot].is_some() && known.values[slot].as_ref().is_some_and(is_by_channel)
}

/// What becomes of the weights of an operator, if it is a convolution in floating point with constant ones.
fn recipes(
    links: &Links<'_>,
    known: &Propagated,
    index: usize,
    behind: &Normalization,
) -> Option<(ScaledFilter, ShiftedBias)> {
    let operator = &known.operators[index];
    // Quantised and integer convolutions have other operands, and their results are no place for a scale.
    let layout = match (
        links.nodes[operator.node].proto.op_type.as_str(),
        operator.kind,
    ) {
        ("Conv", OpKind::Compute(OpClass::Conv | OpClass::DepthwiseConv)) => Layout::First,
        ("ConvTranspose", OpKind::Compute(OpClass::ConvTranspose)) => Layout::Second {
            groups: operator.work.groups,
        },
        _ => return None,
    };
    let image = known.values[behind.image].as_ref()?;
    let channels = *image.shape.0.get(1)?;
    let filter = operator.inputs.get(FILTER).copied().flatten()?;
    let bias = operator.inputs.get(BIAS).copied().flatten();
    let is_bias = |slot: Slot| {
        let dtype = known.values[slot].as_ref().map(|value| value.dtype);
        is_constant(known, slot, channels) && dtype == Some(image.dtype)
    };
    let are_constant = known.weights[filter].is_some() && bias.is_none_or(is_bias);
    let &Normalization {
        scale,
        shift,
        mean,
        variance,
        epsilon,
        ..
    } = behind;
    are_constant.then_some((
        ScaledFilter {
            filter,
            layout,
            scale,
            variance,
            epsilon,
        },
        ShiftedBias {
            bias,
            scale,
            shift,
            mean,
            variance,
            epsilon,
            dtype: image.dtype,
        },
    ))
}

/// The slot of each pair's bias.
///
/// It is that of the bias before or of the shift, if whoever still reads that reads the same value; else one of its own.
fn biases(
    links: &Links<'_>,
    known: &mut Propagated,
    pairs: &[Pair],
    is_folded: &[bool],
) -> Vec<Slot> {
    let mut others = readers(links, known, |operator| !is_folded[operator]);
    let mut users: BTreeMap<Slot, Users<ShiftedBias>> = BTreeMap::new();
    for pair in pairs {
        if let Some(bias) = pair.bias.bias {
            others[bias] -= 1;
        }
        Users::add(&mut users, pair.bias.place(), pair.bias);
    }
    let mut made: BTreeMap<ShiftedBias, Slot> = BTreeMap::new();
    pairs
        .iter()
        .map(|pair| {
            let place = pair.bias.place();
            let has_type = known.values[place]
                .as_ref()
                .is_some_and(|value| value.dtype == pair.bias.dtype);
            if others[place] == 0 && has_type && users[&place].are_alike {
                place
            } else {
                *made
                    .entry(pair.bias)
                    .or_insert_with(|| make(links, known, pair))
            }
        })
        .collect()
}

impl ShiftedBias {
    /// The constant that it replaces if it can.
    fn place(&self) -> Slot {
        self.bias.unwrap_or(self.shift)
    }
}

/// A constant for the bias of a pair, named after what the pair writes.
fn make(links: &Links<'_>, known: &mut Propagated, pair: &Pair) -> Slot {
    let slot = known.values.len();
    let written = known.operators[pair.normalization].outputs[0];
    let mut name = format!("{}:bias", links.names[written]);
    // Only a file that uses such names itself comes here.
    while links.is_taken(&name) {
        name.push('\'');
    }
    let shift = known.values[pair.bias.shift].as_ref();
    let shift = shift.expect("operands were inferred and sized before");
    let bias = Value {
        dtype: pair.bias.dtype,
        shape: shift.shape.clone(),
        data: None,
        constant: true,
    };
    known.values.push(Some(bias));
    known.weights.push(Some(WeightRef::Generated));
    known.aliases.push(slot);
    known.made.push(name);
    slot
}

fn bytes(known: &Propagated, slot: Slot) -> Size {
    known.values[slot]
        .as_ref()
        .and_then(|value| value.shape.bytes(value.dtype))
        .expect("operands were inferred and sized before")
}

/// Lets a convolution write what the normalisation wrote, with a bias.
fn absorb(convolution: &mut Operator, result: Vec<Slot>, bias: Slot, size: Size) {
    convolution.outputs = result;
    if let Some(before) = convolution.inputs.get_mut(BIAS) {
        *before = Some(bias);
        return;
    }
    convolution.inputs.resize(BIAS, None);
    convolution.inputs.push(Some(bias));
    convolution.work.weight_bytes += size;
    // A bias is an addition an element; a transposed convolution has `columns` for each position of its window.
    if convolution.kind != OpKind::Compute(OpClass::ConvTranspose) {
        let work = &mut convolution.work;
        let elements = work
            .rows
            .saturating_mul(work.columns)
            .saturating_mul(work.groups);
        work.other_flops = work.other_flops.saturating_add(elements);
    }
}
