//! From a front and its plans to what the page holds.

use std::collections::BTreeMap;

use paracompile_plan::Plan;
use paracompile_plan::front::Front;
use paracompile_plan::plan::{self, PlanStage, Provenance, StoppedBy};

use super::detail::detail;
use super::dictionary::{Dictionary, shown};
use super::page::{
    Detail, Kind, MemoryUse, ModelHead, Page, PlanHead, Processor, Proof, SocHead, Stage,
};
use super::request::{Known, ReportError, Request};
use super::words;
use crate::simulate::{Critical, CriticalPath, critical_path};

/// The page, the details of its plans in the same order, and the places of the plans, those that matter most first.
pub(super) type Built<'a> = (Page<'a>, Vec<Detail>, Vec<usize>);

/// A plan that the front names.
struct Entry<'a> {
    id: String,
    kind: Kind,
    file: &'a str,
    plan: &'a Plan,
}

pub(super) fn build<'a>(request: &Request<'a>) -> Result<Built<'a>, ReportError> {
    let front = request.front;
    let entries = entries(request)?;
    let Some(first) = entries.first() else {
        return Err(ReportError::NoPlans);
    };
    let recommended = front
        .plans
        .iter()
        .position(|plan| plan.file == front.recommended)
        .ok_or_else(|| ReportError::NotOnFront {
            file: front.recommended.clone(),
        })?;
    let model = &first.plan.model;
    let soc = &first.plan.soc;
    let plans: Vec<&Plan> = entries.iter().map(|entry| entry.plan).collect();
    let mut dictionary = Dictionary::new(request.known, &plans);
    let mut heads = Vec::with_capacity(entries.len());
    let mut details = Vec::with_capacity(entries.len());
    for entry in &entries {
        let path =
            critical_path(entry.plan, Critical::Passage).map_err(|source| ReportError::Broken {
                file: entry.file.to_owned(),
                source,
            })?;
        details.push(detail(entry.plan, &path, &mut dictionary));
        heads.push(head(entry, &path, &mut dictionary));
    }
    let names = |names: &[String]| {
        let shown_names = names.iter().map(|name| shown(name, names.len().max(1000)));
        shown_names.collect()
    };
    let order = by_weight(recommended, &heads);
    let page = Page {
        model: ModelHead {
            name: &model.name,
            digest: &model.graph_digest,
            inputs: names(&model.inputs),
            outputs: names(&model.outputs),
        },
        soc: SocHead {
            name: &soc.name,
            base_mw: soc.base_mw.count(),
        },
        effort: &front.effort,
        version: env!("CARGO_PKG_VERSION"),
        proof: words::proofs(front),
        search: words::search(front),
        notes: request.notes,
        recommended,
        why: &front.why,
        processors: dictionary.processor_names(),
        memories: dictionary.memories_of_page(),
        operators: dictionary.operators_of_page(),
        tensors: dictionary.tensors_of_page(),
        plans: heads,
    };
    Ok((page, details, order))
}

/// The recommended plan, those that are best at something, baselines, the rest.
fn by_weight(recommended: usize, plans: &[PlanHead<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..plans.len()).collect();
    order.sort_by_key(|&place| {
        let plan = &plans[place];
        let rest = plan.labels.is_empty() && plan.kind == Kind::Front;
        (place != recommended, rest, place)
    });
    order
}

fn entries<'a>(request: &Request<'a>) -> Result<Vec<Entry<'a>>, ReportError> {
    let front = request.front;
    let plans: BTreeMap<&str, &Plan> = request.plans.iter().copied().collect();
    named(front)
        .into_iter()
        .map(|(id, kind, file)| {
            let plan = plans.get(file).ok_or_else(|| ReportError::Missing {
                file: file.to_owned(),
            })?;
            if plan.model.name != front.model || plan.soc.name != front.soc {
                return Err(ReportError::Stranger {
                    file: file.to_owned(),
                    found: format!("{} on {}", plan.model.name, plan.soc.name),
                    wanted: format!("{} on {}", front.model, front.soc),
                });
            }
            if let Some(known) = request.known {
                belongs(file, plan, known)?;
            }
            Ok(Entry {
                id,
                kind,
                file,
                plan,
            })
        })
        .collect()
}

