"""Triton and Gluon: each kernel is checked when it is compiled.

    import ptx_atomics.triton
    ptx_atomics.triton.install()

Findings refer to lines of the Python file. ``PTX_ATOMICS=check`` in the environment has the same effect without a
change of the code, and ``PTX_ATOMICS=raise`` has the effect of ``mode="raise"``. :func:`use_device` runs kernels
without a GPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

from . import device
from ._kernel import Program
from ._watch import KernelWarning, Watch

_watch: Optional[Watch] = None
_before: Optional[Callable[..., None]] = None

__all__ = ["KernelWarning", "compile", "install", "uninstall", "use_device"]


def install(mode: str = "warn", **options: Any) -> Watch:
    """Checks each kernel that Triton compiles from now on, or takes from its cache.

    With ``"warn"``, a wrong kernel causes a ``KernelWarning``; with ``"raise"``, the compilation raises
    ``ptx_atomics.FindingsError``. A kernel without PTX, such as for an AMD GPU, is skipped with a single warning. A
    failure of the check is a warning, too. ``options`` are the options of :func:`ptx_atomics.check`. A kernel is
    checked once for each text of its PTX: reports are kept in ``~/.cache/ptx-atomics``. Another listener of Triton
    stays installed.
    """
    global _watch, _before
    from triton import knobs

    uninstall()
    _watch = Watch(mode, **options)
    _before = knobs.compilation.listener
    knobs.compilation.listener = _listener
    return _watch


def uninstall() -> None:
    """Ends the checks that :func:`install` started."""
    global _watch, _before
    if _watch is None:
        return
    from triton import knobs

    if knobs.compilation.listener is _listener:
        knobs.compilation.listener = _before
    _watch = _before = None


def use_device() -> None:
    """Runs kernels on the device of ``ptx-atomics exec``, with arrays of :class:`ptx_atomics.device.Array`, or with
    tensors of PyTorch in memory of the host.

    If this package is installed, ``ptx-atomics exec`` has the same effect without a call. Raises ``Error`` if the
    command did not start the program.
    """
    device.require()
    from . import _triton_device

    _triton_device.install()


def _listener(*, src: Any, metadata: Mapping[str, Any], metadata_group: Mapping[str, str], times: Any, cache_hit: bool) -> None:
    if _before is not None:
        _before(src=src, metadata=metadata, metadata_group=metadata_group, times=times, cache_hit=cache_hit)
    if _watch is None or _watch.mode == "off":
        return
    stages: Dict[str, str] = {}
    for name, path in metadata_group.items():
        ending = name.rpartition(".")[2]
        if ending in ("ptx", "llir"):
            try:
                stages[ending] = Path(path).read_text(encoding="utf-8", errors="replace")
            except OSError as error:
                _watch.say_once(f"{name} was not checked: {error}")
                return
    name = str(metadata.get("name") or getattr(src, "name", "kernel"))
    if "ptx" not in stages:
        backend = getattr(metadata.get("target"), "backend", "this GPU")
        _watch.say_once(f"kernels for {backend} have no PTX, and are not checked")
        return
    _watch(Program(name, stages["ptx"], stages.get("llir")))


def compile(
    function: Any,
    signature: Sequence[str],
    constants: Optional[Mapping[str, Any]] = None,
    *,
    capability: int = 90,
    warps: int = 4,
    **options: Any,
) -> Any:
    """Compiles a kernel without a GPU, for a check or a run, with arguments of these types and these constants.

    ``signature`` has a type for each parameter that is not a ``tl.constexpr``: ``"*fp32"``, ``"i32"``. ``capability``
    is the GPU, ``warps`` the number of warps of a program; ``options`` are further options of Triton.
    """
    import triton
    from triton.backends.compiler import GPUTarget

    constants = dict(constants or {})
    types = iter(signature)
    of = {name: "constexpr" if name in constants else next(types, "constexpr") for name in function.arg_names}
    source_class = _source_of(function)
    source = source_class(fn=function, signature=of, constexprs=constants)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": warps, **options})


def _source_of(function: Any) -> Any:
    """The representation of a function that Triton compiles. Gluon has a different one."""
    if getattr(function, "is_gluon", lambda: False)():
        from triton.experimental.gluon._runtime import GluonASTSource

        return GluonASTSource
    from triton.compiler import ASTSource

    return ASTSource
