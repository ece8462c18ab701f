//! Many ways to run a graph, measured one after another with kernels that are built once.
//!
//! The experiment of `PySchedCL` (Ghose et al., section V): numbers of queues of each device and components on the CPU, beside the dynamic policies.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use paracompile_frontend::components::{Components, Grouping};
use paracompile_frontend::import::kernels::Device;

use super::cost::Costs;
use super::engine::{Engine, Known, Resource};
use super::error::ScheduleError;
use super::policy::{Clustering, Eager, Heft, Policy};
use super::rehearse::rehearse;
use super::run::{ScheduleRequest, median};
use crate::users::KernelProgram;

/// A way to run a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// [`Clustering`] with so many queues of each device, and so many components on the CPU.
    Clustering {
        /// By device; none where it gets no component.
        queues: Vec<usize>,
        /// The first ones.
        on_cpu: usize,
    },
    /// [`Eager`] with one queue a device.
    Eager,
    /// [`Heft`] with one queue a device.
    Heft,
}

/// What a way took: medians over its frames, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// The way.
    pub way: Way,
    /// Frames that count.
    pub frames: usize,
    /// From the first choice to the last callback.
    pub total_ns: i64,
    /// From the first start to the last end of a command.
    pub device_span_ns: i64,
    /// What the host spent on choosing and enqueueing.
    pub host_ns: i64,
}

/// All ways to cluster `components` on one GPU and one CPU, whose queues are at most those of `resources`, with at most so many on the CPU; and both dynamic policies.
///
/// A device without a component has no queue.
pub fn ways(resources: &[Resource], components: usize, most_on_cpu: usize) -> Vec<Way> {
    let mut ways = Vec::new();
    for on_cpu in 0..=most_on_cpu.min(components) {
        let mut counts: Vec<Vec<usize>> = vec![Vec::new()];
        for resource in resources {
            let is_used = match resource.kind() {
                Device::Cpu => on_cpu > 0,
                Device::Gpu => on_cpu < components,
            };
            let tried = if is_used {
                1..=resource.queues.max(1)
            } else {
                0..=0
            };
            counts = counts
                .iter()
                .flat_map(|before| {
                    let tried = tried.clone();
                    tried.map(move |count| [&before[..], &[count]].concat())
                })
                .collect();
        }
        let clusterings = counts
            .into_iter()
            .map(|queues| Way::Clustering { queues, on_cpu });
        ways.extend(clusterings);
    }
    ways.extend([Way::Eager, Way::Heft]);
    ways
}

/// Runs each way for `request.frames` frames; for fewer, and at least three, where they take more than `patience` together.
///
/// `swept` is told of each way as soon as it has been measured.
pub fn sweep(
    program: &KernelProgram,
    resources: &[Resource],
    ways: &[Way],
    inputs: &[Vec<u8>],
    (request, patience): (ScheduleRequest<'_>, Duration),
    swept: &mut dyn FnMut(Swept),
) -> Result<(), ScheduleError> {
    let graph = &program.linked.graph;
    let group = |grouping| Components::new(graph, grouping).ok_or(ScheduleError::Cycle);
    let (joined, apart) = (group(Grouping::Joined)?, group(Grouping::Kernels)?);
    let mut engine = Engine::new(program, resources, request.sharing, request.patience)?;
    engine.set_inputs(inputs);
    let costs: Costs = rehearse(&engine, graph, request)?;
    let ranks = costs.ranks(graph);
    for way in ways {
        let (mut policy, components): (Box<dyn Policy>, _) = match way {
            Way::Clustering { on_cpu, .. } => {
                let clustering = Clustering {
                    grouping: Grouping::Joined,
                    on_cpu: Some(*on_cpu),
                    preferred: Vec::new(),
                };
                (Box::new(clustering), &joined)
            }
            Way::Eager => (Box::new(Eager), &apart),
            Way::Heft => (Box::new(Heft), &apart),
        };
        engine.open_queues(&match way {
            Way::Clustering { queues, .. } => queues.clone(),
            Way::Eager | Way::Heft => vec![1; resources.len()],
        });
        let known = Known {
            components,
            costs: &costs,
            ranks: &components.ranks(&ranks),
        };
        let began = Instant::now();
        let mut frames = Vec::new();
        // The first one is a rehearsal.
        for index in 0..=request.frames {
            if request.interrupted.load(Ordering::Relaxed) {
                return Err(ScheduleError::Interrupted);
            }
            if frames.len() >= 3 && began.elapsed() > patience {
                break;
            }
            let frame = engine.frame(policy.as_mut(), known, request.interrupted)?;
            let frame = frame.ok_or(ScheduleError::Interrupted)?;
            if index > 0 {
                frames.push(frame);
            }
        }
        let of = |figure: fn(&super::Scheduled) -> i64| median(frames.iter().map(figure).collect());
        swept(Swept {
            way: way.clone(),
            frames: frames.len(),
            total_ns: of(|frame| frame.total_ns),
            device_span_ns: of(|frame| frame.device_span_ns),
            host_ns: of(|frame| frame.host_ns),
        });
    }
    Ok(())
}
