//! Tables as text, as markdown and as JSON.

pub use ptx_atomics_litmus::columns;
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
