"""Checks of kernels when another package compiles them: each kernel is checked once, and its findings are warnings or
exceptions.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from ._check import check
from ._kernel import Program
from ._report import FindingsError, Report

MODES = ("off", "warn", "raise")


class KernelWarning(UserWarning):
    """A kernel is wrong, or could not be checked."""


class Watch:
    """Checks each program once."""

    def __init__(self, mode: str, **options: Any) -> None:
        if mode not in MODES:
            raise ValueError(f"expected a mode ({', '.join(MODES)}), found {mode!r}")
        self.mode = mode
        self.options = options
        #: The receivers of each report, such as the plugin for pytest.
        self.listeners: List[Callable[[Report], None]] = []
        #: Whether the listeners show the reports, so that the watch does not warn.
        self.is_silent = False
        self._seen: Dict[Tuple[str, Optional[str]], Report] = {}
        self._said: Set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, program: Program) -> Optional[Report]:
        """Checks a program. Raises ``FindingsError`` if the program is wrong and the mode is ``raise``, and no other
        exception.
        """
        if self.mode == "off":
            return None
        try:
            report = self._report(program)
        # A failure of the check does not stop the user's program.
        except Exception as error:
            self.say_once(f"{program.name} was not checked: {error}")
            return None
        for listener in list(self.listeners):
            listener(report)
        if report.wrong or report.errors:
            if self.mode == "raise" and report.wrong:
                raise FindingsError(report)
            places = [(finding.file, finding.line) for finding in report.wrong]
            self.say_once(f"{program.name}:\n{report}", *(places[0] if places else ()))
        return report

    def say_once(self, text: str, file: Optional[str] = None, line: Optional[int] = None) -> None:
        """Warns, once for each text, at a line of the kernel's source."""
        with self._lock:
            if self.is_silent or text in self._said:
                return
            self._said.add(text)
        warnings.warn_explicit(text, KernelWarning, file or "<ptx-atomics>", line or 1)

    def _report(self, program: Program) -> Report:
        key = (program.ptx, program.llvm_ir)
        report = self._seen.get(key)
        if report is None:
            # With the IR, the check also compares the orderings.
            stages = {"ptx": program.ptx, **({"llir": program.llvm_ir} if program.llvm_ir else {})}
            report = self._seen[key] = check(_Stages(program.name, stages), **self.options)
        return report


class Replaced:
    """A function of another package that a function of ours replaces while kernels are watched."""

    def __init__(self, owner: Callable[[], Any], name: str, own: Callable[..., Any]) -> None:
        self._owner, self._name, self._own = owner, name, own
        self.watch: Optional[Watch] = None
        self._before: Optional[Callable[..., Any]] = None

    def install(self, mode: str, **options: Any) -> Watch:
        """Installs our function. Raises ``ImportError`` if the package is not installed."""
        owner = self._owner()
        self.uninstall()
        self.watch, self._before = Watch(mode, **options), getattr(owner, self._name)
        setattr(owner, self._name, self._own)
        return self.watch

    def uninstall(self) -> None:
        """Restores the function of the package."""
        if self.watch is not None:
            setattr(self._owner(), self._name, self._before)
            self.watch = self._before = None

    def before(self, *given: Any, **options: Any) -> Any:
        """Calls the function of the package."""
        assert self._before is not None
        return self._before(*given, **options)


class _Stages(Dict[str, str]):
    """The stages of a kernel, with its name."""

    def __init__(self, name: str, stages: Dict[str, str]) -> None:
        super().__init__(stages)
        self.name = name
