//! The optimization of atomics and fences before lowering.
//!
//! `ptx-optimize` decides the changes. This module gives it functions of MLIR ([`feed`]), and applies its changes to
//! them ([`apply`]). All atomics are ops of the LLVM dialect at this point.

mod apply;
mod effect;
mod feed;
mod shared;

use ptx_atomics_common::{Options, Outcome, Remark};
use ptx_optimize::{Rewrite, Rewrites};
use strum::IntoEnumIterator;

use self::{effect::Bodies, feed::Asked};
use crate::{
    device::device_ops,
    diagnostic::{FUNCTIONS, function_of, location_of},
    ir::{self, Op},
    recognize,
    vocabulary::is_atomic,
};

/// Optimizes every function of the device code in an op, in place, and returns the remarks.
pub fn optimize(root: Op<'_, '_>, options: &Options) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for device in device_ops(root) {
        let is_function = |op: &Op<'_, '_>| FUNCTIONS.contains(&ir::name(*op)) || ir::name(*op) == "gpu.launch";
        let functions: Vec<_> = ir::all(device).into_iter().filter(is_function).collect();
        let bodies = Bodies::around(device);
        let obstacles = shared::obstacles(device, &functions, &bodies, &options.target);
        for (function, obstacle) in functions.into_iter().zip(obstacles) {
            remarks.extend(rewrite(function, obstacle, &bodies, options));
        }
    }
    remarks
}

fn rewrite(function: Op<'_, '_>, obstacle: Option<String>, bodies: &Bodies, options: &Options) -> Vec<Remark> {
    let Some(first) = ir::all(function).into_iter().find(|op| is_atomic(ir::name(*op))) else { return Vec::new() };
    let Ok(policy) = recognize::policy(first, options) else { return Vec::new() };
    let atomic = |op| {
        let planned = is_atomic(ir::name(op)).then(|| recognize::plan_op(op, options).ok())???;
        let (asked, replacement) = planned.asked.into_iter().next()?;
        Some(Asked { op: replacement.op, address: asked.address.map(|(pointer, _)| pointer) })
    };
    let Some(fed) = feed::feed(function, obstacle, bodies, atomic) else { return Vec::new() };
    let mut after = fed.function.clone();
    let rewrites = if fed.is_structured { without_edges(options.optimize) } else { options.optimize };
    let rewriting =
        ptx_optimize::OptimizeOptions { rewrites, ..ptx_optimize::OptimizeOptions::new(policy, options.target) };
    let said = ptx_optimize::optimize(&mut after, &rewriting);
    let remark = |remark: ptx_optimize::Remark| {
        let (op, _) = *fed.ops.get(remark.id)?;
        let planned = recognize::plan_op(op, options).ok()??;
        let ptx_optimize::Remark { rewrite, applied, message, .. } = remark;
        Some(Remark {
            function: function_of(op).unwrap_or_default(),
            location: location_of(op),
            operation: planned.remarks().next()?.operation,
            outcome: Outcome::Optimized { rewrite, applied, message },
        })
    };
    let remarks = said.into_iter().filter(|_| options.remarks).filter_map(remark).collect();
    if after != fed.function {
        apply::apply(&fed, &after, options.default_scope);
    }
    remarks
}

/// The rewrites that insert no fence on an edge.
fn without_edges(rewrites: Rewrites) -> Rewrites {
    let others = Rewrite::iter().filter(|rewrite| *rewrite != Rewrite::Loops && rewrites.has(*rewrite));
    others.fold(Rewrites::NONE, Rewrites::with)
}

#[cfg(test)]
mod tests {
    use melior::ir::operation::OperationLike;
    use ptx_atomics_common::Input;
    use ptx_lowering::Target;
    use ptx_optimize::Rewrites;

    use super::*;
    use crate::{context, device_code, lower, read};

