//! A whole model on one device, operator after operator, through host memory: slow, and nothing that a plan could get wrong.

use std::collections::BTreeMap;

use paracompile_frontend::import::onnx::{Call, Program, ValueId};
use paracompile_frontend::ir::OpKind;

use super::InterpretError;
use super::constants::missing;
use crate::lower::{Lowered, Operand, Site, Spec, lower};
use crate::solo::Solo;

/// Computes every value of a model from its inputs and [`super::constants`], which `values` holds, and leaves all of them there.
pub fn run(
    program: &Program,
    solo: &Solo,
    values: &mut BTreeMap<ValueId, Vec<u8>>,
) -> Result<(), InterpretError> {
    let mut unsupported = Vec::new();
    let mut lowered: Vec<Option<Lowered>> = Vec::new();
    let ops: Vec<_> = program
        .imported
        .graph
        .ops
        .iter()
        .map(|(_, op)| op)
        .collect();
    for (op, call) in ops.iter().zip(&program.calls) {
        if op.kind == OpKind::View {
            lowered.push(None);
            continue;
        }
        match lower(&site(program, call), &solo.target) {
            Ok(steps) => lowered.push(Some(steps)),
            Err(error) => unsupported.push(error),
        }
    }
    if !unsupported.is_empty() {
        return Err(InterpretError::Unsupported(unsupported));
    }
    for ((op, call), steps) in ops.iter().zip(&program.calls).zip(&lowered) {
        if let Some(steps) = steps {
            launch(program, solo, call, steps, values)?;
            continue;
        }
        let viewed = op.inputs.first().copied().flatten();
        let viewed = viewed.map(|tensor| program.tensors[tensor.index()]);
        for &result in &op.outputs {
            let bytes = viewed.and_then(|value| values.get(&value)).cloned();
            let result = program.tensors[result.index()];
            let bytes = bytes.ok_or_else(|| missing(program, result))?;
            values.insert(result, bytes);
        }
    }
    Ok(())
}

/// Lowers and runs one operator.
pub(super) fn call(
    program: &Program,
    solo: &Solo,
    call: &Call,
    values: &mut BTreeMap<ValueId, Vec<u8>>,
) -> Result<(), InterpretError> {
    let steps = lower(&site(program, call), &solo.target)
        .map_err(|error| InterpretError::Unsupported(vec![error]))?;
    launch(program, solo, call, &steps, values)
}

fn launch(
    program: &Program,
    solo: &Solo,
    call: &Call,
    steps: &Lowered,
    values: &mut BTreeMap<ValueId, Vec<u8>>,
) -> Result<(), InterpretError> {
    let mut operands = Vec::new();
    for operand in &call.operands {
        let bytes = match operand {
            Some(value) => {
                let bytes = values.get(value);
                Some(bytes.ok_or_else(|| missing(program, *value))?.as_slice())
            }
            None => None,
        };
        operands.push(bytes);
    }
    let results: Vec<Option<usize>> = call
        .results
        .iter()
        .map(|result| result.map(|value| Spec::of(&program.values[value]).bytes()))
        .collect();
    let computed = solo.run(steps, &operands, &results)?;
    for (result, bytes) in call.results.iter().zip(computed) {
        if let (Some(value), Some(bytes)) = (result, bytes) {
            values.insert(*value, bytes);
        }
    }
    Ok(())
}

/// An operator with what its model knows of operands and results.
pub fn site<'p>(program: &'p Program, call: &'p Call) -> Site<'p> {
    Site {
        call,
        operands: call
            .operands
            .iter()
            .map(|value| value.map(|value| Operand::of(&program.values[value])))
            .collect(),
        results: call
            .results
            .iter()
            .map(|value| value.map(|value| Spec::of(&program.values[value])))
            .collect(),
    }
}
