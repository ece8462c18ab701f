//! Matrix products on GPUs: tiles of work groups in local memory, and several groups along the depth where there are few tiles.

use super::epilogue::{Epilogue, Side};
use super::panels::approximate;
use super::product::{Products, int};
use super::tuning::GroupTile;
use super::{Argument, Lowered, Phase, Source, Step, Target};

const TILED: Source = Source {
    name: "tiled.cl",
    text: concat!(
        include_str!("../kernels/tile.cl"),
        include_str!("../kernels/window.cl"),
        include_str!("../kernels/tiled.cl")
    ),
};

/// What a step of the depth costs beside its multiplications, in positions of the depth of one tile.
pub(crate) const STARTING_DEPTH: f64 = 64.0;

/// What another launch costs, in multiplications of a compute unit.
const LAUNCH: f64 = 300_000.0;

/// What an element of a part costs to write and to read again, in multiplications of a compute unit.
const PART_ELEMENT: f64 = 0.15;

/// The right factor of a convolution, where it is not a matrix.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// The table that `kernels/window.cl` describes.
    pub(super) window: Argument,
    /// For each position of the depth: first element of the channel, and the tap along three axes.
    pub(super) steps: Argument,
}

/// Lowers products of matrices.
pub(super) fn lower(
    products: &Products,
    epilogue: &Epilogue,
    side: impl Fn(usize) -> Side,
    target: &Target,
) -> Lowered {
    let mut lowered = Lowered::default();
    multiply(&mut lowered, products, None, (epilogue, side), target);
    lowered
}

/// Multiplies, with what windows see as the right factor if `windows` are given.
pub(super) fn multiply(
    lowered: &mut Lowered,
    products: &Products,
    windows: Option<&Windows>,
    (epilogue, side): (&Epilogue, impl Fn(usize) -> Side),
    target: &Target,
) {
    let (tile, parts) = best(products, target);
    let table = products
        .each
        .iter()
        .flat_map(|each| [each.left, each.right, each.result, each.row, each.column]);
    let offsets: Vec<i32> = table.map(int).collect();
    let offsets = lowered.add_ints(&offsets);
    let (rows, columns) = (products.rows, products.columns);
    let count = products.each.len();
    let part_depth = products
        .depth
        .div_ceil(parts)
        .next_multiple_of(tile.depth)
        .max(tile.depth);
    let parts = products.depth.div_ceil(part_depth).max(1);
    let out = if parts == 1 {
        Argument::Result(0)
    } else {
        lowered.add_scratch(4 * rows * columns * count * parts)
    };
    let (window, steps) = match windows {
        Some(windows) => (windows.window.clone(), windows.steps.clone()),
        None => (offsets.clone(), offsets.clone()),
    };
    let counts = [
        rows,
        columns,
        products.depth,
        products.left.stride,
        products.left.depth_stride,
        products.right.depth_stride,
        products.right.stride,
        products.row_stride,
        products.column_stride,
        parts,
        part_depth,
    ];
    let mut arguments = vec![
        products.left.argument.clone(),
        products.right.argument.clone(),
        out.clone(),
        offsets.clone(),
        window,
        steps,
    ];
    arguments.extend(counts.map(|count| Argument::Int(int(count))));
    arguments.extend(epilogue.arguments());
    let options = format!(
        "-DROWS={} -DCOLUMNS={} -DDEPTH={} -DROWS_EACH={} -DCOLUMNS_EACH={}{}{}",
        tile.rows,
        tile.columns,
        tile.depth,
        tile.rows_each,
        tile.columns_each,
        if windows.is_some() { " -DWINDOW" } else { "" },
        epilogue.options(side)
    );
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: TILED,
        kernel: "tiled",
        options: options.clone(),
        arguments,
        global: vec![
            columns.div_ceil(tile.columns) * tile.items(),
            rows.div_ceil(tile.rows),
            count * parts,
        ],
        local: Some(vec![tile.items(), 1, 1]),
    });
    if parts > 1 {
        add_parts(
            lowered,
            products,
            &out,
            &offsets,
            (parts, options),
            epilogue,
        );
    }
}

fn add_parts(
    lowered: &mut Lowered,
    products: &Products,
    partial: &Argument,
    offsets: &Argument,
    (parts, options): (usize, String),
    epilogue: &Epilogue,
) {
    const GROUP: usize = 64;
    let (rows, columns) = (products.rows, products.columns);
    let mut arguments = vec![partial.clone(), Argument::Result(0), offsets.clone()];
    let counts = [
        rows,
        columns,
        products.row_stride,
        products.column_stride,
        parts,
    ];
    arguments.extend(counts.map(|count| Argument::Int(int(count))));
    arguments.extend(epilogue.arguments());
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: TILED,
        kernel: "add_parts",
        options,
        arguments,
        global: vec![
            (rows * columns).next_multiple_of(GROUP),
            products.each.len(),
        ],
        local: Some(vec![GROUP, 1]),
    });
}

/// The tile, and the parts of the depth, with the least estimated time.
fn best(products: &Products, target: &Target) -> (GroupTile, usize) {
    const MOST_PARTS: usize = 32;
    let fits = |tile: &&GroupTile| {
        tile.items() <= target.max_work_group && tile.local_bytes() <= target.local_bytes
    };
    let tiles = target.tuning.group_tiles.iter().filter(fits);
    let choices = tiles.flat_map(|tile| {
        let parts = (0..).map(|power| 1usize << power);
        let parts = parts.take_while(|&parts| {
            parts == 1 || (parts <= MOST_PARTS && products.depth >= 8 * tile.depth * parts)
        });
        parts.map(|parts| (*tile, parts))
    });
    choices
        .min_by(|left, right| {
            time(products, left.0, left.1, target)
                .total_cmp(&time(products, right.0, right.1, target))
        })
        .expect("every device can hold the smallest tile, and every tuning has it")
}

/// The estimated time, in multiplications of a compute unit.
fn time(products: &Products, tile: GroupTile, parts: usize, target: &Target) -> f64 {
    let tiles = products.rows.div_ceil(tile.rows) * products.columns.div_ceil(tile.columns);
    let groups = tiles * products.each.len() * parts;
    let depth = approximate(products.depth) / approximate(parts) + STARTING_DEPTH;
    let work = approximate(tile.rows * tile.columns) * depth;
    // A unit with few groups waits for memory; with many it is busy.
    let each = groups.div_ceil(target.compute_units);
    let computing = match tile.alone {
        Some(alone) => (work / alone).max(approximate(each) * work / tile.rate),
        None => approximate(each.next_multiple_of(tile.resident)) * work / tile.rate,
    };
    let written = if parts == 1 {
        0.0
    } else {
        let elements = approximate(products.rows * products.columns * products.each.len());
        LAUNCH + elements * approximate(parts) * PART_ELEMENT
    };
    computing + written
}
