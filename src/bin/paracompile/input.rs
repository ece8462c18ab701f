//! What several commands read: a model, a profile, costs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use paracompile::cost::{CostError, CostOverrides, CostTable, read_overrides};
use paracompile::import::{Convolutions, Heads, ImportOptions, Imported, Warning, import};
use paracompile::ir::VerifiedGraph;
use paracompile::kernels::{Linked, is_kernel_graph};
use paracompile::soc::{Soc, SocError};

pub(crate) use paracompile::plan::counted;

use crate::args::DimArgs;
use crate::failure::{Failure, Kind};
use crate::{kernels, model_failure, notes, terminal};

/// Prints a result.
pub(crate) fn printed(text: &str) -> Result<ExitCode, Failure> {
    terminal::print(text)
        .map(|()| ExitCode::SUCCESS)
        .map_err(|error| Failure::from_error(Kind::File, &error))
}

/// Dimensions or symbols with their values.
pub(crate) fn bound(dims: &[(String, u64)]) -> Result<BTreeMap<String, u64>, Failure> {
    let mut bound = BTreeMap::new();
    for (name, value) in dims {
        if bound
            .insert(name.clone(), *value)
            .is_some_and(|before| before != *value)
        {
            return Err(Failure::new(
                Kind::Usage,
                format!("--dim {name}: bound to two values"),
            ));
        }
    }
    Ok(bound)
}

/// What the user decides about an import.
pub(crate) fn import_options(dims: &DimArgs) -> Result<ImportOptions, Failure> {
    Ok(ImportOptions {
        dims: bound(&dims.dims)?,
        convolutions: if dims.as_written {
            Convolutions::AsWritten
        } else {
            Convolutions::Fold
        },
        heads: match dims.expose_heads {
            None => Heads::Together,
            Some(most) => Heads::Apart { most },
        },
    })
}

/// Reads a model, and says on standard error what was noticed, unless `quiet`.
pub(crate) fn model(path: &Path, dims: &DimArgs, quiet: bool) -> Result<Imported, Failure> {
    Ok(model_and_kernels(path, dims, quiet)?.0)
}

/// The same, with the kernels of a kernel graph.
pub(crate) fn model_and_kernels(
    path: &Path,
    dims: &DimArgs,
    quiet: bool,
) -> Result<(Imported, Option<Linked>), Failure> {
    if is_kernel_graph(path) {
        let (imported, linked) = kernels::model(path, dims)?;
        return Ok((imported, Some(linked)));
    }
    let imported = import(path, &import_options(dims)?)
        .map_err(|error| model_failure::picture(&error, path))?;
    warn(&imported.warnings, quiet);
    Ok((imported, None))
}

/// Says on standard error what was noticed, unless `quiet`.
pub(crate) fn warn(warnings: &[Warning], quiet: bool) {
    for warning in warnings.iter().filter(|_| !quiet) {
        terminal::note(&terminal::printable(&format!("warning: {warning}")));
    }
}

/// A profile, whole and as far as it is used.
#[derive(Debug)]
pub(crate) struct Chip {
    pub(crate) whole: Soc,
    /// Cut down to the processors that the user chose.
    pub(crate) chosen: Soc,
}

/// Finds a profile, cut down to `processors` unless that is empty.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all that is wrong inside a profile reads the same, and variants may be added"
)]
pub(crate) fn soc(name_or_path: &str, processors: &[String], quiet: bool) -> Result<Chip, Failure> {
    let failed = |error: SocError| match &error {
        SocError::UnknownProfile { name, near, known } => {
            let failure = Failure::new(
                Kind::Usage,
                format!("--soc: `{name}` is neither a built-in profile nor a file"),
            );
            failure.with_help(if near.is_empty() {
                format!("built in: {}", known.join(", "))
            } else {
                format!(
                    "did you mean {}? built in: {}",
                    near.join(" or "),
                    known.join(", ")
                )
            })
        }
        SocError::UnknownProcessors { .. } | SocError::NoProcessorChosen { .. } => {
            Failure::new(Kind::Usage, format!("--processors: {error}"))
        }
        _ => Failure::from_error(Kind::Profile, &error),
    };
    let whole = Soc::find(name_or_path).map_err(failed)?;
    if let Some(note) = notes::synthetic(&whole).filter(|_| !quiet) {
        terminal::note(&format!("note: {note}"));
    }
    let chosen = if processors.is_empty() {
        whole.clone()
    } else {
        whole.restricted(processors).map_err(failed)?
    };
    if let Some(note) = notes::assumed_powers(&chosen).filter(|_| !quiet) {
        terminal::note(&format!("note: {note}"));
    }
    Ok(Chip { whole, chosen })
}

