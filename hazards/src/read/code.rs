//! The instructions of a kernel in one list, with the functions that it calls in place of their calls.

use ptx_isa::{
    Asynchronous, Code as LineCode, Function, Head, Instruction, Item, Module, Parameter, Role, Runtime, Scope, Space,
    Type, Variable,
    mnemonic::{Control, Memory, Mnemonic},
    syntax::{self, Number, Operand as Syntax, Shape},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::Semantics;

/// How deep calls are read.
const DEPTH: usize = 16;
/// How many instructions the functions that are called may have together, each as often as it is called.
const INLINED: usize = 400_000;

/// Where a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Shared,
    Global,
    Param,
    Local,
    Other,
}

/// A variable or a parameter.
#[derive(Clone, Debug)]
pub struct Symbol {
    pub name: String,
    pub place: Place,
    pub align: u64,
}

/// An operand. Registers and symbols are numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    Register(usize),
    /// The opposite of a predicate.
    Not(usize),
    Constant(i64),
    Symbol(usize),
    /// A special register, as `tid.x`.
    Special(String),
    /// `[base+offset]`
    Address(Box<Operand>, i64),
    /// The address of a tensor map, of `[map, {x, y}]`.
    Tensor(Box<Operand>),
    Vector(Vec<Operand>),
    /// `_`, or what is not read.
    Nothing,
}

/// An access of memory by an ordinary instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Touch {
    pub address: Operand,
    pub space: Option<ptx_isa::Space>,
    pub bytes: Option<u64>,
    pub reads: bool,
    pub writes: bool,
    /// The registers that are written to memory.
    pub data: Vec<usize>,
    /// Of a strong one.
    pub strong: Option<(Semantics, Scope)>,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub enum Action {
    /// It computes something of its sources.
    Compute(String, Vec<Operand>),
    /// It reads a parameter of the kernel: the symbol, where, and how many bytes each result has.
    Param(usize, i64, u64),
    Touch(Touch),
    Asynchronous(Box<Asynchronous>, Vec<(Role, Operand)>),
    Barrier {
        warp: bool,
        id: Operand,
        threads: Option<Operand>,
        arrives: bool,
        waits: bool,
    },
    Fence(Semantics, Scope),
    /// Labels.
    Jump(Vec<usize>),
    /// The kernel ends.
    Leave,
    /// It traps.
    Trap,
    Unknown(String),
    /// What concerns nothing here; its results are not known.
    Nothing,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Op {
    pub line: u32,
    /// A predicate register, and what it must be.
    pub guard: Option<(usize, bool)>,
    pub writes: Vec<Option<usize>>,
    pub action: Action,
}

/// The code of a kernel.
#[derive(Debug, Default)]
pub struct Code {
    pub ops: Vec<Op>,
    /// Where labels stand, as numbers of instructions.
    pub labels: Vec<usize>,
    /// The names of registers.
    pub registers: Vec<String>,
    /// How many bits they have; 0 if that is not known.
    pub widths: Vec<u32>,
    pub symbols: Vec<Symbol>,
    pub unread: Vec<(u32, String)>,
    /// The number of threads in each direction.
    pub threads: Option<[u32; 3]>,
    /// The most that there may be.
    pub most: Option<u32>,
}

/// What the functions of a module are, and its variables.
pub struct Library<'p> {
    functions: FxHashMap<&'p str, &'p Function>,
    symbols: Vec<Symbol>,
    by_name: FxHashMap<String, usize>,
    /// The number of all dynamic shared memory.
    dynamic: Option<usize>,
}

/// How dynamic shared memory is aligned, whatever a module says.
const DYNAMIC_ALIGN: u64 = 16;

impl<'p> Library<'p> {
    pub fn of(module: &'p Module) -> Self {
        let mut library =
            Self { functions: FxHashMap::default(), symbols: Vec::new(), by_name: FxHashMap::default(), dynamic: None };
        for item in &module.items {
            match item {
                Item::Function(function) => {
                    let known = library.functions.entry(&function.name).or_insert(function);
                    if known.body.is_none() {
                        *known = function;
                    }
                }
                Item::Directive(text) => library.declare(text),
            }
        }
        library
    }

