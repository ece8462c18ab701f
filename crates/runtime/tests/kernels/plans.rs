//! Plans of kernel graphs by hand: one stage, every kernel on the queue that a test says, moves where memories differ.

use std::collections::BTreeMap;

use paracompile_frontend::ir::{TensorId, TensorRole};
use paracompile_plan::Plan;
use paracompile_runtime::users::KernelProgram;
use serde_json::{Value, json};

/// A processor of a plan: its name, its memory and its compute queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its memory; `dram` is where frames come in and go out.
    pub(crate) memory: &'static str,
    /// How many compute queues it has.
    pub(crate) queues: usize,
}

/// A plan that runs kernel `k`, by its place in the graph, on compute queue `queue_of(k)`; queues are counted over all processors.
pub(crate) fn plan(
    program: &KernelProgram,
    lanes: &[Lanes],
    queue_of: &dyn Fn(usize) -> usize,
) -> Plan {
    let mut maker = Maker::new(program, lanes);
    maker.command(&json!({"begin": 0}), None, &[]);
    for kernel in 0..program.graph.ops.len() {
        maker.task(kernel, queue_of(kernel));
    }
    for &output in &program.graph.outputs {
        let (_, ready) = maker.bring(output, "dram");
        maker.last.push(ready);
    }
    let (end, last) = (maker.frame.len(), maker.last.clone());
    maker.command(&json!({"end": 0}), None, &last);
    maker.frame[0]["wait"] = json!([{"command": end, "frames_back": 1}]);
    serde_json::from_value(maker.document()).unwrap()
}

struct Maker<'m> {
    program: &'m KernelProgram,
    lanes: &'m [Lanes],
    /// Processor of each compute queue.
    computes: Vec<usize>,
    buffers: Vec<Value>,
    /// Buffers by tensor and memory.
    known: BTreeMap<(usize, &'static str), usize>,
    /// The command after which a buffer holds its tensor.
    ready: BTreeMap<usize, usize>,
    tasks: Vec<Value>,
    transfers: Vec<Value>,
    frame: Vec<Value>,
    /// Launches, and moves of outputs.
    last: Vec<usize>,
}

impl<'m> Maker<'m> {
    fn new(program: &'m KernelProgram, lanes: &'m [Lanes]) -> Self {
        let computes = lanes
            .iter()
            .enumerate()
            .flat_map(|(index, lanes)| vec![index; lanes.queues]);
        Self {
            program,
            lanes,
            computes: computes.collect(),
            buffers: Vec::new(),
            known: BTreeMap::new(),
            ready: BTreeMap::new(),
            tasks: Vec::new(),
            transfers: Vec::new(),
            frame: Vec::new(),
            last: Vec::new(),
        }
    }

    fn command(&mut self, action: &Value, queue: Option<usize>, after: &[usize]) -> usize {
        let wait = after
            .iter()
            .map(|command| json!({"command": command, "frames_back": 0}));
        let wait: Vec<Value> = wait.collect();
        let id = self.frame.len();
        self.frame
            .push(json!({"id": id, "queue": queue, "do": action, "wait": wait}));
        id
    }

    fn buffer(&mut self, tensor: TensorId, memory: &'static str) -> usize {
        if let Some(&buffer) = self.known.get(&(tensor.index(), memory)) {
            return buffer;
        }
        let found = &self.program.graph.tensors[tensor];
        let is_output = self.program.graph.outputs.contains(&tensor);
        let kind = match (memory, found.role == TensorRole::Input, is_output) {
            ("dram", true, _) => "input",
            ("dram", false, true) => "output",
            (_, _, _) => "activation",
        };
        let id = self.buffers.len();
        self.buffers.push(json!({
            "id": id, "tensor": found.name, "kind": kind, "memory": memory, "bytes": found.bytes,
            "dtype": found.dtype.name(), "shape": found.shape.0, "layout": "any", "copies": 1,
            "first_task": null, "last_task": null,
        }));
        self.known.insert((tensor.index(), memory), id);
        id
    }

