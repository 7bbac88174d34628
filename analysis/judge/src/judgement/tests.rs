use ptx_lowering::{
    Access, RmwOp, Type,
    ptx::{Module, Scope, Space},
};

use super::*;

fn op(operation: Operation, ordering: Ordering, scope: Scope) -> AtomicOp {
    AtomicOp { operation, ordering, scope: SyncScope::Threads(scope) }
}

fn global(ty: Type) -> Access {
    Access::new(Space::Global, ty)
}

fn nand(ordering: Ordering) -> AtomicOp {
    op(Operation::Rmw(RmwOp::Nand, global(Type::I32)), ordering, Scope::Sys)
}

fn cmpxchg(ty: Type, ordering: Ordering) -> AtomicOp {
    op(Operation::CmpXchg { access: global(ty), failure: Ordering::Relaxed }, ordering, Scope::Gpu)
}

fn judgements(operations: &[AtomicOp], body: &str) -> Vec<Judgement> {
    judgements_of(&[BasicBlock { operations: operations.to_vec(), next: Vec::new() }], body)
}

fn judgements_of(blocks: &[BasicBlock], body: &str) -> Vec<Judgement> {
    let text = format!(".version 8.6\n.target sm_90\n.func f() {{\n{body}\n}}");
    let module: Module = text.parse().expect(body);
    judge_function(blocks, module.functions().next().expect("a function")).expect("few operations").operations
}

/// `expected` lists the worst loss of each operation, `right` if there is none.
fn check(operations: &[AtomicOp], body: &str, expected: &str) {
    check_blocks(&[BasicBlock { operations: operations.to_vec(), next: Vec::new() }], body, expected);
}

fn check_blocks(blocks: &[BasicBlock], body: &str, expected: &str) {
    let judgements = judgements_of(blocks, body);
    let losses: Vec<&str> = judgements.iter().map(|judgement| judgement.loss().map_or("right", Into::into)).collect();
    assert_eq!(losses.join(" "), expected, "{body}\n{judgements:#?}");
}

/// The output of LLVM 22 for sm_90.
const LLVM_LOOP: &str = "ld.param.b64 %rd1, [p];
    FIRST %r5, [%rd1];
    $L1:
    and.b32 %r3, %r5, %r2;
    not.b32 %r4, %r3;
    fence.sc.sys;
    atom.acquire.sys.global.cas.b32 %r1, [%rd1], %r5, %r4;
    setp.ne.b32 %p1, %r1, %r5;
    mov.b32 %r5, %r1;
    @%p1 bra $L1;
    ret;";

#[test]
fn a_loop_as_llvm_writes_it() {
    let with = |first: &str| LLVM_LOOP.replace("FIRST", first);
    check(&[nand(Ordering::SeqCst)], &with("ld.global.b32"), "weak-load-in-loop");
    check(&[nand(Ordering::SeqCst)], &with("ld.relaxed.sys.global.b32"), "right");
    check(&[nand(Ordering::SeqCst)], &with("ld.relaxed.gpu.global.b32"), "scope");
    check(&[nand(Ordering::SeqCst)], &with("ld.volatile.global.b32"), "right");
    let judged = judgements(&[nand(Ordering::SeqCst)], &with("ld.relaxed.sys.global.b32"));
    assert_eq!(judged[0].notes, [Note::OrderingInLoop]);
    assert_eq!(judged[0].lines, [5, 9, 10]);
    let without = with("ld.relaxed.sys.global.b32").replace("fence.sc.sys", "fence.acq_rel.sys");
    check(&[nand(Ordering::SeqCst)], &without, "ordering");
    check(&[nand(Ordering::AcqRel)], &without, "right");
}

/// The ends of loops in the shapes of LLVM and of libNVVM.
#[test]
fn a_loop_goes_round_by_failure_only() {
    let with = |tail: &str| {
        format!(
            "ld.relaxed.sys.global.b32 %r5, [%rd1]; bra.uni $L1; $L1: not.b32 %r4, %r5;
             atom.relaxed.sys.global.cas.b32 %r1, [%rd1], %r5, %r4; {tail}"
        )
    };
    let right = [
        "setp.eq.b32 %p1, %r1, %r5; @%p1 bra $done; mov.b32 %r5, %r1; bra.uni $L1; $done: ret;",
        "setp.ne.s32 %p1, %r5, %r1; mov.b32 %r5, %r1; @%p1 bra $L1; ret;",
        "setp.eq.b32 %p1, %r1, %r5; not.pred %p2, %p1; mov.b32 %r5, %r1; @%p2 bra $L1; ret;",
        "xor.b32 %r9, %r1, %r5; setp.ne.b32 %p1, %r9, 0; mov.b32 %r5, %r1; @%p1 bra $L1; ret;",
    ];
    for tail in right {
        check(&[nand(Ordering::Relaxed)], &with(tail), "right");
    }
    let wrong = [
        "setp.eq.b32 %p1, %r1, %r5; mov.b32 %r5, %r1; @%p1 bra $L1; ret;",
        "setp.ne.b32 %p1, %r1, %r4; mov.b32 %r5, %r1; @%p1 bra $L1; ret;",
        "mov.b32 %r5, %r1; setp.ne.b32 %p1, %r1, %r5; @%p1 bra $L1; ret;",
        "setp.ne.f32 %p1, %r1, %r5; mov.b32 %r5, %r1; @%p1 bra $L1; ret;",
        "bra $L1;",
        "ret;",
    ];
    for tail in wrong {
        check(&[nand(Ordering::Relaxed)], &with(tail), "not-atomic");
    }
}

/// The write may be skipped if it would change nothing, if the operation allows that.
#[test]
fn a_loop_that_need_not_write() {
    let max = |ordering, may_skip_write| {
        let access = Access { may_skip_write, ..global(Type::I32) };
        [op(Operation::Rmw(RmwOp::Max, access), ordering, Scope::Gpu)]
    };
    let with = |skip: &str| {
        format!(
            "fence.release.gpu; ld.relaxed.gpu.global.b32 %r1, [%rd1]; $again: mov.b32 %r2, %r1;
             max.f32 %r3, %r2, %r4; {skip} atom.relaxed.gpu.global.cas.b32 %r1, [%rd1], %r2, %r3;
             setp.ne.b32 %p2, %r1, %r2; @%p2 bra $again; $kept: fence.acquire.gpu; ret;"
        )
    };
    let skip = "setp.ne.b32 %p1, %r3, %r2; @!%p1 bra $kept;";
    check(&max(Ordering::Acquire, true), &with(skip), "right");
    check(&max(Ordering::Acquire, true), &with("setp.eq.b32 %p1, %r2, %r3; @%p1 bra $kept;"), "right");
    check(&max(Ordering::Acquire, false), &with(skip), "ordering");
    check(&max(Ordering::AcqRel, true), &with(skip), "ordering");
    check(&max(Ordering::Acquire, true), &with(skip).replace("fence.acquire.gpu;", ""), "ordering");
    check(
        &max(Ordering::Relaxed, true),
        &with(skip).replace("ld.relaxed.gpu.global", "ld.global"),
        "weak-load-in-loop",
    );
    let wrong = [
        "setp.ne.b32 %p1, %r3, %r2; @%p1 bra $kept;",
        "setp.ne.b32 %p1, %r3, %r4; @!%p1 bra $kept;",
        "setp.ne.f32 %p1, %r3, %r2; @!%p1 bra $kept;",
        "setp.ne.b32 %p1, %r3, %r2; not.b32 %r3, %r3; @!%p1 bra $kept;",
        "@!%p1 bra $kept;",
    ];
    for skip in wrong {
        check(&max(Ordering::Relaxed, true), &with(skip), "not-atomic");
    }
}

