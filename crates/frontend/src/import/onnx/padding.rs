//! Folds padding into the convolutions and pools behind it, whose own padding can say the same.
//!
//! Exporters write it apart where a framework pads unevenly, as TensorFlow's `SAME` does.
//! The windows then read what the padding read, and the padded copy is never made.
//! Zeros fold into convolutions, and into averages that count them; minus infinity folds into maxima.
//! Padding stays if anybody else reads its result, if it cuts off instead of adding, or if it pads channels or with another value.
//! It stays before pools whose window could lie in it altogether: runtimes refuse pools with padding as wide as their kernel.

use paracompile_plan::{Bytes as Size, OpClass};

use crate::ir::OpKind;

use super::attributes::Attributes;
use super::link::{Links, Slot};
use super::propagate::{Operator, Propagated};
use super::value::{Data, resolve_axis};

/// The first operator set whose averages can count what they pad.
const COUNTS_PADDING: i64 = 7;

/// What an operator puts around an image.
#[derive(Debug)]
struct Padding {
    image: Slot,
    padded: Slot,
    fill: Fill,
    /// The elements that it adds: those before each axis, then those behind each.
    added: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Fill {
    Zero,
    MinusInfinity,
}

/// Folds what can be folded.
pub(super) fn fold(links: &Links<'_>, known: &mut Propagated) {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); known.values.len()];
    for (index, operator) in known.operators.iter().enumerate() {
        for &slot in operator.inputs.iter().flatten() {
            readers[slot].push(index);
        }
    }
    let mut is_output = vec![false; known.values.len()];
    for &slot in &links.outputs {
        is_output[known.aliases[slot]] = true;
    }
    let mut is_folded = vec![false; known.operators.len()];
    for (index, is_folded) in is_folded.iter_mut().enumerate() {
        let Some(padding) = padding(links, known, index) else {
            continue;
        };
        let windows = &readers[padding.padded];
        let folds = !is_output[padding.padded]
            && !windows.is_empty()
            && windows
                .iter()
                .all(|&reader| can_pad(links, known, reader, &padding));
        if folds {
            let (before, after) = (size(known, padding.padded), size(known, padding.image));
            let rank = padding.added.len() / 2;
            let spatial = [&padding.added[2..rank], &padding.added[rank + 2..]].concat();
            for &reader in windows {
                let window = &mut known.operators[reader];
                window.inputs[0] = Some(padding.image);
                let others = window.work.input_bytes - before;
                window.work.input_bytes = others + after;
                let node = window.node;
                let own = known.padded.entry(node).or_default();
                own.resize(spatial.len(), 0);
                for (own, added) in own.iter_mut().zip(&spatial) {
                    *own += added;
                }
            }
            *is_folded = true;
        }
    }
    let nodes = known.take_out(is_folded).into_iter();
    let nodes = nodes.map(|node| links.path(node));
    known.folded.paddings.extend(nodes);
}

/// The padding that an operator is, if it adds around an image and does nothing else.
fn padding(links: &Links<'_>, known: &Propagated, index: usize) -> Option<Padding> {
    let operator = &known.operators[index];
    let node = links.nodes[operator.node].proto;
    if operator.kind != OpKind::Compute(OpClass::Pad) || node.op_type != "Pad" {
        return None;
    }
    let image = operator.inputs.first().copied().flatten()?;
    let &[padded] = operator.outputs.as_slice() else {
        return None;
    };
    let (from, to) = (
        known.values[image].as_ref()?,
        known.values[padded].as_ref()?,
    );
    let is_spatial = from.shape.0.len() > 2 && from.shape.0[..2] == to.shape.0[..2];
    let attributes = links.attributes(operator.node);
    let is_constant = matches!(attributes.string("mode"), Ok(None | Some("" | "constant")));
    let fill = match operand(links, known, operator, 2) {
        Some(Data::Reals(fill)) => fill.first().copied()?,
        Some(Data::Integers(_)) => return None,
        None if links.nodes[operator.node]
            .reads
            .get(2)
            .copied()
            .flatten()
            .is_some() =>
        {
            return None;
        }
        None => f64::from(attributes.float("value").ok()?.unwrap_or(0.0)),
    };
    let rank = from.shape.0.len();
    let added = added(links, known, operator, rank)?;
    // What the attributes say is what the shapes were inferred from, unless a file says it twice.
    let is_said = (0..rank).all(|axis| {
        let grown = from.shape.0[axis].checked_add(added[axis]);
        grown.and_then(|grown| grown.checked_add(added[rank + axis])) == Some(to.shape.0[axis])
    });
    (is_spatial && is_constant && is_said).then_some(Padding {
        image,
        padded,
        fill: Fill::of(fill)?,
        added,
    })
}

/// The elements that a padding adds, before each of `rank` axes and behind each, if that is known and none are cut off.
fn added(
    links: &Links<'_>,
    known: &Propagated,
    operator: &Operator,
    rank: usize,
) -> Option<Vec<u64>> {
    let amounts = match (
        links.attributes(operator.node).ints("pads").ok()?,
        operand(links, known, operator, 1),
    ) {
        (Some(pads), _) => pads,
        (None, Some(Data::Integers(pads))) => pads.as_slice(),
        (None, Some(Data::Reals(_)) | None) => return None,
    };
    let states_axes = links.nodes[operator.node]
        .reads
        .get(3)
        .is_some_and(Option::is_some);
    let axes: Vec<usize> = match operand(links, known, operator, 3) {
        Some(Data::Integers(axes)) => {
            let axes = axes.iter().map(|&axis| resolve_axis(axis, rank).ok());
            axes.collect::<Option<_>>()?
        }
        Some(Data::Reals(_)) => return None,
        None if states_axes => return None,
        None => (0..rank).collect(),
    };
    if amounts.len() != 2 * axes.len() {
        return None;
    }
    let mut added = vec![0; 2 * rank];
    let (before, behind) = amounts.split_at(axes.len());
    for ((axis, &before), &behind) in axes.into_iter().zip(before).zip(behind) {
        for (place, amount) in [(axis, before), (rank + axis, behind)] {
            added[place] = u64::try_from(amount).ok()?.checked_add(added[place])?;
        }
    }
    Some(added)
}

/// The elements of a constant operand of a node, parameters included.
fn operand<'a>(
    links: &Links<'_>,
    known: &'a Propagated,
    operator: &Operator,
    position: usize,
) -> Option<&'a Data> {
    let slot = links.nodes[operator.node]
        .reads
        .get(position)
        .copied()
        .flatten()?;
    known.values[known.aliases[slot]].as_ref()?.data.as_ref()
}

