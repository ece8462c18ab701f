//! What a run takes in energy, where the machine can tell.
//!
//! Graphics processors of NVIDIA by NVML, processors of Intel and AMD by RAPL; both are looked for when a meter is made, and what is not
//! there is said, never guessed.

mod nvml;

mod rapl;

use std::fmt;

/// The energy meters of this machine.
#[derive(Debug)]
pub struct EnergyMeter {
    gpus: Vec<nvml::Gpu>,
    packages: Vec<rapl::Package>,
    /// Why there is no meter of a kind, a sentence each.
    pub missing: Vec<String>,
}

/// A measurement that runs.
#[derive(Debug)]
#[must_use = "a measurement says nothing before it is stopped"]
pub struct Running<'m> {
    gpus: Vec<nvml::Running<'m>>,
    packages: Vec<rapl::Running<'m>>,
}

/// What a part of the machine took, whoever used it.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// The part.
    pub of: String,
    /// What kind of part.
    pub part: Part,
    /// How it was measured.
    pub by: Method,
    /// How much.
    pub joules: f64,
}

/// A part of a machine with a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A graphics processor with its memory.
    Gpu,
    /// A socket of the host.
    Cpu,
}

/// How energy is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The difference of a counter.
    Counter,
    /// The integral of power, asked for again and again.
    Samples,
}

impl EnergyMeter {
    /// Looks for meters.
    pub fn find() -> Self {
        let mut missing = Vec::new();
        let gpus = nvml::find().unwrap_or_else(|why| {
            missing.push(format!("no meter of graphics processors: {why}"));
            Vec::new()
        });
        let packages = rapl::find(std::path::Path::new(rapl::ROOT)).unwrap_or_else(|why| {
            missing.push(format!("no meter of the host: {why}"));
            Vec::new()
        });
        Self {
            gpus,
            packages,
            missing,
        }
    }

    /// Whether there is nothing to measure with.
    pub fn is_empty(&self) -> bool {
        self.gpus.is_empty() && self.packages.is_empty()
    }

    /// What can be measured, and how.
    pub fn parts(&self) -> Vec<(String, Part, Method)> {
        let gpus = self.gpus.iter().map(nvml::Gpu::part);
        let packages = self.packages.iter().map(rapl::Package::part);
        gpus.chain(packages).collect()
    }

    /// Begins to measure.
    pub fn start(&self) -> Running<'_> {
        Running {
            gpus: self.gpus.iter().map(nvml::Gpu::start).collect(),
            packages: self.packages.iter().map(rapl::Package::start).collect(),
        }
    }
}

impl Running<'_> {
    /// What every part took since the start; a part whose meter failed on the way is left out.
    pub fn stop(self) -> Vec<Energy> {
        let gpus = self.gpus.into_iter().filter_map(nvml::Running::stop);
        let packages = self.packages.into_iter().filter_map(rapl::Running::stop);
        gpus.chain(packages).collect()
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counter => "counter",
            Self::Samples => "samples",
        })
    }
}
