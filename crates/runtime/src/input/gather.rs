//! The inputs of a run: files that the user gives, checked against the model, and random numbers for a run without any.

use std::fmt;
use std::path::{Path, PathBuf};

use paracompile_frontend::import::onnx::{Program, ValueId};
use paracompile_frontend::ir::{DataType, Shape};

use super::file::{TensorFileError, read_tensor};
use super::random::random_input;
use super::tensor::HostTensor;
use crate::host_memory::{self, TooLarge};

/// Inputs that do not fit the model: the user's fault, all of it at once.
#[derive(Debug, thiserror::Error)]
#[error("{}", lines(.problems))]
pub struct InputError {
    /// What is wrong.
    pub problems: Vec<InputProblem>,
    /// The inputs of the model, a line each.
    pub inputs: Vec<String>,
}

fn lines(problems: &[InputProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// One thing that is wrong with the inputs.
#[derive(Debug)]
#[non_exhaustive]
pub enum InputProblem {
    /// A file for nothing.
    Unknown {
        /// The name before the file.
        name: String,
    },
    /// A name and no file.
    NoFile {
        /// The name.
        name: String,
    },
    /// More files than inputs.
    TooMany {
        /// The first file too many.
        file: PathBuf,
    },
    /// Two files for one input.
    Twice {
        /// The input.
        name: String,
    },
    /// Some inputs are given and this one is not.
    Missing {
        /// The input.
        name: String,
    },
    /// A file that cannot be read.
    File {
        /// The input.
        name: String,
        /// Why.
        error: TensorFileError,
    },
    /// Another type or shape.
    Differs {
        /// The input.
        name: String,
        /// The file.
        file: PathBuf,
        /// What the model reads.
        expected: (DataType, Shape),
        /// What the file holds.
        found: (DataType, Shape),
    },
    /// More than the memory holds.
    TooLarge(TooLarge),
    /// No random numbers of its type.
    NoRandom {
        /// The input.
        name: String,
        /// Its type.
        dtype: DataType,
    },
}

impl From<TooLarge> for InputProblem {
    fn from(error: TooLarge) -> Self {
        Self::TooLarge(error)
    }
}

impl fmt::Display for InputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => write!(f, "input `{name}`: the model has no such input"),
            Self::NoFile { name } => write!(f, "input `{name}`: no file behind the `=`"),
            Self::TooMany { file } => {
                write!(f, "{}: the model has no further input", file.display())
            }
            Self::Twice { name } => write!(f, "input `{name}`: given twice"),
            Self::Missing { name } => write!(f, "input `{name}`: not given, though others are"),
            Self::File { name, error } => write!(f, "input `{name}`: {error}"),
            Self::Differs {
                name,
                file,
                expected,
                found,
            } => write!(
                f,
                "input `{name}`: expected {} {}, but {} holds {} {}",
                expected.0,
                expected.1,
                file.display(),
                found.0,
                found.1
            ),
            Self::TooLarge(error) => write!(f, "{error}"),
            Self::NoRandom { name, dtype } => {
                write!(
                    f,
                    "input `{name}`: there are no random numbers of type {dtype}; give a file"
                )
            }
        }
    }
}

/// An input of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'w> {
    /// Its name.
    pub(crate) name: &'w str,
    /// Its element type.
    pub(crate) dtype: DataType,
    /// Its extents.
    pub(crate) shape: &'w Shape,
}

/// Whether a file with other extents and as many elements is what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extents {
    /// They have to be those of the model.
    Matter,
    /// Buffers have none.
    Free,
}

impl<'w> Wanted<'w> {
    /// A value of a network.
    pub(crate) fn of(program: &'w Program, id: ValueId) -> Self {
        let value = &program.values[id];
        Self {
            name: &value.name,
            dtype: value.dtype,
            shape: &value.shape,
        }
    }
}

/// A tensor for every input of the model that it reads, in its order.
///
/// Inputs whose elements nothing reads may be given by name; they are checked alike, and left out.
/// `given` are the options as typed: `FILE`, in the order of the inputs, or `NAME=FILE`.
/// Without any, all inputs are random, by `seed`.
pub fn gather(
    program: &Program,
    given: &[String],
    seed: u64,
) -> Result<Vec<HostTensor>, InputError> {
    let inputs: Vec<ValueId> = inputs(program);
    let wanted = |ids: &[ValueId]| -> Vec<Wanted<'_>> {
        ids.iter().map(|&id| Wanted::of(program, id)).collect()
    };
    let mut unread = program.inputs.clone();
    unread.retain(|id| !inputs.contains(id));
    let (read, unread) = (wanted(&inputs), wanted(&unread));
    gather_for((&read, &unread), given, Extents::Matter, &|index| {
        if given.is_empty() {
            random_input(program, inputs[index], seed)
        } else {
            let name = read[index].name.to_owned();
            Err(InputProblem::Missing { name })
        }
    })
}

