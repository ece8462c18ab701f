//! One ONNX model a stage, which run in order give what the whole model gives, and a manifest of who gives what to whom.
//!
//! Nodes, constants and declared values are the bytes of the file; ports between stages are declared with the types and extents that follow
//! from the inputs.

use std::collections::{BTreeSet, HashMap, HashSet};

use paracompile_plan::plan::Plan;

use crate::ir::VerifiedGraph;

use super::ExportError;
use super::external::{Copied, DataFile};
use super::homes::{homes, refuse_torn};
use super::placement::Placement;
use super::port_types::Types;
use super::protobuf::{Pieces, fields};
use super::stage_manifest::{ManifestInput, ManifestOutput, ManifestStage, StageManifest};
use super::stage_plan::{Stage, StageNode, stages};
use super::written::{Callee, Written, is_external, number};

/// The models of a plan's stages.
#[derive(Debug)]
pub struct StageModels<'m> {
    /// In the order in which they run.
    pub files: Vec<StageFile<'m>>,
    /// The file that says how they belong together.
    pub manifest: StageManifest,
}

/// The model of a stage.
#[derive(Debug)]
pub struct StageFile<'m> {
    /// The model's bytes.
    pub model: Pieces<'m>,
    /// What its data file holds, in order; it has none if this is empty.
    pub copied: Vec<Copied>,
}

/// Cuts a model into the stages of `plan`; `file` holds the model's bytes and `graph` what was imported from them.
pub fn stage_models<'m>(
    plan: &Plan,
    graph: &VerifiedGraph,
    file: &'m [u8],
    is_exact: bool,
) -> Result<StageModels<'m>, ExportError> {
    let written = Written::read(file)?;
    let order = written.order()?;
    let placement = Placement::of(plan, written.nodes.len())?;
    let homes = homes(&written, &order, &placement);
    refuse_torn(&written, &homes)?;
    let types = Types::of(&written, &order, graph, is_exact);
    let shape = |name: &str| types.tensor(name).map(|tensor| tensor.shape.0.clone());
    let stages = stages(&written, &order, &homes, plan.stages.len(), &shape)?;
    let mut models = StageModels {
        files: Vec::new(),
        manifest: StageManifest {
            schema: 1,
            model: graph.name.clone(),
            graph_digest: graph.digest.clone(),
            soc: plan.soc.name.clone(),
            stages: Vec::new(),
        },
    };
    for (index, stage) in stages.iter().enumerate() {
        let data_name = format!("stage-{index}.data");
        let writer = Writer {
            written: &written,
            types: &types,
            stage,
        };
        let (model, copied) = writer.model(&data_name)?;
        let processors = plan.stages.get(index);
        models.manifest.stages.push(ManifestStage {
            file: format!("stage-{index}.onnx"),
            data: (!copied.is_empty()).then_some(data_name),
            processors: processors.map_or_else(Vec::new, |stage| stage.processors.clone()),
            inputs: stage.inputs.iter().map(ManifestInput::of).collect(),
            outputs: stage.outputs.iter().map(ManifestOutput::of).collect(),
        });
        models.files.push(StageFile { model, copied });
    }
    Ok(models)
}

/// Writes the model of one stage.
struct Writer<'a, 'm> {
    written: &'a Written<'m>,
    types: &'a Types<'a, 'm>,
    stage: &'a Stage<'m>,
}

