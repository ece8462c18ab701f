//! Walks the nodes in order and infers type, shape and, for small constants, the elements of every tensor that an output depends on.
//!
//! A node that cannot be understood poisons its results; what reads them is skipped, so one fault is reported once and the walk finds
//! the others too.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use bytes::Bytes;
use paracompile_plan::{Bytes as Size, OpClass};

use crate::ir::{Control, DataType, OpKind, Shape, WeightRef, Work};

use super::batch_norm::{ScaledFilter, ShiftedBias};
use super::declared::{self, Incomplete};
use super::hints::Hints;
use super::infer::{Effect, Pass, Produced, Site};
use super::link::{Links, Origin, Slot, shown, spelled};
use super::lower::{Folded, ImportOptions, Warning};
use super::operator_sets::{DEFAULT, domain};
use super::ops::rule;
use super::order::order;
use super::problems::Problems;
use super::value::{Data, Value};
use super::wire::{FunctionProto, GraphProto, ModelProto};
use super::{Fault, ImportError, Operand, Problem, limits, symbols};

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
    /// Names of constants that folding made; their slots follow those of the file.
    pub(super) made: Vec<String>,
    /// Whether an extent depends on the values of an input, and was bounded, declared or said.
    pub(super) depends_on_values: bool,
    /// What folding adds to the padding of nodes, before each spatial axis and then behind each.
    pub(super) padded: BTreeMap<usize, Vec<u64>>,
    /// Filters with the scales of batch normalisations, by slot.
    pub(super) rescaled: BTreeMap<Slot, ScaledFilter>,
    /// Biases with their shifts, by slot.
    pub(super) shifted: BTreeMap<Slot, ShiftedBias>,
}

impl Propagated {
    /// Takes out the operators that were folded, and says which nodes they are.
    pub(super) fn take_out(&mut self, is_folded: Vec<bool>) -> Vec<usize> {
        let mut is_folded = is_folded.into_iter();
        let (folded, kept) = std::mem::take(&mut self.operators)
            .into_iter()
            .partition::<Vec<_>, _>(|_| is_folded.next().unwrap_or(false));
        self.operators = kept;
        folded.iter().map(|operator| operator.node).collect()
    }
}

/// A node that depends on an input.
#[derive(Debug)]
pub(super) struct Operator {
    pub(super) node: usize,
    pub(super) kind: OpKind,
    pub(super) inputs: Vec<Option<Slot>>,
    pub(super) outputs: Vec<Slot>,
    pub(super) work: Work,
    /// What its bodies run, if it has any.
    pub(super) control: Option<Control>,
}

/// Infers all tensors that an output depends on.
///
/// Symbols without a value end the walk: no shape behind them means anything.
pub(super) fn propagate<'m>(
    file: &Bytes,
    model: &'m ModelProto,
    links: &mut Links<'m>,
    options: &ImportOptions,
    problems: &mut Problems,
) -> Result<Propagated, ImportError> {
    let graph = model
        .graph
        .as_ref()
        .expect("decoding refuses models without a graph");
    let nodes = 0..links.nodes.len();
    let mut walk = Walk {
        file,
        graph,
        functions: functions(model),
        bound: &options.dims,
        hints: Hints::of(&options.dims),
        live: flags(links.names.len(), &links.outputs),
        is_output: flags(links.names.len(), &links.outputs),
        budget: limits::COMPUTED,
        remembers_lists: true,
        opaque: BTreeMap::new(),
        as_declared: Vec::new(),
        at_most: Vec::new(),
        dearest: Vec::new(),
        repeated: Vec::new(),
        known: Propagated {
            values: Vec::new(),
            weights: Vec::new(),
            aliases: Vec::new(),
            operators: Vec::new(),
            folded: Folded::default(),
            warnings: Vec::new(),
            made: Vec::new(),
            depends_on_values: false,
            padded: BTreeMap::new(),
            rescaled: BTreeMap::new(),
            shifted: BTreeMap::new(),
        },
        links,
        problems,
    };
    walk.grow();
    let order = walk.ordered(&nodes);
    walk.mark_live(&order);
    walk.start()?;
    walk.visit_all(&order)?;
    walk.warn()?;
    Ok(walk.known)
}

/// Functions of the model by domain, name and overload.
fn functions(model: &ModelProto) -> HashMap<(&str, &str, &str), &FunctionProto> {
    let named = model.functions.iter().map(|function| {
        let domain = domain(&function.domain);
        (
            (domain, function.name.as_str(), function.overload.as_str()),
            function,
        )
    });
    named.collect()
}

