//! `pararun sweep`: a kernel graph in many ways, as a table for other programs.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paracompile_frontend::components::{Components, Grouping};
use paracompile_frontend::import::kernels::Device;
use paracompile_runtime::execute::Sharing;
use paracompile_runtime::schedule::{Resource, ScheduleRequest, Swept, Way, sweep, ways};

use crate::args::SweepArgs;
use crate::failure::{Failure, Kind};
use crate::schedule::resources;
use crate::{kernels, problems, terminal};

/// Queues of a device at most, where the user says nothing: those of the published experiment.
const QUEUES: usize = 5;

/// Runs the command.
pub(crate) fn run(args: &SweepArgs, interrupted: &AtomicBool) -> Result<ExitCode, Failure> {
    let path = args.graph.path.as_path();
    let program = kernels::load(path, &args.graph.sources, &args.graph.dims)?;
    let inputs = kernels::inputs(&program, &[], args.seed)?;
    let resources = resources(&args.device, &args.queues, |_| QUEUES)?;
    one_of_each(&resources)?;
    let components = Components::new(&program.linked.graph, Grouping::Joined);
    let components = components.map_or(0, |components| components.all.len());
    let most = args.cpu_heads.unwrap_or(components);
    kernels::judge_heads(most, components, path)?;
    let ways = ways(&resources, components, most);
    let request = ScheduleRequest {
        frames: usize::try_from(args.frames).unwrap_or(usize::MAX),
        rehearsals: 3,
        granularity: None,
        sharing: Sharing::default(),
        patience: Duration::from_secs(120),
        interrupted,
    };
    let progress = terminal::Progress::new(args.quiet);
    progress.show("building kernels, and measuring them");
    // Rows are printed as they come: what was measured before an interrupt is not lost.
    let mut printed = print(&format!(
        "{},h_cpu,policy,frames,total_ms,device_span_ms,host_ms\n",
        columns(&resources)
    ));
    let mut done = 0;
    let outcome = sweep(
        &program,
        &resources,
        &ways,
        &inputs,
        (request, Duration::from_secs(args.seconds)),
        &mut |swept| {
            done += 1;
            progress.clear();
            if printed.is_ok() {
                printed = print(&row(resources.len(), &swept));
            }
            progress.show(&format!("{done} of {} ways", ways.len()));
        },
    );
    progress.clear();
    printed?;
    outcome.map_err(|error| problems::schedule(&error, path))?;
    Ok(ExitCode::SUCCESS)
}

fn print(text: &str) -> Result<(), Failure> {
    terminal::printed(text).map(|_| ())
}

/// Clustering puts components on a GPU or on a CPU.
fn one_of_each(resources: &[Resource]) -> Result<(), Failure> {
    let count = |kind| resources.iter().filter(|one| one.kind() == kind).count();
    match (count(Device::Gpu), count(Device::Cpu)) {
        (1, 1) => Ok(()),
        (gpus, cpus) => {
            let message =
                format!("a sweep is over one GPU and one CPU, and these are {gpus} and {cpus}");
            Err(Failure::new(Kind::Device, message)
                .with_help("name two devices gpu and cpu: --device gpu=… --device cpu=…"))
        }
    }
}

/// The columns of queues.
fn columns(resources: &[Resource]) -> String {
    let columns = resources.iter().map(|resource| match resource.kind() {
        Device::Gpu => "q_gpu",
        Device::Cpu => "q_cpu",
    });
    columns.collect::<Vec<_>>().join(",")
}

fn row(devices: usize, swept: &Swept) -> String {
    let (policy, queues, on_cpu) = match &swept.way {
        Way::Clustering { queues, on_cpu } => ("clustering", queues.clone(), on_cpu.to_string()),
        Way::Eager => ("eager", vec![1; devices], String::new()),
        Way::Heft => ("heft", vec![1; devices], String::new()),
    };
    let milliseconds = |nanoseconds: i64| {
        let microseconds = nanoseconds / 1000;
        format!("{}.{:03}", microseconds / 1000, microseconds % 1000)
    };
    let queues: Vec<String> = queues.iter().map(usize::to_string).collect();
    format!(
        "{},{on_cpu},{policy},{},{},{},{}\n",
        queues.join(","),
        swept.frames,
        milliseconds(swept.total_ns),
        milliseconds(swept.device_span_ns),
        milliseconds(swept.host_ns)
    )
}
