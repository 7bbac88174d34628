//! Threads as paths: what a thread may do, for every way that its branches may take, over values still to be read.

use crate::program::{
    Address, AluOp, Barrier, BarrierName, BarrierPart, Cmp, Instruction, Label, Language, Location, Operand, Program,
    Reduction, Register, RmwOp, SPACING, Thread, Type, Value,
};
use crate::relation::{MAX_EVENTS, Set};

/// A value that a path computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    Constant(Value),
    /// An index into [`Path::nodes`].
    Node(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// What an event of the path reads, or what the wait of a `bar.red` gives.
    Event(usize),
    Alu(AluOp, Type, [Term; 3]),
    Rmw(RmwOp, Type, [Term; 3]),
    /// What the read of a compare and exchange that succeeds returns: what was expected.
    Expected(usize, Term),
}

/// What happens at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<L: Language> {
    /// The write W0 (section 8.2.6).
    Init,
    Read(L::Access),
    Write(L::Access),
    Fence(L::Fence),
    Arrive,
    Wait,
    /// All that comes behind the bound of a loop.
    Beyond,
}

#[derive(Clone, Copy, Debug)]
pub struct PathEvent<L: Language> {
    pub kind: Kind<L>,
    pub location: Location,
    /// What is written, or brought to a barrier.
    pub value: Term,
    /// The reads of the path on which this event depends, through values or branches.
    pub depends: Set,
    /// The write of a read-modify-write, whose read is the event before.
    pub rmw: bool,
    /// Part of a read-modify-write without a destination.
    pub reduction: bool,
    /// Events of one vector instruction have the same number.
    pub vector: Option<u16>,
    pub barrier: Option<PathBarrier>,
    /// The index into the thread's code.
    pub statement: usize,
}

/// The barrier of an arrival or a wait.
#[derive(Clone, Copy, Debug)]
pub struct PathBarrier {
    pub name: BarrierName,
    pub id: Term,
    pub quorum: Option<Term>,
    pub reduction: Option<Reduction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Returned,
    /// The last event arrived at a barrier, whose other threads never come.
    Blocked,
    /// A loop ran more often than the bound.
    Cut,
}

#[derive(Clone, Debug)]
pub struct Path<L: Language> {
    pub events: Vec<PathEvent<L>>,
    pub nodes: Vec<Node>,
    /// What decides the branches: each term is to be zero or not.
    pub constraints: Vec<(Term, bool)>,
    /// The last values of the registers.
    pub registers: Vec<Term>,
    pub ending: Ending,
}

/// Why an answer is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Limit {
    #[error("a loop may run more often than the bound")]
    Unroll,
    #[error("an execution has more than {MAX_EVENTS} events")]
    Events,
    #[error("a thread has more than {MAX_REGISTERS} registers")]
    Registers,
    #[error("an address is not that of a variable, or depends on what is read")]
    Address,
    #[error("more choices than the limit")]
    Choices,
    #[error("the time limit is over")]
    Time,
    #[error("more paths than the limit")]
    Paths,
    #[error("a path computes more than {MAX_NODES} values")]
    Values,
    #[error("the source model has no barriers")]
    Barrier,
    #[error("more uses of barriers with a quorum than the limit")]
    Quorum,
    #[error("a branch leads to a label that is not there")]
    Label,
}

pub const MAX_REGISTERS: usize = 128;
const MAX_PATHS: usize = 4096;
/// Of branches that depend on what is read, along one path.
const MAX_CONSTRAINTS: usize = 256;
pub const MAX_NODES: usize = 1024;

/// How threads are unfolded.
#[derive(Clone, Copy, Debug)]
pub struct Unfolding {
    /// How often a loop is entered, counted at its first label.
    pub rounds: usize,
    /// Whether a compare and exchange that fails writes the old value back.
    pub failed_cas_writes: bool,
}

