"""CPU time of `cargo build` for a crate of 50 kernels, with and without the plugin, with the same rustc.

    scripts/bench --cargo [RUNS]

A kernel counts in shared and global memory, waits for a flag, takes a lock, and computes. `core` is built once before
the measurement, which covers only the crate, as after a change of its source. The two builds alternate. Needs Debian's
rustc-web on LLVM 22, which `scripts/install examples` installs, or another rustc that RUSTC names.
"""

import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

from bench_tools import ROOT

KERNELS = 50
RUSTC = os.environ.get("RUSTC", "/usr/bin/rustc")
VENDORED = "/usr/lib/rustlib/src/rust/library/vendor"

HEAD = """#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
"""

KERNEL = """
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn kernel_N(counts: &[AtomicU32; 64], flag: &AtomicU32, lock: &AtomicU32, sum: &AtomicU64, data: *mut f32, length: u32) {
    let thread = unsafe { core::arch::nvptx::_thread_idx_x() } as u32;
    let mut own = N as f32;
    let mut at = thread;
    while at < length {
        let value = unsafe { *data.add(at as usize) };
        own = own * 0.5 + value;
        counts[(value as u32 % 64) as usize].fetch_add(1, Relaxed);
        unsafe { *data.add(at as usize) = own };
        at += 128;
    }
    while flag.load(Acquire) != N {}
    while lock.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {}
    unsafe { *data.add(length as usize) += own };
    lock.store(0, Release);
    if counts[0].fetch_sub(1, AcqRel) == N { sum.fetch_max(own as u64, SeqCst); }
    flag.store(N + 1, Release);
}
"""


def main(arguments):
    runs = int(arguments[0]) if arguments else 9
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "ptx-atomics-plugin"], cwd=ROOT, check=True)
    plugin = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/libptx_atomics.so"
    with tempfile.TemporaryDirectory() as folder:
        crate = pathlib.Path(folder)
        (crate / "src").mkdir()
        (crate / "Cargo.toml").write_text(
            '[workspace]\n[package]\nname = "kernels"\nversion = "0.1.0"\nedition = "2024"\n'
            '[lib]\ncrate-type = ["rlib"]\n[profile.release]\ncodegen-units = 1\npanic = "abort"\n'
        )
        source = crate / "src/lib.rs"
        source.write_text(HEAD + "".join(KERNEL.replace("N", str(number)) for number in range(KERNELS)))

        def build(name, flags):
            """CPU seconds of one build in a separate folder."""
            source.touch()
            command = ["cargo", "rustc", "--release", "--offline", "--quiet", "--target", "nvptx64-nvidia-cuda", "-Zbuild-std=core"]
            command += ["--config", "source.crates-io.replace-with='vendored'", "--config", f"source.vendored.directory='{VENDORED}'"]
            command += ["--target-dir", str(crate / name), "--", "-Awarnings", "--emit=asm"]
            environment = os.environ | {"RUSTC": RUSTC, "RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": " ".join(["-Ctarget-cpu=sm_90", *flags])}
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, cwd=crate, env=environment, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        sides = {"without": [], "with": [f"-Zllvm-plugins={plugin}"]}
        whole = {name: build(name, flags) for name, flags in sides.items()}
        pairs = [{name: build(name, flags) for name, flags in sides.items()} for _ in range(runs)]
        print(f"{KERNELS} kernels, seconds of CPU: with the plugin, without it, ratio")
        print(f"with core, once      {whole['with']:8.2f} {whole['without']:8.2f} {whole['with'] / whole['without']:6.2f}")
        of = lambda name: statistics.median(pair[name] for pair in pairs)
        ratio = statistics.median(pair["with"] / pair["without"] for pair in pairs)
        print(f"the crate, {runs} times   {of('with'):8.2f} {of('without'):8.2f} {ratio:6.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
