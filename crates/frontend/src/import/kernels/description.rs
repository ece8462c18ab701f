//! PySchedCL's description of a kernel: a JSON object, alone in a file or an element of the expanded form.

use std::collections::BTreeMap;

use super::element::Element;
use super::error::{Defect, Problems, shown};
use super::expression::Expression;
use super::json::{At, is_file_name, is_identifier};
use super::limits;
use super::specification::{Described, DescribedArgument, Description, Direction};

/// The description, or `None` where a part of it cannot be read.
pub(super) fn description(at: &At<'_>, problems: &mut Problems) -> Option<Description> {
    at.object(problems)?;
    let source = source_name(at, "src", problems);
    let function = function_name(at, "name", problems);
    let dimensions = at
        .optional("workDimension")
        .map(|field| field.count(3, problems));
    let global = at.field("globalWorkSize", problems);
    let global = global.and_then(|field| extents(&field, problems));
    let local = match at.optional("localWorkSize") {
        Some(field) => extents(&field, problems).map(|list| (!list.is_empty()).then_some(list)),
        None => Some(None),
    };
    let arguments = arguments(at, problems);
    let defines = match at.optional("macros_values") {
        Some(field) => defines(&field, problems),
        None => Some(BTreeMap::new()),
    };
    let device = match at.optional("dev").or_else(|| at.optional("partition")) {
        Some(field) => field.device(problems),
        None => None,
    };
    let mut global = global?;
    let mut local = local?;
    if let Some(dimensions) = dimensions {
        let dimensions = usize::try_from(dimensions?).expect("at most three");
        // The lists may have three elements always, those that do not count being one.
        shorten(&mut global, dimensions);
        if global.len() != dimensions || dimensions == 0 {
            let place = At {
                path: "globalWorkSize".to_owned(),
                ..at.clone()
            }
            .place();
            let (expected, found) = (dimensions, global.len());
            problems.push(place, Defect::Dimensions { expected, found });
            return None;
        }
    }
    if let Some(list) = &mut local {
        shorten(list, global.len());
        if list.len() != global.len() {
            let place = At {
                path: "localWorkSize".to_owned(),
                ..at.clone()
            }
            .place();
            let (expected, found) = (global.len(), list.len());
            problems.push(place, Defect::Dimensions { expected, found });
            return None;
        }
    }
    let function = function?;
    Some(Description {
        place: at.whose.clone(),
        name: function.clone(),
        source: source?,
        function,
        defines: defines?,
        global,
        local,
        arguments: arguments?,
        device,
    })
}

fn shorten(list: &mut Vec<String>, dimensions: usize) {
    while list.len() > dimensions && list.last().is_some_and(|last| last == "1") {
        list.pop();
    }
}

pub(super) fn source_name(at: &At<'_>, key: &str, problems: &mut Problems) -> Option<String> {
    let field = at.field(key, problems)?;
    let name = field.text(problems)?;
    if !is_file_name(name) {
        problems.push(field.place(), Defect::FileName(shown(name)));
        return None;
    }
    Some(name.to_owned())
}

pub(super) fn function_name(at: &At<'_>, key: &str, problems: &mut Problems) -> Option<String> {
    let field = at.field(key, problems)?;
    let name = field.text(problems)?;
    if !is_identifier(name) {
        problems.push(field.place(), Defect::Identifier(shown(name)));
        return None;
    }
    Some(name.to_owned())
}

/// Extents as a list of numbers and expressions, or such a list in a string.
pub(super) fn extents(at: &At<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    let list = if at.value.is_array() {
        let elements = at.elements(3, problems);
        let texts: Vec<_> = elements
            .iter()
            .map(|element| element.expression(problems))
            .collect();
        texts.into_iter().collect::<Option<Vec<_>>>()?
    } else {
        let text = at.expression(problems)?;
        match Expression::elements(&text) {
            Ok(list) => list,
            Err(error) => {
                let text = shown(&text);
                problems.push(at.place(), Defect::Syntax { text, error });
                return None;
            }
        }
    };
    if list.len() > 3 {
        let (found, most) = (list.len(), 3);
        problems.push(at.place(), Defect::TooMany { found, most });
        return None;
    }
    Some(list)
}

