//! PTX to kernels.

use ptx_isa::Module;

use crate::kernel::Kernel;

/// The kernels of a module.
pub fn read(_module: &Module) -> Vec<Kernel> {
    Vec::new()
}
