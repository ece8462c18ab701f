//! The model facts with views resolved: which tensors have storage, who writes and who reads them.

use std::collections::BTreeMap;

use crate::facts::ModelFacts;
use crate::plan::OperatorRef;

/// Model facts, indexed.
pub(super) struct Network<'a> {
    pub(super) facts: &'a ModelFacts,
    /// Storage that each operator reads, ascending, each once.
    pub(super) reads: Vec<Vec<usize>>,
    /// Storage that each operator writes, ascending, each once.
    pub(super) writes: Vec<Vec<usize>>,
    /// Operators that read each tensor's storage.
    pub(super) readers: Vec<Vec<usize>>,
    /// Whether a tensor is storage of a network input.
    pub(super) is_input: Vec<bool>,
    /// Whether a tensor is storage of a network output, and neither an input nor a weight.
    pub(super) is_output: Vec<bool>,
    operators: BTreeMap<&'a OperatorRef, usize>,
}

impl<'a> Network<'a> {
    pub(super) fn new(facts: &'a ModelFacts) -> Self {
        let mut views = Views::new(facts);
        let storage = |views: &mut Views<'_>, tensors: &[usize]| views.storage(tensors);
        let reads: Vec<_> = (facts.operators.iter())
            .map(|operator| storage(&mut views, &operator.reads))
            .collect();
        let writes: Vec<_> = (facts.operators.iter())
            .map(|operator| storage(&mut views, &operator.writes))
            .collect();
        let mut readers = vec![Vec::new(); facts.tensors.len()];
        for (operator, tensors) in reads.iter().enumerate() {
            for &tensor in tensors {
                readers[tensor].push(operator);
            }
        }
        let mut is_input = vec![false; facts.tensors.len()];
        for tensor in views.storage(&facts.inputs) {
            is_input[tensor] = true;
        }
        let mut is_output = vec![false; facts.tensors.len()];
        for tensor in views.storage(&facts.outputs) {
            is_output[tensor] = !is_input[tensor] && !facts.tensors[tensor].weight;
        }
        let operators = (facts.operators.iter().enumerate())
            .map(|(index, operator)| (&operator.at, index))
            .collect();
        Self {
            facts,
            reads,
            writes,
            readers,
            is_input,
            is_output,
            operators,
        }
    }

    pub(super) fn operator(&self, at: &OperatorRef) -> Option<usize> {
        self.operators.get(at).copied()
    }

    pub(super) fn name(&self, tensor: usize) -> &'a str {
        &self.facts.tensors[tensor].name
    }
}

/// Follows views without recursion; a mark a tensor keeps shared parts from being followed twice.
struct Views<'a> {
    facts: &'a ModelFacts,
    seen: Vec<u32>,
    round: u32,
}

impl<'a> Views<'a> {
    fn new(facts: &'a ModelFacts) -> Self {
        Self {
            facts,
            seen: vec![0; facts.tensors.len()],
            round: 0,
        }
    }

    fn storage(&mut self, tensors: &[usize]) -> Vec<usize> {
        self.round += 1;
        let mut open = tensors.to_vec();
        let mut storage = Vec::new();
        while let Some(tensor) = open.pop() {
            if self.seen[tensor] == self.round {
                continue;
            }
            self.seen[tensor] = self.round;
            let parts = &self.facts.tensors[tensor].made_of;
            if parts.is_empty() {
                storage.push(tensor);
            } else {
                open.extend(parts);
            }
        }
        storage.sort_unstable();
        storage
    }
}
