//! The code of a thread: the function that it runs, with all calls inlined, in instructions of the model.

use ptx_isa::{
    AluOp, Asynchronous, Cmp, Fence as FenceOfPtx, Runtime, Space, Special, Type, arithmetic,
    flat::{self, AccessKind, Action, Flat, NotInlined, Step},
    operation::{Opaque, Operation},
    syntax::Text,
};

use super::{
    line::Line,
    names::source_name,
    objects::{Objects, REGION, region},
    origins::Origins,
};
use crate::{
    litmus::{
        Dialect, cell,
        compute::{packed, unpacked},
        names::{label, register, variable},
        operand::NONE,
        shorthand::END,
    },
    place::Place,
    program::{
        Address, Barrier, BarrierName, BarrierPart, Computation, Guard, Label, Operand, Register, RmwOp, Statement,
        Stop, Value, fits,
    },
    ptx::{Fence, Instruction, Program, Semantics},
    unfold::ARRAY,
};

/// The function that a thread runs, and its parameters.
pub(super) struct Run<'r> {
    pub thread: usize,
    pub place: Place,
    pub flat: &'r Flat,
    /// The values of the parameters, by index.
    pub arguments: Vec<Option<Value>>,
    /// The values of special registers.
    pub special: &'r dyn Fn(Special) -> Option<Value>,
}

/// The register that records whether a thread reached a `trap`.
pub(super) const TRAP: &str = "trap";
/// The register that holds the return value of a thread.
pub(super) const RETURN: &str = "return";
/// The maximum depth of nested calls, whichever functions are called.
const MAX_DEPTH: usize = 32;
/// The maximum number of instructions of a thread.
const MAX_STEPS: usize = 1 << 14;

/// The limits on inlining.
pub(super) const LIMITS: flat::Limits = flat::Limits { depth: MAX_DEPTH, recursion: MAX_DEPTH, lines: MAX_STEPS };

/// Litmus tests have matrices of one element, kernels do not.
const ASYNCHRONOUS: &str =
    "asynchronous operations are modelled in litmus tests, not in kernels: write their pattern as a litmus test";

type Instructions = Result<Vec<Instruction>, String>;

/// The object for each symbol that the thread's code names.
pub(super) fn named(
    flat: &Flat,
    thread: usize,
    place: Place,
    objects: &mut Objects<'_>,
) -> Vec<Option<Result<usize, String>>> {
    let mut named = vec![None; flat.symbols.len()];
    let mut name = |symbol: usize| {
        if named[symbol].is_none() {
            named[symbol] = objects.symbol(&flat.symbols[symbol], thread, place);
        }
    };
    let mut maps = false;
    for step in &flat.steps {
        for source in step.action.sources() {
            source.visit(&mut |operand| {
                if let flat::Operand::Symbol(symbol) = operand {
                    name(*symbol);
                }
            });
        }
        maps |= matches!(&step.action, Action::Compute(Operation::Mapa(_), _));
    }
    if maps {
        flat.symbols.iter().for_each(|symbol| objects.map(symbol, thread, place));
    }
    named
}

/// Adds the code to a thread of the program. Returns the source line of each statement.
pub(super) fn read(
    program: &mut Program,
    run: &Run<'_>,
    objects: &Objects<'_>,
    named: &[Option<Result<usize, String>>],
    origins: &Origins<'_>,
) -> Vec<Line> {
    let mut reader = Reader { program, run, objects, named, lines: Vec::new(), line: Line::default(), guard: None };
    reader.declare();
    let mut order: Vec<usize> = (0..run.flat.labels.len()).collect();
    order.sort_by_key(|label| run.flat.labels[*label].at);
    let mut labels = order.into_iter().peekable();
    let last = run.flat.steps.len() - 1;
    for (at, step) in run.flat.steps.iter().enumerate() {
        (reader.line, reader.guard) = (Line::default(), None);
        while let Some(label) = labels.next_if(|label| run.flat.labels[*label].at == at) {
            let label = reader.label(label);
            reader.push(Instruction::Label(label));
        }
        reader.line = origins.line(run.flat, step);
        reader.guard = step.guard.map(|(p, holds)| Guard { p: reader.register(p), negated: !holds });
        if at >= MAX_STEPS {
            reader.wrong("the thread has too many instructions".into());
            break;
        }
        // After the last instruction is the end.
        if at < last {
            reader.step(step);
        }
    }
    (reader.line, reader.guard) = (Line::default(), None);
    let end = label(reader.thread(), END);
    reader.push(Instruction::Label(end));
    reader.lines
}

