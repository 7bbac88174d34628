//! The reader and the printer of litmus tests.

#[allow(dead_code, reason = "each test uses a part")]
mod random;

use std::{
    fs,
    path::{Path, PathBuf},
};

use proptest::prelude::*;
use ptx_memory_model::litmus::Litmus;

/// The litmus files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let below = paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|extension| extension == "litmus")).collect()
}

fn texts() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let paths = [root.join("litmus"), root.join("../../shared/litmus")].into_iter().flat_map(|folder| files(&folder));
    paths.map(|path| (path.clone(), fs::read_to_string(path).expect("a readable file"))).collect()
}

#[track_caller]
fn round_trip(litmus: &Litmus, name: &str) {
    let printed = litmus.to_string();
    let again = Litmus::read(&printed).unwrap_or_else(|error| panic!("{name}: {error} in\n{printed}"));
    assert_eq!(&again, litmus, "{name}:\n{printed}");
}

#[test]
fn files_round_trip() {
    let texts = texts();
    for (path, text) in &texts {
        let litmus = Litmus::read(text).unwrap_or_else(|error| panic!("{}:{error}", path.display()));
        round_trip(&litmus, &path.display().to_string());
    }
    println!("{} files", texts.len());
    assert!(texts.len() >= 30);
}

#[test]
fn generated_programs_round_trip() {
    for seed in 0..1000 {
        round_trip(&random::litmus(random::program(seed)), &format!("seed {seed}"));
    }
}

/// Every instruction, as it prints.
#[test]
#[rustfmt::skip]
fn instructions() {
    let check = |text: &str, printed: &str| {
        let test = format!(
            "PTX t\n{{x=0; y=0; P0:r0=0; P0:r1=0; P0:%p=0;}}\n P0@cta 0,gpu 0;\n {text};\n l: ;\nexists (x == 0)"
        );
        let litmus = Litmus::read(&test).unwrap_or_else(|error| panic!("{text}: {error}"));
        let output = litmus.to_string();
        assert!(output.lines().any(|line| line.trim_end_matches(';').trim() == printed), "{text}:\n{output}");
        round_trip(&litmus, text);
    };
    let same = |text: &str| check(text, text);
    for text in [
        "ld.weak r0, x",
        "ld.relaxed.cluster r0, x",
        "ld.acquire.sys.u8 r0, x",
        "ld.volatile r0, x",
        "ld.mmio.relaxed.sys r0, x",
        "st.weak x, 1",
        "st.release.gpu.s32 x, -1",
        "st.mmio.release.sys x, r0",
        "atom.relaxed.gpu.add r0, x, 1",
        "atom.acq_rel.cta.cas.u32 r0, x, 1, r1",
        "red.release.gpu.max.s32 x, r0",
        "fence.sc.sys",
        "fence.acq_rel.cluster",
        "fence.acquire.gpu",
        "fence.release.cta",
        "fence.proxy.alias",
        "fence.proxy.surface",
        "sust.weak x, 1",
        "suld.weak r0, x",
        "tld.weak r0, x",
        "cold.weak r0, x",
        "bar.cta.sync 1, 0",
        "bar.cta.arrive 1, r0, 64",
        "bar.cta.red.popc r0, r1, 0, 0",
        "barrier.cluster.arrive",
        "barrier.cluster.arrive.relaxed",
        "barrier.cluster.wait",
        "mov r0, x",
        "add.u32 r0, r0, 1",
        "sub r0, r1, -5",
        "selp.u32 r0, r1, 2, %p",
        "setp.lt.s32 %p, r0, r1",
        "@%p st.weak x, 1",
        "@!%p bra l",
        "beq r0, 1, l",
        "ld.weak.v2 {r0, r1}, {x, y}",
        "st.relaxed.gpu.v2 {x, y}, {1, r0}",
        "ld.weak r0, [r1+4]",
        "ld.weak r0, [r1-4]",
    ] {
        same(text);
    }
    check("ld r0, 1", "mov r0, 1");
    check("goto l", "bra l");
    check("ld.global.u32 r0, [x]", "ld.weak.u32 r0, x");
    check("membar.gl", "fence.sc.gpu");
    check("fence.gpu", "fence.acq_rel.gpu");
    check("atom.add r0, x, 1", "atom.relaxed.gpu.add r0, x, 1");
    check("bar.cta.sync 1", "bar.cta.sync 1, 0");
    check("barrier.cluster.wait.acquire", "barrier.cluster.wait");
}

