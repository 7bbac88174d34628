//! Threads as paths: what a thread may do, for every choice of its branches, over values still to be read.

use crate::flow::{Control, Flow, live, uses, written};
pub use crate::limit::{Limit, MAX_NODES, MAX_REGISTERS};
use crate::program::{
    Address, AluOp, AtomOp, Barrier, BarrierName, BarrierPart, Cmp, Computation, Instruction, Language, Location,
    Operand, Program, Reduction, Register, RmwOp, Span, Stop, Thread, Type, Value, bytes, truncate,
};
use crate::relation::{MAX_EVENTS, Set};

/// A value that a path computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// A known value.
    Constant(Value),
    /// An index into [`Path::nodes`].
    Node(u32),
}

/// A value that is not known until something is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Node {
    /// What an event of the path reads, or what the wait of a `bar.red` gives.
    Event(usize),
    /// The result of an instruction on registers.
    Computed(Computation, Type, [Term; 3]),
    /// What a read-modify-write writes: of the old value and its operands.
    Rmw(RmwOp, Type, [Term; 3]),
    /// What the read of a compare and exchange that succeeds returns: what was expected.
    Expected(usize, Term),
}

/// What happens at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind<L: Language> {
    /// The write W0 (section 8.2.6).
    Init,
    /// Reads memory.
    Read(L::Semantics),
    /// Writes memory.
    Write(L::Semantics),
    /// A fence.
    Fence(L::Fence),
    /// Arrives at a barrier.
    Arrive,
    /// Waits at a barrier.
    Wait,
    /// All writes of a variable behind the bound of a loop, of one value if that is known.
    Beyond {
        /// Whether [`PathEvent::value`] is what they write.
        known: bool,
    },
}

/// An event of a path.
#[derive(Clone, Copy, Debug)]
pub struct PathEvent<L: Language> {
    /// What it is.
    pub kind: EventKind<L>,
    /// Meaningless for what is no memory operation.
    pub span: Span,
    /// What is written, or brought to a barrier.
    pub value: Term,
    /// The reads of the path on which this event depends, through values, or through branches that decide about it.
    pub depends: Set,
    /// The write of a read-modify-write, whose read is the event before.
    pub rmw: bool,
    /// Part of a read-modify-write without a destination.
    pub reduction: bool,
    /// Events of one vector instruction have the same number.
    pub vector: Option<u16>,
    /// Of what arrives or waits.
    pub barrier: Option<PathBarrier>,
    /// The index into the thread's code.
    pub statement: usize,
}

/// The barrier of an arrival or a wait.
#[derive(Clone, Copy, Debug)]
pub struct PathBarrier {
    /// Which one.
    pub name: BarrierName,
    /// Its number.
    pub id: Term,
    /// How many threads take part.
    pub quorum: Option<Term>,
    /// What a `bar.red` does.
    pub reduction: Option<Reduction>,
}

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Behind the last statement.
    Returned,
    /// The last event arrived at a barrier, whose other threads never come.
    Blocked,
    /// It goes on behind the statement of this index, in a manner that is not known.
    Cut(Limit, usize),
    /// A `trap`: all threads end.
    Trapped,
    /// In front of a loop's round, when another thread came to a `trap`.
    Stopped,
}

/// One course that a thread may take.
#[derive(Clone, Debug)]
pub struct Path<L: Language> {
    /// What happens, in program order.
    pub events: Vec<PathEvent<L>>,
    /// The values that are computed.
    pub nodes: Vec<Node>,
    /// What decides the branches: each term is to be zero or not.
    pub constraints: Vec<(Term, bool)>,
    /// The last values of the registers.
    pub registers: Vec<Term>,
    /// How it ends.
    pub ending: Ending,
}

impl<L: Language> Path<L> {
    /// Whether this is the same course as another one of a thread with the same code.
    pub fn is_like(&self, other: &Self) -> bool {
        let steps = |path: &Self| path.events.iter().map(|event| (event.statement, event.kind)).collect::<Vec<_>>();
        self.constraints == other.constraints && self.ending == other.ending && steps(self) == steps(other)
    }
}

/// Whether threads may take these courses at the same time: they stop where another one traps, and nowhere else.
pub(crate) fn go_together<L: Language>(paths: &[&Path<L>]) -> bool {
    let any = |is: fn(Ending) -> bool| paths.iter().any(|path| is(path.ending));
    let early = |ending| matches!(ending, Ending::Cut(..));
    match any(|ending| ending == Ending::Trapped) {
        // What goes on behind a loop's bound stops in front of it as well.
        true => !any(early),
        false => !any(|ending| ending == Ending::Stopped),
    }
}

const MAX_PATHS: usize = 4096;
/// Of branches that depend on what is read, along one path.
const MAX_CONSTRAINTS: usize = 256;
/// Of the statements that a path executes.
const MAX_STEPS: usize = 1 << 16;
/// Of the values of what is read that give one value of an address.
const MAX_PREIMAGES: usize = 8;
/// Of the addresses that one access may have.
const MAX_ADDRESSES: usize = 256;
/// No array of a program is larger, and each begins at a multiple of this, in bytes.
pub(crate) const ARRAY: Value = 1 << 20;
/// Of the operations that one value takes, where what is used twice counts twice.
const MAX_WORK: u64 = 1 << 12;

/// How threads are unfolded.
#[derive(Clone, Copy, Debug)]
pub struct Unfolding {
    /// How often a loop is entered, counted at its first label.
    pub rounds: usize,
    /// Whether a compare and exchange that fails writes the old value back.
    pub failed_cas_writes: bool,
    /// Whether there is an outcome where a thread waits at a barrier for ever, if it has nothing left to do behind it.
    pub hung_at_end: bool,
    /// Whether a round of a loop that writes back what it reads counts as one that waits.
    pub idle_updates: bool,
}

/// An access of a path, be it an event or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub span: Span,
    pub writes: bool,
    /// The index into the thread's code.
    pub statement: usize,
}

/// What unfolding a thread gives.
pub(crate) struct Unfolded<L: Language> {
    pub paths: Vec<Path<L>>,
    /// Every access, also those of paths that never end.
    pub touched: Vec<Touch>,
    /// The variables that may be written by what no path came to, where some path stops at a bound.
    unseen: Vec<Location>,
    /// The memory of updates in rounds that were left out since they write back what they read.
    idle: Vec<Span>,
}

/// Every path of every thread.
///
/// # Errors
/// If a thread is outside of what paths can say, or if accesses overlap otherwise than completely.
pub fn unfold_all<L: Language>(program: &Program<L>, unfolding: Unfolding) -> Result<Vec<Vec<Path<L>>>, Limit> {
    let all = |unfolding, held: &[Held]| {
        let unfold = |thread| unfold(program, thread, unfolding, held);
        program.threads.iter().map(unfold).collect::<Result<Vec<_>, _>>()
    };
    let mut unfolded = all(unfolding, &[])?;
    if !may_idle(program, &unfolded) {
        unfolded = all(Unfolding { idle_updates: false, ..unfolding }, &[])?;
    } else if unfolded.iter().any(|of| !of.idle.is_empty()) {
        unfolded = all(unfolding, &held(program, &unfolded))?;
    }
    tell_beyond(program, &mut unfolded);
    let threads: Vec<Vec<Path<L>>> = unfolded.into_iter().map(|unfolded| unfolded.paths).collect();
    let mut spans = Vec::new();
    for event in threads.iter().flatten().flat_map(|path| &path.events) {
        if matches!(event.kind, EventKind::Read(_) | EventKind::Write(_)) {
            let span = program.physical_span(event.span);
            if !spans.contains(&span) {
                spans.push(span);
            }
        }
    }
    let partial = |a: &Span| spans.iter().any(|b| a != b && a.overlaps(*b));
    if spans.iter().any(partial) { Err(Limit::MixedSizes) } else { Ok(threads) }
}

