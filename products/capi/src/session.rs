//! The session: the program that lowers.

use std::{
    env,
    ffi::{CStr, OsStr, OsString},
    mem::MaybeUninit,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use ptx_atomics_common::helper::Helper;

/// The command.
const COMMAND: &str = "ptx-atomics";

/// The connection to the program that runs LLVM. ptx_atomics_open makes it, ptx_atomics_close frees it; threads may
/// share it.
pub struct Session(pub(crate) Helper);

impl Session {
    pub(crate) fn open(helper: Option<&OsStr>) -> Self {
        let named = helper.map(OsString::from).or_else(|| env::var_os("PTX_ATOMICS_HELPER"));
        let named = named.filter(|named| !named.is_empty()).map(PathBuf::from);
        Self(Helper::at(named.or_else(find_installed_command).unwrap_or_else(|| COMMAND.into())))
    }
}

/// The command in the installation of this library, if the command is there.
fn find_installed_command() -> Option<PathBuf> {
    let mut known = MaybeUninit::uninit();
    // SAFETY: the address is in this library, and the facts about it are read only if `dladdr` succeeds.
    let file = unsafe {
        if libc::dladdr(find_installed_command as *const () as *const libc::c_void, known.as_mut_ptr()) == 0 {
            return None;
        }
        CStr::from_ptr(known.assume_init().dli_fname)
    };
    let program = Path::new(OsStr::from_bytes(file.to_bytes())).parent()?.join("../bin").join(COMMAND);
    program.is_file().then_some(program)
}