/// A maximum of floats on integers: the sign of the operand decides.
#[test]
fn one_of_two_atoms_executes() {
    let fmax = |ordering| op(Operation::Rmw(RmwOp::FMax, global(Type::F32)), ordering, Scope::Gpu);
    let with = |first: &str, second: &str| {
        let atom = |words: &str| format!("atom.{words} %r2, [%rd1], %r1;").replace("{}", "gpu.global");
        format!(
            "fence.release.gpu; setp.lt.s32 %p1, %r1, 0; @%p1 bra $below;
             {} bra.uni $both; $below: {} $both: fence.acquire.gpu; ",
            atom(first),
            atom(second)
        )
    };
    let right = with("relaxed.{}.max.s32", "relaxed.{}.min.u32");
    let all = fmax(Ordering::AcqRel);
    check(&[all], &right, "right");
    assert_eq!(judgements(&[all], &right)[0].lines, [4, 5]);
    // One choice after the other; and one choice for two operations.
    let again = right.replace('$', "$x");
    check(&[all, all], &(right.clone() + &again), "right right");
    check(&[all, all], &right, "missing right");
    let around = format!("$L1: {right} {again} @%p2 bra $L1; ret;");
    let blocks = [BasicBlock { operations: vec![all, all], next: vec![0, 1] }, BasicBlock::default()];
    check_blocks(&blocks, &around, "right right");
    check(&[all], &with("relaxed.cta.global.max.s32", "relaxed.{}.min.u32"), "scope");
    check(&[all], &with("relaxed.{}.max.s32", "relaxed.cta.global.min.u32"), "scope");
    let unfenced = |second| with("acq_rel.{}.max.s32", second).replace("fence.acquire.gpu;", "");
    check(&[all], &unfenced("acquire.{}.min.u32"), "right");
    check(&[all], &unfenced("release.{}.min.u32"), "ordering");
    // A program that chooses between two operations of its own.
    let rmw = |rmw| op(Operation::Rmw(rmw, global(Type::I32)), Ordering::Relaxed, Scope::Gpu);
    let block =
        |operations: &[AtomicOp], next: &[usize]| BasicBlock { operations: operations.to_vec(), next: next.to_vec() };
    for [first, second] in [[RmwOp::Max, RmwOp::UMin], [RmwOp::UMin, RmwOp::Max]] {
        let blocks = [block(&[], &[1, 2]), block(&[rmw(first)], &[3]), block(&[rmw(second)], &[3]), block(&[], &[])];
        check_blocks(&blocks, &right, "right right");
    }
}

/// The fences of LLVM 22 around a loop on the word that contains 8 bits.
#[test]
fn a_field_of_a_word_is_compared_apart() {
    let with = |first: &str, retry: &str| {
        format!(
            "fence.release.gpu; {first} %r13, [%rd1]; and.b32 %r17, %r13, %r2;
             $L1: or.b32 %r14, %r17, %r3; or.b32 %r15, %r17, %r4;
             atom.relaxed.gpu.global.cas.b32 %r5, [%rd1], %r15, %r14;
             setp.eq.b32 %p1, %r5, %r15; @%p1 bra $L3;
             and.b32 %r6, %r5, %r2; setp.ne.b32 %p2, %r17, %r6; mov.b32 %r17, %r6; {retry}
             $L3: fence.acquire.gpu; ret;"
        )
    };
    let op = [cmpxchg(Type::I8, Ordering::AcqRel)];
    check(&op, &with("ld.relaxed.gpu.global.b32", "@%p2 bra $L1;"), "right");
    check(&op, &with("ld.global.b32", "@%p2 bra $L1;"), "weak-load-in-loop");
    check(&op, &with("ld.relaxed.gpu.global.b32", ""), "not-atomic");
    check(&op, &with("ld.relaxed.gpu.global.b32", "@%p2 bra $L1;").replace("fence.acquire.gpu;", ""), "ordering");
}

/// LLVM 22 wraps 128 bits into blocks of their own.
#[test]
fn wide_values_are_compared_by_halves() {
    let with = |or: &str| {
        format!(
            "ld.relaxed.sys.global.b128 %rq, [%rd3]; mov.b128 {{%rd11, %rd12}}, %rq;
             $L1: add.s64 %rd7, %rd11, 1;
             {{ .reg .b128 cmp, swap, dst;
             mov.b128 cmp, {{%rd11, %rd12}}; mov.b128 swap, {{%rd7, %rd12}};
             atom.relaxed.sys.global.cas.b128 dst, [%rd3], cmp, swap;
             mov.b128 {{%rd1, %rd2}}, dst; }}
             xor.b64 %rd8, %rd2, %rd12; xor.b64 %rd9, %rd1, %rd11; {or}
             setp.ne.b64 %p6, %rd10, 0; mov.b64 %rd11, %rd1; mov.b64 %rd12, %rd2;
             @%p6 bra $L1; ret;"
        )
    };
    let op = [op(Operation::Rmw(RmwOp::Add, global(Type::I128)), Ordering::Relaxed, Scope::Sys)];
    check(&op, &with("or.b64 %rd10, %rd9, %rd8;"), "right");
    check(&op, &with("mov.b64 %rd10, %rd9;"), "not-atomic");
    let first = "ld.relaxed.sys.global.b128 %rq, [%rd3]; mov.b128 {%rd11, %rd12}, %rq;";
    let begun = |by: &str| with("or.b64 %rd10, %rd9, %rd8;").replace(first, by);
    let by_halves = begun("ld.global.v2.b64 {%rd11, %rd12}, [%rd3];");
    check(&op, &by_halves, "weak-load-in-loop");
    assert_eq!(judgements(&op, &by_halves)[0].notes, []);
    check(&op, &begun("ld.global.b64 %rd11, [%rd3]; ld.global.b64 %rd12, [%rd3+8];"), "weak-load-in-loop");
    // LLVM 23 loads 128 bits by a `cas` of zero and zero.
    let load = |new: &str, scope: &str| {
        begun(&format!(
            "mov.b64 %rd20, 0; mov.b64 %rd21, 1;
             {{ .reg .b128 cmp, swap, dst; mov.b128 cmp, {{%rd20, %rd20}}; mov.b128 swap, {{%rd20, {new}}};
             atom.relaxed.{scope}.global.cas.b128 dst, [%rd3], cmp, swap; mov.b128 {{%rd11, %rd12}}, dst; }}"
        ))
    };
    check(&op, &load("%rd20", "sys"), "right");
    assert_eq!(judgements(&op, &load("%rd20", "sys"))[0].lines.len(), 2);
    check(&op, &load("%rd20", "gpu"), "scope");
    check(&op, &load("%rd20", "sys").replace("@%p6 bra $L1;", ""), "not-atomic");
    // If the first `cas` writes a value that it did not find, the expected values are the loop's own.
    check(&op, &load("%rd21", "gpu"), "right");
    let judged = |new: &str| {
        let text = format!(".version 8.6\n.target sm_90\n.func f() {{\n{}\n}}", load(new, "sys"));
        let module: Module = text.parse().expect("a module");
        let blocks = [BasicBlock { operations: op.to_vec(), next: Vec::new() }];
        judge_function(&blocks, module.functions().next().expect("a function")).expect("few operations").extras.len()
    };
    assert_eq!((judged("%rd20"), judged("%rd21")), (0, 1));
}

