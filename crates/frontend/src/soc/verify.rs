//! The verifier of profiles: the only way from JSON to a [`Soc`].
//!
//! Invariants, beside the ranges of numbers:
//!
//! - memories, processors, operating points of a processor and links are unique; there are at most 16 processors;
//! - names fit into file names, and no processor is called `io`;
//! - every reference names something of the profile;
//! - a tensor can go from every location to every other one, network inputs and outputs included;
//! - contention factors are those of members of their set.

use std::collections::BTreeMap;

use paracompile_plan::Bytes;
use paracompile_plan::plan::Source;
use serde_json::Value;

use super::error::{Defect, Problem};
use super::location::settle;
use super::reading::{At, Reading, join};
use super::verify_contention::contention;
use super::verify_link::{links, require_links};
use super::verify_processor::{Draft, memory_field, processor, seconds_field, unique, watts_field};
use super::{Location, Memory, Processor, ProcessorSet, Soc};
use crate::arena::{Arena, Id};

/// Largest number of memories: lists that are compared with each other have to be short.
pub(super) const MOST_MEMORIES: usize = 64;
/// 2^53: every whole number up to here is exact in JSON.
const BYTES: (f64, f64) = (0.0, 9_007_199_254_740_992.0);

/// Ids by name.
pub(super) type Names<'a, T> = BTreeMap<&'a str, Id<T>>;

/// Checks a parsed profile; `digest` is carried along.
pub(super) fn verify(profile: &Value, digest: String) -> Result<Soc, Vec<Problem>> {
    let mut reading = Reading::default();
    let at = At::root(profile);
    if reading.object(&at).is_none() || !reading.is_schema_1(&at) {
        return Err(reading.problems);
    }
    let soc = read(&mut reading, &at, digest);
    match soc {
        Some(soc) if reading.problems.is_empty() => Ok(soc),
        _ => Err(reading.problems),
    }
}

fn read(reading: &mut Reading, at: &At<'_>, digest: String) -> Option<Soc> {
    let name = reading.name_field(at, "name");
    if let Some(description) = at.optional("description") {
        reading.text(&description);
    }
    let (memories, memory_names) = memories(reading, at);
    let io = memory_field(reading, at, "io", &memory_names);
    let (drafts, processor_names) = processors(reading, at, &memory_names);
    let links = links(reading, at, &memory_names);
    let contention = contention(reading, at, &processor_names);
    let enqueue = reading
        .field(at, "host")
        .and_then(|host| seconds_field(reading, &host, "enqueue_s", Source::Assumed));
    let base = reading
        .field(at, "board")
        .and_then(|board| watts_field(reading, &board, "base_w", Source::Assumed));

    let (io, drafts, links, memories) = (io?, drafts?, links?, memories?);
    let homes = drafts.iter().map(|draft| Location {
        memory: draft.memory,
        layout: draft.layout,
    });
    let (locations, homes, io_location) = settle(homes, io);
    let processors = drafts
        .into_iter()
        .zip(homes)
        .map(|(draft, home)| draft.at_home(home))
        .collect();
    require_links(reading, &memories, &processors, &locations, &links);
    Some(Soc {
        name: name?.to_owned(),
        digest,
        io,
        memories,
        processors,
        links,
        contention: contention?,
        enqueue: enqueue?.0,
        base: base?.0,
        synthetic: !reading.grounded,
        locations,
        io_location,
    })
}

fn memories<'a>(reading: &mut Reading, at: &At<'a>) -> (Option<Arena<Memory>>, Names<'a, Memory>) {
    let mut names = BTreeMap::new();
    let Some(list) = reading.some_of(at, "memories", MOST_MEMORIES, "memory") else {
        return (None, names);
    };
    let mut first = BTreeMap::new();
    let mut memories = Vec::new();
    for (index, entry) in list.iter().enumerate() {
        let name = reading.name_field(entry, "name");
        let limit = memory_limit(reading, entry);
        if let Some(name) = name
            && unique(reading, &mut first, "memory", name, entry)
        {
            names.insert(name, Id::from_index(index));
        }
        memories.push(name.zip(limit).map(|(name, limit)| Memory {
            name: name.to_owned(),
            limit,
        }));
    }
    (
        memories
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .map(Arena::from_iter),
        names,
    )
}

