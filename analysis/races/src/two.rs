//! The two threads that a question is about, and what holds of them.

use ptx_isa::{Scope, Special, SpecialScalar, SpecialVector};
use rustc_hash::FxHashMap;

use crate::eval::Eval;
use ptx_solver::term::{Shared, Term};

/// The most CTAs of a cluster: eight everywhere, and more where a kernel asks for it.
const MOST_CTAS: u64 = 16;

/// Whose threads they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// A CTA's.
    Cta,
    /// Those of two CTAs of one cluster.
    Cluster,
    /// Those of CTAs of different clusters.
    OtherClusters,
    /// Those of any two CTAs.
    Grid,
}

impl Pair {
    /// What both have in common.
    pub fn common(self) -> Shared {
        if self == Self::Cta { Shared::Cta } else { Shared::Grid }
    }

    /// The narrowest scope that reaches from one to the other.
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
    /// That they are two, and what holds of each.
    pub holds: Vec<Term>,
    renamed: [FxHashMap<Term, Term>; 2],
}

impl Two {
    pub fn new(eval: &mut Eval<'_>, pair: Pair) -> Self {
        let mut two = Self { pair, holds: Vec::new(), renamed: Default::default() };
        let one = eval.holds();
        for thread in 0..2 {
            let holds: Vec<Term> = one.iter().map(|term| two.of(eval, *term, thread)).collect();
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
    pub fn of(&mut self, eval: &mut Eval<'_>, term: Term, thread: usize) -> Term {
        eval.terms.of_thread(term, thread as u32 + 1, self.pair.common(), &mut self.renamed[thread])
    }

    fn both(&mut self, eval: &mut Eval<'_>, terms: [Term; 2]) -> [Term; 2] {
        [0, 1].map(|thread| self.of(eval, terms[thread], thread))
    }

    /// That a term is the same of both.
    fn equal(&mut self, eval: &mut Eval<'_>, terms: [Term; 2]) -> Term {
        let [one, other] = self.both(eval, terms);
        eval.terms.equal(one, other)
    }

    /// That an index, such as `ctaid`, is the same of both.
    fn same(&mut self, eval: &mut Eval<'_>, vector: SpecialVector) -> Term {
        vector.elements().into_iter().fold(eval.terms.truth(true), |same, element| {
            let index = eval.special(element);
            let equal = self.equal(eval, [index; 2]);
            eval.terms.and(same, equal)
        })
    }

    /// That two CTAs are of one cluster, and what follows of it.
    fn hold_cluster(&mut self, eval: &mut Eval<'_>) {
        let cluster = self.same(eval, SpecialVector::Clusterid);
        let (rank, count) = (eval.rank(), eval.special(Special::Scalar(SpecialScalar::ClusterNctarank)));
        let [one, other] = self.both(eval, [rank; 2]);
        let terms = &mut eval.terms;
        let (most, same) = (terms.constant(MOST_CTAS + 1, 32), terms.equal(one, other));
        let within = [(one, count), (other, count), (count, most)].map(|(less, more)| terms.less(false, less, more));
        self.holds.extend([cluster, terms.not(same)].into_iter().chain(within));
    }

    /// That both mean the shared memory of one CTA, by the ranks of those that have it in their clusters; `None` if it cannot be. A thread
    /// without a rank means its own.
    pub fn same_owner(&mut self, eval: &mut Eval<'_>, owners: [Option<Term>; 2]) -> Option<Vec<Term>> {
        if owners == [None; 2] {
            return (self.pair == Pair::Cta).then(Vec::new);
        }
        let own = eval.rank();
        let rank = self.equal(eval, owners.map(|owner| owner.unwrap_or(own)));
        Some(vec![rank, self.same(eval, SpecialVector::Clusterid)])
    }

    /// That two threads of a CTA are of one warp.
    pub fn same_warp(&mut self, eval: &mut Eval<'_>) -> Term {
        let warp = eval.warp();
        self.equal(eval, [warp; 2])
    }
}
