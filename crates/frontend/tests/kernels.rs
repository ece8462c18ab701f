//! Kernel graphs from files: three formats of the same graph, and every way in which a file can be wrong.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use paracompile_frontend::facts::model_facts;
use paracompile_frontend::import::kernels::{
    Access, Argument, Defect, Device, Format, Initial, KernelOptions, KernelsError, Library,
    Linked, Lookup, Number, Origin, Problem, import, import_text, lower, read, write,
};
use paracompile_frontend::ir::dump;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels")
}

fn imported(file: &str) -> Linked {
    let linked = import(&folder().join(file), &KernelOptions::default());
    linked.unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// What a text says, with the descriptions of `tests/kernels/info`.
fn from_text(text: &str) -> Result<Linked, KernelsError> {
    let info = folder().join("info");
    let library = Library {
        description: &|name| match std::fs::read_to_string(info.join(name)) {
            Ok(text) => Lookup::Found(text),
            Err(_) => Lookup::Missing,
        },
        folders: vec!["info".to_owned()],
        ..Library::empty()
    };
    import_text(text, "text", &BTreeMap::new(), &library)
}

fn problems(text: &str) -> Vec<Problem> {
    match from_text(text) {
        Err(KernelsError::Invalid(problems)) => problems,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("accepted: {text}"),
    }
}

fn messages(text: &str) -> Vec<String> {
    problems(text).iter().map(ToString::to_string).collect()
}

#[test]
fn operator_graphs_are_what_they_were() {
    for file in [
        "one_head.graph",
        "two_heads.graph",
        "two_heads.json",
        "irregular.json",
    ] {
        let graph = lower(&imported(file)).unwrap();
        let text = dump(&graph);
        let path = folder().join(format!("{file}.dump"));
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            text == expected,
            "{file}: UPDATE_SNAPSHOTS=1 writes it anew\n{text}"
        );
        assert_eq!(model_facts(&graph).operators.len(), graph.ops.len());
    }
}

#[test]
fn the_same_graph_in_two_formats_has_one_digest() {
    let (symbolic, own) = (imported("two_heads.graph"), imported("two_heads.json"));
    assert_eq!(symbolic.graph.digest, own.graph.digest);
    assert_ne!(
        symbolic.graph.digest,
        imported("one_head.graph").graph.digest
    );
    let edges = |linked: &Linked| linked.graph.edges().collect::<Vec<_>>();
    assert_eq!(edges(&symbolic), edges(&own));
    assert_eq!(
        own.graph.queues,
        BTreeMap::from([(Device::Cpu, 1), (Device::Gpu, 3)])
    );
}

