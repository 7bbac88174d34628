//! The lookup of an operation in the reference gives the library's result, in a single row.

use std::collections::BTreeSet;

use ptx_atomics_reference::{LEVEL, SCOPE, SPACE, Section, TARGETS, name, operations, section, target_names, targets};
use ptx_lowering::{
    AtomicOp, Change, Lowering, Operation, Ordering, Policy, RmwOp, Sm, Strategy, SyncScope, Target, Type, lower,
    ptx::{Instruction, Scope, Space},
    sass::{Family, Sass, leader_orders, loses_ordering},
};
use regex::{Captures, Regex};
use strum::IntoEnumIterator;

/// Whether a cell contains a value: by its name, as part of a range of targets, or in `all`.
fn lists(cell: &str, value: &str) -> bool {
    let names = target_names();
    // The name of a GPU with two versions of PTX stands for both.
    let is_named =
        |name: &str, of: &String| of == name || of.strip_prefix(name).is_some_and(|rest| rest.starts_with(" with "));
    let first = |name: &str| names.iter().position(|of| is_named(name, of));
    let last = |name: &str| names.iter().rposition(|of| is_named(name, of));
    cell == "all"
        || cell.split(", ").any(|part| match part.split_once(" to ").map(|(from, to)| (first(from), last(to))) {
            Some((Some(from), Some(to))) => first(value).is_some_and(|number| (from..=to).contains(&number)),
            _ => is_named(part, &value.to_owned()),
        })
}

/// The code in a cell, for a scope and a space.
fn code(cell: &str, section: &Section, scope: Scope, space: Space, target: &Target) -> String {
    let part = |part: &str| match part.strip_prefix("code ") {
        Some(number) => section.codes[number.parse::<usize>().expect("a number") - 1].clone(),
        None if part == "nothing" => String::new(),
        None => part.trim_matches('`').to_owned(),
    };
    let space = if space == Space::Generic { String::new() } else { format!(".{space}") };
    let parts: Vec<String> = cell.lines().map(part).collect();
    parts
        .join("\n")
        .replace(
            SCOPE,
            if scope == Scope::Cluster && target.sm.number() < 90 { ".gpu" } else { SCOPES[scope as usize].0 },
        )
        .replace(LEVEL, SCOPES[scope as usize].1)
        .replace(SPACE, &space)
}

/// The replacements of `<.scope>` and `<.level>`, by scope.
const SCOPES: [(&str, &str); 4] = [(".cta", ".cta"), (".cluster", ".gl"), (".gpu", ".gl"), (".sys", ".sys")];

/// The values in a text that apply to a place: each value without places, or whose places include it.
fn held(text: &str, values: &Regex, place: &[String]) -> BTreeSet<String> {
    let holds = |found: &Captures<'_>| {
        let places = found.get(2).map_or("", |places| places.as_str());
        places.is_empty() || places.split("; ").all(|list| place.iter().any(|value| lists(list, value)))
    };
    values.captures_iter(text).filter(holds).map(|found| found[1].to_owned()).collect()
}

/// The properties of a lowering besides its code: the number of barriers, and the notes.
fn list_properties(lowering: &Lowering, target: &Target) -> [BTreeSet<String>; 2] {
    let family = Family::from_sm(target.sm);
    let counts = family.and_then(|family| Sass::of_sequence(&lowering.sequence, family)).map(|sass| sass.counts());
    let barriers = counts.map(|counts| (counts.membar + counts.errbar + counts.cctl).to_string());
    // The column of the GPU and a rule contain these.
    let is_elsewhere = |change: &Change| matches!(change, Change::BeforeMemoryModel | Change::ClusterAsGpu);
    let changes = lowering.changes.iter().filter(|change| !is_elsewhere(change)).map(ToString::to_string);
    let notes = family.into_iter().flat_map(|family| {
        let any = |is: &dyn Fn(&Instruction) -> bool| lowering.sequence.instructions().any(is);
        let loses = any(&|instruction| loses_ordering(instruction, family));
        let leads = any(&|instruction| leader_orders(instruction, family));
        [(loses, "loses-ordering"), (leads, "leader-orders")]
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, name)| name.to_owned())
    });
    [barriers.into_iter().collect(), changes.chain(notes).collect()]
}

/// Looks up all results of an operation on some targets. Returns their number.
fn check(operation: Operation, indices: &[usize]) -> usize {
    let section = section(operation);
    let counts = Regex::new(r"([0-9]+)(?: \(([^)]*)\))?(?:; |$)").expect("an expression");
    let notes = Regex::new(r"(?m)^([a-z0-9-]+)(?: \(([^)]*)\))?$").expect("an expression");
    let mut found = 0;
    for table in &section.tables {
        let column = |name: &str| table.own.head.iter().position(|head| head == name);
        for (&ordering, &space, &index) in itertools::iproduct!(&table.orderings, &table.spaces, indices) {
            let target = targets()[index];
            for (scope, strategy) in itertools::iproduct!(Scope::iter(), Strategy::iter()) {
                if space == Space::SharedCluster && target.sm.number() < 90 {
                    continue;
                }
                let wanted = [
                    ("scope", scope.to_string()),
                    ("space", space.to_string()),
                    ("strategy", strategy.to_string()),
                    ("GPU", target_names()[index].clone()),
                ];
                let is_it = |row: &&Vec<String>| {
                    wanted.iter().all(|(name, value)| column(name).is_none_or(|column| lists(&row[column], value)))
                };
                let rows: Vec<_> = table.own.rows.iter().filter(is_it).collect();
                assert_eq!(rows.len(), 1, "{operation:?} {ordering}: {wanted:?}: {rows:?}");
                let op = AtomicOp { operation: operation.in_space(space), ordering, scope: SyncScope::Threads(scope) };
                if let Ok(lowering) = lower(&op, &Policy::from(strategy), &target) {
                    let statements = lowering.sequence.statements().iter().map(ToString::to_string);
                    let expected = statements.collect::<Vec<_>>().join("\n");
                    let cell = &rows[0][column("PTX").expect("a column of PTX")];
                    assert_eq!(
                        code(cell, &section, scope, space, &target),
                        expected,
                        "{operation:?} {ordering}: {wanted:?}"
                    );
                    let place = wanted.map(|(_, value)| value);
                    let cell = |name: &str| &rows[0][column(name).expect(name)];
                    let notes = held(cell("notes"), &notes, &place)
                        .into_iter()
                        .filter(|note| !["combines", "loop"].contains(&&**note));
                    // The places of each number follow the range of numbers.
                    let barriers = cell("barriers").lines().last().unwrap_or_default();
                    let shown = [held(barriers, &counts, &place), notes.collect()];
                    assert_eq!(shown, list_properties(&lowering, &target), "{operation:?} {ordering}: {place:?}");
                    found += 1;
                }
            }
        }
    }
    found
}

