//! Data races (section 8.7.1): conflicting operations without an order.

use strum::{Display, EnumIter, IntoStaticStr};

use super::{
    Proxy, Ptx,
    asynchronous::{bounds, pipelined},
    axioms::Judged,
    readings::Readings,
};
use crate::{
    asynchronous::{MbarrierStep, Memory, Step},
    execution::{Execution, Skeleton},
    relation::{Relation, Set},
    unfold::EventKind,
};

/// Two conflicting operations without an order, in an execution that the model allows.
#[derive(Clone, Debug)]
pub struct Race {
    /// The execution.
    pub execution: Box<Execution<Ptx>>,
    /// The event that comes first in the execution's list.
    pub first: usize,
    /// The event that comes second.
    pub second: usize,
    /// The missing order.
    pub why: Missing,
}

/// The missing condition for an order of two conflicting operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Missing {
    /// No synchronization leads from one operation to the start of the other.
    Synchronization,
    /// One operation is issued after the other, without a wait for the other's completion.
    Completion,
    /// One operation may start before its thread's wait, or before an event that the wait observes.
    Start,
    /// Execution is ordered, but memory is not: the order uses a relaxed operation, or an operation whose scope does
    /// not include the other thread.
    Causality,
    /// The operations are ordered, but reach memory through different proxies.
    ProxyFence,
}

impl Missing {
    /// The section of the PTX ISA manual that requires it.
    pub fn section(self) -> &'static str {
        match self {
            Self::Synchronization => "8.7.1",
            Self::Completion => "8.9.1.1, 9.7.16.6.1",
            Self::Start => "9.7.16.6.3",
            Self::Causality => "8.9.4",
            Self::ProxyFence => "8.9.5",
        }
    }

    /// The missing condition, as text.
    pub fn needed(self) -> &'static str {
        match self {
            Self::Synchronization => "a synchronization of the two threads",
            Self::Completion => "a wait for the completion of the first operation before the second starts",
            Self::Start => {
                "a tcgen05.fence between the operation and the synchronization of its thread (for wgmma, a wgmma.fence)"
            }
            Self::Causality => "a release and an acquire, each with a scope that has the other thread",
            Self::ProxyFence => "a proxy fence on the path between the two accesses",
        }
    }
}

/// The relations of an execution before its coherence order: data races do not depend on that order.
pub(super) struct Known<'k> {
    pub(super) skeleton: &'k Skeleton<Ptx>,
    pub(super) morally_strong: &'k Relation,
    pub(super) base_causality: &'k Relation,
    pub(super) causality: &'k Relation,
    pub(super) execution_order: &'k Relation,
    pub(super) readings: Readings,
}

/// Whether an event at an mbarrier begins or ends the mbarrier's life; `None` if it is not an event at an mbarrier.
fn is_of_mbarrier(kind: EventKind<Ptx>) -> Option<bool> {
    match kind {
        EventKind::Step(Step::Mbarrier(MbarrierStep::Init { .. } | MbarrierStep::Inval)) => Some(true),
        EventKind::Step(Step::Mbarrier(_) | Step::Ask(_) | Step::Signal(_)) => Some(false),
        EventKind::Complete { bytes: Some(_), .. } => Some(false),
        _ => None,
    }
}

impl<'k> Known<'k> {
    pub(super) fn new(judged: &'k Judged) -> Self {
        Self {
            skeleton: &judged.execution.skeleton,
            morally_strong: &judged.morally_strong,
            base_causality: &judged.base_causality,
            causality: &judged.causality,
            execution_order: &judged.execution_order,
            readings: judged.conventions.readings,
        }
    }

