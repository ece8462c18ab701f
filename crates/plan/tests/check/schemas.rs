//! The committed JSON Schemas are those of the types.
//!
//! `UPDATE_SCHEMAS=1 cargo test -p paracompile-plan --test check schemas` writes them anew.

use std::path::PathBuf;

use paracompile_plan::front::Front;
use paracompile_plan::measured::Measured;
use paracompile_plan::plan::Plan;
use paracompile_plan::scheduled::Schedule;
use schemars::{JsonSchema, schema_for};

fn compare<T: JsonSchema>(name: &str) {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/schema", name]
        .iter()
        .collect();
    let mut text = serde_json::to_string_pretty(&schema_for!(T)).unwrap();
    text.push('\n');
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "docs/schema/{name} is not that of the types; UPDATE_SCHEMAS=1 writes it anew"
    );
}

#[test]
fn the_plan_schema_is_that_of_the_types() {
    compare::<Plan>("plan.schema.json");
}

#[test]
fn the_front_schema_is_that_of_the_types() {
    compare::<Front>("front.schema.json");
}

#[test]
fn the_measured_schema_is_that_of_the_types() {
    compare::<Measured>("measured.schema.json");
}

#[test]
fn the_schedule_schema_is_that_of_the_types() {
    compare::<Schedule>("schedule.schema.json");
}
