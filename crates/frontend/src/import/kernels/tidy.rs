//! Our own format: kernels described once, launches of them, and edges by name, in one JSON file with a schema.
//!
//! The types are what is written and what the JSON Schema is made from; files are read by hand, so that all their problems are found.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::description::{defines, extents, function_name, source_name, writes};
use super::element::Element;
use super::error::{Defect, Problems, shown};
use super::graph::{Device, Initial};
use super::json::{At, is_file_name};
use super::limits;
use super::specification::{
    Described, DescribedArgument, Description, Direction, Launch, Specification, SpecifiedEdge,
};

/// A kernel graph, schema 1.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KernelsFile {
    /// Always 1.
    pub schema: u32,
    /// Values of symbols for the whole graph; `--dim NAME=VALUE` replaces one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub symbols: BTreeMap<String, Expressed>,
    /// Command queues of each kind of device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<WrittenDevice, u32>,
    /// Kernels, each described once.
    pub kernels: Vec<WrittenKernel>,
    /// Launches of kernels.
    pub launches: Vec<WrittenLaunch>,
    /// Edges from a buffer that is written to one that is read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<WrittenEdge>,
}

/// A number, or an expression of numbers, symbols, `+ - * / %` and parentheses.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Expressed {
    /// A number.
    Number(f64),
    /// A whole number.
    Whole(i64),
    /// An expression.
    Text(String),
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WrittenDevice {
    /// A CPU.
    Cpu,
    /// A GPU.
    Gpu,
}

/// A kernel: code, work sizes and arguments.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WrittenKernel {
    /// What launches call it.
    pub name: String,
    /// File with the code: a name without folders.
    pub source: String,
    /// Function in the file.
    pub function: String,
    /// Macros that the file is built with: expressions, or names of types.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub defines: BTreeMap<String, Expressed>,
    /// Work items along one to three dimensions.
    pub global: Vec<Expressed>,
    /// Work items of a group; absent leaves them to the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<Vec<Expressed>>,
    /// Arguments in the order of the function's parameters.
    pub arguments: Vec<WrittenArgument>,
}

/// An argument: exactly one of `in`, `out`, `inout`, `scalar` and `local` is there and holds the type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WrittenArgument {
    /// What edges call it; its position, from 0, where it has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A buffer that is read: the type of its elements.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// A buffer that is written.
    #[serde(default, rename = "out", skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// A buffer that is read and written in place.
    #[serde(default, rename = "inout", skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// A value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scalar: Option<String>,
    /// Memory of a work group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<String>,
    /// Elements of a buffer or of local memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Expressed>,
    /// The value of a scalar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Expressed>,
    /// Whether a kernel that were split over devices would need its whole contents; PySchedCL's `break` is 0 then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

/// One launch of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WrittenLaunch {
    /// Its name: printable, without spaces.
    pub name: String,
    /// The kernel.
    pub kernel: String,
    /// Values of symbols for this launch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub symbols: BTreeMap<String, Expressed>,
    /// The kind of device that it should run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<WrittenDevice>,
    /// The task component that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<u32>,
    /// Launches that have to end before, without an edge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Contents of buffers that the host writes, by argument, where a run is given none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub initial: BTreeMap<String, WrittenInitial>,
}

/// Contents of a buffer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WrittenInitial {
    /// The same value everywhere.
    Fill(f64),
    /// A `.npy` file beside this one: a name without folders.
    File(String),
}

/// An edge; both ends are written `launch.argument`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WrittenEdge {
    /// The buffer that is written.
    pub from: String,
    /// The buffer that is read.
    pub to: String,
}

/// The JSON Schema of the format, with a line break at the end: `docs/schema/kernels.schema.json`.
///
/// # Panics
/// Never: a schema holds only strings, numbers, lists and objects with string keys.
pub fn kernels_json_schema() -> String {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(KernelsFile))
        .expect("a schema holds only strings, numbers, lists and objects with string keys");
    text.push('\n');
    text
}

