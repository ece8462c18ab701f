//! The exact pipeline search: a forward sweep over cut points with Pareto labels (after the dynamic programmes for pipelines on processor sets; rule M9 of `docs/model.md`).
//!
//! State: (cut point, processors used so far, where each live tensor is, whether every stage so far has one processor).
//! The last part keeps the best pipeline of each strategy, which is worth knowing even where another strategy beats it.
//! For a fixed final set `A` a label is extended by a stage on processors that are still free; the search runs once for each `A`, because slowdowns depend on it (rule M4), and the caller merges the fronts.
//! Interchangeable processors are taken in order: a stage takes the first free members of each orbit, so that the processors used so far are determined by how many of each orbit they are, and every pipeline is found under one of its equivalent names.
//! Where tensors are belongs to the state, since the cheapest stage may leave its tensor on the wrong side of a slow link.
//! The search is exact over the cut points and the stage offers that it is given.
//! It knows no graph: offers carry numbers, and entries are numbered by the caller.

use std::collections::BTreeMap;
use std::sync::Arc;

use paracompile_frontend::soc::{ProcessorSet, Symmetry};
use paracompile_plan::plan::Strategy;
use paracompile_plan::{Bytes, Milliwatts, Nanojoules, Nanoseconds};

use super::label_set::{Cost, LabelSet};

/// One way to run the segments from a cut point on as a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Cut point where the stage ends.
    pub end: usize,
    /// Where it leaves the live tensors, as a number of the caller's.
    pub exit: usize,
    /// `T_s(S)`.
    pub time_alone: Nanoseconds,
    /// `T_s(A)`.
    pub time: Nanoseconds,
    /// `E_dyn` of the stage under `A`.
    pub energy: Nanojoules,
    /// `Σ P_static` of its processors at their operating points.
    pub power: Milliwatts,
    /// What the stage adds to each limited memory under `A`.
    pub memory: Vec<Bytes>,
}

/// A question for stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// Cut point where they start.
    pub start: usize,
    /// Where they find the live tensors, as a number of the caller's.
    pub entry: usize,
    /// Their processors.
    pub processors: ProcessorSet,
    /// Whether they are the last of their pipelines: no processor is left.
    pub is_last: bool,
}

/// What the search runs over.
pub struct Space<'a> {
    /// Number of cut points, the start and the end included.
    pub cuts: usize,
    /// The final set `A`: every processor of it is used.
    pub used: ProcessorSet,
    /// Which processors can swap places without changing an answer but for their names.
    pub symmetry: &'a Symmetry,
    /// The largest number of stages.
    pub max_stages: usize,
    /// Size of each limited memory that can bind.
    pub memory_limits: Vec<Bytes>,
    /// Where more labels than this meet in one state, they are thinned by their energy.
    pub most_labels: usize,
    /// The longest interval for which thinning keeps its promise.
    pub longest: Nanoseconds,
    /// Told of all the offers that will be asked for at a cut point, so that they can be made in parallel.
    pub announce: &'a dyn Fn(&[Asked]),
    /// The stages that answer a question; each ends at the end if it is the last one, and before it if not.
    pub offers: &'a dyn Fn(Asked) -> Arc<Vec<Offer>>,
}

impl std::fmt::Debug for Space<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Space")
            .field("cuts", &self.cuts)
            .field("used", &self.used)
            .field("max_stages", &self.max_stages)
            .finish_non_exhaustive()
    }
}

/// What a search ends with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fronts {
    /// All complete pipelines that no other of the same strategy covers, by strategy, then latency.
    pub found: Vec<Found>,
    /// The largest share of energy, in millionths, by which a label was thinned; a pipeline is thinned at most once behind each of its stages.
    pub share: u32,
}

/// A complete pipeline that no other of its strategy covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What it costs.
    pub cost: Cost,
    /// Its stages in order.
    pub stages: Vec<Chosen>,
}

