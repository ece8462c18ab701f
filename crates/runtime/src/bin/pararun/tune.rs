//! `pararun tune` and `pararun bench`: how fast kernels are on a device.

use std::fmt::Write;
use std::process::ExitCode;

use paracompile_runtime::bench::{BenchError, convolutions, products};
use paracompile_runtime::opencl::DeviceInfo;
use paracompile_runtime::solo::Solo;
use paracompile_runtime::tune::{self, TuneError};

use crate::args::{Bench, BenchArgs, TuneArgs};
use crate::failure::{Failure, Kind};
use crate::test::device;
use crate::{problems, terminal};

/// Runs `pararun tune`.
pub(crate) fn tune(args: &TuneArgs) -> Result<ExitCode, Failure> {
    let progress = terminal::Progress::new(false);
    let mut text = String::new();
    for device in devices(&args.device)? {
        progress.show(&format!("tuning {}", device.name));
        let solo = Solo::new(&device).map_err(|error| problems::opencl(&error))?;
        let tuning = tune::tune(&solo, &device).map_err(|error| failure(&error))?;
        let path = tune::save(&device, &tuning).map_err(|error| failure(&error))?;
        let _ = writeln!(text, "{}: {}", device.name, path.display());
    }
    progress.clear();
    terminal::printed(&text)
}

/// Runs `pararun bench`.
pub(crate) fn bench(args: &BenchArgs) -> Result<ExitCode, Failure> {
    let device = device(&args.device).map_err(|error| problems::bind(&error))?;
    let wants = |what: Bench| args.what.is_none_or(|wanted| wanted == what);
    if wants(Bench::Products) {
        let report = products(&device, &args.only).map_err(|error| benchmark(&error))?;
        terminal::printed(&format!("{report}\n"))?;
    }
    if wants(Bench::Convolutions) {
        let report = convolutions(&device, &args.only).map_err(|error| benchmark(&error))?;
        terminal::printed(&format!("{report}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Those that are meant, or all.
fn devices(wanted: &[String]) -> Result<Vec<DeviceInfo>, Failure> {
    if wanted.is_empty() {
        return tune::devices().map_err(|error| failure(&error));
    }
    wanted
        .iter()
        .map(|wanted| device(wanted).map_err(|error| problems::bind(&error)))
        .collect()
}

fn failure(error: &TuneError) -> Failure {
    match error {
        TuneError::Opencl(error) => problems::opencl(error),
        TuneError::Unsupported(_)
        | TuneError::NoFolder
        | TuneError::File { .. }
        | TuneError::Content { .. } => Failure::from_error(Kind::File, error),
    }
}

fn benchmark(error: &BenchError) -> Failure {
    Failure::from_error(Kind::Device, error)
}
