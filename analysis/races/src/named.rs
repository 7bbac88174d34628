//! Barriers of some threads of a CTA: producers arrive, consumers wait.
//!
//! Such a barrier opens when its thread count has arrived, and is then reset. Suppose that only as many threads as the
//! count ever use the barrier, and that no thread arrives again before the barrier has opened. Then the barrier opens
//! for the n-th time when all of these threads have arrived n times: accesses before the n-th arrival of one thread are
//! ordered before accesses after the n-th wait of another (section 9.7.13.1 of the manual).

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use ptx_isa::{
    SpecialVector,
    flat::{Action, Barrier, Flat, Operand},
};
use rustc_hash::FxHashMap;

use crate::{
    chunks::Chunks,
    question::Questions,
    threads::{PAIR, ThreadCopy, Threads},
    walked::{BarrierArrival, Target},
};
use ptx_solver::{solve::Answer, term::Term};

/// The threads of a warp.
const WARP: usize = 32;

/// A barrier that exactly its count of threads uses, each thread once each time.
#[derive(Clone, Debug)]
pub struct Named {
    id: i64,
    places: Vec<ArrivalSite>,
}

/// A site at which threads arrive at a barrier.
#[derive(Clone, Debug)]
struct ArrivalSite {
    meeting: BarrierArrival,
    waits: bool,
    /// The warps that may arrive at the site.
    warps: BTreeSet<u64>,
}

impl Named {
    /// The warps that use the barrier.
    fn warps(&self) -> BTreeSet<u64> {
        self.places.iter().flat_map(|place| &place.warps).copied().collect()
    }

    /// The warps that may arrive without waiting.
    fn hurried(&self) -> BTreeSet<u64> {
        self.places.iter().filter(|place| !place.waits).flat_map(|place| &place.warps).copied().collect()
    }

    /// The warps that may arrive and wait.
    fn stopping(&self) -> BTreeSet<u64> {
        self.places.iter().filter(|place| place.waits).flat_map(|place| &place.warps).copied().collect()
    }

    /// The warps that use the barrier and always wait.
    fn waiting(&self) -> BTreeSet<u64> {
        self.warps().difference(&self.hurried()).copied().collect()
    }

    /// The number of earlier arrivals of a thread at the barrier.
    fn count(&self, threads: &mut Threads<'_, '_>, meeting: &BarrierArrival, copy: ThreadCopy) -> Term {
        count(threads, &meeting.arrivals, self.id, copy)
    }
}

fn count(threads: &mut Threads<'_, '_>, arrivals: &[(i64, Term)], id: i64, copy: ThreadCopy) -> Term {
    let found = arrivals.iter().find(|(own, _)| *own == id).map(|(_, term)| *term);
    match found {
        Some(term) => threads.rename_term(term, copy),
        None => threads.questions.eval.terms.constant(0, 64),
    }
}

/// The ids of CTA barriers that have an explicit thread count, or at which a thread does not wait.
pub fn ids(flat: &Flat) -> BTreeSet<i64> {
    let barriers = (0..flat.steps.len()).filter_map(|step| barrier(flat, step));
    barriers.filter(|barrier| barrier.threads.is_some() || !barrier.waits).filter_map(id).collect()
}

fn barrier(flat: &Flat, step: usize) -> Option<&Barrier> {
    match &flat.steps[step].action {
        Action::Barrier(barrier) if !barrier.warp => Some(barrier),
        _ => None,
    }
}

/// The id of a barrier of the CTA.
pub fn id(barrier: &Barrier) -> Option<i64> {
    match barrier.id {
        Operand::Constant(id) => Some(id),
        _ => None,
    }
}

