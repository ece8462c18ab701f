//! Launches, edges and dependencies become a graph in topological order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::digest::digest;
use super::error::{Defect, KernelsError, Problems, shown};
use super::evaluate::{Evaluated, Scope, evaluate};
use super::graph::{Access, Argument, Buffer, Kernel, KernelGraph, KernelId, Origin, SourceFile};
use super::library::Library;
use super::limits;
use super::specification::{Described, Description, Direction, Specification, SpecifiedEdge};
use crate::arena::{Arena, Id};

/// A kernel graph, and the bound symbols that it needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Linked {
    /// The graph.
    pub graph: KernelGraph,
    /// Symbols that the user bound, as far as an expression needed them.
    pub dims: BTreeMap<String, u64>,
}

/// Evaluates and links a specification.
pub(super) fn link(
    specification: &Specification,
    asked: &BTreeMap<String, u64>,
    library: &Library<'_>,
    mut problems: Problems,
) -> Result<Linked, KernelsError> {
    let scope = Scope::new(specification, asked, &mut problems);
    let launches = &specification.launches;
    if launches.is_empty() && problems.is_empty() {
        problems.push("the file", Defect::Empty);
    }
    if !is_countable(specification, &mut problems) {
        return Err(problems.into_error());
    }
    let mut index_of = BTreeMap::new();
    for (index, launch) in launches.iter().enumerate() {
        if index_of.insert(launch.name.as_str(), index).is_some() {
            let place = format!("kernel {}", launch.name);
            problems.push(place, Defect::DuplicateId(launch.name.clone()));
        }
    }
    let mut evaluated: Vec<Option<Evaluated>> = launches
        .iter()
        .map(|launch| {
            let description = &specification.descriptions[launch.description?];
            evaluate(launch, description, &scope, &mut problems)
        })
        .collect();
    let mut linker = Linker {
        specification,
        index_of,
        problems,
    };
    let ends = linker.edges(&evaluated);
    linker.initials(&mut evaluated, &ends);
    let parents = linker.parents(&ends);
    let order = linker.order(&parents);
    let mut problems = linker.problems;
    if problems.is_empty() {
        for name in scope.unused() {
            problems.push(
                format!("--dim {}", shown(&name)),
                Defect::UnusedSymbol(shown(&name)),
            );
        }
    }
    if !problems.is_empty() {
        return Err(problems.into_error());
    }
    let order = order.expect("an order without a problem is complete");
    Ok(Linked {
        graph: assemble(specification, evaluated, &ends, &parents, &order, library),
        dims: scope.bound(),
    })
}

/// Few descriptions launched often could be more arguments than memory holds.
fn is_countable(specification: &Specification, problems: &mut Problems) -> bool {
    let counts = specification.launches.iter().map(|launch| {
        launch
            .description
            .map_or(0, |index| specification.descriptions[index].arguments.len())
    });
    let found: usize = counts.sum();
    if found > limits::ALL_ARGUMENTS {
        let most = limits::ALL_ARGUMENTS;
        problems.push("all arguments together", Defect::TooMany { found, most });
    }
    found <= limits::ALL_ARGUMENTS
}

/// An edge with launches and positions as indices.
#[derive(Clone, Copy, Debug)]
struct Ends {
    from: (usize, usize),
    to: (usize, usize),
}

struct Linker<'a> {
    specification: &'a Specification,
    index_of: BTreeMap<&'a str, usize>,
    problems: Problems,
}

