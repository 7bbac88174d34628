//! The events of asynchronous instructions in a path.

use ptx_isa::effects::Proxy;

use super::{
    path::{EventKind, Node, PathEvent, Term},
    state::State,
    thread::Unfold,
};
use crate::{
    asynchronous::{
        AsyncAccess, Asynchronous, Awaited, Completion, MbarrierOperation, MbarrierStep, Operation, OperationKind,
        Phase, Signal, Step, Written,
    },
    limit::Limit,
    place::Scope,
    program::{Address, AluOp, Computation, Language, Operand, Span, Type},
    relation::Set,
};

/// The type of an mbarrier in memory.
pub(super) const MBARRIER: Type = Type::B64;

impl<'p, L: Language> Unfold<'p, L> {
    pub(super) fn asynchronous(&mut self, state: &mut State<'p, L>, of: &Asynchronous, pc: usize) -> Result<(), Limit> {
        match of {
            Asynchronous::Start(operation) => self.start(state, operation, pc)?,
            Asynchronous::CommitGroup(group) => state.step(Step::CommitGroup(*group), pc),
            &Asynchronous::WaitGroup { of, pending, read, all } => {
                state.step(Step::WaitGroup { of, pending, read, all }, pc);
            }
            Asynchronous::TensorWait(of) => state.step(Step::TensorWait(*of), pc),
            &Asynchronous::Commit { cta_group, of, mbarrier } => {
                self.ask(state, Signal::Commit(cta_group, of), mbarrier, pc)?;
            }
            &Asynchronous::ArriveOnCopies { mbarrier, noinc } => {
                self.ask(state, Signal::Copies { noinc }, mbarrier, pc)?;
            }
            &Asynchronous::Allocate { d, tensor, .. } => {
                self.write(state, d, Proxy::Generic, Some(tensor), pc)?;
                self.write(state, tensor, Proxy::Tensor, None, pc)?;
            }
            &Asynchronous::Deallocate { tensor, .. } => self.write(state, tensor, Proxy::Tensor, None, pc)?,
            Asynchronous::Relinquish => {}
            &Asynchronous::AcquireTensormap { a, scope } => {
                let span = self.span(state, a, MBARRIER)?;
                state.event(PathEvent { span, ..PathEvent::new(EventKind::Step(Step::AcquireTensormap(scope)), pc) });
            }
            Asynchronous::Mbarrier { a, of } => self.mbarrier(state, *a, of, pc)?,
        }
        Ok(())
    }

    fn start(&mut self, state: &mut State<'p, L>, operation: &Operation, pc: usize) -> Result<(), Limit> {
        let number = state.next_operation();
        let new = |kind| PathEvent { operation: number, ..PathEvent::new(kind, pc) };
        state.event(new(EventKind::Start(operation.kind)));
        // The read and the write of a reduction are adjacent.
        let reduces = |written: &Written| match *written {
            Written::Reduced(_, [_, read]) | Written::ReducedBy(_, read, _) => Some(read),
            _ => None,
        };
        let reduced: Vec<usize> = operation.writes.iter().filter_map(|(_, written)| reduces(written)).collect();
        let mut reads = vec![None; operation.reads.len()];
        for (index, access) in operation.reads.iter().enumerate().filter(|(index, _)| !reduced.contains(index)) {
            reads[index] = Some(self.read_of(state, access, number, None, pc)?);
        }
        for (access, written) in &operation.writes {
            // Each reduction is relaxed (sections 9.7.9.25.5.2 and 9.7.13.6).
            let scope = if operation.kind == OperationKind::Store { Scope::Cluster } else { Scope::Gpu };
            let reduction = reduces(written).map(|_| scope);
            if let Some(read) = reduces(written) {
                let access = operation.reads.get(read).ok_or(Limit::Unmodelled)?;
                reads[read] = Some(self.read_of(state, access, number, reduction, pc)?);
            }
            let span = self.shared(state, access.a, access.ty, true, pc)?;
            let read = |index: usize| reads.get(index).copied().flatten().ok_or(Limit::Unmodelled);
            let mut decided = state.decided(access.a.base);
            let op = |op| Computation::Alu(op);
            let value = match *written {
                Written::Read(index) => read(index)?,
                Written::Value(value) => {
                    decided = decided | state.decided(value);
                    state.operand(value)
                }
                Written::MultiplyAdd([a, b, d]) => {
                    let sources = [read(a)?, read(b)?, read(d)?];
                    state.compute(op(AluOp::MadLo), Type::U64, sources)
                }
                Written::Reduced(by, _) | Written::ReducedBy(by, ..) if !op(by).is_known(access.ty) => {
                    return Err(Limit::Computation);
                }
                Written::Reduced(by, [a, b]) => {
                    let sources = [read(b)?, read(a)?, Term::Constant(0)];
                    state.compute(op(by), access.ty, sources)
                }
                Written::ReducedBy(by, old, value) => {
                    decided = decided | state.decided(value);
                    let sources = [read(old)?, state.operand(value), Term::Constant(0)];
                    state.compute(op(by), access.ty, sources)
                }
            };
            let value = state.compute(Computation::MOV, access.ty, [value; 3]);
            let depends = state.reads(value) | decided;
            let semantics = L::asynchronous(access.proxy, reduction).ok_or(Limit::Unmodelled)?;
            let rmw = reduction.is_some();
            state.event(PathEvent { span, value, depends, rmw, reduction: rmw, ..new(EventKind::Write(semantics)) });
        }
        let mut complete = new(EventKind::Complete { kind: operation.kind, bytes: None });
        if let Completion::Transactions { mbarrier, bytes } = operation.completion {
            complete.kind = EventKind::Complete { kind: operation.kind, bytes: Some(bytes) };
            complete.span = self.span(state, mbarrier, MBARRIER)?;
        }
        state.event(complete);
        if let (Some(d), Some(Some(value))) = (operation.d, reads.first()) {
            state.set(d, *value, Set(0));
        }
        Ok(())
    }

