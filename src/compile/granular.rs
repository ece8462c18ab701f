//! A compile run of a kernel graph at a granularity of tasks, or at the best one.
//!
//! The model of a plan leaves the host's time out (rule M10), and without it the finest tasks are best: so granularities are compared by
//! what [`simulate`] says of their recommended plans with a host that enqueues.

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::import::kernels::KernelGraph;
use paracompile_frontend::ir::VerifiedGraph;
use paracompile_plan::front::{FrontGranularity, GranularityTried};
use paracompile_plan::{Nanoseconds, Plan};

use super::arrow::compile;
use super::grains::{Grain, Granularity, grains};
use super::{CompileError, Compiled, Options};
use crate::emit::Goal;
use crate::mapping::Effort;
use crate::simulate::{Host, SimulateOptions, simulate};

/// How many granularities are searched with the effort that was asked for, the best ones of a quick search and the finest.
const FINALISTS: usize = 3;

/// Frames of a simulation: enough for an interval.
const FRAMES: usize = 8;

/// Maps a kernel graph whose tasks have the granularity that is asked for.
///
/// With [`Granularity::Auto`] each grouping is searched quickly, the best ones as hard as asked, and the one is chosen whose recommended plan
/// is best by the goal in a simulation with the host's time; of equals the one with most tasks.
/// Where the budget ends the choice is among those that were tried.
///
/// # Errors
/// Those of [`compile`]: of the only granularity, or of the finest where none can be mapped.
///
/// # Panics
/// Never but by a fault of ours: there is a finest granularity.
pub fn compile_kernels(
    kernels: &KernelGraph,
    graph: &VerifiedGraph,
    table: &CostTable,
    asked: Granularity,
    options: &Options<'_>,
) -> Result<Compiled, CompileError> {
    let run = Run {
        graph,
        table,
        options,
        grains: grains(kernels, table, asked),
    };
    let all: Vec<usize> = (0..run.grains.len()).collect();
    let is_one = all.len() == 1;
    let effort = if is_one {
        options.effort
    } else {
        Effort::Quick
    };
    let mut attempts = run.attempts(&all, effort);
    let mut scores: Vec<Option<Score>> = vec![None; all.len()];
    note(&mut scores, &attempts);
    if !is_one && options.effort != Effort::Quick {
        let mut again = run.attempts(&finalists(&scores), options.effort);
        // What was cut before it found anything has its quick answer.
        again.retain(|attempt| attempt.score.is_some());
        if !again.is_empty() {
            note(&mut scores, &again);
            attempts = again;
        }
    }
    let best = attempts
        .into_iter()
        .min_by_key(|one| (one.score.is_none(), one.score, one.place));
    let best = best.expect("the finest granularity is always tried");
    let mut compiled = best.found?;
    let chosen = &run.grains[best.place];
    let tried = run.grains.iter().zip(&scores);
    compiled.front.granularity = Some(FrontGranularity {
        asked: asked.name().to_owned(),
        rule: chosen.tasks.granularity.rule.clone(),
        tasks: count(chosen.tasks.groups.len()),
        left_apart: count(chosen.left_apart),
        candidates: tried.map(|(grain, &score)| told(grain, score)).collect(),
    });
    Ok(compiled)
}

/// The best of a quick search, and the finest one if it has any mapping.
fn finalists(scores: &[Option<Score>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len())
        .filter(|&place| scores[place].is_some())
        .collect();
    order.sort_by_key(|&place| (scores[place], place));
    let is_finalist = |&(rank, place): &(usize, usize)| rank < FINALISTS || place == 0;
    let ranked = order.into_iter().enumerate().filter(is_finalist);
    ranked.map(|(_, place)| place).collect()
}

fn note(scores: &mut [Option<Score>], attempts: &[Attempt]) {
    for attempt in attempts {
        scores[attempt.place] = attempt.score;
    }
}

/// What is mapped, at several granularities.
struct Run<'a> {
    graph: &'a VerifiedGraph,
    table: &'a CostTable,
    options: &'a Options<'a>,
    grains: Vec<Grain>,
}

/// A granularity, mapped.
struct Attempt {
    /// Which of the run's.
    place: usize,
    found: Result<Compiled, CompileError>,
    /// Nothing where there is no mapping, or one too large to be simulated.
    score: Option<Score>,
}

impl Run<'_> {
    /// Maps some granularities; once the budget has ended, only as long as there is no mapping.
    fn attempts(&self, places: &[usize], effort: Effort) -> Vec<Attempt> {
        let mut attempts: Vec<Attempt> = Vec::with_capacity(places.len());
        for &place in places {
            let is_over = self.options.budget.stopped_by().is_some();
            if is_over && attempts.iter().any(|one| one.score.is_some()) {
                break;
            }
            let grain = &self.grains[place];
            (self.options.progress.0)(&format!("tasks by {}", grain.rules[0]));
            let found = self.at(grain, effort);
            let mapped = found.as_ref().ok();
            attempts.push(Attempt {
                place,
                score: mapped.and_then(|one| Score::of(one, self.options.goal)),
                found,
            });
        }
        attempts
    }

    fn at(&self, grain: &Grain, effort: Effort) -> Result<Compiled, CompileError> {
        let is_finest = grain.tasks.groups.iter().all(|group| group.len() == 1);
        let options = Options {
            tasks: Some(&grain.tasks),
            effort,
            // A clustering is one of single kernels.
            clustering: self.options.clustering.filter(|_| is_finest),
            ..*self.options
        };
        compile(self.graph, self.table, &options)
    }
}

/// What a granularity is judged by; the least is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    /// By the goal.
    figure: u128,
    /// How far it is from as many tasks as there could be.
    coarseness: usize,
    latency: Nanoseconds,
    interval: Nanoseconds,
}

impl Score {
    fn of(compiled: &Compiled, goal: Goal) -> Option<Self> {
        let file = (compiled.files.iter()).find(|file| file.plan.labels.contains(&goal.label()));
        let plan = &file.expect("a front has a plan for each goal").plan;
        let (latency, interval) = with_host(plan)?;
        let figure = match goal {
            Goal::Latency => u128::from(latency.count()),
            Goal::Throughput => u128::from(interval.count()),
            Goal::Energy => u128::from(plan.predicted.energy_active_nj.count()),
            Goal::Balanced => u128::from(latency.count()) * u128::from(interval.count()),
        };
        Some(Self {
            figure,
            coarseness: usize::MAX - plan.tasks.len(),
            latency,
            interval,
        })
    }
}

/// Latency and interval where the host enqueues; nothing of a plan that is too large to be simulated.
fn with_host(plan: &Plan) -> Option<(Nanoseconds, Nanoseconds)> {
    let options = SimulateOptions {
        host: Host::Enqueues,
        frames: FRAMES,
        ..SimulateOptions::default()
    };
    let found = simulate(plan, &options).ok()?;
    Some((found.latency, found.interval))
}

fn told(grain: &Grain, score: Option<Score>) -> GranularityTried {
    GranularityTried {
        rules: grain.rules.clone(),
        tasks: count(grain.tasks.groups.len()),
        latency_ns: score.map(|score| score.latency),
        interval_ns: score.map(|score| score.interval),
    }
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