    /// The buffer of a tensor in a memory, and the command after which it is there.
    fn bring(&mut self, tensor: TensorId, memory: &'static str) -> (usize, usize) {
        let is_there = self
            .known
            .get(&(tensor.index(), memory))
            .and_then(|buffer| Some((*buffer, *self.ready.get(buffer)?)));
        if let Some(found) = is_there {
            return found;
        }
        let home = self.known.iter().find(|((other, _), buffer)| {
            *other == tensor.index() && self.ready.contains_key(buffer)
        });
        let home = home.map(|((_, memory), _)| *memory);
        let Some(home) = home else {
            // An input that nobody has read yet.
            let buffer = self.buffer(tensor, "dram");
            self.ready.insert(buffer, 0);
            return self.bring(tensor, memory);
        };
        let (from, after) = self.bring(tensor, home);
        let to = self.buffer(tensor, memory);
        let id = self.transfers.len();
        let bytes = self.program.graph.tensors[tensor].bytes;
        self.transfers.push(json!({
            "id": id, "stage": 0, "from_buffer": from, "to_buffer": to, "bytes": bytes, "convert": null,
            "start_ns": 0, "duration_ns": 1, "energy_nj": 0,
        }));
        let (source, target) = (self.transfer_queue(home), self.transfer_queue(memory));
        self.command(&json!({"send": id}), Some(source), &[after]);
        let receive = self.command(&json!({"receive": id}), Some(target), &[]);
        self.ready.insert(to, receive);
        (to, receive)
    }

    /// Transfer queues come behind all compute queues.
    fn transfer_queue(&self, memory: &str) -> usize {
        let lanes = self.lanes.iter();
        let processor = lanes.clone().position(|lanes| lanes.memory == memory);
        self.computes.len() + processor.unwrap_or(lanes.len())
    }

    fn task(&mut self, kernel: usize, queue: usize) {
        let memory = self.lanes[self.computes[queue]].memory;
        let op = &self.program.graph.ops.as_slice()[kernel];
        let (mut reads, mut after) = (Vec::new(), vec![0]);
        for &tensor in op.inputs.iter().flatten() {
            let (found, since) = self.bring(tensor, memory);
            reads.push(found);
            after.push(since);
        }
        let outputs = op.outputs.clone();
        let writes: Vec<usize> = outputs
            .iter()
            .map(|&tensor| self.buffer(tensor, memory))
            .collect();
        let id = self.tasks.len();
        let launch = self.command(&json!({"launch": id}), Some(queue), &after);
        self.last.push(launch);
        for &buffer in &writes {
            self.ready.insert(buffer, launch);
        }
        reads.sort_unstable();
        reads.dedup();
        self.tasks.push(json!({
            "id": id, "stage": 0, "queue": queue, "operators": [op.at], "class": "opaque", "reads": reads, "writes": writes,
            "work_ns": 1, "start_ns": 0, "duration_ns": 1, "energy_nj": 0,
        }));
    }

    fn document(self) -> Value {
        let names: Vec<&str> = self.lanes.iter().map(|lanes| lanes.name).collect();
        let processors: Vec<Value> = self
            .lanes
            .iter()
            .map(|lanes| {
                json!({"name": lanes.name, "memory": lanes.memory, "layout": "any", "operating_point": "usual",
                    "static_mw": 0, "sharing": 1000})
            })
            .collect();
        let compute = self.computes.iter().map(|&at| (names[at], "compute"));
        let transfer = names.iter().map(|&name| (name, "transfer"));
        let queues = compute.chain(transfer).chain([("io", "transfer")]);
        let queues: Vec<Value> = queues
            .enumerate()
            .map(|(id, (processor, kind))| json!({"id": id, "processor": processor, "kind": kind}))
            .collect();
        let proof = json!({"value_ns": 1, "bound_ns": 1, "method": "test", "scope": "test", "stopped_by": "complete"});
        let graph = &self.program.graph;
        let tensors = |ids: &[TensorId]| -> Vec<String> {
            ids.iter()
                .map(|&id| graph.tensors[id].name.clone())
                .collect()
        };
        json!({
            "schema": 1,
            "model": {"name": graph.name, "kind": "kernels", "graph_digest": graph.digest, "dims": {}, "rewrites": [],
                "inputs": tensors(&graph.inputs), "outputs": tensors(&graph.outputs)},
            "soc": {"name": "test", "digest": "0", "enqueue_ns": 0, "base_mw": 0, "io": "dram"},
            "processors": processors, "contention": [], "strategy": "single", "labels": [], "frame_overlap": "none",
            "admission_interval_ns": 1,
            "predicted": {"latency_ns": 1, "saturated_latency_ns": 1, "paced_latency_ns": 1, "interval_ns": 1,
                "interval_bound_ns": 1, "energy_active_nj": 0, "energy_board_nj": 0, "memory": [],
                "provenance": {"measured": 0.0, "fitted": 0.0, "estimated": 0.0, "borrowed": 0.0, "assumed": 1.0}},
            "proof": proof,
            "stages": [{"id": 0, "processors": names, "time_alone_ns": 1, "time_ns": 1, "proof": proof}],
            "tasks": self.tasks, "buffers": self.buffers, "transfers": self.transfers, "queues": queues,
            "setup": [], "frame": self.frame,
        })
    }
}
