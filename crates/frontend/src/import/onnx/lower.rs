//! From bytes to a verified operator graph: the steps of the importer in order.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::path::Path;

use bytes::Bytes;

use crate::ir::{VerifiedGraph, verify};

use super::assemble::{Identity, assemble};
use super::link::Links;
use super::operator_sets::OperatorSets;
use super::problems::Problems;
use super::program::Known;
use super::propagate::{Propagated, propagate};
use super::wire::ModelProto;
use super::{
    ImportError, NodePath, Problem, batch_norm, decode, digest, file, heads, limits, padding,
    quantized, symbols,
};

/// What the user decides about an import.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Values of symbolic dimensions; `INPUT[AXIS]` names one without a name.
    pub dims: BTreeMap<String, u64>,
    /// What becomes of padding and batch normalisation around convolutions, and of conversions around quantised operators.
    pub convolutions: Convolutions,
    /// Whether the heads of attentions become operators of their own.
    pub heads: Heads,
}

/// Whether the heads of attentions become operators of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heads {
    /// They are computed together, as the file says.
    #[default]
    Together,
    /// They are computed apart, so that they can run side by side.
    Apart {
        /// In so many groups of equally many heads at most.
        most: NonZeroU64,
    },
}

/// What becomes of padding before convolutions and pools, of batch normalisation behind convolutions, and of conversions around quantised operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Convolutions {
    /// They become part of the convolution, pool or quantised operator.
    #[default]
    Fold,
    /// They stay operators of their own, for runtimes that execute the file node by node.
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
    /// Nodes of the file that were rewritten before it was read, in order.
    pub edits: Vec<NodeEdit>,
    /// Whether an extent depends on the values of an input, and was bounded, declared or said.
    pub depends_on_values: bool,
}

/// A node that the importer rewrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEdit {
    /// Its index among the nodes of the graph; new nodes are counted on behind the last one.
    pub node: usize,
    /// The encoded `NodeProto` in its place.
    pub proto: Vec<u8>,
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
    /// The operators around them read or write quantised tensors by themselves; limits among them that quantised types have anyway.
    pub conversions: Vec<NodePath>,
    /// Calls of functions of the model; the nodes that they stand for took their place.
    pub calls: Vec<NodePath>,
    /// Conditions that no input can change; the nodes of the branch that is taken took their place.
    pub conditions: Vec<NodePath>,
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
    /// Extents that depend on the values of an input, taken at their upper bounds, such as `boxes[0] <= 100`.
    TakenAtMost(Vec<String>),
    /// Conditions that depend on an input, costed like the dearest of their branches.
    DearestBranch(Vec<String>),
    /// Loops with the number of iterations that they are costed for.
    Iterations(Vec<(String, u64)>),
    /// Bindings of extents that are known without them.
    UnusedHints(Vec<String>),
    /// No attention has heads that could be operators of their own.
    NoHeads,
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
    import_bytes(&stem(path), &bytes, options)
}

/// The name and the digest of the model at `path`, which nothing has to be known for.
pub fn digest_of(path: &Path) -> Result<(String, String), ImportError> {
    let bytes = file::map(path)?;
    let model = decode::decode(&bytes)?;
    Ok((stem(path), digest::digest(&model)))
}

/// Reads a model from memory, under the given name.
pub fn import_bytes(
    name: &str,
    bytes: &Bytes,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let model = decode::decode(bytes)?;
    let followed = follow(bytes, &model, options)?;
    if !followed.problems.is_empty() {
        return Err(ImportError::Invalid(followed.problems.report(|_| true)));
    }
    finish(name, bytes, &model, followed, options)
}

/// The name of a model: the file's without folder and extension.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// A model with everything inferred that follows from its inputs.
pub(super) struct Followed<'m> {
    pub(super) links: Links<'m>,
    pub(super) propagated: Propagated,
    pub(super) problems: Problems,
}

/// Infers whatever can be inferred.
pub(super) fn follow<'m>(
    bytes: &Bytes,
    model: &'m ModelProto,
    options: &ImportOptions,
) -> Result<Followed<'m>, ImportError> {
    let graph = model.graph.as_ref().ok_or(ImportError::NoGraph)?;
    symbols::check_bindings(graph, &options.dims)?;
    let mut problems = Problems::default();
    let sets = OperatorSets::of(model, &mut problems);
    let mut warnings = sets.warnings(model);
    let mut links = Links::of(bytes, graph, sets, &mut problems);
    let mut propagated = propagate(bytes, model, &mut links, options, &mut problems)?;
    warnings.append(&mut propagated.warnings);
    propagated.warnings = warnings;
    Ok(Followed {
        links,
        propagated,
        problems,
    })
}

/// Rewrites, folds and verifies a model without problems.
pub(super) fn finish(
    name: &str,
    bytes: &Bytes,
    model: &ModelProto,
    followed: Followed<'_>,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let nothing_more = |_: &Known<'_>| ();
    finish_with(name, bytes, model, followed, options, nothing_more).map(|(imported, ())| imported)
}

