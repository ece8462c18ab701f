//! The committed inputs of the fuzz targets, replayed without a fuzzer.
//!
//! Whatever a fuzzer found stays here, named after what broke; time is guarded by the size of the inputs and by the counted memory of each import.

use std::panic::{AssertUnwindSafe, catch_unwind};

use paracompile_testkit::fuzz::{corpus, memory, targets};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// The most bytes that an input needs; larger ones make the suite slow and are no minimal ones.
const LARGEST: usize = 40_000;

fn replay(target: &str, least: usize, run: impl Fn(&[u8])) {
    let inputs = corpus::inputs(target).expect("the corpus is committed");
    assert!(inputs.len() >= least, "only {} inputs", inputs.len());
    let mut broken = Vec::new();
    for (path, bytes) in inputs {
        assert!(bytes.len() <= LARGEST, "{} is large", path.display());
        if catch_unwind(AssertUnwindSafe(|| run(&bytes))).is_err() {
            broken.push(path.display().to_string());
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn files_of_any_bytes() {
    replay("onnx_import", 100, targets::onnx_import);
}

#[test]
fn models_that_look_valid() {
    replay("onnx_structured", 200, targets::onnx_structured);
}

#[test]
fn kernel_graphs() {
    replay("kernels_import", 10, targets::kernels_import);
}

#[test]
fn plans() {
    let case = targets::case();
    replay("plan_json", 10, |text| targets::plan_json(text, &case));
}

#[test]
fn profiles_and_measured_costs() {
    let case = targets::case();
    replay("soc_profile_json", 10, |text| {
        targets::soc_profile_json(text, &case);
    });
}