/// One stage of a pipeline: which offer was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Cut point where it starts.
    pub start: usize,
    /// Where it finds the live tensors, as a number of the caller's.
    pub entry: usize,
    /// Its processors.
    pub processors: ProcessorSet,
    /// Index of the offer among those of (start, entry, processors).
    pub offer: usize,
}

/// What distinguishes partial pipelines that end at the same cut point.
///
/// The number of stages counts only where a limit on it can bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    used: ProcessorSet,
    entry: usize,
    stages: usize,
    /// The best of each strategy is wanted, even where one of another strategy covers it.
    strategy: Strategy,
}

impl State {
    const START: Self = Self {
        used: ProcessorSet::EMPTY,
        entry: 0,
        stages: 0,
        strategy: Strategy::Single,
    };

    /// The strategy with one more stage; of what goes on, only whether it can still be pipe-only matters.
    fn strategy_with(&self, processors: ProcessorSet, is_last: bool) -> Strategy {
        let is_parallel = processors.len() > 1;
        let is_first = self.used.is_empty();
        match self.strategy {
            Strategy::Single if is_first && is_last && is_parallel => Strategy::ParaOnly,
            Strategy::Single if is_first && is_last => Strategy::Single,
            Strategy::Single | Strategy::PipeOnly if !is_parallel => Strategy::PipeOnly,
            Strategy::Single | Strategy::PipeOnly | Strategy::ParaOnly | Strategy::Hybrid => {
                Strategy::Hybrid
            }
        }
    }
}

/// A label in the list of all labels.
#[derive(Clone, Copy, Debug)]
struct Step {
    chosen: Chosen,
    previous: Option<usize>,
}

/// All complete pipelines on exactly `space.used` that no other of the same strategy covers.
///
/// `interrupted` is polled at every state of every cut point; a search that stops early returns nothing, because no pipeline is complete before the last cut.
pub fn search(space: &Space<'_>, interrupted: &dyn Fn() -> bool) -> Fronts {
    let limit = space.max_stages.min(space.used.len());
    let count_stages = limit < space.used.len();
    let mut steps: Vec<Step> = Vec::new();
    let mut at: Vec<BTreeMap<State, LabelSet<Option<usize>>>> =
        (0..space.cuts).map(|_| BTreeMap::new()).collect();
    let mut origin = LabelSet::default();
    origin.insert(
        Cost {
            latency: Nanoseconds::ZERO,
            bottleneck: Nanoseconds::ZERO,
            energy: Nanojoules::ZERO,
            power: Milliwatts::ZERO,
            memory: vec![Bytes::ZERO; space.memory_limits.len()],
        },
        None,
    );
    at[0].insert(State::START, origin);
    let last = space.cuts - 1;
    let mut share = 0;
    for cut in 0..last {
        if interrupted() {
            return Fronts::default();
        }
        let states = std::mem::take(&mut at[cut]);
        let is_open = |state: &State| !count_stages || state.stages < limit;
        let asked: Vec<Asked> = states
            .keys()
            .filter(|state| is_open(state))
            .flat_map(|state| questions(cut, state, space))
            .collect();
        (space.announce)(&asked);
        for (state, mut labels) in states {
            share = share.max(labels.thin(space.most_labels, space.longest));
            if interrupted() {
                return Fronts::default();
            }
            // Labels get their place in the list of steps only now, when they can no longer be dropped.
            let labels: Vec<(Cost, Option<usize>)> = labels
                .iter()
                .map(|label| (label.cost.clone(), label.origin))
                .collect();
            if !is_open(&state) {
                continue;
            }
            for asked in questions(cut, &state, space) {
                let processors = asked.processors;
                let offers = (space.offers)(asked);
                for (index, offer) in offers.iter().enumerate() {
                    // The last stage uses what is left, and a stage that is not the last leaves something.
                    if (offer.end == last) != asked.is_last {
                        continue;
                    }
                    let next = State {
                        used: state.used.union(processors),
                        entry: offer.exit,
                        stages: if count_stages { state.stages + 1 } else { 0 },
                        strategy: state.strategy_with(processors, asked.is_last),
                    };
                    if count_stages && offer.end != last && next.stages >= limit {
                        continue;
                    }
                    let target = at[offer.end].entry(next).or_default();
                    for (cost, previous) in &labels {
                        let cost = extend(cost, offer);
                        if exceeds(&cost, &space.memory_limits) || !target.admits(&cost) {
                            continue;
                        }
                        steps.push(Step {
                            chosen: Chosen {
                                start: cut,
                                entry: state.entry,
                                processors,
                                offer: index,
                            },
                            previous: *previous,
                        });
                        target.insert(cost, Some(steps.len() - 1));
                    }
                }
            }
        }
    }
    Fronts {
        found: complete(&at[last], &steps),
        share,
    }
}

