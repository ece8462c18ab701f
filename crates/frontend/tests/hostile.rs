//! Files that nobody exports: each must be refused or read in bounded time and memory, without a panic.
//!
//! Memory is counted by the allocator, so a bound says the same on every machine; `docs/fuzzing.md` states it.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use bytes::Bytes;
use paracompile_frontend::import::onnx::{
    Convolutions, ImportError, ImportOptions, Imported, Problem, import, import_bytes,
};
use paracompile_testkit::fuzz::memory;
use paracompile_testkit::fuzz::targets::{MEMORY_BASE, MEMORY_FACTOR};
use paracompile_testkit::onnx::{
    Attribute, Graph, Message, dtype, fixed, integers, node, tensor, zeros,
};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// As many as make a quadratic step show: ten thousand squared would be minutes.
const MANY: usize = 20_000;

#[track_caller]
fn read(file: Vec<u8>) -> Result<Imported, ImportError> {
    let file = Bytes::from(file);
    let (result, peak) = memory::peak(|| {
        let result = import_bytes("hostile", &file, &ImportOptions::default());
        if let Err(error) = &result {
            assert!(error.to_string().len() < 4 << 20, "a message of megabytes");
        }
        result
    });
    let bound = MEMORY_BASE + MEMORY_FACTOR * file.len();
    assert!(peak > 0, "the allocator counts");
    assert!(
        peak <= bound,
        "{peak} bytes for a file of {} bytes",
        file.len()
    );
    result
}

#[track_caller]
fn refused(file: Vec<u8>, expected: &str) {
    let message = read(file).unwrap_err().to_string();
    assert!(
        message.starts_with(expected),
        "{}",
        &message[..message.len().min(300)]
    );
}

fn output(name: &str) -> Message {
    Message::new().text(1, name)
}

fn graph(nodes: Vec<Message>) -> Graph {
    Graph {
        nodes,
        inputs: vec![fixed("x", dtype::FLOAT, &[1, 4, 8, 8])],
        outputs: vec![output("y")],
        ..Graph::default()
    }
}

fn relu(from: &str, to: &str) -> Message {
    node("Relu", &[from], &[to], &[])
}

/// `count` messages of the same two bytes in `field` of a graph with one node.
fn empty_messages(field: u8, count: usize) -> Vec<u8> {
    let mut body = graph(vec![relu("x", "y")]).encode().into_bytes();
    body.extend([field << 3 | 2, 0].repeat(count));
    Message::new()
        .int(1, 8)
        .bytes(7, &body)
        .message(8, &Message::new().int(2, 17))
        .into_bytes()
}

#[test]
fn a_header_may_claim_any_number_of_elements() {
    let claims = Graph {
        constants: vec![tensor("w", dtype::FLOAT, &[1 << 62], &[])],
        ..graph(vec![node("Add", &["x", "w"], &["y"], &[])])
    };
    refused(
        claims.model(17),
        "constant `w`: shape [4611686018427387904]: its size overflows 64 bits",
    );
    let overflows = Graph {
        inputs: vec![fixed("x", dtype::FLOAT, &[1 << 32, 1 << 32])],
        ..graph(vec![relu("x", "y")])
    };
    refused(
        overflows.model(17),
        "input `x`: float [4294967296, 4294967296] overflows",
    );
    // Length 2^62 of a field of the model itself.
    let mut field = vec![0x3a];
    field.extend([0x80; 8]);
    field.push(0x40);
    refused(field, "byte 0: a field ends behind its message");
}

#[test]
fn a_message_of_two_bytes_is_not_taken_by_the_million() {
    for field in [1, 5, 11, 12, 13, 15] {
        let error = read(empty_messages(field, 2_500_000)).unwrap_err();
        assert!(
            matches!(
                error,
                ImportError::Inflated { .. } | ImportError::TooLarge { .. }
            ),
            "field {field}: {error}"
        );
    }
}

#[test]
fn lists_cost_what_they_say() {
    let attribute = Message::new().text(1, "a").bytes(8, &vec![0; 2_000_000]);
    let packed = relu("x", "y").message(5, &attribute);
    assert_eq!(
        read(graph(vec![packed]).model(17)).unwrap().graph.ops.len(),
        1
    );
    let header = Message::new()
        .bytes(1, &vec![1; 2_000_000])
        .int(2, 1)
        .text(8, "w");
    let deep = Graph {
        constants: vec![header],
        ..graph(vec![relu("x", "y")])
    };
    refused(deep.model(17), "constant `w`: its result has 2000000 axes");
    let operands = vec![""; 1_000_000];
    let wide = node("Max", &operands, &["y"], &[]);
    assert!(read(graph(vec![wide]).model(17)).is_err());
}

