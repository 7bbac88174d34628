//! The reader and the printer of litmus tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proptest::prelude::*;
use ptx_isa::Asynchronous;
use ptx_memory_model::litmus::{Dialect, Litmus, Read};
use testing::random;

/// The litmus files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let below = paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|extension| extension == "litmus")).collect()
}

fn texts() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let paths =
        [root.join("litmus"), root.join("../../../shared/litmus")].into_iter().flat_map(|folder| files(&folder));
    paths.map(|path| (path.clone(), fs::read_to_string(path).expect("a readable file"))).collect()
}

#[track_caller]
fn round_trip(litmus: &Litmus, name: &str) {
    let printed = litmus.to_string();
    // Syntax of a single dialect is printed as it was read.
    let again = Litmus::read_as(&printed, Dialect::Dat3m);
    let (again, warnings) = again.unwrap_or_else(|error| panic!("{name}: {error} in\n{printed}"));
    assert_eq!(&again, litmus, "{name}:\n{printed}");
    assert_eq!(warnings, [], "{name}: the printed test declares its variables");
}

/// The line of each statement, in each column.
#[test]
fn lines_of_statements() {
    let text = "PTX lines\n{ x=0; }\n P0 | P1 ;\n L: | st.relaxed.gpu x, 1 ;\n\n ld.relaxed.gpu r0, x | ;\n beq r0, 0, L | ret ;\nexists (true)";
    let Read { lines, .. } = Litmus::read_with_lines(text, Dialect::Ptx).expect("a test");
    assert_eq!(lines, [vec![4, 6, 7], vec![4, 7]]);
}

#[test]
fn files_round_trip() {
    let texts = texts();
    let mut wrong = Vec::new();
    for (path, text) in &texts {
        match Litmus::read_as(text, Dialect::Dat3m) {
            Ok((litmus, _)) => round_trip(&litmus, &path.display().to_string()),
            Err(_) => wrong.push(path.file_stem().unwrap_or_default().to_string_lossy()),
        }
    }
    // One of the shared tests is meant to be rejected.
    assert!(wrong.iter().all(|name| name == "typo"), "{wrong:?}");
    println!("{} files", texts.len());
    assert!(texts.len() >= 30);
}

#[test]
fn generated_programs_round_trip() {
    for seed in 0..1000 {
        round_trip(&random::litmus(random::program(seed)), &format!("seed {seed}"));
    }
}

/// Every instruction, as it is printed.
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
        "atom.relaxed.gpu.exch.b32 r0, x, 1",
        "atom.relaxed.gpu.inc.u32 r0, x, 1",
        "atom.relaxed.gpu.cas.b16 r0, x, 1, 2",
        "st.weak x, 1",
        "st.release.gpu.s32 x, -1",
        "st.mmio.release.sys x, r0",
        "atom.relaxed.gpu.add r0, x, 1",
        "atom.acq_rel.cta.cas.b32 r0, x, 1, r1",
        "red.release.gpu.max.s32 x, r0",
        "fence.sc.sys",
        "fence.acq_rel.cluster",
        "fence.acquire.gpu",
        "fence.release.cta",
        "fence.release.sync_restrict::shared::cta.cluster",
        "fence.acquire.sync_restrict::shared::cluster.cluster",
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
    check("bar.sync 1", "bar.cta.sync 0, 1");
    check("barrier.cta.sync.aligned 1, 64", "bar.cta.sync 0, 1, 64");
    check("bar.arrive r0, 64", "bar.cta.arrive 0, r0, 64");
    check("bar.red.popc.u32 r0, 1, 64, %p", "bar.cta.red.popc r0, %p, 0, 1, 64");
    check("st.shared::cta.u32 [x], 1", "st.weak.u32 x, 1");
    check("mapa.shared::cluster.u64 r0, x, 0", "mov r0, x");
    check("barrier.cluster.wait.acquire", "barrier.cluster.wait");
}