fn flags(count: usize, set: &[Slot]) -> Vec<bool> {
    let mut flags = vec![false; count];
    for &slot in set {
        flags[slot] = true;
    }
    flags
}

pub(super) struct Walk<'w, 'm> {
    pub(super) file: &'w Bytes,
    graph: &'m GraphProto,
    functions: HashMap<(&'m str, &'m str, &'m str), &'m FunctionProto>,
    bound: &'w BTreeMap<String, u64>,
    pub(super) hints: Hints<'w>,
    pub(super) links: &'w mut Links<'m>,
    pub(super) problems: &'w mut Problems,
    /// What network outputs depend on, by slot.
    pub(super) live: Vec<bool>,
    pub(super) is_output: Vec<bool>,
    /// Elements that may still be propagated.
    budget: u64,
    /// Whether constants of many elements still have them.
    remembers_lists: bool,
    opaque: BTreeMap<String, usize>,
    as_declared: Vec<String>,
    at_most: Vec<String>,
    /// Conditions that are costed like the dearest of their branches.
    pub(super) dearest: Vec<String>,
    /// Loops with the number of their iterations.
    pub(super) repeated: Vec<(String, u64)>,
    pub(super) known: Propagated,
}

impl Walk<'_, '_> {
    /// Makes room for tensors that were linked since the last time, and takes the constants among them.
    pub(super) fn grow(&mut self) {
        for slot in self.known.values.len()..self.links.names.len() {
            let (value, weight) = match &self.links.origins[slot] {
                Origin::Constant(constant) => {
                    (Some(constant.value.clone()), Some(constant.weight.clone()))
                }
                Origin::Input(_) | Origin::Node(_) | Origin::Parameter | Origin::Broken => {
                    (None, None)
                }
            };
            self.known.values.push(value);
            self.known.weights.push(weight);
            self.known.aliases.push(slot);
        }
        self.live.resize(self.links.names.len(), false);
        self.is_output.resize(self.links.names.len(), false);
    }

    /// The nodes of a range in topological order; a cycle is a problem.
    pub(super) fn ordered(&mut self, nodes: &Range<usize>) -> Vec<usize> {
        let order = order(&self.links.predecessors(nodes));
        let at = |node: &usize| nodes.start + node;
        if !order.cycle.is_empty() {
            let cycle = order.cycle.iter().map(|node| self.links.path(at(node)));
            self.problems.push(Problem::Cycle(cycle.collect()));
        }
        order.nodes.iter().map(at).collect()
    }

    /// Marks what live results of these nodes depend on.
    pub(super) fn mark_live(&mut self, order: &[usize]) {
        for &node in order.iter().rev() {
            if self.is_live(node) {
                for &slot in self.links.nodes[node].reads.iter().flatten() {
                    self.live[slot] = true;
                }
            }
        }
    }

    fn is_live(&self, node: usize) -> bool {
        let mut writes = self.links.nodes[node].writes.iter().flatten();
        writes.any(|&slot| self.live[slot])
    }

