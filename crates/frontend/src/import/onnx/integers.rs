//! Chooses the operators that run on quantised tensors: those between conversions, as far as everybody around them agrees.
//!
//! Whether an operator does depends on its operands, and for one that only moves elements on its readers too, since what it writes has no
//! conversion of its own.
//! So all candidates are taken first, and those that turn out not to fit are given up until none is left, each once.

use crate::ir::OpKind;

use super::link::{Links, Slot};
use super::propagate::Propagated;
use super::quantizable::{Role, clamps, converts, role, takes_real};
use super::quantized::ends_product;
use super::stored::stored;

/// Who runs on quantised tensors, and who converts.
pub(super) struct Integers {
    /// By operator.
    pub(super) roles: Vec<Option<Role>>,
    /// By operator.
    pub(super) is_integer: Vec<bool>,
    /// Whether an operator is a conversion to floating point with constant parameters.
    pub(super) dequantizes: Vec<bool>,
    quantizes: Vec<bool>,
    /// Operators that read a slot, each once.
    pub(super) readers: Vec<Vec<usize>>,
    writers: Vec<Option<usize>>,
    pub(super) is_output: Vec<bool>,
    /// The conversion whose scale the values of a slot have, if all of them have one.
    scaled_by: Vec<Option<usize>>,
    /// The conversion behind a slot that only moved values, and what it writes.
    quantizers: Vec<Option<(usize, Slot)>>,
}

/// How a result is stored quantised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Store {
    pub(super) quantizer: usize,
    pub(super) written: Slot,
    /// An operator between that cuts off what the stored type cannot hold.
    pub(super) clamp: Option<usize>,
}

impl Integers {
    pub(super) fn of(links: &Links<'_>, known: &Propagated) -> Self {
        let slots = known.values.len();
        let operators = known.operators.len();
        let mut integers = Self {
            roles: vec![None; operators],
            is_integer: vec![false; operators],
            dequantizes: vec![false; operators],
            quantizes: vec![false; operators],
            readers: vec![Vec::new(); slots],
            writers: vec![None; slots],
            is_output: vec![false; slots],
            scaled_by: vec![None; slots],
            quantizers: vec![None; slots],
        };
        for &slot in &links.outputs {
            integers.is_output[known.aliases[slot]] = true;
        }
        for index in 0..operators {
            integers.look_at(links, known, index);
        }
        if integers.dequantizes.contains(&true) {
            integers.settle(links, known);
        } else {
            integers.is_integer.fill(false);
        }
        for (slot, quantizer) in integers.quantizers.iter_mut().enumerate() {
            *quantizer = integers.readers[slot]
                .iter()
                .find(|&&reader| integers.quantizes[reader])
                .map(|&reader| (reader, known.operators[reader].outputs[0]));
        }
        integers
    }

    fn look_at(&mut self, links: &Links<'_>, known: &Propagated, index: usize) {
        let operator = &known.operators[index];
        for &slot in operator.inputs.iter().flatten() {
            if self.readers[slot].last() != Some(&index) {
                self.readers[slot].push(index);
            }
        }
        for &slot in &operator.outputs {
            self.writers[slot] = Some(index);
        }
        // Other conversions have scales that somebody computes.
        if let (&[Some(from)], &[to]) = (operator.inputs.as_slice(), operator.outputs.as_slice()) {
            self.dequantizes[index] =
                converts(links, operator.node, "DequantizeLinear") && shortens(known, from, to);
            self.quantizes[index] = converts(links, operator.node, "QuantizeLinear");
            if self.dequantizes[index] {
                self.scaled_by[to] = Some(index);
                return;
            }
            if self.quantizes[index] {
                return;
            }
        }
        self.roles[index] = role(links, operator);
        self.is_integer[index] = self.roles[index].is_some();
        let moves = self.roles[index] == Some(Role::Moves);
        let from = operator.inputs.first().copied().flatten();
        for &slot in &operator.outputs {
            self.scaled_by[slot] = from.filter(|_| moves).and_then(|from| self.scaled_by[from]);
        }
    }

