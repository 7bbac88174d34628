//! The reader of a cell: PTX, and the shorthands of litmus tests.

use ptx_isa::{
    Cmp, MembarLevel, Space, Type,
    syntax::{self, Number, Operand as Written, Shape, Statement as Syntax, Text},
};

use super::{
    asynchronous::is_of_async,
    compute::{arithmetic, is_vector},
    multimem,
    names::{label, register},
    operand::{Cell, NONE, Reader, Wrong},
    shared::Mapped,
    shorthand::{BRANCHES, Direction, END, PROXIES},
    test::Dialect,
};
use crate::{
    place::Scope,
    program::{Address, Barrier, BarrierName, BarrierPart, Computation, Guard, Operand, Reduction, Statement},
    ptx::{Fence, FenceSem, Instruction, Program, Proxy, ProxyFence},
};

/// A thread whose cells are read.
pub(crate) struct Thread<'p> {
    pub(crate) program: &'p mut Program,
    /// The number of the thread.
    pub(crate) column: usize,
    pub(crate) dialect: Dialect,
}

/// Directives without an effect on a thread.
const WITHOUT_EFFECT: [&str; 4] = ["reg", "loc", "file", "pragma"];

/// Instructions of PTX that litmus tests do not support: a mnemonic or a modifier, and the replacement.
const REFUSED: [(&str, &str); 20] = [
    (
        "param",
        "a thread has no parameters: leave the instruction out, and give its register the address of a variable at the \
         start, as in `{ x=0; P0:%rd1=x; }`",
    ),
    ("cvta", "an address is the same in every state space here: write `mov.u64` instead of `cvta`"),
    ("call", "a thread has no calls: write the instructions of the function instead of the call"),
    ("nc", "`.nc` reads memory that no thread writes: leave it out"),
    ("proxy::readonly", "the ordering of the read-only proxy is unknown: leave `.proxy::readonly` out"),
    ("fabric", "the model has no fabric: write the copy as a store or a load of the other thread"),
    (
        "sync_restrict::proxy::async",
        "the effect of the wait on the generic proxy is unknown: leave `.sync_restrict::proxy::async` out",
    ),
    ("check_layout", "the model has no layout of a barrier: leave `mbarrier.check_layout` out"),
    ("local", "no thread accesses the local memory of another thread: write a register instead"),
    (
        "griddepcontrol",
        "a test is one grid: leave `griddepcontrol` out, and write both grids as threads that a barrier orders",
    ),
    ("multicast::cluster", "write one instruction for each CTA instead of `.multicast::cluster`"),
    ("multicast::cluster::16b", "write one instruction for each CTA instead of `.multicast::cluster::16b`"),
    ("multicast::cluster::32b", "write one instruction for each CTA instead of `.multicast::cluster::32b`"),
    ("multicast::cluster::all", "write one instruction for each CTA instead of `.multicast::cluster::all`"),
    ("override::global_address", "a tensor is a variable here: name it instead of `.override::global_address`"),
    ("prefetch", "a prefetch orders nothing: leave it out"),
    ("noComplete", "leave `.noComplete` out: an arrival that must not complete its phase is an ordinary arrival here"),
    ("pending_count", "a state has no number of arrivals here: leave `mbarrier.pending_count` out"),
    ("cp_fenceproxy", "write a store to the descriptor and `fence.proxy.tensormap::generic.release` instead"),
    ("replace", "write a store to the descriptor, `st.weak`, instead of `tensormap.replace`"),
];

