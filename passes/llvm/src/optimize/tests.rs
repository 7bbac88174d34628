//! Tests of the graph of events that the optimizer receives, and of the changes to the function.

use std::collections::BTreeSet;

use inkwell::{context::Context, module::Module};
use ptx_atomics_common::{
    Input, Options,
    operation::{describe, sync_scope_name},
};
use ptx_lowering::{AtomicOp, Operation, Ordering, PtxVersion, SyncScope, Target, ptx::Scope};
use ptx_optimize::{Atomic, Block, Event, EventKind, Function, Rewrites};

use super::*;
use crate::read;

const DECLARED: &str = "
    @global = addrspace(1) global [4 x i32] zeroinitializer
    @shared = internal addrspace(3) global [4 x i32] zeroinitializer
    declare void @g()
    declare i32 @pure() memory(none)
    declare i32 @__nv_abs(i32)
    declare ptr @__nv_cluster_map_shared_rank_impl(ptr, i32)
    define void @__nv_publish() noinline { ret void }
    define ptr @malloc(i64 %n) noinline { ret ptr null }
    define i32 @__nv_fdim(i32 %i) noinline { ret i32 %i }
    define weak void @free(ptr %p) { ret void }
    declare float @__nv_modff(float, ptr)
    declare void @vprintf(ptr, ptr)
    declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
    declare void @llvm.nvvm.nanosleep(i32)
    declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)
    declare ptr @llvm.nvvm.mapa(ptr, i32)
    declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
    declare <2 x i32> @llvm.masked.gather.v2i32.v2p1(<2 x ptr addrspace(1)>, <2 x i1>, <2 x i32>)
    declare void @llvm.assume(i1)
    declare void @llvm.trap()
    ";

fn options(gpu: &str) -> Options {
    let target = Target::new(gpu.parse().expect("a GPU"), Some(PtxVersion(8, 6))).expect("a target");
    Options { optimize: Rewrites::all(), remarks: true, ..Options::new(target) }
}

fn parse<'c>(context: &'c Context, text: &str) -> (Module<'c>, Input) {
    let input = Input::new("test.ll", format!("{DECLARED}{text}"));
    (read(context, &input).unwrap_or_else(|errors| panic!("{errors}\n{text}")), input)
}

/// The optimizer's form of every function with atomics.
fn fed<'c>(module: &Module<'c>, input: &Input, options: &Options) -> Vec<feed::Fed<'c>> {
    let planned = crate::lower::plan(module, input, options).expect("it has a lowering");
    let obstacles = Obstacles::from_module(module, options);
    let by_function = planned.chunk_by(|one, next| one.function == next.function);
    let feed = |planned: &[Planned<'c>]| {
        let function = planned[0].function;
        feed::feed(function, &ops(planned), obstacles.get(function), &layout(module), options)
    };
    by_function.filter_map(feed).collect()
}

fn show(event: &Event) -> String {
    match &event.kind {
        EventKind::Plain => "plain".into(),
        EventKind::Barrier => "barrier".into(),
        EventKind::Unknown(what) => format!("? {what}"),
        EventKind::Atomic(atomic) => {
            let operation = describe(&atomic.op, sync_scope_name(atomic.op.scope, Scope::Sys), "i32");
            let address = atomic.address.map_or(String::new(), |at| {
                let block = at.block.map_or(String::new(), |block| format!(" of {block}"));
                format!(" at {}{block} in {}", at.value, at.reach)
            });
            let success = atomic.success.map_or(String::new(), |(from, to)| format!(", succeeds on {from}->{to}"));
            operation + &address + &success
        }
    }
}

/// Checks the events that the optimizer receives for the body of a function.
fn check(body: &str, expected: &[&str]) {
    let context = Context::create();
    let text = format!("define void @f(ptr addrspace(1) %p, ptr %q, ptr addrspace(3) %s, i32 %i, i64 %n) {{ {body} }}");
    let (module, input) = parse(&context, &text);
    let told = fed(&module, &input, &options("sm_80"));
    let told: Vec<_> = told.iter().flat_map(|fed| fed.function.events()).map(show).collect();
    assert_eq!(told, expected, "{body}");
}

