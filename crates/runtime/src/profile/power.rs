//! What processors draw: read off meters where there are any.
//!
//! A meter sees a graphics processor, or all sockets of the host; so the power of a graphics processor that idles is its own, and that of
//! the host belongs to the board, since nobody can tell which part of the host it is for.
//! What is above it, while one processor alone is busy, is that processor's.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use paracompile_plan::OpClass;
use serde::Serialize;

use super::statistics::real;
use crate::meter::{Energy, EnergyMeter, Part};
use crate::opencl::{DeviceInfo, DeviceKind, OpenclError};

/// How long power is measured: counters are refreshed several times in it.
const WINDOW: Duration = Duration::from_millis(700);
/// How long a device needs to come to rest.
const REST: Duration = Duration::from_millis(500);

/// The power of a processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredPower {
    /// Watts of what the meter sees while nothing runs.
    pub idle_w: f64,
    /// Watts more while operators of a class run.
    pub dynamic_w: BTreeMap<OpClass, f64>,
}

/// The meter that sees a device, if there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceMeter<'m> {
    meter: &'m EnergyMeter,
    device: &'m DeviceInfo,
}

impl<'m> DeviceMeter<'m> {
    /// `None` where nothing sees the device.
    pub(super) fn find(
        meter: &'m EnergyMeter,
        device: &'m DeviceInfo,
    ) -> Result<Option<Self>, OpenclError> {
        let found = Self { meter, device };
        let quiet = found.watts(|| {
            thread::sleep(REST / 10);
            Ok(())
        })?;
        Ok(quiet.map(|_| found))
    }

    /// Watts at rest.
    pub(super) fn idle(self) -> Result<Option<f64>, OpenclError> {
        thread::sleep(REST);
        self.watts(|| {
            thread::sleep(WINDOW);
            Ok(())
        })
    }

    /// Watts while `work` runs again and again.
    pub(super) fn busy(
        self,
        mut work: impl FnMut() -> Result<(), OpenclError>,
    ) -> Result<Option<f64>, OpenclError> {
        work()?;
        self.watts(|| {
            let started = Instant::now();
            while started.elapsed() < WINDOW {
                work()?;
            }
            Ok(())
        })
    }

    fn watts(
        self,
        work: impl FnOnce() -> Result<(), OpenclError>,
    ) -> Result<Option<f64>, OpenclError> {
        let started = Instant::now();
        let running = self.meter.start();
        let done = work();
        let seconds = started.elapsed().as_secs_f64();
        let energies = running.stop();
        done?;
        Ok(joules(&energies, self.device.kind, &self.device.name).map(|joules| joules / seconds))
    }
}

/// What a device took, if it can be told from others.
fn joules(energies: &[Energy], kind: DeviceKind, name: &str) -> Option<f64> {
    let of = |part| energies.iter().filter(move |energy| energy.part == part);
    match kind {
        DeviceKind::Cpu => {
            let sockets = of(Part::Cpu).count();
            (sockets > 0).then(|| of(Part::Cpu).map(|energy| energy.joules).sum())
        }
        DeviceKind::Gpu => {
            let named: Vec<f64> = of(Part::Gpu)
                .filter(|energy| energy.of == name)
                .map(|energy| energy.joules)
                .collect();
            match (named.as_slice(), of(Part::Gpu).count()) {
                (&[own], _) => Some(own),
                ([], 1) => of(Part::Gpu).map(|energy| energy.joules).next(),
                // Which of several equal ones it is cannot be told; the others are idle, so the one that took most is.
                ([], _) => None,
                (several, _) => several.iter().copied().reduce(f64::max),
            }
        }
        DeviceKind::Accelerator => None,
    }
}

/// Repetitions of something that takes `seconds` that keep a device busy between two looks at the clock.
pub(super) fn busy_repetitions(seconds: f64) -> usize {
    const STRETCH: f64 = 0.03;
    (1..200)
        .find(|&count| real(count) * seconds >= STRETCH)
        .unwrap_or(200)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Method;

    fn energy(part: Part, of: &str, joules: f64) -> Energy {
        Energy {
            of: of.to_owned(),
            part,
            by: Method::Counter,
            joules,
        }
    }

    #[test]
    fn the_host_is_all_of_its_sockets_and_a_graphics_processor_the_one_of_its_name() {
        let energies = [
            energy(Part::Cpu, "package-0", 2.0),
            energy(Part::Cpu, "package-1", 3.0),
            energy(Part::Gpu, "A", 5.0),
            energy(Part::Gpu, "B", 7.0),
        ];
        assert_eq!(joules(&energies, DeviceKind::Cpu, "any"), Some(5.0));
        assert_eq!(joules(&energies, DeviceKind::Gpu, "B"), Some(7.0));
        assert_eq!(joules(&energies, DeviceKind::Gpu, "C"), None);
        assert_eq!(joules(&energies[2..3], DeviceKind::Gpu, "C"), Some(5.0));
        assert_eq!(joules(&energies[2..], DeviceKind::Cpu, "any"), None);
        assert_eq!(joules(&energies, DeviceKind::Accelerator, "A"), None);
    }

    #[test]
    fn short_operators_are_repeated_and_long_ones_are_not() {
        assert_eq!(busy_repetitions(1.0), 1);
        assert_eq!(busy_repetitions(0.02), 2);
        assert_eq!(busy_repetitions(0.0), 200);
    }
}
