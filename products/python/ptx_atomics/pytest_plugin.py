"""A plugin for pytest: checks every kernel that a test compiles, and runs kernels on the CPU.

``pytest --ptx-atomics=error`` fails a test that compiles a wrong kernel, ``--ptx-atomics=warn`` warns. ``pytest
--ptx-atomics-device`` runs the tests on a device on the CPU, which checks each launch. The fixture ``ptx_run`` runs a
kernel and compares its results.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, Callable, Generator, List, Mapping, Optional, Union

import pytest

if TYPE_CHECKING:
    from ._report import Report
    from ._run import Run
    from ._watch import Watch

_CHOICES = ("off", "warn", "error")
_watch: "Optional[Watch]" = None


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("ptx-atomics")
    text = "check each GPU kernel that a test compiles: off, warn, or error, which fails the test [default: off]"
    group.addoption("--ptx-atomics", choices=_CHOICES, default=None, help=text)
    parser.addini("ptx_atomics", text, default="off")
    text = "run the tests by `ptx-atomics exec`: on a device on the CPU, which checks each launch; a finding is a failure"
    group.addoption("--ptx-atomics-device", action="store_true", help=text)


def _mode(config: Any) -> str:
    mode = config.getoption("--ptx-atomics") or config.getini("ptx_atomics")
    if mode not in _CHOICES:
        raise pytest.UsageError(f"expected a value of ptx_atomics ({', '.join(_CHOICES)}), found {mode!r}")
    return str(mode)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: Any) -> Optional[int]:
    """Starts pytest again in a process that has the device. The command prints the findings at its end."""
    from . import _command, device

    if not config.getoption("--ptx-atomics-device") or device.is_present():
        return None
    try:
        command = [_command.path(), "exec", "--exit-code", "--", sys.executable, "-m", "pytest"]
    except _command.Error as error:
        raise pytest.UsageError(str(error)) from None
    return subprocess.call([*command, *map(str, config.invocation_params.args)])


def pytest_configure(config: Any) -> None:
    from . import _hooks, device

    if _mode(config) != "off":
        _hooks.when_imported(_start)
    if device.is_present():
        _hooks.use_device()


def _start(module: Any) -> None:
    global _watch
    _watch = module.install("warn")
    # The test shows the findings, instead of warnings in the code of the hook.
    _watch.is_silent = True
    _watch.listeners.append(_reports.append)


_reports: "List[Report]" = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Generator[None, Any, Any]:
    del _reports[:]
    result = yield
    mode = _mode(item.config)
    if mode == "off":
        return result
    wrong = [report for report in _reports if report.wrong]
    for report in wrong:
        if mode == "warn":
            item.warn(pytest.PytestWarning(f"a kernel is wrong:\n{report}"))
    if wrong and mode == "error":
        text = "\n\n".join(dict.fromkeys(map(str, wrong)))
        pytest.fail(f"a kernel that this test compiles is wrong:\n\n{text}", pytrace=False)
    return result


@pytest.fixture
def ptx_run() -> "Callable[..., Run]":
    """Runs a kernel on the CPU like ``ptx_atomics.run``, and fails the test if the kernel has a race.

    ``expected`` has the expected arrays, by the position or the name of the argument; ``rtol`` and ``atol`` are the
    tolerances of ``numpy.testing.assert_allclose``.
    """

    def of(
        kernel: Any,
        *arguments: Any,
        expected: "Optional[Mapping[Union[int, str], Any]]" = None,
        rtol: float = 1e-5,
        atol: float = 1e-6,
        **options: Any,
    ) -> "Run":
        from . import run

        done = run(kernel, *arguments, **options)
        if not done.ok:
            pytest.fail(str(done), pytrace=False)
        for key, array in (expected or {}).items():
            import numpy as np

            name = f"arg{key}" if isinstance(key, int) else key
            np.testing.assert_allclose(done.outputs[name], array, rtol=rtol, atol=atol, err_msg=f"argument {key}")
        return done

    return of