/// An atomic, and its event. A function without atomics is not converted.
const FENCE: &str = "fence acquire";

#[test]
fn accesses_and_orderings_are_events() {
    let cases: [(&str, &[&str]); 31] = [
        ("%x = add i32 %i, 1", &[]),
        ("%x = load i32, ptr addrspace(1) %p", &["plain"]),
        ("store i32 1, ptr %q", &["plain"]),
        ("store i32 1, ptr addrspace(3) @shared", &["plain"]),
        ("%x = load i32, ptr addrspace(1) %p, !invariant.load !{}", &[]),
        ("%x = load volatile i32, ptr addrspace(1) %p", &["? a volatile access"]),
        ("%a = alloca i32 %b = getelementptr i8, ptr %a, i64 %n store i32 1, ptr %b", &[]),
        ("%x = load i32, ptr addrspace(4) null", &[]),
        ("call void @g()", &["? the call to `g`"]),
        ("call void %q()", &["? a call through a pointer"]),
        ("call void @g() memory(none)", &[]),
        ("%x = call i32 @pure()", &[]),
        ("%x = call i32 @__nv_abs(i32 %i)", &[]),
        ("%a = alloca float %x = call float @__nv_modff(float 1.0, ptr %a)", &[]),
        ("%x = call float @__nv_modff(float 1.0, ptr %q)", &["plain"]),
        (
            "%x = call ptr @__nv_cluster_map_shared_rank_impl(ptr %q, i32 1)",
            &["? the call to `__nv_cluster_map_shared_rank_impl`"],
        ),
        // The name of a function with a body in the module determines nothing.
        ("call void @__nv_publish()", &["? the call to `__nv_publish`"]),
        ("%x = call i32 @__nv_fdim(i32 %i)", &["? the call to `__nv_fdim`"]),
        ("call void @vprintf(ptr %q, ptr %q)", &["? the call to `vprintf`"]),
        ("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", &["barrier"]),
        ("call void @llvm.nvvm.nanosleep(i32 8)", &[]),
        ("%x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()", &[]),
        (
            "call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %p, ptr addrspace(1) @global, i64 4, i1 false)",
            &["plain"],
        ),
        (
            "call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %p, ptr addrspace(1) @global, i64 4, i1 true)",
            &["? the call to `llvm.memcpy.p1.p1.i64`"],
        ),
        (
            "%x = call <2 x i32> @llvm.masked.gather.v2i32.v2p1(<2 x ptr addrspace(1)> poison, <2 x i1> poison, <2 x i32> poison)",
            &["plain"],
        ),
        ("call void @llvm.assume(i1 true)", &[]),
        ("%x = call i32 asm \"add.u32 $0, $1, 1;\", \"=r,r\"(i32 %i)", &[]),
        ("call void asm sideeffect \"\", \"~{memory}\"()", &[]),
        ("call void asm sideeffect \"bar.sync 0;\", \"\"()", &["barrier"]),
        ("call void asm sideeffect \"frobnicate;\", \"\"()", &["? inline assembly"]),
        ("call void asm sideeffect \"st.global.u32 [$0], 1;\", \"l\"(ptr addrspace(1) %p)", &["? inline assembly"]),
    ];
    for (body, expected) in cases {
        let all: Vec<_> = [FENCE].iter().chain(expected).copied().collect();
        check(&format!("{FENCE} {body} ret void"), &all);
    }
}

