//! `paracompile soc list | show | new | check`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::ExitCode;

use paracompile::OpClass;
use paracompile::plan::Source;
use paracompile::soc::file::SocFile;
use paracompile::soc::{Overview, Processor, Soc, profile_text, sketch};
use serde_json::json;

use crate::args::SocAction;
use crate::failure::{Failure, Kind};
use crate::input::printed;

/// Runs the command.
pub(crate) fn run(action: &SocAction) -> Result<ExitCode, Failure> {
    match action {
        SocAction::List { json } => list(*json),
        SocAction::Show { name, fuses } => show(name, fuses),
        SocAction::New {
            name,
            processors,
            bandwidth,
            output,
        } => {
            let text = sketch(name, processors, *bandwidth)
                .map_err(|error| Failure::from_error(Kind::Usage, &error))?;
            write_new(output, &text)?;
            let shown = output.display();
            printed(&format!(
                "{shown}: written, every number assumed\nNext: paracompile soc check {shown}; then replace what you know better\n"
            ))
        }
        SocAction::Check { file } => {
            let profile =
                Overview::load(file).map_err(|error| Failure::from_error(Kind::Profile, &error))?;
            printed(&format!(
                "{}: correct\n{}",
                file.display(),
                describe(&profile)
            ))
        }
    }
}

fn list(as_json: bool) -> Result<ExitCode, Failure> {
    let profiles: Vec<Overview> = Soc::builtin_names()
        .filter_map(|name| Overview::from_json(Soc::builtin_text(name)?, name).ok())
        .collect();
    if as_json {
        let profiles: Vec<_> = profiles.iter().map(entry).collect();
        let text = serde_json::to_string_pretty(&profiles).expect("JSON values serialise");
        return printed(&format!("{text}\n"));
    }
    let rows: Vec<[String; 4]> = profiles.iter().map(row).collect();
    let widths: Vec<usize> = (0..3)
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for [name, processors, numbers, description] in &rows {
        let _ = writeln!(
            text,
            "{name:<0$}  {processors:<1$}  {numbers:<2$}  {description}",
            widths[0], widths[1], widths[2]
        );
    }
    printed(&text)
}

fn entry(profile: &Overview) -> serde_json::Value {
    let processors: Vec<_> = profile
        .soc
        .processors
        .iter()
        .map(|(_, processor)| {
            let points = processor.operating_points.iter();
            let points: Vec<&str> = points.map(|point| point.name.as_str()).collect();
            json!({ "name": processor.name, "kind": processor.kind, "operating_points": points })
        })
        .collect();
    json!({
        "name": profile.soc.name,
        "description": profile.description,
        "synthetic": profile.soc.synthetic,
        "numbers": profile.numbers,
        "processors": processors,
    })
}

fn row(profile: &Overview) -> [String; 4] {
    let processors: Vec<&str> = profile
        .soc
        .processors
        .iter()
        .map(|(_, processor)| processor.name.as_str())
        .collect();
    [
        profile.soc.name.clone(),
        processors.join(", "),
        sources(profile),
        profile.description.clone().unwrap_or_default(),
    ]
}

const fn word(source: Source) -> &'static str {
    match source {
        Source::Measured => "measured",
        Source::Fitted => "fitted",
        Source::Estimated => "estimated",
        Source::Borrowed => "borrowed",
        Source::Assumed => "assumed",
    }
}

/// Where the numbers come from: the two largest shares, and the rest as one.
fn sources(profile: &Overview) -> String {
    if profile.soc.synthetic {
        return "synthetic".to_owned();
    }
    let shares = profile.shares();
    let named = if shares.len() > 3 { 2 } else { 3 };
    let mut parts: Vec<String> = shares
        .iter()
        .take(named)
        .map(|(source, percent)| format!("{percent}% {}", word(*source)))
        .collect();
    let sum: usize = shares.iter().take(named).map(|(_, percent)| percent).sum();
    if shares.len() > named {
        parts.push(format!("{}% other", 100_usize.saturating_sub(sum)));
    }
    parts.join(", ")
}

/// Writes a file that is not there yet: a profile may hold a day's measurements.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let created = File::create_new(path);
    created
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| {
            let failure = Failure::from_error(Kind::File, &error).at(path);
            if error.kind() == ErrorKind::AlreadyExists {
                failure.with_help("choose another name with -o, or remove the file")
            } else {
                failure
            }
        })
}

