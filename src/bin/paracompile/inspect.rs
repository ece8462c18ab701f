//! `paracompile inspect`.

use std::process::ExitCode;

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
        return printed(&to_dot(&imported.graph, &segments));
    }
    let inspection = inspect(&imported.graph, &segments);
    if args.json {
        let text = serde_json::to_string_pretty(&inspection).expect("figures and names serialise");
        return printed(&format!("{text}\n"));
    }
    printed(&format!("{inspection}{}", imported.folded))
}
