"""The GPUs and PTX versions of `isa/src/target.rs` that a version of LLVM knows."""

import pathlib
import re

NEWEST = {22: (9, 0), 23: (9, 3)}
# The variants of sm_101 have their features only up to this version of PTX.
RENAMED = {"sm_101a": (8, 8), "sm_101f": (8, 8)}


def targets(llvm):
    """For each GPU its PTX versions, oldest first, as LLVM's features."""
    text = (pathlib.Path(__file__).parent.parent / "isa/src/target.rs").read_text()
    gpus = re.findall(r'gpu\("(\w+)", +\d+, (\d+), (\d+)\)', text)
    ranges = re.findall(r"\((\d), (\d+)\.\.=(\d+)\)", text[text.index("const VERSIONS") :])
    versions = [(int(major), minor) for major, first, last in ranges for minor in range(int(first), int(last) + 1)]
    until = lambda gpu: min(NEWEST[llvm], RENAMED.get(gpu, NEWEST[llvm]))
    found = {
        gpu: [version for version in versions if (int(major), int(minor)) <= version <= until(gpu)]
        for gpu, major, minor in gpus
    }
    return {gpu: [f"ptx{major}{minor}" for major, minor in versions] for gpu, versions in found.items() if versions}
