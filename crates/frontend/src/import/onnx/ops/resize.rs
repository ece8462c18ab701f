//! Resampling of spatial axes.

use paracompile_plan::OpClass;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Value, extents, resolve_axis};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("AffineGrid", affine_grid),
    ("GridSample", grid_sample),
    ("Resize", resize),
    ("Upsample", upsample),
];

fn upsample(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    let scales: Vec<f64> = if site.opset < 9 {
        let attribute = "scales";
        let scales = site.attributes.floats(attribute)?;
        let scales = scales.ok_or(Fault::MissingAttribute { attribute })?;
        scales.iter().copied().map(f64::from).collect()
    } else {
        let scales = site.reals(1, "scales")?;
        let scales = scales.ok_or(Fault::MissingOperand {
            position: 1,
            operand: "scales",
        })?;
        scales.to_vec()
    };
    let axes: Vec<usize> = (0..input.shape.0.len()).collect();
    let shape = scaled(input, &axes, &scales)?;
    effect(site, input, shape)
}

fn resize(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    let rank = input.shape.0.len();
    let axes: Vec<usize> = match site.attributes.ints("axes")? {
        None => (0..rank).collect(),
        // The attribute came with version 18.
        Some(_) if site.opset < 18 => (0..rank).collect(),
        Some(axes) => axes
            .iter()
            .map(|&axis| resolve_axis(axis, rank))
            .collect::<Result<_, _>>()?,
    };
    // Version 10 has scales as second operand, later ones have a region of interest between.
    let scales_at = if site.opset < 11 { 1 } else { 2 };
    let is_given = |position: usize| {
        site.optional(position)
            .is_some_and(|value| value.shape.0.iter().all(|&extent| extent > 0))
    };
    let shape = if is_given(scales_at) {
        let scales = site.reals(scales_at, "scales")?.unwrap_or_default();
        scaled(input, &axes, scales)?
    } else if site.opset > 10 && is_given(3) {
        let sizes = extents("sizes", site.integers(3, "sizes")?.unwrap_or_default())?;
        sized(site, input, &axes, &sizes)?
    } else {
        return Err(Fault::MissingOperand {
            position: scales_at,
            operand: "scales",
        });
    };
    effect(site, input, shape)
}

fn sized(site: &Site<'_>, input: &Value, axes: &[usize], sizes: &[u64]) -> Result<Vec<u64>, Fault> {
    one_an_axis(input, axes, sizes.len())?;
    let mut shape = input.shape.0.clone();
    match site.attributes.string("keep_aspect_ratio_policy")? {
        None | Some("" | "stretch") => {
            for (&axis, &size) in axes.iter().zip(sizes) {
                shape[axis] = size;
            }
        }
        Some(policy) => {
            let ratios = axes
                .iter()
                .zip(sizes)
                .map(|(&axis, &size)| ratio(size, shape[axis]));
            let scale = if policy == "not_larger" {
                ratios.fold(f64::INFINITY, f64::min)
            } else {
                ratios.fold(0.0, f64::max)
            };
            for &axis in axes {
                shape[axis] = scale_extent(shape[axis], scale, f64::round)?;
            }
        }
    }
    Ok(shape)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "extents beyond 2^52 are refused after scaling"
)]
fn ratio(size: u64, extent: u64) -> f64 {
    size as f64 / extent as f64
}

fn scaled(input: &Value, axes: &[usize], scales: &[f64]) -> Result<Vec<u64>, Fault> {
    one_an_axis(input, axes, scales.len())?;
    let mut shape = input.shape.0.clone();
    for (&axis, &scale) in axes.iter().zip(scales) {
        shape[axis] = scale_extent(shape[axis], scale, f64::floor)?;
    }
    Ok(shape)
}

fn one_an_axis(input: &Value, axes: &[usize], found: usize) -> Result<(), Fault> {
    if axes.len() == found {
        Ok(())
    } else {
        Err(Fault::Value {
            what: "the number of scales or sizes",
            found: format!("{found} for {}", input.shape),
            expected: "it has to be one an axis",
        })
    }
}

/// Scales are single precision in the file, and so is the product by definition.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the result is checked to be an integer from 0 to 2^52"
)]
fn scale_extent(extent: u64, scale: f64, round: fn(f64) -> f64) -> Result<u64, Fault> {
    let scaled = round(f64::from(extent as f32 * scale as f32));
    if (0.0..=4_503_599_627_370_496.0).contains(&scaled) {
        Ok(scaled as u64)
    } else {
        Err(Fault::Value {
            what: "a scale",
            found: scale.to_string(),
            expected: "the scaled extent has to be a sensible number",
        })
    }
}

fn effect(site: &Site<'_>, input: &Value, shape: Vec<u64>) -> Result<Effect, Fault> {
    // Neighbours that are weighted: one, four, or sixteen.
    let flops = match site.attributes.string("mode")? {
        Some("linear" | "bilinear") => 8,
        Some("cubic") => 32,
        _ => 1,
    };
    Effect::compute(OpClass::Resize, Produced::new(input.dtype, shape))
        .with_parameters_from(1)
        .with_flops_per_element(flops)
}

fn grid_sample(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand_of_rank(
        0,
        "X",
        3..=usize::MAX,
        "batch, channels and spatial axes are needed",
    )?;
    let grid = site.operand_of_rank(
        1,
        "grid",
        3..=usize::MAX,
        "batch, spatial axes and coordinates are needed",
    )?;
    let spatial = &grid.shape.0[1..grid.shape.0.len() - 1];
    let shape = [&input.shape.0[..2], spatial].concat();
    Effect::compute(OpClass::Resize, Produced::new(input.dtype, shape)).with_flops_per_element(8)
}

fn affine_grid(site: &Site<'_>) -> Result<Effect, Fault> {
    let theta = site.operand(0, "theta")?;
    let wanted = extents(
        "size",
        site.integers(1, "size")?.ok_or(Fault::MissingOperand {
            position: 1,
            operand: "size",
        })?,
    )?;
    if wanted.len() < 4 {
        return Err(Fault::Value {
            what: "size",
            found: format!("{wanted:?}"),
            expected: "it has batch, channels and two or three spatial extents",
        });
    }
    let coordinates = wanted.len() as u64 - 2;
    let shape = [&wanted[..1], &wanted[2..], &[coordinates]].concat();
    Effect::compute(OpClass::Other, Produced::new(theta.dtype, shape))
        .with_parameters_from(1)
        .with_flops_per_element(4)
}