#[test]
fn a_head_is_the_graph_of_the_paper() {
    let linked = imported("one_head.graph");
    let graph = &linked.graph;
    // The file has the copy of X last; it runs first.
    let names: Vec<&str> = graph
        .kernels
        .iter()
        .map(|(_, kernel)| kernel.name.as_str())
        .collect();
    assert_eq!(names, ["8", "0", "1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(graph.edges().count(), 10);
    let (_, product) = graph.kernels.iter().nth(1).unwrap();
    assert_eq!(
        (product.global.as_slice(), product.local.as_deref()),
        (&[64, 64][..], Some(&[16, 16][..]))
    );
    assert_eq!(product.defines["TILE"], "16");
    assert_eq!(product.device, Some(Device::Gpu));
    let lowered = lower(&linked).unwrap();
    // Two weights of products and X come from the host; the last product is read back, and X as it was copied is not.
    let inputs: Vec<&str> = lowered
        .inputs
        .iter()
        .map(|&id| lowered.tensors[id].name.as_str())
        .collect();
    assert_eq!(
        inputs,
        [
            "8.nothing[0]:in",
            "0.product[1]",
            "1.product[1]",
            "2.product[1]",
            "7.product[1]"
        ]
    );
    let outputs: Vec<&str> = lowered
        .outputs
        .iter()
        .map(|&id| lowered.tensors[id].name.as_str())
        .collect();
    assert_eq!(outputs, ["7.product[2]"]);
}

#[test]
fn what_pyschedcl_forgives_is_forgiven() {
    let graph = imported("irregular.json").graph;
    let by_name = |name: &str| {
        let mut kernels = graph.kernels.iter();
        kernels.find(|(_, kernel)| kernel.name == name).unwrap()
    };
    let (fold_id, fold) = by_name("2");
    assert_eq!(
        fold.device,
        Some(Device::Gpu),
        "of repeated keys the last one counts"
    );
    assert_eq!(
        fold.arguments[2],
        Argument::Local {
            bytes: paracompile_plan::Bytes::new(1024)
        }
    );
    let (count_id, count) = by_name("1");
    assert_eq!(
        (count.device, count.component),
        (Some(Device::Cpu), Some(3))
    );
    assert_eq!(count.local.as_deref(), Some(&[32][..]));
    let (_, scale) = by_name("4");
    assert_eq!(
        scale.after,
        [count_id],
        "a dependency without data stays one"
    );
    let Argument::Buffer(read) = &scale.arguments[1] else {
        panic!()
    };
    assert_eq!(
        read.access,
        Access::In(Origin::Kernel {
            kernel: fold_id,
            position: 0
        })
    );
    let value = |position: usize| match &scale.arguments[position] {
        Argument::Scalar(scalar) => scalar.value,
        other @ (Argument::Buffer(_) | Argument::Local { .. }) => panic!("{other:?}"),
    };
    assert_eq!(
        value(2),
        Number::Whole(4096),
        "a whole kernel has all of the elements"
    );
    assert_eq!(value(3), Number::Whole(0));
    assert_eq!(value(4), Number::Real(0.5));
}

#[test]
fn initial_contents_are_of_what_the_host_writes() {
    let linked = imported("two_heads.json");
    let (_, first) = linked
        .graph
        .kernels
        .iter()
        .find(|(_, kernel)| kernel.name == "0")
        .unwrap();
    let Argument::Buffer(weights) = &first.arguments[1] else {
        panic!()
    };
    assert_eq!(
        weights.access,
        Access::In(Origin::Host(Some(Initial::Fill(0.5))))
    );
    let text = std::fs::read_to_string(folder().join("two_heads.json")).unwrap();
    let text = text.replacen("\"b\": {", "\"a\": {", 1);
    assert_eq!(
        messages(&text),
        [
            "kernel 0, initial.a: argument a of kernel `0` is written by another kernel; the host writes buffers that are read and at which no edge ends"
        ]
    );
}

#[test]
fn conversions_keep_the_graph() {
    for file in [
        "one_head.graph",
        "two_heads.graph",
        "irregular.json",
        "two_heads.json",
    ] {
        let path = folder().join(file);
        let options = KernelOptions::default();
        let (specification, linked) = (read(&path, &options).unwrap(), imported(file));
        for format in [Format::Kernels, Format::Symbolic, Format::Expanded] {
            let written = match write(&specification, &linked, format) {
                Ok(written) => written,
                // The text form cannot wait without data, and neither of PySchedCL's has queues or contents.
                Err(KernelsError::Invalid(problems)) => {
                    let lossy = (file == "irregular.json" && format == Format::Symbolic)
                        || (file == "two_heads.json" && format != Format::Kernels);
                    assert!(lossy, "{file} as {format:?}: {problems:?}");
                    assert!(
                        problems
                            .iter()
                            .all(|problem| matches!(problem.defect, Defect::Unwritable(_)))
                    );
                    continue;
                }
                Err(other) => panic!("{other}"),
            };
            let library = Library {
                description: &|name| match written.descriptions.get(name) {
                    Some(text) => Lookup::Found(text.clone()),
                    None => Lookup::Missing,
                },
                ..Library::empty()
            };
            let again = import_text(
                &written.text,
                &linked.graph.name,
                &BTreeMap::new(),
                &library,
            )
            .unwrap_or_else(|error| panic!("{file} as {format:?}: {error}\n{}", written.text));
            assert_eq!(
                again.graph.digest, linked.graph.digest,
                "{file} as {format:?}"
            );
            let hints = |linked: &Linked| -> Vec<_> {
                let kernels = linked.graph.kernels.iter();
                kernels
                    .map(|(_, kernel)| (kernel.device, kernel.component))
                    .collect()
            };
            assert_eq!(hints(&again), hints(&linked), "{file} as {format:?}");
            assert_eq!(
                lower(&again).unwrap().outputs,
                lower(&linked).unwrap().outputs
            );
        }
    }
}

#[test]
fn symbols_are_bound_by_the_user() {
    let text = r#"{"schema": 1, "symbols": {"n": 4},
        "kernels": [{"name": "k", "source": "k.cl", "function": "k", "global": ["n"],
            "arguments": [{"out": "float", "size": "n*m"}]}],
        "launches": [{"name": "a", "kernel": "k"}]}"#;
    assert_eq!(
        messages(text),
        ["kernel a, arguments[0].size: `n*m`: `m` has no value"]
    );
    let remedy = problems(text)[0].remedy().unwrap();
    assert!(remedy.contains("--dim m=N"), "{remedy}");
    let bound = |dims: &[(&str, u64)]| {
        let dims = dims
            .iter()
            .map(|&(name, value)| (name.to_owned(), value))
            .collect();
        import_text(text, "text", &dims, &Library::empty())
    };
    let linked = bound(&[("m", 3), ("n", 8)]).unwrap();
    assert_eq!(
        linked.dims,
        BTreeMap::from([("m".to_owned(), 3), ("n".to_owned(), 8)])
    );
    let Argument::Buffer(buffer) = &linked.graph.kernels.iter().next().unwrap().1.arguments[0]
    else {
        panic!()
    };
    assert_eq!(buffer.elements, 24);
    let error = bound(&[("m", 3), ("q", 1)]).unwrap_err().to_string();
    assert_eq!(
        error,
        "--dim q: `q` is a value for a symbol that no expression needs"
    );
}

/// A list of kernels, of which each changes a buffer of `size` elements and has these entries besides.
fn kernels(entries: &[&str]) -> String {
    let entries = entries.iter().enumerate().map(|(id, more)| {
        format!(
            r#"{{"id": {id}, "src": "k.cl", "name": "k", "globalWorkSize": [8],
               "inputBuffers": [{{"type": "float", "pos": 0, "size": "16" FROM}}],
               "outputBuffers": [{{"type": "float", "pos": 1, "size": "16"}}] {more}}}"#
        )
    });
    format!("[{}]", entries.collect::<Vec<_>>().join(",")).replace("FROM", "")
}