/// Asynchronous instructions, the waits for them, and their fences, as they are printed.
#[test]
#[rustfmt::skip]
fn asynchronous_instructions() {
    let check = |text: &str, printed: &str| {
        let test = format!(
            "PTX t\n{{ x=0; y=0; bar=1; P0:r0=0; P0:r1=0; P0:one=1; P0:at=x; }}\n P0@cta 0,gpu 0;\n {text};\nexists (x == 0)"
        );
        let litmus = Litmus::read(&test).unwrap_or_else(|error| panic!("{text}: {error}"));
        let output = litmus.to_string();
        assert!(output.lines().any(|line| line.trim_end_matches(';').trim() == printed), "{text}:\n{output}");
        round_trip(&litmus, text);
        // It is PTX, except for the registers of a matrix, which have no values.
        if !printed.starts_with("wgmma.mma_async") {
            printed.parse::<Asynchronous>().unwrap_or_else(|error| panic!("{printed}: {error}"));
        }
    };
    let same = |text: &str| check(text, text);
    for group in ["cta_group::1", "cta_group::2"] {
        for kind in ["f16", "tf32", "f8f6f4", "i8"] {
            for a in ["x", "[x]", "at"] {
                same(&format!("tcgen05.mma.{group}.kind::{kind} [t], {a}, y, 7, 1"));
            }
            same(&format!("tcgen05.mma.ws.cta_group::1.kind::{kind} [t], x, y, 0, 1"));
            same(&format!("tcgen05.mma.sp.{group}.kind::{kind} [t], x, y, [m], 0, 1"));
        }
        for kind in ["mxf8f6f4.block_scale", "mxf4.block_scale", "mxf4nvf4.block_scale.block16"] {
            same(&format!("tcgen05.mma.{group}.kind::{kind} [t], x, y, 0, [sa], [sb], 1"));
            same(&format!("tcgen05.mma.sp.{group}.kind::{kind} [t], [x], y, [m], 0, [sa], [sb], 1"));
        }
        same(&format!("tcgen05.cp.{group}.128x256b [t], x"));
        same(&format!("tcgen05.cp.{group}.4x256b [t], x"));
        same(&format!("tcgen05.shift.{group}.down [t]"));
        for of in ["", ".sync_restrict::shared::read::mma::a"] {
            same(&format!("tcgen05.commit.{group}.mbarrier::arrive::one{of}.shared::cluster.b64 [bar]"));
        }
        same(&format!("tcgen05.alloc.{group}.sync.aligned.shared::cta.b32 [x], t"));
        same(&format!("tcgen05.dealloc.{group}.sync.aligned.b32 t, 32"));
    }
    for (sem, scope) in [("release", "cta"), ("release", "cluster"), ("relaxed", "cta"), ("relaxed", "cluster")] {
        for d in ["_", "r0"] {
            for drop in ["", "_drop"] {
                same(&format!("mbarrier.arrive{drop}.{sem}.{scope}.shared::cta.b64 {d}, [bar]"));
                same(&format!("mbarrier.arrive{drop}.{sem}.{scope}.shared::cta.b64 {d}, [bar], 2"));
                same(&format!("mbarrier.arrive{drop}.expect_tx.{sem}.{scope}.shared::cta.b64 {d}, [bar], 16"));
            }
        }
        let sem = sem.replace("release", "acquire");
        for parity in ["", ".parity"] {
            same(&format!("mbarrier.try_wait{parity}.{sem}.{scope}.shared::cta.b64 %p, [bar], r0"));
        }
    }
    for (operation, ty) in [("add", "u32"), ("min", "u32"), ("max", "s32"), ("and", "b32"), ("or", "b32"), ("xor", "b32")] {
        same(&format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}.{ty} [x], [y], 16"));
        same(&format!("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{operation}.{ty} [x], [y], 16, [bar]"));
    }
    for text in [
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t]",
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [t], {r0}",
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [t], {5}",
        "tcgen05.wait::ld.sync.aligned",
        "tcgen05.wait::st.sync.aligned",
        "tcgen05.fence::before_thread_sync",
        "tcgen05.fence::after_thread_sync",
        "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned",
        "mbarrier.init.shared::cta.b64 [bar], 2",
        "mbarrier.inval.shared::cta.b64 [bar]",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16",
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], r0",
        "cp.async.ca.shared::cta.global [x], [y], 4",
        "cp.async.ca.shared::cta.global [x+4], [y+4], 4",
        "cp.async.ca.shared::cta.global [x], [y], 8",
        "cp.async.commit_group",
        "cp.async.wait_group 1",
        "cp.async.wait_all",
        "cp.async.mbarrier.arrive.shared::cta.b64 [bar]",
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar]",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [x], [y], 32, [bar]",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [x], [y], 32, [bar]",
        "cp.async.bulk.global.shared::cta.bulk_group [x], [y], 16",
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [x], [map, {y}], [bar]",
        "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [map, {y}], [x]",
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.bulk_group.add [map, {y}], [x]",
        "cp.async.bulk.commit_group",
        "cp.async.bulk.wait_group 0",
        "cp.async.bulk.wait_group.read 3",
        "wgmma.fence.sync.aligned",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 _, x, y",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 _, _, y",
        "wgmma.commit_group.sync.aligned",
        "wgmma.wait_group.sync.aligned 0",
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [x], r0, [bar]",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [x], r0, [bar]",
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [x], [bar]",
        "fence.proxy.async",
        "fence.proxy.async.global",
        "fence.proxy.async.shared::cta",
        "fence.proxy.async.shared::cluster",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        "fence.proxy.tensormap::generic.release.gpu",
        "fence.proxy.tensormap::generic.acquire.gpu [x], 128",
        "fence.mbarrier_init.release.cluster",
    ] {
        same(text);
    }
    // Instructions as compilers print them, and with default modifiers.
    check("tcgen05.mma.cta_group::1.kind::f16 [t], x, y, one, one", "tcgen05.mma.cta_group::1.kind::f16 [t], x, y, 1, 1");
    check("tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [t], x, y, 3, 1", "tcgen05.mma.cta_group::1.kind::f16 [t], x, y, 3, 1");
    check("tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [t], x", "tcgen05.cp.cta_group::1.128x256b [t], x");
    check("tcgen05.ld.sync.aligned.16x64b.x1.pack::16b.b32 r0, [t]", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t]");
    check("mbarrier.arrive.b64 _, [bar]", "mbarrier.arrive.release.cta.shared::cta.b64 _, [bar]");
    check("mbarrier.test_wait.parity.shared.b64 %p, [bar], 0", "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p, [bar], 0");
    check("mbarrier.try_wait.b64 %p, [bar], r0, 1000", "mbarrier.try_wait.acquire.cta.shared::cta.b64 %p, [bar], r0");
    check("cp.async.cg.shared.global.L2::128B [x], [y], 16", "cp.async.ca.shared::cta.global [x], [y], 8");
    check(
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [x], [y], 16, [bar], %rd1",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [x], [y], 16, [bar]",
    );
    check(
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [x], [map, {y, 0}], [bar]",
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [x], [map, {y}], [bar]",
    );
    check(
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 _, x, y, 1, 1, 1, 0, 0",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 _, x, y",
    );
}

