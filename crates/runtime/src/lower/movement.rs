//! Operators that move elements without changing them: each is one or a few copies between strided layouts.

use paracompile_frontend::import::onnx::{Attribute, Call};

use super::element::bits_of;
use super::map::{Layout, Map, Mapped, signed};
use super::pointwise::{lower_copy, push};
use super::{Argument, Lowered, Site, Spec, Target, Unsupported, axis};

/// `Transpose`.
pub(super) fn lower_transpose(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let from = &site.operand(0)?.spec;
    let rank = from.shape.len();
    let order = match site.ints("perm") {
        Some(order) => axis::all(site, order, rank)?,
        None => (0..rank).rev().collect(),
    };
    let own = Layout::row_major(&from.shape);
    if order.len() != rank {
        return Err(
            site.unsupported("its permutation has another length than its operand has axes")
        );
    }
    let layout = Layout {
        first: 0,
        strides: order.iter().map(|&axis| own.strides[axis]).collect(),
    };
    copy(site, target, layout)
}

/// `Expand`.
pub(super) fn lower_expand(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let from = &site.operand(0)?.spec;
    let layout = Layout::broadcast(&from.shape, &site.result()?.shape)
        .ok_or_else(|| site.unsupported("its operand is not broadcast to its result"))?;
    copy(site, target, layout)
}

/// `Slice`, forwards and backwards.
pub(super) fn lower_slice(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    const AS_OPERANDS: i64 = 10;
    let from = &site.operand(0)?.spec;
    let rank = from.shape.len();
    let required = |name: &str, position: usize| {
        site.integers_by_version(name, position, AS_OPERANDS)?
            .ok_or_else(|| site.unsupported(format!("it has no {name}")))
    };
    let starts = required("starts", 1)?;
    let axes = match site.integers_by_version("axes", 3, AS_OPERANDS)? {
        Some(axes) => axis::all(site, axes, rank)?,
        None => (0..starts.len()).collect(),
    };
    let steps = site.integers(4)?;
    let mut layout = Layout::row_major(&from.shape);
    for (position, &axis) in axes.iter().enumerate() {
        let step = steps.map_or(Some(1), |steps| steps.get(position).copied());
        let (Some(&start), Some(step), Some(&extent)) =
            (starts.get(position), step, from.shape.get(axis))
        else {
            return Err(site.unsupported("it needs a start and a step for each axis"));
        };
        let extent = signed(extent);
        let last = if step > 0 { extent } else { extent - 1 };
        let from_start = if start < 0 {
            start.saturating_add(extent)
        } else {
            start
        };
        let start = from_start.clamp(0, last.max(0));
        let stride = layout.strides[axis];
        layout.first += start * stride;
        // A step beyond the axis takes the first element alone.
        layout.strides[axis] = stride * step.clamp(-extent.max(1), extent.max(1));
    }
    copy(site, target, layout)
}

/// `Tile`: a copy over twice as many axes, of which every other one repeats.
pub(super) fn lower_tile(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let (from, to) = (&site.operand(0)?.spec, site.result()?);
    let own = Layout::row_major(&from.shape);
    let mut extents = Vec::new();
    let mut strides = Vec::new();
    for (axis, (&extent, &repeated)) in from.shape.iter().zip(&to.shape).enumerate() {
        extents.extend([repeated / extent.max(1), extent]);
        strides.extend([0, own.strides[axis]]);
    }
    let layout = Layout { first: 0, strides };
    copy_over(site, target, &extents, Layout::row_major(&extents), layout)
}

/// `DepthToSpace` and `SpaceToDepth`.
pub(super) fn lower_depth(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let (from, to) = (&site.operand(0)?.spec, site.result()?);
    let &[batch, channels, height, width] = from.shape.as_slice() else {
        return Err(site.unsupported("its operand is no batch of images"));
    };
    let block = usize::try_from(site.int("blocksize", 0))
        .unwrap_or(0)
        .max(1);
    let is_to_space = site.call.op_type == "DepthToSpace";
    if is_to_space {
        let depth = channels / (block * block);
        let is_depth_first = site.text("mode", "DCR") == "DCR";
        // Axes of the operand, and the order in which the result has them.
        let (axes, order) = if is_depth_first {
            (
                [batch, block, block, depth, height, width],
                [0, 3, 4, 1, 5, 2],
            )
        } else {
            (
                [batch, depth, block, block, height, width],
                [0, 1, 4, 2, 5, 3],
            )
        };
        return permuted(site, target, &axes, &order);
    }
    let [_, _, height, width] = [0, 0, height / block, width / block];
    debug_assert_eq!(to.elements(), from.elements());
    permuted(
        site,
        target,
        &[batch, channels, height, block, width, block],
        &[0, 3, 5, 1, 2, 4],
    )
}

/// The operand seen with other axes, and written in another order.
fn permuted(
    site: &Site<'_>,
    target: &Target,
    axes: &[usize],
    order: &[usize],
) -> Result<Lowered, Unsupported> {
    let own = Layout::row_major(axes);
    let extents: Vec<usize> = order.iter().map(|&axis| axes[axis]).collect();
    let layout = Layout {
        first: 0,
        strides: order.iter().map(|&axis| own.strides[axis]).collect(),
    };
    copy_over(site, target, &extents, Layout::row_major(&extents), layout)
}

