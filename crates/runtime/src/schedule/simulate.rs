//! A frame, simulated: the policy chooses as it does in a run, and tasks take what was measured.
//!
//! This is list scheduling in the sense of Graham with two kinds of resources: devices, one task at a time each, and the host, which
//! takes the ends of tasks one after another, and chooses and enqueues in between.
//! Left out are what devices do to each other's speed, and what is copied for one grouping and not for another beyond what was measured.

use std::collections::BTreeSet;

use paracompile_frontend::components::Components;

use super::cost::Costs;
use super::overhead::Overheads;
use super::policy::{Choice, Policy, Situation, Unit};

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'s> {
    pub(super) devices: &'s [Unit],
    pub(super) components: &'s Components,
    pub(super) costs: &'s Costs,
    /// Of kernels.
    pub(super) ranks: &'s [i64],
    pub(super) overheads: &'s Overheads,
}

/// Nanoseconds from the first choice to the last callback; nothing where the policy chooses what it may not.
pub(super) fn simulate(policy: &mut dyn Policy, setting: Setting<'_>) -> Option<i64> {
    let all = &setting.components.all;
    let ranks = setting.components.ranks(setting.ranks);
    let mut open: Vec<usize> = all.iter().map(|one| one.parents.len()).collect();
    let mut frontier: BTreeSet<usize> = (0..all.len()).filter(|&one| open[one] == 0).collect();
    let mut running: Vec<Option<usize>> = vec![None; setting.devices.len()];
    let mut begun = vec![0; running.len()];
    // When the host hears of the end of what runs on each device.
    let mut arrivals: BTreeSet<(i64, usize)> = BTreeSet::new();
    let mut now = 0;
    loop {
        loop {
            let ready: Vec<usize> = frontier.iter().copied().collect();
            let is_free = |device: &usize| running[*device].is_none();
            let free: Vec<usize> = (0..running.len()).filter(is_free).collect();
            if ready.is_empty() || free.is_empty() {
                break;
            }
            let choice = policy.select(&Situation {
                frontier: &ready,
                free: &free,
                devices: setting.devices,
                components: setting.components,
                costs: setting.costs,
                ranks: &ranks,
                now,
                begun: &begun,
                running: &running,
            });
            let Some(Choice { component, device }) = choice else {
                break;
            };
            if !free.contains(&device) || !frontier.remove(&component) {
                return None;
            }
            let overhead = setting.overheads.devices[device];
            running[device] = Some(component);
            begun[device] = now;
            let behind = i64::try_from(all[component].kernels.len() - 1).unwrap_or(i64::MAX);
            let start = now + overhead.host_ns;
            now = start + behind * overhead.enqueue_ns;
            let end = start + work(setting, component, device) + behind * overhead.launch_ns;
            let heard = end + overhead.dispatch_ns - overhead.host_ns;
            arrivals.insert((heard, device));
        }
        let Some((heard, device)) = arrivals.pop_first() else {
            return frontier.is_empty().then_some(now);
        };
        now = now.max(heard);
        let over = running[device].take()?;
        for &child in &all[over].children {
            open[child] -= 1;
            if open[child] == 0 {
                frontier.insert(child);
            }
        }
    }
}

