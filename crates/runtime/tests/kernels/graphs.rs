//! Kernel graphs of tests: files that are written into a folder of their own.

use std::path::{Path, PathBuf};

use paracompile_frontend::import::kernels::KernelOptions;
use paracompile_runtime::users::{KernelProgram, LoadError};
use tempfile::TempDir;

/// Kernels that the graphs of tests are made of.
pub(crate) const SOURCE: &str = "
__kernel void add(__global const float *a, __global const float *b, __global float *c)
{
    const int i = get_global_id(0);
    c[i] = a[i] + b[i];
}
__kernel void twice(__global const float *a, __global float *b)
{
    const int i = get_global_id(0);
    b[i] = 2.0f * a[i];
}
__kernel void shift(__global float *x, float by)
{
    x[get_global_id(0)] += by;
}
// The first half is changed before the second half reads it, if both arguments are one memory.
__kernel void mirror(__global float *x, __global const float *y)
{
    x[get_global_id(0)] += y[get_global_size(0) - 1 - get_global_id(0)];
}
// Takes a while, so that what should wait for it would be seen not to.
__kernel void slow(__global const float *a, __global float *b)
{
    const int i = get_global_id(0);
    float x = a[i];
    for (int k = 0; k < 20000; k++)
        x = x * 0.999f + 0.001f * a[i];
    b[i] = x > 1e30f ? x : a[i] + 1.0f;
}
";

/// Descriptions of the same, in our own format.
pub(crate) const KERNELS: &str = r#"[
    {"name": "add", "source": "k.cl", "function": "add", "global": ["n"], "arguments": [
        {"name": "a", "in": "float", "size": "n"}, {"name": "b", "in": "float", "size": "n"}, {"name": "c", "out": "float", "size": "n"}]},
    {"name": "twice", "source": "k.cl", "function": "twice", "global": ["n"], "arguments": [
        {"name": "a", "in": "float", "size": "n"}, {"name": "b", "out": "float", "size": "n"}]},
    {"name": "shift", "source": "k.cl", "function": "shift", "global": ["n"], "arguments": [
        {"name": "x", "inout": "float", "size": "n"}, {"name": "by", "scalar": "float", "value": 1.5}]},
    {"name": "mirror", "source": "k.cl", "function": "mirror", "global": ["n"], "arguments": [
        {"name": "x", "inout": "float", "size": "n"}, {"name": "y", "in": "float", "size": "n"}]},
    {"name": "slow", "source": "k.cl", "function": "slow", "global": ["n"], "arguments": [
        {"name": "a", "in": "float", "size": "n"}, {"name": "b", "out": "float", "size": "n"}]}
]"#;

/// A kernel graph of the kernels above: launches as `name kernel`, edges as `from -> to`.
pub(crate) fn text(launches: &[(&str, &str)], edges: &[(&str, &str)]) -> String {
    let launches = launches
        .iter()
        .map(|(name, kernel)| format!(r#"{{"name": "{name}", "kernel": "{kernel}"}}"#));
    let edges = edges
        .iter()
        .map(|(from, to)| format!(r#"{{"from": "{from}", "to": "{to}"}}"#));
    format!(
        r#"{{"schema": 1, "symbols": {{"n": 64}}, "kernels": {KERNELS}, "launches": [{}], "edges": [{}]}}"#,
        launches.collect::<Vec<_>>().join(", "),
        edges.collect::<Vec<_>>().join(", ")
    )
}

/// A graph from its text and that of `k.cl`, each in a file.
pub(crate) fn load(text: &str, source: Option<&str>) -> Result<KernelProgram, LoadError> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("graph.json");
    std::fs::write(&path, text).unwrap();
    if let Some(source) = source {
        std::fs::write(folder.path().join("k.cl"), source).unwrap();
    }
    KernelProgram::load(&path, &KernelOptions::default())
}

/// The graph of such launches and edges.
pub(crate) fn graph(launches: &[(&str, &str)], edges: &[(&str, &str)]) -> KernelProgram {
    load(&text(launches, edges), Some(SOURCE)).unwrap()
}

/// An example of the repository.
pub(crate) fn example(name: &str) -> KernelProgram {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kernels");
    KernelProgram::load(&folder.join(name), &KernelOptions::default()).unwrap()
}
