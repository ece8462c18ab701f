//! `pararun profile`: measures devices, and writes what the compiler needs to know of them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::num::NonZeroU64;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paracompile_frontend::import::kernels::is_kernel_graph;
use paracompile_frontend::import::onnx::{Heads, ImportOptions, load};
use paracompile_plan::{writable, writable_folder};
use paracompile_runtime::bind::{DeviceMap, bind};
use paracompile_runtime::opencl::{DeviceKind, devices};
use paracompile_runtime::profile::{
    ProfileError, ProfileFiles, ProfileReport, ProfileRequest, ProfiledKernels, ProfiledModel,
    ProfiledProcessor, Progress, other_load, profile, save,
};

use crate::args::ProfileArgs;
use crate::failure::{Failure, Kind};
use crate::words::time;
use crate::{kernels, outputs, problems, table, terminal};

/// Runs the command.
pub(crate) fn run(args: &ProfileArgs, interrupted: &AtomicBool) -> Result<ExitCode, Failure> {
    let name = name(args)?;
    let folder = args
        .costs_dir
        .clone()
        .unwrap_or_else(|| args.out.with_extension("costs"));
    outputs::distinct(&[
        ("--out", Some(&args.out)),
        ("--costs-dir", args.costs_dir.as_deref()),
    ])?;
    let (models, graphs) = models(args)?;
    let maps = if args.device.is_empty() {
        every_device()?
    } else {
        args.device.clone()
    };
    check_processors(&maps)?;
    let names: Vec<String> = maps.iter().map(|map| map.processor.clone()).collect();
    let binding = bind(&names, &maps)
        .map_err(|error| problems::bound_by("--device", "the profile", &error))?;
    // An hour of measurements should not end at a file that cannot be written.
    writable(&args.out)
        .and_then(|()| writable_folder(&folder))
        .map_err(|error| Failure::from_error(Kind::File, &error))?;
    let bound = binding.processors.iter().zip(&maps);
    let request = ProfileRequest {
        name,
        models,
        graphs,
        processors: bound
            .map(|(bound, map)| ProfiledProcessor::new(bound, map))
            .collect(),
        budget: Duration::from_secs(args.budget),
        queues: usize::from(args.queues),
    };
    if let Some(notice) = other_load().filter(|_| !args.quiet) {
        terminal::note(&format!("warning: {notice}"));
    }
    let progress = terminal::Progress::new(args.quiet || args.json);
    let mut show = |at: &Progress| progress.show(&format!("{}/{}  {}", at.done, at.of, at.what));
    let profiled = profile(&request, &mut show, interrupted);
    progress.clear();
    let profiled = profiled.map_err(|error| failure(&error))?;
    let saved = save(&profiled, &args.out, &folder);
    let report = &profiled.report;
    let text = if args.json {
        let text = serde_json::to_string_pretty(report);
        text.map_err(|error| Failure::from_error(Kind::Bug, &error))? + "\n"
    } else if args.quiet {
        String::new()
    } else {
        summary(args, report, saved.as_ref().ok())
    };
    let printed = terminal::printed(&text)?;
    // What was measured is told even where it cannot be kept.
    saved.map_err(|error| failure(&error))?;
    if report.interrupted {
        return Err(Failure::new(
            Kind::Interrupted,
            "interrupted; what was complete is written",
        ));
    }
    Ok(printed)
}

/// The name of the profile.
fn name(args: &ProfileArgs) -> Result<String, Failure> {
    let of_file = || args.out.file_stem()?.to_str().map(str::to_owned);
    let name = args.name.clone().or_else(of_file).unwrap_or_default();
    if is_fit(&name) {
        return Ok(name);
    }
    let message = format!("`{name}` is no name for a profile");
    Err(Failure::new(Kind::File, message).with_help(format!("give one by --name: {FIT}")))
}

/// Names that profiles may have, and their processors.
const FIT: &str = "1 to 32 letters, digits, `-`, `_` or `.`, a letter or digit first";

