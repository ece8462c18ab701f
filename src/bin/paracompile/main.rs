//! The command line of paracompile: arguments in, files and tables out.
//!
//! Everything that it does is in the library; here are arguments, files, printing and exit codes alone.

mod args;
mod calibrate;
mod check;
mod clock;
mod cluster;
mod compare;
mod compare_tables;
mod convert;
mod costs;
mod demands;
mod document;
mod export;
mod failure;
mod figures;
mod grid;
mod input;
mod inspect;
mod interrupt;
mod kernels;
mod map;
mod model_failure;
mod notes;
mod page;
mod plot;
mod queues;
mod report;
mod simulate;
mod soc;
mod solve;
mod terminal;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use self::args::{Cli, Command};
use self::failure::{Failure, Kind};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if is_second_model(&error) => {
            return failed(
                &Failure::new(
                    Kind::Usage,
                    "one model at a time; a command stands first, without options of mapping before it",
                )
                .with_help(
                    "paracompile MODEL --soc NAME maps a model; paracompile inspect | soc | costs | calibrate | simulate | plot | check | compare | report | export | convert | cluster | solve do everything else",
                ),
            );
        }
        Err(error) => {
            let asked_for = matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            );
            // A reader that went away is no reason to fail.
            let _ = error.print();
            return ExitCode::from(if asked_for { 0 } else { 2 });
        }
    };
    match run(cli) {
        Ok(code) => code,
        Err(failure) => failed(&failure),
    }
}

fn failed(failure: &Failure) -> ExitCode {
    let picture = failure.picture(terminal::wants_colour(), terminal::width());
    terminal::note(picture.trim_end());
    failure.exit_code()
}

/// Whether the first word is none of the commands, so that the parser's "conflict" is about something that nobody meant.
/// Whether a model stands where only a command may stand; options that exclude each other are told apart by their names.
fn is_second_model(error: &clap::Error) -> bool {
    let is_option = |kind| {
        matches!(
            error.get(kind),
            Some(ContextValue::String(name)) if name.starts_with("--")
        )
    };
    let are_options = is_option(ContextKind::InvalidArg) && is_option(ContextKind::PriorArg);
    error.kind() == ErrorKind::ArgumentConflict && !are_options && names_no_command()
}

fn names_no_command() -> bool {
    let first = std::env::args_os().nth(1).unwrap_or_default();
    !Cli::command()
        .get_subcommands()
        .any(|command| first == command.get_name())
}

fn run(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        None => map::run(&cli.map),
        Some(Command::Inspect(args)) => inspect::run(&args),
        Some(Command::Soc { action }) => soc::run(&action),
        Some(Command::Costs(args)) => costs::run(&args),
        Some(Command::Calibrate(args)) => calibrate::run(&args),
        Some(Command::Simulate(args)) => simulate::run(&args),
        Some(Command::Plot(args)) => plot::run(&args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Report(args)) => page::run(&args),
        Some(Command::Export(args)) => export::run(&args),
        Some(Command::Cluster(args)) => cluster::run(&args),
        Some(Command::Convert(args)) => convert::run(&args),
        Some(Command::Solve(args)) => solve::run(&args),
    }
}
