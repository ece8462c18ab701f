//! Specifications written in each of the three formats.
//!
//! Our own and PySchedCL's symbolic form keep expressions; the expanded form has none, so the numbers of a linked graph are written there.
//! What a format cannot say is refused by name, so that nothing is lost unseen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::error::{Defect, KernelsError, Problems};
use super::evaluate::Scope;
use super::graph::{Access, Argument, Device, Initial, Kernel, KernelId, Origin};
use super::json::is_file_name;
use super::link::Linked;
use super::specification::{Described, DescribedArgument, Description, Direction, Specification};
use super::tidy::{
    Expressed, KernelsFile, WrittenArgument, WrittenDevice, WrittenEdge, WrittenInitial,
    WrittenKernel, WrittenLaunch,
};

/// A format of kernel graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our own: JSON with a schema.
    Kernels,
    /// PySchedCL's text with descriptions of kernels beside it.
    Symbolic,
    /// PySchedCL's JSON list with numbers in place of expressions.
    Expanded,
}

/// What a conversion writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The specification.
    pub text: String,
    /// Descriptions of kernels by file name, which belong into `info/` beside it.
    pub descriptions: BTreeMap<String, String>,
}

/// Writes a specification in a format; `linked` is the same one, evaluated.
pub fn write(
    specification: &Specification,
    linked: &Linked,
    format: Format,
) -> Result<Written, KernelsError> {
    match format {
        Format::Kernels => Ok(Written {
            text: pretty(&own(specification)),
            descriptions: BTreeMap::new(),
        }),
        Format::Symbolic => symbolic(specification, linked),
        Format::Expanded => expanded(specification, linked),
    }
}

fn pretty<T: serde::Serialize>(value: &T) -> String {
    let text = serde_json::to_string_pretty(value);
    text.expect("numbers are finite and keys are strings") + "\n"
}

/// A whole number as such, and everything else as text.
fn expressed(text: &str) -> Expressed {
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => Expressed::Whole(number),
        Ok(_) | Err(_) => Expressed::Text(text.to_owned()),
    }
}

fn all_expressed(list: &[String]) -> Vec<Expressed> {
    list.iter().map(|text| expressed(text)).collect()
}

fn named(map: &BTreeMap<String, String>) -> BTreeMap<String, Expressed> {
    let entries = map.iter();
    entries
        .map(|(name, text)| (name.clone(), expressed(text)))
        .collect()
}

const fn written_device(device: Device) -> WrittenDevice {
    match device {
        Device::Cpu => WrittenDevice::Cpu,
        Device::Gpu => WrittenDevice::Gpu,
    }
}

/// Launches by name, and which of them read of which.
struct Index<'a> {
    specification: &'a Specification,
    descriptions: BTreeMap<&'a str, Option<usize>>,
    edges: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Index<'a> {
    fn new(specification: &'a Specification) -> Self {
        let launches = specification.launches.iter();
        let edges = specification.edges.iter();
        Self {
            specification,
            descriptions: launches
                .map(|launch| (launch.name.as_str(), launch.description))
                .collect(),
            edges: edges
                .map(|edge| (edge.to.0.as_str(), edge.from.0.as_str()))
                .collect(),
        }
    }

    fn reads(&self, reader: &str, writer: &str) -> bool {
        self.edges.contains(&(reader, writer))
    }

    /// The argument at an end of an edge, and its position.
    fn end(&self, (kernel, argument): &(String, String)) -> Option<(usize, &'a DescribedArgument)> {
        let index = (*self.descriptions.get(kernel.as_str())?)?;
        let description = &self.specification.descriptions[index];
        let position = description.position(argument)?;
        Some((position, &description.arguments[position]))
    }
}

