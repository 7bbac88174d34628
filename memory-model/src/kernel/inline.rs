//! A thread's code in one piece: the function that it runs, with all that it calls, in words that a litmus test knows.

use std::collections::HashMap;

use ptx_isa::{
    self as asm, Code, Function, Head, Jump, Module, Name, Other, Runtime, Space,
    syntax::{self, Instruction, Operand, Shape, Statement, Text, TokenKind},
};

use super::{
    line::{Line, SourceLine},
    names::shown,
    objects::{Declaration, Objects, REGION, region},
    places::Places,
};
use crate::{
    litmus::shorthand::END,
    place::Place,
    program::{Stop, Value},
    unfold::ARRAY,
};

/// A piece of a thread's code, and where it stands.
pub(super) struct Flat {
    pub line: Line,
    pub what: What,
}

pub(super) enum What {
    /// What the reader of litmus tests reads.
    Text(String),
    /// The end of the thread, where the guard holds.
    Stop(Stop, Option<String>),
}

/// What a thread runs.
pub(super) struct Run<'r> {
    pub thread: usize,
    pub place: Place,
    pub function: &'r Function,
    /// What its parameters hold, by their index.
    pub arguments: Vec<Option<Value>>,
    /// The values of special registers.
    pub special: &'r dyn Fn(&str) -> Option<Value>,
}

/// The register that says whether a thread came to a `trap`.
pub(super) const TRAP: &str = "trap";
/// The register that holds what a thread returns.
pub(super) const RETURN: &str = "return";
/// Of calls within calls.
const MAX_DEPTH: usize = 32;
/// Of the statements of one thread.
const MAX_STATEMENTS: usize = 1 << 14;

/// Instructions that do nothing that a memory model could tell.
const WITHOUT_EFFECT: [&str; 9] =
    ["nanosleep", "prefetch", "prefetchu", "pmevent", "brkpt", "discard", "applypriority", "setmaxnreg", "nop"];

pub(super) struct Inliner<'m, 'o> {
    module: &'m Module,
    places: &'m Places,
    objects: &'o mut Objects<'m>,
    pub code: Vec<Flat>,
    /// The number of calls so far.
    calls: usize,
}

/// A call of a function, of which the first is the thread itself.
struct Call<'c> {
    number: usize,
    depth: usize,
    function: &'c Function,
    /// The registers that hold the parameters and results, by the names that they have in the function.
    passed: HashMap<String, String>,
    own: HashMap<String, Declaration>,
    /// Where it is called, from within outwards.
    from: &'c [SourceLine],
}

impl<'m, 'o> Inliner<'m, 'o> {
    pub fn new(module: &'m Module, places: &'m Places, objects: &'o mut Objects<'m>) -> Self {
        Self { module, places, objects, code: Vec::new(), calls: 0 }
    }

    /// Puts the whole code of a thread into [`Self::code`].
    pub fn run(&mut self, run: &Run<'_>) {
        let (results, parameters) = interface(run.function);
        let mut passed = HashMap::new();
        for (index, name) in parameters.into_iter().enumerate() {
            if let Some(Some(value)) = run.arguments.get(index) {
                passed.insert(name, value.to_string());
            }
        }
        passed.extend(results.into_iter().map(|name| (name, RETURN.to_owned())));
        let own = Objects::of_function(run.function);
        self.body(run, &Call { number: 0, depth: 0, function: run.function, passed, own, from: &[] });
    }

    fn body(&mut self, run: &Run<'_>, call: &Call<'_>) {
        let mut places = call.from.to_vec();
        for line in call.function.body.iter().flatten() {
            let here = Line { number: line.number, text: demangled(&line.text), places: places.clone(), wrong: None };
            let text = match &line.code {
                Code::Label(name) => {
                    let text = format!("{}:", own_name(&name.0, call.number));
                    self.push(here, What::Text(text));
                    continue;
                }
                Code::Directive(_) => {
                    if let Some(found) = self.places.at(line.number) {
                        places = [found, call.from].concat();
                    }
                    continue;
                }
                Code::Open | Code::Close => continue,
                Code::Instruction { guard, instruction } => {
                    asm::Statement::Instruction { guard: guard.clone(), instruction: instruction.clone() }.to_string()
                }
                Code::Other(other) => other.text.clone(),
            };
            if self.code.len() > MAX_STATEMENTS {
                self.wrong(here, None, "the thread has too many instructions");
                return;
            }
            let text = text.trim_end_matches(';');
            match (syntax::statement(text), &line.code) {
                (Ok(Statement::Instruction(branch)), Code::Other(Other { jump: Jump::To(targets), .. })) => {
                    self.indexed_branch(run, call, &branch, targets, here);
                }
                (Ok(Statement::Instruction(instruction)), _) => self.instruction(run, call, &instruction, here),
                _ => self.wrong(here, None, "no instruction of PTX"),
            }
        }
        if call.number > 0 {
            self.push(Line::default(), What::Text(format!("{}:", end_of(call.number))));
        }
    }