#[test]
fn problems_are_told_with_their_places_and_all_at_once() {
    let text = r#"[
        {"id": 3, "src": "../k.cl", "name": "7k", "globalWorkSize": [0],
         "inputBuffers": [{"type": "flot", "pos": 0, "size": "4"}, {"type": "int", "pos": 0, "size": "4"}],
         "outputBuffers": [{"type": "float", "pos": 2, "size": "4"}]},
        {"id": 4, "src": "k.cl", "name": "k", "globalWorkSize": [0, "n", "1/0"], "localWorkSize": [3],
         "outputBuffers": [{"type": "float", "pos": 0, "size": "4"}]},
        {"id": 5, "src": "k.cl", "name": "k", "globalWorkSize": [8], "localWorkSize": [3], "workDimension": 1,
         "inputBuffers": [{"type": "double", "pos": 1, "size": "99999999999999999999999"}],
         "outputBuffers": [{"type": "float16", "pos": 0, "size": "1099511627776"}],
         "varArguments": [{"type": "uchar", "pos": 2, "value": 256}, {"type": "int", "pos": 3, "value": "1.5"}]},
        {"id": 6, "src": "k.cl", "name": "k", "globalWorkSize": [8],
         "inputBuffers": [{"type": "float", "pos": 0, "size": "4"}]},
        {"id": 7, "src": "k.cl", "name": "k", "globalWorkSize": [8],
         "outputBuffers": [{"type": "float", "pos": 1, "size": "4"}]}
    ]"#;
    let found = messages(text);
    for expected in [
        "kernel 3, src: `../k.cl` is no name of a file in a folder",
        "kernel 3, name: `7k` is no name in C",
        "kernel 3, inputBuffers[0].type: `flot` is no type of OpenCL C that arguments can have",
        "kernel 4, localWorkSize: has 1 extents; the kernel has 3",
        "kernel 5, inputBuffers[0].size: `99999999999999999999999` is 99999999999999999999999; it has to be from 1 to 18446744073709551615",
        "kernel 5, outputBuffers[0].size: 1099511627776 elements of 64 bytes are more than 1099511627776 bytes",
        "kernel 5, varArguments[0].value: `256` is 256; it has to be from 0 to 255",
        "kernel 5, varArguments[1].value: `1.5`: column 2: `.` stands where an operator or the end should",
        "kernel 6: the kernel writes no buffer, so nothing can depend on it",
        "kernel 7: nothing has position 0, and something has 1",
    ] {
        assert!(
            found.iter().any(|message| message == expected),
            "{expected}\nis not in {found:#?}"
        );
    }
}

