//! The reader of a cell: PTX, and the shorthands of litmus tests.

use ptx_isa::{
    AluOp, AtomOp, CacheOperator, Cmp, MembarLevel, Space, Type, VectorSize,
    syntax::{self, Number, Operand as Written, Shape, Statement as Syntax, Text},
    takes,
};
use strum::IntoEnumIterator;

use super::{
    names::{declare, label, register, variable},
    print::number,
    shared::Mapped,
    shorthand::{BRANCHES, END, PROXIES},
    test::Dialect,
};
use crate::{
    place::Scope,
    program::{
        Address, Barrier, BarrierName, BarrierPart, Computation, Guard, Label, Location, Operand, Reduction, Register,
        RmwOp, Statement, Value, Variable, fits,
    },
    ptx::{Access, Fence, FenceSem, Instruction, Program, Proxy, ProxyFence, Sem},
};

/// What is wrong, and where in the file, in bytes.
type Wrong = (usize, String);

/// A thread whose cells are read.
pub(super) struct Thread<'p> {
    pub(super) program: &'p mut Program,
    /// The number of the thread.
    pub(super) column: usize,
    pub(super) dialect: Dialect,
}

/// What an instruction says beyond itself.
pub(super) struct Cell {
    /// Where its mnemonic is in the file, in bytes.
    pub(super) at: usize,
    /// Whether it names a state space, and that is shared memory.
    pub(super) is_shared: Option<bool>,
    /// The variables that it accesses.
    pub(super) uses: Vec<Location>,
    /// Those of them that were not declared.
    pub(super) undeclared: Vec<String>,
    pub(super) mapped: Option<Mapped>,
    /// Where it branches.
    pub(super) branch: Option<Label>,
}

/// Directives that say nothing of what a thread does.
const WITHOUT_EFFECT: [&str; 4] = ["reg", "loc", "file", "pragma"];

/// Instructions of PTX that have no place in a litmus test: a mnemonic or a modifier, and what to write.
const REFUSED: [(&str, &str); 5] = [
    (
        "param",
        "a thread has no parameters: leave the instruction out, and give its register the address of a variable at the \
         start, as in `{ x=0; P0:%rd1=x; }`",
    ),
    ("cvta", "an address is the same in every state space here: write `mov.u64` in place of `cvta`"),
    ("call", "a thread calls nothing: write the instructions of the function in place of the call"),
    ("nc", "`.nc` reads what no thread writes: leave it out"),
    ("local", "no thread sees the local memory of another: write a register in place of it"),
];

impl Thread<'_> {
    /// Adds what a cell has to the thread: an instruction, behind labels or alone.
    pub(super) fn read(self, text: Text<'_>) -> Result<Vec<Cell>, Wrong> {
        let Self { program, column, dialect } = self;
        // A label stands alone; everything else ends with a semicolon, which is that of the row.
        let end = if text.text.ends_with(':') { "" } else { ";" };
        let closed = text.text.to_owned() + end;
        let (statements, errors) = syntax::statements(&closed);
        if let Some(error) = errors.into_iter().next() {
            return Err((text.start + error.span.start, error.reason));
        }
        let mut cells = Vec::new();
        for statement in &statements {
            let at = text.start + statement.text().start;
            match statement {
                Syntax::Label(name) => {
                    let thread = &mut program.threads[column];
                    let instruction = Instruction::Label(label(thread, name.text));
                    if thread.code.iter().any(|statement| statement.instruction == instruction) {
                        return Err((at, format!("P{column} has the label `{}` twice", name.text)));
                    }
                    thread.code.push(instruction.into());
                }
                Syntax::Directive(directive) if WITHOUT_EFFECT.contains(&directive.keyword.text) => {}
                Syntax::Directive(directive) => {
                    let keyword = directive.keyword.text;
                    return Err((
                        at,
                        format!(
                            "`.{keyword}` has no place in a thread: leave it out, and declare variables at the start, as in `{{ x=0; }}`"
                        ),
                    ));
                }
                Syntax::Open(_) | Syntax::Close(_) => {
                    return Err((
                        at,
                        "a thread has no blocks: leave the brace out, and let each register have its own name".into(),
                    ));
                }
                Syntax::Instruction(of) => {
                    let at = text.start + of.mnemonic.start;
                    let cell = Cell {
                        at,
                        is_shared: None,
                        uses: Vec::new(),
                        undeclared: Vec::new(),
                        mapped: None,
                        branch: None,
                    };
                    let mut reader = Reader { program, column, dialect, start: text.start, of, cell };
                    let guard = of.guard.map(|guard| Guard {
                        p: register(reader.thread(), guard.predicate.text),
                        negated: guard.negated,
                    });
                    let instructions = reader.instructions()?;
                    let code = instructions.into_iter().map(|instruction| Statement { guard, instruction });
                    reader.thread().code.extend(code);
                    cells.push(reader.cell);
                }
            }
        }
        Ok(cells)
    }
}

