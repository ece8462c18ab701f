//! Bytes as text, for digests.

/// Two lower-case hexadecimal digits a byte.
///
/// # Panics
/// Never: half a byte is a digit.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits
        .map(|digit| char::from_digit(u32::from(digit), 16).expect("half a byte is a digit"))
        .collect()
}
