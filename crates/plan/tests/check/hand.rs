//! Plans written by hand, with their arithmetic in `why`, against facts written apart.

use std::path::PathBuf;

use paracompile_plan::plan::{Layout, Plan};
use paracompile_plan::{
    Bytes, FusionFault, Place, Violation, check, check_structure, read_plan, write_json,
};

use crate::facts::{PLANS, of_plan};

pub(crate) fn path(name: &str) -> PathBuf {
    [
        env!("CARGO_MANIFEST_DIR"),
        "tests/plans",
        &format!("{name}.json"),
    ]
    .iter()
    .collect()
}

pub(crate) fn plan(name: &str) -> Plan {
    read_plan(&path(name)).unwrap()
}

#[test]
fn plans_written_by_hand_have_no_violation() {
    for name in PLANS {
        let (model, costs) = of_plan(name);
        let plan = plan(name);
        assert_eq!(check(&plan, &model, &costs), [], "{name}");
        assert_eq!(check_structure(&plan, &model), [], "{name}");
    }
}

#[test]
fn every_plan_file_is_known_to_the_tests() {
    let directory = path("x");
    let mut files: Vec<String> = std::fs::read_dir(directory.parent().unwrap())
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    files.sort();
    let mut known = PLANS.map(str::to_owned).to_vec();
    known.sort();
    assert_eq!(files, known);
}

#[test]
fn a_plan_survives_writing_and_reading_byte_for_byte() {
    let directory = tempfile::tempdir().unwrap();
    for name in PLANS {
        let first = directory.path().join("first.json");
        let second = directory.path().join("second.json");
        write_json(&first, &plan(name)).unwrap();
        let read = read_plan(&first).unwrap();
        assert_eq!(read, plan(name));
        write_json(&second, &read).unwrap();
        assert_eq!(
            std::fs::read(&first).unwrap(),
            std::fs::read(&second).unwrap()
        );
    }
}

#[test]
fn a_memory_that_is_too_small_is_named_with_need_and_limit() {
    let (model, mut costs) = of_plan("single");
    costs.memories[0].limit = Some(Bytes::new(1563));
    let found = check(&plan("single"), &model, &costs);
    assert_eq!(
        found,
        [Violation::MemoryExceeded {
            memory: "ddr".to_owned(),
            need: Bytes::new(1564),
            limit: Bytes::new(1563),
        }]
    );
    assert_eq!(
        found[0].to_string(),
        "predicted.memory: ddr needs 1564, but has 1563"
    );
}

#[test]
fn an_operator_that_the_processor_lacks_is_a_violation() {
    let (model, mut costs) = of_plan("single");
    costs.operators[2][0] = None;
    let found = check(&plan("single"), &model, &costs);
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].to_string(),
        "tasks[1]: big does not support node 3 (y)"
    );
}

#[test]
fn a_move_without_a_link_is_a_violation() {
    let (model, mut costs) = of_plan("two_stages");
    costs.links.remove(1);
    let found = check(&plan("two_stages"), &model, &costs);
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].to_string(),
        "transfers[2]: the profile has no link from gmem to ddr"
    );
}

#[test]
fn fusing_past_a_network_output_or_an_outside_reader_is_illegal() {
    let (mut model, _) = of_plan("single");
    model.outputs.push(2);
    let mut plan = plan("single");
    plan.model.outputs.push("c".to_owned());
    let faults = |plan: &Plan, model: &_| -> Vec<FusionFault> {
        (check_structure(plan, model).into_iter())
            .filter_map(|violation| {
                if let Violation::IllegalFusion { fault, .. } = violation {
                    Some(fault)
                } else {
                    None
                }
            })
            .collect()
    };
    assert_eq!(faults(&plan, &model), [FusionFault::NetworkOutput]);
    model.outputs.pop();
    plan.model.outputs.pop();
    model.operators[2].reads.push(2);
    assert_eq!(faults(&plan, &model), [FusionFault::ReadElsewhere]);
    model.operators[2].reads.pop();
    model.operators[1].reads = vec![0];
    assert_eq!(faults(&plan, &model), [FusionFault::Unconnected]);
}

#[test]
fn a_cycle_over_two_queues_is_a_deadlock() {
    let (model, _) = of_plan("lanes");
    let mut plan = plan("lanes");
    // Launch b waits for launch y, which waits for launch b.
    plan.frame[2].wait[0].command = 3;
    let found = check_structure(&plan, &model);
    assert!(
        found.contains(&Violation::Deadlock { waiting: 3 }),
        "{found:?}"
    );
}

#[test]
fn a_missing_back_pressure_wait_lets_a_copy_be_overwritten() {
    let (model, _) = of_plan("skip");
    let mut plan = plan("skip");
    plan.frame[0].wait.pop();
    let overwritten: Vec<String> = (check_structure(&plan, &model).into_iter())
        .filter(|violation| matches!(violation, Violation::Overwritten { .. }))
        .map(|violation| violation.to_string())
        .collect();
    assert_eq!(
        overwritten,
        ["buffers[2]: stage 0 may overwrite a copy that stage 2 still reads"]
    );
}

#[test]
fn all_violations_are_reported_at_once_in_a_fixed_order() {
    let (model, costs) = of_plan("two_readers");
    let mut plan = plan("two_readers");
    plan.buffers[3].layout = Layout::Nchw;
    plan.tasks[1].start_ns = plan.tasks[0].start_ns;
    plan.soc.name = "other".to_owned();
    let found = check(&plan, &model, &costs);
    let places = [Place::Soc, Place::Task(1), Place::Buffer(3)];
    for place in places {
        assert!(
            (found.iter()).any(
                |violation| matches!(violation, Violation::Differs { at, .. } if *at == place)
            ),
            "{place} is missing in {found:?}"
        );
    }
    assert!(found.is_sorted());
}

#[test]
fn absurd_sizes_are_refused_without_work() {
    let (model, costs) = of_plan("single");
    let mut plan = plan("single");
    plan.processors = vec![plan.processors[0].clone(); 100_000];
    plan.stages = vec![plan.stages[0].clone(); 100_000];
    plan.tasks = vec![plan.tasks[0].clone(); 100_000];
    let found = check(&plan, &model, &costs);
    assert!(
        found
            .iter()
            .any(|violation| matches!(violation, Violation::TooMany { count: 100_000, .. }))
    );
}
