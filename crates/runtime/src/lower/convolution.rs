//! The geometry of convolutions and transposed convolutions, over one to three spatial axes.

use super::product::{factor, int, result};
use super::{Site, Unsupported};

const AXES: usize = 3;

/// What a convolution computes; missing spatial axes come first, with an extent of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) batch: usize,
    pub(super) groups: usize,
    /// Channels of the image, a group.
    pub(super) channels: usize,
    /// Channels of the result, a group.
    pub(super) features: usize,
    pub(super) input: [usize; AXES],
    pub(super) output: [usize; AXES],
    pub(super) kernel: [usize; AXES],
    pub(super) stride: [usize; AXES],
    /// Before each axis; what is behind follows from the extents.
    pub(super) padding: [usize; AXES],
    pub(super) dilation: [usize; AXES],
    pub(super) is_transposed: bool,
}

impl Window {
    /// The geometry of a `Conv` or `ConvTranspose`.
    pub(super) fn of(site: &Site<'_>, is_transposed: bool) -> Result<Self, Unsupported> {
        let image = &factor(site, 0)?.spec.shape;
        let filter = &factor(site, 1)?.spec.shape;
        result(site)?;
        let output = &site.result()?.shape;
        let rank = image.len().saturating_sub(2);
        if !(1..=AXES).contains(&rank) || filter.len() != image.len() || output.len() != image.len()
        {
            return Err(site.unsupported(format!("a convolution over {rank} axes")));
        }
        let groups = usize::try_from(site.int("group", 1)).unwrap_or(0);
        if image[1] == 0 {
            return Err(site.unsupported("the image has no channels"));
        }
        if groups == 0 || image[1] % groups != 0 || output[1] % groups != 0 {
            return Err(site.unsupported(format!("{groups} groups do not divide the channels")));
        }
        let (channels, features) = if is_transposed {
            (filter[0], filter[1] * groups)
        } else {
            (filter[1] * groups, filter[0])
        };
        if (channels, features) != (image[1], output[1]) || image[0] != output[0] {
            return Err(site.unsupported("image, filter and result do not fit"));
        }
        let numbers = |name: &str| -> Result<[usize; AXES], Unsupported> {
            let Some(values) = site.ints(name) else {
                return Ok([1; AXES]);
            };
            let counts: Option<Vec<usize>> = values
                .iter()
                .map(|&value| usize::try_from(value).ok().filter(|&value| value > 0))
                .collect();
            counts
                .filter(|counts| counts.len() == rank)
                .map(|counts| spatial(&counts))
                .ok_or_else(|| site.unsupported(format!("{name} {values:?}")))
        };
        let mut window = Self {
            batch: image[0],
            groups,
            channels: image[1] / groups,
            features: output[1] / groups,
            input: spatial(&image[2..]),
            output: spatial(&output[2..]),
            kernel: spatial(&filter[2..]),
            stride: numbers("strides")?,
            padding: [0; AXES],
            dilation: numbers("dilations")?,
            is_transposed,
        };
        window.padding = window.padding(site, rank);
        window.is_countable(site)?;
        Ok(window)
    }

