//! `Resize` and `Upsample`: nearest elements are looked up; all else is a weighted sum along one axis after the other.
//!
//! Which elements, and with which weights, is computed here once, by the definition of the standard, so that kernels know no mode.

use super::element::is_single;
use super::generate::lookup;
use super::map::{Layout, VECTOR, local, share, signed};
use super::{Argument, Lowered, Phase, Site, Source, Step, Target, TargetKind, Unsupported, axis};

const SOURCE: Source = Source {
    name: "resample.cl",
    text: include_str!("../kernels/resample.cl"),
};

/// One axis.
#[derive(Clone, Copy, Debug)]
struct Axis {
    input: usize,
    output: usize,
    /// Output over input.
    scale: f64,
    /// The region of interest, from 0 to 1.
    region: (f64, f64),
}

/// The elements that an output is made of.
#[derive(Clone, Debug)]
struct Taps {
    indices: Vec<i32>,
    weights: Vec<f32>,
    /// Added.
    constant: f32,
}

/// `Resize` and `Upsample`.
pub(super) fn lower_resize(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let (from, to) = (&site.operand(0)?.spec, site.result()?);
    if to.elements() == 0 {
        return Ok(Lowered::default());
    }
    if from.elements() == 0 {
        return Err(site.unsupported("its operand is empty"));
    }
    let axes = axes(site)?;
    let mode = site.text("mode", "nearest");
    if mode == "nearest" && !is_cropped(site) {
        let strides = Layout::row_major(&from.shape).strides;
        let mut places = Vec::new();
        for (axis, stride) in axes.iter().zip(strides) {
            let place = |output| nearest(site, axis, output).map(|index| signed(index) * stride);
            places.push((0..axis.output).map(place).collect::<Result<_, _>>()?);
        }
        return lookup(site, target, &places);
    }
    if !is_single(from) {
        return Err(site.unsupported(format!("no kernel interpolates {}", from.dtype)));
    }
    let mut lowered = Lowered::default();
    let changed: Vec<usize> = (0..axes.len())
        .filter(|&axis| !is_kept(site, &axes[axis]))
        .collect();
    let mut shape = from.shape.clone();
    let mut source = Argument::Operand(0);
    for (step, &axis) in changed.iter().enumerate() {
        let taps: Vec<Taps> = (0..axes[axis].output)
            .map(|output| taps(site, mode, &axes[axis], output))
            .collect::<Result<_, _>>()?;
        let (outer, extent, inner) = axis::split(&shape, axis);
        shape[axis] = axes[axis].output;
        let result = if step + 1 == changed.len() {
            Argument::Result(0)
        } else {
            lowered.add_scratch(shape.iter().product::<usize>() * size_of::<f32>())
        };
        let lines = [outer, extent, inner];
        push(target, &mut lowered, source, result.clone(), lines, &taps);
        source = result;
    }
    if changed.is_empty() {
        return super::pointwise::lower_copy(site, target);
    }
    Ok(lowered)
}

fn push(
    target: &Target,
    lowered: &mut Lowered,
    source: Argument,
    result: Argument,
    [outer, extent, inner]: [usize; 3],
    taps: &[Taps],
) {
    let most = taps
        .iter()
        .map(|taps| taps.indices.len())
        .max()
        .unwrap_or(0);
    let mut indices = Vec::new();
    let mut weights = Vec::new();
    for taps in taps {
        let missing = most - taps.indices.len();
        indices.extend(taps.indices.iter().copied());
        indices.extend(std::iter::repeat_n(0, missing));
        weights.extend(taps.weights.iter().copied());
        weights.extend(std::iter::repeat_n(0.0, missing));
        weights.push(taps.constant);
    }
    let count = outer * taps.len();
    let (options, block) = match target.kind {
        TargetKind::Cpu => {
            let cost = inner * most.max(1);
            let share = (share(count * cost, target) / cost).max(1);
            (format!("-DV={VECTOR}"), share)
        }
        TargetKind::Gpu => (String::new(), 1),
    };
    let (table, weights) = (lowered.add_ints(&indices), lowered.add_floats(&weights));
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: SOURCE,
        kernel: "resample",
        options,
        arguments: vec![
            source,
            result,
            table,
            weights,
            Argument::Int(i32::try_from(most).expect("taps are few")),
            Argument::Long(signed(extent)),
            Argument::Long(signed(taps.len())),
            Argument::Long(signed(inner)),
            Argument::Long(signed(count)),
            Argument::Long(signed(block)),
        ],
        global: vec![count.div_ceil(block)],
        local: local(target, 1),
    });
}

