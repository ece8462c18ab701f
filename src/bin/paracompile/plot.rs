//! `paracompile plot`.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use paracompile::front::Front;
use paracompile::plan::scheduled::Schedule;
use paracompile::plan::{
    FileKind, Plan, read_front, read_measured, read_plan, read_schedule, writable, write_bytes,
};
use paracompile::plot::{
    Fidelity, gantt, graph_dot, graph_svg, pareto, png, predicted_and_measured, scatter, schedules,
    stages,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::args::{PlotArgs, PlotKind};
use crate::failure::{Failure, Kind};
use crate::input::printed;
use crate::terminal;

/// No file of ours is larger.
const LARGEST: u64 = 256 << 20;

/// Runs the command.
pub(crate) fn run(args: &PlotArgs) -> Result<ExitCode, Failure> {
    let subject = Subject::read_all(&args.files)?;
    let first = &args.files[0];
    let kind = args.kind.unwrap_or(subject.kinds()[0]);
    if !subject.kinds().contains(&kind) {
        let can: Vec<&str> = subject.kinds().iter().copied().map(name).collect();
        return Err(Failure::new(
            Kind::Usage,
            format!(
                "{}: {subject} cannot be drawn as {}",
                first.display(),
                name(kind)
            ),
        )
        .with_help(format!("it can be drawn as {}", can.join(", "))));
    }
    let path = args.output.clone().unwrap_or_else(|| beside(first, kind));
    let format = Format::of(&path, kind)?;
    writable(&path).map_err(|error| Failure::from_error(Kind::File, &error))?;
    let bytes = match &args.measured {
        Some(measured) => both(&subject, measured, format)?,
        None => drawn(&subject, kind, format)?,
    };
    write_bytes(&path, &bytes).map_err(|error| Failure::from_error(Kind::File, &error))?;
    printed(&format!(
        "{}\n",
        terminal::printable(&path.display().to_string())
    ))
}

/// A plan as predicted and as measured.
fn both(subject: &Subject, path: &Path, format: Format) -> Result<Vec<u8>, Failure> {
    let Subject::Plan(plan) = subject else {
        let message = format!("{}: measurements are drawn with their plan", path.display());
        return Err(Failure::new(Kind::Usage, message));
    };
    let measured = read_measured(path).map_err(|error| Failure::from_error(Kind::Plan, &error))?;
    let counts = |plan: &Plan| (plan.stages.len(), plan.tasks.len(), plan.transfers.len());
    let found = (
        measured.stages.len(),
        measured.tasks.len(),
        measured.transfers.len(),
    );
    if counts(plan) != found || measured.graph_digest != plan.model.graph_digest {
        let message = format!("{}: measured of another plan", path.display());
        return Err(Failure::new(Kind::Plan, message)
            .with_help("measure this plan again: pararun run PLAN --model MODEL --measured FILE"));
    }
    encoded(predicted_and_measured(plan, &measured), format)
}

/// What can be drawn.
enum Subject {
    Front(Box<Front>),
    Plan(Box<Plan>),
    Fidelity(Fidelity),
    Schedules(Vec<Schedule>),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Front(_) => "a front",
            Self::Plan(_) => "a plan",
            Self::Fidelity(_) => "a fidelity report",
            Self::Schedules(_) => "a measured schedule",
        })
    }
}

/// Enough of a file to tell what it is.
#[derive(Deserialize)]
struct Head {
    kind: Option<String>,
    tasks: Option<IgnoredAny>,
    plans: Option<IgnoredAny>,
}

impl Subject {
    /// A file, or several schedules.
    fn read_all(paths: &[PathBuf]) -> Result<Self, Failure> {
        if let [path] = paths {
            return Self::read(path);
        }
        let mut all = Vec::new();
        for path in paths {
            match Self::read(path)? {
                Self::Schedules(schedules) => all.extend(schedules),
                other @ (Self::Front(_) | Self::Plan(_) | Self::Fidelity(_)) => {
                    let message = format!("{}: {other} has a picture of its own", path.display());
                    return Err(Failure::new(Kind::Usage, message).with_help(
                        "several files are drawn together where all are what `pararun schedule --measured` wrote",
                    ));
                }
            }
        }
        Ok(Self::Schedules(all))
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let kind = FileKind::of(path).filter(|kind| match kind {
            FileKind::Plan | FileKind::Front | FileKind::Fidelity | FileKind::Schedule => false,
            FileKind::Run
            | FileKind::Directory
            | FileKind::Model
            | FileKind::Measured
            | FileKind::Validation
            | FileKind::Costs
            | FileKind::Profile => true,
        });
        if let Some(kind) = kind {
            let message = format!("{}: this is {kind}, which has no picture", path.display());
            return Err(Failure::new(Kind::Plan, message).with_help(kind.remedy()));
        }
        let mut text = String::new();
        let opened = File::open(path).and_then(|file| file.take(LARGEST).read_to_string(&mut text));
        let head: Option<Head> = opened.ok().and_then(|_| serde_json::from_str(&text).ok());
        let unreadable = |error| Failure::from_error(Kind::Plan, &error);
        match head {
            Some(head) if head.kind.as_deref() == Some("fidelity") => Fidelity::parse(&text)
                .map(Self::Fidelity)
                .map_err(|error| Failure::from_error(Kind::Plan, &error).at(path)),
            Some(head) if head.kind.as_deref() == Some("schedule") => read_schedule(path)
                .map(|schedule| Self::Schedules(vec![schedule]))
                .map_err(unreadable),
            Some(head) if head.plans.is_some() => read_front(path)
                .map(|front| Self::Front(Box::new(front)))
                .map_err(unreadable),
            Some(head) if head.tasks.is_none() => Err(Failure::new(
                Kind::Plan,
                format!(
                    "{}: neither a front, nor a plan, nor a schedule, nor a fidelity report",
                    path.display()
                ),
            )
            .with_help("give front.json or one of the files in plans/ and baselines/ beside it")),
            // What cannot be read at all is told as for a plan.
            Some(_) | None => read_plan(path)
                .map(|plan| Self::Plan(Box::new(plan)))
                .map_err(unreadable),
        }
    }