fn own(specification: &Specification) -> KernelsFile {
    let index = Index::new(specification);
    let queues = specification.queues.iter();
    let launches = specification.launches.iter().map(|launch| {
        let kernel = launch
            .description
            .map(|index| specification.descriptions[index].name.clone());
        let initial = launch.initial.iter().map(|(name, initial)| {
            let initial = match initial {
                Initial::Fill(value) => WrittenInitial::Fill(*value),
                Initial::File(name) => WrittenInitial::File(name.clone()),
            };
            (name.clone(), initial)
        });
        WrittenLaunch {
            name: launch.name.clone(),
            kernel: kernel.unwrap_or_default(),
            symbols: named(&launch.symbols),
            device: launch.device.map(written_device),
            component: launch.component,
            // An edge says it already.
            after: launch
                .after
                .iter()
                .filter(|before| !index.reads(&launch.name, before))
                .cloned()
                .collect(),
            initial: initial.collect(),
        }
    });
    let launches = launches.collect();
    let named_end = |end: &(String, String)| {
        let argument = index
            .end(end)
            .map_or(end.1.as_str(), |(_, argument)| &argument.name);
        format!("{}.{argument}", end.0)
    };
    let edges = specification.edges.iter().map(|edge| WrittenEdge {
        from: named_end(&edge.from),
        to: named_end(&edge.to),
    });
    KernelsFile {
        schema: 1,
        symbols: named(&specification.symbols),
        queues: queues
            .map(|(device, count)| (written_device(*device), *count))
            .collect(),
        kernels: specification.descriptions.iter().map(own_kernel).collect(),
        launches,
        edges: edges.collect(),
    }
}

fn own_kernel(description: &Description) -> WrittenKernel {
    let arguments = description.arguments.iter().enumerate();
    WrittenKernel {
        name: description.name.clone(),
        source: description.source.clone(),
        function: description.function.clone(),
        defines: named(&description.defines),
        global: all_expressed(&description.global),
        local: description.local.as_deref().map(all_expressed),
        arguments: arguments
            .map(|(position, argument)| own_argument(position, argument))
            .collect(),
    }
}

fn own_argument(position: usize, argument: &DescribedArgument) -> WrittenArgument {
    let name = (argument.name != position.to_string()).then(|| argument.name.clone());
    let mut written = WrittenArgument {
        name,
        ..WrittenArgument::default()
    };
    match &argument.what {
        Described::Buffer {
            direction,
            element,
            size,
            shared_out,
        } => {
            let kind = match direction {
                Direction::In => &mut written.read,
                Direction::Out => &mut written.written,
                Direction::InOut => &mut written.changed,
            };
            *kind = Some(element.to_string());
            written.size = Some(expressed(size));
            written.whole = !shared_out;
        }
        Described::Scalar { element, value } => {
            written.scalar = Some(element.to_string());
            written.value = Some(expressed(value));
        }
        Described::Local { element, size } => {
            written.local = Some(element.to_string());
            written.size = Some(expressed(size));
        }
    }
    written
}

fn unwritable(problems: &mut Problems, place: String, what: &str) {
    problems.push(place, Defect::Unwritable(what.to_owned()));
}

/// What neither form of PySchedCL has.
fn check_common(specification: &Specification, problems: &mut Problems) {
    if !specification.queues.is_empty() {
        unwritable(problems, "queues".to_owned(), "numbers of queues");
    }
    for launch in &specification.launches {
        if !launch.initial.is_empty() {
            let place = format!("kernel {}, initial", launch.name);
            unwritable(problems, place, "initial contents of buffers");
        }
    }
}

/// PySchedCL's tenths of work for the GPU.
const fn tenths(device: Device) -> u32 {
    match device {
        Device::Cpu => 0,
        Device::Gpu => 10,
    }
}