#[test]
fn problems_are_counted_and_not_kept() {
    // Each of them is told with the name of its node.
    let operands: Vec<String> = (0..MANY).map(|index| format!("u{index}")).collect();
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    let long = node("Sum", &operands, &["y"], &[]).text(3, &"n".repeat(1_000_000));
    let Err(ImportError::Invalid(problems)) = read(graph(vec![long]).model(17)) else {
        panic!("undefined operands are refused");
    };
    assert_eq!(problems.last(), Some(&Problem::More(MANY - 1000)));
    // Each of them lists the same 4096 bounds.
    let slices =
        (0..MANY).map(|index| node("Slice", &["x", "s", "e"], &[&format!("t{index}")], &[]));
    let outputs = (0..MANY).map(|index| output(&format!("t{index}")));
    let shared = Graph {
        nodes: slices.collect(),
        outputs: outputs.collect(),
        constants: vec![integers("s", &[i64::MIN; 4096]), integers("e", &[1])],
        ..graph(Vec::new())
    };
    refused(
        shared.model(17),
        "node 0 (Slice): the slice is [-9223372036854775808, ",
    );
}

#[test]
fn long_chains_stars_and_cycles_take_linear_time() {
    let name = |index: usize| format!("t{index}");
    let link = |index: usize| match index.checked_sub(1) {
        None => relu("x", &name(0)),
        Some(before) => relu(&name(before), &name(index)),
    };
    let mut nodes: Vec<Message> = (0..MANY).map(link).collect();
    nodes.reverse();
    let chain = Graph {
        outputs: vec![output(&name(MANY - 1))],
        ..graph(nodes)
    };
    assert_eq!(read(chain.model(17)).unwrap().graph.ops.len(), MANY);

    let mut nodes: Vec<Message> = (0..MANY).map(|index| relu("x", &name(index))).collect();
    let names: Vec<String> = (0..MANY).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    nodes.push(node("Sum", &names, &["y"], &[]));
    assert_eq!(
        read(graph(nodes).model(17)).unwrap().graph.ops.len(),
        MANY + 1
    );

    let ring = (0..MANY).map(|index| relu(&name((index + 1) % MANY), &name(index)));
    let ring = Graph {
        outputs: vec![output("t0")],
        ..graph(ring.collect())
    };
    refused(
        ring.model(17),
        "node 0 (Relu), node 19999 (Relu), node 19998 (Relu)",
    );
}

