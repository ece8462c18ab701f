//! The importer's decoder beside `onnx-protobuf`, which somebody else wrote: a file that the latter reads and writes again is the same network.
//!
//! Inputs are models that look valid, with bytes changed behind their backs.
//! What is compared is what the checker of plans knows of a network; the digest is left out, since the other decoder does not tell a zero from nothing.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use onnx_protobuf::ModelProto;
use paracompile_frontend::facts::model_facts;
use paracompile_frontend::import::onnx::{ImportOptions, import_bytes};
use paracompile_testkit::fuzz::model::model;
use protobuf::Message;

/// `protobuf` 3.4 recurses once for each byte of nested groups in unknown fields (RUSTSEC-2024-0437), so the stack bounds the input.
const LARGEST: usize = 16 << 10;

fuzz_target!(|data: &[u8]| {
    let (changes, rest) = data.split_at(data.len().min(6));
    let mut file = model(rest);
    for change in changes.chunks_exact(3) {
        let at = usize::from(change[0]) << 8 | usize::from(change[1]);
        // Most inputs stay as they are: the place is behind the end.
        if let Some(byte) = file.get_mut(at) {
            *byte ^= change[2];
        }
    }
    if file.len() > LARGEST {
        return;
    }
    let options = ImportOptions::default();
    let Ok(imported) = import_bytes("fuzz", &Bytes::from(file.clone()), &options) else {
        return;
    };
    // What the importer accepts need not be a model for a decoder that looks at all fields.
    let Ok(other) = ModelProto::parse_from_bytes(&file) else {
        return;
    };
    let again = other
        .write_to_bytes()
        .expect("what was read can be written");
    let again = import_bytes("fuzz", &Bytes::from(again), &options)
        .unwrap_or_else(|error| panic!("read and written again it is refused: {error}"));
    let [mut ours, mut theirs] = [imported, again].map(|imported| model_facts(&imported.graph));
    ours.graph_digest.clear();
    theirs.graph_digest.clear();
    assert_eq!(ours, theirs);
});