fn show(name: &str, fuses: &[OpClass]) -> Result<ExitCode, Failure> {
    match Soc::builtin_text(name) {
        Some(text) if fuses.is_empty() => printed(text),
        Some(text) => {
            let profile = fusing(text, fuses);
            // A class without a model cannot be fused, and the verifier says so with its place.
            Soc::from_json(&profile, &format!("{name} with --fuses"))
                .map_err(|error| Failure::from_error(Kind::Profile, &error))?;
            printed(&profile)
        }
        None => match Soc::find(name) {
            Err(error) => Err(Failure::from_error(Kind::Profile, &error)),
            Ok(_) => Err(Failure::new(
                Kind::Usage,
                format!("`{name}` is a file, not a built-in profile"),
            )
            .with_help(format!("paracompile soc check {name}"))),
        },
    }
}

/// The profile of the same chip under a framework that fuses these classes into what stands before them.
fn fusing(text: &str, fuses: &[OpClass]) -> String {
    let mut file: SocFile = serde_json::from_str(text)
        .expect("built-in profiles are what the types say, which a test holds");
    file.name.push_str("-fusing");
    for processor in &mut file.processors {
        for class in fuses {
            if !processor.fuses.contains(class) {
                processor.fuses.push(*class);
            }
        }
    }
    profile_text(&file)
}

/// What a checked profile says: its processors, what they cannot run, and where its numbers come from.
fn describe(profile: &Overview) -> String {
    let soc = &profile.soc;
    let mut text = String::new();
    let _ = writeln!(text, "{}: {}", soc.name, provenance(profile));
    let longest = |length: fn(&Processor) -> usize| {
        let lengths = soc
            .processors
            .iter()
            .map(|(_, processor)| length(processor));
        lengths.max().unwrap_or(0)
    };
    let widths = (
        longest(|processor| processor.name.len()),
        longest(|processor| points(processor).len()),
    );
    let mut lost: Vec<&str> = OpClass::ALL.iter().map(|class| class.name()).collect();
    for (_, processor) in soc.processors.iter() {
        let lacks = lacking(processor);
        lost.retain(|class| lacks.contains(class));
        let _ = writeln!(
            text,
            "  {:<name$}  {:<4} {:<point$}  {}",
            processor.name,
            processor.kind,
            points(processor),
            abilities(processor, &lacks),
            name = widths.0,
            point = widths.1,
        );
    }
    if !lost.is_empty() {
        let _ = writeln!(
            text,
            "  no processor runs {}: networks with such operators are refused, unless --costs has times for them",
            lost.join(", ")
        );
    }
    text
}

fn points(processor: &Processor) -> String {
    let points: Vec<&str> = processor
        .operating_points
        .iter()
        .map(|point| point.name.as_str())
        .collect();
    points.join(", ")
}

/// How many classes are few enough to be listed beside those that a processor lacks.
const FEW: usize = 8;

/// What a processor lacks, behind what it runs where that is little.
fn abilities(processor: &Processor, lacks: &[&str]) -> String {
    if lacks.is_empty() {
        return "runs every class".to_owned();
    }
    let models = processor
        .operating_points
        .first()
        .map(|point| &point.models);
    let runs: Vec<&str> = models
        .into_iter()
        .flat_map(|models| models.keys().map(|class| class.name()))
        .collect();
    let lacks = format!("lacks {}", lacks.join(", "));
    if runs.len() < FEW {
        format!("runs {}; {lacks}", runs.join(", "))
    } else {
        lacks
    }
}

/// Classes without a model at the default operating point.
fn lacking(processor: &Processor) -> Vec<&'static str> {
    let models = processor
        .operating_points
        .first()
        .map(|point| &point.models);
    OpClass::ALL
        .iter()
        .filter(|class| models.is_none_or(|models| !models.contains_key(class)))
        .map(|class| class.name())
        .collect()
}

fn provenance(profile: &Overview) -> String {
    if profile.soc.synthetic {
        return "synthetic, every number is assumed".to_owned();
    }
    let shares: Vec<String> = profile
        .shares()
        .iter()
        .map(|&(source, percent)| format!("{percent}% {}", word(source)))
        .collect();
    format!("numbers {}", shares.join(", "))
}
