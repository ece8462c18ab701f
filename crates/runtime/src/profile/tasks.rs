//! The distinct tasks of models: what is measured once, however often it occurs.
//!
//! Two tasks are the same if their operators, attributes, shapes, types and wiring are; names and contents of weights do not count.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_frontend::fusion::{Storage, groups};
use paracompile_frontend::import::onnx::{Call, Elements, Program, ValueId};
use paracompile_frontend::ir::{OpId, TensorId, TensorRole};
use paracompile_plan::OpClass;

use crate::execute::Lookup;
use crate::lower::{Operand, Site, Spec, Task, Wire, joins_blocks};

/// A model with its name.
#[derive(Debug)]
pub struct ProfiledModel {
    /// Its name: that of its file of costs.
    pub name: String,
    /// What it computes.
    pub program: Program,
}

/// Operators that are measured as one task, wherever they occur.
#[derive(Debug)]
pub(super) struct Workload {
    /// Class of the first operator.
    pub(super) class: OpClass,
    /// Each occurrence: index of the model and members; the first is measured.
    pub(super) uses: Vec<(usize, Vec<OpId>)>,
    /// Occurrences that are tasks of a plan; the others are operators that plans fuse with the one before, measured by themselves.
    pub(super) tasks: usize,
}

/// The distinct tasks of the models, in the order of their first occurrence.
///
/// What is fused is measured fused, and the members behind the first one once more by themselves: plans count them nothing, but a chip
/// supports a group only if it supports them all, and the time models of their classes are fitted to them.
pub(super) fn workloads(models: &[ProfiledModel]) -> Vec<Workload> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut workloads: Vec<Workload> = Vec::new();
    for (model, profiled) in models.iter().enumerate() {
        let graph = &profiled.program.imported.graph;
        let wiring = Wiring::new(&profiled.program);
        for group in groups(graph, &Storage::new(graph), &|_, _| true) {
            let members = group[1..].iter().map(|&member| (vec![member], 0));
            let members: Vec<_> = members.collect();
            for (members, tasks) in std::iter::once((group, 1)).chain(members) {
                let Some(class) = graph.ops[members[0]].class() else {
                    continue;
                };
                let key = key(&wiring.task(&members));
                let index = *found.entry(key).or_insert_with(|| {
                    workloads.push(Workload {
                        class,
                        uses: Vec::new(),
                        tasks: 0,
                    });
                    workloads.len() - 1
                });
                workloads[index].uses.push((model, members));
                workloads[index].tasks += tasks;
            }
        }
    }
    workloads
}

/// The concatenations that a run does not execute, because their operands lie inside the result from the start: those along the first axis
/// that is longer than one, of tensors that operators write, that nobody outside sees, and that lie in no other one.
pub(super) fn in_place(program: &Program) -> BTreeSet<OpId> {
    let graph = &program.imported.graph;
    let storage = Storage::new(graph);
    let mut taken: BTreeSet<TensorId> = graph
        .outputs
        .iter()
        .map(|&output| storage.behind_views(output))
        .collect();
    let mut found = BTreeSet::new();
    for (id, op) in graph.ops.iter() {
        let call = &program.calls[id.index()];
        let (Some(_), &[output]) = (op.class(), op.outputs.as_slice()) else {
            continue;
        };
        let result = Spec::of(program.value_of(output));
        let owners: Vec<TensorId> = op
            .inputs
            .iter()
            .flatten()
            .map(|&operand| storage.behind_views(operand))
            .collect();
        let distinct: BTreeSet<TensorId> = owners.iter().copied().collect();
        let is_written =
            |tensor: &TensorId| matches!(graph.tensors[*tensor].role, TensorRole::Computed(_));
        if joins_blocks(call, &result.shape)
            && distinct.len() == call.operands.len()
            && owners.iter().all(is_written)
            && distinct.is_disjoint(&taken)
        {
            taken.extend(distinct);
            found.insert(id);
        }
    }
    found
}