    fn push(&mut self, line: Line, what: What) {
        self.code.push(Flat { line, what });
    }

    fn wrong(&mut self, line: Line, guard: Option<String>, why: impl Into<String>) {
        self.push(Line { wrong: Some(why.into()), ..line }, What::Stop(Stop::Unmodelled, guard));
    }

    fn instruction(&mut self, run: &Run<'_>, call: &Call<'_>, of: &Instruction<'_>, line: Line) {
        let guard = guard(call, of, false);
        let guarded = |text: String| guard.iter().map(|guard| format!("{guard} ")).collect::<String>() + &text;
        let mnemonic = of.mnemonic.text;
        let words: Vec<&str> = of.modifiers.iter().map(|word| word.text).collect();
        let operand = |this: &mut Self, index: usize| {
            of.operands.get(index).map_or(Ok(String::new()), |operand| this.operand(run, call, operand))
        };
        if WITHOUT_EFFECT.contains(&mnemonic) {
            return;
        }
        let texts: Result<Vec<String>, String> = match (mnemonic, &words[..]) {
            ("ret" | "exit", _) if call.number == 0 => Ok(vec!["ret".into()]),
            ("ret", _) => Ok(vec![format!("bra {}", end_of(call.number))]),
            ("exit", _) => Ok(vec!["ret".into()]),
            ("trap", _) => {
                self.push(line.clone(), What::Text(guarded(format!("mov.u64 {TRAP}, 1"))));
                self.push(line, What::Stop(Stop::Trap, guard));
                return;
            }
            ("call", _) => {
                if guard.is_some() {
                    self.wrong(line, guard, "a call under a guard");
                } else if let Err(why) = self.call(run, call, of, &line) {
                    self.wrong(line, None, why);
                }
                return;
            }
            ("mapa", _) => {
                if let Err(why) = self.mapped(run, call, of, &line) {
                    self.wrong(line, guard, why);
                }
                return;
            }
            ("ld" | "st", [space, ..]) if space.starts_with("param") => self.passed(call, of),
            ("cvta", _) => operand(self, 0).and_then(|d| Ok(vec![format!("mov.u64 {d}, {}", operand(self, 1)?)])),
            ("isspacep", [space]) => {
                let space = space.parse::<Space>().ok();
                self.in_space(run, call, of, space)
            }
            _ => self.respelled(run, call, of).map(|text| vec![text]),
        };
        match texts {
            Ok(texts) => texts.into_iter().for_each(|text| self.push(line.clone(), What::Text(guarded(text)))),
            Err(why) => self.wrong(line, guard, why),
        }
    }

    /// `brx.idx`, which branches to the label that stands at an index of a table: a comparison and a branch for each of them.
    /// Behind the table, nothing is defined.
    fn indexed_branch(&mut self, run: &Run<'_>, call: &Call<'_>, of: &Instruction<'_>, targets: &[Name], line: Line) {
        let index = of.operands.first().ok_or_else(|| "a branch without an index".to_owned());
        let index = match index.and_then(|index| self.operand(run, call, index)) {
            Ok(index) => index,
            Err(why) => return self.wrong(line, guard(call, of, false), why),
        };
        let mut push = |text: String| self.code.push(Flat { line: line.clone(), what: What::Text(text) });
        let not_taken = own_name(&format!("$brx${}", line.number), call.number);
        let skip = guard(call, of, true);
        skip.iter().for_each(|guard| push(format!("{guard} bra {not_taken}")));
        for (number, target) in targets.iter().enumerate() {
            push(format!("setp.eq.u32 %brx$is, {index}, {number}"));
            push(format!("@%brx$is bra {}", own_name(&target.0, call.number)));
        }
        self.wrong(line.clone(), None, "an index behind the table of the branch");
        if skip.is_some() {
            self.push(line, What::Text(format!("{not_taken}:")));
        }
    }

