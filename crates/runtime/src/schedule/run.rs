//! Frames by a policy, measured.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paracompile_frontend::components::Components;

use super::cost::Costs;
use super::engine::{Engine, Known, Resource};
use super::error::ScheduleError;
use super::granularity::{Granularity, Granulated, Judge};
use super::outcome::Scheduled;
use super::policy::Policy;
use super::rehearse::{rehearse, rehearse_overheads};
use crate::execute::Sharing;
use crate::users::KernelProgram;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleRequest<'r> {
    /// Frames that count.
    pub frames: usize,
    /// Frames on each device before them, by which kernels are measured.
    pub rehearsals: usize,
    /// Whose devices share a context: where there are several, what crosses them goes through the host.
    pub sharing: Sharing,
    /// How much of the graph a task is; as the policy groups kernels if absent.
    /// The best one is found by asking the policy in simulations and in frames before those that count.
    pub granularity: Option<Granularity>,
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
    /// Components of the policy, or tasks of the granularity.
    pub components: usize,
    /// What was chosen where a granularity was asked for.
    pub granularity: Option<Granulated>,
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

/// Measures kernels, and then runs frames by `policy`.
pub fn schedule(
    program: &KernelProgram,
    resources: &[Resource],
    policy: &mut dyn Policy,
    inputs: &[Vec<u8>],
    request: ScheduleRequest<'_>,
) -> Result<Report, ScheduleError> {
    let graph = &program.linked.graph;
    let own = Components::new(graph, policy.grouping()).ok_or(ScheduleError::Cycle)?;
    let mut engine = Engine::new(program, resources, request.sharing, request.patience)?;
    engine.set_inputs(inputs);
    let (costs, overheads) = match request.granularity {
        Some(_) => {
            let (costs, overheads) = rehearse_overheads(&engine, graph, request)?;
            (costs, Some(overheads))
        }
        None => (rehearse(&engine, graph, request)?, None),
    };
    let ranks = costs.ranks(graph);
    let mut granularity = None;
    if let Some((asked, overheads)) = request.granularity.zip(overheads) {
        let judge = Judge {
            engine: &engine,
            graph,
            costs: &costs,
            ranks: &ranks,
            request,
        };
        granularity = Some(judge.choose(policy, asked, overheads)?);
    }
    let chosen = |one: &'_ Granulated| one.candidates[one.chosen].components.clone();
    let components = granularity.as_ref().map_or(own, chosen);
    let compares = request.granularity.is_some_and(|asked| asked.compares);
    let beside = granularity.as_ref().filter(|_| compares);
    let beside = beside.map_or_else(Vec::new, Granulated::levels_beside);
    let groupings = beside.iter().map(|&(_, components)| components);
    let groupings: Vec<(&Components, Vec<i64>)> = groupings
        .chain([&components])
        .map(|components| (components, components.ranks(&ranks)))
        .collect();
    let mut samples: Vec<Vec<i64>> = vec![Vec::new(); beside.len()];
    let mut frames = Vec::new();
    let mut is_interrupted = false;
    // The first one is no rehearsal of this policy yet.
    'frames: for index in 0..=request.frames {
        for (place, (components, ranks)) in groupings.iter().enumerate() {
            let known = Known {
                components,
                costs: &costs,
                ranks,
            };
            let frame = engine.frame(policy, known, request.interrupted)?;
            let Some(frame) = frame else {
                is_interrupted = true;
                break 'frames;
            };
            match samples.get_mut(place) {
                _ if index == 0 => {}
                Some(samples) => samples.push(frame.total_ns),
                None => frames.push(frame),
            }
        }
    }
    if frames.is_empty() {
        return Err(ScheduleError::Interrupted);
    }
    let places = beside.iter().map(|&(place, _)| place);
    let measured: Vec<(usize, Vec<i64>)> = places.zip(samples).collect();
    let total = median(frames.iter().map(|frame| frame.total_ns).collect());
    if let Some(granularity) = &mut granularity {
        granularity.candidates[granularity.chosen].measured_ns = Some(total);
        for (place, samples) in measured {
            granularity.candidates[place].measured_ns = Some(median(samples));
        }
    }
    Ok(Report {
        frames,
        costs,
        outputs: engine.outputs(),
        components: components.all.len(),
        granularity,
        is_interrupted,
    })
}

/// The middle one of some values; zero of none.
pub(super) fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}