#[test]
fn addresses_are_a_base_and_an_offset() {
    let load = |pointer: &str| format!("{{}} = load atomic i32, ptr addrspace(1) {pointer} monotonic, align 4");
    let loads = |before: &str, pointers: [&str; 2]| {
        let loads = pointers.iter().zip(["%x", "%y"]).map(|(pointer, name)| load(pointer).replace("{}", name));
        format!("{before} {} ret void", loads.collect::<Vec<_>>().join(" "))
    };
    let at = |first: &str, second: &str| {
        [first, second].map(|at| format!("load atomic i32 addrspace(1) monotonic at {at} in sys"))
    };
    let field = "getelementptr {i32, [4 x i32]}, ptr addrspace(1) %p, i64 1, i32 1, i64 2";
    let cases = [
        (loads("", ["%p", "%p"]), at("0", "0")),
        (loads("", ["%p", "@global"]), at("0", "1")),
        (loads("", ["@global", "getelementptr (i32, ptr addrspace(1) @global, i64 1)"]), at("0", "1")),
        (
            loads(
                "%a = getelementptr i32, ptr addrspace(1) %p, i64 8 %b = getelementptr i8, ptr addrspace(1) %p, i64 32",
                ["%a", "%b"],
            ),
            at("0", "0"),
        ),
        (
            loads(&format!("%a = {field} %b = getelementptr i8, ptr addrspace(1) %p, i64 32"), ["%a", "%b"]),
            at("0", "0"),
        ),
        (loads("%a = getelementptr i32, ptr addrspace(1) %p, i64 %n", ["%a", "%a"]), at("0 of 0", "0 of 0")),
        (
            loads("br label %next next: %a = getelementptr i32, ptr addrspace(1) %p, i64 %n", ["%p", "%a"]),
            at("0", "1 of 1"),
        ),
        (loads("br label %next next: %a = getelementptr i32, ptr addrspace(1) %p, i64 4", ["%p", "%a"]), at("0", "1")),
    ];
    for (body, expected) in cases {
        check(&body, &expected.each_ref().map(String::as_str));
    }
}

#[test]
fn a_branch_may_say_that_an_exchange_succeeded() {
    let exchange = "br label %loop loop: %r = cmpxchg ptr addrspace(1) %p, i32 %i, i32 1 monotonic monotonic \
                    %old = extractvalue {i32, i1} %r, 0 %ok = extractvalue {i32, i1} %r, 1";
    let told = "cmpxchg i32 addrspace(1) monotonic monotonic at 0 in sys";
    let cases = [
        ("br i1 %ok, label %out, label %loop", ", succeeds on 1->2"),
        ("br i1 %ok, label %loop, label %out", ", succeeds on 1->1"),
        ("%not = xor i1 %ok, true br i1 %not, label %loop, label %out", ", succeeds on 1->2"),
        ("%eq = icmp eq i32 %old, %i br i1 %eq, label %out, label %loop", ", succeeds on 1->2"),
        ("%ne = icmp ne i32 %i, %old br i1 %ne, label %loop, label %out", ", succeeds on 1->2"),
        ("%eq = icmp eq i32 %old, 7 br i1 %eq, label %out, label %loop", ""),
        ("%lt = icmp ult i32 %old, %i br i1 %lt, label %out, label %loop", ""),
        ("br i1 %ok, label %out, label %out", ""),
        ("br label %behind behind: br i1 %ok, label %out, label %loop", ""),
    ];
    for (branch, edge) in cases {
        check(&format!("{exchange} {branch} out: ret void"), &[&format!("{told}{edge}")]);
    }
}

/// Checks the reason why threads of other CTAs may access the shared memory of a function `f`, in a module with a
/// kernel `k`.
fn check_shared(gpu: &str, module: &str, expected: Option<&str>) {
    let context = Context::create();
    let (module, input) = parse(&context, module);
    let told = fed(&module, &input, &options(gpu));
    let found = told.iter().map(|fed| fed.function.shared_obstacle.as_deref()).next_back();
    assert_eq!(found, Some(expected), "{}", input.text().unwrap_or_default());
}