/// Every path of a thread.
///
/// A round of a loop that changes no register that is still needed, and writes nothing, is left out: whoever leaves out
/// its reads and fences from an execution gets an execution with the same outcome, because no axiom forbids an execution
/// with fewer events.
///
/// # Errors
/// If the thread is outside of what paths can say.
pub fn unfold<L: Language>(
    program: &Program<L>,
    thread: &Thread<L>,
    unfolding: Unfolding,
) -> Result<Vec<Path<L>>, Limit> {
    if thread.registers.len() > MAX_REGISTERS {
        return Err(Limit::Registers);
    }
    let mut unfold = Unfold { program, thread, unfolding, live: live(thread)?, paths: Vec::new() };
    unfold.run(State {
        pc: 0,
        path: Path {
            events: Vec::with_capacity(8),
            nodes: Vec::with_capacity(8),
            constraints: Vec::new(),
            registers: thread.registers.iter().map(|register| Term::Constant(register.initial)).collect(),
            ending: Ending::Returned,
        },
        node_reads: Vec::new(),
        control: Set(0),
        visits: Vec::new(),
        vectors: 0,
    })?;
    Ok(unfold.paths)
}

struct Unfold<'p, L: Language> {
    program: &'p Program<L>,
    thread: &'p Thread<L>,
    unfolding: Unfolding,
    /// For each statement, the registers whose values are still read; empty in a thread without loops.
    live: Vec<u128>,
    paths: Vec<Path<L>>,
}

#[derive(Clone)]
struct State<L: Language> {
    pc: usize,
    path: Path<L>,
    /// On which reads each node depends.
    node_reads: Vec<Set>,
    /// The reads that decided a branch.
    control: Set,
    /// Each arrival at the start of a loop: where, the registers, and how many events had happened.
    visits: Vec<(usize, Vec<Term>, usize)>,
    vectors: u16,
}

