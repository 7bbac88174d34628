//! Questions about the accesses of a kernel, for the solver.

use std::collections::BTreeSet;

use itertools::Itertools;
use ptx_isa::{
    Initial, Scope, Space, Stop,
    flat::{Flat, MemoryAccess},
};

use crate::{
    address::{Base, PossibleAddress},
    assumption::Assumption,
    budget::ProofBudget,
    eval::Eval,
    walked::AccessEvent,
};
use ptx_solver::{
    lemma,
    solve::{Answer, solve},
    term::{Term, Terms},
};

/// An access of a walk, with its possible addresses and its instruction.
pub struct LocatedAccess {
    pub touch: AccessEvent,
    pub places: Vec<PossibleAddress>,
    pub access: MemoryAccess,
}

/// Addresses of two accesses that may be equal.
pub struct AddressPair {
    /// The conditions under which each access has its address.
    pub holds: [Vec<Term>; 2],
    /// Both addresses, or both offsets from a common base.
    pub addresses: [Term; 2],
    /// If both addresses are in the same variable of shared memory: the ranks of the CTAs that own it; `None` for the
    /// thread's own CTA.
    pub owners: Option<[Option<Term>; 2]>,
}

/// The context of questions to the solver, and the assumptions of its answers.
pub struct Questions<'f> {
    pub eval: Eval<'f>,
    /// Whether pointers of different parameters may point to the same memory.
    pub may_alias: bool,
    pub budget: ProofBudget,
    pub stop: Stop,
    pub assumptions: BTreeSet<Assumption>,
    /// The number of questions to the solver.
    pub count: usize,
    /// The clauses and decisions that remain for later questions.
    pub clauses_left: u64,
    pub decisions_left: u64,
}

impl Questions<'_> {
    /// Whether the budget is used up.
    pub fn is_spent(&self) -> bool {
        let is_over = self.clauses_left == 0 || self.decisions_left == 0;
        is_over || self.eval.terms.count() > self.budget.terms || self.stop.is_due()
    }

    /// Whether all of these conditions can hold together.
    pub fn ask(&mut self, conditions: Vec<Term>) -> Answer {
        if conditions.iter().any(|term| self.eval.terms.value(*term) == Some(0)) {
            return Answer::Never;
        }
        if self.is_spent() {
            return Answer::TooHard;
        }
        self.count += 1;
        let (clauses, all_decisions) = (&mut self.clauses_left, &mut self.decisions_left);
        let terms = &mut self.eval.terms;
        let cases = lemma::cases(terms, &conditions, self.budget.products);
        let mut solve = |conditions: &[Term], decisions: u64| {
            let given = decisions.min(*all_decisions);
            let mut left = given;
            let answer = solve(terms, conditions, &mut left, clauses, &self.stop);
            *all_decisions -= given - left;
            answer
        };
        // The exact question comes first, with a small limit if there are cases, because an exact answer needs no
        // assumption. Each case has a large limit, because most cases are easy.
        let decisions = self.budget.decisions;
        let exact = solve(&conditions, if cases.is_some() { decisions / 20 } else { decisions });
        let Some(cases) = cases.filter(|_| exact != Answer::Never) else { return exact };
        let mut never = |case: &Vec<Term>| solve(case, decisions * 20) == Answer::Never;
        if cases.iter().all(&mut never) {
            self.assumptions.insert(Assumption::Products);
            return Answer::Never;
        }
        exact
    }

    /// The ways in which two accesses may access the same memory, by the bases of their addresses.
    pub fn address_pairs(&mut self, one: &LocatedAccess, other: &LocatedAccess) -> Vec<AddressPair> {
        let spaces = [one, other].map(|own| space_of(self.eval.flat, own));
        // The space of an instruction takes precedence over the space of a base: a generic pointer may point to shared
        // memory.
        let is_named = one.access.space.is_some() && other.access.space.is_some();
        let has_one_base = || {
            let mut bases = one.places.iter().cartesian_product(&other.places);
            bases.any(|(a, b)| a.base == b.base && matches!(a.base, Base::Parameter(..)))
        };
        if matches!(spaces, [Some(a), Some(b)] if a != b) && (is_named || !has_one_base()) {
            return Vec::new();
        }
        let mut all = Vec::new();
        for (a, b) in one.places.iter().cartesian_product(&other.places) {
            self.assumptions.insert(Assumption::Within);
            let is_known = a.base != Base::Unknown && b.base != Base::Unknown;
            if is_known && a.base != b.base {
                let can_alias = [a.base, b.base].iter().all(|base| self.may_point(*base));
                if !self.may_alias || !can_alias {
                    self.assumptions.insert(Assumption::Apart);
                    continue;
                }
            }
            let is_whole = !is_known || a.base != b.base;
            let is_shared = !is_whole && self.is_of_cta(a.base);
            let owners = is_shared.then_some([a.owner, b.owner]);
            let addresses = if is_whole { [one.touch.address, other.touch.address] } else { [a.offset, b.offset] };
            all.push(AddressPair { holds: [a.holds.clone(), b.holds.clone()], addresses, owners });
        }
        all
    }

    /// Whether each CTA has its own instance of the memory at this base.
    fn is_of_cta(&self, base: Base) -> bool {
        matches!(base, Base::Variable(symbol) if self.eval.flat.symbols[symbol].variable.space.is_some_and(Space::is_shared_cta))
    }

    /// Whether a pointer of another parameter may point to the memory at this base.
    fn may_point(&self, base: Base) -> bool {
        match base {
            Base::Parameter(..) | Base::Unknown => true,
            Base::Variable(symbol) => self.eval.flat.symbols[symbol].variable.space == Some(Space::Global),
            Base::Environment => false,
        }
    }

    /// Whether two accesses overlap. Each access is aligned to its size; the GPU traps on other accesses.
    pub fn overlap(&mut self, [a, b]: [Term; 2], [one, other]: [u64; 2]) -> Term {
        let terms = &mut self.eval.terms;
        if one == other && one.is_power_of_two() {
            return terms.equal(a, b);
        }
        let near = |terms: &mut Terms, from: Term, to: Term, bytes: u64| {
            let distance = terms.sub(to, from);
            let bytes = terms.constant(bytes, 64);
            terms.less(false, distance, bytes)
        };
        let forwards = near(terms, a, b, one);
        let backwards = near(terms, b, a, other);
        terms.or(forwards, backwards)
    }
}

