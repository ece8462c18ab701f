//! Weights in files beside the model: where they lie, and how a stage file takes over those that it needs.
//!
//! A model may only refer to files below its own folder, so a stage file cannot point at the original ones: their parts are copied into one
//! data file beside it. Here is only said what to copy; the caller opens files.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use super::ExportError;
use super::protobuf::{Field, Pieces, fields};
use super::written::{Written, is_external, number, text};

/// Data begins at multiples of a page, so that readers can map it.
const PAGE: u64 = 4096;

/// A part of a file of weights that goes into a stage's data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The file, relative to the model's folder and below it by its spelling.
    pub location: String,
    /// First byte there.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// First byte in the data file.
    pub at: u64,
}

/// Every file of weights that a model refers to, relative to its folder and below it by its spelling, each once, in alphabetical order.
pub fn weight_files(file: &[u8]) -> Result<Vec<String>, ExportError> {
    let written = Written::read(file)?;
    let mut locations = BTreeSet::new();
    let constants = written.constants.iter().map(|constant| constant.message);
    let in_nodes = written.nodes.iter().flat_map(|node| &node.external);
    let in_functions = written
        .functions
        .iter()
        .flat_map(|function| &function.external);
    for tensor in constants.chain(in_nodes.chain(in_functions).copied()) {
        if is_external(tensor)? {
            locations.insert(place(tensor)?.location);
        }
    }
    Ok(locations.into_iter().map(str::to_owned).collect())
}

/// A data file that grows.
#[derive(Debug)]
pub(super) struct DataFile<'n> {
    /// Its name, relative to the stage file's folder.
    name: &'n str,
    copied: Vec<Copied>,
    end: u64,
}

impl<'n> DataFile<'n> {
    pub(super) const fn new(name: &'n str) -> Self {
        Self {
            name,
            copied: Vec::new(),
            end: 0,
        }
    }

    pub(super) fn into_copied(self) -> Vec<Copied> {
        self.copied
    }

    /// The constant with its elements in this data file instead of where they lie now.
    pub(super) fn take_over<'m>(&mut self, tensor: &'m [u8]) -> Result<Pieces<'m>, ExportError> {
        let place = place(tensor)?;
        let broken = |what| ExportError::External {
            tensor: place.tensor.to_owned(),
            what,
        };
        let at = self.end;
        self.end = at
            .checked_add(place.length)
            .and_then(|end| end.checked_next_multiple_of(PAGE))
            .ok_or_else(|| broken("it is too large"))?;
        self.copied.push(Copied {
            location: place.location.to_owned(),
            offset: place.offset,
            length: place.length,
            at,
        });
        let mut moved = Pieces::default();
        for field in fields(tensor) {
            let field = field?;
            if field.number != number::TENSOR_EXTERNAL {
                moved.keep(field.whole);
            }
        }
        let mut entry = |key: &str, value: &str| {
            let mut pair = Pieces::default();
            pair.text(1, key);
            pair.text(2, value);
            moved.message(13, pair);
        };
        entry("location", self.name);
        entry("offset", &at.to_string());
        entry("length", &place.length.to_string());
        for other in place.others {
            moved.keep(other.whole);
        }
        Ok(moved)
    }
}

/// Where the elements of a constant lie.
struct Place<'m> {
    tensor: &'m str,
    location: &'m str,
    offset: u64,
    length: u64,
    /// Entries that say something else, such as a checksum.
    others: Vec<Field<'m>>,
}

fn place(tensor: &[u8]) -> Result<Place<'_>, ExportError> {
    let name = text(tensor, 8)?;
    let broken = |what| ExportError::External {
        tensor: name.to_owned(),
        what,
    };
    let mut location = None;
    let mut offset = 0;
    let mut length = None;
    let mut others = Vec::new();
    for field in fields(tensor) {
        let field = field?;
        let (number::TENSOR_EXTERNAL, Some(entry)) = (field.number, field.delimited()) else {
            continue;
        };
        let value = text(entry, 2)?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| broken("offset and length have to be numbers"))
        };
        match text(entry, 1)? {
            "location" => location = Some(value),
            "offset" => offset = number()?,
            "length" => length = Some(number()?),
            _ => others.push(field),
        }
    }
    let location = location.ok_or_else(|| broken("it has no location"))?;
    if !stays_below(location) {
        return Err(broken("it is outside of the model's folder"));
    }
    let length = match length {
        Some(length) => length,
        None => size(tensor)?.ok_or_else(|| broken("its size is not known"))?,
    };
    Ok(Place {
        tensor: name,
        location,
        offset,
        length,
        others,
    })
}

