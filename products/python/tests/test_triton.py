"""Kernels of Triton, each in a right and a wrong version. Skipped if Triton is not installed; the tests need no GPU."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest

import ptx_atomics
import ptx_atomics.triton

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def count(words, bins, n, RIGHT: tl.constexpr, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bin = bins + tl.load(words + index, index < n) % 4
    if RIGHT:
        tl.atomic_add(bin, 1, index < n)
    else:
        tl.store(bin, tl.load(bin, index < n) + 1, index < n)


@triton.jit
def shift(words, RIGHT: tl.constexpr, BLOCK: tl.constexpr):
    # The next thread may not yet have read the word that a thread writes.
    index = tl.program_id(0) * 2 * BLOCK + tl.arange(0, BLOCK)
    after = tl.load(words + index + 1)
    if RIGHT:
        tl.debug_barrier()
    tl.store(words + index, after)


CASES: Dict[str, Any] = {
    "count": (count, ["*u32", "*u32", "i32"]),
    "shift": (shift, ["*u32"]),
}


def compiled(name: str, right: bool) -> Any:
    function, signature = CASES[name]
    return ptx_atomics.triton.compile(function, signature, {"RIGHT": right, "BLOCK": 512})


@pytest.mark.parametrize("name", CASES)
def test_the_wrong_one_is_found_and_the_right_one_is_not(name: str) -> None:
    wrong = ptx_atomics.check(compiled(name, False))
    assert not wrong.ok
    # The finding refers to the line of the kernel.
    assert {finding.file for finding in wrong.wrong} == {__file__}
    right = ptx_atomics.check(compiled(name, True))
    assert right.ok and not right.findings, right


def test_each_kernel_that_is_compiled() -> None:
    seen: List[ptx_atomics.Report] = []
    watch = ptx_atomics.triton.install("raise")
    watch.listeners.append(seen.append)
    try:
        compiled("count", True)
        for _ in range(2):
            # The second compilation takes the kernel from the cache of Triton.
            with pytest.raises(ptx_atomics.FindingsError):
                compiled("count", False)
    finally:
        ptx_atomics.triton.uninstall()
    compiled("count", False)
    assert [report.ok for report in seen] == [True, False, False]


def test_a_kernel_runs() -> None:
    np = pytest.importorskip("numpy")
    words, bins = np.arange(1000, dtype=np.uint32), np.zeros(4, dtype=np.uint32)
    done = ptx_atomics.run(compiled("count", True), words, bins, 1000, grid=2)
    assert done.ok and list(bins) == [250] * 4
    assert not ptx_atomics.run(compiled("count", False), words, bins, 1000, grid=2).ok
