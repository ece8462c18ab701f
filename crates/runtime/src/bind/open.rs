//! Makes the parts of devices that a binding needs.

use opencl3::device::{
    CL_DEVICE_PARTITION_BY_COUNTS, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, SubDevice,
};
use opencl3::types::cl_device_id;

use super::DeviceMap;
use super::choose::{Candidate, choose, matching, spare};
use super::problem::BindError;
use crate::opencl::{DeviceInfo, Doing, OpenclError};
use crate::tune::devices;

/// Every processor of a plan with its device.
///
/// Parts of devices live as long as the process: `PoCL` 3.1 still touches a part when it cleans up behind the last command, and crashes if the part
/// was released meanwhile.
#[derive(Clone, Debug)]
pub struct Binding {
    /// In the order of the plan.
    pub processors: Vec<BoundProcessor>,
    /// Names of processors that were mapped and that the plan does not use.
    pub spare: Vec<String>,
}

/// A processor and its device.
#[derive(Clone, Debug)]
pub struct BoundProcessor {
    /// The plan's name of it.
    pub name: String,
    /// The whole device, of which the processor may be a part.
    pub device: DeviceInfo,
    /// How many compute units it has.
    pub units: usize,
    /// The device or the part of it.
    pub id: cl_device_id,
    /// Whether it is a part.
    pub is_part: bool,
}

// SAFETY: device ids are handles that OpenCL lets every thread use.
#[expect(unsafe_code, reason = "device ids are raw pointers in type alone")]
unsafe impl Send for BoundProcessor {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "device ids are raw pointers in type alone")]
unsafe impl Sync for BoundProcessor {}

/// Binds the processors of a plan to the devices of this machine.
pub fn bind(processors: &[String], maps: &[DeviceMap]) -> Result<Binding, BindError> {
    let devices = devices()?;
    let candidates: Vec<Candidate> = devices.iter().map(Candidate::from).collect();
    let choices = choose(processors, maps, &candidates).map_err(|problems| BindError::Maps {
        problems,
        processors: processors.to_vec(),
        devices: candidates.iter().enumerate().map(Candidate::line).collect(),
        example: example(processors, &candidates),
    })?;
    let mut parts = Vec::new();
    let mut ids: Vec<Option<cl_device_id>> = vec![None; choices.len()];
    for device in &devices {
        let mut of_device: Vec<(usize, usize)> = Vec::new();
        for (processor, choice) in choices.iter().enumerate() {
            if choice.device == device.index && choice.part.is_some() {
                of_device.push((processor, choice.units));
            }
        }
        of_device.sort_by_key(|&(processor, _)| choices[processor].part);
        let counts: Vec<usize> = of_device.iter().map(|&(_, units)| units).collect();
        let split = split(device, &counts)?;
        for (&(processor, _), part) in of_device.iter().zip(split) {
            ids[processor] = Some(part.id());
            parts.push(part);
        }
    }
    parts.into_iter().for_each(std::mem::forget);
    let bound = processors.iter().zip(&choices).zip(ids);
    let bound = bound.map(|((name, choice), id)| BoundProcessor {
        name: name.clone(),
        device: devices[choice.device].clone(),
        units: choice.units,
        id: id.unwrap_or_else(|| devices[choice.device].device.id()),
        is_part: id.is_some(),
    });
    Ok(Binding {
        processors: bound.collect(),
        spare: spare(processors, maps),
    })
}

/// The device that is meant: by index, by kind, or by a part of a name.
pub fn find(wanted: &str) -> Result<DeviceInfo, BindError> {
    let mut devices = devices()?;
    let candidates: Vec<Candidate> = devices.iter().map(Candidate::from).collect();
    match matching(wanted, &candidates).as_slice() {
        [device] => Ok(devices.swap_remove(*device)),
        found => Err(BindError::Device {
            wanted: wanted.to_owned(),
            found: found.to_vec(),
            devices: candidates.iter().enumerate().map(Candidate::line).collect(),
        }),
    }
}

/// Parts of a device with so many compute units each.
fn split(device: &DeviceInfo, counts: &[usize]) -> Result<Vec<SubDevice>, OpenclError> {
    if counts.is_empty() {
        return Ok(Vec::new());
    }
    let doing = || {
        format!(
            "splitting device {} into parts of {counts:?} compute units",
            device.index
        )
    };
    let counts_in_order = counts
        .iter()
        .map(|&count| isize::try_from(count).expect("a device has fewer compute units"));
    let properties: Vec<isize> = std::iter::once(CL_DEVICE_PARTITION_BY_COUNTS)
        .chain(counts_in_order)
        .chain([CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0])
        .collect();
    let parts = device.device.create_sub_devices(&properties).doing(doing)?;
    if parts.len() == counts.len() {
        Ok(parts)
    } else {
        Err(OpenclError::Call {
            doing: doing(),
            name: format!("the driver made {} parts", parts.len()),
        })
    }
}

/// What maps would bind the processors: each gets an equal part of the first device that can be split, or the devices in turn.
fn example(processors: &[String], devices: &[Candidate]) -> Vec<String> {
    let count = processors.len().max(1);
    let split = devices
        .iter()
        .position(|device| device.splits && device.units >= count && count > 1);
    let maps = processors
        .iter()
        .enumerate()
        .map(|(index, name)| match split {
            _ if devices.len() >= count => format!("{name}={index}"),
            Some(device) => format!("{name}={device}/{}", devices[device].units / count),
            None => format!("{name}={}", index % devices.len().max(1)),
        });
    maps.collect()
}
