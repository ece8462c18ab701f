//! `paracompile calibrate`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use paracompile::calibrate::{
    Applicability, BaseProfile, CalibrateError, Calibration, ClassSummary, Fidelity,
    FidelityReport, Level, LevelErrors, Measurements, ProcessorSummary, Quantity, calibrate, judge,
};
use paracompile::plan::{writable, write_json, write_text};
use paracompile::soc::{Soc, profile_text};
use serde_json::json;

use crate::args::CalibrateArgs;
use crate::failure::{Failure, Kind};
use crate::input::{counted, printed};
use crate::terminal;

/// Runs the command.
pub(crate) fn run(args: &CalibrateArgs) -> Result<ExitCode, Failure> {
    check_note(args)?;
    check_outputs(args)?;
    let base = BaseProfile::find(&args.soc)
        .and_then(|base| match &args.name {
            Some(name) => base.named(name),
            None => Ok(base),
        })
        .map_err(|error| failed(&error))?;
    let mut names = BTreeMap::new();
    for (measured, name) in &args.rename {
        if names
            .insert(measured.clone(), name.clone())
            .is_some_and(|before| before != *name)
        {
            return Err(Failure::new(
                Kind::Usage,
                format!("--rename {measured}: given two names"),
            ));
        }
    }
    for path in args.output.iter().chain(&args.report) {
        writable(path).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    let measured = Measurements::read(&args.data)
        .and_then(|measured| measured.renamed(&names))
        .map_err(|error| failed(&error))?;
    let fitted =
        calibrate(&measured, &base, args.note.as_deref()).map_err(|error| failed(&error))?;
    let judged = if args.leave_one_out || args.report.is_some() {
        Some(judge(&measured, &base).map_err(|error| failed(&error))?)
    } else {
        None
    };
    // Nothing is written before everything is known to be sound.
    let profile = match &args.output {
        None => None,
        Some(path) => {
            let text = profile_text(&fitted.profile);
            // Values are bounded where they are read; what is wrong together shows only here.
            Soc::from_json(&text, "the fitted profile").map_err(|error| {
                Failure::from_error(Kind::Profile, &error).with_help(
                    "the measurements together give a profile that cannot be; check the units of their columns",
                )
            })?;
            Some((path, text))
        }
    };
    let mut written = Vec::new();
    if let Some((path, text)) = &profile {
        write_text(path, text).map_err(|error| Failure::from_error(Kind::File, &error))?;
        written.push(*path);
    }
    if let (Some(path), Some(report)) = (&args.report, &judged) {
        write_json(path, report).map_err(|error| Failure::from_error(Kind::File, &error))?;
        written.push(path);
    }
    if args.json {
        let value = json!({
            "processors": fitted.processors,
            "notices": fitted.notices,
            "fidelity": judged.as_ref().map(|report| &report.processors),
        });
        let text = serde_json::to_string_pretty(&value).expect("JSON values serialise");
        return printed(&format!("{text}\n"));
    }
    let mut text = if args.quiet {
        String::new()
    } else {
        summary(&fitted)
    };
    if let Some(report) = judged.as_ref().filter(|_| args.leave_one_out) {
        text.push_str(&fidelity(report));
    }
    if let Some(report) = judged.as_ref().filter(|report| !report.notices.is_empty()) {
        let _ = writeln!(text, "What could not be predicted");
        for notice in &report.notices {
            let _ = writeln!(text, "  {notice}");
        }
        text.push('\n');
    }
    if args.quiet {
        return printed(&text);
    }
    for path in written {
        let _ = writeln!(text, "Written to {}", path.display());
    }
    if args.output.is_none() {
        terminal::note("note: no profile is written; say where with -o FILE");
    }
    printed(&text)
}

/// The longest note, in characters: it is repeated beside every number.
const LONGEST_NOTE: usize = 1000;

fn check_note(args: &CalibrateArgs) -> Result<(), Failure> {
    let length = args.note.as_ref().map_or(0, |note| note.chars().count());
    if length > LONGEST_NOTE {
        return Err(Failure::new(
            Kind::Usage,
            format!("--note has {length} characters; write at most {LONGEST_NOTE}"),
        ));
    }
    Ok(())
}

/// Neither output may be an input or the other output; the base profile alone may be replaced by the fitted one.
fn check_outputs(args: &CalibrateArgs) -> Result<(), Failure> {
    let refused = |option: &str, path: &Path, what: &str| {
        let message = format!("{option} {}: {what}; name another file", path.display());
        Err(Failure::new(Kind::Usage, message))
    };
    let inputs = ["op_times.csv", "group_times_power.csv", "power_states.csv"]
        .map(|name| place(&args.data.join(name)));
    let outputs = [("-o", &args.output), ("--report", &args.report)];
    for (option, path) in outputs {
        if let Some(path) = path
            && inputs.contains(&place(path))
        {
            return refused(option, path, "this is a file of the measurements");
        }
    }
    if let Some(report) = &args.report {
        if args.output.as_deref().map(place) == Some(place(report)) {
            return refused("--report", report, "-o names the same file");
        }
        let base = Path::new(&args.soc);
        if Soc::builtin_text(&args.soc).is_none() && place(base) == place(report) {
            return refused("--report", report, "this is the base profile");
        }
    }
    Ok(())
}

/// Where a path leads, through links; of a file that does not exist yet, by its directory.
fn place(path: &Path) -> PathBuf {
    let by_directory = || {
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Some(directory.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize()
        .ok()
        .or_else(by_directory)
        .unwrap_or_else(|| path.to_owned())
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all that is wrong inside the measurements reads the same, and variants may be added"
)]
fn failed(error: &CalibrateError) -> Failure {
    match error {
        CalibrateError::BadName(_)
        | CalibrateError::UnknownProcessors { .. }
        | CalibrateError::RenamedNothing { .. }
        | CalibrateError::RenamedTogether { .. } => Failure::from_error(Kind::Usage, error),
        _ => Failure::from_error(Kind::Profile, error)
            .with_help("docs/calibration.md describes the files"),
    }
}

/// What was fitted, then what was missing.
fn summary(fitted: &Calibration) -> String {
    let mut text = String::new();
    for processor in &fitted.processors {
        heading(&mut text, processor);
        let rows: Vec<Vec<String>> = processor
            .classes
            .iter()
            .filter(|class| class.operators > 0)
            .map(|class| class_row(class, processor))
            .collect();
        table(
            &mut text,
            &["class", "operators", "rows", "outliers", "error", "source"],
            &rows,
        );
        let borrowed: Vec<&str> = processor
            .classes
            .iter()
            .filter(|class| class.operators == 0)
            .map(|class| class.class.name())
            .collect();
        if !borrowed.is_empty() {
            let _ = writeln!(text, "  not measured: {}", borrowed.join(", "));
        }
        text.push('\n');
    }
    if !fitted.notices.is_empty() {
        let _ = writeln!(text, "What was missing or odd, and what was done instead");
        for notice in &fitted.notices {
            let _ = writeln!(text, "  {notice}");
        }
        text.push('\n');
    }
    text
}

fn heading(text: &mut String, processor: &ProcessorSummary) {
    let _ = write!(text, "{}: ", processor.processor);
    match processor.group_error {
        Some(error) => {
            let _ = write!(
                text,
                "times of {}, error {}, {}",
                counted(processor.groups, "group"),
                percent(error),
                counted(processor.group_outliers.len(), "outlier")
            );
        }
        None => text.push_str("times of operators"),
    }
    let _ = write!(text, "; Winograd's algorithm: {}", processor.winograd);
    if let (Some(constant), Some(rate), Some(error)) = (
        processor.power_w,
        processor.power_w_per_gigaflops,
        processor.power_error,
    ) {
        let _ = write!(
            text,
            "; {constant} W + {rate} W s/GFLOP above idle, error of board power {}",
            percent(error)
        );
    }
    text.push('\n');
}

fn class_row(class: &ClassSummary, processor: &ProcessorSummary) -> Vec<String> {
    let single = processor.group_error.is_none();
    let source = serde_json::to_value(class.source).unwrap_or_default();
    vec![
        class.class.name().to_owned(),
        class.operators.to_string(),
        if single {
            class.rows.to_string()
        } else {
            String::new()
        },
        if single {
            class.outliers.len().to_string()
        } else {
            String::new()
        },
        class.error.map_or_else(String::new, percent),
        source.as_str().unwrap_or_default().to_owned(),
    ]
}

/// Errors of left-out networks.
fn fidelity(report: &FidelityReport) -> String {
    let mut text = String::from(
        "Each network predicted from the others: root mean square of relative errors\n",
    );
    let rows: Vec<Vec<String>> = report
        .processors
        .iter()
        .flat_map(|one| one.levels.iter().map(|level| level_row(one, level)))
        .collect();
    table(
        &mut text,
        &[
            "processor",
            "of",
            "count",
            "covered classes",
            "all",
            "not covered",
            "repetitions differ",
        ],
        &rows,
    );
    text.push_str(
        "\nRelative error of each network's time, and the share of it that is not covered\n",
    );
    let rows: Vec<Vec<String>> = report
        .processors
        .iter()
        .flat_map(|one| {
            one.networks.iter().map(|network| {
                vec![
                    one.processor.clone(),
                    network.name.clone(),
                    or_dash(network.covered, signed),
                    signed(network.all),
                    percent(network.uncovered),
                ]
            })
        })
        .collect();
    table(
        &mut text,
        &[
            "processor",
            "network",
            "covered classes",
            "all",
            "not covered",
        ],
        &rows,
    );
    neighbours(&mut text, report);
    text.push('\n');
    text
}

/// The other predictor, beside the fitted rates.
fn neighbours(text: &mut String, report: &FidelityReport) {
    let (mut levels, mut networks, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for one in &report.processors {
        match one.neighbours {
            Applicability::Applicable => {
                levels.extend(one.levels.iter().map(|level| neighbours_row(one, level)));
                networks.extend(one.networks.iter().map(|network| {
                    let near = network.neighbours;
                    vec![
                        one.processor.clone(),
                        network.name.clone(),
                        or_dash(network.covered, signed),
                        or_dash(near.and_then(|near| near.covered), signed),
                        signed(network.all),
                        or_dash(near.and_then(|near| near.all), signed),
                    ]
                }));
            }
            Applicability::NotApplicable => others.push(one.processor.as_str()),
        }
    }
    if !levels.is_empty() {
        text.push_str("\nThe same by fitted rates and by nearest neighbours\n");
        let columns = [
            "covered: rates",
            "covered: neighbours",
            "all: rates",
            "all: neighbours",
        ];
        let header = [&["processor", "of"], &columns[..]].concat();
        table(text, &header, &levels);
        text.push('\n');
        let header = [&["processor", "network"], &columns[..]].concat();
        table(text, &header, &networks);
    }
    if !others.is_empty() {
        let _ = writeln!(
            text,
            "\nNearest neighbours are not applicable to {}: groups alone were timed there, so no operator has a time",
            others.join(", ")
        );
    }
}

fn neighbours_row(processor: &Fidelity, level: &LevelErrors) -> Vec<String> {
    let near = level.neighbours;
    vec![
        processor.processor.clone(),
        subject(level).to_owned(),
        or_dash(level.covered, percent),
        or_dash(near.and_then(|near| near.covered), percent),
        percent(level.all),
        or_dash(near.and_then(|near| near.all), percent),
    ]
}

fn or_dash(value: Option<f64>, shown: fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), shown)
}

fn subject(level: &LevelErrors) -> &'static str {
    match (level.level, level.quantity) {
        (Level::Operator, Quantity::Time) => "time of operators",
        (Level::Group, Quantity::Time) => "time of groups",
        (Level::Network, Quantity::Time) => "time of networks",
        (Level::Operator, Quantity::Energy) => "energy of operators",
        (Level::Group, Quantity::Energy) => "energy of groups",
        (Level::Network, Quantity::Energy) => "energy of networks",
    }
}

fn level_row(processor: &Fidelity, level: &LevelErrors) -> Vec<String> {
    vec![
        processor.processor.clone(),
        subject(level).to_owned(),
        level.count.to_string(),
        or_dash(level.covered, percent),
        percent(level.all),
        percent(level.uncovered),
        or_dash(level.noise, percent),
    ]
}

fn percent(fraction: f64) -> String {
    format!("{:.1}%", fraction * 100.0)
}

fn signed(fraction: f64) -> String {
    format!("{:+.1}%", fraction * 100.0)
}

/// Columns as wide as their widest cell; words to the left, numbers to the right.
fn table(text: &mut String, header: &[&str], rows: &[Vec<String>]) {
    let widths: Vec<usize> = (0..header.len())
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([header[column].len()]).max().unwrap_or(0)
        })
        .collect();
    let is_number = |column: usize| {
        rows.iter()
            .all(|row| !row[column].starts_with(|first: char| first.is_alphabetic()))
    };
    let header: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
    for row in std::iter::once(&header).chain(rows) {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let blank = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            let (before, after) = if is_number(column) {
                (blank, String::new())
            } else {
                (String::new(), blank)
            };
            let _ = write!(line, "  {before}{cell}{after}");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
