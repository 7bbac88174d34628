//! The ops of MLIR's NVVM dialect that order memory or synchronize threads, and the target requirements of their PTX.
//!
//! The dialect has an op for each of these instructions, so the pass makes no choice, and the op stays. However, if the
//! GPU or the PTX version lacks the instruction, LLVM aborts, or prints inline assembly that does not assemble.
//! Therefore the op is compared with the target first.
//!
//! The numbers are measured: they are the targets for which `llc` 22 and three generations of ptxas (11.8, 12.9, 13.5)
//! accept the code that MLIR 22 generates for the op. If they differ, the strictest counts. `version.rs` has the
//! variants that only other versions of MLIR have.

use ptx_atomics_common::intrinsics::TENSOR_MEMORY;
use ptx_lowering::Target;

pub use crate::variant::Variant;
use crate::{
    variant::{Condition, Conversion, since, variant},
    version,
};

/// Among the variants of an op, the first variant whose condition holds counts.
#[rustfmt::skip]
const VARIANTS: &[Variant] = {
    use Condition::Always;
    use Conversion::{Asm, NarrowIntrinsic};
    const RELAXED: Condition = Condition::Attribute("relaxed", "true");
    const DISTRIBUTED: Condition = Condition::Operand(0, "!llvm.ptr<7>");
    const COUNT: Condition = Condition::Operand(1, "i32");
    const PARITY: Condition = Condition::Operand(1, "i32");
    const PREDICATE: Condition = Condition::Operand(2, "i1");
    const ALIAS: Condition = Condition::Attribute("kind", "#nvvm.proxy_kind<alias>");
    const CTA: Condition = scope("#nvvm.mem_scope<cta>");
    const CLUSTER: Condition = scope("#nvvm.mem_scope<cluster>");
    const GPU: Condition = scope("#nvvm.mem_scope<gpu>");
    const SYS: Condition = scope("#nvvm.mem_scope<sys>");
    const ACQUIRE: Condition = order("#nvvm.mem_order<acquire>");
    const RELEASE: Condition = order("#nvvm.mem_order<release>");
    &[
        variant("memory.barrier",                  CTA,         since(20, 3, 2), "membar.cta"),
        variant("memory.barrier",                  CLUSTER,     since(90, 7, 8), "fence.sc.cluster"),
        variant("memory.barrier",                  GPU,         since(20, 3, 2), "membar.gl"),
        variant("memory.barrier",                  SYS,         since(20, 3, 2), "membar.sys"),

        variant("fence.sc.cluster",                Always,      since(90, 7, 8), "fence.sc.cluster"),
        variant("fence.mbarrier.init",             Always,      since(90, 8, 0), "fence.mbarrier_init.release.cluster"),
        variant("fence.sync_restrict",             ACQUIRE,     since(90, 8, 6), "fence.acquire.sync_restrict"),
        variant("fence.sync_restrict",             RELEASE,     since(90, 8, 6), "fence.release.sync_restrict"),
        variant("fence.proxy",                     ALIAS,       since(70, 7, 5), "fence.proxy.alias"),
        variant("fence.proxy",                     Always,      since(90, 8, 0), "fence.proxy.async"),
        variant("fence.proxy.acquire",             Always,      since(90, 8, 3), "fence.proxy.tensormap::generic.acquire").by(NarrowIntrinsic),
        variant("fence.proxy.release",             Always,      since(90, 8, 3), "fence.proxy.tensormap::generic.release"),
        variant("fence.proxy.sync_restrict",       ACQUIRE,     since(90, 8, 6), "fence.proxy.async::generic.acquire"),
        variant("fence.proxy.sync_restrict",       RELEASE,     since(90, 8, 6), "fence.proxy.async::generic.release"),

        variant("mbarrier.init",                   PREDICATE,   since(80, 7, 0), "mbarrier.init").by(Asm),
        variant("mbarrier.init",                   Always,      since(80, 7, 0), "mbarrier.init"),
        variant("mbarrier.inval",                  Always,      since(80, 7, 0), "mbarrier.inval"),
        variant("mbarrier.expect_tx",              Always,      since(90, 8, 0), "mbarrier.expect_tx.relaxed"),
        variant("mbarrier.complete_tx",            Always,      since(90, 8, 0), "mbarrier.complete_tx.relaxed"),
        variant("mbarrier.arrive",                 RELAXED,     since(90, 8, 6), "mbarrier.arrive.relaxed"),
        variant("mbarrier.arrive",                 CLUSTER,     since(90, 8, 0), "mbarrier.arrive.release.cluster"),
        variant("mbarrier.arrive",                 DISTRIBUTED, since(90, 8, 0), "mbarrier.arrive.shared::cluster"),
        variant("mbarrier.arrive",                 COUNT,       since(90, 8, 0), "mbarrier.arrive _, [addr], count"),
        variant("mbarrier.arrive",                 Always,      since(80, 7, 0), "mbarrier.arrive"),
        variant("mbarrier.arrive.nocomplete",      Always,      since(80, 7, 0), "mbarrier.arrive.noComplete"),
        variant("mbarrier.arrive.expect_tx",       RELAXED,     since(90, 8, 6), "mbarrier.arrive.expect_tx.relaxed"),
        variant("mbarrier.arrive.expect_tx",       PREDICATE,   since(90, 8, 0), "mbarrier.arrive.expect_tx").by(Asm),
        variant("mbarrier.arrive.expect_tx",       Always,      since(90, 8, 0), "mbarrier.arrive.expect_tx"),
        variant("mbarrier.arrive_drop",            RELAXED,     since(90, 8, 6), "mbarrier.arrive_drop.relaxed"),
        // MLIR writes a count even if the op has none.
        variant("mbarrier.arrive_drop",            Always,      since(90, 8, 0), "mbarrier.arrive_drop _, [addr], count"),
        variant("mbarrier.arrive_drop.nocomplete", Always,      since(80, 7, 0), "mbarrier.arrive_drop.noComplete"),
        variant("mbarrier.arrive_drop.expect_tx",  RELAXED,     since(90, 8, 6), "mbarrier.arrive_drop.expect_tx.relaxed"),
        variant("mbarrier.arrive_drop.expect_tx",  Always,      since(90, 8, 0), "mbarrier.arrive_drop.expect_tx"),
        variant("mbarrier.test.wait",              RELAXED,     since(90, 8, 6), "mbarrier.test_wait.relaxed"),
        variant("mbarrier.test.wait",              CLUSTER,     since(90, 8, 0), "mbarrier.test_wait.acquire.cluster"),
        variant("mbarrier.test.wait",              PARITY,      since(80, 7, 1), "mbarrier.test_wait.parity"),
        variant("mbarrier.test.wait",              Always,      since(80, 7, 0), "mbarrier.test_wait"),
        variant("mbarrier.try_wait",               RELAXED,     since(90, 8, 6), "mbarrier.try_wait.relaxed"),
        variant("mbarrier.try_wait",               CLUSTER,     since(90, 8, 0), "mbarrier.try_wait.acquire.cluster"),
        variant("mbarrier.try_wait",               Always,      since(90, 7, 8), "mbarrier.try_wait"),
        variant("mbarrier.try_wait.parity",        Always,      since(90, 7, 8), "mbarrier.try_wait.parity").by(Asm),
        variant("cp.async.mbarrier.arrive",        Always,      since(80, 7, 0), "cp.async.mbarrier.arrive"),

        variant("bar.warp.sync",                   Always,      since(30, 6, 0), "bar.warp.sync"),
        variant("cluster.arrive",                  Always,      since(90, 7, 8), "barrier.cluster.arrive"),
        variant("cluster.arrive.relaxed",          Always,      since(90, 8, 0), "barrier.cluster.arrive.relaxed"),
        variant("cluster.wait",                    Always,      since(90, 7, 8), "barrier.cluster.wait"),

        variant("tcgen05.fence",                   Always,      TENSOR_MEMORY,  "tcgen05.fence"),
        variant("tcgen05.wait",                    Always,      TENSOR_MEMORY,  "tcgen05.wait").by(NarrowIntrinsic),
        variant("tcgen05.commit",                  Always,      TENSOR_MEMORY,  "tcgen05.commit").by(NarrowIntrinsic),
    ]
};

