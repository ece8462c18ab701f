//! The inputs of a run: files that the user gives, checked against the model, and random numbers for a run without any.

use std::fmt;
use std::path::{Path, PathBuf};

use paracompile_frontend::import::onnx::{Program, ValueId};
use paracompile_frontend::ir::{DataType, Shape};

use super::file::{TensorFileError, read_tensor};
use super::random::random_input;
use super::tensor::HostTensor;

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
    /// No random numbers of its type.
    NoRandom {
        /// The input.
        name: String,
        /// Its type.
        dtype: DataType,
    },
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
            Self::NoRandom { name, dtype } => {
                write!(
                    f,
                    "input `{name}`: there are no random numbers of type {dtype}; give a file"
                )
            }
        }
    }
}

/// A tensor for every input of the model, in its order.
///
/// `given` are the options as typed: `FILE`, in the order of the inputs, or `NAME=FILE`.
/// Without any, all inputs are random, by `seed`.
pub fn gather(
    program: &Program,
    given: &[String],
    seed: u64,
) -> Result<Vec<HostTensor>, InputError> {
    let inputs: Vec<ValueId> = inputs(program);
    let mut problems = Vec::new();
    let files = assign(program, &inputs, given, &mut problems);
    let mut tensors = Vec::new();
    for (&id, file) in inputs.iter().zip(files) {
        let value = &program.values[id];
        let name = || value.name.clone();
        let tensor = match file {
            Some(file) => read(program, id, &file),
            None if given.is_empty() => random_input(program, id, seed).ok_or_else(|| {
                let dtype = value.dtype;
                InputProblem::NoRandom {
                    name: name(),
                    dtype,
                }
            }),
            None if is_named(&problems, &value.name) => continue,
            None => Err(InputProblem::Missing { name: name() }),
        };
        match tensor {
            Ok(tensor) => tensors.push(tensor),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        return Ok(tensors);
    }
    let lines = inputs.iter().map(|&id| {
        let value = &program.values[id];
        format!("`{}`: {} {}", value.name, value.dtype, value.shape)
    });
    Err(InputError {
        problems,
        inputs: lines.collect(),
    })
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

/// Which file is for which input.
fn assign(
    program: &Program,
    inputs: &[ValueId],
    given: &[String],
    problems: &mut Vec<InputProblem>,
) -> Vec<Option<PathBuf>> {
    let mut files: Vec<Option<PathBuf>> = vec![None; inputs.len()];
    let place = |name: &str| {
        inputs
            .iter()
            .position(|&id| program.values[id].name == name)
    };
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
        let mut named = splits.filter_map(|(name, file)| Some((place(name)?, file)));
        match named.next() {
            Some((place, file)) if files[place].is_none() => files[place] = Some(file.into()),
            Some((place, _)) => {
                let name = program.values[inputs[place]].name.clone();
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
    let mut free = (0..inputs.len())
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

fn read(program: &Program, id: ValueId, file: &Path) -> Result<HostTensor, InputProblem> {
    let value = &program.values[id];
    let name = || value.name.clone();
    let most = value
        .shape
        .bytes(value.dtype)
        .map_or(u64::MAX, paracompile_plan::Bytes::count);
    let tensor = read_tensor(file, most).map_err(|error| InputProblem::File {
        name: name(),
        error,
    })?;
    if (tensor.dtype, &tensor.shape) == (value.dtype, &value.shape) {
        return Ok(tensor);
    }
    Err(InputProblem::Differs {
        name: name(),
        file: file.to_owned(),
        expected: (value.dtype, value.shape.clone()),
        found: (tensor.dtype, tensor.shape),
    })
}