    /// Section 8.7.1: conflicting operations that are not morally strong and that causality order does not relate;
    /// also, at an mbarrier, an initialization and a use that base causality does not relate.
    pub(super) fn races(&self) -> impl Iterator<Item = (usize, usize, Missing)> {
        let x = self.skeleton;
        let memory = x.memory() - x.inits;
        let mbarriers: Set = x.filter(|event| is_of_mbarrier(event.kind).is_some());
        let at = |a: usize, b: usize| x.events[a].location == x.events[b].location;
        let conflicts = move |a: usize, b: usize| {
            at(a, b) && (x.writes.contains(a) || x.writes.contains(b)) && !x.same_operation(a, b)
        };
        let begins = |event: usize| is_of_mbarrier(x.events[event].kind) == Some(true);
        let either = |of: &Relation, a: usize, b: usize| of.contains(a, b) || of.contains(b, a);
        let pairs = |of: Set| of.flat_map(move |a| of.filter(move |&b| a < b).map(move |b| (a, b)));
        let operations = pairs(memory).filter(move |&(a, b)| {
            conflicts(a, b) && !self.morally_strong.contains(a, b) && !either(self.causality, a, b)
        });
        // A later arrival uses the mbarrier from the time at which its thread requests the arrival.
        let asked = |event: usize| match x.events[event].kind {
            EventKind::Step(Step::Signal(_)) => event - 1,
            EventKind::Complete { .. } => bounds(x, event).0,
            _ => event,
        };
        // A wait uses the mbarrier before it is ordered after the arrivals that it observes.
        let before = move |a: usize, b: usize| match x.events[b].kind {
            EventKind::Step(Step::Mbarrier(MbarrierStep::Wait { .. })) => {
                x.po.contains(a, b)
                    || (0..b).any(|event| x.po.contains(event, b) && self.base_causality.contains(a, event))
            }
            _ => self.base_causality.contains(a, asked(b)),
        };
        let lives = pairs(mbarriers)
            .filter(move |&(a, b)| at(a, b) && (begins(a) || begins(b)) && !before(a, b) && !before(b, a));
        operations.chain(lives).map(|(a, b)| (a, b, self.missing(a, b)))
    }

    /// Whether causality order relates two operations if the two events of an atomic operation count as one: an order
    /// from either event to the first event of the other operation.
    pub(super) fn is_ordered_as_whole(&self, a: usize, b: usize) -> bool {
        let rmw = &self.skeleton.rmw;
        let begin = |event: usize| rmw.pairs().find(|pair| pair.1 == event).map_or(event, |pair| pair.0);
        let (a, b) = (begin(a), begin(b));
        let leads = |from: usize, to: usize| {
            self.causality.contains(from, to) || rmw.row(from).any(|write| self.causality.contains(write, to))
        };
        leads(a, b) || leads(b, a)
    }

    /// The missing condition for an order of two operations.
    fn missing(&self, a: usize, b: usize) -> Missing {
        let x = self.skeleton;
        let order = |a: usize, b: usize| self.execution_order.contains(a, b);
        let start = |event: usize| bounds(x, event).0;
        let complete = |event: usize| bounds(x, event).1;
        // Whether execution order leads to an event that the thread issued before the other operation.
        let issued = |from: usize, to: usize| {
            (0..x.len()).any(|event| {
                x.events[event].operation.is_none()
                    && x.is_issued_before(event, start(to))
                    && (event == from || order(from, event))
            })
        };
        // Whether the other operation follows an event that the thread issued after the first operation.
        let after = |a: usize, b: usize| {
            x.is_issued_before(start(a), start(b))
                || (0..x.len()).any(|event| {
                    x.events[event].operation.is_none()
                        && x.is_issued_before(start(a), event)
                        && (order(event, start(b)) || issued(event, b))
                })
        };
        let both = [(a, b), (b, a)];
        let any = |holds: &dyn Fn(usize, usize) -> bool| both.iter().any(|&(a, b)| holds(a, b));
        let tensor = x.events[a].memory == Memory::Tensor || x.events[a].proxy() == Proxy::Tensor;
        if !tensor && any(&|a, b| self.base_causality.contains(a, b)) {
            Missing::ProxyFence
        } else if !tensor && any(&|a, b| order(a, b)) {
            Missing::Causality
        } else if any(&|a, b| issued(complete(a), b) || after(a, b) && pipelined(x, start(a), start(b), self.readings))
        {
            Missing::Start
        } else if any(&|a, b| after(a, b)) {
            Missing::Completion
        } else {
            Missing::Synchronization
        }
    }
}
