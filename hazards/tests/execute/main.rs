//! Whether the executor can be trusted: it shows the bugs that others reported, and none behind their fix; and it says what
//! becomes of a small kernel without each of its instructions.

#[path = "mod.rs"]
mod execute;

use std::{collections::BTreeMap, fs, path::Path, thread};

use execute::{Class, INPUTS, Judgement, Oracle, Race};
use ptx_isa::Module;
use testing::root;

/// The bugs that it does not show, and why.
const NOT_SHOWN: [(&str, &str); 5] = [
    ("cutlass_3647", "several CTAs"),
    ("facebook_triton_1723", "a loop on a value of global memory, which is left at once"),
    ("flashkda_24_init", "only `strict` needs the fence"),
    ("triton_7293", "tensor maps are none of its memory"),
    ("tvm_20074", "several CTAs"),
];

/// What is wrong behind the fix, too.
const NOT_FIXED: [(&str, &str); 1] =
    [("cutlass_3652", "the wait for odd phases passes at once where the even one is not over")];

#[test]
fn reported_bugs_are_races() {
    let files: Vec<_> =
        fs::read_dir(root().join("tests/async/reported")).expect("the folder of reported bugs").collect();
    // The other tests of this program take no time.
    let wrong: Vec<String> = thread::scope(|scope| {
        let files = files.into_iter().map(|file| file.expect("a file of the folder").path());
        let threads: Vec<_> = files.map(|path| scope.spawn(move || wrong_verdicts(&path))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a verdict")).collect()
    });
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// What is said of a reported bug, before its fix and behind it, that is not so.
fn wrong_verdicts(path: &Path) -> Vec<String> {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let fixed = fs::read_to_string(path).expect("a text");
    let before: String = fixed
        .lines()
        .filter(|line| !line.trim_end().ends_with("// the fix"))
        .map(|line| line.replacen("// before: ", "", 1) + "\n")
        .collect();
    let is_in = |list: &[(&str, &str)]| list.iter().any(|(other, _)| *other == name);
    let cases = [
        (races(&before) == is_in(&NOT_SHOWN), "before the fix"),
        (races(&fixed) != is_in(&NOT_FIXED), "behind the fix"),
    ];
    cases.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, when)| format!("{name}: {when}")).collect()
}

/// Whether an asynchronous operation races in some execution.
fn races(text: &str) -> bool {
    let module: Module = text.parse().expect("PTX");
    module.functions().filter(|function| function.body.is_some()).any(|function| {
        let oracle = Oracle::new(&module, function, &INPUTS);
        oracle.bases.iter().flat_map(|base| &base.races).any(|race| race.class == Class::Asynchronous)
    })
}

const HEAD: &str = "\
.version 8.8
.target sm_100a
.address_size 64
.visible .entry kernel(.param .u64 .ptr .global .align 16 from, .param .b32 count)
.reqntid 64
{
.reg .pred %p, %first;
.reg .b32 %thread, %at, %other, %t, %r<4>;
.reg .b64 %x;
.shared .align 16 .b8 tile[1024];
.shared .align 16 .b8 sums[1024];
.shared .align 8 .b64 full;
.shared .align 4 .b32 columns;
mov.u32 %thread, %tid.x;
setp.lt.u32 %first, %thread, 32;
shl.b32 %at, %thread, 4;
xor.b32 %other, %at, 1008;
";

/// What becomes of a kernel without each line that has a comment.
fn check(body: &str) {
    let text = format!("{HEAD}{body}ret;\n}}\n");
    let module: Module = text.parse().expect("PTX");
    let function = module.functions().next().expect("a kernel");
    let oracle = Oracle::new(&module, function, &INPUTS[..3]);
    assert!(oracle.bases.iter().all(|base| base.races.is_empty() && !base.leaks), "{:?}", oracle.bases);
    let (mut found, mut expected) = (BTreeMap::new(), BTreeMap::new());
    for (index, line) in text.lines().enumerate() {
        let Some((instruction, comment)) = line.split_once(" // ") else { continue };
        let without: Vec<&str> =
            text.lines().enumerate().map(|(other, line)| if other == index { "" } else { line }).collect();
        let without: Module = without.join("\n").parse().expect("PTX");
        let judgement = match oracle.judge(&without, "kernel") {
            Judgement::Races(Race { class: Class::Asynchronous, .. }) => "race",
            Judgement::Races(Race { class: Class::Barrier, .. }) => "mbarrier",
            Judgement::Races(Race { class: Class::Ordinary, .. }) => "ordinary",
            Judgement::Hangs(_) => "hangs",
            Judgement::Leaks => "leaks",
            Judgement::Redundant => "redundant",
            Judgement::Unclear(..) => "unclear",
        };
        found.insert((index, instruction), judgement);
        expected.insert((index, instruction), comment);
    }
    assert_eq!(found, expected);
}

#[test]
fn copies_by_threads() {
    check(
        "\
mov.u32 %r0, tile;
add.u32 %at, %at, %r0;
add.u32 %other, %other, %r0;
ld.param.u64 %x, [from];
cp.async.cg.shared.global [%at], [%x], 16;
cp.async.commit_group; // race
cp.async.wait_group 0; // race
bar.sync 0; // race
ld.shared.b32 %r1, [%other];
bar.sync 0; // ordinary
st.shared.b32 [%at], %r1;
bar.sync 0; // redundant
bar.sync 0; // redundant
ld.shared.b32 %r1, [%other];
",
    );
}

#[test]
fn copies_in_bulk() {
    check(
        "\
setp.eq.u32 %p, %thread, 0;
@%p mbarrier.init.shared::cta.b64 [full], 1;
bar.sync 0; // mbarrier
@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 1024; // hangs
ld.param.u64 %x, [from];
mov.u32 %r0, tile;
@%p cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r0], [%x], 1024, [full];
again:
mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0;
@!%p bra again;
add.u32 %at, %at, %r0;
st.shared.b32 [%at], 1;
fence.proxy.async.shared::cta; // race
bar.sync 0; // race
setp.eq.u32 %p, %thread, 0;
@%p cp.async.bulk.global.shared::cta.bulk_group [%x], [%r0], 1024;
@%p cp.async.bulk.commit_group; // race
@%p cp.async.bulk.wait_group.read 0; // race
bar.sync 0; // race
st.shared.b32 [%at], 2;
",
    );
}

#[test]
fn tensor_memory() {
    check(
        "\
mov.u32 %r0, columns;
@%first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 32;
bar.sync 0; // race
ld.shared.b32 %t, [columns];
setp.ge.u32 %p, %thread, 32;
@%p bra meet;
tcgen05.st.sync.aligned.32x32b.x1.b32 [%t], {%thread};
tcgen05.wait::st.sync.aligned; // race
meet:
bar.sync 0; // race
@%first bra free;
tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%t];
tcgen05.wait::ld.sync.aligned; // race
free:
bar.sync 0; // race
@%first tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32; // leaks
",
    );
}
