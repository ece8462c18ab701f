//! What a compile run is asked.

use paracompile_frontend::cost::PointTables;
use paracompile_plan::Nanoseconds;
use paracompile_plan::front::EnergyAxis;

use crate::cluster::{Clusters, Configuration};
use crate::constraints::Constraints;
use crate::emit::{Goal, Tasks};
use crate::mapping::decompose::Known;
use crate::mapping::{Budget, Effort, Granularity};
use crate::partition::CutRule;

/// What to search for, and how hard.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Which plan of the front to recommend; changes nothing else.
    pub goal: Goal,
    /// How finely operators are mapped inside a stage.
    pub granularity: Granularity,
    /// Where to cut besides gates.
    pub cuts: CutRule,
    /// The largest number of stages; `None` is as many as there are processors.
    pub max_stages: Option<usize>,
    /// A stage mapping whose gap is at most this, in millionths, is good enough, and so is a plan of stages: neither is improved, nor its bound raised.
    pub gap_millionths: u32,
    /// Counted work where no proof is reached.
    pub effort: Effort,
    /// Whether mappings are chosen by time alone, or for every trade-off of time and energy.
    pub energy: EnergyAxis,
    /// Costs at all operating points, where they are part of the choice.
    pub points: Option<Points<'a>>,
    /// The numbers of compute queues that each processor of the chip may have, ascending (rule M10); a processor beyond the list has one.
    pub queues: &'a [Vec<usize>],
    /// The tasks of a kernel graph, where they are not single kernels because nobody asked for anything else.
    pub tasks: Option<&'a Tasks>,
    /// The clustering that a kernel graph's specification asks for; a baseline where it is there.
    pub clustering: Option<Clustering<'a>>,
    /// When to stop; without a limit the result is a function of the other inputs.
    pub budget: Budget<'a>,
    /// What every plan must meet.
    pub constraints: &'a Constraints,
    /// Called at the start of each step.
    pub progress: Progress<'a>,
}

/// A clustering that somebody else has chosen.
#[derive(Clone, Copy, Debug)]
pub struct Clustering<'a> {
    /// The components of the graph, with the run's own costs.
    pub clusters: &'a Clusters<'a>,
    /// Their devices, and the queues of these.
    pub configuration: &'a Configuration,
}

/// Operating points as part of the choice.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// Costs at all of them.
    pub tables: &'a PointTables,
    /// Processors that stay at the point of the cost table.
    pub fixed: &'a [bool],
}

/// Told what is being done.
#[derive(Clone, Copy)]
pub struct Progress<'a>(pub &'a (dyn Fn(&str) + Sync));

impl Progress<'_> {
    /// So many blocks of so many are solved.
    pub(super) fn blocks(self, done: usize, count: usize, known: Option<Known>) {
        // Nobody reads more than a few hundred numbers.
        if !done.is_multiple_of(count.div_ceil(200).max(1)) {
            return;
        }
        self.known(&format!("blocks {done}/{count}"), "one frame", known);
    }

    /// A step, with what is known of a time: short enough for a line of a terminal.
    pub fn known(self, step: &str, what: &str, known: Option<Known>) {
        match known {
            None => (self.0)(step),
            Some(Known { value, bound }) => (self.0)(&format!(
                "{step}; {what} {value}, bound {bound}, gap {:.2}%",
                gap(value, bound) * 100.0
            )),
        }
    }
}

fn gap(value: Nanoseconds, bound: Nanoseconds) -> f64 {
    if value <= bound {
        return 0.0;
    }
    1.0 - bound.to_seconds() / value.to_seconds()
}

impl std::fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Progress")
    }
}