/// One instruction, while its operands are resolved.
struct Reader<'r, 't> {
    program: &'r mut Program,
    column: usize,
    dialect: Dialect,
    /// Where the cell begins in the file, in bytes.
    start: usize,
    of: &'r syntax::Instruction<'t>,
    cell: Cell,
}

/// The modifiers of an instruction, each at most once.
#[derive(Clone, Copy, Default)]
struct Modifiers {
    sem: Option<Sem>,
    scope: Option<Scope>,
    mmio: bool,
    ty: Option<Type>,
    op: Option<RmwOp>,
    vec: Option<VectorSize>,
    cache: Option<CacheOperator>,
    /// Whether a state space is named, and is shared memory.
    is_shared: Option<bool>,
}

const MMIO: &str = "mmio";
const NONE: Operand = Operand::Immediate(0);

impl<'r, 't> Reader<'r, 't> {
    fn thread(&mut self) -> &mut crate::ptx::Thread {
        &mut self.program.threads[self.column]
    }

    fn mnemonic(&self) -> &'t str {
        self.of.mnemonic.text
    }

    /// An error of the instruction.
    fn wrong<T>(&self, message: impl Into<String>) -> Result<T, Wrong> {
        Err((self.cell.at, message.into()))
    }

    /// An error at a place in the cell.
    fn wrong_at<T>(&self, text: Text<'_>, message: impl Into<String>) -> Result<T, Wrong> {
        Err((self.start + text.start, message.into()))
    }

    fn instructions(&mut self) -> Result<Vec<Instruction>, Wrong> {
        let modifiers = &self.of.modifiers;
        let words: Vec<&str> = modifiers.iter().map(|word| word.text).collect();
        let mnemonic = self.mnemonic();
        if let Some((_, why)) = REFUSED.iter().find(|(word, _)| *word == mnemonic || words.contains(word)) {
            return self.wrong(*why);
        }
        if let ("mov", [_], Some(vector)) = (mnemonic, &words[..], self.of.operands.iter().position(is_vector)) {
            return self.moved(vector);
        }
        self.instruction(&words).map(|instruction| vec![instruction])
    }

    fn instruction(&mut self, words: &[&str]) -> Result<Instruction, Wrong> {
        let (of, mnemonic) = (self.of, self.mnemonic());
        if let Some((_, cmp)) = BRANCHES.iter().find(|(name, _)| *name == mnemonic) {
            if let Some(word) = of.modifiers.first() {
                return self.wrong_at(*word, format!("`{mnemonic}` takes no `.{}` here", word.text));
            }
            self.count(3)?;
            let (a, b) = (self.value(0, Type::U64)?, self.value(1, Type::U64)?);
            let target = self.label(2)?;
            return Ok(Instruction::Branch { when: Some((*cmp, a, b)), target });
        }
        match (mnemonic, words) {
            ("bra" | "goto", [] | ["uni"]) => {
                self.count(1)?;
                Ok(Instruction::Branch { when: None, target: self.label(0)? })
            }
            ("ret" | "exit", [] | ["uni"]) => {
                self.count(0)?;
                let target = label(self.thread(), END);
                Ok(Instruction::Branch { when: None, target })
            }
            ("setp", [cmp, ..]) => match cmp.parse::<Cmp>() {
                Ok(cmp) => self.compute(Computation::Setp(cmp), &of.modifiers[1..]),
                Err(_) => self.wrong_at(of.modifiers[0], format!("`{cmp}` is no comparison")),
            },
            ("cvt", [to, from]) => match (to.parse(), from.parse::<Type>()) {
                (Ok(to), Ok(_)) => self.compute(Computation::Cvt(to), &of.modifiers[1..]),
                _ => self.wrong("`cvt` takes the two types of the result and of the operand here"),
            },
            ("sext", _) => self.sext(),
            // Dat3M's word for `mov`.
            ("ld", []) if of.operands.len() == 2 && !self.is_address(1) => self.compute(MOV, &[]),
            ("fence", ["proxy", "alias"]) => self.fence(Fence::Proxy(ProxyFence::Alias)),
            ("fence", ["proxy", proxy]) => match proxy.parse::<Proxy>() {
                Ok(Proxy::Generic) | Err(_) => {
                    self.wrong_at(of.modifiers[1], format!("there is no `fence.proxy.{proxy}`"))
                }
                Ok(proxy) => self.fence(Fence::Proxy(ProxyFence::Of(proxy))),
            },
            ("fence", [sem, scope]) => match (sem.parse::<FenceSem>(), scope.parse::<Scope>()) {
                (Ok(sem), Ok(scope)) => self.fence(Fence::memory(Some(sem), scope)),
                _ => self.wrong(format!("there is no `fence.{sem}.{scope}`")),
            },
            ("fence", [scope]) => match scope.parse::<Scope>() {
                Ok(scope) => self.fence(Fence::memory(None, scope)),
                Err(_) => self.wrong(format!("there is no `fence.{scope}`")),
            },
            ("membar", [level]) => match level.parse::<MembarLevel>() {
                Ok(level) => self.fence(Fence::membar(level)),
                Err(_) => self.wrong(format!("there is no `membar.{level}`")),
            },
            ("bar", ["cta", "red", op]) => match op.parse::<Reduction>() {
                Ok(op) if of.operands.len() >= 3 => {
                    let (d, p) = (self.register(0)?, self.value(1, Type::U64)?);
                    self.instance(BarrierPart::Red { op, d, p }, 2)
                }
                _ => self.wrong("`bar.cta.red.{and,or,popc}` takes a register, a predicate and a barrier"),
            },
            ("bar", ["cta", "sync"]) => self.instance(BarrierPart::Sync, 0),
            ("bar", ["cta", "arrive"]) => self.instance(BarrierPart::Arrive, 0),
            ("barrier", ["cluster", words @ ..]) => self.cluster(words),
            ("bar" | "barrier", [_, ..]) => self.barrier(words),
            ("mapa", _) => self.mapa(),
            ("ld" | "st" | "atom" | "red", _) => self.access(Proxy::Generic, mnemonic == "ld"),
            _ => {
                if let Some((_, proxy, loads)) = PROXIES.iter().find(|(name, ..)| *name == mnemonic) {
                    return self.access(*proxy, *loads);
                }
                match arithmetic(mnemonic, &of.modifiers) {
                    Some((op, rest)) => self.compute(Computation::Alu(op), &rest),
                    None => self.wrong(format!("`{}` is no instruction of a litmus test", self.spelled())),
                }
            }
        }
    }

    /// The mnemonic with its modifiers.
    fn spelled(&self) -> String {
        let dots = self.of.modifiers.iter().map(|word| format!(".{}", word.text));
        self.mnemonic().to_owned() + &dots.collect::<String>()
    }

    fn count(&self, expected: usize) -> Result<(), Wrong> {
        let found = self.of.operands.len();
        if found == expected {
            return Ok(());
        }
        self.wrong(format!("`{}` takes {expected} operands here, not {found}", self.mnemonic()))
    }

    fn fence(&self, fence: Fence) -> Result<Instruction, Wrong> {
        self.count(0)?;
        Ok(Instruction::Fence(fence))
    }

    /// `bar.cta.sync instance[, id[, quorum]]`, from the operand `first` on.
    fn instance(&mut self, part: BarrierPart, first: usize) -> Result<Instruction, Wrong> {
        let operands = &self.of.operands[first..];
        let Some(Written { shape: Shape::Number(Number::Integer(instance)), .. }) = operands.first() else {
            return self.wrong("a barrier has the number of its instance as first operand");
        };
        let Ok(instance) = u32::try_from(*instance) else { return self.wrong("the barrier's instance is too large") };
        if operands.len() > 3 {
            return self.wrong("a barrier takes an instance, an id and a quorum");
        }
        let id = if operands.len() > 1 { self.value(first + 1, Type::U64)? } else { NONE };
        let quorum = if operands.len() > 2 { Some(self.value(first + 2, Type::U64)?) } else { None };
        Ok(Instruction::Barrier(Barrier { part, of: BarrierName::Cta { instance, id, quorum } }))
    }

    /// A barrier of the cluster (section 9.7.13, `barrier.cluster`).
    fn cluster(&self, words: &[&str]) -> Result<Instruction, Wrong> {
        let words: Vec<&str> = words.iter().copied().filter(|word| *word != "aligned").collect();
        let (part, relaxed) = match words[..] {
            ["arrive"] | ["arrive", "release"] => (BarrierPart::Arrive, false),
            ["arrive", "relaxed"] => (BarrierPart::Arrive, true),
            ["wait"] | ["wait", "acquire"] => (BarrierPart::Wait, false),
            _ => return self.wrong(format!("`{}` is no instruction of a litmus test", self.spelled())),
        };
        self.count(0)?;
        Ok(Instruction::Barrier(Barrier { part, of: BarrierName::Cluster { relaxed } }))
    }

    /// A barrier of the CTA as PTX has it: `bar.sync a[, threads]`.
    fn barrier(&mut self, words: &[&str]) -> Result<Instruction, Wrong> {
        let words: Vec<&str> = words.iter().copied().filter(|word| !matches!(*word, "cta" | "aligned")).collect();
        let operands = self.of.operands.len();
        let (part, id, quorum) = match words[..] {
            ["sync"] if matches!(operands, 1 | 2) => (BarrierPart::Sync, 0, operands == 2),
            ["arrive"] if operands == 2 => (BarrierPart::Arrive, 0, true),
            ["red", op, ..] if words.len() <= 3 && matches!(operands, 3 | 4) => match op.parse::<Reduction>() {
                Ok(op) => {
                    let (d, p) = (self.register(0)?, self.value(operands - 1, Type::U64)?);
                    (BarrierPart::Red { op, d, p }, 1, operands == 4)
                }
                Err(_) => return self.wrong(format!("there is no `{}.red.{op}`", self.mnemonic())),
            },
            ["sync" | "arrive" | "red", ..] => {
                return self.wrong(
                    "a barrier is `bar.sync a[, threads]`, `bar.arrive a, threads` or `bar.red.op d, a[, threads], p`",
                );
            }
            _ => return self.wrong(format!("`{}` is no instruction of a litmus test", self.spelled())),
        };
        let quorum = if quorum { Some(self.value(id + 1, Type::U64)?) } else { None };
        let id = self.value(id, Type::U64)?;
        Ok(Instruction::Barrier(Barrier { part, of: BarrierName::Cta { instance: 0, id, quorum } }))
    }

    /// `mapa d, x, cta`, the address of `x` in another CTA of the cluster.
    fn mapa(&mut self) -> Result<Instruction, Wrong> {
        let known =
            |word: &str| word.parse() == Ok(Space::SharedCluster) || matches!(word.parse(), Ok(Type::U32 | Type::U64));
        if let Some(word) = self.of.modifiers.iter().find(|word| !known(word.text)) {
            return self.wrong_at(*word, format!("`.{}` is no modifier of `mapa`", word.text));
        }
        self.count(3)?;
        let (d, a) = (self.register(0)?, self.address(1)?);
        let Address { base: Operand::Address(variable), offset: 0 } = a else {
            return self.wrong("`mapa` takes a register, a variable and the number of a CTA here");
        };
        let Shape::Number(Number::Integer(cta)) = self.of.operands[2].shape else {
            return self.wrong("`mapa` takes a register, a variable and the number of a CTA here");
        };
        let Ok(cta) = u32::try_from(cta) else { return self.wrong("the number of the CTA is too large") };
        self.cell.is_shared = Some(true);
        let (thread, at) = (self.column, self.cell.at);
        let statement = self.program.threads[thread].code.len();
        self.cell.mapped = Some(Mapped { variable, thread, statement, cta, at });
        Ok(Instruction::Alu { computation: MOV, ty: Type::U64, d, sources: [a.base, NONE, NONE] })
    }

    /// `sext.s8 d, a`: the sign of a type, extended to all bits of a register.
    fn sext(&mut self) -> Result<Instruction, Wrong> {
        let Modifiers { ty, .. } = self.modifiers(&self.of.modifiers, |found| found.ty.is_some())?;
        let width = ty.unwrap_or(Type::S64).bits();
        match Type::iter().find(|ty| ty.is_signed() && ty.bits() == width) {
            Some(signed) => self.compute_as(Computation::Cvt(Type::S64), signed),
            None => self.wrong(format!("there is no `sext` of {width} bits")),
        }
    }

    /// An instruction on registers with these modifiers.
    fn compute(&mut self, computation: Computation, modifiers: &[Text<'t>]) -> Result<Instruction, Wrong> {
        let Modifiers { ty, .. } = self.modifiers(modifiers, |found| found.ty.is_some())?;
        self.compute_as(computation, ty.unwrap_or(Type::U64))
    }

    fn compute_as(&mut self, computation: Computation, ty: Type) -> Result<Instruction, Wrong> {
        self.count(computation.arity() + 1)?;
        if !computation.is_known(ty) {
            return self.wrong(format!("`{}` is not what the model computes: it has integers alone", self.spelled()));
        }
        let mut sources = [NONE; 3];
        for (index, source) in sources.iter_mut().enumerate().take(computation.arity()) {
            *source = self.value(index + 1, ty)?;
        }
        Ok(Instruction::Alu { computation, ty, d: self.register(0)?, sources })
    }

    /// `mov` that packs a vector of registers into one, or unpacks one. The operand `vector` is in braces.
    fn moved(&mut self, vector: usize) -> Result<Vec<Instruction>, Wrong> {
        let Modifiers { ty, .. } = self.modifiers(&self.of.modifiers, |found| found.ty.is_some())?;
        self.count(2)?;
        let bits = ty.unwrap_or(Type::U64).bits();
        let Shape::Vector(elements) = &self.of.operands[vector].shape else { return self.wrong("no vector") };
        let width = bits.checked_div(elements.len() as u32).unwrap_or_default();
        let unsigned = |bits: u32| Type::iter().find(|ty| ty.bits() == bits && MOV.is_known(*ty));
        let (Some(part), true) =
            (unsigned(width), elements.len() >= 2 && width * elements.len() as u32 == bits && bits <= 64)
        else {
            return self.wrong(format!("`{}` does not take {} elements", self.spelled(), elements.len()));
        };
        let alu = |computation, ty, d, sources| Instruction::Alu { computation, ty, d, sources };
        let op = |op| Computation::Alu(op);
        // Scratch registers: an element may be the register that is packed, or unpacked.
        let whole = register(self.thread(), "%whole");
        let element = register(self.thread(), "%element");
        let mut code = vec![alu(MOV, Type::U64, whole, [NONE; 3])];
        if vector == 0 {
            code[0] = alu(MOV, Type::U64, whole, [self.value(1, Type::U64)?, NONE, NONE]);
            for written in elements {
                if written.shape != Shape::Sink {
                    let d = self.register_of(written, 1)?;
                    code.push(alu(Computation::Cvt(part), part, d, [Operand::Register(whole), NONE, NONE]));
                }
                let by = Operand::Immediate(width.into());
                code.push(alu(op(AluOp::Shr), Type::U64, whole, [Operand::Register(whole), by, NONE]));
            }
            return Ok(code);
        }
        // The first element is the lowest.
        for written in elements.iter().rev() {
            let value = self.value_of(written, 2, part)?;
            code.push(alu(Computation::Cvt(part), part, element, [value, NONE, NONE]));
            let sources = [Operand::Register(whole), Operand::Immediate(1 << width), Operand::Register(element)];
            code.push(alu(op(AluOp::MadLo), Type::U64, whole, sources));
        }
        code.push(alu(MOV, Type::U64, self.register(0)?, [Operand::Register(whole), NONE, NONE]));
        Ok(code)
    }

    /// Reads modifiers in any order; `allowed` says whether what was found just now may stand there.
    fn modifiers(&self, words: &[Text<'t>], allowed: fn(&Modifiers) -> bool) -> Result<Modifiers, Wrong> {
        let mut all = Modifiers::default();
        for &at in words {
            let (word, mut one) = (at.text, Modifiers::default());
            if let Ok(space @ (Space::Global | Space::Shared | Space::SharedCta | Space::SharedCluster)) = word.parse()
            {
                one.is_shared = Some(space != Space::Global);
            } else if word == MMIO {
                one.mmio = true;
            } else if let Ok(sem) = word.parse() {
                one.sem = Some(sem);
            } else if let Ok(scope) = word.parse() {
                one.scope = Some(scope);
            } else if let Ok(op) = word.parse() {
                one.op = Some(op);
            } else if let Ok(vec) = word.parse() {
                one.vec = Some(vec);
            } else if let Ok(ty) = word.parse() {
                one.ty = Some(ty);
            } else if let Ok(cache) = word.parse() {
                one.cache = Some(cache);
            } else {
                return self.wrong_at(at, format!("`.{word}` is no modifier of `{}`", self.mnemonic()));
            }
            let twice = one.sem.and(all.sem).is_some()
                || one.scope.and(all.scope).is_some()
                || one.op.and(all.op).is_some()
                || one.ty.and(all.ty).is_some()
                || one.vec.and(all.vec).is_some()
                || one.cache.and(all.cache).is_some()
                || one.is_shared.and(all.is_shared).is_some()
                || (one.mmio && all.mmio);
            if twice || !allowed(&one) {
                return self.wrong_at(at, format!("`{}` takes no `.{word}` here", self.mnemonic()));
            }
            all = Modifiers {
                sem: one.sem.or(all.sem),
                scope: one.scope.or(all.scope),
                mmio: one.mmio || all.mmio,
                ty: one.ty.or(all.ty),
                op: one.op.or(all.op),
                vec: one.vec.or(all.vec),
                cache: one.cache.or(all.cache),
                is_shared: one.is_shared.or(all.is_shared),
            };
        }
        Ok(all)
    }

    fn access(&mut self, proxy: Proxy, loads: bool) -> Result<Instruction, Wrong> {
        let mnemonic = self.mnemonic();
        let found = self.modifiers(&self.of.modifiers, |_| true)?;
        let is_atomic = matches!(mnemonic, "atom" | "red");
        let sem = found.sem.unwrap_or(if is_atomic { Sem::Relaxed } else { Sem::Weak });
        let is_generic = proxy == Proxy::Generic;
        let possible = match sem {
            Sem::Weak => !is_atomic,
            Sem::Volatile => !is_atomic && is_generic,
            Sem::Relaxed => is_generic,
            Sem::Acquire => is_generic && (loads || mnemonic == "atom"),
            Sem::Release => is_generic && !loads,
            Sem::AcqRel => mnemonic == "atom" || is_atomic && self.dialect == Dialect::Dat3m,
        };
        if !possible {
            return self.wrong(format!("there is no `{mnemonic}.{sem}`"));
        }
        let scope = match (sem, found.scope) {
            (Sem::Weak | Sem::Volatile, None) => Scope::Sys,
            (Sem::Weak | Sem::Volatile, Some(_)) => return self.wrong(format!("`.{sem}` takes no scope")),
            (_, Some(scope)) => scope,
            (_, None) if is_atomic => Scope::Gpu,
            (_, None) => return self.wrong(format!("`.{sem}` needs a scope")),
        };
        if found.mmio && (is_atomic || !is_generic || matches!(sem, Sem::Weak | Sem::Volatile)) {
            return self.wrong("`.mmio` is for strong `ld` and `st`");
        }
        if found.mmio && (scope != Scope::Sys || found.is_shared == Some(true)) {
            return self.wrong("`.mmio` needs `.sys`, and global memory");
        }
        self.cell.is_shared = found.is_shared;
        let access = Access { sem, scope, mmio: found.mmio, proxy };
        let ty = found.ty.unwrap_or(Type::U64);
        if !(8..=64).contains(&ty.bits()) {
            return self.wrong(format!("an access has 8 to 64 bits here, not {}", ty.bits()));
        }
        if is_atomic {
            return match found.op {
                Some(RmwOp::Sub) if self.dialect == Dialect::Ptx => {
                    self.wrong(format!("there is no `{mnemonic}.{}`: add a negative number", RmwOp::Sub))
                }
                Some(op) if found.vec.is_none() => {
                    self.check_type(op)?;
                    self.atomic(op, ty, access)
                }
                _ => self.wrong(format!("`{mnemonic}` needs an operation")),
            };
        }
        if found.op.is_some() {
            return self.wrong(format!("`{mnemonic}` takes no operation"));
        }
        self.count(2)?;
        let [first, second] = [&self.of.operands[0], &self.of.operands[1]];
        match found.vec {
            Some(vec) => self.vector(vec, loads, ty, access),
            None if loads => self.load(first, second, ty, access),
            None => self.store(first, second, ty, access),
        }
    }

    fn load(&mut self, d: &Written<'t>, a: &Written<'t>, ty: Type, access: Access) -> Result<Instruction, Wrong> {
        let a = self.address_of(a, 2)?;
        Ok(Instruction::Load { d: self.register_of(d, 1)?, a, ty, access })
    }

    fn store(&mut self, a: &Written<'t>, b: &Written<'t>, ty: Type, access: Access) -> Result<Instruction, Wrong> {
        let a = self.address_of(a, 1)?;
        Ok(Instruction::Store { a, b: self.fitting(b, 2, ty)?, ty, access })
    }

    /// The elements of a vector access stand at one address, or have one each.
    fn vector(&mut self, vec: VectorSize, loads: bool, ty: Type, access: Access) -> Result<Instruction, Wrong> {
        let elements = vec.elements();
        if elements == 8 && ty.bits() > 32 {
            return self.wrong(format!("there is no `.{vec}` of {} bits", ty.bits()));
        }
        let (values, addresses) = if loads { (0, 1) } else { (1, 0) };
        let [values, addresses] = [values, addresses].map(|index| &self.of.operands[index]);
        let Shape::Vector(values) = &values.shape else { return self.wrong("a vector access takes a list in braces") };
        let listed = match &addresses.shape {
            Shape::Vector(listed) => Some(listed),
            _ => None,
        };
        if values.len() != elements || listed.is_some_and(|listed| listed.len() != elements) {
            return self.wrong(format!("a `.{vec}` access takes lists of {elements} elements"));
        }
        let mut instructions = Vec::new();
        for (index, value) in values.iter().enumerate() {
            let a = match listed {
                Some(listed) => self.address_of(&listed[index], 1)?,
                None => {
                    let a = self.address_of(addresses, 1)?;
                    let by = i64::from(ty.bits() / 8) * index as i64;
                    Address { offset: a.offset.wrapping_add(by), ..a }
                }
            };
            instructions.push(match loads {
                true if value.shape == Shape::Sink => {
                    Instruction::Load { d: register(self.thread(), "%_"), a, ty, access }
                }
                true => Instruction::Load { d: self.register_of(value, 1)?, a, ty, access },
                false => Instruction::Store { a, b: self.fitting(value, 2, ty)?, ty, access },
            });
        }
        Ok(Instruction::Vector(instructions))
    }

    /// Each operation has its types.
    fn check_type(&self, op: RmwOp) -> Result<(), Wrong> {
        let typed = self.of.modifiers.iter().find_map(|word| Some((*word, word.text.parse::<Type>().ok()?)));
        let Some((word, ty)) = typed else { return Ok(()) };
        if !op.is_known(ty) {
            return self.wrong_at(word, format!("`.{op}.{ty}` is not what the model computes: it has integers alone"));
        }
        let taken = |ty: &Type| matches!(op, RmwOp::Atom(op) if takes(op, false, None, *ty).is_some());
        if self.dialect == Dialect::Dat3m || taken(&ty) {
            return Ok(());
        }
        let known = Type::iter().filter(|ty| taken(ty) && op.is_known(*ty) && ty.bits() <= 64);
        let known: Vec<String> = known.map(|ty| format!("`.{ty}`")).collect();
        self.wrong_at(word, format!("`.{op}` takes {}, not `.{ty}`", known.join(", ")))
    }

    fn atomic(&mut self, op: RmwOp, ty: Type, access: Access) -> Result<Instruction, Wrong> {
        let results = usize::from(self.mnemonic() == "atom");
        let sources = if op == AtomOp::Cas.into() { 2 } else { 1 };
        if results == 0 && matches!(op, RmwOp::Atom(AtomOp::Cas | AtomOp::Exch)) {
            return self.wrong(format!("there is no `red.{op}`"));
        }
        self.count(results + 1 + sources)?;
        let operands = &self.of.operands;
        let a = self.address(results)?;
        // An `atom` whose result is discarded may be a `red` (section 9.7.13, `atom`).
        let d = match operands[0].shape {
            _ if results == 0 => None,
            Shape::Sink => None,
            _ => Some(self.register(0)?),
        };
        let b = self.fitting(&operands[results + 1], results + 2, ty)?;
        let c = if sources == 2 { self.fitting(&operands[results + 2], results + 3, ty)? } else { NONE };
        Ok(Instruction::Rmw { op, d, a, b, c, ty, access })
    }

    /// Whether an operand is in brackets, or a variable.
    fn is_address(&self, index: usize) -> bool {
        match &self.of.operands[index].shape {
            Shape::Memory { .. } => true,
            Shape::Name { name, .. } => variable(self.program, name.text).is_some(),
            _ => false,
        }
    }

    /// An error of an operand, which is number `which` from 1.
    fn no_operand<T>(&self, which: usize, expected: &str) -> Result<T, Wrong> {
        self.wrong(format!("operand {which} of `{}` is {expected}", self.mnemonic()))
    }

    fn register(&mut self, index: usize) -> Result<Register, Wrong> {
        self.register_of(&self.of.operands[index], index + 1)
    }

    fn register_of(&mut self, written: &Written<'t>, which: usize) -> Result<Register, Wrong> {
        match written.shape {
            Shape::Name { name, suffix: None } if variable(self.program, name.text).is_none() => {
                Ok(register(self.thread(), name.text))
            }
            _ => self.no_operand(which, "a register"),
        }
    }

    fn label(&mut self, index: usize) -> Result<Label, Wrong> {
        match self.of.operands[index].shape {
            Shape::Name { name, suffix: None } => {
                let target = label(self.thread(), name.text);
                self.cell.branch = Some(target);
                Ok(target)
            }
            _ => self.no_operand(index + 1, "a label"),
        }
    }

    fn value(&mut self, index: usize, ty: Type) -> Result<Operand, Wrong> {
        self.value_of(&self.of.operands[index], index + 1, ty)
    }

    /// A register, a constant of a type, or a variable's address.
    fn value_of(&mut self, written: &Written<'t>, which: usize, ty: Type) -> Result<Operand, Wrong> {
        let text = written.text.text;
        match written.shape {
            Shape::Name { name, suffix: None } => Ok(self.name(name.text)),
            Shape::Name { .. } => self.wrong(format!("`{text}` has no value here: write a number in place of it")),
            Shape::Number(number) => match constant(number, text, ty) {
                Some(value) => Ok(Operand::Immediate(value)),
                None if ty.is_float() => self.wrong_at(written.text, format!("`{text}` is no number of type `.{ty}`")),
                None => self.wrong_at(written.text, format!("`{text}` is no number of 64 bits")),
            },
            Shape::Unknown if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                self.wrong_at(written.text, format!("`{text}` is no number of 64 bits"))
            }
            _ => self.no_operand(which, "a register or a number"),
        }
    }

    /// A value of a type, in which a constant must fit.
    fn fitting(&mut self, written: &Written<'t>, which: usize, ty: Type) -> Result<Operand, Wrong> {
        match self.value_of(written, which, ty)? {
            Operand::Immediate(value) if !fits(ty, value) => {
                self.wrong(format!("`{}` does not fit into {} bits", number(value), ty.bits()))
            }
            operand => Ok(operand),
        }
    }

    fn name(&mut self, name: &str) -> Operand {
        match variable(self.program, name) {
            Some(location) => Operand::Address(location),
            None => Operand::Register(register(self.thread(), name)),
        }
    }

    fn address(&mut self, index: usize) -> Result<Address, Wrong> {
        self.address_of(&self.of.operands[index], index + 1)
    }

    /// An address, with brackets or without. A variable may be new, if nothing speaks for a register.
    fn address_of(&mut self, written: &Written<'t>, which: usize) -> Result<Address, Wrong> {
        let Some(syntax::Address { base: Text { text: name, .. }, offset }) = written.address() else {
            return self.no_operand(which, "an address");
        };
        let known = &self.program.threads[self.column].registers;
        if variable(self.program, name).is_none() && !known.iter().any(|register| register.name == name) {
            let digits = name.strip_prefix('r').filter(|rest| rest.chars().all(|c| c.is_ascii_digit()));
            let new = Variable { name: name.into(), initial: 0, alias: None };
            let declared = !name.starts_with('%') && digits.is_none() && declare(self.program, new).is_some();
            if !declared {
                return self.wrong(format!("`{name}` is neither a variable nor a register that was set"));
            }
            self.cell.undeclared.push(name.into());
        }
        let base = self.name(name);
        if let Operand::Address(variable) = base {
            self.cell.uses.push(variable);
        }
        Ok(Address { base, offset })
    }
}

