//! What a file says of itself and what follows from it, also where that is not enough for a mapping.
//!
//! An import asks for everything at once and refuses a model of which something is not known.
//! Whoever looks at a model wants to see first what that is.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;

use crate::ir::{DataType, Shape};

use super::link::{Links, spelled};
use super::lower::{Followed, finish, follow, stem};
use super::propagate::Propagated;
use super::wire::ModelProto;
use super::{ImportError, ImportOptions, Imported, Problem, UnboundSymbol, decode, file, symbols};

/// A valid file, looked at.
#[derive(Debug)]
pub struct Examined {
    /// What the file says of itself.
    pub header: Header,
    /// Network inputs as the file declares them, such as `float [N, 3]`, constants left out.
    pub inputs: Vec<(String, String)>,
    /// Network outputs, also those that no input can change.
    pub outputs: Vec<Output>,
    /// The network, or what is missing for it.
    pub outcome: Outcome,
}

/// What a file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The model's name: the file's without folder and extension.
    pub model: String,
    /// Version of the file format; zero if it is not said.
    pub ir_version: i64,
    /// The exporter and its version; empty if they are not said.
    pub producer: String,
    /// Operator sets, by domain; the default domain has the empty name.
    pub opsets: Vec<(String, i64)>,
    /// Nodes of the top-level graph by operator type, the most frequent first.
    pub operators: Vec<(String, usize)>,
    /// Functions of the model.
    pub functions: usize,
}

/// A network output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Type and shape, if they follow from what is known.
    pub inferred: Option<(DataType, Shape)>,
    /// What the file declares.
    pub declared: String,
}

/// Whether there is enough for a mapping.
#[derive(Debug)]
pub enum Outcome {
    /// There is.
    Complete(Box<Imported>),
    /// Something has to be said, or is not supported.
    Incomplete {
        /// Dimensions of inputs that only a binding can fix.
        unbound: Vec<UnboundSymbol>,
        /// What else is missing; of a model with unbound dimensions, as far as it does not depend on them.
        missing: Vec<Problem>,
    },
}

/// Looks at the model at `path`; an error only if it is no valid model, or the options do not fit it.
pub fn examine(path: &Path, options: &ImportOptions) -> Result<Examined, ImportError> {
    let bytes = file::map(path)?;
    examine_bytes(&stem(path), &bytes, options)
}

/// The same for a model in memory, under the given name.
pub fn examine_bytes(
    name: &str,
    bytes: &Bytes,
    options: &ImportOptions,
) -> Result<Examined, ImportError> {
    let model = decode::decode(bytes)?;
    match follow(bytes, &model, options) {
        Ok(followed) => complete(name, bytes, &model, followed, options),
        Err(ImportError::UnboundSymbols(unbound)) => {
            let missing = missing_besides(bytes, &model, options, &unbound)?;
            Ok(Examined {
                header: Header::of(name, &model),
                inputs: inputs(&model),
                outputs: outputs(&model, None),
                outcome: Outcome::Incomplete { unbound, missing },
            })
        }
        Err(error) => Err(error),
    }
}

fn complete(
    name: &str,
    bytes: &Bytes,
    model: &ModelProto,
    followed: Followed<'_>,
    options: &ImportOptions,
) -> Result<Examined, ImportError> {
    let header = Header::of(name, model);
    let inputs = inputs(model);
    let outputs = outputs(model, Some((&followed.links, &followed.propagated)));
    let incomplete = |missing: Vec<Problem>| Outcome::Incomplete {
        unbound: Vec::new(),
        missing,
    };
    let outcome = if followed.problems.iter().all(Problem::is_limit) {
        if followed.problems.is_empty() {
            match finish(name, bytes, model, followed, options) {
                Ok(imported) => Outcome::Complete(Box::new(imported)),
                Err(ImportError::Invalid(problems)) if problems.iter().all(Problem::is_limit) => {
                    incomplete(problems)
                }
                Err(error) => return Err(error),
            }
        } else {
            incomplete(followed.problems.report(|_| true))
        }
    } else {
        return Err(ImportError::Invalid(followed.problems.report(|_| true)));
    };
    Ok(Examined {
        header,
        inputs,
        outputs,
        outcome,
    })
}

/// What would still be missing if the dimensions were bound: each stands for one, and what follows from that alone is left out.
fn missing_besides(
    bytes: &Bytes,
    model: &ModelProto,
    options: &ImportOptions,
    unbound: &[UnboundSymbol],
) -> Result<Vec<Problem>, ImportError> {
    let mut options = options.clone();
    let stand_ins = unbound.iter().map(|symbol| (symbol.name.clone(), 1));
    options.dims.extend(stand_ins);
    let problems = follow(bytes, model, &options)?.problems;
    if problems.iter().any(Problem::is_certain) {
        return Err(ImportError::Invalid(problems.report(Problem::is_certain)));
    }
    Ok(problems.report(Problem::is_limit))
}

impl Header {
    fn of(name: &str, model: &ModelProto) -> Self {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for node in model.graph.iter().flat_map(|graph| &graph.node) {
            *counts.entry(spelled(node)).or_default() += 1;
        }
        let mut operators: Vec<(String, usize)> = counts.into_iter().collect();
        operators.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        let producer = [&model.producer_name, &model.producer_version];
        let producer: Vec<&str> = producer.iter().map(|text| text.trim()).collect();
        Self {
            model: name.to_owned(),
            ir_version: model.ir_version.unwrap_or(0),
            producer: producer.join(" ").trim().to_owned(),
            opsets: model
                .opset_import
                .iter()
                .map(|opset| (opset.domain.clone(), opset.version))
                .collect(),
            operators,
            functions: model.functions.len(),
        }
    }
}

fn inputs(model: &ModelProto) -> Vec<(String, String)> {
    let Some(graph) = &model.graph else {
        return Vec::new();
    };
    let constants = graph.initializer.iter().map(|tensor| tensor.name.as_str());
    let constants: std::collections::HashSet<&str> = constants.collect();
    let inputs = graph.input.iter();
    inputs
        .filter(|input| !constants.contains(input.name.as_str()))
        .map(|input| (input.name.clone(), symbols::spelled(input)))
        .collect()
}

fn outputs(model: &ModelProto, known: Option<(&Links<'_>, &Propagated)>) -> Vec<Output> {
    let outputs = model.graph.iter().flat_map(|graph| &graph.output);
    outputs
        .map(|output| Output {
            name: output.name.clone(),
            inferred: known.and_then(|(links, propagated)| {
                let slot = propagated.aliases[links.slot(&output.name)?];
                let value = propagated.values[slot].as_ref()?;
                Some((value.dtype, value.shape.clone()))
            }),
            declared: symbols::spelled(output),
        })
        .collect()
}
