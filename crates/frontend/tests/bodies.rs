//! Nodes that stand for other nodes: functions, conditions, loops and scans; and what `--dim` says of extents that nothing else tells.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use bytes::Bytes;
use paracompile_frontend::import::onnx::{
    ImportError, ImportOptions, Imported, Warning, import_bytes,
};
use paracompile_frontend::ir::{Control, Op, OpKind};
use paracompile_plan::OpClass;
use paracompile_testkit::onnx::{
    Attribute, Graph, Message, dtype, fixed, function, in_domain, integers, node, tensor, zeros,
};

use Attribute::Graph as Body;
use Attribute::{Int, Ints, Reference};

fn read_bytes(bytes: Vec<u8>, dims: &[(&str, u64)]) -> Result<Imported, ImportError> {
    let dims = dims
        .iter()
        .map(|&(name, extent)| (name.to_owned(), extent))
        .collect();
    let options = ImportOptions {
        dims,
        ..ImportOptions::default()
    };
    import_bytes("test", &Bytes::from(bytes), &options)
}

fn read(graph: &Graph) -> Result<Imported, ImportError> {
    read_bytes(graph.model(17), &[])
}

fn with_functions(graph: &Graph, functions: &[Message]) -> Result<Imported, ImportError> {
    read_bytes(graph.model_with(17, functions), &[])
}

fn output(name: &str) -> Message {
    Message::new().text(1, name)
}

fn relu(from: &str, to: &str) -> Message {
    node("Relu", &[from], &[to], &[])
}

fn local(name: &str, inputs: &[&str], outputs: &[&str]) -> Message {
    in_domain("local", node(name, inputs, outputs, &[]))
}

/// `x` of four numbers through `nodes` to `y`.
fn network(nodes: Vec<Message>) -> Graph {
    Graph {
        nodes,
        inputs: vec![fixed("x", dtype::FLOAT, &[4])],
        outputs: vec![output("y")],
        ..Graph::default()
    }
}

/// Each operator as type, path and result.
fn placed(imported: &Imported) -> Vec<(&str, Vec<u32>, &str)> {
    let graph = &imported.graph;
    let ops = graph.ops.as_slice().iter();
    ops.map(|op| {
        let path = std::iter::once(op.at.node).chain(op.at.inside.iter().copied());
        let result = graph.tensors[op.outputs[0]].name.as_str();
        (op.op_type.as_str(), path.collect(), result)
    })
    .collect()
}

fn shape(imported: &Imported) -> &[u64] {
    &imported.graph.tensors[imported.graph.outputs[0]].shape.0
}

fn op<'a>(imported: &'a Imported, op_type: &str) -> &'a Op {
    let mut ops = imported.graph.ops.as_slice().iter();
    ops.find(|op| op.op_type == op_type).unwrap()
}

/// How often each class runs, by alternative.
fn ran(control: &Control) -> Vec<Vec<(OpClass, u64)>> {
    let alternatives = control.alternatives.iter();
    alternatives
        .map(|steps| steps.iter().map(|step| (step.class, step.times)).collect())
        .collect()
}

#[test]
fn calls_give_way_to_the_nodes_of_their_function() {
    let block = function(
        "Block",
        &["a", "unused"],
        &["c"],
        &[],
        &[relu("a", "b"), node("Add", &["b", "a"], &["c"], &[])],
        17,
    );
    let graph = network(vec![
        local("Block", &["x", ""], &["h"]),
        local("Block", &["h"], &["y"]),
    ]);
    let imported = with_functions(&graph, &[block]).unwrap();
    assert_eq!(
        placed(&imported),
        [
            ("Relu", vec![0, 0], "h/b"),
            ("Add", vec![0, 1], "h"),
            ("Relu", vec![1, 0], "y/b"),
            ("Add", vec![1, 1], "y"),
        ]
    );
    assert_eq!(imported.folded.calls.len(), 2);
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    let names: Vec<_> = imported
        .graph
        .ops
        .as_slice()
        .iter()
        .map(|op| &op.name)
        .collect();
    assert_eq!(names, ["Relu@0.0", "Add@0.1", "Relu@1.0", "Add@1.1"]);
}