/// The program computes the value that a `cmpxchg` expects.
#[test]
fn a_loop_of_the_program_is_its_own() {
    let with = |first: &str| {
        format!(
            "{first} %r5, [%rd1]; $L1: mul.lo.u32 %r4, %r5, 3;
             atom.acq_rel.gpu.global.cas.b32 %r1, [%rd1], %r5, %r4;
             setp.ne.b32 %p1, %r1, %r5; mov.b32 %r5, %r1; @%p1 bra $L1; ret;"
        )
    };
    let exchange = [cmpxchg(Type::I32, Ordering::AcqRel)];
    for first in ["ld.global.b32", "ld.volatile.global.b32", "ld.relaxed.gpu.global.b32"] {
        check(&exchange, &with(first), "right");
    }
    assert_eq!(judgements(&exchange, &with("ld.global.b32"))[0].notes, []);
    check(&exchange, &with("ld.global.b32").replace("atom.acq_rel", "atom.acquire"), "ordering");
    // For 8 bits in a word the load belongs to the compiler, but the program's read of the byte does not.
    let within = with("ld.global.b8 %rs1, [%rd1]; cvt.u32.u16 %r9, %rs1; FIRST").replace("%r5, %r4;", "%r8, %r4;");
    let within = within.replace("$L1:", "$L1: or.b32 %r8, %r5, %r9;").replace("%r1, %r5;", "%r1, %r8;");
    let byte = [cmpxchg(Type::I8, Ordering::AcqRel)];
    check(&byte, &within.replace("FIRST", "ld.relaxed.gpu.global.b32"), "right");
    check(&byte, &within.replace("FIRST", "ld.global.b32"), "weak-load-in-loop");
}

/// A compiler gives the same register to loops that exclude each other.
#[test]
fn loops_in_the_arms_of_a_branch() {
    let arm = |first: &str, sem: &str| {
        format!(
            "{{ .reg .b32 %old, %new; {first}.sys.global.b32 %r2, [%rd1];
             %again: mov.b32 %old, %r2; not.b32 %new, %old;
             atom.relaxed.sys.global.cas.b32 %r2, [%rd1], %old, %new;
             setp.ne.b32 %p2, %r2, %old; @%p2 bra %again; {sem} }}"
        )
    };
    let arms = |one: &str, other: &str| format!("@%p1 bra $A; {one} bra $B; $A: {other} $B: st.b32 [%rd2], %r2; ret;");
    let block =
        |operations: &[AtomicOp], next: &[usize]| BasicBlock { operations: operations.to_vec(), next: next.to_vec() };
    let loops = [block(&[], &[1, 2]), block(&[nand(Ordering::Acquire)], &[]), block(&[nand(Ordering::Acquire)], &[])];
    let (right, weak) = (arm("ld.relaxed", "fence.acquire.sys;"), arm("ld.relaxed", ""));
    check_blocks(&loops, &arms(&right, &right), "right right");
    check_blocks(&loops, &arms(&right, &weak), "right ordering");
    check_blocks(&loops, &arms(&weak, &right), "ordering right");
    let racing = arm("ld", "fence.acquire.sys;").replace("ld.sys", "ld");
    check_blocks(&loops, &arms(&right, &racing), "right weak-load-in-loop");
    check_blocks(&loops, &arms(&racing, &right), "weak-load-in-loop right");
    // The fence belongs to one operation only: the other arm needs none.
    let xor = op(Operation::Rmw(RmwOp::Xor, global(Type::I32)), Ordering::AcqRel, Scope::Sys);
    let mixed = [block(&[], &[1, 2]), block(&[nand(Ordering::AcqRel)], &[]), block(&[xor], &[])];
    let fenced = format!("fence.release.sys; {right}");
    let native = "atom.acq_rel.sys.global.xor.b32 %r2, [%rd1], 1;";
    check_blocks(&mixed, &arms(&fenced, native), "right right");
    check_blocks(&mixed, &arms(native, &fenced), "right right");
    check_blocks(&mixed, &arms(&right, native), "ordering right");
    check_blocks(&mixed, &arms(&fenced, &native.replace("acq_rel", "release")), "right ordering");
}

/// Operations on local memory between other operations take neither their instructions nor their fences.
#[test]
fn local_operations_among_global_operations() {
    let access = |space| Access::new(space, Type::I32);
    let add = |space, ordering| op(Operation::Rmw(RmwOp::Add, access(space)), ordering, Scope::Sys);
    let sc = "fence.sc.sys; atom.acquire.sys.global.add.u32 %r1, [%rd1], 1;";
    let local = "ld.local.b32 %r2, [%rd2]; add.s32 %r3, %r2, 1; st.local.b32 [%rd2], %r3;";
    let between = [
        add(Space::Global, Ordering::SeqCst),
        add(Space::Local, Ordering::SeqCst),
        add(Space::Global, Ordering::SeqCst),
    ];
    for local in [local, &local.replace(".local", "")] {
        check(&between, &format!("{sc} {local} {sc}"), "right right right");
        check(&between, &format!("{sc} {local} {}", sc.replace("fence.sc.sys; ", "")), "right right ordering");
        check(
            &between,
            &format!("{} {local} {sc}", sc.replace("atom.acquire", "atom.relaxed")),
            "ordering right right",
        );
    }
    check(&between, &format!("{sc} atom.add.u32 %r2, [%rd2], 1; {sc}"), "right undefined right");
    let load = op(Operation::Load(access(Space::Local)), Ordering::Acquire, Scope::Sys);
    let fenced = "atom.relaxed.sys.global.add.u32 %r1, [%rd1], 1; fence.acquire.sys;";
    check(
        &[add(Space::Global, Ordering::Acquire), load],
        &format!("{fenced} ld.local.b32 %r2, [%rd2];"),
        "right right",
    );
    let weak = "atom.relaxed.sys.global.add.u32 %r1, [%rd1], 1; ld.local.b32 %r2, [%rd2];";
    check(&[add(Space::Global, Ordering::Acquire), load], weak, "ordering right");
}

/// Long paths from a `cas`, and values that are packed again and again, cost neither the stack, nor memory, nor
/// hours.
#[test]
fn code_around_a_compare_and_swap_may_be_long() {
    let cas = "atom.relaxed.gpu.global.cas.b32 %r1, [%rd1], %r2, %r3;";
    let add = (0..20_000).map(|number| format!("add.u32 %r{}, %r{number}, %r1;", number + 10)).collect::<String>();
    let xor = add.replace("add.u32", "xor.b32");
    let branches = (0..5_000).map(|number| format!("@%p{} bra $L;", number + 10)).collect::<String>();
    let halves = "mov.b64 {%r1, %r4}, %r5; mov.b64 {%r5, %r4}, %r1;".repeat(10_000);
    let packs = "mov.b64 %r1, {%r1, %r1};".repeat(200);
    for after in [add, xor, branches, halves, packs.clone()] {
        let text = format!("{packs} $L: {cas} {after} setp.ne.b32 %p1, %r1, %r5; @%p1 bra $L; ret;");
        check(&[cmpxchg(Type::I32, Ordering::Relaxed)], &text, "right");
    }
}

