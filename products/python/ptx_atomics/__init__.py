"""The guarantees of a GPU kernel's atomics, fences, copies and barriers, derived from its PTX.

:func:`check` finds faults of asynchronous operations, and races that executions show. :func:`races` proves kernels free
of races, :func:`run` runs a kernel on the CPU, :func:`litmus` queries the memory model, :func:`judge` compares a
compiler's PTX with its IR, and :func:`table` has the PTX of each atomic operation. ``ptx_atomics.triton.install()``
checks each kernel that Triton compiles.
"""

from ._check import check, races
from ._command import CommandError, Error
from ._kernel import NoPtx
from ._model import Judgement, Litmus, Operation, Row, Table, judge, litmus, table
from ._report import Finding, FindingsError, Report, Verdict
from ._run import Run, run

__version__ = "0.1.0"

__all__ = [
    "CommandError",
    "Error",
    "Finding",
    "FindingsError",
    "Judgement",
    "Litmus",
    "NoPtx",
    "Operation",
    "Report",
    "Row",
    "Run",
    "Table",
    "Verdict",
    "check",
    "judge",
    "litmus",
    "races",
    "run",
    "table",
]
