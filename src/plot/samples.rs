//! Fronts, plans and schedules made up for tests of pictures.

use std::collections::BTreeMap;

use paracompile_plan::front::{
    Baseline, EnergyAxis, Figures, Front, FrontPlan, FrontStage, Objective,
};
use paracompile_plan::plan::{
    Buffer, BufferKind, FrameOverlap, Label, Layout, ModelKind, ModelRef, OperatorRef,
    PlanProcessor, PlanStage, Predicted, Proof, Provenance, Queue, QueueKind, SCHEMA, SocRef,
    StoppedBy, Strategy, Task, Transfer,
};
use paracompile_plan::scheduled::{
    CommandKind, Schedule, ScheduleKind, ScheduledCommand, ScheduledDevice,
};
use paracompile_plan::{Bytes, Milliwatts, Nanojoules, Nanoseconds, OpClass, Plan, Slowdown};

const SETS: [&[&[&str]]; 8] = [
    &[&["big"]],
    &[&["big", "gpu"]],
    &[&["big", "little", "gpu"]],
    &[&["big", "little"], &["gpu"]],
    &[&["gpu"], &["big", "little"]],
    &[&["big"], &["gpu"]],
    &[&["big"], &["little"], &["gpu"]],
    &[&["gpu"], &["little"], &["big"]],
];

fn figures(latency_s: f64, interval_s: f64, stages: &[&[&str]]) -> Figures {
    let stage = |processors: &&[&str]| FrontStage {
        processors: processors.iter().map(|&name| name.to_owned()).collect(),
        operating_points: Vec::new(),
        queues: Vec::new(),
        operators: 20,
        time_s: interval_s,
    };
    Figures {
        latency_s,
        saturated_latency_s: latency_s * 1.2,
        paced_latency_s: latency_s,
        interval_s,
        throughput_fps: 1.0 / interval_s,
        energy_active_j: 0.3,
        energy_board_j: 0.5,
        peak_memory: BTreeMap::new(),
        gap: 0.0,
        stages: stages.iter().map(stage).collect(),
    }
}

/// A front of `count` plans from about 60 to 140 ms, with four baselines.
pub(super) fn front(count: u32) -> Front {
    let share = |index: u32| f64::from(index) / f64::from(count.max(2) - 1);
    let plans: Vec<_> = (0..count)
        .map(|index| {
            let sets = SETS[(index as usize * SETS.len() / count as usize + 1).min(SETS.len() - 1)];
            let latency = 0.060 + 0.080 * share(index).powi(2);
            let interval = 0.058 - 0.024 * share(index).sqrt();
            let sizes: Vec<_> = sets.iter().map(|set| set.len()).collect();
            let labels = match index {
                0 => vec![Label::MinLatency],
                last if last + 1 == count => vec![Label::MaxThroughput, Label::MinEnergy],
                middle if middle == count / 2 => vec![Label::Balanced],
                _ => Vec::new(),
            };
            FrontPlan {
                file: format!("plans/{index:02}.json"),
                strategy: Strategy::of(&sizes),
                labels,
                figures: figures(latency, interval, sets),
            }
        })
        .collect();
    let baseline = |name: &str, latency: f64, interval: f64, processor: &str| Baseline {
        name: name.to_owned(),
        file: format!("baselines/{name}.json"),
        figures: figures(latency, interval, &[&[processor]]),
    };
    Front {
        schema: SCHEMA,
        model: "inception_v4".to_owned(),
        soc: "vim3".to_owned(),
        effort: "normal".to_owned(),
        stopped_by: StoppedBy::Complete,
        candidates: 1200,
        dominated: 1200 - u64::from(count),
        cloud: None,
        objectives: vec![
            Objective::Latency,
            Objective::Interval,
            Objective::EnergyActive,
        ],
        energy: EnergyAxis::ByProduct,
        energy_slack: 0.0,
        operating_points: None,
        queues: BTreeMap::new(),
        granularity: None,
        constraints: Vec::new(),
        epsilon: 0.0,
        recommended: format!("plans/{:02}.json", count / 2),
        plans,
        best_by_strategy: BTreeMap::new(),
        most_frames_by_strategy: BTreeMap::new(),
        baselines: vec![
            baseline("single:big", 0.091, 0.091, "big"),
            baseline("single:little", 0.320, 0.320, "little"),
            baseline("single:gpu", 0.105, 0.105, "gpu"),
            baseline("heft", 0.071, 0.071, "big"),
        ],
        why: String::new(),
    }
}

