//! `paracompile costs`.

use std::process::ExitCode;

use paracompile::cost::{costs_of, write_costs};

use crate::args::CostsArgs;
use crate::failure::{Failure, Kind};
use crate::input;
use crate::terminal;

/// Runs the command.
pub(crate) fn run(args: &CostsArgs) -> Result<ExitCode, Failure> {
    let imported = input::model(&args.model, &args.dims, false)?;
    let chip = input::soc(&args.soc, &[], false)?;
    let table = input::costs(&imported.graph, &chip, None)?;
    let costs = costs_of(&table, &imported.graph);
    write_costs(&costs, &args.output).map_err(|error| Failure::from_error(Kind::File, &error))?;
    terminal::note(&format!(
        "{} entries written to {}; put your measurements in, with \"source\": \"measured\", and map with --costs {}",
        costs.entries.len(),
        args.output.display(),
        args.output.display()
    ));
    Ok(ExitCode::SUCCESS)
}
