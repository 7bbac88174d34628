//! A whole PTX module, from any compiler.
//!
//! Instructions that are modelled become [`Instruction`]s. Of every other one the reader keeps what the flow of control
//! and of data needs ([`Other`]). A register or label that a nested block declares gets a name of its own, so that names
//! are unique within a function.

use std::{
    collections::{HashMap, HashSet},
    str::FromStr,
};

use crate::instruction::{Guard, Instruction, Name, Statement};

/// A module: its head, and its functions in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// What stands behind `.version`, as `8.6`.
    pub version: String,
    /// What stands behind `.target`, as `sm_90`.
    pub target: String,
    pub functions: Vec<Function>,
}

/// A `.func` or `.entry`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// `None` for a declaration.
    pub body: Option<Vec<Line>>,
}

/// An instruction or a label, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// In the text of the module, from 1.
    pub number: u32,
    /// As it stands there, without comments.
    pub text: String,
    pub code: Code,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    Label(Name),
    Instruction { guard: Option<Guard>, instruction: Instruction },
    Other(Other),
}

/// An instruction that is not modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    pub guard: Option<Guard>,
    /// With its modifiers.
    pub mnemonic: String,
    pub writes: Vec<Name>,
    pub reads: Vec<Name>,
    pub jump: Jump,
}

/// Where control goes behind an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Jump {
    Next,
    /// To one of these, as an indexed branch.
    To(Vec<Name>),
    /// Out of the function.
    Out,
}

/// Text that is no PTX module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ModuleError {
    /// From 1.
    pub line: u32,
    pub reason: String,
}

impl FromStr for Module {
    type Err = ModuleError;

    fn from_str(text: &str) -> Result<Self, ModuleError> {
        let mut reader = Reader { rest: text, line: 1 };
        let mut module = Self::default();
        // Functions stand in front of their calls.
        let mut noreturn = HashSet::new();
        while let Some((line, piece)) = reader.piece()? {
            if let Piece::Head(head) | Piece::Statement(head) = &piece
                && head.contains(".noreturn")
            {
                noreturn.extend(function_name(head));
            }
            match piece {
                Piece::Directive(directive) => match directive.split_once(char::is_whitespace) {
                    Some((".version", version)) => module.version = version.trim().into(),
                    Some((".target", target)) => module.target = target.trim().into(),
                    _ => {}
                },
                Piece::Head(head) => match function_name(&head) {
                    Some(name) => {
                        let body = Some(body(&mut reader, &name, &noreturn)?);
                        module.functions.push(Function { name, body });
                    }
                    None => reader.skip_block()?,
                },
                Piece::Statement(statement) => {
                    module.functions.extend(function_name(&statement).map(|name| Function { name, body: None }));
                }
                Piece::Label(_) | Piece::Open | Piece::Close => {
                    return Err(ModuleError { line, reason: "code outside of a function".into() });
                }
            }
        }
        if module.version.is_empty() || module.target.is_empty() {
            return Err(ModuleError { line: 1, reason: "no `.version` and `.target`: this is no PTX".into() });
        }
        Ok(module)
    }
}

/// The name behind `.func` or `.entry`, and behind the results of a `.func`.
fn function_name(head: &str) -> Option<String> {
    let start = [".func", ".entry"].into_iter().find_map(|word| {
        let at = head.find(word)? + word.len();
        head[at..].starts_with(|c: char| c.is_whitespace() || c == '(').then_some(at)
    })?;
    let mut rest = head[start..].trim_start();
    if rest.starts_with('(') {
        rest = rest.split_once(')')?.1.trim_start();
    }
    let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
    (!name.is_empty()).then(|| name.to_owned())
}

/// A piece of text between `;`, braces and colons.
enum Piece {
    /// A directive that ends with its line.
    Directive(String),
    /// What stands in front of the brace of a function or section.
    Head(String),
    Statement(String),
    Label(String),
    Open,
    Close,
}

struct Reader<'t> {
    rest: &'t str,
    line: u32,
}

impl<'t> Reader<'t> {
    fn error<T>(&self, reason: impl Into<String>) -> Result<T, ModuleError> {
        Err(ModuleError { line: self.line, reason: reason.into() })
    }

