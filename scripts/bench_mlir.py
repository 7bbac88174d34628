"""Whole-process CPU time of `ptx-atomics lower` over `mlir-opt | mlir-translate | llc` on the same MLIR.

    scripts/bench [--llvm 23] --mlir [RUNS]

One input is in the LLVM dialect, one uses memref, scf, arith and func, and the examples start from gpu.launch. The
three programs of the other side run one after the other, and their times are added. The two sides alternate, so that a
change of the machine's speed affects both. Needs the tools that scripts/install test installs.
"""

import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

from bench_tools import LLVM, OURS, ROOT, build, tool

LLC = [tool("llc"), "-O3", "-mcpu=sm_90", "-mtriple=nvptx64-nvidia-cuda", "-o", "/dev/null"]
TRANSLATE = [tool("mlir-translate"), "--mlir-to-llvmir"]
TO_LLVM = "convert-scf-to-cf,convert-gpu-to-nvvm,convert-nvvm-to-llvm,reconcile-unrealized-casts"

RMW = ["add", "_and", "_or", "_xor", "max", "umin", "xchg", "sub"]
KINDS = ["addi", "andi", "ori", "maxs", "minu", "assign"]


def llvm_dialect(functions, atomics):
    """Functions that contain only atomics."""
    lines = ["module {"]
    for function in range(functions):
        lines.append(f"llvm.func @f{function}(%p: !llvm.ptr<1>, %q: !llvm.ptr, %v: i32) {{")
        for n in range(atomics):
            space = random.choice(["%p", "%q"])
            ty = "!llvm.ptr<1>" if space == "%p" else "!llvm.ptr"
            scope = random.choice(["", 'syncscope("device") ', 'syncscope("block") '])
            kind = random.choice(["rmw", "rmw", "load", "store", "cmpxchg", "fence"])
            lines.append({
                "rmw": f"%a{n} = llvm.atomicrmw {random.choice(RMW)} {space}, %v {scope}acq_rel : {ty}, i32",
                "load": f"%a{n} = llvm.load {space} atomic {scope}acquire {{alignment = 4 : i64}} : {ty} -> i32",
                "store": f"llvm.store %v, {space} atomic {scope}release {{alignment = 4 : i64}} : i32, {ty}",
                "cmpxchg": f"%a{n} = llvm.cmpxchg {space}, %v, %v {scope}acq_rel monotonic : {ty}, i32",
                "fence": f"llvm.fence {scope}acq_rel",
            }[kind])
        lines += ["llvm.return", "}"]
    return "\n".join(lines + ["}"])


def memrefs(functions, atomics, plain):
    """Kernels with loops over arrays. `plain` groups of ordinary work follow each atomic."""
    lines = ["module {", "gpu.module @kernels {"]
    for function in range(functions):
        lines.append(f"gpu.func @f{function}(%m: memref<?xi32>, %d: memref<?x16xf32>, %n: index, %v: i32, %x: f32) kernel {{")
        lines.append("%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\nscf.for %i = %c0 to %n step %c1 {")
        for n in range(atomics):
            kind = random.choice(KINDS)
            lines.append(f"%a{n} = memref.atomic_rmw {kind} %v, %m[%i] : (i32, memref<?xi32>) -> i32")
            for k in range(plain):
                lines.append(f"%l{n}_{k} = memref.load %d[%i, %c{k % 2}] : memref<?x16xf32>")
                lines.append(f"%s{n}_{k} = arith.mulf %l{n}_{k}, %x : f32")
                lines.append(f"%t{n}_{k} = arith.addf %s{n}_{k}, %x : f32")
                lines.append(f"memref.store %t{n}_{k}, %d[%i, %c{k % 2}] : memref<?x16xf32>")
        lines += ["}", "gpu.return", "}"]
    return "\n".join(lines + ["}", "}"])


def cpu(command, path, output):
    """CPU seconds of one process."""
    with open(output, "wb") as out:
        process = subprocess.Popen(command + [str(path)], stdin=subprocess.DEVNULL, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command} failed on {path}")
    return usage.ru_utime + usage.ru_stime


def device_code(text):
    """The contents of the gpu.module in a text, because mlir-translate does not accept a gpu.module."""
    start = text.find("gpu.module")
    if start < 0:
        return text
    start = text.index("{", start)
    return text[start + 1 : text.rstrip().rstrip("}").rstrip().rindex("}")]


def theirs(path, outline, folder):
    """The three programs of the other side. The work between the first two is not counted."""
    anchored = path.read_text().find("gpu.") >= 0
    pipeline = f"gpu.module({TO_LLVM})" if anchored else "reconcile-unrealized-casts"
    pipeline = f"builtin.module({'gpu-kernel-outlining,' if outline else ''}{pipeline})"
    total = cpu([tool("mlir-opt"), f"--pass-pipeline={pipeline}"], path, folder / "opt.mlir")
    (folder / "device.mlir").write_text(device_code((folder / "opt.mlir").read_text()))
    total += cpu(TRANSLATE, folder / "device.mlir", folder / "x.ll")
    return total + cpu(LLC, folder / "x.ll", folder / "none")


def compare(name, path, folder, runs, outline=False):
    ours = [str(OURS), "lower", "--mcpu", "sm_90"]
    pairs = [(cpu(ours, path, folder / "ours.ptx"), theirs(path, outline, folder)) for _ in range(runs + 1)][1:]
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"{name:40} {statistics.median(a for a, _ in pairs):8.3f} s {statistics.median(b for _, b in pairs):8.3f} s {ratio:6.2f}")


def main(arguments):
    runs = int(arguments[0]) if arguments else 7
    build()
    random.seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        print(f"LLVM {LLVM}, medians of {runs} runs {'':13} ours     theirs  ratio")
        for title, text in [
            ("LLVM dialect, 2,000 x 8 atomics", llvm_dialect(2000, 8)),
            ("memref, 500 x 8 atomics", memrefs(500, 8, 0)),
            ("memref, 2 percent atomics", memrefs(100, 8, 12)),
        ]:
            path = folder / f"{re.sub('[^a-z0-9]+', '_', title.lower())}.mlir"
            path.write_text(text)
            compare(title, path, folder, runs)
        for example in sorted((ROOT / "examples/mlir").glob("*.mlir")):
            compare(f"examples/mlir/{example.name}", example, folder, runs, outline=True)
