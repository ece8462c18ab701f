//! A stable text form of a graph, one operator a line, for snapshots and for people who look for a difference.

use std::fmt::Write;

use super::{DataType, Graph, OpKind, TensorId, TensorRole, WeightRef};

/// The graph as text; the same graph gives the same bytes.
pub fn dump(graph: &Graph) -> String {
    let mut text = String::new();
    match write_graph(&mut text, graph) {
        Ok(()) | Err(std::fmt::Error) => text,
    }
}

fn write_graph(text: &mut String, graph: &Graph) -> std::fmt::Result {
    writeln!(text, "graph {} {}", graph.name, graph.digest)?;
    for (symbol, value) in &graph.dims {
        writeln!(text, "dim {symbol} = {value}")?;
    }
    for &input in &graph.inputs {
        writeln!(text, "input {}", typed(graph, input))?;
    }
    for (_, tensor) in graph.tensors.iter() {
        let TensorRole::Weight(weight) = &tensor.role else {
            continue;
        };
        write!(
            text,
            "weight `{}`: {} {}",
            tensor.name, tensor.dtype, tensor.shape
        )?;
        match weight {
            WeightRef::Inline { offset, length } => writeln!(text, " at {offset}, {length} bytes")?,
            WeightRef::Varints { offset, length } => {
                writeln!(text, " at {offset}, {length} bytes of varints")?;
            }
            WeightRef::External {
                location,
                offset,
                length,
            } => {
                write!(text, " in `{location}` at {offset}")?;
                match length {
                    Some(length) => writeln!(text, ", {length} bytes")?,
                    None => writeln!(text)?,
                }
            }
            WeightRef::Generated => writeln!(text, " generated")?,
        }
    }
    for (id, op) in graph.ops.iter() {
        let class = match op.kind {
            OpKind::View => "view",
            OpKind::ConcatInPlace => "concat_in_place",
            OpKind::Compute(class) => class.name(),
        };
        let operands: Vec<_> = op
            .inputs
            .iter()
            .map(|operand| {
                operand.map_or_else(
                    || "-".to_owned(),
                    |id| format!("`{}`", graph.tensors[id].name),
                )
            })
            .collect();
        let results: Vec<_> = op
            .outputs
            .iter()
            .map(|&output| typed(graph, output))
            .collect();
        write!(
            text,
            "{id} {class} {} `{}`({}) -> {}",
            op.op_type,
            op.name,
            operands.join(", "),
            results.join(", ")
        )?;
        let work = &op.work;
        if work.macs > 0 {
            write!(
                text,
                "; {} x {} x {} x {} = {} macs",
                work.groups, work.rows, work.columns, work.depth, work.macs
            )?;
        }
        if work.other_flops > 0 {
            write!(text, "; {} flops", work.other_flops)?;
        }
        // What computes in full precision says nothing.
        let is_short = work.arithmetic.bits() <= 16 && work.arithmetic != DataType::Bool;
        if op.class().is_some() && is_short {
            write!(text, "; {}", work.arithmetic)?;
        }
        writeln!(text)?;
    }
    for &output in &graph.outputs {
        writeln!(text, "output `{}`", graph.tensors[output].name)?;
    }
    Ok(())
}

fn typed(graph: &Graph, id: TensorId) -> String {
    let tensor = &graph.tensors[id];
    format!("`{}`: {} {}", tensor.name, tensor.dtype, tensor.shape)
}
