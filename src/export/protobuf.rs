//! Protobuf at the level of fields: reads where they lie, and builds messages from slices of others and new fields.
//!
//! Nothing is decoded that need not be looked at, so a field that this program does not know is copied like any other.

use std::borrow::Cow;
use std::io::{self, Write};

use super::ExportError;

/// How a field's payload is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Varint,
    Fixed64,
    Delimited,
    Fixed32,
}

/// One field of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'m> {
    pub(super) number: u64,
    pub(super) wire: Wire,
    /// With its key.
    pub(super) whole: &'m [u8],
    /// Without key and length.
    pub(super) payload: &'m [u8],
}

impl<'m> Field<'m> {
    /// The payload as a message or text, where the field is one.
    pub(super) fn delimited(&self) -> Option<&'m [u8]> {
        (self.wire == Wire::Delimited).then_some(self.payload)
    }

    /// The payload as an integer, where the field is one.
    pub(super) fn integer(&self) -> Option<u64> {
        match self.wire {
            Wire::Varint => varint(self.payload).map(|(value, _)| value),
            Wire::Fixed64 | Wire::Delimited | Wire::Fixed32 => None,
        }
    }

    /// The payload as text; an error where it is none.
    pub(super) fn text(&self) -> Result<&'m str, ExportError> {
        self.delimited()
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .ok_or(ExportError::Malformed)
    }
}

/// The fields of a message, in order.
pub(super) fn fields(message: &[u8]) -> Fields<'_> {
    Fields { rest: message }
}

/// See [`fields`]; ends after the first error.
#[derive(Clone, Debug)]
pub(super) struct Fields<'m> {
    rest: &'m [u8],
}

impl<'m> Iterator for Fields<'m> {
    type Item = Result<Field<'m>, ExportError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = first(self.rest);
        self.rest = match &field {
            Some(field) => &self.rest[field.whole.len()..],
            None => &[],
        };
        Some(field.ok_or(ExportError::Malformed))
    }
}

fn first(bytes: &[u8]) -> Option<Field<'_>> {
    let (key, start) = varint(bytes)?;
    let rest = &bytes[start..];
    let (wire, skip, length) = match key & 7 {
        0 => (Wire::Varint, 0, varint(rest)?.1),
        1 => (Wire::Fixed64, 0, 8),
        2 => {
            let (length, skip) = varint(rest)?;
            (Wire::Delimited, skip, usize::try_from(length).ok()?)
        }
        5 => (Wire::Fixed32, 0, 4),
        _ => return None,
    };
    let payload = rest.get(skip..)?.get(..length)?;
    Some(Field {
        number: key >> 3,
        wire,
        whole: &bytes[..start + skip + length],
        payload,
    })
}

/// The variable-length integer at the start, and its length.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (count, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * count);
        if byte & 0x80 == 0 {
            return Some((value, count + 1));
        }
    }
    None
}

/// A message under construction: slices of others, and new bytes between them.
#[derive(Clone, Debug, Default)]
pub struct Pieces<'m> {
    parts: Vec<Cow<'m, [u8]>>,
    length: usize,
}

impl<'m> Pieces<'m> {
    /// The number of bytes.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Writes everything in order.
    pub fn write_to(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        self.parts.iter().try_for_each(|part| out.write_all(part))
    }

    /// A message as it is.
    pub(super) fn kept(message: &'m [u8]) -> Self {
        let mut pieces = Self::default();
        pieces.keep(message);
        pieces
    }

    /// Appends fields as they are.
    pub(super) fn keep(&mut self, bytes: &'m [u8]) {
        self.length += bytes.len();
        self.parts.push(Cow::Borrowed(bytes));
    }

    /// Appends an integer field.
    pub(super) fn integer(&mut self, number: u32, value: u64) {
        self.made(|bytes| {
            put_varint(u64::from(number) << 3, bytes);
            put_varint(value, bytes);
        });
    }

    /// Appends a text field.
    pub(super) fn text(&mut self, number: u32, text: &str) {
        self.made(|bytes| {
            put_varint(u64::from(number) << 3 | 2, bytes);
            put_varint(text.len() as u64, bytes);
            bytes.extend(text.as_bytes());
        });
    }

    /// Appends a message field.
    pub(super) fn message(&mut self, number: u32, message: Self) {
        self.made(|bytes| {
            put_varint(u64::from(number) << 3 | 2, bytes);
            put_varint(message.length as u64, bytes);
        });
        self.length += message.length;
        self.parts.extend(message.parts);
    }

    /// New bytes go behind new bytes, so that small fields do not become a part each.
    fn made(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        if !matches!(self.parts.last(), Some(Cow::Owned(_))) {
            self.parts.push(Cow::Owned(Vec::new()));
        }
        if let Some(Cow::Owned(bytes)) = self.parts.last_mut() {
            let before = bytes.len();
            put(bytes);
            self.length += bytes.len() - before;
        }
    }
}

fn put_varint(mut value: u64, bytes: &mut Vec<u8>) {
    loop {
        let low = value.to_le_bytes()[0];
        value >>= 7;
        if value == 0 && low < 0x80 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use paracompile_testkit::onnx::Message;

    use super::*;

    fn bytes(pieces: &Pieces<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        pieces.write_to(&mut out).unwrap();
        assert_eq!(out.len(), pieces.len());
        out
    }

    #[test]
    fn fields_are_found_with_their_keys() {
        let message = Message::new()
            .int(1, -1)
            .text(300, "text")
            .float(2, 1.5)
            .into_bytes();
        let found: Vec<_> = fields(&message).map(Result::unwrap).collect();
        let numbers: Vec<_> = found.iter().map(|field| field.number).collect();
        assert_eq!(numbers, [1, 300, 2]);
        assert_eq!(found[0].integer(), Some(u64::MAX));
        assert_eq!(found[1].text().unwrap(), "text");
        assert_eq!(found[2].payload, 1.5f32.to_le_bytes());
        let wholes: Vec<u8> = found
            .iter()
            .flat_map(|field| field.whole)
            .copied()
            .collect();
        assert_eq!(wholes, message);
    }

    #[test]
    fn truncated_and_foreign_bytes_are_errors() {
        for bytes in [&[0x0a][..], &[0x0a, 5, 1], &[0x0b], &[0x80; 11], &[0x09, 1]] {
            assert!(fields(bytes).any(|field| field.is_err()), "{bytes:?}");
        }
        // A length that no memory holds.
        let huge = [
            0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
        ];
        assert!(fields(&huge).any(|field| field.is_err()));
    }

    #[test]
    fn what_is_built_is_what_another_writer_writes() {
        let kept = Message::new().text(7, "as it was").into_bytes();
        let mut inner = Pieces::default();
        inner.integer(1, 300);
        inner.keep(&kept);
        let mut outer = Pieces::default();
        outer.text(2, "name");
        outer.message(31, inner);
        let expected = Message::new()
            .text(2, "name")
            .message(31, &Message::new().int(1, 300).text(7, "as it was"));
        assert_eq!(bytes(&outer), expected.into_bytes());
    }
}
