//! Inline assembly of an IR that hides an access from the compiler.

use ptx_hazards::Rule as AsyncRule;
use ptx_isa::Text;

use crate::{
    evidence::Evidence,
    finding::{Finding, Operation, Remedy},
    question::Question,
    rule::Rule,
    severity::Assessed,
};

/// The finding about inline assembly that does more than it declares; `message` describes the difference.
pub fn in_assembly(place: Option<(String, u32, u32)>, message: &str) -> Finding {
    let help = "declare it: asm volatile(… : … : … : \"memory\") in CUDA, no `nomem`, `readonly` or `pure` in Rust";
    let Assessed { severity, is_tolerated } = Assessed::POSSIBLE;
    Finding {
        question: Question::Async,
        rule: Some(Rule::Async(AsyncRule::R13)),
        severity,
        is_tolerated,
        sites: Vec::new(),
        operation: Some(Operation { text: String::new(), place }),
        message: Text::new(message),
        // The text lacks the declaration. Whether a compiler moves an access across the assembly is a separate
        // question.
        evidence: Evidence::Proof,
        remedy: Some(Remedy::Insert { help: help.to_owned(), edits: Vec::new() }),
        explanation: None,
        allowed: None,
    }
}
