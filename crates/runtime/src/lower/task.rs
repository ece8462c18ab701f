//! Fused operators as one sequence of launches: what stays between them is scratch space.
//!
//! Pointwise operators behind a product or a convolution become its epilogue; whatever cannot is a launch of its own behind it.

use paracompile_frontend::ir::DataType;

use super::anchor::{Anchor, anchor};
use super::epilogue::{Along, Epilogue, Other, literal};
use super::expression::{binary, unary};
use super::{Argument, Lowered, Operand, Site, Spec, Target, Unsupported, registry};

/// Operators that run one after another, and how they are wired.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    /// In topological order; the first is the anchor.
    pub sites: Vec<Site<'a>>,
    /// For every site and operand, where it comes from; `None` where one is left out.
    pub operands: Vec<Vec<Option<Wire>>>,
    /// For every site and result, its position among the results of the task; `None` where nothing outside reads it.
    pub results: Vec<Vec<Option<usize>>>,
}

/// Where an operand of a fused operator comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// An operand of the task, by position.
    Outside(usize),
    /// A result of an earlier operator of the task.
    Inside {
        /// Which operator.
        site: usize,
        /// Which of its results.
        result: usize,
    },
}

/// Lowers a task; [`Argument::Operand`] and [`Argument::Result`] of what it returns are positions of the task.
pub fn lower_task(task: &Task<'_>, target: &Target) -> Result<Lowered, Unsupported> {
    let mut lowering = Lowering {
        task,
        target,
        lowered: Lowered::default(),
        places: task
            .sites
            .iter()
            .map(|site| vec![None; site.results.len()])
            .collect(),
        is_done: vec![false; task.sites.len()],
    };
    for index in 0..task.sites.len() {
        if !lowering.is_done[index] {
            lowering.lower(index)?;
        }
    }
    Ok(lowering.lowered)
}

struct Lowering<'t, 'a> {
    task: &'t Task<'a>,
    target: &'t Target,
    lowered: Lowered,
    /// Where the results of each operator lie, once it is lowered.
    places: Vec<Vec<Option<Argument>>>,
    is_done: Vec<bool>,
}

