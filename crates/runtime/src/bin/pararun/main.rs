//! `pararun`: runs plans of paracompile on OpenCL devices, and measures devices for its profiles.
//!
//! Everything that it does is in the library; here are arguments, files, printing and exit codes alone.

mod args;
mod check;
mod devices;
mod failure;
mod granularity;
mod interrupt;
mod kernels;
mod outputs;
mod problems;
mod profile;
mod run;
mod schedule;
mod schedule_summary;
mod sweep;
mod table;
mod terminal;
mod test;
mod tune;
mod validate;
mod weights;
mod words;

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
    run(&cli).unwrap_or_else(|failure| {
        let picture = failure.picture(terminal::wants_colour());
        terminal::note(picture.trim_end());
        failure.exit_code()
    })
}

fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    let interrupted = interrupt::listen()?;
    match &cli.command {
        Command::Devices(args) => devices::run(args),
        Command::Check(args) => check::run(args),
        Command::Run(args) => run::run(args, interrupted),
        Command::Profile(args) => profile::run(args, interrupted),
        Command::Schedule(args) => schedule::run(args, interrupted),
        Command::Sweep(args) => sweep::run(args, interrupted),
        Command::Validate(args) => validate::run(args, interrupted),
        Command::Tune(args) => tune::tune(args),
        Command::Bench(args) => tune::bench(args),
        Command::Test(args) => test::run(args, interrupted),
        Command::Weights(args) => weights::run(args, interrupted),
    }
}
