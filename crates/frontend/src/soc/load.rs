//! Profiles from files, text and names.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::builtin::{builtin_names, builtin_text};
use super::error::SocError;
use super::near::near_matches;
use super::verify::verify;
use super::Soc;

/// The largest profile that is read: thousands of times what a chip needs.
const MOST_BYTES: u64 = 4 << 20;

impl Soc {
    /// The built-in profile of this name, or else the profile file at this path.
    pub fn find(name_or_path: &str) -> Result<Self, SocError> {
        if let Some(soc) = Self::builtin(name_or_path) {
            return Ok(soc);
        }
        let path = Path::new(name_or_path);
        // What looks like a path gets the system's answer; a bare word is more likely a misspelt name.
        if path.exists() || path.components().count() > 1 || path.extension().is_some() {
            return Self::load(path);
        }
        Err(SocError::UnknownProfile {
            name: name_or_path.to_owned(),
            near: near_matches(name_or_path, builtin_names()),
            known: builtin_names().map(str::to_owned).collect(),
        })
    }

    /// The profile file at this path.
    pub fn load(path: &Path) -> Result<Self, SocError> {
        let failed = |source| SocError::Read {
            path: path.to_owned(),
            source,
        };
        let mut bytes = Vec::new();
        File::open(path)
            .map_err(failed)?
            .take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        let origin = path.display().to_string();
        let text = String::from_utf8(bytes).map_err(|wrong| SocError::NotText {
            origin: origin.clone(),
            offset: wrong.utf8_error().valid_up_to(),
        })?;
        Self::from_json(&text, &origin)
    }

    /// The profile that `text` says; `origin` is its name in messages.
    pub fn from_json(text: &str, origin: &str) -> Result<Self, SocError> {
        let too_large = u64::try_from(text.len()).map_or(true, |length| length > MOST_BYTES);
        if too_large {
            return Err(SocError::TooLarge {
                origin: origin.to_owned(),
                limit: MOST_BYTES,
            });
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut profile: Value =
            serde_json::from_str(text).map_err(|wrong| syntax(&wrong, origin))?;
        // The parser bounds the depth, so the recursion of sorting is bounded too.
        profile.sort_all_objects();
        let digest = sha256_hex(profile.to_string().as_bytes());
        verify(&profile, digest).map_err(|problems| SocError::Invalid {
            origin: origin.to_owned(),
            problems,
        })
    }

    /// The built-in profile of this name.
    pub fn builtin(name: &str) -> Option<Self> {
        let text = builtin_text(name)?;
        Some(Self::from_json(text, name).expect("built-in profiles are verified by a test"))
    }

    /// Names of the built-in profiles, sorted.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> + Clone {
        builtin_names()
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn syntax(wrong: &serde_json::Error, origin: &str) -> SocError {
    let text = wrong.to_string();
    // The place is told in front, as compilers do.
    let message = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(message, _)| message);
    SocError::Syntax {
        origin: origin.to_owned(),
        line: wrong.line(),
        column: wrong.column(),
        message: message.to_owned(),
    }
}
