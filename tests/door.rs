//! Every kind of input at every command, in the form in which users have it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
};

use libtest_mimic::{Failed, Trial};
use testing::{exists, llvm_version, plugin::plugin, ptx_atomics, root, success, tool, trial};

/// Ordinary CUDA: the language's own atomics, libcu++ and cooperative groups.
const CUDA: &str = r"#include <cuda/atomic>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ unsigned counter;

extern C __global__ void count(unsigned *lock, unsigned *data, unsigned *total) {
  __shared__ unsigned bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x & 63], 1);
  auto block = cg::this_thread_block();
  block.sync();
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> held(*lock);
  if (block.thread_rank() == 0) {
    while (held.exchange(1, cuda::std::memory_order_acquire)) {}
    *data += bins[0];
    held.store(0, cuda::std::memory_order_release);
    __threadfence();
    *total = atomicAdd(&counter, 1) + 1;
  }
}
// run: grid=1 block=64 lock=u32[1] data=u32[1] total=u32[1] expect data == 1 && total == 1
";

/// The output of each command on a file, with variables of the environment. A command with `!` ends with exit status 1
/// or 2.
#[rustfmt::skip]
const SAYS: [(&str, &str); 20] = [
    ("lower k.cu", "atom.exch.acquire.gpu.b32|atom.relaxed.gpu.global.add.u32"),
    ("check k.cu", "order (1 free; 2 operations)|1 kernel"),
    ("check k.cu --only async", "1 kernel"),
    ("run k.cu", "count: grid 1, block 64: |no race"),
    ("check k.fatbin", "1 kernel"),
    ("check k.zstd", "1 kernel"),
    ("check library.so", "2 kernels"),
    ("run k.fatbin --kernel count --block 64", "count"),
    ("check cache", "13 operations"),
    ("check k.c", "order (1 lost; 1 operation)"),
    ("! check cubin", "has no embedded PTX|keep the PTX by nvcc's"),
    ("! check rejected.cu", "use of undeclared identifier 'nothing'|cannot compile 'rejected.cu' to PTX"),
    ("! lower k.ptx", "is neither IR nor a source"),
    ("! check k.cu --cc none", "the PATH has no 'none'"),
    ("! lower k.cu --cc nvcc", "nvcc generates no LLVM IR"),
    ("! check empty.cu2", "is empty"),
    ("! check folder", "has no PTX|files that end with .ptx"),
    ("! check CUDA_HOME=nowhere k.cu", "CUDA_HOME is 'nowhere', and nowhere/include/cuda_runtime.h cannot be read"),
    ("! lower k.cu -- -fnothing", "unknown argument: '-fnothing'|cannot compile 'k.cu'"),
    ("! check picture.png", "cannot determine the kind of 'picture.png'|give a .ptx"),
];

pub fn trials() -> Vec<Trial> {
    let missing = (!root().join(".tools/cuda-12.9/sdk").exists())
        .then_some("CUDA's headers")
        .or_else(|| (!fatbinary().exists()).then_some("fatbinary of .tools/ptxas-13.5"));
    let mut trials = Vec::new();
    for (command, words) in SAYS {
        trials.push(trial(command.to_owned(), missing, move || says(command, words)));
    }
    trials.push(trial("llc accepts its flags and the plugin".to_owned(), (!exists(tool("llc"))).then_some("llc"), llc));
    trials.push(trial("missing headers of CUDA are one error".to_owned(), missing, without_headers));
    trials.push(Trial::test("nvcc of CUDA_HOME, of CUDA_PATH or in the PATH precedes clang", chosen_nvcc));
    trials.push(Trial::test("a header of cuRAND that CUDA lacks is empty for clang", without_curand));
    trials
}

fn fatbinary() -> PathBuf {
    root().join(".tools/ptxas-13.5/nvidia/cu13/bin/fatbinary")
}

/// A folder with a file of each kind.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| inputs().expect("the tools are there"));

