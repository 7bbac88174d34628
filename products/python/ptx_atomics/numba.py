"""Numba: each kernel of ``numba.cuda`` is checked when it is compiled for a GPU.

    import ptx_atomics.numba
    ptx_atomics.numba.install(block=256)

PTX of Numba does not say how many threads a CTA has: ``block`` says it, and without it a race that an execution shows is only possible.
"""

from __future__ import annotations

from typing import Any

from ._kernel import Program
from ._watch import KernelWarning, Replaced, Watch

__all__ = ["KernelWarning", "install", "uninstall"]


def install(mode: str = "warn", **options: Any) -> Watch:
    """Checks each kernel that Numba compiles from now on. ``mode`` and ``options`` are as of ``ptx_atomics.triton.install``."""
    return _get.install(mode, **options)


def uninstall() -> None:
    """Ends what :func:`install` began."""
    _get.uninstall()


def _library() -> Any:
    """What holds the code of a kernel, in all its forms."""
    from numba.cuda.codegen import CUDACodeLibrary

    return CUDACodeLibrary


def _get_cubin(library: Any, cc: Any = None) -> Any:
    # Machine code is made once for each GPU, behind the PTX.
    is_known = cc in getattr(library, "_cubin_cache", {})
    cubin = _get.before(library, cc)
    if not is_known and _get.watch is not None and _get.watch.mode != "off":
        _check(_get.watch, library, cc)
    return cubin


def _check(watch: Watch, library: Any, cc: Any) -> None:
    """Checks what a library was compiled to."""
    name = str(getattr(library, "name", "kernel"))
    try:
        # With link-time optimization there is PTX only behind it.
        ptx = library.get_lto_ptx(cc) if getattr(library, "_lto", False) else library.get_asm_str(cc)
    except Exception as error:
        watch.say_once(f"{name} was not checked: {error}")
        return
    watch(Program(name, ptx))


_get = Replaced(lambda: _library(), "get_cubin", _get_cubin)
