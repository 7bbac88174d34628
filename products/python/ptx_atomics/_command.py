"""The command ``ptx-atomics``, which does the work: where it is, and how it is called.

It runs as a process of its own: what goes wrong in it is an exception here, Ctrl-C ends it, and other threads go on meanwhile.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple, Optional, Sequence

NAME = "ptx-atomics"


class Error(Exception):
    """What cannot be done, and why."""


class CommandError(Error):
    """The command was called wrongly, or cannot read what it was given.

    ``status`` is its exit status, ``said`` what it printed about it.
    """

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said.strip() or f"{NAME} ended with status {status}")
        self.status = status
        self.said = said


class Answer(NamedTuple):
    """What the command gave back: its exit status, standard output and standard error."""

    status: int
    output: str
    said: str

    def json(self) -> Any:
        """The output, which is one JSON document."""
        try:
            return json.loads(self.output)
        except ValueError:
            raise CommandError(self.status, self.said) from None


@functools.lru_cache(maxsize=None)
def path() -> str:
    """The command: what ``PTX_ATOMICS_COMMAND`` names, or the one of this package, or the one in ``PATH``.

    Raises ``Error`` where there is none.
    """
    named = os.environ.get("PTX_ATOMICS_COMMAND")
    found = named or _installed() or shutil.which(NAME)
    if not found:
        raise Error(f"there is no command {NAME}: install this package by pip, or set PTX_ATOMICS_COMMAND to the command")
    return found


def _installed() -> Optional[str]:
    """The command that was installed with this package."""
    # It is slow to import, and only looked for once.
    from importlib import metadata

    try:
        files = metadata.files("ptx-atomics") or []
    except metadata.PackageNotFoundError:
        return None
    own = (Path(str(file.locate())) for file in files if file.name == NAME)
    return next((str(file.resolve()) for file in own if os.access(file, os.X_OK)), None)


def environment() -> "dict[str, str]":
    """The environment of the command. Where it has no LLVM, another ``ptx-atomics`` in the ``PATH`` does what needs it."""
    variables = dict(os.environ)
    # It is for compilers, and says how they lower.
    variables.pop("PTX_ATOMICS", None)
    if "PTX_ATOMICS_HELPER" not in variables:
        own = os.path.realpath(path())
        folders = variables.get("PATH", os.defpath).split(os.pathsep)
        programs = (shutil.which(NAME, path=folder) for folder in folders if folder)
        other = next((found for found in programs if found and os.path.realpath(found) != own), None)
        if other:
            variables["PTX_ATOMICS_HELPER"] = other
    return variables


def with_llvm() -> Optional[str]:
    """The command that has LLVM: this one, where it is not that of the package, or the one that helps it."""
    other = environment().get("PTX_ATOMICS_HELPER")
    return other or (path() if path() != _installed() else None)


def call(arguments: Sequence[str], text: Optional[str] = None, command: Optional[str] = None) -> Answer:
    """Runs the command, or another one, with ``text`` as its standard input.

    Raises ``CommandError`` where its arguments are wrong (exit status 2 without an answer), or where a signal ends it.
    """
    done = subprocess.run(
        [command or path(), *arguments],
        input=text if text is not None else "",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env=environment(),
    )
    if done.returncode < 0 or (done.returncode == 2 and not done.stdout):
        raise CommandError(done.returncode, done.stderr)
    return Answer(done.returncode, done.stdout, done.stderr)
