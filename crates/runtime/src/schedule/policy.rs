//! Who runs next, and where.

use paracompile_frontend::components::{Components, Grouping};
use paracompile_frontend::import::kernels::Device;

use super::cost::Costs;

/// A device as policies see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Device,
}

/// What a policy decides by.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'s> {
    /// Components whose parents have all ended and that have not begun, ascending.
    pub frontier: &'s [usize],
    /// Devices on which nothing runs, ascending.
    pub free: &'s [usize],
    /// All devices.
    pub devices: &'s [Unit],
    /// All components.
    pub components: &'s Components,
    /// What kernels take.
    pub costs: &'s Costs,
    /// Ranks of components: the largest of their kernels.
    pub ranks: &'s [i64],
    /// Nanoseconds since the frame began.
    pub now: i64,
    /// When each device began with what runs there; now for those that are free.
    pub begun: &'s [i64],
    /// The component that runs on each device.
    pub running: &'s [Option<usize>],
}

/// A component and the device that it goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// One of the frontier.
    pub component: usize,
    /// One that is free.
    pub device: usize,
}

/// Chooses what runs where.
pub trait Policy {
    /// How kernels are grouped before anything runs.
    fn grouping(&self) -> Grouping {
        Grouping::Kernels
    }

    /// The next component to begin and its device; nothing where all should wait until a component ends.
    fn select(&mut self, situation: &Situation<'_>) -> Option<Choice>;
}

impl Situation<'_> {
    /// The component of the frontier with the highest rank among those that `may` be chosen; the first of equals.
    pub fn highest(&self, may: impl Fn(usize) -> bool) -> Option<usize> {
        let mut best: Option<usize> = None;
        for &component in self.frontier {
            if may(component) && best.is_none_or(|best| self.ranks[component] > self.ranks[best]) {
                best = Some(component);
            }
        }
        best
    }

    /// What a component takes on a device, one kernel after another.
    pub fn cost(&self, component: usize, device: usize) -> i64 {
        let kernels = self.components.all[component].kernels.iter();
        kernels
            .map(|kernel| self.costs.nanoseconds[kernel.index()][device])
            .sum()
    }

    /// When a device will have ended what runs there.
    pub fn available(&self, device: usize) -> i64 {
        match self.running[device] {
            Some(component) => (self.begun[device] + self.cost(component, device)).max(self.now),
            None => self.now,
        }
    }
}

/// Components and their devices are given; the highest rank goes first.
#[derive(Clone, Debug)]
pub struct Clustering {
    /// How kernels are grouped.
    pub grouping: Grouping,
    /// How many components go to a CPU, the first ones; the specification says it if absent.
    pub on_cpu: Option<usize>,
    /// What the specification prefers for the first kernel of each component.
    pub preferred: Vec<Option<Device>>,
}

impl Clustering {
    /// The device of a component: the first of the preferred kind, or the first at all.
    fn device(&self, component: usize, devices: &[Unit]) -> usize {
        let kind = match self.on_cpu {
            Some(count) if component < count => Device::Cpu,
            Some(_) => Device::Gpu,
            None => self
                .preferred
                .get(component)
                .copied()
                .flatten()
                .unwrap_or(Device::Gpu),
        };
        devices
            .iter()
            .position(|device| device.kind == kind)
            .unwrap_or(0)
    }
}

impl Policy for Clustering {
    fn grouping(&self) -> Grouping {
        self.grouping
    }

    fn select(&mut self, situation: &Situation<'_>) -> Option<Choice> {
        let device = |component| self.device(component, situation.devices);
        let component =
            situation.highest(|component| situation.free.contains(&device(component)))?;
        Some(Choice {
            component,
            device: device(component),
        })
    }
}

/// Every kernel by itself: the highest rank to a free GPU, else to a free CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Eager;

impl Policy for Eager {
    fn select(&mut self, situation: &Situation<'_>) -> Option<Choice> {
        let component = situation.highest(|_| true)?;
        let is_gpu = |device: &&usize| situation.devices[**device].kind == Device::Gpu;
        let device = situation.free.iter().find(is_gpu);
        let device = *device.or_else(|| situation.free.first())?;
        Some(Choice { component, device })
    }
}

/// Every kernel by itself: the highest rank to the device where it ends first, even where that means to wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heft;

impl Policy for Heft {
    fn select(&mut self, situation: &Situation<'_>) -> Option<Choice> {
        let component = situation.highest(|_| true)?;
        let ends =
            |&device: &usize| situation.available(device) + situation.cost(component, device);
        let device = (0..situation.devices.len()).min_by_key(ends)?;
        situation
            .free
            .contains(&device)
            .then_some(Choice { component, device })
    }
}