    /// Gives up candidates until all that are left fit.
    fn settle(&mut self, links: &Links<'_>, known: &Propagated) {
        let mut waiting: Vec<usize> = (0..known.operators.len()).rev().collect();
        while let Some(index) = waiting.pop() {
            if !self.is_integer[index] || self.fits(links, known, index) {
                continue;
            }
            self.is_integer[index] = false;
            let operator = &known.operators[index];
            let behind = operator
                .outputs
                .iter()
                .flat_map(|&slot| &self.readers[slot]);
            let before = operator.inputs.iter().flatten();
            let before = before.filter_map(|&slot| self.writers[slot].as_ref());
            waiting.extend(
                behind
                    .chain(before)
                    .filter(|&&other| self.is_integer[other]),
            );
        }
    }

    fn fits(&self, links: &Links<'_>, known: &Propagated, index: usize) -> bool {
        let Some(role) = self.roles[index] else {
            return false;
        };
        if !self.reads_integers(links, known, index, role) {
            return false;
        }
        let operator = &known.operators[index];
        match role {
            Role::Multiplies => operator.outputs.len() == 1,
            Role::Decides => true,
            Role::Computes => self.store(links, known, index).is_some(),
            Role::Moves => {
                self.store(links, known, index).is_some()
                    || operator
                        .outputs
                        .iter()
                        .all(|&slot| self.is_read_as_integers(links, known, slot))
            }
        }
    }

