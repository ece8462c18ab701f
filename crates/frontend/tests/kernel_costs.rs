//! Cost tables of `PySchedCL` on kernel graphs: whose time they are, and every way in which a table can be wrong.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use paracompile_frontend::cost::{CostError, CostOverrides, CostTable, CostsFileError};
use paracompile_frontend::import::kernels::{KernelOptions, import, lower};
use paracompile_frontend::ir::VerifiedGraph;
use paracompile_frontend::soc::Soc;
use paracompile_plan::Seconds;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Two launches of `vsin`, and `vadd` of what they write.
fn graph() -> VerifiedGraph {
    let path = root().join("examples/kernels/vadd_vsin.json");
    lower(&import(&path, &KernelOptions::default()).unwrap()).unwrap()
}

/// A GPU and a CPU behind PCI Express, in this order.
fn soc() -> Soc {
    let soc = Soc::load(&root().join("profiles/examples/cpu-gpu-pcie.json")).unwrap();
    let processors = soc.processors.iter();
    let kinds: Vec<&str> = processors.map(|(_, one)| one.kind.as_str()).collect();
    assert_eq!(kinds, ["gpu", "cpu"]);
    soc
}

fn read(text: &str) -> Result<CostOverrides, CostsFileError> {
    CostOverrides::from_json(text, "costs.json")
}

fn table(graph: &VerifiedGraph, text: &str) -> Result<CostTable, CostError> {
    CostTable::new(graph, &soc(), &read(text).unwrap(), None)
}

/// Whole nanoseconds on GPU and CPU, by the name of a kernel.
fn times(text: &str) -> BTreeMap<String, [Option<u64>; 2]> {
    let graph = graph();
    let table = table(&graph, text).unwrap();
    let nanoseconds = |time: Seconds| time.to_nanoseconds().count();
    let operators = graph.ops.iter().map(|(id, op)| {
        let costs = table.operators[id].iter();
        let costs: Vec<Option<u64>> = costs
            .map(|cost| cost.as_ref().map(|cost| nanoseconds(cost.time)))
            .collect();
        (op.name.clone(), [costs[0], costs[1]])
    });
    operators.collect()
}

#[test]
fn gpus_take_the_one_time_and_cpus_the_other_for_every_launch_of_a_function() {
    let text = r#"{
        "vsin": {"exec_gpu": 2e-6, "exec_cpu": 9e-6, "h2d_time": 1, "gpu_delay": 1},
        "vadd": {"exec_cpu": 5e-6},
        "elsewhere": {"exec_gpu": 1}
    }"#;
    let found = times(text);
    let found: Vec<[Option<u64>; 2]> = found.values().copied().collect();
    let vsin = [Some(2000), Some(9000)];
    // By name: left.vsin, right.vsin, sum.vadd.
    assert_eq!(found, [vsin, vsin, [None, Some(5000)]]);
}

#[test]
fn a_kernel_without_any_time_is_refused_by_name() {
    let error = table(&graph(), r#"{"vsin": {"exec_gpu": 2e-6}}"#).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("1 kernel without a cost on any of the processors"),
        "{text}"
    );
    assert!(text.contains("sum") && text.contains("--costs"), "{text}");
}

#[test]
fn all_wrong_times_of_a_table_are_told_with_their_places() {
    let text = r#"{
        "a": {"exec_gpu": -1}, "b": {"exec_cpu": "fast"}, "c": {"h2d_time": 1},
        "d": {"exec_gpu": 1e9}, "e": 3, "f": {"exec_cpu": 1}
    }"#;
    let text = read(text).unwrap_err().to_string();
    for place in [
        "a.exec_gpu",
        "b.exec_cpu",
        "c",
        "exec_gpu",
        "d.exec_gpu",
        "e",
    ] {
        assert!(text.contains(place), "{place}: {text}");
    }
    assert!(!text.contains("f.exec_cpu"), "{text}");
}

#[test]
fn what_says_its_schema_is_no_table_of_kernels() {
    // Otherwise a kernel's name in it would hide that the rest is missing.
    let text = read(r#"{"schema": 1, "vsin": {"exec_gpu": 1}}"#);
    let text = text.unwrap_err().to_string();
    assert!(text.contains("graph_digest"), "{text}");
    assert!(read("{}").is_err());
}

#[test]
fn the_digest_of_the_costs_follows_the_times_and_not_their_order() {
    let digest = |text: &str| table(&graph(), text).unwrap().digest;
    let one = digest(r#"{"vsin": {"exec_gpu": 1e-6}, "vadd": {"exec_cpu": 2e-6}}"#);
    let turned = digest(r#"{"vadd": {"exec_cpu": 2e-6}, "vsin": {"exec_gpu": 1e-6}}"#);
    let other = digest(r#"{"vsin": {"exec_gpu": 1e-6}, "vadd": {"exec_gpu": 2e-6}}"#);
    assert_eq!(one, turned);
    assert_ne!(one, other);
}
