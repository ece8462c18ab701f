//! Nodes that stand for other nodes: calls of functions, conditions, loops and scans.
//!
//! A call, and a condition that no input can change, give way to the nodes that they stand for.
//! What depends on an input stays one operator: shapes are inferred through its bodies, and it costs what the dearest of its alternatives
//! does, as often as it runs ([`Control`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use paracompile_plan::OpClass;

use crate::ir::{Control, DataType, OpKind, Shape, Step, Work};

use super::attributes::Environment;
use super::body::Body;
use super::infer::{Effect, Produced};
use super::link::{Entered, Place, Scope, Slot, index as step, shown};
use super::operator_sets::OperatorSets;
use super::propagate::{Operator, Walk, can_be_held};
use super::value::{Data, Value, resolve_axis};
use super::wire::{FunctionProto, GraphProto, NodeProto};
use super::{Fault, ImportError, Problem, hints, limits};

/// More iterations than these are how exporters say "until the condition fails".
const MOST_TRIPS: i64 = 1 << 31;

/// What a body that stays inside its operator runs and returns.
struct Inside {
    operators: Vec<Operator>,
    results: Vec<Option<Slot>>,
}

impl<'m> Walk<'_, 'm> {
    /// A call of a function of the model.
    pub(super) fn call(
        &mut self,
        index: usize,
        function: &'m FunctionProto,
    ) -> Result<(), ImportError> {
        let body = Body::of_function(function);
        let node = &self.links.nodes[index];
        let around = &self.links.scopes[node.scope];
        let given = &node.reads[..node.operands];
        let parameters = body.parameters.iter().enumerate();
        let scope = Scope {
            parent: None,
            slots: parameters
                .map(|(position, &name)| (name, given.get(position).copied().flatten()))
                .collect(),
            declared: body.declared(),
            environment: Some(Rc::new(Environment::of_call(
                function,
                &node.proto.attribute,
                around.environment.as_deref(),
            ))),
            sets: Rc::new(OperatorSets::imported(&function.opset_import).within(&around.sets)),
            place: Place {
                path: self.links.steps(index),
                body: Some(format!("function `{}`", shown(&function.name))),
                prefix: format!("{}/", self.name(index)),
                depth: around.place.depth + 1,
            },
        };
        let at = self.links.path(index);
        self.inline(index, &body, scope)?;
        self.known.folded.calls.push(at);
        Ok(())
    }

    /// An `If`: the branch that is taken, where that is known, else the dearest of both.
    pub(super) fn condition(&mut self, index: usize) -> Result<(), ImportError> {
        let proto = self.links.nodes[index].proto;
        let branches = ["then_branch", "else_branch"].map(|name| graph(proto, name));
        let [Some(then), Some(otherwise)] = branches else {
            let attribute = if branches[0].is_none() {
                "then_branch"
            } else {
                "else_branch"
            };
            self.fault(index, Fault::MissingAttribute { attribute });
            return Ok(());
        };
        let Some(Some(condition)) = self.links.nodes[index].reads.first().copied() else {
            let (position, operand) = (0, "cond");
            self.fault(index, Fault::MissingOperand { position, operand });
            return Ok(());
        };
        let Some(value) = &self.known.values[self.known.aliases[condition]] else {
            return Ok(());
        };
        if let Some(condition) = value.data.as_ref().and_then(Data::integer) {
            let taken = if condition == 0 { otherwise } else { then };
            let at = self.links.path(index);
            let scope = self.branch(index, taken);
            self.inline(index, &Body::of_graph(taken.1), scope)?;
            self.known.folded.conditions.push(at);
            return Ok(());
        }
        let mut alternatives = Vec::new();
        for branch in [then, otherwise] {
            let scope = self.branch(index, branch);
            let used: Vec<bool> = self.used(index).iter().map(Option::is_some).collect();
            match self.look_into(index, &Body::of_graph(branch.1), scope, &used)? {
                Some(inside) => alternatives.push(inside),
                None => return Ok(()),
            }
        }
        let Some(outputs) = self.unified(index, &alternatives) else {
            return Ok(());
        };
        self.keep(index, outputs, &alternatives, 1);
        let name = self.name(index);
        self.dearest.push(name);
        Ok(())
    }

    /// A `Loop`.
    pub(super) fn repeat(&mut self, index: usize) -> Result<(), ImportError> {
        let Some((position, graph)) = graph(self.links.nodes[index].proto, "body") else {
            self.fault(index, Fault::MissingAttribute { attribute: "body" });
            return Ok(());
        };
        let Some(reads) = self.reads(index) else {
            return Ok(());
        };
        let operands = self.links.nodes[index].operands;
        let integer = |slot: Option<Slot>| {
            let data = self.known.values[slot?].as_ref()?.data.as_ref()?;
            data.integer()
        };
        let most = integer(reads.first().copied().flatten());
        let never = integer(reads.get(1).copied().flatten()) == Some(0);
        let most = most.filter(|&most| most < MOST_TRIPS);
        let most = if never { Some(0) } else { most };
        let Some(trips) = self.trips(index, most.map(|most| u64::try_from(most).unwrap_or(0)))
        else {
            return Ok(());
        };
        let body = Body::of_graph(graph);
        // What is constant before the first iteration is not before the second one.
        let carried: Vec<Option<Value>> = reads[..operands]
            .iter()
            .skip(2)
            .map(|slot| self.known.values[(*slot)?].as_ref())
            .map(|value| value.map(|value| variable(value.dtype, value.shape.0.clone())))
            .collect();
        let scalar = |dtype| Some(variable(dtype, Vec::new()));
        let parameters = [scalar(DataType::Int64), scalar(DataType::Bool)]
            .into_iter()
            .chain(carried.iter().cloned());
        let scope = self.with_parameters(index, (position, graph), &body, parameters);
        let goes_on = body.parameters.get(1).copied();
        let goes_on = goes_on.and_then(|name| scope.slots.get(name).copied().flatten());
        let used = vec![true; body.results.len()];
        let Some(inside) = self.look_into(index, &body, scope, &used)? else {
            return Ok(());
        };
        let ends_early = !self.runs_to_the_end(&inside, goes_on);
        let result = |place: usize| {
            let slot = inside.results.get(place + 1).copied().flatten()?;
            self.known.values[slot].as_ref()
        };
        // One value that changes its shape from iteration to iteration may change all others, and nobody knows the last ones.
        let is_stable = carried.iter().enumerate().all(|(place, before)| {
            let shape = |value: Option<&Value>| value.map(|value| value.shape.clone());
            shape(before.as_ref()) == shape(result(place))
        });
        let results = (0..self.links.nodes[index].writes.len()).map(|place| result(place).cloned());
        let results: Vec<Option<Value>> = results.collect();
        let mut outputs = Vec::new();
        for (place, (slot, result)) in self.used(index).into_iter().zip(results).enumerate() {
            let Some(slot) = slot else {
                outputs.push(Produced::new(DataType::Float, Vec::new()));
                continue;
            };
            let Some(result) = result else {
                return Ok(());
            };
            let is_stacked = place >= carried.len();
            let mut produced = if is_stable {
                let trips = is_stacked.then_some(trips);
                let shape = trips.into_iter().chain(result.shape.0);
                Produced::new(result.dtype, shape.collect::<Vec<_>>())
            } else {
                match self.declared_as(index, place, slot, Some(result.dtype)) {
                    Ok(declared) => declared,
                    Err(problem) => {
                        self.problems.push(*problem);
                        return Ok(());
                    }
                }
            };
            if is_stable && is_stacked && ends_early {
                produced = produced.bounded_along(0);
                if let Err(fault) = self.narrow(index, place, slot, &mut produced) {
                    self.fault(index, fault);
                    return Ok(());
                }
            }
            self.known.depends_on_values |= !is_stable;
            outputs.push(produced);
        }
        let name = self.name(index);
        self.repeated.push((name, trips));
        self.keep(index, outputs, &[inside], trips);
        Ok(())
    }

    /// Whether the condition that a body returns is always true, or the one that it got; then the trip count alone ends the loop.
    fn runs_to_the_end(&self, inside: &Inside, goes_on: Option<Slot>) -> bool {
        let Some(condition) = inside.results.first().copied().flatten() else {
            return true;
        };
        let value = self.known.values[condition].as_ref();
        let data = value.and_then(|value| value.data.as_ref());
        Some(condition) == goes_on || data.and_then(Data::integer).is_some_and(|value| value != 0)
    }

    /// A `Scan`: as many iterations as the scanned axes are long.
    pub(super) fn scan(&mut self, index: usize) -> Result<(), ImportError> {
        let Some((position, graph)) = graph(self.links.nodes[index].proto, "body") else {
            self.fault(index, Fault::MissingAttribute { attribute: "body" });
            return Ok(());
        };
        let Some(reads) = self.reads(index) else {
            return Ok(());
        };
        let body = Body::of_graph(graph);
        let operands = &reads[..self.links.nodes[index].operands];
        let scanned = match self.scanned(index, operands) {
            Ok(scanned) => scanned,
            Err(fault) => {
                self.fault(index, fault);
                return Ok(());
            }
        };
        let (states, trips) = (scanned.states, scanned.trips);
        let scope = self.with_parameters(
            index,
            (position, graph),
            &body,
            scanned.parameters.into_iter().map(Some),
        );
        let used = vec![true; body.results.len()];
        let Some(inside) = self.look_into(index, &body, scope, &used)? else {
            return Ok(());
        };
        let stacked = self.links.attributes(index).ints("scan_output_axes");
        let stacked = stacked.ok().flatten().unwrap_or_default().to_vec();
        let mut outputs = Vec::new();
        for place in 0..self.links.nodes[index].writes.len() {
            let result = inside.results.get(place).copied().flatten();
            let Some(result) = result.and_then(|slot| self.known.values[slot].clone()) else {
                return Ok(());
            };
            let mut shape = result.shape.0;
            if let Some(place) = place.checked_sub(states) {
                let axis = stacked.get(place).copied().unwrap_or(0);
                match resolve_axis(axis, shape.len() + 1) {
                    Ok(axis) => shape.insert(axis, trips),
                    Err(fault) => {
                        self.fault(index, fault);
                        return Ok(());
                    }
                }
            }
            shape.splice(0..0, scanned.batch);
            outputs.push(Produced::new(result.dtype, shape));
        }
        let trips = trips.saturating_mul(scanned.batch.unwrap_or(1));
        let name = self.name(index);
        self.repeated.push((name, trips));
        self.keep(index, outputs, &[inside], trips);
        Ok(())
    }

    /// Puts the nodes of `body` in the place of a node.
    fn inline(
        &mut self,
        index: usize,
        body: &Body<'m>,
        scope: Scope<'m>,
    ) -> Result<(), ImportError> {
        if !self.may_go_deeper(index, &scope) {
            return Ok(());
        }
        let used = self.used(index);
        let mut written: BTreeMap<&'m str, Slot> = BTreeMap::new();
        for (&name, slot) in body.results.iter().zip(&used) {
            if let Some(slot) = slot.filter(|_| !scope.slots.contains_key(name)) {
                written.entry(name).or_insert(slot);
            }
        }
        let is_used: Vec<bool> = used.iter().map(Option::is_some).collect();
        let (entered, order) = self.open(body, scope, written, &is_used)?;
        self.visit_all(&order)?;
        for (to, from) in used.into_iter().zip(entered.results) {
            if let (Some(to), Some(from)) = (to, from)
                && to != from
            {
                self.rename(index, to, from);
            }
        }
        Ok(())
    }

    /// Links a body and marks what its used results depend on; its nodes come in order.
    fn open(
        &mut self,
        body: &Body<'m>,
        scope: Scope<'m>,
        written: BTreeMap<&'m str, Slot>,
        used: &[bool],
    ) -> Result<(Entered, Vec<usize>), ImportError> {
        let entered = self
            .links
            .enter(self.file, body, scope, written, self.problems)?;
        self.grow();
        for (result, &is_used) in entered.results.iter().zip(used) {
            if let Some(result) = result.filter(|_| is_used) {
                self.live[result] = true;
            }
        }
        let order = self.ordered(&entered.nodes);
        self.mark_live(&order);
        Ok((entered, order))
    }

    /// What a body runs and returns that stays inside its operator; `None` if it is nested too deeply.
    fn look_into(
        &mut self,
        index: usize,
        body: &Body<'m>,
        scope: Scope<'m>,
        used: &[bool],
    ) -> Result<Option<Inside>, ImportError> {
        if !self.may_go_deeper(index, &scope) {
            return Ok(None);
        }
        let (entered, order) = self.open(body, scope, BTreeMap::new(), used)?;
        let around = std::mem::take(&mut self.known.operators);
        let visited = self.visit_all(&order);
        let operators = std::mem::replace(&mut self.known.operators, around);
        visited?;
        let results = entered.results.into_iter();
        Ok(Some(Inside {
            operators,
            results: results
                .map(|slot| slot.map(|slot| self.known.aliases[slot]))
                .collect(),
        }))
    }

    /// What both branches return, where they agree on type and number of axes; an axis on which they differ has the larger extent.
    fn unified(&mut self, index: usize, alternatives: &[Inside]) -> Option<Vec<Produced>> {
        let mut outputs = Vec::new();
        for (position, slot) in self.used(index).into_iter().enumerate() {
            let Some(slot) = slot else {
                outputs.push(Produced::new(DataType::Float, Vec::new()));
                continue;
            };
            let results = alternatives.iter().map(|inside| {
                let slot = inside.results.get(position).copied().flatten()?;
                self.known.values[slot].as_ref()
            });
            // A branch without the result has a problem that was reported.
            let results: Vec<&Value> = results.collect::<Option<_>>()?;
            let first = results[0];
            let agree = results.iter().all(|result| {
                result.dtype == first.dtype && result.shape.0.len() == first.shape.0.len()
            });
            let mut produced = Produced::like(first);
            if agree {
                for (axis, extent) in produced.shape.0.iter_mut().enumerate() {
                    let extents = results.iter().map(|result| result.shape.0[axis]);
                    let most = extents.max().unwrap_or(*extent);
                    if results.iter().any(|result| result.shape.0[axis] != most) {
                        produced.bounded.push(axis);
                    }
                    *extent = most;
                }
                if let Err(fault) = self.narrow(index, position, slot, &mut produced) {
                    self.fault(index, fault);
                    return None;
                }
            } else {
                match self.declared_as(index, position, slot, None) {
                    Ok(declared) => produced = declared,
                    Err(problem) => {
                        self.problems.push(*problem);
                        return None;
                    }
                }
            }
            outputs.push(produced);
        }
        Some(outputs)
    }

    /// Records a node with bodies as one operator, which runs one of `alternatives` so many times.
    fn keep(&mut self, index: usize, outputs: Vec<Produced>, alternatives: &[Inside], times: u64) {
        if let Err(fault) = can_be_held(&outputs) {
            self.fault(index, fault);
            return;
        }
        let control = Control {
            alternatives: alternatives
                .iter()
                .map(|inside| steps(&inside.operators, times))
                .collect(),
        };
        let (macs, other_flops) = control.operations();
        let effect = Effect::compute_all(OpClass::Opaque, outputs).with_work(Work {
            macs,
            other_flops,
            ..Work::default()
        });
        let mut reads = self.reads_of_bodies(index);
        // Weights that the bodies have of their own have to be there too.
        let inner = alternatives.iter().flat_map(|inside| &inside.operators);
        let inner = inner.flat_map(|operator| operator.inputs.iter().flatten());
        let known: BTreeSet<Slot> = reads.iter().copied().flatten().collect();
        let own: BTreeSet<Slot> = inner
            .copied()
            .filter(|&slot| self.is_constant(slot) && !known.contains(&slot))
            .collect();
        reads.extend(own.into_iter().map(Some));
        let before = self.known.operators.len();
        self.take(index, &reads, effect);
        if let Some(operator) = self.known.operators.get_mut(before) {
            operator.control = Some(control);
        }
    }

    /// What a node and its bodies read and is known; a branch that is not taken may read what is not.
    fn reads_of_bodies(&self, index: usize) -> Vec<Option<Slot>> {
        let node = &self.links.nodes[index];
        let reads = node.reads.iter().map(|slot| {
            let slot = slot.map(|slot| self.known.aliases[slot]);
            slot.filter(|&slot| self.known.values[slot].is_some())
        });
        reads.collect()
    }

    /// How often a loop runs, by hint or by what is known.
    fn trips(&mut self, index: usize, known: Option<u64>) -> Option<u64> {
        let written = self.name(index);
        let own = self.links.nodes[index].proto.name.clone();
        let hint = self
            .hints
            .trips(&own)
            .or_else(|| self.hints.trips(&written));
        match (hint, known) {
            (Some(hint), Some(most)) if hint > most => {
                self.fault(
                    index,
                    Fault::Value {
                        what: "the number of iterations that --dim says",
                        found: hint.to_string(),
                        expected: "it cannot exceed the trip count of the loop",
                    },
                );
                None
            }
            (Some(trips), _) | (None, Some(trips)) => Some(trips),
            (None, None) => {
                let name = if own.is_empty() { written } else { own };
                self.problems.push(Problem::UnknownTrips {
                    at: self.links.path(index),
                    hint: hints::of_loop(&name),
                });
                None
            }
        }
    }

    /// What the body of a scan sees.
    fn scanned(&self, index: usize, operands: &[Option<Slot>]) -> Result<Scanned, Fault> {
        const WITHOUT_BATCH: i64 = 9;
        let attributes = self.links.attributes(index);
        let has_batch = self.links.opset(index) < WITHOUT_BATCH;
        // The lengths of the sequences come first there.
        let operands = &operands[usize::from(has_batch).min(operands.len())..];
        let count = attributes
            .int("num_scan_inputs")?
            .ok_or(Fault::MissingAttribute {
                attribute: "num_scan_inputs",
            })?;
        let states = usize::try_from(count)
            .ok()
            .and_then(|count| operands.len().checked_sub(count))
            .ok_or_else(|| Fault::Value {
                what: "num_scan_inputs",
                found: count.to_string(),
                expected: "there have to be as many operands",
            })?;
        let along = attributes.ints("scan_input_axes")?.unwrap_or_default();
        let mut scanned = Scanned {
            states,
            trips: 0,
            batch: None,
            parameters: Vec::new(),
        };
        for (position, slot) in operands.iter().enumerate() {
            let missing = Fault::MissingOperand {
                position,
                operand: "initial_state_and_scan_inputs",
            };
            let value = slot.and_then(|slot| self.known.values[slot].as_ref());
            let value = value.ok_or(missing)?;
            let mut shape = value.shape.0.clone();
            if has_batch {
                if shape.is_empty() {
                    return Err(Fault::Axis { axis: 0, rank: 0 });
                }
                scanned.batch = Some(shape.remove(0));
            }
            if let Some(place) = position.checked_sub(states) {
                let axis = along.get(place).copied().unwrap_or(0);
                let trips = shape.remove(resolve_axis(axis, shape.len())?);
                if place > 0 && trips != scanned.trips {
                    return Err(Fault::Mismatch {
                        left: Shape(vec![scanned.trips]),
                        right: Shape(vec![trips]),
                        why: "all scanned axes have to be equally long",
                    });
                }
                scanned.trips = trips;
            }
            scanned.parameters.push(variable(value.dtype, shape));
        }
        Ok(scanned)
    }

    /// The scope of a branch of a node.
    fn branch(&self, index: usize, (position, graph): (usize, &'m GraphProto)) -> Scope<'m> {
        let node = &self.links.nodes[index];
        let around = &self.links.scopes[node.scope];
        let mut path = self.links.steps(index);
        path.push(step(position));
        Scope {
            parent: Some(node.scope),
            slots: HashMap::new(),
            declared: Body::of_graph(graph).declared(),
            environment: around.environment.clone(),
            sets: Rc::clone(&around.sets),
            place: Place {
                path,
                body: Some(format!("a body of {}", self.links.path(index))),
                prefix: around.place.prefix.clone(),
                depth: around.place.depth + 1,
            },
        }
    }

    /// The scope of a body whose parameters have these values; `None` for one that is left out.
    fn with_parameters(
        &mut self,
        index: usize,
        graph: (usize, &'m GraphProto),
        body: &Body<'m>,
        values: impl IntoIterator<Item = Option<Value>>,
    ) -> Scope<'m> {
        let mut scope = self.branch(index, graph);
        let given = body.parameters.iter().zip(values);
        for (&name, value) in given {
            let slot = value.map(|value| {
                let slot = self.links.parameter(&scope.place, name);
                self.grow();
                self.known.values[slot] = Some(value);
                slot
            });
            scope.slots.insert(name, slot);
        }
        scope
    }

    fn may_go_deeper(&mut self, index: usize, scope: &Scope<'_>) -> bool {
        let is_within = scope.place.depth <= limits::DEPTH;
        if !is_within {
            self.problems.push(Problem::TooDeep {
                at: self.links.path(index),
            });
        }
        is_within
    }

    /// The name of the first result of a node that is used.
    fn name(&self, index: usize) -> String {
        let used = self.used(index).into_iter().flatten().next();
        used.map_or_else(String::new, |slot| {
            self.links.names[slot].clone().into_owned()
        })
    }
}

/// What the body of a scan sees, and how often it runs.
struct Scanned {
    states: usize,
    trips: u64,
    /// The extent of the axis of batches that older operator sets have.
    batch: Option<u64>,
    parameters: Vec<Value>,
}

/// A value that differs from iteration to iteration.
fn variable(dtype: DataType, shape: Vec<u64>) -> Value {
    Value {
        dtype,
        shape: Shape(shape),
        data: None,
        constant: false,
    }
}

/// The graph in an attribute, and its position among all graphs of the node.
fn graph<'m>(node: &'m NodeProto, attribute: &str) -> Option<(usize, &'m GraphProto)> {
    let mut position = 0;
    for candidate in &node.attribute {
        if candidate.name == attribute
            && let Some(graph) = candidate.g.as_deref()
        {
            return Some((position, graph));
        }
        position += usize::from(candidate.g.is_some()) + candidate.graphs.len();
    }
    None
}

fn steps(operators: &[Operator], times: u64) -> Vec<Step> {
    let costed = operators.iter().filter_map(|operator| match operator.kind {
        OpKind::Compute(class) => Some(Step {
            times,
            class,
            work: operator.work,
            control: operator.control.clone(),
        }),
        OpKind::View | OpKind::ConcatInPlace => None,
    });
    costed.collect()
}
