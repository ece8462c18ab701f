//! Axes as models name them.

use super::{Site, Unsupported};

/// `axis`, counted from the end if negative, in a tensor of `rank` axes.
pub(super) fn resolve(axis: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    let resolved = if axis < 0 {
        axis.checked_add(rank)?
    } else {
        axis
    };
    usize::try_from(resolved).ok().filter(|_| resolved < rank)
}

/// The same, with a reason.
pub(super) fn of(site: &Site<'_>, axis: i64, rank: usize) -> Result<usize, Unsupported> {
    resolve(axis, rank).ok_or_else(|| site.unsupported(format!("axis {axis} of {rank} axes")))
}

/// Several.
pub(super) fn all(site: &Site<'_>, axes: &[i64], rank: usize) -> Result<Vec<usize>, Unsupported> {
    axes.iter().map(|&axis| of(site, axis, rank)).collect()
}

/// Products of the extents before, at and behind `axis`.
pub(super) fn split(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    (
        shape[..axis].iter().product(),
        shape[axis],
        shape[axis + 1..].iter().product(),
    )
}