/// Compilers leave out unreachable operations.
#[test]
fn unreachable_operations_need_nothing() {
    let add = op(Operation::Rmw(RmwOp::Add, global(Type::I32)), Ordering::AcqRel, Scope::Sys);
    let fence = op(Operation::Fence, Ordering::SeqCst, Scope::Sys);
    let dead = |operations: &[AtomicOp]| {
        [
            BasicBlock { operations: vec![add], next: Vec::new() },
            BasicBlock { operations: operations.to_vec(), next: vec![1] },
        ]
    };
    let atom = "atom.acq_rel.sys.global.add.u32 %r1, [%rd1], 1;";
    check_blocks(&dead(&[add, fence]), &format!("{atom} ret;"), "right right right");
    check_blocks(&dead(&[add]), &format!("{atom} ret; {atom} ret;"), "right right");
    check_blocks(&dead(&[add]), &format!("@%p1 bra $A; {atom} ret; $A: {atom} ret;"), "right right");
    check_blocks(&dead(&[add, fence]), "atom.relaxed.sys.global.add.u32 %r1, [%rd1], 1;", "ordering right right");
    check_blocks(&dead(&[add]), "ret;", "missing right");
    // A compiler that does not optimize keeps the branch.
    let kept = |p: &str| format!("mov.pred %p1, {p}; @%p1 bra $A; fence.sc.sys; {atom} ret; $A: {atom} ret;");
    check_blocks(&dead(&[fence, add]), &kept("-1"), "right right right");
    check_blocks(&dead(&[fence, add]), &kept("0"), "right right right");
    check_blocks(&dead(&[]), &kept("-1").replacen("acq_rel", "relaxed", 1), "right");
    check_blocks(&dead(&[]), &kept("0").replacen("acq_rel", "relaxed", 1), "ordering");
    let relaxed = AtomicOp { ordering: Ordering::Relaxed, ..add };
    check_blocks(
        &dead(&[relaxed, fence]),
        "fence.acq_rel.sys; atom.relaxed.sys.global.add.u32 %r1, [%rd1], 1;",
        "ordering right right",
    );
}

/// The guarantees that the second code lacks in comparison with the first, for the same operation.
#[test]
fn strengths_are_compared() {
    let check = |op: AtomicOp, old: &str, new: &str, expected: &str| {
        let judged = [old, new].map(|body| judgements(&[op], body).remove(0));
        assert_eq!(judged[1].less_than(&judged[0]).join("; "), expected, "{old} | {new}");
    };
    let add = op(Operation::Rmw(RmwOp::Add, global(Type::I32)), Ordering::Relaxed, Scope::Cta);
    let atom = |sem: &str| format!("atom.{sem}.global.add.u32 %r1, [%rd1], 1;");
    let both = "no acquire, which had scope sys; no release, which had scope sys";
    check(add, &atom("acq_rel.sys"), &atom("relaxed.sys"), both);
    check(add, &atom("relaxed.sys"), &atom("acq_rel.sys"), "");
    check(add, &atom("relaxed.gpu"), &atom("relaxed.cta"), "strong access at scope cta, not gpu");
    let fenced = format!("fence.sc.gpu; {}", atom("acquire.gpu"));
    check(add, &fenced, &atom("acq_rel.gpu"), "no sequential consistency, which had scope gpu");
    let released = format!("fence.release.gpu; {} fence.acquire.gpu;", atom("relaxed.gpu"));
    check(add, &atom("acq_rel.gpu"), &released, "no release of acquired writes, which had scope gpu");
    check(add, &released, &atom("acq_rel.gpu"), "");
    check(add, &atom("relaxed.cta"), "", "no instruction implements it");
    check(add, "", &atom("relaxed.cta"), "");
    let load = op(Operation::Load(global(Type::I32)), Ordering::Relaxed, Scope::Cta);
    let by_cas = "mov.b32 %r2, 0; atom.relaxed.cta.global.cas.b32 %r1, [%rd1], %r2, %r2;";
    check(load, by_cas, "ld.relaxed.cta.global.u32 %r1, [%rd1];", "");
    let fence = op(Operation::Fence, Ordering::SeqCst, Scope::Sys);
    check(fence, "fence.sc.sys;", "fence.acq_rel.sys;", "no sequential consistency, which had scope sys");
    check(
        fence,
        "fence.sc.sys;",
        "fence.sc.gpu;",
        "acquire at scope gpu, not sys; release at scope gpu, not sys; sequential consistency at scope gpu, not sys",
    );
    let first = |load: &str| LLVM_LOOP.replace("FIRST", load);
    check(
        nand(Ordering::SeqCst),
        &first("ld.relaxed.sys.global.b32"),
        &first("ld.global.b32"),
        "the compare-and-swap loop begins with a weak load",
    );
}

/// No other thread is in the scope, or sees the memory.
#[test]
fn one_thread_needs_no_atomics() {
    let nand = AtomicOp { scope: SyncScope::SingleThread, ..nand(Ordering::SeqCst) };
    let weak = "ld.global.b32 %r1, [%rd1]; not.b32 %r2, %r1; st.global.b32 [%rd1], %r2;";
    check(&[nand], weak, "right");
    check(&[nand], "", "missing");
    let fence = AtomicOp { operation: Operation::Fence, ..nand };
    check(&[fence], "", "right");
    let volatile = AtomicOp { operation: Operation::Load(global(Type::I32)).volatile(), ..nand };
    check(&[volatile], "ld.global.b32 %r1, [%rd1];", "volatile");
    let local = Operation::Rmw(RmwOp::Add, Access::new(Space::Local, Type::I32));
    let local = op(local, Ordering::SeqCst, Scope::Sys);
    check(&[local], "ld.local.b32 %r1, [%rd1]; st.local.b32 [%rd1], %r2;", "right");
    check(&[local], "atom.add.u32 %r1, [%rd1], 1;", "undefined");
    check(&[local], "", "right");
}

