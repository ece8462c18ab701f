//! Paje: a header that defines its own events, containers for devices and queues, and a state a task.
//!
//! Schnorr, de Oliveira Stein, de Kergommeaux: Paje trace file format (2013).

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use paracompile_plan::{WriteError, write_with};

use super::event::Trace;

const HEADER: &str = "\
%EventDef PajeDefineContainerType 0
%  Alias string
%  Type string
%  Name string
%EndEventDef
%EventDef PajeDefineStateType 1
%  Alias string
%  Type string
%  Name string
%EndEventDef
%EventDef PajeDefineEntityValue 2
%  Alias string
%  Type string
%  Name string
%  Color color
%EndEventDef
%EventDef PajeCreateContainer 3
%  Time date
%  Alias string
%  Type string
%  Container string
%  Name string
%EndEventDef
%EventDef PajeDestroyContainer 4
%  Time date
%  Type string
%  Name string
%EndEventDef
%EventDef PajePushState 5
%  Time date
%  Type string
%  Container string
%  Value string
%  Frame int
%  Stage int
%EndEventDef
%EventDef PajePopState 6
%  Time date
%  Type string
%  Container string
%EndEventDef
0 run 0 \"Run\"
0 device run \"Device\"
0 queue device \"Queue\"
1 task queue \"Task\"
";

/// Writes a trace for ViTE and `pj_dump`; the file is there as a whole or not at all.
pub fn write_paje(path: &Path, trace: &Trace) -> Result<(), WriteError> {
    write_with(path, |out| write(out, trace))
}

/// A state that begins or ends; states of one row follow each other.
struct Change<'t> {
    time: u64,
    row: usize,
    /// Counted within the row.
    number: usize,
    /// What begins; `None` where the last one ends.
    begins: Option<&'t super::TraceEvent>,
}

fn write(out: &mut dyn Write, trace: &Trace) -> io::Result<()> {
    out.write_all(HEADER.as_bytes())?;
    let rows = trace.rows();
    // One value a task, in the colour of its stage.
    let mut values: BTreeMap<(&str, u32), usize> = BTreeMap::new();
    for event in &trace.events {
        let next = values.len();
        values.entry((&event.name, event.stage)).or_insert(next);
    }
    for (&(name, stage), value) in &values {
        writeln!(
            out,
            "2 v{value} task {} \"{}\"",
            quoted(name),
            colour(stage)
        )?;
    }
    writeln!(out, "3 0.000000000 r run 0 \"run\"")?;
    let mut titles: Vec<String> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let title = trace.lanes[row.lane].title();
        let device = titles
            .iter()
            .position(|known| *known == title)
            .unwrap_or(titles.len());
        if device == titles.len() {
            writeln!(out, "3 0.000000000 d{device} device r {}", quoted(&title))?;
            titles.push(title);
        }
        writeln!(
            out,
            "3 0.000000000 q{index} queue d{device} {}",
            quoted(&row.title(trace))
        )?;
    }
    let mut changes = Vec::with_capacity(2 * trace.events.len());
    for (row, of_row) in rows.iter().enumerate() {
        for (place, &event) in of_row.events.iter().enumerate() {
            let begin = Change {
                time: event.start_ns,
                row,
                number: 2 * place,
                begins: Some(event),
            };
            let end = Change {
                time: event.end(),
                row,
                number: 2 * place + 1,
                begins: None,
            };
            changes.extend([begin, end]);
        }
    }
    changes.sort_by_key(|change| (change.time, change.row, change.number));
    for change in &changes {
        let (time, row) = (seconds(change.time), change.row);
        match change.begins {
            Some(event) => {
                let value = values[&(event.name.as_str(), event.stage)];
                let (frame, stage) = (event.frame, event.stage);
                writeln!(out, "5 {time} task q{row} v{value} {frame} {stage}")?;
            }
            None => writeln!(out, "6 {time} task q{row}")?,
        }
    }
    let end = seconds(changes.last().map_or(0, |change| change.time));
    for row in 0..rows.len() {
        writeln!(out, "4 {end} queue q{row}")?;
    }
    for device in 0..titles.len() {
        writeln!(out, "4 {end} device d{device}")?;
    }
    writeln!(out, "4 {end} run r")
}

fn seconds(nanoseconds: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    format!("{}.{:09}", nanoseconds / SECOND, nanoseconds % SECOND)
}

/// A text in quotes, which the format cannot escape.
fn quoted(text: &str) -> String {
    let plain = |c: char| {
        if c == '"' {
            '\''
        } else if c.is_control() {
            ' '
        } else {
            c
        }
    };
    let text: String = text.chars().map(plain).collect();
    format!("\"{text}\"")
}