    fn declare(&mut self, text: &str) {
        for (symbol, is_extern) in variables(text) {
            // All dynamic shared memory begins at the same place, which is aligned to 16 bytes at least.
            let is_dynamic = is_extern && symbol.place == Place::Shared;
            let least = if is_dynamic { DYNAMIC_ALIGN.max(symbol.align) } else { symbol.align };
            let index = self.dynamic.filter(|_| is_dynamic).unwrap_or(self.symbols.len());
            self.by_name.insert(symbol.name.clone(), index);
            match self.symbols.get_mut(index) {
                Some(known) => known.align = known.align.max(least),
                None => self.symbols.push(Symbol { align: least, ..symbol }),
            }
            if is_dynamic {
                self.dynamic = Some(index);
            }
        }
    }

    /// The functions that other functions call.
    pub fn called(&self) -> FxHashSet<&'p str> {
        let mut called = FxHashSet::default();
        for function in self.functions.values() {
            for line in function.body.iter().flatten() {
                if let LineCode::Other(other) = &line.code
                    && other.base() == "call"
                {
                    let names = other.reads.iter().filter_map(|name| self.functions.get_key_value(&*name.0));
                    called.extend(names.map(|(name, _)| *name));
                }
            }
        }
        called
    }
}

/// The variables that a directive declares, and whether they are external.
fn variables(text: &str) -> impl Iterator<Item = (Symbol, bool)> {
    Variable::read(text).into_iter().map(|Variable { name, space, align, is_extern, .. }| {
        let place = match space {
            None => Place::Param,
            Some(Space::Global) => Place::Global,
            Some(Space::Local) => Place::Local,
            Some(space) if space.is_shared_cta() => Place::Shared,
            Some(_) => Place::Other,
        };
        (Symbol { name, place, align }, is_extern)
    })
}

/// The code of a function with all that it calls.
pub fn code<'p>(library: &Library<'p>, function: &'p Function) -> Code {
    let head = Head::read(&function.head);
    let mut builder = Builder {
        library,
        code: Code {
            symbols: library.symbols.clone(),
            threads: head.required_threads,
            most: head.most_threads,
            ..Code::default()
        },
        stored: FxHashMap::default(),
        locals: FxHashMap::default(),
        inlined: 0,
        frames: 0,
        stack: Vec::new(),
    };
    let mut frame = Frame { is_root: true, ..Frame::new(0, function) };
    for Parameter { name, align, .. } in head.parameters {
        builder.code.symbols.push(Symbol { name: name.clone(), place: Place::Param, align });
        frame.symbols.insert(name, builder.code.symbols.len() - 1);
    }
    builder.body(function, &mut frame);
    // What leads nowhere leads to the end.
    builder.push(0, None, Vec::new(), Action::Leave);
    let end = builder.code.ops.len() - 1;
    builder.code.labels.iter_mut().for_each(|label| *label = (*label).min(end));
    builder.code
}

/// A function in place of its call.
struct Frame {
    number: usize,
    name: String,
    is_root: bool,
    registers: FxHashMap<String, usize>,
    /// How many bits registers have, by their names or by what these begin with.
    widths: FxHashMap<String, u32>,
    symbols: FxHashMap<String, usize>,
    labels: FxHashMap<String, usize>,
    /// Parameters, by what their callers call them.
    parameters: FxHashMap<String, (usize, String)>,
    /// Where a `ret` leads, if not out.
    end: Option<usize>,
}

impl Frame {
    fn new(number: usize, function: &Function) -> Self {
        Self {
            number,
            name: function.name.clone(),
            is_root: false,
            registers: FxHashMap::default(),
            widths: FxHashMap::default(),
            symbols: FxHashMap::default(),
            labels: FxHashMap::default(),
            parameters: FxHashMap::default(),
            end: None,
        }
    }
}

