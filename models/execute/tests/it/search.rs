//! The launches that the search finds for kernels without a description.

use ptx_execute::{End, Given, SearchBudget, Tried, search};
use ptx_isa::{Module, Stop};

fn best(body: &str) -> Tried {
    best_for("sm_90", body)
}

fn best_for(gpu: &str, body: &str) -> Tried {
    best_of(gpu, 32, body)
}

fn best_of(gpu: &str, most: u32, body: &str) -> Tried {
    let text = format!(
        ".version 8.0\n.target {gpu}\n.address_size 64\n.visible .entry kernel(.param .align 8 .b8 p[16])\n.maxntid {most}\n{{\n\
         .reg .pred %p;\n.reg .b32 %r;\n.reg .b64 %d;\n{body}\nret;\n}}\n"
    );
    let module: Module = text.parse().expect("a module");
    let found =
        search(&module, "kernel", &Given::default(), &SearchBudget::default(), &Stop::never()).expect("launches");
    found.into_iter().next().expect("one")
}

/// The upper part of a wide number that is also loaded separately is a separate number. It is not zero just because the
/// whole number is small.
#[test]
fn numbers_that_are_loaded_together() {
    let tried = best("ld.param.b64 %d, [p];\nld.param.b32 %r, [p+4];\nsetp.eq.u32 %p, %r, 0;\n@%p trap;");
    assert_eq!((tried.end, tried.launch.arguments()), (End::Ended, vec!["p+0=256".into(), "p+4=256".into()]));
    let tried = best("ld.param.b64 %d, [p];\nsetp.eq.u64 %p, %d, 0;\n@%p trap;");
    assert_eq!((tried.end, tried.launch.arguments()), (End::Ended, vec!["p+0=256".into()]));
}

/// Memory of a lock, a counter or a flag begins with zero, as in a real program. Data begins with numbers.
#[test]
fn buffers_of_strong_accesses_begin_with_zeros() {
    for access in [
        "atom.relaxed.gpu.global.cas.b32 %r, [%d], 0, 1;",
        "red.relaxed.gpu.global.add.u32 [%d], 1;",
        "ld.acquire.gpu.global.b32 %r, [%d];",
    ] {
        let tried = best(&format!("ld.param.b64 %d, [p+8];\n{access}\nld.param.b64 %d, [p];\nld.global.b32 %r, [%d];"));
        let arguments = vec!["p+0:u32[]=small".to_owned(), "p+8:u32[]".to_owned()];
        assert_eq!((tried.end, tried.launch.arguments()), (End::Ended, arguments), "{access}");
    }
}

/// The kernel stops itself if its cluster has a single CTA.
#[test]
fn clusters_where_the_gpu_has_them() {
    let body = "mov.u32 %r, %cluster_nctarank;\nsetp.eq.u32 %p, %r, 1;\n@%p trap;";
    assert_eq!(best_for("sm_90", body).launch.size.cluster, [2, 1, 1]);
    assert_eq!(best_for("sm_80", body).launch.size.cluster, [1, 1, 1]);
}

/// The kernel stops itself in the CTA for which it is compiled. All four warps of a warpgroup change their registers.
#[test]
fn blocks_that_change_registers_have_whole_warpgroups() {
    let body = |change: &str| format!("mov.u32 %r, %ntid.x;\nsetp.eq.u32 %p, %r, 256;\n@%p trap;\n{change}");
    for (change, block) in [("", 32), ("setmaxnreg.dec.sync.aligned.u32 40;", 128)] {
        assert_eq!(best_of("sm_90a", 256, &body(change)).launch.size.block, [block, 1, 1], "{change}");
    }
}

#[test]
fn addresses_that_are_loaded_as_elements_of_a_vector() {
    let body = "mov.b64 %d, p;\ncvta.param.u64 %d, %d;\n.reg .b64 %e, %f;\nld.param.v2.b64 {%e, %f}, [%d];\n\
                ld.global.b32 %r, [%f];";
    assert_eq!(best(body).launch.arguments(), ["p+0=256", "p+8:u32[]=small"]);
}

/// The kernel uses the field as an address only in a launch in which another field is not zero.
#[test]
fn numbers_become_addresses_at_a_later_use() {
    let body = "mov.b64 %d, p;\ncvta.param.u64 %d, %d;\n.reg .b64 %e, %f;\nld.param.b64 %e, [%d];\n\
                setp.eq.u64 %p, %e, 7;\n@%p bra end;\nld.param.b32 %r, [%d+8];\nsetp.eq.u32 %p, %r, 0;\n@%p bra end;\n\
                ld.param.b64 %f, [%d];\nld.global.b32 %r, [%f];\nend:";
    assert_eq!(best(body).launch.arguments(), ["p+0:u32[]=small", "p+8=256"]);
}

/// The loads do not tell the type, since newer compilers load all words as `.b32`.
#[test]
fn operands_of_floating_point_arithmetic_are_numbers_like_one() {
    let uses = [
        ("add.f32 %r, %r, 0f00000000;", true),
        (".reg .b32 %s; mov.b32 %s, %r; ex2.approx.f32 %s, %s;", true),
        ("setp.lt.f32 %p, %r, 0f00000000;", true),
        ("add.s32 %r, %r, 1;", false),
        (".reg .b32 %s; cvt.rn.f32.s32 %s, %r;", false),
    ];
    for (body, is_float) in uses {
        let number = if is_float { 1f32.to_bits() } else { 256 };
        let tried = best(&format!("ld.param.b32 %r, [p];\n{body}"));
        assert_eq!(tried.launch.arguments(), [format!("p+0={number}")], "{body}");
    }
}

/// The kernel traps if the quotient of 1000 by the divisor, which the multiplier and the shift give, is wrong.
#[test]
fn multipliers_and_shifts_fit_their_divisor() {
    let body = ".reg .b32 %n<4>; .reg .b32 %q<2>;\nld.param.b32 %n0, [p];\nld.param.b32 %n1, [p+4];\nld.param.b32 %n2, [p+8];\n\
                mul.hi.u32 %q0, %n1, 1000;\nshr.u32 %q0, %q0, %n2;\nmov.b32 %r, 1000;\ndiv.u32 %q1, %r, %n0;\n\
                setp.ne.u32 %p, %q0, %q1;\n@%p trap;";
    let tried = best(body);
    let arguments = ["p+0=256", "p+4=2147483648", "p+8=7"].map(str::to_owned).to_vec();
    assert_eq!((tried.end, tried.launch.arguments()), (End::Ended, arguments));
}
