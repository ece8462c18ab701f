//! The distinct tasks of models: what is measured once, however often it occurs.
//!
//! Two tasks are the same if their operators, attributes, shapes, types and wiring are; names and contents of weights do not count.

use std::collections::BTreeMap;

use paracompile_frontend::fusion::{Storage, groups};
use paracompile_frontend::import::onnx::{Call, Elements, Program, ValueId};
use paracompile_frontend::ir::{OpId, OpKind};
use paracompile_plan::OpClass;

use crate::execute::Lookup;
use crate::lower::{Operand, Site, Spec, Task, Wire};

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
    /// Of the results of views: the value that they are views of.
    viewed: BTreeMap<ValueId, ValueId>,
}

impl<'p> Wiring<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        let mut viewed: BTreeMap<ValueId, ValueId> = BTreeMap::new();
        for (id, op) in program.imported.graph.ops.iter() {
            let call = &program.calls[id.index()];
            if let (OpKind::View, Some(Some(of))) = (op.kind, call.operands.first()) {
                let of = viewed.get(of).copied().unwrap_or(*of);
                viewed.extend(call.results.iter().flatten().map(|&result| (result, of)));
            }
        }
        Self {
            program,
            lookup: Lookup::new(program),
            viewed,
        }
    }

    fn behind_views(&self, value: ValueId) -> ValueId {
        self.viewed.get(&value).copied().unwrap_or(value)
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
        let mut written: BTreeMap<ValueId, Wire> = BTreeMap::new();
        for (site, &member) in members.iter().enumerate() {
            let call = &self.program.calls[member.index()];
            let wires = call.operands.iter().map(|operand| {
                let value = (*operand)?;
                if let Some(inside) = written.get(&self.behind_views(value)) {
                    return Some(*inside);
                }
                let known = outside.iter().position(|&known| known == value);
                Some(Wire::Outside(known.unwrap_or_else(|| {
                    outside.push(value);
                    whole.operands.push(self.lookup.operand(value));
                    outside.len() - 1
                })))
            });
            let wires: Vec<Option<Wire>> = wires.collect();
            whole.task.operands.push(wires);
            let is_last = site + 1 == members.len();
            let mut places = Vec::new();
            for (position, result) in call.results.iter().enumerate() {
                if let Some(value) = *result {
                    written.insert(
                        value,
                        Wire::Inside {
                            site,
                            result: position,
                        },
                    );
                }
                places.push(result.filter(|_| is_last).map(|value| {
                    whole.results.push(self.lookup.spec(value));
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
                .map(|operand| operand.map(|value| self.lookup.operand(value)))
                .collect(),
            results: call
                .results
                .iter()
                .map(|result| result.map(|value| self.lookup.spec(value)))
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
