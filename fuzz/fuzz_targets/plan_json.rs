//! A plan file of any bytes through the reader and the checker.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use paracompile_testkit::case::Case;
use paracompile_testkit::fuzz::targets;

static CASE: LazyLock<Case> = LazyLock::new(targets::case);

fuzz_target!(|data: &[u8]| targets::plan_json(data, &CASE));
