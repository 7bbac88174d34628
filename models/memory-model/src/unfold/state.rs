//! The state of a path at a statement: the values of registers and private memory, and the reads that they depend on.

use super::{
    path::{Node, Path, PathEvent, Term},
    written::Sources,
};
use crate::{
    flow::Control,
    program::{AluOp, Cmp, Computation, Language, Location, Operand, Program, Register, Span, Type, Value, truncate},
    relation::{MAX_EVENTS, Set},
};

#[derive(Clone)]
pub(super) struct State<'p, L: Language> {
    pub(super) program: &'p Program<L>,
    pub(super) pc: usize,
    pub(super) path: Path<L>,
    /// The reads that each node depends on.
    pub(super) node_reads: Vec<Set>,
    /// The number of operations that each node takes, and the maximum of these numbers.
    pub(super) node_work: Vec<u64>,
    pub(super) most_work: u64,
    /// For each register, the reads that decided which of its values it has.
    pub(super) decided: Vec<Set>,
    /// The branches that decide whether control reaches this statement.
    pub(super) controls: Vec<Control>,
    /// The values of private variables that were written, each with the reads that decided it.
    pub(super) memory: Vec<(Location, Term, Set)>,
    /// Each arrival at the start of a loop.
    pub(super) visits: Vec<Visit>,
    /// The syntactic dependencies of a thread of the host.
    pub(super) sources: Sources,
    pub(super) vectors: u16,
    /// The number of asynchronous operations so far.
    pub(super) operations: u16,
    /// The number of statements executed so far.
    pub(super) steps: usize,
}

/// An arrival at the start of a loop.
#[derive(Clone)]
pub(super) struct Visit {
    pub(super) pc: usize,
    pub(super) registers: Vec<Term>,
    pub(super) memory: Vec<(Location, Term, Set)>,
    /// The number of events so far.
    pub(super) events: usize,
    /// The number of branches so far that depended on reads.
    pub(super) constraints: usize,
}

