"""The shared parts of the sets of scripts/evidence."""

import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess
from collections.abc import Callable

HALVES = ["development", "held out"]
# The results of a check of races and barriers. A program has the first result that fits.
RESULTS = ["divergent", "race", "same value", "open", "free", "not checked"]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMMAND = os.environ.get("PTX_ATOMICS", str(ROOT / "target/debug/ptx-atomics"))


@dataclasses.dataclass(frozen=True)
class Set:
    """A published set: its page is a function of its exported files and of the date."""

    about: str
    page: Callable[[pathlib.Path, str], str]
    # A repository of GitHub with the set, and the paths to export; a set without a repository needs no checkout.
    repository: str = ""
    commit: str = ""
    paths: tuple[str, ...] = ()

    def export(self, checkout, folder):
        """The files of the commit, whatever the work tree of the checkout contains."""
        archive = subprocess.run(["git", "-C", checkout, "archive", self.commit, *self.paths], stdout=subprocess.PIPE)
        if archive.returncode:
            raise SystemExit(f"expected commit {self.commit} of {self.repository} in '{checkout}'")
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)


def output(*command):
    """The output of a command that must succeed."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def answers(*arguments):
    """The JSON of our command, whatever its exit status."""
    done = subprocess.run([COMMAND, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    if not done.stdout.strip():
        raise SystemExit(done.stderr or f"expected JSON from {' '.join(map(str, arguments))}")
    return json.loads(done.stdout)


def half(name):
    """The half of a test: a test whose SHA-256 is even is in the development half."""
    return HALVES[hashlib.sha256(name.encode()).digest()[-1] % 2]


def result_of_check(program, *options):
    """The result of a check of races and barriers."""
    report = answers("check", "--races", "--jobs", 1, "--format", "json", program, *options)
    kernels = report["kernels"]
    verdicts = {answer["verdict"] for kernel in kernels for answer in kernel["answers"]}
    errors = {finding["question"] for kernel in kernels for finding in kernel["findings"] if finding["severity"] == "error"}
    fits = {
        "divergent": verdicts & {"divergent", "deadlock", "lapped"},
        "race": "race" in verdicts and "races" in errors,
        "same value": "race" in verdicts,
        "open": "open" in verdicts,
        "free": kernels and not report["errors"],
        "not checked": True,
    }
    return next(result for result in RESULTS if fits[result])


def errors_of_run(program, *options):
    """The kinds of the errors that an execution shows, or None if the execution does not end."""
    command = [COMMAND, "run", *map(str, [program, *options]), "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return None
    return {finding["kind"] for run in json.loads(done.stdout) for finding in run["findings"] if finding["level"] == "wrong"}


def measured(name, date, about="", checkout=""):
    """The sentence about the measurement, and its command."""
    command = f"scripts/evidence {name} {checkout}".strip()
    return f"""Measured on {date} with {output(COMMAND, "--version").splitlines()[0]}. {about} This command measures again and writes the page:

```console
$ {command}
```
"""


def table(header, rows, left=1):
    """A table whose columns after the first `left` are numbers."""
    rule = ["---"] * left + ["--:"] * (len(header) - left)
    return "".join("| " + " | ".join(map(str, row)) + " |\n" for row in [header, rule, *rows])


def bullets(lines):
    """A list, or the sentence that it is empty."""
    return "".join(f"- {line}\n" for line in lines) or "There is none.\n"
