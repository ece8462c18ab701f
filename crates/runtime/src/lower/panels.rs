//! Matrix products on CPUs: both factors packed in panels, and a tile in registers for each pair of them.

use super::epilogue::{Epilogue, Side};
use super::product::{Matrix, Products, int};
use super::tuning::RegisterTile;
use super::{Argument, Lowered, Phase, Source, Step, Target};

const PACK: Source = Source {
    name: "pack.cl",
    text: include_str!("../kernels/pack.cl"),
};

const PRODUCT: Source = Source {
    name: "product.cl",
    text: concat!(
        "#define COLUMN_SPACE __global\n",
        include_str!("../kernels/tile.cl"),
        include_str!("../kernels/product.cl")
    ),
};

/// The bytes of packed rows that stay in a core's cache.
const CACHED: usize = 384 << 10;

/// What writing an element that is not in one vector with its neighbours costs, in multiplications.
pub(super) const SCATTERED: f64 = 72.0;

/// Panels of rows of a factor, packed: all matrices one after another.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub(super) argument: Argument,
    /// Which packed matrix each product takes.
    pub(super) which: Vec<usize>,
}

/// How elements (row, depth) of a matrix lie: depth `outer * inner_count + inner`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) row_stride: usize,
    pub(super) inner_count: usize,
    pub(super) outer_stride: usize,
    pub(super) inner_stride: usize,
}

/// Lowers products.
pub(super) fn lower(
    products: Products,
    epilogue: &Epilogue,
    side: impl Fn(usize) -> Side,
    target: &Target,
) -> Lowered {
    let (rows, columns, depth) = (products.rows, products.columns, products.depth);
    let is_scattered = |stride| stride != 1;
    let (upright, upright_cost) = best(
        rows,
        columns,
        depth,
        is_scattered(products.column_stride),
        target,
    );
    let (turned, turned_cost) = best(
        columns,
        rows,
        depth,
        is_scattered(products.row_stride),
        target,
    );
    let is_turned = turned_cost < upright_cost;
    let (products, tile) = if is_turned {
        (products.transposed(), turned)
    } else {
        (products, upright)
    };
    let mut lowered = Lowered::default();
    let lefts = products.each.iter().map(|each| each.left);
    let left = pack_matrix(
        &mut lowered,
        &products.left,
        lefts,
        products.rows,
        depth,
        tile.rows,
        target,
    );
    let rights = products.each.iter().map(|each| each.right);
    let width = tile.vectors * target.width();
    let right = pack_matrix(
        &mut lowered,
        &products.right,
        rights,
        products.columns,
        depth,
        width,
        target,
    );
    let side = |axis| side(axis).swapped(is_turned);
    multiply(
        &mut lowered,
        &products,
        [&left, &right],
        tile,
        (epilogue, side),
        target,
    );
    lowered
}

/// The tile with the least estimated time for a product, and that time.
pub(super) fn best(
    rows: usize,
    columns: usize,
    depth: usize,
    is_scattered: bool,
    target: &Target,
) -> (RegisterTile, f64) {
    let width = target.width();
    let estimates = target.tuning.register_tiles.iter().map(|tile| {
        let panel = tile.vectors * width;
        // The last panel is multiplied as one vector where that is enough.
        let rest = match columns % panel {
            0 => 0,
            rest if rest <= width => width,
            _ => panel,
        };
        let elements = rows.div_ceil(tile.rows) * tile.rows * (columns / panel * panel + rest);
        let writing = if is_scattered {
            SCATTERED * approximate(rows * columns)
        } else {
            0.0
        };
        let time = approximate(elements) * approximate(depth) / tile.rate + writing;
        (*tile, time)
    });
    estimates
        .min_by(|left, right| left.1.total_cmp(&right.1))
        .expect("every device has a tile")
}

#[expect(clippy::cast_precision_loss, reason = "estimates are approximate")]
/// A count in an estimate.
pub(crate) fn approximate(count: usize) -> f64 {
    count as f64
}

fn pack_matrix(
    lowered: &mut Lowered,
    matrix: &Matrix,
    starts: impl Iterator<Item = usize>,
    rows: usize,
    depth: usize,
    width: usize,
    target: &Target,
) -> Packed {
    let layout = Layout {
        row_stride: matrix.stride,
        inner_count: depth,
        outer_stride: 0,
        inner_stride: matrix.depth_stride,
    };
    let phase = if matrix.is_constant {
        Phase::Setup
    } else {
        Phase::Frame
    };
    let mut distinct: Vec<usize> = Vec::new();
    let mut which = Vec::new();
    let mut seen = std::collections::BTreeMap::new();
    for start in starts {
        which.push(*seen.entry(start).or_insert_with(|| {
            distinct.push(start);
            distinct.len() - 1
        }));
    }
    let argument = pack(
        lowered,
        &matrix.argument,
        phase,
        &distinct,
        (rows, depth, width),
        layout,
        target,
    );
    Packed { argument, which }
}