#[test]
fn single_instructions() {
    let add = |ordering, scope| op(Operation::Rmw(RmwOp::Add, global(Type::I32)), ordering, scope);
    let load = |ordering| op(Operation::Load(global(Type::I32)), ordering, Scope::Gpu);
    let store = |ordering| op(Operation::Store(global(Type::I32)), ordering, Scope::Gpu);
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    check(&[add(AcqRel, Scope::Sys)], "atom.global.add.u32 %r1, [%rd1], 1;", "ordering");
    check(&[add(Relaxed, Scope::Sys)], "atom.global.add.u32 %r1, [%rd1], 1;", "scope");
    check(&[add(Relaxed, Scope::Gpu)], "atom.global.add.u32 %r1, [%rd1], 1;", "right");
    check(&[add(Relaxed, Scope::Gpu)], "ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1], %r2;", "not-atomic");
    check(&[add(Acquire, Scope::Gpu)], "red.global.add.u32 [%rd1], 1; fence.acquire.gpu;", "ordering");
    check(&[add(Acquire, Scope::Gpu)], "red.global.add.u32 [%rd1], 1;", "ordering");
    check(&[add(Relaxed, Scope::Gpu)], "red.global.add.u32 [%rd1], 1;", "right");
    let later = "st.global.b32 [%rd2], 1; fence.acquire.gpu;";
    check(&[add(Relaxed, Scope::Gpu)], &format!("red.global.add.u32 [%rd1], 1; {later}"), "ordering");
    check(&[load(Acquire)], "ld.acquire.gpu.global.b32 %r1, [%rd1];", "right");
    check(&[load(Relaxed)], "ld.global.b32 %r1, [%rd1];", "not-atomic");
    check(&[load(Acquire)], "ld.volatile.global.b32 %r1, [%rd1]; membar.gl;", "right");
    check(&[load(Acquire)], "ld.relaxed.gpu.global.b32 %r1, [%rd1]; @%p1 fence.acquire.gpu;", "ordering");
    check(&[store(Release)], "fence.release.gpu; st.relaxed.gpu.global.b32 [%rd1], %r1;", "right");
    check(&[store(Relaxed)], "st.relaxed.gpu.global.v2.b16 [%rd1], {%rs1, %rs2};", "not-atomic");
    check(&[store(Relaxed)], "st.relaxed.gpu.global.b16 [%rd1], %rs1;", "not-atomic");
    check(&[store(SeqCst)], "", "missing");
    check(&[cmpxchg(Type::I32, SeqCst)], "fence.sc.gpu; atom.acquire.gpu.cas.b32 %r1, [%rd1], 0, 1;", "right");
    let shared = Operation::Rmw(RmwOp::Add, Access::new(Space::Shared, Type::I32));
    check(&[op(shared, AcqRel, Scope::Sys)], "atom.acq_rel.gpu.shared.add.u32 %r1, [%r2], 1;", "right");
    check(&[op(shared, AcqRel, Scope::Sys)], "atom.acq_rel.cta.shared.add.u32 %r1, [%r2], 1;", "scope");
    let wide = Operation::Load(global(Type::I128));
    check(&[op(wide, Relaxed, Scope::Gpu)], "ld.relaxed.gpu.global.v2.b64 {%rd2, %rd3}, [%rd1];", "not-atomic");
    let by_cas = "mov.b128 %q, {%rd2, %rd2}; atom.global.cas.b128 %d, [%rd1], %q, %q;";
    check(&[op(wide, Relaxed, Scope::Gpu)], by_cas, "right");
    assert_eq!(judgements(&[op(wide, Relaxed, Scope::Gpu)], by_cas)[0].notes, [Note::LoadWrites]);
}

/// A fence counts if it lies on every path, without an access of another operation between.
#[test]
fn fences_count_on_every_path() {
    let load = [op(Operation::Load(global(Type::I32)), Ordering::Acquire, Scope::Gpu)];
    let branch = |one: &str, other: &str| {
        format!("ld.relaxed.gpu.global.b32 %r1, [%rd1]; @%p1 bra $A; {one} ret; $A: {other} ret;")
    };
    check(&load, &branch("fence.acquire.gpu;", "fence.acquire.gpu;"), "right");
    check(&load, &branch("fence.acquire.gpu;", ""), "ordering");
    check(&load, "ld.relaxed.gpu.global.b32 %r1, [%rd1]; ld.global.b32 %r2, [%rd2]; fence.acquire.gpu;", "ordering");
    check(&load, "ld.relaxed.gpu.global.b32 %r1, [%rd1]; ld.param.b32 %r2, [p]; fence.acquire.gpu;", "right");
    check(&load, "ld.relaxed.gpu.global.b32 %r1, [%rd1]; bar.sync 0; fence.acquire.gpu;", "ordering");
    let spin = "$L: ld.relaxed.gpu.global.b32 %r1, [%rd1]; setp.eq.b32 %p1, %r1, 0; @%p1 bra $L;";
    check(&load, &format!("{spin} fence.acquire.gpu; ret;"), "right");
    check(&load, &format!("{spin} ret;"), "ordering");
    let store = [op(Operation::Store(global(Type::I32)), Ordering::Release, Scope::Gpu)];
    let join = |one: &str| format!("@%p1 bra $A; {one} $A: st.relaxed.gpu.global.b32 [%rd1], %r1;");
    check(&store, &join("fence.release.gpu;"), "ordering");
    check(&store, &format!("fence.release.gpu; {}", join("")), "right");
}

/// No other thread can access a local address.
#[test]
fn paths_of_local_addresses_do_not_count() {
    let generic = Access::new(Space::Generic, Type::I32);
    let load = [op(Operation::Load(generic), Ordering::Acquire, Scope::Gpu)];
    let with = |test: &str| {
        format!(
            "isspacep.local %p1, %rd1; {test} ld.acquire.gpu.b32 %r1, [%rd1]; bra $done;
             $private: ld.b32 %r1, [%rd1]; $done: ret;"
        )
    };
    check(&load, &with("@%p1 bra $private;"), "right");
    check(&load, &with("not.pred %p2, %p1; @!%p2 bra $private;"), "right");
    let add = [op(Operation::Rmw(RmwOp::Add, generic), Ordering::Relaxed, Scope::Gpu)];
    let body = "isspacep.local %p1, %rd1; @%p1 ld.b32 %r1, [%rd1]; @!%p1 atom.add.u32 %r1, [%rd1], 1;";
    check(&add, body, "right");
}

