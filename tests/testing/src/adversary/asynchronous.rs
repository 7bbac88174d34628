//! Kernels with asynchronous operations, between fences and atomics that may be needed for them.

use itertools::Itertools;

use super::{Module, plan::ONE_SIDED};
use crate::random::Random;

const DECLARED: &str = r#"target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [4 x i32] undef, align 16
@bar = internal addrspace(3) global i64 undef, align 8
@flag = internal addrspace(3) global i32 undef
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.wait.all()
declare void @llvm.nvvm.cp.async.bulk.commit.group()
declare void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr addrspace(1), ptr addrspace(3), i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.wait.group.read(i32)
declare void @llvm.nvvm.fence.proxy.async.shared_cta()
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3), i32)
declare i1 @llvm.nvvm.mbarrier.test.wait.relaxed.scope.cta.space.cta(ptr addrspace(3), i64)
declare i1 @llvm.nvvm.mbarrier.test.wait.scope.cta.space.cta(ptr addrspace(3), i64)
"#;

/// Complete protocols of one thread. At `*` any instruction may be inserted. A fence with a `?` is sometimes made
/// stronger or removed.
const PROTOCOLS: [&[&str]; 4] = [
    &[
        "*",
        "call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) @tile, ptr addrspace(1) %data)",
        "*",
        "call void @llvm.nvvm.cp.async.wait.all()",
        "*",
        "%v = load i32, ptr addrspace(3) @tile",
        "store i32 %v, ptr addrspace(1) %data",
    ],
    &[
        "store i32 %n, ptr addrspace(3) @tile",
        "*",
        "call void @llvm.nvvm.fence.proxy.async.shared_cta()",
        "*",
        "call void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr addrspace(1) %data, ptr addrspace(3) @tile, i32 16, i64 0, i1 false)",
        "call void @llvm.nvvm.cp.async.bulk.commit.group()",
        "*",
        "call void @llvm.nvvm.cp.async.bulk.wait.group.read(i32 0)",
        "*",
        "store i32 0, ptr addrspace(3) @tile",
    ],
    &[
        "call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 1)",
        "*",
        "fence syncscope(\"block\") seq_cst?",
        "*",
        "%t = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @bar, i32 16)",
        COPY,
        "*",
        "br label %wait",
        "wait:",
        "%c = call i1 @llvm.nvvm.mbarrier.test.wait.relaxed.scope.cta.space.cta(ptr addrspace(3) @bar, i64 %t)",
        "br i1 %c, label %go, label %wait",
        "go:",
        "*",
        "fence syncscope(\"block\") acq_rel?",
        "*",
        "%v = load i32, ptr addrspace(3) @tile",
        "store i32 %v, ptr addrspace(1) %data",
    ],
    &[
        "call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 1)",
        "fence syncscope(\"block\") acq_rel?",
        "*",
        "%t = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @bar, i32 16)",
        COPY,
        "br label %wait",
        "wait:",
        "*",
        "%c = call i1 @llvm.nvvm.mbarrier.test.wait.scope.cta.space.cta(ptr addrspace(3) @bar, i64 %t)",
        "br i1 %c, label %go, label %wait",
        "go:",
        "*",
        "%v = load i32, ptr addrspace(3) @tile",
        "store i32 %v, ptr addrspace(1) %data",
    ],
];

const COPY: &str = "call void asm sideeffect \"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [$0], [$1], 16, [$2];\", \"r,l,r,~{memory}\"(ptr addrspace(3) @tile, ptr addrspace(1) %data, ptr addrspace(3) @bar)";

/// The kernel for a seed.
pub fn kernel(seed: u64) -> Module {
    let mut random = Random(seed);
    let mut names = 0;
    let mut line = |line: &&str| match line.strip_suffix('?') {
        None if *line == "*" => match random.below(3) {
            0 => atomic(&mut random, &mut names),
            _ => String::new(),
        },
        None => (*line).to_owned(),
        Some(_) if random.below(8) == 0 => String::new(),
        Some(fence) => match random.below(3) {
            0 => fence.replace("acq_rel", "seq_cst"),
            1 => fence.replace("syncscope(\"block\") ", random.pick(&["", "syncscope(\"device\") "])),
            _ => fence.to_owned(),
        },
    };
    let body = random_protocol(seed).iter().map(&mut line).filter(|line| !line.is_empty()).join("\n  ");
    let attributes =
        random.pick(&["", "\"nvvm.reqntid\"=\"1,1,1\"", "\"nvvm.reqntid\"=\"1,1,1\"", "\"nvvm.reqntid\"=\"128\""]);
    let ir = format!(
        "{DECLARED}define ptx_kernel void @k(ptr addrspace(1) %data, ptr addrspace(1) %other, i32 %n) {attributes} {{\nentry:\n  {body}\n  ret void\n}}\n"
    );
    Module { ir, target: ONE_SIDED }
}

fn random_protocol(seed: u64) -> &'static [&'static str] {
    PROTOCOLS[(seed % PROTOCOLS.len() as u64) as usize]
}

/// A fence, an atomic, or a barrier.
fn atomic(random: &mut Random, names: &mut usize) -> String {
    *names += 1;
    let order = random.pick(&["acquire", "release", "acq_rel", "seq_cst"]);
    let scope = random.pick(&["syncscope(\"block\") ", "syncscope(\"block\") ", "syncscope(\"device\") ", ""]);
    let place = random.pick(&["ptr addrspace(3) @flag", "ptr addrspace(1) %other"]);
    match random.below(6) {
        0 => format!("%a{names} = atomicrmw add {place}, i32 1 {scope}{order}"),
        1 => format!("store atomic i32 1, {place} {scope}release, align 4"),
        2 => format!("%a{names} = load atomic i32, {place} {scope}acquire, align 4"),
        3 => "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)".into(),
        _ => format!("fence {scope}{order}"),
    }
}
