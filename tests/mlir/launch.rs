//! A value that a `gpu.launch` uses from its surroundings becomes a parameter of the kernel. Such a parameter is never
//! memory of a thread, whatever memory the host allocated.

use std::fs;

use libtest_mimic::{Failed, Trial};

use testing::{ptx_atomics, success};

/// The definition of `%m` outside of the kernel or in it, and the instruction that the pass in MLIR makes of the
/// atomic.
const MEMORY: [(&str, &str, &str); 7] = [
    ("%m = memref.alloc() : memref<i32>", "", "atom.relaxed.gpu.global.add.u32"),
    ("%m = memref.alloca() : memref<i32>", "", "atom.relaxed.gpu.global.add.u32"),
    (
        "%a = memref.alloca() : memref<2xi32>\n%m = memref.reinterpret_cast %a to offset: [0], sizes: [], strides: [] : \
         memref<2xi32> to memref<i32>",
        "",
        "atom.relaxed.gpu.global.add.u32",
    ),
    (
        "%a = memref.alloca() : memref<i32>\n%m = arith.select %b, %a, %n : memref<i32>",
        "",
        "atom.relaxed.gpu.global.add.u32",
    ),
    (
        "%a = memref.alloca() : memref<i32>",
        "%m = memref.cast %a : memref<i32> to memref<i32>",
        "atom.relaxed.gpu.global.add.u32",
    ),
    ("", "%m = memref.cast %n : memref<i32> to memref<i32>", "atom.relaxed.gpu.add.u32"),
    ("", "%m = memref.alloca() : memref<i32>", "ld.local.b32"),
];

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("launch: memory of the host is not a thread's memory", check),
        Trial::test("launch: a descriptor of the host becomes an address", descriptor),
    ]
}

/// The type of the descriptor cannot be the type of a parameter, so the kernel takes the address.
fn descriptor() -> Result<(), Failed> {
    let text =
        "!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero,
          interleave = none>
        func.func @f(%c: index, %map: !map) {
          gpu.launch blocks(%bx, %by, %bz) in (%gx = %c, %gy = %c, %gz = %c)
              threads(%tx, %ty, %tz) in (%sx = %c, %sy = %c, %sz = %c) {
            nvgpu.tma.prefetch.descriptor %map : !map
            gpu.terminator
          }
          return
        }";
    let file = tempfile::Builder::new().suffix(".mlir").tempfile()?;
    fs::write(file.path(), text)?;
    let ptx = success(ptx_atomics().args(["lower", "--mattr", "+ptx80"]).arg(file.path()))?;
    assert!(ptx.contains("prefetch.tensormap"), "{ptx}");
    Ok(())
}

fn check() -> Result<(), Failed> {
    for (outside, inside, expected) in MEMORY {
        let text = format!(
            "func.func @f(%c: index, %v: i32, %n: memref<i32>, %b: i1) {{\n{outside}\n\
             gpu.launch blocks(%bx, %by, %bz) in (%gx = %c, %gy = %c, %gz = %c) \
             threads(%tx, %ty, %tz) in (%sx = %c, %sy = %c, %sz = %c) {{\n{inside}\n\
             %0 = memref.atomic_rmw addi %v, %m[] {{ptx.ordering = \"relaxed\", ptx.scope = \"gpu\"}} : (i32, memref<i32>) \
             -> i32\ngpu.terminator\n}}\nreturn\n}}\n"
        );
        let file = tempfile::Builder::new().suffix(".mlir").tempfile()?;
        fs::write(file.path(), &text)?;
        let mlir = success(ptx_atomics().args(["lower", "--emit", "mlir"]).arg(file.path()))?;
        let found: Vec<_> = mlir.lines().filter(|line| line.contains("inline_asm")).collect();
        assert!(found.len() == 1 && found[0].contains(expected), "{text}\n{found:?}");
    }
    Ok(())
}