    /// `mapa`, the place in the shared memory of a CTA of the cluster that an address names in that of the thread's own: a comparison and
    /// a sum for each variable and CTA. Of any other address or CTA, nothing is known.
    fn mapped(&mut self, run: &Run<'_>, call: &Call<'_>, of: &Instruction<'_>, line: &Line) -> Result<(), String> {
        let [d, a, rank] = &of.operands[..] else { return Err("`mapa` takes three operands".into()) };
        let (d, a, rank) = (self.operand(run, call, d)?, self.operand(run, call, a)?, self.operand(run, call, rank)?);
        let done = own_name(&format!("$mapa${}", line.number), call.number);
        let skip = guard(call, of, true).map(|guard| format!("{guard} bra {done}"));
        let by = ARRAY.ilog2();
        let mut texts = vec![
            format!("mov.u64 %mapa$address, {a}"),
            format!("shr.u64 %mapa$of, %mapa$address, {by}"),
            "shl.b64 %mapa$of, %mapa$of, 32".to_owned(),
            format!("add.u64 %mapa$of, %mapa$of, {rank}"),
        ];
        let peers = self.objects.cluster(run.place);
        for symbol in self.objects.shared(&call.own) {
            let mut base = |place| {
                let object = self.objects.symbol(&symbol, &call.own, (run.thread, call.number), place)?.ok()?;
                Some(self.objects.all[object].base)
            };
            let Some(own) = base(run.place) else { continue };
            for (rank, peer) in &peers {
                let Some(peer) = base(*peer) else { continue };
                texts.push(format!("setp.eq.u64 %mapa$is, %mapa$of, {}", own >> by << 32 | Value::from(*rank)));
                texts.push(format!("@%mapa$is add.u64 {d}, %mapa$address, {}", peer.wrapping_sub(own)));
                texts.push(format!("@%mapa$is bra {done}"));
            }
        }
        for text in skip.into_iter().chain(texts) {
            self.push(line.clone(), What::Text(text));
        }
        self.wrong(
            line.clone(),
            None,
            "`mapa` of what is no variable in shared memory, or of a CTA that no thread is in",
        );
        self.push(line.clone(), What::Text(format!("{done}:")));
        Ok(())
    }

    /// The instruction with the names of the thread, and without what is the same to the model.
    fn respelled(&mut self, run: &Run<'_>, call: &Call<'_>, of: &Instruction<'_>) -> Result<String, String> {
        let constant = of.modifiers.iter().any(|word| matches!(word.text, "nc" | "const"));
        let same = |word: &&&str| {
            !(matches!(**word, "nc" | "const" | "local" | "uni" | "aligned")
                || word.starts_with("L1::")
                || word.starts_with("L2::"))
        };
        let words: Vec<&str> = of.modifiers.iter().map(|word| word.text).collect();
        let mut words: Vec<&str> = words.iter().filter(same).copied().collect();
        if of.mnemonic.text == "ld" && constant {
            words.retain(|word| *word != "weak");
        }
        let words: String = words.iter().map(|word| format!(".{word}")).collect();
        let operands = of.operands.iter().map(|operand| self.operand(run, call, operand));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        Ok(format!("{}{words} {}", of.mnemonic.text, operands.join(", ")))
    }

    fn operand(&mut self, run: &Run<'_>, call: &Call<'_>, operand: &Operand<'_>) -> Result<String, String> {
        let list = |this: &mut Self, elements: &[Operand<'_>]| {
            let elements = elements.iter().map(|element| this.operand(run, call, element));
            elements.collect::<Result<Vec<_>, _>>().map(|elements| elements.join(", "))
        };
        Ok(match &operand.shape {
            Shape::Name { name, suffix } => {
                let whole = suffix.map_or(name.text.to_owned(), |suffix| format!("{}.{}", name.text, suffix.text));
                match (run.special)(&whole) {
                    Some(value) => value.to_string(),
                    None if is_special(name.text) => {
                        return Err(format!(
                            "`{whole}` has no value here: say `{whole} = 0` behind the thread's place"
                        ));
                    }
                    None => self.name(run, call, &whole)?,
                }
            }
            Shape::Sum(address) => format!("{}+{}", self.name(run, call, address.base.text)?, address.offset),
            Shape::Memory { parts, .. } => format!("[{}]", list(self, parts)?),
            Shape::Vector(elements) => format!("{{{}}}", list(self, elements)?),
            Shape::Not(name) => format!("!{}", self.name(run, call, name.text)?),
            Shape::Pair(pair) => {
                format!("{}|{}", self.operand(run, call, &pair[0])?, self.operand(run, call, &pair[1])?)
            }
            _ => operand.text.text.to_owned(),
        })
    }

