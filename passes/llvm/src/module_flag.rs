//! The module flag that sets options.

use inkwell::{
    context::AsContextRef,
    llvm_sys::core::{LLVMGetMDString, LLVMGetModuleFlag, LLVMMetadataAsValue},
    module::Module,
};
use ptx_atomics_common::{Diagnostic, Errors, Settings, settings::MODULE_FLAG};

use crate::value;

/// The settings of the module's flag `ptx-atomics`.
///
/// # Errors
/// An error if the flag is not a string, is not a list of options, or names a file.
pub fn settings_of(module: &Module<'_>) -> Result<Settings, Errors> {
    text(module)?.map_or(Ok(Settings::default()), |text| Settings::of_flag(&text))
}

fn text(module: &Module<'_>) -> Result<Option<String>, Errors> {
    // SAFETY: module and context are live, and the key is given with its length.
    unsafe {
        let flag = LLVMGetModuleFlag(module.as_mut_ptr(), MODULE_FLAG.as_ptr().cast(), MODULE_FLAG.len());
        if flag.is_null() {
            return Ok(None);
        }
        let mut length = 0;
        let start = LLVMGetMDString(LLVMMetadataAsValue(module.get_context().as_ctx_ref(), flag), &mut length);
        let no_string = || {
            Diagnostic::new(format!("the module flag \"{MODULE_FLAG}\" is not a string"))
                .help(format!("write !{{i32 1, !\"{MODULE_FLAG}\", !\"strategy=fence\"}}"))
        };
        Ok(Some(value::text(start, length as usize).ok_or_else(no_string)?))
    }
}