struct Reader<'r, 'm> {
    program: &'r mut Program,
    run: &'r Run<'r>,
    objects: &'r Objects<'m>,
    named: &'r [Option<Result<usize, String>>],
    lines: Vec<Line>,
    /// The source line of the current instruction.
    line: Line,
    guard: Option<Guard>,
}

impl Reader<'_, '_> {
    fn thread(&mut self) -> &mut crate::ptx::Thread {
        &mut self.program.threads[self.run.thread]
    }

    fn push(&mut self, instruction: Instruction) {
        let statement = Statement { guard: self.guard, instruction };
        self.thread().code.push(statement);
        self.lines.push(self.line.clone());
    }

    /// Ends the path at an instruction that is not modelled.
    fn wrong(&mut self, why: String) {
        self.line.wrong = Some(why);
        self.push(Instruction::Stop(Stop::Unmodelled));
    }

    /// Declares registers in the order in which the code names them, because the code may read them before it writes
    /// them.
    fn declare(&mut self) {
        for step in &self.run.flat.steps {
            step.writes.iter().flatten().for_each(|register| {
                self.register(*register);
            });
            for operand in step.action.sources() {
                self.declare_all(operand);
            }
            if let Some((register, _)) = step.guard {
                self.register(register);
            }
        }
    }

    fn declare_all(&mut self, operand: &flat::Operand) {
        match operand {
            flat::Operand::Register(register) | flat::Operand::Not(register) => drop(self.register(*register)),
            flat::Operand::Address(base, _) => self.declare_all(base),
            flat::Operand::Vector(elements) => elements.iter().for_each(|element| self.declare_all(element)),
            _ => {}
        }
    }

    /// The register of a call: each call has its own registers, and none has the name of the end of the thread.
    fn register(&mut self, register_of: flat::Register) -> Register {
        let of = &self.run.flat.registers[register_of];
        let is_result = |name: &str| self.run.flat.head.results.iter().any(|result| result.name == name);
        let name = match of.offset {
            None => own_name(&of.name, of.call),
            Some(offset) => {
                let base = match of.call {
                    0 if is_result(&of.name) => RETURN.to_owned(),
                    call => own_name(&format!("%{}", of.name), call),
                };
                if offset == 0 { base } else { format!("{base}${offset}") }
            }
        };
        register(self.thread(), &name)
    }

    fn label(&mut self, of: flat::Label) -> Label {
        let of = &self.run.flat.labels[of];
        let name = match &of.name {
            Some(name) => own_name(name, of.call),
            None => format!("$returned$c{}", of.call),
        };
        label(self.thread(), &name)
    }

    fn scratch(&mut self, name: &str) -> Register {
        register(self.thread(), name)
    }

    fn step(&mut self, step: &Step) {
        let read = match &step.action {
            Action::Trap => {
                let d = self.scratch(TRAP);
                self.push(alu(Computation::MOV, Type::U64, d, [Operand::Immediate(1), NONE, NONE]));
                return self.push(Instruction::Stop(Stop::Trap));
            }
            Action::Jump(targets, Some(index)) => return self.indexed_jump(targets, index),
            Action::Compute(Operation::Mapa(_), sources) => {
                return self.mapped(step, sources).unwrap_or_else(|why| self.wrong(why));
            }
            Action::Jump(targets, None) => match targets[..] {
                [target] => Ok(vec![Instruction::Branch { when: None, target: self.label(target) }]),
                _ => Err("a branch to several labels".into()),
            },
            Action::Leave(_) => {
                let target = label(self.thread(), END);
                Ok(vec![Instruction::Branch { when: None, target }])
            }
            Action::Compute(operation, sources) => self.computed(operation, sources, step),
            Action::Pass { ty, from } => self.passed(*ty, from, &step.writes),
            Action::Parameter { symbol, offset, ty } => self.parameter(*symbol, *offset, *ty, &step.writes),
            Action::Access(access) => self.access(access, &step.writes),
            Action::Asynchronous(form, _) => self.asynchronous(form),
            Action::Barrier(barrier) => self.barrier(barrier, &step.writes),
            Action::Fence(FenceOfPtx { sem, scope }) => Ok(vec![Instruction::Fence(Fence::memory(*sem, *scope))]),
            Action::Call(_, NotInlined::Runtime(Runtime::Prints)) => {
                let results = step.writes.iter().flatten().map(|result| self.register(*result));
                Ok(results.map(|d| alu(Computation::MOV, Type::B64, d, [NONE; 3])).collect())
            }
            Action::Call(callee, why) => Err(match why {
                NotInlined::Recursive | NotInlined::TooLong => format!("nested calls of `{}`", source_name(callee)),
                NotInlined::NotNamed if callee.starts_with('%') => "a call through a pointer".into(),
                _ => format!("a call of `{}`, which the module does not define", source_name(callee)),
            }),
            Action::Unknown | Action::Elsewhere(..) => {
                Err(format!("`{}` is not an instruction of a litmus test", step.mnemonic))
            }
            Action::ParameterAt { .. } => Err("a parameter whose address is in a register".into()),
            Action::Invoke { .. } | Action::Argument { .. } => Err("a call that is not inlined".into()),
            Action::Nothing if step.writes.is_empty() => Ok(Vec::new()),
            Action::Nothing => Err("an instruction whose result is not known".into()),
        };
        match read {
            Ok(instructions) => instructions.into_iter().for_each(|instruction| self.push(instruction)),
            Err(why) => self.wrong(why),
        }
    }