/// The barriers that exactly their count of threads use, each thread once each time; and the steps of all other
/// barriers. `whole` are the steps of barriers for all threads of a CTA.
pub fn named(threads: &mut Threads<'_, '_>, all: &[BarrierArrival], whole: &[usize]) -> (Vec<Named>, Vec<usize>) {
    let flat = threads.flat();
    let mut of: BTreeMap<i64, Vec<&BarrierArrival>> = BTreeMap::new();
    let mut left = Vec::new();
    for meeting in all {
        match barrier(flat, meeting.step).and_then(id) {
            Some(id) => of.entry(id).or_default().push(meeting),
            None => left.push(meeting.step),
        }
    }
    let mut fitting: Vec<Named> = Vec::new();
    for (number, meetings) in &of {
        let has_other_use = whole.iter().any(|step| barrier(flat, *step).and_then(id) == Some(*number));
        let places = if has_other_use { None } else { places(threads.questions, meetings) };
        let own = places.map(|places| Named { id: *number, places });
        fitting.extend(own.filter(|own| {
            comes_in_warps(threads, own) && comes_as_often(threads, own) && comes_before_all_meet(threads, own)
        }));
    }
    // A barrier that is not followed gives no information about another barrier.
    while let Some(at) = (0..fitting.len()).find(|at| !is_open_again(threads, &fitting, *at)) {
        fitting.remove(at);
    }
    if !comes_in_order(threads, &fitting) {
        fitting.clear();
    }
    let is_left = |id: &i64| !fitting.iter().any(|own| own.id == *id);
    let others = of.iter().filter(|(id, _)| is_left(id)).flat_map(|(_, meetings)| meetings);
    left.extend(others.map(|meeting| meeting.step));
    (fitting, left)
}

/// The sites of a barrier, if its count is exactly the number of threads that use it, whole warps at each site, alike
/// in every CTA.
fn places(questions: &mut Questions<'_>, meetings: &[&BarrierArrival]) -> Option<Vec<ArrivalSite>> {
    let flat = questions.eval.flat;
    let count = |meeting: &&BarrierArrival| match barrier(flat, meeting.step)?.threads {
        Some(Operand::Constant(count)) => Some(count),
        _ => None,
    };
    let wanted = meetings.iter().map(count).all_equal_value().ok().flatten()?;
    let [Some(width), Some(height), Some(depth)] = questions.eval.sizes.block else { return None };
    let indices = SpecialVector::Tid.elements().map(|element| questions.eval.special(element));
    let mut places = Vec::new();
    for meeting in meetings {
        let mut who = Vec::new();
        for number in 0..width * height * depth {
            let index = [number % width, number / width % height, number / (width * height)];
            let terms = &mut questions.eval.terms;
            let values: FxHashMap<Term, Term> =
                indices.into_iter().zip(index).map(|(term, value)| (term, terms.constant(value.into(), 32))).collect();
            let never = meeting.holds.iter().any(|term| {
                let here = terms.substitute(term, &|leaf| values.get(&leaf).copied());
                terms.value(here) == Some(0)
            });
            who.push(!never);
        }
        let is_whole = |warp: &[bool]| warp.iter().all(|comes| *comes == warp[0]) && (warp.len() == WARP || !warp[0]);
        if !who.chunks(WARP).all(is_whole) {
            return None;
        }
        let warps = who.chunks(WARP).enumerate().filter(|(_, warp)| warp[0]).map(|(number, _)| number as u64).collect();
        let waits = barrier(flat, meeting.step).is_some_and(|barrier| barrier.waits);
        places.push(ArrivalSite { meeting: (*meeting).clone(), waits, warps });
    }
    let come = places.iter().flat_map(|place| &place.warps).unique().count() * WARP;
    (i64::try_from(come) == Ok(wanted)).then_some(places)
}

/// The number of a thread's warp in its CTA.
fn warp(threads: &mut Threads<'_, '_>, copy: ThreadCopy) -> Term {
    let warp = threads.questions.eval.warp();
    threads.rename_term(warp, copy)
}

/// The condition that a thread belongs to one of these warps.
fn is_of(threads: &mut Threads<'_, '_>, warps: &BTreeSet<u64>, copy: ThreadCopy) -> Term {
    let own = warp(threads, copy);
    let terms = &mut threads.questions.eval.terms;
    warps.iter().fold(terms.truth(false), |any, number| {
        let number = terms.constant(*number, 32);
        let equal = terms.equal(own, number);
        terms.or(any, equal)
    })
}

/// The conditions on two threads of one CTA, each thread under given conditions.
fn both(threads: &mut Threads<'_, '_>, holds: [&Chunks<Term>; 2]) -> Vec<Term> {
    threads.keep_pair();
    let mut all = vec![threads.same(SpecialVector::Ctaid, PAIR[0], PAIR[1])];
    for copy in PAIR {
        all.extend(threads.sizes(copy));
        all.extend(threads.all_of(holds[copy], copy));
    }
    all
}

