//! The bytes of an input module, and the lines of its atomics in the text.

use std::{collections::HashMap, sync::OnceLock};

use crate::{callee::OF_NVIDIA, message::Location};

/// The bytes from which a module was read, and their name.
#[derive(Clone)]
pub struct Input {
    name: String,
    /// The bytes, followed by a NUL.
    bytes: Vec<u8>,
    /// Whether atomics keep their lines in the text through optimization, for errors and remarks that are reported
    /// after it. This costs time and memory.
    pub keep_lines: bool,
    lines: OnceLock<Box<Lines>>,
}

/// The lines of instructions without debug information, in the order of the text.
#[derive(Clone)]
struct Lines {
    /// The line of each atomic.
    atomics: Vec<u32>,
    /// The lines of the calls of each intrinsic for NVIDIA's GPUs, by the intrinsic.
    calls: HashMap<String, Vec<u32>>,
    /// The lines of the words in [`OPCODES`], by the word.
    opcodes: HashMap<&'static str, Vec<u32>>,
}

/// Words that [`Input::opcode_location`] finds.
const OPCODES: [&str; 4] = ["asm", "load", "ret", "store"];

impl Input {
    /// Creates an input. `name` is the name of a file, or another name by which a user knows the input.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let mut bytes: Vec<u8> = bytes.into();
        bytes.push(0);
        Self { name: name.into(), bytes, keep_lines: false, lines: OnceLock::new() }
    }

    /// The same input, with `keep_lines`.
    pub fn keeping_lines(self) -> Self {
        Self { keep_lines: true, ..self }
    }

    /// The name of the file, or another name by which a user knows the input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of the input.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - 1]
    }

    /// The bytes followed by a NUL, at which LLVM stops reading text.
    pub fn bytes_with_nul(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the input begins like LLVM bitcode, bare or in a wrapper.
    pub fn is_bitcode(&self) -> bool {
        [&b"BC\xC0\xDE"[..], b"\xDE\xC0\x17\x0B"].iter().any(|magic| self.bytes.starts_with(magic))
    }

    /// The text, unless the input is bitcode.
    pub fn text(&self) -> Option<&str> {
        if self.is_bitcode() { None } else { std::str::from_utf8(self.bytes()).ok() }
    }

    /// The line of an atomic in text of LLVM IR, by its number in the order of the text, from 0.
    pub fn location(&self, number: Option<u32>) -> Option<Location> {
        let line = *self.lines().atomics.get(number? as usize)?;
        Some(Location { file: self.name.clone(), line, column: 0 })
    }

    /// The number of calls of an intrinsic for NVIDIA's GPUs in text of LLVM IR.
    pub fn calls(&self, intrinsic: &str) -> usize {
        self.lines().calls.get(intrinsic).map_or(0, Vec::len)
    }

    /// The line of such a call, by its index among the calls of the intrinsic, from 0.
    pub fn call_location(&self, intrinsic: &str, number: Option<u32>) -> Option<Location> {
        let line = *self.lines().calls.get(intrinsic)?.get(number? as usize)?;
        Some(Location { file: self.name.clone(), line, column: 0 })
    }

    /// The line of an instruction, by a word of the instruction (`load`, `store`, `ret`, or `asm` for a call of inline
    /// assembly) and its index among the `count` instructions with that word, from 0. `None` if the text has another
    /// number of such instructions.
    pub fn opcode_location(&self, word: &str, count: usize, number: usize) -> Option<Location> {
        let lines = self.lines().opcodes.get(word).filter(|lines| lines.len() == count)?;
        Some(Location { file: self.name.clone(), line: *lines.get(number)?, column: 0 })
    }

    fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| {
            let words = words(self.text().unwrap_or(""));
            Box::new(Lines { atomics: atomic_lines(&words), calls: call_lines(&words), opcodes: opcode_lines(&words) })
        })
    }
}

/// The lines of a module's text that hold the opcodes of atomics, in the order of the text.
///
/// Outside strings and comments, the words `fence`, `atomicrmw`, `cmpxchg` and `load atomic` or `store atomic` are
/// always opcodes, unless a sigil makes them a name or a colon makes them a label.
fn atomic_lines(words: &[(&str, u32)]) -> Vec<u32> {
    let mut lines = Vec::new();
    for (index, (word, number)) in words.iter().enumerate() {
        let atomic = words.get(index + 1).is_some_and(|(next, _)| *next == "atomic");
        if matches!(*word, "fence" | "atomicrmw" | "cmpxchg") || (matches!(*word, "load" | "store") && atomic) {
            lines.push(*number);
        }
    }
    lines
}

