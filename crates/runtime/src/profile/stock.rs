//! Memory of a context to measure in: numbers to read, space to write.
//!
//! In a frame every weight is read once, and by the next frame the whole network has passed through the caches.
//! So weights are taken from different places of a stock that is as large as all tensors of a network: what is read again was read as long
//! ago as in a frame.
//! Results go to different places of a space as large, since every result of a frame has a place of its own.
//! Numbers lie between a quarter and five quarters, so that roots and logarithms have something to take and nothing becomes denormal.

use std::sync::Arc;

use opencl3::command_queue::CommandQueue;
use paracompile_frontend::import::onnx::Elements;
use paracompile_frontend::ir::DataType;

use super::machine::Station;
use crate::launch::Place;
use crate::lower::{Operand, Spec};
use crate::opencl::{Context, Memory, OpenclError, write};

/// Places begin at multiples of so many bytes.
const ALIGNMENT: usize = 256;
/// Bytes that are written at a time.
const PIECE: usize = 1 << 20;

/// Memory to measure in.
#[derive(Debug)]
pub(super) struct Stock {
    /// Single-precision numbers.
    numbers: Arc<Memory>,
    /// Where the next weight lies.
    next: usize,
    /// Space for results.
    results: Arc<Memory>,
    /// Where the next result goes.
    next_result: usize,
}

impl Stock {
    /// With at least `bytes` bytes of numbers, and as many for results.
    pub(super) fn new(
        context: &Context,
        queue: &CommandQueue,
        bytes: usize,
    ) -> Result<Self, OpenclError> {
        Ok(Self {
            numbers: numbers(context, queue, bytes)?,
            next: 0,
            // Written as well, so that the host has given the pages.
            results: numbers(context, queue, bytes)?,
            next_result: 0,
        })
    }

    /// A place for a result: another one for each call.
    pub(super) fn result(
        &mut self,
        station: &Station,
        result: &Spec,
    ) -> Result<Place, OpenclError> {
        let bytes = result.bytes();
        if bytes > self.results.bytes() {
            self.results = numbers(&station.context, &station.queue, 2 * bytes)?;
        }
        let first = place(&mut self.next_result, bytes, self.results.bytes());
        Ok(Place {
            memory: Arc::clone(&self.results),
            first: (first / result.element_bytes()) as u64,
        })
    }

    /// The size of the space for results in bytes.
    pub(super) fn result_bytes(&self) -> usize {
        self.results.bytes()
    }

    /// Its size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.numbers.bytes()
    }

    /// Something to read of the operand's type: another place for each call, where it is of single precision.
    pub(super) fn operand(
        &mut self,
        context: &Context,
        queue: &CommandQueue,
        operand: &Operand<'_>,
    ) -> Result<Place, OpenclError> {
        let bytes = operand.spec.bytes();
        if operand.spec.dtype != DataType::Float || operand.elements.is_some() {
            let memory = context.allocate(bytes)?;
            if bytes > 0 {
                write(queue, &memory, 0, &contents(operand))?;
            }
            return Ok(Place { memory, first: 0 });
        }
        if bytes > self.numbers.bytes() {
            self.numbers = numbers(context, queue, 2 * bytes)?;
        }
        let first = place(&mut self.next, bytes, self.numbers.bytes());
        Ok(Place {
            memory: Arc::clone(&self.numbers),
            first: (first / operand.spec.element_bytes()) as u64,
        })
    }
}

/// Memory of at least `bytes` bytes, filled.
fn numbers(
    context: &Context,
    queue: &CommandQueue,
    bytes: usize,
) -> Result<Arc<Memory>, OpenclError> {
    let bytes = bytes.next_multiple_of(PIECE);
    let memory = context.allocate(bytes)?;
    let mut state = 1_u32;
    let mut piece = Vec::with_capacity(PIECE);
    for first in (0..bytes).step_by(PIECE) {
        piece.clear();
        for _ in 0..PIECE / 4 {
            piece.extend(number(&mut state).to_le_bytes());
        }
        write(queue, &memory, first, &piece)?;
    }
    Ok(memory)
}

/// The next of the places of `bytes` bytes in a space of `size`, which begins again at its end.
fn place(next: &mut usize, bytes: usize, size: usize) -> usize {
    if *next + bytes > size {
        *next = 0;
    }
    let first = *next;
    *next = (first + bytes).next_multiple_of(ALIGNMENT);
    first
}

/// A number from 0.25 to 1.25, by a linear congruential generator (Numerical Recipes).
fn number(state: &mut u32) -> f32 {
    const ONE: u32 = 127 << 23;
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    f32::from_bits(ONE | (*state >> 9)) - 0.75
}

/// The bytes of an operand: its elements where they are known, else zeros where they may be indices, and ones.
fn contents(operand: &Operand<'_>) -> Vec<u8> {
    let Spec { dtype, .. } = operand.spec;
    match operand.elements {
        Some(Elements::Integers(values)) => values
            .iter()
            .flat_map(|&value| integer(dtype, value))
            .collect(),
        Some(Elements::Reals(values)) => values
            .iter()
            .flat_map(|&value| real(dtype, value))
            .collect(),
        None => {
            let one = if dtype.is_real() {
                real(dtype, 1.0)
            } else {
                integer(dtype, 0)
            };
            one.repeat(operand.spec.elements())
        }
    }
}

/// An integer of the type, little-endian.
fn integer(dtype: DataType, value: i64) -> Vec<u8> {
    let bytes = usize::try_from(dtype.bits().div_ceil(8)).expect("an element has a few bytes");
    let mut all = value.to_le_bytes().to_vec();
    all.resize(bytes, 0);
    all
}

/// A number of the type, little-endian; types of half precision and less get zero.
fn real(dtype: DataType, value: f64) -> Vec<u8> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the type is of single precision"
    )]
    let single = value as f32;
    match dtype.bits() {
        64 => value.to_le_bytes().to_vec(),
        32 => single.to_le_bytes().to_vec(),
        bits => vec![0; usize::try_from(bits.div_ceil(8)).expect("an element has a few bytes")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_neither_denormal_nor_large() {
        let mut state = 1;
        for _ in 0..10_000 {
            assert!((0.25..1.25).contains(&number(&mut state)));
        }
    }

    #[test]
    fn places_follow_each_other_and_begin_again() {
        let mut next = 0;
        let places: Vec<usize> = (0..4).map(|_| place(&mut next, 300, 1300)).collect();
        assert_eq!(places, [0, 512, 0, 512]);
        assert_eq!(place(&mut next, 1300, 1300), 0);
        assert_eq!(place(&mut next, 1, 1300), 0);
    }

    #[test]
    fn known_elements_are_written_as_they_are() {
        let elements = Elements::Integers(vec![-1, 3]);
        let operand = |dtype, elements| Operand {
            spec: Spec {
                dtype,
                shape: vec![2],
            },
            is_constant: true,
            elements,
        };
        let known = contents(&operand(DataType::Int64, Some(&elements)));
        assert_eq!(known, [[255; 8], [3, 0, 0, 0, 0, 0, 0, 0]].concat());
        assert_eq!(contents(&operand(DataType::Bool, None)), [0, 0]);
        assert_eq!(contents(&operand(DataType::Double, None)).len(), 16);
    }
}