/// A copy of as many bits as the type has.
const MOV: Computation = Computation::Alu(AluOp::Mov);

fn is_vector(written: &Written<'_>) -> bool {
    matches!(written.shape, Shape::Vector(_))
}

/// The arithmetic that a mnemonic and its modifiers name, and the modifiers that are left. `mul` and `mad` alone give the low
/// bits.
fn arithmetic<'t>(mnemonic: &str, modifiers: &[Text<'t>]) -> Option<(AluOp, Vec<Text<'t>>)> {
    let with = |modifier: &str| format!("{mnemonic}.{modifier}").parse::<AluOp>().ok();
    let mut rest = modifiers.to_vec();
    if let Some((index, op)) = modifiers.iter().enumerate().find_map(|(index, word)| Some((index, with(word.text)?))) {
        rest.remove(index);
        return Some((op, rest));
    }
    mnemonic.parse().ok().or_else(|| with("lo")).map(|op| (op, rest))
}

/// The bits of a constant of a type; `None` of one that the type has not, and of a negative one of more than 64 bits.
fn constant(number: Number, text: &str, ty: Type) -> Option<Value> {
    match (number, ty) {
        (Number::Integer(value), _) if !ty.is_float() => {
            Some(value).filter(|_| !text.starts_with('-') || value as i64 <= 0)
        }
        (Number::Single(bits), Type::F32) => Some(bits.into()),
        (Number::Double(bits), Type::F64) => Some(bits),
        (Number::Decimal(value), Type::F32) => Some((value as f32).to_bits().into()),
        (Number::Decimal(value), Type::F64) => Some(value.to_bits()),
        _ => None,
    }
}
