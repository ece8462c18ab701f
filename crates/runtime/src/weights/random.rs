//! Which constants of a model a seed fills, and their elements.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_frontend::import::onnx::{Call, Program, ValueId, Weight};
use paracompile_frontend::ir::{DataType, WeightRef};

use super::role::{KEPT_ELEMENTS, Role, carries};
use super::stream::Stream;

/// Constants that cannot be filled: the model's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("random weights are float or double, but these are not:{}", list(.values))]
pub struct WeightError {
    /// Their names and types.
    pub values: Vec<(String, DataType)>,
}

fn list(values: &[(String, DataType)]) -> String {
    use std::fmt::Write;
    values
        .iter()
        .fold(String::new(), |mut text, (name, dtype)| {
            let _ = write!(text, "\n  `{name}`: {dtype}");
            text
        })
}

/// The random elements of one constant.
#[derive(Clone, Debug)]
pub struct Fill {
    /// The name that the numbers follow from.
    pub name: String,
    /// Its use.
    pub role: Role,
    /// How many there are.
    pub elements: u64,
    is_double: bool,
    stream: Stream,
}

/// The random constants of a model.
#[derive(Clone, Debug)]
pub struct RandomWeights {
    fills: BTreeMap<ValueId, Fill>,
    /// What shares its bytes in the file with a fill, such as a reshaped weight.
    views: BTreeMap<ValueId, ValueId>,
}

impl RandomWeights {
    /// Finds what is filled: real constants that the file stores or makes by `ConstantOfShape`, of more than [`KEPT_ELEMENTS`] elements.
    pub fn of(program: &Program, seed: u64) -> Result<Self, WeightError> {
        let origins = Origins::of(program);
        let mut fills = BTreeMap::new();
        let mut refused = Vec::new();
        let readers = Readers::of(program, &origins);
        for &id in &origins.begin {
            let value = &program.values[id];
            let Some(role) = readers.role(id) else {
                continue;
            };
            let elements = value.shape.elements().unwrap_or(0);
            if elements <= KEPT_ELEMENTS || !value.dtype.is_real() {
                continue;
            }
            if !matches!(value.dtype, DataType::Float | DataType::Double) {
                refused.push((value.name.clone(), value.dtype));
                continue;
            }
            let fill = Fill {
                name: value.name.clone(),
                role,
                elements,
                is_double: value.dtype == DataType::Double,
                stream: Stream::new(seed, &value.name),
            };
            fills.insert(id, fill);
        }
        if refused.is_empty() {
            let mut views = origins.views;
            views.retain(|_, origin| fills.contains_key(origin));
            Ok(Self { fills, views })
        } else {
            Err(WeightError { values: refused })
        }
    }

    /// The random elements of a value as the file has it, before [`Program::rewritten`]; `None` if it is not filled.
    pub fn get(&self, id: ValueId) -> Option<&Fill> {
        let origin = self.views.get(&id).unwrap_or(&id);
        self.fills.get(origin)
    }

    /// All of them as bytes.
    pub fn bytes(&self, id: ValueId) -> Option<Vec<u8>> {
        self.get(id).map(Fill::to_bytes)
    }

    /// All that are filled, in the order of their ids.
    pub fn fills(&self) -> impl Iterator<Item = (ValueId, &Fill)> {
        self.fills.iter().map(|(&id, fill)| (id, fill))
    }
}

impl Fill {
    /// Size of an element in bytes.
    pub fn element_bytes(&self) -> usize {
        if self.is_double { 8 } else { 4 }
    }

    /// Fills `out` with as many whole elements as fit, from element `first` on, little-endian; a large tensor can be made piece by piece.
    pub fn write(&self, first: u64, out: &mut [u8]) {
        let (low, high) = self.role.range();
        let width = high - low;
        let value = |index: u64| low + width * self.stream.unit(index);
        if self.is_double {
            let (chunks, _) = out.as_chunks_mut::<8>();
            for (index, chunk) in (first..).zip(chunks) {
                *chunk = value(index).to_le_bytes();
            }
        } else {
            let (chunks, _) = out.as_chunks_mut::<4>();
            for (index, chunk) in (first..).zip(chunks) {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "rounding to single precision is meant"
                )]
                let rounded = value(index) as f32;
                *chunk = rounded.to_le_bytes();
            }
        }
    }

    /// All elements.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes()];
        self.write(0, &mut bytes);
        bytes
    }

    fn bytes(&self) -> usize {
        let count = usize::try_from(self.elements).expect("a weight in use fits the memory");
        count * self.element_bytes()
    }
}

