//! Dimensions that a file leaves open: symbols, extents that depend on values, and declarations that say something else.

use bytes::Bytes;
use paracompile_frontend::import::onnx::{
    ImportError, ImportOptions, Imported, Outcome, Problem, Warning, examine_bytes, import_bytes,
};
use paracompile_testkit::onnx::{Dim, Graph, Message, dtype, in_domain, node, value};

use Dim::{Symbol, Unknown, Value};

fn options(dims: &[(&str, u64)]) -> ImportOptions {
    let dims = dims.iter().map(|&(name, extent)| (name.to_owned(), extent));
    ImportOptions {
        dims: dims.collect(),
        ..ImportOptions::default()
    }
}

fn read(graph: &Graph, dims: &[(&str, u64)]) -> Result<Imported, ImportError> {
    import_bytes("test", &Bytes::from(graph.model(17)), &options(dims))
}

fn shape(imported: &Imported) -> &[u64] {
    &imported.graph.tensors[imported.graph.outputs[0]].shape.0
}

/// Two inputs, each with a symbol of its own, that are added.
fn sum() -> Graph {
    Graph {
        nodes: vec![node("Add", &["a", "b"], &["y"], &[])],
        inputs: vec![
            value("a", dtype::FLOAT, &[Symbol("N"), Value(4)]),
            value("b", dtype::FLOAT, &[Symbol("M"), Value(4)]),
        ],
        outputs: vec![value("y", dtype::FLOAT, &[Symbol("N"), Value(4)])],
        ..Graph::default()
    }
}

#[test]
fn symbols_that_cannot_be_unified_show_what_each_operand_is() {
    assert_eq!(shape(&read(&sum(), &[("N", 3), ("M", 3)]).unwrap()), [3, 4]);
    let error = read(&sum(), &[("N", 3), ("M", 2)]).unwrap_err();
    let ImportError::Invalid(problems) = error else {
        panic!("{error}");
    };
    let [Problem::Node { operands, .. }] = problems.as_slice() else {
        panic!("{problems:?}");
    };
    let shown: Vec<_> = operands
        .iter()
        .map(|operand| (operand.tensor.as_str(), operand.found.as_str()))
        .collect();
    assert_eq!(shown, [("a", "float [3, 4]"), ("b", "float [2, 4]")]);
    assert_eq!(
        problems[0].to_string(),
        "node 0 (Add): shapes [3, 4] and [2, 4] do not fit: they cannot be broadcast to each other"
    );
    assert!(problems[0].remedy().unwrap().contains("--dim"));
}

#[test]
fn a_symbol_that_a_result_does_not_have_is_a_contradiction() {
    // One row is broadcast to three, so the result is no [N, 4].
    let imported = read(&sum(), &[("N", 1), ("M", 3)]).unwrap();
    assert_eq!(shape(&imported), [3, 4]);
    let [Warning::Contradictions(found)] = imported.warnings.as_slice() else {
        panic!("{:?}", imported.warnings);
    };
    assert_eq!(found[0].declared, "float [N, 4]");
    assert_eq!(found[0].inferred, "float [3, 4]");
}

/// `x` of twelve numbers to the places of those that are not zero, which somebody declares.
fn places(declared: Message) -> Graph {
    Graph {
        nodes: vec![
            node("NonZero", &["x"], &["places"], &[]),
            node(
                "Cast",
                &["places"],
                &["y"],
                &[("to", paracompile_testkit::onnx::Attribute::Int(1))],
            ),
        ],
        inputs: vec![value("x", dtype::FLOAT, &[Value(3), Value(4)])],
        outputs: vec![Message::new().text(1, "y")],
        declared: vec![declared],
        ..Graph::default()
    }
}

