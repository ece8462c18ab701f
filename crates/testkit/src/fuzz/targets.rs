//! One function a fuzz target; each panics where something is wrong.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use paracompile_frontend::cost::{CostOverrides, CostTable};
use paracompile_frontend::facts::model_facts;
use paracompile_frontend::import::kernels::{self, Format, Library, Lookup};
use paracompile_frontend::import::onnx::{
    Convolutions, ImportError, ImportOptions, Imported, Outcome, examine_bytes, import_bytes,
};
use paracompile_frontend::ir::{Summary, TensorRole, WeightRef, dump};
use paracompile_frontend::soc::Soc;
use paracompile_plan::{check, parse_plan};

use super::{memory, model};
use crate::case::Case;

/// Memory that an import may need whatever the size of the file; documented in `docs/fuzzing.md`.
pub const MEMORY_BASE: usize = 256 << 20;

/// Memory that an import may need beyond that, for each byte of the file.
pub const MEMORY_FACTOR: usize = 64;

/// Reads `bytes` as a model, with and without folding of convolutions.
///
/// Nothing may panic; weights must lie in the file; what is folded must not decide whether a model is accepted; and where [`memory::Counting`]
/// counts, an import keeps to the documented bound.
///
/// # Panics
/// If one of these does not hold.
pub fn onnx_import(bytes: &[u8]) {
    let file = Bytes::copy_from_slice(bytes);
    let folded = imported(&file, Convolutions::Fold);
    let written = imported(&file, Convolutions::AsWritten);
    match (&folded, &written) {
        (Ok(_), Ok(_)) | (Err(_), Err(_)) => {}
        (Ok(_), Err(error)) | (Err(error), Ok(_)) => {
            panic!("folding decides whether the model is accepted: {error}")
        }
    }
    let options = ImportOptions::default();
    match examine_bytes("fuzz", &file, &options) {
        Ok(examined) => {
            if let Outcome::Incomplete { missing, .. } = examined.outcome {
                for problem in missing {
                    let _ = problem.to_string();
                }
            }
        }
        Err(error) => assert!(
            folded.is_err(),
            "a model that is imported cannot be examined: {error}"
        ),
    }
    for imported in [folded, written].into_iter().flatten() {
        judge(&imported, bytes.len() as u64);
    }
}

/// The same for the model that `data` describes.
pub fn onnx_structured(data: &[u8]) {
    onnx_import(&model::model(data));
}

/// The model, with every symbol bound to a small number that follows from its name.
fn imported(file: &Bytes, convolutions: Convolutions) -> Result<Imported, ImportError> {
    let mut options = ImportOptions {
        convolutions,
        ..ImportOptions::default()
    };
    let first = within_bound(file, &options);
    let Err(ImportError::UnboundSymbols(symbols)) = &first else {
        return first;
    };
    for symbol in symbols {
        let letters = symbol.name.bytes().fold(0u8, u8::wrapping_add);
        options
            .dims
            .insert(symbol.name.clone(), u64::from(letters % 7) + 1);
    }
    within_bound(file, &options)
}

fn within_bound(file: &Bytes, options: &ImportOptions) -> Result<Imported, ImportError> {
    let (result, most) = memory::peak(|| {
        let result = import_bytes("fuzz", file, options);
        if let Err(error) = &result {
            // What a user sees is part of what a file can ask for.
            let _ = error.to_string();
        }
        result
    });
    let bound = MEMORY_BASE + MEMORY_FACTOR * file.len();
    assert!(
        most <= bound,
        "an import of {} bytes needs {most} bytes",
        file.len()
    );
    result
}

fn judge(imported: &Imported, length: u64) {
    for warning in &imported.warnings {
        let _ = warning.to_string();
    }
    let _ = dump(&imported.graph);
    let _ = Summary::of(&imported.graph);
    let _ = model_facts(&imported.graph);
    for (_, tensor) in imported.graph.tensors.iter() {
        let TensorRole::Weight(weight) = &tensor.role else {
            continue;
        };
        match weight {
            WeightRef::Inline {
                offset,
                length: bytes,
            }
            | WeightRef::Varints {
                offset,
                length: bytes,
            } => {
                let end = offset.checked_add(*bytes).expect("a place in the file");
                assert!(end <= length, "a weight ends at {end} of {length}");
            }
            WeightRef::External { location, .. } => {
                let inside = Path::new(location)
                    .components()
                    .all(|part| !matches!(part, std::path::Component::ParentDir));
                assert!(inside && Path::new(location).is_relative(), "{location}");
            }
            WeightRef::Generated => {}
        }
    }
}

