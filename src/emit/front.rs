//! The front file: figures of all plans, printed from their integers, and why one of them is recommended.

use std::collections::BTreeMap;

use paracompile_frontend::soc::Soc;
use paracompile_plan::Nanoseconds;
use paracompile_plan::Plan;
use paracompile_plan::device_use::united;
use paracompile_plan::front::{
    Baseline, BestOfStrategy, EnergyAxis, Figures, Front, FrontPlan, FrontStage, Objective,
    PointsSearched,
};
use paracompile_plan::plan::{Constraint, Label, PlanStage, SCHEMA, StoppedBy};

use super::cloud::cloud;
use super::labels::{Arrangement, Candidate, Entry, baseline_file};

/// What the recommended plan is chosen by; it changes nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// Least latency.
    Latency,
    /// Least interval.
    Throughput,
    /// Least active energy.
    Energy,
    /// Least latency × interval.
    #[default]
    Balanced,
}

impl Goal {
    /// The label of the plan that it chooses.
    pub const fn label(self) -> Label {
        match self {
            Self::Latency => Label::MinLatency,
            Self::Throughput => Label::MaxThroughput,
            Self::Energy => Label::MinEnergy,
            Self::Balanced => Label::Balanced,
        }
    }

    const fn claim(self) -> &'static str {
        match self {
            Self::Latency => "least latency",
            Self::Throughput => "highest throughput",
            Self::Energy => "least active energy",
            Self::Balanced => "least latency × interval",
        }
    }
}

/// What a front file is made of.
#[derive(Clone, Debug)]
pub struct FrontRequest<'a> {
    /// Which candidates became files.
    pub arrangement: &'a Arrangement,
    /// All candidates that it was chosen from.
    pub candidates: &'a [Candidate],
    /// Their plans, in the order of its entries.
    pub plans: &'a [Plan],
    /// Names and plans of baselines (rule M13).
    pub baselines: &'a [(String, Plan)],
    /// The effort level.
    pub effort: &'a str,
    /// Why the search stopped, as far as plans do not say.
    pub stopped_by: StoppedBy,
    /// How the energy axis came about.
    pub energy: EnergyAxis,
    /// By what share of its energy a plan may be better that thinning left out.
    pub energy_slack: f64,
    /// Operating points that were tried, where they were part of the choice.
    pub operating_points: Option<PointsSearched>,
    /// The numbers of compute queues that were searched, by processor; without those that have one.
    pub queues: BTreeMap<String, Vec<u32>>,
    /// The chip.
    pub soc: &'a Soc,
    /// What to recommend.
    pub goal: Goal,
}

/// Writes the front down; `None` if no plan is on it.
///
/// # Panics
/// If plans and entries of the arrangement do not match in number.
pub fn front(request: &FrontRequest<'_>) -> Option<Front> {
    let entries = &request.arrangement.entries;
    assert_eq!(
        entries.len(),
        request.plans.len(),
        "every entry has its plan"
    );
    let pairs = || entries.iter().zip(request.plans);
    let (recommended, recommended_plan) = pairs()
        .find(|(entry, _)| entry.on_front && entry.labels.contains(&request.goal.label()))?;
    let best_where = |is_best: fn(&Entry) -> bool| -> BTreeMap<String, BestOfStrategy> {
        pairs()
            .filter(|(entry, _)| is_best(entry))
            .map(|(entry, plan)| {
                let best = BestOfStrategy {
                    plan: Some(entry.file.clone()),
                    dominated: !entry.on_front,
                    figures: figures(request.soc, plan),
                };
                (entry.strategy.name().to_owned(), best)
            })
            .collect()
    };
    Some(Front {
        schema: SCHEMA,
        model: recommended_plan.model.name.clone(),
        soc: recommended_plan.soc.name.clone(),
        effort: request.effort.to_owned(),
        stopped_by: request
            .plans
            .iter()
            .map(|plan| plan.proof.stopped_by)
            .fold(request.stopped_by, StoppedBy::max),
        candidates: request.arrangement.candidates,
        dominated: request.arrangement.dominated,
        cloud: Some(cloud(request.candidates)),
        objectives: vec![
            Objective::Latency,
            Objective::Interval,
            Objective::EnergyActive,
        ],
        energy: request.energy,
        energy_slack: request.energy_slack,
        operating_points: request.operating_points.clone(),
        queues: request.queues.clone(),
        granularity: None,
        constraints: recommended_plan
            .constraints
            .iter()
            .map(Constraint::option)
            .collect(),
        epsilon: request.arrangement.epsilon.to_share(),
        plans: pairs()
            .filter(|(entry, _)| entry.on_front)
            .map(|(entry, plan)| FrontPlan {
                file: entry.file.clone(),
                strategy: entry.strategy,
                labels: entry.labels.clone(),
                figures: figures(request.soc, plan),
            })
            .collect(),
        best_by_strategy: best_where(|entry| entry.best_of_strategy),
        most_frames_by_strategy: best_where(|entry| entry.most_frames_of_strategy),
        baselines: request
            .baselines
            .iter()
            .map(|(name, plan)| Baseline {
                name: name.clone(),
                file: baseline_file(name),
                figures: figures(request.soc, plan),
            })
            .collect(),
        recommended: recommended.file.clone(),
        why: why(recommended_plan, request.goal),
    })
}