    /// A register, a constant, or the address of an object.
    fn value(&mut self, operand: &flat::Operand) -> Result<Operand, String> {
        Ok(match operand {
            flat::Operand::Register(register) => Operand::Register(self.register(*register)),
            flat::Operand::Constant(bits) => Operand::Immediate(bits.cast_unsigned()),
            flat::Operand::Symbol(symbol) => Operand::Address(self.object(*symbol)?),
            flat::Operand::Special(special) => match (self.run.special)(*special) {
                Some(value) => Operand::Immediate(value),
                None => {
                    return Err(format!(
                        "`%{special}` has no value here: add `%{special} = 0` after the thread's place"
                    ));
                }
            },
            _ => return Err(format!("expected a register or a number, found {}", describe_operand(operand))),
        })
    }

    /// A value of a type. A constant must fit the type.
    fn fitting(&mut self, operand: &flat::Operand, ty: Type) -> Result<Operand, String> {
        match self.value(operand)? {
            Operand::Immediate(value) if !fits(ty, value) => {
                Err(format!("`{}` does not fit into {} bits", value.cast_signed(), ty.bits()))
            }
            value => Ok(value),
        }
    }

    fn object(&mut self, symbol: flat::Symbol) -> Result<crate::program::Location, String> {
        let name = &self.run.flat.symbols[symbol].variable.name;
        let object = match &self.named[symbol] {
            Some(Ok(object)) => *object,
            Some(Err(why)) => return Err(why.clone()),
            None => return Err(format!("`{name}` is in a state space that the model lacks")),
        };
        variable(self.program, &Objects::spelled(object)).ok_or_else(|| format!("`{name}` is not an object"))
    }

    fn address(&mut self, operand: &flat::Operand) -> Result<Address, String> {
        let flat::Operand::Address(base, offset) = operand else { return Err("an access without an address".into()) };
        match self.value(base)? {
            Operand::Immediate(_) => Err("an access at a constant address".into()),
            base => Ok(Address { base, offset: *offset }),
        }
    }

    /// The register of the only result. A discarded result gets a register of its own.
    fn result(&mut self, writes: &[Option<flat::Register>]) -> Result<Register, String> {
        match *writes {
            [Some(register)] => Ok(self.register(register)),
            [None] => Ok(self.scratch("%_")),
            _ => Err(format!("an instruction with {} results", writes.len())),
        }
    }

