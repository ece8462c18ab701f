//! One folder of the ONNX backend tests: `model.onnx`, `test_data_set_*/input_*.pb` and `output_*.pb`, perhaps `data.json`.
//!
//! The tests feed as inputs what decides shapes, and networks have as constants. Such inputs become constants here where import or
//! lowering asks for their values: small integers first, then small numbers of any type.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use paracompile_frontend::import::onnx::{
    self, Convolutions, ImportError, ImportOptions, PROBE, Program, TensorFile,
};
use paracompile_frontend::ir::DataType;

use super::{Tolerance, difference};
use crate::interpret::{InterpretError, constants, run, stored};
use crate::solo::Solo;

/// What became of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All results are as expected.
    Passed,
    /// The model ran, and this is wrong with its results.
    Differs(String),
    /// The model cannot be imported, or has operators that no kernel computes.
    Unsupported(String),
    /// The folder cannot be read.
    Unreadable(String),
    /// The device failed.
    Failed(String),
}

/// Runs the test of a folder on one device.
pub fn run_folder(solo: &Solo, folder: &Path) -> Outcome {
    match test(solo, folder) {
        Ok(()) => Outcome::Passed,
        Err(outcome) => outcome,
    }
}

fn test(solo: &Solo, folder: &Path) -> Result<(), Outcome> {
    let unreadable = |path: &Path, error: &dyn std::fmt::Display| {
        let (place, why) = (path.display().to_string(), error.to_string());
        // Some messages name their file.
        Outcome::Unreadable(if why.contains(&place) {
            why
        } else {
            format!("{place}: {why}")
        })
    };
    let path = folder.join("model.onnx");
    let model = onnx::map(&path).map_err(|error| unreadable(&path, &error))?;
    let ports = onnx::ports(&model).map_err(|error| unreadable(&path, &error))?;
    if let Some(port) = ports
        .inputs
        .iter()
        .chain(&ports.outputs)
        .find(|port| !port.is_tensor)
    {
        let what = format!("`{}` is no dense tensor", port.name);
        return Err(Outcome::Unsupported(what));
    }
    let tolerance = tolerance(folder);
    let sets = data_sets(folder).map_err(|error| unreadable(folder, &error))?;
    if sets.is_empty() {
        return Err(Outcome::Unreadable(format!(
            "{}: has no test_data_set_*",
            folder.display()
        )));
    }
    for set in sets {
        let inputs = tensors(&set, "input", ports.inputs.iter().map(|port| &port.name))?;
        let expected = tensors(&set, "output", ports.outputs.iter().map(|port| &port.name))?;
        let found = compute(solo, folder, &model, &inputs)?;
        for ((port, expected), found) in ports.outputs.iter().zip(&expected).zip(&found) {
            let Some(expected) = expected else {
                continue;
            };
            if let Some(what) = wrong(&expected.tensor, found, tolerance) {
                return Err(Outcome::Differs(format!("`{}`: {what}", port.name)));
            }
        }
    }
    Ok(())
}

fn wrong(expected: &TensorFile, found: &TensorFile, tolerance: Tolerance) -> Option<String> {
    if (expected.dtype, &expected.shape) != (found.dtype, &found.shape) {
        return Some(format!(
            "{} {} instead of {} {}",
            found.dtype, found.shape, expected.dtype, expected.shape
        ));
    }
    difference(&found.bytes, &expected.bytes, expected.dtype, tolerance)
}

/// A tensor of a file, and the file.
struct Fed {
    name: String,
    file: Bytes,
    tensor: TensorFile,
}

/// The folders `test_data_set_*`, in order.
fn data_sets(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut sets = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("test_data_set_") {
            sets.push(entry.path());
        }
    }
    sets.sort();
    Ok(sets)
}

/// The tensors `KIND_0.pb` and so on, one a name; `None` where the file is not there.
fn tensors<'n>(
    set: &Path,
    kind: &str,
    names: impl Iterator<Item = &'n String>,
) -> Result<Vec<Option<Fed>>, Outcome> {
    let mut tensors = Vec::new();
    for (index, name) in names.enumerate() {
        let path = set.join(format!("{kind}_{index}.pb"));
        if !path.is_file() {
            tensors.push(None);
            continue;
        }
        let unreadable = |error: &dyn std::fmt::Display| {
            Outcome::Unreadable(format!("{}: {error}", path.display()))
        };
        // A scalar zero of old files has no byte at all.
        let file = match onnx::map(&path) {
            Err(ImportError::Empty) => Bytes::new(),
            mapped => mapped.map_err(|error| unreadable(&error))?,
        };
        let tensor = onnx::read_tensor(&file, set).map_err(|error| unreadable(&error))?;
        tensors.push(Some(Fed {
            name: name.clone(),
            file,
            tensor,
        }));
    }
    Ok(tensors)
}

/// What `data.json` says, or what the standard's tests take.
fn tolerance(folder: &Path) -> Tolerance {
    let mut tolerance = Tolerance::default();
    let text = std::fs::read_to_string(folder.join("data.json")).unwrap_or_default();
    if let Ok(said) = serde_json::from_str::<serde_json::Value>(&text) {
        let number = |key: &str| said.get(key).and_then(serde_json::Value::as_f64);
        tolerance.relative = number("rtol").unwrap_or(tolerance.relative);
        tolerance.absolute = number("atol").unwrap_or(tolerance.absolute);
    }
    tolerance
}

