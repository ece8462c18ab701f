//! What the user says of extents that neither the file nor the inputs tell: `--dim 'TENSOR[AXIS]=N'`, and `--dim 'NODE[trips]=N'` for loops.

use std::collections::{BTreeMap, BTreeSet};

/// Bindings of dimensions, and which of them served.
#[derive(Debug)]
pub(super) struct Hints<'a> {
    bound: &'a BTreeMap<String, u64>,
    used: BTreeSet<String>,
}

impl<'a> Hints<'a> {
    pub(super) fn of(bound: &'a BTreeMap<String, u64>) -> Self {
        Self {
            bound,
            used: BTreeSet::new(),
        }
    }

    /// The same bindings, for what nobody misses.
    pub(super) fn apart(&self) -> Self {
        Self::of(self.bound)
    }

    /// The value of a symbol.
    pub(super) fn symbol(&mut self, name: &str) -> Option<u64> {
        let extent = *self.bound.get(name)?;
        self.used.insert(name.to_owned());
        Some(extent)
    }

    /// The extent of an axis of a tensor.
    pub(super) fn extent(&mut self, tensor: &str, axis: usize) -> Option<u64> {
        if self.bound.is_empty() {
            return None;
        }
        self.symbol(&of_axis(tensor, axis))
    }

    /// How often the loop of this name runs.
    pub(super) fn trips(&mut self, name: &str) -> Option<u64> {
        if self.bound.is_empty() {
            return None;
        }
        self.symbol(&of_loop(name))
    }

    /// Bindings that nothing asked for.
    pub(super) fn unused(&self) -> impl Iterator<Item = &'a str> {
        self.bound
            .keys()
            .map(String::as_str)
            .filter(|name| !self.used.contains(*name))
    }
}

/// What binds an axis of a tensor.
pub(super) fn of_axis(tensor: &str, axis: usize) -> String {
    format!("{tensor}[{axis}]")
}

/// What binds the number of iterations of a loop.
pub(super) fn of_loop(name: &str) -> String {
    format!("{name}[trips]")
}

/// The tensor or node that a binding of this form is about; `None` for a symbol.
pub(super) fn subject(binding: &str) -> Option<&str> {
    let (subject, what) = binding.strip_suffix(']')?.rsplit_once('[')?;
    let is_axis = !what.is_empty() && what.bytes().all(|byte| byte.is_ascii_digit());
    (is_axis || what == "trips").then_some(subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_and_loops_are_told_from_symbols() {
        assert_eq!(subject("boxes[1]"), Some("boxes"));
        assert_eq!(subject("a[0][12]"), Some("a[0]"));
        assert_eq!(subject("decoder[trips]"), Some("decoder"));
        for symbol in ["batch", "boxes[]", "boxes[n]", "[", "x[1", "1]"] {
            assert_eq!(subject(symbol), None, "{symbol}");
        }
    }
}
