//! Frames of everything on one device, by which kernels and overheads are measured.

use paracompile_frontend::components::{Components, Grouping, Level, level_groups};
use paracompile_frontend::import::kernels::KernelGraph;

use super::cost::Costs;
use super::engine::{Engine, Known};
use super::error::ScheduleError;
use super::outcome::Scheduled;
use super::overhead::{Overhead, Overheads};
use super::policy::{Choice, Policy, Situation};
use super::run::{ScheduleRequest, median};

/// Everything on one device, task by task.
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

/// Frames on each device, and the medians of what kernels took in them, copies included.
struct Rehearsal {
    /// By device, the frame whose total time is the median.
    frames: Vec<Scheduled>,
    costs: Costs,
}

/// What kernels take on each device by themselves.
pub(super) fn rehearse(
    engine: &Engine<'_>,
    graph: &KernelGraph,
    request: ScheduleRequest<'_>,
) -> Result<Costs, ScheduleError> {
    Ok(apart(engine, graph, request)?.costs)
}

/// The same, with what dispatching costs.
pub(super) fn rehearse_overheads(
    engine: &Engine<'_>,
    graph: &KernelGraph,
    request: ScheduleRequest<'_>,
) -> Result<(Costs, Overheads), ScheduleError> {
    let apart = apart(engine, graph, request)?;
    let groups = level_groups(graph, Level::Stage);
    let all = Components::from_groups(graph, &groups).ok_or(ScheduleError::Cycle)?;
    let together = frames(engine, graph, &all, request)?;
    let count = graph.kernels.len();
    let frames = apart.frames.iter().zip(&together.frames);
    let devices = frames
        .enumerate()
        .map(|(device, (apart, together))| Overhead::of(apart, together, device, count));
    let overheads = Overheads {
        devices: devices.collect(),
        within: together.costs,
    };
    Ok((apart.costs, overheads))
}

fn apart(
    engine: &Engine<'_>,
    graph: &KernelGraph,
    request: ScheduleRequest<'_>,
) -> Result<Rehearsal, ScheduleError> {
    let components = Components::new(graph, Grouping::Kernels).ok_or(ScheduleError::Cycle)?;
    frames(engine, graph, &components, request)
}

fn frames(
    engine: &Engine<'_>,
    graph: &KernelGraph,
    components: &Components,
    request: ScheduleRequest<'_>,
) -> Result<Rehearsal, ScheduleError> {
    let count = graph.kernels.len();
    let nothing = Costs {
        nanoseconds: vec![vec![0; engine.devices.len()]; count],
    };
    let mut rehearsal = Rehearsal {
        frames: Vec::new(),
        costs: nothing.clone(),
    };
    let known = Known {
        components,
        costs: &nothing,
        ranks: &vec![0; components.all.len()],
    };
    for device in 0..engine.devices.len() {
        let mut samples: Vec<Vec<i64>> = vec![Vec::new(); count];
        let mut frames = Vec::new();
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
            frames.push(frame);
        }
        for (cost, samples) in rehearsal.costs.nanoseconds.iter_mut().zip(samples) {
            cost[device] = median(samples);
        }
        frames.sort_by_key(|frame| frame.total_ns);
        let middle = frames.len() / 2;
        rehearsal.frames.push(frames.swap_remove(middle));
    }
    Ok(rehearsal)
}