/// Reads the format.
pub(super) fn read(value: &Value, problems: &mut Problems) -> Specification {
    let root = At::new(value, "");
    if let Some(schema) = root.field("schema", problems)
        && schema.value.as_u64() != Some(1)
    {
        let found = shown(&schema.value.to_string());
        problems.push("schema", Defect::Schema(found));
    }
    let mut specification = Specification::default();
    if let Some(symbols) = root.optional("symbols") {
        specification.symbols = expressions(&symbols, problems);
    }
    if let Some(queues) = root.optional("queues") {
        specification.queues = read_queues(&queues, problems);
    }
    let mut by_name = BTreeMap::new();
    let mut names = BTreeSet::new();
    if let Some(kernels) = root.field("kernels", problems) {
        for at in kernels.elements(limits::KERNELS, problems) {
            let Some(name) = at.text_field("name", problems) else {
                continue;
            };
            if !names.insert(name.to_owned()) {
                problems.push(at.place(), Defect::DuplicateName(shown(name)));
                continue;
            }
            let whose = format!("kernel {}", shown(name));
            let described = kernel(&At::new(at.value, whose), name, problems);
            by_name.insert(
                name,
                described.as_ref().map(|_| specification.descriptions.len()),
            );
            specification.descriptions.extend(described);
        }
    }
    if let Some(launches) = root.field("launches", problems) {
        for at in launches.elements(limits::KERNELS, problems) {
            specification
                .launches
                .extend(launch(&at, &by_name, problems));
        }
    }
    for at in root.list("edges", limits::ALL_ARGUMENTS, problems) {
        specification.edges.extend(edge(&at, problems));
    }
    specification
}

fn expressions(at: &At<'_>, problems: &mut Problems) -> BTreeMap<String, String> {
    let entries = at.entries(limits::NAMES, problems);
    let texts = entries.into_iter().filter_map(|(name, value)| {
        let text = value.expression(problems)?;
        Some((name.to_owned(), text))
    });
    texts.collect()
}

fn read_queues(at: &At<'_>, problems: &mut Problems) -> BTreeMap<Device, u32> {
    let mut queues = BTreeMap::new();
    for (name, count) in at.entries(2, problems) {
        let device = match name {
            "cpu" => Device::Cpu,
            "gpu" => Device::Gpu,
            _ => {
                let (expected, found) = ("cpu or gpu", shown(name));
                problems.push(at.place(), Defect::Word { expected, found });
                continue;
            }
        };
        if let Some(count) = count.count(limits::QUEUES, problems) {
            queues.insert(device, u32::try_from(count).expect("at most some tens"));
        }
    }
    queues
}

fn kernel(at: &At<'_>, name: &str, problems: &mut Problems) -> Option<Description> {
    let source = source_name(at, "source", problems);
    let function = function_name(at, "function", problems);
    let global = at
        .field("global", problems)
        .and_then(|field| extents(&field, problems));
    let local = match at.optional("local") {
        Some(field) => extents(&field, problems).map(Some),
        None => Some(None),
    };
    let defines = match at.optional("defines") {
        Some(field) => defines(&field, problems),
        None => Some(BTreeMap::new()),
    };
    let arguments = at.field("arguments", problems);
    let arguments = arguments.and_then(|field| arguments_of(&field, problems));
    let (global, local, arguments) = (global?, local?, arguments?);
    if global.is_empty() {
        let place = format!("{}, global", at.place());
        problems.push(
            place,
            Defect::Dimensions {
                expected: 1,
                found: 0,
            },
        );
        return None;
    }
    if let Some(local) = local.as_ref().filter(|local| local.len() != global.len()) {
        let (expected, found) = (global.len(), local.len());
        let place = format!("{}, local", at.place());
        problems.push(place, Defect::Dimensions { expected, found });
        return None;
    }
    if !arguments.iter().any(|argument| writes(&argument.what)) {
        problems.push(at.place(), Defect::WritesNothing);
        return None;
    }
    Some(Description {
        place: at.place(),
        name: name.to_owned(),
        source: source?,
        function: function?,
        defines: defines?,
        global,
        local,
        arguments,
        device: None,
    })
}

fn arguments_of(list: &At<'_>, problems: &mut Problems) -> Option<Vec<DescribedArgument>> {
    let mut arguments = Vec::new();
    let mut names = BTreeSet::new();
    let mut whole = true;
    for (position, at) in list
        .elements(limits::ARGUMENTS, problems)
        .into_iter()
        .enumerate()
    {
        let what = argument(&at, problems);
        let name = match at.optional("name") {
            Some(field) => field.text(problems).map(str::to_owned),
            None => Some(position.to_string()),
        };
        let (Some(what), Some(name)) = (what, name) else {
            whole = false;
            continue;
        };
        if name.is_empty() || name.contains('.') || name.len() > 128 {
            let (expected, found) = ("a name without dots", shown(&name));
            problems.push(at.place(), Defect::Word { expected, found });
            whole = false;
        } else if !names.insert(name.clone()) {
            problems.push(at.place(), Defect::DuplicateName(shown(&name)));
            whole = false;
        }
        let place = at.path;
        arguments.push(DescribedArgument { place, name, what });
    }
    whole.then_some(arguments)
}

