//! Which family lowers an operator.

use super::{Lowered, Site, Target, Unsupported};

/// Lowers one operator for a device.
pub fn lower(site: &Site<'_>, _target: &Target) -> Result<Lowered, Unsupported> {
    match (site.call.domain.as_str(), site.call.op_type.as_str()) {
        _ => Err(site.unsupported("no kernel computes it")),
    }
}