    /// Checks the inline assembly that ops of functions become for sm_90, by the beginning of each line, and the
    /// remarks about rewrites that were not applied.
    fn check(ops: &str, expected: &[&str], missed: &[&str]) {
        let text = format!(
            "gpu.module @kernels {{
               llvm.mlir.global internal @shared() {{addr_space = 3 : i32}} : i32
               llvm.func @g()
               llvm.func @__nv_abs(i32) -> i32
               llvm.func @__nv_atomic_add(!llvm.ptr, i32) -> i32
               llvm.func @__nv_cos(%x: i32) -> i32 {{ llvm.return %x : i32 }}
               llvm.func weak @free() {{ llvm.return }}
               llvm.mlir.global internal @managed(0 : i32) {{addr_space = 1 : i32, nvvm.managed}} : i32
               {ops}
             }}"
        );
        let context = context();
        let mut module = read(&context, &Input::new("f.mlir", text)).expect("MLIR");
        let target = Target::new("sm_90".parse().expect("a GPU"), Some("ptx86".parse().expect("a version")));
        let options = Options { optimize: Rewrites::all(), remarks: true, ..Options::new(target.expect("a target")) };
        let mut device = device_code(&mut module);
        let remarks = device.iter_mut().flat_map(|device| lower(device, &options).expect("a lowering"));
        let remarks: Vec<_> = remarks.collect();
        let all = ir::all(module.as_operation()).into_iter().filter(|op| ir::name(*op) == "llvm.inline_asm");
        let texts = all.filter_map(|op| ir::string(ir::inherent(op, "asm_string")?));
        let words: Vec<_> = texts.map(|text| text.split(' ').next().unwrap_or_default().to_owned()).collect();
        assert_eq!(words, expected, "{ops}");
        let said: Vec<_> = remarks.into_iter().filter(Remark::is_missed).map(|remark| remark.outcome).collect();
        let said = said.iter().map(|outcome| match outcome {
            Outcome::Optimized { message, .. } => message.as_str(),
            Outcome::Lowered { .. } | Outcome::Inserted { .. } => "",
        });
        assert_eq!(said.collect::<Vec<_>>(), missed, "{ops}");
        assert!(module.as_operation().verify(), "{ops}");
    }

    /// The same check for ops in a kernel.
    fn check_kernel(ops: &str, expected: &[&str]) {
        let arguments = "%p: !llvm.ptr<1>, %m: memref<4xi32, 3>, %n: index, %one: i32, %c: i1";
        check(&format!("gpu.func @k({arguments}) kernel {{ {ops} gpu.return }}"), expected, &[]);
    }

    const RMW: &str =
        "%x = memref.atomic_rmw addi %one, %m[%n] {ptx.ordering = \"acq_rel\"} : (i32, memref<4xi32, 3>) -> i32";
    const LOAD: &str = "%y = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32";
    const NARROW: &str = "atom.acq_rel.cta.shared.add.u32";
    const WIDE: &str = "atom.acq_rel.cluster.shared.add.u32";

    #[test]
    fn scopes_follow_from_the_accesses_of_a_kernel() {
        // An access that follows the atomic, so that the atomic orders something.
        let then = "llvm.store %one, %p : i32, !llvm.ptr<1>";
        let around = |before: &str| format!("{then} {before} {RMW} {then}");
        check_kernel(&around(""), &[NARROW]);
        check_kernel(&around("gpu.barrier nvvm.barrier0"), &[NARROW]);
        check_kernel(&around("llvm.call @g() : () -> ()"), &[WIDE]);
        let remote =
            "%s = llvm.mlir.addressof @shared : !llvm.ptr<3> %r = nvvm.mapa %s, %one : !llvm.ptr<3> -> !llvm.ptr<7>";
        check_kernel(&around(remote), &[WIDE]);
        let assembly = |text: &str| format!("llvm.inline_asm has_side_effects \"{text}\", \"\" : () -> ()");
        check_kernel(&around(&assembly("mapa.u32 a, b, c;")), &["mapa.u32", WIDE]);
        check_kernel(&around(&assembly("frobnicate a;")), &["frobnicate", WIDE]);
        // The name of a function with a body in the module determines nothing, and another definition may replace a
        // weak one.
        let call = |name: &str| format!("%v = llvm.call @{name}(%one) : (i32) -> i32");
        check_kernel(&around(&call("__nv_abs")), &[NARROW]);
        check_kernel(&around(&call("__nv_cos")), &[NARROW]);
        check_kernel(&around("llvm.call @free() : () -> ()"), &[WIDE]);
        let atomic =
            "%z = llvm.mlir.zero : !llvm.ptr %v = llvm.call @__nv_atomic_add(%z, %one) : (!llvm.ptr, i32) -> i32";
        check_kernel(&around(atomic), &[WIDE]);
    }

    /// A release fence in a kernel stays if an op after it may be an atomic write.
    #[test]
    fn unknown_ops_may_have_any_effect() {
        let fence = "llvm.store %one, %p : i32, !llvm.ptr<1> llvm.fence release";
        let kept = |following: &str| check_kernel(&format!("{fence} {following}"), &["fence.release.sys;"]);
        let gone = |following: &str| check_kernel(&format!("{fence} {following}"), &[]);
        gone("");
        gone("%v = llvm.call @__nv_abs(%one) : (i32) -> i32");
        kept("%v = llvm.call @__nv_cos(%one) : (i32) -> i32");
        kept("%z = llvm.mlir.zero : !llvm.ptr %v = llvm.call @__nv_atomic_add(%z, %one) : (!llvm.ptr, i32) -> i32");
    }

    /// A store after a release fence becomes relaxed if no access lies between them.
    #[test]
    fn accesses_of_every_op_are_seen() {
        let store = "llvm.store %one, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>";
        let fence = "llvm.fence release";
        let (released, relaxed) = ("st.release.sys.global.b32", "st.relaxed.sys.global.b32");
        let check = |between: &str, store_is: &str| {
            let setup = "%s = llvm.mlir.constant(4 : i64) : i64 %e = llvm.mlir.constant(4 : i32) : i32
                %l = llvm.mlir.undef : vector<4xi1> %f = llvm.mlir.undef : vector<4xf32> %ps = llvm.mlir.undef : vector<4x!llvm.ptr<1>>";
            super::tests::check(
                &format!(
                    "llvm.func @f(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %one: i32) {{ {setup} {fence} {between} {store} llvm.return }}"
                ),
                &["fence.release.sys;", store_is],
                &[],
            );
        };
        check("", relaxed);
        check("%g = llvm.getelementptr %q[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32", relaxed);
        check(
            "%t = llvm.intr.matrix.transpose %f {rows = 2 : i32, columns = 2 : i32} : vector<4xf32> into vector<4xf32>",
            relaxed,
        );
        for access in [
            "%v = llvm.load %q : !llvm.ptr<1> -> i32",
            "%v = llvm.intr.matrix.column.major.load %q, <stride=%s> {isVolatile = 0 : i1, rows = 2 : i32, columns = 2 : i32} : vector<4xf32> from !llvm.ptr<1> stride i64",
            "llvm.intr.matrix.column.major.store %f, %q, <stride=%s> {isVolatile = 0 : i1, rows = 2 : i32, columns = 2 : i32} : vector<4xf32> to !llvm.ptr<1> stride i64",
            "%v = llvm.intr.masked.load %q, %l, %f {alignment = 4 : i32} : (!llvm.ptr<1>, vector<4xi1>, vector<4xf32>) -> vector<4xf32>",
            "%v = llvm.intr.masked.gather %ps, %l {alignment = 4 : i32} : (vector<4x!llvm.ptr<1>>, vector<4xi1>) -> vector<4xf32>",
            "llvm.intr.masked.scatter %f, %ps, %l {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into vector<4x!llvm.ptr<1>>",
            "%v = \"llvm.intr.vp.load\"(%q, %l, %e) : (!llvm.ptr<1>, vector<4xi1>, i32) -> vector<4xf32>",
            "\"llvm.intr.experimental.vp.strided.store\"(%f, %q, %s, %l, %e) : (vector<4xf32>, !llvm.ptr<1>, i64, vector<4xi1>, i32) -> ()",
            "\"llvm.intr.memcpy\"(%q, %q, %s) <{isVolatile = false}> : (!llvm.ptr<1>, !llvm.ptr<1>, i64) -> ()",
        ] {
            check(access, released);
        }
    }

    /// On a function that a kernel calls, the attribute has no meaning.
    #[test]
    fn kernels_alone_say_how_many_threads_a_cta_has() {
        let body = "{ llvm.store %one, %p : i32, !llvm.ptr<1> llvm.fence syncscope(\"block\") release llvm.return }";
        let with = |words: &str| {
            format!(
                "llvm.func @f(%p: !llvm.ptr<1>, %one: i32) attributes {{ nvvm.reqntid = array<i32: 1, 1, 1> {words} }} {body}"
            )
        };
        check(&with(", nvvm.kernel"), &[], &[]);
        check(&with(""), &["fence.release.cta;"], &[]);
    }

    /// A managed variable is one object for the host and all GPUs.
    #[test]
    fn a_managed_variable_is_of_the_system() {
        let add = "%a = llvm.mlir.addressof @managed : !llvm.ptr<1> %v = llvm.atomicrmw add %a, %one acq_rel : !llvm.ptr<1>, i32";
        let then = "llvm.store %one, %p : i32, !llvm.ptr<1>";
        check_kernel(&format!("{then} {add} {then}"), &["atom.acq_rel.sys.global.add.u32"]);
    }

    /// No op may separate a `musttail` call from its return.
    #[test]
    fn fences_stand_in_front_of_tail_calls() {
        let spin = format!(
            "llvm.func @f(%p: !llvm.ptr<1>, %one: i32) -> i32 {{
               llvm.br ^spin
             ^spin:
               {LOAD}
               %done = llvm.icmp \"eq\" %y, %one : i32
               llvm.cond_br %done, ^out, ^spin
             ^out:
               %r = llvm.call musttail @__nv_abs(%one) : (i32) -> i32
               llvm.return %r : i32
             }}"
        );
        check(&spin, &["ld.relaxed.sys.global.b32", "fence.acquire.sys;"], &[]);
        let context = context();
        let text = format!("gpu.module @kernels {{ llvm.func @__nv_abs(i32) -> i32 {spin} }}");
        let mut module = read(&context, &Input::new("f.mlir", text)).expect("MLIR");
        let target = Target::new("sm_90".parse().expect("a GPU"), Some("ptx86".parse().expect("a version")));
        let options = Options { optimize: Rewrites::all(), ..Options::new(target.expect("a target")) };
        device_code(&mut module).iter_mut().for_each(|device| drop(lower(device, &options).expect("a lowering")));
        let names: Vec<_> = ir::all(module.as_operation()).into_iter().map(ir::name).collect();
        let call = names.iter().rposition(|name| *name == "llvm.call").expect("the call");
        assert_eq!(names[call - 1..=call + 1], ["llvm.inline_asm", "llvm.call", "llvm.return"]);
    }

    #[test]
    fn loops_of_blocks_order_once() {
        let spin = |body: &str| {
            format!(
                "llvm.func @f(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %one: i32, %c: i1) {{
                   llvm.cond_br %c, ^out(%one : i32), ^spin
                 ^spin:
                   {LOAD} {body}
                   %done = llvm.icmp \"eq\" %y, %one : i32
                   llvm.cond_br %done, ^out(%y : i32), ^spin
                 ^out(%z: i32):
                   llvm.store %z, %q : i32, !llvm.ptr<1>
                   llvm.return
                 }}"
            )
        };
        check(&spin(""), &["ld.relaxed.sys.global.b32", "fence.acquire.sys;"], &[]);
        let other = "llvm.store %one, %q : i32, !llvm.ptr<1>";
        check(&spin(other), &["ld.acquire.sys.global.b32"], &["the loop also accesses other memory"]);
    }

    #[test]
    fn operations_in_regions_keep_their_order() {
        let region = |inside: &str| {
            format!(
                "%low = arith.constant 0 : index %step = arith.constant 1 : index scf.for %i = %low to %n step %step {{ {inside} }}"
            )
        };
        let acquire = "ld.acquire.sys.global.b32";
        let then = "llvm.store %one, %p : i32, !llvm.ptr<1>";
        check_kernel(&region(&format!("{LOAD} {then}")), &[acquire]);
        // After an iteration of the loop follow another iteration, and the ops after the loop.
        check_kernel(&format!("{} {then}", region(LOAD)), &[acquire]);
        check_kernel(&format!("scf.if %c {{ {then} {RMW} {then} }}"), &[NARROW]);
        // An atomic read keeps its fence if the second fence depends on that read, too.
        let (relaxed, fence) = ("ld.relaxed.sys.global.b32", "fence.acquire.sys;");
        let again = "llvm.fence acquire";
        check_kernel(&format!("{LOAD} {again} scf.if %c {{ {again} {then} }}"), &[relaxed, fence]);
        let lost = format!(
            "{LOAD} {again} scf.if %c {{ {} {again} {then} }}",
            LOAD.replace("%y", "%z").replace("acquire", "monotonic")
        );
        check_kernel(&lost, &[relaxed, fence, relaxed, fence]);
    }
}
