"""Kernels that run on the CPU, with NumPy's arrays as buffers."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _command
from ._check import Sizes, _errors, _sizes
from ._command import CommandError
from ._kernel import files
from ._report import Finding, FindingsError, Report

if TYPE_CHECKING:
    import numpy as np

#: An argument of a kernel. An array is a buffer, a number has the type of the parameter, and a text has the format of
#: ``ptx-atomics run --arg``, such as ``"f32[64]=random"``.
Argument = Union["np.ndarray[Any, Any]", "np.generic[Any]", int, float, bool, str]


@dataclass(frozen=True)
class Run:
    """The result of a launch."""

    #: The buffers after the launch, by the names of their arguments.
    outputs: Dict[str, "np.ndarray[Any, Any]"]
    #: Races and other findings, with the lines of both accesses.
    report: Report
    #: Conditions that do not hold, each with the actual value.
    failed: Tuple[str, ...]
    #: The output of the kernel's ``printf``.
    printed: str
    #: The number of instructions that the threads executed.
    instructions: int
    #: The parts of the launch that the command chose, in words.
    chosen: Tuple[str, ...]
    raw: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether the run ended without a race, and all conditions hold."""
        return self.report.ok and not self.failed

    def __bool__(self) -> bool:
        return self.ok

    def raise_for_findings(self) -> None:
        """Raises :class:`ptx_atomics.FindingsError` if the run has an error."""
        if not self.report.ok:
            raise FindingsError(self.report)
        if self.failed:
            raise AssertionError("\n".join(self.failed))

    def __str__(self) -> str:
        parts = [str(self.report)] if not self.report.ok else []
        return "\n".join([*parts, *self.failed, f"{self.instructions} instructions by threads"])

    def _repr_html_(self) -> str:
        return self.report._repr_html_() + f"<p>{self.instructions} instructions by threads</p>"

    def to_dict(self) -> Dict[str, Any]:
        """The result without the buffers, as plain values."""
        return {
            **self.report.to_dict(),
            "ok": self.ok,
            "failed": list(self.failed),
            "printed": self.printed,
            "instructions": self.instructions,
        }


def run(
    kernel: Any,
    *arguments: Argument,
    grid: Optional[Sizes] = None,
    block: Optional[Sizes] = None,
    cluster: Optional[Sizes] = None,
    shared: Optional[int] = None,
    named: Optional[Mapping[str, Argument]] = None,
    name: Optional[str] = None,
    seed: int = 0,
    seeds: int = 1,
    expect: Sequence[str] = (),
    races: bool = True,
    progress: bool = False,
) -> Run:
    """Runs a kernel on the CPU, each thread of the grid, and finds every data race of the execution.

    The ``arguments`` are the arguments of the kernel, in order. As on a GPU, the kernel writes to its arrays: each
    writable array has the final values of the kernel afterwards, and ``Run.outputs`` has copies of all arrays, as
    ``arg0``, ``arg1`` and so on. ``named`` has arguments with names that the caller chooses, for messages; a name of a
    parameter sets that parameter. ``shared`` is dynamic shared memory in bytes. ``seed`` determines the order of
    threads. With ``seeds``, the kernel runs in that many orders, and the buffers of the first run are returned.
    ``expect`` has conditions such as ``"arg1[0] == 7"``. ``progress`` shows a bar of tqdm over the seeds, if tqdm is
    installed.

    ``kernel`` is the same as for :func:`ptx_atomics.check`. Raises ``CommandError`` if the arguments do not fit the
    kernel.

    >>> import numpy as np
    >>> words = np.arange(64, dtype=np.uint32)
    >>> done = run('''
    ... .version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .visible .entry twice(.param .u64 p) {
    ...   .reg .b64 %rd<4>; .reg .b32 %r<3>;
    ...   ld.param.u64 %rd1, [p];
    ...   mov.u32 %r1, %tid.x;
    ...   mul.wide.u32 %rd2, %r1, 4;
    ...   add.u64 %rd3, %rd1, %rd2;
    ...   ld.global.u32 %r2, [%rd3];
    ...   shl.b32 %r2, %r2, 1;
    ...   st.global.u32 [%rd3], %r2;
    ...   ret;
    ... }
    ... ''', words, grid=1, block=64)
    >>> done.ok, int(words[3])
    (True, 6)
    """
    options = [*_sizes("grid", grid), *_sizes("block", block), *_sizes("cluster", cluster)]
    options += ["--shared", str(shared)] if shared is not None else []
    options += ["--kernel", name] if name else []
    options += [] if races else ["--races", "off"]
    options += [word for condition in expect for word in ("--expect", condition)]
    given: Dict[str, Argument] = {f"arg{index}": one for index, one in enumerate(arguments)}
    given.update(named or {})
    rounds = range(seed, seed + seeds)
    if not (progress and seeds > 1):
        return _once(kernel, given, options, seed, seeds, write=True)
    # The command runs with one seed at a time, so that the bar can show progress.
    rows: Any = rounds
    try:
        from tqdm.auto import tqdm

        rows = tqdm(rounds, unit="seed")
    except ImportError:
        pass
    # All runs begin with the same buffers. At the end, the buffers of the first run are written back.
    first: Optional[Run] = None
    for one in rows:
        made = _once(kernel, given, options, one, 1, write=False)
        first = first or made
        if not made.ok:
            first = Run(first.outputs, made.report, made.failed, made.printed, made.instructions, made.chosen, made.raw)
            break
    assert first is not None
    _write_back(given, first.outputs)
    return first


