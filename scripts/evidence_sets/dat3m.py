"""The PTX tests of Dat3M, with the verdicts that its developers expect."""

import csv

from evidence_sets.common import HALVES, Set, answers, half, measured, table

TESTS = "litmus/PTX"
TABLES = "dartagnan/src/test/resources"
# Dat3M's models of two versions of the manual.
MODELS = {"PTX 6.0": "PTXv6_0", "PTX 7.5": "PTXv7_5"}
# The readings of the command, with their names on the page.
READINGS = {"manual": "the manual's words", "dat3m": "Dat3M's reading"}
WORDS = {True: "holds", False: "does not hold", None: "no verdict"}
ABOUT = """The tests and verdicts are of
[Dat3M](https://github.com/hernanponcedeleon/Dat3M), commit 30640123."""
NOTES = """
- A test is in the development half if the SHA-256 of its path is even. Only this half was visible while the model was written. The other half was
  asked before this page, too: two of its tests, `quorum1-hang` and `quorum4-fail`, are among the tests that [an earlier page](model-tests.md) explains.
- Dat3M reads four points of the manual differently: a failed `cas` writes, `fence.sc` is not a release or acquire fence, `red` forms an acquire
  pattern, and a thread may wait forever. `--convention dat3m` selects its reading, and has instructions that PTX does not have.
- The liveness tests of the repository, mostly of its folder `CADP`, ask whether a program ends under a fair schedule. `litmus` does not answer
  this question, so they are not counted.
- Neither the speed nor random tests were compared with Dat3M: it was not built, since its libraries were not at hand.

## Disagreements

An error means that the test has an instruction that PTX does not have. A test without a verdict hangs: each execution waits at a barrier forever.
Where no execution ends, Dat3M answers as if no execution fulfills the condition; its comments call the tests `PC-bar-sync-sync` deadlocks.

"""


def expected(folder, model):
    """The verdict of each test of a table, in words."""
    rows = csv.reader((folder / TABLES / f"{MODELS[model]}-expected.csv").read_text().split())
    return {name: WORDS[holds == "1"] for name, holds in rows}


def judged(folder, names, reading):
    """The verdict of each test, in words."""
    arguments = ["litmus", "--convention", reading, "--format", "json", *(folder / name for name in names)]
    found = {answer["file"]: WORDS[answer["holds"]] for answer in answers(*arguments)}
    return {name: found.get(str(folder / name), "an error") for name in names}


def page(folder, date):
    rows, differ, contrary = [], {}, 0
    for model in MODELS:
        wanted = expected(folder, model)
        found = {reading: judged(folder, wanted, reading) for reading in READINGS}
        for chosen in HALVES:
            names = [name for name in wanted if half(name) == chosen]
            agreed = [sum(verdicts[name] == wanted[name] for name in names) for verdicts in found.values()]
            rows.append([model, chosen, len(names), *agreed])
        for name, verdict in wanted.items():
            verdicts = [found[reading][name] for reading in READINGS]
            if verdicts != [verdict] * len(READINGS):
                contrary += WORDS[verdict != WORDS[True]] in verdicts
                short = name.removeprefix(f"{TESTS}/").removesuffix(".litmus")
                differ[name] = [f"`{short}`", half(name), verdict, *verdicts]
    *_, manual, own = (sum(column) for column in zip(*(row[2:] for row in rows if row[0] == "PTX 7.5")))
    count = sum(row[2] for row in rows if row[0] == "PTX 7.5")
    return f"""# The PTX tests of Dat3M

The memory model has the verdict of Dat3M on {manual} of {count} tests of PTX 7.5 by the manual's words, and on {own} by Dat3M's reading. {contrary} verdicts
contradict Dat3M's: the other tests have an error or no verdict.

{measured("dat3m", date, ABOUT, "CHECKOUT")}
{table(["model of Dat3M", "half", "tests", *(f"agree by {words}" for words in READINGS.values())], rows, left=2)}{NOTES}{table(["test", "half", "Dat3M", *READINGS.values()], sorted(differ.values()), left=5)}"""


SET = Set(
    "PTX tests of Dat3M with the verdicts that its developers expect",
    page,
    "hernanponcedeleon/Dat3M",
    "30640123b88d4fc5ca01403f936d45c54d83a9c1",
    (TESTS, TABLES),
)
