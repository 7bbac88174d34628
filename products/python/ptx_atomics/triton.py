"""Triton and Gluon: each kernel is checked when it is compiled.

    import ptx_atomics.triton
    ptx_atomics.triton.install()

Findings stand in lines of the Python file. ``PTX_ATOMICS=check`` in the environment does the same without a line of code, as
``PTX_ATOMICS=raise`` does with ``mode="raise"``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

from ._kernel import Program
from ._watch import KernelWarning, Watch

_watch: Optional[Watch] = None
_before: Optional[Callable[..., None]] = None

__all__ = ["KernelWarning", "compile", "install", "uninstall"]


def install(mode: str = "warn", **options: Any) -> Watch:
    """Checks each kernel that Triton compiles from now on, or takes from its cache.

    With ``"warn"`` what is wrong is a ``KernelWarning``, with ``"raise"`` a ``ptx_atomics.FindingsError`` in place of the
    compiled kernel. A kernel without PTX, as for an AMD GPU, is skipped, which is said once. What goes wrong in the check itself
    is a warning, too. ``options`` are those of :func:`ptx_atomics.check`. A kernel is checked once for each text of its PTX:
    reports are kept in ``~/.cache/ptx-atomics``. Another listener of Triton's stays.
    """
    global _watch, _before
    from triton import knobs

    uninstall()
    _watch = Watch(mode, **options)
    _before = knobs.compilation.listener
    knobs.compilation.listener = _listener
    return _watch


def uninstall() -> None:
    """Ends what :func:`install` began."""
    global _watch, _before
    if _watch is None:
        return
    from triton import knobs

    if knobs.compilation.listener is _listener:
        knobs.compilation.listener = _before
    _watch = _before = None


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
    """Compiles a kernel without a GPU, to be checked or run: for arguments of these types, and these constants.

    ``signature`` has a type for each parameter that is no ``tl.constexpr``: ``"*fp32"``, ``"i32"``. ``capability`` is the GPU,
    ``warps`` how many warps a program has; ``options`` are further ones of Triton's.
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
    """What Triton makes of a function before it compiles it: Gluon has another one."""
    if getattr(function, "is_gluon", lambda: False)():
        from triton.experimental.gluon._runtime import GluonASTSource

        return GluonASTSource
    from triton.compiler import ASTSource

    return ASTSource
