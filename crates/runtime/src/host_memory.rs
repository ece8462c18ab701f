//! The memory of the host: what does not fit is refused by its sizes before it is asked for, since an allocation that fails ends the program.

use std::fmt;

use paracompile_plan::Bytes;

/// Tensors that do not fit into memory together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TooLarge {
    /// What they take, the largest first.
    pub parts: Vec<(String, u64)>,
    /// Bytes that are free.
    pub available: u64,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMED: usize = 5;
        let sum = sum(&self.parts);
        write!(
            f,
            "{} of memory are needed, but {} are free:",
            Bytes::new(sum),
            Bytes::new(self.available)
        )?;
        for (name, bytes) in self.parts.iter().take(NAMED) {
            write!(f, "\n  `{name}`: {}", Bytes::new(*bytes))?;
        }
        match self.parts.len().saturating_sub(NAMED) {
            0 => Ok(()),
            others => write!(f, "\n  and {others} smaller"),
        }
    }
}

fn sum(parts: &[(String, u64)]) -> u64 {
    parts
        .iter()
        .fold(0, |sum, (_, bytes)| u64::saturating_add(sum, *bytes))
}

/// Bytes that the host can give without moving others out of memory; `None` where it does not say.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    kilobytes(&text)?.checked_mul(1024)
}

fn kilobytes(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Refuses tensors, by name, that take more than is free on the host.
pub fn check(parts: Vec<(String, u64)>) -> Result<(), TooLarge> {
    available().map_or(Ok(()), |available| fits(parts, available))
}

/// Refuses tensors, by name, that take more than `available` bytes.
pub fn fits(mut parts: Vec<(String, u64)>, available: u64) -> Result<(), TooLarge> {
    if sum(&parts) <= available {
        return Ok(());
    }
    parts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    Err(TooLarge { parts, available })
}

/// An empty vector with room for `bytes` bytes of the tensor `name`.
pub fn room(name: &str, bytes: usize) -> Result<Vec<u8>, TooLarge> {
    let mut room = Vec::new();
    room.try_reserve_exact(bytes).map_err(|_| TooLarge {
        parts: vec![(name.to_owned(), bytes as u64)],
        available: available().unwrap_or(0),
    })?;
    Ok(room)
}

/// The same, filled with zeros.
pub fn zeroed(name: &str, bytes: usize) -> Result<Vec<u8>, TooLarge> {
    let mut room = room(name, bytes)?;
    room.resize(bytes, 0);
    Ok(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_told_by_name_the_largest_first() {
        let parts = || vec![("a".to_owned(), 1000), ("b".to_owned(), 3_000_000)];
        assert_eq!(fits(parts(), 3_001_000), Ok(()));
        let message = fits(parts(), 3_000_999).unwrap_err().to_string();
        assert!(message.find("`b`") < message.find("`a`"), "{message}");
        let overflow = vec![("a".to_owned(), u64::MAX), ("b".to_owned(), u64::MAX)];
        assert!(fits(overflow, u64::MAX - 1).is_err());
    }

    #[test]
    fn room_that_nobody_has_is_refused() {
        let bytes = usize::MAX / 2;
        assert_eq!(room("x", bytes).unwrap_err().parts[0].1, bytes as u64);
        assert_eq!(zeroed("x", 3), Ok(vec![0; 3]));
    }

    #[test]
    fn free_memory_is_read_as_linux_writes_it() {
        let text = "MemTotal:       24684092 kB\nMemAvailable:   20444144 kB\n";
        assert_eq!(kilobytes(text), Some(20_444_144));
        assert_eq!(kilobytes("MemTotal: 1 kB"), None);
    }
}