#[test]
fn shared_memory_is_one_ctas_where_nothing_speaks_against_it() {
    let kernel = |body: &str| format!("define ptx_kernel void @k(ptr %q) {{ {body} {FENCE} ret void }}");
    let with =
        |attributes: &str| format!("define ptx_kernel void @k() {attributes} {{ call void @g() {FENCE} ret void }}");
    let called = |kernel: &str| {
        format!(
            "define ptx_kernel void @k() {{ {kernel} call void @f() ret void }} define internal void @f() {{ {FENCE} ret void }}"
        )
    };
    let unknown = "the call to `g` may use mapa";
    // A kernel that calls `f`, and has a call that ends its block.
    let ending = |call: &str| {
        let lands = if call.starts_with("invoke") { "%l = landingpad { ptr, i32 } cleanup" } else { "" };
        format!(
            "define ptx_kernel void @k(ptr %q) personality ptr null {{ call void @f() {call} a: ret void c: {lands} ret void }}
             define internal void @f() {{ {FENCE} ret void }}"
        )
    };
    let cases = [
        (kernel(""), None),
        (kernel("call void @g()"), Some(unknown)),
        (kernel("call void %q()"), Some("a call through a pointer may use mapa")),
        (kernel("call void @vprintf(ptr %q, ptr %q) call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"), None),
        (kernel("%m = call ptr @llvm.nvvm.mapa(ptr %q, i32 1)"), Some("the call to `llvm.nvvm.mapa` may use mapa")),
        (
            kernel("%m = call ptr @__nv_cluster_map_shared_rank_impl(ptr %q, i32 1)"),
            Some("the call to `__nv_cluster_map_shared_rank_impl` may use mapa"),
        ),
        (kernel("call void @__nv_publish() %x = call i32 @__nv_abs(i32 1)"), None),
        // Another definition may replace the function when modules are linked.
        (kernel("call void @free(ptr %q)"), Some("the call to `free` may use mapa")),
        (kernel("%c = addrspacecast ptr %q to ptr addrspace(7)"), Some("`k` has pointers to shared::cluster memory")),
        (
            kernel("call void asm sideeffect \"mapa.u64 $0, $0, 1;\", \"l\"(ptr %q)"),
            Some("inline assembly may use mapa"),
        ),
        (kernel("call void asm sideeffect \"frobnicate $0;\", \"l\"(ptr %q)"), Some("inline assembly may use mapa")),
        (kernel("%v = load <2 x ptr addrspace(7)>, ptr %q"), Some("`k` has pointers to shared::cluster memory")),
        (kernel("call void asm sideeffect \"st.u32 [$0], 1;\", \"l\"(ptr %q)"), None),
        (with("\"nvvm.cluster_dim\"=\"1,1,1\""), None),
        (with("\"nvvm.cluster_dim\"=\"2\""), Some(unknown)),
        (with("\"nvvm.maxclusterrank\"=\"1\""), None),
        (called(""), None),
        (called("call void @g()"), Some(unknown)),
        (called("").replace("internal", ""), Some("`f` may be called from another module")),
        (called("").replace("internal", "weak"), Some("`f` may be called from another module")),
        (called("store ptr @f, ptr null"), Some("`f` may be called from another module")),
        (called("") + "define ptx_kernel void @other() { call void @g() call void @f() ret void }", Some(unknown)),
        (called("") + "define ptx_kernel void @other() { call void @g() ret void }", None),
        (String::from("module asm \"foo\" ") + &kernel(""), Some("assembly of the module may use mapa")),
        (ending("invoke void @g() to label %a unwind label %c"), Some(unknown)),
        (ending("invoke void %q() to label %a unwind label %c"), Some("a call through a pointer may use mapa")),
        (
            ending("callbr void asm sideeffect \"mapa.u64 $0, $0, 1;\", \"l,!i\"(ptr %q) to label %a [label %c]"),
            Some("inline assembly may use mapa"),
        ),
    ];
    for (module, expected) in &cases {
        check_shared("sm_90", module, *expected);
        check_shared("sm_80", module, None);
    }
}

