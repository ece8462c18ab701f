//! What a runtime measured of a kernel graph that ran without a plan: a policy chose while it ran.
//!
//! The file is for pictures and for programs that compare policies; it holds one frame in full, that of the median total time.
//! Times are on the clock of the host and begin with the frame; those of devices are known to some microseconds, and what would lie before the frame by that begins with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Nanoseconds;

/// Frames of a kernel graph by a policy, measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// Always [`crate::plan::SCHEMA`].
    pub schema: u32,
    /// Tells this file from others.
    pub kind: ScheduleKind,
    /// The name of the kernel graph.
    pub graph: String,
    /// The policy that chose.
    pub policy: String,
    /// The rule by which kernels became tasks, where one was asked for: a level, or a grouping of small tasks, such as `branch x8 /2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The devices, the preferred ones first.
    pub devices: Vec<ScheduledDevice>,
    /// How many kernels a frame launches.
    pub kernels: u32,
    /// How many components the policy chose among.
    pub components: u32,
    /// How many frames were measured.
    pub frames: u32,
    /// From the first choice to the last callback, median of the frames.
    pub total_ns: Nanoseconds,
    /// From the start of the first command to the end of the last one, median of the frames.
    pub device_span_ns: Nanoseconds,
    /// Total time without the device span, median of the frames.
    pub overhead_ns: Nanoseconds,
    /// What the host spent on choosing and enqueueing, median of the frames.
    pub host_ns: Nanoseconds,
    /// All commands of the frame whose total time is the median, in the order in which they were enqueued.
    pub commands: Vec<ScheduledCommand>,
}

/// The one kind of such a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// A kernel graph by a policy.
    Schedule,
}

/// A device of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledDevice {
    /// By which commands name it.
    pub name: String,
    /// What it is.
    pub device: String,
    /// Its command queues.
    pub queues: u32,
    /// Kernels that ran on it.
    pub kernels: u32,
}

/// A command of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledCommand {
    /// The kernel that it is of.
    pub kernel: String,
    /// The function of the kernel.
    pub function: String,
    /// The component of the kernel, from 0.
    pub component: u32,
    /// What it does.
    pub what: CommandKind,
    /// The name of the device.
    pub device: String,
    /// The queue of the device, from 0.
    pub queue: u32,
    /// From the beginning of the frame.
    pub start_ns: Nanoseconds,
    /// The same.
    pub end_ns: Nanoseconds,
}

/// What a command does.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CommandKind {
    /// The host's data goes to a device.
    Write,
    /// The kernel runs.
    Launch,
    /// A device's data goes to the host.
    Read,
}

/// What a schedule contradicts itself in; the fault of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleFault {
    /// Two devices of one name.
    #[error("devices[{index}]: there is a device `{name}` before")]
    Twice {
        /// The second one.
        index: usize,
        /// Its name.
        name: String,
    },
    /// More queues than a device can be drawn with.
    #[error("devices[{index}].queues: {queues} are more than {MOST_QUEUES}")]
    Queues {
        /// The device.
        index: usize,
        /// Stated.
        queues: u32,
    },
    /// A command is of a device that is not there.
    #[error("commands[{index}].device: there is no device `{name}`")]
    Device {
        /// The command.
        index: usize,
        /// Stated.
        name: String,
    },
    /// A command is on a queue that the device does not have.
    #[error("commands[{index}].queue: {queue}, and the device has {queues}, from 0")]
    Queue {
        /// The command.
        index: usize,
        /// Stated.
        queue: u32,
        /// Queues of the device.
        queues: u32,
    },
    /// A command is of a component that is not there.
    #[error("commands[{index}].component: {component}, and there are {components}, from 0")]
    Component {
        /// The command.
        index: usize,
        /// Stated.
        component: u32,
        /// Components of the schedule.
        components: u32,
    },
    /// A command ends before it starts.
    #[error("commands[{index}].end_ns: before its start")]
    Backwards {
        /// The command.
        index: usize,
    },
}

/// Command queues of a device.
const MOST_QUEUES: u32 = 64;

impl Schedule {
    /// Everything in which the file contradicts itself, in its order.
    pub fn faults(&self) -> Vec<ScheduleFault> {
        let mut faults = Vec::new();
        for (index, device) in self.devices.iter().enumerate() {
            let name = device.name.clone();
            if self.devices[..index].iter().any(|other| other.name == name) {
                faults.push(ScheduleFault::Twice { index, name });
            }
            if device.queues > MOST_QUEUES {
                let queues = device.queues;
                faults.push(ScheduleFault::Queues { index, queues });
            }
        }
        for (index, command) in self.commands.iter().enumerate() {
            let mut devices = self.devices.iter();
            match devices.find(|device| device.name == command.device) {
                None => faults.push(ScheduleFault::Device {
                    index,
                    name: command.device.clone(),
                }),
                Some(device) if command.queue >= device.queues => {
                    faults.push(ScheduleFault::Queue {
                        index,
                        queue: command.queue,
                        queues: device.queues,
                    });
                }
                Some(_) => {}
            }
            if command.component >= self.components {
                faults.push(ScheduleFault::Component {
                    index,
                    component: command.component,
                    components: self.components,
                });
            }
            if command.end_ns < command.start_ns {
                faults.push(ScheduleFault::Backwards { index });
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule() -> Schedule {
        let text = r#"{
            "schema": 1, "kind": "schedule", "graph": "g", "policy": "heft",
            "devices": [{"name": "gpu", "device": "d", "queues": 1, "kernels": 1}],
            "kernels": 1, "components": 1, "frames": 3,
            "total_ns": 9, "device_span_ns": 4, "overhead_ns": 5, "host_ns": 1,
            "commands": [{
                "kernel": "k", "function": "f", "component": 0, "what": "launch",
                "device": "gpu", "queue": 0, "start_ns": 2, "end_ns": 6
            }]
        }"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_schedule_that_agrees_with_itself_has_no_faults() {
        assert_eq!(schedule().faults(), []);
    }

    #[test]
    fn each_contradiction_is_told_with_its_place() {
        let told = |edit: fn(&mut Schedule)| {
            let mut edited = schedule();
            edit(&mut edited);
            let faults = edited.faults();
            let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
            texts.join("; ")
        };
        assert_eq!(
            told(|one| one.devices.push(one.devices[0].clone())),
            "devices[1]: there is a device `gpu` before"
        );
        assert_eq!(
            told(|one| one.devices[0].queues = 65),
            "devices[0].queues: 65 are more than 64"
        );
        assert_eq!(
            told(|one| one.commands[0].device = "npu".to_owned()),
            "commands[0].device: there is no device `npu`"
        );
        assert_eq!(
            told(|one| one.commands[0].queue = 1),
            "commands[0].queue: 1, and the device has 1, from 0"
        );
        assert_eq!(
            told(|one| one.commands[0].component = 1),
            "commands[0].component: 1, and there are 1, from 0"
        );
        assert_eq!(
            told(|one| one.commands[0].end_ns = Nanoseconds::new(1)),
            "commands[0].end_ns: before its start"
        );
    }
}
