//! The phases of barriers: the arrivals and the waits that belong together.

use crate::{
    execution::Combination,
    limit::Limit,
    outcome::Budget,
    place::Place,
    program::{BarrierName, Language, Reduction, Value},
    relation::Set,
    unfold::{Ending, EventKind},
};

/// The arrivals and the waits of each phase of each barrier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phases(pub Vec<(Set, Set)>);

/// A barrier: the place of its threads (the CTA, or any CTA of the cluster), its instance and its id.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resource {
    Cta(Place, u32, Value),
    Cluster(Place),
}

/// One use of a barrier by a thread.
#[derive(Clone, Copy)]
struct Use {
    thread: usize,
    resource: Resource,
    arrival: Option<usize>,
    wait: Option<usize>,
    quorum: Option<Value>,
    blocked: bool,
}

/// The maximum number of divisions into phases.
const MAX_DIVISIONS: usize = 1 << 16;

/// Every division into phases. Without a quorum there is a single division: the n-th uses of all threads form the n-th
/// phase. `None` if the name of a barrier is not known yet.
pub(crate) fn phases<L: Language>(
    c: &Combination<L>,
    read: &impl Fn(usize) -> Option<Value>,
    budget: &mut Budget,
) -> Result<Option<Vec<Phases>>, Limit> {
    let Some(uses) = uses(c, read) else { return Ok(None) };
    let mut all = vec![Phases::default()];
    let mut resources: Vec<Resource> = Vec::new();
    for used in &uses {
        if !resources.contains(&used.resource) {
            resources.push(used.resource);
        }
    }
    for resource in resources {
        let of: Vec<Use> = uses.iter().filter(|used| used.resource == resource).copied().collect();
        let divisions = match of.iter().find_map(|used| used.quorum) {
            // Without a wait, the division into phases has no effect.
            _ if of.iter().all(|used| used.wait.is_none()) => vec![Vec::new()],
            None => vec![in_step(&of)],
            Some(quorum) => {
                let mut divisions = Vec::new();
                let quorum = usize::try_from(quorum.max(1)).unwrap_or(usize::MAX);
                gather(&of, quorum, &mut Vec::new(), &mut vec![false; of.len()], &mut divisions, budget)?;
                divisions
            }
        };
        if all.len().saturating_mul(divisions.len()) > MAX_DIVISIONS {
            return Err(Limit::Quorum);
        }
        let extended = |phases: &Phases| {
            let phases = phases.clone();
            divisions.iter().map(move |division| Phases([&phases.0[..], &division[..]].concat())).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(extended).collect();
    }
    Ok(Some(all))
}

fn uses<L: Language>(c: &Combination<L>, read: &impl Fn(usize) -> Option<Value>) -> Option<Vec<Use>> {
    let mut uses: Vec<Use> = Vec::new();
    for (thread, event, barrier) in c.barriers() {
        let place = c.skeleton.places[thread];
        let resource = match barrier.name {
            BarrierName::Cta { instance, .. } => Resource::Cta(place, instance, c.term(thread, barrier.id, read)?),
            BarrierName::Cluster { .. } => {
                Resource::Cluster(if place.cluster.is_some() { Place { cta: 0, ..place } } else { place })
            }
        };
        let quorum = match barrier.quorum {
            Some(quorum) => Some(c.term(thread, quorum, read)?),
            None => None,
        };
        let last = uses.iter_mut().rev().find(|used| used.thread == thread && used.resource == resource);
        match (c.skeleton.events[event].kind, last) {
            (EventKind::Wait, Some(last)) if last.wait.is_none() => last.wait = Some(event),
            (kind, _) => {
                let arrival = (kind == EventKind::Arrive).then_some(event);
                let wait = (kind == EventKind::Wait).then_some(event);
                uses.push(Use { thread, resource, arrival, wait, quorum, blocked: false });
            }
        }
    }
    for (thread, path) in c.paths.iter().enumerate().filter(|(_, path)| path.ending == Ending::Blocked) {
        let last = uses.iter_mut().rev().find(|used| used.thread == thread && path.ending == Ending::Blocked);
        last.into_iter().for_each(|used| used.blocked = true);
    }
    Some(uses)
}

fn phase<'u>(uses: impl Iterator<Item = &'u Use> + Clone) -> (Set, Set) {
    (uses.clone().filter_map(|used| used.arrival).collect(), uses.filter_map(|used| used.wait).collect())
}

