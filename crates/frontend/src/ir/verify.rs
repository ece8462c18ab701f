//! The verifier: the only way to a [`VerifiedGraph`].
//!
//! Invariants, one test a line:
//!
//! - every id is one of the graph's own;
//! - operators stand in topological order: an operand is an input, a weight, or written by an earlier operator;
//! - each tensor has at most one producer, the one that its role names;
//! - the inputs are exactly the tensors with that role, each once;
//! - tensor and operator names are unique and not empty;
//! - sizes fit: shape and type give `bytes` without overflow, and so does the sum over all tensors;
//! - a free operator has an operand and keeps the size, and only free operators do nothing;
//! - every operator is needed: an output of it is read or is a network output;
//! - there is a network output, and each is a tensor that is not a weight.

use std::collections::HashSet;
use std::ops::Deref;

use paracompile_plan::Bytes;

use super::verify_error::VerifyError;
use super::{Graph, Op, OpId, OpKind, TensorId, TensorRole, Work};
use crate::arena::IdMap;

/// A graph that holds the invariants of this module.
#[derive(Clone, Debug)]
pub struct VerifiedGraph(Graph);

impl Deref for VerifiedGraph {
    type Target = Graph;
    fn deref(&self) -> &Graph {
        &self.0
    }
}

/// Checks the invariants; all violations at once, but foreign ids alone, since nothing else can be checked behind them.
pub fn verify(graph: Graph) -> Result<VerifiedGraph, Vec<VerifyError>> {
    let mut violations = Vec::new();
    check_ids(&graph, &mut violations);
    if violations.is_empty() {
        check_producers(&graph, &mut violations);
        check_inputs(&graph, &mut violations);
        check_names(&graph, &mut violations);
        check_sizes(&graph, &mut violations);
        check_work(&graph, &mut violations);
        check_need(&graph, &mut violations);
        check_outputs(&graph, &mut violations);
    }
    if violations.is_empty() {
        Ok(VerifiedGraph(graph))
    } else {
        Err(violations)
    }
}

fn check_ids(graph: &Graph, violations: &mut Vec<VerifyError>) {
    let mut check = |place: String, tensor: TensorId| {
        if graph.tensors.try_get(tensor).is_none() {
            violations.push(VerifyError::ForeignTensor { place, tensor });
        }
    };
    for (_, op) in graph.ops.iter() {
        for &tensor in op.inputs.iter().flatten().chain(&op.outputs) {
            check(format!("operator `{}`", op.name), tensor);
        }
    }
    for &tensor in &graph.inputs {
        check("the inputs".to_owned(), tensor);
    }
    for &tensor in &graph.outputs {
        check("the outputs".to_owned(), tensor);
    }
    for (_, tensor) in graph.tensors.iter() {
        if let TensorRole::Computed(op) = tensor.role
            && graph.ops.try_get(op).is_none()
        {
            violations.push(VerifyError::ForeignOp {
                tensor: tensor.name.clone(),
                op,
            });
        }
    }
}

fn check_producers(graph: &Graph, violations: &mut Vec<VerifyError>) {
    let mut producers: IdMap<_, Option<OpId>> = IdMap::filled(&graph.tensors, None);
    for (id, op) in graph.ops.iter() {
        for &operand in op.inputs.iter().flatten() {
            let tensor = &graph.tensors[operand];
            let is_computed = matches!(tensor.role, TensorRole::Computed(_));
            if is_computed && producers[operand].is_none() {
                violations.push(VerifyError::Order {
                    op: op.name.clone(),
                    tensor: tensor.name.clone(),
                });
            }
        }
        for &result in &op.outputs {
            if producers[result].is_some() {
                violations.push(VerifyError::WrittenTwice {
                    tensor: graph.tensors[result].name.clone(),
                });
            }
            producers[result] = Some(id);
        }
    }
    for (id, tensor) in graph.tensors.iter() {
        let claimed = match tensor.role {
            TensorRole::Computed(op) => Some(op),
            TensorRole::Input | TensorRole::Weight(_) => None,
        };
        if claimed != producers[id] {
            violations.push(VerifyError::Producer {
                tensor: tensor.name.clone(),
            });
        }
    }
}

fn check_inputs(graph: &Graph, violations: &mut Vec<VerifyError>) {
    let mut listed = IdMap::filled(&graph.tensors, 0u32);
    for &input in &graph.inputs {
        listed[input] += 1;
    }
    for (id, tensor) in graph.tensors.iter() {
        if listed[id] != u32::from(tensor.role == TensorRole::Input) {
            violations.push(VerifyError::Input {
                tensor: tensor.name.clone(),
            });
        }
    }
}

fn check_names(graph: &Graph, violations: &mut Vec<VerifyError>) {
    let mut seen = HashSet::new();
    for (id, tensor) in graph.tensors.iter() {
        if tensor.name.is_empty() {
            violations.push(VerifyError::UnnamedTensor(id));
        } else if !seen.insert(tensor.name.as_str()) {
            violations.push(VerifyError::TensorName(tensor.name.clone()));
        }
    }
    let mut seen = HashSet::new();
    for (id, op) in graph.ops.iter() {
        if op.name.is_empty() {
            violations.push(VerifyError::UnnamedOp(id));
        } else if !seen.insert(op.name.as_str()) {
            violations.push(VerifyError::OpName(op.name.clone()));
        }
    }
}

