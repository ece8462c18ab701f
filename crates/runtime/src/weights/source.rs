//! `--weights`, as typed.

use std::fmt;
use std::str::FromStr;

/// Where weights come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightSource {
    /// The model file and what lies beside it.
    #[default]
    File,
    /// Random numbers.
    Random {
        /// The seed.
        seed: u64,
    },
}

impl FromStr for WeightSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seed = match text.split_once(':') {
            None if text == "file" => return Ok(Self::File),
            Some(("random", seed)) => seed,
            _ => return Err("expected `file` or `random:SEED`".to_owned()),
        };
        seed.parse()
            .map(|seed| Self::Random { seed })
            .map_err(|_| format!("the seed `{seed}` is not a number from 0 to {}", u64::MAX))
    }
}

impl fmt::Display for WeightSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => f.write_str("file"),
            Self::Random { seed } => write!(f, "random:{seed}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_read_as_they_are_written() {
        for text in ["file", "random:0", "random:18446744073709551615"] {
            let source: WeightSource = text.parse().unwrap();
            assert_eq!(source.to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "File",
            "random",
            "random:",
            "random:-1",
            "random:x",
            "file:1",
        ] {
            assert!(text.parse::<WeightSource>().is_err(), "{text}");
        }
    }
}
