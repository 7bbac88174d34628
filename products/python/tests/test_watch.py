"""Checks when Triton compiles a kernel: with a fake package, and with Triton if it is installed."""

import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any, Dict

import pytest

import ptx_atomics
from ptx_atomics import _kernel, _watch
from ptx_atomics._kernel import Program

FAKE = Path(__file__).parent / "fake"


def python(code: str, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Runs a script in which `triton` is the package in tests/fake."""
    paths = [str(FAKE), str(Path(ptx_atomics.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}
    command = [sys.executable, *arguments, "-c", textwrap.dedent(code)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def compiling(folder: Path, **stages: str) -> str:
    """Code that compiles a kernel with these stages."""
    for ending, text in stages.items():
        folder.joinpath(f"shift.{ending}").write_text(text)
    paths = {f"shift.{ending}": str(folder / f"shift.{ending}") for ending in stages}
    return f"import triton\ntriton.compile('shift', {paths!r})\nprint('went on')\n"


INSTALL = "import ptx_atomics.triton\nptx_atomics.triton.install({!r})\n"


def test_modes(tmp_path: Path, wrong: str, right: str) -> None:
    compile_wrong = compiling(tmp_path, ptx=wrong)
    for mode, fails, says in [("warn", False, True), ("raise", True, True), ("off", False, False)]:
        done = python(INSTALL.format(mode) + compile_wrong)
        assert ("went on" in done.stdout) != fails, done.stderr
        assert ("have no order" in done.stderr) == says, done.stderr
    done = python(INSTALL.format("raise") + compiling(tmp_path, ptx=right))
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")


def test_the_environment(tmp_path: Path, wrong: str) -> None:
    # The effect of the `.pth` file of the package when Python starts.
    start = "import ptx_atomics._hooks as hooks\nhooks.from_environment()\n"
    line = Path(ptx_atomics.__file__).parents[1].joinpath("ptx_atomics.pth")
    code = compiling(tmp_path, ptx=wrong)
    for value, fails, says in [("check", False, True), ("raise", True, True), ("strategy=fence", False, False)]:
        done = python(start + code, PTX_ATOMICS=value)
        assert ("went on" in done.stdout) != fails, done.stderr
        assert ("have no order" in done.stderr) == says, done.stderr
    if line.exists():
        assert "have no order" in python(line.read_text() + code, PTX_ATOMICS="check").stderr


def test_another_listener_stays(tmp_path: Path, right: str) -> None:
    code = """
        import triton
        said = []
        triton.knobs.compilation.listener = lambda **told: said.append(told["cache_hit"])
        import ptx_atomics.triton
        ptx_atomics.triton.install()
        ptx_atomics.triton.install()
    """
    done = python(textwrap.dedent(code) + compiling(tmp_path, ptx=right) + "assert said == [False], said\n"
                  "ptx_atomics.triton.uninstall()\nassert triton.knobs.compilation.listener.__name__ == '<lambda>'\n")
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_checked(tmp_path: Path) -> None:
    cases: Dict[str, Dict[str, str]] = {
        "have no PTX": {"amdgcn": "s_endpgm"},
        "expected `.version`": {"ptx": "no PTX"},
    }
    for said, stages in cases.items():
        code = compiling(tmp_path, **stages)
        done = python(INSTALL.format("raise") + code + code.splitlines()[1] + "\n")
        assert done.returncode == 0 and "went on" in done.stdout, done.stderr
        assert done.stderr.count(said) == 1, done.stderr
    done = python(INSTALL.format("raise") + compiling(tmp_path, ptx="x"), PTX_ATOMICS_COMMAND="/nowhere")
    assert done.returncode == 0 and "was not checked" in done.stderr


def test_a_kernel_is_checked_once(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    check = _watch.check
    monkeypatch.setattr(_watch, "check", lambda *given, **options: calls.append(given) or check(*given, **options))
    kept = lambda: len(list((_kernel.cache() / "reports").iterdir()))
    reports = []
    for _ in range(2):
        # As in another process, which has only the files.
        watch = _watch.Watch("warn")
        watch.is_silent = True
        reports += [watch(Program("shift", wrong)), watch(Program("shift", wrong))]
    assert (len(calls), kept()) == (2, 1)
    assert len({str(report) for report in reports}) == 1 and "have no order" in str(reports[0])
    # Other options form another question.
    _watch.Watch("off")(Program("shift", wrong))
    other = _watch.Watch("warn", block=64)
    other.is_silent = True
    other(Program("shift", wrong))
    assert (len(calls), kept()) == (3, 2)


def test_a_damaged_report_is_made_again(wrong: str) -> None:
    watch = _watch.Watch("warn")
    watch.is_silent = True
    watch(Program("shift", wrong))
    for path in (_kernel.cache() / "reports").iterdir():
        path.write_text("{")
    again = _watch.Watch("raise")
    with pytest.raises(ptx_atomics.FindingsError):
        again(Program("shift", wrong))


def test_a_wrong_mode() -> None:
    with pytest.raises(ValueError, match="expected a mode"):
        _watch.Watch("loud")


PLUGIN = """
import sys
sys.path.insert(0, {fake!r})
import triton

def test_it():
    triton.compile("shift", {paths!r})
"""


@pytest.mark.parametrize("mode, failed, warned", [("error", 1, 0), ("warn", 0, 1), ("off", 0, 0), (None, 0, 0)])
def test_the_plugin_for_pytest(pytester: Any, tmp_path: Path, wrong: str, mode: Any, failed: int, warned: int) -> None:
    path = tmp_path / "shift.ptx"
    path.write_text(wrong)
    pytester.makepyfile(PLUGIN.format(fake=str(FAKE), paths={"shift.ptx": str(path)}))
    result = pytester.runpytest_subprocess(*([f"--ptx-atomics={mode}"] if mode else []))
    result.assert_outcomes(failed=failed, passed=1 - failed, warnings=warned)
    if failed:
        result.stdout.fnmatch_lines(["*a kernel that this test compiles is wrong:*", "*have no order*"])


def test_the_setting_of_a_project(pytester: Any, tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "shift.ptx"
    path.write_text(wrong)
    pytester.makepyfile(PLUGIN.format(fake=str(FAKE), paths={"shift.ptx": str(path)}))
    pytester.makeini("[pytest]\nptx_atomics = error\n")
    pytester.runpytest_subprocess().assert_outcomes(failed=1)
    pytester.makeini("[pytest]\nptx_atomics = loud\n")
    assert pytester.runpytest_subprocess().ret == 4