/// The state space of an access, as far as it is known.
pub fn space_of(flat: &Flat, own: &LocatedAccess) -> Option<Space> {
    let of = |space: Space| if space.is_shared() { Space::Shared } else { space };
    let named = own.access.space.map(of);
    named.or_else(|| {
        let of_base = |place: &PossibleAddress| match place.base {
            Base::Variable(symbol) => flat.symbols[symbol].variable.space.map(of),
            // A pointer that is passed to a kernel points to global memory.
            Base::Parameter(..) | Base::Environment => Some(Space::Global),
            Base::Unknown => None,
        };
        own.places.iter().map(of_base).all_equal_value().ok().flatten()
    })
}

/// Whether an access is to shared memory, which only threads of one CTA or of one cluster can access.
pub fn is_of_cta(flat: &Flat, own: &LocatedAccess) -> bool {
    space_of(flat, own) == Some(Space::Shared)
}

/// Whether an access is to memory that is zero when the kernel begins, unless the host writes a different value there.
/// Variables with a nonzero initializer are excluded.
pub fn may_begin_with_zero(flat: &Flat, own: &LocatedAccess) -> bool {
    let is_zero = |initial: &Initial| matches!(initial, Initial::Number(0));
    own.places.iter().all(|place| match place.base {
        Base::Variable(symbol) => flat.symbols[symbol].variable.initial.iter().all(is_zero),
        _ => true,
    })
}

/// Whether two accesses are strong with scopes that are not narrower than `scope`, so that they do not race if they
/// access the same bytes.
pub fn are_strong(one: &MemoryAccess, other: &MemoryAccess, scope: Scope) -> bool {
    [one, other].into_iter().all(|access| access.strong().is_some_and(|own| own >= scope))
}