    /// Takes so many bytes, up to a boundary between characters.
    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count() as u32;
        self.rest = rest;
        taken
    }

    fn take_until(&mut self, end: &str, what: &str) -> Result<&'t str, ModuleError> {
        match self.rest.find(end) {
            Some(length) => Ok(self.take(length + end.len())),
            None => self.error(format!("the end of {what} is missing")),
        }
    }

    fn take_line(&mut self) -> &'t str {
        let line = self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
        line.split_once("//").map_or(line, |(code, _)| code)
    }

    /// The next piece and the line on which it begins; `None` at the end of the text.
    fn piece(&mut self) -> Result<Option<(u32, Piece)>, ModuleError> {
        let mut text = String::new();
        let mut start = self.line;
        while let Some(first) = self.rest.chars().next() {
            if self.rest.starts_with("//") {
                self.take_line();
                continue;
            }
            if self.rest.starts_with("/*") {
                self.take_until("*/", "a comment")?;
                continue;
            }
            if text.is_empty() {
                start = self.line;
                if [".version", ".target", ".address_size", ".loc", ".file"].into_iter().any(|word| self.is_word(word))
                {
                    return Ok(Some((start, Piece::Directive(self.take_line().trim().to_owned()))));
                }
            }
            let piece = match first {
                '"' => {
                    text.push_str(self.take(1));
                    text.push_str(self.take_until("\"", "a string")?);
                    continue;
                }
                ';' => Piece::Statement(std::mem::take(&mut text)),
                '{' if text.is_empty() => Piece::Open,
                '{' if text.starts_with('.') && !text.contains('=') => Piece::Head(std::mem::take(&mut text)),
                '{' => {
                    text.push_str(self.take_until("}", "a list in braces")?);
                    continue;
                }
                '}' if text.is_empty() => Piece::Close,
                '}' => return self.error("a `;` is missing"),
                ':' if self.rest.starts_with("::") => {
                    text.push_str(self.take(2));
                    continue;
                }
                ':' if !text.is_empty() && text.trim_end().chars().all(is_name) => {
                    Piece::Label(text.trim_end().to_owned())
                }
                c => {
                    if !(text.is_empty() && c.is_whitespace()) {
                        text.push(if c.is_whitespace() { ' ' } else { c });
                    }
                    self.take(c.len_utf8());
                    continue;
                }
            };
            self.take(1);
            return Ok(Some((start, piece)));
        }
        if text.is_empty() { Ok(None) } else { self.error("the text ends within a statement") }
    }

    fn is_word(&self, word: &str) -> bool {
        self.rest.strip_prefix(word).is_some_and(|rest| rest.starts_with(char::is_whitespace))
    }

    /// Skips the rest of a block, as of `.section`, which holds data.
    fn skip_block(&mut self) -> Result<(), ModuleError> {
        self.take_until("}", "a section").map(drop)
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')
}

/// What a block in braces declares, and the block around it.
#[derive(Default)]
struct Block {
    parent: usize,
    names: HashSet<String>,
    /// `%r<6>` declares `%r0` to `%r5`.
    ranges: Vec<String>,
}

