//! The effects of functions without a body in the module, derived from their names: LLVM's intrinsics, the functions
//! that every CUDA device has, and the functions of libdevice.

/// The effect of a call, for the optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The call accesses no memory of the program and orders no access.
    Quiet,
    /// The call accesses plain data at its pointers.
    Plain,
    /// The call is a barrier between threads.
    Barrier,
}

/// Prefixes of the names of functions whose LLVM attributes do not show the effect. LLVM's attributes also keep quiet
/// functions at their position.
const EFFECTS: [(&str, Effect); 21] = {
    use Effect::{Barrier, Plain, Quiet};
    [
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

/// Prefixes of the names of LLVM's other intrinsics for NVIDIA GPUs that access only the memory at their pointers, or
/// no memory.
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

/// The prefix of the intrinsics that compute addresses in the shared memory of other CTAs.
const REMOTE: &str = "llvm.nvvm.mapa";

/// The prefix of the names of LLVM's intrinsics for NVIDIA GPUs.
pub const OF_NVIDIA: &str = "llvm.nvvm.";

/// Prefixes, after [`OF_NVIDIA`], of the names of intrinsics that start asynchronous operations.
const ASYNCHRONOUS: [&str; 4] = ["clusterlaunchcontrol.try_cancel.", "cp.async.", "tcgen05.", "wgmma."];

/// Functions that every CUDA device has.
const OF_THE_DEVICE: [&str; 5] = ["vprintf", "malloc", "free", "__assertfail", "__nvvm_reflect"];

/// The prefix of the names of libdevice's functions. Functions outside libdevice have it, too.
const OF_LIBDEVICE: &str = "__nv_";

/// The rest of the names of libdevice's functions: endings, each with the parts of names that precede it. These
/// functions compute, and access no memory except at their pointers.
const LIBDEVICE: [(&[&str], &str); 3] = [
    (
        &[""],
        "abs brev brevll byte_perm clz clzll double2hiint double2loint double_as_longlong fast_cosf fast_exp10f fast_expf \
         fast_fdividef fast_log10f fast_log2f fast_logf fast_powf fast_sincosf fast_sinf fast_tanf fast_tanhf ffs ffsll \
         finitef float2half_rn float_as_int float_as_uint frsqrt_rn hadd half2float hiloint2double int2double_rn \
         int_as_float isfinited isinfd isinff isnand isnanf llabs llmax llmin longlong_as_double max min mul24 mul64hi \
         mulhi popc popcll rcp64h rhadd sad saturatef signbitd signbitf uhadd uint2double_rn uint_as_float ullmax ullmin \
         umax umin umul24 umul64hi umulhi urhadd usad",
    ),
    (
        &["", "f"],
        "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc \
         erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp \
         lgamma llrint llround log log10 log1p log2 logb modf nan nearbyint nextafter norm norm3d norm4d normcdf \
         normcdfinv pow powi rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt scalbn sin sincos \
         sincospi sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn",
    ),
    (
        &["_rd", "_rn", "_ru", "_rz"],
        "dadd ddiv dmul double2float double2int double2ll double2uint double2ull drcp dsqrt dsub fadd fdiv float2int \
         float2ll float2uint float2ull fma fmaf fmaf_ieee fmul frcp fsqrt fsub int2float ll2double ll2float uint2float \
         ull2double ull2float",
    ),
];

/// Whether libdevice has a function with this name.
fn is_of_libdevice(name: &str) -> bool {
    let is_in = |name: &str, (endings, begins): &(&[&str], &str)| {
        let mut begin = endings.iter().filter_map(|ending| name.strip_suffix(ending));
        begin.any(|begin| begins.split_ascii_whitespace().any(|known| known == begin))
    };
    name.strip_prefix(OF_LIBDEVICE).is_some_and(|name| LIBDEVICE.iter().any(|row| is_in(name, row)))
}

/// A function without a body in the module: only its name shows its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared<'n>(&'n str);

impl<'n> Declared<'n> {
    /// `None` for a function with a body in the module: the body determines the effect, whatever the name is.
    pub fn new(name: &'n str, has_body: bool) -> Option<Self> {
        (!has_body).then_some(Self(name))
    }

    /// The effect of the function, if its name determines it.
    pub fn effect(self) -> Option<Effect> {
        let row = EFFECTS.iter().find(|(known, _)| self.0.starts_with(known));
        row.map(|(_, effect)| *effect).or_else(|| is_of_libdevice(self.0).then_some(Effect::Plain))
    }

    /// Whether the function reaches shared memory of other CTAs only through pointers that it receives. `computes` is
    /// true if its attributes show that it accesses no memory.
    pub fn stays_in_cta(self, computes: bool) -> bool {
        let begins = |names: &[&str]| names.iter().any(|known| self.0.starts_with(known));
        if begins(&[OF_NVIDIA]) {
            return !begins(&[REMOTE]) && (computes || self.effect().is_some() || begins(&OWN_MEMORY));
        }
        begins(&["llvm."]) || OF_THE_DEVICE.contains(&self.0) || self.effect().is_some()
    }
}

/// Whether an intrinsic starts an asynchronous operation, or is part of one.
pub fn is_asynchronous(name: &str) -> bool {
    let of_nvidia = name.strip_prefix(OF_NVIDIA);
    of_nvidia.is_some_and(|name| ASYNCHRONOUS.iter().any(|known| name.starts_with(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: Option<Effect>, stays: bool) {
        let declared = Declared::new(name, false).expect("it has no body");
        assert_eq!((declared.effect(), declared.stays_in_cta(false)), (expected, stays), "{name}");
        assert_eq!(Declared::new(name, true), None, "{name}");
    }

    #[test]
    fn names_give_the_effects_of_functions() {
        check("g", None, false);
        check("free", None, true);
        check("freedom", None, false);
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
        let stays = |name| Declared(name).stays_in_cta(true);
        assert!(stays("llvm.nvvm.sqrt.rn.f") && !stays("llvm.nvvm.mapa") && !stays("g"));
    }

    /// The prefix is CUDA's, which uses it for more functions than mathematics.
    #[test]
    fn libdevice_has_these_functions_alone() {
        for name in ["sinf", "sin", "abs", "fma", "fma_rn", "fmaf_ieee_rz", "sincospif", "float2half_rn"] {
            check(&format!("{OF_LIBDEVICE}{name}"), Some(Effect::Plain), true);
        }
        let others =
            ["cluster_map_shared_rank_impl", "threadfence_cluster_impl", "atomic_add", "publish", "absf", "fma_", ""];
        for name in others {
            check(&format!("{OF_LIBDEVICE}{name}"), None, false);
        }
        check("sinf", None, false);
        assert_eq!(
            LIBDEVICE.iter().map(|(endings, begins)| endings.len() * begins.split(' ').count()).sum::<usize>(),
            349
        );
    }
}