/// Red, green and blue of a stage; colours repeat after eight.
fn colour(stage: u32) -> &'static str {
    // The qualitative palette of Okabe and Ito, which the colour-blind can tell apart.
    const COLOURS: [&str; 8] = [
        "0.00 0.45 0.70",
        "0.90 0.62 0.00",
        "0.00 0.62 0.45",
        "0.80 0.47 0.65",
        "0.34 0.71 0.91",
        "0.84 0.37 0.00",
        "0.94 0.89 0.26",
        "0.50 0.50 0.50",
    ];
    COLOURS[stage as usize % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use super::super::event::{Lane, LaneKind, TraceEvent};
    use super::*;

    /// What a strict reader finds: by container, the states with their start and end.
    #[derive(Debug, Default)]
    struct Found {
        containers: BTreeMap<String, (String, String)>,
        values: BTreeMap<String, String>,
        states: Vec<(String, String, String, String, String)>,
    }

    /// Words of a line; quotes keep blanks together.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('"').enumerate();
        parts
            .flat_map(|(index, part)| {
                if index % 2 == 1 {
                    vec![part.to_owned()]
                } else {
                    part.split_whitespace().map(str::to_owned).collect()
                }
            })
            .collect()
    }

    /// Reads by the header of the file alone: names of fields decide, not their order.
    fn read(text: &str) -> Found {
        let mut fields: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
        let mut open: Option<String> = None;
        let mut found = Found::default();
        let mut stacks: BTreeMap<String, Vec<(String, String, String)>> = BTreeMap::new();
        let mut now = 0.0;
        for line in text.lines() {
            if let Some(definition) = line.strip_prefix('%') {
                let words = words(definition);
                match words[0].as_str() {
                    "EventDef" => {
                        open = Some(words[2].clone());
                        fields.insert(words[2].clone(), (words[1].clone(), Vec::new()));
                    }
                    "EndEventDef" => open = None,
                    field => fields
                        .get_mut(open.as_ref().unwrap())
                        .unwrap()
                        .1
                        .push(field.to_owned()),
                }
                continue;
            }
            let words = words(line);
            let (event, names) = &fields[&words[0]];
            assert_eq!(words.len(), names.len() + 1, "{line}");
            let field = |name: &str| {
                words[1 + names.iter().position(|known| known == name).unwrap()].clone()
            };
            if names.contains(&"Time".to_owned()) {
                let time: f64 = field("Time").parse().unwrap();
                assert!(time >= now, "{line}");
                now = time;
            }
            match event.as_str() {
                "PajeDefineEntityValue" => {
                    found.values.insert(field("Alias"), field("Name"));
                }
                "PajeCreateContainer" => {
                    let parent = field("Container");
                    assert!(
                        parent == "0" || found.containers.contains_key(&parent),
                        "{line}"
                    );
                    found
                        .containers
                        .insert(field("Alias"), (field("Name"), parent));
                }
                "PajePushState" => {
                    assert!(found.containers.contains_key(&field("Container")), "{line}");
                    let value = found.values[&field("Value")].clone();
                    let stack = stacks.entry(field("Container")).or_default();
                    assert!(stack.is_empty(), "rows do not overlap: {line}");
                    stack.push((value, field("Time"), field("Frame")));
                }
                "PajePopState" => {
                    let container = field("Container");
                    let (value, start, frame) = stacks.get_mut(&container).unwrap().pop().unwrap();
                    found
                        .states
                        .push((container, value, start, field("Time"), frame));
                }
                "PajeDestroyContainer" => assert!(found.containers.contains_key(&field("Name"))),
                "PajeDefineContainerType" | "PajeDefineStateType" => {}
                other => panic!("{other}"),
            }
        }
        assert!(stacks.values().all(Vec::is_empty));
        found
    }

    #[test]
    fn a_strict_reader_finds_every_task() {
        let lane = |queue: &str| Lane {
            device: "the \"big\" one".to_owned(),
            queue: queue.to_owned(),
            kind: LaneKind::Measured,
        };
        let event = |lane, name: &str, frame, start_ns, end_ns| TraceEvent {
            lane,
            name: name.to_owned(),
            frame,
            stage: 0,
            start_ns,
            end_ns,
        };
        let trace = Trace {
            lanes: vec![lane("compute 0"), lane("transfer")],
            events: vec![
                event(0, "conv 1", 0, 5, 10),
                event(0, "conv 1", 1, 10, 1_500_000_000),
                event(0, "nothing", 1, 1_500_000_000, 1_500_000_000),
                event(1, "x", 0, 0, 10),
                event(1, "y", 0, 3, 7),
            ],
        };
        let mut text = Vec::new();
        write(&mut text, &trace).unwrap();
        let mut found = read(std::str::from_utf8(&text).unwrap());
        assert_eq!(
            found.containers["d0"],
            ("the 'big' one".to_owned(), "r".to_owned())
        );
        assert_eq!(
            found.containers["q2"],
            ("transfer (2)".to_owned(), "d0".to_owned())
        );
        found.states.sort();
        let state = |queue: &str, name: &str, start: &str, end: &str, frame: &str| {
            let [queue, name, start, end, frame] =
                [queue, name, start, end, frame].map(str::to_owned);
            (queue, name, start, end, frame)
        };
        assert_eq!(
            found.states,
            [
                state("q0", "conv 1", "0.000000005", "0.000000010", "0"),
                state("q0", "conv 1", "0.000000010", "1.500000000", "1"),
                state("q0", "nothing", "1.500000000", "1.500000000", "1"),
                state("q1", "x", "0.000000000", "0.000000010", "0"),
                state("q2", "y", "0.000000003", "0.000000007", "0"),
            ]
        );
    }
}
