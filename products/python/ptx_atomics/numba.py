"""Numba: each kernel of ``numba.cuda`` is checked when it is compiled for a GPU.

    import ptx_atomics.numba
    ptx_atomics.numba.install(block=256)

The PTX of Numba does not set the number of threads of a CTA: ``block`` does. Without ``block``, a race that an
execution shows is only possible.
"""

from __future__ import annotations

from typing import Any

from ._kernel import Program
from ._watch import KernelWarning, Replaced, Watch

__all__ = ["KernelWarning", "install", "uninstall"]


def install(mode: str = "warn", **options: Any) -> Watch:
    """Checks each kernel that Numba compiles from now on.

    ``mode`` and ``options`` have the same meaning as in ``ptx_atomics.triton.install``.
    """
    return _get.install(mode, **options)


def uninstall() -> None:
    """Ends the checks that :func:`install` started."""
    _get.uninstall()


def _library() -> Any:
    """The class that holds the code of a kernel, in all its forms."""
    from numba.cuda.codegen import CUDACodeLibrary

    return CUDACodeLibrary


def _get_cubin(library: Any, cc: Any = None) -> Any:
    # Numba generates machine code once for each GPU, after the PTX.
    is_known = cc in getattr(library, "_cubin_cache", {})
    cubin = _get.before(library, cc)
    if not is_known and _get.watch is not None and _get.watch.mode != "off":
        _check(_get.watch, library, cc)
    return cubin


def _check(watch: Watch, library: Any, cc: Any) -> None:
    """Checks the PTX of a library."""
    name = str(getattr(library, "name", "kernel"))
    try:
        # With link-time optimization, only the PTX after linking exists.
        ptx = library.get_lto_ptx(cc) if getattr(library, "_lto", False) else library.get_asm_str(cc)
    except Exception as error:
        watch.say_once(f"{name} was not checked: {error}")
        return
    watch(Program(name, ptx))


_get = Replaced(lambda: _library(), "get_cubin", _get_cubin)
