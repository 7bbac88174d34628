//! The atomics of the languages through the plugin: every atomic method of Rust's `core`, and every atomic builtin of
//! clang.

use std::{fmt::Write, path::Path};

use itertools::{Itertools, iproduct};
use libtest_mimic::Failed;

use testing::{ASSEMBLERS, ptx_atomics, success, target};

use crate::plugin::hosts::{Compiled, Host};

const ORDERS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
const OF_LOADS: [&str; 3] = ["Relaxed", "Acquire", "SeqCst"];
const OF_STORES: [&str; 3] = ["Relaxed", "Release", "SeqCst"];

/// An atomic type of `core`, the type of its value, and its read-modify-writes with their further arguments.
type RustType = (&'static str, &'static str, &'static [&'static str]);

const INTEGER: &[&str] = &[
    "swap(v,",
    "fetch_add(v,",
    "fetch_sub(v,",
    "fetch_and(v,",
    "fetch_nand(v,",
    "fetch_or(v,",
    "fetch_xor(v,",
    "fetch_max(v,",
    "fetch_min(v,",
];
const BOOL: &[&str] = &["swap(v,", "fetch_and(v,", "fetch_nand(v,", "fetch_or(v,", "fetch_xor(v,", "fetch_not("];
const POINTER: &[&str] = &[
    "swap(v,",
    "fetch_ptr_add(n,",
    "fetch_ptr_sub(n,",
    "fetch_byte_add(n,",
    "fetch_byte_sub(n,",
    "fetch_or(n,",
    "fetch_and(n,",
    "fetch_xor(n,",
];

pub const RUST_TYPES: [RustType; 12] = [
    ("AtomicBool", "bool", BOOL),
    ("AtomicI8", "i8", INTEGER),
    ("AtomicU8", "u8", INTEGER),
    ("AtomicI16", "i16", INTEGER),
    ("AtomicU16", "u16", INTEGER),
    ("AtomicI32", "i32", INTEGER),
    ("AtomicU32", "u32", INTEGER),
    ("AtomicI64", "i64", INTEGER),
    ("AtomicU64", "u64", INTEGER),
    ("AtomicIsize", "isize", INTEGER),
    ("AtomicUsize", "usize", INTEGER),
    ("AtomicPtr<u8>", "*mut u8", POINTER),
];

/// A crate with a function for each method and each legal ordering, and the number of functions.
pub fn rust(ty: RustType) -> (String, usize) {
    let (atomic, value, rmws) = ty;
    let mut bodies = Vec::new();
    bodies.extend(OF_LOADS.map(|order| format!("*out = p.load({order})")));
    bodies.extend(OF_STORES.map(|order| format!("p.store(v, {order})")));
    bodies.extend(iproduct!(rmws, ORDERS).map(|(rmw, order)| format!("*out = p.{rmw} {order})")));
    for (success, failure) in iproduct!(ORDERS, OF_LOADS) {
        for exchange in ["compare_exchange", "compare_exchange_weak"] {
            bodies.push(format!("if let Ok(old) = p.{exchange}(v, w, {success}, {failure}) {{ *out = old }}"));
        }
        bodies.push(format!("if let Ok(old) = p.fetch_update({success}, {failure}, |_| Some(v)) {{ *out = old }}"));
    }
    if atomic == "AtomicU32" {
        bodies.extend(ORDERS[1..].iter().map(|order| format!("fence({order})")));
    }
    let mut text = "#![no_std]\n#![feature(abi_ptx)]\n#![allow(warnings)]\nuse core::sync::atomic::{*, Ordering::*};\n\
                    #[panic_handler]\nfn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n"
        .to_owned();
    for (index, body) in bodies.iter().enumerate() {
        let parameters = format!("p: &{atomic}, v: {value}, w: {value}, n: usize, out: *mut {value}");
        writeln!(
            text,
            "#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn k{index}({parameters}) {{ {body}; }}"
        )
        .expect("a string takes everything");
    }
    (text, bodies.len())
}

