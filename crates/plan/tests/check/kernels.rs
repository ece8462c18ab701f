//! What tasks of kernel graphs launch: a plan that agrees with itself, and one edit for each way in which it does not.

use std::collections::BTreeMap;

use paracompile_plan::facts::{ArgumentFacts, LaunchFacts, ModelFacts};
use paracompile_plan::plan::{KernelArgument, ModelKind, Plan, TaskKernel};
use paracompile_plan::{Bytes, check_structure};

use crate::facts::of_plan;
use crate::hand::plan;

/// `x -> a, x -> b, then a, b -> y`: the plan `lanes` with a kernel for each operator; buffers 0 to 3 are x, y, a and b.
fn kernels() -> Plan {
    let mut plan = plan("lanes");
    plan.model.kind = ModelKind::Kernels;
    for task in &mut plan.tasks {
        let reads = task.reads.iter().map(|&buffer| KernelArgument::In(buffer));
        let writes = task
            .writes
            .iter()
            .map(|&buffer| KernelArgument::Out(buffer));
        let scalar = KernelArgument::Scalar {
            dtype: "int".to_owned(),
            value: "3".to_owned(),
        };
        let local = KernelArgument::Local(Bytes::new(64));
        task.kernel = Some(TaskKernel {
            component: None,
            file: "k.cl".to_owned(),
            function: "k".to_owned(),
            defines: BTreeMap::new(),
            global: vec![64, 8],
            local: Some(vec![16, 8]),
            arguments: reads.chain(writes).chain([scalar, local]).collect(),
        });
    }
    plan
}

/// What the checker says of an edited plan.
fn said(edit: impl FnOnce(&mut Plan)) -> Vec<String> {
    let (mut model, _) = of_plan("lanes");
    model.kind = ModelKind::Kernels;
    let mut plan = kernels();
    edit(&mut plan);
    let found = check_structure(&plan, &model);
    found.iter().map(ToString::to_string).collect()
}

fn kernel(plan: &mut Plan, task: usize) -> &mut TaskKernel {
    plan.tasks[task].kernel.as_mut().unwrap()
}

#[test]
fn kernels_that_launch_what_their_tasks_list_have_no_violation() {
    assert_eq!(said(|_| ()), [""; 0]);
    // The device may choose the work groups.
    assert_eq!(said(|plan| kernel(plan, 0).local = None), [""; 0]);
}

#[test]
fn every_task_of_a_kernel_graph_has_a_kernel_and_no_other_has_one() {
    assert_eq!(
        said(|plan| plan.tasks[1].kernel = None),
        ["tasks[1]: kernel is empty"]
    );
    let (model, _) = of_plan("lanes");
    let mut network = kernels();
    network.model.kind = ModelKind::Onnx;
    let found = check_structure(&network, &model);
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let each =
        |task| format!("tasks[{task}]: kernel names k, which does not exist or does not fit here");
    assert_eq!(found, [0, 1, 2].map(each));
}

type Edit = fn(&mut TaskKernel);

#[test]
fn texts_and_extents_of_a_kernel_are_not_empty() {
    let edits: [(Edit, &str); 2] = [
        (|kernel| kernel.file.clear(), "kernel.file"),
        (|kernel| kernel.function.clear(), "kernel.function"),
    ];
    for (edit, field) in edits {
        let found = said(|plan| edit(kernel(plan, 2)));
        assert_eq!(found, [format!("tasks[2]: {field} is empty")]);
    }
    let found = said(|plan| {
        kernel(plan, 2).global.clear();
        kernel(plan, 2).local = None;
    });
    assert_eq!(found, ["tasks[2]: kernel.global is empty"]);
}

#[test]
fn extents_are_one_to_three_and_groups_divide_them() {
    let wrong = |field: &str, value: &str| {
        [format!(
            "tasks[0]: kernel.{field} names {value}, which does not exist or does not fit here"
        )]
    };
    let global = |extents: &[u64]| {
        said(|plan| {
            kernel(plan, 0).global = extents.to_vec();
            kernel(plan, 0).local = None;
        })
    };
    assert_eq!(global(&[1, 2, 3, 4]), wrong("global", "[1, 2, 3, 4]"));
    assert_eq!(global(&[8, 0]), wrong("global", "[8, 0]"));
    assert_eq!(global(&[1, 2, 3]), [""; 0]);
    let local = |extents: &[u64]| said(|plan| kernel(plan, 0).local = Some(extents.to_vec()));
    for extents in [&[16][..], &[16, 8, 1], &[48, 8], &[16, 0]] {
        assert_eq!(local(extents), wrong("local", &format!("{extents:?}")));
    }
    assert_eq!(local(&[64, 1]), [""; 0]);
}

