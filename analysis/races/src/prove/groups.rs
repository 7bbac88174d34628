//! Pairs of accesses in groups. The accesses of a group differ only in a constant that is added to the address, so that
//! one question covers many pairs.

use itertools::Itertools;
use ptx_isa::{Scope, Space, flat::Flat};
use rustc_hash::FxHashMap;

use super::prover::{Prover, Unproved};
use crate::{
    address::Base,
    question::{LocatedAccess, are_strong, space_of},
    two::Two,
};
use ptx_solver::{
    solve::Answer,
    term::{Term, Terms},
};

/// Up to this many pairs are checked one by one.
const FEW: usize = 1 << 10;
/// Up to this many pairs of two groups are checked one by one.
const SINGLE: usize = 16;
/// The number of group questions that may fail, in addition to four for each that succeeds.
const FAILURES: usize = 64;
/// The largest number of unproved pairs that a proof collects: further pairs add no information.
const UNPROVED: usize = 500;
/// The budget steps that a question costs; checking a pair without a question costs one.
const QUESTION: u64 = 64;

/// The key of a group, common to its accesses: the state space, whether they write, the scope in which they are strong,
/// the bytes of an element and of the access, the base, the CTA that owns the memory, and the address and the offset
/// without the constant.
type Alike = (Option<Space>, bool, Option<Scope>, [Option<u64>; 2], Base, Option<Term>, [Term; 2], u64);

/// Accesses whose addresses differ only in a constant.
struct Group {
    /// The constants in ascending order, each with the index of its access.
    members: Vec<(i64, usize)>,
    /// Whether the address is a sum with that constant, under all conditions.
    is_simple: bool,
}

fn groups(terms: &mut Terms, flat: &Flat, all: &[&LocatedAccess]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: FxHashMap<Alike, usize> = FxHashMap::default();
    for (at, own) in all.iter().enumerate() {
        let place = match &own.places[..] {
            [place] if place.holds.is_empty() => place,
            _ => {
                groups.push(Group { members: vec![(0, at)], is_simple: false });
                continue;
            }
        };
        let [(whole, address), (number, offset)] =
            [own.touch.address, place.offset].map(|term| terms.without_constant(term));
        let access = &own.access;
        let sizes = [access.element_bytes(), Some(own.touch.bytes)];
        let more = whole.wrapping_sub(number);
        let space = space_of(flat, own);
        let alike = (space, access.writes, access.strong(), sizes, place.base, place.owner, [address, offset], more);
        let group = *places.entry(alike).or_insert_with(|| {
            groups.push(Group { members: Vec::new(), is_simple: true });
            groups.len() - 1
        });
        groups[group].members.push((number.cast_signed(), at));
    }
    groups.iter_mut().for_each(|group| group.members.sort_unstable());
    groups
}

/// Whether accesses of two threads race if nothing orders them: one of them writes, and they are not both strong with
/// the same bytes. Each element of a vector is an access. Aligned accesses of one size overlap completely or not at
/// all.
pub fn may_race(one: &LocatedAccess, other: &LocatedAccess, scope: Scope) -> bool {
    let bytes = [one, other].map(|own| own.access.element_bytes());
    let is_strong = are_strong(&one.access, &other.access, scope) && bytes[0].is_some() && bytes[0] == bytes[1];
    (one.access.writes || other.access.writes) && !is_strong
}

/// The distance between the addresses of two groups without their constants, and the conditions on the two threads.
struct Distance {
    holds: Vec<Term>,
    /// The distance is `factor * term + number`.
    factor: u64,
    term: Term,
    number: u64,
    bytes: [u64; 2],
    /// For each queried range: whether the distance is never inside it.
    is_never: FxHashMap<[i64; 2], bool>,
}

