//! Typed access to the attributes of a node.

use std::collections::HashMap;

use super::Fault;
use super::wire::{AttributeProto, FunctionProto, TensorProto};

/// The attributes of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes<'a> {
    pub(super) own: &'a [AttributeProto],
    /// What the attributes of a function's nodes may refer to.
    pub(super) environment: Option<&'a Environment<'a>>,
}

/// The attributes of a call by name, those that it leaves out with the function's defaults.
#[derive(Debug)]
pub(super) struct Environment<'m>(HashMap<&'m str, &'m AttributeProto>);

impl<'m> Environment<'m> {
    /// Of a call with attributes `own`, which stands in a function with the environment `around` or in none.
    pub(super) fn of_call(
        function: &'m FunctionProto,
        own: &'m [AttributeProto],
        around: Option<&Self>,
    ) -> Self {
        let mut attributes: HashMap<&str, &AttributeProto> = function
            .attribute_proto
            .iter()
            .map(|default| (default.name.as_str(), default))
            .collect();
        for attribute in own {
            match resolve(attribute, around) {
                Some(given) => attributes.insert(&attribute.name, given),
                None => continue,
            };
        }
        Self(attributes)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// What an attribute says, or the attribute of the call that it refers to; `None` if the call leaves that out.
fn resolve<'m>(
    attribute: &'m AttributeProto,
    environment: Option<&Environment<'m>>,
) -> Option<&'m AttributeProto> {
    if attribute.ref_attr_name.is_empty() {
        return Some(attribute);
    }
    environment?
        .0
        .get(attribute.ref_attr_name.as_str())
        .copied()
}

/// What an attribute holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Float,
    Int,
    Text,
    Tensor,
    Floats,
    Ints,
    Texts,
    Other,
}

impl Form {
    /// By the type that the attribute states, or by what is there where files of IR version 1 leave that out.
    pub(super) fn of(proto: &AttributeProto) -> Self {
        match proto.r#type {
            kind::FLOAT => Self::Float,
            kind::INT => Self::Int,
            kind::STRING => Self::Text,
            kind::TENSOR => Self::Tensor,
            kind::FLOATS => Self::Floats,
            kind::INTS => Self::Ints,
            kind::STRINGS => Self::Texts,
            kind::UNSET if proto.f.is_some() => Self::Float,
            kind::UNSET if proto.i.is_some() => Self::Int,
            kind::UNSET if proto.s.is_some() => Self::Text,
            kind::UNSET if proto.t.is_some() => Self::Tensor,
            kind::UNSET if !proto.floats.is_empty() => Self::Floats,
            kind::UNSET if !proto.ints.is_empty() => Self::Ints,
            kind::UNSET if !proto.strings.is_empty() => Self::Texts,
            _ => Self::Other,
        }
    }
}

/// ONNX's numbers of attribute types; zero is the absent type of IR version 1.
mod kind {
    pub(super) const UNSET: i32 = 0;
    pub(super) const FLOAT: i32 = 1;
    pub(super) const INT: i32 = 2;
    pub(super) const STRING: i32 = 3;
    pub(super) const TENSOR: i32 = 4;
    pub(super) const FLOATS: i32 = 6;
    pub(super) const INTS: i32 = 7;
    pub(super) const STRINGS: i32 = 8;
    pub(super) const SPARSE_TENSOR: i32 = 11;
}

impl<'a> Attributes<'a> {
    /// All of them by name, with what a call gives in the place of references to it.
    pub(super) fn resolved(self) -> impl Iterator<Item = (&'a str, &'a AttributeProto)> {
        self.own.iter().filter_map(move |own| {
            let given = resolve(own, self.environment)?;
            Some((own.name.as_str(), given))
        })
    }

    pub(super) fn contains(self, attribute: &str) -> bool {
        self.find(attribute).is_some()
    }