#[test]
fn arguments_are_the_buffers_that_the_task_lists() {
    let wrong = |side: &str, buffer: u32| {
        format!(
            "tasks[2]: kernel.arguments, {side} names buffer {buffer}, which does not exist or does not fit here"
        )
    };
    let arguments =
        |edit: fn(&mut Vec<KernelArgument>)| said(|plan| edit(&mut kernel(plan, 2).arguments));
    // The task reads buffers 2 and 3, and writes 1.
    assert_eq!(
        arguments(|list| drop(list.remove(1))),
        [wrong("read", 3)],
        "one that is listed and not given"
    );
    assert_eq!(
        arguments(|list| list.push(KernelArgument::In(0))),
        [wrong("read", 0)],
        "one that is given and not listed"
    );
    assert_eq!(
        arguments(|list| list[2] = KernelArgument::Out(0)),
        [wrong("written", 0), wrong("written", 1)]
    );
    assert_eq!(
        arguments(|list| list.push(KernelArgument::In(99))),
        [wrong("read", 99)],
        "one that does not exist"
    );
    // The same buffer may stand at two positions.
    assert_eq!(arguments(|list| list.push(KernelArgument::In(2))), [""; 0]);
}

/// The model with what the plan launches as what the specification says.
fn specified(plan: &Plan) -> ModelFacts {
    let (mut model, _) = of_plan("lanes");
    model.kind = ModelKind::Kernels;
    for task in &plan.tasks {
        let stated = task.kernel.as_ref().unwrap();
        let tensor = |buffer: &u32| {
            let name = &plan.buffers[*buffer as usize].tensor;
            let mut tensors = model.tensors.iter();
            tensors.position(|tensor| tensor.name == *name).unwrap()
        };
        let arguments = stated.arguments.iter().map(|argument| match argument {
            KernelArgument::In(buffer) => ArgumentFacts::In(tensor(buffer)),
            KernelArgument::Out(buffer) => ArgumentFacts::Out(tensor(buffer)),
            KernelArgument::InOut { read, write } => ArgumentFacts::InOut {
                read: tensor(read),
                written: tensor(write),
            },
            KernelArgument::Scalar { dtype, value } => ArgumentFacts::Scalar {
                dtype: dtype.clone(),
                value: value.clone(),
            },
            KernelArgument::Local(bytes) => ArgumentFacts::Local(*bytes),
        });
        let launch = LaunchFacts {
            file: stated.file.clone(),
            function: stated.function.clone(),
            defines: stated.defines.clone(),
            global: stated.global.clone(),
            local: stated.local.clone(),
            arguments: arguments.collect(),
        };
        let mut operators = model.operators.iter();
        let at = operators
            .position(|operator| operator.at == task.operators[0])
            .unwrap();
        model.operators[at].launch = Some(launch);
    }
    model
}

#[test]
fn launches_are_those_of_the_specification() {
    let model = specified(&kernels());
    assert_eq!(check_structure(&kernels(), &model), []);
    let edits: [(Edit, &str); 10] = [
        (|kernel| kernel.file = "other.cl".to_owned(), "file"),
        (|kernel| kernel.function = "other".to_owned(), "function"),
        (
            |kernel| drop(kernel.defines.insert("N".to_owned(), "2".to_owned())),
            "defines",
        ),
        (|kernel| kernel.global[0] = 128, "global"),
        (|kernel| kernel.local = None, "local"),
        // Both buffers are listed, and the kernel would get them the other way round.
        (|kernel| kernel.arguments.swap(0, 1), "arguments"),
        (
            |kernel| kernel.arguments.push(kernel.arguments[0].clone()),
            "arguments, how many",
        ),
        (
            |kernel| {
                kernel.arguments[3] = KernelArgument::Scalar {
                    dtype: "int".to_owned(),
                    value: "4".to_owned(),
                };
            },
            "arguments",
        ),
        (
            |kernel| kernel.arguments[4] = KernelArgument::Local(Bytes::new(65)),
            "arguments",
        ),
        (|kernel| kernel.arguments.swap(3, 4), "arguments"),
    ];
    for (edit, field) in edits {
        let mut plan = kernels();
        edit(kernel(&mut plan, 2));
        let found = check_structure(&plan, &model);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let place = format!("tasks[2]: kernel.{field} ");
        assert!(
            !found.is_empty() && found.iter().all(|one| one.starts_with(&place)),
            "{field}: {found:?}"
        );
    }
}

#[test]
fn what_is_changed_in_place_has_one_size() {
    // b (400 bytes) is changed into y (200 bytes).
    let changed = |plan: &mut Plan| {
        let arguments = &mut kernel(plan, 2).arguments;
        let (read, write) = (3, 1);
        arguments[1] = KernelArgument::InOut { read, write };
        arguments.remove(2);
    };
    let sizes = plan("lanes").buffers;
    assert_ne!(sizes[3].bytes, sizes[1].bytes);
    assert_eq!(
        said(changed),
        [
            "tasks[2]: kernel.arguments names buffers 3 and 1 of different sizes, which does not exist or does not fit here"
        ]
    );
}
