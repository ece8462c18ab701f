//! Kernel launches as data.
//!
//! Every tensor argument (operand, result, scratch) is two arguments of the kernel: the buffer, and the index of its first element as
//! `ulong`, since a tensor may lie inside a larger buffer. The macros `IN`, `OUT`, `BIND_IN` and `BIND_OUT` of `common.cl` declare and join them.

/// A file of OpenCL C, with `common.cl` before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// File name, for messages.
    pub name: &'static str,
    /// What it holds.
    pub text: &'static str,
}

/// When a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Once, before the first frame: it reads constants alone, and writes scratch that lives on.
    Setup,
    /// For every frame.
    Frame,
}

/// A kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// An operand by position: buffer and first element.
    Operand(usize),
    /// A result by position: buffer and first element.
    Result(usize),
    /// A piece of scratch space by index: buffer and first element.
    Scratch(usize),
    /// A constant table by index: buffer alone.
    Table(usize),
    /// `int`.
    Int(i32),
    /// `long`.
    Long(i64),
    /// `float`.
    Float(f32),
    /// `double`.
    Double(f64),
    /// Local memory of so many bytes.
    Local(usize),
}

/// A kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// When it runs.
    pub phase: Phase,
    /// Where the kernel is.
    pub source: Source,
    /// Its name.
    pub kernel: &'static str,
    /// Build options, such as `-DTILE=4`; few distinct ones, since each is a program to compile.
    pub options: String,
    /// In order.
    pub arguments: Vec<Argument>,
    /// Work items along one to three dimensions.
    pub global: Vec<usize>,
    /// Work items of a group; the driver chooses if absent.
    pub local: Option<Vec<usize>>,
}

/// A piece of scratch space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// Its size.
    pub bytes: usize,
    /// Whether steps of [`Phase::Setup`] fill it for all frames, so that nothing else may use the memory in between.
    pub lives_on: bool,
}

/// What an operator, or several fused ones, become.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lowered {
    /// In order; each sees what those before it wrote.
    pub steps: Vec<Step>,
    /// Scratch space.
    pub scratch: Vec<Scratch>,
    /// Contents of constant tables.
    pub tables: Vec<Vec<u8>>,
}

impl Lowered {
    /// One more piece of scratch space for the length of a frame.
    pub fn add_scratch(&mut self, bytes: usize) -> Argument {
        self.add_scratch_of(bytes, Phase::Frame)
    }

    /// One more piece of scratch space, which steps of `phase` fill.
    pub fn add_scratch_of(&mut self, bytes: usize, phase: Phase) -> Argument {
        let lives_on = phase == Phase::Setup;
        self.scratch.push(Scratch { bytes, lives_on });
        Argument::Scratch(self.scratch.len() - 1)
    }

    /// One more table of `int`s.
    pub fn add_ints(&mut self, values: &[i32]) -> Argument {
        self.add_table(
            values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
        )
    }

    /// One more table of `long`s.
    pub fn add_longs(&mut self, values: &[i64]) -> Argument {
        self.add_table(
            values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
        )
    }

    /// One more table of `float`s.
    pub fn add_floats(&mut self, values: &[f32]) -> Argument {
        self.add_table(
            values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
        )
    }

    /// One more table.
    pub fn add_table(&mut self, bytes: Vec<u8>) -> Argument {
        self.tables.push(bytes);
        Argument::Table(self.tables.len() - 1)
    }
}
