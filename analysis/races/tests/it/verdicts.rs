//! Small kernels; each shows one fact that the proof uses, or must not assume.

use ptx_isa::{Dim3, LaunchSize, Module};
use ptx_races::{
    assumption::Assumption,
    check::{Outcome, RaceOptions, Report, check as check_module},
};
use strum::IntoEnumIterator;

use crate::mutants;

const FREE: &[Outcome] = &[Outcome::Free];
const RACE: &[Outcome] = &[Outcome::Race];
const DIVERGENT: &[Outcome] = &[Outcome::Divergent];
const OPEN: &[Outcome] = &[Outcome::Open];

/// `%r1` is `%tid.x`, `%r2` the index of the thread in the grid, `%rd2` the word of `buf` in shared memory at index
/// `%tid.x`, `%rd3` the word of `out` in global memory at the index of the thread in the grid.
fn verdict(body: &str) -> (Outcome, String) {
    verdict_of(body, sized([64, 1, 1], Some([2, 1, 1])))
}

/// The options for CTAs of a size, in a grid of a size.
fn sized(block: Dim3, grid: Option<Dim3>) -> RaceOptions {
    RaceOptions { size: LaunchSize { block: Some(block), grid, ..LaunchSize::default() }, ..RaceOptions::default() }
}

fn verdict_of(body: &str, options: RaceOptions) -> (Outcome, String) {
    let report = report_of(body, options);
    (report.verdict, format!("{:?}", report.obstacles))
}

fn report_of(body: &str, options: RaceOptions) -> Report {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.global .align 4 .u32 word;\n\
         .visible .entry k(.param .u64 out, .param .u32 n)\n{{\n\
         .shared .align 4 .b8 buf[8192];\n.reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n\
         ld.param.u64 %rd1, [out];\nld.param.u32 %r0, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r3, %ctaid.x;\n\
         mov.u32 %r4, %ntid.x;\nmad.lo.u32 %r2, %r3, %r4, %r1;\nmul.wide.u32 %rd4, %r1, 4;\nmov.u64 %rd5, buf;\n\
         add.s64 %rd2, %rd5, %rd4;\nmul.wide.u32 %rd4, %r2, 4;\nadd.s64 %rd3, %rd1, %rd4;\n{body}\nret;\n}}\n"
    );
    let module: Module = text.parse().expect("PTX");
    check_module(&module, &options).into_iter().next().expect("a kernel")
}

#[track_caller]
fn check(body: &str, expected: &[Outcome]) {
    let (verdict, why) = verdict(body);
    assert!(expected.contains(&verdict), "expected {expected:?}, found {verdict:?}: {why}\n{body}");
}

/// The same check for launches of all sizes.
#[track_caller]
fn check_all(body: &str, expected: &[Outcome]) {
    let (verdict, why) = verdict_of(body, RaceOptions::default());
    assert!(expected.contains(&verdict), "expected {expected:?}, found {verdict:?}: {why}\n{body}");
}

#[test]
fn own_words() {
    check("st.shared.u32 [%rd2], 1;", FREE);
    check("st.global.u32 [%rd3], 1;", FREE);
    check("st.global.u32 [%rd1], %r2;", RACE);
    // A 64-bit word overlaps the next 32-bit word.
    check(
        "st.shared.u32 [%rd2], 1;\nand.b32 %r5, %r1, 62;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nld.shared.u64 %rd7, [%rd6];",
        RACE,
    );
}

/// A loop that steps by four and ends when its counter equals a value has as many iterations as fit in between. If the
/// counter steps over the value or begins with it, the loop continues.
#[test]
fn loops_that_end_at_a_value() {
    let of = |end: &str| {
        format!(
            "setp.gt.u32 %p1, %r0, 20;\n@%p1 bra END;\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 bra END;\n\
             setp.ne.u32 %p1, %r1, 0;\n@%p1 bra OTHER;\nmov.u32 %r5, 0;\nLOOP:\nand.b32 %r6, %r5, 1023;\nmul.wide.u32 %rd4, %r6, 4;\n\
             add.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [%rd6], 1;\nadd.u32 %r5, %r5, 4;\nsetp.ne.u32 %p2, %r5, {end};\n@%p2 bra LOOP;\n\
             bra END;\nOTHER:\nsetp.eq.u32 %p3, %r1, 1;\n@%p3 st.shared.u32 [%rd5+80], 2;\nEND:"
        )
    };
    check(&of("20"), FREE);
    check(&of("24"), RACE);
    check(&of("10"), RACE);
    check(&of("0"), RACE);
    check(&of("%r0"), RACE);
    check(&format!("and.b32 %r0, %r0, 28;\n{}", of("%r0")), FREE);
}

/// Threads that agree on a value before a loop with a barrier need not agree on it inside the loop, and vice versa.
#[test]
fn values_in_loops_with_barriers() {
    let of = |first: &str, next: &str| {
        format!(
            "mov.u32 %r5, 0;\n{first}\nLOOP:\nadd.u32 %r7, %r6, %r1;\nand.b32 %r7, %r7, 1023;\nmul.wide.u32 %rd4, %r7, 4;\n\
             add.s64 %rd6, %rd5, %rd4;\nbar.sync 0;\nst.shared.u32 [%rd6], %r1;\n{next}\nadd.u32 %r5, %r5, 1;\n\
             setp.lt.u32 %p1, %r5, 4;\n@%p1 bra LOOP;"
        )
    };
    check(&of("mov.u32 %r6, 7;", "mul.lo.u32 %r6, %r6, 5;"), FREE);
    check(&of("mov.u32 %r6, 7;", "sub.u32 %r6, 63, %r1;"), RACE);
    check(&of("sub.u32 %r6, 63, %r1;", "mul.lo.u32 %r6, %r6, 5;"), RACE);
}

