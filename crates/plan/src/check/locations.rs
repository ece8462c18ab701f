//! Locations of a plan, by rank: the distinct homes of its processors in order, then that of network inputs and outputs.

use crate::plan::{Layout, Plan};

pub(super) struct Locations<'a> {
    all: Vec<(&'a str, Layout)>,
    of_processor: Vec<usize>,
    /// Where network inputs start and outputs end.
    pub(super) io: usize,
}

impl<'a> Locations<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let mut all = Vec::new();
        let of_processor = (plan.processors.iter())
            .map(|processor| rank(&mut all, (processor.memory.as_str(), processor.layout)))
            .collect();
        let io = rank(&mut all, (plan.soc.io.as_str(), Layout::Any));
        Self {
            all,
            of_processor,
            io,
        }
    }

    pub(super) fn of(&self, processor: usize) -> usize {
        self.of_processor[processor]
    }

    pub(super) fn memory(&self, location: usize) -> &'a str {
        self.all[location].0
    }

    pub(super) fn layout(&self, location: usize) -> Layout {
        self.all[location].1
    }

    /// Whether a tensor at one location can be read at the other as it is.
    pub(super) fn fit(&self, one: usize, other: usize) -> bool {
        self.memory(one) == self.memory(other) && self.layout(one).fits(self.layout(other))
    }
}

fn rank<'a>(all: &mut Vec<(&'a str, Layout)>, location: (&'a str, Layout)) -> usize {
    all.iter()
        .position(|&known| known == location)
        .unwrap_or_else(|| {
            all.push(location);
            all.len() - 1
        })
}