/// The figures of a plan as decimals.
pub fn figures(soc: &Soc, plan: &Plan) -> Figures {
    let predicted = &plan.predicted;
    let interval = plan.admission_interval_ns.to_seconds();
    Figures {
        latency_s: predicted.latency_ns.to_seconds(),
        saturated_latency_s: predicted.saturated_latency_ns.to_seconds(),
        paced_latency_s: predicted.paced_latency_ns.to_seconds(),
        interval_s: interval,
        // A network that takes no time has no finite throughput, and JSON no infinity.
        throughput_fps: if interval > 0.0 { 1.0 / interval } else { 0.0 },
        energy_active_j: predicted.energy_active_nj.to_joules(),
        energy_board_j: predicted.energy_board_nj.to_joules(),
        peak_memory: predicted
            .memory
            .iter()
            .map(|memory| (memory.memory.clone(), memory.peak.count()))
            .collect(),
        gap: gap(plan.proof.bound_ns, plan.proof.value_ns),
        stages: plan
            .stages
            .iter()
            .map(|stage| FrontStage {
                processors: stage.processors.clone(),
                operating_points: operating_points(soc, plan, stage),
                queues: queues(plan, stage),
                operators: plan
                    .tasks
                    .iter()
                    .filter(|task| task.stage == stage.id)
                    .map(|task| task.operators.len() as u64)
                    .sum(),
                time_s: stage.time_ns.to_seconds(),
            })
            .collect(),
    }
}

/// Numbers of compute queues of a stage's processors, if one of them has several.
fn queues(plan: &Plan, stage: &PlanStage) -> Vec<u32> {
    let counts = stage.processors.iter().map(|name| {
        let count = plan.compute_queues(name);
        u32::try_from(count).expect("a plan has few queues")
    });
    let counts: Vec<u32> = counts.collect();
    if counts.iter().all(|&count| count == 1) {
        return Vec::new();
    }
    counts
}

