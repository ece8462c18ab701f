//! Compares the plan's buffers, and what its tasks list, with what follows.

use super::dataflow::{Dataflow, Stored};
use super::placement::Placement;
use super::violation::{Place, Violation, compare};
use crate::plan::{Buffer, BufferKind, Layout};

/// Adds every difference.
pub(super) fn judge(placement: &Placement<'_>, flow: &Dataflow, found: &mut Vec<Violation>) {
    let plan = placement.plan;
    for (index, stored) in flow.buffers.iter().enumerate() {
        match plan.buffers.get(index) {
            Some(buffer) => fields(placement, index, buffer, stored, found),
            None => found.push(Violation::MissingBuffer {
                tensor: tensor_name(placement, stored).to_owned(),
                memory: placement.locations.memory(stored.location).to_owned(),
                layout: placement.locations.layout(stored.location),
            }),
        }
    }
    for (index, buffer) in plan.buffers.iter().enumerate().skip(flow.buffers.len()) {
        found.push(Violation::SurplusBuffer {
            at: Place::Buffer(index),
            tensor: buffer.tensor.clone(),
            memory: buffer.memory.clone(),
        });
    }
    for (index, task) in plan.tasks.iter().enumerate() {
        let at = Place::Task(index);
        compare(
            found,
            &at,
            "reads",
            &indices(&task.reads),
            &flow.reads[index],
        );
        compare(
            found,
            &at,
            "writes",
            &indices(&task.writes),
            &flow.writes[index],
        );
    }
}

fn fields(
    placement: &Placement<'_>,
    index: usize,
    buffer: &Buffer,
    stored: &Stored,
    found: &mut Vec<Violation>,
) {
    let at = Place::Buffer(index);
    let locations = &placement.locations;
    let (dtype, shape) = match stored.tensor {
        Some(tensor) => {
            let tensor = &placement.network.facts.tensors[tensor];
            (tensor.dtype.as_str(), tensor.shape.clone())
        }
        None => ("uint8", vec![stored.bytes.count()]),
    };
    let layout = if stored.kind == BufferKind::Input {
        Layout::Any
    } else {
        locations.layout(stored.location)
    };
    compare(found, &at, "kind", &buffer.kind, &stored.kind);
    compare(
        found,
        &at,
        "tensor",
        &buffer.tensor.as_str(),
        &tensor_name(placement, stored),
    );
    compare(
        found,
        &at,
        "memory",
        &buffer.memory.as_str(),
        &locations.memory(stored.location),
    );
    compare(found, &at, "bytes", &buffer.bytes, &stored.bytes);
    compare(found, &at, "dtype", &buffer.dtype.as_str(), &dtype);
    compare(found, &at, "shape", &buffer.shape, &shape);
    compare(found, &at, "layout", &buffer.layout, &layout);
    compare(
        found,
        &at,
        "copies",
        &(buffer.copies as usize),
        &stored.copies(),
    );
    compare(
        found,
        &at,
        "first_task",
        &buffer.first_task.map(|id| id as usize),
        &stored.first_task,
    );
    compare(
        found,
        &at,
        "last_task",
        &buffer.last_task.map(|id| id as usize),
        &stored.last_task,
    );
}

fn tensor_name<'a>(placement: &Placement<'a>, stored: &Stored) -> &'a str {
    stored
        .tensor
        .map_or("", |tensor| placement.network.name(tensor))
}

fn indices(ids: &[u32]) -> Vec<usize> {
    ids.iter().map(|&id| id as usize).collect()
}
