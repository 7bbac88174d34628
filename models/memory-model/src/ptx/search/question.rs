//! A question about the values of an execution, as clauses.

use rustc_hash::FxHashSet;

use super::{
    encode::Encoding,
    solver::{Clauses, Lit},
    state::{LocationEvents, Question, Search},
    terms::{Class, Domain, Terms},
};
use crate::{
    condition::{Atom, Formula},
    execution::Combination,
    program::{Cmp, Location, Value, truncate},
    ptx::Ptx,
    relation::Set,
    unfold::Term,
};

/// The last value of a location.
struct Last {
    location: usize,
    /// The candidates for the last write.
    writes: Vec<(usize, Lit)>,
    /// The values with which the last value is compared.
    asked: FxHashSet<Value>,
}

impl Last {
    fn written(&self, c: &Combination<Ptx>) -> Vec<(usize, Term)> {
        // The initial write counts as a write of the first thread.
        let constant = |write| Some((0, Term::Constant(c.written(write, &|_| None)?)));
        self.writes.iter().filter_map(|&(write, _)| c.written_term(write).or_else(|| constant(write))).collect()
    }
}

impl Encoding<'_, '_, '_, '_> {
    /// Requires that the execution follows the paths and that its final state answers the question. The values of
    /// `cycles` may depend on themselves.
    pub(super) fn question(&mut self, question: &Question, cycles: Set) {
        let search = self.search;
        let atoms = question.formula.atoms();
        let mut lasts: Vec<Last> = Vec::new();
        for index in atoms.iter().filter_map(|&atom| search.parts(atom)).flatten() {
            if lasts.iter().all(|last| last.location != index) {
                let writes = self.last(&search.locations[index]);
                lasts.push(Last { location: index, writes, asked: FxHashSet::default() });
            }
        }
        let clauses = &mut self.clauses;

        let registers = atoms.iter().filter_map(|&atom| search.register(atom));
        let constraints = search.constraints.iter().map(|&(thread, term, _)| (thread, term));
        let of: Vec<(usize, Term)> =
            lasts.iter().flat_map(|last| last.written(search.c)).chain(registers).chain(constraints).collect();
        let mut terms = Terms::new(search.c, &self.rf, cycles, &search.settled(), &of);

        let others_hold: Vec<bool> =
            search.constraints.iter().map(|&(thread, term, _)| terms.truth_matters(thread, term)).collect();
        for (atom, other) in question.formula.comparisons().into_iter().flat_map(|(a, b)| [(a, b), (b, a)]) {
            let mut matters = |of: &[(usize, Term)], part: &dyn Fn(Value) -> Value| {
                let values: FxHashSet<Value> = match other {
                    Atom::Value(value) => [part(value)].into_iter().collect(),
                    _ => of.iter().flat_map(|&(thread, term)| terms.possible(thread, term)).collect(),
                };
                of.iter().for_each(|&(thread, term)| terms.matter(thread, term, values.iter().copied()));
                values
            };
            search.register(atom).into_iter().for_each(|term| _ = matters(&[term], &|value| value));
            for index in search.parts(atom).into_iter().flatten() {
                for last in lasts.iter_mut().filter(|last| last.location == index) {
                    last.asked
                        .extend(matters(&last.written(search.c), &|value| search.c.locations[index].extract(value)));
                }
            }
        }

        for (&(thread, term, wanted), others_hold) in search.constraints.iter().zip(others_hold) {
            for (class, lit) in terms.term(clauses, thread, term) {
                let holds = match class {
                    Class::Is(value) => Some(value != 0),
                    Class::Other => Some(others_hold),
                    Class::Any => None,
                };
                if holds.is_some_and(|holds| holds != wanted) {
                    clauses.forbid(&[lit]);
                }
            }
        }
        let memory =
            lasts.iter().map(|last| (last.location, terms.one_of(clauses, &last.writes, &last.asked))).collect();
        let mut values = Final { search, terms, memory, open: false };
        let holds = formula(clauses, question.formula, &mut values);
        clauses.some(&[if question.truth { holds } else { !holds }]);
        values.terms.connect(clauses);
        self.open = values.open || values.terms.are_open();
    }

    /// The last write of a location: a write that no other write follows.
    fn last(&mut self, at: &LocationEvents) -> Vec<(usize, Lit)> {
        let writes: Vec<usize> = at.writes.collect();
        let lits = self.clauses.exactly_one(writes.len());
        let last: Vec<(usize, Lit)> = writes.into_iter().zip(lits).collect();
        for &(write, lit) in &last {
            for other in at.writes - Set::singleton(write) {
                self.clauses.forbid(&[lit, self.co.get(write, other)]);
            }
        }
        last
    }
}