impl<L: Language> State<'_, L> {
    pub(super) fn register(&self, register: Register) -> Term {
        self.path.registers[usize::from(register.0)]
    }

    pub(super) fn set(&mut self, register: Register, value: Term, decided: Set) {
        self.path.registers[usize::from(register.0)] = value;
        self.decided[usize::from(register.0)] = decided;
    }

    /// The reads that decided which value an operand has.
    pub(super) fn decided(&self, operand: Operand) -> Set {
        match operand {
            Operand::Register(register) => self.decided[usize::from(register.0)],
            _ => Set(0),
        }
    }

    /// All reads on which an operand depends.
    pub(super) fn reads_of(&self, operand: Operand) -> Set {
        self.reads(self.operand(operand)) | self.decided(operand)
    }

    /// At their join, branches no longer decide about control, but they have decided the values of the registers that
    /// they write.
    pub(super) fn join(&mut self, pc: usize) {
        if self.controls.iter().all(|control| control.until != pc) {
            return;
        }
        for control in self.controls.extract_if(.., |control| control.until == pc) {
            for (register, decided) in self.decided.iter_mut().enumerate() {
                if control.written >> register & 1 != 0 {
                    *decided = *decided | control.reads;
                }
            }
        }
    }

    pub(super) fn operand(&self, operand: Operand) -> Term {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Immediate(value) => Term::Constant(value),
            Operand::Address(location) => Term::Constant(self.program.address_of(location)),
        }
    }

    /// Continues the path under the assumption that an event reads this value, and derives all consequences. Returns
    /// whether that is possible.
    pub(super) fn pin(&mut self, event: usize, value: Value) -> bool {
        let node = self.path.nodes.iter().position(|node| *node == Node::Event(event));
        let Some(node) = node.map(|node| Term::Node(node as u32)) else { return false };
        let sources = [node, Term::Constant(value), Term::Constant(0)];
        let equal = self.compute(Computation::Setp(Cmp::Eq), Type::U64, sources);
        match self.decide_condition(equal) {
            Some(false) => return false,
            Some(true) => {}
            None => self.path.constraints.push((equal, true)),
        }
        // The constraints of earlier branches on other terms must hold for this value as well; otherwise the path is
        // impossible.
        let read = |other: usize| (other == event).then_some(value);
        let holds =
            |&(term, wanted): &(Term, bool)| self.path.value(term, &read).is_none_or(|known| (known != 0) == wanted);
        if !self.path.constraints.iter().all(holds) {
            return false;
        }
        let known = |path: &Path<L>, term: Term| match term {
            Term::Constant(_) => None,
            term => path.value(term, &read),
        };
        for index in 0..self.path.registers.len() {
            let term = self.path.registers[index];
            if let Some(value) = known(&self.path, term) {
                self.decided[index] = self.decided[index] | self.reads(term);
                self.path.registers[index] = Term::Constant(value);
            }
        }
        for index in 0..self.memory.len() {
            let (variable, term, decided) = self.memory[index];
            if let Some(value) = known(&self.path, term) {
                self.memory[index] = (variable, Term::Constant(value), decided | self.reads(term));
            }
        }
        true
    }

    /// The value of private memory, with the reads that decided it.
    pub(super) fn held(&mut self, span: Span, initial: Value) -> (Term, Set) {
        let held = self.memory.iter().find(|(variable, ..)| *variable == span.variable);
        let (whole, decided) = held.map_or((Term::Constant(initial), Set(0)), |(_, term, decided)| (*term, *decided));
        (self.part(whole, span), decided)
    }

    /// The value of some bytes of a variable.
    pub(super) fn part(&mut self, whole: Term, span: Span) -> Term {
        let by = Term::Constant(u64::from(span.offset) * 8);
        let shifted = self.compute(Computation::Alu(AluOp::Shr), Type::U64, [whole, by, by]);
        let ones = Term::Constant(span.extract(Value::MAX));
        self.compute(Computation::Alu(AluOp::And), Type::U64, [shifted, ones, ones])
    }

    /// Writes private memory.
    pub(super) fn hold(&mut self, span: Span, initial: Value, value: Term, decided: Set) {
        let whole = Span::whole(span.variable);
        let index = self.memory.iter().position(|(variable, ..)| *variable == span.variable);
        let (old, before) =
            index.map_or((Term::Constant(initial), Set(0)), |index| (self.memory[index].1, self.memory[index].2));
        let controls = self.controls.iter().fold(decided, |all, control| all | control.reads);
        let (value, decided) = if span.bytes == whole.bytes {
            (value, controls)
        } else {
            let op = |op| Computation::Alu(op);
            let kept = Term::Constant(!span.within(span.extract(Value::MAX)));
            let kept = self.compute(op(AluOp::And), Type::U64, [old, kept, kept]);
            let by = Term::Constant(u64::from(span.offset) * 8);
            let shifted = self.compute(op(AluOp::Shl), Type::U64, [value, by, by]);
            (self.compute(op(AluOp::Or), Type::U64, [kept, shifted, shifted]), controls | before)
        };
        match index {
            Some(index) => self.memory[index] = (span.variable, value, decided),
            None => self.memory.push((span.variable, value, decided)),
        }
    }

    pub(super) fn reads(&self, term: Term) -> Set {
        match term {
            Term::Constant(_) => Set(0),
            Term::Node(node) => self.node_reads[node as usize],
        }
    }

    pub(super) fn node(&mut self, node: Node, reads: Set) -> Term {
        let work = |term: Term| match term {
            Term::Constant(_) => 0,
            Term::Node(node) => self.node_work[node as usize],
        };
        let all = match node {
            Node::Event(_) => 0,
            Node::Expected(_, term) => work(term),
            Node::Computed(_, _, terms) | Node::Rmw(_, _, terms) => {
                terms.into_iter().map(work).fold(0, u64::saturating_add)
            }
        };
        self.node_work.push(all.saturating_add(1));
        self.most_work = self.most_work.max(all.saturating_add(1));
        self.path.nodes.push(node);
        self.node_reads.push(reads);
        Term::Node(self.path.nodes.len() as u32 - 1)
    }

    /// The result of a function that the model has.
    pub(super) fn compute(&mut self, computation: Computation, ty: Type, mut sources: [Term; 3]) -> Term {
        sources[computation.arity()..].fill(Term::Constant(0));
        if let [Term::Constant(a), Term::Constant(b), Term::Constant(c)] = sources
            && let Some(value) = computation.apply(ty, [a, b, c])
        {
            return Term::Constant(value);
        }
        if let Some(same) = folded(computation, ty, sources, &|term| self.path.bits(term)) {
            return same;
        }
        // An extension followed by a truncation leaves the value unchanged.
        if computation == Computation::MOV
            && let Some(Node::Computed(Computation::Cvt(to), from, [value, ..])) = self.path.node(sources[0])
            && self.path.bits(value) <= ty.bits()
            && ty.bits() <= from.bits().min(to.bits())
        {
            return value;
        }
        let reads = sources.into_iter().fold(Set(0), |reads, source| reads | self.reads(source));
        self.node(Node::Computed(computation, ty, sources), reads)
    }

    /// The truth of a condition, if it does not depend on values that are not known.
    pub(super) fn decide_condition(&self, condition: Term) -> Option<bool> {
        if let Term::Constant(value) = condition {
            return Some(value != 0);
        }
        if let Some((_, holds)) = self.path.constraints.iter().find(|(term, _)| *term == condition) {
            return Some(*holds);
        }
        let comparison = |term| match self.path.node(term) {
            Some(Node::Computed(Computation::Setp(cmp), ty, [a, b, _])) => {
                Some((cmp, ty, self.expected(a), self.expected(b)))
            }
            _ => None,
        };
        let (cmp, ty, a, b) = comparison(condition)?;
        let holds = |a, b| Computation::Setp(cmp).apply(ty, [a, b, 0]).map(|holds| holds != 0);
        if let (Term::Constant(a), Term::Constant(b)) = (a, b) {
            return holds(a, b);
        }
        if a == b {
            return holds(0, 0);
        }
        // An earlier branch made the same comparison.
        let equal = self.path.constraints.iter().find_map(|&(term, wanted)| match comparison(term) {
            Some((cmp @ (Cmp::Eq | Cmp::Ne), of, c, d))
                if of.bits() == ty.bits() && ((a, b) == (c, d) || (a, b) == (d, c)) =>
            {
                Some((cmp == Cmp::Eq) == wanted)
            }
            _ => None,
        })?;
        match cmp {
            Cmp::Eq => Some(equal),
            Cmp::Ne => Some(!equal),
            _ => None,
        }
    }

    /// The expected value of a compare and exchange, instead of the value that it read.
    pub(super) fn expected(&self, term: Term) -> Term {
        match self.path.node(term) {
            Some(Node::Expected(_, expected)) => self.expected(expected),
            _ => term,
        }
    }

    pub(super) fn event(&mut self, mut event: PathEvent<L>) {
        event.depends = self.controls.iter().fold(event.depends, |all, control| all | control.reads);
        self.path.events.push(event);
    }

    /// Adds an event that gives a value.
    pub(super) fn read(&mut self, event: PathEvent<L>) -> Term {
        let index = self.path.events.len();
        self.event(event);
        self.node(Node::Event(index), event_set(index))
    }

    /// The value of a register after a load: only a signed type changes the value from memory.
    pub(super) fn loaded(&mut self, read: Term, ty: Type) -> Term {
        if ty.is_signed() && ty.bits() < 64 {
            self.compute(Computation::Cvt(Type::S64), ty, [read, Term::Constant(0), Term::Constant(0)])
        } else {
            read
        }
    }
}

