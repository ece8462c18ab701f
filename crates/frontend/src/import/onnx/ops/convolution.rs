//! Convolutions, as the matrix products that they are.

use paracompile_plan::OpClass;

use crate::ir::{DataType, Work};

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Value, elements, extents, product};
use super::window::Window;

pub(super) const RULES: &[(&str, Rule)] = &[
    ("CausalConvWithState", causal_conv),
    ("Col2Im", col2im),
    ("Conv", conv),
    ("ConvInteger", conv_integer),
    ("ConvTranspose", conv_transpose),
    ("DeformConv", deform_conv),
    ("QLinearConv", qlinear_conv),
];

const IMAGE: &str = "batch, channels and at least one spatial axis are needed";
const MACS: &str = "the number of multiply-accumulates";

pub(super) fn conv(site: &Site<'_>) -> Result<Effect, Fault> {
    let (image, filter) = operands(site, 0, 1)?;
    let effect = convolution(site, image, filter, image.dtype)?;
    biased(effect, site.optional(2))
}

/// The bias is an addition an element.
fn biased(mut effect: Effect, bias: Option<&Value>) -> Result<Effect, Fault> {
    if bias.is_some() {
        let additions = elements(&effect.outputs[0].shape)?;
        effect.work.other_flops = effect.work.other_flops.saturating_add(additions);
    }
    Ok(effect)
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
    let output = Produced::new(image.dtype, shape);
    let effect = Effect::compute(OpClass::ConvTranspose, output).with_work(work);
    biased(effect, site.optional(2))
}

/// A convolution whose taps lie wherever the offsets say, between four pixels each.
fn deform_conv(site: &Site<'_>) -> Result<Effect, Fault> {
    let (image, filter) = operands(site, 0, 1)?;
    let offset = site.operand(2, "offset")?;
    let mut effect = convolution(site, image, filter, image.dtype)?;
    let shape = &effect.outputs[0].shape.0;
    if offset.shape.0.len() != shape.len() || offset.shape.0[2..] != shape[2..] {
        return Err(mismatch(
            image,
            offset,
            "there have to be offsets for each position of the result",
        ));
    }
    let positions = shape[2..].iter().copied();
    let taps = filter.shape.0[2..].iter().copied();
    let sampled = image.shape.0[..2]
        .iter()
        .copied()
        .chain(positions)
        .chain(taps);
    effect.work.other_flops = product("the number of operations", sampled.chain([8]))?;
    biased(effect, site.optional(3))
}

/// A depthwise convolution over a sequence that sees nothing ahead, and the last inputs for the next frame.
fn causal_conv(site: &Site<'_>) -> Result<Effect, Fault> {
    let rank = "batch, channels and a sequence are needed";
    let input = site.operand_of_rank(0, "input", 3..=3, rank)?;
    let filter = site.operand_of_rank(1, "weight", 3..=3, rank)?;
    let (batch, channels, length) = (input.shape.0[0], input.shape.0[1], input.shape.0[2]);
    let kernel = filter.shape.0[2];
    if filter.shape.0[..2] != [channels, 1] || kernel == 0 {
        return Err(mismatch(
            input,
            filter,
            "the filter has one kernel a channel",
        ));
    }
    let rows = product(MACS, [batch, length])?;
    let outputs = vec![
        Produced::like(input),
        Produced::new(input.dtype, vec![batch, channels, kernel - 1]),
    ];
    let activation = match site.attributes.string("activation")? {
        None | Some("none") => 0,
        Some(_) => product("the number of operations", [rows, channels, 9])?,
    };
    let work = Work {
        macs: product(MACS, [rows, channels, kernel])?,
        other_flops: activation,
        rows,
        columns: 1,
        depth: kernel,
        groups: channels,
        kernel: [1, kernel],
        stride: [1, 1],
        dilation: [1, 1],
        ..Work::default()
    };
    let effect = Effect::compute_all(OpClass::DepthwiseConv, outputs).with_work(work);
    biased(effect, site.optional(2))
}

/// Adds the columns of overlapping blocks up to an image.
fn col2im(site: &Site<'_>) -> Result<Effect, Fault> {
    let columns =
        site.operand_of_rank(0, "input", 3..=3, "batch, blocks and positions are needed")?;
    let image = extents("image_shape", site.required_integers(1, "image_shape")?)?;
    let block = extents("block_shape", site.required_integers(2, "block_shape")?)?;
    if image.len() != block.len() {
        return Err(Fault::Value {
            what: "block_shape",
            found: format!("{block:?}"),
            expected: "it needs one number a spatial axis",
        });
    }
    let area = product("the block", block.iter().copied())?;
    let positions = Window::of(site, block)?.positions(&image, false)?;
    let positions = product("the number of blocks", positions)?;
    if columns.shape.0[1] % area != 0 || columns.shape.0[2] != positions {
        return Err(Fault::Value {
            what: "the operand's shape",
            found: columns.shape.to_string(),
            expected: "it needs the elements of a block and as many positions as the image has",
        });
    }
    let shape = [
        &[columns.shape.0[0], columns.shape.0[1] / area],
        image.as_slice(),
    ]
    .concat();
    let work = Work {
        other_flops: elements(&columns.shape)?,
        ..Work::default()
    };
    Ok(
        Effect::compute(OpClass::Other, Produced::new(columns.dtype, shape))
            .with_work(work)
            .with_parameters_from(1),
    )
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