/// All values that memory holds at any time.
pub(crate) struct Held {
    span: Span,
    values: Vec<Value>,
}

/// What the memory holds that rounds update which write back what they read: where only constants are ever written, one of these.
fn held<L: Language>(program: &Program<L>, unfolded: &[Unfolded<L>]) -> Vec<Held> {
    let mut idle: Vec<Span> = unfolded.iter().flat_map(|of| &of.idle).copied().collect();
    idle.sort_unstable();
    idle.dedup();
    let held = |span: Span| Some(Held { span, values: constants(program, unfolded, program.physical_span(span))? });
    idle.into_iter().filter_map(held).collect()
}

/// All values that a location ever holds, if only constants are written there.
fn constants<L: Language>(program: &Program<L>, unfolded: &[Unfolded<L>], span: Span) -> Option<Vec<Value>> {
    let mut unseen = unfolded.iter().flat_map(|of| &of.unseen);
    if unseen.any(|variable| program.physical(*variable) == span.variable) {
        return None;
    }
    let writes = |span: Span| {
        let threads = program.threads.iter().zip(unfolded);
        threads.flat_map(move |(thread, of)| {
            let here = move |touch: &&Touch| touch.writes && program.physical_span(touch.span).overlaps(span);
            of.touched.iter().filter(here).map(|touch| (touch.span, &thread.code[touch.statement].instruction))
        })
    };
    let initial = span.of(program.locations[usize::from(span.variable.0)].initial);
    let written = writes(span).map(|(at, instruction)| match instruction {
        _ if program.physical_span(at) != span => None,
        Instruction::Store { b: Operand::Immediate(value), ty, .. }
        | Instruction::Rmw { op: RmwOp::Atom(AtomOp::Exch), b: Operand::Immediate(value), ty, .. }
        | Instruction::Rmw { op: RmwOp::Atom(AtomOp::Cas), c: Operand::Immediate(value), ty, .. } => {
            Some(truncate(*ty, *value))
        }
        _ => None,
    });
    let mut values = written.chain([Some(initial)]).collect::<Option<Vec<_>>>()?;
    values.sort_unstable();
    values.dedup();
    Some(values)
}

/// Of the values of one variable behind a bound.
const MAX_BEYOND: usize = 4;

/// Says what is written behind bounds, where that is one of a few constants.
fn tell_beyond<L: Language>(program: &Program<L>, unfolded: &mut [Unfolded<L>]) {
    let is_beyond = |event: &PathEvent<L>| matches!(event.kind, EventKind::Beyond { .. });
    let beyond = unfolded.iter().flat_map(|of| &of.paths).filter(|path| path.is_cut()).flat_map(|path| &path.events);
    let mut variables: Vec<Location> =
        beyond.filter(|event| is_beyond(event)).map(|event| event.span.variable).collect();
    variables.sort_unstable();
    variables.dedup();
    // What is known of a variable is known of the one location in it.
    let known = |variable: &Location| {
        let physical = program.physical(*variable);
        let touched = unfolded.iter().flat_map(|of| &of.touched).map(|touch| program.physical_span(touch.span));
        let mut spans: Vec<Span> = touched.filter(|span| span.variable == physical).collect();
        spans.sort_unstable();
        spans.dedup();
        let [span] = spans[..] else { return None };
        constants(program, unfolded, span).filter(|values| values.len() <= MAX_BEYOND)
    };
    let known: Vec<(Location, Vec<Value>)> =
        variables.iter().filter_map(|variable| Some((*variable, known(variable)?))).collect();
    for path in unfolded.iter_mut().flat_map(|of| &mut of.paths).filter(|path| path.is_cut()) {
        let events = std::mem::take(&mut path.events).into_iter().flat_map(|event| {
            let values = known.iter().find(|(variable, _)| is_beyond(&event) && *variable == event.span.variable);
            match values {
                None => vec![event],
                Some((_, values)) => {
                    let kind = EventKind::Beyond { known: true };
                    values.iter().map(|value| PathEvent { kind, value: Term::Constant(*value), ..event }).collect()
                }
            }
        });
        path.events = events.collect();
    }
}

/// Whether the rounds may be left out that write back what they read.
///
/// Whoever read from such an update reads the same value from the write before it. That adds no relation between two writes or
/// a write and a read that was not there through the update, as long as all that is strong there is morally strong, and nothing
/// weak writes there.
fn may_idle<L: Language>(program: &Program<L>, unfolded: &[Unfolded<L>]) -> bool {
    let places: Vec<_> = program.threads.iter().map(|thread| thread.place).collect();
    let idle: Vec<Span> = unfolded.iter().flat_map(|of| &of.idle).map(|&span| program.physical_span(span)).collect();
    let events = unfolded.iter().flat_map(|of| &of.paths).flat_map(|path| &path.events);
    events.filter(|event| idle.contains(&program.physical_span(event.span))).all(|event| match event.kind {
        EventKind::Read(access) => L::reaches(access, &places).unwrap_or(true),
        EventKind::Write(access) => L::reaches(access, &places).unwrap_or(false),
        _ => true,
    })
}

/// Every path of a thread.
///
/// A round of a loop that changes no register that is still needed, and writes nothing, is left out: whoever leaves out
/// its reads and fences from an execution gets an execution with the same outcome, because no axiom forbids an execution
/// with fewer events.
///
/// # Errors
/// If the thread is outside of what paths can say.
pub(crate) fn unfold<'p, L: Language>(
    program: &'p Program<L>,
    thread: &'p Thread<L>,
    unfolding: Unfolding,
    held: &'p [Held],
) -> Result<Unfolded<L>, Limit> {
    if thread.registers.len() > MAX_REGISTERS {
        return Err(Limit::Registers);
    }
    let flow = Flow::new(thread)?;
    let live = live(thread, &flow);
    let spaces = (0..program.locations.len()).map(|index| Location(index as u16));
    let mut addresses: Vec<_> = spaces.map(|location| (program.address_of(location), location)).collect();
    addresses.sort_unstable();
    let traps = program.threads.iter().flat_map(|thread| &thread.code);
    let traps = traps.map(|statement| &statement.instruction).any(|of| *of == Instruction::Stop(Stop::Trap));
    let mut unfold = Unfold {
        program,
        thread,
        unfolding,
        flow,
        live,
        addresses,
        held,
        traps,
        paths: Vec::new(),
        cut: Vec::new(),
        touched: Vec::new(),
        idle: Vec::new(),
    };
    unfold.run(State {
        program,
        pc: 0,
        path: Path {
            events: Vec::with_capacity(8),
            nodes: Vec::with_capacity(8),
            constraints: Vec::new(),
            registers: thread.registers.iter().map(|register| Term::Constant(register.initial)).collect(),
            ending: Ending::Returned,
        },
        node_reads: Vec::new(),
        node_work: Vec::new(),
        most_work: 0,
        decided: vec![Set(0); thread.registers.len()],
        controls: Vec::new(),
        memory: Vec::new(),
        visits: Vec::new(),
        vectors: 0,
        steps: 0,
    })?;
    let unseen = unfold.go_beyond();
    Ok(Unfolded { paths: unfold.paths, touched: unfold.touched, unseen, idle: unfold.idle })
}

