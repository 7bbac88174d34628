//! Tables as text, as markdown and as JSON.

use serde::Serialize;

pub fn json(table: &impl Serialize) -> String {
    serde_json::to_string_pretty(table).expect("a table has only strings and numbers") + "\n"
}

pub fn markdown_table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let header_line = line(&header.iter().map(ToString::to_string).collect::<Vec<_>>());
    let rule = line(&vec!["---".to_owned(); header.len()]);
    header_line + &rule + &rows.map(|cells| line(&cells)).collect::<String>()
}

/// Left-aligned columns, indented by two.
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