impl Prover<'_> {
    /// Checks each access of the first list, by the first thread, against each access of the second list, by the second
    /// thread. The first thread ends where `ended` holds. If both lists are the same, each pair is checked once.
    pub(super) fn between(&mut self, two: &mut Two, lists: [&[&LocatedAccess]; 2], ended: &[Term]) {
        let is_same = std::ptr::eq(lists[0], lists[1]);
        let is_few = lists[0].len().saturating_mul(lists[1].len()) <= FEW;
        if is_few {
            for (at, one) in lists[0].iter().enumerate() {
                for other in &lists[1][if is_same { at } else { 0 }..] {
                    let unproved = self.pair(two, one, other, ended);
                    self.leave(unproved);
                }
            }
            return;
        }
        let groups = lists.map(|all| groups(&mut self.questions.eval.terms, self.questions.eval.flat, all));
        for (at, one) in groups[0].iter().enumerate() {
            for other in &groups[1][if is_same { at } else { 0 }..] {
                if !self.takes(1) {
                    return;
                }
                self.of_groups(two, lists, [one, other], ended);
            }
        }
    }

    /// Takes steps for pairs from the budget, if enough steps remain.
    fn takes(&mut self, steps: u64) -> bool {
        let is_over = self.proof.unproved.len() >= UNPROVED || self.questions.is_spent();
        match self.pairs_left.checked_sub(steps).filter(|_| !is_over) {
            Some(left) => self.pairs_left = left,
            None => {
                self.pairs_left = 0;
                let at = self.questions.eval.flat.steps.first().map(|step| step.at).unwrap_or_default();
                let why = "the accesses of the kernel are more pairs than the budget of a proof allows";
                self.proof.open.insert((at, why.to_owned()));
                return false;
            }
        }
        true
    }

    /// Checks the accesses of two groups, the first from the first list and the second from the second list.
    fn of_groups(&mut self, two: &mut Two, lists: [&[&LocatedAccess]; 2], groups: [&Group; 2], ended: &[Term]) {
        let first = [0, 1].map(|at| lists[at][groups[at].members[0].1]);
        if !may_race(first[0], first[1], two.pair.scope()) {
            return;
        }
        let is_simple = groups.iter().all(|group| group.is_simple);
        let mut distance = match is_simple.then(|| self.distance(two, first, groups)) {
            Some(None) => return,
            distance => distance.flatten(),
        };
        let is_same = std::ptr::eq(lists[0], lists[1]);
        let (mut failures, mut open) = (0, vec![groups.map(|group| &group.members[..])]);
        while let Some([a, b]) = open.pop() {
            if !self.takes(1) {
                return;
            }
            let pairs = a.len() * b.len();
            if pairs > 1
                && failures < FAILURES
                && let Some(distance) = &mut distance
            {
                let ends = (b[0].0.checked_sub(a[a.len() - 1].0), b[b.len() - 1].0.checked_sub(a[0].0));
                if let (Some(least), Some(most)) = ends
                    && self.is_never_between(distance, [least, most])
                {
                    failures = failures.saturating_sub(4);
                    continue;
                }
                failures += 1;
            }
            if pairs > SINGLE && a.len() >= b.len() {
                let (low, high) = a.split_at(a.len() / 2);
                open.extend([[high, b], [low, b]]);
                continue;
            } else if pairs > SINGLE {
                let (low, high) = b.split_at(b.len() / 2);
                open.extend([[a, high], [a, low]]);
                continue;
            }
            for ((x, one), (y, other)) in a.iter().cartesian_product(b) {
                // The product of a group with itself contains each pair twice.
                if is_same && std::ptr::eq(groups[0], groups[1]) && one > other {
                    continue;
                }
                let is_apart = match (&mut distance, y.checked_sub(*x)) {
                    (Some(distance), Some(by)) => self.is_never_between(distance, [by; 2]),
                    _ => false,
                };
                if is_apart {
                    continue;
                }
                if !self.takes(QUESTION) {
                    return;
                }
                let (one, other) = if is_same && one > other { (other, one) } else { (one, other) };
                let unproved = self.pair(two, lists[0][*one], lists[1][*other], ended);
                self.leave(unproved);
            }
        }
    }

    /// The distance between two groups; `None` if their accesses never conflict.
    fn distance(&mut self, two: &mut Two, first: [&LocatedAccess; 2], groups: [&Group; 2]) -> Option<Distance> {
        let meeting = self.questions.address_pairs(first[0], first[1]).into_iter().next()?;
        let owners = meeting.owners.map_or(Some(Vec::new()), |of| two.same_owner(&mut self.questions.eval, of))?;
        let starts = [0, 1].map(|at| {
            let address = self.renamed(two, meeting.addresses[at], at);
            let terms = &mut self.questions.eval.terms;
            let number = terms.constant(groups[at].members[0].0.cast_unsigned(), 64);
            terms.sub(address, number)
        });
        let terms = &mut self.questions.eval.terms;
        let whole = terms.sub(starts[0], starts[1]);
        let (number, rest) = terms.without_constant(whole);
        let (factor, term) = terms.divided(rest);
        let holds = two.holds.iter().copied().chain(owners).collect();
        let bytes = first.map(|own| own.touch.bytes);
        Some(Distance { holds, factor, term, number, bytes, is_never: FxHashMap::default() })
    }

    /// Whether the addresses alone show that accesses whose constants are this far apart never overlap.
    fn is_never_between(&mut self, distance: &mut Distance, numbers: [i64; 2]) -> bool {
        if let Some(known) = distance.is_never.get(&numbers) {
            return *known;
        }
        let [one, other] = distance.bytes;
        // Aligned accesses of one size overlap completely or not at all.
        let is_aligned = one == other && one.is_power_of_two();
        let around = if is_aligned { [0, 0] } else { [one - 1, other - 1] };
        let number = i128::from(distance.number.cast_signed());
        let least = i128::from(numbers[0]) - i128::from(around[0]) - number;
        let most = i128::from(numbers[1]) + i128::from(around[1]) - number;
        // A range of distances near zero means these numbers, and not other numbers that are equal modulo 2^64.
        let is_near = [least, most].iter().all(|end| end.unsigned_abs() < 1 << 62);
        let factor = i128::from(distance.factor);
        let (least, most) = (-(-least).div_euclid(factor), most.div_euclid(factor));
        let is_never = is_near
            && (most < least || {
                let terms = &mut self.questions.eval.terms;
                let start = terms.constant(least as u64, 64);
                let within = if most == least {
                    terms.equal(distance.term, start)
                } else {
                    let above = terms.sub(distance.term, start);
                    let end = terms.constant((most - least + 1) as u64, 64);
                    terms.less(false, above, end)
                };
                let conditions = distance.holds.iter().copied().chain([within]).collect();
                self.questions.ask(conditions) == Answer::Never
            });
        distance.is_never.insert(numbers, is_never);
        is_never
    }

    pub(super) fn leave(&mut self, unproved: Option<Unproved>) {
        if let Some(unproved) = unproved
            && self.unproved.insert((unproved.steps, unproved.is_across))
        {
            self.proof.unproved.push(unproved);
        }
    }
}
