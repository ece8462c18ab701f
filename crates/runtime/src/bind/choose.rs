//! From maps to devices, without OpenCL.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_frontend::soc::near_matches;

use super::DeviceMap;
use super::problem::BindProblem;
use crate::opencl::{DeviceInfo, DeviceKind};

/// What choosing has to know of a device; its index is its place in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its platform's name.
    pub platform: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: DeviceKind,
    /// How many compute units it has.
    pub units: usize,
    /// Whether it can be split by counts.
    pub splits: bool,
}

impl From<&DeviceInfo> for Candidate {
    fn from(device: &DeviceInfo) -> Self {
        Self {
            platform: device.platform.clone(),
            name: device.name.clone(),
            kind: device.kind,
            units: device.compute_units,
            splits: device.splits_by_counts,
        }
    }
}

impl Candidate {
    /// A line about it for people.
    pub(super) fn line((index, device): (usize, &Self)) -> String {
        let Self {
            platform,
            name,
            kind,
            units,
            splits,
        } = device;
        let splits = if *splits { ", can be split" } else { "" };
        let kind = kind.name();
        format!("{index}: {name} ({platform}), {kind}, {units} compute units{splits}")
    }
}

/// Where a processor runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Index of the device.
    pub device: usize,
    /// How many of its compute units.
    pub units: usize,
    /// Its place among the parts of the device, in the order of the maps; `None` if it has the whole device.
    pub part: Option<usize>,
}

/// Processors of maps that a plan does not use, in the order of the maps: a plan may use fewer than its chip has.
pub fn spare(processors: &[String], maps: &[DeviceMap]) -> Vec<String> {
    let mut spare: Vec<String> = Vec::new();
    for DeviceMap { processor, .. } in maps {
        if !processors.contains(processor) && !spare.contains(processor) {
            spare.push(processor.clone());
        }
    }
    spare
}