#[test]
fn work_sizes_have_values_and_divide() {
    let one = |global: &str, local: &str| {
        messages(&format!(
            r#"[{{"id": "a", "src": "k.cl", "name": "k", "globalWorkSize": {global}, "localWorkSize": {local},
                "outputBuffers": [{{"type": "float", "pos": 0, "size": "4"}}]}}]"#
        ))
    };
    assert_eq!(
        one("[8, 100]", "[4, 32]"),
        ["kernel a, localWorkSize[1]: 100 work items do not divide into groups of 32"]
    );
    assert_eq!(
        one("[\"n\", \"8/(4-4)\", 0]", "\"\""),
        [
            "kernel a, localWorkSize: ``: column 1: the end stands where a number, a symbol or `(` should"
        ]
    );
    assert_eq!(
        one("[\"n\", \"8/(4-4)\", 0]", "[]"),
        [
            "kernel a, globalWorkSize[0]: `n`: `n` has no value",
            "kernel a, globalWorkSize[1]: `8/(4-4)`: `8 / (4 - 4)` divides by zero",
            "kernel a, globalWorkSize[2]: `0` is 0; it has to be from 1 to 1099511627776",
        ]
    );
}

#[test]
fn positions_do_not_clash() {
    let text = kernels(&[r#", "varArguments": [{"type": "int", "pos": 1, "value": 3}]"#]);
    assert_eq!(
        messages(&text),
        ["kernel 0, varArguments[0]: position 1 is taken by outputBuffers[0] too"]
    );
}

#[test]
fn circles_are_told_by_their_kernels() {
    let text = kernels(&[
        r#", "depends": [2]"#,
        r#", "depends": [0]"#,
        r#", "depends": [1]"#,
        r#", "depends": [2]"#,
    ]);
    assert_eq!(
        messages(&text),
        ["the edges: kernels wait for each other in a circle: 1 -> 2 -> 0 -> 1"]
    );
    assert_eq!(
        messages(&kernels(&[r#", "depends": [0]"#])),
        ["the edges: kernels wait for each other in a circle: 0 -> 0"]
    );
}

#[test]
fn edges_lead_from_what_is_written_to_what_is_read() {
    let head = "0 product.json {\"rows\":64,\"columns\":64,\"depth\":64,\"tile\":16,\"each\":1}\n\
        1 softmax.json {\"rows\":64,\"columns\":64}\n\
        2 softmax.json {\"rows\":32,\"columns\":64}\n---\n";
    for (edges, expected) in [
        (
            "0 0 -> 1 0",
            "line 5: argument 0 of kernel `0` is read alone; an edge starts at a buffer that is written",
        ),
        (
            "0 2 -> 1 1",
            "line 5: argument 1 of kernel `1` is written alone; an edge ends at a buffer that is read",
        ),
        (
            "0 3 -> 1 0",
            "line 5: argument 3 of kernel `0` is a value; an edge starts at a buffer that is written",
        ),
        ("0 2 -> 1 9", "line 5: kernel `1` has no argument 9"),
        ("0 2 -> 7 0", "line 5: there is no kernel `7`"),
        (
            "0 2 -> 2 0",
            "line 5: kernel 0 argument 2 has 4096 of float and kernel 2 argument 0 has 2048 of float",
        ),
        (
            "0 2 -> 1 0\n0 2 -> 1 0",
            "line 6: kernel 1 argument 0 gets its contents from both kernel 0 argument 2 and kernel 0 argument 2",
        ),
        (
            "0 2 1 0",
            "line 5: `0 2 1 0` is no edge: write `kernel position -> kernel position`",
        ),
    ] {
        let found = problems(&format!("{head}{edges}\n---\n"));
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [expected]
        );
    }
}

#[test]
fn descriptions_are_found_in_the_named_folders_alone() {
    let line = |file: &str| format!("0 {file} {{}}\n---\n");
    assert_eq!(
        messages(&line("gone.json")),
        ["kernel 0: `gone.json` is in none of info"]
    );
    for outside in [
        "../info/product.json",
        "/etc/passwd",
        "info/product.json",
        "..",
        "a\\b.json",
    ] {
        let found = problems(&line(outside));
        assert!(matches!(found[0].defect, Defect::FileName(_)), "{found:?}");
        assert!(found[0].remedy().unwrap().contains("--kernel-dir"));
    }
    let options = KernelOptions {
        folders: vec![folder().join("info")],
        ..KernelOptions::default()
    };
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("app.graph");
    std::fs::copy(folder().join("one_head.graph"), &path).unwrap();
    let error = import(&path, &KernelOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("`product.json` is in none of"), "{error}");
    let found = import(&path, &options).unwrap();
    assert_eq!(found.graph.digest, imported("one_head.graph").graph.digest);
}

#[test]
fn ids_and_lines_are_told() {
    let symbols = "{\"rows\":64,\"columns\":64}";
    assert_eq!(
        messages(&format!(
            "0 softmax.json {symbols}\n0 softmax.json {symbols}\n---\n"
        )),
        ["kernel 0: `0` is the id of another kernel too"]
    );
    assert_eq!(messages(""), ["the file: there is no kernel"]);
    assert_eq!(messages("[]"), ["the file: there is no kernel"]);
    let found = messages("0\n1 softmax.json {\"rows\":}\n---\n");
    assert!(
        found[0].starts_with("line 1: `0` is no kernel: write id"),
        "{found:?}"
    );
    assert!(found[1].starts_with("line 2: kernel 1:1:"), "{found:?}");
    let found = messages(&format!("0 softmax.json {symbols}\n---\n---\n[[0], [4]]\n"));
    assert_eq!(found, ["line 4, [1][0]: there is no kernel `4`"]);
    let linked = from_text(&format!(
        "a softmax.json {symbols}\nb softmax.json {symbols}\n---\n---\n{{\"tc\": [[\"b\"], [\"a\"]]}}\n"
    ));
    let components: Vec<_> = linked
        .unwrap()
        .graph
        .kernels
        .iter()
        .map(|(_, kernel)| kernel.component)
        .collect();
    assert_eq!(components, [Some(1), Some(0)]);
}

#[test]
fn hostile_files_end_in_a_message() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_object = "{\"a\":".repeat(100_000);
    let parentheses = kernels(&[&format!(
        r#", "varArguments": [{{"type": "int", "pos": 2, "value": "{}"}}]"#,
        "(".repeat(1000)
    )]);
    let mut chain = String::new();
    let mut edges = String::new();
    for id in 0..20_000 {
        writeln!(chain, "{id} softmax.json {{\"rows\":1,\"columns\":1}}").unwrap();
        if id > 0 {
            writeln!(edges, "{} 1 -> {id} 0", id - 1).unwrap();
        }
    }
    let linked = from_text(&format!("{chain}---\n{edges}---\n")).unwrap();
    assert_eq!(linked.graph.edges().count(), 19_999);
    let circle = format!("{chain}---\n{edges}19999 1 -> 0 0\n---\n");
    let many = "x y.json {\n".repeat(1000);
    for text in [
        &deep,
        &deep_object,
        &parentheses,
        &circle,
        &many,
        "{",
        "[{",
        "\u{0}",
        "{}",
        "[3]",
        "[[]]",
        "null",
    ] {
        let error = from_text(text).unwrap_err().to_string();
        assert!(error.len() < 20_000, "{}", error.len());
    }
    // Each end of a text that was cut is a message or a graph.
    let whole = std::fs::read_to_string(folder().join("irregular.json")).unwrap();
    // The last line break is not needed.
    for end in (0..whole.trim_end().len()).step_by(7) {
        assert!(from_text(&whole[..end]).is_err());
    }
    let whole = std::fs::read_to_string(folder().join("two_heads.graph")).unwrap();
    for end in (0..whole.len()).step_by(11) {
        let _ = from_text(&whole[..end]);
    }
}

#[test]
fn files_that_are_none_are_refused() {
    let options = KernelOptions::default();
    let scratch = tempfile::tempdir().unwrap();
    let error = import(scratch.path(), &options).unwrap_err();
    assert!(matches!(error, KernelsError::NotAFile { .. }), "{error}");
    let error = import(&scratch.path().join("gone.graph"), &options).unwrap_err();
    assert!(matches!(error, KernelsError::Read { .. }), "{error}");
    let path = scratch.path().join("large.json");
    std::fs::File::create(&path)
        .unwrap()
        .set_len((16 << 20) + 1)
        .unwrap();
    let error = import(&path, &options).unwrap_err();
    assert!(matches!(error, KernelsError::TooLarge { .. }), "{error}");
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    let error = import(&path, &options).unwrap_err();
    assert!(
        matches!(error, KernelsError::NotText { offset: 0 }),
        "{error}"
    );
}
