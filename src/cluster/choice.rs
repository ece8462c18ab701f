//! The choice of `(q_gpu, q_cpu, h_cpu)`: every configuration is predicted, and the least total time is taken.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use paracompile_frontend::import::kernels::Device;
use paracompile_frontend::soc::ProcessorId;
use paracompile_plan::Nanoseconds;
use rayon::prelude::*;

use super::{ClusterError, Clusters, Configuration, Host, OnCpu, Prediction, commands, predict};

/// The most kernels that are timed for one choice, over all configurations: some seconds.
const MOST_KERNELS: usize = 50_000_000;

/// What is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Which components run on the CPU; every number of them if absent.
    pub on_cpu: Option<OnCpu>,
    /// Numbers of queues, by processor; one where a processor is not listed.
    pub queues: Vec<(ProcessorId, RangeInclusive<usize>)>,
}

/// A configuration and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The configuration.
    pub configuration: Configuration,
    /// What it takes.
    pub prediction: Prediction,
}

/// Everything that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// By components on the CPU, then by queues of the GPU, then by queues of the CPU.
    pub candidates: Vec<Candidate>,
    /// Index of the one that is taken.
    pub chosen: usize,
    /// Kernels without a time on a device, which kept configurations out, each reason once.
    pub left_out: Vec<ClusterError>,
}

impl Choice {
    /// The one that is taken.
    pub fn best(&self) -> &Candidate {
        &self.candidates[self.chosen]
    }
}

/// Predicts every configuration of a sweep: the least total time, then the least sum of the ends of the devices, then the fewest queues, then the first.
///
/// Queues of a device that nothing runs on are not varied.
/// What gives a device more queues than kernels, or a kernel whose time there is not known, is left out; where nothing else is left, the first reason is the error.
///
/// # Panics
/// Never but by a fault of ours: what is no candidate has a reason.
pub fn choose(clusters: &Clusters<'_>, sweep: &Sweep, host: Host) -> Result<Choice, ClusterError> {
    let components = clusters.components.all.len();
    let heads: Vec<OnCpu> = match sweep.on_cpu {
        Some(on_cpu) => vec![on_cpu],
        None => (0..=components).map(OnCpu::First).collect(),
    };
    for (processor, numbers) in &sweep.queues {
        clusters.judge_queues(*processor, *numbers.start())?;
        clusters.judge_queues(*processor, *numbers.end())?;
    }
    let (kernels, numbers) = (clusters.components.of.len(), sweep.numbers(clusters).len());
    let configurations = heads.len().saturating_mul(numbers);
    if configurations.saturating_mul(kernels) > MOST_KERNELS {
        return Err(ClusterError::TooManyConfigurations {
            configurations,
            kernels,
        });
    }
    let mut left_out: Vec<ClusterError> = Vec::new();
    let mut first_reason: Option<ClusterError> = None;
    let mut configurations: Vec<Configuration> = Vec::new();
    let mut known: BTreeSet<(usize, Vec<usize>)> = BTreeSet::new();
    for on_cpu in heads {
        for queues in sweep.numbers(clusters) {
            match Configuration::new(clusters, on_cpu, &queues) {
                Ok(configuration) => {
                    // The queues of a device that nothing runs on make no other configuration.
                    let is_new =
                        known.insert((configuration.cpu_heads, configuration.queues.clone()));
                    configurations.extend(is_new.then_some(configuration));
                }
                Err(reason @ ClusterError::TooManyQueues { .. }) => {
                    first_reason.get_or_insert(reason);
                }
                Err(reason @ ClusterError::Unmeasured { .. }) => {
                    if !left_out.contains(&reason) {
                        left_out.push(reason.clone());
                    }
                    first_reason.get_or_insert(reason);
                }
                Err(error) => return Err(error),
            }
        }
    }
    let candidates: Vec<Candidate> = configurations
        .into_par_iter()
        .map(|configuration| Candidate {
            prediction: predict(&commands(clusters, &configuration), host),
            configuration,
        })
        .collect();
    let places = candidates.iter().enumerate();
    match places.min_by_key(|(place, candidate)| (candidate.merit(), *place)) {
        Some((chosen, _)) => Ok(Choice {
            candidates,
            chosen,
            left_out,
        }),
        None => Err(first_reason.expect("what is not a candidate has a reason")),
    }
}

impl Candidate {
    /// What is compared, the smaller the better.
    fn merit(&self) -> (Nanoseconds, Nanoseconds, usize) {
        let ends = self.prediction.ends.values().copied().sum();
        let queues = self.configuration.queues.iter().sum();
        (self.prediction.total, ends, queues)
    }
}

impl Sweep {
    /// All combinations of numbers of queues, those of the GPU first.
    fn numbers(&self, clusters: &Clusters<'_>) -> Vec<Vec<(ProcessorId, usize)>> {
        let mut all = vec![Vec::new()];
        for device in [Device::Gpu, Device::Cpu] {
            let Some(processor) = clusters.device(device) else {
                continue;
            };
            let asked = self.queues.iter().find(|(known, _)| *known == processor);
            let numbers = asked.map_or(1..=1, |(_, numbers)| numbers.clone());
            all = all
                .into_iter()
                .flat_map(|before: Vec<(ProcessorId, usize)>| {
                    numbers.clone().map(move |number| {
                        let mut combination = before.clone();
                        combination.push((processor, number));
                        combination
                    })
                })
                .collect();
        }
        all
    }
}