struct Unfold<'p, L: Language> {
    program: &'p Program<L>,
    thread: &'p Thread<L>,
    unfolding: Unfolding,
    flow: Flow,
    /// For each statement, the registers whose values are still read; empty in a thread without loops.
    live: Vec<u128>,
    /// Where each variable begins, in order.
    addresses: Vec<(Value, Location)>,
    held: &'p [Held],
    /// Whether some thread has a `trap`.
    traps: bool,
    paths: Vec<Path<L>>,
    /// The paths that go on in a manner that is not known: where, and under which branches.
    cut: Vec<(usize, usize, Vec<Control>)>,
    touched: Vec<Touch>,
    idle: Vec<Span>,
}

#[derive(Clone)]
struct State<'p, L: Language> {
    program: &'p Program<L>,
    pc: usize,
    path: Path<L>,
    /// On which reads each node depends.
    node_reads: Vec<Set>,
    /// How many operations each node takes, and the most that one does.
    node_work: Vec<u64>,
    most_work: u64,
    /// For each register, the reads that decided which of its values it has.
    decided: Vec<Set>,
    /// The branches that decide whether control comes here.
    controls: Vec<Control>,
    /// What private variables hold that were written, each with the reads that decided it.
    memory: Vec<(Location, Term, Set)>,
    /// Each arrival at the start of a loop.
    visits: Vec<Visit>,
    vectors: u16,
    /// How many statements were executed.
    steps: usize,
}

/// An arrival at the start of a loop.
#[derive(Clone)]
struct Visit {
    pc: usize,
    registers: Vec<Term>,
    memory: Vec<(Location, Term, Set)>,
    /// How many events had happened.
    events: usize,
    /// How many branches had depended on what is read.
    constraints: usize,
}

impl<'p, L: Language> Unfold<'p, L> {
    fn run(&mut self, mut state: State<'p, L>) -> Result<(), Limit> {
        loop {
            if self.paths.len() >= MAX_PATHS || state.path.constraints.len() >= MAX_CONSTRAINTS {
                return Err(Limit::Paths);
            }
            if state.path.nodes.len() > MAX_NODES || state.most_work > MAX_WORK {
                return Err(Limit::Values);
            }
            if state.path.events.len() > MAX_EVENTS {
                return Err(Limit::Events);
            }
            state.steps += 1;
            if state.steps > MAX_STEPS {
                let pc = state.pc;
                return Ok(self.cut(state, Limit::Unroll, pc));
            }
            let Some(statement) = self.thread.code.get(state.pc) else {
                self.paths.push(state.path);
                return Ok(());
            };
            let pc = state.pc;
            state.join(pc);
            state.pc += 1;
            if let Some(guard) = statement.guard {
                let condition = state.register(guard.p);
                let reads = state.reads_of(Operand::Register(guard.p));
                self.decide(&mut state, pc, reads);
                if !self.assume(&mut state, condition, !guard.negated, |skipped| skipped.pc = pc + 1)? {
                    continue;
                }
            }
            match &statement.instruction {
                Instruction::Label(_) if !self.live.is_empty() => match self.enter_loop(&mut state, pc)? {
                    Round::New => {}
                    Round::Idle => return Ok(()),
                    Round::Beyond => return Ok(self.cut(state, Limit::Unroll, pc)),
                },
                Instruction::Stop(Stop::Trap) => {
                    state.path.ending = Ending::Trapped;
                    self.paths.push(state.path);
                    return Ok(());
                }
                Instruction::Stop(Stop::Unmodelled) => return Ok(self.cut(state, Limit::Unmodelled, pc)),
                Instruction::Label(_) => {}
                Instruction::Branch { when, target } => {
                    let to = self.flow.position(*target);
                    if let Some((cmp, a, b)) = *when {
                        let sources = [state.operand(a), state.operand(b), Term::Constant(0)];
                        let condition = state.compute(Computation::Setp(cmp), Type::U64, sources);
                        let taken_by = state.reads(condition) | state.decided(a) | state.decided(b);
                        self.decide(&mut state, pc, taken_by);
                        if !self.assume(&mut state, condition, true, |not_taken| not_taken.pc = pc + 1)? {
                            continue;
                        }
                    }
                    state.pc = to;
                }
                Instruction::Alu { computation, ty, .. } if !computation.is_known(*ty) => {
                    return Err(Limit::Computation);
                }
                Instruction::Alu { computation, ty, d, sources } => {
                    let arity = computation.arity();
                    let used = |index: usize| if index < arity { sources[index] } else { Operand::Immediate(0) };
                    let sources = [used(0), used(1), used(2)];
                    let value = state.compute(*computation, *ty, sources.map(|operand| state.operand(operand)));
                    let decided = sources.into_iter().fold(Set(0), |all, source| all | state.decided(source));
                    state.set(*d, value, decided);
                }
                Instruction::Fence(fence) => state.event(PathEvent::new(EventKind::Fence(*fence), pc)),
                Instruction::Barrier(barrier) => {
                    if !self.barrier(&mut state, *barrier, pc)? {
                        continue;
                    }
                }
                access => match self.settle(&mut state, access, pc)? {
                    Settled::Known => self.access(&mut state, access, pc, None)?,
                    Settled::Elsewhere => return Ok(()),
                    Settled::Outside => return Ok(self.cut(state, Limit::Address, pc)),
                },
            }
        }
    }

    /// Ends a path where it is not known how it goes on.
    fn cut(&mut self, mut state: State<'p, L>, limit: Limit, pc: usize) {
        state.path.ending = Ending::Cut(limit, pc);
        self.cut.push((self.paths.len(), pc, state.controls));
        self.paths.push(state.path);
    }

    /// Whether it is known what an access accesses. Where that depends on what is read, the paths for each address are unfolded
    /// from here, and one for all other addresses.
    fn settle(&mut self, state: &mut State<'p, L>, access: &Instruction<L>, pc: usize) -> Result<Settled, Limit> {
        let mut accesses = Vec::new();
        addresses(access, &mut accesses);
        for &(a, ty) in &accesses {
            let term = match state.operand(a.base) {
                Term::Constant(_) if self.span(state, a, ty).is_err() => return Ok(Settled::Outside),
                Term::Constant(_) => continue,
                term => term,
            };
            let Operand::Register(base) = a.base else { continue };
            let at = |value: Value| Address { base: Operand::Immediate(value), offset: a.offset };
            let (candidates, all) = self.candidates(state, term, a.offset, ty);
            let inside = candidates.iter().copied().filter(|&value| self.span(state, at(value), ty).is_ok());
            let inside: Vec<Value> = inside.collect();
            if inside.len() > MAX_ADDRESSES {
                return Ok(Settled::Outside);
            }
            let is_complete = all && inside.len() == candidates.len();
            let reads = state.reads(term);
            let mut others = Vec::new();
            for value in inside {
                let sources = [term, Term::Constant(value), Term::Constant(0)];
                let equal = state.compute(Computation::Setp(Cmp::Eq), Type::U64, sources);
                if state.known(equal) == Some(false) {
                    continue;
                }
                let mut chosen = state.clone();
                chosen.pc = pc;
                others.push((equal, false));
                let mut read = Vec::new();
                if let Some(event) = state.path.preimages(term, value, &mut read) {
                    for value in read {
                        let mut chosen = chosen.clone();
                        if chosen.pin(event, value) {
                            self.run(chosen)?;
                        }
                    }
                    continue;
                }
                if state.known(equal).is_none() {
                    chosen.path.constraints.push((equal, true));
                }
                let decided = chosen.decided[usize::from(base.0)] | reads;
                chosen.set(base, Term::Constant(value), decided);
                self.run(chosen)?;
            }
            if is_complete {
                return Ok(Settled::Elsewhere);
            }
            state.path.constraints.extend(others);
            return Ok(Settled::Outside);
        }
        Ok(Settled::Known)
    }