/// The memory of a variable follows from its uses, or is declared.
#[test]
fn memory_of_variables() {
    use ptx_memory_model::asynchronous::Memory::{self, Global, Shared, Tensor};
    let check = |start: &str, cells: &str, expected: &[(&str, Memory)]| {
        let text = format!("PTX t\n{{ {start} }}\nP0@cta 0,cluster 0 | P1@cta 1,cluster 0 ;\n{cells} ;\nexists (true)");
        let litmus = Litmus::read(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        let found = litmus.program.locations.iter().map(|variable| (variable.name.as_str(), variable.memory));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        round_trip(&litmus, cells);
    };
    let mma = "tcgen05.mma.cta_group::1.kind::f16 [d], a, b, 0, 1";
    check("a=0; b=0; d=0;", &format!("{mma} | "), &[("a", Shared), ("b", Shared), ("d", Tensor)]);
    check(
        "a=0; b=0; d=0;",
        &format!("{mma} | tcgen05.ld.sync.aligned.32x32b.x1.b32 {{r0}}, [d]"),
        &[("a", Shared), ("b", Shared), ("d$P0", Tensor), ("d$P1", Tensor)],
    );
    // A pair of CTAs has one accumulator.
    check(
        "a=0; b=0; d=0;",
        &format!("{} | tcgen05.ld.sync.aligned.32x32b.x1.b32 {{r0}}, [d]", mma.replace("::1", "::2")),
        &[("a", Shared), ("b", Shared), ("d", Tensor)],
    );
    check("x=0; bar=1;", "mbarrier.arrive.b64 _, [bar] | st.weak x, 1", &[("x", Global), ("bar", Shared)]);
    check(".shared x=0;", "tcgen05.wait::ld.sync.aligned | st.weak x, 1", &[("x", Shared)]);
    check(
        "bar=1;",
        "mbarrier.arrive.b64 _, [bar] | mapa r0, bar, 0 ;\n | mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r0]",
        &[("bar$P0", Shared), ("bar$P1", Shared)],
    );
    // Without asynchronous instructions, the memory is unknown.
    check(".shared x=0;", " | st.weak x, 1", &[("x", Global)]);
}

/// Checks that a text has this error.
fn check(text: &str, expected: &str) {
    let start = &text[..text.len().min(300)];
    let error = Litmus::read(text).expect_err(start);
    assert_eq!(error.to_string(), expected, "{start}");
}

/// Checks that a cell of a test has this error.
fn cell(text: &str, expected: &str) {
    check(&format!("PTX t\n{{ x=0; }}\nP0@cta 0 ;\n{text} ;\nexists (x == 0)"), expected);
}

/// The instructions that PTX 9.3 to 9.5 add and the model does not have.
#[test]
fn newer_instructions_are_refused() {
    cell(
        "cp.async.bulk.relaxed.sys.b128.global.shared::cta.bulk_group [y], [x], 16",
        "4:1: bulk copies are weak here: leave `.relaxed`, its scope and `.b128` out",
    );
    cell(
        "cp.async.bulk.wait_group.sync_restrict::proxy::async 0",
        "4:1: the effect of the wait on the generic proxy is unknown: leave `.sync_restrict::proxy::async` out",
    );
    cell("fabric.submit", "4:1: the model has no fabric: write the copy as a store or a load of the other thread");
    cell(
        "multimem.st.async.release.sys.u32 [x], 1",
        "4:1: `multimem.st.async.release.sys.u32` is not an instruction of a litmus test: write an instruction for each replica instead of `multimem`",
    );
    cell(
        "ld.global.proxy::readonly.u32 r0, [x]",
        "4:1: the ordering of the read-only proxy is unknown: leave `.proxy::readonly` out",
    );
    cell(
        "mbarrier.arrive.shared::cluster.multicast::cluster::32b.b64 _, [bar], 3",
        "4:1: write one instruction for each CTA instead of `.multicast::cluster::32b`",
    );
}

#[test]
fn errors_have_places() {
    let rows = "PTX t\n{ x=0; }\nP0 | P1 ;\nld.weak.gpu r0, x | st.weak x, 1 ;\nld.relaxed r0, x | st.weak.gpu x, 1 ;";
    let wrong = "4:1: `.weak` takes no scope\n5:1: `.relaxed` needs a scope\n5:20: `.weak` takes no scope";
    check(&format!("{rows}\nexists (x == 0)"), wrong);
    let no_row = "6:13: expected `|` or `;`, found the end of the text";
    check(&format!("{rows}\nst.weak x, 1"), &format!("{wrong}\n{no_row}"));
    check("X86 t", "1:1: a litmus test begins with `PTX` and its name");
    check("PTX t\n{ x=0; x=1; }", "2:8: `x` is declared twice");
    check("PTX t\n{ a @ generic aliases x; }", "2:23: `x` is not declared yet");
    check("PTX t\n{ x=99999999999999999999; }", "2:5: `99999999999999999999` is not a number of 64 bits");
    check("PTX t\n{ P1:r0=0; }\nP0@cta 0 ;\nexists (x == 0)", "2:3: the test has no thread P1");
    check("PTX t\n{ x=0; }\nP1@cta 0 ;", "3:1: expected `P0`, found `P1`");
    check("PTX t\n{ x=0; }\nP0@up 0 ;", "3:4: expected `cta`, `cluster`, `gpu`, `x86`, `aarch64` or `nic`, found `up`");
    cell("ld.release.gpu r0, x", "4:1: PTX has no `ld.release`");
    cell("ld.relaxed r0, x", "4:1: `.relaxed` needs a scope");
    cell("st.weak.gpu x, 1", "4:1: `.weak` takes no scope");
    cell("atom.gpu r0, x, 1", "4:1: `atom` needs an operation");
    cell("red.gpu.exch x, 1", "4:1: PTX has no `red.exch`");
    cell("st.weak r7, 1", "4:1: `r7` is neither a variable nor a register that was set");
    cell("st.weak [%a], 1", "4:1: `%a` is neither a variable nor a register that was set");
    cell("red.acq_rel.gpu.add x, 1", "4:1: PTX has no `red.acq_rel`");
    cell("atom.gpu.sub r0, x, 1", "4:1: PTX has no `atom.sub`: add a negative number");
    cell("atom.gpu.add.b32 r0, x, 1", "4:14: `.add` takes `.u32`, `.u64`, `.s32`, not `.b32`");
    cell("atom.gpu.cas.u32 r0, x, 1, 2", "4:14: `.cas` takes `.b16`, `.b32`, `.b64`, not `.u32`");
    cell("atom.gpu.inc.u64 r0, x, 1", "4:14: `.inc` takes `.u32`, not `.u64`");
    cell("ld.weak.v3 {r0, r1, r2}, {x, x, x}", "4:9: `.v3` is not a modifier of `ld`");
    cell("st.mmio.relaxed.gpu x, 1", "4:1: `.mmio` needs `.sys`, and global memory");
    cell("st.mmio.relaxed.sys.shared x, 1", "4:1: `.mmio` needs `.sys`, and global memory");
    cell("ld.global.shared r0, x", "4:11: `ld` takes no `.shared` here");
    cell("beq.u32 r0, 0, l", "4:5: `beq` takes no `.u32` here");
    cell("st.weak.u8 x, 256", "4:1: `256` does not fit into 8 bits");
    cell("st.weak.u8 x, -129", "4:1: `-129` does not fit into 8 bits");
    cell("atom.gpu.add.u32 r0, x, 4294967296", "4:1: `4294967296` does not fit into 32 bits");
    cell("mov r0, -9223372036854775809", "4:9: `-9223372036854775809` is not a number of 64 bits");
    cell(
        "bar.arrive 1",
        "4:1: expected `bar.sync a[, threads]`, `bar.arrive a, threads` or `bar.red.op d, a[, threads], p`",
    );
    cell(
        "bar.cta.sync.x 1",
        "4:1: expected `bar.sync a[, threads]`, `bar.arrive a, threads` or `bar.red.op d, a[, threads], p`",
    );
    cell("mapa r0, x, 1", "4:1: the cluster of P0 has no CTA 1");
    check("PTX t\n{ x=0; }\nP0@cta 0 ;\nld.weak r1, x ;\n~exists (P0:rl == 1)", "5:10: P0 has no register `rl`");
    check(
        "PTX t\n{ x=0; }\nP0@cta 0 | P1@cta 1;\nst.shared x, 1 | ld.global r0, x ;\nexists (x == 1)",
        "4:18: `x` is in shared memory elsewhere",
    );
    check(
        "PTX t\n{ x=0; }\nP0@cta 0 | P1@cta 1;\nst.shared x, 1 | ld.shared r0, x ;\nexists (x == 1)",
        "5:9: each CTA has its own `x`: `x$P0`, `x$P1`",
    );
    cell("st.weak x", "4:1: `st` takes 2 operands here, not 1");
    cell("ld.weak.loud r0, x", "4:9: `.loud` is not a modifier of `ld`");
    cell("ld.acquire.gpu.cta r0, x", "4:16: `ld` takes no `.cta` here");
    cell("cp.async [x], [x], 8", "4:1: `cp.async` copies from global to shared memory: write `.shared.global`");
    let mma = "tcgen05.mma.cta_group::1.kind::f16 [d], x, y";
    cell(
        "tcgen05.mma.kind::f16 [d], x, y, 0, 1",
        "4:1: `tcgen05.mma.kind::f16` needs `.cta_group::1` or `.cta_group::2`",
    );
    cell("tcgen05.mma.cta_group::1 [d], x, y, 0, 1", "4:1: `tcgen05.mma` needs a kind, such as `.kind::f16`");
    cell(&format!("{mma}, 0"), "4:1: too few operands: 'tcgen05.mma' has d, a, b, descriptor, accumulate here");
    cell(
        &format!("{mma}, 0, 0"),
        "4:1: the accumulator is read here: write 1 as the last operand, or a register that is 1 from the start",
    );
    cell(
        &format!("{mma}, %r, 1"),
        "4:1: operand 4 of `tcgen05.mma` is the descriptor of the instruction, the same for the same shape: write a number, \
         or a register that has it from the start, as in `{ P0:r0=1; }`",
    );
    cell(&format!("mov r1, 1; {mma}, r1, 1"), "4:12: `r1` changes, but must be a constant here: write a number");
    cell(
        &format!("{}, 0, 1", mma.replace("[d]", "[d+8]")),
        "4:1: tensor memory has no offsets here: write another variable for other columns",
    );
    cell(
        "tcgen05.ld.sync.aligned.32x32b.x2.b32 {r0, r1}, [d]",
        "4:1: a matrix is one element here: write one register",
    );
    cell(
        "tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {r0}, [d]",
        "4:1: `tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32` is not an instruction of a litmus test",
    );
    cell(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [bar], 3",
        "4:1: write one instruction for each CTA instead of `.multicast::cluster`",
    );
    cell(
        "griddepcontrol.wait",
        "4:1: a test is one grid: leave `griddepcontrol` out, and write both grids as threads that a barrier orders",
    );
    cell(
        "mbarrier.arrive.release.gpu.b64 _, [bar]",
        "4:25: 'mbarrier.arrive' has .cta or .cluster instead of .gpu here",
    );
    cell(
        "mbarrier.arrive.b64 [bar]",
        "4:1: expected `state, [bar]` and an optional third operand; `_` stands for an unused state",
    );
    cell("mbarrier.try_wait.b64 [bar], 0", "4:1: too few operands: 'mbarrier.try_wait' has done, barrier, state here");
    cell("cp.async.ca.shared.global [y], [x], 12", "4:1: `cp.async` copies 4, 8 or 16 bytes, not 12");
    cell(
        "cp.async.bulk.global.shared::cta [y], [x], 16",
        "4:1: a bulk copy completes at an mbarrier or with its group: `.mbarrier::complete_tx::bytes` or `.bulk_group`",
    );
    cell(
        "cp.async.bulk.shared::cta.global.bulk_group [y], [x], 16",
        "4:1: 'cp.async.bulk' has .global before .shared::cta here: cp.async.bulk.global.shared::cta.bulk_group",
    );
    cell(
        "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [map, {0}], [x]",
        "4:1: the tensor is `[map, {x}]`: its descriptor, and the variable of its data as first coordinate",
    );
    cell(
        "fence.proxy.async.local",
        "4:1: no thread accesses the local memory of another thread: write a register instead",
    );
    cell("fence.proxy.async.tensor", "4:19: 'fence.proxy.async' has no modifier .tensor");
    cell("fence.proxy.tensor", "4:13: PTX has no `fence.proxy.tensor`");
    cell(
        "fence.proxy.tensormap::generic.acquire.gpu [x], 64",
        "4:1: the acquire fence is for 128 bytes: write `[a], 128`",
    );
    cell(
        "red.async.inc.u32 [x], 1, [bar]",
        "4:1: the model does not compute `red.async.inc.u32`: it has only integers",
    );
    cell(
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [x], {1}; ld.shared r0, [x]",
        "4:49: `x` is in tensor memory elsewhere",
    );
    check("PTX t\n{ .local x=0; }", "2:4: expected `.global`, `.shared` or `.tensor`, found `.local`");
    cell("bra nowhere", "4:1: P0 has no label `nowhere`");
    cell("l: ;\n l:", "5:2: P0 has the label `l` twice");
    cell(" | st.weak x, 1", "4:4: there are more columns than threads");
    check("PTX t\n{ x=0; }\nP0@cta 0 ;\nexists (y == 0)", "4:9: the test has no variable `y`");
    check("PTX t\n{ x=0; }\nP0@cta 0 ;\nexists (x == 0) x", "4:17: expected the end of the text, found `x`");
    let deep = format!("PTX t\n{{ x=0; }}\nP0@cta 0 ;\nexists {}x == 0", "(".repeat(100_000));
    check(&deep, "4:109: the condition is too large");
    let long = format!("PTX t\n{{ x=0; }}\nP0@cta 0 ;\nexists x == 0{}", " /\\ x == 0".repeat(100_000));
    check(&long, "4:10008: the condition is too large");
    check(
        &format!("PTX t\n{{ x=0; }}\nP0@cta 0 ;\nld.weak r0, {}x;", "[".repeat(100_000)),
        "4:100012: its `]` is missing",
    );
    check("PTX t\n{ x=0; }\nP0@cta 0 ;\n", "4:1: expected `exists`, `~exists` or `forall`, found the end of the text");
}

/// Each CTA has its own shared variables; `mapa` reaches only the variables of its cluster.
#[test]
fn shared_memory() {
    let read = |text: &str| Litmus::read(text).unwrap_or_else(|error| panic!("{error} in\n{text}")).to_string();
    let printed = read(
        "PTX t\n{ x=7; y=0; }\n\
         P0@cta 0,cluster 0 | P1@cta 0,cluster 0 | P2@cta 1,cluster 0 | P3@cta 0,cluster 1 ;\n\
         st.shared.u32 [x], 1 | ld.weak.u32 r0, x | mapa r1, x, 0 | atom.shared.cta.add.u32 r0, [x], 1 ;\n\
         | | ld.shared::cluster.u32 r0, [r1] | ;\n\
         | mov r2, x | ld.shared.u32 r2, [x] | ;\n\
         exists (x$P0 == 1 /\\ x$P2 == 7 /\\ x$P3 == 8 /\\ P2:r0 == 1)",
    );
    let rows: Vec<&str> = printed.lines().map(str::trim).collect();
    for row in ["x$P0=7;", "x$P2=7;", "x$P3=7;"] {
        assert!(rows.contains(&row), "{printed}");
    }
    let code: Vec<String> = rows.iter().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let first = "st.weak.u32 x$P0, 1 | ld.weak.u32 r0, x$P0 | mov r1, x$P0 | atom.relaxed.cta.add.u32 r0, x$P3, 1 ;";
    assert!(code.iter().any(|row| row == first), "{printed}");
    assert!(code.iter().any(|row| row == "| mov r2, x$P0 | ld.weak.u32 r0, r1 | ;"), "{printed}");
    assert!(code.iter().any(|row| row == "| | ld.weak.u32 r2, x$P2 | ;"), "{printed}");
    // Within one CTA, there is one variable.
    assert!(read("PTX t\n{ x=0; }\nP0 | P1 ;\nst.shared x, 1 | ld.shared r0, x;\nexists (x == 1)").contains("\nx=0;"));
}

/// A possible mistake is accepted, with a warning.
#[test]
fn warnings() {
    let text = "PTX t\n\"a \"quoted\" word\"\n\"two\nlines\" { x=0; }\nP0 ;\nld.weak r0, [flag] ;\nld.weak r1, flag;\nexists (flag == 0)";
    let (litmus, warnings) = Litmus::read_as(text, Dialect::Ptx).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(litmus.comments, ["a \"quoted\" word", "two\nlines"]);
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["6:1: `flag` is not declared, and begins as 0"]);
    assert_eq!(litmus.program.locations[1].initial, 0);
    round_trip(&litmus, "with warnings");
}

proptest! {
    /// Whatever text is removed from a file or inserted into it, the reader returns a test or an error inside the text.
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
            Err(errors) => {
                let lines = text.matches('\n').count() + 1;
                prop_assert!(!errors.0.is_empty());
                prop_assert!(errors.0.iter().all(|error| error.line <= lines && error.column > 0));
            }
        }
    }
}
