//! An operator graph through verifier and partition.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/it/partitioned.rs"]
mod partitioned;

fuzz_target!(|data: &[u8]| partitioned::graph_partition(data));
