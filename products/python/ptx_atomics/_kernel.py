"""Converts a user's kernel (a kernel of some package, a path or a text) to files that the command reads."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import shlex
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, List, Mapping, Optional, Tuple, Union

from ._command import Answer, Error

Text = Union[str, bytes]


class NoPtx(Error):
    """The kernel has no PTX: its target is not a GPU of NVIDIA, or it was not compiled yet."""


@dataclass(frozen=True)
class Program:
    """PTX, and the LLVM IR from which a compiler made it, if the IR is available."""

    name: str
    ptx: str
    llvm_ir: Optional[str] = None
    #: Whether the kernel has additional parameters after the parameters of its function; its launcher sets them.
    has_hidden: bool = False


@dataclass(frozen=True)
class Files:
    """The inputs of the command."""

    paths: List[str]
    #: The CTAs that a launcher asks for, in the format of ``--grid``.
    grid: Optional[str] = None
    #: The texts of temporary files, by the names that replace their paths in messages.
    texts: Tuple[Tuple[str, str], ...] = ()
    folder: Optional[str] = None
    #: Whether a kernel has additional parameters after the parameters that users know.
    has_hidden: bool = False

    def renamed(self, answer: Answer) -> Answer:
        """An answer without the path of the temporary folder."""
        return Answer(answer.status, self.without_folder(answer.output), self.without_folder(answer.said))

    def without_folder(self, text: str) -> str:
        """A text without the path of the temporary folder."""
        return re.sub(re.escape(self.folder) + r"/(\d+/)?", "", text) if self.folder else text

    def repeatable(self, command: Optional[str]) -> Optional[str]:
        """A command that reads copies of these files in :func:`cache`, so that it still works later. ``None`` if the
        copy fails.
        """
        if not self.folder or not command:
            return command
        digest = hashlib.sha256("\0".join(part for text in self.texts for part in text).encode()).hexdigest()[:16]
        kept = cache() / "kernels" / digest
        try:
            shutil.copytree(self.folder, kept, dirs_exist_ok=True)
        except OSError:
            return None
        words = (str(kept) + word[len(self.folder) :] if word.startswith(self.folder) else word for word in shlex.split(command))
        return " ".join(map(shlex.quote, words))


def cache() -> Path:
    """The folder of reports and kernels: ``PTX_ATOMICS_CACHE``, or ``ptx-atomics/python`` in the user's cache."""
    named = os.environ.get("PTX_ATOMICS_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(named) if named else Path(home, "ptx-atomics", "python")


def programs(kernel: Any) -> List[Program]:
    """The PTX of a kernel that some package has compiled.

    Accepted are a compiled kernel of Triton or Gluon (``.asm``), a jitted function of these packages and of Numba after
    its compilation, and a mapping of texts with the key ``"ptx"``. Raises ``NoPtx`` if the kernel has no PTX.
    """
    of = (_of_assembly, _of_jitted, _of_numba, _of_text_attribute)
    for one in of:
        found = one(kernel)
        if found:
            return found
    raise NoPtx(f"{_name(kernel)} ({type(kernel).__name__}) has no PTX: give PTX, a path, or a compiled kernel")


def _name(kernel: Any) -> str:
    return str(getattr(kernel, "name", None) or getattr(kernel, "__name__", None) or type(kernel).__name__)


def _text(text: Any) -> Optional[str]:
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    return text if isinstance(text, str) else None


def _of_assembly(kernel: Any) -> List[Program]:
    """The stages of a kernel that Triton compiled, by the endings of their files."""
    stages = kernel if isinstance(kernel, Mapping) else getattr(kernel, "asm", None)
    if not isinstance(stages, Mapping) and not hasattr(stages, "get"):
        return []
    assert stages is not None
    ptx = _text(stages.get("ptx"))
    return [Program(_name(kernel), ptx, _text(stages.get("llir")), has_hidden=True)] if ptx else []


def _of_jitted(kernel: Any) -> List[Program]:
    """The programs of a jitted function of Triton, for each device and for each kind of arguments."""
    kernel = getattr(kernel, "fn", kernel) if not hasattr(kernel, "device_caches") else kernel
    caches = getattr(kernel, "device_caches", None)
    if not isinstance(caches, Mapping):
        return []
    compiled = [one for cache in caches.values() for one in cache[0].values()]
    return [program for one in compiled if hasattr(one, "asm") for program in _of_assembly(one)]


def _of_numba(kernel: Any) -> List[Program]:
    """The programs of a function that Numba compiled, for each signature."""
    if not hasattr(kernel, "inspect_asm"):
        return []
    found = kernel.inspect_asm()
    texts = found.values() if isinstance(found, Mapping) else [found]
    return [Program(_name(kernel), text) for text in map(_text, texts) if text]


def _of_text_attribute(kernel: Any) -> List[Program]:
    """The PTX that CuTe DSL keeps."""
    text = _text(getattr(kernel, "__ptx__", None))
    return [Program(_name(kernel), text)] if text else []


def _launcher(kernel: Any) -> Optional[Tuple[Any, Any]]:
    """The function and the grid of Triton's ``kernel[grid]``."""
    if not inspect.isfunction(kernel) or kernel.__name__ != "<lambda>":
        return None
    known = inspect.getclosurevars(kernel).nonlocals
    return (known["self"], known["grid"]) if {"self", "grid"} <= set(known) else None


def shown_grid(grid: Any) -> Optional[str]:
    """A grid in the command's format; ``None`` if the grid depends on the arguments."""
    if isinstance(grid, int):
        return str(grid)
    if isinstance(grid, (tuple, list)) and all(isinstance(one, int) for one in grid):
        return ",".join(map(str, grid))
    return None


@contextmanager
def files(kernel: Any) -> Iterator[Files]:
    """The files of a kernel, for the duration of the context.

    A ``str`` that has several lines, or begins like PTX, is PTX. Any other ``str`` and every ``os.PathLike`` is a path.
    """
    if isinstance(kernel, bytes):
        kernel = kernel.decode("utf-8", "replace")
    if isinstance(kernel, os.PathLike) or (isinstance(kernel, str) and not is_ptx(kernel)):
        path = os.fspath(kernel)
        if not os.path.exists(path):
            raise Error(f"cannot find the file '{path}'")
        yield Files([path])
        return
    grid = None
    launcher = _launcher(kernel)
    if launcher:
        kernel, grid = launcher[0], shown_grid(launcher[1])
    found = [Program("kernel", kernel)] if isinstance(kernel, str) else programs(kernel)
    with tempfile.TemporaryDirectory(prefix="ptx-atomics-") as folder:
        texts = []
        for index, program in enumerate(found):
            # The command finds the LLVM IR of PTX by this file name.
            own = Path(folder, str(index)) if len(found) > 1 else Path(folder)
            own.mkdir(exist_ok=True)
            stem = re.sub(r"[^\w.-]", "_", program.name)[:100]
            own.joinpath(f"{stem}.ptx").write_text(program.ptx, encoding="utf-8")
            texts.append((f"{stem}.ptx", program.ptx))
            if program.llvm_ir:
                own.joinpath(f"{stem}.llir").write_text(program.llvm_ir, encoding="utf-8")
        path = folder if any(program.llvm_ir for program in found) or len(found) > 1 else os.path.join(folder, texts[0][0])
        yield Files([path], grid, tuple(texts), folder, any(program.has_hidden for program in found))


def is_ptx(text: str) -> bool:
    """Whether a text is PTX, and not a path."""
    return "\n" in text or re.match(r"\s*(//|\.version\b)", text) is not None
