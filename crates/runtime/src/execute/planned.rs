//! The tasks of a plan as operators to lower: which buffer every operand and result is.
//!
//! The plan has passed [`paracompile_plan::check_structure`] against the same model, so what it names is there; a plan and a program that
//! do not belong together end in an error all the same.

use std::collections::HashMap;

use paracompile_frontend::fusion::Storage;
use paracompile_frontend::import::onnx::{Program, ValueId};
use paracompile_frontend::ir::{OpId, TensorId};
use paracompile_plan::plan::{BufferKind, OperatorRef, Plan, Task as PlanTask};

use crate::lower::{Operand, Site, Spec, Task, Wire};

use super::RunError;

/// A task of a plan, ready to be lowered.
#[derive(Debug)]
pub struct Planned<'p> {
    /// Its operators and how they are wired.
    pub task: Task<'p>,
    /// What the operands of the task are, by position.
    pub operands: Vec<Source>,
    /// The buffers of its results, by position.
    pub results: Vec<u32>,
}

/// Where an operand of a task comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A buffer of the plan.
    Buffer(u32),
    /// A constant that the plan does not count, such as the limits of a clip.
    Constant(ValueId),
}

/// Looks up what plans name in a program.
#[derive(Debug)]
pub struct Lookup<'p> {
    program: &'p Program,
    ops: HashMap<&'p OperatorRef, OpId>,
    tensors: HashMap<ValueId, TensorId>,
    names: HashMap<&'p str, TensorId>,
    storage: Storage<'p>,
}

impl<'p> Lookup<'p> {
    /// Of a program.
    pub fn new(program: &'p Program) -> Self {
        let graph = &program.imported.graph;
        let tensors = program.tensors.iter().enumerate();
        Self {
            program,
            ops: graph.ops.iter().map(|(id, op)| (&op.at, id)).collect(),
            tensors: tensors
                .map(|(index, &value)| (value, TensorId::from_index(index)))
                .collect(),
            names: graph
                .tensors
                .iter()
                .map(|(id, tensor)| (tensor.name.as_str(), id))
                .collect(),
            storage: Storage::new(graph),
        }
    }

    /// What it looks up in.
    pub fn program(&self) -> &'p Program {
        self.program
    }

    /// The value that a weight buffer of the plan holds.
    pub fn weight(&self, tensor: &str) -> Result<ValueId, RunError> {
        let found = self.names.get(tensor);
        let id = found.ok_or_else(|| RunError::OtherModel {
            what: format!("weight `{tensor}`"),
        })?;
        Ok(self.program.tensors[id.index()])
    }

    /// The tensor that has the storage of a value; `None` if the graph has no such tensor.
    pub fn owner(&self, value: ValueId) -> Option<TensorId> {
        let tensor = self.tensors.get(&value)?;
        Some(self.storage.behind_views(*tensor))
    }

    /// Resolves a task of `plan`.
    pub fn task(&self, plan: &Plan, task: &PlanTask) -> Result<Planned<'p>, RunError> {
        let ops = task
            .operators
            .iter()
            .map(|at| {
                self.ops
                    .get(at)
                    .copied()
                    .ok_or_else(|| RunError::OtherModel {
                        what: format!("operator {} (`{}`)", at.node, at.output),
                    })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut wiring = Wiring {
            lookup: self,
            buffers: buffers(plan, task),
            produced: HashMap::new(),
            operands: Vec::new(),
            results: Vec::new(),
        };
        let mut resolved = Task {
            sites: Vec::new(),
            operands: Vec::new(),
            results: Vec::new(),
        };
        for (index, &op) in ops.iter().enumerate() {
            let call = &self.program.calls[op.index()];
            let mut operands = Vec::new();
            let mut wires = Vec::new();
            for &value in &call.operands {
                let Some(value) = value else {
                    operands.push(None);
                    wires.push(None);
                    continue;
                };
                operands.push(Some(Operand::of(&self.program.values[value])));
                wires.push(Some(wiring.wire(value)?));
            }
            let mut specs = Vec::new();
            let mut places = Vec::new();
            for (position, &value) in call.results.iter().enumerate() {
                let tensor = value.and_then(|value| self.tensors.get(&value).copied());
                specs.push(
                    tensor
                        .and(value)
                        .map(|value| Spec::of(&self.program.values[value])),
                );
                places.push(tensor.and_then(|tensor| wiring.place(tensor, index, position)));
            }
            resolved.sites.push(Site {
                call,
                operands,
                results: specs,
            });
            resolved.operands.push(wires);
            resolved.results.push(places);
        }
        Ok(Planned {
            task: resolved,
            operands: wiring.operands,
            results: wiring.results,
        })
    }
}

/// The buffers of a task by tensor name.
pub(crate) fn buffers<'q>(plan: &'q Plan, task: &PlanTask) -> HashMap<&'q str, u32> {
    task.reads
        .iter()
        .chain(&task.writes)
        .filter_map(|&id| plan.buffers.get(id as usize))
        .filter(|buffer| buffer.kind != BufferKind::Workspace)
        .map(|buffer| (buffer.tensor.as_str(), buffer.id))
        .collect()
}

struct Wiring<'l, 'p, 'q> {
    lookup: &'l Lookup<'p>,
    buffers: HashMap<&'q str, u32>,
    /// What operators of the task write, by tensor.
    produced: HashMap<TensorId, Wire>,
    operands: Vec<Source>,
    results: Vec<u32>,
}

impl Wiring<'_, '_, '_> {
    fn wire(&mut self, value: ValueId) -> Result<Wire, RunError> {
        let program = self.lookup.program;
        let known = &program.values[value];
        let storage = self.lookup.owner(value);
        if let Some(&wire) = storage.and_then(|tensor| self.produced.get(&tensor)) {
            return Ok(wire);
        }
        let name = storage.map(|tensor| program.imported.graph.tensors[tensor].name.as_str());
        let source = match name.and_then(|name| self.buffers.get(name)) {
            Some(&buffer) => Source::Buffer(buffer),
            None if known.is_constant => Source::Constant(value),
            None => {
                return Err(RunError::OtherModel {
                    what: format!("tensor `{}`", known.name),
                });
            }
        };
        let known = self.operands.iter().position(|&other| other == source);
        let position = known.unwrap_or_else(|| {
            self.operands.push(source);
            self.operands.len() - 1
        });
        Ok(Wire::Outside(position))
    }

    /// The position of a result among those of the task, if something outside reads it.
    fn place(&mut self, tensor: TensorId, site: usize, result: usize) -> Option<usize> {
        self.produced.insert(tensor, Wire::Inside { site, result });
        let name = &self.lookup.program.imported.graph.tensors[tensor].name;
        let &buffer = self.buffers.get(name.as_str())?;
        self.results.push(buffer);
        Some(self.results.len() - 1)
    }
}