/// Loops that change local memory, and loops that shift a value.
#[test]
fn variables_that_loops_change() {
    let local = |at: &str| {
        format!(
            "{{\n.local .align 4 .b8 stack[64];\nmov.u64 %rd6, stack;\nst.local.u32 [%rd6], %r1;\nmov.u32 %r5, 0;\nLOOP:\n\
             ld.local.u32 %r7, [%rd6];\nmul.wide.u32 %rd4, %r7, 4;\nadd.s64 %rd7, %rd5, %rd4;\nst.shared.u32 [%rd7], %r1;\n\
             add.u32 %r6, %r0, %r5;\n{at}\nmul.wide.u32 %rd4, %r6, 4;\nadd.s64 %rd7, %rd6, %rd4;\nst.local.u32 [%rd7], 5;\n\
             add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 4;\n@%p1 bra LOOP;\n}}"
        )
    };
    check(&local("and.b32 %r6, %r6, 15;"), RACE);
    check(&local("mov.u32 %r6, 0;"), RACE);
    check(&local("mov.u32 %r6, 3;"), FREE);
    let shifted = |shift: &str| {
        format!(
            "mov.u32 %r5, 64;\nmov.u32 %r6, 0;\nLOOP:\nadd.u32 %r7, %r5, %r1;\nmul.wide.u32 %rd4, %r7, 4;\nadd.s64 %rd6, %rd5, %rd4;\n\
             st.shared.u32 [%rd6], %r1;\n{shift}.b32 %r5, %r5, 1;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 3;\n@%p2 bra LOOP;"
        )
    };
    check(&shifted("shl"), FREE);
    check(&shifted("shr").replace("shr.b32", "shr.u32"), RACE);
}

/// A single value of `n` makes these kernels wrong. Guessing would not find it; the solver does.
#[test]
fn numbers_of_the_solver() {
    check(
        "setp.eq.u32 %p1, %r1, 3;\nand.b32 %r5, %r0, 1023;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\n\
         @%p1 st.shared.u32 [%rd6], 1;\nsetp.eq.u32 %p2, %r1, 40;\n@%p2 st.shared.u32 [%rd2+812], 2;",
        RACE,
    );
    check(
        "setp.ne.u32 %p1, %r0, 123456;\n@%p1 bra END;\nsetp.lt.u32 %p2, %r1, 7;\n@%p2 bar.sync 1;\nbar.sync 0;\nEND:",
        DIVERGENT,
    );
}

#[test]
fn barriers_order() {
    let exchange = |barrier: &str| {
        format!(
            "st.shared.u32 [%rd2], %r1;\n{barrier}\nxor.b32 %r5, %r1, 1;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nld.shared.u32 %r6, [%rd6];\nst.global.u32 [%rd3], %r6;"
        )
    };
    check(&exchange("bar.sync 0;"), FREE);
    check(&exchange("barrier.sync 1;"), FREE);
    check(&exchange("bar.sync 0, 64;"), FREE);
    check(&exchange("bar.arrive 0, 64;"), RACE);
    check(&exchange(""), RACE);
    check(&exchange("bar.warp.sync -1;"), FREE);
    check(&exchange("bar.sync 1, 32;"), &[Outcome::Race, Outcome::Open, Outcome::Divergent]);
    check(&exchange("membar.cta;"), RACE);
    // A barrier does not wait for threads that have exited, but does wait for threads that wait elsewhere.
    check("setp.lt.u32 %p1, %r1, 7;\n@%p1 bar.sync 0;", FREE);
    check("setp.lt.u32 %p1, %r1, 7;\n@%p1 bar.sync 0;\n@!%p1 bar.sync 1;", DIVERGENT);
    check("setp.lt.u32 %p1, %r0, 7;\n@%p1 bar.sync 0;", FREE);
}

#[test]
fn guards_and_comparisons() {
    let one = |condition: &str| format!("{condition}\n@%p1 st.shared.u32 [buf], %r1;");
    check(&one("setp.eq.u32 %p1, %r1, 3;"), FREE);
    check(&one("setp.ne.u32 %p1, %r1, 3;"), RACE);
    check(&one("setp.lt.u32 %p1, %r1, 1;"), FREE);
    // Threads that do not execute an instruction keep their old value.
    check(
        "mov.u32 %r5, 0;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 mov.u32 %r5, %r1;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [%rd6], %r1;",
        RACE,
    );
    // The signed comparison with 1 holds in all threads from 62 on, and in the first.
    check(&one("sub.s32 %r5, 1, %r1;\nadd.s32 %r5, %r5, 60;\nsetp.lt.s32 %p1, %r5, 1;"), RACE);
    check(&one("sub.s32 %r5, 1, %r1;\nadd.s32 %r5, %r5, 60;\nsetp.lt.u32 %p1, %r5, 1;"), FREE);
}

#[test]
fn addresses_that_wrap_around() {
    // 2^26 times 64 is 2^32.
    let word = |factor: &str| {
        format!(
            "mul.lo.u32 %r5, %r1, {factor};\nshr.u32 %r5, %r5, 24;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [%rd6], %r1;"
        )
    };
    check(&word("67108864"), FREE);
    check(&word("134217728"), RACE);
    // The same for a number that is widened.
    check(
        "mul.lo.u32 %r5, %r1, 2147483648;\ncvt.u64.u32 %rd4, %r5;\nshr.u64 %rd4, %rd4, 29;\nadd.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [%rd6], %r1;",
        RACE,
    );
    // A counter that returns to 0 after four iterations.
    let back = "mov.u32 %r5, 0;\nmov.u32 %r7, 0;\nL:\nshr.u32 %r6, %r5, 30;\nadd.u32 %r6, %r6, %r7;\nadd.u32 %r6, %r6, %r1;\nmul.wide.u32 %rd4, %r6, 4;\nadd.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [%rd6], %r1;\nadd.u32 %r5, %r5, 1073741824;\nadd.u32 %r7, %r7, 0;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra L;";
    check(back, RACE);
    // A counter that wraps around does not bound the number of iterations.
    let rounds = "mov.u32 %r5, 0;\nmov.u32 %r7, 0;\nL:\nsetp.lt.u32 %p1, %r7, 4;\n@%p1 bra M;\nadd.u32 %r6, %r7, %r1;\nmul.wide.u32 %rd4, %r6, 4;\nadd.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [%rd6], %r5;\nM:\nadd.u32 %r5, %r5, 1073741824;\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, 8;\n@%p2 bra L;";
    check(rounds, RACE);
}

