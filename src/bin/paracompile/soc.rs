//! `paracompile soc list | show | check`.

use std::fmt::Write;
use std::process::ExitCode;

use paracompile::soc::Soc;
use serde_json::json;

use crate::args::SocAction;
use crate::failure::{Failure, Kind};
use crate::input::printed;

/// Runs the command.
pub(crate) fn run(action: &SocAction) -> Result<ExitCode, Failure> {
    match action {
        SocAction::List { json } => list(*json),
        SocAction::Show { name } => show(name),
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

fn show(name: &str) -> Result<ExitCode, Failure> {
    match Soc::builtin_text(name) {
        Some(text) => printed(text),
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
