//! How long the pipeline search takes on a chain of 50 segments: every cut, every set of processors, every final set.
//!
//! The stages are made up, so that the search alone is measured: what mapping them costs is for the other benchmarks.
//! Nothing here asserts.

use std::sync::Arc;

use divan::Bencher;
use paracompile::arena::Id;
use paracompile::pipeline::{Asked, Fronts, Offer, Space, search};
use paracompile::soc::{ProcessorSet, Symmetry};
use paracompile_plan::{Milliwatts, Nanojoules, Nanoseconds};

const SEGMENTS: usize = 50;

#[expect(clippy::print_stdout, reason = "a benchmark reports to people")]
fn main() {
    if std::env::args().any(|argument| argument == "--bench") {
        for (processors, figures) in CASES {
            let fronts = fronts(&Chain::new(processors, figures));
            let found: usize = fronts.iter().map(|fronts| fronts.found.len()).sum();
            println!(
                "{SEGMENTS} segments, {processors} processors, {figures:?}: {found} pipelines"
            );
        }
    }
    divan::main();
}

/// What the front is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figures {
    Time,
    TimeAndEnergy,
}

const CASES: [(usize, Figures); 4] = [
    (3, Figures::Time),
    (3, Figures::TimeAndEnergy),
    (4, Figures::TimeAndEnergy),
    (6, Figures::Time),
];

/// A chain whose segments each have a processor that suits them, and run faster on several together.
struct Chain {
    processors: usize,
    /// All stages, by first segment and processors.
    stages: Vec<Vec<Arc<Vec<Offer>>>>,
}

impl Chain {
    fn new(processors: usize, figures: Figures) -> Self {
        let mut state = 50_u64;
        // A linear congruential generator with the constants of Knuth's MMIX.
        let mut below = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        let times: Vec<Vec<u64>> = (0..SEGMENTS)
            .map(|_| {
                let work = 100_000 + below(900_000);
                (0..processors)
                    .map(|_| work + work * below(3000) / 1000)
                    .collect()
            })
            .collect();
        let all = ProcessorSet::first(processors);
        let offers = |start: usize, set: ProcessorSet| {
            let (mut time, mut energy) = (0, 0);
            let ends = start + 1..=SEGMENTS;
            let offer = |end: usize| {
                let of = |p: usize| times[end - 1][p];
                let members = || set.iter().map(Id::index);
                // As fast as all together, but that each further one costs a fifth more.
                let rate: u64 = members().map(|p| 1_000_000_000_000 / of(p)).sum();
                let taken = 1_000_000_000_000 / rate * (4 + set.len() as u64) / 5;
                time += taken;
                energy += taken * members().map(|p| p as u64 + 1).sum::<u64>() / 1000;
                Offer {
                    end,
                    exit: if end == SEGMENTS {
                        0
                    } else {
                        usize::from(set.bits() & 1 == 0)
                    },
                    time_alone: Nanoseconds::new(time),
                    time: Nanoseconds::new(time + time / 20 * (all.len() - set.len()) as u64),
                    energy: Nanojoules::new(match figures {
                        Figures::Time => 0,
                        Figures::TimeAndEnergy => energy,
                    }),
                    power: Milliwatts::ZERO,
                    memory: Vec::new(),
                }
            };
            Arc::new(ends.map(offer).collect::<Vec<Offer>>())
        };
        Self {
            processors,
            stages: (0..SEGMENTS)
                .map(|start| {
                    std::iter::once(Arc::default())
                        .chain(all.subsets().map(|set| offers(start, set)))
                        .collect()
                })
                .collect(),
        }
    }

    fn offers(&self, asked: Asked) -> Arc<Vec<Offer>> {
        Arc::clone(&self.stages[asked.start][usize::from(asked.processors.bits())])
    }
}

/// The front of each final set, one after another on one thread.
fn fronts(chain: &Chain) -> Vec<Fronts> {
    let on_exactly = |used: ProcessorSet| {
        let space = Space {
            cuts: SEGMENTS + 1,
            used,
            symmetry: &Symmetry::NONE,
            max_stages: chain.processors,
            memory_limits: Vec::new(),
            most_labels: usize::MAX,
            longest: Nanoseconds::ZERO,
            announce: &|_| {},
            offers: &|asked| chain.offers(asked),
        };
        search(&space, &|| false)
    };
    ProcessorSet::first(chain.processors)
        .subsets()
        .map(on_exactly)
        .collect()
}

#[divan::bench(args = CASES, sample_count = 3, sample_size = 1)]
fn front(bencher: Bencher<'_, '_>, (processors, figures): (usize, Figures)) {
    let chain = Chain::new(processors, figures);
    bencher.bench_local(|| fronts(&chain));
}