#[test]
fn functions_have_attributes_and_operator_sets_of_their_own() {
    // Before version 13, axes were an attribute.
    let drop = function(
        "Drop",
        &["a"],
        &["b"],
        &["which"],
        &[node(
            "Squeeze",
            &["a"],
            &["b"],
            &[("axes", Reference("which"))],
        )],
        11,
    );
    let call = |attributes: &[(&str, Attribute<'_>)]| {
        let nodes = vec![
            relu("x", "h"),
            in_domain("local", node("Drop", &["h"], &["y"], attributes)),
        ];
        let mut graph = network(nodes);
        graph.inputs = vec![fixed("x", dtype::FLOAT, &[1, 4, 1])];
        with_functions(&graph, std::slice::from_ref(&drop)).unwrap()
    };
    assert_eq!(shape(&call(&[("which", Ints(&[0]))])), [4, 1]);
    // What a call leaves out is left out inside too.
    assert_eq!(shape(&call(&[])), [4]);
}

#[test]
fn functions_see_their_own_names_alone() {
    let blind = function(
        "Blind",
        &["a"],
        &["b"],
        &[],
        &[node("Add", &["a", "x"], &["b"], &[])],
        17,
    );
    let graph = network(vec![local("Blind", &["x"], &["y"])]);
    let error = with_functions(&graph, &[blind]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "node 0.0 (Add) in function `Blind`: reads `x`, which nothing writes"
    );
}

#[test]
fn a_function_that_hands_its_operand_through_is_an_alias() {
    let through = function("Through", &["a"], &["a"], &[], &[], 17);
    let graph = network(vec![local("Through", &["x"], &["h"]), relu("h", "y")]);
    let imported = with_functions(&graph, &[through]).unwrap();
    assert_eq!(placed(&imported), [("Relu", vec![1], "y")]);
}

#[test]
fn functions_that_call_themselves_are_refused() {
    let endless = function("F", &["a"], &["b"], &[], &[local("F", &["a"], &["b"])], 17);
    let graph = network(vec![local("F", &["x"], &["y"])]);
    let error = with_functions(&graph, &[endless]).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("or a function calls itself"), "{error}");
    assert!(error.contains("node 0.0.0"), "{error}");
}

#[test]
fn functions_that_double_thirty_times_are_refused_in_time() {
    let functions: Vec<Message> = (0..30)
        .map(|level| {
            let next = format!("F{}", level + 1);
            let nodes = [local(&next, &["a"], &["b"]), local(&next, &["b"], &["c"])];
            function(&format!("F{level}"), &["a"], &["c"], &[], &nodes, 17)
        })
        .chain([function("F30", &["a"], &["b"], &[], &[relu("a", "b")], 17)])
        .collect();
    let graph = network(vec![local("F0", &["x"], &["y"])]);
    let error = with_functions(&graph, &functions).unwrap_err();
    assert!(matches!(error, ImportError::TooLarge { .. }), "{error}");
}

/// `y = condition ? then : otherwise`, each a chain of operators on `x`.
fn condition(then: &[&str], otherwise: &[&str]) -> Message {
    let branch = |types: &[&str]| {
        let mut nodes = Vec::new();
        let mut from = "x".to_owned();
        for (index, op_type) in types.iter().enumerate() {
            let to = format!("{}{index}", types.len());
            nodes.push(node(op_type, &[&from], &[&to], &[]));
            from = to;
        }
        Graph {
            nodes,
            outputs: vec![output(&from)],
            ..Graph::default()
        }
        .encode()
    };
    node(
        "If",
        &["c"],
        &["y"],
        &[
            ("then_branch", Body(branch(then))),
            ("else_branch", Body(branch(otherwise))),
        ],
    )
}

#[test]
fn a_constant_condition_gives_way_to_the_branch_that_is_taken() {
    for (value, expected) in [
        (1, vec![("Relu", vec![0, 0, 0], "y")]),
        (
            0,
            vec![("Exp", vec![0, 1, 0], "20"), ("Neg", vec![0, 1, 1], "y")],
        ),
    ] {
        let mut graph = network(vec![condition(&["Relu"], &["Exp", "Neg"])]);
        graph.constants = vec![tensor("c", dtype::BOOL, &[], &[value])];
        let imported = read(&graph).unwrap();
        assert_eq!(placed(&imported), expected);
        assert_eq!(imported.folded.conditions.len(), 1);
        assert!(imported.warnings.is_empty());
    }
}

