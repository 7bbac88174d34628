"""TileLang: each kernel is checked when ``nvcc`` compiles it.

    import ptx_atomics.tilelang
    ptx_atomics.tilelang.install()

A kernel that becomes machine code is compiled to PTX, too, once: what TileLang keeps in its cache is not compiled again. Findings stand
in lines of the CUDA C++ that TileLang makes, which is kept beside the reports.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, Callable, Optional

from ._kernel import Program
from ._watch import KernelWarning, Watch, folder

_watch: Optional[Watch] = None
_before: Optional[Callable[..., Any]] = None

__all__ = ["KernelWarning", "install", "uninstall"]


def install(mode: str = "warn", **options: Any) -> Watch:
    """Checks each kernel that TileLang compiles from now on. ``mode`` and ``options`` are as of ``ptx_atomics.triton.install``.

    With ``"raise"`` what users see is a ``RuntimeError``: TVM, which calls the compiler, makes one of each exception.
    """
    global _watch, _before
    nvcc = _nvcc()
    uninstall()
    _watch, _before = Watch(mode, **options), nvcc.compile_cuda
    nvcc.compile_cuda = _compile_cuda
    return _watch


def uninstall() -> None:
    """Ends what :func:`install` began."""
    global _watch, _before
    if _watch is None:
        return
    _nvcc().compile_cuda = _before
    _watch = _before = None


def _nvcc() -> Any:
    """The module of TileLang that calls the compiler."""
    import tilelang.contrib.nvcc as nvcc

    return nvcc


def _compile_cuda(code: str, target_format: str = "ptx", *others: Any, **options: Any) -> Any:
    assert _before is not None
    made = _before(code, target_format, *others, **options)
    if _watch is None or _watch.mode == "off":
        return made
    found = re.search(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)", code)
    name = found[1] if found else "kernel"
    try:
        # The file that TileLang compiles is gone when a finding is read.
        source = folder() / f"{name}.{hashlib.sha256(code.encode()).hexdigest()[:16]}.cu"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(code, encoding="utf-8")
        ptx = bytes(_before(f'#line 1 "{source}"\n{code}', "ptx", *others, **{**options, "path_target": None}))
    except Exception as error:
        _watch.say_once(f"{name} was not checked: {error}")
        return made
    _watch(Program(name, _launched(code, ptx.decode("utf-8", errors="replace"))))
    return made


def _launched(code: str, ptx: str) -> str:
    """PTX with the number of threads that TileLang launches, which its code has as a bound only: that of one dimension."""
    has_more = re.search(r"\bthreadIdx\s*\.\s*[yz]\b", code) is not None
    return ptx if has_more else re.sub(r"^\.maxntid\b", ".reqntid", ptx, flags=re.MULTILINE)