/// Whether coordinates outside of the operand have a value of their own.
fn is_cropped(site: &Site<'_>) -> bool {
    coordinates(site) == "tf_crop_and_resize"
}

/// How output coordinates become input coordinates; before version 11, they were simply divided.
fn coordinates<'s>(site: &'s Site<'_>) -> &'s str {
    const SAID: i64 = 11;
    if site.call.opset < SAID || site.call.op_type == "Upsample" {
        "asymmetric"
    } else {
        site.text("coordinate_transformation_mode", "half_pixel")
    }
}

/// Whether an axis stays as it is.
fn is_kept(site: &Site<'_>, axis: &Axis) -> bool {
    axis.input == axis.output && (axis.scale - 1.0).abs() < 1e-12 && !is_cropped(site)
}

#[expect(clippy::cast_precision_loss, reason = "extents are far below 2^52")]
fn axes(site: &Site<'_>) -> Result<Vec<Axis>, Unsupported> {
    let (from, to) = (&site.operand(0)?.spec, site.result()?);
    let rank = from.shape.len();
    let named = match site.ints("axes") {
        Some(axes) if site.call.opset >= 18 => axis::all(site, axes, rank)?,
        Some(_) | None => (0..rank).collect(),
    };
    let mut axes: Vec<Axis> = from
        .shape
        .iter()
        .zip(&to.shape)
        .map(|(&input, &output)| Axis {
            input,
            output,
            scale: output as f64 / input as f64,
            region: (0.0, 1.0),
        })
        .collect();
    if to.shape.len() != rank {
        return Err(site.unsupported("its result has other axes than its operand"));
    }
    let scales = scales(site)?;
    if let Some(scales) = scales.filter(|scales| !scales.is_empty()) {
        for (&axis, &scale) in named.iter().zip(&scales) {
            axes[axis].scale = scale;
        }
    } else if matches!(
        site.text("keep_aspect_ratio_policy", "stretch"),
        "not_larger" | "not_smaller"
    ) {
        let sizes = site.integers(3)?.unwrap_or_default();
        let ratios = named.iter().zip(sizes);
        let ratios = ratios.map(|(&axis, &size)| size as f64 / axes[axis].input as f64);
        let scale = if site.text("keep_aspect_ratio_policy", "stretch") == "not_larger" {
            ratios.fold(f64::INFINITY, f64::min)
        } else {
            ratios.fold(0.0, f64::max)
        };
        for &axis in &named {
            axes[axis].scale = scale;
        }
    }
    if is_cropped(site) {
        let region = site
            .reals(1)?
            .ok_or_else(|| site.unsupported("it has no region of interest"))?;
        if region.len() != 2 * named.len() {
            return Err(site.unsupported("its region needs two numbers an axis"));
        }
        for (position, &axis) in named.iter().enumerate() {
            axes[axis].region = (region[position], region[named.len() + position]);
        }
    }
    Ok(axes)
}

fn scales(site: &Site<'_>) -> Result<Option<Vec<f64>>, Unsupported> {
    use paracompile_frontend::import::onnx::Attribute;
    let is_old = site.call.opset < 9 && site.call.op_type == "Upsample";
    if is_old {
        return match site.call.attributes.get("scales") {
            Some(Attribute::Floats(scales)) => {
                Ok(Some(scales.iter().copied().map(f64::from).collect()))
            }
            _ => Err(site.unsupported("it has no scales")),
        };
    }
    let position = if site.call.opset < 11 || site.call.op_type == "Upsample" {
        1
    } else {
        2
    };
    let is_given = site
        .optional(position)
        .is_some_and(|scales| scales.spec.elements() > 0);
    if is_given {
        Ok(site.reals(position)?.map(<[f64]>::to_vec))
    } else {
        Ok(None)
    }
}