/// Of tasks in turn.
const CLASSES: [OpClass; 4] = [
    OpClass::Conv,
    OpClass::Conv,
    OpClass::MaxPool,
    OpClass::Concat,
];

/// A plan with three processors in two or three stages and `tasks` tasks of uneven length.
pub(super) fn plan(tasks: u32, stage_sets: &[&[&str]]) -> Plan {
    let stage_count = u32::try_from(stage_sets.len()).unwrap();
    let names: Vec<&str> = stage_sets.concat();
    let mut plan_tasks = Vec::new();
    let mut transfers = Vec::new();
    let mut stages = Vec::new();
    for stage in 0..stage_count {
        let set = stage_sets[stage as usize];
        let mut busy: Vec<u64> = vec![1_000_000; set.len()];
        for index in 0..tasks / stage_count {
            let slot = index as usize % set.len();
            let duration = (7 + u64::from(index * 7919 % 23)) * 24_000_000 / u64::from(tasks);
            let lane = names.iter().position(|name| *name == set[slot]).unwrap();
            plan_tasks.push(Task {
                id: u32::try_from(plan_tasks.len()).unwrap(),
                stage,
                queue: u32::try_from(lane).unwrap(),
                operators: vec![OperatorRef {
                    node: index,
                    inside: Vec::new(),
                    output: format!("/features/mixed_{index}/branch/Conv_output_0"),
                }],
                class: CLASSES[index as usize % CLASSES.len()],
                reads: Vec::new(),
                writes: Vec::new(),
                work_ns: Nanoseconds::new(duration),
                start_ns: Nanoseconds::new(busy[slot]),
                duration_ns: Nanoseconds::new(duration),
                energy_nj: Nanojoules::ZERO,
                kernel: None,
                kernels_behind: Vec::new(),
                fused: None,
            });
            busy[slot] += duration;
            if index % 5 == 0 {
                let id = u32::try_from(transfers.len()).unwrap();
                transfers.push(Transfer {
                    id,
                    stage,
                    from_buffer: id % 2,
                    to_buffer: (id + 1) % 2,
                    bytes: Bytes::new(1 << 20),
                    convert: None,
                    start_ns: Nanoseconds::new(busy[slot] - duration),
                    duration_ns: Nanoseconds::new(1_500_000),
                    energy_nj: Nanojoules::ZERO,
                });
            }
        }
        let time = Nanoseconds::new(busy.into_iter().max().unwrap());
        stages.push(PlanStage {
            id: stage,
            processors: set.iter().map(|&name| name.to_owned()).collect(),
            time_alone_ns: time,
            time_ns: time,
            proof: proof(time),
        });
    }
    let latency: Nanoseconds = stages.iter().map(|stage| stage.time_ns).sum();
    let interval = stages
        .iter()
        .map(|stage| stage.time_ns)
        .max()
        .unwrap_or_default();
    let sizes: Vec<_> = stage_sets.iter().map(|set| set.len()).collect();
    Plan {
        schema: SCHEMA,
        model: model(),
        soc: soc(),
        processors: processors(&names),
        contention: Vec::new(),
        strategy: Strategy::of(&sizes),
        labels: Vec::new(),
        frame_overlap: FrameOverlap::None,
        admission_interval_ns: interval,
        granularity: None,
        constraints: Vec::new(),
        predicted: Predicted {
            latency_ns: latency,
            saturated_latency_ns: latency,
            paced_latency_ns: latency,
            interval_ns: interval,
            interval_bound_ns: interval,
            energy_active_nj: Nanojoules::new(312_000_000),
            energy_board_nj: Nanojoules::new(420_000_000),
            memory: Vec::new(),
            provenance: Provenance::default(),
        },
        proof: proof(latency),
        stages,
        tasks: plan_tasks,
        buffers: buffers(),
        transfers,
        queues: queues(&names),
        setup: Vec::new(),
        frame: Vec::new(),
    }
}