pub(super) fn defines(at: &At<'_>, problems: &mut Problems) -> Option<BTreeMap<String, String>> {
    let mut defines = BTreeMap::new();
    let mut whole = true;
    for (name, value) in at.entries(limits::NAMES, problems) {
        if !is_identifier(name) {
            problems.push(value.place(), Defect::Identifier(shown(name)));
            whole = false;
        }
        match value.expression(problems) {
            Some(text) => {
                defines.insert(name.to_owned(), text);
            }
            None => whole = false,
        }
    }
    whole.then_some(defines)
}

pub(super) fn element(at: &At<'_>, key: &str, problems: &mut Problems) -> Option<Element> {
    let field = at.field(key, problems)?;
    let name = field.text(problems)?;
    let element = Element::parse(name);
    if element.is_none() {
        problems.push(field.place(), Defect::ElementType(shown(name)));
    }
    element
}

/// All arguments in the order of their positions.
fn arguments(at: &At<'_>, problems: &mut Problems) -> Option<Vec<DescribedArgument>> {
    let kinds = [
        ("inputBuffers", Some(Direction::In)),
        ("outputBuffers", Some(Direction::Out)),
        ("ioBuffers", Some(Direction::InOut)),
        ("varArguments", None),
        ("localArguments", None),
    ];
    let mut by_position: BTreeMap<usize, DescribedArgument> = BTreeMap::new();
    let mut whole = true;
    for (key, direction) in kinds {
        for entry in at.list(key, limits::ARGUMENTS, problems) {
            let position = entry.field("pos", problems);
            let position =
                position.and_then(|field| field.count(limits::ARGUMENTS as u64, problems));
            let what = match (direction, key) {
                (Some(direction), _) => buffer(&entry, direction, problems),
                (None, "varArguments") => scalar(&entry, problems),
                (None, _) => local(&entry, problems),
            };
            let (Some(position), Some(what)) = (position, what) else {
                whole = false;
                continue;
            };
            let position = usize::try_from(position).expect("at most some hundreds");
            if let Some(other) = by_position.get(&position) {
                let other = other.place.clone();
                problems.push(entry.place(), Defect::Clash { position, other });
                whole = false;
                continue;
            }
            let place = entry.path.clone();
            let name = position.to_string();
            by_position.insert(position, DescribedArgument { place, name, what });
        }
    }
    if let (true, Some((&last, _))) = (whole, by_position.last_key_value())
        && last + 1 != by_position.len()
    {
        let hole = (0..last).find(|position| !by_position.contains_key(position));
        let position = hole.expect("fewer arguments than positions leave one free");
        problems.push(at.whose.clone(), Defect::Hole { position, last });
        whole = false;
    }
    if whole && !by_position.values().any(|argument| writes(&argument.what)) {
        problems.push(at.whose.clone(), Defect::WritesNothing);
        whole = false;
    }
    whole.then(|| by_position.into_values().collect())
}

pub(super) const fn writes(what: &Described) -> bool {
    matches!(
        what,
        Described::Buffer {
            direction: Direction::Out | Direction::InOut,
            ..
        }
    )
}

fn buffer(at: &At<'_>, direction: Direction, problems: &mut Problems) -> Option<Described> {
    let element = element(at, "type", problems);
    let size = at
        .field("size", problems)
        .and_then(|field| field.expression(problems));
    let shared_out = match at.optional("break") {
        Some(field) => field.count(1, problems)? == 1,
        None => true,
    };
    Some(Described::Buffer {
        direction,
        element: element?,
        size: size?,
        shared_out,
    })
}

fn scalar(at: &At<'_>, problems: &mut Problems) -> Option<Described> {
    let element = element(at, "type", problems);
    let value = at
        .field("value", problems)
        .and_then(|field| field.expression(problems));
    Some(Described::Scalar {
        element: element?,
        value: value?,
    })
}

fn local(at: &At<'_>, problems: &mut Problems) -> Option<Described> {
    let element = element(at, "type", problems);
    let size = at
        .field("size", problems)
        .and_then(|field| field.expression(problems));
    Some(Described::Local {
        element: element?,
        size: size?,
    })
}
