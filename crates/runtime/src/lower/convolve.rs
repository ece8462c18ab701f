//! `Conv` and `ConvTranspose` as launches: as matrix products of filters and windows, or channel by channel.

use super::convolution::Window;
use super::epilogue::{Along, Epilogue, Other, Side};
use super::panels::{self, Layout, Packed, SCATTERED, approximate, best, pack, part_of};
use super::product::{Each, Matrix, Products, factor, int};
use super::tiled::{self, Windows};
use super::tuning::RegisterTile;
use super::{Argument, Lowered, Phase, Site, Source, Step, Target, Unsupported};

const CONVOLUTION: Source = Source {
    name: "convolution.cl",
    text: concat!(
        "#define COLUMN_SPACE __local\n",
        include_str!("../kernels/tile.cl"),
        include_str!("../kernels/window.cl"),
        include_str!("../kernels/convolution.cl")
    ),
};

const DEPTHWISE: Source = Source {
    name: "depthwise.cl",
    text: concat!(
        "#define COLUMN_SPACE __global\n#define ROWS 1\n#define VECTORS 1\n",
        include_str!("../kernels/tile.cl"),
        include_str!("../kernels/window.cl"),
        include_str!("../kernels/depthwise.cl")
    ),
};

const COLUMNS: Source = Source {
    name: "columns.cl",
    text: concat!(
        include_str!("../kernels/window.cl"),
        include_str!("../kernels/columns.cl")
    ),
};

const DIRECT: Source = Source {
    name: "direct.cl",
    text: concat!(
        include_str!("../kernels/tile.cl"),
        include_str!("../kernels/window.cl"),
        include_str!("../kernels/direct.cl")
    ),
};

/// Groups with fewer features than this are computed element by element on GPUs.
const FEW_FEATURES: usize = 8;

/// The axis of an image that counts channels.
const CHANNEL_AXIS: usize = 1;

/// The bytes of packed columns that stay in a core's cache.
const CACHED: usize = 128 << 10;

/// Lowers `Conv`.
pub(super) fn conv(
    site: &Site<'_>,
    later: &Epilogue,
    target: &Target,
) -> Result<Lowered, Unsupported> {
    lower(site, false, later, target)
}

/// Lowers `ConvTranspose`.
pub(super) fn conv_transpose(
    site: &Site<'_>,
    later: &Epilogue,
    target: &Target,
) -> Result<Lowered, Unsupported> {
    lower(site, true, later, target)
}

fn lower(
    site: &Site<'_>,
    is_transposed: bool,
    later: &Epilogue,
    target: &Target,
) -> Result<Lowered, Unsupported> {
    let window = Window::of(site, is_transposed)?;
    let mut epilogue = Epilogue::default();
    if site.optional(2).is_some() {
        let bias = factor(site, 2)?;
        if bias.spec.elements() != window.groups * window.features {
            return Err(site.unsupported("the bias has another number of channels"));
        }
        let argument = Argument::Operand(2);
        let along = Along::Axis(CHANNEL_AXIS);
        epilogue.push_binary("(x + y)", false, Other::Tensor { argument, along });
    }
    let epilogue = epilogue.followed_by(later);
    if window.batch * window.groups * window.features * window.pixels() == 0 {
        return Ok(Lowered::default());
    }
    let convolution = Convolution {
        window: &window,
        epilogue: &epilogue,
        target,
        filter_phase: if factor(site, 1)?.is_constant {
            Phase::Setup
        } else {
            Phase::Frame
        },
    };
    Ok(convolution.lower())
}

struct Convolution<'c> {
    window: &'c Window,
    epilogue: &'c Epilogue,
    target: &'c Target,
    filter_phase: Phase,
}

