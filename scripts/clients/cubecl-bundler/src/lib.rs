//! Links the system's LLVM 23, or the one at `LLVM_SYS_231_PREFIX`.

type Result<T> = std::io::Result<T>;

/// The questions about LLVM.
pub mod config {
    use std::{
        env,
        ffi::{OsStr, OsString},
        io::Error,
        path::PathBuf,
        process::Command,
    };

    use crate::Result;

    /// The folder of LLVM.
    ///
    /// # Errors
    /// None.
    pub fn llvm_path() -> Result<PathBuf> {
        Ok(env::var_os("LLVM_SYS_231_PREFIX").map_or_else(|| "/usr/lib/llvm-23".into(), PathBuf::from))
    }

    /// The flags for C++ code that includes LLVM's headers.
    ///
    /// # Errors
    /// An error if llvm-config cannot run.
    pub fn get_cxxflags_args(_: Option<&OsStr>) -> Result<Vec<OsString>> {
        Ok(llvm_config("--cxxflags")?.split_whitespace().map(OsString::from).collect())
    }

    pub(crate) fn llvm_config(question: &str) -> Result<String> {
        let output = Command::new(llvm_path()?.join("bin/llvm-config")).arg(question).output()?;
        let answer = String::from_utf8(output.stdout).map_err(Error::other)?;
        Ok(answer.trim_end().to_owned())
    }
}

/// LLVM's libraries.
pub mod llvm_sys {
    use std::{env, fs, io::Error, path::Path};

    use crate::{Result, config::llvm_config};

    /// The initializers that LLVM's header defines as static functions. llvm-sys declares each with this underscore.
    const NATIVE: [&str; 4] = ["NativeTarget", "NativeAsmParser", "NativeAsmPrinter", "NativeDisassembler"];
    const ALL: [&str; 6] =
        ["AllTargetInfos", "AllTargets", "AllTargetMCs", "AllAsmPrinters", "AllAsmParsers", "AllDisassemblers"];

    /// Prints the linker's flags as a build script does.
    ///
    /// # Errors
    /// An error if llvm-config cannot run, or the initializers cannot be written.
    pub fn link() -> Result<()> {
        let mut code = "#include <llvm-c/Target.h>\n".to_owned();
        for name in NATIVE {
            code += &format!("LLVMBool LLVM_Initialize{name}(void) {{ return LLVMInitialize{name}(); }}\n");
        }
        for name in ALL {
            code += &format!("void LLVM_Initialize{name}(void) {{ LLVMInitialize{name}(); }}\n");
        }
        let folder = env::var("OUT_DIR").map_err(Error::other)?;
        let file = Path::new(&folder).join("initializers.c");
        fs::write(&file, code)?;
        cc::Build::new().file(file).include(llvm_config("--includedir")?).compile("llvm_initializers");
        println!("cargo::rerun-if-env-changed=LLVM_SYS_231_PREFIX");
        println!("cargo::rustc-link-search=native={}", llvm_config("--libdir")?);
        println!("cargo::rustc-link-lib=LLVM-23");
        println!("cargo::rustc-link-lib=stdc++");
        Ok(())
    }
}