/// The result of an integer function if it does not depend on the unknown values, or if it equals one of the sources.
pub(super) fn folded(
    computation: Computation,
    ty: Type,
    [a, b, c]: [Term; 3],
    bits: &dyn Fn(Term) -> u32,
) -> Option<Term> {
    use Term::Constant;
    let ones = truncate(ty, Value::MAX);
    let is = |term: Term, value: Value| matches!(term, Constant(constant) if truncate(ty, constant) == value);
    let either = |value: Value| is(a, value) || is(b, value);
    // A wider value has to be truncated.
    let copy = |term: Term| (bits(term) <= ty.bits()).then_some(term);
    let signed = ty.is_signed();
    let shifts_out = || matches!(b, Constant(b) if truncate(Type::U32, b) >= ty.bits().into());
    let zero = Some(Constant(0));
    // Whether a mask has all bits of a value.
    let keeps = |term: Term, mask: Term| match mask {
        Constant(mask) => truncate(ty, Value::MAX.checked_shr(64 - bits(term)).unwrap_or(0)) & !mask == 0,
        Term::Node(_) => false,
    };
    let op = match computation {
        Computation::Alu(op) => op,
        Computation::Setp(cmp) => {
            let holds = |a, b| computation.apply(ty, [a, b, 0]).map(Constant);
            return match cmp {
                _ if a == b => holds(0, 0),
                // No value is below 0, and 0 is above no value.
                Cmp::Lt | Cmp::Lo | Cmp::Ge | Cmp::Hs if !signed && is(b, 0) => holds(0, 0),
                Cmp::Gt | Cmp::Hi | Cmp::Le | Cmp::Ls if !signed && is(a, 0) => holds(0, 0),
                _ => None,
            };
        }
        Computation::Cvt(to) => return copy(a).filter(|_| !signed && to.bits() >= ty.bits()),
    };
    match op {
        AluOp::Mov => copy(a),
        AluOp::And | AluOp::MulLo | AluOp::MulWide if either(0) => zero,
        AluOp::MulWide if is(b, 1) && !signed => copy(a),
        AluOp::MulWide if is(a, 1) && !signed => copy(b),
        AluOp::MadWide if either(0) => Some(c).filter(|c| bits(*c) <= op.result_type(ty).bits()),
        AluOp::MulLo if is(b, 1) => copy(a),
        AluOp::MulLo if is(a, 1) => copy(b),
        AluOp::Or if either(ones) => Some(Constant(ones)),
        AluOp::Min if !signed && either(0) => zero,
        AluOp::Max if !signed && either(ones) => Some(Constant(ones)),
        AluOp::Sub | AluOp::Xor if a == b => zero,
        AluOp::And | AluOp::Or | AluOp::Min | AluOp::Max if a == b => copy(a),
        AluOp::And if keeps(a, b) => copy(a),
        AluOp::And if keeps(b, a) => copy(b),
        AluOp::Add | AluOp::Or | AluOp::Xor | AluOp::Sub if is(b, 0) => copy(a),
        AluOp::Shl | AluOp::Shr if matches!(b, Constant(b) if truncate(Type::U32, b) == 0) => copy(a),
        AluOp::Add | AluOp::Or | AluOp::Xor if is(a, 0) => copy(b),
        AluOp::Shl | AluOp::Shr if is(a, 0) => zero,
        AluOp::Shl if shifts_out() => zero,
        AluOp::Shr if !signed && shifts_out() => zero,
        AluOp::MadLo if either(0) => copy(c),
        AluOp::MadLo if is(c, 0) && is(b, 1) => copy(a),
        AluOp::MadLo if is(c, 0) && is(a, 1) => copy(b),
        AluOp::Selp if a == b => copy(a),
        AluOp::Selp => match c {
            Constant(c) => copy(if c != 0 { a } else { b }),
            Term::Node(_) => None,
        },
        _ => None,
    }
}

/// The set of one event. The set is empty if the index is currently too large for a set.
pub(super) fn event_set(event: usize) -> Set {
    if event < MAX_EVENTS { Set::singleton(event) } else { Set(0) }
}
