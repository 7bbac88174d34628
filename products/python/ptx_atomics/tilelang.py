"""TileLang: each kernel is checked when ``nvcc`` compiles it.

    import ptx_atomics.tilelang
    ptx_atomics.tilelang.install()

A kernel that becomes machine code is also compiled to PTX, once: kernels in TileLang's cache are not compiled again.
Findings refer to lines of the CUDA C++ that TileLang generates, which is kept next to the reports.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from ._kernel import Program, cache
from ._watch import KernelWarning, Replaced, Watch

__all__ = ["KernelWarning", "install", "uninstall"]


def install(mode: str = "warn", **options: Any) -> Watch:
    """Checks each kernel that TileLang compiles from now on.

    ``mode`` and ``options`` have the same meaning as in ``ptx_atomics.triton.install``.

    With ``"raise"``, users see a ``RuntimeError``: TVM, which calls the compiler, converts every exception.
    """
    return _compile.install(mode, **options)


def uninstall() -> None:
    """Ends the checks that :func:`install` started."""
    _compile.uninstall()


def _nvcc() -> Any:
    """The module of TileLang that calls the compiler."""
    import tilelang.contrib.nvcc as nvcc

    return nvcc


def _compile_cuda(code: str, target_format: str = "ptx", *others: Any, **options: Any) -> Any:
    made = _compile.before(code, target_format, *others, **options)
    watch = _compile.watch
    if watch is None or watch.mode == "off":
        return made
    found = re.search(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)", code)
    name = found[1] if found else "kernel"
    try:
        # The file that TileLang compiles no longer exists when a user reads a finding.
        source = cache() / f"{name}.{hashlib.sha256(code.encode()).hexdigest()[:16]}.cu"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(code, encoding="utf-8")
        placed = f"#line 1 {json.dumps(str(source), ensure_ascii=False)}\n{code}"
        ptx = bytes(_compile.before(placed, "ptx", *others, **{**options, "path_target": None}))
    except Exception as error:
        watch.say_once(f"{name} was not checked: {error}")
        return made
    watch(Program(name, _launched(code, ptx.decode("utf-8", errors="replace"))))
    return made


def _launched(code: str, ptx: str) -> str:
    """PTX with the number of threads of a CTA. TileLang launches one-dimensional kernels with the bound in their code.
    """
    has_more = re.search(r"\bthreadIdx\s*\.\s*[yz]\b", code) is not None
    return ptx if has_more else re.sub(r"^\.maxntid\b", ".reqntid", ptx, flags=re.MULTILINE)


_compile = Replaced(_nvcc, "compile_cuda", _compile_cuda)
