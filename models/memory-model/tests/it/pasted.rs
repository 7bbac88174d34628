//! PTX as compilers print it, pasted into the cells of litmus tests.

use ptx_memory_model::{
    litmus::Litmus,
    outcome::{Layout, Limits},
    ptx::{Conventions, search},
};

/// A test of one thread with two variables and registers that hold their addresses.
fn cell(text: &str) -> Result<Litmus, String> {
    let text = format!(
        "PTX t\n{{ x=0; y=0; P0:%rd1=x; P0:%rd2=y; P0:%r1=0; P0:%r2=0; P0:%p1=0; }}\nP0 ;\n{text}\n$L: ;\nexists (x == 0)"
    );
    Litmus::read(&text).map_err(|errors| errors.0.into_iter().map(|error| error.message).collect())
}

/// The instructions that a line becomes, as they print.
#[track_caller]
fn check(line: &str, expected: &[&str]) {
    let litmus = cell(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let printed = litmus.to_string();
    let rows: Vec<&str> = printed.lines().skip_while(|line| !line.trim_start().starts_with("P0@")).skip(1).collect();
    let rows = rows.iter().map(|row| row.trim_end_matches(';').trim()).take_while(|row| *row != "$L:");
    assert_eq!(rows.collect::<Vec<_>>(), expected, "{line}");
    assert_eq!(Litmus::read(&printed).as_ref(), Ok(&litmus), "{printed}");
}

#[test]
fn lines() {
    let table: &[(&str, &[&str])] = &[
        ("ld.global.u32 \t%r1, [%rd1];", &["ld.weak.u32 %r1, %rd1"]),
        ("ld.relaxed.gpu.global.b32 %r1, [%rd1+4]; // a comment; with | signs", &["ld.relaxed.gpu.b32 %r1, [%rd1+4]"]),
        ("ld.acquire.sys.global.s32 %r1, [%rd1+-4];", &["ld.acquire.sys.s32 %r1, [%rd1-4]"]),
        ("ld.volatile.global.u64 %rd3, [x];", &["ld.volatile %rd3, x"]),
        ("ld.global.L1::no_allocate.f32 %f1, [%rd1];", &["ld.weak.f32 %f1, %rd1"]),
        ("ld.global.v2.u32 {%r1, %r2}, [x];", &["ld.weak.v2.u32 {%r1, %r2}, {x, [x+4]}"]),
        (
            "ld.global.v4.b16 {%rs1, _, _, %rs2}, [%rd1];",
            &["ld.weak.v4.b16 {%rs1, %_, %_, %rs2}, {%rd1, [%rd1+2], [%rd1+4], [%rd1+6]}"],
        ),
        ("st.global.v2.b32 [%rd1], {%r1, 0x10};", &["st.weak.v2.b32 {%rd1, [%rd1+4]}, {%r1, 16}"]),
        ("st.release.gpu.global.u32 [%rd1], 0xffffffff;", &["st.release.gpu.u32 %rd1, 4294967295"]),
        ("st.global.f32 [%rd1], 0f3F800000;", &["st.weak.f32 %rd1, 0f3F800000"]),
        ("st.mmio.release.sys.global.b32 [%rd1], %r1;", &["st.mmio.release.sys.b32 %rd1, %r1"]),
        ("atom.global.cas.b32 %r1, [%rd1], 0, 1;", &["atom.relaxed.gpu.cas.b32 %r1, %rd1, 0, 1"]),
        ("atom.acq_rel.cta.shared.add.u32 %r1, [x], 1;", &["atom.acq_rel.cta.add.u32 %r1, x, 1"]),
        ("atom.global.gpu.relaxed.exch.b64 _, [y], %rd3;", &["atom.relaxed.gpu.exch.b64 _, y, %rd3"]),
        ("red.release.gpu.global.max.s32 [%rd1], -5;", &["red.release.gpu.max.s32 %rd1, -5"]),
        ("@%p1 bra $L;", &["@%p1 bra $L"]),
        ("@!%p1 bra.uni $L;", &["@!%p1 bra $L"]),
        ("setp.eq.s32 %p1, %r1, 0;", &["setp.eq.s32 %p1, %r1, 0"]),
        ("setp.hi.u32 %p1, %r1, %r2;", &["setp.hi.u32 %p1, %r1, %r2"]),
        ("not.pred %p2, %p1;", &["not.pred %p2, %p1"]),
        ("and.pred %p2, %p1, %p1;", &["and.pred %p2, %p1, %p1"]),
        ("mad.lo.s32 %r1, %r2, 0x10, %r1;", &["mad.lo.s32 %r1, %r2, 16, %r1"]),
        ("mul.lo.u32 %r1, %r2, 3;", &["mul.lo.u32 %r1, %r2, 3"]),
        ("shl.b32 %r1, %r2, 3;", &["shl.b32 %r1, %r2, 3"]),
        ("prmt.b32 %r1, %r2, 0, 0x7531;", &["prmt.b32 %r1, %r2, 0, 30001"]),
        ("cvt.u64.u32 %rd3, %r1;", &["cvt.u64.u32 %rd3, %r1"]),
        ("cvt.s64.s8 %rd3, %r1;", &["cvt.s64.s8 %rd3, %r1"]),
        ("selp.b32 %r1, 1, 0, %p1;", &["selp.b32 %r1, 1, 0, %p1"]),
        ("mov.u32 %r1, %r2;", &["mov.u32 %r1, %r2"]),
        (
            "mov.b64 %rd3, {%r1, %r2};",
            &[
                "mov %whole, 0",
                "cvt.b32.b32 %element, %r2",
                "mad.lo %whole, %whole, 4294967296, %element",
                "cvt.b32.b32 %element, %r1",
                "mad.lo %whole, %whole, 4294967296, %element",
                "mov %rd3, %whole",
            ],
        ),
        (
            "mov.b32 {%rs1, _}, %r1;",
            &["mov %whole, %r1", "cvt.b16.b16 %rs1, %whole", "shr %whole, %whole, 16", "shr %whole, %whole, 16"],
        ),
        ("membar.gl;", &["fence.sc.gpu"]),
        ("fence.acq_rel.cluster;", &["fence.acq_rel.cluster"]),
        ("bar.sync 0;", &["bar.cta.sync 0, 0"]),
        ("barrier.sync 0, 64;", &["bar.cta.sync 0, 0, 64"]),
        ("bar.red.popc.u32 %r1, 0, %p1;", &["bar.cta.red.popc %r1, %p1, 0, 0"]),
        ("barrier.cluster.arrive.release.aligned;", &["barrier.cluster.arrive"]),
        ("barrier.cluster.wait.acquire.aligned;", &["barrier.cluster.wait"]),
        (".reg .b32 %r<3>;", &[]),
        (".loc 1 2 3\n ld.global.b32 %r1, [x];", &["ld.weak.b32 %r1, x"]),
        ("$M: ld.global.b32 %r1, [x];", &["$M:", "ld.weak.b32 %r1, x"]),
        ("ret;", &["bra $end"]),
    ];
    table.iter().for_each(|(line, expected)| check(line, expected));
}

/// Instructions that litmus tests do not support are rejected, with a replacement.
#[test]
fn refused() {
    #[track_caller]
    fn check(line: &str, expected: &str) {
        let error = cell(line).expect_err(line);
        assert!(error.contains(expected), "{line}: {error}");
    }
    check("ld.param.b64 %rd1, [k_param_0];", "give its register the address of a variable at the start");
    check("cvta.to.global.u64 %rd2, %rd1;", "write `mov.u64` instead of `cvta`");
    check("call.uni f, (x);", "write the instructions of the function");
    check("ld.global.nc.b32 %r1, [x];", "`.nc` reads memory that no thread writes");
    check("st.local.b32 [x], 1;", "write a register instead");
    check("mov.u32 %r1, %tid.x;", "`%tid.x` has no value here: write a number");
    check("{ .reg .b32 %r;", "a thread has no blocks");
    check(".shared .align 4 .b32 s;", "declare variables at the start");
    check("add.rn.f32 %f1, %f2, %f3;", "the model does not compute `add.rn.f32`: it has only integers");
    check("atom.global.add.f32 %f1, [x], %f2;", "the model does not compute `.add.f32`: it has only integers");
    check("add.cc.u32 %r1, %r1, %r2;", "the model does not compute `add.cc.u32`");
    check("mul.wide.u64 %rd3, %rd1, %rd2;", "the model does not compute `mul.wide.u64`");
    check("ld.global.b128 %q, [x];", "expected an access of 8 to 64 bits, found 128");
    check("mma.sync.aligned.m8n8k4.f64 %fd1, %fd2, %fd3, %fd4;", "is not an instruction of a litmus test");
    check("st.u32 [16], 1;", "expected an address as operand 1 of `st`");
    check("ld.global.v2.u32 %r1, [x];", "a vector access takes a list in braces");
    check("mov.b64 {%r1, %r2, %r3}, %rd1;", "`mov.b64` does not take 3 elements");
    check("ld.global.u32 %r1, [x", "its `]` is missing");
}

/// A packed value consists of its parts, whichever registers hold them.
#[test]
fn packing() {
    let test = "PTX t\n{ x=0x1122334455667788; y=0; P0:%r1=-1; }\nP0 ;\n\
        ld.global.b64 %r1, [x];\n mov.b64 {%r1, r2}, %r1;\n mov.b64 r3, {r2, %r1};\n mov.b32 {_, r4}, r2;\n\
        forall (P0:%r1 == 0x55667788 /\\ P0:r2 == 0x11223344 /\\ P0:r3 == 0x5566778811223344 /\\ P0:r4 == 0x1122)";
    assert_eq!(verdict(test), Some(true));
}

fn verdict(text: &str) -> Option<bool> {
    let litmus = Litmus::read(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    let outcomes = search::outcomes(&litmus.program, Conventions::MANUAL, Limits::default());
    outcomes.holds(&litmus.condition, &Layout::new(&litmus.program))
}

/// The body of a function as llc 22 prints it for sm_90, except for its parameters: a producer.
const PRODUCE: &str = "
	.reg .b64 	%rd<3>;
// %bb.0:
	st.global.b32 	[%rd1], 42;
	st.release.gpu.global.b32 	[%rd2], 1;
	ret;
";

/// Its consumer, which waits.
const CONSUME: &str = "
	.reg .pred 	%p<2>;
	.reg .b32 	%r<3>;
// %bb.0:                               // %entry
$L__BB1_1:                              // %spin
                                        // =>This Inner Loop Header: Depth=1
	ld.acquire.gpu.global.b32 	%r1, [%rd2];
	setp.eq.b32 	%p1, %r1, 0;
	@%p1 bra 	$L__BB1_1;
// %bb.2:                               // %done
	ld.global.b32 	%r2, [%rd1];
	ret;
";

/// An increment under a lock.
const LOCKED: &str = "
	.reg .pred 	%p<2>;
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<3>;
// %bb.0:                               // %entry
$L__BB2_1:                              // %try
                                        // =>This Inner Loop Header: Depth=1
	atom.acquire.gpu.global.cas.b32 	%r1, [%rd1], 0, 1;
	setp.ne.b32 	%p1, %r1, 0;
	@%p1 bra 	$L__BB2_1;
// %bb.2:                               // %in
	ld.global.b32 	%r2, [%rd2];
	add.s32 	%r3, %r2, 1;
	st.global.b32 	[%rd2], %r3;
	st.release.gpu.global.b32 	[%rd1], 0;
	ret;
";

/// A store, then a load of the variable that the other thread stores to.
const DEKKER: &str = "
	st.relaxed.gpu.global.b32 	[%rd1], 1;
	fence.sc.gpu;
	ld.relaxed.gpu.global.b32 	%r1, [%rd2];
	ret;
";

/// Functions as columns, each thread in its own CTA, with the variables that its two pointers point to.
fn functions<const N: usize>(of: [(&str, [&str; 2]); N], condition: &str) -> String {
    let statements =
        of.map(|(text, _)| text.split_inclusive(';').map(|s| s.trim_end_matches([';', '\n'])).collect::<Vec<_>>());
    let height = statements.iter().map(Vec::len).max().unwrap_or(0);
    let row = |row: usize| statements.each_ref().map(|column| *column.get(row).unwrap_or(&"")).join("\n|") + ";\n";
    let pointers = |(index, (_, [a, b])): (usize, (&str, [&str; 2]))| format!("P{index}:%rd1={a}; P{index}:%rd2={b};");
    let pointers: String = of.into_iter().enumerate().map(pointers).collect();
    let header: Vec<String> = (0..N).map(|index| format!("P{index}@cta {index}")).collect();
    let rows: String = (0..height).map(row).collect();
    format!("PTX pasted\n{{ x=0; y=0; {pointers} }}\n{};\n{rows}{condition}", header.join(" | "))
}

#[test]
fn pasted_functions() {
    #[track_caller]
    fn check<const N: usize>(of: [(&str, [&str; 2]); N], condition: &str, expected: bool) {
        let text = functions(of, condition);
        assert_eq!(verdict(&text), Some(expected), "{text}");
    }
    check([(PRODUCE, ["x", "y"]), (CONSUME, ["x", "y"])], "forall (P1:%r2 == 42)", true);
    check([(LOCKED, ["x", "y"]), (LOCKED, ["x", "y"])], "forall (x == 0 /\\ y == 2)", true);
    check([(DEKKER, ["x", "y"]), (DEKKER, ["y", "x"])], "exists (P0:%r1 == 0 /\\ P1:%r1 == 0)", false);
    // With weaker orderings, each pattern is incorrect.
    let relaxed = CONSUME.replace("acquire", "relaxed");
    check([(PRODUCE, ["x", "y"]), (&relaxed, ["x", "y"])], "forall (P1:%r2 == 42)", false);
    let relaxed = LOCKED.replace("release", "relaxed");
    check([(&relaxed, ["x", "y"]), (&relaxed, ["x", "y"])], "forall (x == 0 /\\ y == 2)", false);
    let unfenced = DEKKER.replace("fence.sc", "fence.acq_rel");
    check([(&unfenced, ["x", "y"]), (&unfenced, ["y", "x"])], "exists (P0:%r1 == 0 /\\ P1:%r1 == 0)", true);
}
