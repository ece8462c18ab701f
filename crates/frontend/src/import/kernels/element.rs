//! OpenCL C's types of buffer elements and scalar arguments.

use std::fmt;

use crate::ir::DataType;

/// A type of OpenCL C: a scalar, or a vector of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    /// Of one component.
    pub dtype: DataType,
    /// Components: 1, 2, 3, 4, 8 or 16.
    pub lanes: u8,
}

/// OpenCL's spellings of scalar types; those of C that mean the same are read too.
const SCALARS: [(&str, DataType); 16] = [
    ("char", DataType::Int8),
    ("uchar", DataType::Uint8),
    ("short", DataType::Int16),
    ("ushort", DataType::Uint16),
    ("int", DataType::Int32),
    ("uint", DataType::Uint32),
    ("long", DataType::Int64),
    ("ulong", DataType::Uint64),
    ("half", DataType::Float16),
    ("float", DataType::Float),
    ("double", DataType::Double),
    ("unsigned char", DataType::Uint8),
    ("unsigned short", DataType::Uint16),
    ("unsigned int", DataType::Uint32),
    ("unsigned long", DataType::Uint64),
    ("unsigned", DataType::Uint32),
];

impl Element {
    /// The type that OpenCL C calls so.
    pub fn parse(name: &str) -> Option<Self> {
        let scalar = |name: &str| {
            let found = SCALARS.iter().find(|(known, _)| *known == name);
            found.map(|&(_, dtype)| dtype)
        };
        if let Some(dtype) = scalar(name) {
            return Some(Self { dtype, lanes: 1 });
        }
        // C's own spellings have no vectors.
        let is_c = name.contains("unsigned");
        [("16", 16), ("2", 2), ("3", 3), ("4", 4), ("8", 8)]
            .into_iter()
            .filter(|_| !is_c)
            .find_map(|(suffix, lanes)| {
                let dtype = scalar(name.strip_suffix(suffix)?)?;
                Some(Self { dtype, lanes })
            })
    }

    /// Size in bytes; a vector of three takes the space of four.
    pub const fn bytes(self) -> u64 {
        self.components() * self.dtype.bits() / 8
    }

    /// Components with those that only align.
    pub const fn components(self) -> u64 {
        if self.lanes == 3 {
            4
        } else {
            self.lanes as u64
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = SCALARS.iter().find(|(_, dtype)| *dtype == self.dtype);
        let name = known.map_or(self.dtype.name(), |(name, _)| name);
        if self.lanes == 1 {
            f.write_str(name)
        } else {
            write!(f, "{name}{}", self.lanes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_opencls_and_read_back() {
        for (name, bytes) in [
            ("char", 1),
            ("uint", 4),
            ("float", 4),
            ("float16", 64),
            ("float3", 16),
            ("double2", 16),
            ("half8", 16),
            ("ulong4", 32),
        ] {
            let element = Element::parse(name).unwrap();
            assert_eq!(
                (element.to_string().as_str(), element.bytes()),
                (name, bytes)
            );
        }
        assert_eq!(Element::parse("unsigned int"), Element::parse("uint"));
        for name in [
            "",
            "float5",
            "bool",
            "float33",
            "unsigned2",
            "Float",
            "image2d_t",
        ] {
            assert_eq!(Element::parse(name), None, "{name}");
        }
    }
}
