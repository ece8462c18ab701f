//! `paracompile convert`: a kernel graph in another format.

use std::path::Path;
use std::process::ExitCode;

use paracompile::kernels::{Format, read, write};
use paracompile::plan::write_text;

use crate::args::{ConvertArgs, GraphFormat};
use crate::failure::{Failure, Kind};
use crate::input::counted;
use crate::kernels::{linked, picture, plain_options};
use crate::terminal;

/// Runs the command.
pub(crate) fn run(args: &ConvertArgs) -> Result<ExitCode, Failure> {
    let format = format(args)?;
    let options = plain_options(&args.kernel_dirs, &args.dims)?;
    // Evaluated although two of the formats keep expressions: what is written can be read again.
    let linked = linked(&args.graph, &options)?;
    let failed = |error| picture(&error, &args.graph);
    let specification = read(&args.graph, &options).map_err(failed)?;
    let written = write(&specification, &linked, format).map_err(failed)?;
    let folder = args.out.parent().unwrap_or_else(|| Path::new(""));
    let folder = folder.join("info");
    let mut files = vec![(args.out.clone(), &written.text)];
    for (name, text) in &written.descriptions {
        files.push((folder.join(name), text));
    }
    let taken = files.iter().find(|(path, _)| path.exists());
    if let Some((path, _)) = taken.filter(|_| !args.force) {
        let what = format!("{}: is there already", path.display());
        let failure = Failure::new(Kind::File, what);
        return Err(failure.with_help("give another name with -o, or replace it with --force"));
    }
    if !written.descriptions.is_empty() {
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::new(Kind::File, format!("{}: {error}", folder.display())))?;
    }
    for (path, text) in &files {
        write_text(path, text).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    let descriptions = match written.descriptions.len() {
        0 => String::new(),
        count => {
            let what = counted(count, "description");
            format!(", and {what} to {}", folder.display())
        }
    };
    terminal::note(&format!(
        "{} written to {}{descriptions}",
        counted(linked.graph.kernels.len(), "kernel"),
        args.out.display(),
    ));
    Ok(ExitCode::SUCCESS)
}

fn format(args: &ConvertArgs) -> Result<Format, Failure> {
    if let Some(format) = args.format {
        return Ok(match format {
            GraphFormat::Kernels => Format::Kernels,
            GraphFormat::Symbolic => Format::Symbolic,
            GraphFormat::Expanded => Format::Expanded,
        });
    }
    let extension = args
        .out
        .extension()
        .and_then(|extension| extension.to_str());
    extension.and_then(Format::of_extension).ok_or_else(|| {
        let what = format!(
            "{}: ends neither in .graph nor in .json",
            args.out.display()
        );
        Failure::new(Kind::Usage, what).with_help("say the format with --format")
    })
}