/// The widest scope of the threads that can address a variable which a kernel and other code use.
#[test]
fn a_variable_that_is_only_accessed_is_of_one_gpu() {
    let load = "%x = load atomic i32, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @v, i64 4) acquire, align 4";
    let with = |linkage: &str, body: &str, other: &str| {
        format!(
            "@v = {linkage} addrspace(1) global [4 x i32] zeroinitializer {other} define ptx_kernel void @k(ptr %q) {{ {load} {body} ret void }}"
        )
    };
    let internal = |body: &str| with("internal", body, "");
    let annotated = |word: &str, number: u32| {
        internal("") + &format!("!nvvm.annotations = !{{!0}} !0 = !{{ptr addrspace(1) @v, !\"{word}\", i32 {number}}}")
    };
    let cases = [
        (internal(""), Scope::Gpu),
        (internal("store i32 1, ptr addrspacecast (ptr addrspace(1) @v to ptr)"), Scope::Gpu),
        (internal("%o = atomicrmw add ptr addrspace(1) @v, i32 1 monotonic"), Scope::Gpu),
        (
            internal("%n = ptrtoint ptr addrspace(1) @v to i64 %p = inttoptr i64 %n to ptr store i32 1, ptr %p"),
            Scope::Sys,
        ),
        (internal("store ptr addrspace(1) @v, ptr %q"), Scope::Sys),
        (internal("store ptr addrspace(1) @v, ptr addrspace(1) @v"), Scope::Sys),
        (internal("call void @vprintf(ptr addrspacecast (ptr addrspace(1) @v to ptr), ptr %q)"), Scope::Sys),
        (with("", "", ""), Scope::Sys),
        (
            with("internal", "", "").replace("addrspace(1) global", "addrspace(1) externally_initialized global"),
            Scope::Sys,
        ),
        (
            with(
                "internal",
                "",
                "@llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @v to ptr)], section \"llvm.metadata\"",
            ),
            Scope::Sys,
        ),
        (with("internal", "", "@a = alias i32, ptr addrspace(1) @v"), Scope::Sys),
        (annotated("managed", 1), Scope::Sys),
        (annotated("managed", 0), Scope::Sys),
        (annotated("surface", 1), Scope::Sys),
        (
            internal("")
                + "@w = addrspace(1) global i32 0 !nvvm.annotations = !{!0} !0 = !{ptr addrspace(1) @w, !\"managed\", i32 1}",
            Scope::Gpu,
        ),
        (with("internal", "", "\"nvvm.managed\""), Scope::Sys),
    ];
    for (text, expected) in cases {
        let context = Context::create();
        let (module, input) = parse(&context, &text);
        let told = fed(&module, &input, &options("sm_90"));
        let of_load = told[0].function.events().find_map(|event| event.atomic()?.address).expect("the load");
        assert_eq!(of_load.reach, expected, "{text}");
    }
}

/// Optimizes a function for sm_90, and returns the IR, which LLVM accepts, and the remarks.
fn optimized(text: &str) -> (String, Vec<Remark>) {
    let context = Context::create();
    let (module, input) = parse(&context, text);
    let options = options("sm_90");
    let planned = crate::lower::plan(&module, &input, &options).expect("it has a lowering");
    let remarks = optimize(&module, &input, &options, &planned);
    module.verify().unwrap_or_else(|error| panic!("{}\n{text}", error.to_string_lossy()));
    (module.print_to_string().to_string(), remarks)
}

/// The code of the function `f`, without comments.
fn body(ir: &str) -> Vec<&str> {
    let lines = ir.lines().skip_while(|line| !line.starts_with("define") || !line.contains(" @f("));
    let code =
        lines.skip(1).take_while(|line| *line != "}").map(|line| line.split(';').next().unwrap_or_default().trim());
    code.filter(|line| !line.is_empty()).collect()
}

#[test]
fn fences_stand_on_edges() {
    let wait = |to: &str, phi: &str| {
        format!(
            "define void @f(ptr addrspace(1) %p, i32 %i) {{
             entry: switch i32 %i, label %wait [ i32 1, label %out i32 2, label %out ]
             wait: %x = load atomic i32, ptr addrspace(1) %p acquire, align 4 switch i32 %x, label %wait [ {to} ]
             out: {phi} %y = load i32, ptr addrspace(1) @global ret void
             other: ret void }}"
        )
    };
    let check = |text: &str, expected: &[&str]| {
        let (ir, remarks) = optimized(text);
        assert_eq!(body(&ir), expected);
        let applied = |remark: &Remark| matches!(remark.outcome, Outcome::Optimized { applied: true, .. });
        assert!(remarks.iter().any(applied), "{remarks:?}");
    };
    let relaxed = "%x = load atomic i32, ptr addrspace(1) %p monotonic, align 4";
    // Both edges of a switch, with values of a phi.
    check(
        &wait("i32 7, label %out i32 8, label %out", "%a = phi i32 [1, %entry], [%x, %wait], [1, %entry], [%x, %wait]"),
        &[
            "entry:",
            "switch i32 %i, label %wait [",
            "i32 1, label %out",
            "i32 2, label %out",
            "]",
            "wait:",
            relaxed,
            "switch i32 %x, label %wait [",
            "i32 7, label %0",
            "i32 8, label %0",
            "]",
            "0:",
            "fence acquire",
            "br label %out",
            "out:",
            "%a = phi i32 [ 1, %entry ], [ 1, %entry ], [ %x, %0 ]",
            "%y = load i32, ptr addrspace(1) @global, align 4",
            "ret void",
            "other:",
            "ret void",
        ],
    );
}

