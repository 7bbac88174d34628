//! The source model on programs whose verdicts are known.

use proptest::prelude::*;
use ptx_memory_model::{
    outcome::{Layout, Limits},
    source::{
        Races,
        ReleaseSequences::{Cpp11, Cpp20},
        Rules,
        read::{Source, sources},
        search,
    },
};
use testing::random;

fn program(text: &str) -> Source {
    let mut programs = sources(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(programs.len(), 1, "{text}");
    programs.remove(0)
}

/// Whether some outcome has these values of registers (`0:r1`) and variables; `None` if the program is undefined.
fn allowed(code: &str, values: &str, rules: impl Into<Rules>) -> Option<bool> {
    let source = program(&format!("name: test\n{code}"));
    let layout = Layout::new(&source.program);
    let found = search::outcomes(&source.program, rules, Limits::default());
    assert_eq!(found.outcomes.unknown, None, "{code}");
    if found.undefined {
        return None;
    }
    let registers = layout.registers().iter().map(|(thread, register)| {
        format!("{thread}:{}", source.program.threads[*thread].registers[usize::from(register.0)].name)
    });
    let names: Vec<String> = registers.chain(source.program.locations.iter().map(|v| v.name.clone())).collect();
    let wanted = values.split(' ').map(|value| {
        let (name, value) = value.split_once('=').expect(value);
        (names.iter().position(|other| other == name).expect(name), value.parse().expect(value))
    });
    let wanted: Vec<(usize, u64)> = wanted.collect();
    let closed = found.outcomes.states.iter().map(|state| state.iter().copied().map(Some).collect());
    let mut states = closed.chain(found.open.iter());
    Some(states.any(|state: Vec<Option<u64>>| wanted.iter().all(|&(at, value)| state[at].is_none_or(|v| v == value))))
}

#[track_caller]
fn check(code: &str, values: &str, expected: impl Into<Option<bool>>) {
    let expected = expected.into();
    assert_eq!((allowed(code, values, Cpp11), allowed(code, values, Cpp20)), (expected, expected), "{values}\n{code}");
}

const UNDEFINED: Option<bool> = None;

#[test]
fn message_passing() {
    let passing = |data: &str, store: &str, load: &str| {
        format!("P0@0.0: st.{data} x 1; {store} y 1\nP1@1.0: r0={load} y; r1=ld.{data} x")
    };
    check(&passing("rlx.gpu", "st.rel.gpu", "ld.acq.gpu"), "1:r0=1 1:r1=0", false);
    check(&passing("rlx.gpu", "st.rlx.gpu", "ld.acq.gpu"), "1:r0=1 1:r1=0", true);
    check(&passing("rlx.gpu", "st.sc.gpu", "ld.sc.gpu"), "1:r0=1 1:r1=0", false);
    // The data race occurs if the flag is not set.
    check(&passing("na", "st.rel.gpu", "ld.acq.gpu"), "1:r0=1 1:r1=0", UNDEFINED);
    // Scopes that do not include the other thread race as well.
    check(&passing("rlx.cta", "st.rel.gpu", "ld.acq.gpu"), "1:r0=1 1:r1=0", UNDEFINED);
    check(&passing("rlx.gpu", "st.rel.cta", "ld.acq.gpu"), "1:r0=1 1:r1=0", UNDEFINED);
}

#[test]
fn store_buffering() {
    let sb = |store, load, fence| {
        format!("P0@0.0: {store} x 1;{fence} r0={load} y\nP1@1.0: {store} y 1;{fence} r0={load} x")
    };
    check(&sb("st.sc.gpu", "ld.sc.gpu", ""), "0:r0=0 1:r0=0", false);
    check(&sb("st.rel.gpu", "ld.acq.gpu", ""), "0:r0=0 1:r0=0", true);
    check(&sb("st.rlx.gpu", "ld.rlx.gpu", "fence.sc.gpu;"), "0:r0=0 1:r0=0", false);
    check(&sb("st.rlx.gpu", "ld.rlx.gpu", "fence.ar.gpu;"), "0:r0=0 1:r0=0", true);
}

#[test]
fn load_buffering() {
    // Allowed, though RC11 forbids it: PTX allows it.
    check("P0@0.0: r0=ld.rlx.gpu x; st.rlx.gpu y 1\nP1@1.0: r0=ld.rlx.gpu y; st.rlx.gpu x 1", "0:r0=1 1:r0=1", true);
    check("P0@0.0: r0=ld.rlx.gpu x; st.rlx.gpu y r0\nP1@1.0: r0=ld.rlx.gpu y; st.rlx.gpu x r0", "0:r0=1", false);
    check("P0@0.0: r0=ld.acq.gpu x; st.rel.gpu y 1\nP1@1.0: r0=ld.acq.gpu y; st.rel.gpu x 1", "0:r0=1 1:r0=1", false);
}

#[test]
fn independent_reads() {
    let iriw = |order| {
        format!(
            "P0@0.0: st.{order}.gpu x 1\nP1@1.0: st.{order}.gpu y 1\n\
             P2@2.0: r0=ld.{load}.gpu x; r1=ld.{load}.gpu y\nP3@3.0: r0=ld.{load}.gpu y; r1=ld.{load}.gpu x",
            load = if order == "rel" { "acq" } else { order }
        )
    };
    check(&iriw("sc"), "2:r0=1 2:r1=0 3:r0=1 3:r1=0", false);
    check(&iriw("rel"), "2:r0=1 2:r1=0 3:r0=1 3:r1=0", true);
}

/// Figure 12 of the paper: whether a later relaxed store of the same thread continues a release sequence.
#[test]
fn release_sequences() {
    let code = "P0@0.0: st.rlx.gpu x 1; st.rel.gpu y 1\n\
                P1@1.0: r0=rmw.add.ar.gpu y 10; st.rlx.gpu y 3\n\
                P2@2.0: r0=ld.acq.gpu y; r1=ld.rlx.gpu x";
    let values = "1:r0=1 2:r0=3 2:r1=0";
    assert_eq!((allowed(code, values, Cpp11), allowed(code, values, Cpp20)), (Some(false), Some(true)));
    let chain = "P0@0.0: st.rlx.gpu x 1; st.rel.gpu y 1\n\
                 P1@1.0: r0=rmw.add.rlx.gpu y 10\n\
                 P2@2.0: r0=ld.acq.gpu y; r1=ld.rlx.gpu x";
    check(chain, "2:r0=11 2:r1=0", false);
}

#[test]
fn failed_exchanges() {
    let code =
        |orders| format!("P0@0.0: st.rlx.gpu x 1; st.rel.gpu y 1\nP1@1.0: r0=cas.{orders}.gpu y 0 5; r1=ld.rlx.gpu x");
    check(&code("rlx/acq"), "1:r0=1 1:r1=0", false);
    check(&code("acq/rlx"), "1:r0=1 1:r1=0", true);
}

/// Iterations that only wait need no bound, whether they read, fail to exchange, or write back the value that they
/// read.
#[test]
fn loops() {
    let waits = [
        "do { r0=ld.acq.gpu y } while r0 == 0",
        "do { r0=ld.rlx.gpu y } while r0 != 1; fence.acq.gpu",
        "do { r0=cas.acq/rlx.gpu y 1 2 } while r0 != 1",
        "do { r0=ld.acq.gpu y; break if r0 == 1; r0=ld.acq.gpu y } while r0 == 0",
        "do { do { r0=ld.rlx.gpu y } while r0 == 0; r0=cas.acq/rlx.gpu y 1 2 } while r0 != 1",
    ];
    for wait in waits {
        let code = format!("P0@0.0: st.rlx.gpu x 1; st.rel.gpu y 1\nP1@1.0: {wait}; r2=ld.rlx.gpu x");
        check(&code, "1:r0=1 1:r2=1", true);
        check(&code, "1:r2=0", false);
        check(&code, "1:r0=0", false);
    }
    let lock = "P0@0.0: do { r0=rmw.exch.acq.gpu y 1 } while r0 != 0; st.na x 1; st.rel.gpu y 0\n\
                P1@1.0: do { r0=rmw.exch.acq.gpu y 1 } while r0 != 0; r1=ld.na x; st.rel.gpu y 0";
    check(lock, "y=0 1:r1=1", true);
    check(lock, "y=1", false);
    check(&lock.replace("acq", "rlx"), "y=0", UNDEFINED);
    // The number of iterations is the number of writes of the other thread.
    let update = |new| format!("r1=ld.rlx.gpu y; r2=r1; do {{ r0=r1; r1=cas.rlx/rlx.gpu y r0 {new} }} while r0 != r1");
    let both = format!("P0@0.0: {}\nP1@1.0: {}", update(1), update(2));
    let found = |rounds| {
        let limits = Limits { rounds, rounds_suffice: true, ..Limits::default() };
        let found = search::outcomes(&program(&format!("name: both\n{both}")).program, Cpp20, limits).outcomes;
        (found.states.len(), found.unknown)
    };
    assert_eq!([1, 2, 3].map(found), [(2, None), (4, None), (4, None)]);
}

#[test]
fn atomicity() {
    let code = |scope| format!("P0@0.0: r0=rmw.add.rlx.{scope} x 1\nP1@1.0: r0=rmw.add.rlx.{scope} x 1");
    check(&code("gpu"), "x=1", false);
    check(&code("cta"), "x=1", UNDEFINED);
}

/// The verdicts under C++'s rule for races and under LLVM's: `None` for an undefined program.
#[track_caller]
fn racing(code: &str, values: &str, cpp: Option<bool>, llvm: Option<bool>) {
    let by = |races| allowed(code, values, Rules { sequences: Cpp20, races });
    assert_eq!((by(Races::Cpp), by(Races::Llvm)), (cpp, llvm), "{values}\n{code}");
}

/// A guarded read of plain data happens only if the message has arrived.
#[test]
fn guarded_data() {
    let passing = |store: &str, load: &str| {
        format!("P0@0.0: st.na x 1; {store} y 1\nP1@1.0: r0={load} y; if r0 == 1 {{ r1=ld.na x }}")
    };
    check(&passing("st.rel.gpu", "ld.acq.gpu"), "1:r0=1 1:r1=0", false);
    check(&passing("st.rel.gpu", "ld.acq.gpu"), "1:r0=1 1:r1=1", true);
    check(&passing("st.rel.gpu", "ld.acq.gpu"), "1:r0=0 1:r1=0", true);
    check(&passing("st.rlx.gpu", "ld.acq.gpu"), "1:r0=1", UNDEFINED);
    let unless = "P0@0.0: st.na x 1; st.rel.gpu y 1\nP1@1.0: r0=ld.acq.gpu y; if r0 != 0 { r1=ld.na x; st.na x 2 }";
    check(unless, "1:r0=1 1:r1=1 x=2", true);
    check(unless, "1:r0=0 x=2", false);
}

/// Figure 12 of the paper, unchanged: its data is plain.
#[test]
fn release_sequences_of_plain_data() {
    let code = "P0@0.0: st.na x 1; st.rel.gpu y 1\n\
                P1@1.0: r0=rmw.add.ar.gpu y 10; if r0 == 1 { st.rlx.gpu y 3 }\n\
                P2@2.0: r0=ld.acq.gpu y; if r0 == 3 { r1=ld.na x }";
    let values = "1:r0=1 2:r0=3 2:r1=0";
    assert_eq!((allowed(code, values, Cpp11), allowed(code, values, Cpp20)), (Some(false), UNDEFINED));
    // Only the load of the data races.
    racing(code, values, UNDEFINED, Some(true));
    racing(code, "1:r0=2", UNDEFINED, Some(false));
}

#[test]
fn races() {
    let passing = |flag: &str| {
        format!("P0@0.0: st.na x 1; st.{flag}.gpu y 1\nP1@1.0: r0=ld.acq.gpu y; r1=ld.na x; r2=ld.rlx.gpu z")
    };
    // A racing load returns any value, even one that is never written. All other behavior stays defined.
    for values in ["1:r0=0 1:r1=7", "1:r0=0 1:r1=0", "1:r0=0 1:r1=1"] {
        racing(&passing("rel"), values, UNDEFINED, Some(true));
    }
    racing(&passing("rel"), "1:r0=1 1:r1=1", UNDEFINED, Some(true));
    racing(&passing("rel"), "1:r0=1 1:r1=7", UNDEFINED, Some(false));
    racing(&passing("rel"), "1:r2=1", UNDEFINED, Some(false));
    racing(&passing("rlx"), "1:r0=1 1:r1=7", UNDEFINED, Some(true));
    // If writes race, the variable may hold any value at the end; a later write determines it.
    let writes = "P0@0.0: st.na x 1\nP1@1.0: st.na x 2";
    racing(writes, "x=7", UNDEFINED, Some(true));
    let later =
        "P0@0.0: st.na x 1; st.rel.gpu y 1\nP1@1.0: st.na x 2; r0=ld.acq.gpu y; if r0 == 1 { st.na x 3; r1=ld.na x }";
    racing(later, "1:r0=1 1:r1=3 x=3", UNDEFINED, Some(true));
    racing(later, "1:r0=1 x=7", UNDEFINED, Some(false));
    racing(later, "1:r0=0 x=7", UNDEFINED, Some(true));
    // Scopes that do not include each other have the same effect as plain accesses.
    let scopes = "P0@0.0: st.rlx.cta x 1\nP1@1.0: r0=ld.rlx.gpu x; r1=ld.rlx.gpu y";
    racing(scopes, "1:r0=7", UNDEFINED, Some(true));
    racing(scopes, "1:r1=7", UNDEFINED, Some(false));
    // A store of such a value stores any value, and a branch on such a value is undefined.
    let copied = "P0@0.0: st.na x 1\nP1@1.0: r0=ld.na x; st.rlx.gpu y r0";
    racing(copied, "y=7", UNDEFINED, Some(true));
    racing("P0@0.0: st.na x 1\nP1@1.0: r0=ld.na x; if r0 == 1 { st.rlx.gpu y 1 }", "x=1", UNDEFINED, UNDEFINED);
    // Speculation does not make a race: without it, no thread reaches the accesses of x.
    let speculative = "P0@0.0: r0=ld.rlx.gpu y; if r0 == 1 { st.na x 1; st.rlx.gpu z 1 }\n\
                       P1@1.0: r0=ld.rlx.gpu z; if r0 == 1 { st.na x 2; st.rlx.gpu y 1 }";
    racing(speculative, "x=7", Some(false), Some(false));
}

/// For a program without races, LLVM's rule allows the same outcomes as C++'s; for other programs, it allows at least
/// the outcomes of C++'s axioms.
#[test]
fn rules_of_random_programs() {
    let (mut racing, mut open) = (0, 0);
    for seed in 0..3000 {
        let program = random::source(seed);
        let by = |races| search::outcomes(&program, Rules { sequences: Cpp20, races }, Limits::default());
        let (cpp, llvm) = (by(Races::Cpp), by(Races::Llvm));
        assert!(cpp.outcomes.states.iter().all(|state| llvm.admit(state)), "seed {seed}: {program:?}");
        assert_eq!(cpp.race.is_some(), llvm.race.is_some(), "seed {seed}: {program:?}");
        if cpp.race.is_none() {
            assert!(llvm.open.is_empty() && !llvm.undefined, "seed {seed}: {program:?}");
            assert_eq!(cpp.outcomes.states, llvm.outcomes.states, "seed {seed}: {program:?}");
        }
        racing += usize::from(llvm.race.is_some());
        open += usize::from(!llvm.open.is_empty());
    }
    println!("3000 programs, {racing} race, {open} have values that may be anything");
    assert!(racing > 100 && open > 100);
}

#[test]
fn texts_come_back() {
    let text = "name: nested\n\
                P0@0.0: st.na x 1; r0=rmw.exch.ar.gpu y 1; if r0 == 1 { if r0 != y0 { st.na x 2; st.na x 3 }; fence.sc.gpu }\n";
    let loops = "name: loops\n\
                 P0@0.0: do { do { r0=ld.rlx.gpu y } while r0 == 1; r1=r0; r0=cas.ar/rlx.gpu y r1 2 } while r0 != r1; st.na x 1\n\
                 P1@1.0: do { do { r0=ld.acq.gpu y; if r0 == 3 { break if r0 != 2 } } while r0 != 2; break if 0 == 0; break if 1 == 0 } while 0 != 1; if 0 == 0 { fence.sc.gpu }\n";
    for text in [&text.replace("y0", "2"), loops] {
        let read = program(text);
        assert_eq!(read.to_string().replace("};", "}"), text.replace("};", "}"));
        assert_eq!(program(&read.to_string()), read);
    }
}

#[test]
fn errors_have_places() {
    let check = |text: &str, expected: &str| {
        let error = sources(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    };
    check("P0@0.0: fence.sc.gpu", "1:1: a program begins with `name:`");
    check("name: a\n# none\nname: b\nP0@0.0: fence.sc.gpu", "1:1: `a` has no threads");
    check("name: a\nP0@0.0: fence.sc.gpu\nname: b", "3:1: `b` has no threads");
    check("name: a\nP0@0.0: st.rlx.gpu x 1; st.acq.gpu y 1", "2:28: a store cannot be `acq`");
    check("name: a\nP1@0.0: fence.sc.gpu", "2:1: expected `P0@cta.gpu:`");
    check("name: a\nP0@0.0: r0=ld.rlx.warp x", "2:19: `warp` is not a scope");
    check("name: a\nP0@0.0: fence.sc.gpu x", "2:9: `fence.sc.gpu` takes 0 operands, not 1");
    check("name: a\nP0@0.0: nop", "2:9: `nop` is not an instruction of a source program");
    check("name: a\nP0@0.0: st.rlx.gpu.junk x 1", "2:20: unexpected `junk`");
    check("name: a\nP0@0.0: st.rlx.gpu x y", "2:22: `y` is neither a number nor a register that was set");
    check("name: a\nP0@0.0: r0 r1=ld.rlx.gpu x", "2:9: `r0 r1` is not a name");
    check("name: a\nP0@0.0: =ld.rlx.gpu x", "2:9: `` is not a name");
    check("name: a\nP0@0.0: r0=ld.rlx.gpu 7", "2:23: `7` is not a name");
    check("name: a\nP0@0.0: x=ld.rlx.gpu x", "2:9: `x` is a variable and a register");
    check(
        "name: a\nP0@0.0: r0=ld.rlx.gpu x; if r0 > 1 { st.na x 1 }",
        "2:26: expected `if register == value {`, or `!=`",
    );
    check(
        "name: a\nP0@0.0: r0=ld.rlx.gpu x; if r0 == r1 { st.na x 1 }",
        "2:35: `r1` is neither a number nor a register that was set",
    );
    check("name: a\nP0@0.0: r0=ld.rlx.gpu x; if r0 == 1 { st.na x 1", "2:26: `{` without `}`");
    check("name: a\nP0@0.0: st.na x 1 }", "2:19: `}` without `{`");
    check(
        "name: a\nP0@0.0: do { fence.sc.gpu } while r0 == 0",
        "2:35: `r0` is neither a number nor a register that was set",
    );
    check("name: a\nP0@0.0: do { fence.sc.gpu }; fence.sc.gpu", "2:28: expected `while register == value`, or `!=`");
    check("name: a\nP0@0.0: do { fence.sc.gpu }", "2:8: a loop ends with `} while register == value`, or `!=`");
    check("name: a\nP0@0.0: do { fence.sc.gpu } while 0 == 0 {", "2:29: `{` after a loop");
    check("name: a\nP0@0.0: if 0 == 0 { break if 0 == 0 }", "2:21: `break` without a loop");
    check("name: a\nP0@0.0: do { break 0 == 0 } while 0 == 0", "2:14: expected `break if register == value`, or `!=`");
    check("name: a\nP0@+1.0: fence.sc.gpu", "2:1: expected `P0@cta.gpu:`");
    check(
        "name: a\nP0@0.0: st.rlx.gpu x 99999999999999999999",
        "2:22: `99999999999999999999` is not a number of 64 bits",
    );
}

proptest! {
    /// Whatever change is made to a text, the reader returns programs or an error inside the text.
    #[test]
    fn damaged_text(from in 0usize..290, len in 0usize..10, insert in "[ -~\n]{0,6}|[=;@/.:{}]{1,3}|é") {
        let text = "name: a\nP0@0.0: st.rlx.gpu x 1; fence.sc.gpu; r0=cas.ar/acq.gpu y 0 5\n# no\nP1@1.0: r0=rmw.add.sc.gpu x -1; st.na y r0; if r0 == 1 { if r0 != 2 { st.na y 3 } }; do { r1=r0 } while r1 == 2\n";
        let mut damaged: Vec<char> = text.chars().collect();
        let from = from % damaged.len();
        let to = (from + len).min(damaged.len());
        damaged.splice(from..to, insert.chars());
        let damaged: String = damaged.into_iter().collect();
        if let Err(error) = sources(&damaged) {
            prop_assert!(error.line <= damaged.lines().count() && error.column > 0);
        }
    }
}
