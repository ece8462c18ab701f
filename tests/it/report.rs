//! The HTML report: what a run writes, what `paracompile report` makes of its files, and what it refuses.

use insta::assert_snapshot;
use serde_json::Value;

use crate::command::Desk;

const SMALL: &str = "pyschedcl_mha_h2.onnx";
const GOOGLENET: &str = "googlenet.onnx";

/// Runs a model and returns the desk with what it wrote in `o`.
fn mapped(model: &str, more: &[&str]) -> Desk {
    let desk = Desk::new().with_model(model);
    let base = [
        model,
        "--soc",
        "vim3",
        "--quiet",
        "--no-plots",
        "--out",
        "o",
    ];
    desk.run(&[&base[..], more].concat()).done();
    desk
}

fn text(desk: &Desk, name: &str) -> String {
    std::fs::read_to_string(desk.path(name)).expect("the file is there")
}

/// The JSON in the element with this id.
fn embedded(page: &str, id: &str) -> Value {
    let (_, rest) = page
        .split_once(&format!("id=\"{id}\">"))
        .expect("the element is there");
    let (json, _) = rest.split_once("</script>").expect("elements end");
    serde_json::from_str(json).expect("it is JSON")
}

#[test]
fn a_run_writes_a_page_with_all_its_plans() {
    let desk = mapped(GOOGLENET, &[]);
    let page = text(&desk, "o/report.html");
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    let front: Value = serde_json::from_str(&text(&desk, "o/front.json")).expect("it is JSON");
    let run = embedded(&page, "run");
    let shown: Vec<&str> = run["plans"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|plan| plan["file"].as_str().expect("a file"))
        .collect();
    let files = desk.files("o");
    let written: Vec<&str> = files
        .iter()
        .map(|(file, _)| file.as_str())
        .filter(|file| file.starts_with("plans/") || file.starts_with("baselines/"))
        .collect();
    for file in &written {
        assert!(shown.contains(file), "{file}");
    }
    assert_eq!(shown.len(), written.len());
    assert_eq!(run["why"], front["why"]);
    let recommended = usize::try_from(run["recommended"].as_u64().expect("an index"));
    assert_eq!(
        shown[recommended.expect("it is small")],
        front["recommended"]
    );
    let details = embedded(&page, "details");
    let details = details.as_array().expect("a list");
    assert_eq!(details.len(), shown.len());
    assert!(details.iter().all(Value::is_object), "none is left out");
}

#[test]
fn the_page_is_made_again_from_its_files_byte_for_byte() {
    for more in [&[][..], &["--processors", "big,gpu"]] {
        let desk = mapped(SMALL, more);
        let page = text(&desk, "o/report.html");
        let again = ["report", "o", "--model", SMALL, "--soc", "vim3"];
        let run = desk.run(&[&again[..], more, &["-o", "again.html"]].concat());
        assert_eq!(run.done(), "Written to again.html\n");
        assert_eq!(text(&desk, "again.html"), page);
    }
}

#[test]
fn plan_files_alone_give_a_page_that_says_what_it_lacks() {
    let desk = mapped(SMALL, &["--no-report"]);
    assert!(!desk.path("o/report.html").exists());
    desk.run(&["report", "o"]).done();
    let run = embedded(&text(&desk, "o/report.html"), "run");
    let notes = run["notes"].as_array().expect("a list");
    assert!(
        notes.iter().any(|note| note
            .as_str()
            .is_some_and(|note| note.contains("plan files alone"))),
        "{notes:?}"
    );
    assert_eq!(run["operators"]["class"], Value::Array(Vec::new()));
    let page = text(&desk, "o/report.html");
    let picture = desk.run(&["report", "o"]).refused(2);
    assert!(
        picture.contains("o/report.html") && picture.contains("--model and --soc"),
        "{picture}"
    );
    assert_eq!(text(&desk, "o/report.html"), page);
    desk.run(&["report", "o", "-o", "again.html"]).done();
    // A run without a page leaves none of an earlier run.
    desk.run(&[
        SMALL,
        "--soc",
        "vim3",
        "--quiet",
        "--no-plots",
        "--no-report",
        "--out",
        "o",
    ])
    .done();
    assert!(!desk.path("o/report.html").exists());
}

#[test]
fn what_is_no_run_is_refused() {
    let desk = mapped(SMALL, &[]).with_model("squeezenet1_1.onnx");
    let mut pictures = String::new();
    let mut refuse = |arguments: &[&str]| pictures.push_str(&desk.run(arguments).refused(2));
    refuse(&["report", "missing"]);
    refuse(&["report", SMALL]);
    refuse(&["report", "o", "--model", SMALL]);
    refuse(&["report", "o", "--model", "missing.onnx", "--soc", "vim3"]);
    refuse(&["report", "o", "-o", "o/front.json/report.html"]);
    let front = text(&desk, "o/front.json");
    let mut changed: Value = serde_json::from_str(&front).expect("it is JSON");
    changed["recommended"] = "plans/99.json".into();
    desk.put("o/front.json", changed.to_string());
    refuse(&["report", "o", "-o", "again.html"]);
    let mut changed: Value = serde_json::from_str(&front).expect("it is JSON");
    changed["plans"][0]["file"] = "plans/99.json".into();
    desk.put("o/front.json", changed.to_string());
    refuse(&["report", "o", "-o", "again.html"]);
    desk.put("o/front.json", "{");
    refuse(&["report", "o"]);
    assert_snapshot!(pictures);
}

#[test]
fn a_page_of_another_model_is_refused() {
    let desk = mapped(SMALL, &[]).with_model("squeezenet1_1.onnx");
    let run = desk.run(&[
        "report",
        "o",
        "--model",
        "squeezenet1_1.onnx",
        "--soc",
        "vim3",
    ]);
    let picture = run.refused(2);
    assert!(
        picture.contains("this plan is for the model of digest"),
        "{picture}"
    );
}
