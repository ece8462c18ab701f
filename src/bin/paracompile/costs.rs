//! `paracompile costs`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use paracompile::cost::{CostEntry, CostsFile, costs_of, read_overrides, write_costs};
use paracompile::plan::Source;

use crate::args::CostsArgs;
use crate::failure::{Failure, Kind};
use crate::input::counted;
use crate::{input, terminal};

/// Runs the command.
pub(crate) fn run(args: &CostsArgs) -> Result<ExitCode, Failure> {
    let imported = input::model(&args.model, &args.dims, false)?;
    let chip = input::soc(&args.soc, &[], false)?;
    let table = input::costs(&imported.graph, &chip, None, None)?;
    let costs = costs_of(&table, &imported.graph);
    if !args.force {
        refuse_loss(&args.output, &costs)?;
    }
    write_costs(&costs, &args.output).map_err(|error| Failure::from_error(Kind::File, &error))?;
    let entries = match costs.entries.len() {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    };
    terminal::note(&format!(
        "{} written to {}; put your measurements in, with \"source\": \"measured\", and map with --costs {}",
        entries,
        args.output.display(),
        args.output.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Measurements that somebody put into the file before are a day's work, so they are not replaced by predictions unasked.
fn refuse_loss(path: &Path, costs: &CostsFile) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let remedy = "give another name with -o, or replace it with --force";
    let before = read_overrides(path).map_err(|error| {
        Failure::from_error(Kind::File, &error).with_help(format!(
            "it stands where costs are to be written, and whether it holds measurements cannot be told: {remedy}"
        ))
    })?;
    let entries = before.file().map_or(&[][..], |file| &file.entries);
    let lost = lost(entries, &costs.entries);
    if lost == 0 {
        return Ok(());
    }
    let verb = if lost == 1 { "is" } else { "are" };
    Err(Failure::new(
        Kind::File,
        format!(
            "{}: holds {} that {verb} not what would be written",
            path.display(),
            counted(lost, "measurement"),
        ),
    )
    .with_help(remedy))
}

/// How many measured entries of `before` are not in `after`.
fn lost(before: &[CostEntry], after: &[CostEntry]) -> usize {
    fn place(entry: &CostEntry) -> (u32, &[u32], Option<&str>, &str) {
        let output = entry.output.as_deref();
        (entry.node, &entry.inside, output, &entry.processor)
    }
    let after: BTreeMap<_, _> = after.iter().map(|entry| (place(entry), entry)).collect();
    before
        .iter()
        .filter(|entry| entry.source == Source::Measured)
        .filter(|entry| after.get(&place(entry)) != Some(entry))
        .count()
}
