//! A trace for `chrome://tracing` and Perfetto: one track a queue, arrows from the source of a transfer to its target.

use std::borrow::Cow;
use std::collections::BTreeMap;

use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::{Action, Plan, QueueKind};
use serde::Serialize;

use super::simulation::{Event, Simulation};

/// Process of the tracks of queues.
const QUEUES: u32 = 1;
/// Process of the tracks of stages.
const STAGES: u32 = 2;

/// One entry of the trace event format; absent fields are left out.
#[derive(Debug, Default, Serialize)]
struct Entry<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    ph: &'static str,
    pid: u32,
    tid: u32,
    /// Microseconds.
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    /// An arrow ends at the event that encloses this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Args<'a>>,
}

#[derive(Debug, Default, Serialize)]
struct Args<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<u32>,
}

#[derive(Serialize)]
struct Trace<'a> {
    #[serde(rename = "displayTimeUnit")]
    display_time_unit: &'static str,
    #[serde(rename = "traceEvents")]
    events: Vec<Entry<'a>>,
}

/// Writes the unpaced stream of a simulation of `plan` as trace events in JSON.
///
/// # Panics
/// If the simulation is not one of this plan.
pub fn trace(plan: &Plan, simulation: &Simulation) -> String {
    let mut tracks = Tracks::default();
    let mut events = Vec::new();
    let mut begun: BTreeMap<(usize, u32), Nanoseconds> = BTreeMap::new();
    let mut spans: Vec<&Event> = simulation.events.iter().collect();
    // Lanes are given out in the order of time.
    spans.sort_by_key(|event| (event.start, event.frame, event.command));
    for event in spans {
        match event.action {
            Action::Begin(stage) => {
                begun.insert((event.frame, stage), event.start);
            }
            Action::End(stage) => {
                let start = begun.get(&(event.frame, stage)).copied();
                events.push(stage_entry(event, start.unwrap_or(event.start)));
            }
            Action::Launch(_) | Action::Send(_) | Action::Receive(_) | Action::Write(_) => {
                let track = tracks.of(event);
                events.push(command_entry(plan, event, track));
                events.extend(arrow(plan, event, track));
            }
        }
    }
    let mut all = tracks.names(plan);
    all.append(&mut events);
    let trace = Trace {
        display_time_unit: "ns",
        events: all,
    };
    serde_json::to_string(&trace).expect("strings and finite numbers are JSON")
}

/// Lanes of each queue: what overlaps on a transfer queue gets another track.
#[derive(Default)]
struct Tracks {
    /// For each queue, its tracks and when each is free.
    lanes: BTreeMap<u32, Vec<(u32, Nanoseconds)>>,
    used: u32,
}

impl Tracks {
    fn of(&mut self, event: &Event) -> u32 {
        let lanes = self
            .lanes
            .entry(event.queue.unwrap_or(u32::MAX))
            .or_default();
        if let Some((track, free)) = lanes.iter_mut().find(|(_, free)| *free <= event.start) {
            *free = event.end;
            return *track;
        }
        self.used += 1;
        lanes.push((self.used, event.end));
        self.used
    }

    fn names<'a>(&self, plan: &'a Plan) -> Vec<Entry<'a>> {
        let mut names = vec![
            name_entry("process_name", QUEUES, 0, "queues".into()),
            name_entry("process_name", STAGES, 0, "stages".into()),
        ];
        for stage in &plan.stages {
            let name = format!("stage {}: {}", stage.id, stage.processors.join(", "));
            names.push(name_entry("thread_name", STAGES, stage.id, name.into()));
        }
        for (&queue, lanes) in &self.lanes {
            for (lane, &(track, _)) in lanes.iter().enumerate() {
                let mut name = match plan.queues.get(queue as usize) {
                    Some(queue) => match queue.kind {
                        QueueKind::Compute => format!("{} compute", queue.processor),
                        QueueKind::Transfer => format!("{} transfer", queue.processor),
                    },
                    None => "no queue".to_owned(),
                };
                if lane > 0 {
                    name = format!("{name} ({})", lane + 1);
                }
                names.push(name_entry("thread_name", QUEUES, track, name.into()));
            }
        }
        names
    }
}

fn name_entry<'a>(what: &'static str, pid: u32, tid: u32, name: Cow<'a, str>) -> Entry<'a> {
    Entry {
        name: what.into(),
        ph: "M",
        pid,
        tid,
        args: Some(Args {
            name: Some(name),
            ..Args::default()
        }),
        ..Entry::default()
    }
}

fn stage_entry<'a>(event: &Event, start: Nanoseconds) -> Entry<'a> {
    Entry {
        name: format!("frame {}", event.frame).into(),
        cat: Some("stage"),
        ph: "X",
        pid: STAGES,
        tid: event.stage,
        ts: microseconds(start),
        dur: Some(microseconds(event.end - start)),
        args: Some(Args {
            frame: Some(event.frame),
            stage: Some(event.stage),
            ..Args::default()
        }),
        ..Entry::default()
    }
}

fn command_entry<'a>(plan: &'a Plan, event: &Event, track: u32) -> Entry<'a> {
    let (category, name) = match event.action {
        Action::Launch(task) => {
            let anchor = plan.tasks[task as usize].operators.first();
            ("task", anchor.map_or("", |operator| &operator.output))
        }
        Action::Send(transfer) => ("send", tensor_of(plan, transfer)),
        Action::Receive(transfer) => ("receive", tensor_of(plan, transfer)),
        Action::Write(buffer) => ("write", plan.buffers[buffer as usize].tensor.as_str()),
        Action::Begin(_) | Action::End(_) => ("marker", ""),
    };
    Entry {
        name: name.into(),
        cat: Some(category),
        ph: "X",
        pid: QUEUES,
        tid: track,
        ts: microseconds(event.start),
        dur: Some(microseconds(event.end - event.start)),
        args: Some(Args {
            frame: Some(event.frame),
            stage: Some(event.stage),
            command: Some(event.command),
            ..Args::default()
        }),
        ..Entry::default()
    }
}

/// One end of the arrow of a transfer.
fn arrow<'a>(plan: &'a Plan, event: &Event, track: u32) -> Option<Entry<'a>> {
    let (transfer, phase, binding) = match event.action {
        Action::Send(transfer) => (transfer, "s", None),
        Action::Receive(transfer) => (transfer, "f", Some("e")),
        Action::Launch(_) | Action::Write(_) | Action::Begin(_) | Action::End(_) => return None,
    };
    Some(Entry {
        name: tensor_of(plan, transfer).into(),
        cat: Some("transfer"),
        ph: phase,
        pid: QUEUES,
        tid: track,
        ts: microseconds(event.start),
        id: Some(event.frame * plan.transfers.len() + transfer as usize),
        bp: binding,
        ..Entry::default()
    })
}

fn tensor_of(plan: &Plan, transfer: u32) -> &str {
    let buffer = plan.transfers[transfer as usize].from_buffer;
    &plan.buffers[buffer as usize].tensor
}

fn microseconds(time: Nanoseconds) -> f64 {
    time.to_seconds() * 1e6
}
