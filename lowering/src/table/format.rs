//! The printing of tables as Markdown and as JSON.

use serde::Serialize;

/// The table as JSON, with a final newline.
pub fn json(table: &impl Serialize) -> String {
    serde_json::to_string_pretty(table).expect("a table has only strings and numbers") + "\n"
}

/// The rows as a Markdown table.
pub fn markdown_table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let header_line = line(&header.iter().map(ToString::to_string).collect::<Vec<_>>());
    let rule = line(&vec!["---".to_owned(); header.len()]);
    header_line + &rule + &rows.map(|cells| line(&cells)).collect::<String>()
}
