"""Warp: each module is checked when it is compiled.

    import ptx_atomics.warp
    ptx_atomics.warp.install(block=256)

A module that becomes machine code is also compiled to PTX, once: modules in Warp's cache are not compiled again.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ._kernel import Program
from ._watch import KernelWarning, Replaced, Watch

__all__ = ["KernelWarning", "install", "uninstall"]


def install(mode: str = "warn", **options: Any) -> Watch:
    """Checks each module that Warp compiles from now on.

    ``mode`` and ``options`` have the same meaning as in ``ptx_atomics.triton.install``.
    """
    return _compile.install(mode, **options)


def uninstall() -> None:
    """Ends the checks that :func:`install` started."""
    _compile.uninstall()


def _build() -> Any:
    """The module of Warp that calls the compiler."""
    import warp._src.build as build

    return build


def _build_cuda(cu_path: Any, arch: Any, output_path: Any, *others: Any, **options: Any) -> Any:
    made = _compile.before(cu_path, arch, output_path, *others, **options)
    watch = _compile.watch
    if watch is None or watch.mode == "off":
        return made
    name = Path(os.fspath(cu_path)).stem
    try:
        if os.fspath(output_path).endswith(".ptx"):
            ptx = Path(output_path).read_text(encoding="utf-8", errors="replace")
        else:
            with tempfile.TemporaryDirectory(prefix="ptx-atomics-") as folder:
                path = os.path.join(folder, name + ".ptx")
                _compile.before(cu_path, arch, path, *others, **options)
                ptx = Path(path).read_text(encoding="utf-8", errors="replace")
    except Exception as error:
        watch.say_once(f"{name} was not checked: {error}")
        return made
    watch(Program(name, ptx))
    return made


_compile = Replaced(_build, "build_cuda", _build_cuda)
