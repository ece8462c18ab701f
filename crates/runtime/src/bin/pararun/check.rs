//! `pararun check`: everything up to a run, and no run.

use std::fmt::Write;
use std::process::ExitCode;

use paracompile_frontend::import::onnx::Program;
use paracompile_plan::{Plan, read_plan};
use paracompile_runtime::bind::{Binding, bind};
use paracompile_runtime::input::{HostTensor, gather};
use paracompile_runtime::model::load_for;
use paracompile_runtime::weights::{RandomWeights, WeightSource};

use crate::args::{CheckArgs, PlanArgs};
use crate::failure::{Failure, Kind};
use crate::{problems, table, terminal};

/// A plan with all that it runs on.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The plan.
    pub(crate) plan: Plan,
    /// Its model.
    pub(crate) program: Program,
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
    let program = load_for(&plan, &args.model)
        .map_err(|error| problems::model(&error, &args.plan, &args.model))?;
    let seed = match args.weights {
        WeightSource::File => None,
        WeightSource::Random { seed } => Some(seed),
    };
    let inputs = gather(&program, &args.input, seed.unwrap_or(0))
        .map_err(|error| problems::input(&error))?;
    let random = seed
        .map(|seed| RandomWeights::of(&program, seed))
        .transpose()
        .map_err(|error| Failure::from_error(Kind::Model, &error).at(&args.model))?;
    let processors = plan.processors.iter();
    let processors: Vec<String> = processors.map(|processor| processor.name.clone()).collect();
    let binding = bind(&processors, &args.map).map_err(|error| problems::bind(&error))?;
    if !quiet {
        tell_spare(&binding, "the plan does");
    }
    Ok(Ready {
        plan,
        program,
        binding,
        inputs,
        random,
    })
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
    for &output in &ready.program.outputs {
        let value = &ready.program.values[output];
        let _ = writeln!(
            text,
            "output `{}`: {} {}",
            value.name, value.dtype, value.shape
        );
    }
    if let Some(random) = &ready.random {
        let weights = random.fills().count();
        let elements: u64 = random.fills().map(|(_, fill)| fill.elements).sum();
        let _ = writeln!(text, "random weights: {weights}, of {elements} elements");
    }
    let _ = writeln!(text, "plan, model, inputs and devices go together");
    terminal::printed(&text)
}
