"""The half of Indigo's kernels that was held back, on a graph of HiRace's artifact."""

import collections
import hashlib
import random
import re
import struct

from evidence_sets.common import Set, bullets, errors_of_run, measured, table
from evidence_sets.nvcc import compile_all, version

SOURCES, INCLUDE, INPUT = "indigo/indigo_sources", "indigo/indigo_include", "indigo/input"
PLANTED = re.compile(r"(?:atomic|guard|sync|race)Bug")
# The launch of table I of HiRace, and one of its graphs.
GRID, BLOCK, GRAPH = 1024, 256, "DAG_200n_400e"
LABELS = {False: "no race", True: "a race"}


def held_out(folder):
    """The sources of the held-out half, by their label: the development half has the smaller SHA-256."""
    labelled = collections.defaultdict(list)
    for source in (folder / SOURCES).glob("*/*.cu"):
        if "boundsBug" not in source.name:
            labelled[bool(PLANTED.search(source.name))].append(source)
    for label, sources in sorted(labelled.items()):
        sources.sort(key=lambda source: hashlib.sha256(f"indigo-{source.stem}".encode()).digest())
        yield label, sources[len(sources) // 2 :]


def arguments(folder, graph):
    """The arguments of a kernel as the program prepares them: the graph, two arrays of numbers and the number of nodes."""
    data = (folder / INPUT / f"{graph}.egr").read_bytes()
    nodes, edges = struct.unpack_from("<2i", data)
    size, numbers = max(nodes, edges), random.Random(1)
    arrays = {
        "nindex": data[8 : 8 + 4 * (nodes + 1)],
        "nlist": data[8 + 4 * (nodes + 1) :],
        "data1": struct.pack(f"<{size}i", 0, *(numbers.randrange(nodes) for _ in range(size - 1))),
        "data2": struct.pack(f"<{size}i", 0, *(numbers.randrange(edges) for _ in range(size - 1))),
    }
    found = []
    for name, content in arrays.items():
        (folder / f"{name}.bin").write_bytes(content)
        found += ["--arg", f"{name}:u8[]={folder / name}.bin"]
    return [*found, "--arg", str(nodes)]


def page(folder, date):
    chosen = ["--grid", GRID, "--block", BLOCK, "--seeds", 1, *arguments(folder, GRAPH)]
    rows, differ = [], []
    for label, sources in held_out(folder):
        found = {}
        for source, ptx in compile_all(sources, ["-I", str(folder / INCLUDE)]).items():
            errors = None if ptx is None else errors_of_run(ptx, *chosen)
            found[source.stem] = "no answer" if errors is None else LABELS["race" in errors]
        counts = collections.Counter(found.values())
        rows.append([LABELS[label], len(sources), counts[LABELS[True]], counts[LABELS[False]], counts["no answer"]])
        differ += [f"`{name}`: {result}" for name, result in sorted(found.items()) if result != LABELS[label]]
    free, racy = rows
    return f"""# Indigo's kernels on a graph of HiRace

`ptx-atomics run` shows a race in {racy[2]} of {racy[1]} kernels of Indigo with a planted race, and in {free[2]} of {free[1]} kernels without.

{measured("indigo", date, f"{ABOUT} nvcc {version()} compiles them.", "CHECKOUT")}
{table(["label", "kernels", "a race is reported", "no race", "no answer"], rows)}
- The launch is as in table I of HiRace's paper: {GRID:,} CTAs of {BLOCK} threads, on the graph `{GRAPH}`, with one seed. The table reports 346
  races of 346 by HiRace, 298 by iGUARD and 92 by Compute Sanitizer for this graph, over all kernels, on a GPU. The numbers of this page are for a part
  of the same kernels, so that they have no column beside them.
- Indigo has 590 kernels in this artifact. 144 with an access out of bounds are not counted. Of the other 446, half of each label, with the smaller
  SHA-256 of `indigo-` and the name, is [the development set](races-labelled.md). The table has the other half: a
  held-out set, for which nothing was changed.
- The label is the name of the file: `atomicBug`, `guardBug`, `raceBug` and `syncBug` are races. A kernel whose race needs another graph would show no race here.

## Disagreements

{bullets(differ)}"""


ABOUT = """The kernels are of
[the artifact of HiRace](https://github.com/JohnJacobsonIII/HiRace-Artifact-SC24), commit 44a935f9."""
SET = Set(
    "Indigo's kernels of HiRace with and without a planted race",
    page,
    "JohnJacobsonIII/HiRace-Artifact-SC24",
    "44a935f90acfe43c6178b2187ea84c9ab0c01450",
    (SOURCES, INCLUDE, INPUT),
)