    fn padding(&self, site: &Site<'_>, rank: usize) -> [usize; AXES] {
        let folded = &site.call.padding;
        let folded = |side: usize, axis: usize| -> usize {
            axis.checked_sub(AXES - rank)
                .and_then(|axis| folded.get(side * rank + axis))
                .map_or(0, |&count| usize::try_from(count).unwrap_or(usize::MAX))
        };
        let is_upper = match site.text("auto_pad", "NOTSET") {
            "SAME_UPPER" => Some(true),
            "SAME_LOWER" => Some(false),
            _ => None,
        };
        let explicit = |axis: usize| -> usize {
            let is_explicit = matches!(site.text("auto_pad", "NOTSET"), "" | "NOTSET");
            let own = site.ints("pads").filter(|_| is_explicit);
            let axis = axis.checked_sub(AXES - rank);
            let before = own.zip(axis).and_then(|(own, axis)| own.get(axis));
            before.map_or(0, |&count| usize::try_from(count).unwrap_or(0))
        };
        let has_shape = self.is_transposed && site.ints("output_shape").is_some();
        let mut padding = [0; AXES];
        for (axis, padding) in padding.iter_mut().enumerate() {
            let reach = (self.kernel[axis].saturating_sub(1))
                .saturating_mul(self.dilation[axis])
                .saturating_add(1);
            let own = if self.is_transposed && (has_shape || is_upper.is_some()) {
                let extra = output_padding(site, axis, rank);
                let full = (self.input[axis].saturating_sub(1))
                    .saturating_mul(self.stride[axis])
                    .saturating_add(reach)
                    .saturating_add(extra);
                half(
                    full.saturating_sub(self.output[axis]),
                    is_upper == Some(true),
                )
            } else if let Some(is_upper) = is_upper {
                let input = self.input[axis]
                    .saturating_add(folded(0, axis))
                    .saturating_add(folded(1, axis));
                let seen = (self.output[axis].saturating_sub(1))
                    .saturating_mul(self.stride[axis])
                    .saturating_add(reach);
                half(seen.saturating_sub(input), is_upper)
            } else {
                explicit(axis)
            };
            *padding = own.saturating_add(folded(0, axis));
        }
        padding
    }

    /// Refuses windows whose positions kernels cannot count in `int`.
    fn is_countable(&self, site: &Site<'_>) -> Result<(), Unsupported> {
        const MOST: usize = 1 << 30;
        let reach = (0..AXES).all(|axis| {
            let ends = [
                self.input[axis],
                self.output[axis].saturating_mul(self.stride[axis]),
                self.kernel[axis].saturating_mul(self.dilation[axis]),
                self.padding[axis],
            ];
            ends.into_iter().fold(0, usize::saturating_add) < MOST
        });
        let depth = self.kernel.iter().fold(self.channels, |product, &extent| {
            product.saturating_mul(extent)
        });
        if reach && depth < MOST {
            Ok(())
        } else {
            Err(site.unsupported("the window reaches too far"))
        }
    }

    /// Elements of a channel of the image.
    pub(super) fn area(&self) -> usize {
        self.input.iter().product()
    }

    /// Elements of a channel of the result.
    pub(super) fn pixels(&self) -> usize {
        self.output.iter().product()
    }

    /// Weights of a channel of a filter.
    pub(super) fn taps(&self) -> usize {
        self.kernel.iter().product()
    }

    /// Weights of a filter.
    pub(super) fn depth(&self) -> usize {
        self.channels * self.taps()
    }

    /// Whether the windows of a group are its image as it is.
    pub(super) fn is_pointwise(&self) -> bool {
        self.taps() == 1
            && self.stride == [1; AXES]
            && self.padding == [0; AXES]
            && self.input == self.output
    }

    /// The table that `kernels/window.cl` describes.
    pub(super) fn table(&self) -> Vec<i32> {
        let mut table = Vec::new();
        for extents in [
            self.input,
            self.output,
            self.kernel,
            self.stride,
            self.padding,
            self.dilation,
        ] {
            table.extend(extents.map(int));
        }
        table.push(i32::from(self.is_transposed));
        table.extend([self.channels, self.features, self.groups].map(int));
        table
    }
}

fn output_padding(site: &Site<'_>, axis: usize, rank: usize) -> usize {
    let extra = site.ints("output_padding").unwrap_or_default();
    axis.checked_sub(AXES - rank)
        .and_then(|axis| extra.get(axis))
        .map_or(0, |&extra| usize::try_from(extra).unwrap_or(0))
}

fn half(total: usize, is_upper: bool) -> usize {
    if is_upper {
        total / 2
    } else {
        total - total / 2
    }
}

/// Extents with ones for missing axes.
fn spatial(extents: &[usize]) -> [usize; AXES] {
    let mut all = [1; AXES];
    all[AXES - extents.len()..].copy_from_slice(extents);
    all
}
