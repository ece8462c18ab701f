//! A Markdown file with a marked part for each chip, which `compare --update` replaces.
//!
//! What is between two marks is lost with an update, so marks that do not pair up one by one are refused.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use paracompile::plan::write_text;

use crate::failure::{Failure, Kind};

/// Documents are written by hand; more is another kind of file.
const LARGEST: u64 = 16 << 20;

/// A document whose marks are in order.
pub(crate) struct Document<'a> {
    path: &'a Path,
    text: String,
}

/// A mark, and where it stands.
struct Mark<'t> {
    soc: &'t str,
    is_end: bool,
    line: usize,
    range: std::ops::Range<usize>,
}

impl<'a> Document<'a> {
    /// Reads it, and makes sure that each chip has one part of its own.
    pub(crate) fn read(path: &'a Path, chips: &[&str]) -> Result<Self, Failure> {
        let shown = path.display();
        let refused = |why: String| Failure::new(Kind::File, format!("{shown}: {why}"));
        let unreadable = |error: std::io::Error| refused(format!("cannot read: {error}"));
        let found = std::fs::metadata(path).map_err(unreadable)?;
        if !found.is_file() {
            return Err(refused("not a file".to_owned()));
        }
        let mut text = String::new();
        let file = File::open(path).map_err(unreadable)?;
        file.take(LARGEST + 1)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        if text.len() as u64 > LARGEST {
            return Err(refused(format!("larger than {LARGEST} bytes")));
        }
        let parts = parts(&text).map_err(|why| {
            refused(why).with_help("a part begins with `<!-- compare:SOC -->` and ends with `<!-- /compare:SOC -->` before any other mark")
        })?;
        let missing: Vec<&&str> = chips
            .iter()
            .filter(|&&chip| parts.iter().all(|(soc, _)| *soc != chip))
            .collect();
        if missing.is_empty() {
            return Ok(Self { path, text });
        }
        let lines = missing.iter().map(|soc| {
            let [begin, end] = marks(soc);
            format!("{begin}\n{end}")
        });
        let lines: Vec<String> = lines.collect();
        let names: Vec<&str> = missing.iter().map(|&&soc| soc).collect();
        Err(
            refused(format!("no marked part for {}", names.join(", "))).with_help(format!(
                "put these lines where the tables belong:\n{}",
                lines.join("\n")
            )),
        )
    }

    /// Writes it with the parts of these chips replaced.
    pub(crate) fn write(self, tables: &[(&str, String)]) -> Result<(), Failure> {
        let mut text = String::with_capacity(self.text.len());
        let mut copied = 0;
        for (soc, range) in parts(&self.text).expect("the document was read with marks in order") {
            if let Some((_, tables)) = tables.iter().find(|(of, _)| *of == soc) {
                text.push_str(&self.text[copied..range.start]);
                text.push_str("\n\n");
                text.push_str(tables.trim_end());
                text.push_str("\n\n");
                copied = range.end;
            }
        }
        text.push_str(&self.text[copied..]);
        write_text(self.path, &text).map_err(|error| Failure::from_error(Kind::File, &error))
    }
}

fn marks(soc: &str) -> [String; 2] {
    [
        format!("<!-- compare:{soc} -->"),
        format!("<!-- /compare:{soc} -->"),
    ]
}

/// The chips that have a part, and where each part lies without its marks.
fn parts(text: &str) -> Result<Vec<(&str, std::ops::Range<usize>)>, String> {
    let mut parts: Vec<(&str, std::ops::Range<usize>)> = Vec::new();
    let mut open: Option<Mark<'_>> = None;
    for mark in all_marks(text) {
        let name = |mark: &Mark<'_>| {
            let slash = if mark.is_end { "/" } else { "" };
            format!("`{slash}compare:{}` in line {}", mark.soc, mark.line)
        };
        match open.take() {
            None if mark.is_end => return Err(format!("{} ends nothing", name(&mark))),
            None if parts.iter().any(|(soc, _)| *soc == mark.soc) => {
                return Err(format!("{} is the second part of that chip", name(&mark)));
            }
            None => open = Some(mark),
            Some(begin) if mark.is_end && mark.soc == begin.soc => {
                parts.push((mark.soc, begin.range.end..mark.range.start));
            }
            Some(begin) => {
                return Err(format!(
                    "{} stands inside the part that begins with {}",
                    name(&mark),
                    name(&begin)
                ));
            }
        }
    }
    match open {
        None => Ok(parts),
        Some(begin) => Err(format!(
            "the part of `{}`, which begins in line {}, does not end",
            begin.soc, begin.line
        )),
    }
}

/// Every mark of any chip, in order.
fn all_marks(text: &str) -> Vec<Mark<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    for (line, content) in text.split_inclusive('\n').enumerate() {
        let mark = content.trim();
        let inner = mark
            .strip_prefix("<!-- ")
            .and_then(|rest| rest.strip_suffix(" -->"))
            .filter(|inner| !inner.contains("-->"));
        let soc = inner.and_then(|inner| inner.trim_start_matches('/').strip_prefix("compare:"));
        if let (Some(inner), Some(soc)) = (inner, soc) {
            let begin = start + content.len() - content.trim_start().len();
            found.push(Mark {
                soc,
                is_end: inner.starts_with('/'),
                line: line + 1,
                range: begin..begin + mark.len(),
            });
        }
        start += content.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, chips: &[&str]) -> Result<String, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.md");
        std::fs::write(&path, text).unwrap();
        let document = Document::read(&path, chips).map_err(|failure| failure.to_string())?;
        let tables: Vec<(&str, String)> = chips
            .iter()
            .map(|&soc| (soc, format!("of {soc}")))
            .collect();
        document
            .write(&tables)
            .map_err(|failure| failure.to_string())?;
        Ok(std::fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn parts_are_replaced_and_the_rest_stays() {
        let text = "a\n<!-- compare:x -->\nold\n<!-- /compare:x -->\nb\n<!-- compare:y --><!-- no mark -->\n<!-- compare:y -->\n<!-- /compare:y -->\nc";
        assert_eq!(
            read(text, &["x"]).unwrap(),
            text.replace("\nold\n", "\n\nof x\n\n")
        );
        let both = read(text, &["y", "x"]).unwrap();
        assert!(both.contains("of x") && both.contains("of y") && both.ends_with("\nc"));
        // A second update changes nothing.
        assert_eq!(read(&both, &["x", "y"]).unwrap(), both);
    }

    #[test]
    fn marks_that_do_not_pair_up_are_refused_with_their_lines() {
        for (text, why) in [
            ("<!-- compare:x -->\nprecious\n", "does not end"),
            (
                "<!-- compare:x -->\nprecious\n<!-- compare:x -->\n<!-- /compare:x -->\n",
                "in line 3 stands inside",
            ),
            (
                "<!-- compare:x -->\n<!-- compare:y -->\n<!-- /compare:y -->\n<!-- /compare:x -->\n",
                "in line 2 stands inside",
            ),
            ("<!-- /compare:x -->\n", "ends nothing"),
            (
                "<!-- compare:x -->\n<!-- /compare:x -->\n<!-- compare:x -->\n<!-- /compare:x -->\n",
                "in line 3 is the second part",
            ),
            ("nothing\n", "no marked part for x"),
        ] {
            let refused = read(text, &["x"]).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
