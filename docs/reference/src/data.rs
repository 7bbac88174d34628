//! The tables of a chapter as a script, from which the page builds the requested tables.
//!
//! Each text occurs once, and tables refer to it by number. A cell has lines, with code between backticks; `code 3` is
//! the third code of the type. In `barriers`, a second line gives the places of each number; in `notes`, each line
//! begins with a name.

use std::collections::HashMap;

use itertools::Itertools;
use serde_json::{Value, json};

use crate::{
    rows::Grid,
    section::{Section, Table},
};

/// The script: the texts, and the types with their tables and codes. The first row of a table has the headings of its
/// columns.
pub fn script(sections: &[Section]) -> String {
    let mut texts = Texts::default();
    let types = sections.iter().map(|section| texts.section(section)).collect_vec();
    let texts = texts.numbers.iter().sorted_by_key(|(_, number)| **number).map(|(text, _)| text).collect_vec();
    format!("const reference = {};\n", json!({ "texts": texts, "types": types }))
}

/// The numbers of texts, in the order of their first use.
#[derive(Default)]
struct Texts<'a> {
    numbers: HashMap<&'a str, usize>,
}

impl<'a> Texts<'a> {
    fn number(&mut self, text: &'a str) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(text).or_insert(next)
    }

    fn section(&mut self, section: &'a Section) -> Value {
        let codes = section.codes.iter().map(|code| code.lines().map(|line| self.number(line)).collect_vec());
        let codes = codes.collect_vec();
        let tables = section.tables.iter().map(|table| self.table(table)).collect_vec();
        json!({ "title": section.title, "needs": section.needs, "tables": tables, "codes": codes })
    }

    fn table(&mut self, table: &'a Table) -> Value {
        let own = self.grid(&table.own);
        let others = table.others.as_ref().map(|others| self.grid(others));
        let Table { head, explorer, .. } = table;
        json!({ "head": head, "abi": self.number(&table.abi), "explorer": explorer, "own": own, "others": others })
    }

    fn grid(&mut self, grid: &'a Grid) -> Vec<Vec<usize>> {
        let line = |cells: &'a Vec<String>| cells.iter().map(|cell| self.number(cell)).collect();
        [&grid.head].into_iter().chain(&grid.rows).map(line).collect()
    }
}