/// Every set of free processors, one of all that are equivalent, for a stage behind `state`.
fn questions(cut: usize, state: &State, space: &Space<'_>) -> impl Iterator<Item = Asked> {
    let free = space.used.without(state.used);
    let entry = state.entry;
    space.symmetry.subsets(free).map(move |processors| Asked {
        start: cut,
        entry,
        processors,
        is_last: processors == free,
    })
}

/// What a complete pipeline uses of each limited memory, and its last step.
type Completed = (Vec<Bytes>, Option<usize>);

/// The fronts of each strategy over all final states, with the stages followed back.
fn complete(states: &BTreeMap<State, LabelSet<Option<usize>>>, steps: &[Step]) -> Vec<Found> {
    let mut fronts: BTreeMap<Strategy, LabelSet<Completed>> = BTreeMap::new();
    for (state, labels) in states {
        let front = fronts.entry(state.strategy).or_default();
        for label in labels.iter() {
            // A complete pipeline fits its memories; how well is no objective.
            let mut cost = label.cost.clone();
            let memory = std::mem::take(&mut cost.memory);
            front.insert(cost, (memory, label.origin));
        }
    }
    fronts
        .values()
        .flat_map(LabelSet::iter)
        .map(|label| {
            let mut chosen = Vec::new();
            let (memory, mut at) = label.origin.clone();
            while let Some(step) = at {
                chosen.push(steps[step].chosen);
                at = steps[step].previous;
            }
            chosen.reverse();
            Found {
                cost: Cost {
                    memory,
                    ..label.cost.clone()
                },
                stages: chosen,
            }
        })
        .filter(|found| !found.stages.is_empty())
        .collect()
}

fn extend(cost: &Cost, offer: &Offer) -> Cost {
    Cost {
        latency: cost.latency + offer.time_alone,
        bottleneck: cost.bottleneck.max(offer.time),
        energy: cost.energy + offer.energy,
        power: cost.power + offer.power,
        memory: cost
            .memory
            .iter()
            .zip(&offer.memory)
            .map(|(&so_far, &more)| so_far + more)
            .collect(),
    }
}

fn exceeds(cost: &Cost, limits: &[Bytes]) -> bool {
    cost.memory
        .iter()
        .zip(limits)
        .any(|(used, limit)| used > limit)
}

#[cfg(test)]
mod tests {
    use paracompile_plan::plan::Strategy;
    use proptest::prelude::*;

    use super::*;

    /// Numbers for every (start, end, entry, exit, processors), from a small mixing function, so that a table needs no storage.
    fn offer_of(seed: u64, start: usize, end: usize, entry: usize, exit: usize, set: u16) -> Offer {
        let mix = |salt: u64| {
            let mut x = seed
                ^ (start as u64) << 8
                ^ (end as u64) << 16
                ^ (entry as u64) << 24
                ^ (exit as u64) << 32
                ^ u64::from(set) << 40
                ^ salt << 56;
            for _ in 0..3 {
                x ^= x >> 31;
                x = x.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            }
            x >> 40
        };
        let alone = 1 + mix(1) % 9 * (end - start) as u64;
        Offer {
            end,
            exit,
            time_alone: Nanoseconds::new(alone),
            time: Nanoseconds::new(alone + mix(2) % 3),
            energy: Nanojoules::new(mix(3) % 7),
            power: Milliwatts::ZERO,
            memory: vec![Bytes::new(mix(4) % 5)],
        }
    }

