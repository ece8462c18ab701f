//! Values of expressions: one launch's sizes, from its symbols, those that the user binds, and those of the file.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::Bytes;

use super::element::Element;
use super::error::{Defect, Problems, shown};
use super::expression::Expression;
use super::graph::{Access, Argument, Buffer, Number, Origin, Scalar};
use super::limits;
use super::specification::{Described, Description, Direction, Launch, Specification};
use crate::ir::DataType;

/// Values of the symbols of all launches, and which of them were needed.
pub(super) struct Scope<'a> {
    /// What the user binds; stronger than the file's, weaker than a launch's.
    asked: &'a BTreeMap<String, u64>,
    file: BTreeMap<String, i128>,
    needed: RefCell<BTreeSet<String>>,
}

impl<'a> Scope<'a> {
    /// The symbols of a specification; they may name those that the user binds.
    pub(super) fn new(
        specification: &Specification,
        asked: &'a BTreeMap<String, u64>,
        problems: &mut Problems,
    ) -> Self {
        let mut scope = Self {
            asked,
            file: BTreeMap::new(),
            needed: RefCell::default(),
        };
        let mut file = BTreeMap::new();
        for (name, text) in &specification.symbols {
            if asked.contains_key(name) {
                continue;
            }
            let place = format!("symbols.{}", shown(name));
            if let Some(value) = scope.bounded(text, None, &place, BOUNDS, problems) {
                file.insert(name.clone(), value);
            }
        }
        scope.file = file;
        scope
    }

    /// Every symbol that a launch knows by the file, with its value: its own before those of the whole graph.
    pub(super) fn of_launch(
        &self,
        launch: &Launch,
        problems: &mut Problems,
    ) -> BTreeMap<String, i128> {
        let mut known = self.file.clone();
        known.extend(
            self.asked
                .iter()
                .map(|(name, &value)| (name.clone(), value.into())),
        );
        known.extend(self.own_symbols(launch, problems));
        known
    }

    fn own_symbols(&self, launch: &Launch, problems: &mut Problems) -> BTreeMap<String, i128> {
        let values = launch.symbols.iter().filter_map(|(name, text)| {
            let place = format!("kernel {}, symbols.{}", launch.name, shown(name));
            Some((
                name.clone(),
                self.bounded(text, None, &place, BOUNDS, problems)?,
            ))
        });
        values.collect()
    }

    /// The bound symbols that some expression needed, with their values.
    pub(super) fn bound(&self) -> BTreeMap<String, u64> {
        let needed = self.needed.borrow();
        let bound = self.asked.iter().filter(|(name, _)| needed.contains(*name));
        bound.map(|(name, &value)| (name.clone(), value)).collect()
    }

    /// The bound symbols that none did.
    pub(super) fn unused(&self) -> Vec<String> {
        let needed = self.needed.borrow();
        self.asked
            .keys()
            .filter(|name| !needed.contains(*name))
            .cloned()
            .collect()
    }

    fn symbol(&self, name: &str, own: Option<&Own>) -> Option<i128> {
        if let Some(value) = own.and_then(|own| own.symbols.get(name)) {
            return Some(*value);
        }
        if let Some(&value) = self.asked.get(name) {
            self.needed.borrow_mut().insert(name.to_owned());
            return Some(value.into());
        }
        let file = self.file.get(name).copied();
        file.or_else(|| own.and_then(|own| own.implied(name)))
    }

    fn value(
        &self,
        text: &str,
        own: Option<&Own>,
        place: &str,
        problems: &mut Problems,
    ) -> Option<i128> {
        let expression = match Expression::parse(text) {
            Ok(expression) => expression,
            Err(error) => {
                problems.push(
                    place,
                    Defect::Syntax {
                        text: shown(text),
                        error,
                    },
                );
                return None;
            }
        };
        match expression.evaluate(&|name| self.symbol(name, own)) {
            Ok(value) => Some(value),
            Err(error) => {
                problems.push(
                    place,
                    Defect::Evaluation {
                        text: shown(text),
                        error,
                    },
                );
                None
            }
        }
    }

