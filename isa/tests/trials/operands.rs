//! The test of operand checks: [`legality`] rejects a body if every assembler rejects it, and accepts a body if every
//! assembler accepts it.

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_isa::{Module, PtxVersion, Target, legality};
use testing::{ASSEMBLERS, Assembler, trial};

pub fn trials() -> Vec<Trial> {
    let of = |assembler: Assembler| {
        let name = format!("{} refuses the operands that are refused here", assembler.name);
        trial(name, assembler.missing(), move || agree(&assembler))
    };
    ASSEMBLERS.into_iter().map(of).collect()
}

/// Instructions that every assembler accepts.
const LEGAL: &str = "
    bar.sync 0; bar.sync %r1; bar.sync 0, 32; bar.sync 0, %r1; bar.arrive 0, 32; bar.cta.sync 0; bar.warp.sync -1;
    bar.red.and.pred %p1, 0, %p2; bar.red.popc.u32 %r1, 0, 32, !%p2; bar.red.and.pred %p1, %r0, %r1, 1;
    barrier.sync.aligned 0, 32; barrier.cta.arrive 0, 32; barrier.cta.red.popc.u32 %r1, 0, 32, %p2;
    membar.gl; fence.sc.gpu; fence.proxy.alias; activemask.b32 %r1;
    shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, -1; vote.sync.uni.pred %p1, !%p2, -1; match.any.sync.b32 %r1, %r2, -1;
    match.all.sync.b32 %r1, %r2, -1; match.sync.any.b32 %r1, %r2, -1; redux.sync.add.u32 %r1, %r2, -1;
    call none; call none, (); call taken, (5); call (%r1), f, (%rd1, %r2); call (_), f, (%rd1, %r2); @%p1 call taken, (%r1);
    call open, (%r1); { .param .b32 a; .param .b8 b[4]; call open, (a, b); }
    { t: .callprototype (.param .b32 _) _ (.param .b64 _); call (%r1), %rd1, (%rd2), t; }
    { t: .callprototype _; call %rd1, t; } { t: .calltargets taken; call %rd1, (%r1), t; }
    ld.global.u32 %r1, [%rd1+-8]; ld.global.u32 %r1, [table+ -8]; ld.global.u32 %r1, [%rd1+4-4]; ld.global.u32 %r1, [table+ 8 - 4];
    ld.global.u32 %r1, [table+4*2]; ld.global.u32 %r1, [%rd1+(4)]; ld.global.u32 %r1, table[2]; mov.u64 %rd1, table+-8;
    mov.u32 %r1, WARP_SZ-1; add.u32 %r1, %r2, WARP_SZ-1; bar.sync WARP_SZ-31; ld.global.u32 %r1, [%rd1+WARP_SZ-1];
    ld.global.u32 %r1, [%r1]; ld.global.u32 %r1, [%h1]; ld.global.u32 %r1, [%b1]; st.shared.u32 [%h1], %r1; ld.shared.u32 %r1, [%rd1];
    ld.global.f32 {%f1}, [%rd1]; st.global.f32 [%rd1], {%f1}; ld.global.v2.f32 {_, %f2}, [%rd1]; st.global.v2.f32 [%rd1], {1.0, %f1};
    { .reg .v2 .f32 v; ld.global.v2.f32 v, [%rd1]; st.global.v2.f32 [%rd1], v; ld.global.v2.f32 {v.x, v.y}, [%rd1]; }
    ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2; atom.global.exch.b32 %r1, [%rd1], %r2, %r3;
    mov.b64 %rd1, {%r1, %r2}; mov.b64 %rd1, {%h1, %h2, %h3, %h4}; mov.b64 {%r1, _}, %rd1; mov.b32 %r1, {%r2}; mov.b16 %h1, {%b1, %b2};
    mov.b64 {%f1, %r1}, %rd1; mov.b64 %rd1, {%r1, 1}; mov.b32 %r1, {%b1, %b2, %b3, %b4}; mov.v4.u32 {%r1, %r2, %r3, _}, %ctaid;
    { .reg .v2 .b32 v; mov.b64 v, %rd1; mov.b64 %rd1, v; }
";