impl<'a> Linker<'a> {
    fn description(&self, launch: usize) -> Option<&'a Description> {
        let index = self.specification.launches[launch].description?;
        Some(&self.specification.descriptions[index])
    }

    /// The edges that lead from a written buffer to a read one of the same type and size, one a reader.
    fn edges(&mut self, evaluated: &[Option<Evaluated>]) -> Vec<Ends> {
        let mut writer_of: BTreeMap<(usize, usize), (usize, usize)> = BTreeMap::new();
        let mut edges = Vec::new();
        for edge in &self.specification.edges {
            let ends = (self.end(edge, &edge.from), self.end(edge, &edge.to));
            let (Some(from), Some(to)) = ends else {
                continue;
            };
            let buffers = (
                self.buffer(edge, from, evaluated, "a buffer that is written"),
                self.buffer(edge, to, evaluated, "a buffer that is read"),
            );
            let (Some(one), Some(other)) = buffers else {
                continue;
            };
            if (one.element, one.elements) != (other.element, other.elements) {
                let size = |buffer: &Buffer| format!("{} of {}", buffer.elements, buffer.element);
                let defect = Defect::Edge {
                    from: self.argument(from),
                    from_size: size(&one),
                    to: self.argument(to),
                    to_size: size(&other),
                };
                self.problems.push(edge.place.clone(), defect);
                continue;
            }
            if let Some(&before) = writer_of.get(&to) {
                let defect = Defect::TwoWriters {
                    argument: self.argument(to),
                    one: self.argument(before),
                    other: self.argument(from),
                };
                self.problems.push(edge.place.clone(), defect);
                continue;
            }
            writer_of.insert(to, from);
            edges.push(Ends { from, to });
        }
        edges
    }

    /// The launch and the position that an end names, as far as they are known; what is not there is a problem.
    fn end(
        &mut self,
        edge: &SpecifiedEdge,
        (kernel, argument): &(String, String),
    ) -> Option<(usize, usize)> {
        let Some(&launch) = self.index_of.get(kernel.as_str()) else {
            self.problems
                .push(edge.place.clone(), Defect::UnknownKernel(shown(kernel)));
            return None;
        };
        // Problems of the description are told already.
        let position = self.description(launch)?.position(argument);
        if position.is_none() {
            let (kernel, argument) = (shown(kernel), shown(argument));
            self.problems.push(
                edge.place.clone(),
                Defect::UnknownArgument { kernel, argument },
            );
        }
        position.map(|position| (launch, position))
    }

    /// The buffer at an end, if it is one that an edge can end at.
    fn buffer(
        &mut self,
        edge: &SpecifiedEdge,
        (launch, position): (usize, usize),
        evaluated: &[Option<Evaluated>],
        expected: &'static str,
    ) -> Option<Buffer> {
        let argument = &evaluated[launch].as_ref()?.arguments[position];
        let is_source = expected == "a buffer that is written";
        let found = match argument {
            Argument::Buffer(buffer) => match &buffer.access {
                Access::In(_) if is_source => "read alone",
                Access::Out if !is_source => "written alone",
                Access::In(_) | Access::Out | Access::InOut(_) => return Some(buffer.clone()),
            },
            Argument::Scalar(_) => "a value",
            Argument::Local { .. } => "local memory",
        };
        let kernel = self.specification.launches[launch].name.clone();
        let argument = position.to_string();
        let expected = if is_source {
            "an edge starts at a buffer that is written"
        } else {
            "an edge ends at a buffer that is read"
        };
        self.problems.push(
            edge.place.clone(),
            Defect::Role {
                kernel,
                argument,
                found,
                expected,
            },
        );
        None
    }

    /// Puts initial contents where the host writes, and nowhere else.
    fn initials(&mut self, evaluated: &mut [Option<Evaluated>], edges: &[Ends]) {
        let computed: BTreeSet<(usize, usize)> = edges.iter().map(|edge| edge.to).collect();
        for (index, launch) in self.specification.launches.iter().enumerate() {
            let Some(description) = self.description(index) else {
                continue;
            };
            for (name, initial) in &launch.initial {
                let place = format!("kernel {}, initial.{}", launch.name, shown(name));
                let (kernel, argument) = (launch.name.clone(), shown(name));
                let Some(position) = description.position(name) else {
                    self.problems
                        .push(place, Defect::UnknownArgument { kernel, argument });
                    continue;
                };
                let is_read = match &description.arguments[position].what {
                    Described::Buffer { direction, .. } => *direction != Direction::Out,
                    Described::Scalar { .. } | Described::Local { .. } => false,
                };
                let found = match (is_read, computed.contains(&(index, position))) {
                    (true, false) => {
                        if let Some(evaluated) = &mut evaluated[index] {
                            let origin = Origin::Host(Some(initial.clone()));
                            set_origin(&mut evaluated.arguments[position], origin);
                        }
                        continue;
                    }
                    (true, true) => "written by another kernel",
                    (false, _) => "nothing that is read",
                };
                let expected = "the host writes buffers that are read and at which no edge ends";
                self.problems.push(
                    place,
                    Defect::Role {
                        kernel,
                        argument,
                        found,
                        expected,
                    },
                );
            }
        }
    }

    fn argument(&self, (launch, position): (usize, usize)) -> String {
        format!(
            "kernel {} argument {position}",
            self.specification.launches[launch].name
        )
    }

    /// For each launch those that it waits for, ascending: with data and without.
    fn parents(&mut self, edges: &[Ends]) -> Vec<BTreeSet<usize>> {
        let launches = &self.specification.launches;
        let mut parents = vec![BTreeSet::new(); launches.len()];
        for edge in edges {
            parents[edge.to.0].insert(edge.from.0);
        }
        for (index, launch) in launches.iter().enumerate() {
            for before in &launch.after {
                if let Some(&before) = self.index_of.get(before.as_str()) {
                    parents[index].insert(before);
                } else {
                    let place = format!("kernel {}, depends", launch.name);
                    self.problems
                        .push(place, Defect::UnknownKernel(shown(before)));
                }
            }
        }
        parents
    }

    /// Kahn's order, the first in the file first among those that are ready; or a problem with the kernels of one circle.
    fn order(&mut self, parents: &[BTreeSet<usize>]) -> Option<Vec<usize>> {
        let mut children = vec![Vec::new(); parents.len()];
        let mut missing: Vec<usize> = parents.iter().map(BTreeSet::len).collect();
        for (child, parents) in parents.iter().enumerate() {
            for &parent in parents {
                children[parent].push(child);
            }
        }
        let ready = missing.iter().enumerate().filter(|&(_, &count)| count == 0);
        let mut ready: BinaryHeap<_> = ready.map(|(index, _)| Reverse(index)).collect();
        let mut order = Vec::with_capacity(parents.len());
        while let Some(Reverse(next)) = ready.pop() {
            order.push(next);
            for &child in &children[next] {
                missing[child] -= 1;
                if missing[child] == 0 {
                    ready.push(Reverse(child));
                }
            }
        }
        let Some(start) = missing.iter().position(|&count| count > 0) else {
            return Some(order);
        };
        // Whoever was never ready has a parent that was never ready, so going back comes round.
        let mut path = vec![start];
        let mut seen_at = BTreeMap::from([(start, 0)]);
        loop {
            let last = *path.last().expect("starts with one");
            let parent = parents[last].iter().find(|&&parent| missing[parent] > 0);
            let parent = *parent.expect("what is not ready waits for another that is not");
            if let Some(&from) = seen_at.get(&parent) {
                let mut names: Vec<String> = path[from..]
                    .iter()
                    .rev()
                    .map(|&index| self.specification.launches[index].name.clone())
                    .collect();
                let length = names.len();
                names.truncate(16);
                if length > names.len() {
                    names.push(format!("{} more", length - names.len()));
                }
                names.push(names[0].clone());
                self.problems.push("the edges", Defect::Cycle(names));
                return None;
            }
            seen_at.insert(parent, path.len());
            path.push(parent);
        }
    }
}