fn is_fit(name: &str) -> bool {
    name.len() <= 32
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Refuses names that the profile would be refused for, before an hour is spent on it.
fn check_processors(maps: &[DeviceMap]) -> Result<(), Failure> {
    const MOST: usize = 16;
    const RESERVED: &str = "io";
    if maps.len() > MOST {
        let message = format!("{} processors; a profile has {MOST} at most", maps.len());
        return Err(Failure::new(Kind::Device, message));
    }
    let unfit = maps
        .iter()
        .find(|map| map.processor == RESERVED || !is_fit(&map.processor));
    unfit.map_or(Ok(()), |map| {
        let message = format!("`{}` is no name for a processor", map.processor);
        Err(Failure::new(Kind::Device, message)
            .with_help(format!("names are {FIT}; `{RESERVED}` is taken")))
    })
}

/// The models, whose names tell their costs apart.
fn models(args: &ProfileArgs) -> Result<(Vec<ProfiledModel>, Vec<ProfiledKernels>), Failure> {
    let options = ImportOptions {
        dims: args.dims.iter().cloned().collect(),
        heads: match args.expose_heads {
            Some(most) => Heads::Apart { most },
            None => Heads::Together,
        },
        ..ImportOptions::default()
    };
    let mut names = BTreeSet::new();
    let (mut models, mut graphs) = (Vec::new(), Vec::new());
    for path in &args.models {
        let name = if is_kernel_graph(path) {
            let graph = profiled(args, path)?;
            graphs.push(graph);
            graphs.last().map(|graph| graph.name.clone())
        } else {
            let program = load(path, &options)
                .map_err(|error| Failure::from_error(Kind::Model, &error).at(path))?;
            let name = program.imported.graph.name.clone();
            models.push(ProfiledModel { name, program });
            models.last().map(|model| model.name.clone())
        };
        let name = name.unwrap_or_default();
        if !names.insert(name.clone()) {
            let message = format!("two models are named `{name}`");
            return Err(Failure::new(Kind::Model, message)
                .at(path)
                .with_help("profile them one by one, or rename a file"));
        }
    }
    Ok((models, graphs))
}

/// A kernel graph with inputs to measure it with.
fn profiled(args: &ProfileArgs, path: &Path) -> Result<ProfiledKernels, Failure> {
    const SEED: u64 = 0;
    let program = kernels::load(path, &args.sources, &args.dims)?;
    Ok(ProfiledKernels {
        name: program.linked.graph.name.clone(),
        inputs: kernels::inputs(&program, &[], SEED)?,
        program,
    })
}

/// A processor for each device of the machine, named after its kind.
fn every_device() -> Result<Vec<DeviceMap>, Failure> {
    let found = devices().map_err(|error| problems::opencl(&error))?;
    let mut maps: Vec<DeviceMap> = Vec::new();
    for device in found {
        let kind = match device.kind {
            DeviceKind::Cpu => "cpu",
            DeviceKind::Gpu => "gpu",
            DeviceKind::Accelerator => "npu",
        };
        let of_kind = |map: &&DeviceMap| map.processor.starts_with(kind);
        let processor = match maps.iter().filter(of_kind).count() {
            0 => kind.to_owned(),
            count => format!("{kind}{}", count + 1),
        };
        maps.push(DeviceMap {
            processor,
            device: device.index.to_string(),
            units: None,
        });
    }
    Ok(maps)
}

fn failure(error: &ProfileError) -> Failure {
    match error {
        ProfileError::Opencl(error) => problems::opencl(error),
        ProfileError::Kernels(error) => problems::run(error, Path::new("the kernel graph")),
        ProfileError::NoProcessor => Failure::from_error(Kind::Device, error),
        ProfileError::NothingMeasured(_) => Failure::from_error(Kind::Model, error),
        ProfileError::Interrupted => Failure::from_error(Kind::Interrupted, error),
        ProfileError::Write(_) | ProfileError::Folder { .. } => {
            Failure::from_error(Kind::File, error)
        }
        // The profile is ours, so what is wrong with it is too.
        ProfileError::Calibrate(_) | _ => Failure::from_error(Kind::Bug, error),
    }
}

/// What a person wants to know of a measurement.
fn summary(args: &ProfileArgs, report: &ProfileReport, files: Option<&ProfileFiles>) -> String {
    let mut text = String::new();
    let head = [
        "processor",
        "units",
        "memory",
        "tasks",
        "sum",
        "launch",
        "enqueue",
        "queues",
        "power",
    ];
    let rows = report.processors.iter().map(|processor| {
        let tasks = report.tasks.iter();
        let tasks = tasks.filter(|task| task.processor == processor.name);
        let kernels = report.kernels.iter();
        let kernels = kernels.filter(|kernel| kernel.processor == processor.name);
        #[expect(clippy::cast_precision_loss, reason = "a model has few operators")]
        let sum: f64 = tasks
            .clone()
            .map(|task| task.occurrences as f64 * task.seconds.median)
            .chain(
                kernels
                    .clone()
                    .map(|kernel| kernel.occurrences as f64 * kernel.seconds.median),
            )
            .sum();
        let power = processor.power.as_ref().map_or_else(
            || "no meter".to_owned(),
            |power| {
                let most = power.dynamic_w.values().copied().fold(0.0, f64::max);
                format!("{:.0} W + {most:.0} W", power.idle_w)
            },
        );
        [
            processor.name.clone(),
            processor.compute_units.to_string(),
            processor.memory.clone(),
            (tasks.count() + kernels.count()).to_string(),
            time(sum),
            time(processor.launch_s),
            time(processor.enqueue_s),
            processor.sharing.len().to_string(),
            power,
        ]
    });
    text.push_str(&table::table(&head, rows));
    text.push('\n');
    for link in &report.links {
        let _ = writeln!(
            text,
            "{} to {}: {} and {:.2} GB/s",
            link.from,
            link.to,
            time(link.latency_s),
            link.bytes_per_s / 1e9
        );
    }
    for (one, other, seconds) in &report.hops {
        let _ = writeln!(
            text,
            "a wait between {one} and {other}: {}, which plans do not count",
            time(*seconds)
        );
    }
    for together in &report.contention {
        let factors = together.set.iter().zip(&together.factors);
        let factors: Vec<String> = factors
            .map(|(name, factor)| format!("{name} x{factor:.2}"))
            .collect();
        let _ = writeln!(text, "together: {}", factors.join(", "));
    }
    for notice in &report.notices {
        let _ = writeln!(text, "note: {notice}");
    }
    let _ = write!(text, "\nmeasured in {:.0} s", report.seconds);
    let Some(files) = files else {
        text.push('\n');
        return text;
    };
    let _ = writeln!(text, "; written to {}", files.profile.display());
    // Files of costs are in this order.
    let (graphs, networks): (Vec<_>, Vec<_>) =
        args.models.iter().partition(|path| is_kernel_graph(path));
    for (model, costs) in networks.into_iter().chain(graphs).zip(&files.costs) {
        let _ = writeln!(text, "  {}", command(args, model, &files.profile, costs));
    }
    text
}

/// The command that maps a model with its costs, which hold for the options that they were measured with alone.
fn command(args: &ProfileArgs, model: &Path, profile: &Path, costs: &Path) -> String {
    let [model, profile, costs] =
        [model, profile, costs].map(|path| quoted(&path.display().to_string()));
    let mut text = format!("paracompile {model} --soc {profile} --costs {costs}");
    for (name, extent) in &args.dims {
        let _ = write!(text, " --dim {}", quoted(&format!("{name}={extent}")));
    }
    match args.expose_heads {
        Some(NonZeroU64::MAX) => text.push_str(" --expose-heads"),
        Some(most) => {
            let _ = write!(text, " --expose-heads={most}");
        }
        None => {}
    }
    text
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