/// Whether a relative path stays below its folder; links are the caller's business.
fn stays_below(location: &str) -> bool {
    !location.is_empty()
        && !location.contains(['\\', ':', '\0'])
        && Path::new(location)
            .components()
            .all(|component| matches!(component, Component::Normal(_) | Component::CurDir))
}

/// The bytes that the elements of a constant take, by its extents and type; `None` if they have no fixed size.
fn size(tensor: &[u8]) -> Result<Option<u64>, ExportError> {
    let mut elements = Some(1u64);
    let mut element_type = 0;
    for field in fields(tensor) {
        let field = field?;
        match (field.number, field.integer(), field.delimited()) {
            (1, Some(extent), _) => {
                elements = elements.and_then(|count| count.checked_mul(extent));
            }
            (1, None, Some(packed)) => {
                elements = elements.and_then(|count| {
                    let mut count = count;
                    let mut rest = packed;
                    while !rest.is_empty() {
                        let (extent, length) = super::protobuf::varint(rest)?;
                        count = count.checked_mul(extent)?;
                        rest = &rest[length..];
                    }
                    Some(count)
                });
            }
            (2, Some(number), _) => element_type = number,
            _ => {}
        }
    }
    let bits = match element_type {
        1 | 6 | 12 => 32,
        2 | 3 | 9 | 17..=20 | 24 => 8,
        4 | 5 | 10 | 16 => 16,
        7 | 11 | 13 | 14 => 64,
        15 => 128,
        21..=23 => 4,
        25 | 26 => 2,
        _ => return Ok(None),
    };
    Ok(elements
        .and_then(|count| count.checked_mul(bits))
        .map(|bits| bits.div_ceil(8)))
}

#[cfg(test)]
mod tests {
    use paracompile_testkit::onnx::Message;

    use super::*;

    fn tensor(entries: &[(&str, &str)]) -> Vec<u8> {
        let pairs: Vec<Message> = entries
            .iter()
            .map(|(key, value)| Message::new().text(1, key).text(2, value))
            .collect();
        Message::new()
            .int(1, 3)
            .int(1, 5)
            .int(2, 10)
            .text(8, "w")
            .messages(13, &pairs)
            .int(14, 1)
            .text(99, "unknown")
            .into_bytes()
    }

    #[test]
    fn a_constant_moves_and_keeps_what_we_do_not_know() {
        let original = tensor(&[
            ("location", "a/b.bin"),
            ("offset", "128"),
            ("checksum", "xyz"),
        ]);
        let mut data = DataFile::new("stage-0.data");
        data.take_over(&original).unwrap();
        let moved = data.take_over(&original).unwrap();
        let mut bytes = Vec::new();
        moved.write_to(&mut bytes).unwrap();
        let found = place(&bytes).unwrap();
        assert_eq!(
            (found.location, found.offset, found.length),
            ("stage-0.data", 4096, 30)
        );
        assert_eq!(text(&bytes, 99).unwrap(), "unknown");
        assert_eq!(found.others.len(), 1);
        let copied = data.into_copied();
        assert_eq!(copied[1].location, "a/b.bin");
        assert_eq!(
            (copied[1].offset, copied[1].length, copied[1].at),
            (128, 30, 4096)
        );
    }

    #[test]
    fn places_outside_of_the_folder_and_without_sense_are_refused() {
        for location in ["/etc/passwd", "../w", "a/../../w", "", "c:w", "a\\b"] {
            assert!(place(&tensor(&[("location", location)])).is_err());
        }
        assert!(place(&tensor(&[])).is_err());
        assert!(place(&tensor(&[("location", "w"), ("offset", "-1")])).is_err());
        let huge = u64::MAX.to_string();
        let huge = tensor(&[("location", "w"), ("length", &huge)]);
        assert!(DataFile::new("d").take_over(&huge).is_err());
    }
}
