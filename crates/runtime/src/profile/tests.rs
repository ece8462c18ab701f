//! Profiles of this machine's CPU, measured with kernels that are the test's own.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use opencl3::device::SubDevice;
use paracompile_frontend::cost::{CostOverrides, CostTable};
use paracompile_frontend::import::onnx::{ImportOptions, load_bytes};
use paracompile_frontend::soc::{Soc, profile_text};
use paracompile_plan::OpClass;
use paracompile_plan::plan::Source as From;
use paracompile_testkit::onnx::{Attribute, Graph, dtype, fixed, node, zeros};

use super::run::profile_with;
use super::tasks::in_place;
use super::*;
use crate::execute::Bound;
use crate::lower::{Argument, Lowered, Phase, Source, Step, Target, Task, Unsupported};
use crate::opencl::{DeviceKind, devices};

/// The CPU of the machine in two parts, if it has one that can be split.
struct Halves {
    processors: Vec<ProfiledProcessor>,
    _parts: Vec<SubDevice>,
    /// Who measures wants the machine for himself; and drivers find their devices once.
    _alone: MutexGuard<'static, ()>,
}

static MACHINE: Mutex<()> = Mutex::new(());

fn halves() -> Halves {
    const BY_COUNTS: isize = 0x1087;
    let alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let device = devices()
        .unwrap()
        .into_iter()
        .find(|device| device.kind == DeviceKind::Cpu && device.compute_units > 1)
        .expect("tests need an OpenCL CPU device of two compute units");
    let parts = device
        .device
        .create_sub_devices(&[BY_COUNTS, 1, 1, 0, 0])
        .unwrap();
    let processors = ["big", "little"].into_iter().zip(&parts);
    Halves {
        processors: processors
            .map(|(name, part)| ProfiledProcessor {
                bound: Bound {
                    processor: name.to_owned(),
                    device: device.clone(),
                    id: part.id(),
                    units: 1,
                },
                spelled: "cpu/1".to_owned(),
            })
            .collect(),
        _parts: parts,
        _alone: alone,
    }
}

/// Two equal convolutions, each with an activation behind it, and something at the end.
fn model(last: &str) -> ProfiledModel {
    let convolution = |input, weight, output| {
        node(
            "Conv",
            &[input, weight],
            &[output],
            &[("pads", Attribute::Ints(&[1, 1, 1, 1]))],
        )
    };
    let graph = Graph {
        nodes: vec![
            convolution("x", "w1", "c1"),
            node("Relu", &["c1"], &["r1"], &[]),
            convolution("r1", "w2", "c2"),
            node("Relu", &["c2"], &["r2"], &[]),
            node(last, &["r2"], &["y"], &[("size", Attribute::Int(3))]),
        ],
        constants: vec![zeros("w1", &[4, 4, 3, 3]), zeros("w2", &[4, 4, 3, 3])],
        inputs: vec![fixed("x", dtype::FLOAT, &[1, 4, 32, 32])],
        outputs: vec![fixed("y", dtype::FLOAT, &[1, 4, 32, 32])],
        declared: Vec::new(),
    };
    let bytes = Bytes::from(graph.model(17));
    let program = load_bytes("tiny", &bytes, Path::new(""), &ImportOptions::default()).unwrap();
    ProfiledModel {
        name: "tiny".to_owned(),
        program,
    }
}

const STREAM: Source = Source {
    name: "stream.cl",
    text: "__kernel void stream(IN(float, x), OUT(float, y), const int n) {
        BIND_IN(float, x); BIND_OUT(float, y);
        const int i = get_global_id(0);
        float sum = 0.0f;
        for (int k = 0; k < n; k++) sum += x[i] * (float)k;
        y[i] = sum;
    }",
};

/// Every task as a kernel that takes longer where there is more to write; normalisations run nowhere.
fn stream(task: &Task<'_>, _target: &Target) -> Result<Lowered, Unsupported> {
    let site = &task.sites[0];
    if site.call.op_type == "LRN" {
        return Err(site.unsupported("the test has no kernel"));
    }
    let elements = site.result()?.elements();
    Ok(Lowered {
        steps: vec![Step {
            phase: Phase::Frame,
            source: STREAM,
            kernel: "stream",
            options: String::new(),
            arguments: vec![Argument::Operand(0), Argument::Result(0), Argument::Int(20)],
            global: vec![elements],
            local: None,
        }],
        ..Lowered::default()
    })
}

fn request(halves: &Halves, last: &str) -> ProfileRequest {
    ProfileRequest {
        name: "halves".to_owned(),
        models: vec![model(last)],
        graphs: Vec::new(),
        processors: halves.processors.clone(),
        budget: Duration::from_millis(500),
        queues: 2,
    }
}

fn measured(request: &ProfileRequest) -> Profiled {
    let running = AtomicBool::new(false);
    profile_with(request, &stream, &mut |_| (), &running).unwrap()
}

