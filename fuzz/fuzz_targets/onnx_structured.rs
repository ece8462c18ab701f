//! A model that looks valid through the importer.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paracompile_testkit::fuzz::{memory, targets};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

fuzz_target!(|data: &[u8]| targets::onnx_structured(data));
