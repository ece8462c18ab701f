//! Declared types, and symbolic dimensions with what they are bound to.
//!
//! A dimension without value and name can be bound too, under the name `INPUT[AXIS]`.

use std::collections::BTreeMap;

use crate::ir::{DataType, Shape};

use super::hints::{self, Hints};
use super::value::data_type;
use super::wire::{DimensionProto, GraphProto, ValueInfoProto};
use super::{ImportError, UnboundSymbol, limits};

/// Refuses bindings that mean nothing, all at once.
pub(super) fn check_bindings(
    graph: &GraphProto,
    bound: &BTreeMap<String, u64>,
) -> Result<(), ImportError> {
    let zero: Vec<String> = bound
        .iter()
        .filter(|&(_, &extent)| extent == 0)
        .map(|(name, _)| name.clone())
        .collect();
    if !zero.is_empty() {
        return Err(ImportError::ZeroSymbols(zero));
    }
    if bound.is_empty() {
        return Ok(());
    }
    let known = symbols(graph);
    let is_known: std::collections::HashSet<&str> = known.iter().map(String::as_str).collect();
    let names: Vec<String> = bound
        .keys()
        .filter(|name| !is_known.contains(name.as_str()) && hints::subject(name).is_none())
        .cloned()
        .collect();
    if names.is_empty() {
        Ok(())
    } else {
        Err(ImportError::UnknownSymbols { names, known })
    }
}

/// All symbols of the model in the order of the file: of inputs, then of outputs and of declared values between.
pub(super) fn symbols(graph: &GraphProto) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let mut symbols = Vec::new();
    let others = graph.output.iter().chain(&graph.value_info);
    for (value, is_input) in graph
        .input
        .iter()
        .map(|value| (value, true))
        .chain(others.map(|value| (value, false)))
    {
        for (axis, dimension) in dimensions(value).unwrap_or_default().iter().enumerate() {
            let symbol = match Extent::of(dimension) {
                Extent::Symbol(name) => name.to_owned(),
                Extent::Unknown if is_input => hints::of_axis(&value.name, axis),
                Extent::Unknown | Extent::Fixed(_) | Extent::Negative(_) => continue,
            };
            if seen.insert(symbol.clone()) {
                symbols.push(symbol);
            }
        }
    }
    symbols
}

/// One declared extent.
pub(super) enum Extent<'a> {
    Fixed(u64),
    Symbol(&'a str),
    Unknown,
    Negative(i64),
}

impl<'a> Extent<'a> {
    pub(super) fn of(dimension: &'a DimensionProto) -> Self {
        match (dimension.dim_value, dimension.dim_param.as_deref()) {
            // Exporters write zero, or the -1 of their framework, for what they do not know.
            (Some(0 | -1) | None, None | Some("")) => Self::Unknown,
            (Some(0 | -1) | None, Some(name)) => Self::Symbol(name),
            (Some(value), _) => u64::try_from(value).map_or(Self::Negative(value), Self::Fixed),
        }
    }
}

/// The declared extents, if at least their number is declared.
pub(super) fn dimensions(value: &ValueInfoProto) -> Option<&[DimensionProto]> {
    let tensor = value.r#type.as_ref()?.tensor_type.as_ref()?;
    tensor.shape.as_ref().map(|shape| shape.dim.as_slice())
}

/// Whether a value is declared as something else than a dense tensor: a sequence, a map, an optional or sparse one.
pub(super) fn is_tensor(value: &ValueInfoProto) -> bool {
    let declared = value.r#type.as_ref();
    declared.is_none_or(|declared| declared.tensor_type.is_some())
}