    fn offers(seed: u64, cuts: usize, start: usize, entry: usize, set: ProcessorSet) -> Vec<Offer> {
        let mut all = Vec::new();
        for end in start + 1..cuts {
            let exits = if end == cuts - 1 { 1 } else { 2 };
            for exit in 0..exits {
                all.push(offer_of(seed, start, end, entry, exit, set.bits()));
            }
        }
        all
    }

    fn answers(seed: u64, cuts: usize, asked: Asked) -> Vec<Offer> {
        offers(seed, cuts, asked.start, asked.entry, asked.processors)
            .into_iter()
            .filter(|offer| (offer.end == cuts - 1) == asked.is_last)
            .collect()
    }

    /// Every pipeline, without any pruning, by a stack of partial ones.
    fn brute_force(
        seed: u64,
        cuts: usize,
        used: ProcessorSet,
        max_stages: usize,
        limit: u64,
    ) -> Vec<(Strategy, u64, u64, u64)> {
        let mut complete = Vec::new();
        let start = (
            0,
            0,
            ProcessorSet::EMPTY,
            Vec::new(),
            (0u64, 0u64, 0u64, 0u64),
        );
        let mut open = vec![start];
        while let Some((cut, entry, taken, stages, cost)) = open.pop() {
            if cut == cuts - 1 {
                if taken == used && cost.3 <= limit {
                    complete.push((Strategy::of(&stages), cost.0, cost.1, cost.2));
                }
                continue;
            }
            if stages.len() == max_stages {
                continue;
            }
            for set in used.without(taken).subsets() {
                for offer in offers(seed, cuts, cut, entry, set) {
                    open.push((
                        offer.end,
                        offer.exit,
                        taken.union(set),
                        [&stages[..], &[set.len()]].concat(),
                        (
                            cost.0 + offer.time_alone.count(),
                            cost.1.max(offer.time.count()),
                            cost.2 + offer.energy.count(),
                            cost.3 + offer.memory[0].count(),
                        ),
                    ));
                }
            }
        }
        let mut front: Vec<(Strategy, u64, u64, u64)> = complete
            .iter()
            .filter(|a| {
                !complete
                    .iter()
                    .any(|b| b != *a && b.0 == a.0 && b.1 <= a.1 && b.2 <= a.2 && b.3 <= a.3)
            })
            .copied()
            .collect();
        front.sort_unstable();
        front.dedup();
        front
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(162))]
        #[test]
        fn agrees_with_brute_force_over_cuts_sets_and_exits(
            seed in any::<u64>(),
            cuts in 2usize..6,
            processors in 1usize..4,
            max_stages in 1usize..4,
            limit in 3u64..20,
        ) {
            let used = ProcessorSet::first(processors);
            let table = |asked| Arc::new(answers(seed, cuts, asked));
            let space = Space {
                cuts,
                used,
                symmetry: &Symmetry::NONE,
                max_stages,
                memory_limits: vec![Bytes::new(limit)],
                most_labels: usize::MAX,
                longest: Nanoseconds::MAX,
                announce: &|_| (),
                offers: &table,
            };
            let strategy = |found: &Found| {
                let counts: Vec<usize> =
                    found.stages.iter().map(|stage| stage.processors.len()).collect();
                Strategy::of(&counts)
            };
            let mut found: Vec<(Strategy, u64, u64, u64)> = search(&space, &|| false)
                .found
                .iter()
                .map(|found| (
                    strategy(found),
                    found.cost.latency.count(),
                    found.cost.bottleneck.count(),
                    found.cost.energy.count(),
                ))
                .collect();
            found.sort_unstable();
            found.dedup();
            prop_assert_eq!(found, brute_force(seed, cuts, used, max_stages, limit));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn canonical_sets_alone_find_the_same_costs(
            seed in any::<u64>(),
            cuts in 2usize..6,
            kinds in prop::collection::vec(0usize..2, 2..5),
            max_stages in 1usize..5,
            limit in 3u64..20,
            most_labels in prop_oneof![Just(usize::MAX), Just(4)],
        ) {
            let used = ProcessorSet::first(kinds.len());
            let symmetry = Symmetry::new(kinds.len(), |a, b| kinds[a.index()] == kinds[b.index()]);
            // What a set answers depends on how many of each kind it has.
            let table = |asked: Asked| {
                let processors = symmetry.representative(asked.processors);
                Arc::new(answers(seed, cuts, Asked { processors, ..asked }))
            };
            let costs = |symmetry: &Symmetry| {
                let space = Space {
                    cuts,
                    used,
                    symmetry,
                    max_stages,
                    memory_limits: vec![Bytes::new(limit)],
                    most_labels,
                    longest: Nanoseconds::new(100),
                    announce: &|_| (),
                    offers: &table,
                };
                let fronts = search(&space, &|| false);
                let mut costs: Vec<_> = fronts
                    .found
                    .iter()
                    .map(|found| {
                        let Cost { latency, bottleneck, energy, .. } = found.cost;
                        (latency, bottleneck, energy)
                    })
                    .collect();
                costs.sort_unstable();
                (costs, fronts.share)
            };
            prop_assert_eq!(costs(&symmetry), costs(&Symmetry::NONE));
        }
    }

    #[test]
    fn interchangeable_processors_are_asked_for_once() {
        let used = ProcessorSet::first(3);
        let asked = |symmetry: &Symmetry| {
            let count = std::cell::Cell::new(0);
            let table = |asked| Arc::new(answers(7, 6, asked));
            let space = Space {
                cuts: 6,
                used,
                symmetry,
                max_stages: 3,
                memory_limits: Vec::new(),
                most_labels: usize::MAX,
                longest: Nanoseconds::MAX,
                announce: &|asked| {
                    count.set(count.get() + usize::from(asked[0].start == 0) * asked.len());
                },
                offers: &table,
            };
            search(&space, &|| false);
            count.get()
        };
        assert_eq!(asked(&Symmetry::NONE), 7);
        assert_eq!(asked(&Symmetry::new(3, |_, _| true)), 3);
    }

    #[test]
    fn followed_back_stages_cost_what_the_label_says() {
        let used = ProcessorSet::first(3);
        let table = |asked| Arc::new(answers(7, 6, asked));
        let space = Space {
            cuts: 6,
            used,
            symmetry: &Symmetry::NONE,
            max_stages: 3,
            memory_limits: Vec::new(),
            most_labels: usize::MAX,
            longest: Nanoseconds::MAX,
            announce: &|_| (),
            offers: &table,
        };
        let found = search(&space, &|| false).found;
        assert!(!found.is_empty());
        for pipeline in found {
            let latency: Nanoseconds = pipeline
                .stages
                .iter()
                .enumerate()
                .map(|(index, stage)| {
                    let asked = Asked {
                        start: stage.start,
                        entry: stage.entry,
                        processors: stage.processors,
                        is_last: index + 1 == pipeline.stages.len(),
                    };
                    table(asked)[stage.offer].time_alone
                })
                .sum();
            assert_eq!(latency, pipeline.cost.latency);
            let sets = pipeline
                .stages
                .iter()
                .fold(ProcessorSet::EMPTY, |set, stage| {
                    set.union(stage.processors)
                });
            assert_eq!(sets, used);
        }
    }
}