impl Block {
    fn declares(&self, name: &str) -> bool {
        let in_range = |range: &String| {
            name.strip_prefix(&range[..])
                .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        self.names.contains(name) || self.ranges.iter().any(in_range)
    }

    /// Takes the registers of `.reg .b32 %x, %y<4>`.
    fn declare(&mut self, registers: &str) {
        for register in registers.split(',') {
            let register = register.rsplit(char::is_whitespace).find(|word| !word.is_empty()).unwrap_or("");
            match register.split_once('<') {
                Some((stem, _)) => self.ranges.push(stem.to_owned()),
                None => drop(self.names.insert(register.to_owned())),
            }
        }
    }
}

/// Reads the body of a function up to its closing brace. Calls of `noreturn` do not come back.
fn body(reader: &mut Reader<'_>, function: &str, noreturn: &HashSet<String>) -> Result<Vec<Line>, ModuleError> {
    let mut blocks = vec![Block::default()];
    let mut current = 0;
    let mut pieces = Vec::new();
    let mut lists: HashMap<String, Vec<Name>> = HashMap::new();
    let mut label = String::new();
    loop {
        let Some((line, piece)) = reader.piece()? else {
            return reader.error(format!("the end of function '{function}' is missing"));
        };
        match piece {
            Piece::Open => {
                blocks.push(Block { parent: current, ..Block::default() });
                current = blocks.len() - 1;
            }
            Piece::Close if current == 0 => break,
            Piece::Close => current = blocks[current].parent,
            Piece::Label(name) => {
                blocks[current].names.insert(name.clone());
                label.clone_from(&name);
                pieces.push((line, current, name, true));
            }
            Piece::Statement(text) => match text.split_once(char::is_whitespace) {
                Some((".reg", registers)) => blocks[current].declare(registers),
                Some((".branchtargets", targets)) => drop(lists.insert(label.clone(), names(targets).collect())),
                _ if text.starts_with('.') => {}
                _ => pieces.push((line, current, text, false)),
            },
            Piece::Head(_) => return reader.error("a block within a function has no head"),
            Piece::Directive(_) => {}
        }
    }
    let unique = |name: &str, mut block: usize| {
        while block != 0 && !blocks[block].declares(name) {
            block = blocks[block].parent;
        }
        if block == 0 { name.to_owned() } else { format!("{name}$in{block}") }
    };
    let line = |(number, block, text, is_label): (u32, usize, String, bool)| {
        let code = if is_label {
            Code::Label(Name(unique(&text, block).into()))
        } else {
            code(&with_names(&text, |name| unique(name, block)), &lists, noreturn)
        };
        Line { number, text: text.split_whitespace().collect::<Vec<_>>().join(" "), code }
    };
    Ok(pieces.into_iter().map(line).collect())
}

/// The text of an instruction with the names of its operands and of its guard replaced.
fn with_names(text: &str, unique: impl Fn(&str) -> String) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    let mut mnemonic_passed = false;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let (word, behind) = rest.split_at(length);
        let is_guard = replaced.ends_with(['@', '!']);
        let is_operand = is_name(first) && !replaced.ends_with(['.', ':']) && (is_guard || mnemonic_passed);
        replaced.push_str(&if is_operand { unique(word) } else { word.to_owned() });
        mnemonic_passed |= is_name(first) && !is_guard;
        rest = behind;
    }
    replaced
}

fn code(text: &str, lists: &HashMap<String, Vec<Name>>, noreturn: &HashSet<String>) -> Code {
    match format!("{text};").parse() {
        Ok(Statement::Instruction { guard, instruction }) => Code::Instruction { guard, instruction },
        _ => Code::Other(other(text, lists, noreturn)),
    }
}

/// The names of registers, labels and symbols in operands.
fn names(operands: &str) -> impl Iterator<Item = Name> + '_ {
    let words = operands.split(|c| !(is_name(c) || c == '.'));
    let is_symbol = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '%'));
    words.filter(is_symbol).map(|word| Name(word.split('.').next().unwrap_or(word).to_owned().into()))
}

/// Instructions whose first operand is none that they write.
const WITHOUT_RESULT: [&str; 22] = [
    "st",
    "red",
    "bra",
    "brx",
    "call",
    "ret",
    "exit",
    "trap",
    "brkpt",
    "bar",
    "barrier",
    "fence",
    "membar",
    "cp",
    "prefetch",
    "prefetchu",
    "sust",
    "sured",
    "stmatrix",
    "nanosleep",
    "pmevent",
    "discard",
];

