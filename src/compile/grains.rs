//! Tasks of a kernel graph by granularity: the groupings that a compile run tries, and why the tasks of each are as they are.

use std::collections::BTreeMap;

use paracompile_frontend::components::{Candidates, Level, Reason, Rule, reasons};
use paracompile_frontend::cost::CostTable;
use paracompile_frontend::import::kernels::{KernelGraph, KernelId};
use paracompile_frontend::ir::OpId;
use paracompile_frontend::soc::ProcessorId;
use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::{FusedKernels, TaskGranularity};

use crate::emit::Tasks;

/// A kernel that a processor cannot run takes so many nanoseconds there: a year, and small enough to be added up.
const NOWHERE: i64 = 365 * 24 * 3600 * 1_000_000_000;

/// How much of a kernel graph a task is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// A fixed level.
    Level(Level),
    /// What is best by a simulation with the host's time.
    Auto,
}

impl Granularity {
    /// The name of the option's value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Level(level) => level.name(),
            Self::Auto => "auto",
        }
    }
}

/// A grouping to be tried.
#[derive(Clone, Debug)]
pub(super) struct Grain {
    /// Its tasks, with reasons.
    pub(super) tasks: Tasks,
    /// All rules that lead to it, levels first.
    pub(super) rules: Vec<String>,
    /// Groups that were left apart, because no processor runs all of their kernels.
    pub(super) left_apart: usize,
}

/// The groupings of a run, each once; levels from fine to coarse, then what becomes of small tasks.
pub(super) fn grains(kernels: &KernelGraph, table: &CostTable, asked: Granularity) -> Vec<Grain> {
    let times = times(kernels, table);
    let dispatch = dispatch(table);
    let mut candidates = Candidates::default();
    match asked {
        Granularity::Level(level) => candidates.add_level(kernels, level),
        Granularity::Auto => {
            for level in Level::ALL {
                candidates.add_level(kernels, level);
            }
            candidates.add_adaptive(kernels, &times, &dispatch);
        }
    }
    let mut grains: Vec<Grain> = Vec::new();
    for candidate in candidates.into_list() {
        let (groups, left_apart) = runnable(&candidate.groups, &times);
        let rules: Vec<String> = candidate.rules.iter().map(Rule::to_string).collect();
        let operators: Vec<Vec<OpId>> = groups.iter().map(|group| operators(group)).collect();
        // Two that differ in groups which nobody runs are the same.
        if let Some(known) = (grains.iter_mut()).find(|known| known.tasks.groups == operators) {
            known.rules.extend(rules);
            continue;
        }
        let found = reasons(kernels, &groups, &times, &dispatch);
        grains.push(Grain {
            tasks: Tasks {
                granularity: TaskGranularity {
                    asked: asked.name().to_owned(),
                    rule: rules[0].clone(),
                },
                groups: operators,
                reasons: written(table, &groups, &found),
            },
            rules,
            left_apart,
        });
    }
    grains
}

/// Nanoseconds that dispatching a task costs, by processor: what the host spends on it, and what its processor does.
fn dispatch(table: &CostTable) -> Vec<i64> {
    let enqueue = table.soc.enqueue.to_nanoseconds();
    let processors = table.soc.processors.iter();
    let both = processors.map(|(_, processor)| enqueue + processor.dispatch.to_nanoseconds());
    both.map(|time| i64::try_from(time.count()).unwrap_or(NOWHERE))
        .collect()
}

/// Nanoseconds of each kernel, then of each processor.
fn times(kernels: &KernelGraph, table: &CostTable) -> Vec<Vec<i64>> {
    let of = |kernel: KernelId, processor: ProcessorId| {
        let cost = table.group(&[OpId::from_index(kernel.index())], processor);
        let time = cost.map(|cost| i64::try_from(cost.time.count()).unwrap_or(NOWHERE));
        time.map_or(NOWHERE, |time| time.min(NOWHERE - 1))
    };
    let processors = || table.soc.processors.ids();
    let kernels = kernels.kernels.ids();
    kernels
        .map(|kernel| {
            processors()
                .map(|processor| of(kernel, processor))
                .collect()
        })
        .collect()
}

/// Groups whose kernels all run on one processor; the kernels of others stay tasks of their own, which is how many groups.
///
/// Parting a group into its kernels keeps tasks from waiting for each other in a circle: one among them would be one of kernels.
fn runnable(groups: &[Vec<KernelId>], times: &[Vec<i64>]) -> (Vec<Vec<KernelId>>, usize) {
    let mut left_apart = 0;
    let mut found = Vec::with_capacity(groups.len());
    for group in groups {
        let processors = 0..times[group[0].index()].len();
        let runs = |processor: &usize| {
            let mut kernels = group.iter();
            kernels.all(|kernel| times[kernel.index()][*processor] < NOWHERE)
        };
        if group.len() == 1 || processors.into_iter().any(|processor| runs(&processor)) {
            found.push(group.clone());
        } else {
            left_apart += 1;
            found.extend(group.iter().map(|&kernel| vec![kernel]));
        }
    }
    found.sort_unstable();
    (found, left_apart)
}

fn operators(group: &[KernelId]) -> Vec<OpId> {
    let kernels = group.iter();
    kernels
        .map(|kernel| OpId::from_index(kernel.index()))
        .collect()
}

/// The reasons of tasks of several kernels, by their first one.
fn written(
    table: &CostTable,
    groups: &[Vec<KernelId>],
    found: &[Reason],
) -> BTreeMap<OpId, FusedKernels> {
    let nanoseconds = |time: i64| Nanoseconds::new(u64::try_from(time).unwrap_or(u64::MAX));
    let several = groups
        .iter()
        .zip(found)
        .filter(|(group, _)| group.len() > 1);
    several
        .map(|(group, reason)| {
            let processor = ProcessorId::from_index(reason.device);
            // Rounded once, like the task (rule M1); the rule itself adds rounded times.
            let cost = table.group(&operators(group), processor);
            let why = FusedKernels {
                processor: table.soc.processors[processor].name.clone(),
                time_ns: cost.expect("a processor runs all kernels of a group").time,
                dispatch_ns: nanoseconds(reason.dispatch_ns),
                beside: u32::try_from(reason.beside).unwrap_or(u32::MAX),
            };
            (OpId::from_index(group[0].index()), why)
        })
        .collect()
}