/// Points of a stage's processors, if one of them is not at the first of its profile.
fn operating_points(soc: &Soc, plan: &Plan, stage: &PlanStage) -> Vec<String> {
    let points: Vec<(&str, bool)> = stage
        .processors
        .iter()
        .filter_map(|name| plan.processors.iter().find(|known| known.name == *name))
        .map(|processor| {
            let first = soc
                .processor(&processor.name)
                .and_then(|id| soc.processors[id].operating_points.first())
                .is_some_and(|point| point.name == processor.operating_point);
            (processor.operating_point.as_str(), first)
        })
        .collect();
    if points.iter().all(|(_, is_first)| *is_first) {
        return Vec::new();
    }
    points
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// `1 − bound / value`, exactly zero where they are equal.
fn gap(bound: Nanoseconds, value: Nanoseconds) -> f64 {
    if value == Nanoseconds::ZERO {
        0.0
    } else {
        (value - bound).to_seconds() / value.to_seconds()
    }
}

/// Why a plan is recommended: where it is cut, on which processors, and what limits it.
pub fn why(plan: &Plan, goal: Goal) -> String {
    let shape = if plan.stages.len() == 1 {
        format!(
            "one stage on {}, uncut",
            plan.stages[0].processors.join("+")
        )
    } else {
        let stages: Vec<String> = plan
            .stages
            .iter()
            .map(|stage| stage.processors.join("+"))
            .collect();
        let cuts: Vec<String> = plan.stages[1..]
            .iter()
            .filter_map(|stage| first_operator(plan, stage))
            .map(|output| format!("`{output}`"))
            .collect();
        format!(
            "{} stages on {}, cut before {}",
            stages.len(),
            stages.join(" | "),
            cuts.join(" and before ")
        )
    };
    format!(
        "{} on the front: {shape}. {}.",
        capitalised(goal.claim()),
        limit(plan)
    )
}

/// The output of the operator of a stage that comes first in the model.
fn first_operator<'a>(plan: &'a Plan, stage: &PlanStage) -> Option<&'a str> {
    plan.tasks
        .iter()
        .filter(|task| task.stage == stage.id)
        .filter_map(|task| task.operators.first())
        .min_by_key(|operator| operator.node)
        .map(|operator| operator.output.as_str())
}

