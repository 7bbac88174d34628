//! The counted limits of proofs.

/// The counted limits of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProofBudget {
    /// Steps of all walks together.
    pub steps: usize,
    /// Decisions of the solver for one question.
    pub decisions: u64,
    /// Decisions of the solver for all questions together.
    pub all_decisions: u64,
    /// Clauses of all questions together.
    pub clauses: u64,
    /// Steps of the search for pairs of accesses.
    pub pairs: u64,
    /// The largest number of terms.
    pub terms: usize,
    /// The largest number of products of one size whose possible orders are passed to the solver.
    pub products: usize,
}

impl ProofBudget {
    /// The same limits with a fraction of the totals that all questions share.
    pub fn part(self, of: u64) -> Self {
        Self { clauses: self.clauses / of, all_decisions: self.all_decisions / of, ..self }
    }

    /// The limits that remain after questions that used this many clauses and decisions.
    pub fn without(self, clauses: u64, decisions: u64) -> Self {
        Self {
            clauses: self.clauses.saturating_sub(clauses),
            all_decisions: self.all_decisions.saturating_sub(decisions),
            ..self
        }
    }
}

impl Default for ProofBudget {
    fn default() -> Self {
        Self {
            steps: 200_000,
            decisions: 20_000,
            all_decisions: 700_000,
            clauses: 100_000_000,
            pairs: 16_000_000,
            terms: 2_000_000,
            products: 4,
        }
    }
}