/// Packs matrices that begin at `starts`, of `rows` and `depth`, in panels of `width` rows.
pub(super) fn pack(
    lowered: &mut Lowered,
    matrix: &Argument,
    phase: Phase,
    starts: &[usize],
    (rows, depth, width): (usize, usize, usize),
    layout: Layout,
    target: &Target,
) -> Argument {
    let panels = rows.div_ceil(width);
    let bytes = 4 * starts.len() * panels * width * depth;
    let packed = lowered.add_scratch_of(bytes, phase);
    if depth == 0 {
        return packed;
    }
    let starts: Vec<i32> = starts.iter().map(|&start| int(start)).collect();
    let part = part_of(depth, panels * starts.len(), 64, target);
    let global = vec![panels, depth.div_ceil(part), starts.len()];
    let offsets = lowered.add_ints(&starts);
    let mut arguments = vec![
        matrix.clone(),
        packed.clone(),
        offsets,
        Argument::Int(int(rows)),
        Argument::Int(int(depth)),
        Argument::Int(int(width)),
    ];
    let is_contiguous = layout.row_stride == 1 && layout.inner_count == depth;
    if is_contiguous {
        arguments.push(Argument::Int(int(layout.inner_stride)));
    } else {
        arguments.extend([
            Argument::Int(int(layout.inner_count)),
            Argument::Int(int(layout.row_stride)),
            Argument::Int(int(layout.outer_stride)),
            Argument::Int(int(layout.inner_stride)),
        ]);
    }
    arguments.push(Argument::Int(int(part)));
    lowered.steps.push(Step {
        phase,
        source: PACK,
        kernel: if is_contiguous {
            "pack_contiguous"
        } else {
            "pack_panels"
        },
        options: String::new(),
        arguments,
        local: Some(vec![1; global.len()]),
        global,
    });
    packed
}

/// How large parts of `count` things are, so that `others` times the parts keep all compute units busy; at least `least`.
pub(super) fn part_of(count: usize, others: usize, least: usize, target: &Target) -> usize {
    const GROUPS_A_UNIT: usize = 4;
    let parts = (GROUPS_A_UNIT * target.compute_units).div_ceil(others.max(1));
    count.div_ceil(parts).max(least).min(count).max(1)
}

/// Multiplies packed factors.
pub(super) fn multiply(
    lowered: &mut Lowered,
    products: &Products,
    [left, right]: [&Packed; 2],
    tile: RegisterTile,
    (epilogue, side): (&Epilogue, impl Fn(usize) -> Side),
    target: &Target,
) {
    let each = products.each.iter().zip(&left.which).zip(&right.which);
    let table: Vec<i32> = each
        .flat_map(|((each, &left), &right)| [left, right, each.result, each.row, each.column])
        .map(int)
        .collect();
    let offsets = lowered.add_ints(&table);
    let panels = products.rows.div_ceil(tile.rows);
    let column_panels = products.columns.div_ceil(tile.vectors * target.width());
    // Work items that run one after another share their panels of rows: those stay in a core's cache.
    let cached = CACHED / (4 * tile.rows * products.depth.max(1));
    let part = part_of(panels, column_panels * products.each.len(), 1, target);
    let part = part.min(cached.max(1));
    let mut arguments = vec![
        left.argument.clone(),
        right.argument.clone(),
        Argument::Result(0),
        offsets,
    ];
    let counts = [
        products.rows,
        products.columns,
        products.depth,
        part,
        products.row_stride,
        products.column_stride,
    ];
    arguments.extend(counts.map(|count| Argument::Int(int(count))));
    arguments.extend(epilogue.arguments());
    lowered.steps.push(Step {
        phase: Phase::Frame,
        source: PRODUCT,
        kernel: "product",
        options: format!("{}{}", tile_options(tile, target), epilogue.options(side)),
        arguments,
        global: vec![column_panels, panels.div_ceil(part), products.each.len()],
        local: Some(vec![1; 3]),
    });
}

/// Build options for a tile.
pub(super) fn tile_options(tile: RegisterTile, target: &Target) -> String {
    format!(
        "-DWIDTH={} -DROWS={} -DVECTORS={}",
        target.width(),
        tile.rows,
        tile.vectors
    )
}
