//! The stage of every node of the file, also of those that no task runs.
//!
//! The importer folds nodes away: constants, shapes, padding, batch normalisation, other names of a tensor; and views cost nothing.
//! Whatever computes from a stage's results belongs to that stage; what computes from constants and shapes alone, padding, and a
//! conversion from a quantised type belong to whoever reads them.

use super::ExportError;
use super::placement::Placement;
use super::written::{Node, Written};

/// Where a node belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// In one stage; on one processor, unless its operators are on several.
    Stage {
        stage: usize,
        processor: Option<usize>,
    },
    /// Its operators are in several stages, ascending.
    Torn(Vec<usize>),
    /// With those that read it.
    Readers,
}

impl Home {
    /// The stage whose results it is among, the last of several.
    fn latest(&self) -> Option<usize> {
        match self {
            Self::Stage { stage, .. } => Some(*stage),
            Self::Torn(stages) => stages.last().copied(),
            Self::Readers => None,
        }
    }
}

/// The home of each node, by node; `order` is the order of computation.
pub(super) fn homes(written: &Written<'_>, order: &[usize], placement: &Placement) -> Vec<Home> {
    let mut homes = vec![Home::Readers; written.nodes.len()];
    let mut is_fixed = vec![false; written.nodes.len()];
    for &index in order {
        let node = &written.nodes[index];
        if let Some(home) = of_tasks(placement, index) {
            homes[index] = home;
            continue;
        }
        is_fixed[index] = !is_random(node) && computes_from_constants(written, &is_fixed, index);
        // What reads a quantised tensor converts it by itself, so the quantised one is what moves.
        if is_fixed[index] || node.is("Pad") || node.is("DequantizeLinear") {
            continue;
        }
        homes[index] = of_writers(written, &homes, index);
        if is_random(node) && homes[index] == Home::Readers {
            // Two copies would draw different numbers.
            homes[index] = Home::Stage {
                stage: 0,
                processor: None,
            };
        }
    }
    homes
}

fn of_tasks(placement: &Placement, node: usize) -> Option<Home> {
    let spots: Vec<_> = placement.spots(node).collect();
    let first = spots.first()?;
    let mut stages: Vec<usize> = spots.iter().map(|spot| spot.stage).collect();
    stages.dedup();
    Some(if stages.len() > 1 {
        Home::Torn(stages)
    } else {
        Home::Stage {
            stage: first.stage,
            processor: (spots.len() == 1).then_some(first.processor),
        }
    })
}

/// Whether a node gives something else each time that it runs.
fn is_random(node: &Node<'_>) -> bool {
    [
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    ]
    .iter()
    .any(|op_type| node.is(op_type))
}

/// Whether no frame changes what a node computes: shapes are fixed, and constants.
fn computes_from_constants(written: &Written<'_>, is_fixed: &[bool], index: usize) -> bool {
    let node = &written.nodes[index];
    node.is("Shape")
        || node.is("Size")
        || node
            .reads()
            .all(|name| match (written.writers.get(name), name) {
                (Some(&writer), _) => is_fixed[writer],
                (None, name) => written.constant(name).is_some(),
            })
}

fn of_writers(written: &Written<'_>, homes: &[Home], index: usize) -> Home {
    let writers: Vec<&Home> = written.nodes[index]
        .reads()
        .filter_map(|name| written.writers.get(name))
        .map(|&writer| &homes[writer])
        .collect();
    let latest = writers.iter().filter_map(|home| home.latest()).max();
    let Some(stage) = latest else {
        return Home::Readers;
    };
    let processor = writers.into_iter().find_map(|home| match home {
        Home::Stage {
            stage: of,
            processor,
        } if *of == stage => *processor,
        Home::Stage { .. } | Home::Torn(_) | Home::Readers => None,
    });
    Home::Stage { stage, processor }
}

/// An error for the first node whose operators are in several stages.
pub(super) fn refuse_torn(written: &Written<'_>, homes: &[Home]) -> Result<(), ExportError> {
    for (index, home) in homes.iter().enumerate() {
        if let Home::Torn(stages) = home {
            let stages: Vec<String> = stages.iter().map(|stage| (stage + 1).to_string()).collect();
            return Err(ExportError::TornNode {
                node: written.nodes[index].spelled(index),
                stages: stages.join(", "),
            });
        }
    }
    Ok(())
}