impl Fill {
    fn of(value: f64) -> Option<Self> {
        if value == 0.0 {
            Some(Self::Zero)
        } else if value == f64::NEG_INFINITY {
            Some(Self::MinusInfinity)
        } else {
            // The lowest number is above minus infinity, so a maximum over it alone is another one.
            None
        }
    }
}

/// Whether an operator reads the padded image alone as its image, and its own padding could say the same.
fn can_pad(links: &Links<'_>, known: &Propagated, reader: usize, padding: &Padding) -> bool {
    let operator = &known.operators[reader];
    let node = links.nodes[operator.node].proto;
    let attributes = links.attributes(operator.node);
    let states_padding = matches!(
        attributes.string("auto_pad"),
        Ok(None | Some("" | "NOTSET" | "VALID"))
    );
    let is_set = |attribute| attributes.is_set(attribute).unwrap_or(true);
    let pads_itself = match attributes.ints("pads") {
        Ok(None) => false,
        Ok(Some(pads)) => pads.iter().any(|&pad| pad != 0),
        Err(_) => true,
    };
    let takes_fill = match (node.op_type.as_str(), padding.fill) {
        ("Conv", Fill::Zero) => true,
        // A last window that hangs over the end would count other elements.
        ("AveragePool", Fill::Zero) => {
            links.opset(operator.node) >= COUNTS_PADDING
                && !is_set("ceil_mode")
                && (!pads_itself || is_set("count_include_pad"))
                && is_narrow(attributes, &padding.added)
        }
        ("MaxPool", Fill::MinusInfinity) => {
            !is_set("ceil_mode")
                && operator.outputs.len() == 1
                && is_narrow(attributes, &padding.added)
        }
        _ => false,
    };
    let is_image = operator
        .inputs
        .iter()
        .enumerate()
        .all(|(position, slot)| (*slot == Some(padding.padded)) == (position == 0));
    matches!(operator.kind, OpKind::Compute(_)) && states_padding && takes_fill && is_image
}

/// Whether every window of a pool sees an element of the image if the pool pads by `added` more.
fn is_narrow(attributes: Attributes<'_>, added: &[u64]) -> bool {
    let (Ok(Some(kernel)), Ok(own), Ok(dilations)) = (
        attributes.ints("kernel_shape"),
        attributes.ints("pads"),
        attributes.ints("dilations"),
    ) else {
        return false;
    };
    // A window with gaps can step over a small image.
    let is_dense = dilations.is_none_or(|dilations| dilations.iter().all(|&step| step == 1));
    let rank = kernel.len();
    let sides = added.chunks_exact(rank + 2).map(|side| &side[2..]);
    let own = own.unwrap_or_default();
    is_dense
        && added.len() == 2 * (rank + 2)
        && sides.flatten().enumerate().all(|(index, &added)| {
            let own = own.get(index).copied().unwrap_or(0);
            let total = i64::try_from(added)
                .ok()
                .and_then(|added| added.checked_add(own));
            total.is_some_and(|total| total < kernel[index % rank])
        })
}

fn size(known: &Propagated, slot: Slot) -> Size {
    known.values[slot]
        .as_ref()
        .and_then(|value| value.shape.bytes(value.dtype))
        .expect("operands were inferred and sized before")
}
