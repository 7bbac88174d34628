//! The programs of `mapping-sources.txt` under every strategy on every family of targets.

use std::{fs, path::Path};

use itertools::{Itertools, iproduct};
use ptx_atomics_lowering::{Policy, Strategy, Target, Type};
use ptx_atomics_mapping::{Checker, Mapping};
use ptx_memory_model::{
    outcome::Limits,
    source::{ReleaseSequences, read::sources},
};
use strum::IntoEnumIterator;

const TARGETS: [(&str, &str); 5] =
    [("sm_60", "6.0"), ("sm_70", "6.0"), ("sm_80", "7.8"), ("sm_90", "7.8"), ("sm_90", "8.6")];

#[test]
fn all() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/litmus/mapping-sources.txt");
    let text = fs::read_to_string(path).unwrap();
    let programs = sources(&text).unwrap();
    let types = [Type::I32, Type::I64, Type::I8];
    for rule in [ReleaseSequences::Cpp20, ReleaseSequences::Cpp11] {
        let mappings = iproduct!(Strategy::iter(), TARGETS, types)
            .map(|(strategy, (sm, ptx), ty)| {
                let (a, b) = ptx.split_once('.').unwrap();
                let version = ptx_atomics_lowering::PtxVersion(a.parse().unwrap(), b.parse().unwrap());
                let target = Target::new(sm.parse().unwrap(), Some(version)).unwrap();
                Mapping::new(Policy::from(strategy), target, ty, format!("{strategy} {sm} {ptx} {ty}"))
            })
            .collect_vec();
        let start = std::time::Instant::now();
        let mut checker = Checker::new(
            &mappings,
            rule,
            Limits { rounds: std::env::var("R").unwrap().parse().unwrap(), choices: 3_000_000, time: None },
        );
        for source in &programs {
            let (before, began) = (checker.counts, std::time::Instant::now());
            let found = match checker.check(&source.program) {
                Ok(f) => f,
                Err(e) => {
                    println!("{}: {e}", source.name);
                    continue;
                }
            };
            for example in found {
                println!("{rule}: {} by {}", source.name, mappings[example.mapping].name);
            }
            if began.elapsed().as_millis() > 50 {
                println!("{} {:?} {} unknown", source.name, began.elapsed(), checker.counts.unknown - before.unknown);
            }
        }
        println!("{rule} {:?} {:?}", checker.counts, start.elapsed());
    }
}
