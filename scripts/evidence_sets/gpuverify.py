"""The CUDA tests of GPUVerify, with the verdicts that its developers expect."""

import collections
import concurrent.futures
import itertools
import math
import os
import re

from evidence_sets.common import HALVES, RESULTS, ROOT, Set, bullets, half, measured, result_of_check, table
from evidence_sets.nvcc import compile_ptx, version

TESTS = "testsuite/CUDA"
COMMENTS = re.compile(r"//(pass|xfail:\w+)\s*\n//(.*)", re.IGNORECASE)
SIZE = re.compile(r"--(block|grid)Dim=\[?([\d,]+)")
RACE = re.compile(r"rac[ey]|Write by")
HEADER = ["half", "GPUVerify", "tests", *RESULTS]
LABELS = ["pass", "pass in lockstep", "race", "divergence", "other"]
# The optimizations of nvcc, with their flags.
FORMS = {"-O3": [], "-O0": ["-Xcicc", "-O0"]}
# Tests with a race whose names and comments do not say so.
RACES = {"atomics/add_tid", "atomics/add_zero", "fail_tests/shared_int", "globalarray/fail", "warpsync/broken_shuffle"}
# The results that agree with a label; each result agrees with the label "other".
AGREES = {
    "pass": ["free", "open", "not checked"],
    "pass in lockstep": ["free", "open", "not checked"],
    "race": ["race", "same value", "not checked"],
    "divergence": ["divergent", "not checked"],
}
# The reasons of disagreements in the development half, judged by hand.
WHY = {
    "atomics/add_tid": "its pointer is an argument of a device function at `-O0`, and executions choose a number for it",
    "atomics/add_zero": "the same",
    "cooperative_groups/fail/divergence_grid_group": "the other threads have exited, and from sm_70 on a barrier does not wait for them",
    "cooperative_groups/fail/divergence_thread_block": "the same",
    "fail_tests/race_on_shared": "the optimizer removed the stores",
    "fresh_arrays/fail/array": "its pointer passes through local memory at `-O0`, and executions choose a number for it",
    "fresh_arrays/fail/inherit": "the same",
    "fresh_arrays/fail/struct_float": "the same",
    "fresh_arrays/fail/struct_nested": "the same",
    "globalarray/fail": "it has a race if the host changes the `__constant__` array",
    "pointertests/test_copy_between_memory_spaces": "all threads store one value",
    "warpsync/intragroup_scan": "its threads need lockstep",
    "warpsync/shuffle": "the same",
}
ABOUT = """The tests are of
[GPUVerify](https://github.com/mc-imperial/gpuverify), commit 49219770."""
NOTES = """
- The first comment of a test is the verdict that GPUVerify must have. The second comment has the launch, which the check gets; a block of
  more than 1,024 threads is left out. *Pass in lockstep* is the option `--warp-sync`, by which the threads of a warp execute each
  instruction together. PTX does not promise this.
- A failure is a race or a divergence if the name or a comment of its test says so; five races were labelled by hand. *Other* are
  assertions, null pointers, constant memory, errors of GPUVerify, and a test about divergence alone. `test_axiom` is left out.
- GPUVerify accepts two stores of the same value. *Same value* are the kernels whose races are such stores alone.
- A precondition ends the thread that violates it. *Not checked* are tests that nvcc rejects, and files without a kernel.
- A test is in the development half if the SHA-256 of its name is even. 24 tests of this half and 22 of the other half are in
  [the older development set](races-labelled.md), as PTX of clang. [The older held-out set](races-held-out.md) has further tests. The
  held-out half was thus seen in part. The check was not changed for this page.
"""


def label(name, text):
    """The verdict that the developers expect."""
    expected, options = COMMENTS.match(text).groups()
    if expected.lower() == "pass":
        return "other" if "--only-divergence" in options else "pass in lockstep" if "--warp-sync" in options else "pass"
    if expected.lower() != "xfail:not_all_verified":
        return "other"
    if "divergence" in name:
        return "divergence"
    return "race" if name in RACES or RACE.search("\n".join([name, *re.findall("//.*", text)])) else "other"


def launch(options):
    """The launch of a test as options of `check`, without a block that no GPU takes."""
    sizes = dict(SIZE.findall(options))
    if math.prod(map(int, sizes["block"].split(","))) > 1024:
        del sizes["block"]
    return [word for name, size in sizes.items() for word in (f"--{name}", size)]


def results(source):
    """The results of a test, in the order of the forms."""
    text = source.read_text()
    options = COMMENTS.match(text)[2]
    flags = ["-include", ROOT / "scripts/evidence_sets/gpuverify.h", *re.findall(r"-D\S+", options)]
    if "curand" in text:
        flags += ["-include", "curand_kernel.h", "-include", "curand_mtgp32_kernel.h"]
    for form in FORMS.values():
        ptx = compile_ptx(source, [*flags, *form])
        yield result_of_check(ptx, *launch(options)) if ptx else "not checked"


def page(folder, date):
    texts = {source: source.read_text() for source in sorted((folder / TESTS).glob("**/*.cu"))}
    # An axiom is a fact about the launch that nvcc cannot express.
    sources = [source for source, text in texts.items() if "__axiom" not in text]
    names = {source: str(source.parent.relative_to(folder / TESTS)) for source in sources}
    labels = {source: label(names[source], texts[source]) for source in sources}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(sources, pool.map(lambda source: list(results(source)), sources)))
    counts, differ = collections.Counter(), []
    for source in sources:
        chosen, kind, name = half(names[source]), labels[source], names[source]
        for form, result in zip(FORMS, found[source]):
            counts[form, chosen, kind, result] += 1
            if chosen == HALVES[0] and result not in AGREES.get(kind, RESULTS):
                differ.append(f"`{name}`, `{form}`: {result}, and {kind} by GPUVerify: {WHY.get(name, 'not explained')}.")
    groups = itertools.product(FORMS, HALVES, LABELS)
    rows = {group: [counts[*group, result] for result in RESULTS] for group in groups}
    tables = [
        f"\nWith `{form}` of nvcc:\n\n{table(HEADER, [[*key[1:], sum(row), *row] for key, row in rows.items() if key[0] == form], left=2)}"
        for form in FORMS
    ]
    summary = [("-O3", "pass"), ("-O3", "race"), ("-O0", "race")]
    passed, racy, unoptimized = (collections.Counter(dict(zip(RESULTS, rows[form, HALVES[1], kind]))) for form, kind in summary)
    return f"""# The CUDA tests of GPUVerify

In the held-out half, `ptx-atomics check --races` proves {passed["free"]} of {passed.total()} tests free that GPUVerify passes, and calls
{passed["race"]} of them a race. Of {racy.total()} tests with a race, it shows {racy["race"] + racy["same value"]} and calls {racy["free"]} free;
without nvcc's optimizations, it calls {unoptimized["free"]} of them free.

{measured("gpuverify", date, f"{ABOUT} nvcc {version()} compiles them.", "CHECKOUT")}{"".join(tables)}{NOTES}
## Disagreements in the development half

{bullets(differ)}"""


SET = Set(
    "CUDA tests of GPUVerify with the verdicts that its developers expect",
    page,
    "mc-imperial/gpuverify",
    "49219770aad01231edd0d8e0fa3ed036006cf32a",
    (TESTS,),
)