#[test]
fn conditions_inside_functions_inside_conditions_are_followed() {
    let inner = function(
        "Inner",
        &["x", "c"],
        &["y"],
        &[],
        &[condition(&["Relu"], &["Exp"])],
        17,
    );
    let taken = Graph {
        nodes: vec![local("Inner", &["x", "c"], &["r"])],
        outputs: vec![output("r")],
        ..Graph::default()
    };
    let other = Graph {
        outputs: vec![output("x")],
        ..Graph::default()
    };
    let mut graph = network(vec![node(
        "If",
        &["c"],
        &["y"],
        &[
            ("then_branch", Body(taken.encode())),
            ("else_branch", Body(other.encode())),
        ],
    )]);
    graph.constants = vec![tensor("c", dtype::BOOL, &[], &[1])];
    let imported = with_functions(&graph, &[inner]).unwrap();
    assert_eq!(placed(&imported), [("Relu", vec![0, 0, 0, 0, 0, 0], "y")]);
}

#[test]
fn a_condition_on_an_input_costs_the_dearest_branch() {
    let mut graph = network(vec![condition(&["Relu"], &["Exp", "Neg"])]);
    graph.inputs.push(fixed("c", dtype::BOOL, &[]));
    let imported = read(&graph).unwrap();
    let condition = op(&imported, "If");
    assert_eq!(condition.kind, OpKind::Compute(OpClass::Opaque));
    assert_eq!(
        ran(condition.control.as_ref().unwrap()),
        [
            vec![(OpClass::Activation, 1)],
            vec![(OpClass::Activation, 1), (OpClass::Activation, 1)]
        ]
    );
    assert_eq!(shape(&imported), [4]);
    assert_eq!(
        imported.warnings,
        [Warning::DearestBranch(vec!["y".to_owned()])]
    );
}