impl Thread<'_> {
    /// Adds the content of a cell to the thread: an instruction, after labels or alone.
    pub(crate) fn read(self, text: Text<'_>) -> Result<Vec<Cell>, Wrong> {
        let Self { program, column, dialect } = self;
        // A label ends without a semicolon; every other statement ends with the semicolon of the row.
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
                            "a thread has no `.{keyword}`: leave it out, and declare variables at the start, as in `{{ x=0; }}`"
                        ),
                    ));
                }
                Syntax::Open(_) | Syntax::Close(_) => {
                    return Err((
                        at,
                        "a thread has no blocks: leave the brace out, and give each register its own name".into(),
                    ));
                }
                Syntax::Instruction(of) => {
                    let at = text.start + of.mnemonic.start;
                    let cell = Cell::at(at);
                    let default = default_type(program);
                    let mut reader = Reader { program, column, dialect, default, start: text.start, of, cell };
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

/// The default type of an access. In tests with threads of the host, it is the type of `W0` and `EAX`, like herd7's
/// `int`.
pub(super) fn default_type(program: &Program) -> Type {
    let has_host = program.threads.iter().any(|thread| !thread.place.processor.is_gpu());
    if has_host { Type::U32 } else { Type::U64 }
}

impl Reader<'_, '_> {
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
                Err(_) => self.wrong_at(of.modifiers[0], format!("`{cmp}` is not a comparison")),
            },
            ("cvt", [to, from]) => match (to.parse(), from.parse::<Type>()) {
                (Ok(to), Ok(_)) => self.compute(Computation::Cvt(to), &of.modifiers[1..]),
                _ => self.wrong("`cvt` takes the two types of the result and of the operand here"),
            },
            ("sext", _) => self.sext(),
            // The mnemonic of `mov` in Dat3M.
            ("ld", []) if of.operands.len() == 2 && !self.is_address(1) => self.compute(Computation::MOV, &[]),
            ("tcgen05" | "wgmma" | "mbarrier" | "cp" | "clusterlaunchcontrol", _) | ("st" | "red", ["async", ..]) => {
                self.asynchronous()
            }
            ("fence", ["proxy", proxy, rest @ ..]) if is_of_async(proxy, rest) => self.asynchronous(),
            ("fence", ["mbarrier_init", ..]) => self.asynchronous(),
            ("fence", ["proxy", "alias"]) => self.fence(Fence::Proxy(ProxyFence::Alias)),
            ("fence", ["proxy", proxy]) => match proxy.parse::<Proxy>() {
                Ok(Proxy::Generic | Proxy::Tensor | Proxy::Tensormap) | Err(_) => {
                    self.wrong_at(of.modifiers[1], format!("PTX has no `fence.proxy.{proxy}`"))
                }
                Ok(proxy) => self.fence(Fence::Proxy(ProxyFence::Of(proxy))),
            },
            ("fence", [_, _, _]) => self.asynchronous(),
            ("fence", [sem, scope]) => match (sem.parse::<FenceSem>(), scope.parse::<Scope>()) {
                (Ok(sem), Ok(scope)) => self.fence(Fence::memory(Some(sem), scope)),
                _ => self.wrong(format!("PTX has no `fence.{sem}.{scope}`")),
            },
            ("fence", [scope]) => match scope.parse::<Scope>() {
                Ok(scope) => self.fence(Fence::memory(None, scope)),
                Err(_) => self.wrong(format!("PTX has no `fence.{scope}`")),
            },
            ("membar", [level]) => match level.parse::<MembarLevel>() {
                Ok(level) => self.fence(Fence::membar(level)),
                Err(_) => self.wrong(format!("PTX has no `membar.{level}`")),
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
            (multimem::MNEMONIC, _) => self.multimem(),
            ("ld", _) => self.access(Proxy::Generic, Direction::Load),
            ("st" | "atom" | "red", _) => self.access(Proxy::Generic, Direction::Store),
            _ => {
                if let Some((_, proxy, direction)) = PROXIES.iter().find(|(name, ..)| *name == mnemonic) {
                    return self.access(*proxy, *direction);
                }
                match arithmetic(mnemonic, &of.modifiers) {
                    Some((op, rest)) => self.compute(Computation::Alu(op), &rest),
                    None => self.wrong(format!("`{}` is not an instruction of a litmus test", self.spelled())),
                }
            }
        }
    }

    pub(super) fn fence(&self, fence: Fence) -> Result<Instruction, Wrong> {
        self.count(0)?;
        Ok(Instruction::Fence(fence))
    }

    /// `bar.cta.sync instance[, id[, quorum]]`, from the operand `first` on.
    fn instance(&mut self, part: BarrierPart, first: usize) -> Result<Instruction, Wrong> {
        let operands = &self.of.operands[first..];
        let Some(Written { shape: Shape::Number(Number::Integer(instance)), .. }) = operands.first() else {
            return self.wrong("expected the number of the barrier's instance as first operand");
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
            _ => return self.wrong(format!("`{}` is not an instruction of a litmus test", self.spelled())),
        };
        self.count(0)?;
        Ok(Instruction::Barrier(Barrier { part, of: BarrierName::Cluster { relaxed } }))
    }

    /// A barrier of the CTA in the syntax of PTX: `bar.sync a[, threads]`.
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
                Err(_) => return self.wrong(format!("PTX has no `{}.red.{op}`", self.mnemonic())),
            },
            ["sync" | "arrive" | "red", ..] => {
                return self.wrong(
                    "expected `bar.sync a[, threads]`, `bar.arrive a, threads` or `bar.red.op d, a[, threads], p`",
                );
            }
            _ => return self.wrong(format!("`{}` is not an instruction of a litmus test", self.spelled())),
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
            return self.wrong_at(*word, format!("`.{}` is not a modifier of `mapa`", word.text));
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
        Ok(Instruction::Alu { computation: Computation::MOV, ty: Type::U64, d, sources: [a.base, NONE, NONE] })
    }
}