/// No instruction may separate a `musttail` call from its `ret`.
#[test]
fn fences_stand_in_front_of_tail_calls() {
    let check = |callee: &str, expected: &[&str]| {
        let text = format!(
            "define i32 @f(i32 %i) {{
             entry: br label %wait
             wait: %x = load atomic i32, ptr addrspace(1) @global acquire, align 4 %w = icmp eq i32 %x, 0
             br i1 %w, label %wait, label %out
             out: %r = musttail call i32 @callee(i32 %x) ret i32 %r }} declare i32 @callee(i32) {callee}"
        );
        let (ir, _) = optimized(&text);
        let code = body(&ir);
        let end = code.iter().position(|line| *line == "out:").expect("the last block");
        assert_eq!(code[end + 1..], *expected, "{ir}");
    };
    let call = "%r = musttail call i32 @callee(i32 %x)";
    check("", &["fence acquire", call, "ret i32 %r"]);
    check("memory(none)", &["fence acquire", call, "ret i32 %r"]);
}

/// The number of threads in a CTA is an attribute of its kernel. The attribute of a called function has no meaning.
#[test]
fn kernels_alone_say_how_many_threads_a_cta_has() {
    let check = |head: &str, threads: &str, single: bool| {
        let context = Context::create();
        let text = format!("define {head} void @f() \"nvvm.reqntid\"=\"{threads}\" {{ {FENCE} ret void }}");
        let (module, input) = parse(&context, &text);
        assert_eq!(fed(&module, &input, &options("sm_80"))[0].function.single_thread, single, "{text}");
    };
    check("ptx_kernel", "1", true);
    check("ptx_kernel", "1,1,1", true);
    check("ptx_kernel", "1,2", false);
    check("", "1,1,1", false);
}

/// The prefixes of the event sequences on all paths of a function.
fn traces(function: &Function) -> BTreeSet<Vec<String>> {
    const LENGTH: usize = 8;
    let (mut seen, mut open, mut traces) = (BTreeSet::new(), vec![(0, Vec::new())], BTreeSet::new());
    while let Some((index, mut trace)) = open.pop() {
        let block = &function.blocks[index];
        let event = |event: &Event| show(event).split(", succeeds").next().unwrap_or_default().to_owned();
        trace.extend(block.events.iter().map(event));
        trace.truncate(LENGTH);
        if trace.len() == LENGTH || block.next.is_empty() {
            traces.insert(trace);
        } else if seen.insert((index, trace.clone())) {
            open.extend(block.next.iter().map(|next| (*next, trace.clone())));
        }
    }
    traces
}