    /// Values that an address may have, and whether these are all.
    fn candidates(&self, state: &State<'p, L>, term: Term, offset: i64, ty: Type) -> (Vec<Value>, bool) {
        if let Some(values) = state.path.values(term) {
            return (values, true);
        }
        // A sum with the address of an array leads into that array, or to what is undefined.
        let mut bases = Vec::new();
        state.path.addends(term, &mut bases);
        let array = |value: Value| value / ARRAY;
        bases.retain(|&base| base >= ARRAY && self.addresses.iter().any(|&(at, _)| array(at) == array(base)));
        let near = |at: Value| bases.is_empty() || bases.iter().any(|&base| array(base) == array(at));
        let step = u64::from(bytes(ty));
        let mut values = Vec::new();
        for &(at, _) in self.addresses.iter().filter(|(at, _)| near(*at)) {
            let next = self.addresses.iter().map(|(other, _)| *other).find(|other| *other > at).unwrap_or(Value::MAX);
            let parts = (0..u64::from(Span::BYTES) / step).map(|part| at + part * step);
            values
                .extend(parts.filter(|part| *part < next).map(|part| part.wrapping_add_signed(offset.wrapping_neg())));
        }
        (values, false)
    }

    /// Puts an event for each variable that may be written behind a loop's bound. It depends on the branches that decide
    /// whether the variable is written at all. Gives the variables that may be written by what no path came to.
    fn go_beyond(&mut self) -> Vec<Location> {
        if self.cut.is_empty() {
            return Vec::new();
        }
        // What is not written in any path may be any variable, if its address is in a register.
        let mut writes: Vec<Vec<Location>> = vec![Vec::new(); self.thread.code.len()];
        for touch in self.touched.iter().filter(|touch| touch.writes) {
            if !writes[touch.statement].contains(&touch.span.variable) {
                writes[touch.statement].push(touch.span.variable);
            }
        }
        let arrays = self.arrays();
        let mut unseen = Vec::new();
        for (known, statement) in writes.iter_mut().zip(&self.thread.code) {
            let came_to = !known.is_empty();
            match written(statement) {
                Some(named) => *known = named,
                None if !came_to => *known = self.may_be_written(&statement.instruction, &arrays),
                None => {}
            }
            if !came_to {
                unseen.extend_from_slice(known);
            }
        }
        for (path, pc, controls) in std::mem::take(&mut self.cut) {
            let behind: Vec<_> =
                controls.iter().map(|control| self.flow.written_from(control.until, &writes)).collect();
            let shared = |variable: &Location| !self.program.locations[usize::from(variable.0)].private;
            for variable in self.flow.written_from(pc, &writes).into_iter().filter(shared) {
                let inside = controls.iter().zip(&behind).filter(|(_, behind)| !behind.contains(&variable));
                let depends = inside.fold(Set(0), |all, (control, _)| all | control.reads);
                let beyond = PathEvent::new(EventKind::Beyond { known: false }, pc);
                self.paths[path].events.push(PathEvent { span: Span::whole(variable), depends, ..beyond });
            }
        }
        unseen
    }

    /// For each register, the arrays into which it may lead, and whether it may hold what is read. A sum leads into the array of
    /// its address, or to what is undefined.
    fn arrays(&self) -> Vec<Leads> {
        let known = |value: Value| self.addresses.iter().any(|&(at, _)| at / ARRAY == value / ARRAY);
        let constant = |value: Value| Leads {
            arrays: Some(value / ARRAY).filter(|_| known(value)).into_iter().collect(),
            anywhere: false,
        };
        let mut leads: Vec<Leads> = self.thread.registers.iter().map(|declared| constant(declared.initial)).collect();
        loop {
            let before = leads.clone();
            for statement in &self.thread.code {
                let (_, mut written) = uses(&statement.instruction);
                let Instruction::Alu { d, sources, computation, .. } = &statement.instruction else {
                    while written != 0 {
                        leads[written.trailing_zeros() as usize].anywhere = true;
                        written &= written - 1;
                    }
                    continue;
                };
                let of = sources[..computation.arity()].iter().map(|source| match *source {
                    Operand::Register(register) => leads[usize::from(register.0)].clone(),
                    Operand::Immediate(value) => constant(value),
                    Operand::Address(location) => constant(self.program.address_of(location)),
                });
                let of: Vec<Leads> = of.collect();
                let is_sum =
                    matches!(computation, Computation::Alu(AluOp::Add | AluOp::Sub | AluOp::MadLo | AluOp::Or));
                let has_base = of.iter().any(|source| !source.arrays.is_empty());
                let to = &mut leads[usize::from(d.0)];
                to.anywhere |= !(is_sum && has_base) && of.iter().any(|source| source.anywhere);
                for array in of.into_iter().flat_map(|source| source.arrays) {
                    if !to.arrays.contains(&array) {
                        to.arrays.push(array);
                    }
                }
            }
            if leads == before {
                return leads;
            }
        }
    }

    /// The variables that an instruction may write whose address was never known.
    fn may_be_written(&self, instruction: &Instruction<L>, leads: &[Leads]) -> Vec<Location> {
        let mut accesses = Vec::new();
        addresses(instruction, &mut accesses);
        let bases = accesses.iter().filter_map(|(a, _)| match a.base {
            Operand::Register(register) => Some(&leads[usize::from(register.0)]),
            _ => None,
        });
        let bases: Vec<&Leads> = bases.collect();
        let may = |at: Value| bases.iter().any(|base| base.anywhere || base.arrays.contains(&(at / ARRAY)));
        self.addresses.iter().filter(|(at, _)| may(*at)).map(|(_, location)| *location).collect()
    }

    /// What comes before the statement's immediate post-dominator depends on these reads.
    fn decide(&mut self, state: &mut State<'p, L>, pc: usize, reads: Set) {
        if reads != Set(0) {
            let (until, written) = self.flow.region(self.thread, pc);
            state.controls.push(Control { until, reads, written });
        }
    }

