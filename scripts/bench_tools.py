"""Common code of the benches: the LLVM under measurement, its programs, and `ptx-atomics` built for it."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
LLVM = os.environ.get("LLVM", "22")
OURS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/ptx-atomics"


def tool(name):
    """A program of this LLVM, from the folder in the variable of llvm-sys or by the name on the system."""
    prefix = os.environ.get(f"LLVM_SYS_{LLVM}1_PREFIX")
    return f"{prefix}/bin/{name}" if prefix else f"{name}-{LLVM}"


def build():
    features = ["--no-default-features", "--features", f"llvm{LLVM}"]
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "ptx-atomics-cli", *features], cwd=ROOT, check=True)
