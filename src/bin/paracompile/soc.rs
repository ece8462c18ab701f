//! `paracompile soc list | show | check`.

use std::fmt::Write;
use std::process::ExitCode;

use paracompile::OpClass;
use paracompile::soc::file::SocFile;
use paracompile::soc::{Soc, profile_text};
use serde_json::json;

use crate::args::SocAction;
use crate::failure::{Failure, Kind};
use crate::input::printed;

/// Runs the command.
pub(crate) fn run(action: &SocAction) -> Result<ExitCode, Failure> {
    match action {
        SocAction::List { json } => list(*json),
        SocAction::Show { name, fuses } => show(name, fuses),
        SocAction::Check { file } => {
            let soc =
                Soc::load(file).map_err(|error| Failure::from_error(Kind::Profile, &error))?;
            printed(&format!("{}: correct\n{}", file.display(), describe(&soc)))
        }
    }
}

fn list(as_json: bool) -> Result<ExitCode, Failure> {
    let chips: Vec<Soc> = Soc::builtin_names().filter_map(Soc::builtin).collect();
    if as_json {
        let chips: Vec<_> = chips
            .iter()
            .map(|soc| {
                let processors: Vec<_> = soc
                    .processors
                    .iter()
                    .map(|(_, processor)| json!({ "name": processor.name, "kind": processor.kind }))
                    .collect();
                json!({ "name": soc.name, "synthetic": soc.synthetic, "processors": processors })
            })
            .collect();
        let text = serde_json::to_string_pretty(&chips).expect("JSON values serialise");
        return printed(&format!("{text}\n"));
    }
    printed(&chips.iter().map(describe).collect::<String>())
}

fn show(name: &str, fuses: &[OpClass]) -> Result<ExitCode, Failure> {
    match Soc::builtin_text(name) {
        Some(text) if fuses.is_empty() => printed(text),
        Some(text) => {
            let profile = fusing(text, fuses);
            // A class without a model cannot be fused, and the verifier says so with its place.
            Soc::from_json(&profile, &format!("{name} with --fuses"))
                .map_err(|error| Failure::from_error(Kind::Profile, &error))?;
            printed(&profile)
        }
        None => match Soc::find(name) {
            Err(error) => Err(Failure::from_error(Kind::Profile, &error)),
            Ok(_) => Err(Failure::new(
                Kind::Usage,
                format!("`{name}` is a file, not a built-in profile"),
            )
            .with_help(format!("paracompile soc check {name}"))),
        },
    }
}

/// The profile of the same chip under a framework that fuses these classes into what stands before them.
fn fusing(text: &str, fuses: &[OpClass]) -> String {
    let mut file: SocFile = serde_json::from_str(text)
        .expect("built-in profiles are what the types say, which a test holds");
    file.name.push_str("-fusing");
    for processor in &mut file.processors {
        for class in fuses {
            if !processor.fuses.contains(class) {
                processor.fuses.push(*class);
            }
        }
    }
    profile_text(&file)
}

fn describe(soc: &Soc) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}{}",
        soc.name,
        if soc.synthetic {
            " (synthetic: every number is assumed)"
        } else {
            ""
        }
    );
    let longest = soc
        .processors
        .iter()
        .map(|(_, processor)| processor.name.len())
        .max();
    let width = longest.unwrap_or(0);
    for (_, processor) in soc.processors.iter() {
        let points: Vec<&str> = processor
            .operating_points
            .iter()
            .map(|point| point.name.as_str())
            .collect();
        let _ = writeln!(
            text,
            "  {:<width$}  {:<4} {}",
            processor.name,
            processor.kind,
            points.join(", ")
        );
    }
    text
}