/// Whether all threads of a warp arrive at the same site, each time.
fn comes_in_warps(threads: &mut Threads<'_, '_>, own: &Named) -> bool {
    own.places.iter().array_combinations().filter(|[one, other]| !one.warps.is_disjoint(&other.warps)).all(
        |[one, other]| {
            let mut conditions = both(threads, [&one.meeting.holds, &other.meeting.holds]);
            let warps = PAIR.map(|copy| warp(threads, copy));
            let counts =
                [(one, PAIR[0]), (other, PAIR[1])].map(|(place, copy)| own.count(threads, &place.meeting, copy));
            let terms = &mut threads.questions.eval.terms;
            conditions.extend([terms.equal(warps[0], warps[1]), terms.equal(counts[0], counts[1])]);
            threads.questions.ask(conditions) == Answer::Never
        },
    )
}

/// Whether no thread waits for threads that have ended: a thread that ends has arrived as often as any waiting thread.
fn comes_as_often(threads: &mut Threads<'_, '_>, own: &Named) -> bool {
    let ends = threads.arrivals.iter().filter(|arrival| arrival.target == Target::End);
    let waits = own.places.iter().filter(|place| place.waits);
    ends.cartesian_product(waits).all(|(end, place)| {
        let mut conditions = both(threads, [&end.state.holds, &place.meeting.holds]);
        let all = count(threads, &end.state.arrivals(), own.id, PAIR[0]);
        let before = own.count(threads, &place.meeting, PAIR[1]);
        conditions.push(is_of(threads, &own.warps(), PAIR[0]));
        let terms = &mut threads.questions.eval.terms;
        let has_come = terms.less(false, before, all);
        conditions.push(terms.not(has_come));
        threads.questions.ask(conditions) == Answer::Never
    })
}

/// Whether no thread waits for threads that arrive only after a barrier of all threads, at which those in turn wait for
/// the first. At each barrier of all threads, a thread that has waited has arrived no more often than every other
/// thread.
fn comes_before_all_meet(threads: &mut Threads<'_, '_>, own: &Named) -> bool {
    let barriers = threads.arrivals.iter().filter(|arrival| arrival.target != Target::End);
    barriers.clone().cartesian_product(barriers).filter(|(one, other)| one.target == other.target).all(
        |(one, other)| {
            let mut conditions = both(threads, [&one.state.holds, &other.state.holds]);
            let states = [&one.state, &other.state];
            let rounds = states.map(|state| state.rounds().collect_vec());
            for ((slot, a), (other, b)) in rounds[0].iter().zip(&rounds[1]) {
                let [a, b] = [(*a, PAIR[0]), (*b, PAIR[1])].map(|(term, copy)| threads.rename_term(term, copy));
                let same = threads.questions.eval.terms.equal(a, b);
                conditions.extend((slot == other).then_some(same));
            }
            let counts = PAIR.map(|copy| count(threads, &states[copy].arrivals(), own.id, copy));
            conditions.push(is_of(threads, &own.warps(), PAIR[0]));
            conditions.push(is_of(threads, &own.stopping(), PAIR[1]));
            conditions.push(threads.questions.eval.terms.less(false, counts[0], counts[1]));
            threads.questions.ask(conditions) == Answer::Never
        },
    )
}

/// Whether barriers open one after another, so that no two wait for each other: a thread that arrives at a barrier for
/// the n-th time has waited less often at each other barrier, or as often at the barriers that precede it in a common
/// order.
fn comes_in_order(threads: &mut Threads<'_, '_>, all: &[Named]) -> bool {
    let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); all.len()];
    for (at, other) in (0..all.len()).cartesian_product(0..all.len()).filter(|(at, other)| at != other) {
        let mut most = |more: u64| {
            all[at].places.iter().all(|place| {
                let mut conditions = both(threads, [&place.meeting.holds, &Chunks::default()]);
                conditions.push(is_of(threads, &all[other].stopping(), PAIR[0]));
                let own = all[at].count(threads, &place.meeting, PAIR[0]);
                let waited = all[other].count(threads, &place.meeting, PAIR[0]);
                let terms = &mut threads.questions.eval.terms;
                let more = terms.constant(more, 64);
                let most = terms.add(own, more);
                conditions.push(terms.less(false, most, waited));
                threads.questions.ask(conditions) == Answer::Never
            })
        };
        if !most(0) {
            if !most(1) {
                return false;
            }
            before[at].insert(other);
        }
    }
    let mut placed: BTreeSet<usize> = BTreeSet::new();
    while let Some(next) = (0..all.len()).find(|at| !placed.contains(at) && before[*at].is_subset(&placed)) {
        placed.insert(next);
    }
    placed.len() == all.len()
}