    /// Inputs of the network.
    fn start(&mut self) -> Result<(), ImportError> {
        let mut unbound = Vec::new();
        let mut unread = Vec::new();
        for slot in 0..self.links.origins.len() {
            match self.links.origins[slot] {
                Origin::Input(index) if self.live[slot] => {
                    let input = &self.graph.input[index];
                    if !symbols::is_tensor(input) {
                        self.problems.push(Problem::Unsupported {
                            place: format!("input `{}`", input.name),
                            what: "only dense tensors are supported as inputs".to_owned(),
                        });
                        continue;
                    }
                    match symbols::input(input, &mut self.hints, &mut unbound) {
                        Ok((dtype, shape)) => {
                            self.known.values[slot] = Some(Value {
                                dtype,
                                shape,
                                data: None,
                                constant: false,
                            });
                        }
                        Err(what) => self.problems.push(Problem::Input {
                            input: input.name.clone(),
                            what,
                        }),
                    }
                }
                Origin::Input(index) => {
                    unread.push(self.links.names[slot].clone().into_owned());
                    let mut open = Vec::new();
                    let declared = symbols::input(
                        &self.graph.input[index],
                        &mut self.hints.apart(),
                        &mut open,
                    );
                    // Whoever executes the model may be given it.
                    if let (Ok((dtype, shape)), true) = (declared, open.is_empty()) {
                        self.known.values[slot] = Some(Value {
                            dtype,
                            shape,
                            data: None,
                            constant: false,
                        });
                    }
                }
                Origin::Constant(_) | Origin::Node(_) | Origin::Parameter | Origin::Broken => {}
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

    /// Visits nodes in order; bodies that they enter come at once, bounded in depth by [`limits::DEPTH`].
    pub(super) fn visit_all(&mut self, order: &[usize]) -> Result<(), ImportError> {
        for &node in order {
            if self.is_live(node) {
                self.visit(node)?;
            } else {
                let dead = self.links.path(node);
                self.known.folded.dead.push(dead);
            }
        }
        Ok(())
    }

    fn visit(&mut self, index: usize) -> Result<(), ImportError> {
        let before = self.problems.count();
        self.enter(index)?;
        if self.problems.count() == before {
            self.miss_results(index);
        }
        Ok(())
    }

    /// A node without a problem leaves no result open, unless it reads one that is open.
    fn miss_results(&mut self, index: usize) {
        let is_open = |slot: Option<Slot>| {
            slot.is_some_and(|slot| self.known.values[self.known.aliases[slot]].is_none())
        };
        let missing = self.used(index).into_iter().position(is_open);
        if let Some(position) = missing
            && !self.links.nodes[index].reads.iter().copied().any(is_open)
        {
            self.fault(index, Fault::NoResult { position });
        }
    }

    /// A node with or without bodies.
    fn enter(&mut self, index: usize) -> Result<(), ImportError> {
        let proto = self.links.nodes[index].proto;
        let domain = domain(&proto.domain);
        let key = (domain, proto.op_type.as_str(), proto.overload.as_str());
        if let Some(&function) = self.functions.get(&key) {
            return self.call(index, function);
        }
        if let Err(fault) = self.links.sets(index).check(proto) {
            self.fault(index, fault);
            return Ok(());
        }
        match (domain, proto.op_type.as_str()) {
            (DEFAULT, "If") => self.condition(index),
            (DEFAULT, "Loop") => self.repeat(index),
            (DEFAULT, "Scan") => self.scan(index),
            _ => {
                self.apply(index);
                Ok(())
            }
        }
    }

    /// An operator without bodies, or one whose bodies are not looked into.
    fn apply(&mut self, index: usize) {
        let Some(reads) = self.reads(index) else {
            return;
        };
        let proto = self.links.nodes[index].proto;
        let effect = match rule(&proto.domain, &proto.op_type) {
            Some(rule) => match rule(&self.site(index, &reads)) {
                Err(fault @ Fault::NotConstant { .. }) => {
                    self.taken_as_declared(index).ok_or(fault)
                }
                result => result,
            },
            None => match self.opaque(index) {
                Some(effect) => Ok(effect),
                None => return,
            },
        };
        match effect.and_then(|effect| self.checked(index, effect)) {
            Ok(effect) => self.take(index, &reads, effect),
            Err(fault) => self.fault(index, fault),
        }
    }

    /// Reports what is wrong with a node.
    pub(super) fn fault(&mut self, index: usize, fault: Fault) {
        const SHOWN: usize = 8;
        let node = &self.links.nodes[index];
        let reads = node.reads[..node.operands].iter().take(SHOWN);
        let operands = reads.map(|slot| self.shown(*slot)).collect();
        let at = self.links.path(index);
        let fault = fault.shortened();
        self.problems.push(Problem::Node {
            at,
            operands,
            fault,
        });
    }

    /// An operand as people see it.
    fn shown(&self, slot: Option<Slot>) -> Operand {
        const FEW: usize = 8;
        let Some(slot) = slot else {
            return Operand {
                tensor: String::new(),
                found: "left out".to_owned(),
            };
        };
        let value = self.known.values[self.known.aliases[slot]].as_ref();
        let elements = value.and_then(|value| value.data.as_ref());
        let elements = match elements.filter(|data| data.len() <= FEW) {
            Some(Data::Integers(values)) => format!(" = {values:?}"),
            Some(Data::Reals(values)) => format!(" = {values:?}"),
            None => String::new(),
        };
        Operand {
            tensor: shown(&self.links.names[slot]),
            found: value.map_or_else(
                || "not known".to_owned(),
                |value| format!("{} {}{elements}", value.dtype, value.shape),
            ),
        }
    }

    /// What a node reads, other names looked through; `None` if something of it is not known.
    pub(super) fn reads(&self, index: usize) -> Option<Vec<Option<Slot>>> {
        let reads = self.links.nodes[index].reads.iter();
        reads
            .map(|slot| match *slot {
                Some(slot) => {
                    let slot = self.known.aliases[slot];
                    self.known.values[slot].is_some().then_some(Some(slot))
                }
                None => Some(None),
            })
            .collect()
    }

    fn site<'a>(&'a self, index: usize, reads: &[Option<Slot>]) -> Site<'a> {
        let node = &self.links.nodes[index];
        Site {
            opset: self.links.opset(index),
            attributes: self.links.attributes(index),
            inputs: reads[..node.operands]
                .iter()
                .map(|slot| slot.and_then(|slot| self.known.values[slot].as_ref()))
                .collect(),
            outputs: node.writes.len(),
            file: self.file,
        }
    }

    /// The declared results of a node whose rule needs values that are not constant.
    fn taken_as_declared(&mut self, index: usize) -> Option<Effect> {
        let outputs = self.declared(index, self.first_type(index)).ok()?;
        self.known.depends_on_values = true;
        let used = self.used(index);
        let names = used.into_iter().flatten();
        let names = names.map(|slot| self.links.names[slot].clone().into_owned());
        self.as_declared.extend(names);
        let mut effect = Effect::compute_all(OpClass::Other, outputs);
        if self.links.nodes[index].proto.op_type == "Reshape" {
            effect.kind = OpKind::View;
            effect.parameters_from = 1;
        }
        Some(effect)
    }

    /// The type of the first thing that a node reads: that of a result whose type nobody says.
    fn first_type(&self, index: usize) -> Option<DataType> {
        let first = self.links.nodes[index].reads.iter().flatten().next()?;
        let value = self.known.values[self.known.aliases[*first]].as_ref()?;
        Some(value.dtype)
    }

    /// An operator that we can place but do not understand.
    fn opaque(&mut self, index: usize) -> Option<Effect> {
        match self.declared(index, self.first_type(index)) {
            Ok(outputs) => {
                let name = spelled(self.links.nodes[index].proto);
                *self.opaque.entry(name).or_default() += 1;
                let mut effect = Effect::compute_all(OpClass::Opaque, outputs);
                // It may draw random numbers or keep state.
                effect.is_random = true;
                Some(effect)
            }
            Err(unknown) => {
                self.problems.extend(unknown);
                None
            }
        }
    }

    /// The results of a node as the file and hints say them.
    fn declared(
        &mut self,
        index: usize,
        assumed: Option<DataType>,
    ) -> Result<Vec<Produced>, Vec<Problem>> {
        let mut results = Vec::new();
        let mut unknown = Vec::new();
        for (position, slot) in self.used(index).into_iter().enumerate() {
            match slot.map(|slot| self.declared_as(index, position, slot, assumed)) {
                Some(Ok(result)) => results.push(result),
                Some(Err(problem)) => unknown.push(*problem),
                // A placeholder that nothing reads.
                None => results.push(Produced::new(DataType::Float, Vec::new())),
            }
        }
        if unknown.is_empty() {
            Ok(results)
        } else {
            Err(unknown)
        }
    }

    /// One result of a node as the file and hints say it.
    pub(super) fn declared_as(
        &mut self,
        index: usize,
        position: usize,
        slot: Slot,
        assumed: Option<DataType>,
    ) -> Result<Produced, Box<Problem>> {
        let node = &self.links.nodes[index];
        let written = node.proto.output[position].as_str();
        let declaration = self.links.scopes[node.scope].declared.get(written).copied();
        let tensor = self.links.names[slot].as_ref();
        declared::complete(declaration, tensor, assumed, &mut self.hints).map_err(
            |Incomplete { declared, hints }| {
                Box::new(Problem::UnknownShape {
                    tensor: tensor.to_owned(),
                    at: self.links.path(index),
                    declared,
                    hints,
                })
            },
        )
    }

    /// The results of a node that are used, by position.
    pub(super) fn used(&self, index: usize) -> Vec<Option<Slot>> {
        let writes = self.links.nodes[index].writes.iter();
        writes
            .map(|slot| slot.filter(|&slot| self.live[slot]))
            .collect()
    }

    /// Gives a tensor that is known already another name.
    pub(super) fn rename(&mut self, node: usize, to: Slot, from: Slot) {
        let from = self.known.aliases[from];
        let Some(value) = self.known.values[from].clone() else {
            return;
        };
        if value.constant {
            let weight = self.known.weights[from].clone();
            self.known.weights[to] = weight;
            self.known.values[to] = Some(value);
        } else if self.is_output[to] {
            self.known.values[to] = Some(value);
            self.known.operators.push(Operator {
                node,
                kind: OpKind::View,
                inputs: vec![Some(from)],
                outputs: vec![to],
                work: Work::default(),
                control: None,
            });
        } else {
            self.known.aliases[to] = from;
        }
    }

    /// Refuses results that no operator has or that nothing can hold, and puts hints in the place of upper bounds.
    fn checked(&mut self, index: usize, mut effect: Effect) -> Result<Effect, Fault> {
        let listed = &self.links.nodes[index].writes;
        let most = effect.outputs.len();
        if listed.iter().skip(most).any(Option::is_some) {
            return Err(Fault::TooManyResults {
                found: listed.len(),
                most,
            });
        }
        can_be_held(&effect.outputs)?;
        let used = self.used(index);
        for (position, (produced, slot)) in effect.outputs.iter_mut().zip(used).enumerate() {
            if let Some(slot) = slot.filter(|_| !produced.bounded.is_empty()) {
                self.narrow(index, position, slot, produced)?;
            }
        }
        Ok(effect)
    }

    /// Puts what the user says of an axis in the place of its upper bound.
    pub(super) fn narrow(
        &mut self,
        index: usize,
        position: usize,
        slot: Slot,
        produced: &mut Produced,
    ) -> Result<(), Fault> {
        let node = &self.links.nodes[index];
        let written = node.proto.output[position].as_str();
        let declaration = self.links.scopes[node.scope].declared.get(written).copied();
        let tensor = self.links.names[slot].clone();
        self.known.depends_on_values |= !produced.bounded.is_empty();
        for &axis in &produced.bounded {
            let most = produced.shape.0[axis];
            let symbol = declaration.and_then(|value| symbols::symbol(value, axis));
            let declared = declaration.and_then(|value| symbols::fixed(value, axis));
            let declared = declared.filter(|&declared| declared <= most);
            let hint = self
                .hints
                .extent(&tensor, axis)
                .or_else(|| self.hints.symbol(symbol?));
            if let (None, Some(declared)) = (hint, declared) {
                produced.shape.0[axis] = declared;
                self.as_declared.push(format!("{tensor}[{axis}]"));
                continue;
            }
            match hint {
                Some(hint) if hint > most => {
                    return Err(Fault::Hint { axis, hint, most });
                }
                Some(hint) => produced.shape.0[axis] = hint,
                None => self.at_most.push(format!("{tensor}[{axis}] <= {most}")),
            }
        }
        Ok(())
    }

    /// Records the results of a node, and the node itself unless it folds.
    pub(super) fn take(&mut self, index: usize, reads: &[Option<Slot>], effect: Effect) {
        let is_constant = !effect.is_random
            && reads.iter().flatten().all(|&slot| {
                self.known.values[slot]
                    .as_ref()
                    .is_some_and(|value| value.constant)
            });
        let first = reads.first().copied().flatten();
        let mut outputs = Vec::new();
        let mut passed = None;
        let pairs = self.used(index).into_iter().zip(effect.outputs);
        for (position, (slot, produced)) in pairs.enumerate() {
            let Some(slot) = slot else {
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
            let at = self.links.path(index);
            match passed {
                Some(Pass::Identity) => self.known.folded.identities.push(at),
                Some(Pass::Dropout) => self.known.folded.dropouts.push(at),
                None => self.known.folded.constants.push(at),
            }
            return;
        }
        let is_parameter = |position: usize| {
            position >= effect.parameters_from || effect.parameters.contains(&position)
        };
        let inputs = self.operands(reads, effect.kind, is_parameter);
        let work = match effect.kind {
            OpKind::View | OpKind::ConcatInPlace => Work::default(),
            OpKind::Compute(_) => {
                let mut work = self.with_traffic(effect.work, &inputs, &outputs);
                let slots = reads.iter().flatten().chain(&outputs);
                work.arithmetic = effect.arithmetic.unwrap_or_else(|| self.arithmetic(slots));
                work
            }
        };
        self.known.operators.push(Operator {
            node: index,
            kind: effect.kind,
            inputs,
            outputs,
            work,
            control: None,
        });
    }

    fn within_budget(&mut self, data: Option<Data>) -> Option<Data> {
        let data = data?;
        let Some(rest) = self.budget.checked_sub(data.len() as u64) else {
            self.forget_lists();
            return None;
        };
        self.budget = rest;
        Some(data)
    }

    /// Forgets the elements of constants that are longer than shapes are, so that nothing more is computed from them.
    fn forget_lists(&mut self) {
        if std::mem::replace(&mut self.remembers_lists, false) {
            for value in self.known.values.iter_mut().flatten() {
                value.data.take_if(|data| data.len() > limits::RANK);
            }
        }
    }

    /// The operands that are read when the operator runs.
    fn operands(
        &self,
        reads: &[Option<Slot>],
        kind: OpKind,
        is_parameter: impl Fn(usize) -> bool,
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
                slot.filter(|&slot| !is_parameter(position) || !is_constant(slot))
            })
            .collect();
        while inputs.last() == Some(&None) {
            inputs.pop();
        }
        inputs
    }