fn inputs() -> Result<PathBuf, Failed> {
    let folder = root().join("target/tmp/door");
    fs::create_dir_all(&folder)?;
    let at = |name: &str| folder.join(name);
    fs::write(at("k.cu"), CUDA.replace("extern C", "extern \"C\""))?;
    fs::write(at("rejected.cu"), "__global__ void k(int *p) { *p = nothing; }\n")?;
    fs::write(at("empty.cu2"), "")?;
    fs::write(at("picture.png"), b"\x89PNG\r\n")?;
    fs::write(at("cubin"), b"\x7fELF\x02\x01\x01\x33")?;
    fs::write(at("k.c"), "unsigned next(unsigned *p) { return __atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL); }\n")?;
    let ptx = success(&mut command(&folder, "lower k.cu"))?;
    fs::write(at("k.ptx"), &ptx)?;
    for (name, mode) in [("k.fatbin", "speed"), ("k.zstd", "default")] {
        let image = format!("--image3=kind=ptx,sm=90,file={}", at("k.ptx").display());
        let create = format!("--create={}", at(name).display());
        success(Command::new(fatbinary()).args([&create, "--64", "--compress-mode", mode, "--ident=k.cu", &image]))?;
    }
    let library: Vec<u8> =
        [&b"\x7fELF code"[..], &fs::read(at("k.fatbin"))?, b"data", &fs::read(at("k.zstd"))?].concat();
    fs::write(at("library.so"), library)?;
    fs::create_dir_all(at("folder"))?;
    // The layout of Triton's kernel cache.
    fs::create_dir_all(at("cache/abc"))?;
    let ir = fs::read(root().join("tests/inputs/scoped.ll"))?;
    fs::write(at("cache/abc/kernel.llir"), ir)?;
    let lowered = success(ptx_atomics().arg("lower").arg(at("cache/abc/kernel.llir")))?;
    fs::write(at("cache/abc/kernel.ptx"), lowered)?;
    Ok(folder)
}

fn command(folder: &Path, words: &str) -> Command {
    let mut command = ptx_atomics();
    for word in words.split(' ') {
        match word
            .split_once('=')
            .filter(|(name, _)| name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_'))
        {
            Some((name, value)) => command.env(name, value),
            None => command.arg(word),
        };
    }
    command.current_dir(folder);
    command
}

fn says(words: &str, expected: &str) -> Result<(), Failed> {
    let (words, is_wrong) = words.strip_prefix("! ").map_or((words, false), |words| (words, true));
    check(command(&FOLDER, words), is_wrong, expected)
}

/// Checks the exit status of a command, and that its output contains all of these words.
fn check(mut command: Command, is_wrong: bool, expected: &str) -> Result<(), Failed> {
    let Output { status, stdout, stderr } = command.output()?;
    let said = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    let is_so = status.code().is_some_and(|status| if is_wrong { status == 1 || status == 2 } else { status <= 1 });
    assert!(is_so, "{status}: {said}");
    for word in expected.split('|') {
        assert!(said.contains(word), "lacks '{word}': {said}");
    }
    Ok(())
}

/// For a CUDA source without an installed CUDA, the error is one line with the command that installs it.
fn without_headers() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("k.cu"), "__global__ void k() {}\n")?;
    // A PATH without Python, and a repository without .tools.
    let script = root().join("products/cli/src/input/to-llvm-ir.sh");
    let bin = folder.path().join("bin");
    fs::create_dir(&bin)?;
    for program in ["bash", "realpath", "dirname", "basename", "mktemp", tool("clang")] {
        let path = success(Command::new("which").arg(program))?;
        symlink(path.trim(), bin.join(program))?;
    }
    let mut command = Command::new(bin.join("bash"));
    command.arg(script).args(["k.cu", "k.ll"]).current_dir(folder.path()).env("PATH", &bin);
    command
        .env("ROOT", folder.path())
        .env("LLVM", testing::llvm_version().to_string())
        .env_remove("CUDA_HOME")
        .env_remove("CUDA_PATH");
    let Output { status, stderr, .. } = command.output()?;
    let said = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(127), "{said}");
    assert!(said.starts_with("error: cannot find the headers of CUDA in ") && said.lines().count() == 1, "{said}");
    assert!(said.contains("python3 -m pip install nvidia-cuda-runtime "), "{said}");
    Ok(())
}