fn check_sizes(graph: &Graph, violations: &mut Vec<VerifyError>) {
    let mut total = Some(0u64);
    for (_, tensor) in graph.tensors.iter() {
        if tensor.shape.bytes(tensor.dtype) != Some(tensor.bytes) {
            violations.push(VerifyError::Size {
                tensor: tensor.name.clone(),
            });
        }
        total = total.and_then(|sum| sum.checked_add(tensor.bytes.count()));
    }
    if total.is_none() {
        violations.push(VerifyError::TotalSize);
    }
}

fn check_work(graph: &Graph, violations: &mut Vec<VerifyError>) {
    for (_, op) in graph.ops.iter() {
        let name = || op.name.clone();
        let is_free = op.class().is_none();
        let Work {
            macs,
            other_flops,
            input_bytes,
            weight_bytes,
            output_bytes,
            ..
        } = op.work;
        let traffic = [input_bytes, weight_bytes, output_bytes];
        let does_nothing =
            macs == 0 && other_flops == 0 && traffic.iter().all(|&bytes| bytes == Bytes::ZERO);
        if is_free != does_nothing {
            violations.push(VerifyError::Idle { op: name() });
        }
        if is_free && !matches!(op.inputs.first(), Some(Some(_))) {
            violations.push(VerifyError::ViewOfNothing { op: name() });
        } else if is_free && !keeps_size(graph, op) {
            violations.push(VerifyError::ViewSize { op: name() });
        }
    }
}

fn keeps_size(graph: &Graph, op: &Op) -> bool {
    let source = match op.kind {
        OpKind::View => op
            .inputs
            .iter()
            .flatten()
            .take(1)
            .map(|&id| graph.tensors[id].bytes)
            .sum(),
        OpKind::ConcatInPlace => op
            .inputs
            .iter()
            .flatten()
            .map(|&id| graph.tensors[id].bytes)
            .sum(),
        OpKind::Compute(_) => return true,
    };
    op.outputs
        .iter()
        .all(|&output| graph.tensors[output].bytes == source)
}

fn check_need(graph: &Graph, violations: &mut Vec<VerifyError>) {
    let mut needed = IdMap::filled(&graph.tensors, false);
    for &output in &graph.outputs {
        needed[output] = true;
    }
    for (_, op) in graph.ops.iter() {
        for &operand in op.inputs.iter().flatten() {
            needed[operand] = true;
        }
    }
    for (_, op) in graph.ops.iter() {
        if !op.outputs.iter().any(|&output| needed[output]) {
            violations.push(VerifyError::Unneeded {
                op: op.name.clone(),
            });
        }
    }
}