/// Whether an operator is a concatenation whose operands lie in its result, of the extents `shape`, one block after another.
pub fn joins_blocks(call: &Call, shape: &[usize]) -> bool {
    let axis = match call.attributes.get("axis") {
        Some(Attribute::Int(axis)) => *axis,
        _ => 1,
    };
    let axis = axis::resolve(axis, shape.len());
    call.op_type == "Concat"
        && call.domain.is_empty()
        && axis.is_some_and(|axis| shape[..axis].iter().all(|&extent| extent == 1))
}

/// `Concat`: a copy an operand.
pub(super) fn lower_concat(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let to = site.result()?;
    let element = bits_of(site, to)?;
    let axis = axis::of(site, site.int("axis", 1), to.shape.len())?;
    let mut layout = Layout::row_major(&to.shape);
    let mut lowered = Lowered::default();
    for position in 0..site.operands.len() {
        let from = &site.operand(position)?.spec;
        let map = Map {
            extents: &from.shape,
            result: Mapped {
                argument: Argument::Result(0),
                element,
                layout: layout.clone(),
            },
            operands: vec![Mapped {
                argument: Argument::Operand(position),
                element,
                layout: Layout::row_major(&from.shape),
            }],
            expression: "x",
        };
        push(site, &map, &mut lowered, target)?;
        layout.first += layout.strides[axis] * signed(from.shape[axis]);
    }
    Ok(lowered)
}

/// `Split`: a copy a result.
pub(super) fn lower_split(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    const AS_OPERAND: i64 = 13;
    let from = &site.operand(0)?.spec;
    let element = bits_of(site, from)?;
    let axis = axis::of(site, site.int("axis", 0), from.shape.len())?;
    let parts = site.results.len();
    let equal = vec![signed(from.shape[axis].div_ceil(parts.max(1))); parts];
    let sizes = site
        .integers_by_version("split", 1, AS_OPERAND)?
        .unwrap_or(&equal);
    let mut layout = Layout::row_major(&from.shape);
    let mut lowered = Lowered::default();
    for (position, size) in sizes.iter().take(parts).enumerate() {
        if let Some(to) = &site.results[position] {
            let map = Map {
                extents: &to.shape,
                result: Mapped {
                    argument: Argument::Result(position),
                    element,
                    layout: Layout::row_major(&to.shape),
                },
                operands: vec![Mapped {
                    argument: Argument::Operand(0),
                    element,
                    layout: layout.clone(),
                }],
                expression: "x",
            };
            push(site, &map, &mut lowered, target)?;
        }
        layout.first += layout.strides[axis] * size;
    }
    Ok(lowered)
}

/// `Gather` of a single element along an axis that is known.
pub(super) fn lower_pick(
    site: &Site<'_>,
    target: &Target,
    axis: usize,
    index: i64,
) -> Result<Lowered, Unsupported> {
    let from = &site.operand(0)?.spec;
    let extent = signed(from.shape[axis]);
    let index = if index < 0 { index + extent } else { index };
    if !(0..extent).contains(&index) {
        return Err(site.unsupported(format!("index {index} is outside of its operand")));
    }
    let mut layout = Layout::row_major(&from.shape);
    layout.first = index * layout.strides[axis];
    let mut extents = from.shape.clone();
    extents[axis] = 1;
    copy_over(site, target, &extents, Layout::row_major(&extents), layout)
}

/// `Dropout` at inference: a copy, and a mask that keeps all.
pub(super) fn lower_dropout(site: &Site<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let mut lowered = match site.results.first() {
        Some(Some(_)) => lower_copy(site, target)?,
        Some(None) | None => Lowered::default(),
    };
    if let Some(Some(mask)) = site.results.get(1) {
        let element = bits_of(site, mask)?;
        let scalar = site.operand(0)?;
        let map = Map {
            extents: &mask.shape,
            result: Mapped {
                argument: Argument::Result(1),
                element,
                layout: Layout::row_major(&mask.shape),
            },
            operands: vec![Mapped {
                argument: Argument::Operand(0),
                element: bits_of(site, &scalar.spec)?,
                layout: Layout {
                    first: 0,
                    strides: vec![0; mask.shape.len()],
                },
            }],
            expression: "1",
        };
        push(site, &map, &mut lowered, target)?;
    }
    Ok(lowered)
}

/// A copy to the whole result from `layout` of the operand, over the axes of the result.
fn copy(site: &Site<'_>, target: &Target, layout: Layout) -> Result<Lowered, Unsupported> {
    let to: &Spec = site.result()?;
    copy_over(
        site,
        target,
        &to.shape,
        Layout::row_major(&to.shape),
        layout,
    )
}

fn copy_over(
    site: &Site<'_>,
    target: &Target,
    extents: &[usize],
    to: Layout,
    from: Layout,
) -> Result<Lowered, Unsupported> {
    let element = bits_of(site, site.result()?)?;
    let map = Map {
        extents,
        result: Mapped {
            argument: Argument::Result(0),
            element,
            layout: to,
        },
        operands: vec![Mapped {
            argument: Argument::Operand(0),
            element,
            layout: from,
        }],
        expression: "x",
    };
    let mut lowered = Lowered::default();
    push(site, &map, &mut lowered, target)?;
    Ok(lowered)
}
