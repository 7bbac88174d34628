//! Findings about the order and the scope of atomics and fences.

use ptx_atomics::{judge::Note, pass::Input};
use strum::EnumMessage;

use super::placed::{Executed, Level, Placed};
use crate::{
    cli::Check,
    order::{Operation, Order, Verdict},
};

/// What is not kept, and what is not known of it.
pub fn findings(order: &Order, ptx: &Input) -> Vec<Placed> {
    order.operations.iter().filter_map(|operation| finding(operation, ptx)).collect()
}

fn finding(operation: &Operation, ptx: &Input) -> Option<Placed> {
    let (level, message) = match operation.verdict {
        Verdict::Lost => (Level::Error, operation.message()),
        Verdict::Kept if operation.is_misplaced => {
            let what = Note::Misplaced.get_message().unwrap_or_default();
            (Level::Warning, format!("the PTX keeps the ordering, but {what}"))
        }
        Verdict::Kept => return None,
        Verdict::NotJudged => (Level::NotChecked, "not checked: the PTX has no such function".to_owned()),
    };
    let place = operation.location();
    Some(Placed {
        check: Check::Order,
        kernel: operation.function.clone(),
        rule: None,
        level,
        message,
        operation: Some(operation.operation.clone()).filter(|operation| !operation.is_empty()),
        notes: operation.instructions(ptx),
        program: ptx.name().to_owned(),
        file: place.as_ref().map_or(ptx.name(), |at| &at.file).to_owned(),
        place,
        first: None,
        also: None,
        executed: Executed::No,
        repeat: None,
        cause: None,
        help: None,
        edits: Vec::new(),
        explained: None,
        is_ptx: false,
    })
}