impl<L: Language> Unfold<'_, L> {
    fn run(&mut self, mut state: State<L>) -> Result<(), Limit> {
        loop {
            if self.paths.len() >= MAX_PATHS || state.path.constraints.len() >= MAX_CONSTRAINTS {
                return Err(Limit::Paths);
            }
            if state.path.nodes.len() > MAX_NODES {
                return Err(Limit::Values);
            }
            if state.path.events.len() > MAX_EVENTS {
                return Err(Limit::Events);
            }
            let Some(statement) = self.thread.code.get(state.pc) else {
                self.paths.push(state.path);
                return Ok(());
            };
            let pc = state.pc;
            state.pc += 1;
            if let Some(guard) = statement.guard {
                let condition = state.register(guard.p);
                if !self.assume(&mut state, condition, !guard.negated, |skipped| skipped.pc = pc + 1)? {
                    continue;
                }
            }
            match &statement.instruction {
                Instruction::Label(_) if !self.live.is_empty() => match self.enter_loop(&mut state, pc) {
                    Round::New => {}
                    Round::Idle => return Ok(()),
                    Round::Beyond => {
                        state.event(PathEvent::new(Kind::Beyond, pc));
                        state.path.ending = Ending::Cut;
                        self.paths.push(state.path);
                        return Ok(());
                    }
                },
                Instruction::Label(_) => {}
                Instruction::Branch { when, target } => {
                    let to = self.position(*target)?;
                    if let Some((cmp, a, b)) = *when {
                        let sources = [state.operand(a), state.operand(b), Term::Constant(0)];
                        let condition = state.alu(AluOp::Set(cmp), Type::U64, sources);
                        if !self.assume(&mut state, condition, true, |not_taken| not_taken.pc = pc + 1)? {
                            continue;
                        }
                    }
                    state.pc = to;
                }
                Instruction::Alu { op, ty, d, sources } => {
                    let used = |index: usize| if index < op.arity() { sources[index] } else { Operand::Immediate(0) };
                    let terms = [used(0), used(1), used(2)].map(|operand| state.operand(operand));
                    *state.register_mut(*d) = state.alu(*op, *ty, terms);
                }
                Instruction::Fence(fence) => state.event(PathEvent::new(Kind::Fence(*fence), pc)),
                Instruction::Barrier(barrier) => {
                    if !self.barrier(&mut state, *barrier, pc)? {
                        continue;
                    }
                }
                access => self.access(&mut state, access, pc, None)?,
            }
        }
    }

    /// Goes on where the condition is as `wanted`; the paths on which it is not are unfolded from what `otherwise` makes of
    /// the state. Whether the first is possible at all.
    fn assume(
        &mut self,
        state: &mut State<L>,
        condition: Term,
        wanted: bool,
        otherwise: impl Fn(&mut State<L>),
    ) -> Result<bool, Limit> {
        state.control = state.control | state.reads(condition);
        if let Some(holds) = state.decided(condition) {
            if holds != wanted {
                otherwise(state);
            }
            return Ok(holds == wanted);
        }
        let mut other = state.clone();
        other.path.constraints.push((condition, !wanted));
        otherwise(&mut other);
        self.run(other)?;
        state.path.constraints.push((condition, wanted));
        Ok(true)
    }

    fn enter_loop(&self, state: &mut State<L>, pc: usize) -> Round {
        let live = self.live[pc];
        let idle = |(at, registers, events): &(usize, Vec<Term>, usize)| {
            let same = |(index, (a, b)): (usize, (&Term, &Term))| live >> index & 1 == 0 || a == b;
            *at == pc
                && registers.iter().zip(&state.path.registers).enumerate().all(same)
                && state.path.events[*events..].iter().all(|event| matches!(event.kind, Kind::Read(_) | Kind::Fence(_)))
        };
        if state.visits.iter().any(idle) {
            return Round::Idle;
        }
        if state.visits.iter().filter(|(at, ..)| *at == pc).count() >= self.unfolding.rounds {
            return Round::Beyond;
        }
        state.visits.push((pc, state.path.registers.clone(), state.path.events.len()));
        Round::New
    }

    fn position(&self, label: Label) -> Result<usize, Limit> {
        position(self.thread, label)
    }

    fn access(
        &mut self,
        state: &mut State<L>,
        instruction: &Instruction<L>,
        pc: usize,
        vector: Option<u16>,
    ) -> Result<(), Limit> {
        match instruction {
            Instruction::Load { d, a, ty, access } => {
                let location = self.location(state, *a)?;
                let event = PathEvent { location, vector, ..PathEvent::new(Kind::Read(*access), pc) };
                let read = state.read(event);
                *state.register_mut(*d) = state.loaded(read, *ty);
            }
            Instruction::Store { a, b, ty, access } => {
                let location = self.location(state, *a)?;
                let value = state.operand(*b);
                let value = if ty.bits < 64 { state.alu(AluOp::Mov, *ty, [value; 3]) } else { value };
                let depends = state.reads(value);
                state.event(PathEvent { location, value, depends, vector, ..PathEvent::new(Kind::Write(*access), pc) });
            }
            Instruction::Rmw { op, d, a, b, c, ty, access } => {
                let location = self.location(state, *a)?;
                let [b, c] = [state.operand(*b), state.operand(*c)];
                let reduction = d.is_none();
                let event = PathEvent { location, vector, reduction, ..PathEvent::new(Kind::Read(*access), pc) };
                let index = state.path.events.len();
                let mut old = state.read(event);
                let own = if op.uses_old() { one(index) } else { Set(0) };
                let depends = state.reads(b) | state.reads(c) | own;
                // What an exchange writes is known without the old value.
                let mut value = match op {
                    RmwOp::Exch => state.alu(AluOp::Mov, *ty, [b; 3]),
                    _ => state.node(Node::Rmw(*op, *ty, [old, b, c]), depends),
                };
                if *op == RmwOp::Cas && !self.unfolding.failed_cas_writes {
                    value = c;
                    let equal = state.alu(AluOp::Set(Cmp::Eq), *ty, [old, b, Term::Constant(0)]);
                    let mut failed = state.clone();
                    failed.path.constraints.push((equal, false));
                    failed.path.events[index].kind = Kind::Read(L::failed(*access));
                    if let Some(d) = *d {
                        *failed.register_mut(d) = failed.loaded(old, *ty);
                    }
                    match vector {
                        // What follows in the vector would be lost.
                        Some(_) => return Err(Limit::Address),
                        None => self.run(failed)?,
                    }
                    state.path.constraints.push((equal, true));
                    let expected = state.alu(AluOp::Mov, *ty, [b; 3]);
                    old = state.node(Node::Expected(index, expected), state.reads(old) | state.reads(expected));
                }
                let write = PathEvent::new(Kind::Write(*access), pc);
                state.event(PathEvent { location, value, depends, rmw: true, reduction, vector, ..write });
                if let Some(d) = *d {
                    *state.register_mut(d) = state.loaded(old, *ty);
                }
            }
            Instruction::Vector(elements) => {
                state.vectors += 1;
                let vector = Some(state.vectors);
                for element in elements {
                    self.access(state, element, pc, vector)?;
                }
            }
            // What is no access has been taken care of.
            _ => {}
        }
        Ok(())
    }

    /// The location at an address.
    fn location(&self, state: &State<L>, a: Address) -> Result<Location, Limit> {
        let Term::Constant(base) = state.operand(a.base) else { return Err(Limit::Address) };
        let address = base.wrapping_add_signed(a.offset);
        let index = (address / SPACING).checked_sub(1).ok_or(Limit::Address)?;
        let inside = address % SPACING == 0 && index < self.program.locations.len() as u64;
        if inside { Ok(Location(index as u16)) } else { Err(Limit::Address) }
    }

    /// Whether the path goes on.
    fn barrier(&mut self, state: &mut State<L>, barrier: Barrier, pc: usize) -> Result<bool, Limit> {
        let (id, quorum) = match barrier.of {
            BarrierName::Cta { id, quorum, .. } => (state.operand(id), quorum.map(|quorum| state.operand(quorum))),
            BarrierName::Cluster { .. } => (Term::Constant(0), None),
        };
        let reduction = match barrier.part {
            BarrierPart::Red { op, .. } => Some(op),
            _ => None,
        };
        let name = Some(PathBarrier { name: barrier.of, id, quorum, reduction });
        let reads = state.reads(id) | quorum.map_or(Set(0), |quorum| state.reads(quorum));
        if barrier.part != BarrierPart::Wait {
            let value = match barrier.part {
                BarrierPart::Red { p, .. } => state.operand(p),
                _ => Term::Constant(0),
            };
            let depends = reads | state.reads(value);
            state.event(PathEvent { barrier: name, value, depends, ..PathEvent::new(Kind::Arrive, pc) });
            if barrier.part != BarrierPart::Arrive && quorum.is_some() {
                let mut blocked = state.path.clone();
                blocked.ending = Ending::Blocked;
                self.paths.push(blocked);
            }
        }
        if barrier.part != BarrierPart::Arrive {
            let result = state.read(PathEvent { barrier: name, depends: reads, ..PathEvent::new(Kind::Wait, pc) });
            if let BarrierPart::Red { d, .. } = barrier.part {
                *state.register_mut(d) = result;
            }
        }
        Ok(true)
    }
}

