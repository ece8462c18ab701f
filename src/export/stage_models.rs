//! One ONNX model a stage, which run in order give what the whole model gives, and a manifest of who gives what to whom.
//!
//! Nodes, constants and declared values are the bytes of the file; ports between stages are declared with the types and extents that follow
//! from the inputs.

use std::collections::{BTreeSet, HashMap, HashSet};

use paracompile_plan::plan::Plan;
use serde::Serialize;

use crate::ir::{DataType, Tensor, VerifiedGraph};

use super::ExportError;
use super::external::{Copied, DataFile};
use super::homes::{homes, refuse_torn};
use super::placement::Placement;
use super::protobuf::{Pieces, fields};
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

/// `stages.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageManifest {
    /// The version of this format.
    pub schema: u32,
    /// The network's name.
    pub model: String,
    /// SHA-256 of the network without its weights, as in the plan.
    pub graph_digest: String,
    /// The chip's name.
    pub soc: String,
    /// In the order in which they run.
    pub stages: Vec<ManifestStage>,
}

/// A stage in `stages.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManifestStage {
    /// The model, beside the manifest.
    pub file: String,
    /// The file with its weights, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The processors that the plan gives it.
    pub processors: Vec<String>,
    /// What it takes, in the order of the model's inputs.
    pub inputs: Vec<ManifestInput>,
    /// What it gives, in the order of the model's outputs.
    pub outputs: Vec<ManifestOutput>,
}

/// An input in `stages.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManifestInput {
    /// The tensor.
    pub name: String,
    /// The stage that gives it; `null` for an input of the network.
    pub from_stage: Option<usize>,
}

/// An output in `stages.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManifestOutput {
    /// The tensor.
    pub name: String,
    /// Whether it is an output of the network.
    pub network_output: bool,
    /// The stages that take it.
    pub to_stages: Vec<usize>,
}

/// Cuts a model into the stages of `plan`; `file` holds the model's bytes and `graph` what was imported from them.
pub fn stage_models<'m>(
    plan: &Plan,
    graph: &VerifiedGraph,
    file: &'m [u8],
) -> Result<StageModels<'m>, ExportError> {
    let written = Written::read(file)?;
    let order = written.order()?;
    let placement = Placement::of(plan, written.nodes.len())?;
    let homes = homes(&written, &order, &placement);
    refuse_torn(&written, &homes)?;
    let types = Types::of(&written, &order, graph);
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

impl ManifestInput {
    fn of(input: &super::stage_plan::Input<'_>) -> Self {
        Self {
            name: input.tensor.to_owned(),
            from_stage: input.from,
        }
    }
}

impl ManifestOutput {
    fn of(output: &super::stage_plan::Output<'_>) -> Self {
        Self {
            name: output.tensor.to_owned(),
            network_output: output.of_network,
            to_stages: output.to.clone(),
        }
    }
}

/// Types and extents of tensors of the file, by name.
struct Types<'a, 'm> {
    imported: HashMap<&'a str, &'a Tensor>,
    /// Tensors that folded nodes made from others of the same type, with what was imported.
    same: HashMap<&'m str, &'m str>,
    /// Declarations in the file.
    declared: HashMap<&'m str, &'m [u8]>,
}

impl<'a, 'm> Types<'a, 'm> {
    fn of(written: &Written<'m>, order: &[usize], graph: &'a VerifiedGraph) -> Self {
        let imported: HashMap<&str, &Tensor> = graph
            .tensors
            .iter()
            .map(|(_, tensor)| (tensor.name.as_str(), tensor))
            .collect();
        let mut same = HashMap::new();
        for &index in order {
            let node = &written.nodes[index];
            let keeps_type = ["Identity", "Dropout", "BatchNormalization"]
                .iter()
                .any(|op_type| node.is(op_type));
            if let (true, [input, ..], [output, ..]) = (keeps_type, &*node.inputs, &*node.outputs) {
                let source = same.get(input).copied().unwrap_or(*input);
                same.insert(*output, source);
            }
        }
        let declared = written.values.iter().chain(&written.outputs);
        Self {
            imported,
            same,
            declared: declared.map(|value| (value.name, value.message)).collect(),
        }
    }

    /// The imported tensor of this name, or the one of the same type that folded nodes made it from.
    fn tensor(&self, name: &str) -> Option<&'a Tensor> {
        let source = || self.imported.get(self.same.get(name)?);
        self.imported.get(name).or_else(source).copied()
    }

    /// A declaration of a tensor between stages.
    fn port(&self, name: &'m str) -> Result<Pieces<'m>, ExportError> {
        let found = self.tensor(name).and_then(|tensor| {
            element_type(tensor.dtype).map(|element_type| (element_type, &tensor.shape))
        });
        let Some((element_type, extents)) = found else {
            let declared = self.declared.get(name).copied();
            return declared
                .map(kept)
                .ok_or_else(|| ExportError::UnknownType(name.to_owned()));
        };
        let mut shape = Pieces::default();
        for &extent in &extents.0 {
            let mut dimension = Pieces::default();
            dimension.integer(1, extent);
            shape.message(1, dimension);
        }
        let mut tensor = Pieces::default();
        tensor.integer(1, element_type);
        tensor.message(2, shape);
        let mut kind = Pieces::default();
        kind.message(1, tensor);
        let mut value = Pieces::default();
        value.text(1, name);
        value.message(2, kind);
        Ok(value)
    }
}

/// ONNX's number of an element type; `None` where ours stands for several of ONNX's.
const fn element_type(dtype: DataType) -> Option<u64> {
    Some(match dtype {
        DataType::Float => 1,
        DataType::Uint8 => 2,
        DataType::Int8 => 3,
        DataType::Uint16 => 4,
        DataType::Int16 => 5,
        DataType::Int32 => 6,
        DataType::Int64 => 7,
        DataType::String => 8,
        DataType::Bool => 9,
        DataType::Float16 => 10,
        DataType::Double => 11,
        DataType::Uint32 => 12,
        DataType::Uint64 => 13,
        DataType::Complex64 => 14,
        DataType::Complex128 => 15,
        DataType::BFloat16 => 16,
        DataType::Uint4 => 21,
        DataType::Int4 => 22,
        DataType::Float4 => 23,
        DataType::Uint2 => 25,
        DataType::Int2 => 26,
        DataType::Float8 => return None,
    })
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
                kept(constant)
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
                graph.message(11, kept(input.message));
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
                Some(declared) => kept(declared),
                None => self.types.port(output.tensor)?,
            };
            graph.message(12, value);
        }
        let inner: HashSet<&str> = self.names().collect();
        for value in &written.values {
            let is_port = ports.contains(value.name) || given.contains(value.name);
            if inner.contains(value.name) && !is_port {
                graph.message(13, kept(value.message));
            }
        }
        for quantization in &written.quantizations {
            if inner.contains(quantization.name) {
                graph.message(14, kept(quantization.message));
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
                    Ok(kept(node.message))
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

fn kept(message: &[u8]) -> Pieces<'_> {
    let mut pieces = Pieces::default();
    pieces.keep(message);
    pieces
}