/// Phases that consist of the n-th uses of all threads.
fn in_step(uses: &[Use]) -> Vec<(Set, Set)> {
    let number = |index: usize| uses[..index].iter().filter(|earlier| earlier.thread == uses[index].thread).count();
    let numbers: Vec<usize> = (0..uses.len()).map(number).collect();
    let last = numbers.iter().max().map_or(0, |last| last + 1);
    (0..last).map(|n| phase(uses.iter().zip(&numbers).filter(move |(_, m)| **m == n).map(|(used, _)| used))).collect()
}

/// Divides uses into phases of exactly `quorum` threads. Every wait that is not blocked is in a phase; the remaining
/// uses are too few for another phase.
fn gather(
    uses: &[Use],
    quorum: usize,
    phases: &mut Vec<Vec<usize>>,
    settled: &mut Vec<bool>,
    divisions: &mut Vec<Vec<(Set, Set)>>,
    budget: &mut Budget,
) -> Result<(), Limit> {
    budget.choose()?;
    if divisions.len() > MAX_DIVISIONS {
        return Err(Limit::Quorum);
    }
    let Some(first) = settled.iter().position(|settled| !settled) else {
        let together: usize = phases.iter().map(Vec::len).sum();
        if uses.len() - together < quorum {
            divisions.push(phases.iter().map(|members| phase(members.iter().map(|&index| &uses[index]))).collect());
        }
        return Ok(());
    };
    let before = settled.clone();
    settled[first] = true;
    if uses[first].blocked || uses[first].wait.is_none() {
        gather(uses, quorum, phases, settled, divisions, budget)?;
    }
    if !uses[first].blocked {
        let others: Vec<usize> =
            (first + 1..uses.len()).filter(|&other| !settled[other] && !uses[other].blocked).collect();
        for members in 0..1u64.checked_shl(others.len() as u32).unwrap_or(0) {
            budget.choose()?;
            if members.count_ones() as usize + 1 != quorum {
                continue;
            }
            let chosen: Vec<usize> = std::iter::once(first).chain(Set(members).map(|index| others[index])).collect();
            let distinct =
                |(index, &a): (usize, &usize)| chosen[..index].iter().all(|&b| uses[a].thread != uses[b].thread);
            if chosen.iter().enumerate().all(distinct) {
                *settled = before.clone();
                chosen.iter().for_each(|&index| settled[index] = true);
                phases.push(chosen);
                gather(uses, quorum, phases, settled, divisions, budget)?;
                phases.pop();
            }
        }
    }
    *settled = before;
    Ok(())
}

/// Whether an arrival orders memory accesses.
pub(crate) fn orders<L: Language>(c: &Combination<L>, arrival: usize) -> bool {
    let of = c.barriers().find(|&(_, event, _)| event == arrival);
    of.is_some_and(|(_, _, barrier)| !matches!(barrier.name, BarrierName::Cluster { relaxed: true }))
}

/// Whether a wait returns a value.
pub(crate) fn reduces<L: Language>(c: &Combination<L>, wait: usize) -> bool {
    let of = c.barriers().find(|&(_, event, _)| event == wait);
    of.is_some_and(|(_, _, barrier)| barrier.reduction.is_some())
}

/// The result of a `bar.red` whose phase is known: the reduction of the operands of the arrivals of its phase.
pub(crate) fn reduced<L: Language>(
    c: &Combination<L>,
    wait: usize,
    arrivals: Set,
    read: &impl Fn(usize) -> Option<Value>,
) -> Option<Value> {
    if arrivals.is_empty() {
        return None;
    }
    let (_, _, barrier) = c.barriers().find(|&(_, event, _)| event == wait)?;
    let brought = arrivals.map(|arrival| c.written(arrival, read)).collect::<Option<Vec<_>>>()?;
    Some(match barrier.reduction? {
        Reduction::And => brought.iter().all(|&p| p != 0).into(),
        Reduction::Or => brought.iter().any(|&p| p != 0).into(),
        Reduction::Popc => brought.iter().filter(|&&p| p != 0).count() as Value,
    })
}