fn other(text: &str, lists: &HashMap<String, Vec<Name>>, noreturn: &HashSet<String>) -> Other {
    let mut rest = text.trim();
    let mut guard = None;
    if let Some(guarded) = rest.strip_prefix('@') {
        let guarded = guarded.trim_start();
        let negated = guarded.starts_with('!');
        let p = guarded.trim_start_matches('!').trim_start();
        let (name, behind) = p.split_at(p.find(|c| !is_name(c)).unwrap_or(p.len()));
        guard = Some(Guard { p: Name(name.to_owned().into()), negated });
        rest = behind.trim_start();
    }
    let (mnemonic, operands) = rest.split_at(rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len()));
    let operands = operands.trim();
    let base = mnemonic.split('.').next().unwrap_or(mnemonic);
    let closing = |open: char| match open {
        '{' => operands.find('}'),
        '(' if base == "call" => operands.find(')'),
        _ => None,
    };
    let end = operands.chars().next().and_then(closing).or_else(|| operands.find(',')).unwrap_or(operands.len());
    let (first, behind) = operands.split_at(end);
    let result = !WITHOUT_RESULT.contains(&base) && !first.starts_with('[') || base == "call" && first.starts_with('(');
    let (writes, reads) = if result { (first, behind) } else { ("", operands) };
    let jump = match base {
        "bra" => Jump::To(names(operands).collect()),
        "brx" => Jump::To(names(behind).filter_map(|list| lists.get(&*list.0)).flatten().cloned().collect()),
        "ret" | "exit" | "trap" => Jump::Out,
        // The first name is that of the function.
        "call" if names(reads).next().is_some_and(|callee| noreturn.contains(&*callee.0)) => Jump::Out,
        _ => Jump::Next,
    };
    Other { guard, mnemonic: mnemonic.to_owned(), writes: names(writes).collect(), reads: names(reads).collect(), jump }
}