/// libcu++'s exchange of 8 bits: it ends early if the first load shows another value.
#[test]
fn success_and_failure_are_judged_apart() {
    use Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
    let exchange = |success, failure| op(Operation::CmpXchg { access: global(Type::I8), failure }, success, Scope::Gpu);
    let with = |front: &str, load: &str, cas: &str, after: [&str; 2]| {
        format!(
            "and.b64 %rd2, %rd1, -4; {front} {load}.gpu.global.b32 %r1, [%rd2];
             $again: and.b32 %r2, %r1, 255; setp.ne.s32 %p1, %r2, %r3; @%p1 bra $fails;
             and.b32 %r4, %r1, -256; or.b32 %r5, %r4, %r6;
             atom.{cas}.gpu.global.cas.b32 %r7, [%rd2], %r1, %r5;
             setp.eq.s32 %p2, %r7, %r1; mov.u32 %r1, %r7; @%p2 bra $succeeds; bra $again;
             $succeeds: {} ret; $fails: {} ret;",
            after[0], after[1]
        )
    };
    let early = with("", "ld.relaxed", "acq_rel", [""; 2]);
    check(&[exchange(AcqRel, Relaxed)], &early, "right");
    check(&[exchange(AcqRel, Acquire)], &early, "ordering");
    check(&[exchange(Relaxed, Acquire)], &early, "ordering");
    check(&[exchange(AcqRel, Acquire)], &with("", "ld.acquire", "acq_rel", [""; 2]), "right");
    check(&[exchange(SeqCst, Acquire)], &with("fence.sc.gpu;", "ld.acquire", "acquire", [""; 2]), "right");
    check(&[exchange(SeqCst, Acquire)], &with("fence.sc.gpu;", "ld.relaxed", "acquire", [""; 2]), "ordering");
    check(&[exchange(SeqCst, Relaxed)], &with("fence.sc.gpu;", "ld.relaxed", "acquire", [""; 2]), "right");
    check(&[exchange(SeqCst, SeqCst)], &with("fence.sc.gpu;", "ld.acquire", "acquire", [""; 2]), "right");
    check(&[exchange(Acquire, SeqCst)], &with("fence.acq_rel.gpu;", "ld.acquire", "acquire", [""; 2]), "ordering");
    // Fences on the paths of one outcome only.
    let fence = "fence.acquire.gpu;";
    check(&[exchange(Acquire, Relaxed)], &with("", "ld.relaxed", "relaxed", [fence, ""]), "right");
    check(&[exchange(Acquire, Relaxed)], &with("", "ld.relaxed", "relaxed", ["", fence]), "ordering");
    check(&[exchange(Relaxed, Acquire)], &with("", "ld.relaxed", "relaxed", ["", fence]), "right");
    check(&[exchange(Acquire, Acquire)], &with("", "ld.relaxed", "relaxed", [fence, ""]), "ordering");
    check(&[exchange(Acquire, Acquire)], &with("", "ld.relaxed", "relaxed", [fence; 2]), "right");
    // A loss of both outcomes is reported once.
    let said = |success, failure, body: &str| {
        let violations = judgements(&[exchange(success, failure)], body).remove(0).violations;
        violations.into_iter().map(|found| found.reason).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(said(Acquire, Acquire, &with("", "ld.relaxed", "relaxed", [""; 2])), "no acquire");
    assert_eq!(said(Acquire, Acquire, &early), "no acquire where it fails");
    check(&[exchange(AcqRel, Relaxed)], &with("", "ld.relaxed", "relaxed", [fence, ""]), "ordering");
    check(
        &[exchange(AcqRel, Relaxed)],
        &with("", "ld", "acq_rel", [""; 2]).replace("ld.gpu", "ld"),
        "weak-load-in-loop",
    );
}

/// The same for an exchange of the whole word: the load belongs to the compiler if the program has no atomic load.
#[test]
fn exchanges_that_end_early_are_judged_by_their_loads() {
    use Ordering::{AcqRel, Acquire, Relaxed};
    for (ty, bits) in [(Type::I32, 32), (Type::I64, 64)] {
        let exchange = |success, failure| op(Operation::CmpXchg { access: global(ty), failure }, success, Scope::Gpu);
        let with = |load: &str, branch: &str| {
            format!(
                "{load}.gpu.global.b{bits} %r1, [%rd1]; mov.b{bits} %r4, %r1;
                 setp.ne.b{bits} %p1, %r4, %r2; {branch}
                 $swap: atom.acq_rel.gpu.global.cas.b{bits} %r1, [%rd1], %r2, %r3; $end: ret;"
            )
        };
        let early = |load| with(load, "@%p1 bra $end;");
        check(&[exchange(AcqRel, Relaxed)], &early("ld.relaxed"), "right");
        check(&[exchange(AcqRel, Acquire)], &early("ld.relaxed"), "ordering");
        check(&[exchange(AcqRel, Acquire)], &with("ld.relaxed", "@!%p1 bra $swap; ret;"), "ordering");
        check(&[exchange(AcqRel, Acquire)], &early("ld.acquire"), "right");
        // The load ends nothing, or belongs to the program.
        check(&[exchange(AcqRel, Acquire)], &with("ld.relaxed", ""), "right");
        let load = op(Operation::Load(global(ty)), Relaxed, Scope::Gpu);
        check(&[load, exchange(AcqRel, Acquire)], &early("ld.relaxed"), "right right");
    }
}

/// A part of a word is read with the rest of the word, and written by a loop.
#[test]
fn a_part_of_a_word_by_the_word() {
    use Ordering::{Acquire, Relaxed, Release, SeqCst};
    let load = |ty, ordering| op(Operation::Load(global(ty)), ordering, Scope::Gpu);
    check(&[load(Type::I8, Acquire)], "ld.acquire.gpu.global.b16 %rs1, [%rd1];", "right");
    check(&[load(Type::I8, Acquire)], "ld.relaxed.gpu.global.b16 %rs1, [%rd1];", "ordering");
    check(&[load(Type::I16, Relaxed)], "ld.relaxed.gpu.global.b32 %r1, [%rd1];", "right");
    check(&[load(Type::I16, Relaxed)], "ld.relaxed.gpu.global.b64 %rd1, [%rd1];", "missing");
    check(&[load(Type::I8, Relaxed)], "ld.global.b16 %rs1, [%rd1];", "missing");
    check(&[load(Type::I32, Relaxed)], "ld.relaxed.gpu.global.b64 %rd1, [%rd1];", "missing");
    let store = |ordering| op(Operation::Store(global(Type::I8)), ordering, Scope::Gpu);
    let by_cas = |front: &str, first: &str, sem: &str, tail: &str| {
        format!(
            "and.b64 %rd2, %rd1, -4; {front} {first}.global.b32 %r1, [%rd2];
             $again: and.b32 %r2, %r1, -256; or.b32 %r3, %r2, %r4;
             atom.{sem}.gpu.global.cas.b32 %r5, [%rd2], %r1, %r3;
             setp.eq.s32 %p1, %r5, %r1; mov.u32 %r1, %r5; @%p1 bra $done; {tail} $done: ret;"
        )
    };
    let (strong, again) = ("ld.relaxed.gpu", "bra $again;");
    check(&[store(Release)], &by_cas("", strong, "release", again), "right");
    check(&[store(Release)], &by_cas("", strong, "relaxed", again), "ordering");
    check(&[store(SeqCst)], &by_cas("fence.sc.gpu;", strong, "relaxed", again), "right");
    check(&[store(SeqCst)], &by_cas("fence.acq_rel.gpu;", strong, "relaxed", again), "ordering");
    check(&[store(Relaxed)], &by_cas("", "ld", "relaxed", again), "weak-load-in-loop");
    check(&[store(Relaxed)], &by_cas("", strong, "relaxed", ""), "not-atomic");
    check(&[store(Relaxed)], "st.relaxed.gpu.global.b32 [%rd1], %r1;", "missing");
    // An exchange of the whole value is right; an exchange of a part is not.
    let word = op(Operation::Store(global(Type::I32)), SeqCst, Scope::Gpu);
    check(&[word], "fence.sc.gpu; atom.relaxed.gpu.global.exch.b32 %r1, [%rd1], %r2;", "right");
}

/// The extra effects of a function: the kind, the operation, and `loop` if the effect may be a further iteration.
#[test]
fn additional_effects() {
    let add = op(Operation::Rmw(RmwOp::Add, global(Type::I32)), Ordering::Relaxed, Scope::Gpu);
    let store = op(Operation::Store(global(Type::I32)), Ordering::Release, Scope::Gpu);
    let volatile = op(Operation::Load(global(Type::I32)).volatile(), Ordering::Relaxed, Scope::Gpu);
    let check = |blocks: &[BasicBlock], body: &str, expected: &str| {
        let text = format!(
            ".version 8.6
.target sm_90
.func f() {{
{body}
}}"
        );
        let module: Module = text.parse().expect(body);
        let judged = judge_function(blocks, module.functions().next().expect("a function")).expect("few operations");
        let of = |extra: &Extra| {
            let of = extra.of.map_or("-".to_owned(), |op| op.to_string());
            format!("{} {of}{}", extra.kind, if extra.in_loop { " loop" } else { "" })
        };
        assert_eq!(judged.extras.iter().map(of).collect::<Vec<_>>().join(", "), expected, "{body}");
    };
    let one = |op: AtomicOp| [BasicBlock { operations: vec![op], next: Vec::new() }];
    let atom = "atom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1;";
    check(&one(add), atom, "");
    check(&one(add), &atom.repeat(2), "update 0");
    check(&one(add), &atom.repeat(3), "update 0, update 0");
    check(&one(add), &format!("{atom} red.gpu.global.xor.b32 [%rd2], 1;"), "update -");
    check(&one(add), &format!("{atom} ld.relaxed.gpu.global.b32 %r1, [%rd1];"), "");
    // On mutually exclusive paths.
    check(&one(add), &format!("@%p1 bra $A; {atom} ret; $A: {atom} ret;"), "");
    check(&one(add), &format!("@%p1 bra $A; {atom} $A: {atom} ret;"), "update 0");
    check(&one(add), &format!("@%p1 bra $A; {atom} ret; $A: {} ret;", atom.replace("gpu", "cta")), "update 0");
    // Iterations of a loop.
    let again = [BasicBlock { operations: vec![add], next: vec![0] }];
    check(&again, &format!("$A: {} bra $A;", atom.repeat(2)), "update 0 loop");
    let st = "st.release.gpu.global.b32 [%rd1], %r1;";
    check(&one(store), st, "");
    check(&one(store), &st.repeat(2), "atomic-store 0");
    check(&one(store), &format!("st.global.b32 [%rd1], %r1; {st}"), "store 0");
    check(&one(store), &format!("st.global.b32 [%rd2], %r1; {st}"), "store -");
    check(&one(store), &format!("add.s64 %rd2, %rd1, 4; st.global.b32 [%rd2], %r1; {st}"), "store -");
    check(&one(store), &format!("add.s64 %rd2, %rd1, 4; st.global.b32 [%rd2+-4], %r1; {st}"), "store 0");
    check(&one(store), &format!("st.volatile.global.b32 [%rd1], %r1; {st}"), "store 0");
    // Variables of the function, and parts of a single value.
    let local = ".local .align 4 .b8 depot[8]; mov.b64 %SPL, depot; cvta.local.u64 %SP, %SPL; add.u64 %rd3, %SP, 4;";
    check(&one(store), &format!("{local} st.b32 [%rd3], 1; st.local.b32 [%SPL], 1; {st}"), "");
    let wide = op(Operation::Store(global(Type::I64)), Ordering::Relaxed, Scope::Gpu);
    let half = |at: &str| format!("st.relaxed.gpu.global.b32 [%rd1{at}], %r1;");
    check(&one(wide), &(half("") + &half("+4")), "");
    check(&one(wide), &(half("") + &half("+4") + &half("")), "atomic-store 0");
    let ld = "ld.volatile.global.b32 %r1, [%rd1];";
    check(&one(volatile), ld, "");
    check(&one(volatile), &ld.repeat(2), "volatile-load 0");
    // The first read of a compare-and-swap loop, and its repeated writes.
    check(&one(nand(Ordering::SeqCst)), &LLVM_LOOP.replace("FIRST", "ld.volatile.global.b32"), "");
}

/// A sequentially consistent operation has its fence before it, whatever rewrites the source has undergone.
#[test]
fn the_fence_of_sequential_consistency_stays() {
    let load = op(Operation::Load(global(Type::I32)), Ordering::SeqCst, Scope::Sys);
    let check = |op: AtomicOp, head: &str, body: &str, expected: bool| {
        let text = format!(
            ".version 8.6
.target sm_90
.entry f() {head} {{
{body}
}}"
        );
        let module: Module = text.parse().expect(body);
        let blocks = [BasicBlock { operations: vec![op], next: Vec::new() }];
        let judged = judge_function(&blocks, module.functions().next().expect("a function")).expect("few operations");
        assert_eq!(judged.operations[0].lacks_seq_cst, expected, "{body} {:?}", judged.operations);
    };
    let ld = "ld.relaxed.cta.global.b32 %r1, [%rd1];";
    check(load, "", &format!("fence.sc.sys; {ld}"), false);
    check(load, "", &format!("fence.sc.gpu; {ld}"), true);
    check(load, "", ld, true);
    check(load, "", &format!("fence.sc.sys; st.relaxed.sys.global.b32 [%rd2], 1; {ld}"), true);
    check(load, "", &format!("fence.sc.sys; $again: {ld} setp.eq.s32 %p1, %r1, 0; @%p1 bra $again;"), false);
    check(load, "", &format!("$again: {ld} setp.eq.s32 %p1, %r1, 0; @%p1 bra $again;"), true);
    let relaxed = AtomicOp { ordering: Ordering::Acquire, ..load };
    check(relaxed, "", ld, false);
    let fence = AtomicOp { operation: Operation::Fence, ..load };
    check(fence, "", "fence.sc.gpu;", true);
    check(fence, "", "fence.acq_rel.sys; st.global.b32 [%rd1], 1; fence.acq_rel.gpu;", true);
    check(fence, "", "fence.sc.sys;", false);
    // In a CTA of one thread, no other thread is in its scope.
    let block = AtomicOp { scope: SyncScope::Threads(Scope::Cta), ..load };
    for head in [".reqntid 1, 1, 1", ".maxntid 1"] {
        check(block, head, ld, false);
        check(load, head, ld, true);
    }
    check(block, ".reqntid 1, 32, 1", ld, true);
    check(block, ".minnctapersm 1", ld, true);
}

/// An instruction that names a state space, for a generic address.
#[test]
fn a_space_that_is_named() {
    let load = |space| op(Operation::Load(Access::new(space, Type::I32)), Ordering::Relaxed, Scope::Gpu);
    let named = |op, space: &str| judgements(&[op], &format!("ld.relaxed.gpu{space}.b32 %r1, [%rd1];"))[0].named_space;
    assert_eq!(named(load(Space::Generic), ""), None);
    assert_eq!(named(load(Space::Generic), ".global"), Some(Space::Global));
    assert_eq!(named(load(Space::Global), ".global"), None);
}

/// From sm_90 on, ptxas drops the ordering of 64 bits in shared memory.
#[test]
fn misplacements_of_ptxas_are_noted() {
    let shared = |ty, ordering| op(Operation::Rmw(RmwOp::Add, Access::new(Space::Shared, ty)), ordering, Scope::Cta);
    let note = |op: AtomicOp, body: &str, family| {
        let blocks = [BasicBlock { operations: vec![op], next: Vec::new() }];
        let text = format!(".version 8.6\n.target sm_90\n.func f() {{\n{body}\n}}");
        let module: Module = text.parse().expect(body);
        let function = module.functions().next().expect("a function");
        let mut judged = judge_function(&blocks, function).expect("few operations");
        judged.note_assembler(&blocks, function, family);
        judged.operations[0].notes.contains(&Note::Misplaced)
    };
    let wide = "atom.acq_rel.cta.shared.add.u64 %rd2, [%r1], 1;";
    let fenced = "fence.acq_rel.cta; atom.relaxed.cta.shared.add.u64 %rd2, [%r1], 1; fence.acq_rel.cta;";
    let (i32, i64) = (Type::I32, Type::I64);
    for (op, body, family, expected) in [
        (shared(i64, Ordering::AcqRel), wide, Family::Sm90, true),
        (shared(i64, Ordering::AcqRel), wide, Family::Sm100a, true),
        (shared(i64, Ordering::AcqRel), wide, Family::Sm80, false),
        (shared(i64, Ordering::Relaxed), wide, Family::Sm90, false),
        (shared(i64, Ordering::SeqCst), wide, Family::Sm90, false),
        (shared(i64, Ordering::AcqRel), fenced, Family::Sm90, false),
        (shared(i32, Ordering::AcqRel), "atom.acq_rel.cta.shared.add.u32 %r2, [%r1], 1;", Family::Sm90, false),
    ] {
        assert_eq!(note(op, body, family), expected, "{op:?} {body} {family}");
    }
}

/// Operations find their instructions among other instructions, and across branches.
#[test]
fn operations_are_aligned() {
    let add = op(Operation::Rmw(RmwOp::Add, global(Type::I32)), Ordering::Relaxed, Scope::Gpu);
    let load = op(Operation::Load(global(Type::I32)), Ordering::Acquire, Scope::Gpu);
    let fence = op(Operation::Fence, Ordering::SeqCst, Scope::Gpu);
    let one = "ld.global.b32 %r9, [%rd9]; atom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1;";
    let other = "fence.sc.gpu; st.global.b32 [%rd9], %r9; ld.acquire.gpu.global.b32 %r2, [%rd1];";
    let block =
        |operations: &[AtomicOp], next: &[usize]| BasicBlock { operations: operations.to_vec(), next: next.to_vec() };
    let branch = |one: &[AtomicOp], other: &[AtomicOp]| [block(&[], &[1, 2]), block(one, &[]), block(other, &[])];
    let either = [branch(&[add], &[fence, load]), branch(&[fence, load], &[add])];
    for blocks in either {
        check_blocks(&blocks, &format!("@%p1 bra $A; {one} ret; $A: {other} ret;"), "right right right");
        check_blocks(&blocks, &format!("@%p1 bra $A; {other} ret; $A: {one} ret;"), "right right right");
    }
    check(&[add, add, load], &format!("{one} ld.acquire.gpu.global.b32 %r2, [%rd1];"), "missing right right");
    check(&[fence, add], &format!("fence.acq_rel.gpu; {one}"), "ordering right");
    let weaker = op(Operation::Load(global(Type::I32)), Ordering::Relaxed, Scope::Gpu);
    let one = "ld.acquire.gpu.global.b32 %r2, [%rd1];";
    let other = "ld.relaxed.gpu.global.b32 %r2, [%rd1];";
    check(&[load, weaker], &format!("bra $M; $A: {other} ret; $M: {one} bra $A;"), "right right");
    let siblings = format!("bra $M; $A: {one} ret; $M: @%p1 bra $A; {other} ret;");
    check_blocks(&branch(&[load], &[weaker]), &siblings, "right right");
    check_blocks(&branch(&[weaker], &[load]), &siblings, "right right");
    // Orderings that are exchanged in a loop, where the loop has the fence of the access in it, and the fence operation
    // is outside of the loop.
    let or = |ordering| op(Operation::Rmw(RmwOp::Or, global(Type::I32)), ordering, Scope::Gpu);
    let acquire = AtomicOp { ordering: Ordering::Acquire, ..fence };
    let (first, second) = (or(Ordering::Relaxed), or(Ordering::SeqCst));
    let rotated = [block(&[acquire], &[1]), block(&[first], &[2]), block(&[second], &[1])];
    let relaxed = "atom.relaxed.gpu.global.or.b32 %r1, [%rd1], 1; ld.global.b8 %rs1, [%rd9];";
    let sc = "fence.sc.gpu; atom.acquire.gpu.global.or.b32 %r1, [%rd1], 1; ld.global.b8 %rs1, [%rd9];";
    let with = |first: &str, second: &str| {
        let outside = "fence.acquire.gpu; ld.global.b8 %rs1, [%rd9]; bra $first;";
        format!("{outside} $second: {second} $first: {first} bra $second;")
    };
    check_blocks(&rotated, &with(relaxed, sc), "right right right");
    check_blocks(&rotated, &with(sc, relaxed), "right right ordering");
    check(&[load, weaker], &format!("bra $M; $A: {one} ret; $M: {other} bra $A;"), "ordering right");
}

/// Before sm_90, no instruction and no loop updates 128 bits at once.
#[test]
fn elements_of_a_vector_may_be_added_one_after_the_other() {
    let add = op(Operation::Rmw(RmwOp::FAdd, global(Type::F32x4)), Ordering::AcqRel, Scope::Gpu);
    let atoms = |offsets: &[i64]| -> String {
        let atom = |offset| format!("atom.relaxed.gpu.global.add.f32 %f1, [%rd2+{offset}], %f9;\n");
        offsets.iter().map(atom).collect()
    };
    let check = |atoms: &str| {
        let fence = "fence.acq_rel.gpu;";
        let judged = judgements(&[add], &format!("mov.b64 %rd2, %rd1; {fence}\n{atoms}{fence}"));
        (judged[0].loss(), judged[0].notes.contains(&Note::ByElement))
    };
    let right = atoms(&[0, 4, 8, 12]);
    assert_eq!(check(&right), (None, true));
    assert_eq!(check(&atoms(&[16, 20, 24, 28])), (None, true));
    let halves = right.replace("add.f32", "add.noftz.f16x2");
    assert_eq!(check(&halves), (None, true));
    for (part, wrong) in [
        ("[%rd2+12]", "[%rd2+16]"),
        ("[%rd2+8]", "[%rd2+4]"),
        ("[%rd2+8]", "[%rd3+8]"),
        ("gpu.global.add.f32 %f1, [%rd2+8]", "cta.global.add.f32 %f1, [%rd2+8]"),
        ("atom.relaxed.gpu.global.add.f32 %f1, [%rd2+12]", "@%p1 atom.relaxed.gpu.global.add.f32 %f1, [%rd2+12]"),
        ("add.f32 %f1, [%rd2+4]", "exch.b32 %f1, [%rd2+4]"),
        ("atom.relaxed.gpu.global.add.f32 %f1, [%rd2+12], %f9;", ""),
        (
            "atom.relaxed.gpu.global.add.f32 %f1, [%rd2+12]",
            "st.global.u32 [%rd5], 1; atom.relaxed.gpu.global.add.f32 %f1, [%rd2+12]",
        ),
    ] {
        assert!(right.contains(part), "{part}");
        assert!(check(&right.replace(part, wrong)).0.is_some(), "{wrong}");
    }
    // A loop of the program around the atoms is not a loop of the operation.
    let twice = op(Operation::Rmw(RmwOp::FAdd, global(Type::F32x4)), Ordering::Relaxed, Scope::Gpu);
    assert_eq!(judgements(&[twice, twice], &[atoms(&[0, 4, 8, 12]), atoms(&[16, 20, 24, 28])].concat()).len(), 2);
    let blocks = [BasicBlock { operations: vec![twice], next: vec![0, 1] }, BasicBlock::default()];
    let judged = judgements_of(&blocks, &format!("$L:\n{right}@%p1 bra $L;"));
    assert_eq!(judged[0].loss(), None);
}