/// Where constants begin: in the file, or in a `ConstantOfShape`.
struct Origins {
    /// From a value to the first one with the same place in the file.
    views: BTreeMap<ValueId, ValueId>,
    begin: BTreeSet<ValueId>,
}

impl Origins {
    fn of(program: &Program) -> Self {
        let mut views = BTreeMap::new();
        let mut begin = BTreeSet::new();
        let mut places = BTreeMap::new();
        for (id, value) in program.values.iter().enumerate() {
            let Some(place) = value.stored.as_ref().and_then(place) else {
                continue;
            };
            let first = *places.entry(place).or_insert(id);
            if first == id {
                begin.insert(id);
            } else {
                views.insert(id, first);
            }
        }
        let makers = program.constants.iter();
        let makers = makers.filter(|call| call.op_type == "ConstantOfShape");
        begin.extend(makers.filter_map(|call| call.results.first().copied().flatten()));
        Self { views, begin }
    }
}

/// What tells apart where stored constants lie; `None` of what no file stores.
fn place(stored: &WeightRef) -> Option<(&str, u64)> {
    match stored {
        WeightRef::Inline { offset, .. } | WeightRef::Varints { offset, .. } => Some(("", *offset)),
        WeightRef::External {
            location, offset, ..
        } => Some((location, *offset)),
        WeightRef::Generated => None,
    }
}

/// An operator that reads a constant, and at which position.
type Reader<'p> = (&'p Call, usize);

/// Who reads every constant, through operators that only carry it on.
struct Readers<'p> {
    program: &'p Program,
    origins: &'p Origins,
    found: BTreeMap<ValueId, Vec<Reader<'p>>>,
    /// What batch normalisations that were folded read.
    folded: BTreeMap<ValueId, Role>,
}

impl<'p> Readers<'p> {
    fn of(program: &'p Program, origins: &'p Origins) -> Self {
        let mut readers = Self {
            program,
            origins,
            found: BTreeMap::new(),
            folded: BTreeMap::new(),
        };
        for call in &program.calls {
            readers.read_by(call);
        }
        for weight in program.rewritten.values() {
            readers.folded_into(weight);
        }
        // Readers come behind what they read: going backwards, it is known who reads what a carrier carries.
        for call in program.constants.iter().rev() {
            readers.read_by(call);
        }
        readers
    }

    fn read_by(&mut self, call: &'p Call) {
        let carried = carries(call).then(|| {
            let results = call.results.iter().flatten();
            let readers = results.filter_map(|result| self.found.get(result));
            readers.flatten().copied().collect::<Vec<_>>()
        });
        for (position, operand) in call.operands.iter().enumerate() {
            let Some(id) = *operand else { continue };
            let id = match self.program.rewritten.get(&id) {
                Some(&Weight::ScaledFilter { filter, .. }) => filter,
                Some(Weight::ShiftedBias { .. }) => continue,
                None => id,
            };
            let origin = *self.origins.views.get(&id).unwrap_or(&id);
            let readers = self.found.entry(origin).or_default();
            match &carried {
                Some(carried) if position == 0 && !carried.is_empty() => readers.extend(carried),
                _ => readers.push((call, position)),
            }
        }
    }

    fn folded_into(&mut self, weight: &Weight) {
        let (scale, variance) = match *weight {
            Weight::ScaledFilter {
                scale, variance, ..
            } => (scale, variance),
            Weight::ShiftedBias {
                bias,
                scale,
                shift,
                mean,
                variance,
                ..
            } => {
                for id in bias.into_iter().chain([shift, mean]) {
                    self.fold(id, Role::Small);
                }
                (scale, variance)
            }
        };
        self.fold(scale, Role::Scale);
        self.fold(variance, Role::Scale);
    }

    fn fold(&mut self, id: ValueId, role: Role) {
        let origin = *self.origins.views.get(&id).unwrap_or(&id);
        let known = self.folded.entry(origin).or_insert(role);
        *known = role.max(*known);
    }

    /// The greatest role of a constant; `None` if nobody reads it.
    fn role(&self, id: ValueId) -> Option<Role> {
        let shape = &self.program.values[id].shape;
        let readers = self.found.get(&id).into_iter().flatten();
        readers
            .map(|&(call, position)| Role::of(call, position, shape))
            .chain(self.folded.get(&id).copied())
            .max()
    }
}
