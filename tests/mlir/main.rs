//! MLIR in: against LLVM IR, against MLIR's own lowering, pinned, and wrong.

#[path = "../grid/cells.rs"]
mod cells;
mod dialect;
mod equivalence;
mod kept;
mod memref;
mod omp;
mod pinned;
mod plugin;
#[path = "../../lowering/tests/reasons/mod.rs"]
mod reasons;
mod spirv;
#[path = "../support/mod.rs"]
mod support;
mod table;

use libtest_mimic::Arguments;

fn main() {
    let trials = [
        equivalence::trials(),
        kept::trials(),
        memref::trials(),
        omp::trials(),
        pinned::trials(),
        plugin::trials(),
        spirv::trials(),
        table::trials(),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit();
}