/// The same for inputs that are read and others; `otherwise` makes those that are read and not given.
pub(crate) fn gather_for(
    (wanted, unread): (&[Wanted<'_>], &[Wanted<'_>]),
    given: &[String],
    extents: Extents,
    otherwise: &dyn Fn(usize) -> Result<HostTensor, InputProblem>,
) -> Result<Vec<HostTensor>, InputError> {
    let mut problems = Vec::new();
    let files = assign(wanted, unread, given, &mut problems);
    let refused = |problems| InputError {
        problems,
        inputs: lines_of(wanted, unread),
    };
    host_memory::check(sizes(wanted))
        .map_err(|error| refused(vec![InputProblem::TooLarge(error)]))?;
    let mut tensors = Vec::new();
    for (&wanted, file) in unread.iter().zip(&files[wanted.len()..]) {
        if let Some(Err(problem)) = file.as_ref().map(|file| read(wanted, file, extents)) {
            problems.push(problem);
        }
    }
    for ((index, &wanted), file) in wanted.iter().enumerate().zip(files) {
        let tensor = match file {
            Some(file) => read(wanted, &file, extents),
            None if is_named(&problems, wanted.name) => continue,
            None => otherwise(index),
        };
        match tensor {
            Ok(tensor) => tensors.push(tensor),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        Ok(tensors)
    } else {
        Err(refused(problems))
    }
}

/// A line for each input, those that nothing reads last.
fn lines_of(wanted: &[Wanted<'_>], unread: &[Wanted<'_>]) -> Vec<String> {
    let line = |wanted: &Wanted<'_>, note: &str| {
        format!("`{}`: {} {}{note}", wanted.name, wanted.dtype, wanted.shape)
    };
    let lines = wanted.iter().map(|wanted| line(wanted, ""));
    let others = unread
        .iter()
        .map(|wanted| line(wanted, ", whose elements nothing reads"));
    lines.chain(others).collect()
}

/// Bytes of inputs, by name.
fn sizes(wanted: &[Wanted<'_>]) -> Vec<(String, u64)> {
    let size = |wanted: &Wanted<'_>| {
        let bytes = wanted.shape.bytes(wanted.dtype);
        (
            wanted.name.to_owned(),
            bytes.map_or(u64::MAX, paracompile_plan::Bytes::count),
        )
    };
    wanted.iter().map(size).collect()
}

/// Whether a problem tells already that an input has no file.
fn is_named(problems: &[InputProblem], input: &str) -> bool {
    problems
        .iter()
        .any(|problem| matches!(problem, InputProblem::NoFile { name } if name == input))
}

fn inputs(program: &Program) -> Vec<ValueId> {
    let inputs = program.imported.graph.inputs.iter();
    inputs.map(|input| program.tensors[input.index()]).collect()
}

/// Which file is for which input, `unread` ones last, which are given by name alone.
fn assign(
    wanted: &[Wanted<'_>],
    unread: &[Wanted<'_>],
    given: &[String],
    problems: &mut Vec<InputProblem>,
) -> Vec<Option<PathBuf>> {
    let named: Vec<Wanted<'_>> = wanted.iter().chain(unread).copied().collect();
    let mut files: Vec<Option<PathBuf>> = vec![None; named.len()];
    let place = |name: &str| named.iter().position(|wanted| wanted.name == name);
    let mut in_order = Vec::new();
    for text in given {
        if let Some(name) = text.strip_suffix('=').filter(|_| !Path::new(text).exists()) {
            problems.push(InputProblem::NoFile {
                name: name.to_owned(),
            });
            continue;
        }
        // Names of tensors and of files may hold `=` themselves: the longest name that the model has counts.
        let splits = text
            .rmatch_indices('=')
            .map(|(at, _)| (&text[..at], &text[at + 1..]));
        let mut candidates = splits.filter_map(|(name, file)| Some((place(name)?, file)));
        match candidates.next() {
            Some((place, file)) if files[place].is_none() => files[place] = Some(file.into()),
            Some((place, _)) => {
                let name = named[place].name.to_owned();
                problems.push(InputProblem::Twice { name });
            }
            None => match text.split_once('=') {
                Some((name, _)) if !Path::new(text).exists() => {
                    let name = name.to_owned();
                    problems.push(InputProblem::Unknown { name });
                }
                Some(_) | None => in_order.push(PathBuf::from(text)),
            },
        }
    }
    let mut free = (0..wanted.len())
        .filter(|&place| files[place].is_none())
        .collect::<Vec<_>>()
        .into_iter();
    for file in in_order {
        match free.next() {
            Some(place) => files[place] = Some(file),
            None => problems.push(InputProblem::TooMany { file }),
        }
    }
    files
}

/// A file that holds what is wanted.
pub(crate) fn read(
    wanted: Wanted<'_>,
    file: &Path,
    extents: Extents,
) -> Result<HostTensor, InputProblem> {
    let name = || wanted.name.to_owned();
    let most = wanted
        .shape
        .bytes(wanted.dtype)
        .map_or(u64::MAX, paracompile_plan::Bytes::count);
    let tensor = read_tensor(file, most).map_err(|error| InputProblem::File {
        name: name(),
        error,
    })?;
    let is_alike = match extents {
        Extents::Matter => tensor.shape == *wanted.shape,
        Extents::Free => tensor.shape.bytes(tensor.dtype) == wanted.shape.bytes(wanted.dtype),
    };
    if tensor.dtype == wanted.dtype && is_alike {
        return Ok(tensor);
    }
    Err(InputProblem::Differs {
        name: name(),
        file: file.to_owned(),
        expected: (wanted.dtype, wanted.shape.clone()),
        found: (tensor.dtype, tensor.shape),
    })
}
