//! `ptx-atomics verify-mapping --optimize --mutants`.

use ptx_atomics::mapping::{
    NoProgram,
    conditions::{ConditionEvidence, LeftOut, leave_out},
    verify::BrokenProgram,
};
use serde::Serialize;
use strum::EnumMessage;

use crate::format::{columns, markdown_table};

/// A condition of the optimizer that is left out for a test, with the field names of JSON.
#[derive(Serialize)]
pub struct ShownCondition {
    condition: String,
    /// The text of the condition.
    says: &'static str,
    /// The set of the program that shows the error, and the program; without a program, the reason.
    shown_by: Option<String>,
    program: String,
    #[serde(skip)]
    missed: bool,
}

/// Leaves out each condition in turn, and searches for a program that shows the error.
pub fn rows() -> Result<Vec<ShownCondition>, NoProgram> {
    let row = |LeftOut { condition, shown }: LeftOut| {
        let (shown_by, program, missed) = match shown {
            ConditionEvidence::By(set, found) => (Some(set.to_string()), threads(&found), false),
            ConditionEvidence::Beyond(why) => (None, why.to_owned(), false),
            ConditionEvidence::Nothing { programs } => {
                (None, format!("kept on all {programs} programs that it changes"), true)
            }
        };
        let says = condition.get_message().unwrap_or_default();
        ShownCondition { condition: condition.to_string(), says, shown_by, program, missed }
    };
    Ok(leave_out()?.into_iter().map(row).collect())
}

/// The threads of a program, in one line.
fn threads(found: &BrokenProgram) -> String {
    let text = found.source.to_string();
    let code = |line: &str| line.split_once(": ").map(|(_, code)| code.to_owned());
    text.lines().skip(1).filter_map(code).collect::<Vec<_>>().join(" || ")
}

/// Whether there are conditions, and a program shows each condition that the model can express.
pub fn all_shown(rows: &[ShownCondition]) -> bool {
    rows.iter().any(|row| row.shown_by.is_some()) && !rows.iter().any(|row| row.missed)
}

pub fn text(rows: &[ShownCondition], markdown: bool) -> String {
    let header = ["without the condition that", "shown by", "program"];
    let cells = |row: &ShownCondition| {
        let program = match (markdown, &row.shown_by) {
            (true, Some(_)) => format!("`{}`", row.program.replace('|', "\\|")),
            _ => row.program.clone(),
        };
        vec![row.says.to_owned(), row.shown_by.clone().unwrap_or_else(|| "-".to_owned()), program]
    };
    let rows = rows.iter().map(cells);
    match markdown {
        true => markdown_table(&header, rows),
        false => columns([header.map(ToOwned::to_owned).to_vec()].into_iter().chain(rows)),
    }
}
