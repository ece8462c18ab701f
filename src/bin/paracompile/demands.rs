//! `--pin`, `--forbid`, `--require` and `--constraints`: what was typed, resolved for the network and the chip, and what to say where that fails.

use std::fs;
use std::path::Path;

use paracompile::compile::{Conflict, Demanded};
use paracompile::constraints::{
    Constraints, PlacementError, PlacementFault, PlacementKind, PlacementRule, Requirement,
    Stranded, Unselected,
};
use paracompile::import::Imported;
use paracompile::soc::Soc;
use serde_json::{Value, json};

use crate::args::MapArgs;
use crate::failure::{Failure, Kind};
use crate::map::left_out;

/// A file of more is no list of demands.
const MOST_BYTES: u64 = 16 << 20;

/// Texts of each kind, in the order in which they were given.
#[derive(Debug, Default)]
struct Asked {
    placements: Vec<(PlacementKind, Text)>,
    requirements: Vec<Text>,
    /// Lines that are no demands.
    wrong: Vec<Failure>,
}

/// What was asked, and the line of a file where it stands.
#[derive(Debug)]
struct Text {
    text: String,
    place: Option<String>,
}

impl Text {
    fn typed(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            place: None,
        }
    }

    /// Says where it stands.
    fn failed(&self, failure: Failure) -> Failure {
        match &self.place {
            Some(place) => failure.about(place),
            None => failure,
        }
    }
}

/// Everything that is demanded; what cannot be understood is told all at once.
pub(crate) fn read(args: &MapArgs, imported: &Imported, soc: &Soc) -> Result<Constraints, Failure> {
    let mut asked = Asked::default();
    for path in &args.constraints {
        asked.read(path)?;
    }
    let pins = args.pin.iter().map(|text| (PlacementKind::Pin, text));
    let bans = args.forbid.iter().map(|text| (PlacementKind::Forbid, text));
    let typed = pins.chain(bans);
    asked
        .placements
        .extend(typed.map(|(kind, text)| (kind, Text::typed(text))));
    let required = args.require.iter().map(|text| Text::typed(text));
    asked.requirements.extend(required);
    asked.resolve(imported, soc)
}

impl Asked {
    /// One demand a line: `pin OP=PROCESSOR`, `forbid OP=PROCESSOR` or `require FIGURE<=VALUE`; a line that starts with `#` is a comment.
    fn read(&mut self, path: &Path) -> Result<(), Failure> {
        let failed =
            |error: &dyn std::error::Error| Failure::from_error(Kind::Usage, error).at(path);
        if fs::metadata(path).map_err(|error| failed(&error))?.len() > MOST_BYTES {
            return Err(Failure::new(Kind::Usage, "is too long for a list of demands").at(path));
        }
        let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let place = format!("{}:{}", path.display(), index + 1);
            let rest = Text {
                text: rest.trim().to_owned(),
                place: Some(place.clone()),
            };
            match word.trim_start_matches("--") {
                "pin" => self.placements.push((PlacementKind::Pin, rest)),
                "forbid" => self.placements.push((PlacementKind::Forbid, rest)),
                "require" => self.requirements.push(rest),
                _ => self.wrong.push(
                    Failure::new(
                        Kind::Usage,
                        "expected `pin OP=PROCESSOR`, `forbid OP=PROCESSOR` or `require FIGURE<=VALUE`",
                    )
                    .about(&place),
                ),
            }
        }
        Ok(())
    }

    fn resolve(self, imported: &Imported, soc: &Soc) -> Result<Constraints, Failure> {
        let mut wrong = self.wrong;
        let mut constraints = Constraints::default();
        for (kind, asked) in &self.placements {
            match PlacementRule::parse(*kind, &asked.text, &imported.graph, soc) {
                // Said twice is said once.
                Ok(rule) if constraints.placements.contains(&rule) => {}
                Ok(rule) => constraints.placements.push(rule),
                Err(error) => wrong.push(asked.failed(misplaced(&error, imported))),
            }
        }
        for asked in &self.requirements {
            match Requirement::parse(&asked.text, soc) {
                Ok(requirement) if constraints.requirements.contains(&requirement) => {}
                Ok(requirement) => constraints.requirements.push(requirement),
                Err(error) => {
                    wrong.push(asked.failed(Failure::from_error(Kind::Usage, &error)));
                }
            }
        }
        Failure::all(wrong).map_or(Ok(constraints), Err)
    }
}

