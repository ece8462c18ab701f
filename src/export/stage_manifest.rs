//! `stages.json`: which stage takes and gives what.

use serde::Serialize;

use super::stage_plan::{Input, Output};

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

impl ManifestInput {
    pub(super) fn of(input: &Input<'_>) -> Self {
        Self {
            name: input.tensor.to_owned(),
            from_stage: input.from,
        }
    }
}

impl ManifestOutput {
    pub(super) fn of(output: &Output<'_>) -> Self {
        Self {
            name: output.tensor.to_owned(),
            network_output: output.of_network,
            to_stages: output.to.clone(),
        }
    }
}