    fn computed(&mut self, operation: &Operation, sources: &[flat::Operand], step: &Step) -> Instructions {
        let writes = &step.writes[..];
        match (operation, sources) {
            (Operation::Opaque(Opaque::Sleep | Opaque::Control, _) | Operation::Setmaxnreg(_), _) => Ok(Vec::new()),
            (Operation::Cvta { .. }, [a, ..]) => {
                Ok(vec![alu(Computation::MOV, Type::U64, self.result(writes)?, [self.value(a)?, NONE, NONE])])
            }
            (Operation::Isspacep(space), [a]) => self.in_space(*space, a, writes),
            (Operation::Mov(ty), [flat::Operand::Vector(elements)]) => {
                let elements = elements.iter().map(|element| self.value(element)).collect::<Result<Vec<_>, _>>()?;
                let d = self.result(writes)?;
                packed(self.thread(), ty.bits(), d, &elements)
            }
            (Operation::Mov(ty), [whole]) if writes.len() > 1 => {
                let results: Vec<_> = writes.iter().map(|result| result.map(|result| self.register(result))).collect();
                let whole = self.value(whole)?;
                unpacked(self.thread(), ty.bits(), &results, whole)
            }
            (Operation::Mov(_), [flat::Operand::Address(base, offset)]) => {
                let by = Operand::Immediate(offset.cast_unsigned());
                let sources = [self.value(base)?, by, NONE];
                Ok(vec![alu(Computation::Alu(AluOp::Add), Type::U64, self.result(writes)?, sources)])
            }
            _ => {
                let unknown = || format!("the model does not compute `{}`: it has only integers", step.mnemonic);
                let (computation, ty) = computation(operation).ok_or_else(unknown)?;
                if !computation.is_known(ty) || sources.len() != computation.arity() {
                    return Err(unknown());
                }
                let mut values = [NONE; 3];
                for (value, source) in values.iter_mut().zip(sources) {
                    *value = self.value(source)?;
                }
                Ok(vec![alu(computation, ty, self.result(writes)?, values)])
            }
        }
    }

    /// `isspacep`: each state space has a part of the addresses.
    fn in_space(&mut self, space: Option<Space>, a: &flat::Operand, writes: &[Option<flat::Register>]) -> Instructions {
        let Some(region) = space.and_then(region) else { return Err("no state space of objects".into()) };
        let (d, a, of) = (self.result(writes)?, self.value(a)?, self.scratch("%space"));
        let by = Operand::Immediate((ARRAY * REGION).ilog2().into());
        Ok(vec![
            alu(Computation::Alu(AluOp::Shr), Type::U64, of, [a, by, NONE]),
            alu(Computation::Setp(Cmp::Eq), Type::U64, d, [Operand::Register(of), Operand::Immediate(region), NONE]),
        ])
    }

    /// The arguments or results of a call: a load of a signed type extends the sign.
    fn passed(&mut self, ty: Type, from: &[flat::Operand], writes: &[Option<flat::Register>]) -> Instructions {
        let mut instructions = Vec::new();
        for (to, from) in writes.iter().zip(from) {
            let Some(to) = *to else { continue };
            let is_parameter = self.run.flat.registers[to].offset.is_some();
            let (d, value) = (self.register(to), self.value(from)?);
            instructions.push(moved(d, value, ty, !is_parameter));
        }
        Ok(instructions)
    }

    /// A parameter of the function that the thread runs, which is a constant.
    fn parameter(
        &mut self,
        symbol: flat::Symbol,
        offset: i64,
        ty: Type,
        writes: &[Option<flat::Register>],
    ) -> Instructions {
        let name = &self.run.flat.symbols[symbol].variable.name;
        let index = self.run.flat.head.parameters.iter().position(|parameter| parameter.name == *name);
        let Some(Some(value)) = index.and_then(|index| self.run.arguments.get(index)).copied() else {
            return Err(format!(
                "the parameter `{name}` has no value: give it, as in `thread P0 = {}(data)`",
                source_name(&self.run.flat.calls[0].function)
            ));
        };
        if offset != 0 || writes.len() > 1 {
            return Err(format!("`{name}` has more than one value"));
        }
        let d = self.result(writes)?;
        Ok(vec![moved(d, Operand::Immediate(value), ty, true)])
    }

