//! The cheapest sequence of a row: the fewest barriers on the target, then the fewest instructions, then barriers in
//! all lanes of a warp, then the document's order.
//!
//! The cost is measured after the sequence is legalized for the target. Before sm_90 or PTX 8.6, one-sided fences
//! become full fences and cost twice; from there on, they cost as much as an access that carries the ordering. The cost
//! is computed at scope gpu. At other scopes ptxas emits fewer or other barriers, but the choice is the same.
//!
//! On every measured target, no sequence is cheaper than the recommended one. The choice differs only where ptxas may
//! combine the lanes of a warp (`sass/warp.rs`) and one-sided fences cost the same: the barriers of fences are in all
//! lanes, the barriers of the access only in the leader.

use super::{barriers::barriers, carrier::Carrier, one_sided::without_one_sided_fences, row::Step};
use crate::{
    ptx::{Scope, Target},
    sass::Family,
};

/// The cheapest sequence; the first sequence if the costs were not measured.
pub(super) fn cheapest(sequences: &'static [&'static [Step]], carrier: Carrier, target: &Target) -> &'static [Step] {
    at_scope(sequences, carrier, Scope::Gpu, target)
}

fn at_scope(sequences: &'static [&'static [Step]], carrier: Carrier, scope: Scope, target: &Target) -> &'static [Step] {
    let cost = |steps: &&&'static [Step]| {
        let by_leader = carrier == Carrier::Leader && steps.iter().any(|step| step.orders_its_access());
        let legal = without_one_sided_fences(steps, target);
        let steps = legal.as_deref().unwrap_or(steps);
        Family::from_sm(target.sm).map(|family| (barriers(steps, scope, family).cost(), by_leader))
    };
    sequences.iter().min_by_key(cost).expect("every row has a sequence")
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;
    use crate::{
        abi::{ABI, PROVEN, RowKind},
        op::Ordering,
        ptx::{FenceSem, Form, Sm},
    };

    fn targets() -> impl Iterator<Item = Target> {
        let versions = [None, Some("ptx88"), Some("ptx94")].map(|version| version.map(|v| v.parse().expect(v)));
        Sm::all().flat_map(move |sm| versions.into_iter().filter_map(move |version| Target::new(sm, version).ok()))
    }

    #[test]
    fn the_choice_is_the_same_at_every_scope() {
        for (row, target) in ABI.iter().chain(PROVEN).flat_map(|row| targets().map(move |target| (row, target))) {
            for scope in Scope::iter() {
                let here = at_scope(row.sequences, Carrier::Access, scope, &target);
                assert_eq!(here, cheapest(row.sequences, Carrier::Access, &target), "{row} {target}");
            }
        }
    }

    #[test]
    fn the_recommended_sequence_is_never_dearer() {
        for (row, target) in ABI.iter().flat_map(|row| targets().map(move |target| (row, target))) {
            assert_eq!(cheapest(row.sequences, Carrier::Access, &target), row.sequences[0], "{row} {target}");
        }
    }

    /// Leaders matter only where one-sided fences, which cost the same, exist.
    #[test]
    fn no_leader_orders_for_its_warp() {
        let leads = |target: &Target| Family::from_sm(target.sm).is_some_and(|family| family >= Family::Sm90);
        let rows = ABI.iter().filter(|row| row.kind == RowKind::Rmw);
        let mut split = 0;
        for (row, target) in rows.flat_map(|row| targets().filter(leads).map(move |target| (row, target))) {
            let chosen = cheapest(row.sequences, Carrier::Leader, &target);
            let by_fences = !chosen.iter().any(|step| step.orders_its_access());
            let expected = target.meets(Form::OneSidedFence.requirement()) || row.ordering == Ordering::Relaxed;
            assert_eq!(by_fences, expected, "{row} {target}");
            split += usize::from(chosen != row.sequences[0]);
        }
        assert!(split > 0);
    }

    /// The choice is independent of the order in the row.
    #[test]
    fn legalized_fences_cost_twice() {
        use crate::ptx::AtomSem::{AcqRel, Relaxed};
        const FENCES: &[Step] = &[Step::Fence(FenceSem::Release), Step::Atom(Relaxed), Step::Fence(FenceSem::Acquire)];
        const ATOM: &[Step] = &[Step::Atom(AcqRel)];
        for (sm, version, expected) in
            [("sm_80", None, ATOM), ("sm_90", None, ATOM), ("sm_90", Some("ptx86"), FENCES), ("sm_100", None, FENCES)]
        {
            let version = version.map(|version| version.parse().expect(version));
            let target = Target::new(sm.parse().expect(sm), version).expect(sm);
            assert_eq!(cheapest(&[FENCES, ATOM], Carrier::Access, &target), expected, "{target}");
        }
    }
}
