//! Rates of tiles, by the times of events.

use crate::bench::Operator;
use crate::lower::{
    GroupTile, RegisterTile, STARTING_DEPTH, Target, TargetKind, Tuning, approximate,
};
use crate::opencl::{DeviceInfo, Doing, OpenclError};
use crate::solo::{Prepared, Solo};

use super::TuneError;

const ROUNDS: usize = 20;

/// Measures the tiles that are candidates for a device; what is kept is as fast as anything smaller.
pub fn tune(solo: &Solo, device: &DeviceInfo) -> Result<Tuning, TuneError> {
    let target = &solo.target;
    let defaults = Tuning::of_width(device.vector_width);
    match target.kind {
        TargetKind::Cpu => {
            let mut tiles = register_candidates(target.width());
            let alone = tiles.iter().map(|&tile| Tuning {
                register_tiles: vec![tile],
                ..defaults.clone()
            });
            for (rate, tile) in rates(solo, alone)?.into_iter().zip(&mut tiles) {
                tile.rate = rate;
            }
            Ok(Tuning {
                register_tiles: relative_registers(tiles),
                ..defaults
            })
        }
        TargetKind::Gpu => {
            let mut tiles = group_candidates();
            tiles.retain(|tile| {
                tile.items() <= target.max_work_group && tile.local_bytes() <= target.local_bytes
            });
            let alone = tiles.iter().map(|&tile| Tuning {
                group_tiles: vec![tile],
                ..defaults.clone()
            });
            for (rate, tile) in rates(solo, alone)?.into_iter().zip(&mut tiles) {
                tile.rate = rate / approximate(target.compute_units);
            }
            for tile in &mut tiles {
                tile.alone = Some(rate_alone(solo, &defaults, *tile)?);
            }
            Ok(Tuning {
                group_tiles: relative_groups(tiles),
                ..defaults
            })
        }
    }
}

/// All tiles that are measured, for vectors of `width` single-precision numbers.
pub fn candidates(width: usize) -> Tuning {
    Tuning {
        register_tiles: register_candidates(width),
        group_tiles: group_candidates(),
    }
}

fn register_candidates(width: usize) -> Vec<RegisterTile> {
    let tiles: &[(usize, usize)] = if width == 8 {
        &[(6, 2), (4, 3), (3, 4), (1, 4), (4, 2)]
    } else {
        &[(12, 2), (8, 3), (7, 3), (6, 4), (1, 4), (4, 4)]
    };
    let tiles = tiles.iter();
    tiles
        .map(|&(rows, vectors)| RegisterTile {
            rows,
            vectors,
            rate: 1.0,
        })
        .collect()
}

fn group_candidates() -> Vec<GroupTile> {
    let tile = |rows, columns, depth, each, resident| GroupTile {
        rows,
        columns,
        depth,
        rows_each: each,
        columns_each: each,
        resident,
        rate: 1.0,
        alone: None,
    };
    vec![
        tile(128, 128, 16, 8, 2),
        tile(128, 128, 8, 8, 2),
        tile(128, 64, 16, 8, 3),
        tile(64, 128, 16, 8, 3),
        tile(64, 64, 16, 8, 6),
        tile(64, 64, 16, 4, 4),
        tile(64, 64, 32, 4, 3),
        tile(64, 32, 32, 4, 6),
        tile(32, 32, 64, 4, 6),
        tile(32, 32, 32, 4, 8),
        tile(32, 32, 16, 4, 8),
    ]
}

/// Rates relative to the best.
fn relative_registers(mut tiles: Vec<RegisterTile>) -> Vec<RegisterTile> {
    let best = tiles.iter().map(|tile| tile.rate).fold(0.0, f64::max);
    for tile in &mut tiles {
        tile.rate /= best;
    }
    tiles.retain(|tile| tile.rate > 0.8 || tile.rows == 1);
    tiles
}

/// Rates relative to the best; a tile that is slower than one of at most its size, on a busy device and alone, is of no use.
fn relative_groups(mut tiles: Vec<GroupTile>) -> Vec<GroupTile> {
    let best = tiles.iter().map(|tile| tile.rate).fold(0.0, f64::max);
    for tile in &mut tiles {
        tile.rate /= best;
        tile.alone = tile.alone.map(|alone| alone / best);
    }
    let all = tiles.clone();
    let area = |tile: &GroupTile| tile.rows * tile.columns;
    let smallest = tiles.iter().copied().min_by_key(GroupTile::local_bytes);
    tiles.retain(|tile| {
        let is_beaten = |other: &GroupTile| {
            area(other) <= area(tile) && other.rate > tile.rate && other.alone >= tile.alone
        };
        // The smallest fits everywhere.
        Some(*tile) == smallest || !all.iter().any(is_beaten)
    });
    tiles
}