/// The same, with what `more` makes of everything that is known at the end.
pub(super) fn finish_with<T>(
    name: &str,
    bytes: &Bytes,
    model: &ModelProto,
    followed: Followed<'_>,
    options: &ImportOptions,
    more: impl Fn(&Known<'_>) -> T,
) -> Result<(Imported, T), ImportError> {
    let identity = Identity {
        name: name.to_owned(),
        digest: digest::digest(model),
        dims: options.dims.clone(),
        rewrites: Vec::new(),
    };
    let graph = model.graph.as_ref().ok_or(ImportError::NoGraph)?;
    let edits = heads::expose(graph, &followed, options.heads);
    if edits.is_empty() {
        let (mut imported, more) = fold(identity, followed, options, more)?;
        if options.heads != Heads::Together {
            imported.warnings.push(Warning::NoHeads);
        }
        return Ok((imported, more));
    }
    let mut rewritten = model.clone();
    heads::apply(rewritten.graph.get_or_insert_default(), &edits);
    let followed = follow(bytes, &rewritten, options)?;
    if !followed.problems.is_empty() {
        return Err(ImportError::Invalid(followed.problems.report(|_| true)));
    }
    let rewrites = vec![options.heads.to_string()];
    let (mut imported, more) = fold(
        Identity {
            rewrites,
            ..identity
        },
        followed,
        options,
        more,
    )?;
    let edits = edits.into_iter().map(|edit| NodeEdit {
        node: edit.node,
        proto: edit.proto.to_bytes(),
    });
    imported.edits = edits.collect();
    Ok((imported, more))
}

/// Folds and verifies a model without problems.
fn fold<T>(
    mut identity: Identity,
    followed: Followed<'_>,
    options: &ImportOptions,
    more: impl Fn(&Known<'_>) -> T,
) -> Result<(Imported, T), ImportError> {
    let Followed {
        links,
        mut propagated,
        problems: _none,
    } = followed;
    match options.convolutions {
        Convolutions::Fold => {
            padding::fold(&links, &mut propagated);
            batch_norm::fold(&links, &mut propagated);
            quantized::fold(&links, &mut propagated);
            // Padding whose result was quantised once more is next to its reader now.
            padding::fold(&links, &mut propagated);
        }
        Convolutions::AsWritten => {}
    }
    let folds = [
        ("padding", &propagated.folded.paddings),
        ("batch-norm", &propagated.folded.batch_norms),
    ];
    let names = folds.into_iter().filter(|(_, nodes)| !nodes.is_empty());
    identity
        .rewrites
        .extend(names.map(|(name, _)| name.to_owned()));
    let assembled = assemble(identity, &links, &mut propagated);
    if assembled
        .graph
        .ops
        .iter()
        .all(|(_, op)| op.class().is_none())
    {
        return Err(ImportError::Invalid(vec![Problem::NothingToMap]));
    }
    let more = more(&Known {
        links: &links,
        propagated: &propagated,
        assembled: &assembled,
    });
    match verify(assembled.graph) {
        Ok(graph) => {
            let imported = Imported {
                graph,
                warnings: assembled.warnings,
                folded: assembled.folded,
                edits: Vec::new(),
                depends_on_values: assembled.depends_on_values,
            };
            Ok((imported, more))
        }
        Err(violations) => Err(ImportError::Invalid(shortened(
            violations.into_iter().map(Problem::Graph).collect(),
        ))),
    }
}

/// No more problems than a report lists; the rest is counted.
fn shortened(mut problems: Vec<Problem>) -> Vec<Problem> {
    let more = problems.len().saturating_sub(limits::REPORTED);
    if more > 0 {
        problems.truncate(limits::REPORTED);
        problems.push(Problem::More(more));
    }
    problems
}

impl fmt::Display for Heads {
    /// The name of the rewriting in plans.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Together => Ok(()),
            Self::Apart { most } if *most == NonZeroU64::MAX => f.write_str("expose-heads"),
            Self::Apart { most } => write!(f, "expose-heads={most}"),
        }
    }
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
            Self::TakenAtMost(extents) => write!(
                f,
                "extents that depend on the values of an input are taken at their upper bounds, which --dim can lower: {}",
                extents.join(", ")
            ),
            Self::DearestBranch(nodes) => write!(
                f,
                "conditions that depend on an input cost what the dearest of their branches does: {}",
                quoted(nodes)
            ),
            Self::Iterations(loops) => {
                let listed: Vec<_> = loops
                    .iter()
                    .map(|(name, trips)| format!("`{name}` {trips} times"))
                    .collect();
                write!(
                    f,
                    "loops cost what all iterations of their bodies do: {}",
                    listed.join(", ")
                )
            }
            Self::UnusedHints(names) => write!(
                f,
                "bindings of extents that are known without them are not used: {}",
                quoted(names)
            ),
            Self::NoHeads => f.write_str(
                "no attention was found whose heads could be exposed: two batched products with a softmax between them, of which nothing else is read",
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
