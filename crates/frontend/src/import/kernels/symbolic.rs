//! PySchedCL's symbolic form: lines `id kernel.json {"symbol": value, …}`, `---`, edges `id position -> id position`, `---`.
//!
//! Behind the second line of dashes the paper's task components may follow, as a JSON list of lists of ids, alone or below the key `tc`.

use std::collections::BTreeMap;

use super::description::description;
use super::error::{Defect, Problems, shown};
use super::json::{At, is_file_name, is_id, parse};
use super::library::{Library, Lookup};
use super::limits;
use super::specification::{Launch, Specification, SpecifiedEdge};

/// Symbols of a line that are no symbols.
const NO_SYMBOLS: [&str; 3] = ["dev", "tc", "task"];

/// Reads the text of a `.graph` file.
pub(super) fn read(text: &str, library: &Library<'_>, problems: &mut Problems) -> Specification {
    let mut reader = Reader {
        library,
        known: BTreeMap::new(),
        launches: BTreeMap::new(),
        specification: Specification::default(),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut part = 0;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let place = format!("line {}", index + 1);
        if line.len() >= 3 && line.bytes().all(|byte| byte == b'-') {
            part += 1;
        } else if !line.is_empty() {
            match part {
                0 => reader.kernel(line, &place, problems),
                1 => reader.edge(line, place, problems),
                _ => reader.components(line, &place, problems),
            }
        }
    }
    reader.specification
}

struct Reader<'a> {
    library: &'a Library<'a>,
    /// Index of the description of each file; absent where it has problems.
    known: BTreeMap<String, Option<usize>>,
    /// Index of the launch of each id.
    launches: BTreeMap<String, usize>,
    specification: Specification,
}

impl Reader<'_> {
    fn kernel(&mut self, line: &str, place: &str, problems: &mut Problems) {
        let count = self.specification.launches.len() + 1;
        if count > limits::KERNELS {
            if count == limits::KERNELS + 1 {
                let most = limits::KERNELS;
                problems.push(place, Defect::TooMany { found: count, most });
            }
            return;
        }
        let (id, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim_start();
        let (file, symbols) = match rest.find('{') {
            Some(brace) => (rest[..brace].trim_end(), &rest[brace..]),
            None => (rest, "{}"),
        };
        if !is_id(id) {
            problems.push(place, Defect::Id(shown(id)));
            return;
        }
        if file.is_empty() {
            let expected =
                "kernel: write id, description and symbols, as in `0 gemm.json {\"m1\": 256}`";
            problems.push(
                place,
                Defect::Line {
                    line: shown(line),
                    expected,
                },
            );
            return;
        }
        let whose = format!("kernel {id}");
        let description = self.description(file, &whose, problems);
        let mut launch = Launch {
            name: id.to_owned(),
            description,
            symbols: BTreeMap::new(),
            device: description.and_then(|index| self.specification.descriptions[index].device),
            component: None,
            after: Vec::new(),
            initial: BTreeMap::new(),
        };
        match parse(symbols) {
            Ok(value) => read_symbols(&At::new(&value, whose), &mut launch, problems),
            Err((_, column, message)) => {
                let before = line.len() - symbols.len();
                let column = column + before;
                let defect = Defect::Json {
                    file: whose,
                    line: 1,
                    column,
                    message,
                };
                problems.push(place, defect);
            }
        }
        self.launches.insert(launch.name.clone(), count - 1);
        self.specification.launches.push(launch);
    }

    /// The description in a file, read once.
    fn description(&mut self, file: &str, whose: &str, problems: &mut Problems) -> Option<usize> {
        if let Some(known) = self.known.get(file) {
            return *known;
        }
        let index = self.read_description(file, whose, problems);
        self.known.insert(file.to_owned(), index);
        index
    }

    fn read_description(
        &mut self,
        file: &str,
        whose: &str,
        problems: &mut Problems,
    ) -> Option<usize> {
        if !is_file_name(file) {
            problems.push(whose, Defect::FileName(shown(file)));
            return None;
        }
        let text = match (self.library.description)(file) {
            Lookup::Found(text) => text,
            Lookup::Missing => {
                let (name, folders) = (shown(file), self.library.folders.clone());
                problems.push(whose, Defect::NoSuchFile { name, folders });
                return None;
            }
            Lookup::Unreadable { path, message } => {
                problems.push(whose, Defect::Unreadable { path, message });
                return None;
            }
        };
        let value = match parse(&text) {
            Ok(value) => value,
            Err((line, column, message)) => {
                let file = shown(file);
                problems.push(
                    whose,
                    Defect::Json {
                        file,
                        line,
                        column,
                        message,
                    },
                );
                return None;
            }
        };
        let mut found = description(&At::new(&value, file), problems)?;
        file.strip_suffix(".json")
            .unwrap_or(file)
            .clone_into(&mut found.name);
        self.specification.descriptions.push(found);
        Some(self.specification.descriptions.len() - 1)
    }

    fn edge(&mut self, line: &str, place: String, problems: &mut Problems) {
        let end = |text: &str| {
            let mut words = text.split_whitespace();
            let pair = (words.next()?.to_owned(), words.next()?.to_owned());
            words.next().is_none().then_some(pair)
        };
        let ends = line.split_once("->");
        let ends = ends.and_then(|(from, to)| Some((end(from)?, end(to)?)));
        let Some((from, to)) = ends else {
            let expected = "edge: write `kernel position -> kernel position`";
            problems.push(
                place,
                Defect::Line {
                    line: shown(line),
                    expected,
                },
            );
            return;
        };
        self.specification
            .edges
            .push(SpecifiedEdge { place, from, to });
    }

    fn components(&mut self, line: &str, place: &str, problems: &mut Problems) {
        let Ok(value) = parse(line) else {
            let expected = "list of task components: write lists of ids, as in [[0, 1], [2]]";
            problems.push(
                place,
                Defect::Line {
                    line: shown(line),
                    expected,
                },
            );
            return;
        };
        let root = At::new(&value, place);
        let list = root.optional("tc").unwrap_or(root);
        for (component, members) in (0..).zip(list.elements(limits::KERNELS, problems)) {
            for member in members.elements(limits::KERNELS, problems) {
                let Some(id) = member.id(problems) else {
                    continue;
                };
                match self.launches.get(&id) {
                    Some(&index) => self.specification.launches[index].component = Some(component),
                    None => problems.push(member.place(), Defect::UnknownKernel(shown(&id))),
                }
            }
        }
    }
}

/// The symbols of a line: preferences among them are preferences too.
pub(super) fn read_symbols(at: &At<'_>, launch: &mut Launch, problems: &mut Problems) {
    for (name, value) in at.entries(limits::NAMES, problems) {
        if !NO_SYMBOLS.contains(&name)
            && let Some(text) = value.expression(problems)
        {
            launch.symbols.insert(name.to_owned(), text);
        }
    }
    preferences(at, launch, problems);
}

/// Device and component, in either spelling.
pub(super) fn preferences(at: &At<'_>, launch: &mut Launch, problems: &mut Problems) {
    if let Some(device) = at.optional("dev").or_else(|| at.optional("partition")) {
        launch.device = device.device(problems);
    }
    if let Some(component) = at.optional("tc").or_else(|| at.optional("task")) {
        let most = u64::from(u32::MAX);
        let count = component.count(most, problems);
        launch.component = count.and_then(|count| u32::try_from(count).ok());
    }
}
