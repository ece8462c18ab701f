//! `pararun tune` and `pararun bench`: how fast kernels are on a device.

use std::fmt::Write;
use std::process::ExitCode;

use paracompile_runtime::bench::{
    BenchError, convolution_names, convolutions, meant, product_names, products,
};
use paracompile_runtime::bind::find;
use paracompile_runtime::opencl::DeviceInfo;
use paracompile_runtime::solo::Solo;
use paracompile_runtime::tune::{self, TuneError};

use crate::args::{Bench, BenchArgs, TuneArgs};
use crate::failure::{Failure, Kind};
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
    let names = |what: Bench| {
        let names = match what {
            Bench::Products => product_names(),
            Bench::Convolutions => convolution_names(),
        };
        names
            .into_iter()
            .filter(move |_| args.what.is_none_or(|wanted| wanted == what))
    };
    let has = |what: Bench| names(what).any(|name| meant(&name, &args.only));
    let wants = [Bench::Products, Bench::Convolutions].map(has);
    if wants == [false, false] {
        let all: Vec<String> = names(Bench::Products)
            .chain(names(Bench::Convolutions))
            .collect();
        let message = format!(
            "--only {}: nothing that is measured has this in its name",
            args.only
        );
        return Err(Failure::new(Kind::Input, message).with_help(all.join("\n")));
    }
    let device = find(&args.device).map_err(|error| problems::bind(&error))?;
    if wants[0] {
        let report = products(&device, &args.only).map_err(|error| benchmark(&error))?;
        terminal::printed(&format!("{report}\n"))?;
    }
    if wants[1] {
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
        .map(|wanted| find(wanted).map_err(|error| problems::bind(&error)))
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