const C_ORDERS: [&str; 5] =
    ["__ATOMIC_RELAXED", "__ATOMIC_ACQUIRE", "__ATOMIC_RELEASE", "__ATOMIC_ACQ_REL", "__ATOMIC_SEQ_CST"];
const SCOPES: [&str; 5] = ["SYSTEM", "DEVICE", "WRKGRP", "WVFRNT", "SINGLE"];

/// C types, with clang's read-modify-writes for them.
const C_TYPES: [(&str, &[&str]); 8] = [
    ("signed char", C_INTEGER),
    ("unsigned char", C_INTEGER),
    ("unsigned short", C_INTEGER),
    ("int", C_INTEGER),
    ("unsigned", C_INTEGER),
    ("unsigned long", C_INTEGER),
    ("float", C_FLOAT),
    ("double", C_FLOAT),
];
const C_INTEGER: &[&str] = &[
    "exchange_n",
    "fetch_add",
    "fetch_sub",
    "fetch_and",
    "fetch_or",
    "fetch_xor",
    "fetch_nand",
    "fetch_max",
    "fetch_min",
    "add_fetch",
    "sub_fetch",
    "and_fetch",
    "or_fetch",
    "xor_fetch",
    "nand_fetch",
    "max_fetch",
    "min_fetch",
];
const C_FLOAT: &[&str] = &["fetch_add", "fetch_sub", "fetch_max", "fetch_min"];

/// clang's atomic builtins for CUDA: the name, and the type of the value.
const CUDA: [(&str, &[(&str, &str)]); 10] = [
    ("add", &[("i", "int"), ("l", "long"), ("ll", "long long"), ("f", "float"), ("d", "double")]),
    ("xchg", &[("i", "int"), ("l", "long"), ("ll", "long long")]),
    ("max", &[("i", "int"), ("ui", "unsigned"), ("ll", "long long"), ("ull", "unsigned long long")]),
    ("min", &[("i", "int"), ("ui", "unsigned"), ("ll", "long long"), ("ull", "unsigned long long")]),
    ("inc", &[("ui", "unsigned")]),
    ("dec", &[("ui", "unsigned")]),
    ("and", &[("i", "int"), ("l", "long"), ("ll", "long long")]),
    ("or", &[("i", "int"), ("l", "long"), ("ll", "long long")]),
    ("xor", &[("i", "int"), ("l", "long"), ("ll", "long long")]),
    ("cas", &[("us", "unsigned short"), ("i", "int"), ("l", "long"), ("ll", "long long")]),
];

/// Programs with a function for each builtin, type and ordering, in one scope each; and one with the builtins of CUDA.
pub fn clang() -> Vec<(String, &'static str, String, usize)> {
    let mut programs = Vec::new();
    for scope in SCOPES {
        let scope_value = format!("__MEMORY_SCOPE_{scope}");
        let mut kernels = Vec::new();
        for (ty, rmws) in C_TYPES {
            let mut add = |body: String| kernels.push((ty, body));
            if !ty.starts_with("float") && !ty.starts_with("double") {
                let at = |index: usize| C_ORDERS[index];
                for order in [0, 1, 4] {
                    add(format!("*out = __scoped_atomic_load_n(p, {}, {scope_value})", at(order)));
                }
                for order in [0, 2, 4] {
                    add(format!("__scoped_atomic_store_n(p, v, {}, {scope_value})", at(order)));
                }
                for (success, failure) in iproduct!(C_ORDERS, [0, 1, 4]) {
                    let orders = format!("{success}, {}, {scope_value}", at(failure));
                    add(format!("if (__scoped_atomic_compare_exchange_n(p, &w, v, 0, {orders})) *out = w"));
                }
            }
            for (rmw, order) in iproduct!(rmws, C_ORDERS) {
                add(format!("*out = __scoped_atomic_{rmw}(p, v, {order}, {scope_value})"));
            }
        }
        for order in &C_ORDERS[1..] {
            kernels.push(("int", format!("__scoped_atomic_thread_fence({order}, {scope_value})")));
        }
        programs.push((
            format!("scoped atomics, {scope}"),
            "c",
            c_kernels(&kernels, "__attribute__((device_kernel))"),
            kernels.len(),
        ));
    }
    let mut kernels = Vec::new();
    for (op, types) in CUDA {
        for ((suffix, ty), scope) in iproduct!(types, ["", "cta_", "sys_"]) {
            let last = if op == "cas" { "v, w" } else { "v" };
            kernels.push((*ty, format!("*out = __nvvm_atom_{scope}{op}_gen_{suffix}(p, {last})")));
        }
    }
    for fence in ["cta", "gl", "sys"] {
        kernels.push(("int", format!("__nvvm_membar_{fence}()")));
    }
    programs.push((
        "CUDA's builtins".into(),
        "cu",
        c_kernels(&kernels, "extern \"C\" __attribute__((global))"),
        kernels.len(),
    ));
    let (variables, count) = variables();
    programs.push(("CUDA's variables".into(), "cu", variables, count));
    programs
}