#[test]
fn branches_of_different_shapes_give_the_larger_one_or_what_is_said() {
    let branch = |name: &str, constant: &str| {
        Graph {
            nodes: vec![node("Tile", &["x", constant], &[name], &[])],
            constants: vec![integers(constant, &[if name == "once" { 1 } else { 3 }])],
            outputs: vec![output(name)],
            ..Graph::default()
        }
        .encode()
    };
    let mut graph = network(vec![node(
        "If",
        &["c"],
        &["y"],
        &[
            ("then_branch", Body(branch("once", "r"))),
            ("else_branch", Body(branch("thrice", "r"))),
        ],
    )]);
    graph.inputs.push(fixed("c", dtype::BOOL, &[]));
    let imported = read(&graph).unwrap();
    assert_eq!(shape(&imported), [12]);
    let bounds = Warning::TakenAtMost(vec!["y[0] <= 12".to_owned()]);
    assert!(
        imported.warnings.contains(&bounds),
        "{:?}",
        imported.warnings
    );
    let imported = read_bytes(graph.model(17), &[("y[0]", 4)]).unwrap();
    assert_eq!(shape(&imported), [4]);
    let error = read_bytes(graph.model(17), &[("y[0]", 13)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "node 0 (If): axis 0 is said to have extent 13, but it has at most 12"
    );
}

/// Multiplies `h`, which starts as `x`, by a weight as often as `trips` says, and stacks every value.
fn repeated(trips: Option<i64>) -> Graph {
    let body = Graph {
        nodes: vec![
            node("Mul", &["before", "w"], &["after"], &[]),
            node("Identity", &["after"], &["kept"], &[]),
        ],
        constants: vec![zeros("w", &[4])],
        inputs: vec![
            fixed("i", dtype::INT64, &[]),
            fixed("goes_on", dtype::BOOL, &[]),
            fixed("before", dtype::FLOAT, &[4]),
        ],
        outputs: vec![output("goes_on"), output("after"), output("kept")],
        ..Graph::default()
    };
    let operand = if trips.is_some() { "m" } else { "" };
    let mut graph = network(vec![
        node(
            "Loop",
            &[operand, "", "x"],
            &["h", "all"],
            &[("body", Body(body.encode()))],
        ),
        node("Add", &["h", "all"], &["y"], &[]),
    ]);
    if let Some(trips) = trips {
        graph
            .constants
            .push(tensor("m", dtype::INT64, &[], &trips.to_le_bytes()));
    }
    graph
}

#[test]
fn a_loop_costs_its_iterations_and_stacks_what_they_return() {
    let imported = read(&repeated(Some(7))).unwrap();
    let control = op(&imported, "Loop").control.as_ref().unwrap();
    assert_eq!(ran(control), [vec![(OpClass::Elementwise, 7)]]);
    assert_eq!(shape(&imported), [7, 4]);
    let weights: Vec<_> = op(&imported, "Loop").inputs.iter().flatten().collect();
    assert!(
        weights
            .iter()
            .any(|&&id| imported.graph.tensors[id].name == "w"),
        "the weights of a body have to be in memory"
    );
    let warning = Warning::Iterations(vec![("h".to_owned(), 7)]);
    assert_eq!(imported.warnings, [warning]);
}

/// A loop of four iterations whose body returns its condition, what it carries and what it stacks.
fn four_times(nodes: Vec<Message>, carried: &[&str], results: &[&str], opened: usize) -> Graph {
    let mut inputs = vec![
        fixed("i", dtype::INT64, &[]),
        fixed("goes_on", dtype::BOOL, &[]),
    ];
    inputs.extend(carried.iter().map(|name| output(name)));
    let body = Graph {
        nodes,
        inputs,
        outputs: results.iter().map(|name| output(name)).collect(),
        ..Graph::default()
    };
    let operands: Vec<&str> = ["m", ""]
        .into_iter()
        .chain(vec!["x"; carried.len()])
        .collect();
    let outputs = ["o0", "o1", "o2"];
    let mut graph = network(vec![
        node(
            "Loop",
            &operands,
            &outputs[..results.len() - 1],
            &[("body", Body(body.encode()))],
        ),
        relu(outputs[opened], "y"),
    ]);
    graph.constants = vec![tensor("m", dtype::INT64, &[], &4_i64.to_le_bytes())];
    graph
}

#[test]
fn a_loop_that_may_end_early_stacks_no_more_than_it_can() {
    let nodes = || {
        vec![
            node("ReduceSum", &["h"], &["sum"], &[("keepdims", Int(0))]),
            node("Cast", &["sum"], &["more"], &[("to", Int(9))]),
            relu("h", "next"),
        ]
    };
    let graph = four_times(nodes(), &["h"], &["more", "next", "next"], 1);
    let imported = read(&graph).unwrap();
    assert_eq!(shape(&imported), [4, 4]);
    let bound = Warning::TakenAtMost(vec!["o1[0] <= 4".to_owned()]);
    assert!(
        imported.warnings.contains(&bound),
        "{:?}",
        imported.warnings
    );
    assert!(imported.depends_on_values);
    let exact = four_times(nodes(), &["h"], &["goes_on", "next", "next"], 1);
    assert!(!read(&exact).unwrap().depends_on_values);
}

#[test]
fn a_value_that_grows_makes_all_that_are_carried_unknown() {
    // The first grows, and the second takes its place in the next iteration.
    let nodes = vec![node("Concat", &["a", "a"], &["next"], &[("axis", Int(0))])];
    let graph = four_times(nodes, &["a", "b"], &["goes_on", "next", "a"], 1);
    let error = read(&graph).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the shape of its result `o1` is unknown"),
        "{error}"
    );
    let imported = read_bytes(graph.model(17), &[("o1[0]", 32)]).unwrap();
    assert_eq!(shape(&imported), [32]);
}

