//! Convolutions, as the matrix products that they are.

use paracompile_plan::OpClass;

use crate::ir::{DataType, Work};

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Value, elements, product};
use super::window::Window;

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Conv", conv),
    ("ConvInteger", conv_integer),
    ("ConvTranspose", conv_transpose),
    ("QLinearConv", qlinear_conv),
];

const IMAGE: &str = "batch, channels and at least one spatial axis are needed";
const MACS: &str = "the number of multiply-accumulates";

pub(super) fn conv(site: &Site<'_>) -> Result<Effect, Fault> {
    let (image, filter) = operands(site, 0, 1)?;
    let effect = convolution(site, image, filter, image.dtype)?;
    if site.optional(2).is_none() {
        return Ok(effect);
    }
    let work = effect.work;
    // The bias is an addition an element.
    effect.with_flops_per_element(1).map(|biased| {
        let other_flops = biased.work.other_flops;
        biased.with_work(Work {
            other_flops,
            ..work
        })
    })
}

fn conv_integer(site: &Site<'_>) -> Result<Effect, Fault> {
    let (image, filter) = operands(site, 0, 1)?;
    convolution(site, image, filter, DataType::Int32).map(|effect| effect.with_parameters_from(2))
}

pub(super) fn qlinear_conv(site: &Site<'_>) -> Result<Effect, Fault> {
    let (image, filter) = operands(site, 0, 3)?;
    let dtype = site.operand(7, "y_zero_point")?.dtype;
    let mut effect = convolution(site, image, filter, dtype)?;
    // Behind the scales and zero points stands a bias, an addition an element.
    if site.optional(8).is_some() {
        effect.work.other_flops = elements(&effect.outputs[0].shape)?;
    }
    Ok(effect
        .with_parameters([1, 2, 4, 5, 6, 7])
        .computing_in(image.dtype))
}

fn operands<'a>(
    site: &Site<'a>,
    image: usize,
    filter: usize,
) -> Result<(&'a Value, &'a Value), Fault> {
    let image = site.operand_of_rank(image, "X", 3..=usize::MAX, IMAGE)?;
    let filter = site.operand_of_rank(filter, "W", 3..=usize::MAX, IMAGE)?;
    if image.shape.0.len() == filter.shape.0.len() {
        Ok((image, filter))
    } else {
        Err(mismatch(
            image,
            filter,
            "image and filter need the same rank",
        ))
    }
}

fn mismatch(left: &Value, right: &Value, why: &'static str) -> Fault {
    Fault::Mismatch {
        left: left.shape.clone(),
        right: right.shape.clone(),
        why,
    }
}

fn group(site: &Site<'_>) -> Result<u64, Fault> {
    let group = site.attributes.int_or("group", 1)?;
    u64::try_from(group)
        .ok()
        .filter(|&group| group > 0)
        .ok_or_else(|| Fault::Value {
            what: "group",
            found: group.to_string(),
            expected: "it is positive",
        })
}

/// The filter's spatial extents, which the attribute may repeat.
fn kernel(site: &Site<'_>, filter: &Value) -> Result<Vec<u64>, Fault> {
    let kernel = filter.shape.0[2..].to_vec();
    let is_repeated = site
        .attributes
        .ints("kernel_shape")?
        .is_none_or(|declared| {
            declared.len() == kernel.len()
                && declared
                    .iter()
                    .zip(&kernel)
                    .all(|(&declared, &size)| u64::try_from(declared) == Ok(size))
        });
    if is_repeated {
        Ok(kernel)
    } else {
        Err(Fault::Value {
            what: "the filter",
            found: filter.shape.to_string(),
            expected: "it has to have the spatial extents that `kernel_shape` says",
        })
    }
}

fn convolution(
    site: &Site<'_>,
    image: &Value,
    filter: &Value,
    dtype: DataType,
) -> Result<Effect, Fault> {
    let group = group(site)?;
    let (batch, channels) = (image.shape.0[0], image.shape.0[1]);
    let (features, depth) = (filter.shape.0[0], filter.shape.0[1]);
    if depth.checked_mul(group) != Some(channels) {
        return Err(mismatch(
            image,
            filter,
            "the filter's second extent times `group` has to be the image's channels",
        ));
    }
    if features % group != 0 {
        return Err(mismatch(
            image,
            filter,
            "`group` has to divide the filter's first extent",
        ));
    }
    let window = Window::of(site, kernel(site, filter)?)?;
    let spatial = window.positions(&image.shape.0[2..], false)?;
    let rows = product(MACS, spatial.iter().copied().chain([batch]))?;
    let depth = product(MACS, window.kernel.iter().copied().chain([depth]))?;
    let columns = features / group;
    let work = work(&window, rows, depth, columns, group)?;
    let class = if group > 1 && group == channels {
        OpClass::DepthwiseConv
    } else {
        OpClass::Conv
    };
    let shape: Vec<_> = [batch, features].into_iter().chain(spatial).collect();
    Ok(Effect::compute(class, Produced::new(dtype, shape)).with_work(work))
}

fn conv_transpose(site: &Site<'_>) -> Result<Effect, Fault> {
    let (image, filter) = operands(site, 0, 1)?;
    let group = group(site)?;
    let (batch, channels) = (image.shape.0[0], image.shape.0[1]);
    let columns_by_channel = filter.shape.0[1];
    if filter.shape.0[0] != channels || channels % group != 0 {
        return Err(mismatch(
            image,
            filter,
            "the filter's first extent has to be the image's channels, a multiple of `group`",
        ));
    }
    let window = Window::of(site, kernel(site, filter)?)?;
    let spatial = window.transposed(site, &image.shape.0[2..])?;
    let features = product("the number of channels", [columns_by_channel, group])?;
    let rows = product(MACS, image.shape.0[2..].iter().copied().chain([batch]))?;
    let columns = product(
        MACS,
        window.kernel.iter().copied().chain([columns_by_channel]),
    )?;
    let depth = channels / group;
    let work = work(&window, rows, depth, columns, group)?;
    let shape: Vec<_> = [batch, features].into_iter().chain(spatial).collect();
    Ok(Effect::compute(OpClass::ConvTranspose, Produced::new(image.dtype, shape)).with_work(work))
}

/// A product of `rows × depth` and `depth × columns` for each group; `depth` or `columns` counts the positions of the window.
fn work(window: &Window, rows: u64, depth: u64, columns: u64, groups: u64) -> Result<Work, Fault> {
    Ok(Work {
        macs: product(MACS, [rows, depth, columns, groups])?,
        rows,
        columns,
        depth,
        groups,
        kernel: Window::plane(&window.kernel),
        stride: Window::plane(&window.stride),
        dilation: Window::plane(&window.dilation),
        ..Work::default()
    })
}