/// The size, or the inner `None` for null: no limit.
#[expect(
    clippy::option_option,
    reason = "unreadable and unlimited are different, and this stays within the file"
)]
fn memory_limit(reading: &mut Reading, at: &At<'_>) -> Option<Option<Bytes>> {
    let field = reading.field(at, "bytes")?;
    if field.value.is_null() {
        return Some(None);
    }
    reading
        .count(&field, BYTES)
        .map(|count| Some(Bytes::new(count)))
}

fn processors<'a>(
    reading: &mut Reading,
    at: &At<'a>,
    memories: &Names<'_, Memory>,
) -> (Option<Vec<Draft>>, Names<'a, Processor>) {
    let mut names = BTreeMap::new();
    let Some(list) = reading.some_of(at, "processors", ProcessorSet::CAPACITY, "processor") else {
        return (None, names);
    };
    let mut first = BTreeMap::new();
    let mut drafts = Vec::new();
    for (index, entry) in list.iter().enumerate() {
        let name = reading.name_field(entry, "name");
        if name == Some("io") {
            reading.report_at(join(&entry.path, "name"), Defect::ReservedName);
        }
        if let Some(name) = name
            && unique(reading, &mut first, "processor", name, entry)
        {
            names.insert(name, Id::from_index(index));
        }
        drafts.push(processor(reading, entry, name, memories));
    }
    (drafts.into_iter().collect(), names)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::soc::SocError;
    use crate::soc::file::tests::example;

    /// The problems of the documented example after an edit, each as `place: text`.
    fn problems_after(edit: impl FnOnce(&mut Value)) -> Vec<String> {
        let mut profile: Value = serde_json::from_str(example()).unwrap();
        edit(&mut profile);
        match Soc::from_json(&profile.to_string(), "edited") {
            Ok(_) => Vec::new(),
            Err(SocError::Invalid { problems, .. }) => {
                problems.iter().map(ToString::to_string).collect()
            }
            Err(other) => panic!("{other}"),
        }
    }

    /// The one problem after replacing the value at a JSON pointer.
    fn problem_with(pointer: &str, value: Value) -> String {
        let problems = problems_after(|profile| *profile.pointer_mut(pointer).unwrap() = value);
        assert_eq!(problems.len(), 1, "{pointer}: {problems:#?}");
        problems.into_iter().next().unwrap()
    }

    #[track_caller]
    fn assert_starts(found: &str, expected: &str) {
        assert!(found.starts_with(expected), "{found}\nnot {expected}");
    }

    #[test]
    fn the_example_has_no_problem() {
        assert!(problems_after(|_| ()).is_empty());
    }

    #[test]
    fn numbers_out_of_range_are_told_with_their_place() {
        let point = "/processors/1/operating_points/0";
        for (pointer, place) in [
            (
                format!("{point}/static_w"),
                "processors[1].operating_points[0].static_w",
            ),
            (
                format!("{point}/hertz/value"),
                "processors[1].operating_points[0].hertz.value",
            ),
            (
                format!("{point}/dynamic_w/conv"),
                "processors[1].operating_points[0].dynamic_w.conv",
            ),
            (
                format!("{point}/models/0/coefficients/1"),
                "processors[1].operating_points[0].models[0].coefficients[1]",
            ),
            ("/links/0/latency_s".to_owned(), "links[0].latency_s"),
            ("/links/0/bytes_per_s".to_owned(), "links[0].bytes_per_s"),
            (
                "/links/0/convert_s_per_byte".to_owned(),
                "links[0].convert_s_per_byte",
            ),
            ("/links/0/power_w".to_owned(), "links[0].power_w"),
            (
                "/contention/0/factor/gpu".to_owned(),
                "contention[0].factor.gpu",
            ),
            ("/host/enqueue_s".to_owned(), "host.enqueue_s"),
            ("/board/base_w".to_owned(), "board.base_w"),
            ("/memories/0/bytes".to_owned(), "memories[0].bytes"),
            (
                "/processors/1/sharing/1".to_owned(),
                "processors[1].sharing[1]",
            ),
            (
                "/processors/1/compute_queues_max".to_owned(),
                "processors[1].compute_queues_max",
            ),
        ] {
            let found = problem_with(&pointer, json!(-1.0));
            assert_starts(&found, &format!("{place}: is -1; write a number from "));
            let found = problem_with(&pointer, json!(1e300));
            assert_starts(&found, &format!("{place}: is 1"));
            let found = problem_with(&pointer, json!("many"));
            assert_starts(&found, &format!("{place}: is a string; write a number"));
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            if field.parse::<usize>().is_err() {
                let found = problems_after(|profile| {
                    let parent = profile.pointer_mut(parent).unwrap();
                    parent.as_object_mut().unwrap().remove(field);
                });
                // A slowdown that is left out is no problem: the member is not slowed.
                if parent != "/contention/0/factor" {
                    assert_eq!(found, [format!("{place}: is missing")]);
                }
            }
        }
    }

    #[test]
    fn dispatching_may_be_left_out_and_takes_no_less_than_nothing() {
        let with =
            |value: Value| problems_after(|profile| profile["processors"][1]["dispatch_s"] = value);
        for fine in [
            json!(0),
            json!(2e-4),
            json!({"value": 1e-3, "source": "measured"}),
            json!(null),
        ] {
            assert_eq!(with(fine), [""; 0]);
        }
        for wrong in [json!(-1.0), json!(1e300), json!("soon")] {
            let found = with(wrong).concat();
            assert_starts(&found, "processors[1].dispatch_s: is ");
        }
    }

    #[test]
    fn factors_below_one_are_refused() {
        let found = problem_with("/contention/0/factor/cpu", json!(0.9));
        assert_starts(
            &found,
            "contention[0].factor.cpu: is 0.9; write a number from 1 to",
        );
        let found = problem_with("/processors/1/sharing/1", json!(0.5));
        assert_starts(&found, "processors[1].sharing[1]: is 0.5");
        let found = problem_with("/processors/1/sharing/0", json!(1.1));
        assert_starts(
            &found,
            "processors[1].sharing[0]: is 1.1; the slowdown with one",
        );
    }

    #[test]
    fn factors_go_to_members_alone() {
        let found = problem_with("/contention/0/set", json!(["gpu"]));
        assert_starts(&found, "contention[0].factor.cpu: `cpu` is not in the set");
        let found = problem_with("/contention/0/set/0", json!("cpuu"));
        assert_starts(
            &found,
            "contention[0].set[0]: `cpuu` is not a known processor; did you mean `cpu`?",
        );
        let found = problem_with("/contention/0/set", json!(["cpu", "gpu", "gpu"]));
        assert_starts(
            &found,
            "contention[0].set[2]: processor `gpu` appears twice",
        );
    }

    #[test]
    fn lists_go_together() {
        let found = problem_with("/processors/1/sharing", json!([1]));
        assert_starts(&found, "processors[1].sharing: has 1 entries; write 2");
        let model = "/processors/1/operating_points/0/models/0";
        let found = problem_with(&format!("{model}/coefficients"), json!([1e-3]));
        assert_starts(
            &found,
            "processors[1].operating_points[0].models[0].coefficients: has 1 entries; write 2, one for each feature",
        );
    }

    #[test]
    fn empty_lists_are_refused() {
        for pointer in [
            "/processors/1/sharing",
            "/processors/1/operating_points",
            "/processors/1/operating_points/0/models/0/features",
            "/processors/1/operating_points/0/models/0/coefficients",
            "/contention/0/set",
        ] {
            let found =
                problems_after(|profile| *profile.pointer_mut(pointer).unwrap() = json!([]));
            assert!(
                found
                    .iter()
                    .any(|problem| problem.contains(": is empty; list at least one ")),
                "{pointer}: {found:#?}"
            );
        }
        for (pointer, place) in [("/memories", "memories"), ("/processors", "processors")] {
            let found =
                problems_after(|profile| *profile.pointer_mut(pointer).unwrap() = json!([]));
            assert!(
                found
                    .iter()
                    .any(|problem| problem.starts_with(&format!("{place}: is empty"))),
                "{found:#?}"
            );
        }
    }

    #[test]
    fn names_are_unique_safe_and_not_io() {
        let found = problems_after(|profile| {
            let memories = profile["memories"].as_array_mut().unwrap();
            memories.push(json!({ "name": "dram", "bytes": null }));
        });
        assert_eq!(found.len(), 1);
        assert_starts(
            &found[0],
            "memories[2]: memory `dram` appears twice, first at memories[0]",
        );
        let found = problems_after(|profile| profile["processors"][1]["name"] = json!("cpu"));
        assert!(
            found.iter().any(|problem| problem.starts_with(
                "processors[1]: processor `cpu` appears twice, first at processors[0]"
            )),
            "{found:#?}"
        );
        let found = problems_after(|profile| profile["processors"][1]["name"] = json!("io"));
        assert!(
            found
                .iter()
                .any(|problem| problem.starts_with("processors[1].name: the name `io` is taken")),
            "{found:#?}"
        );
        let found = problems_after(|profile| profile["processors"][1]["name"] = json!("../gpu"));
        assert!(
            found.iter().any(|problem| problem
                .starts_with("processors[1].name: `../gpu` does not fit into file names")),
            "{found:#?}"
        );
        let found = problem_with("/processors/0/operating_points/1/name", json!("fast"));
        assert_starts(
            &found,
            "processors[0].operating_points[1]: operating point `fast` appears twice",
        );
    }

    #[test]
    fn at_most_16_processors_are_read() {
        let found = problems_after(|profile| {
            let processors = profile["processors"].as_array_mut().unwrap();
            for index in 2..17 {
                let mut processor = processors[1].clone();
                processor["name"] = json!(format!("gpu{index}"));
                processors.push(processor);
            }
        });
        assert_eq!(
            found,
            ["processors: has 17 entries; at most 16 are allowed"]
        );
    }

    #[test]
    fn words_of_the_schema_are_suggested() {
        let model = "/processors/1/operating_points/0/models/0";
        let place = "processors[1].operating_points[0].models[0]";
        let found = problem_with(&format!("{model}/features/1"), json!("mac"));
        assert_starts(
            &found,
            &format!("{place}.features[1]: `mac` is not a known feature; did you mean `macs`?"),
        );
        let found = problem_with(&format!("{model}/class"), json!("softmx"));
        assert_starts(
            &found,
            &format!(
                "{place}.class: `softmx` is not a known operator class; did you mean `softmax`?"
            ),
        );
        let found = problem_with(&format!("{model}/dtype"), json!("flaot"));
        assert_starts(
            &found,
            &format!("{place}.dtype: `flaot` is not a known element type; did you mean `float`"),
        );
        let found = problem_with(&format!("{model}/combine"), json!("mean"));
        assert_starts(
            &found,
            &format!("{place}.combine: `mean` is not a known combination; known: sum, max"),
        );
        let found = problem_with(&format!("{model}/source"), json!("measurd"));
        assert_starts(
            &found,
            &format!("{place}.source: `measurd` is not a known source; did you mean `measured`?"),
        );
        let found = problem_with("/processors/1/kind", json!("tpu"));
        assert_starts(
            &found,
            "processors[1].kind: `tpu` is not a known kind of processor",
        );
        let found = problem_with("/processors/1/layout", json!("nchv"));
        assert_starts(
            &found,
            "processors[1].layout: `nchv` is not a known layout; did you mean `nchw`?",
        );
        let found = problem_with("/processors/1/memory", json!("vrom"));
        assert_starts(
            &found,
            "processors[1].memory: `vrom` is not a known memory; did you mean `vram`?",
        );
        let found = problem_with("/io", json!("dran"));
        assert_starts(
            &found,
            "io: `dran` is not a known memory; did you mean `dram`?",
        );
        let found = problem_with("/processors/0/fuses/0", json!("activations"));
        assert_starts(
            &found,
            "processors[0].fuses[0]: `activations` is not a known operator class; did you mean `activation`?",
        );
    }

    #[test]
    fn classes_features_and_links_are_told_once() {
        let found = problem_with(
            "/processors/0/operating_points/0/models/2/class",
            json!("conv"),
        );
        assert_starts(
            &found,
            "processors[0].operating_points[0].models[2]: model of class `conv` appears twice, first at processors[0].operating_points[0].models[0]",
        );
        let found = problem_with(
            "/processors/1/operating_points/0/models/0/features/1",
            json!("launch"),
        );
        assert_starts(
            &found,
            "processors[1].operating_points[0].models[0].features[1]: feature `launch` appears twice",
        );
        let found = problems_after(|profile| {
            let links = profile["links"].as_array_mut().unwrap();
            links.push(links[0].clone());
        });
        assert_eq!(found.len(), 1);
        assert_starts(
            &found[0],
            "links[2]: link `dram to vram` appears twice, first at links[0]",
        );
    }

    #[test]
    fn fused_classes_and_classes_with_models_are_complete() {
        let found = problem_with("/processors/1/fuses", json!(["softmax"]));
        assert_starts(
            &found,
            "processors[1].operating_points[0].models: there is no model for class `softmax`",
        );
        let found = problem_with("/processors/1/fuses", json!(["opaque"]));
        assert_starts(
            &found,
            "processors[1].fuses[0]: `opaque` cannot be free behind another operator",
        );
        let power = "/processors/1/operating_points/0/dynamic_w";
        let found = problem_with(power, json!({ "softmax": 1.0 }));
        assert_eq!(
            found,
            "processors[1].operating_points[0].dynamic_w.conv: is missing"
        );
        let found = problem_with(power, json!({ "conv": 1.0, "cnv": 1.0 }));
        assert_starts(
            &found,
            "processors[1].operating_points[0].dynamic_w.cnv: `cnv` is not a known operator class; did you mean `conv`?",
        );
    }

    #[test]
    fn a_memory_pair_without_a_link_is_named_both_ways() {
        let found = problems_after(|profile| profile["links"] = json!([]));
        assert_eq!(found.len(), 2, "{found:#?}");
        assert_starts(
            &found[0],
            "links: no link from memory `dram` to memory `vram`, which tensors take between `cpu` writes and `gpu` reads",
        );
        assert_starts(
            &found[1],
            "links: no link from memory `vram` to memory `dram`",
        );
    }

    #[test]
    fn network_inputs_need_a_way_from_io_even_where_no_processor_is() {
        let found = problems_after(|profile| {
            let memories = profile["memories"].as_array_mut().unwrap();
            memories.push(json!({ "name": "disk", "bytes": null }));
            profile["io"] = json!("disk");
        });
        let pairs = [
            ("dram", "disk"),
            ("vram", "disk"),
            ("disk", "dram"),
            ("disk", "vram"),
        ];
        assert_eq!(found.len(), pairs.len(), "{found:#?}");
        for (from, to) in pairs {
            let start = format!("links: no link from memory `{from}` to memory `{to}`");
            let problem = found
                .iter()
                .find(|problem| problem.starts_with(&start))
                .unwrap();
            assert!(problem.contains("network inputs and outputs"), "{problem}");
        }
    }

    #[test]
    fn two_layouts_in_one_memory_need_a_link_to_itself() {
        let one_memory = |profile: &mut Value| {
            profile["processors"][1]["memory"] = json!("dram");
            profile["links"] = json!([]);
        };
        let found = problems_after(one_memory);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_starts(
            &found[0],
            "links: no link from memory `dram` to memory `dram`, which tensors change layout on",
        );
        let found = problems_after(|profile| {
            one_memory(profile);
            profile["processors"][1]["layout"] = json!("any");
        });
        assert!(found.is_empty(), "{found:#?}");
    }

    #[test]
    fn problems_everywhere_come_together() {
        let found = problems_after(|profile| {
            profile["name"] = json!("a/b");
            profile["memories"][1] = json!(5);
            profile["processors"][0]["kind"] = json!(null);
            profile["links"][0]["bytes_per_s"] = json!(0);
            profile.as_object_mut().unwrap().remove("board");
        });
        let places: Vec<&str> = found
            .iter()
            .map(|problem| problem.split(':').next().unwrap())
            .collect();
        for place in [
            "name",
            "memories[1]",
            "processors[0].kind",
            "links[0].bytes_per_s",
            "board",
        ] {
            assert!(places.contains(&place), "{place} not in {found:#?}");
        }
    }

    #[test]
    fn another_schema_is_refused_by_its_number() {
        let found = problem_with("/schema", json!(2));
        assert_eq!(found, "schema: is 2; this version reads schema 1");
        let found = problem_with("/schema", json!("1"));
        assert_starts(&found, "schema: is \"1\"");
        let found = problems_after(|profile| {
            profile.as_object_mut().unwrap().remove("schema");
        });
        assert_eq!(found, ["schema: is missing"]);
    }
}
