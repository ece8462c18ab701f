//! Kernel graphs on the command line: reading one like a model, and what `inspect` says of it beyond what it says of every graph.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use paracompile::import::{Convolutions, Folded, Imported};
use paracompile::kernels::{
    KernelGraph, KernelOptions, KernelsError, Linked, Problem, import, lower,
};
use serde_json::{Value, json};

use crate::args::DimArgs;
use crate::failure::{Failure, Kind};
use crate::input::{self, counted};

/// What the user decides about reading a kernel graph; choices about networks alone are refused.
pub(crate) fn options(path: &Path, dims: &DimArgs) -> Result<KernelOptions, Failure> {
    let options = input::import_options(dims)?;
    for (given, option) in [
        (
            options.convolutions == Convolutions::AsWritten,
            "--as-written",
        ),
        (dims.expose_heads.is_some(), "--expose-heads"),
    ] {
        if given {
            let what = format!("{option}: {} is a kernel graph", path.display());
            return Err(Failure::new(Kind::Usage, what).with_help("leave it out"));
        }
    }
    Ok(KernelOptions {
        folders: dims.kernel_dirs.clone(),
        symbols: options.dims,
    })
}

/// The same where there are no choices about networks.
pub(crate) fn plain_options(
    folders: &[PathBuf],
    dims: &[(String, u64)],
) -> Result<KernelOptions, Failure> {
    Ok(KernelOptions {
        folders: folders.to_vec(),
        symbols: input::bound(dims)?,
    })
}

/// Reads a kernel graph.
pub(crate) fn linked(path: &Path, options: &KernelOptions) -> Result<Linked, Failure> {
    import(path, options).map_err(|error| picture(&error, path))
}

/// Reads a kernel graph as a model too.
pub(crate) fn model(path: &Path, dims: &DimArgs) -> Result<(Imported, Linked), Failure> {
    let linked = linked(path, &options(path, dims)?)?;
    Ok((lowered(path, &linked)?, linked))
}

/// The operator graph of a kernel graph.
pub(crate) fn lowered(path: &Path, linked: &Linked) -> Result<Imported, Failure> {
    let graph = lower(linked).map_err(|wrong| {
        let wrong = wrong.iter().map(ToString::to_string);
        let what = format!("{}: cannot be mapped", path.display());
        Failure::new(Kind::Model, what).with_details(wrong)
    })?;
    Ok(Imported {
        graph,
        warnings: Vec::new(),
        folded: Folded::default(),
        edits: Vec::new(),
        depends_on_values: false,
    })
}

/// The picture of a kernel graph that cannot be read.
pub(crate) fn picture(error: &KernelsError, path: &Path) -> Failure {
    let KernelsError::Invalid(problems) = error else {
        return Failure::from_error(Kind::Model, error).at(path);
    };
    let what = match problems.as_slice() {
        [_] => "a problem".to_owned(),
        _ => counted(problems.len(), "problem"),
    };
    let failure = Failure::new(Kind::Model, format!("{}: {what}", path.display()));
    let failure = failure.with_details(problems.iter().map(ToString::to_string));
    let mut remedies: Vec<String> = Vec::new();
    for remedy in problems.iter().filter_map(Problem::remedy) {
        if !remedies.contains(&remedy) {
            remedies.push(remedy);
        }
    }
    if remedies.is_empty() {
        failure
    } else {
        failure.with_help(remedies.join("\n"))
    }
}

/// What a kernel graph is made of, as lines.
pub(crate) fn about(graph: &KernelGraph) -> String {
    let mut lines = vec![String::new(), "  kernels".to_owned()];
    for (function, (count, (file, found))) in functions(graph) {
        let found = if found {
            ""
        } else {
            " (not found; needed to run)"
        };
        lines.push(format!("  {count:>6} times  {function} of {file}{found}"));
    }
    let groups = [
        ("preferred device", devices(graph)),
        ("component", components(graph)),
    ];
    for (what, counts) in groups {
        for (which, count) in counts {
            lines.push(format!("  {count:>6} in     {what} {which}"));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The same for programs.
pub(crate) fn about_json(graph: &KernelGraph) -> Value {
    let functions = functions(graph).into_iter();
    let functions = functions.map(|(function, (count, (file, found)))| {
        json!({ "function": function, "file": file, "found": found, "launches": count })
    });
    json!({
        "functions": functions.collect::<Vec<_>>(),
        "devices": devices(graph),
        "components": components(graph),
    })
}

/// Launches of each function, and the file that it is in.
fn functions(graph: &KernelGraph) -> BTreeMap<&str, (usize, (&str, bool))> {
    let mut functions = BTreeMap::new();
    for (_, kernel) in graph.kernels.iter() {
        let source = &kernel.source;
        let source = (source.written.as_str(), source.found.is_some());
        let entry = functions.entry(kernel.function.as_str());
        entry.or_insert((0, source)).0 += 1;
    }
    functions
}

fn devices(graph: &KernelGraph) -> BTreeMap<String, usize> {
    let mut devices = BTreeMap::new();
    for device in graph.kernels.iter().filter_map(|(_, kernel)| kernel.device) {
        *devices.entry(device.to_string()).or_default() += 1;
    }
    devices
}

fn components(graph: &KernelGraph) -> BTreeMap<String, usize> {
    let mut components = BTreeMap::new();
    let given = graph.kernels.iter();
    for component in given.filter_map(|(_, kernel)| kernel.component) {
        *components.entry(component.to_string()).or_default() += 1;
    }
    components
}
