//! JSON trace events: a process is a device, a thread a queue, a complete event a task.

use std::io::{self, Write};
use std::path::Path;

use paracompile_plan::{WriteError, write_with};
use serde_json::{Value, json};

use super::event::Trace;

/// Writes a trace for Perfetto; the file is there as a whole or not at all.
pub fn write_chrome(path: &Path, trace: &Trace) -> Result<(), WriteError> {
    write_with(path, |out| write(out, trace))
}

fn write(out: &mut dyn Write, trace: &Trace) -> io::Result<()> {
    let mut titles: Vec<String> = Vec::new();
    let mut separator = "";
    let mut put = |out: &mut dyn Write, event: &Value| {
        let written = write!(out, "{separator}\n{event}");
        separator = ",";
        written
    };
    write!(out, "{{\"displayTimeUnit\": \"ns\", \"traceEvents\": [")?;
    for (thread, row) in trace.rows().iter().enumerate() {
        let title = trace.lanes[row.lane].title();
        let process = titles
            .iter()
            .position(|known| *known == title)
            .unwrap_or(titles.len());
        if process == titles.len() {
            put(
                out,
                &meta("process_name", process, 0, &json!({ "name": title })),
            )?;
            put(
                out,
                &meta(
                    "process_sort_index",
                    process,
                    0,
                    &json!({ "sort_index": process }),
                ),
            )?;
            titles.push(title);
        }
        let name = row.title(trace);
        put(
            out,
            &meta("thread_name", process, thread, &json!({ "name": name })),
        )?;
        put(
            out,
            &meta(
                "thread_sort_index",
                process,
                thread,
                &json!({ "sort_index": thread }),
            ),
        )?;
        for event in &row.events {
            let event = json!({
                "ph": "X",
                "pid": process,
                "tid": thread,
                "name": event.name,
                "cat": format!("stage {}", event.stage),
                "ts": microseconds(event.start_ns),
                "dur": microseconds(event.end() - event.start_ns),
                "args": { "frame": event.frame, "stage": event.stage },
            });
            put(out, &event)?;
        }
    }
    writeln!(out, "\n]}}")
}

fn meta(name: &str, process: usize, thread: usize, arguments: &Value) -> Value {
    json!({ "ph": "M", "pid": process, "tid": thread, "name": name, "args": arguments })
}

/// The unit of the format; nanoseconds stay exact for months.
fn microseconds(nanoseconds: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a run takes less than 2^53 nanoseconds, 104 days"
    )]
    let nanoseconds = nanoseconds as f64;
    nanoseconds / 1000.0
}

#[cfg(test)]
mod tests {
    use super::super::event::{Lane, LaneKind, TraceEvent};
    use super::*;

    fn trace() -> Trace {
        let lane = |device: &str, queue: &str, kind| Lane {
            device: device.to_owned(),
            queue: queue.to_owned(),
            kind,
        };
        let event = |lane, name: &str, start_ns, end_ns| TraceEvent {
            lane,
            name: name.to_owned(),
            frame: 3,
            stage: 1,
            start_ns,
            end_ns,
        };
        Trace {
            lanes: vec![
                lane("big", "compute 0", LaneKind::Measured),
                lane("big", "compute 0", LaneKind::Predicted),
                lane("big", "transfer", LaneKind::Measured),
            ],
            events: vec![
                event(0, "a \"quoted\"\n", 1_001, 3_002),
                event(2, "x", 0, 10),
                event(2, "y", 5, 20),
                event(1, "a", 0, 2_000),
                event(2, "backwards", 30, 20),
            ],
        }
    }

    #[test]
    fn devices_are_processes_and_queues_threads() {
        let mut text = Vec::new();
        write(&mut text, &trace()).unwrap();
        let read: Value = serde_json::from_slice(&text).unwrap();
        let events = read["traceEvents"].as_array().unwrap();
        let names = |kind: &str| -> Vec<(u64, u64, &str)> {
            let named = events.iter().filter(|event| event["name"] == kind);
            named
                .map(|event| {
                    (
                        event["pid"].as_u64().unwrap(),
                        event["tid"].as_u64().unwrap(),
                        event["args"]["name"].as_str().unwrap(),
                    )
                })
                .collect()
        };
        assert_eq!(
            names("process_name"),
            [(0, 0, "big"), (1, 0, "big (predicted)")]
        );
        // What overlaps on the transfer queue has a thread of its own.
        let threads = [
            (0, 0, "compute 0"),
            (1, 1, "compute 0"),
            (0, 2, "transfer"),
            (0, 3, "transfer (2)"),
        ];
        assert_eq!(names("thread_name"), threads);
        let complete: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!(complete.len(), 5);
        assert_eq!(complete[0]["name"], "a \"quoted\"\n");
        assert_eq!(
            (complete[0]["ts"].as_f64(), complete[0]["dur"].as_f64()),
            (Some(1.001), Some(2.001))
        );
        assert_eq!(complete[0]["args"], json!({ "frame": 3, "stage": 1 }));
        assert!(
            complete
                .iter()
                .all(|event| event["dur"].as_f64() >= Some(0.0))
        );
    }

    #[test]
    fn a_trace_without_events_is_one_too() {
        let mut text = Vec::new();
        write(&mut text, &Trace::default()).unwrap();
        let read: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(read["traceEvents"], json!([]));
    }
}