fn symbolic(specification: &Specification, linked: &Linked) -> Result<Written, KernelsError> {
    let mut problems = Problems::default();
    check_common(specification, &mut problems);
    let mut descriptions = BTreeMap::new();
    for description in &specification.descriptions {
        let file = format!("{}.json", description.name);
        if !is_file_name(&file) || file.contains(|c: char| c.is_whitespace() || c == '{') {
            unwritable(
                &mut problems,
                description.place.clone(),
                "its name is no file name",
            );
            continue;
        }
        descriptions.insert(file, pretty(&described(description)));
    }
    let index = Index::new(specification);
    let scope = Scope::new(specification, &linked.dims, &mut problems);
    let mut text = String::new();
    for launch in &specification.launches {
        let place = format!("kernel {}", launch.name);
        if launch
            .after
            .iter()
            .any(|before| !index.reads(&launch.name, before))
        {
            unwritable(
                &mut problems,
                place.clone(),
                "waiting without an edge; the expanded form has it",
            );
        }
        let Some(described) = launch.description else {
            continue;
        };
        let mut symbols = Map::new();
        // Symbols of the file become those of every launch, as numbers: a line's symbols do not know each other.
        for (name, value) in scope.of_launch(launch, &mut problems) {
            symbols.insert(name, value_of(value));
        }
        for key in ["dev", "tc", "task"] {
            if symbols.contains_key(key) {
                unwritable(
                    &mut problems,
                    place.clone(),
                    "a symbol that means a device or component there",
                );
            }
        }
        let partition = symbols.get("partition").cloned();
        let device = launch.device.map(|device| Value::from(tenths(device)));
        // Between the ends it prefers none, and beyond them it is refused.
        let fits = match (&partition, &device) {
            (None, _) => true,
            (Some(symbol), Some(device)) => symbol == device,
            (Some(symbol), None) => symbol
                .as_u64()
                .is_some_and(|symbol| (1..10).contains(&symbol)),
        };
        if !fits {
            let what = "a symbol `partition`, which means another device there";
            unwritable(&mut problems, place.clone(), what);
        }
        if let Some(device) = device {
            symbols.insert("partition".to_owned(), device);
        }
        if let Some(component) = launch.component {
            symbols.insert("task".to_owned(), component.into());
        }
        let file = format!("{}.json", specification.descriptions[described].name);
        let _infallible = writeln!(text, "{} {file} {}", launch.name, Value::Object(symbols));
    }
    text += "---\n";
    for edge in &specification.edges {
        if let (Some((from, _)), Some((to, _))) = (index.end(&edge.from), index.end(&edge.to)) {
            let _infallible = writeln!(text, "{} {from} -> {} {to}", edge.from.0, edge.to.0);
        }
    }
    text += "---\n";
    problems.into_result(Written { text, descriptions })
}

/// A number of any size.
fn value_of(number: i128) -> Value {
    match i64::try_from(number) {
        Ok(number) => number.into(),
        Err(_) => number.to_string().into(),
    }
}

fn value(expressed: &Expressed) -> Value {
    match expressed {
        Expressed::Whole(number) => (*number).into(),
        Expressed::Number(number) => (*number).into(),
        Expressed::Text(text) => text.as_str().into(),
    }
}

/// PySchedCL's description of a kernel, with its expressions.
fn described(description: &Description) -> Value {
    let mut lists = Lists::default();
    for (position, argument) in description.arguments.iter().enumerate() {
        match &argument.what {
            Described::Buffer {
                direction,
                element,
                size,
                shared_out,
            } => {
                let buffer = json!({
                    "type": element.to_string(), "size": size, "pos": position,
                    "break": u32::from(*shared_out),
                });
                lists.buffers(*direction).push(buffer);
            }
            Described::Scalar { element, value } => lists.scalars.push(json!({
                "type": element.to_string(), "value": value, "pos": position,
            })),
            Described::Local { element, size } => lists.locals.push(json!({
                "type": element.to_string(), "size": size, "pos": position,
            })),
        }
    }
    let list =
        |texts: &[String]| -> Value { texts.iter().map(|text| value(&expressed(text))).collect() };
    let mut object = lists.object();
    object.insert("src".to_owned(), description.source.as_str().into());
    object.insert("name".to_owned(), description.function.as_str().into());
    object.insert("workDimension".to_owned(), description.global.len().into());
    object.insert("globalWorkSize".to_owned(), list(&description.global));
    if let Some(local) = &description.local {
        object.insert("localWorkSize".to_owned(), list(local));
    }
    if !description.defines.is_empty() {
        object.insert("macros_values".to_owned(), json!(description.defines));
    }
    Value::Object(object)
}

/// PySchedCL's lists of arguments.
#[derive(Default)]
struct Lists {
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    changed: Vec<Value>,
    scalars: Vec<Value>,
    locals: Vec<Value>,
}

impl Format {
    /// What a file name asks for by its end: PySchedCL's text for `.graph`, our own for `.json`.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "graph" => Some(Self::Symbolic),
            "json" => Some(Self::Kernels),
            _ => None,
        }
    }
}

