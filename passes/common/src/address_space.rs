//! LLVM's address spaces for NVPTX, which MLIR's LLVM dialect has, too.

use ptx_lowering::ptx::Space;

/// The address spaces by number (LLVM, 'User Guide for NVPTX Back-end'), with the state spaces of PTX.
const ADDRESS_SPACES: [(u32, Space); 6] = [
    (0, Space::Generic),
    (1, Space::Global),
    (3, Space::Shared),
    (4, Space::Const),
    (5, Space::Local),
    (7, Space::SharedCluster),
];

/// The address spaces that atomics may access, in words.
pub const KNOWN: &str = "0 (generic), 1 (global), 3 (shared), 4 (const, loads only), 5 (local) and 7 (shared::cluster)";

/// The state space of LLVM's address space; `None` if atomics cannot access it.
pub fn space(number: u32) -> Option<Space> {
    ADDRESS_SPACES.iter().find(|(known, _)| *known == number).map(|(_, space)| *space)
}

/// The number of LLVM's address space.
pub fn number(space: Space) -> u32 {
    ADDRESS_SPACES.iter().find(|(_, known)| *known == space).map_or(0, |(number, _)| *number)
}
