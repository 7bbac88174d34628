"""Checks, proofs and reports."""

import doctest
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ptx_atomics
from ptx_atomics import _check, _command, _kernel, _model, _report, _run


@pytest.mark.parametrize("module", [_check, _model, _report, _run])
def test_examples(module: Any) -> None:
    if module is _run:
        pytest.importorskip("numpy")
    found = doctest.testmod(module)
    assert found.attempted > 0 and found.failed == 0


def test_a_race_is_found_and_a_barrier_mends_it(wrong: str, right: str) -> None:
    report = ptx_atomics.check(wrong)
    assert not report and not report.ok
    assert {finding.kernel for finding in report.wrong} == {"shift"}
    assert "bar.sync" in str(report.wrong[0].help)
    assert ptx_atomics.check(right).ok
    with pytest.raises(ptx_atomics.FindingsError) as raised:
        report.raise_for_findings()
    assert raised.value.report is report


def test_verdicts(wrong: str, right: str) -> None:
    of = lambda text: [kernel.verdict for kernel in ptx_atomics.races(text).kernels]
    assert of(wrong) == ["race"]
    assert of(right) == ["free"]
    proved = ptx_atomics.races(right).kernels[0]
    assert proved.assumptions and proved.assumptions[0] in str(ptx_atomics.races(right))


def test_a_report_in_all_its_forms(wrong: str) -> None:
    report = ptx_atomics.check(wrong)
    plain = json.loads(report.to_json())
    assert plain == report.to_dict() and plain["ok"] is False
    assert [one["message"] for one in plain["findings"]] == [finding.message for finding in report.findings]
    assert json.loads(report.to_sarif())["version"] == "2.1.0"
    drawn = report._repr_html_()
    assert "<svg" in drawn and "no order" in drawn
    text = str(report)
    assert "ld.shared.u32 %r5, [%r8];" in text and "kernel.ptx --kernel shift" in text


def test_the_command_of_a_finding_repeats_its_execution(wrong: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PTX_ATOMICS_CACHE", str(tmp_path / "a cache"))
    for kernel in [wrong, {"ptx": wrong}, SimpleNamespace(inspect_asm=lambda: {1: wrong, 2: wrong + "\n"})]:
        for report in [ptx_atomics.check(kernel), ptx_atomics.races(kernel)]:
            assert f"repeat it: {(report.wrong[0].execution or {})['command']}" in str(report)
            for finding in report.wrong:
                command = (finding.execution or {})["command"]
                assert command == finding.raw["evidence"]["command"]
                words = shlex.split(command)
                done = subprocess.run([_command.path(), *words[1:]], capture_output=True, text=True)
                assert done.returncode == 1 and "race" in done.stderr, done.stderr


def test_no_command_is_named_where_the_kernel_cannot_be_kept(wrong: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PTX_ATOMICS_CACHE", str(tmp_path / "file"))
    report = ptx_atomics.check(wrong)
    assert report.wrong and "repeat it" not in str(report)


def test_what_users_have(wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(wrong)
    compiled = SimpleNamespace(name="shift", asm={"ptx": wrong})
    jitted = SimpleNamespace(device_caches={0: ({"key": compiled}, None)})
    numba = SimpleNamespace(inspect_asm=lambda: {("signature",): wrong})
    cute = SimpleNamespace(__ptx__=wrong)

    class Jitted:
        device_caches = jitted.device_caches

        def __getitem__(self, grid: Any) -> Any:
            return lambda *arguments, **options: self.run(grid=grid, warmup=False, *arguments, **options)

        def run(self, **options: Any) -> None: ...

    kernels = [wrong, wrong.encode(), path, str(path), tmp_path, compiled, {"ptx": wrong}, jitted, numba, cute]
    for kernel in [*kernels, Jitted()[(2,)]]:
        assert not ptx_atomics.check(kernel).ok, kernel


def test_what_is_no_ptx() -> None:
    for kernel in [SimpleNamespace(asm={"amdgcn": ""}), object(), SimpleNamespace(device_caches={})]:
        with pytest.raises(ptx_atomics.NoPtx):
            ptx_atomics.check(kernel)
    with pytest.raises(ptx_atomics.Error, match="the file 'missing.ptx'"):
        ptx_atomics.check("missing.ptx")
    report = ptx_atomics.check("no PTX\nat all\n")
    assert not report.ok and report.errors and "1 | no PTX" in str(report)
    with pytest.raises(ptx_atomics.CommandError):
        ptx_atomics.check(".version 8.0\n.target sm_90\n", profile="unheard")
    with pytest.raises(TypeError):
        ptx_atomics.check("k.ptx\n", block="64")  # type: ignore[arg-type]


def test_other_threads_go_on(wrong: str) -> None:
    ticks = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    ptx_atomics.check(wrong)
    done.set()
    other.join()
    assert len(ticks) > 5


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    # The kernel counts to 2^40, which takes longer than the test waits.
    endless = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry endless() .reqntid 1
{
  .reg .b64 %rd<2>; .reg .pred %p<2>;
  mov.u64 %rd1, 0;
again:
  add.u64 %rd1, %rd1, 1;
  setp.ne.u64 %p1, %rd1, 1099511627776;
  @%p1 bra again;
  ret;
}
"""
    script = tmp_path / "run.py"
    script.write_text(
        "import ptx_atomics, subprocess, sys\n"
        f"text = {endless!r}\n"
        "print('begun', flush=True)\n"
        "ptx_atomics._command.call(['run', '--step-limit', str(2**62), '-'], text)\n"
    )
    # If the tests run in the background, interrupts are ignored, and a new process would inherit that.
    process = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in said


def test_the_command_is_there() -> None:
    done = subprocess.run([sys.executable, "-m", "ptx_atomics", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("ptx-atomics")
    assert os.access(_command.path(), os.X_OK)


def test_sizes() -> None:
    assert _kernel.shown_grid((2, 1)) == "2,1"
    assert _kernel.shown_grid(lambda meta: (1,)) is None


def test_an_import_is_quick() -> None:
    code = "import time; begin = time.perf_counter(); import ptx_atomics; print(time.perf_counter() - begin)"
    code += "; import sys; assert not {'numpy', 'triton', 'pytest'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
