//! The command line of paracompile: arguments in, files and tables out.
//!
//! Everything that it does is in the library; here are arguments, files, printing and exit codes alone.

mod args;
mod check;
mod costs;
mod failure;
mod input;
mod inspect;
mod interrupt;
mod map;
mod report;
mod simulate;
mod soc;
mod terminal;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use self::args::{Cli, Command};
use self::failure::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
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
        Err(failure) => {
            terminal::note(
                failure
                    .picture(terminal::wants_colour(), terminal::width())
                    .trim_end(),
            );
            failure.exit_code()
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        None => map::run(&cli.map),
        Some(Command::Inspect(args)) => inspect::run(&args),
        Some(Command::Soc { action }) => soc::run(&action),
        Some(Command::Costs(args)) => costs::run(&args),
        Some(Command::Simulate(args)) => simulate::run(&args),
        Some(Command::Check(args)) => check::run(&args),
    }
}
