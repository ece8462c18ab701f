//! Whole pipelines: every chain of stages over the given cuts, every assignment of disjoint processor sets (rules M2, M6, M8, M9, M11).

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::memory::{Buffers, TimedStage};
use super::stages::{self, Choice, Part, StageMapping, State, Timed};
use super::streams::{self, Crossing};
use super::{Instance, gates};
use crate::case::{Cuts, Limits};

/// One plan with all its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Stages in order.
    pub stages: Vec<Stage>,
    /// `Σ T_s(S)`.
    pub latency: u64,
    /// `max T_s(A)`.
    pub interval: u64,
    /// Load of the busiest processor under `A`.
    pub interval_bound: u64,
    /// Of the 50th frame, unpaced.
    pub saturated_latency: u64,
    /// Of the 50th frame, paced at the interval.
    pub paced_latency: u64,
    /// Of operators and moves, under `A`.
    pub energy_dynamic: u64,
    /// With static power.
    pub energy_active: u64,
    /// With the board.
    pub energy_board: u64,
    /// Buffers that cross stages.
    pub crossings: Vec<Crossing>,
    /// Peak of each memory, in profile order.
    pub peaks: Vec<u64>,
}

/// One stage of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its operators, as a bit mask.
    pub operators: u32,
    /// Its processors, as a bit mask.
    pub set: u16,
    /// Who runs what.
    pub choice: Choice,
    /// `T_s(S)`.
    pub time_alone: u64,
    /// Under the plan's processors.
    pub timed: Timed,
}

impl Point {
    /// What a front is over.
    pub fn objectives(&self) -> [u64; 3] {
        [self.latency, self.interval, self.energy_active]
    }
}

/// What is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Processors that may be used, as a bit mask.
    pub offered: u16,
    /// The most stages.
    pub max_stages: usize,
    /// Where a pipeline may be cut.
    pub cuts: Cuts,
    /// Whether stages have all their trade-offs of time and energy, or the fastest mapping alone.
    pub trades_energy: bool,
}

impl Scope {
    /// The scope of a case; processors that the chip lacks are left out.
    pub fn new(instance: &Instance, limits: &Limits) -> Self {
        let offered = limits.processors.as_ref().map_or_else(
            || instance.all_processors(),
            |names| {
                instance
                    .processors
                    .iter()
                    .enumerate()
                    .filter(|(_, processor)| names.contains(&processor.name))
                    .fold(0, |mask, (index, _)| mask | 1 << index)
            },
        );
        Self {
            offered,
            max_stages: limits.max_stages.unwrap_or(instance.processors.len()),
            cuts: limits.cuts.clone(),
            trades_energy: false,
        }
    }
}

/// Every plan of the scope that keeps within the memories, in no particular order.
pub fn plans(instance: &Instance, scope: &Scope) -> Vec<Point> {
    let search = Search {
        instance,
        scope,
        boundaries: boundaries(instance, &scope.cuts),
        memory: RefCell::default(),
    };
    let mut points = Vec::new();
    let entry = stages::network_entry(instance);
    search.extend(&mut Vec::new(), 0, 0, &entry, &mut points);
    points
}

/// The plans that no other one dominates, one for each value of the objectives, ascending.
pub fn front(instance: &Instance, scope: &Scope) -> Vec<Point> {
    let mut points = plans(instance, scope);
    points.sort_by_key(Point::objectives);
    points.dedup_by_key(|point| point.objectives());
    let values: Vec<_> = points.iter().map(Point::objectives).collect();
    points.retain(|point| {
        let value = point.objectives();
        !values
            .iter()
            .any(|other| *other != value && other.iter().zip(&value).all(|(a, b)| a <= b))
    });
    points
}

/// What may have run at a cut, as bit masks, everything included.
fn boundaries(instance: &Instance, cuts: &Cuts) -> Vec<u32> {
    let prefix = |position: usize| (1u32 << position) - 1;
    let mut masks: Vec<u32> = match cuts {
        Cuts::Gates => gates(instance).into_iter().map(prefix).collect(),
        Cuts::Positions(positions) => positions.iter().copied().map(prefix).collect(),
        Cuts::EveryDownSet => (1..=instance.all_operators())
            .filter(|&mask| {
                (0..instance.operators.len()).all(|operator| {
                    mask & (1 << operator) == 0 || instance.predecessors(operator) & !mask == 0
                })
            })
            .collect(),
    };
    masks.push(instance.all_operators());
    masks.retain(|&mask| mask != 0);
    masks.sort_unstable();
    masks.dedup();
    masks
}

/// Stage mappings by (part, set, entry): they do not depend on the plan around them (M4).
type Known = BTreeMap<(Part, u16, State), Vec<StageMapping>>;