    /// A register or label of the call, or an object.
    fn name(&mut self, run: &Run<'_>, call: &Call<'_>, name: &str) -> Result<String, String> {
        if name == "_" {
            return Ok(name.to_owned());
        }
        match self.objects.symbol(name, &call.own, (run.thread, call.number), run.place) {
            Some(object) => object.map(Objects::spelled),
            None => Ok(own_name(name, call.number)),
        }
    }

    /// `ld.param` and `st.param` as moves: a parameter is a register for each offset.
    fn passed(&mut self, call: &Call<'_>, of: &Instruction<'_>) -> Result<Vec<String>, String> {
        let store = of.mnemonic.text == "st";
        let ty = of.modifiers.last().map_or("b64", |word| word.text);
        let bits = ty.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().unwrap_or(64);
        let (address, values) = if store { (0, 1) } else { (1, 0) };
        let Some(address) = of.operands.get(address).and_then(Operand::address) else {
            return Err("a parameter whose address is computed".into());
        };
        let Some(values) = of.operands.get(values) else { return Err("a parameter without a value".into()) };
        let single = std::slice::from_ref(values);
        let values = if let Shape::Vector(elements) = &values.shape { elements } else { single };
        let name = address.base.text;
        let mut texts = Vec::new();
        for (index, value) in values.iter().enumerate() {
            let offset = address.offset + index as i64 * (bits / 8) as i64;
            let value = own_value(value, call.number);
            let known = call.passed.get(name);
            if known.is_none() && interface(call.function).1.iter().any(|parameter| parameter == name) {
                return Err(format!(
                    "`{name}` is not bound: say what the parameter is, as in `thread P0 = {}(data)`",
                    shown(&call.function.name)
                ));
            }
            // What the caller keeps in parameters of its own is a register of the call.
            let base = known.cloned().unwrap_or_else(|| own_name(&format!("%{name}"), call.number));
            let is_number = base.starts_with(|c: char| c.is_ascii_digit());
            if is_number && (store || offset != 0) {
                return Err(format!("`{name}` is more than one value"));
            }
            let register = if offset == 0 { base } else { format!("{base}${offset}") };
            texts.push(match (store, ty.starts_with('s') && bits < 64) {
                (true, _) => format!("mov.b{bits} {register}, {value}"),
                (false, true) => format!("sext.{ty} {value}, {register}"),
                (false, false) => format!("mov.b{bits} {value}, {register}"),
            });
        }
        Ok(texts)
    }

    /// `isspacep`: each state space has a part of the addresses.
    fn in_space(
        &mut self,
        run: &Run<'_>,
        call: &Call<'_>,
        of: &Instruction<'_>,
        space: Option<Space>,
    ) -> Result<Vec<String>, String> {
        let (Some(d), Some(a), Some(region)) = (of.operands.first(), of.operands.get(1), space.and_then(region)) else {
            return Err("no state space of objects".into());
        };
        let (d, a) = (self.operand(run, call, d)?, self.operand(run, call, a)?);
        let by = (ARRAY * REGION).ilog2();
        Ok(vec![format!("shr.u64 %space, {a}, {by}"), format!("setp.eq.u64 {d}, %space, {region}")])
    }

