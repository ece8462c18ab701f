//! Stage mappings of the Inception family are proven optimal: those of plans and those that lost against them.

use std::path::Path;

use paracompile::cost::{CostOverrides, CostTable};
use paracompile::front::EnergyAxis;
use paracompile::import::{ImportOptions, import};
use paracompile::mapping::decompose::{MapperOptions, StageGraph, StageMapper};
use paracompile::mapping::{Budget, Effort, Granularity};
use paracompile::partition::{CutRule, fuse_for, segment_by};
use paracompile::pipeline::{MemoryDemand, Sources, pipelines};
use paracompile::plan::StoppedBy;
use paracompile::soc::{ProcessorSet, Soc};
use paracompile_plan::{Milliwatts, Nanoseconds};

fn check(model: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("models/{model}.onnx"));
    let graph = import(&path, &ImportOptions::default())
        .expect("models of the repository import")
        .graph;
    let soc = Soc::builtin("vim3").expect("vim3 is built in");
    let table = CostTable::new(&graph, &soc, &CostOverrides::default(), None)
        .expect("vim3 has costs for them");
    let segments = segment_by(fuse_for(&graph, &table), CutRule::default());
    let allowed = ProcessorSet::first(soc.processors.len());
    let mapper = StageMapper::new(
        StageGraph::new(&segments, &table, allowed),
        MapperOptions {
            granularity: Granularity::Auto,
            gap_millionths: 0,
            effort: Effort::Normal,
            shared_by: 1,
            energy: EnergyAxis::ByProduct,
            budget: Budget::UNLIMITED,
        },
    );
    mapper.prepare(&|_, _, _| ());
    let candidates = pipelines(
        Sources {
            fastest: &mapper,
            fastest_points: &table.operating_points,
            powers: &vec![Milliwatts::ZERO; soc.processors.len()],
            elsewhere: &[],
            most_labels: usize::MAX,
            longest: Nanoseconds::MAX,
            lean: &[],
            demand: &MemoryDemand::new(&segments.graph, &table),
        },
        segments.cuts.len(),
        allowed,
        allowed.len(),
        Budget::UNLIMITED,
    )
    .candidates;
    assert!(candidates.len() > 20, "{model}: {}", candidates.len());
    for candidate in &candidates {
        let stages = &candidate.mapping.stages;
        let bound: Nanoseconds = stages.iter().map(|stage| stage.proof.bound).sum();
        // The latency is the sum of the stages' values.
        assert_eq!(bound, candidate.cost.latency, "{model}: {stages:?}");
        for stage in stages {
            assert_eq!(
                stage.proof.stopped_by,
                StoppedBy::Complete,
                "{model}: {stage:?}"
            );
        }
    }
}

#[test]
fn every_stage_of_googlenet_is_proven_optimal() {
    check("googlenet");
}

#[test]
fn every_stage_of_inception_v3_is_proven_optimal() {
    check("inception_v3");
}

#[test]
fn every_stage_of_inception_v4_is_proven_optimal() {
    check("inception_v4");
}