    fn access(&mut self, of: &flat::MemoryAccess, writes: &[Option<flat::Register>]) -> Instructions {
        let ty = of.ty.unwrap_or(Type::U64);
        if of.kind == AccessKind::Matrix || !(8..=64).contains(&ty.bits()) {
            return Err(format!("expected an access of 8 to 64 bits, found {}", ty.bits()));
        }
        let a = self.address(&of.address)?;
        let scope = of.strong().unwrap_or(ptx_isa::Scope::Sys);
        let access = Semantics { mmio: of.mmio, ..Semantics::new(of.sem, scope) };
        if let AccessKind::Atom | AccessKind::Red = of.kind {
            return self.atomic(of, a, ty, access, writes).map(|instruction| vec![instruction]);
        }
        let at = |index: usize| Address { offset: a.offset.wrapping_add(i64::from(ty.bits() / 8) * index as i64), ..a };
        let elements = match (of.kind, &of.data[..]) {
            (AccessKind::Ld, _) => {
                let load = |(index, d): (usize, &Option<_>)| {
                    let d = self.result(&[*d])?;
                    Ok(Instruction::Load { d, a: at(index), ty, access })
                };
                writes.iter().enumerate().map(load).collect::<Instructions>()?
            }
            (_, [data]) => {
                let data =
                    if let flat::Operand::Vector(elements) = data { elements } else { std::slice::from_ref(data) };
                let store = |(index, b): (usize, &_)| {
                    Ok(Instruction::Store { a: at(index), b: self.fitting(b, ty)?, ty, access })
                };
                data.iter().enumerate().map(store).collect::<Instructions>()?
            }
            _ => return Err("a store of several operands".into()),
        };
        if elements.len() != of.elements as usize {
            return Err(format!("expected {} elements in the access, found {}", of.elements, elements.len()));
        }
        Ok(if elements.len() > 1 { vec![Instruction::Vector(elements)] } else { elements })
    }

    fn atomic(
        &mut self,
        of: &flat::MemoryAccess,
        a: Address,
        ty: Type,
        access: Semantics,
        writes: &[Option<flat::Register>],
    ) -> Result<Instruction, String> {
        let op: RmwOp = of.op.ok_or("an atomic instruction without an operation")?.into();
        if of.elements > 1 || !op.is_known(ty) {
            return Err(format!("the model does not compute `.{op}.{ty}`: it has only integers"));
        }
        let d = writes.first().copied().flatten().map(|d| self.register(d));
        let mut value = |index: usize| of.data.get(index).map_or(Ok(NONE), |operand| self.fitting(operand, ty));
        Ok(Instruction::Rmw { op, d, a, b: value(0)?, c: value(1)?, ty, access })
    }

    /// Proxy fences, and barriers of a cluster.
    fn asynchronous(&mut self, form: &Asynchronous) -> Instructions {
        let thread = self.run.thread;
        let before = self.program.threads[thread].code.len();
        let reader = cell::Thread { program: self.program, column: thread, dialect: Dialect::Ptx };
        if !form.arguments().is_empty() || reader.read(Text::new(&form.to_string())).is_err() {
            self.thread().code.truncate(before);
            return Err(ASYNCHRONOUS.into());
        }
        let read: Vec<_> = self.thread().code.drain(before..).map(|statement| statement.instruction).collect();
        let is_asynchronous = read.iter().any(|of| matches!(of, Instruction::Asynchronous(_)));
        if is_asynchronous { Err(ASYNCHRONOUS.into()) } else { Ok(read) }
    }

    fn barrier(&mut self, of: &flat::Barrier, writes: &[Option<flat::Register>]) -> Instructions {
        if of.warp {
            return Err("`bar.warp.sync` is not an instruction of a litmus test".into());
        }
        let id = self.value(&of.id)?;
        let quorum = of.threads.as_ref().map(|threads| self.value(threads)).transpose()?;
        let part = match &of.reduces {
            Some((op, flat::Operand::Not(_))) => {
                return Err(format!("a barrier that reduces by `.{op}` a negated predicate"));
            }
            Some((op, p)) => BarrierPart::Red { op: *op, d: self.result(writes)?, p: self.value(p)? },
            None if of.waits => BarrierPart::Sync,
            None => BarrierPart::Arrive,
        };
        Ok(vec![Instruction::Barrier(Barrier { part, of: BarrierName::Cta { instance: 0, id, quorum } })])
    }

    /// `brx.idx`, which branches to the label at an index of a table: a comparison and a branch for each label. An
    /// index beyond the table is undefined.
    fn indexed_jump(&mut self, targets: &[flat::Label], index: &flat::Operand) {
        let index = match self.value(index) {
            Ok(index) => index,
            Err(why) => return self.wrong(why),
        };
        let not_taken = self.skip("brx");
        let is = self.scratch("%brx$is");
        for (number, target) in targets.iter().enumerate() {
            let number = Operand::Immediate(number as Value);
            self.push(alu(Computation::Setp(Cmp::Eq), Type::U32, is, [index, number, NONE]));
            let target = self.label(*target);
            self.guarded(is, Instruction::Branch { when: None, target });
        }
        self.wrong("an index beyond the table of the branch".into());
        self.land(not_taken);
    }