impl Convolution<'_> {
    fn lower(&self) -> Lowered {
        let window = self.window;
        if !self.target.is_cpu() {
            if window.features < FEW_FEATURES && window.groups > 1 {
                return self.direct();
            }
            return self.tiled();
        }
        if window.channels == 1 && !window.is_transposed && self.padded().is_some() {
            return self.depthwise();
        }
        let (pixels, features, depth) = (window.pixels(), window.features, window.depth());
        let (along_pixels, pixels_cost) = best(features, pixels, depth, false, self.target);
        let (along_features, features_cost) = best(pixels, features, depth, true, self.target);
        // What windows see is collected element by element where vectors run along the features.
        let collecting = SCATTERED / 2.0 * approximate(pixels * depth);
        if features_cost + collecting < pixels_cost {
            self.along_features(along_features)
        } else {
            self.along_pixels(along_pixels)
        }
    }

    /// How the filters of a group lie for depth `tap * channels + channel`.
    fn tap_major(&self) -> Layout {
        let window = self.window;
        let (row_stride, inner_stride) = if window.is_transposed {
            (window.taps(), window.features * window.taps())
        } else {
            (window.depth(), window.taps())
        };
        Layout {
            row_stride,
            inner_count: window.channels,
            outer_stride: 1,
            inner_stride,
        }
    }

    /// Where the filters of each group begin.
    fn group_starts(&self) -> Vec<usize> {
        let window = self.window;
        let size = window.features * window.depth();
        (0..window.groups).map(|group| group * size).collect()
    }

    fn pack_filter(&self, lowered: &mut Lowered, width: usize, layout: Layout) -> Argument {
        let window = self.window;
        pack(
            lowered,
            &Argument::Operand(1),
            self.filter_phase,
            &self.group_starts(),
            (window.features, window.depth(), width),
            layout,
            self.target,
        )
    }

    /// Vectors of pixels, for all features of a group.
    fn along_pixels(&self, tile: RegisterTile) -> Lowered {
        let (window, target) = (self.window, self.target);
        let mut lowered = Lowered::default();
        let filter = self.pack_filter(&mut lowered, tile.rows, self.tap_major());
        let panel = tile.vectors * target.width();
        let panels = window.pixels().div_ceil(panel);
        let row_panels = window.features.div_ceil(tile.rows);
        let others = panels * window.batch * window.groups;
        let part = part_of(row_panels, others, 4, target);
        let bytes = CACHED.min(target.local_bytes / 2);
        let depth_part = (bytes / (4 * panel)).clamp(1, window.depth().max(1));
        let table = lowered.add_ints(&window.table());
        let total = window.batch * window.groups * window.channels * window.area();
        let mut arguments = vec![
            Argument::Operand(0),
            filter,
            Argument::Result(0),
            table,
            Argument::Local(4 * panel * depth_part),
        ];
        arguments.extend([total, depth_part, part].map(|count| Argument::Int(int(count))));
        arguments.extend(self.epilogue.arguments());
        lowered.steps.push(Step {
            phase: Phase::Frame,
            source: CONVOLUTION,
            kernel: "convolution",
            options: self.options(&panels::tile_options(tile, target), Side::Row),
            arguments,
            global: vec![
                panels,
                row_panels.div_ceil(part),
                window.batch * window.groups,
            ],
            local: Some(vec![1; 3]),
        });
        lowered
    }

    /// Vectors of features, for few pixels.
    fn along_features(&self, tile: RegisterTile) -> Lowered {
        let (window, target) = (self.window, self.target);
        let mut lowered = Lowered::default();
        let width = tile.vectors * target.width();
        let right = Packed {
            argument: self.pack_filter(&mut lowered, width, self.tap_major()),
            which: (0..window.batch * window.groups)
                .map(|index| index % window.groups)
                .collect(),
        };
        let panels = window.pixels().div_ceil(tile.rows);
        let count = window.batch * window.groups;
        let columns = lowered.add_scratch(4 * count * panels * tile.rows * window.depth());
        let table = lowered.add_ints(&window.table());
        let others = panels * window.taps() * count;
        let part = part_of(window.channels, others, 32, target);
        lowered.steps.push(Step {
            phase: Phase::Frame,
            source: COLUMNS,
            kernel: "collect_columns",
            options: String::new(),
            arguments: vec![
                Argument::Operand(0),
                columns.clone(),
                table,
                Argument::Int(int(tile.rows)),
                Argument::Int(int(part)),
            ],
            global: vec![
                panels,
                window.taps() * window.channels.div_ceil(part),
                count,
            ],
            local: Some(vec![1; 3]),
        });
        let left = Packed {
            argument: columns,
            which: (0..count).collect(),
        };
        let products = self.products().transposed();
        panels::multiply(
            &mut lowered,
            &products,
            [&left, &right],
            tile,
            (self.epilogue, |_| Side::Column),
            target,
        );
        lowered
    }

    /// Filters times windows.
    fn products(&self) -> Products {
        let window = self.window;
        let (pixels, size) = (window.pixels(), window.features * window.depth());
        let each = (0..window.batch * window.groups).map(|index| Each {
            left: index % window.groups * size,
            right: index * window.channels * window.area(),
            result: index * window.features * pixels,
            row: index % window.groups * window.features,
            column: 0,
        });
        Products {
            rows: window.features,
            columns: pixels,
            depth: window.depth(),
            left: Matrix {
                argument: Argument::Operand(1),
                is_constant: self.filter_phase == Phase::Setup,
                stride: window.depth(),
                depth_stride: 1,
            },
            right: Matrix {
                argument: Argument::Operand(0),
                is_constant: false,
                stride: 1,
                depth_stride: window.area(),
            },
            each: each.collect(),
            row_stride: pixels,
            column_stride: 1,
        }
    }

    /// Channel by channel, with a padded copy of one in local memory.
    fn depthwise(&self) -> Lowered {
        let (window, target) = (self.window, self.target);
        let mut lowered = Lowered::default();
        let padded = self.padded().expect("it was asked for before");
        let table = lowered.add_ints(&window.table());
        let mut arguments = vec![
            Argument::Operand(0),
            Argument::Operand(1),
            Argument::Result(0),
            table,
            Argument::Local(4 * padded.elements()),
        ];
        let counts = [padded.depth, padded.height, padded.pitch, padded.slack];
        arguments.extend(counts.map(|count| Argument::Int(int(count))));
        arguments.extend(self.epilogue.arguments());
        lowered.steps.push(Step {
            phase: Phase::Frame,
            source: DEPTHWISE,
            kernel: "depthwise",
            options: self.options(&format!("-DWIDTH={}", target.width()), Side::Row),
            arguments,
            global: vec![window.groups * window.features, window.batch],
            local: Some(vec![1; 2]),
        });
        lowered
    }

    /// The copy of a channel that depthwise convolutions read; `None` if it does not fit into local memory.
    fn padded(&self) -> Option<Padded> {
        let window = self.window;
        let reach = |axis: usize, positions: usize| {
            (positions - 1) * window.stride[axis]
                + (window.kernel[axis] - 1) * window.dilation[axis]
                + 1
        };
        let width = self.target.width();
        let positions = window.output[2].next_multiple_of(width);
        let padded = Padded {
            depth: reach(0, window.output[0]),
            height: reach(1, window.output[1]),
            pitch: reach(2, window.output[2]).max(window.padding[2] + 1),
            // The vectors of the last line read behind what the last pixel sees.
            slack: (positions - window.output[2]) * window.stride[2] + width,
        };
        let most = self.target.local_bytes / 4;
        let elements = (padded.depth.checked_mul(padded.height)?)
            .checked_mul(padded.pitch)?
            .checked_add(padded.slack)?;
        (elements <= most).then_some(padded)
    }

    /// Tiles of work groups.
    fn tiled(&self) -> Lowered {
        let window = self.window;
        let mut lowered = Lowered::default();
        let mut products = self.products();
        if window.is_transposed {
            let layout = Layout {
                row_stride: window.taps(),
                inner_count: window.taps(),
                outer_stride: window.features * window.taps(),
                inner_stride: 1,
            };
            products.left.argument = self.pack_filter(&mut lowered, 1, layout);
        }
        let windows = if window.is_pointwise() {
            None
        } else {
            let table = lowered.add_ints(&window.table());
            let steps = lowered.add_ints(&self.steps());
            Some(Windows {
                window: table,
                steps,
            })
        };
        tiled::multiply(
            &mut lowered,
            &products,
            windows.as_ref(),
            (self.epilogue, |_| Side::Row),
            self.target,
        );
        lowered
    }

    /// For each position of the depth: first element of the channel, and the tap along three axes.
    fn steps(&self) -> Vec<i32> {
        let window = self.window;
        let [_, height, width] = window.kernel;
        let mut steps = Vec::new();
        for channel in 0..window.channels {
            for tap in 0..window.taps() {
                let (z, y, x) = (tap / (height * width), tap / width % height, tap % width);
                steps.extend([channel * window.area(), z, y, x].map(int));
            }
        }
        steps
    }

    /// An element a work item.
    fn direct(&self) -> Lowered {
        const GROUP: usize = 64;
        let window = self.window;
        let mut lowered = Lowered::default();
        let filter = if window.is_transposed {
            let layout = Layout {
                row_stride: window.taps(),
                inner_count: window.taps(),
                outer_stride: window.features * window.taps(),
                inner_stride: 1,
            };
            self.pack_filter(&mut lowered, 1, layout)
        } else {
            Argument::Operand(1)
        };
        let table = lowered.add_ints(&window.table());
        let mut arguments = vec![Argument::Operand(0), filter, Argument::Result(0), table];
        arguments.extend(self.epilogue.arguments());
        lowered.steps.push(Step {
            phase: Phase::Frame,
            source: DIRECT,
            kernel: "direct",
            options: self.options("", Side::Row),
            arguments,
            global: vec![
                window.pixels().next_multiple_of(GROUP),
                window.groups * window.features,
                window.batch,
            ],
            local: Some(vec![GROUP, 1, 1]),
        });
        lowered
    }

    fn options(&self, own: &str, side: Side) -> String {
        let options = format!("{own}{}", self.epilogue.options(|_| side));
        options.trim_start().to_owned()
    }
}

/// A padded copy of a channel.
struct Padded {
    depth: usize,
    height: usize,
    /// Elements of a line.
    pitch: usize,
    /// Elements behind the last line.
    slack: usize,
}

impl Padded {
    fn elements(&self) -> usize {
        self.depth * self.height * self.pitch + self.slack
    }
}
