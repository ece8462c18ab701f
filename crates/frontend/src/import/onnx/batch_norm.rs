//! Folds batch normalisation into the weights of the convolution before it, as every deployment does.
//!
//! At inference a batch normalisation is a constant scale and shift a channel, so the convolution with scaled weights and a
//! shifted bias is the same function: a rewriting of constants, no matter which processor runs it.
//! (Whether a processor runs *other* operators for free behind a convolution is a matter of its profile, see `fuses`.)
//! The convolution then writes what the normalisation wrote; where it had no bias, the normalisation's shift, which has one
//! element a channel too, stands for the bias that folding makes.
//!
//! What it deliberately leaves alone: a normalisation *before* a convolution (padding makes that inexact), behind anything that somebody
//! else reads too, with parameters that are computed, in training mode, or behind convolutions that share a filter and not its normalisation.

use std::collections::BTreeMap;

use paracompile_plan::{Bytes as Size, OpClass};

use crate::ir::OpKind;

use super::attributes::Attributes;
use super::link::{Slot, path};
use super::propagate::{Operator, Propagated};
use super::wire::GraphProto;

/// Position of a convolution's filter.
const FILTER: usize = 1;
/// Position of a convolution's bias.
const BIAS: usize = 2;

/// A normalisation and the convolution that it can be folded into.
#[derive(Debug)]
struct Pair {
    normalization: usize,
    convolution: usize,
    filter: Slot,
    /// Scale, shift, mean, variance.
    parameters: [Slot; 4],
}

/// Folds what can be folded; `outputs` are the network's.
pub(super) fn fold(proto: &GraphProto, outputs: &[Slot], known: &mut Propagated) {
    let pairs = pairs(proto, outputs, known);
    let mut is_folded = vec![false; known.operators.len()];
    for pair in pairs {
        let result = std::mem::take(&mut known.operators[pair.normalization].outputs);
        let [_, shift, _, _] = pair.parameters;
        let size = bytes(known, shift);
        absorb(&mut known.operators[pair.convolution], result, shift, size);
        is_folded[pair.normalization] = true;
    }
    let mut is_folded = is_folded.into_iter();
    let (folded, kept) = std::mem::take(&mut known.operators)
        .into_iter()
        .partition::<Vec<_>, _>(|_| is_folded.next().unwrap_or(false));
    known.operators = kept;
    let nodes = folded.iter().map(|operator| operator.node);
    known.folded.batch_norms = nodes.map(|node| path(node, &proto.node[node])).collect();
}

/// What can be folded, in order.
fn pairs(proto: &GraphProto, outputs: &[Slot], known: &Propagated) -> Vec<Pair> {
    let mut readers = vec![0_usize; known.values.len()];
    let mut writers: BTreeMap<Slot, usize> = BTreeMap::new();
    for (index, operator) in known.operators.iter().enumerate() {
        for &slot in operator.inputs.iter().flatten() {
            readers[slot] += 1;
        }
        writers.extend(operator.outputs.iter().map(|&slot| (slot, index)));
    }
    for &slot in outputs {
        readers[known.aliases[slot]] += 1;
    }
    let mut pairs: Vec<Pair> = Vec::new();
    let mut by_filter: BTreeMap<Slot, Vec<[Slot; 4]>> = BTreeMap::new();
    for normalization in 0..known.operators.len() {
        let found = operands(proto, known, normalization)
            .filter(|&(image, _)| readers[image] == 1)
            .and_then(|(image, parameters)| Some((*writers.get(&image)?, parameters)))
            .and_then(|(convolution, parameters)| {
                Some(Pair {
                    normalization,
                    convolution,
                    filter: constant_filter(proto, known, convolution)?,
                    parameters,
                })
            });
        if let Some(pair) = found {
            let users = by_filter.entry(pair.filter).or_default();
            users.push(pair.parameters);
            pairs.push(pair);
        }
    }
    // A filter that several convolutions share stays one only if it is scaled in the same way for all of them.
    pairs.retain(|pair| {
        let users = &by_filter[&pair.filter];
        users.len() == readers[pair.filter] && users.iter().all(|user| *user == pair.parameters)
    });
    pairs
}

/// The image and the parameters of a batch normalisation with one result and constant parameters.
fn operands(proto: &GraphProto, known: &Propagated, index: usize) -> Option<(Slot, [Slot; 4])> {
    let operator = &known.operators[index];
    let trains = Attributes(&proto.node[operator.node].attribute)
        .is_set("training_mode")
        .unwrap_or(true);
    if operator.kind != OpKind::Compute(OpClass::BatchNorm) || trains || operator.outputs.len() != 1
    {
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
    let parameters = [scale, shift, mean, variance];
    let constant = |&slot: &Slot| known.weights[slot].is_some();
    parameters
        .iter()
        .all(constant)
        .then_some((image, parameters))
}

/// The filter of a convolution in floating point, if it is a constant, and the bias too where there is one.
fn constant_filter(proto: &GraphProto, known: &Propagated, index: usize) -> Option<Slot> {
    let operator = &known.operators[index];
    // Quantised and integer convolutions have other operands, and their results are no place for a scale.
    let is_real = matches!(
        proto.node[operator.node].op_type.as_str(),
        "Conv" | "ConvTranspose"
    );
    let is_convolution = matches!(
        operator.kind,
        OpKind::Compute(OpClass::Conv | OpClass::DepthwiseConv | OpClass::ConvTranspose)
    );
    let filter = operator.inputs.get(FILTER).copied().flatten()?;
    let mut constants = operator.inputs.iter().skip(FILTER).flatten();
    (is_real && is_convolution && constants.all(|&slot| known.weights[slot].is_some()))
        .then_some(filter)
}

fn bytes(known: &Propagated, slot: Slot) -> Size {
    known.values[slot]
        .as_ref()
        .and_then(|value| value.shape.bytes(value.dtype))
        .expect("operands were inferred and sized before")
}

/// Lets a convolution write what the normalisation wrote, with a bias.
fn absorb(convolution: &mut Operator, result: Vec<Slot>, shift: Slot, size: Size) {
    convolution.outputs = result;
    if convolution.inputs.get(BIAS).copied().flatten().is_some() {
        return;
    }
    convolution.inputs.resize(BIAS, None);
    convolution.inputs.push(Some(shift));
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
