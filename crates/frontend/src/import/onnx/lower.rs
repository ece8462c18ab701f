//! From bytes to a verified operator graph: the steps of the importer in order.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use bytes::Bytes;

use crate::ir::{VerifiedGraph, verify};

use super::assemble::{Identity, assemble};
use super::link::{Links, path};
use super::order::order;
use super::propagate::propagate;
use super::{
    ImportError, NodePath, Problem, batch_norm, decode, digest, file, limits, padding, symbols,
};

/// What the user decides about an import.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Values of symbolic dimensions; `INPUT[AXIS]` names one without a name.
    pub dims: BTreeMap<String, u64>,
    /// What becomes of padding and batch normalisation around convolutions.
    pub convolutions: Convolutions,
}

/// What becomes of padding before convolutions and pools, and of batch normalisation behind convolutions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Convolutions {
    /// Both become part of the convolution or pool.
    #[default]
    Fold,
    /// Both stay operators of their own, for runtimes that execute the file node by node.
    AsWritten,
}

/// A network, and what a user should know about how it was read.
#[derive(Debug)]
pub struct Imported {
    /// The network.
    pub graph: VerifiedGraph,
    /// What may surprise, in a fixed order.
    pub warnings: Vec<Warning>,
    /// Nodes of the file that are no operators of the graph.
    pub folded: Folded,
}

/// Nodes of the file that are no operators of the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// Their result is their operand under another name.
    pub identities: Vec<NodePath>,
    /// The same at inference.
    pub dropouts: Vec<NodePath>,
    /// No network input can change their results.
    pub constants: Vec<NodePath>,
    /// No network output depends on them.
    pub dead: Vec<NodePath>,
    /// Their scales and shifts are in the weights of the convolutions before them.
    pub batch_norms: Vec<NodePath>,
    /// The convolutions and pools behind them pad by themselves.
    pub paddings: Vec<NodePath>,
}

/// Something that may surprise, but hinders nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Operators that are placed, but costed by bytes alone, with the number of nodes, in alphabetical order.
    OpaqueOperators(Vec<(String, usize)>),
    /// Values whose declaration says something else than follows from the inputs.
    Contradictions(Vec<Contradiction>),
    /// Results that depend on the values of an input, taken with the shape that the file declares.
    TakenAsDeclared(Vec<String>),
    /// Results whose extents depend on elements, taken as large as they can get.
    TakenAtBound(Vec<String>),
    /// A file format (`ir_version`) that is older or newer than those known.
    OtherFormat {
        /// The file's.
        version: i64,
        /// The oldest one known.
        oldest: i64,
        /// The newest one known.
        newest: i64,
    },
    /// A version of an operator set that is older or newer than those known.
    OtherOperatorSet {
        /// Its domain.
        domain: String,
        /// The version that the model imports.
        version: i64,
        /// The oldest one that is held against the standard.
        oldest: i64,
        /// The newest one known.
        newest: i64,
    },
    /// Inputs that no output depends on; they are left out.
    UnreadInputs(Vec<String>),
    /// Outputs that no input can change; they are left out.
    ConstantOutputs(Vec<String>),
}

/// A declaration that the importer does not follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The tensor's name.
    pub tensor: String,
    /// What the file says.
    pub declared: String,
    /// What follows from the inputs, and is used.
    pub inferred: String,
}

/// Reads the model at `path`; its weights stay in the file.
///
/// ```
/// use paracompile_frontend::import::onnx::{ImportOptions, import};
///
/// let models = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
/// let imported = import(&models.join("squeezenet1_1.onnx"), &ImportOptions::default())?;
/// assert_eq!(imported.graph.ops.len(), 65);
/// assert!(imported.warnings.is_empty());
/// # Ok::<(), paracompile_frontend::import::onnx::ImportError>(())
/// ```
pub fn import(path: &Path, options: &ImportOptions) -> Result<Imported, ImportError> {
    let bytes = file::map(path)?;
    let name = path
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    import_bytes(&name, &bytes, options)
}

