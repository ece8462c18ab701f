//! `paracompile inspect`.

use std::fmt::Write;
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
        let text = serde_json::to_string_pretty(&inspection).expect("figures and names serialise");
        return printed(&format!("{text}\n"));
    }
    printed(&format!("{inspection}{}", folded(&imported.folded)))
}

/// What the importer left out, one line a kind.
fn folded(folded: &Folded) -> String {
    let mut text = String::new();
    for (what, nodes) in [
        ("identities folded", &folded.identities),
        ("dropouts folded", &folded.dropouts),
        ("constants folded", &folded.constants),
        ("unused operators dropped", &folded.dead),
    ] {
        if !nodes.is_empty() {
            let _ = writeln!(text, "{what}: {}", nodes.len());
        }
    }
    text
}
