//! What a file is that was given where another one belongs, and which command takes it.
//!
//! Only enough is read to tell the files of this project apart; whether one is sound is for its reader to say.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::read::LARGEST;

/// A file or directory that commands take or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// What `paracompile` writes for a model.
    Run,
    /// Another directory.
    Directory,
    /// An ONNX model, by its name.
    Model,
    /// A plan.
    Plan,
    /// A `front.json`.
    Front,
    /// What was measured of a plan.
    Measured,
    /// A kernel graph by a policy, measured.
    Schedule,
    /// All figures of a validation.
    Validation,
    /// Predictions beside measurements.
    Fidelity,
    /// Costs of operators.
    Costs,
    /// The profile of a chip.
    Profile,
}

/// Fields that tell the files apart.
#[derive(Deserialize)]
struct Head {
    kind: Option<String>,
    tasks: Option<IgnoredAny>,
    plans: Option<IgnoredAny>,
    predictions: Option<IgnoredAny>,
    entries: Option<IgnoredAny>,
    memories: Option<IgnoredAny>,
}

impl FileKind {
    /// What lies at `path`; `None` if it is nothing of the kind or cannot be read.
    pub fn of(path: &Path) -> Option<Self> {
        if path.is_dir() {
            let is_run = path.join("front.json").is_file();
            return Some(if is_run { Self::Run } else { Self::Directory });
        }
        let extension = path.extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("onnx") {
            return Some(Self::Model);
        }
        if !path.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        File::open(path)
            .ok()?
            .take(LARGEST)
            .read_to_end(&mut bytes)
            .ok()?;
        let head: Head = serde_json::from_slice(&bytes).ok()?;
        match head {
            Head {
                kind: Some(kind), ..
            } if kind == "fidelity" => Some(Self::Fidelity),
            Head {
                kind: Some(kind), ..
            } if kind == "measured" => Some(Self::Measured),
            Head {
                kind: Some(kind), ..
            } if kind == "schedule" => Some(Self::Schedule),
            Head {
                predictions: Some(_),
                plans: Some(_),
                ..
            } => Some(Self::Validation),
            Head { plans: Some(_), .. } => Some(Self::Front),
            Head { tasks: Some(_), .. } => Some(Self::Plan),
            Head {
                entries: Some(_), ..
            } => Some(Self::Costs),
            Head {
                memories: Some(_), ..
            } => Some(Self::Profile),
            Head { .. } => None,
        }
    }

    /// What to do with it.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Run => {
                "give one of the files in its plans/ and baselines/; pararun validate runs all of them"
            }
            Self::Directory => "give a file; directories that paracompile wrote have a front.json",
            Self::Model => {
                "map it first: paracompile MODEL --soc PROFILE; then give one of the plans that it writes"
            }
            Self::Plan => {
                "pararun run executes it; paracompile plot, simulate and check take it too"
            }
            Self::Front => {
                "give one of the plan files that it names, in plans/ and baselines/ beside it"
            }
            Self::Measured => "it is drawn with its plan: paracompile plot PLAN --measured FILE",
            Self::Schedule | Self::Fidelity => "paracompile plot draws it",
            Self::Validation => {
                "it is for programs; paracompile plot draws what pararun validate writes with --fidelity"
            }
            Self::Costs => {
                "it belongs behind --costs: paracompile MODEL --soc PROFILE --costs FILE"
            }
            Self::Profile => "it belongs behind --soc: paracompile MODEL --soc FILE",
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run => "a directory that paracompile wrote",
            Self::Directory => "a directory",
            Self::Model => "a model",
            Self::Plan => "a plan",
            Self::Front => "a front",
            Self::Measured => "what pararun run measured of a plan",
            Self::Schedule => "what pararun schedule measured of a kernel graph",
            Self::Validation => "what pararun validate found",
            Self::Fidelity => "a fidelity report",
            Self::Costs => "a file of costs",
            Self::Profile => "the profile of a chip",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_what_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        for (text, kind) in [
            (
                r#"{"kind": "measured", "tasks": []}"#,
                Some(FileKind::Measured),
            ),
            (
                r#"{"kind": "schedule", "kernels": 2}"#,
                Some(FileKind::Schedule),
            ),
            (
                r#"{"kind": "fidelity", "points": []}"#,
                Some(FileKind::Fidelity),
            ),
            (
                r#"{"predictions": "", "plans": []}"#,
                Some(FileKind::Validation),
            ),
            (r#"{"plans": []}"#, Some(FileKind::Front)),
            (r#"{"tasks": []}"#, Some(FileKind::Plan)),
            (r#"{"entries": []}"#, Some(FileKind::Costs)),
            (r#"{"memories": []}"#, Some(FileKind::Profile)),
            ("{}", None),
            ("[", None),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(FileKind::of(&path), kind, "{text}");
        }
        assert_eq!(FileKind::of(folder.path()), Some(FileKind::Directory));
        std::fs::write(folder.path().join("front.json"), "{}").unwrap();
        assert_eq!(FileKind::of(folder.path()), Some(FileKind::Run));
        assert_eq!(FileKind::of(Path::new("a.ONNX")), Some(FileKind::Model));
        assert_eq!(FileKind::of(&folder.path().join("missing.json")), None);
    }
}