    /// A value from `least` to `most`.
    fn bounded(
        &self,
        text: &str,
        own: Option<&Own>,
        place: &str,
        (least, most): (i128, i128),
        problems: &mut Problems,
    ) -> Option<i128> {
        let value = self.value(text, own, place, problems)?;
        if !(least..=most).contains(&value) {
            let defect = Defect::Range {
                text: shown(text),
                value: value.to_string(),
                least: least.to_string(),
                most: most.to_string(),
            };
            problems.push(place, defect);
            return None;
        }
        Some(value)
    }
}

/// What a symbol or a macro can be: it reads back as the same number from every format.
const BOUNDS: (i128, i128) = (i64::MIN as i128, u64::MAX as i128);

/// The symbols of one launch.
struct Own {
    symbols: BTreeMap<String, i128>,
    /// Extent of the first dimension, once it is known.
    first_extent: Option<i128>,
}

impl Own {
    /// What PySchedCL knows without being told: kernels run whole on one device, so their share is all of it.
    fn implied(&self, name: &str) -> Option<i128> {
        match name {
            "size_percent" => Some(100),
            "offset_percent" => Some(0),
            // The elements that a split kernel would share out along its first dimension.
            "dataset" => self.first_extent,
            _ => None,
        }
    }
}

/// What a launch evaluates to.
#[derive(Debug)]
pub(super) struct Evaluated {
    pub(super) defines: BTreeMap<String, String>,
    pub(super) global: Vec<u64>,
    pub(super) local: Option<Vec<u64>>,
    pub(super) arguments: Vec<Argument>,
}

/// Evaluates a launch of `description`, or tells what has no value.
pub(super) fn evaluate(
    launch: &Launch,
    description: &Description,
    scope: &Scope<'_>,
    problems: &mut Problems,
) -> Option<Evaluated> {
    let whose = format!("kernel {}", launch.name);
    let own = Own {
        symbols: scope.own_symbols(launch, problems),
        first_extent: None,
    };
    if own.symbols.len() < launch.symbols.len() {
        return None;
    }
    let mut site = Site {
        scope,
        own,
        whose,
        problems,
    };
    let global = site.extents(&description.global, "globalWorkSize");
    site.own.first_extent = global
        .as_ref()
        .and_then(|list| list.first())
        .map(|&extent| extent.into());
    let local = match &description.local {
        Some(list) => site.extents(list, "localWorkSize").map(Some),
        None => Some(None),
    };
    let defines: Vec<_> = description
        .defines
        .iter()
        .map(|(name, text)| Some((name.clone(), site.define(name, text)?)))
        .collect();
    let arguments: Vec<_> = description
        .arguments
        .iter()
        .map(|argument| site.argument(&argument.what, &argument.place))
        .collect();
    let (global, local) = (global?, local?);
    site.groups(&global, local.as_deref())?;
    Some(Evaluated {
        defines: defines.into_iter().collect::<Option<_>>()?,
        global,
        local,
        arguments: arguments.into_iter().collect::<Option<_>>()?,
    })
}

struct Site<'a> {
    scope: &'a Scope<'a>,
    own: Own,
    whose: String,
    problems: &'a mut Problems,
}

