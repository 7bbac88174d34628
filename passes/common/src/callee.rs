//! What functions that a module only declares do, by their names: LLVM's intrinsics, and those that every CUDA device has.

/// What the optimizer needs to know of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It touches no memory of the program and orders nothing.
    Quiet,
    /// It accesses plain data, where its pointers point.
    Plain,
    /// It is a barrier between threads.
    Barrier,
}

/// Beginnings of names, of functions for which LLVM's attributes do not say it: it keeps what is quiet where it is.
const EFFECTS: [(&str, Effect); 22] = {
    use Effect::{Barrier, Plain, Quiet};
    [
        ("__nv_", Plain),
        ("llvm.invariant.", Quiet),
        ("llvm.lifetime.", Quiet),
        ("llvm.nvvm.activemask", Quiet),
        ("llvm.nvvm.bar.", Barrier),
        ("llvm.nvvm.barrier.", Barrier),
        ("llvm.nvvm.elect.", Quiet),
        ("llvm.nvvm.getctarank", Quiet),
        ("llvm.nvvm.ldg.", Plain),
        ("llvm.nvvm.ldu.", Plain),
        ("llvm.nvvm.mapa", Quiet),
        ("llvm.nvvm.match.", Quiet),
        ("llvm.nvvm.nanosleep", Quiet),
        ("llvm.nvvm.pm.event", Quiet),
        ("llvm.nvvm.prefetch", Quiet),
        ("llvm.nvvm.read.ptx.sreg.", Quiet),
        ("llvm.nvvm.redux.", Quiet),
        ("llvm.nvvm.setmaxnreg.", Quiet),
        ("llvm.nvvm.shfl.", Quiet),
        ("llvm.nvvm.vote.", Quiet),
        ("llvm.prefetch", Quiet),
        ("llvm.stack", Quiet),
    ]
};

/// Beginnings of the names of LLVM's other intrinsics for NVIDIA GPUs of which each accesses the memory that its pointers
/// name, or none.
const OWN_MEMORY: [&str; 20] = [
    "llvm.nvvm.atomic.",
    "llvm.nvvm.cp.async.ca.",
    "llvm.nvvm.cp.async.cg.",
    "llvm.nvvm.cp.async.commit.",
    "llvm.nvvm.cp.async.mbarrier.",
    "llvm.nvvm.cp.async.wait.",
    "llvm.nvvm.exit",
    "llvm.nvvm.fence.",
    "llvm.nvvm.griddepcontrol.",
    "llvm.nvvm.isspacep.",
    "llvm.nvvm.ldmatrix.",
    "llvm.nvvm.mbarrier.",
    "llvm.nvvm.membar.",
    "llvm.nvvm.mma.",
    "llvm.nvvm.stmatrix.",
    "llvm.nvvm.suld.",
    "llvm.nvvm.sust.",
    "llvm.nvvm.tex.",
    "llvm.nvvm.wgmma.",
    "llvm.nvvm.wmma.",
];

/// What makes addresses in the shared memory of other CTAs.
const REMOTE: &str = "llvm.nvvm.mapa";

/// The beginning of the names of LLVM's intrinsics for NVIDIA GPUs.
pub const OF_NVIDIA: &str = "llvm.nvvm.";

/// Beginnings of the names of intrinsics that start what completes later, behind [`OF_NVIDIA`].
const ASYNCHRONOUS: [&str; 4] = ["clusterlaunchcontrol.try_cancel.", "cp.async.", "tcgen05.", "wgmma."];

/// Functions that every CUDA device has.
const OF_THE_DEVICE: [&str; 5] = ["vprintf", "malloc", "free", "__assertfail", "__nvvm_reflect"];

/// What a function does, if its name says it.
pub fn effect(name: &str) -> Option<Effect> {
    EFFECTS.iter().find(|(known, _)| name.starts_with(known)).map(|(_, effect)| *effect)
}

/// Whether an intrinsic starts what completes later, or belongs to what does.
pub fn is_asynchronous(name: &str) -> bool {
    let of_nvidia = name.strip_prefix(OF_NVIDIA);
    of_nvidia.is_some_and(|name| ASYNCHRONOUS.iter().any(|known| name.starts_with(known)))
}

/// Whether a function is known to reach no shared memory of other CTAs but by pointers that it is given. `computes` says
/// whether its attributes do that it touches no memory.
pub fn stays_in_cta(name: &str, computes: bool) -> bool {
    let begins = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
    if begins(&[OF_NVIDIA]) {
        return !begins(&[REMOTE]) && (computes || effect(name).is_some() || begins(&OWN_MEMORY));
    }
    begins(&["llvm."]) || OF_THE_DEVICE.contains(&name) || effect(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: Option<Effect>, stays: bool) {
        assert_eq!((effect(name), stays_in_cta(name, false)), (expected, stays), "{name}");
    }

    #[test]
    fn names_say_what_functions_do() {
        check("g", None, false);
        check("free", None, true);
        check("freedom", None, false);
        check("__nv_sinf", Some(Effect::Plain), true);
        check("llvm.memcpy.p0.p0.i64", None, true);
        check("llvm.nvvm.barrier.cta.sync.all", Some(Effect::Barrier), true);
        check("llvm.nvvm.nanosleep", Some(Effect::Quiet), true);
        check("llvm.nvvm.mapa.shared.cluster", Some(Effect::Quiet), false);
        check("llvm.nvvm.cp.async.ca.shared.global.4", None, true);
        check("llvm.nvvm.cp.async.bulk.shared.cta.to.global", None, false);
        check("llvm.nvvm.tcgen05.commit.cg1", None, false);
        check("llvm.nvvm.sqrt.rn.f", None, false);
        assert!(is_asynchronous("llvm.nvvm.tcgen05.ld.16x64b.x1") && is_asynchronous("llvm.nvvm.cp.async.wait.all"));
        assert!(!is_asynchronous("llvm.nvvm.mapa") && !is_asynchronous("tcgen05.ld"));
        assert!(stays_in_cta("llvm.nvvm.sqrt.rn.f", true));
        assert!(!stays_in_cta("llvm.nvvm.mapa", true) && !stays_in_cta("g", true));
    }
}
