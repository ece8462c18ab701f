//! `pararun`: runs plans of paracompile on OpenCL devices, and measures devices for its profiles.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use paracompile_runtime::check::{Outcome, run_folder};
use paracompile_runtime::opencl::devices;
use paracompile_runtime::solo::Solo;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((command, folders)) if command == "test" => match test(folders) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(1),
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "pararun: {error}");
                ExitCode::from(2)
            }
        },
        Some(_) | None => {
            let _ = writeln!(std::io::stderr(), "usage: pararun test FOLDER…");
            ExitCode::from(2)
        }
    }
}

/// Runs folders of the ONNX backend tests and prints a line of JSON for each.
fn test(folders: &[String]) -> Result<bool, Box<dyn std::error::Error>> {
    let devices = devices()?;
    let solo = Solo::new(&devices[0])?;
    let mut out = std::io::stdout().lock();
    let mut all = true;
    for folder in folders {
        let outcome = run_folder(&solo, Path::new(folder));
        all &= outcome == Outcome::Passed;
        let (word, why) = match outcome {
            Outcome::Passed => ("passed", String::new()),
            Outcome::Differs(why) => ("differs", why),
            Outcome::Unsupported(why) => ("unsupported", why),
            Outcome::Unreadable(why) => ("unreadable", why),
            Outcome::Failed(why) => ("failed", why),
        };
        let line = serde_json::json!({ "folder": folder, "outcome": word, "why": why });
        writeln!(out, "{line}")?;
        out.flush()?;
    }
    Ok(all)
}
