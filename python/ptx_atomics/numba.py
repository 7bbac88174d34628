"""Numba: each kernel of ``numba.cuda`` is checked when it is compiled for a GPU.

    import ptx_atomics.numba
    ptx_atomics.numba.install(block=256)

PTX of Numba does not say how many threads a CTA has: ``block`` says it, and without it a race that an execution shows is only possible.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

from ._kernel import Program
from ._watch import KernelWarning, Watch

_watch: Optional[Watch] = None
_before: Optional[Callable[..., Any]] = None

__all__ = ["KernelWarning", "install", "uninstall"]


def install(mode: str = "warn", **options: Any) -> Watch:
    """Checks each kernel that Numba compiles from now on. ``mode`` and ``options`` are as of ``ptx_atomics.triton.install``."""
    global _watch, _before
    library = _library()
    uninstall()
    _watch, _before = Watch(mode, **options), library.get_cubin
    library.get_cubin = _get_cubin
    return _watch


def uninstall() -> None:
    """Ends what :func:`install` began."""
    global _watch, _before
    if _watch is None:
        return
    _library().get_cubin = _before
    _watch = _before = None


def _library() -> Any:
    """What holds the code of a kernel, in all its forms."""
    from numba.cuda.codegen import CUDACodeLibrary

    return CUDACodeLibrary


def _get_cubin(library: Any, cc: Any = None) -> Any:
    assert _before is not None
    # Machine code is made once for each GPU, behind the PTX.
    is_known = cc in getattr(library, "_cubin_cache", {})
    cubin = _before(library, cc)
    if not is_known and _watch is not None and _watch.mode != "off":
        check(library, cc)
    return cubin


def check(library: Any, cc: Any = None) -> None:
    """Checks what a library was compiled to."""
    assert _watch is not None
    name = str(getattr(library, "name", "kernel"))
    try:
        # With link-time optimization there is PTX only behind it.
        ptx = library.get_lto_ptx(cc) if getattr(library, "_lto", False) else library.get_asm_str(cc)
    except Exception as error:
        _watch.say_once(f"{name} was not checked: {error}")
        return
    _watch(Program(name, ptx))
