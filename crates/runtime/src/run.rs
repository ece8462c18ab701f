//! A plan, run and measured: a few frames one by one through an empty pipeline, then a stream of them.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paracompile_frontend::import::onnx::{Program, ValueId};
use paracompile_plan::measured::Measured;
use paracompile_plan::{Joules, Nanojoules, Plan};

use crate::execute::{
    Bound, Delays, Mode, Options, Order, Prepared, Request, RunError, Sharing, Subject, Timeline,
    measured, prepare, prepare_kernels,
};
use crate::meter::{Energy, EnergyMeter, Part, Running};
use crate::opencl::DeviceKind;
use crate::users::KernelProgram;

/// How a plan is run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions<'o> {
    /// Frames of the stream.
    pub frames: usize,
    /// Frames one by one before it.
    pub alone: usize,
    /// Frames before both whose times do not count: drivers compile kernels when they are first launched.
    pub warm_up: usize,
    /// Whether frames are admitted at the plan's interval.
    pub is_paced: bool,
    /// Seconds without progress after which a run is given up.
    pub patience: Duration,
    /// Random delays on devices, for tests.
    pub delays: Option<Delays>,
    /// Whose devices share a context.
    pub sharing: Sharing,
    /// What measures energy, if anything does.
    pub meter: Option<&'o EnergyMeter>,
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        Self {
            frames: 50,
            alone: 10,
            warm_up: 3,
            is_paced: false,
            patience: Duration::from_secs(120),
            delays: None,
            sharing: Sharing::default(),
            meter: None,
        }
    }
}

/// A plan that was run.
#[derive(Debug)]
pub struct Run {
    /// Its figures.
    pub measured: Measured,
    /// The outputs of the last frame, in the order of the network's.
    pub outputs: Vec<Vec<u8>>,
    /// When everything of the stream ran.
    pub timeline: Timeline,
    /// What the times are of.
    pub order: Order,
    /// What people call its nodes.
    pub labels: Vec<String>,
}

/// A plan and the model that it is for.
#[derive(Clone, Copy, Debug)]
pub struct Task<'t> {
    /// The plan.
    pub plan: &'t Plan,
    /// SHA-256 of its file.
    pub plan_digest: &'t str,
    /// What it is for.
    pub model: Model<'t>,
}

/// What a plan is for.
#[derive(Clone, Copy, Debug)]
pub enum Model<'m> {
    /// A network.
    Network {
        /// The network.
        program: &'m Program,
        /// The elements of the constants that its operators read.
        constants: &'m BTreeMap<ValueId, Vec<u8>>,
    },
    /// OpenCL kernels.
    Kernels(&'m KernelProgram),
}

/// Prepares and runs a plan that was found to be a valid execution order of the model ([`crate::model::check`]).
pub fn run(
    task: &Task<'_>,
    bound: &[Bound],
    inputs: &[Vec<u8>],
    options: &RunOptions<'_>,
    interrupted: &AtomicBool,
) -> Result<Run, RunError> {
    let settings = Options {
        delays: options.delays,
        sharing: options.sharing,
        ..Options::for_plan(task.plan)
    };
    let prepared = match task.model {
        Model::Network { program, constants } => {
            prepare(task.plan, program, bound, constants, settings)?
        }
        Model::Kernels(program) => prepare_kernels(task.plan, program, bound, settings)?,
    };
    let done = measure(task, bound, inputs, options, interrupted, &prepared);
    if matches!(done, Err(RunError::Stuck { .. })) {
        // Whatever belongs to a device that hangs would hang when it is released.
        std::mem::forget(prepared);
    }
    done
}

fn measure(
    task: &Task<'_>,
    bound: &[Bound],
    inputs: &[Vec<u8>],
    options: &RunOptions<'_>,
    interrupted: &AtomicBool,
    prepared: &Prepared,
) -> Result<Run, RunError> {
    prepared.set_inputs(inputs)?;
    match task.model {
        // Every operator has been launched already.
        Model::Network { .. } => {}
        Model::Kernels(_) => prepared.rehearse()?,
    }
    let request = |mode, frames| Request {
        mode,
        frames,
        patience: options.patience,
        interrupted,
    };
    prepared.run(request(Mode::Stream, options.warm_up), None, None)?;
    let alone = prepared.run(request(Mode::Alone, options.alone.max(1)), None, None)?;
    let mode = if options.is_paced {
        Mode::Paced(pace(task.plan))
    } else {
        Mode::Stream
    };
    let metering = options.meter.map(EnergyMeter::start);
    let timeline = prepared.run(request(mode, options.frames), None, None)?;
    let energies = metering.map(Running::stop).unwrap_or_default();
    if timeline.frames.is_empty() {
        return Err(RunError::Interrupted { complete: 0 });
    }
    let outputs = prepared.outputs_of(timeline.frames.len() - 1)?;
    let subject = Subject {
        plan: task.plan,
        plan_digest: task.plan_digest.to_owned(),
        devices: devices(bound),
        is_paced: options.is_paced,
    };
    let mut measured = measured(&subject, prepared, &alone, &timeline);
    measured.energy_nj = energy_a_frame(&energies, bound, timeline.frames.len());
    Ok(Run {
        measured,
        outputs,
        timeline,
        order: prepared.order().clone(),
        labels: prepared.labels().to_vec(),
    })
}

/// What the graphics processors in use took for each of so many frames; nothing if none has a meter.
fn energy_a_frame(energies: &[Energy], bound: &[Bound], frames: usize) -> Option<Nanojoules> {
    let uses_gpu = bound
        .iter()
        .any(|bound| bound.device.kind == DeviceKind::Gpu);
    let metered: Vec<f64> = energies
        .iter()
        .filter(|energy| energy.part == Part::Gpu)
        .map(|energy| energy.joules)
        .collect();
    if !uses_gpu || metered.is_empty() {
        return None;
    }
    let joules = metered.iter().sum::<f64>() / f64::from(u32::try_from(frames).ok()?);
    Joules::new(joules).map(Joules::to_nanojoules)
}

fn pace(plan: &Plan) -> Duration {
    Duration::from_secs_f64(plan.pace().to_seconds())
}

/// What people call the devices of processors.
pub fn devices(bound: &[Bound]) -> BTreeMap<String, String> {
    let name = |bound: &Bound| {
        let device = &bound.device;
        if bound.units == device.compute_units {
            device.name.clone()
        } else {
            format!(
                "{} ({} of {} units)",
                device.name, bound.units, device.compute_units
            )
        }
    };
    bound
        .iter()
        .map(|bound| (bound.processor.clone(), name(bound)))
        .collect()
}