#[test]
fn loops() {
    let tree = |barrier: &str| {
        format!(
            "st.shared.u32 [%rd2], %r1;\nbar.sync 0;\nmov.u32 %r5, 32;\nL:\nsetp.ge.u32 %p1, %r1, %r5;\n@%p1 bra M;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd2, %rd4;\nld.shared.u32 %r6, [%rd6];\nst.shared.u32 [%rd2], %r6;\nM:\n{barrier}\nshr.u32 %r5, %r5, 1;\nsetp.ne.u32 %p2, %r5, 0;\n@%p2 bra L;"
        )
    };
    check(&tree("bar.sync 0;"), FREE);
    check(&tree(""), RACE);
    let stride = |step: &str| {
        format!(
            "mov.u32 %r5, %r1;\nL:\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [%rd6], %r1;\nadd.u32 %r5, %r5, {step};\nsetp.lt.u32 %p1, %r5, 1024;\n@%p1 bra L;"
        )
    };
    check(&stride("64"), FREE);
    check(&stride("63"), RACE);
}

#[test]
fn atomics_have_scopes() {
    let all = |operation: &str| {
        check(&format!("{operation} [%rd1], 1;"), if operation.contains(".cta.") { RACE } else { FREE })
    };
    all("red.relaxed.gpu.global.add.u32");
    all("red.relaxed.sys.global.add.u32");
    all("red.relaxed.cta.global.add.u32");
    check("red.relaxed.cta.shared.add.u32 [buf], 1;", FREE);
    check("red.relaxed.gpu.global.add.u32 [%rd1], 1;\nld.global.u32 %r5, [%rd1];", RACE);
}

/// A barrier waits for the threads that have not exited (R01 of 2026-11), and an exit orders nothing.
#[test]
fn early_exits() {
    let of = |exits: &str, first: &str, last: &str| {
        format!("setp.ge.u32 %p1, %r1, 40;\n{exits}\n{first}\n@%p1 bra END;\nbar.sync 0;\n{last}\nEND:")
    };
    let other =
        "sub.u32 %r5, 39, %r1;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nld.shared.u32 %r6, [%rd6];";
    check(&of("@%p1 bra END;", "st.shared.u32 [%rd2], %r1;", other), FREE);
    // A thread writes and exits: no other thread accesses the word afterwards.
    let beyond =
        "add.u32 %r5, %r1, 24;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nld.shared.u32 %r6, [%rd6];";
    check(&of("", "st.shared.u32 [%rd2], %r1;", other), FREE);
    check(&of("", "st.shared.u32 [%rd2], %r1;", beyond), RACE);
}

/// Memory that the kernel declares read-only must not be written, whatever synchronization is in between.
#[test]
fn read_only_memory() {
    let of = |load: &str| {
        format!(
            "st.global.u32 [%rd3], 1;\nbar.sync 0;\nxor.b32 %r5, %r2, 1;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd1, %rd4;\n{load} %r6, [%rd6];"
        )
    };
    check(&of("ld.global.u32"), FREE);
    check(&of("ld.global.nc.u32"), RACE);
    check("ld.global.nc.u32 %r6, [%rd3];\nst.shared.u32 [%rd2], %r6;", FREE);
}

/// `discard` is a weak write of 128 bytes.
#[test]
fn discarded_memory() {
    let of = |between: &str| {
        format!(
            "setp.ne.u32 %p1, %r1, 0;\n@!%p1 discard.global.L2 [%rd1], 128;\n{between}ld.global.u32 %r5, [%rd1+124];"
        )
    };
    check(&of(""), RACE);
}

/// Each element of a vector is an access, and strong accesses of different sizes race.
#[test]
fn elements_of_strong_accesses() {
    let of = |load: &str| {
        format!("setp.eq.u32 %p1, %r1, 0;\n@%p1 red.relaxed.gpu.global.add.noftz.f16x2 [%rd1], %r1;\n{load}")
    };
    check(&of("ld.relaxed.gpu.global.b32 %r5, [%rd1];"), OPEN);
    check("st.relaxed.gpu.global.v2.b32 [%rd1], {%r1, %r1};\nld.relaxed.gpu.global.b32 %r5, [%rd1+4];", FREE);
    check("st.relaxed.gpu.global.v2.b32 [%rd1], {%r1, %r1};\nld.relaxed.gpu.global.b64 %rd6, [%rd1];", RACE);
}

/// A register whose value changes while a thread runs is not a constant; the value of a vector register is known from
/// its elements.
#[test]
fn special_and_vector_registers() {
    let store = "mul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [%rd6], %r1;";
    check(&format!("{{\n.reg .v4 .u32 all;\nmov.v4.u32 all, %tid;\nmov.u32 %r5, all.x;\n{store}\n}}"), FREE);
    check(&format!("{{\n.reg .v2 .u32 tid;\nmov.u32 tid.x, 3;\nmov.u32 %r5, tid.x;\n{store}\n}}"), RACE);
    let guarded = |register: &str| {
        format!(
            "mov.u32 %r5, %{register};\nmov.u32 %r6, %{register};\nsetp.eq.u32 %p1, %r5, %r6;\n@%p1 bra END;\nst.shared.u32 [buf], %r1;\nEND:"
        )
    };
    check(&guarded("laneid"), FREE);
    ["smid", "warpid"].into_iter().for_each(|register| check(&guarded(register), OPEN));
}