#[test]
fn many_results_of_many_axes_are_bounded() {
    let names: Vec<String> = (0..MANY).map(|index| format!("t{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut dims = vec![1; 32];
    dims[0] = i64::try_from(MANY).unwrap();
    let split = Graph {
        inputs: vec![fixed("x", dtype::FLOAT, &dims)],
        outputs: names.iter().map(|name| output(name)).collect(),
        ..graph(vec![node("Split", &["x"], &names, &[])])
    };
    assert_eq!(read(split.model(12)).unwrap().graph.outputs.len(), MANY);
}

#[test]
fn values_are_computed_within_a_budget() {
    let value = Message::new()
        .int(1, 1)
        .int(2, 7)
        .bytes(9, &1_i64.to_le_bytes());
    let fill = |index: usize| {
        let value = Attribute::Tensor(value.clone());
        node(
            "ConstantOfShape",
            &["n"],
            &[&format!("c{index}")],
            &[("value", value)],
        )
    };
    let double = |index: usize| {
        let operand = format!("c{index}");
        node("Add", &[&operand, &operand], &[&format!("d{index}")], &[])
    };
    let mut nodes: Vec<Message> = (0..MANY)
        .flat_map(|index| [fill(index), double(index)])
        .collect();
    let names: Vec<String> = (0..MANY).map(|index| format!("d{index}")).collect();
    let mut operands: Vec<&str> = names.iter().map(String::as_str).collect();
    operands.push("x");
    nodes.push(node("Mystery", &operands, &["y"], &[]));
    let storm = Graph {
        constants: vec![integers("n", &[4096])],
        outputs: vec![fixed("y", dtype::FLOAT, &[1])],
        ..graph(nodes)
    };
    assert_eq!(read(storm.model(17)).unwrap().graph.ops.len(), 1);
}

#[test]
fn absurd_results_are_never_materialised() {
    let huge = |nodes: Vec<Message>, constants: Vec<Message>| {
        let model = Graph {
            constants,
            outputs: vec![output("y")],
            ..graph(nodes)
        };
        read(model.model(17)).map(|imported| imported.graph.ops.len())
    };
    let scalar = |name: &str, value: i64| tensor(name, dtype::INT64, &[], &value.to_le_bytes());
    let range = node("Range", &["a", "b", "c"], &["r"], &[]);
    let reader = node("Mystery", &["x", "r"], &["y"], &[]);
    let limits = [scalar("a", i64::MIN), scalar("b", i64::MAX), scalar("c", 1)];
    assert!(huge(vec![range, reader.clone()], limits.to_vec()).is_err());
    for (op_type, operand) in [
        ("Tile", "big"),
        ("Expand", "big"),
        ("Reshape", "big"),
        ("Pad", "pads"),
    ] {
        let node = node(op_type, &["x", operand], &["y"], &[]);
        let constants = vec![
            integers("big", &[i64::MAX, 1, 1, i64::MAX]),
            integers("pads", &[i64::MAX; 8]),
        ];
        assert!(huge(vec![node], constants).is_err(), "{op_type}");
    }
    let equation = "a".repeat(1_000_000);
    let einsum = node(
        "Einsum",
        &["x"],
        &["y"],
        &[("equation", Attribute::Text(&equation))],
    );
    refused(
        graph(vec![einsum]).model(17),
        "node 0 (Einsum): equation is",
    );
    let kernel = [i64::MAX, i64::MAX];
    let attributes = [
        ("kernel_shape", Attribute::Ints(&kernel)),
        ("strides", Attribute::Ints(&[i64::MIN, 0])),
        ("dilations", Attribute::Ints(&kernel)),
        ("pads", Attribute::Ints(&[i64::MAX; 4])),
        ("group", Attribute::Int(i64::MIN)),
    ];
    let convolution = node("Conv", &["x", "w"], &["y"], &attributes);
    assert!(huge(vec![convolution], vec![zeros("w", &[4, 4, 1, 1])]).is_err());
}

/// A model whose functions call each other twice, so many deep.
fn doubling(depth: usize, body: &[Message]) -> Vec<u8> {
    let call = |level: usize, from: &str, to: &str| {
        node(&format!("f{level}"), &[from], &[to], &[]).text(7, "l")
    };
    let model = graph(vec![call(0, "x", "y")]).model(17);
    let mut file = Message::new().int(1, 8).into_bytes();
    file.extend(model);
    file.extend(
        Message::new()
            .message(8, &Message::new().text(1, "l").int(2, 1))
            .into_bytes(),
    );
    for level in 0..depth {
        let nodes = if level + 1 == depth {
            body.to_vec()
        } else {
            vec![call(level + 1, "a", "b"), call(level + 1, "b", "c")]
        };
        let function = Message::new()
            .text(1, &format!("f{level}"))
            .text(4, "a")
            .text(5, "c")
            .messages(7, &nodes)
            .text(10, "l");
        file.extend(Message::new().message(25, &function).into_bytes());
    }
    file
}

#[test]
fn functions_that_call_each_other_twice_end_at_a_limit() {
    assert_eq!(
        read(doubling(6, &[relu("a", "c")]))
            .unwrap()
            .graph
            .ops
            .len(),
        32
    );
    refused(
        doubling(40, &[relu("a", "c")]),
        "the file holds more than 250000 nodes",
    );
    // A few calls of a function whose nodes have long names.
    let long: Vec<Message> = ["a", "m"]
        .into_iter()
        .zip(["m", "c"])
        .map(|(from, to)| relu(from, to).text(3, &"n".repeat(500_000)))
        .collect();
    refused(
        doubling(9, &long),
        "the file holds more than 67108864 bytes of names",
    );
}

#[test]
fn branches_with_equal_names_stay_apart_without_ever_longer_names() {
    let branch = || {
        let inner = Graph {
            nodes: vec![relu("x", "b")],
            outputs: vec![output("b")],
            ..Graph::default()
        };
        Attribute::Graph(inner.encode())
    };
    let condition = |index: usize| {
        let bodies = [("then_branch", branch()), ("else_branch", branch())];
        node("If", &["c"], &[&format!("t{index}")], &bodies)
    };
    let count = 4_000;
    let mut nodes: Vec<Message> = (0..count).map(condition).collect();
    let names: Vec<String> = (0..count).map(|index| format!("t{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    nodes.push(node("Sum", &names, &["y"], &[]));
    let mut model = graph(nodes);
    model.inputs.push(fixed("c", dtype::BOOL, &[]));
    assert_eq!(read(model.model(17)).unwrap().graph.ops.len(), count + 1);
}

#[test]
fn a_function_that_returns_a_parameter_left_out_is_a_problem_of_its_call() {
    let call = node("f", &["x"], &["y"], &[]).text(7, "l");
    let mut file = graph(vec![call]).model(17);
    let function = Message::new()
        .text(1, "f")
        .text(4, "a")
        .text(4, "b")
        .text(5, "b")
        .text(10, "l");
    file.extend(Message::new().message(25, &function).into_bytes());
    refused(
        file,
        "node 0 (l.f): nothing writes its result 0: its body returns fewer, or a parameter that is left out",
    );
}

#[test]
fn convolutions_that_share_their_normalisation_take_linear_time() {
    let pair = |index: usize| {
        let parameters = [&format!("c{index}"), "v", "v", "v", "v"];
        [
            node("Conv", &["x", "w"], &[parameters[0]], &[]),
            node(
                "BatchNormalization",
                &parameters,
                &[&format!("t{index}")],
                &[],
            ),
        ]
    };
    let names: Vec<String> = (0..MANY).map(|index| format!("t{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut nodes: Vec<Message> = (0..MANY).flat_map(pair).collect();
    nodes.push(node("Sum", &names, &["y"], &[]));
    let shared = Graph {
        constants: vec![zeros("w", &[4, 4, 1, 1]), zeros("v", &[4])],
        ..graph(nodes)
    };
    let imported = read(shared.model(17)).unwrap();
    assert_eq!(imported.folded.batch_norms.len(), MANY);
}

#[test]
fn a_file_may_end_at_any_byte() {
    let whole = Graph {
        constants: vec![zeros("w", &[4, 4, 3, 3]), integers("s", &[1, 4, 64])],
        ..graph(vec![
            node(
                "Conv",
                &["x", "w"],
                &["a"],
                &[("pads", Attribute::Ints(&[1; 4]))],
            ),
            node("Reshape", &["a", "s"], &["y"], &[]),
        ])
    }
    .model(17);
    assert!(read(whole.clone()).is_ok());
    for end in 0..whole.len() {
        let options = ImportOptions {
            convolutions: Convolutions::AsWritten,
            ..ImportOptions::default()
        };
        let cut = Bytes::copy_from_slice(&whole[..end]);
        // Behind the graph follows what can be left out with a problem, never with a panic.
        if let Err(error) = import_bytes("cut", &cut, &options) {
            assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn external_data_stays_in_the_models_folder() {
    for location in ["../w", "/etc/passwd", "a/../../w", "", "C:\\w", "a\0b"] {
        let entry = Message::new().text(1, "location").text(2, location);
        let constant = Message::new()
            .int(1, 4)
            .int(2, 1)
            .text(8, "w")
            .int(14, 1)
            .message(13, &entry);
        let model = Graph {
            constants: vec![constant],
            ..graph(vec![node("Add", &["x", "w"], &["y"], &[])])
        };
        let message = read(model.model(17)).unwrap_err().to_string();
        assert!(message.contains("external data"), "{location}: {message}");
    }
}

#[test]
fn what_is_no_file_is_refused_and_a_sparse_gigabyte_costs_nothing() {
    const WEIGHT: u64 = 3 << 30;
    let folder = tempfile::tempdir().unwrap();
    let options = ImportOptions::default();
    assert!(import(folder.path(), &options).is_err());
    if cfg!(unix) {
        let error = import(std::path::Path::new("/dev/zero"), &options).unwrap_err();
        assert!(matches!(error, ImportError::NotAFile { .. }), "{error}");
    }
    // A weight of 3 GB inside the file: its header, then a hole.
    let path = folder.path().join("large.onnx");
    let extent = i64::try_from(WEIGHT / 4).unwrap();
    let constant = Message::new().int(1, extent).int(2, 1).text(8, "w");
    let parts = graph(vec![node("Add", &["x", "w"], &["y"], &[])]);
    let mut rest = parts.encode().into_bytes();
    let varint = |mut value: u64| {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        bytes.push(value.to_le_bytes()[0]);
        bytes
    };
    // The field of the weight's bytes comes last in the constant, the constant last in the graph, the graph last in the file.
    let mut header = constant.into_bytes();
    header.push(9 << 3 | 2);
    header.extend(varint(WEIGHT));
    rest.push(5 << 3 | 2);
    rest.extend(varint(header.len() as u64 + WEIGHT));
    rest.extend(header);
    let mut file = Message::new()
        .int(1, 8)
        .message(8, &Message::new().int(2, 17))
        .into_bytes();
    file.push(7 << 3 | 2);
    file.extend(varint(rest.len() as u64 + WEIGHT));
    file.extend(rest);
    std::fs::write(&path, &file).unwrap();
    let handle = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    handle.set_len(file.len() as u64 + WEIGHT).unwrap();
    let (result, peak) = memory::peak(|| import(&path, &options));
    // The shapes do not fit, which only who has read everything can say.
    assert!(matches!(result, Err(ImportError::Invalid(_))));
    assert!(peak < 1 << 20, "{peak} bytes");
}
