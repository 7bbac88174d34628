"""Numba: each kernel of ``numba.cuda`` is checked when it is compiled for a GPU.

    import ptx_atomics.numba
    ptx_atomics.numba.install(block=256)

:func:`use_device` runs kernels without a GPU. The PTX of Numba does not set the number of threads of a CTA: ``block``
does. Without ``block``, a race that an execution shows is only possible.
"""

from __future__ import annotations

from typing import Any

from . import device
from ._kernel import Program
from ._watch import KernelWarning, Replaced, Watch

__all__ = ["KernelWarning", "install", "uninstall", "use_device"]


def install(mode: str = "warn", **options: Any) -> Watch:
    """Checks each kernel that Numba compiles from now on.

    ``mode`` and ``options`` have the same meaning as in ``ptx_atomics.triton.install``.
    """
    return _get.install(mode, **options)


def uninstall() -> None:
    """Ends the checks that :func:`install` started."""
    _get.uninstall()


def use_device() -> None:
    """Runs kernels on the device of ``ptx-atomics exec``, which gets their PTX instead of machine code.

    If this package is installed, ``ptx-atomics exec`` has the same effect without a call. Raises ``Error`` if the
    command did not start the program. Numba needs NVVM and nvJitLink: ``pip install 'numba-cuda[cu13]'``.
    """
    device.require()
    _library().get_cubin = _ptx_as_cubin


def _ptx_as_cubin(library: Any, cc: Any = None) -> Any:
    from cuda.core import ObjectCode

    return ObjectCode.from_ptx(_ptx_of(library, cc).encode())


def _ptx_of(library: Any, cc: Any) -> str:
    # With link-time optimization, only the PTX after linking exists.
    return str(library.get_lto_ptx(cc) if getattr(library, "_lto", False) else library.get_asm_str(cc))


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
        ptx = _ptx_of(library, cc)
    except Exception as error:
        watch.say_once(f"{name} was not checked: {error}")
        return
    watch(Program(name, ptx))


_get = Replaced(lambda: _library(), "get_cubin", _get_cubin)
