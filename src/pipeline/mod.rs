//! Pipelines: which segments form a stage, and on which processors.

mod pipeline_mapping;

pub use pipeline_mapping::{PipelineMapping, StageMapping, StageProof};