impl<'m> Writer<'_, 'm> {
    fn model(&self, data_name: &str) -> Result<(Pieces<'m>, Vec<Copied>), ExportError> {
        let mut data = DataFile::new(data_name);
        let mut graph = Some(self.graph(&mut data)?);
        let functions = self.functions();
        let mut next_function = 0;
        let mut model = Pieces::default();
        for field in &self.written.fields {
            match (field.number, field.delimited()) {
                (number::MODEL_GRAPH, Some(_)) => {
                    if let Some(graph) = graph.take() {
                        model.message(7, graph);
                    }
                }
                // How to train the whole says nothing about a part.
                (number::MODEL_TRAINING, _) => {}
                (number::MODEL_FUNCTION, Some(_)) => {
                    if functions.contains(&next_function) {
                        model.keep(field.whole);
                    }
                    next_function += 1;
                }
                _ => model.keep(field.whole),
            }
        }
        Ok((model, data.into_copied()))
    }

    fn graph(&self, data: &mut DataFile<'_>) -> Result<Pieces<'m>, ExportError> {
        let written = self.written;
        let mut graph = Pieces::default();
        for field in &written.others {
            graph.keep(field.whole);
        }
        for node in &self.stage.nodes {
            graph.message(1, self.node(node)?);
        }
        for &index in &self.stage.constants {
            let constant = written.constants[index].message;
            let constant = if is_external(constant)? {
                data.take_over(constant)?
            } else {
                Pieces::kept(constant)
            };
            graph.message(5, constant);
        }
        let ports: HashSet<&str> = self.stage.inputs.iter().map(|port| port.tensor).collect();
        let given: HashSet<&str> = self.stage.outputs.iter().map(|port| port.tensor).collect();
        for input in &written.inputs {
            // Files of IR version 3 list constants among the inputs too.
            let listed = written.constant(input.name);
            let is_constant = listed.is_some_and(|index| self.stage.constants.contains(&index));
            if ports.contains(input.name) || is_constant {
                graph.message(11, Pieces::kept(input.message));
            }
        }
        for input in self.stage.inputs.iter().filter(|port| port.from.is_some()) {
            graph.message(11, self.types.port(input.tensor)?);
        }
        let declared = written.outputs.iter();
        let declared: HashMap<&str, &'m [u8]> =
            declared.map(|value| (value.name, value.message)).collect();
        for output in &self.stage.outputs {
            let value = match declared.get(output.tensor) {
                Some(declared) => Pieces::kept(declared),
                None => self.types.port(output.tensor)?,
            };
            graph.message(12, value);
        }
        let inner: HashSet<&str> = self.names().collect();
        for value in &written.values {
            let is_port = ports.contains(value.name) || given.contains(value.name);
            if inner.contains(value.name) && !is_port {
                graph.message(13, Pieces::kept(value.message));
            }
        }
        for quantization in &written.quantizations {
            if inner.contains(quantization.name) {
                graph.message(14, Pieces::kept(quantization.message));
            }
        }
        Ok(graph)
    }

    /// The message of a node: the bytes of the file, or a constant instead of a known shape.
    fn node(&self, node: &StageNode) -> Result<Pieces<'m>, ExportError> {
        match node {
            StageNode::Original(index) => {
                let node = &self.written.nodes[*index];
                if node.external.is_empty() {
                    Ok(Pieces::kept(node.message))
                } else {
                    Err(ExportError::ExternalAttribute(node.spelled(*index)))
                }
            }
            StageNode::KnownShape { node, extents } => {
                let node = &self.written.nodes[*node];
                let mut tensor = Pieces::default();
                tensor.integer(1, extents.len() as u64);
                tensor.integer(2, 7);
                for &extent in extents {
                    tensor.integer(7, extent);
                }
                let mut attribute = Pieces::default();
                attribute.text(1, "value");
                attribute.message(5, tensor);
                attribute.integer(20, 4);
                let mut constant = Pieces::default();
                // Name and results stay.
                for field in fields(node.message) {
                    let field = field?;
                    if matches!(field.number, 2 | 3) {
                        constant.keep(field.whole);
                    }
                }
                constant.text(4, "Constant");
                constant.message(5, attribute);
                Ok(constant)
            }
        }
    }

    /// Everything that a node of the stage writes, and its constants.
    fn names(&self) -> impl Iterator<Item = &'m str> + '_ {
        let nodes = self.stage.nodes.iter().flat_map(|node| match node {
            StageNode::Original(index) | StageNode::KnownShape { node: index, .. } => {
                self.written.nodes[*index].writes()
            }
        });
        let constants = self.stage.constants.iter();
        nodes.chain(constants.map(|&index| self.written.constants[index].name))
    }

    /// The functions that the stage's nodes call, and those that these call, by index in the file.
    fn functions(&self) -> BTreeSet<usize> {
        let mut by_name: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
        for (index, function) in self.written.functions.iter().enumerate() {
            let (domain, name, _) = function.callee;
            by_name
                .entry((plain(domain), name))
                .or_default()
                .push(index);
        }
        let mut open: Vec<Callee<'_>> = Vec::new();
        for node in &self.stage.nodes {
            if let StageNode::Original(index) = node {
                open.extend(&self.written.nodes[*index].calls);
            }
        }
        let mut used = BTreeSet::new();
        while let Some((domain, name, _)) = open.pop() {
            // Overloads go together: which one a call means is decided by rules that are not ours.
            for &index in by_name.get(&(plain(domain), name)).into_iter().flatten() {
                if used.insert(index) {
                    open.extend(&self.written.functions[index].calls);
                }
            }
        }
        used
    }
}

/// The default domain has two spellings.
fn plain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}
