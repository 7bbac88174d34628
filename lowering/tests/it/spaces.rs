//! Tests that `.shared` and `.shared::cta` are spellings of the same state space: every operation has the same lowering
//! and cost in both.

use itertools::iproduct;
use ptx_lowering::{
    AtomicOp, Form, Operation, Ordering, Policy, SyncScope, Target, lower,
    ptx::{Scope, Space},
    sass::{Family, Note, Sass},
};
use strum::IntoEnumIterator;

/// A GPU for each kind of lowering, with a PTX version that has both spellings.
const TARGETS: [(&str, &str); 7] = [
    ("sm_20", "ptx78"),
    ("sm_52", "ptx78"),
    ("sm_60", "ptx78"),
    ("sm_70", "ptx78"),
    ("sm_80", "ptx78"),
    ("sm_90", "ptx78"),
    ("sm_100", "ptx90"),
];

#[test]
fn two_spellings_of_one_space() {
    let (mut lowered, mut refused) = (0, 0);
    for (gpu, version) in TARGETS {
        let target = Target::new(gpu.parse().expect("a GPU"), version.parse().ok()).expect("a target");
        assert!(target.meets(Form::SharedCta.requirement()), "{target}");
        for (operation, ordering, scope) in iproduct!(Operation::all(Space::Shared), Ordering::iter(), Scope::iter()) {
            let of = |operation: Operation| {
                let op = AtomicOp { operation, ordering, scope: SyncScope::Threads(scope) };
                let lowering = lower(&op, &Policy::default(), &target).map_err(|errors| format!("{errors:?}"))?;
                let family = Family::from_sm(target.sm);
                let sass = family.and_then(|family| Sass::of_sequence(&lowering.sequence, family));
                let notes: Vec<Note> =
                    family.iter().flat_map(|family| Note::of_sequence(&lowering.sequence, *family)).collect();
                let text = lowering.sequence.to_string().replace(".shared::cta", ".shared");
                Ok::<_, String>((text, lowering.changes, lowering.row, sass.map(|sass| sass.opcodes().to_vec()), notes))
            };
            let one = of(operation);
            assert_eq!(one, of(operation.in_space(Space::SharedCta)), "{operation:?} {ordering} {scope}, {target}");
            lowered += usize::from(one.is_ok());
            refused += usize::from(one.is_err());
        }
    }
    assert!(lowered > 10_000 && refused > 1_000, "{lowered} lowered, {refused} refused");
}
