//! Walks the nodes in order and infers type, shape and, for small constants, the elements of every tensor that an output depends on.
//!
//! A node that cannot be understood poisons its results; what reads them is skipped, so one fault is reported once and the walk finds
//! the others too.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use paracompile_plan::{Bytes as Size, OpClass};

use crate::ir::{DataType, OpKind, Shape, WeightRef, Work};

use super::attributes::Attributes;
use super::declared::Declarations;
use super::infer::{Effect, Pass, Produced, Site};
use super::link::{Links, Origin, Slot, path, spelled};
use super::lower::{Folded, ImportOptions, Warning};
use super::operator_sets::OperatorSets;
use super::ops::rule;
use super::value::{Data, Value};
use super::wire::{GraphProto, ModelProto};
use super::{Fault, ImportError, Problem, limits, symbols};

/// Everything that is known after the walk.
#[derive(Debug)]
pub(super) struct Propagated {
    /// By slot; `None` for what no output depends on, and for what is poisoned.
    pub(super) values: Vec<Option<Value>>,
    /// Where constants lie, by slot.
    pub(super) weights: Vec<Option<WeightRef>>,
    /// The slot that a slot is another name of, by slot; its own if it is none.
    pub(super) aliases: Vec<Slot>,
    /// What is left to compute, in order.
    pub(super) operators: Vec<Operator>,
    pub(super) folded: Folded,
    pub(super) warnings: Vec<Warning>,
    /// Version of the default operator set.
    pub(super) opset: i64,
    /// Names of constants that folding made; their slots follow those of the file.
    pub(super) made: Vec<String>,
}

/// A node that depends on an input.
#[derive(Debug)]
pub(super) struct Operator {
    pub(super) node: usize,
    pub(super) kind: OpKind,
    pub(super) inputs: Vec<Option<Slot>>,
    pub(super) outputs: Vec<Slot>,
    pub(super) work: Work,
}

/// Infers all tensors that an output depends on.
///
/// Symbols without a value end the walk: no shape behind them means anything.
pub(super) fn propagate(
    file: &Bytes,
    model: &ModelProto,
    links: &Links<'_>,
    order: &[usize],
    options: &ImportOptions,
    problems: &mut Vec<Problem>,
) -> Result<Propagated, ImportError> {
    let graph = model
        .graph
        .as_ref()
        .expect("decoding refuses models without a graph");
    let sets = OperatorSets::of(model, problems);
    let warnings = sets.warnings(model);
    let opset = sets.version("");
    let live = live_slots(links, order);
    let mut walk = Walk {
        file,
        graph,
        links,
        sets,
        bound: &options.dims,
        functions: model
            .functions
            .iter()
            .map(|function| (function.domain.as_str(), function.name.as_str()))
            .collect(),
        declarations: Declarations::of(graph, &options.dims),
        is_output: flags(links.names.len(), &links.outputs),
        budget: limits::PROPAGATED,
        opaque: BTreeMap::new(),
        as_declared: Vec::new(),
        at_bound: Vec::new(),
        known: Propagated {
            values: vec![None; links.names.len()],
            weights: vec![None; links.names.len()],
            aliases: (0..links.names.len()).collect(),
            operators: Vec::new(),
            folded: Folded::default(),
            warnings,
            opset,
            made: Vec::new(),
        },
    };
    walk.start(&live, problems)?;
    for &node in order {
        let is_live = links.writes[node].iter().flatten().any(|&slot| live[slot]);
        if is_live {
            walk.visit(node, &live, problems);
        } else {
            let dead = path(node, &graph.node[node]);
            walk.known.folded.dead.push(dead);
        }
    }
    walk.warn();
    Ok(walk.known)
}

/// What network outputs depend on.
fn live_slots(links: &Links<'_>, order: &[usize]) -> Vec<bool> {
    let mut live = flags(links.names.len(), &links.outputs);
    for &node in order.iter().rev() {
        if links.writes[node].iter().flatten().any(|&slot| live[slot]) {
            for &slot in links.reads[node].iter().flatten() {
                live[slot] = true;
            }
        }
    }
    live
}

fn flags(count: usize, set: &[Slot]) -> Vec<bool> {
    let mut flags = vec![false; count];
    for &slot in set {
        flags[slot] = true;
    }
    flags
}

