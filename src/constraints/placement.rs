//! Operators pinned to a processor or kept away from one, and what is left for each task.
//!
//! A task is a fused group (rule M12), so what holds for one of its members holds for all of them.

use std::fmt;

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::ir::{OpId, VerifiedGraph};
use paracompile_frontend::soc::{ProcessorId, ProcessorSet, Soc};
use paracompile_plan::plan::Constraint;

use super::select::{Unselected, select};
use crate::partition::{FusedGraph, FusedOp, FusedOpId};

/// Which way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlacementKind {
    /// On this processor and no other.
    Pin,
    /// On any other processor.
    Forbid,
}

impl PlacementKind {
    /// The option of the command line.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Pin => "--pin",
            Self::Forbid => "--forbid",
        }
    }
}

/// One `--pin` or `--forbid`, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementRule {
    /// Which way round.
    pub kind: PlacementKind,
    /// `OP=PROCESSOR`, as typed.
    pub text: String,
    /// Where, or where not.
    pub processor: ProcessorId,
    /// The operators that it names, ascending; none of them is free.
    pub ops: Vec<OpId>,
}

/// A placement that means nothing for this network and chip: the user's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} `{text}`: {fault}", .kind.flag())]
pub struct PlacementError {
    /// Which option.
    pub kind: PlacementKind,
    /// What was typed.
    pub text: String,
    /// What is wrong with it.
    pub fault: PlacementFault,
}

/// What can be wrong with a placement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementFault {
    /// No `=`, or nothing on one side of it.
    #[error("expected OP=PROCESSOR")]
    Malformed,
    /// No processor of this name is in use.
    #[error("no processor is called `{name}`; there are {}", .known.join(", "))]
    UnknownProcessor {
        /// The name.
        name: String,
        /// Those in use.
        known: Vec<String>,
    },
    /// It names no operator that runs.
    #[error(transparent)]
    Operator(Unselected),
}

impl PlacementRule {
    /// Reads `OP=PROCESSOR`, split at the last `=`, as names of operators may contain some.
    pub fn parse(
        kind: PlacementKind,
        text: &str,
        graph: &VerifiedGraph,
        soc: &Soc,
    ) -> Result<Self, PlacementError> {
        let failed = |fault| PlacementError {
            kind,
            text: text.to_owned(),
            fault,
        };
        let (operator, name) = text
            .rsplit_once('=')
            .map(|(operator, name)| (operator.trim(), name.trim()))
            .filter(|(operator, name)| !operator.is_empty() && !name.is_empty())
            .ok_or_else(|| failed(PlacementFault::Malformed))?;
        let processor = soc.processor(name).ok_or_else(|| {
            let known = soc.processors.iter();
            failed(PlacementFault::UnknownProcessor {
                name: name.to_owned(),
                known: known.map(|(_, known)| known.name.clone()).collect(),
            })
        })?;
        let ops = select(graph, operator)
            .map_err(|unselected| failed(PlacementFault::Operator(unselected)))?;
        Ok(Self {
            kind,
            text: text.to_owned(),
            processor,
            ops,
        })
    }

    /// What of `set` it leaves.
    pub fn leaves(&self, set: ProcessorSet) -> ProcessorSet {
        let own = ProcessorSet::only(self.processor);
        match self.kind {
            PlacementKind::Pin if set.contains(self.processor) => own,
            PlacementKind::Pin => ProcessorSet::EMPTY,
            PlacementKind::Forbid => set.without(own),
        }
    }

    /// Whether it says something about a task.
    pub fn concerns(&self, op: &FusedOp) -> bool {
        op.members
            .iter()
            .any(|member| self.ops.binary_search(member).is_ok())
    }

    /// As plan files have it.
    pub fn recorded(&self, graph: &VerifiedGraph, soc: &Soc) -> Constraint {
        let asked = self.text.clone();
        let processor = soc.processors[self.processor].name.clone();
        let operators = self.ops.iter();
        let operators = operators
            .map(|&op| graph.ops[op].at.output.clone())
            .collect();
        match self.kind {
            PlacementKind::Pin => Constraint::Pin {
                asked,
                processor,
                operators,
            },
            PlacementKind::Forbid => Constraint::Forbid {
                asked,
                processor,
                operators,
            },
        }
    }
}

impl fmt::Display for PlacementRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.flag(), self.text)
    }
}

