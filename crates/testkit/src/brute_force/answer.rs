//! The oracle's answer to a case, in the case's own words.

use std::collections::BTreeMap;

use super::Instance;
use super::pipelines::{self, Point, Scope};
use crate::case::{Answer, Case, CaseError, Energy, Figures, Soc};

/// The front of a case by enumeration.
pub fn answer(case: &Case) -> Result<Answer, CaseError> {
    let instance = Instance::new(&case.graph, &case.soc)?;
    let scope = Scope::new(&instance, &case.limits);
    let front = pipelines::front(&instance, &scope);
    if front.is_empty() {
        return Ok(Answer::Refused { message: None });
    }
    let figures = |point| figures(&instance, &case.soc, point);
    Ok(Answer::Front(front.iter().map(figures).collect()))
}

fn figures(instance: &Instance, soc: &Soc, point: &Point) -> Figures {
    let name = |processor: usize| instance.processors[processor].name.clone();
    let names = |set: u16| {
        (0..instance.processors.len())
            .filter(|&processor| set & (1 << processor) != 0)
            .map(name)
            .collect()
    };
    let mut copies: Vec<u64> = point
        .crossings
        .iter()
        .map(|crossing| crossing.copies)
        .collect();
    copies.sort_unstable();
    Figures {
        processors: point.stages.iter().map(|stage| names(stage.set)).collect(),
        latency_ns: Some(point.latency),
        interval_ns: Some(point.interval),
        interval_bound_ns: Some(point.interval_bound),
        saturated_latency_ns: Some(point.saturated_latency),
        paced_latency_ns: Some(point.paced_latency),
        energy: Some(Energy {
            dynamic_nj: point.energy_dynamic,
            active_nj: point.energy_active,
            board_nj: point.energy_board,
        }),
        time_alone_ns: Some(point.stages.iter().map(|stage| stage.time_alone).collect()),
        time_ns: Some(point.stages.iter().map(|stage| stage.timed.time).collect()),
        transfers: Some(
            point
                .stages
                .iter()
                .map(|stage| stage.timed.transfers.len())
                .sum(),
        ),
        crossing_copies: Some(copies),
        placement: placement(instance, point),
        peak_bytes: soc
            .memories
            .iter()
            .zip(&point.peaks)
            .map(|(memory, &peak)| (memory.name.clone(), peak))
            .collect(),
    }
}

fn placement(instance: &Instance, point: &Point) -> BTreeMap<String, String> {
    point
        .stages
        .iter()
        .flat_map(|stage| &stage.choice.placement)
        .map(|(&operator, &processor)| {
            (
                instance.operators[operator].name.clone(),
                instance.processors[processor].name.clone(),
            )
        })
        .collect()
}