fn check_outputs(graph: &Graph, violations: &mut Vec<VerifyError>) {
    if graph.outputs.is_empty() {
        violations.push(VerifyError::NoOutput);
    }
    for &output in &graph.outputs {
        let tensor = &graph.tensors[output];
        if matches!(tensor.role, TensorRole::Weight(_)) {
            violations.push(VerifyError::ConstantOutput {
                tensor: tensor.name.clone(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use paracompile_plan::OpClass;
    use paracompile_plan::plan::{ModelKind, OperatorRef};

    use super::*;
    use crate::arena::{Arena, Id};
    use crate::ir::{DataType, Shape, Tensor, WeightRef};

    fn tensor(name: &str, role: TensorRole) -> Tensor {
        Tensor {
            name: name.to_owned(),
            dtype: DataType::Float,
            shape: Shape(vec![2, 3]),
            bytes: Bytes::new(24),
            role,
        }
    }

    fn op(name: &str, kind: OpKind, inputs: &[usize], output: usize) -> Op {
        let bytes = match kind {
            OpKind::View | OpKind::ConcatInPlace => Bytes::ZERO,
            OpKind::Compute(_) => Bytes::new(24),
        };
        Op {
            at: OperatorRef {
                node: 0,
                inside: Vec::new(),
                output: String::new(),
            },
            name: name.to_owned(),
            op_type: String::new(),
            kind,
            inputs: inputs
                .iter()
                .map(|&index| Some(Id::from_index(index)))
                .collect(),
            outputs: vec![Id::from_index(output)],
            work: Work {
                output_bytes: bytes,
                ..Work::default()
            },
            control: None,
        }
    }

    /// x, w -> add -> sum -> view -> y
    fn valid() -> Graph {
        let tensors: Arena<Tensor> = [
            tensor("x", TensorRole::Input),
            tensor("w", TensorRole::Weight(WeightRef::Generated)),
            tensor("sum", TensorRole::Computed(Id::from_index(0))),
            tensor("y", TensorRole::Computed(Id::from_index(1))),
        ]
        .into_iter()
        .collect();
        let ops = [
            op("add", OpKind::Compute(OpClass::Elementwise), &[0, 1], 2),
            op("reshape", OpKind::View, &[2], 3),
        ];
        Graph {
            name: "valid".to_owned(),
            kind: ModelKind::Onnx,
            kernels: Vec::new(),
            digest: String::new(),
            dims: BTreeMap::new(),
            rewrites: Vec::new(),
            ops: ops.into_iter().collect(),
            tensors,
            inputs: vec![Id::from_index(0)],
            outputs: vec![Id::from_index(3)],
        }
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Graph), expected: &[&str]) {
        let mut graph = valid();
        change(&mut graph);
        let violations = verify(graph).err().unwrap_or_default();
        let messages: Vec<_> = violations.iter().map(ToString::to_string).collect();
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_valid_graph_passes() {
        check(|_| {}, &[]);
    }

    #[test]
    fn foreign_ids_are_refused() {
        let foreign = Id::from_index(9);
        check(
            |graph| {
                graph.ops[Id::from_index(0)].inputs[1] = Some(foreign);
                graph.outputs.push(foreign);
                graph.inputs.push(foreign);
                graph.tensors[Id::from_index(2)].role = TensorRole::Computed(Id::from_index(7));
            },
            &[
                "operator `add`: tensor 9 is not one of the graph",
                "the inputs: tensor 9 is not one of the graph",
                "the outputs: tensor 9 is not one of the graph",
                "tensor `sum`: operator 7 is not one of the graph",
            ],
        );
    }

    #[test]
    fn an_operand_is_written_earlier() {
        check(
            |graph| graph.ops[Id::from_index(0)].inputs[1] = Some(Id::from_index(3)),
            &["operator `add`: reads `y` before it is written"],
        );
    }

    #[test]
    fn a_tensor_has_the_one_producer_of_its_role() {
        check(
            |graph| graph.tensors[Id::from_index(3)].role = TensorRole::Computed(Id::from_index(0)),
            &["tensor `y`: its role does not name the operator that writes it"],
        );
        check(
            |graph| graph.ops[Id::from_index(1)].outputs.push(Id::from_index(2)),
            &[
                "tensor `sum`: written more than once",
                "tensor `sum`: its role does not name the operator that writes it",
            ],
        );
    }

    #[test]
    fn inputs_and_roles_agree() {
        check(
            |graph| graph.inputs.clear(),
            &["tensor `x`: its role and the list of inputs do not agree"],
        );
        check(
            |graph| graph.inputs.push(Id::from_index(1)),
            &["tensor `w`: its role and the list of inputs do not agree"],
        );
    }

    #[test]
    fn names_are_unique_and_not_empty() {
        check(
            |graph| {
                graph.tensors[Id::from_index(1)].name = "x".to_owned();
                graph.tensors[Id::from_index(2)].name.clear();
                graph.ops[Id::from_index(0)].name.clear();
            },
            &[
                "tensor `x`: another one has the same name",
                "tensor 2 has no name",
                "operator 0 has no name",
            ],
        );
        check(
            |graph| graph.ops[Id::from_index(1)].name = "add".to_owned(),
            &["operator `add`: another one has the same name"],
        );
    }

    #[test]
    fn sizes_fit() {
        check(
            |graph| graph.tensors[Id::from_index(0)].bytes = Bytes::new(23),
            &["tensor `x`: its size is not that of its type and shape, or exceeds 64 bits"],
        );
        check(
            |graph| {
                for index in 0..9 {
                    let mut huge = tensor(
                        &format!("huge{index}"),
                        TensorRole::Weight(WeightRef::Generated),
                    );
                    huge.shape = Shape(vec![(1 << 59) - 1]);
                    huge.bytes = huge.shape.bytes(huge.dtype).unwrap();
                    graph.tensors.push(huge);
                }
            },
            &["the sizes of all tensors together exceed 64 bits"],
        );
    }

    #[test]
    fn free_operators_are_views_and_others_work() {
        check(
            |graph| graph.ops[Id::from_index(1)].inputs[0] = None,
            &[
                "operator `reshape`: a free operator needs an operand",
                "operator `add`: nothing needs it",
            ],
        );
        check(
            |graph| {
                let view = &mut graph.tensors[Id::from_index(3)];
                view.shape = Shape(vec![1]);
                view.bytes = Bytes::new(4);
            },
            &[
                "operator `reshape`: the results of a free operator have to be as large as what they are made of",
            ],
        );
        check(
            |graph| graph.ops[Id::from_index(0)].work = Work::default(),
            &["operator `add`: only free operators do nothing, and they do nothing"],
        );
        check(
            |graph| graph.ops[Id::from_index(1)].work.macs = 1,
            &["operator `reshape`: only free operators do nothing, and they do nothing"],
        );
    }

    #[test]
    fn every_operator_is_needed() {
        check(
            |graph| graph.outputs[0] = Id::from_index(2),
            &["operator `reshape`: nothing needs it"],
        );
    }

    #[test]
    fn there_is_an_output_and_it_is_computed() {
        check(
            |graph| graph.outputs.push(Id::from_index(1)),
            &["output `w`: is a weight"],
        );
        check(
            |graph| graph.outputs.clear(),
            &[
                "operator `reshape`: nothing needs it",
                "the graph has no output",
            ],
        );
    }
}