/// A 64-bit index that a compiler joins from a row, a column and a thread index by `or`.
#[test]
fn wide_indices_that_are_joined_by_bits() {
    let of = |shift: u32| {
        format!(
            "mov.u32 %r5, %ctaid.y;\nmov.u32 %r6, %nctaid.x;\ncvt.u64.u32 %rd2, %r3;\ncvt.u64.u32 %rd4, %r5;\n\
             cvt.u64.u32 %rd6, %r6;\nmad.lo.s64 %rd6, %rd4, %rd6, %rd2;\nshl.b64 %rd6, %rd6, {shift};\n\
             cvt.u64.u32 %rd4, %r1;\nor.b64 %rd6, %rd6, %rd4;\nshl.b64 %rd6, %rd6, 2;\nadd.s64 %rd3, %rd1, %rd6;\n\
             st.global.u32 [%rd3], %r1;"
        )
    };
    let of = |shift| verdict_of(&of(shift), sized([64, 1, 1], None)).0;
    assert_eq!([6, 5].map(of), [Outcome::Free, Outcome::Race]);
}

/// The lane of a thread is its number in the CTA, row by row, modulo 32.
#[test]
fn lanes_are_numbers_of_threads() {
    let leaders = |address: &str| {
        format!(
            "mov.u32 %r5, %laneid;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra END;\nshr.u32 %r6, %r1, 5;\n\
             mul.wide.u32 %rd4, %r6, 4;\nadd.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [{address}], %r1;\nEND:"
        )
    };
    check(&leaders("%rd6"), FREE);
    check(&leaders("%rd5"), RACE);
    let rows = "mov.u32 %r5, %laneid;\nmov.u32 %r6, %tid.y;\nand.b32 %r6, %r6, -2;\nmad.lo.u32 %r5, %r6, 16, %r5;\n\
                mul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [%rd6], %r1;";
    let of = |block| verdict_of(rows, sized(block, Some([1; 3])));
    assert_eq!([[16, 4, 1], [32, 4, 1]].map(|block| of(block).0), [Outcome::Free, Outcome::Race]);
    // The manual numbers the threads of a single row.
    let assumes = |block| report_of(rows, sized(block, Some([1; 3]))).assumptions.contains(&Assumption::Rows);
    assert_eq!([[32, 1, 1], [16, 4, 1], [16, 1, 2]].map(assumes), [false, true, true]);
}

/// Variables of two blocks of one function are distinct, even if they have the same name.
#[test]
fn variables_of_two_blocks() {
    let of = |first: &str| {
        format!(
            "setp.eq.u32 %p1, %r1, 0;\n{{ .{first} .u32 s; st.{first}.u32 [s], %r1; }}\n\
             {{ .shared .u32 s; @%p1 st.shared.u32 [s], %r1; @!%p1 ld.shared.u32 %r5, [s]; }}"
        )
    };
    check(&of("local"), RACE);
    let apart = "setp.eq.u32 %p1, %r1, 0;\n{ .shared .u32 s; @%p1 st.shared.u32 [s], %r1; }\n{ .shared .u32 s; @!%p1 ld.shared.u32 %r5, [s]; }";
    check(apart, FREE);
}

#[test]
fn a_load_after_a_barrier_is_uniform() {
    let together = |fence: &str| {
        format!(
            "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [buf], %r0;\nbar.sync 0;\nld.shared.u32 %r5, [buf];\n{fence}\nsetp.eq.u32 %p2, %r5, 1;\n@%p2 bar.sync 0;\n@!%p2 bar.sync 1;"
        )
    };
    check(&together(""), FREE);
    // A value that a thread has written itself is not the value at the barrier.
    check(
        "ld.shared.u32 %r5, [%rd2];\nadd.u32 %r6, %r5, 1;\nst.shared.u32 [%rd2], %r6;\nld.shared.u32 %r6, [%rd2];\nsetp.ne.u32 %p1, %r5, %r6;\n@%p1 st.shared.u32 [buf+4096], %r1;",
        RACE,
    );
    let (verdict, _) = verdict(&together("add.u32 %r5, %r5, %r1;"));
    assert_eq!(verdict, Outcome::Open);
}

#[test]
fn operations_that_are_not_followed_are_open() {
    let (verdict, why) = verdict("sust.b.1d.b32.trap [%rd1, {%r1}], %r1;");
    assert_eq!(verdict, Outcome::Open, "{why}");
    assert!(why.contains("NotFollowed"), "{why}");
}