/// Where an output lies in the operand.
#[expect(clippy::cast_precision_loss, reason = "extents are far below 2^52")]
fn coordinate(site: &Site<'_>, axis: &Axis, output: usize) -> Result<f64, Unsupported> {
    let (input, extent, at) = (axis.input as f64, axis.output as f64, output as f64);
    let scale = axis.scale;
    // The result may be shorter than the scale says.
    let exact = scale * input;
    Ok(match coordinates(site) {
        "half_pixel_symmetric" => {
            let adjustment = extent / exact;
            let centre = input / 2.0;
            let offset = centre * (1.0 - adjustment);
            offset + (at + 0.5) / scale - 0.5
        }
        "pytorch_half_pixel" | "align_corners" if axis.output <= 1 => 0.0,
        "half_pixel" | "pytorch_half_pixel" => (at + 0.5) / scale - 0.5,
        "align_corners" => at * (input - 1.0) / (exact - 1.0),
        "asymmetric" => at / scale,
        "tf_half_pixel_for_nn" => (at + 0.5) / scale,
        "tf_crop_and_resize" => {
            let (start, end) = axis.region;
            if axis.output > 1 {
                start * (input - 1.0) + at * (end - start) * (input - 1.0) / (exact - 1.0)
            } else {
                0.5 * (start + end) * (input - 1.0)
            }
        }
        other => {
            return Err(site.unsupported(format!("its coordinates are `{other}`")));
        }
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the coordinate is clamped to the axis"
)]
fn nearest(site: &Site<'_>, axis: &Axis, output: usize) -> Result<usize, Unsupported> {
    let at = coordinate(site, axis, output)?;
    let default = if site.call.opset < 11 || site.call.op_type == "Upsample" {
        "floor"
    } else {
        "round_prefer_floor"
    };
    let rounded = match site.text("nearest_mode", default) {
        "round_prefer_floor" => (at - 0.5).ceil(),
        "round_prefer_ceil" => (at + 0.5).floor(),
        "floor" => at.floor(),
        "ceil" => at.ceil(),
        other => return Err(site.unsupported(format!("it rounds by `{other}`"))),
    };
    Ok(rounded.clamp(0.0, axis.input as f64 - 1.0) as usize)
}

/// The elements and weights of an output; those outside of the operand are its edge.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "indices are clamped to the axis, and weights are single-precision numbers"
)]
fn taps(site: &Site<'_>, mode: &str, axis: &Axis, output: usize) -> Result<Taps, Unsupported> {
    let at = coordinate(site, axis, output)?;
    let last = axis.input as f64 - 1.0;
    if is_cropped(site) && !(0.0..=last).contains(&at) {
        return Ok(Taps {
            indices: vec![0],
            weights: vec![0.0],
            constant: site.float("extrapolation_value", 0.0),
        });
    }
    if mode == "nearest" {
        let index = nearest(site, axis, output)?;
        return Ok(Taps {
            indices: vec![i32::try_from(index).unwrap_or(0)],
            weights: vec![1.0],
            constant: 0.0,
        });
    }
    // Filters are as wide as the operand is dense, where it is asked for.
    let stretch = if site.int("antialias", 0) != 0 {
        axis.scale.min(1.0)
    } else {
        1.0
    };
    let cubic = f64::from(site.float("cubic_coeff_a", -0.75));
    let reach = match mode {
        "linear" | "bilinear" | "trilinear" => 1.0,
        "cubic" => 2.0,
        other => return Err(site.unsupported(format!("its mode is `{other}`"))),
    };
    let weight = |distance: f64| {
        let distance = distance.abs() * stretch;
        match mode {
            "cubic" if distance < 1.0 => {
                ((cubic + 2.0) * distance - (cubic + 3.0)) * distance * distance + 1.0
            }
            "cubic" if distance < 2.0 => {
                ((cubic * distance - 5.0 * cubic) * distance + 8.0 * cubic) * distance - 4.0 * cubic
            }
            "cubic" => 0.0,
            _ => (1.0 - distance).max(0.0),
        }
    };
    let excludes_outside = site.int("exclude_outside", 0) != 0;
    let (low, high) = (
        (at - reach / stretch).floor(),
        (at + reach / stretch).ceil(),
    );
    let mut indices = Vec::new();
    let mut weights: Vec<f64> = Vec::new();
    let mut index = low;
    while index <= high {
        let own = weight(index - at);
        let is_outside = !(0.0..=last).contains(&index);
        if own != 0.0 && !(is_outside && excludes_outside) {
            indices.push(index.clamp(0.0, last) as i32);
            weights.push(own);
        }
        index += 1.0;
    }
    let sum: f64 = weights.iter().sum();
    Ok(Taps {
        indices,
        weights: weights.iter().map(|weight| (weight / sum) as f32).collect(),
        constant: 0.0,
    })
}