    /// The type that an operator computes in: the first floating-point type among operands and results, or else the first type.
    fn arithmetic<'s>(&self, slots: impl Iterator<Item = &'s Slot>) -> DataType {
        let dtypes = slots.filter_map(|&slot| self.known.values[slot].as_ref());
        let mut dtypes = dtypes.map(|value| value.dtype);
        let first = dtypes.next().unwrap_or_default();
        if first.is_real() {
            return first;
        }
        dtypes.find(|dtype| dtype.is_real()).unwrap_or(first)
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

    /// Whether the values of a slot are known, and it is a constant.
    pub(super) fn is_constant(&self, slot: Slot) -> bool {
        let value = self.known.values[slot].as_ref();
        value.is_some_and(|value| value.constant)
    }

    fn warn(&mut self) -> Result<(), ImportError> {
        let mut warnings = Vec::new();
        if !self.opaque.is_empty() {
            let opaque = std::mem::take(&mut self.opaque).into_iter().collect();
            warnings.push(Warning::OpaqueOperators(opaque));
        }
        if !self.as_declared.is_empty() {
            let tensors = std::mem::take(&mut self.as_declared);
            warnings.push(Warning::TakenAsDeclared(tensors));
        }
        if !self.at_most.is_empty() {
            let extents = std::mem::take(&mut self.at_most);
            warnings.push(Warning::TakenAtMost(extents));
        }
        if !self.dearest.is_empty() {
            let nodes = std::mem::take(&mut self.dearest);
            warnings.push(Warning::DearestBranch(nodes));
        }
        if !self.repeated.is_empty() {
            warnings.push(Warning::Iterations(std::mem::take(&mut self.repeated)));
        }
        let inferred = |name: &str| self.inferred(name);
        let contradictions = declared::contradictions(self.graph, self.bound, inferred);
        if !contradictions.is_empty() {
            warnings.push(Warning::Contradictions(contradictions));
        }
        if let Some(unused) = self.unused_hints()? {
            warnings.push(unused);
        }
        self.known.warnings.extend(warnings);
        Ok(())
    }

    /// Hints about what is known without them; those about nothing in the model are refused.
    fn unused_hints(&self) -> Result<Option<Warning>, ImportError> {
        let unused: Vec<&str> = self.hints.unused().collect();
        if unused.is_empty() {
            return Ok(None);
        }
        let nodes = self.links.nodes.iter();
        let nodes = nodes.map(|node| node.proto.name.as_str());
        let tensors = self.links.names.iter().map(AsRef::as_ref);
        let known: BTreeSet<&str> = tensors.chain(nodes).collect();
        let is_known =
            |name: &&str| super::hints::subject(name).is_none_or(|name| known.contains(name));
        let (known, unknown): (Vec<&str>, Vec<&str>) = unused.into_iter().partition(is_known);
        if unknown.is_empty() {
            let names = known.into_iter().map(str::to_owned).collect();
            Ok(Some(Warning::UnusedHints(names)))
        } else {
            Err(ImportError::UnknownSymbols {
                names: unknown.into_iter().map(str::to_owned).collect(),
                known: symbols::symbols(self.graph),
            })
        }
    }

    fn inferred(&self, name: &str) -> Option<(DataType, &Shape)> {
        let slot = self.known.aliases[self.links.slot(name)?];
        let value = self.known.values[slot].as_ref()?;
        Some((value.dtype, &value.shape))
    }
}

/// Refuses results that nothing can hold.
pub(super) fn can_be_held(results: &[Produced]) -> Result<(), Fault> {
    for produced in results {
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
    Ok(())
}