/// What the kernels of a component take on a device, one after another.
fn work(setting: Setting<'_>, component: usize, device: usize) -> i64 {
    let kernels = setting.components.all[component].kernels.iter();
    let times = kernels.enumerate().map(|(place, kernel)| {
        let costs = if place == 0 {
            setting.costs
        } else {
            &setting.overheads.within
        };
        costs.nanoseconds[kernel.index()][device]
    });
    times.sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use paracompile_frontend::components::Component;
    use paracompile_frontend::import::kernels::{Device, KernelId};

    use super::super::overhead::Overhead;
    use super::super::policy::Eager;
    use super::*;

    /// Independent tasks of so many kernels each.
    fn components(sizes: &[usize]) -> Components {
        let mut components = Components::default();
        for (task, &size) in sizes.iter().enumerate() {
            let first = components.of.len();
            let kernels = (first..first + size).map(KernelId::from_index);
            components.all.push(Component {
                kernels: kernels.collect(),
                ..Component::default()
            });
            components.of.extend(vec![task; size]);
        }
        components
    }

    fn simulated(policy: &mut dyn Policy, components: &Components, devices: usize) -> Option<i64> {
        simulated_with(policy, components, devices, &vec![0; components.of.len()])
    }

    fn simulated_with(
        policy: &mut dyn Policy,
        components: &Components,
        devices: usize,
        ranks: &[i64],
    ) -> Option<i64> {
        let unit = |index: usize| Unit {
            name: index.to_string(),
            kind: Device::Cpu,
        };
        let units: Vec<Unit> = (0..devices).map(unit).collect();
        let costs = |time| Costs {
            nanoseconds: vec![vec![time; devices]; components.of.len()],
        };
        let overhead = Overhead {
            dispatch_ns: 100,
            host_ns: 30,
            launch_ns: 5,
            enqueue_ns: 2,
        };
        let overheads = Overheads {
            devices: vec![overhead; devices],
            within: costs(6),
        };
        let setting = Setting {
            devices: &units,
            components,
            costs: &costs(10),
            ranks,
            overheads: &overheads,
        };
        simulate(policy, setting)
    }

    #[test]
    fn every_task_pays_its_dispatch_and_every_further_kernel_its_launch() {
        assert_eq!(simulated(&mut Eager, &components(&[1, 1, 1]), 1), Some(330));
        // The first kernel takes 10, and two more 6 with 5 before each.
        assert_eq!(simulated(&mut Eager, &components(&[3]), 1), Some(132));
    }

    #[test]
    fn tasks_of_several_devices_take_turns_at_the_host() {
        // The second begins 30 later, when the host has enqueued the first.
        assert_eq!(simulated(&mut Eager, &components(&[1, 1]), 2), Some(140));
        // With two kernels the host enqueues another one first, and each takes 11 more.
        assert_eq!(simulated(&mut Eager, &components(&[2, 2]), 2), Some(153));
    }

    #[test]
    fn children_wait_for_all_their_parents() {
        let mut three = components(&[1, 1, 1]);
        three.all[2].parents = BTreeSet::from([0, 1]);
        three.all[0].children.insert(2);
        three.all[1].children.insert(2);
        // At 140 both are over, and one more task takes 110.
        assert_eq!(simulated(&mut Eager, &three, 2), Some(250));
    }

    /// What it began, in order.
    struct Recorder(Vec<usize>);

    impl Policy for Recorder {
        fn select(&mut self, situation: &Situation<'_>) -> Option<Choice> {
            let choice = Eager.select(situation);
            self.0.extend(choice.map(|choice| choice.component));
            choice
        }
    }

    #[test]
    fn the_task_with_the_highest_kernel_goes_first() {
        let mut recorder = Recorder(Vec::new());
        // Kernels 0 and 1 are a task, and kernel 2 is one.
        let tasks = components(&[2, 1]);
        simulated_with(&mut recorder, &tasks, 1, &[5, 1, 9]).unwrap();
        assert_eq!(recorder.0, [1, 0]);
    }

    /// Chooses nothing, or what is not there.
    struct Stubborn(Option<Choice>);

    impl Policy for Stubborn {
        fn select(&mut self, _: &Situation<'_>) -> Option<Choice> {
            self.0
        }
    }

    #[test]
    fn what_cannot_begin_has_no_time() {
        let one = components(&[1]);
        assert_eq!(simulated(&mut Stubborn(None), &one, 1), None);
        for (component, device) in [(7, 0), (0, 9)] {
            let choice = Some(Choice { component, device });
            assert_eq!(simulated(&mut Stubborn(choice), &one, 1), None);
        }
    }
}