fn find(wanted: &str, ty: Type) -> Operation {
    let is_it =
        |operation: &Operation| name(operation) == wanted && operation.access().is_none_or(|access| access.ty == ty);
    operations().find(is_it).expect("the reference has the operation")
}

#[test]
fn lookups_find_their_entries() {
    assert!(check(find("fence", Type::I32), &[0, 4, 6, 7, 8]) > 200);
    assert!(check(find("load", Type::I64), &[2, 4, 7]) > 800);
    assert!(check(find("store", Type::I8), &[0, 3, 8]) > 600);
    assert!(check(find("add", Type::I32), &[1, 5, 7]) > 800);
    assert!(check(find("fadd", Type::F16), &[3, 6]) > 500);
    assert!(check(find("cmpxchg", Type::I16), &[4, 7]) > 500);
}

/// Properties that are in no row are in a rule.
#[test]
fn the_rules_hold() {
    for of in targets() {
        let lowered = |operation, ordering, scope| {
            let op = AtomicOp { operation, ordering, scope };
            lower(&op, &Policy::default(), &of).map(|lowering| lowering.sequence).ok()
        };
        let add = find("add", Type::I32);
        let is_before = of.sm.number() < 90;
        for ordering in Ordering::iter().filter(|ordering| add.takes(*ordering)) {
            let at = |scope| lowered(add, ordering, SyncScope::Threads(scope));
            let single = lowered(add, ordering, SyncScope::SingleThread);
            assert_eq!(single, lowered(add, Ordering::Relaxed, SyncScope::Threads(Scope::Cta)));
            assert_eq!(at(Scope::Cluster) == at(Scope::Gpu), is_before, "{of}");
            let in_space = |space| lowered(add.in_space(space), ordering, SyncScope::Threads(Scope::Cta));
            assert_eq!(in_space(Space::SharedCluster).is_none(), is_before, "{of}");
            assert_eq!(in_space(Space::Const), None);
        }
        let Operation::CmpXchg { access, .. } = find("cmpxchg", Type::I32) else { panic!("cmpxchg is none") };
        let swap = |failure, ordering| {
            lowered(Operation::CmpXchg { access, failure }, ordering, SyncScope::Threads(Scope::Gpu))
                .expect("there is one")
        };
        assert_eq!(swap(Ordering::Acquire, Ordering::Release), swap(Ordering::Relaxed, Ordering::AcqRel));
        assert_ne!(swap(Ordering::Acquire, Ordering::Release), swap(Ordering::Relaxed, Ordering::Release));
        let fence = lowered(Operation::Fence, Ordering::SeqCst, SyncScope::SingleThread).expect("there is one");
        assert_eq!(fence.statements(), []);
    }
}

/// Each GPU has the same results as its family.
#[test]
fn the_families_are_all() {
    let families = targets();
    let newest = families[0].ptx;
    // The GPUs that need newer versions of PTX do not belong to these families yet.
    let known = Sm::all().filter(|sm| sm.lowest_ptx() <= newest);
    for own in known.map(|sm| Target::new(sm, Some(newest)).expect("the version has the GPU")) {
        let is_family = |family: &&Target| family.sm.number() <= own.sm.number() && family.ptx == newest;
        let family = families.iter().rfind(is_family).unwrap_or_else(|| panic!("{own} has no family"));
        for operation in Operation::all(Space::Global) {
            for ordering in Ordering::iter().filter(|ordering| operation.takes(*ordering)) {
                let op = AtomicOp { operation, ordering, scope: SyncScope::Threads(Scope::Gpu) };
                let on = |target| lower(&op, &Policy::default(), target).map(|lowering| lowering.sequence).ok();
                assert_eq!(on(&own), on(family), "{op:?} on {own} and {family}");
            }
        }
    }
}

/// Each operation of LLVM and PTX has a chapter.
#[test]
fn the_chapters_are_all() {
    let names = ptx_atomics_reference::names();
    assert_eq!(targets().len(), TARGETS.len());
    assert_eq!(names.len(), 4 + RmwOp::iter().count());
    let of: Vec<Operation> = Operation::all(Space::Global).collect();
    assert!(of.iter().all(|operation| names.contains(&name(operation))));
    // The ordering of success is the ordering of the heading.
    let failures: BTreeSet<String> = operations()
        .filter_map(|operation| match operation {
            Operation::CmpXchg { failure, .. } => Some(failure.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(failures, ["relaxed".to_owned()].into());
}