/// Reads `bytes` as a kernel graph with the descriptions of the importer's own tests; what is accepted is lowered, and reads back as the same graph
/// from every format that can hold it.
///
/// # Panics
/// If something does, or if a conversion changes the graph.
pub fn kernels_import(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let symbols = BTreeMap::new();
    let library = Library {
        description: &description,
        ..Library::empty()
    };
    let (result, most) = memory::peak(|| kernels::import_text(text, "fuzz", &symbols, &library));
    let bound = MEMORY_BASE + MEMORY_FACTOR * bytes.len();
    assert!(most <= bound, "{} bytes need {most} bytes", bytes.len());
    let linked = match result {
        Ok(linked) => linked,
        Err(error) => {
            // What a user sees is part of what a file can ask for.
            let _ = error.to_string();
            return;
        }
    };
    if let Ok(graph) = kernels::lower(&linked) {
        let _ = dump(&graph);
        let _ = Summary::of(&graph);
        let _ = model_facts(&graph);
    }
    let read = kernels::read_text(text, "fuzz", &library);
    let specification = read.expect("what can be imported can be read");
    for format in [Format::Kernels, Format::Symbolic, Format::Expanded] {
        let Ok(written) = kernels::write(&specification, &linked, format) else {
            continue;
        };
        let library = Library {
            description: &|name| match written.descriptions.get(name) {
                Some(text) => Lookup::Found(text.clone()),
                None => Lookup::Missing,
            },
            ..Library::empty()
        };
        let again = kernels::import_text(&written.text, "fuzz", &symbols, &library);
        let again = again.unwrap_or_else(|error| panic!("as {format:?}: {error}"));
        assert_eq!(again.graph.digest, linked.graph.digest, "as {format:?}");
    }
}

/// The descriptions that kernel graphs of a fuzzer can name.
fn description(name: &str) -> Lookup {
    const KNOWN: [(&str, &str); 4] = [
        (
            "product.json",
            include_str!("../../../frontend/tests/kernels/info/product.json"),
        ),
        (
            "turn.json",
            include_str!("../../../frontend/tests/kernels/info/turn.json"),
        ),
        (
            "softmax.json",
            include_str!("../../../frontend/tests/kernels/info/softmax.json"),
        ),
        (
            "nothing.json",
            include_str!("../../../frontend/tests/kernels/info/nothing.json"),
        ),
    ];
    match KNOWN.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Lookup::Found((*text).to_owned()),
        None => Lookup::Missing,
    }
}

/// Reads `text` as a plan and has it judged against the facts of `case`.
///
/// # Panics
/// If reading or judging does, or if `case` is none.
pub fn plan_json(text: &[u8], case: &Case) {
    let model = case.model_facts().expect("the case is committed");
    let costs = case.cost_facts().expect("the case is committed");
    match parse_plan(Path::new("fuzz.json"), text) {
        Ok(plan) => {
            for violation in check(&plan, &model, &costs) {
                let _ = violation.to_string();
            }
        }
        Err(error) => {
            let _ = error.to_string();
        }
    }
}

/// Reads `text` as a profile of a chip, and as measured costs; a chip that is accepted costs the network of `case`.
///
/// # Panics
/// If one of these does, or if `case` is none.
pub fn soc_profile_json(text: &[u8], case: &Case) {
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let overrides = CostOverrides::from_json(text, "fuzz");
    let soc = Soc::from_json(text, "fuzz");
    // What a user sees is part of what a file can ask for.
    let _ = overrides.as_ref().map_err(ToString::to_string);
    let _ = soc.as_ref().map_err(ToString::to_string);
    if overrides.is_err() && soc.is_err() {
        return;
    }
    let built = case.build().expect("the case is committed");
    let soc = soc.unwrap_or_else(|_| Soc::builtin("vim3").expect("it is built in"));
    let overrides = overrides.unwrap_or_default();
    if let Err(error) = CostTable::new(&built.graph, &soc, &overrides, None) {
        let _ = error.to_string();
    }
}

/// The case that plans and profiles are read for.
///
/// # Panics
/// If it is not committed.
pub fn case() -> Case {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../solver_tests/cases/hand");
    let mut files = crate::case::files(&path).expect("the folder is committed");
    files.sort();
    Case::read(&files[0]).expect("a case")
}