#[test]
fn what_a_loop_carries_is_no_constant_even_if_it_starts_as_one() {
    // The counter starts as a constant and grows, so the condition on it cannot be decided once.
    let branch = |op_type: &str| {
        Graph {
            nodes: vec![node(op_type, &["h"], &["r"], &[])],
            outputs: vec![output("r")],
            ..Graph::default()
        }
        .encode()
    };
    let body = Graph {
        nodes: vec![
            node("Add", &["count", "count"], &["next"], &[]),
            node("Cast", &["count"], &["c"], &[("to", Int(9))]),
            node(
                "If",
                &["c"],
                &["after"],
                &[
                    ("then_branch", Body(branch("Relu"))),
                    ("else_branch", Body(branch("Exp"))),
                ],
            ),
        ],
        inputs: ["i", "goes_on", "count", "h"].map(output).to_vec(),
        outputs: ["goes_on", "next", "after"].map(output).to_vec(),
        ..Graph::default()
    };
    let mut graph = network(vec![node(
        "Loop",
        &["m", "", "zero", "x"],
        &["", "y"],
        &[("body", Body(body.encode()))],
    )]);
    graph.constants = vec![
        tensor("m", dtype::INT64, &[], &4_i64.to_le_bytes()),
        tensor("zero", dtype::INT64, &[], &0_i64.to_le_bytes()),
    ];
    let imported = read(&graph).unwrap();
    let control = op(&imported, "Loop").control.as_ref().unwrap();
    let inner = control.alternatives[0]
        .iter()
        .find_map(|step| step.control.as_ref());
    assert_eq!(inner.unwrap().alternatives.len(), 2);
}

#[test]
fn a_loop_without_an_end_asks_for_the_number_of_its_iterations() {
    for trips in [None, Some(i64::MAX)] {
        let graph = repeated(trips);
        let error = read(&graph).unwrap_err();
        assert_eq!(
            error.to_string(),
            "node 0 (Loop): how often it runs is not known; say it with --dim 'h[trips]=N'"
        );
        let imported = read_bytes(graph.model(17), &[("h[trips]", 5)]).unwrap();
        assert_eq!(shape(&imported), [5, 4]);
    }
}

#[test]
fn a_scan_runs_as_often_as_its_axis_is_long() {
    let body = Graph {
        nodes: vec![
            node("Add", &["sum", "next"], &["total"], &[]),
            relu("total", "shown"),
        ],
        inputs: vec![output("sum"), output("next")],
        outputs: vec![output("total"), output("shown")],
        ..Graph::default()
    };
    let scan = node(
        "Scan",
        &["x", "frames"],
        &["last", "y"],
        &[
            ("body", Body(body.encode())),
            ("num_scan_inputs", Int(1)),
            ("scan_input_axes", Ints(&[1])),
            ("scan_output_axes", Ints(&[-1])),
        ],
    );
    let mut graph = network(vec![scan]);
    graph.inputs.push(fixed("frames", dtype::FLOAT, &[4, 9]));
    graph.outputs.push(output("last"));
    let imported = read(&graph).unwrap();
    assert_eq!(shape(&imported), [4, 9]);
    let last = imported.graph.outputs[1];
    assert_eq!(imported.graph.tensors[last].shape.0, [4]);
    let control = op(&imported, "Scan").control.as_ref().unwrap();
    assert_eq!(
        ran(control),
        [vec![(OpClass::Elementwise, 9), (OpClass::Activation, 9)]]
    );
}

#[test]
fn what_nothing_tells_of_a_result_can_be_said() {
    let graph = network(vec![
        in_domain("com.example", node("Mystery", &["x"], &["h"], &[])),
        relu("h", "y"),
    ]);
    let error = read(&graph).unwrap_err();
    assert_eq!(
        error.to_string(),
        "node 0 (com.example.Mystery): the shape of its result `h` is unknown; declare it under `value_info` (onnx.shape_inference, or the exporter's own), or say every axis of it: --dim 'h[0]=N' --dim 'h[1]=N' and so on"
    );
    let imported = read_bytes(graph.model(17), &[("h[0]", 3), ("h[1]", 5)]).unwrap();
    assert_eq!(shape(&imported), [3, 5]);
}

#[test]
fn what_is_known_needs_no_hint_and_what_is_not_there_takes_none() {
    let graph = network(vec![relu("x", "h"), relu("h", "y")]);
    let imported = read_bytes(graph.model(17), &[("h[0]", 4)]).unwrap();
    let unused = Warning::UnusedHints(vec!["h[0]".to_owned()]);
    assert_eq!(imported.warnings, [unused]);
    let error = read_bytes(graph.model(17), &[("g[0]", 4)]).unwrap_err();
    assert!(
        matches!(error, ImportError::UnknownSymbols { .. }),
        "{error}"
    );
}