/// Kernels on variables of the program: device and block variables, visible to other files or not.
fn variables() -> (String, usize) {
    let types = ["unsigned char", "short", "int", "unsigned long long"];
    let places = ["device", "shared"];
    let variables = iproduct!(types, places, ["", "static "]).enumerate().map(|(index, (ty, place, linkage))| {
        let variable = format!("{linkage}__attribute__(({place})) {ty} v{index}[4];");
        let adds = "__atomic_fetch_add(&VARIABLE[0], 1, 0) + __atomic_fetch_add(&VARIABLE[2], 1, 4)";
        let body =
            format!("*out = {adds} + __atomic_load_n(&VARIABLE[1], 2);").replace("VARIABLE", &format!("v{index}"));
        format!("{variable}\nextern \"C\" __attribute__((global)) void k{index}({ty} *out) {{ {body} }}\n")
    });
    (variables.clone().collect(), variables.count())
}

fn c_kernels(kernels: &[(&str, String)], attribute: &str) -> String {
    let kernel = |(index, (ty, body)): (usize, &(&str, String))| {
        format!("{attribute} void k{index}({ty} *p, {ty} v, {ty} w, {ty} *out) {{ {body}; }}\n")
    };
    kernels.iter().enumerate().map(kernel).join("")
}

/// The targets, and the levels of optimization.
const TARGETS: [(&str, &str, &str); 5] = [
    ("sm_70", "ptx63", "2"),
    ("sm_90", "ptx86", "0"),
    ("sm_90", "ptx86", "1"),
    ("sm_90", "ptx86", "2"),
    ("sm_90", "ptx86", "3"),
];

/// Compiles a program by a host with the plugin. In the smaller sample, a program is compiled for one of the targets in
/// turn. The checker must find every atomic of the module kept, and ptxas must accept the PTX.
pub fn check(host: Host, suffix: &str, text: &str, functions: usize, turn: usize) -> Result<(), Failed> {
    let source = tempfile::Builder::new().prefix("kernels").suffix(&format!(".{suffix}")).tempfile()?;
    std::fs::write(source.path(), text)?;
    let targets = if testing::all() { &TARGETS[..] } else { &TARGETS[turn % TARGETS.len()..][..1] };
    for (gpu, version, level) in targets.iter().copied() {
        let Compiled { before, ptx } = host.compile_for(source.path(), level, gpu, version)?;
        let entries = ptx.matches(".visible .entry").count();
        assert_eq!(entries, functions, "kernels in the PTX");
        judge(&before, &ptx)?;
        let target = target(gpu, Some(version));
        let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target));
        known.try_for_each(|assembler| assembler.assemble(&target, ptx.as_bytes()))?;
    }
    Ok(())
}

/// Runs the independent checker on a module and its PTX.
pub fn judge(ir: &str, ptx: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str, text: &str| -> Result<_, Failed> {
        let path = folder.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path)
    };
    let (ir, ptx): (_, _) = (file("before.ll", ir)?, file("after.ptx", ptx)?);
    let path = |path: &Path| path.display().to_string();
    success(ptx_atomics().args(["check", "--ir", &path(&ir), "--ptx", &path(&ptx)])).map(drop)
}
