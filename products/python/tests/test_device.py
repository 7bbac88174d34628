"""Programs on the device of `ptx-atomics exec`."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Sequence

import pytest

import ptx_atomics
import ptx_atomics.triton
from ptx_atomics import _command

pytest.importorskip("numpy")
HERE = Path(__file__).parent


@pytest.fixture(scope="module", autouse=True)
def device() -> None:
    """Skips the tests if the command has no library of the device."""
    if _command.call(["exec", "--", sys.executable, "-c", ""]).status:
        pytest.skip("the library of the device is not built")


def run(*arguments: str, command: Sequence[str] = (), **variables: str) -> "subprocess.CompletedProcess[str]":
    """Runs pytest on the device, by its option or by a command."""
    option = [] if command else ["--ptx-atomics-device"]
    words = [*command, sys.executable, "-m", "pytest", *option, "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(words, env={**os.environ, **variables}, cwd=HERE, capture_output=True, text=True)


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"{package} is not installed")


@needs("triton")
@pytest.mark.parametrize("gpu", ["sm_80", "sm_90", "sm_100"])
def test_kernels_of_triton(gpu: str) -> None:
    done = run("device/triton_kernels.py", "-k", "not tensors_of_the_host", PTX_ATOMICS_DEVICE=gpu)
    assert done.returncode == 0 and "failed" not in done.stdout, done.stdout + done.stderr
    assert "no race in" in done.stderr, done.stderr


@needs("triton")
@pytest.mark.parametrize("option, launches", [([], 2), (["--every-launch"], 3)])
def test_configurations_that_run(option: Sequence[str], launches: int) -> None:
    command = [_command.path(), "exec", *option, "--"]
    done = run("device/triton_kernels.py", "-k", "changes_its_input", command=command)
    assert done.returncode == 0 and f"{launches} launches" in done.stderr, done.stdout + done.stderr


@needs("triton")
def test_tensors_of_the_host() -> None:
    done = run("device/triton_kernels.py", "-k", "tensors_of_the_host")
    assert "1 passed" in done.stdout and done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.count("error[") == done.stderr.count("error[out-of-bounds]") == 2, done.stderr


@needs("numba_cuda")
def test_kernels_of_numba() -> None:
    done = run("device/numba_kernels.py")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
    assert "2 launches" in done.stderr and "no race in" in done.stderr, done.stderr


@pytest.mark.parametrize(
    "selected, finding",
    [
        ("writes or shapes", ""),
        ("race", "arrays.py::test_a_race: grid 1"),
        ("access", "arrays.py::test_an_access_after_the_end_is_an_error: grid 1"),
    ],
)
def test_a_finding_fails_the_run_and_names_its_test(selected: str, finding: str) -> None:
    done = run("device/arrays.py", "-k", selected)
    assert " passed" in done.stdout and "failed" not in done.stdout, done.stdout + done.stderr
    assert done.returncode == bool(finding) and finding in done.stderr, done.stderr
    assert ("error[" in done.stderr) == bool(finding), done.stderr


def test_the_package_prepares_triton_when_a_program_imports_it() -> None:
    # The effect of the `.pth` file of the package. The fake package has no driver, which is only a warning.
    code = "import ptx_atomics._hooks as hooks\nhooks.from_environment()\nimport triton\nprint('went on')"
    paths = [str(HERE / "fake"), str(Path(ptx_atomics.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [_command.path(), "exec", "--", sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "went on" in done.stdout and "ptx_atomics.triton cannot use the device" in done.stderr, done.stderr


def test_without_the_device() -> None:
    with pytest.raises(ptx_atomics.Error, match="exec -- python"):
        ptx_atomics.triton.use_device()
