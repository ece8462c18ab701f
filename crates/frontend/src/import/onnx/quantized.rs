//! Folds conversions from and to quantised numbers into the operators between them, as runtimes do that have integer kernels.
//!
//! Exporters of quantised networks write floating-point operators with `DequantizeLinear` before and `QuantizeLinear` behind them.
//! Such an operator stands for one on quantised tensors: it reads what is dequantised and writes what is quantised behind it.
//! [`integers`] says which operators those are; this file rewrites them, and lets everybody read dequantised constants as they are stored.
//!
//! What it deliberately leaves alone: conversions that somebody else needs too, bodies of loops and conditions that stay operators,
//! and operators of which one operand is not quantised.

use std::collections::BTreeMap;

use paracompile_plan::{Bytes as Size, OpClass};

use crate::ir::{DataType, OpKind};

use super::integers::{Integers, Store};
use super::link::{Links, Slot};
use super::propagate::{Operator, Propagated};
use super::quantizable::Role;
use super::stored::{Stored, stored};

/// Folds what can be folded.
pub(super) fn fold(links: &Links<'_>, known: &mut Propagated) {
    let integers = Integers::of(links, known);
    let mut rewriting = Rewriting {
        stands_for: (0..known.values.len()).collect(),
        is_folded: vec![false; known.operators.len()],
        moved: BTreeMap::new(),
        links,
        known,
        integers,
    };
    let operators = 0..rewriting.known.operators.len();
    // Rewriting changes types of tensors that operators further on read.
    let before: Vec<Traffic> = operators.map(|index| rewriting.traffic(index)).collect();
    for (index, before) in before.into_iter().enumerate() {
        rewriting.rewrite(index, before);
    }
    let Rewriting { is_folded, .. } = rewriting;
    let nodes = known.take_out(is_folded).into_iter();
    known.folded.conversions = nodes.map(|node| links.path(node)).collect();
}

struct Rewriting<'a, 'm> {
    links: &'a Links<'m>,
    known: &'a mut Propagated,
    integers: Integers,
    /// What integer operators read in the place of a slot: before a conversion, or behind one that changes nothing.
    stands_for: Vec<Slot>,
    is_folded: Vec<bool>,
    /// Constants that were moved after they were dequantised, and have the type now that they are stored in.
    moved: BTreeMap<Slot, Stored>,
}

/// What an operator reads and writes.
#[derive(Clone, Copy)]
struct Traffic {
    inputs: Size,
    weights: Size,
}

impl Rewriting<'_, '_> {
    /// Operators come in order, so the operands are rewritten already.
    fn rewrite(&mut self, index: usize, before: Traffic) {
        if self.is_folded[index] || self.known.operators[index].control.is_some() {
            return;
        }
        if self.integers.dequantizes[index] {
            self.pass_quantized(index);
            return;
        }
        let is_integer = self.integers.is_integer[index];
        let arithmetic = self.read_stored(index, is_integer);
        if is_integer {
            self.write_quantized(index);
        } else if let Some(store) = self.integers.epilogue_store(self.links, self.known, index) {
            self.store(index, store);
        }
        self.account(index, before, arithmetic.filter(|_| is_integer));
    }

    /// Lets integer operators read what a conversion reads; it stays for others.
    fn pass_quantized(&mut self, index: usize) {
        let operator = &self.known.operators[index];
        let (Some(Some(from)), Some(&to)) = (operator.inputs.first(), operator.outputs.first())
        else {
            return;
        };
        self.stands_for[to] = self.stands_for[*from];
        let readers = &self.integers.readers[to];
        self.is_folded[index] = !self.integers.is_output[to]
            && !readers.is_empty()
            && readers
                .iter()
                .all(|&reader| self.integers.is_integer[reader]);
    }

    /// Puts stored constants and quantised tensors in the place of floating-point operands; the type of the first of them.
    fn read_stored(&mut self, index: usize, is_integer: bool) -> Option<DataType> {
        let mut first = None;
        let mut scales = Vec::new();
        for position in 0..self.known.operators[index].inputs.len() {
            let Some(slot) = self.known.operators[index].inputs[position] else {
                continue;
            };
            let read = if let Some(found) = self.stored(slot) {
                scales.extend_from_slice(&found.scales);
                self.as_stored(slot, found)
            } else if is_integer && self.integers.reads_quantized(self.known, slot) {
                self.stands_for[slot]
            } else {
                continue;
            };
            self.known.operators[index].inputs[position] = Some(read);
            first = first.or(self.known.values[read].as_ref().map(|value| value.dtype));
        }
        // Behind the operands that the file lists.
        let inputs = &mut self.known.operators[index].inputs;
        inputs.extend(scales.into_iter().map(Some));
        first
    }