/// Whether a plan is for this very model and chip.
fn belongs(file: &str, plan: &Plan, known: Known<'_>) -> Result<(), ReportError> {
    let stranger = |found: String, wanted: String| ReportError::Stranger {
        file: file.to_owned(),
        found,
        wanted,
    };
    if plan.model.graph_digest != known.model.graph_digest {
        return Err(stranger(
            format!("the model of digest {}", plan.model.graph_digest),
            format!("one of digest {}", known.model.graph_digest),
        ));
    }
    if plan.soc.digest != known.costs.soc_digest {
        return Err(stranger(
            format!("the chip of digest {}", plan.soc.digest),
            format!("one of digest {}", known.costs.soc_digest),
        ));
    }
    Ok(())
}

/// Each plan of a front once, with a name that stands in addresses.
fn named(front: &Front) -> Vec<(String, Kind, &str)> {
    let plans = front.plans.iter().enumerate();
    let mut named: Vec<(String, Kind, &str)> = plans
        .map(|(place, plan)| (format!("{:02}", place + 1), Kind::Front, plan.file.as_str()))
        .collect();
    let baselines: Vec<(String, Kind, &str)> = front
        .baselines
        .iter()
        .map(|baseline| {
            let file = baseline.file.as_str();
            (baseline.name.clone(), Kind::Baseline, file)
        })
        .collect();
    let fastest = front.best_by_strategy.iter();
    let fastest = fastest.map(|(strategy, best)| (format!("fastest-{strategy}"), best));
    let most_frames = front.most_frames_by_strategy.iter();
    let most_frames = most_frames.map(|(strategy, best)| (format!("most-frames-{strategy}"), best));
    for (id, best) in fastest.chain(most_frames) {
        let Some(file) = best.plan.as_deref() else {
            continue;
        };
        let is_new =
            |list: &[(String, Kind, &str)]| list.iter().all(|(_, _, other)| *other != file);
        if is_new(&named) && is_new(&baselines) {
            named.push((id, Kind::Best, file));
        }
    }
    named.extend(baselines);
    named
}

fn head<'a>(
    entry: &Entry<'a>,
    path: &CriticalPath,
    dictionary: &mut Dictionary<'a>,
) -> PlanHead<'a> {
    let plan = entry.plan;
    let predicted = &plan.predicted;
    PlanHead {
        id: entry.id.clone(),
        kind: entry.kind,
        file: entry.file,
        strategy: plan.strategy.name(),
        labels: plan.labels.iter().map(|label| label.name()).collect(),
        latency: predicted.latency_ns.count(),
        saturated: predicted.saturated_latency_ns.count(),
        paced: predicted.paced_latency_ns.count(),
        interval: plan.pace().count(),
        bound: predicted.interval_bound_ns.count(),
        active: predicted.energy_active_nj.count(),
        board: predicted.energy_board_nj.count(),
        proof: proof(&plan.proof),
        memory: predicted
            .memory
            .iter()
            .map(|used| MemoryUse {
                memory: dictionary.memory(&used.memory),
                weights: used.weights.count(),
                peak: used.peak.count(),
            })
            .collect(),
        provenance: shares(predicted.provenance),
        processors: plan
            .processors
            .iter()
            .map(|processor| Processor {
                id: dictionary.processor(&processor.name),
                point: &processor.operating_point,
                sources: dictionary.point(&processor.name, &processor.operating_point),
                static_mw: processor.static_mw.count(),
            })
            .collect(),
        stages: (0..)
            .zip(&plan.stages)
            .map(|(index, entry)| stage(plan, index, entry, dictionary))
            .collect(),
        tasks: plan.tasks.len(),
        moves: plan.transfers.len(),
        why: words::why(plan, path),
    }
}

fn proof(proof: &plan::Proof) -> Proof<'_> {
    Proof {
        value: proof.value_ns.count(),
        bound: proof.bound_ns.count(),
        method: &proof.method,
        scope: &proof.scope,
        stopped: match proof.stopped_by {
            StoppedBy::Complete => "complete",
            StoppedBy::Gap => "gap",
            StoppedBy::Work => "work",
            StoppedBy::Time => "time",
            StoppedBy::Interrupt => "interrupt",
        },
    }
}

const fn shares(provenance: Provenance) -> [f64; 5] {
    let Provenance {
        measured,
        fitted,
        estimated,
        borrowed,
        assumed,
    } = provenance;
    [measured, fitted, estimated, borrowed, assumed]
}

