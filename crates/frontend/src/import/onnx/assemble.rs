//! Builds the operator graph from what was inferred: only what an output needs, with unique names.

use std::collections::{BTreeMap, HashSet};

use paracompile_plan::plan::{ModelKind, OperatorRef};

use crate::arena::{Arena, Id};
use crate::ir::{Graph, Op, Tensor, TensorId, TensorRole, WeightRef};

use super::link::{Links, Origin, Slot, spelled};
use super::lower::{Folded, Warning};
use super::propagate::{Operator, Propagated};

/// Which model a graph is.
pub(super) struct Identity {
    pub(super) name: String,
    pub(super) digest: String,
    pub(super) dims: BTreeMap<String, u64>,
    pub(super) rewrites: Vec<String>,
}

/// A graph that is still to be verified.
pub(super) struct Assembled {
    pub(super) graph: Graph,
    /// What became the operators of the graph, by the index of their ids.
    pub(super) placed: Vec<Placed>,
    /// The slots of the graph's tensors, by the index of their ids.
    pub(super) slots: Vec<Slot>,
    pub(super) warnings: Vec<Warning>,
    pub(super) folded: Folded,
    pub(super) depends_on_values: bool,
}

/// A node that became an operator.
pub(super) struct Placed {
    pub(super) node: usize,
    pub(super) inputs: Vec<Option<Slot>>,
    pub(super) outputs: Vec<Slot>,
}

/// Builds the graph; nothing was wrong with the model so far.
pub(super) fn assemble(
    identity: Identity,
    links: &Links<'_>,
    propagated: &mut Propagated,
) -> Assembled {
    let (outputs, constant): (Vec<Slot>, Vec<Slot>) = links
        .outputs
        .iter()
        .map(|&slot| propagated.aliases[slot])
        .partition(|&slot| propagated.weights[slot].is_none());
    if !constant.is_empty() {
        let names = constant
            .iter()
            .map(|&slot| links.names[slot].clone().into_owned());
        propagated
            .warnings
            .push(Warning::ConstantOutputs(names.collect()));
    }
    let needed = needed(propagated, &outputs);
    let (operators, idle): (Vec<Operator>, Vec<Operator>) =
        std::mem::take(&mut propagated.operators)
            .into_iter()
            .partition(|operator| operator.outputs.iter().any(|&slot| needed[slot]));
    let idle = idle.iter().map(|operator| links.path(operator.node));
    propagated.folded.dead.extend(idle);
    let mut builder = Builder {
        links,
        propagated,
        tensors: Arena::new(),
        slots: Vec::new(),
        ids: vec![None; propagated.values.len()],
    };
    let inputs = declared_inputs(links)
        .filter(|&slot| needed[slot])
        .map(|slot| builder.tensor(slot, TensorRole::Input))
        .collect();
    let names = unique_names(links, &operators);
    let mut ops = Arena::new();
    let mut placed = Vec::new();
    for (mut operator, name) in operators.into_iter().zip(names) {
        operator.outputs.retain(|&slot| needed[slot]);
        let op = builder.op(Id::from_index(ops.len()), &operator, name);
        ops.push(op);
        placed.push(Placed {
            node: operator.node,
            inputs: operator.inputs,
            outputs: operator.outputs,
        });
    }
    let outputs = outputs.iter().map(|&slot| builder.id(slot)).collect();
    Assembled {
        graph: Graph {
            name: identity.name,
            kind: ModelKind::Onnx,
            kernels: Vec::new(),
            digest: identity.digest,
            dims: identity.dims,
            rewrites: identity.rewrites,
            ops,
            tensors: builder.tensors,
            inputs,
            outputs,
        },
        placed,
        slots: builder.slots,
        warnings: std::mem::take(&mut propagated.warnings),
        folded: std::mem::take(&mut propagated.folded),
        depends_on_values: propagated.depends_on_values,
    }
}

/// What outputs depend on after folding, by slot.
fn needed(propagated: &Propagated, outputs: &[Slot]) -> Vec<bool> {
    let mut needed = vec![false; propagated.values.len()];
    for &slot in outputs {
        needed[slot] = true;
    }
    for operator in propagated.operators.iter().rev() {
        if operator.outputs.iter().any(|&slot| needed[slot]) {
            for &slot in operator.inputs.iter().flatten() {
                needed[slot] = true;
            }
        }
    }
    needed
}