/// The facts about products of indices and sizes that a proof for all launches needs.
#[test]
fn launches_of_all_sizes() {
    check_all("st.global.u32 [%rd3], 1;", FREE);
    // Threads of different CTAs have the same index within their CTA.
    check_all("mul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd6, %rd1, %rd4;\nst.global.u32 [%rd6], %r2;", OPEN);
    // CTAs overlap by one thread.
    let apart = "sub.u32 %r5, %r4, 1;\nmad.lo.u32 %r6, %r3, %r5, %r1;\nmul.wide.u32 %rd4, %r6, 4;\nadd.s64 %rd6, %rd1, %rd4;\nst.global.u32 [%rd6], %r2;";
    check_all(apart, OPEN);
    // A kernel that reads an index also runs with threads that have other values of it.
    check_all("mov.u32 %r5, %tid.y;\nst.global.u32 [%rd3], %r5;", OPEN);
    let stride = |step: &str| {
        format!(
            "mov.u32 %r5, %nctaid.x;\nmul.lo.u32 %r5, %r5, %r4;\n{step}\nmov.u32 %r6, %r2;\nL:\nsetp.ge.s32 %p1, %r6, %r0;\n@%p1 bra M;\nmul.wide.s32 %rd4, %r6, 4;\nadd.s64 %rd6, %rd1, %rd4;\nst.global.u32 [%rd6], %r2;\nadd.s32 %r6, %r6, %r5;\nbra L;\nM:"
        )
    };
    check_all(&stride(""), FREE);
    check_all(&stride("mov.u32 %r5, %r4;"), OPEN);
    check_all(&stride("sub.u32 %r5, %r5, 1;"), OPEN);
    let plane = |guard: &str| {
        format!(
            "mov.u32 %r5, %tid.y;\nmov.u32 %r6, %ctaid.y;\nmov.u32 %r7, %ntid.y;\nmad.lo.u32 %r5, %r6, %r7, %r5;\nsetp.ge.s32 %p1, %r2, %r0;\n{guard} ret;\nmad.lo.u32 %r6, %r5, %r0, %r2;\nmul.wide.s32 %rd4, %r6, 4;\nadd.s64 %rd6, %rd1, %rd4;\nst.global.u32 [%rd6], %r2;"
        )
    };
    check_all(&plane("@%p1"), FREE);
    check_all(&plane("@!%p1"), OPEN);
    // Each thread writes two rows eight rows apart; the rows of the next CTA are sixteen rows further.
    let rows = |rows: u32| {
        format!(
            "mov.u32 %r5, %tid.y;\nmov.u32 %r6, %ctaid.y;\nmad.lo.u32 %r5, %r6, {rows}, %r5;\nshl.b32 %r6, %r3, 5;\nadd.u32 %r2, %r6, %r1;\nsetp.ge.s32 %p1, %r2, %r0;\n@%p1 ret;\nmad.lo.u32 %r6, %r5, %r0, %r2;\nmul.wide.s32 %rd4, %r6, 4;\nadd.s64 %rd6, %rd1, %rd4;\nst.global.u32 [%rd6], %r2;\nshl.b32 %r7, %r0, 3;\nadd.u32 %r6, %r6, %r7;\nmul.wide.s32 %rd4, %r6, 4;\nadd.s64 %rd6, %rd1, %rd4;\nst.global.u32 [%rd6], %r1;"
        )
    };
    let block = sized([32, 8, 1], None);
    assert_eq!(verdict_of(&rows(16), block.clone()).0, Outcome::Free);
    assert_eq!(verdict_of(&rows(15), block).0, Outcome::Race);
}

/// The page of the book explains why each assumption is needed.
#[test]
fn the_book_has_every_assumption() {
    let page = include_str!("../../../../docs/races.md");
    for assumption in Assumption::iter() {
        assert!(page.contains(&format!("| {assumption} |")), "docs/races.md has no '{assumption}'");
    }
}

#[test]
fn barriers_of_a_warp_order_its_threads() {
    // The neighbor of each thread in a pair.
    let pairs = "xor.b32 %r5, %r1, 1;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\n";
    let exchange = format!("{pairs}st.shared.u32 [%rd2], 1;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%rd6];");
    check(&exchange, FREE);
    check_all(&exchange, FREE);
    check(&exchange.replace("bar.warp.sync -1", "bar.warp.sync 65535"), RACE);
    check(&exchange.replace("bar.warp.sync -1;\n", ""), RACE);
    check(&exchange.replace("%r1, 1;", "%r1, 31;"), FREE);
    check(&exchange.replace("%r1, 1;", "%r1, 32;"), RACE);
    check(&exchange.replace("bar.warp.sync -1;", "setp.lt.u32 %p1, %r1, 16;\n@%p1 bar.warp.sync -1;"), RACE);
    check(&exchange.replace("bar.warp.sync -1;", "setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.warp.sync -1;"), RACE);
    check(&exchange.replace("bar.warp.sync -1;", "shfl.sync.bfly.b32 %r7, %r1, 1, 31, -1;"), RACE);
    // Without a barrier before the next iteration, the next word is written too early.
    let rounds = |end: &str| {
        format!(
            "{pairs}mov.u32 %r7, 0;\nL:\nst.shared.u32 [%rd2], %r7;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%rd6];\n{end}add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, 9;\n@%p1 bra L;"
        )
    };
    check(&rounds("bar.warp.sync -1;\n"), FREE);
    check(&rounds("bar.sync 0;\n"), FREE);
    check(&rounds(""), RACE);
    // Threads of two rows are in one warp; threads of four rows are not.
    let plane = "mov.u32 %r6, %tid.y;\nmad.lo.u32 %r7, %r6, 16, %r1;\nxor.b32 %r5, %r7, 16;\nmul.wide.u32 %rd4, %r7, 4;\nadd.s64 %rd2, %rd5, %rd4;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [%rd2], 1;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%rd6];";
    let of = |body: &str, expected: &[Outcome]| {
        let (is, why) = verdict_of(body, sized([16, 4, 1], Some([2, 1, 1])));
        assert!(expected.contains(&is), "{is}: {why}\n{body}");
    };
    of(plane, FREE);
    of(&plane.replace("%r7, 16;", "%r7, 32;"), RACE);
}

/// The last steps of a reduction, in one warp.
#[test]
fn a_sum_of_a_warp() {
    let half = |step: u32| {
        format!(
            "ld.shared.u32 %r5, [%rd2+{}];\nbar.warp.sync -1;\nst.shared.u32 [%rd2], %r5;\nbar.warp.sync -1;\n",
            step * 4
        )
    };
    let sum = format!(
        "st.shared.u32 [%rd2], 1;\nbar.sync 0;\nsetp.gt.u32 %p1, %r1, 31;\n@%p1 bra END;\n{}{}{}END:\nbar.sync 0;\nld.shared.u32 %r6, [%rd5];",
        half(32),
        half(16),
        half(8)
    );
    check(&sum, FREE);
    check(&sum.replace("%r1, 31;", "%r1, 32;"), DIVERGENT);
    check(&sum.replace("%r1, 31;", "%r1, 15;"), DIVERGENT);
    check(&sum.replacen("bar.warp.sync -1;\n", "", 2), RACE);
    check(&sum.replacen("bar.sync 0;\n", "", 1), RACE);
    check(&sum.replace("END:\nbar.sync 0;", "END:\nbar.warp.sync -1;"), RACE);
}

