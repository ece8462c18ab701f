//! Frames by a policy, measured.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::cost::Costs;
use super::engine::{Engine, Known, Resource};
use super::error::ScheduleError;
use super::outcome::Scheduled;
use super::policy::{Choice, Policy, Situation};
use crate::execute::Sharing;
use crate::users::KernelProgram;
use paracompile_frontend::components::{Components, Grouping};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleRequest<'r> {
    /// Frames that count.
    pub frames: usize,
    /// Frames on each device before them, by which kernels are measured.
    pub rehearsals: usize,
    /// Whose devices share a context: where there are several, what crosses them goes through the host.
    pub sharing: Sharing,
    /// A frame is given up if nothing ends for so long.
    pub patience: Duration,
    /// Set when the user wants the run to end.
    pub interrupted: &'r AtomicBool,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Report {
    /// The frames.
    pub frames: Vec<Scheduled>,
    /// What kernels took on each device, by which policies chose.
    pub costs: Costs,
    /// The outputs of the last frame, in the order of the graph's.
    pub outputs: Vec<Vec<u8>>,
    /// Components of the policy.
    pub components: usize,
    /// Whether the user ended the run.
    pub is_interrupted: bool,
}

impl Report {
    /// The median of a figure of the frames.
    pub fn median(&self, figure: impl Fn(&Scheduled) -> i64) -> i64 {
        median(self.frames.iter().map(figure).collect())
    }

    /// The frame whose total time is the median.
    pub fn typical(&self) -> Option<(usize, &Scheduled)> {
        let mut order: Vec<(usize, &Scheduled)> = self.frames.iter().enumerate().collect();
        order.sort_by_key(|(index, frame)| (frame.total_ns, *index));
        order.get(order.len() / 2).copied()
    }
}

/// Everything on one device, kernel by kernel.
struct Only(usize);

impl Policy for Only {
    fn select(&mut self, situation: &Situation<'_>) -> Option<Choice> {
        let device = self.0;
        let &component = situation.frontier.first()?;
        situation
            .free
            .contains(&device)
            .then_some(Choice { component, device })
    }
}

/// What kernels take on each device, copies included, as the median over frames of everything there.
pub(super) fn rehearse(
    engine: &Engine<'_>,
    program: &KernelProgram,
    request: ScheduleRequest<'_>,
) -> Result<Costs, ScheduleError> {
    let graph = &program.linked.graph;
    let components = Components::new(graph, Grouping::Kernels).ok_or(ScheduleError::Cycle)?;
    let count = graph.kernels.len();
    let nothing = Costs {
        nanoseconds: vec![vec![0; engine.devices.len()]; count],
    };
    let mut costs = nothing.clone();
    let known = Known {
        components: &components,
        costs: &nothing,
        ranks: &vec![0; count],
    };
    for device in 0..engine.devices.len() {
        let mut samples: Vec<Vec<i64>> = vec![Vec::new(); count];
        // Drivers compile kernels when they are first launched.
        for rehearsal in 0..=request.rehearsals.max(1) {
            let frame = engine.frame(&mut Only(device), known, request.interrupted)?;
            let frame = frame.ok_or(ScheduleError::Interrupted)?;
            if rehearsal == 0 {
                continue;
            }
            let mut sums = vec![0; count];
            for command in &frame.commands {
                sums[command.index] += command.end_ns - command.start_ns;
            }
            for (samples, sum) in samples.iter_mut().zip(sums) {
                samples.push(sum);
            }
        }
        for (cost, samples) in costs.nanoseconds.iter_mut().zip(samples) {
            cost[device] = median(samples);
        }
    }
    Ok(costs)
}

/// Measures kernels, and then runs frames by `policy`.
pub fn schedule(
    program: &KernelProgram,
    resources: &[Resource],
    policy: &mut dyn Policy,
    inputs: &[Vec<u8>],
    request: ScheduleRequest<'_>,
) -> Result<Report, ScheduleError> {
    let graph = &program.linked.graph;
    let components = Components::new(graph, policy.grouping()).ok_or(ScheduleError::Cycle)?;
    let mut engine = Engine::new(program, resources, request.sharing, request.patience)?;
    engine.set_inputs(inputs);
    let costs = rehearse(&engine, program, request)?;
    let ranks = costs.ranks(graph);
    let known = Known {
        components: &components,
        costs: &costs,
        ranks: &ranks,
    };
    let mut frames = Vec::new();
    let mut is_interrupted = false;
    // The first one is no rehearsal of this policy yet.
    for index in 0..=request.frames {
        match engine.frame(policy, known, request.interrupted)? {
            Some(frame) if index > 0 => frames.push(frame),
            Some(_) => {}
            None => {
                is_interrupted = true;
                break;
            }
        }
    }
    if frames.is_empty() {
        return Err(ScheduleError::Interrupted);
    }
    Ok(Report {
        frames,
        costs,
        outputs: engine.outputs(),
        components: components.all.len(),
        is_interrupted,
    })
}

pub(super) fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}
