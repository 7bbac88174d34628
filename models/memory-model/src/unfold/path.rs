//! Paths: what happens along one course of a thread, over values still to be read.

use crate::{
    asynchronous::{OperationKind, Step},
    limit::Limit,
    program::{BarrierName, Cmp, Computation, Language, Location, Reduction, RmwOp, Span, Type, Value},
    relation::Set,
};

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
    /// An asynchronous operation starts.
    Start(OperationKind),
    /// An asynchronous operation is complete.
    Complete {
        /// Which rules it follows.
        kind: OperationKind,
        /// The bytes that it completes at an mbarrier, whose span is the event's.
        bytes: Option<u32>,
    },
    /// What else asynchronous instructions do. At an mbarrier, the event's span is its.
    Step(Step),
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
    /// In a thread of the host, the reads on which it depends as the instructions are written.
    pub written: Written,
    /// The write of a read-modify-write, whose read is the event before.
    pub rmw: bool,
    /// Part of a read-modify-write without a destination.
    pub reduction: bool,
    /// Events of one vector instruction have the same number.
    pub vector: Option<u16>,
    /// Of what is in no program order: the number of the asynchronous operation in its thread.
    pub operation: Option<u16>,
    /// Of what arrives or waits.
    pub barrier: Option<PathBarrier>,
    /// The index into the thread's code.
    pub statement: usize,
}

/// The reads of a path on which an event depends as the instructions are written, whatever the values are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    /// Through its address.
    pub address: Set,
    /// Through the value that it writes.
    pub data: Set,
    /// Through a branch in front of it.
    pub control: Set,
    /// Through any of these, where on the way stands what a compare and exchange that succeeds gives: Arm's pick dependencies.
    pub picked: Set,
    /// The same, through its address.
    pub picked_address: Set,
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

impl<L: Language> PathEvent<L> {
    pub(super) fn new(kind: EventKind<L>, statement: usize) -> Self {
        Self {
            kind,
            span: Span::whole(Location(0)),
            value: Term::Constant(0),
            depends: Set(0),
            written: Written::default(),
            rmw: false,
            reduction: false,
            vector: None,
            operation: None,
            barrier: None,
            statement,
        }
    }
}

impl<L: Language> Path<L> {
    /// Whether this is the same course as another one of a thread with the same code.
    pub fn is_like(&self, other: &Self) -> bool {
        let steps = |path: &Self| path.events.iter().map(|event| (event.statement, event.kind)).collect::<Vec<_>>();
        self.constraints == other.constraints && self.ending == other.ending && steps(self) == steps(other)
    }

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
        self.compared(term).map(|(cmp, _, a, b)| (cmp, a, b))
    }

    /// The comparison that a term is, with the type of what is compared.
    pub(crate) fn compared(&self, term: Term) -> Option<(Cmp, Type, Term, Term)> {
        match self.node(term)? {
            Node::Computed(Computation::Setp(cmp), ty, [a, b, _]) => Some((cmp, ty, a, b)),
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

    pub(super) fn node(&self, term: Term) -> Option<Node> {
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
    pub(super) fn constant(&self, term: Term) -> Option<Value> {
        self.value(term, &|_| None)
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