/// Shell scripts in a folder by their names, and links to the other programs that `to-llvm-ir.sh` calls.
fn programs(folder: &Path, own: &[(&str, &str)]) -> Result<(), Failed> {
    fs::create_dir_all(folder)?;
    for (name, body) in own {
        // The word after `-o` is the output.
        let read = "out=; while [ $# -gt 0 ]; do case $1 in --version) echo 'clang version 22.1.0'; exit ;; -o) out=$2 ;; \
                    -idirafter) after=$2 ;; esac; shift; done";
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{read}\n{body}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    for program in ["bash", "sh", "realpath", "dirname", "mktemp", "touch", "rm", "cat"] {
        let path = success(Command::new("which").arg(program))?;
        let _ = symlink(path.trim(), folder.join(program));
    }
    Ok(())
}

/// The line of a shell script that writes the PTX of a kernel.
fn writes(kernel: &str) -> String {
    format!(
        "printf '%s\\n' '.version 8.0' '.target sm_90' '.address_size 64' '.visible .entry {kernel}() {{ ret; }}' >\"$out\""
    )
}

/// `check --races k.cu` in a folder, with a PATH in that folder.
fn compiled(folder: &Path, path: &str, variables: &[(&str, &str)], options: &[&str]) -> Result<String, Failed> {
    fs::write(folder.join("k.cu"), "__global__ void k() {}\n")?;
    let mut command = ptx_atomics();
    command.args(["check", "--races", "k.cu", "--block", "32"]).args(options).current_dir(folder);
    command.env_remove("CUDA_HOME").env_remove("CUDA_PATH").env("LLVM", "22").env("PATH", folder.join(path));
    command.envs(variables.iter().map(|(name, value)| (name, folder.join(value))));
    success(&mut command)
}

fn chosen_nvcc() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    programs(&at("home/bin"), &[("nvcc", &writes("of_home"))])?;
    programs(&at("path/bin"), &[("nvcc", &writes("of_path"))])?;
    programs(&at("both"), &[("nvcc", &writes("in_path")), ("clang-22", &writes("of_clang"))])?;
    programs(&at("clang"), &[("clang-22", &writes("of_clang"))])?;
    // A CUDA folder without nvcc, as NVIDIA's Python packages make it.
    fs::create_dir_all(at("headers/include"))?;
    fs::write(at("headers/include/cuda_runtime.h"), "")?;
    let (home, path, headers) = (("CUDA_HOME", "home"), ("CUDA_PATH", "path"), ("CUDA_HOME", "headers"));
    for (programs, variables, options, kernel) in [
        ("both", &[home, path][..], &[][..], "of_home"),
        ("both", &[path], &[], "of_path"),
        ("both", &[headers, path], &[], "of_path"),
        ("both", &[headers], &[], "in_path"),
        ("both", &[], &[], "in_path"),
        ("clang", &[headers], &[], "of_clang"),
        ("both", &[headers, path], &["--cc", "clang-22"], "of_clang"),
    ] {
        let said = compiled(folder.path(), programs, variables, options)?;
        assert!(said.contains(&format!("{kernel}: races: free")), "{programs} {variables:?} {options:?}: {said}");
    }
    Ok(())
}

fn without_curand() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let asks =
        format!("[ -f \"$after/curand_mtgp32_kernel.h\" ] && echo \"$after\" >'{}' || exit 1", at("after").display());
    programs(&at("clang"), &[("clang-22", &format!("{asks}\n{}", writes("k")))])?;
    fs::create_dir_all(at("cuda/include"))?;
    fs::write(at("cuda/include/cuda_runtime.h"), "")?;
    compiled(folder.path(), "clang", &[("CUDA_HOME", "cuda")], &[])?;
    let after = fs::read_to_string(at("after"))?;
    assert!(!Path::new(after.trim()).exists(), "{after} is not removed");
    Ok(())
}