impl Other {
    /// The mnemonic without its modifiers.
    pub fn base(&self) -> &str {
        self.mnemonic.split('.').next().unwrap_or(&self.mnemonic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

    fn module(body: &str) -> Module {
        format!("{HEAD}.visible .func (.param .b32 r) f(\n.param .b64 f_0\n) .noreturn\n{{\n{body}\n}}\n")
            .parse()
            .expect(body)
    }

    fn other(body: &str) -> Other {
        let module = module(body);
        match &module.functions[0].body.as_ref().expect("a body")[0].code {
            Code::Other(other) => other.clone(),
            code => panic!("{code:?}"),
        }
    }

    #[test]
    fn instructions_that_are_not_modelled() {
        let check = |body: &str, writes: &[&str], reads: &[&str], jump: Jump| {
            let found = other(body);
            let list = |names: &[Name]| names.iter().map(|name| name.0.to_string()).collect::<Vec<_>>();
            assert_eq!((list(&found.writes), list(&found.reads)), (list_of(writes), list_of(reads)), "{body}");
            assert_eq!(found.jump, jump, "{body}");
        };
        fn list_of(names: &[&str]) -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        }
        check("ld.param.b64 %rd1, [f_0];", &["%rd1"], &["f_0"], Jump::Next);
        check("st.param.v2.b64 [r], {%rd3, %rd4};", &[], &["r", "%rd3", "%rd4"], Jump::Next);
        check("fma.rn.f32 %f1, %f2, 0f3F800000, %f3;", &["%f1"], &["%f2", "%f3"], Jump::Next);
        check("setp.eq.s32 %p1|%p2, %r1, 0;", &["%p1", "%p2"], &["%r1"], Jump::Next);
        check("mov.u32 %r1, %tid.x;", &["%r1"], &["%tid"], Jump::Next);
        check("call.uni (retval0),\n g,\n (param0, param1)\n;", &["retval0"], &["g", "param0", "param1"], Jump::Next);
        check("@!%p1 exit;", &[], &[], Jump::Out);
        check("bra.uni $L1;", &[], &["$L1"], Jump::To(vec![Name::new("$L1")]));
        assert_eq!(other("@!%p1 exit;").guard, Some(Guard { p: Name::new("%p1"), negated: true }));
    }

    #[test]
    fn calls_that_do_not_return() {
        let jump = |call: &str| {
            let declared = "extern .func g (.param .b32 a) .noreturn; .func (.param .b32 r) h() .noreturn;";
            let text = format!("{HEAD}.{declared} .func i(); .func f() {{ {call}; ret; }}");
            let module: Module = text.parse().expect(&text);
            match &module.functions[3].body.as_ref().expect("a body")[0].code {
                Code::Other(Other { jump, .. }) => jump.clone(),
                code => panic!("{code:?}"),
            }
        };
        let cases = [
            ("call.uni g, (p)", Jump::Out),
            ("call (r), h", Jump::Out),
            ("@%p1 call g, (p)", Jump::Out),
            ("call i", Jump::Next),
            ("call (r), i, (g)", Jump::Next),
        ];
        for (call, expected) in cases {
            assert_eq!(jump(call), expected, "{call}");
        }
    }

    #[test]
    fn names_of_blocks_are_their_own() {
        let text = "{ .reg .b32 %x; %again: add.u32 %x, %x, %y; @%p bra %again; } { .reg .b32 %x; not.b32 %x, %x; }";
        let module = module(text);
        let lines: Vec<_> = module.functions[0].body.iter().flatten().map(|line| &line.code).collect();
        let text: Vec<_> = lines
            .iter()
            .map(|code| match code {
                Code::Label(name) => format!("{}:", name.0),
                Code::Instruction { instruction, .. } => instruction.to_string(),
                Code::Other(other) => other.mnemonic.clone(),
            })
            .collect();
        assert_eq!(text, ["%again$in1:", "add.u32 %x$in1, %x$in1, %y", "bra %again$in1", "not.b32 %x$in2, %x$in2"]);
    }

    #[test]
    fn what_compilers_write_around_functions() {
        let text = format!(
            "//\n// Generated\n{HEAD}.file 1 \"a;b{{.cu\"\n.extern .func (.param .b32 r) vprintf\n(\n.param .b64 a\n)\n;\n\
             .global .align 4 .u32 table[2] = {{1, 2}};\n.weak .entry k()\n.maxntid 128, 1, 1\n{{\n.loc 1 2 3 // a.cu\n\
             \t.pragma \"nounroll\";\nts: .branchtargets $A, $B;\n\tbrx.idx %r1, ts;\n$A: ret;\n$B: trap;\n}}\n\
             .section .debug_str {{\n$L_info: .b8 1,2\n}}\n"
        );
        let module: Module = text.parse().expect("a module");
        assert_eq!((&*module.version, &*module.target), ("8.6", "sm_90"));
        assert_eq!(module.functions.iter().map(|function| &*function.name).collect::<Vec<_>>(), ["vprintf", "k"]);
        let body = module.functions[1].body.as_ref().expect("a body");
        let Code::Other(brx) = &body[1].code else { panic!("{:?}", body[1]) };
        assert_eq!(brx.jump, Jump::To(vec![Name::new("$A"), Name::new("$B")]));
        assert_eq!((body[1].number, &*body[1].text), (19, "brx.idx %r1, ts"));
    }

    /// Neither blocks nor what looks like a vector of vectors are read by recursion.
    #[test]
    fn braces_may_nest_deeply() {
        let blocks = "{ .reg .b32 %x; mov.b32 %x, %y; ".repeat(5_000) + "ret;" + &"}".repeat(5_000);
        assert_eq!(module(&blocks).functions[0].body.as_ref().map(Vec::len), Some(5_001));
        for (open, close) in [("{", "}"), ("[", "]"), ("(", ")")] {
            assert_eq!(other(&format!("mov.b32 %x, {}%y{close};", open.repeat(200_000))).mnemonic, "mov.b32");
        }
    }

    #[test]
    fn damage_is_an_error_with_its_line() {
        let check = |text: &str, line: u32, reason: &str| {
            let error = text.parse::<Module>().expect_err(text);
            assert_eq!((error.line, &*error.reason), (line, reason), "{text}");
        };
        check("", 1, "no `.version` and `.target`: this is no PTX");
        check(&format!("{HEAD}.func f() {{\nret;\n"), 6, "the end of function 'f' is missing");
        check(&format!("{HEAD}.func f() {{\nret\n}}\n"), 6, "a `;` is missing");
        check(&format!("{HEAD}ret"), 4, "the text ends within a statement");
        check(&format!("{HEAD}$a: ret;"), 4, "code outside of a function");
        check(&format!("{HEAD}/* "), 4, "the end of a comment is missing");
    }
}
