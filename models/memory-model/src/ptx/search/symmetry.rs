//! The executions that the search leaves out, because another execution has the same final state.

use strum::IntoEnumIterator;

use crate::{
    execution::{Combination, Skeleton},
    place::Scope,
    program::Program,
    ptx::{Ptx, relations},
    relation::{Relation, Set},
};

/// The pairs of `fence.sc` whose order the search chooses.
///
/// The search leaves out two fences that no event precedes in their threads: an event that precedes the first fence does
/// so through another fence, which has its own order with the second. The same holds of two fences that no event follows.
pub(super) fn ordered_fences(x: &Skeleton<Ptx>, morally_strong: &Relation) -> Vec<(usize, usize)> {
    let fences = relations::sc_fences(x);
    if (Set::first(x.len()) - x.inits - x.host).is_empty() {
        // Without events of a GPU, the order in which effects take place orders the barriers of the host.
        return Vec::new();
    }
    let others = Set::first(x.len()) - fences - x.inits;
    let all = fences.into_iter().all(|a| (fences - Set::singleton(a) - morally_strong.row(a)).is_empty());
    let before = x.po.inverse();
    let first: Set = fences.into_iter().filter(|&fence| all && (before.row(fence) & others).is_empty()).collect();
    let last: Set = fences.into_iter().filter(|&fence| all && (x.po.row(fence) & others).is_empty()).collect();
    let alike = |a: usize, b: usize| [first, last].iter().any(|set| set.contains(a) && set.contains(b));
    let pairs = fences.into_iter().flat_map(|a| (fences & morally_strong.row(a)).map(move |b| (a, b)));
    pairs.filter(|&(a, b)| a < b && !alike(a, b)).collect()
}

/// The first writes of equal threads, in pairs.
///
/// Threads are equal if they run the same code along the same path, at places that have the same relation to every
/// other thread, and if no register of theirs is observed. A permutation of equal threads keeps the final state. If
/// coherence orders the writes of these threads, one of these executions has them in the order of the threads.
pub(super) fn alike_writes(
    program: &Program<Ptx>,
    c: &Combination<Ptx>,
    morally_strong: &Relation,
) -> Vec<(usize, usize)> {
    let places: Vec<_> = program.threads.iter().map(|thread| thread.place).collect();
    let observed = |thread: usize| program.threads[thread].registers.iter().any(|register| register.observed);
    let alike = |a: usize, b: usize| {
        let (one, other) = (&program.threads[a], &program.threads[b]);
        let others = || (0..places.len()).filter(|&thread| thread != a && thread != b);
        let near = |scope, thread: usize| {
            places[a].includes(scope, places[thread]) == places[b].includes(scope, places[thread])
        };
        !observed(a)
            && !observed(b)
            && one.code == other.code
            && one.labels == other.labels
            && one.registers == other.registers
            && c.paths[a].is_like(c.paths[b])
            && others().all(|thread| Scope::iter().all(|scope| near(scope, thread)))
    };
    let first = |thread: usize| {
        let x = &c.skeleton;
        (x.writes - x.inits).find(|&write| x.events[write].thread == Some(thread))
    };
    let mut pairs = Vec::new();
    for b in 1..places.len() {
        // Each thread is compared with the last earlier thread that equals it.
        let Some(a) = (0..b).rev().find(|&a| alike(a, b)) else { continue };
        if let (Some(one), Some(other)) = (first(a), first(b))
            && morally_strong.contains(one, other)
        {
            pairs.push((one, other));
        }
    }
    pairs
}