    /// What a constant is stored as; for one that was moved, also once it has that type itself.
    fn stored(&self, slot: Slot) -> Option<Stored> {
        let known = self.moved.get(&slot).cloned();
        known.or_else(|| stored(self.links, self.known, slot))
    }

    /// The slot of a constant as it is stored; one that was moved since then is stored anew.
    fn as_stored(&mut self, slot: Slot, found: Stored) -> Slot {
        if !found.is_moved {
            return found.slot;
        }
        let dtype = self.known.values[found.slot]
            .as_ref()
            .map(|value| value.dtype);
        if let (Some(value), Some(dtype)) = (self.known.values[slot].as_mut(), dtype) {
            value.dtype = dtype;
        }
        self.moved.insert(slot, found);
        slot
    }

    fn write_quantized(&mut self, index: usize) {
        if let Some(store) = self.integers.store(self.links, self.known, index) {
            self.store(index, store);
            return;
        }
        if self.integers.roles[index] != Some(Role::Moves) {
            return;
        }
        let operator = &self.known.operators[index];
        let read = operator.inputs.first().copied().flatten();
        let dtype = read.and_then(|slot| self.known.values[slot].as_ref());
        let dtype = dtype.map(|value| value.dtype);
        for (position, slot) in operator.outputs.clone().into_iter().enumerate() {
            match self.integers.quantizer(slot) {
                // The values are those behind the conversion already.
                Some((quantizer, written)) => {
                    self.known.operators[index].outputs[position] = written;
                    self.stands_for[slot] = written;
                    self.is_folded[quantizer] = true;
                }
                None => {
                    if let (Some(value), Some(dtype)) = (self.known.values[slot].as_mut(), dtype)
                        && value.dtype.is_real()
                    {
                        value.dtype = dtype;
                    }
                }
            }
        }
    }

    /// Lets an operator write what is quantised behind it.
    fn store(&mut self, index: usize, store: Store) {
        self.known.operators[index].outputs = vec![store.written];
        self.is_folded[store.quantizer] = true;
        if let Some(clamp) = store.clamp {
            self.is_folded[clamp] = true;
        }
    }

    fn traffic(&self, index: usize) -> Traffic {
        let mut traffic = Traffic {
            inputs: Size::ZERO,
            weights: Size::ZERO,
        };
        let mut slots: Vec<Slot> = self.known.operators[index]
            .inputs
            .iter()
            .copied()
            .flatten()
            .collect();
        slots.sort_unstable();
        slots.dedup();
        for slot in slots {
            let bytes = self.bytes(slot);
            if self.known.weights[slot].is_some() {
                traffic.weights += bytes;
            } else {
                traffic.inputs += bytes;
            }
        }
        traffic
    }

    fn bytes(&self, slot: Slot) -> Size {
        self.known.values[slot]
            .as_ref()
            .and_then(|value| value.shape.bytes(value.dtype))
            .expect("operands were inferred and sized before")
    }

    /// Counts what the operator moves after rewriting; one that reads a part of an operand reads the same part of the other.
    fn account(&mut self, index: usize, before: Traffic, arithmetic: Option<DataType>) {
        let after = self.traffic(index);
        let outputs = &self.known.operators[index].outputs;
        let written = outputs.iter().map(|&slot| self.bytes(slot)).sum();
        let operator = &mut self.known.operators[index];
        if matches!(operator.kind, OpKind::View | OpKind::ConcatInPlace) {
            return;
        }
        let work = &mut operator.work;
        work.input_bytes = scaled(work.input_bytes, before.inputs, after.inputs);
        work.weight_bytes = scaled(work.weight_bytes, before.weights, after.weights);
        work.output_bytes = written;
        if let Some(dtype) = arithmetic {
            work.arithmetic = dtype;
        }
    }
}

/// `bytes`, all or a part of `before`, as the same part of `after`.
fn scaled(bytes: Size, before: Size, after: Size) -> Size {
    if bytes == before || before == Size::ZERO {
        return after;
    }
    let part = u128::from(bytes.count()) * u128::from(after.count());
    let part = part.div_ceil(u128::from(before.count()));
    Size::new(u64::try_from(part).unwrap_or(u64::MAX).min(after.count()))
}

/// Whether an operator may be the end of a product, which leaves in floating point then.
pub(super) fn ends_product(operator: &Operator) -> bool {
    operator.kind == OpKind::Compute(OpClass::Activation) && operator.outputs.len() == 1
}
