//! A parser of the atomics and fences in the text of LLVM IR, without LLVM. It reads operations on a single line, with
//! operands of the usual types.
//!
//! The parser does not have a pass's knowledge of the whole module: attributes of functions, flags of the module, and
//! the results of inlining.

use ptx_atomics_common::{address_space, operation::SYNC_SCOPES};
use ptx_lowering::{Ordering, SyncScope};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{answer, explorer};

/// LLVM IR and the options of the lowering, as the fields of the page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Question {
    text: String,
    /// The fields of [`explorer::Question`] that do not describe an operation: `mcpu`, `strategy` and so on.
    #[serde(flatten)]
    options: Map<String, Value>,
}

/// The result for LLVM IR.
#[derive(Serialize)]
pub struct Known {
    /// The atomics and fences, in the order of the text.
    operations: Vec<Operation>,
    /// Lines that seem to have an operation and are not parsed.
    unread: Vec<Unread>,
}

#[derive(Serialize)]
struct Operation {
    /// The line, from 1.
    line: usize,
    source: String,
    /// The answer of [`explorer::answer`].
    answer: Value,
}

#[derive(Serialize)]
struct Unread {
    line: usize,
    message: String,
}

/// Reads a [`Question`] as JSON, and returns a [`Known`].
pub fn answer(question: &str) -> String {
    answer::answer(question, |question: &Question| Ok(question.ask()))
}

impl Question {
    fn ask(&self) -> Known {
        let mut known = Known { operations: Vec::new(), unread: Vec::new() };
        for (index, line) in self.text.lines().enumerate() {
            let line_number = index + 1;
            match fields(line) {
                None => {}
                Some(Err(message)) => known.unread.push(Unread { line: line_number, message }),
                Some(Ok(of_operation)) => {
                    let mut question = self.options.clone();
                    question.extend(of_operation);
                    let answer = explorer::answer(&Value::Object(question).to_string());
                    let answer = serde_json::from_str(&answer).unwrap_or_default();
                    known.operations.push(Operation { line: line_number, source: line.trim().to_owned(), answer });
                }
            }
        }
        known
    }
}

/// The fields of the operation in a line of LLVM IR; `None` if the line has no operation; or the reason why the line is
/// not parsed.
pub fn fields(line: &str) -> Option<Result<Map<String, Value>, String>> {
    let code = line.split(';').next().unwrap_or_default().trim();
    let code = match code.split_once(" = ") {
        Some((result, code)) if result.starts_with('%') => code.trim(),
        _ => code,
    };
    let mut words = code.split_whitespace();
    let instruction = words.next()?;
    let is_one = match instruction {
        "atomicrmw" | "cmpxchg" => true,
        "load" | "store" => words.next() == Some("atomic"),
        "fence" => true,
        // A call may begin with `tail`, and a declaration has no operation.
        _ => false,
    };
    is_one.then(|| read(instruction, code))
}

fn read(instruction: &str, code: &str) -> Result<Map<String, Value>, String> {
    let parts = split(code);
    // The index of the pointer, and the index of the last operand before scope and orderings.
    let (pointer, last) = match instruction {
        "cmpxchg" => (0, 2),
        "atomicrmw" => (0, 1),
        "fence" => (0, 0),
        _ => (1, 1),
    };
    let part = |number: usize| parts.get(number).copied().ok_or_else(|| format!("'{instruction}' lacks operands"));
    let after = part(last)?;
    let named: Vec<Ordering> = orderings(after);
    let lacking = || format!("'{instruction}' has no known ordering");
    let (ordering, failure) = match (instruction, &named[..]) {
        ("cmpxchg", [.., success, failure]) => (*success, Some(*failure)),
        ("cmpxchg", _) => return Err(lacking()),
        (_, [.., ordering]) => (*ordering, None),
        _ => return Err(lacking()),
    };
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("ordering", json!(ordering.to_string()));
    set("scope", json!(scope(after)?));
    if let Some(failure) = failure {
        set("failure", json!(failure.to_string()));
    }
    if instruction == "fence" {
        set("operation", json!("fence"));
        return Ok(fields);
    }
    // The words before the first operand.
    let front = part(0)?.strip_prefix(instruction).unwrap_or_default().trim();
    let front = ["weak", "atomic"].iter().fold(front, |front, word| front.strip_prefix(word).unwrap_or(front).trim());
    let bare = front.strip_prefix("volatile").map(str::trim);
    let rest = bare.unwrap_or(front);
    let operation =
        if instruction == "atomicrmw" { rest.split_whitespace().next().unwrap_or_default() } else { instruction };
    let typed = if ["atomicrmw", "cmpxchg"].contains(&instruction) { part(1)? } else { rest };
    set("operation", json!(operation));
    set("type", json!(ty(typed)?));
    set("space", json!(space(part(pointer)?)?));
    set("volatile", json!(bare.is_some()));
    Ok(fields)
}

