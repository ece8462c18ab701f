//! NVIDIA's graphics processors: a counter of millijoules where the device has one, else samples of its power.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nvml_wrapper::Nvml;

use super::{Energy, Method, Part};

/// How often power is asked for; devices refresh it less than every ten milliseconds.
const PERIOD: Duration = Duration::from_millis(10);

/// A graphics processor with a meter.
#[derive(Debug)]
pub(super) struct Gpu {
    nvml: Arc<Nvml>,
    index: u32,
    name: String,
    method: Method,
}

/// A measurement of one of them.
#[derive(Debug)]
pub(super) enum Running<'m> {
    /// The counter at the start.
    Counter(&'m Gpu, Option<u64>),
    /// A thread that asks for power until it is told to stop, and returns the energy.
    Samples(&'m Gpu, Sender<()>, JoinHandle<Option<f64>>),
}

/// The graphics processors with a meter, or why there are none.
pub(super) fn find() -> Result<Vec<Gpu>, String> {
    let nvml = Arc::new(Nvml::init().map_err(|error| error.to_string())?);
    let count = nvml.device_count().map_err(|error| error.to_string())?;
    let mut unmetered = None;
    let mut found = Vec::new();
    for index in 0..count {
        let device = match nvml.device_by_index(index) {
            Ok(device) => device,
            Err(error) => {
                unmetered = Some(error.to_string());
                continue;
            }
        };
        let method = match (device.total_energy_consumption(), device.power_usage()) {
            (Ok(_), _) => Method::Counter,
            (Err(_), Ok(_)) => Method::Samples,
            (Err(_), Err(error)) => {
                unmetered = Some(error.to_string());
                continue;
            }
        };
        let name = device.name().unwrap_or_else(|_| format!("GPU {index}"));
        let nvml = Arc::clone(&nvml);
        found.push(Gpu {
            nvml,
            index,
            name,
            method,
        });
    }
    match (found.is_empty(), unmetered) {
        (false, _) => Ok(found),
        (true, Some(error)) => Err(error),
        (true, None) => Err("NVML knows no device".to_owned()),
    }
}

impl Gpu {
    pub(super) fn part(&self) -> (String, Part, Method) {
        (self.name.clone(), Part::Gpu, self.method)
    }

    pub(super) fn start(&self) -> Running<'_> {
        match self.method {
            Method::Counter => Running::Counter(self, self.millijoules()),
            Method::Samples => {
                let (stop, stopped) = mpsc::channel();
                let (nvml, index) = (Arc::clone(&self.nvml), self.index);
                let thread = thread::spawn(move || {
                    let milliwatts = || {
                        let device = nvml.device_by_index(index).ok()?;
                        device.power_usage().ok().map(f64::from)
                    };
                    integral(milliwatts, || match stopped.recv_timeout(PERIOD) {
                        Err(RecvTimeoutError::Timeout) => false,
                        Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
                    })
                });
                Running::Samples(self, stop, thread)
            }
        }
    }

    fn millijoules(&self) -> Option<u64> {
        let device = self.nvml.device_by_index(self.index).ok()?;
        device.total_energy_consumption().ok()
    }
}

/// Joules of a power in milliwatts from now until `is_over`, which waits between samples; by the trapezoid rule.
fn integral(
    mut milliwatts: impl FnMut() -> Option<f64>,
    mut is_over: impl FnMut() -> bool,
) -> Option<f64> {
    let (mut before, mut power) = (Instant::now(), milliwatts()?);
    let mut millijoules = 0.0;
    loop {
        let over = is_over();
        let (now, sample) = (Instant::now(), milliwatts()?);
        millijoules += f64::midpoint(power, sample) * (now - before).as_secs_f64();
        (before, power) = (now, sample);
        if over {
            return Some(millijoules / 1000.0);
        }
    }
}

impl Running<'_> {
    pub(super) fn stop(self) -> Option<Energy> {
        let (gpu, joules) = match self {
            Self::Counter(gpu, start) => {
                let millijoules = gpu.millijoules()?.checked_sub(start?)?;
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "2^53 millijoules are gigawatt-hours"
                )]
                let joules = millijoules as f64 / 1000.0;
                (gpu, joules)
            }
            Self::Samples(gpu, stop, thread) => {
                drop(stop);
                (gpu, thread.join().ok()??)
            }
        };
        Some(Energy {
            of: gpu.name.clone(),
            part: Part::Gpu,
            by: gpu.method,
            joules,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_power_gives_power_times_time() {
        let start = Instant::now();
        let mut left = 3;
        let joules = integral(
            || Some(2_000_000.0),
            || {
                left -= 1;
                left == 0
            },
        );
        let longest = start.elapsed().as_secs_f64() * 2000.0;
        assert!(
            joules.is_some_and(|joules| joules > 0.0 && joules <= longest),
            "{joules:?}"
        );
    }

    #[test]
    fn a_meter_that_fails_says_nothing() {
        assert_eq!(integral(|| None, || true), None);
    }
}