struct Walk<'m> {
    file: &'m Bytes,
    graph: &'m GraphProto,
    links: &'m Links<'m>,
    sets: OperatorSets<'m>,
    bound: &'m BTreeMap<String, u64>,
    /// Functions of the model by domain and name.
    functions: BTreeSet<(&'m str, &'m str)>,
    declarations: Declarations<'m>,
    is_output: Vec<bool>,
    /// Elements that may still be propagated.
    budget: u64,
    opaque: BTreeMap<String, usize>,
    as_declared: Vec<String>,
    at_bound: Vec<String>,
    known: Propagated,
}

impl<'m> Walk<'m> {
    /// Inputs and constants.
    fn start(&mut self, live: &[bool], problems: &mut Vec<Problem>) -> Result<(), ImportError> {
        let mut unbound = Vec::new();
        let mut unread = Vec::new();
        for (slot, origin) in self.links.origins.iter().enumerate() {
            match origin {
                Origin::Constant(constant) => {
                    self.known.values[slot] = Some(constant.value.clone());
                    self.known.weights[slot] = Some(constant.weight.clone());
                }
                Origin::Input(index) if live[slot] => {
                    let input = &self.graph.input[*index];
                    match symbols::input(input, self.bound, &mut unbound) {
                        Ok((dtype, shape)) => {
                            self.known.values[slot] = Some(Value {
                                dtype,
                                shape,
                                data: None,
                                constant: false,
                            });
                        }
                        Err(what) => problems.push(Problem::Input {
                            input: input.name.clone(),
                            what,
                        }),
                    }
                }
                Origin::Input(_) => unread.push(self.links.names[slot].to_owned()),
                Origin::Node(_) | Origin::Broken => {}
            }
        }
        if !unread.is_empty() {
            self.known.warnings.push(Warning::UnreadInputs(unread));
        }
        let mut seen = BTreeSet::new();
        unbound.retain(|symbol| seen.insert(symbol.name.clone()));
        if unbound.is_empty() {
            Ok(())
        } else {
            Err(ImportError::UnboundSymbols(unbound))
        }
    }

    fn visit(&mut self, index: usize, live: &[bool], problems: &mut Vec<Problem>) {
        let node = &self.graph.node[index];
        let mut reads = self.links.reads[index].clone();
        for slot in reads.iter_mut().flatten() {
            *slot = self.known.aliases[*slot];
            if self.known.values[*slot].is_none() {
                return;
            }
        }
        let is_function = self
            .functions
            .contains(&(node.domain.as_str(), node.op_type.as_str()));
        if let (false, Err(fault)) = (is_function, self.sets.check(node)) {
            let at = path(index, node);
            problems.push(Problem::Node { at, fault });
            return;
        }
        let effect = match rule(&node.domain, &node.op_type).filter(|_| !is_function) {
            Some(rule) => match rule(&self.site(index, &reads)) {
                Err(fault @ Fault::NotConstant { .. }) => {
                    self.taken_as_declared(index, live).ok_or(fault)
                }
                result => result
                    .and_then(|effect| checked(index, self.links, effect))
                    .map(|effect| self.sharpened(index, live, effect)),
            },
            None => match self.opaque(index, live) {
                Ok(effect) => Ok(effect),
                Err(unknown) => {
                    problems.extend(unknown);
                    return;
                }
            },
        };
        match effect {
            Ok(effect) => self.take(index, &reads, effect, live),
            Err(fault) => problems.push(Problem::Node {
                at: path(index, node),
                fault,
            }),
        }
    }

