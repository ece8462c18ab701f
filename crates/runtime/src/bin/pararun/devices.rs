//! `pararun devices`.

use std::fmt::Write;
use std::process::ExitCode;

use paracompile_plan::Bytes;
use paracompile_runtime::meter::{EnergyMeter, Part};
use paracompile_runtime::opencl::{DeviceInfo, devices};
use serde_json::json;

use crate::args::DevicesArgs;
use crate::failure::Failure;
use crate::{problems, table, terminal};

/// Runs the command.
pub(crate) fn run(args: &DevicesArgs) -> Result<ExitCode, Failure> {
    let devices = devices().map_err(|error| problems::opencl(&error))?;
    let meter = EnergyMeter::find();
    let text = if args.json {
        json_text(&devices, &meter)
    } else {
        people_text(&devices, &meter)
    };
    terminal::printed(&text)
}

fn people_text(devices: &[DeviceInfo], meter: &EnergyMeter) -> String {
    let head = [
        "index", "device", "platform", "kind", "units", "memory", "splits",
    ];
    let rows = devices.iter().map(|device| {
        [
            device.index.to_string(),
            device.name.clone(),
            device.platform.clone(),
            device.kind.name().to_owned(),
            device.compute_units.to_string(),
            Bytes::new(device.global_bytes).to_string(),
            if device.splits_by_counts { "yes" } else { "no" }.to_owned(),
        ]
    });
    let mut text = table::table(&head, rows);
    text.push_str(&maps(devices));
    for (name, part, method) in meter.parts() {
        let part = part_name(part);
        let _ = writeln!(text, "energy: {part} {name}, by {method}");
    }
    for why in &meter.missing {
        let _ = writeln!(text, "energy: {why}");
    }
    text
}

/// What maps to these devices look like.
fn maps(devices: &[DeviceInfo]) -> String {
    let mut text = "\nA plan's processor NAME runs on a device by\n".to_owned();
    for device in devices.iter().take(3) {
        let _ = writeln!(text, "  --map NAME={}", device.index);
    }
    let split = devices
        .iter()
        .find(|device| device.splits_by_counts && device.compute_units > 1);
    if let Some(device) = split {
        let (index, units) = (device.index, device.compute_units);
        let little = (units / 4).max(1);
        let big = units - little;
        let _ = writeln!(
            text,
            "and two processors on parts of device {index} by\n  --map BIG={index}/{big} --map LITTLE={index}/{little}"
        );
    }
    text.push('\n');
    text
}

fn part_name(part: Part) -> &'static str {
    match part {
        Part::Gpu => "gpu",
        Part::Cpu => "cpu",
    }
}

fn json_text(devices: &[DeviceInfo], meter: &EnergyMeter) -> String {
    let devices: Vec<_> = devices
        .iter()
        .map(|device| {
            json!({
                "index": device.index,
                "name": device.name,
                "platform": device.platform,
                "kind": device.kind,
                "compute_units": device.compute_units,
                "memory_bytes": device.global_bytes,
                "largest_allocation_bytes": device.largest_allocation,
                "local_bytes": device.local_bytes,
                "vector_width": device.vector_width,
                "shares_host_memory": device.shares_host_memory,
                "splits": device.splits_by_counts,
                "driver": device.driver,
                "version": device.version,
            })
        })
        .collect();
    let meters: Vec<_> = meter
        .parts()
        .into_iter()
        .map(|(name, part, method)| {
            json!({ "name": name, "part": part_name(part), "by": method.to_string() })
        })
        .collect();
    let all = json!({ "schema": 1, "devices": devices, "meters": meters, "missing_meters": meter.missing });
    format!("{all:#}\n")
}