fn assemble(
    specification: &Specification,
    evaluated: Vec<Option<Evaluated>>,
    edges: &[Ends],
    parents: &[BTreeSet<usize>],
    order: &[usize],
    library: &Library<'_>,
) -> KernelGraph {
    let mut place_of = vec![0; order.len()];
    for (place, &index) in order.iter().enumerate() {
        place_of[index] = place;
    }
    let id = |index: usize| -> KernelId { Id::from_index(place_of[index]) };
    let sources: Vec<SourceFile> = specification
        .descriptions
        .iter()
        .map(|description| SourceFile {
            written: description.source.clone(),
            found: (library.source)(&description.source),
        })
        .collect();
    let mut kernels: Vec<Option<Kernel>> = specification
        .launches
        .iter()
        .zip(evaluated)
        .enumerate()
        .map(|(index, (launch, evaluated))| {
            let described = launch.description?;
            let evaluated = evaluated?;
            let mut after: Vec<KernelId> =
                parents[index].iter().map(|&parent| id(parent)).collect();
            after.sort_unstable();
            Some(Kernel {
                name: launch.name.clone(),
                source: sources[described].clone(),
                function: specification.descriptions[described].function.clone(),
                defines: evaluated.defines,
                global: evaluated.global,
                local: evaluated.local,
                arguments: evaluated.arguments,
                after,
                device: launch.device,
                component: launch.component,
            })
        })
        .collect();
    for edge in edges {
        let (kernel, position) = (id(edge.from.0), edge.from.1);
        if let Some(reader) = &mut kernels[edge.to.0] {
            set_origin(
                &mut reader.arguments[edge.to.1],
                Origin::Kernel { kernel, position },
            );
            reader.after.retain(|&parent| parent != kernel);
        }
    }
    let kernels: Arena<Kernel> = order
        .iter()
        .map(|&index| {
            kernels[index]
                .take()
                .expect("every kernel was evaluated, and each is taken once")
        })
        .collect();
    KernelGraph {
        name: specification.name.clone(),
        digest: digest(&kernels),
        kernels,
        queues: specification.queues.clone(),
    }
}

fn set_origin(argument: &mut Argument, new: Origin) {
    if let Argument::Buffer(buffer) = argument {
        match &mut buffer.access {
            Access::In(origin) | Access::InOut(origin) => *origin = new,
            Access::Out => {}
        }
    }
}