struct Builder<'l, 'p> {
    library: &'l Library<'p>,
    code: Code,
    /// Registers that stand for parameters of calls, by frame, name and offset.
    stored: FxHashMap<(usize, String, i64), usize>,
    /// Variables within functions, by their function and their name.
    locals: FxHashMap<(String, String), usize>,
    inlined: usize,
    /// How many there were.
    frames: usize,
    stack: Vec<String>,
}

impl<'p> Builder<'_, 'p> {
    fn body(&mut self, function: &'p Function, frame: &mut Frame) {
        self.stack.push(function.name.clone());
        for line in function.body.iter().flatten() {
            let text = match &line.code {
                LineCode::Label(name) => {
                    let label = self.label(frame, &name.0);
                    self.code.labels[label] = self.code.ops.len();
                    continue;
                }
                LineCode::Directive(text) => {
                    if let Ok(syntax::Statement::Directive(directive)) = syntax::statement(text)
                        && let Some((words, declared)) = directive.registers()
                    {
                        let width = words.iter().find_map(|word| word.text.parse::<Type>().ok()).map_or(0, Type::bits);
                        frame.widths.extend(declared.iter().map(|declared| (declared.name.text.to_owned(), width)));
                        continue;
                    }
                    for (symbol, _) in variables(text) {
                        self.local(frame, symbol);
                    }
                    continue;
                }
                LineCode::Open | LineCode::Close => continue,
                LineCode::Other(other) => std::borrow::Cow::Borrowed(&*other.text),
                LineCode::Instruction { guard, instruction } => std::borrow::Cow::Owned(with_guard(guard, instruction)),
            };
            let jump = match &line.code {
                LineCode::Other(other) => Some(&other.jump),
                _ => None,
            };
            if let Ok(syntax::Statement::Instruction(instruction)) = syntax::statement(&text) {
                self.instruction(frame, line.number, &instruction, jump);
            }
        }
        self.stack.pop();
    }

    /// Variables of parameter space in a body are those of calls, and have no address.
    fn local(&mut self, frame: &mut Frame, symbol: Symbol) {
        if symbol.place == Place::Param {
            return;
        }
        let key = (frame.name.clone(), symbol.name.clone());
        let index = *self.locals.entry(key).or_insert_with(|| {
            self.code.symbols.push(symbol.clone());
            self.code.symbols.len() - 1
        });
        frame.symbols.insert(symbol.name, index);
    }

    fn label(&mut self, frame: &mut Frame, name: &str) -> usize {
        if let Some(label) = frame.labels.get(name) {
            return *label;
        }
        // A label that does not stand anywhere is the end.
        self.code.labels.push(usize::MAX);
        frame.labels.insert(name.into(), self.code.labels.len() - 1);
        self.code.labels.len() - 1
    }

    fn register(&mut self, frame: &mut Frame, name: &str) -> usize {
        if let Some(register) = frame.registers.get(name) {
            return *register;
        }
        let register = self.fresh(name);
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let width = frame.widths.get(name).or_else(|| frame.widths.get(stem));
        self.code.widths[register] = width.copied().unwrap_or(0);
        frame.registers.insert(name.into(), register);
        register
    }

    fn fresh(&mut self, name: &str) -> usize {
        self.code.registers.push(name.into());
        self.code.widths.push(0);
        self.code.registers.len() - 1
    }

    fn stored(&mut self, frame: usize, name: &str, offset: i64) -> usize {
        let key = (frame, name.to_owned(), offset);
        if let Some(register) = self.stored.get(&key) {
            return *register;
        }
        let register = self.fresh(name);
        self.stored.insert(key, register);
        register
    }

    fn name(&mut self, frame: &mut Frame, name: &str, suffix: Option<&str>) -> Operand {
        if let Some(symbol) = frame.symbols.get(name).or_else(|| self.library.by_name.get(name)) {
            return Operand::Symbol(*symbol);
        }
        match suffix {
            Some(suffix) => Operand::Special(format!("{}.{suffix}", name.trim_start_matches('%'))),
            None if is_special(name) => Operand::Special(name.trim_start_matches('%').into()),
            None => Operand::Register(self.register(frame, name)),
        }
    }

    fn operand(&mut self, frame: &mut Frame, operand: &Syntax<'_>) -> Operand {
        match &operand.shape {
            Shape::Name { name, suffix } => self.name(frame, name.text, suffix.map(|suffix| suffix.text)),
            Shape::Number(Number::Integer(number)) => Operand::Constant(number.cast_signed()),
            Shape::Number(Number::Single(bits)) => Operand::Constant(i64::from(*bits)),
            Shape::Sum(address) => {
                let base = self.name(frame, address.base.text, None);
                Operand::Address(Box::new(base), address.offset)
            }
            Shape::Memory { parts, .. } => match &parts[..] {
                [Syntax { shape: Shape::Sum(_) | Shape::Name { .. } | Shape::Number(_), .. }] => {
                    match self.operand(frame, &parts[0]) {
                        address @ Operand::Address(..) => address,
                        base => Operand::Address(Box::new(base), 0),
                    }
                }
                [map, _] => Operand::Tensor(Box::new(self.operand(frame, map))),
                _ => Operand::Nothing,
            },
            Shape::Vector(elements) => {
                Operand::Vector(elements.iter().map(|element| self.operand(frame, element)).collect())
            }
            Shape::Not(name) => match self.name(frame, name.text, None) {
                Operand::Register(register) => Operand::Not(register),
                _ => Operand::Nothing,
            },
            _ => Operand::Nothing,
        }
    }

    /// The registers of operands that are written.
    fn written(&mut self, frame: &mut Frame, operand: &Syntax<'_>) -> Vec<Option<usize>> {
        if let Shape::Pair(pair) = &operand.shape {
            return pair.iter().flat_map(|one| self.written(frame, one)).collect();
        }
        match self.operand(frame, operand) {
            Operand::Register(register) => vec![Some(register)],
            Operand::Vector(elements) => {
                let register = |element: &Operand| match element {
                    Operand::Register(register) => Some(*register),
                    _ => None,
                };
                elements.iter().map(register).collect()
            }
            _ => vec![None],
        }
    }

    fn push(&mut self, line: u32, guard: Option<(usize, bool)>, writes: Vec<Option<usize>>, action: Action) {
        self.code.ops.push(Op { line, guard, writes, action });
    }

    fn instruction(
        &mut self,
        frame: &mut Frame,
        line: u32,
        instruction: &syntax::Instruction<'_>,
        jump: Option<&ptx_isa::Jump>,
    ) {
        let guard = instruction.guard.map(|guard| (self.register(frame, guard.predicate.text), !guard.negated));
        let words: Vec<&str> = std::iter::once(instruction.mnemonic.text)
            .chain(instruction.modifiers.iter().map(|word| word.text))
            .collect();
        let mnemonic = words.join(".");
        let Some(row) = Mnemonic::of(&mnemonic) else {
            let writes = jump.map_or(Vec::new(), |_| {
                instruction.operands.first().map_or(Vec::new(), |operand| self.written(frame, operand))
            });
            self.unknown(line, guard, writes, format!("the instruction `{mnemonic}`"));
            return;
        };
        match row.control {
            Control::Jump => {
                let targets: Vec<usize> = match jump {
                    Some(ptx_isa::Jump::To(labels)) => labels.iter().map(|label| self.label(frame, &label.0)).collect(),
                    _ => {
                        let name = instruction.operands.first().map_or("", |operand| operand.text.text);
                        vec![self.label(frame, name)]
                    }
                };
                self.push(line, guard, Vec::new(), Action::Jump(targets));
                return;
            }
            Control::Leave => {
                let action = match (words[0], frame.end) {
                    ("trap", _) => Action::Trap,
                    ("ret", Some(end)) => Action::Jump(vec![end]),
                    _ => Action::Leave,
                };
                self.push(line, guard, Vec::new(), action);
                return;
            }
            Control::Call => {
                self.call(frame, line, guard, instruction, jump == Some(&ptx_isa::Jump::Out));
                return;
            }
            _ => {}
        }
        let results = match instruction.operands.first().map(|operand| &operand.shape) {
            Some(Shape::Memory { .. }) => 0,
            _ => row.results.min(instruction.operands.len()),
        };
        let writes: Vec<_> =
            instruction.operands[..results].iter().flat_map(|operand| self.written(frame, operand)).collect();
        let action = self.action(frame, row, instruction, &words, mnemonic, results, &writes);
        match action {
            Action::Unknown(what) => self.unknown(line, guard, writes, what),
            Action::Compute(mnemonic, sources) if mnemonic == "param" => {
                // A parameter of a call is written: `sources` are the values, behind its registers.
                let half = sources.len() / 2;
                for (to, from) in sources[..half].iter().zip(&sources[half..]) {
                    if let Operand::Register(to) = to {
                        let action = Action::Compute("mov.b64".into(), vec![from.clone()]);
                        self.push(line, guard, vec![Some(*to)], action);
                    }
                }
            }
            action => self.push(line, guard, writes, action),
        }
    }

    fn unknown(&mut self, line: u32, guard: Option<(usize, bool)>, writes: Vec<Option<usize>>, what: String) {
        self.code.unread.push((line, what.clone()));
        self.push(line, guard, writes, Action::Unknown(what));
    }

    #[expect(clippy::too_many_arguments, reason = "an instruction, and what is known where it stands")]
    fn action(
        &mut self,
        frame: &mut Frame,
        row: &Mnemonic,
        instruction: &syntax::Instruction<'_>,
        words: &[&str],
        mnemonic: String,
        results: usize,
        writes: &[Option<usize>],
    ) -> Action {
        let operands = &instruction.operands;
        let first = words[0];
        if ptx_isa::Family::of(words).is_some() && !matches!(first, "fence" | "membar") || words.contains(&"proxy") {
            return match Asynchronous::read(instruction) {
                Ok(form) => {
                    let arguments = self.arguments(frame, &form);
                    Action::Asynchronous(Box::new(form), arguments)
                }
                Err(_) if first == "griddepcontrol" || words.contains(&"prefetch") => Action::Nothing,
                Err(_) => Action::Unknown(format!("the instruction `{mnemonic}`")),
            };
        }
        match first {
            "fence" if words.contains(&"mbarrier_init") => match Asynchronous::read(instruction) {
                Ok(form) => Action::Asynchronous(Box::new(form), Vec::new()),
                Err(_) => Action::Unknown(format!("the instruction `{mnemonic}`")),
            },
            "fence" | "membar" => fence(words),
            "bar" | "barrier" => self.barrier(frame, words, operands, results),
            "ld" | "ldu" | "st" | "atom" | "red" | "ldmatrix" | "stmatrix" => {
                self.touch(frame, row, instruction, words, writes)
            }
            "wmma" if row.accesses() => {
                let address = operands.iter().find(|operand| matches!(operand.shape, Shape::Memory { .. }));
                let address = address.map_or(Operand::Nothing, |operand| self.operand(frame, operand));
                let space = words.iter().find_map(|word| word.parse().ok());
                Action::Touch(Touch {
                    address,
                    space,
                    bytes: None,
                    reads: row.reads,
                    writes: row.writes,
                    data: Vec::new(),
                    strong: None,
                })
            }
            _ if row.memory.contains(&Memory::Texture)
                || matches!(first, "multimem" | "discard") && !row.is_asynchronous =>
            {
                Action::Nothing
            }
            _ if row.accesses() || row.order.is_some() && first != "griddepcontrol" => {
                Action::Unknown(format!("the instruction `{mnemonic}`"))
            }
            _ if row.memory.is_empty() => {
                let sources = operands[results..].iter().map(|operand| self.operand(frame, operand)).collect();
                Action::Compute(mnemonic, sources)
            }
            _ => Action::Nothing,
        }
    }

    fn arguments(&mut self, frame: &mut Frame, form: &Asynchronous) -> Vec<(Role, Operand)> {
        use ptx_isa::Argument;
        form.arguments()
            .iter()
            .map(|(role, argument)| {
                let operand = match argument {
                    Argument::Value(operand) => self.value(frame, operand),
                    Argument::Predicate { p, negated } => match self.name(frame, &p.0, None) {
                        Operand::Register(register) if *negated => Operand::Not(register),
                        other => other,
                    },
                    Argument::Address(address) => {
                        let base = match address.base.0.parse::<i64>() {
                            Ok(number) => Operand::Constant(number),
                            Err(_) => self.name(frame, &address.base.0, None),
                        };
                        Operand::Address(Box::new(base), address.offset)
                    }
                    Argument::Tensor { map, .. } => Operand::Tensor(Box::new(self.name(frame, &map.0, None))),
                };
                (*role, operand)
            })
            .collect()
    }

    fn value(&mut self, frame: &mut Frame, operand: &ptx_isa::Operand) -> Operand {
        match operand {
            ptx_isa::Operand::Register(name) => self.name(frame, &name.0, None),
            ptx_isa::Operand::Immediate(bits) => Operand::Constant(bits.cast_signed()),
            ptx_isa::Operand::Sink => Operand::Nothing,
            ptx_isa::Operand::Vector(elements) => {
                Operand::Vector(elements.iter().map(|element| self.value(frame, element)).collect())
            }
        }
    }

    fn barrier(&mut self, frame: &mut Frame, words: &[&str], operands: &[Syntax<'_>], results: usize) -> Action {
        let has = |word: &str| words.contains(&word);
        let mut sources = operands[results..].iter().map(|operand| self.operand(frame, operand)).collect::<Vec<_>>();
        if has("warp") {
            return Action::Barrier { warp: true, id: Operand::Nothing, threads: None, arrives: true, waits: true };
        }
        if has("red") {
            // The last operand is the predicate.
            sources.pop();
        }
        let mut sources = sources.into_iter();
        let id = sources.next().unwrap_or(Operand::Nothing);
        Action::Barrier { warp: false, id, threads: sources.next(), arrives: true, waits: !has("arrive") }
    }

    fn touch(
        &mut self,
        frame: &mut Frame,
        row: &Mnemonic,
        instruction: &syntax::Instruction<'_>,
        words: &[&str],
        writes: &[Option<usize>],
    ) -> Action {
        let operands = &instruction.operands;
        let address = operands.iter().find(|operand| matches!(operand.shape, Shape::Memory { .. }));
        let has = |word: &str| words.contains(&word);
        let elements = if has("v2") {
            2
        } else if has("v4") {
            4
        } else if has("v8") {
            8
        } else {
            1
        };
        let ty = words.iter().rev().find_map(|word| word.parse::<Type>().ok());
        let bytes = ty.map(|ty| u64::from(ty.bits()).div_ceil(8));
        if words.iter().any(|word| word.split("::").next() == Some("param")) {
            return self.param(frame, instruction, address, bytes.unwrap_or(4), writes);
        }
        if has("local") || words.iter().any(|word| word.starts_with("const")) {
            return Action::Nothing;
        }
        let address = address.map_or(Operand::Nothing, |operand| self.operand(frame, operand));
        let space = words.iter().find_map(|word| word.parse().ok());
        let is_update = matches!(words[0], "atom" | "red");
        let semantics =
            Semantics { acquires: has("acquire") || has("acq_rel"), releases: has("release") || has("acq_rel") };
        let scope = words.iter().find_map(|word| word.parse::<Scope>().ok());
        let is_strong = is_update || has("relaxed") || semantics.acquires || semantics.releases || has("volatile");
        let default = if has("volatile") || has("mmio") { Scope::Sys } else { Scope::Gpu };
        let strong = is_strong.then(|| (semantics, scope.unwrap_or(default)));
        let bytes = match words[0] {
            // Each thread gives the address of a row of 16 bytes.
            "ldmatrix" | "stmatrix" => Some(16),
            _ => bytes.map(|bytes| bytes * elements),
        };
        let is_data = |operand: &&Syntax<'_>| row.writes && !matches!(operand.shape, Shape::Memory { .. });
        let from = if matches!(operands.first().map(|first| &first.shape), Some(Shape::Memory { .. })) { 0 } else { 1 };
        let data: Vec<&Syntax<'_>> = operands.iter().skip(from).filter(is_data).collect();
        let data = data.into_iter().flat_map(|operand| self.written(frame, operand)).flatten().collect();
        Action::Touch(Touch { address, space, bytes, reads: row.reads, writes: row.writes, data, strong })
    }

    fn param(
        &mut self,
        frame: &mut Frame,
        instruction: &syntax::Instruction<'_>,
        address: Option<&Syntax<'_>>,
        bytes: u64,
        writes: &[Option<usize>],
    ) -> Action {
        let Some(address) = address.and_then(Syntax::address) else { return Action::Nothing };
        let name = address.base.text;
        let bytes = bytes.max(1);
        let is_load = instruction.mnemonic.text.starts_with("ld");
        if let Some(symbol) = frame.symbols.get(name).filter(|_| frame.is_root && is_load) {
            return Action::Param(*symbol, address.offset, bytes);
        }
        let (owner, name) = frame.parameters.get(name).cloned().unwrap_or((frame.number, name.into()));
        let at = |index: usize| address.offset.wrapping_add(index as i64 * bytes as i64);
        let values: Vec<Operand> = if is_load {
            let registers = (0..writes.len()).map(|index| Operand::Register(self.stored(owner, &name, at(index))));
            return match &registers.collect::<Vec<_>>()[..] {
                [one] => Action::Compute("mov.b64".into(), vec![one.clone()]),
                several => Action::Compute("unpacked".into(), several.to_vec()),
            };
        } else {
            match instruction.operands.get(1).map(|operand| self.operand(frame, operand)) {
                Some(Operand::Vector(elements)) => elements,
                Some(one) => vec![one],
                None => Vec::new(),
            }
        };
        let registers = (0..values.len()).map(|index| Operand::Register(self.stored(owner, &name, at(index))));
        let registers: Vec<_> = registers.collect();
        Action::Compute("param".into(), registers.into_iter().chain(values).collect())
    }

    fn call(
        &mut self,
        frame: &mut Frame,
        line: u32,
        guard: Option<(usize, bool)>,
        instruction: &syntax::Instruction<'_>,
        leaves: bool,
    ) {
        let mut operands = instruction.operands.iter().peekable();
        let results = operands.next_if(|operand| matches!(operand.shape, Shape::List(_)));
        let results = results.map(elements).unwrap_or_default();
        let callee = operands.next().map_or("", |operand| operand.text.text);
        let arguments = operands.next().map(elements).unwrap_or_default();
        let function = self.library.functions.get(callee).copied();
        let length = function.and_then(|function| function.body.as_ref()).map(Vec::len);
        let runtime = Runtime::of(callee);
        let reason = match length {
            None if leaves || runtime == Some(Runtime::Ends) => {
                self.push(line, guard, Vec::new(), Action::Trap);
                return;
            }
            None if runtime.is_some() => {
                self.push(line, guard, Vec::new(), Action::Nothing);
                return;
            }
            None if function.is_some() => Some(format!("the call to `{callee}`, whose code is not here")),
            None => Some("a call through a pointer".to_owned()),
            Some(_) if self.stack.iter().any(|name| name == callee) => {
                Some(format!("the call to `{callee}`, which calls itself"))
            }
            Some(length) if self.stack.len() >= DEPTH || self.inlined + length > INLINED => {
                Some(format!("the call to `{callee}`, which is too long"))
            }
            Some(_) => None,
        };
        let (Some(function), None) = (function, &reason) else {
            let writes = results.iter().flat_map(|result| self.written(frame, result)).collect();
            self.unknown(line, guard, writes, reason.unwrap_or_default());
            return;
        };
        self.inlined += length.unwrap_or(0);
        let end = self.code.labels.len();
        self.code.labels.push(usize::MAX);
        if let Some((register, holds)) = guard {
            self.push(line, Some((register, !holds)), Vec::new(), Action::Jump(vec![end]));
        }
        let head = Head::read(&function.head);
        self.frames += 1;
        let mut inner = Frame { end: Some(end), ..Frame::new(self.frames, function) };
        let mut back = Vec::new();
        let pairs = head.parameters.iter().zip(arguments).map(|pair| (pair, true));
        for ((Parameter { name: formal, .. }, actual), is_in) in
            pairs.chain(head.results.iter().zip(results).map(|pair| (pair, false)))
        {
            let named = match &actual.shape {
                Shape::Name { name, suffix: None } => Some(name.text),
                _ => None,
            };
            // Parameters have the same place in both functions; registers are copied.
            match named.filter(|name| !frame.registers.contains_key(*name)) {
                Some(name) => {
                    let place = frame.parameters.get(name).cloned().unwrap_or((frame.number, name.into()));
                    inner.parameters.insert(formal.clone(), place);
                }
                None => {
                    let register = self.register(&mut inner, formal);
                    let actual = self.operand(frame, actual);
                    if is_in {
                        self.push(line, None, vec![Some(register)], Action::Compute("mov.b64".into(), vec![actual]));
                    } else if let Operand::Register(actual) = actual {
                        back.push((actual, register));
                    }
                }
            }
        }
        self.body(function, &mut inner);
        self.code.labels[end] = self.code.ops.len();
        for (to, from) in back {
            self.push(line, None, vec![Some(to)], Action::Compute("mov.b64".into(), vec![Operand::Register(from)]));
        }
        // A label needs an instruction.
        self.push(line, None, Vec::new(), Action::Nothing);
    }
}