    /// Goes on where the condition is as `wanted`; the paths on which it is not are unfolded from what `otherwise` makes of
    /// the state. Whether the first is possible at all.
    fn assume(
        &mut self,
        state: &mut State<'p, L>,
        condition: Term,
        wanted: bool,
        otherwise: impl Fn(&mut State<'p, L>),
    ) -> Result<bool, Limit> {
        if let Some(holds) = state.known(condition) {
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

    fn enter_loop(&mut self, state: &mut State<'p, L>, pc: usize) -> Result<Round, Limit> {
        let live = self.live[pc];
        let unchanged = |visit: &&Visit| {
            let same = |(index, (a, b)): (usize, (&Term, &Term))| live >> index & 1 == 0 || a == b;
            visit.pc == pc
                && visit.memory == state.memory
                && visit.registers.iter().zip(&state.path.registers).enumerate().all(same)
        };
        // Rounds since which only updates wrote.
        let quiet = |event: &PathEvent<L>| match event.kind {
            EventKind::Read(_) | EventKind::Fence(_) => true,
            EventKind::Write(_) => event.rmw && self.unfolding.idle_updates,
            _ => false,
        };
        let since = |visit: &Visit| visit.events;
        let quiet = |visit: &&Visit| state.path.events[visit.events..].iter().all(quiet);
        if let Some(first) = state.visits.iter().filter(unchanged).filter(quiet).map(since).max() {
            let updates = first..state.path.events.len();
            let updates: Vec<usize> = updates.filter(|&event| state.path.events[event].rmw).collect();
            let spans = updates.iter().map(|&write| state.path.events[write].span);
            self.idle.extend(spans);
            let mut waits = true;
            for write in updates {
                let old = state.path.nodes.iter().position(|node| *node == Node::Event(write - 1));
                let Some(old) = old else { continue };
                let sources = [Term::Node(old as u32), state.path.events[write].value, Term::Constant(0)];
                let equal = state.compute(Computation::Setp(Cmp::Eq), Type::U64, sources);
                match state.known(equal) {
                    Some(true) => {}
                    Some(false) => waits = false,
                    None => {
                        let mut changed = state.clone();
                        changed.path.constraints.push((equal, false));
                        if !self.may_read(&changed, write - 1) {
                            // It holds nothing else.
                        } else if self.count(&mut changed, pc) {
                            changed.pc = pc + 1;
                            self.run(changed)?;
                        } else {
                            self.cut(changed, Limit::Unroll, pc);
                        }
                        state.path.constraints.push((equal, true));
                    }
                }
                if !waits {
                    break;
                }
            }
            if waits {
                return Ok(Round::Idle);
            }
        }
        if self.traps {
            let mut stopped = state.path.clone();
            stopped.ending = Ending::Stopped;
            self.paths.push(stopped);
        }
        Ok(if self.count(state, pc) { Round::New } else { Round::Beyond })
    }

    /// Whether a read gives, of all values that its memory ever holds, one with which the path's branches are as they are.
    fn may_read(&self, state: &State<'p, L>, read: usize) -> bool {
        let span = state.path.events[read].span;
        let Some(held) = self.held.iter().find(|held| held.span == span) else { return true };
        held.values.iter().any(|&value| {
            let of = |event: usize| (event == read).then_some(value);
            let holds =
                |&(term, wanted): &(Term, bool)| state.path.value(term, &of).is_none_or(|known| (known != 0) == wanted);
            state.path.constraints.iter().all(holds)
        })
    }

    /// Counts a round; whether the bound allows it. A round does not count in which nothing that is read decided a branch: how
    /// often that happens is known.
    fn count(&self, state: &mut State<'p, L>, pc: usize) -> bool {
        let State { visits, path, memory, .. } = state;
        let last = visits.iter().rposition(|visit| visit.pc == pc);
        let known = last.is_some_and(|last| visits[last].constraints == path.constraints.len());
        if !known && visits.iter().filter(|visit| visit.pc == pc).count() >= self.unfolding.rounds {
            return false;
        }
        if let Some(last) = last.filter(|_| known) {
            visits.remove(last);
        }
        visits.push(Visit {
            pc,
            registers: path.registers.clone(),
            memory: memory.clone(),
            events: path.events.len(),
            constraints: path.constraints.len(),
        });
        true
    }

    fn access(
        &mut self,
        state: &mut State<'p, L>,
        instruction: &Instruction<L>,
        pc: usize,
        vector: Option<u16>,
    ) -> Result<(), Limit> {
        match instruction {
            Instruction::Load { d, a, ty, access } => {
                let (span, depends) = (self.touch(state, *a, *ty, false, pc)?, state.decided(a.base));
                if self.is_private(span) {
                    let (value, decided) = state.held(span, self.initial(span));
                    let value = state.loaded(value, *ty);
                    state.set(*d, value, decided | depends);
                    return Ok(());
                }
                let event = PathEvent { span, depends, vector, ..PathEvent::new(EventKind::Read(*access), pc) };
                let read = state.read(event);
                let value = state.loaded(read, *ty);
                state.set(*d, value, Set(0));
            }
            Instruction::Store { a, b, ty, access } => {
                let span = self.touch(state, *a, *ty, true, pc)?;
                let value = state.operand(*b);
                let value = state.compute(Computation::MOV, *ty, [value; 3]);
                let depends = state.reads(value) | state.decided(*b) | state.decided(a.base);
                if self.is_private(span) {
                    state.hold(span, self.initial(span), value, state.decided(*b) | state.decided(a.base));
                    return Ok(());
                }
                state.event(PathEvent {
                    span,
                    value,
                    depends,
                    vector,
                    ..PathEvent::new(EventKind::Write(*access), pc)
                });
            }
            Instruction::Rmw { op, ty, .. } if !op.is_known(*ty) => return Err(Limit::Computation),
            Instruction::Rmw { op, d, a, b, c, ty, access } => {
                let span = self.touch(state, *a, *ty, true, pc)?;
                let decided = [*b, *c, a.base].into_iter().fold(Set(0), |all, operand| all | state.decided(operand));
                let [b, c] = [state.operand(*b), state.operand(*c)];
                if self.is_private(span) {
                    let (old, before) = state.held(span, self.initial(span));
                    let new = state
                        .node(Node::Rmw(*op, *ty, [old, b, c]), state.reads(old) | state.reads(b) | state.reads(c));
                    let new = state.path.constant(new).map_or(new, Term::Constant);
                    state.hold(span, self.initial(span), new, decided | before);
                    if let Some(d) = *d {
                        let value = state.loaded(old, *ty);
                        state.set(d, value, before);
                    }
                    return Ok(());
                }
                let reduction = d.is_none();
                let read = PathEvent { span, vector, reduction, ..PathEvent::new(EventKind::Read(*access), pc) };
                let index = state.path.events.len();
                let mut old = state.read(PathEvent { depends: state.decided(a.base), ..read });
                let mut depends = decided;
                let value = match (op, op.arithmetic()) {
                    // What an exchange writes is known without the old value.
                    (RmwOp::Atom(AtomOp::Exch), _) => state.compute(Computation::MOV, *ty, [b; 3]),
                    (_, Some(op)) => state.compute(Computation::Alu(op), *ty, [old, b, Term::Constant(0)]),
                    (RmwOp::Atom(AtomOp::Cas), _) if !self.unfolding.failed_cas_writes => {
                        let equal = state.compute(Computation::Setp(Cmp::Eq), *ty, [old, b, Term::Constant(0)]);
                        let mut failed = state.clone();
                        failed.path.constraints.push((equal, false));
                        failed.path.events[index].kind = EventKind::Read(L::failed(*access));
                        if let Some(d) = *d {
                            let value = failed.loaded(old, *ty);
                            failed.set(d, value, Set(0));
                        }
                        match vector {
                            // What follows in the vector would be lost.
                            Some(_) => return Err(Limit::Address),
                            None => self.run(failed)?,
                        }
                        state.path.constraints.push((equal, true));
                        depends = depends | one(index) | state.reads(b);
                        let expected = state.compute(Computation::MOV, *ty, [b; 3]);
                        old = state.node(Node::Expected(index, expected), state.reads(old) | state.reads(expected));
                        state.compute(Computation::MOV, *ty, [c; 3])
                    }
                    _ => {
                        state.node(Node::Rmw(*op, *ty, [old, b, c]), state.reads(old) | state.reads(b) | state.reads(c))
                    }
                };
                depends = depends | state.reads(value);
                let write = PathEvent::new(EventKind::Write(*access), pc);
                state.event(PathEvent { span, value, depends, rmw: true, reduction, vector, ..write });
                if let Some(d) = *d {
                    let value = state.loaded(old, *ty);
                    state.set(d, value, Set(0));
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

    /// What an access to an address accesses.
    fn span(&self, state: &State<'p, L>, a: Address, ty: Type) -> Result<Span, Limit> {
        let Term::Constant(base) = state.operand(a.base) else { return Err(Limit::Address) };
        let address = base.wrapping_add_signed(a.offset);
        let before = self.addresses.partition_point(|(at, _)| *at <= address);
        let &(at, variable) = before.checked_sub(1).and_then(|last| self.addresses.get(last)).ok_or(Limit::Address)?;
        let (offset, bytes) = (address - at, bytes(ty));
        let aligned = address.is_multiple_of(u64::from(bytes));
        if aligned && offset.saturating_add(u64::from(bytes)) <= u64::from(Span::BYTES) {
            Ok(Span { variable, offset: offset as u8, bytes })
        } else {
            Err(Limit::Address)
        }
    }

    /// What an access accesses, which is noted.
    fn touch(
        &mut self,
        state: &State<'p, L>,
        a: Address,
        ty: Type,
        writes: bool,
        statement: usize,
    ) -> Result<Span, Limit> {
        let span = self.span(state, a, ty)?;
        let touch = Touch { span, writes, statement };
        if !self.touched.contains(&touch) {
            self.touched.push(touch);
        }
        Ok(span)
    }

    fn is_private(&self, span: Span) -> bool {
        self.program.locations[usize::from(span.variable.0)].private
    }

    /// What the variable around a span holds at first.
    fn initial(&self, span: Span) -> Value {
        self.program.locations[usize::from(span.variable.0)].initial
    }

    /// Whether the path goes on.
    fn barrier(&mut self, state: &mut State<'p, L>, barrier: Barrier, pc: usize) -> Result<bool, Limit> {
        let (id, quorum) = match barrier.of {
            BarrierName::Cta { id, quorum, .. } => (state.operand(id), quorum.map(|quorum| state.operand(quorum))),
            BarrierName::Cluster { .. } => (Term::Constant(0), None),
        };
        let reduction = match barrier.part {
            BarrierPart::Red { op, .. } => Some(op),
            _ => None,
        };
        let name = Some(PathBarrier { name: barrier.of, id, quorum, reduction });
        let decided = match barrier.of {
            BarrierName::Cta { id, quorum, .. } => {
                state.decided(id) | quorum.map_or(Set(0), |quorum| state.decided(quorum))
            }
            BarrierName::Cluster { .. } => Set(0),
        };
        let reads = state.reads(id) | quorum.map_or(Set(0), |quorum| state.reads(quorum)) | decided;
        if barrier.part != BarrierPart::Wait {
            let (value, brought) = match barrier.part {
                BarrierPart::Red { p, .. } => (state.operand(p), state.decided(p)),
                _ => (Term::Constant(0), Set(0)),
            };
            let depends = reads | state.reads(value) | brought;
            state.event(PathEvent { barrier: name, value, depends, ..PathEvent::new(EventKind::Arrive, pc) });
            let last = || self.thread.code[pc + 1..].iter().all(|s| matches!(s.instruction, Instruction::Label(_)));
            let waits = barrier.part != BarrierPart::Arrive && quorum.is_some();
            if waits && self.unfolding.hung_at_end && last() {
                let mut blocked = state.path.clone();
                blocked.ending = Ending::Blocked;
                self.paths.push(blocked);
            }
        }
        if barrier.part != BarrierPart::Arrive {
            let result = state.read(PathEvent { barrier: name, depends: reads, ..PathEvent::new(EventKind::Wait, pc) });
            if let BarrierPart::Red { d, .. } = barrier.part {
                state.set(d, result, Set(0));
            }
        }
        Ok(true)
    }
}

/// Where the value of a register may lead.
#[derive(Clone, PartialEq, Eq)]
struct Leads {
    /// Arrays, by their addresses in units of [`ARRAY`].
    arrays: Vec<Value>,
    /// It may be an address that was read.
    anywhere: bool,
}

enum Settled {
    Known,
    /// On the paths that were unfolded from here.
    Elsewhere,
    /// The address is none, or none that is known.
    Outside,
}

enum Round {
    New,
    /// Nothing happened since an earlier arrival that anything later could notice.
    Idle,
    Beyond,
}

impl<L: Language> PathEvent<L> {
    fn new(kind: EventKind<L>, statement: usize) -> Self {
        Self {
            kind,
            span: Span::whole(Location(0)),
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

impl<L: Language> State<'_, L> {
    fn register(&self, register: Register) -> Term {
        self.path.registers[usize::from(register.0)]
    }

    fn set(&mut self, register: Register, value: Term, decided: Set) {
        self.path.registers[usize::from(register.0)] = value;
        self.decided[usize::from(register.0)] = decided;
    }

    /// The reads that decided which value an operand has.
    fn decided(&self, operand: Operand) -> Set {
        match operand {
            Operand::Register(register) => self.decided[usize::from(register.0)],
            _ => Set(0),
        }
    }

    /// All reads on which an operand depends.
    fn reads_of(&self, operand: Operand) -> Set {
        self.reads(self.operand(operand)) | self.decided(operand)
    }

    /// Where branches meet, they decide nothing more, but what the registers hold that they led to.
    fn join(&mut self, pc: usize) {
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

    fn operand(&self, operand: Operand) -> Term {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Immediate(value) => Term::Constant(value),
            Operand::Address(location) => Term::Constant(self.program.address_of(location)),
        }
    }

    /// Goes on where an event reads this value: everything that follows from that is known. Whether that may be.
    fn pin(&mut self, event: usize, value: Value) -> bool {
        let node = self.path.nodes.iter().position(|node| *node == Node::Event(event));
        let Some(node) = node.map(|node| Term::Node(node as u32)) else { return false };
        let sources = [node, Term::Constant(value), Term::Constant(0)];
        let equal = self.compute(Computation::Setp(Cmp::Eq), Type::U64, sources);
        match self.known(equal) {
            Some(false) => return false,
            Some(true) => {}
            None => self.path.constraints.push((equal, true)),
        }
        // What earlier branches found out about other terms holds of this value as well, or the path is none.
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

    /// What private memory holds, with the reads that decided it.
    fn held(&mut self, span: Span, initial: Value) -> (Term, Set) {
        let held = self.memory.iter().find(|(variable, ..)| *variable == span.variable);
        let (whole, decided) = held.map_or((Term::Constant(initial), Set(0)), |(_, term, decided)| (*term, *decided));
        (self.part(whole, span), decided)
    }

    /// Bytes of a variable.
    fn part(&mut self, whole: Term, span: Span) -> Term {
        let by = Term::Constant(u64::from(span.offset) * 8);
        let shifted = self.compute(Computation::Alu(AluOp::Shr), Type::U64, [whole, by, by]);
        let ones = Term::Constant(span.of(Value::MAX));
        self.compute(Computation::Alu(AluOp::And), Type::U64, [shifted, ones, ones])
    }

    /// Writes private memory.
    fn hold(&mut self, span: Span, initial: Value, value: Term, decided: Set) {
        let whole = Span::whole(span.variable);
        let index = self.memory.iter().position(|(variable, ..)| *variable == span.variable);
        let (old, before) =
            index.map_or((Term::Constant(initial), Set(0)), |index| (self.memory[index].1, self.memory[index].2));
        let controls = self.controls.iter().fold(decided, |all, control| all | control.reads);
        let (value, decided) = if span.bytes == whole.bytes {
            (value, controls)
        } else {
            let op = |op| Computation::Alu(op);
            let kept = Term::Constant(!span.within(span.of(Value::MAX)));
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

    fn reads(&self, term: Term) -> Set {
        match term {
            Term::Constant(_) => Set(0),
            Term::Node(node) => self.node_reads[node as usize],
        }
    }

    fn node(&mut self, node: Node, reads: Set) -> Term {
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
    fn compute(&mut self, computation: Computation, ty: Type, mut sources: [Term; 3]) -> Term {
        sources[computation.arity()..].fill(Term::Constant(0));
        if let [Term::Constant(a), Term::Constant(b), Term::Constant(c)] = sources
            && let Some(value) = computation.apply(ty, [a, b, c])
        {
            return Term::Constant(value);
        }
        if let Some(same) = folded(computation, ty, sources, &|term| self.path.bits(term)) {
            return same;
        }
        // What extends a value and what then cuts it off again leaves it as it was.
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

    /// Whether a condition holds, where that is known without the values that are read.
    fn known(&self, condition: Term) -> Option<bool> {
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
        // The same question was answered before.
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

    /// What a compare and exchange expected, in place of what it then read.
    fn expected(&self, term: Term) -> Term {
        match self.path.node(term) {
            Some(Node::Expected(_, expected)) => self.expected(expected),
            _ => term,
        }
    }

    fn event(&mut self, mut event: PathEvent<L>) {
        event.depends = self.controls.iter().fold(event.depends, |all, control| all | control.reads);
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
        if ty.is_signed() && ty.bits() < 64 {
            self.compute(Computation::Cvt(Type::S64), ty, [read, Term::Constant(0), Term::Constant(0)])
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
            Node::Computed(computation, ty, terms) => computation.apply(ty, values(terms)?),
            Node::Rmw(op, ty, terms) => {
                let [old, b, c] = values(terms)?;
                op.apply(ty, old, b, c)
            }
        }
    }

    /// The comparison that a term is.
    pub fn comparison(&self, term: Term) -> Option<(Cmp, Term, Term)> {
        match self.node(term)? {
            Node::Computed(Computation::Setp(cmp), _, [a, b, _]) => Some((cmp, a, b)),
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

    /// How many bits a term has at most; those above are 0.
    pub(crate) fn bits(&self, term: Term) -> u32 {
        match term {
            Term::Constant(value) => Value::BITS - value.leading_zeros(),
            Term::Node(node) => match self.nodes[node as usize] {
                Node::Event(event) => match self.events.get(event) {
                    Some(PathEvent { kind: EventKind::Read(_), span, .. }) => u32::from(span.bytes) * 8,
                    _ => Value::BITS,
                },
                Node::Expected(_, expected) => self.bits(expected),
                Node::Computed(computation, ty, _) => computation.bits(ty).min(Value::BITS),
                Node::Rmw(_, ty, _) => ty.bits().min(Value::BITS),
            },
        }
    }

    /// Of a term that is computed of one other, or of it and constants, that other, if different values of it give different
    /// ones of the term.
    pub(crate) fn turned(&self, term: Term) -> Option<Term> {
        let Some(Node::Computed(computation, ty, sources)) = self.node(term) else { return None };
        let source = match sources {
            [a, ..] if computation.is_injective(ty) => a,
            [a, Term::Constant(_), _] if computation.is_sum() => a,
            [Term::Constant(_), b, _] if computation.is_sum() => b,
            _ => return None,
        };
        (self.bits(source) <= ty.bits()).then_some(source)
    }

    /// Whether the path stops at a loop's bound.
    pub fn is_cut(&self) -> bool {
        matches!(self.ending, Ending::Cut(..))
    }

    /// Where and why it is not known how the path goes on.
    pub fn cut_at(&self) -> Option<(Limit, usize)> {
        match self.ending {
            Ending::Cut(limit, statement) => Some((limit, statement)),
            _ => None,
        }
    }

    /// The value of a term that depends on nothing that is read.
    fn constant(&self, term: Term) -> Option<Value> {
        self.value(term, &|_| None)
    }

    /// All values that a term may have, if that are few.
    fn values(&self, term: Term) -> Option<Vec<Value>> {
        let Some(Node::Computed(computation, ty, sources)) = self.node(term) else {
            return if let Term::Constant(value) = term { Some(vec![value]) } else { None };
        };
        if let (Computation::Alu(AluOp::And), [_, Term::Constant(mask), _] | [Term::Constant(mask), ..]) =
            (computation, sources)
        {
            let mask = truncate(ty, mask);
            if mask.count_ones() <= MAX_ADDRESSES.ilog2() {
                // Each part of the mask.
                let next = |part: &Value| (*part != mask).then(|| (part | !mask).wrapping_add(1) & mask);
                return Some(std::iter::successors(Some(0), next).collect());
            }
        }
        let used = |index: usize| if index < computation.arity() { self.values(sources[index]) } else { Some(vec![0]) };
        let [a, b, c] = [used(0)?, used(1)?, used(2)?];
        if a.len() * b.len() * c.len() > MAX_ADDRESSES {
            return None;
        }
        let mut values = Vec::new();
        for &a in &a {
            for &b in &b {
                for &c in &c {
                    values.push(computation.apply(ty, [a, b, c])?);
                }
            }
        }
        values.sort_unstable();
        values.dedup();
        Some(values)
    }

    /// The one event on which a term depends, and all of its values with which the term has this one. `None` if there is no one
    /// event, or if there may be more values than a few.
    fn preimages(&self, term: Term, value: Value, all: &mut Vec<Value>) -> Option<usize> {
        let node = match term {
            Term::Node(node) => self.nodes[node as usize],
            Term::Constant(_) => return None,
        };
        let (computation, ty, sources) = match node {
            Node::Event(event) => {
                let bits = self.bits(term);
                if bits >= Value::BITS || value >> bits == 0 {
                    all.push(value);
                }
                return Some(event);
            }
            Node::Computed(computation, ty, sources) => (computation, ty, sources),
            Node::Rmw(..) | Node::Expected(..) => return None,
        };
        let Computation::Alu(op) = computation else {
            let Computation::Cvt(to) = computation else { return None };
            // An extension; where the sign is one, the value has to agree.
            if to.bits() < ty.bits() {
                return None;
            }
            return self.among(sources[0], &[truncate(ty, value)], computation, ty, sources, value, all);
        };
        let width = |value: Value| truncate(ty, value);
        let (source, candidates) = match (op, sources) {
            (AluOp::Mov, [a, ..]) => (a, vec![value]),
            (AluOp::Add, [a, Term::Constant(c), _] | [Term::Constant(c), a, _]) => {
                (a, vec![width(value.wrapping_sub(c))])
            }
            (AluOp::Sub, [a, Term::Constant(c), _]) => (a, vec![width(value.wrapping_add(c))]),
            (AluOp::Sub, [Term::Constant(c), a, _]) => (a, vec![width(c.wrapping_sub(value))]),
            (AluOp::Xor, [a, Term::Constant(c), _] | [Term::Constant(c), a, _]) => (a, vec![width(value ^ c)]),
            (AluOp::MulLo, [a, Term::Constant(c), _] | [Term::Constant(c), a, _]) => (a, quotients(value, c, ty)?),
            (AluOp::MadLo, [a, Term::Constant(c), Term::Constant(d)] | [Term::Constant(c), a, Term::Constant(d)]) => {
                (a, quotients(value.wrapping_sub(d), c, ty)?)
            }
            (AluOp::Shl, [a, Term::Constant(c), _]) if c < ty.bits().into() => (a, quotients(value, 1 << c, ty)?),
            _ => return None,
        };
        // A value that the source never has is none; of a wider source, others have the same low bits.
        if self.bits(source) > ty.bits() {
            return None;
        }
        self.among(source, &candidates, computation, ty, sources, value, all)
    }

    /// As [`Self::preimages`], by the values that one source of a computation may have.
    #[expect(clippy::too_many_arguments, reason = "a computation and its result")]
    fn among(
        &self,
        source: Term,
        candidates: &[Value],
        computation: Computation,
        ty: Type,
        sources: [Term; 3],
        value: Value,
        all: &mut Vec<Value>,
    ) -> Option<usize> {
        let bits = self.bits(source);
        let mut event = self.event_of(source)?;
        for &candidate in candidates {
            let put = |term: Term| match term {
                _ if term == source => candidate,
                Term::Constant(constant) => constant,
                Term::Node(_) => 0,
            };
            let fits = bits >= Value::BITS || candidate >> bits == 0;
            if fits && computation.apply(ty, sources.map(put)) == Some(value) {
                event = self.preimages(source, candidate, all)?;
            }
        }
        (all.len() <= MAX_PREIMAGES).then_some(event)
    }

    /// The one event on which a term depends.
    fn event_of(&self, term: Term) -> Option<usize> {
        let Term::Node(node) = term else { return None };
        match self.nodes[node as usize] {
            Node::Event(event) => Some(event),
            Node::Computed(_, _, sources) => {
                let mut events = sources.into_iter().filter(|source| matches!(source, Term::Node(_)));
                let first = events.next()?;
                events.next().is_none().then(|| self.event_of(first)).flatten()
            }
            Node::Rmw(..) | Node::Expected(..) => None,
        }
    }

    /// The constants in a sum.
    fn addends(&self, term: Term, constants: &mut Vec<Value>) {
        match (term, self.node(term)) {
            (Term::Constant(value), _) => constants.push(value),
            (_, Some(Node::Computed(computation, _, [a, b, c]))) => match computation {
                Computation::Alu(AluOp::Add | AluOp::Sub | AluOp::Or) => {
                    self.addends(a, constants);
                    self.addends(b, constants);
                }
                Computation::Alu(AluOp::Mov) | Computation::Cvt(_) => self.addends(a, constants),
                Computation::Alu(AluOp::MadLo) => self.addends(c, constants),
                _ => {}
            },
            _ => {}
        }
    }

    /// The events whose values a term depends on.
    pub fn sources(&self, term: Term) -> Set {
        let Term::Node(node) = term else { return Set(0) };
        match self.nodes[node as usize] {
            Node::Event(event) => Set::one(event),
            Node::Expected(event, expected) => Set::one(event) | self.sources(expected),
            Node::Computed(_, _, terms) | Node::Rmw(_, _, terms) => {
                terms.into_iter().fold(Set(0), |events, term| events | self.sources(term))
            }
        }
    }
}

/// What a function of integers gives whatever the values are that are not known, or a source that it gives back.
fn folded(computation: Computation, ty: Type, [a, b, c]: [Term; 3], bits: &dyn Fn(Term) -> u32) -> Option<Term> {
    use Term::Constant;
    let ones = truncate(ty, Value::MAX);
    let is = |term: Term, value: Value| matches!(term, Constant(constant) if truncate(ty, constant) == value);
    let either = |value: Value| is(a, value) || is(b, value);
    // What is wider has to be truncated.
    let copy = |term: Term| (bits(term) <= ty.bits()).then_some(term);
    let signed = ty.is_signed();
    let shifts_out = || matches!(b, Constant(b) if truncate(Type::U32, b) >= ty.bits().into());
    let zero = Some(Constant(0));
    // A mask that has all bits of a value.
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
                // Nothing is below 0, and 0 above nothing.
                Cmp::Lt | Cmp::Lo | Cmp::Ge | Cmp::Hs if !signed && is(b, 0) => holds(0, 0),
                Cmp::Gt | Cmp::Hi | Cmp::Le | Cmp::Ls if !signed && is(a, 0) => holds(0, 0),
                _ => None,
            };
        }
        Computation::Cvt(to) => return copy(a).filter(|_| !signed && to.bits() >= ty.bits()),
    };
    match op {
        AluOp::Mov => copy(a),
        AluOp::And | AluOp::MulLo if either(0) => zero,
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

/// All values of a type's width that give this one, multiplied by a constant; `None` if there are more than a few.
fn quotients(value: Value, by: Value, ty: Type) -> Option<Vec<Value>> {
    let (value, by) = (truncate(ty, value), truncate(ty, by));
    let twos = by.trailing_zeros();
    if by == 0 || 1usize.checked_shl(twos)? > MAX_PREIMAGES {
        return None;
    }
    if value.trailing_zeros() < twos {
        return Some(Vec::new());
    }
    // The inverse of an odd number, by Newton's iteration: each round doubles the bits that are right.
    let odd = by >> twos;
    let inverse =
        (0..6).fold(odd, |inverse: Value, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))));
    let bits = ty.bits() - twos;
    let low = truncate(ty, (value >> twos).wrapping_mul(inverse)) & (Value::MAX >> (64 - bits));
    Some((0..1 << twos).map(|high: Value| low | high << (bits % 64)).collect())
}

/// The addresses of an access, and what is accessed there.
fn addresses<L: Language>(access: &Instruction<L>, all: &mut Vec<(Address, Type)>) {
    match access {
        Instruction::Load { a, ty, .. } | Instruction::Store { a, ty, .. } | Instruction::Rmw { a, ty, .. } => {
            all.push((*a, *ty));
        }
        Instruction::Vector(elements) => elements.iter().for_each(|element| addresses(element, all)),
        _ => {}
    }
}

/// The set of one event, which may be one too many for now.
fn one(event: usize) -> Set {
    if event < MAX_EVENTS { Set::one(event) } else { Set(0) }
}
