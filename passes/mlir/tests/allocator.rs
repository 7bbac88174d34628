//! Neither the conversion to LLVM IR nor the pass in MLIR accesses an op after it was erased. The test uses an
//! allocator that overwrites freed memory.

use std::{env, fs, path::Path, process::Command};

use ptx_atomics_common::{Errors, Input, Settings};
use ptx_atomics_link as _;
use ptx_atomics_llvm::inkwell;
use ptx_atomics_mlir as mlir;

/// The settings with which glibc's allocator immediately overwrites all freed memory.
const ALLOCATOR: [(&str, &str); 2] = [("MALLOC_PERTURB_", "165"), ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0")];

/// Built-in variables are erased together with the ops that take their addresses.
const BUILT_IN: &str = r#"spirv.module Logical GLSL450 {
  spirv.GlobalVariable @a built_in("SubgroupSize") : !spirv.ptr<i32, Input>
  spirv.GlobalVariable @b built_in("SubgroupLocalInvocationId") : !spirv.ptr<i32, Input>
  spirv.func @f() -> i32 "None" {
    %a = spirv.mlir.addressof @a : !spirv.ptr<i32, Input>
    %b = spirv.mlir.addressof @b : !spirv.ptr<i32, Input>
    %x = spirv.Load "Input" %a : i32
    %y = spirv.Load "Input" %b : i32
    %sum = spirv.IAdd %x, %y : i32
    spirv.ReturnValue %sum : i32
  }
}"#;

#[test]
fn no_op_is_looked_at_after_its_end() {
    if env::var_os(ALLOCATOR[0].0).is_none() {
        let mut again = Command::new(env::current_exe().expect("a program"));
        let output = again.arg("--nocapture").envs(ALLOCATOR).output().expect("it runs");
        assert!(output.status.success(), "{}{}", output.status, String::from_utf8_lossy(&output.stderr));
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["examples/mlir", "tests/mlir/inputs", "tests/mlir/nvvm"].map(|folder| root.join(folder));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    let texts = files.map(|file| fs::read_to_string(file.expect("a file").path()).expect("text"));
    let mut done = 0;
    for text in texts.chain([BUILT_IN.to_owned()]) {
        for lower in [to_llvm_ir, in_mlir] {
            // An input without a lowering is changed by neither.
            done += usize::from(lower(&text).is_ok());
        }
    }
    assert!(done > 100, "{done}");
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.override_with("mcpu=sm_100a,mattr=+ptx88", "this test").expect("a target");
    settings
}

fn to_llvm_ir(text: &str) -> Result<(), Errors> {
    let (context, llvm, input) = (mlir::context(), inkwell::context::Context::create(), Input::new("a.mlir", text));
    let mut module = mlir::read(&context, &input)?;
    for mut device in mlir::device_modules(&mut module)? {
        let options = mlir::options(&settings(), device.op())?;
        mlir::expand(&mut device, &options)?;
        mlir::llvm_ir(&mut device, &llvm, &input)?.module.verify().expect("LLVM IR");
    }
    Ok(())
}

fn in_mlir(text: &str) -> Result<(), Errors> {
    let context = mlir::context();
    let mut module = mlir::read(&context, &Input::new("a.mlir", text))?;
    for mut device in mlir::device_code(&mut module) {
        let options = mlir::options(&settings(), device.op())?;
        mlir::lower(&mut device, &options)?;
    }
    Ok(())
}
