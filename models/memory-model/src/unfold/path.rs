//! Paths: the events along one course of control through a thread, over values that are not read yet.

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

/// A value that is not known until an event gives its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Node {
    /// The value that an event of the path reads, or the result of the wait of a `bar.red`.
    Event(usize),
    /// The result of an instruction on registers.
    Computed(Computation, Type, [Term; 3]),
    /// The value that a read-modify-write writes, computed from the old value and its operands.
    Rmw(RmwOp, Type, [Term; 3]),
    /// The value that the read of a successful compare and exchange returns: the expected value.
    Expected(usize, Term),
}

/// The kind of an event.
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
        /// The kind of the operation, which selects its rules.
        kind: OperationKind,
        /// The bytes that it completes at an mbarrier, whose span is the event's.
        bytes: Option<u32>,
    },
    /// Any other step of an asynchronous instruction. For an operation on an mbarrier, the event's span is the
    /// mbarrier's.
    Step(Step),
    /// All writes to a variable beyond the bound of a loop; they write one value if that value is known.
    Beyond {
        /// Whether they write [`PathEvent::value`].
        known: bool,
    },
}

/// An event of a path.
#[derive(Clone, Copy, Debug)]
pub struct PathEvent<L: Language> {
    /// The kind of the event.
    pub kind: EventKind<L>,
    /// Meaningless unless the event is a memory operation.
    pub span: Span,
    /// The value that is written, or contributed to a barrier.
    pub value: Term,
    /// The reads of the path on which this event depends, through values, or through branches that decide about it.
    pub depends: Set,
    /// In a thread of the host, the reads on which the event depends syntactically.
    pub written: Written,
    /// Whether this is the write of a read-modify-write, whose read is the event before.
    pub rmw: bool,
    /// Part of a read-modify-write without a destination.
    pub reduction: bool,
    /// Events of one vector instruction have the same number.
    pub vector: Option<u16>,
    /// For an event outside of program order, the number of its asynchronous operation in the thread.
    pub operation: Option<u16>,
    /// The barrier of an arrival or a wait.
    pub barrier: Option<PathBarrier>,
    /// The index into the thread's code.
    pub statement: usize,
}

/// The reads of a path on which an event depends syntactically, whatever the values are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    /// Through its address.
    pub address: Set,
    /// Through the value that it writes.
    pub data: Set,
    /// Through an earlier branch.
    pub control: Set,
    /// Through any of these, by a chain that contains the result of a successful compare and exchange: Arm's pick
    /// dependencies.
    pub picked: Set,
    /// The same, through its address.
    pub picked_address: Set,
}

/// The barrier of an arrival or a wait.
#[derive(Clone, Copy, Debug)]
pub struct PathBarrier {
    /// The barrier.
    pub name: BarrierName,
    /// The barrier's number.
    pub id: Term,
    /// The number of participating threads.
    pub quorum: Option<Term>,
    /// The reduction of a `bar.red`.
    pub reduction: Option<Reduction>,
}

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// After the last statement.
    Returned,
    /// The last event arrived at a barrier at which the remaining threads never arrive.
    Blocked,
    /// The path is unknown after the statement with this index.
    Cut(Limit, usize),
    /// A `trap`: all threads end.
    Trapped,
    /// Before an iteration of a loop, because another thread reached a `trap`.
    Stopped,
}

/// One course of control through a thread.
#[derive(Clone, Debug)]
pub struct Path<L: Language> {
    /// The events, in program order.
    pub events: Vec<PathEvent<L>>,
    /// The values that are computed.
    pub nodes: Vec<Node>,
    /// The conditions of the branches: each term is to be zero or not.
    pub constraints: Vec<(Term, bool)>,
    /// The last values of the registers.
    pub registers: Vec<Term>,
    /// The end of the path.
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
    /// Whether this path takes the same course as a path of a thread with the same code.
    pub fn is_like(&self, other: &Self) -> bool {
        let steps = |path: &Self| path.events.iter().map(|event| (event.statement, event.kind)).collect::<Vec<_>>();
        self.constraints == other.constraints && self.ending == other.ending && steps(self) == steps(other)
    }

    /// The value of a term, if `read` has the values of the events that the term depends on.
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

    /// The comparison that a term computes.
    pub fn comparison(&self, term: Term) -> Option<(Cmp, Term, Term)> {
        self.compared(term).map(|(cmp, _, a, b)| (cmp, a, b))
    }

    /// The comparison that a term computes, with the type of its operands.
    pub(crate) fn compared(&self, term: Term) -> Option<(Cmp, Type, Term, Term)> {
        match self.node(term)? {
            Node::Computed(Computation::Setp(cmp), ty, [a, b, _]) => Some((cmp, ty, a, b)),
            _ => None,
        }
    }

    /// The event whose value a term copies.
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

    /// The maximum number of bits of a term; higher bits are 0.
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

    /// The only unknown source of a term, if different values of that source give different values of the term.
    /// Constants may be further sources.
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

    /// The point after which the path is unknown, and the reason.
    pub fn cut_at(&self) -> Option<(Limit, usize)> {
        match self.ending {
            Ending::Cut(limit, statement) => Some((limit, statement)),
            _ => None,
        }
    }

    /// The value of a term that depends on no read.
    pub(super) fn constant(&self, term: Term) -> Option<Value> {
        self.value(term, &|_| None)
    }

    /// The events whose values a term depends on.
    pub fn sources(&self, term: Term) -> Set {
        let Term::Node(node) = term else { return Set(0) };
        match self.nodes[node as usize] {
            Node::Event(event) => Set::singleton(event),
            Node::Expected(event, expected) => Set::singleton(event) | self.sources(expected),
            Node::Computed(_, _, terms) | Node::Rmw(_, _, terms) => {
                terms.into_iter().fold(Set(0), |events, term| events | self.sources(term))
            }
        }
    }
}

/// Whether threads can take these paths in one execution: paths stop where another thread traps, and nowhere else.
pub(crate) fn go_together<L: Language>(paths: &[&Path<L>]) -> bool {
    let any = |is: fn(Ending) -> bool| paths.iter().any(|path| is(path.ending));
    let early = |ending| matches!(ending, Ending::Cut(..));
    match any(|ending| ending == Ending::Trapped) {
        // A path that continues beyond a loop's bound also has a variant that stops before it.
        true => !any(early),
        false => !any(|ending| ending == Ending::Stopped),
    }
}
