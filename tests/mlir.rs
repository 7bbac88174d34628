//! The trials for MLIR inputs: comparisons with LLVM IR and with MLIR's own lowering, pinned outputs, and errors.

mod bad;
mod command;
mod dialect;
mod equivalence;
mod launch;
mod memref;
mod native_ops;
mod omp;
mod pinned;
mod plugin;
mod spirv;
mod table;

use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    let trials = [
        bad::trials(),
        command::trials(),
        equivalence::trials(),
        native_ops::trials(),
        launch::trials(),
        memref::trials(),
        omp::trials(),
        pinned::trials(),
        plugin::trials(),
        spirv::trials(),
        table::trials(),
    ];
    trials.into_iter().flatten().collect()
}
