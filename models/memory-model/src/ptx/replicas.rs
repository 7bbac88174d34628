//! Multimem operations (sections 8.2.3 and 9.7.9.13), in the readings of the questions that the manual leaves open.

use super::{Conventions, Program, Ptx, readings::Ambiguity};
use crate::{
    execution::{Combination, Execution, Skeleton},
    limit::Limit,
    relation::{Relation, Set},
    unfold::Path,
};

/// The events of one path of each thread. In the lenient reading of A13, an access of a multimem operation has the
/// address of the replica.
///
/// # Errors
/// If there are more events than a relation holds.
pub fn combine<'p>(
    program: &Program,
    paths: Vec<&'p Path<Ptx>>,
    conventions: Conventions,
) -> Result<Combination<'p, Ptx>, Limit> {
    let mut combination = Combination::new(program, paths)?;
    if conventions.readings.is_lenient(Ambiguity::MultimemAlias) {
        let events = combination.skeleton.events.iter_mut();
        events.filter(|event| event.is_multimem()).for_each(|event| event.address = event.location);
    }
    Ok(combination)
}

/// Whether multimem operations connect the coherence orders of their replicas: the lenient reading of A14.
pub(super) fn are_at_once(x: &Skeleton<Ptx>, conventions: Conventions) -> bool {
    conventions.readings.is_lenient(Ambiguity::MultimemAtOnce) && x.events.iter().any(|event| event.is_multimem())
}

/// Pairs of accesses of one multimem operation to different replicas: its reads, or its writes.
pub fn siblings(x: &Skeleton<Ptx>) -> Relation {
    let multimem = x.filter(|event| event.is_multimem());
    let mut pairs = Relation::empty(x.len());
    for of in [multimem & x.reads, multimem & x.writes] {
        for a in of {
            let is_same = |&b: &usize| {
                a != b
                    && x.same_thread(a, b)
                    && x.events[a].statement == x.events[b].statement
                    && !x.po.contains(a, b)
                    && !x.po.contains(b, a)
            };
            *pairs.row_mut(a) = of.filter(is_same).collect::<Set>();
        }
    }
    pairs
}

/// The lenient reading of A14: from the write of a multimem operation at one replica to the accesses there that follow
/// an observation of the same operation at another replica.
pub fn seen_elsewhere(x: &Skeleton<Ptx>, observation: &Relation, base_causality: &Relation) -> Relation {
    let siblings = siblings(x);
    let observed = siblings.between(x.writes, x.writes).then(observation);
    observed.then(&(*base_causality | siblings)) & x.same_location
}

/// The lenient reading of A14: the coherence order at one replica, between the accesses to another replica.
pub fn ordered_elsewhere(x: &Execution<Ptx>) -> Relation {
    let siblings = siblings(&x.skeleton);
    siblings.then(&x.co).then(&siblings) & x.skeleton.same_location
}
