//! `pararun test`.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use paracompile_runtime::bind::find;
use paracompile_runtime::check::{Outcome, run_folder};
use paracompile_runtime::solo::Solo;
use serde_json::json;

use crate::args::TestArgs;
use crate::failure::{Failure, Kind};
use crate::{problems, terminal};

/// Runs the command: exit code 1 unless all pass.
pub(crate) fn run(args: &TestArgs, interrupted: &AtomicBool) -> Result<ExitCode, Failure> {
    let device = find(&args.device).map_err(|error| problems::bind(&error))?;
    let solo = Solo::new(&device).map_err(|error| problems::opencl(&error))?;
    let mut all_pass = true;
    for folder in &args.folders {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Failure::new(Kind::Interrupted, "interrupted"));
        }
        let outcome = run_folder(&solo, folder);
        all_pass &= outcome == Outcome::Passed;
        let (word, why) = match outcome {
            Outcome::Passed => ("passed", String::new()),
            Outcome::Differs(why) => ("differs", why),
            Outcome::Unsupported(why) => ("unsupported", why),
            Outcome::Unreadable(why) => ("unreadable", why),
            Outcome::Failed(why) => ("failed", why),
        };
        let line = json!({ "folder": folder, "outcome": word, "why": why });
        terminal::printed(&format!("{line}\n"))?;
    }
    Ok(ExitCode::from(u8::from(!all_pass)))
}