/// A task with what lies outside of it.
#[derive(Debug)]
pub(super) struct WiredTask<'p> {
    pub(super) task: Task<'p>,
    /// What it reads, by position.
    pub(super) operands: Vec<Operand<'p>>,
    /// What it writes, by position.
    pub(super) results: Vec<Spec>,
}

/// Who writes what in a program.
#[derive(Debug)]
pub(super) struct Wiring<'p> {
    program: &'p Program,
    lookup: Lookup<'p>,
}

impl<'p> Wiring<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        Self {
            program,
            lookup: Lookup::new(program),
        }
    }

    /// Operators as one task, of which the last one alone writes what others read.
    pub(super) fn task(&self, members: &[OpId]) -> WiredTask<'p> {
        let mut whole = WiredTask {
            task: Task {
                sites: Vec::new(),
                operands: Vec::new(),
                results: Vec::new(),
            },
            operands: Vec::new(),
            results: Vec::new(),
        };
        let mut outside: Vec<ValueId> = Vec::new();
        let mut written: BTreeMap<TensorId, Wire> = BTreeMap::new();
        for (site, &member) in members.iter().enumerate() {
            let call = &self.program.calls[member.index()];
            let wires = call.operands.iter().map(|operand| {
                let value = (*operand)?;
                let owner = self.lookup.owner(value);
                if let Some(inside) = owner.and_then(|owner| written.get(&owner)) {
                    return Some(*inside);
                }
                let known = outside.iter().position(|&known| known == value);
                Some(Wire::Outside(known.unwrap_or_else(|| {
                    outside.push(value);
                    whole
                        .operands
                        .push(Operand::of(&self.program.values[value]));
                    outside.len() - 1
                })))
            });
            let wires: Vec<Option<Wire>> = wires.collect();
            whole.task.operands.push(wires);
            let is_last = site + 1 == members.len();
            let mut places = Vec::new();
            for (position, result) in call.results.iter().enumerate() {
                if let Some(owner) = result.and_then(|value| self.lookup.owner(value)) {
                    written.insert(
                        owner,
                        Wire::Inside {
                            site,
                            result: position,
                        },
                    );
                }
                places.push(result.filter(|_| is_last).map(|value| {
                    whole.results.push(Spec::of(&self.program.values[value]));
                    whole.results.len() - 1
                }));
            }
            whole.task.results.push(places);
            whole.task.sites.push(self.site(call));
        }
        whole
    }

    fn site(&self, call: &'p Call) -> Site<'p> {
        Site {
            call,
            operands: call
                .operands
                .iter()
                .map(|operand| operand.map(|value| Operand::of(&self.program.values[value])))
                .collect(),
            results: call
                .results
                .iter()
                .map(|result| result.map(|value| Spec::of(&self.program.values[value])))
                .collect(),
        }
    }
}

/// What makes two tasks the same.
fn key(whole: &WiredTask<'_>) -> String {
    let sites = whole.task.sites.iter().map(|site| {
        let Call {
            op_type,
            domain,
            opset,
            attributes,
            padding,
            ..
        } = site.call;
        let operands = site.operands.iter().map(|operand| {
            operand
                .as_ref()
                .map(|operand| (&operand.spec, operand.is_constant, parameter(operand)))
        });
        let operands: Vec<_> = operands.collect();
        format!(
            "{domain}:{op_type}:{opset} {attributes:?} {padding:?} {operands:?} {:?}",
            site.results
        )
    });
    let sites: Vec<String> = sites.collect();
    format!(
        "{sites:?} {:?} {:?}",
        whole.task.operands, whole.task.results
    )
}

/// Integers decide what runs; the numbers of a short weight do not.
fn parameter<'p>(operand: &Operand<'p>) -> Option<&'p Elements> {
    operand.elements.filter(|elements| {
        matches!(elements, Elements::Integers(_)) || operand.spec.elements() <= 1
    })
}
