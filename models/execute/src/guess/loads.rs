//! The loads of a kernel from its parameters.

use ptx_isa::Type;

use crate::code::{Op, Pc, Program, Reg};

/// A load of bytes of the parameters.
pub(super) struct Load {
    /// The offset of the bytes from the beginning of all parameters.
    pub offset: u64,
    /// The number of bytes: at most 8.
    pub bytes: u64,
    pub ty: Type,
    pub register: Option<Reg>,
}

/// The steps of the kernel itself. Called functions have registers of their own.
pub(super) fn kernel_steps(program: &Program) -> std::ops::Range<usize> {
    let end = program.functions.get(1).map_or(program.steps.len(), |next| next.entry as usize);
    0..end
}

/// The loads of parameters by the kernel. `reads` are those at computed addresses.
pub(super) fn loads(program: &Program, reads: impl IntoIterator<Item = (Pc, u64, u64)>) -> Vec<Load> {
    let mut loads = Vec::new();
    for step in &program.steps[kernel_steps(program)] {
        let Op::Parameter(results, at, ty) = &step.op else { continue };
        let bytes = u64::from(ty.bits() / 8);
        loads.extend(results.iter().enumerate().map(|(index, result)| Load {
            offset: u64::from(*at) + index as u64 * bytes,
            bytes: bytes.min(8),
            ty: *ty,
            register: result.map(|(register, _)| register),
        }));
    }
    for (pc, offset, bytes) in reads {
        let Some(Op::Access(of)) = program.steps.get(pc as usize).map(|step| &step.op) else { continue };
        // Each element of a vector is recorded as a field, and the address is a multiple of the size of the vector.
        let element = (offset / of.bytes.max(1)) as usize % of.results.len().max(1);
        let register = of.results.get(element).copied().flatten().map(|(register, _)| register);
        loads.push(Load { offset, bytes: bytes.min(8), ty: of.ty, register });
    }
    loads
}