    /// A read of an operation.
    fn read_of(
        &mut self,
        state: &mut State<'p, L>,
        access: &AsyncAccess,
        operation: Option<u16>,
        reduction: Option<Scope>,
        pc: usize,
    ) -> Result<Term, Limit> {
        let span = self.shared(state, access.a, access.ty, false, pc)?;
        let depends = state.decided(access.a.base);
        let semantics = L::asynchronous(access.proxy, reduction).ok_or(Limit::Unmodelled)?;
        let event = PathEvent::new(EventKind::Read(semantics), pc);
        let read = state.read(PathEvent { span, depends, operation, reduction: reduction.is_some(), ..event });
        Ok(state.loaded(read, access.ty))
    }

    /// The bytes of an access that must be an event.
    fn shared(&mut self, state: &State<'p, L>, a: Address, ty: Type, writes: bool, pc: usize) -> Result<Span, Limit> {
        let span = self.touch(state, a, ty, writes, pc)?;
        if self.is_private(span) { Err(Limit::Unmodelled) } else { Ok(span) }
    }

    /// Writes an operand's value; without an operand, the initial value.
    fn write(
        &mut self,
        state: &mut State<'p, L>,
        a: Address,
        proxy: Proxy,
        of: Option<Address>,
        pc: usize,
    ) -> Result<(), Limit> {
        let span = self.shared(state, a, Type::B64, true, pc)?;
        let semantics = L::asynchronous(proxy, None).ok_or(Limit::Unmodelled)?;
        let value = match of {
            Some(of) => state.operand(of.base),
            None => Term::Constant(self.initial(span)),
        };
        state.event(PathEvent { span, value, ..PathEvent::new(EventKind::Write(semantics), pc) });
        Ok(())
    }

    fn ask(&mut self, state: &mut State<'p, L>, signal: Signal, mbarrier: Address, pc: usize) -> Result<(), Limit> {
        let span = self.span(state, mbarrier, MBARRIER)?;
        state.event(PathEvent { span, ..PathEvent::new(EventKind::Step(Step::Ask(signal)), pc) });
        let operation = state.next_operation();
        state.event(PathEvent { span, operation, ..PathEvent::new(EventKind::Step(Step::Signal(signal)), pc) });
        Ok(())
    }

    fn mbarrier(
        &mut self,
        state: &mut State<'p, L>,
        a: Address,
        of: &MbarrierOperation,
        pc: usize,
    ) -> Result<(), Limit> {
        let span = self.span(state, a, MBARRIER)?;
        let known = |state: &State<'p, L>, operand: Operand| match state.operand(operand) {
            Term::Constant(value) => u32::try_from(value).map_err(|_| Limit::Unmodelled),
            Term::Node(_) => Err(Limit::Unmodelled),
        };
        let event = |state: &mut State<'p, L>, step| {
            state.event(PathEvent { span, ..PathEvent::new(EventKind::Step(Step::Mbarrier(step)), pc) });
        };
        match *of {
            MbarrierOperation::Init { count } => {
                let count = known(state, count)?;
                event(state, MbarrierStep::Init { count });
            }
            MbarrierOperation::Inval => event(state, MbarrierStep::Inval),
            MbarrierOperation::ExpectTx { bytes } => {
                let bytes = known(state, bytes)?;
                event(state, MbarrierStep::ExpectTx { bytes });
            }
            MbarrierOperation::CompleteTx { bytes } => {
                let bytes = known(state, bytes)?;
                event(state, MbarrierStep::CompleteTx { bytes });
            }
            MbarrierOperation::Arrive { d, count, expects, drops, relaxed, scope } => {
                let count = known(state, count)?;
                let expects = expects.map_or(Ok(0), |bytes| known(state, bytes))?;
                let arrival = state.path.events.len();
                event(state, MbarrierStep::Arrive { count, expects, drops, relaxed, scope });
                if let Some(d) = d {
                    let phase = state.node(Node::Event(arrival), Set(0));
                    state.set(d, phase, Set(0));
                }
            }
            MbarrierOperation::Wait { d, phase, relaxed, scope } => {
                let phase = match phase {
                    Phase::Parity(parity) => Awaited::Parity(known(state, parity)? & 1 != 0),
                    Phase::State(of) => {
                        let arrival = state.path.copied(state.operand(of)).ok_or(Limit::Unmodelled)?;
                        let is_arrival = |kind: EventKind<L>| {
                            matches!(kind, EventKind::Step(Step::Mbarrier(MbarrierStep::Arrive { .. })))
                        };
                        match state.path.events.get(arrival) {
                            Some(event) if is_arrival(event.kind) && event.span == span => {
                                Awaited::Arrival(state.path.events.len() - arrival)
                            }
                            _ => return Err(Limit::Unmodelled),
                        }
                    }
                };
                // A wait that does not observe a complete phase observes no arrivals.
                let mut open = state.clone();
                open.set(d, Term::Constant(0), Set(0));
                // The number of failed waits is not known, so the iteration counts.
                open.path.constraints.push((Term::Constant(1), true));
                self.run(open)?;
                event(state, MbarrierStep::Wait { phase, relaxed, scope });
                state.set(d, Term::Constant(1), Set(0));
            }
        }
        Ok(())
    }
}

impl<L: Language> State<'_, L> {
    fn next_operation(&mut self) -> Option<u16> {
        self.operations += 1;
        Some(self.operations)
    }

    fn step(&mut self, step: Step, pc: usize) {
        self.event(PathEvent::new(EventKind::Step(step), pc));
    }
}