/// The first CTA writes to the shared memory of the second CTA, which reads it.
#[test]
fn shared_memory_of_another_cta() {
    let of = |map: &str, store: &str| {
        format!(
            "setp.eq.u32 %p1, %r3, 0;\n@%p1 bra WRITER;\nld.shared.u32 %r5, [%rd2];\nbra END;\nWRITER:\nsetp.ne.u32 %p2, %r1, 0;\n\
             @%p2 bra END;\nmov.u32 %r6, 1;\ncvt.u32.u64 %r7, %rd5;\n{map}\n{store}\nEND:"
        )
    };
    check(&of("mapa.u64 %rd6, %rd5, %r6;", "st.u32 [%rd6], 1;"), RACE);
    check(&of("mapa.shared::cluster.u32 %r8, %r7, %r6;", "st.shared::cluster.u32 [%r8], 1;"), RACE);
}

/// The verdict for two CTAs of 128 threads.
fn of_two(body: &str) -> (Outcome, String) {
    verdict_of(body, sized([128, 1, 1], Some([2, 1, 1])))
}

/// In a CTA of 128 threads, two warps write and two read.
#[test]
fn barriers_of_some_threads() {
    let of = |body: &str, expected: &[Outcome]| {
        let (is, why) = of_two(body);
        assert!(expected.contains(&is), "{is} and not {expected:?}: {why}\n{body}");
    };
    let hand = "setp.ge.u32 %p1, %r1, 64;\n@%p1 bra READ;\nst.shared.u32 [%rd2], %r1;\nbar.arrive 1, 128;\nbra END;\n\
                READ:\nbar.sync 1, 128;\nxor.b32 %r5, %r1, 65;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nld.shared.u32 %r6, [%rd6];\nEND:";
    mutants::check(
        of_two,
        hand,
        0,
        &[
            ("bar.arrive 1, 128;\n", ""),
            ("bar.arrive 1, 128;", "bar.arrive 2, 128;"),
            ("bar.arrive 1, 128;", "bar.arrive 1, 128;\nbar.arrive 1, 128;"),
            ("bar.arrive 1, 128;\nbra END;", "bar.arrive 1, 128;\nst.shared.u32 [%rd2], 1;\nbra END;"),
            ("bar.sync 1, 128;\n", "ld.shared.u32 %r7, [%rd2+-256];\nbar.sync 1, 128;\n"),
            ("bar.sync 1, 128;", "bar.arrive 1, 128;"),
            // Half of a warp takes one path, and half the other.
            ("setp.ge.u32 %p1, %r1, 64;", "add.u32 %r7, %r1, 16;\nand.b32 %r7, %r7, 127;\nsetp.ge.u32 %p1, %r7, 64;"),
            ("setp.ge.u32 %p1, %r1, 64;", "setp.ge.u32 %p1, %r1, %r0;"),
            ("1, 128", "1, 96"),
            ("1, 128", "1, 160"),
        ],
    );
    // Two warps synchronize among themselves.
    let half = "setp.ge.u32 %p1, %r1, 64;\n@%p1 bra END;\nst.shared.u32 [%rd2], %r1;\nbar.sync 1, 64;\nxor.b32 %r5, %r1, 33;\n\
                mul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nld.shared.u32 %r6, [%rd6];\nEND:";
    mutants::check(of_two, half, 0, &[("%r1, 64;", "%r1, 32;")]);
    of(
        &half.replace(
            "bar.sync 1, 64;",
            "mov.u32 %r7, 0;\nL:\nbar.sync 1, 64;\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, 2;\n@%p2 bra L;",
        ),
        FREE,
    );
    // Lanes of a warp reach different barriers depending on the values that they read.
    let lanes = "setp.ge.u32 %p1, %r1, 64;\n@%p1 bra END;\nst.shared.u32 [%rd2], %r1;\nld.global.u32 %r7, [%rd3];\nsetp.eq.u32 %p2, %r7, 0;\n\
                 @%p2 bra HERE;\nbar.sync 1, 64;\nbra BOTH;\nHERE:\nbar.sync 1, 64;\nBOTH:\nxor.b32 %r5, %r1, 33;\nmul.wide.u32 %rd4, %r5, 4;\n\
                 add.s64 %rd6, %rd5, %rd4;\nld.shared.u32 %r6, [%rd6];\nEND:";
    of(lanes, DIVERGENT);
    of(&lanes.replace("%r7, 0;", "%r0, 0;"), FREE);
}

