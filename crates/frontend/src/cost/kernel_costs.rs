//! PySchedCL's cost tables: measured times of kernels by function, on a CPU and on a GPU.
//!
//! `exec_cpu` and `exec_gpu` are read, in seconds; every CPU of a chip takes the one and every GPU the other.
//! What a table says of transfers (`h2d_time`, `d2h_time`) and of the host (`gpu_delay`) is the platform's and not the kernel's: it belongs into
//! the links and the host of a profile.

use std::collections::BTreeMap;

use paracompile_plan::Seconds;
use paracompile_plan::plan::{ModelKind, Source};
use serde_json::Value;

use super::error::CostError;
use super::table::MOST_SECONDS;
use crate::ir::{OpId, VerifiedGraph};
use crate::soc::reading::{At, Reading};
use crate::soc::{ProcessorId, Soc};

/// The most functions of a table.
const MOST_FUNCTIONS: usize = 65_536;

/// Times of kernels by function; the default knows none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelCosts(BTreeMap<String, KernelCost>);

/// Times of one kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelCost {
    /// On a CPU.
    pub cpu: Option<Seconds>,
    /// On a GPU.
    pub gpu: Option<Seconds>,
}

impl KernelCosts {
    /// Whether a JSON value is such a table, and not one of our own costs files: those say their schema.
    pub(super) fn is_one(value: &Value) -> bool {
        let is_kernel = |value: &Value| {
            ["exec_cpu", "exec_gpu"]
                .iter()
                .any(|key| value.get(key).is_some())
        };
        let object = value.as_object();
        object
            .is_some_and(|object| !object.contains_key("schema") && object.values().any(is_kernel))
    }

    /// Reads a table.
    pub(super) fn read(reading: &mut Reading, at: &At<'_>) -> Self {
        let mut costs = BTreeMap::new();
        for (function, entry) in reading.entries(at, MOST_FUNCTIONS) {
            let mut time = |key: &str| {
                let field = entry.optional(key)?;
                let number = reading.number(&field, Source::Measured, (0.0, MOST_SECONDS))?;
                Seconds::new(number.value)
            };
            let cost = KernelCost {
                cpu: time("exec_cpu"),
                gpu: time("exec_gpu"),
            };
            if entry.optional("exec_cpu").is_none() && entry.optional("exec_gpu").is_none() {
                // Names the time that every table of PySchedCL has.
                reading.field(&entry, "exec_gpu");
            }
            costs.insert(function.to_owned(), cost);
        }
        Self(costs)
    }

    /// The time of every kernel of the graph on every processor that the table knows it for.
    pub(super) fn resolve(
        &self,
        graph: &VerifiedGraph,
        soc: &Soc,
    ) -> Result<Vec<(OpId, ProcessorId, Seconds)>, CostError> {
        match graph.kind {
            ModelKind::Onnx if self.0.is_empty() => return Ok(Vec::new()),
            ModelKind::Onnx => return Err(CostError::KernelsOfNetwork),
            ModelKind::Kernels => {}
        }
        let mut resolved = Vec::new();
        for (id, op) in graph.ops.iter() {
            let Some(cost) = self.0.get(&op.op_type) else {
                continue;
            };
            for (processor, known) in soc.processors.iter() {
                let time = match known.kind.as_str() {
                    "cpu" => cost.cpu,
                    "gpu" => cost.gpu,
                    // No table of PySchedCL speaks of others.
                    _ => None,
                };
                resolved.extend(time.map(|time| (id, processor, time)));
            }
        }
        Ok(resolved)
    }

    /// A line for each time, for a digest.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(function, cost)| {
            let shown = |time: Option<Seconds>| time.map(Seconds::value);
            format!(
                "kernel {function:?} {:?} {:?}",
                shown(cost.cpu),
                shown(cost.gpu)
            )
        })
    }
}
