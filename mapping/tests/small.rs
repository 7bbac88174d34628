use itertools::{Itertools, iproduct};
use ptx_atomics_lowering::{Policy, PtxVersion, Strategy, Target, Type};
use ptx_atomics_mapping::{
    Checker, Mapping,
    programs::{self, Set},
};
use ptx_memory_model::{outcome::Limits, source::ReleaseSequences};
use std::time::Instant;
use strum::IntoEnumIterator;

const TARGETS: [(&str, PtxVersion); 5] = [
    ("sm_60", PtxVersion(6, 0)),
    ("sm_70", PtxVersion(6, 0)),
    ("sm_80", PtxVersion(7, 8)),
    ("sm_90", PtxVersion(7, 8)),
    ("sm_90", PtxVersion(8, 6)),
];

#[test]
fn count() {
    for set in Set::iter().filter(|s| std::env::var("SET").is_ok_and(|name| name == s.to_string())) {
        let start = Instant::now();
        let mut c = 0;
        programs::each(set, (1, 1), &mut |_, _| c += 1);
        println!("{set}: {c} {:?}", start.elapsed());
        let mappings = iproduct!(Strategy::iter(), TARGETS, [Type::I32])
            .map(|(strategy, (sm, ptx), ty)| {
                Mapping::new(
                    Policy::from(strategy),
                    Target::new(sm.parse().unwrap(), Some(ptx)).unwrap(),
                    ty,
                    format!("{strategy} {sm} {ptx:?} {ty}"),
                )
            })
            .collect_vec();
        for rule in ReleaseSequences::iter() {
            let start = Instant::now();
            let mut checker = Checker::new(&mappings, rule, Limits { rounds: 2, ..Limits::default() });
            let mut first = None;
            programs::each(set, (1, c / 5000 + 1), &mut |name, program| {
                let found = checker.check(program).unwrap();
                if let (None, Some(f)) = (&first, found.first()) {
                    first = Some((name.to_owned(), mappings[f.mapping].name.clone(), program.clone()))
                }
            });
            println!("  {rule} {:?} {:?} {:?}", checker.counts, start.elapsed(), first.map(|f| (f.0, f.1)));
        }
    }
}