    fn call(&mut self, run: &Run<'_>, call: &Call<'_>, of: &Instruction<'_>, line: &Line) -> Result<(), String> {
        let list = |operand: Option<&Operand<'_>>| match operand.map(|operand| &operand.shape) {
            Some(Shape::List(elements)) => Some(elements.iter().map(|e| e.text.text.to_owned()).collect::<Vec<_>>()),
            _ => None,
        };
        let results = list(of.operands.first());
        let target = usize::from(results.is_some());
        let name = match of.operands.get(target).map(|operand| &operand.shape) {
            Some(Shape::Name { name, suffix: None }) => name.text,
            _ => return Err("a call of what is not named".into()),
        };
        let arguments = list(of.operands.get(target + 1)).unwrap_or_default();
        let results = results.unwrap_or_default();
        match Runtime::of(name) {
            Some(Runtime::Ends) => {
                self.push(line.clone(), What::Text(format!("mov.u64 {TRAP}, 1")));
                self.push(line.clone(), What::Stop(Stop::Trap, None));
                return Ok(());
            }
            Some(Runtime::Prints) => {
                for result in results {
                    let result = own_name(&format!("%{result}"), call.number);
                    self.push(line.clone(), What::Text(format!("mov.b64 {result}, 0")));
                }
                return Ok(());
            }
            // Of memory that it gives, nothing is known.
            _ => {}
        }
        let function = self.module.functions().find(|function| function.name == name && function.body.is_some());
        let Some(function) = function else {
            return Err(format!("a call of `{}`, which the module does not define", shown(name)));
        };
        if call.depth >= MAX_DEPTH {
            return Err(format!("calls of `{}` within calls", shown(name)));
        }
        self.calls += 1;
        let (formal_results, formal) = interface(function);
        let actual = |name: &String| {
            call.passed.get(name).cloned().unwrap_or_else(|| own_name(&format!("%{name}"), call.number))
        };
        let parameters = formal.into_iter().zip(arguments.iter().map(actual));
        let passed = parameters.chain(formal_results.into_iter().zip(results.iter().map(actual))).collect();
        let own = Objects::of_function(function);
        let number = self.calls;
        self.body(run, &Call { number, depth: call.depth + 1, function, passed, own, from: &line.places });
        Ok(())
    }
}

/// `@p` of an instruction, or its opposite, with the name that the register has in the call.
fn guard(call: &Call<'_>, of: &Instruction<'_>, opposite: bool) -> Option<String> {
    let guard = of.guard?;
    let sign = if guard.negated == opposite { "@" } else { "@!" };
    Some(format!("{sign}{}", own_name(guard.predicate.text, call.number)))
}

/// An instruction with the names of the source.
fn demangled(text: &str) -> String {
    let mut shown_text = String::new();
    let mut end = 0;
    for token in syntax::tokens(Text::of(text)).filter(|token| token.kind == TokenKind::Name) {
        let name = token.text.text;
        if name.starts_with("_R") || name.starts_with("_Z") {
            shown_text += &text[end..token.text.start];
            shown_text += &shown(name);
            end = token.text.start + name.len();
        }
    }
    shown_text + &text[end..]
}

/// Whether a register is one that the hardware sets.
fn is_special(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "tid",
        "ntid",
        "laneid",
        "warpid",
        "nwarpid",
        "ctaid",
        "nctaid",
        "smid",
        "nsmid",
        "gridid",
        "clock",
        "clock64",
        "globaltimer",
        "dynamic_smem_size",
    ];
    let Some(name) = name.strip_prefix('%') else { return false };
    let families =
        ["cluster", "nclusterid", "is_explicit_cluster", "lanemask", "envreg", "pm", "total_smem", "aggr_smem"];
    NAMES.contains(&name) || families.iter().any(|family| name.starts_with(family))
}

/// A name in a call, where each call has registers and labels of its own, and none is the end of the thread.
fn own_name(name: &str, call: usize) -> String {
    if call == 0 && name != END { name.to_owned() } else { format!("{name}$c{call}") }
}

fn own_value(operand: &Operand<'_>, call: usize) -> String {
    match operand.shape {
        Shape::Name { name, suffix: None } => own_name(name.text, call),
        _ => operand.text.text.to_owned(),
    }
}

/// The label behind a call.
fn end_of(call: usize) -> String {
    format!("$returned$c{call}")
}

/// The names of the results and of the parameters of a function, from its head.
pub(super) fn interface(function: &Function) -> (Vec<String>, Vec<String>) {
    let Head { results, parameters, .. } = Head::read(&function.head);
    let [results, parameters] = [results, parameters].map(|list| list.into_iter().map(|one| one.name).collect());
    (results, parameters)
}
