//! The two threads that a question is about, and the conditions on them.

use ptx_isa::{Scope, Special, SpecialScalar, SpecialVector};
use rustc_hash::FxHashMap;

use crate::eval::Eval;
use ptx_solver::term::{Shared, Term};

/// The largest number of CTAs of a cluster: eight on every target, more if a kernel asks for them.
const MOST_CTAS: u64 = 16;

/// The relation of the two threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// Threads of one CTA.
    Cta,
    /// Threads of two CTAs of one cluster.
    Cluster,
    /// Threads of CTAs of different clusters.
    OtherClusters,
    /// Threads of any two CTAs.
    Grid,
}

impl Pair {
    /// The level at which both threads share values.
    pub fn common(self) -> Shared {
        if self == Self::Cta { Shared::Cta } else { Shared::Grid }
    }

    /// The narrowest scope that includes both threads.
    pub fn scope(self) -> Scope {
        match self {
            Self::Cta => Scope::Cta,
            Self::Cluster => Scope::Cluster,
            Self::OtherClusters | Self::Grid => Scope::Gpu,
        }
    }
}

/// Two threads.
pub struct Two {
    pub pair: Pair,
    /// The conditions that the threads are different, and the conditions on each thread.
    pub holds: Vec<Term>,
    renamed: [FxHashMap<Term, Term>; 2],
}

impl Two {
    pub fn new(eval: &mut Eval<'_>, pair: Pair) -> Self {
        let mut two = Self { pair, holds: Vec::new(), renamed: Default::default() };
        let one = eval.holds();
        for thread in 0..2 {
            let holds: Vec<Term> = one.iter().map(|term| two.rename_term(eval, *term, thread)).collect();
            two.holds.extend(holds);
        }
        let same = two.same(eval, if pair == Pair::Cta { SpecialVector::Tid } else { SpecialVector::Ctaid });
        two.holds.push(eval.terms.not(same));
        match pair {
            Pair::Cta | Pair::Grid => {}
            Pair::Cluster => two.hold_cluster(eval),
            Pair::OtherClusters => {
                let same = two.same(eval, SpecialVector::Clusterid);
                two.holds.push(eval.terms.not(same));
            }
        }
        two
    }

    /// A term of the first thread or of the second one.
    pub fn rename_term(&mut self, eval: &mut Eval<'_>, term: Term, thread: usize) -> Term {
        eval.terms.of_thread(term, thread as u32 + 1, self.pair.common(), &mut self.renamed[thread])
    }

    fn both(&mut self, eval: &mut Eval<'_>, terms: [Term; 2]) -> [Term; 2] {
        [0, 1].map(|thread| self.rename_term(eval, terms[thread], thread))
    }

    /// The condition that a term has the same value in both threads.
    fn equal(&mut self, eval: &mut Eval<'_>, terms: [Term; 2]) -> Term {
        let [one, other] = self.both(eval, terms);
        eval.terms.equal(one, other)
    }

    /// The condition that both threads have the same index, such as `ctaid`.
    fn same(&mut self, eval: &mut Eval<'_>, vector: SpecialVector) -> Term {
        vector.elements().into_iter().fold(eval.terms.truth(true), |same, element| {
            let index = eval.special(element);
            let equal = self.equal(eval, [index; 2]);
            eval.terms.and(same, equal)
        })
    }

    /// Adds the condition that two CTAs belong to one cluster, and its consequences.
    fn hold_cluster(&mut self, eval: &mut Eval<'_>) {
        let cluster = self.same(eval, SpecialVector::Clusterid);
        let (rank, count) = (eval.rank(), eval.special(Special::Scalar(SpecialScalar::ClusterNctarank)));
        let [one, other] = self.both(eval, [rank; 2]);
        let terms = &mut eval.terms;
        let (most, same) = (terms.constant(MOST_CTAS + 1, 32), terms.equal(one, other));
        let within = [(one, count), (other, count), (count, most)].map(|(less, more)| terms.less(false, less, more));
        self.holds.extend([cluster, terms.not(same)].into_iter().chain(within));
    }

    /// The condition that both threads refer to the shared memory of one CTA, given the ranks of its owners in their
    /// clusters; `None` if that is impossible. A thread without a rank refers to its own CTA.
    pub fn same_owner(&mut self, eval: &mut Eval<'_>, owners: [Option<Term>; 2]) -> Option<Vec<Term>> {
        if owners == [None; 2] {
            return (self.pair == Pair::Cta).then(Vec::new);
        }
        let own = eval.rank();
        let rank = self.equal(eval, owners.map(|owner| owner.unwrap_or(own)));
        Some(vec![rank, self.same(eval, SpecialVector::Clusterid)])
    }

    /// The condition that two threads of a CTA belong to one warp.
    pub fn same_warp(&mut self, eval: &mut Eval<'_>) -> Term {
        let warp = eval.warp();
        self.equal(eval, [warp; 2])
    }
}
