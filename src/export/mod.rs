//! Plans in formats that other tools understand: an annotated model, one model a stage, an ARM-CO-UP command line.
//!
//! Models are rewritten field by field: what does not change is a slice of the original bytes, so fields that we do not know survive and
//! weights are never copied in memory.
//! Nothing here opens a file: results are lists of slices and of places in other files, which the caller writes out.
//! `docs/export.md` says what each format means.

mod protobuf;

mod written;

mod rewritten;

mod bodies;

mod external;

mod placement;

mod homes;

mod annotations;

mod stage_plan;

mod stage_manifest;

mod port_types;

mod stage_models;

mod arm_co_up;

mod arm_co_up_networks;

mod error;

pub use annotations::{Annotated, annotate};
pub use arm_co_up::{ArmCoUp, arm_co_up, is_known_to_arm_co_up};
pub use error::{ExportError, No};
pub use external::{Copied, weight_files};
pub use protobuf::Pieces;
pub use rewritten::{rewritten, sorted};
pub use stage_manifest::{ManifestInput, ManifestOutput, ManifestStage, StageManifest};
pub use stage_models::{StageFile, StageModels, stage_models};
