//! What is wrong with rows, or had to be concluded, said once for all rows alike.

use std::collections::BTreeMap;

use paracompile_plan::OpClass;

use super::error::Notice;
use super::geometry::{Concluded, Unusable};
use super::sheet::{Row, Sheet, counted_rows};
use crate::soc::shown;

/// How many lines of one kind a notice names.
pub(super) const NAMED_LINES: usize = 5;

/// What is wrong with rows, gathered so that a thousand rows make one notice.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) wrong: BTreeMap<String, Vec<u64>>,
    pub(super) unknown_types: BTreeMap<String, Vec<u64>>,
    pub(super) concluded: BTreeMap<Concluded, Vec<u64>>,
    pub(super) repeated: Vec<u64>,
}

impl Faults {
    pub(super) fn wrong(&mut self, row: &Row, message: &str) {
        self.wrong
            .entry(message.to_owned())
            .or_default()
            .push(row.line);
    }

    pub(super) fn unusable(&mut self, row: &Row, unusable: Unusable) {
        match unusable {
            Unusable::UnknownType(word) => {
                self.unknown_types.entry(word).or_default().push(row.line);
            }
            Unusable::Wrong(message) => self.wrong(row, &message),
        }
    }

    pub(super) fn report(self, sheet: &Sheet, notices: &mut Vec<Notice>) {
        let mut say = |lines: &[u64], what: String, instead: &str| {
            notices.push(Notice::new(
                sheet.origin.clone(),
                format!("{what} ({})", named(lines)),
                instead,
            ));
        };
        for (message, lines) in &self.wrong {
            say(
                lines,
                message.clone(),
                "left out, with the group that it belongs to",
            );
        }
        for (word, lines) in &self.unknown_types {
            let known: Vec<&str> = OpClass::ALL.into_iter().map(OpClass::name).collect();
            say(
                lines,
                format!(
                    "op_type `{}` is not known; known are pool, dwconv, fc, lrn, batchnorm, reshape, {}",
                    shown(word),
                    known.join(", ")
                ),
                "left out, with the group that it belongs to",
            );
        }
        for (concluded, lines) in &self.concluded {
            let (what, instead) = match concluded {
                Concluded::PoolKind(class) => (
                    "op_type `pool` says no kind".to_owned(),
                    format!("taken as {class} by name and shapes"),
                ),
                Concluded::WindowFromName => (
                    "kh and kw of a pool are empty".to_owned(),
                    "its window read off its name".to_owned(),
                ),
                Concluded::UsualWindow => (
                    "kh and kw of a pool are empty, and its name says no window".to_owned(),
                    "3x3 taken".to_owned(),
                ),
                Concluded::OtherMacs => (
                    "macs is not what the shapes make".to_owned(),
                    "the shapes' count taken".to_owned(),
                ),
            };
            say(lines, what, &instead);
        }
        if !self.repeated.is_empty() {
            say(
                &self.repeated,
                "the row repeats another one of the same run, time included".to_owned(),
                "counted once",
            );
        }
    }
}

/// `line 3` or `12 rows, the first at lines 3, 4, 5, 9, 11`.
fn named(lines: &[u64]) -> String {
    let first: Vec<String> = lines.iter().take(NAMED_LINES).map(u64::to_string).collect();
    match lines.len() {
        1 => format!("line {}", first.join("")),
        count if count <= NAMED_LINES => format!("lines {}", first.join(", ")),
        count => format!(
            "{}, the first at lines {}",
            counted_rows(count),
            first.join(", ")
        ),
    }
}
