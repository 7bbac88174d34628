"""Finds and calls the command ``ptx-atomics``, which does the work.

The command runs as a separate process: its failure is an exception here, Ctrl-C ends it, and other threads continue.
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
    """An operation failed. The message has the reason."""


class CommandError(Error):
    """The command was called with wrong arguments, or cannot read an input.

    ``status`` is its exit status, ``said`` its message.
    """

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said.strip() or f"{NAME} ended with status {status}")
        self.status = status
        self.said = said


class Answer(NamedTuple):
    """The result of the command: its exit status, standard output and standard error."""

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
    """The path of the command: the value of ``PTX_ATOMICS_COMMAND``, or the command of this package, or the command in
    ``PATH``.

    Raises ``Error`` if no command is found.
    """
    named = os.environ.get("PTX_ATOMICS_COMMAND")
    found = named or _installed() or shutil.which(NAME)
    if not found:
        raise Error(f"cannot find the command {NAME}: install this package by pip, or set PTX_ATOMICS_COMMAND")
    return found


def _installed() -> Optional[str]:
    """The command that was installed with this package."""
    # The module is slow to import, and the search runs only once.
    from importlib import metadata

    try:
        files = metadata.files("ptx-atomics") or []
    except metadata.PackageNotFoundError:
        return None
    own = (Path(str(file.locate())) for file in files if file.name == NAME)
    return next((str(file.resolve()) for file in own if os.access(file, os.X_OK)), None)


def environment() -> "dict[str, str]":
    """The environment of the command. If the command has no LLVM, another ``ptx-atomics`` in the ``PATH`` is its
    helper.
    """
    variables = dict(os.environ)
    # PTX_ATOMICS has options of compilers for the lowering.
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
    """The command that has LLVM: this command if it is not the one of the package, or else its helper."""
    other = environment().get("PTX_ATOMICS_HELPER")
    return other or (path() if path() != _installed() else None)


def call(arguments: Sequence[str], text: Optional[str] = None, command: Optional[str] = None) -> Answer:
    """Runs the command, or another one, with ``text`` as its standard input.

    Raises ``CommandError`` if its arguments are wrong (exit status 2 without an answer), or if a signal ends the
    command.
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
