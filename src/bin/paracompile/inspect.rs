//! `paracompile inspect`.

use std::process::ExitCode;

use paracompile::import::Folded;
use paracompile::partition::{fuse, inspect, segment, to_dot};

use crate::args::InspectArgs;
use crate::failure::Failure;
use crate::input;
use crate::input::printed;

/// Runs the command.
pub(crate) fn run(args: &InspectArgs) -> Result<ExitCode, Failure> {
    let imported = input::model(&args.model, &args.dims, false)?;
    let segments = segment(fuse(&imported.graph));
    if args.dot {
        return printed(&to_dot(&segments));
    }
    let inspection = inspect(&imported.graph, &segments);
    if args.json {
        let mut value = serde_json::to_value(&inspection).expect("figures and names serialise");
        value["folded"] = kinds(&imported.folded)
            .map(|(what, count)| (what.replace(' ', "_"), count.into()))
            .into_iter()
            .collect::<serde_json::Map<_, _>>()
            .into();
        let text = serde_json::to_string_pretty(&value).expect("figures and names serialise");
        return printed(&format!("{text}\n"));
    }
    printed(&format!("{inspection}{}", folded(&imported.folded)))
}

/// What the importer left out, by kind.
fn kinds(folded: &Folded) -> [(&'static str, usize); 7] {
    [
        ("identities", folded.identities.len()),
        ("dropouts", folded.dropouts.len()),
        ("constants", folded.constants.len()),
        ("unused operators", folded.dead.len()),
        ("batch normalisations", folded.batch_norms.len()),
        ("paddings", folded.paddings.len()),
        ("conversions", folded.conversions.len()),
    ]
}

/// What the importer left out, in one line, or nothing.
fn folded(folded: &Folded) -> String {
    let parts: Vec<String> = kinds(folded)
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    format!("\n  left out of the file: {}\n", parts.join(", "))
}
