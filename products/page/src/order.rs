//! The comparison of PTX with its LLVM IR, as `ptx-atomics check --ir` makes it, but without LLVM: a parser reads the
//! lines of the IR.
//!
//! LLVM's knowledge of a module is missing here: the memory of a generic address, and the other accesses of the IR. An
//! instruction that names a state space therefore matches a generic address, and accesses without an operation of the
//! IR are not reported.

use std::collections::HashMap;

use itertools::Itertools;
use ptx_isa::{Function, Module};
use ptx_judge::{BasicBlock, Note, judge_function};
use ptx_lowering::AtomicOp;
use serde::Serialize;
use serde_json::Value;
use strum::EnumMessage;

use crate::{answer::Wrong, explorer, ir};

/// The prefix of the functions by which Rust calls atomics with a scope.
const MARKER: &str = "@ptx_atomics$";

/// A function of LLVM IR that has atomics or fences.
struct Source<'a> {
    name: &'a str,
    blocks: Vec<BasicBlock>,
    /// The lines of the operations, with their numbers from 1.
    lines: Vec<(usize, &'a str)>,
}

/// The comparison of the operations of IR with PTX.
#[derive(Default, Serialize)]
pub struct Order {
    /// The number of operations that the PTX keeps.
    pub kept: usize,
    /// The operations that the PTX loses.
    pub lost: Vec<Lost>,
    /// The number of operations in functions that the PTX lacks, in functions that are too large, and in unreachable
    /// blocks.
    pub not_checked: usize,
}

/// An operation that the PTX does not keep.
#[derive(Serialize)]
pub struct Lost {
    /// The name of the operation's function.
    pub function: String,
    /// The line of the IR, from 1, and its text.
    pub source: (usize, String),
    /// The losses in words.
    pub summary: String,
    /// The reasons of the losses.
    pub reasons: String,
    /// The lines of the PTX that implement the operation.
    pub lines: Vec<u32>,
}

/// Judges PTX by IR, and adds the lines of the IR that are not parsed to `wrong`.
pub fn judged(text: &str, module: &Module, wrong: &mut Vec<Wrong>) -> Order {
    let functions: HashMap<&str, &Function> = module.functions().map(|function| (&*function.name, function)).collect();
    let mut order = Order::default();
    for source in read(text, wrong) {
        // The name as LLVM spells it in PTX.
        let name = source.name.replace(['.', '@'], "_$_");
        let judged = functions.get(&*name).and_then(|function| judge_function(&source.blocks, function).ok());
        let Some(judged) = judged else {
            order.not_checked += source.lines.len();
            continue;
        };
        for (judgement, (number, line)) in judged.operations.iter().zip(source.lines) {
            match judgement.loss() {
                // A line that was not parsed would be the jump to the block.
                None if judgement.notes.contains(&Note::Unreachable) => order.not_checked += 1,
                None => order.kept += 1,
                Some(loss) => order.lost.push(Lost {
                    function: source.name.to_owned(),
                    source: (number, line.to_owned()),
                    summary: loss.get_message().unwrap_or_default().to_owned(),
                    reasons: judgement.violations.iter().join(", "),
                    lines: judgement.lines.clone(),
                }),
            }
        }
    }
    order
}

/// The functions of LLVM IR with atomics or fences.
fn read<'a>(text: &'a str, wrong: &mut Vec<Wrong>) -> Vec<Source<'a>> {
    let mut functions = Vec::new();
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    while let Some((_, line)) = lines.next() {
        let name = line.strip_prefix("define ").and_then(|rest| rest.split_once('@')).map(|(_, rest)| name(rest));
        let Some(name) = name else { continue };
        let body: Vec<_> = lines.by_ref().take_while(|(_, line)| *line != "}").collect();
        let source = function(name, &body, wrong);
        functions.extend((!source.lines.is_empty()).then_some(source));
    }
    functions
}

/// The name at the start of a text, with or without quotes.
fn name(text: &str) -> &str {
    match text.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default(),
        None => {
            text.split(|letter: char| !letter.is_alphanumeric() && !"_.$-".contains(letter)).next().unwrap_or_default()
        }
    }
}