/// Whether no thread arrives again before the barrier has opened. A thread that waits cannot. A thread that does not
/// wait must have waited at another barrier since, and a thread that waits at this barrier must reach the other barrier
/// only after that wait.
fn is_open_again(threads: &mut Threads<'_, '_>, all: &[Named], at: usize) -> bool {
    let own = &all[at];
    own.places.iter().filter(|place| !place.waits).all(|place| {
        if !comes_again(threads, own, place) {
            return true;
        }
        let others = all.iter().filter(|other| other.id != own.id && place.warps.is_subset(&other.waiting()));
        others.into_iter().any(|other| {
            let between = own.waiting().intersection(&other.warps()).next().copied();
            between.is_some_and(|warp| has_waited_between(threads, [own, other], place, warp))
        })
    })
}

/// Whether a thread that has already arrived at the barrier may reach a site.
fn comes_again(threads: &mut Threads<'_, '_>, own: &Named, place: &ArrivalSite) -> bool {
    let mut conditions = both(threads, [&place.meeting.holds, &Chunks::default()]);
    let before = own.count(threads, &place.meeting, PAIR[0]);
    let terms = &mut threads.questions.eval.terms;
    let zero = terms.constant(0, 64);
    conditions.push(terms.less(false, zero, before));
    threads.questions.ask(conditions) != Answer::Never
}

/// Whether a thread that reaches a site of the first barrier again has waited at the second barrier since, which a
/// given warp reaches only after its own wait at the first barrier.
fn has_waited_between(
    threads: &mut Threads<'_, '_>,
    [own, other]: [&Named; 2],
    place: &ArrivalSite,
    between: u64,
) -> bool {
    other.places.iter().filter(|by| by.warps.contains(&between)).all(|by| {
        let mut conditions = both(threads, [&place.meeting.holds, &by.meeting.holds]);
        conditions.push(is_of(threads, &[between].into(), PAIR[1]));
        let [own_here, own_there] =
            [(place, PAIR[0]), (by, PAIR[1])].map(|(place, copy)| own.count(threads, &place.meeting, copy));
        let [other_here, other_there] =
            [(place, PAIR[0]), (by, PAIR[1])].map(|(place, copy)| other.count(threads, &place.meeting, copy));
        let terms = &mut threads.questions.eval.terms;
        let (zero, one) = (terms.constant(0, 64), terms.constant(1, 64));
        let again = terms.less(false, zero, own_here);
        let has_not_waited = terms.equal(other_here, zero);
        let next = terms.add(other_there, one);
        let (last, has_not_come) = (terms.equal(next, other_here), terms.less(false, own_there, own_here));
        let early = terms.and(last, has_not_come);
        let wrong = terms.or(has_not_waited, early);
        conditions.extend([again, wrong]);
        threads.questions.ask(conditions) == Answer::Never
    })
}

/// Whether named barriers order the accesses of the two threads of [`PAIR`]. The threads belong to one CTA and satisfy
/// the given conditions.
pub fn is_ordered_by_named_barrier(
    threads: &mut Threads<'_, '_>,
    all: &[Named],
    holds: &[Term],
    accesses: [usize; 2],
) -> bool {
    let mut conditions = holds.to_vec();
    for own in all {
        let counts = PAIR.map(|copy| {
            let arrivals = &threads.all[accesses[copy]].touch.arrivals;
            count(threads, arrivals, own.id, copy)
        });
        for (first, second) in [(PAIR[0], PAIR[1]), (PAIR[1], PAIR[0])] {
            let (comes, waits) = (is_of(threads, &own.warps(), first), is_of(threads, &own.waiting(), second));
            let terms = &mut threads.questions.eval.terms;
            let less = terms.less(false, counts[first], counts[second]);
            let ordered = terms.all([comes, waits, less]);
            conditions.push(terms.not(ordered));
        }
    }
    !all.is_empty() && threads.questions.ask(conditions) == Answer::Never
}
