//! Tables of comma-separated values: columns by name, rows with their lines, units in columns' names.

use std::path::Path;

use csv::StringRecord;

use super::error::{CalibrateError, Notice};
use crate::soc::{read_text, shown};

/// The largest table that is read.
const MOST_BYTES: u64 = 64 << 20;
const MOST_ROWS: usize = 1_000_000;

/// A table.
#[derive(Debug)]
pub(super) struct Sheet {
    /// Its file.
    pub(super) origin: String,
    header: Vec<String>,
    /// The rows that have as many cells as the header.
    pub(super) rows: Vec<Row>,
}

/// A row.
#[derive(Debug)]
pub(super) struct Row {
    /// Its line, from one.
    pub(super) line: u64,
    cells: StringRecord,
}

/// A quantity's column, and how many of our units one of its is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scaled {
    pub(super) column: usize,
    scale: f64,
}

impl Sheet {
    /// Reads a table whose rows are measurements of `what`; rows of another length are left out.
    pub(super) fn read(
        path: &Path,
        what: &'static str,
        notices: &mut Vec<Notice>,
    ) -> Result<Self, CalibrateError> {
        let text = read_text(path, MOST_BYTES)?;
        Self::parse(&text, &path.display().to_string(), what, notices)
    }

    /// The table that `text` is; `origin` is its name in messages.
    pub(super) fn parse(
        text: &str,
        origin: &str,
        what: &'static str,
        notices: &mut Vec<Notice>,
    ) -> Result<Self, CalibrateError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // The reader counts line feeds alone.
        let feeds = (!text.contains('\n')).then(|| text.replace('\r', "\n"));
        let text = feeds.as_deref().unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let failed = |error: &csv::Error| CalibrateError::Syntax {
            origin: origin.to_owned(),
            line: error.position().map_or(1, csv::Position::line),
            message: error.to_string(),
        };
        let header: Vec<String> = reader
            .headers()
            .map_err(|error| failed(&error))?
            .iter()
            .map(str::to_owned)
            .collect();
        let mut rows = Vec::new();
        let mut ragged = 0;
        let mut first = None;
        for record in reader.into_records() {
            let cells = record.map_err(|error| failed(&error))?;
            let line = cells
                .position()
                .map_or(1, |position| line_of(text, position));
            if cells.len() != header.len() {
                ragged += 1;
                if first.is_none() {
                    first = Some((line, cells.len(), reason(&header, &cells)));
                }
                if let Some(swallowed) = swallowed(&cells) {
                    notices.push(Notice::new(
                        format!("{origin}:{line}"),
                        format!("a quote opens here and goes on over {swallowed} more lines"),
                        "left out; remove the quote",
                    ));
                }
                continue;
            }
            if rows.len() == MOST_ROWS {
                return Err(CalibrateError::TooLong {
                    origin: origin.to_owned(),
                    limit: MOST_ROWS,
                });
            }
            rows.push(Row { line, cells });
        }
        if let Some((line, cells, reason)) = first {
            let what = format!(
                "{} with another number of cells than the header's {}, the first with {cells}{reason}",
                counted_rows(ragged),
                header.len()
            );
            if rows.is_empty() {
                return Err(CalibrateError::Syntax {
                    origin: origin.to_owned(),
                    line,
                    message: format!("no row can be used: {what}"),
                });
            }
            notices.push(Notice::new(format!("{origin}:{line}"), what, "left out"));
        }
        if rows.is_empty() {
            return Err(CalibrateError::Empty {
                origin: origin.to_owned(),
                what,
            });
        }
        Ok(Self {
            origin: origin.to_owned(),
            header,
            rows,
        })
    }

    /// The column with one of these names.
    pub(super) fn column(&self, names: &[&'static str]) -> Result<Option<usize>, CalibrateError> {
        let found: Vec<usize> = (0..self.header.len())
            .filter(|&column| names.contains(&self.header[column].as_str()))
            .collect();
        if found.len() > 1 {
            return Err(CalibrateError::TwoColumns {
                origin: self.origin.clone(),
                columns: found
                    .into_iter()
                    .map(|column| self.header[column].clone())
                    .collect(),
            });
        }
        Ok(found.first().copied())
    }

    /// One column for each list of names, or an error that names all that are missing.
    pub(super) fn columns<const N: usize>(
        &self,
        wanted: [&[&'static str]; N],
    ) -> Result<[usize; N], CalibrateError> {
        let mut columns = [0; N];
        let mut missing = Vec::new();
        for (column, names) in columns.iter_mut().zip(wanted) {
            match self.column(names)? {
                Some(found) => *column = found,
                None => missing.push(names.to_vec()),
            }
        }
        if missing.is_empty() {
            return Ok(columns);
        }
        Err(CalibrateError::MissingColumns {
            origin: self.origin.clone(),
            missing,
            found: self.header.clone(),
        })
    }

    /// The column of a quantity, in whichever of these units it is.
    pub(super) fn scaled(
        &self,
        units: &[(&'static str, f64)],
    ) -> Result<Option<Scaled>, CalibrateError> {
        let names: Vec<&'static str> = units.iter().map(|(name, _)| *name).collect();
        let column = self.column(&names)?;
        Ok(column.and_then(|column| {
            let (_, scale) = units
                .iter()
                .find(|(name, _)| self.header[column] == *name)?;
            Some(Scaled {
                column,
                scale: *scale,
            })
        }))
    }

    /// The column of a quantity that the table has to have.
    pub(super) fn required(&self, units: &[(&'static str, f64)]) -> Result<Scaled, CalibrateError> {
        self.scaled(units)?
            .ok_or_else(|| CalibrateError::MissingColumns {
                origin: self.origin.clone(),
                missing: vec![units.iter().map(|(name, _)| *name).collect()],
                found: self.header.clone(),
            })
    }

    /// The name of a column.
    pub(super) fn name(&self, column: usize) -> String {
        shown(&self.header[column])
    }
}

impl Row {
    /// A cell; empty where nothing was written.
    pub(super) fn text(&self, column: usize) -> &str {
        self.cells.get(column).unwrap_or_default()
    }

    /// A cell of a column that may be absent; `None` if it or the column is empty.
    pub(super) fn optional(&self, column: Option<usize>) -> Option<&str> {
        Some(self.text(column?)).filter(|text| !text.is_empty())
    }

    /// A positive quantity in our unit, `None` where the cell is empty, or what is wrong with it.
    pub(super) fn quantity(&self, sheet: &Sheet, scaled: Scaled) -> Result<Option<f64>, String> {
        let text = self.text(scaled.column);
        if text.is_empty() {
            return Ok(None);
        }
        let value: f64 = text.parse().map_err(|_| {
            format!(
                "{} is `{}`, which is no number",
                sheet.name(scaled.column),
                shown(text)
            )
        })?;
        let value = value * scaled.scale;
        // Not a number compares with nothing.
        if value > 0.0 && value.is_finite() {
            Ok(Some(value))
        } else {
            Err(format!(
                "{} is {}, which is no positive time or power",
                sheet.name(scaled.column),
                shown(text)
            ))
        }
    }
}

/// Why a row may have another number of cells than the header, as the end of a sentence.
fn reason(header: &[String], cells: &StringRecord) -> &'static str {
    if swallowed(cells).is_some() {
        "; a quote that is never closed swallows lines"
    } else if header.len() == 1 || cells.len() == 1 && cells[0].contains(';') {
        "; are cells separated by commas?"
    } else if cells.len() == header.len() + 1 && cells[cells.len() - 1].is_empty() {
        "; is there a comma at the end?"
    } else if cells.len() > header.len() {
        "; are numbers written with a decimal comma? Write a point"
    } else {
        ""
    }
}

/// How many lines after its first one a cell goes on for.
fn swallowed(cells: &StringRecord) -> Option<usize> {
    let lines = |cell: &str| cell.matches('\n').count();
    cells.iter().map(lines).max().filter(|&lines| lines > 0)
}

/// The line on which a record begins; the reader counts from the empty lines before it.
fn line_of(text: &str, position: &csv::Position) -> u64 {
    let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let skipped = text
        .bytes()
        .skip(start)
        .take_while(|byte| matches!(byte, b'\n' | b'\r'))
        .filter(|byte| *byte == b'\n');
    position.line() + skipped.map(|_| 1).sum::<u64>()
}

/// `1 row` or `2 rows`.
pub(super) fn counted_rows(count: usize) -> String {
    crate::soc::error::counted(count, "row")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<(Sheet, Vec<Notice>), CalibrateError> {
        let mut notices = Vec::new();
        Sheet::parse(text, "t.csv", "operator", &mut notices).map(|sheet| (sheet, notices))
    }

    #[test]
    fn rows_keep_their_lines_and_cells_their_names() {
        let (sheet, notices) = parse("\u{feff}a, b\n1,x\n\n2,\"y\nz\"\n3,w\n").unwrap();
        let lines: Vec<u64> = sheet.rows.iter().map(|row| row.line).collect();
        assert_eq!(lines, [2, 4, 6]);
        let [b] = sheet.columns([&["b", "bb"]]).unwrap();
        assert_eq!(sheet.rows[0].text(b), "x");
        assert!(notices.is_empty());
    }

    #[test]
    fn all_missing_columns_are_named_at_once() {
        let (sheet, _) = parse("a,b\n1,2\n").unwrap();
        let error = sheet.columns([&["a"], &["c"], &["d", "e"]]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "t.csv: the columns `c`, `d` or `e` are missing; the header has `a`, `b`"
        );
    }

    #[test]
    fn a_quantity_has_one_unit() {
        let units = [("time_ms", 1e-3), ("time_s", 1.0)];
        let (sheet, _) = parse("time_ms\n250\n-1\nNaN\nmuch\n0\n").unwrap();
        let scaled = sheet.scaled(&units).unwrap().unwrap();
        let read: Vec<_> = sheet
            .rows
            .iter()
            .map(|row| row.quantity(&sheet, scaled))
            .collect();
        assert!((read[0].clone().unwrap().unwrap() - 0.25).abs() < 1e-12);
        for wrong in &read[1..] {
            assert!(wrong.is_err(), "{wrong:?}");
        }
        let (sheet, _) = parse("time_ms,time_s\n1,2\n").unwrap();
        let error = sheet.scaled(&units).unwrap_err().to_string();
        assert!(
            error.contains("`time_ms`, `time_s` say the same"),
            "{error}"
        );
    }

    #[test]
    fn ragged_rows_are_left_out_aloud_and_nothing_is_an_error() {
        let (sheet, notices) = parse("a,b\n1,2\n3\n4,5,6\n").unwrap();
        assert_eq!(sheet.rows.len(), 1);
        assert_eq!(
            notices[0].to_string(),
            "t.csv:3: 2 rows with another number of cells than the header's 2, the first with 1; left out"
        );
        for (text, said) in [
            (
                "a,b\n1,5,2\n3,4,5\n",
                "t.csv:2: no row can be used: 2 rows with another number of cells than the header's 2, the first with 3; are numbers written with a decimal comma",
            ),
            ("a,b\n1,2,\n", "is there a comma at the end"),
            ("a,b\n1;2\n", "are cells separated by commas"),
            (
                "a,b\n\"1,2\n3,4\n",
                "t.csv:2: no row can be used: 1 row with another number of cells than the header's 2, the first with 1; a quote",
            ),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let (_, notices) = parse("a,b\n1,2\n\"3,4\n5,6\n7,8\n").unwrap();
        assert_eq!(
            notices[0].to_string(),
            "t.csv:3: a quote opens here and goes on over 2 more lines; left out; remove the quote"
        );
        let (sheet, _) = parse("a,b\r1,2\r3,4\r").unwrap();
        assert_eq!(sheet.rows[1].line, 3);
        for text in ["", "a,b\n", "\n\n"] {
            assert!(
                matches!(parse(text), Err(CalibrateError::Empty { .. })),
                "{text:?}"
            );
        }
    }
}
