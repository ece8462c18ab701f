//! Parts of the machine's CPU as the processors of plans.

use std::sync::Once;

use paracompile_plan::Plan;
use paracompile_runtime::execute::Bound;
use paracompile_runtime::opencl::{DeviceInfo, DeviceKind, devices};

static UNITS: Once = Once::new();

/// A part of a CPU for each processor of a plan.
pub(crate) struct Parts {
    /// What the plan's processors are bound to.
    pub(crate) bound: Vec<Bound>,
}

/// The machine's CPU, with at least four compute units.
pub(crate) fn cpu() -> DeviceInfo {
    UNITS.call_once(|| {
        #[expect(unsafe_code, reason = "the driver reads the environment")]
        // SAFETY: every test comes through here before it asks for a device, so no other thread reads the environment meanwhile.
        unsafe {
            std::env::set_var("POCL_MAX_PTHREAD_COUNT", "4");
        }
    });
    let found = devices().expect("these tests need an OpenCL CPU driver, such as PoCL");
    let is_cpu = |device: &DeviceInfo| device.kind == DeviceKind::Cpu && device.splits_by_counts;
    found
        .into_iter()
        .find(is_cpu)
        .expect("a CPU that can be split")
}

/// One compute unit for each processor of `plan`.
pub(crate) fn parts(plan: &Plan) -> Parts {
    const BY_COUNTS: isize = 0x1087;
    let device = cpu();
    let counts = plan.processors.iter().map(|_| 1);
    let properties: Vec<isize> = [BY_COUNTS]
        .into_iter()
        .chain(counts)
        .chain([0, 0])
        .collect();
    let parts = device.device.create_sub_devices(&properties).unwrap();
    let bound = plan
        .processors
        .iter()
        .zip(&parts)
        .map(|(processor, part)| Bound {
            processor: processor.name.clone(),
            device: device.clone(),
            id: part.id(),
            units: 1,
        });
    let bound = bound.collect();
    // As in `paracompile_runtime::bind`: a driver may still touch a part when everything on it has ended.
    parts.into_iter().for_each(std::mem::forget);
    Parts { bound }
}