/// The operating point of each processor: the one that is named, or the first.
pub(crate) fn points(soc: &Soc, named: &[(String, String)]) -> Result<Vec<usize>, Failure> {
    let mut points = vec![None; soc.processors.len()];
    let mut wrong = Vec::new();
    for (name, point) in named {
        let Some(id) = soc.processor(name) else {
            let known = soc.processors.iter();
            let known: Vec<&str> = known.map(|(_, known)| known.name.as_str()).collect();
            wrong.push(
                Failure::new(
                    Kind::Usage,
                    format!("--points: `{}` has no processor `{name}`", soc.name),
                )
                .with_help(format!("its processors: {}", known.join(", "))),
            );
            continue;
        };
        let known = &soc.processors[id].operating_points;
        let Some(index) = known.iter().position(|known| known.name == *point) else {
            let known: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
            wrong.push(
                Failure::new(
                    Kind::Usage,
                    format!("--points: `{name}` has no operating point `{point}`"),
                )
                .with_help(format!("its operating points: {}", known.join(", "))),
            );
            continue;
        };
        if points[id.index()].is_some_and(|other| other != index) {
            wrong.push(Failure::new(
                Kind::Usage,
                format!("--points: `{name}` is given two operating points; a plan has one"),
            ));
        }
        points[id.index()] = Some(index);
    }
    let points = points.into_iter().map(Option::unwrap_or_default).collect();
    Failure::all(wrong).map_or(Ok(points), Err)
}

/// Costs of a model on a chip, with measured ones from a file where there is one; processors are at their first operating points unless others are given.
pub(crate) fn costs(
    graph: &VerifiedGraph,
    chip: &Chip,
    measured: Option<&Path>,
    points: Option<&[usize]>,
) -> Result<CostTable, Failure> {
    let overrides = match measured {
        Some(path) => read_overrides(path)
            .map_err(|error| Failure::from_error(Kind::Profile, &error))?
            .restricted(&chip.whole, &chip.chosen),
        None => CostOverrides::default(),
    };
    CostTable::new(graph, &chip.chosen, &overrides, points).map_err(|error| match (&error, measured) {
        (CostError::OtherGraph { .. }, Some(path)) => {
            Failure::from_error(Kind::Profile, &error).at(path).with_help(
                "costs belong to one model and its --dim bindings: write them with paracompile costs for this one",
            )
        }
        (CostError::OtherDims { expected, found }, Some(path)) => {
            Failure::from_error(Kind::Profile, &error).at(path).with_help(other_dims(expected, found))
        }
        (CostError::Overrides(_), Some(path)) => {
            Failure::from_error(Kind::Profile, &error).at(path)
        }
        _ => Failure::from_error(Kind::Profile, &error),
    })
}

/// What to do about costs of other dimensions.
fn other_dims(expected: &BTreeMap<String, u64>, found: &BTreeMap<String, u64>) -> String {
    let options = |dims: &BTreeMap<String, u64>| {
        let options = dims.iter();
        let options = options.map(|(name, extent)| format!("--dim '{name}={extent}'"));
        options.collect::<Vec<_>>().join(" ")
    };
    let measure = "measure again for these: pararun profile";
    let again = match options(expected) {
        none if none.is_empty() => format!("{measure} without --dim"),
        options => format!("{measure} … {options}"),
    };
    if found.is_empty() {
        format!("{again}, or write \"dims\" into the file if it is for them")
    } else {
        format!("{again}, or map with {}", options(found))
    }
}
