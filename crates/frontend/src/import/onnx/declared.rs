//! What a file declares about its tensors: needed for operators that we do not understand, and compared with what we infer.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{DataType, Shape};

use super::hints::{Hints, of_axis};
use super::infer::Produced;
use super::lower::Contradiction;
use super::symbols::{self, Extent};
use super::wire::{GraphProto, ValueInfoProto};
use super::{limits, value};

/// Why a declaration does not give a shape.
#[derive(Debug)]
pub(super) struct Incomplete {
    /// The declaration for people, if there is one.
    pub(super) declared: Option<String>,
    /// What has to be bound.
    pub(super) hints: Vec<String>,
}

/// The type and shape of `tensor` as its declaration and hints say it; an element type that nobody declares is `assumed`.
pub(super) fn complete(
    declaration: Option<&ValueInfoProto>,
    tensor: &str,
    assumed: Option<DataType>,
    hints: &mut Hints<'_>,
) -> Result<Produced, Incomplete> {
    let proto = declaration
        .and_then(|value| value.r#type.as_ref())
        .and_then(|declared| declared.tensor_type.as_ref());
    let dtype = proto
        .and_then(|proto| value::data_type(i64::from(proto.elem_type)).ok())
        .or(assumed);
    let dimensions = declaration.and_then(symbols::dimensions);
    let mut missing = Vec::new();
    let shape: Vec<u64> = match dimensions {
        Some(dimensions) => (0..=limits::RANK)
            .zip(dimensions)
            .map(|(axis, dimension)| {
                let known = match Extent::of(dimension) {
                    Extent::Fixed(extent) => Some(extent),
                    Extent::Symbol(name) => hints
                        .symbol(name)
                        .or_else(|| hints.extent(tensor, axis))
                        .or_else(|| {
                            missing.push(name.to_owned());
                            None
                        }),
                    Extent::Unknown | Extent::Negative(_) => {
                        hints.extent(tensor, axis).or_else(|| {
                            missing.push(of_axis(tensor, axis));
                            None
                        })
                    }
                };
                known.unwrap_or(1)
            })
            .collect(),
        None => (0..=limits::RANK)
            .map_while(|axis| hints.extent(tensor, axis))
            .collect(),
    };
    let is_known = missing.is_empty() && (dimensions.is_some() || !shape.is_empty());
    match dtype.filter(|_| is_known) {
        Some(dtype) if fits(dtype, &shape) => Ok(Produced::new(dtype, shape)),
        Some(_) | None => {
            let declared = declaration.filter(|_| dimensions.is_some());
            let declared = declared.map(symbols::spelled);
            if declared.is_none() {
                missing = vec![of_axis(tensor, 0), of_axis(tensor, 1)];
            }
            Err(Incomplete {
                declared,
                hints: missing,
            })
        }
    }
}

fn fits(dtype: DataType, shape: &[u64]) -> bool {
    shape.len() <= limits::RANK && Shape(shape.to_vec()).bytes(dtype).is_some()
}

/// Declarations of the top-level graph that say something else than was inferred, in file order, each tensor once.
pub(super) fn contradictions<'v>(
    graph: &GraphProto,
    bound: &BTreeMap<String, u64>,
    inferred: impl Fn(&str) -> Option<(DataType, &'v Shape)>,
) -> Vec<Contradiction> {
    let mut seen = BTreeSet::new();
    let mut contradictions = Vec::new();
    for value in graph.value_info.iter().chain(&graph.output) {
        let Some((dtype, shape)) = inferred(&value.name) else {
            continue;
        };
        if symbols::contradicts(value, bound, dtype, shape) && seen.insert(value.name.as_str()) {
            contradictions.push(Contradiction {
                tensor: value.name.clone(),
                declared: symbols::spelled(value),
                inferred: format!("{dtype} {shape}"),
            });
        }
        if contradictions.len() == limits::REPORTED {
            break;
        }
    }
    contradictions
}