/// llc's own flags and inputs. A module without atomics gives llc's output, and a module with atomics gives the output
/// of llc with the plugin.
fn llc() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    // The separate program of this name, and the command through a link of this name.
    let own = testing::binary().with_file_name("ptx-atomics-llc");
    let link = folder.path().join("ptx-atomics-llc");
    symlink(testing::binary(), &link)?;
    let response = folder.path().join("flags");
    fs::write(&response, "-mcpu=sm_80 -mattr=+ptx78")?;
    let response = format!("@{}", response.display());
    #[rustfmt::skip]
    let flags: [&[&str]; 11] = [
        &["-mcpu=sm_90"], &["-mcpu=sm_70", "-mattr=+ptx63", "-O0"], &["--mcpu=sm_90", "-O3", "-filetype=asm"], &[&response],
        &["-march=nvptx64"], &["-mtriple=nvptx64-nvidia-cuda", "-mcpu", "sm_100"], &["--nvptx-prec-sqrtf32=0"],
        &["-nvptx-fma-level=0", "-verify-machineinstrs"], &["-stop-after=finalize-isel", "-mcpu=sm_90"],
        // The flags of cuda-oxide, for a release and for a debug build.
        &["-march=nvptx64", "-mcpu=sm_90", "-mattr=+ptx86", "-fp-contract=fast"],
        &["-march=nvptx64", "-mcpu=sm_80", "-mattr=+ptx78", "-O0", "-fp-contract=fast"],
    ];
    let run = |command: &mut Command, flags: &[&str], input: &str| -> Result<(Option<i32>, String, String), Failed> {
        let input = fs::File::open(root().join("tests/inputs").join(input))?;
        let Output { status, stdout, stderr } = command.args(flags).stdin(input).output()?;
        Ok((status.code(), String::from_utf8(stdout)?, String::from_utf8(stderr)?))
    };
    let mut differ = 0;
    for (index, flags) in flags.iter().enumerate() {
        for input in ["no_atomics.ll", "fences.ll"] {
            let llc = run(&mut Command::new(tool("llc")), flags, input)?;
            let mut command = match index % 3 {
                0 => Command::new(&own),
                1 => Command::new(&link),
                _ => {
                    let mut command = ptx_atomics();
                    command.arg("llc");
                    command
                }
            };
            let ours = run(command.env("PTX_ATOMICS_PLUGIN", plugin()), flags, input)?;
            let load = format!("-load-pass-plugin={}", plugin().display());
            assert_eq!(ours, run(Command::new(tool("llc")).arg(load), flags, input)?, "{flags:?} of {input}");
            if input == "no_atomics.ll" {
                assert_eq!(ours, llc, "{flags:?}");
            }
            differ += usize::from(ours != llc);
        }
    }
    assert!(differ > 5, "the fences are not lowered: {differ}");
    // cuda-oxide reads the version of LLVM from the output, and gives the path of the input before that of the output.
    let version = |program: &Path| {
        let version = success(Command::new(program).arg("--version").env("PTX_ATOMICS_PLUGIN", plugin()))?;
        Ok::<_, Failed>(version.contains(&format!("LLVM version {}.", llvm_version())))
    };
    assert!(version(&own)? && version(&link)?);
    let ptx = folder.path().join("kernel.ptx");
    let mut compile = Command::new(&own);
    compile.args(["-march=nvptx64", "-mcpu=sm_90", "-mattr=+ptx86", "-fp-contract=fast"]);
    compile.arg(root().join("tests/inputs/fences.ll")).arg("-o").arg(&ptx).env("PTX_ATOMICS_PLUGIN", plugin());
    success(&mut compile)?;
    assert!(fs::read_to_string(&ptx)?.contains("fence.sc."));
    // llc reports flags that it does not know, and the command reports missing programs.
    let (status, _, said) =
        run(ptx_atomics().arg("llc").env("PTX_ATOMICS_PLUGIN", plugin()), &["--nope"], "fences.ll")?;
    assert!(status == Some(1) && said.contains("Unknown command line argument '--nope'"), "{said}");
    let (status, _, said) = run(ptx_atomics().arg("llc").env("PATH", folder.path()), &[], "fences.ll")?;
    assert!(status == Some(1) && said.contains("the PATH has no llc of LLVM "), "{said}");
    Ok(())
}