impl Lists {
    fn buffers(&mut self, direction: Direction) -> &mut Vec<Value> {
        match direction {
            Direction::In => &mut self.inputs,
            Direction::Out => &mut self.outputs,
            Direction::InOut => &mut self.changed,
        }
    }

    fn object(self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("inputBuffers".to_owned(), self.inputs.into());
        object.insert("outputBuffers".to_owned(), self.outputs.into());
        object.insert("ioBuffers".to_owned(), self.changed.into());
        object.insert("varArguments".to_owned(), self.scalars.into());
        object.insert("localArguments".to_owned(), self.locals.into());
        object
    }
}

fn expanded(specification: &Specification, linked: &Linked) -> Result<Written, KernelsError> {
    let mut problems = Problems::default();
    check_common(specification, &mut problems);
    let graph = &linked.graph;
    let by_name: BTreeMap<&str, KernelId> = graph
        .kernels
        .iter()
        .map(|(id, kernel)| (kernel.name.as_str(), id))
        .collect();
    // In the order of the file, so that ties in the topological order stay what they are.
    let kernels = specification.launches.iter().filter_map(|launch| {
        let id = *by_name.get(launch.name.as_str())?;
        let kernel = &graph.kernels[id];
        let parents = kernel.parents();
        let depends = parents
            .iter()
            .map(|&parent| graph.kernels[parent].name.as_str());
        let mut object = expanded_kernel(kernel, &|id| graph.kernels[id].name.clone());
        object.insert("depends".to_owned(), depends.map(id_value).collect());
        Some(Value::Object(object))
    });
    let kernels: Vec<Value> = kernels.collect();
    problems.into_result(Written {
        text: pretty(&kernels),
        descriptions: BTreeMap::new(),
    })
}

/// An id as PySchedCL writes it: a number where it is one.
fn id_value(name: &str) -> Value {
    match name.parse::<u32>() {
        Ok(number) if number.to_string() == name => number.into(),
        Ok(_) | Err(_) => name.into(),
    }
}

fn expanded_kernel(kernel: &Kernel, name_of: &dyn Fn(KernelId) -> String) -> Map<String, Value> {
    let mut lists = Lists::default();
    for (position, argument) in kernel.arguments.iter().enumerate() {
        match argument {
            Argument::Buffer(buffer) => {
                let mut value = json!({
                    "type": buffer.element.to_string(), "size": buffer.elements, "pos": position,
                    "break": u32::from(buffer.shared_out),
                });
                if let Some(Origin::Kernel { kernel, position }) = buffer.access.origin() {
                    value["from"] = json!({ "kernel": id_value(&name_of(*kernel)), "pos": position });
                }
                let direction = match buffer.access {
                    Access::In(_) => Direction::In,
                    Access::Out => Direction::Out,
                    Access::InOut(_) => Direction::InOut,
                };
                lists.buffers(direction).push(value);
            }
            Argument::Scalar(scalar) => lists.scalars.push(json!({
                "type": scalar.element.to_string(), "value": scalar.value.to_string(), "pos": position,
            })),
            Argument::Local { bytes } => lists.locals.push(json!({
                "type": "uchar", "size": bytes.count(), "pos": position,
            })),
        }
    }
    let mut object = lists.object();
    object.insert("id".to_owned(), id_value(&kernel.name));
    object.insert("src".to_owned(), kernel.source.written.as_str().into());
    object.insert("name".to_owned(), kernel.function.as_str().into());
    object.insert("workDimension".to_owned(), kernel.global.len().into());
    object.insert("globalWorkSize".to_owned(), json!(kernel.global));
    if let Some(local) = &kernel.local {
        object.insert("localWorkSize".to_owned(), json!(local));
    }
    if !kernel.defines.is_empty() {
        object.insert("macros_values".to_owned(), json!(kernel.defines));
    }
    if let Some(device) = kernel.device {
        object.insert("partition".to_owned(), tenths(device).into());
    }
    if let Some(component) = kernel.component {
        object.insert("task".to_owned(), component.into());
    }
    object
}