    /// Branches over the following statements if the guard does not hold. The following statements have no guard.
    fn skip(&mut self, name: &str) -> Option<Label> {
        let guard = self.guard.take()?;
        let target = self.new_label(name);
        self.guard = Some(Guard { negated: !guard.negated, ..guard });
        self.push(Instruction::Branch { when: None, target });
        self.guard = None;
        Some(target)
    }

    /// A label that the code does not have yet.
    fn new_label(&mut self, name: &str) -> Label {
        let name = format!("${name}${}", self.lines.len());
        label(self.thread(), &name)
    }

    /// The target of [`Self::skip`].
    fn land(&mut self, label: Option<Label>) {
        self.line.wrong = None;
        if let Some(label) = label {
            self.push(Instruction::Label(label));
        }
    }

    fn guarded(&mut self, p: Register, instruction: Instruction) {
        self.guard = Some(Guard { p, negated: false });
        self.push(instruction);
        self.guard = None;
    }

    /// `mapa`, which maps an address in the thread's own shared memory to the shared memory of another CTA of the
    /// cluster: a comparison and a sum for each variable and CTA. For any other address or CTA, the result is unknown.
    fn mapped(&mut self, step: &Step, sources: &[flat::Operand]) -> Result<(), String> {
        let [a, rank] = sources else { return Err("`mapa` takes three operands".into()) };
        let (d, a, rank) = (self.result(&step.writes)?, self.value(a)?, self.value(rank)?);
        let skipped = self.skip("mapa");
        let done = self.new_label("mapa$done");
        let [address, of, is] = ["%mapa$address", "%mapa$of", "%mapa$is"].map(|name| self.scratch(name));
        let number = Operand::Immediate;
        let op = Computation::Alu;
        let [from, key] = [address, of].map(Operand::Register);
        for (op, d, sources) in [
            (Computation::MOV, address, [a, NONE, NONE]),
            (op(AluOp::Shr), of, [from, number(ARRAY.ilog2().into()), NONE]),
            (op(AluOp::Shl), of, [key, number(32), NONE]),
            (op(AluOp::Add), of, [key, rank, NONE]),
        ] {
            self.push(alu(op, Type::U64, d, sources));
        }
        for (own, rank, peer) in self.objects.mapped(self.run.place) {
            let named = number(own >> ARRAY.ilog2() << 32 | Value::from(rank));
            self.push(alu(Computation::Setp(Cmp::Eq), Type::U64, is, [key, named, NONE]));
            let sum = [from, number(peer.wrapping_sub(own)), NONE];
            self.guarded(is, alu(op(AluOp::Add), Type::U64, d, sum));
            self.guarded(is, Instruction::Branch { when: None, target: done });
        }
        self.wrong("`mapa` of an address outside of shared variables, or of a CTA without threads".into());
        self.land(Some(done));
        self.land(skipped);
        Ok(())
    }
}

fn alu(computation: Computation, ty: Type, d: Register, sources: [Operand; 3]) -> Instruction {
    Instruction::Alu { computation, ty, d, sources }
}

/// A copy of all bits of the type; with sign extension if the type is signed and `extends` is set.
fn moved(d: Register, value: Operand, ty: Type, extends: bool) -> Instruction {
    let computation =
        if extends && ty.is_signed() && ty.bits() < 64 { Computation::Cvt(Type::S64) } else { Computation::MOV };
    alu(computation, ty, d, [value, NONE, NONE])
}

/// The computation in the model, and its type.
fn computation(operation: &Operation) -> Option<(Computation, Type)> {
    Some(match operation.computation()? {
        arithmetic::Computation::Alu(op, ty) => (Computation::Alu(op), ty),
        arithmetic::Computation::Setp(cmp, ty) => (Computation::Setp(cmp), ty),
        arithmetic::Computation::Cvt { to, from } => (Computation::Cvt(to), from),
        _ => return None,
    })
}

/// A name in a call: each call has its own registers and labels, and none has the name of the end of the thread.
fn own_name(name: &str, call: usize) -> String {
    if call == 0 && name != END { name.to_owned() } else { format!("{name}$c{call}") }
}

fn describe_operand(operand: &flat::Operand) -> &'static str {
    match operand {
        flat::Operand::Not(_) => "a negated predicate",
        flat::Operand::Vector(_) => "a vector",
        flat::Operand::Address(..) | flat::Operand::Tensor(..) => "an address",
        _ => "an unsupported operand",
    }
}