/// Chooses a device for every processor, in their order, and then for the [`spare`] ones, or says all that stands against it.
///
/// Spare processors take their parts of devices like others, so that a part is the same for every plan that runs with the same maps.
pub fn choose(
    processors: &[String],
    maps: &[DeviceMap],
    devices: &[Candidate],
) -> Result<Vec<Choice>, Vec<BindProblem>> {
    let spare = spare(processors, maps);
    let mut problems = Vec::new();
    let mut chosen: BTreeMap<&str, Choice> = BTreeMap::new();
    let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut wholes = BTreeSet::new();
    let mut mapped = BTreeSet::new();
    for map in maps {
        let processor = map.processor.clone();
        if !mapped.insert(map.processor.as_str()) {
            problems.push(BindProblem::MappedTwice { processor });
            continue;
        }
        let device = match matching(&map.device, devices).as_slice() {
            [] => {
                let map = map.to_string();
                problems.push(BindProblem::NoSuchDevice { map });
                continue;
            }
            [device] => *device,
            several => {
                problems.push(BindProblem::Ambiguous {
                    map: map.to_string(),
                    devices: several.to_vec(),
                });
                continue;
            }
        };
        let part = map.units.map(|units| {
            let parts = parts.entry(device).or_default();
            parts.push(units.get());
            parts.len() - 1
        });
        if part.is_none() {
            wholes.insert(device);
        }
        let units = map.units.map_or(devices[device].units, usize::from);
        let choice = Choice {
            device,
            units,
            part,
        };
        chosen.insert(&map.processor, choice);
    }
    for (&device, parts) in &parts {
        check_parts(device, parts, &devices[device], &mut problems);
        if wholes.contains(&device) {
            problems.push(BindProblem::WholeAndPart { device });
        }
    }
    if let ([only], [device], true) = (processors, devices, maps.is_empty()) {
        let units = device.units;
        chosen.insert(
            only,
            Choice {
                device: 0,
                units,
                part: None,
            },
        );
        mapped.insert(only);
    }
    for processor in processors {
        if !mapped.contains(processor.as_str()) {
            problems.push(BindProblem::Unmapped {
                processor: processor.clone(),
                near: misspelt(processor, &spare),
            });
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let choices = processors.iter().chain(&spare).map(|name| {
        let mut choice = chosen[name.as_str()];
        // A part that is all of a device needs no partition, which not every device offers.
        if choice.units == devices[choice.device].units {
            choice.part = None;
        }
        choice
    });
    Ok(choices.collect())
}

/// Names of maps that were perhaps meant for a processor; a name of a letter or two is like every other one.
fn misspelt(processor: &str, spare: &[String]) -> Vec<String> {
    const SHORT: usize = 2;
    if processor.chars().count() <= SHORT {
        return Vec::new();
    }
    near_matches(processor, spare.iter().map(String::as_str))
}

fn check_parts(
    device: usize,
    parts: &[usize],
    candidate: &Candidate,
    problems: &mut Vec<BindProblem>,
) {
    let asked = parts
        .iter()
        .fold(0_usize, |sum, &part| sum.saturating_add(part));
    if asked > candidate.units {
        let has = candidate.units;
        problems.push(BindProblem::TooManyUnits { device, asked, has });
    } else if parts != [candidate.units] && !candidate.splits {
        problems.push(BindProblem::CannotSplit { device });
    }
}

/// The devices that are meant: by index, by kind, by a whole name, or by a part of one.
pub(super) fn matching(wanted: &str, devices: &[Candidate]) -> Vec<usize> {
    let all = |is_meant: &dyn Fn(&Candidate) -> bool| -> Vec<usize> {
        let found = devices.iter().enumerate();
        let found = found.filter(|(_, device)| is_meant(device));
        found.map(|(index, _)| index).collect()
    };
    if wanted.bytes().all(|byte| byte.is_ascii_digit()) {
        let index = wanted.parse().ok();
        return index
            .filter(|&index: &usize| index < devices.len())
            .into_iter()
            .collect();
    }
    let wanted = wanted.to_lowercase();
    let kind = match wanted.as_str() {
        "cpu" => Some(DeviceKind::Cpu),
        "gpu" => Some(DeviceKind::Gpu),
        "accelerator" => Some(DeviceKind::Accelerator),
        _ => None,
    };
    if let Some(kind) = kind {
        return all(&|device| device.kind == kind);
    }
    let whole = all(&|device| device.name.to_lowercase() == wanted);
    if !whole.is_empty() {
        return whole;
    }
    all(&|device| {
        [&device.name, &device.platform]
            .iter()
            .any(|name| name.to_lowercase().contains(&wanted))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Vec<Candidate> {
        let device = |platform: &str, name: &str, kind, units, splits| Candidate {
            platform: platform.to_owned(),
            name: name.to_owned(),
            kind,
            units,
            splits,
        };
        vec![
            device(
                "Portable Computing Language",
                "pthread-skylake",
                DeviceKind::Cpu,
                16,
                true,
            ),
            device("NVIDIA CUDA", "NVIDIA H200", DeviceKind::Gpu, 132, false),
            device("NVIDIA CUDA", "NVIDIA H200 MIG", DeviceKind::Gpu, 16, false),
        ]
    }

    fn chosen(
        processors: &[&str],
        maps: &[&str],
        devices: &[Candidate],
    ) -> Result<Vec<Choice>, Vec<BindProblem>> {
        let processors: Vec<String> = processors.iter().map(|&name| name.to_owned()).collect();
        let maps: Vec<DeviceMap> = maps.iter().map(|map| map.parse().unwrap()).collect();
        choose(&processors, &maps, devices)
    }

    fn choice(device: usize, units: usize, part: Option<usize>) -> Choice {
        Choice {
            device,
            units,
            part,
        }
    }

    #[test]
    fn parts_of_a_device_come_in_the_order_of_the_maps() {
        let found = chosen(
            &["gpu", "big", "little"],
            &["little=CPU/4", "big=0/12", "gpu=1"],
            &machine(),
        );
        let expected = vec![
            choice(1, 132, None),
            choice(0, 12, Some(1)),
            choice(0, 4, Some(0)),
        ];
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn devices_are_found_by_names_too() {
        for (map, device) in [
            ("a=PTHREAD", 0),
            ("a=portable", 0),
            ("a=h200 mig", 2),
            ("a=nvidia h200", 1),
            ("a=cpu", 0),
        ] {
            assert_eq!(
                chosen(&["a"], &[map], &machine()).unwrap()[0].device,
                device,
                "{map}"
            );
        }
    }

    #[test]
    fn the_only_processor_runs_on_the_only_device() {
        let one = &machine()[..1];
        assert_eq!(chosen(&["a"], &[], one), Ok(vec![choice(0, 16, None)]));
        assert!(chosen(&["a", "b"], &[], one).is_err());
        assert!(chosen(&["a"], &[], &machine()).is_err());
    }

    #[test]
    fn processors_that_the_plan_does_not_use_take_their_parts_all_the_same() {
        let maps = ["little=0/4", "big=0/12", "gpu=1"];
        let found = chosen(&["big"], &maps, &machine());
        let expected = vec![
            choice(0, 12, Some(1)),
            choice(0, 4, Some(0)),
            choice(1, 132, None),
        ];
        assert_eq!(found, Ok(expected));
        let problems = chosen(&["big"], &["little=0/12", "big=0/12"], &machine());
        assert!(problems.is_err(), "a spare part counts");
    }

    #[test]
    fn a_name_that_is_spelt_like_an_unmapped_processor_is_told() {
        let problems = chosen(&["big", "little"], &["big=0", "litle=1"], &machine());
        let text: Vec<String> = problems
            .unwrap_err()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            text,
            ["processor `little` is mapped to no device; is it `litle` of --map litle=…?"]
        );
    }

    #[test]
    fn a_part_that_is_everything_needs_no_partition() {
        assert_eq!(
            chosen(&["a"], &["a=1/132"], &machine()),
            Ok(vec![choice(1, 132, None)])
        );
    }

    #[test]
    fn all_problems_are_said_at_once() {
        let maps = [
            "a=0/12", "b=0/8", "a=1", "x=0", "c=gpu", "d=tpu", "e=1/4", "g=2", "h=2/1",
        ];
        let processors = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let problems = chosen(&processors, &maps, &machine()).unwrap_err();
        let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "--map a=…: mapped twice",
                "--map c=gpu: devices 1 and 2 match",
                "--map d=tpu: there is no such device",
                "device 0 has 16 compute units, but the maps ask for 20",
                "device 0 is mapped as a whole and in parts, which would share compute units",
                "device 1 cannot be split into parts of given numbers of compute units",
                "device 2 cannot be split into parts of given numbers of compute units",
                "device 2 is mapped as a whole and in parts, which would share compute units",
                "processor `f` is mapped to no device",
            ]
        );
    }
}
