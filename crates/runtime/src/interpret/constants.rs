//! The elements of every constant that the operators of a model read.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_frontend::import::onnx::{Attribute, Call, Elements, Program, ValueId};
use paracompile_frontend::ir::DataType;

use super::InterpretError;
use super::run::call;
use super::weights;
use crate::host_memory;
use crate::lower::Spec;
use crate::solo::Solo;

/// What gives the elements of a constant before folding; `None` leaves it to the file's operators.
pub type Weights<'w> =
    dyn FnMut(ValueId) -> Result<Option<Vec<u8>>, Box<dyn std::error::Error + Send + Sync>> + 'w;

/// The elements that the file of a model holds.
pub fn stored(
    program: &Program,
) -> impl FnMut(ValueId) -> Result<Option<Vec<u8>>, Box<dyn std::error::Error + Send + Sync>> {
    |value| program.stored_bytes(value).map_err(Into::into)
}

/// Evaluates every constant that operators read: stored ones, those that import knows, those that the file computes from others
/// (on the device), and weights that folding changed.
pub fn constants(
    program: &Program,
    solo: &Solo,
    weights: &mut Weights<'_>,
) -> Result<BTreeMap<ValueId, Vec<u8>>, InterpretError> {
    let read = read(program);
    host_memory::check(sizes(program, &read))?;
    let mut known: BTreeMap<ValueId, Vec<u8>> = BTreeMap::new();
    for value in read {
        let own = &program.values[value];
        let given = match weights(value).map_err(InterpretError::Weights)? {
            Some(bytes) => Some(bytes),
            None => own
                .elements
                .as_ref()
                .and_then(|elements| encoded(elements, own.dtype)),
        };
        if let Some(bytes) = given {
            let expected = Spec::of(&program.values[value]).bytes();
            if bytes.len() != expected {
                return Err(InterpretError::Size {
                    name: own.name.clone(),
                    found: bytes.len(),
                    expected,
                });
            }
            known.insert(value, bytes);
        }
    }
    for computed in &program.constants {
        let mut results = computed.results.iter().flatten();
        if results.all(|result| known.contains_key(result)) {
            continue;
        }
        // Nothing is known of operands whose extents alone decide that there is nothing to compute.
        let mut results = computed.results.iter().flatten();
        if results.all(|&result| Spec::of(&program.values[result]).elements() == 0) {
            known.extend(
                computed
                    .results
                    .iter()
                    .flatten()
                    .map(|&result| (result, Vec::new())),
            );
            continue;
        }
        match repeated(program, computed)? {
            Some((result, bytes)) => {
                known.insert(result, bytes);
            }
            None => call(program, solo, computed, &mut known)?,
        }
    }
    rewrite(program, &mut known)?;
    Ok(known)
}

/// Constants that operators read, or that others are computed from, as they are before folding.
fn read(program: &Program) -> BTreeSet<ValueId> {
    let calls = program.calls.iter().chain(&program.constants);
    let read = calls.flat_map(|call| call.operands.iter().flatten().copied());
    let folded = program.rewritten.values();
    let folded = folded.flat_map(paracompile_frontend::import::onnx::Weight::operands);
    read.chain(folded)
        .chain(program.outputs.iter().copied())
        .filter(|value| program.values[*value].is_constant)
        .collect()
}

/// Bytes of constants, those too that are computed, by name.
fn sizes(program: &Program, read: &BTreeSet<ValueId>) -> Vec<(String, u64)> {
    let computed = program.constants.iter();
    let computed = computed.flat_map(|call| call.results.iter().flatten().copied());
    let all: BTreeSet<ValueId> = computed.chain(read.iter().copied()).collect();
    let size = |id: ValueId| {
        let value = &program.values[id];
        (value.name.clone(), Spec::of(value).bytes() as u64)
    };
    all.into_iter().map(size).collect()
}

/// The result of a `ConstantOfShape` whose value the file holds, or the mask of a dropout at inference, which keeps all.
fn repeated(program: &Program, call: &Call) -> Result<Option<(ValueId, Vec<u8>)>, InterpretError> {
    if call.op_type == "Dropout"
        && let Some(&Some(mask)) = call.results.get(1)
    {
        return Ok(Some((
            mask,
            vec![1; Spec::of(&program.values[mask]).bytes()],
        )));
    }
    let (Some(Attribute::Tensor(value)), Some(&Some(result))) =
        (call.attributes.get("value"), call.results.first())
    else {
        return Ok(None);
    };
    if call.op_type != "ConstantOfShape" || !call.domain.is_empty() {
        return Ok(None);
    }
    let element = program.attribute_bytes(&call.name, value)?;
    let spec = Spec::of(&program.values[result]);
    let element = element.filter(|element| element.len() == spec.element_bytes());
    Ok(element.map(|element| (result, element.repeat(spec.elements()))))
}

/// Elements as bytes; `None` for types that import does not know elements of.
fn encoded(elements: &Elements, dtype: DataType) -> Option<Vec<u8>> {
    match elements {
        Elements::Reals(numbers) => weights::bytes(numbers, dtype),
        Elements::Integers(integers) => {
            let width = usize::try_from(dtype.bits() / 8).ok()?;
            if dtype.is_real() || !matches!(width, 1 | 2 | 4 | 8) {
                return None;
            }
            let bytes = integers.iter().map(|integer| integer.to_le_bytes());
            Some(
                bytes
                    .flat_map(|bytes| bytes.into_iter().take(width))
                    .collect(),
            )
        }
    }
}

/// Weights that folding changed: most stand in the place of one that they are computed from, so all are computed before any is replaced.
fn rewrite(
    program: &Program,
    known: &mut BTreeMap<ValueId, Vec<u8>>,
) -> Result<(), InterpretError> {
    let mut changed = BTreeMap::new();
    for (&value, weight) in &program.rewritten {
        let unknown = weight
            .operands()
            .into_iter()
            .find(|operand| !known.contains_key(operand));
        if let Some(operand) = unknown {
            return Err(missing(program, operand));
        }
        let of = |operand: ValueId| {
            let bytes = known.get(&operand)?;
            Some((bytes.as_slice(), program.values[operand].dtype))
        };
        let spec = Spec::of(&program.values[value]);
        let bytes = weights::rewritten(weight, &spec, of)
            .filter(|bytes| bytes.len() == spec.bytes())
            .ok_or_else(|| missing(program, value))?;
        changed.insert(value, bytes);
    }
    known.extend(changed);
    Ok(())
}

pub(super) fn missing(program: &Program, value: ValueId) -> InterpretError {
    InterpretError::Missing {
        name: program.values[value].name.clone(),
    }
}
