//! Mbarriers that are initialized again, or whose memory is written as data, without `mbarrier.inval` in between (R10).

use super::{
    alias::{self, Overlap},
    graph::{EventGraph, Point},
    token::{Round, Token, TokenKind},
};
use crate::{
    finding::{Claim, Hazard, Remedy, Rule},
    kernel::{Address, Condition, Event, EventKind, ObjectKind, Operation, Test, UnknownKind, Varies},
};
use ptx_isa::{InstPlace, Text};

/// The findings, in the order of the initializations: for each, the first line of either kind.
pub fn findings(graph: &EventGraph<'_>) -> Vec<Hazard> {
    let events = || {
        graph.order.iter().flat_map(|&block| {
            let events = graph.kernel.blocks[block].events.iter().enumerate();
            events.map(move |(index, event)| ((block, index), event)).filter(|(point, _)| !graph.is_dead(*point))
        })
    };
    let ends: Vec<(Point, &Address)> = events()
        .filter_map(|(point, event)| match &event.kind {
            EventKind::Invalidate(barrier) => Some((point, barrier)),
            _ => None,
        })
        .collect();
    let mut findings = Vec::new();
    for (point, event) in events() {
        let EventKind::Initialize { barrier, .. } = &event.kind else { continue };
        if !is_one_place(graph, barrier) || is_open(graph, point) {
            continue;
        }
        let after = reached(graph, point);
        let own_ends: Vec<Point> = ends
            .iter()
            .filter(|(end, of)| after(*end) && may_be_same(graph, barrier, of))
            .map(|(end, _)| *end)
            .collect();
        let is_between = |second: Point| {
            after(second)
                && !is_open(graph, second)
                && !exclude(graph, point, second)
                && !own_ends.iter().any(|end| reached(graph, *end)(second))
        };
        for use_of in [Use::Again, Use::Data] {
            let is_second = |(second, event): &(Point, &Event)| {
                is_use(graph, (point, barrier), (*second, event), use_of) && is_between(*second)
            };
            let at = events().filter(is_second).map(|(_, event)| event.at).min();
            findings.extend(at.map(|at| finding(graph, (event.at, at), use_of)));
        }
    }
    findings
}

/// A use of the memory of an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// As an mbarrier.
    Again,
    /// As data.
    Data,
}

/// Whether an event makes such a use of the memory of an mbarrier. An address that does not follow from the numbers of
/// threads may point elsewhere.
fn is_use(
    graph: &EventGraph<'_>,
    (point, barrier): (Point, &Address),
    (second, event): (Point, &Event),
    use_of: Use,
) -> bool {
    let accesses = match (&event.kind, use_of) {
        (EventKind::Initialize { barrier: other, .. }, Use::Again) => return barrier == other,
        (EventKind::Access(access) | EventKind::Atomic { access, .. }, Use::Data) => std::slice::from_ref(access),
        (EventKind::Start(start), Use::Data) if start.operation == Operation::Copy => &start.accesses[..],
        _ => return false,
    };
    let is_of_threads =
        |address: &Address| address.offset.terms.iter().all(|(value, _)| graph.kernel.unknowns[*value].each.is_some());
    let of =
        |point: Point, access, kind| Token::new(graph, point, access, kind, graph.conditions_at_event(point).to_vec());
    let meets = |access: &crate::kernel::EventAccess| {
        let own = of(point, super::token::mbarrier(barrier), TokenKind::Initialized);
        let other = of(second, access.clone(), TokenKind::Plain);
        alias::overlap(graph.kernel, &own, Round::Any, &other) == Overlap::Yes
    };
    let is_write = |access: &&crate::kernel::EventAccess| {
        access.writes && access.extent.is_some() && access.address.object == barrier.object
    };
    accesses.iter().filter(is_write).any(|access| is_of_threads(&access.address) && meets(access))
}

/// Whether an mbarrier is at an address that is the same for all threads and in every iteration of a loop.
fn is_one_place(graph: &EventGraph<'_>, barrier: &Address) -> bool {
    barrier.offset.terms.is_empty()
        && !barrier.is_remote
        && graph.kernel.objects[barrier.object].kind == ObjectKind::Variable
}

fn may_be_same(graph: &EventGraph<'_>, barrier: &Address, other: &Address) -> bool {
    let is_unknown = graph.kernel.objects[other.object].kind == ObjectKind::Unknown;
    is_unknown
        || barrier.object == other.object
            && (!other.offset.terms.is_empty() || barrier.offset.constant == other.offset.constant)
}

/// Whether a thread may reach a point after another point.
fn reached(graph: &EventGraph<'_>, (block, index): Point) -> impl Fn(Point) -> bool {
    let reached = graph.reached(&[block], |_| false);
    move |(other, at)| reached[other] || other == block && at > index
}

/// Whether no launch reaches both points: a uniform condition holds at only one of them.
fn exclude(graph: &EventGraph<'_>, first: Point, second: Point) -> bool {
    let is_alike = |condition: &&Condition| graph.kernel.predicates[condition.predicate].varies == Varies::No;
    let both: Vec<_> =
        [first, second].into_iter().flat_map(|point| graph.conditions_at_event(point)).copied().collect();
    both.iter().filter(is_alike).any(|condition| graph.contradict(&both, *condition))
}

/// Whether threads reach a point in unknown iterations of a loop.
fn is_open(graph: &EventGraph<'_>, point: Point) -> bool {
    graph.conditions_at_event(point).iter().any(|condition| {
        let predicate = &graph.kernel.predicates[condition.predicate];
        let is_of_threads = match predicate.test {
            Test::OneOfWarp => true,
            Test::Within { value, .. } => {
                matches!(graph.kernel.unknowns[value].kind, UnknownKind::Thread | UnknownKind::Warp)
            }
            _ => predicate.each.is_some(),
        };
        !is_of_threads && predicate.block.is_some_and(|block| graph.is_in_loop(block))
    })
}

fn finding(graph: &EventGraph<'_>, (first, at): (InstPlace, InstPlace), use_of: Use) -> Hazard {
    let name = &graph.kernel.name;
    let message = match use_of {
        Use::Again => {
            Text::new("the mbarrier").at(first).then(" is initialized again before an mbarrier.inval ends it")
        }
        Use::Data => Text::new("the mbarrier").at(first).then(" is overwritten before an mbarrier.inval ends it"),
    };
    let help = format!(
        "put mbarrier.inval after the last wait for the mbarrier and before line {at}, with a barrier on both sides"
    );
    Hazard {
        first: Some(first),
        rule: Some(Rule::R10),
        remedy: Some(Remedy::words(help)),
        ..Hazard::new(name, at, Claim::Wrong, message)
    }
}
