//! Which tiles kernels of products can work in, and how fast each is on a device.
//!
//! Lowering takes the tile with the least estimated time: the work with what hangs over the edges, over the tile's rate.
//! The defaults are relative rates that hold roughly for any device of a kind; the tuner replaces them by measured ones.

use super::{Target, TargetKind};

/// The tiles of a device.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tuning {
    /// Tiles in the registers of one work item, for CPUs.
    pub register_tiles: Vec<RegisterTile>,
    /// Tiles of work groups, for GPUs.
    pub group_tiles: Vec<GroupTile>,
}

/// A tile in registers: rows times vectors.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RegisterTile {
    /// Rows.
    pub rows: usize,
    /// Vectors of columns.
    pub vectors: usize,
    /// Multiplications and additions in a unit of time, relative to other tiles.
    pub rate: f64,
}

/// A tile of a work group.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GroupTile {
    /// Rows of the tile.
    pub rows: usize,
    /// Columns of the tile.
    pub columns: usize,
    /// The depth in local memory at a time.
    pub depth: usize,
    /// Rows of a work item.
    pub rows_each: usize,
    /// Columns of a work item.
    pub columns_each: usize,
    /// Groups of a compute unit at a time.
    pub resident: usize,
    /// Multiplications and additions in a unit of time when all compute units are busy, relative to other tiles.
    pub rate: f64,
    /// The same of a group that has a compute unit to itself; absent where nobody has measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<f64>,
}

impl RegisterTile {
    /// Whether kernels can work in it.
    pub fn is_valid(&self) -> bool {
        const MOST: usize = 32;
        (1..=MOST).contains(&self.rows) && (1..=MOST).contains(&self.vectors) && is_rate(self.rate)
    }
}

fn is_rate(rate: f64) -> bool {
    rate.is_finite() && rate > 0.0
}

impl GroupTile {
    /// Work items of a group.
    pub fn items(&self) -> usize {
        (self.rows / self.rows_each) * (self.columns / self.columns_each)
    }

    /// Whether kernels can work in it.
    pub fn is_valid(&self) -> bool {
        const MOST: usize = 512;
        let extents = [
            self.rows,
            self.columns,
            self.depth,
            self.rows_each,
            self.columns_each,
        ];
        let are_powers = extents
            .iter()
            .all(|&extent| extent.is_power_of_two() && (4..=MOST).contains(&extent));
        are_powers
            && self.rows_each <= self.rows
            && self.columns_each <= self.columns
            && self.items() >= self.rows.max(self.columns).max(self.depth)
            && (1..=MOST).contains(&self.resident)
            && is_rate(self.rate)
            && self.alone.is_none_or(is_rate)
    }

    /// Bytes of local memory: two tiles of each factor.
    pub fn local_bytes(&self) -> usize {
        const PITCH: usize = 4;
        2 * 4 * self.depth * (self.rows + self.columns + 2 * PITCH)
    }
}

impl Tuning {
    /// What holds roughly for devices whose vectors have `width` single-precision numbers.
    pub fn of_width(width: usize) -> Self {
        let register = |rows, vectors, rate| RegisterTile {
            rows,
            vectors,
            rate,
        };
        let group = |size, each, resident, rate| GroupTile {
            rows: size,
            columns: size,
            depth: 16,
            rows_each: each,
            columns_each: each,
            resident,
            rate,
            alone: None,
        };
        // Vectors of eight are those of machines with sixteen registers; longer and shorter ones come with thirty-two.
        let register_tiles = if width == 8 {
            vec![register(6, 2, 1.0), register(1, 4, 0.3)]
        } else {
            vec![
                register(8, 3, 1.0),
                register(12, 2, 0.98),
                register(7, 3, 0.95),
                register(1, 4, 0.3),
            ]
        };
        Self {
            register_tiles,
            group_tiles: vec![
                group(128, 8, 2, 1.0),
                group(64, 4, 4, 0.7),
                group(32, 4, 8, 0.4),
            ],
        }
    }
}

impl Tuning {
    /// Whether kernels can work in every tile, and the smallest ones are there.
    pub fn is_valid(&self) -> bool {
        let fits_everywhere = |tile: &GroupTile| {
            tile.items() <= SMALLEST_ITEMS && tile.local_bytes() <= SMALLEST_BYTES
        };
        !self.register_tiles.is_empty()
            && self.register_tiles.iter().all(RegisterTile::is_valid)
            && self.group_tiles.iter().all(GroupTile::is_valid)
            && self.group_tiles.iter().any(fits_everywhere)
    }
}

/// What every device has: work items of a group, and bytes of local memory.
const SMALLEST_ITEMS: usize = 64;
const SMALLEST_BYTES: usize = 16 << 10;

impl Target {
    /// The width of the vectors that kernels use.
    pub fn width(&self) -> usize {
        match self.vector_width {
            0..8 => 4,
            8..16 => 8,
            _ => 16,
        }
    }

    /// Whether operators are lowered to vectorised loops.
    pub(super) fn is_cpu(&self) -> bool {
        match self.kind {
            TargetKind::Cpu => true,
            TargetKind::Gpu => false,
        }
    }
}
