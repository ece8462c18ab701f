//! `paracompile solve`.

use std::fmt::Write;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use paracompile::plan::{StoppedBy, counted};
use paracompile::solve::{
    Answer, DocumentError, Instance, Progress, Request, SolveError, gap, read, solve,
};
use serde_json::json;

use crate::args::SolveArgs;
use crate::failure::{Failure, Kind};
use crate::grid::{Align, Grid};
use crate::input::printed;
use crate::map::{effort, millionths};
use crate::{interrupt, terminal};

/// Instances are written by programs; more is another kind of file.
const LARGEST: u64 = 256 << 20;

/// Runs the command.
pub(crate) fn run(args: &SolveArgs) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    let instance = instance(&args.instance, args.name.as_deref())?;
    interrupt::listen()?;
    let progress = terminal::Progress::new(args.json);
    let limit = args.time_limit.map(Duration::from_secs_f64);
    let left = || limit.unwrap_or_default().saturating_sub(started.elapsed());
    let show = |now: &Progress| {
        progress.show(&format!(
            "{:5.1} s  value {}  bound {}  gap {:.2}%",
            started.elapsed().as_secs_f64(),
            instance.decimals.text(now.value),
            instance.decimals.text(now.bound),
            gap(now.value, now.bound) * 100.0,
        ));
    };
    let request = Request {
        method: args.method,
        effort: effort(args.effort),
        gap_millionths: millionths(args.gap),
        interrupted: &interrupt::asked,
        left: if limit.is_some() { Some(&left) } else { None },
        progress: &show,
    };
    let answer = solve(&instance, &request);
    progress.clear();
    let answer = answer.map_err(|error| failed(&error).at(&args.instance))?;
    let seconds = started.elapsed().as_secs_f64();
    let text = if args.json {
        let text = serde_json::to_string_pretty(&to_json(&instance, &answer, seconds))
            .expect("JSON values serialise");
        format!("{text}\n")
    } else {
        table(&instance, &answer, seconds)
    };
    printed(&text)?;
    // A schedule is an answer, however the search ended.
    Ok(ExitCode::SUCCESS)
}

fn failed(error: &SolveError) -> Failure {
    if let SolveError::Unsuitable { .. } = error {
        Failure::new(Kind::Usage, error).with_help("--method auto takes problems of any size")
    } else {
        Failure::from_error(Kind::Bug, error)
    }
}

fn instance(path: &Path, chosen: Option<&str>) -> Result<Instance, Failure> {
    let refused = |why: String| Failure::new(Kind::File, format!("{}: {why}", path.display()));
    let mut text = String::new();
    let read_all = |source: &mut dyn Read, text: &mut String| {
        source
            .take(LARGEST + 1)
            .read_to_string(text)
            .map_err(|error| refused(format!("cannot read: {error}")))
    };
    if path == Path::new("-") {
        read_all(&mut std::io::stdin().lock(), &mut text)?;
    } else {
        let mut file =
            std::fs::File::open(path).map_err(|error| refused(format!("cannot read: {error}")))?;
        read_all(&mut file, &mut text)?;
    }
    if text.len() as u64 > LARGEST {
        return Err(refused(format!("larger than {LARGEST} bytes")));
    }
    let name = path.file_stem().map_or_else(
        || "instance".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    );
    read(&text, &name, chosen).map_err(|error| {
        let failure = refused(error.to_string());
        if let DocumentError::Unchosen { names } | DocumentError::Unknown { names, .. } = &error {
            let failure = failure.with_details(names);
            return failure.with_help("choose one with --instance NAME");
        }
        failure
    })
}

/// Names of reasons as in plan files.
const fn reason(stopped_by: StoppedBy) -> &'static str {
    match stopped_by {
        StoppedBy::Complete => "complete",
        StoppedBy::Gap => "gap",
        StoppedBy::Work => "work",
        StoppedBy::Time => "time",
        StoppedBy::Interrupt => "interrupt",
    }
}

fn to_json(instance: &Instance, answer: &Answer, seconds: f64) -> serde_json::Value {
    let number = |quantity| instance.decimals.number(quantity);
    let schedule: Vec<_> = answer
        .placed
        .iter()
        .enumerate()
        .map(|(operator, at)| {
            json!({
                "operator": operator,
                "processor": at.processor,
                "start": number(at.start),
                "end": number(end(instance, answer, operator)),
            })
        })
        .collect();
    json!({
        "name": instance.name,
        "operators": instance.durations.len(),
        "processors": instance.processors(),
        "value": number(answer.value),
        "bound": number(answer.bound),
        "certified_bound": number(answer.certified),
        "gap": answer.gap(),
        "proven_optimal": answer.value == answer.bound,
        "method": answer.method,
        "stopped_by": reason(answer.stopped_by),
        "seconds": seconds,
        "schedule": schedule,
    })
}

fn end(instance: &Instance, answer: &Answer, operator: usize) -> u64 {
    let at = answer.placed[operator];
    at.start + instance.durations[operator][at.processor].unwrap_or(0)
}

fn table(instance: &Instance, answer: &Answer, seconds: f64) -> String {
    let shown = |quantity| instance.decimals.text(quantity);
    let mut text = String::new();
    let verdict = if answer.value == answer.bound {
        "optimal".to_owned()
    } else {
        format!("gap {:.2}%", answer.gap() * 100.0)
    };
    let _ = writeln!(
        text,
        "{}: {} on {}",
        terminal::printable(&instance.name),
        counted(instance.durations.len(), "operator"),
        counted(instance.processors(), "processor")
    );
    let _ = writeln!(
        text,
        "  value {}  bound {}  {verdict}  in {seconds:.2} s",
        shown(answer.value),
        shown(answer.bound)
    );
    let certified = if answer.certified < answer.bound {
        format!(
            "; {} of the bound is certified in integers",
            shown(answer.certified)
        )
    } else {
        String::new()
    };
    let _ = writeln!(
        text,
        "  by {}; stopped by {}{certified}\n",
        answer.method,
        reason(answer.stopped_by)
    );
    let mut grid = Grid::new([
        ("processor".to_owned(), Align::Right),
        ("busy".to_owned(), Align::Right),
        (
            "operators in order, as number@start".to_owned(),
            Align::Left,
        ),
    ]);
    for processor in 0..instance.processors() {
        let mut own: Vec<usize> = (0..answer.placed.len())
            .filter(|&operator| answer.placed[operator].processor == processor)
            .collect();
        own.sort_by_key(|&operator| {
            (
                answer.placed[operator].start,
                end(instance, answer, operator),
                operator,
            )
        });
        let busy: u64 = own
            .iter()
            .map(|&operator| end(instance, answer, operator) - answer.placed[operator].start)
            .sum();
        let line: Vec<String> = own
            .iter()
            .map(|&operator| format!("{operator}@{}", shown(answer.placed[operator].start)))
            .collect();
        grid.push([processor.to_string(), shown(busy), line.join(" ")]);
    }
    text.push_str(&grid.text(2));
    text
}
