"""PTX of CUDA sources by nvcc of scripts/install peers."""

import concurrent.futures
import os
import re
import subprocess

from evidence_sets.common import ROOT, output

CUDA = ROOT / ".tools/cuda-13.5/nvidia/cu13"
FLAGS = ["-ptx", "-arch=compute_90", "-lineinfo"]
# The folder of clang's SDK has the headers that nvcc's package lacks.
FLAGS += ["-Xcompiler", f"-idirafter,{ROOT / '.tools/cuda-12.9/sdk/include'}"]


def version():
    """The version of nvcc, such as 13.5."""
    if not (CUDA / "bin/nvcc").is_file():
        raise SystemExit("expected nvcc: scripts/install peers has it")
    return re.search(r"release ([\d.]+)", output(str(CUDA / "bin/nvcc"), "--version"))[1]


def compile_ptx(source, flags=()):
    """The PTX beside a source, or None if nvcc rejects the source."""
    ptx = source.with_suffix(".ptx")
    environment = {**os.environ, "PATH": f"{CUDA / 'bin'}:{os.environ['PATH']}"}
    command = [CUDA / "bin/nvcc", *FLAGS, *flags, "-o", ptx, source]
    done = subprocess.run(command, cwd=source.parent, env=environment, capture_output=True, text=True)
    return ptx if done.returncode == 0 else None


def compile_all(sources, flags=()):
    """The PTX of each source, in their order."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(sources, pool.map(lambda source: compile_ptx(source, flags), sources)))