const fn scope(value: &'static str) -> Condition {
    Condition::Attribute("scope", value)
}

const fn order(value: &'static str) -> Condition {
    Condition::Attribute("order", value)
}

/// All variants, including the variants that only this version of MLIR has.
fn variants() -> impl Iterator<Item = &'static Variant> {
    VARIANTS.iter().chain(version::BARRIERS)
}

/// The variant of an op of the NVVM dialect, named without the dialect; `None` if the table lacks the op. Attributes
/// and types are in MLIR's syntax: `#nvvm.mem_scope<cta>`, `true`, `!llvm.ptr<3>`.
pub fn variant_of(
    op: &str,
    attribute: impl Fn(&str) -> Option<String>,
    operand_types: &[String],
) -> Option<&'static Variant> {
    variants().filter(|variant| variant.op == op).find(|variant| match variant.when {
        Condition::Always => true,
        Condition::Attribute(name, value) => attribute(name).as_deref() == Some(value),
        Condition::Operand(index, ty) => operand_types.get(index).is_some_and(|operand| operand == ty),
    })
}

impl Variant {
    /// A message about the requirements of the variant that the target does not meet; `None` if it meets all of them.
    pub fn missing_on(&self, target: &Target) -> Option<String> {
        self.needs.missing_on(target, self.ptx)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, process::Command};