/// The values of a final state.
struct Final<'e, 's, 'p, 'g> {
    search: &'e Search<'s, 'p, 'g>,
    terms: Terms<'e, 'p>,
    /// The values of the locations that the question names.
    memory: Vec<(usize, Domain)>,
    /// Whether some of them are unknown.
    open: bool,
}

impl Final<'_, '_, '_, '_> {
    /// The literals of a value; `None` if the final state does not have it.
    fn domain(&mut self, clauses: &mut Clauses, atom: Atom) -> Option<Domain> {
        match atom {
            Atom::Value(value) => Some(vec![(Class::Is(value), clauses.constant(true))]),
            Atom::Register { .. } => {
                let (thread, term) = self.search.register(atom)?;
                Some(self.terms.term(clauses, thread, term))
            }
            Atom::Location(Location(number)) => {
                let (rest, mut parts) = (self.search.c.variables[usize::from(number)].0, self.search.parts(atom)?);
                let index = parts.next()?;
                let span = self.search.c.locations[index];
                let whole = |&(class, lit): &(Class, Lit)| match class {
                    Class::Is(value) => (Class::Is(rest | span.within(value)), lit),
                    class => (class, lit),
                };
                let (_, part) = self.memory.iter().find(|(known, _)| *known == index)?;
                Some(part.iter().map(whole).collect())
            }
        }
    }

    /// Whether two operands are equal. A value that does not matter differs from the constants of the question.
    fn equal(&mut self, clauses: &mut Clauses, a: Atom, b: Atom) -> Lit {
        let constant = [a, b].iter().any(|atom| matches!(atom, Atom::Value(_)));
        if [a, b].iter().any(|&atom| self.search.parts(atom).is_some_and(|parts| parts.len() > 1)) {
            // The search checks variables that consist of several locations.
            self.open = true;
            return clauses.fresh();
        }
        let (a, b) = match (self.domain(clauses, a), self.domain(clauses, b)) {
            (Some(a), Some(b)) => (a, b),
            (a, b) => return clauses.constant(a.is_none() && b.is_none()),
        };
        let equal = clauses.fresh();
        for &(class, lit) in &a {
            for &(other, also) in &b {
                let same = class == other && class != Class::Other;
                if constant || class != Class::Any && other != Class::Any {
                    clauses.imply(&[lit, also], if same { equal } else { !equal });
                }
            }
        }
        equal
    }
}

/// Whether a formula holds.
fn formula(clauses: &mut Clauses, of: &Formula, values: &mut Final) -> Lit {
    match of {
        Formula::True => clauses.constant(true),
        Formula::Equal(a, b) => values.equal(clauses, *a, *b),
        Formula::Unequal(a, b) => !values.equal(clauses, *a, *b),
        Formula::Not(a) => !formula(clauses, a, values),
        Formula::And(a, b) => {
            let both = [a, b].map(|of| formula(clauses, of, values));
            clauses.all(&both)
        }
        Formula::Or(a, b) => {
            let either = [a, b].map(|of| formula(clauses, of, values));
            clauses.any(&either)
        }
    }
}

impl Search<'_, '_, '_> {
    /// The locations of a variable; `None` if the operand is not a variable.
    fn parts(&self, atom: Atom) -> Option<std::ops::Range<usize>> {
        let Atom::Location(Location(number)) = atom else { return None };
        Some(self.c.variables.get(usize::from(number))?.1.clone())
    }

    /// The reads whose value is determined by a branch.
    fn settled(&self) -> Vec<(usize, Value)> {
        let settled = |&(thread, term, wanted): &(usize, Term, bool)| {
            let (cmp, ty, a, b) = self.c.paths[thread].compared(term)?;
            let (Term::Constant(value), read) = (b, self.c.copy(thread, a)?) else { return None };
            let whole = self.c.paths[thread].bits(a) <= ty.bits() && truncate(ty, value) == value;
            (cmp == if wanted { Cmp::Eq } else { Cmp::Ne } && whole).then_some((read, value))
        };
        self.constraints.iter().filter_map(settled).collect()
    }

    /// The last value of a register that is observed.
    fn register(&self, atom: Atom) -> Option<(usize, Term)> {
        let Atom::Register { thread, register } = atom else { return None };
        let observed = self.names.iter().position(|&name| name == (thread, register))?;
        self.registers.get(observed).copied()
    }
}
