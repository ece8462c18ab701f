//! How long each step of a compile run takes, and the whole of it, on networks of `models/`.
//!
//! Times on a shared machine vary; `docs/performance.md` says what is expected of them.
//! Nothing here asserts: whether results are right is for tests.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use divan::{Bencher, black_box};
use paracompile::compile::{Compiled, Options, PlanFile, Progress, compile};
use paracompile::constraints::Constraints;
use paracompile::cost::{CostOverrides, CostTable, cost_facts};
use paracompile::emit::{self, Claim, Emission, Goal};
use paracompile::estimate::evaluate;
use paracompile::facts::model_facts;
use paracompile::front::EnergyAxis;
use paracompile::import::{ImportOptions, import};
use paracompile::ir::VerifiedGraph;
use paracompile::mapping::{Budget, Effort, Granularity};
use paracompile::partition::{CutRule, fuse, segment};
use paracompile::plan::{StoppedBy, check};
use paracompile::simulate::{Links, SimulateOptions, simulate};
use paracompile::soc::Soc;
use paracompile_frontend::import::onnx::import_bytes;
use paracompile_testkit::onnx;

const MODELS: [&str; 3] = ["googlenet", "inception_v3", "inception_v4"];

fn main() {
    divan::main();
}

fn path(model: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("models/{model}.onnx"))
}

fn graph(model: &str) -> VerifiedGraph {
    import(&path(model), &ImportOptions::default())
        .expect("the models of the repository import")
        .graph
}

/// A chain of nodes as a file, in reverse order, so that ordering has something to do.
fn chain(nodes: usize) -> Bytes {
    let name = |index: usize| format!("t{index}");
    let link = |index: usize| {
        let operand = index.checked_sub(1).map_or_else(|| "x".to_owned(), name);
        onnx::node("Relu", &[&operand], &[&name(index)], &[])
    };
    let graph = onnx::Graph {
        nodes: (0..nodes).rev().map(link).collect(),
        inputs: vec![onnx::fixed("x", onnx::dtype::FLOAT, &[1, 4, 8, 8])],
        outputs: vec![onnx::Message::new().text(1, &name(nodes - 1))],
        ..onnx::Graph::default()
    };
    Bytes::from(graph.model(17))
}

#[divan::bench(args = [1_000, 10_000, 100_000])]
fn import_of_nodes(bencher: Bencher<'_, '_>, nodes: usize) {
    let file = chain(nodes);
    let options = ImportOptions::default();
    bencher.bench(|| import_bytes("chain", black_box(&file), &options));
}

fn table(graph: &VerifiedGraph) -> CostTable {
    let soc = Soc::builtin("vim3").expect("vim3 is built in");
    CostTable::new(graph, &soc, &CostOverrides::default(), None)
        .expect("vim3 has costs for the models of the repository")
}

fn compiled(graph: &VerifiedGraph, table: &CostTable) -> Compiled {
    let options = Options {
        goal: Goal::Balanced,
        granularity: Granularity::Auto,
        cuts: CutRule::default(),
        max_stages: None,
        gap_millionths: 0,
        effort: Effort::Normal,
        energy: EnergyAxis::ByProduct,
        points: None,
        queues: &[],
        tasks: None,
        clustering: None,
        budget: Budget::UNLIMITED,
        constraints: &Constraints::NONE,
        progress: Progress(&|_| {}),
    };
    compile(graph, table, &options).expect("the models of the repository can be mapped to vim3")
}

/// The recommended plan.
fn recommended(compiled: &Compiled) -> &PlanFile {
    let is_recommended = |file: &&PlanFile| file.file == compiled.front.recommended;
    let found = compiled.files.iter().find(is_recommended);
    found.expect("the recommended plan is one of the files")
}

#[divan::bench(args = MODELS)]
fn import_model(bencher: Bencher<'_, '_>, model: &str) {
    let path = path(model);
    bencher.bench_local(|| import(black_box(&path), &ImportOptions::default()));
}

#[divan::bench(args = MODELS)]
fn cost_table(bencher: Bencher<'_, '_>, model: &str) {
    let graph = graph(model);
    bencher.bench_local(|| table(black_box(&graph)));
}

#[divan::bench(args = MODELS)]
fn partition(bencher: Bencher<'_, '_>, model: &str) {
    let graph = graph(model);
    bencher.bench_local(|| segment(fuse(black_box(&graph))));
}

/// Everything between reading the model and writing files.
#[divan::bench(args = MODELS, sample_count = 10)]
fn whole_compile(bencher: Bencher<'_, '_>, model: &str) {
    let graph = graph(model);
    let table = table(&graph);
    bencher.bench_local(|| compiled(black_box(&graph), &table));
}

#[divan::bench(args = MODELS)]
fn estimate(bencher: Bencher<'_, '_>, model: &str) {
    let graph = graph(model);
    let table = table(&graph);
    let compiled = compiled(&graph, &table);
    let file = recommended(&compiled);
    bencher.bench_local(|| {
        evaluate(
            &compiled.segments.graph,
            &graph,
            &table,
            black_box(&file.mapping),
        )
    });
}

#[divan::bench(args = MODELS)]
fn emit_plan(bencher: Bencher<'_, '_>, model: &str) {
    let graph = graph(model);
    let table = table(&graph);
    let compiled = compiled(&graph, &table);
    let file = recommended(&compiled);
    let claim = Claim {
        method: "bench".to_owned(),
        scope: "bench".to_owned(),
        stopped_by: StoppedBy::Complete,
    };
    bencher.bench_local(|| {
        emit::plan(black_box(&Emission {
            graph: &graph,
            fused: &compiled.segments.graph,
            table: &table,
            mapping: &file.mapping,
            estimate: &file.estimate,
            labels: &[],
            claim: &claim,
            constraints: &[],
            tasks: None,
        }))
    });
}

#[divan::bench(args = MODELS)]
fn check_plan(bencher: Bencher<'_, '_>, model: &str) {
    let graph = graph(model);
    let table = table(&graph);
    let (facts, costs) = (model_facts(&graph), cost_facts(&graph, &table));
    let compiled = compiled(&graph, &table);
    let plan = &recommended(&compiled).plan;
    bencher.bench_local(|| check(black_box(plan), &facts, &costs));
}

#[divan::bench(args = [("googlenet", Links::Parallel), ("inception_v4", Links::Parallel), ("inception_v4", Links::Serial)])]
fn simulate_50_frames(bencher: Bencher<'_, '_>, (model, links): (&str, Links)) {
    let graph = graph(model);
    let table = table(&graph);
    let compiled = compiled(&graph, &table);
    let plan = &recommended(&compiled).plan;
    let options = SimulateOptions {
        links,
        ..SimulateOptions::default()
    };
    bencher.bench_local(|| simulate(black_box(plan), &options));
}