def _once(kernel: Any, given: Mapping[str, Argument], options: List[str], seed: int, seeds: int, write: bool) -> Run:
    with files(kernel) as source, tempfile.TemporaryDirectory(prefix="ptx-atomics-") as folder:
        arrays: Dict[str, str] = {}
        words = ["--format", "json", "--seed", str(seed), "--seeds", str(seeds), *options]
        for index, (key, one) in enumerate(given.items()):
            # With named arguments, the command chooses the launcher's additional parameters; without names, it requires
            # all parameters.
            own = f"param_{index}" if source.has_hidden and key == f"arg{index}" else key
            text, is_array = _argument(own, one, os.path.join(folder, own + ".npy"))
            words += ["--arg", text]
            if is_array:
                arrays[key] = os.path.join(folder, own + ".out.npy")
                words += ["--out", f"{own}={arrays[key]}"]
        if source.grid and "--grid" not in words:
            words += ["--grid", source.grid]
        answer = source.renamed(_command.call(["run", *words, *source.paths]))
        try:
            found = answer.json()[0]
        except (CommandError, IndexError):
            raise CommandError(answer.status, "\n".join(_errors(answer.said)) or answer.said) from None
        made = {key: _read(path, given[key]) for key, path in arrays.items()}
        outputs = {key: array for key, array in made.items() if array is not None}
        if write:
            _write_back(given, outputs)
        report = Report(_findings(found), (), (), tuple(_words(one) for one in found["errors"]), dict(source.texts))
        return Run(
            outputs,
            report,
            tuple(f"{one['text']} does not hold: {one['why']}" for one in found["failed"]),
            found["printed"],
            found["instructions"],
            tuple(found["chosen"]),
            found,
        )


def _argument(key: str, value: Any, path: str) -> Tuple[str, bool]:
    """An argument in the command's format, and whether it is an array, which is then in the file."""
    if isinstance(value, str):
        # A colon precedes a type after the name.
        return (f"{key}{value}" if value.startswith((":", "=")) else f"{key}:{value}", False)
    if isinstance(value, bool):
        return f"{key}={int(value)}", False
    if isinstance(value, (int, float)):
        return f"{key}={value!r}", False
    import numpy as np

    array = _array(value)
    if array.ndim == 0:
        kind = {"i": "s", "u": "u", "f": "f", "b": "u"}.get(array.dtype.kind)
        if kind is None:
            raise TypeError(f"argument {key}: no kernel has a parameter of type {array.dtype}")
        return f"{key}={kind}{8 * array.dtype.itemsize}:{array.item()!r}", False
    np.save(path, np.ascontiguousarray(array).reshape(-1))
    return f"{key}={path}", True


def _array(value: Any) -> "np.ndarray[Any, Any]":
    """The array of a value: an array of NumPy, or the array of a tensor on the CPU."""
    import numpy as np

    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return np.asarray(value)


def _read(path: str, given: Any) -> Optional["np.ndarray[Any, Any]"]:
    import numpy as np

    if not os.path.exists(path):
        return None
    array = _array(given)
    # The command knows bits of a size; the caller's array determines their type.
    made: "np.ndarray[Any, Any]" = np.load(path).view(array.dtype)
    shaped: "np.ndarray[Any, Any]" = made.reshape(array.shape)
    return shaped


def _write_back(given: Mapping[str, Argument], outputs: Mapping[str, "np.ndarray[Any, Any]"]) -> None:
    for key, made in outputs.items():
        array = _array(given[key])
        if array.flags.writeable:
            array[...] = made


def _words(error: Mapping[str, Any]) -> str:
    return f"line {error['line']} of the PTX: {error['message']}" if error["line"] else str(error["message"])


def _findings(found: Mapping[str, Any]) -> Tuple[Finding, ...]:
    def one(raw: Dict[str, Any]) -> Finding:
        site = raw["site"]
        place = site["source"] or {"file": found["file"], "line": site["line"]}
        notes = [_access(name, raw[key]) for name, key in (("first", "other"), ("second", "site")) if raw[key]]
        return Finding(
            file=place["file"],
            kernel=raw["kernel"],
            line=place["line"],
            check="run",
            verdict="error" if raw["level"] == "wrong" else raw["level"],
            message=f"{raw['kind']}: {raw['message']}",
            notes=tuple(notes),
            help=raw["help"],
            execution={"first": raw["other"], "second": site, "command": None},
            raw=raw,
        )

    return tuple(one(raw) for raw in found["findings"])


def _access(which: str, site: Mapping[str, Any]) -> str:
    return f"the {which} access: line {site['line']} of the PTX: {site['instruction']}"
