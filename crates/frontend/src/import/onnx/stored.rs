//! Constants that are stored quantised and dequantised before anybody reads them.
//!
//! Folding constants makes floating-point tensors of them that are four to eight times as large and that no runtime keeps:
//! whoever reads such a weight reads it as it is stored.

use super::link::{Links, Origin, Slot};
use super::propagate::Propagated;
use super::quantizable::{converts, keeps_values};

/// Nodes between a stored constant and its reader that are looked through.
const STEPS: usize = 16;

/// What a floating-point constant is stored as.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// The quantised constant.
    pub(super) slot: Slot,
    /// Whether it is transposed or reshaped before it is read.
    pub(super) is_moved: bool,
    /// Scales and zero points of its blocks; a few for all of it, or one a channel, are parameters.
    pub(super) scales: Vec<Slot>,
}

/// What a constant is stored as; `None` if it is not the result of a dequantisation.
pub(super) fn stored(links: &Links<'_>, known: &Propagated, slot: Slot) -> Option<Stored> {
    known.weights[slot].as_ref()?;
    let mut current = slot;
    for step in 0..STEPS {
        let Some(&Origin::Node(node)) = links.origins.get(current) else {
            return None;
        };
        let operand = |position: usize| {
            let slot = links.nodes[node].reads.get(position).copied().flatten()?;
            Some(known.aliases[slot])
        };
        let from = operand(0)?;
        // Whole numbers on the way are other values.
        if !known.values[current].as_ref()?.dtype.is_real() {
            return None;
        }
        if converts(links, node, "DequantizeLinear") {
            let (stored, read) = (known.values[from].as_ref()?, known.values[slot].as_ref()?);
            known.weights[from].as_ref()?;
            let is_shorter = stored.dtype.bits() <= read.dtype.bits();
            let has_blocks = links
                .attributes(node)
                .int_or("block_size", 0)
                .is_ok_and(|size| size > 0);
            let scales = [operand(1), operand(2)].into_iter().flatten();
            return is_shorter.then(|| Stored {
                slot: from,
                is_moved: step > 0,
                scales: scales.filter(|_| has_blocks).collect(),
            });
        }
        if !keeps_values(links, node) {
            return None;
        }
        current = from;
    }
    None
}