/// A generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// A function with random edges, joins and atomics.
fn function(random: &mut Random) -> String {
    let count = 2 + random.below(5);
    let next: Vec<Vec<usize>> =
        (0..count).map(|_| (0..random.below(4)).map(|_| 1 + random.below(count - 1)).collect()).collect();
    let mut text = String::from("define ptx_kernel void @f(ptr addrspace(1) %p, ptr addrspace(3) %s, i32 %i) {\n");
    for (block, to) in next.iter().enumerate() {
        text += &format!("b{block}:\n");
        let from: Vec<_> =
            (0..count).flat_map(|from| next[from].iter().filter(|to| **to == block).map(move |_| from)).collect();
        if !from.is_empty() {
            let incoming: Vec<_> = from.iter().map(|from| format!("[ {from}, %b{from} ]")).collect();
            text += &format!("  %phi{block} = phi i32 {}\n", incoming.join(", "));
        }
        for index in 0..random.below(3) {
            let event = [
                "%x = load atomic i32, ptr addrspace(1) %p acquire, align 4",
                "%x = load atomic i32, ptr addrspace(3) %s seq_cst, align 4",
                "store atomic i32 1, ptr addrspace(3) %s release, align 4",
                "%x = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel",
                "%x = cmpxchg ptr addrspace(3) %s, i32 0, i32 1 acq_rel acquire",
                "fence acquire",
                "fence syncscope(\"block\") release",
                "fence seq_cst",
                "%x = load i32, ptr addrspace(1) @global",
            ];
            text += &format!("  {}\n", event[random.below(event.len())].replace("%x", &format!("%x{block}.{index}")));
        }
        text += &match &to[..] {
            [] => "  ret void\n".to_owned(),
            [to] => format!("  br label %b{to}\n"),
            [default, rest @ ..] => {
                let cases = rest.iter().enumerate().map(|(value, to)| format!("i32 {value}, label %b{to}"));
                format!("  switch i32 %i, label %b{default} [ {} ]\n", cases.collect::<Vec<_>>().join(" "))
            }
        };
    }
    text + "}\n"
}

/// Changes a function in all ways in which an optimizer might: other orderings, removed and added fences, blocks on
/// edges.
fn change(function: &mut Function, random: &mut Random) {
    let original = function.blocks.clone();
    let fence = |ordering| {
        let scope = SyncScope::Threads(Scope::Cta);
        let op = AtomicOp { operation: Operation::Fence, ordering, scope };
        Event { id: None, kind: EventKind::Atomic(Atomic::fence(op)) }
    };
    for (from, block) in original.iter().enumerate() {
        let events = &mut function.blocks[from].events;
        events.retain(|event| !event.atomic().is_some_and(Atomic::is_fence) || random.below(3) > 0);
        for event in events.iter_mut() {
            if let EventKind::Atomic(atomic) = &mut event.kind
                && !atomic.is_fence()
                && random.below(3) == 0
            {
                atomic.op.ordering = Ordering::Relaxed;
                atomic.op.scope = SyncScope::Threads(Scope::Gpu);
            }
        }
        if random.below(3) == 0 {
            events.insert(random.below(events.len() + 1), fence(Ordering::SeqCst));
        }
        for to in &block.next {
            if random.below(3) == 0 {
                let index = function.blocks.len();
                let events = vec![fence(Ordering::Acquire), fence(Ordering::Release)];
                function.blocks.push(Block { events, next: vec![*to], on_edge: Some((from, *to)), ..Block::default() });
                let next = function.blocks[from].next.iter_mut();
                next.filter(|next| *next == to).for_each(|next| *next = index);
            }
        }
    }
}

/// The changes to LLVM IR are the decided changes: converted again, the function has the same paths.
#[test]
fn the_rewrites_match_the_decisions() {
    let options = options("sm_90");
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut changed, mut split) = (0, 0);
    for _ in 0..1000 {
        let text = function(&mut random);
        let context = Context::create();
        let (module, input) = parse(&context, &text);
        let Some(before) = fed(&module, &input, &options).into_iter().next() else { continue };
        let mut after = before.function.clone();
        if random.below(2) == 0 {
            change(&mut after, &mut random);
        } else {
            ptx_optimize::optimize(&mut after, &rewriting(options.policy, &options));
        }
        apply::apply(&before, &after, &module.get_context(), options.default_scope);
        module.verify().unwrap_or_else(|error| panic!("{}\n{text}", error.to_string_lossy()));
        // A function without atomics is not converted.
        let Some(again) = fed(&module, &input, &options).into_iter().next() else { continue };
        let done = module.print_to_string();
        assert_eq!(traces(&again.function), traces(&after), "{text}\n{}", done.to_string_lossy());
        changed += usize::from(after != before.function);
        split += usize::from(again.blocks.len() > before.blocks.len());
    }
    assert!(changed > 500 && split > 100, "{changed} functions changed, {split} with new blocks");
}
