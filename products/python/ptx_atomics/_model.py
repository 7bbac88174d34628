"""Litmus tests, the mapping of a target, and the comparison of PTX with its IR."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union

from . import _command
from ._command import CommandError, Error

Source = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Litmus:
    """The answer of the PTX memory model to a litmus test."""

    #: Whether the condition of the test holds; ``None`` without a condition, or if the answer is unknown.
    holds: Optional[bool]
    #: The number of final states of the test.
    outcomes: Optional[int]
    #: Two accesses without an order, with their lines; ``None`` without a race.
    race: Optional[Dict[str, Any]]
    #: The text of the test, for a later drawing.
    test: str = field(repr=False)
    raw: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.holds is True

    def __str__(self) -> str:
        return _command.call(["litmus", "--outcomes", "-"], self.test).output.rstrip()

    def svg(self) -> Optional[str]:
        """A drawing of the execution that the condition names, or of an execution with a race; ``None`` without such an
        execution.
        """
        drawn = _command.call(["litmus", "--svg", "-", "-"], self.test).output
        return drawn if "<svg" in drawn else None

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>{self.svg() or ''}"

    def to_dict(self) -> Dict[str, Any]:
        """The answer in the JSON of the command."""
        return self.raw


def litmus(test: Source) -> Litmus:
    """Decides whether the condition of a litmus test holds, by the axioms of the PTX manual.

    ``test`` is its text, or the path of a file. Raises ``CommandError`` if it is not a litmus test.

    >>> bool(litmus('''PTX message
    ... { x = 0; flag = 0; }
    ... P0@cta 0 | P1@cta 1 ;
    ... st.weak.u32 [x], 1 | ld.acquire.gpu.u32 r0, [flag] ;
    ... st.release.gpu.u32 [flag], 1 | ld.weak.u32 r1, [x] ;
    ... ~exists (P1:r0 == 1 /\\\\ P1:r1 == 0)
    ... '''))
    True
    """
    text = _text(test)
    answer = _command.call(["litmus", "--format", "json", "-"], text)
    found = answer.json()
    if not found:
        raise CommandError(answer.status, answer.said)
    one = found[0]
    return Litmus(one.get("holds"), one.get("outcomes"), one.get("race"), text, one)


def _text(source: Source) -> str:
    if isinstance(source, str) and "\n" in source:
        return source
    return Path(source).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Row:
    """A row of the mapping: an operation and its sequence."""

    #: The name, such as ``rmw.acq_rel``.
    row: str
    #: The operation of C++.
    operation: str
    #: The PTX, with ``<scope>`` and similar words for variable parts.
    sequence: str
    #: The changes of the published mapping for the target.
    changes: Tuple[Any, ...] = ()


@dataclass(frozen=True)
class Table:
    """The mapping of a target."""

    #: The name, such as ``sm_90 with PTX 7.8``.
    target: str
    rows: Tuple[Row, ...]

    def __getitem__(self, row: str) -> Row:
        for one in self.rows:
            if one.row == row:
                return one
        raise KeyError(row)

    def __str__(self) -> str:
        width = max((len(row.row) for row in self.rows), default=0)
        return "\n".join([self.target, *(f"{row.row:{width}}  {row.sequence}" for row in self.rows)])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(one.row)}</td><td><code>{escape(one.sequence)}</code></td></tr>" for one in self.rows)
        return f"<table><caption>{escape(self.target)}</caption>{rows}</table>"

    def to_dict(self) -> Dict[str, Any]:
        """The table as plain values."""
        return {"target": self.target, "rows": [vars(row) for row in self.rows]}


def table(target: Optional[str] = None, *, features: Optional[str] = None, strategy: Optional[str] = None) -> Table:
    """The PTX of every atomic operation and fence, on a GPU.

    ``target`` is a GPU such as ``"sm_90"``, ``features`` a version such as ``"+ptx86"``, and ``strategy`` has the
    format of ``ptx-atomics table --help``. Raises ``CommandError`` if the target does not exist.

    >>> print(table("sm_90")["rmw.acq_rel"].sequence)
    atom.acq_rel.<scope>.<rmw op>;
    """
    options = [("--mcpu", target), ("--mattr", features), ("--strategy", strategy)]
    words = [word for name, value in options if value for word in (name, value)]
    answer = _command.call(["table", "--format", "json", *words])
    found = answer.json()
    rows = tuple(Row(one["row"], one["operation"], one["sequence"], tuple(one["changes"])) for one in found["rows"])
    return Table(found["target"], rows)


@dataclass(frozen=True)
class Operation:
    """An atomic operation or a fence of the IR, and the guarantees of the PTX for it."""

    function: str
    #: The operation in LLVM IR: ``atomicrmw add i32 acq_rel``.
    operation: str
    #: ``right``, ``not-judged``, or the kind of the loss.
    verdict: str
    #: The missing guarantees, in words.
    missing: Tuple[str, ...]
    raw: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Judgement:
    """The comparison of PTX with the orderings and scopes that a program asked for."""

    operations: Tuple[Operation, ...]

    @property
    def lost(self) -> List[Operation]:
        """The operations that the PTX does not guarantee."""
        return [one for one in self.operations if one.verdict not in ("right", "not-judged")]

    @property
    def ok(self) -> bool:
        """Whether the PTX keeps every operation that was judged."""
        return not self.lost

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = [f"{one.function}: {one.operation}: {one.verdict}" for one in self.operations]
        return "\n".join(lines) or "no atomic operations or fences"

    def to_dict(self) -> Dict[str, Any]:
        """The judgement as plain values."""
        return {"ok": self.ok, "operations": [one.raw for one in self.operations]}


def judge(ir: Source, ptx: Source) -> Judgement:
    """Compares PTX with its LLVM IR or MLIR: the result has the orderings and scopes that the PTX does not guarantee.

    Both arguments are texts or paths. LLVM reads the IR, and this package lacks LLVM. The function uses a command
    ``ptx-atomics`` with LLVM in the ``PATH``, or the command that ``PTX_ATOMICS_HELPER`` names. Raises ``Error``
    without such a command, and ``CommandError`` if an argument cannot be read.
    """
    command = _command.with_llvm()
    if command is None:
        raise Error("LLVM IR needs LLVM: install a command ptx-atomics with LLVM, or name it by PTX_ATOMICS_HELPER")
    with tempfile.TemporaryDirectory(prefix="ptx-atomics-") as folder:
        paths = []
        for name, source in (("kernel.ll", ir), ("kernel.ptx", ptx)):
            path = os.path.join(folder, name)
            Path(path).write_text(_text(source), encoding="utf-8")
            paths.append(path)
        answer = _command.call(["check", "--json", "--allow-empty", "--ir", paths[0], "--ptx", paths[1]], command=command)
    found = [json.loads(line) for line in answer.output.splitlines() if line.startswith("{")]
    if not found and answer.status != 0:
        raise CommandError(answer.status, answer.said)
    operations = [
        Operation(one["function"], one["operation"], one["verdict"], tuple(one.get("missing", ())), one) for one in found
    ]
    return Judgement(tuple(operations))