/// Two warps fill a buffer repeatedly, and two other warps empty it: each side waits for the other.
#[test]
fn barriers_of_some_threads_in_rounds() {
    let next = "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, %r0;\n";
    // The example of the manual: one side arrives at 1 and waits at 2, the other waits at 1 and arrives at 2.
    let ring = format!(
        "mov.u32 %r7, 0;\nxor.b32 %r5, %r1, 65;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nsetp.ge.u32 %p1, %r1, 64;\n\
         @%p1 bra READ;\nFILL:\nst.shared.u32 [%rd2], %r7;\nbar.arrive 1, 128;\nbar.sync 2, 128;\n{next}@%p2 bra FILL;\nbra END;\n\
         READ:\nbar.sync 1, 128;\nld.shared.u32 %r6, [%rd6];\nbar.arrive 2, 128;\n{next}@%p2 bra READ;\nEND:"
    );
    let mutants = [
        ("bar.arrive 1, 128;\nbar.sync 2, 128;\n", "bar.arrive 1, 128;\n"),
        ("bar.arrive 2, 128;\n", ""),
        ("bar.sync 1, 128;\nld", "bar.arrive 1, 128;\nld"),
        ("ld.shared.u32 %r6, [%rd6];\nbar.arrive 2, 128;\n", "bar.arrive 2, 128;\nld.shared.u32 %r6, [%rd6];\n"),
        ("bar.arrive 1, 128;\nbar.sync 2, 128;\n", "bar.sync 2, 128;\nbar.arrive 1, 128;\n"),
        ("bar.arrive 1, 128;\nbar.sync 2", "bar.arrive 1, 128;\nst.shared.u32 [%rd2], 3;\nbar.sync 2"),
        // The numbers of iterations differ between the sides, or between threads of one side.
        ("%r0;\n@%p2 bra READ", "9;\n@%p2 bra READ"),
        ("%r0;\n@%p2 bra FILL", "%r1;\n@%p2 bra FILL"),
        ("bar.sync 2, 128;\n", "setp.eq.u32 %p3, %r7, 3;\n@%p3 bra OVER;\nbar.sync 2, 128;\nOVER:\n"),
        ("bar.arrive 1, 128;\n", "bar.arrive 1, 128;\nbar.arrive 1, 128;\n"),
    ];
    // Each mutant takes seconds: iterations with two barriers are long proofs.
    let mutants: Vec<_> = mutants.into_iter().step_by(testing::stride(3)).collect();
    mutants::check(of_two, &ring, 0, &mutants);
    // The reading side announces first that the buffer is empty.
    let empty = format!(
        "mov.u32 %r7, 0;\nxor.b32 %r5, %r1, 65;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nsetp.ge.u32 %p1, %r1, 64;\n\
         @%p1 bra BEGIN;\nFILL:\nbar.sync 2, 128;\nst.shared.u32 [%rd2], %r7;\nbar.arrive 1, 128;\n{next}@%p2 bra FILL;\nbra END;\n\
         BEGIN:\nbar.arrive 2, 128;\nREAD:\nbar.sync 1, 128;\nld.shared.u32 %r6, [%rd6];\nbar.arrive 2, 128;\n{next}@%p2 bra READ;\nEND:"
    );
    mutants::check(
        of_two,
        &empty,
        0,
        &[
            ("BEGIN:\nbar.arrive 2, 128;\n", "BEGIN:\nbar.arrive 2, 128;\nbar.arrive 2, 128;\n"),
            ("BEGIN:\nbar.arrive 2, 128;\n", "BEGIN:\n"),
            ("ld.shared.u32 %r6, [%rd6];\nbar.arrive 2, 128;\n", "bar.arrive 2, 128;\nld.shared.u32 %r6, [%rd6];\n"),
        ],
    );
    // All warps in one loop.
    let same = format!(
        "mov.u32 %r7, 0;\nxor.b32 %r5, %r1, 65;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, %rd5, %rd4;\nsetp.ge.u32 %p1, %r1, 64;\nROUND:\n\
         @%p1 bra READ;\nst.shared.u32 [%rd2], %r7;\nbar.arrive 1, 128;\nbar.sync 2, 128;\nbra NEXT;\n\
         READ:\nbar.sync 1, 128;\nld.shared.u32 %r6, [%rd6];\nbar.arrive 2, 128;\nNEXT:\n{next}@%p2 bra ROUND;\nEND:"
    );
    mutants::check(
        of_two,
        &same,
        0,
        &[
            ("bar.arrive 2, 128;\n", ""),
            ("st.shared.u32 [%rd2], %r7;\nbar.arrive 1, 128;", "bar.arrive 1, 128;\nst.shared.u32 [%rd2], %r7;"),
        ],
    );
    // Barriers of all threads before and after the named barrier: threads that wait at the named barrier must also
    // reach the later one.
    let whole = "bar.sync 0;\n@%p1 bra READ;\nst.shared.u32 [%rd2], 5;\nbar.arrive 1, 128;\nbra END;\nREAD:\nbar.sync 1, 128;\nEND:\nbar.sync 0;";
    let whole = format!("setp.ge.u32 %p1, %r1, 64;\n{whole}");
    mutants::check(
        of_two,
        &whole,
        0,
        &[(
            "bar.arrive 1, 128;\nbra END;\nREAD:\nbar.sync 1, 128;\nEND:\nbar.sync 0;",
            "bra END;\nREAD:\nbar.sync 1, 128;\nEND:\nbar.sync 0;\n@!%p1 bar.arrive 1, 128;",
        )],
    );
}

/// A thread that waits for memory is not at a barrier, and threads that wait for it at a barrier are not divergent.
#[test]
fn a_wait_for_memory_is_not_a_divergence() {
    let of = |read: &str| {
        format!(
            "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra MEET;\nPOLL:\n{read}\nsetp.ne.u32 %p2, %r5, 77777;\n@%p2 bra POLL;\nMEET:\nbar.sync 0;\nst.global.u32 [%rd1+4], %r2;"
        )
    };
    for read in [
        "ld.global.u32 %r5, [%rd1];",
        "ld.volatile.global.u32 %r5, [%rd1];",
        "atom.global.cas.b32 %r5, [%rd1], 77777, 1;",
    ] {
        check(&of(read), &[Outcome::Race, Outcome::Open]);
    }
    // Two warps wait at two barriers, each for the other.
    let both = "setp.gt.u32 %p1, %r1, 31;\n@%p1 bra SECOND;\nbar.sync 1, 64;\nbar.arrive 2, 64;\nbra END;\nSECOND:\nbar.sync 2, 64;\nbar.arrive 1, 64;\nEND:";
    check(both, DIVERGENT);
}

/// If the mask of a warp instruction is computed, only the launch determines the lanes that it waits for. The proof
/// assumes that these lanes arrive.
#[test]
fn a_computed_mask_is_an_assumption() {
    let instructions = [
        "shfl.sync.down.b32 %r5, %r1, 1, 31, %r6;",
        "vote.sync.ballot.b32 %r5, %p1, %r6;",
        "match.any.sync.b32 %r5, %r1, %r6;",
        "redux.sync.add.s32 %r5, %r1, %r6;",
        "bar.warp.sync %r6;",
    ];
    for instruction in instructions {
        let body =
            format!("setp.ge.u32 %p1, %r1, %r0;\nactivemask.b32 %r6;\n{instruction}\nst.global.u32 [%rd3], %r1;");
        let report = report_of(&body, sized([64, 1, 1], Some([2, 1, 1])));
        assert_eq!(report.verdict, Outcome::Free, "{instruction}");
        assert!(report.assumptions.contains(&Assumption::Lanes), "{instruction}");
    }
}