fn stage<'a>(
    plan: &'a Plan,
    index: u32,
    entry: &'a PlanStage,
    dictionary: &mut Dictionary<'a>,
) -> Stage<'a> {
    let tasks: Vec<_> = plan
        .tasks
        .iter()
        .filter(|task| task.stage == index)
        .collect();
    let busy = entry.processors.iter().map(|name| {
        let on = tasks.iter().filter(|task| {
            let queue = plan.queues.get(task.queue as usize);
            queue.is_some_and(|queue| queue.processor == *name)
        });
        on.map(|task| task.duration_ns.count())
            .fold(0, u64::saturating_add)
    });
    let mut spans: Vec<(u64, u64)> = plan
        .transfers
        .iter()
        .filter(|transfer| transfer.stage == index)
        .map(|transfer| {
            let start = transfer.start_ns;
            (start.count(), (start + transfer.duration_ns).count())
        })
        .collect();
    spans.sort_unstable();
    let first = tasks.iter().min_by_key(|task| task.start_ns);
    let first = first.and_then(|task| task.operators.first());
    Stage {
        first: first.map(|operator| dictionary.operator(operator)),
        busy: busy.collect(),
        moving: covered(&spans),
        processors: entry
            .processors
            .iter()
            .map(|name| dictionary.processor(name))
            .collect(),
        alone: entry.time_alone_ns.count(),
        time: entry.time_ns.count(),
        proof: proof(&entry.proof),
        tasks: tasks.len(),
        operators: tasks.iter().map(|task| task.operators.len()).sum(),
    }
}

/// The length that spans cover together; they are ordered by start.
fn covered(spans: &[(u64, u64)]) -> u64 {
    let mut end = 0;
    let mut length = 0u64;
    for &(from, to) in spans {
        length = length.saturating_add(to.saturating_sub(from.max(end)));
        end = end.max(to);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn spans_that_overlap_count_once() {
        assert_eq!(covered(&[(0, 10), (5, 8), (9, 12), (20, 21)]), 13);
    }

    #[test]
    fn every_plan_of_the_front_and_every_baseline_is_on_the_page() {
        let run = samples::run();
        let plans = run.plans();
        let known = Some(Known {
            model: &run.model,
            costs: &run.costs,
            elsewhere: &[],
        });
        let request = Request {
            front: &run.front,
            plans: &plans,
            known,
            notes: &[],
        };
        let (page, details, order) = build(&request).unwrap();
        let ids: Vec<&str> = page.plans.iter().map(|plan| plan.id.as_str()).collect();
        assert_eq!(ids, ["01", "02", "single:p1"]);
        assert_eq!(details.len(), 3);
        assert_eq!(order[0], page.recommended);
        assert_eq!(page.operators.classes, ["conv"]);
        assert_eq!(page.operators.sources[0], [1, 1], "measured on both");
    }

    #[test]
    fn what_does_not_belong_together_is_refused_by_file() {
        let mut run = samples::run();
        let refusal = |run: &samples::Run| {
            let plans = run.plans();
            let request = Request {
                front: &run.front,
                plans: &plans,
                known: None,
                notes: &[],
            };
            build(&request).unwrap_err().to_string()
        };
        run.plans[1].1.model.name = "other".to_owned();
        assert!(
            refusal(&run).starts_with("plans/02-pipe-only-p0_p1.json: this plan is for other on"),
            "{}",
            refusal(&run)
        );
        run.plans[1].1.frame.clear();
        run.plans[1].1.model.name.clone_from(&run.front.model);
        assert_eq!(
            refusal(&run),
            "plans/02-pipe-only-p0_p1.json: frame: no command for begin of stage 0"
        );
        run.plans.remove(1);
        assert_eq!(
            refusal(&run),
            "front.json: the plan plans/02-pipe-only-p0_p1.json is missing"
        );
        run.front.recommended = "plans/03.json".to_owned();
        run.front.plans.truncate(1);
        run.front.best_by_strategy.clear();
        run.front.most_frames_by_strategy.clear();
        assert_eq!(
            refusal(&run),
            "front.json: the recommended plan plans/03.json is not on the front"
        );
        run.front.plans.clear();
        run.front.baselines.clear();
        assert_eq!(refusal(&run), "front.json: there are no plans");
    }
}