/// Reads a model from memory, under the given name.
pub fn import_bytes(
    name: &str,
    bytes: &Bytes,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let model = decode::decode(bytes)?;
    let graph = model.graph.as_ref().ok_or(ImportError::NoGraph)?;
    symbols::check_bindings(graph, &options.dims)?;
    let mut problems = Vec::new();
    let links = Links::of(bytes, graph, &mut problems);
    let order = order(&links.predecessors());
    if !order.cycle.is_empty() {
        let nodes = order
            .cycle
            .iter()
            .map(|&index| path(index, &graph.node[index]));
        problems.push(Problem::Cycle(nodes.collect()));
    }
    let mut propagated = propagate(bytes, &model, &links, &order.nodes, options, &mut problems)?;
    let identity = Identity {
        name: name.to_owned(),
        digest: digest::digest(&model),
        dims: options.dims.clone(),
    };
    if !problems.is_empty() {
        return Err(ImportError::Invalid(shortened(problems)));
    }
    match options.convolutions {
        Convolutions::Fold => {
            padding::fold(graph, &links, &mut propagated);
            batch_norm::fold(graph, &links, &mut propagated);
        }
        Convolutions::AsWritten => {}
    }
    let assembled = assemble(identity, graph, &links, propagated);
    if assembled
        .graph
        .ops
        .iter()
        .all(|(_, op)| op.class().is_none())
    {
        return Err(ImportError::Invalid(vec![Problem::NothingToMap]));
    }
    match verify(assembled.graph) {
        Ok(graph) => Ok(Imported {
            graph,
            warnings: assembled.warnings,
            folded: assembled.folded,
        }),
        Err(violations) => Err(ImportError::Invalid(shortened(
            violations.into_iter().map(Problem::Graph).collect(),
        ))),
    }
}

fn shortened(mut problems: Vec<Problem>) -> Vec<Problem> {
    let more = problems.len().saturating_sub(limits::REPORTED);
    if more > 0 {
        problems.truncate(limits::REPORTED);
        problems.push(Problem::More(more));
    }
    problems
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpaqueOperators(operators) => {
                let listed: Vec<_> = operators
                    .iter()
                    .map(|(op_type, count)| format!("{op_type} ({count})"))
                    .collect();
                write!(
                    f,
                    "operators costed by bytes alone, because they are not known: {}",
                    listed.join(", ")
                )
            }
            Self::Contradictions(contradictions) => {
                f.write_str("declared shapes that do not follow from the inputs are ignored: ")?;
                let listed: Vec<_> = contradictions
                    .iter()
                    .map(|found| {
                        format!(
                            "`{}` is {}, not {}",
                            found.tensor, found.inferred, found.declared
                        )
                    })
                    .collect();
                f.write_str(&listed.join("; "))
            }
            Self::TakenAsDeclared(tensors) => write!(
                f,
                "shapes that depend on the values of an input are taken as declared: {}",
                quoted(tensors)
            ),
            Self::TakenAtBound(tensors) => write!(
                f,
                "results whose extents depend on the values of an input are taken as large as they can get: {}",
                quoted(tensors)
            ),
            Self::OtherFormat {
                version,
                oldest,
                newest,
            } => write!(
                f,
                "the file format is of version {version} (`ir_version`), and versions {oldest} to {newest} are known"
            ),
            Self::OtherOperatorSet {
                domain,
                version,
                oldest,
                newest,
            } => write!(
                f,
                "the model imports version {version} of {domain}, and versions {oldest} to {newest} are known; operators are taken by the nearest of them"
            ),
            Self::UnreadInputs(inputs) => {
                write!(
                    f,
                    "inputs that no output depends on are left out: {}",
                    quoted(inputs)
                )
            }
            Self::ConstantOutputs(outputs) => {
                write!(
                    f,
                    "outputs that no input can change are left out: {}",
                    quoted(outputs)
                )
            }
        }
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