/// A lane that never reaches a shuffle, while other lanes of the mask wait for it, breaks an assumption of the proof.
#[test]
fn lanes_that_never_come() {
    let of = |condition: &str, instruction: &str| {
        format!("{condition};\n@%p1 bra END;\n{instruction}\nEND:\nst.global.u32 [%rd3], %r1;")
    };
    let full = [
        "shfl.sync.down.b32 %r5, %r1, 1, 31, -1;",
        "vote.sync.any.pred %p2, %p1, -1;",
        "redux.sync.add.s32 %r5, %r1, -1;",
    ];
    for instruction in full {
        check(&of("setp.ge.u32 %p1, %r1, 16", instruction), OPEN);
        check(&of("setp.ge.u32 %p1, %r1, 32", instruction), FREE);
        // A condition on launch values may hold for all lanes.
        check(&of("setp.ge.u32 %p1, %r0, 16", instruction), FREE);
    }
    let mask = |mask: &str| {
        let half = "and.b32 %r6, %r1, 31;\nsetp.ge.u32 %p1, %r6, 16";
        of(half, &format!("shfl.sync.down.b32 %r5, %r1, 1, 31, {mask};"))
    };
    check(&mask("65535"), FREE);
    check(&mask("131071"), OPEN);
    // The halves of a warp reach different sites, or one half reaches both.
    let halves = |low: &str, high: &str| {
        format!(
            "and.b32 %r6, %r1, 31;\nsetp.ge.u32 %p1, %r6, 16;\n@%p1 bra HIGH;\n{low}\nbra END;\nHIGH:\n{high}\nEND:\n\
             st.global.u32 [%rd3], %r1;"
        )
    };
    let shuffle = "shfl.sync.down.b32 %r5, %r1, 1, 31, -1;";
    check(&halves(shuffle, shuffle), FREE);
    check(&halves(shuffle, ""), OPEN);
    check(&halves(shuffle, "shfl.sync.up.b32 %r5, %r1, 1, 0, -1;"), OPEN);
    // Lanes that reach the first shuffle do not reach the second.
    check(&format!("{shuffle}\n{}", halves(shuffle, "")), OPEN);
}

/// A 64-bit number among the parameters is not the base of an address if the sum may contain a pointer.
#[test]
fn pointers_computed_from_pointers() {
    let of = |pointer: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q, .param .u64 n)\n.reqntid 32, 1, 1\n\
             {{\n.reg .pred %p<3>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\n\
             ld.param.u64 %rd3, [n];\nmov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n{pointer}\nadd.s64 %rd5, %rd4, %rd3;\n\
             @%p1 st.global.u8 [%rd5], 1;\n@!%p1 ld.global.u8 %r2, [%rd1];\nret;\n}}\n"
        );
        let module: Module = text.parse().expect("PTX");
        let options =
            RaceOptions { size: LaunchSize { grid: Some([1; 3]), ..LaunchSize::default() }, ..RaceOptions::default() };
        check_module(&module, &options).into_iter().next().expect("a kernel").verdict
    };
    for pointer in [
        "ld.global.u64 %rd4, [%rd2];",
        "setp.gt.u64 %p2, %rd3, 9;\nselp.b64 %rd4, %rd1, %rd2, %p2;",
        "and.b64 %rd4, %rd1, -128;",
        "or.b64 %rd4, %rd1, 4;",
    ] {
        assert_ne!(of(pointer), Outcome::Free, "{pointer}");
    }
    // A 32-bit index is not a pointer.
    assert_eq!(of("cvt.u64.u32 %rd4, %r1;"), Outcome::Free);
}

/// A 32-bit address is an address of shared memory, whatever is added to it.
#[test]
fn addresses_of_32_bits() {
    let of = |offset: u32| {
        format!(
            "cvt.u32.u64 %r5, %rd5;\nshl.b32 %r6, %r1, 3;\nadd.u32 %r5, %r5, %r6;\nst.shared.u32 [%r5], %r1;\nst.shared.u32 [%r5+{offset}], %r1;"
        )
    };
    check(&of(4), FREE);
    check(&of(512), FREE);
    check(&of(504), RACE);
}

/// If one instruction uses a pointer parameter as an address of shared memory, the pointer is to shared memory for
/// other instructions, too.
#[test]
fn a_parameter_that_points_to_shared_memory() {
    let of = |load: &str| {
        format!(
            "setp.eq.u32 %p1, %r1, 0;\ncvta.to.shared.u64 %rd6, %rd1;\n@%p1 st.shared.u32 [%rd6], %r1;\n@!%p1 {load} %r5, [%rd1];"
        )
    };
    let (is, why) = verdict(&of("ld.u32"));
    assert_ne!(is, Outcome::Free, "{why}");
    check(&of("ld.global.u32"), FREE);
}

/// The result of a counting barrier is the same for all threads of a CTA, but may differ between CTAs.
#[test]
fn a_barrier_counts_threads() {
    let of = |space: &str, to: &str, who: &str| {
        format!(
            "setp.lt.u32 %p1, %r1, %r3;\nbar.red.popc.u32 %r5, 0, %p1;\nand.b32 %r5, %r5, 1;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd6, {to}, %rd4;\n\
             setp.ne.u32 %p2, {who}, 0;\n@%p2 bra READ;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra END;\nst.{space}.u32 [%rd6], 1;\nbra END;\n\
             READ:\nxor.b32 %r6, %r5, 1;\nmul.wide.u32 %rd4, %r6, 4;\nadd.s64 %rd6, {to}, %rd4;\nld.{space}.u32 %r7, [%rd6];\nEND:"
        )
    };
    check(&of("shared", "%rd5", "%r1"), FREE);
    check(&of("global", "%rd1", "%r3"), RACE);
}
