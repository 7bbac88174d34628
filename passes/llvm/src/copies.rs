//! The check that a compiler and this crate use the same copy of LLVM.
//!
//! A process can contain several copies, such as a shared library and archives. Types of two copies look alike, but
//! each copy has its own registry of targets and its own options, so that a call with a value of the other copy fails
//! in ways that are hard to explain.

use inkwell::targets::TargetMachine;
use ptx_atomics_common::{Diagnostic, Errors};
use ptx_atomics_version::MAJOR;

use crate::version;

/// Checks that the code generator belongs to the LLVM whose functions this crate calls, and that this LLVM has the
/// version for which the crate is built.
///
/// # Errors
/// An error that names both versions, or the files with the two copies.
pub fn require_one_llvm(machine: &TargetMachine) -> Result<(), Errors> {
    let [major, minor, patch] = version::exact();
    if major != MAJOR {
        let message = format!("expected LLVM {MAJOR}, found LLVM {major}.{minor}.{patch} in this process");
        let help = format!("select the feature `llvm{major}` of ptx-atomics-llvm, or link LLVM {MAJOR}");
        return Err(Diagnostic::new(message).help(help).into());
    }
    #[cfg(unix)]
    if let [Some(ours), Some(theirs)] = objects(machine)
        && ours != theirs
    {
        let message = format!(
            "expected a code generator of the LLVM in '{}', found one of the LLVM in '{}'",
            ours.display(),
            theirs.display()
        );
        let help = "link one copy of LLVM: only the compiler links it, and ptx-atomics-link is not a dependency";
        return Err(Diagnostic::new(message).help(help).into());
    }
    Ok(())
}

/// The files with the LLVM that this crate calls and with the LLVM that made a code generator.
///
/// Both come from a table of virtual functions: the address of a function may lie in the program itself, which reaches
/// a function of a shared library by a stub.
#[cfg(unix)]
fn objects(machine: &TargetMachine) -> [Option<std::path::PathBuf>; 2] {
    use inkwell::memory_buffer::MemoryBuffer;
    use std::ffi::c_void;

    let buffer = MemoryBuffer::create_from_memory_range_copy(b"", "");
    // SAFETY: buffers and code generators are live objects of C++ with virtual functions. Each begins with the address
    // of its table, which lies in the file with the code of its class.
    let tables =
        unsafe { [*buffer.as_mut_ptr().cast::<*const c_void>(), *machine.as_mut_ptr().cast::<*const c_void>()] };
    tables.map(object)
}

/// The file from which the loader mapped an address.
#[cfg(unix)]
fn object(address: *const std::ffi::c_void) -> Option<std::path::PathBuf> {
    use std::{
        ffi::{CStr, OsStr},
        os::unix::ffi::OsStrExt,
    };

    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the function reads no memory at the address; on success the name is a string of the loader.
    unsafe {
        (libc::dladdr(address, &mut info) != 0 && !info.dli_fname.is_null())
            .then(|| OsStr::from_bytes(CStr::from_ptr(info.dli_fname).to_bytes()).into())
    }
}
