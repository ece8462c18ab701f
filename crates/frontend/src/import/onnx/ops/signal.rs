//! Fourier transforms and what surrounds them: windows and filter banks.

use paracompile_plan::OpClass;

use crate::ir::Work;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{data_type, elements, extent, product, resolve_axis};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("BlackmanWindow", window_function),
    ("DFT", dft),
    ("HammingWindow", window_function),
    ("HannWindow", window_function),
    ("MelWeightMatrix", mel_weight_matrix),
    ("STFT", stft),
];

const FLOPS: &str = "the number of operations";

fn generated(site: &Site<'_>, shape: Vec<u64>) -> Result<Effect, Fault> {
    let dtype = data_type(site.attributes.int_or("output_datatype", 1)?)?;
    Effect::compute(OpClass::Other, Produced::new(dtype, shape))
        .with_parameters_from(0)
        .with_flops_per_element(8)
}

fn window_function(site: &Site<'_>) -> Result<Effect, Fault> {
    let samples = required(site, 0, "size")?;
    generated(site, vec![samples])
}

/// One row a frequency up to half the sampling rate, one column a band.
fn mel_weight_matrix(site: &Site<'_>) -> Result<Effect, Fault> {
    let bands = required(site, 0, "num_mel_bins")?;
    let length = required(site, 1, "dft_length")?;
    generated(site, vec![length / 2 + 1, bands])
}

/// The first integer of an operand.
fn number(site: &Site<'_>, position: usize, operand: &'static str) -> Result<Option<i64>, Fault> {
    let values = site.integers(position, operand)?;
    Ok(values.and_then(|values| values.first().copied()))
}

fn required(site: &Site<'_>, position: usize, operand: &'static str) -> Result<u64, Fault> {
    let value =
        number(site, position, operand)?.ok_or(Fault::MissingOperand { position, operand })?;
    extent(operand, value)
}

fn dft(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand_of_rank(
        0,
        "input",
        2..=usize::MAX,
        "a signal and an axis for real and imaginary parts are needed",
    )?;
    let rank = input.shape.0.len();
    let axis = if site.opset < 20 {
        site.attributes.int_or("axis", 1)?
    } else {
        number(site, 2, "axis")?.unwrap_or(-2)
    };
    let axis = resolve_axis(axis, rank)?;
    if axis + 1 == rank {
        return Err(Fault::Axis {
            axis: i64::try_from(axis).unwrap_or(i64::MAX),
            rank: rank - 1,
        });
    }
    let is_onesided = site.attributes.is_set("onesided")?;
    let is_inverse = site.attributes.is_set("inverse")?;
    let length = match number(site, 1, "dft_length")? {
        Some(length) => extent("dft_length", length)?,
        // Half of the spectrum of a real signal.
        None if is_onesided && is_inverse => product(
            "the signal's length",
            [input.shape.0[axis].saturating_sub(1), 2],
        )?,
        None => input.shape.0[axis],
    };
    let mut shape = input.shape.0.clone();
    shape[axis] = if is_onesided && !is_inverse {
        length / 2 + 1
    } else {
        length
    };
    shape[rank - 1] = if is_onesided && is_inverse { 1 } else { 2 };
    let output = Produced::new(input.dtype, shape);
    let work = Work {
        other_flops: product(FLOPS, [elements(&output.shape)?, flops_per_number(length)])?,
        ..Work::default()
    };
    Ok(Effect::compute(OpClass::Other, output)
        .with_work(work)
        .with_parameters_from(1))
}

/// A fast transform of `n` points takes about `5 n log n` operations.
fn flops_per_number(points: u64) -> u64 {
    5 * u64::from(points.max(2).ilog2())
}

fn stft(site: &Site<'_>) -> Result<Effect, Fault> {
    let signal = site.operand_of_rank(
        0,
        "signal",
        2..=3,
        "batch and samples are needed, with an optional axis for real and imaginary parts",
    )?;
    let step = required(site, 1, "frame_step")?;
    let frame = match (number(site, 3, "frame_length")?, site.optional(2)) {
        (Some(length), _) => extent("frame_length", length)?,
        (None, Some(window)) => elements(&window.shape)?,
        (None, None) => {
            return Err(Fault::MissingOperand {
                position: 3,
                operand: "frame_length",
            });
        }
    };
    let samples = signal.shape.0[1];
    let Some(slack) = samples.checked_sub(frame).filter(|_| step > 0 && frame > 0) else {
        return Err(Fault::Value {
            what: "the frame",
            found: format!("{frame} samples every {step}"),
            expected: "it has to fit into the signal and to move",
        });
    };
    let bins = if site.attributes.int_or("onesided", 1)? != 0 {
        frame / 2 + 1
    } else {
        frame
    };
    let output = Produced::new(
        signal.dtype,
        vec![signal.shape.0[0], slack / step + 1, bins, 2],
    );
    let work = Work {
        other_flops: product(FLOPS, [elements(&output.shape)?, flops_per_number(frame)])?,
        ..Work::default()
    };
    Ok(Effect::compute(OpClass::Other, output)
        .with_work(work)
        .with_parameters_from(1))
}
