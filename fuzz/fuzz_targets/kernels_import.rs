//! A kernel graph of any bytes through the importer, the lowering and the writers.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paracompile_testkit::fuzz::targets;

fuzz_target!(|data: &[u8]| targets::kernels_import(data));