/// Parses a function from the lines of its body.
fn function<'a>(function: &'a str, body: &[(usize, &'a str)], wrong: &mut Vec<Wrong>) -> Source<'a> {
    let mut source = Source { name: function, blocks: vec![BasicBlock::default()], lines: Vec::new() };
    let mut labels: HashMap<&str, usize> = HashMap::new();
    // For each jump, its line, the block that it ends, and the name of its target block.
    let mut jumps: Vec<(usize, usize, &str)> = Vec::new();
    for (index, &(number, line)) in body.iter().enumerate() {
        if let Some(label) = label(line) {
            // The first block exists already.
            source.blocks.extend((index > 0).then(BasicBlock::default));
            labels.insert(label, source.blocks.len() - 1);
            continue;
        }
        let code = line.split(';').next().unwrap_or_default();
        let block = source.blocks.len() - 1;
        // The targets of a terminator, which may extend over several lines.
        jumps.extend(code.split("label %").skip(1).map(|label| (number, block, name(label))));
        let mut operation = ir::fields(line).map(|fields| fields.and_then(|fields| operation(fields.into())));
        if code.contains(MARKER) {
            operation = Some(Err("only the command reads calls of ptx-atomics-scope".to_owned()));
        }
        match operation {
            None => {}
            Some(Ok(op)) => {
                source.blocks[block].operations.push(op);
                source.lines.push((number, line.trim()));
            }
            Some(Err(message)) => wrong.push(Wrong { line: Some(number), ..Wrong::new("ir", message) }),
        }
    }
    for (number, from, label) in jumps {
        match labels.get(label) {
            Some(to) => source.blocks[from].next.push(*to),
            None => wrong
                .push(Wrong { line: Some(number), ..Wrong::new("ir", format!("the function has no block '{label}'")) }),
        }
    }
    source
}

/// The name of a block that begins in this line.
fn label(line: &str) -> Option<&str> {
    let line = line.split(';').next()?.trim_end();
    let label = line.strip_suffix(':')?;
    (!label.starts_with(char::is_whitespace)).then(|| name(label))
}

fn operation(fields: Value) -> Result<AtomicOp, String> {
    let question: explorer::Question = serde_json::from_value(fields).map_err(|error| error.to_string())?;
    let mut errors = Vec::new();
    question.op(&mut errors).ok_or_else(|| errors.into_iter().map(|wrong| wrong.message).join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IR: &str = r#"
define void @f(ptr %flag, ptr %data) {
entry:
  br label %wait
wait:                                     ; preds = %wait, %entry
  %v = load atomic i32, ptr %flag syncscope("device") acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %wait, label %done
done:
  %old = atomicrmw add ptr %data, i32 1 syncscope("device") acq_rel
  ret void
}
define void @"a.b"() {
  fence seq_cst
  ret void
}"#;

    fn ptx(load: &str, add: &str) -> String {
        format!(
            ".version 8.6\n.target sm_90\n.visible .func f(.param .b64 p, .param .b64 q) {{\n ld.param.b64 %rd1, [p];\n ld.param.b64 %rd2, [q];\nWAIT:\n {load} %r1, [%rd1];\n setp.eq.b32 %p1, %r1, 0;\n @%p1 bra WAIT;\n {add} %r2, [%rd2], 1;\n ret;\n}}\n"
        )
    }

    /// Checks the numbers of kept and unchecked operations, and the losses, with the lines of IR and PTX.
    #[track_caller]
    fn check(ptx: &str, (kept, not_checked): (usize, usize), lost: &[(usize, &str, &[u32])]) {
        let mut wrong = Vec::new();
        let order = judged(IR, &ptx.parse().expect("PTX"), &mut wrong);
        let found = order.lost.iter().map(|lost| (lost.source.0, &*lost.reasons, &*lost.lines)).collect_vec();
        assert_eq!((order.kept, order.not_checked, &*found, &*wrong), (kept, not_checked, lost, &[][..]));
    }

    #[test]
    fn each_operation_has_its_instruction() {
        let (load, add) = ("ld.acquire.gpu.b32", "atom.acq_rel.gpu.add.u32");
        check(&ptx(load, add), (2, 1), &[]);
        check(&ptx("ld.relaxed.gpu.b32", add), (1, 1), &[(6, "no acquire", &[7])]);
        let lost = "an access of scope cta, not gpu, acquire at scope cta, not gpu, release at scope cta, not gpu";
        check(&ptx(load, "atom.acq_rel.cta.add.u32"), (1, 1), &[(10, lost, &[10])]);
        let fence = ".version 8.6\n.target sm_90\n.visible .func a_$_b() {\n fence.sc.sys;\n ret;\n}\n";
        check(&format!("{}{}", ptx(load, add), fence.split_once("sm_90\n").expect("a target").1), (3, 0), &[]);
    }

    #[test]
    fn errors_of_the_reader_have_lines() {
        let mut wrong = Vec::new();
        let text = "define void @f() {\n  fence odd\n  fence acquire\n  br label %odd\n}";
        assert_eq!(read(text, &mut wrong)[0].lines, [(3, "fence acquire")]);
        assert_eq!(wrong.iter().map(|wrong| wrong.line).collect_vec(), [Some(2), Some(4)]);
    }
}