impl<'a> Lowering<'_, 'a> {
    fn lower(&mut self, index: usize) -> Result<(), Unsupported> {
        let site = self.site(index);
        let mut operands: Vec<Option<Argument>> = (0..site.operands.len())
            .map(|position| self.place(index, position))
            .collect();
        let (own, last) = match anchor(&site) {
            None => (registry::lower(&site, self.target)?, index),
            Some(anchor) => {
                let (epilogue, last) = self.epilogue(index, &anchor, &mut operands);
                ((anchor.lower)(&site, &epilogue, self.target)?, last)
            }
        };
        self.is_done[index] = true;
        self.take_places(last);
        let results = self.places[last].clone();
        self.append(own, &operands, &results);
        Ok(())
    }

    /// The operator, with operands that other operators of the task write marked as such.
    fn site(&self, index: usize) -> Site<'a> {
        let mut site = self.task.sites[index].clone();
        for (operand, wire) in site.operands.iter_mut().zip(&self.task.operands[index]) {
            if let (Some(operand), Some(Wire::Inside { .. })) = (operand, wire) {
                operand.is_constant = false;
            }
        }
        site
    }

    /// Where an operand lies; `None` if it is left out or not written yet.
    fn place(&self, index: usize, position: usize) -> Option<Argument> {
        match self.task.operands[index].get(position).copied().flatten()? {
            Wire::Outside(outside) => Some(Argument::Operand(outside)),
            Wire::Inside { site, result } => self.places[site].get(result)?.clone(),
        }
    }

    /// The pointwise operators behind an anchor that are done in its kernel, and the last of them.
    fn epilogue(
        &mut self,
        index: usize,
        anchor: &Anchor,
        operands: &mut Vec<Option<Argument>>,
    ) -> (Epilogue, usize) {
        let mut epilogue = Epilogue::default();
        let mut last = index;
        while let Some((next, position)) = self.only_reader(last) {
            let site = self.site(next);
            if !has_result_of(&site, &self.task.sites[last]) {
                break;
            }
            if !self.push(&mut epilogue, &site, (next, position), anchor, operands) {
                break;
            }
            self.is_done[next] = true;
            last = next;
        }
        (epilogue, last)
    }

    /// The only operand, in and outside the task, that reads the first result of an operator.
    fn only_reader(&self, index: usize) -> Option<(usize, usize)> {
        if self.task.results[index].iter().any(Option::is_some) {
            return None;
        }
        let own = Some(Wire::Inside {
            site: index,
            result: 0,
        });
        let mut readers = self
            .task
            .operands
            .iter()
            .enumerate()
            .flat_map(|(site, wires)| {
                let positions = wires.iter().enumerate();
                positions
                    .filter(|&(_, wire)| *wire == own)
                    .map(move |(position, _)| (site, position))
            });
        let reader = readers.next()?;
        readers.next().is_none().then_some(reader)
    }

    /// Adds an operator to an epilogue; `false` if it cannot be there.
    fn push(
        &self,
        epilogue: &mut Epilogue,
        site: &Site<'_>,
        (index, position): (usize, usize),
        anchor: &Anchor,
        operands: &mut Vec<Option<Argument>>,
    ) -> bool {
        if position == 0
            && let Some(text) = unary(site)
        {
            epilogue.push_unary(text);
            return true;
        }
        let Some(text) = binary(site).filter(|_| site.operands.len() == 2) else {
            return false;
        };
        let Some(other) = site.optional(1 - position) else {
            return false;
        };
        if other.spec.dtype != DataType::Float {
            return false;
        }
        let is_second = position == 1;
        if let Some(value) = literal(other) {
            epilogue.push_binary(text, is_second, Other::Literal(value));
            return true;
        }
        let (Some(along), Some(place)) =
            (along(site, other, anchor), self.place(index, 1 - position))
        else {
            return false;
        };
        if !epilogue.has_room(anchor.tensors) {
            return false;
        }
        let argument = Argument::Operand(operands.len());
        operands.push(Some(place));
        epilogue.push_binary(text, is_second, Other::Tensor { argument, along });
        true
    }

    /// Says where the results of an operator lie: outside, or in scratch space.
    fn take_places(&mut self, index: usize) {
        for (position, result) in self.task.sites[index].results.iter().enumerate() {
            let outside = self.task.results[index].get(position).copied().flatten();
            let place = match (outside, result) {
                (Some(outside), _) => Some(Argument::Result(outside)),
                (None, Some(spec)) => Some(self.lowered.add_scratch(spec.bytes())),
                (None, None) => None,
            };
            self.places[index][position] = place;
        }
    }

    /// Adds the launches of an operator, with the positions of its arguments made those of the task.
    fn append(
        &mut self,
        own: Lowered,
        operands: &[Option<Argument>],
        results: &[Option<Argument>],
    ) {
        let (scratch, tables) = (self.lowered.scratch.len(), self.lowered.tables.len());
        let place = |places: &[Option<Argument>], position: usize| {
            let place = places[position].clone();
            place.expect("lowering names operands and results that are there")
        };
        for mut step in own.steps {
            for argument in &mut step.arguments {
                let moved = match argument {
                    Argument::Operand(position) => place(operands, *position),
                    Argument::Result(position) => place(results, *position),
                    Argument::Scratch(index) => Argument::Scratch(scratch + *index),
                    Argument::Table(index) => Argument::Table(tables + *index),
                    Argument::Int(_)
                    | Argument::Long(_)
                    | Argument::Float(_)
                    | Argument::Double(_)
                    | Argument::Local(_) => continue,
                };
                *argument = moved;
            }
            self.lowered.steps.push(step);
        }
        self.lowered.scratch.extend(own.scratch);
        self.lowered.tables.extend(own.tables);
    }
}

fn along(site: &Site<'_>, other: &Operand<'_>, anchor: &Anchor) -> Option<Along> {
    let along = Along::of(&other.spec, site.result().ok()?)?;
    match along {
        Along::Axis(axis) => anchor.axes.contains(&axis).then_some(along),
        Along::Same | Along::One => Some(along),
    }
}

/// Whether an operator's only result has the shape and type of another's.
fn has_result_of(site: &Site<'_>, other: &Site<'_>) -> bool {
    let only = |site: &Site<'_>| -> Option<Spec> {
        let results: Vec<&Spec> = site.results.iter().flatten().collect();
        match results.as_slice() {
            &[spec] => Some(spec.clone()),
            _ => None,
        }
    };
    only(site).is_some_and(|spec| spec.dtype == DataType::Float && Some(spec) == only(other))
}
