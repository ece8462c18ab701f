//! The test network, its constants, and what it computes, by plain loops.

use std::collections::BTreeMap;
use std::path::PathBuf;

use paracompile_frontend::import::onnx::{Convolutions, ImportOptions, Program, ValueId, load};
use paracompile_frontend::ir::WeightRef;
use paracompile_plan::{Plan, read_plan};

const CHANNELS: usize = 16;
const SIDE: usize = 24;
const PIXELS: usize = SIDE * SIDE;

/// All plans of the test network.
pub(crate) const PLANS: [&str; 10] = [
    "shared-single-1",
    "shared-para-only-1",
    "shared-pipe-only-2",
    "apart-single-1",
    "apart-para-only-1",
    "apart-pipe-only-2",
    "three-single-1",
    "three-para-only-1",
    "three-pipe-only-2",
    "three-hybrid-2",
];

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// A plan of the test network.
pub(crate) fn plan(name: &str) -> Plan {
    read_plan(&fixture(&format!("{name}.json"))).unwrap()
}

/// The test network.
pub(crate) fn program() -> Program {
    let options = ImportOptions {
        convolutions: Convolutions::Fold,
        ..ImportOptions::default()
    };
    load(&fixture("branches.onnx"), &options).unwrap()
}

/// The elements of its weights, all of which lie in its file.
pub(crate) fn constants(program: &Program) -> BTreeMap<ValueId, Vec<u8>> {
    let values = program.values.iter().enumerate();
    values
        .filter_map(|(id, value)| match value.stored {
            Some(WeightRef::Inline { offset, length }) => {
                let range = offset as usize..(offset + length) as usize;
                Some((id, program.file[range].to_vec()))
            }
            _ => None,
        })
        .collect()
}

/// An input that differs from frame to frame.
pub(crate) fn input(frame: usize) -> Vec<f32> {
    let element = |index: usize| {
        let mixed = (index * 2_654_435_761 + frame * 40_503) % 1_000;
        mixed as f32 / 500.0 - 1.0
    };
    (0..CHANNELS * PIXELS).map(element).collect()
}

/// Numbers as the bytes of a tensor.
pub(crate) fn bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// The bytes of a tensor as numbers.
pub(crate) fn floats(bytes: &[u8]) -> Vec<f32> {
    let (chunks, _) = bytes.as_chunks::<4>();
    chunks
        .iter()
        .map(|&chunk| f32::from_le_bytes(chunk))
        .collect()
}

/// What the network computes.
pub(crate) struct Reference {
    weights: BTreeMap<String, Vec<f32>>,
}

impl Reference {
    pub(crate) fn new(program: &Program) -> Self {
        let constants = constants(program);
        let named = constants
            .iter()
            .map(|(&id, bytes)| (program.values[id].name.clone(), floats(bytes)));
        Self {
            weights: named.collect(),
        }
    }

    /// The output for an input.
    pub(crate) fn output(&self, input: &[f32]) -> Vec<f32> {
        let stem = self.conv("stem", input);
        let branch = |name: &str| {
            (0..3).fold(stem.clone(), |image, step| {
                self.conv(&format!("{name}{step}"), &image)
            })
        };
        let joined = [branch("left"), branch("right")].concat();
        let last = self.conv("last", &self.conv("tail", &joined));
        last.iter()
            .zip(&stem)
            .map(|(one, other)| one + other)
            .collect()
    }

    /// A convolution of 3 × 3 with a border of zeros, and what is positive of it.
    fn conv(&self, name: &str, image: &[f32]) -> Vec<f32> {
        let weights = &self.weights[&format!("{name}.weight")];
        let bias = &self.weights[&format!("{name}.bias")];
        let channels = image.len() / PIXELS;
        let mut result = Vec::with_capacity(CHANNELS * PIXELS);
        for out in 0..CHANNELS {
            for y in 0..SIDE {
                for x in 0..SIDE {
                    let mut sum = f64::from(bias[out]);
                    for channel in 0..channels {
                        for (dy, dx) in (0..3).flat_map(|dy| (0..3).map(move |dx| (dy, dx))) {
                            let (row, column) =
                                ((y + dy).wrapping_sub(1), (x + dx).wrapping_sub(1));
                            if row < SIDE && column < SIDE {
                                let weight =
                                    weights[((out * channels + channel) * 3 + dy) * 3 + dx];
                                let pixel = image[channel * PIXELS + row * SIDE + column];
                                sum += f64::from(weight) * f64::from(pixel);
                            }
                        }
                    }
                    result.push(sum.max(0.0) as f32);
                }
            }
        }
        result
    }
}

/// The largest difference between two tensors.
pub(crate) fn difference(one: &[f32], other: &[f32]) -> f32 {
    assert_eq!(one.len(), other.len());
    let pairs = one.iter().zip(other);
    pairs
        .map(|(one, other)| (one - other).abs())
        .fold(0.0, f32::max)
}