/// The lines of a module's text that call intrinsics for NVIDIA's GPUs, by the intrinsic. A name outside a declaration
/// is a call, because an intrinsic has no address.
fn call_lines(words: &[(&str, u32)]) -> HashMap<String, Vec<u32>> {
    let mut lines: HashMap<_, Vec<_>> = HashMap::new();
    let mut declared = false;
    for (word, line) in words {
        let Some(name) = word.strip_prefix('@') else {
            declared |= *word == "declare";
            continue;
        };
        // The first name after `declare` is the declared function.
        if !std::mem::take(&mut declared) && name.starts_with(OF_NVIDIA) {
            lines.entry(name.to_owned()).or_default().push(*line);
        }
    }
    lines
}

/// The lines of a module's text that hold a word of [`OPCODES`].
fn opcode_lines(words: &[(&str, u32)]) -> HashMap<&'static str, Vec<u32>> {
    let mut lines: HashMap<_, Vec<_>> = HashMap::new();
    let mut of_module = false;
    for (word, line) in words {
        // `module asm` is not an instruction.
        let is_module = std::mem::replace(&mut of_module, *word == "module");
        if let Some(opcode) = OPCODES.into_iter().find(|opcode| opcode == word).filter(|_| !is_module) {
            lines.entry(opcode).or_default().push(*line);
        }
    }
    lines
}

/// The words of a module's text outside strings and comments, without labels, each with its line.
fn words(text: &str) -> Vec<(&str, u32)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_.-$%@!#".contains(c);
    let find_end = |text: &str, end: &str| text.find(end).map(|start| start + end.len());
    let mut words: Vec<(&str, u32)> = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        // Strings and one kind of comment may span lines.
        let length = match first {
            '"' => find_end(&rest[1..], "\"").map(|length| 1 + length),
            ';' => rest.find('\n'),
            '/' if rest.starts_with("/*") => find_end(&rest[2..], "*/").map(|length| 2 + length),
            first if is_word(first) => rest.find(|c| !is_word(c)),
            first => Some(first.len_utf8()),
        };
        let (piece, after) = rest.split_at(length.unwrap_or(rest.len()));
        if is_word(first) && !after.starts_with(':') {
            words.push((piece, line));
        }
        line += piece.matches('\n').count() as u32;
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, lines: &[u32]) {
        assert_eq!(atomic_lines(&words(text)), lines, "{text}");
    }

    #[test]
    fn lines_of_atomics() {
        check("  fence release\n  %a = atomicrmw add ptr %p, i32 1 seq_cst\n", &[1, 2]);
        check("define void @f() { fence release ret void }\n  fence acquire", &[1, 2]);
        check("  %a =\n    load atomic i32,\n      ptr %p monotonic, align 4", &[2]);
        check("  load\n  atomic", &[1]);
        check("  %a = load i32, ptr %p\n  store i32 %a, ptr %atomic", &[]);
    }

    #[test]
    fn names_labels_strings_and_comments_are_none() {
        check("fence:\n  br label %fence\n  call void @fence()\n  ret void, !fence !0\n", &[]);
        check("  call void asm \"fence ; load atomic\", \"\"() ; fence release\n  fence release", &[2]);
        check("source_filename = \"a\nfence\n;\"\n  fence release", &[4]);
        check("  call void @\"f\n; fence\"() fence release\n!0 = !{!\"a;\nfence\"}\n  fence acquire", &[2, 5]);
        check("/* fence release\n ; \" */ fence acquire ; /* \"\n  fence release /*/ fence */", &[2, 3]);
        check("@x.fence = global i32 0 ; \"\n  cmpxchg ptr %p, i32 0, i32 1 acq_rel acquire", &[2]);
    }

    #[test]
    fn lines_of_calls() {
        let text = "declare i32 @llvm.nvvm.a(i32)
define void @f() {
  %r = call i32 @llvm.nvvm.a(i32 0)
  ; @llvm.nvvm.a(
  call void @g() call i32 @llvm.nvvm.a(i32 %\"x @llvm.nvvm.a\")
  tail call
    void @llvm.nvvm.b()
}
declare void @llvm.nvvm.b() #0";
        let expected = [("llvm.nvvm.a", vec![3, 5]), ("llvm.nvvm.b", vec![7])];
        assert_eq!(call_lines(&words(text)), HashMap::from(expected.map(|(name, lines)| (name.to_owned(), lines))));
    }

    #[test]
    fn lines_of_opcodes() {
        let text = "module asm \".global .u32 g;\"
define void @f() {
  call void asm sideeffect \"store;\", \"\"()
  %a = load i32, ptr %load
  store i32 0, ptr %p store atomic i32 0, ptr %p monotonic, align 4
  ret void
}";
        let expected = [("asm", vec![3]), ("load", vec![4]), ("store", vec![5, 5]), ("ret", vec![6])];
        assert_eq!(opcode_lines(&words(text)), HashMap::from(expected));
    }
}
