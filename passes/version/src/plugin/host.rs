//! The check of the host's LLVM version.

use std::ffi::c_uint;

use crate::{ALL, MAJOR};

/// The names of a plugin in its messages.
pub struct Plugin {
    /// The name of the file without its suffix. In a package, the version of LLVM is appended.
    pub file: &'static str,
    /// The crate from which the plugin is built.
    pub package: &'static str,
    /// The kind of input that the command lowers instead of the host.
    pub input: &'static str,
}

impl Plugin {
    /// Ends the process with a message if the host has another major version of LLVM, because the structures and
    /// classes of that version differ.
    pub fn require_host(&self) {
        let host = host_version();
        if host.is_some_and(|[major, ..]| major == MAJOR) {
            return;
        }
        let Self { file, package, input } = self;
        let found = host.map_or("15 or older".into(), |[major, minor, patch]| format!("{major}.{minor}.{patch}"));
        let help = match host {
            Some([major, ..]) if ALL.contains(&major) => format!(
                "load {file}-llvm{major}.so of the package, or build it beside this one by `cargo build --release -p {package} \
                 --no-default-features --features llvm{major} --target-dir target/llvm{major}`"
            ),
            _ => format!(
                "use a compiler on LLVM {}, or lower its {input} with the command `ptx-atomics lower`",
                ALL.map(|version| version.to_string()).join(" or ")
            ),
        };
        let version = env!("CARGO_PKG_VERSION");
        eprintln!(
            "error: {file}.so {version} is a plugin for LLVM {MAJOR}, and this program has LLVM {found}\n  help: {help}"
        );
        // SAFETY: the function ends the process, and runs no code of the host, which may be in any state.
        unsafe { libc::_exit(1) };
    }
}

/// The major, minor and patch version of the host's LLVM; `None` if the host does not provide it.
fn host_version() -> Option<[c_uint; 3]> {
    // SAFETY: the name is a string, and LLVM 16 and later have the function with this signature.
    unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"LLVMGetVersion".as_ptr());
        if symbol.is_null() {
            return None;
        }
        type GetVersion = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);
        let get = std::mem::transmute::<*mut libc::c_void, GetVersion>(symbol);
        let mut version = [0; 3];
        let [major, minor, patch] = &mut version;
        get(major, minor, patch);
        Some(version)
    }
}