fn argument(at: &At<'_>, problems: &mut Problems) -> Option<Described> {
    at.object(problems)?;
    let kinds = ["in", "out", "inout", "scalar", "local"];
    let mut given = kinds
        .into_iter()
        .filter(|&kind| at.optional(kind).is_some());
    let (Some(kind), None) = (given.next(), given.next()) else {
        let expected = "exactly one of in, out, inout, scalar and local";
        let found = "something else".to_owned();
        problems.push(at.place(), Defect::Word { expected, found });
        return None;
    };
    let element: Option<Element> = super::description::element(at, kind, problems);
    let key = if kind == "scalar" { "value" } else { "size" };
    let text = at
        .field(key, problems)
        .and_then(|field| field.expression(problems));
    let (element, text) = (element?, text?);
    let direction = match kind {
        "scalar" => {
            return Some(Described::Scalar {
                element,
                value: text,
            });
        }
        "local" => {
            return Some(Described::Local {
                element,
                size: text,
            });
        }
        "in" => Direction::In,
        "out" => Direction::Out,
        _ => Direction::InOut,
    };
    let whole = match at.optional("whole") {
        None => false,
        Some(field) => {
            let whole = field.value.as_bool();
            if whole.is_none() {
                field.wrong(problems, "true or false");
            }
            whole?
        }
    };
    Some(Described::Buffer {
        direction,
        element,
        size: text,
        shared_out: !whole,
    })
}

fn launch(
    at: &At<'_>,
    by_name: &BTreeMap<&str, Option<usize>>,
    problems: &mut Problems,
) -> Option<Launch> {
    let name = at
        .field("name", problems)
        .and_then(|field| field.id(problems));
    let kernel = at.text_field("kernel", problems);
    let (name, kernel) = (name?, kernel?);
    let at = At::new(at.value, format!("kernel {name}"));
    let description = by_name.get(kernel).copied();
    if description.is_none() {
        let kernel_at = at.field("kernel", problems)?;
        problems.push(kernel_at.place(), Defect::UnknownKernel(shown(kernel)));
    }
    let symbols = at
        .optional("symbols")
        .map(|field| expressions(&field, problems));
    let device = at
        .optional("device")
        .and_then(|field| field.device(problems));
    let component = at.optional("component").and_then(|field| {
        let count = field.count(u32::MAX.into(), problems)?;
        u32::try_from(count).ok()
    });
    let after = at.list("after", limits::KERNELS, problems);
    let after = after
        .iter()
        .filter_map(|before| before.id(problems))
        .collect();
    let initial = at.optional("initial");
    let initial = initial.map(|field| initials(&field, problems));
    Some(Launch {
        name,
        description: description.flatten(),
        symbols: symbols.unwrap_or_default(),
        device,
        component,
        after,
        initial: initial.unwrap_or_default(),
    })
}

fn initials(at: &At<'_>, problems: &mut Problems) -> BTreeMap<String, Initial> {
    let mut initials = BTreeMap::new();
    for (name, value) in at.entries(limits::ARGUMENTS, problems) {
        let initial = match (value.optional("fill"), value.optional("file")) {
            (Some(fill), None) => {
                let number = fill.value.as_f64();
                if number.is_none() {
                    fill.wrong(problems, "a number");
                }
                number.map(Initial::Fill)
            }
            (None, Some(file)) => match file.text(problems) {
                Some(text) if !is_file_name(text) => {
                    problems.push(file.place(), Defect::FileName(shown(text)));
                    None
                }
                text => text.map(|text| Initial::File(text.to_owned())),
            },
            (Some(_), Some(_)) | (None, None) => {
                let expected = "{\"fill\": NUMBER} or {\"file\": \"NAME.npy\"}";
                let found = shown(&value.value.to_string());
                problems.push(value.place(), Defect::Word { expected, found });
                None
            }
        };
        if let Some(initial) = initial {
            initials.insert(name.to_owned(), initial);
        }
    }
    initials
}

fn edge(at: &At<'_>, problems: &mut Problems) -> Option<SpecifiedEdge> {
    let mut end = |key: &str| {
        let field = at.field(key, problems)?;
        let text = field.text(problems)?;
        let parts = text.rsplit_once('.');
        if parts.is_none() {
            let (expected, found) = ("launch.argument", shown(text));
            problems.push(field.place(), Defect::Word { expected, found });
        }
        parts.map(|(launch, argument)| (launch.to_owned(), argument.to_owned()))
    };
    let (from, to) = (end("from"), end("to"));
    Some(SpecifiedEdge {
        place: at.place(),
        from: from?,
        to: to?,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_committed_schema_is_the_one_of_the_types() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/kernels.schema.json");
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&path, kernels_json_schema()).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == kernels_json_schema(),
            "docs/schema/kernels.schema.json is stale: run the tests with UPDATE_SCHEMAS=1"
        );
    }
}
