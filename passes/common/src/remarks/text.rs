//! The lines of remarks.

use ptx_lowering::Sequence;
use strum::EnumMessage;

use crate::message::{Outcome, Remark};

/// A remark on one line.
pub fn line(remark: &Remark) -> String {
    lines(remark).join("; ")
}

/// A remark as lines. The lines after the first give the reasons why the sequence does more than the operation
/// requests.
pub fn lines(remark: &Remark) -> Vec<String> {
    let operation = &remark.operation;
    match &remark.outcome {
        Outcome::Lowered { sequence, changes, native } => {
            let changes =
                changes.iter().map(|change| format!("{change}: {}", change.get_message().unwrap_or_default()));
            [format!("{operation}{}{}", became(*native), on_one_line(sequence))].into_iter().chain(changes).collect()
        }
        Outcome::Optimized { rewrite, applied, message } => {
            vec![format!("{operation}{}{rewrite}: {message}", optimized(*applied))]
        }
        Outcome::Inserted { instruction, side, rule, message } => {
            vec![format!("{operation} has {instruction} {side} it by {rule}: {message}")]
        }
    }
}

pub(super) fn became(native: bool) -> &'static str {
    if native { " stays as it is, which LLVM prints as " } else { " became " }
}

pub(super) fn optimized(applied: bool) -> &'static str {
    if applied { " optimized by " } else { " not optimized by " }
}

pub(super) fn on_one_line(sequence: &Sequence) -> String {
    let text = sequence.to_string().replace('\n', " ");
    if text.is_empty() { "nothing".to_owned() } else { text }
}