enum Round {
    New,
    /// Nothing happened since an earlier arrival that anything later could notice.
    Idle,
    Beyond,
}

impl<L: Language> PathEvent<L> {
    fn new(kind: Kind<L>, statement: usize) -> Self {
        Self {
            kind,
            location: Location(0),
            value: Term::Constant(0),
            depends: Set(0),
            rmw: false,
            reduction: false,
            vector: None,
            barrier: None,
            statement,
        }
    }
}

impl<L: Language> State<L> {
    fn register(&self, register: Register) -> Term {
        self.path.registers[usize::from(register.0)]
    }

    fn register_mut(&mut self, register: Register) -> &mut Term {
        &mut self.path.registers[usize::from(register.0)]
    }

    fn operand(&self, operand: Operand) -> Term {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Immediate(value) => Term::Constant(value),
            Operand::Address(location) => Term::Constant(location.address()),
        }
    }

    fn reads(&self, term: Term) -> Set {
        match term {
            Term::Constant(_) => Set(0),
            Term::Node(node) => self.node_reads[node as usize],
        }
    }

    fn node(&mut self, node: Node, reads: Set) -> Term {
        self.path.nodes.push(node);
        self.node_reads.push(reads);
        Term::Node(self.path.nodes.len() as u32 - 1)
    }

    fn alu(&mut self, op: AluOp, ty: Type, sources: [Term; 3]) -> Term {
        if let [Term::Constant(a), Term::Constant(b), Term::Constant(c)] = sources {
            return Term::Constant(op.apply(ty, [a, b, c]));
        }
        if op == AluOp::Mov && ty.bits >= 64 {
            return sources[0];
        }
        let reads = sources.into_iter().fold(Set(0), |reads, source| reads | self.reads(source));
        self.node(Node::Alu(op, ty, sources), reads)
    }

    /// Whether a condition holds, where that is known without the values that are read.
    fn decided(&self, condition: Term) -> Option<bool> {
        if let Term::Constant(value) = condition {
            return Some(value != 0);
        }
        if let Some((_, holds)) = self.path.constraints.iter().find(|(term, _)| *term == condition) {
            return Some(*holds);
        }
        let comparison = |term| match self.path.node(term) {
            Some(Node::Alu(AluOp::Set(cmp), ty, [a, b, _])) => Some((cmp, ty, self.expected(a), self.expected(b))),
            _ => None,
        };
        let (cmp, ty, a, b) = comparison(condition)?;
        if let (Term::Constant(a), Term::Constant(b)) = (a, b) {
            return Some(cmp.holds(ty, a, b));
        }
        if a == b {
            return Some(matches!(cmp, Cmp::Eq | Cmp::Le | Cmp::Ge));
        }
        // The same question was answered before.
        let equal = self.path.constraints.iter().find_map(|&(term, wanted)| match comparison(term) {
            Some((cmp @ (Cmp::Eq | Cmp::Ne), of, c, d)) if of == ty && ((a, b) == (c, d) || (a, b) == (d, c)) => {
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

    /// What a compare and exchange expected, in place of what it then read.
    fn expected(&self, term: Term) -> Term {
        match self.path.node(term) {
            Some(Node::Expected(_, expected)) => self.expected(expected),
            _ => term,
        }
    }

    fn event(&mut self, mut event: PathEvent<L>) {
        event.depends = event.depends | self.control;
        self.path.events.push(event);
    }

    /// Adds an event that gives a value.
    fn read(&mut self, event: PathEvent<L>) -> Term {
        let index = self.path.events.len();
        self.event(event);
        self.node(Node::Event(index), one(index))
    }

    /// What a register holds after it was loaded: only a signed type changes what is in memory.
    fn loaded(&mut self, read: Term, ty: Type) -> Term {
        if ty.signed && ty.bits < 64 {
            self.alu(AluOp::Sext, ty, [read, Term::Constant(0), Term::Constant(0)])
        } else {
            read
        }
    }
}

impl<L: Language> Path<L> {
    /// The value of a term, if `read` knows what the events that it depends on give.
    pub fn value(&self, term: Term, read: &impl Fn(usize) -> Option<Value>) -> Option<Value> {
        let node = match term {
            Term::Constant(value) => return Some(value),
            Term::Node(node) => self.nodes[node as usize],
        };
        let values = |terms: [Term; 3]| {
            let [a, b, c] = terms.map(|term| self.value(term, read));
            Some([a?, b?, c?])
        };
        match node {
            Node::Event(event) => read(event),
            Node::Expected(_, expected) => self.value(expected, read),
            Node::Alu(op, ty, terms) => values(terms).map(|values| op.apply(ty, values)),
            Node::Rmw(op, ty, terms) => values(terms).map(|[old, b, c]| op.apply(ty, old, b, c)),
        }
    }

    /// The comparison that a term is.
    pub fn comparison(&self, term: Term) -> Option<(Cmp, Term, Term)> {
        match self.node(term)? {
            Node::Alu(AluOp::Set(cmp), _, [a, b, _]) => Some((cmp, a, b)),
            _ => None,
        }
    }

    /// The event whose value a term is.
    pub fn copied(&self, term: Term) -> Option<usize> {
        match self.node(term)? {
            Node::Event(event) | Node::Expected(event, _) => Some(event),
            _ => None,
        }
    }

    fn node(&self, term: Term) -> Option<Node> {
        match term {
            Term::Constant(_) => None,
            Term::Node(node) => self.nodes.get(node as usize).copied(),
        }
    }

    /// Whether the path stops at a loop's bound.
    pub fn is_cut(&self) -> bool {
        self.ending == Ending::Cut
    }

    /// The events whose values a term depends on.
    pub fn sources(&self, term: Term) -> Set {
        let Term::Node(node) = term else { return Set(0) };
        match self.nodes[node as usize] {
            Node::Event(event) => Set::one(event),
            Node::Expected(event, expected) => Set::one(event) | self.sources(expected),
            Node::Alu(_, _, terms) | Node::Rmw(_, _, terms) => {
                terms.into_iter().fold(Set(0), |events, term| events | self.sources(term))
            }
        }
    }
}

/// The set of one event, which may be one too many for now.
fn one(event: usize) -> Set {
    if event < MAX_EVENTS { Set::one(event) } else { Set(0) }
}

fn position<L: Language>(thread: &Thread<L>, label: Label) -> Result<usize, Limit> {
    let here = |instruction: &Instruction<L>| *instruction == Instruction::Label(label);
    thread.code.iter().position(|statement| here(&statement.instruction)).ok_or(Limit::Label)
}

/// The locations that a thread's code may write; `None` if it may be any.
pub(crate) fn may_write<L: Language>(thread: &Thread<L>) -> Option<Vec<Location>> {
    fn of<L: Language>(instruction: &Instruction<L>) -> Option<Vec<Location>> {
        match instruction {
            Instruction::Store { a, .. } | Instruction::Rmw { a, .. } => match a {
                Address { base: Operand::Address(location), offset: 0 } => Some(vec![*location]),
                _ => None,
            },
            Instruction::Vector(elements) => {
                elements.iter().map(of).collect::<Option<Vec<_>>>().map(|all| all.concat())
            }
            _ => Some(Vec::new()),
        }
    }
    let all = thread.code.iter().map(|statement| of(&statement.instruction));
    all.collect::<Option<Vec<_>>>().map(|all| all.concat())
}

/// For each statement of a thread with loops, the registers that are read from there on before they are written.
fn live<L: Language>(thread: &Thread<L>) -> Result<Vec<u128>, Limit> {
    let mut targets = vec![None; thread.code.len()];
    let mut loops = false;
    for (pc, statement) in thread.code.iter().enumerate() {
        if let Instruction::Branch { target, .. } = statement.instruction {
            let to = position(thread, target)?;
            targets[pc] = Some(to);
            loops |= to <= pc;
        }
    }
    if !loops {
        return Ok(Vec::new());
    }
    let observed = thread.registers.iter().enumerate().filter(|(_, register)| register.observed);
    let at_end = observed.fold(0, |live, (index, _)| live | 1 << index);
    let mut live = vec![0; thread.code.len() + 1];
    live[thread.code.len()] = at_end;
    loop {
        let before = live.clone();
        for (pc, statement) in thread.code.iter().enumerate().rev() {
            let mut after = live[pc + 1];
            let branch = targets[pc].map_or(0, |to| live[to]);
            let always = matches!(statement.instruction, Instruction::Branch { when: None, .. });
            if always && statement.guard.is_none() {
                after = 0;
            }
            let (read, written) = uses(&statement.instruction);
            let mut here = ((after | branch) & !written) | read;
            if let Some(guard) = statement.guard {
                here |= after | 1 << guard.p.0;
            }
            live[pc] = here;
        }
        if live == before {
            return Ok(live);
        }
    }
}

/// The registers that an instruction reads, and those that it always writes.
fn uses<L: Language>(instruction: &Instruction<L>) -> (u128, u128) {
    let one = |register: Register| 1u128 << register.0;
    let operand = |operand: Operand| if let Operand::Register(register) = operand { one(register) } else { 0 };
    match instruction {
        Instruction::Load { d, a, .. } => (operand(a.base), one(*d)),
        Instruction::Store { a, b, .. } => (operand(a.base) | operand(*b), 0),
        Instruction::Rmw { d, a, b, c, .. } => (operand(a.base) | operand(*b) | operand(*c), d.map_or(0, one)),
        Instruction::Vector(elements) => {
            elements.iter().map(uses).fold((0, 0), |(read, written), (r, w)| (read | r, written | w))
        }
        Instruction::Barrier(barrier) => {
            let name = match barrier.of {
                BarrierName::Cta { id, quorum, .. } => operand(id) | quorum.map_or(0, operand),
                BarrierName::Cluster { .. } => 0,
            };
            match barrier.part {
                BarrierPart::Red { d, p, .. } => (name | operand(p), one(d)),
                _ => (name, 0),
            }
        }
        Instruction::Alu { op, d, sources, .. } => {
            (sources[..op.arity()].iter().fold(0, |read, source| read | operand(*source)), one(*d))
        }
        Instruction::Branch { when, .. } => (when.map_or(0, |(_, a, b)| operand(a) | operand(b)), 0),
        Instruction::Fence(_) | Instruction::Label(_) => (0, 0),
    }
}
