//! `--emit` and `paracompile export`: what is spliced, what is refused, and partition points against the names of nodes.

use std::collections::BTreeMap;

use paracompile_testkit::onnx::{Graph, Message, dtype, fixed, node, tensor};
use serde_json::Value;

use crate::command::{Desk, model};

/// Maps a model on `vim3` into `out`, as fast as it goes.
fn map(desk: &Desk, file: &str, more: &[&str]) {
    let arguments = [
        file,
        "--soc",
        "vim3",
        "-o",
        "out",
        "-q",
        "--no-plots",
        "--no-report",
        "--effort",
        "quick",
    ];
    desk.run(&[&arguments[..], more].concat()).done();
}

/// Every plan file of the run, by path.
fn plans(desk: &Desk) -> Vec<(String, Value)> {
    let files = desk.files("out").into_iter();
    files
        .filter(|(name, _)| name.starts_with("plans/") || name.starts_with("baselines/"))
        .map(|(name, bytes)| {
            let plan = serde_json::from_slice(&bytes).expect("plans are JSON");
            (format!("out/{name}"), plan)
        })
        .collect()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v Vec<Value> {
    value[key].as_array().expect("it is a list")
}

/// A chain of convolutions that is worth being cut, with fields that no version of ONNX has.
fn chain() -> (Vec<u8>, Vec<Vec<u8>>) {
    let raw: Vec<u8> = (0..32 * 32 * 9u16)
        .flat_map(|index| (f32::from(index % 7) * 0.01).to_le_bytes())
        .collect();
    let mut strangers = Vec::new();
    let mut strange = |message: Message, field: u32, text: &str| {
        let stranger = Message::new().text(field, text).into_bytes();
        strangers.push(stranger);
        message.text(field, text)
    };
    let mut graph = Graph {
        inputs: vec![strange(
            fixed("t0", dtype::FLOAT, &[1, 32, 28, 28]),
            901,
            "input",
        )],
        ..Graph::default()
    };
    for index in 0..5 {
        let (from, to) = (format!("t{index}"), format!("t{}", index + 1));
        let weights = format!("w{index}");
        let pads = paracompile_testkit::onnx::Attribute::Ints(&[1, 1, 1, 1]);
        let conv = node("Conv", &[&from, &weights], &[&to], &[("pads", pads)]);
        graph
            .nodes
            .push(strange(conv, 902, &format!("node {index}")));
        let stored = tensor(&weights, dtype::FLOAT, &[32, 32, 3, 3], &raw);
        graph
            .constants
            .push(strange(stored, 903, &format!("constant {index}")));
    }
    graph.outputs = vec![fixed("t5", dtype::FLOAT, &[1, 32, 28, 28])];
    let inner = strange(graph.encode(), 904, "graph");
    let opset = Message::new().text(1, "").int(2, 17);
    let outer = strange(Message::new().text(2, "producer"), 905, "model");
    let bytes = outer
        .int(1, 12)
        .message(7, &inner)
        .message(8, &opset)
        .into_bytes();
    (bytes, strangers)
}

fn holds(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

#[test]
fn fields_that_nobody_knows_survive_and_annotating_twice_changes_nothing() {
    let desk = Desk::new();
    let (bytes, strangers) = chain();
    desk.put("chain.onnx", &bytes);
    map(&desk, "chain.onnx", &["--emit", "annotated,stages"]);
    let annotated = desk.read("out/export/annotated/chain.onnx");
    for stranger in &strangers {
        assert!(holds(&annotated, stranger), "{stranger:?}");
    }
    let stages: Vec<u8> = desk
        .files("out/export/stages")
        .into_iter()
        .flat_map(|(_, bytes)| bytes)
        .collect();
    for stranger in &strangers {
        assert!(holds(&stages, stranger), "{stranger:?}");
    }
    let front: Value = serde_json::from_slice(&desk.read("out/front.json")).expect("JSON");
    let plan = format!("out/{}", front["recommended"].as_str().expect("a path"));
    let arguments = [
        "export",
        &plan,
        "--model",
        "out/export/annotated/chain.onnx",
        "--emit",
        "annotated",
        "-o",
        "again",
    ];
    desk.run(&arguments).done();
    assert_eq!(desk.read("again/annotated/chain.onnx"), annotated);
}

#[test]
fn every_plan_is_exported_to_the_same_bytes_again_and_old_stages_go() {
    let desk = Desk::new();
    desk.put("chain.onnx", chain().0);
    map(&desk, "chain.onnx", &[]);
    let mut plans = plans(&desk);
    plans.sort_by_key(|(_, plan)| std::cmp::Reverse(list(plan, "stages").len()));
    assert!(list(&plans[0].1, "stages").len() > 1);
    for (path, plan) in &plans {
        let write = |out: &str| {
            let arguments = [
                "export",
                path,
                "--model",
                "chain.onnx",
                "--emit",
                "stages,annotated",
                "-o",
                out,
            ];
            desk.run(&arguments).done();
        };
        write("one");
        write("two");
        // The first folder has seen plans with more stages.
        let one = desk.files("one");
        assert_eq!(one, desk.files("two"), "{path}");
        let models = one.iter().filter(|(name, _)| name.contains("/stage-"));
        assert_eq!(models.count(), list(plan, "stages").len(), "{path}");
    }
}

#[test]
fn plans_of_other_models_and_broken_plans_are_refused() {
    let desk = Desk::new().with_model("squeezenet1_1.onnx");
    desk.put("chain.onnx", chain().0);
    map(&desk, "chain.onnx", &[]);
    let (path, plan) = plans(&desk).remove(0);
    let export = |plan: &str, model: &str| {
        let arguments = [
            "export", plan, "--model", model, "--emit", "stages", "-o", "exported",
        ];
        desk.run(&arguments)
    };
    let other = export(&path, "squeezenet1_1.onnx").refused(2);
    assert!(other.contains("this plan is for another model"), "{other}");
    for (pointer, value) in [
        ("/tasks/0/operators/0/node", 4_000_000_000u64),
        ("/tasks/0/operators/0/node", 3),
        ("/tasks/0/stage", 77),
        ("/tasks/0/queue", 77),
        ("/tasks/1/operators/0/node", 0),
    ] {
        let mut broken = plan.clone();
        *broken.pointer_mut(pointer).expect("it is there") = value.into();
        desk.put("broken.json", broken.to_string());
        let picture = export("broken.json", "chain.onnx").refused(2);
        assert!(
            picture.contains("this is no plan for the model"),
            "{picture}"
        );
    }
    let nowhere = desk.run(&["export", &path, "--model", "chain.onnx", "--emit", "stages"]);
    assert!(nowhere.refused(2).contains("-o"));
    assert!(!desk.path("exported").exists());
}

/// The layer that a program of ARM-CO-UP would count, read off torchvision's names and counted from one.
fn layer(network: &str, output: &str) -> usize {
    let parts: Vec<&str> = output.trim_start_matches('/').split('/').collect();
    let second = || parts.get(1).copied().unwrap_or_default();
    match network {
        "googlenet" => match parts[0] {
            "conv1" | "maxpool1" => 1,
            "conv2" => 2,
            "conv3" | "maxpool2" => 3,
            "inception3a" => 4,
            "inception3b" | "maxpool3" => 5,
            "inception4a" => 6,
            "inception4b" => 7,
            "inception4c" => 8,
            "inception4d" => 9,
            "inception4e" | "maxpool4" => 10,
            "inception5a" => 11,
            "inception5b" | "avgpool" => 12,
            _ => 13,
        },
        "resnet50" => match parts[0] {
            "conv1" | "relu" | "maxpool" => 1,
            block if block.starts_with("layer") => {
                let before = [0, 3, 7, 13];
                let block: usize = block[5..].parse().expect("blocks have numbers");
                let (_, unit) = second().split_once('.').expect("units have numbers");
                let unit: usize = unit.parse().expect("units have numbers");
                2 + before[block - 1] + unit
            }
            "avgpool" => 17,
            _ => 18,
        },
        _ => match (
            second().strip_prefix("features."),
            parts.get(2).copied().unwrap_or_default(),
        ) {
            (Some("0" | "1" | "2"), _) => 1,
            (Some(index), inside) => {
                let fires = ["3", "4", "6", "7", "9", "10", "11", "12"];
                let pools = [("5", 1), ("8", 3)];
                if let Some((_, fire)) = pools.iter().find(|(pool, _)| *pool == index) {
                    return 2 * fire + 3;
                }
                let fire = fires.iter().position(|fire| *fire == index);
                let fire = fire.expect("every other feature is a fire module");
                2 * fire + if inside.starts_with("squeeze") { 2 } else { 3 }
            }
            (None, _) => 18,
        },
    }
}

/// The partition points of a plan by the names of nodes; `None` where the framework has none for it.
fn expected(plan: &Value, layer: impl Fn(&str) -> usize, total: usize) -> Option<Vec<usize>> {
    let stages = list(plan, "stages");
    if stages.len() > 3
        || stages
            .iter()
            .any(|stage| list(stage, "processors").len() > 1)
    {
        return None;
    }
    let mut spans: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    for task in list(plan, "tasks") {
        let stage = task["stage"].as_u64().expect("a stage");
        for operator in list(task, "operators") {
            let layer = layer(operator["output"].as_str().expect("a name"));
            let span = spans.entry(stage).or_insert((layer, layer));
            *span = (span.0.min(layer), span.1.max(layer));
        }
    }
    let spans: Vec<_> = spans.into_values().collect();
    let mut points = Vec::new();
    for pair in spans.windows(2) {
        if pair[0].1 >= pair[1].0 {
            return None;
        }
        points.push(pair[0].1);
    }
    points.resize(2, total);
    Some(points)
}

/// Compares the answer for every plan of a run with what names of nodes say; returns how many were a yes and a no.
fn compare(
    desk: &Desk,
    file: &str,
    program: &str,
    total: usize,
    layer: impl Fn(&str) -> usize,
) -> (usize, usize) {
    let mut counts = (0, 0);
    for (path, plan) in plans(desk) {
        let run = desk.run(&["export", &path, "--model", file, "--emit", "arm-co-up"]);
        let Some(points) = expected(&plan, &layer, total) else {
            assert!(!run.refused(1).is_empty());
            counts.1 += 1;
            continue;
        };
        counts.0 += 1;
        let letter = |stage: &Value| match stage["processors"][0].as_str() {
            Some("big") => "B",
            Some("little") => "L",
            _ => "G",
        };
        let mut letters: Vec<&str> = list(&plan, "stages").iter().map(letter).collect();
        for letter in ["B", "L", "G"] {
            if letters.len() < 3 && !letters.contains(&letter) {
                letters.push(letter);
            }
        }
        let command = format!(
            "./{program} --threads=4 --threads2=2 --total_cores=6 --order={} --partition_point={} --partition_point2={}",
            letters.join("-"),
            points[0],
            points[1],
        );
        let out = run.done();
        assert_eq!(out.lines().last(), Some(command.as_str()), "{path}");
    }
    counts
}

#[test]
fn partition_points_are_those_that_the_names_of_nodes_say() {
    for (network, file, program, total) in [
        (
            "googlenet",
            "googlenet.onnx",
            "graph_googlenet_all_pipe_sync",
            13,
        ),
        (
            "resnet50",
            "resnet50.onnx",
            "graph_resnet50_all_pipe_sync",
            18,
        ),
        (
            "squeezenet1_1",
            "squeezenet1_1.onnx",
            "graph_squeezenet_all_pipe_sync",
            19,
        ),
    ] {
        let desk = Desk::new().with_model(file);
        map(&desk, file, &[]);
        let (yes, no) = compare(&desk, file, program, total, |name| layer(network, name));
        assert!(yes >= 4 && no >= 2, "{network}: {yes} yes, {no} no");
    }
}

/// `MobileNet` v1 with its layers as names.
fn mobilenet() -> Vec<u8> {
    use paracompile_testkit::onnx::{Attribute, zeros};
    let mut graph = Graph {
        inputs: vec![fixed("x", dtype::FLOAT, &[1, 3, 224, 224])],
        ..Graph::default()
    };
    let mut before = "x".to_owned();
    let mut layer = 0;
    let mut convolution = |inputs: i64, outputs: i64, kernel: i64, stride: i64, group: i64| {
        layer += 1;
        let (weights, sum, name) = (
            format!("w{layer}"),
            format!("{layer}/sum"),
            format!("{layer}/out"),
        );
        let pad = kernel / 2;
        graph
            .constants
            .push(zeros(&weights, &[outputs, inputs / group, kernel, kernel]));
        graph.nodes.push(node(
            "Conv",
            &[&before, &weights],
            &[&sum],
            &[
                ("pads", Attribute::Ints(&[pad; 4])),
                ("strides", Attribute::Ints(&[stride; 2])),
                ("group", Attribute::Int(group)),
            ],
        ));
        graph.nodes.push(node("Relu", &[&sum], &[&name], &[]));
        before = name;
    };
    convolution(3, 32, 3, 2, 1);
    let mut channels = 32;
    for (next, stride) in [
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        (512, 1),
        (512, 1),
        (512, 1),
        (512, 1),
        (512, 1),
        (1024, 2),
        (1024, 1),
    ] {
        convolution(channels, channels, 3, stride, channels);
        convolution(channels, next, 1, 1, 1);
        channels = next;
    }
    graph
        .nodes
        .push(node("GlobalAveragePool", &[&before], &["27/pool"], &[]));
    graph.constants.push(zeros("classes", &[1001, 1024, 1, 1]));
    graph
        .nodes
        .push(node("Conv", &["27/pool", "classes"], &["28/out"], &[]));
    graph.outputs = vec![fixed("28/out", dtype::FLOAT, &[1, 1001, 1, 1])];
    graph.model(17)
}

#[test]
fn mobilenet_v1_is_known_and_v2_is_not() {
    let desk = Desk::new().with_model("mobilenet_v2.onnx");
    desk.put("v1.onnx", mobilenet());
    map(&desk, "v1.onnx", &[]);
    let named = |name: &str| -> usize {
        let (layer, _) = name.split_once('/').expect("names begin with the layer");
        layer.parse().expect("layers are numbers")
    };
    let (yes, no) = compare(&desk, "v1.onnx", "graph_mobilenet_all_pipe_sync", 28, named);
    assert!(yes >= 4 && no >= 2, "{yes} yes, {no} no");
    let arguments = ["mobilenet_v2.onnx", "--soc", "vim3", "--emit", "arm-co-up"];
    let picture = desk.run(&arguments).refused(1);
    assert!(
        picture.contains("it has some for GoogLeNet, ResNet-50, SqueezeNet and"),
        "{picture}"
    );
    assert!(
        !desk.path("output").exists(),
        "a no comes before the search"
    );
}

#[test]
fn processors_without_a_letter_are_named() {
    let desk = Desk::new().with_model("squeezenet1_1.onnx");
    let map_on = |processor: &str| {
        let arguments = ["squeezenet1_1.onnx", "--soc", "rk3588", "-o", "out", "-q"];
        let more = ["--no-plots", "--no-report", "--emit", "arm-co-up"];
        let chosen = ["--processors", processor];
        desk.run(&[&arguments[..], &more, &chosen].concat())
    };
    let picture = map_on("npu0").refused(1);
    assert!(picture.contains("`npu0`"), "{picture}");
    assert!(!desk.path("out/export/arm-co-up.txt").exists());
    // The same on a board that the command knows no cores of.
    map_on("gpu").done();
    let command = String::from_utf8(desk.read("out/export/arm-co-up.txt")).expect("text");
    assert!(command.contains("# give --threads"), "{command}");
    assert!(
        command.ends_with("./graph_squeezenet_all_pipe_sync --order=G-B-L --partition_point=19 --partition_point2=19\n"),
        "{command}"
    );
}

#[test]
fn examples_of_the_documents_work() {
    for (document, file) in [
        (include_str!("../../docs/export.md"), "googlenet.onnx"),
        (include_str!("../../docs/arm-co-up.md"), "bert_base.onnx"),
    ] {
        let desk = Desk::new();
        std::fs::create_dir(desk.path("models")).expect("a folder");
        for name in ["googlenet.onnx", file] {
            let bytes = std::fs::read(model(name)).expect("the model is committed");
            desk.put(&format!("models/{name}"), bytes);
        }
        let commands = document
            .lines()
            .filter_map(|line| line.strip_prefix("$ paracompile "));
        let mut count = 0;
        for command in commands {
            count += 1;
            let (command, fails) = match command.split_once(" # ") {
                Some((command, _)) => (command, true),
                None => (command, false),
            };
            let run = desk.run(&command.split_whitespace().collect::<Vec<_>>());
            assert_eq!(run.code != 0, fails, "{command}: {}{}", run.out, run.err);
        }
        assert!(count >= 2);
    }
}
