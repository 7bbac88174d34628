"""The checks."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _command
from ._command import CommandError
from ._kernel import Files, cache, files, shown_grid
from ._report import Report, of_report

Sizes = Union[int, Sequence[int]]


def _sizes(name: str, sizes: Optional[Sizes]) -> List[str]:
    shown = shown_grid(tuple(sizes) if isinstance(sizes, Sequence) else sizes)
    if sizes is not None and shown is None:
        raise TypeError(f"expected one to three numbers for {name}, found {sizes!r}")
    return [f"--{name}", shown] if shown else []


def check(
    kernel: Any,
    *,
    block: Optional[Sizes] = None,
    grid: Optional[Sizes] = None,
    name: Optional[str] = None,
    parameters: Optional[Mapping[str, int]] = None,
    strict: bool = False,
    quick: bool = False,
    time_limit: Optional[float] = None,
    only: Optional[str] = None,
    profile: Optional[str] = None,
) -> Report:
    """Checks a kernel: its asynchronous operations, data races and barriers, and its orderings against its LLVM IR.

    ``kernel`` is PTX as text, a path (a file, or a folder such as Triton's cache), a compiled or jitted kernel of
    Triton or Gluon, ``kernel[grid]``, or a compiled function of Numba. ``block`` and ``grid`` set the sizes of a launch
    that the PTX does not set, ``parameters`` sets numbers by name, and ``name`` selects kernels. ``only`` has some of
    the questions ``"order"``, ``"async"``, ``"races"`` and ``"barriers"``, separated by commas. ``profile`` is a
    reading of the manual, as described by ``ptx-atomics check --help``. ``quick`` skips the search for executions that
    show findings. ``time_limit`` is the limit for each kernel and question, in seconds; the default is 120.

    Raises ``CommandError`` if the arguments are wrong. ``Report.errors`` has the errors of inputs that cannot be read.

    >>> report = check('''
    ... .version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .shared .align 16 .b8 tile[16];
    ... .visible .entry copy(.param .u64 p) {
    ...   .reg .b64 %rd<3>; .reg .b32 %r<2>;
    ...   ld.param.u64 %rd1, [p];
    ...   cp.async.ca.shared.global [tile], [%rd1], 16;
    ...   ld.shared.u32 %r1, [tile];
    ...   st.global.u32 [%rd1], %r1;
    ...   ret;
    ... }
    ... ''', block=32)
    >>> report.ok
    False
    >>> report.wrong[0].kernel
    'copy'
    """
    options = _options(block, grid, name, strict, quick, time_limit)
    options += [f"--param={key}={value}" for key, value in (parameters or {}).items()]
    options += ["--only", only] if only else []
    options += ["--profile", profile] if profile else []
    return _report(kernel, options)


def races(
    kernel: Any,
    *,
    block: Optional[Sizes] = None,
    grid: Optional[Sizes] = None,
    name: Optional[str] = None,
    may_alias: bool = False,
    strict: bool = False,
    quick: bool = False,
    time_limit: Optional[float] = None,
) -> Report:
    """Decides for each kernel whether it is free of data races, has a race, or remains open: ``Report.kernels``.

    ``kernel``, ``block``, ``grid``, ``name``, ``quick`` and ``time_limit`` are the same as for :func:`check`.
    ``may_alias`` allows pointers of different parameters to have the same memory.

    >>> report = races('''
    ... .version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .visible .entry store(.param .u64 p) {
    ...   .reg .b64 %rd<3>; .reg .b32 %r<2>;
    ...   ld.param.u64 %rd1, [p];
    ...   mov.u32 %r1, %tid.x;
    ...   st.global.u32 [%rd1], %r1;
    ...   ret;
    ... }
    ... ''', block=64)
    >>> report.kernels[0].verdict
    'race'
    """
    options = ["--races", *_options(block, grid, name, strict, quick, time_limit)]
    options += ["--may-alias"] if may_alias else []
    report = _report(kernel, options)
    return replace(report, kernels=tuple(verdict for verdict in report.verdicts if verdict.question == "races"))


def _options(
    block: Optional[Sizes],
    grid: Optional[Sizes],
    name: Optional[str],
    strict: bool,
    quick: bool,
    time_limit: Optional[float],
) -> List[str]:
    options = [*_sizes("block", block), *_sizes("grid", grid)]
    options += ["--kernel", name] if name else []
    options += ["--strict"] if strict else []
    options += ["--quick"] if quick else []
    options += ["--time-limit", str(time_limit)] if time_limit is not None else []
    return options


#: The report of an input that cannot be read.
EMPTY: Dict[str, Any] = {"kernels": []}


def _report(kernel: Any, options: List[str]) -> Report:
    # The command keeps reports, so that a kernel that is compiled again is not checked again.
    options = [*options, "--cache", str(cache() / "reports")]
    with files(kernel) as given:
        answer = _command.call(_arguments(given, options, "json"))
        try:
            found = answer.json()
        except CommandError:
            found = EMPTY
        for execution in _executions(found):
            execution["command"] = given.repeatable(execution["command"])
        found = json.loads(given.without_folder(json.dumps(found, ensure_ascii=False)))
        answer = given.renamed(answer)
        errors = _errors(answer.said)
        if not found["kernels"] and not errors and answer.status not in (0, 1):
            raise CommandError(answer.status, answer.said)
        findings, verdicts = of_report(found)

    def sarif() -> str:
        with files(kernel) as given:
            return given.renamed(_command.call(_arguments(given, options, "sarif"))).output

    return Report(findings, (), verdicts, errors, dict(given.texts), sarif)


def _executions(report: Any) -> Iterator[Dict[str, Any]]:
    """The executions in a report."""
    for kernel in report["kernels"]:
        for finding in kernel["findings"]:
            if finding["evidence"].get("command"):
                yield finding["evidence"]


def _arguments(given: Files, options: List[str], form: str) -> List[str]:
    grid = ["--grid", given.grid] if given.grid and "--grid" not in options else []
    return ["check", "--format", form, *options, *grid, *given.paths]


def _errors(said: str) -> Tuple[str, ...]:
    """The errors of the command about inputs that it could not read."""
    parts: List[str] = []
    for line in said.splitlines():
        if line.startswith("error"):
            parts.append(line)
        elif parts and re.match(r"\s|\d+ *\|", line):
            parts[-1] += "\n" + line
    return tuple(part.rstrip() for part in parts)