    fn site<'a>(&'a self, index: usize, reads: &[Option<Slot>]) -> Site<'a> {
        let operands = &reads[..self.links.operands[index]];
        Site {
            opset: self.sets.version(&self.graph.node[index].domain),
            attributes: Attributes(&self.graph.node[index].attribute),
            inputs: operands
                .iter()
                .map(|slot| slot.and_then(|slot| self.known.values[slot].as_ref()))
                .collect(),
            outputs: self.links.writes[index].len(),
            file: self.file,
        }
    }

    /// The names of the results that are used, by position.
    fn used(&self, index: usize, live: &[bool]) -> Vec<Option<&'m str>> {
        let writes = self.links.writes[index].iter();
        writes
            .map(|slot| {
                slot.filter(|&slot| live[slot])
                    .map(|slot| self.links.names[slot])
            })
            .collect()
    }

    /// The declared results of a node whose rule needs values that are not constant.
    fn taken_as_declared(&mut self, index: usize, live: &[bool]) -> Option<Effect> {
        let node = &self.graph.node[index];
        let used = self.used(index, live);
        let outputs = self.declarations.results(node, &used).ok()?;
        self.as_declared
            .extend(used.into_iter().flatten().map(str::to_owned));
        let mut effect = Effect::compute_all(OpClass::Other, outputs);
        if node.op_type == "Reshape" {
            effect.kind = OpKind::View;
            effect.parameters_from = 1;
        }
        Some(effect)
    }

    /// Takes declared extents where the rule knows only how large they can get.
    fn sharpened(&mut self, index: usize, live: &[bool], mut effect: Effect) -> Effect {
        let is_bounded = |output: &Produced| !output.bounded.is_empty();
        if !effect.outputs.iter().any(is_bounded) {
            return effect;
        }
        let used = self.used(index, live);
        for (output, name) in effect.outputs.iter_mut().zip(used) {
            let Some(name) = name.filter(|_| is_bounded(output)) else {
                continue;
            };
            match self.declarations.value(name) {
                Some(declared) if output.admits(&declared) => {
                    output.shape = declared.shape;
                    self.as_declared.push(name.to_owned());
                }
                Some(_) | None => self.at_bound.push(name.to_owned()),
            }
        }
        effect
    }

    /// An operator that we can place but do not understand.
    fn opaque(&mut self, index: usize, live: &[bool]) -> Result<Effect, Vec<Problem>> {
        let node = &self.graph.node[index];
        let outputs = self.declarations.results(node, &self.used(index, live));
        let outputs = outputs.map_err(|unknown| {
            let problem = |tensor: &str| Problem::UnknownShape {
                tensor: tensor.to_owned(),
                at: path(index, node),
            };
            unknown.into_iter().map(problem).collect::<Vec<_>>()
        })?;
        *self.opaque.entry(spelled(node)).or_default() += 1;
        let mut effect = Effect::compute_all(OpClass::Opaque, outputs);
        // It may draw random numbers or keep state.
        effect.is_random = true;
        Ok(effect)
    }

    /// Records the results of a node, and the node itself unless it folds.
    fn take(&mut self, index: usize, reads: &[Option<Slot>], effect: Effect, live: &[bool]) {
        let is_constant = !effect.is_random
            && reads.iter().flatten().all(|&slot| {
                self.known.values[slot]
                    .as_ref()
                    .is_some_and(|value| value.constant)
            });
        let first = reads.first().copied().flatten();
        let mut outputs = Vec::new();
        let mut passed = None;
        let pairs = self.links.writes[index].iter().zip(effect.outputs);
        for (position, (slot, produced)) in pairs.enumerate() {
            let Some(slot) = slot.filter(|&slot| live[slot]) else {
                continue;
            };
            // An empty tensor is a constant whatever computes it, and so is the mask of a dropout.
            let constant = is_constant
                || produced.data.is_some()
                || produced.shape.elements() == Some(0)
                || (effect.passes.is_some() && position > 0);
            if constant {
                let weight = produced.constant.map(|constant| constant.weight);
                let inherited = first
                    .filter(|_| effect.kind == OpKind::View)
                    .and_then(|first| self.known.weights[first].clone());
                self.known.weights[slot] = weight.or(inherited).or(Some(WeightRef::Generated));
            } else if let (Some(pass), 0, Some(first), false) =
                (effect.passes, position, first, self.is_output[slot])
            {
                passed = Some(pass);
                self.known.aliases[slot] = first;
                continue;
            } else {
                outputs.push(slot);
            }
            self.known.values[slot] = Some(Value {
                dtype: produced.dtype,
                shape: produced.shape,
                data: self.within_budget(produced.data),
                constant,
            });
        }
        if outputs.is_empty() {
            let at = path(index, &self.graph.node[index]);
            match passed {
                Some(Pass::Identity) => self.known.folded.identities.push(at),
                Some(Pass::Dropout) => self.known.folded.dropouts.push(at),
                None => self.known.folded.constants.push(at),
            }
            return;
        }
        let inputs = self.operands(reads, effect.kind, effect.parameters_from);
        let work = match effect.kind {
            OpKind::View | OpKind::ConcatInPlace => Work::default(),
            OpKind::Compute(_) => self.with_traffic(effect.work, &inputs, &outputs),
        };
        self.known.operators.push(Operator {
            node: index,
            kind: effect.kind,
            inputs,
            outputs,
            work,
        });
    }

    fn within_budget(&mut self, data: Option<Data>) -> Option<Data> {
        let data = data?;
        self.budget = self.budget.checked_sub(data.len() as u64)?;
        Some(data)
    }

    /// The operands that are read when the operator runs.
    fn operands(
        &self,
        reads: &[Option<Slot>],
        kind: OpKind,
        parameters_from: usize,
    ) -> Vec<Option<Slot>> {
        let is_constant = |slot: Slot| {
            self.known.values[slot]
                .as_ref()
                .is_some_and(|value| value.constant)
        };
        let kept = match kind {
            OpKind::View => 1,
            OpKind::ConcatInPlace | OpKind::Compute(_) => reads.len(),
        };
        let mut inputs: Vec<_> = reads
            .iter()
            .take(kept)
            .enumerate()
            .map(|(position, slot)| {
                slot.filter(|&slot| position < parameters_from || !is_constant(slot))
            })
            .collect();
        while inputs.last() == Some(&None) {
            inputs.pop();
        }
        inputs
    }

    /// Adds what the operator reads and writes, each tensor once, where its rule did not say.
    fn with_traffic(&self, mut work: Work, inputs: &[Option<Slot>], outputs: &[Slot]) -> Work {
        let mut activations = Size::ZERO;
        let mut weights = Size::ZERO;
        let distinct: BTreeSet<Slot> = inputs.iter().copied().flatten().collect();
        for slot in distinct {
            let (bytes, constant) = self.size(slot);
            if constant {
                weights += bytes;
            } else {
                activations += bytes;
            }
        }
        if work.input_bytes == Size::ZERO {
            work.input_bytes = activations;
        }
        if work.weight_bytes == Size::ZERO {
            work.weight_bytes = weights;
        }
        work.output_bytes = outputs.iter().map(|&slot| self.size(slot).0).sum();
        work
    }

    fn size(&self, slot: Slot) -> (Size, bool) {
        let value = self.known.values[slot]
            .as_ref()
            .expect("nodes with unknown operands are skipped");
        let bytes = value
            .shape
            .bytes(value.dtype)
            .expect("sizes are checked when a value is made");
        (bytes, value.constant)
    }

    fn warn(&mut self) {
        if !self.opaque.is_empty() {
            let opaque = std::mem::take(&mut self.opaque).into_iter().collect();
            self.known.warnings.push(Warning::OpaqueOperators(opaque));
        }
        if !self.as_declared.is_empty() {
            let tensors = std::mem::take(&mut self.as_declared);
            self.known.warnings.push(Warning::TakenAsDeclared(tensors));
        }
        if !self.at_bound.is_empty() {
            let tensors = std::mem::take(&mut self.at_bound);
            self.known.warnings.push(Warning::TakenAtBound(tensors));
        }
        let contradictions = self.declarations.contradictions(|name| self.inferred(name));
        if !contradictions.is_empty() {
            self.known
                .warnings
                .push(Warning::Contradictions(contradictions));
        }
    }

    fn inferred(&self, name: &str) -> Option<(DataType, &Shape)> {
        let slot = self.known.aliases[self.links.slot(name)?];
        let value = self.known.values[slot].as_ref()?;
        Some((value.dtype, &value.shape))
    }
}

/// Refuses results that no operator has or that nothing can hold.
fn checked(index: usize, links: &Links<'_>, effect: Effect) -> Result<Effect, Fault> {
    let listed = &links.writes[index];
    let most = effect.outputs.len();
    if listed.iter().skip(most).any(Option::is_some) {
        return Err(Fault::TooManyResults {
            found: listed.len(),
            most,
        });
    }
    for produced in &effect.outputs {
        let rank = produced.shape.0.len();
        if rank > limits::RANK {
            return Err(Fault::TooManyAxes { rank });
        }
        if produced.shape.bytes(produced.dtype).is_none() {
            return Err(Fault::Overflow {
                what: "the size of its result",
            });
        }
    }
    Ok(effect)
}
