//! `pararun check`: everything up to a run, and no run.

use std::fmt::Write;
use std::process::ExitCode;

use paracompile_frontend::ir::{DataType, Shape};
use paracompile_plan::{Plan, read_plan};
use paracompile_runtime::bind::{Binding, bind};
use paracompile_runtime::execute::{Options, try_kernels};
use paracompile_runtime::input::{HostTensor, gather};
use paracompile_runtime::model::{Model, load_model};
use paracompile_runtime::users::kernel_inputs;
use paracompile_runtime::weights::{RandomWeights, WeightSource};

use crate::args::{CheckArgs, PlanArgs};
use crate::failure::{Failure, Kind};
use crate::run::bound;
use crate::{problems, table, terminal};

/// A plan with all that it runs on.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The plan.
    pub(crate) plan: Plan,
    /// What it is for.
    pub(crate) model: Model,
    /// The devices of its processors.
    pub(crate) binding: Binding,
    /// A tensor for every input of the model.
    pub(crate) inputs: Vec<HostTensor>,
    /// The weights that a seed makes; `None` where all come from the file.
    pub(crate) random: Option<RandomWeights>,
}

/// Reads a plan and all that it needs, or says the first thing that it lacks; notes are for people, unless `quiet`.
pub(crate) fn ready(args: &PlanArgs, quiet: bool) -> Result<Ready, Failure> {
    let plan = read_plan(&args.plan).map_err(|error| problems::plan(&error, &args.plan))?;
    let model = load_model(&plan, &args.model, &args.sources.kernel_dir)
        .map_err(|error| problems::model(&error, &args.plan, &args.model))?;
    let seed = match args.weights {
        WeightSource::File => None,
        WeightSource::Random { seed } => Some(seed),
    };
    let inputs = inputs(&model, &args.input, seed.unwrap_or(0))?;
    let random = match (&model, seed) {
        (Model::Network(program), Some(seed)) => {
            let random = RandomWeights::of(program, seed);
            Some(random.map_err(|error| Failure::from_error(Kind::Model, &error).at(&args.model))?)
        }
        (Model::Network(_), None) | (Model::Kernels(_), _) => None,
    };
    let processors = plan.processors.iter();
    let processors: Vec<String> = processors.map(|processor| processor.name.clone()).collect();
    let binding = bind(&processors, &args.map).map_err(|error| problems::bind(&error))?;
    if !quiet {
        tell_spare(&binding, "the plan does");
    }
    Ok(Ready {
        plan,
        model,
        binding,
        inputs,
        random,
    })
}

/// A tensor for every input of a model.
pub(crate) fn inputs(
    model: &Model,
    given: &[String],
    seed: u64,
) -> Result<Vec<HostTensor>, Failure> {
    let inputs = match model {
        Model::Network(program) => gather(program, given, seed),
        Model::Kernels(program) => kernel_inputs(program, given, seed),
    };
    inputs.map_err(|error| problems::input(&error))
}

/// Says which maps are of processors that nothing uses: perhaps a name is misspelt.
pub(crate) fn tell_spare(binding: &Binding, nobody: &str) {
    if !binding.spare.is_empty() {
        let spare = binding.spare.join(", ");
        terminal::note(&terminal::printable(&format!(
            "note: {nobody} not use {spare}, which keeps its part of the device"
        )));
    }
}

/// Runs the command.
pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let ready = ready(&args.plan, false)?;
    if let Model::Kernels(program) = &ready.model {
        let progress = terminal::Progress::new(false);
        progress.show("building kernels");
        let options = Options::for_plan(&ready.plan);
        let tried = try_kernels(&ready.plan, program, &bound(&ready.binding), options);
        progress.clear();
        tried.map_err(|error| problems::run(&error, &args.plan.plan))?;
    }
    let head = ["processor", "device", "units", "queues", "tasks"];
    let rows = ready.binding.processors.iter().map(|processor| {
        let queues = ready.plan.queues.iter();
        let queues: Vec<u32> = queues
            .filter(|queue| queue.processor == processor.name)
            .map(|queue| queue.id)
            .collect();
        let tasks = ready.plan.tasks.iter();
        let tasks = tasks.filter(|task| queues.contains(&task.queue)).count();
        let part = if processor.is_part { ", a part" } else { "" };
        [
            processor.name.clone(),
            format!(
                "{}: {}{part}",
                processor.device.index, processor.device.name
            ),
            processor.units.to_string(),
            queues.len().to_string(),
            tasks.to_string(),
        ]
    });
    let mut text = table::table(&head, rows);
    text.push('\n');
    let names = ready.plan.model.inputs.iter().zip(&ready.inputs);
    for (name, tensor) in names {
        let _ = writeln!(text, "input `{name}`: {} {}", tensor.dtype, tensor.shape);
    }
    for (name, dtype, shape) in outputs(&ready.model) {
        let _ = writeln!(text, "output `{name}`: {dtype} {shape}");
    }
    if let Some(random) = &ready.random {
        let weights = random.fills().count();
        let elements: u64 = random.fills().map(|(_, fill)| fill.elements).sum();
        let _ = writeln!(text, "random weights: {weights}, of {elements} elements");
    }
    let _ = writeln!(text, "plan, model, inputs and devices go together");
    terminal::printed(&text)
}

/// Name, type and extents of every output.
fn outputs(model: &Model) -> Vec<(&str, DataType, &Shape)> {
    match model {
        Model::Network(program) => program
            .outputs
            .iter()
            .map(|&output| &program.values[output])
            .map(|value| (value.name.as_str(), value.dtype, &value.shape))
            .collect(),
        Model::Kernels(program) => program
            .graph
            .outputs
            .iter()
            .map(|&output| &program.graph.tensors[output])
            .map(|tensor| (tensor.name.as_str(), tensor.dtype, &tensor.shape))
            .collect(),
    }
}