    /// What it can be drawn as; the first is the default.
    const fn kinds(&self) -> &'static [PlotKind] {
        match self {
            Self::Front(_) => &[PlotKind::Pareto],
            Self::Plan(_) => &[PlotKind::Gantt, PlotKind::Stages, PlotKind::Graph],
            Self::Fidelity(_) => &[PlotKind::Fidelity],
            Self::Schedules(_) => &[PlotKind::Schedule],
        }
    }
}

const fn name(kind: PlotKind) -> &'static str {
    match kind {
        PlotKind::Pareto => "pareto",
        PlotKind::Gantt => "gantt",
        PlotKind::Stages => "stages",
        PlotKind::Graph => "graph",
        PlotKind::Fidelity => "fidelity",
        PlotKind::Schedule => "schedule",
    }
}

/// `<file without extension>-<kind>.svg` in the same folder, or beside `front.json` for what lies in one of the folders that a run replaces.
fn beside(file: &Path, kind: PlotKind) -> PathBuf {
    let mut name_of_file = file.file_stem().unwrap_or_default().to_owned();
    name_of_file.push(format!("-{}.svg", name(kind)));
    match folder_of_run(file) {
        Some(folder) => folder.join(name_of_file),
        None => file.with_file_name(name_of_file),
    }
}

/// The folder with `front.json` above the `plans` or `baselines` that `file` lies in.
fn folder_of_run(file: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(file).ok()?;
    let name = whole.parent()?.file_name()?;
    let folder = file.parent()?;
    let above = match folder.components().next_back() {
        Some(Component::Normal(_)) => folder.parent()?.to_owned(),
        Some(_) | None => folder.join(".."),
    };
    let is_of_run = (name == "plans" || name == "baselines") && above.join("front.json").is_file();
    is_of_run.then_some(above)
}

/// What is written.
#[derive(Clone, Copy)]
enum Format {
    Svg,
    Png,
    Dot,
}

impl Format {
    fn of(path: &Path, kind: PlotKind) -> Result<Self, Failure> {
        let extension = path.extension().unwrap_or_default();
        match extension.to_string_lossy().to_lowercase().as_str() {
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            "dot" | "gv" if kind == PlotKind::Graph => Ok(Self::Dot),
            _ => Err(Failure::new(
                Kind::Usage,
                format!("--output {}: not a name of a picture", path.display()),
            )
            .with_help(if kind == PlotKind::Graph {
                "end it with .svg, .png, or .dot for Graphviz"
            } else {
                "end it with .svg or .png"
            })),
        }
    }
}

fn drawn(subject: &Subject, kind: PlotKind, format: Format) -> Result<Vec<u8>, Failure> {
    let svg = match (subject, kind) {
        (Subject::Plan(plan), PlotKind::Graph) => match format {
            Format::Dot => return Ok(graph_dot(plan).into_bytes()),
            Format::Svg | Format::Png => graph_svg(plan).map_err(|error| {
                Failure::from_error(Kind::No, &error).with_help("write .dot and let Graphviz try")
            })?,
        },
        (Subject::Plan(plan), PlotKind::Stages) => stages(plan),
        (
            Subject::Plan(plan),
            PlotKind::Gantt | PlotKind::Pareto | PlotKind::Fidelity | PlotKind::Schedule,
        ) => gantt(plan),
        (Subject::Front(front), _) => pareto(front),
        (Subject::Fidelity(report), _) => scatter(report),
        (Subject::Schedules(measured), _) => schedules(measured),
    };
    encoded(svg, format)
}

fn encoded(svg: String, format: Format) -> Result<Vec<u8>, Failure> {
    match format {
        Format::Svg | Format::Dot => Ok(svg.into_bytes()),
        Format::Png => png(&svg).map_err(|error| {
            Failure::from_error(Kind::No, &error).with_help("write .svg, which has no limit")
        }),
    }
}