/// Splits a line at the commas outside of brackets.
fn split(code: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start, mut quoted) = (Vec::new(), 0_i32, 0, false);
    for (at, letter) in code.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(code[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(code[start..].trim());
    parts
}

/// The orderings at the end of an operand.
fn orderings(text: &str) -> Vec<Ordering> {
    let read = |word: &str| match word {
        "monotonic" => Some(Ordering::Relaxed),
        "unordered" | "acquire" | "release" | "acq_rel" | "seq_cst" => word.parse().ok(),
        _ => None,
    };
    let mut found: Vec<Ordering> = text.split_whitespace().rev().map_while(read).collect();
    found.reverse();
    found
}

fn scope(text: &str) -> Result<String, String> {
    let name = text.split_once("syncscope(\"").and_then(|(_, rest)| rest.split_once('"')).map_or("", |(name, _)| name);
    match SYNC_SCOPES.iter().find(|(known, _)| *known == name) {
        Some((_, SyncScope::Threads(scope))) => Ok(scope.to_string()),
        Some((_, SyncScope::SingleThread)) => Ok("singlethread".to_owned()),
        None => Err(format!("unknown syncscope '{name}'")),
    }
}

/// The state space of a pointer.
fn space(pointer: &str) -> Result<String, String> {
    let number = match pointer.split_once("addrspace(") {
        // In a constant expression, the address space of the pointer itself comes first.
        Some((front, rest)) if front.trim_end().ends_with("ptr") => {
            rest.split_once(')').map_or("", |(number, _)| number)
        }
        _ => "0",
    };
    let space = number.parse().ok().and_then(address_space::space);
    space.map(|space| space.to_string()).ok_or_else(|| format!("unknown address space {number}"))
}

/// The type at the start of a text, by its name in the explorer.
fn ty(text: &str) -> Result<&'static str, String> {
    const TYPES: [(&str, &str); 19] = [
        ("<2 x half>", "f16x2"),
        ("<4 x half>", "f16x4"),
        ("<8 x half>", "f16x8"),
        ("<2 x bfloat>", "bf16x2"),
        ("<4 x bfloat>", "bf16x4"),
        ("<8 x bfloat>", "bf16x8"),
        ("<2 x float>", "f32x2"),
        ("<4 x float>", "f32x4"),
        ("<2 x double>", "f64x2"),
        ("i128", "i128"),
        ("i16", "i16"),
        ("i32", "i32"),
        ("i64", "i64"),
        ("i8", "i8"),
        ("half", "f16"),
        ("bfloat", "bf16"),
        ("float", "f32"),
        ("double", "f64"),
        // A pointer has the size of an i64.
        ("ptr", "i64"),
    ];
    let is_word = |rest: &str| !rest.starts_with(|letter: char| letter.is_alphanumeric());
    let known = TYPES.iter().find(|(llvm, _)| text.strip_prefix(llvm).is_some_and(is_word));
    known.map(|(_, ty)| *ty).ok_or_else(|| format!("the page does not read the type of '{text}'"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{answer, fields};

    /// Checks the values of the fields, separated by spaces; or the reason why a line is not parsed; or nothing for a
    /// line without an operation.
    #[track_caller]
    fn check(line: &str, expected: &str) {
        let said = match fields(line) {
            None => String::new(),
            Some(Err(why)) => why,
            Some(Ok(fields)) => {
                let names = ["operation", "ordering", "failure", "scope", "type", "space"];
                let values = names.iter().filter_map(|name| fields.get(*name).and_then(Value::as_str));
                let volatile = (fields.get("volatile") == Some(&json!(true))).then_some("volatile");
                values.chain(volatile).collect::<Vec<_>>().join(" ")
            }
        };
        assert_eq!(said, expected, "{line}");
    }

    #[test]
    fn lines() {
        check("  %1 = atomicrmw add ptr %p, i32 1 acq_rel, align 4", "add acq_rel sys i32 generic");
        check(
            "%a = atomicrmw volatile fadd ptr addrspace(3) @s, float %acquire syncscope(\"block\") monotonic ; seq_cst",
            "fadd relaxed cta f32 shared volatile",
        );
        check(
            "%c = cmpxchg weak ptr addrspace(1) %p, i64 %a, i64 %b syncscope(\"device\") acq_rel monotonic, align 8",
            "cmpxchg acq_rel relaxed gpu i64 global",
        );
        check("%v = load atomic volatile i16, ptr %p seq_cst, align 2", "load seq_cst sys i16 generic volatile");
        check("store atomic ptr %q, ptr addrspace(1) %p release, align 8, !tbaa !3", "store release sys i64 global");
        check("fence syncscope(\"cluster\") seq_cst", "fence seq_cst cluster");
        check(
            "%x = atomicrmw xchg ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @sh, i64 4), i32 %v acquire",
            "xchg acquire sys i32 shared",
        );
        check("%w = load <2 x i32>, ptr %p", "");
        check("call void @fence()", "");
        check("atomicrmw add ptr %p, i32 1 syncscope(\"agent\") acq_rel", "unknown syncscope 'agent'");
        check("atomicrmw add ptr %p, i7 1 acq_rel", "the page does not read the type of 'i7 1 acq_rel'");
        check("%b = cmpxchg ptr %p, i32 1", "'cmpxchg' lacks operands");
    }

    #[test]
    fn answers_are_the_explorers() {
        let text = "define void @f(ptr addrspace(1) %p) {\n  %1 = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel\n  fence bad\n}";
        let known: Value =
            serde_json::from_str(&answer(&json!({ "text": text, "mcpu": "sm_90" }).to_string())).expect("JSON");
        let known = &known["answer"];
        assert_eq!(
            known["operations"][0]["answer"]["answer"]["ptx"], "atom.acq_rel.sys.global.add.u32 %d, [%a], %b;",
            "{known:#}"
        );
        assert_eq!((&known["operations"][0]["line"], &known["unread"][0]["line"]), (&json!(2), &json!(3)));
    }
}