/// Instructions that every assembler rejects, each alone in a body.
const ILLEGAL: [&str; 60] = [
    "bar.sync",
    "bar.sync 0, 32, 1",
    "bar.arrive 0",
    "bar.red.and.pred %p1, 0",
    "bar.red.popc.u32 %r1, 0, 32, %p2, %p3",
    "bar 0",
    "bar.warp.sync",
    "bar.warp.sync -1, 0",
    "barrier 0",
    "barrier.sync",
    "barrier.arrive.aligned 0",
    "barrier.cta.red.popc.u32 %r1, 0",
    "barrier.cluster.arrive 0",
    "membar.gl 0",
    "fence.sc.gpu 0",
    "activemask.b32 %r1, %r2",
    "shfl.sync.idx.b32 %r1, %r2, %r3, 31",
    "shfl.idx.b32 %r1, %r2, %r3, 31",
    "vote.all.pred %p1, %p2",
    "vote.sync.all.pred %p1, %p2",
    "match.any.b32 %r1, %r2, -1",
    "match.any.sync.b32 %r1, %r2",
    "redux.add.u32 %r1, %r2, -1",
    "call none, (%r1)",
    "call taken",
    "call taken, (%r1, %r2)",
    "call (%r1), taken, (%r2)",
    "call f, (%rd1, %r2)",
    "call (%r1), f, (%rd1)",
    "call (%r1, %r2), f, (%rd1, %r2)",
    "call open",
    "{ t: .callprototype (.param .b32 _) _ (.param .b64 _); call (%r1), %rd1, t; }",
    "{ t: .callprototype (.param .b32 _) _ (.param .b64 _); call %rd1, (%rd2), t; }",
    "ld.global.u32 %r1, [%rd1-8]",
    "ld.global.u32 %r1, [table - 8]",
    "st.shared.u32 [%r1-8], %r1",
    "atom.global.add.u32 %r1, [%rd1-8], %r2",
    "cp.async.ca.shared.global [%r1-8], [%rd1], 4",
    "mov.u64 %rd1, table-8",
    "add.u32 %r1, %r2, %r3-2",
    "ld.global.u32 %r1, [%f1]",
    "ld.u32 %r1, [%d1]",
    "ld.u32 %r1, [%p1]",
    "st.shared.u32 [%x1], %r1",
    "prefetch.global.L1 [%d1]",
    "mbarrier.init.shared.b64 [%f1], 1",
    "ld.global.v4.f32 {%f1, %f2}, [%rd1]",
    "ld.global.nc.v2.f32 {%f1, %f2, %f3, %f4}, [%rd1]",
    "ld.global.v2.f32 %f1, [%rd1]",
    "ld.global.f32 {%f1, %f2}, [%rd1]",
    "st.global.v2.f32 [%rd1], %f1",
    "ld.param.v2.u32 {%r1}, [p]",
    "mov.b64 %rd1, {%r1}",
    "mov.b64 {%h1, %h2}, %rd1",
    "mov.b64 %rd1, {%r1, %r2, %r3, %r4}",
    "mov.v2.u32 {%r1, %r2}, {%r1, %r2, %r3, %r4}",
    "ld.global.u32 %r1, [%rd1], %r2",
    "st.global.u32 [%rd1], %r2, %r3",
    "atom.global.cas.b32 %r1, [%rd1], %r2, %r3, %r4",
    "red.global.add.u32 [%rd1], %r2, %r3",
];

/// A target that every assembler supports.
fn target() -> Target {
    Target { sm: "sm_80".parse().expect("a GPU"), ptx: PtxVersion(7, 8) }
}

fn module(body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.global .align 16 .u32 table[16];\n\
         .extern .func (.reg .b32 r) f(.reg .b64 x, .reg .b32 y);\n.extern .func none();\n.func taken(.param .b32 a) {{ ret; }}\n\
         .extern .func open(.param .b32 a, .param .b8 b[]);\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .pred %p<4>; .reg .b8 %b<5>; .reg .b16 %h<5>; .reg .b32 %r<5>; .reg .b64 %rd<3>; .reg .f16 %x<2>;\n\
         .reg .f32 %f<5>; .reg .f64 %d<2>;\n{body}\nret;\n}}\n"
    )
}

fn agree(assembler: &Assembler) -> Result<(), Failed> {
    let mut wrong = Vec::new();
    for (body, is_legal) in ILLEGAL.iter().map(|body| (*body, false)).chain([(LEGAL, true)]) {
        let text = module(&format!("{body}{}", if body.trim_end().ends_with([';', '}']) { "" } else { ";" }));
        let (module, unread) = Module::read_partly(&text);
        let ours = unread.into_iter().chain(legality::faults(&module)).map(|error| error.reason).collect_vec();
        let theirs = assembler.judge(&target(), text.as_bytes())?;
        // The linker would find a function of another module, so an unresolved one is not an error.
        let theirs = theirs.err().map(|error| error.to_string()).filter(|said| !said.contains("Unresolved extern"));
        if ours.is_empty() != is_legal || theirs.is_none() != is_legal {
            wrong.push(format!("{body}: {ours:?}, {}", theirs.unwrap_or_default()));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}
