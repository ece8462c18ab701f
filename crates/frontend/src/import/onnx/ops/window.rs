//! Windows that slide over the spatial axes of convolutions and pools.

use super::super::Fault;
use super::super::infer::Site;
use super::super::value::{extent, extents, product};

/// A window's geometry; one entry a spatial axis.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) kernel: Vec<u64>,
    pub(super) stride: Vec<u64>,
    pub(super) dilation: Vec<u64>,
    /// The kernel with its holes.
    reach: Vec<u64>,
    padding: Padding,
}

#[derive(Debug)]
enum Padding {
    Explicit {
        begin: Vec<u64>,
        end: Vec<u64>,
    },
    /// None at all.
    Valid,
    /// As much as makes the result `ceil(input / stride)`.
    Same,
}

impl Window {
    /// The window of a node whose kernel is `kernel` in size, over that many axes.
    pub(super) fn of(site: &Site<'_>, kernel: Vec<u64>) -> Result<Self, Fault> {
        let axes = kernel.len();
        let one_an_axis = |attribute: &'static str| -> Result<Vec<u64>, Fault> {
            match site.attributes.ints(attribute)? {
                None => Ok(vec![1; axes]),
                Some(values) if values.len() == axes && values.iter().all(|&value| value > 0) => {
                    extents(attribute, values)
                }
                Some(values) => Err(Fault::Value {
                    what: attribute,
                    found: format!("{values:?}"),
                    expected: "it needs one positive number a spatial axis",
                }),
            }
        };
        if kernel.contains(&0) {
            return Err(Fault::Value {
                what: "the kernel",
                found: format!("{kernel:?}"),
                expected: "it cannot be empty",
            });
        }
        let stride = one_an_axis("strides")?;
        let dilation = one_an_axis("dilations")?;
        let reach = kernel
            .iter()
            .zip(&dilation)
            .map(|(&size, &hole)| {
                (size - 1)
                    .checked_mul(hole)
                    .and_then(|reach| reach.checked_add(1))
                    .ok_or(Fault::Overflow {
                        what: "the dilated kernel",
                    })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            padding: padding(site, axes)?,
            kernel,
            stride,
            dilation,
            reach,
        })
    }

    /// Positions of the window along each axis of `input`; with `ceil`, a last one that hangs over the end counts.
    pub(super) fn positions(&self, input: &[u64], ceil: bool) -> Result<Vec<u64>, Fault> {
        (0..input.len())
            .map(|axis| self.positions_along(axis, input[axis], ceil))
            .collect()
    }

    fn positions_along(&self, axis: usize, input: u64, ceil: bool) -> Result<u64, Fault> {
        let stride = self.stride[axis];
        let (begin, end) = match &self.padding {
            Padding::Same => return Ok(input.div_ceil(stride)),
            Padding::Valid => (0, 0),
            Padding::Explicit { begin, end } => (begin[axis], end[axis]),
        };
        let overflow = Fault::Overflow {
            what: "the padded extent",
        };
        let padded = input
            .checked_add(begin)
            .and_then(|sum| sum.checked_add(end))
            .ok_or(overflow)?;
        let Some(slack) = padded.checked_sub(self.reach[axis]) else {
            return Err(Fault::Value {
                what: "the kernel with dilation",
                found: self.reach[axis].to_string(),
                expected: "it has to fit into the padded input",
            });
        };
        if !ceil {
            return Ok(slack / stride + 1);
        }
        let positions = slack.div_ceil(stride) + 1;
        // A window that would start behind the input and its leading padding sees nothing, so frameworks drop it.
        let starts_behind = (positions - 1).saturating_mul(stride) >= input.saturating_add(begin);
        Ok(if starts_behind {
            positions - 1
        } else {
            positions
        })
    }

    /// Extents of the result of a transposed convolution, the inverse of [`Self::positions`].
    pub(super) fn transposed(&self, site: &Site<'_>, input: &[u64]) -> Result<Vec<u64>, Fault> {
        let axes = input.len();
        if let Some(shape) = site.attributes.ints("output_shape")? {
            // Some exporters write all axes, the definition has the spatial ones.
            let spatial = &shape[shape.len().saturating_sub(axes)..];
            if spatial.len() == axes {
                return extents("output_shape", spatial);
            }
            return Err(Fault::Value {
                what: "output_shape",
                found: format!("{shape:?}"),
                expected: "it needs one number a spatial axis",
            });
        }
        let extra = match site.attributes.ints("output_padding")? {
            None => vec![0; axes],
            Some(values) if values.len() == axes => extents("output_padding", values)?,
            Some(values) => {
                return Err(Fault::Value {
                    what: "output_padding",
                    found: format!("{values:?}"),
                    expected: "it needs one number a spatial axis",
                });
            }
        };
        (0..axes)
            .map(|axis| {
                let stride = self.stride[axis];
                let full = input[axis]
                    .saturating_sub(1)
                    .checked_mul(stride)
                    .and_then(|full| full.checked_add(extra[axis]))
                    .and_then(|full| full.checked_add(self.reach[axis]))
                    .ok_or(Fault::Overflow {
                        what: "the result's extent",
                    })?;
                let (begin, end) = match &self.padding {
                    // Padding shortens the result, and lengthens none: a kernel narrower than its stride leaves it as it is.
                    Padding::Same => {
                        return product("the result's extent", [input[axis], stride])
                            .map(|same| same.min(full));
                    }
                    Padding::Valid => (0, 0),
                    Padding::Explicit { begin, end } => (begin[axis], end[axis]),
                };
                full.checked_sub(begin)
                    .and_then(|rest| rest.checked_sub(end))
                    .ok_or_else(|| Fault::Value {
                        what: "pads",
                        found: format!("{begin} and {end}"),
                        expected: "they cannot exceed the result",
                    })
            })
            .collect()
    }

    /// Height and width for cost models: the last two axes, one where there is only one axis.
    pub(super) fn plane(extents: &[u64]) -> [u64; 2] {
        match extents {
            [] => [1, 1],
            [width] => [1, *width],
            [.., height, width] => [*height, *width],
        }
    }
}

fn padding(site: &Site<'_>, axes: usize) -> Result<Padding, Fault> {
    match site.attributes.string("auto_pad")? {
        None | Some("" | "NOTSET") => {}
        Some("VALID") => return Ok(Padding::Valid),
        Some("SAME_UPPER" | "SAME_LOWER") => return Ok(Padding::Same),
        Some(other) => {
            return Err(Fault::Value {
                what: "auto_pad",
                found: format!("`{other}`"),
                expected: "it is NOTSET, VALID, SAME_UPPER or SAME_LOWER",
            });
        }
    }
    let Some(pads) = site.attributes.ints("pads")? else {
        return Ok(Padding::Valid);
    };
    if pads.len() != 2 * axes {
        return Err(Fault::Value {
            what: "pads",
            found: format!("{pads:?}"),
            expected: "it needs a begin and an end for each spatial axis",
        });
    }
    let pads = pads
        .iter()
        .map(|&pad| extent("pads", pad))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Padding::Explicit {
        begin: pads[..axes].to_vec(),
        end: pads[axes..].to_vec(),
    })
}
