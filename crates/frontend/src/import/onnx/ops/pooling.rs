//! Pools over a window or over the whole spatial extent.

use paracompile_plan::OpClass;

use crate::ir::{DataType, Work};

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{elements, extents, product};
use super::window::Window;

pub(super) const RULES: &[(&str, Rule)] = &[
    ("AveragePool", average_pool),
    ("GlobalAveragePool", global_pool),
    ("GlobalLpPool", global_pool),
    ("GlobalMaxPool", global_pool),
    ("LpPool", average_pool),
    ("MaxPool", max_pool),
    ("MaxRoiPool", max_roi_pool),
    ("MaxUnpool", max_unpool),
    ("RoiAlign", roi_align),
];

const IMAGE: &str = "batch, channels and at least one spatial axis are needed";
const FLOPS: &str = "the number of operations";

fn max_pool(site: &Site<'_>) -> Result<Effect, Fault> {
    let mut effect = pool(site, OpClass::MaxPool)?;
    if site.outputs > 1 {
        let shape = effect.outputs[0].shape.clone();
        effect.outputs.push(Produced::new(DataType::Int64, shape));
    }
    Ok(effect)
}

fn average_pool(site: &Site<'_>) -> Result<Effect, Fault> {
    pool(site, OpClass::AveragePool)
}

fn pool(site: &Site<'_>, class: OpClass) -> Result<Effect, Fault> {
    let image = site.operand_of_rank(0, "X", 3..=usize::MAX, IMAGE)?;
    let spatial = &image.shape.0[2..];
    let window = Window::of(site, kernel_shape(site, spatial.len())?)?;
    let ceil = site.attributes.is_set("ceil_mode")?;
    let positions = window.positions(spatial, ceil)?;
    let shape: Vec<_> = image.shape.0[..2]
        .iter()
        .copied()
        .chain(positions)
        .collect();
    let output = Produced::new(image.dtype, shape);
    let taps = product(FLOPS, window.kernel.iter().copied())?;
    let touched = product(FLOPS, [elements(&output.shape)?, taps])?;
    let work = Work {
        other_flops: touched,
        window: touched,
        kernel: Window::plane(&window.kernel),
        stride: Window::plane(&window.stride),
        dilation: Window::plane(&window.dilation),
        ..Work::default()
    };
    Ok(Effect::compute(class, output).with_work(work))
}

fn kernel_shape(site: &Site<'_>, axes: usize) -> Result<Vec<u64>, Fault> {
    match site.attributes.ints("kernel_shape")? {
        Some(kernel) if kernel.len() == axes => extents("kernel_shape", kernel),
        Some(kernel) => Err(Fault::Value {
            what: "kernel_shape",
            found: format!("{kernel:?}"),
            expected: "it needs one number a spatial axis",
        }),
        None => Err(Fault::MissingAttribute {
            attribute: "kernel_shape",
        }),
    }
}

fn global_pool(site: &Site<'_>) -> Result<Effect, Fault> {
    let image = site.operand_of_rank(0, "X", 3..=usize::MAX, IMAGE)?;
    let spatial = &image.shape.0[2..];
    let mut shape = image.shape.0[..2].to_vec();
    shape.resize(image.shape.0.len(), 1);
    let touched = elements(&image.shape)?;
    let work = Work {
        other_flops: touched,
        window: touched,
        kernel: Window::plane(spatial),
        stride: [1, 1],
        dilation: [1, 1],
        ..Work::default()
    };
    Ok(Effect::compute(OpClass::GlobalPool, Produced::new(image.dtype, shape)).with_work(work))
}

/// Puts maxima back to where they were; all else is zero.
fn max_unpool(site: &Site<'_>) -> Result<Effect, Fault> {
    let image = site.operand_of_rank(0, "X", 3..=usize::MAX, IMAGE)?;
    site.operand(1, "I")?;
    let spatial = &image.shape.0[2..];
    let shape = if let Some(shape) = site.integers(2, "output_shape")? {
        extents("output_shape", shape)?
    } else {
        let window = Window::of(site, kernel_shape(site, spatial.len())?)?;
        let unpooled = window.transposed(site, spatial)?;
        [&image.shape.0[..2], &unpooled].concat()
    };
    if shape.len() != image.shape.0.len() {
        return Err(Fault::Value {
            what: "output_shape",
            found: format!("{shape:?} for {}", image.shape),
            expected: "it needs one number an axis",
        });
    }
    let output = Produced::new(image.dtype, shape);
    Ok(Effect::compute(OpClass::Gather, output).with_parameters_from(2))
}

fn max_roi_pool(site: &Site<'_>) -> Result<Effect, Fault> {
    let pooled = site
        .attributes
        .ints("pooled_shape")?
        .ok_or(Fault::MissingAttribute {
            attribute: "pooled_shape",
        })?;
    regions(site, extents("pooled_shape", pooled)?, 1)
}

fn roi_align(site: &Site<'_>) -> Result<Effect, Fault> {
    let height = site.attributes.int_or("output_height", 1)?;
    let width = site.attributes.int_or("output_width", 1)?;
    // Four neighbours of each sample, weighted.
    regions(site, extents("the pooled extent", &[height, width])?, 8)
}

fn regions(site: &Site<'_>, pooled: Vec<u64>, flops: u64) -> Result<Effect, Fault> {
    let image = site.operand_of_rank(
        0,
        "X",
        4..=4,
        "batch, channels, height and width are needed",
    )?;
    let rois = site.operand_of_rank(1, "rois", 2..=2, "a list of regions is needed")?;
    let shape: Vec<_> = [rois.shape.0[0], image.shape.0[1]]
        .into_iter()
        .chain(pooled)
        .collect();
    Effect::compute(OpClass::Other, Produced::new(image.dtype, shape)).with_flops_per_element(flops)
}
