//! Clauses, and their SAT solver.

use std::cell::Cell;

use batsat::{Callbacks, Solver, SolverInterface, Var, lbool};

pub(super) use batsat::Lit;

use crate::{limit::Limit, outcome::Budget};

/// A conjunction of clauses, with the remaining budget of the search.
pub(super) struct Clauses {
    solver: Solver<Bound>,
    /// A literal that always holds.
    truth: Lit,
    /// A buffer that the solver takes and returns.
    clause: Vec<Lit>,
}

/// Each decision of the solver is a choice of the search.
struct Bound {
    budget: Cell<Budget>,
    hit: Cell<Option<Limit>>,
}

impl Callbacks for Bound {
    fn stop(&self) -> bool {
        let mut budget = self.budget.get();
        let hit = budget.choose().err();
        self.budget.set(budget);
        self.hit.set(self.hit.get().or(hit));
        hit.is_some()
    }
}

impl Clauses {
    pub(super) fn new(budget: Budget) -> Self {
        let bound = Bound { budget: Cell::new(budget), hit: Cell::new(None) };
        let mut solver = Solver::new(Default::default(), bound);
        let truth = Lit::new(solver.new_var_default(), true);
        solver.add_clause_reuse(&mut vec![truth]);
        Self { solver, truth, clause: Vec::new() }
    }

    pub(super) fn budget(&self) -> Budget {
        self.solver.cb().budget.get()
    }

    /// A literal that always holds, or one that never holds.
    pub(super) fn constant(&self, holds: bool) -> Lit {
        if holds { self.truth } else { !self.truth }
    }

    pub(super) fn fresh(&mut self) -> Lit {
        let var: Var = self.solver.new_var_default();
        Lit::new(var, true)
    }

    /// Forbids that all of these hold.
    pub(super) fn forbid(&mut self, all: &[Lit]) {
        self.add(all.iter().map(|&lit| !lit));
    }

    /// If all of `all` hold, `then` holds.
    pub(super) fn imply(&mut self, all: &[Lit], then: Lit) {
        self.add(all.iter().map(|&lit| !lit).chain([then]));
    }

    /// If all of `all` hold, one of `then` holds.
    pub(super) fn imply_one(&mut self, all: &[Lit], then: &[Lit]) {
        self.add(all.iter().map(|&lit| !lit).chain(then.iter().copied()));
    }

    /// Creates this number of literals. Exactly one of them holds.
    pub(super) fn exactly_one(&mut self, count: usize) -> Vec<Lit> {
        let lits: Vec<Lit> = match count {
            1 => vec![self.truth],
            _ => (0..count).map(|_| self.fresh()).collect(),
        };
        self.some(&lits);
        self.at_most_one(&lits);
        lits
    }

    /// Requires that one of these holds.
    pub(super) fn some(&mut self, lits: &[Lit]) {
        self.add(lits.iter().copied());
    }

    /// Requires that at most one of these holds. In a long list, a fresh literal stands for all but the first few.
    fn at_most_one(&mut self, lits: &[Lit]) {
        const FEW: usize = 6;
        let (some, others) = lits.split_at(lits.len().min(FEW));
        let of_others = match others {
            [] => None,
            [lit] => Some(*lit),
            _ => Some(self.fresh()),
        };
        let some: Vec<Lit> = some.iter().copied().chain(of_others).collect();
        for (index, &lit) in some.iter().enumerate() {
            some[..index].iter().for_each(|&other| self.forbid(&[lit, other]));
        }
        if let (Some(of_others), [_, _, ..]) = (of_others, others) {
            others.iter().for_each(|&lit| self.imply(&[lit], of_others));
            self.at_most_one(others);
        }
    }

    /// A literal for: all of these hold.
    pub(super) fn all(&mut self, lits: &[Lit]) -> Lit {
        let open: Vec<Lit> = lits.iter().copied().filter(|&lit| lit != self.truth).collect();
        match open[..] {
            [] => self.truth,
            [lit] => lit,
            _ if open.contains(&!self.truth) => !self.truth,
            _ => {
                let all = self.fresh();
                open.iter().for_each(|&lit| self.imply(&[all], lit));
                self.imply(&open, all);
                all
            }
        }
    }

    /// A literal for: one of these holds.
    pub(super) fn any(&mut self, lits: &[Lit]) -> Lit {
        let negated: Vec<Lit> = lits.iter().map(|&lit| !lit).collect();
        !self.all(&negated)
    }

    fn add(&mut self, lits: impl Iterator<Item = Lit>) {
        let mut clause = std::mem::take(&mut self.clause);
        clause.clear();
        let mut satisfied = false;
        for lit in lits {
            satisfied |= lit == self.truth;
            clause.extend((lit != !self.truth).then_some(lit));
        }
        if !satisfied {
            self.solver.add_clause_reuse(&mut clause);
        }
        self.clause = clause;
    }

    /// Whether all clauses can hold together.
    pub(super) fn solve(&mut self) -> Result<bool, Limit> {
        let solved = self.solver.solve_limited(&[]);
        if solved == lbool::UNDEF {
            return Err(self.solver.cb().hit.get().unwrap_or(Limit::Choices));
        }
        Ok(solved == lbool::TRUE)
    }

    /// Whether a literal holds in the solution.
    pub(super) fn holds(&self, lit: Lit) -> bool {
        self.solver.value_lit(lit) == lbool::TRUE
    }
}
