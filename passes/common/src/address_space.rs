//! LLVM's address spaces for NVPTX. MLIR's LLVM dialect has the same address spaces.

use ptx_lowering::ptx::Space;

/// The address spaces by number (LLVM, 'User Guide for NVPTX Back-end'), each with its PTX state space.
const ADDRESS_SPACES: [(u32, Space); 6] = [
    (0, Space::Generic),
    (1, Space::Global),
    (3, Space::Shared),
    (4, Space::Const),
    (5, Space::Local),
    (7, Space::SharedCluster),
];

/// The address spaces that atomics may access, as text for messages.
pub const KNOWN: &str = "0 (generic), 1 (global), 3 (shared), 4 (const, loads only), 5 (local) and 7 (shared::cluster)";

/// The state space of an LLVM address space; `None` if atomics cannot access it.
pub fn space(number: u32) -> Option<Space> {
    ADDRESS_SPACES.iter().find(|(known, _)| *known == number).map(|(_, space)| *space)
}

/// The number of the LLVM address space for a state space.
pub fn number(space: Space) -> u32 {
    ADDRESS_SPACES.iter().find(|(_, known)| *known == space).map_or(0, |(number, _)| *number)
}
