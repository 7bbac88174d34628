//! Whoever looks an operation up in the reference finds what the library makes of it, in one row.

use ptx_atomics_lowering::{
    Access, AtomicOp, Operation, Ordering, Policy, RmwOp, Sm, Strategy, SyncScope, Target, Type, lower,
    ptx::{Scope, Space},
};
use ptx_atomics_page::reference::{TARGETS, is_by_rule, section, target_names};
use strum::IntoEnumIterator;

/// The table of a type, as lines of cells, and the code that stands below it.
struct Section {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    codes: Vec<String>,
}

impl Section {
    fn of(section: &str) -> Self {
        let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
        let mut lines = section.lines().filter(|line| line.starts_with('|')).map(cells);
        let header = lines.next().expect("a table has a header");
        let rows = lines.skip(1).collect();
        let codes = section.split("```ptx\n").skip(1).map(|code| code.split("\n```").next().expect("code").to_owned());
        Self { header, rows, codes: codes.collect() }
    }

    /// The rows that stand for all of these, as a reader finds them.
    fn rows(&self, wanted: &[(&str, String)]) -> Vec<&Vec<String>> {
        let column = |name: &str| self.header.iter().position(|cell| cell == name);
        let is_it = |row: &&Vec<String>| {
            wanted.iter().all(|(name, value)| column(name).is_none_or(|column| lists(&row[column], value)))
        };
        self.rows.iter().filter(is_it).collect()
    }

    /// The PTX of a row, with its own scope and space.
    fn ptx(&self, row: &[String], scope: Scope, space: Space) -> String {
        let cell = &row[self.header.iter().position(|name| name == "PTX").expect("a column of PTX")];
        let code = |part: &str| match part.strip_prefix("[code ") {
            Some(rest) => {
                let number: usize = rest.split(']').next().and_then(|number| number.parse().ok()).expect("a number");
                self.codes[number - 1].clone()
            }
            None if part == "nothing" => String::new(),
            None => part.trim_matches('`').replace("\\|", "|"),
        };
        let parts: Vec<String> = cell.split("<br>").map(code).collect();
        parts.join("\n").replace("<scope>", &scope.to_string()).replace("<space>", &space.to_string())
    }
}

/// Whether a cell has a value: by its name, as one of a run of targets, or as one of all.
fn lists(cell: &str, value: &str) -> bool {
    let names = target_names();
    let number = |name: &str| names.iter().position(|other| other == name);
    cell == "all"
        || cell.split(", ").any(|part| match part.split_once(" to ").map(|(from, to)| (number(from), number(to))) {
            Some((Some(from), Some(to))) => number(value).is_some_and(|number| (from..=to).contains(&number)),
            _ => part == value,
        })
}

fn target((sm, ptx): (&str, &str)) -> Target {
    Target::new(sm.parse().expect(sm), Some(ptx.parse().expect(ptx))).expect("a target")
}

/// Looks everything up of a chapter, type and targets, and says how much was found.
fn check(name: &str, ty: Type, indices: &[usize]) -> usize {
    let section = Section::of(&section(name, ty));
    indices.iter().map(|index| found(&section, name, ty, *index)).sum()
}

fn found(section: &Section, name: &str, ty: Type, index: usize) -> usize {
    let of = target(TARGETS[index]);
    let mut found = 0;
    for space in Space::iter().filter(|space| name != "fence" || *space == Space::Generic) {
        let access = Access::new(space, ty);
        let operation = match name {
            "fence" => Operation::Fence,
            "load" => Operation::Load(access),
            "store" => Operation::Store(access),
            "cmpxchg" => Operation::CmpXchg { access, failure: Ordering::Relaxed },
            name => Operation::Rmw(name.parse::<RmwOp>().expect(name), access),
        };
        for ordering in Ordering::iter().filter(|ordering| operation.takes(*ordering)) {
            for scope in Scope::iter().filter(|scope| !is_by_rule(*scope, &of)) {
                for strategy in Strategy::iter() {
                    let wanted = [
                        ("ordering", ordering.to_string()),
                        ("scope", scope.to_string()),
                        ("space", space.to_string()),
                        ("strategy", strategy.to_string()),
                        ("GPU", target_names()[index].clone()),
                    ];
                    let rows = section.rows(&wanted);
                    assert_eq!(rows.len(), 1, "{name} {ty}: {wanted:?}: {rows:?}");
                    let op = AtomicOp { operation, ordering, scope: SyncScope::Threads(scope) };
                    if let Ok(lowering) = lower(&op, &Policy::from(strategy), &of) {
                        let statements = lowering.sequence.statements().iter().map(ToString::to_string);
                        let expected = statements.collect::<Vec<_>>().join("\n");
                        assert_eq!(section.ptx(rows[0], scope, space), expected, "{name} {ty}: {wanted:?}");
                        found += 1;
                    }
                }
            }
        }
    }
    found
}

#[test]
fn what_is_looked_up_is_found() {
    assert!(check("fence", Type::I32, &[0, 4, 6, 7, 8]) > 200);
    assert!(check("load", Type::I64, &[2, 4, 7]) > 200);
    assert!(check("add", Type::I32, &[1, 5, 7]) > 300);
    assert!(check("cmpxchg", Type::I16, &[4, 7]) > 200);
}

/// What no row has, a rule says.
#[test]
fn the_rules_hold() {
    for of in TARGETS.map(target) {
        let lowered = |operation, ordering, scope| {
            let op = AtomicOp { operation, ordering, scope };
            lower(&op, &Policy::default(), &of).expect("it has one").sequence
        };
        let add = Operation::Rmw(RmwOp::Add, Access::new(Space::Global, Type::I32));
        for ordering in [Ordering::Relaxed, Ordering::AcqRel, Ordering::SeqCst] {
            let single = lowered(add, ordering, SyncScope::SingleThread);
            assert_eq!(single, lowered(add, Ordering::Relaxed, SyncScope::Threads(Scope::Cta)));
            if is_by_rule(Scope::Cluster, &of) {
                let at = |scope| lowered(add, ordering, SyncScope::Threads(scope));
                assert_eq!(at(Scope::Cluster), at(Scope::Gpu));
            }
        }
        assert_eq!(lowered(Operation::Fence, Ordering::SeqCst, SyncScope::SingleThread).statements(), []);
    }
}

/// Each GPU is as that of its family.
#[test]
fn the_families_are_all() {
    let families = TARGETS.map(target);
    let newest = families[0].ptx;
    // Those that newer versions have are none of these families yet.
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