    use ptx_atomics_version::{Config, MAJOR};

    use super::*;

    /// Checks an op with its attributes, as `name = value`, and the types of its operands, on a target, such as `sm_90
    /// ptx80`: either the target has the instruction, or the message names this instruction and this requirement.
    fn check(op: &str, attributes: &[&str], types: &[&str], target: &str, lacks: Option<(&str, &str)>) {
        let (sm, ptx) = target.split_once(' ').expect("a GPU and a PTX version");
        let target = Target::new(sm.parse().expect(sm), Some(ptx.parse().expect(ptx))).expect("a target");
        let attribute = |name: &str| {
            let mut attributes = attributes.iter().filter_map(|attribute| attribute.split_once(" = "));
            attributes.find(|(known, _)| *known == name).map(|(_, value)| value.into())
        };
        let types: Vec<_> = types.iter().map(|ty| (*ty).into()).collect();
        let variant = variant_of(op, attribute, &types).expect(op);
        let expected = lacks.map(|(ptx, required)| format!("`{ptx}` requires {required}, and the target is {target}"));
        assert_eq!(variant.missing_on(&target), expected, "{op} {attributes:?} {types:?}");
    }

    const CLUSTER: &str = "scope = #nvvm.mem_scope<cluster>";

    #[test]
    fn an_attribute_tells_the_variants_apart() {
        let fence = Some(("fence.sc.cluster", "sm_90 and PTX 7.8"));
        check("memory.barrier", &["scope = #nvvm.mem_scope<gpu>"], &[], "sm_20 ptx32", None);
        check("memory.barrier", &[CLUSTER], &[], "sm_89 ptx90", fence);
        check("memory.barrier", &[CLUSTER], &[], "sm_90 ptx78", None);
        let proxy = Some(("fence.proxy.async", "sm_90 and PTX 8.0"));
        check("fence.proxy", &["kind = #nvvm.proxy_kind<alias>"], &[], "sm_70 ptx75", None);
        check("fence.proxy", &["kind = #nvvm.proxy_kind<async.global>"], &[], "sm_90 ptx78", proxy);
    }