    /// Whether all floating-point operands are quantised, and one of them is no constant.
    fn reads_integers(
        &self,
        links: &Links<'_>,
        known: &Propagated,
        index: usize,
        role: Role,
    ) -> bool {
        let operator = &known.operators[index];
        let mut computed = 0;
        for (position, slot) in operator.inputs.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            let is_real = known.values[slot]
                .as_ref()
                .is_some_and(|value| value.dtype.is_real());
            if !is_real {
                continue;
            }
            if known.weights[slot].is_none() {
                if !self.reads_quantized(known, slot) || (role == Role::Moves && position > 0) {
                    return false;
                }
                computed += 1;
            } else if stored(links, known, slot).is_none()
                && !takes_real(role, operator.kind, position)
            {
                return false;
            }
        }
        computed > 0
    }

    /// Whether integer operators read something else in the place of a slot, or find it quantised.
    pub(super) fn reads_quantized(&self, known: &Propagated, slot: Slot) -> bool {
        known.weights[slot].is_none()
            && self.writers[slot].is_some_and(|writer| {
                self.dequantizes[writer]
                    || (self.is_integer[writer] && self.roles[writer] == Some(Role::Moves))
            })
    }

    /// Whether all that read a moved slot run on integers, or quantise it as it was before.
    fn is_read_as_integers(&self, links: &Links<'_>, known: &Propagated, slot: Slot) -> bool {
        let is_real = known.values[slot]
            .as_ref()
            .is_some_and(|value| value.dtype.is_real());
        let readers = &self.readers[slot];
        let mut quantizers = readers.iter().filter(|&&reader| self.quantizes[reader]);
        let keeps_scale = match (quantizers.next(), quantizers.next()) {
            (None, _) => true,
            (Some(&only), None) => {
                self.scaled_by[slot].is_some_and(|before| same_scale(links, known, before, only))
            }
            (Some(_), Some(_)) => false,
        };
        !is_real
            || (!self.is_output[slot]
                && !readers.is_empty()
                && keeps_scale
                && self.has_one_scale(links, known, slot)
                && readers
                    .iter()
                    .all(|&reader| self.is_integer[reader] || self.quantizes[reader]))
    }

    /// Whether the values of a slot have one scale for all, so that they can be moved.
    fn has_one_scale(&self, links: &Links<'_>, known: &Propagated, slot: Slot) -> bool {
        let Some(conversion) = self.scaled_by[slot] else {
            return false;
        };
        let scale = parameter(links, known, conversion, 1);
        let scale = scale.and_then(|slot| known.values[slot].as_ref());
        scale.is_some_and(|scale| scale.shape.elements() == Some(1))
    }

    /// How the only result of an operator is stored, if nobody reads it in floating point.
    pub(super) fn store(
        &self,
        links: &Links<'_>,
        known: &Propagated,
        index: usize,
    ) -> Option<Store> {
        let operator = &known.operators[index];
        let &[result] = operator.outputs.as_slice() else {
            return None;
        };
        // A view writes nothing.
        if matches!(operator.kind, OpKind::View | OpKind::ConcatInPlace) {
            return None;
        }
        let reader = self.only_reader(result)?;
        if self.quantizes[reader] {
            return Some(Store {
                quantizer: reader,
                written: known.operators[reader].outputs[0],
                clamp: None,
            });
        }
        if !clamps(links, &known.operators[reader]) {
            return None;
        }
        let quantizer = self.only_reader(*known.operators[reader].outputs.first()?)?;
        self.quantizes[quantizer].then(|| Store {
            quantizer,
            written: known.operators[quantizer].outputs[0],
            clamp: Some(reader),
        })
    }

    /// How an activation behind an integer product is stored, if it reads the product alone.
    pub(super) fn epilogue_store(
        &self,
        links: &Links<'_>,
        known: &Propagated,
        index: usize,
    ) -> Option<Store> {
        let operator = &known.operators[index];
        let &[Some(from)] = operator.inputs.as_slice() else {
            return None;
        };
        let writer = self.writers[from]?;
        let is_product = self.is_integer[writer] && self.roles[writer] == Some(Role::Multiplies);
        let is_end = is_product && ends_product(operator) && self.only_reader(from) == Some(index);
        self.store(links, known, index).filter(|_| is_end)
    }

    /// The conversion behind a slot of moved values, and what it writes.
    pub(super) fn quantizer(&self, slot: Slot) -> Option<(usize, Slot)> {
        self.quantizers[slot]
    }

    fn only_reader(&self, slot: Slot) -> Option<usize> {
        match self.readers[slot].as_slice() {
            &[reader] if !self.is_output[slot] => Some(reader),
            _ => None,
        }
    }
}

/// Whether a quantised tensor is no larger than in floating point, so that what is moved fits too.
fn shortens(known: &Propagated, quantised: Slot, real: Slot) -> bool {
    let bits = |slot: Slot| known.values[slot].as_ref().map(|value| value.dtype.bits());
    bits(quantised) <= bits(real)
}

/// A parameter of a conversion.
fn parameter(
    links: &Links<'_>,
    known: &Propagated,
    operator: usize,
    position: usize,
) -> Option<Slot> {
    let node = &links.nodes[known.operators[operator].node];
    let slot = node.reads.get(position).copied().flatten()?;
    Some(known.aliases[slot])
}

/// Whether a conversion to floating point and one back cancel out.
fn same_scale(links: &Links<'_>, known: &Propagated, dequantizer: usize, quantizer: usize) -> bool {
    let types = [
        known.operators[dequantizer].inputs[0],
        known.operators[quantizer].outputs.first().copied(),
    ];
    let [from, to] = types.map(|slot| {
        let value = known.values[slot?].as_ref()?;
        Some(value.dtype)
    });
    from == to
        && (1..3).all(|position| {
            let before = parameter(links, known, dequantizer, position);
            let behind = parameter(links, known, quantizer, position);
            match (before, behind) {
                (Some(before), Some(behind)) => {
                    let data = |slot: Slot| known.values[slot].as_ref()?.data.as_ref();
                    before == behind || (data(before).is_some() && data(before) == data(behind))
                }
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            }
        })
}
