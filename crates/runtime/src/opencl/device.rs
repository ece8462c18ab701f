//! Which OpenCL devices this machine has.

use std::sync::{Mutex, PoisonError};

use opencl3::device::{
    CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, Device,
};
use opencl3::platform::get_platforms;

use super::{Doing, OpenclError};
use crate::lower::{Target, TargetKind, Tuning};

/// An OpenCL device.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// Index among all devices of the machine, in the order of platforms.
    pub index: usize,
    /// Index of its platform: devices of one can share a context.
    pub platform_index: usize,
    /// Its platform's name.
    pub platform: String,
    /// Its name.
    pub name: String,
    /// Its driver's version.
    pub driver: String,
    /// The version of OpenCL.
    pub version: String,
    /// What it is.
    pub kind: DeviceKind,
    /// Cores of a CPU, multiprocessors of a GPU.
    pub compute_units: usize,
    /// Bytes of global memory.
    pub global_bytes: u64,
    /// The largest single allocation in bytes.
    pub largest_allocation: u64,
    /// Bytes of local memory.
    pub local_bytes: usize,
    /// Most work items of a group.
    pub max_work_group: usize,
    /// Single-precision numbers in a native vector.
    pub vector_width: usize,
    /// Whether host and device share their memory.
    pub shares_host_memory: bool,
    /// Whether it can be split into sub-devices of given numbers of compute units.
    pub splits_by_counts: bool,
    /// Which tiles products work in: the defaults, unless somebody puts what was measured here.
    pub tuning: Tuning,
    /// The device itself.
    pub device: Device,
}

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A processor of the host.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// Anything else.
    Accelerator,
}

impl DeviceKind {
    /// The word for people and in maps of processors to devices.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Accelerator => "accelerator",
        }
    }
}

/// All devices, in a fixed order.
pub fn devices() -> Result<Vec<DeviceInfo>, OpenclError> {
    const NO_PLATFORM: i32 = -1001;
    const NO_DEVICE: i32 = -1;
    // PoCL 3.1 finds its devices when it is first asked, and crashes if another thread asks meanwhile.
    static ASKING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    let platforms = match get_platforms() {
        Ok(platforms) => platforms,
        Err(error) if error.0 == NO_PLATFORM => Vec::new(),
        Err(error) => return Err(OpenclError::of_code(error.0, "asking for platforms")),
    };
    let mut found = Vec::new();
    for (platform_index, platform) in platforms.iter().enumerate() {
        let platform_name = platform.name().doing(|| "asking a platform".to_owned())?;
        let ids = match platform.get_devices(CL_DEVICE_TYPE_ALL) {
            Ok(ids) => ids,
            Err(error) if error.0 == NO_DEVICE => Vec::new(),
            Err(error) => {
                let doing = format!("asking {platform_name} for devices");
                return Err(OpenclError::of_code(error.0, doing));
            }
        };
        for id in ids {
            let index = found.len();
            let device = Device::new(id);
            found.push(describe(index, platform_index, &platform_name, device)?);
        }
    }
    if found.is_empty() {
        return Err(OpenclError::NoDevice);
    }
    Ok(found)
}

fn describe(
    index: usize,
    platform_index: usize,
    platform: &str,
    device: Device,
) -> Result<DeviceInfo, OpenclError> {
    const BY_COUNTS: isize = 0x1087;
    let doing = || format!("asking device {index} of {platform}");
    let partitions = device.partition_properties().unwrap_or_default();
    let vector_width = device.native_vector_width_float().doing(doing)?.max(1) as usize;
    Ok(DeviceInfo {
        index,
        platform_index,
        platform: platform.to_owned(),
        name: device.name().doing(doing)?,
        driver: device.driver_version().doing(doing)?,
        version: device.version().doing(doing)?,
        kind: kind(device.dev_type().doing(doing)?),
        compute_units: device.max_compute_units().doing(doing)? as usize,
        global_bytes: device.global_mem_size().doing(doing)?,
        largest_allocation: device.max_mem_alloc_size().doing(doing)?,
        local_bytes: usize::try_from(device.local_mem_size().doing(doing)?).unwrap_or(usize::MAX),
        max_work_group: device.max_work_group_size().doing(doing)?,
        vector_width,
        tuning: Tuning::of_width(vector_width),
        shares_host_memory: device.host_unified_memory().unwrap_or(false),
        splits_by_counts: partitions.contains(&BY_COUNTS),
        device,
    })
}

fn kind(bits: u64) -> DeviceKind {
    if bits & CL_DEVICE_TYPE_GPU != 0 {
        DeviceKind::Gpu
    } else if bits & CL_DEVICE_TYPE_CPU != 0 {
        DeviceKind::Cpu
    } else {
        debug_assert!(bits & CL_DEVICE_TYPE_ACCELERATOR != 0 || bits != 0);
        DeviceKind::Accelerator
    }
}

impl DeviceInfo {
    /// What lowering has to know of it, or of a sub-device with so many compute units.
    pub fn target(&self, compute_units: usize) -> Target {
        Target {
            kind: match self.kind {
                DeviceKind::Cpu => TargetKind::Cpu,
                DeviceKind::Gpu | DeviceKind::Accelerator => TargetKind::Gpu,
            },
            compute_units,
            vector_width: self.vector_width,
            max_work_group: self.max_work_group,
            local_bytes: self.local_bytes,
            tuning: self.tuning.clone(),
        }
    }
}