/// Which stage sets the interval, and how busy its busiest processor is meanwhile.
fn limit(plan: &Plan) -> String {
    let slowest = plan
        .stages
        .iter()
        .max_by_key(|stage| (stage.time_ns, std::cmp::Reverse(stage.id)));
    let Some(stage) = slowest else {
        return "Nothing limits it".to_owned();
    };
    // Time in which any of its queues computes; its tasks are all of one stage.
    let load = |name: &str| -> Nanoseconds {
        let own = plan.tasks.iter().filter(|task| {
            let queue = plan.queues.get(task.queue as usize);
            queue.is_some_and(|queue| queue.processor == name)
        });
        let spans = united(own.map(|task| (task.start_ns, task.start_ns + task.duration_ns)));
        spans.iter().map(|(from, to)| *to - *from).sum()
    };
    let interval = if plan.waits() {
        plan.pace()
    } else {
        stage.time_ns
    };
    let subject = if plan.waits() {
        format!("A frame is admitted every {interval}, for the sake of power")
    } else if plan.stages.len() == 1 {
        format!("Its {} set the interval", stage.time_ns)
    } else {
        format!(
            "Stage {} of {} ({}, {}) sets the interval",
            stage.id + 1,
            plan.stages.len(),
            stage.processors.join("+"),
            stage.time_ns
        )
    };
    let mut busiest: Option<(&str, Nanoseconds)> = None;
    for name in &stage.processors {
        let load = load(name);
        if busiest.is_none_or(|(_, most)| load > most) {
            busiest = Some((name, load));
        }
    }
    match busiest {
        Some((name, load)) if interval > Nanoseconds::ZERO => format!(
            "{subject}, and {name} computes for {:.0}% of that interval",
            100.0 * load.to_seconds() / interval.to_seconds()
        ),
        Some(_) | None => subject,
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use paracompile_plan::front::Front;

    use super::*;
    use crate::emit::arrange;
    use crate::emit::fixtures::{CHAIN, Scenario, hand};
    use crate::pareto::Epsilon;

    fn of_stages(stages: &[&[usize]]) -> Scenario {
        hand(&CHAIN, &[3], stages, |_| {})
    }

    fn front_of(goal: Goal) -> Front {
        let scenarios = [
            of_stages(&[&[0, 0, 0]]),
            of_stages(&[&[1, 1, 1]]),
            of_stages(&[&[0, 0], &[1]]),
        ];
        let candidates: Vec<Candidate> = scenarios.iter().map(Scenario::candidate).collect();
        let arrangement = arrange(&scenarios[0].table.soc, &candidates, Epsilon::EXACT);
        let plans: Vec<Plan> = arrangement
            .entries
            .iter()
            .map(|entry| {
                let scenario = &scenarios[entry.candidate];
                scenario.plan(&scenario.estimate())
            })
            .collect();
        let slow = &scenarios[1];
        let baselines = [("single:p1".to_owned(), slow.plan(&slow.estimate()))];
        let front = front(&FrontRequest {
            arrangement: &arrangement,
            candidates: &candidates,
            plans: &plans,
            baselines: &baselines,
            effort: "normal",
            stopped_by: StoppedBy::Complete,
            energy: EnergyAxis::ByProduct,
            energy_slack: 0.0,
            operating_points: None,
            queues: BTreeMap::new(),
            soc: &scenarios[0].table.soc,
            goal,
        });
        front.unwrap()
    }

    #[test]
    fn a_processor_computes_once_however_many_of_its_queues_do() {
        let scenario = of_stages(&[&[1, 1, 1]]);
        let mut plan = scenario.plan(&scenario.estimate());
        assert!(plan.tasks.len() > 1);
        for task in &mut plan.tasks {
            task.start_ns = Nanoseconds::ZERO;
        }
        let most = plan.tasks.iter().map(|task| task.duration_ns).max();
        let share = most.unwrap().to_seconds() / plan.stages[0].time_ns.to_seconds();
        let told = format!("computes for {:.0}% of that", 100.0 * share);
        assert!(limit(&plan).contains(&told), "{} and {told}", limit(&plan));
    }

    #[test]
    fn the_goal_chooses_the_recommended_plan_and_its_reason_alone() {
        let latency = front_of(Goal::Latency);
        let throughput = front_of(Goal::Throughput);
        assert_eq!(latency.recommended, "plans/01-single-p0.json");
        assert_eq!(
            latency.why,
            "Least latency on the front: one stage on p0, uncut. \
             Its 70.0 µs set the interval, and p0 computes for 100% of that interval."
        );
        assert_eq!(throughput.recommended, "plans/02-pipe-only-p0_p1.json");
        assert_eq!(
            throughput.why,
            "Highest throughput on the front: 2 stages on p0 | p1, cut before `op2`. \
             Stage 1 of 2 (p0, 40.0 µs) sets the interval, and p0 computes for 100% of that interval."
        );
        let same = Front {
            recommended: latency.recommended.clone(),
            why: latency.why.clone(),
            ..throughput
        };
        assert_eq!(same, latency);
    }

    #[test]
    fn a_dominated_best_says_where_it_lies() {
        let front = front_of(Goal::Balanced);
        let files: Vec<&str> = front.plans.iter().map(|plan| plan.file.as_str()).collect();
        assert_eq!(
            files,
            ["plans/01-single-p0.json", "plans/02-pipe-only-p0_p1.json"]
        );
        let bests: Vec<(&str, bool)> = front
            .best_by_strategy
            .iter()
            .map(|(strategy, best)| (strategy.as_str(), best.dominated))
            .collect();
        assert_eq!(bests, [("pipe-only", false), ("single", false)]);
        assert_eq!((front.candidates, front.dominated), (3, 1));
        assert_eq!(front.baselines[0].file, "baselines/single-p1.json");
        // The worst of its parts: the stages of these scenarios stopped by work.
        assert_eq!(front.stopped_by, StoppedBy::Work);
    }

    #[test]
    fn figures_are_the_integers_of_the_plan() {
        let scenario = of_stages(&[&[0, 0], &[1]]);
        let plan = scenario.plan(&scenario.estimate());
        let figures = figures(&scenario.table.soc, &plan);
        assert_eq!(
            Nanoseconds::new(40_000 + 5 + 35_000 + 5)
                .to_seconds()
                .to_bits(),
            figures.latency_s.to_bits()
        );
        assert!((figures.throughput_fps - 25_000.0).abs() < 1e-6);
        assert!(
            (figures.gap - 1.0).abs() < 1e-12,
            "the bound of zero proves nothing"
        );
        let operators: Vec<u64> = figures.stages.iter().map(|stage| stage.operators).collect();
        assert_eq!(operators, [2, 1]);
    }
}
