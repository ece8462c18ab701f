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

/// Bytes that the host can give without moving others out of memory, and that the process may take; `None` where it does not say.
pub fn available() -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(name).ok();
    let of_host = read("/proc/meminfo").and_then(|text| size(&text, "MemAvailable:"));
    let of_process = || {
        let most = limit(&read("/proc/self/limits")?)?;
        let taken = size(&read("/proc/self/status")?, "VmSize:")?;
        Some(most.saturating_sub(taken))
    };
    of_host.into_iter().chain(of_process()).min()
}

/// Bytes of a line in kilobytes that begins with `name`.
fn size(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The address space that a process may have, unless it is unlimited.
fn limit(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
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
        assert_eq!(size(text, "MemAvailable:"), Some(20_444_144 * 1024));
        assert_eq!(size("MemTotal: 1 kB", "MemAvailable:"), None);
        let text = "Limit     Soft Limit  Hard Limit  Units\nMax address space     12884901888  unlimited  bytes\n";
        assert_eq!(limit(text), Some(12_884_901_888));
        assert_eq!(limit(&text.replace("12884901888", "unlimited")), None);
    }
}
