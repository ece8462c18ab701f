//! Groupings of the kernels of a graph among which a granularity is chosen, each with the rules that lead to it.
//!
//! They are the fixed levels, and what [`fuse_small`] makes of each level but the coarsest for several multiples of the dispatch overhead
//! and several numbers of lanes: where a device does not pay, fewer lanes than devices are better.

use std::fmt;

use super::adaptive::{Grain, fuse_small};
use super::level::{Level, level_groups};
use crate::import::kernels::{KernelGraph, KernelId};

/// Multiples of the dispatch overhead up to which tasks are fused.
///
/// `StarPU`'s handbook calls tasks of 10 µs too small and 1 to 10 ms good: with overheads of 10 to 100 µs these span that range.
const FACTORS: [u32; 4] = [2, 8, 32, 128];

/// How a grouping came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A fixed level.
    Level(Level),
    /// Small tasks were fused.
    Adaptive {
        /// The level that it began with.
        from: Level,
        /// Up to so many times the dispatch overhead.
        factor: u32,
        /// While more than so many tasks were ready together.
        lanes: usize,
    },
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level(level) => f.write_str(level.name()),
            Self::Adaptive {
                from,
                factor,
                lanes,
            } => write!(f, "{} x{factor} /{lanes}", from.name()),
        }
    }
}

/// A grouping, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouped {
    /// Its kernels, by task.
    pub groups: Vec<Vec<KernelId>>,
    /// All rules that lead to it, levels first.
    pub rules: Vec<Rule>,
}

/// Groupings without repetition, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    found: Vec<Grouped>,
}

impl Candidates {
    /// Adds a grouping by a fixed level.
    pub fn add_level(&mut self, graph: &KernelGraph, level: Level) {
        self.add(level_groups(graph, level), Rule::Level(level));
    }

    /// Adds what becomes of small tasks.
    ///
    /// `times` are nanoseconds of each kernel, then of each device; `dispatch` those between two tasks, by device.
    pub fn add_adaptive(&mut self, graph: &KernelGraph, times: &[Vec<i64>], dispatch: &[i64]) {
        for from in [Level::Operator, Level::Branch, Level::Segment] {
            let groups = level_groups(graph, from);
            for factor in FACTORS {
                for lanes in 1..=dispatch.len() {
                    let grain = Grain {
                        times,
                        dispatch,
                        factor,
                        lanes,
                    };
                    let rule = Rule::Adaptive {
                        from,
                        factor,
                        lanes,
                    };
                    self.add(fuse_small(graph, &groups, grain), rule);
                }
            }
        }
    }

    /// All of them.
    pub fn into_list(self) -> Vec<Grouped> {
        self.found
    }

    fn add(&mut self, groups: Vec<Vec<KernelId>>, rule: Rule) {
        match self.found.iter_mut().find(|known| known.groups == groups) {
            Some(known) => known.rules.push(rule),
            None => self.found.push(Grouped {
                groups,
                rules: vec![rule],
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::level::tests::graph;
    use super::*;

    #[test]
    fn a_grouping_that_several_rules_lead_to_is_one_candidate() {
        // A chain of small kernels: all levels but the finest are one task, and so is what is fused.
        let chain = graph(&[&[], &[0], &[1]]);
        let mut candidates = Candidates::default();
        for level in Level::ALL {
            candidates.add_level(&chain, level);
        }
        candidates.add_adaptive(&chain, &vec![vec![1]; 3], &[10]);
        let found = candidates.into_list();
        let names = |one: &Grouped| one.rules.iter().map(Rule::to_string).collect::<Vec<_>>();
        assert_eq!(found.len(), 2);
        assert_eq!(names(&found[0]), ["operator"]);
        assert_eq!(
            names(&found[1])[..4],
            ["branch", "segment", "stage", "operator x2 /1"]
        );
    }
}