/// Multiplications a nanosecond of one group of a tile that has a compute unit to itself.
fn rate_alone(solo: &Solo, defaults: &Tuning, tile: GroupTile) -> Result<f64, TuneError> {
    // Of the smallest tiles there are as many groups as units, and the depth is too small to be split.
    let extent = 32 * solo.target.compute_units.isqrt().max(1);
    let depth = 8 * tile.depth;
    let product = Operator::product(extent, extent, depth, true);
    let target = Target {
        tuning: Tuning {
            group_tiles: vec![tile],
            ..defaults.clone()
        },
        ..solo.target.clone()
    };
    let prepared = product.prepare(solo, &product.lower(&target)?)?;
    let mut least = u64::MAX;
    for _ in 0..ROUNDS {
        least = least.min(time(solo, &prepared)?);
    }
    let depth = approximate(depth) + STARTING_DEPTH;
    Ok(approximate(tile.rows * tile.columns) * depth / nanoseconds(least))
}

/// Multiplications a nanosecond of a large product, for each tuning; they take turns, and the least time of each counts.
fn rates(solo: &Solo, tunings: impl Iterator<Item = Tuning>) -> Result<Vec<f64>, TuneError> {
    const MANY_UNITS: usize = 32;
    let extent = match solo.target.kind {
        TargetKind::Cpu => 672,
        TargetKind::Gpu if solo.target.compute_units < MANY_UNITS => 1024,
        TargetKind::Gpu => 4096,
    };
    let product = Operator::product(extent, extent, extent, true);
    let prepared = tunings
        .map(|tuning| {
            let target = Target {
                tuning,
                ..solo.target.clone()
            };
            Ok(product.prepare(solo, &product.lower(&target)?)?)
        })
        .collect::<Result<Vec<_>, TuneError>>()?;
    let mut least = vec![u64::MAX; prepared.len()];
    for _ in 0..ROUNDS {
        for (prepared, least) in prepared.iter().zip(&mut least) {
            *least = (*least).min(time(solo, prepared)?);
        }
    }
    let work = approximate(extent * extent * extent);
    Ok(least
        .into_iter()
        .map(|least| work / nanoseconds(least))
        .collect())
}

#[expect(clippy::cast_precision_loss, reason = "a rate is approximate")]
fn nanoseconds(time: u64) -> f64 {
    time as f64
}

/// Nanoseconds that the device spends on the launches; at least one.
fn time(solo: &Solo, prepared: &Prepared) -> Result<u64, TuneError> {
    let doing = || "asking an event for its times".to_owned();
    let events = prepared.enqueue(&solo.queue)?;
    solo.finish()?;
    let mut time = 0u64;
    for event in &events {
        let start = event.profiling_command_start().doing(doing)?;
        let end = event.profiling_command_end().doing(doing)?;
        time = time.saturating_add(end.saturating_sub(start));
    }
    Ok(time.max(1))
}

impl From<OpenclError> for TuneError {
    fn from(error: OpenclError) -> Self {
        Self::Opencl(error)
    }
}

#[cfg(test)]
mod tests {
    use super::{group_candidates, register_candidates, relative_groups, relative_registers};
    use crate::lower::{GroupTile, RegisterTile, Tuning};

    #[test]
    fn candidates_and_defaults_are_valid() {
        assert!(group_candidates().iter().all(GroupTile::is_valid));
        for width in [4, 8, 16] {
            assert!(
                register_candidates(width)
                    .iter()
                    .all(RegisterTile::is_valid)
            );
            assert!(Tuning::of_width(width).is_valid());
        }
    }

    #[test]
    fn tiles_that_smaller_ones_beat_are_dropped() {
        let mut tiles = group_candidates();
        for (index, tile) in tiles.iter_mut().enumerate() {
            tile.rate = if index == 4 { 100.0 } else { 50.0 };
            tile.alone = Some(if index == 0 { 30.0 } else { 20.0 });
        }
        let kept = relative_groups(tiles.clone());
        let kept: Vec<(usize, usize, f64)> = kept
            .iter()
            .map(|tile| (tile.rows, tile.depth, tile.rate))
            .collect();
        // The fastest alone, the fastest of all, and what nothing of its size or smaller beats.
        assert_eq!(
            kept.iter().map(|kept| kept.0).collect::<Vec<_>>(),
            [128, 64, 64, 32, 32, 32],
            "{kept:?}"
        );
    }

    #[test]
    fn the_tile_of_one_row_stays_however_slow() {
        let tile = |rows, rate| RegisterTile {
            rows,
            vectors: 2,
            rate,
        };
        let kept = relative_registers(vec![tile(12, 10.0), tile(8, 5.0), tile(1, 1.0)]);
        assert_eq!(
            kept.iter().map(|tile| tile.rows).collect::<Vec<_>>(),
            [12, 1]
        );
    }
}
