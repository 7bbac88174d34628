"""The examples of Weft: warp-specialized kernels with named barriers."""

import collections
import concurrent.futures
import os
import re

from evidence_sets.common import HALVES, RESULTS, ROOT, Set, half, measured, result_of_check, table
from evidence_sets.nvcc import compile_all, version

EXAMPLES = "examples"
FAULTS = "negatives"
BLOCK = re.compile(r"\.maxntid (\d+)")
SECONDS = 60


def result(ptx):
    """The result of a kernel in the block that its launch bounds name, as in Weft."""
    if ptx is None:
        return "not checked"
    return result_of_check(ptx, "--block", BLOCK.search(ptx.read_text())[1], "--time-limit", SECONDS)


def page(folder, date):
    sources = sorted((folder / EXAMPLES).glob("*/*.cu"))
    compiled = compile_all(sources, ["-include", ROOT / "scripts/evidence_sets/weft.h"])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(sources, pool.map(result, compiled.values())))
    counts = {(chosen, group.name): collections.Counter() for chosen in HALVES for group in sorted({source.parent for source in sources})}
    for source in sources:
        group = source.parent.name
        counts[half(f"{group}/{source.name}"), group][found[source]] += 1
    rows = [[chosen, f"`{group}`", row.total(), *(row[name] for name in RESULTS)] for (chosen, group), row in counts.items() if row]
    wrong = collections.Counter(found[source] for source in sources if source.parent.name == FAULTS)
    other = collections.Counter(found.values()) - wrong
    return f"""# The examples of Weft

`ptx-atomics check --races` shows {wrong["divergent"]} of {wrong.total()} faults of named barriers in Weft's negative examples. Of the
{other.total()} other kernels, it proves {other["free"]} free and leaves {other["open"]} open.

{measured("weft", date, f"{ABOUT} nvcc {version()} compiles them.", "CHECKOUT")}
{table(["half", "examples", "kernels", *RESULTS], rows, left=2)}{NOTES}"""


ABOUT = """The kernels are of
[Weft](https://github.com/lightsighter/Weft), a verifier of PLDI 2015, commit d9ee750d."""
NOTES = f"""
- Each kernel has the block of its `__launch_bounds__`, as in Weft. The grid and the arguments are not given. The limit is {SECONDS} seconds
  for each question.
- The shuffles and votes of the kernels are of before CUDA 9. They are compiled as the instructions of today, for all lanes of a warp.
- Each kernel in `negatives` has a fault of its barriers. Weft states no expected verdict for the other kernels. Its README says that
  some of them have races, and its script assumes for Fermi that a warp executes in lockstep, which PTX does not promise. So an open
  kernel may have a race.
- `negatives/arrival` is free here: all of its threads arrive at a barrier at which no thread waits. Weft rejects such arrivals.
- A kernel is in the development half if the SHA-256 of its path is even. The kernels were checked before this page, too. The check was
  not changed for them.
"""
SET = Set(
    "warp-specialized kernels with named barriers, of Weft",
    page,
    "lightsighter/Weft",
    "d9ee750d1df2fac274bdf3874d729a606da349e4",
    (EXAMPLES,),
)
