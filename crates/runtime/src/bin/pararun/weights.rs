//! `pararun weights`: what a seed fills, for comparison with other programs.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use paracompile_frontend::import::onnx::{ImportOptions, load};
use paracompile_plan::hexadecimal;
use paracompile_runtime::weights::{Fill, RandomWeights};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::args::WeightsArgs;
use crate::failure::{Failure, Kind};
use crate::terminal::Progress;
use crate::{table, terminal};

/// Runs the command.
pub(crate) fn run(args: &WeightsArgs, interrupted: &AtomicBool) -> Result<ExitCode, Failure> {
    let options = ImportOptions {
        dims: args.dims.iter().cloned().collect(),
        ..ImportOptions::default()
    };
    let program = load(&args.model, &options)
        .map_err(|error| Failure::from_error(Kind::Model, &error).at(&args.model))?;
    let weights = RandomWeights::of(&program, args.weights)
        .map_err(|error| Failure::from_error(Kind::Model, &error).at(&args.model))?;
    let progress = Progress::new(args.json);
    let mut digests = BTreeMap::new();
    for (_, fill) in weights.fills() {
        if interrupted.load(Ordering::Relaxed) {
            progress.clear();
            return Err(Failure::new(Kind::Interrupted, "interrupted"));
        }
        progress.show(&fill.name);
        digests.insert(fill.name.as_str(), digest(fill));
    }
    progress.clear();
    terminal::printed(&if args.json {
        format!("{:#}\n", json!(digests))
    } else {
        let rows = digests.into_iter();
        let rows = rows.map(|(name, digest)| [name.to_owned(), digest]);
        table::table(&["weight", "sha256"], rows)
    })
}

/// SHA-256 of the bytes, in hexadecimal, made piece by piece.
fn digest(fill: &Fill) -> String {
    const PIECE: u64 = 1 << 16;
    let mut hash = Sha256::new();
    let mut piece = Vec::new();
    let mut first = 0;
    while first < fill.elements {
        let count = PIECE.min(fill.elements - first);
        let count_here = usize::try_from(count).expect("a piece is small");
        piece.resize(count_here * fill.element_bytes(), 0);
        fill.write(first, &mut piece);
        hash.update(&piece);
        first += count;
    }
    hexadecimal(&hash.finalize())
}