fn misplaced(error: &PlacementError, imported: &Imported) -> Failure {
    let failure = Failure::from_error(Kind::Usage, error);
    let near = match &error.fault {
        PlacementFault::Malformed => {
            return failure.with_help("for example --pin /fc/Gemm=gpu or --forbid '*Softmax*=npu'");
        }
        PlacementFault::UnknownProcessor { .. }
        | PlacementFault::Operator(Unselected::Free { .. } | Unselected::AllFree { .. }) => {
            return failure;
        }
        PlacementFault::Operator(Unselected::OtherCase { count, first, .. }) => {
            let others = match count.saturating_sub(1) {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            return failure.with_help(format!(
                "upper and lower case count; in any case it matches {first}{others}"
            ));
        }
        PlacementFault::Operator(
            Unselected::Unknown { query, near } | Unselected::NoMatch { query, near },
        ) => {
            let option = format!("{} {}", error.kind.flag(), error.text);
            if let Some(failure) = left_out(&imported.folded, &option, query) {
                return failure;
            }
            near
        }
    };
    if near.is_empty() {
        return failure.with_help(
            "give a node's name, the name of one of its outputs, # and its index in the file, or a pattern with *, ? or [..]; paracompile inspect MODEL --dot names all",
        );
    }
    let near: Vec<String> = near.iter().map(|name| format!("  {name}")).collect();
    failure.with_help(format!("did you mean one of these?\n{}", near.join("\n")))
}

/// So many tasks are named one by one.
const MOST_NAMED: usize = 20;

/// Demands that leave tasks no processor.
pub(crate) fn stranded(failure: Failure, tasks: &[Stranded]) -> Failure {
    let more = tasks.len().saturating_sub(MOST_NAMED);
    let more = (more > 0).then(|| format!("… and {more} more"));
    failure
        .with_details(tasks.iter().take(MOST_NAMED).map(ToString::to_string).chain(more))
        .with_help("operators that are fused run as one task, so a demand on one of them holds for all; leave out one of the demands named")
}

/// Demands that exclude each other.
pub(crate) fn excluded(failure: Failure, conflict: &Conflict) -> Failure {
    failure.with_details(&conflict.demands)
}

/// The answer "no" as JSON, for whoever asked with `--json`.
pub(crate) fn conflict_json(conflict: &Conflict) -> Value {
    use paracompile::compile::{Given, Smallness};
    let demand = |demanded: &Demanded| {
        let attainable = demanded.attainable.as_ref();
        attainable.map_or_else(
            || json!({ "option": demanded.option }),
            |attainable| {
                json!({
                    "option": demanded.option,
                    "figure": attainable.requirement.figure,
                    "at_most": attainable.requirement.at_most,
                    "best": attainable.best,
                    "bound": attainable.bound,
                    "given": match attainable.given {
                        Given::Alone | Given::AllOthers => "all_others",
                        Given::OthersOfTheConflict => "others_of_the_conflict",
                        Given::NoOthers => "none",
                    },
                })
            },
        )
    };
    json!({
        "error": "conflict",
        "message": conflict.to_string(),
        "proven": conflict.is_proven,
        "smallness": match conflict.smallness {
            Smallness::Smallest => "smallest",
            Smallness::Minimal => "minimal",
            Smallness::Unreduced => "unreduced",
        },
        "demands": conflict.demands.iter().map(demand).collect::<Vec<_>>(),
    })
}

/// The same of tasks without a processor.
pub(crate) fn stranded_json(tasks: &[Stranded]) -> Value {
    let task = |stranded: &Stranded| {
        json!({
            "operators": stranded.members,
            "supported_by": stranded.supported,
            "demands": stranded.texts,
        })
    };
    json!({
        "error": "stranded",
        "proven": true,
        "tasks": tasks.iter().map(task).collect::<Vec<_>>(),
    })
}