#[test]
fn extents_that_depend_on_values_are_bounded_or_said() {
    let graph = places(value("places", dtype::INT64, &[Value(2), Symbol("hits")]));
    let imported = read(&graph, &[]).unwrap();
    assert_eq!(shape(&imported), [2, 12]);
    let bound = Warning::TakenAtMost(vec!["places[1] <= 12".to_owned()]);
    assert_eq!(imported.warnings, [bound]);
    // The symbol that the file has for it, or the axis itself.
    for hint in ["hits", "places[1]"] {
        let imported = read(&graph, &[(hint, 5)]).unwrap();
        assert_eq!(shape(&imported), [2, 5], "{hint}");
        assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    }
    let error = read(&graph, &[("hits", 13)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "node 0 (NonZero): axis 1 is said to have extent 13, but it has at most 12"
    );
}

#[test]
fn a_declaration_that_is_half_a_shape_asks_for_the_other_half() {
    let mut graph = Graph {
        nodes: vec![
            in_domain("com.example", node("Mystery", &["x"], &["h"], &[])),
            node("Relu", &["h"], &["y"], &[]),
        ],
        inputs: vec![value("x", dtype::FLOAT, &[Value(4)])],
        outputs: vec![Message::new().text(1, "y")],
        ..Graph::default()
    };
    graph.declared = vec![value(
        "h",
        dtype::INT64,
        &[Symbol("rows"), Unknown, Value(7)],
    )];
    let error = read(&graph, &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "node 0 (com.example.Mystery): the shape of its result `h` is declared as int64 [rows, ?, 7] alone; say the rest with --dim 'rows=N' --dim 'h[1]=N'"
    );
    let imported = read(&graph, &[("rows", 2), ("h[1]", 3)]).unwrap();
    assert_eq!(shape(&imported), [2, 3, 7]);
}

#[test]
fn a_shape_that_an_input_gives_can_be_said() {
    let graph = Graph {
        nodes: vec![
            node("Relu", &["x"], &["r"], &[]),
            node("Reshape", &["r", "s"], &["h"], &[]),
            node("Relu", &["h"], &["y"], &[]),
        ],
        inputs: vec![
            value("x", dtype::FLOAT, &[Value(4), Value(6)]),
            value("s", dtype::INT64, &[Value(2)]),
        ],
        outputs: vec![Message::new().text(1, "y")],
        ..Graph::default()
    };
    let error = read(&graph, &[]).unwrap_err();
    assert!(
        error.to_string().contains("`shape` must be a constant"),
        "{error}"
    );
    let imported = read(&graph, &[("h[0]", 3), ("h[1]", 8)]).unwrap();
    assert_eq!(shape(&imported), [3, 8]);
    assert!(imported.depends_on_values);
}

#[test]
fn a_symbol_that_serves_nothing_is_reported() {
    let graph = sum();
    let mut open = graph.clone();
    open.outputs = vec![value("y", dtype::FLOAT, &[Symbol("rows"), Value(4)])];
    let imported = read(&open, &[("N", 3), ("M", 3), ("rows", 3)]).unwrap();
    let unused = Warning::UnusedHints(vec!["rows".to_owned()]);
    assert_eq!(imported.warnings, [unused]);
    assert!(!imported.depends_on_values);
}

#[test]
fn an_examination_lists_symbols_and_what_else_is_unknown() {
    let mut graph = sum();
    graph.nodes = vec![
        in_domain("com.example", node("Mystery", &["a"], &["h"], &[])),
        node("Add", &["h", "b"], &["y"], &[]),
    ];
    let bytes = Bytes::from(graph.model(17));
    let examined = examine_bytes("test", &bytes, &ImportOptions::default()).unwrap();
    let Outcome::Incomplete { unbound, missing } = examined.outcome else {
        panic!("the dimensions are open");
    };
    let names: Vec<_> = unbound.iter().map(|symbol| symbol.name.as_str()).collect();
    assert_eq!(names, ["N", "M"]);
    assert!(matches!(missing.as_slice(), [Problem::UnknownShape { tensor, .. }] if tensor == "h"));
    assert_eq!(examined.inputs[0].1, "float [N, 4]");
    // What no binding could mend is a failure here too.
    graph.nodes.push(node("Relu", &["nobody"], &["z"], &[]));
    let bytes = Bytes::from(graph.model(17));
    let error = examine_bytes("test", &bytes, &ImportOptions::default()).unwrap_err();
    assert!(error.to_string().contains("`nobody`"), "{error}");
}