/// Each at a point of its own.
fn processors(names: &[&str]) -> Vec<PlanProcessor> {
    let processor = |(place, name): (u32, &&str)| PlanProcessor {
        name: (*name).to_owned(),
        memory: "ddr".to_owned(),
        layout: Layout::Nchw,
        operating_point: format!("{}00MHz", 10 + place),
        static_mw: Milliwatts::ZERO,
        dispatch_ns: Nanoseconds::ZERO,
        sharing: Slowdown::NONE,
    };
    (0..).zip(names).map(processor).collect()
}

fn queues(processors: &[&str]) -> Vec<Queue> {
    let queue = |(id, name): (u32, &&str)| Queue {
        id,
        processor: (*name).to_owned(),
        kind: QueueKind::Compute,
    };
    (0..).zip(processors).map(queue).collect()
}

fn buffers() -> Vec<Buffer> {
    let buffer = |id: u32| Buffer {
        id,
        tensor: format!("t{id}"),
        kind: BufferKind::Activation,
        memory: ["ddr", "gpu_mem"][id as usize % 2].to_owned(),
        bytes: Bytes::new(1 << 20),
        dtype: "float".to_owned(),
        shape: vec![1, 64, 64, 64],
        layout: Layout::Nchw,
        copies: 2,
        first_task: None,
        last_task: None,
    };
    (0..4).map(buffer).collect()
}

fn model() -> ModelRef {
    ModelRef {
        name: "inception_v4".to_owned(),
        kind: ModelKind::Onnx,
        graph_digest: String::new(),
        dims: BTreeMap::new(),
        rewrites: vec!["fusion".to_owned()],
        inputs: vec!["x".to_owned()],
        outputs: vec!["y".to_owned()],
    }
}

fn soc() -> SocRef {
    SocRef {
        name: "vim3".to_owned(),
        digest: String::new(),
        enqueue_ns: Nanoseconds::ZERO,
        base_mw: Milliwatts::ZERO,
        io: "ddr".to_owned(),
    }
}

fn proof(value: Nanoseconds) -> Proof {
    Proof {
        value_ns: value,
        bound_ns: value,
        method: "frontier".to_owned(),
        scope: "stage".to_owned(),
        stopped_by: StoppedBy::Complete,
    }
}

/// A schedule of 10 ms of kernels: devices with their queues, and a kernel a command with device, queue, start and end in nanoseconds.
pub(super) fn schedule(devices: &[(&str, u32)], kernels: &[(&str, u32, u64, u64)]) -> Schedule {
    let count = u32::try_from(kernels.len()).unwrap();
    let devices = devices.iter().map(|&(name, queues)| {
        let own = kernels.iter().filter(|kernel| kernel.0 == name).count();
        ScheduledDevice {
            name: name.to_owned(),
            device: format!("the device of {name}"),
            queues,
            kernels: u32::try_from(own).unwrap(),
        }
    });
    let commands = (0..)
        .zip(kernels)
        .map(|(index, &(device, queue, start, end))| {
            let mut command = ScheduledCommand {
                kernel: format!("kernel_{index}"),
                function: "product".to_owned(),
                component: index,
                what: CommandKind::Launch,
                device: device.to_owned(),
                queue,
                start_ns: Nanoseconds::new(start),
                end_ns: Nanoseconds::new(end),
            };
            if index % 2 == 1 {
                "softmax".clone_into(&mut command.function);
            }
            command
        });
    Schedule {
        schema: SCHEMA,
        kind: ScheduleKind::Schedule,
        graph: "sample".to_owned(),
        policy: "heft".to_owned(),
        rule: None,
        devices: devices.collect(),
        kernels: count,
        components: count,
        frames: 20,
        total_ns: Nanoseconds::new(10_000_000),
        device_span_ns: Nanoseconds::new(9_000_000),
        overhead_ns: Nanoseconds::new(1_000_000),
        host_ns: Nanoseconds::new(100_000),
        commands: commands.collect(),
    }
}
