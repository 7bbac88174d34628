//! The source model on programs whose verdicts are known.

use std::{fs, path::Path};

use proptest::prelude::*;
use ptx_memory_model::{
    outcome::{Layout, Limits},
    source::{
        ReleaseSequences::{self, Cpp11, Cpp20},
        read::{Source, sources},
        search,
    },
};

fn program(text: &str) -> Source {
    let mut programs = sources(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(programs.len(), 1, "{text}");
    programs.remove(0)
}

/// Whether some outcome has these values of registers (`0:r1`) and variables.
fn allowed(code: &str, values: &str, rule: ReleaseSequences) -> Option<bool> {
    let source = program(&format!("name: test\n{code}"));
    let layout = Layout::new(&source.program);
    let found = search::outcomes(&source.program, rule, Limits::default());
    assert_eq!(found.outcomes.unknown, None, "{code}");
    let has = |state: &[u64], wanted: &str| {
        let (name, value) = wanted.split_once('=').expect(wanted);
        let found = match name.split_once(':') {
            Some((thread, name)) => {
                let thread: usize = thread.parse().expect(wanted);
                let mut registers = layout.registers().iter();
                let declared = &source.program.threads[thread].registers;
                let of =
                    registers.find(|(t, r)| *t == thread && declared[usize::from(r.0)].name == name).expect(wanted);
                layout.register(state, of.0, of.1)
            }
            None => {
                let index = source.program.locations.iter().position(|variable| variable.name == name).expect(wanted);
                layout.location(state, ptx_memory_model::program::Location(index as u16))
            }
        };
        found == value.parse().ok()
    };
    if found.race.is_some() {
        return None;
    }
    Some(found.outcomes.states.iter().any(|state| values.split(' ').all(|wanted| has(state, wanted))))
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
    // The data race is there where the flag is not set.
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

/// Figure 12 of the paper: what a later relaxed store of the same thread continues.
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

#[test]
fn atomicity() {
    let code = |scope| format!("P0@0.0: r0=rmw.add.rlx.{scope} x 1\nP1@1.0: r0=rmw.add.rlx.{scope} x 1");
    check(&code("gpu"), "x=1", false);
    check(&code("cta"), "x=1", UNDEFINED);
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
    check("name: a\nP0@0.0: st.rlx.gpu x 1; st.acq.gpu y 1", "2:28: a store is not `acq`");
    check("name: a\nP1@0.0: fence.sc.gpu", "2:1: `P0@cta.gpu:` expected");
    check("name: a\nP0@0.0: r0=ld.rlx.warp x", "2:19: `warp` is no scope");
    check("name: a\nP0@0.0: fence.sc.gpu x", "2:9: `fence.sc.gpu` takes 0 operands, not 1");
    check("name: a\nP0@0.0: nop", "2:9: `nop` is no instruction of a source program");
    check("name: a\nP0@0.0: st.rlx.gpu.junk x 1", "2:20: `junk` is too much");
    check("name: a\nP0@0.0: st.rlx.gpu x y", "2:22: `y` is no number, and no register that was set");
    check("name: a\nP0@0.0: r0 r1=ld.rlx.gpu x", "2:9: `r0 r1` is no name");
    check("name: a\nP0@0.0: =ld.rlx.gpu x", "2:9: `` is no name");
    check("name: a\nP0@0.0: r0=ld.rlx.gpu 7", "2:23: `7` is no name");
    check("name: a\nP0@0.0: x=ld.rlx.gpu x", "2:9: `x` is a variable and a register");
    check("name: a\nP0@+1.0: fence.sc.gpu", "2:1: `P0@cta.gpu:` expected");
    check("name: a\nP0@0.0: st.rlx.gpu x 99999999999999999999", "2:22: `99999999999999999999` is no number of 64 bits");
}

/// All shared programs are read, and all but three are defined: in these a store of scope cta races with a load in another
/// CTA.
#[test]
fn shared_programs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/litmus/mapping-sources.txt");
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let programs = sources(&text).unwrap_or_else(|error| panic!("{}:{error}", path.display()));
    let undefined = |source: &Source| {
        let found = search::outcomes(&source.program, Cpp20, Limits::default());
        assert!(found.outcomes.unknown.is_none() && !found.outcomes.states.is_empty(), "{}", source.name);
        found.race.is_some()
    };
    let names: Vec<&str> = programs.iter().filter(|source| undefined(source)).map(|source| &source.name[..]).collect();
    println!("{} programs, undefined: {names:?}", programs.len());
    assert_eq!(names, ["MIXSCOPE-rmw-ar", "MIXSCOPE-rmw-sc", "MIXSCOPE-rmw-ar-write"]);
}

proptest! {
    /// Whatever is done to a text, reading it ends in programs or in an error inside the text.
    #[test]
    fn damaged_text(from in 0usize..200, len in 0usize..10, insert in "[ -~\n]{0,6}|[=;@/.:]{1,3}|é") {
        let text = "name: a\nP0@0.0: st.rlx.gpu x 1; fence.sc.gpu; r0=cas.ar/acq.gpu y 0 5\n# no\nP1@1.0: r0=rmw.add.sc.gpu x -1; st.na y r0\n";
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