/// Where each task may run: what supports it, less what the rules take away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eligibility {
    sets: Vec<ProcessorSet>,
}

impl Eligibility {
    /// Whether a task may run on a processor, as far as the rules go.
    pub fn allows(&self, op: FusedOpId, processor: ProcessorId) -> bool {
        self.sets[op.index()].contains(processor)
    }
}

/// A task that the rules leave no processor: a smallest set of rules that does so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranded {
    /// Names of its members, the anchor first.
    pub members: Vec<String>,
    /// Processors that support it.
    pub supported: Vec<String>,
    /// The rules, as indices of those given.
    pub rules: Vec<usize>,
    /// The same as typed, with their options.
    pub texts: Vec<String>,
}

impl fmt::Display for Stranded {
    /// `conv1` with `relu1` (one task), supported by big, gpu: --pin conv1=big contradicts --pin relu1=gpu
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (anchor, others) = self.members.split_first().expect("a task has its anchor");
        write!(f, "`{anchor}`")?;
        if !others.is_empty() {
            write!(f, " with `{}` (one task)", others.join("`, `"))?;
        }
        write!(f, ", supported by {}: ", self.supported.join(", "))?;
        match self.texts.as_slice() {
            [one] => write!(f, "{one}"),
            [one, other] => write!(f, "{one} contradicts {other}"),
            all => f.write_str(&all.join(" and ")),
        }
    }
}

/// What `rules` leave for each task; or all tasks for which they leave nothing.
pub fn eligible(
    rules: &[&PlacementRule],
    graph: &VerifiedGraph,
    fused: &FusedGraph,
    table: &CostTable,
) -> Result<Eligibility, Vec<Stranded>> {
    let mut of_op: Vec<Vec<usize>> = vec![Vec::new(); graph.ops.len()];
    for (index, rule) in rules.iter().enumerate() {
        for op in &rule.ops {
            of_op[op.index()].push(index);
        }
    }
    let mut stranded = Vec::new();
    let mut sets = Vec::new();
    for (_, op) in fused.ops.iter() {
        let processors = table.soc.processors.ids();
        let supported: ProcessorSet = processors
            .filter(|&processor| table.group(&op.members, processor).is_some())
            .collect();
        let mut concerned: Vec<usize> = op
            .members
            .iter()
            .flat_map(|member| &of_op[member.index()])
            .copied()
            .collect();
        concerned.sort_unstable();
        concerned.dedup();
        let left = concerned
            .iter()
            .fold(supported, |set, &rule| rules[rule].leaves(set));
        if left.is_empty() && !supported.is_empty() {
            let smallest = smallest(rules, &concerned, supported);
            stranded.push(Stranded {
                members: op
                    .members
                    .iter()
                    .map(|&member| graph.ops[member].name.clone())
                    .collect(),
                supported: supported
                    .iter()
                    .map(|processor| table.soc.processors[processor].name.clone())
                    .collect(),
                texts: smallest
                    .iter()
                    .map(|&rule| rules[rule].to_string())
                    .collect(),
                rules: smallest,
            });
        }
        sets.push(left);
    }
    if stranded.is_empty() {
        Ok(Eligibility { sets })
    } else {
        Err(stranded)
    }
}

/// A smallest set of rules that leaves nothing of `supported`: one pin, two of any kind, or one ban for each processor.
fn smallest(rules: &[&PlacementRule], concerned: &[usize], supported: ProcessorSet) -> Vec<usize> {
    let of_kind = |kind| {
        concerned
            .iter()
            .copied()
            .filter(move |&rule| rules[rule].kind == kind)
    };
    let leaves = |chosen: &[usize]| {
        chosen
            .iter()
            .fold(supported, |set, &rule| rules[rule].leaves(set))
    };
    if let Some(&alone) = concerned.iter().find(|&&rule| leaves(&[rule]).is_empty()) {
        return vec![alone];
    }
    for pin in of_kind(PlacementKind::Pin) {
        let other = concerned
            .iter()
            .find(|&&other| leaves(&[pin, other]).is_empty());
        if let Some(&other) = other {
            let mut pair = vec![pin, other];
            pair.sort_unstable();
            return pair;
        }
    }
    // Without pins, every processor has to be taken away by a rule of its own.
    let mut left = supported;
    of_kind(PlacementKind::Forbid)
        .filter(|&rule| {
            let before = left;
            left = rules[rule].leaves(left);
            left != before
        })
        .collect()
}