/// What stands in parentheses.
fn elements<'s, 't>(operand: &'s Syntax<'t>) -> &'s [Syntax<'t>] {
    match &operand.shape {
        Shape::List(elements) => elements,
        _ => &[],
    }
}

fn with_guard(guard: &Option<ptx_isa::Guard>, instruction: &Instruction) -> String {
    match guard {
        Some(guard) => format!("{guard} {instruction}"),
        None => instruction.to_string(),
    }
}

fn fence(words: &[&str]) -> Action {
    let has = |word: &str| words.contains(&word);
    let scope = match words.iter().find_map(|word| word.parse::<Scope>().ok()) {
        Some(scope) => scope,
        None if has("gl") => Scope::Gpu,
        None => Scope::Sys,
    };
    // `.acquire` and `.release` are one half.
    let semantics = Semantics { acquires: !has("release"), releases: !has("acquire") };
    Action::Fence(semantics, scope)
}

/// Registers that the manual defines (section 10).
fn is_special(name: &str) -> bool {
    let Some(name) = name.strip_prefix('%') else { return name == "WARP_SZ" };
    let words = [
        "laneid",
        "warpid",
        "nwarpid",
        "smid",
        "nsmid",
        "gridid",
        "clock",
        "clock_hi",
        "clock64",
        "globaltimer",
        "globaltimer_lo",
        "globaltimer_hi",
        "total_smem_size",
        "aggr_smem_size",
        "dynamic_smem_size",
        "cluster_ctarank",
        "cluster_nctarank",
        "is_explicit_cluster",
        "current_graph_exec",
        "reserved_smem_offset_begin",
        "reserved_smem_offset_end",
        "reserved_smem_offset_cap",
        "lanemask_eq",
        "lanemask_le",
        "lanemask_lt",
        "lanemask_ge",
        "lanemask_gt",
    ];
    words.contains(&name)
        || ["envreg", "pm", "reserved_smem_offset_"]
            .iter()
            .any(|begin| name.strip_prefix(begin).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())))
}