impl Site<'_> {
    fn place(&self, path: &str) -> String {
        format!("{}, {path}", self.whose)
    }

    fn value(&mut self, text: &str, path: &str) -> Option<i128> {
        let place = self.place(path);
        self.scope
            .value(text, Some(&self.own), &place, self.problems)
    }

    /// A value from the first to the last of `range`.
    fn within(&mut self, text: &str, path: &str, range: (i128, i128)) -> Option<i128> {
        let place = self.place(path);
        let own = Some(&self.own);
        self.scope.bounded(text, own, &place, range, self.problems)
    }

    fn positive(&mut self, text: &str, path: &str, most: u64) -> Option<u64> {
        let value = self.within(text, path, (1, most.into()))?;
        Some(u64::try_from(value).expect("lies within the range of the type"))
    }

    fn extents(&mut self, list: &[String], key: &str) -> Option<Vec<u64>> {
        let extents: Vec<_> = list
            .iter()
            .enumerate()
            .map(|(axis, text)| self.positive(text, &format!("{key}[{axis}]"), limits::EXTENT))
            .collect();
        extents.into_iter().collect()
    }

    /// Work groups have to fill the work items.
    fn groups(&mut self, global: &[u64], local: Option<&[u64]>) -> Option<()> {
        let pairs = global.iter().zip(local.unwrap_or_default());
        let wrong = pairs
            .enumerate()
            .find(|(_, (global, local))| *global % *local != 0);
        let Some((axis, (&global, &local))) = wrong else {
            return Some(());
        };
        let place = self.place(&format!("localWorkSize[{axis}]"));
        self.problems.push(place, Defect::Groups { global, local });
        None
    }

    /// A macro is a number, or the name of a type, as in `-DREAL=float`.
    fn define(&mut self, name: &str, text: &str) -> Option<String> {
        if Element::parse(text).is_some() {
            return Some(text.to_owned());
        }
        let value = self.within(text, &format!("macros_values.{name}"), BOUNDS)?;
        Some(value.to_string())
    }

    fn argument(&mut self, what: &Described, place: &str) -> Option<Argument> {
        let size_path = format!("{place}.size");
        match what {
            Described::Buffer {
                direction,
                element,
                size,
                shared_out,
            } => {
                let (elements, bytes) =
                    self.size(*element, size, &size_path, limits::BUFFER_BYTES)?;
                let host = Origin::Host(None);
                let access = match direction {
                    Direction::In => Access::In(host),
                    Direction::Out => Access::Out,
                    Direction::InOut => Access::InOut(host),
                };
                let (element, shared_out) = (*element, *shared_out);
                Some(Argument::Buffer(Buffer {
                    access,
                    element,
                    elements,
                    bytes,
                    shared_out,
                }))
            }
            Described::Scalar { element, value } => {
                let value = self.scalar(*element, value, &format!("{place}.value"))?;
                Some(Argument::Scalar(Scalar {
                    element: *element,
                    value,
                }))
            }
            Described::Local { element, size } => {
                let (_, bytes) = self.size(*element, size, &size_path, limits::LOCAL_BYTES)?;
                Some(Argument::Local { bytes })
            }
        }
    }

    fn size(
        &mut self,
        element: Element,
        text: &str,
        path: &str,
        limit: u64,
    ) -> Option<(u64, Bytes)> {
        let elements = self.positive(text, path, u64::MAX)?;
        let bytes = elements.checked_mul(element.bytes());
        let Some(bytes) = bytes.filter(|&bytes| bytes <= limit) else {
            let element_bytes = element.bytes();
            self.problems.push(
                self.place(path),
                Defect::Size {
                    elements,
                    element_bytes,
                    limit,
                },
            );
            return None;
        };
        Some((elements, Bytes::new(bytes)))
    }

    fn scalar(&mut self, element: Element, text: &str, path: &str) -> Option<Number> {
        if element.dtype.is_real() {
            // Expressions are whole; a decimal number stands alone.
            let decimal = text.trim().parse::<f64>().ok();
            let is_number = text.bytes().any(|byte| byte.is_ascii_digit());
            if let Some(value) = decimal.filter(|value| value.is_finite() && is_number) {
                return Some(Number::Real(value));
            }
            #[expect(
                clippy::cast_precision_loss,
                reason = "the argument has no more precision than the number"
            )]
            return self
                .value(text, path)
                .map(|value| Number::Real(value as f64));
        }
        self.within(text, path, range(element.dtype))
            .map(Number::Whole)
    }
}

/// The values of a whole type.
const fn range(dtype: DataType) -> (i128, i128) {
    let bits = dtype.bits();
    match dtype {
        DataType::Uint8 | DataType::Uint16 | DataType::Uint32 | DataType::Uint64 => {
            (0, (1 << bits) - 1)
        }
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
            (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        }
        DataType::Float
        | DataType::Double
        | DataType::Float16
        | DataType::BFloat16
        | DataType::Float8
        | DataType::Float6
        | DataType::Float4
        | DataType::Int4
        | DataType::Int2
        | DataType::Uint4
        | DataType::Uint2
        | DataType::Bool
        | DataType::Complex64
        | DataType::Complex128
        | DataType::String => (0, 0),
    }
}