    #[test]
    fn an_operand_tells_the_variants_apart() {
        let (shared, cluster) = ("!llvm.ptr<3>", "!llvm.ptr<7>");
        let arrive = |attributes: &[&str], types: &[&str], target, lacks| {
            check("mbarrier.arrive", attributes, types, target, Some(lacks));
        };
        check("mbarrier.arrive", &["relaxed = false"], &[shared], "sm_80 ptx70", None);
        arrive(&[], &[shared], "sm_75 ptx70", ("mbarrier.arrive", "sm_80 and PTX 7.0"));
        let count = ("mbarrier.arrive _, [addr], count", "sm_90 and PTX 8.0");
        arrive(&[], &[shared, "i32"], "sm_90 ptx78", count);
        arrive(&[], &[cluster, "i32"], "sm_90 ptx78", ("mbarrier.arrive.shared::cluster", "sm_90 and PTX 8.0"));
        arrive(&[CLUSTER], &[cluster], "sm_89 ptx80", ("mbarrier.arrive.release.cluster", "sm_90 and PTX 8.0"));
        let relaxed = ("mbarrier.arrive.relaxed", "sm_90 and PTX 8.6");
        arrive(&["relaxed = true", CLUSTER], &[cluster], "sm_90 ptx80", relaxed);
    }

    #[test]
    fn tensor_memory_is_on_variants_of_some_gpus() {
        let gpus = "one of sm_100a, sm_100f, sm_101a up to PTX 8.8, sm_101f up to PTX 8.8, sm_103a, sm_103f, sm_107a, \
                    sm_107f, sm_110a, sm_110f, and PTX 8.6";
        for target in ["sm_100a ptx86", "sm_100f ptx88", "sm_101a ptx88", "sm_103f ptx90", "sm_110a ptx94"] {
            check("tcgen05.fence", &[], &[], target, None);
        }
        for target in ["sm_90a ptx80", "sm_100 ptx90", "sm_101a ptx90", "sm_120a ptx90"] {
            check("tcgen05.wait", &[], &[], target, Some(("tcgen05.wait", gpus)));
        }
    }

    /// A condition after one that always holds, or a repeated condition, would never be evaluated.
    #[test]
    fn every_variant_can_be_reached() {
        for (index, variant) in variants().enumerate() {
            let earlier = variants().take(index).filter(|earlier| earlier.op == variant.op);
            let condition = |variant: &Variant| format!("{:?}", variant.when);
            for earlier in earlier {
                assert!(!matches!(earlier.when, Condition::Always), "{variant:?}");
                assert_ne!(condition(earlier), condition(variant), "{variant:?}");
            }
        }
    }

    /// The table contains every op of the installed dialect whose name suggests that it orders memory or synchronizes
    /// threads.
    #[test]
    fn no_op_of_the_dialect_is_missing() {
        let include = Config::llvm().headers().expect("LLVM's headers");
        let ops = format!("{include}/mlir/Dialect/LLVMIR/NVVMOps.td");
        let tblgen = format!("llvm-tblgen-{MAJOR}");
        let records = Command::new(&tblgen).args(["--print-records", &ops, "-I", &include]).output();
        let records = String::from_utf8(records.expect(&tblgen).stdout).expect("records");
        let names =
            records.lines().filter_map(|line| line.trim().strip_prefix("string opName = \"")?.strip_suffix("\";"));
        let prefixes = ["memory.barrier", "fence.", "mbarrier.", "cp.async.mbarrier.", "barrier", "bar.", "cluster."];
        let tensor = ["tcgen05.fence", "tcgen05.wait", "tcgen05.commit"];
        let of_ours = |name: &&str| prefixes.iter().chain(&tensor).any(|prefix| name.starts_with(prefix));
        let installed: BTreeSet<_> = names.filter(of_ours).collect();
        assert_eq!(variants().map(|variant| variant.op).collect::<BTreeSet<_>>(), installed);
    }
}
