//! Tables of words and figures, for terminals and for Markdown.

use std::fmt::Write;

/// How a column is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A table; every row has a cell for each column.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// A table without rows.
    pub(crate) fn new(columns: impl IntoIterator<Item = (String, Align)>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; a cell that is missing is empty.
    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = row.into_iter().collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Columns as wide as their widest cell, two blanks apart; no trailing space.
    pub(crate) fn text(&self, indent: usize) -> String {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| row[column].chars().count());
                cells
                    .chain([self.columns[column].0.chars().count()])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        let header: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let rows = self
            .rows
            .iter()
            .map(|row| row.iter().map(String::as_str).collect());
        for cells in std::iter::once(header).chain(rows) {
            let mut line = " ".repeat(indent);
            for (column, cell) in cells.into_iter().enumerate() {
                let blank = " ".repeat(widths[column] - cell.chars().count());
                if column > 0 {
                    line.push_str("  ");
                }
                match self.columns[column].1 {
                    Align::Left => line.extend([cell, &blank]),
                    Align::Right => line.extend([blank.as_str(), cell]),
                }
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }

    /// The same for Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        let mut line = |cells: &mut dyn Iterator<Item = &str>| {
            let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        };
        line(&mut self.columns.iter().map(|(name, _)| name.as_str()));
        line(&mut self.columns.iter().map(|(_, align)| match align {
            Align::Left => "---",
            Align::Right => "--:",
        }));
        for row in &self.rows {
            line(&mut row.iter().map(String::as_str));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new([("plan".into(), Align::Left), ("ms".into(), Align::Right)]);
        grid.push(["a | b".into(), "7".into()]);
        grid.push(["c".into()]);
        grid
    }

    #[test]
    fn columns_line_up_and_lines_end_at_their_last_cell() {
        assert_eq!(grid().text(2), "  plan   ms\n  a | b   7\n  c\n");
    }

    #[test]
    fn a_bar_in_a_cell_does_not_end_it() {
        assert_eq!(
            grid().markdown(),
            "| plan | ms |\n| --- | --: |\n| a \\| b | 7 |\n| c |  |\n"
        );
    }
}