/// The type and shape of a network input; symbols without a value go to `unbound`. The message says what is wrong.
pub(super) fn input(
    value: &ValueInfoProto,
    bound: &mut Hints<'_>,
    unbound: &mut Vec<UnboundSymbol>,
) -> Result<(DataType, Shape), String> {
    let tensor = value
        .r#type
        .as_ref()
        .and_then(|declared| declared.tensor_type.as_ref())
        .ok_or("only dense tensors are supported as inputs")?;
    let dtype = data_type(i64::from(tensor.elem_type)).map_err(|fault| fault.to_string())?;
    let dimensions = dimensions(value).ok_or("its rank is not declared")?;
    if dimensions.len() > limits::RANK {
        return Err(format!("it has {} axes", dimensions.len()));
    }
    let mut shape = Vec::with_capacity(dimensions.len());
    for (axis, dimension) in dimensions.iter().enumerate() {
        let name = match Extent::of(dimension) {
            Extent::Fixed(extent) => {
                shape.push(extent);
                continue;
            }
            Extent::Negative(extent) => return Err(format!("axis {axis} has extent {extent}")),
            Extent::Symbol(name) => name.to_owned(),
            Extent::Unknown => hints::of_axis(&value.name, axis),
        };
        if let Some(extent) = bound.symbol(&name) {
            shape.push(extent);
            continue;
        }
        shape.push(1);
        unbound.push(UnboundSymbol {
            name,
            input: value.name.clone(),
            axis,
        });
    }
    let shape = Shape(shape);
    if shape.bytes(dtype).is_none() {
        return Err(format!("{dtype} {shape} overflows 64 bits"));
    }
    Ok((dtype, shape))
}

/// The extent of an axis, if it is declared as a number.
pub(super) fn fixed(value: &ValueInfoProto, axis: usize) -> Option<u64> {
    match Extent::of(dimensions(value)?.get(axis)?) {
        Extent::Fixed(extent) => Some(extent),
        Extent::Symbol(_) | Extent::Unknown | Extent::Negative(_) => None,
    }
}

/// The symbol of an axis, if its extent is declared as one.
pub(super) fn symbol(value: &ValueInfoProto, axis: usize) -> Option<&str> {
    match Extent::of(dimensions(value)?.get(axis)?) {
        Extent::Symbol(name) => Some(name),
        Extent::Fixed(_) | Extent::Unknown | Extent::Negative(_) => None,
    }
}

/// Whether a declaration says something else than `inferred`; what it leaves open contradicts nothing.
pub(super) fn contradicts(
    value: &ValueInfoProto,
    bound: &BTreeMap<String, u64>,
    dtype: DataType,
    inferred: &Shape,
) -> bool {
    let Some(tensor) = value
        .r#type
        .as_ref()
        .and_then(|declared| declared.tensor_type.as_ref())
    else {
        return false;
    };
    let other_type = data_type(i64::from(tensor.elem_type)).is_ok_and(|declared| declared != dtype);
    let other_shape = dimensions(value).is_some_and(|dimensions| {
        dimensions.len() != inferred.0.len()
            || dimensions
                .iter()
                .zip(&inferred.0)
                .any(|(dimension, &extent)| match Extent::of(dimension) {
                    Extent::Fixed(declared) => declared != extent,
                    Extent::Symbol(name) => {
                        bound.get(name).is_some_and(|&declared| declared != extent)
                    }
                    Extent::Unknown | Extent::Negative(_) => false,
                })
    });
    other_type || other_shape
}

/// A declaration for people, such as `float [N, 3, ?]`.
pub(super) fn spelled(value: &ValueInfoProto) -> String {
    let Some(tensor) = value
        .r#type
        .as_ref()
        .and_then(|declared| declared.tensor_type.as_ref())
    else {
        return "no tensor".to_owned();
    };
    let dtype = data_type(i64::from(tensor.elem_type)).map_or("unknown", DataType::name);
    let Some(dimensions) = dimensions(value) else {
        return format!("{dtype} of unknown shape");
    };
    let extents = dimensions
        .iter()
        .map(|dimension| match Extent::of(dimension) {
            Extent::Fixed(extent) => extent.to_string(),
            Extent::Symbol(name) => name.to_owned(),
            Extent::Unknown => "?".to_owned(),
            Extent::Negative(extent) => extent.to_string(),
        });
    format!("{dtype} [{}]", extents.collect::<Vec<_>>().join(", "))
}