/// Inputs in the order of the file.
pub(super) fn declared_inputs<'a>(links: &'a Links<'_>) -> impl Iterator<Item = Slot> + 'a {
    let is_input = |&(_, origin): &(Slot, &Origin)| match origin {
        Origin::Input(_) => true,
        Origin::Constant(_) | Origin::Node(_) | Origin::Parameter | Origin::Broken => false,
    };
    let origins = links.origins.iter().enumerate();
    origins.filter(is_input).map(|(slot, _)| slot)
}

/// A node's own name where it has one that no earlier node has; else its type and place.
fn unique_names(links: &Links<'_>, operators: &[Operator]) -> Vec<String> {
    let mut taken: HashSet<&str> = HashSet::new();
    let mut own = vec![false; operators.len()];
    for (index, operator) in operators.iter().enumerate() {
        let name = links.nodes[operator.node].proto.name.as_str();
        own[index] = !name.is_empty() && taken.insert(name);
    }
    let derived = |operator: &Operator| {
        let node = links.nodes[operator.node].proto;
        let stem = if node.name.is_empty() {
            &node.op_type
        } else {
            &node.name
        };
        let steps = links.steps(operator.node);
        let steps: Vec<_> = steps.iter().map(ToString::to_string).collect();
        let mut name = format!("{stem}@{}", steps.join("."));
        // Only a file that uses such names itself comes here.
        while taken.contains(name.as_str()) {
            name.push('\'');
        }
        name
    };
    operators
        .iter()
        .zip(own)
        .map(|(operator, is_own)| {
            if is_own {
                links.nodes[operator.node].proto.name.clone()
            } else {
                derived(operator)
            }
        })
        .collect()
}

struct Builder<'a> {
    links: &'a Links<'a>,
    propagated: &'a Propagated,
    tensors: Arena<Tensor>,
    slots: Vec<Slot>,
    ids: Vec<Option<TensorId>>,
}

impl Builder<'_> {
    fn op(&mut self, id: Id<Op>, operator: &Operator, name: String) -> Op {
        let node = self.links.nodes[operator.node].proto;
        let inputs = operator
            .inputs
            .iter()
            .map(|slot| slot.map(|slot| self.operand(slot)))
            .collect();
        let outputs = operator
            .outputs
            .iter()
            .map(|&slot| self.tensor(slot, TensorRole::Computed(id)))
            .collect();
        Op {
            at: reference(self.links, operator.node),
            name,
            op_type: spelled(node),
            kind: operator.kind,
            inputs,
            outputs,
            work: operator.work,
            control: operator.control.clone().map(Box::new),
        }
    }

    /// An operand: known by now, or a weight that is read for the first time.
    fn operand(&mut self, slot: Slot) -> TensorId {
        match (self.ids[slot], &self.propagated.weights[slot]) {
            (Some(id), _) => id,
            (None, Some(weight)) => {
                let weight: WeightRef = weight.clone();
                self.tensor(slot, TensorRole::Weight(weight))
            }
            (None, None) => unreachable!("nodes are in order, so operands come first"),
        }
    }

    fn id(&self, slot: Slot) -> TensorId {
        self.ids[slot].expect("outputs are needed, so they were built")
    }

    fn name(&self, slot: Slot) -> &str {
        match slot.checked_sub(self.links.names.len()) {
            Some(made) => &self.propagated.made[made],
            None => &self.links.names[slot],
        }
    }

    fn tensor(&mut self, slot: Slot, role: TensorRole) -> TensorId {
        let value = self.propagated.values[slot]
            .as_ref()
            .expect("problems end the import before");
        let bytes = value
            .shape
            .bytes(value.dtype)
            .expect("sizes are checked when a value is made");
        let id = self.tensors.push(Tensor {
            name: self.name(slot).to_owned(),
            dtype: value.dtype,
            shape: value.shape.clone(),
            bytes,
            role,
        });
        self.slots.push(slot);
        self.ids[slot] = Some(id);
        id
    }
}

/// Where a node stands, as plans spell it.
pub(super) fn reference(links: &Links<'_>, node: usize) -> OperatorRef {
    let steps = links.steps(node);
    let (&top, inside) = steps.split_first().expect("a path has a node");
    let results = &links.nodes[node].proto.output;
    OperatorRef {
        node: top,
        inside: inside.to_vec(),
        output: results
            .iter()
            .find(|name| !name.is_empty())
            .cloned()
            .unwrap_or_default(),
    }
}