#[test]
fn a_profile_of_two_parts_loads_and_costs_every_operator_as_measured() {
    let halves = halves();
    let request = request(&halves, "Softmax");
    let profiled = measured(&request);
    let notices = profiled.report.notices.iter();
    // Whether something else ran meanwhile is not the profiler's fault.
    let odd: Vec<_> = notices
        .filter(|notice| notice.contains("not measured") || notice.contains("interrupted"))
        .collect();
    assert!(odd.is_empty(), "{odd:?}");
    let soc = Soc::from_json(&profile_text(&profiled.profile), "measured").unwrap();
    assert!(!soc.synthetic);
    let names: Vec<&str> = soc
        .processors
        .iter()
        .map(|(_, one)| one.name.as_str())
        .collect();
    assert_eq!(names, ["big", "little"]);
    assert_eq!(
        soc.memories.len(),
        1,
        "parts of one device share its memory"
    );
    assert_eq!(profiled.report.hops.len(), 1);
    assert_eq!(profiled.report.links, []);
    assert_eq!(soc.contention.len(), 1);
    let graph = &request.models[0].program.imported.graph;
    let overrides = CostOverrides::of(profiled.costs[0].1.clone());
    let table = CostTable::new(graph, &soc, &overrides, None).unwrap();
    for (id, op) in graph.ops.iter() {
        for cost in &table.operators[id] {
            let cost = cost.unwrap_or_else(|| panic!("{} has no cost", op.name));
            assert_eq!(cost.source, From::Measured, "{}", op.name);
            assert!(cost.time.value() > 0.0, "{}", op.name);
        }
    }
}

#[test]
fn equal_operators_are_measured_once_and_cost_the_same() {
    let halves = halves();
    let request = request(&halves, "Softmax");
    let profiled = measured(&request);
    let of = |class| {
        let tasks = profiled.report.tasks.iter();
        tasks.filter(move |task| task.class == class).count()
    };
    assert_eq!(of(OpClass::Conv), 2, "once on each processor");
    let times: Vec<u64> = profiled.costs[0]
        .1
        .entries
        .iter()
        .filter(|entry| entry.processor == "big" && [0, 2].contains(&entry.node))
        .map(|entry| entry.time_s.to_bits())
        .collect();
    assert_eq!(times.len(), 2);
    assert_eq!(times[0], times[1]);
}

#[test]
fn what_no_kernel_computes_is_named_and_costs_nothing() {
    let halves = halves();
    let profiled = measured(&request(&halves, "LRN"));
    let named = profiled.report.notices.iter();
    assert_eq!(
        named
            .filter(|notice| notice.contains("the test has no kernel"))
            .count(),
        2
    );
    let nodes: Vec<u32> = profiled.costs[0]
        .1
        .entries
        .iter()
        .map(|entry| entry.node)
        .collect();
    assert_eq!(nodes, [0, 0, 1, 1, 2, 2, 3, 3]);
}

#[test]
fn an_interrupt_before_the_first_operator_leaves_nothing_to_write() {
    let halves = halves();
    let stopped = AtomicBool::new(true);
    let result = profile_with(&request(&halves, "Softmax"), &stream, &mut |_| (), &stopped);
    assert!(matches!(result, Err(ProfileError::Interrupted)));
}

#[test]
fn files_are_written_and_read_back() {
    let halves = halves();
    let profiled = measured(&request(&halves, "Softmax"));
    let folder = tempfile::tempdir().unwrap();
    let files = save(
        &profiled,
        &folder.path().join("soc.json"),
        &folder.path().join("soc.costs"),
    )
    .unwrap();
    assert_eq!(files.costs, [folder.path().join("soc.costs/tiny.json")]);
    let text = std::fs::read_to_string(&files.profile).unwrap();
    assert!(text.contains("\"device\": \"cpu/1\""));
    Soc::from_json(&text, "soc.json").unwrap();
    paracompile_frontend::cost::read_overrides(&files.costs[0]).unwrap();
}

#[test]
fn a_concatenation_is_in_place_where_its_operands_are_written_here_and_seen_by_nobody_else() {
    let join = |operands: &[&str], output| {
        node(
            "Concat",
            operands,
            &[output],
            &[("axis", Attribute::Int(1))],
        )
    };
    let relu = |input, output| node("Relu", &[input], &[output], &[]);
    let graph = Graph {
        nodes: vec![
            relu("x", "a"),
            relu("a", "b"),
            join(&["a", "b"], "ab"),
            join(&["b", "ab"], "taken"),
            join(&["x", "ab"], "fed"),
            relu("taken", "y"),
            relu("fed", "z"),
        ],
        constants: Vec::new(),
        inputs: vec![fixed("x", dtype::FLOAT, &[1, 2, 3])],
        outputs: vec![
            fixed("y", dtype::FLOAT, &[1, 6, 3]),
            fixed("z", dtype::FLOAT, &[1, 6, 3]),
        ],
        declared: Vec::new(),
    };
    let bytes = Bytes::from(graph.model(17));
    let program = load_bytes("joins", &bytes, Path::new(""), &ImportOptions::default()).unwrap();
    let found = in_place(&program);
    let found: Vec<&str> = found
        .iter()
        .map(|&id| program.imported.graph.ops[id].at.output.as_str())
        .collect();
    assert_eq!(found, ["ab"]);
}
