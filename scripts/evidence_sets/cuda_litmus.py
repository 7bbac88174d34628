"""The litmus tests of cuda-litmus, with verdicts of two models and outcomes of three GPUs."""

import collections
import csv
import tempfile

from evidence_sets.common import Set, answers, bullets, measured, output, table

GPUS = ["A100", "H100", "GH200"]
# Our models, with the models of the study.
MODELS = {"ptx": "alloy", "strengthened": "strengthened"}
FIELDS = ["test", "alloy", "strengthened", *GPUS]
# The notes below the table.
NOTES = """
- The tests have the shapes 2+2W, 3.2W, IRIW, ISA2, RWC, WRC, WRW+2W, WWC and Z6.3, and two examples of the paper, with each placement of
  threads in CTAs, each scope of accesses and fences, and several orderings.
- The model of the manual was not changed for these tests. The strengthened model was derived from them, and from no other set: a development
  set. Nothing was held back.
- The verdicts of the other models and the outcomes of GPUs are the published ones. No GPU ran for this page.
- An outcome that no GPU showed may still be allowed.
"""
ABOUT = """The tests, verdicts and outcomes are from
[cuda-litmus](https://github.com/sohambagchi/cuda-litmus), a study of PLDI 2026."""


def verdicts(folder, model):
    """Whether each test holds in a model: all tests say that an outcome exists."""
    tests = answers("litmus", "--model", model, "--format", "json", folder)
    return {test["name"]: {True: "allowed", False: "forbidden", None: "unknown"}[test["holds"]] for test in tests}


def by_shape(tests, ours):
    """A row of numbers for each shape, and for all tests."""
    shapes = collections.defaultdict(list)
    for test in tests:
        shapes[f"`{test['test'].split('_TB_')[0]}`"].append(test)
    for shape, members in [*shapes.items(), ("all", tests)]:
        forbidden = [sum(ours[model][test["test"]] == "forbidden" for test in members) for model in MODELS]
        seen = [sum(test[gpu] == "seen" for test in members) for gpu in GPUS]
        yield [shape, len(members), *forbidden, *seen]


def page(_, date):
    with tempfile.TemporaryDirectory() as folder:
        rows = output("cargo", "run", "--quiet", "--package", "ptx-memory-model", "--example", "cuda_litmus", folder)
        tests = list(csv.DictReader(rows.splitlines(), FIELDS))
        ours = {model: verdicts(folder, model) for model in MODELS}
    agreed, differ, wrong = {}, [], {}
    for model, study in MODELS.items():
        other = [test for test in tests if ours[model][test["test"]] != test[study]]
        agreed[model] = f"{len(tests) - len(other):,} of {len(tests):,}"
        differ += [f"{test['test']}: {ours[model][test['test']]} here, {test[study]} by the {study} model" for test in other]
        for gpu in GPUS:
            seen = [test["test"] for test in tests if test[gpu] == "seen"]
            wrong[gpu, model] = sum(ours[model][name] != "allowed" for name in seen), len(seen)
    heading = f"""# Litmus tests of cuda-litmus

The memory model has the verdict of NVIDIA's Alloy model on {agreed["ptx"]} litmus tests, the [strengthened model](strengthened-model.md)
has the study's stronger verdict on {agreed["strengthened"]}, and they forbid {sum(count for count, _ in wrong.values())} of the outcomes that a GPU showed.

"""
    summary = [["agrees with the study's model", *agreed.values()]]
    for gpu in GPUS:
        counts = [wrong[gpu, model] for model in MODELS]
        summary.append([f"forbids an outcome that the {gpu} showed", *(f"{count} of {most}" for count, most in counts)])
    columns = ["shape", "tests", "forbidden by PTX", "by the strengthened model", *(f"seen on the {gpu}" for gpu in GPUS)]
    return (
        heading
        + measured("cuda-litmus", date, ABOUT)
        + "\n"
        + table(["", "PTX", "strengthened"], summary)
        + NOTES
        + f"\n## Disagreements\n\n{bullets(differ)}\n## Tests by shape\n\n"
        + table(columns, by_shape(tests, ours))
    )


SET = Set("1,306 litmus tests with verdicts of two models and outcomes of three GPUs", page)
