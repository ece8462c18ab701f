//! Tables of text for people.

/// A table with a head; columns are as wide as their widest entry and two blanks apart.
pub(crate) fn table<const N: usize>(
    head: &[&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let head = head.map(str::to_owned);
    let rows: Vec<[String; N]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).filter_map(width).collect();
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        format!("{}\n", cells.join("  ").trim_end())
    });
    lines.collect()
}
