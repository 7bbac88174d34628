//! The layout of rows of cells as aligned text.

/// Rows as left-aligned columns, indented by two.
pub fn columns(rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<_> = rows.collect();
    let width = |column: usize| rows.iter().map(|cells| cells[column].len()).max().unwrap_or(0);
    let widths: Vec<_> = (0..rows.first().map_or(0, Vec::len)).map(width).collect();
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("  {}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
