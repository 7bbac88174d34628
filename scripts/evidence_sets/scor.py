"""The microbenchmarks of ScoR: kernels of scoped synchronization, with and without a race."""

import re

from evidence_sets.common import Set, bullets, errors_of_run, measured, table
from evidence_sets.nvcc import compile_all, version

FOLDER = "microbenchmarks/src"
SIZE = re.compile(r"#define (NBLOCKS|TPERBLK)\s+(\d+)")
VOLATILE = re.compile(r"\bvolatile\b")
SEEDS = 32
FORMS = {"volatile": "as written", "weak": "without `volatile`"}
LABELS = {"race": "a race", "norace": "no race"}
# The reasons of disagreements, judged by hand.
ACQUIRE = "the thread that reads the flag has no fence after it, so that the fence of the writer synchronizes with no read"
VOLATILES = "the data is `volatile`, and the manual counts such accesses as strong: they may be wrong, and are not a data race"


def has_race(ptx, sizes):
    """Whether an execution of a kernel has a race."""
    errors = errors_of_run(ptx, "--grid", sizes["NBLOCKS"], "--block", sizes["TPERBLK"], "--seeds", SEEDS)
    if errors is None:
        raise SystemExit(f"expected an execution of {ptx.stem}")
    return "race" in errors


def page(folder, date):
    sources = sorted((folder / FOLDER).glob("*.cu"))
    texts = {source.stem: source.read_text() for source in sources}
    (folder / "weak").mkdir()
    for source in sources:
        (folder / "weak" / source.name).write_text(VOLATILE.sub("", texts[source.stem]))
    found = {}
    for form, here in [("volatile", sources), ("weak", sorted((folder / "weak").glob("*.cu")))]:
        for source, ptx in compile_all(here).items():
            if ptx is None:
                raise SystemExit(f"nvcc rejects {source}")
            found[source.stem, form] = has_race(ptx, dict(SIZE.findall(texts[source.stem])))
    rows = []
    for label, words in LABELS.items():
        names = [name for name in texts if name.split("_")[0] == label]
        rows.append([words, len(names), *(sum(found[name, form] for name in names) for form in FORMS)])
    differ = []
    for form, words in FORMS.items():
        for label, why in [("race", VOLATILES), ("norace", ACQUIRE)]:
            names = [f"`{name}`" for name in texts if name.split("_")[0] == label and found[name, form] != (label == "race")]
            if names:
                result = LABELS["norace" if label == "race" else "race"]
                differ.append(f"{words.capitalize()}, {result}: {why}: {', '.join(names)}")
    racy, free = rows
    return f"""# The microbenchmarks of ScoR

`ptx-atomics run` shows a race in {racy[3]} of {racy[1]} programs of ScoR with a planted race, and in {free[3]} of {free[1]} programs without, if the data is not `volatile`.

{measured("scor", date, f"{ABOUT} nvcc {version()} compiles them.", "CHECKOUT")}
{table(["label", "programs", *(f"a race is reported, {words}" for words in FORMS.values())], rows)}
- The programs are labelled for ScoRD, a detector in hardware: without a fence of a sufficient scope in between, two accesses race even if both are
  strong. By the manual, two strong accesses of sufficient scopes do not race. The second column is for the same programs without the word
  `volatile`, so that their data is weak. Each program ran with {SEEDS} seeds, and its sizes.
- The set was run for the first time on 2026-11-30, no program of it was seen before, and nothing was changed for it: a held-out set.
- Not measured: the seven larger benchmarks of ScoR, whose races are options of their build.

## Disagreements

{bullets(differ)}"""


ABOUT = """The programs are of
[ScoR](https://github.com/csl-iisc/ScoR), commit 6dc3507e."""
SET = Set(
    "microbenchmarks of ScoR with and without a race of scopes",
    page,
    "csl-iisc/ScoR",
    "6dc3507ecc419aac6ea3a49ec746b610d5029219",
    (FOLDER,),
)