/// The results, with as few inputs made constants as import and lowering ask for.
fn compute(
    solo: &Solo,
    folder: &Path,
    model: &Bytes,
    inputs: &[Option<Fed>],
) -> Result<Vec<TensorFile>, Outcome> {
    // An extent of zero means an unknown one to import, so empty tensors are constants too.
    let is_empty = |tensor: &TensorFile| tensor.shape.0.contains(&0);
    let is_list = |tensor: &TensorFile| tensor.shape.0.len() <= 1;
    let is_integer =
        |tensor: &TensorFile| matches!(tensor.dtype, DataType::Int64 | DataType::Int32);
    let attempts: [&dyn Fn(&TensorFile) -> bool; 3] = [
        &is_empty,
        &|tensor| is_empty(tensor) || (is_list(tensor) && is_integer(tensor)),
        &|tensor| is_empty(tensor) || is_list(tensor),
    ];
    let mut first = None;
    for is_constant in attempts {
        match attempt(solo, folder, model, inputs, is_constant) {
            Err(Outcome::Unsupported(what)) => {
                first.get_or_insert(what);
            }
            outcome => return outcome,
        }
    }
    Err(Outcome::Unsupported(first.unwrap_or_default()))
}

fn attempt(
    solo: &Solo,
    folder: &Path,
    model: &Bytes,
    inputs: &[Option<Fed>],
    is_constant: &dyn Fn(&TensorFile) -> bool,
) -> Result<Vec<TensorFile>, Outcome> {
    let unsupported = |error: &dyn std::fmt::Display| Outcome::Unsupported(error.to_string());
    let (fixed, fed): (Vec<&Fed>, Vec<&Fed>) = inputs
        .iter()
        .flatten()
        .partition(|input| is_constant(&input.tensor));
    let fixed: Vec<(&str, &Bytes)> = fixed
        .iter()
        .map(|input| (input.name.as_str(), &input.file))
        .collect();
    let model = onnx::with_constants(model, &fixed).map_err(|error| unsupported(&error))?;
    let program = load(folder, &model, &fed).map_err(|error| unsupported(&error))?;
    let failed = |error: InterpretError| match error {
        InterpretError::Unsupported(_) | InterpretError::Missing { .. } => {
            Outcome::Unsupported(error.to_string())
        }
        InterpretError::Payload(_)
        | InterpretError::Weights(_)
        | InterpretError::Opencl(_)
        | InterpretError::TooLarge(_)
        | InterpretError::Size { .. } => Outcome::Failed(error.to_string()),
    };
    let mut values = constants(&program, solo, &mut stored(&program)).map_err(failed)?;
    feed(&program, &fed, &mut values)?;
    run(&program, solo, &mut values).map_err(failed)?;
    // The probe's result comes last.
    let declared = program.outputs.len().saturating_sub(1);
    let outputs = program.outputs.iter().take(declared);
    outputs
        .map(|&output| {
            let value = &program.values[output];
            let bytes = values.get(&output).cloned();
            Ok(TensorFile {
                name: value.name.clone(),
                dtype: value.dtype,
                shape: value.shape.clone(),
                bytes: bytes.ok_or_else(|| {
                    Outcome::Unsupported(format!("`{}` is not computed", value.name))
                })?,
            })
        })
        .collect()
}

/// Imports the model as it is written, with symbolic extents as the inputs have them.
fn load(folder: &Path, model: &Bytes, fed: &[&Fed]) -> Result<Program, ImportError> {
    let mut options = ImportOptions {
        convolutions: Convolutions::AsWritten,
        ..ImportOptions::default()
    };
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    match onnx::load_bytes(&name, model, folder, &options) {
        Err(ImportError::UnboundSymbols(symbols)) => {
            for symbol in symbols {
                let input = fed.iter().find(|fed| fed.name == symbol.input);
                let extent = input.and_then(|fed| fed.tensor.shape.0.get(symbol.axis));
                options
                    .dims
                    .extend(extent.map(|&extent| (symbol.name, extent)));
            }
            onnx::load_bytes(&name, model, folder, &options)
        }
        loaded => loaded,
    }
}

/// Puts the inputs of a frame, and that of the probe, among the values.
fn feed(
    program: &Program,
    fed: &[&Fed],
    values: &mut BTreeMap<usize, Vec<u8>>,
) -> Result<(), Outcome> {
    for &input in &program.imported.graph.inputs {
        let id = program.tensors[input.index()];
        let value = &program.values[id];
        if value.name == PROBE {
            values.insert(id, 1f32.to_le_bytes().to_vec());
            continue;
        }
        let given = fed.iter().find(|fed| fed.name == value.name);
        let given = given.ok_or_else(|| {
            Outcome::Unreadable(format!("no file holds the input `{}`", value.name))
        })?;
        if (given.tensor.dtype, &given.tensor.shape) != (value.dtype, &value.shape) {
            return Err(Outcome::Unsupported(format!(
                "input `{}` is {} {}, not {} {}",
                value.name, given.tensor.dtype, given.tensor.shape, value.dtype, value.shape
            )));
        }
        values.insert(id, given.tensor.bytes.clone());
    }
    Ok(())
}