#[test]
fn errors_have_places() {
    let check = |text: &str, expected: &str| {
        let start = &text[..text.len().min(300)];
        let error = Litmus::read(text).expect_err(start);
        assert_eq!(error.to_string(), expected, "{start}");
    };
    let cell = |text: &str, expected: &str| {
        check(&format!("PTX t\n{{ x=0; }}\nP0@cta 0 ;\n{text} ;\nexists (x == 0)"), expected);
    };
    check("X86 t", "1:1: a litmus test begins with `PTX` and its name");
    check("PTX t\n{ x=0; x=1; }", "2:8: `x` is declared twice");
    check("PTX t\n{ a @ generic aliases x; }", "2:23: `x` is not declared yet");
    check("PTX t\n{ x=99999999999999999999; }", "2:5: `99999999999999999999` is no number of 64 bits");
    check("PTX t\n{ P1:r0=0; }\nP0@cta 0 ;\nexists (x == 0)", "2:3: there is no thread P1");
    check("PTX t\n{ x=0; }\nP1@cta 0 ;", "3:1: `P0` expected, not `P1`");
    check("PTX t\n{ x=0; }\nP0@warp 0 ;", "3:4: `cta`, `cluster` or `gpu` expected, not `warp`");
    cell("ld.release.gpu r0, x", "4:1: there is no `ld.release`");
    cell("ld.relaxed r0, x", "4:1: `.relaxed` needs a scope");
    cell("st.weak.gpu x, 1", "4:1: `.weak` takes no scope");
    cell("atom.gpu r0, x, 1", "4:1: `atom` needs an operation");
    cell("red.gpu.exch x, 1", "4:1: there is no `red.exch`");
    cell("st.weak y, 1", "4:1: `y` is neither a variable nor a register that was set");
    cell("st.weak x", "4:1: `st` takes 2 operands here, not 1");
    cell("ld.weak.loud r0, x", "4:9: `.loud` is no modifier of `ld`");
    cell("ld.acquire.gpu.cta r0, x", "4:16: `ld` takes no `.cta` here");
    cell("cp.async x", "4:1: `cp.async` is no instruction of a litmus test");
    cell("bra nowhere", "5:1: P0 has no label `nowhere`");
    cell(" | st.weak x, 1", "4:4: there are more columns than threads");
    check("PTX t\n{ x=0; }\nP0@cta 0 ;\nexists (y == 0)", "4:9: there is no variable `y`");
    check("PTX t\n{ x=0; }\nP0@cta 0 ;\nexists (x == 0) x", "4:17: the end of the text expected, not `x`");
    let deep = format!("PTX t\n{{ x=0; }}\nP0@cta 0 ;\nexists {}x == 0", "(".repeat(100_000));
    check(&deep, "4:109: the condition is too large");
    let long = format!("PTX t\n{{ x=0; }}\nP0@cta 0 ;\nexists x == 0{}", " /\\ x == 0".repeat(100_000));
    check(&long, "4:10008: the condition is too large");
    check(
        &format!("PTX t\n{{ x=0; }}\nP0@cta 0 ;\nld.weak r0, {}x;", "[".repeat(100_000)),
        "4:14: a number expected, not `[`",
    );
    check("PTX t\n{ x=0; }\nP0@cta 0 ;\n", "4:1: `exists`, `~exists` or `forall` expected, not the end of the text");
}

proptest! {
    /// Whatever is cut out of a file or put into it, reading it ends in a test or in an error inside the text.
    #[test]
    fn damaged_text(file in 0usize..1000, from in 0usize..2000, len in 0usize..20, insert in "[ -~\n]{0,6}|[{}|;@~:.]{1,3}|é") {
        let texts = texts();
        let mut text: Vec<char> = texts[file % texts.len()].1.chars().collect();
        let from = from % text.len();
        let to = (from + len).min(text.len());
        text.splice(from..to, insert.chars());
        let text: String = text.into_iter().collect();
        match Litmus::read(&text) {
            Ok(litmus) => round_trip(&litmus, &text),
            Err(error) => prop_assert!(error.line <= text.matches('\n').count() + 1 && error.column > 0),
        }
    }
}