struct Search<'a> {
    instance: &'a Instance,
    scope: &'a Scope,
    boundaries: Vec<u32>,
    memory: RefCell<Known>,
}

/// A stage on the way, with the state that it starts from.
#[derive(Clone)]
struct Chosen {
    part: Part,
    set: u16,
    entry: State,
    mapping: StageMapping,
}

impl Search<'_> {
    fn extend(
        &self,
        chosen: &mut Vec<Chosen>,
        done: u32,
        used: u16,
        entry: &State,
        points: &mut Vec<Point>,
    ) {
        if done == self.instance.all_operators() {
            points.extend(self.point(chosen, used));
            return;
        }
        if chosen.len() == self.scope.max_stages {
            return;
        }
        for &boundary in &self.boundaries {
            if boundary == done || done & !boundary != 0 {
                continue;
            }
            let part = Part {
                before: done,
                operators: boundary & !done,
            };
            for set in 1..=self.scope.offered {
                if set & !self.scope.offered != 0 || set & used != 0 {
                    continue;
                }
                for mapping in self.mappings(part, set, entry) {
                    let exit = mapping.exit.clone();
                    chosen.push(Chosen {
                        part,
                        set,
                        entry: entry.clone(),
                        mapping,
                    });
                    self.extend(chosen, boundary, used | set, &exit, points);
                    chosen.pop();
                }
            }
        }
    }

    fn mappings(&self, part: Part, set: u16, entry: &State) -> Vec<StageMapping> {
        let key = (part, set, entry.clone());
        if let Some(known) = self.memory.borrow().get(&key) {
            return known.clone();
        }
        let found = if self.scope.trades_energy {
            stages::trade_offs(self.instance, part, set, entry)
        } else {
            stages::stage_mappings(self.instance, part, set, entry)
        };
        self.memory.borrow_mut().insert(key, found.clone());
        found
    }

    /// The figures of a complete plan; `None` where a memory is too small.
    fn point(&self, chosen: &[Chosen], used: u16) -> Option<Point> {
        let instance = self.instance;
        let timed: Vec<Timed> = chosen
            .iter()
            .map(|stage| stages::time(instance, &stage.mapping.choice, used, &stage.entry))
            .collect::<Option<_>>()?;
        let timed_stages: Vec<_> = chosen
            .iter()
            .zip(&timed)
            .map(|(stage, timed)| TimedStage {
                choice: &stage.mapping.choice,
                entry: &stage.entry,
                timed,
            })
            .collect();
        let buffers = Buffers::of(instance, &timed_stages);
        let peaks = buffers.peaks(instance, &timed_stages);
        let fits = peaks
            .iter()
            .zip(&instance.memories)
            .all(|(peak, limit)| limit.is_none_or(|limit| *peak <= limit));
        if !fits {
            return None;
        }
        let crossings = buffers.crossings();
        let durations: Vec<u64> = timed.iter().map(|timed| timed.time).collect();
        let interval = durations.iter().copied().max()?;
        let energy_dynamic = timed.iter().map(|timed| timed.energy).sum();
        let static_mw: u64 = (0..instance.processors.len())
            .filter(|&processor| used & (1 << processor) != 0)
            .map(|processor| instance.processors[processor].static_mw)
            .sum();
        let over_interval = |power: u64| super::instance::half_up(interval * power, 1000);
        let energy_active = energy_dynamic + over_interval(static_mw);
        Some(Point {
            latency: chosen.iter().map(|stage| stage.mapping.time).sum(),
            interval,
            interval_bound: busiest(chosen, &timed),
            saturated_latency: streams::stream(&durations, &crossings, None).latency,
            paced_latency: streams::stream(&durations, &crossings, Some(interval)).latency,
            energy_dynamic,
            energy_active,
            energy_board: energy_active + over_interval(instance.base_mw),
            crossings,
            peaks,
            stages: chosen
                .iter()
                .zip(timed)
                .map(|(stage, timed)| Stage {
                    operators: stage.part.operators,
                    set: stage.set,
                    choice: stage.mapping.choice.clone(),
                    time_alone: stage.mapping.time,
                    timed,
                })
                .collect(),
        })
    }
}

/// The load of the busiest queue.
fn busiest(chosen: &[Chosen], timed: &[Timed]) -> u64 {
    let mut loads: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (stage, timed) in chosen.iter().zip(timed) {
        for (operator, &processor) in &stage.mapping.choice.placement {
            let (start, end) = timed.spans[operator];
            let queue = stage.mapping.choice.queues[operator];
            *loads.entry((processor, queue)).or_default() += end - start;
        }
    }
    loads.into_values().max().unwrap_or(0)
}