    pub(super) fn int(self, attribute: &'static str) -> Result<Option<i64>, Fault> {
        self.typed(attribute, kind::INT, "an integer")
            .map(|found| found.map(|proto| proto.i.unwrap_or(0)))
    }

    pub(super) fn int_or(self, attribute: &'static str, default: i64) -> Result<i64, Fault> {
        self.int(attribute).map(|value| value.unwrap_or(default))
    }

    /// Whether the integer `attribute` is present and not zero.
    pub(super) fn is_set(self, attribute: &'static str) -> Result<bool, Fault> {
        self.int(attribute)
            .map(|value| value.is_some_and(|value| value != 0))
    }

    pub(super) fn float(self, attribute: &'static str) -> Result<Option<f32>, Fault> {
        self.typed(attribute, kind::FLOAT, "a number")
            .map(|found| found.map(|proto| proto.f.unwrap_or(0.0)))
    }

    pub(super) fn ints(self, attribute: &'static str) -> Result<Option<&'a [i64]>, Fault> {
        self.typed(attribute, kind::INTS, "a list of integers")
            .map(|found| found.map(|proto| proto.ints.as_slice()))
    }

    pub(super) fn floats(self, attribute: &'static str) -> Result<Option<&'a [f32]>, Fault> {
        self.typed(attribute, kind::FLOATS, "a list of numbers")
            .map(|found| found.map(|proto| proto.floats.as_slice()))
    }

    pub(super) fn string(self, attribute: &'static str) -> Result<Option<&'a str>, Fault> {
        let expected = "text";
        let Some(proto) = self.typed(attribute, kind::STRING, expected)? else {
            return Ok(None);
        };
        let bytes = proto.s.as_deref().unwrap_or_default();
        std::str::from_utf8(bytes)
            .map(Some)
            .map_err(|_| Fault::AttributeType {
                attribute,
                expected,
            })
    }

    /// How many texts a list has.
    pub(super) fn strings(self, attribute: &'static str) -> Result<Option<usize>, Fault> {
        self.typed(attribute, kind::STRINGS, "a list of texts")
            .map(|found| found.map(|proto| proto.strings.len()))
    }

    pub(super) fn tensor(self, attribute: &'static str) -> Result<Option<&'a TensorProto>, Fault> {
        let expected = "a tensor";
        let Some(proto) = self.typed(attribute, kind::TENSOR, expected)? else {
            return Ok(None);
        };
        proto.t.as_deref().map(Some).ok_or(Fault::AttributeType {
            attribute,
            expected,
        })
    }

    fn find(self, attribute: &str) -> Option<&'a AttributeProto> {
        let own = self.own.iter().find(|own| own.name == attribute)?;
        resolve(own, self.environment)
    }

    /// Element type and extents of a sparse constant, which is a dense one to whoever reads it.
    pub(super) fn sparse_tensor(
        self,
        attribute: &'static str,
    ) -> Result<Option<(i64, &'a [i64])>, Fault> {
        let expected = "a sparse tensor";
        let Some(proto) = self.typed(attribute, kind::SPARSE_TENSOR, expected)? else {
            return Ok(None);
        };
        let sparse = proto.sparse_tensor.as_deref();
        let values = sparse.and_then(|sparse| sparse.values.as_ref().zip(Some(&sparse.dims)));
        values
            .map(|(values, dims)| Some((i64::from(values.data_type), dims.as_slice())))
            .ok_or(Fault::AttributeType {
                attribute,
                expected,
            })
    }

    fn typed(
        self,
        attribute: &'static str,
        wanted: i32,
        expected: &'static str,
    ) -> Result<Option<&'a AttributeProto>, Fault> {
        let Some(proto) = self.find(attribute) else {
            return Ok(None);
        };
        if proto.r#type == wanted || proto.r#type == kind::UNSET {
            Ok(Some(proto))
        } else {
            Err(Fault::AttributeType {
                attribute,
                expected,
            })
        }
    }
}
