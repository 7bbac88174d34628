//! The cheapest sequence of a row: the fewest barriers on the target, then the fewest instructions, then the document's
//! order.
//!
//! What counts is the sequence as it is legalized for the target. Before sm_90 or PTX 8.6, one-sided fences become full
//! ones and cost twice; from there on, they cost as much as the access that orders by itself. Cost is that of scope gpu: at
//! the other scopes fewer or other barriers are emitted, but the choice is the same.
//!
//! On every target that was measured, the choice is the recommended sequence; no other one of its row is cheaper.

use super::Step;
use crate::{
    legalize::fence,
    ptx::Scope,
    sass::{Family, barriers},
    target::Target,
};

/// The cheapest; the first where nothing was measured.
pub(super) fn cheapest(sequences: &'static [&'static [Step]], target: &Target) -> &'static [Step] {
    at_scope(sequences, Scope::Gpu, target)
}

fn at_scope(sequences: &'static [&'static [Step]], scope: Scope, target: &Target) -> &'static [Step] {
    let cost = |steps: &&&'static [Step]| {
        let steps = fence::legalize(steps, target, &mut Vec::new());
        Family::of(target.sm).map(|family| barriers(&steps, scope, family).cost())
    };
    sequences.iter().min_by_key(cost).expect("every row has a sequence")
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;
    use crate::{
        abi::{ABI, PROVEN},
        ptx::FenceSem,
        target::Sm,
    };

    fn targets() -> impl Iterator<Item = Target> {
        let versions = [None, Some("ptx88"), Some("ptx94")].map(|version| version.map(|v| v.parse().expect(v)));
        Sm::all().flat_map(move |sm| versions.into_iter().filter_map(move |version| Target::new(sm, version).ok()))
    }

    #[test]
    fn the_choice_is_the_same_at_every_scope() {
        for (row, target) in ABI.iter().chain(PROVEN).flat_map(|row| targets().map(move |target| (row, target))) {
            for scope in Scope::iter() {
                assert_eq!(at_scope(row.sequences, scope, &target), cheapest(row.sequences, &target), "{row} {target}");
            }
        }
    }

    #[test]
    fn the_recommended_sequence_is_never_dearer() {
        for (row, target) in ABI.iter().flat_map(|row| targets().map(move |target| (row, target))) {
            assert_eq!(cheapest(row.sequences, &target), row.sequences[0], "{row} {target}");
        }
    }

    /// Whatever the order of the row.
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
            assert_eq!(cheapest(&[FENCES, ATOM], &target), expected, "{target}");
        }
    }
}
