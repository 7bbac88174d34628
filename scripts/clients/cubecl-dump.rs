//! Writes the LLVM IR that cubecl-llvm gives to LLVM's backend, and its PTX, into the folder `DUMP`.

use std::{cell::RefCell, collections::HashMap, env, ffi::CStr, fs, path::Path, thread};

use crate::shared::llvm_module::{LlvmModule, TargetMachine};

thread_local! {
    /// The IR after the passes, and the number of modules of each GPU in this thread, which runs one test.
    static STATE: RefCell<(String, HashMap<String, usize>)> = RefCell::default();
}

/// The GPU for a kernel: `DUMP_SM` instead of the test's, unless it is older and the kernel may need newer instructions.
pub(crate) fn gpu(in_test: u32) -> u32 {
    let chosen = env::var("DUMP_SM").ok().and_then(|sm| sm.parse().ok()).unwrap_or(in_test);
    if in_test < 80 { chosen } else { chosen.max(in_test) }
}

pub(crate) fn passes(module: &LlvmModule, pipeline: &CStr, machine: &TargetMachine) -> Result<(), String> {
    module.run_passes(pipeline, machine)?;
    STATE.with_borrow_mut(|(ir, _)| *ir = module.print());
    Ok(())
}

pub(crate) fn ptx(bytes: &[u8]) {
    let Some(folder) = env::var_os("DUMP") else { return };
    let text = String::from_utf8_lossy(bytes);
    let after = |word: &str| text.split(word).nth(1).and_then(|rest| rest.split([' ', ',', '(', '\n']).next());
    let gpu = after("\n.target ").expect("PTX has a target");
    let kernel = after(".entry ").or_else(|| after(".func ")).unwrap_or("none");
    let test = thread::current().name().unwrap_or("main").rsplit("::").next().expect("a text has a part").to_owned();
    STATE.with_borrow_mut(|(ir, counts)| {
        let count = counts.entry(gpu.to_owned()).or_default();
        *count += 1;
        let file = |kind: &str| Path::new(&folder).join(format!("{gpu}.{kernel}.{test}.{count}.{kind}"));
        fs::write(file("ll"), &*ir).and_then(|()| fs::write(file("ptx"), bytes)).expect("the folder can be written");
    });
}
