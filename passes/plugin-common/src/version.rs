//! The LLVM of the host.

use std::ffi::c_uint;

use ptx_atomics_llvm_version::MAJOR;

/// Ends the process, with a message, if its LLVM is another one: its structures and classes are others, too.
pub fn require(plugin: &str, instead: &str) {
    let Err(found) = host_version() else { return };
    eprintln!(
        "error: {plugin} is a plugin for LLVM {MAJOR}, and this program has LLVM {found}\n  help: use a compiler on \
         LLVM {MAJOR}, or {instead} with the command `ptx-atomics lower`"
    );
    // SAFETY: it ends the process, and runs no code of the host, which may be in any state.
    unsafe { libc::_exit(1) };
}

/// Whether the host has the right LLVM; else its version.
fn host_version() -> Result<(), String> {
    // SAFETY: the name is a string, and LLVM 16 and later have the function with this signature.
    let [major, minor, patch] = unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"LLVMGetVersion".as_ptr());
        if symbol.is_null() {
            return Err("15 or older".into());
        }
        type GetVersion = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);
        let get = std::mem::transmute::<*mut libc::c_void, GetVersion>(symbol);
        let mut version = [0; 3];
        let [major, minor, patch] = &mut version;
        get(major, minor, patch);
        version
    };
    if major == MAJOR { Ok(()) } else { Err(format!("{major}.{minor}.{patch}")) }
}
